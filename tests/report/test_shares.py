"""Who accepts another share of people, at which gap of the possible one, and what becomes of levels."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from report.answer_run import LABELS, PLAIN, ROWS, run_of

from fairbench_cli.document.markdown import markdown
from fairbench_cli.measures.counts import PAIR, Counts
from fairbench_cli.measures.registry import measure
from fairbench_cli.measures.thresholds import RATES
from fairbench_cli.report.ledger.results import RunResults, run_results
from fairbench_cli.report.ledger.shares import LEAST_ROWS, shares_frame
from fairbench_cli.report.show.answer_text import answer_document

SAYS = " accepts "


def run_with(techniques: dict, **keys: object) -> RunResults:
    plan, records = run_of({"bank": techniques}, **keys)
    return run_results(Path(), plan, records, ("discrimination", "accuracy"))


def row_of(run: RunResults, technique: str) -> dict:
    frame = shares_frame(run)
    (row,) = frame[frame["intervention"] == technique].to_dict("records")
    return row


def lines_of(run: RunResults) -> list[str]:
    """What a console says of shares."""
    return [line for line in answer_document(run, brief=True).notes if SAYS in line or "among" in line]


def test_refusing_some_at_random_accepts_fewer_at_the_same_share_of_the_possible_gap():
    (women, men), accuracy = PLAIN
    run = run_with({"none": PLAIN, "random": ((0.6 * women, 0.6 * men), accuracy)})
    row = row_of(run, "random")
    assert row["differs"]
    assert row["share_difference"] == pytest.approx(-0.4 * (women + men) / 2, abs=0.005)
    assert row["delta"] == pytest.approx(row_of(run, "none")["delta"], abs=0.02)
    assert row["share_high"] < 0
    assert row["delta_low"] < 0 < row["delta_high"]
    (line,) = lines_of(run)
    assert line.startswith("On bank random accepts 19.")
    assert " % instead of 32." in line
    assert "(gap: " in line
    text = markdown(answer_document(run))
    assert "accepts, %" in text
    assert "by more than the margin" in text


@pytest.mark.parametrize("betas", [(0.0,), (0.0, 1.0)])
def test_where_all_accept_as_many_nothing_is_said(betas):
    run = run_with({"none": PLAIN, "massaging": ((0.31, 0.34), 0.78)}, betas=betas)
    assert not shares_frame(run)["differs"].any()
    assert not lines_of(run)
    assert "accepts" not in markdown(answer_document(run))


def test_a_difference_below_the_margin_is_not_told_and_the_config_moves_the_margin():
    techniques = {"none": PLAIN, "massaging": ((0.29, 0.44), 0.8)}
    run = run_with(techniques)
    assert row_of(run, "massaging")["differs"]
    wide = run_with(techniques, margin={"acceptance-rate": 0.06})
    assert row_of(wide, "massaging")["share_low"] > 0
    assert not lines_of(wide)


def test_one_repeat_says_nothing_and_who_accepts_everybody_is_said_to():
    assert not lines_of(run_with({"none": PLAIN, "random": ((0.1, 0.1), 0.7)}, repeats=1))
    run = run_with({"none": PLAIN, "massaging": ((1.0, 1.0), 0.3)})
    row = row_of(run, "massaging")
    assert (row["share"], row["differs"]) == (1, True)
    assert np.isnan(row["delta"])
    assert not lines_of(run)
    text = markdown(answer_document(run))
    assert "Accepts everybody (6 of 6 repeats): massaging." in text
    assert "100.0 (δ –, κ 0.00)" in text


def test_a_sweep_is_read_at_the_share_of_none():
    """Thresholds that accept at every rate as many of all groups and labels: no gap at any share."""
    plan, records = run_of({"bank": {"none": PLAIN, "massaging": ((0.5, 0.5), 0.8)}}, sweep="acceptance-rate")
    labelled = ROWS * np.array([[1 - label, label] for label in LABELS])
    swept = np.stack([np.stack([(1 - rate) * labelled, rate * labelled], axis=-1) for rate in RATES])
    run_records = {key: replace(one, swept=Counts(PAIR, swept)) for key, one in records.items()}
    run = run_results(Path(), plan, run_records, ("discrimination", "accuracy"))
    none, row = row_of(run, "none"), row_of(run, "massaging")
    own = np.stack([one.counts.n for (key, _), one in records.items() if "none" in key])
    assert none["gap_at_share"] == pytest.approx(measure("discrimination", Counts(PAIR, own)).mean())
    assert row["gap_at_share"] == pytest.approx(0, abs=1e-12)
    right = none["share"] * np.mean(LABELS) + (1 - none["share"]) * (1 - np.mean(LABELS))
    assert row["accuracy_at_share"] == pytest.approx(right)
    (line,) = lines_of(run)
    assert "(at the same share: gap 14.6 → 0.0, accuracy 79.9 → 56.2)" in line


def test_of_several_levels_the_largest_gap_is_told_before_and_after_but_not_of_a_handful_of_people():
    levels = ("Black", "Hispanic", "White", "few")
    race = {"name": "race", "levels": levels, "deprived": levels[:1], "favoured": levels[1:]}
    plan, records = run_of({"bank": {"none": PLAIN, "massaging": PLAIN}})
    plan = replace(plan, datasets=[plan.datasets[0] | {"protected": [race], "attribute": "race"}])
    cells = [cell | {"attribute": "race"} for cell in plan.cells]
    rates = {"none": (0.2, 0.3, 0.4, 1.0), "massaging": (0.35, 0.15, 0.4, 1.0)}
    made = {}
    for (key, repeat), one in records.items():
        accepted = np.array(rates[key.split("-")[1]]) * (1000, 1000, 1000, LEAST_ROWS - 1)
        n = np.zeros((4, 2, 2))
        n[:, 0, 1] = accepted
        n[:, 1, 0] = np.array((1000, 1000, 1000, LEAST_ROWS - 1)) - accepted
        made[key, repeat] = replace(one, counts=Counts(levels, n))
    run = run_results(Path(), replace(plan, cells=cells), made, ("discrimination", "accuracy"))
    (line,) = lines_of(run)
    assert line == (
        "race on bank: largest gap in acceptance measured among 3 levels 20.0 (Black against White) → "
        "25.0 points with massaging (Hispanic against White)."
    )
    assert "largest gap of levels" in markdown(answer_document(run))
