"""Who accepts another share of people than the model without a technique, and how far apart levels are."""

import math
from collections.abc import Callable, Sequence

from fairbench_cli.document.model import TableCell
from fairbench_cli.report.ledger.answer import RunSetting, TechniqueFinding
from fairbench_cli.report.show.metric_wording import MOST_NAMES, points, signed

Row = tuple[RunSetting, TechniqueFinding]
ABOUT = (
    " δ: the gap over the largest possible at that share; κ: accuracy beyond guessing at it; at the same "
    "share: by one threshold on the scores. Said where shares differ beyond chance and by more than the "
    "margin, a point unless the config says another; all else is as measured."
)


def share_columns(rows: Sequence[Row]) -> dict[str, Callable[[Row], TableCell]]:
    """Return by their heads how to write the cells of those columns that have something to say."""
    columns = {"accepts, %": ("differs", _share_cell), "largest gap of levels": ("lowest", _levels_cell)}
    return {
        head: write
        for head, (key, write) in columns.items()
        if any(finding.shares.get(key) for _, finding in rows)
    }


def _share_cell(row: Row) -> TableCell:
    shares = row[1].shares
    if not shares or not (row[1].is_baseline or shares["differs"]):
        return TableCell("")
    fine = f"δ {signed(shares['delta'], 2, '')}, κ {signed(shares['kappa'], 2, '')}"
    if not math.isnan(shares["gap_at_share"]):
        gap, accuracy = points(shares["gap_at_share"]), points(shares["accuracy_at_share"])
        fine = f"at the same share: gap {gap}, accuracy {accuracy}"
    return TableCell(points(shares["share"]), fine, shares["share"])


def _levels_cell(row: Row) -> TableCell:
    shares = row[1].shares
    if not shares.get("lowest"):
        return TableCell("")
    extremes = f"{shares['lowest']} against {shares['highest']}"
    return TableCell(points(shares["levels_gap"]), extremes, shares["levels_gap"])


def describe_shares(
    settings: Sequence[RunSetting], place_of: Callable[[RunSetting], str], *, brief: bool
) -> list[str]:
    """Return a line on who accepts another share in some settings, and one on each attribute of levels.

    Of each setting it is the technique with the largest number, of those first that the headline is about.

    Parameters
    ----------
    place_of : callable
        Names a setting.
    brief : bool
        For a console: of one setting, without what the words mean.
    """
    most = 1 if brief else MOST_NAMES
    clauses = []
    levels = []
    n_differing = 0
    for setting in sorted(settings, key=lambda setting: not setting.leading):
        ranked = _rank(setting, "differs", "share_difference")
        n_differing += len(ranked)
        clauses += [f"on {place_of(setting)} {_compare(setting, finding)}" for finding in ranked[:1]]
        for finding in _rank(setting, "lowest", "levels_gap")[:1]:
            before, after = (
                _levels_cell((setting, model)) for model in (setting.baseline or finding, finding)
            )
            was = f" ({before.fine})" if before.fine != after.fine else ""
            levels.append(
                f"{setting.compared} on {place_of(setting)}: largest gap in acceptance measured among "
                f"{finding.shares['levels']} levels {before.text}{was} → {after.text} points with "
                f"{finding.technique} ({after.fine})."
            )
    clauses = clauses[:most]
    if n_differing > len(clauses):
        clauses.append(f"{n_differing - len(clauses)} more in the full table")
    lines = [f"O{'; '.join(clauses)[1:]}.{'' if brief else ABOUT}"] if clauses else []
    return lines + levels[:most]


def _rank(setting: RunSetting, key: str, column: str) -> list[TechniqueFinding]:
    """Return those that there is something to say of, those first that the headline may be about."""
    findings = [
        finding for finding in setting.findings if finding.shares.get(key) and not finding.is_constant
    ]
    findings.sort(key=lambda finding: -abs(finding.shares[column]))
    return sorted(findings, key=lambda finding: finding.technique not in setting.leading)


def _compare(setting: RunSetting, finding: TechniqueFinding) -> str:
    """Return two shares, with gap and accuracy at the same one, else what the gap is of the possible one."""
    pair = ((setting.baseline_of(finding) or finding).shares, finding.shares)
    before, after = pair
    compared = "gap: {} instead of {} % of the largest possible at that share"
    compared = compared.format(points(after["delta"]), points(before["delta"]))
    if not math.isnan(after["gap_at_share"]):
        names = ("gap_at_share", "accuracy_at_share")
        gap, accuracy = (" → ".join(points(shares[name]) for shares in pair) for name in names)
        compared = f"at the same share: gap {gap}, accuracy {accuracy}"
    shares = f"{points(after['share'])} % instead of {points(before['share'])} %"
    return f"{finding.technique} accepts {shares} ({compared})"
