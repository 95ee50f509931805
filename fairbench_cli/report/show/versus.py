"""A technique against all others: a sentence, and a table of differences with intervals and p-values."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fairbench_cli.base.safe_text import format_count
from fairbench_cli.document.model import Answer, Document, Section, Statement, TableCell, TextTable
from fairbench_cli.report.ledger.answer import (
    RunAnswer,
    RunSetting,
    TechniqueFinding,
    answer_of,
    is_trivial,
    main_setting,
)
from fairbench_cli.report.ledger.columns import ACCURACY, FindingColumn
from fairbench_cli.report.ledger.paired_differences import MOVED
from fairbench_cli.report.ledger.population_tests import BASES
from fairbench_cli.report.ledger.results import Estimate, RunResults
from fairbench_cli.report.ledger.run_ledger import DIFFERENCE, DISTANCE, NO_RECORD, Record
from fairbench_cli.report.show.answer_text import capitalise, column_cell, first_short, join_places, title_of
from fairbench_cli.report.show.answer_worlds import describe_repeats, result_of
from fairbench_cli.report.show.metric_wording import MetricWording, wording_of
from fairbench_cli.report.show.tables import tests_in_words

GAP_CHANGE = FindingColumn("change", "gap", "", "change", unit="gap")
ACCURACY_CHANGE = FindingColumn("cost", "accuracy", ACCURACY, "change")
BRIEF_HEADS = ("technique", "its gap", "p", "its accuracy", "result")

Outcome = Literal[
    "smaller gap", "larger gap", "hardly smaller", "hardly larger", "same gap", "another gap", "not shown",
    "no comparison",
]  # fmt: skip
"""What is shown of the gap of a technique, against that of the one that all are compared with."""
SIDES: dict[Outcome, Literal["better", "worse"]] = {"smaller gap": "better", "larger gap": "worse"}


@dataclass(frozen=True)
class TechniqueComparison:
    """A technique next to the one that all are compared with, in a setting.

    Parameters
    ----------
    gap, accuracy : Estimate
        How much farther from the ideal its metric of fairness is than that of the technique that all are
        compared with, and by how much more accurate it is, with intervals in the population.
    gap_p, accuracy_p : float
        Of the tests that these are 0 in the population, after Holm's adjustment.
    named : tuple of (FindingColumn, Estimate, float)
        The differences in the metrics that the config names, with their p-values.
    outcome : str
        An `Outcome`.
    basis : str
        What the tests rest on: of `BASES`, or why there is none.
    """

    setting: RunSetting
    finding: TechniqueFinding
    gap: Estimate
    accuracy: Estimate
    gap_p: float
    accuracy_p: float
    named: tuple[tuple[FindingColumn, Estimate, float], ...]
    outcome: Outcome
    basis: str


def versus_document(
    run: RunResults, name: str, differences: Mapping[int, Record], file: str, *, brief: bool = False
) -> Document:
    """Return how all techniques of a run differ from one of them, in the settings that its answer shows.

    Parameters
    ----------
    name : str
        What the technique is called.
    differences : dict by row number
        The rows of `paired_frame` of it, with the ``kind`` of each.
    file : str
        The name of the CSV file that has the differences in all settings.
    brief : bool
        For a console: one table, of the gap and of accuracy without intervals and p-values.
    """
    # 1. The comparisons, by setting.
    answer = answer_of(run)
    wording = wording_of(answer.metric, answer.margin)
    comparisons_by_title: dict[str, list[TechniqueComparison]] = {}
    for settings in answer.blocks:
        comparisons_of = {
            setting.beta: list(_compare(run, setting, answer, differences)) for setting in settings
        }
        able = [setting for setting in settings if any(map(_has_value, comparisons_of[setting.beta]))]
        setting = main_setting(able or settings)
        if comparisons_of[setting.beta]:
            comparisons_by_title[title_of(setting, answer)] = comparisons_of[setting.beta]
    # 2. The table: a section for each setting, or all in one.
    sections = []
    led_rows = []
    for title, comparisons in comparisons_by_title.items():
        comparisons.sort(key=lambda comparison: comparison.finding.is_baseline)  # plain models come last
        keys = ["technique", "gap", "p of gap", "accuracy", "p of accuracy"]
        for column, _, _ in comparisons[0].named:
            keys += [column.metric, f"p of {column.metric}"]
        heads = ["technique", "its gap", "p of gap", "its accuracy", *keys[4:]]
        rows = [_row(comparison, wording) for comparison in comparisons]
        table = TextTable("", (*heads, f"against {name}"), tuple(rows), words=1, keys=(*keys, "result"))
        sections.append(Section(title, tables=(table,)))
        led_rows += [(TableCell(title), *_brief_row(row)) for row in rows]
    if brief:
        table = TextTable("", ("", *BRIEF_HEADS), tuple(led_rows), words=2, led=True)
        sections = [Section("", tables=(table,))]
    # 3. The sentence, and what the numbers mean.
    comparisons = [comparison for block in comparisons_by_title.values() for comparison in block]
    headline = headline_of(name, comparisons, answer)
    n_more = len(answer.settings) - len(comparisons_by_title)
    notes = _notes(run, name, comparisons)
    if n_more:
        notes.append(f"And {format_count(n_more, 'more setting')}: {file} has all.")
    return Document("", Answer(Statement(headline)), tuple(notes), tuple(sections))


def _has_value(comparison: TechniqueComparison) -> bool:
    """Return whether two techniques can be compared."""
    return not comparison.finding.is_baseline and comparison.outcome != "no comparison"


def _compare(
    run: RunResults, setting: RunSetting, answer: RunAnswer, differences: Mapping[int, Record]
) -> Iterator[TechniqueComparison]:
    """Yield the comparisons of a setting, of the techniques that have a difference to the baseline."""
    for finding in setting.all_findings:
        gap_row = run.row_number(finding.key, setting.compared, answer.metric.name)
        accuracy_row = run.row_number(finding.key, setting.compared, ACCURACY)
        gap = differences.get(gap_row, NO_RECORD)
        accuracy = differences.get(accuracy_row, NO_RECORD)
        if not gap:
            continue
        named_differences = []
        for column in answer.columns:
            if column.is_named and column.quantity == "change":
                row = run.row_number(finding.key, setting.compared, column.metric)
                record = differences.get(row, NO_RECORD)
                p = float(record.get("population_difference_p_holm", math.nan))
                named_differences.append((column, DIFFERENCE.read(record), p))
        yield TechniqueComparison(
            setting=setting,
            finding=finding,
            gap=DISTANCE.read(gap),
            accuracy=DIFFERENCE.read(accuracy),
            gap_p=float(gap["population_p_holm"]),
            accuracy_p=float(accuracy.get("population_difference_p_holm", math.nan)),
            named=tuple(named_differences),
            outcome=_find_outcome(finding, gap, answer.metric.ideal or 0.0),
            basis=gap["population_basis"],
        )


def _find_outcome(finding: TechniqueFinding, gap: Record, ideal: float) -> Outcome:
    """Return the outcome of a technique, given its row of `paired_frame`."""
    if not gap["n"] or finding.is_constant:
        return "no comparison"
    if gap["kind"] == "same":
        return "same gap"
    if gap["population_verdict"] not in ("better", "worse"):
        outcomes: tuple[Outcome, Outcome] = ("not shown", "another gap")
        return outcomes[gap["population_verdict"] == MOVED]
    outcomes = ("larger gap", "smaller gap")
    if is_trivial(gap, {"mean": finding.value.mean}, ideal):
        outcomes = ("hardly larger", "hardly smaller")
    return outcomes[gap["population_verdict"] == "better"]


def headline_of(name: str, comparisons: Sequence[TechniqueComparison], answer: RunAnswer) -> str:
    """Return in a sentence how often a technique leaves a smaller gap than others, and how often a larger.

    Plain models, which are no techniques, are not counted.
    """
    techniques = [comparison for comparison in comparisons if _has_value(comparison)]
    n_all = len(techniques)
    if not n_all:
        return f"{capitalise(name)} is compared with no other technique."
    # The gap of the one is smaller where that of the other is larger.
    outcomes = Counter(comparison.outcome for comparison in techniques)
    n_smaller = outcomes["larger gap"]
    n_larger = outcomes["smaller gap"]
    others = Counter(comparison.finding.technique for comparison in techniques)
    sentences = []
    if len(others) == 1:
        sentences.append(_sentence_on_one(name, next(iter(others)), techniques, answer))
    of_all = format_count(n_all, "comparison")
    text = f"Against other techniques {name} leaves"
    if not n_smaller and not n_larger:
        text = f"{capitalise(name)} is not shown to leave a smaller or larger gap than others in {of_all}"
    elif n_smaller == n_all:
        text = f"{capitalise(name)} leaves a smaller gap than other techniques in all {of_all}"
    elif n_larger == n_all:
        text = f"{capitalise(name)} leaves a larger gap than other techniques in all {of_all}"
    elif not n_larger:
        text += f" a smaller gap in {n_smaller} of {of_all}, and nowhere a larger one"
    elif not n_smaller:
        text += f" a larger gap in {n_larger} of {of_all}, and nowhere a smaller one"
    else:
        text += f" a smaller gap in {n_smaller} of {of_all}, a larger one in {n_larger}"
        n_open = n_all - n_smaller - n_larger
        if n_open:
            text += f"; in {n_open} neither is shown"
            if outcomes["hardly smaller"] + outcomes["hardly larger"]:
                text += ", or hardly"
    return first_short([*sentences, f"{text}."])


def _sentence_on_one(
    name: str, other: str, comparisons: Sequence[TechniqueComparison], answer: RunAnswer
) -> str:
    """Return the sentence on a technique and the only other one, by the places of each outcome."""
    places: dict[str, list[RunSetting]] = {"smaller": [], "larger": [], "": []}
    turned = {"smaller gap": "larger", "larger gap": "smaller"}
    for comparison in comparisons:
        places[turned.get(comparison.outcome, "")].append(comparison.setting)
    clauses: list[str] = []
    for outcome in ("smaller", "larger"):
        if places[outcome]:
            than = f" than {other}" if not clauses else ""
            clauses.append(f"a {outcome} gap{than} on {join_places(places[outcome], answer)}")
    if not clauses:
        if any(comparison.outcome == "another gap" for comparison in comparisons):
            return f"{capitalise(name)} leaves another gap than {other}; which is smaller is not shown."
        return f"{capitalise(name)} is not shown to leave a smaller or larger gap than {other}."
    text = f"{capitalise(name)} leaves {' and '.join(clauses)}"
    if places[""]:
        text += f"; on {join_places(places[''], answer)} neither is shown"
    return f"{text}."


def _row(comparison: TechniqueComparison, wording: MetricWording) -> tuple[TableCell, ...]:
    """Return the cells of a comparison: each number is followed by its p-value."""
    named_cells = []
    for column, estimate, p in comparison.named:
        named_cells += [column_cell(column, estimate, wording), _p_cell(p)]
    return (
        TableCell(comparison.finding.technique, muted=comparison.finding.is_baseline),
        column_cell(GAP_CHANGE, comparison.gap, wording),
        _p_cell(comparison.gap_p),
        column_cell(ACCURACY_CHANGE, comparison.accuracy, wording),
        _p_cell(comparison.accuracy_p),
        *named_cells,
        _result_cell(comparison),
    )


def _brief_row(row: tuple[TableCell, ...]) -> tuple[TableCell, ...]:
    """Return a row as a console has room for it, one cell for each of `BRIEF_HEADS`."""
    technique, gap, gap_p, accuracy, *_, result = row
    return technique, gap, gap_p, replace(accuracy, fine=""), result


def _p_cell(p: float) -> TableCell:
    """Return the cell of a p-value."""
    if math.isnan(p):
        return TableCell("–")
    if p < 0.001:
        return TableCell("<.001", value=p)
    return TableCell(f"{p:.3f}".removeprefix("0"), value=p)


def _result_cell(comparison: TechniqueComparison) -> TableCell:
    """Return the cell of the outcome, in a word or two; where there is no comparison, why."""
    repeats = describe_repeats(comparison.finding, brief=True, n=comparison.gap.n)
    if comparison.outcome == "no comparison":
        return TableCell(result_of(comparison.finding, brief=True) or "no value")
    return TableCell(f"{comparison.outcome}{repeats}", against=SIDES.get(comparison.outcome, ""))


def _notes(run: RunResults, name: str, comparisons: Sequence[TechniqueComparison]) -> list[str]:
    """Return the sentences on the numbers, and on the test rows behind them."""
    notes = [
        f"its gap: how much larger it is than that of {name}, whichever way each goes; its accuracy: how "
        "much higher. In points where they are of rates, over "
        f"{run.repeats_done('paired repeat')}, with the 95 % interval for other training and test rows. p: "
        f"that the number before it is 0, after Holm's adjustment over {tests_in_words(run.plan)}. hardly: "
        "by less than a tenth of the gap, or than the margin. another gap: the two differ beyond chance, and "
        "that one is smaller is not shown."
    ]
    bases = {comparison.basis for comparison in comparisons}
    return notes + [explanation for basis, explanation in BASES.items() if basis in bases]
