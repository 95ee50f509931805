"""Numbers of slices in an order, such as months, judged so that one may look after each (`number_evidence`).

A difference of means fails where the evidence, after Holm, says that it is not 0, and since the slice from
which the evidence is largest it is beyond the margin: a long fair past does not hide what came after it. It
passes where the limits that hold at all looks are within the margin.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairbench_cli.audit.compare.number_estimates import NumbersOfGroups
from fairbench_cli.audit.compare.numbers import VariableEstimates, margin_of
from fairbench_cli.audit.compare.report import Interval, NumberLook
from fairbench_cli.audit.compare.streams import MOST_LOG_EVIDENCE
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.scan.readings import Ints
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.moments import Moments

MEANS = ("value", "reference_value", "difference", "ratio")
TESTS = ("p", "is_beyond", "is_within", "is_outside")


@dataclass(frozen=True, eq=False)
class SlicedNumbers:
    """The rows of an attribute over slices.

    Parameters
    ----------
    numbers : NumbersOfGroups
        Of all slices together.
    codes : int array, shape (cells,)
        The place of each cell's slice.
    names : sequence of str
    """

    numbers: NumbersOfGroups
    codes: Ints
    names: Sequence[str]

    @property
    def _n_cells(self) -> int:
        return self.numbers.n_groups * len(self.names)

    def moments(self, name: str) -> Moments:
        """Return the moments of a variable, shape (groups, slices)."""
        numbers = self.numbers
        cells = numbers.cells.group * len(self.names) + self.codes
        flat = numbers.sum_powers(numbers.variables[name], cells, self._n_cells)
        return flat.reshape(numbers.n_groups, len(self.names))

    @cached_property
    def _order(self) -> tuple[Ints, Ints]:
        """The places of cells by group and slice, and where each of these ends."""
        cells = self.numbers.cells.group * len(self.names) + self.codes
        ends = np.cumsum(np.bincount(cells, minlength=self._n_cells))
        return np.argsort(cells, kind="stable"), ends[:-1]

    def values(self, name: str) -> list[Floats]:
        """Return the values of each row of a variable, by group and then slice."""
        order, ends = self._order
        counts = self.numbers.cells.rows[order].astype(np.int64)
        ends = np.concatenate([[0], np.cumsum(counts)])[ends]
        return np.split(np.repeat(self.numbers.variables[name][order], counts), ends)

    def sides(self, values: Sequence[Floats], g: int) -> list[tuple[Floats, Floats]]:
        """Return the values of a group and of its reference in each slice."""
        n_slices = len(self.names)
        months = []
        for month in range(n_slices):
            theirs = [values[group * n_slices + month] for group in self.numbers.reference_groups(g)]
            months.append((values[g * n_slices + month], np.concatenate(theirs)))
        return months


def look_at_slices(
    variable: VariableEstimates, slices: SlicedNumbers, config: AuditConfig
) -> VariableEstimates:
    """Return the estimates of a mean in each group by evidence of all slices, in the place of a test."""
    from fairbench_cli.measures.number_evidence import (
        EQUAL,
        look_at_means,
        margin_edges,
        split_log_likelihoods,
        sum_since,
    )
    from fairbench_cli.measures.splits import needs_splits

    numbers = slices.numbers
    name = variable.metric
    margin = margin_of(name, numbers, config)
    moments = slices.moments(name)
    values: list[Floats] = []
    if not numbers.cells.is_weighted:
        values = slices.values(name)
    arrays = {field: getattr(variable, field).copy() for field in MEANS + TESTS}
    looks = {}
    # Without a usual test there is no variance, or rows are not independent.
    for g in np.flatnonzero(numbers.are_compared(config) & ~np.isnan(variable.p)).tolist():
        group = moments[g]
        reference = moments[np.array(numbers.reference_groups(g))].merge(-2)
        edges = margin_edges(margin, reference.merge())
        since = sum_since(group, reference)
        likelihoods = None
        if values:
            months = slices.sides(values, g)
            likelihoods = split_log_likelihoods(
                months, since, needs_splits(group, reference), (EQUAL, *edges)
            )
        look = look_at_means(since, likelihoods, edges, config.alpha, config.months)
        arrays["value"][g], arrays["reference_value"][g] = look.means
        arrays["difference"][g] = Interval(*look.difference)
        if not math.isnan(variable.ratio[g].value):
            arrays["ratio"][g] = Interval(*look.ratio)
        for field in TESTS:
            arrays[field][g] = getattr(look, field)
        (evidence, most), (months_evidence, most_months) = np.exp(
            np.minimum(look.log_evidence, MOST_LOG_EVIDENCE)
        ).tolist()
        value, reference_value = look.means_since
        looks[g] = NumberLook(
            looks=len(slices.names),
            evidence=evidence,
            most_evidence=most,
            p_same=look.p_same,
            months_evidence=months_evidence,
            most_months_evidence=most_months,
            by_months=look.by_months,
            month_spread=look.month_spread,
            since=slices.names[look.start],
            value_since=value,
            reference_value_since=reference_value,
            difference_since=value - reference_value,
        )
    unknown = np.full(numbers.n_groups, np.nan)  # how many rows would decide: it depends on when a gap begins
    return replace(variable, **arrays, rows_needed=unknown, looks=looks)
