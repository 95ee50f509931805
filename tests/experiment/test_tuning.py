"""Tuning: what a config may say, which candidate is chosen, and that the test rows have no say in it."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from conftest import journal_lines, write_config
from hypothesis import given
from hypothesis import strategies as st

from fairbench_cli.base.errors import UserError
from fairbench_cli.experiment import cell as page
from fairbench_cli.experiment.cell import candidates_of, run_repeat
from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.experiment.datasets import populate, prepare_datasets
from fairbench_cli.experiment.journal.journal import opened, parse_repeat, read_journals, repeat_line
from fairbench_cli.experiment.plan import Cell, make_cells, read_plan
from fairbench_cli.interventions.fitted import Infeasible
from fairbench_cli.measures.registry import distance, find_metric, measure
from fairbench_cli.papers.compare import facts_of
from fairbench_cli.report.ledger.results import run_results
from fairbench_cli.report.ledger.tuning import tuning_gain_frame

LEVELS = [0, 0.5, 1]
OVER = {"level": LEVELS}


def tuned(**options) -> dict:
    return {"repair": {"tune": {"for": "accuracy", "over": OVER} | options}}


def cells_of(folder: Path, *interventions, **changes):
    """Return the cells of a config, and what each draws from."""
    config = read_config(
        write_config(folder / "run.yaml", interventions=list(interventions), **SMALL | changes)
    )
    prepared = prepare_datasets(config, None)
    return make_cells(config, prepared), populate(prepared[0], config, folder)


SMALL = {"sample": {"from": "shipped", "beta": [0.5], "size": 300}}


@pytest.fixture
def cell(tmp_path):
    return lambda *interventions, **changes: cells_of(tmp_path, *interventions, **changes)


def facts(repeat):
    """Return what a repeat found, but for its key and time."""
    return repeat.status, repeat.reason, repeat.facts, repeat.counts.n.tolist()


@pytest.mark.parametrize("on", ["validation", "test"])
@pytest.mark.parametrize("metric", ["accuracy", "impact-ratio", "discrimination"])
def test_a_tuned_repeat_is_that_of_the_cell_with_the_chosen_parameters(cell, on, metric):
    cells, population = cell(tuned(**{"for": metric}, on=on), {"repair": OVER})
    for repeat in range(3):
        first, *plain = (run_repeat(one, population, repeat) for one in cells)
        assert facts(first) == facts(plain[first.tuning.chosen])
        far = distance(find_metric(metric), np.array(first.tuning.values))
        assert first.tuning.chosen == np.flatnonzero(far == np.nanmin(far))[0]


def test_parameters_of_the_classifier_and_of_the_technique_are_tuned_together(cell):
    over = {"level": [0, 1], "classifier.max_depth": [1, 3]}
    grid = {"classifiers": [{"tree": {"max_depth": [1, 3, 9]}}]}
    cells, population = cell(tuned(over=over), {"repair": {"level": [0, 1]}}, **grid)
    last = [one for one in cells if one.technique.tune][-1]
    assert dict(last.classifier.parameters)["max_depth"] == 9
    found = run_repeat(last, population, 0)
    chosen = candidates_of(last)[found.tuning.chosen]
    same = [one for one in cells if (one.technique, one.classifier) == (chosen.technique, chosen.classifier)]
    assert facts(found) == facts(run_repeat(*same, population, 0))
    assert len(found.tuning.values) == 4


def flipped_tests(monkeypatch):
    """Let every repeat have the labels of its test rows turned round."""
    draw = page.draw
    flip = lambda rows: replace(rows, y=1 - rows.y)  # noqa: E731
    monkeypatch.setattr(page, "draw", lambda *given: (draw(*given)[0], flip(draw(*given)[1])))


def test_only_tuning_on_test_looks_at_the_test_labels(cell, monkeypatch):
    cells, population = cell(tuned(on=["validation", "test"]))
    before = [run_repeat(one, population, 0).tuning for one in cells]
    flipped_tests(monkeypatch)
    after = [run_repeat(one, population, 0).tuning for one in cells]
    assert before[0].values == after[0].values
    assert before[0].chosen == after[0].chosen
    np.testing.assert_array_equal(before[0].counts.n, after[0].counts.n)
    assert np.allclose(np.add(before[1].values, after[1].values), 1)
    assert before[1].chosen != after[1].chosen


def test_candidates_are_measured_on_as_many_rows_as_the_config_says(cell):
    cells, population = cell(tuned(fraction=[0.2, 0.5]), tuned(on="test"), test="network")
    rows = [run_repeat(one, population, 0).tuning.counts.n.sum((1, 2, 3)) for one in cells]
    assert rows[2].tolist() == [300] * 3
    assert [abs(n - share * 300).max() <= 2 for n, share in zip(rows, (0.2, 0.5), strict=False)] == [True] * 2


def test_values_are_those_of_the_counts_of_the_attribute(cell):
    (one,), population = cell(tuned(**{"for": "impact-ratio"}))
    curve = run_repeat(one, population, 1).tuning
    levels = population.protected.levels(curve.counts, (one.attribute,))
    assert measure("impact-ratio", levels).tolist() == list(curve.values)


def test_candidates_without_a_value_lose_and_without_any_the_repeat_is_infeasible(cell, monkeypatch):
    (one,), population = cell(tuned(), test="network")
    fit, tried = page.fit, []

    def refusing(candidate: Cell, *rest):
        level = dict(candidate.technique.spec.parameters)["level"]
        tried.append(level)
        if level in refused:
            raise Infeasible(f"no level {level}")
        return fit(candidate, *rest)

    monkeypatch.setattr(page, "fit", refusing)
    refused = {0.0, 0.5}
    found = run_repeat(one, population, 0)
    assert found.status == "ok"
    assert np.isnan(found.tuning.values).tolist() == [True, True, False]
    assert found.tuning.chosen == 2
    again = parse_repeat(opened(repeat_line(found))[0])
    assert facts(again) == facts(found)
    np.testing.assert_array_equal(again.tuning.values, found.tuning.values)
    np.testing.assert_array_equal(again.tuning.counts.n, found.tuning.counts.n)
    refused = {0.0, 0.5, 1.0}
    found = run_repeat(one, population, 0)
    assert (found.status, found.counts, found.tuning) == ("infeasible", None, None)
    assert found.reason == "level tuned for accuracy: no candidate has a value (no level 0.0)"


def test_a_chosen_candidate_that_cannot_be_fitted_to_all_rows_leaves_its_curve(cell, monkeypatch):
    (one,), population = cell(tuned(), test="network")
    fit, tried = page.fit, []

    def refusing(*given):
        tried.append(given)
        if len(tried) == 4:
            raise Infeasible("not on all rows")
        return fit(*given)

    monkeypatch.setattr(page, "fit", refusing)
    found = parse_repeat(opened(repeat_line(run_repeat(one, population, 0)))[0])
    assert (found.status, found.reason, found.counts) == ("infeasible", "not on all rows", None)
    assert len(found.tuning.values) == 3


@pytest.mark.parametrize(("fraction", "part"), [(0.0001, "to choose on"), (0.9999, "to fit to")])
def test_a_fraction_that_leaves_no_rows_is_infeasible(cell, fraction, part):
    (one,), population = cell(tuned(fraction=fraction))
    found = run_repeat(one, population, 0)
    assert (found.status, found.tuning) == ("infeasible", None)
    assert found.reason.endswith(f"of 300 training rows none are left {part}")


def test_a_fraction_may_be_a_quotient(cell):
    (one,), _ = cell(tuned(fraction="1/3"))
    assert one.technique.tune.fraction == 1 / 3


def test_classifiers_that_differ_in_what_is_tuned_are_one_cell(cell):
    tune = {"for": "accuracy", "over": {"classifier.min_leaf": [1, 9]}}
    classifiers = [{"tree": {"min_leaf": [3, 4]}}, {"tree": {"max_depth": 2}}]
    cells, population = cell("none", {"repair": {"tune": tune}}, classifiers=classifiers)
    keys = [one.key for one in cells if one.technique.tune is not None]
    assert [keys.index(key) for key in keys] == [0, 0, 2]
    first, second = (run_repeat(one, population, 0) for one in (cells[1], cells[3]))
    assert facts(first) == facts(second)
    assert len({one.key for one in cells}) == 5


def test_a_model_of_its_own_cannot_have_a_classifier_tuned(cell):
    tune = {"for": "accuracy", "over": {"classifier.min_leaf": [1, 9]}}
    with pytest.raises(UserError) as caught:
        cell({"prejudice-remover": {"tune": tune}}, classifiers=["tree"])
    assert "classifier.min_leaf has no effect on prejudice-remover" in str(caught.value)
    assert len(caught.value.problems) == 1


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=6))
def test_a_ratio_and_its_inverse_are_equally_far(values):
    entry = find_metric("impact-ratio")
    there, back = distance(entry, np.array(values)), distance(entry, 1 / np.array(values))
    np.testing.assert_allclose(there, back, atol=1e-12)


def test_keys_and_columns_of_a_tuned_cell(cell):
    cells, _ = cell(tuned(), tuned(on="test"), tuned(fraction=0.5), tuned(**{"for": "tpr"}), "none")
    assert len({one.key for one in cells}) == len(cells)
    shown = cells[0].describe()
    assert (
        '"tune":{"for":"accuracy","fraction":0.3,"on":"validation","over":{"level":[0.0,0.5,1.0]}}'
        in (shown["parameters"])
    )
    assert "level" not in facts_of(shown)
    assert {key: value for key, value in facts_of(shown).items() if key.startswith("tune")} == {
        "tune": "accuracy",
        "tune.on": "validation",
        "tune.over": "level",
    }
    untuned = dict.fromkeys(("sample", "test"))
    assert "tune" not in facts_of(cells[-1].describe()) | untuned


def test_a_resolved_config_says_the_same(tmp_path):
    entries = [
        tuned(**{"for": ["accuracy", "impact-ratio"]}, on=["validation", "test"]),
        {"none": {"tune": [{"for": "tpr", "over": {"classifier.max_depth": [1, 2]}, "fraction": 0.5}]}},
    ]
    config = read_config(write_config(tmp_path / "run.yaml", interventions=entries))
    (tmp_path / "again.yaml").write_text(config.as_yaml(), encoding="utf-8")
    assert read_config(tmp_path / "again.yaml").interventions == config.interventions
    assert [str(one.tune) for one in config.interventions] == [
        "level tuned for accuracy",
        "level tuned on test for accuracy",
        "level tuned for impact-ratio",
        "level tuned on test for impact-ratio",
        "classifier.max_depth tuned on 0.5 of the training rows for tpr",
    ]


OWN = '''
def share(counts):
    """P(ŷ=+): who is accepted."""
    return counts.predicted[..., 1].sum(-1) / counts.total


share.ideal = 0.5
'''


def test_a_metric_of_ones_own_may_be_tuned_for(cell, tmp_path, say):
    (tmp_path / "mine.py").write_text(OWN, encoding="utf-8")
    entry = tuned(**{"for": "./mine.py:share"})
    (one,), population = cell(entry)
    curve = run_repeat(one, population, 0).tuning
    assert curve.chosen == int(np.argmin(np.abs(np.array(curve.values) - 0.5)))
    assert say("run", tmp_path / "run.yaml", "-j", "1").code == 0
    plan = read_plan(Path("results/small"))
    assert plan.cells[0]["key"] == one.key
    (tmp_path / "mine.py").write_text(OWN.replace("0.5", "0.6"), encoding="utf-8")
    assert cells_of(tmp_path, entry)[0][0].key != one.key


BAD = [
    ("accuracy", 'key "interventions.repair.tune.over" is missing', "add it"),
    ("over: {level: [0, 1]}", 'key "interventions.repair.tune.for" is missing', "add it"),
    ("acuracy, over: {level: [0, 1]}", 'unknown metric "acuracy"', 'did you mean "accuracy"?'),
    ("[], over: {level: [0, 1]}", "repair.tune.for must not be empty", "give at least one value"),
    (
        "consistency, over: {level: [0, 1]}",
        "tune: consistency needs more than counts, and",
        "tune for a metric such",
    ),
    ("mann-whitney-u, over: {level: [0, 1]}", "no value of mann-whitney-u is better", "tune"),
    ("discrimination-of-labels, over: {level: [0, 1]}", "is the same whatever is predicted", "tune for"),
    ("accuracy, over: {levl: [0, 1]}", 'repair has no parameter "levl"', 'did you mean "level"?'),
    ("accuracy, over: {level: [0, 2]}", "repair: level must be at most 1, not 2", "write 1 or less"),
    ("accuracy, over: {level: [0, 0.0]}", "level has the value 0.0 twice", "keep one"),
    ("accuracy, over: {level: []}", "repair: level must not be empty", "give at least one value"),
    ("accuracy, over: {level: 1}", "tune: over holds one candidate", "give several values"),
    ("accuracy, over: {}", "repair.tune.over must not be empty", "give at least one value"),
    ("accuracy, over: {classifier.dept: [1, 2]}", 'tree has no parameter "dept"', ""),
    ("accuracy, over: {classifier.min_leaf: [1, a]}", "tree: min_leaf must be a whole number", "write a"),
    ("accuracy, over: {level: [0, 1]}, on: tset", 'has the unknown value "tset"', 'did you mean "test"?'),
    ("accuracy, over: {level: [0, 1]}, on: test, fraction: 0.2", "fraction has no effect", "remove it"),
    ("accuracy, over: {level: [0, 1]}, fraction: 1", "must be below 1, not 1", "write a number below 1"),
    ("accuracy, over: {level: [0, 1]}, by: x", 'unknown key "by"', ""),
]


def problems(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "f.yaml"
    head = "name: x\ndatasets: [compas]\nclassifiers: [tree]\ninterventions:\n  - repair:\n"
    path.write_text(head + text, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        read_config(path)
    return [str(problem).replace(f"{tmp_path}/", "") for problem in caught.value.problems]


@pytest.mark.parametrize(("entry", "what", "fix"), BAD)
def test_what_tune_may_not_say(tmp_path, entry, what, fix):
    (problem,) = problems(tmp_path, f"      tune: {{{'' if entry.startswith('over') else 'for: '}{entry}}}\n")
    first, second = problem.splitlines()
    assert first.startswith("f.yaml:6: error: ")
    assert what in first
    assert fix in second


def test_a_parameter_is_given_or_tuned(tmp_path):
    (problem,) = problems(tmp_path, "      level: 1\n      tune: {for: accuracy, over: {level: [0, 1]}}\n")
    assert problem.startswith("f.yaml:6: error: repair: level is given and tuned")


def test_two_tunings_of_one_name(tmp_path):
    two = [f"{{for: accuracy, over: {{level: [{least}, 1]}}}}" for least in (0, 0.5)]
    (problem,) = problems(tmp_path, f"      tune: [{', '.join(two)}]\n")
    assert "level tuned for accuracy is listed twice, over other values" in problem


def test_tune_must_be_a_mapping(tmp_path):
    (problem,) = problems(tmp_path, "      tune: accuracy\n")
    assert "tune must be a mapping" in problem


@pytest.fixture(scope="module")
def finished(tmp_path_factory, warm_server):
    """Run the same config in one go and in two, the second of which goes on where the first stopped."""
    from fairbench_cli.cli.app import run

    folder = tmp_path_factory.mktemp("tuned")
    entries = [tuned(**{"for": ["accuracy", "impact-ratio"]}, on=["validation", "test"]), "repair", "none"]
    entries.append({"none": {"tune": {"for": "accuracy", "over": {"classifier.max_depth": [1, 3]}}}})
    keys = {"interventions": entries, "repeats": 2, "tables": ["tuning"], "figures": ["tuning"]}
    path = write_config(folder / "run.yaml", **keys, **SMALL)
    bare = ["--set", "figures=[]"]
    for name, more in (("whole", []), ("halved", [*bare, "--set", "repeats=1"]), ("halved", bare)):
        assert run(["run", str(path), "-o", str(folder / name), "-j", "1", "-q", *more]) == 0
    return folder


def test_a_run_that_goes_on_writes_the_same_bytes(finished):
    for name in ("tuning.csv", "tuning_gain.csv", "results.csv", "tables/tuning.csv"):
        assert (finished / "whole" / name).read_bytes() == (finished / "halved" / name).read_bytes()
    assert len(journal_lines(finished / "whole")) == 14


def test_the_curve_of_every_repeat_is_in_its_file(finished):
    import pandas as pd

    frame = pd.read_csv(finished / "whole/tuning.csv")
    assert len(frame) == (4 * len(LEVELS) + 2) * 2 * 3
    assert set(frame["metric"]) == {"accuracy", "impact-ratio", "discrimination"}
    levels = [f'{{"level":{level:.1f}}}' for level in LEVELS]
    depths = [f'{{"classifier.max_depth":{depth}}}' for depth in (1, 3)]
    assert frame["candidate"].unique().tolist() == levels + depths
    per_repeat = frame.groupby(["parameters", "repeat", "metric"])["chosen"].sum()
    assert (per_repeat == 1).all()


def test_what_looks_best_on_test_leaks(finished):
    import pandas as pd

    gains = pd.read_csv(finished / "whole/tuning_gain.csv")
    results = pd.read_csv(finished / "whole/results.csv")
    assert gains["metric"].tolist() == ["accuracy", "impact-ratio", "accuracy"]
    assert gains["leakage"].isna().tolist() == [False, False, True]
    gains = gains[:2]
    assert (gains["leakage"] >= 0).all()
    np.testing.assert_allclose(gains["gain_on_test"] - gains["gain"], gains["leakage"])
    own = results[(results["metric"] == "accuracy") & (results["intervention"] == "repair")]
    means = own.groupby("parameters")["value"].mean()
    untuned = next(value for name, value in means.items() if "tune" not in name.replace("tuned", ""))
    assert gains["untuned"][0] == pytest.approx(untuned)
    assert gains["gain"][0] == pytest.approx(gains["tuned"][0] - untuned)
    text = (finished / "whole/tables/tuning.md").read_text()
    assert "repair (level tuned for accuracy)" in text
    assert "leakage" in text


def test_a_repeat_with_a_ratio_of_zero_counts_in_none_of_the_gains(finished):
    folder = finished / "whole"
    plan, records = read_plan(folder), read_journals(folder / "journal").records
    (untuned,) = (
        one for one in plan.cells if one["intervention"] == "repair" and "tune" not in one["parameters"]
    )
    record = records[untuned["key"], 0]
    protected = plan.datasets[0]["protected"]
    (at,) = (i for i, one in enumerate(protected) if one["name"] == untuned["attribute"])
    joint = product(*(one["levels"] for one in protected))
    deprived = [levels[at] in protected[at]["deprived"] for levels in joint]
    n = record.counts.n.copy()
    n[deprived, :, 0] += n[deprived, :, 1]
    n[deprived, :, 1] = 0
    zero = {(untuned["key"], 0): replace(record, counts=replace(record.counts, n=n))}
    run = run_results(folder, plan, {**records, **zero}, ("accuracy", "impact-ratio", "discrimination"))
    row = tuning_gain_frame(run).set_index("metric").loc["impact-ratio"]
    assert row["n"] == 1
    assert row["gain_on_test"] - row["gain"] == pytest.approx(row["leakage"])
    assert row["untuned"] > 0
    assert row["gain"] == pytest.approx(abs(np.log(row["untuned"])) - abs(np.log(row["tuned"])))


def test_a_tuned_none_is_compared_with_the_plain_one(finished):
    import pandas as pd

    paired = pd.read_csv(finished / "whole/paired.csv").query("metric == 'accuracy'")
    results = pd.read_csv(finished / "whole/results.csv").query("metric == 'accuracy'")
    means = results.groupby(["intervention", "parameters"])["value"].mean()
    for row in paired.itertuples():
        own = means[row.intervention, row.parameters] - means["none", "{}"]
        assert row.difference == pytest.approx(own)
    assert len(paired) == 6


def test_the_figure_draws_every_curve(finished):
    svg = (finished / "whole/figures/tuning-compas-race-tree.svg").read_text(encoding="utf-8")
    assert svg.count('id="mean"') == 5
    assert svg.count('id="trade"') == 5


def test_a_table_or_figure_of_tuning_needs_something_tuned(tmp_path):
    with pytest.raises(UserError, match="needs an intervention that is tuned"):
        read_config(write_config(tmp_path / "run.yaml", figures=["tuning"]))


TECHNIQUE = '''
from dataclasses import dataclass, replace

from fairbench_cli.interventions.fitted import Fitted


@dataclass(frozen=True)
class Part:
    """Train on part of the rows."""

    size: int

    def fit(self, train, classifier, rng):
        return Fitted(classifier.fit(train.take(rng.choice(len(train), self.size))))
'''


def test_a_technique_of_ones_own_is_tuned_and_what_is_tuned_need_not_be_given(cell, tmp_path):
    (tmp_path / "mine.py").write_text(TECHNIQUE, encoding="utf-8")
    name = "./mine.py:Part"
    entries = {name: {"tune": {"for": "accuracy", "over": {"size": [20, 100]}}}}, {name: {"size": [20, 100]}}
    cells, population = cell(*entries)
    first, *plain = (run_repeat(one, population, 0) for one in cells)
    assert facts(first) == facts(plain[first.tuning.chosen])


CARD = """name: mine
files: [mine.csv]
columns: {x: {kind: integer}}
label: {column: y, favourable: 1}
protected:
  sex: {deprived: f}
  race: {deprived: b}
  race-sex: {of: [race, sex]}
"""


def test_tuning_depends_on_the_attribute_and_works_in_every_representation(tmp_path):
    rng = np.random.default_rng(4)
    drawn = zip(
        rng.integers(50, size=200), rng.choice(["f", "m"], 200), rng.choice(["b", "w"], 200), strict=True
    )
    rows = [f"{x},{sex},{race},{i % 2}" for i, (x, sex, race) in enumerate(drawn)]
    (tmp_path / "mine.csv").write_text("\n".join(["x,sex,race,y", *rows]), encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(CARD, encoding="utf-8")
    over = {"level": [0, 1], "classifier.max_depth": [1, 3]}
    path = write_config(
        tmp_path / "run.yaml",
        datasets=[{"mine.yaml": {"attribute": ["sex", "race-sex"]}}],
        sample={"from": "data", "train_fraction": "2/3"},
        test="holdout",
        protected_columns="all",
        representation="numerical-binary",
        interventions=[
            {"none": {"tune": {"for": "accuracy", "over": {"classifier.max_depth": [1, 3]}}}},
            {"repair": {"tune": {"for": "impact-ratio", "over": over}}},
            {"repair": {"level": [0, 1]}},
        ],
        classifiers=[{"tree": {"max_depth": [1, 3]}}],
    )
    config = read_config(path)
    prepared = prepare_datasets(config, tmp_path)
    cells = make_cells(config, prepared)
    assert len(cells) == 2 * 2 * 4
    # Of a tuned technique the two classifiers are one: they differ in what is tuned.
    assert len({one.key for one in cells}) == 2 * (1 + 1 + 2 * 2)
    for data in prepared:
        population = populate(data, config, tmp_path)
        own = [one for one in cells if one.attribute == data.roles.attribute]
        found = run_repeat(own[1], population, 0)
        chosen = candidates_of(own[1])[found.tuning.chosen]
        same = [
            one for one in own if (one.technique, one.classifier) == (chosen.technique, chosen.classifier)
        ]
        assert facts(found) == facts(run_repeat(*same, population, 0))
