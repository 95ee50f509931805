"""From comparisons to verdicts: pass, fail or undecided, of a metric, an attribute and the whole audit."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain

from fairbench_cli.audit import metrics
from fairbench_cli.audit.compare.report import AttributeVerdict, Interval, Place, Report
from fairbench_cli.audit.config import DEFAULT, AuditConfig
from fairbench_cli.audit.margins import WRITE_RATE, rate_mistake
from fairbench_cli.audit.options import unknown_attribute
from fairbench_cli.audit.scan.outcome_kind import AS_DECISIONS
from fairbench_cli.audit.scan.slices import ALL_CLASSES, Tally, are_classes
from fairbench_cli.base.errors import Flag, Problem, UserError
from fairbench_cli.document.model import Verdict
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.number_measures import NUMBER_MEASURES, SHARE_ABOVE

# Fractional weights and metrics that are no ratio of rates count as at a limit within this relative error.
TOLERANCE = 1e-9


def deciding_names(tally: Tally, config: AuditConfig) -> tuple[str, ...]:
    """Return the rates and roll-ups that decide, or the default ones; of numbers the measures."""
    if config.of_numbers:
        usual = metrics.DEFAULTS_BY_OUTCOME[config.outcome or ""]
        if config.measures is None:
            return tuple(name for name in usual if tally.has_truth or not metrics.needs_labels(name))
        return tuple(dict.fromkeys(config.measures))
    if config.effect and not config.metrics and not _has_labels(tally):
        return ("selection-rate",)  # without labels nobody is known to be wrongly selected or missed
    if config.measures is not None:
        return tuple(dict.fromkeys(map(metrics.canonical, config.measures)))
    names = metrics.defined(metrics.DEFAULT, _has_labels(tally))
    if are_classes(tally.slices):
        return (*names, metrics.WHOLE_TABLE)
    return names


def requested_names(config: AuditConfig) -> tuple[str, ...]:
    """Return the metrics to compute for each group and its reference, those of the gate among them."""
    gate = (metric for _, metric in config.watched_metrics if metrics.kind(metric) == "counts")
    return tuple(dict.fromkeys(map(metrics.canonical, chain(config.requested, gate))))


def check_names(tally: Tally, config: AuditConfig) -> None:
    """Check the metrics and attributes that were named against what was counted.

    Raises
    ------
    UserError
        Listing metrics that need labels where there are none, metrics of the gate that cannot decide, its
        attributes that were not audited, and a margin that is none of rates.
    """
    problems = list(_check_kinds(tally, config))
    if not _has_labels(tally):
        gate_names = (name for _, name in config.watched_metrics)
        names = chain(deciding_names(tally, config), requested_names(config), gate_names)
        needing = [
            name for name in dict.fromkeys(map(metrics.canonical, names)) if metrics.needs_labels(name)
        ]
        if needing:
            kinds = {metrics.kind(name) for name in needing}
            others = metrics.DEFAULT_OF_NUMBERS if kinds == {"number"} else metrics.COMPARED
            without = next(name for name in others if not metrics.needs_labels(name))
            fix = f"give the label column, or choose another metric, such as {without}"
            problem = f"{', '.join(needing)} cannot be computed without labels"
            problems.append(Problem(problem, fix, Flag("metric")))
    attributes = {group_counts.attribute for group_counts in tally.slices}
    for key, pairs in (("fail-on", config.fail_on), ("warn-on", config.warn_on)):
        problems += _check_gate_names(pairs, attributes, Flag(key))
    if problems:
        raise UserError(*problems)


def _check_kinds(tally: Tally, config: AuditConfig) -> Iterator[Problem]:
    """Yield what was named and is of another kind of outcome: rates of decisions, or measures of numbers."""
    gate_names = (name for _, name in config.watched_metrics)
    names = dict.fromkeys([*config.metrics, *gate_names])
    if config.outcome == "probability":
        for problem in dict.fromkeys(filter(None, map(rate_mistake, config.margin.values()))):
            yield Problem(problem, WRITE_RATE, Flag("margin"))
        names |= dict.fromkeys(config.margin.keys() - {DEFAULT})
    if config.of_numbers:
        yield from _check_numbers(names, config)
        return
    outcome = Flag("outcome")
    if DEFAULT in config.margin and (problem := rate_mistake(config.margin[DEFAULT])):
        yield Problem(problem, WRITE_RATE, Flag("margin"))
    for name in names:
        if metrics.kind(name) == "number":
            fix = ("name a rate, or say that the scores are numbers: ", Flag("outcome", "number"))
            yield Problem(f"{name} is of numbers, and decisions are audited", fix, outcome)
        elif name == metrics.WHOLE_TABLE and not are_classes(tally.slices):
            key = "metric" if name in config.metrics else "fail-on"
            fix_of_classes = ("leave out ", Flag(key), ", or audit each class: ", Flag("outcome", "class"))
            yield Problem(f"{name} is of several classes, and none are audited", fix_of_classes, outcome)


def _check_numbers(names: Iterable[str], config: AuditConfig) -> Iterator[Problem]:
    """Yield which of the metrics named cannot decide on numbers, and options that these do not take."""
    outcome = Flag("outcome")
    if config.adjusted:
        problem = "limits of numbers are each of one comparison alone, and are not widened"
        yield Problem(problem, "leave it out: p-values and verdicts are adjusted by Holm", Flag("adjusted"))
    for name in names:
        if metrics.kind(name) != "number":
            measure = metrics.DEFAULT_OF_NUMBERS[0]
            fix = (f"name one of numbers, such as {measure}, or say what is selected: ", *AS_DECISIONS)
            yield Problem(f"{name} is of decisions, and numbers are audited", fix, outcome)
        elif config.outcome == "probability" and name == "mae":
            (better,) = metrics.DEFAULTS_BY_OUTCOME["probability"]
            problem = f"{name} of a probability is least for scores of 0 and 1, however sure they may be"
            yield Problem(problem, ("compare the mean of score − label: ", Flag("metric", better)), outcome)
        elif name == SHARE_ABOVE and (config.above is None or name not in config.margin):
            stated = ("above", 50000) if config.above is None else ("margin", (name, 0.05))
            problem = f"{name} decides above a value, by a margin of its own: its {stated[0]} is not said"
            yield Problem(problem, ("give ", Flag(*stated)), Flag("metric"))
        elif not metrics.can_decide(name):
            usual = metrics.DEFAULTS_BY_OUTCOME[config.outcome or ""]
            fix_of_margin = f"name one that has a margin: {', '.join(usual)}"
            yield Problem(f"{name} is shown in any case, and cannot decide", fix_of_margin, Flag("metric"))
        elif config.outcome == "ordinal" and name not in metrics.DEFAULT_OF_LEVELS:
            fix_of_levels = f"levels are compared by {', '.join(metrics.DEFAULT_OF_LEVELS)}"
            yield Problem(
                f"{name} adds up codes of levels, which say their order alone", fix_of_levels, outcome
            )


def _check_gate_names(
    pairs: Iterable[tuple[str, str]], attributes: set[str], where: Flag
) -> Iterator[Problem]:
    """Yield what is wrong with the attributes and metrics that a gate names."""
    for attribute, name in pairs:
        if attribute and attribute not in attributes:
            yield Problem(*unknown_attribute(attribute, name, attributes), where)
        if not name or metrics.can_decide(metrics.canonical(name)):
            continue
        if name in NUMBER_MEASURES:
            fix = f"name one that has a margin: {', '.join(metrics.DEFAULT_OF_NUMBERS)}"
            yield Problem(f"{name} has no margin, so it cannot decide", fix, where)
            continue
        entry = metrics.find_metric(metrics.canonical(name))
        if metrics.is_dependence(entry):
            problem = f"{name} grows with the square of a gap and hides large ones, so it cannot decide"
            yield Problem(problem, f"name {entry.equal}-difference, which it is about", where)
        else:
            problem = f"{name} has no value from which it passes, so it cannot decide"
            yield Problem(problem, ("name another metric; ", Flag("metric"), " shows this one"), where)


def tau_of(name: str, config: AuditConfig) -> float:
    """Return the tau of a metric, by its canonical name; NaN of a rate that passes by a margin.

    A difference passes within 1 − τ, so that its margin is such a tau.
    """
    margin = margin_of(name, config)
    if math.isnan(margin):
        return {metrics.canonical(typed): tau for typed, tau in config.taus.items()}.get(name, config.tau)
    if name in metrics.COMPARED:
        return math.nan
    return 1 - margin


def margin_of(name: str, config: AuditConfig) -> float:
    """Return the margin of a metric, by its canonical name; NaN where it passes by a tau."""
    for typed, margin in config.margin.items():
        if typed != DEFAULT and metrics.canonical(typed) == name:
            return margin.value
    has_own_tau = any(metrics.canonical(typed) == name for typed in config.taus)
    if DEFAULT in config.margin and not has_own_tau and metrics.has_margin(name):
        return config.margin[DEFAULT].value
    return math.nan


def decide(above: float, below: float, ref_above: float, ref_below: float, tau: float) -> Verdict:
    """Decide whether tau <= (above/below) / (ref_above/ref_below) <= 1/tau.

    Whole numbers are compared by cross-multiplication, with tau as the decimal it is written as: a ratio of
    exactly 4/5 passes at 0.8. Fractional weights are compared within a relative error of 1e-9.

    Returns
    -------
    {"pass", "fail", "undecided"}
        Undecidable when a rate has the denominator 0. Two rates of 0 are equal and pass, though their ratio
        is undefined; a rate above 0 against a reference of 0 fails, as does the reverse.

    Examples
    --------
    >>> decide(1, 3, 5, 12, 0.8), decide(0, 3, 0, 12, 0.8), decide(1, 3, 0, 12, 0.8), decide(0, 0, 1, 2, 0.8)
    ('pass', 'pass', 'fail', 'undecided')
    """
    if not (below > 0 and ref_below > 0):
        return "undecided"
    exact = [Fraction(float(value)) for value in (above, below, ref_above, ref_below)]
    mine = exact[0] * exact[3]
    theirs = exact[2] * exact[1]
    low = Fraction(str(tau))
    if any(value.denominator > 1 for value in exact):
        low *= 1 - Fraction(TOLERANCE)
    if low * theirs <= mine and low * mine <= theirs:
        return "pass"
    return "fail"


def decide_difference(
    above: float, below: float, ref_above: float, ref_below: float, margin: float
) -> Verdict:
    """Decide whether above/below − ref_above/ref_below lies from −margin to margin.

    Whole numbers are compared exactly, with the margin as the decimal it is written as; fractional weights
    within 1e-9 of it. Undecidable when a rate has the denominator 0.

    >>> decide_difference(3, 20, 2, 20, 0.05), decide_difference(4, 20, 2, 20, 0.05)
    ('pass', 'fail')
    """
    if not (below > 0 and ref_below > 0):
        return "undecided"
    exact = [Fraction(float(value)) for value in (above, below, ref_above, ref_below)]
    difference = exact[0] / exact[1] - exact[2] / exact[3]
    limit = Fraction(str(margin))
    if any(value.denominator > 1 for value in exact):
        limit *= 1 + Fraction(TOLERANCE)
    if abs(difference) <= limit:
        return "pass"
    return "fail"


def decide_metric(
    entry: Metric, estimate: Interval, tau: float, config: AuditConfig, p_holm: float = math.nan
) -> Verdict | None:
    """Decide on a metric by `metrics.bounds`; None when it cannot decide.

    By evidence it fails where the value is outside its bounds and "it is ideal" is rejected (`p_holm`, the
    adjusted p-value, is below 1 − confidence), and passes where the interval is within the bounds. A p-value
    fails, or says nothing.

    >>> from fairbench_cli.measures.registry import find_metric
    >>> entry, point = find_metric("selection-rate-difference"), AuditConfig(rule="point")
    >>> values = [Interval(value, value - 0.1, value + 0.1) for value in (0, 0.2, 0.21)]
    >>> [decide_metric(entry, value, 0.8, point) for value in values]
    ['pass', 'pass', 'fail']
    >>> [decide_metric(entry, value, 0.8, AuditConfig(), 0.01) for value in values]
    ['pass', 'undecided', 'fail']
    """
    limits = metrics.bounds(entry, tau, config.confidence)
    if limits is None:
        return None
    if math.isnan(estimate.value):
        return "undecided"
    low = limits[0] - TOLERANCE * abs(limits[0])
    high = limits[1] + TOLERANCE * abs(limits[1])
    inside = low <= estimate.value <= high
    if config.rule == "point":
        if inside:
            return "pass"
        return "fail"
    if inside:
        sure = not entry.p_value and low <= estimate.low and estimate.high <= high
        if sure:
            return "pass"
        return "undecided"
    if p_holm < config.alpha:
        return "fail"
    return "undecided"


def combine_verdicts(values: Iterable[Verdict]) -> Verdict:
    """Return Kleene's "and": fail if one fails, else undecided if one is (or there is none), else pass.

    >>> combine_verdicts(["pass", "undecided"]), combine_verdicts(["undecided", "fail"]), combine_verdicts([])
    ('undecided', 'fail', 'undecided')
    """
    seen = set(values)
    if "fail" in seen:
        return "fail"
    if "undecided" in seen or not seen:
        return "undecided"
    return "pass"


def combine_roll_ups(by_metric: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """Return the roll-ups of metrics; one with a metric that is not there (no labels) is left out.

    >>> combine_roll_ups({"selected-share": "fail", "selection-rate": "pass"})
    {'unsupervised-parity': 'fail'}
    """
    by_roll_up = {}
    for name, members in metrics.ROLL_UPS.items():
        if all(metric in by_metric for metric in members):
            by_roll_up[name] = combine_verdicts(by_metric[metric] for metric in members)
    return by_roll_up


def decide_attributes(
    report: Report, extra_verdicts: Mapping[Place, Sequence[tuple[str, Verdict]]]
) -> tuple[AttributeVerdict, ...]:
    """Return the verdict on each attribute: fail if a group fails, else undecided if one is, else pass.

    The reference itself decides nothing; where there is nobody else, nothing is decidable. `extra_verdicts`
    are verdicts on other metrics, by their names. Of classes those on whole tables come last; there are none
    on a class against the rest where nothing decides on it.
    """
    verdicts = []
    of_classes = are_classes(report.slices)
    for key in report.by_audit:
        deciding = [name for name in report.decided_by if name != metrics.WHOLE_TABLE]
        if key[1] == ALL_CLASSES:
            deciding = [metrics.RIGHT]
        elif of_classes:
            deciding = [name for name in deciding if name != metrics.RIGHT]
        if not (deciding or report.config.watched_metrics):
            continue
        rows = report.comparisons_at(key)
        by_metric: dict[str, list[Verdict]] = {row.metric: [] for row in rows}
        for row in rows:
            if not row.is_reference:
                by_metric[row.metric].append(row.verdict)
        for name, verdict in extra_verdicts.get(Place(*key), ()):
            by_metric.setdefault(name, []).append(verdict)
        decided = {name: combine_verdicts(values) for name, values in by_metric.items()}
        decided |= combine_roll_ups(decided)
        if key[1] == ALL_CLASSES:
            decided.setdefault(metrics.RIGHT, "undecided")
        over_all = combine_verdicts(decided.get(name, "undecided") for name in deciding)
        verdicts.append(AttributeVerdict(*key, by_metric=decided, verdict=over_all))
    for table in report.whole_tables:
        by_table: dict[str, Verdict] = {table.metric: table.verdict}
        verdicts.append(AttributeVerdict(*table.place, by_metric=by_table, verdict=table.verdict))
    return tuple(verdicts)


def _has_labels(tally: Tally) -> bool:
    return tally.has_truth or all(group_counts.labelled for group_counts in tally.slices)
