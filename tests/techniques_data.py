"""The golden numbers and the data on which in-processing techniques are checked."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from zafar_data import sample_of

from fairbench_cli.data.table import Column, Sample, Table

REFERENCE = Path(__file__).parent / "reference" / "techniques"


def golden(name):
    """Return one of the tables of reference numbers."""
    return pd.read_csv(REFERENCE / f"{name}.csv")


def of_numbers(frame, names):
    """Rows with the given numeric columns and the group, the last column."""
    columns, codes = [], []
    for name in names:
        values, code = np.unique(frame[name], return_inverse=True)
        columns.append(Column(name, tuple(map(repr, values.tolist())), "number", tuple(values.tolist())))
        codes.append(code)
    return _sample(columns, codes, frame)


def of_levels(frame, levels):
    """Rows with nominal columns of so many levels by name, and the group, the last column."""
    columns = [Column(name, tuple(map(str, range(count)))) for name, count in levels.items()]
    return _sample(columns, [frame[name] for name in levels], frame)


def reads(model, rows, name):
    """Return whether a model cannot predict rows that lack one of their features."""
    try:
        model.predict(replace(rows, features=rows.features.without(name)))
    except KeyError:
        return True
    return False


def _sample(columns, codes, frame):
    columns, codes = (*columns, Column("s", ("0", "1"))), [*codes, frame["s"]]
    table = Table(columns, np.asfortranarray(np.stack(codes, axis=1).astype(np.int16)))
    return Sample(table, "s", frame["y"].to_numpy(np.int8), frame["s"].to_numpy(np.int8))


def adult(folder, *, without=(), **columns):
    """Adult's 45,222 complete rows with some columns of the card changed, or left out."""
    path = Path(folder) / "adult-own.yaml"
    path.write_text(yaml.safe_dump({"extends": "adult-complete", "name": "adult-own", "columns": columns}))
    sample = sample_of(path)
    return replace(sample, features=sample.features.without(*without))


def reordered(sample, seed=0):
    """The same rows in another order."""
    return sample.take(np.random.default_rng(seed).permutation(len(sample)))


def doubled(sample):
    """Every row twice, and every row once with weight 2."""
    twice = sample.take(np.repeat(np.arange(len(sample)), 2))
    return twice, replace(sample, weights=np.full(len(sample), 2.0))
