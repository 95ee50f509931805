"""Rows of a run, for an audit: those that the counts of a cell stand for, or a file of predictions.

Either way they are the test rows of one repeat, which one model decided on. Repeats may share their test
rows, and then all of them together are no more people than one has; so repeats are never put together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.base.errors import Flag, Problem, UserError, refuse, user_error
from fairbench_cli.base.safe_text import format_path

if TYPE_CHECKING:  # a file of somebody's scores needs none of it
    import pandas as pd

    from fairbench_cli.experiment.plan import RunPlan
    from fairbench_cli.measures.groups import ProtectedAttributes

FEATURELESS = "a run keeps how many rows were decided how, by group and label, and not the rows"
SCORELESS = "a run keeps counts of decisions, and not the scores"
NEEDS_ROWS = (
    *("explained_by", "bins", "cluster", "weight", "model_column", "sliced_by", "identifier", "against"),
    *("scores", "label", "favourable", "threshold", "top_k", "top_share", "above", "curves", "mitigate"),
)
"""The keys of an audit that counts do not answer."""

NEEDS_SCORES = ("scores", "threshold", "top_k", "top_share", "above", "curves", "mitigate")
"""Those among them that are about scores."""

OF_PREDICTIONS = ("repeat", "row"), ("label", "decision", "score")
"""How the columns of a file of predictions begin and end; between them are the protected attributes."""

OF_FILES = {
    "table": "results of a run have no tables to choose from",
    "counts": "results of a run have a row per person, not counts of people",
}
"""The keys that are about other files than those of runs, and why."""

MOST_CHOICES = 6


@dataclass(frozen=True, eq=False)
class RunRows:
    """Rows of one repeat of a cell, and how they are audited.

    Parameters
    ----------
    frame : DataFrame
        A row per test row.
    config : AuditConfig
        What the audit is asked, with the columns of the frame named.
    name : str
        What the report calls them.
    notes : tuple of str
        What a reader should know.
    """

    frame: "pd.DataFrame"
    config: AuditConfig
    name: str
    notes: tuple[str, ...]


def rows_of_run(
    source: object, config: AuditConfig, only: Sequence[str] = (), repeat: int | None = None
) -> RunRows | None:
    """Return the rows that are meant where a source is a folder of results, or a file of its predictions.

    Parameters
    ----------
    source : object
        Whatever is audited.
    only : sequence of str
        Of a folder: filters that leave one cell, as `select` takes them.
    repeat : int, optional
        Of a folder or a file of predictions; by default 0.

    Returns
    -------
    RunRows or None
        None for any other source.

    Raises
    ------
    UserError
        When no cell or several are meant, the repeat has no result, or the audit asks for what counts do not
        answer; for filters on what is no folder of results.
    """
    path = None
    if isinstance(source, str | Path):
        path = Path(source)
    if path is not None and path.is_dir() and (path / "plan.json").is_file():
        _refuse_keys_of_files(config)
        return _read_cell(path, config, tuple(only), repeat)
    if only:
        problem = "cells are those of a folder of results"
        fix = "audit the folder that `fairbench run` wrote"
        raise user_error(problem, f"{fix}, or leave it out", Flag("only"))
    rows = None
    if path is not None:
        rows = _read_predictions(path, config, repeat or 0)
    if rows is None and repeat is not None:
        problem = "only runs have repeats"
        raise user_error(problem, "audit a folder of results or a file of its predictions", Flag("repeat"))
    return rows


def _refuse_keys_of_files(config: AuditConfig) -> None:
    """Raise a `UserError` with every key that is about other files than those of runs."""
    problems = []
    for key, problem in OF_FILES.items():
        if getattr(config, key) is not None:
            problems.append(Problem(problem, "leave it out", Flag(key)))
    refuse(problems)


def _read_cell(folder: Path, config: AuditConfig, only: tuple[str, ...], repeat: int | None) -> RunRows:
    """Return the rows that the counts of a repeat stand for."""
    from fairbench_cli.experiment.journal.folder import read_results

    for field in NEEDS_ROWS:
        if field in config.model_fields_set and getattr(config, field):
            key = AuditConfig.model_fields[field].alias or field.replace("_", "-")
            fix = "write `predictions: true` in the config, run again, and audit a file in predictions/"
            if field in NEEDS_SCORES:
                raise user_error(SCORELESS, fix, Flag(key))
            raise user_error(FEATURELESS, f"leave it out; {fix}", Flag(key))
    plan, reading = read_results(folder)
    cell = _find_cell(folder, plan, only)
    number = repeat or 0
    records = {n: reading.records.get((cell["key"], n)) for n in range(plan.config.repeats)}
    record = records.get(number)
    if record is None or record.counts is None:
        counted_repeats = [
            n for n, record in records.items() if record is not None and record.counts is not None
        ]
        why = "has not been run"
        if record is not None:
            why = f"is {record.status}: {record.reason}"
        raise _no_repeat_error(
            f"repeat {number} of this cell in {format_path(folder)} {why}", counted_repeats
        )
    protected = plan.protected(cell["dataset"], cell["attribute"])
    frame, drawn = _expand_counts(record.counts.n, protected)
    called = [f"{key}={cell[key]}" for key in ("dataset", "attribute", "intervention", "classifier")]
    name = f"{format_path(folder)}, {', '.join(called)}, beta={cell['beta']:g}, repeat {number}"
    n_done = sum(record is not None and record.counts is not None for record in records.values())
    of_all = f"{plan.config.repeats}"
    if n_done < plan.config.repeats:
        of_all = f"{n_done} there are, {of_all} planned"
    drawn_from = ", drawn from the network," if plan.config.tested == "network" else ""
    notes = [_describe_rows(frame, f"{number} (of {of_all}){drawn_from} as its counts have them")]
    if drawn:
        notes.append("Its decisions are drawn at random; counts are those expected, to whole rows.")
    return RunRows(frame, _with_columns(config, tuple(frame.columns[:-2])), name, tuple(notes))


def _find_cell(folder: Path, plan: "RunPlan", only: tuple[str, ...]) -> dict[str, Any]:
    """Return the one cell that filters leave; of cells that share a model, the first."""
    from fairbench_cli.experiment.plan import facts_of, key_of_filter, select, split_filters, text_of

    facts = [facts_of(cell) for cell in plan.cells]
    if only:
        mask = select(facts, only)
    else:
        mask = [True] * len(facts)
    cells = list(compress(plan.cells, mask))
    facts = list(compress(facts, mask))
    if len({cell["key"] for cell in cells}) == 1:
        return cells[0]
    # The keys in which cells differ: those that all have or, where these are alike, those that some lack.
    different: dict[str, list[str]] = {}
    lacking: dict[str, list[str]] = {}
    for key in dict.fromkeys(chain.from_iterable(facts)):
        texts = [text_of(facts_of_cell[key]) for facts_of_cell in facts if key in facts_of_cell]
        choices = list(dict.fromkeys(texts))
        if len(texts) < len(facts):
            lacking[key] = choices
        elif len(choices) > 1:
            different[key] = choices
    choices_of = different or lacking
    equals = "=" if different else "!="  # a filter keeps those that lack a key
    choice_texts = []
    for key, choices in choices_of.items():
        ellipsis = ", …" if len(choices) > MOST_CHOICES else ""
        choice_texts.append(f"{key} {', '.join(choices[:MOST_CHOICES])}{ellipsis}")
    listed = "; ".join(choice_texts)
    filters = [condition for condition in split_filters(only) if key_of_filter(condition) not in choices_of]
    filters += [f"{key}{equals}{choices[0]}" for key, choices in choices_of.items()]
    example = ",".join(filters)
    problem = f"{len(cells)} cells of {format_path(folder)} match, and one is audited: {listed}"
    raise user_error(problem, f"name one, such as {example}", Flag("only"))


def _expand_counts(n: Any, protected: "ProtectedAttributes") -> "tuple[pd.DataFrame, bool]":
    """Return a row for each that is counted, and whether counts were no whole numbers.

    Parameters
    ----------
    n : float array, shape (groups, 2, 2)
        By joint level, label and decision.
    """
    import pandas as pd

    from fairbench_cli.report.ledger.predictions import level_columns

    rows = np.rint(n.sum(axis=-1)).astype(np.intp)
    accepted = np.minimum(np.rint(n[..., 1]).astype(np.intp), rows)
    times = np.stack([rows - accepted, accepted], axis=-1).ravel()
    group, label, decision = (np.repeat(codes.ravel(), times) for codes in np.indices(n.shape, dtype=np.intp))
    columns = level_columns(protected, group) | {"label": label, "decision": decision}
    return pd.DataFrame(columns), bool((n % 1 != 0).any())


def _read_predictions(path: Path, config: AuditConfig, number: int) -> RunRows | None:
    """Return the rows of one repeat of a file of predictions; None of any other file."""
    if path.suffix != ".parquet" or not path.is_file():
        return None
    import duckdb

    try:
        relation = duckdb.connect().read_parquet(str(path))
    except duckdb.Error:
        return None  # what is wrong with it is said when it is read
    names = tuple(relation.columns)
    leading, trailing = OF_PREDICTIONS
    if (names[: len(leading)], names[-len(trailing) :]) != OF_PREDICTIONS:
        return None
    frame = relation.filter(duckdb.ColumnExpression("repeat") == number).df().drop(columns=list(leading))
    if frame.empty:
        stored_repeats = [n for (n,) in relation.select("repeat").distinct().order("repeat").fetchall()]
        raise _no_repeat_error(f"{format_path(path)} has no repeat {number}", stored_repeats)
    _refuse_keys_of_files(config)
    if frame["score"].isna().all():
        frame = frame.drop(columns="score")
    config = _with_columns(config, names[len(leading) : -len(trailing)])
    return RunRows(
        frame, config, f"{format_path(path)}, repeat {number}", (_describe_rows(frame, str(number)),)
    )


def _with_columns(config: AuditConfig, attributes: tuple[str, ...]) -> AuditConfig:
    """Return a configuration that names the columns of a run's rows, unless it names them itself."""
    columns = {"scores": ("decision",), "label": "label", "attributes": attributes}
    unnamed = {field: value for field, value in columns.items() if getattr(config, field) is None}
    return config.model_copy(update=unnamed)


def _describe_rows(frame: "pd.DataFrame", repeat: str) -> str:
    problem = f"These are the {len(frame):,} test rows of repeat {repeat}: one model."
    return f"{problem} Repeats are not put together, as they may share their test rows."


def _no_repeat_error(problem: str, repeats: list[int]) -> UserError:
    fix = "run the cell"
    if repeats:
        fix = f"give one of {', '.join(map(str, repeats[:MOST_CHOICES]))}"
    return user_error(problem, fix, Flag("repeat"))
