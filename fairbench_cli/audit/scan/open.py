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
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from fairbench_cli.audit.config import MISSING, AuditConfig, Decision
from fairbench_cli.audit.scan import readings, refusals
from fairbench_cli.audit.scan.pairs import names_of, pair_up, side_slices
from fairbench_cli.audit.scan.roles import (
    LABELS,
    MOST_CHECKED,
    MOST_CODES,
    Contradicted,
    assign,
    find_column,
    too_many_groups,
    words_below,
)
from fairbench_cli.audit.scan.scan import Scan, TooManyGroups, count_cells, group_name, with_clusters
from fairbench_cli.audit.scan.source import (
    Source,
    open_file,
    open_frame,
    progress_of,
    start_database,
)
from fairbench_cli.audit.scan.spellings import (
    AlikeValuesError,
    alike_groups,
    alike_groups_of_rows,
    merge_groups,
)
from fairbench_cli.audit.scan.tally import Tally
from fairbench_cli.base.errors import Flag, UserError, format_value, user_error
from fairbench_cli.base.files import scratch_folder
from fairbench_cli.base.progress_callbacks import PercentDone, ProgressCallback, ignore_progress
from fairbench_cli.base.safe_text import format_count, format_path
from fairbench_cli.base.spelling_variants import find_abbreviations, find_spelling_variants
from fairbench_cli.data.recognise import named_like_identifiers

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fairbench_cli.audit.scan.source import Frame

LOOK_MISSING = frozenset("na n/a nan null none nil ? - . unknown".split())  # noqa: SIM905
MOST_IDENTIFIERS = 100_000  # rows; beyond, counting persons would cost more than the audit
FEW_REPEATS = 0.05  # of the rows; what an estimate cannot tell from none


@contextmanager
def open_scan(
    source: "str | Path | Frame",
    config: AuditConfig,
    *,
    against: "Frame | None" = None,
    tell: ProgressCallback = ignore_progress,
) -> Iterator[Scan]:
    """Open a file or a frame, count its rows by what every audit needs, and let parts read more of them.

    Parameters
    ----------
    source : str, Path or frame
        A CSV, TSV, NDJSON (each perhaps gzip), Parquet or SQLite file, or "-" for standard input; or a pandas
        or Polars frame, an Arrow table or whatever else gives an Arrow stream, with a row per person.
    config : AuditConfig
        Columns, decisions, attributes, and what to explain by.
    against : frame, optional
        The baseline: scores of the same rows, in place of the file that the configuration names.
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
    with _database() as (database, folder), _watched(database, tell) as far:
        rows = _opened(database, source, folder, config, tell)
        tell(f"counting the rows of {rows.name}, pass by pass", far)
        with refusals.reading(rows):
            if not config.against:
                with rows.engine(memory=rows.memory):
                    yield from _counted(rows.with_first_rows(), config)
                return
            if rows.name == config.against == "-":
                fix = "name one of the files"
                raise user_error("standard input cannot be both files", fix, Flag("against"))
            place = folder / "baseline"
            place.mkdir()
            cursor = database.cursor()  # with temporary tables of its own
            other = _opened(cursor, config.against if against is None else against, place, config)
            with rows.engine(memory=max(rows.memory, other.memory)):
                yield from _counted(pair_up(rows, other, config), config, names_of(rows, other)[::-1])


@contextmanager
def _watched(database: "DuckDBPyConnection", tell: ProgressCallback) -> Iterator[PercentDone | None]:
    """Return the function that says how far a query is, if anybody listens; not asked any more at the end."""
    if tell is ignore_progress:
        yield None
        return
    try:
        yield progress_of(database)
    finally:
        tell("computing intervals and tests", None)


def count_groups(source: "str | Path | Frame", config: AuditConfig) -> Tally:
    """Count the rows of groups in what need have no scores; see `open_scan`.

    Everybody is counted as selected; labels are not looked at.
    """
    with _database() as (database, folder):
        rows = _opened(database, source, folder, config).with_scores_of_1()
        columns = tuple("" if name.lower() in LABELS else name for name in rows.columns)
        doubled = tuple(name for name in rows.doubled if name.lower() not in ("score", *LABELS))
        rows = replace(rows, columns=columns, doubled=doubled)
        with refusals.reading(rows), rows.engine(memory=rows.memory):
            (scan,) = _counted(rows.with_first_rows(), config)
            return scan.tally


@contextmanager
def _database() -> "Iterator[tuple[DuckDBPyConnection, Path]]":
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


def _opened(
    database: "DuckDBPyConnection",
    source: "str | Path | Frame",
    folder: Path,
    config: AuditConfig,
    tell: ProgressCallback = ignore_progress,
) -> Source:
    if isinstance(source, str | Path):
        found = open_file(database, str(source), folder, config.table, tell)
    elif config.table is not None:
        raise user_error("a data frame has no tables", ("leave out ", Flag("table")), Flag("table"))
    else:
        found = open_frame(database, source)
    if config.counts is None:
        return found
    column = find_column(found, config.counts, "counts")
    with refusals.reading(found):
        refusals.refuse_counts(found, column)
    note = f"{found.columns[column]}: a row stands for as many people."
    return replace(found, notes=(*found.notes, note)).with_people(column)


def _counted(source: Source, config: AuditConfig, names: tuple[str, ...] = ()) -> Iterator[Scan]:
    """Yield the scan, counted; `names` are those of the baseline and the audited file when there are two.

    What the first rows suggest of columns that nobody named is tried until all rows say the same.
    """
    if not source.one("SELECT 1 FROM sample LIMIT 1"):
        raise user_error("the file has a header but no rows", "add one row per person", source.name)
    known = None
    after = Contradicted()
    while known != after:
        known = after
        scan, decisions = _as_suggested(source, config, known)
        # One order of summing weights, hence the same last digit each time; pairs may go by their order.
        with scan.source.engine(ordered=source.alone is not None, threads=1 if scan.weighted else None):
            try:
                scan = _with_cells(scan, decisions)
                after = replace(known, words=known.words | _words(scan))
                if after == known:
                    slices = side_slices(scan, names)
                    rows = int(scan.together.rows.sum())
                    if config.compares:
                        last = slices[-1].model
                    else:
                        last = ""
                    tally = Tally(source.name, rows, slices, weighted=scan.weighted, last=last)
                    scan = replace(scan, tally=tally)
            except TooManyGroups as found:
                after = replace(known, many=known.many | {_left_out(scan, found)})
            if after == known:
                yield _with_notes(scan)


def _as_suggested(
    first: Source, config: AuditConfig, known: Contradicted
) -> tuple[Scan, tuple[Decision, ...]]:
    """Return the scan that the first rows suggest and no rows are known to contradict, and the decisions."""
    roles = assign(first, config, known)
    source, percent = readings.read_percent(first, roles.scores)
    decisions = readings.settled(source, roles, config.decisions)
    binary = all(decision.kind == "binary" for decision in decisions)
    if binary:
        source = first
        percent = ()
    else:
        source = readings.with_exact_scores(source, [i for i in roles.scores if i < len(first.columns)])
    try:
        source, roles = readings.read_outcomes(source, roles, config, binary=binary)
    except AlikeValuesError as error:
        raise UserError(*error.problems, *alike_groups_of_rows(source, roles, config)) from None
    source, merged = merge_groups(source, roles, config)
    bins = {
        name: readings.find_bins(source, roles.attributes[name], many) for name, many in config.bins.items()
    }
    roles = replace(roles, notes=(*roles.notes, *percent, *merged))
    return Scan(source, config, roles, (), bins, binary), decisions


def _with_cells(scan: Scan, decisions: tuple[Decision, ...]) -> Scan:
    """Find the cuts, count, and refuse what was counted and is no score, label or weight."""
    source = scan.source
    roles = scan.roles
    cuts = tuple(
        readings.find_cuts(source, replace(roles, scores=(column,)), decisions) for column in roles.scores
    )
    scan = replace(scan, cuts=cuts)
    scan = replace(scan, cells=count_cells(scan))
    for found in scan.cells.values():
        if (found.level < 0).any():
            known = len((source.alone or source).columns)  # a baseline has been looked at already
            for column in (each for each in roles.scores if each < known):
                if scan.binary:
                    refusals.refuse_codes(source, column, "score")
                refusals.refuse_scores(source, column)
        if roles.label is not None and (found.label == roles.bad_label).any():
            refusals.refuse_codes(source, roles.label, "label")
        if roles.weight is not None and found.bad_weights:
            refusals.refuse_weights(source, roles.weight)
        if roles.weight is not None and not found.weighing.any():
            what = f"{format_value(source.columns[roles.weight])} is 0 in every row, so that nobody counts"
            raise user_error(what, "name a column of weights above 0, or none", Flag("weight"))
        if len(found.single) > 1:
            ids = ", ".join(
                format_value(name) for name in sorted(name or MISSING for name in found.single)[:3]
            )
            fix = ("keep the rows of one, or audit each apart with ", Flag("model-column", "model_id"))
            raise user_error(f"model_id has several values ({ids})", fix, source.name)
    return scan


def _words(scan: Scan) -> frozenset[int]:
    """Return which columns that looked like quantities by the first rows hold words below."""
    quantities = scan.roles.quantities
    if len(quantities) > MOST_CHECKED:
        return words_below(scan.source, quantities)
    words = zip(quantities, scan.together.words, strict=True)
    return frozenset(column for column, some in words if some)


def _left_out(scan: Scan, found: TooManyGroups) -> int:
    """Return the column of too many groups, which nobody named; refuse any other."""
    name, *others = found.names
    roles = scan.roles
    if others or name not in roles.unnamed or name not in roles.attributes:
        raise too_many_groups(scan.source, found.names, found.count) from None
    return roles.attributes[name]


def _with_notes(scan: Scan) -> Scan:
    """Refuse thresholds of another scale than the scores; say whose rows these are, and what was noticed."""
    tally = scan.tally
    scores = () if scan.binary else scan.roles.scores
    scales = [readings.check_thresholds(scan.source, column, scan.config.threshold) for column in scores]
    if scan.roles.cluster is None:
        people = [] if scan.config.counts else _repeats(scan)
    else:
        slices, note = with_clusters(scan, scan.roles.cluster)
        tally = replace(tally, slices=slices)
        people = [note]
    written = {name: _written_values(scan, name) for name in scan.roles.attributes}
    sizes = {
        name: {group: sum(values.values()) for group, values in groups.items()}
        for name, groups in written.items()
    }
    if alike := alike_groups(sizes, scan.config):
        raise UserError(*alike)
    weightless = int((scan.together.rows - scan.together.weighing).sum())
    notes = (
        *scan.source.notes,
        *scan.roles.notes,
        *chain.from_iterable(scales),
        *(readings.bins_note(name, scan.config.bins[name], bins) for name, bins in scan.bins.items()),
        *chain.from_iterable(
            _about_groups(name, written[name], sizes[name], scan.config) for name in written
        ),
        *people,
        *([f"{format_count(weightless, 'row')} of weight 0 left out."] if weightless else []),
    )
    return replace(scan, tally=replace(tally, notes=notes))


def _written_values(scan: Scan, name: str) -> dict[str, dict[str | None, int]]:
    """Return the rows of each value of an attribute as it is written, by group."""
    written: dict[str, dict[str | None, int]] = defaultdict(lambda: defaultdict(int))
    cells = scan.cells_with([name])
    for value, count in zip(cells.values[name], cells.rows.tolist(), strict=True):
        written[group_name(value)][value] += count
    return written


def _about_groups(
    name: str, written: dict[str, dict[str | None, int]], sizes: dict[str, int], config: AuditConfig
) -> list[str]:
    """Return the notes on what was done to values of an attribute, and which look alike or missing."""
    notes = []
    if MISSING in written:
        notes.append(f"{name}: {format_count(sizes[MISSING], 'row')} without a value; group {MISSING}.")
    trimmed = sorted(group for group, forms in written.items() if group != MISSING and {*forms} != {group})
    merged = [group for group in trimmed if len(written[group]) > 1]
    if trimmed:
        listed = ", ".join(map(format_value, merged[:5])) + (", …" if len(merged) > 5 else "")
        if merged:
            which = f", which merged {listed}"
        else:
            which = ""
        notes.append(f"{name}: blanks around values were trimmed{which}.")
    notes += [
        f"{name}: {format_value(group)} ({format_count(sizes[group], 'row')}) is a group of its own; if it "
        f"means missing, leave the cell empty or the group out, --exclude {group!r}."
        for group in sorted(written)
        if group.lower() in LOOK_MISSING and not config.leaves_out(name, group)
    ]
    alike = find_spelling_variants(sorted(written)) if config.spelling(name) == "keep" else []
    notes += [f"{name}: {twins}." for twins in (*alike, *find_abbreviations(sorted(written)))]
    return notes


def _repeats(scan: Scan) -> list[str]:
    """Return notes of rows that repeat the person of an earlier row.

    A person is told by ``id`` or ``entity_id``, and by what is called like an identifier and has more values
    than codes have. Of large files an estimate where a column can be read alone, else of the first rows.
    """
    source = scan.source
    roles = scan.roles
    rows = scan.tally.rows
    used = {*roles.taken, *roles.attributes.values(), roles.single_model}
    names = {name: i for name, i in source.places.items() if i not in used and named_like_identifiers(name)}
    large = rows > MOST_IDENTIFIERS
    estimated = large and source.format in ("parquet", "sqlite", "frame")
    if large and not estimated:
        table = "sample"
    else:
        table = "predictions"
    notes = []
    for name, column in names.items():
        key = f"trimmed_{column}"
        if name.lower() in ("id", "entity_id"):
            least = 0
        else:
            least = MOST_CODES
        if roles.model is not None:
            key = f"({key}, {roles.model_sql})"
        advice = f"; if they are of one person, give --cluster {name}"
        if roles.model is not None:
            advice += ""
        else:
            advice += "; if of several models, --model-column"
        if estimated:
            count = f"approx_count_distinct({key})"
        else:
            count = f"count(DISTINCT {key})"
        seen, known = source.one(f"SELECT count(*), {count} FROM {table} WHERE trimmed_{column} <> ''")
        if table == "sample":
            which = f"Among the first {seen} rows those"
        else:
            which = "Rows"
        many = f"{'some ' if estimated else ''}{seen - known}"
        if least < known < seen and not (estimated and known >= (1 - FEW_REPEATS) * seen):
            notes.append(f"{which} whose {name} an earlier row has: {many}; all are counted{advice}.")
    return notes
