"""Repair of all columns of a sample but the protected attribute."""

import zlib
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fairbench_cli.data.table import Codes, Column, Labels, Sample, Table
from fairbench_cli.interventions.repairing.categorical import CategoryMap, repair_by_category
from fairbench_cli.interventions.repairing.numeric import Method, RankMap, nearest, repair_by_rank

Bins = Literal["number", "nominal"]


@dataclass(frozen=True)
class How:
    """How columns are repaired; see `Repair`."""

    level: float
    method: Method
    bins: Bins


ColumnMap = RankMap | CategoryMap


def repair_features(sample: Sample, how: How, seed: int) -> tuple[Sample, dict[str, ColumnMap]]:
    """Repair every column but the protected attribute; return the sample and what was learned, by name.

    Both groups must have rows. Each column has a random stream of its own, named after it, so that the order
    of the columns does not matter.

    Raises
    ------
    Infeasible
        When a column cannot hold the numbers that a geometric repair gives.
    """
    learned: dict[str, ColumnMap] = {}
    columns, codes = list(sample.features.columns), sample.features.codes.copy(order="F")
    for j, column in enumerate(columns):
        if column.name != sample.attribute:
            stream = stream_of(seed, column.name)
            learned[column.name], codes[:, j] = _repair(column, codes[:, j], sample.s, how, stream)
            columns[j] = learned[column.name].column
    return replace(sample, features=Table(tuple(columns), codes)), learned


def apply_maps(sample: Sample, learned: dict[str, ColumnMap], seed: int) -> Sample:
    """Repair other rows by what was learned; columns that were not repaired stay as they are."""
    columns, codes = list(sample.features.columns), sample.features.codes.copy(order="F")
    for j, column in enumerate(columns):
        # A column with other levels than in training is left for the classifier to refuse.
        if column.name in learned and learned[column.name].source == column:
            codes[:, j] = learned[column.name].apply(codes[:, j], sample.s, stream_of(seed, column.name))
            columns[j] = learned[column.name].column
    return replace(sample, features=Table(tuple(columns), codes))


def on_levels(sample: Sample, learned: dict[str, ColumnMap]) -> Sample:
    """Give numbers the levels of the repaired training rows: each becomes the nearest one that there is."""
    columns, codes = list(sample.features.columns), sample.features.codes.copy(order="F")
    for j, column in enumerate(columns):
        if column.kind == "number" and column.name in learned:
            columns[j] = learned[column.name].column
            if columns[j] != column:
                codes[:, j] = nearest(columns[j], np.array(column.values)[codes[:, j]])
    return replace(sample, features=Table(tuple(columns), codes))


def stream_of(seed: int, name: str) -> np.random.Generator:
    """Return the random stream of a column."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def is_ranked(column: Column, bins: Bins) -> bool:
    """Tell whether a column is repaired by rank, else by category."""
    return column.kind == "number" or (column.kind == "bins" and bins == "number")


def distance(column: Column, codes: Codes, s: Labels, *, ranked: bool) -> float:
    """Distance between the groups' distributions, 0 to 1: Kolmogorov–Smirnov if ranked, else total variation.

    >>> codes, s = np.array([0, 0, 1, 2], dtype=np.int16), np.array([0, 0, 1, 1], dtype=np.int8)
    >>> distance(Column("job", ("a", "b", "c")), codes, s, ranked=False)
    1.0
    """
    first, second = (np.bincount(codes[s == group], minlength=len(column.levels)) for group in (0, 1))
    gap = first / first.sum() - second / second.sum()
    return float(np.abs(np.cumsum(gap)).max() if ranked else np.abs(gap).sum() / 2)


def largest_distance(sample: Sample, bins: Bins) -> float:
    """Return the largest distance between the groups over all columns but the protected attribute."""
    features = sample.features
    return max(
        distance(column, features.codes[:, j], sample.s, ranked=is_ranked(column, bins))
        for j, column in enumerate(features.columns)
        if column.name != sample.attribute
    )


def _repair(
    column: Column, codes: Codes, s: Labels, how: How, rng: np.random.Generator
) -> tuple[ColumnMap, Codes]:
    if is_ranked(column, how.bins):
        return repair_by_rank(column, codes, s, how.level, how.method, rng)
    return repair_by_category(column, codes, s, how.level, rng)
