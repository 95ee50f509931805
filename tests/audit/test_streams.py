"""Slices that have an order: one stream, looked at after each of them."""

import json

import numpy as np
import pandas as pd
import pytest

from fairbench_cli.audit import audit
from fairbench_cli.measures.sequential import months_evidence

MONTHS = [f"2025-{month:02}" for month in range(1, 13)]


def decisions(ratios, n=150, m=350, rate=0.3, seed=0, months=MONTHS):
    """Return rows of two groups, month by month; `ratios` are those of "b" to "a"."""
    rng = np.random.default_rng(seed)
    frames = []
    for month, ratio in zip(months, np.broadcast_to(ratios, len(months)), strict=True):
        for group, rows, chance in (("a", m, rate), ("b", n, rate * ratio)):
            score = (rng.random(rows) < chance).astype(int)
            frames.append(pd.DataFrame({"month": month, "g": group, "score": score}))
    return pd.concat(frames, ignore_index=True)


def looked_at(frame, **options):
    return audit(frame, attributes=["g"], slice="month", draws=0, **options)


def counts_of(frame):
    """Return x, n, y, m of each month."""
    sums = frame.groupby(["month", "g"]).score.agg(["sum", "count"]).unstack().fillna(0)
    columns = (("sum", "b"), ("count", "b"), ("sum", "a"), ("count", "a"))
    return [sums[column].to_numpy() for column in columns]


@pytest.fixture(scope="module")
def late():
    """A gap that begins in the seventh month."""
    return decisions([1.0] * 6 + [0.55] * 6)


def test_each_look_says_what_an_audit_of_the_rows_so_far_says(late):
    whole = looked_at(late).report
    for look in (1, 6, 8, 11):
        so_far = looked_at(late[late.month <= MONTHS[look]]).report
        mine = [row for row in whole.disparities if row.model == MONTHS[look]]
        theirs = [row for row in so_far.disparities if row.model == MONTHS[look]]
        assert repr(mine) == repr(theirs)
        assert so_far.verdict == next(row.verdict for row in whole.verdicts if row.model == MONTHS[look])


def test_the_numbers_of_looks_are_those_of_the_evidence(late):
    report = looked_at(late).report
    evidence = months_evidence(*counts_of(late))
    looks = [row for row in report.streams.looks if row.metric == "selection-rate"]
    assert [row.model for row in looks] == MONTHS
    np.testing.assert_allclose([row.evidence for row in looks], np.exp(evidence.log_e), rtol=1e-9)
    np.testing.assert_allclose([row.p for row in looks], evidence.p, rtol=1e-9)
    assert looks[-1].since == "2025-07"
    since = late[late.month >= "2025-07"].groupby("g").score.mean()
    assert looks[-1].ratio_since == pytest.approx(since["b"] / since["a"])
    (together,) = [row for row in report.streams.together.disparities if row.group == "b" and row.deciding]
    assert looks[-1].ratio == together.ratio
    assert together.p_holm == together.p == looks[-1].p


def test_a_slice_keeps_its_own_p_as_a_description(late):
    report = looked_at(late).report
    alone = audit(late[late.month == MONTHS[8]], attributes=["g"], draws=0).report
    mine, theirs = (
        next(row for row in rows if row.group == "b" and row.deciding)
        for rows in ([row for row in report.disparities if row.model == MONTHS[8]], alone.disparities)
    )
    assert (mine.p, mine.ratio, mine.test) == (theirs.p, theirs.ratio, theirs.test)
    assert mine.p_holm != theirs.p_holm


def test_more_months_do_not_enlarge_the_family():
    frame = decisions(1.0).assign(sex=lambda frame: np.arange(len(frame)) % 3)
    found = {
        audit(frame[frame.month.isin(MONTHS[:n])], attributes=["g", "sex"], slice="month").report.family
        for n in (2, 5, 12)
    }
    assert found == {3}


def test_the_order_of_rows_within_a_month_does_not_matter(late):
    shuffled = late.sample(frac=1, random_state=1)
    assert looked_at(shuffled).to_json() == looked_at(late).to_json()


def test_the_gate_goes_by_the_stream(late):
    report = looked_at(late, fail=True).report
    assert report.gate.stops
    assert not looked_at(decisions(1.0), fail=True).report.gate.stops
    # One bad month of which the others know nothing.
    odd = looked_at(decisions([1.0] * 11 + [0.68], seed=1), fail_on=["selection-rate"]).report
    last_rows = [row for row in odd.disparities if row.model == MONTHS[-1] and row.deciding]
    (last,) = [row for row in last_rows if row.group == "b"]
    assert last.p < 0.05
    assert not odd.gate.stops


def test_a_group_that_is_not_in_the_last_month_is_not_forgotten(late):
    extra = decisions(0.4, n=200, m=1, seed=4, months=MONTHS[:9])
    frame = pd.concat([late.assign(score=0)[:0], decisions(1.0), extra[extra.g == "b"].assign(g="c")])
    report = looked_at(frame, ref={"g": "a"}, fail=True).report
    assert {row.group for row in report.disparities if row.model == MONTHS[-1]} == {"a", "b"}
    assert report.verdict == "fail"
    assert report.gate.stops
    document = json.loads(audit(frame, attributes=["g"], slice="month", ref={"g": "a"}, fail=True).to("ci"))
    assert [row["group"] for row in document["failing"]] == ["c"]


@pytest.mark.parametrize("options", [{"ref_method": "maximum"}, {"ref_method": "rest"}, {"ref": {"g": "b"}}])
def test_other_references(late, options):
    report = looked_at(late, **options).report
    assert report.verdict == "fail"
    assert report.family == {"maximum": 1, "rest": 2}.get(options.get("ref_method"), 1)
    three = pd.concat([late, decisions(1.0, n=1, seed=9).query("g == 'a'").assign(g="c")])
    report = looked_at(three, **options).report
    assert report.family == {"maximum": 3, "rest": 3}.get(options.get("ref_method"), 2)


def test_equal_weights_change_nothing_and_unequal_ones_leave_less(late):
    plain, equal = (
        looked_at(frame, **how).report.streams.looks
        for frame, how in ((late, {}), (late.assign(w=2.5), {"weight": "w"}))
    )
    np.testing.assert_allclose([row.evidence for row in equal], [row.evidence for row in plain])
    rng = np.random.default_rng(0)
    uneven = looked_at(late.assign(w=rng.lognormal(0, 1, len(late))), weight="w").report.streams.looks
    assert uneven[-1].most_evidence < plain[-1].most_evidence


def test_the_answer_says_how_often_was_looked_and_the_evidence(late):
    result = looked_at(late)
    text = " ".join(str(result).split())
    assert "Looked at 12 times; no number of looks makes this say more than 5 % false alarms." in text
    assert "Since 2025-07 the selection rate of b (g) is 0.63 times that of a; evidence" in text
    assert "(alarm at 20)." in text
    fair = " ".join(str(looked_at(decisions(1.0))).split())
    assert "Most evidence, on the selection rate of b (g): " in fair
    assert " of 20." in fair
    assert len(result.to_pandas("looks")) == len(result.report.streams.looks)


def test_slices_without_order_and_the_rule_of_points_have_no_looks(late):
    named = late.assign(month="m" + late.month.str[-2:])
    assert looked_at(named).report.streams is None
    assert looked_at(late, rule="point").report.streams is None
    assert "Looked at" not in str(looked_at(named))


def test_a_long_fair_past_does_not_hide_what_came_after_it() -> None:
    """After 24 fair months the ratio of all rows stays within the limits; that since then does not."""
    rng = np.random.default_rng(8)
    frames = []
    for month in range(36):
        sex = rng.choice(["F", "M"], 1000, p=[0.4, 0.6])
        chance = np.where((sex == "F") & (month >= 24), 0.2, 0.3)
        score = (rng.random(1000) < chance).astype(int)
        frames.append(pd.DataFrame({"month": f"{month:02d}", "sex": sex, "score": score}))
    result = audit(pd.concat(frames), score="score", ref={"sex": "M"}, slice="month")
    (last,) = [
        look for look in result.report.streams.looks if look.looks == 36 and look.metric == "selection-rate"
    ]
    assert last.ratio.value > 0.8 > last.ratio_since
    assert last.since in {"23", "24", "25"}
    assert result.verdict == "fail"
