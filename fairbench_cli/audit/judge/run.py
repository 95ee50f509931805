"""From a tally to an audit: metrics, disparities, intervals, tests, verdicts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairbench_cli.audit.config import AuditConfig as Spec
from fairbench_cli.audit.judge.by_name import by_name, check_names
from fairbench_cli.audit.judge.contrast import contrasts
from fairbench_cli.audit.judge.group_rows import group_rows, interval, overall_rows
from fairbench_cli.audit.judge.metrics import AUDIT_METRICS, metric_names, parts
from fairbench_cli.audit.judge.parity import check_taus, decide, tau_of
from fairbench_cli.audit.judge.references import (
    REST,
    REST_NAME,
    Ints,
    check_references,
    reference_parts,
    references,
)
from fairbench_cli.audit.judge.result import Audit, Disparity
from fairbench_cli.audit.judge.uncertainty import Uncertainty, distinct, p_values, uncertainty
from fairbench_cli.audit.judge.verdict import attribute_verdict, chosen_measures, evidence, overall_verdict
from fairbench_cli.audit.read.tally import Slice, Tally
from fairbench_cli.errors import user_error
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.intervals import holm


@dataclass(frozen=True, eq=False)
class _Compared:
    """A slice with its references, intervals and p-values; columns are `names`, all metrics it has."""

    part: Slice
    names: tuple[str, ...]
    at: Ints
    limits: Uncertainty
    p: Floats

    @property
    def parity(self) -> list[int]:
        """Columns that groups are compared on."""
        return [m for m, name in enumerate(self.names) if AUDIT_METRICS[name].parity]


def audit_tally(tally: Tally, spec: Spec, measures: tuple[str, ...] | None = None) -> Audit:
    """Audit counts.

    Parameters
    ----------
    tally : Tally
        What was counted.
    spec : Spec
        References, tau, limits; its columns and decisions are those of the tally already.
    measures : tuple of str, optional
        Measures or roll-ups that `Audit.verdict` looks at. Left out: selection rates, and with labels the
        false positive, negative, discovery and omission rates.

    Returns
    -------
    Audit

    Raises
    ------
    UserError
        For an unknown reference, measure or tau.
    """
    _check(spec)
    check_taus(spec)
    check_references(tally, spec)
    check_names(tally, spec)
    chosen = chosen_measures(tally, measures)
    compared = [_compare(part, spec) for part in tally.slices]
    adjusted = _adjust(compared)
    disparities = [_disparities(one, p_holm, spec) for one, p_holm in zip(compared, adjusted, strict=True)]
    verdicts = tuple(
        attribute_verdict(one.part, found, [one.names[m] for m in one.parity])
        for one, found in zip(compared, disparities, strict=True)
    )
    return Audit(
        spec=spec,
        tally=tally,
        overall=overall_rows(tally, spec),
        groups=tuple(
            row for one in compared for row in group_rows(one.part, one.names, one.limits.rate, spec)
        ),
        disparities=tuple(disparity for found in disparities for disparity in found),
        verdicts=verdicts,
        verdict=overall_verdict(verdicts, chosen),
        notes=(*tally.notes, *_notes(tally)),
        contrasts=tuple(found for part in tally.slices for found in contrasts(part, spec)),
        by_name=tuple(found for part in tally.slices for found in by_name(part, spec)),
    )


def _check(spec: Spec) -> None:
    if not 0 < spec.confidence < 1:
        raise user_error(
            f"confidence is {spec.confidence!r}", "use a number between 0 and 1, such as 0.95", "--confidence"
        )
    if spec.draws < 0:
        raise user_error(f"draws is {spec.draws!r}", "use 0 for closed forms, or some 1000", "--draws")


def _compare(part: Slice, spec: Spec) -> _Compared:
    names = metric_names(part.labelled)
    at = references(part, names, spec)
    return _Compared(part, names, at, uncertainty(part, names, at, spec), p_values(part, names, at))


def _adjust(compared: Sequence[_Compared]) -> list[Floats]:
    """Adjust by Holm within each model and decision, counting a test that two measures share once."""
    families: dict[tuple[str, str], list[tuple[int, Ints]]] = {}
    adjusted = [np.full(one.p.shape, np.nan) for one in compared]
    for i, one in enumerate(compared):
        column = distinct(one.names, one.at)
        own = np.array([m for m in one.parity if column[m] == m], dtype=np.intp)
        families.setdefault((one.part.model, one.part.decision), []).append((i, own))
    for members in families.values():
        p = holm(np.concatenate([compared[i].p[:, own].ravel() for i, own in members]))
        for i, own in members:
            size = len(compared[i].p) * len(own)
            adjusted[i][:, own] = p[:size].reshape(-1, len(own))
            adjusted[i] = adjusted[i][:, distinct(compared[i].names, compared[i].at)]
            p = p[size:]
    return adjusted


def _disparities(one: _Compared, p_holm: Floats, spec: Spec) -> list[Disparity]:
    part = one.part
    groups = part.counts.groups
    above, below = parts(part.counts.n, one.names)
    ref_above, ref_below = reference_parts(part.counts.n, one.names, one.at)
    rate, ref_rate = divide(above, below), divide(ref_above, ref_below)
    ratio, difference = divide(rate, ref_rate), rate - ref_rate
    taus = {m: tau_of(one.names[m], spec) for m in one.parity}
    found = []
    for g, group in enumerate(groups):
        for m in one.parity:
            at = int(one.at[m])
            itself = g == at
            ref_rows = int(part.rows.sum() - part.rows[g]) if at == REST else int(part.rows[at])
            tested = not (itself or AUDIT_METRICS[one.names[m]].of_all)
            found.append(
                Disparity(
                    model=part.model,
                    decision=part.decision,
                    attribute=part.attribute,
                    group=group,
                    reference=REST_NAME if at == REST else groups[at],
                    measure=one.names[m],
                    value=float(rate[g, m]),
                    reference_value=float(ref_rate[g, m]),
                    ratio=interval(ratio, one.limits.ratio, g, m, itself),
                    difference=interval(difference, one.limits.difference, g, m, itself),
                    p=float(one.p[g, m]),
                    p_holm=float(p_holm[g, m]),
                    tau=taus[m],
                    parity=decide(above[g, m], below[g, m], ref_above[g, m], ref_below[g, m], taus[m]),
                    evidence=evidence(
                        float(p_holm[g, m]),
                        (int(part.rows[g]), ref_rows),
                        (float(below[g, m]), float(ref_below[g, m])),
                        spec,
                    )
                    if tested
                    else "",
                    is_reference=itself,
                )
            )
    return found


def _notes(tally: Tally) -> list[str]:
    """Say what a reader should know about the comparison itself."""
    notes = []
    if tally.weighted:
        notes.append("Counts are sums of weights; intervals and tests go by Kish's effective number of rows.")
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
