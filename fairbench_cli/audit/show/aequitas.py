"""The tables of Aequitas 1.1.0, cell for cell, from the same counts.

Here its rules hold, also where the audit itself departs from them (docs/audit-departures.md): binary floats
at the boundary, infinite disparities written 10, undefined taken for fair at the end, missing groups dropped.
"""

import json
import math
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from fairbench_cli.audit.compare.references import find_references, without_groups
from fairbench_cli.audit.compare.report import Report
from fairbench_cli.audit.compare.verdict import tau_of
from fairbench_cli.audit.config import MISSING
from fairbench_cli.audit.parts.part import Row, Value
from fairbench_cli.audit.scan.slices import ALL_CLASSES, Slice
from fairbench_cli.audit.show.tables import csv_text
from fairbench_cli.base.errors import Flag, user_error
from fairbench_cli.base.files import write_files
from fairbench_cli.base.grouping import group_by
from fairbench_cli.measures.counts import divide
from fairbench_cli.measures.rates import CELLS, numerators_and_denominators
from fairbench_cli.measures.registry import METRICS

_CSV = ("group.csv", "disparity.csv", "fairness_groups.csv", "fairness_attributes.csv", "full.csv")
FILES = (*_CSV, "overall.json")
INFINITE = 10.0  # what Aequitas writes for x/0

_KEYS = ("model_id", "score_threshold", "attribute_name")
_COMPARED = ("ppr", "pprev", "precision", "fdr", "for", "fpr", "fnr", "tpr", "tnr", "npv")
_NAMES = ("model_id", "score_threshold", "k", "attribute_name", "attribute_value")
_RATES = (
    "accuracy tpr tnr for fdr fpr fnr npv precision pp pn ppr pprev "
    "fp fn tn tp group_label_pos group_label_neg group_size total_entities prev"
)
_GROUP = _NAMES + tuple(_RATES.split())
_OURS = {name: METRICS[name].alias_of or name for name in _GROUP if name in METRICS}  # its rates
_PARITY = {
    "Statistical Parity": "ppr",
    "Impact Parity": "pprev",
    **{f"{name.upper()} Parity": name for name in ("fdr", "fpr", "for", "fnr", "tpr", "tnr", "npv")},
    "Precision Parity": "precision",
}
_PAIRS = {
    "TypeI Parity": ("FDR Parity", "FPR Parity"),
    "TypeII Parity": ("FOR Parity", "FNR Parity"),
    "Equalized Odds": ("FPR Parity", "TPR Parity"),
    "Unsupervised Fairness": ("Statistical Parity", "Impact Parity"),
    "Supervised Fairness": ("TypeI Parity", "TypeII Parity"),
}
_FAIRNESS = tuple(_PARITY) + tuple(_PAIRS)
_THRESHOLDS = {"threshold": "val", "top-k": "abs", "top-share": "pct"}


def write_compat(report: Report, folder: Path) -> tuple[str, ...]:
    """Return the names of the files written, `FILES`: those that Aequitas makes, and ``overall.json``.

    Intersections and several classes together, which Aequitas does not know, are left out.

    Raises
    ------
    UserError
        When there are no labels.
    """
    write_files(folder, compat_files(report))
    return FILES


def compat_files(report: Report) -> dict[str, str]:
    """Return the texts that `write_compat` writes, by file name."""
    if not all(group_counts.labelled for group_counts in report.slices):
        raise user_error("Aequitas needs labels", "give the label column", Flag("preset"))
    rows: list[Row] = []
    for group_counts in report.slices:
        if not group_counts.intersection and group_counts.decision != ALL_CLASSES:
            rows += _slice_rows(group_counts, report)
    attributes = _attribute_rows(rows)
    keys = (*_KEYS, "attribute_value")
    disparity = _disparity_columns(report)
    return {
        "group.csv": csv_text(rows, _GROUP),
        "disparity.csv": csv_text(rows, keys + disparity),
        "fairness_groups.csv": csv_text(rows, keys + _FAIRNESS),
        "fairness_attributes.csv": csv_text(attributes, _KEYS + _FAIRNESS),
        "full.csv": csv_text(rows, _GROUP + disparity + _FAIRNESS),
        "overall.json": json.dumps(_combine_attributes(attributes), indent=1),
    }


def pair_rule(first_verdict: bool | None, second_verdict: bool | None) -> bool | None:
    """Return two verdicts joined as Aequitas does: undefined with fair is unfair.

    >>> pair_rule(None, True), pair_rule(None, None), pair_rule(True, True)
    (False, None, True)
    """
    if first_verdict is None and second_verdict is None:
        return None
    return first_verdict is True and second_verdict is True


def _disparity_columns(report: Report) -> tuple[str, ...]:
    """Order disparities and references: side by side for the minimum, else one after another."""
    disparities = [f"{name}_disparity" for name in _COMPARED]
    reference_values = [f"{name}_ref_group_value" for name in _COMPARED]
    if report.config.ref_method == "minimum":
        return tuple(chain.from_iterable(zip(disparities, reference_values, strict=True)))
    return tuple(disparities + reference_values)


def _slice_rows(group_counts: Slice, report: Report) -> list[Row]:
    """Return everything about each group of one attribute, by column."""
    k = round(float(group_counts.counts.predicted[:, 1].sum()))
    total = round(float(group_counts.counts.total))
    seen = without_groups(group_counts, np.array([group == MISSING for group in group_counts.counts.groups]))
    groups = seen.counts.groups
    if not groups:
        return []
    ours = list(_OURS.values())
    above, below = numerators_and_denominators(seen.counts.n, ours, group_counts.counts.overall)
    rates = divide(above, below)
    reference_indices = dict(zip(_OURS, find_references(seen, ours, report.config), strict=True))
    model: Value = group_counts.model if any(audited_slice.model for audited_slice in report.slices) else 0
    rows = []
    for g, group in enumerate(groups):
        cells = dict(zip(CELLS, (round(float(cell)) for cell in seen.counts.n[g].ravel()), strict=True))
        row: Row = {
            "model_id": model,
            "score_threshold": _threshold(group_counts, report),
            "k": k,
            "attribute_name": group_counts.attribute,
            "attribute_value": group,
            **cells,
            "pp": cells["tp"] + cells["fp"],
            "pn": cells["tn"] + cells["fn"],
            "group_label_pos": cells["tp"] + cells["fn"],
            "group_label_neg": cells["tn"] + cells["fp"],
            "group_size": sum(cells.values()),
            "total_entities": total,
            **{name: float(rates[g, m]) for m, name in enumerate(_OURS)},
        }
        for name in _COMPARED:
            m = list(_OURS).index(name)
            ratio = float(divide(rates[g, m], rates[reference_indices[name], m]))
            row[f"{name}_disparity"] = INFINITE if math.isinf(ratio) else ratio
            row[f"{name}_ref_group_value"] = groups[reference_indices[name]]
        rows.append(row | _decide_fairness(row, report))
    return rows


def _decide_fairness(row: Mapping[str, Value], report: Report) -> dict[str, bool | None]:
    """Decide on one group, in binary floats."""
    fair: dict[str, bool | None] = {}
    for parity, name in _PARITY.items():
        ratio = float(row[f"{name}_disparity"] or 0)
        tau = tau_of(_OURS[name], report.config)
        fair[parity] = None if math.isnan(ratio) else tau <= ratio <= 1 / tau
    for name, (first_parity, second_parity) in _PAIRS.items():
        fair[name] = pair_rule(fair[first_parity], fair[second_parity])
    return fair


def _attribute_rows(rows: Sequence[Row]) -> list[Row]:
    """Roll groups up: unfair if one is, undefined if all are, else fair; sorted as pandas groups."""
    slices = group_by(rows, lambda row: tuple(row[key] for key in _KEYS))
    rolled: list[Row] = []
    for key in sorted(slices, key=lambda key: list(map(str, key))):
        rolled.append(dict(zip(_KEYS, key, strict=True)))
        for name in _FAIRNESS:
            defined = [row[name] for row in slices[key] if row[name] is not None]
            rolled[-1][name] = None
            if defined:
                rolled[-1][name] = all(defined)
    return rolled


def _combine_attributes(attributes: Sequence[Row]) -> dict[str, bool]:
    """Roll everything up, models and thresholds together; undefined counts as fair."""
    parities = {}
    for name in ("Unsupervised Fairness", "Supervised Fairness"):
        parities[name] = all(row[name] is not False for row in attributes)
    parities["Overall Fairness"] = all(parities.values())
    return parities


def _threshold(group_counts: Slice, report: Report) -> str:
    """Name a decision as Aequitas does: "binary 0/1", "5_val", "300_abs", "0.1_pct"."""
    for decision in report.config.decisions:
        if decision.kind != "binary" and (group_counts.decision + " ").startswith(f"{decision} "):
            value = decision.value
            if float(value).is_integer():
                value = int(value)
            if decision.kind == "top-share":
                value = float(value)
            return f"{value}_{_THRESHOLDS[decision.kind]}"
    if group_counts.decision == "binary":
        return "binary 0/1"
    return group_counts.decision
