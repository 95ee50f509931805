"""``fairbench audit`` from the command line, a config file and Python."""

import json
import re
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pandas as pd
import pytest
from conftest import fairbench, two_lines

from fairbench_cli.audit import audit
from fairbench_cli.audit.config import AuditConfig, Decision
from fairbench_cli.audit.options import read_config
from fairbench_cli.base.errors import ArgumentError, UserError

ROOT = Path(__file__).parents[2]

# group, label, score, how often (times three, for each sex): fpr 2/10 against 4/10 for race
CELLS = [
    *[("a", 0, 1, 20), ("a", 0, 0, 80), ("a", 1, 1, 60), ("a", 1, 0, 40)],
    *[("b", 0, 1, 40), ("b", 0, 0, 60), ("b", 1, 1, 60), ("b", 1, 0, 40)],
]


@pytest.fixture
def preds(tmp_path):
    lines = [
        f"{score},{label},{race},{sex}"
        for race, label, score, n in CELLS
        for _ in range(3 * n)
        for sex in "fm"
    ]
    path = tmp_path / "preds.csv"
    path.write_text("\n".join(["score,label_value,race,sex", *lines]) + "\n")
    return path


def test_a_first_audit(preds, say):
    said = say("audit", "preds.csv", "--ref", "race=a", "--tau", "0.8")
    assert said.code == 0
    assert said.err == ""
    text = " ".join(said.out.split())
    assert text.startswith(
        "✗ Fails clearly in race: b are selected in 50.0 % of cases, a in 40.0 %; fails clearly: wrongly "
        "selected, 40.0 % and 20.0 %. Clearly: the true gap, too, is shown to be too large. Whether being "
        "selected helps is not known: --decision assistive, or punitive, says it. Passes: sex. Allowed: 0.8 "
        "to 1.25 times the reference's rate. preds.csv, 2,400 rows: the largest gaps "
    )
    assert len(said.out.splitlines()) < 20
    assert "240/600" not in said.out
    everything = say("audit", "preds.csv", "--ref", "race=a", "--tau", "0.8", "--all").out
    assert (
        "✗ race: b are wrongly selected in 40.0 % of cases, a in 20.0 % (false positive rate: of those who "
        "should not be selected): 2.00 times as often (1.66 to 2.42), more than chance would do, and more "
        "than the 1.25 allowed: fails clearly. 1 more comparison fails. ✓ sex: "
    ) in " ".join(everything.split())
    assert "race: fails clearly, against a" in everything
    assert "240/600" in everything


@pytest.mark.gate
def test_the_gate_says_why(preds, say):
    assert "Gate" not in say("audit", "preds.csv").out
    passing = say("audit", "preds.csv", "--fail-on", "sex:fpr", "--fail-on", "sex:for").out
    assert "Gate: does not stop: sex:fpr, sex:for do not fail." in passing  # though the audit fails
    said = say("audit", "preds.csv", "--fail-on", "race:fpr")
    assert (said.code, said.err) == (1, "")
    assert "Gate: stops, exit code 1: race:fpr fails." in said.out
    said = say("audit", "preds.csv", "--fail", "--format", "json")
    assert (said.code, json.loads(said.out)["gate"]["stops"]) == (1, True)
    assert said.err == "Gate: stops, exit code 1: race fails.\n"
    Path("few.csv").write_text("score,g\n1,a\n0,b\n0,b\n")
    said = say("audit", "few.csv", "--fail")
    assert (said.code, "Gate: does not stop (g is not decided" in said.out) == (0, True)
    Path("few.csv").write_text("score,g\n1,a\n0,a\n")
    said = say("audit", "few.csv", "-a", "g", "--fail")
    assert "Gate: stops, exit code 1: nothing to compare in g (no two groups)." in said.out


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ((), 0),
        (("--fail",), 1),
        (("--fail", "--tau", "0.5"), 0),
        (("--fail", "-m", "fnr"), 0),
        (("--fail-on", "fpr"), 1),
        (("--fail-on", "sex:fpr"), 0),
        (("--fail-on", "sex:fpr", "--fail-on", "race:type-i-parity"), 1),
        (("--fail", "--tau", "0.8", "--tau", "fpr=0.5", "-m", "fpr"), 0),
        (("--fail", "--decision", "assistive"), 0),
        (("--fail", "--decision", "punitive"), 1),
        (("--fail", "--ref-method", "rest", "-m", "for"), 0),
        (("--fail-on", "undecided", "-m", "for"), 1),
        (("--fail-on", "undecided", "-m", "fnr"), 0),
    ],
)
def test_the_exit_code_is_the_gate(preds, say, flags, code):
    assert say("audit", "preds.csv", "--draws", "50", *flags).code == code


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--tau", "fprr=0.9"), '--tau: error: tau.default: no metric is called "fprr"'),
        (("--ref", "race"), '--ref: error: ref: "race" is not NAME=VALUE'),
        (("--ref", "race=c"), 'has no group "c"'),
        (("--ref", "race=a", "--ref-method", "rest"), "contradict each other"),
        (("--rule", "bare"), '--rule: error: rule has the unknown value "bare"'),
        (("--decision", "harmful"), "use one of: assistive, punitive"),
        (("--ties", "random"), "--ties: error: ties has no effect"),
        (("-m", "frp"), 'did you mean "fpr"?'),
        (("--fail-on", "rce:fpr"), 'did you mean "race"?'),
        (("--to-db", "nonsense"), "cannot write to the database: Could not parse"),
        pytest.param(
            ("-o", "preds.csv/page.pdf"), "cannot write to preds.csv", marks=pytest.mark.gate
        ),  # needs WeasyPrint
        (("--config", "none.yaml"), "no such file: none.yaml"),
    ],
)
def test_mistakes_are_said_in_two_lines(preds, say, flags, message):
    said = say("audit", "preds.csv", "--draws", "50", *flags)
    assert said.code == 2
    assert said.out == ""
    assert message in said.err.replace("tau.fprr", "tau.default")
    assert "Traceback" not in said.err


def test_all_mistakes_come_at_once(preds, say):
    Path("audit.yaml").write_text("ref: {race: {a: 1}}\ntau: [0.8, {fpr: 9}]\nmeasures: [fpr]\ndraws: many\n")
    said = say("audit", "preds.csv", "--config", "audit.yaml", "--min-group", "0")
    assert said.code == 2
    assert [line.split(": error")[0] for line in said.err.splitlines()[::2]] == [
        *("audit.yaml:1", "audit.yaml:2", "audit.yaml:3", "audit.yaml:4", "--min-group"),
    ]


def test_flags_beat_the_file(tmp_path):
    path = tmp_path / "audit.yaml"
    path.write_text(
        "attribute: race\nref: {race: a, sex: m}\ntau: [0.8, {fpr: 0.9}]\nintersect: [race, sex]\n"
        "top-k: [100, 200]\nties: exclude\nmin-group: 5\nmetric: [fpr]\nfail: true\n"
    )
    alone = read_config({}, path)
    assert alone == AuditConfig(
        attribute=("race",),
        top_k=(100, 200),
        ties="exclude",
        intersect=(("race", "sex"),),
        ref={"race": "a", "sex": "m"},
        ref_method="given",
        tau={"fpr": 0.9},
        min_group=5,
        metric=("fpr",),
        fail=True,
    )
    assert alone.decisions == (Decision("top-k", 100, "exclude"), Decision("top-k", 200, "exclude"))
    assert (alone.metrics, alone.fail) == (("fpr",), True)
    over = read_config({"ref": {"race": "b"}, "tau": 0.7, "metric": ["fnr"], "top-k": 10}, path)
    assert over.references == {"race": "b", "sex": "m"}
    assert (over.tau, over.taus, over.measures) == (0.7, {"fpr": 0.9}, ("fnr",))
    assert over.decisions == (Decision("top-k", 10, "exclude"),)
    assert read_config({"ref-method": "rest"}, path).references == {}


@pytest.mark.gate
def test_every_format_is_printed(preds, say):
    starts = {
        "csv": "model,decision,attribute,group,",
        "json": "{\n",
        "markdown": "# Audit of preds.csv",
        "html": "<!DOCTYPE html>",
    }
    for name, start in starts.items():
        said = say("audit", "preds.csv", "--draws", "50", "--format", name)
        assert said.code == 0
        assert said.out.lstrip("\n").startswith(start)
        assert said.out == say("audit", "preds.csv", "--draws", "50", "--format", name).out


def test_everything_is_written_and_is_the_same_again(preds, say, pdf):
    for name in ("one", "two"):
        flags = ("-o", name, "-o", f"{name}.pdf", "--to-db", f"sqlite:///{name}.db")
        assert say("audit", "preds.csv", "--draws", "50", *flags).code == 0
    for path in Path("one").iterdir():
        assert path.read_bytes() == (Path("two") / path.name).read_bytes()
    assert Path("one.pdf").read_bytes() == Path("two.pdf").read_bytes()
    metrics = json.loads(Path("one/audit.json").read_text())["metrics"]
    assert metrics == ["selection-rate", "fpr", "fnr", "fdr", "for"]


@pytest.mark.gate
def test_a_file_is_written_by_its_ending_and_several_may_be_asked_for(preds, say):
    files = ("page.html", "b.md", "c.csv", "audit.csv", "d.json", "ci.json", "e.xml", "f.sarif", "new/g.html")
    outputs = chain.from_iterable(("-o", file) for file in (*files, "folder/", "v1.2"))
    said = say("audit", "preds.csv", "--draws", "50", *outputs)
    assert said.code == 0
    assert [line for line in said.err.splitlines() if line.endswith(": written")] == [
        f"{Path(file)}: written" for file in files
    ]
    folder = Path("folder")
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        path.name for path in Path("v1.2").iterdir()
    )
    for file, same in {
        "page.html": "audit.html", "new/g.html": "audit.html", "b.md": "audit.md", "d.json": "audit.json",
        "c.csv": "disparities.csv", "audit.csv": "audit.csv", "ci.json": "ci.json",
    }.items():  # fmt: skip
        assert Path(file).read_bytes() == (folder / same).read_bytes()
    for file, name in {"e.xml": "junit", "f.sarif": "sarif"}.items():
        printed = say("audit", "preds.csv", "--draws", "50", "--format", name).out
        assert Path(file).read_text(encoding="utf-8").strip() == printed.strip()


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        (["x.docx"], "no format is known for x.docx"),
        (["a.html", "./a.html"], "a.html is named twice"),
        (["preds.csv"], "preds.csv would overwrite the input preds.csv"),
        (["scores.csv"], "this audit has no table scores.csv"),
    ],
)
def test_an_output_that_cannot_be_is_said_before_it_is_written(preds, say, outputs, words):
    before = sorted(Path().iterdir())
    flags = chain.from_iterable(("-o", output) for output in outputs)
    two_lines(say("audit", "preds.csv", "--draws", "50", *flags), "--output", words)
    assert sorted(Path().iterdir()) == before


def test_a_table_of_some_audits_is_written_by_its_name(say, tmp_path):
    rows = [f"{i % 97 / 97},{i % 2},{'ab'[i % 3 % 2]}" for i in range(600)]
    (tmp_path / "p.csv").write_text("\n".join(["score,label_value,race", *rows]))
    said = say("audit", "p.csv", "--threshold", "0.5", "--curves", "-o", "scores.csv", "-o", "out")
    assert said.code == 0, said.err
    assert Path("scores.csv").read_bytes() == Path("out/scores.csv").read_bytes()


def test_a_plan_is_written_by_its_ending_too(say, tmp_path):
    sizes = ("power", "white=1000,black=200", "--rate", "0.3")
    said = say(*sizes, "-o", "p.html", "-o", "p.csv", "-o", "out")
    assert said.code == 0
    for file, same in (("p.html", "plan.html"), ("p.csv", "plan-shown.csv")):
        assert Path(file).read_bytes() == Path("out", same).read_bytes()
    two_lines(say(*sizes, "-o", "p.xml"), "no format is known for p.xml")


def test_aequitas_files_are_written(preds, say):
    assert say("audit", "preds.csv", "--draws", "50", "--preset", "aequitas", "-o", "out").code == 0
    names = {path.name for path in Path("out").iterdir()}
    assert {"group.csv", "disparity.csv", "fairness_groups.csv", "overall.json"} <= names
    assert "audit.html" not in names


def test_the_library_in_three_lines(preds):
    result = audit(preds, ref={"race": "a"}, tau=0.8, draws=50)
    assert result.verdict == "fail"
    found = [(row.attribute, row.verdict) for row in result.report.verdicts]
    assert found == [("race", "fail"), ("sex", "pass")]
    assert repr(result).startswith("<Fails clearly in race: b are selected")
    assert result.to_html().startswith("<!DOCTYPE html>")
    with pytest.raises(UserError, match="min-group must be at least 1"):
        audit(preds, min_group=0)


def test_standard_input(preds):
    command = [sys.executable, "-m", "fairbench_cli", "audit", "-", "--draws", "50", "--ref", "race=a"]
    with preds.open() as stream:
        done = subprocess.run(command, stdin=stream, capture_output=True, text=True, check=True)
    assert "standard input, 2,400 rows" in done.stdout


def write_files_of_the_page(preds):
    """Write what the page's examples read, next to `preds`: other names, scores in between, months."""
    folder, (head, *rows) = preds.parent, preds.read_text().splitlines()
    applications = "\n".join([head.replace("score,label_value", "hired,kept"), *rows, "1,1,Unknown,Unknown"])
    between = [f"0.{3 * int(row[0]) + 2 + i % 5}" for i, row in enumerate(rows)]
    scores = [f"{x}{row[1:]},{x},{y}" for x, y, row in zip(between, between[::-1], rows, strict=True)]
    months = [f"{row},2025-0{1 + i % 2}" for i, row in enumerate(rows)]
    files = {
        "applications.csv": applications,
        "scores.csv": "\n".join([f"{head},old,new", *scores]),
        "months.csv": "\n".join([f"{head},month", *months]),
        "ages.csv": "\n".join(
            [f"{head},age", *(f"{row},{'<25' if i % 3 else '>45'}" for i, row in enumerate(rows))]
        ),
        **dict.fromkeys(("old.csv", "new.csv", "people.csv"), preds.read_text()),
        "Salaries.csv": (ROOT / "tests/reference/numbers/salaries.csv").read_text(),
    }
    for name, text in files.items():
        (folder / name).write_text(text + "\n")


@pytest.mark.gate
def test_the_commands_of_the_page_run(preds, tmp_path, say, pdf):
    page = (ROOT / "docs/audit.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\$ fairbench (audit .*)$", page, re.MULTILINE)
    assert len(lines) >= 5
    write_files_of_the_page(preds)
    (tmp_path / "audit.yaml").write_text(re.findall(r"```yaml\n(ref:.*?)```", page, re.DOTALL)[0])
    stands = {
        "--curves": "scores.csv",
        "--score old": "scores.csv",
        "--slice": "months.csv",
        "age": "ages.csv",
    }
    for line in lines:
        if "results/" in line:  # which has a test of its own
            continue
        file = next((name for flag, name in stands.items() if flag in line), "preds.csv")
        done = say(*line.partition(" #")[0].replace("'", "").replace("preds.csv", file).split())
        assert done.code in (0, 1), (line, done.err)
        assert (done.code == 1) <= ("--fail" in line or "--config" in line), line


def test_every_option_is_in_the_page():
    page = (ROOT / "docs/audit.md").read_text(encoding="utf-8")
    shown = fairbench("audit", "--help", COLUMNS="200").stdout
    options = set(re.findall(r"--[a-z][a-z-]+", shown)) - {"--help"}
    assert options
    assert not {option for option in options if f"`{option}" not in page}


# -- from Python -----------------------------------------------------------------------------------


def frame(**columns):
    return pd.DataFrame({"score": [1, 0, 1, 0], "sex": ["f", "f", "m", "m"], **columns})


def test_problems_name_keywords_in_python_and_leave_names_alone():
    with pytest.raises(UserError) as found:
        audit(frame(**{"a--bold": list("abab")}), score="no--such")
    assert 'no column "no--such"' in str(found.value)
    assert "use one of: a--bold, score, sex (name it with score=" in str(found.value)
    with pytest.raises(UserError) as found:
        audit(frame().assign(score=[0.1, 0.5, 0.9, 0.3]))
    assert "threshold=0.5, top_k=100 or top_share=0.1" in str(found.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metric": ["fpr"], "metrics": ["tpr"]}, "metric= and metrics= are one option"),
        ({"attributes": ["sex"], "attribute": ["sex"]}, "attribute= and attributes= are one option"),
        ({"thresholds": [0.5], "threshold": [0.4]}, "threshold= and thresholds= are one option"),
        ({"y_true": [1, 0, 1, 0]}, "y_true= is given, and so are"),
    ],
)
def test_what_is_given_twice_is_refused(options, words):
    with pytest.raises(ArgumentError, match=words):
        audit(frame(), **options)
