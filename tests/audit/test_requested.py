"""Metrics by name in an audit: ``--metric normalised-discrimination``."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from audit_counts import compas, one, slice_of, tally_of
from hypothesis import given
from hypothesis import strategies as st

from fairbench_cli.audit import audit
from fairbench_cli.audit.build_report import judge
from fairbench_cli.audit.compare.effective_sizes import rows_per_weight
from fairbench_cli.audit.compare.report import Interval
from fairbench_cli.audit.compare.verdict import combine_verdicts, decide_metric
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.metrics import COMPARED, can_decide, canonical, kind, needs_labels
from fairbench_cli.audit.parts.part import View
from fairbench_cli.audit.parts.requested_metrics import (
    _order_of_value,
    find_closed_form,
    parts_to_test,
    requested_sections,
)
from fairbench_cli.audit.show.formats import write
from fairbench_cli.base.errors import UserError
from fairbench_cli.document.model import Verdict
from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.registry import COUNT_METRICS, find_metric, measure
from fairbench_cli.measures.score_test import difference_interval

TWO = {"a": (50.0, 25.0, 30.0, 40.0), "b": (40.0, 15.0, 20.0, 120.0)}
NAMES = tuple(name for name in COUNT_METRICS if kind(name) == "counts" and canonical(name) == name)
TITLE = "Metrics asked for by name"
ASKED = AuditConfig(metric=("discrimination", "normalised-discrimination", "discrimination-of-labels"))


def asked(tally, **changes):
    """Return the rows of the metrics that are asked for."""
    return judge(tally, ASKED.model_copy(update=changes)).found["requested"].rows


@pytest.fixture
def preds(tmp_path):
    """The rows of `TWO`, with an attribute that says nothing."""
    rows = [
        f"{score},{label},{race},{'fm'[i % 2]}"
        for race, cells in TWO.items()
        for (score, label), n in zip(((1, 1), (1, 0), (0, 1), (0, 0)), cells, strict=True)
        for i in range(int(n))
    ]
    path = tmp_path / "preds.csv"
    path.write_text("\n".join(["score,label_value,race,sex", *rows]) + "\n")
    return path


@pytest.mark.gate
def test_every_metric_of_counts_is_that_of_the_group_and_its_reference():
    tally = compas()
    found = judge(tally, AuditConfig(draws=0, metric=NAMES)).found["requested"].rows
    assert len(found) == sum(len(part.counts.groups) - 1 for part in tally.slices)
    parts = {part.attribute: part.counts for part in tally.slices}
    for row in found:
        part = parts[row.attribute]
        pair = part.only(row.group, row.reference)
        assert row.reference == max(zip(part.group_total, part.groups, strict=True))[1]
        for name in NAMES:
            np.testing.assert_array_equal(row.values[name].value, measure(name, pair), name)
            metric = find_metric(name)
            if not all(map(find_closed_form, parts_to_test(metric) if metric.tested == "parts" else [name])):
                assert np.isnan([row.values[name].low, row.values[name].high]).all()


def test_only_rates_are_no_metrics_of_their_own():
    others = set(COUNT_METRICS) - set(NAMES)
    assert {canonical(name) for name in others} == {
        *COMPARED,
        "base-rate-ratio",
        "group-share-ratio",
        "bcr-ratio",
    }
    assert all(find_metric(name).section in ("rate", "alias") for name in others)
    config = AuditConfig(draws=0, metric=("base-rate", "demographic_parity_difference"))
    (found,) = judge(one(TWO), config).found["requested"].rows
    assert list(found.values) == ["base-rate-ratio", "demographic-parity-difference"]


def test_the_reference_may_be_everybody_else():
    three = {**TWO, "c": (9.0, 30.0, 12.0, 14.0)}
    found = asked(one(three), draws=0, ref_method="rest")
    n = slice_of(three).counts.n
    assert [(row.group, row.reference) for row in found] == [(group, "(rest)") for group in "abc"]
    for g, row in enumerate(found):
        pair = Counts(("g", "rest"), np.stack([n[g], n.sum(0) - n[g]]))
        assert row.values["discrimination"].value == measure("discrimination", pair)


def test_intervals_of_a_difference_are_near_newcombes():
    (found,) = asked(one(TWO), draws=20_000)
    assert (found.group, found.reference) == ("a", "b")
    # Percentiles are of a few hundred rows: half a step of a rate on either side.
    low, high = difference_interval(55, 195, 75, 145)
    of = found.values["discrimination"]
    assert (of.low, of.value, of.high) == pytest.approx((low, 55 / 195 - 75 / 145, high), abs=0.01)
    low, high = difference_interval(60, 195, 80, 145)
    of = found.values["discrimination-of-labels"]
    assert (of.low, of.value, of.high) == pytest.approx((low, 60 / 195 - 80 / 145, high), abs=0.01)


def test_intervals_of_normalised_discrimination_are_those_of_resampled_rows():
    (found,) = asked(one(TWO), draws=20_000)
    n = slice_of(TWO).counts.n
    drawn = np.random.default_rng(2).multinomial(int(n.sum()), n.ravel() / n.sum(), 4000)
    counts = Counts(("a", "b"), drawn.reshape(-1, 2, 2, 2).astype(float))
    values = measure("normalised-discrimination", counts)
    of = found.values["normalised-discrimination"]
    assert (of.low, of.high) == pytest.approx(np.quantile(values, [0.025, 0.975]), abs=0.012)


def test_what_fails_comes_first_and_of_that_the_farthest_from_its_ideal():
    for name, values in (("accuracy", (0.2, 0.5, 0.9)), ("impact-ratio", (0.25, 3.0, 1.1))):
        rows = [SimpleNamespace(values={name: Interval(n, 0, 1)}, verdicts={name: "fail"}) for n in values]
        passes = SimpleNamespace(values={name: Interval(0.1, 0, 1)}, verdicts={name: "pass"})
        entries = [(passes, name), *((row, name) for row in reversed(rows))]
        assert [row for row, _ in sorted(entries, key=_order_of_value)] == [*rows, passes]


def test_draws_depend_on_the_seed_the_place_and_nothing_else():
    alone = asked(one(TWO))
    assert asked(one(TWO)) == alone
    sexes = slice_of({"f": (9, 8, 7, 66), "m": (50, 40, 30, 200)}, "sex")
    with_more = tally_of(slice_of(TWO), sexes)
    assert asked(with_more)[0] == alone[0]
    less = asked(one(TWO), metrics=("discrimination",))[0]
    assert less.values["discrimination"] == alone[0].values["discrimination"]
    other = asked(one(TWO), seed=1)[0]
    assert other.values["discrimination"] != alone[0].values["discrimination"]


def test_weighted_counts_are_worth_their_effective_rows():
    plain = asked(one(TWO), metrics=("phi", "chi-squared"))
    part = slice_of(TWO)
    counts = replace(part.counts, n=4 * part.counts.n)
    heavy = tally_of(replace(part, counts=counts, squares=16 * part.squares), weighted=True)
    assert asked(heavy, metrics=("phi", "chi-squared")) == plain


def test_there_is_no_interval_of_a_test_nor_of_few_rows():
    few = {"a": (50.0, 25.0, 30.0, 40.0), "b": (5.0, 4.0, 20.0, 120.0)}
    names = ("discrimination", "discrimination-of-labels", "fpr-difference", "chi-squared-p")
    (found,) = judge(one(few), AuditConfig(metric=names)).found["requested"].rows
    with_interval = [name for name, of in found.values.items() if not np.isnan(of.low)]
    assert with_interval == ["discrimination-of-labels", "fpr-difference"]  # of a rate, by its own
    assert np.isfinite([of.value for of in found.values.values()]).all()


@pytest.mark.parametrize(
    "groups",
    [
        {"a": (0.0, 0.0, 0.0, 0.0), "b": (1.0, 2.0, 3.0, 4.0)},
        {"a": (0.0, 0.0, 0.0, 0.0), "b": (0.0, 0.0, 0.0, 0.0)},
        {"a": (3.0, 4.0, 5.0, 6.0)},
    ],
)
def test_empty_groups_and_one_alone_are_no_mistake(groups):
    found = judge(one(groups), AuditConfig(metric=NAMES)).found["requested"].rows
    assert len(found) == len(groups) - 1
    for row in found:
        assert np.isnan(row.values["discrimination"].value)


def test_labels_are_needed_by_what_speaks_of_them():
    without = one(TWO, labelled=False)
    assert judge(without, AuditConfig(draws=0, metric=("phi", "chi-squared-p"))).found["requested"].rows
    for name in ("phi-of-labels", "overestimation", "kappa"):
        with pytest.raises(UserError, match=f"{name} cannot be computed without labels"):
            judge(without, AuditConfig(metric=("phi", name)))


def test_they_have_a_section_of_their_own_and_decide_nothing():
    tally = one(TWO)
    plain, named = (judge(tally, config) for config in (AuditConfig(), ASKED))
    assert named.decided_by == plain.decided_by
    assert "requested" not in plain.found
    (section,) = requested_sections(named.found["requested"], named, View())
    assert section.title == TITLE
    rows = [[cell.text for cell in row] for row in section.tables[0].rows]
    assert [row[:2] for row in rows] == [["a", name] for name in ASKED.requested]
    assert [row[-1] for row in rows] == ["fails", "fails", "fails"]
    document = json.loads(write(named, "json"))
    (requested,) = document.pop("requested")
    assert [row["metric"] for row in document.pop("requested_tests")] == list(ASKED.requested)
    assert requested["values"]["discrimination"]["value"] == 55 / 195 - 75 / 145
    assert document["config"].pop("metric") == list(ASKED.requested)
    for row in document["verdicts"]:
        for name in ASKED.requested:
            assert row["by_metric"].pop(name) == "fail"
    assert document == json.loads(write(plain, "json"))
    for name in ("markdown", "html"):
        assert TITLE in write(named, name)
        assert TITLE not in write(plain, name)


def test_a_console_shows_twelve_lines_unless_all():
    report = judge(one(TWO), AuditConfig(draws=0, metric=NAMES))
    found = report.found["requested"]
    ((short,), (full,)) = (requested_sections(found, report, View(shown)) for shown in (12, None))
    parts = sum(len(find_metric(name).farthest_of) for name in NAMES)
    assert (len(short.tables[0].rows), len(full.tables[0].rows)) == (12, len(NAMES) + parts)
    assert short.tables[0].omitted == f"and {len(NAMES) + parts - 12} more: see --all"


def test_labels_audited_as_scores_are_what_the_measure_of_labels_says(preds):
    labels = audit(preds, score="label_value", label="label_value", metric="phi", attribute=["race"])
    (found,) = labels.report.found["requested"].rows
    (direct,) = audit(preds, metric="phi-of-labels", attribute=["race"]).report.found["requested"].rows
    of, other = found.values["phi"], direct.values["phi-of-labels"]
    assert of.value == other.value
    assert (of.low, of.high) == pytest.approx((other.low, other.high), abs=0.02)


def test_from_the_command_line(preds, say, tmp_path):
    said = say("audit", preds, "-a", "race", "-m", "fpr", "-m", "normalised-discrimination")
    assert said.code == 0
    assert TITLE in said.out
    assert "race       normalised-discrimination  a " in said.out
    said = say("audit", preds, "-a", "race", "-m", "fpr", "-m", "normalised-discrimination", "--all")
    assert "by false positive rate;" in said.out.replace("\n", " ")
    assert TITLE in said.out
    assert "a      normalised-" in said.out
    said = say("audit", preds, "-m", "phi", "--decision", "punitive", "--all")
    assert "by false discovery rate, false positive rate" in said.out.replace("\n", " ")
    config = tmp_path / "audit.yaml"
    config.write_text("metric: [phi, elift-of-labels]\ndraws: 0\n")
    assert "elift-of-labels" in say("audit", preds, "-c", config).out


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("normalised-discriminaton", 'did you mean "normalised-discrimination"?'),
        ("fprr", 'did you mean "fpr"?'),
        ("consistency", "metrics: [consistency]"),
    ],
)
def test_a_wrong_name_is_looked_for_in_both_lists(preds, say, name, words):
    said = say("audit", preds, "-m", name)
    assert said.code == 2
    assert words in said.err


def test_they_leave_the_files_of_aequitas_alone(preds, say, tmp_path):
    for folder, more in (("plain", ()), ("named", ("-m", "phi"))):
        assert say("audit", preds, "-o", tmp_path / folder, "--preset", "aequitas", *more).code == 0
    for path in sorted((tmp_path / "plain").iterdir()):
        assert path.read_bytes() == (tmp_path / "named" / path.name).read_bytes()


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        (("-m", "discrimination"), 0),  # fails, and does not decide
        (("--fail-on", "selection-rate-difference"), 1),
        (("--fail-on", "race:discrimination"), 1),
        (("--fail-on", "sex:discrimination"), 0),
        (("--fail-on", "race:discrimination", "--tau", "0.7"), 0),
        (("--fail-on", "race:base-rate"), 1),
        (("--fail-on", "selection-rate-p", "--fail-on", "sex:fpr"), 1),
        (("--fail-on", "race:pprev"), 1),
    ],
)
def test_any_metric_with_an_ideal_can_be_the_gate(preds, say, flags, code):
    assert say("audit", preds, "--draws", "50", *flags).code == code


def test_a_metric_without_an_ideal_is_no_gate(preds, say):
    said = say("audit", preds, "--fail-on", "race:chi-squared")
    assert said.code == 2
    assert "chi-squared has no value from which it passes" in said.err
    assert len(said.err.splitlines()) == 2


def test_a_measure_of_dependence_is_shown_and_cannot_decide(preds, say):
    """Rates of .12 and .60 make it .198."""
    done = say("audit", preds, "--fail-on", "race:mutual-information")
    assert done.code == 2
    text = " ".join(done.err.split())
    assert "mutual-information grows with the square of a gap and hides large ones" in text
    assert "name selection-rate-difference, which it is about" in text
    assert say("audit", preds, "--metric", "mutual-information").code == 0


def test_a_difference_of_a_rate_has_its_interval_and_test():
    """Whatever the draws; and one that a gate names is adjusted for all that are asked for."""
    three = {**TWO, "c": (9.0, 30.0, 12.0, 14.0)}
    asked = ("fpr-difference", "base-rate-ratio", "fpr-ratio")
    report = judge(one(three), AuditConfig(draws=0, metric=asked))
    rates = {row.group: row for row in report.disparities if row.metric == "fpr"}
    for row in report.found["requested"].rows:
        assert row.values["fpr-difference"] == rates[row.group].difference
        assert row.values["fpr-ratio"] == rates[row.group].ratio
    fails = [row.verdicts["fpr-difference"] for row in report.found["requested"].rows]
    assert fails == ["fail", "fail"]
    few = judge(one({"a": (3.0, 2.0, 7.0, 8.0), "b": (5.0, 4.0, 20.0, 120.0)}), AuditConfig(metric=asked))
    assert set(few.found["requested"].rows[0].verdicts.values()) <= {"undecided", "fail"}


@pytest.mark.gate
def test_many_fair_groups_do_not_fail_a_requested_metric():
    """A coin for each of 12 groups of 100 rows: at 5 % a test, four of ten audits would fail."""
    rng = np.random.default_rng(4)
    failed = 0
    for _ in range(15):
        cells = rng.multinomial(100, [0.25] * 4, size=12)
        groups = {f"g{i:02}": tuple(map(float, row)) for i, row in enumerate(cells)}
        rows = judge(one(groups), AuditConfig(draws=100, tau=0.99, metric=("phi",))).found["requested"].rows
        failed += any(row.verdicts["phi"] == "fail" for row in rows)
    assert failed <= 3


def test_weights_that_go_with_the_outcome_are_worth_less_than_kish_says():
    """Those selected weigh 8."""
    part = slice_of({"a": (3.0, 3.0, 94.0, 94.0), "b": (6.0, 6.0, 180.0, 180.0)})
    by = np.array([[1.0, 8.0], [1.0, 8.0]])
    counts = replace(part.counts, n=part.counts.n * by)
    heavy = replace(part, counts=counts, squares=part.squares * by**2)
    weight, square = heavy.counts.n.sum((1, 2)), heavy.squares.sum((1, 2))
    assert (rows_per_weight(heavy) < 0.5 * weight / square).all()
    assert rows_per_weight(part).tolist() == [1, 1]


GATES = tuple(name for name in NAMES if can_decide(name))


def test_every_metric_that_can_decide_says_what_is_tested() -> None:
    """A largest or absolute value, one that is best at an end of its range, a p-value, or one with a sign."""
    assert {find_metric(name).tested for name in GATES} == {"parts", "rate", "limit", "ideal"}
    for name in GATES:
        entry = find_metric(name)
        at_end = entry.ideal in (entry.low, entry.high)
        assert at_end == (
            entry.tested == "limit" or (not entry.p_value and entry.tested in ("parts", "rate"))
        )
        assert entry.p_value <= (entry.tested == "rate")
        for part in parts_to_test(entry):
            assert can_decide(part)
            assert find_metric(part).tested == "ideal" or part == name
            assert needs_labels(part) <= needs_labels(name)


@given(st.lists(st.integers(0, 30), min_size=8, max_size=8), st.sampled_from([0.5, 0.8, 0.95]))
def test_a_largest_value_is_off_its_limit_where_one_part_is(cells: list[int], tau: float) -> None:
    counts = Counts(("g", "r"), np.array(cells, dtype=float).reshape(2, 2, 2))
    point = AuditConfig(rule="point")

    def off(name: str) -> Verdict | None:
        return decide_metric(
            find_metric(name), Interval(float(measure(name, counts)), np.nan, np.nan), tau, point
        )

    for name in GATES:
        if find_metric(name).tested == "parts":
            parts = [off(part) for part in find_metric(name).farthest_of]
            if "undecided" not in parts:
                assert off(name) == combine_verdicts(parts), name


def test_equalised_odds_fails_by_the_rate_that_fails_and_says_which() -> None:
    report = judge(one(TWO), AuditConfig(draws=0, **{"fail-on": ["equalised-odds"]}))
    tests = {test.tested: test for test in report.found["requested"].tests}
    rates = {row.metric: row for row in report.disparities if row.group == "a"}
    assert list(tests) == ["tpr-difference", "fpr-difference"]
    assert [test.p for test in tests.values()] == pytest.approx([rates["tpr"].p, rates["fpr"].p])
    assert tests["fpr-difference"].p_holm == pytest.approx(2 * rates["fpr"].p)
    assert [test.verdict for test in tests.values()] == ["pass", "fail"]
    assert report.gate.stops
    (row,) = report.found["requested"].rows
    assert row.values["equalised-odds"].high == tests["fpr-difference"].value.high
    (section,) = requested_sections(report.found["requested"], report, View())
    lines = [[cell.text for cell in line] for line in section.tables[0].rows]
    assert [(line[1], line[-1]) for line in lines] == [
        ("equalised-odds", "fails"),
        ("of which tpr-difference", "passes"),
        ("of which fpr-difference", "fails"),
    ]


def test_the_section_says_what_is_allowed() -> None:
    asked = ["equalised-odds", "selection-rate-ratio", "accuracy-of-group", "chi-squared-p"]
    report = judge(one(TWO), AuditConfig(draws=0, **{"fail-on": asked, "tau": {"equalised-odds": 0.9}}))
    said = (
        "Allowed: tpr-difference, fpr-difference from -0.1 to 0.1; selection-rate-ratio from 0.8 to 1.25; "
        "accuracy-of-group from 0.8 to 1; chi-squared-p from 0.05 to 1."
    )
    (section,) = requested_sections(report.found["requested"], report, View())
    assert said in section.sentences[1]


def test_what_weights_leave_too_few_rows_for_is_not_decided() -> None:
    part = slice_of({"a": (4.0, 60.0, 14.0, 60.0), "b": (90.0, 60.0, 60.0, 60.0)})
    by = np.array([[1.0, 1.0], [3.0, 1.0]])
    heavy = replace(part, counts=replace(part.counts, n=part.counts.n * by), squares=part.squares * by**2 * 4)
    found = judge(tally_of(heavy, weighted=True), AuditConfig(draws=0, **{"fail-on": ["equalised-odds"]}))
    tests = found.found["requested"].tests
    assert [(test.tested, test.verdict, test.reason) for test in tests] == [
        ("tpr-difference", "undecided", "few"),
        ("fpr-difference", "undecided", "wide"),
    ]
    assert found.found["requested"].rows[0].verdicts == {"equalised-odds": "undecided"}


def test_a_p_value_of_few_rows_does_not_fail_where_the_rates_do_not() -> None:
    """4 of 4 refused, of 200 others 58 %: chi-squared says 0.02, Fisher 0.03, and of 3 chance."""
    few = {"a": (2.0, 1.0, 0.0, 0.0), "b": (40.0, 40.0, 60.0, 60.0)}
    found = judge(one(few), AuditConfig(draws=0, metric=("chi-squared-p", "difference-of-means-p"))).found
    (row,) = found["requested"].rows
    assert all(known.value < 0.05 for known in row.values.values())
    assert set(row.verdicts.values()) == {"undecided"}
    assert {test.reason for test in found["requested"].tests} == {"chance"}


def test_an_accuracy_at_its_limit_is_no_failure() -> None:
    """Of 100 rows 79 are right: worse than 0.8 and nothing beyond chance, though surely not 1."""
    almost = {"a": (40.0, 11.0, 10.0, 39.0), "b": (100.0, 10.0, 10.0, 100.0)}
    names = ("accuracy-of-group", "kappa")
    found = judge(one(almost), AuditConfig(metric=names, tau=0.8)).found["requested"]
    assert next((test.verdict, test.reason) for test in found.tests) == ("undecided", "chance")
    bad = {"a": (30.0, 20.0, 20.0, 30.0), "b": (30.0, 20.0, 20.0, 30.0)}
    found = judge(one(bad), AuditConfig(metric=names, tau=0.8)).found["requested"]
    assert [test.verdict for test in found.tests] == ["fail", "fail"]


def test_a_small_group_leads_no_metric_where_there_is_another(say, tmp_path):
    rng = np.random.default_rng(3)
    lines = ["score,label,race"]
    for group, n, right in (("a", 600, 0.7), ("b", 500, 0.6), ("tiny", 14, 0.1), ("", 60, 0.1)):
        for label in rng.integers(0, 2, n):
            score = label if rng.random() < right else 1 - label
            lines.append(f"{score},{label},{group}")
    (tmp_path / "preds.csv").write_text("\n".join(lines) + "\n")
    options = ("--metric", "tpr-difference")
    assert leading_group(say("audit", "preds.csv", *options).out) == "b"
    without = ("--exclude", "b", "--exclude", "(missing)")
    assert leading_group(say("audit", "preds.csv", *options, *without).out) == "tiny*"


def leading_group(text):
    """Return the group that the table of metrics asked for by name names."""
    rows = text.split("Metrics asked for by name")[1].splitlines()
    (row,) = (row for row in rows if "tpr-difference " in row)
    return row.split()[2]
