"""From comparisons to verdicts: pass, fail or undecidable, of a metric, an attribute and the whole audit."""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.judge.metrics import (
    COMPARED,
    DEFAULT,
    ROLL_UPS,
    bounds,
    can_decide,
    canonical,
    kind,
    needs_labels,
)
from fairbench_cli.audit.judge.report import AttributeVerdict, Disparity, Evidence, Parity, RequestedRow
from fairbench_cli.audit.read.tally import Slice, Tally
from fairbench_cli.errors import Problem, UserError, shown, suggest
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.rates import RATES

# Fractional weights and metrics that are no ratio of rates count as at a limit within this relative error.
TOLERANCE = 1e-9


def deciding_names(tally: Tally, config: AuditConfig) -> tuple[str, ...]:
    """Return the rates and roll-ups that decide, or the default ones."""
    if config.measures is not None:
        return tuple(dict.fromkeys(map(canonical, config.measures)))
    return tuple(name for name in DEFAULT if _labelled(tally) or not RATES[name].needs_labels)


def requested_names(config: AuditConfig) -> tuple[str, ...]:
    """Return the metrics to compute for each group and its reference, those of the gate among them."""
    gate = (metric for _, metric in config.fail_on if kind(metric) == "counts")
    return tuple(dict.fromkeys(map(canonical, (*config.requested, *gate))))


def check_names(tally: Tally, config: AuditConfig) -> None:
    """Check the metrics and attributes that were named against what was counted.

    Raises
    ------
    UserError
        Listing metrics that need labels where there are none, metrics of the gate that cannot decide, and its
        attributes that were not audited.
    """
    problems = []
    if not _labelled(tally):
        gate_names = (name for _, name in config.fail_on)
        named = (*deciding_names(tally, config), *requested_names(config), *gate_names)
        needing = [name for name in dict.fromkeys(map(canonical, named)) if needs_labels(name)]
        if needing:
            without = [name for name in COMPARED if not RATES[name].needs_labels]
            fix = f"give the label column, or choose another metric, such as {' or '.join(without)}"
            what = f"{', '.join(needing)} cannot be computed without labels"
            problems.append(Problem(what, fix, "--metric"))
    attributes = {part.attribute for part in tally.slices}
    for attribute, name in config.fail_on:
        if attribute and attribute not in attributes:
            what = f"no attribute called {shown(attribute)} was audited"
            problems.append(Problem(what, suggest(attribute, attributes), "--fail-on"))
        if not can_decide(canonical(name)):
            what = f"{name} has no value from which it passes, so it cannot decide"
            problems.append(Problem(what, "name another metric; --metric shows this one", "--fail-on"))
    if problems:
        raise UserError(*problems)


def tau_of(name: str, config: AuditConfig) -> float:
    """Return the tau of a metric, by its canonical name."""
    return {canonical(typed): tau for typed, tau in config.taus.items()}.get(name, config.tau)


def decide(above: float, below: float, ref_above: float, ref_below: float, tau: float) -> Parity:
    """Decide whether tau <= (above/below) / (ref_above/ref_below) <= 1/tau.

    Whole numbers are compared by cross-multiplication, with tau as the decimal it is written as: a ratio of
    exactly 4/5 passes at 0.8. Fractional weights are compared within a relative error of 1e-9.

    Returns
    -------
    {"pass", "fail", "undecidable"}
        Undecidable when a rate has the denominator 0. Two rates of 0 are equal and pass, though their ratio
        is undefined; a rate above 0 against a reference of 0 fails, as does the reverse.

    Examples
    --------
    >>> decide(1, 3, 5, 12, 0.8), decide(0, 3, 0, 12, 0.8), decide(1, 3, 0, 12, 0.8), decide(0, 0, 1, 2, 0.8)
    ('pass', 'pass', 'fail', 'undecidable')
    """
    if not (below > 0 and ref_below > 0):
        return "undecidable"
    exact = [Fraction(float(value)) for value in (above, below, ref_above, ref_below)]
    mine, theirs, low = exact[0] * exact[3], exact[2] * exact[1], Fraction(str(tau))
    if any(value.denominator > 1 for value in exact):
        low *= 1 - Fraction(TOLERANCE)
    return "pass" if low * theirs <= mine and low * mine <= theirs else "fail"


def decide_metric(entry: Metric, value: float, tau: float, confidence: float) -> Parity | None:
    """Decide on the value of a metric by `metrics.bounds`; None when it cannot decide.

    >>> from fairbench_cli.measures.registry import find
    >>> [decide_metric(find("selection-rate-difference"), value, 0.8, 0.95) for value in (-0.2, 0.21)]
    ['pass', 'fail']
    """
    limits = bounds(entry, tau, confidence)
    if limits is None:
        return None
    if math.isnan(value):
        return "undecidable"
    low, high = limits
    return "pass" if low - TOLERANCE * abs(low) <= value <= high + TOLERANCE * abs(high) else "fail"


def evidence(
    p_holm: float, rows: Sequence[int], denominators: Sequence[float], config: AuditConfig
) -> Evidence:
    """Return whether a difference is beyond chance.

    Parameters
    ----------
    p_holm : float
        Adjusted p-value; NaN when there is no test.
    rows, denominators : sequences of two numbers
        Rows of the group and of its reference, and those that the rate counts (all negatives, say).
    config : AuditConfig
        The confidence, and how few rows are too few.

    Returns
    -------
    {"beyond chance", "within chance", "too few to tell"}
        Too few when a group has fewer than `min_group` rows or there is no test; also when nothing was
        found and one of the rates counts fewer.
    """
    if min(rows) < config.min_group or math.isnan(p_holm):
        return "too few to tell"
    if p_holm < 1 - config.confidence:
        return "beyond chance"
    return "too few to tell" if min(denominators) < config.min_group else "within chance"


def all_of(values: Iterable[Parity]) -> Parity:
    """Return Kleene's "and": fail if one fails, else undecidable if one is (or there is none), else pass.

    >>> all_of(["pass", "undecidable"]), all_of(["undecidable", "fail"]), all_of([])
    ('undecidable', 'fail', 'undecidable')
    """
    seen = set(values)
    if "fail" in seen:
        return "fail"
    return "undecidable" if "undecidable" in seen or not seen else "pass"


def roll_ups(by_metric: Mapping[str, Parity]) -> dict[str, Parity]:
    """Return the roll-ups of metrics; one with a metric that is not there (no labels) is left out.

    >>> roll_ups({"selected-share": "fail", "selection-rate": "pass"})
    {'unsupervised-parity': 'fail'}
    """
    return {
        name: all_of(by_metric[metric] for metric in metrics)
        for name, metrics in ROLL_UPS.items()
        if all(metric in by_metric for metric in metrics)
    }


def attribute_verdict(
    part: Slice,
    disparities: Sequence[Disparity],
    requested: Sequence[RequestedRow],
    deciding: Sequence[str],
) -> AttributeVerdict:
    """Return the verdict on a slice: fail if a group fails, else undecidable if one is, else pass.

    The reference itself decides nothing; where there is nobody else, nothing is decidable.
    """
    by_metric: dict[str, list[Parity]] = {row.metric: [] for row in disparities}
    for row in disparities:
        if not row.is_reference:
            by_metric[row.metric].append(row.parity)
    for asked in requested:
        for name, parity in asked.parity.items():
            by_metric.setdefault(name, []).append(parity)
    decided: dict[str, Parity] = {name: all_of(values) for name, values in by_metric.items()}
    decided |= roll_ups(decided)
    verdict = all_of(decided.get(name, "undecidable") for name in deciding)
    return AttributeVerdict(*part.place, decided, verdict)


def gate(verdicts: Sequence[AttributeVerdict], config: AuditConfig) -> Parity:
    """Return the verdict over what `fail_on` names; if it names nothing, over all that decides."""
    if not config.fail_on:
        return all_of(row.verdict for row in verdicts)
    return all_of(
        row.parity.get(canonical(name), "undecidable")
        for attribute, name in config.fail_on
        for row in verdicts
        if attribute in ("", row.attribute)
    )


def _labelled(tally: Tally) -> bool:
    return all(part.labelled for part in tally.slices)
