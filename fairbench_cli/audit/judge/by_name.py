"""Measures of the registry asked for by name: each group beside its reference, with a bootstrap interval."""

import hashlib

import numpy as np

from fairbench_cli.audit.config import AuditConfig as Spec
from fairbench_cli.audit.judge.contrast import pairs
from fairbench_cli.audit.judge.metrics import AUDIT_METRICS
from fairbench_cli.audit.judge.parity import ROLL_UPS
from fairbench_cli.audit.judge.result import ByName, Interval
from fairbench_cli.audit.judge.uncertainty import ENOUGH, MOST_GROUPS, effective
from fairbench_cli.audit.read.tally import Slice, Tally
from fairbench_cli.errors import shown, suggest, user_error
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.registry import MEASURES, measure

# What the audit itself calls by a name stays that: accuracy is of a group, not of two.
NAMES = tuple(name for name in MEASURES if name not in AUDIT_METRICS and name not in ROLL_UPS)


def check_names(tally: Tally, spec: Spec) -> None:
    """Check that the measures exist, and that there are labels for those that need them.

    Raises
    ------
    UserError
    """
    for name in spec.requested:
        if name not in NAMES:
            raise user_error(f"no measure called {shown(name)}", suggest(name, NAMES), "measures")
    needing = [name for name in spec.requested if MEASURES[name].on != "both"]
    if needing and not all(part.labelled for part in tally.slices):
        what = f"{', '.join(needing)} cannot be computed without labels"
        raise user_error(what, "give labels beside the scores, or choose another measure", "measures")


def by_name(part: Slice, spec: Spec) -> list[ByName]:
    """Compute `spec.requested` for every group of a slice but the reference.

    The group is taken for the deprived one and decision 1 for the favourable one, as in `contrast`. Weighted
    counts stand for as many rows as they are worth, so that tests mean what they say. There is no interval of
    a test, where one of the counts behind a measure is below `ENOUGH`, and beyond `MOST_GROUPS` groups.
    """
    if not spec.requested:
        return []
    n = effective(part)
    others, reference, both = pairs(part, spec, n)
    values = {name: measure(name, both) for name in spec.requested}
    everybody = float(n.sum())
    drawing = spec.draws > 0 and everybody > 0 and len(part.counts.groups) <= MOST_GROUPS
    found = []
    for i, g in enumerate(others):
        group = part.counts.groups[g]
        drawn = _draw(both.n[i], everybody, spec, (*_place(part), group)) if drawing else None
        of = {
            name: _interval(name, float(by_pair[i]), both.n[i], drawn, spec.confidence)
            for name, by_pair in values.items()
        }
        found.append(ByName(*_place(part), group, reference, of))
    return found


def _place(part: Slice) -> tuple[str, str, str]:
    return part.model, part.decision, part.attribute


def _draw(pair: Floats, everybody: float, spec: Spec, place: tuple[str, ...]) -> Counts:
    """Resample all rows, and count those of the pair: a multinomial with the other groups in one cell."""
    cells = np.append(pair.ravel(), max(everybody - pair.sum(), 0.0))
    key = "\x1f".join([str(spec.seed), "by name", *place])
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(key.encode()).digest()))
    drawn = rng.multinomial(round(everybody), cells / cells.sum(), size=spec.draws)[:, :-1]
    return Counts(("group", "reference"), drawn.reshape(-1, *pair.shape).astype(np.float64))


def _interval(name: str, value: float, pair: Floats, drawn: Counts | None, confidence: float) -> Interval:
    entry = MEASURES[name]
    behind = {"both": pair.sum(-2), "labels": pair.sum(-1), "predictions": pair}[entry.on]
    if drawn is None or entry.section == "test" or behind.min() < ENOUGH:
        return Interval(value, np.nan, np.nan)
    drawn_values = measure(name, drawn)
    known, tail = drawn_values[~np.isnan(drawn_values)], (1 - confidence) / 2
    if not len(known):
        return Interval(value, np.nan, np.nan)
    # Order statistics, outward.
    low, high = np.quantile(known, tail, method="lower"), np.quantile(known, 1 - tail, method="higher")
    return Interval(value, float(low), float(high))
