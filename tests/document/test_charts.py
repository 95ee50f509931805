"""Charts for pages: well-formed, every mark with a title, nothing outside of the picture."""

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from conftest import law
from hypothesis import given
from hypothesis import strategies as st

from fairbench_cli.audit.compare.report import Interval
from fairbench_cli.audit.parts.rates import Bar, plot_gaps, plot_values
from fairbench_cli.document.binned_curve import BinnedCurve, CurveRange, StraightLine, plot_curve
from fairbench_cli.document.charts import WIDTH, Axis, ChartLine, plot_lines, ratio_axis
from fairbench_cli.document.distributions import (
    MOST_GROUPS,
    QUANTILES,
    Distributions,
    GroupDistribution,
    choose_edges,
    plot_distributions,
)
from fairbench_cli.document.html import html
from fairbench_cli.document.model import Chart, Document, Section

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


@law(60)
@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.booleans())
def test_ticks_are_few_within_the_axis_and_apart(low, span, log):
    axis = Axis(1 / (1 + span), 1 + span, log=True) if log else Axis(low, low + span)
    places = [x for x, _ in axis.ticks()]
    assert 1 <= len(places) <= 9
    assert all(axis.start - 1e-6 <= x <= axis.end + 1e-6 for x in places)
    assert all(b - a >= 40 for a, b in pairwise(places))


@given(st.lists(st.floats(0, INF), min_size=1), st.floats(0.1, 1))
@law(60)
def test_a_ratio_and_its_inverse_are_equally_far_from_1(ratios, tau):
    axis = ratio_axis(ratios, [], tau)
    assert axis.position(tau) >= axis.start - 1e-9
    for ratio in ratios:
        assert axis.start <= axis.position(ratio) <= axis.end
        if 0 < ratio < INF and 1 / ratio < INF:
            assert np.isclose(axis.position(ratio) + axis.position(1 / ratio), axis.start + axis.end)


def group(name: str, **changes) -> GroupDistribution:
    quantiles = (20.0, 25.0, 35.0, 45.0, 55.0, 65.0, 70.0)
    shares = (0.1, 0.2, 0.3, 0.25, 0.15)
    return replace(GroupDistribution(name, False, 100, 46.0, 42.0, 50.0, quantiles, shares), **changes)


MEN = group("men", is_reference=True, mean=50.0, low=47.0, high=53.0, look="reference")
EDGES = (0.0, 20.0, 40.0, 60.0, 80.0, 100.0)


def distribution(*groups: GroupDistribution, **changes) -> str:
    return plot_distributions("pay", replace(Distributions(groups, EDGES), **changes))


def of_class(svg: str, kind: str) -> list[ET.Element]:
    root = ET.fromstring(svg)  # noqa: S314
    return [element for element in root.iter() if kind in element.get("class", "").split()]


def written_texts(svg: str) -> list[str]:
    root = ET.fromstring(svg)  # noqa: S314
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def check_places(svg: str) -> None:
    """Check that nothing is placed at what is no number, or beside the picture."""
    root = ET.fromstring(svg)  # noqa: S314
    places = []
    for element in root.iter():
        for name, text in element.attrib.items():
            if name != "aria-label":
                assert not re.search(r"nan|inf", text), (name, text)
        if element.get("x"):
            places.append(float(element.get("x")))
        places += map(float, re.findall(r"[MH](-?[\d.]+)", element.get("d", "")))
        places += map(float, re.findall(r"translate\((-?[\d.]+)", element.get("transform", "")))
    assert all(-6 <= place <= WIDTH + 3 for place in places)


def test_a_distribution_says_means_differences_and_verdicts():
    women = group("women", difference_text="−4 (−9 to 1)", look="undecided", symbol="?")
    others = group(ODD, difference_text="−20 (−25 to −15)", look="fail", symbol="✗", mean=30.0)
    svg = distribution(MEN, women, others, unit="pounds", margin=3.0)
    label = ET.fromstring(svg).get("aria-label")  # noqa: S314
    assert "men: mean 50.0 (47.0 to 53.0), reference, median 45.0, 100 rows" in label
    assert "women: mean 46.0 (42.0 to 50.0), −4 (−9 to 1), not decided, median 45.0, 100 rows" in label
    assert "−20 (−25 to −15), fails" in label
    texts = written_texts(svg)
    assert {"men", "reference", "? women", "−4 (−9 to 1)", "pounds", "allowed: up to 3 away"} <= set(texts)
    assert "<b>" not in svg
    assert ODD in label
    # All marks have a title, but for those of the key.
    drawn = [
        element for kind in ("shape", "whisker", "mark", "band", "ref") for element in of_class(svg, kind)
    ]
    untitled = [element.get("class") for element in drawn if not element.findtext(f"{SVG}title")]
    assert sorted(untitled) == ["band", "mark ring", "ref", "whisker"]
    assert len(drawn) == 4 + 3 * 4 + 2
    check_places(svg)


def test_names_of_groups_cannot_turn_the_page():
    svg = distribution(MEN, group("a\u202eb\x1b"))
    page = html(Document("", sections=(Section("", charts=(Chart("", svg),)),)))
    assert "a�b�" in page
    assert "\u202e" not in page


def test_the_mean_of_the_reference_is_one_line_through_all_groups():
    svg = distribution(group("women"), MEN, group("others", mean=80.0))
    lines = [line for line in of_class(svg, "ref") if line.findtext(f"{SVG}title")]
    assert len(lines) == 3
    assert len({re.match(r"M([\d.]+)", line.get("d"))[1] for line in lines}) == 1
    assert written_texts(svg)[1] == "men"
    # What each is compared with may differ: the mean of all others.
    apart = distribution(group("a", reference_mean=40.0), group("b", reference_mean=60.0))
    assert len({line.get("d") for line in of_class(apart, "ref")}) == 2


def shape_heights(svg: str) -> list[list[float]]:
    """Return the heights of the bins of each group's shape, from its path."""
    heights = []
    for shape in of_class(svg, "shape"):
        base = float(re.match(r"M[\d.]+ ([\d.]+)", shape.get("d"))[1])
        heights.append([base - float(y) for y in re.findall(r"V([\d.]+)", shape.get("d"))][:-1])
    return heights


def test_shapes_have_the_same_area_for_the_same_rows():
    svg = distribution(MEN, group("b", n_rows=7, shares=(0.4, 0.1, 0.1, 0.2, 0.2)), group("c"))
    men, other, same = shape_heights(svg)
    assert men == same
    assert np.allclose(np.array(men) / np.array(other), [0.25, 2, 3, 1.25, 0.75], rtol=0.01)


def test_a_spike_is_cut_and_its_share_is_written():
    low = (0.5, 0.02, *[0.04] * 12)
    edges = tuple(float(x) for x in range(15))
    svg = distribution(group("half zeros", shares=low), edges=edges)
    assert len(of_class(svg, "gap")) == 1
    assert "50 %" in written_texts(svg)
    assert any("Bars that are cut" in text for text in written_texts(svg))
    (heights,) = shape_heights(svg)
    assert heights[0] > 1.3 * max(heights[1:])
    # Bars of whole numbers are as high as their shares.
    svg = distribution(group("ratings", shares=low), edges=tuple(x - 0.5 for x in edges))
    assert of_class(svg, "gap") == []


def test_whole_numbers_are_bars_at_their_ticks():
    shares = (0.5, 0.0, 0.25, 0.25, *[0.0] * 7)
    ratings = replace(MEN, shares=shares, mean=3.0, low=2.0, high=4.0)
    svg = distribution(ratings, edges=tuple(i - 0.5 for i in range(12)))
    (shape,) = of_class(svg, "shape")
    assert shape.get("d").count("z") == 3
    assert [str(i) for i in range(11)] == [text for text in written_texts(svg) if text.isdigit()]


def test_groups_that_are_too_many_are_counted():
    groups = [group(f"g{i}") for i in range(39)]
    svg = distribution(*groups, MEN)
    texts = written_texts(svg)
    assert "men" in texts
    assert sum(text.startswith("g") for text in texts) == MOST_GROUPS - 1
    assert "And 20 more groups: see the table." in texts
    height = {n: float(ET.fromstring(distribution(*groups[:n])).get("height")) for n in (2, 20)}  # noqa: S314
    assert height[20] < 10 * height[2] * 0.7


def test_rows_beyond_the_axis_are_said():
    texts = written_texts(distribution(MEN, edges=tuple(50000.0 * i for i in range(6)), n_above=12))
    assert "12 rows lie beyond 250,000." in texts
    assert "250,000" in texts
    texts = written_texts(distribution(MEN, n_below=1, n_above=1200))
    assert "1 row lies below 0 and 1,200 rows lie beyond 100." in texts


def test_intervals_that_leave_the_axis_end_in_arrows():
    wide = of_class(distribution(group("a", low=-1e9, high=math.inf)), "whisker")[0]
    assert wide.get("d").count("l") == 4
    assert of_class(distribution(group("a", low=NAN, high=NAN)), "whisker")[:-1] == []


def test_long_differences_stand_below_names():
    long = "−1,234,567,890 (−2,345,678,901 to −1,123,456,789)"
    svg = distribution(MEN, group("a name that is long as well, and longer", difference_text=long))
    (difference,) = [text for text in of_class(svg, "said") if text.text == long]
    assert difference.get("text-anchor") == "start"
    check_places(svg)


def test_shares_must_be_as_many_as_bins():
    with pytest.raises(ValueError, match="5 shares and 7 quantiles"):
        distribution(group("a", shares=(1.0,)))


numbers = st.one_of(st.floats(-1e9, 1e9), st.just(NAN))
any_group = st.builds(
    GroupDistribution,
    st.text(max_size=50),
    st.booleans(),
    st.integers(0, 10**9),
    numbers,
    st.one_of(numbers, st.just(-INF)),
    st.one_of(numbers, st.just(INF)),
    st.tuples(*[numbers] * len(QUANTILES)),
    st.tuples(*[st.one_of(st.floats(0, 1), st.just(NAN))] * 5),
    st.text(max_size=70),
    st.sampled_from(("pass", "fail", "undecided", "outside", "inside", "reference")),
    st.sampled_from(("", "✗", "?")),
    numbers,
)


@pytest.mark.gate
@law(100)
@given(st.lists(any_group, min_size=1, max_size=25), st.booleans(), numbers)
def test_any_distribution_stays_in_its_picture(groups, whole, margin):
    # What XML cannot hold is replaced by the writer of a page.
    edges = EDGES
    if whole:
        edges = tuple(i - 0.5 for i in range(6))
    svg = distribution(*groups, edges=edges, margin=margin, unit=ODD)
    check_places(re.sub(r"[\x00-\x1f\x7f-\x9f\ufffe\uffff]", "", svg))


@law(200)
@given(
    st.lists(st.floats(-1e12, 1e12, allow_subnormal=False), min_size=4, max_size=4).map(sorted),
    st.integers(1, 10**7),
    st.booleans(),
)
def test_bins_are_equal_and_few_and_hold_what_is_between_1_and_99_percent(values, n_rows, whole):
    if whole:
        values = [float(round(value)) for value in values]
    lowest, low, high, highest = values
    edges = np.array(choose_edges(lowest, low, high, highest, n_rows=n_rows, whole=whole))
    widths = np.diff(edges)
    assert edges[0] <= low + 1e-9 * widths[0]
    assert edges[-1] >= high - 1e-9 * widths[0]
    assert (widths > 0).all()
    assert np.allclose(widths, widths[0], rtol=1e-3)
    assert len(widths) <= 100


def curve_range(low: float, high: float, mean: float, **changes) -> CurveRange:
    return replace(CurveRange(low, high, (low + high) / 2, mean, mean - 2, mean + 2, 10), **changes)


RANGES = (curve_range(20.0, 29.0, 10.0), curve_range(30.0, 39.0, 14.0), curve_range(40.0, 59.0, 12.0))


def test_a_curve_has_a_band_its_rows_and_the_mean_of_all():
    straight = StraightLine(20.0, 9.0, 59.0, 13.0, "1.03 for 10 years more (0.5 to 1.6)")
    svg = plot_curve("pay by age", BinnedCurve(RANGES, "age <b>", ODD, 12.0, straight))
    assert "<b>" not in svg
    assert len(of_class(svg, "a0")) == 1
    assert len([mark for mark in of_class(svg, "dot") if mark.findtext(f"{SVG}title") in svg]) >= 3
    label = ET.fromstring(svg).get("aria-label")  # noqa: S314
    assert "lowest at 20 to 29: 10.000 (8.000 to 12.000), 10 rows" in label
    assert "highest at 30 to 39: 14.000" in label
    assert "all rows: 12.000" in label
    assert "1.03 for 10 years more" in label
    assert {"age <b>", ODD, "all rows: 12.000", straight.label} <= set(written_texts(svg))
    first, second, third = [bar for bar in of_class(svg, "shape") if bar.tag.endswith("rect")]
    # As many rows over a range twice as wide are half as high.
    assert float(second.get("width")) == pytest.approx(float(first.get("width")), abs=0.02)
    assert float(third.get("height")) == pytest.approx(float(second.get("height")) / 2, rel=0.05)
    check_places(svg)


def test_a_curve_of_shares_is_in_percent():
    shares = [replace(part, mean=part.mean / 20, mean_low=-0.1, mean_high=1.2) for part in RANGES]
    svg = plot_curve("accepted", BinnedCurve(tuple(shares), "age", "accepted", 0.6, percent=True))
    texts = written_texts(svg)
    assert "100 %" in texts
    assert "all rows: 60.0 %" in texts
    assert not any(text.startswith("−") for text in texts)


any_range = st.tuples(numbers, numbers, numbers, st.integers(0, 10**9))


@law(100)
@given(st.lists(any_range, max_size=30), st.lists(st.floats(-1e6, 1e6), min_size=31, max_size=31), numbers)
def test_any_curve_stays_in_its_picture(rows, edges, overall):
    edges = sorted(edges)
    ranges = []
    for i, (mean, low, high, n_rows) in enumerate(rows):
        middle = (edges[i] + edges[i + 1]) / 2
        ranges.append(CurveRange(edges[i], edges[i + 1], middle, mean, low, high, n_rows))
    straight = StraightLine(edges[0], -1e3, edges[-1], 1e3, "slope")
    check_places(plot_curve("any", BinnedCurve(tuple(ranges), "x", "y", overall, straight)))


def test_amounts_have_commas_a_true_minus_and_room():
    labels = [label for _, label in Axis(-1e9, 3e9, amounts=True).ticks()]
    assert labels == ["−1,000M", "0", "1,000M", "2,000M", "3,000M"]
    for low, high in ((0.0, 9e6), (-9999999.0, 0.0), (1e8, 1e8 + 1), (0.0, 1e-9)):
        ticks = Axis(low, high, amounts=True).ticks()
        assert 2 <= len(ticks) <= 9
        for (x, label), (next_x, next_label) in pairwise(ticks):
            assert next_x - x >= 3 * (len(label) + len(next_label))


def test_levels_have_their_names_on_the_axis_or_below_it():
    edges = (0.5, 1.5, 2.5, 3.5)
    rows = replace(MEN, shares=(0.2, 0.5, 0.3), mean=NAN, low=NAN, high=NAN, difference_text="")
    svg = distribution(
        rows, group("women", shares=(0.4, 0.4, 0.2), mean=NAN), edges=edges, level_names=("a", "b", "c")
    )
    texts = written_texts(svg)
    assert {"a", "b", "c"} <= set(texts)
    # Nothing is said of means where there are none.
    assert "mean" not in " ".join(texts)
    long = ("none at all that was seen", "some, but not very many", "many")
    texts = written_texts(distribution(rows, edges=edges, level_names=long))
    listed = f"1: {long[0]}, 2: {long[1]}, 3: {long[2]}."
    assert {"1", "2", "3"} <= set(texts)
    assert listed in " ".join(texts)
