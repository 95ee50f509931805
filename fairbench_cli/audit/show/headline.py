"""An audit in words: the verdict, the worst comparison of each attribute, and what is not decided.

Small groups, and those of a missing value, lead nothing: they come last, behind a count. Of the others of an
attribute the worst comparison is that whose ratio is farthest from 1 at least: by the limit of its
interval nearest to 1, clear failures before others. Attributes come in the order of how many people
their worst gap concerns at least: the difference of the rates, at its limit nearest to 0, times the people
behind the group's rate. So a small group with a wild ratio does not come before a large one.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from fairbench_cli.audit.compare.report import ALL, AttributeVerdict, Disparity, GroupRow, Report, WholeTable
from fairbench_cli.audit.metrics import HARMED
from fairbench_cli.audit.parts import find_all_rows, formatting, parts_of
from fairbench_cli.audit.parts.allowed import format_limits, format_margin, has_margin, is_measured_within
from fairbench_cli.audit.parts.findings import describe_finding, differs, fails_clearly
from fairbench_cli.audit.parts.rates import (
    bracketed_place,
    comparisons_behind,
    deciding_rows,
    describe_minor,
    minor_groups,
    rank,
    rows_of_attribute,
    worst_first,
)
from fairbench_cli.audit.scan.roles import ages_on_a_day
from fairbench_cli.audit.show.answer_model import Headline, OpenAttribute, OpenGroup, Sentence
from fairbench_cli.audit.show.label_direction import ADVICE, label_warning
from fairbench_cli.base.errors import Flag
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_count, format_percent, join_names
from fairbench_cli.document.model import Verdict
from fairbench_cli.measures.power import Criterion, round_up_count, rows_needed
from fairbench_cli.measures.rates import AFTERWARDS, EVENTS, RATES, predicate

MOST_NAMES = 4  # attributes named in the sentence on all
MOST_GROUPS = 6  # named in a sentence on what is open
MOST_ROWS = 1e9  # more are never had: the ratio is at a limit
DIFFER = "rates differ by more than chance"
DIFFERED = "rates differed by more than chance in some slices"
"""What is shown of slices in an order: it was so once, and need not be so now."""
CHOICE = "; --ref"
"""After whom groups are compared with: how to choose another."""

SELECTION = "selection-rate"


@dataclass(frozen=True)
class AttributeComparisons:
    """An attribute with its verdict, its minor groups, and its comparisons, the worst first."""

    attribute: AttributeVerdict
    minor: frozenset[str]
    rows: tuple[Disparity, ...]


def headline(report: Report) -> Headline:
    """Return the answer in words; of a rule without a pass mark what its tables show, and no verdict.

    A label that runs against the score comes before everything else.
    """
    answer = _headline(report)
    warning = label_warning(report)
    if warning:
        message = warning.removesuffix(ADVICE).rstrip()
        return replace(answer, message=message, sentence=f"{warning} {answer.sentence}")
    return answer


def spoken_verdict(answer: Headline, report: Report) -> Verdict | None:
    """Return the verdict that the first sentence gives; None where it warns of the label instead."""
    return None if label_warning(report) else answer.verdict


def _headline(report: Report) -> Headline:
    if report.config.of_numbers:
        from fairbench_cli.audit.show.number_headline import number_headline

        return number_headline(report)
    part_summaries = (part.summary(findings, report) for part, findings in parts_of(report))
    summaries = " ".join(filter(None, part_summaries))
    if report.without_verdict:
        return Headline(None, summaries, summaries)
    all_slices = find_all_rows(report)
    if all_slices:
        all_rows = replace(all_slices.report, uncut=report.uncut, birth_dates=report.birth_dates)
        answer = _headline_of_attributes(all_rows, f"{all_slices.name} together")
        sentences = []
        for sentence in answer.sentences:
            trend = all_slices.describe(sentence, sentence.metric)
            sentences.append(replace(sentence, text=f"{sentence.text} {trend}".rstrip()))
        answer = replace(answer, sentences=tuple(sentences))
        if report.streams is not None:
            message = answer.message.replace(DIFFER, DIFFERED)
            answer = replace(answer, message=message, sentence=answer.sentence.replace(DIFFER, DIFFERED))
    else:
        place = formatting.format_place(report.last, "", report.config.slice_name)
        answer = _headline_of_attributes(report, place)
    return replace(answer, sentence=f"{answer.sentence} {summaries}".rstrip())


def _headline_of_attributes(report: Report, place: str) -> Headline:
    """Return the answer of the comparisons alone, of the model or the slices that `place` names, if any."""
    worst = worst_comparisons(report)
    sentences = tuple(_describe_attributes(worst, report))
    order = [comparisons.attribute for comparisons in worst]
    order += [verdict for verdict in report.verdicts if verdict not in order]
    open_attributes = []
    for verdict in order:
        open_rates = open_attribute(verdict, report)
        if open_rates is not None:
            open_attributes.append(open_rates)
    message = _describe_message(worst, order, report, f", {place}" if place else "")
    details = _describe_details(order, report)
    return Headline(
        report.verdict, message, f"{message} {details}".rstrip(), sentences, tuple(open_attributes)
    )


def worst_comparisons(report: Report) -> list[AttributeComparisons]:
    """Return each attribute that has comparisons: what the verdict goes by first, then the worst first."""
    comparisons = []
    for verdict in report.verdicts:
        minor = minor_groups(rows_of_attribute(verdict, report)[1])
        rows = worth_telling_first(deciding_rows(verdict, report), minor, report)
        if rows:
            comparisons.append(AttributeComparisons(verdict, minor, tuple(rows)))

    def order_of(judged: AttributeComparisons) -> tuple[Any, ...]:
        """Return the sort key: what counts first, what is not of minor groups, what concerns most people."""
        row = judged.rows[0]
        counts = judged.attribute in report.judged
        return not counts, row.group in judged.minor, rank(row), -_people_concerned(row)

    return sorted(comparisons, key=order_of)


def _describe_attributes(worst: Sequence[AttributeComparisons], report: Report) -> Iterator[Sentence]:
    """Yield the sentences on attributes; the whole tables of classes come before what is as bad as they."""
    tables = sorted((table for table in report.whole_tables if table.deciding), key=rank)
    for comparisons in worst:
        row = comparisons.rows[0]
        counts = comparisons.attribute in report.judged and row.group not in comparisons.minor
        while tables and (not counts or rank(tables[0]) <= rank(row)):
            yield describe_whole_table(tables.pop(0), report)
        yield _describe_attribute(comparisons, report)
    for table in tables:
        yield describe_whole_table(table, report)


def describe_whole_table(table: WholeTable, report: Report) -> Sentence:
    """Return the whole table of an attribute and its classes in words, with its verdict."""
    from fairbench_cli.audit.parts.whole_table import describe_table

    text = f"{table.attribute}{bracketed_place(table, report)}: {describe_table(table, report)}."
    return Sentence(
        *table.place, table.group, table.reference, table.metric, table.verdict, table.shown_outside, "", text
    )


def worth_telling_first(rows: Iterable[Disparity], minor: frozenset[str], report: Report) -> list[Disparity]:
    """Return comparisons in the order in which they are told: the worst first, failures as a reader asks.

    Among failures that are as clear the selection rate leads, unless an option says what matters. Where it is
    known whom a gap harms, the group that fares worst leads: a young group that is missed more often than the
    reference, and not an old one that is missed less often.
    """
    by_selection = report.leads_with_selection
    knows = report.direction.effect is not None

    def order_of(row: Disparity) -> tuple[Any, ...]:
        if row.verdict != "fail" or row.group in minor:
            return (9,)
        is_other_rate = by_selection and row.metric != SELECTION
        return (
            rank(row) if by_selection else 0,
            is_other_rate,
            knows and harmed_group(row, report) != row.group,
        )

    return sorted(worst_first(rows, minor), key=order_of)


def _describe_attribute(comparisons: AttributeComparisons, report: Report) -> Sentence:
    """Return the sentence on an attribute, of its worst comparison and of how many more fail.

    Where there are other groups, minor ones may make its verdict worse than the comparison's.
    """
    minor = comparisons.minor
    worst, *remaining = comparisons.rows
    failing = [row for row in remaining if row.verdict == "fail"]
    if worst.group in minor:
        return describe_comparison(
            worst, report, len(failing), f", all groups {describe_minor([worst.group], report)}"
        )
    minor_failing = [row for row in failing if row.group in minor]
    answer = describe_comparison(worst, report, len(failing) - len(minor_failing))
    if not minor_failing:
        return answer
    remark = f"Of {_name_minor(dict.fromkeys(row.group for row in minor_failing), report)}"
    text = f"{answer.text} {remark} {formatting.count_failing(len(minor_failing), 'comparison')}."
    return replace(answer, text=text, verdict="fail")


def _name_minor(names: Iterable[str], report: Report) -> str:
    """Return how many minor groups these are, why they are, and which."""
    groups = list(names)
    names_text = join_names([formatting.format_group(group) for group in groups])
    return f"{format_count(len(groups), 'group')} {describe_minor(groups, report)} ({names_text})"


def describe_comparison(row: Disparity, report: Report, n_more: int = 0, addition: str = "") -> Sentence:
    """Return a comparison in words, with an `addition` to its attribute; `n_more` of this fail, too."""
    harmed = harmed_group(row, report)
    who = ""
    if harmed and row.verdict == "fail":
        who = f", to the disadvantage of {formatting.format_group(harmed)}"
    clause = f"{_describe_rates(row)}{_describe_gap(row)}{describe_finding(row, report)}{who}"
    text = f"{row.attribute}{bracketed_place(row, report)}{addition}: {clause}."
    if n_more:
        text += f" {formatting.count_failing(n_more)}."
    return Sentence(
        *row.place, row.group, row.reference, row.metric, row.verdict, row.shown_outside, harmed, text
    )


def rate_meaning(name: str) -> str:
    """Return a rate in words.

    >>> rate_meaning("fpr"), rate_meaning("selection-rate")
    ('wrongly selected, of those who should not be selected', 'selected, of all')
    """
    if name not in EVENTS:
        rate = RATES[name]
        return f"P({rate.event}{f' | {rate.condition}' if rate.condition else ''})"
    event, among = EVENTS[name]
    if event:
        return f"{event}, of {among or 'all'}"
    return f"share of {among}"


def describe_shares(row: Disparity, harmed: str = "") -> str:
    """Return both rates without a term of statistics; where one of the groups is `harmed`, it comes first.

    "Female are selected in 6.0 % of cases, Male in 15.9 %".
    """
    first_group = formatting.format_group(row.group)
    second_group = formatting.format_group(row.reference)
    first_share = format_percent(row.value)
    second_share = format_percent(row.reference_value)
    if harmed == row.reference:
        first_group, second_group = second_group, first_group
        first_share, second_share = second_share, first_share
    if row.metric in AFTERWARDS:
        return f"{first_share} of {first_group} {predicate(row.metric)}, {second_share} of {second_group}"
    event, among = EVENTS[row.metric]
    if not event:
        return f"{first_group} are {first_share} of {among}, {second_group} {second_share}"
    return f"{first_group} are {event} in {first_share} of cases, {second_group} in {second_share}"


def _describe_rates(row: Disparity) -> str:
    """Return both rates: "Female are selected in 6.0 % of cases, Male in 15.9 % (selection rate)"."""
    group = formatting.format_group(row.group)
    reference = formatting.format_group(row.reference)
    label = RATES[row.metric].label
    if row.reason == "no rows":
        return f"{group} against {reference} by {label}"
    if row.metric not in EVENTS:
        shares = format_percent(row.value), format_percent(row.reference_value)
        return f"{label} of {group} {shares[0]}, of {reference} {shares[1]}"
    event, among = EVENTS[row.metric]
    if not event:
        return describe_shares(row)
    if among and row.metric not in AFTERWARDS:
        label += f": of {among}"
    return f"{describe_shares(row)} ({label})"


def _describe_gap(row: Disparity) -> str:
    """Return the number that a comparison is judged by, with its interval."""
    if has_margin(row.margin):
        return _describe_difference(row, row.margin)
    return _describe_ratio(row)


def _describe_difference(row: Disparity, margin: float) -> str:
    """Return the difference with its interval: ": 21.4 points more often (18.2 to 24.5)"."""
    difference = row.difference
    if math.isnan(difference.value):
        return ""
    words = ("more often", "less often")
    if row.metric not in EVENTS:
        words = ("higher", "lower")
    elif not EVENTS[row.metric][0]:
        words = ("more", "less")
    if difference.value < 0:
        beyond, here = words
        nearest, farthest = -difference.high, -difference.low
    else:
        here, beyond = words
        nearest, farthest = difference.low, difference.high
    size = formatting.points(abs(difference.value), margin).removeprefix("+")
    if math.isnan(nearest) or math.isnan(farthest):
        return f": {size} points {here}"
    near_text = formatting.points(abs(nearest), margin).removeprefix("+")
    far_text = formatting.points(farthest, margin).removeprefix("+")
    if nearest < 0:
        # On both sides of equal rates a limit needs its own word.
        limits = f"{near_text} {beyond} to {far_text} {here}"
    else:
        limits = f"{near_text} to {far_text}"
    return f": {size} points {here} ({limits})"


def _describe_ratio(row: Disparity) -> str:
    """Return the ratio with its interval: ": 0.38 times as often (0.28 to 0.49)"."""
    ratio = row.ratio
    often = "as often"
    if row.metric not in EVENTS:
        often = "as large"
    elif not EVENTS[row.metric][0]:
        often = "as many"
    if math.isnan(ratio.value):
        if row.value == row.reference_value == 0:
            return f": equally {often.removeprefix('as ')}"
        return ""
    low, high, value = (_format_times(limit, row.tau) for limit in (ratio.low, ratio.high, ratio.value))
    if math.isinf(ratio.value):
        return f": at least {low} times {often}" if ratio.low > 0 else ""
    if ratio.value == 0:
        return f": at most {high} times {often}" if math.isfinite(ratio.high) else ""
    limits = ""
    if math.isfinite(ratio.low) and math.isfinite(ratio.high):
        limits = f" ({low} to {high})"
    return f": {value} times {often}{limits}"


def harmed_group(row: Disparity, report: Report) -> str:
    """Return which of both groups a gap harms; nobody where that is not known, or no gap is shown."""
    effect = report.direction.effect
    higher = HARMED[effect].get(row.metric, 0) if effect else 0
    gap = row.value - row.reference_value
    if not higher or not gap or differs(row, report.config.confidence) != "shown":  # also where one is NaN
        return ""
    if gap * higher > 0:
        return row.group
    return row.reference


def describe_direction(report: Report, rows: Iterable[Disparity | WholeTable]) -> str:
    """Return the sentence on whether being selected helps, beside comparisons one of which shows a gap.

    Nothing where an option says whether being selected helps, and of classes, each of which is selected once.
    """
    direction = report.direction
    has_gap = any(row.verdict == "fail" or differs(row, report.config.confidence) == "shown" for row in rows)
    if not has_gap or report.whole_tables or (direction.effect and not direction.word):
        return ""
    helps = Flag("decision", "assistive").spell()
    if direction.effect is None:
        return f"Whether being selected helps is not known: {helps}, or punitive, says it."
    if direction.effect == "assistive":
        return f"Being selected helps, as {direction.word}; else say {Flag('decision', 'punitive').spell()}."
    return f"Being selected harms, as {direction.word}; else say {helps}."


def _people_concerned(row: Disparity) -> float:
    """Return the number that attributes of the same verdict are ordered by; NaN counts as 0."""
    if row.verdict != "fail":
        return 0.0
    gap = formatting.nearest_to(0.0, row.difference) or row.difference.value
    people = abs(gap) * row.behind[1]
    if math.isnan(people):
        return 0.0
    return people


def _describe_message(
    worst: Sequence[AttributeComparisons], order: Sequence[AttributeVerdict], report: Report, place: str
) -> str:
    """Return the verdict on everything in one clause, with the worst gap where something fails."""
    judged = [verdict for verdict in order if verdict in report.judged]
    if report.verdict == "fail":
        clear, other_failing = _split_failures(judged, report)
        failing = clear or other_failing
        names = _name_attributes(failing, report)
        worst_gap = _describe_worst_gap(worst, failing, report)
        return f"Fails{' clearly' if clear else ''} in {names}{place}: {worst_gap}."
    if report.verdict == "pass":
        return f"Passes{place}: in {_name_attributes(judged, report)} no gap is larger than allowed."
    if not any(comparisons_behind(verdict, report) for verdict in judged):
        return f"Not decided{place}: there is nothing to compare."
    reasons = {row.reason for verdict in judged for row in comparisons_behind(verdict, report)}
    if reasons == {"constant"}:
        return f"Not decided{place}: everybody is decided on alike, and there is nothing to compare."
    differing, within = _differing_attributes(judged, report)
    if differing:
        names = _name_attributes(differing, report)
        text = f"in {names} {DIFFER}; whether by more than is allowed is open"
    elif within or report.config.rule == "point":
        text = "no gap larger than allowed is shown, and none is ruled out"
    else:
        text = "no difference is shown, and a gap larger than allowed is not ruled out"
        if "months" in reasons:
            text = text.replace("difference", "lasting difference")
    return f"Not decided{place}: {text}."


def _describe_worst_gap(
    worst: Sequence[AttributeComparisons], failing: Sequence[AttributeVerdict], report: Report
) -> str:
    """Return both shares of the worst comparison that fails, or that minor groups alone fail."""
    minor_names: dict[str, None] = {}
    for comparisons in worst:
        if comparisons.attribute not in failing:
            continue
        for row in comparisons.rows:
            if row.verdict == "fail" and row.group not in comparisons.minor:
                place = bracketed_place(row, report) if len(failing) > 1 else ""
                return f"{_describe_told_gap(row, report)}{place}"
            if row.verdict == "fail":
                minor_names[row.group] = None
    failing_tables = [table for verdict in failing if (table := report.whole_table_at(verdict))]
    if failing_tables:
        from fairbench_cli.audit.parts.whole_table import describe_table_briefly

        return describe_table_briefly(min(failing_tables, key=rank))
    return f"{_name_minor(minor_names, report)} alone"


def _describe_told_gap(row: Disparity, report: Report) -> str:
    """Return both shares of a gap that fails, selection rates before another rate, and whom it harms."""
    harmed = harmed_group(row, report)
    text = describe_shares(row, harmed)
    if report.leads_with_selection and row.metric != SELECTION:
        rows, _ = rows_of_attribute(row, report)
        selections = (rate for rate in rows if rate.metric == SELECTION and not rate.is_reference)
        selection = next((rate for rate in selections if rate.group == row.group), None)
        if selection is not None:
            event, among = EVENTS[row.metric]
            shares = f"{format_percent(row.value)} and {format_percent(row.reference_value)}"
            comparison = f"{event or 'share of all selected'}, {shares}"
            if row.metric in AFTERWARDS:
                comparison = f"of {among} {shares} {event.removesuffix(' selected')}"
            fails = "fails clearly" if row.shown_outside else "fails"
            text = f"{describe_shares(selection)}; {fails}: {comparison}"
    if harmed:
        return f"{text}, so {formatting.format_group(harmed)} are worse off"
    return text


def _describe_details(order: Sequence[AttributeVerdict], report: Report) -> str:
    """Return the sentences after the message: other attributes, limits, references, what was left out.

    Whether rates differ is one question, whether by too much another: one may be shown, the other open.
    """
    judged = [verdict for verdict in order if verdict in report.judged]
    clear, other_failing = _split_failures(judged, report)
    differing, within = _differing_attributes(judged, report)
    behind = list(chain.from_iterable(comparisons_behind(verdict, report) for verdict in judged))
    sentences = [_explain_failure(behind, report), describe_direction(report, behind)]
    if clear and other_failing:
        sentences.append(f"Fails in {_name_attributes(other_failing, report)}, the measured gap alone.")
    open_names = {verdict.attribute for verdict in judged if verdict.verdict != "pass"}
    passing = [verdict for verdict in judged if verdict.attribute not in open_names]
    if passing and report.verdict != "pass":
        sentences.append(f"Passes: {_name_attributes(passing, report)}.")
    if report.verdict == "fail":
        undecided = _with_verdict(judged, "undecided")
        if undecided:
            sentences.append(f"Not decided: {_name_attributes(undecided, report)}.")
        if differing:
            names = _name_attributes(differing, report)
            sentences.append(f"In {names}, too, {DIFFER}; whether by too much is open.")
    if report.verdict == "undecided":
        sentences += _count_open(judged, report)
    if within:
        names = _name_attributes(within, report)
        sentences.append(f"In {names} {DIFFER}, within what is allowed.")
    if report.verdict == "pass" and not within and report.config.rule != "point":
        sentences.append("No difference is shown.")
    if any(deciding_rows(verdict, report) for verdict in judged):
        sentences.append(_describe_limits(report))
    sentences.append(_describe_default_reference(report))
    if report.config.rule == "point":
        sentences.append("Chance was not looked at.")
    uncut, option = _describe_uncut(report)
    if uncut:
        sentences.append(f"{uncut}: {option} cuts it.")
    return " ".join(filter(None, sentences))


def _explain_failure(rows: Iterable[Disparity | WholeTable], report: Report) -> str:
    """Return the meaning of the word "fails", where something does by more than chance."""
    failing = [row for row in rows if row.verdict == "fail"]
    late = any(isinstance(row, Disparity) and is_measured_within(row) for row in failing)  # of some months
    if not failing or late or report.config.rule == "point":
        return ""
    if fails_clearly(failing, report):
        return "Clearly: the true gap, too, is shown to be too large."
    return (
        "Fails: the measured gap is too large, and rates differ beyond chance; the true gap may be smaller."
    )


def _describe_uncut(report: Report) -> tuple[str, str]:
    """Return the attributes that are not audited until they are cut, and the option that cuts; or nothing."""
    if report.uncut:
        verb = "is" if len(report.uncut) == 1 else "are"
        option = Flag("bins", (report.uncut[0], 4)).spell()
        return f"Not audited: {join_names(list(report.uncut))}, which {verb} a number", option
    if report.birth_dates:
        name = report.birth_dates[0]
        return f"Not audited: age, which {name} says", ages_on_a_day(name)
    return "", ""


def _count_open(judged: Sequence[AttributeVerdict], report: Report) -> list[str]:
    """Return how many comparisons are open, in a sentence; nothing where there are none."""
    rows: list[Disparity | WholeTable] = []
    for verdict in judged:
        rows += comparisons_behind(verdict, report)
    if not rows:
        return []
    n_open = sum(row.verdict == "undecided" for row in rows)
    verb = "is" if n_open == 1 else "are"
    return [f"{n_open:,} of {format_count(len(rows), 'comparison')} {verb} open."]


def _split_failures(
    judged: Sequence[AttributeVerdict], report: Report
) -> tuple[list[AttributeVerdict], list[AttributeVerdict]]:
    """Return the attributes that fail clearly, and those that fail otherwise."""
    clear = []
    other_failing = []
    for verdict in _with_verdict(judged, "fail"):
        if fails_clearly(comparisons_behind(verdict, report), report):
            clear.append(verdict)
        else:
            other_failing.append(verdict)
    return clear, other_failing


def _differing_attributes(
    judged: Sequence[AttributeVerdict], report: Report
) -> tuple[list[AttributeVerdict], list[AttributeVerdict]]:
    """Return the attributes that do not fail though their rates are shown to differ.

    First those of which it is open whether by too much, then those of which it is shown that it is not.
    """
    differing = []
    within = []
    for verdict in judged:
        if verdict.verdict == "fail" or report.config.rule == "point":
            continue
        rows = comparisons_behind(verdict, report)
        kinds = {row.verdict for row in rows if differs(row, report.config.confidence) == "shown"}
        if "undecided" in kinds:
            differing.append(verdict)
        elif kinds == {"pass"}:
            within.append(verdict)
    return differing, within


def _name_attributes(verdicts: Sequence[AttributeVerdict], report: Report) -> str:
    """Return the attributes of some verdicts, each once, and in which of its audits if it has several.

    They are joined as "race, sex and age"; the last ones are counted where there are many.
    """
    names = []
    for attribute, of_attribute_verdicts in group_by(verdicts, lambda verdict: verdict.attribute).items():
        n = sum(verdict.attribute == attribute for verdict in report.judged)
        kind = "audits"
        if report.of_strata:
            kind = f"slices by {report.config.slice_name}"
        audits = f" ({len(of_attribute_verdicts)} of {n} {kind})"
        if n == 1:
            audits = ""
        elif len(of_attribute_verdicts) == n:
            audits = f" ({'both' if n == 2 else f'all {n}'} {kind})"
        elif len(of_attribute_verdicts) == 1:
            apart = (
                len({verdict.decision for verdict in report.judged}) > 1 or not of_attribute_verdicts[0].model
            )
            decision = ""
            if apart:
                decision = of_attribute_verdicts[0].decision
            model = of_attribute_verdicts[0].model
            audits = f" ({formatting.format_place(model, decision, report.config.slice_name)})"
        names.append(attribute + audits)
    if len(names) > MOST_NAMES:
        names[MOST_NAMES - 1 :] = [f"{len(names) - MOST_NAMES + 1} more"]
    if len(names) > 1:
        return f"{', '.join(names[:-1])} and {names[-1]}"
    return "".join(names)


def _describe_limits(report: Report) -> str:
    """Return a sentence on the limits: "Allowed: 0.8 to 1.25 times, false positive rate 0.9 to 1.11."."""
    config = report.config
    if config.preset == "eeoc":
        return "Allowed: four fifths of the highest rate."
    deciding = [row for row in report.disparities if row.metric in report.deciding]
    of_tables = ""
    tables = [table for table in report.whole_tables if table.deciding]
    if tables:
        of_tables = f"; of the whole table a w of {tables[0].margin:g}"
    if any(has_margin(row.margin) for row in deciding):
        return f"Allowed: {_describe_margins(deciding)}{of_tables}."
    taus = {row.metric: row.tau for row in deciding if row.tau != config.tau}
    other_limits = "".join(f", {RATES[name].label} {format_limits(tau)}" for name, tau in taus.items())
    return f"Allowed: {format_limits(config.tau)} times the reference's rate{other_limits}{of_tables}."


def _describe_margins(rows: Sequence[Disparity]) -> str:
    """Return the limits where a rate goes by a margin: of most rates, then of those that are named."""
    metrics_by_limit: dict[str, dict[str, None]] = {}
    for row in rows:
        if has_margin(row.margin):
            limit = f"a margin of {format_margin(row.margin)} around"
        else:
            limit = f"{format_limits(row.tau)} times"
        metrics_by_limit.setdefault(limit, {})[row.metric] = None
    usual, *others = sorted(metrics_by_limit, key=lambda limit: -len(metrics_by_limit[limit]))
    clauses = [f"{usual} the reference's rate"]
    for limit in others:
        labels = [RATES[metric].label for metric in metrics_by_limit[limit]]
        clauses.append(f"for the {join_names(labels)} {limit} it")
    return "; ".join(clauses)


def _describe_default_reference(report: Report) -> str:
    """Return whom groups are compared with and how to choose, in a sentence; empty where somebody chose."""
    config = report.config
    references = {row.attribute: row.reference for row in report.disparities if row.deciding}
    if config.references or config.ref_method != "majority" or config.preset or not references:
        return ""
    attribute, reference = next(iter(references.items()))
    named = "" if len(references) > 1 else f", {formatting.format_group(reference)}"
    return f"Compared with the largest group{named}{CHOICE} {attribute}=GROUP chooses another."


def without_choice(detail: str, report: Report) -> str:
    """Return the sentences after a message as a page has them: its readers choose no option."""
    uncut, option = _describe_uncut(report)
    if uncut:
        detail = detail.replace(f"{uncut}: {option} cuts it.", f"{uncut}.")
    sentence = _describe_default_reference(report)
    if not sentence:
        return detail
    start, _, _ = sentence.partition(CHOICE)
    return detail.replace(sentence, f"{start}.")


def open_attribute(verdict: AttributeVerdict, report: Report) -> OpenAttribute | None:
    """Return the undecided groups and rates of an attribute; None where all is decided."""
    table = report.whole_table_at(verdict)
    if table is not None:
        return _open_table(table, report)
    sizes = {row.group: row for row in rows_of_attribute(verdict, report)[1]}
    minor = minor_groups(sizes.values())
    groups = []
    apart = {}
    for group, rows in group_by(deciding_rows(verdict, report), lambda row: row.group).items():
        still = [row for row in rows if row.verdict == "undecided"]
        if still:
            n_needed = [_rows_needed(row, sizes) for row in still]
            least = min((n for n in n_needed if not math.isnan(n)), default=math.nan)
            most = math.nan if any(map(math.isnan, n_needed)) else max(n_needed)
            far = [row for row, n in zip(still, n_needed, strict=True) if not n < formatting.MANY_ROWS]
            n_equal = [_rows_if_equal(row, sizes, report) for row in far]
            if_equal = math.nan if any(map(math.isnan, n_equal)) else max(n_equal, default=math.nan)
            names = tuple(row.metric for row in still)
            groups.append(OpenGroup(group, sizes[group].rows, names, len(rows), least, most, if_equal))
            apart[group] = sum(differs(row, report.config.confidence) == "shown" for row in still)
    if not groups:
        return None
    groups.sort(key=lambda group: (group.group in minor, -len(group.metrics) / group.compared, group.rows))
    major = [open_group for open_group in groups if open_group.group not in minor]
    clauses = [
        _describe_open_group(open_group, apart[open_group.group], first=open_group is major[0])
        for open_group in major[:MOST_GROUPS]
    ]
    if len(major) > MOST_GROUPS:
        clauses.append(f"{len(major) - MOST_GROUPS:,} more groups")
    if minor_names := [open_group.group for open_group in groups if open_group.group in minor]:
        clauses.append(_name_minor(minor_names, report))
    text = f"{verdict.attribute}{bracketed_place(verdict, report)}: {'; '.join(clauses)}."
    return OpenAttribute(*verdict.place, tuple(groups), text)


def _open_table(table: WholeTable, report: Report) -> OpenAttribute | None:
    """Return a whole table that is not decided, in words; None where it is."""
    if table.verdict != "undecided":
        return None
    needed = round_up_count(table.rows_needed) if table.rows_needed <= MOST_ROWS else math.nan
    group = OpenGroup(ALL, table.rows, (table.metric,), 1, needed, needed)
    apart = int(differs(table, report.config.confidence) == "shown")
    clause = _describe_open_group(group, apart, first=True)
    text = f"{table.attribute}{bracketed_place(table, report)}: {clause}."
    return OpenAttribute(*table.place, (group,), text)


def _rows_needed(row: Disparity, sizes: dict[str, GroupRow]) -> float:
    """Return about how many rows of the group itself would decide a comparison, rounded up; or NaN."""
    mine = sizes[row.group].rows
    against_rest = row.reference not in sizes  # everybody else
    if against_rest:
        n_both = sum(row_of_group.rows for row_of_group in sizes.values())
    else:
        n_both = mine + sizes[row.reference].rows
    if n_both:
        n_needed = row.rows_needed * mine / n_both
    else:
        n_needed = math.nan
    if n_needed <= MOST_ROWS:
        return round_up_count(n_needed)
    return math.nan


def _rows_if_equal(row: Disparity, sizes: dict[str, GroupRow], report: Report) -> float:
    """Return about how many rows of the group would decide were its rate the reference's, rounded up.

    NaN where the rates are shown to differ, where so many are at hand, and of weights, clusters and months.
    """
    config = report.config
    is_counted = row.test in ("score", "fisher") and not report.weighted  # of looks there is no such test
    if not is_counted or differs(row, config.confidence) == "shown":
        return math.nan
    margin = row.margin if has_margin(row.margin) else None
    rule = Criterion(row.tau, 1, config.confidence, margin)
    n_behind = row.behind[1] + row.reference_behind[1]
    n_counted = float(rows_needed(row.reference_value, 1.0, row.behind[1] / n_behind, rule))
    n_needed = n_counted / n_behind * sizes[row.group].rows
    if sizes[row.group].rows < n_needed < formatting.MANY_ROWS:
        return round_up_count(n_needed)
    return math.nan


def _describe_open_group(open_group: OpenGroup, apart: int, *, first: bool) -> str:
    """Return a group that is open: "Asian on 5 of 5 rates (31 rows; about 220 to 1,600 would decide)".

    On how many of these its rates are shown to be `apart` is said: what is open there is the limit alone.
    """
    rates = ""
    if first:
        rates = " rates"
    if len(open_group.metrics) == open_group.compared == 1:
        on_rates = ""
    elif open_group.compared == 1 or len(open_group.metrics) > 1:
        on_rates = f" on {len(open_group.metrics)} of {open_group.compared}{rates}"
    else:
        on_rates = f" on {RATES[open_group.metrics[0]].label}"
    if apart:
        on_rates += ", differing beyond chance"
        if apart < len(open_group.metrics):
            on_rates += f" on {apart}"
    needed_text = ""
    if open_group.needed:
        needed_text = f"; {open_group.needed}"
        if first:
            needed_text += " would decide"
    count_text = format_count(open_group.rows, "row")
    return f"{formatting.format_group(open_group.group)}{on_rates} ({count_text}{needed_text})"


def _format_times(value: float, tau: float) -> str:
    """Return how many times as often, with a third decimal where the number is small."""
    if 0 < value < 0.1:
        return formatting.ratio(value, tau, 3)
    return formatting.ratio(value, tau, 2)


def _with_verdict(verdicts: Sequence[AttributeVerdict], kind: Verdict) -> list[AttributeVerdict]:
    return [verdict for verdict in verdicts if verdict.verdict == kind]
