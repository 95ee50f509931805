"""The whole table of groups and classes: whether any class is more common in one group than in another.

It is one comparison of an attribute, in the family of those of its classes. It

* **fails** where Cohen's w is above the margin, and equal shares are rejected after Holm;
* **passes** where the upper limit of w is below the margin.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairbench_cli.audit.compare.family import family_rates, named_rates
from fairbench_cli.audit.compare.random_numbers import stream
from fairbench_cli.audit.compare.report import ALL, WHOLE_DECISION, Interval, Reason, WholeTable
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.metrics import WHOLE_TABLE
from fairbench_cli.audit.scan.slices import Slice
from fairbench_cli.base.grouping import group_by
from fairbench_cli.document.model import Verdict
from fairbench_cli.measures import classes
from fairbench_cli.measures.counts import Floats

OTHERS = "(others)"
ROUNDING = 1e-9  # part of all rows by which sums of weights may differ


@dataclass(frozen=True, eq=False)
class TestedTable:
    """The classes of an attribute under a model, and how they compare.

    Parameters
    ----------
    slices : tuple of Slice
        Of each class against the rest.
    indices : tuple of int
        Their places among all slices.
    counts : array, shape (groups, classes)
    compared : ClassComparison
    outside_p : float
        Of "w is not above the margin".
    decides, is_named : bool
        Whether the verdict or a gate depends on it, and whether a gate names it.
    """

    slices: tuple[Slice, ...]
    indices: tuple[int, ...]
    counts: Floats
    compared: classes.ClassComparison
    outside_p: float
    decides: bool
    is_named: bool

    @property
    def p(self) -> float:
        """Of equal shares; 1 where nothing can be tested, NaN where there is nothing to test."""
        if self.compared.degrees == 0:
            return math.nan
        if math.isnan(self.compared.p):
            return 1.0
        return self.compared.p


@dataclass(frozen=True)
class TableEvidence:
    """What is beyond chance in a whole table.

    Parameters
    ----------
    p_holm : float
        Adjusted p-value of equal shares.
    differs, is_outside : bool
        Whether shares differ, and whether w is above the margin.
    share : float
        The share of the level of the family that its test has; NaN of no test.
    """

    p_holm: float
    differs: bool
    is_outside: bool
    share: float


def compare_tables(
    slices: Sequence[Slice], deciding: Sequence[str], config: AuditConfig
) -> list[TestedTable]:
    """Return the whole table of each attribute under each model, in an audit of classes.

    Parameters
    ----------
    slices : sequence of Slice
        Without the groups that are left out.
    deciding : sequence of str
        The metrics that the verdict depends on.
    config : AuditConfig
        Its confidence and seed, and what a gate names.
    """
    tables = []
    of_classes = [(i, part) for i, part in enumerate(slices) if part.class_name is not None]
    slices_of_attribute = group_by(of_classes, lambda numbered: (numbered[1].model, numbered[1].attribute))
    for numbered in slices_of_attribute.values():
        of_attribute = tuple(slice_counts for _, slice_counts in numbered)
        counts = _stack_classes([slice_counts.counts.n for slice_counts in of_attribute])
        effective = _effective_rows(of_attribute, counts)
        rng = stream(config.seed, "classes", of_attribute[0].model, of_attribute[0].attribute)
        compared = classes.compare_classes(counts, rng, effective, confidence=config.confidence)
        rule = (of_attribute[0], (WHOLE_TABLE,), deciding, config)
        tables.append(
            TestedTable(
                of_attribute,
                tuple(i for i, _ in numbered),
                counts,
                compared,
                outside_p=compared.outside_p(),
                decides=bool(family_rates(*rule)),
                is_named=bool(named_rates(*rule)),
            )
        )
    return tables


def _effective_rows(slices: Sequence[Slice], counts: Floats) -> classes.EffectiveRows | None:
    """Return how many rows a table is worth; None where each is worth one."""
    squares = _stack_classes([slice_counts.squares for slice_counts in slices])
    if slices[0].shares_clusters:
        n_ways = len(slices[0].cluster_ways)
        ways = [_read_way(slices, i, has_others=counts.shape[1] > len(slices)) for i in range(n_ways)]
        return classes.crossed_rows(ways, counts, squares)
    if (squares == counts).all():
        return None
    return classes.weighted_rows(counts, squares)


def _read_way(slices: Sequence[Slice], way: int, *, has_others: bool) -> classes.ClusterCells:
    """Return the weights of each cluster in a table of groups × classes, by one kind of clusters."""
    of_classes = [slice_counts.cluster_ways[way] for slice_counts in slices]
    weights = [(j, clusters, clusters.n[:, :, 1].sum(1)) for j, clusters in enumerate(of_classes)]
    if has_others:  # what is of no class is all less what is of one
        weights += [(len(slices), clusters, -selected) for _, clusters, selected in weights]
        weights.append((len(slices), of_classes[0], of_classes[0].n.sum((1, 2))))
    return classes.ClusterCells(
        np.concatenate([clusters.person for _, clusters, _ in weights]).astype(np.intp),
        np.concatenate([clusters.group for _, clusters, _ in weights]).astype(np.intp),
        np.concatenate([np.full(len(weight), j, dtype=np.intp) for j, _, weight in weights]),
        np.concatenate([weight for _, _, weight in weights]),
    )


def _stack_classes(cells: Sequence[Floats]) -> Floats:
    """Return sums by group and class; what is of no class is a last one, if there is any."""
    columns = [class_cells[:, :, 1].sum(1) for class_cells in cells]
    total = cells[0].sum((1, 2))
    unlisted = total - np.sum(columns, axis=0)
    if unlisted.sum() > ROUNDING * total.sum():
        columns.append(np.maximum(unlisted, 0.0))
    table: Floats = np.stack(columns, axis=1).astype(np.float64)
    return table


def find_table_copies(
    tables: Sequence[TestedTable], copies: Sequence[Mapping[int, tuple[int, int]]]
) -> list[int | None]:
    """Return the earlier table that each is a copy of, given the copies of slices (`family.find_copies`)."""
    table_of = {index: i for i, table in enumerate(tables) for index in table.indices}
    originals: list[int | None] = []
    for table in tables:
        original_tables = {
            table_of[next(iter(copies[i].values()))[0]] if copies[i] else None for i in table.indices
        }
        originals.append(original_tables.pop() if len(original_tables) == 1 else None)
    return originals


def judge_tables(
    tables: Sequence[TestedTable], evidence: Sequence[TableEvidence], config: AuditConfig
) -> Iterator[WholeTable]:
    """Yield tables with their verdicts, by the rule and the confidence of a configuration."""
    for table, table_evidence in zip(tables, evidence, strict=True):
        compared = table.compared
        verdict, reason = _decide(compared, config, differs=table_evidence.differs)
        rows = int(table.slices[0].rows.sum())
        rows_for_verdict = math.nan
        if reason in ("chance", "wide"):
            level = config.alpha * (1.0 if math.isnan(table_evidence.share) else table_evidence.share)
            times = compared.rows_needed(level, confidence=config.confidence)
            rows_for_verdict = rows * times if times > 1 else math.nan
        names_of_classes = [slice_counts.class_name or "" for slice_counts in table.slices]
        if table.counts.shape[1] > len(names_of_classes):
            names_of_classes.append(OTHERS)
        yield WholeTable(
            table.slices[0].model,
            WHOLE_DECISION,
            table.slices[0].attribute,
            ALL,
            ALL,
            metric=WHOLE_TABLE,
            classes=tuple(names_of_classes),
            groups=table.slices[0].counts.groups,
            counts=table.counts,
            rows=rows,
            statistic=compared.statistic,
            degrees=compared.degrees,
            is_permuted=compared.is_permuted,
            w=Interval(compared.w, compared.low, compared.high),
            cramers_v=compared.cramers_v,
            p=compared.p,
            p_holm=math.nan if math.isnan(compared.p) else table_evidence.p_holm,
            margin=classes.SMALL_W,
            verdict=verdict,
            shown_outside=verdict == "fail" and table_evidence.is_outside,
            reason=reason,
            rows_needed=rows_for_verdict,
            deciding=table.decides,
        )


def _decide(
    compared: classes.ClassComparison, config: AuditConfig, *, differs: bool
) -> tuple[Verdict, Reason]:
    """Return the verdict on a table, and why it is not decided."""
    if math.isnan(compared.w):
        return "undecided", "no rows"
    is_large = compared.unbiased_w > classes.SMALL_W
    if config.rule == "point":
        return ("fail" if is_large else "pass"), ""
    if math.isnan(compared.p):
        return "undecided", "clusters"
    verdict = compared.verdict(differs)
    if verdict == "undecided":
        return verdict, ("chance" if is_large else "wide")
    return verdict, ""
