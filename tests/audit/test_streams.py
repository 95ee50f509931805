"""Slices that have an order: one stream, looked at after each of them."""

import contextlib
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import study_of, two_lines
from measures.test_sequential import months_evidence

from fairbench_cli.audit import audit
from fairbench_cli.measures.margin import Margin
from fairbench_cli.measures.moments import sum_powers_along
from fairbench_cli.measures.number_evidence import (
    EQUAL,
    look_at_means,
    margin_edges,
    split_log_likelihoods,
    sum_since,
)
from fairbench_cli.measures.splits import needs_splits

REFERENCE = Path(__file__).parents[1] / "reference" / "months"
STREAMS = json.loads((REFERENCE / "rate_months.json").read_text())["streams"]
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


@pytest.fixture(scope="module")
def late_audit(late):
    """The audit of it, for all who only read it."""
    return looked_at(late)


@pytest.mark.gate
def test_each_look_says_what_an_audit_of_the_rows_so_far_says(late, late_audit):
    whole = late_audit.report
    for look in (1, 6, 8, 11):
        so_far = looked_at(late[late.month <= MONTHS[look]]).report
        mine = [row for row in whole.disparities if row.model == MONTHS[look]]
        theirs = [row for row in so_far.disparities if row.model == MONTHS[look]]
        assert repr(mine) == repr(theirs)
        assert so_far.verdict == next(row.verdict for row in whole.verdicts if row.model == MONTHS[look])


def looks_at_rates(frame, **options):
    return [row for row in looked_at(frame, **options).report.streams.looks if row.metric == "selection-rate"]


@pytest.mark.parametrize("golden", STREAMS, ids=[stream["name"] for stream in STREAMS])
def test_a_stream_that_is_read_has_the_p_of_another_implementation(golden, tmp_path):
    counts = {"b": (golden["above"], golden["rows"]), "a": (golden["ref_above"], golden["ref_rows"])}
    frames = []
    for group, (above, rows) in counts.items():
        for score, n in ((1, above), (0, np.subtract(rows, above))):
            frames.append(pd.DataFrame({"month": range(1, len(n) + 1), "g": group, "score": score, "n": n}))
    frame = pd.concat(frames).sort_values("month")
    frame[frame.n > 0].to_csv(tmp_path / "months.csv", index=False)
    looks = looks_at_rates(str(tmp_path / "months.csv"), ref={"g": "a"}, counts="n")
    of_months = np.exp(golden["log_e_months"])
    plain = months_evidence(*counts["b"], *counts["a"])
    by_months = (np.array(golden["df"]) < 6) | (np.minimum.accumulate(golden["p_same"]) < 0.2)
    p = np.where(by_months, 1 / np.maximum(np.maximum.accumulate(of_months), 1), plain.p)
    start = np.where(by_months, golden["start"], plain.start + 1)
    for name, values in (
        ("p_same", golden["p_same"]),
        ("months_evidence", of_months),
        ("evidence", np.exp(plain.log_e)),
        ("p", p),
        ("since", start),
        ("by_months", by_months),
    ):
        found = [float(getattr(look, name)) for look in looks]
        np.testing.assert_allclose(found, np.asarray(values)[-len(looks) :], rtol=1e-9, err_msg=name)


def test_the_numbers_of_looks_are_those_of_the_evidence(late, late_audit):
    report = late_audit.report
    looks = [row for row in report.streams.looks if row.metric == "selection-rate"]
    assert [row.model for row in looks] == MONTHS
    since = late[late.month >= looks[-1].since].groupby("g").score.mean()
    assert looks[-1].ratio_since == pytest.approx(since["b"] / since["a"])
    (together,) = [row for row in report.streams.together.disparities if row.group == "b" and row.deciding]
    assert looks[-1].ratio == together.ratio
    assert together.p_holm == together.p == looks[-1].p
    alike = looks_at_rates(late, months="alike")
    assert alike[-1].since == "2025-07"
    evidence = months_evidence(*counts_of(late))
    for rows in (looks, alike):
        np.testing.assert_allclose([row.evidence for row in rows], np.exp(evidence.log_e), rtol=1e-9)
    np.testing.assert_allclose([row.p for row in alike], evidence.p, rtol=1e-9)


@pytest.mark.gate
def test_months_that_are_clusters_may_always_differ(late, say, tmp_path):
    as_clusters = looks_at_rates(late, cluster="month")
    assert as_clusters == looks_at_rates(late, months="differ")
    assert all(look.by_months for look in as_clusters)
    late.to_csv(tmp_path / "late.csv", index=False)
    flags = ("audit", "late.csv", "-a", "g", "--months", "alike")
    two_lines(say(*flags), "--months", "months has no effect", "give slice")
    two_lines(say(*flags, "--slice", "month", "--cluster", "month"), "--months", "leave one of the two out")


def test_a_slice_keeps_its_own_p_as_a_description(late, late_audit):
    report = late_audit.report
    alone = audit(late[late.month == MONTHS[8]], attributes=["g"], draws=0).report
    mine, theirs = (
        next(row for row in rows if row.group == "b" and row.deciding)
        for rows in ([row for row in report.disparities if row.model == MONTHS[8]], alone.disparities)
    )
    assert (mine.p, mine.ratio, mine.test) == (theirs.p, theirs.ratio, theirs.test)
    assert mine.p_holm != theirs.p_holm


@pytest.mark.gate
def test_more_months_do_not_enlarge_the_family():
    frame = decisions(1.0).assign(sex=lambda frame: np.arange(len(frame)) % 3)
    found = {
        audit(frame[frame.month.isin(MONTHS[:n])], attributes=["g", "sex"], slice="month").report.family
        for n in (2, 5, 12)
    }
    assert found == {3}


@pytest.mark.gate
def test_the_order_of_rows_within_a_month_does_not_matter(late, late_audit):
    shuffled = late.sample(frac=1, random_state=1)
    assert looked_at(shuffled).to_json() == late_audit.to_json()


@pytest.mark.gate
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


@pytest.mark.gate
def test_a_group_that_is_not_in_the_last_month_is_not_forgotten(late):
    extra = decisions(0.4, n=200, m=1, seed=4, months=MONTHS[:9])
    frame = pd.concat([late.assign(score=0)[:0], decisions(1.0), extra[extra.g == "b"].assign(g="c")])
    report = looked_at(frame, ref={"g": "a"}, fail=True).report
    assert {row.group for row in report.disparities if row.model == MONTHS[-1]} == {"a", "b"}
    assert report.verdict == "fail"
    assert report.gate.stops
    document = json.loads(audit(frame, attributes=["g"], slice="month", ref={"g": "a"}, fail=True).to("ci"))
    assert [row["group"] for row in document["failing"]] == ["c"]


@pytest.mark.gate
@pytest.mark.parametrize("options", [{"ref_method": "maximum"}, {"ref_method": "rest"}, {"ref": {"g": "b"}}])
def test_other_references(late, options):
    report = looked_at(late, **options).report
    assert report.verdict == "fail"
    assert report.family == {"maximum": 1, "rest": 2}.get(options.get("ref_method"), 1)
    three = pd.concat([late, decisions(1.0, n=1, seed=9).query("g == 'a'").assign(g="c")])
    report = looked_at(three, **options).report
    assert report.family == {"maximum": 3, "rest": 3}.get(options.get("ref_method"), 2)


@pytest.mark.gate
def test_equal_weights_change_nothing_and_unequal_ones_leave_less(late, late_audit):
    plain = late_audit.report.streams.looks
    equal = looked_at(late.assign(w=2.5), weight="w").report.streams.looks
    np.testing.assert_allclose([row.evidence for row in equal], [row.evidence for row in plain])
    rng = np.random.default_rng(0)
    uneven = looked_at(late.assign(w=rng.lognormal(0, 1, len(late))), weight="w").report.streams.looks
    assert uneven[-1].most_evidence < plain[-1].most_evidence


@pytest.mark.gate
def test_the_answer_says_how_often_was_looked_and_the_evidence(late, late_audit):
    text = " ".join(str(late_audit).split())
    assert "As if looked at after each month: at most 5 % false alarms, however many looks." in text
    assert "Months may differ (p 0.082). Since 2025-01 the selection rate of b (g) is 0.77 times" in text
    assert "evidence 45 (alarm at 20), more than independent months differ; causes that last for" in text
    assert "Trend, of this look alone and not covered by the 5 %: selection rate of b (g) falls." in text
    alike = " ".join(str(looked_at(late, months="alike")).split())
    assert "Since 2025-07 the selection rate of b (g) is 0.63 times that of a; evidence" in alike
    assert "(alarm at 20), as if months had no effect of their own (p of that 0.082)." in alike
    fair = " ".join(str(looked_at(decisions(1.0, seed=1))).split())
    assert "Most evidence, on the selection rate of b (g): " in fair
    assert "of 20, as if months had no effect of their own (p of that 0." in fair
    assert len(late_audit.to_pandas("looks")) == len(late_audit.report.streams.looks)
    look, *_ = json.loads(late_audit.to_json())["slices"]["looks"]
    assert (look["looks"], look["since"], look["by_months"]) == (12, "2025-01", True)


@pytest.mark.gate
def test_slices_without_order_and_the_rule_of_points_have_no_looks(late):
    named = looked_at(late.assign(month="m" + late.month.str[-2:]))
    assert named.report.streams is None
    assert looked_at(late, rule="point").report.streams is None
    assert "looks" not in json.loads(named.to_json())["slices"]
    assert "looked at" not in str(named)


def crowded(ratio, schools, rows, seed=0, *, comes_again=False):
    """Return months of rows in schools, which are alike within; each school has rows of both groups."""
    rng = np.random.default_rng(seed)
    frames = []
    for i, month in enumerate(MONTHS):
        for school in range(schools):
            chance = np.clip(0.35 + 0.12 * rng.standard_normal(), 0.05, 0.9)
            group = np.where(rng.random(rows) < rng.beta(2, 2), "b", "a")
            score = (rng.random(rows) < np.where(group == "b", chance * ratio, chance)).astype(int)
            name = f"s{school if comes_again else i * schools + school}"
            frames.append(pd.DataFrame({"month": month, "g": group, "score": score, "school": name}))
    return pd.concat(frames, ignore_index=True)


@pytest.mark.gate
def test_clusters_of_one_row_each_are_rows(late, late_audit):
    own = late.assign(who=np.arange(len(late)))
    assert looked_at(own, cluster="who").report.streams.looks == late_audit.report.streams.looks


@pytest.mark.gate
def test_a_cluster_that_comes_again_adds_to_itself():
    frame = crowded(0.6, schools=25, rows=12, comes_again=True)
    twice = pd.concat([frame, frame.assign(month="2026" + frame.month.str[4:])], ignore_index=True)
    looks, plain = (
        [row for row in looked_at(twice, **how).report.streams.looks if row.metric == "selection-rate"]
        for how in ({"cluster": "school"}, {})
    )
    # The same rows of the same schools say nothing new, though there are twice as many.
    assert looks[-1].evidence < 1.6 * looks[11].evidence
    assert plain[-1].evidence > 1e3 * plain[11].evidence
    assert looks[-1].since == MONTHS[0]


@pytest.mark.gate
def test_before_twenty_clusters_there_is_no_evidence():
    audit = looked_at(crowded(0.4, schools=6, rows=40), cluster="school")
    assert "| beyond |" in audit.to("markdown")
    looks = audit.report.streams.looks
    of_rate = [row for row in looks if row.metric == "selection-rate"]
    assert [row.evidence for row in of_rate[:3]] == [1.0, 1.0, 1.0]
    assert of_rate[-1].evidence > 20
    assert np.isinf(of_rate[2].ratio.high)
    assert np.isfinite(of_rate[5].ratio.high)


@pytest.mark.gate
@pytest.mark.parametrize("options", [{"ref_method": "rest"}, {"ref_method": "maximum"}, {"ref": {"g": "a"}}])
def test_clusters_with_other_references(options):
    frame = crowded(0.5, schools=8, rows=40)
    frame.loc[frame.index % 9 == 0, "g"] = "c"
    report = looked_at(frame, cluster="school", **options).report
    (b,) = [row for row in report.streams.together.disparities if row.group == "b" and row.deciding]
    assert b.verdict == "fail"
    assert b.ratio.low < b.ratio.value < b.ratio.high


@pytest.mark.gate
@pytest.mark.parametrize("options", [(), ("--outcome", "number", "--margin", ".1")])
def test_a_second_column_of_clusters_is_refused_in_an_order(say, tmp_path, options):
    frame = crowded(0.5, schools=8, rows=40).assign(teacher=lambda frame: frame.index % 40)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    flags = ("audit", "rows.csv", "-a", "g", *options)
    school = ("--cluster", "school")
    both = (*school, "--cluster", "teacher")
    two_lines(say(*flags, "--slice", "month", *both), "--cluster", "not of two", " ".join(school))
    assert say(*flags, "--slice", "month", *school).code == 0
    frame.assign(month="m" + frame.month.str[-2:]).to_csv(tmp_path / "rows.csv", index=False)
    assert say(*flags, "--slice", "month", *both).code == 0


@pytest.mark.nightly
def test_the_study_of_levels_prints_its_tables():
    study = study_of("levels_months")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        study.print_fair(12)
        study.print_delays(4)
        study.print_limits(2)
        study.print_clusters(2)
        study.print_weights(1)
        study.print_scatter(2)
        study.print_late(2)
        study.print_numbers(1)
        study.print_number_delays(1)
        study.print_whole(1)
    lines = printed.getvalue().splitlines()
    rows = [line.split(" | ") for line in lines if line.startswith("| 150 v 350, .3")]
    assert float(rows[0][3].split()[0]) <= 0.25  # of twelve fair worlds, by month 60
    assert [line for line in lines if "audits differ" in line and ": 0 of 1 audits" not in line] == []


@pytest.mark.gate
def test_the_study_of_levels_sees_of_numbers_what_an_audit_does():
    study = study_of("levels_months")
    world = study.NumberWorld("a gap from month 4 on", (study.normal, study.normal), 30, 70, 0.1, 0.3, 4)
    both = world.draw(study.rng_of(world.name))
    found = study.number_looks(*(side[:12] for side in both))
    for look in (5, 8, 12):
        sides = [sum_powers_along(side[:look], shift=1.0) for side in both]
        since = sum_since(*sides)
        edges = margin_edges(Margin(5, "percent"), sides[1].merge())
        pairs = list(zip(both[0][:look], both[1][:look], strict=True))
        likelihoods = split_log_likelihoods(pairs, since, needs_splits(*sides), (EQUAL, *edges))
        for (alarm, fails), months in zip(found, ("alike", None), strict=True):
            whole = look_at_means(since, likelihoods, edges, 0.05, months)
            assert (alarm[look - 1], fails[look - 1]) == (whole.p < 0.05, whole.p < 0.05 and whole.is_beyond)
    assert [fails.any() for _, fails in found] == [True, True]


@pytest.mark.gate
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
