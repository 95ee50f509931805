"""``fairbench list`` and ``docs``: what can stand in a config, the configs that come along, and the pages."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args

import typer

from fairbench_cli.base.errors import find_nearest, suggest, user_error
from fairbench_cli.base.files import read_text, shipped_folder, shipped_names
from fairbench_cli.base.safe_text import shorten
from fairbench_cli.cli.console import fold, out, print_document, print_rows, print_text, say
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


@dataclass(frozen=True)
class ListedName:
    """A name that a config or a command takes.

    Parameters
    ----------
    name, summary : str
        As it is written, and a line on it.
    parameters : str
        Of a component, with their defaults.
    parent : str
        Of a variant of a data set, that data set.
    usual : bool
        Whether it is listed without ``--all``.
    """

    name: str
    summary: str
    parameters: str = ""
    parent: str = ""
    usual: bool = True


def list_names(
    kind: Annotated[Listed | None, typer.Argument(help="What to list; by default the names of each.")] = None,
    name: Annotated[
        str | None,
        typer.Argument(
            help="What to explain: an intervention, classifier, mechanism or metric; or ./mine.py:Thing."
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="All metrics and parameters, and what serves only to reproduce a paper."),
    ] = False,
    long: Annotated[
        bool, typer.Option("--long", help="Of metrics, all there is to know: a small encyclopaedia.")
    ] = False,
) -> None:
    """List configs, data sets, interventions, classifiers, mechanisms and metrics by name, or explain one."""
    if long and kind != "metrics":
        raise user_error("--long is for metrics", "write: fairbench list metrics --long")
    if name is not None:
        _explain(str(kind), name)
    elif long:
        from fairbench_cli.cli.pages import metric_pages

        print_document(metric_pages())
    elif everything:
        kinds = (kind,) if kind else get_args(Listed)
        print_document(Document("", sections=tuple(chain.from_iterable(map(_full_sections, kinds)))))
    elif kind:
        print_document(Document("", sections=(_short_section(kind),)))
    else:
        sections = tuple(map(_overview, get_args(Listed)))
        print_document(Document("", sections=sections, notes=(OVERVIEW_NOTE,)))


OVERVIEW_NOTE = (
    "A line on each: fairbench list metrics. One explained: fairbench list metrics NAME. Everything: "
    "fairbench list --all. (+6): so many variants of the data set, which fairbench list datasets names."
)


def _explain(kind: str, name: str) -> None:
    """Print the page of one thing."""
    if kind == "metrics":
        from fairbench_cli.cli.pages import metric_page

        print_document(metric_page(name))
        return
    if kind not in COMPONENTS:
        shows = {"datasets": f"fairbench data show {name}", "configs": f"fairbench plan {name}"}
        raise user_error(f"{kind} are listed by name alone", f"write: {shows.get(kind, 'fairbench list')}")
    from fairbench_cli.base.plugins import entry_points_by_name, find_code, suggest_name
    from fairbench_cli.cli.pages import component_page

    registry: Registry = resolve_name(f"fairbench_cli.{COMPONENTS[kind]}")
    component = registry.get(name) or (find_code(name, registry.group, Path()) if registry.group else None)
    if component is None:
        names = list(registry)
        if registry.group:
            names += entry_points_by_name(registry.group)
        raise user_error(f'unknown {registry.name} "{name}"', suggest_name(name, names))
    thing = component.load()
    foreign = None
    if name not in registry:
        foreign = registry.foreign
    fault = None
    if foreign is not None:
        fault = foreign.fault(thing)
    if fault is not None:
        raise user_error(f"{name} {fault[0]}", fault[1])
    print_document(component_page(name, thing, technique=kind == "interventions", foreign=foreign))


def _overview(kind: str) -> Section:
    """Return the usual names of a kind, and how many there are; variants of a data set are only counted."""
    listed = _names(kind)
    usual = [entry for entry in listed if entry.usual]
    variants = Counter(entry.parent for entry in usual)
    names = []
    for entry in usual:
        if not entry.parent:
            count = f" (+{variants[entry.name]})" if variants[entry.name] else ""
            names.append(f"{entry.name}{count}")
    total = f"{len(listed)}" if len(usual) == len(listed) else f"{len(usual)} of {len(listed)}"
    return Section(f"{kind} ({total})", (", ".join(names),))


def _short_section(kind: str) -> Section:
    """Return a table with a line on each usual name of a kind, variants of a data set below it."""
    listed = _listed_names(kind)
    usual = [entry for entry in listed if entry.usual]
    rows = []
    for entry in usual:
        indent = "  " if entry.parent else ""
        rows.append([indent + entry.name, entry.summary])
    footnotes = []
    if kind == "metrics":
        from fairbench_cli.measures.number_measures import NUMBER_MEASURES

        footnotes.append("And each rate, compared between groups: RATE-COMPARISON, such as tpr-difference.")
        footnotes.append(f"Of numbers, in an audit: {', '.join(NUMBER_MEASURES)}.")
    if kind in (*COMPONENTS, "metrics"):
        footnotes.append(f"One explained: fairbench list {kind} NAME.")
    if len(listed) > len(usual):
        footnotes.append(f"All {len(listed)}: fairbench list {kind} --all.")
    return _table(kind, ["name", "what"], rows, " ".join(footnotes))


def _full_sections(kind: str) -> Iterable[Section]:
    """Return tables of all names of a kind, of components with their parameters."""
    if kind == "metrics":
        from fairbench_cli.cli.pages import metric_tables

        return metric_tables().sections
    if kind not in COMPONENTS:
        return [_short_section(kind)]
    rows = []
    for entry in _listed_names(kind):
        rows.append([entry.name, "\n".join(filter(None, (entry.summary, entry.parameters)))])
    footnote = f"Each parameter explained: fairbench list {kind} NAME"
    return [_table(kind, ["name", "what it does, and its parameters"], rows, footnote)]


def _names(kind: str) -> list[ListedName]:
    """Return the same names as `_listed_names` without a word on them: no config, card or class is loaded."""
    if kind == "configs":
        return [ListedName(name, "") for name in shipped_names("configs")]
    if kind == "datasets":
        from fairbench_cli.data.variants import find_parent

        listed = [ListedName(name, "", parent=find_parent(name)) for name in shipped_names("datasets")]
        return sorted(listed, key=_after_parent)
    if kind == "metrics":
        return _listed_metrics()
    entries: Registry = resolve_name(f"fairbench_cli.{COMPONENTS[kind]}")
    listed = [ListedName(name, "", usual=name not in entries.for_reproduction) for name in entries]
    return listed + _listed_in_packages(entries)


def _after_parent(entry: ListedName) -> tuple[str, bool, str]:
    """Return the place of a data set in a list: variants after their parent."""
    return entry.parent or entry.name, bool(entry.parent), entry.name


def _listed_names(kind: str) -> list[ListedName]:
    """Return all names of a kind, in the order in which they are listed."""
    if kind == "configs":
        from fairbench_cli.experiment.config.read import find_config, known_configs, title

        return [ListedName(name, title(find_config(name))) for name in known_configs()]
    if kind == "datasets":
        return _listed_datasets()
    if kind == "metrics":
        return _listed_metrics()
    return _listed_components(kind)


def _listed_datasets() -> list[ListedName]:
    """Return the data sets, variants after their parent, with the attributes and the papers that use each."""
    from fairbench_cli.data.card import find_card, known_cards, read_card
    from fairbench_cli.experiment.config.read import find_config, read_dataset_names
    from fairbench_cli.papers.registry import PAPERS

    papers: dict[str, list[str]] = {}
    for paper in PAPERS:
        for name in read_dataset_names(find_config(paper)):
            papers.setdefault(name, []).append(paper)
    listed = []
    for card in map(read_card, map(find_card, known_cards())):
        papers_of_card = papers.get(card.name, [])
        facts = [", ".join(attribute for attribute, role in card.protected.items() if role.of is None)]
        if papers_of_card:
            facts.append(f"used by {', '.join(papers_of_card)}")
        listed.append(ListedName(card.name, f"{card.title} ({'; '.join(facts)})", parent=card.variant_of))
    return sorted(listed, key=_after_parent)


def _listed_components(kind: str) -> list[ListedName]:
    """Return the names of a registry, then those that installed packages add."""
    from fairbench_cli.experiment.config.components import word

    entries: Registry = resolve_name(f"fairbench_cli.{COMPONENTS[kind]}")
    listed = []
    for name, entry in entries.items():
        component = entry.load()
        parameters = ", ".join(
            field.name if field.default is MISSING else f"{field.name}={word(field.default)}"
            for field in fields(component)
        )
        usual = name not in entries.for_reproduction
        listed.append(ListedName(name, entry.summary, parameters, usual=usual))
    return listed + _listed_in_packages(entries)


def _listed_in_packages(entries: "Registry") -> list[ListedName]:
    """Return the names that installed packages add to a registry."""
    from fairbench_cli.base.plugins import entry_points_by_name

    listed = []
    in_packages = entry_points_by_name(entries.group) if entries.group else {}
    for name, point in in_packages.items():  # nothing of theirs is run
        if name in entries:  # ours is meant
            continue
        package = "an installed package"
        if point.dist:
            package = f"{point.dist.name} {point.dist.version}"
        listed.append(ListedName(name, f"{point.value}, of {package}"))
    return listed


def _listed_metrics() -> list[ListedName]:
    """Return the metrics: rates, then names from the literature, then the others."""
    from fairbench_cli.measures.rates import RATES
    from fairbench_cli.measures.registry import METRICS

    sections = {"rate": 0, "alias": 1}
    metrics = sorted(METRICS.values(), key=lambda metric: sections.get(metric.section, 2))
    listed = []
    for metric in metrics:
        summary = metric.alias_of or metric.formula
        if metric.name in RATES:
            summary = f"{RATES[metric.name].label}, {metric.formula}"
        listed.append(ListedName(metric.name, summary, usual=metric.usual))
    return listed


def _table(title: str, heads: list[str], rows: list[list[str]], footnote: str = "") -> Section:
    return Section(title, tables=(plain_table("", heads, rows, omitted=footnote),))


TOPICS = (
    *("tutorial", "howto", "concepts"),
    *("guide", "audit", "web", "web-data", "numbers", "config", "data", "results", "measures"),
    *("techniques", "api", "extending"),
    *("studies", "networks", "worlds", "standins", "clusters"),
    *(
        "papers",
        "cardoso2019",
        "friedler2019",
        "zliobaite2015",
        "zliobaite2017",
        "chen2023",
        "gallery",
        "reference",
    ),
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
        list[str] | None,
        typer.Argument(
            help="A page, PAGE#PART, or words to look for; without, all pages.", show_default=False
        ),
    ] = None,
) -> None:
    """Show a page of the documentation, or where words stand; Markdown in a pipe."""
    topics = pages()
    if not topic:
        titles = [[name, read_text(path).splitlines()[0].lstrip("# ")] for name, path in topics.items()]
        print_rows(["topic", "page"], titles)
        say("Read one with: fairbench docs TOPIC; look for words with: fairbench docs WORDS")
        return
    page, is_part, anchor = " ".join(topic).partition("#")
    name = Path(page).name.removesuffix(".md").lower()
    if name not in topics:
        _print_passages(" ".join(topic), topics)
        return
    text = read_text(topics[name])
    if is_part:
        from fairbench_cli.cli.docs_search import read_part

        text = read_part(text, anchor)
    if not text:
        raise user_error(f'{name} has no part "{anchor}"', f"read all of it with `fairbench docs {name}`")
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


def _print_passages(query: str, topics: Mapping[str, Path]) -> None:
    """Print the headings and sentences of all pages that have the words asked for."""
    from fairbench_cli.cli.docs_search import find_passages, read_passages

    passages = list(
        chain.from_iterable(read_passages(name, read_text(path)) for name, path in topics.items())
    )
    hits = find_passages(query, passages)
    for hit in hits:
        fold(f"{hit.where}: {shorten(hit.text, 150)}", "bold" * hit.is_heading, "  ")
    if hits:
        say(f"Read one with: fairbench docs {hits[0].where}")
        return
    choices = set(topics)
    for passage in passages:
        choices.update(re.findall(r"[^\W\d_]+", passage.text.lower()))
    if find_nearest(query, choices) is None:
        choices = set(topics)
    raise user_error(f'no page is called "{query}", and none has these words', suggest(query, choices))
