"""What the scores of each group are worth, and what a single audit would find at each threshold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.compare.effective import own_rows
from fairbench_cli.audit.compare.kernel import compared, wanted_rates, weigh
from fairbench_cli.audit.compare.references import REST_NAME, excluded, kept
from fairbench_cli.audit.compare.report import Interval, Report
from fairbench_cli.audit.compare.verdict import all_of, roll_ups
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.metrics import COMPARED
from fairbench_cli.audit.scan.tally import ScoreRanges, Scores, Slice
from fairbench_cli.document.model import Verdict
from fairbench_cli.measures.calibration import slope_and_intercept
from fairbench_cli.measures.counts import Counts, divide
from fairbench_cli.measures.score_test import wilson
from fairbench_cli.measures.scores import (
    Estimate,
    auc,
    brier,
    ks_by_label,
    ks_from_reference,
    mean_score,
    minus,
)

TO_REFERENCE = "ks-to-reference"  # a comparison already: it has no difference


@dataclass(frozen=True)
class CalibrationBin:
    """The rows of one group with scores from low to high, and how many of them have the label 1."""

    low: float
    high: float
    rows: int
    mean_score: float
    rate: Interval


@dataclass(frozen=True)
class ScoreRow:
    """What the scores of one group are worth, by name of the measure.

    Parameters
    ----------
    group : str
    rows : int
    small : bool
        Whether it has fewer rows than `min_group`.
    is_reference : bool
    values : dict of str to Interval
        ``auc``, ``ks-of-labels``, ``ks-to-reference``, ``brier``, ``calibration-slope``,
        ``calibration-intercept``, ``mean-score`` and ``base-rate``, as far as they are defined.
    differences : dict of str to Interval
        From the reference's, of all but the second distance; empty for the reference itself.
    bins : tuple of CalibrationBin
        Those with rows, lowest scores first; empty without labels.
    """

    group: str
    rows: int
    small: bool
    is_reference: bool
    values: dict[str, Interval]
    differences: dict[str, Interval]
    bins: tuple[CalibrationBin, ...]


@dataclass(frozen=True)
class ThresholdRow:
    """What a single audit at one threshold finds: scores at or above it are selected.

    Parameters
    ----------
    threshold : float
    decision : str
        The decision of the configuration that it is; empty for others.
    selected : float
        Share of all rows that are selected.
    rates : dict of str to float
        Selection rate by group.
    verdict : {"pass", "fail", "undecided"}
        On the attribute.
    failing : tuple of str
        The rates that decide and fail.
    """

    threshold: float
    decision: str
    selected: float
    rates: dict[str, float]
    verdict: Verdict
    failing: tuple[str, ...]


@dataclass(frozen=True)
class ScoreCurves:
    """The scores of one attribute's groups under one model, whatever the decision.

    `reference` is the name of a group, `REST_NAME`, or empty where there is none; `family` says how many
    comparisons the verdict at each threshold is adjusted for.
    """

    model: str
    attribute: str
    reference: str
    groups: tuple[ScoreRow, ...]
    thresholds: tuple[ThresholdRow, ...]
    family: int


def judge_curves(read: Sequence[Scores], base: Report) -> tuple[ScoreCurves, ...]:
    """Return the curves of every attribute under every model, in the order in which they were read."""
    found, deciding, config = [], base.decided_by, base.config
    for _, same in groupby(read, key=lambda scores: scores.part.model):
        of_model = list(same)
        thresholds, families = [], []
        for at in range(len(of_model[0].thresholds)):
            slices = [kept(_selected(scores, at), config) for scores in of_model]
            verdicts, family = verdicts_of(slices, deciding, config)
            thresholds.append(list(zip(slices, verdicts, strict=True)))
            families.append(family)
        for i, scores in enumerate(of_model):
            rows = tuple(_threshold_row(scores, at, *each[i], deciding) for at, each in enumerate(thresholds))
            found.append(_curves(scores, rows, max(families, default=0), config))
    return tuple(found)


def verdicts_of(
    slices: Sequence[Slice], deciding: Sequence[str], config: AuditConfig
) -> tuple[list[dict[str, Verdict]], int]:
    """Return the verdict on every rate and roll-up that decides, by slice, and the size of the family.

    These are the verdicts of an audit of these slices and no others; it has the intervals, too.
    """
    wanted = [wanted_rates(part, COMPARED, deciding, config) for part in slices]
    tables = [
        compared(part, [name for name in COMPARED if name in some], config)
        for part, some in zip(slices, wanted, strict=True)
    ]
    evidence, family = weigh([table.tests for table in tables], wanted, config)
    found = []
    for table, known in zip(tables, evidence, strict=True):
        by_metric: dict[str, Verdict] = {}
        for m, name in enumerate(table.names):
            groups = np.flatnonzero(table.tests.compared[:, m]).tolist()
            by_metric[name] = all_of(table.ruling(known, g, m)[1] for g in groups)
        found.append(by_metric | roll_ups(by_metric))
    return found, family


def _selected(scores: Scores, at: int) -> Slice:
    """Return the groups with the scores of a threshold and more selected."""
    return _counted(scores, scores.cuts, np.arange(len(scores.cuts.low)) > at)


def _counted(scores: Scores, ranges: ScoreRanges, chosen: NDArray[np.bool_]) -> Slice:
    """Return the groups with the scores of some ranges selected."""
    weight, rows, square = (
        np.stack([each[~chosen].sum(0), each[chosen].sum(0)], -1)
        for each in (ranges.weight, ranges.rows, ranges.square)
    )
    counts = Counts(scores.part.counts.groups, weight)
    return replace(scores.part, counts=counts, cell_rows=rows.astype(np.int64), squares=square)


def _threshold_row(
    scores: Scores, at: int, part: Slice, by_metric: dict[str, Verdict], deciding: Sequence[str]
) -> ThresholdRow:
    threshold = float(scores.thresholds[at])
    selected, everybody = part.counts.predicted[:, 1], part.counts.group_total
    rates = divide(selected, everybody).tolist()
    return ThresholdRow(
        threshold,
        scores.decisions.get(threshold, ""),
        float(divide(selected.sum(), everybody.sum())),
        dict(zip(part.counts.groups, rates, strict=True)),
        all_of(by_metric.get(name, "undecided") for name in deciding),
        tuple(name for name, verdict in by_metric.items() if verdict == "fail" and name in COMPARED),
    )


def _curves(
    scores: Scores, thresholds: tuple[ThresholdRow, ...], family: int, config: AuditConfig
) -> ScoreCurves:
    part = scores.part
    groups = len(part.counts.groups)
    at = int(scores.reference[0]) if groups > 1 else 0
    rests = len(scores.reference) > groups
    alone = bool((scores.reference[:groups] == np.arange(groups)).all())
    name = REST_NAME if rests else "" if alone else part.counts.groups[at]
    values = _values(scores, config.confidence)
    bins = _bins(scores, config.confidence) if part.labelled else [()] * groups
    rows = []
    for g in np.flatnonzero(~excluded(part, config)).tolist():
        group, other = part.counts.groups[g], int(scores.reference[g])
        own = {measure: _interval(each, g) for measure, each in values.items()}
        differences = {
            measure: _interval(minus(_of(each, g), _of(each, other)), None)
            for measure, each in values.items()
            if measure != TO_REFERENCE and other != g
        }
        if other == g:
            own.pop(TO_REFERENCE)
        many = int(part.rows[g])
        rows.append(
            ScoreRow(
                group, many, many < config.min_group, other == g and not alone, own, differences, bins[g]
            )
        )
    return ScoreCurves(part.model, part.attribute, name, tuple(rows), thresholds, family)


def _values(scores: Scores, confidence: float) -> dict[str, Estimate]:
    """Return each measure of all sets of rows, as far as labels and the range of the scores allow."""
    sums, totals = scores.sums, scores.totals
    to_reference = ks_from_reference(sums, totals, scores.reference, confidence)
    if not scores.part.labelled:
        return {TO_REFERENCE: to_reference}
    found = {
        "auc": auc(sums, totals, confidence),
        "ks-of-labels": ks_by_label(sums, totals, confidence),
        TO_REFERENCE: to_reference,
    }
    if scores.fit is None:
        return found
    slope, intercept = slope_and_intercept(scores.fit, totals, confidence)
    mean = mean_score(sums, totals)
    positive, weight, worth = totals.weight[:, 1], totals.weight.sum(-1), totals.kish_of_groups
    rate = divide(positive, weight)
    return found | {
        "brier": brier(sums, totals, confidence),
        "calibration-slope": slope,
        "calibration-intercept": intercept,
        "mean-score": (mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)),
        "base-rate": (rate, *wilson(rate * worth, worth, confidence)),
    }


def _bins(scores: Scores, confidence: float) -> list[tuple[CalibrationBin, ...]]:
    """Return the bins of each group."""
    ranges, groups = scores.bins, len(scores.part.counts.groups)
    found: list[list[CalibrationBin]] = [[] for _ in range(groups)]
    for b in range(len(ranges.low)):
        part = _counted(scores, ranges, np.arange(len(ranges.low)) == b)
        rows = own_rows(part, ("ppv",))  # of the rows of the bin, the positive
        low, high = wilson(rows.above[:, 0], rows.below[:, 0], confidence)
        rate = divide(ranges.weight[b, :, 1], ranges.weight[b].sum(-1))
        mean = divide(ranges.scored[b], ranges.weight[b].sum(-1))
        for g in range(groups):
            many = int(ranges.rows[b, g].sum())
            if many:
                observed = Interval(float(rate[g]), float(low[g]), float(high[g]))
                edges = (float(ranges.low[b]), float(ranges.high[b]))
                found[g].append(CalibrationBin(*edges, many, float(mean[g]), observed))
    return [tuple(each) for each in found]


def _of(estimate: Estimate, g: int) -> Estimate:
    value, low, high = estimate
    return value[g], low[g], high[g]


def _interval(estimate: Estimate, g: int | None) -> Interval:
    return Interval(*(float(side if g is None else side[g]) for side in estimate))
