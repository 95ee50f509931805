"""Cost of reading an audit, against DuckDB's own scan-and-count of the same file; whole processes both.

``python benchmarks/audit_read.py [rows …]`` writes CSV files of that many rows (1,000,000 and 10,000,000)
to a temporary folder and reports CPU seconds (user + system of the whole process) and peak memory of each.
"""

import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

OURS = """
from fairbench_cli.audit.read.read import read_file
from fairbench_cli.audit.config import AuditConfig
tally = read_file({path!r}, AuditConfig({decisions}))
print(sum(s.counts.n.sum() for s in tally.slices))
"""
BARE = """
import duckdb
print(duckdb.sql('''SELECT score{cut}, label_value, race, sex, age_cat, count(*)
FROM read_csv({path!r}) GROUP BY ALL''').fetchall()[0])
"""
ATTRIBUTES = {
    "race": ["African-American", "Caucasian", "Hispanic", "Other"],
    "sex": ["Female", "Male"],
    "age_cat": ["25 - 45", "Greater than 45", "Less than 25"],
}


def write(path: Path, rows: int, *, continuous: bool) -> None:
    """Write a file of predictions, a million rows at a time."""
    rng = np.random.default_rng(4)
    with path.open("w", encoding="ascii") as file:
        file.write(f"entity_id,score,label_value,{','.join(ATTRIBUTES)}\n")
        for start in range(0, rows, 1_000_000):
            size = min(1_000_000, rows - start)
            score = rng.random(size).round(4) if continuous else rng.integers(0, 2, size)
            parts = [range(start, start + size), score.tolist(), rng.integers(0, 2, size).tolist()]
            parts += [rng.choice(values, size).tolist() for values in ATTRIBUTES.values()]
            file.writelines(",".join(map(str, row)) + "\n" for row in zip(*parts, strict=True))


def cost(code: str) -> tuple[float, float]:
    """Run code in a new process; return its CPU seconds and its peak memory in MB."""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"failed: {code}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Measure and print a table."""
    sizes = [int(text) for text in sys.argv[1:]] or [1_000_000, 10_000_000]
    print("| rows | scores | DuckDB alone, CPU s | fairbench, CPU s | ratio | DuckDB MB | fairbench MB |")
    print("|---|---|---|---|---|---|---|")
    for rows in sizes:
        for kind in ("0/1", "threshold", "top-k"):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "preds.csv"
                # In a process of its own: a child's peak memory would start at that of a big parent.
                again = multiprocessing.get_context("spawn")
                writer = again.Process(target=write, args=(path, rows), kwargs={"continuous": kind != "0/1"})
                writer.start()
                writer.join()
                decisions = {
                    "0/1": "",
                    "threshold": "threshold=0.5",
                    "top-k": f"top_k={rows // 10}",
                }[kind]
                cut = "" if kind == "0/1" else " >= 0.5"
                repeats = 3 if rows <= 1_000_000 else 1
                pairs = [
                    (
                        cost(BARE.format(path=str(path), cut=cut)),
                        cost(OURS.format(path=str(path), decisions=decisions)),
                    )
                    for _ in range(repeats)
                ]
            bare, ours = (
                (statistics.median(pair[i][0] for pair in pairs), max(pair[i][1] for pair in pairs))
                for i in (0, 1)
            )
            figures = (
                f"{bare[0]:.2f} | {ours[0]:.2f} | {ours[0] / bare[0]:.2f} | {bare[1]:.0f} | {ours[1]:.0f}"
            )
            print(f"| {rows:,} | {kind} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
