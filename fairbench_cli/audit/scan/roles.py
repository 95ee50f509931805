"""Find out what each column of the predictions is: score, label, weight, model, or an attribute to audit."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.read.defaults import RESERVED, default_attributes
from fairbench_cli.audit.read.predictions import Predictions
from fairbench_cli.base.errors import UserError, shown, suggest, user_error
from fairbench_cli.measures.groups import CROSS

LABELS = ("label_value", "label")
MOST_GROUPS = 1000


@dataclass(frozen=True)
class ColumnRoles:
    """The part each column plays; columns are positions in the file.

    Parameters
    ----------
    taken : dict of column to {"score", "label", "weight", "model", "cluster"}
        Without a label the audit is unsupervised. The score is called "label" where the labels themselves are
        audited.
    score, label, weight, model, cluster : int or None
        The same columns; slices of the rows are models, too.
    others : tuple of int
        Further columns of scores, each compared with `score`. Of two files `score` is that of the baseline.
    single_model : int or None
        A ``model_id`` that nobody named: it must have one value only.
    attributes : dict of name to column
        Those to be audited, in the order of the file (or as named); then those of intersections alone.
    audited : tuple of tuples of names
        What is audited: attributes, then intersections.
    unnamed : set of names
        Attributes that nobody named: those of too many groups are left out.
    quantities : tuple of int
        Columns left out because they hold many numbers, as far as the first rows show.
    notes : tuple of str
        What a reader should know.
    classes : tuple of str
        Of the scores and labels, where several are audited, each against the rest.
    """

    taken: dict[int, str]
    score: int
    label: int | None
    weight: int | None
    model: int | None
    cluster: int | None
    single_model: int | None
    attributes: dict[str, int]
    audited: tuple[tuple[str, ...], ...]
    unnamed: frozenset[str]
    quantities: tuple[int, ...]
    notes: tuple[str, ...]
    classes: tuple[str, ...] = ()
    others: tuple[int, ...] = ()

    @property
    def bad_label(self) -> int:
        """The code of a label that is none: one more than the highest."""
        return max(1, len(self.classes)) + 1


def assign(
    source: Predictions,
    config: AuditConfig,
    texts: frozenset[int] = frozenset(),
    many: frozenset[int] = frozenset(),
) -> ColumnRoles:
    """Return the role of each column; `texts` now are known to hold words, `many` to have too many groups.

    The score is looked for as ``score``, the label as ``label_value`` or ``label``; attributes default to
    every other text column without identifiers. A score that is the label, both named, lets the labels
    themselves be audited; so does an explanation of a file without scores.

    Raises
    ------
    UserError
        For a column that is not there or has two roles, or when no attribute is left.
    """
    notes: list[str] = []
    itself = config.score is not None and config.score == config.label
    score, label = config.score or "score", config.label or _usual_label(source)
    if config.score is None and config.explained_by and "score" not in source.places and label:
        score, itself = label, True
    if itself:
        notes.append(f"The labels {shown(score)} themselves are audited, as decisions.")
    elif label is None:
        notes.append("No label column: only what needs no labels is audited (name one with --label).")
    asked = {
        "score": (score, "--score"),
        "label": (None if itself else label, "--label"),
        "weight": (config.weight, "--weight"),
        "model": (config.model_column, "--model-column"),
        "cluster": (config.cluster, "--cluster"),
        "slice": (config.sliced_by, "--slice"),
        "id": (config.identifier, "--id"),
    }
    asked |= {f"score {name}": (name, "--score") for name in (config.scores or ())[1:]}
    found = {role: find_column(source, name, flag) for role, (name, flag) in asked.items() if name}
    taken: dict[int, str] = {}
    for role, column in found.items():
        if column in taken:
            what = f"column {shown(source.columns[column])} cannot be both {taken[column]} and {role}"
            raise user_error(what, "name another column", asked[role][1])
        taken[column] = "label" if itself and role == "score" else role
    if source.alone is not None:
        taken[len(source.columns) - 1] = "baseline score"
    quantities: tuple[int, ...] = ()
    left_out: tuple[str, ...] = ()
    if config.attributes is None:
        free = [i for name, i in source.places.items() if i not in taken and name.lower() not in RESERVED]
        chosen = default_attributes(source, free, frozenset(config.bins), texts, many)
        attributes, quantities = chosen.attributes, chosen.quantities
        notes += chosen.notes
        left_out = chosen.notes
    else:
        attributes = {name: find_column(source, name, "--attribute", taken) for name in config.attributes}
    for name in config.bins:
        attributes.setdefault(name, find_column(source, name, "--bins", taken))
    crossed = dict.fromkeys(chain.from_iterable(config.intersections))
    crossed_alone = [name for name in crossed if name not in attributes]
    parts = {name: find_column(source, name, "--intersect", taken) for name in crossed_alone}
    if not attributes and not config.intersections:
        fix = "add a column such as race or sex, or name one with --attribute"
        if quantities:
            number = source.columns[quantities[0]]
            fix = f"cut a numeric column, as in --bins {number}=4, or name it with --attribute"
        why = f". {left_out[0].rstrip('.')}" if left_out else ""
        raise user_error(f"no attribute column is left to audit{why}", fix, source.name)
    single = None if "model" in found else source.places.get("model_id")
    scores = [column for role, column in found.items() if role.partition(" ")[0] == "score"]
    if source.alone is not None:
        scores = [len(source.columns) - 1, *scores]  # the baseline comes first
    return ColumnRoles(
        taken=taken,
        score=scores[0],
        label=found.get("label"),
        weight=found.get("weight"),
        model=found.get("slice", found.get("model")),
        cluster=found.get("cluster"),
        single_model=None if single in taken or single in attributes.values() else single,
        attributes=attributes | parts,
        audited=(*((name,) for name in attributes), *config.intersections),
        unnamed=frozenset(attributes if config.attributes is None else ()) - {*config.bins, *crossed},
        quantities=quantities,
        notes=tuple(notes),
        others=tuple(scores[1:]),
    )


def _usual_label(source: Predictions) -> str | None:
    """Return the label column by its usual name; refuse it in capitals."""
    known = [name for name in LABELS if name in source.places]
    capitals = [name for name in source.places if name.lower() in LABELS]
    if capitals and not known:
        raise _unknown(source, "label_value", "--label", capitals[:1])
    return known[0] if known else None


def find_column(source: Predictions, name: str, flag: str, taken: Mapping[int, str] | None = None) -> int:
    """Return the column of a name, which must not be taken."""
    column = source.places.get(name)
    if column is None:
        free = [other for other, place in source.places.items() if place not in (taken or ())]
        raise _unknown(source, name, flag, free)
    if taken and column in taken:
        raise user_error(f"column {shown(name)} is the {taken[column]}", "name another attribute", flag)
    return column


def _unknown(source: Predictions, name: str, flag: str, names: list[str]) -> UserError:
    where = f"{source.name}:1" if source.format == "csv" else source.name
    what = f"no column {shown(name)}"
    if len(source.columns) == 1:
        only = shown(source.columns[0])
        return user_error(f"{what}, only {only}", "separate the columns by commas", where)
    also = "; to audit the labels themselves, name them there too" if flag == "--score" else ""
    return user_error(what, f"{suggest(name, names)} (name it with {flag}{also})", where)


def too_many_groups(source: Predictions, names: tuple[str, ...], count: str) -> UserError:
    """Return the error for an attribute, or an intersection, that cannot be audited."""
    name = CROSS.join(names)
    what = f"{name} has {count} different values; at most {MOST_GROUPS} groups can be audited"
    fix = f"name the attributes to audit with --attribute, or cut it if it is numeric: --bins {name}=4"
    return user_error(what, "intersect fewer attributes" if len(names) > 1 else fix, source.name)
