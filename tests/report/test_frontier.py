"""Techniques against moved thresholds: what is compared with what, the files, the table and the figure."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import plain_cell, run_plan, two_lines, write_config
from scipy import stats

from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.measures.counts import PAIR, Counts, count
from fairbench_cli.measures.registry import measure
from fairbench_cli.measures.significance import holm
from fairbench_cli.measures.thresholds import (
    best_thresholds,
    convex_hull,
    frontier_of_hulls,
    points_of_counts,
    swept_counts,
)
from fairbench_cli.report.ledger.frontier import (
    GAP_METRICS,
    TOLERANCES,
    frontier_distance_frame,
    frontier_frame,
    moved_thresholds_of_run,
    split_in_halves,
)
from fairbench_cli.report.ledger.results import RunResults, run_results
from fairbench_cli.report.parts.sweep import frontier_table
from fairbench_cli.report.show.figures.canvas import house_style
from fairbench_cli.report.show.figures.fronts import draw_frontier
from fairbench_cli.report.write import write_report

REPEATS = 5
TECHNIQUES = ("none", "massaging", "reweighing")
CELLS = [
    plain_cell(
        key=f"{technique}{beta:g}{'s' * seen}", beta=beta, intervention=technique, include_protected=seen
    )
    for technique, beta, seen in itertools.product(TECHNIQUES, (0.0, 1.0), (False, True))
]
CELLS = [cell for cell in CELLS if (cell["intervention"], cell["include_protected"]) != ("none", True)]
BASELINE = "none", False


def study(cells: list[dict] = CELLS, **keys: object) -> RunPlan:
    given = {"repeats": REPEATS, "metrics": ("accuracy", "discrimination"), "tables": ()}
    return run_plan(cells, [], **given | {"sweep": "acceptance-rate"} | keys)


def record(cell: dict, repeat: int) -> Repeat:
    """A model whose scores depend on the label, the group and chance, in a way of its own."""
    rows = np.random.default_rng(repeat)  # the same rows for all techniques
    s = rows.integers(0, 2, 300)
    y = (rows.random(300) < 0.3 + 0.3 * s).astype(int)
    which = TECHNIQUES.index(cell["intervention"])
    noise = np.random.default_rng([repeat, which, int(cell["beta"])]).normal(size=300)
    score = np.round(1 / (1 + np.exp(-(1.5 * y + (0.8 - 0.3 * which) * (s - 0.5) - 0.8 + noise))), 2)
    decided = count(s, y, (score >= 0.5).astype(int), PAIR)
    return Repeat(cell["key"], repeat, "ok", "", decided, swept=swept_counts(s, y, score, PAIR))


def records_of(cells: list[dict] = CELLS) -> list[Repeat]:
    return [record(cell, repeat) for cell in cells for repeat in range(REPEATS)]


def run_of(plan: RunPlan, records: list[Repeat]) -> RunResults:
    found = {(one.key, one.repeat): one for one in records}
    return run_results(Path(), plan, found, ("discrimination", "accuracy"))


RECORDS = records_of()
RUN = run_of(study(), RECORDS)


def by_key(key: str, records: list[Repeat] = RECORDS) -> list[Repeat]:
    return [one for one in records if one.key == key]


def decisions(one: Repeat) -> Counts:
    return Counts(PAIR, np.concatenate([one.swept.n, one.counts.n[None]]))


def rows_of(frame: pd.DataFrame, cell: dict, constraint: str) -> pd.DataFrame:
    same = frame[list(cell)[1:]].eq(pd.Series(cell)[list(cell)[1:]]).all(axis=1)
    return frame[same & (frame["constraint"] == constraint)]


@pytest.mark.parametrize("constraint", GAP_METRICS)
def test_the_frontier_is_the_mean_of_the_best_thresholds_of_each_repeat(constraint):
    cell = CELLS[-1]
    frame = rows_of(frontier_frame(RUN), cell, constraint)
    assert frame["tolerance"].tolist() == list(TOLERANCES)
    some = [0, 5, 10, len(TOLERANCES) - 1]
    for k in some:
        best = [
            best_thresholds(points_of_counts(decisions(one)), constraint, TOLERANCES[k])
            for one in by_key(cell["key"])
        ]
        own, row = [one.accuracy for one in best], frame.iloc[k]
        assert row["accuracy"] == pytest.approx(np.mean(own), abs=1e-9)
        assert row["sd"] == pytest.approx(np.std(own, ddof=1), abs=1e-9)
        interval = stats.t.interval(0.95, REPEATS - 1, np.mean(own), stats.sem(own))
        assert row[["low", "high"]].tolist() == pytest.approx(interval, abs=1e-9)
        assert row["gap"] <= TOLERANCES[k] + 1e-12
        assert (row["n_ok"], row["n"]) == (REPEATS, REPEATS)


@pytest.mark.parametrize("constraint", GAP_METRICS)
def test_a_technique_is_compared_with_none_of_the_same_repeat_at_its_own_gap(constraint):
    frame = frontier_distance_frame(RUN)
    assert not frame["include_protected"].any()  # with s there is no none
    tests = []
    for cell in (one for one in CELLS if not one["include_protected"]):
        (row,) = rows_of(frame, cell, constraint).to_dict("records")
        own, base = by_key(cell["key"]), by_key(f"none{cell['beta']:g}")
        accuracy = [float(measure("accuracy", one.counts)) for one in own]
        gap = [float(measure(GAP_METRICS[constraint], one.counts)) for one in own]
        frontier_accuracy = [
            best_thresholds(points_of_counts(decisions(one)), constraint, t).accuracy
            for one, t in zip(base, gap, strict=True)
        ]
        assert row["n"] == REPEATS
        assert row["accuracy"] == pytest.approx(np.mean(accuracy))
        assert row["gap"] == pytest.approx(np.mean(gap))
        assert row["frontier_accuracy"] == pytest.approx(np.mean(frontier_accuracy))
        difference = np.subtract(accuracy, frontier_accuracy)
        test = stats.ttest_1samp(difference, 0)
        assert row["difference"] == pytest.approx(difference.mean())
        assert (row["low"], row["high"]) == pytest.approx(tuple(test.confidence_interval()))
        free = [best_thresholds(points_of_counts(decisions(one)), "none").accuracy for one in own]
        assert row["unprocessed_accuracy"] == pytest.approx(np.mean(free))
        if cell["intervention"] == "none":  # it cannot be above its own thresholds
            assert np.isnan([row["p"], row["p_holm"]]).all()
            assert row["verdict"] == ""
            continue
        tests.append(row)
    adjusted = holm(np.array([row["p"] for row in tests]))
    assert {row["tests"] for row in tests} == {sum(not np.isnan(row["p"]) for row in tests)}
    assert np.isnan([row["p"] for row in tests]).all() == (
        constraint == "equalised-odds"
    )  # the rows are shared
    assert [row["p_holm"] for row in tests] == pytest.approx(adjusted, nan_ok=True)
    for row, p in zip(tests, adjusted, strict=True):
        if not p < 0.05:
            assert row["verdict"] == ("" if np.isnan(p) else "not distinguishable")
        else:
            assert row["verdict"] == ("above" if row["difference"] > 0 else "below")
            assert row["difference"] > 0 or row["chosen_difference"] < 0


@pytest.mark.gate
def test_thresholds_are_those_of_none_of_the_same_representation():
    """A run with two representations says of each what a run with that one alone says."""
    parts = []
    for number, how in enumerate(("original", "numerical")):
        cells = [cell | {"representation": how, "key": cell["key"] + how} for cell in CELLS]
        own = [replace(record(cell, k + 50 * number), repeat=k) for cell in cells for k in range(REPEATS)]
        parts.append((cells, own))
    (cells, own), (more_cells, more) = parts
    alone = pd.concat([frontier_distance_frame(run_of(study(cells), records)) for cells, records in parts])
    both = frontier_distance_frame(run_of(study(cells + more_cells), own + more))
    columns = [*[*CELLS[0]][1:], "constraint"]
    one, other = (frame.sort_values(columns).reset_index(drop=True) for frame in (both, alone))
    pd.testing.assert_frame_equal(one, other)


def test_none_is_never_above_its_own_thresholds():
    for moved in moved_thresholds_of_run(RUN):
        for place, cell in enumerate(moved.data.cells):
            if cell["intervention"] == "none":
                assert (moved.technique_accuracy[place] <= moved.frontier_accuracy[place] + 1e-12).all()
                assert moved.baseline[place] == place


def test_the_halves_are_all_rows_and_thresholds_of_one_are_judged_on_the_other():
    for one in RECORDS:
        n = decisions(one).n
        parts = split_in_halves(n, np.random.default_rng(3))
        assert np.allclose(sum(parts), n)
        for part in parts:
            assert (part >= -1e-9).all()
            assert np.allclose(part.sum(-1), part.sum(-1)[0])  # the same rows, whatever is decided
    for moved in moved_thresholds_of_run(RUN)[:2]:
        for place, base in enumerate(moved.baseline):
            if base is None:
                assert np.isnan(moved.chosen_accuracy[place]).all()
                continue
            for repeat in range(REPEATS):
                one = by_key(moved.data.cells[base]["key"])[repeat]
                at = [moved.chosen_gap[place, repeat]]
                best = frontier_of_hulls(
                    tuple(map(convex_hull, points_of_counts(decisions(one)))), moved.constraint, at
                ).accuracy[0]
                assert moved.chosen_accuracy[place, repeat] <= best + 1e-12
                rows = moved.chosen.counts.n[place, repeat].sum(-1)
                assert np.allclose(rows, one.counts.n.sum(-1))
                fewer = np.minimum(moved.chosen.counts.n[place, repeat, ..., 1], one.counts.n[..., 1])
                assert (moved.chosen.both_accept[place, repeat] <= fewer + 1e-9).all()
    assert np.isnan(moved_thresholds_of_run(RUN)[2].chosen_accuracy).all()


@pytest.mark.parametrize("test", ["original", "network"])
def test_a_copy_of_none_is_neither_above_nor_below(test):
    """The best thresholds in hindsight are always above it; that is no verdict."""
    copies = [one for one in RECORDS if one.key.startswith("none")]
    copies += [replace(one, key=one.key.replace("none", "massaging")) for one in copies]
    run = run_of(study(test=test), copies)
    frame = frontier_distance_frame(run).query(
        "intervention == 'massaging' and constraint != 'equalised-odds'"
    )
    assert (frame["difference"] < 0).all()
    assert set(frame["verdict"]) == {"not distinguishable"}
    assert set(frame["basis"]) == {"bound from counts" if test == "original" else "fresh test rows"}


def test_far_below_thresholds_chosen_on_other_rows_is_below():
    """Half of all decisions turned round at random: no threshold of none does so badly."""

    def worse(one: Repeat) -> Repeat:
        n = one.counts.n
        return replace(one, counts=Counts(PAIR, (n + n[..., ::-1]) / 2))

    records = [worse(one) if one.key.startswith("massaging") else one for one in RECORDS]
    frame = frontier_distance_frame(run_of(study(test="network"), records)).query(
        "intervention == 'massaging'"
    )
    assert set(frame.query("constraint == 'demographic-parity'")["verdict"]) == {"below"}
    # At the odds gap nothing is chosen on other rows, so that nothing is below.
    assert set(frame.query("constraint == 'equalised-odds'")["verdict"]) == {"not distinguishable"}


def test_the_order_of_records_does_not_matter():
    other = run_of(study(), RECORDS[::-1])
    for frame in (frontier_frame, frontier_distance_frame):
        pd.testing.assert_frame_equal(frame(RUN), frame(other))


def test_repeats_without_a_sweep_or_a_result_are_left_out():
    records = [replace(one, swept=None) if (one.key, one.repeat) == ("none0", 1) else one for one in RECORDS]
    records = [one for one in records if (one.key, one.repeat) != ("massaging0", 3)]
    frame = frontier_distance_frame(run_of(study(), records)).query(
        "constraint == 'demographic-parity' and beta == 0"
    )
    assert dict(zip(frame["intervention"], frame["n"], strict=True)) == {
        "none": 4, "massaging": 3, "reweighing": 4
    }  # fmt: skip
    # A model that has no scores: it is compared with none, but has no line of its own.
    empty = Counts(PAIR, np.zeros((0, 2, 2, 2)))
    records = [replace(one, swept=empty) if one.key == "massaging0" else one for one in RECORDS]
    run = run_of(study(), records)
    (row,) = rows_of(
        frontier_distance_frame(run), {**CELLS[2], "include_protected": False}, "tpr-parity"
    ).to_dict("records")
    assert row["intervention"] == "massaging"
    assert row["n"] == REPEATS
    assert np.isnan(row["unprocessed_accuracy"])
    assert rows_of(frontier_frame(run), CELLS[2], "tpr-parity").empty


def test_without_none_or_one_repeat_there_is_no_verdict():
    cells = [cell for cell in CELLS if cell["intervention"] != "none"]
    run = run_of(study(cells), records_of(cells))
    assert frontier_distance_frame(run).empty
    assert not frontier_frame(run).empty
    assert not frontier_table("frontier", run).sections
    frame = frontier_distance_frame(run_of(study(repeats=1), [one for one in RECORDS if one.repeat == 0]))
    assert len(frame) == 6 * len(GAP_METRICS)
    assert set(frame["verdict"]) == {""}


def test_a_group_without_a_label_has_no_tpr():
    def one_sided(one: Repeat) -> Repeat:
        counts, swept = one.counts.n.copy(), one.swept.n.copy()
        counts[0, 1] = swept[:, 0, 1] = 0
        return replace(one, counts=Counts(PAIR, counts), swept=Counts(PAIR, swept))

    run = run_of(study(), [one_sided(one) for one in RECORDS])
    assert set(frontier_distance_frame(run)["constraint"]) == {"demographic-parity"}
    assert set(frontier_frame(run)["constraint"]) == {"demographic-parity"}


@pytest.mark.gate
def test_the_files_of_a_report(tmp_path):
    found = {(one.key, one.repeat): one for one in RECORDS}
    write_report(tmp_path, study(figures=("frontier",)), found)
    frame = pd.read_csv(tmp_path / "frontier.csv")
    assert len(frame) == len(CELLS) * len(GAP_METRICS) * len(TOLERANCES)
    assert len(pd.read_csv(tmp_path / "frontier_distance.csv")) == 6 * len(GAP_METRICS)
    text = (tmp_path / "tables/frontier.md").read_text()
    assert "hindsight" in text
    assert "massaging" in text
    assert "massaging + s" not in text
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["frontier-d-s-tree.svg"]
    write_report(tmp_path, study(sweep=None), found)
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*frontier*")}
    assert not left


@pytest.mark.gate
def test_the_figure_shows_the_frames():
    with house_style():
        (figure,) = draw_frontier(RUN).values()
    lines, points = frontier_frame(RUN), frontier_distance_frame(RUN)
    assert len(figure.axes) == len(GAP_METRICS) * 2
    names = [(cell["intervention"], cell["include_protected"]) for cell in CELLS if cell["beta"] == 0]
    for ax, (constraint, beta) in zip(figure.axes, itertools.product(GAP_METRICS, (0, 1)), strict=True):
        found = {line.get_gid(): line for line in ax.lines}
        plain = [one.counts for one in by_key(f"none{beta:g}")]
        gap, accuracy = (
            [measure(name, counts) for counts in plain] for name in (GAP_METRICS[constraint], "accuracy")
        )
        refused = [measure("accuracy", counts.of_constant(False)) for counts in plain]
        ends = [[0, np.mean(gap)], [np.mean(refused), np.mean(accuracy)]]
        assert np.allclose(found["fairea"].get_data(), ends)
        for i, (name, seen) in enumerate(names):
            where = (
                f"constraint == '{constraint}' and beta == {beta} and intervention == '{name}' "
                f"and include_protected == {seen}"
            )
            assert np.allclose(found[f"frontier-{i}"].get_ydata(), lines.query(where)["accuracy"])
            own = points.query(where)
            if len(own):
                (x,), (y,) = found[f"own-{i}"].get_data()
                assert (x, y) == pytest.approx((own["gap"].item(), own["accuracy"].item()))
                low, high = ax.get_xlim()
                assert low < x < high


def test_a_table_of_thresholds_needs_a_sweep(say, tmp_path):
    config = write_config(tmp_path / "a.yaml", tables=["frontier"])
    two_lines(say("plan", config), "the table frontier needs a sweep", "sweep: acceptance-rate")
