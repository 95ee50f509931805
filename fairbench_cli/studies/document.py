"""What came out of a table of repeats, in words, tables and forests."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from fairbench_cli.base.safe_text import format_count
from fairbench_cli.document import charts
from fairbench_cli.document.charts import ChartRow, Look
from fairbench_cli.document.model import (
    Answer,
    Chart,
    Document,
    Section,
    Statement,
    TableCell,
    TextTable,
    plain_table,
)
from fairbench_cli.report.show.answer_text import capitalise
from fairbench_cli.report.show.page_charts import axis_around
from fairbench_cli.studies.claims import Claim, JudgedClaim
from fairbench_cli.studies.judge import WORDS, Rule, StudyComparisons, StudyDesign, pairing_sentence
from fairbench_cli.studies.over_data_sets import MIN_DATA_SETS

RULES: dict[Rule, str] = {
    "means": "means",
    "mann-whitney": "Mann–Whitney",
    "test": "its test",
    "holm": "after Holm",
}
MOST_FORESTS = 12
NOT_SHOWN = (
    "Not decided is not the same: a difference may be there that these repeats cannot show. After Holm's "
    "adjustment a wrong better or worse has a chance of 5 % at most, and a wrong same another 5 %, over "
)
STEADY = (
    " What is near a value is judged by the distance in each repeat: of two equal mean gaps on both sides of "
    "0 the steadier one is better."
)


def study_document(name: str, comparisons: StudyComparisons, over_data_sets: pd.DataFrame) -> Document:
    """Return everything on a table's comparisons with the plain model."""
    frame = comparisons.frame
    after_holm = comparisons.count("holm")
    by_means = comparisons.count("means")
    n = len(frame)
    counts = [f"better than {comparisons.baseline} in {_share(after_holm['better'], n)}"]
    counts += [
        f"{word} in {_share(after_holm[word], n)}"
        for word in ("worse", "same", "not decided")
        if after_holm[word]
    ]
    text = f"Of {format_count(n, 'comparison')}: {', '.join(counts)}."
    detail = (
        f"By their means alone: better in {_share(by_means['better'], n)}, worse in "
        f"{_share(by_means['worse'], n)}."
    )
    sides = ", ".join(f"{metric} {side}" for metric, side in comparisons.sides.items())
    family = "all comparisons" if comparisons.family == "all" else "the techniques of a cell and metric"
    facts = (
        pairing_sentence(comparisons),
        capitalise(comparisons.design.meaning),
        f"Better is: {sides}. Holm's adjustment is over {family}.{STEADY if 'near' in sides else ''}",
    )
    sections = [
        Section("By each rule", tables=(_rules_table(comparisons),), notes=(f"{NOT_SHOWN}{family}.",))
    ]
    for title, column in (("Techniques", "technique"), ("Metrics", "metric"), ("Data sets", "data")):
        if column in frame and frame[column].nunique() > 1:
            sentence = "Better / worse, in % of n comparisons."
            sections.append(Section(title, (sentence,), (_part_table(comparisons, column),)))
    if "data" in frame and frame["data"].nunique() > 1:
        sections.append(_matrix_section(comparisons))
    if "change" in over_data_sets:
        sections.append(_forest_section(over_data_sets, comparisons))
    return Document(
        name,
        Answer(Statement(text, detail=detail)),
        facts=facts,
        sections=tuple(sections),
        notes=comparisons.notes,
    )


def claims_document(name: str, claims: Sequence[JudgedClaim], design: StudyDesign) -> Document:
    """Return each claim with its number, the outcome and the reason."""
    counts = Counter(claim.verdict for claim in claims)
    n_unpublished = counts["no number"]
    text = f"{format_count(len(claims), 'claim')}; no number was published."
    if n_unpublished < len(claims):
        text = (
            f"Of {format_count(len(claims) - n_unpublished, 'claim')} {counts['holds']} hold, "
            f"{counts['does not hold']} do not, {counts['not decided']} are not decided."
        )
    if 0 < n_unpublished < len(claims):
        text += f" No number was published of {n_unpublished} others."
    rows = []
    for judged in claims:
        claim = judged.claim
        limits = [_quantity_text(claim.quantity, number) for number in (judged.low, judged.high)]
        rows.append(
            (
                TableCell(f"{claim.study}: {claim.claim}"),
                TableCell(f"{judged.n:,}", value=judged.n),
                TableCell(_published_text(claim)),
                TableCell(_quantity_text(claim.quantity, judged.by_rule), RULES[claim.rule]),
                TableCell(" to ".join(limits)),
                TableCell(judged.verdict),
            )
        )
    heads = ("claim", "n", "published", "by its rule", "between", "verdict")
    reasons = [f"{judged.claim.claim} ({judged.claim.source}): {judged.reason}." for judged in claims]
    note = (
        "Between: a share is at least what is shown, and at most what is not shown to be the opposite, at "
        "95 % for all at once; a mean change has its 95 % interval. A claim holds where no number is left "
        "that is far from the published one, and does not where that one is left out."
    )
    table = replace(plain_table("", heads, rows, 1), led=True)
    return Document(
        f"{name}: claims",
        Answer(Statement(text)),
        facts=(capitalise(design.meaning),),
        sections=(
            Section("Claims", tables=(table,), notes=(note,)),
            Section("Why", sentences=tuple(reasons)),
        ),
    )


def _share(count: int, n: int) -> str:
    return f"{100 * count / n:.1f} %"


def _published_text(claim: Claim) -> str:
    """Write the number of a claim, and that it is a limit."""
    number = _quantity_text(claim.quantity, claim.published)
    if claim.published == 0:
        number = "0"
    return number if claim.relation == "about" else f"{claim.relation} {number}".strip()


def _quantity_text(quantity: str, number: float) -> str:
    """Write a share in per cent, a change with its sign; a dash where there is none."""
    if math.isnan(number):
        return "-"
    if quantity == "change":
        return f"{number:+.4f}"
    return f"{100 * number:.2f} %"


def _rules_table(comparisons: StudyComparisons) -> TextTable:
    """Return how many comparisons have each word, by each rule side by side."""
    n = len(comparisons.frame)
    counts = {rule: comparisons.count(rule) for rule in comparisons.rules}
    rows = []
    for word in WORDS:
        cells = [TableCell(word)]
        cells += [
            TableCell(_share(count[word], n), f"{count[word]:,}", count[word]) for count in counts.values()
        ]
        rows.append(cells)
    return plain_table("", [""] + [RULES[rule] for rule in counts], rows, 1)


def _part_table(comparisons: StudyComparisons, column: str) -> TextTable:
    """Return how often each technique, metric or data set is better and worse, by each rule."""
    rows = []
    for (name,), index in comparisons.rows_by(column).items():
        n = len(index)
        cells = [TableCell(name), TableCell(f"{n:,}", value=n)]
        for rule in comparisons.rules:
            counts_of_words = comparisons.count(rule, index)
            shares = [f"{100 * counts_of_words[word] / n:.1f}" for word in ("better", "worse")]
            cells.append(
                TableCell(
                    " / ".join(shares), value=(counts_of_words["better"] - counts_of_words["worse"]) / n
                )
            )
        rows.append(cells)
    heads = [column, "n"] + [RULES[rule] for rule in comparisons.rules]
    return plain_table("", heads, rows, 1)


def _matrix_section(comparisons: StudyComparisons) -> Section:
    """Return wins and losses of each technique on each data set."""
    index_of = comparisons.rows_by("technique", "data")
    data_sets = comparisons.frame["data"].unique().tolist()
    rows = []
    for technique in comparisons.frame["technique"].unique().tolist():
        cells = [TableCell(technique)]
        for data in data_sets:
            if (technique, data) in index_of:
                counts_of_words = comparisons.count("holm", index_of[technique, data])
                lead = counts_of_words["better"] - counts_of_words["worse"]
                cells.append(
                    TableCell(f"{counts_of_words['better']} / {counts_of_words['worse']}", value=lead)
                )
            else:
                cells.append(TableCell("-"))
        rows.append(cells)
    sentence = "How often each technique is shown to be better / worse, after Holm's adjustment."
    table = plain_table("", [""] + data_sets, rows, 1)
    return Section("Techniques by data sets", (sentence,), (table,))


def _forest_section(over_data_sets: pd.DataFrame, comparisons: StudyComparisons) -> Section:
    """Return the means over data sets, a table and a forest for each metric."""
    with_change = over_data_sets.dropna(subset=["change"])
    rows = []
    pictures = []
    for metric, of_metric in with_change.groupby("metric", sort=False):
        limits = [0.0] + of_metric["low"].tolist() + of_metric["high"].tolist()
        axis = axis_around(limits, charts.SIDE, charts.WIDTH - charts.SIDE, least_room=0.01)
        chart_rows = []
        for row in of_metric.sort_values("change").to_dict("records"):
            interval = f"{row['low']:+.3f} to {row['high']:+.3f}"
            text = f"{row['change']:+.3f} ({interval})"
            look: Look = "undecided"
            if row["high"] < 0:
                look = "pass"
            elif row["low"] > 0:
                look = "fail"
            marks = [
                charts.rule("zero", axis, 0.0, 12, "no change"),
                charts.whisker(axis, row["low"], row["high"], interval),
                charts.dot(axis, row["change"], look, f"{row['technique']}: {text}"),
            ]
            chart_rows.append(ChartRow(row["technique"], text, marks))
            lead = row["wins"] - row["losses"]
            cells = [
                TableCell(str(metric)),
                TableCell(row["technique"]),
                TableCell(f"{row['wins']} / {row['losses']}", f"of {row['comparisons']}", lead),
                TableCell(f"{row['change']:+.3f}", f"[{interval}]", row["change"]),
            ]
            for word in ("better", "same", "worse"):
                chance = row[f"{word}_next"]
                cells.append(TableCell(f"{100 * chance:.0f} %", value=chance))
            rows.append(cells)
        title = f"{metric}, {comparisons.sides[str(metric)]}"
        pictures.append(Chart(title, charts.row_chart(title, axis, chart_rows)))
    heads = ("metric", "technique", "wins / losses", "change", "better next", "same next", "worse next")
    sentence = (
        "Change of the distance to what is best, averaged within a data set and then over data sets that "
        "differ (95 %); below 0 is better. Next: the chance that it is better or worse by more than a point "
        "in another data set like these."
    )
    note = (
        "Normal means with a common mean and a spread between data sets, flat priors; of at least "
        f"{MIN_DATA_SETS} data sets. Data sets of one collection are no sample of all."
    )
    table = plain_table("", heads, rows, 2, grouped=True)
    return Section("Over data sets", (sentence,), (table,), (note,), charts=tuple(pictures[:MOST_FORESTS]))
