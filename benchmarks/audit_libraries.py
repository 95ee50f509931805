"""An audit of a CSV file beside Aequitas and fairlearn, and counting it beside bare DuckDB and Polars.

usage: FAIRBENCH_DATA=… FAIRBENCH_PEERS=… python benchmarks/audit_libraries.py [--rounds 5] [--rows 10000000]

Whole processes, start-up included, which take turns round by round; rows with a decision, a label and three
attributes of nine groups. "counts" is all counts by decision, label and group. "measures" is rates of every
group and, from Aequitas, disparities; the audit adds tests, intervals and verdicts. Aequitas and fairlearn
get a data frame, as pandas reads it, and up to 1,000,000 rows.
"""

import argparse
import os
import sys
import tempfile
from functools import partial
from pathlib import Path

from costs import head, in_turn, peer, ratios, row, spread, whole
from predictions import COUNT, compas, made, write

CODE = {
    "fairbench, counts": """
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.scan.open import open_scan
with open_scan("{path}", AuditConfig()): pass
""",
    "DuckDB, counts": f"""
import duckdb
duckdb.sql("{COUNT}").fetchall()
""",
    "Polars, counts": """
import polars
columns = ["score", "label_value", "race", "sex", "age_cat"]
polars.scan_csv("{path}").group_by(columns).len().collect(engine="streaming")
""",
    "Aequitas, measures": """
import pandas
from aequitas import Audit
rows = pandas.read_csv("{path}").drop(columns="entity_id")
Audit(rows, label_column="label_value", sensitive_attribute_column=["race", "sex", "age_cat"]).audit()
""",
    "fairlearn, measures": """
import pandas
from fairlearn import metrics
rows = pandas.read_csv("{path}")
names = ["selection_rate", "true_positive_rate", "false_positive_rate", "false_negative_rate", "count"]
wanted = {{name: getattr(metrics, name) for name in names}}
for name in ("race", "sex", "age_cat"):
    frame = metrics.MetricFrame(
        metrics=wanted, y_true=rows.label_value, y_pred=rows.score, sensitive_features=rows[name]
    )
    frame.by_group, frame.ratio()
""",
}
MOST_ROWS = {"Aequitas, measures": 1_000_000, "fairlearn, measures": 1_000_000}
AUDIT = "fairbench, the audit"


def commands(path: Path) -> dict[str, list[str]]:
    """Return the command of each contestant that is there."""
    found = {AUDIT: [sys.executable, "-m", "fairbench_cli", "audit", str(path)]}
    for name, code in CODE.items():
        own = name.partition(",")[0].lower()
        python = peer(own) if own in ("aequitas", "fairlearn") else sys.executable
        if python:
            found[name] = [python, "-c", code.format(path=path)]
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=10_000_000, help="of the largest file")
    given = parser.parse_args()
    head("file:", "rows", "what:", "CPU s", "times the audit's", "peak MB")
    queries = {
        f"random, {size}": (size, made(size)) for size in sorted({min(given.rows, 1_000_000), given.rows})
    }
    if folder := os.environ.get("FAIRBENCH_DATA"):
        queries = {"COMPAS": (7_214, compas(Path(folder) / "compas-scores-two-years.csv")), **queries}
    else:
        print("skipped COMPAS: set FAIRBENCH_DATA", file=sys.stderr)
    for name, (size, query) in queries.items():
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "predictions.csv"
            write(path, query)
            works = {
                who: partial(whole, command)
                for who, command in commands(path).items()
                if size <= MOST_ROWS.get(who, size)
            }
            found = in_turn(works, given.rounds)
        mine = [cost.cpu for cost in found[AUDIT]]
        for who, costs in found.items():
            times = [cost.cpu for cost in costs]
            peak = f"{max(cost.peak for cost in costs):.0f}"
            row(name.partition(",")[0], f"{size:,}", who, spread(times), spread(ratios(mine, times)), peak)


if __name__ == "__main__":
    main()
