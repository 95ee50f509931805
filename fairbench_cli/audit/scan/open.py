"""Read predictions into counts: a file in one streaming pass, a data frame, or arrays.

DuckDB does the scan: on 10 million CSV rows it needs less memory than Polars (131 MB here, with a limit set;
Polars 371 MB), and spills to disk what outgrows it, so memory does not depend on the rows. Polars needs a
quarter less CPU for a bare scan, but has neither GROUPING SETS nor an exact top-k that spills.

Policies:

* Everything is read as text; no type is guessed. Blanks around names and values are trimmed.
* An empty cell, or NULL, of an attribute is the group ``(missing)``; words such as NA or None stay groups of
  that name, with a note.
* A missing score, label or weight is refused: no row is dropped.
* Messages name a row as ``file:line``; for Parquet and frames as ``file:row N``, counted from 1.
* A random draw among ties depends on the seed and on the counts, never on the order of the rows.
"""

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fairbench_cli.audit.config import MISSING, AuditConfig, Decision
from fairbench_cli.audit.scan import input_errors, readings, spellings, sql
from fairbench_cli.audit.scan.cleaning import clean_rows, columns_with, describe_dropped
from fairbench_cli.audit.scan.outcome_kind import settle_outcome
from fairbench_cli.audit.scan.readings import Cut, CutsByModel, NumberBins
from fairbench_cli.audit.scan.roles import (
    LABELS,
    MOST_CHECKED,
    MOST_CODES,
    NONE_REJECTED,
    NUMBERS,
    SHORT_FOR,
    UNLIKELY,
    ColumnRoles,
    RejectedGuesses,
    ages_on_a_day,
    assign_roles,
    find_column,
    find_words_below,
    too_many_groups,
)
from fairbench_cli.audit.scan.row_checks import check_rows
from fairbench_cli.audit.scan.scan import (
    Attempt,
    Cells,
    CountedRows,
    OpenedRows,
    Scan,
    TooManyGroups,
    cluster_slices,
    count_cells,
    group_name,
    make_slices,
)
from fairbench_cli.audit.scan.slices import Ones, Slice, Tally
from fairbench_cli.audit.scan.source import (
    FRAME,
    LIBRARIES,
    Source,
    open_file,
    open_frame,
    path_of,
    progress_of,
    start_database,
)
from fairbench_cli.base.errors import Flag, UserError, format_value, refuse, user_error
from fairbench_cli.base.files import scratch_folder
from fairbench_cli.base.progress_callbacks import PercentDone, ProgressCallback, ignore_progress
from fairbench_cli.base.safe_text import format_count, format_path
from fairbench_cli.base.spelling_variants import find_abbreviations, find_spelling_variants
from fairbench_cli.data import recognise
from fairbench_cli.data.number_writing import GAP_WORDS, is_written_number

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fairbench_cli.audit.scan.source import Frame

MOST_IDENTIFIERS = 100_000  # rows; beyond, counting persons would cost more than the audit
MANY_REPEATS = 0.1  # of the rows, of the same people as others
FEW_REPEATS = 0.05  # of the rows; what an estimate cannot tell from none


@contextmanager
def open_scan(
    source: "str | Path | Frame",
    config: AuditConfig,
    *,
    against: "Frame | None" = None,
    name: str = "",
    tell: ProgressCallback = ignore_progress,
) -> Iterator[Scan]:
    """Open a file or a frame, count its rows by what every audit needs, and let parts read more of them.

    Parameters
    ----------
    source : str, Path or frame
        A CSV, TSV, NDJSON (each perhaps gzip), Parquet, Excel or SQLite file, "-" for standard input; or a
        pandas or Polars frame, an Arrow table or whatever else gives an Arrow stream, with a row per person.
    config : AuditConfig
        Columns, decisions, attributes, and what to explain by.
    against : frame, optional
        The baseline: scores of the same rows, in place of the file that the configuration names.
    name : str
        What the rows are called in messages; by default as the file is, or a data frame.
    tell : callable
        Called with what is being done.

    Raises
    ------
    UserError
        When the file or the columns asked for are not fit to be audited, naming file, row and column.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"score": [1, 0, 1], "sex": ["f", "f", "m"]})
    >>> with open_scan(frame, AuditConfig()) as scan:
    ...     (part,) = scan.tally.slices
    >>> part.counts.groups, part.counts.predicted.tolist()
    (('f', 'm'), [[1.0, 1.0], [0.0, 1.0]])
    """
    scan_rows = partial(_scan_rows, name=name)
    with ExitStack() as stack:
        try:
            scan = stack.enter_context(scan_rows(source, Attempt(config), against, tell))
        except UserError as error:
            is_gone_past = any(problem.assumed or problem.remedy for problem in error.problems)
            if is_gone_past and _is_read_again(source, config.against if against is None else against):
                tell("looking for what else stops the audit", None)
                from fairbench_cli.audit.scan.problems import collect_problems

                raise collect_problems(
                    error, config, lambda attempt: scan_rows(source, attempt, against)
                ) from None
            raise
        yield scan


def _is_read_again(*sources: "str | Path | Frame | None") -> bool:
    """Return whether rows can be read more than once: not those of a stream."""
    for source in sources:
        if isinstance(source, str | Path):
            if not Path(path_of(str(source))).is_file():
                return False
        elif source is not None and type(source).__module__.partition(".")[0] not in LIBRARIES:
            return False
    return True


@contextmanager
def _scan_rows(
    source: "str | Path | Frame",
    attempt: Attempt,
    against: "Frame | None" = None,
    tell: ProgressCallback = ignore_progress,
    *,
    name: str = "",
) -> Iterator[Scan]:
    """Open a file or a frame and count its rows, see `open_scan`; the first stop is raised."""
    config = attempt.config
    with _start_database() as (database, folder), _watch_progress(database, tell) as far:
        rows = _open_source(database, source, folder, config, tell)
        is_standard_input = rows.name == "-"
        if name:
            rows = replace(rows, name=name)
        if attempt.first_copies:
            rows = rows.with_first_copies()
        if attempt.without_scores:
            rows = rows.with_scores_of_1()
        tell(f"counting the rows of {rows.name}, pass by pass", far)
        with input_errors.reading_rows(rows):
            if not config.against:
                with rows.engine(memory=rows.memory):
                    yield from _settle_guesses(clean_rows(rows, config), config)
                return
            from fairbench_cli.audit.scan.pairing import names_of_files, pair_rows

            if is_standard_input and config.against == "-":
                fix = "name one of the files"
                raise user_error("standard input cannot be both files", fix, Flag("against"))
            baseline_folder = folder / "baseline"
            baseline_folder.mkdir()
            cursor = database.cursor()  # with temporary tables of its own
            baseline = _open_source(
                cursor, config.against if against is None else against, baseline_folder, config
            )
            with rows.engine(memory=max(rows.memory, baseline.memory)):
                yield from _settle_guesses(
                    pair_rows(rows, baseline, config), config, names_of_files(rows, baseline)[::-1]
                )


@contextmanager
def _watch_progress(database: "DuckDBPyConnection", tell: ProgressCallback) -> Iterator[PercentDone | None]:
    """Return the function that says how far a query is, if anybody listens; not asked any more at the end."""
    if tell is ignore_progress:
        yield None
        return
    try:
        yield progress_of(database)
    finally:
        tell("computing intervals and tests", None)


LOOKED_AT = "looked_at"
LOOKED_AT_CELLS = 1_000_000  # of a wide table fewer rows are looked at
FEWEST_LOOKED_AT = 200  # rows


@dataclass(frozen=True)
class FirstRows:
    """The first rows of a table, kept apart: whatever is asked of them, the rest is not read.

    Parameters
    ----------
    source : Source
        These rows.
    n_looked_at : int
        How many they are.
    n_rows : int or None
        How many the table has, where that is known without reading it.
    """

    source: Source
    n_looked_at: int
    n_rows: int | None

    @property
    def is_whole(self) -> bool:
        """Whether these are all rows of the table."""
        return self.n_looked_at == self.n_rows

    @contextmanager
    def scan(self, attempt: Attempt) -> Iterator[Scan]:
        """Scan these rows as an audit does all of them, see `open_scan`; the first stop is raised."""
        with self._connect() as rows:
            if attempt.first_copies:
                rows = rows.with_first_copies()
            if attempt.without_scores:
                rows = rows.with_scores_of_1()
            rows = _with_counts(rows, attempt.config)
            cleaned = clean_rows(rows, attempt.config, is_whole=self.is_whole)
            yield from _settle_guesses(cleaned, attempt.config)

    @contextmanager
    def clean(self, config: AuditConfig) -> Iterator[Source]:
        """Return these rows with values recoded, and decimal commas and percents read."""
        recoding = AuditConfig(recode=config.recode, notation=config.notation)
        with self._connect() as rows:
            cleaned = clean_rows(rows, recoding)
            columns = list(cleaned.column_index.values())
            percents = columns_with(cleaned, columns, "ends_with({cell}, '%')")
            with_percents, _ = readings.read_percent(cleaned, percents)
            yield with_percents

    @contextmanager
    def _connect(self) -> Iterator[Source]:
        """Return the rows for one use, with temporary tables of its own."""
        cursor = self.source.database.cursor()
        try:
            with input_errors.reading_rows(self.source), self.source.engine(memory=self.source.memory):
                yield replace(self.source, database=cursor)
        finally:
            cursor.close()


@contextmanager
def open_first_rows(
    source: "str | Path | Frame",
    config: AuditConfig,
    *,
    frame_name: str = FRAME,
    most_columns: int | None = None,
) -> Iterator[FirstRows]:
    """Open a file or a frame to look at its first rows; how many there are is known of short texts only.

    Raises
    ------
    UserError
        When it cannot be read, or has more columns than are looked at.
    """
    with _start_database() as (database, folder):
        rows = _open_table(database, source, folder, config)
        if most_columns is not None and len(rows.columns) > most_columns:
            problem = f"the table has {format_count(len(rows.columns), 'column')}"
            raise user_error(problem, f"keep those that matter, at most {most_columns:,}")
        if rows.name == FRAME:
            rows = replace(rows, name=frame_name)
        n_most = max(FEWEST_LOOKED_AT, min(rows.first_rows, LOOKED_AT_CELLS // max(1, len(rows.columns))))
        with input_errors.reading_rows(rows), rows.engine(memory=rows.memory):
            # No temporary one: each use of the rows has a connection of its own, which would not see it.
            first_rows = f"SELECT * FROM {rows.table} LIMIT {n_most}"
            rows.database.execute(f"CREATE OR REPLACE TABLE {LOOKED_AT} AS {first_rows}")
            (n_looked_at,) = rows.row(f"SELECT count(*) FROM {LOOKED_AT}")
            n_rows = None
            if n_looked_at < n_most:
                n_rows = n_looked_at
            elif rows.format in ("json", "parquet", "sqlite", "workbook", "frame"):  # which know it
                (n_rows,) = rows.row(f"SELECT count(*) FROM {rows.table}")
        first_table = LOOKED_AT if rows.format == "frame" else rows.first_table
        try:
            looked_at = replace(rows, table=LOOKED_AT, first_table=first_table)
            if looked_at.doubled:
                looked_at = looked_at.with_equal_copies()
            yield FirstRows(looked_at, n_looked_at, n_rows)
        finally:
            database.execute(f"DROP TABLE {LOOKED_AT}")


@contextmanager
def open_cells(
    source: "str | Path | Frame", *, table: str | None = None, encoding: str | None = None
) -> Iterator[Source]:
    """Open a file or a frame whose rows need be no people: its cells, with decimal commas read.

    Parameters
    ----------
    source : str, Path or frame
        As `open_scan` takes it.
    table : str, optional
        Which table of an SQLite file, or sheet of a workbook, is meant.
    encoding : str, optional
        Of a text file.

    Raises
    ------
    UserError
        When it cannot be read.
    """
    config = AuditConfig(table=table, encoding=encoding)
    with _start_database() as (database, folder):
        rows = _open_table(database, source, folder, config)
        with input_errors.reading_rows(rows), rows.engine(memory=rows.memory):
            yield clean_rows(rows, config)


def count_groups(source: "str | Path | Frame", config: AuditConfig) -> Tally:
    """Count the rows of groups in what need have no scores; see `open_scan`.

    Everybody is counted as selected; labels are not looked at.
    """
    with _start_database() as (database, folder):
        rows = _open_source(database, source, folder, config).with_scores_of_1()
        columns = tuple("" if name.lower() in LABELS else name for name in rows.columns)
        doubled = tuple(name for name in rows.doubled if name.lower() not in ("score", *LABELS))
        rows = replace(rows, columns=columns, doubled=doubled)
        with input_errors.reading_rows(rows), rows.engine(memory=rows.memory):
            (scan,) = _settle_guesses(clean_rows(rows, config), config)
            return scan.tally


@contextmanager
def _start_database() -> "Iterator[tuple[DuckDBPyConnection, Path]]":
    """Start DuckDB in a folder for what outgrows memory; refuse one that DuckDB cannot name.

    Ctrl-C in a query, of which DuckDB makes a `RuntimeError`, is a `KeyboardInterrupt`.
    """
    fix = "set TMPDIR to a folder with free space whose name is UTF-8"
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(scratch_folder())
        except OSError as error:
            raise user_error(f"no temporary folder can be made: {error.strerror}", fix) from None
        if format_path(folder) != str(folder):
            raise user_error(f"the name of {format_path(tempfile.gettempdir())} is not UTF-8", fix)
        try:
            yield stack.enter_context(start_database(folder)), folder  # closed before the folder goes
        except RuntimeError as error:
            if "interrupted" in str(error):
                raise KeyboardInterrupt from None
            raise


def _open_source(
    database: "DuckDBPyConnection",
    source: "str | Path | Frame",
    folder: Path,
    config: AuditConfig,
    tell: ProgressCallback = ignore_progress,
) -> Source:
    opened = _open_table(database, source, folder, config, tell)
    if opened.doubled:
        with input_errors.reading_rows(opened), opened.engine(memory=opened.memory):
            opened = opened.with_equal_copies()
    return _with_counts(opened, config)


def _open_table(
    database: "DuckDBPyConnection",
    source: "str | Path | Frame",
    folder: Path,
    config: AuditConfig,
    tell: ProgressCallback = ignore_progress,
) -> Source:
    if isinstance(source, str | Path):
        return open_file(database, str(source), folder, config.table, config.encoding, tell)
    if config.table is not None:
        raise user_error("a data frame has no tables", ("leave out ", Flag("table")), Flag("table"))
    if config.encoding is not None:
        problem = "a data frame has no encoding"
        raise user_error(problem, ("leave out ", Flag("encoding")), Flag("encoding"))
    return open_frame(database, source)


def _with_counts(opened: Source, config: AuditConfig) -> Source:
    """Return the rows with one for each person, where a column says how many a row stands for."""
    if config.counts is None:
        return opened
    column = find_column(opened, config.counts, "counts")
    with input_errors.reading_rows(opened):
        try:
            input_errors.refuse_counts(opened, column)
        except input_errors.OtherWritingError as error:
            opened = _with_writing(opened, error)
            input_errors.refuse_counts(opened, column)
    note = f"{opened.columns[column]}: a row stands for as many people."
    return replace(opened, notes=opened.notes + (note,)).with_people(column)


@dataclass(frozen=True)
class _ReadColumns:
    """The columns as options and guesses read them, before it is found where scores are cut."""

    source: Source
    roles: ColumnRoles
    classes: tuple[str, ...]
    decisions: tuple[Decision, ...]
    bins: dict[str, NumberBins]
    notes: tuple[str, ...]
    ones: Ones
    below: bool


def _settle_guesses(source: Source, config: AuditConfig, names: tuple[str, ...] = ()) -> Iterator[Scan]:
    """Yield the scan; `names` are those of the baseline and the audited file when there are two.

    What the first rows suggest of columns that nobody named is tried until all rows say the same.
    """
    if not source.row("SELECT 1 FROM sample LIMIT 1"):
        raise user_error("the file has a header but no rows", "add one row per person", source.name)
    source, config = settle_outcome(source, config)
    rejected = NONE_REJECTED
    # Every round but the last rejects what was guessed of one more column, so that they come to an end.
    while True:
        try:
            columns = _read_columns(source, config, rejected)
        except input_errors.OtherWritingError as error:
            source = _with_writing(source, error)
            continue
        weighted = columns.roles.weight is not None
        # One order of summing, hence the same last digit each time; pairs may go by their order.
        in_order = weighted or config.of_numbers
        with columns.source.engine(ordered=source.alone is not None, threads=1 if in_order else None):
            try:
                rows = _count_rows(columns, config)
                with_words = _quantities_with_words(rows)
                if not with_words <= rejected.with_words:
                    rejected = replace(rejected, with_words=rejected.with_words | with_words)
                    continue
                slices = _slices_of(rows, names)
            except input_errors.OtherWritingError as error:
                source = _with_writing(source, error)
                continue
            except TooManyGroups as error:  # counting found them, or the slices have them
                rejected = replace(
                    rejected, too_many=rejected.too_many | {_guessed_attribute(columns, error)}
                )
                continue
            # Outside of `try`: what parts of the audit raise is no wrong guess.
            yield _finish_scan(rows, slices)
            return


def _with_writing(source: Source, error: input_errors.OtherWritingError) -> Source:
    """Return the rows with the numbers of a column read as all its rows show that they are written."""
    in_sql = list(source.in_sql)
    in_sql[error.column] = sql.with_writing(in_sql[error.column], error.writing)
    note = f"{error.writing.note}: {source.columns[error.column]}."
    return replace(source, in_sql=tuple(in_sql), notes=source.notes + (note,))


def _slices_of(rows: CountedRows, names: tuple[str, ...]) -> tuple[Slice, ...]:
    """Return the slices of each side of a comparison by their `names`; else those that there are."""
    if not rows.config.compares:
        return make_slices(rows)
    from fairbench_cli.audit.scan.pairing import side_slices

    return side_slices(rows, names)


def _read_columns(source: Source, config: AuditConfig, rejected: RejectedGuesses) -> _ReadColumns:
    """Return the columns as the first rows suggest them and no rows are known to contradict."""
    roles = assign_roles(source, config, rejected)
    with_shares, percent_notes = readings.read_percent(source, roles.scores)
    decisions = readings.drop_medians(with_shares, roles, config.decisions)
    binary = _are_binary(decisions)
    if binary:
        percent_notes = ()
    else:
        own_scores = [column for column in roles.scores if column < len(source.columns)]
        source = readings.with_exact_scores(with_shares, own_scores)
    try:
        outcomes = readings.read_outcomes(source, roles, config, binary=binary)
    except spellings.AlikeValuesError as error:
        raise UserError(
            *error.problems, *spellings.check_alike_groups_of_rows(source, roles, config)
        ) from None
    if not outcomes.uses_label:
        roles = replace(roles, label=None)
    ones = readings.describe_ones(roles, _names_of_roles(source, roles, config), outcomes, binary=binary)
    source, merge_notes = spellings.merge_groups(outcomes.source, roles, config)
    bins = {
        name: readings.find_bins(source, roles.attributes[name], n_bins_or_edges)
        for name, n_bins_or_edges in config.bins.items()
    }
    notes = source.notes + roles.notes + outcomes.notes + percent_notes + merge_notes
    return _ReadColumns(source, roles, outcomes.classes, decisions, bins, notes, ones, outcomes.below)


def _names_of_roles(source: Source, roles: ColumnRoles, config: AuditConfig) -> dict[int, str]:
    """Return the names of the columns of scores and of the label; a baseline's has that of the score."""
    names = {column: source.columns[column] for column in roles.scores}
    if source.alone is not None:
        names[len(source.columns) - 1] = config.score or "score"
    if roles.label is not None:
        names[roles.label] = source.columns[roles.label]
    return names


def _are_binary(decisions: tuple[Decision, ...]) -> bool:
    """Return whether scores are 0 or 1 as they are, and not cut."""
    return all(decision.kind == "binary" for decision in decisions)


def _count_rows(columns: _ReadColumns, config: AuditConfig) -> CountedRows:
    """Find the cuts, count, and refuse what was counted and is no score, label or weight."""
    source = columns.source
    roles = columns.roles
    if columns.classes:
        cuts = tuple(readings.class_cuts(columns.classes) for _ in roles.scores)
    else:
        cuts = tuple(readings.find_cuts(source, roles, column, columns.decisions) for column in roles.scores)
    if columns.below:
        cuts = tuple(_turn(of_models, config) for of_models in cuts)
    opened = OpenedRows(
        source=source,
        config=config,
        roles=roles,
        classes=columns.classes,
        cuts=cuts,
        bins=columns.bins,
        binary=_are_binary(columns.decisions),
        notes=columns.notes,
        ones=columns.ones,
    )
    rows = CountedRows(**vars(opened), cells=count_cells(opened))
    for cells in rows.cells.values():
        _refuse_cells(rows, cells)
    return rows


def _turn(cuts: CutsByModel, config: AuditConfig) -> CutsByModel:
    """Return cuts under which the others are selected; refuse what looks at scores from the highest down."""
    for key in ("curves", "mitigate"):
        if getattr(config, key):
            problem = f"{key} takes the highest scores for good, and 0 is the good value"
            raise user_error(problem, "leave it out", Flag(key))
    return {model: list(map(Cut.turned, of_model)) for model, of_model in cuts.items()}


def _refuse_cells(rows: OpenedRows, cells: Cells) -> None:
    """Refuse what was counted and is no score, label or weight."""
    source = rows.source
    roles = rows.roles
    if (cells.level < 0).any():
        n_own_columns = len((source.alone or source).columns)  # a baseline has been looked at already
        for column in roles.scores:
            if column < n_own_columns:
                if rows.binary:
                    input_errors.refuse_codes(source, column, "score")
                input_errors.refuse_scores(source, column)
    if roles.label is not None and (cells.label == rows.bad_label).any():
        input_errors.refuse_codes(source, roles.label, "label")
    if roles.truth is not None:
        input_errors.refuse_scores(source, roles.truth)
    if roles.weight is not None and cells.bad_weights:
        input_errors.refuse_weights(source, roles.weight)
    if roles.weight is not None and not cells.weighing.any():
        problem = f"{format_value(source.columns[roles.weight])} is 0 in every row, so that nobody counts"
        raise user_error(problem, "name a column of weights above 0, or none", Flag("weight"))


def _quantities_with_words(rows: CountedRows) -> frozenset[int]:
    """Return which columns that looked like quantities by the first rows hold words below."""
    quantities = rows.roles.quantities
    if len(quantities) > MOST_CHECKED:
        return find_words_below(rows.source, quantities)
    n_words = zip(quantities, rows.together.word_counts, strict=True)
    return frozenset(column for column, n in n_words if n)


def _guessed_attribute(columns: _ReadColumns, error: TooManyGroups) -> int:
    """Return the column of too many groups, which nobody named; refuse any other."""
    name = error.names[0]
    roles = columns.roles
    if len(error.names) > 1 or name not in roles.unnamed or name not in roles.attributes:
        raise too_many_groups(columns.source, error.names, error.count) from None
    return roles.attributes[name]


def _finish_scan(rows: CountedRows, slices: tuple[Slice, ...]) -> Scan:
    """Return the scan of counted rows with their slices, and the notes on what was noticed in all rows.

    Thresholds of another scale than the scores are refused, and so are groups that are written alike.
    """
    config = rows.config
    roles = rows.roles
    notes = list(rows.notes)
    notes += check_rows(rows)
    for name, bins in rows.bins.items():
        notes.append(readings.describe_bins(name, config.bins[name], bins))
    # Whose rows these are is said last, and looked at before the groups, which may be refused.
    people_notes = []
    person = ""
    if roles.clusters:
        slices, people_note = cluster_slices(rows, slices)
        people_notes.append(people_note)
    elif not config.counts:
        repeated_notes, person = _repeated_people(rows)
        people_notes += repeated_notes
    written_values = {name: _written_values(rows, name) for name in roles.attributes}
    sizes: dict[str, dict[str, int]] = {}
    for name, groups in written_values.items():
        sizes[name] = {group: sum(values.values()) for group, values in groups.items()}
    refuse(spellings.check_alike_groups(sizes, config))
    for name, groups in written_values.items():
        notes += _describe_groups(name, groups, sizes[name], config)
    notes += describe_dropped(rows.source, roles.attributes, rows.bins, sizes)
    notes += people_notes
    n_rows = rows.together.rows
    n_weightless = int((n_rows - rows.together.weighing).sum())
    if n_weightless:
        notes.append(f"{format_count(n_weightless, 'row')} of weight 0 left out.")
    tally = Tally(
        rows.source.name,
        int(n_rows.sum()),
        slices,
        tuple(notes),
        weighted=rows.weighted,
        last=slices[-1].model if config.compares else "",
        uncut=_uncut_attributes(rows, rows.roles.quantities),
        birth_dates=_uncut_birth_dates(rows),
        unused=_unused_columns(rows),
        ones=rows.ones,
        has_truth=roles.truth is not None,
        person=person,
    )
    return Scan(**vars(rows), tally=tally)


def _uncut_attributes(rows: CountedRows, columns: Sequence[int]) -> tuple[str, ...]:
    """Return those of columns that are not audited which are called like protected attributes, such as age.

    One whose name has a word of an attribute that is, such as age next to age_cat, is left out.
    """
    audited_words: set[str] = set()
    for name in rows.roles.attributes:
        audited_words.update(recognise.split_words(name))
    names = (rows.source.columns[column] for column in columns)
    return tuple(
        name
        for name in names
        if recognise.named_like_protected(name) and audited_words.isdisjoint(recognise.split_words(name))
    )


def _unused_columns(rows: CountedRows) -> tuple[str, ...]:
    """Return the columns left out that may be a reason for a gap: of groups, and of amounts.

    Of numbers also those that are called like categories of workers, where nobody asked which are left out.
    """
    left_out = rows.roles.left_out
    names = [name for name, why in left_out.items() if why == UNLIKELY]
    numbers = (name for name, why in left_out.items() if why == NUMBERS)
    if rows.config.of_numbers:
        used = {name for audited in rows.roles.audited for name in audited}
        used.update(rows.source.columns[column] for column in rows.roles.role_of)
        workers = filter(recognise.named_like_workers, rows.source.columns)
        names += [name for name in workers if name not in used.union(names)]
    return (*names, *filter(recognise.named_like_amounts, numbers))


def _uncut_birth_dates(rows: CountedRows) -> tuple[str, ...]:
    """Return the columns of birth dates, of which no ages are audited; none where an age is."""
    if any(map(recognise.named_like_ages, rows.roles.attributes)):
        return ()
    return _uncut_attributes(rows, rows.roles.birth_dates)


def _written_values(rows: CountedRows, name: str) -> dict[str, dict[str | None, int]]:
    """Return the rows of each value of an attribute as it is written, by group."""
    written: dict[str, dict[str | None, int]] = defaultdict(lambda: defaultdict(int))
    cells = rows.cells_with([name])
    for value, count in zip(cells.values[name], cells.rows.tolist(), strict=True):
        written[group_name(value)][value] += count
    return written


def _describe_groups(
    name: str, written: dict[str, dict[str | None, int]], sizes: dict[str, int], config: AuditConfig
) -> list[str]:
    """Return the notes on what was done to values of an attribute, and which look alike or missing."""
    notes = []
    if MISSING in written:
        notes.append(f"{name}: {format_count(sizes[MISSING], 'row')} without a value; group {MISSING}.")
    trimmed = sorted(group for group, forms in written.items() if group != MISSING and set(forms) != {group})
    merged = [group for group in trimmed if len(written[group]) > 1]
    if trimmed:
        listed = ", ".join(map(format_value, merged[:5])) + (", …" if len(merged) > 5 else "")
        merged_clause = ""
        if merged:
            merged_clause = f", which merged {listed}"
        notes.append(f"{name}: blanks around values were trimmed{merged_clause}.")
    notes += [
        f"{name}: {format_value(group)} ({format_count(sizes[group], 'row')}) is a group of its own; if it "
        f"means missing, leave the cell empty or the group out, --exclude {group!r}."
        for group in sorted(written)
        if group.lower() in GAP_WORDS and not config.leaves_out(name, group)
    ]
    if len(sizes) > MOST_CODES and name not in config.bins:
        groups = set(sizes) - {MISSING}
        if recognise.are_dates(name, groups):
            notes.append(f"{name}: each date is a group; as ages on a day: {ages_on_a_day(name)}.")
        elif all(map(is_written_number, groups)):
            ranges = Flag("bins", (name, 4)).spell()
            notes.append(f"{name}: each of {len(groups)} numbers is a group; in ranges: {ranges}.")
    if config.spelling(name) == "keep":
        notes += [f"{name}: {twins}." for twins in find_spelling_variants(sorted(written))]
    for letter, value in find_abbreviations(sorted(written)):
        short = f"{format_value(letter)} {SHORT_FOR} {format_value(value)}"
        notes.append(f"{name}: {short}; to count them as one: --recode '{name}: {value} = {letter}'.")
    return notes


def _repeated_people(rows: CountedRows) -> tuple[list[str], str]:
    """Return notes of rows that repeat the person of an earlier row, and the column that surely says so.

    Sure is what is called like people, or ``id``, and repeats in a tenth of all rows or more.

    A person is told by ``id`` or ``entity_id``, and by what is called like an identifier and has more values
    than codes have. Of large files an estimate where a column can be read alone, else of the first rows.
    """
    source = rows.source
    roles = rows.roles
    n_rows = int(rows.together.rows.sum())
    used_columns = set(roles.role_of) | set(roles.attributes.values())
    names = {
        name: i
        for name, i in source.column_index.items()
        if i not in used_columns and recognise.named_like_identifiers(name)
    }
    large = n_rows > MOST_IDENTIFIERS
    estimated = large and source.format in ("json", "parquet", "sqlite", "workbook", "frame")
    table = "predictions"
    if large and not estimated:
        table = "sample"
    notes = []
    person = ""
    for name, column in names.items():
        key = f"trimmed_{column}"
        least = MOST_CODES
        if name.lower() in ("id", "entity_id"):
            least = 0
        if roles.model is not None:
            key = f"({key}, {roles.model_sql})"
        advice = f"; if they are of one person, give --cluster {name}"
        if roles.model is None:
            advice += "; if of several models, --model-column"
        if estimated:
            count = f"approx_count_distinct({key})"
        else:
            count = f"count(DISTINCT {key})"
        seen, distinct = source.row(f"SELECT count(*), {count} FROM {table} WHERE trimmed_{column} <> ''")
        which_rows = "Rows"
        if table == "sample":
            which_rows = f"Among the first {seen} rows those"
        count_text = f"{'some ' if estimated else ''}{seen - distinct}"
        if least < distinct < seen and not (estimated and distinct >= (1 - FEW_REPEATS) * seen):
            notes.append(
                f"{which_rows} whose {name} an earlier row has: {count_text}; all are counted{advice}."
            )
            are_people = name.lower() == "id" or recognise.named_like_people(name)
            if are_people and table == "predictions" and seen - distinct >= MANY_REPEATS * seen > MOST_CODES:
                person = person or name
    return notes, person
