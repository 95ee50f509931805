"""All sections of an audit under its headline, in their order. A new one is a line in `MORE`."""

from collections.abc import Callable

from fairbench_cli.audit.judge.report import AttributeVerdict, Report
from fairbench_cli.audit.metrics import ROLL_UPS
from fairbench_cli.audit.show import law
from fairbench_cli.audit.show.changes import change_sections
from fairbench_cli.audit.show.curves import curve_sections
from fairbench_cli.audit.show.explained import explanation_sections
from fairbench_cli.audit.show.layout import (
    attribute_title,
    brief_table,
    compared,
    comparison_table,
    failures,
    group_table,
    of_attribute,
)
from fairbench_cli.audit.show.requested import requested_sections
from fairbench_cli.audit.show.words import EVENTS, meaning
from fairbench_cli.document.model import Section, TextTable
from fairbench_cli.measures.rates import RATES

SHOWN = 12  # rows of a table, unless all are asked for

# Each takes a report and how many rows of a table to show (None: all), and returns sections or none.
MORE: tuple[Callable[[Report, int | None], tuple[Section, ...]], ...] = (
    curve_sections,
    requested_sections,
    explanation_sections,
)


def sections(report: Report, *, everything: bool = True, brief: bool = False) -> tuple[Section, ...]:
    """Return all that is shown under the headline and the facts.

    Parameters
    ----------
    report : Report
        What was found.
    everything : bool
        Whether tables are shown whole; else `SHOWN` rows of each.
    brief : bool
        Whether to leave out the tables of groups, and columns that a narrow page has no room for.
    """
    shown = None if everything else SHOWN
    if report.without_verdict:
        return (*law.impact_sections(report, shown), *more_sections(report, shown), *notes_section(report))
    found = [*law.guideline_sections(report), *change_sections(report, shown, brief=brief)]
    found += [attribute_section(verdict, report, shown, brief) for verdict in report.verdicts]
    if not brief:
        found.append(Section("All rows", tables=(group_table("All rows", report.overall),)))
    found += more_sections(report, shown)
    return (
        *found,
        Section("In the tables", notes=(*legend(report), *(() if brief else group_legend(report)))),
        *notes_section(report),
    )


def attribute_section(verdict: AttributeVerdict, report: Report, shown: int | None, brief: bool) -> Section:
    """Return the comparisons of an attribute under a model and a decision; without `brief` its groups too."""
    rows, groups = compared(verdict, report), of_attribute(verdict, report)[1]
    notes: tuple[str, ...] = ()
    if report.impact:
        tables: tuple[TextTable, ...] = law.guideline_tables(verdict, report)
        notes = law.guideline_notes(verdict, report)
    elif brief:
        tables = (brief_table(rows, groups, shown),)
    else:
        tables = (
            comparison_table("Comparisons, worst first", rows, groups),
            group_table("Groups", groups),
        )
    sentences = (failures(rows),) if rows else ()
    return Section(attribute_title(verdict, report), sentences, tables, notes, verdict.verdict)


def more_sections(report: Report, shown: int | None = None) -> tuple[Section, ...]:
    """Return the sections of `MORE`."""
    return tuple(section for make in MORE for section in make(report, shown))


def notes_section(report: Report) -> tuple[Section, ...]:
    """Return what a reader should know of the data, if there is anything."""
    return (Section("Notes", notes=report.notes),) if report.notes else ()


def legend(report: Report) -> tuple[str, ...]:
    """Return what the words and abbreviations of the tables mean."""
    return (*rate_legend(report), *verdict_legend(report))


def rate_legend(report: Report) -> tuple[str, ...]:
    """Return what the rates that decide mean."""
    found = []
    for name in report.deciding:
        label = RATES[name].label
        more = "" if label.replace(" ", "-") == name else f", {label}"
        found.append(f"{name}{more}: {meaning(name)}.")
    found += [
        f"{name}: {', '.join(ROLL_UPS[name])} together." for name in report.decided_by if name in ROLL_UPS
    ]
    labelled = any(RATES[name].needs_labels for name in report.deciding)
    one = " or ".join(("1", *report.config.favourable))
    should = f"; who should be selected: a label of {one}" if labelled else ""
    return (*found, f"selected: a decision of {one}{should}.")


def group_legend(report: Report) -> tuple[str, ...]:
    """Return what the columns of the tables of groups mean that `rate_legend` does not say."""
    row = report.overall[0]
    found = ["pp, pn: rows selected, and not selected."]
    if "tp" in row.counts:
        found = [
            "tp, fp: rows selected rightly and wrongly (true and false positives); fn, tn: rows not selected "
            "wrongly and rightly (false and true negatives)."
        ]
    others = [name for name in row.metrics if name in EVENTS and name not in report.deciding]
    for name in others:
        label = RATES[name].label
        found.append(f"{name}{'' if label.replace(' ', '-') == name else f', {label}'}: {meaning(name)}.")
    if "base-rate" in row.metrics:
        found.append("base-rate: the share of the group with a label of 1.")
    if "group-share" in row.metrics:
        found.append("group-share: the share of the group among all rows.")
    return tuple(found)


def verdict_legend(report: Report) -> tuple[str, ...]:
    """Return what the verdicts in this report mean, those that occur."""
    rows = [row for verdict in report.verdicts for row in compared(verdict, report)]
    reasons = {row.reason for row in rows}
    outside = "shown outside: even the mildest value that fits the data is outside the limits."
    if report.config.rule == "point":
        alone = "A verdict is of the measured ratio alone: chance was not looked at (--rule point)."
        return (alone, outside) if any(row.shown_outside for row in rows) else (alone,)
    found = {
        "fails: the rates differ by more than chance, and the measured gap is larger than allowed.": any(
            row.verdict == "fail" for row in rows
        ),
        outside: any(row.shown_outside for row in rows),
        "passes: every value that fits the data lies within the limits.": any(
            row.verdict == "pass" for row in rows
        ),
        "could be chance: the measured gap is larger than allowed, and equal rates would give such numbers "
        "often enough.": "chance" in reasons,
        "too few rows to tell: the measured gap is small enough, and a larger one fits the data too.": "wide"
        in reasons,
        "too few rows: weights leave too few to test.": "few" in reasons,
    }
    return tuple(text for text, occurs in found.items() if occurs)
