"""How measures asked for by name are put: one passage, a table for each attribute."""

from fairbench_cli.audit.judge.report import Report
from fairbench_cli.audit.judge.result import ByName, Interval
from fairbench_cli.audit.judge.uncertainty import ENOUGH
from fairbench_cli.audit.show import words
from fairbench_cli.audit.show.explained import SHOWN, Passage, Sheet
from fairbench_cli.measures.registry import MEASURES

TITLE = "Compared with the reference, by name"


def by_name_passages(report: Report, *, everything: bool = True) -> tuple[Passage, ...]:
    """Lay them out, if any were asked for; at most `SHOWN` lines a table unless `everything`."""
    slices: dict[tuple[str, str, str, str], list[ByName]] = {}
    for row in report.audit.by_name:
        slices.setdefault((row.model, row.decision, row.attribute, row.reference), []).append(row)
    if not slices:
        return ()
    said = (
        "The group is taken for the deprived, its reference for the favoured and being selected for the "
        "favourable outcome: where that hurts, read them the other way.",
        f"Brackets hold {100 * report.audit.spec.confidence:g} % bootstrap intervals. Tests have none, and a "
        f"measure has none when one of the counts behind it is below {ENOUGH}.",
    )
    sheets = tuple(_sheet(key, rows, report, everything) for key, rows in slices.items())
    return (Passage(TITLE, said, sheets, ()),)


def _sheet(key: tuple[str, str, str, str], rows: list[ByName], report: Report, everything: bool) -> Sheet:
    model, decision, attribute, reference = key
    where = f" ({words.place(model, decision)})" if report.several else ""
    small = {row.group for row in report.audit.groups if row.small and row.attribute == attribute}
    lines = tuple(
        (row.group + ("*" if row.group in small else ""), name, *_cells(name, of))
        for row in rows
        for name, of in row.values.items()
    )
    shown = lines if everything else lines[:SHOWN]
    more = len(lines) - len(shown)
    return Sheet(
        f"{attribute}, beside {reference}{where}",
        ("group", "measure", "value", "interval", "at best"),
        shown,
        2,
        f"and {more} more: see --all" if more else "",
    )


def _cells(name: str, of: Interval) -> tuple[str, str, str]:
    entry = MEASURES[name]
    p = entry.section == "test" and (entry.low, entry.high) == (0, 1)
    value = words.p_value(of.value) if p else words.number(of.value)
    return value, words.interval(of), "" if entry.ideal is None else f"{entry.ideal:g}"
