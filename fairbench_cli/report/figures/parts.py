"""What of a run stands in one figure: a data set, a protected attribute, a classifier, their techniques."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.report.repeats import TECHNIQUE, CellKey
from fairbench_cli.report.results import RunResults
from fairbench_cli.report.tables import classifier_label, technique_label, why_nothing


@dataclass(frozen=True)
class TechniqueLook:
    """A technique as it is drawn: everywhere in a run in the same colour, marker and dash."""

    own: tuple[str, str, bool]
    label: str
    colour: str
    marker: str
    dash: str


@dataclass(frozen=True)
class Part:
    """A data set, a protected attribute and a classifier, with the β and techniques of the plan."""

    dataset: str
    attribute: str
    representation: str
    classifier: tuple[str, str]
    techniques: tuple[TechniqueLook, ...]
    betas: tuple[float, ...]

    def key(self, technique: TechniqueLook, beta: float) -> CellKey:
        """Return the values of `CELL_COLUMNS` of a cell."""
        return (self.dataset, self.attribute, self.representation, beta, *technique.own, *self.classifier)

    @property
    def title(self) -> str:
        """Return data set, attribute and classifier, for people."""
        title = f"{self.dataset}, {self.attribute}, {classifier_label(*self.classifier)}"
        return title if self.representation == "original" else f"{title}, {self.representation}"


# Okabe and Ito's colours without the yellow, which is lost on paper.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7F4F24")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
DASHES = ("-", "--", "-.", ":")


def parts_of(plan: RunPlan) -> list[Part]:
    """Split a plan into parts, in the order of its cells."""
    looks = technique_looks(plan)
    found: dict[tuple[str, str, str, tuple[str, str]], dict[tuple[TechniqueLook, float], None]] = {}
    for cell in plan.cells:
        own = tuple(cell[name] for name in TECHNIQUE)
        classifier = cell["classifier"], cell["classifier_parameters"]
        name = cell["dataset"], cell["attribute"], cell["representation"], classifier
        found.setdefault(name, {})[looks[own], cell["beta"]] = None
    return [
        Part(*name, tuple(dict.fromkeys(t for t, _ in drawn)), tuple(sorted({beta for _, beta in drawn})))
        for name, drawn in found.items()
    ]


def technique_looks(plan: RunPlan) -> dict[tuple[str, str, bool], TechniqueLook]:
    """Return how each technique of a run is drawn, by its values of `TECHNIQUE`."""
    owns = dict.fromkeys(tuple(cell[name] for name in TECHNIQUE) for cell in plan.cells)
    return {one.own: one for one in _techniques(list(owns))}


def _techniques(owns: Sequence[tuple[str, str, bool]]) -> list[TechniqueLook]:
    """Give variants of one technique one colour, as long as that leaves enough colours in use."""
    families = list(dict.fromkeys(own[0] for own in owns))
    most = max((sum(own[0] == family for own in owns) for family in families), default=0)
    by_family = len(owns) <= 3 * len(families) and len(families) <= len(COLOURS) and most <= len(DASHES)
    techniques = []
    for i, own in enumerate(owns):
        tone = families.index(own[0]) if by_family else i
        variant = [other[0] for other in owns[:i]].count(own[0]) if by_family else i // len(COLOURS)
        marker, dash = MARKERS[(tone + 4 * variant) % len(MARKERS)], DASHES[variant % len(DASHES)]
        techniques.append(
            TechniqueLook(own, technique_label(*own), COLOURS[tone % len(COLOURS)], marker, dash)
        )
    return techniques


def slugs(names: Iterable[Sequence[str]]) -> list[str]:
    """Make file names, all different, of names.

    >>> slugs([("adult", "sex"), ("a/b", "s x"), ("a b", "s x")])
    ['adult-sex', 'a-b-s-x', 'a-b-s-x-2']
    """
    found: list[str] = []
    for parts in names:
        slug = base = re.sub(r"[^\w.+-]+", "-", "-".join(parts)).strip("-.") or "unnamed"
        k = 1
        while slug.casefold() in {other.casefold() for other in found}:
            k += 1
            slug = f"{base}-{k}"
        found.append(slug)
    return found


def parts_by_slug(run: RunResults) -> dict[str, Part]:
    """Return the parts of a run by file name, those of data sets without any result left out."""
    parts = [part for part in parts_of(run.plan) if (part.dataset, part.attribute) in run.with_results]
    names = slugs(
        (
            part.dataset,
            part.attribute,
            *([part.representation] * (part.representation != "original")),
            part.classifier[0],
        )
        for part in parts
    )
    return dict(zip(names, parts, strict=True))


def shortfall(statuses: Sequence[str], drawn: int, repeats: int) -> str:
    """Say why fewer than all repeats of a cell are drawn; nothing when all are.

    >>> shortfall(["ok", "ok"], 2, 2), shortfall(["infeasible"], 0, 1), shortfall(["ok", "infeasible"], 1, 2)
    ('', 'infeasible', '1 of 2 repeats')
    """
    if drawn == repeats:
        return ""
    if drawn:
        return f"{drawn} of {repeats} repeats"
    return why_nothing(statuses, repeats)


def notes_of(part: Part, run: RunResults, drawn: Mapping[CellKey, int]) -> list[str]:
    """Say whether β has nothing to edit, and which techniques lack values of some repeats at which β.

    `drawn` are the numbers of repeats that are drawn, by cell.
    """
    reasons = {}
    for t in part.techniques:
        for beta in part.betas:
            key = part.key(t, beta)
            n = run.plan.config.repeats
            reasons[t.label, beta] = shortfall(run.cell(key).statuses, drawn.get(key, 0), n)
    missing = [f"{', '.join(who)}: {what}" for what, who in gather(reasons).items()]
    return idle_beta(run.plan, part) + missing


def gather(reasons: Mapping[tuple[str, float], str]) -> dict[str, list[str]]:
    """Return who shares a reason at the same β.

    Parameters
    ----------
    reasons : mapping of (technique, β) to str
        As `shortfall` gives them.

    >>> gather({("a", 0.75): "infeasible", ("a", 1.0): "infeasible", ("b", 1.0): "failed", ("c", 1.0): ""})
    {'infeasible at β = 0.75, 1': ['a'], 'failed at β = 1': ['b']}
    """
    betas: dict[tuple[str, str], list[str]] = {}
    for (name, beta), reason in reasons.items():
        if reason:
            betas.setdefault((name, reason), []).append(f"{beta:g}")
    names: dict[str, list[str]] = {}
    for (name, reason), levels in betas.items():
        names.setdefault(f"{reason} at β = {', '.join(levels)}", []).append(name)
    return names


TESTED_ON: dict[str | None, str] = {
    "network": "Test sets: sampled from the network at β = 0.",
    "holdout": "Test sets: the rows that are not trained on.",
    "original": "Test set: the original data.",
}


def means_text(plan: RunPlan) -> str:
    """Say what is drawn of the repeats, and what the classifiers were tested on."""
    n = plan.config.repeats
    drawn = (
        "One repeat, so there are no intervals." if n == 1 else f"Means of {n} repeats with 95 % intervals."
    )
    return f"{drawn} {TESTED_ON[plan.config.test]}"


def idle_beta(plan: RunPlan, part: Part) -> list[str]:
    """Say so where β has nothing to edit; real rows have no β to begin with."""
    own = plan.dataset(part.dataset, part.attribute)
    if plan.config.sample.source == "data" or own["arc_to_outcome"]:
        return []
    column = own["edited_column"]
    return [f"{column} is no parent of the outcome, so β changes nothing: results of all β coincide."]
