"""Every rate of every group against its reference: values, intervals, tests and verdicts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.judge.effective import own_rows
from fairbench_cli.audit.judge.evidence import Evidence, Tests, find_tests, weigh
from fairbench_cli.audit.judge.references import REST, REST_NAME, both_parts, references
from fairbench_cli.audit.judge.report import Disparity, Reason
from fairbench_cli.audit.judge.uncertainty import (
    Limits,
    Uncertainty,
    rate_limits,
    uncertainty,
    with_limits,
)
from fairbench_cli.audit.judge.verdict import decide, tau_of
from fairbench_cli.audit.metrics import COMPARED, ROLL_UPS, SHOWN, canonical
from fairbench_cli.audit.scan.tally import Slice
from fairbench_cli.document.model import Verdict
from fairbench_cli.measures.counts import divide
from fairbench_cli.measures.rates import RATES
from fairbench_cli.measures.score_test import rows_needed


@dataclass(frozen=True, eq=False)
class Compared:
    """A slice with its comparisons; `rate_limits` are of the rates of each group, by column of `names`."""

    part: Slice
    names: tuple[str, ...]
    rate_limits: Limits
    disparities: tuple[Disparity, ...]


def compare(
    slices: Sequence[Slice], deciding: Sequence[str], config: AuditConfig
) -> tuple[list[Compared], int]:
    """Return the comparisons of each slice, and how many of them their p-values are adjusted for.

    Parameters
    ----------
    slices : sequence of Slice
        Of the whole audit.
    deciding : sequence of str
        The rates and roll-ups that the verdict depends on; what the gate names is added.
    config : AuditConfig
        References, taus, confidence, rule.
    """
    tests, limits, shown, wanted = [], [], [], []
    for part in slices:
        names = shown_names(part)
        compared = tuple(name for name in names if name in COMPARED)
        at = references(part, names, config)
        taus = np.array([tau_of(name, config) for name in compared])
        at_compared = at[[names.index(name) for name in compared]]
        found = find_tests(part, compared, at_compared, taus, config)
        tests.append(found)
        limits.append(uncertainty(compared, found.rows, found.ref, config.confidence))
        shown.append((names, rate_limits(names, own_rows(part, names), config.confidence)))
        wanted.append(wanted_rates(part, compared, deciding, config))
    evidence, family = weigh(tests, wanted, config)
    result = []
    for i, part in enumerate(slices):
        rows = _disparities(part, tests[i], limits[i], evidence[i], wanted[i], family, config)
        result.append(Compared(part, *shown[i], tuple(rows)))
    return result, family


def shown_names(part: Slice) -> tuple[str, ...]:
    """Return the rates that a slice has."""
    return tuple(name for name in SHOWN if part.labelled or not RATES[name].needs_labels)


def wanted_rates(
    part: Slice, compared: Sequence[str], deciding: Sequence[str], config: AuditConfig
) -> frozenset[str]:
    """Return the rates of a slice that the verdict or the gate depends on."""
    gate = [canonical(name) for attribute, name in config.fail_on if attribute in ("", part.attribute)]
    rates = {rate for name in (*deciding, *gate) for rate in ROLL_UPS.get(name, (name,))}
    return frozenset(rates & set(compared))


def _disparities(
    part: Slice,
    tests: Tests,
    limits: Uncertainty,
    evidence: Evidence,
    wanted: frozenset[str],
    family: int,
    config: AuditConfig,
) -> list[Disparity]:
    groups = part.counts.groups
    above, below, ref_above, ref_below = both_parts(part.counts.n, tests.names, tests.at)
    rate, ref_rate = divide(above, below), divide(ref_above, ref_below)
    ratio, difference = divide(rate, ref_rate), rate - ref_rate
    found = []
    for g, group in enumerate(groups):
        for m, name in enumerate(tests.names):
            at = int(tests.at[m])
            itself, tau = g == at, tau_of(name, config)
            if not (itself or tests.compared[g, m]):
                continue
            behind = (float(above[g, m]), float(below[g, m]))
            reference_behind = (float(ref_above[g, m]), float(ref_below[g, m]))
            point = decide(*behind, *reference_behind, tau)
            verdict, reason = ruled(point, tests, evidence, g, m, config)
            needed = _needed(tests, reason, g, m, tau, family, part, config)
            found.append(
                Disparity(
                    *(*part.place, group, REST_NAME if at == REST else groups[at], name),
                    value=float(rate[g, m]),
                    reference_value=float(ref_rate[g, m]),
                    ratio=with_limits(ratio, limits.ratio, g, m, itself),
                    difference=with_limits(difference, limits.difference, g, m, itself),
                    p=float(tests.p[g, m]),
                    p_holm=float(evidence.p_holm[g, m]),
                    test="" if math.isnan(tests.p[g, m]) else "fisher" if tests.exact[g, m] else "score",
                    tau=tau,
                    point=point,
                    verdict=verdict,
                    shown_outside=verdict == "fail" and bool(evidence.outside[g, m]),
                    reason=reason,
                    rows_needed=needed,
                    is_reference=itself,
                    deciding=name in wanted and not itself,
                    behind=behind,
                    reference_behind=reference_behind,
                )
            )
    return found


def ruled(
    point: Verdict, tests: Tests, evidence: Evidence, g: int, m: int, config: AuditConfig
) -> tuple[Verdict, Reason]:
    """Return the verdict, and why it is not decided."""
    if point == "undecided":
        return "undecided", "no rows"
    if config.rule == "point" or g == tests.at[m]:
        return point, ""
    if point == "pass":
        return ("pass", "") if tests.within[g, m] else ("undecided", "wide")
    if evidence.differs[g, m]:
        return "fail", ""
    return "undecided", "few" if tests.few[g, m] else "chance"


def _needed(
    tests: Tests, reason: Reason, g: int, m: int, tau: float, family: int, part: Slice, config: AuditConfig
) -> float:
    """Return about how many rows of both groups would decide, were the rates as measured; NaN if unknown."""
    rows, ref, name = tests.rows, tests.ref, tests.names[m]
    if reason not in ("chance", "few", "wide") or RATES[name].of_all:
        return math.nan
    x, n, y, k = (float(side[g, m]) for side in (rows.above, rows.below, ref.above, ref.below))
    if not (x > 0 and y > 0):
        return math.nan
    needed = rows_needed(y / k, x * k / (n * y), n / (n + k), tau, family, confidence=config.confidence)
    at = int(tests.at[m])
    both = float(part.rows.sum() if at == REST else part.rows[g] + part.rows[at])
    # As many times the rows at hand as the rate needs of those that it counts.
    total = needed / (n + k) * both
    return total if total > both else math.nan
