"""An audit that stays open: judged again it says what a fresh one says, to the byte."""

import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import scaled, some_of, write_parquet

import fairbench_cli as fb
from fairbench_cli.audit import reading
from fairbench_cli.audit.config import JUDGED, READ, AuditConfig, fields_used_by

Options = dict[str, Any]

COMPAS: Options = {"score": "decile_score", "label": "two_year_recid", "attributes": ["race", "sex"]}
DECIDED: Options = {**COMPAS, "threshold": 5}
NUMBERS: Options = {"score": "stay", "outcome": "number", "attributes": ["sex"]}
JUDGED_VALUES: dict[str, list[Any]] = {
    "ref": [{"race": "Caucasian"}, {"race": "Hispanic", "sex": "Female"}, {"race": "nobody"}],
    "ref_method": ["minimum", "maximum", "rest"],
    "tau": [0.9, {"fpr": 0.95}],
    "margin": [0.05, {"fpr": 0.2}],
    "least_change": [0.05, {"fpr": 0.001}],
    "metric": ["fpr", ["ppv", "tpr"], "equalised-odds-parity", "disparate-impact"],
    "decision": ["assistive", "punitive"],
    "rule": ["point"],
    "min_group": [1, 400],
    "min_share": [0.05],
    "exclude": [["race=Other"], ["Asian", "race=Native American"], ["NA"]],
    "fail": [True],
    "fail_on": [["fpr"], ["race"], ["undecided"], ["worse"], ["race:mean"]],
    "warn_on": [["race:fnr"]],
    "baseline": ["ci.json"],
    "draws": [0, 50],
    "confidence": [0.8],
    "months": ["alike"],
    "adjusted": [True],
    "title": ["Parole"],
}
"""Values of each key that is said not to need reading."""
CHANGES = [(key, value) for key, values in JUDGED_VALUES.items() for value in values]

KINDS: dict[str, Options] = {
    "decisions": DECIDED,
    "attributes by their names": {"score": "decile_score", "label": "two_year_recid", "threshold": 5},
    "classes": {"score": "score_text", "outcome": "class", "attributes": ["race", "sex"]},
    "curves": {**DECIDED, "curves": True},
    "mitigated": {**DECIDED, "mitigate": True, "attributes": ["race"]},
    "searched": {**DECIDED, "scan": True, "attributes": ["sex", "age_cat"], "draws": 100},
    "explained": {**DECIDED, "explain": ["priors"], "attributes": ["sex"], "draws": 50},
    "two scores": {**DECIDED, "score": ["decile_score", "v_decile_score"], "attributes": ["race"]},
    "slices": {**DECIDED, "slice": "screening:quarter", "attributes": ["race"]},
    "numbers": {"score": "stay", "attributes": ["race", "sex"], "outcome": "number"},
    "numbers with labels": {**COMPAS, "label": "v_decile_score", "outcome": "number", "attributes": ["race"]},
    "numbers by their look": {"score": "stay", "attributes": ["race", "sex"]},
    "numbers cut": {"score": "stay", "bins": {"age": [25, 45]}, "attributes": ["sex"], "outcome": "number"},
    "two numbers": {"score": ["stay", "age"], "attributes": ["race"], "outcome": "number"},
    "numbers by slices": {**NUMBERS, "slice": "screening:quarter"},
    "numbers explained": {**NUMBERS, "explain": ["priors"]},
    "ranks": {"score": "score_text", "order": "Low,Medium,High", "attributes": ["race", "sex"]},
}


@pytest.fixture(scope="module")
def compas(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of a third of COMPAS' rows."""
    rows = pd.read_csv(data_folder / "compas-scores-two-years.csv").iloc[::3]
    stay = pd.to_datetime(rows["c_jail_out"]) - pd.to_datetime(rows["c_jail_in"])
    kept = pd.DataFrame(
        {
            "decile_score": rows["decile_score"],
            "v_decile_score": rows["v_decile_score"],
            "score_text": rows["score_text"],
            "two_year_recid": rows["two_year_recid"],
            "race": rows["race"].replace({"Native American": "NA"}),
            "sex": rows["sex"],
            "age_cat": rows["age_cat"],
            "age": rows["age"],
            "stay": stay.dt.total_seconds().fillna(0) / 86_400,
            "priors": np.minimum(rows["priors_count"], 4),
            "screening": rows["compas_screening_date"],
        }
    )
    path = tmp_path_factory.mktemp("compas") / "compas.csv"
    kept.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def ci_json(compas: Path) -> str:
    fb.audit(compas, **DECIDED).save(compas.parent / "ci.json")
    return str(compas.parent / "ci.json")


def outcome_of(audit: Any, *source: Any, **options: Any) -> str:
    """Return the JSON of an audit, or the text of its error."""
    try:
        return str(audit(*source, **options).to_json())
    except fb.UserError as error:
        return str(error)


def test_each_key_is_said_to_be_used_by_reading_or_by_judging():
    judged = fields_used_by(JUDGED)
    assert sorted((*judged, *fields_used_by(READ))) == sorted(AuditConfig.model_fields)
    keys = {(AuditConfig.model_fields[name].alias or name).replace("-", "_") for name in judged}
    assert keys == set(JUDGED_VALUES)


@pytest.mark.parametrize("kind", KINDS)
def test_each_key_of_judging_gives_what_a_fresh_audit_gives(compas: Path, ci_json: str, kind: str):
    base = KINDS[kind]
    with fb.opened(compas) as people:
        people.audit(**base)
        rows = people._rows
        # Of every kind some, and each of some kind: a nightly run has all of all.
        for key, value in some_of(CHANGES, 10, start=list(KINDS).index(kind)):
            options = {**base, key: value}
            if key == "baseline":
                options |= {"baseline": ci_json, "fail": True}
            people._rows = rows
            assert outcome_of(people.audit, **options) == outcome_of(fb.audit, compas, **options), options


def test_what_became_worse_is_judged_without_reading(compas: Path):
    with fb.opened(compas) as people:
        people.audit(**KINDS["two scores"])
        assert not people.reads_again(**KINDS["two scores"], fail_on=["worse"])


@pytest.mark.parametrize("key", JUDGED_VALUES)
def test_rows_of_decisions_are_not_read_again_for_a_key_of_judging(compas: Path, ci_json: str, key: str):
    slices = {"slice": "screening:quarter"} if key == "months" else {}
    with fb.opened(compas, **DECIDED, **slices) as people:
        people.audit()
        for value in JUDGED_VALUES[key]:
            options = {key: ci_json, "fail": True} if key == "baseline" else {key: value}
            if key == "least_change" or value in (["worse"], ["NA"]):
                continue  # refused where nothing is compared; a note of groups that look missing is read
            assert not people.reads_again(**options), options


@pytest.mark.parametrize(
    "options",
    [
        {"bins": {"age": 3}},
        {"intersect": ["race,sex"]},
        {"attributes": ["sex"]},
        {"threshold": 6},
        {"top_k": 100, "threshold": None},
        {"slice": "screening:year"},
        {"recode": "race: Other = Asian"},
        {"curves": True},
        {"scan": True},
        {"mitigate": True},
        {"explain": ["priors"]},
        {"weight": "priors"},
        {"label": None},
        {"exclude": ["NA"]},
    ],
    ids=str,
)
def test_rows_are_read_again_for_what_counts_do_not_say(compas: Path, options: Options):
    with fb.opened(compas, **DECIDED) as people:
        people.audit()
        assert people.reads_again(**options)
        assert outcome_of(people.audit, **options) == outcome_of(fb.audit, compas, **{**DECIDED, **options})


def random_options(rng: random.Random) -> Options:
    """Draw some options, of which half the audits read by the same."""
    options = dict(DECIDED)
    if rng.random() < 0.3:
        options |= rng.choice(
            [{"bins": {"age": [25, 45]}}, {"threshold": 7}, {"intersect": ["race,sex"]}, {"curves": True}]
        )
    for key in rng.sample(sorted(set(JUDGED_VALUES) - {"baseline"}), rng.randint(0, 4)):
        options[key] = rng.choice(JUDGED_VALUES[key])
    return options


def test_random_options_give_what_fresh_audits_give(compas: Path):
    rng = random.Random(7)  # noqa: S311
    with fb.opened(compas) as people:
        for _ in range(scaled(20)):
            options = random_options(rng)
            assert outcome_of(people.audit, **options) == outcome_of(fb.audit, compas, **options), options


def test_an_error_leaves_the_audit_open(compas: Path):
    with fb.opened(compas, **DECIDED) as people:
        verdict = people.audit().verdict
        for options in ({"ref": {"race": "nobody"}}, {"label": "nothing"}, {"tau": 7}, {"taus": 7}):
            with pytest.raises(fb.UserError):
                people.audit(**options)
        assert people.audit().verdict == verdict
        assert not people.reads_again(tau=0.7)


def test_rows_have_the_name_that_they_are_given(compas: Path, tmp_path: Path):
    path = tmp_path / "1f9c.csv"
    path.write_bytes(compas.read_bytes())
    with fb.opened(path, "scores of 2014.csv", **DECIDED) as people:
        page = people.audit().to_html()
        with pytest.raises(fb.UserError, match=r"^scores of 2014\.csv:1: error: no column"):
            people.audit(attributes=["nothing"])
    assert "scores of 2014.csv" in page
    assert "1f9c" not in page
    for text in ("", "score,sex\n", 'score,sex\n1,"f\n', "score,sex\n1,f,m\n", "score\n1\n"):
        path.write_text(text)
        with (
            fb.opened(path, "scores of 2014.csv") as people,
            pytest.raises(fb.UserError, match=r"scores of 2014\.csv") as caught,
        ):
            people.audit()
        assert "1f9c" not in str(caught.value)


def test_a_baseline_that_is_another_frame_is_read(compas: Path):
    rows = pd.read_csv(compas)
    other = rows.assign(decile_score=rows["v_decile_score"])
    options = {**DECIDED, "attributes": ["race"]}
    with fb.opened(rows, "people", **options) as people:
        same = people.audit(against=rows)
        assert people.reads_again(against=other)
        changed = people.audit(against=other)
    assert same.to_json() != changed.to_json()
    assert changed.report.slices[-1].model != ""


@pytest.mark.gate
def test_judging_again_is_quick(tmp_path: Path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "score": rng.integers(0, 2, 1_000_000),
            "label": rng.integers(0, 2, 1_000_000),
            "race": rng.choice(["a", "b", "c"], 1_000_000),
            "sex": rng.choice(["f", "m"], 1_000_000),
        }
    )
    path = tmp_path / "people.parquet"
    write_parquet(frame, path)
    seconds = []
    with fb.opened(path) as people:
        people.audit()
        for tau in (0.7, 0.75, 0.85, 0.9, 0.95):
            start = time.process_time()
            people.audit(tau=tau)
            seconds.append(time.process_time() - start)
    assert min(seconds) < 0.1


def test_a_part_that_is_asked_for_later_is_read(compas: Path):
    with fb.opened(compas, **DECIDED) as people:
        people.audit()
        rows = people._rows
        assert rows is not None
        config = rows.asked.model_copy(update={"curves": True})
        assert reading.needs_reading(rows, config)
        people.audit(curves=True)
        assert people.reads_again(curves=True, ref={"race": "Hispanic"})
        assert not people.reads_again(curves=True, tau=0.7)
