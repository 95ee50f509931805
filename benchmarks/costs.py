"""What commands cost: CPU seconds and memory of whole processes, and the page that says so.

``python benchmarks/costs.py [--rounds 5]`` runs each command as often, in turn, and writes the medians to
docs/reference/performance.csv and from there to docs/performance.md. CPU is user + system of a process and of
all that it starts; memory is the largest of one process. Measure on an idle machine.
"""

import argparse
import csv
import ctypes
import hashlib
import io
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from fairbench_cli import __version__

ROOT = Path(__file__).resolve().parents[1]
CSV = ROOT / "docs" / "reference" / "performance.csv"
PAGE = ROOT / "docs" / "performance.md"
START, END = "<!-- Made by benchmarks/costs.py. -->\n", "<!-- end -->\n"
COLUMNS = ("what", "command", "cpu", "least", "largest", "mb")
IMPORT = "import numpy, duckdb, pydantic, rich, typer"
DECISIONS = (
    "SELECT i AS entity_id, (random() < .5)::INT AS score, (random() < .4)::INT AS label_value, "
    "'r' || (random() * 3)::INT AS race, 's' || (random() < .5)::INT AS sex, "
    "'a' || (random() * 2)::INT AS age_cat FROM range({rows}) t(i)"
)
SCAN = "SELECT score, label_value, race, sex, age_cat, count(*) FROM read_csv('{path}') GROUP BY ALL"
SMALL = ("datasets=[compas]", "sample.beta=[0, 1]", "interventions=[none, massaging, reweighing]")
ADOPT_ORPHANS = 36  # prctl's PR_SET_CHILD_SUBREAPER: what a command leaves behind is waited for, too


def cost(command: Sequence[str], folder: Path) -> tuple[float, float]:
    """Run a command; return its CPU seconds and its peak in MB, with all processes that it starts.

    Raises
    ------
    SystemExit
        It failed.
    """
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    cpu, peak = 0.0, 0
    while True:
        try:
            pid, status, usage = os.wait4(-1, 0)
        except ChildProcessError:
            break
        cpu, peak = cpu + usage.ru_utime + usage.ru_stime, max(peak, usage.ru_maxrss)
        if pid == process.pid:
            process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"failed: {' '.join(command)}")
    return cpu, peak / 1024


def commands(sizes: Sequence[int]) -> dict[str, tuple[str, list[str]]]:
    """Return what is measured: how a reader calls it, and the arguments of Python."""

    def ours(text: str, *more: str) -> tuple[str, list[str]]:
        return f"fairbench {text}", ["-m", "fairbench_cli", *text.split(), *more]

    found = {
        "start Python and import numpy, duckdb, pydantic, rich, typer": (IMPORT, ["-c", IMPORT]),
        "help": ours("--help"),
        "names of all parts": ours("list"),
    }
    for rows in sizes:
        file = f"preds{rows}.csv"
        said = f"{rows:,} rows"
        found[f"audit of {said}"] = ours(f"audit {file}")
        if rows > 1000:
            count = f'import duckdb; duckdb.sql("{SCAN.format(path=file)}").fetchall()'
            found[f"DuckDB alone, counting {said}"] = "SELECT …, count(*) … GROUP BY ALL", ["-c", count]
    changes = [word for change in ("repeats=3", "controls=false", *SMALL) for word in ("--set", change)]
    name, command = ours("run quickstart -o results/small --jobs 1", *changes)
    found["run of 18 fits"] = f"{name} …", command
    found["quickstart, 225 fits"] = ours("run quickstart")
    found["its report again"] = ours("report results/quickstart")
    return found


def measure(rounds: int, sizes: Sequence[int]) -> list[dict[str, str]]:
    """Run everything once, so that all is compiled and read, and then so often in turn."""
    ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1, 0, 0, 0)
    works = commands(sizes)
    seen: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size in sizes:
            select = f"COPY ({DECISIONS.format(rows=size)}) TO 'preds{size}.csv'"
            cost([sys.executable, "-c", f'import duckdb; duckdb.sql("{select}")'], folder)
        for turn in range(rounds + 1):
            shutil.rmtree(folder / "results", ignore_errors=True)
            for what, (_, arguments) in works.items():
                found = cost([sys.executable, *arguments], folder)
                seen[what] = [*seen.get(what, []), found][-rounds:]
                print(f"{turn}  {found[0]:7.2f} s  {found[1]:5.0f} MB  {what}", file=sys.stderr)
    rows = []
    for what, (command, _) in works.items():
        cpu, peak = zip(*seen[what], strict=True)
        numbers = (f"{of(cpu):.2f}" for of in (statistics.median, min, max))
        cells = (what, command, *numbers, f"{statistics.median(peak):.0f}")
        rows.append(dict(zip(COLUMNS, cells, strict=True)))
    return rows


def script() -> str:
    """Return the checksum of this script, by which a table of another one is known."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]


def measured_on(rounds: int) -> dict[str, str]:
    """Return what is said of a measurement."""
    describe = ["git", "describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"]
    git = subprocess.run(describe, cwd=ROOT, capture_output=True, text=True, check=False)
    processor = Path("/proc/cpuinfo").read_text().partition("model name")[2].partition("\n")[0].strip("\t: ")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = (f"{name} {version(name)}" for name in ("numpy", "duckdb", "scikit-learn"))
    return {
        "fairbench": __version__,
        "commit": git.stdout.strip(),
        "script": script(),
        "date": time.strftime("%Y-%m-%d"),
        "rounds": str(rounds),
        "load": f"{os.getloadavg()[0]:.1f}",
        "machine": f"{processor}, {os.cpu_count()} cores, {memory:.0f} GB, {platform.system()}",
        "versions": f"Python {platform.python_version()}, {', '.join(packages)}",
    }


def write(path: Path, facts: dict[str, str], rows: Sequence[dict[str, str]]) -> None:
    """Write a table, what it was measured on in comments before it."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"# {key}: {value}\n" for key, value in facts.items())
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def read(path: Path = CSV) -> tuple[dict[str, str], list[dict[str, str]]]:
    """Return what a table was measured on, and its rows.

    Raises
    ------
    ValueError
        It is of another minor version of fairbench, or of another script.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    facts = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    minor = __version__.rpartition(".")[0]
    if facts["fairbench"].rpartition(".")[0] != minor or facts["script"] != script():
        raise ValueError(
            f"{path.name} is of fairbench {facts['fairbench']} and of script {facts['script']}\n"
            "fix: python benchmarks/costs.py, on an idle machine"
        )
    return facts, [*csv.DictReader(io.StringIO("\n".join(line for line in lines if line[:1] != "#")))]


def with_costs(page: str, path: Path = CSV) -> str:
    """Return the text of the page with the table of a CSV file."""
    facts, rows = read(path)
    bare = float(rows[0]["cpu"])
    lines = ["| what | command | CPU s | × import | MB |", "|---|---|---:|---:|---:|"]
    for row in rows:
        spread = f"{row['cpu']} ({row['least']}–{row['largest']})"
        times = f"{float(row['cpu']) / bare:.1f}"
        lines.append(f"| {row['what']} | `{row['command']}` | {spread} | {times} | {row['mb']} |")
    said = (
        f"Measured {facts['date']} at commit {facts['commit']} (fairbench {facts['fairbench']}): "
        f"{facts['machine']}; {facts['versions']}; medians of {facts['rounds']} (least–largest), "
        f"load {facts['load']} before."
    )
    head, _, rest = page.partition(START)
    return head + START + "\n".join(["", *lines, "", said, "", END]) + rest.partition(END)[2]


def main() -> None:
    """Measure, and write table and page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, nargs="+", default=[400, 1_000_000, 10_000_000])
    parser.add_argument("--csv", type=Path, default=CSV)
    parser.add_argument("--page", type=Path, default=PAGE)
    given = parser.parse_args()
    facts = measured_on(given.rounds)
    write(given.csv, facts, measure(given.rounds, given.rows))
    given.page.write_text(with_costs(given.page.read_text(encoding="utf-8"), given.csv), encoding="utf-8")


if __name__ == "__main__":
    main()
