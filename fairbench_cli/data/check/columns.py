"""Columns that say nothing, say it twice, or name every row."""

from collections.abc import Iterator

import pandas as pd

from fairbench_cli.data.check.finding import Finding
from fairbench_cli.data.check.rows import RawRows
from fairbench_cli.data.descriptor import ColumnCard


def column_findings(rows: RawRows) -> Iterator[Finding]:
    """Yield the constant, near-unique and duplicate columns among those that the card uses.

    Near-unique is a nominal column with more values than half of the rows, or whole numbers of which every
    row has one of its own. Duplicates are columns whose values map one to one, and, where no value comes
    twice, those with equal cells.
    """
    first: dict[bytes, str] = {}
    protected = set(rows.card.protected)
    for name in sorted(rows.features, key=lambda name: name not in protected):
        cells = rows.cells[name][rows.complete]
        codes, values = pd.factorize(cells.to_numpy(dtype=object))
        where = rows.card.where("columns", name)
        if len(values) == 1:
            yield Finding(name, f'has one value in all {len(cells)} rows: "{values[0]}"', "drop it", where)
            continue
        kind = rows.card.columns.get(name, ColumnCard()).kind
        most = len(cells) / 2 if kind == "nominal" else len(cells) - 1
        if name not in protected and kind in ("nominal", "integer") and len(values) > most:
            what = f"has {len(values)} different values in {len(cells)} rows"
            yield Finding(name, what, "drop it if it only names the row; else put it into bins", where)
        # Codes are numbered as values appear, so one-to-one columns have the same codes.
        key = codes.tobytes() if len(values) < len(cells) else repr(_plain(values.tolist())).encode()
        like = first.setdefault(key, name)
        if like in protected and like != name:
            fix = f"drop it: a classifier that must not see {like} sees it here"
            yield Finding(name, f"is one to one with the protected {like}", fix, where)
        elif like != name:
            yield Finding(name, f"is one to one with {like}", "drop one of the two", where)


def _plain(cells: list[str]) -> list[str | float]:
    """Write numbers as numbers, so that 1 and 1.0 are equal."""
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        return list(cells)
