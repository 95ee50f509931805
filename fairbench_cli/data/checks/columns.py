"""Columns and values that are likely a mistake: constant, near-unique, duplicate, written in two ways."""

from collections.abc import Iterator

import pandas as pd

from fairbench_cli.base.twins import twins_among
from fairbench_cli.data.checks.rows import Finding, RawRows, drop
from fairbench_cli.data.column_card import ColumnCard
from fairbench_cli.data.doubts import counted, recoding


def column_findings(rows: RawRows) -> Iterator[Finding]:
    """Yield the constant, near-unique and duplicate columns among those that the card uses.

    Near-unique is a nominal column with more values than half of the rows, or whole numbers of which
    every row has one of its own. Duplicates are columns whose values map one to one, and, where no value
    comes twice, those with equal cells.
    """
    first: dict[bytes, str] = {}
    protected = set(rows.card.protected)
    for name in sorted(rows.features, key=lambda name: name not in protected):
        cells = rows.cells[name][rows.complete]
        codes, values = pd.factorize(cells.to_numpy(dtype=object))
        where = rows.card.where("columns", name)
        if len(values) == 1:
            yield Finding(
                "constant",
                name,
                f'has one value in all {len(cells):,} rows: "{values[0]}"',
                drop(name),
                where,
            )
            continue
        own = rows.card.columns.get(name, ColumnCard())
        most = len(cells) / 2 if own.kind == "nominal" else len(cells) - 1
        if name not in protected and own.kind in ("nominal", "integer") and len(values) > most:
            what = f"has {len(values):,} different values in {len(cells):,} rows"
            other = "merge values with recode" if own.kind == "nominal" else "cut it into bins"
            yield Finding(
                "identifier", name, what, f"{drop(name)} if it only names the row; otherwise {other}", where
            )
        # Codes are numbered as values appear, so one-to-one columns have the same codes.
        key = codes.tobytes() if len(values) < len(cells) else repr(_plain(values.tolist())).encode()
        like = first.setdefault(key, name)
        if like in protected and like != name:
            fix = f"{drop(name)}: a classifier that must not see {like} sees it here"
            yield Finding("duplicate", name, f"is one to one with the protected {like}", fix, where)
        elif like != name:
            yield Finding(
                "duplicate", name, f"is one to one with {like}", f"drop one of the two: {drop(name)}", where
            )


def value_findings(rows: RawRows) -> Iterator[Finding]:
    """Yield the nominal columns with values that are likely one, and a label of more than two values."""
    label = rows.card.label
    for name in [label.column, *rows.features]:
        if rows.card.columns.get(name, ColumnCard()).kind != "nominal":
            continue
        found = rows.cells[name][rows.complete].value_counts()
        counts = {str(value): int(n) for value, n in found.items()}
        where = rows.card.where("columns", name)
        for twins in twins_among(counts):
            kept, *others = twins.values
            what = f"has {counted(twins.values, counts)}, which {twins.how}"
            yield Finding("twins", name, what, recoding(name, others, kept), where)
        rest = [value for value in counts if value != label.favourable]
        if name == label.column and len(rest) > 1:
            what = f"has more than two values; as unfavourable count {counted(rest, counts)}"
            fix = "leave rows out with `keep` in the card where a value is no outcome"
            yield Finding("many-outcomes", name, what, fix, rows.card.where("label", "favourable"))


def _plain(cells: list[str]) -> list[str | float]:
    """Return numbers as numbers, so that 1 and 1.0 are equal."""
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        return list(cells)
