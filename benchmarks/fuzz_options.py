"""Random combinations of options: an audit or a run ends in a result or in two lines, soon.

usage: python benchmarks/fuzz_options.py [--audits 2000] [--tame 500] [--pairs 1000] [--doubled 500]
                                         [--runs 500] [--seed 0] [--first 0] [--keep FOLDER]
       python benchmarks/fuzz_options.py --list audit COUNT [--list run COUNT] | --show audit NUMBER
       python benchmarks/fuzz_options.py --compare BEFORE AFTER

`fuzz.py` mutates files and keeps the options; this makes small files in which everything is well-formed and
varies the options: those of `fairbench audit` as flags or in a config file, and the keys of a config of
`fairbench run`. A case is the same for the same seed. Each runs the real command in a process that was forked
after Python had loaded everything. Wrong is a traceback, an exit code that is none of 0, 1 and 2, exit code 2
without its two lines, a warning of Python or NumPy, and more than a minute.

Of the options of an audit at random, --audits, nearly half contradict each other or the file. --tame has
options that go together, so that every audit has a result: a refusal is wrong, too; some name one value of a
list twice, and have to say the same as with it once. --pairs goes through all pairs of options. --doubled
gives an option of any command twice, in any spelling: of one that takes one value that has to be refused.

`--keep` writes a folder for every case: its files, its command line, what it printed, its exit code, and its
output. `--compare` says how two of these differ, such as before and after a change of the code: exit codes,
CSV files and audit.json have to be equal to the byte, and other files are counted by kind.
"""

import argparse
import contextlib
import gc
import gzip
import hashlib
import io
import json
import os
import random
import re
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import yaml
from fuzz import CARD, rows, wrong_in

SECONDS = 60.0
RUNS_AT_ONCE = 25  # in one process, with one fork server
EXACT = (".csv", "audit.json")

Files = dict[str, bytes]
Keys = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """Command lines, the files that they find, and what is on standard input."""

    commands: tuple[tuple[str, ...], ...]
    files: Files = field(repr=False)
    stdin: str = ""
    computes: bool = False  # a refusal is wrong
    refused_with: str = ""  # it has to be refused, in these words
    equal_reports: tuple[str, ...] = ()  # files of JSON that have to say the same of another list of options


def case(kind: str, seed: int, number: int) -> Case:
    """Return a case, always the same one."""
    rng = random.Random(f"options-{kind}-{seed}-{number}")  # noqa: S311
    if kind == "audit":
        return audit_case(rng)
    if kind == "tame":
        return tame_case(rng)
    if kind == "pair":
        return pair_case(rng, seed, number)
    if kind == "doubled":
        return doubled_case(rng)
    return run_case(rng)


def words(text: str) -> list[str]:
    """Return the words of a text."""
    return text.split()


ODD_NAMES = ("group of person", "a--bold", "c3", "Größe", "=1+1", "<b>", "[red]x[/red]", "tau", "a|b", "n'")
ODD_LEVELS = ("<b>", "a|b", "[red]", "x=y", "*", "😀", "(missing)", "=1+1", "'q'", "NaN", "0", "a;b")
LEVELS = {
    "sex": ("f", "m"),
    "race": ("white", "black", "asian", "other", "native"),
    "region": tuple(f"r{i:02}" for i in range(24)),
    "kind": ("a",),
    "grade": ("1", "2", "3"),
}
RATES = words("""
    selection-rate selected-share fpr fnr fdr for tpr tnr ppv npv accuracy bcr base-rate group-share
""")
COMPARISONS = words("""
    difference ratio spread worst-ratio farthest-difference farthest-ratio mean-difference mean-ratio
    mean-of-groups of-group of-reference z p
""")
BY_NAME = words("""
    discrimination cv impact-ratio accuracy kappa mcc f1 normalised-discrimination elift odds-ratio phi
    mutual-information chi-squared chi-squared-p mann-whitney-p balanced-residuals difference-of-means-p
    type-i-parity type-ii-parity equalised-odds-parity unsupervised-parity supervised-parity
    overestimation underestimation eta-neutrality one-class-accuracy auc-between-groups
""")
FORMATS = ("console", "csv", "groups", "verdicts", "json", "markdown", "html")


def some(rng: random.Random, values: Sequence[Any], most: int = 3) -> list[Any]:
    """Return one or a few of some values."""
    return rng.sample(list(values), min(len(values), rng.choice([1, 1, 2, most])))


def metric(rng: random.Random) -> str:
    """Return the name of a metric, mostly one that there is."""
    if rng.random() < 0.02:
        return rng.choice(["slope-t", "consistency", "nosuch"])
    if rng.random() < 0.5:
        return rng.choice(RATES)
    return rng.choice(BY_NAME) if rng.random() < 0.5 else f"{rng.choice(RATES)}-{rng.choice(COMPARISONS)}"


@dataclass(frozen=True)
class Population:
    """Rows of people, as texts by column; the names of attributes; whether scores are 0 and 1, or words."""

    columns: dict[str, list[str]]
    attributes: tuple[str, ...]
    scores: tuple[str, ...]
    scale: str
    label: str | None


def population(rng: random.Random) -> Population:
    """Return a random small table of predictions."""
    n = rng.choice([4, 20, 60, 60, 200, 200, 500, 500, 1500])
    latent = [rng.gauss(0, 1) for _ in range(n)]
    columns: dict[str, list[str]] = {}
    attributes = []
    for place, base in enumerate(rng.sample(list(LEVELS), rng.choice([1, 1, 2, 2, 3]))):
        name = rng.choice(ODD_NAMES) if rng.random() < 0.06 else base
        if name in columns:
            continue
        levels = list(LEVELS[base])
        if rng.random() < 0.1:
            levels[-1] = rng.choice(ODD_LEVELS)
        shares = [rng.random() ** 2 + 0.02 for _ in levels]
        at = rng.choices(range(len(levels)), shares, k=n)
        gap = rng.choice([0, 0, 0.3, 1])
        for i, level in enumerate(at):
            latent[i] += gap * (level == 0) * (-1) ** place
        gaps = rng.choice([0, 0, 0, 0.05, 0.4])
        columns[name] = ["" if rng.random() < gaps else levels[level] for level in at]
        attributes.append(name)
    label = rng.choice([None, "label_value", "label_value", "label_value", "label", "outcome"])
    scale = rng.choice(["binary", "binary", "share", "share", "decile", "words", "percent", "constant"])
    if label:
        truth = [value + rng.gauss(0, 1) > 0.3 for value in latent]
        yes, no = ("yes", "no") if scale == "words" else ("1", "0")
        gaps = 0.05 if rng.random() < 0.03 else 0
        columns[label] = ["" if rng.random() < gaps else (yes if one else no) for one in truth]
    scores = []
    first = rng.choice(["score", "score", "score", "risk", "model_a"])
    for name in [first, "score_b", "score_c"][: rng.choice([1, 1, 1, 2, 3])]:
        noise = [value + rng.gauss(0, 0.7) for value in latent]
        gaps = 0.05 if rng.random() < 0.02 else 0
        columns[name] = ["" if rng.random() < gaps else scored(value, scale) for value in noise]
        scores.append(name)
    columns |= {
        "id": [str(i) for i in range(n)],
        "person": [str(rng.randrange(max(1, n // rng.choice([1, 2, 4])))) for _ in range(n)],
        "month": [f"2024-0{rng.randint(1, rng.choice([1, 2, 3]))}" for _ in range(n)],
        "w": [rng.choice(["1", "2", "0.5", "3.25", "1", "1", "0"]) for _ in range(n)],
        "model": [rng.choice(["m1", "m2"]) for _ in range(n)],
        "education": [rng.choice(["low", "mid", "high"]) for _ in range(n)],
        "hours": [str(rng.choice([20, 30, 38, 40])) for _ in range(n)],
        "age": [str(rng.randint(18, 80)) for _ in range(n)],
    }
    shared = set(columns) - {*attributes, *scores, label}
    kept = {name for name in columns if rng.random() < 0.96}
    columns = {name: values for name, values in columns.items() if name not in shared or name in kept}
    return Population(columns, tuple(attributes), tuple(scores), scale, label)


def tame_population(rng: random.Random) -> Population:
    """Return a random table without gaps or odd names, in which every group has rows of each kind."""
    n = rng.choice([400, 600])
    names = rng.sample(["sex", "race", "region"], rng.choice([2, 2, 3]))
    levels = {"sex": ("f", "m"), "race": ("white", "black", "asian"), "region": ("north", "south")}
    columns = {name: [rng.choice(levels[name]) for _ in range(n)] for name in names}
    gap = rng.choice([0.0, 0.5, 1.0])
    latent = [rng.gauss(gap * (group == levels[names[0]][0]), 1) for group in columns[names[0]]]
    scale = rng.choice(["binary", "share", "decile"])
    columns["label"] = [str(int(value + rng.gauss(0, 1) > 0.3)) for value in latent]
    for score in ("score", "score_b"):
        columns[score] = [scored(value + rng.gauss(0, 0.7), scale) for value in latent]
    columns |= {
        "id": [str(i) for i in range(n)],
        "person": [str(i // 2) for i in range(n)],
        "month": [f"2024-0{1 + i % 3}" for i in range(n)],
        "w": [rng.choice(["1", "2", "0.5"]) for _ in range(n)],
        "model": [rng.choice(["m1", "m2"]) for _ in range(n)],
        "education": [rng.choice(["low", "mid", "high"]) for _ in range(n)],
        "hours": [str(rng.choice([20, 30, 38, 40])) for _ in range(n)],
        "age": [str(rng.randint(18, 80)) for _ in range(n)],
    }
    return Population(columns, tuple(names), ("score",), scale, "label")


def tame_base(people: Population) -> Keys:
    """Return the options that every audit of a table needs."""
    keys: Keys = {"attribute": list(people.attributes), "score": ["score"]}
    if people.scale != "binary":
        keys["threshold"] = [{"share": 0.5, "decile": 5}[people.scale]]
    return keys


def tame_options(rng: random.Random, people: Population) -> Keys:
    """Return a value for each option, with which it fits the table."""
    first, second = people.attributes[:2]
    rates = ["selection-rate", "fpr", "fnr", "tpr", "accuracy", "cv"]
    options: Keys = {
        "against": "old.csv",
        "bins": {"age": 4},
        "cluster": "person",
        "confidence": rng.choice([0.9, 0.99]),
        "decision": rng.choice(["assistive", "punitive"]),
        "draws": rng.choice([0, 50]),
        "drop-missing": True,
        "exclude": [f"{first}={people.columns[first][0]}"],
        "explain": ["education"],
        "fail": True,
        "fail-on": [rng.choice(["undecided", "fpr", f"{first}:selection-rate"])],
        "id": "id",
        "intersect": [[first, second]],
        "label": "label",
        "least-change": [0.02],
        "margin": {"fnr": rng.choice([0.03, 0.1])},
        "metric": rng.sample(rates, 2),
        "min-group": rng.choice([1, 5]),
        "min-share": 0.02,
        "model-column": "model",
        "preset": rng.choice(["aequitas", "eeoc", "ll144"]),
        "ref": {first: people.columns[first][0]},
        "ref-method": rng.choice(["majority", "minimum", "maximum", "rest"]),
        "rule": "point",
        "scan": True,
        "score": ["score", "score_b"],
        "seed": rng.choice([0, 7]),
        "slice": "month",
        "spellings": {first: "keep"},
        "tau": rng.choice([0.9, {"default": 0.7, "fpr": 0.9}]),
        "title": "A title",
        "warn-on": ["fnr"],
        "weight": "w",
    }
    if people.scale != "binary":
        options |= {"curves": True, "top-k": [20], "top-share": [0.25], "ties": "exclude"}
    return options


TOGETHER = words("""
    confidence draws drop-missing fail intersect label margin metric min-group min-share ref-method rule seed
    spellings tau title warn-on
""")
"""The options that go with each other, and with one of the ways below."""

WAYS: tuple[tuple[str, ...], ...] = (
    (),
    ("decision",),
    ("ref",),
    ("weight",),
    ("cluster",),
    ("model-column",),
    ("scan",),
    ("explain",),
    ("slice", "least-change"),
    ("against", "id", "least-change"),
    ("score", "least-change"),
    ("curves",),
    ("top-k", "ties"),
    ("top-share",),
    ("exclude",),
    ("fail-on",),
)


def tame_case(rng: random.Random) -> Case:
    """Return an audit with options that go together; some name one value of a list twice."""
    people = tame_population(rng)
    options = tame_options(rng, people)
    way = rng.choice([way for way in WAYS if set(way) <= set(options)])
    extras = rng.sample(TOGETHER, rng.choice([0, 1, 2, 3, 5]))
    without = set()
    if "decision" in way:
        without.add("metric")
    if "ref" in way:
        without.add("ref-method")
    if {"top-k", "top-share"} & set(way):
        without.add("threshold")
    if "against" in way:
        without |= {"drop-missing"}
    if "scan" in way:
        without.add("draws")  # it needs some
    keys = tame_base(people) | {key: options[key] for key in (*way, *extras)}
    keys = {key: value for key, value in keys.items() if key not in without}
    files = tame_files(rng, people)
    command = ("audit", "p.csv", *flags(keys))
    lists = sorted({"attribute", "metric", "threshold", "fail-on", "warn-on", "exclude"} & keys.keys())
    if rng.random() < 0.7 or not lists:
        return Case(((*command, "-o", "out"),), files, computes=True)
    doubled = rng.choice(lists)
    again = flags({doubled: [rng.choice(keys[doubled])]})
    commands = (*command, "-o", "once.json"), (*command, *again, "-o", "twice.json")
    return Case(commands, files, computes=True, equal_reports=("once.json", "twice.json"))


def tame_files(rng: random.Random, people: Population) -> Files:
    """Return a table, and one of the same people with some other scores."""
    earlier = {name: list(values) for name, values in people.columns.items()}
    for _ in range(len(earlier["score"]) // 4):
        earlier["score"][rng.randrange(len(earlier["score"]))] = rng.choice(earlier["score"])
    return {"p.csv": written(people.columns, "csv"), "old.csv": written(earlier, "csv")}


def pair_case(rng: random.Random, seed: int, number: int) -> Case:
    """Return an audit with two options: every pair once, in an order that hangs on the seed, and so on."""
    people = tame_population(rng)
    options = tame_options(rng, people)
    every_option = tame_options(rng, replace(people, scale="share"))
    pairs = list(combinations(sorted(every_option), 2))
    random.Random(f"pairs-{seed}").shuffle(pairs)  # noqa: S311
    first, second = pairs[number % len(pairs)]
    keys = tame_base(people)
    keys |= {key: (options if key in options else every_option)[key] for key in (first, second)}
    command = ("audit", "p.csv", *flags(keys), "-o", "out")
    return Case((command,), tame_files(rng, people))


def doubled_case(rng: random.Random) -> Case:
    """Return a command of which one option is given twice, spelled in one of the ways that there are."""
    path, options = rng.choice(command_options())
    names, is_list = rng.choice(options)
    longest = max(names, key=len)
    given = []
    for value in rng.choice([("1", "2"), ("a", "a"), ("x=1", "x=2"), ("a.json", "b.json")]):
        name = rng.choice(names)
        forms = [[name, value]]
        forms.append([f"{name}={value}"] if name.startswith("--") else [f"{name}{value}"])
        given.append(rng.choice(forms))
    first, second = given
    command = (*path, *rng.choice([[], ["p.csv"]]), *first, *rng.choice([[], ["-q"]]), *second)
    refused_with = "" if is_list or "-q" in command else f"{longest}: error: given 2 times\n"
    return Case((command,), {"p.csv": rows(rng).encode()}, refused_with=refused_with)


@cache
def command_options() -> list[tuple[tuple[str, ...], list[tuple[tuple[str, ...], bool]]]]:
    """Return every command by its words, and its options that take a value: names, and whether of a list."""
    import typer
    from typer.core import TyperOption

    from fairbench_cli.cli.app import app

    found = []
    waiting = [((), typer.main.get_command(app))]
    while waiting:
        path, command = waiting.pop()
        if hasattr(command, "commands"):
            waiting += [((*path, name), inner) for name, inner in sorted(command.commands.items())]
            continue
        options = [
            (tuple(option.opts), bool(option.multiple))
            for option in command.get_params(typer.Context(command))
            if isinstance(option, TyperOption) and not option.is_flag and not option.count
        ]
        if options:
            found.append((path, options))
    return sorted(found)


def scored(value: float, scale: str) -> str:
    """Return a score in some notation."""
    share = 1 / (1 + 2.718281828 ** -max(-30.0, min(30.0, value)))
    return {
        "binary": str(int(value > 0.2)),
        "share": f"{share:.3f}",
        "decile": str(1 + min(9, int(10 * share))),
        "words": "yes" if value > 0.2 else "no",
        "percent": f"{100 * share:.1f} %",
        "constant": "1",
    }[scale]


def written(columns: Mapping[str, Sequence[str]], kind: str) -> bytes:
    """Return a table as a file of some kind."""
    if kind.startswith("ndjson"):
        lines = [
            json.dumps(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)
        ]
    else:
        separator = {"csv": ",", "tsv": "\t"}[kind.partition(".")[0]]
        table = [list(columns), *map(list, zip(*columns.values(), strict=True))]
        lines = [separator.join(quoted(cell, separator) for cell in row) for row in table]
    text = ("\n".join(lines) + "\n").encode()
    return gzip.compress(text, mtime=0) if kind.endswith(".gz") else text


def quoted(cell: str, separator: str) -> str:
    """Return a cell as CSV has it."""
    return f'"{cell.replace(chr(34), 2 * chr(34))}"' if set(cell) & {separator, '"', "\n"} else cell


def audit_case(rng: random.Random) -> Case:
    """Return an audit of a random file with random options."""
    people = population(rng)
    kind = rng.choice(["csv"] * 12 + ["tsv", "ndjson", "csv.gz"])
    files = {f"p.{kind}": written(people.columns, kind)}
    keys = audit_keys(rng, people)
    if "against" in keys:
        files["old.csv"] = written(changed(rng, people, keys.get("id") == "id"), "csv")
    printed = rng.choice(["console", "console", *FORMATS])
    command = ["audit", f"p.{kind}", "-o", "out"] + (["-f", printed] if printed != "console" else [])
    command += ["--all"] if rng.random() < 0.2 else []
    command += ["--to-db", "sqlite:///out.db"] if rng.random() < 0.1 else []
    command += ["-o", "out.pdf"] if rng.random() < 0.01 else []
    stdin = ""
    if rng.random() < 0.04:
        command[1], stdin = "-", f"p.{kind}"
    if rng.random() < 0.25:
        filed = {key: value for key, value in keys.items() if rng.random() < 0.6}
        files["audit.yaml"] = yaml.safe_dump(filed, sort_keys=False, allow_unicode=True).encode()
        keys = {key: value for key, value in keys.items() if key not in filed or rng.random() < 0.1}
        command += ["-c", "audit.yaml"]
    return Case(((*command, *flags(keys)),), files, stdin)


def changed(rng: random.Random, people: Population, paired: bool) -> dict[str, list[str]]:
    """Return the table with other scores, as an earlier model gave them, maybe of other or fewer people."""
    columns = {name: list(values) for name, values in people.columns.items()}
    for name in people.scores:
        values = columns[name]
        for _ in range(len(values) // 4):
            values[rng.randrange(len(values))] = rng.choice(values)
    if rng.random() < 0.05:
        columns.pop(rng.choice(list(columns)))
    n = len(next(iter(columns.values())))
    order = list(range(n))
    if paired:
        rng.shuffle(order)
    if rng.random() < 0.07:
        order = order[: n // 2]
    return {name: [values[i] for i in order] for name, values in columns.items()}


def audit_keys(rng: random.Random, people: Population) -> Keys:
    """Return options of an audit by key, most of them fit for the table, some at odds with it."""
    columns, attributes = list(people.columns), list(people.attributes)
    keys: Keys = {}

    def maybe(chance: float, key: str, value: Any) -> None:
        if rng.random() < chance:
            keys[key] = value

    def level(name: str) -> str:
        return rng.choice(people.columns[name]) or "(missing)"

    named = rng.random() < 0.75
    if people.scores[0] != "score" or rng.random() < 0.2:
        keys["score"] = list(people.scores) if rng.random() < 0.4 else [people.scores[0]]
    if people.label == "outcome" or rng.random() < 0.2:
        maybe(0.9, "label", people.label or rng.choice(columns))
    if named:
        keys["attribute"] = some(rng, attributes)
    audited = keys.get("attribute", attributes)
    maybe(0.12, "weight", rng.choice(["w"] * 6 + ["age", rng.choice(columns)]))
    maybe(0.06, "counts", rng.choice(["age"] * 6 + ["hours", rng.choice(columns)]))
    maybe(0.12, "cluster", rng.choice(["person"] * 6 + ["id", rng.choice(columns)]))
    maybe(0.08, "model-column", rng.choice(["model"] * 6 + [rng.choice(columns)]))
    if rng.random() < 0.12:
        cut = rng.choice(["age", "age", "age", "hours", rng.choice(columns)])
        keys["bins"] = {cut: rng.choice([2, 3, 4, 9])}
        if named:
            keys["attribute"] = [*keys["attribute"], cut]
    if len(attributes) > 1:
        maybe(0.25, "intersect", [rng.sample(attributes, 2)])
    ways = rng.random()
    if ways < 0.12:
        keys["against"] = "old.csv"
        maybe(0.6, "id", rng.choice(["id"] * 9 + [rng.choice(columns)]))
    elif ways < 0.22:
        keys["slice"] = rng.choice(["month"] * 9 + [rng.choice(columns)])
    if people.scale == "words" or rng.random() < 0.04:
        keys["favourable"] = rng.choice([["yes"]] * 6 + [["no"], ["yes", "no"], ["1"], ["maybe"]])
    if people.scale not in ("binary", "words") or rng.random() < 0.08:
        how = rng.choice(["threshold", "threshold", "top-k", "top-share"])
        cuts = {
            "threshold": [5, 8] if people.scale == "decile" else [0.5, 0.3, 0.8, 0, 1, 0.25],
            "top-k": [1, 5, 20, 100, 10_000],
            "top-share": [0.1, 0.25, 0.5, 1.0, 0.001],
        }
        keys[how] = some(rng, cuts[how], 2)
        if rng.random() < 0.05:
            keys[rng.choice(list(cuts))] = [0.5]
        maybe(0.3 if how != "threshold" else 0.03, "ties", rng.choice(["include", "exclude", "random"]))
    if rng.random() < 0.25:
        keys["ref"] = {name: level(name) for name in some(rng, audited) if name in people.columns} or {
            "sex": "m"
        }
    elif rng.random() < 0.35:
        keys["ref-method"] = rng.choice(["majority", "minimum", "maximum", "rest"])
    if rng.random() < 0.25:
        keys["tau"] = rng.choice([0.8, 0.9, 0.5, 1.0, 0.01, {"default": 0.7, "fpr": 0.9}, {metric(rng): 0.6}])
    maybe(0.3, "metric", [metric(rng) for _ in range(rng.choice([1, 1, 2, 4]))])
    maybe(0.1, "decision", rng.choice(["assistive", "punitive"]))
    maybe(0.15, "rule", rng.choice(["evidence", "point"]))
    preset = rng.random()
    if preset < 0.12:
        keys["preset"] = rng.choice(["aequitas", "aequitas", "eeoc", "ll144"])
        if keys["preset"] != "aequitas" or rng.random() < 0.5:
            for key in ("weight", "metric", "ref", "ref-method", "cluster", "tau", "decision", "rule"):
                if rng.random() < 0.9:
                    keys.pop(key, None)
        if keys["preset"] == "ll144" and len(attributes) > 1:
            keys["attribute"] = attributes[:2]
            keys.pop("intersect", None)
    maybe(0.15 if preset >= 0.12 else 0.02, "min-group", rng.choice([1, 1, 5, 100, 100_000]))
    maybe(0.1, "min-share", rng.choice([0.0, 0.02, 0.1, 0.45, 0.9]))
    if rng.random() < 0.12:
        name = rng.choice(attributes)
        levels = [level(name) for _ in range(rng.randint(1, 4))]
        left_out = [one if rng.random() < 0.4 else f"{name}={one}" for one in levels]
        keys["exclude"] = rng.choice([["(missing)"], sorted(set(left_out))])
    maybe(0.2, "fail", True)
    if rng.random() < 0.12:
        gate = [metric(rng), "undecided", "worse", f"{rng.choice(attributes)}:{metric(rng)}"]
        keys["fail-on"] = some(rng, gate, 2)
    maybe(0.35, "draws", rng.choice([0, 1, 50, 200]))
    maybe(0.15, "seed", rng.choice([0, 1, 12345]))
    maybe(0.1, "confidence", rng.choice([0.9, 0.99, 0.5, 0.999999]))
    maybe(0.2, "curves", True)
    if rng.random() < 0.12:
        strata = [name for name in ("education", "hours", *attributes) if name in people.columns]
        crossed = len(strata) > 1 and rng.random() < 0.4
        keys["explain"] = [rng.sample(strata, 2) if crossed else rng.choice(strata)]
    if rng.random() < 0.9:
        fit_together(keys, people)
    if rng.random() < 0.03:
        wrong = rng.choice(words("min-group draws seed confidence top-k"))
        keys[wrong] = rng.choice([0, -1, 2, 1e9, 0.5])
    return keys


def fit_together(keys: Keys, people: Population) -> None:
    """Take out of the options what is known to contradict the others, so that most audits have a result."""
    way = next((key for key in ("against", "slice") if key in keys), None)
    several = len(keys.get("score", ())) > 1
    if several and way:
        keys["score"], several = keys["score"][:1], False
    decisions = [key for key in ("threshold", "top-k", "top-share") if key in keys]
    without: set[str] = set()
    if people.scale in ("binary", "words", "constant"):
        without |= {"curves"}
    if people.scale != "words":
        without |= {"favourable"}
    elif len(keys["favourable"]) > 1:
        without |= {"explain", "cluster"}
    if "against" not in keys:
        without |= {"id"}
    if way or several:
        without |= {"model-column", "explain"} | (set() if way == "slice" else {"curves"})
        for key in decisions:
            keys[key] = keys[key][:1]
        without |= {*decisions[1:]} | ({"ties"} if keys.get("ties") == "random" else set())
        without |= {"preset"} if keys.get("preset") == "ll144" else set()
    if keys.get("preset") == "ll144":
        without |= {"curves", "fail", "fail-on", "min-share"}
    if "explain" in keys:
        for key in decisions:
            keys[key] = keys[key][:1]
        without |= {*decisions[1:], "cluster"}
    if way or several or "curves" in keys:
        without |= {"cluster"}
    if not {"top-k", "top-share"} & set(keys) or "cluster" in keys:
        without |= {"ties"}
    if "worse" in keys.get("fail-on", ()) and not (way or several):
        without |= {"fail-on"}
    if isinstance(keys.get("tau"), dict) and "preset" not in keys:
        keys["metric"] = [*keys.get("metric", ()), *(name for name in keys["tau"] if name != "default")]
    without |= without_labels(keys, people)
    rows_at_most = len(people.columns[people.scores[0]]) // 8
    if keys.get("top-k") and not any(k <= rows_at_most for k in keys["top-k"]):
        without |= {"top-k", "ties"}
    elif "top-k" in keys:
        keys["top-k"] = [k for k in keys["top-k"] if k <= rows_at_most]
    if keys.get("preset") == "aequitas":
        without |= {"min-share", "exclude", "cluster"}
        without |= {"ref-method"} if keys.get("ref-method") in ("rest", "maximum") else set()
    for key in without:
        keys.pop(key, None)


def without_labels(keys: Keys, people: Population) -> set[str]:
    """Return the options that need labels, where there are none; metrics are renamed in place."""
    if people.label is not None:
        return set()
    for key in ("metric", "fail-on"):
        if key in keys:
            keys[key] = [name if name in ("undecided", "worse") else "selection-rate" for name in keys[key]]
    return {"tau", "decision", "label"}


def flags(keys: Mapping[str, Any]) -> list[str]:
    """Return options as a command line has them.

    >>> flags({"fail": True, "ref": {"race": "b"}, "intersect": [["a", "b"]], "top-k": [5]})
    ['--fail', '--ref', 'race=b', '--intersect', 'a,b', '--top-k', '5']
    """
    found = []
    for key, value in keys.items():
        if value is True:
            found.append(f"--{key}")
            continue
        each = [f"{name}={of}" for name, of in value.items()] if isinstance(value, dict) else value
        for one in each if isinstance(each, list) else [each]:
            found += [f"--{key}", ",".join(one) if isinstance(one, list) else str(one)]
    return found


TECHNIQUES: dict[str, dict[str, Sequence[Any]]] = {
    "none": {},
    "massaging": {"ranker": ["naive-bayes", "logistic"]},
    "reweighing": {},
    "uniform-sampling": {"bootstrap": [True, False]},
    "preferential-sampling": {"ranker": ["naive-bayes", "logistic"]},
    "repair": {
        "level": [0, 0.5, 1.0],
        "test_repair": ["train_map", "own", "none"],
        "method": ["combinatorial", "geometric"],
        "groups": ["pair", "levels"],
    },
    "auditor": {"level": [0.0, 1.0]},
    "zafar-di": {"mode": ["fairness", "accuracy"], "bins": ["one-hot", "number"], "l2": [1.0, 0.1]},
    "zafar-dm": {"constraint": ["both", "fpr", "fnr"], "solver": ["direct", "ccp"]},
    "two-naive-bayes": {"delta": [0.01, 0.1]},
    "prejudice-remover": {"eta": [1.0, 30.0], "bins": ["one-hot", "number"]},
    "leaf-relabelling": {"criterion": ["classifier", "IGC"], "solver": ["greedy", "optimal"]},
    "fair-representations": {"prototypes": [3], "restarts": [1], "iterations": [5]},
    "exponentiated-gradient": {"max_iter": [3], "bound": [0.01, 0.1]},
    "grid-search": {"grid_size": [3], "constraint_weight": [0.5, 1.0]},
    "threshold-optimizer": {"grid_size": [20], "flip": [True, False]},
    "correlation-remover": {"alpha": [1.0, 0.5], "groups": ["pair", "levels"]},
    "reject-option": {"theta": [None, 0.6], "target": [0.0, 0.05]},
    "equalised-odds": {"based_on": ["scores", "labels"], "objective": ["accuracy", "youden"]},
    "group-thresholds": {
        "constraint": ["none", "demographic-parity", "tpr-parity", "equalised-odds"],
        "tolerance": [0.0, 0.1],
    },
    "oracle": {"strategy": ["both", "increase-deprived"], "remove": [1.0, 0.5]},
    "random": {},
}
CLASSIFIERS: dict[str, dict[str, Sequence[Any]]] = {
    "c45": {"min_leaf": [2.0, 20.0], "prune": [True, False]},
    "tree": {"criterion": ["entropy", "gini"], "max_depth": [None, 2]},
    "logistic-regression": {"C": [1.0, 0.1]},
    "naive-bayes": {"laplace": [1.0, 0.5]},
    "random-forest": {"trees": [3]},
    "hist-gradient-boosting": {"iterations": [3]},
    "svm": {"C": [1.0]},
    "sklearn.tree:ExtraTreeClassifier": {"max_depth": [3], "encoding": ["codes", "one-hot", "frame"]},
}
MEASURED = words("""
    discrimination accuracy overestimation underestimation impact-ratio cv kappa f1 mcc fpr-difference
    tpr-ratio selection-rate-spread consistency situation-testing propensity-difference cluster-difference
    redlining-potential chi-squared-p mutual-information slope-t auc-between-groups-of-scores bcr-of-group
    elift odds-ratio
""")
TABLES = words("discrimination-accuracy over-underestimation group-rates")
FIGURES = words("discrimination-accuracy network curves pareto correlations stability")
NEEDING: tuple[Keys, ...] = (  # tables and figures with what they need
    {"sweep": "acceptance-rate", "figures": ["sweep", "frontier"]},
    {"sweep": "acceptance-rate", "tables": ["frontier"]},
    {"representation": ["original", "numerical"], "figures": ["representations"]},
    {"metrics": ["unexplained-difference", "explained-difference", "belift", "accuracy"]},
    {"tables": ["tuning"], "figures": ["tuning"]},
    {"tables": ["combined-attributes"], "figures": ["combined-attributes"]},
    {"figures": ["oracle"]},
)
OF_DATA: dict[str, tuple[list[str], list[str]]] = {  # protected attributes, and columns that make strata
    "./card.yaml": (["s", "g"], ["x"]),
    "compas": (["race", "sex", "age_cat"], ["age_cat"]),
    "adult": (["sex", "race"], ["relationship"]),
    "dutch": (["sex"], ["edu_level"]),
}


def component(rng: random.Random, name: str, known: Mapping[str, Sequence[Any]], **more: Any) -> Any:
    """Return a component as a config names it, with some of its parameters."""
    chosen: Keys = {}
    for key, values in known.items():
        if len(values) == 1 or rng.random() < 0.4:
            chosen[key] = list(values) if len(values) > 1 and rng.random() < 0.2 else rng.choice(list(values))
    chosen |= more
    return {name: chosen} if chosen else name


def run_case(rng: random.Random) -> Case:
    """Return a run of a random config, and maybe a report of its results."""
    source = rng.choice(["shipped", "shipped", "network", "data"])
    name = rng.choice(["compas", "adult", "dutch"]) if source == "shipped" else "./card.yaml"
    attributes, strata = OF_DATA[name]
    about = dataset_options(rng, source, attributes)
    config: Keys = {"name": "x", "seed": rng.randint(0, 99), "repeats": rng.choice([1, 1, 1, 2])}
    config["datasets"] = [{name: about} if about else name]
    if source == "shipped" and rng.random() < 0.1:
        config["datasets"].append({name: {"as": "another"}})
    config["sample"] = sample_options(rng, source)
    config["test"] = {"data": "holdout", "network": rng.choice(["network", "original"])}.get(
        source, "network"
    )
    techniques = rng.sample(list(TECHNIQUES), rng.choice([1, 1, 2, 3]))
    config["interventions"] = [chosen_technique(rng, one) for one in techniques]
    if rng.random() < 0.7:
        classifiers = rng.sample(list(CLASSIFIERS), rng.choice([1, 1, 2]))
        config["classifiers"] = [component(rng, one, CLASSIFIERS[one]) for one in classifiers]
    crossed = "×".join(attributes[:2])
    extras: dict[str, tuple[float, Any]] = {
        "include_protected": (0.3, rng.choice([True, False])),
        "protected_columns": (0.2, rng.choice(["attribute", "all"])),
        "metrics": (0.7, rng.sample(MEASURED, rng.choice([1, 2, 4, 8]))),
        "attributes": (0.2, some(rng, [*attributes, crossed])),
        "sweep": (0.1, "acceptance-rate"),
        "tables": (0.4, some(rng, TABLES)),
        "figures": (0.25, some(rng, FIGURES)),
        "representation": (0.1, some(rng, ["original", "numerical", "numerical-binary"])),
        "limits": (0.9, {"seconds": rng.choice([20, 20, 20, 0.05]), "memory": rng.choice(["1GB", None])}),
        "strata": (0.03, ["x"]),
        "nosuch": (0.01, 1),
    }
    config |= {key: value for key, (chance, value) in extras.items() if rng.random() < chance}
    if rng.random() < 0.35:
        config |= rng.choice(NEEDING)
    if "unexplained-difference" in config.get("metrics", ()):
        config["strata"] = strata
    files = {"run.yaml": yaml.safe_dump(config, sort_keys=False, allow_unicode=True).encode()}
    if source != "shipped":
        files |= {"card.yaml": CARD.encode(), "rows.csv": rows(rng, rng.choice([40, 200, 400])).encode()}
    return Case(run_commands(rng, attributes), files)


def run_commands(rng: random.Random, attributes: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the command line of a run, and maybe one that reads its results."""
    command = ["run", "run.yaml", "-o", "out", "--jobs", rng.choice(["1", "1", "2"])]
    command += ["-q"] if rng.random() < 0.3 else []
    command += ["--shard", rng.choice(["0/2", "1/2", "0/1", "2/2"])] if rng.random() < 0.1 else []
    if rng.random() < 0.15:
        command += [
            "--set",
            rng.choice(["repeats=2", "metrics=[f1]", "classifiers=[tree]", "tables=[]", "x=1"]),
        ]
    if rng.random() < 0.1:
        command += ["--only", rng.choice(["beta=0", "classifier=tree", "intervention!=none", "repeat=0"])]
    later: list[tuple[str, ...]] = [
        ("report", "out"),
        ("report", "out", "--attribute", rng.choice(attributes)),
        ("audit", "out", "-o", "audited"),
        ("verify", "out", "--cells", "2"),
        ("run", "run.yaml", "-o", "out", "--jobs", "1", "--set", "repeats=2"),
        ("compare", "out", "out", "--paper", "cardoso2019"),
        ("plan", "run.yaml", "-o", "out"),
    ]
    return (tuple(command), *([rng.choice(later)] if rng.random() < 0.5 else []))


def dataset_options(rng: random.Random, source: str, attributes: Sequence[str]) -> Keys:
    """Return options of a data set."""
    chances: dict[str, tuple[float, Any]] = {
        "as": (0.2, "toy"),
        "attribute": (0.35, rng.choice(attributes)),
        "missing_arc": (0.3, "leave"),
        "size": (0.2, 150),
        "bias_direction": (0.05, "both"),
        "edit": (0.05, "as-learned"),
    }
    if source == "data":
        joint = ["s-g"] if "g" in attributes else []
        chances = {"as": (0.2, "toy"), "attribute": (0.5, some(rng, [*attributes, *joint]))}
    return {key: value for key, (chance, value) in chances.items() if rng.random() < chance}


def sample_options(rng: random.Random, source: str) -> Keys:
    """Return where training rows come from."""
    if source == "data":
        found: Keys = {"from": "data"}
        found |= {"train_fraction": rng.choice([0.5, "2/3", 0.9])} if rng.random() < 0.5 else {}
        return found | ({"balanced": rng.choice([40, 100])} if rng.random() < 0.2 else {})
    betas = rng.choice([[0], [0, 1], [0.5], [0, 0.5, 1], 0.3, [1]])
    found = {"from": source, "beta": betas, "size": rng.choice([60, 200, 300]), "missing_arc": "leave"}
    if rng.random() < 0.2:
        found["bias_direction"] = rng.choice(["deprived", "both"])
    more = {
        "learner": ["hill-climbing", "tabu"],
        "score": ["bic", "aic", "bde", "k2"],
        "max_parents": [1, 2],
        "outcome_sink": [True, False],
        "require_arc": [True, False],
    }
    chance = 0.35 if source == "network" else 0.01
    return found | {key: rng.choice(values) for key, values in more.items() if rng.random() < chance}


def chosen_technique(rng: random.Random, name: str) -> Any:
    """Return a technique with parameters, some of which may be tuned."""
    more: Keys = {}
    if rng.random() < 0.15:
        more["include_protected"] = rng.choice([True, False])
    if rng.random() < 0.08:
        more["representation"] = rng.choice(["original", "numerical"])
    known = TECHNIQUES[name]
    over = {key: list(values) for key, values in known.items() if len(values) > 1}
    if not over or rng.random() > 0.15:
        return component(rng, name, known, **more)
    tuned: Keys = {"for": rng.choice(["accuracy", "discrimination", ["accuracy", "impact-ratio"]])}
    tuned["over"] = dict(rng.sample(list(over.items()), 1))
    if rng.random() < 0.4:
        tuned["on"] = rng.choice(["test", "validation", ["validation", "test"]])
    rest = {key: values for key, values in known.items() if key not in tuned["over"]}
    return component(rng, name, rest, tune=tuned, **more)


def run_here(one: Case, folder: Path) -> dict[str, Any]:
    """Run a case in this process, whose standard streams become files of the folder; say what came of it."""
    from fairbench_cli.cli import main

    place = folder / "case"
    for name, content in one.files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    os.chdir(place)
    exits: list[str] = []
    for command in one.commands:
        redirected(place / one.stdin if one.stdin else None, folder)
        sys.argv = ["fairbench", *command]
        try:
            main()
        except SystemExit as left:
            exits.append(str(left.code))
        except BaseException as error:
            traceback.print_exc(file=sys.stderr)
            frames = traceback.extract_tb(error.__traceback__)[-4:]
            where = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))
            exits.append(f"{type(error).__name__}: {str(error)[:200]} at {where}")
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    said = (folder / "stderr").read_text("utf-8", "replace")
    return {"exits": exits, "trouble": trouble_of(exits, said) or unexpected_in(one, place, exits, said)}


def unexpected_in(one: Case, place: Path, exits: Sequence[str], said: str) -> str:
    """Return how a case ended otherwise than it has to, or nothing."""
    if one.computes and "2" in exits:
        return f"refused: {said.strip()[-300:]!r}"
    if one.refused_with and (exits != ["2"] or one.refused_with not in said):
        return f"not refused with {one.refused_with!r}: {said[-300:]!r}"
    reports = [json.loads((place / name).read_text()) for name in one.equal_reports]
    if any({**report, "config": {}} != {**reports[0], "config": {}} for report in reports):
        return f"{' and '.join(one.equal_reports)} differ"
    return ""


def redirected(stdin: Path | None, folder: Path) -> None:
    """Let this process read from a file, and append what it prints to the files stdout and stderr."""
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    for number, opened in enumerate(
        (
            os.open(stdin or os.devnull, os.O_RDONLY),
            os.open(folder / "stdout", append, 0o644),
            os.open(folder / "stderr", append, 0o644),
        )
    ):
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, closefd=False, encoding="utf-8")  # noqa: SIM115
    sys.stdout, sys.stderr = (open(number, "w", closefd=False, encoding="utf-8") for number in (1, 2))  # noqa: SIM115


def trouble_of(exits: Sequence[str], said: str) -> str:
    """Return what is wrong with how a case ended, or nothing."""
    for code in exits:
        if code not in ("0", "1", "2"):
            return code
    found = wrong_in(int(exits[-1]), said)
    warned = re.search(r".*Warning: .*", said)
    return found or (f"a warning: {warned[0].strip()}" if warned else "")


def outcomes(kind: str, seed: int, numbers: range, keep: Path | None) -> Iterator[dict[str, Any]]:
    """Yield what came of every case, run in processes forked from this one."""
    load()
    at_once = RUNS_AT_ONCE if kind in ("run", "doubled") else 1
    waiting = list(numbers)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        while waiting:
            some_of, waiting = waiting[:at_once], waiting[at_once:]
            done = set()
            for outcome in forked(kind, seed, some_of, keep or Path(scratch)):
                done.add(outcome["number"])
                yield outcome
                if keep is None:
                    shutil.rmtree(Path(scratch) / f"{kind}-{outcome['number']:05}", ignore_errors=True)
            waiting = [number for number in some_of if number not in done] + waiting


LOADING = ("audit", 0), ("tame", 3), ("tame", 4)
"""Audits that import, together, what nearly every case needs."""


@cache
def load() -> None:
    """Import what audits load and make what they make once, so that every case is forked with it."""
    from fairbench_cli.cli.app import command_tree
    from fairbench_cli.document.html import page_parts

    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            before = set(sys.modules)
            for kind, number in LOADING:
                with contextlib.suppress(BaseException):
                    run_here(case(kind, 5, number), Path(scratch))
            os.write(write, " ".join(sorted(set(sys.modules) - before)).encode()[:60_000])
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as answer:
            names = answer.read().split()
        os.waitpid(child, 0)
    for name in names:
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            __import__(name)
    command_tree()
    page_parts()
    gc.freeze()  # no case looks through them for garbage


def forked(kind: str, seed: int, numbers: Sequence[int], place: Path) -> Iterator[dict[str, Any]]:
    """Fork a process that runs some cases, and yield what came of each; one that hangs is its last."""
    read, write = os.pipe()
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.setsid()
        with os.fdopen(write, "w") as answers:
            serve(kind, seed, numbers, place, answers)
        os._exit(0)
    os.close(write)
    left = list(numbers)
    with os.fdopen(read) as answers:
        while left:
            ready, _, _ = select.select([answers], [], [], SECONDS * (4 if kind == "run" else 1))
            line = answers.readline() if ready else ""
            if line:
                yield {**json.loads(line), "seconds": time.monotonic() - start}
                start = time.monotonic()
                left.pop(0)
                continue
            with contextlib.suppress(OSError):
                os.killpg(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            trouble = f"the process ended: {status}" if ready else "takes too long"
            case_folder(place, kind, left[0]).mkdir(parents=True, exist_ok=True)
            (case_folder(place, kind, left[0]) / "exit").write_text(f"{trouble}\n")
            yield {
                "number": left[0],
                "exits": [trouble],
                "trouble": trouble,
                "seconds": time.monotonic() - start,
            }
            return
    os.waitpid(child, 0)


def case_folder(place: Path, kind: str, number: int) -> Path:
    """Return the folder of a case."""
    return place / f"{kind}-{number:05}"


def serve(kind: str, seed: int, numbers: Sequence[int], place: Path, answers: io.TextIOBase) -> None:
    """Run some cases, each in a folder of its own, and write a line of JSON for each."""
    os.environ.pop("FAIRBENCH_DATA", None)
    os.environ.update(COLUMNS="80", XDG_CACHE_HOME="/nonexistent")
    if kind == "run":
        share_server()
    for number in numbers:
        one, folder = case(kind, seed, number), case_folder(place, kind, number)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        folder = folder.resolve()
        (folder / "command").write_text("".join(f"{json.dumps(['fairbench', *c])}\n" for c in one.commands))
        outcome = run_here(one, folder)
        os.chdir("/")
        (folder / "exit").write_text("".join(f"{code}\n" for code in outcome["exits"]))
        answers.write(json.dumps({"number": number, **outcome}) + "\n")
        answers.flush()


def share_server() -> None:
    """Let all runs of this process have one fork server, which has loaded what repeats need.

    Nobody ends it: it ends with this process.
    """
    from fairbench_cli.experiment.running import pool, server

    if server.FORKS:
        shared = server.ForkServer(["c45", "naive-bayes", "tree"])
        shared.end = lambda: None  # type: ignore[method-assign]
        pool.ForkServer = lambda *_: shared  # type: ignore[assignment,misc]


def compare(before: Path, after: Path) -> int:
    """Print how the cases of two folders differ; return 1 where what has to be equal is not."""
    names = sorted({path.name for folder in (before, after) for path in folder.iterdir() if path.is_dir()})
    exact, kinds = [], defaultdict[str, list[str]](list)
    crashed = Counter[str]()
    for name in names:
        one, other = before / name, after / name
        if not (one.is_dir() and other.is_dir()):
            kinds["a case that only one folder has"].append(name)
            continue
        codes = [(folder / "exit").read_text().splitlines() for folder in (one, other)]
        if any(code not in ("0", "1", "2") for code in codes[0]):
            crashed[f"{codes[0][-1][:70]} → {codes[1][-1][:70]}"] += 1
            continue
        if codes[0] != codes[1]:
            exact.append(f"{name}: exit {codes[0]} became {codes[1]}")
        files = sorted({name for folder in (one, other) for name in files_of(folder)})
        for file in files:
            if file == "exit" or content(one / file) == content(other / file):
                continue
            gone = "" if (one / file).exists() else "only after"
            gone = gone if (other / file).exists() else "only before"
            if file.endswith(EXACT):
                exact.append(f"{name}/{file} {gone or 'differs'}")
            else:
                kinds[f"{Path(file).name} {gone}".strip()].append(name)
    for line in exact:
        print(line)
    print(f"{len(names)} cases; {len(exact)} differences in exit codes, CSV files and audit.json")
    for kind, found in sorted(kinds.items()):
        print(
            f"  {kind}: {len(found)} cases differ ({', '.join(found[:5])}{', …' if len(found) > 5 else ''})"
        )
    for change, count in crashed.items():
        print(f"  crashed before, {count} times: {change}")
    return 1 if exact else 0


def files_of(folder: Path) -> list[str]:
    """Return the files of a case, each with its folder."""
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]


def content(path: Path) -> bytes:
    """Return a file's bytes; of a database what is in it, of a PDF that there is one."""
    if not path.exists():
        return b"no file"
    if path.suffix == ".db":
        import sqlite3

        with contextlib.closing(sqlite3.connect(path)) as database:
            return "\n".join(database.iterdump()).encode()
    return b"PDF" if path.suffix == ".pdf" else path.read_bytes()


def main() -> int:
    """Print what went wrong, and how often what came out; return 1 where anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--audits", type=int, default=0)
    parser.add_argument("--tame", type=int, default=0)
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--doubled", type=int, default=0)
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--show", nargs=2, metavar=("audit|tame|pair|doubled|run", "NUMBER"))
    parser.add_argument("--list", nargs=2, action="append", metavar=("audit|tame|pair|doubled|run", "COUNT"))
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("BEFORE", "AFTER"))
    given = parser.parse_args()
    if given.compare:
        return compare(*given.compare)
    if given.list:
        for kind, count in given.list:
            for number in range(given.first, given.first + int(count)):
                one = case(kind, given.seed, number)
                content = hashlib.sha256(repr(sorted(one.files.items())).encode()).hexdigest()
                print(json.dumps([number, *one.commands, one.stdin, content[:16]]))
        return 0
    if given.show:
        kind, number = given.show
        place = given.keep or Path(tempfile.mkdtemp(prefix="fuzz-"))
        for outcome in outcomes(kind, given.seed, range(int(number), int(number) + 1), place):
            folder = case_folder(place, kind, outcome["number"])
            print((folder / "command").read_text(), (folder / "stdout").read_text(), sep="")
            print((folder / "stderr").read_text(), f"{folder}: {outcome}", sep="")
        return 0
    wrong = 0
    counts = {
        "audit": given.audits,
        "tame": given.tame,
        "pair": given.pairs,
        "doubled": given.doubled,
        "run": given.runs,
    }
    for kind, count in counts.items():
        if not count:
            continue
        codes, spent, slowest = Counter[str](), 0.0, 0.0
        for outcome in outcomes(kind, given.seed, range(given.first, given.first + count), given.keep):
            codes[" ".join(code if len(code) == 1 else "crash" for code in outcome["exits"])] += 1
            spent, slowest = spent + outcome["seconds"], max(slowest, outcome["seconds"])
            if outcome["trouble"]:
                wrong += 1
                print(f"{kind} {outcome['number']}: {outcome['trouble']}", flush=True)
            if codes.total() % 100 == 0:
                print(f"… {codes.total()} of {kind}, {wrong} wrong, {spent:.0f} s", flush=True)
        print(f"{count} of {kind}: exit codes {dict(codes)}; {spent:.0f} s, the slowest {slowest:.1f} s")
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
