"""Keep the scores of all rows in a table of DuckDB, sorted, and pass over it in ranges.

The rows are scanned once, into a temporary table of score, label, codes of groups and sums of weights, which
DuckDB keeps on disk where it outgrows its memory. Passes over the table take `AT_ONCE` of its rows at a time
and keep the rows of one score together, so memory does not depend on how many there are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.read.cells import CountedCells, CountingPlan, group_name, keys_sql
from fairbench_cli.audit.read.predictions import Predictions
from fairbench_cli.audit.read.tally import MISSING
from fairbench_cli.measures.counts import Floats

Codes = NDArray[np.int64]
Levels = dict[str, dict[str | None, str]]

AT_ONCE = 122_880  # rows of the table: DuckDB stores them in groups of as many


@dataclass(frozen=True, eq=False)
class ScoreBlock:
    """Rows of the table by score, in arrays of shape (rows,); `codes` are those of some attributes."""

    score: Floats
    label: Codes
    codes: tuple[Codes, ...]
    rows: Floats
    weight: Floats
    square: Floats

    def part(self, at: slice) -> "ScoreBlock":
        """Return some of the rows."""
        codes = tuple(code[at] for code in self.codes)
        return ScoreBlock(
            self.score[at], self.label[at], codes, self.rows[at], self.weight[at], self.square[at]
        )


def levels_of(plan: CountingPlan, cells: dict[tuple[str, ...], CountedCells], names: Sequence[str]) -> Levels:
    """Return the group of each value that an attribute has in the table of keys, by attribute."""
    found: Levels = {}
    for name in names:
        if name in plan.bins:
            labels: dict[str | None, str] = {str(i): text for i, text in enumerate(plan.bins[name].labels)}
            found[name] = labels | {None: MISSING}
        else:
            values = {value for part in cells.values() for value in part.values.get(name, ())}
            found[name] = {value: group_name(value) for value in values}
    return found


def names_of(levels: Mapping[str | None, str]) -> list[str]:
    """Return the groups of an attribute in the order of their codes."""
    return sorted(set(levels.values()))


def make_table(
    source: Predictions,
    plan: CountingPlan,
    levels: Levels,
    models: Sequence[str],
) -> None:
    """Make the table ``scored``: model, score, label, codes of groups; rows, weights and squares summed."""
    joins = [_join(source, "model", "m", {name: name for name in models}, models)]
    for i, known in enumerate(levels.values()):
        joins.append(_join(source, f"level{i}", f"k{i}", known, names_of(known)))
    codes = [f"coalesce(level{i}.code, -1)::SMALLINT AS k{i}" for i in range(len(levels))]
    keys = ["coalesce(model.code, -1)::SMALLINT AS m", "s", "label::TINYINT AS label", *codes]
    short = ["m", "s", "label", *(f"k{i}" for i in range(len(levels)))]
    rows = f"FROM ({keys_sql(plan, levels)}) AS each {' '.join(joins)}"
    weighted = plan.roles.weight is not None
    first = f"SELECT {', '.join(short)} FROM ({keys_sql(plan, levels, 'sample')})"
    (many,), (different,) = (
        source.one(f"SELECT count(*) FROM ({sql})")
        for sql in (first, first.replace("SELECT", "SELECT DISTINCT", 1))
    )
    sums = ["count(*)::DOUBLE AS n"]
    sums += ["sum(w) AS w", "sum(w * w) AS q"] if weighted else []
    sql = f"SELECT {', '.join([*keys, *(['w'] if weighted else [])])} {rows}"
    if 2 * different > many:  # nearly every row would be a cell of its own
        each = ["1::DOUBLE AS n", *(["w", "w * w AS q"] if weighted else [])]
        sql = f"SELECT {', '.join([*short, *each])} FROM ({sql})"
    else:
        sql = f"SELECT {', '.join([*short, *sums])} FROM ({sql}) GROUP BY {', '.join(short)}"
    source.engine.execute("SET preserve_insertion_order=true")
    source.execute(f"CREATE OR REPLACE TEMP TABLE scored AS {sql} ORDER BY m, s")
    source.engine.execute("SET preserve_insertion_order=false")


def _join(
    source: Predictions,
    table: str,
    key: str,
    levels: Mapping[str | None, str],
    names: Sequence[str],
) -> str:
    """Make a table of the codes of values, and write how to join it."""
    source.engine.execute(f"CREATE OR REPLACE TEMP TABLE {table} (value VARCHAR, code SMALLINT)")
    place = {name: i for i, name in enumerate(names)}
    values = list(levels)
    source.engine.execute(
        f"INSERT INTO {table} SELECT unnest(?::VARCHAR[]), unnest(?::SMALLINT[])",
        [values, [place[levels[value]] for value in values]],
    )
    return f"LEFT JOIN {table} ON CAST(each.{key} AS VARCHAR) IS NOT DISTINCT FROM {table}.value"


def read_blocks(
    source: Predictions, first: int, last: int, places: Sequence[int], *, weighted: bool
) -> Iterator[ScoreBlock]:
    """Yield rows of the table, `AT_ONCE` or so at a time, those of one score together."""
    columns = ["s", "label", *(f"k{i}" for i in places), "n", *(["w", "q"] if weighted else [])]
    kept: ScoreBlock | None = None
    for begin in range(first, last, AT_ONCE):
        end = min(begin + AT_ONCE, last)
        sql = f"SELECT {', '.join(columns)} FROM scored WHERE rowid >= {begin} AND rowid < {end}"
        found = source.engine.execute(sql).fetchnumpy()
        rows = np.asarray(found["n"], dtype=np.float64)
        block = ScoreBlock(
            np.asarray(found["s"], dtype=np.float64),
            np.asarray(found["label"], dtype=np.int64),
            tuple(np.asarray(found[f"k{i}"], dtype=np.int64) for i in places),
            rows,
            np.asarray(found["w"], dtype=np.float64) if weighted else rows,
            np.asarray(found["q"], dtype=np.float64) if weighted else rows,
        )
        block = block if kept is None else _joined(kept, block)
        whole = len(block.score)
        if end < last:
            whole = int(np.searchsorted(block.score, block.score[-1]))
        if whole:
            yield block.part(slice(0, whole))
        kept = block.part(slice(whole, None)) if whole < len(block.score) else None


def _joined(one: ScoreBlock, other: ScoreBlock) -> ScoreBlock:
    return ScoreBlock(
        np.concatenate([one.score, other.score]),
        np.concatenate([one.label, other.label]),
        tuple(np.concatenate(pair) for pair in zip(one.codes, other.codes, strict=True)),
        np.concatenate([one.rows, other.rows]),
        np.concatenate([one.weight, other.weight]),
        np.concatenate([one.square, other.square]),
    )
