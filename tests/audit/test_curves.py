"""Scores by group are scikit-learn's and scipy's; selection rates along thresholds those of single audits."""

import json
import math
import re
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from conftest import two_lines
from scipy.stats import ks_2samp
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, roc_auc_score

from fairbench_cli.audit.api import audit
from fairbench_cli.audit.parts.curves import curve_sections
from fairbench_cli.audit.parts.part import View
from fairbench_cli.audit.scan import scores
from fairbench_cli.audit.show.document import to_html
from fairbench_cli.audit.show.tables import tables_of
from fairbench_cli.measures.scores import (
    ScoreCells,
    ScoreTotals,
    add_cells,
    auc,
    brier_score,
    empty_sums,
    fit_calibration,
    ks_by_label,
    logit,
    slope_and_intercept,
)

FILES = [*range(6), *(pytest.param(number, marks=pytest.mark.nightly) for number in range(6, 100))]
CURVED = {"score": "score", "label": "y", "threshold": 0.5, "curves": True, "draws": 0, "min_group": 1}


@pytest.fixture(autouse=True)
def few_thresholds(monkeypatch):
    """A hundred take a second each time."""
    monkeypatch.setattr(scores, "MOST_THRESHOLDS", 12)


def random_file(seed):
    """People of two to four groups; every third file has tied scores, every other one weights."""
    rng = np.random.default_rng(seed)
    rows, groups = int(rng.integers(100, 1500)), int(rng.integers(2, 5))
    group, z = rng.integers(0, groups, rows), rng.normal(size=rows)
    score = 1 / (1 + np.exp(0.3 - z * rng.uniform(0.3, 2)))
    label = (rng.random(rows) < 1 / (1 + np.exp(0.5 * group - 0.8 * z))).astype(int)
    frame = pd.DataFrame({"score": score.round(1) if seed % 3 == 0 else score, "y": label})
    frame["g"] = np.array(list("abcd"))[group]
    if seed % 2:
        frame["w"] = rng.lognormal(size=rows)
    return frame


def kolmogorov(one, other, w_one, w_other):
    """Return the distance by its definition, at every score."""
    at = np.union1d(one, other)
    shares = [
        np.array([w[x <= score].sum() for score in at]) / w.sum() for x, w in ((one, w_one), (other, w_other))
    ]
    return float(np.abs(shares[0] - shares[1]).max())


@pytest.mark.parametrize("seed", FILES)
def test_scores_are_those_of_scikit_learn_and_scipy(seed, monkeypatch):
    monkeypatch.setattr(scores, "AT_ONCE", 83)  # so that scores are read in many parts
    monkeypatch.setattr(scores, "KEPT", 0 if seed % 2 else 250_000)
    frame = random_file(seed)
    weighted = "w" in frame
    (curves,) = audit(frame, **CURVED, **({"weight": "w"} if weighted else {})).report.found["curves"]
    found = {row.group: row for row in curves.groups}
    (reference,) = (row.group for row in curves.groups if row.is_reference)
    other = frame[frame.g == reference]
    size = frame.groupby("g").w.sum() if weighted else frame.g.value_counts().sort_index()
    assert reference == curves.reference == size.idxmax()
    for name, own in frame.groupby("g"):
        of = {measure: each.value for measure, each in found[name].values.items()}
        w = own.w if weighted else None
        assert of["auc"] == pytest.approx(roc_auc_score(own.y, own.score, sample_weight=w), abs=1e-9)
        assert of["brier"] == pytest.approx(brier_score_loss(own.y, own.score, sample_weight=w), abs=1e-9)
        assert of["mean-score"] == pytest.approx(np.average(own.score, weights=w), abs=1e-9)
        assert of["base-rate"] == pytest.approx(np.average(own.y, weights=w), abs=1e-9)
        x = logit(own.score.to_numpy())[:, None]
        line = LogisticRegression(C=np.inf, tol=1e-12, max_iter=500, solver="newton-cholesky")
        line.fit(x, own.y, sample_weight=w)
        assert of["calibration-slope"] == pytest.approx(line.coef_[0, 0], abs=1e-6)
        assert of["calibration-intercept"] == pytest.approx(line.intercept_[0], abs=1e-6)
        yes, no = own[own.y == 1], own[own.y == 0]
        for measure, one, two in (("ks-of-labels", yes, no), ("ks-to-reference", own, other)):
            if measure == "ks-to-reference" and name == reference:
                assert measure not in of
                continue
            weights = (one.w, two.w) if weighted else (np.ones(len(one)), np.ones(len(two)))
            expected = (
                kolmogorov(one.score.to_numpy(), two.score.to_numpy(), *map(np.asarray, weights))
                if weighted
                else ks_2samp(one.score, two.score).statistic
            )
            assert of[measure] == pytest.approx(expected, abs=1e-9)


def test_calibration_bins_are_those_of_scikit_learn():
    frame = random_file(4).iloc[:100]
    frame = pd.concat([frame.assign(g="a"), frame.iloc[:50].assign(g="b")]).sort_values("score")
    (curves,) = audit(frame[frame.g == "a"].assign(h="x"), attributes=["h"], **CURVED).report.found["curves"]
    (row,) = curves.groups
    own = frame[frame.g == "a"]
    happened, said = calibration_curve(own.y, own.score, n_bins=10, strategy="quantile")
    assert [each.rate.value for each in row.bins] == pytest.approx(happened.tolist(), abs=1e-9)
    assert [each.mean_score for each in row.bins] == pytest.approx(said.tolist(), abs=1e-9)
    assert sum(each.rows for each in row.bins) == len(own)
    assert curves.reference == ""
    assert row.differences == {}


@pytest.mark.gate
@pytest.mark.parametrize("how", [{}, {"weight": "w"}, {"ref_method": "maximum"}, {"ref_method": "rest"}])
def test_the_rates_at_a_threshold_are_those_of_an_audit_there(how):
    rng = np.random.default_rng(1)
    frame = random_file(11).assign(sex=rng.choice(["f", "m"], len(random_file(11))))
    base = {**CURVED, **how, **({} if how else {"intersect": ["g,sex"]}), "tau": {"default": 0.8, "fpr": 0.7}}
    report = audit(frame, **base).report
    assert len(report.found["curves"]) == (2 if how else 3)
    for at in range(0, len(report.found["curves"][0].thresholds), 6):
        threshold = report.found["curves"][0].thresholds[at].threshold
        single = audit(frame, **{**base, "curves": False, "threshold": threshold}).report
        for curves in report.found["curves"]:
            row = curves.thresholds[at]
            rates = {
                one.group: one.metrics["selection-rate"].value
                for one in single.groups
                if one.attribute == curves.attribute
            }
            assert row.rates == pytest.approx(rates)
    here = [row for row in report.found["curves"][0].thresholds if row.decision]
    assert [(row.threshold, row.decision) for row in here] == [(0.5, "score >= 0.5")]


def test_everybody_else_is_a_reference():
    frame = random_file(2)
    (curves,) = audit(frame, ref_method="rest", **CURVED).report.found["curves"]
    assert curves.reference == "(rest)"
    for row in curves.groups:
        rest, own = frame[frame.g != row.group], frame[frame.g == row.group]
        both = [roc_auc_score(part.y, part.score) for part in (own, rest)]
        assert row.differences["auc"].value == pytest.approx(both[0] - both[1], abs=1e-9)
        assert row.values["ks-to-reference"].value == pytest.approx(
            ks_2samp(own.score, rest.score).statistic, abs=1e-9
        )


def test_models_have_curves_of_their_own():
    frame = pd.concat([random_file(2).assign(m="one"), random_file(4).assign(m="two")])
    together = audit(frame, model_column="m", top_k=20, **{**CURVED, "threshold": [0.5, 0.6]}).report
    assert [each.model for each in together.found["curves"]] == ["one", "two"]
    alone = audit(random_file(4), **{**CURVED, "threshold": [0.5, 0.6]}).report.found["curves"][0]
    assert repr(together.found["curves"][1].groups) == repr(alone.groups)
    decisions = [row.decision for row in together.found["curves"][0].thresholds if row.decision]
    assert {"score >= 0.5", "score >= 0.6", "top 20"} == set(decisions)


def test_without_labels_only_distributions_are_compared():
    frame = random_file(2).drop(columns="y")
    (curves,) = audit(frame, score="score", threshold=0.5, curves=True).report.found["curves"]
    assert next(set(row.values) for row in curves.groups if not row.is_reference) == {"ks-to-reference"}
    assert all(not row.bins and not row.differences for row in curves.groups)
    assert len(curves.thresholds) == 13


def test_scores_that_are_no_probabilities_are_not_calibrated():
    frame = random_file(3).assign(score=lambda frame: 10 * frame.score)
    (curves,) = audit(frame, **{**CURVED, "threshold": 5}).report.found["curves"]
    assert set(curves.groups[0].values) <= {"auc", "ks-of-labels", "ks-to-reference"}
    tied = sorted(set(frame.score))
    assert [row.threshold for row in curves.thresholds] == tied[1:]


def test_groups_that_say_little():
    """One row, one label, one score, labels that a score separates: no number, and no warning."""
    rng = np.random.default_rng(3)
    many = pd.DataFrame({"score": rng.random(200).round(3), "y": rng.integers(0, 2, 200), "g": "many"})
    odd = [(0.5, 1, "alone"), (0.2, 1, "ones"), (0.4, 1, "ones"), (0.3, 0, "flat"), (0.3, 1, "flat")]
    odd += [(0.1, 0, "apart"), (0.2, 0, "apart"), (0.8, 1, "apart"), (0.9, 1, "apart"), (0.0, 1, "many")]
    frame = pd.concat([many, pd.DataFrame(odd, columns=["score", "y", "g"])])
    (curves,) = audit(frame, **CURVED).report.found["curves"]
    of = {row.group: row.values for row in curves.groups}
    assert math.isnan(of["alone"]["auc"].value)
    assert math.isnan(of["ones"]["auc"].value)
    assert of["flat"]["auc"].value == 0.5
    assert of["apart"]["auc"].value == 1
    assert 0.2 < of["apart"]["auc"].low < 0.8
    for name in ("alone", "ones", "flat", "apart"):
        assert math.isnan(of[name]["calibration-slope"].value)
    assert of["apart"]["brier"].value == pytest.approx((0.01 + 0.04 + 0.04 + 0.01) / 4)


def cells(score, group, label, weight=None):
    """Return cells, and their totals."""
    weight = np.ones(len(score)) if weight is None else weight
    order, slot, groups = np.argsort(score, kind="stable"), 2 * group + label, int(group.max()) + 1
    parts = (np.ones(len(score)), weight, weight**2)
    totals = ScoreTotals(*(np.bincount(slot, part, 2 * groups).reshape(groups, 2) for part in parts))
    return ScoreCells(*(each[order] for each in (score, group, label, weight, weight**2))), totals


def test_equal_weights_are_none():
    frame = random_file(2)
    plain, same = (
        audit(frame.assign(w=3.0), **CURVED, **how).report.found["curves"] for how in ({}, {"weight": "w"})
    )
    for one, other in zip(plain[0].groups, same[0].groups, strict=True):
        for name, of in one.values.items():
            assert tuple(vars(other.values[name]).values()) == pytest.approx(
                tuple(vars(of).values()), abs=1e-9, nan_ok=True
            )


@pytest.mark.parametrize(("rows", "heavy"), [(100, False), (400, False), (200, True)])
def test_intervals_hold_the_truth(rows, heavy):
    """Two normal distributions, a world a group: AUC, distance and line are known."""
    worlds, apart, base = 400, 1.2, 0.3
    rng = np.random.default_rng(rows)
    group = np.repeat(np.arange(worlds), rows)
    label = (rng.random(len(group)) < base).astype(int)
    z = rng.normal(size=len(group)) + apart * label
    line = math.log(base / (1 - base)) + apart * z - apart**2 / 2
    score = 1 / (1 + np.exp(-(1.3 * line + 0.2)))
    counted, totals = cells(score, group, label, rng.lognormal(size=len(group)) if heavy else None)
    sums = add_cells(empty_sums(worlds), counted, totals, np.arange(worlds))
    slope, intercept = slope_and_intercept(fit_calibration(lambda: [counted], worlds), totals)
    truths = [
        (auc(sums, totals), 0.5 * (1 + math.erf(apart / 2))),
        (brier_score(sums, totals), np.mean((score - label) ** 2)),
        (slope, 1 / 1.3),
        (intercept, -0.2 / 1.3),
    ]
    for (_, low, high), truth in truths:
        assert 0.92 <= np.mean((low <= truth) & (truth <= high)) <= 0.995
    _, low, high = ks_by_label(sums, totals)
    far = math.erf(apart / math.sqrt(8))
    assert np.mean((low <= far) & (far <= high)) >= 0.95  # conservative


def test_an_option_that_can_do_nothing_is_refused(say, tmp_path):
    (tmp_path / "p.csv").write_text("score,label,g,id\n1,0,a,1\n0,1,b,2\n1,1,b,3\n")
    (tmp_path / "two.csv").write_text("score,label,g\n.2,0,a\n.7,1,b\n")
    two_lines(say("audit", "p.csv", "--curves"), "--curves", "0 and 1", "--score")
    two_lines(say("audit", "two.csv", "--curves", "--threshold", ".5"), "--curves", "two values")
    two_lines(say("audit", "p.csv", "--curves", "--cluster", "id"), "--curves", "takes each row for a person")


@pytest.mark.gate
def test_outputs(say, tmp_path):
    random_file(0).rename(columns={"g": "<g>"}).to_csv("p.csv", index=False)
    flags = ("audit", "p.csv", "--label", "y", "--threshold", ".5", "--curves")
    done = say(*flags, "-o", "out")
    assert done.code == 0, done
    assert all(len(line) <= 80 for line in done.out.splitlines())
    assert "What the scores are worth: AUC" in done.out
    assert "what the scores are worth" in say(*flags, "--all").out
    report = audit("p.csv", **CURVED).report
    for name in ("scores", "calibration", "thresholds"):
        table = pd.read_csv(tmp_path / "out" / f"{name}.csv")
        assert len(table) == len(list(tables_of(report)[name]()))
    document = json.loads((tmp_path / "out" / "audit.json").read_text())
    assert document["curves"][0]["groups"][0]["values"]["auc"]["value"] > 0.5
    assert document["config"]["curves"] is True
    page = to_html(report)
    figures = [
        figure
        for section in curve_sections(report.found["curves"], report, View())
        for figure in section.charts
    ]
    assert len(figures) == 2
    for figure in figures:
        assert figure.svg in page
        assert "<g>" not in re.sub(r"&lt;g&gt;", "", figure.svg)
        ET.fromstring(figure.svg)  # noqa: S314
    say("audit", "p.csv", "--label", "y", "--threshold", ".5", "-o", "plain")
    assert not (tmp_path / "plain" / "scores.csv").exists()
    assert "curves" not in json.loads((tmp_path / "plain" / "audit.json").read_text())


@pytest.mark.gate
def test_many_attributes_are_read_in_several_tables(monkeypatch):
    rng = np.random.default_rng(0)
    frame = random_file(2)
    for name in "pqr":
        frame[name] = rng.choice(["x", "y", None], len(frame))
    whole = audit(frame, intersect=["g,p", "p,q"], **CURVED).report.found["curves"]
    monkeypatch.setattr(scores, "TOGETHER", 2)
    assert repr(audit(frame, intersect=["g,p", "p,q"], **CURVED).report.found["curves"]) == repr(whole)
    assert [each.attribute for each in whole] == ["g", "p", "q", "g × p", "p × q"]
    assert whole[1].groups[-1].group == "(missing)"


def test_rows_of_weight_zero_are_no_rows_of_a_curve():
    rng = np.random.default_rng(4)
    rows = pd.DataFrame(
        {"p": rng.random(600).round(2), "y": rng.integers(0, 2, 600), "sex": list("fm") * 300}
    )
    rows["w"] = rng.choice([0.0, 1.0, 2.0], 600)
    keys = {"score": "p", "label": "y", "threshold": [0.5], "weight": "w", "curves": True}
    tables = [audit(frame, **keys).to_pandas("calibration") for frame in (rows, rows[rows["w"] > 0])]
    pd.testing.assert_frame_equal(*tables)
    assert tables[0]["rows"].sum() == (rows["w"] > 0).sum()
