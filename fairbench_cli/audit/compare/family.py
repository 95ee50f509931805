"""One statement for a whole page: how the tests that decide share its 5 %.

Tests are adjusted together, by Holm with weights. What a gate names beforehand (``--fail-on
sex:selection-rate``) shares `NAMED_SHARE` of the level, the rest what is left: the comparison that was asked
about keeps nearly the power that it has alone, and the others lose little. Where nothing is named, or
everything, all are alike. The comparisons of a column and of its copy are one test. An older model is in no
family of the newer one's.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.compare.references import Bools, Ints
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.metrics import ROLL_UPS, canonical
from fairbench_cli.audit.scan.slices import Slice
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.significance import holm

NAMED_SHARE = 0.8  # of the level, for what is named beforehand; simulated in docs/verdicts.md


@dataclass(frozen=True, eq=False)
class Family:
    """Tests adjusted together.

    Parameters
    ----------
    adjusted : list of arrays
        Adjusted p-values, in the shape of the tables of tests.
    shares : list of arrays
        The share of the level that each test has, in (0, 1]; those of what decides add up to 1.
    size : int
        How many tests decide.
    n_named : int
        How many of these were named beforehand and have a larger share; 0 where all are alike.
    """

    adjusted: list[Floats]
    shares: list[Floats]
    size: int
    n_named: int


def adjust_family(
    tables: Sequence[Floats],
    decide: Sequence[Bools] = (),
    pairs: Sequence[Floats] = (),
    named: Sequence[Bools] = (),
) -> Family:
    """Return tables of tests adjusted as one family, by weighted Holm.

    What decides is adjusted over what decides, the others over all, without weights.

    Parameters
    ----------
    tables : sequence of arrays, shape (groups, columns) or (tests,)
        P-values, a table an attribute; NaN is no test, and what cannot be tested is 1.
    decide : sequence of bool arrays, shape (columns,) or (tests,)
        What decides; all where it is not said.
    pairs : sequence of arrays, shape (pairs, columns)
        Of further pairs of groups, where the data chose the reference of the tables: these count, too.
    named : sequence of bool arrays, shape (columns,) or (tests,)
        What was named beforehand; nothing where it is not said.

    Examples
    --------
    >>> tables = [np.array([[0.01, 0.04]]), np.array([[0.03], [np.nan]])]
    >>> family = adjust_family(tables, [np.array([True, False]), np.array([True])])
    >>> [p.tolist() for p in family.adjusted], family.size
    ([[[0.02, 0.06]], [[0.03], [nan]]], 2)
    >>> one_named = adjust_family([np.array([0.01, 0.03, 0.2])], named=[np.array([True, False, False])])
    >>> one_named.adjusted[0].round(4).tolist(), one_named.shares[0].round(2).tolist()
    ([0.0125, 0.06, 0.2], [0.8, 0.1, 0.1])
    """
    families = list(tables)
    if pairs:
        families = [np.concatenate(table_and_pairs) for table_and_pairs in zip(tables, pairs, strict=True)]
    tests = _flat(families)
    is_test = ~np.isnan(tests)
    is_deciding = is_test & _flat_marks(families, decide, default=True)
    is_named = is_deciding & _flat_marks(families, named, default=False)
    n_named = int(is_named.sum())
    n_deciding = int(is_deciding.sum())
    n_others = n_deciding - n_named

    weights = None
    shares = np.full(tests.shape, 1 / max(int(is_test.sum()), 1))
    shares[is_deciding] = 1 / max(n_deciding, 1)
    if n_named and n_others:
        shares[is_named] = NAMED_SHARE / n_named
        shares[is_deciding & ~is_named] = (1 - NAMED_SHARE) / n_others
        weights = shares
    else:
        n_named = 0
    adjusted = holm(tests)
    adjusted = np.where(is_deciding, holm(np.where(is_deciding, tests, np.nan), weights), adjusted)
    return Family(
        _split(adjusted, tables, families),
        _split(np.where(is_test, shares, np.nan), tables, families),
        n_deciding,
        n_named,
    )


def _flat(tables: Iterable[Floats]) -> Floats:
    return np.concatenate([np.empty(0)] + [np.ravel(table) for table in tables])


def _flat_marks(tables: Sequence[Floats], marks: Sequence[Bools], *, default: bool) -> Bools:
    """Return the marks of columns for each test of the tables."""
    by_test = [np.full(table.size, default) for table in tables]
    if marks:
        by_test = [
            np.broadcast_to(columns, table.shape).ravel()
            for columns, table in zip(marks, tables, strict=True)
        ]
    return np.concatenate([np.empty(0, dtype=bool), *by_test])


def _split(values: Floats, tables: Sequence[Floats], families: Sequence[Floats]) -> list[Floats]:
    """Return flat values in the shapes of tables, without those of the pairs that follow each."""
    split_tables = []
    start = 0
    for table, tests in zip(tables, families, strict=True):
        split_tables.append(values[start : start + table.size].reshape(table.shape))
        start += tests.size
    return split_tables


def family_rates(
    group_counts: Slice, names: Sequence[str], deciding: Sequence[str], config: AuditConfig
) -> frozenset[str]:
    """Return the rates of a slice that the verdict or the gate depends on."""
    gate = [
        canonical(name)
        for attribute, name in config.watched_verdicts
        if name and attribute in ("", group_counts.attribute)
    ]
    return frozenset(_rates_of([*deciding, *gate]) & set(names))


def named_rates(
    group_counts: Slice, names: Sequence[str], deciding: Sequence[str], config: AuditConfig
) -> frozenset[str]:
    """Return the rates of a slice that a gate names: a metric, one of this attribute, or the attribute."""
    metrics: list[str] = []
    for attribute, name in config.watched_verdicts:
        if attribute not in ("", group_counts.attribute):
            continue
        if name:
            metrics.append(canonical(name))
        else:
            metrics += deciding
    return frozenset(_rates_of(metrics) & set(names))


def _rates_of(metrics: Iterable[str]) -> set[str]:
    """Return the rates behind metrics: those of a roll-up."""
    rates: set[str] = set()
    for name in metrics:
        rates.update(ROLL_UPS.get(name, (name,)))
    return rates


def find_copies(
    slices: Sequence[Slice], compared_with: Sequence[Ints], values: Sequence[Floats] = ()
) -> list[dict[int, tuple[int, int]]]:
    """Return which groups of a slice are those of an earlier one: by group the place and group there.

    Two columns are copies where their groups have the same rows, weights and decisions, whatever these are
    called, and the same references. A column that is coarser is none.

    Parameters
    ----------
    slices : sequence of Slice
    compared_with : sequence of int arrays, shape (rates,)
        The reference groups of each.
    values : sequence of arrays, shape (groups, measures)
        Of numbers, which nobody decides on: what else is alike in copies.
    """
    copies: list[dict[int, tuple[int, int]]] = []
    seen: dict[tuple[object, ...], int] = {}
    orders: list[NDArray[np.int64]] = []
    for i, group_counts in enumerate(slices):
        cells = np.concatenate([group_counts.counts.n, group_counts.cell_rows, group_counts.squares], axis=-1)
        by_group = np.concatenate([cells.reshape(len(cells), -1), *values[i : i + 1]], axis=1)
        order = np.lexsort(by_group.T)
        rank = np.empty(len(order) + 1, dtype=np.int64)
        rank[order] = np.arange(len(order))
        rank[-1] = -1  # `REST` stays what it is
        references = rank[compared_with[i]]
        key = (*group_counts.place[:2], by_group[order].tobytes(), references.tobytes())
        orders.append(order)
        first = seen.setdefault(key, i)
        copies.append({})
        if first != i:
            copies[i] = {
                int(group): (first, int(original))
                for group, original in zip(order, orders[first], strict=True)
            }
    return copies


def are_named(names: Sequence[str], rates: Collection[str]) -> Bools:
    """Return which of some names are among these rates."""
    return np.array([name in rates for name in names], dtype=bool)
