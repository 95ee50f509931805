"""Cost of an audit's reading beside DuckDB's own scan of the same file: CPU seconds of whole processes.

``python benchmarks/audit_scan.py [rows [pairs]]`` writes files of 10,000,000 rows (or as many as given) to a
temporary folder, one at a time, and runs DuckDB and fairbench in turn, three times each; ratios are medians
of pairs. Beside 0/1 scores, a threshold and top lists stands a scan that reads and counts the same columns,
with types guessed as DuckDB does. Beside 30 attributes (a tenth of the rows) stand two scans of all columns
as text: ``histogram`` of each, and the counts of each by score and label, by GROUPING SETS.
"""

import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

OURS = """
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.read.read import read_file
read_file({path!r}, AuditConfig({decisions}))
"""
SCAN = """
import duckdb
duckdb.sql('''SELECT score{cut}, label_value, race, sex, age_cat, count(*)
FROM read_csv({path!r}) GROUP BY ALL''').fetchall()
"""
TEXTS = """
import duckdb
duckdb.sql('''SELECT {columns} FROM read_csv({path!r}, all_varchar=true) {group}''').fetchall()
"""
WIDE = 30
GROUPS = {
    "race": ["African-American", "Caucasian", "Hispanic", "Other"],
    "sex": ["Female", "Male"],
    "age_cat": ["25 - 45", "Greater than 45", "Less than 25"],
}


def write(path: str, rows: int, columns: str) -> None:
    """Write a file of predictions; `columns` is SQL."""
    import duckdb

    with duckdb.connect(config={"threads": "1"}) as engine:
        engine.execute("SELECT setseed(0.4)").fetchall()
        made = f"SELECT i AS entity_id, {columns} FROM range({rows}) t(i)"  # noqa: S608
        engine.sql(made).write_csv(path)


def cost(code: str) -> tuple[float, float]:
    """Run code in a new process; return its CPU seconds and its peak memory in MB."""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"failed: {code}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def compare(what: str, rows: int, bare: str, ours: str, pairs: int) -> None:
    """Print a line of a table: the medians of some pairs."""
    found = [(cost(bare), cost(ours)) for _ in range(pairs)]
    ratio = statistics.median(mine[0] / theirs[0] for theirs, mine in found)
    cpu = [statistics.median(pair[i][0] for pair in found) for i in (0, 1)]
    peak = [max(pair[i][1] for pair in found) for i in (0, 1)]
    figures = f"{cpu[0]:.2f} | {cpu[1]:.2f} | {ratio:.2f} | {peak[0]:.0f} | {peak[1]:.0f}"
    print(f"| {what} | {rows:,} | {figures} |", flush=True)


def picked(values: list[str]) -> str:
    """Write one of some texts at random in SQL."""
    return f"{values!r}[1 + (random() * {len(values)})::INT % {len(values)}]"


def main() -> None:
    """Measure and print a table."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    groups = ", ".join(f"{picked(values)} AS {name}" for name, values in GROUPS.items())
    label = "(random() < 0.4)::INT AS label_value"
    wide = ", ".join(f"'g' || (random() * {2 + i % 9})::INT AS a{i}" for i in range(WIDE))
    files = {
        "binary": (rows, f"(random() < 0.5)::INT AS score, {label}, {groups}"),
        "scores": (rows, f"random() AS score, {label}, {groups}"),
        "wide": (rows // 10, f"(random() < 0.5)::INT AS score, {label}, {wide}"),
    }
    each = {
        "binary": {"0/1": ("", "")},
        "scores": {
            "threshold": (" >= 0.5", "threshold=0.5"),
            "top share": (" >= 0.5", "top_share=0.1"),
            "three top shares, random ties": (" >= 0.5", "top_share=(0.1, 0.2, 0.5), ties='random'"),
        },
    }
    columns = [f"a{i}" for i in range(WIDE)]
    sets = "GROUP BY GROUPING SETS (" + ", ".join(f"(score, label_value, {name})" for name in columns) + ")"
    scans = {
        "histogram": (", ".join(f"histogram({name})" for name in columns), ""),
        "grouping sets": (f"score, label_value, {', '.join(columns)}, count(*)", sets),
    }
    print("| audit | rows | DuckDB, CPU s | fairbench, CPU s | ratio | DuckDB MB | fairbench MB |")
    print("|---|---|---|---|---|---|---|")
    for name, (size, made) in files.items():
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "preds.csv")
            # In a process of its own: a child's peak memory would start at that of a big parent.
            writer = multiprocessing.get_context("spawn").Process(target=write, args=(path, size, made))
            writer.start()
            writer.join()
            for what, (cut, decisions) in each.get(name, {}).items():
                bare, ours = SCAN.format(path=path, cut=cut), OURS.format(path=path, decisions=decisions)
                compare(what, size, bare, ours, pairs)
            for what, (counted, group) in scans.items() if name == "wide" else ():
                bare = TEXTS.format(path=path, columns=counted, group=group)
                compare(f"30 attributes ({what})", size, bare, OURS.format(path=path, decisions=""), pairs)


if __name__ == "__main__":
    main()
