"""Tables 2–7 of cardoso2019, 3,600 fits, by `fairbench run` and by a plain pandas and scikit-learn script.

python benchmarks/tables.py [REPEATS] [REPEATS OF THE SCRIPT]

Needs FAIRBENCH_DATA. Whole processes, start-up included; CPU of the parent, the fork server and the workers.
The script (`tables_plain.py`) is given the coded rows and the arcs, which fairbench reads and learns itself,
and runs fewer repeats; its cost is given for all of them.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from costs import head, row

from fairbench_cli.data.load import load
from fairbench_cli.data.locate import find_files
from fairbench_cli.experiment.config.read import find_config, read_config
from fairbench_cli.experiment.running.run import prepare
from fairbench_cli.network.family_counts import fit_network

TECHNIQUES = (
    "[none, massaging, reweighing, uniform-sampling, preferential-sampling, "
    "{repair: {level: [0.25, 0.5, 0.75], bins: nominal, test_repair: none}}]"
)
TICK = os.sysconf("SC_CLK_TCK")
CELLS = 3 * 5 * 8


@dataclass(frozen=True)
class Tree:
    """What a process and all that it started took: seconds, MB of the first one and of the largest other."""

    wall: float
    cpu: float
    parent: float
    worker: float


def tree(command: list[str]) -> Tree:
    """Run a command, one thread a library, and watch it and its descendants. Linux only."""
    environment = os.environ | {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    used: dict[int, float] = {}
    peak: dict[int, float] = {}
    while process.poll() is None:
        for pid in family(process.pid):
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
                status = Path(f"/proc/{pid}/status").read_text()
            except OSError:  # it has ended
                continue
            used[pid] = (int(fields[11]) + int(fields[12])) / TICK
            if "VmHWM:" in status:
                peak[pid] = float(status.partition("VmHWM:")[2].split()[0]) / 1024
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"failed: {' '.join(command)}")
    others = [size for pid, size in peak.items() if pid != process.pid]
    return Tree(time.monotonic() - start, sum(used.values()), peak[process.pid], max(others, default=0.0))


def family(pid: int) -> list[int]:
    """Return a process and its descendants."""
    found = [pid]
    for one in found:  # grows while it is walked
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                found.extend(map(int, task.read_text().split()))
            except OSError:
                continue
    return found


def export(folder: Path) -> None:
    """Write the coded rows and the arcs of each data set for the plain script."""
    config = read_config(find_config("cardoso2019"))
    for prepared in prepare(config, folder=folder / "none").datasets:
        name, roles = prepared.card.name, prepared.roles
        ((column, lowered),) = prepared.edits[0][0].items()  # its own attribute alone
        table, learned = load(*find_files(name, None)).table, prepared.network
        net = fit_network(table, learned.parents if learned else [()] * len(table.columns))
        about = {
            "parents": {own: net.parents_of(own) for own in net.names},
            "order": [net.names[j] for j in net.order],
            "label": roles.label,
            "favourable": roles.favourable,
            "attribute": roles.attribute,
            "deprived": list(roles.deprived),
            "edited": column,
            "lowered": list(lowered[0]),
        }
        table.to_frame().to_csv(folder / f"{name}.csv", index=False)
        (folder / f"{name}.json").write_text(json.dumps(about), encoding="utf-8")


def main(repeats: int, of_script: int) -> None:
    """Print the table."""
    python = [sys.executable, "-m", "fairbench_cli", "run"]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        export(folder)
        small = [*python, "quickstart", "--set", "datasets=[compas]", "--set", "interventions=[none]", "-q"]
        small += ["--set", "sample.beta=[0]", "--set", "repeats=1", "--jobs", "1"]
        of_one = [tree([*small, "-o", str(folder / f"small-{i}")]) for i in range(6)][1:]
        head("what:", "fits", "wall s", "CPU s", "parent, MB", "largest other, MB")
        median = Tree(
            *(statistics.median(getattr(one, name) for one in of_one) for name in Tree.__annotations__)
        )
        row("one small cell (median of 5)", 1, *numbers(median))
        fits = CELLS * repeats
        for jobs in (1, 2):
            command = [
                *python,
                "cardoso2019",
                "--set",
                f"interventions={TECHNIQUES}",
                "--set",
                f"repeats={repeats}",
            ]
            command += ["--set", "figures=[]", "-q", "--jobs", str(jobs), "-o", str(folder / f"jobs-{jobs}")]
            row(f"fairbench run --jobs {jobs}", fits, *numbers(tree(command)))
        script = [sys.executable, str(Path(__file__).with_name("tables_plain.py")), made, str(of_script)]
        plain = tree(script)
        share = repeats / of_script
        scaled = Tree(plain.wall * share, plain.cpu * share, plain.parent, plain.worker)
        row(f"the plain script (of {CELLS * of_script} fits)", fits, *numbers(scaled))


def numbers(cost: Tree) -> list[str]:
    """Return a cost as it is printed."""
    return [f"{cost.wall:.1f}", f"{cost.cpu:.1f}", f"{cost.parent:.0f}", f"{cost.worker:.0f}"]


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    main(given[0] if given else 30, given[1] if given[1:] else 1)
