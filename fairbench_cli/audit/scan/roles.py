"""Find out what each column is: score, label, weight, model, or an attribute to audit.

Of columns that nobody names the first rows suggest which hold groups, not quantities, dates or identifiers;
all rows may contradict that (`Contradicted`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.scan import sql
from fairbench_cli.audit.scan.source import Source, in_parts
from fairbench_cli.base.errors import Flag, MessageText, UserError, format_value, suggest, user_error
from fairbench_cli.base.safe_text import join_names
from fairbench_cli.data import recognise
from fairbench_cli.measures.groups import CROSS

LABELS = ("label_value", "label")
MOST_GROUPS = 1000
RESERVED = frozenset(
    "id entity_id model_id score label label_value as_of_date rank_abs rank_pct".split()  # noqa: SIM905
)
USED = frozenset({"score", *LABELS})  # that are left out with a note where they are not used
MOST_CODES = 20  # a column of numbers with more different ones is a quantity, not a code
MOST_VALUES = 100  # a text column with more different ones is audited when it is named alone
WORDS_AT_ONCE = 50  # columns that are looked through for words in one scan
MOST_CHECKED = 20  # quantities that the counting pass looks at for words; more take scans of their own
MOST_LISTED = 10
FEW_ATTRIBUTES = 2  # columns of groups that are audited whatever they are called: others are of a raw table
# Why columns are not audited: of one column, and of several.
SCORES = ("it is called like a score", "they are called like scores")
TRUTHS = ("it is called like a label", "they are called like labels")
WEIGHTS = ("it looks like weights", "they look like weights")
IDENTIFIERS = ("it looks like an identifier", "they look like identifiers")
NUMBERS = ("it is numeric", "they are numeric")
DATES = ("it holds dates", "they hold dates")
OWN_VALUES = ("it has a value of its own in most rows", "they have a value of their own in most rows")
MANY_VALUES = ("it has many different values", "they have many different values")
UNLIKELY = ("it is not called like a protected attribute", "they are not called like protected attributes")
BYTES = ("it holds bytes that are no text", "they hold bytes that are no text")


@dataclass(frozen=True)
class Contradicted:
    """What all rows say against what the first ones suggest of columns that nobody named.

    Parameters
    ----------
    words : set of int
        Columns that looked like quantities and hold words below.
    many : set of int
        Columns that looked like attributes and have too many groups.
    """

    words: frozenset[int] = frozenset()
    many: frozenset[int] = frozenset()


@dataclass(frozen=True)
class ColumnRoles:
    """The part each column plays; columns are positions in the file.

    Parameters
    ----------
    taken : dict of column to {"score", "label", "weight", "model", "cluster"}
        Without a label the audit is unsupervised. The score is called "label" where the labels themselves are
        audited.
    scores : tuple of int
        The columns of scores; each is compared with the first. Of two files this is that of the baseline.
    label, weight, model, cluster : int or None
        The columns of these; slices of the rows are models, too.
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
    scores: tuple[int, ...]
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

    @property
    def score(self) -> int:
        """The first column of scores."""
        return self.scores[0]

    @property
    def bad_label(self) -> int:
        """The code of a label that is none: one more than the highest."""
        return max(1, len(self.classes)) + 1

    @property
    def model_sql(self) -> str:
        """The model of a row in SQL."""
        if self.model is None:
            return "''"
        return sql.text(self.model)


def assign(source: Source, config: AuditConfig, against: Contradicted = Contradicted()) -> ColumnRoles:
    """Return the role of each column, as the first rows suggest and as all rows are known to contradict.

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
    score = config.score or "score"
    label = config.label or _usual_label(source)
    if config.score is None and config.explained_by and "score" not in source.places and label:
        score = label
        itself = True
    if itself:
        notes.append(f"The labels {format_value(score)} themselves are audited, as decisions.")
    elif label is None:
        notes.append("No label column: only what needs no labels is audited (name one with --label).")
    asked = {
        "score": (score, "score"),
        "label": (None if itself else label, "label"),
        "weight": (config.weight, "weight"),
        "model": (config.model_column, "model-column"),
        "cluster": (config.cluster, "cluster"),
        "slice": (config.sliced_by, "slice"),
        "id": (config.identifier, "id"),
    }
    asked |= {f"score {name}": (name, "score") for name in (config.scores or ())[1:]}
    found = {role: find_column(source, name, key) for role, (name, key) in asked.items() if name}
    taken: dict[int, str] = {}
    for role, column in found.items():
        if column in taken:
            what = f"column {format_value(source.columns[column])} cannot be both {taken[column]} and {role}"
            raise user_error(what, "name another column", Flag(asked[role][1]))
        taken[column] = "label" if itself and role == "score" else role
    if source.alone is not None:
        taken[len(source.columns) - 1] = "baseline score"
    quantities: tuple[int, ...] = ()
    left_out: tuple[str, ...] = ()
    if config.attributes is None:
        for name in source.doubled:
            if name in _named(config) or recognise.named_like_protected(name):
                raise _unknown(source, name, "attribute", [])
        free = [
            i for name, i in source.places.items() if i not in taken and name.lower() not in RESERVED - USED
        ]
        attributes, quantities, left_out = _default_attributes(source, free, frozenset(config.bins), against)
        if config.preset != "aequitas":  # which audits them all
            attributes, more = _likely(source, attributes, quantities, _named(config))
            left_out = (*more, *left_out)
        notes += left_out
    else:
        attributes = {name: find_column(source, name, "attribute", taken) for name in config.attributes}
        notes += _forgotten_weights(source, config, {*taken, *attributes.values()})
    for name in config.bins:
        attributes.setdefault(name, find_column(source, name, "bins", taken))
    crossed = dict.fromkeys(chain.from_iterable(config.intersections))
    crossed_alone = [name for name in crossed if name not in attributes]
    parts = {name: find_column(source, name, "intersect", taken) for name in crossed_alone}
    if not attributes and not config.intersections:
        named = ("name it with ", Flag("attribute"))
        fix: MessageText = ("add a column such as race or sex, or name one with ", Flag("attribute"))
        if quantities:
            number = source.columns[quantities[0]]
            fix = ("cut a numeric column, as in ", Flag("bins", (number, 4)), ", or ", *named)
        if left_out:
            why = f". {left_out[0].rstrip('.')}"
        else:
            why = ""
        raise user_error(f"no attribute column is left to audit{why}", fix, source.name)
    if "model" in found:
        single = None
    else:
        single = source.places.get("model_id")
    if "model" not in found and "model_id" in source.doubled:
        raise _unknown(source, "model_id", "model-column", [])
    scores = [column for role, column in found.items() if role.partition(" ")[0] == "score"]
    if source.alone is not None:
        scores = [len(source.columns) - 1, *scores]  # the baseline comes first
    return ColumnRoles(
        taken=taken,
        scores=tuple(scores),
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
    )


def _forgotten_weights(source: Source, config: AuditConfig, used: set[int]) -> list[str]:
    """Return a note of columns that look like weights, where nothing is said of weights."""
    named = [i for name, i in source.places.items() if i not in used and recognise.named_like_weights(name)]
    if config.weight is not None or config.preset is not None:
        return []
    names = [source.columns[i] for i, _, words, _ in _first_values(source, named) if words == 0]
    listed = " and ".join(names)
    if len(names) == 1:
        look = "looks like weights and is"
    else:
        look = "look like weights and are"
    if names:
        return [f"{listed} {look} not used: each row counts once (--weight {names[0]})."]
    return []


def _usual_label(source: Source) -> str | None:
    """Return the label column by its usual name; refuse it in capitals, and two of them."""
    for name in LABELS:
        if name in source.doubled:
            raise _unknown(source, name, "label", [])
    known = [name for name in LABELS if name in source.places]
    capitals = [name for name in source.places if name.lower() in LABELS]
    if capitals and not known:
        raise _unknown(source, "label_value", "label", capitals[:1])
    if known:
        return known[0]
    return None


def find_column(source: Source, name: str, key: str, taken: Mapping[int, str] | None = None) -> int:
    """Return the column of a name that was given for a key, which must not be taken."""
    column = source.places.get(name)
    if column is None:
        free = [other for other, place in source.places.items() if place not in (taken or ())]
        raise _unknown(source, name, key, free)
    if taken and column in taken:
        raise user_error(
            f"column {format_value(name)} is the {taken[column]}", "name another attribute", Flag(key)
        )
    return column


def _unknown(source: Source, name: str, key: str, names: list[str]) -> UserError:
    """Return the error for a name that no column has, or several have."""
    if source.format == "csv":
        where = f"{source.name}:1"
    else:
        where = source.name
    if name in source.doubled:
        return user_error(f"column {format_value(name)} appears twice", "rename or remove one of them", where)
    what = f"no column {format_value(name)}"
    if len(source.columns) == 1:
        only = format_value(source.columns[0])
        return user_error(f"{what}, only {only}", "separate the columns by commas", where)
    if key == "score":
        also = "; to audit the labels themselves, name them there too"
    else:
        also = ""
    return user_error(what, (f"{suggest(name, names)} (name it with ", Flag(key), f"{also})"), where)


def too_many_groups(source: Source, names: tuple[str, ...], count: str) -> UserError:
    """Return the error for an attribute, or an intersection, that cannot be audited."""
    name = CROSS.join(names)
    what = f"{name} has {count} different values; at most {MOST_GROUPS} groups can be audited"
    cut = (", or cut it if it is numeric: ", Flag("bins", (name, 4)))
    fix: MessageText = ("name the attributes to audit with ", Flag("attribute"), *cut)
    return user_error(what, "intersect fewer attributes" if len(names) > 1 else fix, source.name)


def _default_attributes(
    source: Source, free: list[int], binned: frozenset[str], against: Contradicted
) -> tuple[dict[str, int], tuple[int, ...], tuple[str, ...]]:
    """Return which of the columns `free` are audited, which hold quantities, and what was left out, and why.

    `binned` are the names of those to be cut into bins.
    """
    (rows,) = source.one("SELECT count(*) FROM sample")
    whole = rows < source.first_rows
    attributes: dict[str, int] = {}
    left_out: dict[tuple[str, str], list[str]] = {}
    quantities: list[int] = []
    for i, distinct, words, example in _first_values(source, free):
        name = source.columns[i]
        numeric = words == 0 and i not in against.words
        many = distinct > MOST_CODES
        mostly_unique = 2 * distinct > rows
        too_many = i in against.many or distinct > MOST_VALUES or (whole and many and mostly_unique)
        bytes_in = f"SELECT 1 FROM sample WHERE contains(trimmed_{i}, '\\x') LIMIT 1"
        reasons = (  # the first that there is
            (SCORES, recognise.named_like_scores(name)),
            (TRUTHS, name.lower() in LABELS),
            (WEIGHTS, numeric and recognise.named_like_weights(name)),
            (IDENTIFIERS, many and recognise.named_like_identifiers(name)),
            (NUMBERS, many and numeric),
            (DATES, recognise.is_date(example) and _all_dates(source, i)),
            (OWN_VALUES if mostly_unique else MANY_VALUES, too_many),
            (BYTES, source.in_sql[i].binary and source.one(bytes_in)),
        )
        why = next((reason for reason, holds in reasons if holds and name not in binned), None)
        if why is None:
            attributes[name] = i
        else:
            left_out.setdefault(why, []).append(name)
        if why in (WEIGHTS, NUMBERS):
            quantities.append(i)
    notes = tuple(_left_out(why, names) for why, names in left_out.items())
    return attributes, tuple(quantities), notes


def _named(config: AuditConfig) -> frozenset[str]:
    """Return the attributes that options name, in whatever place."""
    gates = (attribute for attribute, _ in config.fail_on)
    groups = (name.partition("=")[0] for name in config.exclude)
    crossed = chain.from_iterable(config.intersections)
    return frozenset((*config.bins, *config.references, *gates, *groups, *crossed))


def _likely(
    source: Source, attributes: dict[str, int], quantities: Sequence[int], named: frozenset[str]
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return those columns of groups that are likely meant, and notes of which these are and which not.

    They are called like protected attributes, or options name them. A few columns are audited whatever they
    are called: a table with more of them was not made for an audit.

    Raises
    ------
    UserError
        Where there are more, of which none is called so.
    """
    likely = {
        name: column
        for name, column in attributes.items()
        if name in named or recognise.named_like_protected(name)
    }
    if len(likely) == len(attributes) or len(attributes) <= FEW_ATTRIBUTES:
        return attributes, ()
    if not likely:
        numbers = [source.columns[i] for i in quantities if recognise.named_like_protected(source.columns[i])]
        cut = (", or cut a number: ", Flag("bins", (numbers[0], "25,45,65"))) if numbers else ()
        listed = ", ".join(list(attributes)[:MOST_LISTED]) + (", …" if len(attributes) > MOST_LISTED else "")
        fix = ("name those to audit, ", Flag("attribute", next(iter(attributes))), f"; there are {listed}")
        what = f"none of {len(attributes)} columns of groups is called like a protected attribute"
        raise user_error(what, (*fix, *cut), source.name)
    others = [name for name in attributes if name not in likely]
    taken = f"Audited of {len(attributes)} columns of groups: {', '.join(likely)}."
    return likely, (taken, _left_out(UNLIKELY, others))


def _left_out(why: tuple[str, str], names: list[str]) -> str:
    """Write why columns are not audited."""
    how = f"--attribute {names[0]}" + (f", or cut it: --bins {names[0]}=4" if why == NUMBERS else "")
    if why == WEIGHTS:
        how = f"--weight {names[0]}, or {how}"
    else:
        how = how
    return f"Not audited, as {why[len(names) > 1]}: {join_names(names, MOST_LISTED)} (unless named: {how})."


def words_below(source: Source, quantities: tuple[int, ...]) -> frozenset[int]:
    """Return which of many quantities hold words below the first rows."""
    found: set[int] = set()
    for some in in_parts(quantities, WORDS_AT_ONCE):
        counts = source.one(f"SELECT {', '.join(_words(i) for i in some)} FROM predictions")
        found |= {i for i, words in zip(some, counts, strict=True) if words}
    return frozenset(found)


def _first_values(source: Source, columns: list[int]) -> Iterator[tuple[int, int, int, str]]:
    """Yield each column with how many values and how many words the first rows have, and one value."""
    for some in in_parts(columns, source.at_once):
        parts = [f"count(DISTINCT trimmed_{i}), {_words(i)}, coalesce(max(trimmed_{i}), '')" for i in some]
        found = source.one(f"SELECT {', '.join(parts)} FROM sample")
        yield from zip(some, found[::3], found[1::3], found[2::3], strict=True)


def _words(column: int) -> str:
    return f"count(*) FILTER ({sql.word(column)})"


def _all_dates(source: Source, column: int) -> bool:
    values = source.all(f"SELECT DISTINCT trimmed_{column} FROM sample WHERE trimmed_{column} <> ''")
    return all(recognise.is_date(value) for (value,) in values)
