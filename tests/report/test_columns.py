"""A number of a technique is a column: of the answer, of the page and of findings.csv, by one line."""

import re
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from answer_again import Answer
from report.test_answer import PLAIN, WORLDS, run_of
from report.worlds_data import known_run

from fairbench_cli.experiment.plan import write_plan
from fairbench_cli.measures.registry import DEFAULT_METRICS
from fairbench_cli.report.ledger import columns
from fairbench_cli.report.ledger.columns import FindingColumn
from fairbench_cli.report.ledger.findings import findings_frame
from fairbench_cli.report.ledger.results import run_results
from fairbench_cli.report.write import write_report

TWO = {name: WORLDS[name] for name in ("winner", "nothing")}
KEYS = ["dataset", "intervention", "beta"]


def written(folder: Path, worlds=None, **given) -> pd.DataFrame:
    """Write the report of an invented run, check its answer, and return its findings.csv."""
    plan, records = run_of(worlds or TWO, **given)
    write_plan(folder, plan)
    write_report(folder, plan, records)
    assert not Answer(folder).check().wrong
    return pd.read_csv(folder / "findings.csv")


def static_heads(folder: Path) -> list[str]:
    """Return the heads of the page's table of all numbers, which needs no script."""
    page = (folder / "report.html").read_text(encoding="utf-8")
    table = page.partition("<caption>All techniques in all settings</caption>")[2].partition("</thead>")[0]
    return [unescape(head) for head in re.findall(r'<button type="button">(.*?)</button>', table)]


def answer_heads(folder: Path) -> list[str]:
    text = (folder / "answer.md").read_text(encoding="utf-8")
    head = next(line for line in text.partition("\n## ")[2].splitlines() if line.startswith("|"))
    return [words.strip() for words in head.split("|")[1:-1]]


@pytest.mark.gate
def test_a_column_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "COLUMNS", (*columns.COLUMNS, FindingColumn("recall", "recall, %", "tpr")))
    findings = written(tmp_path)
    assert "recall, %" in static_heads(tmp_path)
    assert "recall, %" in answer_heads(tmp_path)
    recall = findings[findings["column"] == "recall"].set_index(KEYS)["mean"]
    groups = pd.read_csv(tmp_path / "groups.csv")
    counts = groups[groups["attribute"] == "sex"].groupby([*KEYS, "repeat"])[["tp", "fn"]].sum()
    wanted = (counts["tp"] / (counts["tp"] + counts["fn"])).groupby(KEYS).mean()
    assert len(recall) == 6
    assert np.allclose(recall, wanted.loc[recall.index])


@pytest.mark.gate
def test_metrics_that_a_config_names_are_columns(tmp_path):
    metrics = ("accuracy", "discrimination", "equalised-odds")
    findings = written(tmp_path, metrics=metrics)
    assert "equalised-odds, points" in static_heads(tmp_path)
    assert "equalised-odds, points" in answer_heads(tmp_path)
    odds = findings[findings["metric"] == "equalised-odds"]
    own = odds[odds["of"] == "value"].set_index(KEYS)["mean"]
    change = odds[odds["of"] == "change"].set_index(KEYS)[["mean", "low", "high"]].dropna()
    summary, paired = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("summary", "paired"))
    wanted = summary[summary["metric"] == "equalised-odds"].set_index(KEYS)["mean"]
    assert np.allclose(own, wanted.loc[own.index])
    ends = ["difference", "population_low", "population_high"]
    wanted = paired[paired["metric"] == "equalised-odds"].set_index(KEYS)[ends]
    assert len(change) == 4
    assert np.allclose(change, wanted.loc[change.index])


@pytest.mark.gate
def test_the_many_metrics_that_nobody_named_are_no_columns(tmp_path):
    findings = written(tmp_path, metrics=DEFAULT_METRICS)
    assert set(findings["column"]) == {"value", "change", "accuracy", "cost"}


def test_tables_of_the_answer_stay_narrow_and_the_page_has_all(tmp_path):
    metrics = ("discrimination", "accuracy", *(f"{rate}-difference" for rate in ("tpr", "fpr", "ppv")))
    metrics += tuple(f"{rate}-ratio" for rate in ("tpr", "fpr", "ppv", "npv", "tnr", "fnr"))
    findings = written(tmp_path, {"bank": {"none": PLAIN, "massaging": PLAIN}}, metrics=metrics)
    assert set(metrics) == set(findings["metric"])
    assert len(answer_heads(tmp_path)) == 11  # 12 with β
    assert {"npv-ratio", "fnr-ratio", "ppv-difference, points"} < set(static_heads(tmp_path))


def test_a_metric_called_like_a_column_is_another_column():
    (own, change) = columns.named_columns(run_of(TWO)[0].config, {"accuracy"})
    assert (own.key, own.quantity) == ("discrimination", "value")
    assert (change.key, change.quantity) == ("discrimination change", "change")


def test_findings_of_worlds_are_those_of_remedies(tmp_path):
    run = known_run(tmp_path)
    findings = findings_frame(run)
    assert {"value", "change", "accuracy", "cost", "recorded", "true"} < set(findings["column"])
    truth = findings[(findings["column"] == "true") & findings["mean"].notna()]
    assert set(truth["labels"]) == {"true"}
    cost = findings[findings["column"] == "cost"].set_index([*KEYS, "world"])["mean"]
    same = truth.set_index([*KEYS, "world"])["mean"]
    assert np.allclose(same, cost.loc[same.index])  # the run is about true labels


def test_a_metric_that_was_not_computed_is_an_error():
    plan, records = run_of(TWO)
    run = run_results(Path(), plan, records, ("accuracy",))
    with pytest.raises(ValueError, match="no metric called tpr"):
        run.select(("accuracy", "tpr"))
