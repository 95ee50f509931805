"""Mutated configs, cards, tables and results: every command ends in a result or in two lines, soon and small.

usage: python benchmarks/fuzz.py [--cases 20000] [--seed 0] [--only config|card|table|results]
       python benchmarks/fuzz.py --show NUMBER

A case is a command line with files of which one was mutated: values of a wrong kind, huge numbers, deep
nesting, anchors and bombs of YAML, keys given twice, control characters, other separators, cut files, flipped
bytes. A child process runs many cases through `fairbench_cli.cli.app.run`. Wrong is a traceback, an exit code
that is none of 0, 1, 2 and 130, more than 30 s of CPU, and more than 2 GB on top of what the child had.
"""

import argparse
import contextlib
import gc
import io
import json
import os
import random
import re
import resource
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
SECONDS = 30.0
HANGS = 600.0  # seconds of a clock on the wall, where it takes no CPU either
MEMORY = 2 * 10**9

RUN = """\
name: small
seed: 7
repeats: 2
datasets: [compas]
sample: {from: shipped, beta: [0, 1], size: 300}
test: network
interventions: [none, massaging, {repair: {level: [0.5, 1]}}]
classifiers: [tree, {c45: {min_leaf: 2}}]
metrics: [discrimination, accuracy]
"""
FULL = """\
name: full
seed: 1
repeats: 3
datasets:
  - ./card.yaml: {as: toy, attribute: [s, g]}
sample: {from: data, train_fraction: 0.6, balanced: 100}
test: holdout
include_protected: false
protected_columns: all
representation: [original, numerical]
interventions:
  - none
  - massaging: {ranker: logistic, include_protected: true}
  - repair: {tune: {for: accuracy, over: {level: [0, 0.5, 1]}, on: validation, fraction: 0.3}}
  - zafar-di: {mode: fairness}
classifiers: [c45, {logistic-regression: {C: 0.5}}, {tree: {criterion: gini, min_leaf: 5}}]
metrics: [discrimination, accuracy, "unexplained-difference"]
attributes: [s, g, "s×g"]
strata: [x]
sweep: acceptance-rate
tables: [discrimination-accuracy, group-rates]
figures: [pareto]
limits: {seconds: 60, memory: 1GB}
"""
CARD = """\
name: toy
title: A small table
files: [{name: rows.csv}]
format: csv
header: true
separator: ","
decimal: "."
other_columns: drop
columns:
  s: nominal
  g: {levels: [a, b, c], recode: {d: c}}
  x: {kind: integer, bins: {count: 3, low: 0, high: 9}}
  z: {kind: real, bins: {edges: [0.25, 0.5], closed: left, levels: [low, mid, high]}}
  n: {kind: integer, cap: 3, if_missing: mode}
  y: nominal
missing: ["", "?"]
missing_rows: drop
keep_between: {x: {low: 0, high: 9}}
label: {column: y, favourable: "1"}
protected:
  s: {deprived: f, favoured: m}
  g: {deprived: a}
  s-g: {of: [s, g]}
"""
BAD: tuple[Any, ...] = (
    None, True, -1, 0, 1, 3, 0.5, 1e308, 10**30, float("nan"), float("inf"), -0.0, "", " ", "x", "x" * 5000,
    "no", "10:30", "2020-01-01", "1e-3", "0x10", "\x00", "\x1b[31m", "\u202e", "é", "😀", "../..", "/",
    "~", ".",
    "./none.py:Thing", "sklearn.tree:DecisionTreeClassifier", "sklearn:None", ":", "a:b:c", "{", "[",
    "- a", "s×g",
    [], {}, [[]], [{}], [None], {"a": {"b": {"c": [1, 2, {"d": None}]}}}, list(range(200)), [1, "a",
    None, 2.5],
    {"": ""}, {"of": ["s"]}, {"of": []}, ["none", "none"], {"none": {}, "massaging": {}}, {"level": []},
)  # fmt: skip
CELLS = (
    "", " ", "NaN", "nan", "inf", "-inf", "1e400", "-0", "0x1F", "1_000", "1,5", '"', '""', '"a', "a\nb",
    "\x00", "\x1b",
    "?", "NULL", "None", "true", "1", "0", "2", "-1", "0.5", "1e308", "9" * 40, "9" * 5000,
    "x" * 100_000, "é", "😀", "\ufeff",
    "=1+1", "73 %", "2020-01-01", "f", "m ", "M", "yes", "Yes", "\u202e", "a;b", "\t", "1 0",
)  # fmt: skip
INSERTED = (
    b"\x00", b"\xff\xfe", b"\xc3\x28", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x1b[2J", b"\r", b"\r\n",
    b"\t", b"\x85", b"\xe2\x80\xa8",
    b"'", b'"', b"{", b"[", b"]", b"}", b":", b": ", b"- ", b"#", b"&a ", b"*a",
    b"!!python/object:os.system ", b"!!binary ",
    b"<<: *a\n", b"---\n", b"...\n", b"%YAML 9\n", b"|\n", b"? ", b"@", b"`", b",", b"9" * 5000,
    b"[" * 3000, b"{a: " * 1500,
)  # fmt: skip
BOMB = (
    "a: &a [x, x, x, x, x, x, x, x, x]\n"
    + "".join(
        f"{b}: &{b} [{', '.join(f'*{a}' for _ in range(9))}]\n"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + "datasets: *i\n"
)


@dataclass(frozen=True)
class Case:
    """A command line, the files that it finds, and which of them was mutated."""

    arguments: tuple[str, ...]
    files: dict[str, bytes]
    mutated: str


def rows(rng: random.Random, n: int = 60) -> str:
    """Return a small table."""
    lines = ["s,g,x,z,n,y,score,label_value,id,month"]
    for i in range(n):
        s, y = rng.choice("fm"), rng.randint(0, 1)
        cells = [s, rng.choice("abc"), rng.randint(0, 9), round(rng.random(), 3), rng.randint(0, 5), y]
        lines.append(
            ",".join(map(str, [*cells, round(rng.random(), 4), rng.randint(0, 1), i, f"2024-0{i % 2 + 1}"]))
        )
    return "\n".join(lines) + "\n"


def case(seed: int, number: int, results: Path | None, only: str | None) -> Case:
    """Return a case, always the same one."""
    rng = random.Random(f"{seed}-{number}")  # noqa: S311
    kinds = {"config": 8, "card": 5, "table": 5, "results": 2 if results else 0}
    kind = only or rng.choices(list(kinds), list(kinds.values()))[0]
    table = rows(random.Random(1)).encode()  # noqa: S311
    if kind == "config":
        shipped = sorted((ROOT / "configs").glob("*.yaml"))
        text = rng.choice([RUN, FULL, FULL, rng.choice(shipped).read_text()])
        files = {"card.yaml": CARD.encode(), "rows.csv": table, "run.yaml": mutated_yaml(text, rng)}
        return Case(("plan", "run.yaml"), files, "run.yaml")
    if kind == "card":
        shipped = sorted(path for path in (ROOT / "datasets").glob("*.yaml"))
        text = rng.choice([CARD, CARD, CARD, rng.choice(shipped).read_text()])
        files = {"card.yaml": mutated_yaml(text, rng), "rows.csv": table, "run.yaml": FULL.encode()}
        commands = ("data", "check", "card.yaml"), ("plan", "run.yaml"), ("data", "show", "card.yaml")
        return Case(rng.choice(commands), files, "card.yaml")
    if kind == "results":
        return mutated_results(results or Path(), rng)
    files = {"card.yaml": CARD.encode(), "rows.csv": mutated_table(table, rng), "old.csv": table}
    audits = (
        ["audit", "rows.csv"],
        ["audit", "rows.csv", "-a", "s", "-a", "g", "--threshold", "0.5"],
        ["audit", "rows.csv", "--against", "old.csv", "--id", "id", "-a", "s", "--threshold", "0.5"],
        ["audit", "rows.csv", "-a", "s", "--top-k", "5", "--curves"],
        ["audit", "rows.csv", "-a", "s", "--slice", "month", "--threshold", "0.5", "--bins", "x=3"],
        ["init", "rows.csv"],
        ["init", "rows.csv", "--label", "y", "--favourable", "1", "--protected", "s=f"],
        ["data", "check", "card.yaml"],
        ["data", "check", "card.yaml"],
    )
    return Case(tuple(rng.choice(audits)), files, "rows.csv")


def mutated_results(results: Path, rng: random.Random) -> Case:
    """Return a report on results of which one file was mutated."""
    files = {
        f"out/{path.relative_to(results)}": path.read_bytes()
        for path in sorted(results.rglob("*"))
        if path.is_file() and path.suffix in {".json", ".jsonl", ".yaml"}
    }
    which = rng.choice([name for name in files if name.endswith(("plan.json", ".jsonl"))])
    text = files[which]
    if rng.random() < 0.4:
        files[which] = mutated_bytes(text, rng)
    elif which.endswith(".jsonl"):
        lines = text.decode().splitlines()
        at = rng.randrange(len(lines))
        lines[at] = json.dumps(mutated_value(json.loads(lines[at]), rng))
        files[which] = "\n".join(lines).encode()
    else:
        files[which] = json.dumps(mutated_value(json.loads(text), rng)).encode()
    return Case(("report", "out"), files, which)


def mutated_yaml(text: str, rng: random.Random) -> bytes:
    """Return a YAML text with one to three mutations."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        way = rng.randrange(10)
        if way < 5:
            try:
                text = yaml.safe_dump(mutated_value(yaml.safe_load(text), rng), sort_keys=False)
            except (yaml.YAMLError, RecursionError, ValueError):
                continue
        elif way < 8:
            text = mutated_lines(text, rng)
        else:
            return mutated_bytes(text.encode("utf-8", "surrogatepass"), rng)
    return text.encode("utf-8", "surrogatepass")


def mutated_value(value: Any, rng: random.Random) -> Any:
    """Return nested data in which one node is another, is gone, or is twice there."""
    if isinstance(value, dict) and value and rng.random() < 0.93:
        key = rng.choice(list(value))
        way = rng.random()
        if way < 0.06:
            return {k: v for k, v in value.items() if k != key}
        if way < 0.12:
            odd = rng.choice(
                ["x", "", 1, None, True, 1.5, f"{key} ", str(key).upper(), "of", "tune", "sample"]
            )
            return {(odd if k == key else k): v for k, v in value.items()}
        return {k: mutated_value(v, rng) if k == key else v for k, v in value.items()}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        if rng.random() < 0.1:
            return [*value, value[at]]
        return [mutated_value(v, rng) if i == at else v for i, v in enumerate(value)]
    other = rng.choice(BAD)
    return [value, other] if rng.random() < 0.1 else other


def mutated_lines(text: str, rng: random.Random) -> str:
    """Return text with a line gone, twice, indented otherwise, in another place, or with something in it."""
    lines = text.split("\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    way = rng.randrange(9)
    if way == 0:
        del lines[at]
    elif way == 1:
        lines.insert(at, lines[other])
    elif way == 2:
        lines[at] = " " * rng.randint(0, 5) + lines[at].lstrip()
    elif way == 3:
        lines[at], lines[other] = lines[other], lines[at]
    elif way == 4:
        lines[at] = lines[at].replace(rng.choice(":,[]{}-"), rng.choice([";", "=", "", "::", "\t", "- -"]))
    elif way == 5:
        lines[at] = f"{lines[at].partition(':')[0]}: {'[' * 2000}{']' * rng.choice([0, 2000])}"
    elif way == 6:
        return BOMB + text
    elif way == 7:
        lines[at] = lines[at].replace(": ", ": &a ", 1)
        lines[other] = f"{lines[other].partition(':')[0]}: *a"
    else:
        lines[at] = f"{lines[at]} {rng.choice(CELLS)}"
    return "\n".join(lines)


def mutated_bytes(text: bytes, rng: random.Random) -> bytes:
    """Return bytes of which some are flipped, cut, put in, or there many times."""
    way, at = rng.randrange(6), rng.randrange(len(text) + 1)
    if way == 0 or not text:
        return text[:at]
    if way == 1:
        flipped = bytearray(text)
        for _ in range(rng.choice([1, 1, 3, 20])):
            flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
        return bytes(flipped)
    if way == 2:
        end = min(len(text), at + rng.randint(1, 40))
        return text[:at] + text[at:end] * rng.choice([2, 10, 1000]) + text[end:]
    if way == 3:
        return text[:at] + text[at + rng.randint(1, 30) :]
    if way == 4:
        return text.decode("utf-8", "replace").encode(rng.choice(["utf-16", "latin-1", "utf-32"]), "replace")
    return text[:at] + rng.choice(INSERTED) + text[at:]


def mutated_table(text: bytes, rng: random.Random) -> bytes:
    """Return a table with one to three mutations."""
    for _ in range(rng.choice([1, 1, 2, 3])):
        way = rng.randrange(10)
        if way < 2:
            text = mutated_bytes(text, rng) or b""
            continue
        grid = [line.split(",") for line in text.decode("utf-8", "replace").split("\n")]
        i, cell = rng.randrange(len(grid)), rng.choice(CELLS)
        j = rng.randrange(len(grid[i]))
        if way < 5:
            grid[i][j] = cell
        elif way == 5:
            for row in grid[1:]:
                row[j % len(row)] = cell[:100]
        elif way == 6:
            grid[0][j % len(grid[0])] = rng.choice([*CELLS[:20], "s", "score", "label_value"])
        elif way == 7:
            grid[i] = grid[i][:j] if rng.random() < 0.5 else grid[i] * 3
        elif way == 8:
            kept = rng.choice([0, 1, 2, 3])
            grid = grid[:kept]
        else:
            new = rng.choice([";", "\t", "|", ", ", " ", ",,"])
            text = text.replace(b",", new.encode())
            continue
        text = "\n".join(",".join(row) for row in grid).encode()
    return text


def run_case(one: Case, folder: Path) -> dict[str, Any]:
    """Run a case in this process and say what came of it."""
    from fairbench_cli.cli.app import run

    shutil.rmtree(folder, ignore_errors=True)
    for name, content in one.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    os.chdir(folder)
    said, start = io.StringIO(), time.process_time()
    trouble, code = "", 0
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            code = run(list(one.arguments))
        except BaseException as error:
            where = traceback.extract_tb(error.__traceback__)[-6:]
            frames = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(where))
            trouble = f"{type(error).__name__}: {error}"[:300] + f" at {frames}"
    trouble = trouble or wrong_in(code, said.getvalue())
    return {
        "kind": one.arguments[0],
        "code": code,
        "trouble": trouble,
        "seconds": round(time.process_time() - start, 2),
        "peak": peak(),
    }


def wrong_in(code: int, said: str) -> str:
    """Return what is wrong with an exit code and what was said with it, or nothing."""
    if code not in (0, 1, 2, 130) or "Traceback" in said:
        return f"exit code {code}: {said[-300:]}"
    if code == 2 and not re.search(r"error: .+\n {2}fix: ", said):
        return f"exit code 2 without its two lines: {said[-300:]!r}"
    return ""


def peak() -> int:
    """Return the peak of this process's resident memory since the last call, bytes."""
    status = Path("/proc/self/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+)", status)
    Path("/proc/self/clear_refs").write_text("5")
    return int(found[1]) * 1024 if found else 0


def serve(seed: int, first: int, last: int, results: Path | None, only: str | None) -> None:
    """Run some cases and print a line of JSON for each."""
    answers = os.fdopen(os.dup(1), "w")
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        table = rows(random.Random(1)).encode()  # noqa: S311
        for command in (
            ("plan", "run.yaml"),
            ("data", "check", "card.yaml"),
            ("audit", "rows.csv", "-a", "s"),
        ):
            whole = {"run.yaml": FULL.encode(), "card.yaml": CARD.encode(), "rows.csv": table}
            run_case(Case(command, whole, ""), Path(folder) / "case")
        os.chdir("/")
    gc.freeze()  # no case looks for garbage in what all of them use
    peak()
    base = peak()
    soft = 8 * 10**9  # of address space, far above: what is counted is resident
    resource.setrlimit(resource.RLIMIT_AS, (soft, soft))
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for number in range(first, last):
            print(json.dumps({"number": number, "start": True}), file=answers, flush=True)
            outcome = run_case(case(seed, number, results, only), Path(folder) / "case")
            outcome["peak"] = max(0, outcome["peak"] - base)
            print(json.dumps({"number": number, **outcome}), file=answers, flush=True)
        os.chdir("/")


def cases(
    seed: int, first: int, last: int, results: Path | None, only: str | None
) -> Iterator[dict[str, Any]]:
    """Yield what came of every case; one that takes too long, or its child along, is ended there."""
    while first < last:
        command = [sys.executable, __file__, "--serve", str(first), str(last), "--seed", str(seed)]
        command += ["--results", str(results)] if results else []
        command += ["--only", only] if only else []
        env = {k: v for k, v in os.environ.items() if k != "FAIRBENCH_DATA"} | {
            "COLUMNS": "80",
            "XDG_CACHE_HOME": "/nonexistent",
        }
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env) as child:
            for outcome in _answers(child):
                first = outcome["number"] + 1
                yield outcome
            child.kill()


def _answers(child: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    if child.stdout is None:
        raise RuntimeError("the child has no output")
    number, start, since = None, 0.0, time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(2):
                slow = time.monotonic() - since > HANGS or (
                    number is not None and cpu_of(child.pid) - start > SECONDS
                )
                if slow and number is None:
                    raise RuntimeError("a child does not begin")
                if slow:
                    yield {
                        "number": number,
                        "code": None,
                        "trouble": "takes too long",
                        "seconds": SECONDS,
                        "peak": 0,
                    }
                    return
                continue
            line = child.stdout.readline()
            if not line:
                if number is not None:
                    trouble = f"the process ended: {child.wait()}"
                    yield {"number": number, "code": None, "trouble": trouble, "seconds": 0, "peak": 0}
                return
            answer = json.loads(line)
            number = answer["number"] if answer.pop("start", False) else None
            start, since = cpu_of(child.pid), time.monotonic()
            if number is None:
                if answer["peak"] > MEMORY:
                    answer["trouble"] = answer["trouble"] or f"took {answer['peak'] / 1e9:.1f} GB"
                yield answer


def cpu_of(pid: int) -> float:
    """Return the seconds of CPU that a process has taken; 0 where it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def results_of(folder: Path) -> Path:
    """Run a small experiment whose results are then mutated."""
    (folder / "run.yaml").write_text(RUN)
    command = [sys.executable, "-m", "fairbench_cli", "run", "run.yaml", "-o", "out", "-q", "--jobs", "1"]
    subprocess.run(command, cwd=folder, check=True, timeout=300)
    return folder / "out"


def main() -> int:
    """Print what went wrong, and how often what came out; return 1 where anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only")
    parser.add_argument("--show", type=int)
    parser.add_argument("--serve", type=int, nargs=2)
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    if given.serve:
        serve(given.seed, *given.serve, given.results, given.only)
        return 0
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        made = given.only in (None, "results")
        results = given.results or (results_of(Path(folder)) if made else None)
        if given.show is not None:
            one = case(given.seed, given.show, results, given.only)
            print("fairbench", *one.arguments)
            sys.stdout.buffer.write(one.files[one.mutated])
            print("\n", run_case(one, Path(folder) / "case"))
            return 0
        codes, wrong, spent, slowest, largest = Counter[Any](), 0, 0.0, 0.0, 0
        last = given.first + given.cases
        for outcome in cases(given.seed, given.first, last, results, given.only):
            codes[outcome["code"]] += 1
            spent += outcome["seconds"]
            slowest, largest = max(slowest, outcome["seconds"]), max(largest, outcome["peak"])
            if outcome["trouble"]:
                wrong += 1
                print(f"{outcome['number']}: {outcome['trouble']}", flush=True)
            if codes.total() % 100 == 0:
                print(f"… {codes.total()} cases, {wrong} wrong, {spent:.0f} s of CPU", flush=True)
        print(f"{codes.total()} cases, {wrong} wrong; exit codes {dict(codes)}")
        print(f"slowest {slowest:.1f} s of CPU, largest {largest / 1e9:.2f} GB")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
