"""What differs by group so that it misleads: gaps, few rows."""

import math
from collections.abc import Iterator

from fairbench_cli.data.checks.rows import Finding, Mask, RawRows
from fairbench_cli.data.table import Roles

GAP = 0.05  # difference of the shares of missing values; the largest in Adult is .032
SURE = 3.0  # standard errors of that difference
FEW = 30  # rows; a rate among fewer has a 95 % interval of some ±.18


def group_findings(rows: RawRows) -> Iterator[Finding]:
    """Yield the columns whose values are missing by group, and the groups with few rows of a label.

    Missing is compared before rows are dropped for it (``missing_rows: drop``): dropping them takes more of
    one group than of the other. It must differ by 5 points and by 3 standard errors.
    """
    gaps = {name: rows.is_gap(name) for name in rows.features}
    for roles in rows.roles:
        sides = rows.sides(roles)
        for name, gap in gaps.items():
            if name not in (roles.attribute, *roles.of) and gap.any():
                yield from _missing(rows, name, gap, roles, sides)
        yield from _small(rows, roles, sides)


def _missing(
    rows: RawRows, name: str, gap: Mask, roles: Roles, sides: tuple[Mask, Mask]
) -> Iterator[Finding]:
    deprived, favoured = (float(gap[side].mean()) for side in sides)
    total = [int(side.sum()) for side in sides]
    pooled = float((gap[sides[0]].sum() + gap[sides[1]].sum()) / sum(total))
    error = math.sqrt(pooled * (1 - pooled) * (1 / total[0] + 1 / total[1]))
    if abs(deprived - favoured) >= max(GAP, SURE * error):
        shares = f"{deprived:.1%} of the deprived and {favoured:.1%} of the favoured"
        fix = "find out why: gaps reveal the group, and dropping their rows takes more of one group"
        where = rows.card.where("columns", name)
        yield Finding("gaps-by-group", name, f"is missing in {shares} ({roles.attribute})", fix, where)


def _small(rows: RawRows, roles: Roles, sides: tuple[Mask, Mask]) -> Iterator[Finding]:
    for group, side in zip(("deprived", "favoured"), sides, strict=True):
        for outcome, having in (("favourable", rows.favourable), ("unfavourable", ~rows.favourable)):
            count = int((side & having & rows.complete).sum())
            if count < FEW:
                what = f"has {count} {group} row{'' if count == 1 else 's'} with {outcome} {roles.label}"
                fix = f"below {FEW}, error rates of a group are guesses: merge levels or get more rows"
                yield Finding(
                    "few-rows", roles.attribute, what, fix, rows.card.where("protected", roles.attribute)
                )
