"""From a tally to a report: rates, comparisons, intervals, tests, verdicts. No file is read."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.judge.explain import explain, named
from fairbench_cli.audit.judge.metrics import COMPARED, SHOWN, needs_labels
from fairbench_cli.audit.judge.references import (
    REST,
    REST_NAME,
    Ints,
    both_parts,
    check_references,
    references,
)
from fairbench_cli.audit.judge.report import ALL, Disparity, GroupRow, Interval, Report, RequestedRow
from fairbench_cli.audit.judge.uncertainty import (
    ENOUGH,
    MOST_GROUPS,
    Limits,
    Uncertainty,
    distinct,
    effective,
    p_values,
    percentiles,
    stream,
    uncertainty,
)
from fairbench_cli.audit.judge.verdict import (
    all_of,
    attribute_verdict,
    check_names,
    decide,
    decide_metric,
    deciding_names,
    evidence,
    gate,
    requested_names,
    tau_of,
)
from fairbench_cli.audit.read.tally import Slice, Tally
from fairbench_cli.measures.counts import Counts, Floats, divide
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.rates import RATES, parts
from fairbench_cli.measures.registry import find, measure
from fairbench_cli.measures.significance import holm


@dataclass(frozen=True, eq=False)
class _Compared:
    """A slice with its references, intervals and p-values; columns are `names`, all rates it has."""

    part: Slice
    names: tuple[str, ...]
    at: Ints
    limits: Uncertainty
    p: Floats

    @property
    def columns(self) -> list[int]:
        """Columns that groups are compared on."""
        return [m for m, name in enumerate(self.names) if name in COMPARED]


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
    compared = [_compare(part, config) for part in tally.slices]
    adjusted = _adjust(compared)
    deciding, asked = deciding_names(tally, config), requested_names(config)
    disparities, requested, verdicts = [], [], []
    for one, p_holm in zip(compared, adjusted, strict=True):
        rows, more = _disparities(one, p_holm, config), requested_rows(one.part, asked, config)
        verdicts.append(attribute_verdict(one.part, rows, more, deciding))
        disparities += rows
        requested += more
    groups = [row for one in compared for row in _group_rows(one.part, one.names, one.limits.rate, config)]
    return Report(
        config=config,
        source=tally.source,
        rows=tally.rows,
        weighted=tally.weighted,
        slices=tally.slices,
        decided_by=deciding,
        overall=_overall_rows(tally, config),
        groups=tuple(groups),
        disparities=tuple(disparities),
        requested=tuple(requested),
        verdicts=tuple(verdicts),
        verdict=all_of(row.verdict for row in verdicts),
        gate=gate(verdicts, config),
        explanations=explain(tally, config),
        notes=tuple(dict.fromkeys((*tally.notes, *_notes(tally), *_small(groups, config)))),
    )


def _compare(part: Slice, config: AuditConfig) -> _Compared:
    names = _names(part)
    at = references(part, names, config)
    return _Compared(part, names, at, uncertainty(part, names, at, config), p_values(part, names, at))


def _names(part: Slice) -> tuple[str, ...]:
    return tuple(name for name in SHOWN if part.labelled or not RATES[name].needs_labels)


def _adjust(compared: Sequence[_Compared]) -> list[Floats]:
    """Adjust by Holm within each model and decision, counting a test that two rates share once."""
    families: dict[tuple[str, str], list[tuple[int, Ints]]] = {}
    adjusted = [np.full(one.p.shape, np.nan) for one in compared]
    for i, one in enumerate(compared):
        column = distinct(one.names, one.at)
        own = np.array([m for m in one.columns if column[m] == m], dtype=np.intp)
        families.setdefault((one.part.model, one.part.decision), []).append((i, own))
    for members in families.values():
        p = holm(np.concatenate([compared[i].p[:, own].ravel() for i, own in members]))
        for i, own in members:
            size = len(compared[i].p) * len(own)
            adjusted[i][:, own] = p[:size].reshape(-1, len(own))
            adjusted[i] = adjusted[i][:, distinct(compared[i].names, compared[i].at)]
            p = p[size:]
    return adjusted


def _disparities(one: _Compared, p_holm: Floats, config: AuditConfig) -> list[Disparity]:
    part, groups = one.part, one.part.counts.groups
    above, below, ref_above, ref_below = both_parts(part.counts.n, one.names, one.at)
    rate, ref_rate = divide(above, below), divide(ref_above, ref_below)
    ratio, difference = divide(rate, ref_rate), rate - ref_rate
    found = []
    for g, group in enumerate(groups):
        for m in one.columns:
            name, at = one.names[m], int(one.at[m])
            itself, tau = g == at, tau_of(name, config)
            behind = (float(above[g, m]), float(below[g, m]))
            reference_behind = (float(ref_above[g, m]), float(ref_below[g, m]))
            ref_rows = int(part.rows.sum() - part.rows[g]) if at == REST else int(part.rows[at])
            tested = not (itself or RATES[name].of_all)
            found.append(
                Disparity(
                    *(*part.place, group, REST_NAME if at == REST else groups[at], name),
                    value=float(rate[g, m]),
                    reference_value=float(ref_rate[g, m]),
                    ratio=_interval(ratio, one.limits.ratio, g, m, itself),
                    difference=_interval(difference, one.limits.difference, g, m, itself),
                    p=float(one.p[g, m]),
                    p_holm=float(p_holm[g, m]),
                    tau=tau,
                    parity=decide(*behind, *reference_behind, tau),
                    evidence=evidence(
                        float(p_holm[g, m]),
                        (int(part.rows[g]), ref_rows),
                        (behind[1], reference_behind[1]),
                        config,
                    )
                    if tested
                    else "",
                    is_reference=itself,
                    behind=behind,
                    reference_behind=reference_behind,
                )
            )
    return found


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
                name: _interval(rates, limits, g, m, alone and RATES[name].of_all)
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
            rows=np.array([part.rows.sum()]),
            intersection=False,
        )
        names = _names(part)
        limits = uncertainty(everybody, names, np.zeros(len(names), dtype=np.intp), config).rate
        rows += _group_rows(everybody, names, limits, config)
    return tuple(rows)


def _interval(values: Floats, limits: Limits, g: int, m: int, known: bool) -> Interval:
    """Return the value of group g and column m with its limits, or as its own limits when it is `known`."""
    value = float(values[g, m])
    if known:  # no estimate, as that of a group against itself is none
        return Interval(value, value, value)
    return Interval(value, float(limits[0][g, m]), float(limits[1][g, m]))


def _notes(tally: Tally) -> list[str]:
    """Return what a reader should know about the comparison itself."""
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


def _small(groups: Sequence[GroupRow], config: AuditConfig) -> list[str]:
    """Return a note that names the groups of few rows, if there are any."""
    small = list(dict.fromkeys(f"{row.group} ({row.attribute})" for row in groups if row.small))
    if not small:
        return []
    return [f"Marked *: fewer than {config.min_group} rows, read with care: {named(small)}."]


def requested_rows(part: Slice, names: Sequence[str], config: AuditConfig) -> list[RequestedRow]:
    """Return metrics of every group of a slice but the reference, which is that of the selection rate.

    The group is taken for the deprived one and decision 1 for the favourable one. Weighted counts are scaled
    to the rows that they are worth, so that tests mean what they say. There is no interval of a test, where
    one of the counts behind a metric is below `ENOUGH`, and beyond `MOST_GROUPS` groups.
    """
    if not names:
        return []
    n, groups = effective(part), part.counts.groups
    at = int(references(part, ("selection-rate",), config)[0])
    reference = REST_NAME if at == REST else groups[at]
    others = [g for g in range(len(groups)) if g != at]
    favoured = n.sum(0) - n[others] if at == REST else np.broadcast_to(n[at], n[others].shape)
    both = Counts(("group", "reference"), np.stack([n[others], favoured], axis=1))
    values = {name: measure(name, both) for name in names}
    everybody = float(n.sum())
    drawing = config.draws > 0 and everybody > 0 and len(groups) <= MOST_GROUPS
    found = []
    for i, g in enumerate(others):
        place = (*part.place, groups[g])
        drawn = _draw(both.n[i], everybody, config, place) if drawing else None
        row, parities = {}, {}
        for name in names:
            entry, value = find(name), float(values[name][i])
            row[name] = _drawn_interval(entry, value, both.n[i], drawn, config.confidence)
            parity = decide_metric(entry, value, tau_of(name, config), config.confidence)
            if parity is not None:
                parities[name] = parity
        found.append(RequestedRow(*place, reference, row, parities))
    return found


def _draw(pair: Floats, everybody: float, config: AuditConfig, place: tuple[str, ...]) -> Counts:
    """Resample all rows, and count those of the pair: a multinomial with the other groups in one cell."""
    cells = np.append(pair.ravel(), max(everybody - pair.sum(), 0.0))
    rng = stream(config.seed, "by name", *place)
    drawn = rng.multinomial(round(everybody), cells / cells.sum(), size=config.draws)[:, :-1]
    return Counts(("group", "reference"), drawn.reshape(-1, *pair.shape).astype(np.float64))


def _drawn_interval(
    entry: Metric, value: float, pair: Floats, drawn: Counts | None, confidence: float
) -> Interval:
    behind = pair.sum(-1) if entry.on == "labels" else pair if needs_labels(entry.name) else pair.sum(-2)
    is_test = entry.is_test or math.isinf(entry.low)  # t is without end
    if drawn is None or is_test or behind.min() < ENOUGH:
        return Interval(value, np.nan, np.nan)
    low, high = percentiles(measure(entry.name, drawn), (1 - confidence) / 2)
    return Interval(value, float(low), float(high))
