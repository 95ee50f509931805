"""Slices over time: all of them together first, then whether a ratio rises or falls, then each."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from fairbench_cli.audit import audit
from fairbench_cli.audit.compare.slice_order import parse_times
from fairbench_cli.audit.parts.trends import describe_trend
from fairbench_cli.audit.scan import pairing
from fairbench_cli.audit.show.document import audit_document, to_html
from fairbench_cli.audit.show.headline import headline
from fairbench_cli.base.errors import UserError

QUARTERS = [f"{2013 + i // 4}Q{i % 4 + 1}" for i in range(8)]


def rows(change: float, many: int = 50000, seed: int = 1) -> pd.DataFrame:
    """Decisions in eight quarters; the ratio of "b" changes by so much from the first to the last."""
    rng = np.random.default_rng(seed)
    quarter = rng.integers(0, 8, many)
    group = rng.choice(["a", "b", "", "d"], many, p=[0.6, 0.38, 0.01, 0.01])
    rate = (0.3 + 0.01 * quarter) * np.where(group == "b", 0.9 * change ** (quarter / 7), 1.0)
    score = (rng.random(many) < rate).astype(int)
    return pd.DataFrame({"score": score, "g": group, "quarter": [QUARTERS[i] for i in quarter]})


@pytest.fixture(scope="module", params=[1.0, 0.6, 1.6])
def planted(request):
    frame = rows(request.param)
    return request.param, frame, audit(frame, attributes=["g"], slice="quarter")


def without_order(frame):
    """Name the quarters so that they have no order."""
    return frame.assign(quarter="q" + frame.quarter.str.replace("Q", " no. "))


def test_all_slices_without_an_order_together_are_the_audit_without_slices(planted):
    _, frame, _ = planted
    result = audit(without_order(frame), attributes=["g"], slice="quarter")
    whole = result.report.found["slices"].report
    alone = audit(frame.drop(columns="quarter"), attributes=["g"]).report
    assert repr(whole.disparities) == repr(alone.disparities)  # NaN is what it is
    assert whole.verdicts == alone.verdicts
    assert (whole.verdict, whole.family) == (alone.verdict, alone.family)
    assert result.report.last == ""
    assert "Each quarter is judged, all in one family. All together, which is not judged: " in result.headline
    assert result.report.streams is None


def test_all_slices_in_order_together_have_the_rates_of_the_audit_without_slices(planted):
    _, frame, result = planted
    whole = result.report.found["slices"].report
    alone = audit(frame.drop(columns="quarter"), attributes=["g"]).report
    for mine, theirs in zip(whole.disparities, alone.disparities, strict=True):
        assert (mine.behind, mine.reference_behind) == (theirs.behind, theirs.reference_behind)
        assert repr((mine.ratio.value, mine.difference)) == repr((theirs.ratio.value, theirs.difference))
    assert whole.family == alone.family
    assert headline(result.report).verdict == whole.verdict == result.report.verdict
    assert ", all 8 slices by quarter together:" in headline(result.report).sentence
    assert result.report.last == QUARTERS[-1]


def test_what_is_said_of_a_trend_is_what_the_numbers_say(planted):
    change, _, result = planted
    found = result.report.found["slices"]
    assert found.slices == tuple(QUARTERS)
    text = headline(result.report).sentence
    for one in found.trends:
        said = describe_trend(found, one, one.metric)
        moved = one.p_holm < 0.05
        steady = not moved and one.change.low >= 0.8 and one.change.high <= 1.25
        word = (
            ("rises" if one.change.value > 1 else "falls") if moved else "steady" if steady else "undecided"
        )
        assert one.word == word
        assert ("more than chance would do" in said) == moved
        assert ("is steady:" in said) == steady
        assert ("could be chance" in said) == (word == "undecided" and one.reason == "chance")
        if moved:
            assert f"selection rate of {one.group} (g) {word}" in text
    b = next(one for one in found.trends if one.group == "b")
    assert b.word == {1.0: "steady", 0.6: "falls", 1.6: "rises"}[change]
    assert b.change.low < change < b.change.high
    document = json.loads(result.to_json())
    assert document["slices"]["trends"][0]["word"] == found.trends[0].word
    assert len(result.to_pandas("trends")) == len(found.trends) == 3


def test_the_page_shows_lines_and_all_together_before_each_slice(planted):
    page = to_html(planted[2].report)
    titles = [
        "All 8 slices by quarter together",
        "Evidence after 8 looks",
        "Trends by quarter",
        "Each quarter",
    ]
    places = [page.index(f"{title}</h2>") for title in titles]
    assert places == sorted(places)
    assert places[-1] < page.index("g, quarter 2013Q1, binary <span")
    assert "2013Q1, b: " in page  # what a mark says
    assert page.count("<details>") > 8 + 7  # slices and what changed between them are folded
    sections = audit_document(planted[2].report, everything=False, brief=True).sections
    assert [one.title for one in sections][:4] == titles
    assert len(sections) < 7


def test_every_group_of_a_chart_of_trends_is_drawn_or_named():
    share = {"a": 400 * [1, 0], "b": 80 * [1, 0, 0, 0], "c": 10 * [1, 0]}  # of c nothing is shown
    frames = [pd.DataFrame({"score": own, "g": name}) for name, own in share.items()]
    frame = pd.concat([one.assign(quarter=quarter) for one in frames for quarter in QUARTERS[:4]])
    report = audit(frame, attributes=["g"], slice="quarter").report
    (trends,) = [one for one in audit_document(report).sections if one.title.startswith("Trends")]
    ((drawn, caption),) = [(one.svg, one.caption) for one in trends.charts]
    assert [name for name in "bc" if f", {name}: " in drawn] == ["b"]
    assert caption == "not drawn, 1 more group: c"


def regions(*names: str) -> pd.DataFrame:
    """Hiring of 400 women and 400 men in each region; in the south half as many women as men are hired."""
    frames = []
    for name in names:
        women = 60 if name == "south" else 120
        hired = [1] * women + [0] * (400 - women) + [1] * 120 + [0] * 280
        frames.append(pd.DataFrame({"score": hired, "g": ["w"] * 400 + ["m"] * 400, "region": name}))
    return pd.concat(frames)


@pytest.mark.parametrize("names", [("north", "south", "west"), ("south", "west"), ("a", "south")])
def test_of_slices_without_an_order_any_decides(names):
    how = {"attributes": ["g"], "ref": {"g": "m"}, "slice": "region", "draws": 0}
    result = audit(regions(*names), fail=True, **how)
    report = result.report
    assert (result.verdict, report.gate.reason) == ("fail", "g in region south fails")
    assert result.headline.startswith("Fails clearly in g (region south): w are selected in 15.0 % of cases")
    assert not any(word in result.headline for word in ("trend", "Trend", "last", "look"))
    assert report.family == len(names)  # one test a region
    assert bool(report.found["changes"].changes) == (len(names) == 2)  # one with the other
    assert "::error title=g (region south)::" in result.to("github")
    assert 'classname="g (region south)"' in result.to("junit")
    ci = json.loads(result.to("ci"))
    assert [row["model"] for row in ci["failing"]] == ["south"]
    with pytest.raises(UserError, match="what is worse is worse than before, and the values of region have"):
        audit(regions(*names), fail_on=["worse"], **how)


def first_trend(frame, **options):
    return audit(frame, attributes=["g"], slice="quarter", **options).report.found["slices"].trends[0]


@pytest.mark.gate
def test_weights_count_as_the_rows_that_they_are_worth():
    frame = rows(0.6, 4000)
    one, same = first_trend(frame), first_trend(frame.assign(w=2.5), weight="w")
    assert same.p == pytest.approx(one.p)
    rng = np.random.default_rng(0)
    wide = first_trend(frame.assign(w=rng.lognormal(0, 1, len(frame))), weight="w").change
    assert wide.high / wide.low > one.change.high / one.change.low


def test_times():
    assert parse_times(["2013-12-30", "2014-01-02"]) == [735232.0, 735235.0]
    assert parse_times(["2013 K4", "2014 K1"]) == parse_times(["2013Q4", "2014Q1"])
    assert parse_times(["1", "2.5", "x"]) is None
    assert parse_times(["2014Q1", "2013Q4"]) is None  # not in their order
    assert parse_times(["2014W05", "2014W52"]) is not None


@pytest.mark.gate
def test_quarters_of_pandas_and_the_chart_of_slices(planted):
    _, frame, result = planted
    periods = frame.assign(quarter=pd.PeriodIndex(frame.quarter, freq="Q"))
    assert audit(periods, attributes=["g"], slice="quarter").to_json() == result.to_json()
    assert result.plot("g").svg in result.to_html()


def test_what_is_printed_with_all_is_below(planted):
    for everything, place in ((False, "see --all."), (True, "below.")):
        document = audit_document(planted[2].report, everything=everything, brief=True)
        (each,) = (section for section in document.sections if section.title == "Each quarter")
        assert each.notes[-1].endswith(place)


@pytest.mark.gate
def test_a_grid_has_a_row_for_each_slice_and_a_column_for_each_attribute():
    frame = rows(0.6, 4000).assign(sex=lambda frame: np.where(np.arange(len(frame)) % 2, "f", "m"))
    result = audit(frame, attributes=["g", "sex"], slice="quarter", draws=0)
    for brief, n_tables in ((True, 1), (False, 2)):
        document = audit_document(result.report, brief=brief)
        (each,) = (section for section in document.sections if section.title == "Each quarter")
        assert len(each.tables) == n_tables
        grid = each.tables[0]
        assert grid.heads == ("quarter", "g", "sex")
        assert [row[0].text for row in grid.rows] == QUARTERS
    verdicts = {(row.model, row.attribute): row.verdict for row in result.report.verdicts}
    ratios = {
        (row.model, row.attribute, row.group): row.ratio.value
        for row in result.report.disparities
        if row.metric == "selection-rate"
    }
    (worst,) = re.findall(r"g: selection rate of (\w) against a; sex: ", each.notes[0])
    for slice_cell, *cells in grid.rows:
        for attribute, cell in zip(("g", "sex"), cells, strict=True):
            assert cell.verdict == verdicts[slice_cell.text, attribute]
        assert cells[0].value == ratios[slice_cell.text, "g", worst]
        assert cells[0].text == f"{cells[0].value:.2f}"


def test_an_attribute_without_a_comparison_in_a_slice_has_a_dash(planted):
    _, frame, _ = planted
    two = frame[frame.quarter.isin(QUARTERS[:2])]
    some = two[(two.quarter == QUARTERS[0]) | (two.g == two.g.iloc[0])]
    report = audit(some, attributes=["g"], slice="quarter", draws=0).report
    (each,) = (one for one in audit_document(report, brief=True).sections if one.title == "Each quarter")
    assert [row[0].text for row in each.tables[0].rows] == QUARTERS[:2]
    assert each.tables[0].rows[1][1].text == "–"


def test_two_slices_and_one_without_a_comparison(planted):
    _, frame, _ = planted
    two = frame[frame.quarter.isin(QUARTERS[:2])]
    some = two[(two.quarter == QUARTERS[0]) | (two.g == two.g.iloc[0])]
    sentence = headline(audit(some, attributes=["g"], slice="quarter", draws=0).report).sentence
    assert ", both slices by quarter together: " in sentence
    assert "As if looked at after each quarter: at most 5 % false alarms" in sentence


def test_very_many_slices_are_refused_before_their_counts_are_laid_out(monkeypatch):
    """2,000 values took two minutes of CPU until they were told to be too many."""
    monkeypatch.setattr(pairing, "make_slices", lambda _: pytest.fail("slices were made"))
    frame = rows(1.0, many=2000).assign(day=lambda frame: [f"d{i // 4}" for i in range(len(frame))])
    with pytest.raises(UserError, match='"day" has 500 different values; at most 60 slices are compared'):
        audit(frame, attributes=["g"], slice="day")
