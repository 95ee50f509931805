"""A run of one's own as a table of repeats, alone or beside a study."""

from dataclasses import replace

import numpy as np
import pandas as pd

from fairbench_cli.base.errors import Flag, user_error
from fairbench_cli.base.safe_text import join_names
from fairbench_cli.report.ledger.cell_labels import technique_label
from fairbench_cli.report.ledger.inference import row_design
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.studies.judge import StudyDesign
from fairbench_cli.studies.table import StudyTable

STUDY = "study"
NONE = "none"
SAME_METRICS = {
    "spd": "selection-rate-difference",
    "aod": "average-odds-difference",
    "eod": "tpr-difference",
    "f1score": "f1",
    "acc": "accuracy",
}
"""What studies call metrics of fairbench, where it is not their name."""


def table_of_run(run: RunResults) -> StudyTable:
    """Return the values of a run by cell and repeat, as a study of the experiment's name.

    A technique is called by its label in tables.
    """
    rows = run.results.rows
    seen = rows[["intervention", "parameters"]].itertuples(index=False, name=None)
    labels = [
        technique_label(str(name), str(parameters), include_protected=False) for name, parameters in seen
    ]
    cell_columns = rows.drop(columns=["dataset", "intervention", "parameters", "metric"]).astype(str)
    keys = cell_columns.assign(
        study=run.plan.config.name, data=rows["dataset"], technique=labels, metric=rows["metric"]
    ).reset_index(drop=True)
    repeats = tuple(map(str, range(run.results.values.shape[1])))
    return StudyTable(keys, run.results.values, repeats, {}, ())


def design_of_run(run: RunResults) -> StudyDesign:
    """Return how the repeats of a run hang together."""
    design = row_design(run.plan.config)
    if design.kind == "split":
        return StudyDesign("splits", design.ratio)
    return StudyDesign("fresh" if design.kind == "drawn" else "seeds")


def put_beside(study: StudyTable, run: StudyTable, baseline: str) -> StudyTable:
    """Return a study with the cells of a run that have a data set and a metric of it.

    They have the study's names for both, and a name in the column ``study``, so that each technique is
    compared with the plain model of its own study.

    Parameters
    ----------
    baseline : str
        What the study calls the plain model.

    Raises
    ------
    UserError
        Where they have no data set, or no metric, in common, and where the study names none.
    """
    if "data" not in study.keys:
        problem = "no column of the table says which data set a row is of"
        raise user_error(problem, ("name it, ", Flag("columns", ("data", "COLUMN"))))
    metrics = {SAME_METRICS.get(metric, metric): metric for metric in study.keys["metric"].unique()}
    data_sets = {data.lower(): data for data in study.keys["data"].unique()}
    keys = run.keys.assign(
        metric=run.keys["metric"].map(metrics),
        data=run.keys["data"].str.lower().map(data_sets),
        technique=run.keys["technique"].replace(NONE, baseline),
    )
    for column, theirs in (("data", data_sets), ("metric", metrics)):
        if keys[column].isna().all():
            ours = join_names(run.keys[column].unique().tolist())
            problem = f"the run and the study have no {column} in common"
            raise user_error(problem, f"the run has {ours}; the study {join_names(list(theirs.values()))}")
    is_common = keys[["data", "metric"]].notna().all(axis=1).to_numpy()
    study_keys = study.keys
    if STUDY not in study_keys:
        study_keys = study_keys.assign(study="published")
    n_repeats = max(study.values.shape[1], run.values.shape[1])
    values = [
        np.pad(cell_values, ((0, 0), (0, n_repeats - cell_values.shape[1])), constant_values=np.nan)
        for cell_values in (study.values, run.values[is_common])
    ]
    return replace(
        study,
        keys=pd.concat([study_keys, keys[is_common]], ignore_index=True).fillna(""),
        values=np.concatenate(values),
        repeats=max(study.repeats, run.repeats, key=len),
    )
