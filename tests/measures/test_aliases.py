"""The literature's names: each is its definition on random tables, and what the libraries compute."""

import numpy as np
import pytest
from for_each import for_each

from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.literature_names import ALIASES
from fairbench_cli.measures.registry import METRICS, find_metric, measure

RNG = np.random.default_rng(7)
TABLES = Counts(("g", "r"), RNG.integers(1, 40, (500, 2, 2, 2)).astype(float))
MANY = Counts(("a", "b", "c"), RNG.integers(1, 40, (500, 3, 2, 2)).astype(float), ("c",))


def rates(counts):
    """The rates of all groups, by the textbook."""
    (tn, fp), (fn, tp) = np.moveaxis(counts.n, (-2, -1), (0, 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "selection": (tp + fp) / (tn + fp + fn + tp),
            "base": (tp + fn) / (tn + fp + fn + tp),
            "tpr": tp / (tp + fn),
            "tnr": tn / (tn + fp),
            "fpr": fp / (tn + fp),
            "fnr": fn / (tp + fn),
            "ppv": tp / (tp + fp),
            "npv": tn / (tn + fn),
            "accuracy": (tp + tn) / (tn + fp + fn + tp),
        }


def definition(name, counts):
    """The definition of an alias in its source, on two groups and on three with the last as reference."""
    pair = rates(counts.pair)
    g, r = ({key: value[..., at] for key, value in pair.items()} for at in (0, 1))
    each, alone = rates(counts), {key: value[..., 0] for key, value in rates(counts.all_rows).items()}
    others = {key: value[..., :-1] for key, value in each.items()}
    bcr = lambda of: (of["tpr"] + of["tnr"]) / 2  # noqa: E731
    spread = lambda rate: np.ptp(each[rate], axis=-1)  # noqa: E731
    least = lambda rate: each[rate].min(-1) / each[rate].max(-1)  # noqa: E731
    known = lambda values: np.nanmean(values, axis=-1)  # noqa: E731
    total = counts.n.sum((-3, -2, -1))
    values = {
        "acceptance-rate": alone["selection"],
        "discrimination": r["selection"] - g["selection"],
        "statistical-parity-difference": g["selection"] - r["selection"],
        "cv": 1 - (r["selection"] - g["selection"]),
        "impact-ratio": g["selection"] / r["selection"],
        "disparate-impact": g["selection"] / r["selection"],
        "dibinary": g["selection"] / r["selection"],
        "diavgall-binary": g["selection"] / r["selection"],
        "diavgall": known(others["selection"] / r["selection"][..., None]),
        "likelihood-ratio": r["selection"] / g["selection"],
        "demographic-parity-difference": spread("selection"),
        "demographic-parity-ratio": least("selection"),
        "overestimation": r["fpr"] - g["fpr"],
        "underestimation": g["fnr"] - r["fnr"],
        "equal-opportunity": spread("tpr"),
        "equal-opportunity-difference": g["tpr"] - r["tpr"],
        "equal-opportunity-ratio": least("tpr"),
        "average-odds-difference": ((g["fpr"] - r["fpr"]) + (g["tpr"] - r["tpr"])) / 2,
        "calibration-positive": known(each["ppv"]),
        "calibration-negative": known(each["npv"]),
        "pprev": alone["selection"],
        "ppr": np.ones_like(total),
        "prev": alone["base"],
        "share": np.ones_like(total),
        "precision": alone["ppv"],
        "recall": alone["tpr"],
        "sensitivity": alone["tpr"],
        "specificity": alone["tnr"],
        "balanced-accuracy": bcr(alone),
        "true-positive-rate": alone["tpr"],
        "false-positive-rate": alone["fpr"],
        "true-negative-rate": alone["tnr"],
        "false-negative-rate": alone["fnr"],
    }
    for spelling in ("equalised", "equalized"):
        values[f"{spelling}-odds-difference"] = np.maximum(spread("tpr"), spread("fpr"))
        values[f"{spelling}-odds-ratio"] = np.minimum(least("tpr"), least("fpr"))
    values["equalised-odds"] = values["equalised-odds-difference"]
    averaged = {"ppv": "calibration-positive", "npv": "calibration-negative"}
    for rate in ("accuracy", "tpr", "tnr", "bcr", "ppv", "npv"):
        of, two, ref = (bcr(at) if rate == "bcr" else at[rate] for at in (each, g, r))
        mean, compared = averaged.get(rate, rate), f"comparative-sensitive-{rate}"
        values[f"sensitive-{mean}"] = known(of)
        values[f"sensitive-{mean}-binary"] = (two + ref) / 2
        values[compared] = 1 - known(ref[..., None] - of[..., :-1])
        values[f"{compared}-binary"] = 1 - (ref - two)
        values[f"{compared}-ratio"] = known(of[..., :-1] / ref[..., None])
        values[f"{compared}-ratio-binary"] = two / ref
    values["sensitive-calibration-negative-stored"] = 1 - known(each["npv"])
    values["sensitive-calibration-negative-stored-binary"] = 1 - (g["npv"] + r["npv"]) / 2
    p, q, n, m = g["selection"], r["selection"], *np.moveaxis(counts.pair.group_total, -1, 0)
    pooled = (p * n + q * m) / (n + m)
    values["two-proportions-z"] = (q - p) / np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    return values[name]


@pytest.mark.parametrize("counts", [TABLES, MANY], ids=["two groups", "three groups"])
@for_each("alias", ALIASES)
def test_an_alias_is_its_definition(alias, counts):
    if alias.name == "two-proportions-p":  # against scipy and statsmodels in test_significance
        np.testing.assert_array_equal(measure(alias.name, counts), measure("selection-rate-p", counts))
        return
    expected = definition(alias.name, counts)
    there = np.isfinite(expected)
    assert there.mean() > 0.9
    np.testing.assert_allclose(measure(alias.name, counts)[there], expected[there], rtol=1e-12, atol=1e-12)


def rows_of(n):
    """Rows with these counts: group, label and prediction."""
    return np.repeat(np.argwhere(np.ones(n.shape)), n.ravel().astype(int), axis=0).T


FAIRLEARN = {
    "demographic_parity_difference": "demographic_parity_difference",
    "demographic_parity_ratio": "demographic_parity_ratio",
    "equalized_odds_difference": "equalized_odds_difference",
    "equalized_odds_ratio": "equalized_odds_ratio",
    "equal-opportunity": "equal_opportunity_difference",
    "equal_opportunity_ratio": "equal_opportunity_ratio",
}


@pytest.mark.gate
@pytest.mark.parametrize("name", FAIRLEARN)
def test_fairlearn_computes_the_same(name):
    fairlearn = pytest.importorskip("fairlearn.metrics")
    for n in MANY.n[:25]:
        s, y, predicted = rows_of(n)
        theirs = getattr(fairlearn, FAIRLEARN[name])(y, predicted, sensitive_features=s)
        assert measure(name, Counts(("a", "b", "c"), n, ("c",))) == pytest.approx(theirs)


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("selection-rate", "selection_rate"),
        ("true_positive_rate", "true_positive_rate"),
        ("false_positive_rate", "false_positive_rate"),
        ("true_negative_rate", "true_negative_rate"),
        ("false_negative_rate", "false_negative_rate"),
    ],
)
def test_fairlearns_rates(name, theirs):
    fairlearn = pytest.importorskip("fairlearn.metrics")
    for n in MANY.n[:25]:
        _, y, predicted = rows_of(n)
        assert measure(name, Counts(("a", "b", "c"), n)) == pytest.approx(
            getattr(fairlearn, theirs)(y, predicted)
        )


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("precision", "precision_score"),
        ("recall", "recall_score"),
        ("accuracy", "accuracy_score"),
        ("balanced-accuracy", "balanced_accuracy_score"),
        ("f1", "f1_score"),
        ("mcc", "matthews_corrcoef"),
        ("kappa", "cohen_kappa_score"),
    ],
)
def test_scikit_learn_computes_the_same(name, theirs):
    from sklearn import metrics

    for n in TABLES.n[:25]:
        _, y, predicted = rows_of(n)
        assert measure(name, Counts(("g", "r"), n)) == pytest.approx(getattr(metrics, theirs)(y, predicted))


def test_signs_and_short_names_are_understood():
    assert find_metric("s-Calibration+") is METRICS["sensitive-calibration-positive"]
    assert find_metric("sensitive-calibration-") is METRICS["sensitive-calibration-negative"]
    assert find_metric("s-BCR") is METRICS["sensitive-bcr"]


def test_a_name_means_one_thing():
    assert len({alias.name for alias in ALIASES}) == len(ALIASES)
    assert not {alias.name for alias in ALIASES} & {m.name for m in METRICS.values() if not m.alias_of}
    for alias in ALIASES:
        assert find_metric(alias.name.upper().replace("-", "_")) is METRICS[alias.name]
        assert METRICS[alias.name].alias_of == alias.definition
