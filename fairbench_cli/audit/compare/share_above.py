"""The share of each group above a value: a rate, of which whoever is above it is counted as selected."""

import numpy as np

from fairbench_cli.audit.compare.compare_rates import Compared
from fairbench_cli.audit.compare.number_estimates import NumbersOfGroups
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.scan.readings import Ints
from fairbench_cli.audit.scan.slices import Clusters, Slice
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.number_measures import SHARE_ABOVE

RATE = "selection-rate"


def compare_shares(numbers: NumbersOfGroups, config: AuditConfig) -> Compared:
    """Return the comparison of the shares above a value, with the margin that is stated for it, if any."""
    margins = {RATE: config.margin[SHARE_ABOVE]} if SHARE_ABOVE in config.margin else {}
    group_counts = count_above(numbers)
    reference_indices = np.array([numbers.reference], dtype=np.intp)
    return Compared(group_counts, (RATE,), reference_indices, config.model_copy(update={"margin": margins}))


def count_above(numbers: NumbersOfGroups) -> Slice:
    """Return the slice of some numbers, in which those above a value are selected."""
    cells = numbers.cells
    is_above = numbers.variables[SHARE_ABOVE].astype(np.int64)
    counts = [_sum_cells(cells.group, is_above, terms) for terms in (cells.weight, cells.rows, cells.square)]
    ways = []
    for person in cells.persons:
        entry, codes = np.unique(person * numbers.n_groups + cells.group, return_inverse=True)
        weights, squares = (_sum_cells(codes, is_above, terms) for terms in (cells.weight, cells.square))
        ways.append(Clusters(entry // numbers.n_groups, entry % numbers.n_groups, weights, squares))
    return numbers.part.with_cells(np.stack(counts)).with_clusters(ways)


def _sum_cells(codes: Ints, is_above: Ints, terms: Floats) -> Floats:
    """Return sums by code, label and whether rows are above, shape (codes, 2, 2); no row has label 1."""
    sums = np.bincount(2 * codes.astype(np.int64) + is_above, terms, 2 * (int(codes.max(initial=-1)) + 1))
    return np.stack([sums.reshape(-1, 2), np.zeros((len(sums) // 2, 2))], axis=1)
