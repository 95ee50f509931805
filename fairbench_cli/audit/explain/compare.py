"""Part the difference between two groups by strata that are counted, with intervals."""

import hashlib

import numpy as np

from fairbench_cli.audit.explain.result import Stratified, Stratum
from fairbench_cli.audit.result import Interval
from fairbench_cli.audit.spec import Spec
from fairbench_cli.measures.absolute import acceptance_by_group, discrimination
from fairbench_cli.measures.conditional import (
    belift_by_stratum,
    compared,
    explained_difference,
    stratum_differences,
    unexplained_difference,
)
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.intervals import difference_interval
from fairbench_cli.measures.rows import GROUPS
from fairbench_cli.measures.significance import cochran_mantel_haenszel, cochran_mantel_haenszel_p

DRAWN_AT_ONCE = 2_000_000  # counts


def difference(counts: Counts, worth: float, confidence: float) -> Interval:
    """Return the discrimination of two groups with Newcombe's interval.

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
    return Interval(float(discrimination(counts)), float(low), float(high))


def parted(
    by: str, names: tuple[str, ...], counts: Counts, worth: float, spec: Spec, place: str
) -> Stratified:
    """Part the difference by strata.

    Intervals of the parts are percentiles of a multinomial bootstrap of the counts, the strata as they are;
    those within a stratum are Newcombe's. None of the parts without draws.

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
    spec : Spec
        Draws, seed, confidence.
    place : str
        Attribute and group: each has a stream of random numbers of its own.
    """
    worthy = Counts(GROUPS, counts.n * worth)
    drawn = _drawn(worthy, spec, f"{place}\x1f{by}")
    low, high = _limits(worthy.predicted, spec.confidence)
    rate, reference = acceptance_by_group(counts)
    differences, lift = stratum_differences(counts), belift_by_stratum(counts)
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
    return Stratified(
        by,
        interval(float(explained_difference(counts)), drawn[0], spec.confidence),
        interval(float(unexplained_difference(counts)), drawn[1], spec.confidence),
        float(compared(counts)),
        float(cochran_mantel_haenszel(worthy)),
        float(cochran_mantel_haenszel_p(worthy)),
        strata,
    )


def interval(value: float, drawn: Floats, confidence: float) -> Interval:
    """Put a value with the percentiles of what was drawn, where that is defined."""
    known = np.sort(drawn[~np.isnan(drawn)])
    if not len(known) or np.isnan(value):
        return Interval(value, np.nan, np.nan)
    tail, last = (1 - confidence) / 2, len(known) - 1
    low, high = int(np.floor(tail * last)), int(np.ceil((1 - tail) * last))
    return Interval(value, float(known[low]), float(known[high]))


def stream(seed: int, place: str) -> np.random.Generator:
    """Return random numbers of their own for a place."""
    return np.random.default_rng(int.from_bytes(hashlib.sha256(f"{seed}\x1f{place}".encode()).digest()))


def _drawn(counts: Counts, spec: Spec, place: str) -> tuple[Floats, Floats]:
    """Bootstrap what is explained and what is not, shape (draws,) each."""
    total = round(float(counts.n.sum()))
    if not spec.draws or not total:
        return np.zeros(0), np.zeros(0)
    rng = stream(spec.seed, place)
    cells = counts.predicted  # the label does not matter
    at_once = max(1, DRAWN_AT_ONCE // cells.size)
    explained, unexplained = [], []
    for start in range(0, spec.draws, at_once):
        draws = min(at_once, spec.draws - start)
        table = rng.multinomial(total, (cells / cells.sum()).ravel(), size=draws).reshape(draws, *cells.shape)
        some = of_decisions(table.astype(np.float64))
        explained.append(explained_difference(some))
        unexplained.append(unexplained_difference(some))
    return np.concatenate(explained), np.concatenate(unexplained)


def of_decisions(n: Floats) -> Counts:
    """Make counts by stratum, group and decision, shape (..., 2, 2), into `Counts`; all labels are 0."""
    full = np.zeros((*n.shape[:-1], 2, 2))
    full[..., 0, :] = n
    return Counts(GROUPS, full)


def _limits(cells: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Limits of the difference of the reference's rate and the group's; cells of shape (..., 2, 2)."""
    above, below = cells[..., 1], cells.sum(-1)
    return difference_interval(above[..., 1], below[..., 1], above[..., 0], below[..., 0], confidence)
