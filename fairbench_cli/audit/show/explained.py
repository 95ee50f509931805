"""How explanations are put, the same in every output: a title, sentences, tables of text."""

from dataclasses import dataclass

from fairbench_cli.audit.judge.explanation import Explanation, Stratified, Stratum
from fairbench_cli.audit.judge.report import Report
from fairbench_cli.audit.judge.result import Interval
from fairbench_cli.audit.show import words

SHOWN = 12  # strata, unless all are asked for
FEW_COMPARED = 0.9  # rows in strata with both groups: fewer is said first


@dataclass(frozen=True)
class Sheet:
    """A table; its first `left` columns are words, the others numbers."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int
    more: str  # what is left out; empty when nothing is


@dataclass(frozen=True)
class Passage:
    """One group beside its reference."""

    title: str
    said: tuple[str, ...]
    sheets: tuple[Sheet, ...]
    notes: tuple[str, ...]


def passages(report: Report, *, everything: bool = True) -> tuple[Passage, ...]:
    """Lay the explanations out; at most `SHOWN` strata a table unless `everything`."""
    return tuple(_passage(each, report, everything) for each in report.explanations)


def _passage(each: Explanation, report: Report, everything: bool) -> Passage:
    compared = f"{each.group} ({each.rows} rows) beside {each.reference} ({each.reference_rows})"
    said = [_overall(each)]
    if each.features:
        said.append(f"A person is described by {', '.join(each.features)}.")
    few = tuple(part for part in each.parts if part.compared < FEW_COMPARED)
    if few:
        said.append(_alone(few))
    sheets = [_parts(each), _belift(each, report)] if each.parts else []
    if each.measures:
        sheets.append(_measures(each, report))
    sheets += [_strata(part, everything) for part in each.parts]
    title = f"{each.attribute}: what is behind the difference of {compared}"
    some = tuple(part for part in each.parts if FEW_COMPARED <= part.compared < 1)
    return Passage(title, tuple(said), tuple(sheets), (*each.notes, *((_alone(some),) if some else ())))


def _overall(each: Explanation) -> str:
    """Say who is accepted more often."""
    value = words.number(abs(each.difference.value))
    if value == words.DASH:
        return "The difference is not defined."
    if value == words.number(0.0):
        beside = f"{each.group} is accepted as often as {each.reference}"
        return f"{beside}: the difference is {_with(each.difference)}."
    if each.difference.value > 0:
        return f"{each.reference} is accepted more often by {_with(each.difference)}."
    return f"{each.group} is accepted more often: the difference is {_with(each.difference)}."


def _alone(parts: tuple[Stratified, ...]) -> str:
    """Say where part of the rows have nobody to be compared with."""
    shares = ", ".join(f"{_percent(1 - part.compared)} ({part.by})" for part in parts)
    return (
        "Not all can be compared: rows in strata of one group, whose difference counts as explained, are "
        f"{shares} of all."
    )


def _parts(each: Explanation) -> Sheet:
    rows = tuple(
        (
            part.by,
            _with(part.explained),
            _with(part.unexplained),
            _percent(part.compared),
            words.p_value(part.cmh_p),
        )
        for part in each.parts
    )
    heads = ("explained by", "explained", "unexplained", "compared", "CMH p")
    return Sheet("The difference, parted; compared: rows in strata with both groups", heads, rows, 1, "")


def _belift(each: Explanation, report: Report) -> Sheet:
    fewest, group = report.audit.spec.min_group, each.group
    rows = tuple(_least(part) for part in each.parts)
    title = (
        f"Least belift, rate of {group} in a stratum / rate of all; strata with fewer than {fewest} left out"
    )
    return Sheet(title, ("explained by", "stratum", "rows", "belift"), rows, 2, "")


def _least(part: Stratified) -> tuple[str, ...]:
    if part.least_belift is None:
        return (part.by, words.DASH, words.DASH, words.DASH)
    one = part.strata[part.least_belift]
    return (part.by, one.name, words.count(one.rows), words.number(one.belift))


def _measures(each: Explanation, report: Report) -> Sheet:
    ask = report.ask
    k, margin = (ask.neighbours, f"{ask.margin:g}") if ask else (0, "")
    group, reference = each.group, each.reference
    says = {
        "situation-testing": f"share of {group} worse off by {margin} or more than the {k} most alike of "
        f"{reference}",
        "situation-testing-reverse": f"share of {group} better off by {margin} or more",
        "consistency": f"agreement of each row with the {k} most alike; 1 at best",
        "redlining-potential": f"error of telling {group} from {reference} by the rest; 0.5: it cannot "
        "be told",
    }
    rows = tuple((name, says[name], _with(value)) for name, value in each.measures.items())
    return Sheet("Among people alike", ("measure", "what it says", "value"), rows, 2, "")


def _strata(part: Stratified, everything: bool) -> Sheet:
    size = sorted((-(one.rows + one.reference_rows), i) for i, one in enumerate(part.strata))
    shown = sorted(i for _, i in (size if everything else size[:SHOWN]))
    left_out = len(part.strata) - len(shown)
    return Sheet(
        f"Strata of {part.by}",
        ("stratum", "rows", "rate", "ref. rows", "ref. rate", "difference"),
        tuple(_stratum(part.strata[i]) for i in shown),
        1,
        f"and {left_out} smaller: see --all" if left_out else "",
    )


def _stratum(one: Stratum) -> tuple[str, ...]:
    return (
        one.name,
        words.count(one.rows),
        words.number(one.rate),
        words.count(one.reference_rows),
        words.number(one.reference_rate),
        _with(one.difference),
    )


def _with(of: Interval) -> str:
    """Write a value with its interval."""
    return f"{words.number(of.value)} {words.interval(of)}".rstrip()


def _percent(share: float) -> str:
    return words.DASH if share != share else f"{100 * share:.3g} %"
