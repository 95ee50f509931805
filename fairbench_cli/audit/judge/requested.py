"""Metrics asked for by name: of each group against its reference, with a bootstrap interval."""

import hashlib
import math
from collections.abc import Sequence

import numpy as np

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.judge.metrics import needs_labels
from fairbench_cli.audit.judge.references import REST, REST_NAME, references
from fairbench_cli.audit.judge.report import Interval, RequestedRow
from fairbench_cli.audit.judge.uncertainty import ENOUGH, MOST_GROUPS, effective
from fairbench_cli.audit.judge.verdict import decide_metric, tau_of
from fairbench_cli.audit.read.tally import Slice
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.registry import find, measure


def requested_rows(part: Slice, names: Sequence[str], config: AuditConfig) -> list[RequestedRow]:
    """Return metrics of every group of a slice but the reference, which is that of the selection rate.

    The group is taken for the deprived one and decision 1 for the favourable one. Weighted counts stand for
    as many rows as they are worth, so that tests mean what they say. There is no interval of a test, where
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
        place = (part.model, part.decision, part.attribute, groups[g])
        drawn = _draw(both.n[i], everybody, config, place) if drawing else None
        row, parities = {}, {}
        for name in names:
            entry, value = find(name), float(values[name][i])
            row[name] = _interval(entry, value, both.n[i], drawn, config.confidence)
            parity = decide_metric(entry, value, tau_of(name, config), config.confidence)
            if parity is not None:
                parities[name] = parity
        found.append(RequestedRow(*place, reference, row, parities))
    return found


def _draw(pair: Floats, everybody: float, config: AuditConfig, place: tuple[str, ...]) -> Counts:
    """Resample all rows, and count those of the pair: a multinomial with the other groups in one cell."""
    cells = np.append(pair.ravel(), max(everybody - pair.sum(), 0.0))
    key = "\x1f".join([str(config.seed), "by name", *place])
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(key.encode()).digest()))
    drawn = rng.multinomial(round(everybody), cells / cells.sum(), size=config.draws)[:, :-1]
    return Counts(("group", "reference"), drawn.reshape(-1, *pair.shape).astype(np.float64))


def _interval(entry: Metric, value: float, pair: Floats, drawn: Counts | None, confidence: float) -> Interval:
    behind = pair.sum(-1) if entry.on == "labels" else pair if needs_labels(entry.name) else pair.sum(-2)
    is_test = entry.section == "test" or entry.p_value or math.isinf(entry.low)  # t and z are without end
    if drawn is None or is_test or behind.min() < ENOUGH:
        return Interval(value, np.nan, np.nan)
    drawn_values = measure(entry.name, drawn)
    known, tail = drawn_values[~np.isnan(drawn_values)], (1 - confidence) / 2
    if not len(known):
        return Interval(value, np.nan, np.nan)
    # Order statistics, outward.
    low, high = np.quantile(known, tail, method="lower"), np.quantile(known, 1 - tail, method="higher")
    return Interval(value, float(low), float(high))
