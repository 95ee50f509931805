"""Sheets of workbooks: the same audit as of the CSV file that they would be saved as."""

import json
import random
import zipfile

import pytest
from workbooks import Day, Sheet, write_bomb, write_workbook

import fairbench_cli as fb
from fairbench_cli.cli.app import run


def people(n=400):
    rng = random.Random(3)  # noqa: S311 - people, not secrets
    rows = []
    for number in range(n):
        sex = rng.choice(["Female", "Male"])
        hired = int(rng.random() < (0.3 if sex == "Female" else 0.5))
        rows.append([hired, sex, f"{number:04}", rng.randint(0, 1), rng.choice([0.5, 2, 7.25])])
    return rows


NAMES = ["score", "sex", "staff_no", "label", "hours"]


def as_csv(path, rows):
    lines = [",".join(NAMES)]
    lines += [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def plain(result):
    """Return the JSON of an audit without the name of its file and what is said of the sheet."""
    document = json.loads(result.to_json())
    for key in ("source", "notes", "title", "version"):
        document.pop(key, None)
    return document


def test_a_sheet_gives_the_audit_of_its_csv_file(tmp_path):
    rows = people()
    text = as_csv(tmp_path / "a.csv", rows)
    book = write_workbook(tmp_path / "a.xlsx", Sheet("Staff", [NAMES, *rows]))
    assert plain(fb.audit(book)) == plain(fb.audit(text))


def test_titles_blank_rows_and_columns_beside_are_left_out(tmp_path):
    rows = [[None, *row] for row in people()]
    shifted = [["", "Staff 2024", None], [], [None, *NAMES], *rows[:100], [], *rows[100:], [], []]
    book = write_workbook(tmp_path / "a.xlsx", Sheet("Staff", shifted))
    result = fb.audit(book)
    assert plain(result) == plain(fb.audit(as_csv(tmp_path / "a.csv", people())))
    notes = " ".join(result.report.notes)
    assert "row 3" in notes
    assert "Staff 2024" in notes
    assert "1 blank row" in notes


def test_totals_and_remarks_below_the_table_are_left_out(tmp_path):
    rows = people()
    below = [["Total", None, None, 200, 1300], [], ["* exported on Monday"], ["Average:", None, None, 0.5]]
    book = write_workbook(tmp_path / "a.xlsx", Sheet("Staff", [NAMES, *rows, *below]))
    result = fb.audit(book)
    assert plain(result) == plain(fb.audit(as_csv(tmp_path / "a.csv", rows)))
    assert "What stands below the table is left out (Total)." in result.report.notes


def test_a_blank_row_inside_merged_cells_is_nobody(tmp_path):
    rows = people(60)
    with_shop = [[*row, None] for row in rows]
    with_shop[0][-1] = "North"
    with_gap = [*with_shop[:20], [], *with_shop[20:]]
    book = write_workbook(tmp_path / "a.xlsx", Sheet("S", [[*NAMES, "shop"], *with_gap], merged=("F2:F62",)))
    result = fb.audit(book, attribute="sex")
    assert result.report.rows == len(rows)


def test_the_largest_sheet_that_can_be_seen_is_read_and_said(tmp_path):
    rows = people()
    sheets = [
        Sheet("Notes", [["a note"]]),
        Sheet("Staff", [NAMES, *rows]),
        Sheet("Old", [NAMES, *rows, *rows[::-1]], state="hidden"),
        Sheet("Older", [NAMES, *rows, *rows], state="veryHidden"),
    ]
    book = write_workbook(tmp_path / "a.xlsx", *sheets)
    result = fb.audit(book)
    assert result.report.rows == len(rows)
    notes = " ".join(result.report.notes)
    assert '"Staff"' in notes
    assert '"Notes"' in notes
    assert '"Old", "Older"' in notes
    assert fb.audit(book, table="Old").report.rows == 2 * len(rows)


def test_merged_cells_are_of_all_their_rows(tmp_path):
    rows = people(300)
    rows.sort(key=lambda row: row[1])
    n_women = sum(row[1] == "Female" for row in rows)
    cells = [list(row) for row in rows]
    for number, row in enumerate(cells):
        if number not in (0, n_women):
            row[1] = None
    merged = (f"B2:B{n_women + 1}", f"B{n_women + 2}:B301")
    book = write_workbook(tmp_path / "a.xlsx", Sheet("Staff", [NAMES, *cells], merged=merged))
    result = fb.audit(book)
    assert plain(result) == plain(fb.audit(as_csv(tmp_path / "a.csv", rows)))
    assert any("Merged cells of sex" in note for note in result.report.notes)


def test_cells_are_read_as_a_csv_file_would_have_them(tmp_path):
    rows = [[True, "f", "007", Day(45292), 0.25], [False, "m", "#DIV/0!", Day(45293), 3]] * 60
    book = write_workbook(
        tmp_path / "a.xlsx", Sheet("S", [["hired", "sex", "number", "day", "share"], *rows])
    )
    columns = {column["name"]: column for column in fb.look(book).to_plain()["columns"]}
    values = {name: {value["value"] for value in column["values"]} for name, column in columns.items()}
    assert values["hired"] == {"true", "false"}
    assert values["number"] == {"007"}
    assert columns["number"]["missing"] == 60  # an error is no value
    assert values["day"] == {"2024-01-01", "2024-01-02"}
    assert values["share"] == {"0.25", "3"}


def test_messages_name_the_row_of_the_sheet(tmp_path):
    rows = people()
    rows[17][0] = None
    book = write_workbook(tmp_path / "a.xlsx", Sheet("Staff", [["Title"], [], NAMES, *rows]))
    with pytest.raises(fb.UserError, match=r"a\.xlsx:row 21"):
        fb.audit(book)


def many_parts(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        for number in range(1001):
            archive.writestr(f"part{number}", "")


def broken(path):
    write_workbook(path, Sheet("S", [NAMES, *people(50)]))
    path.write_bytes(path.read_bytes()[:-400])


def with_password(path):
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000))


@pytest.mark.gate
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (write_bomb, "unpacks to 120 MB"),
        (many_parts, "1,002 parts"),
        (broken, "cannot be read as a workbook"),
        (with_password, "cannot be read as a workbook"),
        (lambda path: path.write_text("<html><table><tr><td>sex</td></tr></table></html>"), "web page"),
        (lambda path: write_workbook(path, Sheet("Empty", [])), "no sheet that can be seen has cells"),
        (lambda path: write_workbook(path, Sheet("H", [NAMES], state="hidden")), "hidden ones are H"),
        (lambda path: write_workbook(path, Sheet("S", [NAMES])), "no rows"),
    ],
)
def test_what_cannot_be_read_is_said_in_two_lines(tmp_path, capsys, make, words):
    path = tmp_path / "a.xlsx"
    make(path)
    assert run(["audit", str(path)]) == 2
    message = capsys.readouterr().err
    assert words in message
    assert message.count("\n") == 2


def test_a_sheet_that_there_is_not_is_refused(tmp_path):
    book = write_workbook(tmp_path / "a.xlsx", Sheet("Staff", [NAMES, *people(50)]))
    with pytest.raises(fb.UserError, match=r'no sheet "Staf"[\s\S]*Staff'):
        fb.audit(book, table="Staf")


def test_another_sheet_is_offered(tmp_path):
    book = write_workbook(
        tmp_path / "a.xlsx", Sheet("A", [NAMES, *people(50)]), Sheet("B", [NAMES, *people(9)])
    )
    understood = fb.look(book)
    (remark,) = [remark for remark in understood.remarks if remark.kind == "sheet"]
    assert [remedy.options for remedy in remark.remedies] == [{"table": "B"}]
    assert fb.look(book, table="B").table.rows == 9
