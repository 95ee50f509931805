"""The whole table of groups and classes: whether any class is more common in one group than in another."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fairbench_cli.audit.compare.references import without_excluded_groups
from fairbench_cli.audit.compare.report import Interval, Place, Report
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.part import Part, Row, View, stream
from fairbench_cli.audit.scan.slices import Slice
from fairbench_cli.base.grouping import group_by
from fairbench_cli.document.model import VERDICTS, Section, TableCell, Verdict
from fairbench_cli.measures.classes import SMALL_W, ClassComparison, compare_classes, weighted_rows
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.significance import holm

KEY = "classes"
OTHERS = "(others)"
AGAINST = " against the rest"
ROUNDING = 1e-9  # part of all rows by which sums of weights may differ


@dataclass(frozen=True, eq=False)
class WholeTable(Place):
    """The shares of all classes by group, and how they compare.

    Parameters
    ----------
    classes, groups : tuple of str
    counts : array, shape (groups, classes)
        Rows, or their weights.
    statistic, degrees : float, int
        χ² on the rows that weights are worth.
    p, p_holm : float
        Alone, and adjusted for the tables of all attributes.
    is_permuted : bool
        Whether `p` is by permutations, as few rows are expected somewhere.
    w : Interval
        Cohen's.
    cramers_v : float
    verdict : {"pass", "fail", "undecided"}
    """

    classes: tuple[str, ...]
    groups: tuple[str, ...]
    counts: Floats
    statistic: float
    degrees: int
    p: float
    p_holm: float
    is_permuted: bool
    w: Interval
    cramers_v: float
    verdict: Verdict


def judge_tables(_: object, base: Report) -> tuple[WholeTable, ...]:
    """Return the whole table of each attribute under each model."""
    kept = [without_excluded_groups(part, base.config) for part in base.slices]
    by_attribute = group_by(kept, lambda part: (part.model, part.attribute))
    of_classes = [slices for slices in by_attribute.values() if are_classes(slices)]
    comparisons = [_compare(slices, base) for slices in of_classes]
    adjusted = holm([row.p for row in comparisons])
    tables = []
    for slices, row, p_holm in zip(of_classes, comparisons, adjusted, strict=True):
        tables.append(_make_table(slices, row, float(p_holm), base.config.alpha))
    return tuple(tables)


def are_classes(slices: Sequence[Slice]) -> bool:
    """Return whether slices are of several classes, of which a row has at most one."""
    if len(slices) < 2:
        return False
    total = slices[0].counts.n.sum()
    selected = sum(float(part.counts.n[:, :, 1].sum()) for part in slices)
    return bool(selected <= total * (1 + ROUNDING))


def _compare(slices: Sequence[Slice], base: Report) -> ClassComparison:
    counts = _stack_classes([part.counts.n for part in slices])
    effective = None
    if base.weighted:
        effective = weighted_rows(counts, _stack_classes([part.squares for part in slices]))
    rng = stream(base.config.seed, KEY, slices[0].model, slices[0].attribute)
    return compare_classes(counts, rng, effective, confidence=base.config.confidence)


def _make_table(slices: Sequence[Slice], row: ClassComparison, p_holm: float, alpha: float) -> WholeTable:
    """Return a table with its verdict."""
    counts = _stack_classes([part.counts.n for part in slices])
    names = [part.decision.removesuffix(AGAINST) for part in slices]
    if counts.shape[1] > len(names):
        names.append(OTHERS)
    return WholeTable(
        *slices[0].place,
        classes=tuple(names),
        groups=slices[0].counts.groups,
        counts=counts,
        statistic=row.statistic,
        degrees=row.degrees,
        p=row.p,
        p_holm=p_holm,
        is_permuted=row.is_permuted,
        w=Interval(row.w, row.low, row.high),
        cramers_v=row.cramers_v,
        verdict=row.verdict(p_holm < alpha),
    )


def _stack_classes(cells: Sequence[Floats]) -> Floats:
    """Return sums by group and class; what is of no class is a last one, if there is any."""
    columns = [part[:, :, 1].sum(1) for part in cells]
    total = cells[0].sum((1, 2))
    others = total - np.sum(columns, axis=0)
    if others.sum() > ROUNDING * total.sum():
        columns.append(np.maximum(others, 0.0))
    table: Floats = np.stack(columns, axis=1).astype(np.float64)
    return table


def verdicts_of_tables(tables: Sequence[WholeTable]) -> Iterator[tuple[Place, str, Verdict]]:
    """Yield the verdict on each table, under the first of its classes."""
    for table in tables:
        yield Place(*table.place), KEY, table.verdict


def describe_table(table: WholeTable) -> str:
    """Return a sentence on the whole table."""
    w = formatting.with_interval(table.w)
    v = formatting.number(table.cramers_v)
    p = formatting.p_value(table.p_holm)
    verdict = "not decided" if table.verdict == "undecided" else VERDICTS[table.verdict]
    return f"The whole table by {table.attribute}: Cramér's V {v}, Cohen's w {w}, p (Holm) {p}: {verdict}."


def table_sections(tables: Sequence[WholeTable], report: Report, view: View) -> Iterator[Section]:
    """Yield the shares of classes by group."""
    for table in tables:
        columns: dict[str, Callable[[int], TableCell]] = {
            "group": lambda i, table=table: TableCell(table.groups[i]),  # type: ignore[misc]
            "rows": lambda i, table=table: formatting.count_cell(table.counts[i].sum()),  # type: ignore[misc]
        }
        for j, name in enumerate(table.classes):
            columns[name] = lambda i, j=j, table=table: _share_cell(table, i, j)  # type: ignore[misc]
        title = f"{table.attribute}: the whole table"
        model_name = formatting.format_place(table.model, "", report.config.slice_name)
        if model_name:
            title += f" ({model_name})"
        shown = view.table("Shares of classes by group", columns, range(len(table.groups)))
        yield Section(title, (describe_table(table),), (shown,), _notes(table), table.verdict)


def _share_cell(table: WholeTable, group: int, column: int) -> TableCell:
    total = float(table.counts[group].sum())
    if total == 0:
        return TableCell(formatting.DASH)
    share = float(table.counts[group, column]) / total
    return TableCell(formatting.percent(share), "", share)


def _notes(table: WholeTable) -> tuple[str, ...]:
    test = f"χ² {formatting.number(table.statistic)} with {table.degrees} degrees of freedom"
    if table.is_permuted:
        test += "; p is by permutations, as few rows are expected somewhere"
    return (
        f"{test}, adjusted with Holm over the tables of all attributes.",
        f"It passes where the upper limit of w is below {SMALL_W:g}, and fails where equal shares are "
        f"rejected and w is above {SMALL_W:g}. Verdicts on single classes do not change by it.",
    )


def table_rows(tables: Sequence[WholeTable], _: Report) -> Iterator[Row]:
    """Yield each table's test; an interval takes three columns."""
    for table in tables:
        yield formatting.flatten(table, "classes", "groups", "counts")


def table_data(tables: Sequence[WholeTable]) -> dict[str, object]:
    """Return the tables as JSON has them."""
    if not tables:
        return {}
    rows = []
    for table in tables:
        rows.append(vars(table) | {"counts": table.counts.tolist()})
    return {KEY: rows}


WHOLE_TABLE = Part[object, tuple[WholeTable, ...]](
    KEY,
    is_requested=lambda config: not config.of_numbers and len(config.favourable) > 1,
    judge=judge_tables,
    found_type=tuple[WholeTable, ...],
    tables={"classes": table_rows},
    sections=lambda tables, report, view: tuple(table_sections(tables, report, view)),
    summary=lambda tables, _: " ".join(map(describe_table, tables)),
    data=table_data,
    verdicts=verdicts_of_tables,
)
