"""What a reader should know of the data: missing values, trimmed blanks, look-alikes, repeated persons."""

from collections import defaultdict
from typing import TYPE_CHECKING

from fairbench_cli.audit.read.cells import Cells
from fairbench_cli.audit.read.columns import Roles
from fairbench_cli.audit.read.cuts import Bins, model_name, trimmed
from fairbench_cli.audit.read.slices import group_name
from fairbench_cli.audit.read.source import Source
from fairbench_cli.audit.read.tally import MISSING
from fairbench_cli.errors import shown

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LOOK_MISSING = frozenset("na n/a nan null none nil ? - . unknown".split())  # noqa: SIM905
MOST_IDENTIFIERS = 100_000  # rows; beyond, looking for persons counted twice would cost more than the audit


def of_attribute(name: str, values: list[str | None], rows: list[int]) -> list[str]:
    """Tell what was done to the values of one attribute."""
    written: dict[str, dict[str | None, int]] = defaultdict(lambda: defaultdict(int))
    for value, count in zip(values, rows, strict=True):
        written[group_name(value)][value] += count
    notes = []
    if MISSING in written:
        notes.append(f"{name}: {_rows(sum(written[MISSING].values()))} without a value; group {MISSING}.")
    trimmed_away = sorted(
        group for group, forms in written.items() if group != MISSING and any(form != group for form in forms)
    )
    merged = [group for group in trimmed_away if len(written[group]) > 1]
    if merged:
        notes.append(f"{name}: blanks around values were trimmed, which merged {_list(merged)}.")
    elif trimmed_away:
        notes.append(f"{name}: blanks around values were trimmed.")
    notes += [
        f"{name}: {shown(group)} ({_rows(sum(written[group].values()))}) is a group of its own; if it means "
        "missing, leave the cell empty."
        for group in sorted(written)
        if group.lower() in LOOK_MISSING
    ]
    alike = defaultdict(list)
    for group in sorted(written):
        alike[group.casefold()].append(group)
    notes += [
        f"{name}: {_list(groups)} differ in capitals only." for groups in alike.values() if len(groups) > 1
    ]
    if len(written) == 1:
        notes.append(f"{name}: one group only, {shown(next(iter(written)))}; there is nothing to compare.")
    return notes


def of_bins(name: str, asked: int, bins: Bins) -> str:
    """Tell where an attribute was cut."""
    fewer = f" ({asked} were asked for; equal values stay together)" if len(bins.labels) < asked else ""
    return f"{name}: cut into {len(bins.labels)} bins{fewer}: {', '.join(bins.labels)}."


def of_cells(cells: dict[tuple[str, ...], Cells], roles: Roles) -> list[str]:
    """Collect the notes of all attributes."""
    notes = []
    for name in roles.all_attributes:
        found = next((found for names, found in cells.items() if name in names), None)
        if found is not None:
            notes += of_attribute(name, found.values[name], found.rows.tolist())
    return notes


def twice(engine: "DuckDBPyConnection", source: Source, roles: Roles, rows: int) -> list[str]:
    """Tell how many rows name a person who was named before (not for large files)."""
    by_name = {name.lower(): i for i, name in enumerate(source.columns)}
    column = by_name.get("entity_id", by_name.get("id"))
    if column is None or rows > MOST_IDENTIFIERS or column in roles.all_attributes.values():
        return []
    distinct = f"SELECT DISTINCT {trimmed(column)}, {model_name(roles)} FROM {source.relation}"  # noqa: S608
    (known,) = engine.execute(f"SELECT count(*) FROM ({distinct})").fetchone() or (rows,)  # noqa: S608
    if known == rows:
        return []
    name = source.columns[column]
    return [f"Rows whose {name} an earlier row has: {rows - known}; all are counted."]


def _rows(count: int) -> str:
    return f"{count} row{'s' * (count != 1)}"


def _list(groups: list[str]) -> str:
    return ", ".join(shown(group) for group in groups[:5]) + (", …" if len(groups) > 5 else "")
