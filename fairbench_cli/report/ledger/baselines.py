"""Baselines that need no training: the labels, the constants, and predictions replaced by a constant.

`baselines_by_situation` gives the counts; `baselines_frame` is baselines.csv. Whether a technique is below
them is in baselines_distance.csv (`baseline_distance_frame`); `find_shortfalls` has those that are.

Predictions of the plain model that are replaced by a constant are the baseline of Hort, Zhang, Sarro and
Harman (2021), "Fairea: a model behaviour mutation approach to benchmarking bias mitigation methods". They
replace a random share of them by the majority's label, 10 % to 100 %; here counts are the expected ones, so
that nothing is drawn. Rates of groups are then mixtures of the model's and the constant's, and every
difference of rates falls in proportion.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd

from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.registry import measure
from fairbench_cli.report.ledger import journal_arrays
from fairbench_cli.report.ledger import population_tests as population
from fairbench_cli.report.ledger.cell_labels import BLOCK, LABELS, label_counts
from fairbench_cli.report.ledger.columns import ACCURACY, FAIRNESS
from fairbench_cli.report.ledger.frontier import ABOVE, BELOW, NOT_DISTINGUISHABLE, frontier_distance_frame
from fairbench_cli.report.ledger.inference import compute_slopes, paired_test
from fairbench_cli.report.ledger.paired_differences import (
    BASELINE_ROW,
    MOVED,
    NO_DIFFERENCE,
    adjust_by_family,
    run_paired_frame,
    verdict_words,
)
from fairbench_cli.report.ledger.results import COMPARED, RunResults

SITUATION_COLUMNS = journal_arrays.SITUATION[:2] + ["compared"] + journal_arrays.SITUATION[2:]
ACCEPT = "accept all"
REFUSE = "refuse all"
MUTATED = "mutated"
SHARES = tuple(k / 10 for k in range(1, 11))

BASELINE_COLUMNS = SITUATION_COLUMNS + [
    "baseline", "constant", "share", "include_protected", "metric", "mean", "sd", "low", "high", "n_ok", "n",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Baselines:
    """The baselines of one situation: a data set, groups compared, a representation, β and a classifier.

    Parameters
    ----------
    labels : Counts
        Of the test rows, their own labels taken for decisions, by the groups compared: shape (repeats,
        groups, 2, 2), NaN where no cell has a result.
    plain : dict
        Counts of the decisions of ``none``, by its ``include_protected``, in the shape of the labels; empty
        where the run has no ``none``.
    """

    labels: Counts
    plain: dict[bool, Counts] = field(default_factory=dict)

    @cached_property
    def majority_is_favourable(self) -> bool:
        """Whether most labels of the test rows are favourable: accepting all is the better constant."""
        n_by_label = np.nansum(self.labels.overall, axis=0)
        return bool(n_by_label[1, 1] >= n_by_label[0, 0])

    @property
    def constant(self) -> str:
        """The constant that is right more often on the test rows: `ACCEPT` or `REFUSE`."""
        if self.majority_is_favourable:
            return ACCEPT
        return REFUSE

    @property
    def constants(self) -> dict[str, Counts]:
        """The counts of the test rows when all are accepted, and when all are refused."""
        return {ACCEPT: self.labels.of_constant(True), REFUSE: self.labels.of_constant(False)}

    def mutated(self, share: float, include_protected: bool = False) -> Counts:
        """Return the counts of ``none`` when a share of its predictions is replaced by the better constant.

        Parameters
        ----------
        share : float in [0, 1]
        include_protected : bool
            Of ``none``: a key of `plain`.
        """
        return mutate_predictions(self.plain[include_protected], share, self.majority_is_favourable)

    @property
    def every(self) -> Iterator[tuple[dict[str, Any], Counts]]:
        """The baselines: for each the values of the columns that tell them apart, and its counts."""
        counts_by_name = {LABELS: self.labels} | self.constants
        for name, counts in counts_by_name.items():
            yield {"baseline": name, "constant": "", "share": np.nan, "include_protected": ""}, counts
        for include_protected in self.plain:
            for share in SHARES:
                columns = {
                    "baseline": MUTATED,
                    "constant": self.constant,
                    "share": share,
                    "include_protected": include_protected,
                }
                yield columns, self.mutated(share, include_protected)


def mutate_predictions(counts: Counts, share: Floats | float, favourable: bool) -> Counts:
    """Return expected counts when a random share of the predictions is replaced by a constant (Fairea).

    Parameters
    ----------
    counts : Counts
        Of the predictions, shape (..., groups, 2, 2).
    share : float or array of the leading shape, in [0, 1]
        Of the rows whose prediction is replaced.
    favourable : bool
        Whether by the favourable decision.

    Examples
    --------
    >>> two = Counts(("g", "f"), np.array([[[3.0, 1], [2, 4]], [[1, 0], [1, 4]]]))
    >>> mutate_predictions(two, 0.5, favourable=False).n[0].tolist()
    [[3.5, 0.5], [4.0, 2.0]]
    """
    replaced = np.asarray(share, dtype=np.float64)[..., None, None, None]  # one for groups, labels, decisions
    return replace(counts, n=(1 - replaced) * counts.n + replaced * counts.of_constant(favourable).n)


@lru_cache(maxsize=2)  # files, tables, figures, page and answer are of one run
def baselines_by_situation(run: RunResults) -> dict[journal_arrays.CellKey, Baselines]:
    """Return the baselines of a run by the values of `SITUATION_COLUMNS`, in the order of its cells."""
    baselines: dict[journal_arrays.CellKey, Baselines] = {}
    for data in run.datasets:
        for compared in data.compared_attributes(run.attributes):
            counts = data.levels(data.counts, compared)
            for n, cell in zip(counts.n, data.cells, strict=True):
                columns = cell | {"compared": compared}
                situation = tuple(columns[name] for name in SITUATION_COLUMNS)
                if situation not in baselines:
                    baselines[situation] = Baselines(data.levels(label_counts(run, data, cell), compared))
                if journal_arrays.is_baseline(cell["intervention"], cell["parameters"]):
                    include_protected = bool(cell["include_protected"])
                    baselines[situation].plain[include_protected] = replace(counts, n=n)
    return baselines


def baselines_frame(run: RunResults) -> pd.DataFrame:
    """Return baselines.csv: metrics of every baseline, their mean, sd and 95 % t-interval over the repeats.

    One row per situation (`SITUATION_COLUMNS`), baseline and metric of counts. ``labels``: the labels of the
    test rows, taken for decisions. ``accept all`` and ``refuse all`` decide the same for everybody.
    ``mutated``: a ``share`` of the predictions of ``none`` (of that ``include_protected``) is replaced by the
    ``constant`` that is right more often; metrics are those of the expected counts.
    """
    # 1. The metrics of counts; baselines have no scores.
    config = run.plan.config
    names = [name for name in config.at_hand if config.metric(name).needs == "counts"]
    metrics = [config.metric(name) for name in names]
    if not metrics:
        return pd.DataFrame(columns=BASELINE_COLUMNS)
    frames = []
    for situation, baselines in baselines_by_situation(run).items():
        # 2. Every metric of every baseline of a situation, and its mean over the repeats.
        columns_of_baselines = []
        n_of_baselines = []
        for columns, counts in baselines.every:
            columns_of_baselines.append(columns)
            n_of_baselines.append(counts.n)
        stacked = replace(baselines.labels, n=np.stack(n_of_baselines))  # (baselines, repeats, …)
        values = np.stack([measure(metric, stacked) for metric in metrics], axis=1)
        means = journal_arrays.mean_and_interval(values)  # each of shape (baselines, metrics)
        # 3. A row per baseline and metric: the metrics follow each other within a baseline.
        n_baselines = len(columns_of_baselines)
        frame = pd.DataFrame(columns_of_baselines).loc[np.repeat(np.arange(n_baselines), len(names))]
        frame = frame.assign(
            **dict(zip(SITUATION_COLUMNS, situation, strict=True)),
            metric=names * n_baselines,
            **{column: numbers.ravel() for column, numbers in means.items()},
            n=config.repeats,
        )
        frames.append(frame[BASELINE_COLUMNS])
    return journal_arrays.join_frames(frames, BASELINE_COLUMNS)


GAP = "demographic-parity-difference"  # of two groups |discrimination|
BASELINE_DISTANCE_COLUMNS = COMPARED + [
    "baseline_include_protected", "n", "accuracy", "gap", "plain_accuracy", "plain_gap", "share",
    "constant", "mutated_accuracy", "difference", "low", "high", "p", "p_holm", "tests", "verdict", "region",
    "constant_accuracy", "constant_difference", "constant_p", "constant_p_holm", "constant_verdict", "basis",
    "accepts_all", "refuses_all",
]  # fmt: skip

WIN = "win-win"
GOOD = "good trade-off"
POOR = "poor trade-off"
LOSE = "lose-lose"
INVERTED = "inverted"
REGIONS = {
    WIN: ("better", "better", ABOVE),
    GOOD: ("better", "worse", ABOVE),
    POOR: ("better", "worse", BELOW),
    LOSE: ("worse", "worse", BELOW),
    INVERTED: ("worse", "better", ABOVE),
}
"""Fairea's regions: the verdict on the gap, that on the accuracy, and the side of the line."""
OPEN = "open"


@lru_cache(maxsize=2)  # the CSV, the answer and the page are of one run
def baseline_distance_frame(run: RunResults) -> pd.DataFrame:
    """Return baselines_distance.csv: each technique against the constant, and against Fairea's line.

    One row per cell that is not ``none`` and groups compared, where the run has ``none`` in the same
    situation: with the same ``include_protected``, else with the other one
    (``baseline_include_protected``). ``gap`` is |discrimination|. The technique is compared with
    ``none``, a ``share`` of whose predictions is replaced by the ``constant``, so many that its mean gap is
    the technique's (none where that gap is no smaller): ``difference`` is the technique's accuracy less that.

    ``verdict``: ``above`` or ``below`` Fairea's line in the population, at 5 % after Holm's adjustment over
    all techniques and β of a data set, attribute, groups compared and classifier; else ``not
    distinguishable``. ``low`` and ``high`` are the 95 % t-interval over the repeats, on these test rows.
    ``constant_verdict`` is that of its accuracy less that of the constant, which has no gap: a technique
    ``below`` it is beaten in both.

    ``region`` is where Fairea's regions put the technique, as far as is shown: all that tests of its gap,
    of its accuracy (those of paired.csv) and of the line leave, joined by "or"; ``open`` where they leave
    more than two.

    ``accepts_all`` and ``refuses_all`` count the repeats in which it decides the same for everybody.
    """
    # 1. The differences of all data sets, not adjusted yet.
    frames: list[pd.DataFrame] = []
    for data in run.datasets:
        frames.extend(_unadjusted_distances(run, data))
    if frames:
        frame = pd.concat(frames, ignore_index=True)
    else:
        frame = pd.DataFrame(columns=BASELINE_DISTANCE_COLUMNS)
    # 2. The verdicts of the line, which has no prefix, and of the constant.
    for prefix in ("", "constant_"):
        p = frame[f"{prefix}p"].to_numpy(dtype=float)
        adjusted = adjust_by_family(frame, p, BLOCK, run.plan.config.family)
        difference = frame[f"{prefix}difference"].to_numpy(dtype=float)
        verdicts = verdict_words(difference, adjusted["p_holm"], ABOVE, BELOW, NOT_DISTINGUISHABLE)
        frame = frame.assign(
            **{f"{prefix}p_holm": adjusted["p_holm"], f"{prefix}verdict": verdicts}, tests=adjusted["tests"]
        )
    # 3. The regions; of the gap and the accuracy there is a verdict already, against none.
    verdicts_to_none = run_paired_frame(run)["population_verdict"].droplevel(BASELINE_ROW).to_dict()
    regions = []
    for record in frame.to_dict("records"):
        cell = journal_arrays.cell_key(record)
        gap = verdicts_to_none.get(run.row_number(cell, record["compared"], FAIRNESS), "")
        accuracy = verdicts_to_none.get(run.row_number(cell, record["compared"], ACCURACY), "")
        regions.append(classify_region(gap, accuracy, record["verdict"]))
    return frame.assign(region=regions)[BASELINE_DISTANCE_COLUMNS]


def classify_region(gap: str, accuracy: str, line: str) -> str:
    """Return the regions of Fairea that three verdicts leave.

    Parameters
    ----------
    gap, accuracy : {"better", "worse", "no difference", ""}
        Those of a technique, against ``none``.
    line : {"above", "below", "not distinguishable", ""}
        On which side of the line it is.

    Examples
    --------
    >>> classify_region("better", "worse", "below"), classify_region("better", "no difference", "above")
    ('poor trade-off', 'win-win or good trade-off')
    >>> classify_region("better", "worse", "not distinguishable")
    'good trade-off or poor trade-off'
    >>> classify_region("better", "no difference", "")
    'open'
    """
    if gap in ("better", "worse") and accuracy == "better":
        line = ""  # whatever the line is: it may rise where the plain model is worse than the constant
    regions = []
    for region, (region_gap, region_accuracy, region_line) in REGIONS.items():
        if (
            _is_possible(gap, region_gap)
            and _is_possible(accuracy, region_accuracy)
            and _is_possible(line, region_line)
        ):
            regions.append(region)
    if 1 <= len(regions) <= 2:
        return " or ".join(regions)
    return OPEN


def _is_possible(verdict: str, required: str) -> bool:
    """Return whether a verdict is the one that a region requires, or leaves it open."""
    return verdict in ("", NO_DIFFERENCE, MOVED, NOT_DISTINGUISHABLE, required)


@dataclass(frozen=True, eq=False)
class LineComparison:
    """Techniques next to ``none`` of the same repeats, and to its predictions replaced by a constant.

    Parameters
    ----------
    own, none : Counts
        Of the deprived and the favoured group, shape (cells, repeats, 2, 2, 2).
    constant_accepts : bool
        Whether the constant accepts everybody.
    """

    own: Counts
    none: Counts
    constant_accepts: bool

    @cached_property
    def numbers(self) -> dict[str, Floats]:
        """Accuracy and gap, |discrimination|, of the techniques and of ``none``, and the constant's accuracy.

        All of shape (cells, repeats).
        """
        return {
            "accuracy": measure("accuracy", self.own),
            "gap": measure(GAP, self.own),
            "plain_accuracy": measure("accuracy", self.none),
            "plain_gap": measure(GAP, self.none),
            "constant_accuracy": _constant_accuracy(self.constant_accepts, self.own),
        }

    @cached_property
    def kept_and_price(self) -> tuple[Floats, Floats]:
        """The share of predictions to keep for the mean gap of the technique, and its price.

        All are kept, and the price is 0, where the mean gap is no smaller; shape (cells, 1).
        """
        numbers = self.numbers
        gain = numbers["plain_accuracy"] - numbers["constant_accuracy"]
        values = np.stack([numbers["gap"], numbers["plain_gap"], gain])
        # Means over the repeats that have all three.
        has_values = np.isfinite(values).all(axis=0)
        n = np.maximum(has_values.sum(axis=-1, keepdims=True), 1)
        total = np.where(has_values, values, 0.0).sum(axis=-1, keepdims=True)
        mean_gap, mean_plain_gap, mean_gain = total / n
        is_smaller = mean_gap < mean_plain_gap
        divisor = np.where(is_smaller, mean_plain_gap, 1.0)
        kept_share = np.where(is_smaller, mean_gap / divisor, 1.0)
        price = np.where(is_smaller, mean_gain / divisor, 0.0)
        return kept_share, price

    @property
    def line(self) -> Floats:
        """The accuracy on Fairea's line: its mean is that of the line at the mean gap of the technique.

        How far a repeat is off the mean gaps counts at the price of the line (the delta method). Taken at the
        gap of each repeat by itself, every technique as good as ``none`` would be above the line: it would
        fall where the gap happens to be smaller and not rise where it is larger.
        """
        kept_share, price = self.kept_and_price
        numbers = self.numbers
        mixture = (1 - kept_share) * numbers["constant_accuracy"] + kept_share * numbers["plain_accuracy"]
        return mixture + price * (numbers["gap"] - kept_share * numbers["plain_gap"])

    @property
    def excess(self) -> Floats:
        """How much more accurate the techniques are than the line."""
        return self.numbers["accuracy"] - self.line

    @cached_property
    def slopes(self) -> tuple[Floats, Floats]:
        """How `excess`, and the accuracy less the constant's, change with counts.

        They rise by the first with the counts of the techniques, and fall by the second with those of
        ``none``; both of shape (2, cells, repeats, 2, 2, 2).
        """
        # 1. Both of shape (cells, 1, 1, 1, 1), as counts are (cells, repeats, 2, 2, 2).
        kept_share, price = self.kept_and_price
        kept_share = kept_share[..., None, None, None]
        price = price[..., None, None, None]
        # 2. The line, by the counts of none.
        constant = partial(_constant_accuracy, self.constant_accepts)
        line = (1 - kept_share) * compute_slopes(constant, self.none)
        line += kept_share * compute_slopes("accuracy", self.none)
        line -= price * kept_share * compute_slopes(GAP, self.none)
        # 3. Both differences, by the counts of the techniques; the constant's does not depend on none.
        accuracy = compute_slopes("accuracy", self.own)
        excess = accuracy - price * compute_slopes(GAP, self.own)
        to_constant = accuracy - compute_slopes(constant, self.own)
        return np.stack([excess, to_constant]), np.stack([line, np.zeros_like(line)])


def _constant_accuracy(constant_accepts: bool, counts: Counts) -> Floats:
    return measure("accuracy", counts.of_constant(constant_accepts))


def _unadjusted_distances(run: RunResults, data: journal_arrays.DatasetRepeats) -> Iterator[pd.DataFrame]:
    """Yield the rows of a data set, by labels judged on and groups compared, before anything is adjusted."""
    # 1. Each technique with its none, by the labels that both are judged on.
    pairs_by_labels: dict[tuple[str, float], list[tuple[int, int]]] = {}
    for index, (cell, none_index) in enumerate(zip(data.cells, data.baseline_indices(), strict=True)):
        if none_index is None or journal_arrays.is_baseline(cell["intervention"], cell["parameters"]):
            continue
        if run.labels == "true":
            labels = ("", 0.0)
        else:
            labels = (cell["world"], cell["beta"])
        pairs_by_labels.setdefault(labels, []).append((index, none_index))
    for pairs, compared in product(pairs_by_labels.values(), data.compared_attributes(run.attributes)):
        # 2. Each technique next to its none and to the better constant.
        cells, none_cells = np.array(pairs).T
        baselines = Baselines(data.levels(label_counts(run, data, data.cells[cells[0]]), compared))
        counts = data.pair(data.counts, compared)
        comparison = LineComparison(
            replace(counts, n=counts.n[cells]),
            replace(counts, n=counts.n[none_cells]),
            baselines.majority_is_favourable,
        )
        kept_share, _ = comparison.kept_and_price
        numbers = comparison.numbers | {"share": 1 - kept_share, "mutated_accuracy": comparison.line}
        # 3. Means over the repeats that have a value on the line: 1 there, else NaN.
        is_finite = np.isfinite(comparison.excess)
        weight = np.where(is_finite, 1.0, np.nan)
        means = {
            name: journal_arrays.mean_and_interval(values * weight)["mean"]
            for name, values in numbers.items()
        }
        # 4. Test both differences: on these test rows, and in the population.
        to_constant = numbers["accuracy"] - numbers["constant_accuracy"]
        differences = np.stack([comparison.excess, to_constant * weight])
        on_rows = paired_test(differences)
        row_variance = None
        if data.design.kind == "shared":
            rising, falling = comparison.slopes
            row_variance, basis = population.two_model_variance(
                data, compared, pairs, is_finite, rising, falling
            )
        elif data.design.kind == "drawn":
            basis = np.full(len(cells), population.FRESH, dtype=object)
        else:
            basis = np.full(len(cells), population.SPLITS, dtype=object)
        in_population = paired_test(differences, data.design.ratio, row_variance)
        # 5. A row per technique; those without a repeat that has a value are left out.
        accepted = data.counts.predicted[cells].sum(-2)  # by decision
        frame = data.frame.iloc[cells].assign(
            compared=compared,
            baseline_include_protected=[data.cells[index]["include_protected"] for index in none_cells],
            n=on_rows.n[0].astype(int),
            **means,
            constant=baselines.constant,
            difference=on_rows.mean[0],
            low=on_rows.low[0],
            high=on_rows.high[0],
            p=in_population.p[0],
            constant_difference=on_rows.mean[1],
            constant_p=in_population.p[1],
            basis=basis,
            accepts_all=(accepted[..., 0] == 0).sum(axis=1),
            refuses_all=(accepted[..., 1] == 0).sum(axis=1),
        )
        yield frame[frame["n"] > 0]


@dataclass(frozen=True)
class Shortfall:
    """What a technique is shown to be below, at the same gap or a smaller one.

    Parameters
    ----------
    baseline : {"constant", "line", "thresholds"}
        The constant, which has no gap; Fairea's line; or thresholds of the plain model that are moved.
    difference : float
        The accuracy of the technique less that of the baseline: below 0.
    constant_accepts : bool
        Whether the constant, and that of the line, accepts everybody.
    share : float
        Of the predictions of the plain model that the line replaces by the constant; 0: none.
    """

    baseline: Literal["constant", "line", "thresholds"]
    difference: float
    constant_accepts: bool = False
    share: float = 0.0


def find_shortfalls(run: RunResults) -> dict[int, tuple[Shortfall, ...]]:
    """Return the shortfalls of techniques, by the numbers of their rows of discrimination in the results.

    First of the constant, else of Fairea's line; then of thresholds, where the run has a sweep.
    Techniques that are not shown below anything are left out.
    """
    # 1. The constant and Fairea's line.
    shortfalls: dict[int, list[Shortfall]] = {}
    for record in baseline_distance_frame(run).to_dict("records"):
        constant_accepts = record["constant"] == ACCEPT
        if record["constant_verdict"] == BELOW:
            shortfall = Shortfall("constant", record["constant_difference"], constant_accepts)
        elif record["verdict"] == BELOW:
            shortfall = Shortfall("line", record["difference"], constant_accepts, record["share"])
        else:
            continue
        row = run.row_number(journal_arrays.cell_key(record), record["compared"], FAIRNESS)
        shortfalls.setdefault(row, []).append(shortfall)
    # 2. Moved thresholds.
    if run.plan.config.sweep:
        for record in frontier_distance_frame(run).to_dict("records"):
            if record["verdict"] == BELOW and record["constraint"] == "demographic-parity":
                row = run.row_number(journal_arrays.cell_key(record), record["compared"], FAIRNESS)
                shortfall = Shortfall("thresholds", record["chosen_difference"])
                shortfalls.setdefault(row, []).append(shortfall)
    return {row: tuple(row_shortfalls) for row, row_shortfalls in shortfalls.items()}
