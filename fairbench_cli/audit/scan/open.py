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

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from fairbench_cli.audit.config import AuditConfig, Decision
from fairbench_cli.audit.read.cells import (
    CountedCells,
    CountingPlan,
    TooManyGroups,
    count_cells,
)
from fairbench_cli.audit.read.clusters import with_clusters
from fairbench_cli.audit.read.columns import ColumnRoles, assign, too_many_groups
from fairbench_cli.audit.read.cuts import bins_note, find_bins, find_cuts, is_binary, level_of, settled
from fairbench_cli.audit.read.defaults import MOST_CHECKED, words_below
from fairbench_cli.audit.read.mistakes import (
    reading,
    refuse_codes,
    refuse_scores,
    refuse_weights,
)
from fairbench_cli.audit.read.notes import group_notes, repeat_notes, weightless_notes
from fairbench_cli.audit.read.outcomes import read_outcomes
from fairbench_cli.audit.read.pairs import names_of, pair_up
from fairbench_cli.audit.read.percent import check_thresholds, read_percent
from fairbench_cli.audit.read.predictions import MEMORY, ArrowStream, Source, open_file, open_frame
from fairbench_cli.audit.read.score_sums import Reference, largest_group, read_scores
from fairbench_cli.audit.read.sides import compared_slices
from fairbench_cli.audit.read.strata import explained_slices, read_people, read_strata
from fairbench_cli.audit.read.tally import MISSING, Tally
from fairbench_cli.base.errors import shown, user_error
from fairbench_cli.base.scratch import scratch_folder
from fairbench_cli.base.text import shown_path

if TYPE_CHECKING:
    import pandas as pd
    from duckdb import DuckDBPyConnection

MOST_THREADS = 4  # each has buffers of its own


def read_file(
    source: str | Path,
    config: AuditConfig,
    *,
    stdin: BinaryIO | None = None,
    reference: Reference = largest_group,
    against: "pd.DataFrame | ArrowStream | None" = None,
) -> Tally:
    """Return the counts of a file by model, decision, group, label and prediction.

    Parameters
    ----------
    source : str or Path
        A CSV, TSV, NDJSON (each perhaps gzip) or Parquet file; "-" for standard input.
    config : AuditConfig
        Columns, decisions, attributes, and what to explain by.
    stdin : binary file, optional
        What "-" stands for; by default the standard input of the process.
    reference : callable
        The place of the group with which the scores of a slice's others are compared, -1 for everybody else.
    against : frame, optional
        The baseline: scores of the same rows, in place of the file that the configuration names.

    Returns
    -------
    Tally

    Raises
    ------
    UserError
        When the file or the columns asked for are not fit to be audited, naming file, row and column.
    """
    return _read(
        lambda engine, folder: open_file(engine, str(source), stdin, folder),
        config,
        reference,
        against,
        stdin,
    )


def read_frame(
    frame: "pd.DataFrame | ArrowStream",
    config: AuditConfig,
    *,
    reference: Reference = largest_group,
    against: "pd.DataFrame | ArrowStream | None" = None,
) -> Tally:
    """Return the counts of a data frame with a row per person, as `read_file` does.

    pandas and Polars frames, Arrow tables, and whatever else gives an Arrow stream; `against` as there.

    Raises
    ------
    UserError
        As `read_file`, naming row (from 1) and column.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"score": [1, 0, 1], "sex": ["f", "f", "m"]})
    >>> (part,) = read_frame(frame, AuditConfig()).slices
    >>> part.counts.groups, part.counts.predicted.tolist()
    (('f', 'm'), [[1.0, 1.0], [0.0, 1.0]])
    """
    return _read(lambda engine, _: open_frame(engine, frame), config, reference, against)


def read_arrays(
    scores: ArrayLike,
    groups: Mapping[str, ArrayLike],
    config: AuditConfig,
    *,
    labels: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    reference: Reference = largest_group,
) -> Tally:
    """Return the counts of arrays of one value per person.

    Parameters
    ----------
    scores : array, shape (rows,)
        Source of 0 and 1, or scores that `config` says how to cut.
    groups : mapping of attribute to array, shape (rows,)
        The groups that people belong to.
    config : AuditConfig
        As for a file; the columns are called ``score``, ``label``, ``weight`` and by the attributes' names.
    labels : array of 0 and 1, shape (rows,), optional
        What really happened.
    weights : array, shape (rows,), optional

    Raises
    ------
    UserError
        As `read_frame`; for arrays of different lengths, and attributes called like another column.

    Examples
    --------
    >>> tally = read_arrays([1, 0, 1], {"sex": ["f", "f", "m"]}, AuditConfig(), labels=[1, 1, 0])
    >>> tally.slices[0].counts.n.tolist()
    [[[0.0, 0.0], [1.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]]
    """
    import pandas as pd

    own = {"score": scores, "label": labels, "weight": weights}
    known = {name: _unindexed(values) for name, values in own.items() if values is not None}
    for name in groups:
        if name in own:
            raise user_error(f"an attribute is called {shown(name)}", "rename it", "groups")
    try:
        frame = pd.DataFrame({**known, **{name: _unindexed(values) for name, values in groups.items()}})
    except ValueError as error:
        raise user_error(f"the arrays do not fit together: {error}", "give one value per person") from None
    columns: dict[str, object] = {name: name for name in known if name != "score"} | {"scores": ("score",)}
    if config.attributes is None:
        columns |= {"attributes": tuple(groups)}
    return read_frame(frame, config.model_copy(update=columns), reference=reference)


def _unindexed(values: Any) -> Any:
    """Return the values of a series without its index, by which pandas would put rows in another order."""
    if hasattr(values, "iloc"):
        return values.array
    return values if isinstance(values, list | tuple) else np.asarray(values)


def _read(
    open_: Callable[["DuckDBPyConnection", Path], Source],
    config: AuditConfig,
    reference: Reference,
    against: "pd.DataFrame | ArrowStream | None" = None,
    stdin: BinaryIO | None = None,
) -> Tally:
    with (
        _interruptible(),
        _temporary() as folder,
        _engine(folder) as engine,
    ):
        source = open_(engine, Path(folder))
        with reading(source):
            if not config.against:
                return _tally(source.with_first_rows(), config, reference)
            if source.name == config.against == "-":
                raise user_error("standard input cannot be both files", "name one of the files", "--against")
            place = Path(folder) / "baseline"
            place.mkdir()
            other = engine.cursor()  # with temporary tables of its own
            baseline = (
                open_file(other, config.against, stdin, place)
                if against is None
                else open_frame(other, against)
            )
            names = names_of(source, baseline)
            return _tally(pair_up(source, baseline, config), config, reference, names[::-1])


@contextmanager
def _interruptible() -> Iterator[None]:
    """Raise `KeyboardInterrupt` for Ctrl-C in a query, of which DuckDB makes a `RuntimeError`."""
    try:
        yield
    except RuntimeError as error:
        if "interrupted" in str(error):
            raise KeyboardInterrupt from None
        raise


@contextmanager
def _temporary() -> Iterator[str]:
    """Make a folder for what outgrows memory; refuse one that DuckDB cannot name."""
    fix = "set TMPDIR to a folder with free space whose name is UTF-8"
    with ExitStack() as stack:
        try:
            folder = str(stack.enter_context(scratch_folder()))
        except OSError as error:
            raise user_error(f"no temporary folder can be made: {error.strerror}", fix) from None
        if shown_path(folder) != folder:
            raise user_error(f"the name of {shown_path(tempfile.gettempdir())} is not UTF-8", fix)
        yield folder


def _engine(folder: str) -> "DuckDBPyConnection":
    """Start DuckDB: bounded memory, no downloads, no progress bar."""
    import duckdb

    engine = duckdb.connect(
        config={
            "memory_limit": f"{MEMORY}MB",
            "threads": str(min(MOST_THREADS, os.cpu_count() or 1)),
            "temp_directory": str(Path(folder) / "spill"),
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
    )
    with suppress(duckdb.InvalidInputException):  # in a notebook without ipywidgets, which has no bars
        engine.execute("SET enable_progress_bar=false")
    return engine


def _tally(source: Source, config: AuditConfig, reference: Reference, names: tuple[str, ...] = ()) -> Tally:
    """Return the tally; `names` are those of the baseline and the audited file when there are two."""
    first = source
    if not first.one("SELECT 1 FROM sample LIMIT 1"):
        raise user_error("the file has a header but no rows", "add one row per person", source.name)
    texts: frozenset[int] = frozenset()
    many: frozenset[int] = frozenset()
    while True:  # until what the first rows showed of unnamed columns holds for all rows
        roles = assign(first, config, texts, many)
        source, percent = read_percent(first, (roles.score, *roles.others))
        decisions = settled(source, roles, config.decisions)
        if is_binary(decisions):
            source, percent = first, ()
        source, roles = read_outcomes(source, roles, config.favourable, binary=is_binary(decisions))
        roles = replace(roles, notes=(*roles.notes, *percent))
        if roles.weight is not None:
            # One order of summing, hence the same last digit each time.
            source.engine.execute("SET threads=1")
        try:
            plan, cells = _count(source, config, roles, decisions)
            words = _words(source, roles, cells)
            if words:
                texts |= words
                continue
            slices, joints = compared_slices(source, cells, plan, config, names)
            break
        except TooManyGroups as found:
            unnamed = roles.unnamed & roles.attributes.keys()
            if not set(found.names) <= unnamed or len(found.names) > 1:
                raise too_many_groups(source, found.names, found.count) from None
            many |= {roles.attributes[found.names[0]]}
    together = next(iter(cells.values()))
    for i, scored in enumerate((roles.score, *roles.others)):
        side = replace(together, level=level_of(together.level, i)) if roles.others else together
        own = replace(plan, roles=replace(roles, score=scored))
        check_thresholds(source, own, side, config.threshold)
    rows = int(together.rows.sum())
    people: tuple[str, ...] = ()
    if roles.cluster is not None:
        slices, note = with_clusters(source, plan, roles.cluster, slices, config.seed)
        people = (note,)
    notes = (
        *source.notes,
        *roles.notes,
        *(bins_note(name, config.bins[name], bins) for name, bins in plan.bins.items()),
        *chain.from_iterable(group_notes(name, cells, config.exclude) for name in roles.attributes),
        *(people or repeat_notes(source, roles, rows)),
        *weightless_notes(together),
    )
    tally = Tally(source.name, rows, slices, notes, roles.weight is not None, joints=joints)
    if config.curves:
        tally = replace(tally, scores=read_scores(source, plan, cells, slices, reference))
    if not config.explained_by:
        return tally
    parts = explained_slices(slices, config)
    strata, cut = read_strata(source, plan, parts, config)
    persons = read_people(source, plan, [part.attribute for part in parts], rows, config.seed)
    return replace(tally, strata=strata, people=persons, strata_notes=cut)


def _words(source: Source, roles: ColumnRoles, cells: dict[tuple[str, ...], CountedCells]) -> frozenset[int]:
    """Return which columns that looked numeric by the first rows hold words below."""
    if len(roles.quantities) > MOST_CHECKED:
        return words_below(source, roles.quantities)
    words = next(iter(cells.values())).words
    return frozenset(column for column, some in zip(roles.quantities, words, strict=True) if some)


def _count(
    source: Source, config: AuditConfig, roles: ColumnRoles, decisions: tuple[Decision, ...]
) -> tuple[CountingPlan, dict[tuple[str, ...], CountedCells]]:
    """Find cuts and bins, count, and refuse what was counted and is no score, label or weight."""
    bins = {name: find_bins(source, roles.attributes[name], many) for name, many in config.bins.items()}
    if source.alone is None:  # else rows may be paired in their order
        source.engine.execute("SET preserve_insertion_order=false")
    binary = is_binary(decisions)
    others = (find_cuts(source, replace(roles, score=column), decisions) for column in roles.others)
    other_cuts = tuple(next(iter(cuts.values()))[0] for cuts in others)
    plan = CountingPlan(roles, find_cuts(source, roles, decisions), binary, bins, other_cuts)
    cells = count_cells(source, plan)
    for found in cells.values():
        if (found.level < 0).any():
            known = len((source.alone or source).columns)  # a baseline has been looked at already
            for column in (each for each in (roles.score, *roles.others) if each < known):
                if binary:
                    refuse_codes(source, column, "score")
                refuse_scores(source, column)
        if roles.label is not None and (found.label == roles.bad_label).any():
            refuse_codes(source, roles.label, "label")
        if roles.weight is not None and found.bad_weights:
            refuse_weights(source, roles.weight)
        if len(found.single) > 1:
            ids = ", ".join(shown(name) for name in sorted(name or MISSING for name in found.single)[:3])
            fix = "audit each model apart with --model-column model_id"
            raise user_error(f"model_id has several values ({ids})", fix, source.name)
    return plan, cells
