"""``fairbench data check``: what would spoil an experiment, before one is run."""

import textwrap
from typing import Annotated

import typer

from fairbench_cli.cli.options import DataDir


def check(
    name: Annotated[
        str, typer.Argument(help="A shipped data set, or the path of a card.", show_default=False)
    ],
    data_dir: DataDir = None,
) -> None:
    """Look for leaks, constant, duplicate and near-unique columns, gaps by group, small groups.

    Exit code 0: nothing found in the columns that the card uses; 1: warnings; 2: the data cannot be read.
    """
    from fairbench_cli.cli.console import out, print_rows, say
    from fairbench_cli.data.card import find_card, read_card
    from fairbench_cli.data.check.run import check as check_card
    from fairbench_cli.data.locate import folders, locate

    path = find_card(name)
    card = read_card(path)
    checked = check_card(card, locate(card, folders(data_dir, path)))
    for warning in checked.warnings:
        what = f'{warning.where}: warning: column "{warning.column}" {warning.what}'
        for line in (what, f"  fix: {warning.fix}"):
            say(textwrap.fill(line, out().width, subsequent_indent="  ", break_long_words=False))
    if checked.left_out_leaks:
        rows = [
            [leak.column, leak.how, f"{leak.accuracy:.0%}", f"{max(leak.told, 0):.0%}"]
            for leak in checked.left_out_leaks
        ]
        title = f"left out, rightly: columns that give {card.label.column} away"
        print_rows(["column", "by", "right alone", "entropy told"], rows, right=2, title=title)
        say(f"Guessing is right on {checked.guessing:.0%} of rows.")
    number = len(checked.warnings)
    verdict = "no warning" if not number else "1 warning" if number == 1 else f"{number} warnings"
    columns = f"{checked.used} columns used, {checked.left_out} left out"
    say(f"{card.name}: {checked.rows} rows, {columns}: {verdict}")
    if number:
        raise typer.Exit(1)
