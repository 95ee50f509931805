"""The figures of sweeps and of the oracle: what is drawn, and formulas that are drawn with it."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import fairbench, write_config
from hypothesis import given
from hypothesis import strategies as st

from fairbench_cli.base.errors import UserError
from fairbench_cli.data.table import Column, Sample, Table
from fairbench_cli.experiment.config.read import read_config as read_experiment
from fairbench_cli.experiment.journal.journal import read_journals
from fairbench_cli.experiment.plan import read_plan
from fairbench_cli.interventions.baselines import OracleModel
from fairbench_cli.measures.counts import PAIR as GROUPS
from fairbench_cli.measures.counts import Counts, count
from fairbench_cli.measures.registry import measure
from fairbench_cli.measures.thresholds import RATES, swept_counts
from fairbench_cli.papers.parts import FIGURES
from fairbench_cli.report.ledger.results import RunResults, run_results
from fairbench_cli.report.show.figures import draw_figures
from fairbench_cli.report.show.figures.acceptance import (
    MOST,
    LabelShares,
    fixed_rate_cost,
    fixed_rate_kappa,
    label_shares,
    oracle_cost,
    oracle_path,
    random_counts,
)
from fairbench_cli.report.show.figures.canvas import house_style

pytestmark = pytest.mark.gate  # matplotlib draws

ROOT = Path(__file__).parents[2]
METRICS = ["accuracy", "discrimination", "kappa", "normalised-discrimination"]
STRATEGIES = ["decrease-favoured", "increase-deprived", "both"]
ORACLE = {"oracle": {"strategy": STRATEGIES, "remove": [0, 0.5, 1]}}
RUN = {
    "datasets": [
        {"compas": {"interventions": ["none", "massaging", "reweighing"]}},
        {"compas": {"as": "baselines", "interventions": ["oracle", "random"], "classifiers": ["tree"]}},
    ],
    "interventions": ["none", "massaging", "reweighing", ORACLE, "random"],
    "classifiers": ["tree", "naive-bayes"],
    "metrics": METRICS,
    "sweep": "acceptance-rate",
    "figures": ["sweep", "oracle"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    at = tmp_path_factory.mktemp("run")
    write_config(at / "a.yaml", **RUN)
    done = fairbench("run", "a.yaml", "-o", "out", "--jobs", "1", cwd=at)
    assert done.returncode == 0, done.stderr
    return at / "out"


def drawn(name: str, folder: Path) -> dict:
    return drawn_of(name, run_of(folder))


def drawn_of(name: str, run: RunResults) -> dict:
    with house_style():
        return FIGURES[name].load()(run)


def run_of(folder: Path) -> RunResults:
    plan, records = read_plan(folder), read_journals(folder / "journal").records
    return run_results(folder, plan, records, plan.config.at_hand)


def lines(ax) -> dict:
    return {line.get_gid(): line for line in ax.lines if line.get_gid()}


def texts(figure) -> str:
    return "\n".join(text.get_text() for text in figure.findobj(mpl.text.Text))


# The sweep


def test_a_sweep_has_a_figure_per_data_set_and_beta_but_none_of_baselines_alone(folder):
    assert list(drawn("sweep", folder)) == ["compas-race-beta-0", "compas-race-beta-1"]
    names = sorted(path.name for path in (folder / "figures").glob("*.svg"))
    assert names == [
        "oracle-baselines-race.svg", "sweep-compas-race-beta-0.svg", "sweep-compas-race-beta-1.svg"
    ]  # fmt: skip


def test_lines_are_the_sweeps_means_and_dots_the_summarys(folder):
    sweep, summary = pd.read_csv(folder / "sweep.csv"), pd.read_csv(folder / "summary.csv")
    groups = pd.read_csv(folder / "groups.csv")
    for beta, figure in zip((0, 1), drawn("sweep", folder).values(), strict=True):
        assert len(figure.axes) == len(METRICS) * 2
        for ax, (metric, classifier) in zip(
            figure.axes, itertools.product(METRICS, ("tree", "naive-bayes")), strict=True
        ):
            found = lines(ax)
            assert {name for name in found if name.startswith("sweep-")} == {f"sweep-{i}" for i in range(3)}
            assert {name for name in found if name.startswith("dot-")} == {f"dot-{i}" for i in range(3)}
            for i, technique in enumerate(("none", "massaging", "reweighing")):
                where = (
                    f"dataset == 'compas' and beta == {beta} and intervention == '{technique}'"
                    f" and classifier == '{classifier}'"
                )
                own = sweep.query(f"{where} and metric == '{metric}'")
                assert np.array_equal(found[f"sweep-{i}"].get_xdata(), own["rate"])
                assert np.allclose(found[f"sweep-{i}"].get_ydata(), own["mean"], equal_nan=True)
                (x,), (y,) = found[f"dot-{i}"].get_data()
                assert y == pytest.approx(summary.query(f"{where} and metric == '{metric}'")["mean"].item())
                tests = groups.query(where)
                repeats = tests.groupby("repeat")[["tn", "fp", "fn", "tp"]].sum()
                assert x == pytest.approx(((repeats["fp"] + repeats["tp"]) / repeats.sum(axis=1)).mean())


def without_scores(folder: Path, **which: str) -> list:
    """Figures of the run as if some models had no scores."""
    run = run_of(folder)
    datasets = [
        replace(
            data,
            records=[
                {repeat: replace(one, swept=None) for repeat, one in records.items()}
                if which.items() <= cell.items()
                else records
                for cell, records in zip(data.cells, data.records, strict=True)
            ],
        )
        for data in run.datasets
    ]
    return list(drawn_of("sweep", replace(run, datasets=datasets)).values())


def test_a_technique_without_scores_is_named_and_keeps_its_dot(folder):
    assert "no scores" not in texts(drawn("sweep", folder)["compas-race-beta-0"])
    for figure in without_scores(folder, intervention="reweighing"):
        assert "reweighing: the model has no scores, so there is its dot alone." in texts(figure)
        for ax in figure.axes:
            assert {"sweep-0", "sweep-1", "dot-2"} <= lines(ax).keys()
            assert "sweep-2" not in lines(ax)


def test_panels_without_any_scores_say_so(folder):
    for figure in without_scores(folder, classifier="tree"):
        silent = [any(t.get_gid() == "no-scores" for t in ax.texts) for ax in figure.axes]
        assert silent == [True, False] * len(METRICS)
        note = "the model has no scores, so there is its dot alone (with tree)."
        assert f"none, massaging, reweighing: {note}" in texts(figure)


def test_the_random_line_is_the_closed_form_and_the_random_classifiers_own_sweep(folder):
    sweep = pd.read_csv(folder / "sweep.csv")
    guess = sweep.query("dataset == 'baselines' and intervention == 'random' and beta == 0")
    figure = drawn("sweep", folder)["compas-race-beta-0"]
    for ax, metric in zip(figure.axes[::2], METRICS, strict=True):
        found = lines(ax)
        base = found["base"].get_xdata()[0]
        expected = base * RATES + (1 - base) * (1 - RATES) if metric == "accuracy" else 0 * RATES
        inside = slice(1, -1) if metric == "normalised-discrimination" else slice(None)
        assert np.allclose(found["random"].get_ydata()[inside], expected[inside], atol=1e-9)
        own = guess[guess["metric"] == metric]["mean"].to_numpy()[inside]
        # Test rows of two data sets are drawn apart, so that their labels differ a little.
        assert np.allclose(own, expected[inside], atol=0.05 if metric == "accuracy" else 1e-6)


def test_no_line_passes_its_bound(folder):
    """With the labels of many repeats bounds hold for their means only nearly, for they are not linear."""
    for figure in drawn("sweep", folder).values():
        for ax in figure.axes:
            found = lines(ax)
            if "most" in found:
                for name in found:
                    if name.startswith(("sweep-", "random")):
                        y = np.interp(RATES, *found["most"].get_data())
                        assert (found[name].get_ydata() <= y + 0.02).all()


counted = st.lists(st.integers(1, 30), min_size=4, max_size=4).map(
    lambda n: Counts(GROUPS, np.array(n, dtype=float).reshape(2, 2)[..., None] * [1.0, 0.0])
)


@given(counted)
def test_bounds_are_attained_and_the_random_classifier_is_a_constant_score(counts):
    n = counts.labelled.astype(int)
    s, y = (np.repeat(side, n.ravel()) for side in ([0, 0, 1, 1], [0, 1, 0, 1]))
    labels = label_shares(counts)
    assert (labels.alpha, labels.base) == pytest.approx((s.mean(), y.mean()))
    for metric, score in (("accuracy", y), ("kappa", y), ("discrimination", s)):
        best = measure(metric, swept_counts(s, y, score, GROUPS))
        assert np.allclose(best, MOST[metric](RATES, labels), atol=1e-6)
    constant = swept_counts(s, y, np.zeros(len(s)), GROUPS)
    assert np.allclose(constant.n, random_counts(counts, RATES).n, atol=1e-6)


# The oracle


@given(st.integers(0, 10_000), st.sampled_from(STRATEGIES), st.floats(0, 1))
def test_the_closed_forms_are_what_the_oracle_does(seed, strategy, remove):
    rng = np.random.default_rng(seed)
    n = 20_000
    s = (rng.random(n) < rng.uniform(0.2, 0.8)).astype(np.int8)
    y = (rng.random(n) < np.where(s, rng.uniform(0.4, 0.7), rng.uniform(0.1, 0.4))).astype(np.int8)
    table = Table((Column("x", ("a",)),), np.zeros((n, 1), dtype=np.int16))
    predicted = OracleModel(strategy, remove, seed).predict(Sample(table, "s", y, s))
    found = count(s, y, predicted, GROUPS)
    labels = label_shares(found)
    track = oracle_path(strategy, np.array(remove), labels)
    assert list(track) == ["discrimination", "accuracy", "normalised-discrimination", "kappa"]
    for metric, expected in track.items():
        assert measure(metric, found) == pytest.approx(float(expected), abs=2e-3), metric


@given(st.floats(0.02, 0.98), st.floats(0.02, 0.98), st.floats(0.01, 1))
def test_at_a_fixed_rate_kappa_falls_in_a_line_and_no_strategy_beats_the_bound(alpha, base, share):
    labels = LabelShares(
        alpha, base, share * float(MOST["discrimination"](np.array(base), LabelShares(alpha, 0, 0)))
    )
    steps = np.linspace(0, 1, 11)
    track = oracle_path("both", steps, labels)
    assert np.allclose(track["kappa"], fixed_rate_kappa(track["normalised-discrimination"], labels))
    assert fixed_rate_cost(labels) == pytest.approx(min(alpha / base, (1 - alpha) / (1 - base)))
    costs = [oracle_cost(strategy, alpha) for strategy in STRATEGIES]
    assert min(costs) == pytest.approx(min(alpha, 1 - alpha))


def test_the_oracles_figure_has_every_point_and_the_formulas(folder):
    (figure,) = drawn("oracle", folder).values()
    summary = pd.read_csv(folder / "summary.csv").query(
        "dataset == 'baselines' and intervention == 'oracle' and beta == 0"
    )
    own = summary["parameters"].map(json.loads)
    summary = summary.assign(strategy=[p["strategy"] for p in own], remove=[p["remove"] for p in own])
    panels = (("discrimination", "accuracy"), ("normalised-discrimination", "kappa"))
    for ax, (x, y) in zip(figure.axes, panels, strict=True):
        found = lines(ax)
        for strategy in STRATEGIES:
            wide = summary[summary["strategy"] == strategy].pivot_table(
                index="remove", columns="metric", values="mean"
            )
            assert list(wide.index) == [0, 0.5, 1]
            assert np.allclose(found[f"oracle-{strategy}"].get_data(), wide[[x, y]].T)
            form = found[f"form-{strategy}"].get_data()
            assert len(form[0]) == 101
            order = np.argsort(form[0])
            at = np.interp(wide[x], form[0][order], form[1][order])
            assert np.allclose(at, wide[y], atol=0.01)
            if x == "discrimination":
                alpha = labels_of_the_rows(folder).alpha
                slope = (form[1][0] - form[1][-1]) / (form[0][0] - form[0][-1])
                assert slope == pytest.approx(oracle_cost(strategy, alpha))
        bound = found["bound"].get_data()
        labels = labels_of_the_rows(folder)
        price = min(labels.alpha, 1 - labels.alpha) if y == "accuracy" else fixed_rate_cost(labels)
        assert np.allclose(1 - bound[1], price * (bound[0][0] - bound[0]))


def labels_of_the_rows(folder: Path) -> LabelShares:
    run = run_of(folder)
    oracle = next(key for key in run.counts_by_cell if key[0] == "baselines" and key[5] == "oracle")
    return label_shares(run.counts_by_cell[oracle].counts)


# Both


def test_figures_come_out_byte_for_byte_and_nothing_is_cut_off(folder, tmp_path):
    before = {path.name: path.read_bytes() for path in (folder / "figures").iterdir()}
    again = draw_figures(run_of(folder), ["sweep", "oracle"], FIGURES)
    assert {path.name: path.read_bytes() for path in again} == before
    for name in ("sweep", "oracle"):
        for figure in drawn(name, folder).values():
            with house_style():
                box = figure.get_tightbbox()
            width, height = figure.get_size_inches()
            assert min(box.x0, box.y0, width - box.x1, height - box.y1) > -0.01, name


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sweep": None}, "the figure sweep needs a sweep"),
        (
            {"interventions": ["none", "massaging", "reweighing", "random"]},
            "the figure oracle needs the oracle",
        ),
    ],
)
def test_figures_of_what_is_not_asked_for_are_refused_with_their_line(changes, message, tmp_path):
    config = {key: value for key, value in (RUN | changes).items() if value is not None}
    path = write_config(tmp_path / "a.yaml", **config | {"datasets": ["compas"]})
    with pytest.raises(UserError) as caught:
        read_experiment(path)
    (problem,) = caught.value.problems
    figure = "sweep" if "sweep" in message else "oracle"
    line = (
        1
        + [text.strip() for text in path.read_text().splitlines()].index("figures:")
        + 1
        + ["sweep", "oracle"].index(figure)
    )
    assert problem.what == message
    assert problem.where.endswith(f":{line}")


def test_the_papers_config_asks_for_both_and_its_figures_of_the_page_are_small():
    config = yaml.safe_load((ROOT / "configs/zliobaite2015.yaml").read_text())
    assert config["figures"] == ["sweep", "oracle"]
    pictures = sorted((ROOT / "docs/figures").glob("zliobaite2015-*"))
    assert len(pictures) == 2
    assert all(path.stat().st_size < 300_000 for path in pictures)
