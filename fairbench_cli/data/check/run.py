"""All checks of a card."""

from dataclasses import dataclass

from fairbench_cli.data.card import Card
from fairbench_cli.data.check.columns import column_findings
from fairbench_cli.data.check.finding import Finding, Leak
from fairbench_cli.data.check.groups import group_findings
from fairbench_cli.data.check.leaks import leaks
from fairbench_cli.data.check.rows import RawRows, raw_rows
from fairbench_cli.data.locate import Found


@dataclass(frozen=True)
class Checked:
    """What the checks of a card say.

    Parameters
    ----------
    rows, used, left_out : int
        How many rows, columns that the card uses (the label among them), and columns that it leaves out.
    guessing : float
        Accuracy of always predicting the commoner label.
    warnings : tuple of Finding
        Problems of columns that the card uses.
    left_out_leaks : tuple of Leak
        Columns that give the label away and that the card leaves out.
    """

    rows: int
    used: int
    left_out: int
    guessing: float
    warnings: tuple[Finding, ...]
    left_out_leaks: tuple[Leak, ...]


def check(card: Card, found: Found) -> Checked:
    """Look through every column of a card's files.

    Raises
    ------
    UserError
        When the files do not fit the card.
    """
    rows = raw_rows(card, found)
    rate = float(rows.favourable[rows.complete].mean())
    guessing = max(rate, 1 - rate)
    leaking = leaks(rows)
    used = len(rows.features) + 1
    return Checked(
        rows=int(rows.complete.sum()),
        used=used,
        left_out=rows.cells.shape[1] - used,
        guessing=guessing,
        warnings=(
            *(_warning(rows, leak, guessing) for leak in leaking if leak.used),
            *column_findings(rows),
            *group_findings(rows),
        ),
        left_out_leaks=tuple(leak for leak in leaking if not leak.used),
    )


def _warning(rows: RawRows, leak: Leak, guessing: float) -> Finding:
    return Finding(
        leak.column,
        f"gives {rows.card.label.column} away ({leak.how}): alone right on {leak.accuracy:.0%} "
        f"of rows, guessing on {guessing:.0%}",
        "drop it, unless it is known before the outcome",
        rows.card.where("columns", leak.column),
    )
