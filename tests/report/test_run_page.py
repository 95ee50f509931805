"""The page of a run: odd runs, odd names, the same digits as elsewhere, names in charts that can be read."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from report.test_answer import PLAIN, REFUSED, WORLDS, run_of

from fairbench_cli.document.charts import WIDTH, Axis, ChartLine, plot_paths
from fairbench_cli.document.html import html
from fairbench_cli.report.ledger.results import run_results
from fairbench_cli.report.page import run_page
from fairbench_cli.report.show.metric_wording import signed
from fairbench_cli.report.show.page_data import FIXED_POINT_ONE, Scale, fixed_point

ODD = "a <b>name</b> \"&'</script><!--]]>"


def page_of(worlds, *, more=(), **given):
    """Return the page of an invented run, and its data."""
    plan, records = run_of(worlds, **given)
    metrics = tuple(dict.fromkeys([*plan.config.at_hand, "discrimination", "accuracy", *more]))
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
    text, _ = page_of({"bank": techniques}, more=ALL, **more)
    assert ODD not in text
    assert text.count("</script>") == 3
    assert not re.search(r"\b(nan|None|undefined|inf)\b", text.partition("<h1>")[2].partition("<script>")[0])


def test_the_metric_that_is_drawn_is_the_one_that_is_chosen():
    text, data = page_of(WORLDS, metrics=("impact-ratio", "accuracy"), more=ALL)
    assert data["first_choices"]["metric"] == "impact-ratio"
    options = text.partition('name="metric"')[2]
    chosen, *_ = re.findall(r'<option value="([^"]*)" selected>', options)
    assert chosen == "impact-ratio"


@given(st.floats(-1, 1), st.sampled_from(["points", ""]))
@example(0.1584996, "points")
def test_a_number_has_the_digits_that_it_has_elsewhere(value, unit):
    scale = Scale("metric", unit, 1 if unit else 3, 0, True, (0, 1, 1))
    (whole,) = fixed_point([value], scale)
    steps = (2 * abs(whole) + scale.last_digit) // (2 * scale.last_digit)  # as the page's script rounds
    written = f"{steps // 10**scale.digits}.{steps % 10**scale.digits:0{scale.digits}d}"
    before = "−" if whole < 0 and steps else ""
    assert before + written == signed(value * scale.unit_factor, scale.digits, "")
    assert abs(whole / FIXED_POINT_ONE - value) < 1 / FIXED_POINT_ONE


def test_names_in_a_plane_stand_on_no_mark_and_no_other_name():
    ways = [(f"technique number {i}", [(0.9 + 0.02 * (i % 3), 0.5 + 0.02 * i, "said")]) for i in range(6)]
    svg = plot_paths(
        "t", Axis(0, 1, 44, 348), Axis(0, 1, 216, 20), [ChartLine(*way) for way in ways], "x", "y"
    )
    found = re.findall(r'class="point[^>]*translate\(([\d.]+) ([\d.]+)\)', svg)
    marks = [tuple(map(float, at)) for at in found]
    names = re.findall(r'class="name" x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)">([^<]*)', svg)
    assert len(marks) == len(names) == 6
    boxes = []
    for x, y, side, name in names:
        left = float(x) - 6 * len(name) * (side == "end")
        boxes.append((left, float(y) - 8, left + 6 * len(name), float(y)))
    assert all(one[0] >= 0 and one[2] <= WIDTH for one in boxes)
    for i, (left, top, right, bottom) in enumerate(boxes):
        assert not any(left < x < right and top < y < bottom for x, y in marks)
        assert not any(left < b[2] and b[0] < right and top < b[3] and b[1] < bottom for b in boxes[:i])


def test_groups_stay_whatever_is_compared_and_rows_say_what_they_are_of():
    text, _ = page_of(WORLDS, more=ALL)
    groups = text.partition('id="groups"')[2].partition('id="numbers"')[0]
    assert 'data-dataset="nothing"' in groups
    assert "data-compared" not in groups


def test_what_is_drawn_stands_where_it_is():
    small = {"none": ((0.30, 0.33), 0.8), "massaging": ((0.31, 0.33), 0.8)}  # the labels are 15 points apart
    _, data = page_of({"bank": small}, more=ALL)
    (scale,) = [one for one in data["scales"] if one["name"] == "discrimination"]
    (panel,) = data["panels"]
    labels = panel["label_values"][data["scales"].index(scale)]
    assert labels == 15_000
    assert scale["axis"][0] < 0 < labels < scale["axis"][1]


def test_a_mean_that_is_infinite_is_none():
    never = {"none": ((0.0, 0.4), 0.8), "massaging": PLAIN}
    metrics = ("discrimination", "accuracy", "likelihood-ratio")
    _, data = page_of({"bank": never}, metrics=metrics, more=ALL)
    (m,) = [i for i, one in enumerate(data["scales"]) if one["name"] == "likelihood-ratio"]
    none, massaging = data["panels"][0]["mean"][m]
    assert none is None
    assert massaging > 100_000
    assert data["panels"][0]["n_values"][m] == 6
