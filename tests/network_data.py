"""Random networks for the tests."""

from collections.abc import Sequence

import numpy as np

from fairbench_cli.data.table import Column, Floats
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
