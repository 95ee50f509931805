"""Random kills of dask workers: whether a run on a cluster loses, doubles or changes anything.

usage: python benchmarks/kills_dask.py [KILLS] [SEED]

Starts a scheduler and two workers, and runs the 300 repeats of `kills.py` on them, again and again, until so
many workers were killed, each at a random moment and replaced by a new one. Prints what went wrong in each
run; returns 1 if anything did. Needs the extra `dask`.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from kills import RETRIED, SIZE, derived, lines, prepare, wait_for

WORKERS = 2


def dask(folder: Path, *arguments: str | Path) -> subprocess.Popen[bytes]:
    """Start a scheduler or a worker of dask, which finds the run's code and writes to a log."""
    with (folder / "dask.log").open("ab") as log:
        command = [sys.executable, "-m", "dask", *map(str, arguments)]
        return subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)


def run(folder: Path, out: str, *options: str) -> subprocess.Popen[bytes]:
    """Start a run."""
    command = [sys.executable, "-m", "fairbench_cli", "run", "kills.yaml", "-o", out, "-q", *options]
    return subprocess.Popen(command, cwd=folder)


def hit(
    process: subprocess.Popen[bytes],
    out: Path,
    workers: list[subprocess.Popen[bytes]],
    start: Callable[[], subprocess.Popen[bytes]],
    rng: random.Random,
) -> int:
    """Kill workers at random moments until the run ends; return how many."""
    kills = 0
    while True:
        many = len(lines(out)) + rng.randint(1, 25)
        while process.poll() is None and len(lines(out)) < many:
            time.sleep(0.02)
        if process.poll() is not None:
            return kills
        time.sleep(rng.uniform(0, 0.05))
        at = rng.randrange(len(workers))
        workers[at].kill()
        workers[at].wait()
        workers[at] = start()
        kills += 1


def wrongs(out: Path, good: dict[str, bytes], kills: int, code: int) -> list[str]:
    """Return what is wrong with a run that has ended."""
    rows, found = lines(out), []
    results = Counter((row["key"], row["repeat"]) for row in rows if row["status"] not in RETRIED)
    lost = (out.parent / "trace").read_text().count("fit") - len(rows)
    if code:
        found.append(f"exit code {code}")
    if len(results) != SIZE or sum(results.values()) != SIZE or len(rows) != SIZE:
        found.append(f"{len(results)} results in {len(rows)} lines in place of {SIZE}")
    if lost > WORKERS * kills:  # the one at work, and one whose result was still at its worker
        found.append(f"{lost} repeats computed and not kept in {kills} kills")
    found += [
        f"{name} has other bytes" for name, content in derived(out).items() if content != good.get(name)
    ]
    return found


def main(kills: int, seed: int) -> int:
    """Print each run; return whether anything went wrong."""
    rng, done, wrong = random.Random(seed), 0, 0  # noqa: S311
    with tempfile.TemporaryDirectory(prefix="kills-dask-") as base:
        folder = prepare(Path(base) / "chain", 2, private=False).folder
        os.environ["TRACE"] = str(folder / "trace")
        if run(folder, "here").wait():
            return 1
        address = folder / "scheduler.json"
        place = "--scheduler-file", address
        started = [dask(folder, "scheduler", *place, "--port", "0", "--dashboard-address", ":0")]
        wait_for(address.exists, 60)

        def start() -> subprocess.Popen[bytes]:
            own = "--nthreads", "1", "--no-nanny", "--local-directory", folder
            return dask(folder, "worker", *place, *own)

        workers = [start() for _ in range(WORKERS)]
        try:
            while done < kills:
                (folder / "trace").unlink()
                out = f"out-{done}"
                process = run(folder, out, "--backend", "dask", "--scheduler", str(address))
                n = hit(process, folder / out, workers, start, rng)
                found = wrongs(folder / out, derived(folder / "here"), n, process.returncode)
                print(f"{n} kills: {'; '.join(found) or 'nothing wrong'}", flush=True)
                done, wrong = done + n, wrong + len(found)
        finally:
            for one in started + workers:
                one.kill()
                one.wait()
    print(f"{done} workers killed; {wrong} things went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    sys.exit(main(given[0] if given else 40, given[1] if given[1:] else 0))
