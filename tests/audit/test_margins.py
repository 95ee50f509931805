"""Margins: differences of rates that are allowed, in the place of ratios."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from audit_counts import slice_of
from conftest import most_by_chance, worlds
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError
from scipy.stats import binom
from statsmodels.stats.proportion import confint_proportions_2indep

from fairbench_cli.audit.api import audit
from fairbench_cli.audit.compare.compare_rates import (
    Allowed,
    adjust_tests,
    compare_slice,
    compute_tests,
    difference_limits,
)
from fairbench_cli.audit.compare.effective_sizes import RateRows
from fairbench_cli.audit.compare.verdict import decide_difference, margin_of, tau_of
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.margins import Margin, read_margin, read_rate_margin, write_margin
from fairbench_cli.audit.options import read_config
from fairbench_cli.audit.planning import plan
from fairbench_cli.audit.show.headline import headline
from fairbench_cli.base.errors import UserError
from fairbench_cli.base.strict_yaml import dump_yaml
from fairbench_cli.measures.power import Criterion, TwoGroups, rows_needed
from fairbench_cli.measures.score_test import difference_interval, difference_outside_p, equal_rates
from fairbench_cli.measures.sequential import ratio_looks

RATE = ("selection-rate",)
ORDER = {"fail": 0, "undecided": 1, "pass": 2}
NAN = math.nan


def rate_rows(selected, total):
    """Return whole rows, an audit of one rate each."""
    numerator = np.asarray(selected, dtype=float)[:, None]
    denominator = np.broadcast_to(np.asarray(total, dtype=float), numerator.shape)
    return RateRows(numerator, denominator, np.zeros(numerator.shape, bool), numerator, denominator)


def margin_tests(selected, n, ref_selected, m, margin):
    """Return the tests of many groups, each with a reference of its own."""
    rows = rate_rows(selected, n)
    ref = rate_rows(ref_selected, m)
    compared = np.ones(rows.numerator.shape, bool)
    allowed = Allowed(np.array([NAN]), np.array([margin]))
    return compute_tests(RATE, np.array([0]), rows, ref, compared, allowed, 0.95)


def comparison(groups, config, group="b"):
    """Return a comparison of the selection rate: groups are (selected, not selected)."""
    cells = {name: (selected, 0.0, 0.0, missed) for name, (selected, missed) in groups.items()}
    frame = slice_of(cells, labelled=False)
    table = compare_slice(frame, RATE, config)
    (evidence,) = adjust_tests([table.tests], [frozenset(RATE)], config)
    g = frame.counts.groups.index(group)
    point, verdict, reason = table.decide(evidence, g, 0)
    return point, verdict, reason, table, evidence, g


# -- what is read


@pytest.mark.parametrize(
    ("given_value", "margin", "text"),
    [
        (0.05, Margin(0.05, "units"), "0.05"),
        ("1500", Margin(1500, "units"), "1,500"),
        ("1e3", Margin(1000, "units"), "1,000"),
        (".5", Margin(0.5, "units"), "0.5"),
        ("5%", Margin(5, "percent"), "5 %"),
        (" 5 % ", Margin(5, "percent"), "5 %"),
        ("2.5 percent", Margin(2.5, "percent"), "2.5 %"),
        ("0.2sd", Margin(0.2, "sd"), "0.2 sd"),
        ("0.2 SD", Margin(0.2, "sd"), "0.2 sd"),
    ],
)
def test_a_margin_is_read_and_written(given_value, margin, text):
    assert read_margin(given_value) == margin
    assert str(margin) == text
    assert read_margin(write_margin(margin)) == margin


@pytest.mark.parametrize(
    ("given_value", "message"),
    [
        (0, "a number above 0, not 0"),
        (-0.05, "a number above 0, not -0.05"),
        ("-5%", 'a number above 0, not "-5%"'),
        (math.nan, "a number, not NaN"),
        (math.inf, "a number, not Infinity"),
        ("nan", 'a number, not "nan"'),
        ("1e400", 'a number, not "1e400"'),
        (True, "a number, not true"),
        (None, "a number, not null"),
        ("", 'a number, not ""'),
        ("1,500", 'a number, not "1,500"'),
        ("5 dollars", '"dollars" is no unit of a margin'),
        ("5 points", '"5 points" may be of a rate or of a scale of numbers'),
        ("100%", "100 % of the mean allows anything, even 0"),
    ],
)
def test_what_is_no_margin(given_value, message):
    with pytest.raises(PydanticCustomError, match="^" + message.replace("+", r"\+")):
        read_margin(given_value)


def test_of_a_rate_points_are_hundredths_and_percent_is_refused():
    assert read_rate_margin("5 points") == read_rate_margin(0.05) == Margin(0.05, "units")
    for text in ("5%", "0.2sd", "1.5", "150 points"):
        with pytest.raises(PydanticCustomError):
            read_rate_margin(text)


def test_margins_are_given_by_name_as_taus_are(tmp_path):
    config = read_config({"margin": ["0.1", "fpr=0.05", "tpr=2 points"]})
    sizes = {"default": 0.1, "fpr": 0.05, "tpr": 0.02}
    assert config.margin == {name: Margin(size, "units") for name, size in sizes.items()}
    margins = [margin_of(name, config) for name in ("fpr", "tpr", "fnr", "tpr-difference")]
    assert margins == [0.05, 0.02, 0.1, 0.1]
    assert math.isnan(margin_of("tpr-ratio", config))
    assert math.isnan(tau_of("fpr", config))
    assert (tau_of("tpr-difference", config), tau_of("tpr-ratio", config)) == (0.9, 0.8)
    assert read_config({"margin": {"default": 0.1, "fpr": 0.05, "tpr": 0.02}}) == config
    (tmp_path / "audit.yaml").write_text(dump_yaml(config.resolved()))
    assert read_config({}, tmp_path / "audit.yaml") == config
    over = read_config({"margin": "fpr=0.03"}, tmp_path / "audit.yaml")
    assert over.margin == config.margin | {"fpr": Margin(0.03, "units")}
    assert "margin" not in read_config({}).resolved()
    own_tau = read_config({"margin": 0.1, "tau": {"fpr": 0.9}})
    assert (tau_of("fpr", own_tau), math.isnan(tau_of("fnr", own_tau))) == (0.9, True)


@pytest.mark.parametrize(
    ("options", "problem", "fix"),
    [
        ({"margin": "fpr=5%"}, "margin: 5 % of a rate may be 5 points, or a share of the rate", "write 0.05"),
        ({"margin": "fpr=0.2sd"}, "margin: a rate has no standard deviations to go by", "write 0.05"),
        ({"margin": "fpr=2"}, "margin: rates differ by less than 1, and the margin is 2", "write 0.05"),
        ({"margin": ["0.1", "0.2"]}, "margin: a value without a name is given twice", "leave one"),
        ({"margin": "fprr=0.1"}, 'margin.fprr: no metric is called "fprr"', 'did you mean "fpr"?'),
        ({"margin": "tpr-ratio=0.1"}, 'margin.tpr-ratio: "tpr-ratio" is no rate and no difference', "name"),
        ({"margin": "type-i-parity=0.1"}, 'margin.type-i-parity: "type-i-parity" is no rate', "name"),
        ({"margin": "tpr-difference=0.1"}, "margin of tpr-difference has no effect", "name it as a metric"),
        ({"margin": "fpr=0.1", "tau": {"fpr": 0.9}}, "fpr passes by its tau or by its margin", "leave one"),
        ({"margin": 0.1, "tau": 0.9}, "tau has no effect: every rate passes by its margin", "leave one"),
        ({"margin": 0.1, "preset": "aequitas"}, "Aequitas judges by ratios", "leave margin out"),
        ({"margin": 0.1, "preset": "eeoc"}, "preset eeoc is the rule of four fifths, which is", "leave"),
    ],
)
def test_mistakes_are_two_lines(options, problem, fix):
    with pytest.raises(UserError) as caught:
        read_config(options)
    (found,) = caught.value.problems
    assert str(found.what).startswith(problem)
    assert fix in repr(found.fix)


def test_a_margin_of_numbers_is_refused_where_rates_are_audited():
    frame = pd.DataFrame({"score": [0, 1] * 20, "sex": ["f", "m"] * 20})
    for margin, problem in (("5%", "5 % of a rate"), (1500, "rates differ by less than 1")):
        with pytest.raises(UserError, match=problem):
            audit(frame, attribute="sex", margin=margin)


# -- the statistics, beside others'


def test_the_interval_is_newcombes_of_statsmodels_and_decides():
    for selected, n, ref_selected, m in ((56, 70, 48, 80), (12, 200, 40, 900), (3, 30, 0, 45)):
        low, high = confint_proportions_2indep(
            selected, n, ref_selected, m, method="newcomb", compare="diff", alpha=0.05
        )
        ours = difference_interval(selected, n, ref_selected, m)
        assert ours == pytest.approx((low, high), abs=1e-12)
        farthest = max(abs(low), abs(high))
        assert margin_tests([selected], n, [ref_selected], m, farthest + 1e-9).within.all()
        assert not margin_tests([selected], n, [ref_selected], m, farthest - 1e-9).within.any()


def test_the_p_value_of_the_margin_is_that_at_which_statsmodels_interval_ends_there():
    margin = 0.05
    p = float(difference_outside_p(120, 400, 80, 500, margin))
    low, _ = confint_proportions_2indep(120, 400, 80, 500, method="newcomb", compare="diff", alpha=p)
    assert low == pytest.approx(margin, abs=1e-10)
    mirrored = float(difference_outside_p(80, 500, 120, 400, margin))
    assert mirrored == pytest.approx(p, rel=1e-9)


counts = st.tuples(st.integers(0, 60), st.integers(0, 60)).filter(lambda pair: sum(pair) > 0)


@given(counts, counts, st.floats(0.01, 0.6), st.sampled_from([0.8, 0.95, 0.99]))
def test_the_p_value_agrees_with_the_interval(group, ref, margin, confidence):
    sides = (group[0], sum(group), ref[0], sum(ref))
    low, high = difference_interval(*sides, confidence)
    distance = max(float(low), -float(high))
    p = float(difference_outside_p(*sides, margin))
    if abs(distance - margin) > 1e-6:
        assert (p < 1 - confidence) == (distance > margin)


@pytest.mark.gate
@given(counts, counts, st.floats(0.01, 0.6), st.floats(1.0, 3.0))
def test_a_wider_margin_never_makes_a_fail_of_a_pass(group, ref, margin, times):
    verdicts = []
    for wide in (margin, min(margin * times, 0.99)):
        for rule in ("evidence", "point"):
            config = AuditConfig(margin={"default": Margin(wide, "units")}, rule=rule, min_group=1)
            point, verdict, *_ = comparison({"a": ref, "b": group}, config)
            verdicts.append(verdict)
            if rule == "point":
                assert verdict == point
    assert ORDER[verdicts[0]] <= ORDER[verdicts[2]]
    assert ORDER[verdicts[1]] <= ORDER[verdicts[3]]


@pytest.mark.gate
@given(counts, counts, st.floats(0.01, 0.6))
def test_swapped_groups_have_the_same_verdict(group, ref, margin):
    config = AuditConfig(margin={"default": Margin(margin, "units")}, min_group=1)
    answers = []
    for groups, reference in (({"a": ref, "b": group}, "a"), ({"a": group, "b": ref}, "a")):
        given_reference = config.model_copy(update={"references": {"race": reference}})
        *answer, table, evidence, g = comparison(groups, given_reference)
        answers.append(answer)
        low, high = (float(limit[g, 0]) for limit in table.difference_limits)
        answers.append((low, high, bool(evidence.outside[g, 0])))
    assert answers[0] == answers[2]
    assert answers[1][:2] == pytest.approx((-answers[3][1], -answers[3][0]), abs=1e-12)
    assert answers[1][2] == answers[3][2]


def test_the_order_of_rows_changes_nothing():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "score": rng.integers(0, 2, 600),
            "label": rng.integers(0, 2, 600),
            "sex": rng.choice(["f", "m"], 600),
        }
    )
    first = audit(frame, attribute="sex", margin=0.05)
    shuffled = audit(frame.sample(frac=1, random_state=1), attribute="sex", margin=0.05)
    assert first.to("json") == shuffled.to("json")


def test_a_difference_that_is_the_margin_passes_exactly():
    assert decide_difference(3, 20, 2, 20, 0.05) == "pass"
    assert decide_difference(2, 20, 3, 20, 0.05) == "pass"
    assert decide_difference(31, 200, 21, 200, 0.05) == "pass"
    assert decide_difference(32, 200, 21, 200, 0.05) == "fail"
    assert decide_difference(0, 5, 0, 7, 0.05) == "pass"
    assert decide_difference(0, 0, 1, 7, 0.05) == decide_difference(1, 7, 0, 0, 0.05) == "undecided"
    assert decide_difference(0.1 + 0.2, 1, 0.25, 1, 0.05) == "pass"  # 0.30000000000000004


# -- how often it is wrong


def all_tables(n, m, rate, ref_rate):
    """The counts of two groups with a probability above 1e-12, and their probabilities."""
    sides = []
    for size, chance in ((n, rate), (m, ref_rate)):
        counts = np.arange(size + 1)
        likely = binom.pmf(counts, size, chance) > 1e-12
        sides.append((counts[likely], binom.pmf(counts[likely], size, chance)))
    (x, p), (y, q) = sides
    return np.repeat(x, len(y)), np.tile(y, len(x)), np.outer(p, q).ravel()


@pytest.mark.parametrize(("n", "m"), [(150, 150), (100, 1000), (300, 600)])
@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_levels_of_all_tables(n, m, rate):
    """A true gap of exactly the margin passes, and equal rates fail, in about 5 % of audits at most."""
    margin = 0.05
    for sign in (-1, 1):
        x, y, chance = all_tables(n, m, rate + sign * margin, rate)
        assert chance @ margin_tests(x, n, y, m, margin).within[:, 0] <= 0.03
        assert chance @ (difference_outside_p(x, n, y, m, margin) < 0.05) <= 0.052
    x, y, chance = all_tables(n, m, rate, rate)
    tests = margin_tests(x, n, y, m, margin)
    fails = (tests.p[:, 0] < 0.05) & (np.abs(x / n - y / m) > margin)
    assert chance @ fails <= 0.057


def test_limits_of_a_stream_hold_at_all_looks():
    """The true difference is outside of them at some look in 5 % of streams at most."""
    rng = np.random.default_rng(8)
    streams, looks = len(worlds(2000)), 24
    n, m = 40, 90
    for rate, ref_rate in ((0.3, 0.3), (0.25, 0.3), (0.12, 0.07)):
        drawn = (
            rng.binomial(n, rate, (streams, looks)),
            np.full((streams, looks), n),
            rng.binomial(m, ref_rate, (streams, looks)),
            np.full((streams, looks), m),
        )
        evidence = ratio_looks(*drawn)
        low, high = evidence.difference_limits()
        missed = ((low > rate - ref_rate) | (high < rate - ref_rate)).any(-1)
        assert missed.sum() <= most_by_chance(streams, 0.05)
        # The limits are where the evidence is 20.
        last = evidence.log_difference_evidence(low)[:, -1]
        assert last == pytest.approx(np.full(streams, math.log(20)), abs=1e-6)


# -- how many rows it takes


def test_the_chances_with_a_margin_are_those_of_all_tables():
    n, m, rate = 30, 40, 0.3
    rule = Criterion(margin=0.1)
    ratios = np.array([0.2, 0.8, 1.0, 1.9])
    chances = TwoGroups(n, m, rate, rule).chances(ratios)
    x, y = (side.ravel() for side in np.meshgrid(np.arange(n + 1), np.arange(m + 1), indexing="ij"))
    p, _ = equal_rates(x, np.full(x.shape, n), y, np.full(y.shape, m))
    low, high = difference_interval(x, n, y, m)
    fails = np.array(
        [decide_difference(int(a), n, int(b), m, 0.1) == "fail" for a, b in zip(x, y, strict=True)]
    )
    for i, ratio in enumerate(ratios):
        weights = binom.pmf(x, n, rate * ratio) * binom.pmf(y, m, rate)
        assert chances.fails[i] == pytest.approx((weights * (fails & (p < 0.05))).sum(), abs=1e-9)
        within = (low > -0.1) & (high < 0.1)
        assert chances.passes[i] == pytest.approx((weights * within).sum(), abs=1e-9)


@pytest.mark.parametrize(("rate", "difference"), [(0.3, -0.1), (0.3, 0.0), (0.1, 0.02), (0.5, 0.15)])
def test_so_many_rows_decide_with_the_power_asked_for(rate, difference):
    rule = Criterion(margin=0.05)
    rows = float(rows_needed(rate, (rate + difference) / rate, 0.4, rule))
    n, m = round(0.4 * rows), round(0.6 * rows)
    x, y, chance = all_tables(n, m, rate + difference, rate)
    tests = margin_tests(x, n, y, m, 0.05)
    decided = tests.within[:, 0]
    if abs(difference) > 0.05:
        decided = (tests.p[:, 0] < 0.05) & (np.abs(x / n - y / m) > 0.05)
    assert chance @ decided == pytest.approx(0.8, abs=0.01)
    assert np.isnan(rows_needed(rate, (rate + 0.05) / rate, 0.4, rule))


def test_no_number_of_rows_is_said_where_a_rate_is_0():
    found = rows_needed([0.0, 0.3], [np.inf, 0.0], 0.5, Criterion(margin=0.05))
    assert np.isnan(found).all()


def test_a_plan_is_of_differences():
    made = plan({"white": 1000, "black": 200}, rate=0.3, margin=0.05, difference=[-0.1, 0, 0.9])
    needed = made.to_pandas("needed")
    assert needed["difference"].tolist() == [-0.1, 0.0]
    assert needed["verdict"].tolist() == ["fail", "pass"]
    (shown,) = made.shown
    assert shown.fails_below < -0.05 < 0.05 < shown.fails_above
    assert "a margin of 5 points around the reference's rate" in made.to("markdown")
    assert "difference" not in plan({"white": 1000, "black": 200}).to_pandas("needed")
    for options, problem in (
        ({"margin": 0.05, "ratio": 0.7}, "ratio has no effect"),
        ({"margin": 0.05, "tau": 0.7}, "tau has no effect"),
        ({"difference": 0.1}, "difference has no effect"),
        ({"margin": "fpr=0.05"}, "a plan has one margin"),
        ({"margin": "5%"}, "5 % of a rate"),
    ):
        with pytest.raises(UserError, match=problem):
            plan({"white": 1000, "black": 200}, **options)


# -- what is said and written


def people(n=1200, seed=5):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    race = rng.choice(["a", "b"], n)
    label = rng.random(n) < 0.5
    score = rng.random(n) < 0.2 + 0.3 * label + 0.15 * (sex == "m")
    return pd.DataFrame({"score": score.astype(int), "label": label.astype(int), "sex": sex, "race": race})


def test_the_verdict_goes_by_the_difference_and_says_so():
    result = audit(people(), attribute="sex", metric="selection-rate", margin=0.05)
    (row,) = (row for row in result.report.disparities if row.deciding)
    assert (row.verdict, row.margin, math.isnan(row.tau)) == ("fail", 0.05, True)
    sentence = result.headline
    assert "Allowed: a margin of 5 points around the reference's rate." in sentence
    text = headline(result.report).sentences[0].text
    assert "points more often (" in text
    assert "and more than the 5 points allowed: fails clearly." in text
    wide = audit(people(), attribute="sex", metric="selection-rate", margin=0.4)
    assert wide.verdict == "pass"
    assert "within the 40 points allowed: passes." in headline(wide.report).sentences[0].text


def test_the_columns_of_margins_are_there_where_a_margin_is():
    frame = people()
    plain = audit(frame, attribute="sex")
    mixed = audit(frame, attribute="sex", margin="fpr=0.05")
    for result, is_there in ((plain, False), (mixed, True)):
        document = json.loads(result.to("json"))
        assert all(("margin" in row) == is_there for row in document["disparities"])
        assert ("margin" in result.to("csv").splitlines()[0].split(",")) == is_there
        assert all(("margin" in row) == is_there for row in json.loads(result.to("ci"))["failing"])
    by_metric = {row["metric"]: row for row in json.loads(mixed.to("json"))["disparities"]}
    assert (by_metric["fpr"]["margin"], by_metric["fpr"]["tau"]) == (0.05, None)
    assert (by_metric["fnr"]["margin"], by_metric["fnr"]["tau"]) == (None, 0.8)
    assert "for the false positive rate a margin of 5 points around it" in mixed.headline
    page = mixed.to("html")
    assert "false positive rate, difference from the reference" in page
    assert "false negative rate, ratio to the reference" in page


def test_named_differences_take_a_margin():
    frame = people()
    for margin, verdict in ((0.01, "fail"), (0.4, "pass")):
        result = audit(
            frame,
            attribute="sex",
            metric=["fpr", "selection-rate-difference"],
            margin=f"selection-rate-difference={margin}",
        )
        (row,) = result.report.verdicts
        assert row.by_metric["selection-rate-difference"] == verdict


@pytest.mark.gate
def test_clusters_slices_and_gates_go_by_the_margin(tmp_path):
    frame = people()
    frame["person"] = np.arange(len(frame)) // 2
    frame["month"] = np.repeat(["2024-01", "2024-02", "2024-03"], len(frame) // 3)
    options = {"attribute": "sex", "metric": "selection-rate", "fail": True}
    month = {"slice": "month"}
    for more in ({}, {"cluster": "person"}, {**month, "months": "alike"}, {**month, "cluster": "person"}):
        narrow = audit(frame, margin=0.02, **options, **more)
        wide = audit(frame, margin=0.45, **options, **more)
        assert (narrow.verdict, wide.verdict) == ("fail", "pass"), more
        assert (narrow.report.gate.stops, wide.report.gate.stops) == (True, False)
        row = next(row for row in narrow.report.judged_comparisons if row.deciding)
        assert row.difference.low > 0.02 or row.difference.high < -0.02 or not row.shown_outside
    (look, *_) = narrow.report.streams.looks
    assert look.difference.low <= look.difference.value <= look.difference.high


def test_a_model_is_better_by_its_difference_though_its_ratio_is_worse():
    rng = np.random.default_rng(0)
    n = 20_000
    group = rng.choice(["a", "b"], n)
    before = (rng.random(n) < np.where(group == "a", 0.3, 0.5)).astype(int)  # 20 points, 1.67 times
    after = (rng.random(n) < np.where(group == "a", 0.02, 0.06)).astype(int)  # 4 points, 3 times
    frame = pd.DataFrame({"before": before, "after": after, "group": group})
    options = {"score": ["before", "after"], "attribute": "group", "metric": "selection-rate"}
    options |= {"ref": {"group": "a"}}
    words = []
    for margin in ({}, {"margin": 0.05}):
        changes = audit(frame, **options, **margin).report.found["changes"]
        (row,) = (row for row in changes.changes if row.deciding)
        words.append(row.word)
    assert words == ["worse", "better"]
    assert row.margin == 0.05
    same = audit(frame.assign(after=frame["before"]), **options, margin=0.05).report.found["changes"]
    (row,) = (row for row in same.changes if row.deciding)
    assert (row.word, row.reason) == ("undecided", "same")


def test_shares_of_a_list_have_a_margin_with_the_interval_that_is_shown():
    config = AuditConfig(margin={"default": Margin(0.2, "units")}, min_group=1)
    frame = slice_of({"a": (60, 0, 0, 40), "b": (40, 0, 0, 60), "c": (20, 0, 0, 80)}, labelled=False)
    table = compare_slice(frame, ("selected-share",), config)
    low, high = difference_limits(table.names, *table.rows, 0.95)
    assert (table.tests.within == ((low > -0.2) & (high < 0.2))).all()
    outside = table.tests.outside[1:, 0]
    assert ((outside < 0.05) == ((high < -0.2) | (low > 0.2))[1:, 0]).all()
