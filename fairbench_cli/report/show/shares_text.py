"""Who accepts another share of people than the model without a technique, and how far apart levels are."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from fairbench_cli.document.model import TableCell
from fairbench_cli.report.ledger.answer import RunSetting, TechniqueFinding
from fairbench_cli.report.ledger.run_ledger import Record
from fairbench_cli.report.show.metric_wording import MOST_NAMES, points, signed

ABOUT = (
    " δ: the gap over the largest possible at that share; κ: accuracy beyond guessing at it; at the same "
    "share: by one threshold on the scores. Said where shares differ beyond chance and by more than the "
    "margin, a point unless the config says another; all else is as measured."
)


WriteCell = Callable[[tuple[RunSetting, TechniqueFinding]], TableCell]


def share_columns(findings: Iterable[TechniqueFinding]) -> dict[str, WriteCell]:
    """Return by their heads how to write the cells of those columns that have something to say."""
    findings = list(findings)
    columns: dict[str, WriteCell] = {}
    if any(finding.shares.get("differs") for finding in findings):
        columns["accepts, %"] = lambda row: _share_cell(row[1])
    if any(finding.shares.get("lowest") for finding in findings):
        columns["largest gap of levels"] = lambda row: _levels_cell(row[1])
    return columns


def _share_cell(finding: TechniqueFinding) -> TableCell:
    shares = finding.shares
    if not (finding.is_baseline or shares.get("differs")) or math.isnan(shares.get("share", math.nan)):
        return TableCell("")
    fine = f"δ {signed(shares['delta'], 2, '')}, κ {signed(shares['kappa'], 2, '')}"
    if not math.isnan(shares["gap_at_share"]):
        gap, accuracy = points(shares["gap_at_share"]), points(shares["accuracy_at_share"])
        fine = f"at the same share: gap {gap}, accuracy {accuracy}"
    return TableCell(points(shares["share"]), fine, shares["share"])


def _levels_cell(finding: TechniqueFinding) -> TableCell:
    shares = finding.shares
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
    lines = []
    n_told = 0
    for setting in sorted(settings, key=lambda setting: not setting.leading):
        told = [one for one in setting.findings if one.shares.get("differs") and not one.is_constant]
        n_told += len(told)
        for finding in sorted(told, key=partial(_rank, setting, "share_difference"))[:1]:
            before = (setting.baseline_of(finding) or finding).shares
            compared = _compare(before, finding.shares)
            clauses.append(f"on {place_of(setting)} {finding.technique} accepts {compared}")
        levelled = [one for one in setting.findings if one.shares.get("lowest")]
        for finding in sorted(levelled, key=partial(_rank, setting, "levels_gap"))[:1]:
            cells = [_levels_cell(setting.baseline_of(finding) or finding), _levels_cell(finding)]
            was = f" ({cells[0].fine})" if cells[0].fine != cells[1].fine else ""
            lines.append(
                f"{setting.compared} on {place_of(setting)}: largest gap in acceptance measured among "
                f"{finding.shares['levels']} levels {cells[0].text}{was} → {cells[1].text} points with "
                f"{finding.technique} ({cells[1].fine})."
            )
    clauses = clauses[:most]
    if n_told > len(clauses):
        clauses.append(f"{n_told - len(clauses)} more in the full table")
    if not clauses:
        return lines[:most]
    about = "" if brief else ABOUT
    return [f"O{'; '.join(clauses)[1:]}.{about}", *lines[:most]]


def _rank(setting: RunSetting, column: str, finding: TechniqueFinding) -> tuple[bool, float]:
    """Return where a finding stands: those that the headline may be about, then those that change most."""
    return finding.technique not in setting.leading, -abs(finding.shares[column])


def _compare(before: Record, after: Record) -> str:
    """Return two shares, with gap and accuracy at the same one, else what the gap is of the possible one."""
    share, delta, gap, accuracy = (
        (points(before[name]), points(after[name]))
        for name in ("share", "delta", "gap_at_share", "accuracy_at_share")
    )
    compared = f"of the largest gap possible at each share: {' → '.join(delta)} %"
    if not math.isnan(after["gap_at_share"]):
        compared = f"at the same share: gap {' → '.join(gap)}, accuracy {' → '.join(accuracy)}"
    return f"{share[1]} % instead of {share[0]} % ({compared})"
