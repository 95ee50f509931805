"""``fairbench list`` and ``docs``: what can stand in a config, the configs that come along, and the pages."""

from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args

import typer

from fairbench_cli.base.errors import suggest, user_error
from fairbench_cli.base.files import read_text, shipped_folder
from fairbench_cli.cli.console import out, print_document, print_rows, print_text, say
from fairbench_cli.document.model import Document, Section, plain_table

if TYPE_CHECKING:  # light when asked for --help
    from fairbench_cli.base.registry import Registry

COMPONENTS = {
    "interventions": "interventions.registry:INTERVENTIONS",
    "classifiers": "classifiers.registry:CLASSIFIERS",
    "mechanisms": "network.mechanisms.registry:MECHANISMS",
}
"""The registries of what has parameters."""

Listed = Literal["configs", "datasets", "interventions", "classifiers", "mechanisms", "metrics"]


def list_names(
    kind: Annotated[Listed | None, typer.Argument(help="What to list; everything by default.")] = None,
    name: Annotated[
        str | None,
        typer.Argument(
            help="What to explain: an intervention, classifier, mechanism or metric; or ./mine.py:Thing."
        ),
    ] = None,
    long: Annotated[
        bool, typer.Option("--long", help="Of metrics, all there is to know: a small encyclopaedia.")
    ] = False,
) -> None:
    """List configs, data sets, interventions, classifiers, mechanisms and metrics by name, or explain one."""
    if long and kind != "metrics":
        raise user_error("--long is for metrics", "write: fairbench list metrics --long")
    if name is not None:
        _explain(str(kind), name)
        return
    if kind:
        kinds = (kind,)
    else:
        kinds = get_args(Listed)
    sections = [_section(listed_kind) for listed_kind in kinds if listed_kind != "metrics"]
    if sections:
        print_document(Document("", sections=tuple(sections)))
    if "metrics" in kinds:
        from fairbench_cli.cli.pages import metric_pages, metric_tables

        print_document(metric_pages() if long else metric_tables())


def _explain(kind: str, name: str) -> None:
    """Print the page of one thing."""
    if kind == "metrics":
        from fairbench_cli.cli.pages import metric_page

        print_document(metric_page(name))
        return
    if kind not in COMPONENTS:
        shows = {"datasets": f"fairbench data show {name}", "configs": f"fairbench plan {name}"}
        raise user_error(f"{kind} are listed by name alone", f"write: {shows.get(kind, 'fairbench list')}")
    from fairbench_cli.base.plugins import entry_points_by_name, find_code
    from fairbench_cli.cli.pages import component_page

    registry: Registry = resolve_name(f"fairbench_cli.{COMPONENTS[kind]}")
    component = registry.get(name) or (find_code(name, registry.group, Path()) if registry.group else None)
    if component is None:
        names = list(registry)
        if registry.group:
            names += entry_points_by_name(registry.group)
        raise user_error(f'unknown {registry.name} "{name}"', suggest(name, names))
    thing = component.load()
    if name in registry:
        foreign = None
    else:
        foreign = registry.foreign
    if foreign is None:
        fault = None
    else:
        fault = foreign.fault(thing)
    if fault is not None:
        raise user_error(f"{name} {fault[0]}", fault[1])
    print_document(component_page(name, thing, technique=kind == "interventions", foreign=foreign))


def _section(kind: str) -> Section:
    """Return a table of one kind of thing."""
    if kind == "configs":
        from fairbench_cli.experiment.config.read import find_config, known_configs, title

        return _table(kind, ["name", "what"], [[name, title(find_config(name))] for name in known_configs()])
    if kind == "datasets":
        from fairbench_cli.data.card import find_card, known_cards, read_card

        cards = [read_card(find_card(name)) for name in known_cards()]
        rows = [[card.name, ", ".join(card.protected), card.title] for card in cards]
        return _table(kind, ["name", "protected", "title"], rows)
    from fairbench_cli.base.plugins import entry_points_by_name
    from fairbench_cli.experiment.config.components import word

    entries: Registry = resolve_name(f"fairbench_cli.{COMPONENTS[kind]}")
    rows = []
    for name, entry in entries.items():
        parameters = ", ".join(
            field.name if field.default is MISSING else f"{field.name}={word(field.default)}"
            for field in fields(entry.load())
        )
        rows.append([name, f"{entry.summary}\n{parameters}" if parameters else entry.summary])
    in_packages = entry_points_by_name(entries.group) if entries.group else {}
    for name, point in in_packages.items():  # nothing of theirs is run
        if name in entries:  # ours is meant
            continue
        if point.dist:
            package = f"{point.dist.name} {point.dist.version}"
        else:
            package = "an installed package"
        rows.append([name, f"{point.value}, of {package}"])
    footnote = f"Each parameter explained: fairbench list {kind} NAME"
    return _table(kind, ["name", "what it does, and its parameters"], rows, footnote)


def _table(title: str, heads: list[str], rows: list[list[str]], footnote: str = "") -> Section:
    return Section(title, tables=(plain_table("", heads, rows, omitted=footnote),))


TOPICS = (
    *("tutorial", "howto", "concepts"),
    *("guide", "audit", "config", "data", "results", "measures", "techniques", "api", "extending"),
    *("networks", "worlds", "standins", "clusters"),
    *("papers", "cardoso2019", "friedler2019", "zliobaite2015", "zliobaite2017", "gallery", "reference"),
    *("background", "verdicts", "stability", "performance", "audit-departures"),
    *("c45", "architecture", "tests"),
)
"""The pages in the order in which people need them, which is that of the site's contents."""


def pages() -> dict[str, Path]:
    """Return the pages by topic, which is the name of their file, in the order of `TOPICS`; others come last.

    Left out are the start of a site, and those of ``reference/``, which a site fills: a terminal has ``list``
    and ``--help``.
    """
    folder = shipped_folder("docs")
    paths = sorted(folder.glob("*.md")) + sorted(folder.glob("papers/*.md"))
    by_topic = {path.stem: path for path in paths if path.stem != "index"}
    return {topic: by_topic[topic] for topic in [*TOPICS, *by_topic]}


def docs(
    topic: Annotated[
        str | None, typer.Argument(help="A page; without one, all are listed.", show_default=False)
    ] = None,
) -> None:
    """Show a page of the documentation: for reading on a terminal, as Markdown in a pipe."""
    topics = pages()
    if topic is None:
        titles = [[name, read_text(path).splitlines()[0].lstrip("# ")] for name, path in topics.items()]
        print_rows(["topic", "page"], titles)
        say("Read one with: fairbench docs TOPIC")
        return
    name = Path(topic).name.removesuffix(".md").lower()
    if name not in topics:
        raise user_error(f'no page is called "{topic}"', suggest(name, topics))
    text = read_text(topics[name])
    console = out()
    if not console.is_terminal:
        print_text(text, "markdown")
        return
    from rich.markdown import Markdown, TableElement
    from rich.table import Table

    class FoldedTable(TableElement):
        """A table whose cells are folded where they do not fit, instead of cut."""

        def __rich_console__(self, *arguments: Any) -> Iterator[Any]:
            for table in super().__rich_console__(*arguments):
                if isinstance(table, Table):
                    for column in table.columns:
                        column.overflow = "fold"
                yield table

    class FoldedPage(Markdown):
        """A page with such tables."""

        elements: ClassVar = Markdown.elements | {"table_open": FoldedTable}

    console.print(FoldedPage(text))
