"""What one pass over the rows leaves: counts per model, decision and attribute. Later steps need no more."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.measures.counts import Counts

if TYPE_CHECKING:
    from fairbench_cli.audit.read.people import People, Strata

MISSING = "(missing)"


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
        [group, label, prediction], weights summed. Unlabelled rows stand at label 0.
    rows : int array, shape (groups,)
        Rows per group, not weighted.
    labelled : bool
        False for an unsupervised audit: nothing that needs the label is defined.
    intersection : bool
        True for a combination of attributes.
    rows_per_weight : float
        Σw / Σw² over the slice: what a unit of weight is worth in rows (Kish's effective sample size is
        (Σw)² / Σw²); 1 without weights.
    """

    model: str
    decision: str
    attribute: str
    counts: Counts
    rows: NDArray[np.int64]
    labelled: bool
    intersection: bool = False
    rows_per_weight: float = 1.0


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
    strata : dict of attribute to tuple of (name, Strata)
        Of every attribute to explain, by each explanation asked for; groups in the order of its slice.
    people : People, or None
        Rows with their features, to explain differences by.
    strata_notes : tuple of str
        What was done to the columns to explain by.
    """

    source: str
    rows: int
    slices: tuple[Slice, ...]
    notes: tuple[str, ...] = ()
    weighted: bool = False
    strata: dict[str, tuple[tuple[str, "Strata"], ...]] = field(default_factory=dict)
    people: "People | None" = None
    strata_notes: tuple[str, ...] = ()
