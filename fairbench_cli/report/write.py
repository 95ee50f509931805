"""Derive every result file from the journal; each is replaced in one step."""

from pathlib import Path

import pandas as pd

from fairbench_cli.experiment.journal import Records, read_journals
from fairbench_cli.experiment.plan import RunPlan as Study
from fairbench_cli.experiment.plan import read_plan as read_study
from fairbench_cli.files import make_folder, write_text
from fairbench_cli.measures.registry import MEASURES
from fairbench_cli.report.figures import NEEDED, draw_figures
from fairbench_cli.report.formats import comma_separated, latex, markdown
from fairbench_cli.report.paired import paired_frame, paired_table
from fairbench_cli.report.pareto import pareto_frame, pareto_table
from fairbench_cli.report.results import groups_frame, results_frame, row_values, summary_frame
from fairbench_cli.report.sweep import sweep_frame
from fairbench_cli.report.tables import LAYOUTS, PaperTable, paper_table


def write_report(folder: Path, study: Study, records: Records) -> list[PaperTable]:
    """Write groups.csv, results.csv, summary.csv, paired.csv, pareto.csv, tables/ and figures/.

    Returns
    -------
    list of PaperTable
        The tables that the config asks for.

    Raises
    ------
    UserError
        When a file cannot be written.
    """
    groups = groups_frame(study, records)
    results = results_frame(groups, _needed(study), row_values(study, records))
    summary = summary_frame(results, study.repeats)
    paired, pareto = paired_frame(results), pareto_frame(results)
    _write_csv(folder / "groups.csv", groups)
    _write_csv(folder / "results.csv", _asked_for(results, study))
    _write_csv(folder / "summary.csv", _asked_for(summary, study))
    _write_csv(folder / "paired.csv", _asked_for(paired, study))
    _write_csv(folder / "pareto.csv", pareto)
    _write_sweep(folder / "sweep.csv", study, records)
    tables = [paper_table(name, study, results, summary) for name in study.tables]
    statistics = [
        paired_table(paired, _paired_metrics(study), splits=study.sample == "data"),
        pareto_table(pareto),
    ]
    _write_tables(folder / "tables", [*tables, *(table for table in statistics if table.blocks)])
    draw_figures(folder, study, results, summary, study.figures)
    return tables


def redo_report(folder: Path, attributes: tuple[str, ...] = ()) -> tuple[list[PaperTable], int]:
    """Write the report of a results folder again; return its tables and how many records cannot be read.

    Raises
    ------
    UserError
        When the folder holds no results of a run, or a file cannot be read or written.
    """
    study, reading = read_study(folder), read_journals(folder / "journal")
    return write_report(folder, study, reading.records), reading.damaged


def _needed(study: Study) -> tuple[str, ...]:
    """Return the measures to compute: tables, statistics and figures have theirs besides the config's."""
    in_tables = [metric for name in study.tables for metric in LAYOUTS[name]]
    return tuple(dict.fromkeys((*study.metrics, *in_tables, *NEEDED)))


def _paired_metrics(study: Study) -> tuple[str, ...]:
    """Return the measures of the tables, in their order."""
    return tuple(dict.fromkeys(metric for name in study.tables for metric in LAYOUTS[name])) or NEEDED


def _asked_for(frame: pd.DataFrame, study: Study) -> pd.DataFrame:
    return frame[frame["metric"].isin(study.metrics)]


def _write_sweep(path: Path, study: Study, records: Records) -> None:
    if study.sweep:
        _write_csv(
            path, sweep_frame(study, records, tuple(name for name in study.metrics if name in MEASURES))
        )
    else:
        path.unlink(missing_ok=True)


def _write_tables(folder: Path, tables: list[PaperTable]) -> None:
    """Write every table in three formats; those of an earlier report that are not written now go away."""
    make_folder(folder)
    for old in folder.glob("*.*"):
        if old.stem in {*LAYOUTS, "difference-to-none", "pareto"} - {table.name for table in tables}:
            old.unlink()
    for table in tables:
        base = folder / table.name
        write_text(base.with_suffix(".md"), markdown(table))
        write_text(base.with_suffix(".tex"), latex(table))
        write_text(base.with_suffix(".csv"), comma_separated(table))


def _write_csv(path: Path, frame: pd.DataFrame) -> None:
    text: str = frame.to_csv(index=False, lineterminator="\n")
    write_text(path, text)
