"""Which leaves of a tree to relabel: the counts of each, the greedy choice, and the optimal one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

SplitCriterion = Literal["IGC", "IGC-IGS", "IGC/IGS", "IGC+IGS"]

MOST_CELLS = 100_000_000  # of the optimal solver's table, one byte each


@dataclass(frozen=True)
class Leaves:
    """The training rows of a tree's leaves, in whole numbers or fractions, so that nothing is rounded.

    All of discrimination is counted in n_0 n_1 rows² and all of accuracy in rows: `gain` and `cost` are the
    integers (fractions, if the rows have weights) by which a relabelled leaf lowers each.

    Parameters
    ----------
    gain : tuple of Fraction
        By how much relabelling a leaf lowers discrimination.
    cost : tuple of Fraction
        By how many rows it lowers accuracy; below 0 where the label was the minority's.
    discrimination : Fraction
        Of the tree as it is.
    correct : Fraction
        Rows that it predicts rightly.
    n : tuple of Fraction
        Rows of the deprived and of the favoured group.
    """

    gain: tuple[Fraction, ...]
    cost: tuple[Fraction, ...]
    discrimination: Fraction
    correct: Fraction
    n: tuple[Fraction, Fraction]

    def allowed(self, epsilon: float) -> Fraction:
        """Return the discrimination that may remain: `epsilon` as it is written, 0.1 being a tenth."""
        return Fraction(repr(epsilon)) * self.n[0] * self.n[1]

    def outcome(self, relabelled: Sequence[int]) -> tuple[float, float]:
        """Return accuracy and discrimination with some leaves relabelled."""
        correct = self.correct - sum(self.cost[leaf] for leaf in relabelled)
        discrimination = self.discrimination - sum(self.gain[leaf] for leaf in relabelled)
        return float(correct / sum(self.n)), float(discrimination / (self.n[0] * self.n[1]))


def leaves_of(counts: NDArray[Any], labels: Sequence[int]) -> Leaves:
    """Return what relabelling each leaf does.

    With share(ℓ) = n_1(ℓ)/n_1 − n_0(ℓ)/n_0, discrimination is the sum of the shares of the favourable leaves.
    Relabelling a favourable leaf lowers it by the leaf's share; relabelling another raises it by that.

    Parameters
    ----------
    counts : array, shape (leaves, 2, 2)
        Rows of each leaf by group and label, or their weights; both groups have some.
    labels : sequence of int, shape (leaves,)
        What each leaf predicts.
    """
    rows = [[[Fraction(v) for v in group] for group in leaf] for leaf in counts.tolist()]
    n0, n1 = (_sum(leaf[s][y] for leaf in rows for y in (0, 1)) for s in (0, 1))
    shares = [_sum(leaf[1]) * n0 - _sum(leaf[0]) * n1 for leaf in rows]
    right = [leaf[0][label] + leaf[1][label] for leaf, label in zip(rows, labels, strict=True)]
    wrong = [leaf[0][1 - label] + leaf[1][1 - label] for leaf, label in zip(rows, labels, strict=True)]
    return Leaves(
        tuple(share if label else -share for share, label in zip(shares, labels, strict=True)),
        tuple(a - b for a, b in zip(right, wrong, strict=True)),
        _sum(share for share, label in zip(shares, labels, strict=True) if label),
        _sum(right),
        (n0, n1),
    )


def _sum(values: Iterable[Fraction]) -> Fraction:
    return sum(values, Fraction(0))


def greedy(leaves: Leaves, epsilon: float) -> list[int]:
    """Return the leaves to relabel in the order in which they are chosen.

    Kamiran, Calders & Pechenizkiy (2010), algorithm 1: of the leaves whose relabelling lowers discrimination,
    always the one that lowers it most per row of accuracy, until at most `epsilon` remains. Leaves that cost
    nothing come first. Of equals, the one that lowers it more, then the first.
    """

    def preference(leaf: int) -> tuple[bool, Fraction, Fraction, int]:
        gain, cost = leaves.gain[leaf], leaves.cost[leaf]
        return cost > 0, -gain / cost if cost > 0 else Fraction(0), -gain, leaf

    chosen, remaining, allowed = [], leaves.discrimination, leaves.allowed(epsilon)
    for leaf in sorted((leaf for leaf, gain in enumerate(leaves.gain) if gain > 0), key=preference):
        if remaining <= allowed:
            break
        chosen.append(leaf)
        remaining -= leaves.gain[leaf]
    return chosen


def without_needless(leaves: Leaves, chosen: Sequence[int], epsilon: float) -> list[int]:
    """Return the chosen leaves less those that are not needed, the dearest dropped first.

    Leaves whose relabelling adds accuracy stay.
    """
    kept, remaining = list(chosen), leaves.discrimination - sum(leaves.gain[leaf] for leaf in chosen)
    for leaf in sorted(chosen, key=lambda leaf: (-leaves.cost[leaf], leaf)):
        if leaves.cost[leaf] >= 0 and remaining + leaves.gain[leaf] <= leaves.allowed(epsilon):
            kept.remove(leaf)
            remaining += leaves.gain[leaf]
    return kept


def optimal(leaves: Leaves, epsilon: float) -> list[int]:
    """Return the leaves whose relabelling costs least accuracy while at most `epsilon` remains, ascending.

    A knapsack, solved by dynamic programming over the rows lost: the most that any set lowers discrimination
    at each cost, up to the cost of the greedy choice. Leaves that cost nothing are relabelled where needed.

    Raises
    ------
    ValueError
        When costs are no whole numbers (rows with weights), or the table would be too large.
    """
    if any(value.denominator != 1 for value in (*leaves.cost, *leaves.n)):
        raise ValueError("solver optimal counts whole rows, and the training rows have fractional weights")
    need = leaves.discrimination - leaves.allowed(epsilon)
    if need <= 0:
        return []
    free = [leaf for leaf, gain in enumerate(leaves.gain) if gain > 0 and leaves.cost[leaf] <= 0]
    need -= sum(leaves.gain[leaf] for leaf in free)
    dear = [leaf for leaf, gain in enumerate(leaves.gain) if gain > 0 and leaves.cost[leaf] > 0]
    known = without_needless(leaves, greedy(leaves, epsilon), epsilon)
    size = 1 + int(sum(max(leaves.cost[leaf], Fraction(0)) for leaf in known))
    if len(dear) * size > MOST_CELLS:
        raise ValueError(
            f"solver optimal would need a table of {len(dear)} leaves × {size} rows: take solver greedy, "
            "or a larger min_leaf"
        )
    most = np.zeros(size, dtype=np.int64)  # discrimination lowered at each cost, at most
    taken = np.zeros((len(dear), size), dtype=bool)
    for j, leaf in enumerate(dear):
        cost, gain = int(leaves.cost[leaf]), int(leaves.gain[leaf])
        if cost < size:
            better = most[: size - cost] + gain
            taken[j, cost:] = better > most[cost:]
            most[cost:] = np.maximum(most[cost:], better)
    cost = int(np.argmax(np.array([Fraction(int(value)) >= need for value in most])))
    chosen = free
    for j in reversed(range(len(dear))):
        if taken[j, cost]:
            chosen.append(dear[j])
            cost -= int(leaves.cost[dear[j]])
    return sorted(without_needless(leaves, chosen, epsilon))
