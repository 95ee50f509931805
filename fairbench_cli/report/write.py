"""Derive every result file from the journal; each is replaced in one step."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_limits

from fairbench_cli.base.errors import suggest, user_error
from fairbench_cli.base.files import make_folder, write_text
from fairbench_cli.document.html import html
from fairbench_cli.document.markdown import markdown
from fairbench_cli.document.model import Document, Section
from fairbench_cli.experiment.config.metrics import find_metrics
from fairbench_cli.experiment.config.outputs import FIGURES, NEEDS, TABLES, ReportOutput, TestLabels
from fairbench_cli.experiment.journal.folder import read_repeats, refuse_lost, update_manifest
from fairbench_cli.experiment.journal.journal import Damage, Records, list_journals
from fairbench_cli.experiment.plan import RunPlan, read_plan
from fairbench_cli.measures.registry import METRICS
from fairbench_cli.report.ledger.answer import answer_of
from fairbench_cli.report.ledger.journal_arrays import WORLD_COLUMNS
from fairbench_cli.report.ledger.paired_differences import SENSITIVITY, VERSUS
from fairbench_cli.report.ledger.predictions import write_predictions
from fairbench_cli.report.ledger.results import RunResults, run_results
from fairbench_cli.report.page import run_page
from fairbench_cli.report.parts import PARTS
from fairbench_cli.report.parts.differences import compare_with_techniques
from fairbench_cli.report.parts.part import RunPart, figure_registry, make_frames, table_makers
from fairbench_cli.report.show.answer_text import answer_document
from fairbench_cli.report.show.figures import draw_figures
from fairbench_cli.report.show.table_formats import FORMATS

ANSWER = "answer.md"
PAGE = "report.html"
OLD_NUMBERS = "numbers.tex"
"""What earlier versions wrote next to the tables; left there, its numbers would be of an older report."""


@dataclass(frozen=True)
class WrittenReport:
    """What a report shows: the answer in few lines, the tables that are asked for, and names of its files.

    ``own_technique`` is somebody's own, which the others can be compared with; empty without one.
    """

    answer: Document
    tables: tuple[Document, ...]
    files: tuple[str, ...]
    own_technique: str


Compared = Callable[[RunPlan, Records], Section | None]
"""Returns a run next to what is published, as a section of its page; None where nothing is."""


def _with_nothing(_plan: RunPlan, _records: Records) -> None:
    return None


def write_report(
    folder: Path,
    plan: RunPlan,
    records: Records,
    attributes: Sequence[str] = (),
    versus: Sequence[str] = (),
    tables: Sequence[str] = (),
    compared: Compared = _with_nothing,
    parts: Sequence[RunPart] = PARTS,
    processes: int = 1,
) -> WrittenReport:
    """Write answer.md, report.html, the CSV files of the parts that a run has, tables/ and figures/.

    Parameters
    ----------
    attributes : sequence of str
        Attributes and intersections whose groups are compared, instead of those of the plan.
    versus : sequence of str
        Techniques that all others are compared with, each in a ``paired-versus-NAME.csv``.
    tables : sequence of str
        Names of tables to return in place of those of the config.
    compared : callable
        What the page says next to the run's own numbers.
    parts : sequence of RunPart
        What the report is made of; it has those tables and figures of them that the config names.
    processes : int
        How many may draw figures.

    Returns
    -------
    WrittenReport
        With the tables that the config asks for and, where attributes are asked for, the rates of their
        groups. With `versus` or `tables` the comparisons with these techniques and these tables instead.

    Raises
    ------
    UserError
        When a file cannot be written, no data set has one of the attributes, or the run lacks a technique.
    """
    config = plan.config
    # 1. The tables and figures to make: those that are requested, and those that every report has.
    extra_tables = list(dict.fromkeys(tables))
    for name in extra_tables:
        _check_table(name, plan)
    attributes = tuple(attributes) or config.attributes
    requested_tables = list(config.tables.show)
    if attributes:
        requested_tables.append("group-rates")
    requested_tables = list(dict.fromkeys(requested_tables + extra_tables))
    all_tables = list(requested_tables)
    for name, output in TABLES.items():
        if output.always and name not in requested_tables:
            all_tables.append(name)
    outputs = [TABLES[name] for name in all_tables]
    outputs += [FIGURES[name] for name in config.figures]
    # Arrays are small: more threads would only cost. So are columns of text, for which pyarrow is slower.
    with threadpool_limits(1), pd.option_context("mode.string_storage", "python"):
        # 2. The CSV files. One that an earlier report wrote and this one does not have goes away.
        run = run_results(folder, plan, records, _metrics_of(plan, outputs, parts), attributes)
        comparisons = compare_with_techniques(run, versus)
        # The page first: it tests all pairs of techniques, of which files and tables take some.
        page = html(run_page(run, parts, compared(plan, records)))
        frames = make_frames(parts, run)
        frames |= dict.fromkeys(path.stem for path in folder.glob(f"{VERSUS}*.csv"))
        for comparison in comparisons:
            frames[f"{VERSUS}{comparison.slug}"] = comparison.frame
        answer = markdown(answer_document(run))
        for name, frame in frames.items():
            if frame is None:
                (folder / f"{name}.csv").unlink(missing_ok=True)
            else:
                write_text(folder / f"{name}.csv", comma_separated(frame, plan))
        # 3. Tables, the answer, the page, figures and predictions.
        tables_by_name = table_makers(parts)
        documents = {name: tables_by_name[name](name, run) for name in all_tables}
        written_tables = [table for table in documents.values() if table.sections]
        written_tables += [comparison.table for comparison in comparisons]
        _write_tables(folder / "tables", written_tables)
        write_text(folder / ANSWER, answer)
        write_text(folder / PAGE, page)
        draw_figures(run, config.figures, figure_registry(parts), processes=processes)
        has_predictions = write_predictions(folder, plan, records)
        # 4. What is shown of all this.
        table_names = extra_tables
        if not extra_tables and not comparisons:
            table_names = requested_tables
        shown_tables = [comparison.console for comparison in comparisons]
        shown_tables += [documents[name] for name in table_names]
        n_csv_files = sum(frame is not None for frame in frames.values())
        names = [PAGE, ANSWER, f"{n_csv_files} CSV files", "tables/"]
        if config.figures:
            names.append("figures/")
        if has_predictions:
            names.append("predictions/")
        brief = answer_document(run, brief=True)
        return WrittenReport(brief, tuple(shown_tables), tuple(names), answer_of(run).own_technique)


def comma_separated(frame: pd.DataFrame, plan: RunPlan) -> str:
    """Return a frame as CSV; of a run with worlds it says which labels and features its numbers are about.

    A run without worlds has none of these columns, nor that of the worlds, but for worlds.csv, which has
    numbers of both labels.
    """
    uniform_columns = [name for name in WORLD_COLUMNS if name in frame and frame[name].nunique() < 2]
    if not plan.has_worlds:
        frame = frame.drop(columns=uniform_columns)
    if "world" in frame:
        config = plan.config
        index = list(frame.columns).index("world") + 1
        # A frame that has numbers of both labels says itself which each row is about.
        columns = {
            "labels": frame.get("labels", config.test_labels),
            "features": frame.get("features", config.test_features),
        }
        frame = frame.drop(columns=list(columns), errors="ignore")
        for name, values in reversed(columns.items()):
            frame.insert(index, name, values)
    frame = frame.drop(columns=SENSITIVITY, errors="ignore")
    text: str = frame.to_csv(index=False, lineterminator="\n")
    return text


def _check_table(name: str, plan: RunPlan) -> None:
    """Refuse a table whose name is unknown, or which needs something that the run does not have.

    Raises
    ------
    UserError
        In both cases.
    """
    if name not in TABLES:
        raise user_error(f'no table is called "{name}"', suggest(name, TABLES), "--table")
    for need in TABLES[name].needs:
        is_met, clause, fix = NEEDS[need]
        if not is_met(plan.config):
            raise user_error(f"{name} {clause}, and the run has none", f"{fix} and run it again", "--table")


def results_of_folder(
    folder: Path, plan: RunPlan, records: Records, parts: Sequence[RunPart] = PARTS
) -> RunResults:
    """Return the results that any table or figure of a run is made from. Writes nothing."""
    outputs = list(TABLES.values()) + list(FIGURES.values())
    metrics = _metrics_of(plan, outputs, parts)
    return run_results(folder, plan, records, metrics, plan.config.attributes)


def _metrics_of(plan: RunPlan, outputs: Iterable[ReportOutput], parts: Iterable[RunPart]) -> tuple[str, ...]:
    """Return the metrics of the config, of tables and figures, and of the parts that the run has."""
    metrics = list(plan.config.at_hand)
    metrics += [name for name in plan.config.tuned_for if name in METRICS]
    for output in outputs:
        metrics += output.metrics
    for part in parts:
        if part.applies(plan):
            metrics += part.metrics
    return tuple(dict.fromkeys(metrics))


@dataclass(frozen=True)
class RedoneReport:
    """A report that was written again, and what its journals lack.

    Parameters
    ----------
    written : WrittenReport
    damages : tuple of Damage
        The lines of the journals that are not used.
    left_out : tuple of str
        The metrics of the config whose code nobody named, sorted.
    n_missing : int
        How many repeats of the plan are in no journal.
    n_without_rows : int
        How many repeats lack their test rows, where these are kept.
    """

    written: WrittenReport
    damages: tuple[Damage, ...]
    left_out: tuple[str, ...]
    n_missing: int
    n_without_rows: int


def redo_report(
    folder: Path,
    attributes: Sequence[str] = (),
    metrics: Sequence[str] = (),
    versus: Sequence[str] = (),
    tables: Sequence[str] = (),
    labels: TestLabels | None = None,
    compared: Compared = _with_nothing,
    parts: Sequence[RunPart] = PARTS,
    processes: int = 1,
) -> RedoneReport:
    """Write the report of a results folder again.

    Parameters
    ----------
    attributes : sequence of str
        As in `write_report`.
    metrics : sequence of str
        Metrics in addition to those of the config: registered ones, and any that somebody's code defines.
        Such code is run if it is named here, never because the results name it.
    versus, tables : sequence of str
        As in `write_report`.
    labels : {"true", "recorded"}, optional
        Which labels of the test rows everything is about, by default those of the config.
    compared, parts, processes
        As in `write_report`.

    Raises
    ------
    UserError
        When the folder holds no results of a run, or none that can be read in its journals; a file cannot
        be read or written; or no data set has one of the attributes.
    """
    # 1. The repeats that the journals have.
    plan = read_plan(folder)
    files = list_journals(folder / "journal")
    refuse_lost(folder, files)
    reading = read_repeats(folder, plan)
    n_finished = plan.count_finished(reading.records)
    if not n_finished:
        damaged = ""
        if reading.damages:
            damaged = f", and {len(reading.damages)} lines are damaged"
        problem = f"no repeat of the plan is in {folder / 'journal'}{damaged}; no file was replaced"
        raise user_error(problem, "put its journals there, or run the experiment")
    # 2. The plan with the metrics and labels that are requested here.
    metrics_by_name = {metric.name: metric for metric in plan.config.metrics}
    # A metric of the config that is named here too comes with its code.
    metrics_by_name |= {metric.name: metric for metric in find_metrics(metrics, Path(), "--metric")}
    config = plan.config.model_copy(update={"metrics": tuple(metrics_by_name.values())})
    if labels == "recorded" and not plan.has_worlds:
        problem = "this run records true labels, as it has no `bias` under `sample`"
        raise user_error(problem, "leave --labels out, or run an experiment with a `bias`", "--labels")
    report_plan = replace(plan, config=config).counted_by(labels or config.test_labels)
    # 3. The report.
    written = write_report(
        folder, report_plan, reading.records, attributes, versus, tables, compared, parts, processes
    )
    update_manifest(folder, files)
    # 4. What is missing from it.
    without_rows = []
    if plan.config.predictions:
        for repeat_key, record in reading.records.items():
            if record.counts is not None and record.predictions is None:
                without_rows.append(repeat_key)
    return RedoneReport(
        written,
        reading.damages,
        left_out=tuple(sorted(metric.name for metric in config.metrics if not metric.is_at_hand)),
        n_missing=plan.size - n_finished,
        n_without_rows=plan.count_finished(without_rows),
    )


def _write_tables(folder: Path, tables: list[Document]) -> None:
    """Write every table in all formats; those of an earlier report that are not written now go away."""
    make_folder(folder)
    old_names = TABLES.keys() - {table.title for table in tables}
    for file in folder.glob("*.*"):
        is_versus = file.stem.startswith("versus-")
        if file.name == OLD_NUMBERS or file.stem in old_names or is_versus:
            file.unlink()
    for table in tables:
        for suffix, writer in FORMATS.items():
            write_text(folder / f"{table.title}.{suffix}", writer.load()(table))
