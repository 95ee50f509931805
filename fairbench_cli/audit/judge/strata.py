"""What strata explain of the difference between two groups, and what they leave, with intervals."""

from statistics import NormalDist

import numpy as np

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.judge.report import Interval, Stratified, Stratum
from fairbench_cli.measures.conditional import (
    belift_by_stratum,
    compared,
    explained_difference,
    stratum_differences,
    unexplained_difference,
)
from fairbench_cli.measures.counts import Counts, Floats, divide
from fairbench_cli.measures.functions import acceptance_by_group, discrimination
from fairbench_cli.measures.intervals import difference_interval
from fairbench_cli.measures.rows import GROUPS
from fairbench_cli.measures.significance import cochran_mantel_haenszel, cochran_mantel_haenszel_p

DUST = 1e-12  # a difference as small is one of rounding


def difference(counts: Counts, worth: float, confidence: float) -> Interval:
    """Return the difference of two groups' selection rates, group − reference, with Newcombe's interval.

    Parameters
    ----------
    counts : Counts
        ``n`` of shape (2, 2, 2).
    worth : float
        Rows that a unit of weight is worth (Kish).
    confidence : float
        In (0, 1).
    """
    low, high = _limits(counts.predicted * worth, confidence)
    value = -float(discrimination(counts))
    return Interval(0.0 if abs(value) < DUST else value, float(low), float(high))


def stratified(
    by: str, names: tuple[str, ...], counts: Counts, worth: float, config: AuditConfig
) -> Stratified:
    """Return what strata explain of the difference, and what they leave.

    All differences are group − reference, so minus those of `measures.conditional`.

    Intervals of the parts are ± z standard errors, by leaving out one row at a time (the jackknife), the
    strata as they are. A bootstrap would empty more cells than there are, and call too much explained. Those
    within a stratum are Newcombe's.

    Parameters
    ----------
    by : str
        What the strata are of.
    names : tuple of str
        Of the strata.
    counts : Counts
        ``n`` of shape (strata, 2, 2, 2).
    worth : float
        Rows that a unit of weight is worth.
    config : AuditConfig
        Confidence, and how few rows of the group are too few for its belift to be the least.
    """
    worthy = Counts(GROUPS, counts.n * worth)
    errors = standard_errors(worthy.predicted)
    z = NormalDist().inv_cdf((1 + config.confidence) / 2)
    low, high = _limits(worthy.predicted, config.confidence)
    rate, reference = acceptance_by_group(counts)
    differences, lift = -stratum_differences(counts), belift_by_stratum(counts)
    strata = tuple(
        Stratum(
            name,
            float(counts.group_total[i, 0]),
            float(counts.group_total[i, 1]),
            float(rate[i]),
            float(reference[i]),
            Interval(float(differences[i]), float(low[i]), float(high[i])),
            float(lift[i]),
        )
        for i, name in enumerate(names)
    )
    enough = (worthy.group_total[:, 0] >= config.min_group) & ~np.isnan(lift)
    return Stratified(
        by,
        _about(-float(explained_difference(counts)), z * errors[0]),
        _about(-float(unexplained_difference(counts)), z * errors[1]),
        float(compared(counts)),
        float(cochran_mantel_haenszel(worthy)),
        float(cochran_mantel_haenszel_p(worthy)),
        strata,
        int(np.argmin(np.where(enough, lift, np.inf))) if enough.any() else None,
    )


def standard_errors(cells: Floats) -> tuple[float, float]:
    """Return standard errors of what strata explain and of what they leave, by the jackknife over rows.

    Parameters
    ----------
    cells : array, shape (strata, 2, 2)
        Rows by stratum, group and decision. Of a cell with less than a row all is left out.

    Returns
    -------
    tuple of float
        NaN when a group would be empty without one of its rows.
    """
    step = np.minimum(cells, 1.0)
    times = np.where(cells > 0, divide(cells, step), 0.0)
    rows, differences = _rows_and_differences(cells)
    summed = differences[:, None] * rows
    whole, left = np.zeros(cells.shape), np.zeros(cells.shape)
    for group in (0, 1):
        for decision in (0, 1):
            fewer = cells.copy()
            fewer[:, group, decision] -= step[:, group, decision]
            own_rows, own_differences = _rows_and_differences(fewer)
            totals = rows.sum(0) - rows + own_rows
            # Only the stratum of the row changes: its share of the sum is computed again.
            within = summed.sum(0) - summed + own_differences[:, None] * own_rows
            left[:, group, decision] = divide(within, totals).sum(-1) / 2
            rates = divide(cells[..., 1].sum(0) + (fewer - cells)[..., 1], totals)
            whole[:, group, decision] = rates[:, 1] - rates[:, 0]
    explained, unexplained = (_spread(values, times) for values in (whole - left, left))
    return explained, unexplained


def _rows_and_differences(cells: Floats) -> tuple[Floats, Floats]:
    """Rows by stratum and group, and the difference in each stratum: 0 where there is one group only."""
    rows = cells.sum(-1)
    rates = divide(cells[..., 1], rows)
    return rows, np.where((rows > 0).all(-1), rates[:, 1] - rates[:, 0], 0.0)


def _spread(values: Floats, times: Floats) -> float:
    """Jackknife standard error: each value is that without one of `times` rows."""
    many, there = float(times.sum()), times > 0
    if many < 2:
        return np.nan
    some, often = values[there], times[there]
    away = some - (often @ some) / many
    return float(np.sqrt((many - 1) / many * (often @ away**2)))


def _about(value: float, half: float) -> Interval:
    """Return a difference with its limits, none beyond −1 and 1; what is but rounding dust is 0."""
    middle = 0.0 if abs(value) < DUST else value
    if np.isnan(value + half):
        return Interval(middle, np.nan, np.nan)
    return Interval(middle, max(-1.0, middle - half), min(1.0, middle + half))


def of_decisions(n: Floats) -> Counts:
    """Return counts by stratum, group and decision, shape (..., 2, 2), as `Counts`; all labels are 0."""
    full = np.zeros((*n.shape[:-1], 2, 2))
    full[..., 0, :] = n
    return Counts(GROUPS, full)


def _limits(cells: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return limits of the difference of the group's rate and the reference's; cells of shape (..., 2, 2)."""
    above, below = cells[..., 1], cells.sum(-1)
    return difference_interval(above[..., 0], below[..., 0], above[..., 1], below[..., 1], confidence)
