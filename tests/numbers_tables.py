"""Tables of numbers of two groups with known answers: tests/reference/numbers."""

import csv
from collections.abc import Callable
from itertools import product
from math import comb, prod
from pathlib import Path

import numpy as np
import pytest
from for_each import for_each

NUMBERS = Path(__file__).parent / "reference" / "numbers"
COLUMNS = ("value", "prediction", "column", "weight", "cluster")


def _read_tables():
    with (NUMBERS / "tables.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    by_table = {}
    for line in lines:
        by_table.setdefault(line["table"], []).append(line)
    tables = {}
    for number, rows in by_table.items():
        table = {"is_group": np.array([row["group"] == "g" for row in rows])}
        for name in COLUMNS:
            table[name] = np.array([float(row[name]) for row in rows])
        tables[number] = table
    return tables


def _read_answers():
    with (NUMBERS / "expected.csv").open(encoding="utf-8") as file:
        return {line["table"]: line for line in csv.DictReader(file)}


TABLES = _read_tables()
"""The columns of each table, by its number; `is_group` is false of the reference."""
ANSWERS = _read_answers()
each_table = for_each("number", TABLES)


def golden(number, name):
    """Return the answer of a table, to compare a number with."""
    return pytest.approx(float(ANSWERS[number][name]), rel=1e-9, abs=1e-9)


def permutation_p(counts: np.ndarray, statistic: Callable[[np.ndarray], float]) -> float:
    """The share of all ways to deal the rows of a 2 × k table out, its margins fixed, that are as far."""
    columns = counts.sum(0)
    farther = 0.0
    for first in product(*(range(n + 1) for n in columns)):
        if sum(first) == counts[0].sum():
            dealt = np.array([first, columns - first])
            if statistic(dealt) >= statistic(counts) - 1e-9:
                farther += prod(map(comb, columns.tolist(), first))
    return farther / comb(int(counts.sum()), int(counts[0].sum()))
