"""Find out what each column is: score, label, weight, model, or an attribute to audit.

Of columns that nobody names the first rows suggest which hold groups, not quantities, dates or identifiers;
all rows may contradict that (`RejectedGuesses`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.scan import sql
from fairbench_cli.audit.scan.source import Source, in_batches
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
FIRST_COPIES = Flag("first-copies")
"""What is assumed to go on where a name stands for several columns; no option that anybody can give."""
MOST_LISTED = 10
FEWEST_NAMED = 10  # rows, each with a word of its own in a column: these are names
FEW_ATTRIBUTES = 2  # columns of groups that are audited whatever they are called: others are of a raw table
SHORT_FOR = "may be short for"  # what a note says of a group that may be another one
NOT_AUDITED = "Not audited, as"  # how the notes begin that say why columns are not audited
NO_LABELS = "No label column: only what needs no labels is audited (name one with --label)."
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
class RejectedGuesses:
    """What the first rows suggest of columns that nobody named, and all rows contradict.

    Parameters
    ----------
    with_words : set of int
        Columns that looked like quantities and hold words below.
    too_many : set of int
        Columns that looked like attributes and have too many groups.
    """

    with_words: frozenset[int]
    too_many: frozenset[int]


NONE_REJECTED = RejectedGuesses(frozenset(), frozenset())


@dataclass(frozen=True)
class ColumnRoles:
    """The part each column plays; columns are positions in the file.

    Parameters
    ----------
    role_of : dict of column to {"score", "label", "weight", "model", "cluster"}
        Without a label the audit is unsupervised. The score is called "label" where the labels themselves are
        audited.
    scores : tuple of int
        The columns of scores; each is compared with the first. Of two files this is that of the baseline.
    label, weight, model : int or None
        The columns of these; slices of the rows are models, too.
    truth : int or None
        The column of labels that are numbers, where numbers are compared as they are; then `label` is None.
    clusters : tuple of int
        The columns of what rows have in common, two at most.
    attributes : dict of name to column
        Those to be audited, in the order of the file (or as named); then those of intersections alone.
    audited : tuple of tuples of names
        What is audited: attributes, then intersections.
    unnamed : set of names
        Attributes that nobody named: those of too many groups are left out.
    quantities : tuple of int
        Columns left out because they hold many numbers, as far as the first rows show.
    birth_dates : tuple of int
        Columns left out because they hold dates, which are called like birth dates.
    notes : tuple of str
        What a reader should know.
    left_out : dict of name to (str, str)
        Why each other column is not audited, of those that might be: of one column, and of several.
    """

    role_of: dict[int, str]
    scores: tuple[int, ...]
    label: int | None
    truth: int | None
    weight: int | None
    model: int | None
    clusters: tuple[int, ...]
    attributes: dict[str, int]
    audited: tuple[tuple[str, ...], ...]
    unnamed: frozenset[str]
    quantities: tuple[int, ...]
    birth_dates: tuple[int, ...]
    notes: tuple[str, ...]
    left_out: dict[str, tuple[str, str]]

    @property
    def score(self) -> int:
        """The first column of scores."""
        return self.scores[0]

    @property
    def model_sql(self) -> str:
        """The model of a row in SQL."""
        if self.model is None:
            return "''"
        return sql.text(self.model)


def assign_roles(
    source: Source, config: AuditConfig, rejected: RejectedGuesses = NONE_REJECTED
) -> ColumnRoles:
    """Return the role of each column: as is said, else as the first rows suggest and all rows do not reject.

    The score is looked for as ``score``, the label as ``label_value`` or ``label``; attributes default to
    every other text column without identifiers. A score that is the label, both named, lets the labels
    themselves be audited; so does an explanation of a file without scores.

    Raises
    ------
    UserError
        For a column that is not there or has two roles, or when no attribute is left.
    """
    # 1. The columns of score and label; labels that are audited themselves are both.
    notes: list[str] = []
    itself = config.score is not None and config.score == config.label
    score = config.score or "score"
    label = config.label or find_usual_label(source)
    if config.score is None and config.explained_by and "score" not in source.column_index and label:
        score = label
        itself = True
    if config.of_numbers:
        itself = itself and config.score == config.label
    elif itself:
        notes.append(f"The labels {format_value(score)} themselves are audited, as decisions.")
    elif label is None:
        notes.append(NO_LABELS)
    # 2. Every other column that has a role, with the key that names it; none has two roles.
    requested = {
        "score": (score, "score"),
        "label": (None if itself else label, "label"),
        "weight": (config.weight, "weight"),
        "model": (config.model_column, "model-column"),
        "cluster": (next(iter(config.cluster or ()), None), "cluster"),
        "slice": (config.sliced_by, "slice"),
        "id": (config.identifier, "id"),
    }
    requested |= {f"score {name}": (name, "score") for name in (config.scores or ())[1:]}
    requested |= {f"cluster {name}": (name, "cluster") for name in (config.cluster or ())[1:]}
    columns = {role: find_column(source, name, key) for role, (name, key) in requested.items() if name}
    role_of: dict[int, str] = {}
    for role, column in columns.items():
        if column in role_of:
            problem = (
                f"column {format_value(source.columns[column])} cannot be both {role_of[column]} and {role}"
            )
            raise user_error(problem, "name another column", Flag(requested[role][1]))
        role_of[column] = "label" if itself and role == "score" else role
    if source.alone is not None:
        role_of[len(source.columns) - 1] = "baseline score"
    # 3. The attributes: those that are named or look like some; then those that are cut or crossed.
    quantities: tuple[int, ...] = ()
    birth_dates: tuple[int, ...] = ()
    left_out: dict[str, tuple[str, str]] = {}
    left_out_notes: tuple[str, ...] = ()
    if config.attributes is None:
        for name in source.doubled:
            if name in attributes_in_options(config) or recognise.named_like_protected(name):
                raise _unknown_column(source, name, "attribute", [])
        free = [
            i
            for name, i in source.column_index.items()
            if i not in role_of and name.lower() not in RESERVED - USED
        ]
        attributes, quantities, birth_dates, left_out = _select_default_attributes(
            source, free, frozenset(config.bins), rejected
        )
        left_out_notes = _describe_all_left_out(left_out)
        if config.preset != "aequitas":  # which audits them all
            likely, likely_notes = _select_likely(
                source, attributes, quantities, attributes_in_options(config)
            )
            left_out |= {name: UNLIKELY for name in attributes if name not in likely}
            attributes = likely
            left_out_notes = likely_notes + left_out_notes
        notes += left_out_notes
    else:
        attributes = {name: find_column(source, name, "attribute", role_of) for name in config.attributes}
        notes += _note_unused_weights(source, config, set(role_of) | set(attributes.values()))
    for name in config.bins:
        attributes.setdefault(name, find_column(source, name, "bins", role_of))
    crossed = dict.fromkeys(chain.from_iterable(config.intersections))
    crossed_alone = [name for name in crossed if name not in attributes]
    crossed_columns = {name: find_column(source, name, "intersect", role_of) for name in crossed_alone}
    if not attributes and not config.intersections:
        raise _no_attribute_error(source, quantities, left_out_notes)
    # 4. Models, and which scores are compared with which.
    if "model" not in columns and "model_id" in source.doubled:
        raise _unknown_column(source, "model_id", "model-column", [])
    scores = [column for role, column in columns.items() if role.partition(" ")[0] == "score"]
    if source.alone is not None:
        scores = [len(source.columns) - 1, *scores]  # the baseline comes first
    return ColumnRoles(
        role_of=role_of,
        scores=tuple(scores),
        label=None if config.of_numbers else columns.get("label"),
        truth=columns.get("label") if config.of_numbers else None,
        weight=columns.get("weight"),
        model=columns.get("slice", columns.get("model")),
        clusters=tuple(column for role, column in columns.items() if role.partition(" ")[0] == "cluster"),
        attributes=attributes | crossed_columns,
        audited=tuple((name,) for name in attributes) + config.intersections,
        unnamed=frozenset(attributes if config.attributes is None else ()) - set(config.bins) - set(crossed),
        quantities=quantities,
        birth_dates=birth_dates,
        notes=tuple(notes),
        left_out=left_out,
    )


def _no_attribute_error(
    source: Source, quantities: Sequence[int], left_out_notes: Sequence[str]
) -> UserError:
    """Return the error for a table without a column of groups: cut a quantity, where there is one."""
    fix: MessageText = ("add a column such as race or sex, or name one with ", Flag("attribute"))
    assumed: tuple[Flag, ...] = ()
    if quantities:
        names = [source.columns[i] for i in quantities]
        likely = next(filter(recognise.named_like_protected, names), names[0])
        cut = Flag("bins", (likely, 4))
        fix = ("cut a numeric column, as in ", cut, ", or name it with ", Flag("attribute"))
        assumed = (cut,)
    problem = "no attribute column is left to audit"
    if left_out_notes:
        problem += f". {left_out_notes[0].rstrip('.')}"
    return user_error(problem, fix, source.name, assumed=assumed)


def _note_unused_weights(source: Source, config: AuditConfig, used_columns: set[int]) -> list[str]:
    """Return a note of columns that look like weights, where nothing is said of weights."""
    weight_columns = [
        i
        for name, i in source.column_index.items()
        if i not in used_columns and recognise.named_like_weights(name)
    ]
    if config.weight is not None or config.preset is not None:
        return []
    names = [
        source.columns[i] for i, _, n_words, _ in _look_at_first_rows(source, weight_columns) if n_words == 0
    ]
    listed = " and ".join(names)
    look = "look like weights and are"
    if len(names) == 1:
        look = "looks like weights and is"
    if names:
        return [f"{listed} {look} not used: each row counts once (--weight {names[0]})."]
    return []


def find_usual_label(source: Source) -> str | None:
    """Return the label column by its usual name; refuse it in capitals, and two of them."""
    for name in LABELS:
        if name in source.doubled:
            raise _unknown_column(source, name, "label", [])
    usual = [name for name in LABELS if name in source.column_index]
    capitals = [name for name in source.column_index if name.lower() in LABELS]
    if capitals and not usual:
        raise _unknown_column(source, "label_value", "label", capitals[:1])
    if usual:
        return usual[0]
    return None


def find_column(source: Source, name: str, key: str, role_of: Mapping[int, str] | None = None) -> int:
    """Return the column of a name that was given for a key, which must not be taken."""
    column = source.column_index.get(name)
    if column is None:
        free = [free_name for free_name, i in source.column_index.items() if i not in (role_of or ())]
        raise _unknown_column(source, name, key, free)
    if role_of and column in role_of:
        raise user_error(
            f"column {format_value(name)} is the {role_of[column]}", "name another attribute", Flag(key)
        )
    return column


def _unknown_column(source: Source, name: str, key: str, names: list[str]) -> UserError:
    """Return the error for a name that no column has, or several have."""
    if source.format == "csv":
        where = f"{source.name}:{source.rows_above or 1}"
    else:
        where = source.name
    fields = [free_name for free_name in names if free_name.startswith(f"{name}.")]
    if name in source.lists or fields:
        held = "fields of its own" if fields else "lists"
        problem = f"{format_value(name)} holds {held}, and a cell is one value"
        fix_of_cells: MessageText = "make a column of the value that is meant, or a row of each"
        if fields:
            fix_of_cells = (
                "name one of its fields: ",
                Flag(key, fields[0]),
                f"; there are {join_names(fields, MOST_LISTED)}",
            )
        return user_error(problem, fix_of_cells, where)
    if name in source.doubled:
        problem = f"column {format_value(name)} appears twice"
        return user_error(problem, "rename or remove one of them", where, assumed=(FIRST_COPIES,))
    problem = f"no column {format_value(name)}"
    if len(source.columns) == 1:
        only = format_value(source.columns[0])
        return user_error(f"{problem}, only {only}", "separate the columns by commas", where)
    if key != "score":
        return user_error(problem, (f"{suggest(name, names)} (name it with ", Flag(key), ")"), where)
    also = "; if the file has only outcomes, name their column)"
    fix: MessageText = (f"{suggest(name, names)} (name it with ", Flag(key), also)
    if name != "score":
        return user_error(problem, fix, where)
    in_capitals = [free_name for free_name in names if free_name.lower() == name]
    likely = in_capitals or [free_name for free_name in names if recognise.named_like_decisions(free_name)]
    if not likely:  # base pay before pay, and that before a bonus or hours
        amounts = sorted(filter(recognise.may_be_amounts, names), key=recognise.rank_pay)
        pay = [other for other in amounts if recognise.rank_pay(other) <= recognise.LIKELY_PAY]
        likely = pay[:1] or amounts
    remedy = Flag("score", "COLUMN")
    if in_capitals:
        remedy = Flag("score", in_capitals[0])
    elif len(likely) == 1:
        remedy = Flag("score", likely[0])
        fix = (
            "name the column of scores, decisions or amounts, likely ",
            remedy,
            f"; there are {join_names(names)}",
        )
    return user_error(problem, fix, where, remedy=(remedy,))


def too_many_groups(source: Source, names: tuple[str, ...], count: str) -> UserError:
    """Return the error for an attribute, or an intersection, that cannot be audited."""
    name = CROSS.join(names)
    problem = f"{name} has {count} different values; at most {MOST_GROUPS} groups can be audited"
    cut: tuple[str | Flag, ...] = (", or cut it if it is numeric: ", Flag("bins", (name, 4)))
    if name in source.column_index:
        cell = f"trimmed_{source.column_index[name]}"
        values = source.row(f"SELECT max({cell}), min({cell}) FROM sample WHERE {cell} <> ''")
        if recognise.are_dates(name, values):
            ages = Flag("bins", (name, "25,45,65"))
            cut = (", or cut it as ages on a day: ", ages, " ", Flag("as-of", "2024-12-31"))
    fix: MessageText = ("name the attributes to audit with ", Flag("attribute"), *cut)
    return user_error(problem, "intersect fewer attributes" if len(names) > 1 else fix, source.name)


def _select_default_attributes(
    source: Source, free: list[int], binned: frozenset[str], rejected: RejectedGuesses
) -> tuple[dict[str, int], tuple[int, ...], tuple[int, ...], dict[str, tuple[str, str]]]:
    """Return which of the columns `free` are audited, hold quantities or birth dates, and why others are not.

    `binned` are the names of those to be cut into bins.
    """
    (rows,) = source.row("SELECT count(*) FROM sample")
    is_complete = rows < source.first_rows
    attributes: dict[str, int] = {}
    left_out: dict[str, tuple[str, str]] = {}
    quantities: list[int] = []
    birth_dates: list[int] = []
    for i, distinct, n_words, example in _look_at_first_rows(source, free):
        name = source.columns[i]
        numeric = n_words == 0 and i not in rejected.with_words
        has_many_values = distinct > MOST_CODES
        mostly_unique = 2 * distinct > rows
        too_many = (
            i in rejected.too_many
            or distinct > MOST_VALUES
            or (is_complete and has_many_values and mostly_unique)
            or (is_complete and rows >= FEWEST_NAMED and distinct == rows and n_words > 0)
        )
        bytes_in = f"SELECT 1 FROM sample WHERE contains(trimmed_{i}, '\\x') LIMIT 1"
        reasons = (  # the first that there is
            (SCORES, recognise.named_like_scores(name)),
            (TRUTHS, name.lower() in LABELS),
            (WEIGHTS, numeric and recognise.named_like_weights(name)),
            (IDENTIFIERS, has_many_values and recognise.named_like_identifiers(name)),
            (NUMBERS, has_many_values and numeric),
            (DATES, recognise.is_date(example) and _are_all_dates(source, i)),
            (OWN_VALUES if mostly_unique else MANY_VALUES, too_many),
            (BYTES, source.in_sql[i].binary and source.row(bytes_in)),
        )
        why = next((reason for reason, holds in reasons if holds and name not in binned), None)
        if why is None:
            attributes[name] = i
        else:
            left_out[name] = why
        if why in (WEIGHTS, NUMBERS):
            quantities.append(i)
        if why == DATES and recognise.named_like_protected(name):
            birth_dates.append(i)
    return attributes, tuple(quantities), tuple(birth_dates), left_out


def attributes_in_options(config: AuditConfig) -> frozenset[str]:
    """Return the attributes that options name, in whatever place."""
    names = set(config.bins) | set(config.references)
    names.update(attribute for attribute, _ in (*config.fail_on, *config.warn_on))
    names.update(name.partition("=")[0] for name in config.exclude)
    names.update(chain.from_iterable(config.intersections))
    return frozenset(names)


def _select_likely(
    source: Source, attributes: dict[str, int], quantities: Sequence[int], named_by_options: frozenset[str]
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
        if name in named_by_options or recognise.named_like_protected(name)
    }
    if len(likely) == len(attributes) or len(attributes) <= FEW_ATTRIBUTES:
        return attributes, ()
    if not likely:
        numbers = [source.columns[i] for i in quantities if recognise.named_like_protected(source.columns[i])]
        cut = (", or cut a number: ", Flag("bins", (numbers[0], "25,45,65"))) if numbers else ()
        listed = ", ".join(list(attributes)[:MOST_LISTED]) + (", …" if len(attributes) > MOST_LISTED else "")
        example = Flag("attribute", next(iter(attributes)))
        fix = ("name those to audit, ", example, f"; there are {listed}")
        problem = f"none of {len(attributes)} columns of groups is called like a protected attribute"
        raise user_error(problem, fix + cut, source.name, assumed=(example,))
    unlikely = [name for name in attributes if name not in likely]
    audited_note = f"Audited of {len(attributes)} columns of groups: {', '.join(likely)}."
    return likely, (audited_note, _describe_left_out(UNLIKELY, unlikely))


def ages_on_a_day(name: str) -> str:
    """Return the options that audit ages by a column of birth dates."""
    return f"{Flag('bins', (name, '25,45,65')).spell()} {Flag('as-of', '2024-12-31').spell()}"


def _describe_all_left_out(left_out: Mapping[str, tuple[str, str]]) -> tuple[str, ...]:
    """Return a note for each reason why columns are not audited."""
    names_by_reason: dict[tuple[str, str], list[str]] = {}
    for name, why in left_out.items():
        names_by_reason.setdefault(why, []).append(name)
    return tuple(_describe_left_out(why, names) for why, names in names_by_reason.items())


def _describe_left_out(why: tuple[str, str], names: list[str]) -> str:
    """Write why columns are not audited."""
    how = Flag("attribute", names[0]).spell()
    if why == NUMBERS:
        how += f", or cut it: {Flag('bins', (names[0], 4)).spell()}"
    if why == WEIGHTS:
        how = f"{Flag('weight', names[0]).spell()}, or {how}"
    births = [name for name in names if recognise.named_like_protected(name)]
    if why == DATES and births:
        how += f", or as ages on a day: {ages_on_a_day(births[0])}"
    return f"{NOT_AUDITED} {why[len(names) > 1]}: {join_names(names, MOST_LISTED)} (unless named: {how})."


def find_words_below(source: Source, quantities: tuple[int, ...]) -> frozenset[int]:
    """Return which of many quantities hold words below the first rows."""
    with_words: set[int] = set()
    for some_columns in in_batches(quantities, WORDS_AT_ONCE):
        counts = source.row(f"SELECT {', '.join(_count_words_sql(i) for i in some_columns)} FROM predictions")
        with_words |= {i for i, n_words in zip(some_columns, counts, strict=True) if n_words}
    return frozenset(with_words)


def _look_at_first_rows(source: Source, columns: list[int]) -> Iterator[tuple[int, int, int, str]]:
    """Yield each column with how many values and how many words the first rows have, and one value."""
    seen: dict[int, tuple[int, int, str]] = {}
    texts = source.texts_of(columns)
    if texts:
        seen = dict.fromkeys(texts, (0, 0, ""))
        n_words_sql = "count(*) FILTER (trimmed <> '' AND number IS NULL)"
        query = f"SELECT place, count(DISTINCT trimmed), {n_words_sql}, coalesce(max(trimmed), '')"
        rows = source.rows(f"{query} FROM {source.cells_of(texts, 'sample')} GROUP BY place")
        seen |= {column: (distinct, n_words, example) for column, distinct, n_words, example in rows}
    other_columns = [i for i in columns if i not in seen]
    for some_columns in source.in_batches(other_columns):
        expressions = [
            f"count(DISTINCT trimmed_{i}), {_count_words_sql(i)}, coalesce(max(trimmed_{i}), '')"
            for i in some_columns
        ]
        values = source.row(f"SELECT {', '.join(expressions)} FROM sample")
        by_column = zip(values[::3], values[1::3], values[2::3], strict=True)
        seen |= dict(zip(some_columns, by_column, strict=True))
    yield from ((i, *seen[i]) for i in columns)


def _count_words_sql(column: int) -> str:
    return f"count(*) FILTER ({sql.word(column)})"


def _are_all_dates(source: Source, column: int) -> bool:
    values = source.rows(f"SELECT DISTINCT trimmed_{column} FROM sample WHERE trimmed_{column} <> ''")
    return all(recognise.is_date(value) for (value,) in values)
