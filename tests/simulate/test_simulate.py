"""The simulation with known truth: equal to sorting rows one by one, and δ stands on the diagonal."""

import re
import time
from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from math import comb
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import law, worlds
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import normalized_mutual_info_score
from tiers import uses

from fairbench_cli.base.errors import UserError
from fairbench_cli.measures.registry import COUNT_METRICS, measure
from fairbench_cli.report.show.figures.against_truth import draw_against_truth
from fairbench_cli.report.show.figures.canvas import house_style
from fairbench_cli.simulate.config import METRICS, read_simulation
from fairbench_cli.simulate.simulation import (
    Setting,
    counts_of,
    decisions_of,
    draw_decisions,
    off_truth,
    simulate,
)

CONFIG = Path(__file__).parents[2] / "configs/zliobaite2017.yaml"
DELTA = "normalised-discrimination"
SMALL = {
    "name": "small",
    "rows": 40,
    "runs": 3,
    "deprived": [0.25, 0.5],
    "accepted": [0.5],
    "truth": {"from": -1, "to": 1, "steps": 5},
    "metrics": ["discrimination", DELTA, "odds-ratio"],
    "figures": {"one": ["discrimination", DELTA], "two": ["odds-ratio"]},
}


def write_small(path: Path, **changes: object) -> Path:
    path.write_text(yaml.safe_dump(SMALL | changes, sort_keys=False))
    return path


def no_ear(*_: int) -> None:
    pass


# The process


def by_sorting(scores, favoured, chosen, setting: Setting) -> int:
    """Count the accepted favoured rows, by moving scores between rows and sorting the rows."""
    scores = list(scores)
    preferred = setting.truth >= 0
    first = sorted(chosen, key=lambda row: favoured[row] != preferred)
    dealt = sorted((scores[row] for row in chosen), reverse=True)
    for row, score in zip(first, dealt, strict=True):
        scores[row] = score
    best = sorted(range(len(scores)), key=lambda row: -scores[row])[: round(setting.accepted * len(scores))]
    return sum(favoured[row] for row in best)


def exact_by_sorting(setting: Setting) -> dict[int, Fraction]:
    """Return the distribution of accepted favoured rows, over all groups and all choices of rows."""
    n, found = setting.rows, Counter()
    for deprived in combinations(range(n), round(setting.deprived * n)):
        favoured = [row not in deprived for row in range(n)]
        for chosen in combinations(range(n), round(abs(setting.truth) * n)):
            found[by_sorting(range(n), favoured, chosen, setting)] += 1
    return {above: Fraction(times, found.total()) for above, times in found.items()}


class Scripted:
    """Draws what the script says, noting what could have come and how likely each was."""

    def __init__(self, script: tuple[int, ...]) -> None:
        self.script = script
        self.odds: list[dict[int, Fraction]] = []

    def hypergeometric(self, good: int, bad: int, sample: int) -> int:
        support = range(max(0, sample - bad), min(good, sample) + 1)
        ways = comb(good + bad, sample)
        self.odds.append({k: Fraction(comb(good, k) * comb(bad, sample - k), ways) for k in support})
        at = len(self.odds) - 1
        return self.script[at] if at < len(self.script) else support[0]


def exact(setting: Setting) -> dict[int, Fraction]:
    """Return the distribution of accepted favoured rows that `draw_decisions` draws from."""
    found: Counter = Counter()
    ahead: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while ahead:
        script, weight = ahead.pop()
        rng = Scripted(script)
        above = int(draw_decisions(setting, rng)[1, 1])
        if len(script) == len(rng.odds):
            found[above] += weight
        else:
            ahead += [((*script, k), weight * odds) for k, odds in rng.odds[len(script)].items()]
    return dict(found)


def test_three_numbers_are_distributed_as_rows_sorted_one_by_one():
    truths = [-1, -0.5, -1 / 6, 0, 1 / 3, 2 / 3, 1]
    for deprived, accepted, truth in product([1 / 6, 0.5, 5 / 6], [1 / 6, 0.5, 2 / 3], truths):
        setting = Setting(6, deprived, accepted, truth)
        assert exact(setting) == exact_by_sorting(setting), setting


@pytest.mark.parametrize(("deprived", "accepted", "truth"), [(0.3, 0.3, 0.4), (0.1, 0.7, -0.6)])
def test_thousand_rows_agree_with_rows_sorted_one_by_one(deprived, accepted, truth):
    setting, rng = Setting(1000, deprived, accepted, truth), np.random.default_rng(3)
    sorted_ones = []
    for _ in worlds(400):
        favoured = rng.permutation(1000) >= 1000 * deprived
        chosen = rng.choice(1000, round(abs(truth) * 1000), replace=False)
        sorted_ones.append(by_sorting(rng.random(1000), favoured.tolist(), chosen.tolist(), setting))
    drawn = [draw_decisions(setting, rng)[1, 1] for _ in worlds(4000)]
    standard_error = np.std(drawn) * np.sqrt(1 / len(sorted_ones) + 1 / len(drawn))
    assert abs(np.mean(sorted_ones) - np.mean(drawn)) < 4 * standard_error
    assert np.std(sorted_ones) == pytest.approx(np.std(drawn), rel=4 / np.sqrt(2 * len(sorted_ones)))


SETTINGS = st.builds(
    Setting, st.integers(2, 300), st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(-1, 1)
)


@given(SETTINGS, st.integers(0, 2**32))
def test_shares_are_those_of_the_setting_whatever_is_drawn(setting, seed):
    decisions = draw_decisions(setting, np.random.default_rng(seed))
    assert (decisions >= 0).all()
    assert decisions.sum() == setting.rows
    assert decisions[0].sum() == round(setting.deprived * setting.rows)
    assert decisions[:, 1].sum() == round(setting.accepted * setting.rows)


@given(SETTINGS, st.sampled_from([-1.0, 1.0]), st.integers(0, 2**32))
def test_at_the_ends_discrimination_is_the_most_there_can_be(setting, truth, seed):
    own = Setting(setting.rows, setting.deprived, setting.accepted, truth)
    found = float(measure(DELTA, counts_of(draw_decisions(own, np.random.default_rng(seed)))))
    assert np.isnan(found) or found == pytest.approx(truth)


@given(SETTINGS)
@law(15)
def test_reverse_discrimination_is_discrimination_with_the_groups_swapped(setting):
    n, deprived = 8, max(1, min(7, round(8 * setting.deprived)))
    one = exact(Setting(n, deprived / n, setting.accepted, 0.5))
    other = exact(Setting(n, (n - deprived) / n, setting.accepted, -0.5))
    accepted = round(setting.accepted * n)
    assert one == {accepted - above: weight for above, weight in other.items()}


def test_without_discrimination_decisions_do_not_know_the_groups():
    draws, accepted = exact(Setting(10, 0.3, 0.4, 0.0)), 4
    assert draws == {k: Fraction(comb(7, k) * comb(3, accepted - k), comb(10, accepted)) for k in range(1, 5)}


def test_counts_are_of_decisions_and_labels_are_the_decisions():
    counts = counts_of(np.array([[30, 10], [20, 40]]))
    assert counts.predicted.tolist() == counts.labelled.tolist() == [[30, 10], [20, 40]]
    assert float(measure("discrimination", counts)) == pytest.approx(40 / 60 - 10 / 40)


# The study of the paper


@pytest.fixture(scope="module")
@uses("a dear fixture")
def study() -> pd.DataFrame:
    start = time.monotonic()
    frame = simulate(read_simulation(CONFIG), no_ear)
    assert time.monotonic() - start < 60
    return frame


@pytest.mark.gate
def test_the_study_is_the_papers(study):
    assert len(study) == 25 * 21 * 6
    assert set(study["n"]) == {100}
    assert read_simulation(CONFIG).rows == 10_000
    assert sorted(set(study["truth"])) == [step / 10 for step in range(-10, 11)]


def test_normalised_discrimination_is_on_the_diagonal_in_all_25_panels(study):
    off = off_truth(study, DELTA)
    assert off["pooled_off"].max() <= 0.02
    assert off.loc[off["truth"] != 0, "mean_off"].max() <= 0.02
    # At d = 0 chance goes both ways, but δ divides by another maximum on each side: in the corners its mean
    # over runs cannot be 0. E|N(0, sd)| / 2 (1/.111 − 1) with the sd of d of 10,000 rows is .032.
    at_zero = off[off["truth"] == 0].set_index(["deprived", "accepted"])
    sd = np.sqrt(0.09 / 1000 + 0.09 / 9000)
    assert at_zero.loc[(0.1, 0.1), "mean"] == pytest.approx(sd / np.sqrt(2 * np.pi) * 8, abs=0.015)
    assert at_zero["mean_off"].max() <= 0.05


def test_the_mean_difference_is_the_truth_times_the_most_that_the_shares_allow(study):
    d = study[study["metric"] == "discrimination"]
    favoured, pi = 1 - d["deprived"], d["accepted"]
    most = np.minimum(pi / favoured, (1 - pi) / (1 - favoured))
    least = np.minimum(pi / (1 - favoured), (1 - pi) / favoured)
    expected = d["truth"] * np.where(d["truth"] > 0, most, least)
    # .011 where all could be separated: accepted and favoured of the chosen differ by chance.
    assert np.abs(d["mean"] - expected).max() < 0.015
    assert off_truth(study, "discrimination")["mean_off"].max() > 0.85


def test_mutual_information_has_no_sign_and_agrees_with_scikit_learns(study):
    mi = study[study["metric"] == "mutual-information"].set_index(["deprived", "accepted", "truth"])["mean"]
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        for truth in (0.2, 0.6, 1.0):
            assert mi[0.5, share, truth] == pytest.approx(mi[0.5, share, -truth], abs=0.004)
            assert mi[share, 0.5, truth] == pytest.approx(mi[share, 0.5, -truth], abs=0.004)
    decisions = draw_decisions(Setting(10_000, 0.3, 0.1, 1.0), np.random.default_rng(0))
    rows = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], decisions.ravel(), axis=0)
    expected = normalized_mutual_info_score(rows[:, 0], rows[:, 1], average_method="geometric")
    assert mi[0.3, 0.1, 1.0] == pytest.approx(expected)


def test_ratios_are_infinite_at_full_reverse_discrimination_only(study):
    ratios = study[study["metric"].isin(["impact-ratio", "elift", "odds-ratio"])]
    infinite = ratios[np.isinf(ratios["mean"])]
    assert set(infinite["truth"]) == {-1.0}
    assert infinite["metric"].value_counts().to_dict() == {"odds-ratio": 25, "impact-ratio": 15}
    assert np.isfinite(ratios.loc[ratios["truth"] != -1, "pooled"]).all()


# Seeds and files


def test_more_runs_keep_the_first_ones(tmp_path):
    few = read_simulation(write_small(tmp_path / "a.yaml"))
    more = read_simulation(write_small(tmp_path / "b.yaml", runs=5))
    setting = Setting(40, 0.25, 0.5, 0.5)
    assert (decisions_of(few, setting) == decisions_of(more, setting)[:3]).all()


def test_a_setting_is_the_same_whatever_others_there_are(tmp_path):
    all_ = simulate(read_simulation(write_small(tmp_path / "a.yaml")), no_ear)
    one = simulate(read_simulation(write_small(tmp_path / "b.yaml", deprived=[0.5], truth=[0.5])), no_ear)
    same = all_[(all_["deprived"] == 0.5) & (all_["truth"] == 0.5)].reset_index(drop=True)
    pd.testing.assert_frame_equal(one, same)


def test_another_seed_gives_other_numbers(tmp_path):
    setting = Setting(1000, 0.25, 0.5, 0.5)
    one, other = (read_simulation(write_small(tmp_path / "a.yaml", seed=seed)) for seed in (1, 2))
    assert (decisions_of(one, setting) != decisions_of(other, setting)).any()


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_the_command_writes_the_same_bytes_again_and_from_its_own_config(say, tmp_path):
    config = write_small(tmp_path / "small.yaml")
    assert say("run", config).code == 0
    first = files(tmp_path / "results/small")
    assert set(first) == {
        "config.yaml", "simulation.csv", "summary.md", "figures/simulation-one.svg",
        "figures/simulation-two.svg",
    }  # fmt: skip
    process = say("run", tmp_path / "results/small/config.yaml", "-o", tmp_path / "again")
    assert process.code == 0, process.err
    assert files(tmp_path / "again") == first
    frame = pd.read_csv(tmp_path / "again/simulation.csv")
    assert [*frame] == [
        "deprived", "accepted", "truth", "metric", "mean", "sd", "low", "high", "n_ok", "n", "pooled"
    ]  # fmt: skip
    assert len(frame) == 2 * 1 * 5 * 3


def test_results_go_to_stdout_talk_to_stderr_and_old_figures_go(say, tmp_path):
    config = write_small(tmp_path / "small.yaml")
    said = say("run", config, "-o", "out")
    assert "normalised-discrimination" in said.out
    assert "figures/" in said.err
    changes = ["--set", "figures={one: [odds-ratio]}", "--set", "figure_formats=[png, pdf]"]
    say("run", config, "-o", "out", *changes)
    assert sorted(path.name for path in Path("out/figures").iterdir()) == [
        "simulation-one.pdf",
        "simulation-one.png",
    ]
    assert "figure_formats:" in Path("out/config.yaml").read_text()


def test_an_undefined_measure_is_empty_and_nothing_warns(say, tmp_path):
    config = write_small(tmp_path / "small.yaml", rows=3, accepted=[0.1])
    assert say("run", config).code == 0
    frame = pd.read_csv(tmp_path / "results/small/simulation.csv").set_index("metric")
    assert (frame.loc[DELTA, "n_ok"] == 0).all()
    assert frame.loc[DELTA, "mean"].isna().all()


def test_every_measure_of_decisions_can_be_simulated_without_a_warning(say, tmp_path):
    config = write_small(tmp_path / "small.yaml", metrics=list(METRICS), figures={})
    assert say("run", config).code == 0
    assert {"phi", "elift-as-printed", DELTA} < set(METRICS)
    assert all(COUNT_METRICS[name].on == "both" for name in METRICS)


# The figures


@pytest.mark.gate
def test_lines_are_the_means_and_triangles_what_a_logarithmic_axis_cannot_show(study):
    with house_style():
        plain = draw_against_truth(study, ["discrimination", DELTA], "")
        ratio = draw_against_truth(study, ["odds-ratio"], "")
    assert len(plain.axes) == len(ratio.axes) == 25
    panel = study[(study["deprived"] == 0.3) & (study["accepted"] == 0.9) & (study["metric"] == DELTA)]
    (line,) = (line for line in plain.axes[5 + 4].lines if line.get_gid() == "line-1")
    assert line.get_xdata().tolist() == panel["truth"].tolist()
    assert line.get_ydata().tolist() == panel["mean"].tolist()
    assert plain.axes[4].get_title(loc="left") == "P(+) = 0.9"
    assert plain.axes[5].get_ylabel() == "P(s=g) = 0.3"
    assert {ax.get_ylim() for ax in ratio.axes} == {ratio.axes[0].get_ylim()}
    for ax in ratio.axes:
        assert ax.get_yscale() == "log"
        marks = [offset for cloud in ax.collections for offset in np.asarray(cloud.get_offsets()).tolist()]
        assert sorted(x for x, _ in marks) == [-1, 1]
        (line,) = (line for line in ax.lines if line.get_gid() == "line-0")
        assert np.isnan(line.get_ydata()[[0, -1]]).all()
        assert np.isfinite(line.get_ydata()[1:-1]).all()
    shown = [text.get_text() for text in ratio.findobj(mpl.text.Text)]
    assert any("infinite" in text for text in shown)


# Mistakes


BAD = """\
name: bad
row: 10
runs: 0
deprived: [0.1, 1]
accepted: [0.5, 0.5]
truth: {from: 1, to: -1, steps: 3}
metrics: [discriminaton, accuracy, elift]
figures:
  one: [elift, discrimination]
  two: []
"""


def problems(path: Path, *overrides: str) -> list[str]:
    with pytest.raises(UserError) as caught:
        read_simulation(path, overrides)
    return [str(problem) for problem in caught.value.problems]


def test_all_mistakes_are_reported_at_once_with_their_lines(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(BAD)
    found = problems(path)
    texts = [
        'bad.yaml:2: error: unknown key "row"', "bad.yaml:3: error: runs must be at least 1",
        "bad.yaml:4: error: deprived must be below 1", "bad.yaml:5: error: value 0.5 is listed twice",
        "bad.yaml:6: error: truth: from 1 is not below to -1",
        'bad.yaml:7: error: unknown metric "discriminaton"',
        'bad.yaml:7: error: metric "accuracy" speaks of labels',
        'bad.yaml:9: error: figure "one" has ratios and other measures',
        'bad.yaml:10: error: figure "two" draws nothing',
    ]  # fmt: skip
    assert len(found) == len(texts), found
    for text, problem in zip(texts, found, strict=True):
        assert text in problem
        assert "\n  fix: " in problem
    assert 'did you mean "rows"?' in found[0]
    assert 'did you mean "discrimination"?' in found[5]


def test_a_figure_of_what_is_not_listed_is_reported_unless_a_metric_is_wrong(tmp_path):
    path = write_small(tmp_path / "small.yaml", figures={"one": ["discrimination", "phi"]})
    (only,) = problems(path, "metrics=[discrimination]")
    assert 'figure "one" draws phi, which the metrics do not list' in only
    (only,) = problems(path, "metrics=[discriminaton]")
    assert 'unknown metric "discriminaton"' in only


@pytest.mark.parametrize("width", [140, 80, 40])
def test_the_table_cuts_no_number_and_keeps_its_names(say, tmp_path, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    own = ["mann-whitney-u", "chi-squared-p", "one-class-accuracy"]
    path = write_small(tmp_path / "small.yaml", metrics=own, figures={}, rows=10_000, accepted=[0.3, 0.6])
    said = say("run", path, "-o", tmp_path / "out")
    table = said.out.split("\n\n")[0]
    assert max(map(len, table.splitlines())) <= width
    cells = "".join(table.split())
    assert "…" in cells
    if width > 40:
        summary = (tmp_path / "out" / "summary.md").read_text(encoding="utf-8")
        for row in summary.splitlines()[4:9]:
            for number in row.replace("…", " ").split("|"):
                for one in number.split():
                    assert one in table or set(one) <= set("-:"), one


def test_settings_are_laid_over_and_their_mistakes_stand_at_the_flag(tmp_path):
    path = write_small(tmp_path / "small.yaml")
    assert read_simulation(path, ("runs=7", "truth=[0.5]")).truth == (0.5,)
    assert problems(path, "truth.steps=1")[0].startswith("--set truth.steps: error: truth.steps must be")


def test_a_truth_in_steps_is_written_as_people_write_it(tmp_path):
    simulation = read_simulation(write_small(tmp_path / "a.yaml", truth={"from": -1, "to": 1, "steps": 21}))
    assert simulation.truth == tuple(step / 10 for step in range(-10, 11))


def test_an_experiment_is_sent_to_run_and_the_folder_of_a_run_is_left_alone(say, finished, tmp_path):
    said = say("simulate", finished.config)
    assert said.code == 2
    assert said.err.splitlines()[0].endswith("error: this is an experiment, not a simulation")
    before = files(finished.folder)
    said = say("run", write_small(tmp_path / "small.yaml"), "-o", finished.folder)
    assert said.code == 2
    assert "holds the results of a run" in said.err
    assert files(finished.folder) == before


def test_the_name_that_the_command_had_works_and_says_what_to_write(say, tmp_path):
    config = write_small(tmp_path / "small.yaml")
    said = say("run", config)
    named = say("simulate", config, "-o", tmp_path / "out")
    assert (named.code, named.out) == (0, said.out)
    assert "`fairbench simulate` is `fairbench run" in named.err
    assert "fairbench run" not in said.err
    assert files(tmp_path / "out") == files(tmp_path / "results/small")
    assert "simulate" not in say("--help").out


def test_what_means_nothing_to_a_simulation_is_refused(say, tmp_path):
    said = say("run", write_small(tmp_path / "small.yaml"), "--jobs", "2", "--only", "beta=0")
    assert said.code == 2
    assert re.findall("^(--[a-z]+): error: a simulation", said.err, re.MULTILINE) == ["--jobs", "--only"]
    assert not (tmp_path / "results").exists()


def test_a_quiet_simulation_says_nothing(say, tmp_path):
    said = say("run", write_small(tmp_path / "small.yaml"), "--quiet")
    assert (said.code, said.out, said.err) == (0, "", "")
    assert (tmp_path / "results/small/summary.md").exists()
