"""What the scores are worth, and at which thresholds an audit would pass: sections for every output."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from fairbench_cli.audit.compare.references import reference_place
from fairbench_cli.audit.compare.report import UNDEFINED, Report
from fairbench_cli.audit.parts.curves.figures import calibration_figure, rate_figure, runs, strip_figure
from fairbench_cli.audit.parts.curves.judge import (
    TO_REFERENCE,
    CalibrationBin,
    ScoreCurves,
    ScoreRow,
    ThresholdRow,
    judge_curves,
)
from fairbench_cli.audit.parts.part import Part, Row, View
from fairbench_cli.audit.parts.writing import DASH, flat, group_cell, interval_cell, number_cell, percent
from fairbench_cli.audit.scan.scores import read_scores
from fairbench_cli.audit.scan.tally import Scores
from fairbench_cli.document.model import VERDICTS, Chart, Section, TableCell, TextTable, Verdict, table_of

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
    sections: list[Section] = []
    several = len({each.model for each in found}) > 1
    for number_of_model, (model, same) in enumerate(groupby(found, key=lambda each: each.model)):
        curves, where = list(same), f" (model {model})" if several else ""
        sections.append(_thresholds(curves, where, f"m{number_of_model}", report))
        sections += [_worth(each, where, report, view) for each in curves]
    if not sections:
        return ()
    known = {name for each in found for row in each.groups for name in row.values}
    meanings = (f"{words}: {meaning}." for name, (words, meaning) in MEASURES.items() if name in known)
    return (*sections, Section("What the measures of scores mean", notes=tuple(meanings)))


def _thresholds(curves: Sequence[ScoreCurves], where: str, name: str, report: Report) -> Section:
    """Return the section on the thresholds of one model."""
    many = len(curves[0].thresholds)
    how = (
        "by the measured ratios alone"
        if report.config.rule == "point"
        else f"adjusted for the {curves[0].family} comparisons at that threshold"
    )
    sentences = (
        *(_passes(each) for each in curves[:MOST_NAMED]),
        f"This is what an audit of a single decision would find at each of {many} thresholds, {how}, when "
        "scores at or above it are selected. It is a map and no test over all thresholds: one that was "
        "chosen because it passes here must be audited on other data.",
    )
    lines = [(each, run) for each in curves for run in runs(each.thresholds)]
    columns: dict[str, Callable[[tuple[ScoreCurves, list[ThresholdRow]]], TableCell]] = {
        "attribute": lambda line: TableCell(line[0].attribute),
        "verdict": lambda line: _verdict(line[1]),
        "thresholds": lambda line: TableCell(
            span(line[1][0].threshold, line[1][-1].threshold), _audited(line[1])
        ),
        "selected": lambda line: TableCell(_selected(line[1])),
    }
    title, about = f"At which thresholds would it pass?{where}", "Verdicts along thresholds"
    chart = Chart(about, strip_figure(curves, name))
    return Section(title, sentences, (table_of(about, columns, lines),), charts=(chart,))


def span(low: float, high: float, digits: int = 6) -> str:
    """Write a range of scores.

    >>> span(2.0, 4.0), span(0.25, 0.25), span(0.123456, 0.5, 3)
    ('2 to 4', '0.25', '0.123 to 0.5')
    """
    return f"{low:.{digits}g}" if low == high else f"{low:.{digits}g} to {high:.{digits}g}"


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
        of = "" if any(" at " in part for part in parts) else f" of {many} thresholds"
        parts.append(f"{words} at {count}{of}" + (f" ({where})" if len(own) <= 2 else ""))
    return f"{curves.attribute} {', '.join(parts)}."


def _audited(run: Sequence[ThresholdRow]) -> str:
    return ", ".join(f"here: {row.decision}" for row in run if row.decision)


def _selected(run: Sequence[ThresholdRow]) -> str:
    most, least = percent(run[0].selected), percent(run[-1].selected)
    return most if most == least else f"{least} to {most}"


def _verdict(run: Sequence[ThresholdRow]) -> TableCell:
    names = list(dict.fromkeys(name for row in run for name in row.failing))
    return TableCell(
        VERDICTS[run[0].verdict], f"by {', '.join(names)}" if names else "", verdict=run[0].verdict
    )


def _worth(curves: ScoreCurves, where: str, report: Report, view: View) -> Section:
    """Return the section on the scores of an attribute's groups."""
    names = [name for name in MEASURES if any(name in row.values for row in curves.groups)]
    lines = [(row, name) for name in names for row in curves.groups if name in row.values]
    columns: dict[str, Callable[[tuple[ScoreRow, str]], TableCell]] = {
        "group": lambda line: group_cell(line[0].group, line[0].small),
        "measure": lambda line: TableCell(MEASURES[line[1]][0]),
        "value": lambda line: interval_cell(line[0].values[line[1]]),
    }
    if curves.reference:
        columns["difference from the reference"] = lambda line: _difference(*line)
    kept = lines[: view.shown]
    bins = [(row, each) for row in curves.groups for each in row.bins]
    left_out = [f"{len(lines) - len(kept)} more"] if len(kept) < len(lines) else []
    left_out += ["the calibration curve"] if bins and view.shown is not None else []
    more = f"and {' and '.join(left_out)}: see --all" if left_out else ""
    tables = [table_of("Scores by group", columns, kept, more)]
    if bins and view.shown is None:
        tables.append(_bins(bins))
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
            f"{row.group} {of[name].value:+.3f}"
            for row, of in each
            if name in of and (of[name].low > 0 or of[name].high < 0)
        ]
        found += [f"{words} ({', '.join(own)})"] if own else []
    against = f"from {curves.reference}"
    some = f"Differences {against} whose intervals leave out 0: {'; '.join(found)}."
    return (some if found else f"No difference {against} has an interval that leaves out 0.", brackets)


def _bins(lines: Sequence[tuple[ScoreRow, CalibrationBin]]) -> TextTable:
    columns: dict[str, Callable[[tuple[ScoreRow, CalibrationBin]], TableCell]] = {
        "group": lambda line: group_cell(line[0].group, line[0].small),
        "scores": lambda line: TableCell(span(line[1].low, line[1].high)),
        "rows": lambda line: TableCell(str(line[1].rows), "", line[1].rows),
        "mean score": lambda line: number_cell(line[1].mean_score),
        "share with label 1": lambda line: interval_cell(line[1].rate),
    }
    return table_of("Calibration: what happened, by score", columns, lines)


def _difference(row: ScoreRow, name: str) -> TableCell:
    if row.is_reference:
        return TableCell("reference")
    return interval_cell(row.differences[name]) if name in row.differences else TableCell(DASH)


def score_rows(found: Sequence[ScoreCurves], _: Report) -> Iterable[Row]:
    """Yield each measure of the scores of every group, with its difference from the reference's."""
    for curves in found:
        for row in curves.groups:
            own: Row = {"model": curves.model, "attribute": curves.attribute, "group": row.group}
            own |= {"reference": curves.reference, "rows": row.rows, "small": row.small}
            for measure, known in row.values.items():
                off = row.differences.get(measure, UNDEFINED)
                ends: Row = {"difference_low": off.low, "difference_high": off.high}
                yield {**own, "measure": measure, **vars(known), "difference": off.value, **ends}


def calibration_rows(found: Sequence[ScoreCurves], _: Report) -> Iterable[Row]:
    """Yield the share of label 1 in each range of scores, by group."""
    for curves in found:
        for row in curves.groups:
            own: Row = {"model": curves.model, "attribute": curves.attribute, "group": row.group}
            for each in row.bins:
                ends: Row = {"lowest": each.low, "highest": each.high, "rows": each.rows}
                yield {**own, **ends, "mean_score": each.mean_score, **vars(each.rate)}


def threshold_rows(found: Sequence[ScoreCurves], _: Report) -> Iterable[Row]:
    """Yield the verdict on every attribute at every threshold, a row a group with its selection rate."""
    for curves in found:
        for row in curves.thresholds:
            failing = " ".join(row.failing)
            own: Row = {"model": curves.model, "attribute": curves.attribute, **flat(row), "failing": failing}
            for group, rate in row.rates.items():
                yield {**own, "group": group, "selection_rate": rate}


CURVES = Part[Sequence[Scores], tuple[ScoreCurves, ...]](
    "curves",
    wanted=lambda config: config.curves,
    read=lambda scan: read_scores(scan, reference_place(scan.config)),
    judge=judge_curves,
    tables={"scores": score_rows, "calibration": calibration_rows, "thresholds": threshold_rows},
    sections=curve_sections,
)
