"""What a run found, in words: a headline, a small table with a line per technique, and every setting.

Every number is one of `answer.py`'s: points and per cent to one decimal, ratios to two; whole points in the
headline. Every word about a difference is its kind (`change_kinds.py`), and a gap that is
narrowed by next to nothing is "hardly" narrowed. Where there are many settings, the headline counts them.
"""

import math
import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_count, join_names
from fairbench_cli.document.model import Answer, Document, Section, Statement, TableCell, TextTable, table_of
from fairbench_cli.experiment.plan import RunPlan, bias_in_words, named_sources
from fairbench_cli.measures.power import round_up_count
from fairbench_cli.report.ledger.answer import (
    Outcome,
    RunAnswer,
    RunSetting,
    TechniqueFinding,
    answer_of,
    how_often,
    main_setting,
)
from fairbench_cli.report.ledger.baselines import Shortfall
from fairbench_cli.report.ledger.cell_labels import NO_BIAS, describe_failures, read_display_names
from fairbench_cli.report.ledger.columns import COLUMNS, FindingColumn
from fairbench_cli.report.ledger.data_set_ranks import ranked_groups
from fairbench_cli.report.ledger.paired_differences import LEVEL
from fairbench_cli.report.ledger.population_tests import FRESH, SPLITS
from fairbench_cli.report.ledger.results import Estimate, RunResults
from fairbench_cli.report.show import answer_worlds
from fairbench_cli.report.show.answer_worlds import NOT_BEATEN, describe_repeats, result_of
from fairbench_cli.report.show.controls_text import describe_controls
from fairbench_cli.report.show.metric_wording import MOST_NAMES, MetricWording, signed, wording_of
from fairbench_cli.report.show.scores_text import describe_scores
from fairbench_cli.report.show.shares_text import describe_shares, share_columns

MOST_WORDS = 32  # of the headline
FEW = 4  # blocks of settings that a headline speaks of one by one
# of an answer on a console
MOST_LINES = 34
WIDTH = 80
MOST_ROWS = 60  # of the small tables in a file
MOST_HEADS = 12  # of a full table
CHOICE = "Named: who is shown to narrow it and leaves the smallest gap; 95 % intervals allow for the choice"
POWER_SIZE = 0.02  # of the change of which it is said how often it would be shown

SummaryBlock = tuple[str, list[tuple[TableCell, ...]]]
"""A caption, and a row for each technique."""


def answer_document(run: RunResults, *, brief: bool = False) -> Document:
    """Return the document with the answer to a run, in words.

    Parameters
    ----------
    brief : bool
        For a console: headline and small table alone, in about `MOST_LINES` lines of `WIDTH` characters.
    """
    answer = answer_of(run)
    wording = wording_of(answer.metric, answer.margin)
    headline = Answer(headline_of(answer, wording))
    run_lines = describe_shares(list(_told_settings(answer)), partial(place_of, answer=answer), brief=brief)
    run_lines += describe_scores(run)
    run_lines += describe_controls(run, brief=True)
    if not brief:
        run_lines += describe_ranks(run)
    notes = notes_of(answer, run, run_lines, brief=brief)
    heads = summary_heads(answer)
    if brief:
        above = headline.headline.text, headline.headline.detail
        room = MOST_LINES - 6 - _count_lines([*above, *notes])  # heads, blank lines, files
        blocks = summary_blocks(answer, wording, room)
        rows = [(TableCell(caption), *row) for caption, block in blocks for row in block]
        table = TextTable("", ("", *heads), tuple(rows), led=True)
        omitted = _describe_more(answer, blocks, "answer.md and the page have all")
        return Document("", headline, (), (Section("", tables=(table,)),), (*omitted, *notes))
    blocks = summary_blocks(answer, wording, MOST_ROWS)
    tables = [TextTable(caption, heads, tuple(block)) for caption, block in blocks]
    omitted = _describe_more(answer, blocks, "they are below")
    sections = [Section("", (), tuple(tables), omitted)]
    for settings in answer.blocks:
        sections.append(_section(settings, answer, wording))
    sections += reasons_section(run)
    return Document(run.plan.config.name, headline, (), tuple(sections), notes)


def _describe_more(answer: RunAnswer, blocks: Sequence[SummaryBlock], where: str) -> tuple[str, ...]:
    """Return how many settings the small table leaves out, and where they are; empty if it has all."""
    n_more = len(answer.settings) - len(blocks)
    if not n_more:
        return ()
    return (f"And {format_count(n_more, 'more setting')}: {where}.",)


def _count_lines(texts: Iterable[str]) -> int:
    """Count the lines that paragraphs take, with "β = 1" on a line as a console has it."""
    unbroken = (text.replace("β = ", "β\u00a0=\u00a0").replace(" %", "\u00a0%") for text in texts)
    return sum(len(textwrap.wrap(text, WIDTH, break_on_hyphens=False)) for text in unbroken)


# The headline ----------------------------------------------------------------------------------------------


def headline_of(answer: RunAnswer, wording: MetricWording) -> Statement:
    """Return the answer to a run in a sentence of at most `MOST_WORDS` words, unless names are long.

    Where a cell lacks repeats, it says how many there are. What follows on it says by which rule techniques
    are named, with their intervals, and how large what is not shown would have had to be.
    """
    sentences = _counted(answer)
    technique_names: list[str] = []
    main_settings = [main_setting(settings) for settings in answer.blocks]
    if answer.labels == "recorded":
        start = "On recorded labels, not on true ones: "
        sentences = [f"{start}{text[:1].lower()}{text[1:]}" for text in sentences]
    elif answer.has_worlds:
        sentences = answer_worlds.headlines(answer)
    elif len(main_settings) <= FEW:
        technique_names = list(_named(main_settings, answer, wording))
    text = first_short([*technique_names, *sentences])
    detail = ""
    if text in technique_names:
        detail = _describe_choice(main_settings, answer, wording)
    if answer.repeats:
        text = f"{text[:-1]} ({answer.repeats})."
    return Statement(text, detail=detail)


def first_short(sentences: Sequence[str]) -> str:
    """Return the first sentence that is short enough, else the last one."""
    short = (text for text in sentences if len(text.replace("β = ", "β").split()) <= MOST_WORDS)
    return next(short, sentences[-1])


def capitalise(text: str) -> str:
    """Return a text that begins with a capital letter, or with a name as it is: "mine.py:Mine"."""
    if ":" in text.split(" ")[0][:-1]:
        return text
    return f"{text[:1].upper()}{text[1:]}"


def _named(settings: Sequence[RunSetting], answer: RunAnswer, wording: MetricWording) -> Iterator[str]:
    """Yield sentences that name who narrows the gap and where, the longest first.

    "At β = 0.5 massaging cuts the gap between women and men on adult from 16 to 3 points and costs 0.7 points
    of accuracy; on compas nothing is shown". Somebody's own techniques come first.
    """
    beginning = ""
    betas = {setting.beta for setting in settings}
    if answer.has_betas and len(betas) == 1:
        beginning = f"at β = {betas.pop():g} "
    people = ""
    groups = {(setting.deprived, setting.favoured) for setting in settings}
    if len(groups) == 1:
        people = " between {} and {}".format(*groups.pop())
    own_settings, usual_settings = _split_own(settings, answer)
    forms = ("clause", "number", "bare", "names")[len(settings) > 1 :]
    for form, with_people in product(forms, (people, "")):
        gap = f"the gap{with_people}"
        clauses = []
        if own_settings:
            clauses = _clauses(own_settings, answer, wording, form, gap)
            gap = "the gap"
        if usual_settings:
            is_first = not own_settings or any(one.outcome != "narrowed" for one in own_settings)
            usual_clauses = _clauses(usual_settings, answer, wording, form, gap, is_first=is_first)
            if own_settings:
                usual_clauses[0] = _of_usual(usual_clauses[0])
            clauses += usual_clauses
        yield _sentence([f"{beginning}{clauses[0]}", *clauses[1:]])


def _split_own(
    settings: Sequence[RunSetting], answer: RunAnswer
) -> tuple[list[RunSetting], list[RunSetting]]:
    """Return settings with somebody's own techniques alone, where there are some, and with the others."""
    own_settings = [setting.restrict(answer.metric, is_own=True) for setting in settings]
    own_settings = [setting for setting in own_settings if setting.techniques]
    usual_settings = [setting.restrict(answer.metric, is_own=False) for setting in settings]
    return own_settings, [setting for setting in usual_settings if setting.techniques or not own_settings]


def _of_usual(clause: str) -> str:
    """Return a clause behind one on somebody's own techniques; one on no technique is as it is."""
    if "without a technique" in clause:
        return clause
    return f"of the usual ones {clause}"


def _clauses(
    settings: Sequence[RunSetting],
    answer: RunAnswer,
    wording: MetricWording,
    form: str,
    gap: str,
    *,
    is_first: bool = True,
) -> list[str]:
    """Return the clauses on settings: who narrows the gap, which leaves the smallest, and where none does.

    Parameters
    ----------
    form : {"clause", "number", "bare", "names"}
        With the cost in accuracy as a clause, as a number or without it, or without any number.
    gap : str
        "the gap between women and men", which the first clause has.
    is_first : bool
        Whether no technique was said to narrow it before.
    """
    # 1. Who does, and at what cost.
    narrowed = [setting for setting in settings if setting.outcome == "narrowed"]
    clauses: list[str] = []
    for technique, led in group_by(narrowed, lambda setting: setting.leading[0]).items():
        subject = technique
        if is_first:
            subject += f" {'narrows' if form == 'names' else wording.verb} {gap}"
            is_first = False
        if form == "names":
            clauses.append(f"{subject} on {join_places(led, answer)}")
            continue
        for setting in led:
            best = setting.finding(technique)
            cost = {"clause": _cost(best), "number": _shown_cost(best)}.get(form, "")
            change = f"on {place_of(setting, answer)} {_from_to(setting, best, wording)}{cost}"
            clauses.append(f"{subject} {change}".lstrip())
            subject = ""
    clauses = list(filter(None, [", ".join(clauses)]))
    # 2. Where no technique does.
    unchanged = [setting for setting in settings if setting.outcome != "narrowed"]
    find_clause = partial(_clause_without, wording=wording, is_first=is_first)
    for clause, alike in group_by(unchanged, find_clause).items():
        clauses.append(f"on {join_places(alike, answer)} {clause}")
    if is_first:
        return [clause.replace("the gap", gap) for clause in clauses]
    return clauses


def _describe_limit(setting: RunSetting, wording: MetricWording) -> str:
    """Return the clause on what is too small: "a measured narrowing below 1.9 points could not be shown"."""
    noun = "narrowing"
    largest = {"points": 1.0}.get(wording.form, math.inf)
    if setting.outcome == "nothing shown" and setting.baseline is not None:
        largest = wording.distance(setting.baseline.value.mean)
        tested = [finding for finding in setting.techniques if finding.kind in ("not shown", "moved")]
        own_names = [finding.technique for finding in tested if finding.is_own]
        if own_names:
            noun += f" by {join_names(own_names, MOST_NAMES)}"
    elif setting.outcome == "no gap shown" and setting.baseline is not None:
        noun = "gap"
        tested = [setting.baseline]
    else:
        return ""
    scale = 10**wording.digits
    sizes = [min(one.sensitivity.least, largest) for one in tested if one.sensitivity.is_known]
    if not sizes or (wording.is_reversed and wording.form == "times"):
        return ""
    if min(sizes) == largest:
        return f"not even the largest possible {noun} could be shown"
    # Rounded down: nothing below it is shown.
    ends = [math.floor(scale * wording.told_change(size)) / scale for size in (min(sizes), max(sizes))]
    span = " to ".join(dict.fromkeys(f"{end:g}" for end in ends))
    return f"a measured {noun} below {span}{wording.unit.removesuffix(' times')} could not be shown"


def _describe_choice(settings: Sequence[RunSetting], answer: RunAnswer, wording: MetricWording) -> str:
    """Return how a headline chooses whom it names, the intervals, and what could not have been shown."""
    own_settings, usual_settings = _split_own(settings, answer)
    rule = "The change, with its 95 % interval"
    changes = []
    for setting in own_settings + usual_settings:
        if setting.outcome == "narrowed":
            best = setting.finding(setting.leading[0])
            n_choices = sum(finding.n > 0 for finding in setting.techniques)
            if n_choices > 1:
                rule = CHOICE
            cell = column_cell(SUMMARY_COLUMNS[1], _widen(best, n_choices), wording)
            changes.append(f"{place_of(setting, answer)} {cell.full_text}")
            if own_settings:
                changes[-1] = f"{best.technique} on {changes[-1]}"
    sentences = []
    if changes:
        sentences.append(f"{rule}: {', '.join(changes)}.")
    limits = group_by(own_settings + usual_settings, partial(_describe_limit, wording=wording))
    for limit, alike in limits.items():
        if limit:
            sentences.append(f"On {join_places(alike, answer)} {limit}.")
    if own_settings:
        sentences = [re.sub("narrowing (?!by )", "narrowing by the others ", text) for text in sentences]
    return " ".join(sentences)


def _widen(finding: TechniqueFinding, n_choices: int) -> Estimate:
    """Return a change whose interval holds whichever of several techniques is chosen."""
    change = finding.change
    factor = finding.sensitivity.widening(n_choices)
    low, high = (change.mean + factor * (end - change.mean) for end in (change.low, change.high))
    return replace(change, low=low, high=high)


def _sentence(clauses: Sequence[str]) -> str:
    return f"{capitalise('; '.join(clauses))}."


def join_places(settings: Sequence[RunSetting], answer: RunAnswer) -> str:
    """Return the names of settings: "adult", "adult and dutch", "adult, compas and dutch"."""
    *names, last = (place_of(setting, answer) for setting in settings)
    if names:
        return f"{', '.join(names)} and {last}"
    return last


def _from_to(
    setting: RunSetting, best: TechniqueFinding, wording: MetricWording, *, exact: bool = False
) -> str:
    """Return the gap of the baseline and that of a technique: "from 16 to 3 points"."""
    baseline = setting.baseline_of(best)
    if baseline is None:
        return ""
    gap, gap_before = best.value.mean, baseline.value.mean
    if best.change.n < baseline.n:  # as far apart as in the repeats that both have
        gap_before = gap - best.change.mean
    elif best.change.n < best.n:
        gap = gap_before + best.change.mean
    before, after = wording.format_pair(gap_before, gap, exact=exact)
    is_small = wording.distance(gap) < wording.distance(gap_before) / 4
    if best.is_significant or not is_small:
        sides = {wording.describe_side(value) for value in (gap_before, gap)} - {""}
        return f"from {before} to {after}{wording.unit}{('', ' the other way')[len(sides) > 1]}"
    text = f"from {before}{wording.unit} to about {wording.no_gap}"
    if exact:
        text += f" ({column_cell(SUMMARY_COLUMNS[0], best.value, wording).text})"
    return text


def _cost(finding: TechniqueFinding) -> str:
    """Return the clause " and costs 0.7 points of accuracy" on a technique; empty if that is untested."""
    size = signed(abs(100 * finding.cost.mean), plus="")
    return {
        "worse": f" and costs {size} points of accuracy",
        "better": f" and gains {size} points of accuracy",
        "same": " at the same accuracy",
        "not shown": " at no cost in accuracy that is shown",
    }.get(finding.cost.kind, "")


def _shown_cost(finding: TechniqueFinding) -> str:
    """Return the change of accuracy in brackets, " (accuracy −0.7)"; empty if none is shown."""
    if finding.cost.kind in ("worse", "better"):
        return f" (accuracy {signed(100 * finding.cost.mean)})"
    return ""


def _clause_without(setting: RunSetting, wording: MetricWording, *, is_first: bool = True) -> str:
    """Return the clause on a setting in which no technique narrows the gap."""
    results = {result_of(one).removesuffix(describe_repeats(one)) for one in setting.techniques}
    if len(results) == 1 and all(finding.is_own for finding in setting.techniques):
        name = join_names([finding.technique for finding in setting.techniques], MOST_NAMES)
        result = results.pop().replace("gap;", f"gap{_moved_from_to(setting.techniques[0], wording)};")
        if setting.techniques[0].kind in ("no value", "not shown", "untested"):
            name += ":"
        return f"{name} {result}"
    if setting.outcome == "overshoots":
        verb = "turn"
        if len(setting.leading) == 1:
            verb = "turns"
        return f"{join_names(setting.leading, MOST_NAMES)} {verb} the gap round"
    tried = [finding for finding in setting.findings if finding.n and not finding.is_baseline]
    if tried and all(finding.is_constant for finding in tried):
        in_some = any(finding.accepts_nobody + finding.accepts_everybody < finding.n for finding in tried)
        return "every technique decides the same for everybody" + (" in some repeat" if in_some else "")
    if not tried and setting.has_baseline_value:
        if any(not finding.is_baseline for finding in setting.findings):
            return "no technique gave a value"
        return "no technique was run"
    if not is_first and setting.outcome == "nothing shown":
        return "nothing is shown"
    return _WITHOUT[setting.outcome]


_WITHOUT: dict[Outcome, str] = {
    "hardly": "techniques hardly narrow the gap",
    "nothing shown": "nothing is shown to narrow the gap",
    "no gap shown": "no gap is shown without a technique",
    "untested": "nothing can be tested",
    "no baseline": "there is no model without a technique to compare with",
    "no value": "there is no result of the model without a technique",
}


def _counted(answer: RunAnswer) -> list[str]:
    """Return in how many settings a technique narrows the gap, and which most often; the longest first."""
    tried = [setting for setting in answer.settings if setting.has_baseline_value]
    if not tried:
        return ["No model without a technique gave a value, so nothing can be said of techniques."]
    narrowed = [setting for setting in tried if setting.outcome == "narrowed"]
    names = list(dict.fromkeys(setting.dataset_label for setting in tried))
    where = f"{len(tried)} settings on {join_names(names, FEW)}"
    if answer.n_planned > len(answer.settings):
        where = where.replace(" settings", f" settings run (of {answer.n_planned})")
    if not narrowed:
        return [f"No technique is shown to narrow the gap, in any of {where}."]
    often = how_often(narrowed, lambda finding: finding.narrows)
    counts = [f", most often {often[0][0]} ({often[0][1]})"]
    for name, _ in how_often(tried, lambda finding: finding.is_own and finding.technique != often[0][0]):
        counts.append(f"; {name} in {dict(often).get(name, 0)}")
    text = f"In {len(narrowed)} of {where} a technique narrows the gap beyond chance"
    return [f"{text}{''.join(counts)}.", f"{text}{''.join(counts[:2])}."]


# The small table -------------------------------------------------------------------------------------------


def summary_heads(answer: RunAnswer) -> tuple[str, ...]:
    """Return the heads of the small table."""
    if answer.has_worlds:
        return answer_worlds.SUMMARY_HEADS
    return ("technique", "gap", "change", "accuracy", "change", "result")


def _told_settings(answer: RunAnswer) -> Iterator[RunSetting]:
    """Yield the settings that the page shows first: of the middle β, in a world that does something."""
    for settings in answer.blocks:
        able = [setting for setting in settings if setting.has_bias or not answer.has_worlds]
        if able:
            yield main_setting(able)


def summary_blocks(answer: RunAnswer, wording: MetricWording, most_lines: int) -> list[SummaryBlock]:
    """Return the blocks of the small table that fit into some lines; of one that does not, as many rows."""
    blocks: list[SummaryBlock] = []
    for setting in _told_settings(answer):
        if answer.has_worlds:
            caption = f"{title_of(setting, answer)}{answer_worlds.describe_cost(setting)}"
            rows = [answer_worlds.summary_row(setting, finding) for finding in setting.findings]
        else:
            caption = f"{title_of(setting, answer)}{_label_gap(setting, wording)}"
            rows = [_summary_row(finding, wording) for finding in setting.all_findings]
        if len(answer.blocks) > 1:
            rows = _fold_not_shown(rows)
        most_lines -= _count_lines([caption])
        if len(rows) > most_lines and blocks:
            break
        blocks.append((caption, rows[: max(most_lines, FEW)]))
        most_lines -= len(rows)
    return blocks


def _fold_not_shown(rows: list[tuple[TableCell, ...]]) -> list[tuple[TableCell, ...]]:
    """Return rows with those together of which nothing is shown, where they are more than a `FEW`."""
    telling = [row for row in rows if row[-1].text != "not shown"]
    n_others = len(rows) - len(telling)
    if n_others <= FEW:
        return rows
    name = f"{n_others} others"
    if not telling:
        name = f"all {n_others}"
    return [*telling, (TableCell(name), *[TableCell("")] * (len(rows[0]) - 2), TableCell("not shown"))]


def _summary_row(finding: TechniqueFinding, wording: MetricWording) -> tuple[TableCell, ...]:
    gap, change, accuracy, cost = (
        column_cell(column, finding.number(column.key), wording) for column in SUMMARY_COLUMNS
    )
    technique = TableCell(finding.technique)
    result = TableCell(result_of(finding, brief=True))
    return technique, replace(gap, fine=""), change, accuracy, replace(cost, fine=""), result


SUMMARY_COLUMNS = [column for column in COLUMNS if column.key in ("value", "change", "accuracy", "cost")]
"""The columns of the small table, which has room for no more; a new one is in all the others."""


# A setting -------------------------------------------------------------------------------------------------


def describe_setting(setting: RunSetting, wording: MetricWording) -> str:
    """Return the sentences on a setting: its gap, its world, the techniques by what became of them."""
    sentences = [describe_gap(setting, wording), *answer_worlds.describe_world(setting)]
    techniques = [finding for finding in setting.findings if not finding.is_baseline]
    if setting.has_baseline_value:
        for result, findings in group_by(techniques, result_of).items():
            names = [f"{finding.technique}{_moved_from_to(finding, wording)}" for finding in findings]
            rows = describe_rows_to_show_same(findings, wording)
            sentences.append(f"{capitalise(result)}: {join_names(names, len(names))}{rows}")
    for finding in techniques:
        if finding.narrows and finding.shortfalls:
            sentences.append(f"But next to {finding.technique} {describe_shortfall(finding.shortfalls[0])}")
    return " ".join(f"{sentence}." for sentence in sentences)


def _moved_from_to(finding: TechniqueFinding, wording: MetricWording) -> str:
    """Return the gap before and after in brackets where it moves: " (8.6 to −3.9)"; else nothing."""
    if finding.kind != "moved":
        return ""
    gaps = Estimate(finding.value.mean - finding.change.mean), Estimate(finding.value.mean)
    before, after = (column_cell(SUMMARY_COLUMNS[0], gap, wording).text for gap in gaps)
    return f" ({before} to {after}{wording.unit})"


ROWS_OF_BASIS = {FRESH: "test rows of all repeats together", SPLITS: "rows"}
"""Which rows a number of rows is of, by what tests rest on; else test rows."""


def describe_rows_to_show_same(findings: Sequence[TechniqueFinding], wording: MetricWording) -> str:
    """Return the clause on how many rows it takes to show that there is no change.

    It is on the techniques among the findings of which nothing is shown.
    """
    findings = [finding for finding in findings if finding.kind == "not shown" and not finding.is_shown_alone]
    n_rows = [finding.same_from_rows for finding in findings if not math.isnan(finding.same_from_rows)]
    if not n_rows:
        return ""
    fewest = f"{round_up_count(min(n_rows)):,.0f}"
    most = f"{round_up_count(max(n_rows)):,.0f}"
    span = fewest if fewest == most else f"{fewest} to {most}"
    rows = ROWS_OF_BASIS.get(findings[0].rows_basis, "test rows")
    return f" (that a change is less than {wording.margin_text} is shown from about {span} {rows})"


def describe_shortfall(shortfall: Shortfall) -> str:
    """Return the clause on a baseline that is shown to be better than a technique.

    >>> describe_shortfall(Shortfall("constant", -0.021))
    'refusing everybody is 2.1 points more accurate and has no gap'
    """
    advantage = f"is {-100 * shortfall.difference:.1f} points more accurate"
    deciding = "accepting" if shortfall.constant_accepts else "refusing"
    if shortfall.baseline == "constant":
        return f"{deciding} everybody {advantage} and has no gap"
    if shortfall.baseline == "thresholds":
        return f"moving the thresholds of the plain model {advantage} at the same gap"
    if shortfall.share > 0:
        mixture = f"{deciding} {100 * shortfall.share:.1f} % of the people at random"
        return f"{mixture}, the others as the plain model, {advantage} at the same gap"
    return f"the plain model itself {advantage} and its gap is no larger"


def describe_gap(setting: RunSetting, wording: MetricWording) -> str:
    """Return the gap of the baseline and that of the labels."""
    baseline = setting.baseline
    label_gap = _label_gap(setting, wording)
    if baseline is None:
        return f"there is no model without a technique to compare with{label_gap}"
    if not baseline.n:
        return f"the model without a technique gave no value ({result_of(baseline)}){label_gap}"
    groups = (setting.deprived, setting.favoured)
    gap = f"{wording.describe_gap(baseline.value.mean, *groups, setting.selected)}{label_gap}"
    repeats = describe_repeats(baseline).strip(" ()")
    if repeats:
        gap += f", in {repeats}"
    if baseline.is_constant:
        return f"{gap}; the model without a technique {result_of(baseline)}"
    if baseline.is_significant:
        return gap
    if baseline.kind == "untested":
        return f"not tested: {gap}"
    if baseline.is_near_ideal:
        return f"no gap, shown to be less than {wording.margin_text}: {gap}"
    return f"could be chance: {gap}"


def _label_gap(setting: RunSetting, wording: MetricWording) -> str:
    """Return the gap of the labels in brackets, with the rows that they are of and the way it goes."""
    if math.isnan(setting.label_gap):
        return ""
    gap = f"{wording.format_with_unit(setting.label_gap)}{wording.describe_side(setting.label_gap)}"
    return f" (in {setting.labels_of}: {gap})"


def each_setting(run: RunResults) -> Iterator[tuple[RunSetting, str, str]]:
    """Yield the settings of a run, each with a short sentence and everything that is said of it."""
    answer = answer_of(run)
    wording = wording_of(answer.metric, answer.margin)
    for setting in answer.settings:
        own_settings, usual_settings = _split_own([setting], answer)
        clauses = [_exact_clause(part, wording) for part in own_settings + usual_settings]
        if setting.outcome != "narrowed":  # else a technique's name is as it is in all tables
            clauses[0] = capitalise(clauses[0])
        clauses[1:] = map(_of_usual, clauses[1:])
        yield setting, f"{'; '.join(clauses)}.", describe_setting(setting, wording)


def _exact_clause(setting: RunSetting, wording: MetricWording) -> str:
    """Return who leaves the smallest gap of those that narrow it, with decimals; or that none does."""
    if setting.outcome != "narrowed":
        return _clause_without(setting, wording)
    best = setting.finding(setting.leading[0])
    change = f"{_from_to(setting, best, wording, exact=True)}{_cost(best)}"
    return f"{best.technique} {wording.verb} the gap {change}"


# All settings ----------------------------------------------------------------------------------------------


def _section(settings: Sequence[RunSetting], answer: RunAnswer, wording: MetricWording) -> Section:
    """Return the sentences and the full table of a block."""
    sentences = []
    for setting in settings:
        text = describe_setting(setting, wording)
        if len(settings) > 1:
            sentences.append(f"β = {setting.beta:g}: {text}")
        else:
            sentences.append(capitalise(text))
    title = title_of(settings[0], answer, with_beta=False)
    return Section(title, tuple(sentences), (_full_table(settings, answer, wording),))


def _full_table(settings: Sequence[RunSetting], answer: RunAnswer, wording: MetricWording) -> TextTable:
    """Return the numbers of a block, a row per β and technique, in as many columns as there is room for."""
    columns = shown_columns(answer, in_worlds=bool(settings[0].world))
    rows = [(setting, finding) for setting in settings for finding in setting.all_findings]
    heads: dict[str, Callable[[tuple[RunSetting, TechniqueFinding]], TableCell]] = {}
    if answer.has_betas:
        heads["β"] = lambda row: TableCell(f"{row[0].beta:g}", value=row[0].beta)
    heads["technique"] = lambda row: TableCell(row[1].technique)
    shares = share_columns(rows)
    for column in columns[: MOST_HEADS - 3 - len(shares)]:
        heads[head_of(column, wording)] = partial(_cell_of_row, column, wording)
    heads |= shares
    heads["result"] = lambda row: TableCell(result_of(row[1]))
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


def _estimate(
    estimate: Estimate, told: Callable[[float], float], digits: int = 1, plus: str = ""
) -> TableCell:
    mean, *ends = (told(value) for value in (estimate.mean, estimate.low, estimate.high))
    if math.isnan(mean):
        return TableCell("–")
    fine = ""
    if not math.isnan(ends[0]):
        fine = f"[{', '.join(signed(end, digits, '') for end in sorted(ends))}]"
    return TableCell(signed(mean, digits, plus), fine, mean)


# Names and notes -------------------------------------------------------------------------------------------


def title_of(setting: RunSetting, answer: RunAnswer, *, with_beta: bool = True) -> str:
    """Return the name of a setting: "adult, β = 0.5: women against men"."""
    at_beta = ""
    if with_beta and answer.has_betas:
        at_beta = f", β = {setting.beta:g}"
    return f"{place_of(setting, answer)}{at_beta}: {setting.deprived} against {setting.favoured}"


def place_of(setting: RunSetting, answer: RunAnswer) -> str:
    """Name a setting by its data set and what else its settings differ in: "german (sex, c45)"."""
    same_dataset = [
        same_data_setting
        for same_data_setting in answer.settings
        if same_data_setting.dataset == setting.dataset
    ]
    differing = []
    for field in ("world", "attribute", "compared", "representation", "classifier_label"):
        text = getattr(setting, field)
        if field == "world" and answer.has_worlds:
            text = text or NO_BIAS
        if field == "compared" and text == setting.attribute:
            continue
        if text and len({getattr(same_data_setting, field) for same_data_setting in same_dataset}) > 1:
            differing.append(text)
    if differing:
        return f"{setting.dataset_label} ({', '.join(differing)})"
    return setting.dataset_label


def notes_of(
    answer: RunAnswer, run: RunResults, run_lines: Sequence[str] = (), *, brief: bool = False
) -> tuple[str, ...]:
    """Return the notes: the groups, the words about chance, the test rows, and last what β is.

    Parameters
    ----------
    run_lines : sequence of str
        What is said of ranks over data sets and of scores, and on a console of controls that fail.
    brief : bool
        For a console: these, chance and β.
    """
    plan = run.plan
    notes = [answer.not_run, *run_lines, _chance(run, answer, brief=brief)]
    if not brief:
        notes[:1] = [_groups(answer, plan), answer.not_run, _constants(answer)]
        notes.append(_test_rows(run))
        notes += [f"{line}." for line in describe_failures(plan, run.records)]
    if answer.has_betas:
        notes.append(_beta(plan, brief=brief))
    return tuple(filter(None, notes))


def describe_ranks(run: RunResults) -> list[str]:
    """Return the sentence on mean ranks over data sets; none where nothing is ranked.

    Of several classifiers or worlds it is on the first.
    """
    groups = ranked_groups(run)
    if not groups:
        return []
    group = groups[0]
    rank_place = f"over {len(group.cases)} data sets"
    if len(groups) > 1:
        case = group.cases[0]
        rank_place += f" ({', '.join(filter(None, (case.world, case.classifier_label)))})"
    metric, ranks = next(iter(group.ranks.items()))
    if not ranks.p < LEVEL:
        return [f"Mean ranks by {metric} {rank_place} are not shown to differ."]
    best = group.by_rank[0]
    lowest = f"{group.techniques[best].technique} has the lowest, {ranks.mean[best]:.1f}"
    return [f"Mean ranks by {metric} {rank_place} differ; {lowest} of {len(group.techniques)}."]


def reasons_section(run: RunResults) -> Iterator[Section]:
    """Yield why a run's words may be believed, if there is something: its power, what its controls say."""
    answer = answer_of(run)
    sentences = [*_describe_power(answer, wording_of(answer.metric, answer.margin)), *describe_controls(run)]
    if sentences:
        yield Section("Why believe it?", tuple(sentences), anchor="controls")


def _describe_power(answer: RunAnswer, wording: MetricWording) -> Iterator[str]:
    """Yield in which share of the comparisons of each data set a change of two points would be shown."""
    chances: defaultdict[str, list[float]] = defaultdict(list)
    for setting in answer.settings:
        for finding in setting.techniques:
            if finding.sensitivity.is_known and not finding.is_constant:
                chances[setting.dataset_label].append(finding.sensitivity.power(POWER_SIZE))
    shares = sorted((sum(powers) / len(powers), name) for name, powers in chances.items())
    clauses = [f"{100 * share:.0f} % on {name}" for share, name in shares]
    if len(clauses) > FEW:
        clauses = [f"{clauses[0]} to {clauses[-1]}"]
    if clauses and wording.form == "points":
        shown = ", ".join(clauses).replace("%", "% of the comparisons", 1)
        yield (
            f"A true change of {100 * POWER_SIZE:g} points would be shown in {shown}: by the standard error "
            "of each and Holm's adjustment over its family, the other results as they are. With five "
            "repeats or fewer a small share may be three times too high."
        )


def _constants(answer: RunAnswer) -> str:
    """Return who decides the same for everybody, and in how many settings; empty if nobody does."""
    often = how_often(answer.settings, lambda finding: finding.is_constant)
    if not often:
        return ""
    name, n = often[0]
    text = f"{name} selects nobody or everybody in a repeat or more of {n} of {len(answer.settings)} settings"
    if len(often) > 1:
        text += f", {format_count(len(often) - 1, 'other technique')} in some"
    return f"{text}: that is never said to narrow the gap."


def _chance(run: RunResults, answer: RunAnswer, *, brief: bool) -> str:
    """Return the meaning of the words about chance."""
    plan = run.plan
    if run.n_done[-1] < 2:
        repeats = run.repeats_done("repeat").replace("1 ", "One ", 1)
        return f"{repeats}: nothing can be said of chance, and no difference is shown."
    if brief:
        family = "all of the run" if plan.config.family == "run" else "techniques and settings"
        chance = f"5 %, Holm over {family}; {run.repeats_done('repeat')}"
        sentence = f"Narrows, widens: beyond chance, and for people not tested here too ({chance})"
        if any(finding.kind == "moved" for setting in answer.settings for finding in setting.findings):
            sentence += "; moves it: that the gap is smaller or larger is not shown"
        return f"{sentence}."
    family = "techniques and settings of a data set, attribute and classifier"
    if answer.has_worlds:
        family = "techniques and settings of a data set, attribute, world and classifier"
    if plan.config.family == "run":
        family = "metrics, data sets, techniques and settings of the run"
    caveat = ""
    if len(answer.blocks) > FEW and plan.config.family == "metric":
        caveat = f" Of {len(answer.blocks)} of these one in twenty may show what is not there."
    margin = wording_of(answer.metric, answer.margin).margin_text
    negligible = same = ""
    if margin:
        negligible = f" or shown to be less than {margin}"
        same = f" The same: the change is shown to be less than {margin}."
    return (
        "Narrows, widens, turns round (the gap is then the other way): shown beyond chance, for other "
        "training sets and other test rows too, at 5 % after Holm's adjustment over all "
        f"{family}.{caveat} Moves the gap: it is another one, at 5 % of its own after that adjustment, and "
        "that it is smaller or larger is not shown. Intervals are 95 %, of one number by itself; where one "
        "leaves out 0 and nothing is shown, p .21 among 10 is its p after that adjustment for 10 tests. "
        f"Hardly narrows or widens: shown, but by less than a tenth of the gap{negligible}.{same} "
        f"{capitalise(NOT_BEATEN)}: no other technique is better in both, on average. "
        f"What is not shown may still be there.{answer_worlds.ABOUT if answer.has_worlds else ''}"
    )


def _groups(answer: RunAnswer, plan: RunPlan) -> str:
    """Return the paragraph on the groups compared and the decision, by data set."""
    sentences = []
    for setting in {(one.dataset, one.attribute, one.compared): one for one in answer.settings}.values():
        protected = {one.name: one for one in plan.protected(setting.dataset, setting.attribute).attributes}
        text = f"{setting.dataset_label}: {setting.deprived} are deprived, {setting.favoured} favoured"
        if setting.compared in protected:
            own = protected[setting.compared]
            levels = f"{', '.join(own.deprived)} against {', '.join(own.favoured)}"
            text += f" ({setting.compared}: {levels})"
        source = plan.dataset(setting.dataset, setting.attribute)
        if "favourable" in source:
            text += f"; {setting.selected} is who is predicted {source['label']} = {source['favourable']}"
        sentences.append(text)
    labels_of = dict.fromkeys(filter(None, (setting.labels_of for setting in answer.settings)))
    sentences += [f"In {rows}: the same gap of their outcomes" for rows in labels_of]
    return f"{'. '.join(sentences)}."


def _test_rows(run: RunResults) -> str:
    """Return where the test rows are from."""
    plan = run.plan
    config = plan.config
    if config.sample.source == "data" and config.tested == "holdout":
        return f"Test rows: those of {run.repeats_done('random split')} that are not trained on."
    if config.sample.source != "data" and config.test == "network":
        text = "Test rows: drawn from the same network, without bias"
    else:
        text = f"Test rows: {plan.test_rows}"
    if plan.has_worlds:
        labels = {"true": "true labels", "recorded": "labels and groups as recorded, of the rows included"}
        text += f", {labels[config.test_labels]}"
    if config.tested == "network":
        text += "; the gap of the data may be another"
    return f"{text}."


def _beta(plan: RunPlan, *, brief: bool) -> str:
    """Return the sentence on the bias that β is; empty in a run without."""
    config = plan.config
    if config.sample.source == "data":
        return ""
    if plan.has_worlds:
        return "β: the strength of a world's first mechanism."
    if not any(config.sample.beta):
        return ""
    name_of = read_display_names(config).dataset
    regrouped = [source for source in plan.datasets if "regrouped" in source]
    others = [source for source in plan.datasets if source not in regrouped]
    text = "β: the share of favourable outcomes that the deprived group loses in training"
    both = [source for source in others if source.get("bias_direction") == "both"]
    if both:
        text += f" (on {_those(plan, both.__contains__)} the favoured group of the other one)"
    if regrouped and not others:
        text = f"β: {bias_in_words(regrouped, name_of)}"
    elif regrouped:
        text += "; "
        if len({bias_in_words([source]) for source in regrouped}) == 1:  # else each says on which
            text += f"on {_those(plan, regrouped.__contains__)} "
        text += bias_in_words(regrouped, name_of)
    idle = _those(plan, lambda source: not source["arc_to_outcome"])
    if idle:
        text += f". It changes nothing on {idle}"
    kinds = bias_in_words(others, name_of)
    if kinds and not brief:
        text += f". {'Elsewhere it' if regrouped else 'It'} is {kinds}"
    return f"{text}."


def _those(plan: RunPlan, chosen: Callable[[Mapping[str, Any]], bool]) -> str:
    """Name data sets, with the attribute where it is not so of all of theirs: "adult, compas (sex)"."""
    return join_names(
        named_sources(plan.datasets, chosen, read_display_names(plan.config).dataset), MOST_NAMES
    )
