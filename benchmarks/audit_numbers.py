"""Cost of an audit of numbers beside what DuckDB takes for its own: CPU seconds and MB of whole processes.

``python benchmarks/audit_numbers.py [rows [pairs]]`` writes a Parquet file of 10,000,000 rows (or as many as
given), all of different pay, in three groups. It runs `fairbench audit` on it, on its first 1,000 rows, and
three others, one thread each, in turn: DuckDB's mean, standard deviation and three quantiles of each group;
these and the ranks of all rows, without which no test of ranks is made; and numpy that reads and sorts the
numbers of each group, below which no exact test of ranks is. Bytecode is kept from a run before these, as an
installed package has it.

2026-11-24, Intel Xeon with AVX-512, 2 cores that others used, too; CPU s and MB, start-up included:

| 10,000,000 rows | CPU s | the audit takes times as much | MB |
|---|---:|---:|---:|
| DuckDB: mean, deviation, quantiles | 0.70 (0.69–0.73) | 4.22 (4.00–4.23) | 204 |
| DuckDB: these and ranks | 2.55 (2.54–2.56) | 1.15 (1.14–1.15) | 988 |
| numpy: read and sort | 0.93 (0.91–0.95) | 3.16 (3.06–3.20) | 283 |
| fairbench audit of 1,000 rows | 1.04 (1.04–1.05) | 2.80 (2.80–2.81) | 133 |
| fairbench audit | 2.92 (2.91–2.95) | 1.00 (1.00–1.00) | 342 |
"""

import os
import sys
import tempfile
from functools import partial
from pathlib import Path

from costs import head, in_turn, ratios, row, spread, whole
from predictions import write

MOMENTS = "avg(pay), stddev(pay), quantile_cont(pay, [0.1, 0.5, 0.9])"
DUCKDB = """
import duckdb
duckdb.connect(config={{"threads": 1}}).sql('''{query}''').fetchall()
"""
NUMPY = """
import duckdb
columns = duckdb.connect(config={{"threads": 1}}).sql('''
SELECT pay, ascii(g)::TINYINT AS g FROM '{path}' ''').fetchnumpy()
for g in set(columns["g"][:1000].tolist()):
    columns["pay"][columns["g"] == g].sort()
"""
FIRST = 1000
NORMAL = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"
PAY = f"exp(7 + 0.5 * {NORMAL}) AS pay, ['a', 'b', 'c'][1 + floor(3 * random() ** 1.5)::INT] AS g"


def main() -> None:
    """Measure and print a table."""
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    n_pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}
        path = Path(folder) / "pay.parquet"
        first_path = Path(folder) / "first.parquet"
        write(path, f"SELECT {PAY} FROM range({n_rows})")  # noqa: S608
        write(first_path, f"SELECT * FROM '{path}' LIMIT {FIRST}")  # noqa: S608
        audit = [sys.executable, "-m", "fairbench_cli", "audit", "--score", "pay", "--attribute", "g"]
        moments = f"SELECT g, {MOMENTS} FROM '{path}' GROUP BY g"  # noqa: S608
        ranked = f"(SELECT *, rank() OVER (ORDER BY pay) AS place FROM '{path}')"  # noqa: S608
        ranks = f"SELECT g, {MOMENTS}, avg(place) FROM {ranked} GROUP BY g"  # noqa: S608
        commands = {
            "DuckDB: mean, deviation, quantiles": [sys.executable, "-c", DUCKDB.format(query=moments)],
            "DuckDB: these and ranks": [sys.executable, "-c", DUCKDB.format(query=ranks)],
            "numpy: read and sort": [sys.executable, "-c", NUMPY.format(path=path)],
            f"fairbench audit of {FIRST:,} rows": [*audit, str(first_path)],
            "fairbench audit": [*audit, str(path)],
        }
        for command in commands.values():
            whole(command)
        works = {name: partial(whole, command) for name, command in commands.items()}
        costs = in_turn(works, n_pairs)
        times = {name: [cost.cpu for cost in of_command] for name, of_command in costs.items()}
        head(f"{n_rows:,} rows:", "CPU s", "the audit takes times as much", "MB")
        for name, of_command in costs.items():
            times_as_much = ratios(times[name], times["fairbench audit"])
            row(
                name,
                spread(times[name]),
                spread(times_as_much),
                f"{max(cost.peak for cost in of_command):.0f}",
            )


if __name__ == "__main__":
    main()
