"""From a tally to a report: rates, comparisons, intervals, tests, verdicts. No file is read."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from fairbench_cli.audit.config import WITHOUT_VERDICT, AuditConfig
from fairbench_cli.audit.judge.changes import find_changes, gate_of, last_side
from fairbench_cli.audit.judge.compare import compare, shown_names
from fairbench_cli.audit.judge.curves import judge_curves
from fairbench_cli.audit.judge.effective import own_rows
from fairbench_cli.audit.judge.explain import explain, named
from fairbench_cli.audit.judge.law import impact
from fairbench_cli.audit.judge.references import (
    check_references,
    common_references,
    comparable,
    excluded,
    kept,
    references,
)
from fairbench_cli.audit.judge.report import ALL, GroupRow, Report
from fairbench_cli.audit.judge.requested import requested_rows
from fairbench_cli.audit.judge.uncertainty import Limits, rate_limits, with_limits
from fairbench_cli.audit.judge.verdict import (
    all_of,
    attribute_verdict,
    check_names,
    deciding_names,
    requested_names,
)
from fairbench_cli.audit.scan.refusals import rows_in_words
from fairbench_cli.audit.scan.tally import Slice, Tally
from fairbench_cli.measures.counts import Counts, Floats, divide
from fairbench_cli.measures.rates import RATES, parts


def judge(tally: Tally, config: AuditConfig) -> Report:
    """Audit counts.

    Parameters
    ----------
    tally : Tally
        What was counted.
    config : AuditConfig
        References, tau, limits, what decides; its columns and decisions are those of the tally already.

    Raises
    ------
    UserError
        For an unknown reference, a metric that needs labels or cannot decide, what cannot be explained.
    """
    check_references(tally, config)
    check_names(tally, config)
    deciding, asked = deciding_names(tally, config), requested_names(config)
    slices = tuple(kept(part, config) for part in tally.slices)
    one_reference = common_references(slices, config) if tally.joints else config
    found, family = compare(slices, deciding, one_reference)
    requested = requested_rows([one.part for one in found], asked, config)
    verdicts = [
        attribute_verdict(one.part, one.disparities, more, deciding)
        for one, more in zip(found, requested, strict=True)
    ]
    disparities = [row for one in found for row in one.disparities]
    changes, rate_changes = find_changes(tally, disparities, one_reference)
    groups = [row for one in found for row in _group_rows(one.part, one.names, one.rate_limits, config)]
    last = last_side(tally)
    judged = [] if config.preset in WITHOUT_VERDICT else [row for row in verdicts if last in ("", row.model)]
    return Report(
        config=config,
        source=tally.source,
        rows=tally.rows,
        weighted=tally.weighted,
        slices=slices,
        decided_by=deciding,
        overall=_overall_rows(tally, config),
        groups=tuple(groups),
        disparities=tuple(disparities),
        requested=tuple(chain.from_iterable(requested)),
        verdicts=tuple(verdicts),
        verdict=all_of(row.verdict for row in judged),
        gate=gate_of(last, verdicts, disparities, changes, config),
        family=family,
        explanations=explain(tally, config),
        curves=judge_curves(tally, deciding, config),
        impact=impact(tally, config),
        last=last,
        changes=changes,
        rate_changes=rate_changes,
        notes=tuple(dict.fromkeys((*tally.notes, *_notes(tally), *_about_groups(tally, groups, config)))),
    )


def _group_rows(part: Slice, names: Sequence[str], limits: Limits, config: AuditConfig) -> list[GroupRow]:
    """Return counts and rates of each group."""
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


def _overall_rows(tally: Tally, config: AuditConfig) -> tuple[GroupRow, ...]:
    """Return one row for everybody per model and decision."""
    first: dict[tuple[str, str], Slice] = {}
    for part in tally.slices:
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
        names = shown_names(part)
        limits = rate_limits(names, own_rows(everybody, names), config.confidence)
        rows += _group_rows(everybody, names, limits, config)
    return tuple(rows)


def _notes(tally: Tally) -> list[str]:
    """Return what a reader should know about the comparison itself."""
    notes = []
    if tally.weighted:
        notes.append("Counts are sums of weights; intervals and tests go by the rows that these are worth.")
    for model, decision in dict.fromkeys((part.model, part.decision) for part in tally.slices):
        of_model = f' of model "{model}"' if model else ""
        parts_of = [part for part in tally.slices if (part.model, part.decision) == (model, decision)]
        selected, rows = parts_of[0].counts.overall.sum(0)[1], parts_of[0].counts.overall.sum()
        if math.isclose(selected, 0) or math.isclose(selected, rows):
            who = "Nobody" if math.isclose(selected, 0) else "Everybody"
            notes.append(f"{who} is selected by decision {decision}{of_model}: there is little to compare.")
        notes += [
            f'Attribute "{part.attribute}"{of_model} has one group only: nothing to compare.'
            for part in parts_of
            if len(part.counts.groups) == 1
        ]
    return notes


def _about_groups(tally: Tally, groups: Sequence[GroupRow], config: AuditConfig) -> list[str]:
    """Return notes on groups that are left out, not compared, or small."""
    out, few, weak = [], [], []
    for part in tally.slices:
        gone, may = excluded(part, config), comparable(part, config)
        at = int(references(part, ("selection-rate",), config)[0])
        for g, group in enumerate(part.counts.groups):
            called, rows = f"{group} ({part.attribute})", int(part.rows[g])
            if gone[g]:
                out.append(f"{called}, {rows_in_words(rows)}")
            elif not may[g]:
                few.append(called)
            elif g == at and rows < config.min_group and len(may) > 1:
                weak.append(called)
    small = [f"{row.group} ({row.attribute})" for row in groups if row.small]
    notes = {
        "Left out": out,
        f"Under {100 * config.min_share:g} % of the rows, shown and not compared": few,
        f"The reference has fewer than {config.min_group} rows": weak,
        f"Marked *: fewer than {config.min_group} rows, read with care": small,
    }
    return [f"{text}: {named(list(dict.fromkeys(names)))}." for text, names in notes.items() if names]
