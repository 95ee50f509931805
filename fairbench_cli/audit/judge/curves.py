"""What the scores of each group are worth, and what a single audit would find at each threshold."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.judge.compare import ruled, wanted_rates
from fairbench_cli.audit.judge.effective import own_rows
from fairbench_cli.audit.judge.evidence import find_tests, weigh
from fairbench_cli.audit.judge.references import REST_NAME, both_parts, excluded, kept, references
from fairbench_cli.audit.judge.report import CalibrationBin, Interval, ScoreCurves, ScoreRow, ThresholdRow
from fairbench_cli.audit.judge.verdict import all_of, decide, roll_ups, tau_of
from fairbench_cli.audit.metrics import COMPARED
from fairbench_cli.audit.scan.tally import ScoreRanges, Scores, Slice, Tally
from fairbench_cli.document.model import Verdict
from fairbench_cli.measures.calibration import slope_and_intercept
from fairbench_cli.measures.counts import Counts, divide
from fairbench_cli.measures.intervals import wilson
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


def judge_curves(tally: Tally, deciding: Sequence[str], config: AuditConfig) -> tuple[ScoreCurves, ...]:
    """Return the curves of every attribute under every model, in the order of the tally.

    Parameters
    ----------
    tally : Tally
        With scores, or there are no curves.
    deciding : sequence of str
        The rates and roll-ups that the verdict depends on.
    config : AuditConfig
        References, taus, confidence, rule.
    """
    found = []
    for _, same in groupby(tally.scores, key=lambda scores: scores.part.model):
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
    tests, wanted = [], []
    for part in slices:
        some = wanted_rates(part, COMPARED, deciding, config)
        names = tuple(name for name in COMPARED if name in some)
        taus = np.array([tau_of(name, config) for name in names])
        tests.append(find_tests(part, names, references(part, names, config), taus, config))
        wanted.append(some)
    evidence, family = weigh(tests, wanted, config)
    found = []
    for part, test, known in zip(slices, tests, evidence, strict=True):
        counts = both_parts(part.counts.n, test.names, test.at)
        by_metric: dict[str, Verdict] = {}
        for m, name in enumerate(test.names):
            tau, each = tau_of(name, config), []
            for g in range(len(part.counts.groups)):
                if test.compared[g, m]:
                    above, below, ref_above, ref_below = (float(side[g, m]) for side in counts)
                    point = decide(above, below, ref_above, ref_below, tau)
                    each.append(ruled(point, test, known, g, m, config)[0])
            by_metric[name] = all_of(each)
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
