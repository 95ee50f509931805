"""A document as a part of a notebook: HTML without a style sheet, so that nothing around it changes."""

import re
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

from fairbench_cli.base.files import write_text
from fairbench_cli.base.safe_text import printable
from fairbench_cli.document.html import render_part
from fairbench_cli.document.model import Chart, Document

LOOKS = re.compile(
    r' (?:class|id|role|tabindex|aria-[a-z]+)="[^"]*"'
)  # which a notebook's own style may know


def notebook(document: Document) -> str:
    """Return the answer with its first chart, the facts and all tables; other charts are for pages."""
    chart = ""
    if document.answer is not None:
        statements = (document.answer.headline, *document.answer.statements)
        charts = [statement.chart for statement in statements if statement.chart is not None]
        chart = "".join(map(figure, charts[:1]))
        without_charts = tuple(replace(statement, chart=None) for statement in statements[1:])
        document = replace(document, answer=replace(document.answer, statements=without_charts))
    part = LOOKS.sub("", render_part(document)).replace("see --all", "see to_html()")
    return printable(f"<div>{part.replace('</header>', f'{chart}</header>', 1)}</div>", keep="\n")


def figure(chart: Chart) -> str:
    """Return a chart with its title, on white: its ink is dark, and a notebook may be, too."""
    fine = ""
    if chart.caption:
        fine = f"<br><small>{escape(chart.caption)}</small>"
    title = f"<figcaption><strong>{escape(chart.title)}</strong>{fine}</figcaption>"
    look = "margin: 0; padding: 8px; max-width: 420px; background: #fff; color: #222"
    bare = LOOKS.sub("", chart.svg)
    return f'<figure style="{look}">{title}{bare}</figure>'


@dataclass(frozen=True)
class ShownChart:
    """A chart that shows itself in a notebook, and can be kept.

    Parameters
    ----------
    chart : Chart
        Its title, picture and caption.
    """

    chart: Chart

    @property
    def svg(self) -> str:
        """The picture, an SVG that needs nothing from elsewhere."""
        return self.chart.svg

    def save(self, path: str | Path) -> None:
        """Write the picture to a file of SVG.

        Raises
        ------
        UserError
            When the file cannot be written.
        """
        write_text(Path(path), f"{self.chart.svg}\n")

    def _repr_html_(self) -> str:
        return printable(figure(self.chart), keep="\n")

    def __repr__(self) -> str:
        return f"<Chart: {printable(self.chart.title)}>"
