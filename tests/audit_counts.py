"""Hand-made tallies for the tests of the audit."""

import csv
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np

from fairbench_cli.audit.scan.open import open_scan
from fairbench_cli.audit.scan.slices import Slice, Tally
from fairbench_cli.measures.counts import Counts

AEQUITAS = Path(__file__).parent / "reference" / "aequitas"

Cells = tuple[float, float, float, float]  # tp fp fn tn


def read_tally(source, config, stdin=None):
    standard = sys.stdin if stdin is None else SimpleNamespace(buffer=stdin)
    with patch.object(sys, "stdin", standard), open_scan(source, config) as scan:
        return scan.tally


def slice_of(
    groups: dict[str, Cells],
    attribute: str = "race",
    model: str = "",
    decision: str = "binary",
    labelled: bool = True,
    intersection: bool = False,
) -> Slice:
    n = np.array([[[tn, fp], [fn, tp]] for tp, fp, fn, tn in groups.values()], dtype=np.float64)
    counts = Counts(tuple(groups), n)
    return Slice(model, decision, attribute, counts, np.rint(n).astype(np.int64), n, labelled, intersection)


def tally_of(*slices: Slice, weighted: bool = False) -> Tally:
    return Tally("preds.csv", int(slices[0].rows.sum()), slices, weighted=weighted)


def one(groups: dict[str, Cells], **how: object) -> Tally:
    return tally_of(slice_of(groups, **how))  # type: ignore[arg-type]


def compas() -> Tally:
    """The counts of COMPAS, from the reference table."""
    by_attribute: dict[str, dict[str, Cells]] = {}
    with (AEQUITAS / "compas_majority_group.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            cells = tuple(float(row[cell]) for cell in ("tp", "fp", "fn", "tn"))
            by_attribute.setdefault(row["attribute_name"], {})[row["attribute_value"]] = cells  # type: ignore[assignment]
    return tally_of(*(slice_of(groups, attribute) for attribute, groups in by_attribute.items()))
