"""Cells in worlds: what techniques see, what is counted on truth and on record, and what is computed once."""

import pickle
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import write_config

from fairbench_cli.data.table import to_sample
from fairbench_cli.experiment import cell as page
from fairbench_cli.experiment.cell import Repeat, draw, groups_of, record_of, run_repeat
from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.experiment.datasets import Population, populate, prepare_datasets
from fairbench_cli.experiment.journal.journal import opened, parse_repeat, read_journals, repeat_line
from fairbench_cli.experiment.plan import Cell, make_cells, read_plan
from fairbench_cli.experiment.running.verify import differences
from fairbench_cli.network.world import draw_people as draw_rows
from fairbench_cli.network.world import record_people
from fairbench_cli.report.ledger.results import run_results

SPY = """
from fairbench_cli import Fitted

SEEN = []


class Spy:
    def fit(self, train, classifier, rng):
        self.model = classifier.fit(train)
        SEEN.append(train)
        return Fitted(self)

    def predict(self, rows):
        SEEN.append(rows)
        return self.model.predict(rows)
"""
WORLDS = {
    "label": [{"label": {"flip": 0.5}}],
    "selection": [{"selection": {"drop": 0.5}}],
    "measurement": [{"measurement": {"column": "edu_level", "noise": 0.5}}],
    "history": [{"history": {"column": "edu_level", "shift": 0.5, "towards": "favoured"}}],
    "omission": [{"omission": {"column": "economic_status"}}],
    "group": [{"group": {"noise": 0.2}}],
    "representation": [{"representation": {"share": 0.1}}],
    "both": [{"label": {"flip": 0.3}}, {"selection": {"drop": 0.5}}],
}
# In which labels, groups or rows are others.
OF_RECORD = {"label", "selection", "group", "representation", "both"}


def given(folder: Path, bias: list, **changes) -> tuple[list[Cell], Population]:
    sample = {"from": "shipped", "size": 1500, "bias": bias}
    options = {"sample": sample, "test": "network", "interventions": ["none"], "classifiers": ["naive-bayes"]}
    config = read_config(write_config(folder / "w.yaml", datasets=["dutch"], **(options | changes)))
    (dataset,) = prepare_datasets(config, None)
    return make_cells(config, [dataset]), populate(dataset, config, folder)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory) -> SimpleNamespace:
    """A cell of each world, one without bias, and what a repeat of each gives."""
    cells, population = given(tmp_path_factory.mktemp("w"), [*WORLDS.values(), []])
    named = dict(zip([*WORLDS, "none"], cells, strict=True))
    found = {name: run_repeat(cell, population, 0) for name, cell in named.items()}
    return SimpleNamespace(cells=named, population=population, found=found)


def test_training_rows_are_the_record_and_test_rows_the_truth(worlds):
    population = worlds.population
    _, truth = draw(worlds.cells["none"], population, 0)
    for name, cell in worlds.cells.items():
        train, test = draw(cell, population, 0)
        assert test is truth
        if name != "none":
            rows = draw_rows(population.worlds[cell.in_world], population.size, cell.sample_seed(0))
            own = to_sample(rows.recorded, population.roles)
            assert train.features.names == own.features.names
            assert np.array_equal(train.features.codes, own.features.codes)
            assert np.array_equal(train.y, own.y)
            assert np.array_equal(train.s, own.s)


@pytest.mark.parametrize("features", ["true", "recorded"])
def test_techniques_see_recorded_rows_alone(tmp_path, features):
    (tmp_path / "spy.py").write_text(SPY)
    bias = [WORLDS["measurement"] + WORLDS["group"] + WORLDS["label"] + WORLDS["omission"]]
    more = {"interventions": ["./spy.py:Spy"], "test_features": features}
    (cell,), population = given(tmp_path, bias, **more)
    outcome = run_repeat(cell, population, 0)
    seen = cell.technique.spec.origin.load().fit.__globals__["SEEN"]
    train, shown = seen[-2:]
    rows = draw_rows(population.worlds[cell.in_world], population.size, cell.sample_seed(0))
    assert np.array_equal(train.features.codes, rows.recorded.without(population.roles.label).codes)
    assert not np.array_equal(train.features["edu_level"], rows.true["edu_level"])
    assert "economic_status" not in (*train.features.names, *shown.features.names)
    _, test = draw(cell, population, 0)
    known = record_of(cell, population, 0, test)
    expected = known.rows if features == "recorded" else test
    assert np.array_equal(shown.features["edu_level"], expected.features["edu_level"])
    assert np.array_equal(shown.s, expected.s)
    assert not np.array_equal(test.s, known.rows.s)
    assert not np.array_equal(test.features["edu_level"], known.rows.features["edu_level"])
    group = groups_of(test, population.protected)
    assert outcome.counts.n.sum((1, 2)).tolist() == np.bincount(group).tolist()  # of true groups


def test_counts_on_the_record(worlds):
    population, none = worlds.population, worlds.found["none"]
    for name, outcome in worlds.found.items():
        assert (outcome.recorded is not None) == (name in OF_RECORD), name
        assert outcome.counts.labelled.tolist() == none.counts.labelled.tolist()  # the same people
        if outcome.recorded is None:
            continue
        cell = worlds.cells[name]
        _, test = draw(cell, population, 0)
        known = record_of(cell, population, 0, test).rows
        n = np.zeros((2, 2))
        np.add.at(n, (known.s, known.y), 1)
        assert outcome.recorded.labelled.tolist() == n.tolist()
    label, selection = worlds.found["label"], worlds.found["selection"]
    favoured = population.protected.groups.index("male")
    for outcome in (label, selection):
        assert (outcome.recorded.n[favoured] == outcome.counts.n[favoured]).all()
    assert label.recorded.n.sum() == label.counts.n.sum()
    assert (label.recorded.predicted == label.counts.predicted).all()  # decisions do not look at labels
    assert selection.recorded.n.sum() < selection.counts.n.sum()
    assert (selection.recorded.n[:, 0] == selection.counts.n[:, 0]).all()  # who is refused a label stays


def test_flips_are_a_share_of_each_cell_of_decisions(tmp_path):
    """E(recorded | true) of the deprived: half of the favourable labels, whatever was decided; TPR stays."""
    (cell,), population = given(tmp_path, WORLDS["label"])
    true, found = np.zeros((2, 2)), np.zeros((2, 2))
    for repeat in range(6):
        outcome = run_repeat(cell, population, repeat)
        true, found = true + outcome.counts.n[0], found + outcome.recorded.n[0]
    z = (found[1] - 0.5 * true[1]) / np.sqrt(0.25 * true[1])
    assert np.abs(z).max() < 4
    rates = [n[1, 1] / n[1].sum() for n in (true, found)]
    assert abs(rates[0] - rates[1]) < 4 * np.sqrt(0.25 / found[1].sum())
    assert found[1].sum() < 0.6 * true[1].sum()


def test_a_world_of_strength_0_is_the_world_without_bias(tmp_path):
    bias = [
        [{"label": {"flip": 0}}], [{"selection": {"drop": 0}}], [{"group": {"noise": 0}}], [],
        [{"measurement": {"column": "edu_level", "noise": 0}}],
        [{"history": {"column": "edu_level", "shift": 0, "towards": "favoured"}}],
    ]  # fmt: skip
    cells, population = given(tmp_path, bias)
    assert len({cell.key for cell in cells}) == 1
    assert not population.worlds
    assert len({id(rows) for cell in cells for rows in draw(cell, population, 0)}) == 2


def test_trained_on_truth_is_none_without_bias(tmp_path):
    bias = [[{"label": {"flip": [0, 0.5]}}], WORLDS["omission"]]
    cells, population = given(tmp_path, bias, interventions=["none", "trained-on-truth"])
    by_name = {(cell.technique.spec.name, cell.world.name, cell.beta): cell for cell in cells}
    plain = by_name["none", "label", 0.0]
    truth = [cell for cell in cells if cell.technique.spec.name == "trained-on-truth"]
    assert {cell.key for cell in truth} == {plain.key} != {by_name["none", "label", 0.5].key}
    first, second = (run_repeat(cell, population, 1) for cell in (plain, truth[-1]))
    assert list(differences(first, second)) == []
    sample = {"from": "shipped", "size": 500, "beta": [0, 0.5]}
    cells, population = given(tmp_path, [], sample=sample, interventions=["trained-on-truth", "none"])
    assert cells[0].key == cells[1].key == cells[2].key != cells[3].key
    assert cells[1].trains_in == ("", 0.0)
    one, other = (run_repeat(cell, population, 0) for cell in (cells[1], cells[2]))
    assert list(differences(one, other)) == []


def test_what_is_shown_of_test_rows_decides_only_where_features_are_recorded_otherwise(tmp_path, worlds):
    bias = [*WORLDS.values(), []]
    cells, population = given(tmp_path, bias, test_features="recorded")
    other = {
        name for name, cell in zip(worlds.cells, cells, strict=True) if cell.key != worlds.cells[name].key
    }
    assert other == {"measurement", "group"}
    measured = cells[list(WORLDS).index("measurement")]
    outcome = run_repeat(measured, population, 0)
    assert outcome.recorded is None
    assert outcome.counts.labelled.tolist() == worlds.found["none"].counts.labelled.tolist()
    assert outcome.counts.n.tolist() != worlds.found["measurement"].counts.n.tolist()


def test_all_that_is_measured_is_measured_in_worlds(tmp_path):
    tune = {
        "over": {"classifier.laplace": [0.5, 100.0]},
        "for": "discrimination",
        "on": ["validation", "test"],
    }
    more = {
        "interventions": [{"none": {"tune": tune}}],
        "metrics": ["accuracy", "belift", "twin-test", "auc-between-groups-of-scores"],
        "strata": ["edu_level"],
        "sweep": "acceptance-rate",
        "predictions": True,
    }
    bias = [[*WORLDS["both"], {"omission": {"column": "economic_status"}}, *WORLDS["group"]]]
    (on_training, on_test), population = given(tmp_path, bias, **more)
    outcome = run_repeat(on_training, population, 0)
    _, test = draw(on_training, population, 0)
    known = record_of(on_training, population, 0, test).rows
    assert {name.removesuffix(" on record") for name in outcome.values} == {
        *population.row_metrics.recorded_as.values()
    }
    assert len(outcome.values) == 2 * len(population.row_metrics.recorded_as)
    assert outcome.swept.n.sum((1, 2, 3)).tolist() == [len(test)] * len(outcome.swept.n)
    assert outcome.predictions is not None
    curve = run_repeat(on_test, population, 0).tuning  # chosen on what the world knows of the test rows
    assert (curve.counts.n.sum((1, 2, 3)) == len(known)).all()
    back = parse_repeat(opened(repeat_line(replace(outcome, predictions=None)))[0])
    assert back.recorded.n.tolist() == outcome.recorded.n.tolist()
    assert parse_repeat(opened(repeat_line(Repeat("k", 0, "ok", "", outcome.counts)))[0]).recorded is None
    edited = replace(outcome, recorded=replace(outcome.recorded, n=outcome.recorded.n + 1))
    assert [one.partition(" ")[0] for one in differences(outcome, edited)] == ["recorded"]


def test_few_rows_are_infeasible_at_most(tmp_path):
    sample = {"from": "shipped", "size": 6, "bias": [*WORLDS.values()]}
    more = {
        "interventions": ["massaging", "equalised-odds"],
        "metrics": ["accuracy", "twin-test"],
        "test_features": "recorded",
        "sweep": "acceptance-rate",
    }
    cells, population = given(tmp_path, [], sample=sample, **more)
    found = [run_repeat(cell, population, 0) for cell in cells]
    assert {"infeasible"} < {one.status for one in found}
    assert all(one.counts is None or one.counts.n.sum() == 6 for one in found)


def test_workers_get_the_worlds_and_draw_each_record_once(tmp_path):
    cells, population = given(tmp_path, [*WORLDS.values()], interventions=["none", "massaging"])
    sent = pickle.loads(pickle.dumps(population))  # noqa: S301 - made a moment ago
    page._in_world.cache_clear()
    for cell in sorted(cells, key=lambda cell: cell.trains_in):
        one, other = run_repeat(cell, population, 0), run_repeat(cell, sent, 0)
        assert list(differences(one, other)) == []
    assert page._in_world.cache_info().misses == 2 * len(WORLDS)
    assert sorted(cells, key=lambda cell: cell.trains_in) != cells


def test_real_test_rows_are_recorded_anew_in_each_repeat(tmp_path, data_folder):
    options = {"sample": {"from": "shipped", "size": 400, "bias": WORLDS["both"]}, "test": "original"}
    config = read_config(write_config(tmp_path / "w.yaml", **options))
    (dataset,) = prepare_datasets(config, data_folder)
    cell, population = make_cells(config, [dataset])[0], populate(dataset, config, tmp_path)
    found = []
    for repeat in range(2):
        _, test = draw(cell, population, repeat)
        found.append(record_of(cell, population, repeat, test))
        own = record_people(population.worlds[cell.in_world], dataset.dataset.table, cell.test_seed(repeat))
        assert found[-1].included.tolist() == np.flatnonzero(own.included).tolist()
    assert found[0].visible is found[1].visible is test
    assert found[0].included.tolist() != found[1].included.tolist()


@pytest.fixture(scope="module")
def run(tmp_path_factory, data_folder, warm_server) -> Path:
    """A finished run in two worlds and without bias, on shared test rows."""
    from fairbench_cli.cli.app import run as command

    folder = tmp_path_factory.mktemp("run")
    bias = [WORLDS["label"], [{"measurement": {"column": "decile_score", "noise": 0.5}}], []]
    config = write_config(
        folder / "w.yaml",
        datasets=["compas"],
        sample={"from": "shipped", "size": 600, "bias": bias},
        test="original",
        interventions=["none", "massaging", "trained-on-truth"],
        classifiers=["naive-bayes"],
        metrics=["accuracy", "discrimination"],
    )
    assert command(["run", str(config), "-o", str(folder / "out"), "--jobs", "1"]) == 0
    return folder / "out"


def test_results_have_truth_and_record_side_by_side(run, say):
    frames = {path.stem: pd.read_csv(path, keep_default_na=False, dtype=str) for path in run.glob("*.csv")}
    assert all(list(frame.columns)[2:].count("world") <= 1 for frame in frames.values())
    groups, results = frames["groups"], frames["results"]
    for frame in (groups, results):
        assert set(frame["labels"]) == {"true", "recorded"}
        assert (frame["features"] == "true").all()
    one = groups[(groups["intervention"] == "none") & (groups["world"] == "label")]
    true, recorded = (one[one["labels"] == labels].reset_index(drop=True) for labels in ("true", "recorded"))
    assert (true["tp"].astype(int) + true["fp"].astype(int)).equals(
        recorded["tp"].astype(int) + recorded["fp"].astype(int)
    )
    assert (recorded["tp"].astype(int) <= true["tp"].astype(int)).all()
    assert (recorded["tp"].astype(int) < true["tp"].astype(int)).any()
    same = groups[groups["world"] != "label"]
    both = [same[same["labels"] == labels].drop(columns="labels") for labels in ("true", "recorded")]
    pd.testing.assert_frame_equal(*(own.reset_index(drop=True) for own in both))
    truth = results[results["intervention"] == "trained-on-truth"]
    empty = truth[truth["value"] == ""]
    assert set(zip(empty["world"], empty["labels"], strict=True)) == {("label", "recorded")}
    assert (frames["summary"]["labels"] == "true").all()


def test_a_report_is_about_one_kind_of_labels(run, tmp_path, say):
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    before = {name: (run / name).read_bytes() for name in ("groups.csv", "results.csv")}
    true = pd.read_csv(run / "paired.csv", keep_default_na=False)
    assert say("report", copy, "--labels", "recorded").code == 0
    assert {name: (copy / name).read_bytes() for name in before} == before
    recorded = pd.read_csv(copy / "paired.csv", keep_default_na=False)
    assert (recorded["labels"] == "recorded").all()
    bases = recorded.groupby("world")["population_basis"].agg(set)
    assert "bound from recorded counts" in bases["label"]
    assert "decisions row by row" not in bases["label"]
    assert "decisions row by row" in bases["measurement decile_score"]
    assert (true["population_basis"] != "bound from recorded counts").all()
    summary = pd.read_csv(copy / "summary.csv", keep_default_na=False)
    results = pd.read_csv(copy / "results.csv", keep_default_na=False)
    keys = [name for name in summary if name in results]
    own = results[(results["labels"] == "recorded") & (results["value"] != "")]
    means = own.assign(value=own["value"].astype(float)).groupby(keys)["value"].mean()
    shown = summary[summary["mean"] != ""].set_index(keys)["mean"].astype(float)
    assert np.allclose(shown.sort_index(), means.sort_index(), rtol=0, atol=1e-12)


def test_worlds_that_a_journal_has_of_another_config_leave_no_trace(run, tmp_path, say):
    with_worlds = run_results(run, read_plan(run), read_journals(run / "journal").records, ("accuracy",))
    assert with_worlds.on_labels("recorded") is not None
    plain = [cell for cell in with_worlds.plan.cells if not cell["world"]]
    without = replace(with_worlds, plan=replace(with_worlds.plan, cells=plain))
    assert without.on_labels("recorded") is None


def test_verify_and_the_journal_of_a_run_in_worlds(run, say):
    assert say("verify", run, "--cells", "3").code == 0
    records = read_journals(run / "journal").records
    keys = {cell["key"]: cell["world"] for cell in read_plan(run).cells if cell["world"] == "label"}
    by_key = {key: {one.recorded is None for (k, _), one in records.items() if k == key} for key in keys}
    assert sorted(map(tuple, by_key.values())) == [
        (False,),
        (False,),
        (True,),
    ]  # the last: trained on the truth
