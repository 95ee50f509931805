"""Rates of groups pooled in part: what a small group is likely to have, given all groups of its attribute."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from fairbench_cli.audit.compare.effective import own_rows
from fairbench_cli.audit.compare.references import kept
from fairbench_cli.audit.compare.report import Interval, Place, Report, intervals
from fairbench_cli.audit.metrics import SHOWN, defined
from fairbench_cli.audit.parts import writing
from fairbench_cli.audit.parts.part import Part, Row, View
from fairbench_cli.audit.parts.rates import in_brackets
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_count
from fairbench_cli.document.model import Section, TableCell, TextTable, table_of
from fairbench_cli.measures.pooling import pooled_rates
from fairbench_cli.measures.rates import RATES


@dataclass(frozen=True)
class PooledRate(Place):
    """One rate of one group, as it was measured and drawn towards those of the other groups.

    Parameters
    ----------
    group : str
    rows : int
        All of its rows, not weighted.
    small : bool
        Whether these are fewer than `min_group`.
    metric : str
        The rate.
    measured, pooled : Interval
        With Wilson's interval; with that of the beta-binomial model. NaN without rows to compute it from.
    """

    group: str
    rows: int
    small: bool
    metric: str
    measured: Interval
    pooled: Interval


def pool(_: tuple[()], base: Report) -> tuple[PooledRate, ...]:
    """Return the pooled rates of every attribute of two groups or more; shares of all selected have none.

    Weighted rows, and rows of the same people, count as those that they are worth.
    """
    found = []
    for part in (kept(each, base.config) for each in base.slices):
        names = tuple(name for name in defined(SHOWN, part.labelled) if not RATES[name].of_all)
        rows = own_rows(part, names)
        groups = base.by_audit[part.place][1]
        measured = {row.group: row for row in groups}
        for m, name in enumerate(names):
            pooled = intervals(*pooled_rates(rows.above[:, m], rows.below[:, m], base.config.confidence))
            for group, known in zip(part.counts.groups, pooled, strict=True):
                own = measured[group]
                found.append(
                    PooledRate(*part.place, group, own.rows, own.small, name, own.metrics[name], known)
                )
    return tuple(found)


def pooled_rows(found: Sequence[PooledRate], _: Report) -> Iterable[Row]:
    """Return a row a group and rate; an interval takes three columns."""
    return map(writing.flat, found)


def pooled_sections(found: Sequence[PooledRate], report: Report, view: View) -> tuple[Section, ...]:
    """Return a section of the rates that decide, a table an attribute; groups with fewest rows come first."""
    shown = (row for row in found if row.metric in report.deciding and not math.isnan(row.measured.value))
    places = group_by(shown, lambda row: row.place)
    sentences = (
        "Each rate is drawn towards those of the other groups of its attribute, the more so the fewer its "
        "rows and the more alike the groups: what is likely of a small group, given all of them.",
    )
    notes = (
        f"Brackets are {100 * report.config.confidence:g} % intervals: they hold the true rate of so many "
        "of all groups, and of fewer of those that are unlike the others. These rates decide nothing.",
    )
    tables = tuple(_table(rows, report, view) for rows in places.values())
    if tables:
        return (Section("Rates of groups, pooled in part", sentences, tables, notes),)
    return ()


def _table(rows: Sequence[PooledRate], report: Report, view: View) -> TextTable:
    columns: dict[str, Callable[[PooledRate], TableCell]] = {
        "group": lambda row: writing.group_cell(row.group, row.small, format_count(row.rows, "row")),
        "metric": lambda row: TableCell(row.metric),
        "measured": lambda row: writing.fine_cell(row.measured),
        "pooled": lambda row: writing.fine_cell(row.pooled),
    }
    ordered = sorted(rows, key=lambda row: row.rows)
    title = f"{rows[0].attribute}{in_brackets(rows[0], report)}"
    return table_of(title, columns, *view.cut(ordered))


POOLED = Part[tuple[()], tuple[PooledRate, ...]](
    "pooled",
    wanted=lambda config: config.pooled,
    judge=pool,
    tables={"pooled": pooled_rows},
    sections=pooled_sections,
    data=lambda found: {"pooled": found},
)
