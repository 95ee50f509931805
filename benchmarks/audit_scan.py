"""Cost of an audit's reading beside DuckDB's own scan of the same file: CPU seconds of whole processes.

``python benchmarks/audit_scan.py [rows [pairs]]`` writes files of 10,000,000 rows (or as many as given) to a
temporary folder, one at a time, and runs DuckDB and fairbench in turn, three times each; ratios are medians
of pairs. Beside 0/1 scores, a threshold and top lists stands a scan that reads and counts the same columns,
with types guessed as DuckDB does. Beside 30 attributes (a tenth of the rows) stand two scans of all columns
as text: ``histogram`` of each, and the counts of each by score and label, by GROUPING SETS.
"""

import sys
import tempfile
from functools import partial
from pathlib import Path

from costs import head, in_turn, ratios, row, spread, whole
from predictions import ATTRIBUTES, DECIDED, LABEL, made, write

OURS = """
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.scan.open import open_scan
with open_scan({path!r}, AuditConfig({options})): pass
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


def compare(what: str, rows: int, bare: str, ours: str, pairs: int) -> None:
    """Print a line of a table: the medians of some pairs."""
    works = {code: partial(whole, [sys.executable, "-c", code]) for code in (bare, ours)}
    theirs, mine = in_turn(works, pairs).values()
    times = [[cost.cpu for cost in costs] for costs in (theirs, mine)]
    peaks = [f"{max(cost.peak for cost in costs):.0f}" for costs in (theirs, mine)]
    row(what, f"{rows:,}", *map(spread, times), spread(ratios(*times)), *peaks)


def main() -> None:
    """Measure and print a table."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    wide = ", ".join(f"'g' || (random() * {2 + i % 9})::INT AS a{i}" for i in range(WIDE))
    files = {
        "binary": (rows, f"{DECIDED}, {LABEL}, {ATTRIBUTES}"),
        "scores": (rows, f"random() AS score, {LABEL}, {ATTRIBUTES}"),
        "wide": (rows // 10, f"{DECIDED}, {LABEL}, {wide}"),
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
    # By default only columns that are called like protected attributes are audited.
    attributes = f"attributes={tuple(columns)}"
    sets = "GROUP BY GROUPING SETS (" + ", ".join(f"(score, label_value, {name})" for name in columns) + ")"
    scans = {
        "histogram": (", ".join(f"histogram({name})" for name in columns), ""),
        "grouping sets": (f"score, label_value, {', '.join(columns)}, count(*)", sets),
    }
    head("audit:", "rows", "DuckDB, CPU s", "fairbench, CPU s", "ratio", "DuckDB MB", "fairbench MB")
    for name, (size, columns_of) in files.items():
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "preds.csv")
            write(Path(path), made(size, columns_of))
            for what, (cut, options) in each.get(name, {}).items():
                bare, ours = SCAN.format(path=path, cut=cut), OURS.format(path=path, options=options)
                compare(what, size, bare, ours, pairs)
            for what, (counted, group) in scans.items() if name == "wide" else ():
                bare = TEXTS.format(path=path, columns=counted, group=group)
                ours = OURS.format(path=path, options=attributes)
                compare(f"{WIDE} attributes ({what})", size, bare, ours, pairs)


if __name__ == "__main__":
    main()
