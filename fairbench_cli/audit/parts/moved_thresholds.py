"""What thresholds of each group's own would do: to the rate that differs, and to accuracy, on other rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fairbench_cli.audit.compare.random_numbers import stream
from fairbench_cli.audit.compare.references import are_compared, usual_reference
from fairbench_cli.audit.compare.report import Interval, Pair, Report
from fairbench_cli.audit.compare.verdict import margin_of, tau_of
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.part import Part, View
from fairbench_cli.audit.scan.scan import Scan, alike_rows, group_finder
from fairbench_cli.audit.scan.slices import Slice
from fairbench_cli.base.errors import Flag, user_error
from fairbench_cli.base.safe_text import join_names
from fairbench_cli.document.model import Section, TableCell, table_of
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.moved_thresholds import (
    FOLDS,
    RateLimit,
    TriedThresholds,
    decided_counts,
    try_thresholds,
)
from fairbench_cli.measures.rates import RATES
from fairbench_cli.measures.score_test import difference_interval, ratio_interval

KEY = "moved_thresholds"
MOST_SCORES = 200  # that a threshold may be; of more, quantiles
MITIGATE = Flag("mitigate")
WARNING = (
    "Thresholds by group use the group to decide: in many places law forbids it; this says what the scores "
    "allow, it is no advice."
)


@dataclass(frozen=True, eq=False)
class ScoresOfGroups:
    """Rows by score.

    Parameters
    ----------
    group_counts : Slice
    scores : float array, shape (scores,)
        That a threshold may be, rising; the present threshold is one of them.
    present : int
        Its place.
    n : float array, shape (groups, 2, scores)
        Rows by group, label, and the highest of these scores that they reach.
    """

    group_counts: Slice
    scores: Floats
    present: int
    n: Floats


@dataclass(frozen=True)
class MovedThreshold(Pair):
    """The threshold of one group, moved together with those of the others of its attribute.

    Parameters
    ----------
    metric : str
        The rate that is held within the limit.
    rows : int
    threshold, moved_threshold : float
        As it is, and as all rows choose it; infinite where nobody is selected.
    value, moved_value : float
        The rate as it is, and on rows that did not choose the thresholds.
    ratio, difference : float
        Of the rate to the reference's as it is; NaN of the reference itself.
    moved_ratio, moved_difference : Interval
        On rows that did not choose the thresholds.
    accuracy, moved_accuracy : float
        Of all groups together, as it is, and on rows that did not choose the thresholds.
    accuracy_change : Interval
    """

    metric: str
    rows: int
    threshold: float
    moved_threshold: float
    value: float
    moved_value: float
    ratio: float
    difference: float
    moved_ratio: Interval
    moved_difference: Interval
    accuracy: float
    moved_accuracy: float
    accuracy_change: Interval


@dataclass(frozen=True, eq=False)
class ThresholdsByGroup:
    """The thresholds of all groups, by attribute and rate; and the rates without any, as "race: fpr"."""

    thresholds: tuple[MovedThreshold, ...] = ()
    impossible: tuple[str, ...] = ()


def read_scores_of_groups(scan: Scan) -> tuple[ScoresOfGroups, ...]:
    """Return the scores of the groups of each attribute.

    Raises
    ------
    UserError
        Where there are no labels, or the scores are 0 and 1.
    """
    if scan.roles.label is None:
        fix = ("name their column with ", Flag("label"))
        raise user_error("without labels nobody knows what moved thresholds cost", fix, MITIGATE)
    return tuple(
        _read_attribute(scan, group_counts)
        for group_counts in scan.tally.slices
        if not group_counts.intersection
    )


def _read_attribute(scan: Scan, group_counts: Slice) -> ScoresOfGroups:
    name = group_counts.attribute
    query = alike_rows(scan, [name], ["label"], ["label::TINYINT AS label"], powers=0)
    columns = scan.source.execute(query).fetchnumpy()
    scores = np.asarray(columns["score"], dtype=np.float64)
    label = np.asarray(columns["label"], dtype=np.int64)
    group = group_finder(scan, group_counts, [name])([np.asarray(columns["of_0"], dtype=np.int64)])
    threshold = scan.config.threshold[0]
    if np.isin(scores, (0.0, 1.0)).all():
        fix = ("name a column of scores with ", Flag("score"), "; or leave ", MITIGATE, " out")
        raise user_error(
            "the scores are decisions of 0 and 1, which have no threshold to move", fix, MITIGATE
        )
    candidates = np.unique(np.append(scores, threshold))
    if len(candidates) > MOST_SCORES:
        weights = np.asarray(columns["n"], dtype=np.float64)
        order = np.argsort(scores, kind="stable")
        upto = np.cumsum(weights[order]) / weights.sum()
        positions = np.searchsorted(upto, np.arange(MOST_SCORES - 1) / (MOST_SCORES - 1))
        candidates = np.unique([*scores[order][positions].tolist(), float(scores.min()), threshold])
    reached = np.maximum(np.searchsorted(candidates, scores, side="right") - 1, 0)
    n = np.zeros((len(group_counts.counts.groups), 2, len(candidates)))
    np.add.at(n, (group, label, reached), np.asarray(columns["n"], dtype=np.float64))
    return ScoresOfGroups(group_counts, candidates, int(np.searchsorted(candidates, threshold)), n)


def move_thresholds(read: Sequence[ScoresOfGroups], base: Report) -> ThresholdsByGroup:
    """Return the best thresholds for each rate that decides and is beyond its limit for some group."""
    thresholds: list[MovedThreshold] = []
    impossible: list[str] = []
    for scores in read:
        group_counts = scores.group_counts
        reference = usual_reference(group_counts, base.config)
        compared = are_compared(group_counts, reference, base.config)
        compared &= group_counts.rows >= base.config.min_group
        compared[reference] = True
        if compared.sum() < 2:
            continue
        compared_groups = np.flatnonzero(compared)
        names = tuple(group_counts.counts.groups[i] for i in compared_groups)
        reference_index = int(np.flatnonzero(compared_groups == reference)[0])
        n = scores.n[compared_groups]
        present_counts = decided_counts(n)[:, scores.present]
        for metric in base.decided_by:
            if metric not in RATES or RATES[metric].of_all or RATES[metric].mean_of:
                continue
            limit = RateLimit(metric, tau_of(metric, base.config), margin_of(metric, base.config))
            rates = limit.of_counts(present_counts)
            allowed = limit.allows(rates, rates[reference_index])
            if np.isnan(rates).any() or np.delete(allowed, reference_index).all():
                continue
            rng = stream(base.config.seed, KEY, group_counts.attribute)
            tried = try_thresholds(n, reference_index, limit, scores.present, rng)
            if tried is None:
                impossible.append(f"{group_counts.attribute}: {metric}")
                continue
            moved = _Moved(scores, names, reference_index, limit, present_counts, tried)
            thresholds += _make_rows(moved, base.config.confidence)
    return ThresholdsByGroup(tuple(thresholds), tuple(impossible))


@dataclass(frozen=True, eq=False)
class _Moved:
    """The thresholds of the groups that are compared, of one attribute and rate."""

    scores: ScoresOfGroups
    names: tuple[str, ...]
    reference: int
    limit: RateLimit
    present_counts: Floats
    tried: TriedThresholds


def _make_rows(moved: _Moved, confidence: float) -> Iterator[MovedThreshold]:
    tried = moved.tried
    present = moved.present_counts
    thresholds = np.append(moved.scores.scores, np.inf)
    rates = moved.limit.of_counts(present)
    moved_rates = moved.limit.of_counts(tried.n)
    change = Interval(*tried.accuracy_change(confidence))
    accuracy = float((present[:, 0, 0] + present[:, 1, 1]).sum() / present.sum())
    for i, name in enumerate(moved.names):
        is_reference = i == moved.reference
        ratio, difference = _compare(rates[i], rates[moved.reference])
        moved_ratio, moved_difference = _estimate(moved, i, confidence)
        yield MovedThreshold(
            *moved.scores.group_counts.place,
            group=name,
            reference=moved.names[moved.reference],
            metric=moved.limit.rate,
            rows=round(float(present[i].sum())),
            threshold=float(thresholds[moved.scores.present]),
            moved_threshold=float(thresholds[tried.chosen[i]]),
            value=float(rates[i]),
            moved_value=float(moved_rates[i]),
            ratio=np.nan if is_reference else ratio,
            difference=np.nan if is_reference else difference,
            moved_ratio=moved_ratio,
            moved_difference=moved_difference,
            accuracy=accuracy,
            moved_accuracy=accuracy + change.value,
            accuracy_change=change,
        )


def _compare(rate: float, reference_rate: float) -> tuple[float, float]:
    ratio = float(rate / reference_rate) if reference_rate > 0 else np.nan
    return ratio, float(rate - reference_rate)


def _estimate(moved: _Moved, group: int, confidence: float) -> tuple[Interval, Interval]:
    """Return the ratio and the difference of a group's rate on other rows; undefined of the reference."""
    if group == moved.reference:
        nothing = Interval(np.nan, np.nan, np.nan)
        return nothing, nothing
    rate = RATES[moved.limit.rate]
    cells = moved.tried.n.reshape(-1, 4)
    names = ("tn", "fp", "fn", "tp")
    numerator = cells[:, [names.index(cell) for cell in rate.numerator]].sum(axis=1)
    denominator = cells[:, [names.index(cell) for cell in rate.denominator]].sum(axis=1)
    above = numerator[[group, moved.reference]]
    all_rows = denominator[[group, moved.reference]]
    ratio, difference = _compare(above[0] / all_rows[0], above[1] / all_rows[1])
    counts = (above[0], all_rows[0], above[1], all_rows[1])
    low, high = (float(limit) for limit in ratio_interval(*counts, confidence))
    low_difference, high_difference = (float(limit) for limit in difference_interval(*counts, confidence))
    return Interval(ratio, low, high), Interval(difference, low_difference, high_difference)


def describe_moved(rows: Sequence[MovedThreshold], report: Report) -> str:
    """Describe in sentences how the thresholds of one attribute would change a rate, and at which cost."""
    metric = rows[0].metric
    moves = [
        f"that of {formatting.format_group(row.group)} were {row.moved_threshold:.6g} instead of "
        f"{row.threshold:.6g}"
        for row in rows
        if row.moved_threshold != row.threshold
    ]
    margin = margin_of(metric, report.config)
    tau = tau_of(metric, report.config)
    within = f"{tau:.3g} to {1 / tau:.3g} times the reference's"
    if not np.isnan(margin):
        within = f"within {100 * margin:g} points of the reference's"
    change = rows[0].accuracy_change
    points = [f"{100 * limit:+.1f}" for limit in (change.low, change.high)]
    before = formatting.percent(rows[0].accuracy)
    after = formatting.percent(rows[0].moved_accuracy)
    condition = f"If the threshold {join_names(moves).removeprefix('that ')}, " if moves else ""
    label = RATES[metric].label
    return (
        f"{condition}the {label} of each group ({rows[0].attribute}) would be {within}; accuracy would "
        f"change from {before} to {after} ({points[0]} to {points[1]} points). {WARNING}"
    )


def _by_rate(moved: ThresholdsByGroup) -> list[list[MovedThreshold]]:
    grouped: dict[tuple[str, str, str, str], list[MovedThreshold]] = {}
    for row in moved.thresholds:
        grouped.setdefault((*row.place, row.metric), []).append(row)
    return list(grouped.values())


def moved_sections(moved: ThresholdsByGroup, report: Report, view: View) -> Iterator[Section]:
    """Yield what moved thresholds would do: a table for each attribute and rate."""
    sentences = [describe_moved(rows, report) for rows in _by_rate(moved)]
    tables = []
    for rows in _by_rate(moved):
        shown_rows, remark = view.cut(rows)
        title = f"{rows[0].attribute}: {RATES[rows[0].metric].label}"
        tables.append(table_of(title, TABLE, shown_rows, remark))
    if not sentences and not moved.impossible:
        sentences = ["No threshold has to move: every rate that decides is within its limit."]
    if moved.impossible:
        sentences.append(f"No thresholds by group keep to the limit: {join_names(moved.impossible)}.")
    note = (
        f"The thresholds are the best on all rows. What they do is estimated on other rows: of {FOLDS} parts "
        "each is decided by the thresholds that the others choose. Groups that are marked * keep theirs."
    )
    title = "What moved thresholds would do"
    yield Section(title, tuple(sentences), tuple(tables), (note,) if tables else ())


TABLE: dict[str, Callable[[MovedThreshold], TableCell]] = {
    "group": lambda row: TableCell(row.group, "reference" if row.group == row.reference else ""),
    "rows": lambda row: formatting.count_cell(row.rows),
    "threshold": lambda row: TableCell(f"{row.threshold:.6g}", "", row.threshold),
    "moved to": lambda row: TableCell(
        "nobody" if np.isinf(row.moved_threshold) else f"{row.moved_threshold:.6g}", "", row.moved_threshold
    ),
    "rate": lambda row: formatting.number_cell(row.value),
    "rate then": lambda row: formatting.number_cell(row.moved_value),
    "ratio": lambda row: formatting.number_cell(row.ratio),
    "ratio then": lambda row: formatting.fine_cell(row.moved_ratio),
    "difference then": lambda row: formatting.fine_cell(row.moved_difference),
}


MOVED_THRESHOLDS = Part[Sequence[ScoresOfGroups], ThresholdsByGroup](
    KEY,
    read=read_scores_of_groups,
    judge=move_thresholds,
    found_type=ThresholdsByGroup,
    tables={KEY: lambda moved, _: map(formatting.flatten, moved.thresholds)},
    sections=lambda moved, report, view: tuple(moved_sections(moved, report, view)),
    short=lambda moved, report: tuple(moved_sections(moved, report, View(5, brief=True))),
    data=lambda moved: {KEY: moved.thresholds} if moved.thresholds else {},
)
