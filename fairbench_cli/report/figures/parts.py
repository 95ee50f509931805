"""What of a study stands in one figure: a data set, a protected attribute, a classifier, their techniques."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.experiment.journal import RETRIED
from fairbench_cli.experiment.plan import RunPlan as Study
from fairbench_cli.report.results import CELL_COLUMNS
from fairbench_cli.report.tables import Key, named, technique_label


@dataclass(frozen=True)
class Technique:
    """A technique as it is drawn: everywhere in a study in the same colour, marker and dash."""

    own: tuple[str, str, bool]
    label: str
    colour: str
    marker: str
    dash: str


@dataclass(frozen=True)
class Part:
    """A data set, a protected attribute and a classifier, with the β and techniques of the study."""

    dataset: str
    attribute: str
    classifier: tuple[str, str]
    techniques: tuple[Technique, ...]
    betas: tuple[float, ...]

    def key(self, technique: Technique, beta: float) -> Key:
        """Return the values of `CELL_COLUMNS` of a cell."""
        return (self.dataset, self.attribute, beta, *technique.own, *self.classifier)

    @property
    def title(self) -> str:
        """Return data set, attribute and classifier, for people."""
        return f"{self.dataset}, {self.attribute}, {named(*self.classifier, CLASSIFIERS)}"


# Okabe and Ito's colours without the yellow, which is lost on paper.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7F4F24")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
DASHES = ("-", "--", "-.", ":")


def parts_of(study: Study) -> list[Part]:
    """Split a study into parts, in the order of its cells."""
    frame = pd.DataFrame(study.cells)
    techniques = {one.own: one for one in _techniques(frame)}
    parts = []
    for (dataset, attribute, *classifier), part in frame.groupby(
        ["dataset", "attribute", "classifier", "classifier_parameters"], sort=False
    ):
        own = dict.fromkeys(_owns(part))
        betas = tuple(sorted(part["beta"].unique().tolist()))
        name, parameters = map(str, classifier)
        drawn = tuple(techniques[one] for one in own)
        parts.append(Part(str(dataset), str(attribute), (name, parameters), drawn, betas))
    return parts


def _owns(frame: pd.DataFrame) -> Iterable[tuple[str, str, bool]]:
    columns = ["intervention", "parameters", "include_protected"]
    rows: Iterable[tuple[str, str, bool]] = frame[columns].itertuples(index=False, name=None)
    return rows


def _techniques(frame: pd.DataFrame) -> list[Technique]:
    """Give variants of one technique one colour, as long as that leaves enough colours in use."""
    owns = list(dict.fromkeys(_owns(frame)))
    families = list(dict.fromkeys(own[0] for own in owns))
    by_family = len(owns) <= 3 * len(families) and len(families) <= len(COLOURS)
    techniques = []
    for i, own in enumerate(owns):
        tone = families.index(own[0]) if by_family else i
        variant = [other[0] for other in owns[:i]].count(own[0]) if by_family else i // len(COLOURS)
        techniques.append(
            Technique(
                own,
                technique_label(*own),
                COLOURS[tone % len(COLOURS)],
                MARKERS[(tone + 4 * variant) % len(MARKERS)],
                DASHES[variant % len(DASHES)],
            )
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


def part_slugs(parts: Sequence[Part]) -> list[str]:
    """Make file names of the parts."""
    return slugs((part.dataset, part.attribute, part.classifier[0]) for part in parts)


def by_cell(frame: pd.DataFrame, metrics: Sequence[str], values: Sequence[str]) -> dict[Key, pd.DataFrame]:
    """Return the rows of some metrics per cell and metric: keys are ``(*CELL_COLUMNS, metric)``."""
    some = frame[frame["metric"].isin(metrics)]
    return {key: part[list(values)] for key, part in some.groupby([*CELL_COLUMNS, "metric"], sort=False)}


def statuses_of(results: pd.DataFrame, metric: str) -> dict[Key, list[str]]:
    """Return the statuses of the repeats of every cell."""
    return {key[:-1]: part["status"].tolist() for key, part in by_cell(results, [metric], ["status"]).items()}


def shortfall(statuses: Sequence[str], drawn: int, repeats: int) -> str:
    """Say why fewer than all repeats of a cell are drawn; nothing when all are.

    >>> shortfall(["ok", "ok"], 2, 2), shortfall(["infeasible"], 0, 1), shortfall(["ok", "infeasible"], 1, 2)
    ('', 'infeasible', '1 of 2 repeats')
    """
    if drawn == repeats:
        return ""
    if drawn:
        return f"{drawn} of {repeats} repeats"
    if RETRIED & set(statuses):
        return "failed"
    if set(statuses) == {"infeasible"}:
        return "infeasible"
    return "not run yet" if len(statuses) < repeats else "undefined (0/0)"


@dataclass(frozen=True)
class Mean:
    """A mean over the repeats with its 95 % interval; the ends are NaN with fewer than two values."""

    mean: float
    low: float
    high: float
    n: int


def means_of(summary: pd.DataFrame, metrics: Sequence[str]) -> dict[Key, Mean]:
    """Return what there is of some metrics; keys are ``(*CELL_COLUMNS, metric)``."""
    some = summary[summary["metric"].isin(metrics) & (summary["n_ok"] > 0)]
    columns = [*CELL_COLUMNS, "metric", "mean", "low", "high", "n_ok"]
    return {row[:-4]: Mean(*row[-4:]) for row in some[columns].itertuples(index=False, name=None)}


def missing_lines(
    part: Part, study: Study, drawn: Mapping[Key, int], statuses: Mapping[Key, list[str]]
) -> list[str]:
    """Say which techniques have no value, or not of every repeat, at which β."""
    reasons = {}
    for t in part.techniques:
        for beta in part.betas:
            key = part.key(t, beta)
            reasons[t.label, beta] = shortfall(statuses.get(key, []), drawn.get(key, 0), study.repeats)
    return [f"{', '.join(who)}: {what}" for what, who in gather(reasons).items()]


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


def tested_on(study: Study) -> str:
    """Say what the classifiers were tested on."""
    if study.test == "network":
        return "Test sets: sampled from the network at β = 0."
    if study.test == "holdout":
        return "Test sets: the rows that are not trained on."
    return "Test set: the original data."


def means_text(study: Study) -> str:
    """Say what is drawn of the repeats, and what the classifiers were tested on."""
    if study.repeats == 1:
        return f"One repeat, so there are no intervals. {tested_on(study)}"
    return f"Means of {study.repeats} repeats with 95 % intervals. {tested_on(study)}"


def idle_beta(study: Study, part: Part) -> list[str]:
    """Say so where β has nothing to edit; real rows have no β to begin with."""
    if study.sample == "data":
        return []
    for source in study.sources:
        own = (source["dataset"], source.get("attribute", part.attribute))
        if own == (part.dataset, part.attribute) and not source["arc_to_outcome"]:
            column = source["edited_column"]
            return [f"{column} is no parent of the outcome, so β changes nothing: results of all β coincide."]
    return []
