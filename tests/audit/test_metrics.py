"""Rates, references and the audit as a whole."""

import warnings

import numpy as np
import pytest
from audit_counts import Cells, compas, one, slice_of, tally_of
from conftest import law
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from fairbench_cli.audit.build_report import judge
from fairbench_cli.audit.compare.references import REST, REST_NAME, find_references
from fairbench_cli.audit.compare.report import Disparity, Report
from fairbench_cli.audit.config import MISSING, AuditConfig
from fairbench_cli.audit.metrics import COMPARED, SHOWN
from fairbench_cli.audit.options import read_config
from fairbench_cli.audit.scan.slices import Tally
from fairbench_cli.base.errors import UserError
from fairbench_cli.measures.counts import count, divide
from fairbench_cli.measures.rates import RATES, numerators_and_denominators

QUICK = AuditConfig(draws=0)
TWO: dict[str, Cells] = {"a": (50, 5, 10, 40), "b": (40, 15, 20, 20)}

cells = st.tuples(*[st.integers(0, 40)] * 4)
groups_of_cells = st.lists(cells, min_size=1, max_size=5)


def named(found: list[tuple[int, int, int, int]]) -> dict[str, Cells]:
    return {f"g{i}": one for i, one in enumerate(found)}


def of(audit: Report, group: str, measure: str) -> Disparity:
    (found,) = (one for one in audit.disparities if (one.group, one.metric) == (group, measure))
    return found


def test_rates_are_scikit_learns() -> None:
    rng = np.random.default_rng(3)
    s, y, predicted = (rng.integers(0, high, 500) for high in (2, 2, 2))
    counts = count(s, y, predicted, ("a", "b"))
    names = SHOWN
    rates = divide(*numerators_and_denominators(counts.n, names))
    for g in (0, 1):
        t, p = y[s == g], predicted[s == g]
        expected = {
            "selection-rate": p.mean(),
            "selected-share": p.sum() / predicted.sum(),
            "tpr": sk.recall_score(t, p),
            "fnr": 1 - sk.recall_score(t, p),
            "tnr": sk.recall_score(t, p, pos_label=0),
            "fpr": 1 - sk.recall_score(t, p, pos_label=0),
            "ppv": sk.precision_score(t, p),
            "fdr": 1 - sk.precision_score(t, p),
            "npv": sk.precision_score(t, p, pos_label=0),
            "for": 1 - sk.precision_score(t, p, pos_label=0),
            "accuracy": sk.accuracy_score(t, p),
            "base-rate": t.mean(),
            "group-share": len(t) / 500,
        }
        assert dict(zip(names, rates[g], strict=True)) == pytest.approx(expected)


@given(groups_of_cells, st.integers(2, 9))
def test_scaling_counts_leaves_rates(found: list[tuple[int, int, int, int]], factor: int) -> None:
    n = slice_of(named(found)).counts.n
    rates, scaled = (divide(*numerators_and_denominators(part, SHOWN)) for part in (n, factor * n))
    np.testing.assert_allclose(rates, scaled)


@given(groups_of_cells)
def test_complements_add_up_to_one(found: list[tuple[int, int, int, int]]) -> None:
    n = slice_of(named(found)).counts.n
    for name, metric in RATES.items():
        if metric.complement:
            assert RATES[metric.complement].complement == name
            both = divide(*numerators_and_denominators(n, (name, metric.complement)))
            defined = ~np.isnan(both).any(-1)
            np.testing.assert_allclose(both[defined].sum(-1), 1)


@law(40)
@given(groups_of_cells, st.sampled_from(["majority", "minimum", "maximum", "rest"]), st.booleans())
def test_any_counts_give_an_audit(
    found: list[tuple[int, int, int, int]], method: str, labelled: bool
) -> None:
    audit = judge(one(named(found), labelled=labelled), AuditConfig(draws=20, ref_method=method))  # type: ignore[arg-type]
    metrics = [name for name in COMPARED if labelled or not RATES[name].needs_labels]
    assert len(audit.disparities) == len(found) * len(metrics)
    for disparity in audit.disparities:
        for interval in (disparity.ratio, disparity.difference):
            assert not interval.low > interval.high
        undefined = np.isnan(disparity.value) or np.isnan(disparity.reference_value)
        assert (disparity.point == "undecided") == (disparity.reason == "no rows") == undefined
        assert disparity.verdict in ("undecided", disparity.point)


def test_majority_breaks_ties_by_name_and_never_takes_the_missing() -> None:
    groups: dict[str, Cells] = {
        "a": (1, 1, 1, 1),
        "b": (2, 2, 2, 2),
        "c": (2, 2, 2, 2),
        MISSING: (9, 9, 9, 9),
    }
    part = slice_of(groups)
    assert find_references(part, ("fpr", "tpr"), QUICK).tolist() == [1, 1]
    given_missing = AuditConfig(references={"race": MISSING})
    assert find_references(part, ("fpr", "tpr"), given_missing).tolist() == [3, 3]


def test_minimum_and_maximum_are_per_measure_and_skip_undefined() -> None:
    groups: dict[str, Cells] = {"a": (0, 0, 0, 9), "b": (6, 1, 4, 9), "c": (8, 5, 2, 5), "d": (8, 5, 2, 5)}
    part = slice_of(groups)
    assert find_references(part, ("fpr", "tpr"), AuditConfig(ref_method="minimum")).tolist() == [0, 1]
    assert find_references(part, ("fpr", "tpr"), AuditConfig(ref_method="maximum")).tolist() == [2, 2]
    undefined = slice_of({MISSING: (1, 1, 1, 1), "b": (0, 0, 0, 0)})
    assert find_references(undefined, ("fpr",), AuditConfig(ref_method="minimum")).tolist() == [1]


def test_rest_is_everybody_else() -> None:
    groups: dict[str, Cells] = {"a": (10, 10, 5, 25), "b": (5, 20, 10, 15), "c": (9, 9, 9, 9)}
    audit = judge(one(groups), AuditConfig(draws=0, ref_method="rest"))
    found = of(audit, "a", "fpr")
    assert (found.reference, found.reference_value) == (REST_NAME, 29 / 53)
    assert of(audit, "a", "selected-share").reference_value == 43 / 63
    assert not any(one.is_reference for one in audit.disparities)
    assert find_references(slice_of(groups), ("fpr",), AuditConfig(ref_method="rest")).tolist() == [REST]


def test_an_intersection_takes_the_references_of_its_attributes() -> None:
    groups: dict[str, Cells] = {"x × f": (9, 9, 9, 9), "x × m": (1, 1, 1, 1), "y × m": (1, 1, 1, 1)}
    part = slice_of(groups, attribute="race × sex", intersection=True)
    both = AuditConfig(references={"race": "y", "sex": "m"})
    assert find_references(part, ("fpr",), both).tolist() == [2]
    assert find_references(part, ("fpr",), AuditConfig(references={"race": "y"})).tolist() == [0]
    assert judge(tally_of(part), AuditConfig(draws=0, references={"race × sex": "x × m"})).verdicts


@pytest.mark.parametrize(
    ("references", "what", "fix"),
    [
        ({"rase": "a"}, 'no attribute called "rase"', 'did you mean "race"?'),
        ({"race": "c"}, 'attribute "race" has no group "c"', "use one of: a, b"),
    ],
)
def test_wrong_references(references: dict[str, str], what: str, fix: str) -> None:
    with pytest.raises(UserError) as caught:
        judge(one(TWO), AuditConfig(references=references))
    assert (caught.value.problems[0].what, caught.value.problems[0].fix) == (what, fix)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"metric": "fprs"}, 'metric: no metric is called "fprs"'),
        ({"metric": []}, "metric"),
        ({"tau": {"group-share": 0.9}}, "tau of group-share has no effect"),
    ],
)
def test_wrong_names(given: dict[str, object], what: str) -> None:
    with pytest.raises(UserError) as caught:
        read_config(given)
    assert what in caught.value.problems[0].what


def test_without_labels_only_selection_is_audited() -> None:
    audit = judge(one(TWO, labelled=False), QUICK)
    assert {disparity.metric for disparity in audit.disparities} == {"selection-rate", "selected-share"}
    assert set(audit.verdicts[0].by_metric) == {"selection-rate", "selected-share", "unsupervised-parity"}
    assert set(audit.groups[0].counts) == {"pp", "pn", "size"}
    assert (audit.verdict, audit.disparities[0].point) == ("undecided", "pass")
    with pytest.raises(UserError, match=r"type-i-parity, tpr cannot be computed without labels"):
        judge(one(TWO, labelled=False), AuditConfig(metrics=("type-i-parity", "pprev", "tpr")))


def test_the_overall_row_is_everybody() -> None:
    (row,) = judge(compas(), QUICK).overall
    assert (row.group, row.rows, row.counts["tp"], row.counts["fp"]) == ("(all)", 7214, 2035, 1282)
    assert row.metrics["fpr"].value == 1282 / 3963
    share = row.metrics["selected-share"]
    assert share.value == share.low == share.high == 1


def test_verdict_looks_at_the_chosen_metrics() -> None:
    config = AuditConfig(draws=0, references={"race": "Caucasian"}, metrics=("npv",), rule="point")
    assert judge(compas(), config).verdict == "pass"
    config = config.model_copy(update={"metrics": ("npv", "type-i-parity")})
    assert judge(compas(), config).verdict == "fail"
    config = config.model_copy(update={"metrics": ("npv",), "rule": "evidence"})
    assert judge(compas(), config).verdict == "undecided"  # eleven Native Americans


def test_numpy_says_nothing() -> None:
    empty: Tally = one({"a": (0, 0, 0, 0), "b": (0, 0, 0, 0), "c": (0, 4, 0, 0)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert judge(empty, AuditConfig(draws=10)).verdict == "undecided"
