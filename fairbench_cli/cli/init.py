"""``fairbench init``: a card and a config for a table that has none."""

import os
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from fairbench_cli.base.encodings import ADVICE, is_text_encoding
from fairbench_cli.base.errors import Problem, UserError, format_value, user_error
from fairbench_cli.base.files import make_folder, write_text
from fairbench_cli.base.safe_text import format_path
from fairbench_cli.cli.console import print_table, talk
from fairbench_cli.document.model import plain_table

if TYPE_CHECKING:  # light when asked for --help
    import pandas as pd

    from fairbench_cli.data.guess.card import Guessed
    from fairbench_cli.data.guess.read_raw import Mask, RawCells
    from fairbench_cli.data.guess.roles import GivenRoles, Group

T = TypeVar("T")


def init(
    data: Annotated[
        Path, typer.Argument(help="CSV, TSV or other separated text, ARFF or Parquet.", show_default=False)
    ],
    label: Annotated[str | None, typer.Option(help="The column that holds the outcome.")] = None,
    favourable: Annotated[
        str | None, typer.Option(help="Its favourable value; of numbers a side, such as '>=600'.")
    ] = None,
    protected: Annotated[
        list[str] | None,
        typer.Option(
            help="A protected attribute and its deprived group: sex=f, race=a,b or 'age<25'. Repeat it."
        ),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Names for a file without a header: sex,age,income.")
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header", help="Whether the first row names the columns.", show_default="guessed"
        ),
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="Between cells: one character, tab or space.", show_default="guessed")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Of a text that is not UTF-8: latin-1, cp1252 (of Windows), utf-16.")
    ] = None,
    card: Annotated[
        Path | None, typer.Option(help="Where to write the card.", show_default="DATA.yaml, next to the data")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="Where to write the config.", show_default="next to the card")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
) -> None:
    """Write a commented card and a config for a table; asks for what the flags leave open."""
    from fairbench_cli.cli.activity import Activity
    from fairbench_cli.data.checks.copies import find_copies
    from fairbench_cli.data.guess import card as guess
    from fairbench_cli.data.guess.read_raw import (
        find_counts_column,
        guess_layout,
        read_named_cells,
        to_raw_cells,
    )

    _look_at(data)
    card = card or data.with_name(f"{data.stem}.yaml")
    config = config or card.with_name(f"{card.stem}-run.yaml")
    _refuse(data, card, config, force=force)
    names = None
    if columns is not None:
        names = [name.strip() for name in columns.split(",")]
    if names is not None:
        header = False
    layout = guess_layout(data, _separator(separator), header, _checked_encoding(encoding))
    with Activity(f"reading {data}") as activity:
        cells = read_named_cells(data, layout, names)
        activity.tell(f"looking at {cells.shape[1]} columns of {len(cells):,} rows")
        table = to_raw_cells(cells, layout)
    del cells  # as large as the table
    _say_layout(data, table, with_values=sys.stdin.isatty())
    named_columns = {re.split("[=<>]", text)[0].strip() for text in [label or ""] + (protected or [])}
    counts = find_counts_column(table.cells)
    if counts is not None and counts not in named_columns:
        table = table.repeat_by_count(counts)
        talk(f"{counts} counts the people of each row: {len(table.cells):,}")
    else:
        copies = find_copies(table.cells)
        if copies.any():
            table = table.without(copies)
            talk(f"{table.copies:,} rows are copies of others, more than people are alike: they are left out")
    roles = _roles(table.named_columns, label, favourable, protected or [])
    with Activity(f"looking what {table.cells.shape[1]} columns of {len(table.cells):,} rows are"):
        guesses = guess.guess_columns(table.named_columns, roles)
    guessed = guess.Guessed(_name(card.stem), _relative(data, card), table, roles, guesses)
    for folder in (card.parent, config.parent):
        make_folder(folder)
    write_text(card, guess.format_card(guessed))
    write_text(config, guess.format_config(guessed, _relative(card, config)))
    _say_columns(guessed)
    with Activity(f"checking {card}, as a run does"):
        _check(card, config)
    talk(f"{card}, {config}: written. Go through the card, then:")
    for line in _next(guessed, card, config):
        talk(f"  {line}")


def _roles(
    table: "RawCells", label: str | None, favourable: str | None, protected: list[str]
) -> "GivenRoles":
    """Return label and groups: from the flags, and at a terminal by questions for the rest."""
    from fairbench_cli.data.guess import roles

    outcome, groups = roles.parse_roles(table, label, favourable, protected)
    if sys.stdin.isatty():
        return _ask_for_roles(table, outcome, groups)
    problems = roles.find_open_roles(table, outcome, groups)
    if problems or outcome is None:
        raise UserError(*problems)
    return roles.GivenRoles(outcome, tuple(groups))


def _ask_for_roles(table: "RawCells", outcome: "Group | None", groups: "list[Group]") -> "GivenRoles":
    """Return label and groups; what is missing is asked for."""
    from fairbench_cli.data import recognise
    from fairbench_cli.data.guess import roles

    is_all_given = not roles.find_open_roles(table, outcome, groups)
    if outcome is None:
        candidates = roles.label_candidates(table)
        question = "Which column is the outcome?"
        outcome = _ask(
            question, partial(roles.parse_label, table, None), candidates[0] if candidates else None
        )
    column = outcome.column
    if not outcome.levels:
        talk(f"{column}: {roles.describe_shares(table, column)}")
        guess = recognise.guess_favourable(table.cells[column].unique())
        question = "Which value is favourable? (of numbers a side, such as >=600)"
        outcome = _ask(question, lambda text: roles.parse_label(table, text, column), guess)
    good = outcome.members(table)
    if not groups:
        attributes = roles.protected_candidates(table, column)
        talk(f"Likely protected attributes: {', '.join(attributes[: roles.MOST_SHOWN]) or 'none'}")
        question = "Which columns are protected? (separated by commas)"
        groups = _ask(question, partial(_columns, table, outcome), attributes[0] if attributes else None)
    groups = [_deprived(table, group, good) for group in groups]
    if not is_all_given:
        outcome = _ask_for_outcome_word(outcome)
        groups = [_ask_for_group_words(table, group) for group in groups]
    return roles.GivenRoles(outcome, tuple(groups))


def _ask_for_outcome_word(outcome: "Group") -> "Group":
    """Return the outcome with what those are called who have the favourable one; "selected" is not kept."""
    from fairbench_cli.data.guess.roles import SELECTED

    favourable = f"{outcome.column} = {outcome.levels[0]}"
    question = f"Who has {favourable} is …? (a word for answers, such as hired or approved)"
    word = _ask(question, str.strip, SELECTED)
    if word == SELECTED:
        return outcome
    return replace(outcome, called=word)


def _ask_for_group_words(table: "RawCells", group: "Group") -> "Group":
    """Return a protected attribute with what people call its two groups; its own values are not kept."""
    from fairbench_cli.data.guess.roles import guess_called

    words = []
    values = []
    for levels in (group.levels, group.other_levels(table)):
        question = f"What do people call those with {group.column} = {', '.join(levels)}? (in the plural)"
        words.append(_ask(question, str.strip, guess_called(levels)))
        values.append(" or ".join(levels))
    if words == values:
        return group
    return replace(group, called=words[0], others_called=words[1])


def _columns(table: "RawCells", outcome: "Group", text: str) -> "list[Group]":
    """Return the protected attributes that an answer names; their groups may still be missing."""
    from fairbench_cli.data.guess import roles

    groups = [roles.parse_group(text, table, "") for text in text.split(",") if text.strip()]
    problems = roles.find_clashes(outcome, groups)
    if problems or not groups:
        raise UserError(*problems or [Problem("no column is named", "name at least one")])
    return groups


def _deprived(table: "RawCells", group: "Group", good: "Mask") -> "Group":
    """Return a protected attribute with its deprived group, asked for if it is missing."""
    from fairbench_cli.data.guess import roles

    name = group.column
    if group.levels:
        return group
    talk(f"{name}: {roles.describe_shares(table, name, good)}")
    question = f"Who is deprived by {name}? (values separated by commas; of numbers a side, such as <25)"
    return _ask(question, lambda text: roles.parse_levels(text, name, table, ""), None)


def _ask(question: str, read: Callable[[str], T], default: str | None) -> T:
    """Return the answer to a question, asked until it can be read."""
    while True:
        answer = typer.prompt(question, default=default, err=True)
        try:
            return read(str(answer))
        except UserError as error:
            talk(str(error))


def _look_at(data: Path) -> None:
    """Raise a mistake where there is no table."""
    if not data.is_file():
        if data.is_dir():
            problem = f"{data} is a folder"
        else:
            problem = f"no such file: {data}"
        raise user_error(problem, "check the path")
    if data.suffix in (".yaml", ".yml"):
        raise user_error(f"{data} is not a table", "give the data file")


def _refuse(data: Path, card: Path, config: Path, *, force: bool) -> None:
    """Raise a mistake where a file would be lost."""
    if format_path(_relative(data, card)) != _relative(data, card):
        problem = f"the name of {format_path(data)} is not UTF-8, so that no card can hold it"
        raise user_error(problem, "rename the file, or its folder")
    for path, flag in ((card, "--card"), (config, "--config")):
        if path.resolve() == data.resolve():
            raise user_error(f"{path} is the data file", f"name another file with {flag}")
        if path.suffix not in (".yaml", ".yml"):
            raise user_error(f"{path} must end in .yaml", "give it that ending", flag)
        if path.exists() and not force:
            raise user_error(f"{path} already exists", f"name another file with {flag}, or add --force")


def _checked_encoding(name: str | None) -> str | None:
    """Return an encoding by a name that Python knows; refuse another."""
    if name is not None and not is_text_encoding(name):
        raise user_error(f"no encoding is called {format_value(name)}", f"write {ADVICE}", "--encoding")
    return name


def _separator(name: str | None) -> str | None:
    from fairbench_cli.data.guess.read_raw import SEPARATOR_NAMES

    separator = SEPARATOR_NAMES.get(name or "", name)
    if separator is not None and len(separator) != 1:
        raise user_error(
            f'"{name}" is not one character', f"write one, or: {', '.join(SEPARATOR_NAMES)}", "--separator"
        )
    return separator


def _name(stem: str) -> str:
    """Return a name for a card and its results.

    >>> _name("German credit (1)")
    'German-credit-1'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._") or "data"


def _relative(target: Path, file: Path) -> str:
    """Return how a file names another: relative to its own folder, unless that is far away."""
    path = Path(os.path.relpath(target.resolve(), file.parent.resolve())).as_posix()
    if path.startswith("../../"):
        return target.resolve().as_posix()
    if path.startswith("../") or target.suffix not in (".yaml", ".yml"):
        return path
    return f"./{path}"


def _say_layout(data: Path, table: "RawCells", *, with_values: bool) -> None:
    from fairbench_cli.data.guess.read_raw import SEPARATOR_NAMES

    cells = table.cells
    layout = table.layout
    name_of = {separator: name for name, separator in SEPARATOR_NAMES.items()}
    cut = f"cells separated by {name_of.get(layout.separator, layout.separator)}"
    kind = {"csv": cut, "arff": "ARFF", "parquet": "Parquet"}[layout.format]
    header_note = ""
    if not layout.header:
        how = "named by --columns"
        if "column1" in cells:
            how = "name the columns with --columns a,b,c"
        header_note = f"; no header: {how}"
    talk(f"{data}: {len(cells):,} rows, {cells.shape[1]} columns, {kind}{header_note}")
    if with_values:
        rows = [[str(name), _preview(cells[name])] for name in cells.columns]
        print_table(plain_table("", ["column", "values"], rows, 2))


def _preview(cells: "pd.Series[str]", most: int = 5) -> str:
    values = list(dict.fromkeys(cells))
    return ", ".join(value or '""' for value in values[:most]) + (
        f", … ({len(values)})" if len(values) > most else ""
    )


def _say_columns(guessed: "Guessed") -> None:
    from fairbench_cli.data.guess.card import format_yaml

    rows = []
    for column in guessed.columns:
        cut = ""
        if "bins" in column.entry:
            cut = f" in bins, {format_yaml(column.entry['bins'])[1:-1]}"
        rows.append([column.name, f"{column.entry['kind']}{cut}", column.why])
    print_table(plain_table("", ["column", "taken as", "because"], rows, 3))


def _check(card: Path, config: Path) -> None:
    """Read what was written as a run will; raise what is wrong with it."""
    from fairbench_cli.data.load import load
    from fairbench_cli.data.locate import find_files
    from fairbench_cli.experiment.config.read import read_config

    read, files = find_files(str(card))
    dataset = load(read, files)
    for attribute in read.protected:
        dataset.roles(attribute)
    read_config(config)


def _largest_favoured(guessed: "Guessed", group: "Group") -> str:
    """Return the level of most of those who are not deprived."""
    return group.other_levels(guessed.table)[0]


def _next(guessed: "Guessed", card: Path, config: Path) -> list[str]:
    """Return the commands that come next."""
    attributes = [group.column for group in guessed.roles.attributes]
    rows = f"{guessed.name}-rows.csv"
    label = guessed.roles.label.column
    flags = []
    for name in attributes:
        flags += ["-a", name]
    for group in guessed.roles.attributes:
        flags += ["--ref", f"{group.column}={_largest_favoured(guessed, group)}"]
    commands = [
        ["fairbench", "data", "check", str(card)],
        ["fairbench", "run", str(config)],
        ["fairbench", "report", f"results/{guessed.name}", "-a", attributes[-1]],
        ["fairbench", "data", "export", str(card), "-o", rows],
        ["fairbench", "audit", rows, "--score", label, "--label", label] + flags,
    ]
    return [shlex.join(command) for command in commands]
