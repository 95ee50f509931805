"""Find out what each column of the predictions is: score, label, weight, model, or an attribute to audit."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.read.predictions import Predictions
from fairbench_cli.errors import UserError, shown, suggest, user_error

RESERVED = frozenset(
    "id entity_id model_id score label label_value as_of_date rank_abs rank_pct".split()  # noqa: SIM905
)
LABELS = ("label_value", "label")
MOST_GROUPS = 1000
COLUMNS_AT_ONCE = 50  # that are looked at in one query of the first rows
MOST_CODES = 20  # a column of numbers with more different ones is a quantity, not a code


@dataclass(frozen=True)
class ColumnRoles:
    """The part each column plays; columns are positions in the file.

    Parameters
    ----------
    taken : dict of column to {"score", "label", "weight", "model"}
        Without a label the audit is unsupervised. The score is called "label" where the labels themselves are
        audited.
    score, label, weight, model : int or None
        The same columns.
    single_model : int or None
        A ``model_id`` that nobody named: it must have one value only.
    attributes : dict of name to column
        Those to be audited, in the order of the file (or as named); then those of intersections alone.
    audited : tuple of tuples of names
        What is audited: attributes, then intersections.
    quantities : tuple of int
        Columns left out because they hold many numbers, as far as the first rows show.
    notes : tuple of str
        What a reader should know.
    """

    taken: dict[int, str]
    score: int
    label: int | None
    weight: int | None
    model: int | None
    single_model: int | None
    attributes: dict[str, int]
    audited: tuple[tuple[str, ...], ...]
    quantities: tuple[int, ...]
    notes: tuple[str, ...]


def assign(source: Predictions, config: AuditConfig, texts: frozenset[int] = frozenset()) -> ColumnRoles:
    """Return the role of each column; `texts` are columns now known to hold more than numbers.

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
    }
    found = {role: _find(source, name, flag) for role, (name, flag) in asked.items() if name is not None}
    taken: dict[int, str] = {}
    for role, column in found.items():
        if column in taken:
            what = f"column {shown(source.columns[column])} cannot be both {taken[column]} and {role}"
            raise user_error(what, "name another column", f"--{role}")
        taken[column] = "label" if itself and role == "score" else role
    quantities: tuple[int, ...] = ()
    if config.attributes is None:
        attributes, quantities = _default_attributes(source, config, taken, texts, notes)
    else:
        attributes = {name: _find(source, name, "--attribute", taken) for name in config.attributes}
    for name in config.bins:
        attributes.setdefault(name, _find(source, name, "--bins", taken))
    crossed = dict.fromkeys(chain.from_iterable(config.intersections))
    others = {name: _find(source, name, "--intersect", taken) for name in crossed if name not in attributes}
    if not attributes and not config.intersections:
        fix = "add a column such as race or sex, or name one with --attribute"
        if quantities:
            number = source.columns[quantities[0]]
            fix = f"cut a numeric column, as in --bins {number}=4, or name it with --attribute"
        raise user_error("no attribute column is left to audit", fix, source.name)
    single = None if "model" in found else source.places.get("model_id")
    return ColumnRoles(
        taken=taken,
        score=found["score"],
        label=found.get("label"),
        weight=found.get("weight"),
        model=found.get("model"),
        single_model=None if single in taken or single in attributes.values() else single,
        attributes=attributes | others,
        audited=(*((name,) for name in attributes), *config.intersections),
        quantities=quantities,
        notes=tuple(notes),
    )


def _usual_label(source: Predictions) -> str | None:
    """Return the label column by its usual name; refuse it in capitals."""
    known = [name for name in LABELS if name in source.places]
    capitals = [name for name in source.places if name.lower() in LABELS]
    if capitals and not known:
        raise _unknown(source, "label_value", "--label", capitals[:1])
    return known[0] if known else None


def _find(source: Predictions, name: str, flag: str, taken: Mapping[int, str] | None = None) -> int:
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


def _default_attributes(
    source: Predictions, config: AuditConfig, taken: dict[int, str], texts: frozenset[int], notes: list[str]
) -> tuple[dict[str, int], tuple[int, ...]]:
    """Return every other column but identifiers and quantities, and these, judged by the first rows."""
    free = [i for name, i in source.places.items() if i not in taken and name.lower() not in RESERVED]
    (rows,) = source.one("SELECT count(*) FROM sample")
    whole, attributes, quantities = rows < source.first_rows, {}, []
    for i, distinct, words in _first_values(source, free):
        name = source.columns[i]
        if name in config.bins:
            attributes[name] = i
        elif distinct > MOST_CODES and words == 0 and i not in texts:
            quantities.append(i)
            notes.append(
                f"{name} is numeric and not audited: name it with --attribute, or cut it: --bins {name}=4."
            )
        elif distinct > MOST_GROUPS or (whole and distinct > MOST_CODES and 2 * distinct > rows):
            _refuse_groups(source, i)
            notes.append(f"{name} has a value of its own in most rows and is not audited.")
        else:
            attributes[name] = i
    return attributes, tuple(quantities)


def _first_values(source: Predictions, columns: list[int]) -> Iterator[tuple[int, int, int]]:
    """Yield each column with how many values and how many words the first rows have."""
    for start in range(0, len(columns), COLUMNS_AT_ONCE):
        some = columns[start : start + COLUMNS_AT_ONCE]
        parts = [f"count(DISTINCT t{i}), count(*) FILTER (t{i} <> '' AND n{i} IS NULL)" for i in some]
        found = source.one(f"SELECT {', '.join(parts)} FROM sample")
        yield from zip(some, found[::2], found[1::2], strict=True)


def _refuse_groups(source: Predictions, column: int) -> None:
    """Refuse a text column with too many values, unless nearly every row has its own."""
    rows, distinct = source.one(f"SELECT count(*), approx_count_distinct(t{column}) FROM predictions")
    if distinct > MOST_GROUPS and 2 * distinct <= rows:
        raise too_many_groups(source, source.columns[column], f"about {distinct}")


def too_many_groups(source: Predictions, name: str, count: str, *, intersection: bool = False) -> UserError:
    """Return the error for an attribute that cannot be audited."""
    what = f"{name} has {count} different values; at most {MOST_GROUPS} groups can be audited"
    fix = f"name the attributes to audit with --attribute, or cut it if it is numeric: --bins {name}=4"
    return user_error(what, "intersect fewer attributes" if intersection else fix, source.name)
