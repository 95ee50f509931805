"""Numbers by slices of the rows: all together, whether differences rise or fall, and each slice."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from fairbench_cli.audit.compare.number_trends import (
    NumberSlices,
    NumberTrend,
    WholeEstimates,
    estimate_whole,
    judge_whole,
)
from fairbench_cli.audit.compare.numbers import NumberSlice
from fairbench_cli.audit.compare.report import NumberComparison, NumberLook, Place, Report
from fairbench_cli.audit.compare.verdict import combine_verdicts
from fairbench_cli.audit.config import JUDGED, fields_used_by
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.looks import (
    MOVES,
    NO_TREND,
    describe_evidence,
    describe_fitted,
    describe_level,
    describe_trend_level,
    name_slices,
    summarise_words,
    trend_notes,
)
from fairbench_cli.audit.parts.number_strata import SHORT as SHORT_STRATA
from fairbench_cli.audit.parts.number_strata import strata_section, summarise_strata
from fairbench_cli.audit.parts.numbers import KEY as NUMBERS_KEY
from fairbench_cli.audit.parts.numbers import (
    column_name,
    compared_by,
    comparison_table,
    decisive_rows,
    format_measure,
    format_size,
    group_table,
    measure_cell,
    number_comparison_rows,
    verdict_cell,
)
from fairbench_cli.audit.parts.part import SHORT, Part, View
from fairbench_cli.audit.scan.numbers import read_numbers
from fairbench_cli.audit.scan.scan import Scan
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import join_names
from fairbench_cli.document.model import (
    SYMBOLS,
    UNTESTED,
    VERDICT_VERBS,
    VERDICTS,
    Section,
    TableCell,
    TextTable,
    Verdict,
)
from fairbench_cli.measures.number_measures import NUMBER_MEASURES

KEY = "number_slices"
MOST_NAMED = 3


def read_whole(scan: Scan) -> tuple[WholeEstimates, ...]:
    """Return the estimates of all slices together."""
    slices = list(read_numbers(scan))
    return tuple(estimate_whole(slices, column_name(scan), compared_by(scan), scan.tally.person))


def judge_slices(estimates: Sequence[WholeEstimates], base: Report) -> NumberSlices:
    """Return all slices together with their verdicts, and the trends."""
    names = tuple(dict.fromkeys(group_counts.model for group_counts in base.slices))
    return judge_whole(estimates, names, base.decided_by, base.config)


def verdicts_of_whole(slices: NumberSlices) -> Iterator[tuple[Place, str, Verdict]]:
    """Yield the verdicts on all slices together as those of the last, where they are looks."""
    if not slices.is_stream:
        return
    for attribute_numbers in slices.together:
        for row in attribute_numbers.comparisons:
            if row.verdict is not None:
                yield (
                    Place(slices.last_slice, attribute_numbers.decision, attribute_numbers.attribute),
                    row.metric,
                    row.verdict,
                )


def summarise_slices(slices: NumberSlices, report: Report) -> str:
    """Return which trends are shown, and how the verdict stands to the number of looks."""
    if report.of_strata:
        return summarise_strata(slices, report)
    looks = _describe_looks(slices, report)
    if not slices.trends:
        return f"{looks} No trend is tested: {_describe_no_trend(slices, report)}."
    digits = {attribute_numbers.attribute: attribute_numbers.digits for attribute_numbers in slices.together}
    moves = [_describe_move(row, digits[row.attribute]) for row in slices.trends if row.word in MOVES]
    moving = [join_names(moves, MOST_NAMED)] if moves else []
    opening = "Trend over the slices"
    if slices.is_stream:
        opening = describe_trend_level(report)
    return f"{looks} {opening}: {summarise_words(slices.trends, moving)}."


def _describe_move(row: NumberTrend, digits: int) -> str:
    """Return which difference moves: "the difference in mean of Female from Male (sex) falls from 3 to 1"."""
    group = formatting.format_group(row.group)
    reference = formatting.format_group(row.reference)
    first_text = format_measure(row.metric, row.difference_first, digits)
    last_text = format_measure(row.metric, row.difference_last, digits)
    subject = f"the difference in {NUMBER_MEASURES[row.metric].label} of {group} from {reference}"
    return f"{subject} ({row.attribute}) {row.word} from {first_text} to {last_text}"


def _describe_no_trend(slices: NumberSlices, report: Report) -> str:
    if report.config.outcome == "ordinal":
        return "levels in an order have no differences of means"
    return f"{len(slices.names)} slices are too few for one"


def _describe_looks(slices: NumberSlices, report: Report) -> str:
    """Return the sentence on the verdict: its rows, and its level where one looks often."""
    if not slices.is_stream:
        verdict = combine_verdicts(row.verdict for row in report.judged)
        return f"The last, {slices.last_slice}, by which a gate goes, {VERDICT_VERBS[verdict][0]}."
    judged: list[tuple[NumberComparison, NumberLook, NumberSlice]] = []
    for numbers in slices.together:
        judged += [(row, row.look, numbers) for row in numbers.comparisons if row.deciding and row.look]
    if not judged:
        look_text = (
            f"This one, number {len(slices.names)}, goes by {100 * slices.confidence:.4g} % intervals."
        )
        return f"{describe_level(report)} {look_text}"
    row, look, numbers = max(judged, key=lambda line: (line[0].verdict == "fail", -line[0].p_holm))
    n_tests = float(len(judged))  # by Holm as many as p is taken for
    if 0 < row.p <= row.p_holm < 1:
        n_tests = row.p_holm / row.p
    gap = ""  # which the answer has where it fails
    if row.verdict != "fail":
        side = ("above", "below")[look.difference_since < 0]
        size = format_size(row.metric, abs(look.difference_since), numbers)
        gap = f"is {size} {side} that of {formatting.format_group(row.reference)}"
    label = NUMBER_MEASURES[row.metric].label
    subject = f"the {label} of {formatting.format_group(row.group)} ({row.attribute})"
    differs = f"{subject} is not that of {formatting.format_group(row.reference)}"
    texts = (subject, gap, format_size(row.metric, look.month_spread, numbers), differs)
    evidence = describe_evidence(look, n_tests / report.config.alpha, texts, report, in_full=True)
    return f"{describe_level(report)} {evidence}"


def describe_trend(row: NumberTrend, slices: NumberSlices, digits: int) -> str:
    """Return the trend of a difference in a sentence."""
    group = formatting.format_group(row.group)
    reference = formatting.format_group(row.reference)
    label = NUMBER_MEASURES[row.metric].label
    span = (
        f"From {slices.names[0]} to {slices.names[-1]} the difference in {label} of {group} from {reference}"
    )
    first_text = format_measure(row.metric, row.difference_first, digits)
    last_text = format_measure(row.metric, row.difference_last, digits)
    low = format_measure(row.metric, row.change.low, digits)
    high = format_measure(row.metric, row.change.high, digits)
    change = format_measure(row.metric, row.change.value, digits)
    line = f"goes from {first_text} to {last_text} on the fitted line (by {change}, {low} to {high})"
    return describe_fitted(row, span, line, "the margin")


def slice_sections(slices: NumberSlices, report: Report, view: View) -> Sequence[Section]:
    """Return all slices together, the trends, and each slice; the slices follow in full."""
    name = report.config.slice_name
    together = []
    for attribute_numbers in slices.together:
        tables = (
            group_table(
                "" if view.brief else f"{attribute_numbers.attribute}: groups", attribute_numbers, view
            ),
            comparison_table(
                f"{attribute_numbers.attribute}: compared with {attribute_numbers.reference}",
                attribute_numbers,
                view,
            ),
        )
        together.append(
            Section(
                f"{attribute_numbers.attribute}: {attribute_numbers.column}",
                (),
                tables,
                (*attribute_numbers.remarks, *_describe_columns(attribute_numbers)),
            )
        )
    title = f"{name_slices(slices.names, report).capitalize()} together"
    if report.of_strata:
        title += f", which is not judged: each {name} is"
        return [strata_section(report, view), Section(title, sections=tuple(together))]
    grids = [_slice_table(attribute_numbers, slices, report) for attribute_numbers in slices.together]
    note = "Number: the difference by the first measure that decides. Sign: the verdict on it."
    if slices.is_stream:
        note += (
            f" Of each {name} alone: of groups that are equal about {100 * report.config.alpha:.3g} % of the "
            "signs in a column fail by chance."
        )
    return [
        Section(title, sections=tuple(together)),
        *_trend_sections(slices, report, view),
        Section(f"Each {name}", tables=tuple(grids), notes=(note,)),
    ]


def _describe_columns(numbers: NumberSlice) -> Iterator[str]:
    """Yield how the comparisons of slices that are looks are to be read."""
    if any(row.look for row in numbers.comparisons):
        yield (
            "p: 1 / the largest evidence so far. since: the difference of the slices from which on evidence "
            "is largest. Differences of means, with limits that hold at all looks, are averages over slices, "
            "with the same weights for both groups."
        )


def _trend_sections(slices: NumberSlices, report: Report, view: View) -> Iterator[Section]:
    title = f"Trends by {report.config.slice_name}"
    if not slices.trends:
        yield Section(title, (f"No trend is tested: {_describe_no_trend(slices, report)}.",))
        return
    level = f"{100 * report.config.confidence:g} %"
    change = f"the difference in {slices.names[-1]} less that in {slices.names[0]} on the fitted line, with "
    change += f"its {level} interval; slices count by their rows"
    notes = trend_notes("difference", "the margin", change, len(slices.trends))
    tables = []
    sentences = []
    digits = {attribute_numbers.attribute: attribute_numbers.digits for attribute_numbers in slices.together}
    for attribute, rows in group_by(slices.trends, lambda row: row.attribute).items():
        tables.append(_trend_table(attribute, rows, slices, digits[attribute], view))
        sentences += [
            describe_trend(row, slices, digits[attribute]) for row in rows if row.word != "undecided"
        ]
    yield Section(title, tuple(sentences), tuple(tables), notes)


def _trend_table(
    attribute: str, rows: Sequence[NumberTrend], slices: NumberSlices, digits: int, view: View
) -> TextTable:
    def number(metric: str, value: float) -> TableCell:
        return TableCell(format_measure(metric, value, digits), "", value)

    def word(row: NumberTrend) -> TableCell:
        text = VERDICTS["undecided"] if row.word == "undecided" else row.word
        return TableCell(text, NO_TREND[row.reason], verdict="undecided" if row.reason else None)

    columns: dict[str, Callable[[NumberTrend], TableCell]] = {
        "group": lambda row: TableCell(row.group),
        "measure": lambda row: TableCell(NUMBER_MEASURES[row.metric].label),
        slices.names[0]: lambda row: number(row.metric, row.difference_first),
        slices.names[-1]: lambda row: number(row.metric, row.difference_last),
        "change": lambda row: measure_cell(row.metric, row.change, digits),
        "p (Holm)": lambda row: formatting.both_p_cell(row.p, row.p_holm),
        "trend": word,
    }
    ordered = sorted(rows, key=lambda row: (row.group, row.metric))
    return view.table(f"{attribute}: difference on the fitted line", columns, ordered)


def _slice_table(together: NumberSlice, slices: NumberSlices, report: Report) -> TextTable:
    """Return the difference of each group in each slice, with the sign of its verdict."""
    slice_numbers = {
        attribute_numbers.model: attribute_numbers
        for attribute_numbers in report.found[NUMBERS_KEY]
        if attribute_numbers.attribute == together.attribute
    }
    groups = [group.group for group in together.groups if not group.is_reference]

    def cell_of(group: str) -> Callable[[str], TableCell]:
        def write_cell(name: str) -> TableCell:
            row = decisive_rows(slice_numbers[name]).get(group) if name in slice_numbers else None
            if row is None:
                return TableCell(formatting.DASH)
            return _signed_cell(row, together.digits)

        return write_cell

    columns: dict[str, Callable[[str], TableCell]] = {
        str(report.config.slice_name): lambda name: TableCell(name),
    }
    for group in groups:
        columns[group] = cell_of(group)
    title = f"{together.attribute}: difference from {formatting.format_group(together.reference)}"
    return View().table(title, columns, slices.names)


def _signed_cell(row: NumberComparison, digits: int) -> TableCell:
    return replace(measure_cell(row.metric, row.difference, digits), verdict=row.verdict)


def short_slices(slices: NumberSlices, report: Report) -> Sequence[Section]:
    """Return all slices together and each of them as a symbol, a group in a line."""
    if report.of_strata:
        return (strata_section(report, SHORT_STRATA),)
    symbols = UNTESTED if report.config.rule == "point" else SYMBOLS
    head = f"{slices.names[0]} to {slices.names[-1]}"
    rows: list[tuple[NumberSlice, NumberComparison, str]] = []
    for together in slices.together:
        slice_numbers = [
            attribute_numbers
            for attribute_numbers in report.found[NUMBERS_KEY]
            if attribute_numbers.attribute == together.attribute
        ]
        for group, row in decisive_rows(together).items():
            signs = []
            for attribute_numbers in slice_numbers:
                of_group = decisive_rows(attribute_numbers).get(group)
                verdict = of_group.verdict if of_group else None
                signs.append(symbols[verdict] if verdict else formatting.DASH)
            rows.append((together, row, " ".join(signs)))
    columns: dict[str, Callable[[tuple[NumberSlice, NumberComparison, str]], TableCell]] = {}
    if len(slices.together) > 1:
        columns["attribute"] = lambda row: TableCell(row[0].attribute)
    columns |= {
        "group": lambda row: formatting.group_cell(row[1].group, small=False),
        "difference": lambda row: measure_cell(row[1].metric, row[1].difference, row[0].digits),
        "together": lambda row: verdict_cell(row[1]),
        head: lambda row: TableCell(row[2]),
    }
    key = ", ".join(f"{symbols[verdict]} {text}" for verdict, text in VERDICTS.items())
    title = f"{name_slices(slices.names, report).capitalize()} together, and each: {key}"
    return (Section(title, tables=(SHORT.table("", columns, rows),)),)


def _select_json(slices: NumberSlices) -> dict[str, object]:
    together = [
        {"attribute": attribute_numbers.attribute, "comparisons": attribute_numbers.comparisons}
        for attribute_numbers in slices.together
    ]
    return {"number_slices": {"together": together, "confidence": slices.confidence, "trends": slices.trends}}


NUMBER_TRENDS = Part[Sequence[WholeEstimates], NumberSlices](
    KEY,
    read=read_whole,
    read_by=fields_used_by(JUDGED),
    judge=judge_slices,
    found_type=NumberSlices,
    tables={
        "number_trends": lambda slices, _: map(formatting.flatten, slices.trends),
        "numbers_together": lambda slices, report: number_comparison_rows(slices.together, report),
    },
    sections=slice_sections,
    short=short_slices,
    data=_select_json,
    summary=summarise_slices,
    verdicts=verdicts_of_whole,
)
