"""Wins, ties, losses and mean ranks over data sets are those that their pairs and means give."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from report.worlds_run import NOBODY, Rule, invented
from scipy import stats
from statsmodels.stats.multitest import multipletests

from fairbench_cli.report.ledger.data_set_ranks import RANK_COLUMNS, has_many_cases, ranks_frame
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show.answer_text import answer_document
from fairbench_cli.report.show.data_set_ranks import ranks_table

PLACES = ("bank", "shop", "school", "court")
RULES = {
    "none": Rule((0.4, 0.9)),
    "massaging": Rule((0.7, 0.9)),
    "reweighing": Rule((0.45, 0.9)),
    "relabelling": Rule((0.85, 0.9)),
}
REPEATS = 5


def run_of(rules: dict, datasets=PLACES) -> RunResults:
    """A run without worlds in which techniques decide by rules, in every data set alike."""
    return invented({name: {("", 0.0): rule} for name, rule in rules.items()}, datasets, REPEATS)


@pytest.fixture(scope="module")
def run() -> RunResults:
    return run_of(RULES)


def distances_of(run: RunResults, metric: str) -> dict[tuple[str, str], np.ndarray]:
    """The distances to the ideal by data set and technique, repeat by repeat."""
    ideal = {"discrimination": 0.0, "accuracy": 1.0}[metric]
    rows = run.results.rows
    of_metric = rows[rows["metric"] == metric]
    keys = zip(of_metric["dataset"], of_metric["intervention"], strict=True)
    return dict(zip(keys, np.abs(run.results.values[of_metric.index] - ideal), strict=True))


@pytest.mark.gate
@pytest.mark.parametrize("metric", ["discrimination", "accuracy"])
def test_wins_and_ranks_are_those_of_the_pairs(run: RunResults, metric: str):
    distances = distances_of(run, metric)
    wins = dict.fromkeys(RULES, 0)
    losses = dict.fromkeys(RULES, 0)
    for place in PLACES:
        pairs = list(combinations(RULES, 2))
        tests = [stats.ttest_rel(distances[place, ours], distances[place, theirs]) for ours, theirs in pairs]
        is_shown = multipletests([test.pvalue for test in tests], method="holm")[0]
        for (ours, theirs), test, shown in zip(pairs, tests, is_shown, strict=True):
            if shown:
                winner, loser = (ours, theirs) if test.statistic < 0 else (theirs, ours)
                wins[winner] += 1
                losses[loser] += 1
    means = np.array([[distances[place, name].mean() for name in RULES] for place in PLACES])
    mean_ranks = dict(zip(RULES, stats.rankdata(means, axis=1).mean(axis=0), strict=True))
    frame = ranks_frame(run)
    assert [*frame.columns] == RANK_COLUMNS
    frame = frame[frame["metric"] == metric].set_index("technique")
    assert frame["wins"].to_dict() == wins
    assert frame["losses"].to_dict() == losses
    assert (frame[["wins", "ties", "losses"]].sum(axis=1) == len(PLACES) * (len(RULES) - 1)).all()
    assert frame["mean_rank"].to_dict() == pytest.approx(mean_ranks)
    assert (frame["cases"] == len(PLACES)).all()
    assert (frame["high"] - frame["low"] <= frame["critical_difference"] + 1e-12).all()


def test_the_table_has_the_numbers_of_the_file_and_the_answer_the_best(run: RunResults):
    frame = ranks_frame(run)
    gap = frame[frame["metric"] == "discrimination"].reset_index(drop=True)
    assert gap["technique"].tolist() == ["relabelling", "massaging", "reweighing", "none"]
    (section,) = ranks_table("ranks", run).sections
    for row, (_, expected) in zip(section.tables[0].rows, gap.iterrows(), strict=True):
        assert row[0].text == expected["technique"]
        assert row[1].text == f"{expected['wins']}–{expected['ties']}–{expected['losses']}"
        assert row[2].value == pytest.approx(expected["mean_rank"])
    assert gap["p"][0] < 0.05
    text = "Mean ranks by discrimination over 4 data sets differ; relabelling has the lowest, 1.0 of 4."
    assert text in answer_document(run).notes
    assert text not in answer_document(run, brief=True).notes  # one technique is named on a screen


def test_who_decides_the_same_for_everybody_is_not_ranked():
    run = run_of(RULES | {"refuser": NOBODY}, PLACES[:3])
    frame = ranks_frame(run)
    assert set(frame["technique"]) == set(RULES)
    facts = ranks_table("ranks", run).facts
    assert any(fact.startswith("Not ranked: refuser") for fact in facts)


def test_two_data_sets_are_too_few():
    run = run_of(RULES, PLACES[:2])
    assert not has_many_cases(run.plan)
    assert ranks_frame(run) is None
    assert ranks_table("ranks", run).sections == ()


def test_the_same_run_has_the_same_bytes(run: RunResults):
    pd.testing.assert_frame_equal(ranks_frame(run), ranks_frame(run_of(RULES)))
