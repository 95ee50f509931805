"""Weighted counts of (group, label, prediction): all that an absolute or error-rate measure needs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

PAIR = ("deprived", "favoured")

_LAST = (-3, -2, -1)
_FIRST = (0, 1, 2)


@dataclass(frozen=True, eq=False)
class Counts:
    """Weighted counts of rows by group, label and prediction.

    Parameters
    ----------
    groups : tuple of str
        Names of the groups.
    n : float64 array, shape (..., groups, 2, 2)
        ``n[..., k, y, p]`` is the weight of group k's rows with label y and prediction p (1 = favourable).
        Leading axes are cells or repeats; every measure keeps them. Not to be written to: the margins are
        computed once and shared by all measures.
    reference : tuple of str
        The groups that together are the reference: the favoured ones. Empty: of two groups the second.

    Raises
    ------
    ValueError
        When the shape of `n` does not fit, or the reference is not among the groups.
    """

    groups: tuple[str, ...]
    n: Floats
    reference: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.n.shape[-3:] != (len(self.groups), 2, 2):
            raise ValueError(f"counts of {len(self.groups)} groups cannot have shape {self.n.shape}")
        if not set(self.reference) <= set(self.groups):
            raise ValueError(f"the reference {self.reference} is not among the groups {self.groups}")
        if self.n.ndim > 3:
            # In memory each of the cells of all cases together: every sum and quotient of a measure then
            # runs along one long row, which is ten times as fast.
            n_cases = self.n.ndim - 3
            rows = np.ascontiguousarray(self.n.transpose(*_LAST, *range(n_cases)))
            object.__setattr__(self, "n", rows.transpose(*range(3, self.n.ndim), *_FIRST))

    def __add__(self, addend: "Counts") -> "Counts":
        """Add counts of the same groups: the counts of the rows of both."""
        if self.groups != addend.groups:
            raise ValueError(f"counts of {self.groups} and of {addend.groups} cannot be added")
        return replace(self, n=self.n + addend.n)

    @cached_property
    def pair(self) -> "Counts":
        """Counts of two groups: everybody who is not in the reference, and the reference.

        Raises
        ------
        ValueError
            When there are not two groups, and none is named as the reference.
        """
        if not self.reference:
            if len(self.groups) != 2:
                raise ValueError(f"needs two groups, or the name of the reference group; got {self.groups}")
            return self
        sums = [self.n[..., mask, :, :].sum(-3) for mask in (self.outside, ~self.outside)]
        return Counts(PAIR, np.stack(sums, axis=-3))

    @property
    def outside(self) -> NDArray[np.bool_]:
        """Which groups are no part of the reference, shape (groups,)."""
        return is_outside(self.groups, self.reference)

    @cached_property
    def all_rows(self) -> "Counts":
        """Counts of one group: everybody."""
        return Counts(("all",), self.overall[..., None, :, :])

    @cached_property
    def swapped(self) -> "Counts":
        """Counts of the `pair`, in the other order."""
        pair = self.pair
        return Counts(pair.groups[::-1], pair.n[..., ::-1, :, :])

    @cached_property
    def total(self) -> Floats:
        """Weight of all rows, shape (...)."""
        return _read_only(self.labelled.sum(-1).sum(-1))

    @cached_property
    def overall(self) -> Floats:
        """Counts by label and prediction over all groups, shape (..., 2, 2)."""
        return _read_only(self.n.sum(-3))

    @cached_property
    def group_total(self) -> Floats:
        """Weight of each group, shape (..., groups)."""
        return _read_only(self.n.sum((-2, -1)))

    @cached_property
    def labelled(self) -> Floats:
        """Weight of each group's rows by label, shape (..., groups, 2)."""
        return _read_only(self.n.sum(-1))

    @cached_property
    def predicted(self) -> Floats:
        """Weight of each group's rows by prediction, shape (..., groups, 2)."""
        return _read_only(self.n.sum(-2))

    def only(self, *groups: str) -> "Counts":
        """Return the counts of the named groups, in the order given; `ValueError` for an unknown name."""
        return Counts(groups, self.n[..., [self.groups.index(group) for group in groups], :, :])

    def of_labels(self) -> "Counts":
        """Return the counts of a perfect prediction, so that a measure speaks of the labels themselves."""
        return self._of_labels

    def of_constant(self, favourable: bool) -> "Counts":
        """Return the counts of a prediction that accepts everybody, or refuses everybody.

        >>> Counts(PAIR, np.array([[[3.0, 1], [2, 4]], [[1, 0], [1, 4]]])).of_constant(True).n[0].tolist()
        [[0.0, 4.0], [0.0, 6.0]]
        """
        n = np.zeros_like(self.n)
        n[..., int(favourable)] = self.labelled
        return replace(self, n=n)

    @cached_property
    def _of_labels(self) -> "Counts":
        perfect = np.zeros_like(self.n)
        perfect[..., 0, 0] = self.labelled[..., 0]
        perfect[..., 1, 1] = self.labelled[..., 1]
        return replace(self, n=perfect)


def count(
    s: ArrayLike,
    y: ArrayLike,
    predicted: ArrayLike,
    groups: Sequence[str],
    weights: ArrayLike | None = None,
) -> Counts:
    """Count rows by group, label and prediction.

    Parameters
    ----------
    s : array of int, shape (rows,)
        Index of each row's group in `groups`.
    y, predicted : array of int, shape (rows,)
        Label and prediction, 1 for the favourable outcome, else 0.
    groups : sequence of str
        Names of the groups.
    weights : array of float, shape (rows,), optional
        Row weights; one each if left out.

    Returns
    -------
    Counts
        Its ``n`` has shape (groups, 2, 2).

    Raises
    ------
    ValueError
        When the lengths differ, a group, label or prediction is missing or out of range, or a weight is
        negative or not a number.

    Examples
    --------
    >>> count([0, 0, 1], [0, 1, 1], [1, 1, 0], ("women", "men")).n.tolist()
    [[[0.0, 1.0], [0.0, 1.0]], [[0.0, 0.0], [1.0, 0.0]]]
    """
    columns = [np.asarray(column) for column in (s, y, predicted)]
    if len({column.shape for column in columns}) > 1 or columns[0].ndim != 1:
        raise ValueError("groups, labels and predictions must be three vectors of one length")
    for name, column in zip(("group", "label", "prediction"), columns, strict=True):
        if column.dtype.kind not in "bui":
            numbers = column.astype(np.float64)
            if not (np.isfinite(numbers) & (numbers == np.floor(numbers))).all():
                raise ValueError(f"a {name} is missing or is not a whole number")
    mass = None
    if weights is not None:
        mass = np.asarray(weights, dtype=np.float64)
    if mass is not None and not (np.isfinite(mass) & (mass >= 0)).all():
        raise ValueError("a weight is negative or not a number")
    sizes = (len(groups), 2, 2)
    if columns[0].size == 0:
        return Counts(tuple(groups), np.zeros(sizes))
    cells = np.ravel_multi_index(tuple(column.astype(np.intp) for column in columns), sizes)
    n = np.bincount(cells, mass, minlength=4 * len(groups))
    return Counts(tuple(groups), n.astype(np.float64).reshape(sizes))


def expected_count(s: ArrayLike, y: ArrayLike, chance: ArrayLike, groups: Sequence[str]) -> Counts:
    """Count rows by group, label and prediction, in expectation over predictions that are drawn.

    Parameters
    ----------
    s, y, groups
        As `count` takes them.
    chance : array of float in [0, 1], shape (rows,)
        Probability with which a row is predicted the favourable outcome.

    Raises
    ------
    ValueError
        As `count`, or when a probability is outside [0, 1].

    Examples
    --------
    >>> expected_count([0, 0, 1], [0, 1, 1], [0.25, 1, 0], ("women", "men")).n.tolist()
    [[[0.75, 0.25], [0.0, 1.0]], [[0.0, 0.0], [1.0, 0.0]]]
    """
    chance = np.asarray(chance, dtype=np.float64)
    if not ((chance >= 0) & (chance <= 1)).all():
        raise ValueError("a probability is outside [0, 1]")
    everybody = np.ones(chance.shape, dtype=np.int8)
    labelled = count(s, y, everybody, groups).n[..., 1]
    # Rounded, so that accepted and refused add up to the labels and records stay short.
    accepted = count(s, y, everybody, groups, chance).n[..., 1].round(9)
    return Counts(tuple(groups), np.stack([labelled - accepted, accepted], axis=-1))


def _read_only(margin: ArrayLike) -> Floats:
    """Guard a margin that all measures share against being written to."""
    array = np.asarray(margin)
    array.flags.writeable = False
    return array


def as_floats(*numbers: ArrayLike) -> tuple[Floats, ...]:
    """Return numbers as float arrays of one shape.

    >>> [each.tolist() for each in as_floats([1, 2], 3)]
    [[1.0, 2.0], [3.0, 3.0]]
    """
    return np.broadcast_arrays(*(np.asarray(number, dtype=np.float64) for number in numbers))


def row_masses(weights: ArrayLike | None, n_rows: int) -> Floats:
    """Return the weights of rows; 1 each where none are given."""
    if weights is None:
        return np.ones(n_rows)
    return np.asarray(weights, dtype=np.float64)


def divide(above: ArrayLike, below: ArrayLike) -> Floats:
    """Divide; 0/0 is NaN and x/0 is infinite, without a warning.

    >>> divide([1, 0, 1], [2, 0, 0]).tolist()
    [0.5, nan, inf]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.true_divide(above, below), dtype=np.float64)


def is_outside(groups: Sequence[str], reference: Sequence[str]) -> NDArray[np.bool_]:
    """Return which groups are no part of the reference, shape (groups,); of two without one, the first."""
    reference = reference or groups[1:]
    return np.array([group not in reference for group in groups], dtype=bool)


def deprived_and_favoured(counts: Counts, values: Floats) -> tuple[Floats, Floats]:
    """Return values by group, shape (..., 2), one by one; `ValueError` unless there are two groups."""
    if len(counts.groups) != 2:
        raise ValueError(f"needs two groups, the deprived one first; got {counts.groups}")
    return values[..., 0], values[..., 1]
