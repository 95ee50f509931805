"""Which column of an audited file is what: score, label, weight, model, and the attributes to audit."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairbench_cli.audit.config import AuditConfig as Spec
from fairbench_cli.audit.read.source import SAMPLE, Source
from fairbench_cli.errors import UserError, shown, suggest, user_error

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

RESERVED = frozenset(
    "id entity_id model_id score label label_value as_of_date rank_abs rank_pct".split()  # noqa: SIM905
)
MOST_GROUPS = 1000
MOST_CODES = 20  # a column of numbers with more different ones is a quantity, not a code


@dataclass(frozen=True)
class Roles:
    """The part each column plays; columns are positions in the file.

    Parameters
    ----------
    score, label, weight, model : int or None
        A missing label means an unsupervised audit.
    single_model : int or None
        A ``model_id`` that nobody named: it must have one value only.
    attributes : dict of name to column
        To be audited, in the order of the file (or as named).
    intersections : tuple of tuples of names
        To be audited after them.
    others : dict of name to column
        Attributes that only take part in intersections.
    quantities : tuple of int
        Columns left out because they hold many numbers, as far as the first rows tell.
    notes : tuple of str
        What a reader should know.
    """

    score: int
    label: int | None
    weight: int | None
    model: int | None
    single_model: int | None
    attributes: dict[str, int]
    intersections: tuple[tuple[str, ...], ...]
    others: dict[str, int]
    quantities: tuple[int, ...]
    notes: tuple[str, ...]

    @property
    def all_attributes(self) -> dict[str, int]:
        """Every attribute that must be counted."""
        return self.attributes | self.others


def assign(
    engine: "DuckDBPyConnection", source: Source, spec: Spec, texts: frozenset[int] = frozenset()
) -> Roles:
    """Give each column its role.

    Needs a table ``sample`` of the first rows in `engine`. `texts` are columns now known to hold more than
    numbers.
    """
    asked, names = spec, {name: i for i, name in enumerate(source.columns) if name}
    notes: list[str] = []
    score = _find(names, asked.score or "score", "--score", source)
    itself = asked.score is not None and asked.score == asked.label
    label = None if itself else _label(names, asked.label, source, notes)
    if itself:
        notes.append(f"The labels {shown(asked.score)} themselves are audited, as decisions.")
    weight = None if asked.weight is None else _find(names, asked.weight, "--weight", source)
    model = None if asked.model_column is None else _find(names, asked.model_column, "--model-column", source)
    taken = {"score": score, "label": label, "weight": weight, "model": model}
    used: dict[int, str] = {}
    for role, column in taken.items():
        if column is not None and column in used:
            raise user_error(
                f"column {shown(source.columns[column])} cannot be both {used[column]} and {role}",
                "name another column",
                f"--{role}",
            )
        if column is not None:
            used[column] = role
    quantities: tuple[int, ...] = ()
    if asked.attributes is None:
        attributes, quantities = _default_attributes(engine, source, spec, used, texts, notes)
    else:
        attributes = {name: _attribute(names, name, "--attribute", source, used) for name in asked.attributes}
    for name, bins in spec.bins.items():
        attributes.setdefault(name, _attribute(names, name, "--bins", source, used))
        if bins < 2:
            raise user_error(f"{name} cannot be cut into {bins} bins", "ask for 2 or more", "--bins")
    others: dict[str, int] = {}
    for combination in spec.intersections:
        if len(combination) < 2 or len(set(combination)) < len(combination):
            raise user_error(
                f"{', '.join(combination)} is no intersection",
                "name two or more different attributes",
                "--intersect",
            )
        for name in combination:
            if name not in attributes:
                others[name] = _attribute(names, name, "--intersect", source, used)
    if not attributes and not spec.intersections:
        raise user_error("no attribute column is left to audit", _what_fix(source, quantities), source.name)
    single = None if model is not None else names.get("model_id")
    if single in used or single in attributes.values():
        single = None
    intersections = tuple(dict.fromkeys(spec.intersections))
    return Roles(
        score, label, weight, model, single, attributes, intersections, others, quantities, tuple(notes)
    )


def _what_fix(source: Source, quantities: tuple[int, ...]) -> str:
    if quantities:
        name = source.columns[quantities[0]]
        return f"cut a numeric column, as in --bins {name}=4, or name it with --attribute"
    return "add a column such as race or sex, or name one with --attribute"


def _label(names: dict[str, int], asked: str | None, source: Source, notes: list[str]) -> int | None:
    if asked is not None:
        return _find(names, asked, "--label", source)
    for name in ("label_value", "label"):
        if name in names:
            return names[name]
    for name in names:
        if name.lower() in ("label_value", "label"):
            raise _unknown("label_value", "--label", [name], source)
    notes.append("No label column: only what needs no labels is audited (name one with --label).")
    return None


def _find(names: dict[str, int], name: str, flag: str, source: Source) -> int:
    if name in names:
        return names[name]
    raise _unknown(name, flag, list(names), source)


def _unknown(name: str, flag: str, names: list[str], source: Source) -> UserError:
    where = f"{source.name}:1" if source.format == "csv" else source.name
    if len(source.columns) == 1:
        only = shown(source.columns[0])
        return user_error(f"no column {shown(name)}, only {only}", "separate the columns by commas", where)
    also = "; to audit the labels themselves, name them there too" if flag == "--score" else ""
    fix = f"{suggest(name, names)} (name it with {flag}{also})"
    return user_error(f"no column {shown(name)}", fix, where)


def _attribute(names: dict[str, int], name: str, flag: str, source: Source, used: dict[int, str]) -> int:
    free = {other: column for other, column in names.items() if column not in used}
    if names.get(name) in used:
        raise user_error(f"column {shown(name)} is the {used[names[name]]}", "name another attribute", flag)
    return _find(free, name, flag, source)


def _default_attributes(
    engine: "DuckDBPyConnection",
    source: Source,
    spec: Spec,
    used: dict[int, str],
    texts: frozenset[int],
    notes: list[str],
) -> tuple[dict[str, int], tuple[int, ...]]:
    """Take every other column but identifiers and quantities, judged by the first rows."""
    free = [
        i for i, name in enumerate(source.columns) if name and i not in used and name.lower() not in RESERVED
    ]
    parts = [
        f"count(DISTINCT trim(c{i})), count(*) FILTER (trim(c{i}) <> '' AND TRY_CAST(c{i} AS DOUBLE) IS NULL)"
        for i in free
    ]
    found = engine.execute(f"SELECT count(*){''.join(', ' + part for part in parts)} FROM sample").fetchone()  # noqa: S608
    found = found or (0,)
    rows, attributes, quantities = found[0], {}, []
    for at, i in enumerate(free):
        name, distinct, words = source.columns[i], found[1 + 2 * at], found[2 + 2 * at]
        if name in spec.bins:
            attributes[name] = i
        elif distinct > MOST_CODES and words == 0 and i not in texts:
            quantities.append(i)
            notes.append(
                f"{name} is numeric and not audited: name it with --attribute, or cut it: --bins {name}=4."
            )
        elif distinct > MOST_GROUPS or (distinct > MOST_CODES and 2 * distinct > rows and rows < SAMPLE):
            _too_many(engine, source, i)
            notes.append(f"{name} has a value of its own in most rows and is not audited.")
        else:
            attributes[name] = i
    return attributes, tuple(quantities)


def _too_many(engine: "DuckDBPyConnection", source: Source, column: int) -> None:
    """Refuse a text column with too many values, unless nearly every row has its own."""
    sql = f"SELECT count(*), approx_count_distinct(trim(c{column})) FROM {source.relation}"  # noqa: S608
    rows, distinct = engine.execute(sql).fetchone() or (0, 0)
    if distinct > MOST_GROUPS and 2 * distinct <= rows:
        raise too_many_groups(source, source.columns[column], f"about {distinct}")


def too_many_groups(source: Source, name: str, count: str, *, intersection: bool = False) -> UserError:
    """Build the error for an attribute that cannot be audited."""
    fix = f"name the attributes to audit with --attribute, or cut it if it is numeric: --bins {name}=4"
    return user_error(
        f"{name} has {count} different values; at most {MOST_GROUPS} groups can be audited",
        "intersect fewer attributes" if intersection else fix,
        source.name,
    )
