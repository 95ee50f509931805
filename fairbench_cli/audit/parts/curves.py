"""What the scores of each group are worth, and what a single audit would find at each threshold."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np

from fairbench_cli.audit.compare.effective import own_rows
from fairbench_cli.audit.compare.kernel import compared, wanted_rates, weigh
from fairbench_cli.audit.compare.references import REST_NAME, Bools, excluded, kept, usual_reference
from fairbench_cli.audit.compare.report import UNDEFINED, Interval, Report, intervals
from fairbench_cli.audit.compare.verdict import all_of, roll_ups
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.metrics import COMPARED
from fairbench_cli.audit.parts import writing
from fairbench_cli.audit.parts.by_name import ENOUGH
from fairbench_cli.audit.parts.part import Part, Row, View
from fairbench_cli.audit.scan.scores import read_scores
from fairbench_cli.audit.scan.tally import Scores, Slice
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_percent
from fairbench_cli.document import charts
from fairbench_cli.document.charts import Axis, ChartLine, ChartRow
from fairbench_cli.document.model import (
    SYMBOLS,
    VERDICTS,
    Chart,
    Section,
    TableCell,
    TextTable,
    Verdict,
    table_of,
)
from fairbench_cli.measures import scores as measures
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.score_test import wilson_interval
from fairbench_cli.measures.scores import Estimate

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
    found: list[ScoreCurves] = []
    for of_model in group_by(read, lambda scores: scores.part.model).values():
        steps = [_at_threshold(of_model, at, base) for at in range(len(of_model[0].thresholds))]
        family = max((size for _, size in steps), default=0)
        for i, scores in enumerate(of_model):
            thresholds = tuple(rows[i] for rows, _ in steps)
            found.append(_curves(scores, thresholds, family, base.config))
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


def _counted(scores: Scores, ranges: Floats, chosen: Bools) -> Slice:
    """Return the groups with the scores of some ranges selected."""
    cells = ranges[:3]
    return scores.part.with_cells(np.stack([cells[:, ~chosen].sum(1), cells[:, chosen].sum(1)], -1))


def _at_threshold(of_model: Sequence[Scores], at: int, base: Report) -> tuple[list[ThresholdRow], int]:
    """Return the row of each attribute in an audit at a threshold, and the size of its family."""
    chosen = np.arange(of_model[0].cuts.shape[1]) > at
    slices = [kept(_counted(scores, scores.cuts, chosen), base.config) for scores in of_model]
    verdicts, family = verdicts_of(slices, base.decided_by, base.config)
    rows = []
    for scores, part, by_metric in zip(of_model, slices, verdicts, strict=True):
        threshold = float(scores.thresholds[at])
        selected = part.counts.predicted[:, 1]
        everybody = part.counts.group_total
        rates = divide(selected, everybody).tolist()
        rows.append(
            ThresholdRow(
                threshold,
                scores.decisions.get(threshold, ""),
                float(divide(selected.sum(), everybody.sum())),
                dict(zip(part.counts.groups, rates, strict=True)),
                all_of(by_metric.get(name, "undecided") for name in base.decided_by),
                tuple(name for name in by_metric if by_metric[name] == "fail" and name in COMPARED),
            )
        )
    return rows, family


def _curves(
    scores: Scores, thresholds: tuple[ThresholdRow, ...], family: int, config: AuditConfig
) -> ScoreCurves:
    part = scores.part
    reference = scores.reference
    groups = part.counts.groups
    many = len(groups)
    alone = bool((reference[:many] == np.arange(many)).all())
    if len(reference) > many:
        name = REST_NAME
    elif alone:
        name = ""
    else:
        name = groups[reference[0]]
    estimates = _values(scores, config.confidence)
    values = {measure: intervals(*each) for measure, each in estimates.items()}
    apart = {
        measure: intervals(
            *measures.subtract((value, low, high), (value[reference], low[reference], high[reference]))
        )
        for measure, (value, low, high) in estimates.items()
        if measure != TO_REFERENCE
    }
    if part.labelled:
        bins = _bins(scores, config.confidence)
    else:
        bins = [()] * many
    rows = []
    for g in np.flatnonzero(~excluded(part, config)).tolist():
        itself = bool(reference[g] == g)
        size = int(part.rows[g])
        own, differences = ({measure: each[g] for measure, each in some.items()} for some in (values, apart))
        if itself:
            del own[TO_REFERENCE]
            differences = {}
        small = size < config.min_group
        is_reference = itself and not alone
        rows.append(ScoreRow(groups[g], size, small, is_reference, own, differences, bins[g]))
    return ScoreCurves(part.model, part.attribute, name, tuple(rows), thresholds, family)


def _values(scores: Scores, confidence: float) -> dict[str, Estimate]:
    """Return each measure of all sets of rows, as far as labels and the range of the scores allow."""
    sums = scores.sums
    totals = scores.totals
    to_reference = measures.ks_from_reference(sums, totals, scores.reference, confidence)
    if not scores.part.labelled:
        return {TO_REFERENCE: to_reference}
    found = {
        "auc": measures.auc(sums, totals, confidence),
        "ks-of-labels": measures.ks_by_label(sums, totals, confidence),
        TO_REFERENCE: to_reference,
    }
    if scores.fit is None:
        return found
    slope, intercept = measures.slope_and_intercept(scores.fit, totals, confidence)
    mean = measures.mean_score(sums, totals)
    positive = totals.weight[:, 1]
    weight = totals.weight.sum(-1)
    worth = totals.kish_of_groups
    rate = divide(positive, weight)
    return found | {
        "brier": measures.brier_score(sums, totals, confidence),
        "calibration-slope": slope,
        "calibration-intercept": intercept,
        "mean-score": (mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)),
        "base-rate": (rate, *wilson_interval(rate * worth, worth, confidence)),
    }


def _bins(scores: Scores, confidence: float) -> list[tuple[CalibrationBin, ...]]:
    """Return the bins of each group."""
    found: list[list[CalibrationBin]] = [[] for _ in scores.part.counts.groups]
    for b, (lowest, highest) in enumerate(zip(*(each.tolist() for each in scores.ends), strict=True)):
        part = _counted(scores, scores.bins, np.arange(scores.bins.shape[1]) == b)
        rows = own_rows(part, ("ppv",))  # of the rows of the bin, the positive
        weight, many, _, scored = scores.bins[:, b].sum(-1)
        rate = divide(scores.bins[0, b, :, 1], weight)
        mean = divide(scored, weight)
        observed = intervals(rate, *wilson_interval(rows.above[:, 0], rows.below[:, 0], confidence))
        for g in np.flatnonzero(many).tolist():
            found[g].append(CalibrationBin(lowest, highest, int(many[g]), float(mean[g]), observed[g]))
    return [tuple(each) for each in found]


MOST_LINES = 6  # groups in a figure; the tables have all
SHARES = Axis(0.0, 1.0, 10.0 + charts.PLOT, 10.0, percent=True)  # the vertical axis of a plot


def strip_figure(curves: Sequence[ScoreCurves], name: str) -> str:
    """Draw the verdict on each attribute along the thresholds, a strip each; `name` is unique in a page."""
    rows = curves[0].thresholds
    edges = _edges([row.threshold for row in rows])
    axis = Axis(edges[0], edges[-1])
    strips: list[ChartRow] = []
    for each in curves:
        marks = [] if strips else [charts.patterns(name)]
        first = 0
        for run in runs(each.thresholds):
            low = edges[first]
            high = edges[first + len(run)]
            said = f"{each.attribute}: {_said(run)}"
            marks.append(charts.strip(axis, low, high, run[0].verdict, SYMBOLS[run[0].verdict], said, name))
            first += len(run)
        strips.append(ChartRow(each.attribute, "", marks))
    here = [(row.threshold, f"{row.threshold:.4g}: this audit") for row in rows if row.decision]
    key = ", ".join(f"{SYMBOLS[verdict]} {word}" for verdict, word in VERDICTS.items())
    found = "; ".join(f"{each.attribute}: {', '.join(map(_said, runs(each.thresholds)))}" for each in curves)
    return charts.row_chart(f"Verdicts along thresholds. {found}", axis, strips, f"threshold; {key}", here)


def rate_figure(curves: ScoreCurves) -> str:
    """Draw the share of each group that is selected at each threshold."""
    edges = _edges([row.threshold for row in curves.thresholds])
    lines = []
    for group in _drawn(curves):
        shares = [(row.threshold, row.rates[group.group]) for row in curves.thresholds]
        points = [
            (x, y, f"{group.group}: {format_percent(y)} at {x:.4g}") for x, y in shares if not math.isnan(y)
        ]
        lines.append(ChartLine(_name(group), points))
    x = Axis(edges[0], edges[-1], charts.LEFT)
    return _plot("Selection rate by threshold", "threshold", curves, lines, x)


def calibration_figure(curves: ScoreCurves) -> str:
    """Draw the share of each group with label 1 by score, with intervals."""
    probabilities = any("calibration-slope" in row.values for row in curves.groups)
    lines = []
    scores = []
    for group in _drawn(curves):
        points = []
        limits = []
        for each in group.bins:
            if each.rows >= ENOUGH:
                x = each.mean_score
                rate = each.rate
                words = f"{writing.with_interval(rate)} have label 1 where the mean score is {x:.4g}"
                points.append((x, rate.value, f"{group.group}: {words}"))
                limits += [] if math.isnan(rate.low) else [(x, rate.low, rate.high)]
                scores.append(x)
        lines.append(ChartLine(_name(group), points, limits))
    low, high = (0.0, 1.0) if probabilities else (min(scores, default=0.0), max(scores, default=0.0))
    if low == high:
        low = low - 0.5
        high = high + 0.5
    axis = Axis(low, high, charts.LEFT)
    start = charts.format_numbers(axis.position(0), SHARES.position(0))
    end = charts.format_numbers(axis.position(1), SHARES.position(1))
    ends = f"M{start}L{end}"
    if probabilities:
        equal = charts.stroke("axis", ends, "as many as the score says", dashes="1 4")
    else:
        equal = ""
    about = f"mean score, of ranges with {ENOUGH} rows and more"
    return _plot("Calibration", about, curves, lines, axis, equal)


def _plot(
    title: str, about: str, curves: ScoreCurves, lines: Sequence[ChartLine], x: Axis, under: str = ""
) -> str:
    """Draw a line for each group, in a plot with shares on its vertical axis."""
    left_out = len(curves.groups) - len(lines)
    if left_out:
        key = f"{left_out} more groups in the table"
    else:
        key = ""
    said = f"{curves.attribute}: {title}; the numbers are in the table"
    return charts.plot_lines(said, x, SHARES, lines, about, key, under)


def _drawn(curves: ScoreCurves) -> list[ScoreRow]:
    """Return the groups in a figure: the reference first, then the largest."""
    order = sorted(curves.groups, key=lambda row: (not row.is_reference, -row.rows))
    return order[:MOST_LINES]


def _name(row: ScoreRow) -> str:
    return f"{row.group}{'*' if row.small else ''}{' (reference)' if row.is_reference else ''}"


def runs(rows: Sequence[ThresholdRow]) -> list[list[ThresholdRow]]:
    """Return neighbouring thresholds with the same verdict together."""
    return [list(same) for _, same in groupby(rows, key=lambda row: row.verdict)]


def _edges(thresholds: Sequence[float]) -> list[float]:
    """Return where the part of each threshold begins and ends: half way to the next.

    >>> _edges([1.0, 2.0, 4.0]), _edges([3.0])
    ([0.5, 1.5, 3.0, 5.0], [2.5, 3.5])
    """
    middles = [(a + b) / 2 for a, b in pairwise(thresholds)]
    if not middles:
        return [thresholds[0] - 0.5, thresholds[0] + 0.5]
    first = 2 * thresholds[0] - middles[0]
    last = 2 * thresholds[-1] - middles[-1]
    return [first, *middles, last]


def _said(run: Sequence[ThresholdRow]) -> str:
    return f"{VERDICTS[run[0].verdict]} from {run[0].threshold:.4g} to {run[-1].threshold:.4g}"


# By the names in a report: what each is called, and what that means.
MEASURES = {
    "auc": (
        "AUC",
        "the chance that somebody with label 1 has a higher score than somebody with label 0, ties half; 0.5 "
        "by chance, 1 at best",
    ),
    "ks-of-labels": (
        "KS between labels",
        "Kolmogorov–Smirnov distance, the largest gap, over all scores, between the shares of label 1 and of "
        "label 0 that are not above a score; 1 at best",
    ),
    TO_REFERENCE: (
        "KS to reference",
        "Kolmogorov–Smirnov distance of the scores of the group and of the reference; 0 where they are alike",
    ),
    "brier": ("Brier score", "the mean of (score − label)²; 0 at best"),
    "calibration-slope": (
        "calibration slope",
        "of the logistic regression of the label on the logit of the score; 1 at best; below 1 scores are "
        "too extreme, above 1 not extreme enough",
    ),
    "calibration-intercept": ("calibration intercept", "of the same regression; 0 at best"),
    "mean-score": ("mean score", "what the scores say on average"),
    "base-rate": ("share with label 1", "what happened on average"),
}

MOST_NAMED = 5  # attributes with a sentence; the table has all


def curve_sections(found: Sequence[ScoreCurves], report: Report, view: View) -> tuple[Section, ...]:
    """Return the sections of the curves: of each model one on thresholds, and one an attribute."""
    if not found:
        return ()
    sections: list[Section] = []
    by_model = group_by(found, lambda each: each.model)
    for i, (model, curves) in enumerate(by_model.items()):
        if len(by_model) > 1:
            where = f" (model {model})"
        else:
            where = ""
        sections.append(_thresholds(curves, where, f"m{i}", report))
        sections += [_worth(each, where, report, view) for each in curves]
    known = {name for each in found for row in each.groups for name in row.values}
    meanings = (f"{words}: {meaning}." for name, (words, meaning) in MEASURES.items() if name in known)
    return (*sections, Section("What the measures of scores mean", notes=tuple(meanings)))


def _thresholds(curves: Sequence[ScoreCurves], where: str, name: str, report: Report) -> Section:
    """Return the section on the thresholds of one model."""
    many = len(curves[0].thresholds)
    how = "by the measured ratios alone"
    if report.config.rule != "point":
        how = f"adjusted for the {curves[0].family} comparisons at that threshold"
    sentences = (
        *(_passes(each) for each in curves[:MOST_NAMED]),
        f"This is what an audit of a single decision would find at each of {many} thresholds, {how}, when "
        "scores at or above it are selected. It is a map and no test over all thresholds: one that was "
        "chosen because it passes here must be audited on other data.",
    )
    lines = []
    for each in curves:
        for run in runs(each.thresholds):
            first = run[0]
            last = run[-1]
            failing = dict.fromkeys(name for row in run for name in row.failing)
            audited = ", ".join(f"here: {row.decision}" for row in run if row.decision)
            most = writing.percent(first.selected)
            least = writing.percent(last.selected)
            if failing:
                by = f"by {', '.join(failing)}"
            else:
                by = ""
            lines.append(
                (
                    TableCell(each.attribute),
                    TableCell(VERDICTS[first.verdict], by, verdict=first.verdict),
                    TableCell(span(first.threshold, last.threshold), audited),
                    TableCell(most if most == least else f"{least} to {most}"),
                )
            )
    title = f"At which thresholds would it pass?{where}"
    about = "Verdicts along thresholds"
    table = TextTable(about, ("attribute", "verdict", "thresholds", "selected"), tuple(lines))
    return Section(title, sentences, (table,), charts=(Chart(about, strip_figure(curves, name)),))


def span(low: float, high: float, digits: int = 6) -> str:
    """Write a range of scores.

    >>> span(2.0, 4.0), span(0.25, 0.25), span(0.123456, 0.5, 3)
    ('2 to 4', '0.25', '0.123 to 0.5')
    """
    if low == high:
        return f"{low:.{digits}g}"
    return f"{low:.{digits}g} to {high:.{digits}g}"


def _passes(curves: ScoreCurves) -> str:
    """Return in a sentence at which thresholds an attribute passes."""
    kinds: dict[Verdict, str] = {"pass": "passes", "fail": "fails", "undecided": "is not decided"}
    many = len(curves.thresholds)
    parts = []
    for verdict, words in kinds.items():
        own = [run for run in runs(curves.thresholds) if run[0].verdict == verdict]
        count = sum(map(len, own))
        if count == many:
            return f"{curves.attribute} {words} at all {many} thresholds."
        if not count:
            parts += [f"passes at none of {many} thresholds"] if verdict == "pass" else []
            continue
        where = " and ".join(span(run[0].threshold, run[-1].threshold, 4) for run in own)
        if any(" at " in part for part in parts):
            all_of_them = ""
        else:
            all_of_them = f" of {many} thresholds"
        parts.append(f"{words} at {count}{all_of_them}" + (f" ({where})" if len(own) <= 2 else ""))
    return f"{curves.attribute} {', '.join(parts)}."


def _worth(curves: ScoreCurves, where: str, report: Report, view: View) -> Section:
    """Return the section on the scores of an attribute's groups."""
    lines = [(row, name) for name in MEASURES for row in curves.groups if name in row.values]
    columns: dict[str, Callable[[tuple[ScoreRow, str]], TableCell]] = {
        "group": lambda line: writing.group_cell(line[0].group, line[0].small),
        "measure": lambda line: TableCell(MEASURES[line[1]][0]),
        "value": lambda line: writing.fine_cell(line[0].values[line[1]]),
    }
    if curves.reference:
        columns["difference from the reference"] = lambda line: _difference(*line)
    kept = lines[: view.shown]
    bins = [(row, each) for row in curves.groups for each in row.bins]
    left_out = [f"{len(lines) - len(kept)} more"] if len(kept) < len(lines) else []
    left_out += ["the calibration curve"] if bins and view.shown is not None else []
    if left_out:
        more = f"and {' and '.join(left_out)}: see --all"
    else:
        more = ""
    tables = [table_of("Scores by group", columns, kept, more)]
    if bins and view.shown is None:
        tables.append(_bin_table(bins))
    figures = [Chart("Selection rate by threshold", rate_figure(curves))]
    figures += [Chart("Calibration: share with label 1 by score", calibration_figure(curves))] if bins else []
    title = f"{curves.attribute}: what the scores are worth{where}"
    return Section(title, _stand_out(curves, report), tuple(tables), charts=tuple(figures))


def _stand_out(curves: ScoreCurves, report: Report) -> tuple[str, ...]:
    """Return which differences from the reference are larger than their intervals."""
    level = f"{100 * report.config.confidence:g} %"
    brackets = (
        f"Brackets hold {level} intervals, each for itself: they are not adjusted for how many there are."
    )
    if not curves.reference:
        return (brackets,)
    found = []
    for name, (words, _) in MEASURES.items():
        each = [(row, row.values if name == TO_REFERENCE else row.differences) for row in curves.groups]
        own = [
            f"{row.group} {known[name].value:+.3f}"
            for row, known in each
            if name in known and (known[name].low > 0 or known[name].high < 0)
        ]
        found += [f"{words} ({', '.join(own)})"] if own else []
    against = f"from {curves.reference}"
    some = f"Differences {against} whose intervals leave out 0: {'; '.join(found)}."
    return (some if found else f"No difference {against} has an interval that leaves out 0.", brackets)


def _bin_table(lines: Sequence[tuple[ScoreRow, CalibrationBin]]) -> TextTable:
    columns: dict[str, Callable[[tuple[ScoreRow, CalibrationBin]], TableCell]] = {
        "group": lambda line: writing.group_cell(line[0].group, line[0].small),
        "scores": lambda line: TableCell(span(line[1].low, line[1].high)),
        "rows": lambda line: TableCell(str(line[1].rows), "", line[1].rows),
        "mean score": lambda line: writing.number_cell(line[1].mean_score),
        "share with label 1": lambda line: writing.fine_cell(line[1].rate),
    }
    return table_of("Calibration: what happened, by score", columns, lines)


def _difference(row: ScoreRow, name: str) -> TableCell:
    if row.is_reference:
        return TableCell("reference")
    if name in row.differences:
        return writing.fine_cell(row.differences[name])
    return TableCell(writing.DASH)


def score_rows(found: Sequence[ScoreCurves], _: Report) -> Iterable[Row]:
    """Yield each measure of the scores of every group, with its difference from the reference's."""
    for curves, row, own in _groups(found):
        own |= {"reference": curves.reference, "rows": row.rows, "small": row.small}
        for measure, known in row.values.items():
            off = row.differences.get(measure, UNDEFINED)
            ends: Row = {"difference_low": off.low, "difference_high": off.high}
            yield {**own, "measure": measure, **vars(known), "difference": off.value, **ends}


def calibration_rows(found: Sequence[ScoreCurves], _: Report) -> Iterable[Row]:
    """Yield the share of label 1 in each range of scores, by group."""
    for _curves, row, own in _groups(found):
        for each in row.bins:
            ends: Row = {"lowest": each.low, "highest": each.high, "rows": each.rows}
            yield {**own, **ends, "mean_score": each.mean_score, **vars(each.rate)}


def _groups(found: Sequence[ScoreCurves]) -> Iterator[tuple[ScoreCurves, ScoreRow, Row]]:
    """Yield all groups with their curves, and the columns that name them."""
    for curves in found:
        for row in curves.groups:
            yield curves, row, {"model": curves.model, "attribute": curves.attribute, "group": row.group}


def threshold_rows(found: Sequence[ScoreCurves], _: Report) -> Iterable[Row]:
    """Yield the verdict on every attribute at every threshold, a row a group with its selection rate."""
    for curves in found:
        for row in curves.thresholds:
            own: Row = {"model": curves.model, "attribute": curves.attribute}
            own |= {**writing.flat(row), "failing": " ".join(row.failing)}
            for group, rate in row.rates.items():
                yield {**own, "group": group, "selection_rate": rate}


CURVES = Part[Sequence[Scores], tuple[ScoreCurves, ...]](
    "curves",
    wanted=lambda config: config.curves,
    read=lambda scan: read_scores(scan, lambda part: usual_reference(part, scan.config)),
    judge=judge_curves,
    tables={"scores": score_rows, "calibration": calibration_rows, "thresholds": threshold_rows},
    sections=curve_sections,
)
