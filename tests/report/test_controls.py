"""What controls say: rates with their intervals, over runs too, and sentences."""

import re

import numpy as np
import pandas as pd
import pytest
from conftest import fairbench, most_by_chance, worlds, write_config
from scipy import stats

from fairbench_cli.report.ledger.controls import COLUMNS, ControlRates, compute_rates, rate_interval
from fairbench_cli.report.show.controls_text import describe_placebos, describe_rates


def frame_of(
    words: list[str], control: str = "noise twins", dataset: str = "d", **columns: object
) -> pd.DataFrame:
    """Rows of controls.csv whose differences are all distinct, unless they are given."""
    frame = pd.DataFrame({"word": words}).reindex(columns=COLUMNS)
    frame["difference"] = np.random.default_rng(len(words)).normal(size=len(words))
    frame["control"] = control
    frame["dataset"] = dataset
    frame["attribute"] = "sex"
    frame["technique"] = ""
    return frame.assign(**columns)


def test_the_sentence_of_a_quickstart():
    words = ["better"] + ["not shown"] * 15 + ["same"] * 2
    planted = frame_of(["shown"] * 8 + ["not shown"], "planted effect")  # says nothing of techniques
    rates = compute_rates([pd.concat([frame_of(words), planted])])
    assert " ".join(describe_rates(rates)) == (
        "Of 18 comparisons of models that differ by chance alone 1 was called different (5.6 %; 95 % "
        "interval 0.6 to 37 %)."
    )


def test_what_cannot_be_compared_is_no_comparison():
    rates = compute_rates([frame_of(["constant", "no value", "untested", "worse", "not shown"])])
    assert (rates.n_compared, rates.n_different) == (2, 1)
    empty = compute_rates([frame_of([])])
    assert empty.n_compared == 0
    assert not empty.fails
    assert describe_rates(empty) == ["No control could be tested: that takes two repeats with a value."]


def test_controls_fail_only_where_the_interval_is_above_five_per_cent():
    assert compute_rates([frame_of(["better"] * 12 + ["not shown"] * 12)]).fails
    assert not compute_rates([frame_of(["better"] * 2 + ["not shown"] * 12)]).fails


def test_the_same_control_of_two_runs_or_attributes_counts_once():
    one = frame_of(["better", "not shown", "not shown"])
    other_attribute = one.iloc[1:].assign(attribute="race")
    assert compute_rates([one, one]).n_compared == 3
    assert compute_rates([pd.concat([one, other_attribute])]).n_compared == 3
    assert compute_rates([one, one.assign(difference=[7.0, 8.0, 9.0])]).n_compared == 6


def test_the_interval_is_wilsons_at_the_number_of_independent_comparisons():
    def wilson(x: float, n: float) -> tuple[float, float]:
        z = stats.norm.ppf(0.975)
        middle = (x + z**2 / 2) / (n + z**2)
        half = z / (n + z**2) * np.sqrt(x * (n - x) / n + z**2 / 4)
        return middle - half, middle + half

    few = rate_interval(np.array([2.0, 0.0]), np.array([20, 20]))
    assert few == pytest.approx(wilson(1, 20))  # of fewer than ten units half of them
    # Ten units, two of which are called different throughout: all comparisons of a unit are one.
    different = np.array([6.0, 6.0] + [0.0] * 8)
    clumped = rate_interval(different, np.full(10, 6))
    share = 0.2
    dependence = ((different - share * 6) ** 2).sum() / (60 * share * (1 - share))
    assert dependence == pytest.approx(6)
    assert clumped == pytest.approx(wilson(2, 10))
    # Spread evenly they are no fewer than they are.
    assert rate_interval(np.ones(12), np.full(12, 5)) == pytest.approx(wilson(12, 60))
    assert rate_interval(np.zeros(12), np.full(12, 5))[0] == 0
    assert rate_interval(np.full(12, 5.0), np.full(12, 5))[0] > 0.9


def test_independent_comparisons_are_covered():
    rng, n_covered, runs = np.random.default_rng(1), 0, worlds(2000)
    for _ in runs:
        different = rng.binomial(6, 0.05, 20).astype(float)
        low, high = rate_interval(different, np.full(20, 6))
        n_covered += low <= 0.05 <= high
    assert len(runs) - n_covered <= most_by_chance(len(runs), 0.05)


def test_placebos_are_told_apart_from_false_findings():
    rows = frame_of(
        ["better", "not shown"], "placebo", technique=["repair", "massaging"], metric="discrimination"
    )
    rows["distance_difference"] = [-0.006, 0.001]
    assert compute_rates([rows]).n_compared == 0
    told = describe_placebos(rows)
    assert told[0] == (
        "With the protected column shuffled in training repair still narrows the gap by 0.6 points (d): that "
        "part is not about the groups."
    )
    assert told[1].endswith("no narrowing is shown of 1 other technique.")


def test_shares_are_written_as_short_as_they_can_be():
    assert "(0 %; 95 % interval 0 to 35 %)" in describe_rates(ControlRates(14, 0, 0.0, 0.354))[0]
    assert "none were" in describe_rates(ControlRates(14, 0, 0.0, 0.354))[0]


def test_two_runs_are_added_up_where_they_are_compared(tmp_path):
    keys = {"controls": True, "repeats": 3, "interventions": ["none"]}
    config = write_config(tmp_path / "one.yaml", **keys)
    for seed in (1, 2):
        done = fairbench("run", config, "-o", tmp_path / str(seed), "-j", "1", "-q", "--set", f"seed={seed}")
        assert done.returncode == 0, done.stderr
    both = fairbench("compare", tmp_path / "1", tmp_path / "2", COLUMNS="200")
    text = " ".join(both.stdout.split())
    assert re.search(
        r"Controls of both runs: Of 8 comparisons of models that differ by chance alone", text
    ), text
    again = fairbench("run", config, "-o", tmp_path / "again", "-j", "1", "-q", "--set", "seed=1")
    assert again.returncode == 0
    same = fairbench("compare", tmp_path / "1", tmp_path / "again", COLUMNS="200")
    assert "Of 4 comparisons" in " ".join(same.stdout.split())
