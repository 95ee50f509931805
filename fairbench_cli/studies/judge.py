"""Techniques against the plain model in a table of repeats: every comparison, by three rules side by side.

The tests are those of a run (`report/ledger/inference.py`), so that a run that is written as a table gives
its own verdicts on its rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.base.errors import suggest, user_error
from fairbench_cli.base.safe_text import format_count, join_names
from fairbench_cli.data.table import Rows
from fairbench_cli.experiment.config.config import POINT
from fairbench_cli.experiment.plan import select
from fairbench_cli.measures.counts import Floats
from fairbench_cli.report.ledger.inference import EQUAL, PairedTest, finite_moments, paired_test, welch_test
from fairbench_cli.report.ledger.paired_differences import LEVEL, adjust_families
from fairbench_cli.studies.metric_ideals import HIGHER, LOWER, find_ideals
from fairbench_cli.studies.table import StudyTable

DesignKind = Literal["splits", "folds", "fresh", "seeds", "unpaired"]
Rule = Literal["means", "mann-whitney", "test", "holm"]
Family = Literal["all", "metric"]
WORDS = ("better", "same", "worse", "not decided")
BASELINE_NAMES = (
    "none",
    "plain",
    "default",
    "origin",
    "original",
    "baseline",
    "no mitigation",
    "unmitigated",
)
DESIGNS: dict[DesignKind, str] = {
    "splits": "random splits of the same rows into training and test rows (--train-share)",
    "folds": "cross-validation (--folds), perhaps repeated",
    "fresh": "each repeat has rows of its own",
    "seeds": "one test set; only the seed of the training changes",
    "unpaired": "the repeats of two techniques have nothing in common",
}
"""How the repeats of a table hang together, in words."""


@dataclass(frozen=True)
class StudyDesign:
    """How the repeats of a study hang together.

    Parameters
    ----------
    kind : {"splits", "folds", "fresh", "seeds", "unpaired"}
    ratio : float
        Test rows over training rows, where repeats divide the same rows; else 0.
    """

    kind: DesignKind
    ratio: float = 0.0

    @property
    def meaning(self) -> str:
        """What its test is, and what it speaks of."""
        overlap = f"with the variance s² (1/n + {self.ratio:.3g}) of Nadeau and Bengio (2003)"
        of_others = "so it speaks of other people than those in the rows."
        if self.kind in ("splits", "folds"):
            return f"{DESIGNS[self.kind].partition(' (')[0]}: paired t-tests {overlap}, {of_others}"
        if self.kind == "fresh":
            return f"{DESIGNS['fresh']}: paired t-tests, {of_others}"
        if self.kind == "seeds":
            return f"{DESIGNS['seeds']}: paired t-tests on these rows. Nothing can be said of other rows."
        if self.ratio:
            return (
                f"repeats that are not paired divide the same rows: Welch's tests {overlap}, {of_others} "
                "Pair them if gaps may have different signs: unpaired tests are wrong more often then."
            )
        return f"{DESIGNS['unpaired']}: Welch's tests of independent repeats."


@dataclass(frozen=True, eq=False)
class StudyComparisons:
    """Every comparison of a technique with the plain model.

    Parameters
    ----------
    frame : DataFrame
        A row per technique, cell and metric; see `judge`.
    design : StudyDesign
    baseline : str
        The technique that the others are compared with.
    correlation : float
        The median, over the comparisons, of that between the values of a repeat of both; NaN where nothing
        varies.
    family : {"all", "metric"}
        Which comparisons are adjusted together.
    sides : dict of str to str
        Which side of a metric is taken for better.
    distances, baseline_distances : float arrays, shape (comparisons, repeats)
        From what is best, of the technique and of the plain model; less is better.
    margins : float array, shape (comparisons,)
        Below which a difference does not matter; NaN of metrics without an ideal.
    notes : tuple of str
        What was left out, and why.
    """

    frame: pd.DataFrame
    design: StudyDesign
    baseline: str
    correlation: float
    family: Family
    sides: Mapping[str, str]
    distances: Floats
    baseline_distances: Floats
    margins: Floats
    notes: tuple[str, ...] = ()

    def count(self, rule: Rule, rows: Rows | None = None) -> dict[str, int]:
        """Return how many comparisons, of all or of some rows of the frame, have each of `WORDS`."""
        verdicts = self._verdicts[rule]
        if rows is not None:
            verdicts = verdicts[rows]
        counts = np.bincount(verdicts, minlength=len(WORDS)).tolist()
        return dict(zip(WORDS, counts, strict=True))

    @cached_property
    def _verdicts(self) -> dict[Rule, Rows]:
        """The index of each verdict in `WORDS`, by rule."""
        verdicts = {}
        for rule in self.rules:
            verdict_words = self.frame[rule.replace("-", "_")].to_numpy(dtype=object)
            verdicts[rule] = np.select([verdict_words == word for word in WORDS], np.arange(len(WORDS)))
        return verdicts

    def rows_by(self, *columns: str) -> dict[tuple[str, ...], Rows]:
        """Return the rows of the frame for each combination of values of some columns."""
        indices = self.frame.groupby(list(columns), sort=False).indices
        return {key if isinstance(key, tuple) else (key,): np.asarray(rows) for key, rows in indices.items()}

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules by which there are verdicts."""
        return tuple(rule for rule in get_args(Rule) if rule.replace("-", "_") in self.frame)


def make_design(kind: str | None, train_share: float | None = None, folds: int | None = None) -> StudyDesign:
    """Return a design as options say it.

    Parameters
    ----------
    train_share : float, from 0 to 1
        Of the rows, to train on; for splits, and for repeats that are not paired but divide the same rows.
    folds : int
        At least 2.

    Raises
    ------
    UserError
        For an unknown kind, and where a number is missing or is of another kind.

    >>> round(make_design("splits", 0.7).ratio, 4), make_design("folds", folds=5).ratio
    (0.4286, 0.25)
    """
    if kind is None or kind not in DESIGNS:
        if kind is None:
            problem = "how the repeats hang together is not in the table"
        else:
            problem = f'unknown design "{kind}"'
        listed = "; ".join(f"{name}: {meaning}" for name, meaning in DESIGNS.items())
        raise user_error(problem, f"say --design, which is one of {listed}", "--design")
    name: DesignKind = next(design_kind for design_kind in get_args(DesignKind) if design_kind == kind)
    if train_share is not None and name not in ("splits", "unpaired"):
        raise user_error(f"it is about splits, and the design is {name}", "leave it out", "--train-share")
    if folds is not None and name != "folds":
        raise user_error("it is about cross-validation", "add --design folds", "--folds")
    if name == "folds":
        if folds is None or folds < 2:
            raise user_error("cross-validation has 2 folds or more", "say how many: --folds 10", "--folds")
        return StudyDesign("folds", 1 / (folds - 1))
    if train_share is None:
        if name == "splits":
            fix = "say which share of the rows each split trains on: --train-share 0.7"
            raise user_error("random splits overlap by how much is trained on", fix, "--train-share")
        return StudyDesign(name)
    if not 0 < train_share < 1:
        raise user_error(f"{train_share:g} is no share", "a number between 0 and 1", "--train-share")
    return StudyDesign(name, 1 / train_share - 1)


def find_baseline(table: StudyTable, baseline: str | None = None) -> str:
    """Return the technique that the others are compared with: the one named, or the one with a usual name.

    Raises
    ------
    UserError
        Where there is none of that name, or no one has a usual name.
    """
    techniques = table.keys["technique"].unique().tolist()
    if baseline is not None:
        if baseline not in techniques:
            raise user_error(
                f'no technique is called "{baseline}"', suggest(baseline, techniques), "--baseline"
            )
        return baseline
    usual = [name for name in techniques if _is_baseline_name(name)]
    if len(usual) != 1:
        problem = "which technique is the plain model is not said"
        raise user_error(problem, f"add --baseline with one of {join_names(techniques)}", "--baseline")
    return str(usual[0])


def _is_baseline_name(technique: str) -> bool:
    """Return whether a technique is called as plain models usually are."""
    return technique.lower().replace("-", " ").replace("_", " ") in BASELINE_NAMES


def judge(
    table: StudyTable,
    design: StudyDesign,
    baseline: str | None = None,
    *,
    better: Mapping[str, str] | None = None,
    stand_in: Mapping[str, str] | None = None,
    margin: float = POINT,
    family: Family = "all",
    mann_whitney: bool = False,
) -> StudyComparisons:
    """Compare every technique of a table with the plain model of the same cell, repeat by repeat.

    The frame has the columns that say which cell, ``technique``, ``metric``; ``n`` repeats, ``mean`` and
    ``baseline_mean``; ``difference``, technique − baseline, with ``low`` and ``high`` (95 %, each by itself)
    and ``difference_p``; ``distance_difference`` with limits, the same of distances to what is best, so that
    negative is better; its ``p``, ``p_holm`` and ``correlation``; and a verdict of `WORDS` by each rule:
    ``means`` (any difference), ``test`` (p < .05), ``holm`` (the same after Holm's adjustment over the
    family), and if asked for ``mann_whitney`` (p < .05 of Mann and Whitney's test, which takes splits for
    independent).
    "Same" is shown by two one-sided t-tests to differ by less than the margin; by means, it is equal.

    Parameters
    ----------
    better : mapping
        The better side of metrics, by their names: "higher", "lower", or the ideal value.
    stand_in : mapping
        ``{"classifier": "lr"}``: a technique that has no run with another classifier is compared, by its
        runs with lr, with the plain model of that one too, as some studies do: see ``baseline_classifier``.
    margin : float
        Below which a metric is said to be the same.
    family : {"all", "metric"}
        Adjusted together are all comparisons, or those of one cell and metric.

    Raises
    ------
    UserError
        Where there is nothing to compare.
    """
    name = find_baseline(table, baseline)
    ideals, notes = find_ideals(table.keys["metric"].unique().tolist(), better or {})
    ours, theirs, frame = _pair_cells(table, name, ideals, stand_in or {})
    if not len(ours):
        problem = f'no other technique has a cell and metric that "{name}" has too'
        raise user_error(
            problem, "see that they have the same data sets and metrics, or name another --baseline"
        )
    # 1. What is judged: distances to what is best.
    values = table.values[ours]
    baseline_values = table.values[theirs]
    ideal = np.array([ideals[metric] for metric in frame["metric"]])[:, None]
    distances = _distances(values, ideal)
    baseline_distances = _distances(baseline_values, ideal)
    of_values = compare_by_design(values, baseline_values, design)
    of_distances = compare_by_design(distances, baseline_distances, design)
    # 2. The families, and verdicts by each rule.
    families = [np.arange(len(frame))]
    if family == "metric":
        columns = [column for column in frame if column not in ("technique", "beta")]  # as in a run
        families = list(map(np.asarray, frame.groupby(columns, sort=False).indices.values()))
    p_holm = adjust_families(of_distances.p, families)["p_holm"]
    # Points of a rate mean nothing where a metric has no ideal.
    margins = np.where(np.isfinite(ideal[:, 0]), margin, np.nan)
    p_same = of_distances.p_within(margins)
    p_same_holm = adjust_families(p_same, families)["p_holm"]
    change = of_distances.mean
    has_change = [change < -EQUAL, change > EQUAL, np.abs(change) <= EQUAL]
    mean_words = np.select(has_change, ["better", "worse", "same"], "not decided")
    numbers: dict[str, Any] = {
        "n": of_values.n.astype(int),
        "mean": compute_means(values),
        "baseline_mean": compute_means(baseline_values),
        "difference": of_values.mean,
        "low": of_values.low,
        "high": of_values.high,
        "distance_difference": of_distances.mean,
        "distance_low": of_distances.low,
        "distance_high": of_distances.high,
        "p": of_distances.p,
        "p_holm": p_holm,
        "difference_p": of_values.p,
        "correlation": _correlations(values, baseline_values),
        "means": mean_words,
        "test": _words(change, of_distances.p, p_same),
        "holm": _words(change, p_holm, p_same_holm),
    }
    if mann_whitney:
        p_ranks = _mann_whitney(distances, baseline_distances)
        direction = compute_means(distances) - compute_means(baseline_distances)
        numbers["p_mann_whitney"] = p_ranks
        numbers["mann_whitney"] = _words(direction, p_ranks, np.full(len(frame), np.nan))
    sides = {metric: side_in_words(ideal) for metric, ideal in ideals.items()}
    frame = frame.assign(**numbers)
    correlation = np.nan
    if design.kind != "unpaired":
        correlation = float(frame["correlation"].median())
    return StudyComparisons(
        frame=frame,
        design=design,
        baseline=name,
        correlation=correlation,
        family=family,
        sides=sides,
        distances=distances,
        baseline_distances=baseline_distances,
        margins=margins,
        notes=table.notes + tuple(notes),
    )


def side_in_words(ideal: float) -> str:
    """Return which side of a metric is better, in words.

    >>> side_in_words(0.0), side_in_words(HIGHER)
    ('near 0', 'higher')
    """
    if ideal == HIGHER:
        return "higher"
    if ideal == LOWER:
        return "lower"
    return f"near {ideal:g}"


def _pair_cells(
    table: StudyTable, baseline: str, ideals: Mapping[str, float], stand_in: Mapping[str, str]
) -> tuple[Rows, Rows, pd.DataFrame]:
    """Return the rows of techniques and of their plain models in the table, and what each pair is called."""
    keys = table.keys.assign(row=np.arange(len(table.keys)))
    keys = keys[keys["metric"].isin(list(ideals))]
    situation = [column for column in table.keys if column != "technique"]
    is_baseline = keys["technique"] == baseline
    baseline_cells = keys[is_baseline].drop(columns="technique").rename(columns={"row": "baseline_row"})
    cells = keys[~is_baseline]
    pairs = cells.merge(baseline_cells, on=situation)
    for column, value in stand_in.items():
        if column not in table.keys or value not in set(table.keys[column]):
            problem = f'no cell has {column} "{value}"'
            raise user_error(problem, "write COLUMN=VALUE, such as classifier=lr", "--stand-in")
        rest = [name for name in situation if name != column]
        others = cells[cells[column] == value].merge(baseline_cells, on=rest, suffixes=("", "_of_baseline"))
        baseline_column = f"{column}_of_baseline"
        names = ["technique"] + rest
        present = pd.MultiIndex.from_frame(cells[names + [column]])
        candidates = pd.MultiIndex.from_frame(others[names + [baseline_column]])
        is_lent = ~candidates.isin(present)
        pairs[baseline_column] = pairs[column]
        pairs = pd.concat([pairs, others[is_lent]], ignore_index=True)
        pairs = pairs.rename(columns={baseline_column: f"baseline_{column}"})
    pairs = pairs.sort_values(["row", "baseline_row"], kind="stable").reset_index(drop=True)
    names = [column for column in pairs if column not in ("row", "baseline_row")]
    return pairs["row"].to_numpy(), pairs["baseline_row"].to_numpy(), pairs[names]


def _distances(values: Floats, ideal: Floats) -> Floats:
    """Return how far values are from what is best; where a side is better, with the sign that less is."""
    with np.errstate(invalid="ignore"):
        distances: Floats = np.where(
            ideal == HIGHER, -values, np.where(ideal == LOWER, values, np.abs(values - ideal))
        )
    return distances


def compare_by_design(values: Floats, baseline_values: Floats, design: StudyDesign) -> PairedTest:
    """Return the test of a design."""
    if design.kind == "unpaired":
        return welch_test(values, baseline_values, design.ratio)
    return paired_test(values - baseline_values, design.ratio)


def compute_means(values: Floats) -> Floats:
    """Return the mean of the finite values of each row; NaN without any."""
    _n, means, _variance, _is_constant = finite_moments(values)
    return means


def mean_over_cells(values: Floats, baseline_values: Floats, design: StudyDesign) -> tuple[Floats, Floats]:
    """Return the mean over cells in each repeat, of a technique and of the plain model.

    NaN in a repeat that a cell lacks, or half of a pair: means over other cells are of other things. Cells
    without any value are left out.

    Parameters
    ----------
    values, baseline_values : float arrays, shape (cells, repeats)

    >>> values, baseline = np.array([[0.1, 0.2], [0.5, np.nan]]), np.array([[0.2, 0.2], [0.6, 0.6]])
    >>> [means.round(2).tolist() for means in mean_over_cells(values, baseline, StudyDesign("fresh"))]
    [[0.3, nan], [0.4, nan]]
    """
    if design.kind != "unpaired":
        is_pair = np.isfinite(values) & np.isfinite(baseline_values)
        values = np.where(is_pair, values, np.nan)
        baseline_values = np.where(is_pair, baseline_values, np.nan)
    has_values = np.isfinite(values).any(axis=1) & np.isfinite(baseline_values).any(axis=1)
    n_cells = max(1, int(has_values.sum()))
    return values[has_values].sum(axis=0) / n_cells, baseline_values[has_values].sum(axis=0) / n_cells


def _correlations(values: Floats, baseline_values: Floats) -> Floats:
    """Return the correlation of both over the repeats; NaN where one does not vary."""
    is_pair = np.isfinite(values) & np.isfinite(baseline_values)
    our_deviations = _deviations(np.where(is_pair, values, np.nan))
    their_deviations = _deviations(np.where(is_pair, baseline_values, np.nan))
    products = (our_deviations * their_deviations).sum(axis=1)
    scale = np.sqrt((our_deviations**2).sum(axis=1) * (their_deviations**2).sum(axis=1))
    correlations: Floats = np.where(scale > EQUAL, products / np.where(scale > EQUAL, scale, 1.0), np.nan)
    return correlations


def _deviations(values: Floats) -> Floats:
    """Return values less the mean of their row; 0 where there is none."""
    deviations: Floats = np.nan_to_num(values - compute_means(values)[:, None])
    return deviations


def _words(change: Floats, p: Floats, p_same: Floats) -> NDArray[np.str_]:
    """Return one of `WORDS` for each change in distance, by the p of a difference and of none."""
    with np.errstate(invalid="ignore"):
        conditions = [(p < LEVEL) & (change < 0), (p < LEVEL) & (change > 0), p_same < LEVEL]
    verdict_words: NDArray[np.str_] = np.select(conditions, ["better", "worse", "same"], "not decided")
    return verdict_words


def _mann_whitney(values: Floats, baseline_values: Floats) -> Floats:
    """Return the two-sided p of Mann and Whitney's test of each row; NaN without values."""
    from scipy.stats import mannwhitneyu

    p = np.full(len(values), np.nan)
    is_finite = np.isfinite(values)
    is_baseline_finite = np.isfinite(baseline_values)
    is_whole = is_finite.all(axis=1) & is_baseline_finite.all(axis=1)
    if is_whole.any():
        p[is_whole] = mannwhitneyu(values[is_whole], baseline_values[is_whole], axis=1).pvalue
    for i in np.flatnonzero(~is_whole & is_finite.any(axis=1) & is_baseline_finite.any(axis=1)):
        p[i] = mannwhitneyu(values[i, is_finite[i]], baseline_values[i, is_baseline_finite[i]]).pvalue
    return p


def pairing_sentence(comparisons: StudyComparisons) -> str:
    """Say how comparisons are paired, and whether the values support it."""
    n = format_count(len(comparisons.frame), "comparison")
    if comparisons.design.kind == "unpaired":
        return f"{n}; repeats are not paired."
    text = f"{n}, paired by the repeat"
    if np.isnan(comparisons.correlation):
        return f"{text}."
    text += f": the values of a repeat go together, median correlation {comparisons.correlation:.2f}."
    if comparisons.correlation < 0.1:
        return (
            f"{n}, paired by the repeat, but the values of a repeat do not go together (median correlation "
            f"{comparisons.correlation:.2f}): were they made with the same rows? If not: --design unpaired."
        )
    return text


def select_cells(table: StudyTable, filters: Sequence[str], baseline: str | None = None) -> StudyTable:
    """Return the cells that match filters, as `plan.select` takes them; on techniques, the plain model stays.

    Raises
    ------
    UserError
        For a filter that cannot be read, and where no cell is left.
    """
    if not filters:
        return table
    cells = []
    for cell in table.cells:
        technique = cell["technique"]
        if technique == baseline or (baseline is None and _is_baseline_name(technique)):
            # A cell without a technique matches every filter on it.
            cell = {column: value for column, value in cell.items() if column != "technique"}
        cells.append(cell)
    is_selected = np.array(select(cells, tuple(filters)))
    keys = table.keys[is_selected].reset_index(drop=True)
    return replace(table, keys=keys, values=table.values[is_selected])
