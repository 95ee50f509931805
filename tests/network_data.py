"""Random networks for the tests."""

from collections.abc import Sequence
from math import prod

import numpy as np

from fairbench_cli.data.table import Column, Floats, Table
from fairbench_cli.network.model import BayesNet, cpt_shape


def random_net(rng: np.random.Generator, n: int, *, polytree: bool = False) -> BayesNet:
    """Return a network of `n` columns of 2 to 4 levels; in a polytree no two paths join two columns."""
    columns = tuple(Column(f"c{j}", tuple("abcd"[: rng.integers(2, 5)])) for j in range(n))
    parents: list[list[int]] = [[] for _ in columns]
    for j in range(1, n):
        i = int(rng.integers(0, j))
        if not polytree:
            parents[j] = rng.choice(j, rng.integers(0, min(j, 3) + 1), replace=False).tolist()
        elif rng.random() < 0.5:
            parents[j].append(i)
        else:
            parents[i].append(j)
    return BayesNet(columns, tuple(map(tuple, parents)), random_tables(rng, columns, parents))


def random_tables(
    rng: np.random.Generator, columns: Sequence[Column], parents: Sequence[Sequence[int]]
) -> tuple[Floats, ...]:
    """Return tables without zeros."""
    shapes = [cpt_shape(columns, own, j) for j, own in enumerate(parents)]
    return tuple(rng.dirichlet(np.ones(shape[-1]), size=shape[:-1]) for shape in shapes)


def unseen(table: Table, parents: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return for each column the number of parent configurations without a row (uniform CPT rows)."""
    levels = table.level_counts
    found = (len(np.unique(table.codes[:, list(own)], axis=0)) for own in parents)
    return tuple(prod(levels[i] for i in own) - many for own, many in zip(parents, found, strict=True))
