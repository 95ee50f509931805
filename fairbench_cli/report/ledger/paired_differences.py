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
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.significance import holm
from fairbench_cli.report.ledger.cell_labels import BLOCK, TRAINED_ON_TRUTH, technique_label
from fairbench_cli.report.ledger.inference import EQUAL, PairedTest
from fairbench_cli.report.ledger.journal_arrays import SITUATION, TECHNIQUE
from fairbench_cli.report.ledger.population_tests import compute_population_tests
from fairbench_cli.report.ledger.results import COMPARED, ROW_COLUMNS, Results, RunResults

LEVEL = 0.05
IDENTICAL = "same"
VERSUS = "paired-versus-"  # begins the files of differences to other techniques than `none`
NEGLIGIBLE = (
    0.01  # a change that is shown to be smaller is none, in the units of the metric: one point of a rate
)


@dataclass(frozen=True)
class Baseline:
    """The technique that the others are compared with.

    Parameters
    ----------
    intervention, parameters : str
        As in the results; parameters as JSON.
    seen : bool or None
        Whether it sees the protected attribute; None: what the technique that is compared does, where the
        run has that, else the other.
    """

    intervention: str = "none"
    parameters: str = "{}"
    include_protected: bool | None = None

    @property
    def label(self) -> str:
        """What tables call it."""
        return technique_label(self.intervention, self.parameters, bool(self.include_protected))

    def matches(self, intervention: str, parameters: str, seen: bool) -> bool:
        """Return whether a technique of the results is this one."""
        same = (intervention, parameters) == (self.intervention, self.parameters)
        return same and self.include_protected in (None, seen)


def find_baseline(results: Results, name: str) -> Baseline:
    """Return the technique of a run that a name or the label of a table means.

    A label that ends in ``+ s`` is the variant that sees the protected attribute; without it both are meant,
    and each technique is compared with the one that sees what it does.

    Raises
    ------
    UserError
        When no technique of the run is called so, or several with different parameters are.
    """
    known = [(str(i), str(p), bool(s)) for i, p, s in _techniques(results.rows)]
    plain = {technique_label(i, p, False): Baseline(i, p) for i, p, _ in known}
    labels = plain | {technique_label(*own): Baseline(*own) for own in known if own[2]}
    named = [label for label, one in plain.items() if one.intervention == name]
    if name in labels:
        return labels[name]
    if len(named) == 1:
        return labels[named[0]]
    if named:
        what = f'"{name}" is {len(named)} techniques of this run'
        raise user_error(what, f"name one: {', '.join(map(json.dumps, named))}", "--versus")
    raise user_error(f'no technique of this run is called "{name}"', suggest(name, labels), "--versus")


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
    without an ideal are tested on values.

    Two questions are answered. ``low`` to ``verdict`` are about *these test rows*: would other training sets
    give a difference too? Columns that begin with ``population_`` are about the *population*: would other
    training sets and other test rows? Both give the same where repeats draw test rows of their own. Where all
    repeats share their test rows the first says nothing of other rows: of two techniques that are equal in
    the population nearly always one is better on a thousand given rows. ``population_basis`` says what the
    second answer rests on (`BASES`), or why there is none; see `compute_population_tests`.
    ``population_p_same`` is the p-value, after Holm over the same family, of the opposite question: below
    .05 it is shown that the mean difference in the population is smaller than `NEGLIGIBLE`, by two one-sided
    tests.

    ``p_holm`` is Holm's adjustment over the family that one reads together: one metric in one table, which
    is all techniques and all β of a data set, attribute, groups compared and classifier; ``tests`` is its
    size. ``verdict``: better, worse or no difference at 5 % after Holm (higher or lower for a metric without
    an ideal), empty without a test.

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
    frame = paired_with_baselines(results, [baseline])
    if versus is None:
        return frame.drop(columns="baseline")
    return frame


def paired_with_baselines(results: Results, baselines: Sequence[Baseline]) -> pd.DataFrame:
    """Compare every technique with each of some, as `paired_frame` does with one: one after the other."""
    pairs = pd.concat([_pairs(results.rows, one) for one in baselines], ignore_index=True)
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

    Two rows are tested once, whichever is compared with the other.

    Parameters
    ----------
    ours, theirs : int array, shape (differences,)
        Rows of the results.
    columns : mapping
        More columns, after those that say what a row of the results is; each ``baseline`` has families of
        its own.
    paired : bool
        Whether equal numbers of repeats belong together; else Welch's test takes the place of the paired one.
    is_same_by_design : bool array, shape (differences,), optional
        What is the same by design: it is not tested, and the verdict says so.
    """
    rows = results.rows[ROW_COLUMNS].iloc[ours].reset_index(drop=True).assign(**columns)
    has_ideal = ~np.isnan(results.ideals[ours])
    up = np.where(has_ideal, "worse", "higher")
    down = np.where(has_ideal, "better", "lower")
    family = [*(["baseline"] if "baseline" in columns else []), *BLOCK, "metric"]

    once, place, sign = _once(ours, theirs)
    n = len(once)
    far = results.distances
    values = tuple(np.concatenate([results.values[at], far[at]]) for at in (ours[once], theirs[once]))
    twice = np.tile(once, 2)
    judged = np.repeat([False, True], n)
    tests = compute_population_tests(results, ours[twice], theirs[twice], values, judged, paired=paired)
    numbers: dict[str, Any] = {"n": tests.on_rows.n[place].astype(int)}
    for prefix, each in (("", tests.on_rows), ("population_", tests.population)):
        test = _turned(each, np.stack([place, place + n]), sign)  # of values, and of distances
        for half, name in enumerate(("", "distance_")):
            numbers[f"{prefix}{name}difference"] = test.mean[half]
            numbers[f"{prefix}{name}low"], numbers[f"{prefix}{name}high"] = test.low[half], test.high[half]
        p = np.where(is_same_by_design, np.nan, np.where(has_ideal, test.p[1], test.p[0]))
        change = np.where(has_ideal, test.mean[1], test.mean[0])
        found = {"p": p} | adjust_by_family(rows, p, family)
        words = verdict_words(change, found["p_holm"], up, down, "no difference")
        found["verdict"] = np.where(is_same_by_design, IDENTICAL, words).tolist()
        numbers |= {f"{prefix}{name}": values for name, values in found.items()}
    numbers["population_p_same"] = adjust_by_family(
        rows, tests.population.p_within(NEGLIGIBLE)[place], family
    )["p_holm"]
    numbers["population_basis"] = np.where(numbers["n"] > 0, tests.basis[place], "")
    frame = rows.assign(**numbers)
    return frame.drop(columns=["population_difference", "population_distance_difference"])


def _once(ours: Rows, theirs: Rows) -> tuple[Rows, Rows, Rows]:
    """Return which pairs to test, none of them twice, and for each pair its place there and its sign."""
    code = np.minimum(ours, theirs) * (1 + max(ours.max(initial=0), theirs.max(initial=0)))
    _, first, inverse = np.unique(code + np.maximum(ours, theirs), return_index=True, return_inverse=True)
    once = np.sort(first)
    place = np.searchsorted(once, first)[inverse]
    return once, place, np.where(ours == ours[once][place], 1, -1)


def _turned(test: PairedTest, place: Rows, sign: Rows) -> PairedTest:
    """Return tests at some places, where the sign is -1 of the differences the other way round."""
    own = PairedTest(**{name: values[place] for name, values in vars(test).items()})
    mean, low, high = (np.where(sign < 0, -values, values) for values in (own.mean, own.low, own.high))
    return replace(own, mean=mean, low=np.where(sign < 0, high, low), high=np.where(sign < 0, low, high))


def format_number(value: float, form: str = "+.3f", word: str = "") -> str:
    """Write a number, and perhaps a word on it; a dash where there is none.

    >>> format_number(-0.0001, word="worse"), format_number(0.5, ".2f"), format_number(np.nan, word="worse")
    ('+0.000 worse', '0.50', '-')
    """
    if np.isnan(value):
        return "-"
    return f"{value:{form}}".replace("-0.000", "+0.000") + f" {word}".rstrip()


def _techniques(rows: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Return the techniques of some results, each once, in their order."""
    return list(rows[TECHNIQUE].drop_duplicates().itertuples(index=False, name=None))


def _pairs(rows: pd.DataFrame, baseline: Baseline) -> pd.DataFrame:
    """Return the rows of the techniques and of their baselines, and what each baseline is called and sees."""
    situation = [*SITUATION, "compared", "metric"]
    seen = "include_protected"
    techniques = rows[TECHNIQUE].itertuples(index=False, name=None)
    is_it = np.array([baseline.matches(*own) for own in techniques], dtype=bool)
    rows = rows[[*situation, seen]].reset_index(drop=True)
    ours, theirs = (rows[at].reset_index(names=name) for at, name in ((~is_it, "ours"), (is_it, "theirs")))
    both = ours.merge(theirs, on=situation, suffixes=("", "_of_baseline"))
    alike = both[seen] == both[f"{seen}_of_baseline"]
    both = both[alike | ~alike.groupby(both["ours"]).transform("any")]
    found = both[["ours", "theirs"]].assign(baseline=baseline.label)
    return found.assign(baseline_include_protected=both[f"{seen}_of_baseline"])


def adjust_by_family(rows: pd.DataFrame, p: Floats, together: Sequence[str]) -> dict[str, Any]:
    """Return Holm's adjustment of p over the rows with the same values in some columns, and their number."""
    p_holm = np.full(len(p), np.nan)
    tests = np.zeros(len(p), dtype=int)
    for family in rows.groupby(list(together), sort=False).indices.values():
        p_holm[family] = holm(p[family])
        tests[family] = np.count_nonzero(~np.isnan(p[family]))
    return {"p_holm": p_holm, "tests": tests}


def verdict_words(change: Floats, p: Floats, up: Any, down: Any, neither: str) -> list[str]:
    """Return a word for each change by its sign, or that there is none at 5 %; empty without a test."""
    words = np.where(p < LEVEL, np.where(change > 0, up, down), neither)
    return [str(word) for word in np.where(np.isnan(p), "", words)]


PARETO_METRICS = ("discrimination", "accuracy")
APART = "; "


@lru_cache(maxsize=4)  # the CSV and the answer are of one run, tables and numbers for print by own groups
def run_paired_frame(run: RunResults) -> pd.DataFrame:
    """Return `paired_frame` of all metrics of a run."""
    return paired_frame(run.select(run.metrics))


def pareto_frame(results: Results, metrics: tuple[str, str] = PARETO_METRICS) -> pd.DataFrame:
    """Return which techniques are on the Pareto front, per data set, attribute, groups, classifier and β.

    Techniques are judged by the mean over repeats of each metric's distance to its ideal, over the
    repeats that have both metrics. The mean of distances, not the distance of the mean: one model is used
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

    Parameters
    ----------
    results : Results
        With both metrics.
    metrics : pair of str
        Names of metrics that have an ideal.
    """
    situation = [*SITUATION[:2], "compared", *SITUATION[2:]]
    distances = [f"{name}_distance" for name in metrics]
    judged = ["constant", "front", "dominated_by", "clearly_dominated_by", "population_clearly_dominated_by"]
    columns = [*situation, *TECHNIQUE, "technique", "n", *metrics, *distances, *judged]
    kept = results.take(
        (results.rows["metric"].isin(metrics) & (results.rows["intervention"] != TRAINED_ON_TRUTH)).to_numpy()
    )
    # A metric of rows is not known of all groups compared.
    known = kept.rows.groupby(COMPARED[:3])["metric"].transform("nunique") == 2
    of_metrics = np.stack([np.flatnonzero(known & (kept.rows["metric"] == name)) for name in metrics])
    there = np.logical_and(*np.isfinite(kept.values[of_metrics]))
    some = there.any(axis=1)
    # of one metric, then of the other
    kept = kept.take(of_metrics[:, some].ravel())
    there = there[some]
    values, far = (
        np.where(there, both.reshape(2, *there.shape), np.nan) for both in (kept.values, kept.distances)
    )
    cells = kept.rows.iloc[: len(there)].reset_index(drop=True)
    labels = [technique_label(*own) for own in cells[TECHNIQUE].itertuples(index=False, name=None)]
    situations = list(cells.groupby(situation, sort=False).indices.values())
    means = np.nanmean(far, axis=2)

    # All pairs of techniques of all situations at once: metrics are the first axis, pairs the second.
    pairs = [at[np.array(np.triu_indices(len(at), k=1))] for at in situations]
    first, second = np.concatenate([np.zeros((2, 0), dtype=np.intp), *pairs], axis=1)
    ahead = means[:, second] - means[:, first]  # above 0: the first is nearer
    wins, loses = (
        (sign * ahead >= -EQUAL).all(axis=0) & (sign * ahead > EQUAL).any(axis=0) for sign in (1, -1)
    )
    same = ~(np.abs(far[:, first] - far[:, second]) > EQUAL).any(axis=2)
    ours, theirs = (np.concatenate([one, one + len(cells)]) for one in (first, second))
    values_of = np.concatenate(far[:, first]), np.concatenate(far[:, second])
    tests = compute_population_tests(kept, ours, theirs, values_of, np.ones(len(ours), dtype=bool))

    def clear(p: Floats) -> NDArray[np.bool_]:
        """Return which pairs tests keep apart, on all metrics on which they ever differ."""
        joint = np.where(same & ~np.isnan(p), 0.0, p).max(axis=0)
        joint = np.where(same.all(axis=0), p[0], joint)
        found: NDArray[np.bool_] = adjust_by_family(cells.iloc[first], joint, situation)["p_holm"] < LEVEL
        return found

    def dominated_by(shown: NDArray[np.bool_]) -> list[str]:
        """Return for each technique those that dominate it, of the pairs that are asked for."""
        found: list[list[str]] = [[] for _ in labels]
        won = np.stack([first, second])[:, wins & shown]
        lost = np.stack([second, first])[:, loses & shown]
        for winner, loser in sorted(np.concatenate([won, lost], axis=1).T.tolist()):
            found[loser].append(labels[winner])
        return [APART.join(names) for names in found]

    frame = cells.assign(
        technique=labels,
        n=there.sum(axis=1),
        **dict(zip(metrics, np.nanmean(values, axis=2), strict=True)),
        **dict(zip(distances, means, strict=True)),
        constant=kept.n_constant[: len(cells)].sum(axis=1) > 0,
        dominated_by=dominated_by(wins | loses),
        clearly_dominated_by=dominated_by(clear(tests.on_rows.p.reshape(2, -1))),
        population_clearly_dominated_by=dominated_by(clear(tests.population.p.reshape(2, -1))),
    )
    frame["front"] = (frame["dominated_by"] == "") & ~frame["constant"]
    return frame.iloc[np.concatenate([first[:0], *situations])][columns].reset_index(drop=True)


@lru_cache(maxsize=2)  # the CSV and the table are of one run
def run_pareto_frame(run: RunResults) -> pd.DataFrame:
    """Return pareto.csv: `pareto_frame` of discrimination and accuracy."""
    return pareto_frame(run.select(PARETO_METRICS))
