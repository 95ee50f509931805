"""Claims: the published numbers of three studies, and what a verdict means."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import two_lines
from studies.made_up import study

import fairbench_cli as fb
from fairbench_cli.papers import registry
from fairbench_cli.studies import claims
from fairbench_cli.studies.claims import read_claims

HEAD = "study,claim,where,baseline,stand_in,better,quantity,relation,published,rule,source\n"

# By the rule of the study, by the corrected test after Holm: of three studies' files, by another program.
EXPECTED = {
    ("TOSEM 2023", "Mitigation improves fairness"): (3752, 0.4608, 0.0872),
    ("TOSEM 2023", "Mitigation makes performance worse"): (10318, 0.5299, 0.1878),
    ("TOSEM 2023", "Mitigation makes fairness worse"): (3752, 0.3028, 0.0610),
    ("ICSE 2024", "The attribute that is not looked at becomes less fair"): (1320, 0.5750, 0.0833),
    ("ICSE 2024", "The attribute that is not looked at becomes fairer"): (1320, 0.4159, 0.0265),
}


@pytest.fixture
def repeats(data_folder):
    path = data_folder.parent / "reference" / "rejudge" / "results.parquet"
    if not path.is_file():
        pytest.skip("no repeats of the studies: python benchmarks/fetch_studies.py makes the file")
    return path


@pytest.mark.nightly
def test_comparisons_are_those_of_another_program(repeats):
    expected = pd.read_csv(Path(__file__).parents[1] / "reference" / "rejudge" / "comparisons.csv")
    keys = ["study", "data", "attribute", "classifier", "technique", "metric"]
    for study_name, rows in expected.groupby("study"):
        only = [f"study={study_name}"]
        result = fb.compare(repeats, "splits", train_share=0.7, only=only, mann_whitney=True)
        ours = result.to_pandas().set_index(keys).loc[pd.MultiIndex.from_frame(rows[keys])]
        np.testing.assert_array_equal(ours["n"], rows["n"])
        for column in ("mean", "baseline_mean", "p", "p_mann_whitney"):
            np.testing.assert_allclose(ours[column], rows[column], rtol=1e-8)
        is_gap = rows["metric"].str.contains("spd|aod|eod|erd").to_numpy()
        changes = np.where(is_gap, rows["change"], -rows["change"])  # of distances to what is best
        np.testing.assert_allclose(ours["distance_difference"], changes, rtol=1e-8, atol=1e-12)


@pytest.mark.nightly
def test_three_studies_give_their_abstracts_and_what_survives(repeats):
    checked = fb.check_claims(repeats, "published", "splits", train_share=0.7)
    rows = checked.to_pandas().set_index(["study", "claim"])
    for key, (n, by_rule, shown) in EXPECTED.items():
        row = rows.loc[key]
        assert (row["n"], round(row["by_rule"], 4), round(row["low"], 4)) == (n, by_rule, shown)
    changes = rows[rows["quantity"] == "change"].dropna(subset=["published"])
    changes = changes[changes["relation"] == "about"]
    assert len(changes) == 4
    np.testing.assert_allclose(changes["by_rule"], changes["published"], atol=6e-5)
    assert set(rows["verdict"]) == {"holds", "not decided", "no number"}


def test_claims_of_papers_have_the_numbers_that_the_papers_print():
    columns = {"Cardoso et al. 2019": "cardoso2019", "Žliobaitė 2015": "zliobaite2015"}
    columns["Friedler et al. 2019"] = "friedler2019"
    sentences = read_claims(Path(claims.__file__).with_name("claims.csv"))
    of_papers = [sentence for sentence in sentences.values() if sentence.study in columns]
    assert len(of_papers) == 29
    for sentence in of_papers:
        keys = {condition.partition("=")[0] for condition in sentence.where}
        assert {"study", "data", "attribute", "classifier", "metric", "technique"} <= keys  # one comparison
        printed = pd.read_csv(Path(registry.__file__).with_name(f"{columns[sentence.study]}.csv"))["value"]
        before, after = map(float, re.findall(r"-?\.\d{3}", sentence.claim.partition("(")[2]))
        for number in (before, after):
            assert (abs(printed - number) < 6e-4).any()
        if "discrimination" in sentence.claim:
            before, after = abs(before), abs(after)
        assert sentence.relation == ("at most" if after < before else "at least")


@pytest.mark.gate
def test_claims_on_a_run_are_judged_by_its_design(tmp_path, say):
    """A small run of the paper's config: what massaging does is shown; nothing is said of other studies."""
    options = ["--set", "repeats=4", "--set", "sweep=null", "--set", "figures=[]", "--set", "controls=false"]
    only = ["--only", "intervention=none,intervention=massaging", "--only", "classifier=naive-bayes"]
    assert say("run", "zliobaite2015", "-o", "run", "-q", *options, *only).code == 0
    done = say("compare", "run", "--claims", "published")
    assert "Massaging lowers δ of naive Bayes (.513 to .297)" in done.out
    assert "TOSEM" not in done.out
    checked = fb.check_claims(fb.load_results(tmp_path / "run"), "published").to_pandas().set_index("claim")
    assert set(checked["study"]) == {"Žliobaitė 2015"}
    assert len(checked) == 3
    row = checked.loc["Massaging lowers δ of naive Bayes (.513 to .297)"]
    assert (row["n"], row["verdict"]) == (1, "holds")
    frame = fb.load_results(tmp_path / "run").results
    values = frame[(frame["metric"] == "normalised-discrimination") & (frame["include_protected"] == False)]  # noqa: E712
    values = values[values["classifier"] == "naive-bayes"].pivot_table(
        index="repeat", columns="intervention", values="value"
    )
    differences = values["massaging"] - values["none"]
    assert row["by_rule"] == pytest.approx(differences.mean())
    error = np.sqrt(differences.var(ddof=1) * (1 / 4 + 1))  # halves
    assert row["high"] - row["low"] == pytest.approx(2 * 3.182446305284263 * error)
    two_lines(say("compare", "run", "--claims", "published", "--design", "fresh"), "a run says itself")
    two_lines(say("compare", "run", "run", "--claims", "published"), "one table, or the folder of one run")
    study().to_csv(tmp_path / "s.csv", index=False)
    other = say("compare", "s.csv", "--design", "fresh", "--claims", "published")
    two_lines(other, "no published claim is about what is in it")


def check(tmp_path, line: str) -> pd.Series:
    path = tmp_path / "claims.csv"
    path.write_text(HEAD + line + "\n")
    return fb.check_claims(study(), path, "splits", train_share=0.7).to_pandas().iloc[0]


def test_a_share_is_between_what_is_shown_and_what_is_not_excluded(tmp_path):
    row = check(tmp_path, "s,c,metric=spd technique=rw,,,,better,about,1,means,x")
    assert (row["n"], row["by_rule"], row["low"], row["high"], row["verdict"]) == (8, 1, 1, 1, "holds")
    row = check(tmp_path, "s,c,metric=spd technique=lfr,,,,better,about,0.5,means,x")
    assert row["verdict"] == "does not hold"
    assert row["high"] < 0.45
    row = check(tmp_path, "s,c,metric=spd technique=eo,,,,better,at least,0.3,means,x")
    assert (row["low"], row["high"], row["verdict"]) == (0, 1, "not decided")
    row = check(tmp_path, "s,c,metric=spd,,,,worse,at most,0.8,holm,x")
    assert row["verdict"] == "holds"
    assert row["by_rule"] == row["low"]


def test_what_is_the_same_within_the_margin_may_be_better(tmp_path):
    table = study()
    rng = np.random.default_rng(3)
    is_spd = table["metric"] == "spd"
    plain = table[is_spd & (table["technique"] == "default")]
    nearly = plain.assign(technique="rw", value=plain["value"] * rng.normal(0.99, 1e-3, len(plain)))
    path = tmp_path / "claims.csv"
    path.write_text(HEAD + "s,c,metric=spd,,,,better,at least,0.9,means,x\n")
    both = pd.concat([plain, nearly])
    row = fb.check_claims(both, path, "splits", train_share=0.7).to_pandas().iloc[0]
    assert (row["by_rule"], row["high"], row["verdict"]) == (1, 1, "holds")
    path.write_text(HEAD + "s,c,metric=spd,,,,same,at least,0.9,means,x\n")
    row = fb.check_claims(both, path, "splits", train_share=0.7).to_pandas().iloc[0]
    assert (row["high"], row["verdict"]) == (0, "does not hold")  # all are shown to be better


def test_a_mean_change_is_over_the_same_cells_in_every_repeat(tmp_path):
    """Where a technique has no value on the data set with the larger gap, its mean looked smaller."""
    rng = np.random.default_rng(0)
    rows = []
    for data, gap in (("a", 0.1), ("b", 0.5)):
        for repeat in range(20):
            value = gap + rng.normal(0, 0.005)
            rows.append((data, "default", repeat, "spd", value))
            lost = data == "b" and repeat < 12
            rows.append((data, "rw", repeat, "spd", np.nan if lost else value + 0.01 + rng.normal(0, 0.002)))
    table = pd.DataFrame(rows, columns=["data", "technique", "repeat", "metric", "value"])
    path = tmp_path / "claims.csv"
    path.write_text(HEAD + "s,c,metric=spd,,,,change,at most,0,means,x\n")
    for design in ("fresh", "unpaired"):
        row = fb.check_claims(table, path, design).to_pandas().iloc[0]
        assert row["by_rule"] == pytest.approx(0.01, abs=0.003)
        assert row["verdict"] == "does not hold"


def test_a_change_has_the_interval_of_its_mean(tmp_path):
    row = check(tmp_path, "s,c,metric=accuracy technique=rw,,,,change,about,-0.01,means,x")
    frame = study()
    frame = frame[frame["metric"] == "accuracy"].pivot_table(
        index="repeat", columns=["technique", "data", "classifier"], values="value"
    )
    series = (frame["rw"] - frame["default"]).mean(axis=1)
    assert row["by_rule"] == pytest.approx(series.mean())
    error = np.sqrt(series.var(ddof=1) * (1 / 12 + 0.3 / 0.7))
    assert row["high"] - row["low"] == pytest.approx(2 * 2.200985160082949 * error)
    assert row["verdict"] == "holds"
    far = check(tmp_path, "s,c,metric=accuracy technique=rw,,,,change,about,-0.2,means,x")
    assert far["verdict"] == "does not hold"
    path = tmp_path / "claims.csv"
    path.write_text(HEAD + "s,c,metric=accuracy technique=rw,,,,change,about,-0.2,means,x\n")
    untested = fb.check_claims(study(repeats=1), path, "splits", train_share=0.7).to_pandas().iloc[0]
    assert untested["verdict"] == "not decided"
    gap = check(tmp_path, "s,c,metric=spd technique=rw,,,,change,at most,0,means,x")
    assert gap["by_rule"] == pytest.approx(-0.03, abs=0.005)
    assert gap["verdict"] == "holds"


@pytest.mark.gate
def test_claims_that_cannot_be_read(tmp_path, say):
    study().to_csv(tmp_path / "s.csv", index=False)
    base = ["compare", "s.csv", "--design", "fresh", "--claims", "c.csv"]
    for line, *words in (
        ("s,c,metric=spd,,,,bettr,about,1,means,x", "c.csv:2", "better"),
        ("s,c,metric=spd,,,,better,about,many,means,x", '"many" is no number'),
        ("s,c,metric=spd,,,,better,nearly,1,means,x", "c.csv:2"),
        ("s,c,metric spd,,,,better,about,1,means,x", "c.csv:2", 'cannot read the filter "metric"'),
        ("s,c,'metric=spd,,,,better,about,1,means,x", "c.csv:2", "close the quotes"),
        ("s,c,metrc=spd,,,,better,about,1,means,x", "c.csv:2", 'unknown key "metrc"'),
        ("s,c,metric=spd,nobody,,,better,about,1,means,x", "c.csv:2", 'no technique is called "nobody"'),
        ("s,c,metric=spd,,classifier=x,,better,about,1,means,x", "c.csv:2", 'no cell has classifier "x"'),
        ("s,c,metric=spd,,,nothing=higher,better,about,1,means,x", "c.csv:2", '"nothing"'),
        ("s,c,metric=spd,,,,better,about,46,means,x", "c.csv:2", "a share is from 0 to 1"),
        ("s,c,metric=spd,,,,change,about,inf,means,x", "c.csv:2", "finite"),
        ("s,c,metric=spd,,,,better,at least,,means,x", "c.csv:2", "neither"),
        ("s,c,metric=spd,,,,better,,0.5,means,x", "c.csv:2", "neither"),
        ("s,c,metric=spd,,,,change,about,0.1,holm,x", "c.csv:2", "write means"),
        ("s,c,metric=spd,,,,same,about,0.1,mann-whitney,x", "c.csv:2", "write test or holm"),
        ("s,c,metric=spd", "c.csv:2", "3 cells below 11 columns"),
        ('s,"c,metric=spd,,,,better,about,1,means,x', "c.csv", "close the quotes"),
    ):
        (tmp_path / "c.csv").write_text(HEAD + line + "\n")
        two_lines(say(*base), *words)
    (tmp_path / "c.csv").write_text(HEAD)
    two_lines(say(*base), "there is no claim in it")
    (tmp_path / "c.csv").write_text("study,claim\ns,c\n")
    assert say(*base).code == 2
    (tmp_path / "c.csv").write_text(HEAD + "s,c,metric=mcc,,,,better,about,1,means,x\n")
    done = say(*base)
    assert done.code == 0
    assert "not in this table" in done.out
    (tmp_path / "c.csv").write_text(HEAD + "s,c,metric=spd technique=lfr,,,,better,at least,0.9,means,x\n")
    assert say(*base, "--fail-on", "claims").code == 1
    assert say(*base, "--fail-on", "claims", "-o", "out").code == 1
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"claims.html", "claims.md", "claims.csv"}
