"""What is understood of a table before an audit: its columns, what each is taken for and why, and remarks.

The first rows are looked at, as an audit does all of them; what would stop it is a remark with the options
that go past it. Whoever shows this can offer them as a click.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbench_cli.audit.config import MISSING, AuditConfig
from fairbench_cli.audit.scan import columns_seen, sql
from fairbench_cli.audit.scan.open import FirstRows, open_first_rows
from fairbench_cli.audit.scan.outcome_kind import with_kind
from fairbench_cli.audit.scan.problems import OPEN, go_past
from fairbench_cli.audit.scan.roles import (
    BYTES,
    DATES,
    FIRST_COPIES,
    IDENTIFIERS,
    LABELS,
    MOST_CODES,
    ColumnRoles,
    assign_roles,
)
from fairbench_cli.audit.scan.scan import Attempt
from fairbench_cli.audit.scan.source import FRAME, Source
from fairbench_cli.base.errors import Flag, Problem, UserError, format_value, spell
from fairbench_cli.base.safe_text import format_count, join_names, printable
from fairbench_cli.base.spelling_variants import find_spelling_variants
from fairbench_cli.data import recognise
from fairbench_cli.data.number_writing import NO_VALUE, SECOND, NumberDoubt, find_obstacle, find_writing

if TYPE_CHECKING:
    from fairbench_cli.audit.scan.scan import Scan
    from fairbench_cli.audit.scan.source import Frame

AGES = (25, 45, 65)  # where ages are cut
N_BINS = 4
MOST_REMEDIES = 12
HALF = 0.5
FIRST_HERE = ", first here"  # what a problem says of the place it stands for
DEFAULTS = AuditConfig()
OPEN_SCORE = Flag("score", OPEN)
OF_FILES = ("against", "identifier", "baseline")
"""Options that name other files; nothing of them is looked at."""
KIND_OF_KEY = {
    "spellings": "spellings",
    "recode": "short forms",
    "favourable": "favourable",
    "drop-missing": "missing",
    "encoding": "encoding",
    "score": "score",
    "attribute": "attribute",
    "bins": "bins",
    "notation": "numbers",
}
"""What a problem is of, by the option that mends it."""
MEANING_OF_NOTATION = {
    "point": "points stand before decimals, commas are of thousands",
    "comma": "commas stand before decimals, points are of thousands",
    "either": "points and commas both stand before decimals",
    "second": "take the second number",
    "day-first": "the day stands first",
    "month-first": "the month stands first",
}
ASKED_FOR_SCORE = "which column says what was decided?"
ASKED_BY_KEY = {
    "drop-missing": ("", "such rows can be left out here, or filled in in the file"),
    "spellings": ("", "count the spellings of a value as one, or keep them apart"),
    "recode": ("", "count both as one group, or keep them apart"),
    "score": (ASKED_FOR_SCORE, "none is called like it"),
    "attribute": ("no column is called like sex, age, race or the like", "say whose groups are compared"),
    "bins": (
        "no column holds groups that can be compared",
        "cut a number into groups, or take a column for one",
    ),
    "counts": ("", "count so many people for each row, or take each row for one person"),
    "model-column": (
        "the rows are of several models",
        "each is audited apart, or keep those of one in the file",
    ),
}
"""What there is and what to do in the place of a problem, by the option that mends it, without its name."""
TEXT_OF_KEY = {
    "spellings": "count them as one",
    "recode": "count them as one",
    "drop-missing": "leave those rows out",
    "encoding": "read it as {value}",
    "score": "take {value}",
    "attribute": "audit {value}",
    "favourable": "{value} is the good one",
    "bins": "cut it",
    "model-column": "audit each model apart",
    "counts": "count people by {value}",
    "exclude": "leave out {value}",
}


@dataclass(frozen=True)
class TableSeen:
    """The table as a whole.

    Parameters
    ----------
    name, format : str
        Its name, and how it is written.
    rows : int or None
        How many there are; None where that would need the whole file.
    rows_looked_at : int
        What is said of columns is of these, the first ones.
    whole : bool
        Whether these are all.
    columns : int
        How many have a name.
    notes : tuple of str
        On how it was read.
    said : str
        Its size in words.
    """

    name: str
    format: str
    rows: int | None
    rows_looked_at: int
    whole: bool
    columns: int
    notes: tuple[str, ...]
    said: str


@dataclass(frozen=True)
class ColumnRole:
    """What a column is taken for, and why; see `ColumnSeen` for the rest.

    Parameters
    ----------
    name, kind, values, distinct, missing, smallest, largest
        What it holds.
    role : str
        "score", "label", "attribute", "weight", "cluster", "date", "left out" or "unused"; or what options
        make of it: "model", "slice", "id", "counts".
    why : str
        In a few words.
    """

    name: str
    kind: str
    values: tuple[columns_seen.ValueCount, ...]
    distinct: int
    missing: int
    smallest: float | str | None
    largest: float | str | None
    role: str
    why: str


@dataclass(frozen=True)
class Remedy:
    """Options that go past a remark, with a few words; `proposed` where they are taken unasked.

    `asks_for` is an option whose value only a person can say, and which is given with the others.
    """

    text: str
    options: dict[str, Any]
    proposed: bool = False
    asks_for: str = ""


@dataclass(frozen=True)
class Remark:
    """Something that a person should see, or decide, before the audit.

    Parameters
    ----------
    kind : str
        "spellings", "short forms", "missing", "favourable", "turned", "bins", "birth dates", "decision",
        "attribute", "score", "encoding", "sheet", "numbers" or "other".
    column : str
        Empty where it is of none.
    stops : bool
        Whether an audit stops without one of the remedies.
    problem : Problem
        What there is, and what to do.
    remedies : tuple of Remedy
        None where only the file can be changed.
    asked : Problem or None
        The same for somebody to whom the remedies are offered as a click: no option is named.
    """

    kind: str
    column: str
    stops: bool
    problem: Problem
    remedies: tuple[Remedy, ...]
    asked: Problem | None = None

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        asked = self.asked or self.problem
        return {
            "kind": self.kind,
            "column": self.column,
            "stops": self.stops,
            "what": printable(spell(self.problem.what)),
            "fix": printable(spell(self.problem.fix)),
            "asked": {"what": printable(spell(asked.what)), "fix": printable(spell(asked.fix))},
            "remedies": [asdict(remedy) for remedy in self.remedies],
        }


@dataclass(frozen=True)
class Understood:
    """What is understood of a table.

    Parameters
    ----------
    table : TableSeen
    columns : tuple of ColumnRole
        In the order of the table; of a very wide one not all.
    decisions, labels : tuples of Candidate
        The columns that may hold what was decided, and who was right, the likeliest first.
    remarks : tuple of Remark
        Those that stop an audit first.
    config : AuditConfig
        What was asked for, with what is proposed.
    share_selected : float or None
        Of the rows that were looked at, where these are decisions.
    as_numbers : bool
        Whether numbers are compared as they are.
    """

    table: TableSeen
    columns: tuple[ColumnRole, ...]
    decisions: tuple[columns_seen.Candidate, ...]
    labels: tuple[columns_seen.Candidate, ...]
    remarks: tuple[Remark, ...]
    config: AuditConfig
    share_selected: float | None
    as_numbers: bool

    def options(self) -> dict[str, Any]:
        """Return the keywords with which `audit` runs: those that were given, and those that are proposed."""
        return options_of(self.config)

    def columns_with_role(self, role: str) -> list[str]:
        """Return the names of the columns that are taken for something."""
        return [column.name for column in self.columns if column.role == role]

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {
            "table": asdict(self.table),
            "columns": [asdict(column) for column in self.columns],
            "candidates": {
                "score": [asdict(candidate) for candidate in self.decisions],
                "label": [asdict(candidate) for candidate in self.labels],
            },
            "remarks": [remark.to_plain() for remark in self.remarks],
            "options": self.options(),
        }


def options_of(config: AuditConfig) -> dict[str, Any]:
    """Return the options that differ from the defaults, as keywords of `audit`.

    >>> options_of(AuditConfig(scores=("hired",), bins={"age": 4}))
    {'score': 'hired', 'bins': {'age': 4}}
    """
    values = config.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    options: dict[str, Any] = {}
    for key, value in values.items():
        is_single = key in ("score", "cluster", "favourable") and len(value) == 1
        options[key.replace("-", "_")] = value[0] if is_single else value
    return options


def merge_options(options: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with others laid over them; values by name are joined, None takes an option away.

    >>> merge_options({"bins": {"age": 4}, "score": "a"}, {"bins": {"pay": 3}, "score": None})
    {'bins': {'age': 4, 'pay': 3}}
    """
    merged = dict(options)
    for key, value in upper.items():
        before = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif isinstance(before, Mapping) and isinstance(value, Mapping):
            merged[key] = merge_options(before, value)
        elif key == "exclude" and before is not None:
            merged[key] = list(dict.fromkeys([*_as_list(before), *_as_list(value)]))
        else:
            merged[key] = value
    return merged


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def look(
    source: "str | Path | Frame", *, name: str = "", most_columns: int | None = None, **options: Any
) -> Understood:
    """Look at a table, with options of `audit` that say some of it.

    The first rows are looked at, 10,000 at most: a file of any size takes less than a second.

    Parameters
    ----------
    source : str, Path or frame
        As of `audit`.
    name : str
        What the table is called; by default as its file.
    most_columns : int, optional
        A wider table is refused before its rows are looked at; by default none is.
    **options
        As of `audit`.

    Raises
    ------
    UserError
        When it cannot be read, is too wide, or an option is wrong.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"hired": ["yes", "no"] * 4, "gender": ["F", "F", "M", "M"] * 2})
    >>> understood = look(table)
    >>> [(column.name, column.role) for column in understood.columns], understood.options()
    ([('hired', 'score'), ('gender', 'attribute')], {'score': 'hired', 'favourable': 'yes'})
    """
    from fairbench_cli.audit.api import values_by_key
    from fairbench_cli.audit.options import read_config

    try:
        return look_at(source, read_config(values_by_key(options)), name, most_columns)
    except UserError as error:
        problems = [problem.spell("python") for problem in error.problems]
        raise UserError(*problems, surface="python", remedies=error.remedies) from None


def look_at(
    source: "str | Path | Frame", config: AuditConfig, name: str = "", most_columns: int | None = None
) -> Understood:
    """Look at a table with a configuration that is checked; see `look`."""
    config = config.model_copy(update=dict.fromkeys(OF_FILES))
    with _open_in_some_encoding(source, config, name, most_columns) as (rows, config, remarks):
        columns = _see(rows, config)
        draft = _Draft(rows, {column.name: column for column in columns}, config, config, remarks)
        draft = _with_score(draft, columns_seen.find_decisions(columns))
        draft = _with_label(draft)
        draft = _past_all_stops(draft)
        return _describe(draft, name)


@dataclass(frozen=True)
class _Draft:
    """What is understood so far.

    Parameters
    ----------
    rows : FirstRows
    columns : dict of name to ColumnSeen
    asked_for : AuditConfig
        What was asked for.
    config : AuditConfig
        With what is proposed so far.
    remarks : tuple of Remark
    decisions, labels : tuples of Candidate
    """

    rows: FirstRows
    columns: dict[str, columns_seen.ColumnSeen]
    asked_for: AuditConfig
    config: AuditConfig
    remarks: tuple[Remark, ...]
    decisions: tuple[columns_seen.Candidate, ...] = ()
    labels: tuple[columns_seen.Candidate, ...] = ()
    roles: ColumnRoles | None = None
    share_selected: float | None = None
    as_numbers: bool = False

    @property
    def score(self) -> str:
        """The first column of scores, which may not be there."""
        return self.config.score or "score"

    def with_config(self, **changed: Any) -> "_Draft":
        """Return it with other settings."""
        return replace(self, config=self.config.model_copy(update=changed))

    def with_remark(self, remark: Remark) -> "_Draft":
        """Return it with one more remark."""
        return replace(self, remarks=self.remarks + (remark,))


@contextmanager
def _open_in_some_encoding(
    source: "str | Path | Frame", config: AuditConfig, name: str, most_columns: int | None
) -> Iterator[tuple[FirstRows, AuditConfig, tuple[Remark, ...]]]:
    """Open the table; in the likely encoding where it is not UTF-8, with a remark."""
    open_rows = partial(open_first_rows, frame_name=name or FRAME, most_columns=most_columns)
    remarks: tuple[Remark, ...] = ()
    with ExitStack() as stack:
        try:
            rows = stack.enter_context(open_rows(source, config))
        except UserError as error:
            flags = [flag for problem in error.problems for flag in problem.remedy if flag.key == "encoding"]
            if not flags:
                raise
            config = config.model_copy(update={"encoding": str(flags[0].value)})
            rows = stack.enter_context(open_rows(source, config))
            remedy = _remedy_of(flags[0], proposed=True)
            asked = Problem(
                f"the text is not in UTF-8; it is likely in {config.encoding}",
                "where letters such as ä, é or ł look wrong below, save the file as CSV UTF-8",
            )
            remarks = (Remark("encoding", "", True, error.problems[0], (remedy,), asked),)
        yield rows, config, remarks


def _see(rows: FirstRows, config: AuditConfig) -> list[columns_seen.ColumnSeen]:
    """Look at the columns, values recoded if these rows have them all."""
    try:
        with rows.clean(config) as source:
            return columns_seen.see_columns(source)
    except UserError:
        with rows.clean(DEFAULTS) as source:
            return columns_seen.see_columns(source)


def _remedy_of(flag: Flag, *, proposed: bool = False, text: str = "") -> Remedy:
    """Return a remedy of one option."""
    value: Any = flag.value
    if isinstance(value, tuple):
        value = dict([value])
    elif value is None:
        value = True
    usual_text = TEXT_OF_KEY.get(flag.key, flag.spell()).format(value=format_value(flag.value))
    return Remedy(text or usual_text, {flag.key.replace("-", "_"): value}, proposed)


def _with_score(draft: _Draft, decisions: Sequence[columns_seen.Candidate]) -> _Draft:
    """Return it with the column of scores: as is said, as it is called, or the likeliest."""
    draft = replace(draft, decisions=tuple(decisions))
    is_named = draft.score in draft.columns or draft.config.scores or "score" in draft.rows.source.doubled
    if not is_named and decisions and decisions[0].is_likely:
        likeliest = decisions[0]
        draft = draft.with_config(scores=(likeliest.column,))
        if likeliest.column in LABELS:
            draft = draft.with_config(label=likeliest.column)
        fix = f"say which column says what was decided, likely {likeliest.column}: {likeliest.why}"
        remedies = []
        for candidate in decisions[:MOST_REMEDIES]:
            is_proposed = candidate is likeliest
            remedies.append(_remedy_of(Flag("score", candidate.column), proposed=is_proposed))
        problem = Problem("no column is called score", fix)
        asked = Problem(ASKED_FOR_SCORE, f"likely {likeliest.column}: {likeliest.why}")
        draft = draft.with_remark(Remark("score", "", True, problem, tuple(remedies), asked))
    column = draft.columns.get(draft.score)
    if column is None:
        return draft
    return _with_favourable(_with_same_values(draft, column), column, "favourable")


def _with_same_values(draft: _Draft, column: columns_seen.ColumnSeen) -> _Draft:
    """Return it with the spellings of each value of a column counted as one, and a remark."""
    same_values = column.same_values
    config = draft.config
    is_said = config.spelling(column.name) is not None or column.name in config.recode
    if column.name in (draft.score, config.label):
        # A good value that was named keeps its name.
        named_good = {*draft.asked_for.favourable, draft.asked_for.favourable_label}
        is_said = is_said or not named_good.isdisjoint(chain.from_iterable(same_values.values()))
    if not same_values or is_said or column.name in config.bins:
        return draft
    recode = {spelling: tuple(spellings) for spelling, spellings in same_values.items()}
    texts = []
    for spelling, spellings in same_values.items():
        listed = join_names([format_value(value) for value in (spelling, *spellings)])
        n_rows = sum(column.counts.get(value, 0) for value in (spelling, *spellings))
        texts.append(f"{listed} ({format_count(n_rows, 'row')})")
    n_spellings = sum(map(len, same_values.values())) + len(same_values)
    problem_text = f"{column.name}: {n_spellings} spellings of {format_count(len(same_values), 'value')}: "
    problem_text += "; ".join(texts)
    problem = Problem(problem_text, "count the spellings of a value as one, or keep them apart")
    as_lists = {value: list(spellings) for value, spellings in recode.items()}
    merged = Remedy(
        f"count them as {join_names(list(recode))}", {"recode": {column.name: as_lists}}, proposed=True
    )
    keep = Remedy("keep them apart", {"spellings": {column.name: "keep"}})
    stops = bool(find_spelling_variants(column.counts))  # short forms do not
    remark = Remark("spellings" if stops else "short forms", column.name, stops, problem, (merged, keep))
    return draft.with_config(recode={**config.recode, column.name: recode}).with_remark(remark)


def _meanings(draft: _Draft, column: columns_seen.ColumnSeen) -> list[str]:
    """Return the values of a column, the commonest first, each in the spelling that counts."""
    recoded: set[str] = set()
    for spellings in draft.config.recode.get(column.name, {}).values():
        recoded |= set(spellings)
    return [value for value in column.counts if value not in recoded]


def _with_favourable(draft: _Draft, column: columns_seen.ColumnSeen, key: str) -> _Draft:
    """Return it with the good value of words, and a remark where nobody said it."""
    config = draft.config
    attribute_of_key = key.replace("-", "_")
    values = _meanings(draft, column)
    is_code = recognise.tell_whole_numbers(column.name) == "codes" or len(values) == columns_seen.TWO
    is_outcome = column.kind == "words" or (column.is_numeric and is_code)
    is_said = getattr(config, attribute_of_key) or config.outcome or config.order
    if not is_outcome or is_said or not columns_seen.TWO <= len(values) <= MOST_CODES:
        return draft
    good = recognise.guess_good_value(values, column.name)
    likely = good or values[0]
    listed = join_names([format_value(value) for value in values], MOST_REMEDIES)
    fix = f"say which value is the good one{'' if good is None else f', likely {format_value(good)}'}"
    remedies = []
    for value in dict.fromkeys((likely, *values[:MOST_REMEDIES])):
        text = f"{format_value(value)} is the good one"
        remedies.append(_remedy_of(Flag(key, value), proposed=value == likely, text=text))
    problem = Problem(f"{column.name} is {listed}", fix)
    remark = Remark("favourable", column.name, True, problem, tuple(remedies))
    value_of_key: Any = (likely,) if key == "favourable" else likely
    return draft.with_config(**{attribute_of_key: value_of_key}).with_remark(remark)


def _with_label(draft: _Draft) -> _Draft:
    """Return it with the label, where a column is likely one, and with what makes decisions of scores."""
    score = draft.columns.get(draft.score)
    if score is None:
        return draft
    columns = list(draft.columns.values())
    usual = next((name for name in LABELS if name in draft.columns), None)
    as_numbers = draft.config.of_numbers or (score.is_numeric and _are_numbers(draft))
    labels = columns_seen.find_labels(columns, score, as_numbers=False)
    # A score that a likely outcome of two values stands next to is one that is cut.
    is_cut = any(labels) and labels[0].is_likely and not recognise.named_like_amounts(score.name)
    if as_numbers and (draft.config.of_numbers or not is_cut or draft.config.label or usual):
        labels = columns_seen.find_labels(columns, score, as_numbers=True)
    else:
        as_numbers = False
    draft = replace(draft, labels=tuple(labels))
    if draft.config.label is None and usual is None and labels and labels[0].is_likely:
        draft = draft.with_config(label=labels[0].column)
    label = draft.columns.get(draft.config.label or usual or "")
    if label is not None and label.name != score.name and not as_numbers:
        draft = _with_same_values(draft, label)
        if not set(_meanings(draft, label)) <= set(_meanings(draft, score)):
            draft = _with_favourable(draft, label, "favourable-label")
    return _with_cut(draft, score)


def _are_numbers(draft: _Draft) -> bool:
    """Return whether an audit would compare the scores as they are."""
    with draft.rows.clean(DEFAULTS) as source:
        return with_kind(source, draft.config).of_numbers


def _with_cut(draft: _Draft, score: columns_seen.ColumnSeen) -> _Draft:
    """Return it with a threshold where numbers are to become decisions, or a remark that they may."""
    config = draft.config
    is_said = config.threshold or config.top_k or config.top_share or config.outcome or config.favourable
    if not score.is_numeric or is_said or config.preset == "ll144" or score.middle is None:
        return draft
    as_numbers = _are_numbers(draft)
    threshold = _likely_threshold(score)
    problem = Problem(
        f"{score.name} holds numbers, from {score.smallest:g} to {score.largest:g}",
        "say from which number on somebody is selected, or compare the numbers as they are",
    )
    remedies = [
        _remedy_of(
            Flag("threshold", threshold), proposed=not as_numbers, text=f"selected from {threshold:g} on"
        ),
        _remedy_of(Flag("top-share", 0.1), text="selected: the highest tenth"),
        _remedy_of(Flag("outcome", "number"), proposed=as_numbers, text="compare the numbers as they are"),
    ]
    draft = draft.with_remark(Remark("decision", score.name, not as_numbers, problem, tuple(remedies)))
    if as_numbers:
        return draft
    return draft.with_config(threshold=(threshold,))


def _likely_threshold(score: columns_seen.ColumnSeen) -> float:
    """Return one half of shares, else the lowest number above the median."""
    if score.is_share and isinstance(score.largest, float) and score.largest > HALF:
        return HALF
    if score.above_middle is not None:
        return score.above_middle
    return score.middle or 0.0


@dataclass(frozen=True)
class _Tried:
    """What an audit of the first rows finds, with all remedies.

    Parameters
    ----------
    problems : tuple of Problem
        What stops it without them.
    attempt : Attempt
        With them.
    roles : ColumnRoles or None
        Where it runs.
    uncut : tuple of str
        Numbers that are called like protected attributes, and birth dates.
    selection : Selection
        Whom it selects.
    as_numbers : bool
    """

    problems: tuple[Problem, ...]
    attempt: Attempt
    roles: ColumnRoles | None = None
    uncut: tuple[str, ...] = ()
    birth_dates: tuple[str, ...] = ()
    selection: columns_seen.Selection = columns_seen.NO_SELECTION
    as_numbers: bool = False


def _try_audit(rows: FirstRows, config: AuditConfig) -> _Tried:
    """Scan the first rows as an audit does, past everything that stops it."""
    attempt = Attempt(config)
    problems: tuple[Problem, ...] = ()
    try:
        with rows.scan(attempt) as scan:
            return _read_scan(scan, problems, attempt)
    except UserError as error:
        everything = go_past(error.problems, attempt, rows.scan)
    tried = _Tried(everything.problems, everything.attempt)
    if not everything.is_past:
        return tried
    with rows.scan(everything.attempt) as scan:
        return _read_scan(scan, everything.problems, everything.attempt)


def _read_scan(scan: "Scan", problems: tuple[Problem, ...], attempt: Attempt) -> _Tried:
    """Return the outcome of an attempt from its scan."""
    roles = scan.roles
    selection = columns_seen.NO_SELECTION
    if not scan.config.of_numbers and not scan.classes and not attempt.without_scores:
        if scan.binary:
            selection = columns_seen.count_selection(scan.source, roles, f"code_{roles.score} = 1")
        elif scan.config.threshold:
            threshold = sql.literal(scan.config.threshold[0])
            sign = "<" if scan.cuts_of("")[0].below else ">="
            selection = columns_seen.count_selection(
                scan.source, roles, f"number_{roles.score} {sign} {threshold}"
            )
    return _Tried(
        problems,
        attempt,
        roles,
        scan.tally.uncut,
        scan.tally.birth_dates,
        selection,
        scan.config.of_numbers,
    )


def _past_all_stops(draft: _Draft) -> _Draft:
    """Return it with all that stops an audit as remarks, and the options that go past them."""
    before = draft.config
    tried = _try_audit(draft.rows, before)
    if tried.roles is not None:
        for name in tried.roles.attributes:
            if name in draft.columns:
                draft = _with_same_values(draft, draft.columns[name])
        cut = [name for name in tried.attempt.config.bins if name not in draft.config.bins]
        for name in (*tried.uncut, *cut):
            if name not in draft.columns:
                continue
            others = [other for other in (*tried.roles.attributes, *tried.uncut) if other != name]
            draft = _with_bins(draft, draft.columns[name], others, stops=name in cut)
        for name in tried.birth_dates:
            draft = draft.with_remark(_ask_for_a_day(draft, name))
    if draft.config != before:
        tried = _try_audit(draft.rows, draft.config)
    has_remark = {remark.column for remark in draft.remarks if remark.kind in ("spellings", "bins")}
    for problem in tried.problems:
        remark = _remark_of(draft, problem)
        if remark.kind != "short forms" and not (remark.kind == "bins" and remark.column in has_remark):
            draft = draft.with_remark(remark)
    config = tried.attempt.config
    if tried.attempt.first_copies and tried.roles is not None:
        doubled = draft.rows.source.doubled
        names = tuple(name for name in tried.roles.attributes if name not in doubled)
        config = config.model_copy(update={"attributes": names or None})
        draft = replace(draft, remarks=tuple(_with_other_columns(draft.remarks, names)))
    if tried.selection.runs_against:
        draft = draft.with_remark(_ask_for_turn(draft, config))
    draft = replace(
        draft,
        config=config,
        roles=tried.roles,
        share_selected=tried.selection.share,
        as_numbers=tried.as_numbers,
    )
    return _with_doubtful_numbers(_with_missing_groups(draft))


def _with_other_columns(remarks: Sequence[Remark], names: Sequence[str]) -> Iterator[Remark]:
    """Yield remarks, those on columns of one name with the remedy to audit the others."""
    for remark in remarks:
        if FIRST_COPIES in remark.problem.assumed and names:
            text = f"audit {join_names(list(names))} without it"
            yield replace(remark, remedies=(Remedy(text, {"attribute": list(names)}, proposed=True),))
        else:
            yield remark


def _with_bins(
    draft: _Draft, column: columns_seen.ColumnSeen, others: Sequence[str], *, stops: bool
) -> _Draft:
    """Return it with a number cut into groups, and a remark; `others` are audited without it."""
    edges = tuple(edge for edge in AGES if _is_inside(edge, column))
    bins: Any = N_BINS
    text = f"cut it into {N_BINS} groups of the same size"
    if edges and recognise.named_like_ages(column.name):
        bins = list(edges)
        text = f"cut it at {', '.join(map(str, edges))}"
    proposed = Remedy(text, {"bins": {column.name: bins}}, proposed=True)
    remedies = [proposed, Remedy("cut it into 2 groups of the same size", {"bins": {column.name: 2}})]
    if others:
        remedies.append(Remedy("leave it out", {"attribute": others}))
    problem_text = f"{column.name} is a number of {column.distinct} different values, which is no group"
    problem = Problem(problem_text, "cut it into groups, or leave it out")
    remark = Remark("bins", column.name, stops, problem, tuple(remedies))
    cut = AuditConfig.model_validate({"bins": {column.name: bins}}).bins
    return draft.with_config(bins={**draft.config.bins, **cut}).with_remark(remark)


def _is_inside(edge: float, column: columns_seen.ColumnSeen) -> bool:
    low = column.smallest
    high = column.largest
    return isinstance(low, float) and isinstance(high, float) and low < edge <= high


def _ask_for_a_day(draft: _Draft, name: str) -> Remark:
    """Return the remark on birth dates, which are groups of ages on a day: that of another column, or any."""
    problem = Problem(f"{name} holds birth dates", "say on which day ages are counted: as_of")
    asked = Problem(
        f"{name} holds birth dates", "say on which day ages are counted to compare groups of ages"
    )
    remedies = []
    for column in draft.columns.values():
        if column.kind == "date" and not recognise.named_like_protected(column.name):
            options = {"bins": {name: list(AGES)}, "as_of": column.name}
            remedies.append(Remedy(f"ages on the day in {format_value(column.name)}", options))
    remedies = remedies[:MOST_REMEDIES]
    remedies.append(Remedy("ages on a day", {"bins": {name: list(AGES)}}, asks_for="as_of"))
    return Remark("birth dates", name, False, problem, tuple(remedies), asked)


def _ask_for_turn(draft: _Draft, config: AuditConfig) -> Remark:
    """Return the remark on a label that runs against the score."""
    name = config.label or next((label for label in LABELS if label in draft.columns), "")
    label = draft.columns[name]
    values = _meanings(draft, label)
    good = str(config.favourable_label or (config.favourable[0] if label.kind == "words" else "1"))
    if label.kind == "0/1":
        others = ["0"] if good == "1" else ["1"]
    else:
        others = [value for value in values if value != good]
    problem = Problem(
        f"{name} runs against {draft.score}: fewer of those with {format_value(good)} are selected",
        "look which value of each is the good one",
    )
    remedies = []
    for value in others[:MOST_REMEDIES]:
        text = f"{format_value(value)} of {name} is the good one"
        remedies.append(_remedy_of(Flag("favourable-label", value), text=text))
    return Remark("turned", name, False, problem, tuple(remedies))


def _remark_of(draft: _Draft, problem: Problem) -> Remark:
    """Return the remark on a problem that stops an audit."""
    flags = problem.remedy or problem.assumed
    kind = "other"
    if FIRST_COPIES in flags:
        return Remark(kind, "", True, problem, ())
    for flag in flags:
        kind = KIND_OF_KEY.get(flag.key, kind)
    text = spell(problem.what)
    column = next((name for name in draft.columns if format_value(name) in text or f"{name}:" in text), "")
    remedies: list[Remedy] = []
    pieces = problem.fix if isinstance(problem.fix, tuple) else ()
    ways = [piece for piece in pieces if isinstance(piece, Flag) and piece.key == "notation"]
    if ways:
        question = Problem(text, "say what is meant")
        return Remark("numbers", column, True, problem, tuple(map(_notation_remedy, ways)), question)
    for flag in flags:
        if flag.key == "attribute":
            remedies += _attribute_remedies(draft, str(flag.value))
        elif flag.key == "spellings" and isinstance(flag.value, tuple):
            remedies.append(_remedy_of(flag, proposed=True))
            apart = Flag("spellings", (f"{flag.value[0]}", "keep"))
            remedies.append(_remedy_of(apart, text="keep them apart"))
        elif flag == OPEN_SCORE:
            for candidate in draft.decisions[:MOST_REMEDIES]:
                remedies.append(_remedy_of(Flag("score", candidate.column)))
        elif flag.key == "counts":
            others = [name for name, seen in draft.columns.items() if _may_be_groups(seen) and name != column]
            groups = [name for name in others if name not in (draft.score, draft.config.label)]
            remedies.append(_remedy_of(flag, proposed=True))
            remedies.append(Remedy("each row is one person", {"attribute": groups}))
        elif flag.key in TEXT_OF_KEY and flag.value not in ("VALUE", "COLUMN"):
            remedies.append(_remedy_of(flag, proposed=True))
    asked = _without_options(problem, flags)
    if len(draft.rows.source.columns) == 1 and not remedies:
        asked = Problem(
            "the whole table is one column",
            "save it with commas, semicolons or tabs between cells, and the columns' names in the first row",
        )
    return Remark(kind, column, True, problem, tuple(remedies), asked)


def _notation_remedy(flag: Flag) -> Remedy:
    """Return the remedy of what the cells of a column mean."""
    name, notation = flag.value if isinstance(flag.value, tuple) else ("", "")
    return _remedy_of(flag, text=f"{MEANING_OF_NOTATION[str(notation)]}, in {name}")


def _with_doubtful_numbers(draft: _Draft) -> _Draft:
    """Return it with a remark for each column whose cells may be two numbers, or have two."""
    noticed = {remark.column for remark in draft.remarks if remark.kind == "numbers"}
    for name, column in draft.columns.items():
        if column.kind != "words" or name in noticed:
            continue
        writing = find_writing(column.counts)
        obstacle = find_obstacle(next(iter(column.counts)))
        if isinstance(writing, NumberDoubt):
            problem = Problem(f"{name} has {writing}", "say what is meant, to use it as a number")
            ways = list(writing.ways)
        elif obstacle and obstacle[1] == SECOND:
            problem = Problem(f"{name} has {obstacle[0]}", SECOND)
            ways = ["second"]
        else:
            continue
        remedies = tuple(_notation_remedy(Flag("notation", (name, way))) for way in ways)
        draft = draft.with_remark(Remark("numbers", name, False, problem, remedies))
    return draft


def _without_options(problem: Problem, flags: Sequence[Flag]) -> Problem | None:
    """Return a problem without names of options; None where its remedies have no words."""
    keys = {flag.key for flag in flags}
    for key, (what, fix) in ASKED_BY_KEY.items():
        if key in keys:
            return Problem(what or spell(problem.what).removesuffix(FIRST_HERE), fix)
    return None


def _attribute_remedies(draft: _Draft, likely: str) -> Iterator[Remedy]:
    """Yield each column of groups that may be audited, the likeliest first."""
    outcomes = {draft.score, draft.config.label}
    names = [column.name for column in draft.columns.values() if _may_be_groups(column)]
    for name in list(dict.fromkeys((likely, *names)))[:MOST_REMEDIES]:
        if name not in outcomes:
            yield Remedy(f"audit {format_value(name)}", {"attribute": [name]}, proposed=name == likely)


def _may_be_groups(column: columns_seen.ColumnSeen) -> bool:
    return column.kind in ("words", "0/1") and columns_seen.TWO <= column.distinct <= MOST_CODES


def _with_missing_groups(draft: _Draft) -> _Draft:
    """Return it with a remark for each attribute with empty cells, or with words for none, such as n/a."""
    if draft.roles is None:
        return draft
    for name in draft.roles.attributes:
        column = draft.columns.get(name)
        if column is None:
            continue
        groups = [(MISSING, "empty", column.missing)] if column.missing else []
        for value, n_rows in column.counts.items():
            if value.casefold() in NO_VALUE and name not in draft.config.bins:
                groups.append((value, format_value(value), n_rows))
        for group, text, n_rows in groups:
            if draft.config.leaves_out(name, group):
                continue
            problem_text = f"{name} is {text} in {format_count(n_rows, 'row')}"
            problem = Problem(
                problem_text, f"these are a group of their own, {group}; or leave that group out"
            )
            keep = Remedy("keep them as a group", {}, proposed=True)
            left_out = Remedy("leave them out", {"exclude": [f"{name}={group}"]})
            draft = draft.with_remark(Remark("missing", name, False, problem, (keep, left_out)))
    return draft


def _describe(draft: _Draft, name: str) -> Understood:
    """Return the finished draft, with sizes and roles in words."""
    rows = draft.rows
    source = rows.source
    n_columns = format_count(len(source.column_index), "column")
    if rows.is_whole:
        size_text = f"{format_count(rows.n_looked_at, 'row')}, {n_columns}"
    else:
        size = f"{rows.n_looked_at:,} rows or more"
        if rows.n_rows is not None:
            size = format_count(rows.n_rows, "row")
        size_text = f"{size}, {n_columns}; what is said of them is of the first "
        size_text += format_count(rows.n_looked_at, "row")
    table = TableSeen(
        name=name or source.name,
        format=source.format,
        rows=rows.n_rows,
        rows_looked_at=rows.n_looked_at,
        whole=rows.is_whole,
        columns=len(source.column_index),
        notes=source.notes,
        said=size_text,
    )
    roles = draft.roles
    if roles is None:
        roles = _guess_roles(draft)
    columns = tuple(_describe_column(draft, roles, column) for column in draft.columns.values())
    return Understood(
        table=table,
        columns=columns,
        decisions=draft.decisions,
        labels=draft.labels,
        remarks=(*_sheet_remarks(source), *sorted(draft.remarks, key=lambda remark: not remark.stops)),
        config=draft.config,
        share_selected=draft.share_selected,
        as_numbers=draft.as_numbers,
    )


def _sheet_remarks(source: Source) -> Iterator[Remark]:
    """Yield that a workbook has other sheets, if it has, each with the option that reads it instead."""
    if not source.other_sheets:
        return
    size = format_count(len(source.other_sheets), "other sheet")
    problem = Problem(f"the workbook has {size} that can be seen", "read another in the place of this one")
    remedies = [
        Remedy(f"read {format_value(sheet)}", {"table": sheet})
        for sheet in source.other_sheets[:MOST_REMEDIES]
    ]
    yield Remark("sheet", "", stops=False, problem=problem, remedies=tuple(remedies))


def _guess_roles(draft: _Draft) -> ColumnRoles | None:
    """Return the roles where an audit does not run, as far as they can be told."""
    try:
        with draft.rows.clean(DEFAULTS) as source:
            return assign_roles(source, draft.config)
    except UserError:
        return None


def _describe_column(draft: _Draft, roles: ColumnRoles | None, column: columns_seen.ColumnSeen) -> ColumnRole:
    role, why = _role_of(draft, roles, column)
    return ColumnRole(
        name=column.name,
        kind=column.kind,
        values=column.values,
        distinct=column.distinct,
        missing=column.missing,
        smallest=column.smallest,
        largest=column.largest,
        role=role,
        why=why,
    )


NAMED = "it is named for this"
WHY_OF_KIND = {
    "empty": "it has no values",
    "constant": "it has one value only",
    "identifier-like": IDENTIFIERS[0],
}


def _role_of(draft: _Draft, roles: ColumnRoles | None, column: columns_seen.ColumnSeen) -> tuple[str, str]:
    """Return the role of a column, and why."""
    options = draft.asked_for
    name = column.name
    position = draft.rows.source.column_index[name]
    if options.counts == name:
        return "counts", NAMED
    candidates = {candidate.column: candidate.why for candidate in (*draft.labels, *draft.decisions)}
    if roles is None:
        if name == draft.score:
            return "score", candidates.get(name, NAMED)
        return "unused", "the audit does not run yet"
    if position in roles.role_of:
        role = roles.role_of[position].partition(" ")[0]
        if position in roles.scores:
            role = "score"
        names_given = {
            *(options.scores or ()),
            options.label,
            options.weight,
            options.model_column,
            options.identifier,
        }
        names_given |= {*(options.cluster or ()), options.sliced_by}
        why_of = {candidate.column: candidate.why for candidate in draft.labels}
        if role == "score":
            why_of = {candidate.column: candidate.why for candidate in draft.decisions}
        if name in names_given:
            return role, NAMED
        return role, why_of.get(name, f"the column is called {name}")
    if name in roles.attributes:
        return "attribute", _why_attribute(draft, column)
    reason = roles.left_out.get(name)
    if column.kind in WHY_OF_KIND:
        return "unused", WHY_OF_KIND[column.kind]
    if reason is not None and reason not in (DATES, BYTES):
        return "left out", reason[0]
    if reason is not None:
        return "date" if reason == DATES else "left out", reason[0]
    if column.kind == "date":
        return "date", DATES[0]
    if draft.config.attributes is not None:
        return "unused", "the columns to audit are named, and it is none of them"
    return "unused", f"it is called {name}"


def _why_attribute(draft: _Draft, column: columns_seen.ColumnSeen) -> str:
    """Return why a column is audited, and into how many groups it divides people."""
    bins = draft.config.bins.get(column.name)
    groups = "cut into groups"
    if bins is None:
        groups = format_count(len(_meanings(draft, column)), "group")
    if column.name in (draft.asked_for.attributes or ()):
        return f"{NAMED}, {groups}"
    if recognise.named_like_protected(column.name):
        return f"named like a protected attribute, {groups}"
    return f"it holds groups, and few columns do, {groups}"
