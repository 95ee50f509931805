"""Verdict on counts: exact, symmetric and three-valued."""

from fractions import Fraction
from itertools import product
from math import inf, isnan, nan
from typing import Any

import pytest
from audit_counts import Cells, compas, one
from hypothesis import assume, given
from hypothesis import strategies as st

from fairbench_cli.audit.build_report import judge
from fairbench_cli.audit.compare.report import Disparity, Interval
from fairbench_cli.audit.compare.verdict import combine_roll_ups, combine_verdicts, decide, decide_metric
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.metrics import INTERVENTIONS, ROLL_UPS, can_decide, canonical
from fairbench_cli.base.errors import UserError
from fairbench_cli.document.model import Verdict
from fairbench_cli.measures.registry import find_metric

MOST = 60

rates = st.integers(1, 10**9).flatmap(lambda below: st.tuples(st.integers(0, below), st.just(below)))


def boundary() -> list[tuple[int, int, int, int]]:
    """All a/b and c/d with denominators up to 60 whose ratio is 4/5 or 5/4."""
    by_rate: dict[Fraction, list[tuple[int, int]]] = {}
    for below in range(1, MOST + 1):
        for above in range(1, below + 1):
            by_rate.setdefault(Fraction(above, below), []).append((above, below))
    return [
        (*mine, *theirs)
        for rate, all_theirs in by_rate.items()
        for ratio in (Fraction(4, 5), Fraction(5, 4))
        for mine, theirs in product(by_rate.get(rate * ratio, ()), all_theirs)
    ]


def test_every_pair_at_exactly_four_fifths_passes() -> None:
    pairs = boundary()
    floats = [0.8 <= (a / b) / (c / d) <= 1 / 0.8 for a, b, c, d in pairs]
    assert all(decide(a, b, c, d, 0.8) == "pass" for a, b, c, d in pairs)
    # What binary floats make of them; the reason for integers.
    assert 0.2 < floats.count(False) / len(pairs) < 0.25


@given(rates, rates, st.sampled_from([0.8, 0.5, 0.9, 1.0, 0.95]))
def test_the_point_is_the_exact_rule_and_symmetric(
    mine: tuple[int, int], theirs: tuple[int, int], tau: float
) -> None:
    assert decide(*mine, *theirs, tau) == decide(*theirs, *mine, tau)
    assume(theirs[0])
    ratio, exact = Fraction(*mine) / Fraction(*theirs), Fraction(str(tau))
    assert decide(*mine, *theirs, tau) == ("pass" if exact <= ratio <= 1 / exact else "fail")


def test_fractional_weights_are_compared_with_a_tolerance() -> None:
    assert decide(0.1 + 0.2, 1, 0.375, 1, 0.8) == "pass"  # 0.30000000000000004
    assert decide(0.1 * 3 * 0.8, 1.5, 0.1 * 3, 1.5, 0.8) == "pass"
    assert decide(0.2999, 1, 0.375, 1, 0.8) == "fail"


def test_zeros() -> None:
    assert decide(0, 5, 0, 7, 0.8) == "pass"
    assert decide(1, 5, 0, 7, 0.8) == "fail"
    assert decide(0, 5, 1, 7, 0.8) == "fail"
    assert decide(0, 0, 1, 7, 0.8) == decide(1, 7, 0, 0, 0.8) == decide(0, 0, 0, 0, 0.8) == "undecided"


VALUES: tuple[Verdict, ...] = ("pass", "fail", "undecided")


@pytest.mark.parametrize(("first", "second"), list(product(VALUES, VALUES)))
def test_kleene(first: Verdict, second: Verdict) -> None:
    truth: dict[Verdict, float] = {"fail": 0, "undecided": 0.5, "pass": 1}
    assert truth[combine_verdicts([first, second])] == min(truth[first], truth[second])


def test_roll_ups_name_their_measures() -> None:
    every: dict[str, Verdict] = {name: "pass" for names in ROLL_UPS.values() for name in names}
    assert set(combine_roll_ups(every)) == set(ROLL_UPS)
    failing = combine_roll_ups(every | {"fpr": "fail"})
    assert [name for name, found in failing.items() if found == "fail"] == [
        "type-i-parity",
        "equalised-odds-parity",
        "supervised-parity",
    ]
    assert INTERVENTIONS["punitive"] == ROLL_UPS["type-i-parity"]
    assert INTERVENTIONS["assistive"] == ROLL_UPS["type-ii-parity"]


def disparities(groups: dict[str, Cells], reference: str) -> dict[str, Disparity]:
    audit = judge(one(groups), AuditConfig(draws=0, references={"race": reference}))
    return {found.metric: found for found in audit.disparities if not found.is_reference}


@pytest.mark.gate
@given(st.tuples(*[st.integers(0, 50)] * 4), st.tuples(*[st.integers(0, 50)] * 4))
def test_swapping_group_and_reference_inverts(
    mine: tuple[int, int, int, int], theirs: tuple[int, int, int, int]
) -> None:
    groups: dict[str, Cells] = {"a": mine, "b": theirs}
    forth, back = disparities(groups, "b"), disparities(groups, "a")
    for measure, found in forth.items():
        other = back[measure]
        assert found.verdict == other.verdict
        assert found.difference.value == pytest.approx(-other.difference.value, nan_ok=True)
        assert found.difference.low == pytest.approx(-other.difference.high, nan_ok=True)
        assert found.p == pytest.approx(other.p, nan_ok=True)
        if found.value > 0 and other.value > 0:
            assert found.ratio.value == pytest.approx(1 / other.ratio.value)
            assert found.ratio.low == pytest.approx(1 / other.ratio.high)
        if found.value == 0 and other.value == 0:
            assert isnan(found.ratio.value)


def test_tau_per_measure() -> None:
    groups: dict[str, Cells] = {"a": (50, 50, 50, 50), "b": (50, 45, 50, 55)}
    audit = judge(one(groups), AuditConfig(draws=0, tau={"fpr": 0.95}, rule="point"))
    found = audit.verdicts[0].by_metric
    assert (found["fpr"], found["tnr"], found["selection-rate"]) == ("fail", "pass", "pass")


def test_attribute_fails_before_it_is_undecided() -> None:
    groups: dict[str, Cells] = {"a": (50, 50, 50, 50), "b": (10, 90, 90, 10), "c": (0, 0, 0, 0)}
    found = judge(one(groups), AuditConfig(draws=0)).verdicts[0].by_metric
    assert (found["fpr"], found["selection-rate"]) == ("fail", "undecided")
    without: dict[str, Cells] = {"a": (50, 50, 50, 50), "b": (50, 50, 50, 50), "c": (0, 0, 0, 0)}
    assert judge(one(without), AuditConfig(draws=0)).verdict == "undecided"


def test_each_verdict_with_its_reason() -> None:
    groups: dict[str, Cells] = {
        "a": (500, 500, 500, 500),
        "b": (500, 900, 500, 100),
        "c": (50, 37, 50, 63),
        "d": (2, 0, 2, 2),
        "e": (25, 25, 25, 25),
        "f": (40, 0, 40, 0),
        "g": (500, 510, 500, 490),
        "h": (500, 380, 500, 620),
    }
    audit = judge(one(groups), AuditConfig(draws=0))
    fpr = [found for found in audit.disparities if found.metric == "fpr"]
    assert [(found.point, found.verdict, found.reason, found.shown_outside, found.test) for found in fpr] == [
        ("pass", "pass", "", False, ""),
        ("fail", "fail", "", True, "score"),
        ("fail", "undecided", "chance", False, "score"),
        ("fail", "undecided", "chance", False, "fisher"),
        ("pass", "undecided", "wide", False, "score"),
        ("undecided", "undecided", "no rows", False, ""),
        ("pass", "pass", "", False, "score"),
        ("fail", "fail", "", False, "score"),
    ]
    needed = [found.rows_needed for found in fpr]
    decided = [found.verdict != "undecided" or found.reason == "no rows" for found in fpr]
    assert [isnan(rows) for rows in needed] == [
        known or group == "d" for known, group in zip(decided, groups, strict=True)
    ]
    assert all(isnan(rows) or rows > 2000 for rows in needed)


@pytest.mark.parametrize(
    ("name", "tau", "inside", "outside"),
    [
        ("selection-rate-difference", 0.8, (-0.2, 0.0, 0.2), (-0.21, 0.21)),
        ("tpr-difference", 0.9, (-0.1, 0.1), (-0.11, 0.11)),
        ("discrimination", 0.8, (-0.2, 0.2), (-0.21, 0.21)),
        ("base-rate-ratio", 0.8, (0.8, 1.0, 1.25), (0.79, 1.26, 0.0, inf)),
        ("selection-rate-worst-ratio", 0.8, (0.8, 1.0), (0.79,)),
        ("accuracy-of-group", 0.8, (0.8, 1.0), (0.79,)),
        ("auc-between-groups", 0.8, (0.4, 0.5, 0.6), (0.39, 0.61)),
        ("cv", 0.8, (0.8, 1.0, 1.2), (0.79, 1.21)),
        ("selection-rate-p", 0.8, (0.05, 0.5), (0.049,)),
        ("chi-squared-p", 0.8, (0.05, 0.5), (0.049,)),
    ],
)
def test_one_rule_decides_on_any_metric(
    name: str, tau: float, inside: tuple[float, ...], outside: tuple[float, ...]
) -> None:
    entry, point = find_metric(name), AuditConfig(rule="point")
    found = {value: decide_metric(entry, known(value), tau, point) for value in (*inside, *outside)}
    assert found == {**dict.fromkeys(inside, "pass"), **dict.fromkeys(outside, "fail")}
    unknown = Interval(nan, nan, nan)
    assert decide_metric(entry, unknown, tau, point) == "undecided"
    assert decide_metric(entry, unknown, tau, AuditConfig()) == "undecided"


def known(value: float) -> Interval:
    return Interval(value, value, value)


def test_what_has_no_ideal_or_no_end_cannot_decide() -> None:
    for name in ("chi-squared", "selection-rate-z", "eta-neutrality", "mann-whitney-u", "acceptance-rate"):
        assert decide_metric(find_metric(name), known(0.0), 0.8, AuditConfig()) is None
        assert name == "acceptance-rate" or not can_decide(canonical(name))
    assert can_decide(canonical("acceptance-rate"))  # a name of the selection rate, whose ratio decides


COIN = {"f": (25.0, 25.0, 25.0, 25.0), "m": (30.0, 15.0, 22.0, 33.0)}


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({}, None),
        ({"fail": True}, "race, sex, age_cat fail"),
        ({"failing_metrics": ("fpr",)}, "race:fpr, age_cat:fpr fail"),
        ({"failing_metrics": ("sex:fpr",)}, None),
        ({"failing_metrics": ("sex:fpr", "sex:fdr")}, "sex:fdr fails"),
        ({"failing_metrics": ("race:type-i-parity",)}, "race:type-i-parity fails"),
        ({"failing_metrics": ("sex:npv", "undecided")}, None),
        ({"failing_metrics": ("race:npv", "undecided")}, "race:npv is not decided"),
    ],
)
def test_the_gate_looks_at_what_was_chosen(keys: dict[str, Any], reason: str | None) -> None:
    gate = judge(compas(), AuditConfig(draws=0, **keys)).gate
    assert (gate.stops, gate.reason) == (reason is not None, reason or "")


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"fail": True}, ""),
        ({"fail": True, "failing_metrics": ("undecided",)}, "race is not decided"),
        ({"failing_metrics": ("undecided",)}, "race is not decided"),
        ({"failing_metrics": ("fpr",)}, ""),
        ({"fail": True, "rule": "point"}, "race fails"),
        ({"fail": True, "exclude": ("f",)}, "nothing to compare in race (no two groups)"),
    ],
)
def test_the_gate_where_nothing_is_decided(keys: dict[str, Any], reason: str) -> None:
    gate = judge(one(COIN), AuditConfig(draws=0, **keys)).gate
    assert (gate.stops, gate.reason) == (bool(reason), reason)
    assert bool(gate.undecided) is (keys.get("rule") != "point")


def test_the_gate_knows_what_was_audited() -> None:
    with pytest.raises(UserError, match='did you mean "race"'):
        judge(compas(), AuditConfig(draws=0, failing_metrics=("rac:fpr",)))
    with pytest.raises(UserError, match="npv cannot be computed without labels"):
        judge(
            one({"a": (5, 5, 0, 0), "b": (9, 1, 0, 0)}, labelled=False), AuditConfig(failing_metrics=("npv",))
        )
