"""The commands at work: plan, list, data, network, report; how they look in a pipe."""

import csv
import io
import json
import re
import subprocess
import sys

import pytest
import yaml
from conftest import Finished, bare_data, environment, executed, fairbench, plain, two_lines, write_config

from fairbench_cli import __version__
from fairbench_cli.data.card import find_card, known_cards, read_card, shipped_cards
from fairbench_cli.experiment.config.read import find_config, read_dataset_names


def test_version():
    done = executed("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"fairbench {__version__}\n", "")


def test_plan_runs_nothing_and_writes_nothing(say, finished: Finished, tmp_path):
    done = say("plan", finished.config)
    assert (done.code, done.err) == (0, "")
    assert "6 cells × 2 repeats = 12: 0 done, 12 to do" in done.out
    assert "β: 0, 1" in done.out
    assert list(tmp_path.iterdir()) == []


def test_plan_shows_what_is_done(say, finished: Finished):
    before = sorted(path.stat().st_mtime_ns for path in finished.folder.rglob("*"))
    done = say("plan", finished.config, "-o", finished.folder, "--set", "repeats=5")
    assert "6 cells × 5 repeats = 30: 12 done, 18 to do" in done.out
    assert re.search(r"massaging +tree +4 +6\n", done.out)
    assert re.search(r"about \d+ s of CPU time left", done.out)
    assert sorted(path.stat().st_mtime_ns for path in finished.folder.rglob("*")) == before


def test_plan_says_which_bias_it_is(say, tmp_path):
    config = tmp_path / "w.yaml"
    config.write_text(
        "name: w\nrepeats: 1\ndatasets: [compas, dutch: {bias: [[label], [omission: {column: age}], []]}]\n"
        "test: network\nsample: {from: shipped, beta: [0, 0.5], size: 200}\ninterventions: [none]\n"
    )
    done = say("plan", config)
    text = " ".join(done.out.split())
    about = "race is a parent of the outcome, 200 rows a training set; β is prior shift (the outcome has"
    advice = "`from: network` and `outcome_sink: true` for label bias"
    assert f"compas: network BIC -60517.177, {about} children; {advice})" in text
    assert "β: 0, 0.5 " in text
    assert re.search(r"dutch +label +0, 0.5 +at 0.5: 50 % of the deprived", done.out)
    assert re.search(r"dutch +omission age +1 +age is not recorded\n", done.out)
    assert re.search(r"dutch +no bias *\n", done.out)
    assert text.count("is a parent of the outcome") == 1


def test_of_real_rows_no_bias_is_named(say, tmp_path):
    bare_data(tmp_path, "toy")
    config = "name: x\nrepeats: 1\ndatasets: [./toy.yaml]\nsample: {from: data}\ninterventions: [none]\n"
    (tmp_path / "x.yaml").write_text(config)
    done = say("plan", tmp_path / "x.yaml")
    assert "toy: 150 of 300 rows a training set, the rest a test set" in done.out
    assert "β" not in done.out


def test_only_and_set_narrow_the_plan(say, finished: Finished):
    done = say("plan", finished.config, "--only", "intervention=none,beta=1", "--set", "repeats=4")
    assert "1 cells × 4 repeats = 4: 0 done, 4 to do" in done.out
    assert "massaging" not in done.out


def test_run_does_only_what_only_says(finished: Finished, tmp_path, say):
    done = say("run", finished.config, "-o", tmp_path / "out", "--only", "intervention=none", "-j", "1")
    assert done.code == 0
    assert "4 repeats: 0 done, 4 to do" in done.err
    assert "β is " not in done.err  # the answer says it, last
    table = (tmp_path / "out/tables/discrimination-accuracy.csv").read_text().splitlines()
    assert [line.split(",")[-1] == "…" for line in table[1:]] == [False] * 4 + [True] * 4


@pytest.mark.gate
@pytest.mark.parametrize(
    "kind", [None, "configs", "datasets", "interventions", "classifiers", "mechanisms", "metrics"]
)
def test_list(say, kind):
    done = say("list", *filter(None, [kind]), "--all")
    assert (done.code, done.err) == (0, "")
    words = {"configs": "quickstart", "datasets": "compas", "interventions": "massaging"}
    words |= {"classifiers": "hist-gradient-boosting", "mechanisms": "flip, to=unfavourable"}
    words["metrics"] = "elift"
    for name, word in words.items():
        assert (word in done.out) == (kind in (None, name))


def test_the_default_list_is_a_screen_of_names(say):
    done = say("list")
    assert (done.code, done.err) == (0, "")
    assert len(done.out.splitlines()) <= 60
    assert "\nmetrics (25 of " in done.out
    for kind in ("configs", "datasets", "interventions", "classifiers", "mechanisms"):
        assert f"\n{kind} (" in f"\n{done.out}"
    assert "adult (+7), baf" in " ".join(done.out.split())
    for left_out in ("auditor", "-legacy", "adult-train", "elift-as-printed"):
        assert left_out not in done.out


def test_a_variant_stands_below_its_data_set_with_the_papers_that_use_it(say):
    listed = say("list", "datasets").out
    names = re.findall(r"^( *[a-z][a-z0-9-]+)  ", listed, re.MULTILINE)
    assert names.index("compas") < names.index("  compas-all") < names.index("credit")
    assert sum(name.startswith("  ") for name in names) == 18
    described = " ".join(listed.partition("  adult-friedler")[2].split())
    assert described.startswith("Census income (Adult), complete rows of adult.data")
    assert "(sex, race; used by friedler2019) adult-gains" in described


def test_what_serves_to_reproduce_a_paper_is_listed_when_asked_for(say):
    assert "auditor" not in say("list", "interventions").out
    assert "auditor" in say("list", "interventions", "--all").out
    assert say("list", "interventions", "auditor").out.startswith("auditor")


@pytest.mark.parametrize(
    "arguments", [["list"], ["network", "show", "adult"], ["network", "show", "adult", "--node", "sex"]]
)
def test_pages_in_a_pipe(arguments):
    done = fairbench(*arguments)
    assert done.returncode == 0
    plain(done.stdout)


@pytest.mark.parametrize(
    "betas",
    [
        [0, 0.5, 1],
        *(
            pytest.param(betas, marks=pytest.mark.nightly)
            for betas in ([0, 0.25, 0.5, 0.75, 1], [i / 10 for i in range(11)])
        ),
    ],
    ids=len,
)
def test_tables_in_a_pipe(tmp_path, betas, say):
    massaging = {"massaging": {"ranker": "logistic", "include_protected": True}}
    config = write_config(
        tmp_path / "q.yaml",
        sample={"from": "shipped", "beta": betas, "size": 300},
        interventions=["none", "preferential-sampling", massaging],
        repeats=1,
    )
    done = say("run", config, "-o", tmp_path / "out", "--only", "beta=0", "--jobs", "1")
    assert done.code == 0, done.err
    done = say("run", config, "-o", tmp_path / "out", "--jobs", "1", "--all")
    plain(done.out)
    for name in ("discrimination-accuracy", "over-underestimation"):
        table = (tmp_path / f"out/tables/{name}.csv").read_text()
        for row in list(csv.reader(io.StringIO(table)))[1:]:
            for cell in row[3:]:
                assert f" {cell}" in done.out  # whole, not folded or cut
    grown = say("report", tmp_path / "out", "--all")
    assert grown.out == done.out
    assert done.out.count("Means of") == 1
    brief = say("report", tmp_path / "out")
    assert done.out.startswith(brief.out)
    assert len([*brief.out.splitlines(), *brief.err.splitlines()]) <= 20
    one = say("report", tmp_path / "out", "--table", "pareto")
    assert one.out.startswith("pareto\n")
    assert say("report", tmp_path / "out", "--table", "paretto").err.endswith('did you mean "pareto"?\n')
    assert "needs a sweep" in say("report", tmp_path / "out", "--table", "frontier").err


def test_counts_of_few_repeats_fit_too(tmp_path, say):
    config = write_config(
        tmp_path / "q.yaml",
        sample={"from": "shipped", "beta": [0, 0.25, 0.5, 0.75, 1], "size": 300},
        repeats=1,
    )
    assert say("run", config, "-o", tmp_path / "out", "--jobs", "1", "--quiet").code == 0
    plan = json.loads((tmp_path / "out/plan.json").read_text())
    del plan["sha256"]
    (tmp_path / "out/plan.json").write_text(json.dumps(plan | {"config": plan["config"] | {"repeats": 30}}))
    done = say("report", tmp_path / "out", "--all")
    plain(done.out)
    assert done.out.count("(1/30)") >= 50
    assert "(1/30)" in (tmp_path / "out/tables/discrimination-accuracy.md").read_text()


def test_a_pipe_that_is_closed_early_is_silent():
    command = [sys.executable, "-m", "fairbench_cli", "network", "sample", "adult", "-n", "20000", "-o", "-"]
    for arguments in (command, [*command[:3], "list"]):
        process = subprocess.Popen(
            arguments, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        process.stderr.close()
        assert process.wait(60) == 0


def test_learn_a_bare_csv_and_look_at_it(say, tmp_path):
    bare_data(tmp_path, "a")
    done = say("network", "learn", "a.csv", "-o", "new/folder/a.json")
    assert (done.code, done.err) == (0, "")
    network = json.loads((tmp_path / "new/folder/a.json").read_text())
    assert network["arcs"] == [["s", "y"]] or network["arcs"] == [["y", "s"]]
    assert network["score"] == network["bic"] < 0
    assert f"1 arcs, {5} parameters" in done.out
    assert "y" in say("network", "show", "new/folder/a.json").out
    shown = say("network", "show", "new/folder/a.json", "--node", "x").out
    assert "P(x | -)" in shown
    assert sum(float(p) for p in re.findall(r"\d\.\d{6}", shown)) == pytest.approx(1, abs=1e-5)
    forced = say("network", "learn", "a.csv", "-o", "b.json", "--require-arc", "x>y", "--forbid-arc", "y>s")
    assert forced.code == 0
    arcs = json.loads((tmp_path / "b.json").read_text())["arcs"]
    assert ["x", "y"] in arcs
    assert ["y", "s"] not in arcs


def test_sample_to_a_file_and_to_standard_output(say, tmp_path):
    assert say("network", "sample", "compas", "-n", "50", "-o", "sub/rows.csv", "--seed", "3").code == 0
    text = (tmp_path / "sub/rows.csv").read_text()
    assert len(text.splitlines()) == 51
    assert say("network", "sample", "compas", "-n", "50", "-o", "-", "--seed", "3").out == text
    assert say("network", "sample", "compas", "-n", "50", "-o", "-", "--seed", "4").out != text


def test_sample_at_full_bias_has_no_favoured_outcome_for_the_deprived(say):
    def positive(*options: str) -> list[bool]:
        text = say("network", "sample", "compas", "-n", "400", "-o", "-", *options).out
        rows = csv.DictReader(io.StringIO(text))
        return [row["two_year_recid"] == "0" for row in rows if row["race"] == "African-American"]

    assert any(positive())
    most = positive("--beta", "1")
    assert most
    assert not any(most)
    assert not any(positive("--beta", "1", "--shift", "both", "--card", "compas", "--attribute", "race"))


def test_mistakes_with_networks(say, tmp_path):
    bare_data(tmp_path, "a")
    assert say("network", "learn", "a.csv", "-o", "a.json").code == 0
    (tmp_path / "junk.json").write_bytes(b"\xff\x00")
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "file").touch()
    before = sorted(path.name for path in tmp_path.iterdir())
    for arguments, word in (
        (["show", "adlut"], 'did you mean "adult"'),
        (["show", "none.json"], "no such file"),
        (["show", "a.csv"], "not JSON"),
        (["show", "junk.json"], "not UTF-8"),
        (["show", "other.json"], "no network file"),
        (["show", "."], ""),
        (["show", "adult", "--node", "sxe"], 'did you mean "sex"'),
        (["learn", "a.json", "-o", "x"], "unknown dataset"),
        (["learn", "none.csv", "-o", "x"], "no such file"),
        (["learn", "a.csv", "-o", "file/x"], "cannot write"),
        (["learn", "a.csv", "-o", "."], "cannot write"),
        (["learn", "a.csv", "-o", "x", "--require-arc", "x-y"], "FROM>TO"),
        (["learn", "a.csv", "-o", "x", "--require-arc", "x>z"], '"z"'),
        (["learn", "a.csv", "-o", "x", "--outcome-sink", "z"], '"z"'),
        (["learn", "a.csv", "-o", "x", "--iss", "2"], "iss"),
        (["sample", "a.json", "-n", "5", "-o", "x", "--beta", "0.5"], "--card"),
        (["sample", "a.json", "-n", "5", "-o", "x", "--beta", "0.5", "--card", "adult"], "--card"),
        (["sample", "adult", "-n", "5", "-o", "x", "--beta", "nan"], "beta"),
        (["sample", "adult", "-n", "5", "-o", "x", "--attribute", "sex"], "--beta"),
        (["sample", "adult", "-n", "5", "-o", "x", "--beta", "1", "--attribute", "age"], "age"),
        (["sample", "compas", "-n", "5", "-o", "x", "--beta", "1", "--card", "none"], "none"),
        (["sample", "adult", "-n", "5", "-o", "file/x"], "cannot write"),
    ):
        two_lines(say("network", *arguments), word)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_card_of_ones_own_gives_beta_its_groups(say, tmp_path):
    card = bare_data(tmp_path, "a")
    assert say("network", "learn", card, "-o", "a.json", "--require-arc", "s>y").code == 0
    done = say("network", "sample", "a.json", "-n", "100", "-o", "-", "--beta", "1", "--card", card)
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert {row["y"] for row in rows if row["s"] == "f"} == {"0"}


FETCH = re.compile(r"`fairbench data fetch ([^`]+)`")


@pytest.fixture
def without_data(tmp_path, monkeypatch):
    """Leave no data file to be found."""
    monkeypatch.delenv("FAIRBENCH_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.gate
@pytest.mark.parametrize("name", ["cardoso2019", "cardoso2019-zafar", "friedler2019", "zliobaite2015"])
def test_a_run_without_any_data_file_is_one_error_that_fetches_them_all(say, without_data, name):
    said = say("plan", name)
    two_lines(said, "`fairbench run quickstart` needs none")
    files_of = {
        card: {file.name for file in read_card(find_card(card)).every_file}
        for card in read_dataset_names(find_config(name))
    }
    needed = set().union(*files_of.values())
    problem, fix = said.err.splitlines()
    assert {file: problem.count(f" {file}") for file in needed} == dict.fromkeys(needed, 1)
    fetched = FETCH.search(fix)[1].split()
    assert set().union(*(files_of[card] for card in fetched)) == needed
    assert sum(len(files_of[card]) for card in fetched) == len(needed)  # none is fetched twice


@pytest.mark.gate
def test_what_a_run_without_data_files_offers_in_their_place_works(say, without_data, tmp_path):
    datasets = ["compas", {"adult": {"as": "mine"}}, "dutch"]
    own = write_config(tmp_path / "run.yaml", datasets=datasets, sample={"from": "network"}, test=None)
    said = say("plan", own)
    two_lines(said, "fetch compas adult dutch`")
    *entries, _, test = re.findall(r"`([^`]+)`", said.err)[1:]
    offered = {"datasets": list(map(yaml.safe_load, entries)), **yaml.safe_load(test)}
    own = write_config(tmp_path / "run.yaml", **{"sample": {"from": "network"}, **offered})
    assert say("plan", own).code == 0


@pytest.mark.gate
def test_data_commands_without_files(say, tmp_path, without_data):
    done = say("data", "list")
    assert done.code == 0
    assert "not here" in done.out
    two_lines(say("data", "verify", "compas"), "compas-scores-two-years.csv", "fetch compas")
    for done in (say("data", "verify", "compas"), say("data", "check", "compas")):
        assert "shipped" not in done.err  # a run alone can do without
    own = write_config(tmp_path / "run.yaml", datasets=["compas"], sample={"from": "data"}, test="holdout")
    two_lines(say("plan", own), "or run without it: `sample: {from: shipped}`")
    everything = say("data", "verify")
    assert everything.code == 2
    assert everything.err.startswith("error: files of 38 data sets are not here\n  fix: fetch them, or ")
    assert [line.split(":")[0] for line in everything.out.splitlines()] == list(known_cards())
    shown = say("data", "show", "compas")
    assert shown.code == 0
    assert "compas-scores-two-years.csv is not here" in shown.out
    two_lines(say("data", "show", "compass"), 'did you mean "compas"')
    (tmp_path / "compas-scores-two-years.csv").write_text("other\n1\n")
    two_lines(say("data", "verify", "compas", "--data-dir", tmp_path), "sha256")
    assert "wrong file" in say("data", "list", "--data-dir", tmp_path).out


def test_data_commands_with_files(say, data_folder):
    done = say("data", "verify", "adult", "compas", "--data-dir", data_folder)
    assert (done.code, done.err) == (0, "")
    assert done.out.count("sha256 as on the card") == 3
    assert "not here" not in "".join(
        line for line in say("data", "list").out.splitlines() if "compas " in line
    )
    shown = say("data", "show", "compas")
    assert shown.code == 0
    assert "6,150 rows" in shown.out
    assert re.search(r"African-American +deprived +0\.486 \[0\.470, 0\.502\] +3,696", shown.out)


def test_a_wide_cpt_is_shown_in_full_one_level_a_row(say):
    """At 80 columns nothing of a table is cut: seven levels do not fit side by side."""
    shown = say("network", "show", "adult", "--node", "marital_status").out
    network = json.loads((shipped_cards() / "adult.network.json").read_text())
    node = network["cpts"]["marital_status"]
    assert node["parents"] == ["age"]
    rows = [line.split() for line in shown.splitlines()[3:] if line.strip()]
    assert [float(row[-1]) for row in rows] == [round(p, 6) for line in node["rows"] for p in line]
    assert max(map(len, shown.splitlines())) <= 80


def test_what_a_bare_table_leaves_to_a_network_is_said(say, tmp_path):
    rows = [
        (
            "a,b,const,many",
            *("x,y,c,l1" if i % 2 else f"{'NA' if i % 5 else ''},z,c,l{i}" for i in range(150)),
        )
    ]
    (tmp_path / "d.csv").write_text("\n".join(rows[0]) + "\n")
    said = " ".join(say("network", "learn", "d.csv", "-o", "d.json").out.split())
    assert 'note: a ("NA"), a ("missing"): missing cells are a level' in said
    assert "note: const: one value in all rows" in said
    assert "note: many (76): so many levels" in said
    (tmp_path / "plain.csv").write_text("a,b\n" + "x,y\nz,y\nz,w\n" * 20)
    assert "note" not in say("network", "learn", "plain.csv", "-o", "d.json").out


@pytest.mark.parametrize("number", ["0.37{}", "{}0", "-{}e3"])
def test_numbers_of_a_bare_table_are_refused_with_the_way_to_a_card(say, tmp_path, number):
    lines = [f"{number.format(i % 70)},{'fm'[i % 2]},{'yn'[i % 3 // 2]}" for i in range(140)]
    (tmp_path / "my d.csv").write_text("pay,sex,ok\n" + "\n".join(lines) + "\n,f,y\n")
    done = say("network", "learn", "my d.csv", "-o", "d.json")
    assert done.code == 2
    assert "fairbench init 'my d.csv'" in done.err
    assert done.err.endswith("learn from 'my d.yaml'\n")
    assert say("init", "my d.csv", "--label", "ok", "--favourable", "y", "--protected", "sex=f").code == 0
    done = say("network", "learn", "my d.yaml", "-o", "d.json")
    assert done.code == 0, done.err
