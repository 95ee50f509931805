"""The absolute measures of the literature, for each group beside its reference."""

import numpy as np

from fairbench_cli.audit.config import AuditConfig as Spec
from fairbench_cli.audit.judge.references import REST, REST_NAME, references
from fairbench_cli.audit.judge.result import Contrast
from fairbench_cli.audit.read.tally import Slice
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.registry import measure

UNSUPERVISED = (
    "discrimination",
    "normalised-discrimination",
    "impact-ratio",
    "likelihood-ratio",
    "elift",
    "odds-ratio",
    "mutual-information",
    "phi",
    "auc-between-groups",
)
SUPERVISED = (*UNSUPERVISED, "overestimation", "underestimation")


def contrasts(part: Slice, spec: Spec) -> list[Contrast]:
    """Compute the measures of every group but the reference, which is that of the selection rate.

    The group is taken for the deprived one, and decision 1 for the favourable one: where being picked hurts,
    read the signs the other way.
    """
    others, reference, both = pairs(part, spec, part.counts.n)
    values = {name: measure(name, both) for name in (SUPERVISED if part.labelled else UNSUPERVISED)}
    return [
        Contrast(
            part.model,
            part.decision,
            part.attribute,
            part.counts.groups[g],
            reference,
            {name: float(by_group[i]) for name, by_group in values.items()},
        )
        for i, g in enumerate(others)
    ]


def pairs(part: Slice, spec: Spec, n: Floats) -> tuple[list[int], str, Counts]:
    """Set every group but the reference beside it, that of the selection rate.

    Returns
    -------
    tuple of list of int, str and Counts
        The groups, the name of the reference, and counts of shape (groups, 2, 2, 2) taken from `n`.
    """
    groups = part.counts.groups
    at = int(references(part, ("pprev",), spec)[0])
    others = [g for g in range(len(groups)) if g != at]
    favoured = n.sum(0) - n[others] if at == REST else np.broadcast_to(n[at], n[others].shape)
    both = Counts(("group", "reference"), np.stack([n[others], favoured], axis=1))
    return others, REST_NAME if at == REST else groups[at], both
