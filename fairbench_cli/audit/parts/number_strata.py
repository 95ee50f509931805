"""Numbers by slices without an order, such as categories of workers: each is judged, all are reported."""

import math
from collections.abc import Callable, Iterator, Sequence

from fairbench_cli.audit.compare.number_trends import NumberSlices
from fairbench_cli.audit.compare.numbers import NumberSlice
from fairbench_cli.audit.compare.report import NumberComparison, Report
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.numbers import (
    KEY,
    SEVERITY,
    decisive_rows,
    format_interval,
    format_measure,
    format_size,
    verdict_cell,
    verdict_of,
)
from fairbench_cli.audit.parts.part import View
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_amount, format_percent
from fairbench_cli.data.recognise import named_like_pay
from fairbench_cli.document.model import VERDICT_VERBS, Section, TableCell
from fairbench_cli.measures.number_measures import NUMBER_MEASURES

SHORT = View(12, brief=True)
WITHIN = (
    "more than chance: within what each line compares. Where groups work at other sites, hours or ranks, "
    "that is in it."
)

Stratum = tuple[NumberSlice, NumberComparison]


def count_strata(report: Report, left_out: NumberSlice | None = None) -> str:
    """Return how many slices fail, are not decided and pass; one, of which all is said, may be left out."""
    verdicts = [verdict_of(numbers, report) for numbers in report.found[KEY] if numbers is not left_out]
    of_kind = f" by {report.config.slice_name}"
    kind = f"slices{of_kind}"
    if left_out is not None:
        kind = f"other {kind}"
    clauses = []
    for verdict, words in VERDICT_VERBS.items():
        n = verdicts.count(verdict)
        if n == len(verdicts) == 1:
            return f"The other slice{of_kind} {words[0]}."
        if n == len(verdicts) == 2:
            return f"Both {kind} {words[1]}."
        if n == len(verdicts) > 2:
            return f"All {n:,} {kind} {words[1]}."
        if n:
            clauses.append(f"{n:,} {words[n > 1]}")
    return f"Of {len(verdicts):,} {kind} {', '.join(clauses)}."


def summarise_strata(slices: NumberSlices, report: Report) -> str:
    """Return the gap of all slices together, which is not judged, and how often equal groups show one."""
    sentences = []
    strata = group_by(list_strata(report), lambda stratum: stratum[0].attribute)
    for together in slices.together:
        rows = [row for row in together.comparisons if row.metric == report.decided_by[0]]
        largest = sorted(rows, key=lambda row: -abs(row.difference.value))[:1]
        sentences += [_describe_together(row, together, report) for row in largest]
        sentences += _describe_chance(strata.get(together.attribute, []), report)
    return " ".join(sentences)


def _describe_together(row: NumberComparison, together: NumberSlice, report: Report) -> str:
    name = report.config.slice_name
    group, reference = (formatting.format_group(side) for side in (row.group, row.reference))
    label = f"the {NUMBER_MEASURES[row.metric].label} of {together.column}"
    size = format_size(row.metric, abs(row.difference.value), together)
    if not math.isnan(row.ratio.value):
        size = f"{format_amount(100 * abs(row.ratio.value - 1), 1)} %"
    side = ("less", "more")[row.difference.value > 0]
    gap = f"{label} is {size} {side} for {group} than for {reference}"
    if row.metric == "more":
        gap = f"{label} for {group} against {reference} is {format_percent(row.difference.value)}"
    return f"Over all slices by {name} {gap}; that is not judged, as each {name} may differ."


def list_strata(report: Report) -> list[Stratum]:
    """Return each slice and group with the comparison that decides first: failures, and the surest, first."""
    rows = [(numbers, row) for numbers in report.found[KEY] for row in decisive_rows(numbers).values()]

    def order_of(stratum: Stratum) -> tuple[float, ...]:
        row = stratum[1]
        return SEVERITY[row.verdict or "pass"], math.isnan(row.p_holm), row.p_holm

    return sorted(rows, key=order_of)


def shows_gap(stratum: Stratum) -> bool:
    """Return whether the measured gap of a slice is the margin in per cent or more."""
    numbers, row = stratum
    return 100 * abs(row.ratio.value - 1) >= numbers.margin.percent_of_pay


def _describe_chance(strata: Sequence[Stratum], report: Report) -> Iterator[str]:
    """Yield how often groups with equal means show such a gap in one of several slices, and how many do."""
    of_means = [stratum for stratum in strata if stratum[1].metric == "mean"]
    tested = [stratum for stratum in of_means if stratum[1].group in stratum[0].chances]
    if len(tested) < 2:
        return
    chances = [numbers.chances[row.group] for numbers, row in tested]
    n_employers = f"{100 * (1 - math.prod(1 - chance for chance in chances)):.0f}"
    n_employers = {"0": "fewer than 1", "100": "more than 99"}.get(n_employers, n_employers)
    shown = sum(map(shows_gap, tested))
    name = report.config.slice_name
    who = "such tables in which means are equal"
    if named_like_pay(tested[0][0].column):
        who = "such employers that pay equally"
    percent = f"{tested[0][0].margin.percent_of_pay:g} % or more"
    verb = ("do", "does")[shown == 1]
    yield (
        f"Of 100 {who} {n_employers} would show {percent} in at least one {name} of these {len(tested)}; "
        f"here {shown} {verb}, {sum(chances):.1f} is to be expected."
    )


def strata_section(report: Report, view: View) -> Section:
    """Return a line for each slice and group: what is measured, and whether it is more than chance."""
    strata = list_strata(report)
    columns: dict[str, Callable[[Stratum], TableCell]] = {
        str(report.config.slice_name): lambda stratum: TableCell(stratum[0].model)
    }
    if len({numbers.attribute for numbers, _ in strata}) > 1:
        columns["attribute"] = lambda stratum: TableCell(stratum[0].attribute)
    if len({(numbers.attribute, row.group) for numbers, row in strata}) > 1:
        columns["group"] = lambda stratum: TableCell(stratum[1].group)
    columns["rows"] = _rows_cell
    has_percent = any(not math.isnan(row.ratio.value) for _, row in strata)
    if not (has_percent and view.brief):
        columns["difference"] = _difference_cell
    if has_percent:
        columns["per cent"] = _percent_cell
    if has_percent and all(row.metric == "mean" for _, row in strata):
        columns[f"shows {strata[0][0].margin.percent_of_pay:g} %"] = lambda stratum: _yes_cell(
            shows_gap(stratum)
        )
    notes: tuple[str, ...] = ()
    if report.config.rule != "point":
        columns["more than chance"] = lambda stratum: _chance_cell(stratum, report)
        notes = (WITHIN,)
    columns["verdict"] = lambda stratum: verdict_cell(stratum[1])
    return Section(f"Each {report.config.slice_name}", tables=(view.table("", columns, strata),), notes=notes)


def _rows_cell(stratum: Stratum) -> TableCell:
    numbers, row = stratum
    rows = {group.group: group.rows for group in numbers.groups}
    everybody_else = sum(rows.values()) - rows[row.group]
    return TableCell(f"{rows[row.group]:,} v {rows.get(row.reference, everybody_else):,}")


def _difference_cell(stratum: Stratum) -> TableCell:
    numbers, row = stratum
    text = format_measure(row.metric, row.difference.value, numbers.digits)
    return TableCell(text, format_interval(row.metric, row.difference, numbers.digits), row.difference.value)


def _percent_cell(stratum: Stratum) -> TableCell:
    value, low, high = (100 * (number - 1) for number in vars(stratum[1].ratio).values())
    return TableCell(format_amount(value, 1), f"[{format_amount(low, 1)}, {format_amount(high, 1)}]", value)


def _yes_cell(is_so: bool) -> TableCell:
    return TableCell(("no", "yes")[is_so])


def _chance_cell(stratum: Stratum, report: Report) -> TableCell:
    p_holm = stratum[1].p_holm
    if math.isnan(p_holm):
        return TableCell(formatting.DASH)
    return _yes_cell(p_holm < report.config.alpha)
