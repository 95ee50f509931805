"""Counts and rates of each group, and of everybody."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fairbench_cli.audit.config import AuditConfig as Spec
from fairbench_cli.audit.judge.metrics import AUDIT_METRICS, CELLS, metric_names, parts
from fairbench_cli.audit.judge.result import GroupRow, Interval
from fairbench_cli.audit.judge.uncertainty import Limits, uncertainty
from fairbench_cli.audit.read.tally import Slice, Tally
from fairbench_cli.measures.counts import Counts, Floats, divide

ALL = "(all)"


def group_rows(part: Slice, names: Sequence[str], limits: Limits, spec: Spec) -> list[GroupRow]:
    """Give counts and rates of each group."""
    rates = divide(*parts(part.counts.n, names))
    rows = []
    for g, group in enumerate(part.counts.groups):
        cells = dict(zip(CELLS, (float(cell) for cell in part.counts.n[g].ravel()), strict=True))
        counts = {
            "pp": cells["tp"] + cells["fp"],
            "pn": cells["tn"] + cells["fn"],
            "size": sum(cells.values()),
        }
        if part.labelled:
            counts = {name: cells[name] for name in ("tp", "fp", "fn", "tn")} | counts
            counts["label_pos"] = cells["tp"] + cells["fn"]
            counts["label_neg"] = cells["tn"] + cells["fp"]
        alone = len(part.counts.groups) == 1  # then its share of all is 1, and no estimate
        metrics = {
            name: interval(rates, limits, g, m, alone and AUDIT_METRICS[name].of_all)
            for m, name in enumerate(names)
        }
        small = bool(part.rows[g] < spec.min_group)
        rows.append(
            GroupRow(
                part.model, part.decision, part.attribute, group, int(part.rows[g]), counts, metrics, small
            )
        )
    return rows


def overall_rows(tally: Tally, spec: Spec) -> tuple[GroupRow, ...]:
    """One row for everybody per model and decision."""
    rows: dict[tuple[str, str], GroupRow] = {}
    for part in tally.slices:
        if (part.model, part.decision) in rows:
            continue
        everybody = replace(
            part,
            attribute=ALL,
            counts=Counts((ALL,), part.counts.overall[None]),
            rows=np.array([part.rows.sum()]),
            intersection=False,
        )
        names = metric_names(part.labelled)
        at = np.zeros(len(names), dtype=np.intp)
        limits = uncertainty(everybody, names, at, spec).rate
        rows[part.model, part.decision] = group_rows(everybody, names, limits, spec)[0]
    return tuple(rows.values())


def interval(values: Floats, limits: Limits, g: int, m: int, known: bool = False) -> Interval:
    """Give the value of group g and column m with its limits, or as its own limits when it is `known`."""
    value = float(values[g, m])
    if known:  # no estimate, as that of a group beside itself is none
        return Interval(value, value, value)
    return Interval(value, float(limits[0][g, m]), float(limits[1][g, m]))
