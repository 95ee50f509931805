"""Comparisons of a table of repeats: the tests of scipy and statsmodels, and the verdicts of a run."""

import itertools

import numpy as np
import pandas as pd
import pytest
from conftest import two_lines
from scipy import stats
from statsmodels.stats.multitest import multipletests
from studies.made_up import study

import fairbench_cli as fb
from fairbench_cli.studies.from_run import design_of_run, table_of_run
from fairbench_cli.studies.judge import judge, make_design

RATIO = 0.3 / 0.7


def by_hand(frame: pd.DataFrame, ratio: float) -> pd.DataFrame:
    """Each technique against default, one at a time."""
    rows = []
    cells = frame.groupby(["data", "classifier", "technique", "metric"], sort=False)
    series = {key: part.set_index("repeat")["value"].sort_index() for key, part in cells}
    for (data, classifier, technique, metric), values in series.items():
        if technique == "default":
            continue
        baseline = series[data, classifier, "default", metric]
        ideal = 0.0 if metric == "spd" else 1.0
        ours, theirs = abs(values - ideal), abs(baseline - ideal)
        difference = (ours - theirs).to_numpy()
        n = len(difference)
        error = np.sqrt(difference.var(ddof=1) * (1 / n + ratio))
        p = 2 * stats.t.sf(abs(difference.mean()) / error, n - 1)
        ranks = stats.mannwhitneyu(ours, theirs).pvalue
        within = stats.t.sf((0.01 - abs(difference.mean())) / error, n - 1)
        correlation = np.corrcoef(values, baseline)[0, 1]
        rows.append((data, classifier, technique, metric, difference.mean(), p, ranks, within, correlation))
    names = ["data", "classifier", "technique", "metric", "mean", "p", "ranks", "within", "correlation"]
    return pd.DataFrame(rows, columns=names)


@pytest.mark.gate
@pytest.mark.parametrize("seed", range(2))
def test_numbers_are_those_of_scipy_and_statsmodels(seed):
    frame = study(seed=seed)
    keys = ["data", "classifier", "technique", "metric"]
    result = fb.compare(frame, "splits", train_share=0.7, mann_whitney=True)
    ours = result.to_pandas().set_index(keys)
    expected = by_hand(frame, RATIO).set_index(keys).loc[ours.index]
    np.testing.assert_allclose(ours["distance_difference"], expected["mean"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours["p"], expected["p"], rtol=1e-9)
    np.testing.assert_allclose(ours["p_mann_whitney"], expected["ranks"], rtol=1e-9)
    np.testing.assert_allclose(ours["correlation"], expected["correlation"], atol=1e-9)
    holm = multipletests(expected["p"], method="holm")[1]
    np.testing.assert_allclose(ours["p_holm"], holm, rtol=1e-9)
    holm_within = multipletests(expected["within"], method="holm")[1]
    for verdict, p, p_same, mean in zip(ours["holm"], holm, holm_within, expected["mean"], strict=True):
        word = "same" if p_same < 0.05 else "not decided"
        if p < 0.05:
            word = "better" if mean < 0 else "worse"
        assert verdict == word
    assert set(ours["holm"]) >= {"better", "worse", "not decided"}
    counts = result.comparisons.count("means")
    assert counts["better"] == (expected["mean"] < 0).sum()
    assert sum(counts.values()) == len(expected)


def test_the_order_of_rows_and_the_names_of_columns_do_not_matter():
    frame = study()
    usual = fb.compare(frame, "splits", train_share=0.7).to_pandas()
    other = frame.sample(frac=1, random_state=3).rename(columns={"technique": "x", "repeat": "y"})
    again = fb.compare(
        other, "splits", train_share=0.7, columns={"technique": "x", "repeat": "y"}
    ).to_pandas()
    keys = ["data", "classifier", "technique", "metric"]
    pd.testing.assert_frame_equal(again.set_index(keys).sort_index(), usual.set_index(keys).sort_index())


@pytest.mark.gate
def test_designs_differ_in_what_repeats_share():
    frame = study()
    p = {
        "fresh": fb.compare(frame, "fresh").to_pandas()["p"],
        "seeds": fb.compare(frame, "seeds").to_pandas()["p"],
        "splits": fb.compare(frame, "splits", train_share=0.7).to_pandas()["p"],
        "folds": fb.compare(frame, "folds", folds=10).to_pandas()["p"],
        "unpaired": fb.compare(frame, "unpaired").to_pandas()["p"],
    }
    assert (p["fresh"] == p["seeds"]).all()  # the same test, which says less
    assert (p["fresh"] < p["folds"]).all()
    assert (p["folds"] < p["splits"]).all()
    assert (p["unpaired"] > p["fresh"]).mean() > 0.9  # what repeats share is noise to it
    assert "other people" in make_design("splits", 0.7).meaning
    assert "Nothing can be said of other rows" in make_design("seeds").meaning
    shuffled = frame.assign(
        repeat=frame.groupby(["data", "classifier", "technique", "metric"])["repeat"].transform(
            lambda repeats: np.random.default_rng(len(repeats)).permutation(repeats.to_numpy())
        )
    )
    facts = fb.compare(frame, "fresh").document.facts
    assert "go together, median correlation 0." in facts[0]
    alone = shuffled.assign(value=np.random.default_rng(1).permutation(shuffled["value"].to_numpy()))
    assert "do not go together" in fb.compare(alone, "fresh").document.facts[0]


def test_what_stands_in_is_compared_with_every_plain_model():
    frame = study()
    frame = frame[(frame["technique"] != "eo") | (frame["classifier"] == "lr")]
    alike = fb.compare(frame, "fresh").to_pandas()
    lent = fb.compare(frame, "fresh", stand_in={"classifier": "lr"}).to_pandas()
    more = lent[lent["baseline_classifier"] != lent["classifier"]]
    assert len(lent) == len(alike) + len(more)
    assert set(more["technique"]) == {"eo"}
    assert set(zip(more["classifier"], more["baseline_classifier"], strict=True)) == {("lr", "rf")}
    baseline = frame[(frame["technique"] == "default") & (frame["classifier"] == "rf")]
    ours = frame[frame["technique"] == "eo"]
    for data, metric in itertools.product(set(frame["data"]), ("spd", "accuracy")):
        row = more[(more["data"] == data) & (more["metric"] == metric)]
        means = [
            part[(part["data"] == data) & (part["metric"] == metric)]["value"].mean()
            for part in (ours, baseline)
        ]
        assert row["difference"].item() == pytest.approx(means[0] - means[1])


def test_a_side_is_turned_and_an_unknown_metric_left_out():
    frame = study()
    frame["metric"] = frame["metric"].replace("accuracy", "srp")
    result = fb.compare(frame, "fresh")
    assert set(result.to_pandas()["metric"]) == {"spd"}
    assert any("srp=higher" in note for note in result.document.notes)
    higher = fb.compare(frame, "fresh", better={"srp": "higher"}).to_pandas()
    lower = fb.compare(frame, "fresh", better={"srp": "lower"}).to_pandas()
    turned = {"better": "worse", "worse": "better", "not decided": "not decided"}
    is_srp = higher["metric"] == "srp"
    assert higher["holm"][is_srp].map(turned).tolist() == lower["holm"][is_srp].tolist()
    assert {"better", "worse"} <= set(higher["holm"][is_srp])


def runs(source: str, data_folder, **keys):
    config = {
        "name": "law",
        "seed": 3,
        "repeats": 10,
        "datasets": ["compas"],
        "sample": {"from": "data", "train_fraction": 0.7}
        if source == "data"
        else {"from": "shipped", "size": 400, "beta": [0.5]},
        "test": "holdout" if source == "data" else "network",
        "interventions": ["none", "massaging", "reweighing", "uniform-sampling"],
        "classifiers": ["naive-bayes"],
        "metrics": ["discrimination", "accuracy", "tpr-difference"],
    }
    return fb.run(config | keys, data_dir=data_folder)


@pytest.mark.parametrize("source", ["data", "shipped"])
def test_a_run_as_a_table_gives_the_verdicts_of_the_run(source, data_folder):
    run = runs(source, data_folder).found
    table = table_of_run(run)
    design = design_of_run(run)
    assert design.kind == ("splits" if source == "data" else "fresh")
    ours = judge(table, design, "none", family="metric").frame
    on_rows = judge(table, make_design("seeds"), "none", family="metric").frame
    theirs = fb_paired(run)
    keys = ["data", "attribute", "compared", "technique", "metric"]
    joined = ours.merge(theirs, on=keys, suffixes=("", "_run"))
    assert len(joined) == len(ours) == len(theirs) >= 9
    np.testing.assert_allclose(joined["distance_difference"], joined["distance_difference_run"], atol=1e-12)
    # A run knows its counts, and may be less sure than repeats alone; never more.
    assert (joined["p"] <= joined["population_p"] + 1e-12).all()
    is_equal = np.isclose(joined["p"], joined["population_p"], rtol=1e-9, atol=0)
    assert is_equal.mean() > 0.6
    words = joined["holm"].where(joined["holm"].isin(["better", "worse"]), "no difference")
    assert (words == joined["population_verdict"])[is_equal].all()
    if source == "data":
        joined = on_rows.merge(theirs, on=keys, suffixes=("", "_run"))
        np.testing.assert_allclose(joined["p"], joined["p_run"], rtol=1e-9)
        np.testing.assert_allclose(joined["p_holm"], joined["p_holm_run"], rtol=1e-9)


def fb_paired(run) -> pd.DataFrame:
    from fairbench_cli.report.ledger.paired_differences import paired_frame

    frame = paired_frame(run.results)
    return frame.rename(columns={"dataset": "data", "intervention": "technique"}).reset_index(drop=True)


def test_a_run_stands_beside_a_study(data_folder, tmp_path, say):
    frame = study(data=("compas", "adult"))
    run = runs("data", data_folder)
    result = fb.compare(frame, run=run)
    ours = result.to_pandas()
    mine = ours[ours["study"] == "law"]
    assert set(mine["data"]) == {"compas"}
    assert set(mine["metric"]) == {"accuracy"}
    assert set(mine["technique"]) == {"massaging", "reweighing", "uniform-sampling"}
    alone = judge(table_of_run(run.found), design_of_run(run.found), "none").frame
    alone = alone[alone["metric"] == "accuracy"].set_index("technique")["p"]
    np.testing.assert_allclose(mine.set_index("technique")["p"], alone[mine["technique"]], rtol=1e-9)
    published = ours[ours["study"] == "published"]
    np.testing.assert_allclose(
        published["p"], fb.compare(frame, "splits", train_share=0.7).to_pandas()["p"], rtol=1e-9
    )
    with pytest.raises(fb.UserError, match="which data set a row is of"):
        fb.compare(frame[frame["data"] == "adult"].drop(columns="data"), run=run)
    with pytest.raises(fb.UserError, match="no data in common"):
        fb.compare(study(data=("mars",)), run=run)


def test_mistakes_are_two_lines(tmp_path, say):
    study().to_csv(tmp_path / "s.csv", index=False)
    two_lines(say("compare", "s.csv"), "--design", "splits: random splits")
    two_lines(say("compare", "s.csv", "--design", "split"), 'unknown design "split"')
    two_lines(say("compare", "s.csv", "--design", "splits"), "--train-share 0.7")
    two_lines(say("compare", "s.csv", "--design", "splits", "--train-share", "70"), "70 is no share")
    two_lines(say("compare", "s.csv", "--design", "folds"), "--folds 10")
    two_lines(say("compare", "s.csv", "--design", "fresh", "--folds", "3"), "--folds")
    two_lines(
        say("compare", "s.csv", "--design", "fresh", "--baseline", "defualt"), 'did you mean "default"?'
    )
    two_lines(say("compare", "s.csv", "--design", "fresh", "--better", "spd"), "NAME=VALUE")
    two_lines(say("compare", "s.csv", "--design", "fresh", "--better", "spd=up"), "write higher, lower")
    two_lines(say("compare", "s.csv", "--design", "fresh", "--better", "x=0"), "name one of spd, accuracy")
    two_lines(say("compare", "s.csv", "--design", "fresh", "--only", "metric=x"), 'no cell has metric "x"')
    two_lines(
        say("compare", "s.csv", "--design", "fresh", "--stand-in", "classifier=svm"), 'classifier "svm"'
    )
    two_lines(say("compare", "s.csv", "--design", "fresh", "--fail-on", "better"), "claims, worse")
    two_lines(say("compare", "s.csv", "--design", "fresh", "--paper", "cardoso2019"), "--paper")
    two_lines(say("compare", "s.csv", "s.csv", "--design", "fresh"), "2 tables")
    two_lines(say("compare", "none.csv", "--design", "fresh"), "none.csv")
    base = ["compare", "s.csv", "--design", "fresh", "--claims", "published"]
    two_lines(say(*base, "--same", "0.02"), "--same: error: a claim says that itself")
    two_lines(say(*base, "--baseline", "rw"), "--baseline")
    two_lines(say("compare", "a", "b", "--train-share", "0.7"), "it is about a table of repeats")
    two_lines(say("compare", "a", "b", "--same", "0.02"), "--same: error: it is about a table of repeats")
    two_lines(say("compare", "s.csv", "--fail-under", "0.7"), "it is about runs")


def test_files_and_exit_codes(tmp_path, say):
    study().to_csv(tmp_path / "s.csv", index=False)
    base = ["compare", "s.csv", "--design", "splits", "--train-share", "0.7"]
    done = say(*base, "--fail-on", "worse", "-o", "out")
    assert done.code == 1
    assert done.out.startswith("Of 48 comparisons: better than default in ")
    assert say(*base, "--fail-on", "worse", "--only", "technique=rw", "--only", "metric=spd").code == 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["compare.html", "compare.md", "comparisons.csv", "data_sets.csv"]
    written = pd.read_csv(tmp_path / "out" / "comparisons.csv")
    result = fb.compare(tmp_path / "s.csv", "splits", train_share=0.7)
    np.testing.assert_allclose(written["p_holm"], result.to_pandas()["p_holm"], rtol=1e-12)
    page = (tmp_path / "out" / "compare.html").read_text()
    assert page.count("<svg") == 2
    assert result.headline in page
