"""Ranks of techniques over data sets, as a table and as a picture of a page."""

from collections.abc import Iterator

from fairbench_cli.base.safe_text import join_names
from fairbench_cli.document import charts
from fairbench_cli.document.charts import Axis, ChartRow
from fairbench_cli.document.model import Chart, Document, Section, TableCell, TextTable
from fairbench_cli.report.ledger.answer import answer_of
from fairbench_cli.report.ledger.data_set_ranks import RankedGroup, ranked_groups
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show.answer_text import title_of
from fairbench_cli.report.show.page_slots import PagePanels


def ranks_table(name: str, run: RunResults) -> Document:
    """Return the table of ranks: a section per group of data sets, a row per technique, the best first."""
    sections = [Section(_title(group), tables=(_table(group),)) for group in ranked_groups(run)]
    return Document(name, facts=_captions(run), sections=tuple(sections))


def rank_sections(run: RunResults, _page_panels: PagePanels) -> Iterator[Section]:
    """Yield the section of the page on ranks, if there is any: tables, and pictures of the mean ranks."""
    groups = ranked_groups(run)
    if not groups:
        return
    inner_sections = []
    for group in groups:
        metric = next(iter(group.ranks))
        chart = Chart(f"Mean rank by {metric}, 1 is best", draw_ranks(group, metric))
        inner_sections.append(Section(_title(group), tables=(_table(group),), charts=(chart,)))
    yield Section("Over data sets", _captions(run), sections=tuple(inner_sections), anchor="ranks")


def _title(group: RankedGroup) -> str:
    """Return the classifier, world and representation of a group of cases."""
    case = group.cases[0]
    parts = [case.classifier_label, case.world]
    if case.representation != "original":
        parts.append(case.representation)
    return ", ".join(filter(None, parts))


def _table(group: RankedGroup) -> TextTable:
    """Return the wins, ties and losses of each technique, and its mean ranks with what tells two apart."""
    heads = ["technique"]
    keys = ["technique"]
    for metric in group.ranks:
        heads += [f"{metric}: won–tied–lost", "mean rank"]
        keys += [f"{metric}_record", f"{metric}_mean_rank"]
    rows = []
    for i in group.by_rank:
        cells = [TableCell(group.techniques[i].technique)]
        for metric, ranks in group.ranks.items():
            record = group.records[metric][i]
            cells.append(TableCell(f"{record.wins}–{record.ties}–{record.losses}", value=record.wins))
            reach = f"±{ranks.critical_difference / 2:.1f}"
            cells.append(TableCell(f"{ranks.mean[i]:.1f}", reach, value=float(ranks.mean[i])))
        rows.append(tuple(cells))
    return TextTable("", tuple(heads), tuple(rows), words=1, keys=tuple(keys))


def _captions(run: RunResults) -> tuple[str, ...]:
    """Return the sentences on the numbers, and on the techniques that are not ranked."""
    groups = ranked_groups(run)
    answer = answer_of(run)
    captions = [
        "Won, lost: against how many of the other techniques, over all data sets, one is shown to be better, "
        "or worse, for other training and test rows too (5 %, Holm's adjustment over all pairs of a data "
        "set); tied: neither is shown.",
        "Mean rank: 1 for the technique that is nearest to the metric's ideal on a data set, on average over "
        "these. ± is no 95 % interval: two that are farther apart than both together differ at 5 % over all "
        "pairs (Nemenyi's test, by ranks dealt at random within data sets: Demšar 2006). Ranks are joint: "
        "who else runs may turn what is said of two.",
    ]
    for group in groups:
        of_group = f" of {_title(group)}" if len(groups) > 1 else ""
        p_texts = [f"{_p_text(ranks.p)} by {metric}" for metric, ranks in group.ranks.items()]
        cases = join_names([title_of(case, answer) for case in group.cases], len(group.cases))
        captions.append(f"Ranked{of_group}: {cases}. That all techniques rank alike: {', '.join(p_texts)}.")
        if group.left_out:
            names = join_names(group.left_out, len(group.left_out))
            captions.append(
                f"Not ranked{of_group}: {names}, without a value or the same for everybody on some data set."
            )
    return tuple(captions)


def _p_text(p: float) -> str:
    """Write a p-value: "p = 0.335", "p < 0.001"."""
    if p < 0.0005:
        return "p < 0.001"
    return f"p = {p:.3f}"


def draw_ranks(group: RankedGroup, metric: str) -> str:
    """Return a picture of mean ranks with what tells two apart, the best on top."""
    ranks = group.ranks[metric]
    low, high = ranks.limits
    axis = Axis(1.0, float(len(group.techniques)))
    rows = []
    for i in sorted(range(len(group.techniques)), key=lambda i: float(ranks.mean[i])):
        name = group.techniques[i].technique
        text = f"{ranks.mean[i]:.1f} ±{ranks.critical_difference / 2:.1f}"
        marks = [
            charts.whisker(axis, float(low[i]), float(high[i]), f"{name}: {text}"),
            charts.dot(axis, float(ranks.mean[i]), "undecided", f"{name}: {text}"),
        ]
        rows.append(ChartRow(name, text, marks))
    return charts.row_chart(f"Mean ranks by {metric}", axis, rows)
