"""The rows of a report: counts and rates of groups, and every rate of every group against its reference."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fairbench_cli.audit.compare.effective import own_rows
from fairbench_cli.audit.compare.kernel import (
    Compared,
    Evidence,
    rate_limits,
    shown_names,
    wanted_rates,
    weigh,
    with_limits,
)
from fairbench_cli.audit.compare.references import REST, references
from fairbench_cli.audit.compare.report import ALL, Disparity, GroupRow, Reason
from fairbench_cli.audit.compare.verdict import tau_of
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.metrics import COMPARED
from fairbench_cli.audit.scan.tally import Slice
from fairbench_cli.measures.counts import Counts, Floats, divide
from fairbench_cli.measures.power import Criterion, rows_needed
from fairbench_cli.measures.rates import RATES, parts

CAN_DECIDE: tuple[Reason, ...] = ("chance", "few", "wide")  # what more rows would end


def disparities(
    slices: Sequence[Slice], deciding: Sequence[str], config: AuditConfig
) -> tuple[list[list[Disparity]], int]:
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
    tables = []
    for part in slices:
        shown = shown_names(part)
        names = tuple(name for name in shown if name in COMPARED)
        at = references(part, shown, config)[[shown.index(name) for name in names]]
        tables.append(Compared(part, names, at, config))
    wanted = [wanted_rates(table.part, table.names, deciding, config) for table in tables]
    evidence, family = weigh([table.tests for table in tables], wanted, config)
    each = zip(tables, evidence, wanted, strict=True)
    return [_disparities(*one, family) for one in each], family


def _disparities(table: Compared, evidence: Evidence, wanted: frozenset[str], family: int) -> list[Disparity]:
    tests, found = table.tests, []
    places = [
        (g, m)
        for g in range(len(table.part.counts.groups))
        for m in range(len(table.names))
        if g == table.at[m] or tests.compared[g, m]
    ]
    rulings = [table.ruling(evidence, g, m) for g, m in places]
    still = [place for place, (_, _, reason) in zip(places, rulings, strict=True) if reason in CAN_DECIDE]
    needed = _needed(table, still, family)
    for (g, m), (point, verdict, reason) in zip(places, rulings, strict=True):
        name, itself, behind = table.names[m], bool(g == table.at[m]), table.behind(g, m)
        found.append(
            Disparity(
                **vars(table.pair(g, m)),
                metric=name,
                value=float(table.value[g, m]),
                reference_value=float(table.reference_value[g, m]),
                ratio=table.ratio(g, m),
                difference=table.difference(g, m),
                p=float(tests.p[g, m]),
                p_holm=float(evidence.p_holm[g, m]),
                test="" if math.isnan(tests.p[g, m]) else "fisher" if tests.exact[g, m] else "score",
                tau=tau_of(name, table.config),
                point=point,
                verdict=verdict,
                shown_outside=verdict == "fail" and bool(evidence.outside[g, m]),
                reason=reason,
                rows_needed=needed.get((g, m), math.nan),
                is_reference=itself,
                deciding=name in wanted and not itself,
                behind=behind[:2],
                reference_behind=behind[2:],
            )
        )
    return found


def _needed(table: Compared, places: Sequence[tuple[int, int]], family: int) -> dict[tuple[int, int], float]:
    """Return about how many rows of both groups would decide, were the rates as measured, where known."""
    part, config = table.part, table.config
    found: dict[tuple[int, int], float] = {}
    places = [(g, m) for g, m in places if not RATES[table.names[m]].of_all]
    for tau in dict.fromkeys(tau_of(table.names[m], config) for _, m in places):
        own = [(g, m) for g, m in places if tau_of(table.names[m], config) == tau]  # all of them at once
        g, m = np.array(own).T
        at = table.at[m]
        x, n, y, k = (side[g, m] for rows in table.rows for side in (rows.above, rows.below))
        rule = Criterion(tau, max(1, family), config.confidence)
        needed = rows_needed(divide(y, k), divide(x * k, n * y), divide(n, n + k), rule)
        both = np.where(at == REST, part.rows.sum(), part.rows[g] + part.rows[at])
        # As many times the rows at hand as the rate needs of those that it counts.
        total = divide(needed, n + k) * both
        found |= dict(zip(own, map(float, np.where(total > both, total, np.nan)), strict=True))
    return found


def group_rows(part: Slice, config: AuditConfig) -> list[GroupRow]:
    """Return counts and rates of each group."""
    names = shown_names(part)
    limits = rate_limits(names, own_rows(part, names), config.confidence)
    above, below = parts(part.counts.n, names)
    rates = divide(above, below)
    alone = len(part.counts.groups) == 1  # then its share of all is 1, and no estimate
    return [
        GroupRow(
            *(*part.place, group),
            rows=int(part.rows[g]),
            small=bool(part.rows[g] < config.min_group),
            counts=_counts(part.counts.n[g], part.labelled),
            metrics={
                name: with_limits(rates, limits, g, m, alone and RATES[name].of_all)
                for m, name in enumerate(names)
            },
            behind={name: (float(above[g, m]), float(below[g, m])) for m, name in enumerate(names)},
        )
        for g, group in enumerate(part.counts.groups)
    ]


def _counts(n: Floats, labelled: bool) -> dict[str, float]:
    """Return the cells of a group, if there are labels, and their sums."""
    tn, fp, fn, tp = map(float, n.ravel())
    sums = {"pp": tp + fp, "pn": tn + fn, "size": tp + fp + fn + tn}
    if not labelled:
        return sums
    return {"tp": tp, "fp": fp, "fn": fn, "tn": tn, **sums, "label_pos": tp + fn, "label_neg": tn + fp}


def overall_rows(slices: Sequence[Slice], config: AuditConfig) -> list[GroupRow]:
    """Return one row for everybody per model and decision."""
    first: dict[tuple[str, str], Slice] = {}
    for part in slices:
        first.setdefault(part.place[:2], part)
    rows: list[GroupRow] = []
    for part in first.values():
        everybody = replace(
            part,
            attribute=ALL,
            counts=Counts((ALL,), part.counts.overall[None]),
            cell_rows=part.cell_rows.sum(0, keepdims=True),
            squares=part.squares.sum(0, keepdims=True),
            intersection=False,
            clusters=part.clusters and replace(part.clusters, group=np.zeros_like(part.clusters.group)),
        )
        rows += group_rows(everybody, config)
    return rows
