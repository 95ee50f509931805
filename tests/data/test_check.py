"""`fairbench data check` names what spoils an experiment, and nothing else."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from checks_data import base, card_of, checked, shipped, warned
from conftest import law
from hypothesis import given
from hypothesis import strategies as st

from fairbench_cli.base.errors import UserError
from fairbench_cli.base.safe_text import format_percent
from fairbench_cli.data.card import find_card
from fairbench_cli.data.checks.leaks import EXPECTED, compute_accuracy, compute_explained_share, gives_away
from fairbench_cli.data.checks.rows import to_codes

AFTERWARDS = {
    "is_recid", "event", "r_case_number", "r_charge_degree", "r_charge_desc", "r_offense_date",
    "r_days_from_arrest", "r_jail_in", "r_jail_out", "is_violent_recid", "vr_case_number",
    "vr_charge_degree", "vr_offense_date", "vr_charge_desc",
}  # fmt: skip


def test_compas_leaks_only_in_columns_that_are_left_out():
    result = shipped("compas")
    assert result.warnings == ()
    assert {leak.column for leak in result.left_out_leaks} == AFTERWARDS | {"end"}
    assert (result.rows, result.used) == (6150, 13)


def test_the_leaky_card_is_warned_of_what_it_uses():
    result = shipped("compas-leaky")
    assert result.warnings == ()
    (warning,) = [one for found in result.found_traps.values() for one in found if one.column == "end"]
    assert "right on 89.1 % of rows, guessing on 53.4 %" in warning.what
    assert Path(warning.where.rpartition(":")[0]) == find_card("compas-leaky")
    assert {leak.column for leak in result.left_out_leaks} == AFTERWARDS


def test_the_accuracy_of_leaks_is_that_of_the_literature():
    found = {leak.column: leak for leak in shipped("compas").left_out_leaks}
    assert found["is_recid"].accuracy == pytest.approx(0.968, abs=5e-4)
    assert found["end"].accuracy == pytest.approx(0.890, abs=2e-3)  # in five bins, there
    assert found["event"].accuracy == pytest.approx(0.887, abs=5e-4)


@pytest.mark.parametrize("name", ["adult", "adult-train-white-black", "dutch"])
def test_honest_data_are_quiet(name):
    result = shipped(name)
    assert result.warnings == result.left_out_leaks == ()


def test_an_honest_csv_is_quiet(tmp_path):
    assert warned(tmp_path, base()) == []


def flipped(labels, share, seed=1):
    rng = np.random.default_rng(seed)
    swap = {"yes": "no", "no": "yes"}
    return [swap[label] if rng.random() < share else label for label in labels]


@pytest.mark.parametrize(("share", "named"), [(0.0, True), (0.1, True), (0.25, False), (0.4, False)])
def test_a_noisy_copy_of_the_label_is_a_leak_until_it_is_too_noisy(tmp_path, share, named):
    rows = base()
    rows["copy"] = flipped(rows["good"], share)
    found = warned(tmp_path, rows)
    assert [column for column, _ in found] == (["copy"] if named else [])


def test_a_leak_that_the_card_drops_is_no_warning(tmp_path):
    rows = base()
    rows["copy"] = rows["good"]
    result = checked(card_of(tmp_path, rows, columns={"copy": "drop"}))
    assert result.warnings == ()
    assert [(leak.column, leak.accuracy) for leak in result.left_out_leaks] == [("copy", 1.0)]


def test_a_number_leaks_through_its_order(tmp_path):
    rows = base()
    rng = np.random.default_rng(2)
    rows["days"] = [int(rng.integers(0, 300) + 300 * (label == "yes")) for label in rows["good"]]
    result = checked(card_of(tmp_path, rows, columns={"days": {"kind": "integer", "bins": {"count": 5}}}))
    assert [found.column for found in result.warnings] == ["days"]


@pytest.mark.parametrize(("errors", "named"), [(0.02, True), (0.3, False)])
def test_gaps_leak(tmp_path, errors, named):
    """A case number that only those have whose label is no, and not even all of them."""
    rows = base()
    rng = np.random.default_rng(3)
    has = [rng.random() < (0.4 if label == "no" else 0.4 * errors) for label in rows["good"]]
    rows["case"] = [f"c{i}" if there else "" for i, there in enumerate(has)]
    result = checked(card_of(tmp_path, rows, columns={"case": "drop"}))
    assert [leak.column for leak in result.left_out_leaks] == (["case"] if named else [])


def test_the_copy_of_a_gap_leaks_too(tmp_path):
    rows = base()
    rng = np.random.default_rng(3)
    has = [label == "no" and rng.random() < 0.3 for label in rows["good"]]
    rows["any_case"] = [int(there) for there in has]
    rows["case"] = [f"c{i}" if there else "" for i, there in enumerate(has)]
    result = checked(card_of(tmp_path, rows, columns={"case": "drop", "any_case": "drop"}))
    assert {leak.column for leak in result.left_out_leaks} == {"case", "any_case"}
    del rows["case"]
    assert checked(card_of(tmp_path, rows, columns={"any_case": "drop"})).left_out_leaks == ()


def test_few_gaps_may_be_all_of_one_label_by_chance():
    y = np.arange(1000) < 500
    for side, found in ((2 * EXPECTED - 1, False), (2 * EXPECTED, True)):
        assert gives_away(np.arange(1000) < side, y) == found
    everywhere = np.ones(1000, dtype=bool)
    assert not gives_away(everywhere, y)
    assert not gives_away(~everywhere, y)


def test_three_quarters_of_the_errors_must_be_gone():
    y = np.arange(1000) % 2 == 0  # guessing errs on 50 of 100 rows: 12 may be left, not 13
    odd, even = np.flatnonzero(~y), np.flatnonzero(y)
    for errors in (12, 13):
        gap = np.zeros(1000, dtype=bool)
        gap[even[: 100 - errors]] = gap[odd[:errors]] = True
        assert gives_away(gap, y) == (errors == 12)


def by_hand(codes, y):
    """Entropy explained and accuracy, every row predicted from the others, one by one."""
    rate, loss, right = y.mean(), 0.0, 0
    for i in range(len(y)):
        others = (codes == codes[i]) & (np.arange(len(y)) != i)
        p = (y[others].sum() + rate) / (others.sum() + 1)
        loss -= np.log(p if y[i] else 1 - p)
        right += (p > 0.5) == y[i]
    entropy = -(rate * np.log(rate) + (1 - rate) * np.log(1 - rate))
    return 1 - loss / len(y) / entropy, right / len(y)


@law(60)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=2, max_size=30).filter(
        lambda pairs: len({y for _, y in pairs}) == 2
    )
)
def test_each_row_is_predicted_from_the_others(pairs):
    codes = np.unique([code for code, _ in pairs], return_inverse=True)[1]
    y = np.array([label for _, label in pairs])
    explained, accuracy = by_hand(codes, y)
    assert compute_explained_share(codes, y) == pytest.approx(explained)
    assert compute_accuracy(codes, y) == pytest.approx(accuracy)
    order = np.random.default_rng(0).permutation(len(y))
    assert compute_explained_share(codes[order], y[order]) == pytest.approx(explained)


def test_an_identifier_tells_nothing_and_a_copy_everything():
    y = np.arange(4000) % 3 == 0
    assert compute_explained_share(np.arange(4000), y) == pytest.approx(0)
    assert compute_explained_share(y.astype(np.intp), y) > 0.99


def test_many_numbers_are_cut_and_gaps_kept_apart():
    few = pd.Series([str(i % 50) for i in range(1000)])
    many = pd.Series([str(i) for i in range(1000)] + ["", "?"])
    assert len(np.unique(to_codes(few))) == 50
    codes = to_codes(many, ("", "?"))
    assert len(np.unique(codes)) == 51
    assert codes[-1] == codes[-2] not in codes[:-2]
    assert (np.diff(codes[:-2]) >= 0).all()
    assert len(np.unique(to_codes(pd.Series([str(i) for i in range(100)])))) == 5
    words = pd.Series([f"w{i}" for i in range(1000)])
    assert len(np.unique(to_codes(words))) == 1000


def test_constant_columns_are_named(tmp_path):
    rows = base()
    rows["land"] = ["NL"] * 400
    assert warned(tmp_path, rows) == [("land", 'has one value in all 400 rows: "NL"')]
    rows["land"][7] = "BE"
    assert warned(tmp_path, rows) == []
    rows["land"][7] = "NL"
    assert warned(tmp_path, rows, columns={"land": "drop"}) == []


@pytest.mark.parametrize(("distinct", "named"), [(200, False), (201, True)])
def test_near_unique_is_more_values_than_half_of_the_rows(tmp_path, distinct, named):
    rows = base()
    rows["code"] = [f"c{i % distinct}" for i in range(400)]
    found = warned(tmp_path, rows, columns={"code": "nominal"})
    assert found == ([("code", "has 201 different values in 400 rows")] if named else [])


@pytest.mark.parametrize(
    ("kind", "values", "named"),
    [("integer", range(400), True), ("integer", [0, *range(399)], False), ("real", range(400), False)],
)
def test_whole_numbers_are_identifiers_when_no_two_are_equal(tmp_path, kind, values, named):
    rows = base()
    rows["number"] = np.random.default_rng(5).permutation(list(values)).tolist()
    found = warned(tmp_path, rows, columns={"number": {"kind": kind, "bins": {"count": 5}}})
    assert [column for column, _ in found] == (["number"] if named else [])


def test_recodings_are_duplicates_and_coarser_columns_are_not(tmp_path):
    rows = base()
    rows["town"] = [{"a": "1", "b": "2", "c": "3", "d": "4"}[city] for city in rows["city"]]
    rows["side"] = ["east" if city in "ab" else "west" for city in rows["city"]]
    rows["gender"] = [{"f": "woman", "m": "man"}[sex] for sex in rows["sex"]]
    assert warned(tmp_path, rows) == [
        ("town", "is one to one with city"),
        ("gender", "is one to one with the protected sex"),
    ]
    assert warned(tmp_path, rows, columns={"town": "drop", "gender": "drop"}) == []


def test_numbers_that_are_all_different_are_duplicates_when_equal(tmp_path):
    rows = base()
    values = np.random.default_rng(6).permutation(400)
    rows["x"], rows["y"], rows["z"] = values.tolist(), values.astype(float).tolist(), values[::-1].tolist()
    columns = {name: {"kind": "real", "bins": {"count": 5}} for name in "xyz"}
    assert warned(tmp_path, rows, columns=columns) == [("y", "is one to one with x")]


def with_gaps(deprived, favoured):
    """200 rows of each group; `deprived` and `favoured` of them have no city."""
    rows = base()
    rows["sex"] = ["f"] * 200 + ["m"] * 200
    rows["good"] = ["yes", "no"] * 200
    cities = ["a", "a", "b", "b"] * 50
    rows["city"] = [""] * deprived + cities[deprived:] + [""] * favoured + cities[favoured:]
    return rows


@pytest.mark.parametrize(
    ("deprived", "favoured", "named"),
    [
        (10, 0, True),  # 5 points, 3.2 standard errors
        (9, 0, False),  # 4.5 points
        (0, 10, True),
        (70, 50, False),  # 10 points, but 2.2 standard errors
        (90, 50, True),
        (60, 60, False),
    ],
)
def test_gaps_by_group_need_five_points_and_three_standard_errors(tmp_path, deprived, favoured, named):
    found = warned(tmp_path, with_gaps(deprived, favoured))
    assert [column for column, _ in found] == (["city"] if named else [])
    if named:
        a, b = (format_percent(count / 200) for count in (deprived, favoured))
        assert found[0][1] == f"is missing in {a} of the deprived and {b} of the favoured (sex)"


def test_gaps_are_counted_before_their_rows_are_dropped(tmp_path):
    rows = with_gaps(80, 10)
    rows["city"] = [city or "?" for city in rows["city"]]
    result = checked(card_of(tmp_path, rows, missing="?", missing_rows="drop"))
    assert result.rows == 310
    assert [(found.column, found.what[:20]) for found in result.warnings] == [
        ("city", "is missing in 40.0 %")
    ]


@pytest.mark.parametrize(("count", "named"), [(30, False), (29, True), (1, True), (0, True)])
def test_fewer_than_thirty_rows_of_a_group_and_label_are_few(tmp_path, count, named):
    rows = base(800)
    rows["sex"] = ["f"] * 300 + ["m"] * 500
    rows["good"] = ["yes"] * count + ["no"] * (300 - count) + ["yes", "no"] * 250
    found = [what for column, what in warned(tmp_path, rows) if column == "sex"]
    plural = "" if count == 1 else "s"
    assert found == ([f"has {count} deprived row{plural} with favourable good"] if named else [])


def test_the_console_names_place_and_remedy_within_80_columns(say, tmp_path):
    rows = base()
    rows["after"], rows["event"] = rows["good"], rows["good"]
    path = card_of(tmp_path, rows, columns={"event": "drop"})
    said = say("data", "check", path.name)
    assert said.code == 1
    assert said.err == ""
    lines = said.out.splitlines()
    assert max(map(len, lines)) <= 80
    text = " ".join(said.out.split())
    assert 'mine.yaml:1: warning: column "after" gives good away (its values): alone right on 100 %' in text
    assert "fix: write `after: drop` under `columns`, unless it is known before the outcome" in text
    assert "columns that give good away, and are left out" in text
    assert lines[-1] == "mine: 400 rows, 5 columns used, 1 left out: 1 warning"


def test_nothing_found_is_one_line_and_exit_code_0(say, tmp_path):
    said = say("data", "check", card_of(tmp_path, base(1000)))
    assert (said.code, said.err) == (0, "")
    assert said.out == "mine: 1,000 rows, 4 columns used, 0 left out: no warning\n"


def test_what_cannot_be_read_is_two_lines_and_exit_code_2(say, tmp_path):
    path = card_of(tmp_path, base(), label={"column": "goood", "favourable": "yes"})
    for arguments in (["nope"], [path], [tmp_path / "absent.yaml"], ["adult", "--data-dir", tmp_path]):
        if arguments[0] == "adult" and os.environ.get("FAIRBENCH_DATA"):
            continue
        said = say("data", "check", *arguments)
        assert said.code == 2
        assert said.out == ""
        assert "error: " in said.err
        assert "\n  fix: " in said.err


CELLS = st.sampled_from(["", "?", "0", "1", "1.0", "-3", "1e400", "nan", "é", "a b", "x,y", '"', "∞"])


@pytest.mark.gate
@law(80)
@given(data=st.data(), n=st.integers(1, 12), drop=st.booleans())
def test_odd_columns_are_checked_or_refused(tmp_path_factory, data, n, drop):
    rows = {
        "sex": data.draw(st.lists(st.sampled_from("fm"), min_size=n, max_size=n)),
        "good": data.draw(st.lists(st.sampled_from(["yes", "no"]), min_size=n, max_size=n)),
        "odd": data.draw(st.lists(CELLS, min_size=n, max_size=n)),
        "odder": data.draw(st.lists(CELLS, min_size=n, max_size=n)),
    }
    changes = {"missing": "?", "missing_rows": "drop"} if drop else {}
    columns = {"odd": "nominal", "odder": data.draw(st.sampled_from(["drop", "nominal"]))}
    path = card_of(tmp_path_factory.mktemp("odd"), rows, columns=columns, **changes)
    try:
        result = checked(path)
    except UserError:
        return
    assert result.used + result.left_out == 4
    assert all(0 <= leak.accuracy <= 1 for leak in result.left_out_leaks)


def test_bins_made_of_a_column_are_no_copy_of_it(tmp_path):
    frame = pd.DataFrame({"age": range(100), "sex": ["f", "m"] * 50, "y": [0, 0, 1, 1] * 25})
    frame.to_csv(tmp_path / "d.csv", index=False)
    old = "{from: age, kind: integer, bins: {edges: 40}}"
    columns = f"columns: {{age: {{kind: integer, bins: {{quantiles: 5}}}}, old: {old}, s: {{from: sex}}}}"
    text = "label: {column: y, favourable: 1}\nprotected: {sex: {deprived: f}}\n"
    (tmp_path / "d.yaml").write_text(f"name: d\nfiles: [d.csv]\n{columns}\n{text}")
    found = [f"{warning.column} {warning.what}" for warning in checked(tmp_path / "d.yaml").warnings]
    assert [what for what in found if "one to one" in what] == ["s is one to one with the protected sex"]
