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
from fairbench_cli.report.ledger.journal_arrays import WORLD_COLUMNS
from fairbench_cli.report.ledger.paired_differences import VERSUS
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
    """What a report shows: the answer in few lines, the tables that are asked for, and names of its files."""

    answer: Document
    tables: tuple[Document, ...]
    files: tuple[str, ...]


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

    Returns
    -------
    WrittenReport
        With the tables that the config asks for and, where attributes are asked for, the rates of their
        groups. With `versus` or `tables` the differences to these techniques and these tables instead.

    Raises
    ------
    UserError
        When a file cannot be written, no data set has one of the attributes, or the run lacks a technique.
    """
    config = plan.config
    chosen = tuple(dict.fromkeys(tables))
    for name in chosen:
        _check_table(name, plan)
    attributes = tuple(attributes) or config.attributes
    requested = list(config.tables)
    if attributes:
        requested.append("group-rates")
    asked = dict.fromkeys([*requested, *chosen])
    always = [name for name, table in TABLES.items() if table.always and name not in asked]
    shown = [TABLES[name] for name in (*asked, *always)] + [FIGURES[name] for name in config.figures]
    with threadpool_limits(1):  # arrays are small: more threads would only cost
        run = run_results(folder, plan, records, _metrics_of(plan, shown, parts), attributes)
        results = run.select(config.at_hand)
        against, differences = compare_with_techniques(run, results, versus)
        frames = make_frames(parts, run)
        frames |= dict.fromkeys(path.stem for path in folder.glob(f"{VERSUS}*.csv")) | against
        answer = markdown(answer_document(run))
        for name, frame in frames.items():
            if frame is None:
                (folder / f"{name}.csv").unlink(missing_ok=True)
            else:
                write_text(folder / f"{name}.csv", comma_separated(frame, plan))
        tables_by_name = table_makers(parts)
        made = {name: tables_by_name[name](name, run) for name in (*asked, *always)}
        _write_tables(folder / "tables", [table for table in made.values() if table.sections])
        write_text(folder / ANSWER, answer)
        write_text(folder / PAGE, html(run_page(run, parts, compared(plan, records))))
        draw_figures(run, config.figures, figure_registry(parts))
        kept = write_predictions(folder, plan, records)
        shown_tables = [*differences, *(made[name] for name in chosen or ([] if differences else asked))]
        csv = f"{sum(frame is not None for frame in frames.values())} CSV files"
        names = [PAGE, ANSWER, csv, "tables/"]
        if config.figures:
            names.append("figures/")
        if kept:
            names.append("predictions/")
        return WrittenReport(answer_document(run, brief=True), tuple(shown_tables), tuple(names))


def comma_separated(frame: pd.DataFrame, plan: RunPlan) -> str:
    """Return a frame as CSV; of a run with worlds it says which labels and features its numbers are about.

    A run without worlds has none of these columns, nor that of the worlds, but for worlds.csv, which has
    numbers of both labels.
    """
    alike = [name for name in WORLD_COLUMNS if name in frame and frame[name].nunique() < 2]
    if not plan.has_worlds:
        frame = frame.drop(columns=alike)
    if "world" in frame:
        config = plan.config
        at = [*frame.columns].index("world") + 1
        own = {"labels": config.test_labels, "features": config.test_features}
        values = {name: frame.get(name, value) for name, value in own.items()}
        frame = frame.drop(columns=[*own], errors="ignore")
        for name, value in reversed(values.items()):
            frame.insert(at, name, value)
    text: str = frame.to_csv(index=False, lineterminator="\n")
    return text


def _check_table(name: str, plan: RunPlan) -> None:
    """Refuse a table that there is not, or that the run has not what it takes for.

    Raises
    ------
    UserError
        When it is one of these.
    """
    if name not in TABLES:
        raise user_error(f'no table is called "{name}"', suggest(name, TABLES), "--table")
    for need in TABLES[name].needs:
        is_met, what, fix = NEEDS[need]
        if not is_met(plan.config):
            raise user_error(f"{name} {what}, and the run has none", f"{fix} and run it again", "--table")


def results_of_folder(
    folder: Path, plan: RunPlan, records: Records, parts: Sequence[RunPart] = PARTS
) -> RunResults:
    """Return the results that any table or figure of a run is made from. Writes nothing."""
    metrics = _metrics_of(plan, [*TABLES.values(), *FIGURES.values()], parts)
    return run_results(folder, plan, records, metrics, plan.config.attributes)


def _metrics_of(plan: RunPlan, shown: Iterable[ReportOutput], parts: Iterable[RunPart]) -> tuple[str, ...]:
    """Return the metrics of the config, of some tables and figures, and of the parts that the run has."""
    metrics = [*plan.config.at_hand]
    metrics += [name for name in plan.config.tuned_for if name in METRICS]
    for output in shown:
        metrics += output.metrics
    for part in parts:
        if part.applies(plan):
            metrics += part.metrics
    return tuple(dict.fromkeys(metrics))


def redo_report(
    folder: Path,
    attributes: Sequence[str] = (),
    metrics: Sequence[str] = (),
    versus: Sequence[str] = (),
    tables: Sequence[str] = (),
    labels: TestLabels | None = None,
    compared: Compared = _with_nothing,
    parts: Sequence[RunPart] = PARTS,
) -> tuple[WrittenReport, tuple[Damage, ...], list[str], int, int]:
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
    compared, parts
        As in `write_report`.

    Returns
    -------
    written : WrittenReport
    damages : tuple of Damage
        The lines of the journals that are not used.
    left_out : list of str
        The metrics of the config whose code nobody named.
    missing : int
        How many repeats of the plan are in no journal.
    without : int
        How many lack their test rows, where these are kept.

    Raises
    ------
    UserError
        When the folder holds no results of a run, or none that can be read in its journals; a file cannot
        be read or written; or no data set has one of the attributes.
    """
    plan = read_plan(folder)
    files = list_journals(folder / "journal")
    refuse_lost(folder, files)
    reading = read_repeats(folder, plan)
    there = plan.count_finished(reading.records)
    if not there:
        if reading.damages:
            damaged = f", and {len(reading.damages)} lines are damaged"
        else:
            damaged = ""
        what = f"no repeat of the plan is in {folder / 'journal'}{damaged}; no file was replaced"
        raise user_error(what, "put its journals there, or run the experiment")
    named = find_metrics(metrics, Path(), "--metric")
    both = {one.name: one for one in (*plan.config.metrics, *named)}  # with the code of what is named here
    config = plan.config.model_copy(update={"metrics": tuple(both.values())})
    if labels == "recorded" and not plan.has_worlds:
        what = "this run records true labels, as it has no `bias` under `sample`"
        raise user_error(what, "leave --labels out, or run an experiment with a `bias`", "--labels")
    own_plan = replace(plan, config=config).counted_by(labels or config.test_labels)
    written = write_report(folder, own_plan, reading.records, attributes, versus, tables, compared, parts)
    update_manifest(folder, files)
    left_out = sorted(one.name for one in config.metrics if not one.is_at_hand)
    counted = reading.records.items() if plan.config.predictions else ()
    without = plan.count_finished(
        place for place, one in counted if one.counts is not None and one.predictions is None
    )
    return written, reading.damages, left_out, plan.size - there, without


def _write_tables(folder: Path, tables: list[Document]) -> None:
    """Write every table in all formats; those of an earlier report that are not written now go away."""
    make_folder(folder)
    written = {table.title for table in tables}
    for old in folder.glob("*.*"):
        if old.name == OLD_NUMBERS or old.stem in TABLES.keys() - written:
            old.unlink()
    for table in tables:
        for ending, writer in FORMATS.items():
            write_text(folder / f"{table.title}.{ending}", writer.load()(table))
