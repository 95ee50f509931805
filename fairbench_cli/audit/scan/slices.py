"""What is left of the rows once they are read: counts, and what explanations need."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.measures.counts import Counts, Floats

if TYPE_CHECKING:  # of few audits
    from fairbench_cli.measures.paired_change import TwoSides
    from fairbench_cli.measures.scores import CalibrationFit, ScoreSums, ScoreTotals


ALL_CLASSES = "all classes"
"""The decision of a slice in which the rows of the right class are selected, and all should be."""


@dataclass(frozen=True)
class Ones:
    """Who counts as 1.

    Parameters
    ----------
    selected, label : str
        Who is selected and who has label 1, in words; empty where that is not known.
    values : tuple of (str, tuple of str)
        Each column of scores with the values that are selected, as `direction.find_direction` takes them.
    """

    selected: str = ""
    label: str = ""
    values: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, eq=False)
class Clusters:
    """Weights by person and group, where people have several rows; a person may be in several groups.

    Parameters
    ----------
    person, group : int arrays, shape (entries,)
        Codes of persons, from 0; and places among the groups of the `Slice`.
    n : float array, shape (entries, 2, 2)
        Weights summed, indexed [entry, label, prediction]; or, where models or slices are compared, of shape
        (entries, 8), by kinds of rows as in `paired_change.TwoSides`.
    squares : float array of the same shape
        Sums of squared weights; the same as `n` without weights.
    """

    person: NDArray[np.int64]
    group: NDArray[np.int64]
    n: Floats
    squares: Floats

    def map_groups(self, indices: NDArray[np.int64]) -> "Clusters":
        """Return the entries with each group at a new index; those of -1 are left out, equal ones merged."""
        group = indices[self.group]
        stays = group >= 0
        n_groups = int(indices.max(initial=0)) + 1
        entries, entry = np.unique(self.person[stays] * n_groups + group[stays], return_inverse=True)
        n = np.zeros((len(entries), *self.n.shape[1:]))
        squares = np.zeros_like(n)
        np.add.at(n, entry, self.n[stays])
        np.add.at(squares, entry, self.squares[stays])
        return Clusters(entries // n_groups, entries % n_groups, n, squares)

    def merge_groups(self) -> "Clusters":
        """Return the clusters of all rows as one group."""
        return self.map_groups(np.zeros(int(self.group.max(initial=0)) + 1, np.int64))

    def select_groups(self, stays: NDArray[np.bool_]) -> "Clusters":
        """Return the clusters of the groups that stay, which are counted anew."""
        stays_in = stays[self.group]
        new_indices = (np.cumsum(stays) - 1)[self.group[stays_in]]
        return Clusters(self.person[stays_in], new_indices, self.n[stays_in], self.squares[stays_in])

    def side(self, *, after: bool, paired: bool) -> "Clusters":
        """Return the clusters of the rows before, or after, of clusters by kinds of rows."""
        cells = []
        for values in (self.n, self.squares):
            by_side = values.reshape(-1, 2, 2, 2)
            if paired:
                cells.append(by_side.sum(2 if after else 3))
            else:
                cells.append(by_side[:, int(after)])
        return Clusters(self.person, self.group, cells[0], cells[1])


def merge_entries(clusters: Sequence[Clusters]) -> Clusters:
    """Return clusters of several subsets of the rows as one: a person has one entry in each group."""
    arrays = zip(*(vars(subset).values() for subset in clusters), strict=True)
    joined = Clusters(*map(np.concatenate, arrays))
    return joined.map_groups(np.arange(int(joined.group.max(initial=0)) + 1))


@dataclass(frozen=True, eq=False)
class Slice:
    """The groups of one attribute (or intersection) under one model and decision.

    Parameters
    ----------
    model : str
        Empty when the file has no model column.
    decision : str
        ``str(Decision)``; with the ties at a cut: "top 1000 (1403 with ties)".
    attribute : str
        "race", or "race × sex".
    counts : Counts
        Groups sorted by name (code point order, `MISSING` last); n of shape (groups, 2, 2) indexed
        [group, label, prediction], weights summed. Unlabelled rows have label 0.
    cell_rows : int array, shape (groups, 2, 2)
        Rows behind `counts`, not weighted; those of weight 0 say nothing and are not among them.
    squares : float array, shape (groups, 2, 2)
        Sums of squared weights; the same as `cell_rows` without weights.
    labelled : bool
        False for an unsupervised audit: nothing that needs the label is defined.
    intersection : bool
        True for a combination of attributes.
    clusters : Clusters, or None
        Whose rows these are, where people have several.
    other_clusters : tuple of Clusters
        Where rows share one of two things: by the second of these, and by both together; else empty.
    class_name : str or None
        The class that is selected, where several are audited, each against the rest; None of `ALL_CLASSES`.
    """

    model: str
    decision: str
    attribute: str
    counts: Counts
    cell_rows: NDArray[np.int64]
    squares: Floats
    labelled: bool
    intersection: bool = False
    clusters: Clusters | None = None
    other_clusters: tuple[Clusters, ...] = ()
    class_name: str | None = None

    @property
    def cluster_ways(self) -> tuple[Clusters, ...]:
        """The clusters by one column; or by one, by another, and by both together."""
        if self.clusters is None:
            return ()
        return (self.clusters, *self.other_clusters)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Rows per group, not weighted."""
        rows: NDArray[np.int64] = self.cell_rows.sum((1, 2))
        return rows

    @property
    def cells(self) -> Floats:
        """Weights, rows and squared weights: shape (3, groups, 2, 2)."""
        return np.stack([self.counts.n, self.cell_rows, self.squares])

    def with_cells(self, cells: Floats, groups: tuple[str, ...] | None = None, **others: Any) -> "Slice":
        """Return the slice with other `cells`, of other `groups` where they are given, and other fields."""
        n, rows, squares = cells
        counts = Counts(self.counts.groups if groups is None else groups, n)
        return replace(
            self, counts=counts, cell_rows=np.rint(rows).astype(np.int64), squares=squares, **others
        )

    @property
    def decided_alike(self) -> bool:
        """Whether everybody is selected, or nobody: rates of decisions are alike whoever is asked."""
        if self.decision == ALL_CLASSES:
            return False
        n_refused, n_selected = self.cell_rows.sum((0, 1))
        return not (n_refused and n_selected)

    @property
    def shares_clusters(self) -> bool:
        """Whether some cluster has two rows, by either column."""
        return _have_two_rows(self.cluster_ways)

    def with_clusters(self, ways: Sequence[Clusters]) -> "Slice":
        """Return the slice with other `cluster_ways`."""
        if not ways:
            return replace(self, clusters=None, other_clusters=())
        return replace(self, clusters=ways[0], other_clusters=tuple(ways[1:]))

    @property
    def place(self) -> tuple[str, str, str]:
        """Model, decision and attribute."""
        return self.model, self.decision, self.attribute


@dataclass(frozen=True, eq=False)
class BeforeAfter:
    """The groups of one attribute under two models or in two slices of the rows.

    The first is the baseline, with which the second is compared.

    Parameters
    ----------
    before, after : str
        Their models, as in `Slice`.
    attribute : str
    groups : tuple of str
    sides : TwoSides
        Their rows, in the order of `groups`.
    labelled, intersection : bool
        As in `Slice`.
    clusters : tuple of Clusters
        Where rows share a person, a school or the like: as `Slice.cluster_ways`.
    """

    before: str
    after: str
    attribute: str
    groups: tuple[str, ...]
    sides: "TwoSides"
    labelled: bool
    intersection: bool
    clusters: tuple[Clusters, ...] = ()

    @property
    def shares_clusters(self) -> bool:
        """Whether some cluster has two rows, by either column."""
        return _have_two_rows(self.clusters)


def are_classes(slices: Sequence[Slice]) -> bool:
    """Return whether slices are of several classes, each against the rest."""
    return any(part.class_name is not None for part in slices)


def _have_two_rows(ways: Sequence[Clusters]) -> bool:
    """Return whether some cluster has two rows, by the first column or the second."""
    from fairbench_cli.measures.clusters import EQUAL

    for clusters in ways[:2]:
        n_entries = len(clusters.person)
        weight = np.bincount(clusters.person, clusters.n.reshape(n_entries, -1).sum(1))
        square = np.bincount(clusters.person, clusters.squares.reshape(n_entries, -1).sum(1))
        if (weight**2 > square * (1 + EQUAL)).any():
            return True
    return False


@dataclass(frozen=True, eq=False)
class Strata:
    """Weights by stratum, group of an attribute (in the order of its `Slice`) and decision.

    `by` names the column, or crossed columns ("education × hours"); `n` has the shape (strata, groups, 2).
    """

    by: str
    names: tuple[str, ...]
    n: Floats


@dataclass(frozen=True, eq=False)
class StrataOfRows:
    """Strata by attribute, with notes on how columns were cut for them."""

    by_attribute: dict[str, tuple[Strata, ...]]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of one attribute's groups under one model, summed up.

    Parameters
    ----------
    part : Slice
        The groups, under the first decision.
    reference : int array, shape (sets,)
        The place of each set's reference among the sets: these are the G groups; then, where everybody else
        is the reference, all rows but those of each group.
    totals, sums : ScoreTotals, ScoreSums
        Of the sets.
    fit : CalibrationFit, or None
        Of the sets; None without labels, and for scores outside [0, 1].
    ends : two float arrays, shape (B,)
        The lowest and the highest score in each of ten bins of about as many rows, or fewer where scores are
        equal; rising.
    bins, cuts : float arrays, shape (4, ranges, G, 2)
        Weights, rows, squared weights, and weight times score, summed up by range of the score, group and
        label: by bin; and between thresholds, where the first range is below all of them, and the next
        starts at the first.
    thresholds : float array, shape (T,)
        Rising.
    decisions : dict of float to str
        The decisions of the configuration that are one of the thresholds, by threshold.
    """

    part: Slice
    reference: NDArray[np.int64]
    totals: "ScoreTotals"
    sums: "ScoreSums"
    fit: "CalibrationFit | None"
    ends: tuple[Floats, Floats]
    bins: Floats
    cuts: Floats
    thresholds: Floats
    decisions: dict[float, str]


@dataclass(frozen=True, eq=False)
class Tally:
    """All slices, in the order models, decisions, attributes, intersections.

    Parameters
    ----------
    source : str
        The file as given; "-" for standard input.
    rows : int
        Data rows read.
    notes : tuple of str
        What a reader should know of the data: missing values, trimmed blanks, ties, rows left out; one plain
        sentence each.
    weighted : bool
        Whether counts are sums of weights.
    last : str
        The model or slice that is compared last, which the verdict is about; empty where nothing is compared.
    uncut : tuple of str
        Columns of numbers that are called like protected attributes, which nobody named and nothing cuts.
    birth_dates : tuple of str
        Columns of birth dates, of which no ages are audited.
    unused : tuple of str
        Columns of groups and amounts that are not audited nor called like protected attributes.
    ones : Ones
    has_truth : bool
        Whether numbers have labels, which are numbers, too.
    person : str
        The column by which several rows surely are of one person, where none is named as a cluster.
    """

    source: str
    rows: int
    slices: tuple[Slice, ...]
    notes: tuple[str, ...] = ()
    weighted: bool = False
    last: str = ""
    uncut: tuple[str, ...] = ()
    birth_dates: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    ones: Ones = field(default_factory=Ones)
    has_truth: bool = False
    person: str = ""
