"""What no training is needed for: the labels, the constants, and predictions replaced by a constant.

`baselines_by_situation` gives the counts; `baselines_frame` is baselines.csv. Whether a technique is below
them is in baselines_distance.csv (`baseline_distance_frame`), and in words (`describe_shortfalls`).

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
from typing import Any

import numpy as np
import pandas as pd

from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.registry import measure
from fairbench_cli.report.ledger import population_tests as population
from fairbench_cli.report.ledger.cell_labels import BLOCK, LABELS, label_counts
from fairbench_cli.report.ledger.frontier import ABOVE, BELOW, NOT_DISTINGUISHABLE, frontier_distance_frame
from fairbench_cli.report.ledger.inference import compute_slopes, paired_test
from fairbench_cli.report.ledger.journal_arrays import (
    SITUATION,
    CellKey,
    DatasetRepeats,
    is_baseline,
    mean_and_interval,
)
from fairbench_cli.report.ledger.paired_differences import adjust_by_family, run_paired_frame, verdict_words
from fairbench_cli.report.ledger.results import COMPARED, RunResults

SITUATION_COLUMNS = [*SITUATION[:2], "compared", *SITUATION[2:]]
ACCEPT = "accept all"
REFUSE = "refuse all"
MUTATED = "mutated"
SHARES = tuple(k / 10 for k in range(1, 11))

BASELINE_COLUMNS = [
    *SITUATION_COLUMNS, "baseline", "constant", "share", "include_protected", "metric", "mean", "sd", "low",
    "high", "n_ok", "n",
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
        What ``none`` decided, by its ``include_protected``, in the shape of the labels; empty where the run
        has none.
    """

    labels: Counts
    plain: dict[bool, Counts] = field(default_factory=dict)

    @cached_property
    def majority_is_favourable(self) -> bool:
        """Whether most labels of the test rows are favourable: accepting all is the better constant."""
        both = np.nansum(self.labels.overall, axis=0)
        return bool(both[1, 1] >= both[0, 0])

    @property
    def constant(self) -> str:
        """The constant that is right more often on the test rows: `ACCEPT` or `REFUSE`."""
        if self.majority_is_favourable:
            return ACCEPT
        return REFUSE

    @property
    def constants(self) -> dict[str, Counts]:
        """What accepting all makes of the test rows, and what refusing all does."""
        return {ACCEPT: self.labels.of_constant(True), REFUSE: self.labels.of_constant(False)}

    def mutated(self, share: float, seen: bool = False) -> Counts:
        """Return the counts of ``none`` when a share of its predictions is replaced by the better constant.

        Parameters
        ----------
        share : float in [0, 1]
        seen : bool
            Its ``include_protected``, one of `plain`.
        """
        return mutate_predictions(self.plain[seen], share, self.majority_is_favourable)

    @property
    def every(self) -> Iterator[tuple[dict[str, Any], Counts]]:
        """The columns that tell baselines apart, each with its counts."""
        for name, counts in {LABELS: self.labels, **self.constants}.items():
            yield {"baseline": name, "constant": "", "share": np.nan, "include_protected": ""}, counts
        for seen in self.plain:
            for share in SHARES:
                own = {"baseline": MUTATED, "constant": self.constant, "share": share}
                yield own | {"include_protected": seen}, self.mutated(share, seen)


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
    part = np.asarray(share, dtype=np.float64)[..., None, None, None]
    return replace(counts, n=(1 - part) * counts.n + part * counts.of_constant(favourable).n)


@lru_cache(maxsize=2)  # files, tables, figures, page and answer are of one run
def baselines_by_situation(run: RunResults) -> dict[CellKey, Baselines]:
    """Return the baselines of a run by the values of `SITUATION_COLUMNS`, in the order of its cells."""
    found: dict[CellKey, Baselines] = {}
    for data in run.datasets:
        for compared in data.compared_attributes(run.attributes):
            decided = data.levels(data.counts, compared)
            for n, cell in zip(decided.n, data.cells, strict=True):
                place = tuple((cell | {"compared": compared})[name] for name in SITUATION_COLUMNS)
                if place not in found:
                    found[place] = Baselines(data.levels(label_counts(run, data, cell), compared))
                if is_baseline(cell["intervention"], cell["parameters"]):
                    found[place].plain[bool(cell["include_protected"])] = replace(decided, n=n)
    return found


def baselines_frame(run: RunResults) -> pd.DataFrame:
    """Return baselines.csv: metrics of every baseline, their mean, sd and 95 % t-interval over the repeats.

    One row per situation (`SITUATION_COLUMNS`), baseline and metric of counts. ``labels``: the labels of the
    test rows, taken for decisions. ``accept all`` and ``refuse all`` decide the same for everybody.
    ``mutated``: a ``share`` of the predictions of ``none`` (of that ``include_protected``) is replaced by the
    ``constant`` that is right more often; metrics are those of the expected counts.
    """
    config = run.plan.config
    names = [name for name in config.at_hand if config.metric(name).needs == "counts"]
    metrics = [config.metric(name) for name in names]
    parts = [pd.DataFrame(columns=BASELINE_COLUMNS)]
    for place, own in baselines_by_situation(run).items() if names else ():
        listed, counts = zip(*own.every, strict=True)
        together = replace(counts[0], n=np.stack([one.n for one in counts]))  # (baselines, repeats, …)
        numbers = mean_and_interval(np.stack([measure(metric, together) for metric in metrics], axis=1))
        frame = pd.DataFrame(listed).loc[np.repeat(np.arange(len(listed)), len(names))]
        frame = frame.assign(
            **dict(zip(SITUATION_COLUMNS, place, strict=True)),
            metric=names * len(listed),
            **{key: values.ravel() for key, values in numbers.items()},
            n=config.repeats,
        )
        parts.append(frame[BASELINE_COLUMNS])
    return pd.concat(parts[1:] or parts, ignore_index=True)


GAP = "demographic-parity-difference"  # of two groups |discrimination|
BASELINE_DISTANCE_COLUMNS = [
    *COMPARED, "baseline_include_protected", "n", "accuracy", "gap", "plain_accuracy", "plain_gap", "share",
    "constant", "mutated_accuracy", "difference", "low", "high", "p", "p_holm", "tests", "verdict", "region",
    "constant_accuracy", "constant_difference", "constant_p", "constant_p_holm", "constant_verdict", "basis",
    "accepts_all", "refuses_all",
]  # fmt: skip
SAME = "no difference"

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
"""Fairea's regions: what becomes of the gap and the accuracy of ``none``, and the side of the line."""
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
    ``constant_verdict`` says so of its accuracy less that of the constant, which has no gap: a technique
    ``below`` it is beaten in both.

    ``region`` is where Fairea's regions put the technique, as far as is shown: all that tests of its gap,
    of its accuracy (those of paired.csv) and of the line leave, joined by "or"; ``open`` where they leave
    more than two.

    ``accepts_all`` and ``refuses_all`` count the repeats in which it decides the same for everybody.
    """
    parts = [part for data in run.datasets for part in _distances(run, data)]
    empty = pd.DataFrame(columns=BASELINE_DISTANCE_COLUMNS)
    if parts:
        frame = pd.concat(parts, ignore_index=True)
    else:
        frame = empty.assign(mean=0.0, constant_mean=0.0)
    for prefix in ("", "constant_"):
        own = adjust_by_family(frame, frame[f"{prefix}p"].to_numpy(dtype=float), BLOCK)
        change = frame[f"{prefix}difference"].to_numpy(dtype=float)
        words = verdict_words(change, own["p_holm"], ABOVE, BELOW, NOT_DISTINGUISHABLE)
        frame = frame.assign(
            **{f"{prefix}p_holm": own["p_holm"], f"{prefix}verdict": words}, tests=own["tests"]
        )
    known = run_paired_frame(run).set_index([*COMPARED, "metric"])["population_verdict"].to_dict()
    regions = [
        classify_region(known.get((*key, "discrimination"), ""), known.get((*key, "accuracy"), ""), verdict)
        for *key, verdict in frame[[*COMPARED, "verdict"]].itertuples(index=False, name=None)
    ]
    return frame.assign(region=regions)[BASELINE_DISTANCE_COLUMNS]


def classify_region(gap: str, accuracy: str, line: str) -> str:
    """Return the regions of Fairea that three verdicts leave.

    Parameters
    ----------
    gap, accuracy : {"better", "worse", "no difference", ""}
        What a technique makes of those of ``none``.
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
    found = [gap, accuracy, line]
    if gap in ("better", "worse") and accuracy == "better":
        found[2] = ""  # whatever the line is: it may rise where the plain model is worse than the constant
    left = [
        name
        for name, needed in REGIONS.items()
        if all(one in ("", SAME, NOT_DISTINGUISHABLE, need) for one, need in zip(found, needed, strict=True))
    ]
    if 1 <= len(left) <= 2:
        return " or ".join(left)
    return OPEN


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
        own = self.numbers
        each = np.stack([own["gap"], own["plain_gap"], own["plain_accuracy"] - own["constant_accuracy"]])
        there = np.isfinite(each).all(axis=0)
        n = np.maximum(there.sum(axis=-1, keepdims=True), 1)
        gap, plain_gap, gain = np.where(there, each, 0.0).sum(axis=-1, keepdims=True) / n
        within = gap < plain_gap
        divisor = np.where(within, plain_gap, 1.0)
        return np.where(within, gap / divisor, 1.0), np.where(within, gain / divisor, 0.0)

    @property
    def line(self) -> Floats:
        """The accuracy on Fairea's line: its mean is that of the line at the mean gap of the technique.

        What a repeat is off the mean gaps counts at the price of the line (the delta method). Taken at the
        gap of each repeat by itself, every technique as good as ``none`` would be above the line: it would
        fall where the gap happens to be smaller and not rise where it is larger.
        """
        (kept, price), own = self.kept_and_price, self.numbers
        ends = (1 - kept) * own["constant_accuracy"] + kept * own["plain_accuracy"]
        return ends + price * (own["gap"] - kept * own["plain_gap"])

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
        kept, price = (one[..., None, None, None] for one in self.kept_and_price)
        constant = partial(_constant_accuracy, self.constant_accepts)
        line = (1 - kept) * compute_slopes(constant, self.none) + kept * compute_slopes("accuracy", self.none)
        line -= price * kept * compute_slopes(GAP, self.none)
        up = compute_slopes("accuracy", self.own)
        return (
            np.stack([up - price * compute_slopes(GAP, self.own), up - compute_slopes(constant, self.own)]),
            np.stack([line, np.zeros_like(line)]),
        )


def _constant_accuracy(constant_accepts: bool, counts: Counts) -> Floats:
    return measure("accuracy", counts.of_constant(constant_accepts))


def _distances(run: RunResults, data: DatasetRepeats) -> Iterator[pd.DataFrame]:
    """Yield the rows of a data set, by labels judged on and groups compared, before anything is adjusted."""
    of_labels: dict[tuple[str, float], list[tuple[int, int]]] = {}
    for i, (cell, base) in enumerate(zip(data.cells, data.baseline_indices(), strict=True)):
        if base is not None and not is_baseline(cell["intervention"], cell["parameters"]):
            if run.labels == "true":
                labels = ("", 0.0)
            else:
                labels = (cell["world"], cell["beta"])
            of_labels.setdefault(labels, []).append((i, base))
    for tested, compared in product(of_labels.values(), data.compared_attributes(run.attributes)):
        cells, bases = np.array(tested).T
        accepted = data.counts.predicted[cells].sum(-2)  # by decision
        own = Baselines(data.levels(label_counts(run, data, data.cells[cells[0]]), compared))
        pairs = data.pair(data.counts, compared)
        techniques, nones = (replace(pairs, n=pairs.n[at]) for at in (cells, bases))
        found = LineComparison(techniques, nones, own.majority_is_favourable)
        both = np.where(np.isfinite(found.excess), 1.0, np.nan)
        numbers = found.numbers | {"share": 1 - found.kept_and_price[0], "mutated_accuracy": found.line}
        to_constant = numbers["accuracy"] - numbers["constant_accuracy"]
        differences = np.stack([found.excess, to_constant * both])
        on_rows = paired_test(differences)
        if data.design.kind == "shared":
            known = np.isfinite(found.excess)
            rows, basis = population.two_model_variance(data, compared, tested, known, *found.slopes)
        else:
            if data.design.kind == "drawn":
                each = population.FRESH
            else:
                each = population.SPLITS
            rows = None
            basis = np.full(len(cells), each, dtype=object)
        everywhere = paired_test(differences, data.design.ratio, rows)
        frame = data.frame.iloc[cells].assign(
            compared=compared,
            baseline_include_protected=[data.cells[i]["include_protected"] for i in bases],
            n=on_rows.n[0].astype(int),
            **{name: mean_and_interval(values * both)["mean"] for name, values in numbers.items()},
            constant=own.constant,
            difference=on_rows.mean[0],
            low=on_rows.low[0],
            high=on_rows.high[0],
            p=everywhere.p[0],
            constant_difference=on_rows.mean[1],
            constant_p=everywhere.p[1],
            basis=basis,
            accepts_all=(accepted[..., 0] == 0).sum(axis=1),
            refuses_all=(accepted[..., 1] == 0).sum(axis=1),
        )
        yield frame[frame["n"] > 0]


def describe_shortfalls(run: RunResults) -> dict[CellKey, tuple[str, ...]]:
    """Say which techniques are shown below a baseline, and by how much, by the values of `COMPARED`.

    Clauses such as "refusing everybody is 2.1 points more accurate and has no gap": of the constant, or
    where it is not shown better of Fairea's line; then of moved thresholds, where the run has a sweep.
    Techniques that are not shown below anything are left out.
    """
    found: dict[CellKey, list[str]] = {}
    for row in baseline_distance_frame(run).to_dict("records"):
        own = found.setdefault(tuple(row[name] for name in COMPARED), [])
        doing = {ACCEPT: "accepting", REFUSE: "refusing"}[row["constant"]]
        if row["constant_verdict"] == BELOW:
            own.append(f"{doing} everybody {_more(row['constant_difference'])} and has no gap")
        elif row["verdict"] == BELOW and row["share"] > 0:
            some = f"{doing} {100 * row['share']:.1f} % of the people at random"
            own.append(f"{some}, the others as the plain model, {_more(row['difference'])} at the same gap")
        elif row["verdict"] == BELOW:
            own.append(f"the plain model itself {_more(row['difference'])} and its gap is no larger")
    if run.plan.config.sweep:
        for row in frontier_distance_frame(run).to_dict("records"):
            if row["verdict"] == BELOW and row["constraint"] == "demographic-parity":
                own = found.setdefault(tuple(row[name] for name in COMPARED), [])
                more = _more(row["chosen_difference"])
                own.append(f"moving the thresholds of the plain model {more} at the same gap")
    return {key: tuple(clauses) for key, clauses in found.items() if clauses}


def _more(difference: float) -> str:
    return f"is {-100 * difference:.1f} points more accurate"
