"""Impact ratios: the selection rate of each category over that of the category that is selected most.

Sources: New York City, Local Law 144 of 2021 and 6 RCNY § 5-300 to 5-304 (rates and ratios, categories under
2 %, unknown categories); Uniform Guidelines on Employee Selection Procedures, 29 CFR 1607.4 D (four fifths),
Questions and Answers of 1979, 20 and 21 (one person more). The tests are ours.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fairbench_cli.audit.config import EXCLUDING, FOUR_FIFTHS, AuditConfig
from fairbench_cli.audit.judge.references import Bools, comparable, excluded
from fairbench_cli.audit.judge.report import Chance, FourFifths, ImpactRow, ImpactTable, Interval
from fairbench_cli.audit.judge.verdict import decide
from fairbench_cli.audit.scan.tally import Slice, Tally
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.score_test import equal_rates, ratio_interval
from fairbench_cli.measures.significance import holm, two_proportions


def impact(tally: Tally, config: AuditConfig) -> tuple[ImpactTable, ...]:
    """Return the impact ratios of each attribute and intersection; none for other presets."""
    if config.preset not in EXCLUDING:
        return ()
    pairs = [_pairs(part, config) for part in tally.slices]
    flat = holm(np.concatenate([each[1] for each in pairs]))
    family, found = len(flat), []
    for part, (which, p, exact) in zip(tally.slices, pairs, strict=True):
        adjusted, flat = flat[: len(p)], flat[len(p) :]
        tests = {
            pair: (float(p[i]), float(adjusted[i]), bool(exact[i]))
            for i, pair in enumerate(map(tuple, which))
        }
        found.append(_table(part, tests, family, config))
    return tuple(found)


def _pairs(part: Slice, config: AuditConfig) -> tuple[Floats, Floats, Bools]:
    """Return all pairs of categories that are compared, their p-values, and which are of Fisher's test."""
    at = np.flatnonzero(comparable(part, config))
    first, second = (at[of] for of in np.triu_indices(len(at), 1))
    selected, rows = part.counts.predicted[:, 1], part.rows.astype(np.float64)
    p, exact = equal_rates(selected[first], rows[first], selected[second], rows[second])
    return np.stack([first, second], axis=1), p, exact


def _table(
    part: Slice, tests: dict[tuple[int, int], tuple[float, float, bool]], family: int, config: AuditConfig
) -> ImpactTable:
    rows, selected = part.rows, np.rint(part.counts.predicted[:, 1]).astype(np.int64)
    known, may = ~excluded(part, config), comparable(part, config)
    with np.errstate(invalid="ignore"):
        rates = selected / rows
    top = int(np.argmax(np.where(may & (rows > 0), rates, -1.0))) if may.any() else -1
    all_known, found = int(rows[known].sum()), []
    for g in np.flatnonzero(known).tolist():
        against = may[g] and g != top
        counted = (int(selected[g]), int(rows[g]), int(selected[top]), int(rows[top]))
        chance = _chance(counted, tests[min(g, top), max(g, top)], config) if against else None
        rule = _four_fifths(*counted) if against and config.preset == "eeoc" else None
        ratio = float(rates[g] / rates[top]) if may[g] and rates[top] > 0 else math.nan
        found.append(
            ImpactRow(
                group=part.counts.groups[g],
                rows=int(rows[g]),
                selected=int(selected[g]),
                share=int(rows[g]) / all_known,
                rate=float(rates[g]),
                ratio=ratio,
                left_out=not may[g],
                highest=g == top,
                chance=chance,
                four_fifths=rule,
            )
        )
    highest = part.counts.groups[top] if top >= 0 else ""
    return ImpactTable(*part.place, highest, int(rows[~known].sum()), family, tuple(found))


def _chance(counted: Sequence[int], test: tuple[float, float, bool], config: AuditConfig) -> Chance:
    above, below, ref_above, ref_below = counted
    value = above * ref_below / (ref_above * below) if ref_above else math.nan
    low, high = ratio_interval(above, below, ref_above, ref_below, config.confidence)
    z, _ = two_proportions(*counted)
    p, p_holm, exact = test
    return Chance(
        Interval(value, float(low), float(high)), float(z), p, p_holm, "fisher" if exact else "score"
    )


def _four_fifths(above: int, below: int, ref_above: int, ref_below: int) -> FourFifths:
    """Return what the rule says of a group against that with the highest rate.

    >>> _four_fifths(6, 12, 9, 12)
    FourFifths(below=True, to_reach=2, one_person=False, shortfall=1.5)
    """
    enough = math.ceil(Fraction(str(FOUR_FIFTHS)) * ref_above * below / ref_below)
    return FourFifths(
        below=decide(above, below, ref_above, ref_below, FOUR_FIFTHS) == "fail",
        to_reach=max(0, enough - above),
        one_person=(above + 1) * ref_below > (ref_above - 1) * below,
        shortfall=below * (above + ref_above) / (below + ref_below) - above,
    )
