"""The data sets on which Zafar et al.'s technique is checked."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from fairbench_cli.data.card import find_card, read_card
from fairbench_cli.data.load import load
from fairbench_cli.data.locate import folders, locate
from fairbench_cli.data.table import Column, Sample, Table, to_sample

NUMBERS = ("age", "education_num", "capital_gain", "capital_loss", "hours_per_week")


def sample_of(name, attribute="sex"):
    """Load a shipped card or one at a path."""
    if not os.environ.get("FAIRBENCH_DATA"):
        pytest.skip("needs the official files: set FAIRBENCH_DATA to their folder")
    path = find_card(str(name))
    card = read_card(path)
    dataset = load(card, locate(card, folders(None, path)))
    return to_sample(dataset.table, dataset.roles(attribute))


def adult_58(folder: Path):
    """Adult's 45,222 complete rows with five numbers and the country as US or not: 58 columns without sex."""
    path = folder / "adult-58.yaml"
    columns = {name: {"kind": "integer"} for name in NUMBERS}
    path.write_text(yaml.safe_dump({"extends": "adult-complete", "name": "adult-58", "columns": columns}))
    sample = sample_of(path)
    return merged(
        replace(sample, features=sample.features.without("race")), "native_country", "United-States"
    )


def merged(sample: Sample, name: str, level: str) -> Sample:
    """Tell one level of a column from all others."""
    table = sample.features
    j = table.index(name)
    codes = table.codes.copy(order="F")
    codes[:, j] = codes[:, j] == table.columns[j].levels.index(level)
    columns = list(table.columns)
    columns[j] = Column(name, ("other", level))
    return replace(sample, features=Table(tuple(columns), codes))


def compas_9(folder: Path):
    """ProPublica's 5,278 rows in the nine columns of Zafar et al., one of them the ones."""
    import pandas as pd

    if not os.environ.get("FAIRBENCH_DATA"):
        pytest.skip("needs the official files: set FAIRBENCH_DATA to their folder")
    frame = pd.read_csv(Path(os.environ["FAIRBENCH_DATA"]) / "compas-scores-two-years.csv")
    frame = frame[
        frame["days_b_screening_arrest"].between(-30, 30)
        & (frame["is_recid"] != -1)
        & (frame["c_charge_degree"] != "O")
        & frame["race"].isin(["African-American", "Caucasian"])
    ]
    columns, codes = [], []
    for name in ("age_cat", "sex", "c_charge_degree", "race"):
        column = frame[name].astype("category").cat
        columns.append(Column(name, tuple(column.categories)))
        codes.append(column.codes)
    values, code = np.unique(frame["priors_count"], return_inverse=True)
    columns.append(Column("priors_count", tuple(map(str, values)), "number", tuple(map(float, values))))
    codes.append(code)
    table = Table(tuple(columns), np.asfortranarray(np.stack(codes, axis=1).astype(np.int16)))
    y = 1 - frame["two_year_recid"].to_numpy(dtype=np.int8)
    s = (frame["race"] == "Caucasian").to_numpy(dtype=np.int8)
    return Sample(table, "race", y, s)
