"""Quantiles, edges, and what becomes of missing cells; the fixes that messages name, applied."""

import re

import numpy as np
import pytest
from checks_data import check_card
from hypothesis import given
from hypothesis import strategies as st

from fairbench_cli.base.errors import UserError
from fairbench_cli.data.card import read_card
from fairbench_cli.data.column_card import BinsCard
from fairbench_cli.data.columns import Misfit, bin_numbers
from fairbench_cli.data.load import load
from fairbench_cli.data.locate import locate_files
from fairbench_cli.data.table import Column

HEAD = """name: mine
files: [mine.csv]
label: {column: ok, favourable: 1}
protected: {sex: {deprived: f}}
"""
SEXES, LABELS = "fm", "01"


def rows(pay, n=8):
    """Return a CSV of sex, pay, city and label whose pay is as given, and city has a gap."""
    lines = [f"{SEXES[i % 2]},{pay[i % len(pay)]},{['a', 'b', '?'][i % 3]},{i // 2 % 2}" for i in range(n)]
    return "\n".join(["sex,pay,city,ok", *lines, ""])


def loaded(folder, card, content):
    (folder / "mine.yaml").write_text(card)
    (folder / "mine.csv").write_text(content)
    described = read_card(folder / "mine.yaml")
    return load(described, locate_files(described, [folder]))


def column(dataset, name):
    table = dataset.table
    levels = table.columns[table.index(name)].levels
    return [levels[code] for code in table[name]]


def test_quantiles_hold_about_as_many_rows_each():
    column, codes = bin_numbers("x", np.arange(100.0), BinsCard(quantiles=5), whole=True)
    assert column.levels == ("0-19", "20-39", "40-59", "60-79", "80-99")
    assert np.bincount(codes).tolist() == [20] * 5


def test_a_number_that_fills_quantiles_has_a_bin_of_its_own():
    low, _ = bin_numbers("x", np.repeat([0.0, 7, 9], [80, 10, 10]), BinsCard(quantiles=5), whole=True)
    assert low.levels == ("0", "1-9")
    high, codes = bin_numbers("x", np.repeat([1.0, 2], [10, 90]), BinsCard(quantiles=5), whole=False)
    assert (len(high.levels), np.bincount(codes).tolist()) == (2, [10, 90])
    with pytest.raises(Misfit, match="no number between"):
        bin_numbers("x", np.arange(5.0), BinsCard(edges=(2.1, 2.5)), whole=True)
    with pytest.raises(Misfit, match="no room"):
        bin_numbers("x", np.ones(5), BinsCard(quantiles=2), whole=True)


@given(st.lists(st.integers(-50, 50), min_size=2), st.integers(2, 9))
def test_bins_by_quantiles_cover_and_rise(numbers, count):
    numbers = np.array(numbers, dtype=float)
    if numbers.min() < numbers.max():
        for whole in (True, False):
            column, codes = bin_numbers("x", numbers, BinsCard(quantiles=count), whole=whole)
            assert len(set(column.levels)) == len(column.levels) <= max(count, 2)
            assert np.all(np.diff(column.values) > 0)
            order = np.argsort(numbers, kind="stable")
            assert np.all(np.diff(codes[order]) >= 0)


@pytest.mark.parametrize(
    ("closed", "whole", "levels", "codes"),
    [
        ("right", True, ("<=25", "26-60", ">60"), [0, 0, 1, 1, 2]),
        ("left", True, ("<25", "25-59", ">=60"), [0, 1, 1, 2, 2]),
        ("right", False, ("<=25", "(25, 60]", ">60"), [0, 0, 1, 1, 2]),
        ("left", False, ("<25", "[25, 60)", ">=60"), [0, 1, 1, 2, 2]),
    ],
)
def test_edges_name_their_bins_whatever_the_data_are(closed, whole, levels, codes):
    bins = BinsCard(edges=(25, 60), closed=closed)
    column, found = bin_numbers("x", np.array([20.0, 25, 40, 60, 61]), bins, whole=whole)
    assert (column.levels, found.tolist()) == (levels, codes)


def test_bins_without_an_order_are_categories():
    """Ranges of codes, such as those of occupations: the rows of the bins, and nothing that numbers have."""
    codes = np.array([9830.0, 440, 2310, 440])
    named = BinsCard(edges=(500, 9800), closed="left", levels=("managers", "others", "military"))
    bins, rows = bin_numbers("job", codes, named, whole=True)
    column, found = bin_numbers("job", codes, named.model_copy(update={"ordered": False}), whole=True)
    assert (bins.kind, column) == ("bins", Column("job", ("managers", "others", "military")))
    assert found.tolist() == rows.tolist() == [2, 0, 1, 0]


CUT = HEAD + 'missing: ["", "?"]\ncolumns: {pay: {kind: real, bins: {edges: 5}%s}}\n'


def test_missing_numbers_are_a_level(tmp_path):
    dataset = loaded(tmp_path, CUT % ", if_missing: level", rows(["3.5", "8", "?", ""]))
    assert dataset.table.columns[1] == Column("pay", ("<=5", ">5", "missing"))
    assert column(dataset, "pay")[:4] == ["<=5", ">5", "missing", "missing"]
    assert "?" in column(dataset, "city")


def test_missing_values_filled_in(tmp_path):
    content = rows(["1", "3", "?", "9"])
    for how, value in (("median", "3"), ("mode", "1")):
        card = HEAD + f'missing: "?"\ncolumns: {{pay: {{kind: integer, if_missing: {how}}}}}\n'
        assert column(loaded(tmp_path, card, content), "pay")[:4] == ["1", "3", value, "9"]
    card = HEAD + 'missing: "?"\ncolumns: {city: {if_missing: mode}, pay: drop}\n'
    assert set(column(loaded(tmp_path, card, content), "city")) == {"a", "b"}


def test_a_column_with_an_answer_of_its_own_takes_no_row_away(tmp_path):
    card = HEAD + 'missing: "?"\nmissing_rows: drop\ncolumns: {pay: nominal, city: {if_missing: level}}\n'
    dataset = loaded(tmp_path, card, rows(["1", "?"]))
    assert len(dataset.table) == 4
    assert set(column(dataset, "city")) == {"a", "b", "missing"}


def test_check_tells_the_rows_lost(tmp_path, say):
    text = HEAD + 'missing: "?"\nmissing_rows: drop\n'
    text += "columns: {pay: {kind: integer, bins: {edges: 5}, if_missing: median}}\n"
    loaded(tmp_path, text, rows(["1", "9", "?", "9"], 120))
    card = read_card(tmp_path / "mine.yaml")
    found = check_card(card, locate_files(card, [tmp_path]))
    assert (found.rows_before, found.rows) == (120, 80)
    said = [(one.column, one.cells, one.becomes) for one in found.missing]
    assert said == [("pay", 30, "median of all rows: 9"), ("city", 40, "row left out")]
    assert "Rows left out for missing values: 40 of 120 (33.3 %)." in say("data", "check", "mine.yaml").out


def test_a_protected_number_is_cut_and_checked(tmp_path):
    text = "name: m\nfiles: [mine.csv]\nlabel: {column: ok, favourable: 1}\nmissing: ''\nmissing_rows: drop\n"
    text += "protected: {pay: {deprived: '<5'}}\n"
    text += "columns: {pay: {kind: integer, bins: {edges: 5, closed: left}}}\n"
    dataset = loaded(tmp_path, text, rows(["1", "5", "", "9", "2"], 240))
    assert dataset.roles("pay").favoured == (">=5",)
    card = read_card(tmp_path / "mine.yaml")
    found = check_card(card, locate_files(card, [tmp_path])).warnings
    assert [one.kind for one in found] == ["copies"]  # these rows are


def test_decimal_commas_tabs_and_blanks(tmp_path):
    card = HEAD + 'decimal: ","\nseparator: ;\ncolumns: {pay: {kind: real}}\n'
    content = rows(["1.5"]).replace(",", ";").replace("1.5", "1,5")
    assert column(loaded(tmp_path, card, content), "pay") == ["1.5"] * 8
    tabs = HEAD + 'separator: "\\t"\n'
    assert len(loaded(tmp_path, tabs, rows(["1"]).replace(",", "\t")).table) == 8
    blanks = HEAD + 'separator: " "\n'
    assert len(loaded(tmp_path, blanks, rows(["1"]).replace(",", "  ").replace("\n", " \n")).table) == 8


def test_a_point_among_decimal_commas_is_refused_unless_it_is_said_what_it_means(tmp_path):
    card = HEAD + "separator: ;\ncolumns: {pay: {kind: real}}\n"
    content = "sex;pay;ok\nf;999,5;0\nm;1.234;1\nf;2,5;1\nm;1;0\n"
    with pytest.raises(UserError, match=r'mine.csv:2 and .*mine.csv:3: error: column "pay" has "999,5" and'):
        loaded(tmp_path, card, content)
    assert column(loaded(tmp_path, card + 'decimal: ","\n', content), "pay")[:2] == ["999.5", "1234"]
    recoded = card.replace("kind: real", 'kind: real, recode: {"1.234": "1,234"}')
    assert column(loaded(tmp_path, recoded, content), "pay")[:2] == ["999.5", "1.234"]
    with pytest.raises(UserError, match=r'has "1.234", and the card says decimal: ","'):
        loaded(tmp_path, card + 'decimal: ","\n', content.replace(",5", ""))


@pytest.mark.parametrize(("of_file", "of_card"), [("1.0", "1"), ("1", "1.0"), ("1", "1")])
def test_a_card_names_a_whole_number_as_1_or_as_1_0(tmp_path, of_file, of_card):
    card = HEAD.replace("favourable: 1", f"favourable: '{of_card}'")
    card += f"keep: {{pay: ['{of_card}', '7']}}\n"
    content = "sex,pay,ok\n" + f"f,{of_file},{of_file}\nm,7,0\nm,9,0\nf,7,{of_file}\nm,{of_file},0\n" * 3
    dataset = loaded(tmp_path, card, content)
    assert len(dataset.table) == 12
    assert dataset.base_rates("sex").to_dict() == {"f": 1.0, "m": 0.0}


def test_parquet(tmp_path):
    import duckdb

    (tmp_path / "text.csv").write_text(rows(["1.5", "", "3.25"], 12))
    query = f"COPY (FROM read_csv('{tmp_path}/text.csv')) TO '{tmp_path}/mine.parquet'"
    duckdb.sql(query)
    card = HEAD.replace("mine.csv", "mine.parquet") + "format: parquet\nmissing: ''\n"
    card += "columns: {pay: {kind: real, if_missing: median}}\n"
    assert column(loaded(tmp_path, card, ""), "pay")[:3] == ["1.5", "1.5", "3.25"]
    (tmp_path / "mine.parquet").write_bytes(b"none")
    with pytest.raises(UserError, match="not a Parquet file"):
        loaded(tmp_path, card, "")


FIXES = {
    "decimals where whole numbers are said": (
        "columns: {pay: {kind: integer, bins: {count: 2}}}\n",
        rows(["1", "2.5"]),
        "`(kind: real)`",
        lambda card, fix: card.replace("kind: integer", fix),
    ),
    "a missing number": (
        "columns: {pay: {kind: integer, bins: {count: 2}}}\n",
        rows(["1", "?", "7"]),
        r"write (missing: .+) in the card, and give column pay (if_missing: level) ",
        lambda card, listed, level: card.replace("2}}", f"2}}, {level}}}") + listed + "\n",
    ),
    "an empty number": (
        "columns: {pay: {kind: real}}\n",
        rows(["1", "", "7"]),
        r"write (missing: .+) in the card, and give column pay (if_missing: median),",
        lambda card, listed, how: card.replace("real}", f"real, {how}}}") + listed + "\n",
    ),
    "many numbers that nobody listed": (
        "",
        rows([*map(str, range(60)), "1.5", ""], 70),
        r"under `columns`: (pay: .+), with (missing: .+) in the card; or",
        lambda card, entry, listed: f"{card}{listed}\ncolumns: {{{entry}}}\n",
    ),
    "decimal commas": (
        "separator: ;\ncolumns: {pay: {kind: real}}\n",
        "sex;pay;ok\nf;1,500;0\nm;2,500;1\n",
        "of decimals: write `(.+)` in the card",
        lambda card, line: f"{card}{line}\n",
    ),
    "another separator": (
        "separator: ;\n",
        rows(["1"]),
        "(separator: .+) would fit",
        lambda card, line: card.replace("separator: ;", line),
    ),
    "rows without a label": (
        "",
        "sex,ok\nf,0\nm,1\nf,\nm,0\n",
        "with (missing: .+) and (missing_rows: drop),",
        lambda card, listed, drop: f"{card}{listed}\n{drop}\n",
    ),
    "below nought": (
        "columns: {pay: {kind: integer, cap: 3}}\n",
        rows(["1", "-2", "7"]),
        "in place of cap write (.+)",
        lambda card, bins: card.replace("cap: 3", bins),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("more", "content", "pattern", "mend"), FIXES.values(), ids=FIXES)
def test_a_fix_works_as_printed(tmp_path, more, content, pattern, mend):
    with pytest.raises(UserError) as raised:
        loaded(tmp_path, HEAD + more, content)
    found = re.search(pattern, raised.value.problems[0].fix)
    assert found, raised.value
    assert len(loaded(tmp_path, mend(HEAD + more, *found.groups()), content).table) >= 2


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("columns: {pay: {if_missing: level}}", "needs to know which cells are missing"),
        ("missing: x\ncolumns: {ok: {if_missing: mode}}", "a label that is missing cannot be filled in"),
        ("missing: x\ncolumns: {pay: {if_missing: median}}", "categories have no median"),
        (
            "missing: x\ncolumns: {pay: {kind: drop, if_missing: mode}}",
            "if_missing has no effect on a dropped",
        ),
        ("missing: x\ncolumns: {pay: {kind: real, if_missing: level}}", "stays a number has no level"),
        ("columns: {pay: {kind: real, bins: {}}}", "the number of bins is missing"),
        ("columns: {pay: {kind: real, bins: {count: 2, edges: 3}}}", "count and edges exclude each other"),
        ("columns: {pay: {kind: real, bins: {quantiles: 2, low: 3}}}", "low is for bins of equal width"),
        ("columns: {pay: {kind: real, bins: {edges: [3, 3]}}}", "edges must rise"),
        ("columns: {pay: {kind: real, bins: {count: 3, closed: left}}}", "closed: left is for edges"),
        ("columns: {pay: {kind: real, bins: {edges: 3, ordered: false}}}", "categories need names"),
    ],
)
def test_cards_that_contradict_themselves(tmp_path, more, message):
    (tmp_path / "mine.yaml").write_text(f"{HEAD}{more}\n")
    with pytest.raises(UserError, match=message):
        read_card(tmp_path / "mine.yaml")
