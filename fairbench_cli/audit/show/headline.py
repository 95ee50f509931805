"""An audit in words: the verdict, the worst comparison of each attribute, and what is not decided.

Small groups, and those of a missing value, lead nothing: they come last, behind a count. Of the others of an
attribute the worst comparison is that whose ratio is farthest from 1 at least: by the limit of its
interval nearest to 1, failures shown outside τ before others. Attributes come in the order of how many people
their worst gap concerns at least: the difference of the rates, at its limit nearest to 0, times the people
behind the group's rate. So a small group with a wild ratio does not come before a large one.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairbench_cli.audit.compare.report import AttributeVerdict, Disparity, GroupRow, Pair, Place, Report
from fairbench_cli.audit.config import Effect
from fairbench_cli.audit.parts import parts_of, whole_of, writing
from fairbench_cli.audit.parts.findings import allowed, beyond, differs, finding
from fairbench_cli.audit.parts.rates import (
    decisive,
    in_brackets,
    minor_groups,
    minor_words,
    of_attribute,
    rank,
    worst_first,
)
from fairbench_cli.audit.show.label_direction import label_warning
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_count, format_percent, join_names
from fairbench_cli.document.model import VERDICTS, Verdict
from fairbench_cli.measures.rates import EVENTS, RATES

MOST_LINES = 6  # sentences, and lines on what is open, unless all are asked for
MOST_NAMES = 4  # attributes named in the sentence on all
MOST_GROUPS = 6  # named in a sentence on what is open
MOST_ROWS = 1e9  # more are never had: the ratio is at a limit

# Whether the group with the higher (1) or the lower (-1) rate is harmed, where being selected hurts or helps.
# A rate that is not here harms nobody for certain.
HARMED: dict[Effect, dict[str, int]] = {
    "punitive": {
        **dict.fromkeys(("selection-rate", "selected-share", "fpr", "fdr", "tpr"), 1),
        **dict.fromkeys(("fnr", "tnr", "ppv"), -1),
    },
    "assistive": {
        **dict.fromkeys(("fnr", "for", "tnr"), 1),
        **dict.fromkeys(("selection-rate", "selected-share", "fpr", "tpr", "npv"), -1),
    },
}


@dataclass(frozen=True)
class Sentence(Pair):
    """The worst comparison of an attribute, in words.

    `harmed` is the group whom it harms, where the configuration says what a decision does; else empty.
    """

    metric: str
    verdict: Verdict
    shown_outside: bool
    harmed: str
    text: str


@dataclass(frozen=True)
class OpenGroup:
    """A group with comparisons that are not decided.

    Parameters
    ----------
    group : str
    rows : int
        How many it has.
    metrics : tuple of str
        The rates that are not decided.
    compared : int
        On how many rates it is compared.
    least_needed, most_needed : float
        About how many rows of the group would decide the first and the last of them, were the reference's to
        grow alike and the rates to stay; NaN where that is not known of any, or of one.
    """

    group: str
    rows: int
    metrics: tuple[str, ...]
    compared: int
    least_needed: float
    most_needed: float


@dataclass(frozen=True)
class OpenAttribute(Place):
    """What is not decided of an attribute, in words and by group: most open rates first, minor ones last."""

    groups: tuple[OpenGroup, ...]
    text: str


@dataclass(frozen=True)
class Headline:
    """The answer of an audit in words: over all, of each attribute (the worst first), and what is open."""

    verdict: Verdict | None
    sentence: str
    sentences: tuple[Sentence, ...] = ()
    open: tuple[OpenAttribute, ...] = ()

    def lines(self, *, everything: bool = False) -> tuple[list[tuple[Verdict, str]], list[str]]:
        """Return the sentences with their verdicts, and what is open; a last line counts what is left out."""
        if everything:
            most = None
        else:
            most = MOST_LINES
        sentences = [(one.verdict, one.text) for one in self.sentences[:most]]
        still = [one.text for one in self.open[:most]]
        if more := len(self.sentences) - len(sentences):
            sentences.append((self.sentences[len(sentences)].verdict, f"and {more} more, below."))
        if more := len(self.open) - len(still):
            still.append(f"and {more} more, below.")
        return sentences, still


def headline(report: Report) -> Headline:
    """Return the answer in words; of a rule without a pass mark what its tables show, and no verdict.

    A label that runs against the score comes before everything else.
    """
    answer = _headline(report)
    warning = label_warning(report)
    if warning:
        return replace(answer, sentence=f"{warning} {answer.sentence}")
    return answer


def _headline(report: Report) -> Headline:
    short = " ".join(filter(None, (part.summary(found, report) for part, found in parts_of(report))))
    if report.without_verdict:
        return Headline(None, short)
    if whole := whole_of(report):
        first = _headline(whole.report)
        said = tuple(
            replace(one, text=f"{one.text} {whole.said(one, one.metric)}".rstrip()) for one in first.sentences
        )
        text = first.sentence.replace(":", f", {whole.about} together:", 1)
        return replace(first, sentence=f"{text} {short}", sentences=said)
    every = [(at, minor_groups(of_attribute(at, report)[1])) for at in report.verdicts]
    worst = [(at, minor, rows) for at, minor in every if (rows := worst_first(decisive(at, report), minor))]

    def order_of(one: tuple[AttributeVerdict, frozenset[str], list[Disparity]]) -> tuple[Any, ...]:
        """Return the sort key: what counts first, what is not of minor groups, what concerns most people."""
        at, minor, (row, *_) = one
        return at not in report.judged, row.group in minor, rank(row), -_weight(row)

    worst.sort(key=order_of)
    found = tuple(_of_attribute(rows, minor, report) for _, minor, rows in worst)
    order = [at for at, *_ in worst]
    order += [at for at in report.verdicts if at not in order]
    still = tuple(one for at in order if (one := open_attribute(at, report)) is not None)
    return Headline(report.verdict, f"{_overall(report, order)} {short}".rstrip(), found, still)


def _of_attribute(rows: Sequence[Disparity], minor: frozenset[str], report: Report) -> Sentence:
    """Return the sentence on an attribute, of its worst comparison and of how many more fail.

    Where there are other groups, `minor` ones may make its verdict worse than the comparison's.
    """
    worst, *others = rows
    failing = [row for row in others if row.verdict == "fail"]
    if worst.group in minor:
        return sentence(worst, report, len(failing), f", all groups {minor_words([worst.group], report)}")
    behind = [row for row in failing if row.group in minor]
    first = sentence(worst, report, len(failing) - len(behind))
    if not behind:
        return first
    more = f"Of {_counted_minor(dict.fromkeys(row.group for row in behind), report)}"
    if len(behind) == 1:
        verb = "fails"
    else:
        verb = "fail"
    text = f"{first.text} {more} {format_count(len(behind), 'comparison')} {verb}."
    return replace(first, text=text, verdict="fail")


def _counted_minor(names: Iterable[str], report: Report) -> str:
    """Return how many minor groups these are, why they are, and which."""
    groups = list(names)
    which = join_names([writing.named(group) for group in groups])
    return f"{format_count(len(groups), 'group')} {minor_words(groups, report)} ({which})"


def sentence(row: Disparity, report: Report, more: int = 0, about: str = "") -> Sentence:
    """Return a comparison in words, and how many `more` of the attribute fail; what is said `about` it."""
    harmed = _harmed(row, report.config.effect)
    if harmed and row.verdict == "fail":
        who = f", to the disadvantage of {writing.named(harmed)}"
    else:
        who = ""
    said = f"{_rates(row)}{_times(row)}{finding(row, report)}{who}"
    text = f"{row.attribute}{in_brackets(row, report)}{about}: {said}."
    if more:
        text += f" {more:,} more comparison{'s fail' if more > 1 else ' fails'}."
    pair = (*row.place, row.group, row.reference)
    return Sentence(*pair, row.metric, row.verdict, row.shown_outside, harmed, text)


def meaning(name: str) -> str:
    """Return a rate in words.

    >>> meaning("fpr"), meaning("selection-rate")
    ('wrongly selected, of those who should not be selected', 'selected, of all')
    """
    if name not in EVENTS:
        rate = RATES[name]
        return f"P({rate.event}{f' | {rate.condition}' if rate.condition else ''})"
    event, among = EVENTS[name]
    if event:
        return f"{event}, of {among or 'all'}"
    return f"share of {among}"


def _rates(row: Disparity) -> str:
    """Return both rates: "Female are selected in 6.0 % of cases, Male in 15.9 % (selection rate)"."""
    group = writing.named(row.group)
    reference = writing.named(row.reference)
    label = RATES[row.metric].label
    if row.reason == "no rows":
        return f"{group} against {reference} by {label}"
    mine = format_percent(row.value)
    theirs = format_percent(row.reference_value)
    if row.metric not in EVENTS:
        return f"{label} of {group} {mine}, of {reference} {theirs}"
    event, among = EVENTS[row.metric]
    if not event:
        return f"{group} are {mine} of {among}, {reference} {theirs}"
    if among:
        label += f": of {among}"
    return f"{group} are {event} in {mine} of cases, {reference} in {theirs} ({label})"


def _times(row: Disparity) -> str:
    """Return the ratio with its interval: ": 0.38 times as often (0.28 to 0.49)"."""
    known = row.ratio
    often = "as often"
    if row.metric not in EVENTS:
        often = "as large"
    elif not EVENTS[row.metric][0]:
        often = "as many"
    if math.isnan(known.value):
        if row.value == row.reference_value == 0:
            return f": equally {often.removeprefix('as ')}"
        return ""
    low, high, value = (
        writing.ratio(part, row.tau, 2 if part == 0 or part >= 0.1 else 3)
        for part in (known.low, known.high, known.value)
    )
    if math.isinf(known.value):
        if known.low > 0:
            return f": at least {low} times {often}"
        return ""
    if known.value == 0:
        if math.isfinite(known.high):
            return f": at most {high} times {often}"
        return ""
    if math.isnan(known.low):
        limits = ""
    elif math.isfinite(known.high):
        limits = f" ({low} to {high})"
    else:
        limits = ""
    return f": {value} times {often}{limits}"


def _harmed(row: Disparity, effect: Effect | None) -> str:
    """Return which of both groups a gap harms; nobody where that is not known."""
    if effect:
        higher = HARMED[effect].get(row.metric, 0)
    else:
        higher = 0
    if not higher or not (row.value - row.reference_value):  # also where one of them is NaN
        return ""
    if (row.value - row.reference_value) * higher > 0:
        return row.group
    return row.reference


def _weight(row: Disparity) -> float:
    """Return the number that attributes of the same verdict are ordered by; NaN counts as 0."""
    if row.verdict != "fail":
        return 0.0
    gap = writing.nearest_to(0.0, row.difference) or row.difference.value
    people = abs(gap) * row.behind[1]
    if math.isnan(people):
        return 0.0
    return people


def _overall(report: Report, order: Sequence[AttributeVerdict]) -> str:
    """Return the verdict on everything, and whether rates differ; attributes in the order of their sentences.

    These are two questions: rates may be shown to differ where it is open whether by more than is allowed.
    """
    judged = [verdict for verdict in order if verdict in report.judged]
    kinds = {kind: [one for one in judged if one.verdict == kind] for kind in VERDICTS}
    by = {kind: _attributes(some, report) for kind, some in kinds.items()}
    limits = _limits(report)
    tested = report.config.rule != "point"
    shown = [(one, _verdicts_of_shown(one, report)) for one in judged if one.verdict != "fail" and tested]
    too_much = _attributes([one for one, kinds_of in shown if "undecided" in kinds_of], report)
    allowed = _attributes([one for one, kinds_of in shown if kinds_of == {"pass"}], report)
    if by["pass"]:
        passing = f" Passes: {by['pass']}."
    else:
        passing = ""
    if allowed:
        within = f" In {allowed} rates differ by more than chance, within what is allowed."
    else:
        within = ""
    if report.verdict == "fail":
        if tested:
            chance = "rates differ by more than chance, and "
        else:
            chance = ""
        text = f"Fails: in {by['fail']} {chance}the measured gap is larger than allowed ({limits})."
        if tested:
            text += _truly_larger(kinds["fail"], report)
        text += passing + (f" Not decided: {by['undecided']}." if by["undecided"] else "")
        if too_much:
            text += f" In {too_much}, too, rates differ by more than chance; whether by too much is open."
        text += within
    elif report.verdict == "pass":
        if tested:
            sure = ", for every value that fits the data"
        else:
            sure = ""
        text = f"Passes: in {by['pass']} no gap is larger than allowed{sure} ({limits})."
        if tested:
            text += within or " No difference is shown."
    else:
        rows = [row for verdict in judged for row in decisive(verdict, report)]
        n = sum(row.verdict == "undecided" for row in rows)
        still = f"{n:,} of {format_count(len(rows), 'comparison')} {'is' if n == 1 else 'are'} open"
        if not rows:
            text = "Not decided: there is nothing to compare."
        elif too_much:
            text = (
                f"Not decided: in {too_much} rates differ by more than chance; whether by more than is "
                f"allowed is open ({limits}); {still}.{passing}{within}"
            )
        else:
            none = "no gap larger than allowed is shown, and none is ruled out"
            if tested and not within:
                none = "no difference is shown, and a gap larger than allowed is not ruled out"
            text = f"Not decided: {none} ({limits}); {still}.{passing}{within}"
    if report.last:
        text = text.replace(":", f", {writing.place(report.last, '', report.config.sliced_by)}:", 1)
    return text + (" Chance was not looked at." if not tested else "")


def _verdicts_of_shown(verdict: AttributeVerdict, report: Report) -> set[Verdict]:
    """Return the verdicts on the comparisons of an attribute whose rates are shown to differ."""
    rows = decisive(verdict, report)
    return {row.verdict for row in rows if differs(row, report.config.confidence) == "shown"}


def _truly_larger(failing: Sequence[AttributeVerdict], report: Report) -> str:
    """Return of which attributes it is shown that the true gap is larger than allowed, too."""
    sure = [one for one in failing if any(beyond(row) == "shown" for row in decisive(one, report))]
    still = [one for one in failing if one not in sure]
    if not sure or not still:
        return f" That the true gap is, too, is {'shown' if sure else 'open'}."
    shown, others = (_attributes(some, report) for some in (sure, still))
    return f" That the true gap is, too, is shown in {shown} and open in {others}."


def _attributes(verdicts: Sequence[AttributeVerdict], report: Report) -> str:
    """Return the attributes of some verdicts, each once, and in which of its audits if it has several.

    They are joined as "race, sex and age"; the last ones are counted where there are many.
    """
    names = []
    for attribute, some in group_by(verdicts, lambda one: one.attribute).items():
        n = sum(one.attribute == attribute for one in report.judged)
        audits = f" ({len(some)} of {n} audits)"
        if n == 1:
            audits = ""
        elif len(some) == n:
            audits = f" ({'both' if n == 2 else f'all {n}'} audits)"
        elif len(some) == 1:
            apart = len({one.decision for one in report.judged}) > 1 or not some[0].model
            if apart:
                decision = some[0].decision
            else:
                decision = ""
            audits = f" ({writing.place(some[0].model, decision, report.config.sliced_by)})"
        names.append(attribute + audits)
    if len(names) > MOST_NAMES:
        names[MOST_NAMES - 1 :] = [f"{len(names) - MOST_NAMES + 1} more"]
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _limits(report: Report) -> str:
    """Return which ratios are allowed: "allowed: 0.8 to 1.25 times, false positive rate 0.9 to 1.11"."""
    config = report.config
    if config.preset == "eeoc":
        return "allowed: four fifths of the highest rate"
    deciding = [row for row in report.disparities if row.metric in report.deciding]
    taus = {row.metric: row.tau for row in deciding if row.tau != config.tau}
    more = "".join(f", {RATES[name].label} {allowed(tau)}" for name, tau in taus.items())
    return f"allowed: {allowed(config.tau)} times the reference's rate{more}"


def open_attribute(verdict: AttributeVerdict, report: Report) -> OpenAttribute | None:
    """Return the undecided groups and rates of an attribute; None where all is decided."""
    sizes = {row.group: row for row in of_attribute(verdict, report)[1]}
    minor = minor_groups(sizes.values())
    groups = []
    apart = {}
    for group, rows in group_by(decisive(verdict, report), lambda row: row.group).items():
        still = [row for row in rows if row.verdict == "undecided"]
        if still:
            needed = [_own_rows(row, sizes) for row in still]
            least = min((n for n in needed if not math.isnan(n)), default=math.nan)
            if any(map(math.isnan, needed)):
                most = math.nan
            else:
                most = max(needed)
            names = tuple(row.metric for row in still)
            groups.append(OpenGroup(group, sizes[group].rows, names, len(rows), least, most))
            apart[group] = sum(differs(row, report.config.confidence) == "shown" for row in still)
    if not groups:
        return None
    groups.sort(key=lambda one: (one.group in minor, -len(one.metrics) / one.compared, one.rows))
    major = [one for one in groups if one.group not in minor]
    parts = [_open_words(one, apart[one.group], first=one is major[0]) for one in major[:MOST_GROUPS]]
    if len(major) > MOST_GROUPS:
        parts.append(f"{len(major) - MOST_GROUPS:,} more groups")
    if few := [one.group for one in groups if one.group in minor]:
        parts.append(_counted_minor(few, report))
    text = f"{verdict.attribute}{in_brackets(verdict, report)}: {'; '.join(parts)}."
    return OpenAttribute(*verdict.place, tuple(groups), text)


def _own_rows(row: Disparity, sizes: dict[str, GroupRow]) -> float:
    """Return about how many rows of the group itself would decide a comparison, rounded up; or NaN."""
    mine = sizes[row.group].rows
    whole = row.reference not in sizes  # everybody else
    if whole:
        both = sum(one.rows for one in sizes.values())
    else:
        both = mine + sizes[row.reference].rows
    if both:
        needed = row.rows_needed * mine / both
    else:
        needed = math.nan
    if needed <= MOST_ROWS:
        return writing.about(needed)
    return math.nan


def _open_words(one: OpenGroup, apart: int, *, first: bool) -> str:
    """Return a group that is open: "Asian on 5 of 5 rates (31 rows; about 220 to 1,600 would decide)".

    On how many of these its rates are shown to be `apart` is said: what is open there is the limit alone.
    """
    if first:
        rates = " rates"
    else:
        rates = ""
    if len(one.metrics) == one.compared == 1:
        on = ""
    elif one.compared == 1 or len(one.metrics) > 1:
        on = f" on {len(one.metrics)} of {one.compared}{rates}"
    else:
        on = f" on {RATES[one.metrics[0]].label}"
    if apart:
        on += ", differing beyond chance" + (f" on {apart}" if apart < len(one.metrics) else "")
    needed = writing.rows_words(one.least_needed, one.most_needed)
    if needed:
        needed = f"; {needed}" + (" would decide" if first else "")
    else:
        needed = ""
    if one.rows == 1:
        rows = " row"
    else:
        rows = " rows"
    return f"{writing.named(one.group)}{on} ({writing.thousands(one.rows)}{rows}{needed})"
