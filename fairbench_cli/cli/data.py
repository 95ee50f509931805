"""``fairbench data``: cards and their files."""

import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairbench_cli.base.errors import Problem, UserError, format_value, refuse, suggest, user_error
from fairbench_cli.base.files import make_folder, write_text
from fairbench_cli.base.safe_text import format_percent
from fairbench_cli.cli.console import KEPT, fold, out, print_document, print_rows, print_text, say, talk
from fairbench_cli.cli.options import DataDir, output_file

if TYPE_CHECKING:
    from fairbench_cli.data.checks.check import TwoVersions
    from fairbench_cli.data.checks.rows import Finding

app = typer.Typer(no_args_is_help=True, help="Look at data sets, check, download and verify their files.")

_NAME = "A shipped data set, or the path of a card."
Name = Annotated[str, typer.Argument(help=_NAME, show_default=False)]
Names = Annotated[list[str], typer.Argument(metavar="NAME...", help=_NAME, show_default=False)]


@app.command("list")
def list_cards(data_dir: DataDir = None) -> None:
    """List the shipped data sets, their rows, and whether their files are here.

    Those with a network can be used without files; `data verify` says where files are.
    """
    from fairbench_cli.data.card import known_cards
    from fairbench_cli.data.locate import find_card_and_folders, find_file, has_network, locate_files

    rows = []
    for name in known_cards():
        card, folders = find_card_and_folders(name, data_dir)
        try:
            locate_files(card, folders)
            state = "here"
        except UserError:
            state = "not here"
            if all(find_file(file, folders) for file in card.files):
                state = "wrong file"
        people = ""
        if card.expected:
            people = f"{card.expected.rows:,}"
        network = "no"
        if has_network(card):
            network = "yes"
        protected = ", ".join(attribute for attribute, role in card.protected.items() if role.of is None)
        rows.append([name, card.title, protected, state, network, people])
    print_rows(["name", "title", "protected", "files", "network", "rows"], rows, n_right=1)


@app.command()
def show(
    name: Name,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            help="console, html, markdown, json; or croissant, metadata for other tools.",
            show_default="console, or by the ending of --output",
        ),
    ] = None,
    output: Annotated[Path | None, output_file("File to write: .html, .md or .json.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Print every row of every table.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Show a data set on one page: who is in it, gaps by group, traps, missing values, licence.

    Without its files, the figures are those of the shipped network.
    """
    from fairbench_cli.api.datasheet import croissant_of, datasheet
    from fairbench_cli.api.datasheet_page import ENDINGS, FORMATS, datasheet_document
    from fairbench_cli.audit.parts.part import View
    from fairbench_cli.audit.show.document import SHOWN
    from fairbench_cli.audit.show.tables import json_text
    from fairbench_cli.cli.activity import Activity

    kind = format_ or ("console" if output is None else ENDINGS.get(output.suffix.lower(), ""))
    if output is not None and kind in ("", "console"):
        problem = "the console is no file"
        if not kind:
            problem = f"no format is known for {format_value(str(output))}"
        raise user_error(problem, f"end its name in {', '.join(ENDINGS)}, or give --format", "--output")
    choices = ("console", *FORMATS, "croissant")
    if kind not in choices:
        raise user_error(f"no format is called {format_value(kind)}", suggest(kind, choices), "--format")
    with Activity(f"reading {name}"):
        if kind == "croissant":
            text = json_text(croissant_of(name, data_dir))
        else:
            sheet = datasheet(name, data_dir)
            text = ""
            if kind != "console":
                text = FORMATS[kind](sheet)
    if kind == "console":
        print_document(datasheet_document(sheet, View(None if everything else SHOWN, brief=True)))
        return
    if output is None:
        print_text(text, "json" if kind == "croissant" else kind)
        return
    make_folder(output.parent)
    write_text(output, text)
    talk(f"{output}: written")


@app.command()
def fetch(names: Names) -> None:
    """Download the files of data sets into the user's cache; resumable, verified by sha256."""
    from fairbench_cli.data.card import find_card, read_card
    from fairbench_cli.data.locate import fetch_files

    _for_each(names, lambda name: fetch_files(read_card(find_card(name)), talk))


@app.command()
def verify(
    names: Annotated[list[str] | None, typer.Argument(help="Data sets; all shipped ones by default.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Check that the files of data sets are there and are the official ones.

    Exit code 2 where one is not the official one, or missing though it can be downloaded.
    """
    from fairbench_cli.data.card import known_cards
    from fairbench_cli.data.locate import find_card_and_folders, find_file, locate_files

    to_fetch = []

    def verify_one(name: str) -> None:
        card, folders = find_card_and_folders(name, data_dir)
        files = card.every_file
        absent = [] if names else [file for file in files if not find_file(file, folders)]
        if absent:
            listed = ", ".join(file.name for file in absent)
            files = tuple(file for file in files if file not in absent)
            how = f"and without an address; see {card.source or card.where()}"
            if any(file.url for file in absent):
                to_fetch.append(name)
                how = f"`fairbench data fetch {name}`"
            say(f"{name}: {listed}: not here, {how}")
        located = locate_files(card, folders, files)
        for file, path in zip(files, located.paths, strict=True):
            checked = "no sha256 on the card"
            if file.sha256:
                checked = "sha256 as on the card"
            say(f"{name}: {path}: {checked}")

    _for_each(names or known_cards(), verify_one)
    if to_fetch:
        fix = "fetch them, or give their folder with --data-dir or $FAIRBENCH_DATA"
        raise user_error(f"files of {len(to_fetch)} data sets are not here", fix)


def _for_each(names: Iterable[str], do: Callable[[str], object]) -> None:
    """Do something with every data set, and raise what went wrong with any at the end."""
    problems: list[Problem] = []
    for name in names:
        try:
            do(name)
        except UserError as error:
            problems += error.problems
    refuse(dict.fromkeys(problems))


@app.command()
def export(
    name: Name,
    output: Annotated[Path, output_file("CSV file to write, - for standard output.")],
    data_dir: DataDir = None,
) -> None:
    """Write the rows that an experiment sees: every column's levels, the label as 1 (favourable) and 0."""
    from fairbench_cli.api.data import load

    dataset = load(name, data_dir=data_dir)
    frame = dataset.table.to_frame()
    label = dataset.card.label
    frame[label.column] = (frame[label.column] == label.favourable).to_numpy(int)
    text = frame.to_csv(index=False, lineterminator="\n")
    if str(output) == "-":
        out().file.write(text)
        return
    make_folder(output.parent)
    write_text(output, text)
    talk(f"{output}: {len(frame)} rows, {label.column} = 1 where it is {label.favourable}")


@app.command()
def check(
    name: Name,
    against: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Another version of the data: say whose rows it has lost."),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Look for traps in the data: leaks, repeated people, unknown outcomes, lost groups and more.

    Also: labels made by a rule, groups that fare better than the card says, values missing by group, small
    groups, codes that the code book does not explain, identifiers and copies. Traps that the card names are
    listed; others are warnings.

    Exit code 0: no warning; 1: warnings; 2: the data cannot be read.
    """
    from fairbench_cli.data.checks.check import check_rows, compare_versions
    from fairbench_cli.data.checks.rows import read_raw_rows
    from fairbench_cli.data.locate import find_files

    card, located = find_files(name, data_dir)
    raw = read_raw_rows(card, located)
    if against is not None:
        _print_versions(name, against, compare_versions(raw, read_raw_rows(*find_files(against, data_dir))))
        return
    checked = check_rows(raw)
    _print_warnings(checked.warnings)
    if checked.found_traps:
        say("Known traps, named on the card, with what shows them in [brackets]:")
    for trap, shown_by in checked.found_traps.items():
        evidence = [str(finding) for finding in shown_by[:3]]
        n_more = len(shown_by) - len(evidence)
        if n_more:
            evidence += [f"and {n_more} more"]
        fold(f"{trap.kind}: {trap.note.strip()} [{'; '.join(evidence)}]", indent="  ")
    if checked.left_out_leaks:
        rows = [
            [leak.column, leak.how, format_percent(leak.accuracy), format_percent(max(leak.explained, 0))]
            for leak in checked.left_out_leaks
        ]
        title = f"columns that give {card.label.column} away, and are left out"
        print_rows(["column", "by", "right alone", "entropy explained"], rows, n_right=2, title=title)
        say(f"Guessing is right on {format_percent(checked.guessing)} of rows.")
    for kind in dict.fromkeys(finding.kind for finding in checked.noted):
        names = [finding.column for finding in checked.noted if finding.kind == kind]
        fold(f"noted: {kind}: {', '.join(dict.fromkeys(names))}", indent="  ")
    if checked.missing:
        rows = [
            [missing.column, missing.becomes, f"{missing.cells:,}", format_percent(missing.share)]
            for missing in checked.missing
        ]
        print_rows(["column", "missing become", "cells", "of rows"], rows, n_right=2, title="missing values")
        lost = checked.rows_before - checked.rows
        label = card.label
        why = "unknown outcomes"
        if card.missing_rows == "drop" or not label.unknown:
            why = "missing values"
        share = format_percent(lost / checked.rows_before)
        say(f"Rows left out for {why}: {lost:,} of {checked.rows_before:,} ({share}).")
    number = len(checked.warnings)
    if not number:
        verdict = "no warning"
    elif number == 1:
        verdict = "1 warning"
    else:
        verdict = f"{number} warnings"
    columns = f"{checked.used} columns used, {checked.left_out} left out"
    say(f"{card.name}: {checked.rows:,} rows, {columns}: {verdict}")
    if number:
        raise typer.Exit(1)


def _print_warnings(warnings: "Iterable[Finding]") -> None:
    for warning in warnings:
        problem = f"{warning.where}: warning: {warning}"
        for line in (problem, f"  fix: {warning.fix}"):
            unbroken = line.replace(" %", f"{KEPT}%")
            folded = textwrap.fill(unbroken, out().width, subsequent_indent="  ", break_long_words=False)
            say(folded.replace(KEPT, " "))


def _print_versions(name_before: str, name_after: str, versions: "TwoVersions") -> None:
    """Print what became of the rows of a data set in another version; exit code 1 with warnings."""
    _print_warnings(versions.warnings)
    rows = []
    for group in versions.groups:
        name = f"{group.attribute} {group.group}".strip()
        row = [name, f"{group.before:,}", f"{group.after:,}", format_percent(group.kept_share)]
        row += [f"{group.rate_before:.3f}", f"{group.rate_after:.3f}"]
        rows.append(row)
    heads = ["group", "rows before", "after", "kept", "favourable before", "after"]
    print_rows(heads, rows, n_right=5, title=f"{name_before} (before) and {name_after} (after)")
    if versions.same is None:
        say("Their rows cannot be told apart by the columns that both have, so labels are not compared.")
    else:
        matched = versions.same
        fold(
            f"{matched.matched:,} rows occur exactly once in both, "
            f"matched by {', '.join(matched.key_columns)}; "
            f"{matched.changed:,} of them have another label."
        )
    if versions.warnings:
        raise typer.Exit(1)
