"""The same table written differently: the audit says the same.

usage: python benchmarks/metamorphic.py [--audits 500] [--seed 0] [--first 0]

Each case takes a random table and random options of `fuzz_options.py`, audits the table as plain CSV, and
then once more after one to five changes that mean nothing: other order of rows or columns, quotes around all
cells, semicolons, tabs or bars, line ends of Windows, a byte order mark, no line end at the end, gzip, other
formats (TSV, NDJSON, Parquet, a pandas or Polars frame, an Arrow table), numbers of the scores, labels and
weights written otherwise (1.0, true, +1, 1e0, blanks around), and columns that nobody asked for. Both JSON
documents have to be equal to the byte, or both audits refused for the same reason, but for the name of the
file, where in it something is, and notes that say how it was written.
"""

import argparse
import gzip
import io
import json
import os
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fuzz_options import Keys, Population, audit_keys, changed, population, quoted

Columns = dict[str, list[str]]
TYPED = ("parquet", "pandas", "polars", "arrow")
HOW_WRITTEN = re.compile(r"Columns are separated by|Blanks around column names")
NAMES = re.compile(r"\b(p\.(csv|tsv|ndjson|parquet)(\.gz)?|data frame)(:(row )?\d+)?")

CELL = re.compile(r'has "[^"]*"')  # the first one that is wrong


@dataclass(frozen=True)
class Written:
    """How a table is written: its format, and of text formats the bytes that mean nothing."""

    kind: str = "csv"
    separator: str = ","
    line_end: str = "\n"
    quotes: bool = False
    mark: bool = False
    last_end: bool = True
    zipped: bool = False
    numbers: str = "plain"
    changes: tuple[str, ...] = ()


def case(seed: int, number: int) -> tuple[Population, Keys, Columns | None, random.Random]:
    """Return a table, options, the baseline where there is one, and what draws the changes."""
    rng = random.Random(f"metamorphic-{seed}-{number}")  # noqa: S311
    people = population(rng)
    keys = audit_keys(rng, people)
    if "nosuch" not in json.dumps(keys) and "attribute" not in keys and rng.random() < 0.7:
        keys["attribute"] = list(people.attributes)
    old = changed(rng, people, keys.get("id") == "id") if "against" in keys else None
    return people, keys, old, rng


def rewritten(
    columns: Columns, people: Population, keys: Keys, rng: random.Random
) -> tuple[Columns, Written]:
    """Return the table after changes that mean nothing, and how it is to be written."""
    how = Written()
    named, paired = "attribute" in keys, "against" in keys
    ways: list[str] = ["text", "text", "format", "numbers"]
    ways += ["rows"] if not paired or "id" in keys else []
    ways += ["columns"] if named else []
    ways += ["extra"] if named and "explain" not in keys else []
    chosen = rng.sample(ways, rng.choice([1, 2, 3, 5]) if len(ways) > 4 else 2)
    for way in sorted(set(chosen)):
        if way == "columns":
            columns = {name: columns[name] for name in rng.sample(list(columns), len(columns))}
        elif way == "extra":
            rows = range(len(next(iter(columns.values()))))
            columns = {"remark": [rng.choice(["", "x", 'a "b"', "ä,;"]) for _ in rows], **columns}
        elif way == "rows":
            order = list(range(len(next(iter(columns.values())))))
            rng.shuffle(order)
            columns = {name: [values[i] for i in order] for name, values in columns.items()}
        elif way == "format":
            kinds = ["tsv", "ndjson", *TYPED[: 1 if paired else None]]
            how = replace(
                how, kind=rng.choice(kinds), separator="\t" if how.separator == "," else how.separator
            )
        elif way == "numbers":
            how = replace(how, numbers=rng.choice(["decimal", "true", "signed", "power", "blanks", "typed"]))
    if "text" in chosen:
        how = replace(
            how,
            separator=rng.choice([",", ",", ";", "\t", "|"]),
            line_end=rng.choice(["\n", "\r\n"]),
            quotes=rng.random() < 0.4,
            mark=rng.random() < 0.4,
            last_end=rng.random() < 0.6,
            zipped=rng.random() < 0.3,
        )
    how = replace(how, separator="\t" if how.kind == "tsv" else how.separator, changes=tuple(chosen))
    numeric = {*people.scores, people.label, keys.get("weight")} - {*keys.get("attribute", ()), None}
    numeric -= {*keys.get("bins", ()), *map(str, keys.get("explain", ()))}
    if people.scale == "words" or "favourable" in keys or not named:
        numeric = set()
    if how.numbers == "true" and (
        people.scale != "binary" or {"threshold", "top-k", "top-share"} & set(keys)
    ):
        numeric &= {people.label}  # true is no number to be cut
    columns = {
        name: [other_number(cell, how.numbers) for cell in values] if name in numeric else values
        for name, values in columns.items()
    }
    return columns, how


def other_number(cell: str, how: str) -> str:
    """Return a number written otherwise."""
    if not re.fullmatch(r"\d+(\.\d+)?", cell):
        return cell
    if how == "true" and cell in ("0", "1"):
        return "true" if cell == "1" else "false"
    ways: dict[str, Callable[[str], str]] = {
        "decimal": lambda text: text + ("0" if "." in text else ".0"),
        "signed": lambda text: f"+{text}",
        "power": lambda text: f"{text}e0",
        "blanks": lambda text: f" {text} ",
    }
    return ways.get(how, str)(cell)


def as_table(columns: Columns, typed: bool) -> Any:
    """Return an Arrow table, of numbers where all cells of a column are."""
    import pyarrow as pa

    def values(cells: list[str]) -> list[Any]:
        known: list[Any] = [cell if cell != "" else None for cell in cells]
        for kind in (int, float) if typed else ():
            if all(cell is None or plain(cell, kind) for cell in known):
                return [cell if cell is None else kind(cell) for cell in known]
        return known

    return pa.table({name: pa.array(values(cells)) for name, cells in columns.items()})


def plain(cell: str, kind: type) -> bool:
    """Return whether a cell is a number that is written as Python writes it."""
    try:
        return str(kind(cell)) == cell
    except ValueError:
        return False


def write(columns: Columns, how: Written, folder: Path, stem: str = "p") -> Any:
    """Write a table; return its path, or the frame."""
    typed = how.numbers == "typed"
    if how.kind in TYPED:
        import pyarrow.parquet as pq

        table = as_table(columns, typed)
        if how.kind == "parquet":
            path = folder / f"{stem}.parquet"
            pq.write_table(table, path)
            return path
        if how.kind == "polars":
            import polars as pl

            return pl.from_arrow(table)
        return table.to_pandas() if how.kind == "pandas" else table
    if how.kind == "ndjson":
        rows = as_table(columns, typed).to_pylist()
        text = how.line_end.join(json.dumps(row, ensure_ascii=how.quotes) for row in rows)
    else:
        every = (list(columns), *zip(*columns.values(), strict=True))
        always = '"{}"'.format
        cells = (
            [always(c.replace('"', '""')) if how.quotes else quoted(c, how.separator) for c in row]
            for row in every
        )
        text = how.line_end.join(how.separator.join(row) for row in cells)
    content = (text + (how.line_end if how.last_end else "")).encode("utf-8-sig" if how.mark else "utf-8")
    path = folder / f"{stem}.{how.kind}{'.gz' if how.zipped else ''}"
    path.write_bytes(gzip.compress(content, mtime=0) if how.zipped else content)
    return path


def said(source: Any, keys: Keys) -> str:
    """Return the JSON of an audit, or the reason why there is none, without what says how it was written."""
    import fairbench_cli as fb

    options = {key.replace("-", "_"): value for key, value in keys.items() if key not in ("fail", "fail-on")}
    try:
        text = fb.audit(str(source) if isinstance(source, Path) else source, **options).to_json()
    except fb.UserError as error:
        what = [
            line for line in str(error).splitlines() if not line.startswith("  fix:")
        ]  # which lists columns
        return CELL.sub("has …", NAMES.sub("p.csv", "\n".join(what)))
    document = json.loads(NAMES.sub("p.csv", text))
    document["notes"] = sorted(note for note in document["notes"] if not HOW_WRITTEN.match(note))
    return json.dumps(document, indent=1, ensure_ascii=False)


def outcomes(seed: int, numbers: range) -> Iterator[tuple[int, Written, str, str]]:
    """Yield each case with how it was rewritten and what the audits of both tables say."""
    before = Path.cwd()
    for number in numbers:
        people, keys, old, rng = case(seed, number)
        with tempfile.TemporaryDirectory(prefix="metamorphic-") as name:
            os.chdir(name)
            try:
                folder = Path()
                if old is not None:
                    write(old, Written(), folder, "old")
                expected = said(write(people.columns, Written(), folder), keys)
                columns, how = rewritten(people.columns, people, keys, rng)
                yield number, how, expected, said(write(columns, how, folder), keys)
            finally:
                os.chdir(before)


def first_difference(one: str, other: str) -> str:
    """Return the first lines that differ."""
    for a, b in zip(io.StringIO(one), io.StringIO(other), strict=False):
        if a != b:
            return f"{a.strip()} | {b.strip()}"
    return "one is longer"


def main() -> int:
    """Print the cases whose audits differ, and how many there were of each kind."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--audits", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    wrong, kinds, results = 0, Counter[str](), 0
    for number, how, expected, found in outcomes(given.seed, range(given.first, given.first + given.audits)):
        kinds.update((how.kind, *set(how.changes)))
        results += expected.startswith("{")
        if found != expected:
            wrong += 1
            print(f"{number}: {how}\n  {first_difference(expected, found)}", flush=True)
    print(f"{given.audits} tables written twice, {results} with a result, {wrong} differ; {dict(kinds)}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
