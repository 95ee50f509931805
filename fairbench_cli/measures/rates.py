"""The rates of a group: each an exact numerator over an exact denominator of its counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from fairbench_cli.measures.counts import Counts, Floats, divide

CELLS = ("tn", "fp", "fn", "tp")  # Counts.n[..., group, label, prediction], flattened

SELECTED = ("fp", "tp")
REFUSED = ("tn", "fn")
POSITIVE = ("fn", "tp")
NEGATIVE = ("tn", "fp")
RIGHT = ("tn", "tp")

# What an empty denominator lacks.
_LACKING: dict[tuple[str, ...], str] = {
    SELECTED: "favourable prediction",
    REFUSED: "unfavourable prediction",
    POSITIVE: "favourable label",
    NEGATIVE: "unfavourable label",
}


@dataclass(frozen=True)
class Rate:
    """A rate of one group.

    Parameters
    ----------
    name, label : str
        As written in commands, as read by people.
    event, condition : str
        It is P(event | condition, s) for the group s.
    numerator, denominator : tuple of cell names
        What is summed over and under the bar; empty for a mean of other rates.
    ideal : {0, 1} or None
        Its best value.
    complement : str
        The rate that is one minus this one; both share one test.
    of_all : bool
        Whether the sum below goes over all groups.
    mean_of : tuple of str
        The rates that it is the mean of.
    usual : bool
        Whether papers and libraries report it so often that a list shows it first.
    """

    name: str
    label: str
    event: str
    condition: str
    numerator: tuple[str, ...]
    denominator: tuple[str, ...]
    ideal: int | None = None
    complement: str = ""
    of_all: bool = False
    mean_of: tuple[str, ...] = ()
    usual: bool = False

    @property
    def formula(self) -> str:
        """Return it as a probability given the group s."""
        if self.of_all:
            return self._probability(self.condition)
        return self._probability(f"{self.condition},s" if self.condition else "s")

    @property
    def overall_formula(self) -> str:
        """Return it as a probability over all groups."""
        return self._probability(self.condition)

    def _probability(self, condition: str) -> str:
        if self.mean_of:
            return f"({' + '.join(map(str.upper, self.mean_of))}) / {len(self.mean_of)}"
        return f"P({self.event}{'|' if condition else ''}{condition})"

    @property
    def needs_labels(self) -> bool:
        """Return whether it is undefined without labels: a sum separates the labels of one prediction."""
        return bool(self.mean_of) or not {self.numerator, self.denominator} <= {SELECTED, REFUSED, CELLS}

    @property
    def needs_predictions(self) -> bool:
        """Return whether predictions change it: a sum separates the predictions of one label.

        >>> [name for name, rate in RATES.items() if not rate.needs_predictions]
        ['base-rate', 'group-share']
        """
        return bool(self.mean_of) or not {self.numerator, self.denominator} <= {POSITIVE, NEGATIVE, CELLS}

    def undefined(self, who: str) -> str:
        """Return when it is NaN, for "a group" or for everybody ("")."""
        if self.mean_of:
            return f"NaN when {who or 'everybody'} has labels of one kind only"
        lacking = _LACKING.get(self.denominator)
        if lacking is None:
            if who:
                return f"NaN when {who} is empty"
            return "NaN when there are no rows"
        kind, noun = lacking.split()
        if who:
            return f"NaN when {who} has no {lacking}"
        return f"NaN when no {noun} is {kind}"


RATES: dict[str, Rate] = {
    rate.name: rate
    for rate in (
        Rate("selection-rate", "selection rate", "ŷ=+", "", SELECTED, CELLS, usual=True),
        Rate("selected-share", "share of all selected", "s", "ŷ=+", SELECTED, SELECTED, of_all=True),
        Rate("fpr", "false positive rate", "ŷ=+", "y=−", ("fp",), NEGATIVE, 0, "tnr", usual=True),
        Rate("fnr", "false negative rate", "ŷ=−", "y=+", ("fn",), POSITIVE, 0, "tpr", usual=True),
        Rate("fdr", "false discovery rate", "y=−", "ŷ=+", ("fp",), SELECTED, 0, "ppv"),
        Rate("for", "false omission rate", "y=+", "ŷ=−", ("fn",), REFUSED, 0, "npv"),
        Rate("tpr", "true positive rate", "ŷ=+", "y=+", ("tp",), POSITIVE, 1, "fnr", usual=True),
        Rate("tnr", "true negative rate", "ŷ=−", "y=−", ("tn",), NEGATIVE, 1, "fpr", usual=True),
        Rate("ppv", "positive predictive value", "y=+", "ŷ=+", ("tp",), SELECTED, 1, "fdr", usual=True),
        Rate("npv", "negative predictive value", "y=−", "ŷ=−", ("tn",), REFUSED, 1, "for", usual=True),
        Rate("accuracy", "accuracy", "ŷ=y", "", RIGHT, CELLS, 1, usual=True),
        Rate("bcr", "balanced classification rate", "", "", (), (), 1, mean_of=("tpr", "tnr")),
        Rate("base-rate", "base rate", "y=+", "", POSITIVE, CELLS),
        Rate("group-share", "share of all rows", "s", "", CELLS, CELLS, of_all=True),
    )
}


# What happens to those whom a rate counts, and whom it is a share of; no two rates have both.
EVENTS: dict[str, tuple[str, str]] = {
    "selection-rate": ("selected", ""),
    "selected-share": ("", "everybody who is selected"),
    "fpr": ("wrongly selected", "those who should not be selected"),
    "fnr": ("missed", "those who should be selected"),
    "fdr": ("should not be selected", "those who are selected"),
    "for": ("should be selected", "those who are not selected"),
    "tpr": ("rightly selected", "those who should be selected"),
    "tnr": ("rightly not selected", "those who should not be selected"),
    "ppv": ("should be selected", "those who are selected"),
    "npv": ("should not be selected", "those who are not selected"),
    "accuracy": ("rightly decided on", ""),
}
AFTERWARDS = ("fdr", "for", "ppv", "npv")
"""Rates of those who are decided on alike: what they should have been."""


def predicate(name: str) -> str:
    """Return the predicate of a group by a rate with an event.

    >>> predicate("fnr"), predicate("for")
    ('are missed', 'who are not selected should be')
    """
    event, among = EVENTS[name]
    if name in AFTERWARDS:
        return f"{among.removeprefix('those ')} {event.removesuffix(' selected')}"
    return f"are {event}"


def rate_by_group(counts: Counts, name: str) -> Floats:
    """Return the rate called `name` of each group, shape (..., groups); 0/0 is NaN.

    >>> some = Counts(("g", "f"), np.array([[[3.0, 1], [1, 1]], [[1, 1], [1, 3]]]))
    >>> rate_by_group(some, "tpr").tolist(), rate_by_group(some, "selection-rate").round(3).tolist()
    ([0.5, 0.75], [0.333, 0.667])
    """
    rate = RATES[name]
    if rate.mean_of:
        mean: Floats = reduce(add, (rate_by_group(counts, component) for component in rate.mean_of)) / len(
            rate.mean_of
        )
        return mean
    denominator = _sum_cells(counts, rate.denominator)
    return divide(
        _sum_cells(counts, rate.numerator), denominator.sum(-1, keepdims=True) if rate.of_all else denominator
    )


def _sum_cells(counts: Counts, cells: tuple[str, ...]) -> Floats:
    """Return the weight of some cells of each group; margins are computed once for all metrics."""
    margins = {SELECTED: (counts.predicted, 1), REFUSED: (counts.predicted, 0)}
    margins |= {POSITIVE: (counts.labelled, 1), NEGATIVE: (counts.labelled, 0)}
    if cells in margins:
        margin, index = margins[cells]
        return margin[..., index]
    if cells == CELLS:
        return counts.group_total
    return reduce(add, (counts.n[(..., *divmod(CELLS.index(cell), 2))] for cell in cells))


def numerators_and_denominators(
    n: Floats, names: Sequence[str], everybody: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return the sums over and under the bar of each rate.

    Parameters
    ----------
    n : array, shape (..., groups, 2, 2)
        As in `Counts`.
    names : sequence of str
        Of `RATES`, none that is a mean of others.
    everybody : array, shape (..., 2, 2), optional
        The counts of all groups, when `n` does not hold each group once.

    Returns
    -------
    tuple of two arrays, shape (..., groups, rates)

    Examples
    --------
    >>> numerator, denominator = numerators_and_denominators(np.array([[[5.0, 1], [2, 2]]]), ["fpr", "ppv"])
    >>> numerator.tolist(), denominator.tolist()
    ([[1.0, 2.0]], [[6.0, 3.0]])
    """
    chosen = [RATES[name] for name in names]
    cells = n.reshape(*n.shape[:-2], 4)
    all_cells = (n.sum(-3) if everybody is None else everybody).reshape(*n.shape[:-3], 1, 4)
    denominator = selection_matrix([rate.denominator for rate in chosen])
    of_all = np.array([rate.of_all for rate in chosen])
    return (
        cells @ selection_matrix([rate.numerator for rate in chosen]),
        np.where(of_all, all_cells @ denominator, cells @ denominator),
    )


def selection_matrix(sums: Sequence[tuple[str, ...]]) -> Floats:
    """Return a matrix of cells × rates: 1 where the rate sums the cell."""
    matrix = np.zeros((len(CELLS), len(sums)))
    for j, cells in enumerate(sums):
        matrix[[CELLS.index(cell) for cell in cells], j] = 1.0
    return matrix
