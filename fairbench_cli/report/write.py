"""Derive every result file from the journal; each is replaced in one step."""

from pathlib import Path

import pandas as pd

from fairbench_cli.experiment.journal import Records, read_journals
from fairbench_cli.experiment.study import Study, read_study
from fairbench_cli.files import write_text
from fairbench_cli.report.results import groups_frame, results_frame, summary_frame
from fairbench_cli.report.tables import PaperTable, comma_separated, latex, markdown, paper_table


def write_report(folder: Path, study: Study, records: Records) -> list[PaperTable]:
    """Write groups.csv, results.csv, summary.csv and tables/; return the tables."""
    groups = groups_frame(study, records)
    results = results_frame(groups, study.metrics)
    # The tables need their measures whether or not the config lists them among its metrics.
    needed = dict.fromkeys((*study.metrics, *(m for name in study.tables for m in _metrics(name))))
    everything = summary_frame(results_frame(groups, tuple(needed)), study.repeats)
    summary = everything[everything["metric"].isin(study.metrics)]
    for name, frame in (("groups", groups), ("results", results), ("summary", summary)):
        write_text(folder / f"{name}.csv", _csv(frame))
    tables = [paper_table(name, study, everything) for name in study.tables]
    for table in tables:
        base = folder / "tables" / table.name
        write_text(base.with_suffix(".md"), markdown(table))
        write_text(base.with_suffix(".tex"), latex(table))
        write_text(base.with_suffix(".csv"), comma_separated(table))
    return tables


def redo_report(folder: Path) -> list[PaperTable]:
    """Write the report of a results folder again from its plan and journal."""
    study = read_study(folder)
    return write_report(folder, study, read_journals(folder / "journal").records)


def _metrics(table: str) -> tuple[str, str]:
    from fairbench_cli.report.tables import LAYOUTS

    return LAYOUTS[table]


def _csv(frame: pd.DataFrame) -> str:
    text: str = frame.to_csv(index=False, lineterminator="\n")
    return text
