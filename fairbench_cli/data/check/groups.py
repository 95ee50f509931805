"""Groups that miss more values than others, or are too few to tell anything of."""

import math
from collections.abc import Iterator

from fairbench_cli.data.check.finding import Finding
from fairbench_cli.data.check.rows import Mask, RawRows
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
        sides = [
            rows.cells[roles.attribute].isin(group).to_numpy() for group in (roles.deprived, roles.favoured)
        ]
        for name, gap in gaps.items():
            if name != roles.attribute and gap.any():
                yield from _missing(rows, name, gap, roles, sides)
        yield from _small(rows, roles, sides)


def _missing(rows: RawRows, name: str, gap: Mask, roles: Roles, sides: list[Mask]) -> Iterator[Finding]:
    deprived, favoured = (float(gap[side].mean()) for side in sides)
    total = [int(side.sum()) for side in sides]
    pooled = float((gap[sides[0]].sum() + gap[sides[1]].sum()) / sum(total))
    error = math.sqrt(pooled * (1 - pooled) * (1 / total[0] + 1 / total[1]))
    if abs(deprived - favoured) >= max(GAP, SURE * error):
        yield Finding(
            name,
            f"is missing in {deprived:.1%} of the deprived and {favoured:.1%} of the favoured "
            f"({roles.attribute})",
            "find out why: gaps tell the group, and dropping their rows takes more of one group",
            rows.card.where("columns", name),
        )


def _small(rows: RawRows, roles: Roles, sides: list[Mask]) -> Iterator[Finding]:
    favourable = rows.favourable
    label = roles.label
    for group, side in zip(("deprived", "favoured"), sides, strict=True):
        for outcome, having in (("favourable", favourable), ("unfavourable", ~favourable)):
            count = int((side & having & rows.complete).sum())
            if count < FEW:
                yield Finding(
                    roles.attribute,
                    f"has {count} {group} row{'' if count == 1 else 's'} with {outcome} {label}",
                    f"below {FEW}, error rates of a group are guesses: merge levels or get more rows",
                    rows.card.where("protected", roles.attribute),
                )
