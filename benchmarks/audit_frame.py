"""Cost of auditing a data frame against the same audit of a Parquet file, in one process.

``python benchmarks/audit_frame.py [rows] [repeats]`` audits 1,000,000 rows by three decisions, 5 times
each in turn, and prints the median wall and CPU seconds (user + system) of each kind of frame, with the
ratios to Parquet.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from predictions import GROUPS

import fairbench_cli as fb

DECISIONS: tuple[dict[str, Any], ...] = (
    {"threshold": 0.5},
    {"threshold": 0.5, "draws": 0},
    {"top_share": 0.1},
)


def frames(rows: int, path: Path) -> dict[str, Any]:
    """Return the same rows as a Parquet file and as frames of several libraries and types of text."""
    rng = np.random.default_rng(4)
    numbers = {"score": rng.random(rows).round(4), "label_value": rng.integers(0, 2, rows)}
    words = {name: rng.choice(np.array(of, dtype=object), rows) for name, of in GROUPS.items()}

    def pandas(kind: Any) -> pd.DataFrame:
        return pd.DataFrame({**numbers, **{name: pd.Series(of, dtype=kind) for name, of in words.items()}})

    text, category = pandas("str"), pandas("category")
    text.to_parquet(path, index=False)
    polars = pl.from_pandas(text)
    return {
        "Parquet": path,
        "pandas, objects": pandas(object),
        "pandas, str": text,
        "pandas, string[pyarrow]": pandas("string[pyarrow]"),
        "pandas, category": category,
        "Polars, String": polars,
        "Polars, Categorical": polars.with_columns(pl.col(list(GROUPS)).cast(pl.Categorical)),
        "Arrow, string": pa.Table.from_pandas(text, preserve_index=False),
        "Arrow, dictionary": pa.Table.from_pandas(category, preserve_index=False),
    }


def main() -> None:
    """Measure and print a table."""
    rows, repeats = (int(text) for text in [*sys.argv[1:], "1000000", "5"][:2])
    print("| decision | frame | wall s | ratio | CPU s | ratio |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        known = frames(rows, Path(folder) / "rows.parquet")
        for options in DECISIONS:
            spent: dict[str, list[tuple[float, float]]] = {name: [] for name in known}
            for turn in range(repeats + 1):
                for name, frame in known.items():
                    wall, cpu = time.perf_counter(), time.process_time()
                    fb.audit(frame, attributes=list(GROUPS), **options)
                    if turn:  # the first warms up
                        spent[name].append((time.perf_counter() - wall, time.process_time() - cpu))
            medians = {
                name: [statistics.median(of) for of in zip(*each, strict=True)]
                for name, each in spent.items()
            }
            base = medians["Parquet"]
            for name, (wall, cpu) in medians.items():
                ratios = wall / base[0], cpu / base[1]
                said = ", ".join(f"{key} {value}" for key, value in options.items())
                print(
                    f"| {said} | {name} | {wall:.2f} | {ratios[0]:.2f} | {cpu:.2f} | {ratios[1]:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
