"""Every fix line that can be pasted is pasted: what follows is an answer or another message, never the same.

The corpus is small wrong files made here, each with the command of somebody who does not know better. What a
line leaves open (``VALUE``, a bare ``--id``) is in `given`. A line that cannot be pasted ("fill it in") is
not of this law. `NEVER_REACHED` lists the places in the package that make such a line and that no case
comes to.
"""

import json
import os
import random
import shlex
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from conftest import Said
from fix_places import at, places, reached
from pasting import pastes, read_messages
from workbooks import Sheet, write_workbook

from fairbench_cli.audit import finished

MOST_STEPS = 3
NOT_RUN = (["data", "fetch"], ["run", "quickstart"], ["web"])
"""What would use the network, take a minute, or serve until it is stopped."""
SEXES, RACES = "fm", "abc"


@dataclass(frozen=True)
class Case:
    """Files by name, what is run in their folder, and what the reader gives where a line leaves it open."""

    command: str
    files: Mapping[str, str | bytes | Callable[[Path], object]] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)


def table(n=60, **columns):
    """Return rows as text: a column's values are repeated; a text with ``{i}`` has the row's number."""
    rows = [",".join(columns)]
    for i in range(n):
        cells = [
            values.format(i=i, tens=i // 10) if "{" in values else values[i % len(values)]
            for values in columns.values()
        ]
        rows.append(",".join(map(str, cells)))
    return "\n".join(rows) + "\n"


# Cycles without a common factor: groups, decisions and labels vary together.
PEOPLE = {"sex": "ffmfm", "race": "aabbbcc", "score": [1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 1], "label": [1, 0, 1]}
PLAIN = table(**PEOPLE)
SCORES = table(**PEOPLE | {"score": [0.1, 0.7, 0.3, 0.55, 0.9, 0.2, 0.61, 0.45, 0.8, 0.33, 0.05]})
PAY = table(**PEOPLE | {"score": list(range(20_000, 90_000, 973))})
LEVELS = table(**PEOPLE | {"score": ["low", "high", "medium", "low", "high"], "label": ["low", "high"]})
GRADES = table(**PEOPLE | {"score": [1, 2, 3, 4, 5, 6], "label": [2, 3]})
WORDS = table(**PEOPLE | {"score": ["x", "y"], "label": ["x", "y"]})
COUNTED = "sex,score,Anzahl\nf,1,20\nf,0,40\nm,1,50\nm,0,45\n"
BORN = table(**PEOPLE, birth_date=[f"19{50 + i}-03-0{1 + i % 9}" for i in range(41)])
UNNAMED = {"who": "P{i}", **PEOPLE}
SHEET = [row.split(",") for row in PLAIN.split()]


def write_database(path):
    """Write a database of two tables."""
    with closing(sqlite3.connect(path)) as database:
        for name in ("preds", "staff"):
            database.execute(f"CREATE TABLE {name} AS SELECT 'f' AS sex, 1 AS score UNION SELECT 'm', 0")
        database.commit()


BY_ID = {"id": "P{i}", **PEOPLE}
AUDIT = '{"format": 4, "verdict": "pass", "headline": "x"' + "".join(
    f', "{key}": 1' for key in sorted(finished.KEYS - {"format", "verdict", "headline"})
)
TWICE = table(**BY_ID | {"id": "P{tens}"}, who="Q{i}")


def stack(columns):
    """Return decisions of two models on the same 40 people as text, with some of both columns."""
    drawn = random.Random(3)  # noqa: S311
    people = [f"{drawn.choice('fm')},{drawn.randint(0, 1)}" for _ in range(40)]
    lines = [f"sex,label,score,{columns}"]
    for model in "ab":
        for i, person in enumerate(people):
            known = {"model": model, "person": f"P{i}"}
            lines.append(",".join([person, str(i % 2), *(known[name] for name in columns.split(","))]))
    return "\n".join(lines) + "\n"


COUNTS = "sex,race,score,n\nf,a,1,12\nf,a,0,31\nm,a,1,22\nm,a,0,29\nTotal,a,1,34\nTotal,a,0,60\n"
OF_COUNTS = ("--set", "counts=n")


def audits_of(name, text, *options, **given):
    """Return the case of an audit of one file."""
    return Case(shlex.join(["audit", name, *options]), {name: text}, {f"--{k}": v for k, v in given.items()})


def pair(ours, theirs, *options, **given):
    """Return the case of two files about the same rows."""
    case = audits_of("new.csv", ours, "--against", "old.csv", *options, **given)
    return Case(case.command, {**case.files, "old.csv": theirs}, case.given)


AUDITS = {
    "clusters twice in slices": audits_of(
        "p.csv",
        table(n=240, **PEOPLE, school="s{i}", house="h{tens}", month=[f"2025-0{i}" for i in range(1, 7)]),
        *["--slice", "month", "--cluster", "school", "--cluster", "house"],
    ),
    "a baseline that is none": Case(
        "audit p.csv --baseline no.json --fail",
        {"p.csv": PLAIN, "no.json": "[]"},
    ),
    "a baseline of a later version": Case(
        "audit p.csv --baseline next.json --fail",
        {"p.csv": PLAIN, "next.json": '{"format": 3, "failing": []}'},
    ),
    "worse than nothing": audits_of("p.csv", PLAIN, "--fail-on", "fpr:worse"),
    "a measure of numbers": audits_of("p.csv", PLAIN, "-m", "mean"),
    "a rate of numbers": audits_of("p.csv", PAY, "--outcome", "number", "-m", "fpr"),
    "errors of probabilities": audits_of("p.csv", SCORES, "--outcome", "number", "-m", "mae"),
    "harm by numbers": audits_of("p.csv", PAY, "--outcome", "number", "--decision", "punitive"),
    "better decisions": audits_of("p.csv", PLAIN, "--better", "lower"),
    "no probabilities": audits_of("p.csv", PAY, "--outcome", "probability"),
    "a measure of classes": audits_of("p.csv", PLAIN, "-m", "whole-table"),
    "a metric without a mark": audits_of("p.csv", PLAIN, "--fail-on", "f1-of-group", metric="fpr"),
    "decisions have no thresholds": audits_of(
        "p.csv", table(**PEOPLE, p=[0.1, 0.7, 0.3]), "--mitigate", threshold="0.5", score="p"
    ),
    "decisions that are cut": audits_of(
        "p.csv", table(**PEOPLE, p=[0.1, 0.7, 0.3]), "--mitigate", "--threshold", "0.5", score="p"
    ),
    "no labels to move": audits_of(
        "p.csv", SCORES.replace("label", "truth"), "--mitigate", "--threshold", "0.5", label="truth"
    ),
    "totals of one attribute": audits_of("p.csv", COUNTS, *OF_COUNTS),
    "totals in two columns": audits_of("p.csv", COUNTS.replace("race", "office"), *OF_COUNTS, "-a", "office"),
    "models on the same people": audits_of("p.csv", stack("model,person"), "-a", "sex"),
    "results on the same people": audits_of("p.csv", stack("person"), "-a", "sex"),
    "weighted subgroups": audits_of("p.csv", table(**PEOPLE, w=[1, 2, 2.5]), "--scan", "--weight", "w"),
    "people of several groups": audits_of(
        "p.csv", table(**PEOPLE, person="{tens}"), "--scan", "--cluster", "person"
    ),
    "ages without a day": audits_of("p.csv", BORN, "--bins", "birth_date=30,60"),
    "a day without ages": audits_of("p.csv", BORN, "--as-of", "2024-12-31"),
    "a day that is none": audits_of("p.csv", BORN, "--bins", "birth_date=30,60", "--as-of", "soon"),
    "people born after the day": audits_of(
        "p.csv", BORN, "--bins", "birth_date=30,60", "--as-of", "1960-01-01", **{"as-of": "2024-12-31"}
    ),
    "cells of a file": audits_of("p.csv", PLAIN, "--only", "beta=1"),
    "two numbers": audits_of("p.csv", SCORES),
    "shares in per cent": audits_of(
        "p.csv", table(**PEOPLE | {"score": [f"{i} %" for i in range(0, 100, 7)]})
    ),
    "words": audits_of("p.csv", WORDS, favourable="y"),
    "words that say which": audits_of("p.csv", WORDS.replace("x", "approved").replace("y", "denied")),
    "one and two": audits_of("p.csv", table(**PEOPLE | {"score": [1, 2, 2]}), favourable="2"),
    "labels of three": audits_of(
        "p.csv", table(**PEOPLE | {"label": [1, 2, 3]}), **{"favourable-label": "1"}
    ),
    "many codes": audits_of(
        "p.csv", table(job_code=range(1, 41), sex="ffmfm"), "--score", "job_code", favourable="3"
    ),
    "counts that are none": audits_of(
        "p.csv", table(**PEOPLE, people=[1, 2.5]), "--counts", "people", weight="people"
    ),
    "missing decisions": audits_of("p.csv", table(**PEOPLE | {"score": [1, 0, "", 1, 0]})),
    "several models": audits_of("p.csv", table(**PEOPLE, model_id=[1, 2])),
    "an order of decisions": audits_of("p.csv", LEVELS, "--order", "low,medium,high", "--outcome", "number"),
    "an order is missing": audits_of("p.csv", LEVELS, "--outcome", "ordinal", order="low,medium,high"),
    "an order with a gap": audits_of("p.csv", LEVELS, "--outcome", "ordinal", "--order", "low,high"),
    "levels above": audits_of("p.csv", GRADES, "--outcome", "ordinal", "--above", "2"),
    "curves of numbers": audits_of("p.csv", PAY, "--outcome", "number", "--curves"),
    "changes of grades": audits_of("p.csv", GRADES, "--outcome", "ordinal", "--against", "p.csv"),
    "levels explained": audits_of(
        "p.csv", LEVELS, "--outcome", "ordinal", "--order", "low,medium,high", "--explain", "race"
    ),
    "grades explained": audits_of("p.csv", GRADES, "--outcome", "ordinal", "--explain", "race"),
    "least change of numbers": audits_of(
        "p.csv", PAY, "--outcome", "number", "--against", "p.csv", "--least-change", "0.05"
    ),
    "very many classes": audits_of(
        "p.csv",
        table(n=120, **PEOPLE | {"score": [f"k{i}" for i in range(60)], "label": ["k1"]}),
        *["--outcome", "class"],
    ),
    "two classes": audits_of("p.csv", WORDS, "--outcome", "class", favourable="y"),
    "ids that repeat": pair(table(**BY_ID, who="Q{i}"), TWICE, "--id", "id", id="who"),
    "files of other lengths": pair(table(**UNNAMED), table(n=59, **UNNAMED), id="who"),
    "ids that repeat here": pair(
        table(**BY_ID, who="Q{i}") + "P0,f,a,1,1,Q60\n",
        table(**BY_ID, who="Q{i}") + "P60,f,a,1,1,Q60\n",
        *["--id", "id"],
        id="who",
    ),
    "ids of others": pair(
        table(**BY_ID | {"id": "Q{i}"}, who="Q{i}"), table(**BY_ID, who="Q{i}"), "--id", "id", id="who"
    ),
    "other people in other orders": pair(
        table(**UNNAMED), table(**UNNAMED).replace("P0,f", "P0,m"), id="who"
    ),
    "short forms": audits_of(
        "p.csv", table(**PEOPLE | {"sex": ["F", "Female", "Female", "female", "Male", "Male"]})
    ),
    "words in bins": audits_of(
        "p.csv", table(**PEOPLE, age=[*map(str, range(20, 50)), "old"]), "--bins", "age=30,40"
    ),
    "a threshold of another scale": audits_of("p.csv", SCORES, "--threshold", "50"),
    "classes of two columns": audits_of(
        "p.csv",
        table(**PEOPLE | {"score": list("xyz")}, second=list("uvw")),
        *["--score", "score", "--score", "second", "--favourable", "x"],
        favourable="u",
    ),
    "no attribute": audits_of("p.csv", table(900, score=[1, 0, 0], born="{i}"), attribute="born"),
    "an unknown column": audits_of("p.csv", PLAIN, "-a", "rce", "--score", "scor"),
    "no column of scores": audits_of("p.csv", PLAIN.replace("score", "hired")),
    "capitals": audits_of("p.csv", PLAIN.replace("score", "SCORE")),
    "nothing like a score": audits_of("p.csv", PLAIN.replace("score", "x1"), score="x1"),
    "too many groups": audits_of(
        "p.csv", table(n=12_000, **PEOPLE, place="{i}"), "-a", "place", attribute="sex"
    ),
    "no likely attribute": audits_of(
        "p.csv",
        table(score=[1, 0, 0], **{f"x{k}": [f"v{j}" for j in range(k)] for k in range(2, 12)}),
        attribute="x2",
    ),
    "curves of decisions": audits_of(
        "p.csv", table(**PEOPLE, p=[0.1, 0.7, 0.3]), "--curves", score="p", threshold="0.5"
    ),
    "curves of two scores": audits_of(
        "p.csv",
        table(**PEOPLE | {"score": [0.2, 0.7, 0.7]}),
        "--curves",
        "--threshold",
        "0.5",
    ),
    "a table of a text": audits_of("p.csv", PLAIN, "--table", "preds"),
    "an encoding of a database": Case(
        "audit p.parquet --encoding latin-1", {"p.parquet": b"PAR1" + b"x" * 50 + b"PAR1"}
    ),
    "the wrong encoding": audits_of(
        "p.csv", PLAIN.replace("f,", "é,").encode(), "--encoding", "ascii", encoding="utf-8"
    ),
    "an encoding": audits_of("p.csv", PLAIN.replace("f,", "Löwe,").encode("cp1252")),
    "two encodings": audits_of(
        "p.csv", PLAIN.replace("f,", "ö,").encode() + "ö,a,1,1\n".encode("latin-1"), encoding="latin-1"
    ),
    "sixteen bits": audits_of("p.csv", PLAIN.encode("utf-16")),
    "capitals in groups": audits_of("p.csv", PLAIN.replace("f,a", "F,a")),
    "capitals in decisions": audits_of(
        "p.csv",
        table(**PEOPLE | {"score": ["yes", "no", "Yes"], "label": ["yes", "no"]}),
        "--favourable",
        "yes",
    ),
    "an empty sheet": Case(
        "audit p.xlsx --table empty",
        {"p.xlsx": lambda path: write_workbook(path, Sheet("people", SHEET), Sheet("empty", []))},
        {"--table": "people"},
    ),
    "hidden sheets": Case(
        "audit p.xlsx",
        {"p.xlsx": lambda path: write_workbook(path, Sheet("none", []), Sheet("people", SHEET, "hidden"))},
        {"--table": "people"},
    ),
    "classes explained": audits_of("p.csv", LEVELS, "--outcome", "class", "--explain", "race", "-a", "sex"),
    "nothing left to explain": audits_of("p.csv", PLAIN, "-a", "race", "--explain", "race", attribute="sex"),
    "ties explained": audits_of(
        "p.csv", SCORES, "--top-k", "7", "--set", "ties=random", "--explain", "race", ties="include"
    ),
    "verdicts of none": audits_of(
        "p.csv", PLAIN, "-a", "sex", "-a", "race", "--preset", "ll144", "-f", "verdicts"
    ),
    "a metric without a pass": audits_of("p.csv", PLAIN, "--fail-on", "fpr-z", metric="fpr"),
    "very many explained": audits_of(
        "p.csv",
        table(6000, **PEOPLE, **{f"a{k}": list(range(k)) for k in (71, 73, 79)}),
        *["-a", "a71", "-a", "a73", "-a", "a79", "--explain", "race", "--min-group", "5"],
        **{"attribute": "sex", "min-group": "5000"},
    ),
    "numbers for decisions": audits_of(
        "p.csv", table(**PEOPLE | {"score": [*map(str, range(30)), "x"]}), "--preset", "eeoc"
    ),
    "no outcomes": audits_of("p.csv", table(3000, **PEOPLE | {"score": "w{i}"}), "--favourable", "w1"),
    "words of two columns": audits_of(
        "p.csv",
        table(**PEOPLE | {"score": list("xyz"), "label": list("uvw")}),
        *["--favourable", "x", "--favourable", "y"],
    ),
    "dates in either order": audits_of(
        "p.csv",
        table(**PEOPLE, birth_date=["01/02/1974", "05/03/1981"]),
        *["--bins", "birth_date=30,60"],
        *["--as-of", "2024-12-31"],
    ),
    "a refusal that helps": audits_of(
        "p.csv", PLAIN.replace("score", "denied"), "--score", "denied", "--preset", "eeoc"
    ),
    "two ways to write decimals": audits_of(
        "p.csv",
        table(**PEOPLE | {"score": [0.734, 0.211, '"1,02"', 0.355, 0.642]}),
        *["--threshold", "0.5"],
    ),
    "the good value of a cut": audits_of("p.csv", SCORES, "--threshold", "0.5", "--favourable", "yes"),
    "a code of words": audits_of(
        "p.csv", PLAIN.replace(",1\n", ",good\n").replace(",0\n", ",bad\n"), "--favourable", "0"
    ),
    "two cuts in one": audits_of("p.csv", SCORES, "--threshold", "0.2,0.5"),
    "a cut by group": audits_of("p.csv", SCORES, "--threshold", "f=0.4", score="label"),
    "a share above a value without its margin": audits_of(
        "p.csv", SCORES, *["--outcome", "number", "--above", "0.5", "--metric", "share-above"]
    ),
    "a decimal comma in a cut": audits_of("p.csv", SCORES, "--threshold", "0,4"),
    "a field of objects": Case(
        "audit p.ndjson -a doc",
        {"p.ndjson": '{"score": 1, "doc": {"sex": "f"}}\n{"score": 0, "doc": {"sex": "m"}}\n' * 30},
    ),
    "a table of counts": audits_of("p.csv", COUNTED),
    "a slip among codes": audits_of(
        "p.csv", table(**PEOPLE | {"score": ["1", "0", "true", "0.0"] * 9 + ['"0,0x"']})
    ),
    "a mistyped label": audits_of("p.csv", PLAIN, "--label", "lable"),
    "two values of decisions": audits_of(
        "p.csv", PLAIN, "--favourable", "1", "--favourable", "0", score="race"
    ),
    "an unknown format": audits_of("p.csv", PLAIN, "-f", "jsn"),
    "a mistyped score": audits_of(
        "p.csv", PLAIN.replace("score", "scores_of_model"), "--score", "score_of_model"
    ),
    "tables of a database": Case("audit p.db", {"p.db": write_database}),
    "numbers alone": Case("audit a.json", {"a.json": AUDIT + "}", "p.csv": PLAIN}, {"audit": "p.csv"}),
    "a part of an audit": Case("audit a.json", {"a.json": AUDIT, "p.csv": PLAIN}, {"audit": "p.csv"}),
    "another version": Case(
        "audit a.json", {"a.json": AUDIT.replace("4", "1") + "}", "p.csv": PLAIN}, {"audit": "p.csv"}
    ),
    "damaged": Case("audit a.json", {"a.json": AUDIT + ', "report": 1}', "p.csv": PLAIN}, {"audit": "p.csv"}),
    "not all of an audit": Case(
        "audit a.json",
        {"a.json": '{"format": 4, "verdict": "pass", "headline": 1}', "p.csv": PLAIN},
        {"audit": "p.csv"},
    ),
    "an audit and options": Case("audit a.json --tau 0.9", {"a.json": AUDIT + "}"}),
    "a plan": Case("audit white=900,black=200 --plan"),
    "a PDF": Case("audit p.csv --pdf x.pdf", {"p.csv": PLAIN}),
    "an option of plans": audits_of("p.csv", PLAIN, "--sd", "5"),
    "sizes and columns": Case("power white=900,black=200 -a race -a sex"),
    "no rows to plan": Case("power"),
}


REPEATS = table(
    120, data="ddddddeeeeee", technique=["none", "rw", "di"] * 4, metric=["accuracy"] * 3 + ["gap"] * 3,
    repeat=[i // 12 for i in range(120)], value=[0.8, 0.1, 0.7, 0.9, 0.75, 0.2, 0.6],
)  # fmt: skip
LOANS = table(
    200, sex="fmm", age=list(range(20, 60)), job=["a", "b", "c"], approved=["yes", "no", "yes", "yes", "no"]
)
CARD = """name: loans
files: [loans.csv]
columns: {sex: nominal, job: nominal, approved: nominal}
other_columns: drop
label: {column: approved, favourable: "yes"}
protected: {sex: {deprived: f}}
"""
CONFIG = """name: mine
datasets: [./loans.yaml]
interventions: [none]
classifiers: [logistic-regression]
sample: {from: data}
repeats: 2
"""
FILES = {"loans.csv": LOANS, "loans.yaml": CARD, "mine.yaml": CONFIG}
LABEL = "--label approved --favourable yes --protected sex=f"


def study_of(command, text=REPEATS, **given):
    """Return the case of a comparison of somebody's repeats."""
    return Case(
        f"compare s.csv {command}", {"s.csv": text}, {f"--{key}": value for key, value in given.items()}
    )


def loans(command, **given):
    """Return the case of a command on a card and its data."""
    return Case(command, FILES, {f"--{key}": value for key, value in given.items()})


def config(line, command="plan mine.yaml", **files):
    """Return the case of a config with another line at its end."""
    return Case(command, {**FILES, "mine.yaml": CONFIG + line + "\n", **files})


OTHERS = {
    "nobody is named": loans(
        "init loans.csv --label approved --favourable yes --protected sex --card n.yaml --config m.yaml"
    ),
    "numbers without a side": loans(
        "init loans.csv --label approved --favourable yes --protected age --card n.yaml --config m.yaml"
    ),
    "no shard of none": loans("run mine.yaml --shard 0/0"),
    "an unlike paper": Case("compare a b --paper friedler2019 --tolerance 0.1"),
    "nothing said": loans(
        "init loans.csv --card n.yaml --config m.yaml", label="approved", favourable="yes", protected="sex=f"
    ),
    "no label": loans("init loans.csv", label="approved", favourable="yes", protected="sex=f"),
    "no good value": loans(
        "init loans.csv --label approved --protected sex --card new.yaml --config new-run.yaml"
    ),
    "a value of nothing": loans(
        "init loans.csv --favourable yes --card n.yaml --config m.yaml", label="approved"
    ),
    "a card is there": loans(f"init loans.csv {LABEL}", card="new.yaml", config="new-run.yaml"),
    "a file without a card": loans("data check loans.csv"),
    "a card is run": Case("plan loans.yaml", {**FILES, "loans-run.yaml": CONFIG}),
    "a page without an ending": loans("data show loans.yaml -o page.xyz", format="html"),
    "an unknown kind of page": loans("data show loans.yaml -o page.pdf", format="html"),
    "no such part of a page": Case("docs 'howto#cite-it'"),
    "a list of all": Case("list classifiers --long"),
    "a data set explained": Case("list datasets adult"),
    "a config explained": Case("list configs quickstart"),
    "a network that is none": Case("network sample adlt -n 5 -o x.csv"),
    "truth without a bias": Case("network sample dutch -n 3 -o - --truth", given={"--bias": "[]"}),
    "whom no bias concerns": Case("network show dutch --attribute sex", given={"--bias": "[]"}),
    "an arc the other way": Case("network query compas --of sex --beta 0.5 --attribute sex"),
    "an idle attribute": Case("network sample adult -n 5 -o x --attribute sex", given={"--beta": "0.5"}),
    "two attributes": Case(
        "network query adult --of sex --bias [] --attribute sex --attribute race",
        given={"--attribute": "sex"},
    ),
    "a table of no paper": Case("compare a b --table 3"),
    "a gate of no claims": study_of("--design fresh --fail-on claims", claims="published"),
    "settings of no config": loans("verify nowhere --set seed=1", config="mine.yaml"),
    "a half of a shard": loans("run mine.yaml --shard half", shard="0/1"),
    "numbers learned from": Case("network learn p.csv -o n.json", {"p.csv": PAY}),
    "code where none is wanted": Case("check ./mine.py:Tree --no-code"),
    "no network ships": Case("network show adult-train"),
    "folds without a number": study_of("--design folds"),
    "folds of no design": study_of("--design fresh --folds 3"),
    "an unknown design": study_of("--design split", design="fresh"),
    "splits without a share": study_of("--design splits"),
    "no plain model": study_of("--design fresh", REPEATS.replace("none", "base"), baseline="base"),
    "nothing to compare": study_of(
        "--design fresh --baseline none", table(data="d", technique=["none"], repeat="{i}", value=[0.1, 0.3])
    ),
    "no better side": study_of(
        "--design fresh", REPEATS.replace("accuracy", "xx").replace("gap", "yy"), better="xx=higher"
    ),
    "two columns of techniques": study_of("--design fresh", REPEATS.replace("metric", "method")),
    "no column of values": study_of("--design fresh", REPEATS.replace("value", "v1"), columns="value=v1"),
    "values in two ways": study_of("--design fresh --values value --columns value=value"),
    "two columns of repeats": study_of(
        "--design fresh",
        table(120, technique=["none", "rw"], fold="aabbccddee", seed="{tens}", value=[0.1, 0.2, 0.4]),
    ),
    "two values of a cell": study_of(
        "--design fresh",
        table(60, technique=["none", "rw"], repeat="1", run="{i}", value=[0.1, 0.2, 0.4, 0.7]),
        columns="repeat=run",
    ),
    "a share of no splits": study_of("--design fresh --train-share 0.7"),
    "cells of others": study_of(
        "--design fresh --baseline none",
        table(data="de", technique=["none", "rw"], repeat="{i}", value=[0.1, 0.3]),
    ),
    "two columns of one role": study_of(
        "--design fresh", table(method=["none", "rw"], params_method="xy", repeat="{tens}", value=[0.1, 0.3])
    ),
    "claims with a baseline": study_of("--design fresh --claims published --baseline rw"),
    "an experiment simulated": loans("simulate mine.yaml"),
    "a simulation planned": Case("plan s.yaml", {"s.yaml": "name: x\ntruth: {}\n"}),
    "numbers measured": Case(
        "plan mine.yaml",
        {**FILES, "mine.yaml": CONFIG + "metrics: [mean]\n"},
        {"audit": "loans.csv", "FILE": "loans.csv"},
    ),
    "half a setting": loans("plan mine.yaml --set repeats"),
    "a setting as an option": loans("plan mine.yaml --repeat=3"),
    "no results": Case("report nowhere"),
    "no results to verify": Case("verify nowhere"),
    "no results to reuse": loans("run mine.yaml --reuse ."),
    "one run": Case("compare nowhere", given={"--paper": "cardoso2019"}),
    "data that are not there": Case(
        "data check loans.yaml", {"loans.yaml": CARD, "data/loans.csv": LOANS}, {"--data-dir": "data"}
    ),
    "data of several cards that are not there": Case(
        "plan mine.yaml",
        {
            "mine.yaml": CONFIG.replace("./loans.yaml", "./loans.yaml, ./later.yaml"),
            "loans.yaml": CARD,
            "later.yaml": CARD.replace("loans", "later"),
            "data/loans.csv": LOANS,
            "data/later.csv": LOANS,
        },
        {"--data-dir": "data"},
    ),
    "a share of a run": loans("run mine.yaml --shard 4/4"),
}


def fill(folder: Path, case: Case) -> None:
    for name, content in case.files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if callable(content):
            content(path)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture(scope="session")
def shelf(tmp_path_factory, worker_id) -> Path:
    """The folder in which all workers note which lines made the messages of their cases."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "reached"
    folder.mkdir(exist_ok=True)
    return folder


def run_case(say, case: Case, note: Path) -> Said:
    """Run a case, and note which lines made its messages."""
    with reached() as lines:
        said = say(*shlex.split(case.command))
    whole = note.with_suffix(f".{os.getpid()}")
    whole.write_text(json.dumps(sorted(lines)))
    whole.replace(note)
    return said


def paste_all(say, case: Case, note: Path) -> None:
    """Run a case, and each paste of each message, a few steps deep."""
    first = shlex.split(case.command)
    said = run_case(say, case, note)
    assert said.code == 2, said
    follow(say, first, said, case.given, ())


def follow(say, command, said, given, seen) -> None:
    """Paste what was said; of a further message the first paste alone."""
    assert "Traceback" not in said.err
    assert read_messages(said.err), said.err
    found = list(pastes(command, said.err, given))
    assert found, f"nothing that can be pasted: {said.err}"
    for paste in found[: 1 if seen else None]:
        if paste.command[:2] in NOT_RUN:
            continue
        again = say(*paste.command)
        told = f"{shlex.join(command)}\n{said.err}pasted: {shlex.join(paste.command)}\n{again.err}"
        assert again.code in (0, 1, 2), told
        if again.code != 2:
            continue
        wrong = {message.wrong for message in read_messages(again.err)}
        assert wrong, told
        assert not wrong.intersection(paste.mended, *seen), told
        assert len(seen) < MOST_STEPS, told
        if list(pastes(paste.command, again.err, given)):
            follow(say, paste.command, again, given, (*seen, paste.mended))


@pytest.mark.gate
@pytest.mark.parametrize("name", AUDITS)
def test_fix_lines_of_audits(say, tmp_path, shelf, name):
    fill(tmp_path, AUDITS[name])
    paste_all(say, AUDITS[name], shelf / name)


@pytest.mark.gate
@pytest.mark.parametrize("name", OTHERS)
def test_fix_lines_of_other_commands(say, tmp_path, shelf, name):
    fill(tmp_path, OTHERS[name])
    paste_all(say, OTHERS[name], shelf / name)


FRAMES = "of a frame or of keywords, in Python"
SERVES = "its paste serves, or waits for a network"
INSTALLED = "of a package that is installed here"
OF_RUNS = "of a folder of results, which a run writes: tests of runs"
NEVER_REACHED = {
    "api/network.py": FRAMES,
    "api/run.py": FRAMES,
    "audit/scan/open.py _open_table": FRAMES,
    "audit/scan/input_errors.py __init__": "of more rows than the first, which are looked at",
    "audit/scan/readings.py read_outcomes": "of two columns, one of words",
    "classifiers/shapes.py": FRAMES,
    "audit/parts/subgroups.py _too_many_error": "of a search that takes minutes",
    "audit/scan/input_errors.py reading_error": "of a computer without room",
    "audit/scan/source.py not_utf8": "a text that is UTF-8 after all: it changed meanwhile",
    "audit/scan/scan.py count_cells": "of thousands of columns",
    "audit/show/tables.py": INSTALLED,
    "cli/run_command.py _address": SERVES,
    "cli/web.py": SERVES,
    "cli/studies.py compare_table": "says how many files to name",
    "cli/data.py verify": SERVES,
    "data/locate.py": SERVES,
    "document/html.py write_pdf": INSTALLED,
    "experiment/cluster.py": SERVES,
    "experiment/journal/folder.py": OF_RUNS,
    "experiment/running/verify.py": OF_RUNS,
    "base/strict_yaml.py override_values": "how a list is written, without its items",
    "cli/network.py draw": "of a network file, which learning writes: tests of networks",
    "cli/network.py _check_card": "of a network file, which learning writes: tests of networks",
    "experiment/config/metrics.py find_metric": "says where to read of code",
    "studies/judge.py judge": "of techniques without a cell in common",
    "studies/table.py read_study": "of millions of values",
    "network/pomegranate.py": INSTALLED,
    "papers/compare.py": OF_RUNS,
    "report/compare_runs.py": OF_RUNS,
    "report/write.py": OF_RUNS,
    "studies/from_run.py": OF_RUNS,
    "web/desk.py": "of a form that no page sends",
    "web/server.py": SERVES,
    "web/worker.py": SERVES,
}
"""Places of fix lines that no case comes to, by file, or file and function, and why."""


@pytest.mark.gate
def test_there_is_a_case_for_every_fix_line(say, tmp_path, shelf):
    assert AUDITS.keys().isdisjoint(OTHERS)
    lines = set()
    for name, case in (AUDITS | OTHERS).items():
        if not (shelf / name).exists():  # where this test alone is run, or comes before a case
            folder = tmp_path / name
            folder.mkdir()
            fill(folder, case)
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(folder)
                run_case(say, case, shelf / name)
        lines.update(map(tuple, json.loads((shelf / name).read_text())))
    seen = at(lines)
    argued = {
        place for place in places() if {place.file, f"{place.file} {place.function}"} & NEVER_REACHED.keys()
    }
    missing = [place for place in places() if place not in seen | argued]
    assert not missing, "\n".join(map(str, missing))
    files = {place.file for place in places()}
    assert {name.split()[0] for name in NEVER_REACHED} <= files, "these make no fix line any more"
