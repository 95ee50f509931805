"""Reference tables and answers for outcomes that are numbers, and their moments."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd

from fairbench_cli.measures.moments import Moments, sum_powers

REFERENCE = Path(__file__).parent / "reference" / "numbers"
TABLES = pd.read_csv(REFERENCE / "tables.csv")
EXPECTED = pd.read_csv(REFERENCE / "expected.csv").set_index("table")
EDGES = json.loads((REFERENCE / "edges.json").read_text())
GROUP, REFERENCE_GROUP = 0, 1


def table(number: int) -> pd.DataFrame:
    """Return the rows of a reference table, with the group's code."""
    rows = TABLES[TABLES["table"] == number]
    return rows.assign(code=(rows["group"] == "r").astype(int))


def values_of(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of the group and of the reference."""
    rows = table(number)
    return rows["value"].to_numpy()[rows["code"] == GROUP], rows["value"].to_numpy()[rows["code"] == 1]


def moments_of(rows: pd.DataFrame, column: str = "value", weight: str | None = None) -> Moments:
    """Return the moments of a column by group, around the first value."""
    weights = None if weight is None else rows[weight]
    return sum_powers(rows[column], rows["code"], 2, weights, shift=float(rows[column].iloc[0]))


def assert_as_expected(
    numbers: dict[str, float], expected: dict[str, float], tolerance: float = 1e-9
) -> None:
    """Assert that numbers are the expected ones, to a relative tolerance; NaN is NaN."""
    for name, number in numbers.items():
        answer = float(expected[name])
        is_same = math.isclose(float(number), answer, rel_tol=tolerance, abs_tol=1e-300)
        assert is_same or (math.isnan(number) and math.isnan(answer)), (name, float(number), answer)
