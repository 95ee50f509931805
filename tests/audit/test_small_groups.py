"""Small groups: the subgroup that stands out, as an audit has it."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import most_by_chance, two_lines, worlds

from fairbench_cli.audit import audit
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.parts.subgroups import Joint, find_subgroups
from fairbench_cli.audit.scan.slices import Clusters, Slice
from fairbench_cli.audit.show.formats import FORMATS, write, write_folder
from fairbench_cli.base.errors import UserError
from fairbench_cli.measures.counts import Counts


def people(rows: int = 2000, seed: int = 3, planted: float = 0.25) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "race": rng.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1]),
            "sex": rng.choice(["f", "m"], rows),
            "age": rng.choice(["old", "young", ""], rows, p=[0.6, 0.35, 0.05]),
        }
    )
    rate = np.where((frame.race == "b") & (frame.age == "young"), 0.5 + planted, 0.5)
    frame["score"] = (rng.random(rows) < rate).astype(int)
    frame["label"] = (rng.random(rows) < 0.5).astype(int)
    return frame


FRAME = people()
SCAN = {"scan": True, "label": "label", "attributes": ["race", "sex", "age"], "draws": 200}


def test_a_planted_subgroup_is_found_and_shown(tmp_path):
    result = audit(FRAME, **SCAN)
    lower, higher = (one for one in result.report.found["subgroups"] if one.metric == "selection-rate")
    assert (lower.side, higher.side) == ("lower", "higher")
    assert higher.levels == {"race": "b", "age": "young"}
    assert higher.subgroup == "race = b, age = young"
    inside = (FRAME.race == "b") & (FRAME.age == "young")
    assert higher.behind == (FRAME.score[inside].sum(), inside.sum())
    assert higher.others_behind == (FRAME.score[~inside].sum(), (~inside).sum())
    assert (higher.rows, higher.value) == (inside.sum(), FRAME.score[inside].mean())
    assert higher.stands_out
    assert (higher.p, higher.p_adjusted) == (pytest.approx(1 / 201), pytest.approx(5 / 201))
    assert 1 < higher.ratio.low < higher.ratio.value < higher.ratio.high
    text = result.to_markdown()
    assert "race = b, age = young stands out most: selection rate" in " ".join(text.split())
    assert "## Subgroups that stand out" in text
    document = json.loads(result.to_json())
    assert document["subgroups"][1]["levels"] == {"race": "b", "age": "young"}
    assert document["config"]["scan"] is True
    assert len(result.to_pandas("subgroups")) == 10
    for name in FORMATS:
        assert write(result.report, name)


def test_the_same_rows_in_another_order_give_the_same_bytes():
    order = np.random.default_rng(4).permutation(len(FRAME))
    assert audit(FRAME, **SCAN).to_json() == audit(FRAME.iloc[order], **SCAN).to_json()


@pytest.mark.gate
def test_small_subgroups_are_not_searched():
    one = SCAN | {"metric": "selection-rate", "draws": 10}
    few, many = (audit(FRAME, min_group=n, **one).report.found["subgroups"][0].searched for n in (1, 300))
    assert few > 2 * many
    assert audit(FRAME, min_group=1500, **one).report.found["subgroups"] == ()
    alone = audit(FRAME, exclude=["a", "c"], min_group=30, **one).report.found["subgroups"]
    assert all("race" not in one.levels for one in alone)  # one race is left, which says nothing
    assert max(one.behind[1] + one.others_behind[1] for one in alone) == (FRAME.race == "b").sum()


def test_a_scan_that_finds_nothing_has_a_table_without_rows():
    assert audit(FRAME[:40], **SCAN).to_pandas("subgroups").empty


def test_a_scan_that_finds_nothing_leaves_no_older_file(tmp_path):
    one = SCAN | {"metric": "selection-rate", "draws": 10, "attributes": ["race"]}
    found = audit(FRAME, **one)
    assert "All groups of race were searched" in found.to_markdown()
    write_folder(found.report, tmp_path)
    (tmp_path / "mine.csv").write_text("")
    assert (tmp_path / "subgroups.csv").exists()
    write_folder(audit(FRAME[:40], **one).report, tmp_path)
    assert not (tmp_path / "subgroups.csv").exists()
    assert (tmp_path / "mine.csv").exists()


@pytest.mark.gate
def test_models_thresholds_lists_and_ties_are_searched_each():
    scores = np.random.default_rng(5).integers(0, 9, len(FRAME)) / 10
    frame = FRAME.assign(score=scores, m=np.where(FRAME.index % 2, "x", "y"))
    how = {"model_column": "m", "threshold": [0.3, 0.6], "top_k": 200, "ties": "random"}
    found = audit(frame, **how, **SCAN, metric=["selection-rate", "fpr"]).report.found["subgroups"]
    places = {(one.model, one.decision) for one in found}
    assert len(places) == 6
    assert {one.p_adjusted for one in found} <= {min(1.0, 12 * one.p) for one in found}
    rates = [one for one in found if one.metric == "selection-rate"]
    listed = next(one for one in rates if one.decision.startswith("top 200"))
    assert listed.behind[0] + listed.others_behind[0] == 200


def test_p_values_are_adjusted_for_the_searches_that_are_made():
    # With the label 1 fdr is 0, for is 1, and fpr has no rows.
    rows = audit(FRAME.assign(label=1), **SCAN).report.found["subgroups"]
    searches = {row.metric for row in rows}
    assert not {"fdr", "for", "fpr"} & searches
    assert [row.p_adjusted for row in rows] == [min(1.0, len(searches) * row.p) for row in rows]


def test_people_change_places_as_a_whole():
    """Each person has ten alike rows: taken for rows, they make chance look like a subgroup."""
    person = np.repeat(np.arange(150), 10)
    frame = people(150, planted=0.0).iloc[person].assign(person=person).drop(columns="label")
    how = {"attributes": ["race", "sex", "age"], "scan": True, "draws": 100}
    rows, whole = (
        audit(frame, **how, **more).report.found["subgroups"] for more in ({}, {"cluster": "person"})
    )
    assert [one.subgroup for one in rows] == [one.subgroup for one in whole]
    assert [one.likelihood_ratio for one in rows] == [one.likelihood_ratio for one in whole]
    assert all(one.stands_out for one in rows)
    assert not any(one.stands_out for one in whole)
    for narrow, wide in zip(rows, whole, strict=True):
        assert wide.ratio.low <= min(narrow.ratio.low, 1)
        assert wide.ratio.high > max(narrow.ratio.high, 1)


@pytest.mark.gate
def test_what_cannot_be_searched_is_refused(say):
    FRAME.assign(w=1, who=np.arange(len(FRAME)) // 2).to_csv("p.csv", index=False)
    asked = ["audit", "p.csv", "--label", "label", "-a", "race", "-a", "sex", "--scan"]
    for flag, value, what in (
        ("--weight", "w", "--scan: error: subgroups are searched by letting rows change places"),
        ("--cluster", "who", "--scan: error: some who have rows in several groups"),
        ("--draws", "0", "--draws: error: a scan deals out the outcomes as often as draws says"),
        ("--slice", "age", "--scan: error: scan cannot be combined with slice"),
    ):
        two_lines(say(*asked, flag, value), what)
    with pytest.raises(UserError, match="rows of different weight cannot"):
        audit([1, 0], [1, 0], {"sex": ["f", "m"]}, weights=[1, 2], scan=True)
    rng = np.random.default_rng(6)
    cells = rng.integers(0, 3, (3000, 12)).astype(str)
    wide = pd.DataFrame(cells, columns=[f"race{i}" for i in range(12)]).assign(score=1)
    with pytest.raises(UserError, match=r"12 attributes have \d+ combinations, too many to search"):
        audit(wide, scan=True)


def test_few_draws_are_said_to_show_nothing():
    text = audit(FRAME, **SCAN | {"draws": 50}).to_markdown()
    assert "50 deals cannot show anything here: give --draws 200 or more" in text
    assert "No subgroup stands out by more than chance." in text


def test_nothing_of_this_is_in_an_audit_that_does_not_ask():
    document = json.loads(audit(FRAME, label="label").to_json())
    assert not {"scan", "subgroups"} & {*document, *document["config"]}


@pytest.mark.parametrize("each", [1, 3])
def test_a_scan_of_a_fair_world_seldom_says_something(each):
    """Of rows, and of people with three rows on average whose outcomes are correlated by one half."""
    runs, said = worlds(1000), 0
    levels, shares = (("a", "b", "c", "d", "e"), ("f", "m")), ((0.5, 0.3, 0.12, 0.06, 0.02), (0.6, 0.4))
    for run in runs:
        rng = np.random.default_rng([7, run])
        codes = np.stack([rng.choice(len(of), 600 // each, p=of) for of in shares], axis=1)
        size = rng.geometric(1 / each, len(codes))
        selected = rng.binomial(size, rng.beta(0.3, 0.7, len(codes)) if each > 1 else 0.3)
        n = np.zeros((len(codes), 2, 2))
        n[:, 0] = np.stack([size - selected, selected], axis=1)
        known, place = np.unique(codes, axis=0, return_inverse=True)
        counted = np.zeros((len(known), 2, 2))
        np.add.at(counted, place.ravel(), n)
        counts = Counts(tuple(map(str, range(len(known)))), counted)
        people = Clusters(np.arange(len(codes)), place.ravel(), n, n) if each > 1 else None
        part = Slice("", "binary", "p × q", counts, counted.astype(int), counted, False, clusters=people)
        config = AuditConfig(draws=60, seed=run, min_group=20)
        found = find_subgroups([Joint(part, ("p", "q"), levels, known)], ("selection-rate",), config)
        said += any(one.stands_out for one in found)
    assert said <= most_by_chance(len(runs), 0.06)
