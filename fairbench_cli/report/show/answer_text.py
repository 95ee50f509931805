"""What a run found, in words: a headline, a statement per data set and attribute, and every setting.

Every number is one of `answer.py`'s: points and per cent to one decimal, ratios to two. Every word about a
difference is its kind (`change_kinds.py`). Where there are many
settings, statements count them and name exceptions.
"""

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_count, join_names
from fairbench_cli.document.model import Answer, Document, Section, Statement, TableCell, TextTable, table_of
from fairbench_cli.experiment.plan import RunPlan, bias_in_words, named_sources
from fairbench_cli.measures.rates import EVENTS
from fairbench_cli.report.ledger.answer import (
    NOT_RUN,
    Estimate,
    Outcome,
    RunAnswer,
    RunSetting,
    TechniqueFinding,
    answer_of,
    how_often,
    settings_with,
)
from fairbench_cli.report.ledger.cell_labels import NO_BIAS, read_display_names
from fairbench_cli.report.ledger.change_kinds import Kind
from fairbench_cli.report.ledger.columns import FindingColumn
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show import answer_worlds
from fairbench_cli.report.show.metric_wording import MOST_NAMES, MetricWording, signed, wording_of

MOST_WORDS = 30  # of the headline
FEW = 4  # blocks of settings that are spoken of one by one
# of an answer on a console
MOST_LINES = 20
WIDTH = 80
MOST_HEADS = 12  # of a table
NARROWED = ("best", "front", "several")


def answer_document(run: RunResults, *, brief: bool = False) -> Document:
    """Return the document with the answer to a run, in words.

    Parameters
    ----------
    brief : bool
        For a console: the answer alone, in at most `MOST_LINES` lines of `WIDTH` characters.
    """
    answer = answer_of(run)
    wording = wording_of(answer.metric)
    headline = Statement(headline_of(answer, wording))
    limits = limits_of(answer, run.plan)
    if not brief:
        said = tuple(map(Statement, statements_of(answer, wording)))
        sections = tuple(_section(settings, answer, wording) for settings in answer.blocks)
        return Document(run.plan.config.name, Answer(headline, said), (), sections, limits)
    limits = (f"{_rows_and_beta(run.plan, brief=True)} {_chance(run.plan)}",)
    room = MOST_LINES - 3 - _lines([headline.text, *limits])  # two blank ones, and where the files are
    for texts in _shorter_and_shorter(answer, wording):
        if _lines(texts) <= room:
            break
    return Document("", Answer(headline, tuple(map(Statement, texts))), notes=limits)


def _shorter_and_shorter(answer: RunAnswer, wording: MetricWording) -> Iterator[list[str]]:
    """Yield the statements in less and less detail; then fewer of them, and how many more there are."""
    for detail in (2, 1, 0, -1):
        texts = statements_of(answer, wording, detail)
        yield texts
    for n in range(1, len(texts)):
        yield [*texts[:-n], f"And {n} more: see answer.md and the page."]


def _lines(texts: Iterable[str]) -> int:
    """Return how many lines some paragraphs take, with "β = 1" on a line as a console has it."""
    kept = (text.replace("β = ", "β\u00a0=\u00a0").replace(" %", "\u00a0%") for text in texts)
    return sum(len(textwrap.wrap(text, WIDTH, break_on_hyphens=False)) for text in kept)


# The whole run ---------------------------------------------------------------------------------------------


def headline_of(answer: RunAnswer, wording: MetricWording) -> str:
    """Return the answer to a run in one or two sentences of at most `MOST_WORDS` words."""
    if answer.labels == "recorded":
        counted = _counted(answer)
        return f"On recorded labels, not on true ones: {counted[0].lower()}{counted[1:]}"
    if answer.has_worlds:
        *longer, shortest = answer_worlds.headline(answer)
        return next((text for text in longer if len(text.split()) <= MOST_WORDS), shortest)
    main = [_main(settings) for settings in answer.blocks]
    betas = len({one.beta for one in answer.settings}) > 1
    constant = _constants_of_all(answer)
    found = []
    if len(main) <= FEW and len({one.beta for one in main}) == 1:
        if betas:
            where = f"β = {main[0].beta:g}: "
        else:
            where = ""
        long, short = (f"{where}{_together(main, answer, given)}." for given in (wording, None))
        if _ALL_CONSTANT in short:
            constant = ""
        found += [f"{long}{constant}", f"{short}{constant}", long, short]
    counted = _counted(answer)
    found += [f"{counted}{constant}", counted]
    return next((_begun(text) for text in found if len(text.split()) <= MOST_WORDS), counted)


def _begun(text: str) -> str:
    """Return a sentence with a capital letter, unless it begins with a name."""
    if text.startswith(_FIXED):
        return f"{text[0].upper()}{text[1:]}"
    return text


_FIXED = ("the ", "no ", "every ", "nothing ")


def _together(main: Sequence[RunSetting], answer: RunAnswer, wording: MetricWording | None) -> str:
    """Return some settings in a clause, those with the same outcome together; numbers need the wording.

    "massaging narrows the gap on adult, reweighing on dutch; on compas none is shown to"
    """
    narrower: list[str] = []
    last = ""
    for one in (each for each in main if each.outcome in NARROWED):
        on = f"on {_place(one, answer, _from_to(one, wording) if wording else '')}"
        best = one.outcome == "best"
        if best:
            who = one.leading[0]
        else:
            who = f"{sum(each.is_better for each in one.findings)} techniques"
        if narrower:
            does = ""
        elif best:
            does = " narrows the gap"
        else:
            does = " narrow the gap"
        narrower.append(on if best and who == last else f"{who}{does} {on}")
        last = who
    clauses = []
    if narrower:
        clauses.append(", ".join(narrower))
    others = (one for one in main if one.outcome not in NARROWED)
    for what, same in group_by(others, _what_else).items():
        where = ", ".join(f"on {_place(one, answer)}" for one in same)
        short = narrower and what == _WITHOUT["nothing shown"]
        clauses.append(f"{where} none is shown to" if short else f"{what} {where}")
    return "; ".join(clauses)


def _from_to(setting: RunSetting, wording: MetricWording) -> str:
    """Return the gap of the plain model and that of the first of the best: "15.8 to 3.4 points"."""
    best = setting.finding(setting.leading[0])
    plain = setting.baseline_of(best)
    if plain:
        return f"{wording.format(plain.value.mean)} to {_left(best, plain, wording)}"
    return ""


def _what_else(setting: RunSetting) -> str:
    """Return the clause on a setting in which no technique is better."""
    if setting.outcome == "overshoots":
        verb = "overshoot"
        if len(setting.leading) == 1:
            verb = "overshoots"
        return f"{join_names(setting.leading, MOST_NAMES)} {verb}"
    tried = [one for one in setting.findings if one.n and not one.is_baseline]
    if tried and all(one.is_constant for one in tried):
        return f"{_ALL_CONSTANT}{_in_some(tried)}"
    if not tried and setting.baseline is not None and setting.baseline.n:
        others = [one for one in setting.findings if not one.is_baseline]
        if others:
            return "no technique gave a value"
        return "the plain model alone was run"
    return _WITHOUT[setting.outcome]


def _in_some(constant: Iterable[TechniqueFinding]) -> str:
    """Return that techniques decide the same for everybody in some repeats alone, where one of them does."""
    if any(one.accepts_nobody + one.accepts_everybody < one.n for one in constant):
        return " in some repeat"
    return ""


_ALL_CONSTANT = "every technique decides the same for everybody"
_WITHOUT: dict[Outcome, str] = {
    "nothing shown": "no technique is shown to narrow the gap",
    "no gap shown": "no gap of the plain model is shown",
    "untested": "nothing can be tested",
    "no baseline": "no model without a technique to compare with",
    "no value": "the plain model gave no value",
}


def _counted(answer: RunAnswer) -> str:
    """Return in how many settings a technique is better, and which most often."""
    tried = [one for one in answer.settings if one.has_baseline_value]
    if not tried:
        return "No setting has a plain model with a value, so nothing can be said of techniques."
    narrowed = [one for one in tried if one.outcome in NARROWED]
    if not narrowed:
        return f"No technique is shown to narrow the gap, in any of {len(tried)} settings."
    name, n = how_often(narrowed, lambda one: one.is_better)[0]
    return (
        f"In {len(narrowed)} of {len(tried)} settings a technique narrows the gap beyond chance, most often "
        f"{name} ({n})."
    )


def _constants_of_all(answer: RunAnswer) -> str:
    """Return a sentence on techniques that decide the same for everybody, after a space; maybe nothing."""
    some = [(setting, one) for setting in answer.settings for one in setting.findings if one.is_constant]
    if not some:
        return ""
    if len(some) == 1:
        setting, one = some[0]
        betas = len({each.beta for each in answer.settings}) > 1
        if betas:
            at = f"At β = {setting.beta:g} "
        else:
            at = ""
        return f" {at}{one.technique} {_does_to_all(one, brief=True)} on {setting.dataset_label}."
    n = len({id(setting) for setting, _ in some})
    same = f"a technique decides the same for everybody{_in_some(one for _, one in some)}"
    noun = "setting"
    if n > 1:
        noun = "settings"
    return f" In {n} {noun} {same}."


def statements_of(answer: RunAnswer, wording: MetricWording, detail: int = 3) -> list[str]:
    """Return a statement per world or, without worlds, per block of settings; of more than `FEW`, counts.

    Parameters
    ----------
    detail : {-1, 0, 1, 2, 3}
        How much is said of a block: 3 is everything of one β and exceptions of the others, 2 and 1 less of
        these. 0 counts the settings of the same groups compared, -1 those of a data set.
    """
    if answer.has_worlds:
        return answer_worlds.statements(answer, detail)
    blocks = answer.blocks
    if detail > 0 and len(blocks) <= FEW:
        return [_of_block(settings, answer, wording, detail) for settings in blocks]
    if detail < 0:
        width = 1
    else:
        width = 3
    together = groupby(answer.settings, lambda one: (one.dataset, one.attribute, one.compared)[:width])
    groups = [list(group) for _, group in together]
    found = [
        _of_many(own, answer, wording, detail) for own in groups if any(one.has_baseline_value for one in own)
    ]
    without = group_by((own for own in groups if not any(one.has_baseline_value for one in own)), _untried)
    for what, silent in without.items():
        names = dict.fromkeys(own[0].dataset_label for own in silent)
        found.append(f"{join_names([*names], 99)}: {what}.")
    return found


def _untried(settings: Iterable[RunSetting]) -> str:
    """Return why nothing can be said of settings without a plain model that has a value."""
    missing = {one.baseline.no_value_reason for one in settings if one.baseline is not None}
    if missing == {NOT_RUN}:
        return NOT_RUN
    return _WITHOUT["no value" if missing else "no baseline"]


def _of_block(settings: Sequence[RunSetting], answer: RunAnswer, wording: MetricWording, detail: int) -> str:
    """Return the statement on the settings of a block, which differ in β alone."""
    main = _main(settings)
    others = [one for one in settings if one is not main]
    if others:
        at = f", β = {main.beta:g}"
    else:
        at = ""
    text = f"{_place(main, answer)}{at}: {said(main, wording, detail)}"
    exceptions = ((one.beta, _exceptions(one, wording, brief=detail < 2)) for one in others)
    return " ".join([text, *(f"At β = {beta:g}: {said}" for beta, said in exceptions if said)])


def _exceptions(setting: RunSetting, wording: MetricWording, *, brief: bool) -> str:
    """Return the exceptions of a setting: who decides the same for all, overshoots, cannot run."""
    over = _overshoots(setting, None if brief else wording)
    plain = [setting.baseline] if setting.baseline is not None and not setting.baseline.n else []
    failed = [f"the plain model gave no value ({_why(one, brief=brief)})" for one in plain]
    parts = [*failed, *_constants(setting), *over, *_without_value(setting, brief=brief)]
    if parts:
        return f"{'; '.join(parts)}."
    return ""


def _of_many(settings: Sequence[RunSetting], answer: RunAnswer, wording: MetricWording, detail: int) -> str:
    """Return counts of the settings of the same groups compared, or of a data set."""
    first = settings[0]
    if detail > 2:
        most = 99
    else:
        most = 1
    pairs = len({(one.attribute, one.compared) for one in settings})
    if pairs > 1:
        head = f"{first.dataset_label}, {pairs} pairs of groups"
    else:
        several = len({one.attribute for one in answer.settings if one.dataset == first.dataset}) > 1
        head = first.dataset_label
        if several:
            head += f" ({first.attribute})"
        head += f", {first.deprived} against {first.favoured}"
    tried = [one for one in settings if one.has_baseline_value]
    if pairs > 1:
        parts = [f"{head}, {format_count(len(tried), 'setting')}"]
    else:
        plain = sorted((one.baseline.value.mean for one in tried if one.baseline), key=wording.told_number)
        side = {wording.side(value) for value in (plain[0], plain[-1])}
        labels = _labels(first.label_gap, side.pop() if len(side) == 1 else None, wording)
        gaps = _range(plain[0], plain[-1], wording)
        parts = [f"{head}: {gaps} in {format_count(len(tried), 'setting')}{labels}"]
    for what, chosen in _COUNTED.items():
        names = [f"{name} ({times})" for name, times in how_often(tried, chosen)]
        if names:
            parts.append(f"{what} in {len(settings_with(tried, chosen))}: {join_names(names, most)}")
        elif what == _NARROWER:
            parts.append("No technique is shown to narrow it")
    return f"{'. '.join(parts)}."


def _range(low: float, high: float, wording: MetricWording) -> str:
    """Return two gaps in a few words: "12.5 to 16.7 points less often"."""
    ends = [_signed_gap(value, wording) for value in (low, high)]
    if ends[0] == ends[1]:
        return ends[0]
    if wording.side(low) == wording.side(high) and wording.side(low):
        least, most = sorted((low, high), key=lambda value: abs(wording.told_number(value)))
        return f"{wording.format(least)} to {_signed_gap(most, wording)}"
    return " to ".join(ends)


_NARROWER = "Narrowed"
_COUNTED: dict[str, Callable[[TechniqueFinding], bool]] = {
    "The same decision for everybody": lambda one: one.is_constant,
    _NARROWER: lambda one: one.is_better,
    "Overshot": lambda one: one.kind == "overshoots",
    "Widened": lambda one: one.kind == "worse",
    "No value": lambda one: not one.n,
}


def _signed_gap(value: float, wording: MetricWording) -> str:
    """Return a gap in a few words: "15.8 points less often", "0.62 times as often"."""
    if wording.form == "times" and wording.is_signed:
        return f"{wording.format(value)} times as often"
    if wording.form != "points" or not wording.is_signed:
        return wording.format_with_unit(value)
    event = EVENTS.get(wording.rate, ("", ""))[0]
    if event:
        ways = ("less often", "as often", "more often")
    else:
        ways = ("lower", "the same", "higher")
    side = wording.side(value)
    if side:
        return f"{wording.format_with_unit(value)} {ways[side + 1]}"
    return ways[1]


# A setting -------------------------------------------------------------------------------------------------


def said(setting: RunSetting, wording: MetricWording, detail: int = 3) -> str:
    """Return the sentences on a setting: gap, who decides the same for all, the best, its world, others."""
    parts = [gap_of(setting, wording), *_constants(setting), *_best(setting, wording, detail)]
    parts += [*_overshoots(setting, wording, detail), *answer_worlds.said(setting)]
    if detail > 1:
        parts += _others(setting, wording, detail)
    parts += _without_value(setting, brief=detail < 2)
    parts += _below(setting, detail)
    return " ".join(f"{part}." for part in parts)


def _most(detail: int) -> int:
    """Return how many techniques a clause names."""
    return {1: MOST_NAMES - 1, 2: MOST_NAMES}.get(detail, 99)


def gap_of(setting: RunSetting, wording: MetricWording) -> str:
    """Return the gap of the plain model and that of the labels."""
    plain = setting.baseline
    if plain is not None and plain.n:
        side = wording.side(plain.value.mean)
    else:
        side = None
    text = _labels(setting.label_gap, side, wording)
    if plain is None:
        return f"no plain model to compare with{text}"
    if not plain.n:
        return f"the plain model gave no value ({_why(plain)}){text}"
    gap = f"{wording.describe_gap(plain.value.mean, setting.deprived, setting.favoured)}{text}"
    if plain.is_significant:
        return gap
    return f"{_nothing(plain, wording)}: {gap}"


def _labels(labels: float, side: int | None, wording: MetricWording) -> str:
    """Return the gap of the labels in brackets: the number alone where the model's is on the same side."""
    if math.isnan(labels):
        return ""
    if side == wording.side(labels):
        said = wording.format(labels)
    else:
        said = _signed_gap(labels, wording)
    return f" (labels: {said})"


def _nothing(plain: TechniqueFinding, wording: MetricWording) -> str:
    """Return that the plain model has no gap that is shown, that it is shown to have none, or no test."""
    if plain.kind == "untested":
        return "not tested"
    if plain.is_near_ideal:
        return f"no gap, shown to be less than {_margin(wording)}"
    return "no gap is shown"


def _margin(wording: MetricWording) -> str:
    if wording.form == "points":
        return "1 point"
    return "0.01"


def _best(setting: RunSetting, wording: MetricWording, detail: int) -> list[str]:
    """Return the sentences on those that are better, or that none is; on values where nothing is compared."""
    plain = setting.baseline
    most = _most(detail)
    if plain is None or not plain.n:
        texts = [_value(one, wording) for one in setting.findings if one.n and not one.is_constant]
        if texts:
            return [join_names(texts, most)]
        return []
    better = [one for one in setting.findings if one.is_better]
    if not better:
        tested = [
            one for one in setting.findings if one.n and not one.is_baseline and one.kind not in _UNTESTED
        ]
        shown = plain.is_significant or any(one.kind == "worse" for one in setting.findings)
        nothing = f"No technique is shown to {'narrow' if shown else 'change'} it"
        if tested and setting.outcome != "overshoots":
            return [nothing]
        return []
    first = [_with_numbers(setting.finding(name), setting, wording) for name in setting.leading]
    others = [_with_numbers(one, setting, wording) for one in better if one.technique not in setting.leading]
    if setting.outcome == "best":
        best = setting.finding(setting.leading[0])
        found = f"Best: {best.technique}, {_numbers(best, setting, wording)}"
    elif setting.outcome == "front":
        if detail > 1:
            worth = "; which one is a matter of what accuracy is worth"
        else:
            worth = ""
        found = f"On the front: {join_names(first, most)}{worth}"
    else:
        found = (
            f"{join_names(first, most)} narrow it; none of them is shown to be ahead of the others on both"
        )
    return [found, *([f"Also narrower: {join_names(others, most)}"] if others else [])]


_UNTESTED = ("constant", "untested")


def _value(one: TechniqueFinding, wording: MetricWording) -> str:
    if not math.isnan(one.accuracy.mean):
        accuracy = f", accuracy {100 * one.accuracy.mean:.1f} %"
    else:
        accuracy = ""
    return f"{one.technique} {_signed_gap(one.value.mean, wording)}{accuracy}"


def _left(one: TechniqueFinding, plain: TechniqueFinding | None, wording: MetricWording) -> str:
    """Return a technique's gap: "3.4 points", "1.1 points the other way"."""
    size = wording.format_with_unit(one.value.mean)
    if plain is None or wording.form != "points":  # other numbers say which way they are
        return size
    turned = wording.side(one.value.mean) * wording.side(plain.value.mean) < 0
    return size + (" the other way" if turned else "")


def _numbers(one: TechniqueFinding, setting: RunSetting, wording: MetricWording) -> str:
    """Return the gap and the cost of a technique: "3.4 points left, accuracy −0.7, 4 of 5 repeats"."""
    left = _left(one, setting.baseline_of(one), wording)
    if not one.is_significant and one.kind != "untested":
        left = f"no gap shown: {left}"
    elif one.is_better and wording.form == "points" and not left.endswith("way"):
        left = f"{left} left"
    if one.n == one.n_repeats:
        some = ""
    else:
        some = f", {one.n} of {one.n_repeats} repeats"
    return f"{left}{_cost(one)}{some}"


def _with_numbers(one: TechniqueFinding, setting: RunSetting, wording: MetricWording) -> str:
    return f"{one.technique} ({_numbers(one, setting, wording)})"


def _cost(one: TechniqueFinding) -> str:
    """Return the change of accuracy: ", accuracy −0.7", ", accuracy +0.1, no change"; nothing without one."""
    if math.isnan(one.cost.mean):
        return ""
    words: dict[str, str] = {"not shown": ", not shown", "same": ", no change", "untested": ", not tested"}
    return f", accuracy {signed(100 * one.cost.mean)}{words.get(one.cost.kind, '')}"


def _constants(setting: RunSetting) -> list[str]:
    """Return who decides the same for everybody."""
    found = [f"{one.technique} {_does_to_all(one)}" for one in setting.findings if one.is_constant]
    plain = setting.baseline
    if plain is not None and plain.is_constant:
        found.insert(0, f"The plain model itself {_does_to_all(plain)}")
    return found


def _does_to_all(one: TechniqueFinding, *, brief: bool = False) -> str:
    """Return "refuses everybody (5 of 5 repeats)"; in brief how often only where it is not always."""
    done = {"refuses": one.accepts_nobody, "accepts": one.accepts_everybody}
    return " and ".join(
        f"{verb} everybody" + (f" ({n} of {one.n_repeats} repeats)" if n < one.n or not brief else "")
        for verb, n in done.items()
        if n
    )


def _overshoots(setting: RunSetting, wording: MetricWording | None, detail: int = 1) -> list[str]:
    """Return who turns the gap round, beyond chance; numbers need the wording."""
    found = [one for one in setting.findings if one.kind == "overshoots"]
    if not found:
        return []
    texts = [one.technique for one in found]
    if wording is not None:
        texts = [_with_numbers(one, setting, wording) for one in found]
    verb = "overshoot"
    if len(found) == 1:
        verb = "overshoots"
    return [f"{join_names(texts, max(MOST_NAMES, _most(detail)))} {verb}"]


_OTHERS: dict[Kind, str] = {
    "worse": "Widened by",
    "same": "Shown to change less than ",
    "not shown": "No change shown",
    "untested": "Not tested",
}


def _others(setting: RunSetting, wording: MetricWording, detail: int) -> list[str]:
    """Return the techniques that are worse, shown to be the same, or not shown to differ.

    The last are not named in less detail where no technique is better: that says it of all.
    """
    if not setting.has_baseline_value:
        return []
    parts = []
    for kind, what in _OTHERS.items():
        found = [one for one in setting.findings if one.kind == kind]
        if found and (kind != "not shown" or detail > 2 or setting.leading):
            numbers = kind in ("worse", "untested")
            texts = [_with_numbers(one, setting, wording) if numbers else one.technique for one in found]
            if kind == "same":
                limit = _margin(wording)
            else:
                limit = ""
            parts.append(f"{what}{limit}: {join_names(texts, _most(detail))}")
    plains = [
        f"{one.technique} {_signed_gap(one.value.mean, wording)}"
        for one in setting.findings
        if one.is_baseline
    ]
    with_it = "; techniques that see as much are compared with it"
    return parts + ([f"The other plain model: {join_names(plains, MOST_NAMES)}{with_it}"] if plains else [])


def _without_value(setting: RunSetting, *, brief: bool = False) -> list[str]:
    """Return who gave no value and, unless in brief, why; those for the same reason together."""
    without = group_by((one for one in setting.findings if not one.n), lambda one: _why(one, brief=brief))
    return [f"{join_names([one.technique for one in own], 99)}: {why}" for why, own in without.items()]


def _why(one: TechniqueFinding, *, brief: bool = False) -> str:
    """Return why no repeat gave a value: "not possible in 5 of 5 repeats, empty cell ..."."""
    words = {"infeasible": "not possible", "undefined (0/0)": "undefined (0/0)"}
    text = words.get(one.no_value_reason, one.no_value_reason)
    if brief or not one.failures:
        return text
    status, reason, n = one.failures[0]
    more = len(one.failures) - 1
    others = ""
    if more == 1:
        others = " (and 1 more reason)"
    elif more:
        others = f" (and {more} more reasons)"
    if status != one.no_value_reason:
        text = words.get(status, status)
    return f"{text} in {n} of {one.n_repeats} repeats, {reason}{others}"


def _below(setting: RunSetting, detail: int) -> list[str]:
    """Return the sentences on techniques that narrow the gap and are beaten without a technique.

    In less detail on the best one alone.
    """
    some = [one for one in setting.findings if one.beaten_by and one.is_better]
    if detail < 3:
        some = [one for one in some if one.technique in setting.leading[:1]]
    return [f"But next to {one.technique} {one.beaten_by[0]}" for one in some]


# All settings ----------------------------------------------------------------------------------------------


def _section(settings: Sequence[RunSetting], answer: RunAnswer, wording: MetricWording) -> Section:
    """Return the sentences and the table of a block."""
    several = len(settings) > 1
    texts = [(one.beta, said(one, wording)) for one in settings]
    sentences = tuple(f"β = {beta:g}: {t}" if several else f"{t[0].upper()}{t[1:]}" for beta, t in texts)
    first = settings[0]
    title = f"{_place(first, answer)}: {first.deprived} against {first.favoured}"
    return Section(title, sentences, (_table(settings, answer, wording),))


def _table(settings: Sequence[RunSetting], answer: RunAnswer, wording: MetricWording) -> TextTable:
    """Return the numbers behind the sentences of a block, a row per β and technique.

    Of the metrics that the config names beside those of `COLUMNS`, as many as there is room for.
    """
    columns = shown_columns(answer, in_worlds=bool(settings[0].world))
    rows = [(setting, finding) for setting in settings for finding in setting.all_findings]
    heads: dict[str, Callable[[tuple[RunSetting, TechniqueFinding]], TableCell]] = {
        "β": lambda row: TableCell(f"{row[0].beta:g}", value=row[0].beta),
        "technique": lambda row: TableCell(row[1].technique),
    }
    for column in columns[: MOST_HEADS - 3]:
        heads[head_of(column, wording)] = partial(_cell_of_row, column, wording)
    heads["what"] = lambda row: TableCell(outcome_of(row[1]))
    return table_of("", heads, rows)


def shown_columns(answer: RunAnswer, *, in_worlds: bool) -> list[FindingColumn]:
    """Return the columns of a table: in a world the change of accuracy on the other labels is one of them.

    Of metrics that are told because the config names them, tables have the values and not the changes.
    """
    columns = []
    for column in answer.columns:
        is_change_of_named = column.is_named and column.quantity == "change"
        has_labels = not column.labels or (in_worlds and column.labels != answer.labels)
        if has_labels and not is_change_of_named:
            columns.append(column)
    return columns


def _cell_of_row(
    column: FindingColumn, wording: MetricWording, row: tuple[RunSetting, TechniqueFinding]
) -> TableCell:
    _, finding = row
    return column_cell(column, finding.numbers[column.key], wording)


def head_of(column: FindingColumn, wording: MetricWording) -> str:
    """Return the head of a column; that of the metric of fairness is as its wording has it."""
    if column.unit != "gap" or column.quantity == "change":
        return column.head
    if wording.shift:
        gap = column.head
    else:
        gap = wording.name
    return {"points": f"{gap}, points", "times": "ratio", "number": wording.name}[wording.form]


def column_cell(
    column: FindingColumn, estimate: Estimate, wording: MetricWording, *, intervals: bool = False
) -> TableCell:
    """Return the cell of a column. Differences have the sign of the metric, as in every other table and file.

    Parameters
    ----------
    intervals : bool
        Whether own values of all columns have their intervals, not that of fairness alone.
    """
    plus = "+" if column.quantity == "change" else ""
    if column.unit == "gap":
        return _estimate(estimate, _sign_of_metric(column, wording), wording.digits, plus)
    if column.quantity == "value" and not intervals:
        estimate = Estimate(estimate.mean)
    return _estimate(estimate, lambda value: column.scale * value, 1 if column.unit else 3, plus)


def _sign_of_metric(column: FindingColumn, wording: MetricWording) -> Callable[[float], float]:
    """Return how a number of the metric of fairness is told, with the sign that the metric has in files."""
    if column.quantity == "change":
        # A ratio that is told turned round has no difference that is told.
        if wording.is_reversed and wording.form == "times":
            return lambda _: math.nan
        return wording.told_change
    if wording.is_reversed and wording.form == "points":
        return lambda value: -wording.told_number(value)
    return wording.told_number


def _estimate(one: Estimate, said: Callable[[float], float], digits: int = 1, plus: str = "") -> TableCell:
    mean, *ends = (said(value) for value in (one.mean, one.low, one.high))
    if math.isnan(mean):
        return TableCell("–")
    if math.isnan(ends[0]):
        fine = ""
    else:
        fine = f"[{', '.join(signed(end, digits, '') for end in sorted(ends))}]"
    return TableCell(signed(mean, digits, plus), fine, mean)


def outcome_of(one: TechniqueFinding) -> str:
    """Return the result of a technique, in a word or two."""
    if not one.n:
        return _why(one)
    if one.is_constant:
        return _does_to_all(one)
    if one.is_baseline:
        return one.kind or ("" if one.is_significant else "no gap shown")
    if one.n == one.n_repeats:
        some = ""
    else:
        some = f" ({one.n} of {one.n_repeats} repeats)"
    if one.is_on_front and one.is_better:
        front = ", on the front"
    else:
        front = ""
    return f"{one.kind}{front}{some}"


# Names and limits ------------------------------------------------------------------------------------------


def _main(settings: Sequence[RunSetting]) -> RunSetting:
    """Return the setting of a block that is spoken of first: of the middle β with a plain model."""
    able = [one for one in settings if one.has_baseline_value]
    ordered = sorted(able or settings, key=lambda one: one.beta)
    return ordered[len(ordered) // 2]


def _place(setting: RunSetting, answer: RunAnswer, more: str = "") -> str:
    """Name a setting by its data set and what else its settings differ in: "german (sex, c45: more)"."""
    mine = [one for one in answer.settings if one.dataset == setting.dataset]
    world = ""
    if answer.has_worlds:
        world = setting.world or NO_BIAS
    parts = {
        "world": world,
        "attribute": setting.attribute,
        "compared": setting.compared if setting.compared != setting.attribute else "",
        "representation": setting.representation,
        "classifier_label": setting.classifier_label,
    }
    varied = [text for key, text in parts.items() if text and len({getattr(one, key) for one in mine}) > 1]
    inside = ": ".join(filter(None, [", ".join(varied), more]))
    if inside:
        return f"{setting.dataset_label} ({inside})"
    return setting.dataset_label


def limits_of(answer: RunAnswer, plan: RunPlan) -> tuple[str, ...]:
    """Return the paragraphs on the groups, on β and the test rows, and on how far the words go."""
    return (_groups(answer, plan), _rows_and_beta(plan), _chance(plan, answer))


def _groups(answer: RunAnswer, plan: RunPlan) -> str:
    """Return the paragraph on the groups compared and the decision, by data set."""
    parts = []
    for setting in {(one.dataset, one.attribute, one.compared): one for one in answer.settings}.values():
        protected = {one.name: one for one in plan.protected(setting.dataset, setting.attribute).attributes}
        text = f"{setting.dataset_label}: {setting.deprived} are deprived, {setting.favoured} favoured"
        if setting.compared in protected:
            own = protected[setting.compared]
            levels = f"{', '.join(own.deprived)} against {', '.join(own.favoured)}"
            text += f" ({setting.compared}: {levels})"
        source = plan.dataset(setting.dataset, setting.attribute)
        if "favourable" in source:
            text += f"; selected is who is predicted {source['label']} = {source['favourable']}"
        parts.append(text)
    return f"{'. '.join(parts)}. Labels: the same gap of the outcomes of the test rows themselves."


def _rows_and_beta(plan: RunPlan, *, brief: bool = False) -> str:
    """Return where test rows are from and what β does to training rows; in brief what it is called."""
    config = plan.config
    if config.sample.source == "data" and config.tested != "holdout":
        return f"Test rows: {plan.test_rows}."
    if config.sample.source == "data":
        return f"Test rows: those of {config.repeats} random splits that are not trained on."
    if config.test == "network":
        drawn = "drawn from the same network, without bias"
    else:
        drawn = plan.test_rows
    text = f"Test rows: {drawn}."
    if plan.has_worlds and brief:
        if config.test_labels == "true":
            gaps = ""
        else:
            gaps = ", gaps on recorded labels and groups"
        return f"Points of accuracy on true labels{gaps}; test rows {drawn}."
    if plan.has_worlds:
        what = {"true": "true labels", "recorded": "labels and groups as recorded, of the rows included"}
        return f"{text[:-1]}, {what[config.test_labels]}. β: the strength of a world's first mechanism."
    if any(config.sample.beta):
        shipped = config.sample.source == "shipped"
        kinds = bias_in_words(plan.datasets, read_display_names(config).dataset, brief=brief, shipped=shipped)
        share = "the share of its favourable outcomes that the deprived group loses in training"
        text += f" β: {kinds if brief and kinds else share}"
        both = _those(plan, lambda one: one.get("bias_direction") == "both")
        if both:
            text += f" (on {both} the favoured group of the other one)."
        else:
            text += "."
        if kinds and not brief:
            text += f" It is {kinds}."
        idle = _those(plan, lambda one: not one["arc_to_outcome"])
        if idle:
            text += f" It changes nothing on {idle}."
    return text


def _those(plan: RunPlan, chosen: Callable[[Mapping[str, Any]], bool]) -> str:
    """Name data sets, with the attribute where it is not so of all of theirs: "adult, compas (sex)"."""
    return join_names(
        named_sources(plan.datasets, chosen, read_display_names(plan.config).dataset), MOST_NAMES
    )


def _chance(plan: RunPlan, answer: RunAnswer | None = None) -> str:
    """Return the meaning of the words about chance; in brief without the answer."""
    n = plan.config.repeats
    if n < 2:
        return "One repeat: nothing can be said of chance, and no difference is shown."
    if answer is None:
        if plan.has_worlds:
            rows = ""
        else:
            rows = "training and test "
        return f"Shown: beyond chance, for other {rows}rows too (5 %, Holm; {n} repeats)."
    tables = len(answer.blocks)
    family = "data set, attribute and classifier"
    worlds = ""
    if answer.has_worlds:
        family = "data set, attribute, world and classifier"
        worlds = (
            " What a bias costs: the accuracy of the plain model less that of one trained without it; "
            "gained: that of a technique less that of the plain model of its world. Lost on recorded labels "
            "and gained on true ones: both are shown, of the same decisions; the recorded trade-off of such "
            "a technique is an artefact. Thresholds gain x of y points: y is what Bayes' rule of the record "
            "lacks to the best thresholds of the truth, all of which is known of the world without training."
        )
    if tables > FEW:
        many = f" Of {tables} of these one in twenty may show what is not there."
    else:
        many = ""
    less = _margin(wording_of(answer.metric))
    return (
        "Narrower, wider, best, overshoots, no change: shown beyond chance, for other training sets and "
        "other test rows too, at 5 % after Holm's adjustment over all techniques and β of a "
        f"{family}.{many} Intervals are 95 %, of one number by itself. No change: shown to be less than "
        f"{less}. On the front: none is nearer to no gap and more accurate, on average. What is not shown "
        f"may still be there.{worlds}"
    )


def each_setting(run: RunResults) -> Iterator[tuple[RunSetting, str, str]]:
    """Yield the settings of a run, each with a short sentence and everything that is said of it."""
    answer = answer_of(run)
    wording = wording_of(answer.metric)
    for one in answer.settings:
        yield one, f"{_begun(_short(one, wording))}.", said(one, wording)


def _short(setting: RunSetting, wording: MetricWording) -> str:
    """Return a setting in a few words: "massaging narrows the gap from 15.8 to 3.4 points, accuracy −0.7"."""
    if not setting.leading:
        return _what_else(setting)
    best = setting.finding(setting.leading[0])
    change = f"from {_from_to(setting, wording)}{_cost(best)}"
    if setting.outcome == "best":
        return f"{best.technique} narrows the gap {change}"
    if setting.outcome == "overshoots":
        return f"{best.technique} overshoots, {change}"
    n = sum(one.is_better for one in setting.findings)
    return f"{n} techniques narrow the gap; {best.technique} {change}"
