"""Techniques against doing nothing, and against each other, repeat by repeat on the same training sets."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.base.errors import suggest, user_error
from fairbench_cli.data.table import Rows
from fairbench_cli.experiment.config.config import Family
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.significance import holm
from fairbench_cli.report.ledger.cell_labels import BLOCK, TRAINED_ON_TRUTH, technique_label
from fairbench_cli.report.ledger.inference import EQUAL, PairedTest
from fairbench_cli.report.ledger.journal_arrays import SITUATION, TECHNIQUE
from fairbench_cli.report.ledger.population_tests import compute_population_tests
from fairbench_cli.report.ledger.results import COMPARED, ROW_COLUMNS, Results, RunResults

LEVEL = 0.05
SENSITIVITY = ["standard_error", "freedom", "n_open"]
"""The columns of frames, and of no file, that say what a test could have shown."""
IDENTICAL = "same"
NO_DIFFERENCE = "no difference"
MOVED = "moved"
VERSUS = "paired-versus-"  # begins the files of differences to other techniques than `none`
ROW = "row"
BASELINE_ROW = "baseline_row"
"""The index of a frame of differences: the numbers of the results' rows that are compared."""


@dataclass(frozen=True)
class Baseline:
    """The technique that the others are compared with.

    Parameters
    ----------
    intervention, parameters : str
        As in the results; parameters as JSON.
    include_protected : bool or None
        Whether it sees the protected attribute; None: what the technique that is compared does, where the
        run has that, else the other.
    """

    intervention: str = "none"
    parameters: str = "{}"
    include_protected: bool | None = None

    @property
    def label(self) -> str:
        """Its label in tables."""
        return technique_label(self.intervention, self.parameters, bool(self.include_protected))

    def matches(self, intervention: str, parameters: str, include_protected: bool) -> bool:
        """Return whether a technique of the results is this one."""
        is_equal = (intervention, parameters) == (self.intervention, self.parameters)
        return is_equal and self.include_protected in (None, include_protected)


def find_baseline(results: Results, name: str, aliases: Mapping[str, str] | None = None) -> Baseline:
    """Return the technique of a run that a name, the label of a table or a part of either means.

    A label that ends in ``+ s`` is the variant that sees the protected attribute; without it both are meant,
    and each technique is compared with the one that sees what it does. Capitals do not matter in a part.

    Parameters
    ----------
    aliases : dict, optional
        What techniques are called in tables instead of their labels.

    Raises
    ------
    UserError
        When no technique of the run is called so, or several are.
    """
    # 1. The techniques of the run by their labels, first without a word on what they see.
    techniques = results.rows[TECHNIQUE].drop_duplicates()
    baselines = {}
    for intervention, parameters in zip(techniques["intervention"], techniques["parameters"], strict=True):
        baseline = Baseline(str(intervention), str(parameters))
        baselines[baseline.label] = baseline
    matches = [label for label, baseline in baselines.items() if baseline.intervention == name]
    seeing = techniques[techniques["include_protected"].astype(bool)]
    for intervention, parameters in zip(seeing["intervention"], seeing["parameters"], strict=True):
        baseline = Baseline(str(intervention), str(parameters), include_protected=True)
        baselines[baseline.label] = baseline
    # 2. A label means its technique, and a name the only technique that has it.
    if name in baselines:
        return baselines[name]
    for label, alias in (aliases or {}).items():
        if alias == name and label in baselines:
            return baselines[label]
    # 3. A part of a label means the only technique that has it; both variants of one where both have it.
    if not matches:
        for label, baseline in baselines.items():
            alias = (aliases or {}).get(label, "")
            if baseline.include_protected is None and name.lower() in f"{label}\n{alias}".lower():
                matches.append(label)
    if len(matches) == 1:
        return baselines[matches[0]]
    if matches:
        problem = f'"{name}" is {len(matches)} techniques of this run'
        raise user_error(problem, f"name one: {', '.join(map(json.dumps, matches))}", "--versus")
    raise user_error(f'no technique of this run is called "{name}"', suggest(name, baselines), "--versus")


def paired_frame(results: Results, versus: str | None = None) -> pd.DataFrame:
    """Compare every technique with ``none``, or with another, over the repeats where both have a value.

    One row per cell that is not ``none``, groups compared and metric. ``none`` is that of the same data
    set, attribute, β and classifier, and with the same ``include_protected`` if the run has it, else with
    the other one (``baseline_include_protected``). Cells without any ``none`` have no row; those without a
    value, such as infeasible ones, have n = 0 and empty numbers.

    ``difference`` is technique − none, with the t-interval of its mean in ``low`` and ``high`` (95 %, for
    each row by itself). ``distance_difference`` is the same for ``|value − ideal|``: negative is nearer to
    the ideal. The test is on distances, so that a discrimination of −.10 is no better than one of .10; for
    metrics whose ideal is an end of their range, such as accuracy, that is the test on values. Metrics
    without an ideal are tested on values. ``difference_p_holm`` is of the test on values, that of the
    interval in ``low`` and ``high``, and ``distance_p_holm`` of that on distances, empty without an ideal.

    Two questions are answered. ``low`` to ``verdict`` are about *these test rows*: would other training sets
    give a difference too? Columns that begin with ``population_`` are about the *population*: would other
    training sets and other test rows? Both give the same where repeats draw test rows of their own. Where all
    repeats share their test rows the first says nothing of other rows: of two techniques that are equal in
    the population nearly always one is better on a thousand given rows. ``population_basis`` says what the
    second answer rests on (`BASES`), or why there is none; see `compute_population_tests`.
    ``population_p_same`` is the p-value, after Holm over the same family, of the opposite question: below
    .05 it is shown that the mean difference in the population is smaller than the metric's margin, from the
    rows that are decided otherwise (`changed_rows.py`). ``population_same_from_rows`` is the number of rows,
    about, with which that is shown of a difference of 0 in 80 % of runs: of test rows, where each repeat
    draws its own of those of all repeats together, of random splits of all rows; empty where there are as
    many. Of metrics without a margin both are empty.

    ``p_holm`` is Holm's adjustment over the family that one reads together: one metric in one table, which
    is all techniques and all β of a data set, attribute, groups compared and classifier, or with ``family:
    run`` all rows of the frame; ``tests`` is its size.
    ``verdict``: better, worse or no difference at 5 % after Holm (higher or lower for a metric without
    an ideal), empty without a test; moved, where the values differ at 5 % after Holm and the distances are
    not shown to.

    The network that training sets are sampled from is given in both: nothing is said of other networks.

    With `versus` all this is about another technique instead of ``none``, which then is compared with it like
    any other, and one more column, ``baseline``, names it.

    Parameters
    ----------
    versus : str, optional
        The name of a technique of the run, or its label in the tables; see `find_baseline`.

    Raises
    ------
    UserError
        When no technique, or more than one, is called so.
    """
    if versus is None:
        baseline = Baseline()
    else:
        baseline = find_baseline(results, versus)
    frame = paired_with_baselines(results, [baseline]).drop(columns=SENSITIVITY)
    if versus is None:
        return frame.drop(columns="baseline")
    return frame


def paired_with_baselines(results: Results, baselines: Sequence[Baseline]) -> pd.DataFrame:
    """Compare every technique with each of some, as `paired_frame` does with one: one after the other."""
    pairs = pd.concat([_pairs(results.rows, baseline) for baseline in baselines], ignore_index=True)
    columns = {name: pairs[name].tolist() for name in ("baseline", "baseline_include_protected")}
    return differences_frame(results, pairs["ours"].to_numpy(), pairs["theirs"].to_numpy(), columns)


def differences_frame(
    results: Results,
    ours: Rows,
    theirs: Rows,
    columns: Mapping[str, Any],
    *,
    paired: bool = True,
    is_same_by_design: NDArray[np.bool_] | bool = False,
) -> pd.DataFrame:
    """Return the differences between rows of the results, tested as `paired_frame` says.

    Two rows are tested once, whichever is compared with the other. The index has the numbers of both.

    Parameters
    ----------
    ours, theirs : int array, shape (differences,)
        Rows of the results.
    columns : mapping
        More columns, after `ROW_COLUMNS`; each ``baseline`` has families of its own.
    paired : bool
        Whether equal numbers of repeats belong together; else Welch's test takes the place of the paired one.
    is_same_by_design : bool array, shape (differences,), optional
        What is the same by design: it is not tested, and the verdict says so.
    """
    rows = results.rows[ROW_COLUMNS].iloc[ours].reset_index(drop=True).assign(**columns)
    has_ideal = ~np.isnan(results.ideals[ours])
    up = np.where(has_ideal, "worse", "higher")
    down = np.where(has_ideal, "better", "lower")
    together = BLOCK + ["metric"]
    if "baseline" in columns:
        together.insert(0, "baseline")
    families = find_families(rows, together, results.family)

    # 1. Test the values of each distinct pair, and below these its distances to the ideal.
    distinct, index, sign = _unique_pairs(ours, theirs)
    distances = results.distances
    our_rows = ours[distinct]
    their_rows = theirs[distinct]
    our_values = np.concatenate([results.values[our_rows], distances[our_rows]])
    their_values = np.concatenate([results.values[their_rows], distances[their_rows]])
    tests = compute_population_tests(
        results,
        np.tile(our_rows, 2),
        np.tile(their_rows, 2),
        (our_values, their_values),
        np.repeat([False, True], len(distinct)),
        paired=paired,
    )
    test_indices = np.stack([index, index + len(distinct)])  # of values, and of distances
    numbers: dict[str, Any] = {"n": tests.on_rows.n[index].astype(int)}
    for prefix, tests_in_scope in (("", tests.on_rows), ("population_", tests.population)):
        # 2. The differences of all pairs, with their intervals.
        test = _flip_sign(tests_in_scope, test_indices, sign)
        for i, name in enumerate(("", "distance_")):
            numbers[f"{prefix}{name}difference"] = test.mean[i]
            numbers[f"{prefix}{name}low"] = test.low[i]
            numbers[f"{prefix}{name}high"] = test.high[i]
        # 3. The verdicts: on distances where the metric has an ideal, else on values.
        p = np.where(is_same_by_design, np.nan, np.where(has_ideal, test.p[1], test.p[0]))
        change = np.where(has_ideal, test.mean[1], test.mean[0])
        adjusted = adjust_families(p, families)
        p_of_values = np.where(is_same_by_design, np.nan, test.p[0])
        p_moved = adjust_families(p_of_values, families)["p_holm"]
        neither = np.where(p_moved < LEVEL, MOVED, NO_DIFFERENCE)
        verdicts = verdict_words(change, adjusted["p_holm"], up, down, neither)
        numbers[f"{prefix}p"] = p
        numbers[f"{prefix}p_holm"] = adjusted["p_holm"]
        numbers[f"{prefix}difference_p_holm"] = p_moved
        numbers[f"{prefix}distance_p_holm"] = np.where(has_ideal, adjusted["p_holm"], np.nan)
        numbers[f"{prefix}tests"] = adjusted["tests"]
        numbers[f"{prefix}verdict"] = np.where(is_same_by_design, IDENTICAL, verdicts).tolist()
    # 4. What the last of these, of the population, could have shown (`Sensitivity`).
    numbers |= {
        "standard_error": np.where(has_ideal, test.error[1], test.error[0]),
        "freedom": test.freedom[1],
    }
    numbers["n_open"] = adjusted["n_open"]
    # 5. The opposite question, and what the answers for the population rest on.
    values_alone = np.arange(len(distinct))
    margins = results.margins_by_row[our_rows]
    p_same = tests.p_within(margins, values_alone)[index]
    numbers["population_p_same"] = adjust_families(p_same, families)["p_holm"]
    numbers["population_same_from_rows"] = tests.rows_to_show_same(margins, values_alone)[index]
    numbers["population_basis"] = np.where(numbers["n"] > 0, tests.basis[index], "")
    frame = rows.assign(**numbers)
    row_numbers = results.rows.index
    frame.index = pd.MultiIndex.from_arrays(
        [row_numbers[ours], row_numbers[theirs]], names=[ROW, BASELINE_ROW]
    )
    return frame.drop(columns=["population_difference", "population_distance_difference"])


def _unique_pairs(ours: Rows, theirs: Rows) -> tuple[Rows, Rows, Rows]:
    """Return the distinct pairs, and for each given pair its index among them and its sign.

    The distinct ones are given by the index of their first occurrence, in this order.
    """
    code = np.minimum(ours, theirs) * (1 + max(ours.max(initial=0), theirs.max(initial=0)))
    code = code + np.maximum(ours, theirs)
    _, occurrences, inverse = np.unique(code, return_index=True, return_inverse=True)
    distinct = np.sort(occurrences)
    index = np.searchsorted(distinct, occurrences)[inverse]
    return distinct, index, np.where(ours == ours[distinct][index], 1, -1)


def _flip_sign(test: PairedTest, indices: Rows, sign: Rows) -> PairedTest:
    """Return the tests with these indices; of the opposite differences where the sign is -1."""
    chosen = test.select(indices)
    is_flipped = sign < 0
    return replace(
        chosen,
        mean=np.where(is_flipped, -chosen.mean, chosen.mean),
        low=np.where(is_flipped, -chosen.high, chosen.low),
        high=np.where(is_flipped, -chosen.low, chosen.high),
    )


def format_number(value: float, form: str = "+.3f", word: str = "") -> str:
    """Write a number, and perhaps a word on it; a dash where there is none.

    >>> format_number(-0.0001, word="worse"), format_number(0.5, ".2f"), format_number(np.nan, word="worse")
    ('+0.000 worse', '0.50', '-')
    """
    if np.isnan(value):
        return "-"
    return f"{value:{form}}".replace("-0.000", "+0.000") + f" {word}".rstrip()


def _pairs(rows: pd.DataFrame, baseline: Baseline) -> pd.DataFrame:
    """Return the rows of the techniques and of their baselines, each baseline's label and what it sees."""
    situation = SITUATION + ["compared", "metric"]
    techniques = rows[TECHNIQUE].itertuples(index=False, name=None)
    is_baseline = np.array([baseline.matches(*technique) for technique in techniques], dtype=bool)
    rows = rows[situation + ["include_protected"]].reset_index(drop=True)
    ours = rows[~is_baseline].reset_index(names="ours")
    theirs = rows[is_baseline].reset_index(names="theirs")
    pairs = ours.merge(theirs, on=situation, suffixes=("", "_of_baseline"))
    # The baseline that sees what the technique sees, where the run has it; else the other one.
    sees_alike = pairs["include_protected"] == pairs["include_protected_of_baseline"]
    pairs = pairs[sees_alike | ~sees_alike.groupby(pairs["ours"]).transform("any")]
    return pairs[["ours", "theirs"]].assign(
        baseline=baseline.label, baseline_include_protected=pairs["include_protected_of_baseline"]
    )


def adjust_by_family(
    rows: pd.DataFrame, p: Floats, together: Sequence[str], family: Family = "metric"
) -> dict[str, Any]:
    """Return Holm's adjustment of p within each family, and the number of the family's tests.

    Families are those of `find_families`.
    """
    return adjust_families(p, find_families(rows, together, family))


def find_families(rows: pd.DataFrame, together: Sequence[str], family: Family = "metric") -> list[Rows]:
    """Return the indices of the rows of each family: those with the same values in the columns `together`.

    Where the run is the family, all rows that are compared with one baseline are.
    """
    if family == "run":
        together = [name for name in together if name == "baseline"]
    if not together:
        return [np.arange(len(rows))]
    indices_by_family = rows.groupby(list(together), sort=False).indices
    return [np.asarray(indices) for indices in indices_by_family.values()]


def adjust_families(p: Floats, families: Sequence[Rows]) -> dict[str, Any]:
    """Return Holm's adjustment of p within each family, and the number of the family's tests.

    ``n_open`` is by how many the level is divided for each: those that do not reject, and itself.
    """
    p_holm = np.full(len(p), np.nan)
    n_tests = np.zeros(len(p), dtype=int)
    n_open = np.zeros(len(p), dtype=int)
    for family in families:
        p_holm[family] = holm(p[family])
        n_tests[family] = np.count_nonzero(~np.isnan(p[family]))
        n_open[family] = (p_holm[family] >= LEVEL).sum() + (p_holm[family] < LEVEL)
    return {"p_holm": p_holm, "tests": n_tests, "n_open": n_open}


def verdict_words(change: Floats, p: Floats, up: Any, down: Any, neither: Any) -> list[str]:
    """Return a word for each change by its sign, or that there is none at 5 %; empty without a test."""
    verdicts = np.where(p < LEVEL, np.where(change > 0, up, down), neither)
    return [str(verdict) for verdict in np.where(np.isnan(p), "", verdicts)]


PARETO_METRICS = ("discrimination", "accuracy")
APART = "; "


@lru_cache(maxsize=4)  # the CSV and the answer are of one run, tables and numbers for print by own groups
def run_paired_frame(run: RunResults) -> pd.DataFrame:
    """Return `paired_frame` of all metrics of a run, with what each test could have shown."""
    return paired_with_baselines(run.select(run.metrics), [Baseline()]).drop(columns="baseline")


def pareto_frame(results: Results, metrics: tuple[str, str] = PARETO_METRICS) -> pd.DataFrame:
    """Return which techniques are on the Pareto front, per data set, attribute, groups, classifier and β.

    Two techniques are judged by the mean of each metric's distance to its ideal, over the repeats in which
    both have both metrics. The mean of distances, not the distance of the mean: one model is used
    in the end, and a technique that is too high half of the time and too low the other half is not fair.

    A technique is dominated by another one that is at least as good on both means and better on one.
    Domination is clear when tests of the distances reject equality on both metrics, Holm-adjusted over all
    pairs of techniques of that data set, attribute, classifier and β (a pair's p is the larger of its two,
    for both must hold). A metric on which the two agree in every repeat does not count against it. As in
    `paired_frame` there are two answers: on these test rows, by paired t-tests, and in the population.

    Columns: the cell's, ``technique`` (its label), ``n`` (repeats with both metrics), per metric the mean
    value and the mean ``…_distance``, ``constant`` (bool: it accepts nobody, or everybody, in some repeat),
    ``front`` (bool: neither dominated nor constant), and labels joined by ``"; "``: ``dominated_by``,
    ``clearly_dominated_by`` (on these test rows) and ``population_clearly_dominated_by``. Cells without a
    value, such as infeasible ones, are absent, and so is the model without the bias (`TRAINED_ON_TRUTH`).
    The index has the numbers of the rows of the first metric.

    Parameters
    ----------
    results : Results
        With both metrics.
    metrics : pair of str
        Names of metrics that have an ideal.
    """
    situation = SITUATION[:2] + ["compared"] + SITUATION[2:]
    # 1. The cells that have both metrics in some repeat.
    is_selected = results.rows["metric"].isin(metrics) & (results.rows["intervention"] != TRAINED_ON_TRUTH)
    results = results.take(is_selected.to_numpy())
    # A metric of rows is not known of all groups compared.
    has_both_metrics = results.rows.groupby(COMPARED[:3])["metric"].transform("nunique") == 2
    rows_by_metric = []
    for name in metrics:
        rows_by_metric.append(np.flatnonzero(has_both_metrics & (results.rows["metric"] == name)))
    row_pairs = np.stack(rows_by_metric)  # (metrics, cells)
    is_finite: NDArray[np.bool_] = np.logical_and(*np.isfinite(results.values[row_pairs]))  # (cells, repeats)
    has_values = is_finite.any(axis=1)
    # All rows of the one metric, then all of the other, in the same order of cells.
    results = results.take(row_pairs[:, has_values].ravel())
    is_finite = is_finite[has_values]
    shape = (2, *is_finite.shape)
    values = np.where(is_finite, results.values.reshape(shape), np.nan)
    distances = np.where(is_finite, results.distances.reshape(shape), np.nan)
    mean_distances = np.nanmean(distances, axis=2)
    cells = results.rows.iloc[: len(is_finite)]
    techniques = cells[TECHNIQUE].itertuples(index=False, name=None)
    labels = [technique_label(*technique) for technique in techniques]

    # 2. All pairs of techniques of all situations at once: metrics are the first axis, pairs the second.
    cells_by_situation: list[Rows] = []
    pairs: list[Rows] = [np.zeros((2, 0), dtype=np.intp)]
    for indices in map(np.asarray, cells.groupby(situation, sort=False).indices.values()):
        cells_by_situation.append(indices)
        pairs.append(indices[np.array(np.triu_indices(len(indices), k=1))])
    ours, theirs = np.concatenate(pairs, axis=1)
    # Of the repeats that both have; above 0: ours is nearer. NaN: they have none in common.
    has_both = is_finite[ours] & is_finite[theirs]
    apart = np.where(has_both, distances[:, theirs] - distances[:, ours], 0.0).sum(axis=2)
    lead = apart / np.where(has_both.any(axis=1), has_both.sum(axis=1), np.nan)
    wins = (lead >= -EQUAL).all(axis=0) & (lead > EQUAL).any(axis=0)
    loses = (-lead >= -EQUAL).all(axis=0) & (-lead > EQUAL).any(axis=0)
    is_equal = ~(np.abs(distances[:, ours] - distances[:, theirs]) > EQUAL).any(axis=2)
    tests = compute_population_tests(
        results,
        np.concatenate([ours, ours + len(cells)]),
        np.concatenate([theirs, theirs + len(cells)]),
        (np.concatenate(distances[:, ours]), np.concatenate(distances[:, theirs])),
        np.ones(2 * len(ours), dtype=bool),
    )

    def is_clear(p: Floats) -> NDArray[np.bool_]:
        """Return the mask of pairs that tests tell apart, on all metrics on which they ever differ."""
        joint_p = np.where(is_equal & ~np.isnan(p), 0.0, p).max(axis=0)
        joint_p = np.where(is_equal.all(axis=0), p[0], joint_p)
        adjusted = adjust_by_family(cells.iloc[ours], joint_p, situation, results.family)
        p_holm: Floats = adjusted["p_holm"]
        return p_holm < LEVEL

    def dominating_labels(mask: NDArray[np.bool_]) -> list[str]:
        """Return for each technique the labels of those that dominate it, of the pairs of a mask."""
        dominating: list[list[str]] = [[] for _ in labels]
        won = np.stack([ours, theirs])[:, wins & mask]
        lost = np.stack([theirs, ours])[:, loses & mask]
        for winner, loser in sorted(np.concatenate([won, lost], axis=1).T.tolist()):
            dominating[loser].append(labels[winner])
        return [APART.join(names) for names in dominating]

    # 3. The columns, situation by situation.
    columns: dict[str, Any] = {"technique": labels, "n": is_finite.sum(axis=1)}
    columns |= zip(metrics, np.nanmean(values, axis=2), strict=True)
    columns |= zip([f"{name}_distance" for name in metrics], mean_distances, strict=True)
    is_constant = results.n_constant[: len(cells)].sum(axis=1) > 0
    dominated_by = dominating_labels(wins | loses)
    columns["constant"] = is_constant
    columns["front"] = ~is_constant & (np.array(dominated_by, dtype=object) == "")
    columns["dominated_by"] = dominated_by
    columns["clearly_dominated_by"] = dominating_labels(is_clear(tests.on_rows.p.reshape(2, -1)))
    columns["population_clearly_dominated_by"] = dominating_labels(
        is_clear(tests.population.p.reshape(2, -1))
    )
    frame = cells.assign(**columns)[situation + TECHNIQUE + list(columns)]
    row_order = np.concatenate([ours[:0]] + cells_by_situation)
    return frame.iloc[row_order]


@lru_cache(maxsize=2)  # the CSV and the table are of one run
def run_pareto_frame(run: RunResults) -> pd.DataFrame:
    """Return pareto.csv: `pareto_frame` of discrimination and accuracy."""
    return pareto_frame(run.select(PARETO_METRICS))
