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


def rows_of_cells(cells, seed=0, weighted=False):
    """Rows with the given sizes of (s, y) 00, 01, 10, 11, in a random order; features follow both."""
    rng = np.random.default_rng(seed)
    s, y = np.repeat([(0, 0), (0, 1), (1, 0), (1, 1)], cells, axis=0)[rng.permutation(sum(cells))].T
    columns = (Column("job", tuple("abcd")), Column("sex", ("f", "m")), Column("wage", tuple("0123456789")))
    codes = [rng.integers(0, 3, len(s)) + s, s, rng.integers(0, 8, len(s)) + 2 * y]
    table = Table(columns, np.asfortranarray(np.stack(codes, axis=1).astype(np.int16)))
    weights = rng.random(len(s)) + 0.2 if weighted else None
    return Sample(table, "sex", y.astype(np.int8), s.astype(np.int8), weights)


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
