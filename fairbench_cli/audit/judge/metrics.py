"""The group metrics of an audit: each a quotient of two sums of counts, so that both parts stay exact."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairbench_cli.measures.counts import Floats

CELLS = ("tn", "fp", "fn", "tp")  # Counts.n[..., group, label, prediction], flattened
_EVERYBODY = CELLS


@dataclass(frozen=True)
class Metric:
    """What there is to know about a group metric.

    Parameters
    ----------
    name, label, formula : str
        As written in commands, as read by people, as computed.
    above, below : tuple of cell names
        What is summed over and under the bar. A sum of nothing under the bar gives NaN.
    needs_label : bool
        Whether it is undefined without labels.
    higher : {"better", "worse", "neither"}
        What a higher value means for a model; not whether it helps or hurts the people in the group.
    parity : bool
        Whether groups are compared on it.
    complement : str
        The metric that is one minus this one; both share one test.
    of_all : bool
        Whether the sum below goes over all groups.
    """

    name: str
    label: str
    formula: str
    above: tuple[str, ...]
    below: tuple[str, ...]
    needs_label: bool = True
    higher: Literal["better", "worse", "neither"] = "neither"
    parity: bool = True
    complement: str = ""
    of_all: bool = False


_SELECTED, _REFUSED = ("tp", "fp"), ("tn", "fn")
_POSITIVE, _NEGATIVE = ("tp", "fn"), ("tn", "fp")

AUDIT_METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("pprev", "selection rate", "PP / size", _SELECTED, _EVERYBODY, needs_label=False),
        Metric(
            "ppr",
            "share of all selected",
            "PP / PP of all groups",
            _SELECTED,
            _SELECTED,
            needs_label=False,
            of_all=True,
        ),
        Metric(
            "fpr", "false positive rate", "FP / (FP + TN)", ("fp",), _NEGATIVE, True, "worse", True, "tnr"
        ),
        Metric(
            "fnr", "false negative rate", "FN / (FN + TP)", ("fn",), _POSITIVE, True, "worse", True, "tpr"
        ),
        Metric(
            "fdr", "false discovery rate", "FP / PP", ("fp",), _SELECTED, True, "worse", True, "precision"
        ),
        Metric("for", "false omission rate", "FN / PN", ("fn",), _REFUSED, True, "worse", True, "npv"),
        Metric(
            "tpr", "true positive rate", "TP / (TP + FN)", ("tp",), _POSITIVE, True, "better", True, "fnr"
        ),
        Metric(
            "tnr", "true negative rate", "TN / (TN + FP)", ("tn",), _NEGATIVE, True, "better", True, "fpr"
        ),
        Metric("precision", "precision", "TP / PP", ("tp",), _SELECTED, True, "better", True, "fdr"),
        Metric("npv", "negative predictive value", "TN / PN", ("tn",), _REFUSED, True, "better", True, "for"),
        Metric("accuracy", "accuracy", "(TP + TN) / size", ("tp", "tn"), _EVERYBODY, True, "better"),
        Metric("prev", "base rate", "(TP + FN) / size", _POSITIVE, _EVERYBODY, parity=False),
        Metric(
            "share",
            "share of all rows",
            "size / size of all groups",
            _EVERYBODY,
            _EVERYBODY,
            needs_label=False,
            parity=False,
            of_all=True,
        ),
    )
}


def metric_names(labelled: bool, parity: bool = False) -> tuple[str, ...]:
    """Names of the metrics that are defined with or without labels, all or those that groups are compared on.

    >>> metric_names(labelled=False, parity=True)
    ('pprev', 'ppr')
    """
    return tuple(
        name
        for name, metric in AUDIT_METRICS.items()
        if (labelled or not metric.needs_label) and (metric.parity or not parity)
    )


def parts(n: Floats, names: Sequence[str], everybody: Floats | None = None) -> tuple[Floats, Floats]:
    """Sum what stands over and under the bar of each metric.

    Parameters
    ----------
    n : array, shape (..., groups, 2, 2)
        As in `Counts`.
    names : sequence of str
        Of `AUDIT_METRICS`.
    everybody : array, shape (..., 2, 2), optional
        The counts of all groups, when `n` does not hold each group once.

    Returns
    -------
    tuple of two arrays, shape (..., groups, metrics)

    Examples
    --------
    >>> above, below = parts(np.array([[[5.0, 1], [2, 2]]]), ["fpr", "precision"])
    >>> above.tolist(), below.tolist()
    ([[1.0, 2.0]], [[6.0, 3.0]])
    """
    metrics = [AUDIT_METRICS[name] for name in names]
    cells = n.reshape(*n.shape[:-2], 4)
    all_cells = (n.sum(-3) if everybody is None else everybody).reshape(*n.shape[:-3], 1, 4)
    above = cells @ _chosen([metric.above for metric in metrics])
    chosen = _chosen([metric.below for metric in metrics])
    of_all = np.array([metric.of_all for metric in metrics])
    return above, np.where(of_all, all_cells @ chosen, cells @ chosen)


def _chosen(cells: Sequence[tuple[str, ...]]) -> Floats:
    """Matrix of cells × metrics: 1 where the metric sums the cell."""
    return np.array([[cell in chosen for chosen in cells] for cell in CELLS], dtype=np.float64)
