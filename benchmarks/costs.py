"""What the benchmarks share: CPU and memory, works timed in turn, and other libraries' environments.

``python benchmarks/costs.py [NAME ...]`` makes the environments that are missing, one a library, in the
folder that FAIRBENCH_PEERS names. Without a library's environment a benchmark says that it skips it and goes
on.
Only Python's own modules are imported here, so that an environment without fairbench can use it.
"""

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

PEERS = {
    "pyagrum": ("pyagrum==3.3.1", "pandas"),
    "pgmpy": ("pgmpy==1.1.2",),
    "aif360": ("aif360==0.6.1", "BlackBoxAuditing"),
    "fairlearn": ("fairlearn==0.15.0",),
    "aequitas": ("aequitas==1.1.0",),
}
"""What pip installs into the environment of each library."""


def cpu() -> float:
    """Return the CPU seconds, user + system, of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU seconds of a call, threads included."""
    start = cpu()
    work()
    return cpu() - start


def resident(field: str) -> float:
    """Return this process's resident size in MB: now (`VmRSS`) or at most (`VmHWM`). Linux only."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return float(status.partition(f"{field}:")[2].split()[0]) / 1024


def forget_peak() -> None:
    """Count this process's largest resident size (`VmHWM`) from now on. Linux only."""
    Path("/proc/self/clear_refs").write_text("5")


@dataclass(frozen=True)
class Cost:
    """CPU seconds (user + system) and peak MB of a process and its children."""

    cpu: float
    peak: float


def whole(command: Sequence[str]) -> Cost:
    """Run a command and return its cost, start-up included.

    Raises
    ------
    SystemExit
        The command failed.
    """
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"failed: {' '.join(command)}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def inside(python: str, script: str, *arguments: object) -> Any:
    """Run a script by some Python, one thread, and return what the last line of its output says as JSON.

    Raises
    ------
    SystemExit
        The script failed; its last words are in the message.
    """
    command = [python, script, *map(str, arguments)]
    first = {"PATH": f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"}  # AIF360 starts `python`
    one = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")} | {"POLARS_MAX_THREADS": "1"}
    environment = os.environ | first | one
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode:
        raise SystemExit(f"failed: {' '.join(command)}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def in_turn(works: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """Do each work once a round, A B A B …, and return what each gave, by name."""
    found: dict[str, list[T]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            found[name].append(work())
    return found


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Write the median of some values with the least and the largest.

    >>> spread([3.0, 1.0, 2.25])
    '2.25 (1.00–3.00)'
    """
    low, mid, high = (f"{f(values):.{digits}f}" for f in (min, statistics.median, max))
    return f"{mid} ({low}–{high})"


def ratios(mine: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Return what the other took over what fairbench took, round by round: above 1, fairbench is cheaper."""
    return [other / own for own, other in zip(mine, theirs, strict=True)]


def peer(name: str) -> str | None:
    """Return the Python of a library's environment, or say how to make it and return None."""
    folder = os.environ.get("FAIRBENCH_PEERS")
    python = Path(folder or "FOLDER").absolute() / name / "bin" / "python"
    if folder and python.exists():
        return str(python)
    command = f"FAIRBENCH_PEERS={folder or 'FOLDER'} python {__file__} {name}"
    print(f"skipped {name}, which has no environment; to make it: {command}", file=sys.stderr)
    return None


def head(*titles: str) -> None:
    """Print what a table was measured on, and its first two lines; a title that ends in : is text."""
    try:
        model = Path("/proc/cpuinfo").read_text().partition("model name")[2].partition("\n")[0].strip("\t: ")
    except OSError:
        model = platform.processor()
    when, version = time.strftime("%Y-%m-%d %H:%M"), platform.python_version()
    print(f"{when}, {model}, {os.cpu_count()} cores, Python {version}\n")
    print(f"| {' | '.join(title.removesuffix(':') for title in titles)} |")
    print("|" + "|".join("---" if title.endswith(":") else "---:" for title in titles) + "|", flush=True)


def row(*cells: object) -> None:
    """Print a line of a table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def main(names: Sequence[str]) -> None:
    """Make the environments of some libraries, or of all."""
    if not os.environ.get("FAIRBENCH_PEERS"):
        raise SystemExit("set FAIRBENCH_PEERS to the folder in which the environments are made")
    for name in names or PEERS:
        folder = Path(os.environ["FAIRBENCH_PEERS"]).absolute() / name
        if not folder.exists():
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", *PEERS[name]], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
