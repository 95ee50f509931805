"""Paired statistics: equal to scipy and statsmodels, and the Pareto front by brute force."""

import itertools
import math
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import Finished, derived, law, plain, plain_cell, run_plan, two_lines
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairbench_cli.base.errors import UserError
from fairbench_cli.document.markdown import markdown
from fairbench_cli.experiment.journal.journal import read_journals
from fairbench_cli.experiment.plan import read_plan
from fairbench_cli.measures.registry import COUNT_METRICS
from fairbench_cli.report.ledger.inference import paired_test
from fairbench_cli.report.ledger.journal_arrays import CELL_COLUMNS, DatasetRepeats
from fairbench_cli.report.ledger.paired_differences import (
    APART,
    PARETO_METRICS,
    find_baseline,
    paired_frame,
    pareto_frame,
)
from fairbench_cli.report.ledger.results import ROW_COLUMNS, Results, RunResults, run_results
from fairbench_cli.report.parts.differences import paired_table, pareto_table

CELL = plain_cell()


def results(*cells):
    """Tidy results of cells that are given as (changes of CELL, {metric: values per repeat})."""
    rows = [
        CELL | changes | {"repeat": repeat, "status": "ok", "metric": metric, "value": float(values[repeat])}
        for changes, metrics in cells
        for repeat in range(len(next(iter(metrics.values()))))
        for metric, values in metrics.items()
    ]
    return pd.DataFrame(rows, columns=[*CELL_COLUMNS, "repeat", "status", "metric", "value"])


def as_results(frame: pd.DataFrame) -> Results:
    """Set tidy results of the cells' own attributes out as arrays."""
    keys = [*CELL_COLUMNS, "metric"]
    wide = frame.set_index([*keys, "repeat"])["value"].unstack("repeat")
    rows = frame[keys].drop_duplicates(ignore_index=True)
    values = wide.reindex(pd.MultiIndex.from_frame(rows)).to_numpy(dtype=float)
    status = np.where(np.isnan(values), "", "ok").astype(object)
    return Results(rows.assign(compared=rows["attribute"])[ROW_COLUMNS], values, status)


def paired_of(frame):
    return paired_frame(as_results(frame))


def front_of(*cells, metrics=PARETO_METRICS):
    return pareto_frame(as_results(results(*cells)), metrics)


def run_of(frame, **more) -> RunResults:
    cells = frame[CELL_COLUMNS].drop_duplicates().to_dict("records")
    plan = run_plan(cells, [], repeats=3, metrics=PARETO_METRICS, **{"tables": ()} | more)
    data = DatasetRepeats("s", plan.protected("d", "s"), [CELL], None, None, None, {}, [])
    return RunResults(Path(), plan, [data], as_results(frame))


COLUMNS = [
    *ROW_COLUMNS, "baseline_include_protected", "n", "difference", "low", "high", "distance_difference",
    "distance_low", "distance_high", "p", "p_holm", "difference_p_holm",
    "distance_p_holm", "tests", "verdict", "population_low", "population_high",
    "population_distance_low", "population_distance_high", "population_p", "population_p_holm",
    "population_difference_p_holm", "population_distance_p_holm",
    "population_tests", "population_verdict", "population_p_same",
    "population_same_from_rows", "population_basis",
]  # fmt: skip


def one(frame, **where):
    for column, value in where.items():
        frame = frame[frame[column] == value]
    assert len(frame) == 1
    return frame.iloc[0]


M, R, U = ({"intervention": name} for name in ("massaging", "reweighing", "uniform-sampling"))


@law(80)
@given(st.integers(2, 40), st.integers(0, 2**32 - 1), st.floats(-1, 1))
def test_the_test_is_scipys(n, seed, shift):
    rng = np.random.default_rng(seed)
    ours, theirs = rng.normal(shift, 1, n), rng.normal(0, 1, n)
    mine = paired_test(np.append(ours - theirs, [np.nan, np.inf, -np.inf]))
    known = stats.ttest_rel(ours, theirs)
    low, high = known.confidence_interval(0.95)
    assert mine.n == n
    assert [float(mine.mean), float(mine.low), float(mine.high), float(mine.p)] == pytest.approx(
        [np.mean(ours - theirs), low, high, known.pvalue]
    )


def test_equal_differences_and_too_few():
    test = paired_test(np.array([[0.0] * 3, [0.1] * 3, [0.3, np.nan, np.nan], [np.nan] * 3]))
    assert test.p[:2].tolist() == [1, 2 * 0.5**3]
    assert test.low[:2].tolist() == test.high[:2].tolist() == pytest.approx([0, 0.1])
    assert test.mean[2] == 0.3
    assert np.isnan([*test.p[2:], *test.low[2:], *test.high[2:], test.mean[3]]).all()
    assert test.n.tolist() == [3, 3, 1, 0]


def test_rounding_is_no_variance():
    assert paired_test(np.array([0.1 + 0.2, 0.3, 0.3]) - 0.3).p == 1
    assert paired_test(np.array([1e-3, 1e-3, 1e-3 + 1e-10])).p < 1e-9


def random_results(seed, techniques=(M, R, U), betas=(0.0, 1.0), repeats=12, metrics=("accuracy",), **more):
    rng = np.random.default_rng(seed)
    return results(
        *(
            (changes | {"beta": beta} | more, {m: rng.uniform(0.2, 0.9, repeats) for m in metrics})
            for changes in ({}, *techniques)
            for beta in betas
        )
    )


@pytest.mark.gate
def test_a_row_is_scipys_and_holm_is_statsmodels():
    from statsmodels.stats.multitest import multipletests

    metrics = ("accuracy", "discrimination", "acceptance-rate")
    frame = random_results(1, metrics=metrics)
    paired = paired_of(frame)
    assert list(paired.columns) == COLUMNS
    assert len(paired) == 3 * 2 * 3
    values = frame.pivot(index=["intervention", "beta", "metric"], columns="repeat", values="value")
    for row in paired.itertuples():
        ours = values.loc[(row.intervention, row.beta, row.metric)]
        theirs = values.loc[("none", row.beta, row.metric)]
        ideal = COUNT_METRICS[row.metric].ideal
        known = stats.ttest_rel(ours, theirs)
        assert [row.low, row.high] == pytest.approx(list(known.confidence_interval(0.95)))
        assert row.difference == pytest.approx(np.mean(ours - theirs))
        if ideal is None:
            assert math.isnan(row.distance_difference)
        else:
            known = stats.ttest_rel(abs(ours - ideal), abs(theirs - ideal))
            limits = list(known.confidence_interval(0.95))
            assert [row.distance_low, row.distance_high] == pytest.approx(limits)
        assert row.p == pytest.approx(known.pvalue)
    for _, part in paired.groupby("metric"):
        assert part["p_holm"].to_numpy() == pytest.approx(multipletests(part["p"], method="holm")[1])
        assert set(part["tests"]) == {6}


def test_a_family_is_one_measure_of_one_data_set_attribute_and_classifier():
    parts = [
        random_results(i, metrics=("accuracy", "tpr"), **more)
        for i, more in enumerate(
            (
                {},
                {"dataset": "e"},
                {"attribute": "t"},
                {"classifier": "c45"},
                {"world": "", "classifier_parameters": "{x}"},
            )
        )
    ]
    together = paired_of(pd.concat(parts, ignore_index=True))
    apart = pd.concat([paired_of(part) for part in parts], ignore_index=True)
    pd.testing.assert_frame_equal(together.reset_index(drop=True), apart)


def test_discrimination_is_judged_by_its_distance_from_zero():
    noise = np.array([0.01, -0.01, 0.02, -0.02, 0.0, 0.01])
    paired = paired_of(
        results(
            ({}, {"discrimination": 0.1 + noise}),
            (M, {"discrimination": -0.1 - noise}),
            (R, {"discrimination": -0.3 + noise}),
            (U, {"discrimination": 0.02 - noise}),
        )
    )
    mirrored = one(paired, **M)
    assert mirrored.difference == pytest.approx(-0.2 - 2 * noise.mean())
    assert (mirrored.p, mirrored.verdict, mirrored.difference_p_holm < 1e-4) == (1, "moved", True)
    assert one(paired, **R).verdict == "worse"
    assert one(paired, **R).difference < 0 < one(paired, **R).distance_difference
    assert one(paired, **U).verdict == "better"


def test_verdicts_follow_the_direction_of_the_measure():
    low, high = np.full(5, 0.2) + np.arange(5) / 100, np.full(5, 0.8) + np.arange(5) ** 2 / 100
    metrics = ("accuracy", "mutual-information", "impact-ratio", "acceptance-rate")
    frame = results(({}, dict.fromkeys(metrics, low)), (M, dict.fromkeys(metrics, high)))
    verdicts = dict(paired_of(frame)[["metric", "verdict"]].itertuples(index=False, name=None))
    assert verdicts == {
        "accuracy": "better",
        "mutual-information": "worse",
        "impact-ratio": "better",
        "acceptance-rate": "higher",
    }
    swapped = frame.assign(intervention=frame["intervention"].map({"none": "massaging", "massaging": "none"}))
    assert paired_of(swapped)["verdict"].tolist() == ["worse", "better", "worse", "lower"]


def test_a_small_p_alone_is_no_verdict():
    """p = .03 once is a difference; among six tests it is none."""
    rng = np.random.default_rng(0)
    base = rng.normal(0.5, 0.01, 30)
    wiggle = rng.normal(0, 1, 30)
    wiggle = (wiggle - wiggle.mean()) / wiggle.std(ddof=1) * math.sqrt(30) / 2.3 / 100
    frame = results(({}, {"accuracy": base}), (M, {"accuracy": base + 0.01 + wiggle}))
    alone = one(paired_of(frame), **M)
    assert 0.02 < alone.p == alone.p_holm < 0.05
    assert alone.verdict == "better"
    more = random_results(5, techniques=(R, U), betas=(0.25, 0.5), repeats=30)
    among = one(paired_of(pd.concat([frame, more], ignore_index=True)), **M)
    assert among.tests == 5
    assert (among.p, among.verdict) == (alone.p, "no difference")
    assert among.p_holm > 0.05


def test_pairs_are_repeats_where_both_have_a_value():
    nan = np.nan
    frame = results(
        ({}, {"accuracy": [0.5, 0.6, nan, 0.8, 0.7]}),
        (M, {"accuracy": [0.6, nan, 0.9, 0.9, 0.9]}),
        (R, {"accuracy": [nan] * 5}),
    )
    row = one(paired_of(frame), **M)
    assert row.n == 3
    assert row.difference == pytest.approx((0.1 + 0.1 + 0.2) / 3)
    assert row.p == pytest.approx(stats.ttest_rel([0.6, 0.9, 0.9], [0.5, 0.8, 0.7]).pvalue)
    assert row.tests == 1
    absent = one(paired_of(frame), **R)
    assert (absent.n, absent.verdict) == (0, "")
    assert np.isnan([absent.difference, absent.low, absent.p, absent.p_holm]).all()
    # A repeat that has not been run yet is no different from one without a value.
    without = frame[~frame["value"].isna()]
    assert one(paired_of(without), **M).p == row.p


def test_infinite_ratios_are_no_pairs():
    inf = np.inf
    frame = results(
        ({}, {"impact-ratio": [inf, inf, 0.5, 0.6, 0.7]}), (M, {"impact-ratio": [inf, 0.9, 0.8, 0.9, 0.9]})
    )
    assert one(paired_of(frame), **M).n == 3


SEEN = {"include_protected": True}


@pytest.mark.parametrize(
    ("nones", "technique", "chosen"),
    [
        ([False, True], False, False),
        ([False, True], True, True),
        ([False], True, False),
        ([True], False, True),
        ([], True, None),
    ],
)
def test_the_baseline_sees_what_the_technique_sees_if_there_is_one(nones, technique, chosen):
    start = {False: 0.1, True: 0.3}
    cells = [({"include_protected": s}, {"accuracy": start[s] + np.arange(4) / 100}) for s in nones]
    cells.append((M | {"include_protected": technique}, {"accuracy": 0.5 + np.arange(4) / 100}))
    paired = paired_of(results(*cells))
    if chosen is None:
        assert paired.empty
        assert list(paired.columns) == COLUMNS
    else:
        assert paired["baseline_include_protected"].tolist() == [chosen]
        assert paired["difference"].tolist() == pytest.approx([0.5 - start[chosen]])


def test_techniques_with_parameters_are_compared_each():
    frame = random_results(2, techniques=(M, M | {"parameters": '{"ranker":"naive-bayes"}'}))
    assert len(paired_of(frame)) == 4


BAYES = '{"ranker":"logistic"}'


def test_against_another_technique_the_signs_of_the_differences_turn_round():
    """massaging − none is −(none − massaging), and a family has as many tests: all but the baseline."""
    frame = random_results(8, metrics=("accuracy", "discrimination"))
    usual, versus = paired_of(frame), paired_frame(as_results(frame), "massaging")
    assert list(versus.columns) == [*ROW_COLUMNS, "baseline", *COLUMNS[len(ROW_COLUMNS) :]]
    assert set(versus["baseline"]) == {"massaging"}
    assert versus["tests"].tolist() == usual["tests"].tolist()
    place = ["beta", "metric"]
    ours = usual[usual["intervention"] == "massaging"].set_index(place).sort_index()
    theirs = versus[versus["intervention"] == "none"].set_index(place).sort_index()
    assert theirs["difference"].to_numpy() == pytest.approx(-ours["difference"].to_numpy())
    assert theirs["population_low"].to_numpy() == pytest.approx(-ours["population_high"].to_numpy())
    assert theirs["p"].to_numpy() == pytest.approx(ours["p"].to_numpy())
    values = frame.pivot(index=["intervention", "beta", "metric"], columns="repeat", values="value")
    for row in versus.itertuples():
        known = stats.ttest_rel(
            *(values.loc[(name, row.beta, row.metric)] for name in (row.intervention, "massaging"))
        )
        assert row.difference == pytest.approx(known.confidence_interval().low / 2 + row.high / 2)
    again = paired_frame(as_results(frame), "none")
    pd.testing.assert_frame_equal(again.drop(columns="baseline"), usual)


def test_a_baseline_is_a_name_or_a_label():
    frame = as_results(
        random_results(9, techniques=(M, M | {"parameters": BAYES}, R | {"parameters": BAYES}, U | SEEN))
    )
    named = {name: find_baseline(frame, name) for name in ("massaging (ranker=logistic)", "reweighing")}
    assert [(one.intervention, one.parameters, one.include_protected) for one in named.values()] == [
        ("massaging", BAYES, None),
        ("reweighing", BAYES, None),
    ]
    assert find_baseline(frame, "uniform-sampling + s").include_protected is True
    assert find_baseline(frame, "massaging").parameters == "{}"  # the label before the name
    several = as_results(
        random_results(9, techniques=(M | {"parameters": BAYES}, M | {"parameters": '{"rows":3}'}))
    )
    for name, words in (("massaging", "rows=3"), ("masaging", "did you mean"), ("nonne", '"none"')):
        with pytest.raises(UserError, match=words) as error:
            find_baseline(several, name)
        assert len(str(error.value).splitlines()) == 2


def test_a_part_of_a_name_is_enough_where_it_is_that_of_one_technique():
    frame = as_results(
        random_results(11, techniques=(M | {"parameters": BAYES}, M | {"parameters": '{"rows":3}'}, R))
    )
    assert find_baseline(frame, "WEIGH") == find_baseline(frame, "reweighing")
    assert find_baseline(frame, "rows=3").parameters == '{"rows":3}'
    with pytest.raises(UserError, match="2 techniques") as error:
        find_baseline(frame, "assag")
    assert "rows=3" in str(error.value)
    label = find_baseline(frame, "rows=3").label
    assert find_baseline(frame, "Mine", {label: "Mine"}).label == label
    assert find_baseline(frame, "min", {label: "Mine"}).label == label
    with pytest.raises(UserError, match="no technique of this run"):
        find_baseline(frame, "Mine")


def test_a_label_with_s_is_that_variant_for_everybody():
    seen = (M | SEEN, R, R | SEEN)
    frame = as_results(random_results(10, techniques=(M, *seen), betas=(0.0,)))
    both, pinned = paired_frame(frame, "massaging"), paired_frame(frame, "massaging + s")
    assert set(both["intervention"]) == {"none", "reweighing"}
    assert (both["baseline_include_protected"] == both["include_protected"]).all()
    assert pinned["baseline_include_protected"].all()
    assert set(pinned["baseline"]) == {"massaging + s"}
    assert len(pinned) == 4  # massaging without s too


def test_a_report_versus_a_technique_has_a_file_and_a_table(finished: Finished, say, tmp_path: Path):
    folder = shutil.copytree(finished.folder, tmp_path / "run")
    before = derived(folder) | {"paired": (folder / "paired.csv").read_bytes()}
    done = say("report", folder, "--versus", "massaging", "--versus", "uniform-sampling")
    assert done.code == 0
    assert "Massaging is not shown to leave a smaller or larger gap than uniform-sampling." in done.out
    assert "difference-to-none" not in done.out
    plain(done.out)
    after = derived(folder) | {"paired": (folder / "paired.csv").read_bytes()}
    assert before == {name: text for name, text in after.items() if "versus" not in name}
    found = pd.read_csv(folder / "paired-versus-massaging.csv")
    assert set(found["intervention"]) == {"none", "uniform-sampling"}
    both = say("report", folder, "--versus", "massaging", "--table", "pareto").out
    assert "Massaging" in both
    assert "\npareto\n" in both
    tables = {path.name for path in folder.glob("tables/versus-*")}
    assert tables == {f"versus-massaging.{ending}" for ending in ("csv", "md", "tex")}
    assert [path.name for path in folder.glob("paired-*")] == ["paired-versus-massaging.csv"]
    two_lines(say("report", folder, "--versus", "masaging"), "--versus", 'did you mean "massaging"?')
    assert say("report", folder).code == 0
    assert not [*folder.glob("paired-*"), *folder.glob("tables/versus-*")]


def test_a_run_gives_both_frames_and_tables(finished: Finished):
    records = read_journals(finished.folder / "journal").records
    run = run_results(finished.folder, read_plan(finished.folder), records, PARETO_METRICS)
    paired, pareto = paired_frame(run.results), pareto_frame(run.results)
    frame = pd.read_csv(finished.folder / "results.csv")
    assert set(paired["intervention"]) == {"massaging", "uniform-sampling"}
    done = frame[frame["metric"] == "accuracy"].dropna(subset="value")
    assert len(pareto) == done.groupby(["beta", "intervention"]).ngroups
    there = done[done["intervention"] != "none"].groupby(["beta", "intervention"]).size()
    found = paired[paired["metric"] == "accuracy"].set_index(["beta", "intervention"])["n"]
    assert found[found > 0].sort_index().to_dict() == there.to_dict()
    text = markdown(paired_table("difference-to-none", run))
    assert "massaging" in text
    assert "β = 1" in text
    assert "front" in markdown(pareto_table("pareto", run))


def test_cells_of_the_table_say_difference_and_verdict():
    high, low = 0.8 + np.arange(5) ** 2 / 1000, 0.2 + np.arange(5) / 1000
    frame = results(
        ({}, {"accuracy": high, "discrimination": high}),
        (M, {"accuracy": low, "discrimination": low}),
        (R, {"accuracy": high, "discrimination": [np.nan] * 5}),
    )
    (section,) = paired_table("x", run_of(frame, tables=("discrimination-accuracy",))).sections
    (table,) = section.tables
    assert table.heads == ("technique", "metric", "difference")
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["massaging", "discrimination", "-0.604 better"],
        ["massaging", "accuracy", "-0.604 worse"],
        ["reweighing", "discrimination", "-"],
        ["reweighing", "accuracy", "+0.000"],
    ]


NAMES = ("none", "massaging", "reweighing", "uniform-sampling", "preferential-sampling")


@pytest.mark.gate
@law(60)
@given(st.data(), st.integers(1, 5), st.integers(1, 4))
def test_the_front_is_that_of_brute_force(data, k, repeats):
    """On a coarse grid, so that ties are common."""
    grid = st.lists(st.sampled_from([-0.5, -0.25, 0.0, 0.25, 0.5]), min_size=repeats, max_size=repeats)
    found = {name: (data.draw(grid), [abs(v) for v in data.draw(grid)]) for name in NAMES[:k]}
    frame = front_of(
        *(({"intervention": n}, {"discrimination": d, "accuracy": a}) for n, (d, a) in found.items())
    )
    means = {n: (np.mean(np.abs(d)), 1 - np.mean(a)) for n, (d, a) in found.items()}
    assert frame["technique"].tolist() == list(found)
    for row in frame.itertuples():
        mine = means[row.intervention]
        better = [
            other
            for other, theirs in means.items()
            if all(t <= m for t, m in zip(theirs, mine, strict=True)) and theirs != mine
        ]
        assert row.dominated_by == APART.join(better)
        assert row.front == (not better)
        assert set(filter(None, row.clearly_dominated_by.split(APART))) <= set(better)
    assert frame["front"].any()
    assert (frame["discrimination_distance"] + 1e-9 >= frame["discrimination"].abs()).all()


def test_domination_is_clear_when_the_paired_tests_say_so():
    rng = np.random.default_rng(3)
    draw = rng.normal(0, 0.05, 30)  # what the training sets share

    def wiggle():
        return draw + rng.normal(0, 0.001, 30)

    frame = front_of(
        ({}, {"discrimination": 0.30 + wiggle(), "accuracy": 0.70 + wiggle()}),
        (M, {"discrimination": 0.29 + wiggle(), "accuracy": 0.71 + wiggle()}),
        (R, {"discrimination": 0.29 + wiggle(), "accuracy": 0.7001 + wiggle()}),
    )
    assert one(frame, **M).front
    assert one(frame, intervention="none").clearly_dominated_by == "massaging"
    # Apart by far less than the repeats vary, yet the pairs show it: 0.01 against a sd of 0.05.
    assert stats.ttest_ind(0.30 + wiggle(), 0.29 + wiggle()).pvalue > 0.05


def test_clear_takes_both_measures_but_a_measure_that_never_differs():
    rng = np.random.default_rng(4)
    accuracy, noise = 0.7 + rng.normal(0, 0.01, 30), rng.normal(0, 0.01, 30)
    noise = (noise - noise.mean()) / 10
    worse = 0.3 + rng.normal(0, 0.01, 30)
    frame = front_of(
        ({}, {"discrimination": worse, "accuracy": accuracy}),
        (M, {"discrimination": worse - 0.1 + noise, "accuracy": accuracy}),
        (R, {"discrimination": worse - 0.2 + noise, "accuracy": accuracy + noise + 1e-6}),
    )
    row = one(frame, intervention="none")
    assert row.dominated_by == "massaging; reweighing"
    assert row.clearly_dominated_by == "massaging"


@pytest.mark.gate
def test_clearness_is_holm_adjusted_over_all_pairs():
    rng = np.random.default_rng(6)
    values = {name: (rng.uniform(0, 0.1, 8) + 0.02 * i) for i, name in enumerate(NAMES)}
    cells = [({"intervention": n}, {"discrimination": v, "accuracy": 1 - v}) for n, v in values.items()]
    frame = front_of(*cells)
    pairs = list(itertools.combinations(NAMES, 2))
    from statsmodels.stats.multitest import multipletests

    p = [stats.ttest_rel(values[a], values[b]).pvalue for a, b in pairs]
    found = multipletests(p, alpha=0.05, method="holm")[0]
    assert 0 < found.sum() < (np.array(p) < 0.05).sum()
    clear = {pair for pair, yes in zip(pairs, found, strict=True) if yes}
    for row in frame.itertuples():
        better = [n for n in NAMES if values[n].mean() < values[row.intervention].mean()]
        assert row.dominated_by == APART.join(better)
        expected = [n for n in better if (n, row.intervention) in clear or (row.intervention, n) in clear]
        assert row.clearly_dominated_by == APART.join(expected)


def test_infeasible_cells_are_absent_and_dominate_nobody():
    nan = np.nan
    frame = front_of(
        ({}, {"discrimination": [0.3, 0.4], "accuracy": [0.7, 0.8]}),
        (M, {"discrimination": [nan, nan], "accuracy": [nan, nan]}),
        (R, {"discrimination": [0.1, nan], "accuracy": [0.6, 0.9]}),
    )
    assert frame["technique"].tolist() == ["none", "reweighing"]
    assert frame["n"].tolist() == [2, 1]
    assert frame["accuracy"].tolist() == pytest.approx([0.75, 0.6])
    assert frame["front"].all()
    assert front_of((M, {"discrimination": [nan], "accuracy": [nan]})).empty


def test_any_two_measures_make_a_front():
    cells = [
        ({}, {"impact-ratio": [0.5, 0.5], "kappa": [0.4, 0.4]}),
        (M, {"impact-ratio": [1.4, 1.4], "kappa": [0.5, 0.5]}),
        (R, {"impact-ratio": [1.5, 1.5], "kappa": [0.4, 0.4]}),
    ]
    frame = front_of(*cells, metrics=("impact-ratio", "kappa"))
    assert frame["dominated_by"].tolist() == ["massaging", "", "massaging"]
    assert frame["impact-ratio_distance"].tolist() == pytest.approx([0.5, 0.4, 0.5])


def test_each_beta_and_classifier_has_a_front_of_its_own():
    part = [
        ({}, {"discrimination": [0.3], "accuracy": [0.7]}),
        (M, {"discrimination": [0.2], "accuracy": [0.8]}),
    ]
    more = [(c | {"beta": 1.0, "classifier": "c45"}, v) for c, v in part[:1]]
    frame = front_of(*part, *more)
    assert frame[["beta", "front"]].to_numpy().tolist() == [[0.0, False], [0.0, True], [1.0, True]]
