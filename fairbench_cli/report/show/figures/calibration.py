"""The share with label 1 against the models' scores, by group."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairbench_cli.report.ledger.calibration import LEAST_ROWS, Calibration, compute_calibration
from fairbench_cli.report.ledger.journal_arrays import CellKey, cell_key
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show.figures import pages
from fairbench_cli.report.show.figures.canvas import GREY, IDEAL, SMALL, Look, Panel, facet, lay_out_panels
from fairbench_cli.report.show.scores_text import describe_scores


def draw_calibration(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, protected attribute and classifier: a panel per technique and β.

    The share with label 1 in ranges of the score against their mean score, a line per group. Techniques whose
    scores are no probabilities have no panel.
    """
    # 1. What there is to draw, by cell.
    cells: dict[CellKey, Calibration] = {}
    for data in run.datasets:
        calibration = compute_calibration(data, data.attribute)
        for i, cell in enumerate(data.cells):
            if calibration.of_cell(i).has_rows.any():
                cells[cell_key(cell)] = calibration.of_cell(i)
    # 2. A page for those techniques of which there is some.
    pages_with_scores: dict[pages.PageNames, pages.Page | None] = {}
    for names, page in pages.pages_with_results(run).items():
        pages_with_scores[names] = None
        techniques = []
        for technique in page.techniques:
            if any(page.key(technique, beta) in cells for beta in page.betas):
                techniques.append(technique)
        if techniques:
            pages_with_scores[names] = replace(page, techniques=tuple(techniques))

    def draw_page(run: RunResults, title: str, page: pages.Page) -> Figure:
        return _draw_page(run, title, page, cells)

    return pages.plot_pages(run, pages.PAGE, pages_with_scores, draw_page)


def _draw_page(run: RunResults, title: str, page: pages.Page, cells: Mapping[CellKey, Calibration]) -> Figure:
    keys = [page.key(technique, beta) for technique in page.techniques for beta in page.betas]
    groups = next(cells[key].groups for key in keys if key in cells)
    looks = [group_look(g) for g in range(len(groups))]

    def make_panel(beta: float, technique: pages.TechniqueLook) -> Panel:
        draw = partial(_draw_cell, cells.get(page.key(technique, beta)), looks)
        heading = ", ".join(filter(None, [technique.label, pages.beta_title(run.plan, beta)]))
        return Panel(draw, heading, "mean score", "share with label 1")

    n_drawn = {key: int(cells[key].n_repeats) for key in keys if key in cells}
    columns = min(len(page.techniques), 5)
    width = {1: 3.6, 2: 2.9}.get(columns, 1.95)
    return facet(
        f"Calibration of scores by group: {title}",
        f"All repeats together. {pages.describe_test_rows(run.plan)} Ranges of the score with {LEAST_ROWS} "
        "rows and more. Dashed: as many as the scores say.",
        lay_out_panels(page.betas, page.techniques, columns, make_panel),
        columns,
        (width, width),
        list(zip(looks, groups, strict=True)),
        describe_scores(run) + pages.page_notes(page, run, n_drawn),
        share_axes=True,
    )


def group_look(g: int) -> Look:
    """Return how the line of a group is drawn, by its index."""
    return {
        "color": pages.COLOURS[(g + 1) % len(pages.COLOURS)],
        "ls": pages.DASHES[g // len(pages.COLOURS) % len(pages.DASHES)],
        "lw": 1.2,
        "marker": pages.MARKERS[g % len(pages.MARKERS)],
        "ms": 3.5,
    }


def _draw_cell(calibration: Calibration | None, looks: Sequence[Look], ax: Axes) -> None:
    """Draw the lines of a cell's groups; None: it has none."""
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.plot([0, 1], [0, 1], **IDEAL)
    if calibration is None:
        note: Look = {"ha": "center", "fontsize": SMALL, "style": "italic", "color": GREY, "gid": "no-scores"}
        ax.text(0.5, 0.75, "no scores", transform=ax.transAxes, **note)
        return
    for g, look in enumerate(looks):
        drawn = calibration.has_rows[g]
        score = calibration.mean_score[g, drawn]
        share = calibration.base_rate[g, drawn]
        ax.plot(score, share, **look, gid=f"group-{g}", clip_on=False)
