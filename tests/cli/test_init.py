"""`fairbench init`: what it writes from a table works as it stands, and says why."""

import io
import re
import shlex
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from conftest import two_lines

import fairbench_cli as fb
from fairbench_cli.data.card import CalledGroups, read_card

GOLDEN = Path(__file__).parents[1] / "reference/init"
FLAGS = ["--label", "approved", "--favourable", "yes", "--protected", "sex=f", "--protected", "age<35"]


def loans(n=300, seed=3):
    """Return the columns of a table with all that is wrong with real ones."""
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(["f", "m"], n), rng.integers(18, 70, n)
    income = np.round(rng.lognormal(10, 0.5, n), 2)
    good = rng.random(n) < 0.25 + 0.25 * (sex == "m") + 0.25 * (income > 22000)
    gap = rng.random(n) < 0.1
    return {
        "case": [f"C{1000 + i}" for i in range(n)],
        "opened": [f"2023-{i % 12 + 1:02}-{i % 28 + 1:02}" for i in range(n)],
        "sex": sex.tolist(),
        "age": age.tolist(),
        "income": ["NA" if lost else value for lost, value in zip(gap, income.tolist(), strict=True)],
        "region": rng.choice(["north", "south", "no", ""], n).tolist(),
        "visits": rng.integers(0, 4, n).tolist(),
        "office": ["main"] * n,
        "gender": ["w" if one == "f" else "h" for one in sex],
        "limit": [int(rng.integers(900, 999) if yes else rng.integers(100, 300)) for yes in good],
        "approved": ["yes" if yes else "no" for yes in good],
    }


def write_table(path, columns, *, separator=",", header=True):
    rows = [list(columns)] if header else []
    rows += zip(*columns.values(), strict=True)
    path.write_text("".join(separator.join(map(str, row)) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def written(say, tmp_path):
    write_table(tmp_path / "loans.csv", loans())
    done = say("init", "loans.csv", *FLAGS)
    assert done.code == 0, done.err
    return done


def test_the_card_and_config_say_why(written, tmp_path):
    for name in ("loans.yaml", "loans-run.yaml"):
        assert (tmp_path / name).read_text() == (GOLDEN / name).read_text(), name
    card = read_card(tmp_path / "loans.yaml")
    dropped = [name for name, column in card.columns.items() if column.kind == "drop"]
    assert dropped == ["case", "opened", "office", "gender", "limit"]


def test_the_commands_printed_run_as_printed(written, say, tmp_path):
    commands = [
        shlex.split(line)[1:] for line in re.findall(r"^  (fairbench .+)$", written.err, re.MULTILINE)
    ]
    assert [words[0] for words in commands] == ["data", "run", "report", "data", "audit"]
    for words in commands:
        if words[0] == "run":
            words += ["--set", "repeats=2", "--set", "classifiers=[naive-bayes]", "--jobs", "1"]
        done = say(*words)
        assert done.code == 0, (words, done)
    assert "approved" in (tmp_path / "loans-rows.csv").read_text().splitlines()[0]


def test_what_the_config_offers_in_a_comment_works(written, say, tmp_path):
    text = (tmp_path / "loans-run.yaml").read_text()
    text = text.replace("sample: {from: data", "# sample: {from: data")
    (tmp_path / "loans-run.yaml").write_text(text.replace("# sample: {from: net", "sample: {from: net"))
    assert "sex is a parent of the outcome" in say("plan", "loans-run.yaml").out


def test_what_is_not_said_is_listed_with_likely_answers(say, tmp_path):
    write_table(tmp_path / "loans.csv", loans())
    done = say("init", "loans.csv")
    assert done.code == 2
    assert done.err.count("error: ") == 3
    likely = ("--label COLUMN", "approved: ", "--favourable", "--protected COLUMN=DEPRIVED", "age: numbers")
    for word in likely:
        assert word in done.err
    done = say("init", "loans.csv", "--label", "approved", "--protected", "sex", "--protected", "age")
    assert "add --favourable yes" in done.err
    assert "add it: --protected sex=" in done.err
    assert re.search(r"add it: --protected 'age<\d+'", done.err)
    assert [path.name for path in tmp_path.iterdir()] == ["loans.csv"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--label", "aproved"], ['"aproved"', 'did you mean "approved"']),
        (["--label", "office"], ["one value only"]),
        (["--label", "approved", "--favourable", "yse"], ['no value "yse"', '"yes"']),
        (["--label", "approved", "--favourable", "yes,no"], ["every value"]),
        (["--label", "region", "--favourable", "north,south"], ["more than one value"]),
        (["--favourable", "yes"], ["--label"]),
        (["--protected", "sx=f"], ['did you mean "sex"']),
        (["--protected", "sex=g"], ['no value "g"']),
        (["--protected", "sex<3"], ["text such as", "--protected"]),
        (["--protected", "age=200"], ["holds numbers", "age<"]),
        (["--protected", "age<5"], ["no row has age<5", "it goes from"]),
        (["--protected", "age<x"], ["not a number"]),
        (["--protected", "sex=f", "--protected", "sex=m"], ["named twice"]),
        (["--label", "sex", "--protected", "sex=m"], ["outcome and protected"]),
        (["--separator", "ab"], ["one character"]),
        (["--columns", "a,b"], ["names 2 columns", "11"]),
        (["--card", "loans.csv"], ["is the data file"]),
        (["--card", "loans"], ["must end in .yaml"]),
        (["--config", "there.yaml"], ["already exists", "--force"]),
    ],
)  # fmt: skip
def test_mistakes_in_flags(say, tmp_path, flags, words):
    write_table(tmp_path / "loans.csv", loans(60))
    (tmp_path / "there.yaml").touch()
    done = say("init", "loans.csv", *flags)
    assert done.code == 2
    for word in words:
        assert word in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["loans.csv", "there.yaml"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (".", None, ["is a folder"]),
        ("none.csv", None, ["no such file"]),
        ("a.yaml", "a: 1\n", ["not a table"]),
        ("a.csv", "", ["a.csv:1", "empty"]),
        ("a.csv", "a,b\n1,2,3\n", ["a.csv:2", "3 cells"]),
        ("a.csv", 'a,b\n1,"2\n', ["quotes"]),
        ("a.csv", b"a,b\n1,\xff\n", ["a.csv:2: error: byte FF is not UTF-8", "--encoding cp1252"]),
        ("a.csv", "a,b,a\nx,1,2\n", ["a.csv:1", 'two columns are called "a"']),
    ],
)
def test_files_that_are_no_table(say, tmp_path, name, content, words):
    if content is not None:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    two_lines(say("init", name, "--header"), *words)


def test_card_and_config_are_told_apart(written, say):
    two_lines(say("run", "loans.yaml"), "a card, not a config", "fairbench run loans-run.yaml")
    two_lines(say("data", "check", "loans-run.yaml"), "a config, not a card")
    two_lines(say("data", "check", "loans.csv"), "fairbench init loans.csv")
    two_lines(say("data", "check", "loans"), 'did you mean "loans.yaml"')


def test_nothing_is_written_over(written, say, tmp_path):
    (tmp_path / "loans.yaml").write_text("mine")
    two_lines(say("init", "loans.csv", *FLAGS), "loans.yaml already exists", "--force")
    assert (tmp_path / "loans.yaml").read_text() == "mine"
    assert say("init", "loans.csv", *FLAGS, "--force").code == 0
    assert (tmp_path / "loans.yaml").read_text() != "mine"


class Terminal(io.StringIO):
    """Standard input with somebody at it."""

    def isatty(self):
        return True


def test_a_terminal_is_asked_until_the_answer_fits(written, say, tmp_path, monkeypatch):
    expected = (tmp_path / "loans.yaml").read_text()
    answers = ["approvd", "", "maybe", "yes", "sex, agee", "sex, age<35", "x", "f"]
    answers += ["", "f", "m", "", ""]  # what people call them: as the table does
    monkeypatch.setattr(sys, "stdin", Terminal("".join(f"{answer}\n" for answer in answers)))
    done = say("init", "loans.csv", "--force")
    assert done.code == 0, done.err
    assert (tmp_path / "loans.yaml").read_text() == expected
    assert done.err.count("error: ") == 4
    monkeypatch.setattr(sys, "stdin", Terminal("approved\n"))
    assert say("init", "loans.csv", "--force").code == 130


def test_what_people_call_groups_and_outcome_is_asked_for_and_stands_in_the_answer(
    say, tmp_path, monkeypatch
):
    write_table(tmp_path / "loans.csv", loans())
    monkeypatch.setattr(sys, "stdin", Terminal("age<35\nhired\nyoung people\nolder people\n"))
    assert say("init", "loans.csv", "--label", "approved", "--favourable", "yes").code == 0
    card = read_card(tmp_path / "loans.yaml")
    assert card.label.called == "hired"
    assert card.protected["age"].called == CalledGroups(deprived="young people", favoured="older people")
    done = say("run", "loans-run.yaml", "--set", "repeats=2", "--set", "classifiers=[naive-bayes]", "-j", "1")
    assert done.code == 0, done.err
    answer = (tmp_path / "results/loans/answer.md").read_text(encoding="utf-8")
    assert re.search("young people are hired .+ often (than|as) older people", answer)
    assert "; hired is who is predicted approved = yes" in answer
    assert "selected" not in answer


def test_words_of_a_sex_are_proposed_and_no_words_are_asked_for_where_all_is_said(say, tmp_path, monkeypatch):
    write_table(tmp_path / "loans.csv", loans())
    monkeypatch.setattr(sys, "stdin", Terminal("sex=f\n\n\n\n"))
    assert say("init", "loans.csv", "--label", "approved", "--favourable", "yes").code == 0
    assert read_card(tmp_path / "loans.yaml").protected["sex"].called == CalledGroups(
        deprived="women", favoured="men"
    )
    monkeypatch.setattr(sys, "stdin", Terminal(""))
    assert say("init", "loans.csv", *FLAGS, "--force").code == 0
    assert read_card(tmp_path / "loans.yaml").protected["sex"].called is None


def columns_of(folder, name="loans.yaml"):
    return {key: column.kind for key, column in read_card(folder / name).columns.items()}


def test_semicolons_and_decimal_commas(say, tmp_path, written):
    known = columns_of(tmp_path)
    table = loans()
    table["income"] = [str(value).replace(".", ",") for value in table["income"]]
    write_table(tmp_path / "euro.csv", table, separator=";")
    assert say("init", "euro.csv", *FLAGS).code == 0
    assert columns_of(tmp_path, "euro.yaml") == known
    assert 'separator: ";"\n' in (tmp_path / "euro.yaml").read_text()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\x85", "\u2028"])
def test_line_ends_in_names_and_values(say, tmp_path, end):
    table = loans()
    table = {f"se{end}x" if name == "sex" else name: values for name, values in table.items()}
    table["region"] = [f"a{end}b" if one == "no" else one for one in table["region"]]
    quoted = [[f'"{cell}"' for cell in row] for row in (list(table), *zip(*table.values(), strict=True))]
    (tmp_path / "l.csv").write_bytes("".join(",".join(row) + "\n" for row in quoted).encode())
    given = ["--label", "approved", "--favourable", "yes", "--protected", f"se{end}x=f"]
    assert say("init", "l.csv", *given).code == 0
    assert f"se{end}x" in read_card(tmp_path / "l.yaml").columns


def test_dates_and_identifiers_are_those_of_an_audit(say, tmp_path):
    rows = 60
    more = {
        "signed": [f"{1 + i % 28} Jan 2024" for i in range(rows)],
        "at": [f"{i % 24}:30" for i in range(rows)],
        "CLIENT_ID": [str(i % 40) for i in range(rows)],
        "paid": [str(i % 39) for i in range(rows)],
    }
    write_table(tmp_path / "loans.csv", {**loans(rows), **more})
    assert say("init", "loans.csv", *FLAGS).code == 0
    kinds = columns_of(tmp_path)
    assert [kinds[name] for name in more] == ["drop", "drop", "drop", "integer"]


def test_tabs_and_a_first_column_without_a_name(say, tmp_path):
    write_table(tmp_path / "loans.tsv", {"": range(60), **loans(60)}, separator="\t")
    assert say("init", "loans.tsv", *FLAGS).code == 0
    assert "other_columns: drop" in (tmp_path / "loans.yaml").read_text()
    assert "" not in columns_of(tmp_path)


def test_blanks_without_a_header(say, tmp_path):
    table = {name: values for name, values in loans().items() if name not in ("region", "opened")}
    write_table(tmp_path / "loans.data", table, separator=" ", header=False)
    done = say("init", "loans.data")
    assert "9 columns, cells separated by space; no header" in done.err
    assert "columns of two values: column9: yes" in done.err
    done = say("init", "loans.data", "--columns", ",".join(table), *FLAGS)
    assert done.code == 0, done.err
    assert list(columns_of(tmp_path)) == list(table)


def test_a_label_of_numbers_and_rows_without_a_group(say, tmp_path):
    table = loans()
    table["sex"] = ["" if i % 9 == 0 else sex for i, sex in enumerate(table["sex"])]
    del table["approved"], table["gender"]
    write_table(tmp_path / "loans.csv", table)
    done = say("init", "loans.csv", "--label", "limit", "--favourable", ">=500", "--protected", "sex=f")
    assert done.code == 0, done.err
    done = say("data", "check", "loans.yaml")
    assert done.code == 0
    assert "Rows left out for missing values: 34 of 300" in done.out


def test_a_parquet_file(say, tmp_path, written):
    import duckdb

    known = columns_of(tmp_path)
    source = f"read_csv('{tmp_path}/loans.csv', types={{'approved': 'VARCHAR'}})"
    duckdb.sql(f"COPY (FROM {source}) TO '{tmp_path}/frame.parquet'")
    assert say("init", "frame.parquet", *FLAGS).code == 0
    assert columns_of(tmp_path, "frame.yaml") == known


def test_a_value_that_looks_like_a_side_and_a_column_given_twice(say, tmp_path):
    table = loans(120)
    pay = [">50K" if one == "yes" else "<=50K" for one in table.pop("approved")]
    text = write_table(tmp_path / "a.csv", {**table, "pay": pay, "age ": table["age"]}).read_text()
    (tmp_path / "a.csv").write_text(text.replace("age \n", "age\n"))
    done = say("init", "a.csv", "--label", "pay", "--favourable", ">50K", "--protected", "sex=f")
    assert done.code == 0, done.err
    assert "label: {column: pay, favourable: '>50K'}" in (tmp_path / "a.yaml").read_text()
    assert list(columns_of(tmp_path, "a.yaml")).count("age") == 1


def test_a_card_elsewhere_finds_its_data(say, tmp_path):
    write_table(tmp_path / "loans.csv", loans(120))
    for card in ("cards/mine.yaml", "far/away/in/mine.yaml"):
        assert say("init", "loans.csv", *FLAGS, "--card", card).code == 0
        assert say("plan", card.replace("mine", "mine-run")).code == 0


def test_compas_leaks_are_left_out(say, tmp_path, data_folder):
    given = ["--label", "two_year_recid", "--favourable", "0", "--protected", "race=African-American"]
    table = data_folder / "compas-scores-two-years.csv"
    done = say("init", table, "--card", "compas.yaml", *given, "--protected", "age<25")
    assert done.code == 0, done.err
    card = read_card(tmp_path / "compas.yaml")
    used = {name for name, column in card.columns.items() if column.kind != "drop"}
    assert {"sex", "race", "age", "priors_count", "decile_score", "c_charge_degree"} <= used
    assert not used & {"id", "name", "dob", "is_recid", "r_case_number", "event", "end", "violent_recid"}


def test_german_credit(say, tmp_path, data_folder):
    """Blanks, no header, age from 19 to 75: the groups of Kamiran and Calders, 190 young and 310 women."""
    names = [f"c{j + 1}" for j in range(21)]
    given = ["--label", "c21", "--favourable", "1", "--protected", "c9=A92", "--protected", "c13<=25"]
    given += ["--columns", ",".join(names), "--card", "german.yaml"]
    done = say("init", data_folder / "german.data", *given)
    assert done.code == 0, done.err
    text = (tmp_path / "german.yaml").read_text()
    assert "deprived: 310 rows, 64.8 % favourable; the others: 690 rows" in text
    assert "deprived: 190 rows, 57.9 % favourable; the others: 810 rows" in text
    verdict = say("data", "check", "german.yaml").out.splitlines()[-1]
    assert verdict == "german: 1,000 rows, 21 columns used, 0 left out: no warning"
    assert say("plan", "german-run.yaml").code == 0


def test_a_table_of_counts_stands_for_its_people(say, tmp_path):
    """As R writes its UCBAdmissions; less a cell of the cross, numbers are numbers."""
    cells = list(product(("yes", "no"), ("f", "m"), "ABC"))
    people = [17, 19, 0, 40, 3, 8, 89, 5, 12, 7, 30, 2]
    lines = [f"{i},{','.join(cell)},{n}" for i, (cell, n) in enumerate(zip(cells, people, strict=True), 1)]
    flags = ("--label", "admit", "--favourable", "yes", "--protected", "sex=f")
    for name, kept in (("whole", lines), ("part", lines[:-1])):
        (tmp_path / f"{name}.csv").write_text("\n".join(["rownames,admit,sex,dept,Freq", *kept]))
        assert say("init", f"{name}.csv", *flags).code == 0
    card, part = (read_card(tmp_path / f"{name}.yaml") for name in ("whole", "part"))
    assert (card.counts, part.counts) == ("Freq", None)
    assert "Freq" not in card.columns
    assert "deprived: 142 rows, 25.4 % favourable" in (tmp_path / "whole.yaml").read_text()
    data = fb.load(tmp_path / "whole.yaml")
    assert (len(data), data.table.names) == (sum(people), ("admit", "sex", "dept"))
    other = say(
        "init", "whole.csv", "--label", "Freq", "--favourable", ">=15", "--protected", "sex=f", "--force"
    )
    assert other.code == 0, other.err
    assert read_card(tmp_path / "whole.yaml").counts is None


def test_a_table_that_is_not_utf8_has_its_encoding_in_the_card(say, tmp_path):
    text = "job,place,sex\n" + "ja,Orléans,f\nnein,Köln,m\nja,Köln,f\nnein,Orléans,m\n" * 20
    (tmp_path / "a.csv").write_bytes(text.encode("latin-1"))
    flags = ["--label", "job", "--favourable", "ja", "--protected", "sex=f"]
    refused = say("init", "a.csv", *flags)
    assert (
        "a.csv:2: error: byte E9 is not UTF-8\n  fix: name its encoding, likely --encoding cp1252"
        in refused.err
    )
    assert say("init", "a.csv", *flags, "--encoding", "cp1252").code == 0
    assert "\nencoding: cp1252\n" in (tmp_path / "a.yaml").read_text()
    shown = say("data", "show", "a.yaml")
    assert "Orléans" in shown.out
    (tmp_path / "a.yaml").write_text((tmp_path / "a.yaml").read_text().replace("encoding: cp1252\n", ""))
    assert "write its encoding in the card, likely encoding: cp1252" in say("data", "show", "a.yaml").err
    unknown = say("init", "a.csv", *flags, "--force", "--encoding", "ansi")
    assert '--encoding: error: no encoding is called "ansi"' in unknown.err


@pytest.mark.parametrize(
    ("name", "factor", "way"),
    [
        ("PWGTP", 1, "in place of its line"),
        ("sampling_weight", 0.37, "a run counts whole people"),
        ("factor_expansion", 2, "in place of its line"),
        ("FINLWT21", 1, "in place of its line"),
        ("weight_norm", 0.5, "a run counts whole people"),
        ("wt", 0.5, "a run counts whole people"),
    ],
)
def test_weights_of_surveys_are_no_features_and_whole_ones_may_count_people(say, tmp_path, name, factor, way):
    table = loans(60)
    table[name] = [round(factor * (i % 17 + 1), 2) for i in range(60)]
    table["birth_weight"] = [2000 + i * 37 % 53 for i in range(60)]
    write_table(tmp_path / "loans.csv", table)
    assert say("init", "loans.csv", *FLAGS).code == 0
    assert [columns_of(tmp_path)[column] for column in (name, "birth_weight")] == ["drop", "integer"]
    text = (tmp_path / "loans.yaml").read_text()
    words = " ".join(text.replace("# ", "").split())
    assert f"`counts: {name}`" in words
    assert way in words
    if factor in (1, 2):  # what the fix says
        text = text.replace(f"\n  {name}: drop", "").replace("columns:", f"counts: {name}\ncolumns:")
        (tmp_path / "loans.yaml").write_text(text)
        assert len(fb.load(str(tmp_path / "loans.yaml"))) == sum(table[name])


@pytest.mark.parametrize(
    ("levels", "deprived", "words"),
    [
        ("negra parda indígena amarela branca outra", 3, "indígena, negra or parda against everybody else"),
        ("16-24 25-34 35-44", 2, "everybody but 35-44 against 35-44"),
        ("Roma Poles Czechs Slovaks", 1, "Roma against everybody else"),
    ],
)
def test_a_group_of_several_levels_is_called_by_the_shorter_list(say, tmp_path, levels, deprived, words):
    levels = levels.split()
    table = loans(210) | {"people": [levels[i % len(levels)] for i in range(210)]}
    write_table(tmp_path / "loans.csv", table)
    flags = ["--label", "approved", "--favourable", "yes", "--protected"]
    assert say("init", "loans.csv", *flags, f"people={','.join(levels[:deprived])}").code == 0
    settings = ["--set", "repeats=2", "--set", "classifiers=[naive-bayes]", "--set", "controls=false"]
    done = say("run", "loans-run.yaml", *settings, "--jobs", "1")
    assert f"loans: {words}" in " ".join(done.out.split()), done.out


def test_amounts_of_which_every_row_has_another_are_features_and_numbers_of_rows_are_not(say, tmp_path):
    rng = np.random.default_rng(5)
    far = rng.choice(np.arange(20_000, 90_000), 150, replace=False)
    columns = {
        "income": far,
        "Schulden": far[::-1] * 3,
        "Kundennr": far + 7,
        "nth": 500 + rng.permutation(150),
    }
    columns["since"] = np.sort(far) + 5
    for name, lines in (("as-it-came", slice(None)), ("sorted", np.argsort(far))):
        table = {key: np.array(values)[lines].tolist() for key, values in (loans(150) | columns).items()}
        write_table(tmp_path / f"{name}.csv", table)
        assert say("init", f"{name}.csv", *FLAGS).code == 0
        kinds = columns_of(tmp_path, f"{name}.yaml")
        expected = ["integer", "integer", "drop", "drop", "integer" if name == "sorted" else "drop"]
        assert [kinds[column] for column in columns] == expected
    assert "does it only name the row? Then: drop" in " ".join(
        (tmp_path / "sorted.yaml").read_text().replace("#", "").split()
    )
    assert "income" not in say("data", "check", "sorted.yaml").out


@pytest.mark.parametrize(
    ("name", "value_of"),
    [
        ("gain", lambda i: 0 if i % 10 else 100 * i),
        ("born", lambda i: 1950 + i % 50),
        ("depth", lambda i: 1_000_001 + i % 40),
        ("ratio", lambda i: 0.96 + i % 80 / 1000),
        ("days", lambda i: 3 if i % 30 else 4 + i),
    ],
)
def test_edges_and_sides_that_are_offered_leave_rows_on_both_sides(say, tmp_path, name, value_of):
    write_table(tmp_path / "loans.csv", loans(600) | {name: [value_of(i) for i in range(600)]})
    flags = ["--label", "approved", "--favourable", "yes"]
    asked = say("init", "loans.csv", *flags, "--protected", name)
    offered = shlex.split(re.search(r"add it: (--protected .+?); it has", asked.err)[1])
    assert say("init", "loans.csv", *flags, *offered).code == 0
    assert say("init", "loans.csv", *FLAGS, "--force").code == 0
    card = tmp_path / "loans.yaml"
    before, after = card.read_text().split(f"\n  {name}: {{kind: ")
    bins = re.findall(r"Edges of your own: bins: ({.+?})", " ".join(before.replace("#", "").split()))[-1]
    card.write_text(f"{before}\n  {name}: {{kind: {after.replace('{quantiles: 5}', bins, 1)}")
    assert len(fb.load(str(card)).to_pandas()[name].unique()) > 1
