"""Laws of the rule: what fails, what passes, what weights and the order of groups change."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from audit_counts import Cells, compas, one, slice_of, tally_of
from conftest import law
from hypothesis import given
from hypothesis import strategies as st

from fairbench_cli.audit.build_report import judge
from fairbench_cli.audit.compare.effective_sizes import MANY, group_rate_rows, rate_rows
from fairbench_cli.audit.compare.references import REST
from fairbench_cli.audit.compare.report import Disparity, Report
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.metrics import SHOWN
from fairbench_cli.audit.scan.slices import Slice
from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.score_test import ratio_interval

REFERENCE = Path(__file__).parents[1] / "reference" / "verdicts"
RATE = ("selection-rate",)
SELECTION = AuditConfig(metrics=RATE, min_group=1, ref_method="given", references={"race": "b"})

Selected = tuple[int, int]  # of how many
some = st.integers(1, 300).flatmap(
    lambda denominator: st.tuples(st.integers(0, denominator), st.just(denominator))
)


def sliced(names: tuple[str, ...], weights: np.ndarray, rows: np.ndarray, squares: np.ndarray) -> Slice:
    """Weighted rows of groups without labels."""
    given = {"cell_rows": rows.astype(np.int64), "squares": squares, "labelled": False}
    return Slice("", "binary", "race", Counts(names, weights), **given)


def table(*groups: Selected) -> dict[str, Cells]:
    return {
        name: (float(numerator), 0.0, 0.0, float(denominator - numerator))
        for name, (numerator, denominator) in zip("abcdefgh", groups, strict=False)
    }


def compared(*groups: Selected, config: AuditConfig = SELECTION) -> Disparity:
    report = judge(one(table(*groups), labelled=False), config)
    return next(row for row in report.disparities if row.metric == "selection-rate")


def weighted(part: Slice, by: np.ndarray) -> Slice:
    """Weigh every row of each cell alike."""
    counts = replace(part.counts, n=part.counts.n * by)
    return replace(part, counts=counts, squares=part.squares * by**2)


@pytest.mark.parametrize(("mine", "theirs"), [((1, 1), (1, 1)), ((9, 9), (30, 30)), ((0, 12), (0, 12))])
def test_few_rows_do_not_pass(mine: Selected, theirs: Selected) -> None:
    found = compared(mine, theirs)
    assert (found.verdict, found.reason) == ("undecided", "constant")


def test_everybody_of_twenty_has_an_interval() -> None:
    found = compared((20, 20), (30, 30))
    assert (found.ratio.low, found.ratio.high) == pytest.approx((0.836125, 1.130662), abs=1e-6)
    assert (found.point, found.verdict) == ("undecided", "undecided")  # all are selected: nothing to compare


def test_nobody_of_three_does_not_fail() -> None:
    found = compared((0, 3), (40, 100))
    assert (found.point, found.verdict, found.reason, found.test) == ("fail", "undecided", "chance", "fisher")
    assert found.p == pytest.approx(0.2804, abs=5e-5)


def test_one_of_twenty_is_not_less_than_five_per_cent() -> None:
    found = compared((0, 1), (19, 19))  # Fisher's p is 1/20
    assert (found.p_holm, found.verdict) == (pytest.approx(0.05, abs=1e-15), "undecided")


@law(40)
@given(some, some, st.sampled_from([0.8, 0.5, 0.9]))
def test_fails_and_passes_go_with_the_point_and_the_interval(
    mine: Selected, theirs: Selected, tau: float
) -> None:
    found = compared(mine, theirs, config=SELECTION.model_copy(update={"tau_by_metric": {"default": tau}}))
    low, high = found.ratio.low, found.ratio.high
    inside = tau < low and high < 1 / tau
    assert (found.verdict == "pass") == inside
    assert (found.verdict == "fail") == (found.point == "fail" and found.p_holm < 0.05)
    if found.verdict == "fail":
        assert not (tau <= found.ratio.value <= 1 / tau)
    assert (found.verdict == "undecided") == (found.reason != "")
    assert not found.shown_outside or (found.verdict == "fail" and (high < tau or low > 1 / tau))


@law(40)
@given(some, some)
def test_the_reference_and_the_group_may_change_places(mine: Selected, theirs: Selected) -> None:
    forth, back = compared(mine, theirs), compared(theirs, mine)
    for name in ("verdict", "reason", "shown_outside"):
        assert getattr(forth, name) == getattr(back, name)


def verdicts(report: Report) -> dict[tuple[str, str], tuple[object, ...]]:
    return {
        (row.group, row.metric): (row.verdict, row.shown_outside, row.reason, row.test)
        for row in report.disparities
    }


@law(20)
@given(st.lists(st.tuples(*[st.integers(0, 60)] * 4), min_size=2, max_size=5), st.randoms())
def test_the_order_of_groups_changes_nothing(cells: list[Cells], random: object) -> None:
    names = [f"g{i}" for i in range(len(cells))]
    groups = dict(zip(names, cells, strict=True))
    config = AuditConfig(references={"race": "g0"}, ref_method="given")
    mixed = list(groups)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    shuffled = {name: groups[name] for name in mixed}
    assert verdicts(judge(one(groups), config)) == verdicts(judge(one(shuffled), config))


@law(20)
@given(st.lists(st.tuples(*[st.integers(0, 60)] * 4), min_size=2, max_size=5), st.floats(0.001, 1000))
def test_equal_weights_are_no_weights(cells: list[Cells], weight: float) -> None:
    part = slice_of({f"g{i}": cell for i, cell in enumerate(cells)})
    scales = weight * (1.0 + np.arange(len(cells)))[:, None, None]  # groups may have weights of their own
    for at in (0, REST):
        references = np.full(len(SHOWN), at)
        plain = rate_rows(part, SHOWN, references)
        alike = rate_rows(weighted(part, np.array(weight)), SHOWN, references)
        for mine, theirs in zip(plain, alike, strict=True):
            for key, values in vars(mine).items():
                np.testing.assert_allclose(getattr(theirs, key), values, rtol=1e-9, err_msg=key)
    by_group = group_rate_rows(weighted(part, scales), SHOWN)
    of_group = [i for i, name in enumerate(SHOWN)]
    np.testing.assert_allclose(
        by_group.denominator[:, of_group], group_rate_rows(part, SHOWN).denominator, rtol=1e-9
    )


def test_weights_times_a_constant_change_nothing() -> None:
    rng = np.random.default_rng(3)
    rows = rng.integers(5, 80, (3, 2, 2))
    mean, spread = rng.uniform(0.5, 3, rows.shape), rng.uniform(1, 4, rows.shape)
    part = slice_of(dict.fromkeys("abc", (0, 0, 0, 0)))
    part = replace(
        part,
        cell_rows=rows,
        counts=Counts(("a", "b", "c"), rows * mean),
        squares=rows * mean**2 * spread,
    )
    times = replace(part, counts=Counts(("a", "b", "c"), 7.3 * part.counts.n), squares=7.3**2 * part.squares)
    one_way, other = (
        judge(tally_of(each, weighted=True), AuditConfig(draws=0)).disparities for each in (part, times)
    )
    for mine, theirs in zip(one_way, other, strict=True):
        assert (mine.verdict, mine.reason) == (theirs.verdict, theirs.reason)
        assert (mine.p, mine.ratio.low) == pytest.approx((theirs.p, theirs.ratio.low), nan_ok=True)
        assert mine.test in ("score", "")  # no exact test of weighted rows


def test_a_group_without_the_heavy_rows_of_others_is_worth_less_than_its_rows() -> None:
    # 500 of which 16 selected ones weigh 20, and 50 who had none of these by chance.
    rows = np.array([[[35, 15], [0, 0]], [[350, 150], [0, 0]]])
    weights, squares = rows.astype(float), rows.astype(float)
    weights[1, 0, 1] += 16 * 19
    squares[1, 0, 1] += 16 * 399
    found = group_rate_rows(sliced(("a", "b"), weights, rows, squares), RATE)
    scale = 500 / 804  # to a mean weight of 1
    spread = (15 + scale**2 * 6534) * 165 / (15 + scale * 454) ** 2
    lost = (35 + scale**2 * 350) * 385 / (35 + scale * 350) ** 2
    variance = (0.7**2 * spread * 15**2 / 15 + 0.3**2 * lost * 35**2 / 35) / 50**2
    assert float(found.denominator[0, 0]) == pytest.approx(0.3 * 0.7 / variance)
    assert float(found.denominator[0, 0]) < 30
    assert found.scaled.all()


def golden() -> list[tuple[dict[str, str], dict[str, str]]]:
    with (REFERENCE / "golden_weights.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return list(zip(rows[::2], rows[1::2], strict=True))  # the reference, then the group


@pytest.mark.parametrize("pair", golden(), ids=lambda pair: pair[0]["kind"])
def test_golden_weights(pair: tuple[dict[str, str], dict[str, str]]) -> None:
    def cells(one: str, other: str) -> np.ndarray:
        return np.array([[[float(row[other]), float(row[one])], [0, 0]] for row in pair[::-1]])

    sums = cells("sw1", "sw0"), cells("n1", "n0"), cells("sww1", "sww0")
    rows = group_rate_rows(sliced(("group", "reference"), *sums), RATE)
    for g, row in enumerate(pair[::-1]):
        assert float(rows.denominator[g, 0]) == pytest.approx(float(row["n_eff"]), abs=1e-6)
    (x, n), (y, m) = zip(rows.numerator[:2, 0], rows.denominator[:2, 0], strict=True)
    limits = ratio_interval(x, n, y, m)
    expected = [float(pair[1]["ratio_L"]), float(pair[1]["ratio_U"])]
    assert [float(limit) for limit in limits] == pytest.approx(expected, rel=1e-9)


def test_weights_need_five_expected_rows_to_fail() -> None:
    part = slice_of(table((0, 30), (28, 40)), labelled=False)
    plain = judge(tally_of(part), SELECTION).disparities[0]
    by = np.where(np.arange(2)[:, None, None] == 1, np.array([[9.0, 1.0], [1.0, 1.0]]), 1.0)
    heavy = judge(tally_of(weighted(part, by), weighted=True), SELECTION).disparities[0]
    assert plain.verdict == "fail"
    assert (heavy.verdict, heavy.reason, heavy.p_holm) == ("undecided", "few", 1.0)


def test_a_share_of_all_selected_is_a_count_of_rows() -> None:
    part = compas().slices[0]
    rows = group_rate_rows(part, ("selected-share",))
    assert (rows.denominator == MANY).all()
    np.testing.assert_array_equal(rows.numerator[:, 0], part.counts.predicted[:, 1])
    report = judge(compas(), AuditConfig(metrics=("selected-share",)))
    found = {row.group: row for row in report.disparities if row.metric == "selected-share"}
    assert found["Hispanic"].verdict == "fail"
    # Of 20 selected, 12 against 8: nothing that a coin would not do.
    share_alone = SELECTION.model_copy(update={"metrics": ("selected-share",)})
    few = judge(one(table((12, 400), (8, 20)), labelled=False), share_alone)
    share = next(row for row in few.disparities if row.metric == "selected-share")
    assert (share.point, share.verdict) == ("fail", "undecided")
    assert share.p == pytest.approx(0.371093, abs=1e-6)  # z = (12 - 8) / sqrt(20)
    assert np.isnan(share.rows_needed)


def test_a_reference_chosen_by_its_rate_takes_all_pairs() -> None:
    groups = table((300, 1000), (310, 1000), (290, 1000), (200, 1000), (305, 1000))
    config = AuditConfig(metrics=("selection-rate",), ref_method="maximum", min_group=1)
    report = judge(one(groups, labelled=False), config)
    d = next(row for row in report.disparities if (row.group, row.metric) == ("d", "selection-rate"))
    assert (report.family, d.reference, d.verdict) == (10, "b", "fail")
    assert d.p_holm == pytest.approx(10 * d.p)
    fixed = judge(one(groups, labelled=False), config.model_copy(update={"ref_method": "majority"}))
    assert fixed.family == 4


@pytest.mark.parametrize("metric", ["selection-rate", "selected-share"])
def test_the_rest_of_one_group_is_nobody_to_compare_with(metric: str) -> None:
    config = AuditConfig(metrics=(metric,), ref_method="rest")
    report = judge(one(table((100, 200)), labelled=False), config)
    found = {(row.metric, row.verdict, row.reason) for row in report.disparities}
    assert found == {(name, "undecided", "no rows") for name in ("selection-rate", "selected-share")}
    assert report.verdict == "undecided"
    for row in report.disparities:
        assert np.isnan([row.p, row.ratio.value, row.ratio.low, row.difference.low]).all()


def test_the_bare_rule_is_the_point() -> None:
    for row in judge(compas(), AuditConfig(rule="point")).disparities:
        assert row.verdict == row.point
        assert not row.shown_outside or row.verdict == "fail"
        assert row.reason == ("no rows" if row.point == "undecided" else "")
        assert np.isnan(row.rows_needed)


def test_a_failure_is_shown_outside_whichever_of_two_complements_decides() -> None:
    groups: dict[str, Cells] = {"a": (500, 100, 500, 900), "b": (500, 900, 500, 100)}
    for metric in ("fpr", "tnr"):
        report = judge(one(groups), AuditConfig(metrics=(metric,)))
        shown = {row.metric for row in report.disparities if row.group == "b" and row.shown_outside}
        assert shown >= {"fpr", "tnr"}
