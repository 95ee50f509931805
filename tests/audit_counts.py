"""Hand-made tallies for the tests of the audit."""

import csv
import io
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest

from fairbench_cli.audit.build_report import judge
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.scan.open import open_scan
from fairbench_cli.audit.scan.slices import Slice, Tally
from fairbench_cli.base.errors import UserError
from fairbench_cli.measures.counts import Counts

AEQUITAS = Path(__file__).parent / "reference" / "aequitas"

Cells = tuple[float, float, float, float]  # tp fp fn tn


def read_tally(source, config, stdin=None):
    standard = sys.stdin if stdin is None else SimpleNamespace(buffer=stdin)
    with patch.object(sys, "stdin", standard), open_scan(source, config) as scan:
        return scan.tally


def read(text, name="-", **keys):
    content = text if isinstance(text, bytes) else text.encode()
    return read_tally(name, AuditConfig(**keys), stdin=io.BytesIO(content))


def refused(text, **keys):
    with pytest.raises(UserError) as caught:
        read(text, **keys)
    return str(caught.value)


def cells(tally):
    return {part.attribute: (part.counts.groups, part.counts.n.tolist()) for part in tally.slices}


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


RNG_AUDITS = 60


def random_audits():
    """Audits of two to five groups: alike or not, few rows or many, with labels or without, weighted or "
    "not."""
    for seed in range(RNG_AUDITS):
        rng = np.random.default_rng(seed)
        labelled, sizes = bool(seed % 2), rng.choice([8, 60, 400, 3000, 20000], rng.integers(2, 6))
        start = rng.uniform(0.05, 0.7)
        shares = np.clip(start * rng.choice([1, 1, 0.95, 0.85, 0.75, 0.5], len(sizes)), 0, 1)
        groups = {}
        for i, (size, share) in enumerate(zip(sizes.tolist(), shares.tolist(), strict=True)):
            cells = rng.multinomial(size, [0.4 * share, 0.6 * share, 0.3 * (1 - share), 0.7 * (1 - share)])
            cells = cells if labelled else [cells[0] + cells[1], cells[2] + cells[3]]
            groups["(missing)" if i == 1 and seed % 5 == 0 else f"g{i}"] = tuple(map(int, cells))
        weight = float(rng.choice([1, 1, 3.5]))
        cells = {name: found if labelled else (0, found[0], 0, found[1]) for name, found in groups.items()}
        tally = one(cells, attribute="g", labelled=labelled)
        (part,) = tally.slices
        squares = part.squares * rng.choice([1.0, weight])  # as if weights differed
        yield judge(replace(tally, slices=(replace(part, squares=squares),)), AuditConfig())
