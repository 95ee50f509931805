"""Flipped bits of a journal and of cached networks: whether a wrong number is ever taken for a right one.

usage: python benchmarks/flips.py [--flips 3000] [--headers 200] [--seed 0]

A small run on a learned network is flipped one bit at a time, alternately in its journal and in what it
keeps of the network. A journal is then read: every record has to be the good one bit for bit, or to be left
out with its line named. The network is used as the next run would: it has to be the good one, refused, or
fitted anew. Every hundredth flip is also put before `fairbench report`: results.csv must have no row of its
own.

Then bits of headers are flipped, of two journals in one file, whose headers say other versions than those of
this Python: with one repeat missing, a run has to refuse to go on, as it does without the flip, and what the
manifest says of unknown versions has to name the file.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fairbench_cli.base.errors import UserError
from fairbench_cli.experiment.datasets import populate
from fairbench_cli.experiment.journal.folder import unknown_versions
from fairbench_cli.experiment.journal.journal import header_line, list_journals, parse_header, read_journals
from fairbench_cli.experiment.journal.journal import opened as without_sum
from fairbench_cli.experiment.running.run import prepare, working_in
from fairbench_cli.experiment.running.verify import differences

CONFIG = """\
name: flips
repeats: 10
datasets: [./toy.yaml]
sample: {from: network, beta: [0, 0.5], size: 200, missing_arc: leave}
interventions: [none, massaging, {repair: {tune: {for: accuracy, over: {level: [0, 1]}}}}]
classifiers: [tree]
metrics: [discrimination, accuracy, consistency]
sweep: acceptance-rate
"""
CARD = """\
name: toy
files: [toy.csv]
columns: {s: nominal, x: nominal, y: nominal}
label: {column: y, favourable: "1"}
protected: {s: {deprived: f}}
"""


def make(folder: Path) -> Path:
    """Run the experiment that is flipped."""
    rng = np.random.default_rng(0)
    s, x = rng.integers(0, 2, 300), rng.integers(0, 3, 300)
    y = (rng.random(300) < 0.2 + 0.4 * s).astype(int)
    rows = "".join(f"{'fm'[a]},{b},{c}\n" for a, b, c in zip(s, x, y, strict=True))
    (folder / "toy.csv").write_text(f"s,x,y\n{rows}")
    (folder / "toy.yaml").write_text(CARD)
    (folder / "flips.yaml").write_text(CONFIG)
    command = [sys.executable, "-m", "fairbench_cli", "run", "flips.yaml", "-o", "out", "-q"]
    subprocess.run(command, cwd=folder, check=True, timeout=300)
    return folder / "out"


def flip(path: Path, rng: random.Random) -> bytes:
    """Flip one bit of a file; return what it was."""
    good = path.read_bytes()
    bad = bytearray(good)
    bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
    path.write_bytes(bytes(bad))
    return good


def main() -> int:
    """Print what became of the flips; return 1 where a wrong number was taken for a right one."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--flips", type=int, default=3000)
    parser.add_argument("--headers", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = random.Random(given.seed)  # noqa: S311
    with tempfile.TemporaryDirectory(prefix="flips-") as name:
        out = make(Path(name))
        prepared = prepare(Path(name) / "flips.yaml", folder=out)
        (dataset,) = prepared.datasets
        good = read_journals(out / "journal").records
        network = populate(dataset, prepared.config, out / "networks").network
        results = set((out / "results.csv").read_text().splitlines())
        journals = sorted(out.glob("journal/*.jsonl"))
        networks = sorted(path for path in out.glob("networks/*") if path.is_file())
        came: Counter[str] = Counter()
        for number in range(given.flips):
            path = rng.choice(networks if number % 2 else journals)
            before = flip(path, rng)
            try:
                if path in journals:
                    came[f"journal: {of_journal(out, good)}"] += 1
                    if number % 100 == 0:
                        came[f"report: {of_report(out, results)}"] += 1
                else:
                    found = populate(dataset, prepared.config, out / "networks").network
                    same = network is not None and found is not None and _same(found.cpts, network.cpts)
                    came["network: the good one" if same else "network: WRONG"] += 1
            except UserError as error:
                kind = "journal" if path in journals else "network"
                came[f"{kind}: refused, {'named' if path.name in str(error) else 'NOT NAMED'}"] += 1
            finally:
                path.write_bytes(before)
        for what in of_headers(Path(name), journals[0], given.headers, rng):
            came[f"header: {what}"] += 1
    for what, n in sorted(came.items()):
        print(f"{n:6} {what}")
    return 1 if any("WRONG" in what or "NOT NAMED" in what for what in came) else 0


def of_headers(folder: Path, journal: Path, flips: int, rng: random.Random) -> Iterator[str]:
    """Yield what a run makes of flipped bits of two headers, which say other versions, in one file."""
    line, *records = journal.read_bytes().splitlines(keepends=True)
    header = parse_header(*without_sum(line.rstrip()), str(journal))
    other = header.model_copy(update={"versions": header.versions | {"scipy": "1.0.0"}})
    for number in range(flips + 1):
        first, second = (bytearray(header_line(other) + b"\n") for _ in range(2))
        place, bit = rng.randrange(len(first)), 1 << rng.randrange(8)
        hit = (first, second)[number % 2]
        hit[place] ^= bit if number else 0
        half = len(records) // 2
        journal.write_bytes(b"".join([first, *records[:half], second, *records[half:-1]]))
        unknown = unknown_versions(list_journals(journal.parent))
        try:
            with working_in(prepare(folder / "flips.yaml", folder=folder / "out"), warn=lambda _: None):
                yield "WRONG: it goes on" if number else "without a flip WRONG"
        except UserError as error:
            said = "--mix-versions" in str(error)
            if bool(unknown) != bool(number) or not said:
                yield f"refused, NOT NAMED: byte {place}, bit {bit}"
            else:
                yield "refused, and of unknown versions" if number else "refused without a flip, as it should"


def of_journal(out: Path, good: dict) -> str:  # type: ignore[type-arg]
    """Return what reading a flipped journal gives."""
    reading = read_journals(out / "journal")
    for place, record in reading.records.items():
        if (
            place not in good
            or any(differences(good[place], record))
            or record.seconds != good[place].seconds
        ):
            return "WRONG"
    missing = len(good) - len(reading.records)
    if missing and not reading.damages:
        return "a record is missing, NOT NAMED"
    return f"{missing} left out, {len(reading.damages)} line(s) named"


def of_report(out: Path, results: set[str]) -> str:
    """Return whether a report of a flipped journal has a row of its own."""
    command = [sys.executable, "-m", "fairbench_cli", "report", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    rows = set((out / "results.csv").read_text().splitlines())
    if done.returncode == 2 and "error: " in done.stderr:
        return "refused"
    wrong = rows - results
    if any(",ok," in row or row.rpartition(",")[2] for row in wrong):
        return "WRONG"
    return f"exit code {done.returncode}, {'as it was' if rows == results else 'without the damaged repeat'}"


def _same(one, other) -> bool:  # type: ignore[no-untyped-def]
    return all(np.array_equal(own, its) for own, its in zip(one, other, strict=True))


if __name__ == "__main__":
    sys.exit(main())
