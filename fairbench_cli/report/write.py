"""Derive every result file from the journal; each is replaced in one step."""

from pathlib import Path

import pandas as pd

from fairbench_cli.experiment.journal import Records, read_journals
from fairbench_cli.experiment.study import Study, read_study
from fairbench_cli.files import make_folder, write_text
from fairbench_cli.report.formats import comma_separated, latex, markdown
from fairbench_cli.report.results import groups_frame, results_frame, summary_frame
from fairbench_cli.report.sweep import sweep_frame
from fairbench_cli.report.tables import LAYOUTS, PaperTable, paper_table


def write_report(folder: Path, study: Study, records: Records) -> list[PaperTable]:
    """Write groups.csv, results.csv, summary.csv and tables/; return the tables.

    Raises
    ------
    UserError
        When a file cannot be written.
    """
    groups = groups_frame(study, records)
    # The tables need their measures whether or not the config lists them among its metrics.
    needed = tuple(
        dict.fromkeys((*study.metrics, *(metric for name in study.tables for metric in LAYOUTS[name])))
    )
    results = results_frame(groups, needed)
    summary = summary_frame(results, study.repeats)
    _write_csv(folder / "groups.csv", groups)
    _write_csv(folder / "results.csv", results[results["metric"].isin(study.metrics)])
    _write_csv(folder / "summary.csv", summary[summary["metric"].isin(study.metrics)])
    _write_sweep(folder / "sweep.csv", study, records)
    for name in LAYOUTS.keys() - set(study.tables):
        for old in (folder / "tables").glob(f"{name}.*"):
            old.unlink()
    make_folder(folder / "tables")
    tables = [paper_table(name, study, results, summary) for name in study.tables]
    for table in tables:
        base = folder / "tables" / table.name
        write_text(base.with_suffix(".md"), markdown(table))
        write_text(base.with_suffix(".tex"), latex(table))
        write_text(base.with_suffix(".csv"), comma_separated(table))
    return tables


def _write_sweep(path: Path, study: Study, records: Records) -> None:
    if study.sweep:
        _write_csv(path, sweep_frame(study, records, study.metrics))
    else:
        path.unlink(missing_ok=True)


def redo_report(folder: Path) -> list[PaperTable]:
    """Write the report of a results folder again from its plan and journal.

    Raises
    ------
    UserError
        When the folder holds no results of a run, or a file cannot be read or written.
    """
    study = read_study(folder)
    return write_report(folder, study, read_journals(folder / "journal").records)


def _write_csv(path: Path, frame: pd.DataFrame) -> None:
    text: str = frame.to_csv(index=False, lineterminator="\n")
    write_text(path, text)
