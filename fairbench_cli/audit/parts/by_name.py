"""Metrics asked for by name: values, intervals, tests and verdicts of each group against its reference.

What is tested goes by `Metric.tested`. A difference or ratio of one rate has the interval and the test of
that rate. A largest or absolute value is off its ideal whatever chance does, so that its distance from it
tests nothing: each difference that it is the largest of is tested. It fails where one of these is itself too
large and beyond chance, and passes where all pass. A p-value has the test of its rate. What is best at an end
of its range, such as an accuracy, is never ideal: it fails where it is beyond chance worse than its limit.
Other metrics are bootstrapped: rows are drawn again, as many as weighted rows are worth, and the distance
from the ideal is tested by their spread. The multinomial bootstrap of the counts is the bootstrap of the
rows: a drawn table is what counting resampled rows would give. Percentile intervals are too narrow where few
rows are on one side of a rate (at 0 or n their width is zero), so metrics with fewer than `ENOUGH` there have
none. All tests are adjusted together by Holm, apart from the rates of every audit.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairbench_cli.audit.compare.effective import rows_per_weight
from fairbench_cli.audit.compare.kernel import Compared, Family, Limits
from fairbench_cli.audit.compare.references import (
    REST,
    REST_NAME,
    Ints,
    chosen_by_rate,
    comparable,
    kept,
    references,
)
from fairbench_cli.audit.compare.report import Interval, Pair, Place, Reason, Report
from fairbench_cli.audit.compare.verdict import all_of, decide_metric, requested_names, tau_of
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.metrics import bounds, needs_labels
from fairbench_cli.audit.parts.part import Part, View, stream
from fairbench_cli.audit.parts.writing import (
    DASH,
    REASONS,
    fine_cell,
    group_cell,
    listed,
    p_cell,
    place,
    reason_words,
)
from fairbench_cli.audit.scan.tally import Slice
from fairbench_cli.document.model import VERDICTS, Section, TableCell, TextTable, Verdict, table_of
from fairbench_cli.measures.counts import Counts, Floats, divide
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.rates import RATES
from fairbench_cli.measures.registry import find, measure
from fairbench_cli.measures.significance import normal_p

ENOUGH = 10  # rows in each count behind a metric that is bootstrapped
MOST_GROUPS = 200  # of one slice are bootstrapped; with more, none is
NAMED = ("group", "reference")
POINT = AuditConfig(rule="point")
TESTED: dict[str, str] = {  # what is tested, in words, where it is not the metric itself
    "parts": "A largest or absolute value fails where one of its parts fails, and passes where all pass.",
    "rate": "A p-value, and what has no sign, fails where the rates differ by the test of an audit, too.",
    "limit": "What is best at an end of its range fails where it is beyond chance worse than its limit.",
}


@dataclass(frozen=True)
class RequestedRow(Pair):
    """The metrics asked for by name, of one group, taken for the deprived one, against its reference."""

    values: dict[str, Interval]
    verdicts: dict[str, Verdict]  # of those that can decide


@dataclass(frozen=True)
class RequestedTest(Pair):
    """What was tested for a metric asked for by name that can decide: the metric, or a part of it.

    Parameters
    ----------
    metric, tested : str
        The metric, and what its test is of; several tests for one that is the largest of several.
    value : Interval
        Of what is tested.
    p, p_holm : float
        Of the hypothesis that it is ideal (or of the limit, see `Metric.tested`), two-sided, and adjusted
        over all tests of metrics asked for by name. NaN where there is no test.
    verdict : {"pass", "fail", "undecided"}
        The metric fails where one of its tests does, and passes where all do.
    reason : {"no rows", "chance", "few", "wide", ""}
        Why it is not decided.
    """

    metric: str
    tested: str
    value: Interval
    p: float
    p_holm: float
    verdict: Verdict
    reason: Reason


@dataclass(frozen=True)
class Requested:
    """The metrics asked for by name, and how their intervals were made: in closed form, or drawn."""

    rows: tuple[RequestedRow, ...]
    tests: tuple[RequestedTest, ...] = ()
    closed: bool = False
    drawn: bool = False


@dataclass(frozen=True)
class _Tested:
    """A value with its interval, and the p-value of "it is ideal"; NaN where there is none."""

    known: Interval
    p: float = math.nan
    drawn: bool = False

    @property
    def member(self) -> float:
        """The p-value in its family: 1 where there is no test, NaN where there is no value."""
        return math.nan if math.isnan(self.known.value) else 1.0 if math.isnan(self.p) else self.p


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The groups of a slice and their references: weights summed, and what a unit of these is worth in rows.

    `n` has the shape (pairs, 2, 2, 2): group and reference, labels, predictions; `worth` (pairs, 2).
    """

    part: Slice
    groups: tuple[int, ...]
    at: Ints
    n: Floats
    worth: Floats
    everybody: float

    def named(self, group: int) -> Pair:
        """Return the names of a group and of its reference."""
        groups, at = self.part.counts.groups, int(self.at[0])
        return Pair(*self.part.place, groups[group], REST_NAME if at == REST else groups[at])

    @cached_property
    def drawn(self) -> dict[int, Counts]:
        """The draws of pairs, which all metrics share: filled as they are needed."""
        return {}

    @cached_property
    def rows(self) -> Floats:
        """What the weights are worth."""
        return self.n * self.worth[:, :, None, None]


def requested(_: tuple[()], base: Report) -> Requested:
    """Return metrics of every group of each slice but the reference, which is that of the selection rate.

    The group is taken for the deprived one and decision 1 for the favourable one. Tests are of the rows that
    weights are worth. There is no interval of a test, where one of the counts behind a metric is below
    `ENOUGH`, and beyond `MOST_GROUPS` groups.
    """
    config, names = base.config, requested_names(base.config)
    slices = [_pairs(kept(part, config), config) for part in base.slices]
    deciding = [name for name in names if bounds(find(name), tau_of(name, config), config.confidence)]
    tests = {name: parts_tested(find(name)) for name in deciding}
    columns = list(dict.fromkeys(one for each in tests.values() for one in each))
    found = [_all_tested(pairs, names, columns, config) for pairs in slices]
    tables, others = [], []
    for pairs, metrics in zip(slices, found, strict=True):
        many = len(pairs.groups)
        p = [[metrics[name][i].member for name in columns] for i in range(many)]
        tables.append(np.array(p, dtype=np.float64).reshape(many, len(columns)))
        # A reference that the data chose is the extreme one of all pairs: the others count as tests, too.
        more = many * (many - 1) // 2 if chosen_by_rate(pairs.part, config) else 0
        others.append(np.ones((more, len(columns))))
    rows, decided = [], []
    for pairs, metrics, table in zip(slices, found, Family(tables, pairs=others).adjusted(), strict=True):
        for i, group in enumerate(pairs.groups):
            p_holm = dict(zip(columns, table[i].tolist(), strict=True))
            pair = pairs.named(group)
            values = {name: metrics[name][i] for name in metrics}
            own = [
                _decided(pair, name, one, values, p_holm[one], config)
                for name in deciding
                for one in tests[name]
            ]
            verdicts = {name: all_of(one.verdict for one in own if one.metric == name) for name in deciding}
            rows.append(
                RequestedRow(
                    **vars(pair), values={name: values[name].known for name in names}, verdicts=verdicts
                )
            )
            decided += own
    bounded = [
        tested.drawn
        for metrics in found
        for name in names
        for tested in metrics[name]
        if not math.isnan(tested.known.low)
    ]
    return Requested(tuple(rows), tuple(decided), closed=False in bounded, drawn=True in bounded)


def parts_tested(entry: Metric) -> tuple[str, ...]:
    """Return the names of what is tested for a metric: its parts, its rate, or the metric itself.

    >>> [parts_tested(find(name)) for name in ("equalised-odds", "chi-squared-p", "phi")]
    [('tpr-difference', 'fpr-difference'), ('selection-rate-difference',), ('phi',)]
    """
    of = {"parts": entry.farthest_of, "rate": (f"{entry.equal}-difference",)}
    return of.get(entry.tested, (entry.name,))


def _all_tested(
    pairs: _Pairs, names: Iterable[str], columns: Iterable[str], config: AuditConfig
) -> dict[str, list[_Tested]]:
    """Return what is tested, and the metrics asked for: of the parts of a metric its interval is made."""
    found = {name: _tested(pairs, name, config) for name in columns}
    for name in names:
        entry = find(name)
        if entry.tested == "parts":
            values, of = _values(pairs, entry).tolist(), [found[part] for part in entry.farthest_of]
            found[name] = [_farthest(entry, value, parts) for value, *parts in zip(values, *of, strict=True)]
        elif name not in found:
            found[name] = _tested(pairs, name, config)
    pairs.drawn.clear()
    return found


def _decided(
    pair: Pair, name: str, test: str, values: dict[str, _Tested], p_holm: float, config: AuditConfig
) -> RequestedTest:
    """Return what one test decides on a metric."""
    entry, tau, tested = find(name), tau_of(name, config), values[test]
    judged, known = (find(test), tested.known) if entry.tested == "parts" else (entry, values[name].known)
    verdict = decide_metric(judged, known, tau, config, p_holm) or "undecided"
    reason: Reason = ""
    if verdict == "undecided" and math.isnan(known.value):
        reason = "no rows"
    elif verdict == "undecided" and decide_metric(judged, known, tau, POINT) == "fail":
        reason = "few" if math.isnan(tested.p) else "chance"
    elif verdict == "undecided":
        reason = "chance" if judged.p_value else "few" if math.isnan(known.low) else "wide"
    p_holm = math.nan if math.isnan(tested.p) else p_holm
    return RequestedTest(
        **vars(pair),
        metric=name,
        tested=test,
        value=tested.known,
        p=tested.p,
        p_holm=p_holm,
        verdict=verdict,
        reason=reason,
    )


def _pairs(part: Slice, config: AuditConfig) -> _Pairs:
    n, worth = part.counts.n, rows_per_weight(part)
    places = references(part, ("selection-rate",), config)
    at = int(places[0])
    others = [g for g in np.flatnonzero(comparable(part, config)).tolist() if g != at]
    if at == REST:
        favoured, every = n.sum(0) - n[others], range(len(n))
        rest = [float(rows_per_weight(part, [h for h in every if h != g])) for g in others]
        ref_worth = np.array(rest, dtype=np.float64)
    else:
        favoured, ref_worth = np.broadcast_to(n[at], n[others].shape), np.full(len(others), worth[at])
    both = np.stack([n[others], favoured], axis=1)
    each_worth = np.stack([worth[others], ref_worth], axis=1)
    everybody = float((n * worth[:, None, None]).sum())
    return _Pairs(part, tuple(others), places, both, each_worth, everybody)


def _tested(pairs: _Pairs, name: str, config: AuditConfig) -> list[_Tested]:
    """Return a metric of each pair, itself tested."""
    entry, closed, rows = find(name), closed_form(name), pairs.rows
    if closed and not (rows.sum((2, 3)) <= 0).any():
        return _of_rate(pairs, *closed, config)
    groups = pairs.part.counts.groups
    drawing = config.draws > 0 and pairs.everybody > 0 and len(groups) <= MOST_GROUPS
    found = []
    for i, (g, value) in enumerate(zip(pairs.groups, _values(pairs, entry).tolist(), strict=True)):
        tested = _Tested(Interval(value, math.nan, math.nan))
        if drawing and _enough(entry, rows[i]):
            if i not in pairs.drawn:
                drawn = _draw(rows[i], pairs.everybody, config, (*pairs.part.place, groups[g]))
                by = np.where(pairs.worth[i] > 0, pairs.worth[i], 1.0)
                pairs.drawn[i] = Counts(NAMED, drawn / by[:, None, None])
            drawn_values = measure(name, pairs.drawn[i])
            tested = _of_draws(entry, value, drawn_values, tau_of(name, config), config.confidence)
        found.append(tested)
    return found


def _values(pairs: _Pairs, entry: Metric) -> Floats:
    """Return a metric of each pair; a test is of the rows that weights are worth."""
    return measure(entry, Counts(NAMED, pairs.rows if entry.is_test else pairs.n))


def _farthest(entry: Metric, value: float, parts: Sequence[_Tested]) -> _Tested:
    """Return a largest value with its interval: from the nearest all parts may be to the farthest of one.

    >>> both = [_Tested(Interval(0.1, -0.3, 0.2)), _Tested(Interval(-0.3, -0.5, -0.1), drawn=True)]
    >>> _farthest(find("equalised-odds"), 0.3, both).known
    Interval(value=0.3, low=0.1, high=0.5)
    >>> _farthest(find("tpr-worst-ratio"), 0.5, [_Tested(Interval(2.0, 0.8, 4.0))]).known
    Interval(value=0.5, low=0.25, high=1.0)
    """
    ideal = float(entry.ideal or 0)
    ends = np.array([(part.known.low, part.known.high) for part in parts])
    if np.isnan(ends).any():
        return _Tested(Interval(value, math.nan, math.nan))
    within = (ends[:, 0] <= ideal) & (ideal <= ends[:, 1])
    folded = np.minimum(ends, divide(1.0, ends)) if ideal else np.abs(ends)
    pick = (np.min, np.max) if ideal else (np.max, np.min)
    far, near = pick[0](folded, axis=1), np.where(within, ideal, pick[1](folded, axis=1))
    known = Interval(value, *sorted((float(pick[0](near)), float(pick[0](far)))))
    return _Tested(known, drawn=any(part.drawn for part in parts))


def closed_form(name: str) -> tuple[str, str] | None:
    """Return the rate and the comparison, where a metric is a difference or ratio of one rate.

    >>> closed_form("fpr-ratio"), closed_form("demographic_parity_difference"), closed_form("phi")
    (('fpr', 'ratio'), None, None)
    """
    for spelled in (name, find(name).alias_of):
        rate, _, comparison = spelled.rpartition("-")
        known = RATES.get(rate)
        if known and comparison in ("difference", "ratio") and not (known.of_all or known.mean_of):
            return rate, comparison
    return None


def _of_rate(pairs: _Pairs, rate: str, comparison: str, config: AuditConfig) -> list[_Tested]:
    """Return the difference or ratio of one rate, with its interval and test."""
    table = Compared(pairs.part, (rate,), pairs.at, config)
    value = table.difference if comparison == "difference" else table.ratio
    p = np.where(table.tests.few, np.nan, table.tests.p)[:, 0]
    return [_Tested(value(g, 0), float(p[g])) for g in pairs.groups]


def _enough(entry: Metric, rows: Floats) -> bool:
    """Return whether each of the counts behind a metric of a pair has rows enough, and it is no test."""
    behind = rows.sum(-1) if entry.on == "labels" else rows if needs_labels(entry.name) else rows.sum(-2)
    is_test = entry.is_test or math.isinf(entry.low)  # t is without end
    return bool(behind.min() >= ENOUGH) and not is_test


def _draw(pair: Floats, everybody: float, config: AuditConfig, place: tuple[str, ...]) -> Floats:
    """Resample all rows, and count those of the pair: a multinomial with the other groups in one cell."""
    cells = np.append(pair.ravel(), max(everybody - pair.sum(), 0.0))
    rng = stream(config.seed, "by name", *place)
    drawn = rng.multinomial(round(cells.sum()), cells / cells.sum(), size=config.draws)[:, :-1]
    return drawn.reshape(-1, *pair.shape).astype(np.float64)


def _of_draws(entry: Metric, value: float, drawn: Floats, tau: float, confidence: float) -> _Tested:
    """Return percentiles of draws, and a normal test by their spread; of ratios, on a logarithm."""
    low, high = percentiles(drawn, (1 - confidence) / 2)
    p, target = math.nan, entry.ideal
    if entry.tested == "limit" and (limits := bounds(entry, tau, confidence)):
        target = min(max(value, limits[0]), limits[1])  # the value itself where it is good enough
    if target is not None and not math.isnan(value):
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.log if entry.ratio else np.asarray
            spread = np.nanstd(scale(drawn)[np.isfinite(scale(drawn))]) if np.isfinite(drawn).any() else 0.0
            away = float(scale(np.float64(value)) - scale(np.float64(target)))
        p = float(normal_p(away / spread)) if spread > 0 and math.isfinite(away) else math.nan
    return _Tested(Interval(value, float(low), float(high)), p, drawn=True)


def percentiles(values: Floats, tail: float) -> Limits:
    """Return order statistics at both tails of the defined draws, outward: (..., draws) becomes (...)."""
    ordered = np.sort(values, axis=-1)  # NaN last
    last = np.maximum((~np.isnan(ordered)).sum(-1) - 1, 0)
    ends = np.stack([np.floor(tail * last), np.ceil((1 - tail) * last)], axis=-1).astype(np.intp)
    low, high = np.moveaxis(np.take_along_axis(ordered, ends, axis=-1), -1, 0)
    return low, high


def requested_sections(found: Requested, report: Report, view: View) -> tuple[Section, ...]:
    """Return a section of the metrics asked for by name, if any: a table for each attribute."""
    slices: dict[tuple[str, ...], list[RequestedRow]] = {}
    for row in found.rows:
        slices.setdefault((row.model, row.decision, row.attribute, row.reference), []).append(row)
    if not slices:
        return ()
    kinds = {find(test.metric).tested for test in found.tests}
    how = "".join(f" {TESTED[kind]}" for kind in TESTED if kind in kinds)
    sentences = (
        "The group is taken for the deprived, its reference for the favoured and being selected for the "
        "favourable outcome: where that hurts, read them the other way.",
        f"{_intervals(found, f'{100 * report.config.confidence:g} %')}Tests have no interval, and a metric "
        "that is no difference or ratio of one rate has none where one of the counts behind it is below "
        f"{ENOUGH}.{how} These verdicts count with --fail-on alone; p (Holm) is adjusted for all that is "
        f"tested here.{_allowed(found, report.config)}",
    )
    tests: dict[tuple[str, ...], list[RequestedTest]] = {}
    for test in found.tests:
        tests.setdefault((*_place(test), test.metric), []).append(test)
    tables = tuple(_table(rows, tests, report, view) for rows in slices.values())
    return (Section("Metrics asked for by name", sentences, tables),)


def _allowed(found: Requested, config: AuditConfig) -> str:
    """Return within which limits what is tested passes."""
    known: dict[str, list[str]] = {}
    for metric, tested in dict.fromkeys((test.metric, test.tested) for test in found.tests):
        entry = find(tested if find(metric).tested == "parts" else metric)
        limits = bounds(entry, tau_of(metric, config), config.confidence)
        if limits:
            low, high = max(limits[0], entry.low), min(limits[1], entry.high)
            known.setdefault(f"from {low:.3g} to {high:.3g}", []).append(entry.name)
    said = "; ".join(f"{listed(list(dict.fromkeys(names)))} {limits}" for limits, names in known.items())
    return f" Allowed: {said}." if said else ""


def _place(row: Pair) -> tuple[str, ...]:
    return row.model, row.decision, row.attribute, row.group


def _intervals(found: Requested, level: str) -> str:
    """Return how the intervals were made, if there are any."""
    if found.closed and found.drawn:
        how = (
            "intervals, each for itself: in closed form for a difference or ratio of one rate and the "
            "largest of such, else bootstrapped"
        )
    elif found.closed:
        how = "intervals in closed form, each for itself"
    else:
        how = "bootstrap intervals, each for itself"
    return f"Brackets hold {level} {how}. " if found.closed or found.drawn else ""


@dataclass(frozen=True)
class _Line:
    """A metric of a group, or a part of it, with what was tested of it alone."""

    row: RequestedRow
    name: str
    known: Interval
    verdict: Verdict | None
    reason: Reason
    test: RequestedTest | None
    least_p: float  # of what was tested of it, adjusted
    part: bool = False


def _lines(row: RequestedRow, name: str, tests: Sequence[RequestedTest]) -> Iterator[_Line]:
    """Yield the line of a metric, then those of the differences that it is the largest of."""
    of_parts, reasons = find(name).tested == "parts", [test.reason for test in tests]
    undecided = row.verdicts.get(name) == "undecided"
    reason: Reason = next((one for one in REASONS if undecided and one in reasons), "")
    alone = tests[0] if tests and not of_parts else None
    least_p = min((test.p_holm for test in tests if not math.isnan(test.p_holm)), default=math.nan)
    yield _Line(row, name, row.values[name], row.verdicts.get(name), reason, alone, least_p)
    for test in tests if of_parts else ():
        known = (test.value, test.verdict, test.reason, test, test.p_holm)
        yield _Line(row, f"of which {test.tested}", *known, part=True)


def _table(
    rows: list[RequestedRow], tests: Mapping[tuple[str, ...], list[RequestedTest]], report: Report, view: View
) -> TextTable:
    first = rows[0]
    where = f" ({place(first.model, first.decision)})" if report.several else ""
    small = {row.group for row in report.groups if row.small and row.attribute == first.attribute}

    def value(line: _Line) -> TableCell:
        return (
            p_cell(line.known.value) if not line.part and find(line.name).p_value else fine_cell(line.known)
        )

    def ideal(line: _Line) -> TableCell:
        best = None if line.part else find(line.name).ideal
        return TableCell("" if best is None else f"{best:g}", "", math.nan if best is None else best)

    def p(line: _Line, which: str) -> TableCell:
        return p_cell(math.nan if line.test is None else getattr(line.test, which))

    def verdict(line: _Line) -> TableCell:
        why = reason_words(line.reason, line.least_p, report.config.confidence)
        why = f": {why}" if why else ""
        return TableCell(VERDICTS[line.verdict] + why if line.verdict else DASH, verdict=line.verdict)

    columns: dict[str, Callable[[_Line], TableCell]] = {
        "group": lambda line: group_cell(line.row.group, line.row.group in small),
        "metric": lambda line: TableCell(line.name),
        "value": value,
        "at best": ideal,
        "p": lambda line: p(line, "p"),
        "p (Holm)": lambda line: p(line, "p_holm"),
        "verdict": verdict,
    }
    if view.brief:
        del columns["at best"]
    lines = [
        line
        for row in rows
        for name in row.values
        for line in _lines(row, name, tests.get((*_place(row), name), ()))
    ]
    return table_of(f"{first.attribute}, against {first.reference}{where}", columns, *view.cut(lines))


def verdicts(found: Requested) -> Iterator[tuple[Place, str, Verdict]]:
    """Yield the verdicts, by place and metric."""
    for row in found.rows:
        for name, verdict in row.verdicts.items():
            yield Place(row.model, row.decision, row.attribute), name, verdict


def _data(found: Requested) -> dict[str, object]:
    """Return what JSON says."""
    kept = {"requested": found.rows, "requested_tests": found.tests}
    return {key: rows for key, rows in kept.items() if rows}


BY_NAME = Part[tuple[()], Requested](
    "requested",
    wanted=lambda config: bool(requested_names(config)),
    judge=requested,
    sections=requested_sections,
    data=_data,
    verdicts=verdicts,
)
