"""The text cells of a card's files: named, recoded, below each other, the rows that the card keeps."""

from pathlib import Path

import pandas as pd

from fairbench_cli.data.card import Card
from fairbench_cli.data.files import Cells, read_cells
from fairbench_cli.data.locate import Found
from fairbench_cli.errors import Problem, UserError, suggest, user_error
from fairbench_cli.strict_yaml import Place

Part = tuple[Path, Cells]


def all_columns(card: Card, found: Found) -> pd.DataFrame:
    """Return the text cells of every column of the files, recoded, in the rows that the card keeps.

    Raises
    ------
    UserError
        When the files do not fit the card.
    """
    return read_parts(card, found)[1]


def read_parts(card: Card, found: Found) -> tuple[list[Part], pd.DataFrame]:
    """Return the files of a card one by one, and below each other as `all_columns`."""
    parts = [(path, _named(card, path, _read(card, path))) for path in found.paths]
    return parts, _kept(card, _joined(card, parts))


def _read(card: Card, path: Path) -> Cells:
    return read_cells(path, card.format, header=card.header, separator=card.separator, comment=card.comment)


def _named(card: Card, path: Path, cells: Cells) -> Cells:
    """Name the columns of a file without header, and see that every column that is used has one name."""
    frame = cells.frame
    if not card.header and card.format == "csv":
        if len(frame.columns) != len(card.columns):
            raise user_error(
                f"the file has {len(frame.columns)} columns, but the card names {len(card.columns)}",
                "without a header, the card must name every column in file order",
                str(path),
            )
        frame = frame.set_axis(list(card.columns), axis=1)
    repeated = frame.columns.duplicated()
    used = {name for name in frame.columns if not card.drops(name)} | set(card.keep)
    if "" in used:
        number = list(frame.columns).index("") + 1
        fix = "name it in the first line, or write other_columns: drop in the card"
        raise user_error(f"column {number} has no name", fix, f"{path}:1")
    for name in sorted(set(frame.columns[repeated]) & used):
        # COMPAS gives two columns twice; as long as they say the same, the name is clear.
        same = frame.loc[:, frame.columns == name]
        if not all(same.iloc[:, 0].equals(same.iloc[:, j]) for j in range(1, same.shape[1])):
            fix = "give every column a name of its own, or drop it in the card"
            raise user_error(f'two different columns are called "{name}"', fix, f"{path}:1")
    return Cells(frame.loc[:, ~repeated], cells.lines, cells.declared)


def _joined(card: Card, parts: list[Part]) -> pd.DataFrame:
    """Put the files below each other, recoded, and check that they have what the card names."""
    (first_path, first), *others = parts
    for path, part in others:
        differing = set(part.frame.columns) ^ set(first.frame.columns)
        if differing:
            what = f'column "{min(differing)}" is in one of {first_path.name} and {path.name} only'
            raise user_error(what, "give files with the same columns", str(path))
    frame = pd.concat([part.frame for _, part in parts], ignore_index=True)
    missing: dict[str, Place] = {}
    for name, place in card.mentions():
        if name not in frame.columns:
            missing.setdefault(name, place)
    if missing:
        files = " and ".join(path.name for path, _ in parts)
        known = list(frame.columns)
        one = "check `separator`: every row of the file is a single cell"
        raise UserError(
            *(
                Problem(
                    f'{files} has no column "{name}"',
                    suggest(name, known) if len(known) > 1 else one,
                    card.where(*place),
                )
                for name, place in missing.items()
            )
        )
    recoded = {
        name: frame[name].map(lambda cell, table=column.recode: table.get(cell, cell))
        for name, column in card.columns.items()
        if column.recode
    }
    return frame.assign(**recoded)


def _kept(card: Card, frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows that the card asks for."""
    problems = []
    for name, values in card.keep.items():
        present = set(frame[name].unique())
        problems += [
            Problem(
                f'value "{value}" of column "{name}" is not in the data',
                suggest(value, present),
                card.where("keep", name),
            )
            for value in values
            if value not in present
        ]
    if problems:
        raise UserError(*problems)
    for name, values in card.keep.items():
        frame = frame[frame[name].isin(values)]
    return frame
