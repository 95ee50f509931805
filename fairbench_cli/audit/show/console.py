"""What the console shows, as plain rows; `fairbench_cli.cli.audit_console` draws them."""

from dataclasses import dataclass

from fairbench_cli.audit.judge.report import Report
from fairbench_cli.audit.judge.result import Disparity, Parity
from fairbench_cli.audit.judge.verdict import in_words
from fairbench_cli.audit.show import words
from fairbench_cli.audit.show.by_name import by_name_passages
from fairbench_cli.audit.show.explained import Passage, passages

MOST_NAMED = 10  # small groups in a note
SHOWN = 12  # comparisons of an attribute, unless all are asked for


@dataclass(frozen=True)
class Line:
    """One comparison: what stands in each column; `fine` is what may go beneath it."""

    group: str
    group_fine: str
    measure: str
    value: str
    value_fine: str
    reference: str
    reference_fine: str
    ratio: str
    ratio_fine: str
    verdict: str
    parity: Parity


@dataclass(frozen=True)
class Part:
    """One attribute under one model and decision."""

    title: str
    parity: Parity
    lines: tuple[Line, ...]
    more: str  # what is left out; empty when nothing is


@dataclass(frozen=True)
class View:
    """The whole of what is shown."""

    headline: str
    parity: Parity
    facts: str
    parts: tuple[Part, ...]
    notes: tuple[str, ...]
    explained: tuple[Passage, ...] = ()


def view(report: Report, *, everything: bool = False) -> View:
    """Lay an audit out for a console; at most `SHOWN` comparisons an attribute unless `everything`."""
    groups = words.lookup(report)
    parts: dict[tuple[str, str, str], list[Disparity]] = {
        (row.model, row.decision, row.attribute): [] for row in report.audit.groups
    }
    for row in report.audit.disparities:
        parts[row.model, row.decision, row.attribute].append(row)
    return View(
        words.headline(report),
        report.audit.verdict,
        facts(report),
        tuple(_part(key, rows, groups, report, everything) for key, rows in parts.items()),
        notes(report),
        (*by_name_passages(report, everything=everything), *passages(report, everything=everything)),
    )


def facts(report: Report) -> str:
    """Say in a line what was audited and how."""
    spec = report.audit.spec
    against = {
        "given": "the given reference groups",
        "majority": "the largest group",
        "minimum": "the group with the lowest value of each measure",
        "maximum": "the group with the highest value of each measure",
        "rest": "everybody else",
    }[spec.ref_method]
    return (
        f"{words.source_name(report)}: {report.audit.tally.rows} rows; groups beside {against}; "
        f"{100 * spec.confidence:g} % intervals, {spec.draws} draws, seed {spec.seed}"
    )


def notes(report: Report) -> tuple[str, ...]:
    """Return the notes, each once, those of the data first; small groups have one of their own."""
    small = list(dict.fromkeys(f"{row.group} ({row.attribute})" for row in report.audit.groups if row.small))
    named = ", ".join(small[:MOST_NAMED]) + (
        f" and {len(small) - MOST_NAMED} more" if small[MOST_NAMED:] else ""
    )
    own = (
        (f"Marked *: fewer than {report.audit.spec.min_group} rows, read with care: {named}.",)
        if small
        else ()
    )
    return tuple(dict.fromkeys((*report.audit.tally.notes, *report.audit.notes, *own)))


def _part(
    key: tuple[str, str, str],
    rows: list[Disparity],
    groups: words.Lookup,
    report: Report,
    everything: bool,
) -> Part:
    model, decision, attribute = key
    decided = report.deciding
    parity = report.attributes[key]
    ordered = [row for row in words.worst_first(rows) if not row.is_reference and row.measure in decided]
    shown = ordered if everything else ordered[:SHOWN]
    references = list(dict.fromkeys(row.reference for row in rows if row.measure in decided))
    beside = f", beside {references[0]}" if len(references) == 1 else ""
    where = words.place(model, decision) if report.several else ""
    title = f"{attribute}: {words.VERDICTS[parity]}{beside}" + (f" ({where})" if where else "")
    lines = tuple(_line(row, groups, len(references) > 1) for row in shown)
    return Part(title, parity, lines, _left_out(ordered[len(shown) :]))


def _left_out(rows: list[Disparity]) -> str:
    if not rows:
        return ""
    kinds = [(parity, sum(row.parity == parity for row in rows)) for parity in words.VERDICTS]
    said = {"pass": "pass", "fail": "fail", "undecidable": "not decidable"}
    each = ", ".join(f"{n} {said[parity]}" for parity, n in kinds if n)
    return f"and {len(rows)} more ({each}): see --all"


def _line(row: Disparity, groups: words.Lookup, name_it: bool) -> Line:
    own, other = groups.group(row, row.group), groups.group(row, row.reference)
    behind = groups.fraction(row.measure, other)
    return Line(
        group=row.group + ("*" if own and own.small else ""),
        group_fine=f"{own.rows} rows" if own else "",
        measure=row.measure,
        value=words.number(row.value),
        value_fine=groups.fraction(row.measure, own),
        reference=words.number(row.reference_value),
        reference_fine=row.reference if name_it else behind,
        ratio=words.ratio(row.ratio.value, row.tau),
        ratio_fine=words.interval(row.ratio, 2),
        verdict=in_words(row),
        parity=row.parity,
    )
