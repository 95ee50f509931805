"""Charts for pages: well-formed, every mark with a title, nothing outside of the picture."""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbench_cli.audit.compare.report import Interval
from fairbench_cli.audit.parts.rates import Bar, plot_gaps, plot_values
from fairbench_cli.document.charts import WIDTH, Axis, ChartLine, plot_lines, ratio_axis

SVG = "{http://www.w3.org/2000/svg}"
MARKS = ("bar", "band", "track", "whisker", "mark", "one", "ref", "here", "disc", "line", "area", "arrow")
ODD = '<b>"a" & b</b>'
INF, NAN = float("inf"), float("nan")


def marks(svg: str) -> list[ET.Element]:
    root = ET.fromstring(svg)  # noqa: S314
    assert root.get("aria-label")
    found = [each for each in root.iter() if each.get("class", "").split(" ")[0] in MARKS]
    for each in found:
        assert each.findtext(f"{SVG}title"), each.get("class")
    return found


@pytest.mark.parametrize(
    ("panel", "numbers"),
    [(plot_values, (0.8,)), (plot_gaps, (0.8, None)), (plot_gaps, (NAN, 0.05))],
    ids=["values", "ratios", "differences"],
)
def test_every_mark_says_what_it_shows(panel, numbers):
    looks = ("pass", "fail", "undecided", "outside", "inside", "reference")
    values = (Interval(0.5, 0.3, 0.7), Interval(0, NAN, NAN), Interval(INF, 2, INF), Interval(NAN, NAN, NAN))
    bars = [Bar(ODD, "0.5 <", of, look, "✓") for of in values for look in looks]
    svg = panel("title", bars, *numbers)
    assert len(marks(svg)) > 2 * len(bars)
    assert "<b>" not in svg
    places = [float(x) for x in re.findall(r'(?:M|translate\(| x=")(-?[\d.]+)', svg)]
    assert all(0 <= x <= WIDTH for x in places if x != -6 and x != -4.5)


def test_lines_have_marks_and_bands_and_their_names_stand_below():
    points = [(i / 40, i / 40, f"point {i}") for i in range(40)]
    lines = [
        ChartLine(ODD, points, [(x, y - 0.1, y + 0.1) for x, y, _ in points]),
        ChartLine("a name that is far too long for a picture of that width", points[:3]),
        ChartLine("nothing", []),
    ]
    drawn = marks(plot_lines("title", Axis(0, 1, 44), Axis(0, 1, 210, 10), lines, "about", "key"))
    kinds = [each.get("class") for each in drawn]
    assert kinds.count("area a0") == 1
    assert kinds.count("line l0") == 2  # the line and its sample
    assert kinds.count("line l0 dot") == 10 + 1
    assert kinds.count("line l1 dot") == 3 + 1


@settings(max_examples=60)
@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.booleans())
def test_ticks_are_few_within_the_axis_and_apart(low, span, log):
    axis = Axis(1 / (1 + span), 1 + span, log=True) if log else Axis(low, low + span)
    places = [x for x, _ in axis.ticks()]
    assert 1 <= len(places) <= 9
    assert all(axis.start - 1e-6 <= x <= axis.end + 1e-6 for x in places)
    assert all(b - a >= 40 for a, b in pairwise(places))


@given(st.lists(st.floats(0, INF), min_size=1), st.floats(0.1, 1))
@settings(max_examples=60)
def test_a_ratio_and_its_inverse_are_equally_far_from_1(ratios, tau):
    axis = ratio_axis(ratios, [], tau)
    assert axis.position(tau) >= axis.start - 1e-9
    for ratio in ratios:
        assert axis.start <= axis.position(ratio) <= axis.end
        if 0 < ratio < INF and 1 / ratio < INF:
            assert np.isclose(axis.position(ratio) + axis.position(1 / ratio), axis.start + axis.end)
