"""The page of a run: odd runs, odd names, the same digits as elsewhere, names in charts that can be read."""

import json
import re
from pathlib import Path

import pytest
from report.test_answer import PLAIN, REFUSED, WORLDS, run_of

from fairbench_cli.document.html import html
from fairbench_cli.report.page import run_page
from fairbench_cli.report.results import run_results

ODD = "a <b>name</b> \"&'</script><!--]]>"


def page_of(worlds, *, more=(), **given):
    """Return the page of an invented run, and its data."""
    plan, records = run_of(worlds, **given)
    metrics = tuple(dict.fromkeys([*plan.config.metrics, "discrimination", "accuracy", *more]))
    text = html(run_page(run_results(Path(), plan, records, metrics)))
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text)
    return text, json.loads(data)


ALL = ("overestimation", "underestimation")


@pytest.mark.parametrize(
    ("techniques", "more"),
    [
        ({"none": PLAIN}, {"repeats": 1}),
        ({"massaging": PLAIN}, {}),
        ({"none": "infeasible", "massaging": "infeasible"}, {"betas": (0.0, 1 / 3)}),
        ({"none": (REFUSED, 0.7), "massaging": (REFUSED, 0.7)}, {}),
        ({"none": PLAIN, "massaging": None}, {"repeats": 2}),
        ({"none": "failed", "massaging": PLAIN}, {"repeats": 1}),
        ({ODD: PLAIN, "none": PLAIN, "massaging": "infeasible"}, {"betas": (0.0, 1 / 3)}),
    ],
)
def test_odd_runs_have_a_page(techniques, more):
    text, data = page_of({"bank": techniques}, more=ALL, **more)
    assert ODD not in text
    assert text.count("</script>") == 3
    assert not re.search(r"\b(nan|None|undefined|inf)\b", text.partition("<h1>")[2].partition("<script>")[0])
    for panel in data["panels"]:
        assert len(panel["betas"]) == 1 or ",".join(panel["at"]) in data["betas"]


def test_the_metric_that_is_drawn_is_the_one_that_is_chosen():
    text, data = page_of(WORLDS, metrics=("impact-ratio", "accuracy"), more=ALL)
    assert data["chosen"]["metric"] == "impact-ratio"
    (chosen,) = re.findall(
        r'<option value="([^"]*)" selected>\1</option>', text.partition('name="metric"')[2]
    )[:1]
    assert chosen == "impact-ratio"
