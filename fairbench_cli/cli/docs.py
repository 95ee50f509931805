"""``fairbench docs``: the pages of the documentation, which come with fairbench."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from fairbench_cli.base.errors import suggest, user_error
from fairbench_cli.base.files import read_text
from fairbench_cli.cli.console import out, print_rows, print_text, say

FIRST = ("tutorial", "howto", "concepts", "guide")  # what to read before the others


def pages() -> dict[str, Path]:
    """Return the pages by topic, which is the name of their file: those to begin with, then the others.

    Those of ``reference/`` are left out, as a site fills them: a terminal has ``list`` and ``--help``.
    """
    inside = Path(__file__).parents[1] / "docs"  # in an installed wheel
    folder = inside if inside.is_dir() else Path(__file__).parents[2] / "docs"
    found = {path.stem: path for path in (*sorted(folder.glob("*.md")), *sorted(folder.glob("papers/*.md")))}
    return {topic: found[topic] for topic in (*FIRST, *found)}


def docs(
    topic: Annotated[
        str | None, typer.Argument(help="A page; without one, all are listed.", show_default=False)
    ] = None,
) -> None:
    """Show a page of the documentation: for reading on a terminal, as Markdown in a pipe."""
    known = pages()
    if topic is None:
        titles = [[name, read_text(path).splitlines()[0].lstrip("# ")] for name, path in known.items()]
        print_rows(["topic", "page"], titles)
        say("Read one with: fairbench docs TOPIC")
        return
    name = Path(topic).name.removesuffix(".md").lower()
    if name not in known:
        raise user_error(f'no page is called "{topic}"', suggest(name, known))
    text, console = read_text(known[name]), out()
    if not console.is_terminal:
        print_text(text, "markdown")
        return
    from rich.markdown import Markdown, TableElement
    from rich.table import Table

    class WholeTable(TableElement):
        """A table whose cells are folded where they do not fit, instead of cut."""

        def __rich_console__(self, *given: Any) -> Iterator[Any]:
            for table in super().__rich_console__(*given):
                for column in table.columns if isinstance(table, Table) else ():
                    column.overflow = "fold"
                yield table

    class WholePage(Markdown):
        """A page with such tables."""

        elements: ClassVar = Markdown.elements | {"table_open": WholeTable}

    console.print(WholePage(text))
