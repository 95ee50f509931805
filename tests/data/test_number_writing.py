"""Numbers as people write them: cards and audits read the same value, or both refuse."""

import math
import re
from functools import partial

import duckdb
import pandas as pd
import pytest
from audit_counts import read_tally
from hypothesis import given
from hypothesis import strategies as st

import fairbench_cli as fb
from fairbench_cli.audit.options import read_config
from fairbench_cli.audit.scan import sql
from fairbench_cli.base.errors import UserError
from fairbench_cli.data.columns import is_number
from fairbench_cli.data.number_writing import PLAIN, NumberDoubt, NumberWriting, find_obstacle, find_writing

CARD = """name: mine
title: t
files: [{name: mine.csv}]
separator: ";"
columns: {pay: {kind: real, bins: {edges: [1500], closed: left}}}
label: {column: ok, favourable: "1"}
protected: {sex: {deprived: f}}
"""
SWISS = str.maketrans(",", "'")
GERMAN = str.maketrans(",.", ".,")
FRENCH = str.maketrans(",.", "\u202f,")
STYLES = {
    "plain": "{:.2f}".format,
    "English": "{:,.2f}".format,
    "dollars": "${:,.0f}".format,
    "code": "USD {:,.2f}".format,
    "German": lambda number: f"{number:,.2f}".translate(GERMAN),
    "euros": lambda number: f"{number:,.2f} €".translate(GERMAN),
    "French": lambda number: f"{number:,.2f}".translate(FRENCH),
    "Swiss": lambda number: f"CHF {number:,.2f}".translate(SWISS),
    "exponent": "{:.4E}".format,
}
DATABASE = duckdb.connect()


def read_by_sql(cells, writing):
    numbers = (sql.written_number(sql.quoted(cell), None if writing == PLAIN else writing) for cell in cells)
    return DATABASE.execute(f"SELECT {', '.join(numbers)}").fetchone()


def read_by_cards(cell, writing):
    plain = writing.to_plain(cell) if re.fullmatch(writing.pattern, cell) else ""
    return float(plain) if is_number(plain) else None


cells_of_style = st.tuples(
    st.sampled_from(sorted(STYLES)), st.lists(st.floats(-1e7, 1e7, allow_nan=False), min_size=1, max_size=6)
).map(lambda drawn: [STYLES[drawn[0]](number) for number in drawn[1]])


@pytest.mark.gate
@given(
    st.one_of(
        cells_of_style, st.lists(st.text("0123456789.,' -+$€()k%[]eE", max_size=9), min_size=1, max_size=4)
    )
)
def test_python_and_sql_read_a_cell_alike(cells):
    for writing in (find_writing(cells), NumberWriting("either"), NumberWriting("second")):
        if isinstance(writing, NumberWriting):
            by_cards = tuple(read_by_cards(cell, writing) for cell in cells)
            assert by_cards == read_by_sql(cells, writing), writing


@given(st.sampled_from(sorted(STYLES)), st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=8))
def test_numbers_are_what_was_written_or_refused(style, hundredths):
    numbers = [n / 100 for n in hundredths]
    if style == "dollars":
        numbers = [float(round(number)) for number in numbers]
    cells = list(map(STYLES[style], numbers))
    writing = find_writing(cells)
    if isinstance(writing, NumberWriting):
        for number, cell in zip(numbers, cells, strict=True):
            assert math.isclose(read_by_cards(cell, writing), number, rel_tol=1e-4)
    else:
        assert isinstance(writing, NumberDoubt)


def table_of(pays):
    return pd.DataFrame(
        {"pay": pays, "sex": ["f", "m"] * (len(pays) // 2), "ok": [1, 0, 0, 1] * (len(pays) // 4)}
    )


AMOUNTS = [812.5, 1234.56, 1899.0, 950.25, 1500.0, 63253.88, 1499.99, 700.4] * 10


@pytest.mark.parametrize("style", ["dollars", "German", "French", "Swiss", "English"])
def test_a_card_and_an_audit_count_the_same(style, tmp_path):
    frame = table_of(list(map(STYLES[style], AMOUNTS)))
    frame.to_csv(tmp_path / "mine.csv", index=False, sep=";")
    (tmp_path / "mine.yaml").write_text(CARD)
    by_card = fb.load(str(tmp_path / "mine.yaml")).to_pandas()["pay"].value_counts(sort=False).tolist()
    config = read_config({"score": "ok", "bins": {"pay": [1500]}, "attribute": ["pay"]})
    (by_audit,) = read_tally(tmp_path / "mine.csv", config).slices
    assert by_audit.counts.predicted.sum(axis=1).tolist() == by_card
    assert by_card == ([40, 40] if style == "dollars" else [50, 30])


DOUBTS = {
    "a typing error among shares": (["0.734", "0.412", "1,02", "0.5"], "one has a decimal point"),
    "a typing error among grades": (["2.868", "3.100", "3,15", "2.5"], "one has a decimal point"),
    "three decimals each": (
        ["2.868", "3.100", "3,15", "2.500"],
        "where commas stand before decimals, 2.868 is 2868",
    ),
    "thousands or not": (
        ["12.500", "11.000", "12,5", "9"],
        "where commas stand before decimals, 12.500 is 12500",
    ),
    "English thousands or not": (
        ["1,234", "12.5", "9", "8.25"],
        "where points stand before decimals, 1,234 is 1234",
    ),
    "one of each": (["2.868", "3,150", "2.900", "3.000"], "one of them may be a thousand"),
    "two currencies": (["$1,234", "€1,200", "$900", "$800"], "amounts of two currencies"),
}


@pytest.mark.parametrize(("pays", "why"), DOUBTS.values(), ids=DOUBTS)
def test_both_doors_stop_at_cells_that_may_be_two_numbers(pays, why, tmp_path):
    table_of(pays * 10).to_csv(tmp_path / "mine.csv", index=False, sep=";")
    (tmp_path / "mine.yaml").write_text(CARD)
    uses = [{"score": "ok", "bins": {"pay": 2}}]
    if pays == next(iter(DOUBTS.values()))[0]:
        uses += [{"score": "ok", "weight": "pay"}]
    if pays == DOUBTS["three decimals each"][0]:
        uses += [{"score": "pay", "threshold": 1}]
    reads = [partial(fb.load, str(tmp_path / "mine.yaml"))]
    for read in reads + [partial(fb.audit, tmp_path / "mine.csv", **use) for use in uses]:
        with pytest.raises(UserError) as raised:
            read()
        assert why in str(raised.value)
        assert str(raised.value).count("mine.csv:") >= 2


@pytest.mark.parametrize(
    "cells",
    [["0.734", "0.5"], ["2.868", "2.8"], ["1,234.56", "0.5"], ["1.234,56", "0,5"], ["1.234,5", "63.253"]],
)
def test_clear_numbers_are_no_doubt(cells):
    assert isinstance(find_writing(cells), NumberWriting)


def test_what_stands_in_the_way_is_said(tmp_path):
    shares = [f"[{1 - i / 100:.2f} {i / 100:.2f}]" for i in range(80)]
    frame = table_of(shares)
    with pytest.raises(
        UserError, match="two numbers in a cell, as predict_proba gives\n  fix: take the second"
    ):
        fb.audit(frame, score="pay", attributes=["sex"], threshold=0.5)
    read = fb.audit(frame, score="pay", attributes=["sex"], threshold=0.5, notation={"pay": "second"})
    plain = fb.audit(
        frame.assign(pay=[i / 100 for i in range(80)]), score="pay", attributes=["sex"], threshold=0.5
    )
    assert read.to_pandas().equals(plain.to_pandas())
    for cell in ("63.3k", "(1,234)", "np.float64(2.84)", "18-25", "12.5/hr", ">50"):
        assert find_obstacle(cell), cell
    for cell in ("high", "12", "2024-01-05", "A12"):
        assert find_obstacle(cell) is None, cell


@pytest.mark.parametrize(
    "cell", ["[0.45 0.55]", "[0.45, 0.55]", "(0.45,0.55)", "0.45; 0.55", "0.45,0.55", "[0 1]"]
)
def test_two_numbers_in_a_cell_are_told(cell):
    what, do = find_obstacle(cell)
    assert (what, do) == ("two numbers in a cell, as predict_proba gives", "take the second")


@pytest.mark.parametrize("cell", ["0,0", "1,5", "12,345"])
def test_a_comma_between_digits_is_no_second_number(cell):
    assert find_obstacle(cell) is None
