"""Random kills of runs: whether anything finished is lost, computed twice, left behind or another number.

usage: python benchmarks/kills.py [--kills 200] [--chain 10] [--seed 0] [--jobs 2] [--private]

A chain is one results folder of 300 repeats: it is started, hit at a random moment, started again, …, and
at last left alone until it ends. What is hit, and how, is random: the parent, its whole group, a worker,
the process that workers are forked from (KILL, STOP), its guard, or the parent with TERM, HUP or INT, also
after that one was stopped. A third of the hits come while the run starts. Every third fit starts a program,
which has to end with its worker. Every process is known by a variable of its environment, and every fit
writes a line to a trace, so that the repeats that were computed and not kept can be counted. Linux only.
With --private nobody else uses /dev/shm (`unshare -m sh -c 'mount -t tmpfs none /dev/shm && …'`): every file
in it counts.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

MARK = "FAIRBENCH_KILLS"
PATIENCE = 60.0  # seconds without a new line in the journal: the run hangs
LEFT = "fairbench", "loky", "joblib", "pymp", "sem.", "psm_", "torch"
NUMBERS = {name: getattr(signal, f"SIG{name}") for name in ("TERM", "HUP", "INT", "KILL", "STOP", "SEGV")}
KINDS = (
    *("parent KILL", "group KILL", "worker KILL", "worker SEGV", "server KILL", "server STOP", "guard KILL"),
    *("parent TERM", "parent HUP", "group INT", "stopped TERM", "stopped KILL"),
)
PROGRAM = "sleep"
RETRIED = "failed", "killed", "overtime", "memory"

TRACED = """
import os
import subprocess
from dataclasses import dataclass
from fairbench_cli.interventions.fitted import Fitted

@dataclass(frozen=True)
class Traced:
    number: int = 0

    def fit(self, train, classifier, rng):
        out = os.open(os.environ["TRACE"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(out, b"fit\\n")
        os.close(out)
        if self.number % 3 == 0:
            subprocess.Popen(["sleep", "300"])
        return Fitted(classifier.fit(train), facts={"drawn": float(rng.random())})
"""
CONFIG = {
    "name": "kills",
    "seed": 14,
    "repeats": 25,
    "datasets": ["compas"],
    "sample": {"from": "shipped", "beta": [0.5], "size": 500},
    "test": "network",
    "interventions": [{"./traced.py:Traced": {"number": list(range(12))}}],
    "classifiers": ["tree"],
    "metrics": ["discrimination", "accuracy"],
    "predictions": True,
}
SIZE = 300
COMMAND = "run", "kills.yaml", "-o", "out", "--jobs"


@dataclass
class Chain:
    """One results folder, how often it was hit, and what went wrong."""

    folder: Path
    jobs: int
    mark: str
    private: bool
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    said: int = 0
    hits: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    pids: set[int] = field(default_factory=set)
    did: list[str] = field(default_factory=list)

    @property
    def running(self) -> subprocess.Popen[bytes]:
        """The process of the run."""
        if self.process is None:
            raise RuntimeError("the run is not started")
        return self.process

    @property
    def out(self) -> Path:
        """The results."""
        return self.folder / "out"

    def start(self) -> None:
        """Start the run, or let it go on, in a session of its own."""
        (self.folder / "tmp").mkdir(exist_ok=True)
        plain = {k: v for k, v in os.environ.items() if k not in {"FORCE_COLOR", "COLUMNS"}}
        env = plain | {
            MARK: self.mark,
            "TRACE": str(self.folder / "trace"),
            "TMPDIR": str(self.folder / "tmp"),
        }
        command = [sys.executable, "-m", "fairbench_cli", *COMMAND, str(self.jobs)]
        with (self.folder / "log").open("ab") as log:
            self.said = log.tell()
            self.process = subprocess.Popen(
                command, cwd=self.folder, env=env, stdout=log, stderr=log, start_new_session=True
            )
        self.started = time.monotonic()
        self.pids.add(self.process.pid)

    def say(self, what: str) -> None:
        """Note something that went wrong, with what was done until then."""
        self.wrong.append(f"{what} [after: {'; '.join(self.did)}]")


def lines(folder: Path) -> list[dict[str, object]]:
    """Return the whole lines of all journals that are records."""
    found = []
    for path in sorted(folder.glob("journal/*.jsonl")):
        for line in path.read_bytes().split(b"\n")[:-1]:
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if "key" in row:
                found.append(row)
    return found


def marked(mark: str) -> list[int]:
    """Return the processes whose environment has the mark, without those that have ended."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                own = f"{MARK}={mark}".encode() in (place / "environ").read_bytes().split(b"\0")
                gone = (place / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
            except OSError:
                continue
            if own and not gone:
                found.append(int(place.name))
    return found


def parent_of(pid: int) -> int:
    """Return the parent of a process; 0 where it has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def is_program(pid: int) -> bool:
    """Return whether a process is one that a technique has started."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() == PROGRAM
    except OSError:
        return False


def leads_group(pid: int) -> bool:
    """Return whether a process leads a group of processes: workers do, the guard of a server does not."""
    try:
        return os.getpgid(pid) == pid
    except OSError:
        return False


def orphans(chain: Chain) -> list[int]:
    """Return the programs of techniques whose worker has ended."""
    running = marked(chain.mark)
    return [pid for pid in running if is_program(pid) and parent_of(pid) not in running]


def target(kind: str, chain: Chain, rng: random.Random) -> int | None:
    """Return which process is to be hit.

    What is between the leaves of the tree and its root is a server; a leaf is a worker, or a server's guard.
    """
    own = chain.running.pid
    if kind.startswith(("parent", "group")):
        return own
    others = [pid for pid in marked(chain.mark) if pid != own and not is_program(pid)]
    parents = {parent_of(pid) for pid in others}
    servers = [pid for pid in others if pid in parents]
    leaves = [pid for pid in others if (pid not in parents and not servers) or parent_of(pid) in servers]
    if kind.startswith("server"):
        found = servers or others
    elif kind.startswith("guard"):
        found = [pid for pid in leaves if not leads_group(pid)] or others
    else:
        found = [pid for pid in leaves if leads_group(pid)] or others
    return rng.choice(sorted(found)) if found else None


def wait_for(ready: Callable[[], bool], seconds: float) -> bool:
    """Return whether something became true within some seconds."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def wait_for_lines(chain: Chain, n: int) -> bool:
    """Wait until the journal has n records; return False where the run ended before, or hangs."""
    last, size, since = -1, -1, time.monotonic()
    while chain.running.poll() is None:
        before, size = size, sum(path.stat().st_size for path in chain.out.glob("journal/*.jsonl"))
        now = last if size == before else len(lines(chain.out))
        if now >= n:
            return True
        if now != last:
            last, since = now, time.monotonic()
        if time.monotonic() - since > calm(PATIENCE):
            chain.say(f"hangs: no new record for {PATIENCE:g} s at {now} of {n}")
            return False
        time.sleep(0.01)
    return False


def calm(seconds: float) -> float:
    """Return seconds of a calm machine as seconds of this one, whose processors others use too."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def end_all(chain: Chain) -> None:
    """Kill what is left of a chain."""
    for pid in marked(chain.mark):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            continue


def hit(chain: Chain, kind: str, rng: random.Random) -> None:
    """Hit a process of a chain and check what has to be true right after it."""
    process = chain.running
    if kind.startswith("stopped"):
        stopped = target("server", chain, rng)
        if stopped is not None:
            os.kill(stopped, signal.SIGSTOP)
        time.sleep(rng.uniform(0, 0.05))
    pid = target(kind.replace("stopped", "parent"), chain, rng)
    if pid is None:
        kind, pid = "parent KILL", process.pid
    chain.pids |= set(marked(chain.mark))
    before = lines(chain.out)
    age = time.monotonic() - chain.started
    number = NUMBERS[kind.split()[1]]
    try:
        (os.killpg if kind.startswith("group") else os.kill)(pid, number)
    except ProcessLookupError:
        return  # it ended just now
    chain.hits[kind] += 1
    chain.did.append(f"{kind} at {age:.2f} s, {len(before)} records")
    if kind.startswith(("worker", "server", "guard")):
        if not wait_for(lambda: not orphans(chain), calm(5)):
            chain.say(f"{len(orphans(chain))} programs of techniques live 5 s after {kind}")
        return
    if not wait_for(lambda: process.poll() is not None, calm(30)):
        chain.say(f"the parent lives 30 s after {kind}")
        end_all(chain)
        process.wait()
    if not wait_for(lambda: not marked(chain.mark), calm(5)):
        names = [Path(f"/proc/{one}/cmdline").read_bytes()[:120] for one in marked(chain.mark)]
        chain.say(f"{len(names)} orphans 5 s after {kind}: {names}")
        end_all(chain)
    after = lines(chain.out)
    if after[: len(before)] != before:
        chain.say(f"records were lost by {kind}")
    check_lost(chain)
    if number != signal.SIGKILL and before:
        check_goodbye(chain, kind)
    chain.process = None


def check_goodbye(chain: Chain, kind: str) -> None:
    """Check that a run that was asked to end said so, unless its terminal is gone, and left its files."""
    said = (chain.folder / "log").read_text(errors="replace")[chain.said :]
    if "repeats: " not in said:
        return  # it had not begun
    number = NUMBERS[kind.split()[1]]
    code, wanted = chain.running.returncode, 128 + number
    if code == -number and "manifest.json (" in said:
        code = 0  # it was over, and on its way out
    if code not in (0, wanted) or (code and "HUP" not in kind and "interrupted; " not in said):
        chain.say(f"no word of {kind}: exit code {code}")
    if not (chain.out / "groups.csv").exists():
        chain.say(f"no groups.csv after {kind}")


def check_early_end(chain: Chain) -> None:
    """Check that a run that ended by itself had nothing left to do."""
    n, code = len(lines(chain.out)), chain.running.returncode
    if code != 0 or n < SIZE:
        said = (chain.folder / "log").read_text(errors="replace")[-500:]
        chain.say(f"ended by itself at {n} records with exit code {code}: {said!r}")


def check_lost(chain: Chain) -> None:
    """Check that at most one repeat a worker and hit was computed and not kept."""
    trace = chain.folder / "trace"
    fits = trace.read_text().count("fit") if trace.exists() else 0
    lost, most = fits - len(lines(chain.out)), chain.jobs * chain.hits.total()
    if lost > most:
        chain.say(f"{lost} repeats lost in {chain.hits.total()} hits: more than one a worker")


def check_end(chain: Chain, good: dict[str, bytes]) -> None:
    """Check a chain that came to its end: its files, its journal, what is left in /tmp and /dev/shm."""
    if chain.running.returncode != 0:
        chain.say(f"exit code {chain.running.returncode} at the end")
    rows = lines(chain.out)
    results = Counter((row["key"], row["repeat"]) for row in rows if row["status"] not in RETRIED)
    twice = sum(n - 1 for n in results.values())
    if twice:
        chain.say(f"{twice} results are in the journal twice")
    bad = Counter(row["status"] for row in rows if row["status"] in RETRIED)
    if bad:
        chain.say(f"innocent repeats marked: {dict(bad)}")
    if len(results) != SIZE:
        chain.say(f"{len(results)} results in place of {SIZE}")
    for name, content in derived(chain.out).items():
        if good and content != good.get(name):
            chain.say(f"{name} has other bytes")
    check_lost(chain)
    said = (chain.folder / "log").read_text(errors="replace")
    if "Traceback" in said:
        chain.say(f"a traceback: {said[said.index('Traceback') :][:1500]!r}")
    if not wait_for(lambda: not marked(chain.mark), calm(5)):
        chain.say(f"{len(marked(chain.mark))} processes live after the end")
        end_all(chain)
    left = sorted(path.name for path in (chain.folder / "tmp").iterdir())
    if left:
        chain.say(f"left in TMPDIR: {left}")
    for name in shared():
        known = {int(part) for part in re.findall(r"\d+", name)} & chain.pids
        if chain.private or known:
            chain.say(f"left in /dev/shm: {name}")


def shared() -> list[str]:
    """Return what is in /dev/shm that a run may have made."""
    place = Path("/dev/shm")  # noqa: S108
    return (
        sorted(path.name for path in place.iterdir() if path.name.startswith(LEFT)) if place.is_dir() else []
    )


def derived(out: Path) -> dict[str, bytes]:
    """Return every file that is derived from a journal."""
    files = [*out.glob("*.csv"), *out.glob("tables/*"), *out.glob("predictions/*")]
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in files}


def prepare(folder: Path, jobs: int, private: bool) -> Chain:
    """Return a new chain, with its config."""
    folder.mkdir(parents=True)
    (folder / "traced.py").write_text(TRACED)
    (folder / "kills.yaml").write_text(json.dumps(CONFIG))
    return Chain(folder, jobs, f"{os.getpid()}-{folder.name}-{time.time_ns()}", private)


def undisturbed(folder: Path, jobs: int) -> dict[str, bytes]:
    """Return the files of a run that nobody hits."""
    chain = prepare(folder, jobs, private=False)
    chain.start()
    if chain.running.wait(timeout=calm(300)) != 0:
        raise RuntimeError((folder / "log").read_text())
    return derived(chain.out)


def run_chain(chain: Chain, kills: int, rng: random.Random, good: dict[str, bytes]) -> Chain:
    """Hit a run `kills` times and let it come to its end; a run that ends before is hit less often."""
    start = SIZE // (kills + 1)
    try:
        for _ in range(kills):
            if chain.process is None:
                chain.start()
            kind = rng.choice(KINDS)
            fresh = time.monotonic() - chain.started < 0.5
            if fresh and rng.random() < 1 / 3:
                time.sleep(rng.uniform(0, 2))  # while workers load what they need
            elif wait_for_lines(chain, len(lines(chain.out)) + rng.randint(1, max(2, start))):
                time.sleep(rng.uniform(0, 0.05))
            if chain.running.poll() is not None:
                check_early_end(chain)
                break
            hit(chain, kind, rng)
        if chain.process is None or chain.process.poll() is not None:
            chain.start()  # also after a hit at the end: the next run sweeps what is left
        wait_for_lines(chain, SIZE + 10**6)
        if chain.process is not None and chain.process.poll() is None:
            return chain  # it hangs, which has been said
        check_end(chain, good)
    finally:
        end_all(chain)
    return chain


def chains(
    kills: int, each: int, seed: int, jobs: int, base: Path, private: bool, good: dict[str, bytes]
) -> Iterator[Chain]:
    """Yield chains until there were so many hits; `good`: the files of a run that nobody hits."""
    rng, done, number = random.Random(seed), 0, 0  # noqa: S311
    while done < kills:
        number += 1
        chain = prepare(base / f"chain-{number}", jobs, private)
        run_chain(chain, min(each, kills - done), rng, good)
        done += chain.hits.total()
        yield chain


def main() -> int:
    """Print each chain with what went wrong in it, and the totals; return 1 where anything did."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--chain", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--private", action="store_true")
    given = parser.parse_args()
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # of a shell's background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    base = Path(tempfile.mkdtemp(prefix="kills-"))
    hits, wrong = Counter[str](), 0
    good = undisturbed(base / "good", given.jobs)
    for chain in chains(given.kills, given.chain, given.seed, given.jobs, base, given.private, good):
        hits += chain.hits
        wrong += len(chain.wrong)
        did = "; ".join(chain.did)
        print(f"{chain.folder.name}: {chain.hits.total()} hits ({did}), {len(chain.wrong)} wrong", flush=True)
        for one in chain.wrong:
            print(f"  {one}", flush=True)
        if not chain.wrong:
            shutil.rmtree(chain.folder)
    print(f"{hits.total()} hits: {dict(hits)}; {wrong} things went wrong")
    if wrong:
        print(f"logs: {base}")
    else:
        shutil.rmtree(base)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
