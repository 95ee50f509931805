"""A finished audit, read from its JSON: the same bytes as the audit itself, in every medium."""

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairbench_cli as fb
from fairbench_cli.audit.show.formats import FORMATS
from fairbench_cli.cli.app import run

Options = dict[str, Any]

DECISIONS: Options = {"score": "score", "label": "y", "attributes": ["sex", "race"], "draws": 50}
PAY: Options = {"score": "pay", "outcome": "number", "draws": 50}
OF_SEX: Options = {**DECISIONS, "attributes": ["sex"]}
RANKS: Options = {"score": "grade", "order": "low,mid,high"}
KINDS: dict[str, Options] = {
    "decisions": DECISIONS,
    "with a margin and a gate": {**DECISIONS, "margin": 0.05, "fail": True, "warn_on": ["race:fnr"]},
    "by columns' names": {},
    "weighted": {**DECISIONS, "weight": "w"},
    "in clusters": {**DECISIONS, "cluster": "school"},
    "metrics by name": {**DECISIONS, "metric": ["fpr", "accuracy-p", "disparate-impact"]},
    "eeoc": {**DECISIONS, "preset": "eeoc"},
    "ll144": {**DECISIONS, "preset": "ll144"},
    "aequitas": {**DECISIONS, "preset": "aequitas"},
    "curves and moved": {**OF_SEX, "score": "risk", "threshold": 0.5, "curves": True, "mitigate": True},
    "searched": {**DECISIONS, "scan": True},
    "explained": {**DECISIONS, "explain": ["school"], "attributes": ["sex"]},
    "two scores": {**DECISIONS, "score": ["score", "other"], "attributes": ["sex"], "fail_on": ["worse"]},
    "top of a list": {**DECISIONS, "score": "risk", "top_k": [50, 100], "intersect": ["sex,race"]},
    "slices in an order": {**DECISIONS, "slice": "month", "attributes": ["sex"]},
    "slices without one": {**DECISIONS, "slice": "grade", "attributes": ["sex"]},
    "slices in an order, of numbers": {**PAY, "slice": "month", "attributes": ["sex"]},
    "numbers": {**PAY, "attributes": ["sex", "race"], "label": "risk"},
    "numbers and an attribute that is one": {**PAY, "attributes": ["age"]},
    "numbers explained": {**PAY, "explain": ["school"], "attributes": ["sex"]},
    "two numbers": {"score": ["pay", "risk"], "outcome": "number", "attributes": ["sex"]},
    "classes": {"score": "grade", "outcome": "class", "attributes": ["race"]},
    "ranks": {**RANKS, "attributes": ["race"]},
}


AGAIN = ("with a margin and a gate", "by columns' names", "eeoc", "numbers", "ranks", "two scores")
"""Kinds that are audited again by the options that a JSON gives."""


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of 900 people with outcomes of each kind."""
    rng = np.random.default_rng(5)
    n = 900
    sex = rng.choice(["f", "m"], n)
    risk = rng.beta(2, 2, n).round(3)
    frame = pd.DataFrame(
        {
            "score": (rng.random(n) < np.where(sex == "f", 0.3, 0.5)).astype(int),
            "other": (rng.random(n) < 0.4).astype(int),
            "risk": risk,
            "y": (rng.random(n) < risk).astype(int),
            "pay": (2000 + 500 * rng.standard_normal(n) + 200 * (sex == "m")).round(2),
            "grade": rng.choice(["low", "mid", "high"], n, p=[0.5, 0.3, 0.2]),
            "sex": sex,
            "race": rng.choice(["a", "b", "<i>c</i>"], n, p=[0.6, 0.35, 0.05]),
            "age": rng.integers(18, 80, n),
            "w": rng.choice([0.5, 1, 2], n),
            "school": rng.choice([f"s{i}" for i in range(12)], n),
            "month": rng.choice([f"2026-{month:02}" for month in range(1, 7)], n),
        }
    )
    path = tmp_path_factory.mktemp("people") / "two words.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.gate
@pytest.mark.parametrize("kind", KINDS)
def test_an_audit_from_its_json_writes_the_same_bytes(people: Path, tmp_path: Path, kind: str):
    audited = fb.audit(people, **KINDS[kind])
    (tmp_path / "audit.json").write_text(audited.to("finished"))
    finished = fb.read_audit(tmp_path / "audit.json")
    for name in FORMATS:
        if name == "verdicts" and audited.report.without_verdict:
            continue
        assert finished.to(name) == audited.to(name), name
    assert finished._repr_html_() == audited._repr_html_()
    assert str(people.parent) not in finished.to_json()  # no folder of the machine
    if kind in AGAIN:
        (tmp_path / "audit.yaml").write_text(finished.config_yaml or "{}")
        assert fb.audit(people, config=tmp_path / "audit.yaml").to_json() == audited.to_json()
        words = shlex.split(finished.command)
        assert words[:3] == ["fairbench", "audit", people.name]
    if not audited.report.without_verdict:
        assert finished.gate(fail_on=["undecided"]) == audited.gate(fail_on=["undecided"])
    folders = (tmp_path / "one", tmp_path / "two")
    for result, folder in zip((audited, finished), folders, strict=True):
        result.save(f"{folder}/")
    names = sorted(path.name for path in folders[0].iterdir())
    assert names == sorted(path.name for path in folders[1].iterdir())
    for name in names:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes(), name


def test_a_baseline_is_kept(people: Path, tmp_path: Path):
    fb.audit(people, **DECISIONS).save(tmp_path / "ci.json")
    audited = fb.audit(people, **DECISIONS, fail=True, baseline=str(tmp_path / "ci.json"))
    (tmp_path / "audit.json").write_text(audited.to("finished"))
    finished = fb.read_audit(tmp_path / "audit.json")
    assert finished.to_html() == audited.to_html()
    assert finished.gate() == audited.gate()
    assert finished.report.baseline == audited.report.baseline


def test_the_command_line_shows_it(people: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    options = ["--score", "score", "--label", "y", "-a", "sex"]
    json_file = tmp_path / "audit.json"
    run(["audit", str(people), *options, "--format", "finished", "--fail"])
    json_file.write_text(capsys.readouterr().out)
    code = run(["audit", str(people), *options, "--fail"])
    shown = capsys.readouterr().out
    assert run(["audit", str(json_file), "-o", str(tmp_path / "page.html")]) == code
    assert capsys.readouterr().out == shown
    assert (tmp_path / "page.html").read_text() == fb.read_audit(json_file).to_html()
    for more in (["--tau", "0.9"], ["--set", "min-group=5"], ["--repeat", "1"], ["--config", str(people)]):
        assert run(["audit", str(json_file), *more]) == 2
        assert "a finished audit takes no" in capsys.readouterr().err or more[0] == "--config"


def mistake_of(path: Path) -> str:
    """Return the two lines on a file that is no finished audit."""
    with pytest.raises(fb.UserError) as caught:
        fb.read_audit(path)
    lines = str(caught.value).splitlines()
    assert len(lines) == 2, lines
    assert lines[0].startswith(str(path))
    assert "Traceback" not in str(caught.value)
    return str(caught.value)


def test_what_is_no_finished_audit_is_said_in_two_lines(people: Path, tmp_path: Path):
    audited = fb.audit(people, **DECISIONS)
    text = audited.to("finished")
    content = json.loads(text)
    path = tmp_path / "audit.json"

    def write(**changed: Any) -> Path:
        path.write_text(json.dumps({**content, **changed}))
        return path

    path.write_text(text[:5000])
    assert "only the beginning" in mistake_of(path)
    path.write_text("")
    assert "no JSON" in mistake_of(path)
    for other in ("[]", "{}", "3", '{"format": 3}', audited.to("ci")):
        path.write_text(other)
        assert "not the JSON of an audit" in mistake_of(path)
    path.write_text("[" * 100_000)
    assert "no JSON" in mistake_of(path)
    assert "another version" in mistake_of(write(format=2))
    assert "another version" in mistake_of(write(format="3"))
    del content["report"]
    assert "--format finished" in mistake_of(write())
    with pytest.raises(fb.UserError, match="no such file"):
        fb.read_audit(tmp_path / "none.json")


@pytest.mark.gate
def test_what_was_changed_by_hand_is_refused(people: Path, tmp_path: Path):
    content = json.loads(fb.audit(people, **{**DECISIONS, "attributes": ["sex"]}).to("finished"))
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(content, sort_keys=True))
    assert fb.read_audit(path).verdict == content["verdict"]  # laid out in another way
    for place in places_of(content):
        changed = json.loads(json.dumps(content))
        inner = changed
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = "<script>"
        path.write_text(json.dumps(changed))
        mistake_of(path)


def places_of(content: Any) -> list[tuple[Any, ...]]:
    """Return the way to each value, of a list to the first alone."""
    places: list[tuple[Any, ...]] = []
    items: Any = []
    if isinstance(content, dict):
        items = content.items()
    elif isinstance(content, list):
        items = list(enumerate(content))[:1]
    for key, value in items:
        places += [(key,), *((key, *place) for place in places_of(value))]
    return places
