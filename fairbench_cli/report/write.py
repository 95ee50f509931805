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
from fairbench_cli.report import registry
from fairbench_cli.report.answer_words import answer_document
from fairbench_cli.report.baselines import baselines_frame, distances_of
from fairbench_cli.report.figures import draw_figures
from fairbench_cli.report.frontier import distance_frame, frontier_frame
from fairbench_cli.report.page import run_page
from fairbench_cli.report.paired import VERSUS, paired_of, pareto_of, versus_of
from fairbench_cli.report.paper import NUMBERS, numbers_tex
from fairbench_cli.report.predictions import write_predictions
from fairbench_cli.report.remedies import contrasts_of, remedies_of
from fairbench_cli.report.repeats import OF_WORLDS, groups_frame
from fairbench_cli.report.results import RunResults, results_frame, run_results, summary_frame, sweep_frame
from fairbench_cli.report.tuning import curves_frame, gains_frame
from fairbench_cli.report.worlds import worlds_frame

ANSWER = "answer.md"
PAGE = "report.html"


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
) -> WrittenReport:
    """Write answer.md, report.html, groups, results, summary, paired and pareto.csv, tables/ and figures/.

    Also baselines.csv and baselines_distance.csv; with a sweep sweep.csv, frontier.csv and
    frontier_distance.csv; where parameters are tuned tuning.csv and tuning_gain.csv; where the run keeps what
    is known exactly of its worlds worlds.csv.

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
        run = run_results(folder, plan, records, _metrics_of(plan, shown), attributes)
        results = run.asked(config.at_hand)
        against, differences = versus_of(run, results, versus)
        paired = paired_of(run)
        frames = {
            "groups": _on_all_labels(run, lambda one: groups_frame(one.datasets)),
            "results": _on_all_labels(run, lambda one: results_frame(one.asked(config.at_hand))),
            "summary": summary_frame(results, config.repeats),
            "paired": paired[paired["metric"].isin(config.at_hand)],
            "pareto": pareto_of(run),
            "remedies": remedies_of(run) if plan.has_worlds else None,
            "recorded_true": contrasts_of(run) if plan.has_worlds else None,
            "baselines": baselines_frame(run),
            "baselines_distance": distances_of(run),
            "sweep": sweep_frame(run) if config.sweep else None,
            "frontier": frontier_frame(run) if config.sweep else None,
            "frontier_distance": distance_frame(run) if config.sweep else None,
            "tuning": curves_frame(run) if config.tuned_for else None,
            "tuning_gain": gains_frame(run) if config.tuned_for else None,
            "worlds": worlds_frame(run),
        }
        for output, files in registry.FRAMES.items():
            with_it = output in asked or output in config.figures
            frames |= {name: make.load()(run) if with_it else None for name, make in files.items()}
        frames |= dict.fromkeys(path.stem for path in folder.glob(f"{VERSUS}*.csv")) | against
        answer = markdown(answer_document(run))
        for name, frame in frames.items():
            if frame is None:
                (folder / f"{name}.csv").unlink(missing_ok=True)
            else:
                write_text(folder / f"{name}.csv", comma_separated(frame, plan))
        made = {name: registry.TABLES[name].load()(name, run) for name in (*asked, *always)}
        _write_tables(folder / "tables", [table for table in made.values() if table.sections])
        write_text(folder / "tables" / NUMBERS, numbers_tex(run))
        write_text(folder / ANSWER, answer)
        write_text(folder / PAGE, html(run_page(run, compared(plan, records))))
        draw_figures(run, config.figures)
        kept = write_predictions(folder, plan, records)
        shown_tables = [*differences, *(made[name] for name in chosen or ([] if differences else asked))]
        csv = f"{sum(frame is not None for frame in frames.values())} CSV files"
        names = [PAGE, ANSWER, csv, "tables/"]
        if config.figures:
            names.append("figures/")
        if kept:
            names.append("predictions/")
        return WrittenReport(answer_document(run, brief=True), tuple(shown_tables), tuple(names))


def _on_all_labels(run: RunResults, frame_of: Callable[[RunResults], pd.DataFrame]) -> pd.DataFrame:
    """Return a frame of the true labels and one of the recorded ones, one below the other."""
    return pd.concat([frame_of(one).assign(labels=one.labels) for one in run.on_all], ignore_index=True)


def comma_separated(frame: pd.DataFrame, plan: RunPlan) -> str:
    """Return a frame as CSV; of a run with worlds it says which labels and features its numbers are about.

    A run without worlds has none of these columns, nor that of the worlds, but for worlds.csv, which has
    numbers of both labels.
    """
    alike = [name for name in OF_WORLDS if name in frame and frame[name].nunique() < 2]
    if plan.has_worlds:
        frame = frame
    else:
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


def results_of_folder(folder: Path, plan: RunPlan, records: Records) -> RunResults:
    """Return the results that any table or figure of a run is made from. Writes nothing."""
    metrics = _metrics_of(plan, [*TABLES.values(), *FIGURES.values()])
    return run_results(folder, plan, records, metrics, plan.config.attributes)


def _metrics_of(plan: RunPlan, shown: Iterable[ReportOutput]) -> tuple[str, ...]:
    """Return the metrics of the config, and of some tables and figures."""
    tuned_for = [name for name in plan.config.tuned_for if name in METRICS]
    more = (metric for output in shown for metric in output.metrics)
    return tuple(dict.fromkeys([*plan.config.at_hand, *tuned_for, *more]))


def redo_report(
    folder: Path,
    attributes: Sequence[str] = (),
    metrics: Sequence[str] = (),
    versus: Sequence[str] = (),
    tables: Sequence[str] = (),
    labels: TestLabels | None = None,
    compared: Compared = _with_nothing,
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
    compared : callable
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
    written = write_report(folder, own_plan, reading.records, attributes, versus, tables, compared)
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
    for old in folder.glob("*.*"):
        if old.stem in TABLES.keys() - {table.title for table in tables}:
            old.unlink()
    for table in tables:
        for ending, writer in registry.FORMATS.items():
            write_text(folder / f"{table.title}.{ending}", writer.load()(table))
