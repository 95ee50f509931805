"""Say what a reader should know of groups and persons: missing values, twins, rows of one person."""

from collections import defaultdict

from fairbench_cli.audit.read.cells import CountedCells, group_name
from fairbench_cli.audit.read.columns import ColumnRoles
from fairbench_cli.audit.read.mistakes import rows_in_words
from fairbench_cli.audit.read.predictions import Source
from fairbench_cli.audit.read.ranks import model_sql
from fairbench_cli.audit.read.tally import MISSING
from fairbench_cli.base.errors import shown
from fairbench_cli.base.twins import twins_among

LOOK_MISSING = frozenset("na n/a nan null none nil ? - . unknown".split())  # noqa: SIM905
MOST_IDENTIFIERS = 100_000  # rows; beyond, counting persons would cost more than the audit
FEW_REPEATS = 0.05  # of the rows; what an estimate cannot tell from none


def group_notes(
    name: str, cells: dict[tuple[str, ...], CountedCells], left_out: tuple[str, ...]
) -> list[str]:
    """Return what was done to the values of one attribute, and which of them look alike or missing."""
    written: dict[str, dict[str | None, int]] = defaultdict(lambda: defaultdict(int))
    found = next(found for names, found in cells.items() if name in names)
    for value, count in zip(found.values[name], found.rows.tolist(), strict=True):
        written[group_name(value)][value] += count
    sizes = {group: sum(forms.values()) for group, forms in written.items()}
    notes = []
    if MISSING in written:
        notes.append(f"{name}: {rows_in_words(sizes[MISSING])} without a value; group {MISSING}.")
    trimmed = sorted(
        group for group, forms in written.items() if group != MISSING and any(form != group for form in forms)
    )
    merged = [group for group in trimmed if len(written[group]) > 1]
    if merged:
        notes.append(f"{name}: blanks around values were trimmed, which merged {_list(merged)}.")
    elif trimmed:
        notes.append(f"{name}: blanks around values were trimmed.")
    notes += [
        f"{name}: {shown(group)} ({rows_in_words(sizes[group])}) is a group of its own; if it means "
        f"missing, leave the cell empty or the group out, --exclude {group!r}."
        for group in sorted(written)
        if group.lower() in LOOK_MISSING and not {group, f"{name}={group}"} & set(left_out)
    ]
    notes += [f"{name}: {twins}." for twins in twins_among(sorted(written))]
    return notes


def weightless_notes(cells: CountedCells) -> list[str]:
    """Return a note of how many rows weigh nothing, if there are any."""
    nothing = int((cells.rows - cells.weighing).sum())
    return [f"{rows_in_words(nothing)} of weight 0 left out."] if nothing else []


def repeat_notes(source: Source, roles: ColumnRoles, rows: int) -> list[str]:
    """Return a note of rows that repeat the person of an earlier row.

    Of large files an estimate where a column can be read alone, else of the first rows.
    """
    by_name = {name.lower(): i for name, i in source.places.items()}
    column = by_name.get("entity_id", by_name.get("id"))
    if column is None or column in roles.attributes.values():
        return []
    name, key = source.columns[column], f"trimmed_{column}"
    if roles.model is not None:
        key = f"({key}, {model_sql(roles)})"
    advice = "" if roles.model is not None else "; name several models with --model-column"
    if rows > MOST_IDENTIFIERS and source.format in ("parquet", "frame"):
        (known,) = source.one(f"SELECT approx_count_distinct({key}) FROM predictions")
        if known >= (1 - FEW_REPEATS) * rows:
            return []
        return [f"Rows whose {name} an earlier row has: some {rows - known}; all are counted{advice}."]
    table = "sample" if rows > MOST_IDENTIFIERS else "predictions"
    seen, known = source.one(f"SELECT count(*), count(DISTINCT {key}) FROM {table}")
    if known == seen:
        return []
    which = f"Among the first {seen} rows those" if table == "sample" else "Rows"
    return [f"{which} whose {name} an earlier row has: {seen - known}; all are counted{advice}."]


def _list(groups: list[str]) -> str:
    return ", ".join(shown(group) for group in groups[:5]) + (", …" if len(groups) > 5 else "")
