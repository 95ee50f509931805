"""What an audit does not decide, group by group, and about how many rows would."""

import math
from dataclasses import dataclass

from fairbench_cli.audit.judge.report import AttributeVerdict, Disparity, GroupRow, Report
from fairbench_cli.audit.show.format import about, thousands
from fairbench_cli.audit.show.layout import compared, named, of_attribute, place
from fairbench_cli.measures.rates import RATES

MOST_GROUPS = 6  # named in a sentence on what is open
MOST_ROWS = 1e9  # more are never had: the ratio is at a limit


@dataclass(frozen=True)
class OpenGroup:
    """A group with comparisons that are not decided.

    Parameters
    ----------
    group : str
    rows : int
        How many it has.
    metrics : tuple of str
        The rates that are not decided.
    compared : int
        On how many rates it is compared.
    least_needed, most_needed : float
        About how many rows of the group would decide the first and the last of them, were the reference's to
        grow alike and the rates to stay; NaN where that is not known of any, or of one.
    """

    group: str
    rows: int
    metrics: tuple[str, ...]
    compared: int
    least_needed: float
    most_needed: float


@dataclass(frozen=True)
class OpenAttribute:
    """What is not decided of an attribute, in words and by group; those with most open rates first."""

    model: str
    decision: str
    attribute: str
    groups: tuple[OpenGroup, ...]
    text: str


def open_attribute(verdict: AttributeVerdict, report: Report) -> OpenAttribute | None:
    """Return what is not decided of an attribute; None where all is."""
    rows = compared(verdict, report)
    sizes = {row.group: row for row in of_attribute(verdict, report)[1]}
    groups = []
    for group in dict.fromkeys(row.group for row in rows):
        mine = [row for row in rows if row.group == group]
        still = [row for row in mine if row.verdict == "undecided"]
        if still:
            needed = [_own_rows(row, sizes) for row in still]
            known = [value for value in needed if not math.isnan(value)]
            most = max(needed) if len(known) == len(needed) else math.nan
            groups.append(
                OpenGroup(
                    *(group, sizes[group].rows, tuple(row.metric for row in still), len(mine)),
                    *(min(known, default=math.nan), most),
                )
            )
    if not groups:
        return None
    groups.sort(key=lambda one: (-len(one.metrics) / one.compared, one.rows))
    where = f" ({place(verdict.model, verdict.decision, report.config.sliced_by)})" if report.several else ""
    parts = [_open_words(one, first=i == 0) for i, one in enumerate(groups[:MOST_GROUPS])]
    parts += [f"and {len(groups) - MOST_GROUPS} more groups"] if len(groups) > MOST_GROUPS else []
    text = f"{verdict.attribute}{where}: {'; '.join(parts)}."
    return OpenAttribute(*(verdict.model, verdict.decision, verdict.attribute), tuple(groups), text)


def _own_rows(row: Disparity, sizes: dict[str, GroupRow]) -> float:
    """Return about how many rows of the group itself would decide a comparison, rounded up; or NaN."""
    mine = sizes[row.group].rows
    whole = row.reference not in sizes  # everybody else
    both = sum(one.rows for one in sizes.values()) if whole else mine + sizes[row.reference].rows
    needed = row.rows_needed * mine / both if both else math.nan
    return about(needed) if needed <= MOST_ROWS else math.nan


def _open_words(one: OpenGroup, *, first: bool) -> str:
    """Return a group that is open: "Asian on 5 of 5 rates (31 rows; about 220 to 1,600 would decide)"."""
    rates = " rates" if first else ""
    if len(one.metrics) == one.compared == 1:
        on = ""
    elif one.compared == 1 or len(one.metrics) > 1:
        on = f" on {len(one.metrics)} of {one.compared}{rates}"
    else:
        on = f" on {RATES[one.metrics[0]].label}"
    if math.isnan(one.least_needed):
        needed = ""
    elif math.isnan(one.most_needed):
        needed = f"; {thousands(one.least_needed)} or more"
    else:
        same = one.least_needed == one.most_needed
        needed = f"; about {thousands(one.least_needed)}" + (
            "" if same else f" to {thousands(one.most_needed)}"
        )
    needed += " would decide" if needed and first else ""
    rows = " row" if one.rows == 1 else " rows"
    return f"{named(one.group)}{on} ({thousands(one.rows)}{rows}{needed})"
