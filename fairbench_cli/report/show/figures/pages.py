"""What of a run stands in one figure, under which name, how it looks there, and what is missing of it."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import make_slugs
from fairbench_cli.experiment.plan import RunPlan, arc_in_words
from fairbench_cli.report.ledger.cell_labels import (
    NO_BIAS,
    OWN_MODEL,
    DisplayNames,
    distinct_models,
    read_display_names,
    why_no_value,
)
from fairbench_cli.report.ledger.journal_arrays import TECHNIQUE, CellKey, is_baseline
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show.figures.canvas import GREY, Look, dot_look
from fairbench_cli.report.show.tables import means_in_words


@dataclass(frozen=True)
class TechniqueLook:
    """A technique as it is drawn: everywhere in a run in the same colour, marker and dash."""

    technique: tuple[str, str, bool]
    label: str
    colour: str
    marker: str
    dash: str

    @property
    def is_baseline(self) -> bool:
        """Whether it is ``none``, the baseline of the others."""
        intervention, parameters, _ = self.technique
        return is_baseline(intervention, parameters)

    def dot(self, size: float) -> Look:
        """Return how its marks are drawn."""
        return dot_look(self.colour, self.marker, size)

    def line(self, width: float) -> Look:
        """Return how its lines are drawn."""
        return {"color": self.colour, "ls": self.dash, "lw": width}


@dataclass(frozen=True)
class Page:
    """A data set, an attribute, a world and a classifier, with the β and techniques of the plan."""

    dataset: str
    attribute: str
    representation: str
    world: str
    classifier: tuple[str, str]
    techniques: tuple[TechniqueLook, ...]
    betas: tuple[float, ...]

    def key(self, technique: TechniqueLook, beta: float) -> CellKey:
        """Return the values of `CELL_COLUMNS` of a cell."""
        situation = (self.dataset, self.attribute, self.world, self.representation)
        return (*situation, beta, *technique.technique, *self.classifier)


# Okabe and Ito's colours without the yellow, which is lost on paper.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7F4F24")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
DASHES = ("-", "--", "-.", ":")
PAGE = ("dataset", "attribute", "representation", "world", "classifier")
PageNames = tuple[str, str, str, str, tuple[str, str]]


def split_into_pages(plan: RunPlan) -> dict[PageNames, Page]:
    """Split a plan into pages, in the order of its cells, by their values of `PAGE`."""
    looks = technique_looks(plan)

    def page_names(cell: dict[str, Any]) -> PageNames:
        classifier = cell["classifier"], cell["classifier_parameters"]
        return cell["dataset"], cell["attribute"], cell["representation"], cell["world"], classifier

    pages = {}
    for names, cells in group_by(plan.cells, page_names).items():
        techniques = dict.fromkeys(looks[_technique_of(cell)] for cell in cells)
        betas = {cell["beta"] for cell in cells}
        pages[names] = Page(*names, tuple(techniques), tuple(sorted(betas)))
    return pages


def _technique_of(cell: Mapping[str, Any]) -> Any:
    """Return the values of `TECHNIQUE` of a cell."""
    return tuple(cell[name] for name in TECHNIQUE)


def pages_with_results(run: RunResults) -> dict[PageNames, Page]:
    """Return the pages of a run, those of data sets without any result left out."""
    return {
        names: page
        for names, page in split_into_pages(run.plan).items()
        if names[:2] in run.datasets_with_results
    }


def technique_looks(plan: RunPlan) -> dict[tuple[str, str, bool], TechniqueLook]:
    """Return how each technique of a run is drawn, by its values of `TECHNIQUE`.

    Variants of one technique have one colour, as long as that leaves enough colours in use.
    """
    techniques = list(dict.fromkeys(_technique_of(cell) for cell in plan.cells))
    families = [family for family, _, _ in techniques]
    family_sizes = Counter(families)
    n_families = len(family_sizes)
    largest = max(family_sizes.values(), default=0)
    by_family = len(techniques) <= 3 * n_families and n_families <= len(COLOURS) and largest <= len(DASHES)
    looks = {}
    display_names = read_display_names(plan.config)
    for i, technique in enumerate(techniques):
        if by_family:
            tone = list(family_sizes).index(families[i])
            variant = families[:i].count(families[i])
        else:
            tone = i
            variant = i // len(COLOURS)
        marker = MARKERS[i % len(MARKERS)]  # of up to eleven techniques all differ
        dash = DASHES[variant % len(DASHES)]
        intervention, parameters, include_protected = technique
        label = display_names.technique(intervention, parameters, include_protected)
        looks[technique] = TechniqueLook(technique, label, COLOURS[tone % len(COLOURS)], marker, dash)
    return looks


Content = TypeVar("Content")
Picture = TypeVar("Picture")


def name_figures(
    columns: Sequence[str],
    contents: Mapping[Any, Content],
    display_names: DisplayNames,
    *,
    worlds: bool = False,
) -> dict[str, tuple[str, Content]]:
    """Return contents with their titles by file name, given them by their values of some columns.

    Only what tells something is named: β where there are several, a world in a run that has `worlds`, a
    representation that is not the original one. A classifier is a pair, with its parameters.

    >>> names = DisplayNames(datasets={"adult": "Adult, 1994"})
    >>> name_figures(["dataset", "beta"], {("adult", 0.5): "a", ("compas", 0.5): "b"}, names)
    {'adult': ('Adult, 1994', 'a'), 'compas': ('compas', 'b')}
    >>> name_figures(["dataset", "beta"], {("adult", 0.5): "a", ("adult", 1.0): "b"}, DisplayNames())
    {'adult-beta-0.5': ('adult, β = 0.5', 'a'), 'adult-beta-1': ('adult, β = 1', 'b')}
    """
    betas = set()
    if "beta" in columns:
        beta_column = list(columns).index("beta")
        betas = {key[beta_column] for key in contents}

    def names_in(column: str, value: Any) -> list[tuple[str, str]]:
        """Return how a value is written in a file name and in a title, if it is."""
        match column:
            case "beta" if len(betas) > 1:
                return [(f"beta-{value:g}", f"β = {value:g}")]
            case "world" if worlds:
                return [(value or NO_BIAS, value or NO_BIAS)]
            case "representation" if value != "original":
                return [(value, value)]
            case "beta" | "world" | "representation":  # it would tell nothing apart
                return []
            case "classifier":
                name, parameters = value
                return [(name, display_names.classifier(name, parameters))]
            case "dataset":
                return [(value, display_names.dataset(value))]
        return [(value, value)]

    titles = []
    slug_parts = []
    for key in contents:
        names_of_key = []
        for column, value in zip(columns, key, strict=True):
            names_of_key += names_in(column, value)
        titles.append(", ".join(title for _, title in names_of_key))
        slug_parts.append([slug for slug, _ in names_of_key])
    return dict(zip(make_slugs(slug_parts), zip(titles, contents.values(), strict=True), strict=True))


def plot_pages(
    run: RunResults,
    columns: Sequence[str],
    contents: Mapping[Any, Content | None],
    draw: Callable[[RunResults, str, Content], Picture],
) -> dict[str, Picture]:
    """Return figures of contents by the names of `name_figures`, drawn with their titles; none of None."""
    titled = name_figures(columns, contents, read_display_names(run.plan.config), worlds=run.plan.has_worlds)
    figures = {}
    for name, (title, content) in titled.items():
        if content is not None:
            figures[name] = draw(run, title, content)
    return figures


def describe_shortfall(run: RunResults, key: CellKey, n_drawn: int) -> str:
    """Say why fewer than all repeats of a cell are drawn; nothing when all are."""
    repeats = run.plan.config.repeats
    if n_drawn == repeats:
        return ""
    if n_drawn:
        return f"{n_drawn} of {repeats} repeats"
    return why_no_value(run.cell_counts(key).statuses)


def describe_missing(
    shortfalls: Iterable[tuple[str, str, str]], where: str, separator: str = ", "
) -> list[str]:
    """Say who lacks values, and where if not everywhere; those together who lack the same.

    Parameters
    ----------
    shortfalls : iterable of (who, position, why)
        With an empty `why` where nothing is missing.
    where, separator : str
        How positions are told, and what stands between them.

    >>> shortfalls = [("a", "0", "failed"), ("a", "1", "failed"), ("b", "0", ""), ("b", "1", "infeasible")]
    >>> describe_missing(shortfalls, " at β = {}")
    ['a: failed.', 'b: infeasible at β = 1.']
    """
    # 1. Of everybody all positions, and those that lack something, by the reason.
    all_positions: dict[str, list[str]] = {}
    lacking: dict[tuple[str, str], list[str]] = {}
    for who, position, why in shortfalls:
        all_positions.setdefault(who, []).append(position)
        if why:
            lacking.setdefault((who, why), []).append(position)
    # 2. Who has the same sentence.
    names_by_clause: dict[str, list[str]] = {}
    for (who, why), positions in lacking.items():
        clause = why
        if positions != all_positions[who]:
            clause += where.format(separator.join(positions))
        names_by_clause.setdefault(clause, []).append(who)
    lines = []
    for clause, names in names_by_clause.items():
        subject = ", ".join(names)
        lines.append(f"{subject}: {clause}." if subject else f"{clause}.")
    return lines


def page_notes(page: Page, run: RunResults, n_drawn: Mapping[CellKey, int]) -> list[str]:
    """Say whether β has nothing to edit, and which techniques lack values of some repeats at which β.

    `n_drawn` are the numbers of repeats that are drawn, by cell.
    """
    shortfalls = []
    for technique in page.techniques:
        for beta in page.betas:
            key = page.key(technique, beta)
            why = describe_shortfall(run, key, n_drawn.get(key, 0))
            shortfalls.append((technique.label, f"{beta:g}", why))
    return describe_idle_beta(run.plan, page) + describe_missing(shortfalls, " at β = {}")


def beta_title(plan: RunPlan, beta: float) -> str:
    """Return the title of a panel of one β; empty in a run without β."""
    if plan.has_betas:
        return f"β = {beta:g}"
    return ""


def describe_test_rows(plan: RunPlan) -> str:
    """Describe the rows that the classifiers were tested on."""
    worlds = plan.has_worlds
    config = plan.config
    unbiased = ""
    if worlds:
        unbiased = " without bias"
    elif plan.has_betas:
        unbiased = " at β = 0"
    sources: dict[str | None, str] = {
        "network": f"sampled from the network{unbiased}",
        "holdout": "the rows that are not trained on",
    }
    heading = "Test set"
    if config.tested in sources:
        heading = "Test sets"
    sentence = f"{heading}: {sources.get(config.tested, plan.test_rows)}"
    if worlds:
        sentence += f", {config.test_labels} labels"
        if config.test_features != "true":
            sentence += ", features as recorded"
    return f"{sentence}."


def describe_means(run: RunResults) -> str:
    """Say what is drawn of the repeats, and what was tested on, as `describe_test_rows` does."""
    return f"{means_in_words(run)} {describe_test_rows(run.plan)}"


def describe_idle_beta(plan: RunPlan, page: Page) -> list[str]:
    """Say so where β has nothing to edit; some runs have no β to begin with."""
    source = plan.dataset(page.dataset, page.attribute)
    if not plan.has_betas or source["arc_to_outcome"]:
        return []
    return [f"{arc_in_words(source)}, so β changes nothing: results of all β coincide."]


@dataclass(frozen=True)
class Mark:
    """How a cell is drawn; `classifier` is empty where it makes no difference."""

    technique: TechniqueLook
    classifier: str
    marker: str

    @property
    def label(self) -> str:
        """Return technique and classifier, for people."""
        if self.classifier not in ("", OWN_MODEL):
            return f"{self.technique.label} with {self.classifier}"
        return self.technique.label


def model_marks(plan: RunPlan, cells: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], Mark]]:
    """Return cells and their marks; of cells that share a model and differ in the classifier, the first."""
    looks = technique_looks(plan)
    models = distinct_models(plan, plan.cells)
    names = list(dict.fromkeys(name for _, name in models if name != OWN_MODEL))
    markers = {name: MARKERS[i % (len(MARKERS) - 1)] for i, name in enumerate(names)}
    markers[OWN_MODEL] = MARKERS[-1]
    has_several = len(markers) > 2
    marked = []
    for cell, name in distinct_models(plan, cells):
        mark = Mark(looks[_technique_of(cell)], name if has_several else "", markers[name])
        marked.append((cell, mark))
    return marked


def technique_legend(marks: Iterable[Mark], *, dots: bool = False) -> list[tuple[Any, str]]:
    """Return the legend's handles and labels: techniques, then classifiers if there are several.

    Parameters
    ----------
    dots : bool
        Whether dots are drawn, see `dot_fill`, and not lines.
    """
    marks = list(marks)
    square: Look = {"ls": "", "marker": "s", "ms": 7, "mew": 1.2}
    legend: list[tuple[Any, str]] = []
    for technique in dict.fromkeys(mark.technique for mark in marks):
        if dots:
            handle = {"color": technique.colour, "mfc": dot_fill(technique)} | square
        else:
            handle = technique.line(2)
        legend.append((handle, technique.label))
    classifiers = {mark.marker: mark.classifier for mark in marks}
    if len(classifiers) > 1:
        look: Look = {"ls": "", "ms": 5, "color": GREY}
        legend += [(look | {"marker": marker}, label) for marker, label in classifiers.items()]
    return legend


def dot_fill(technique: TechniqueLook) -> str:
    """Return how a technique's dots are filled: hollow where its lines are dashed."""
    if technique.dash == DASHES[0]:
        return technique.colour
    return "none"
