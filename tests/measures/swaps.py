"""What becomes of the metrics of counts when the two groups, or the two outcomes, change places."""

from typing import Any, NamedTuple

from fairbench_cli.measures.comparisons import COMPARISONS
from fairbench_cli.measures.literature_names import ALIASES, Alias
from fairbench_cli.measures.metric import OF_LABELS
from fairbench_cli.measures.rates import RATES
from fairbench_cli.measures.registry import COUNT_METRICS, METRICS


class Swap(NamedTuple):
    """What a swap does to a metric: its value becomes that of `other` (itself if empty), changed.

    ``mirrored`` is low + high − value, so −x for a difference and 1 − x for a share; ``inverted`` is 1/value.
    """

    other: str = ""
    change: str = "same"


Both = tuple[Swap | None, Swap | None]
"""Of the groups, and of the outcomes; None where no metric has that value."""

MIRRORED, INVERTED, SAME = Swap(change="mirrored"), Swap(change="inverted"), Swap()

# What a rate becomes when the outcomes are swapped; any other one minus itself.
MIRRORS = {
    "fpr": "fnr",
    "fnr": "fpr",
    "fdr": "for",
    "for": "fdr",
    "tpr": "tnr",
    "tnr": "tpr",
    "ppv": "npv",
    "npv": "ppv",
    **{name: name for name in ("accuracy", "bcr", "group-share")},
}

# What becomes of a comparison when the groups are swapped; of any other nothing.
COMPARED = {
    **dict.fromkeys(("difference", "farthest-difference", "mean-difference", "z"), MIRRORED),
    **dict.fromkeys(("ratio", "farthest-ratio", "mean-ratio"), INVERTED),
    "of-group": Swap("of-reference"),
    "of-reference": Swap("of-group"),
}

FUNCTIONS: dict[str, Both] = {
    **dict.fromkeys(("kappa", "mcc", "mutual-information", "one-class-accuracy"), (SAME, SAME)),
    **dict.fromkeys(("eta-neutrality", "difference-of-means-p", "chi-squared"), (SAME, SAME)),
    **dict.fromkeys(("chi-squared-p", "mann-whitney-p"), (SAME, SAME)),
    **dict.fromkeys(("normalised-discrimination", "phi", "auc-between-groups"), (MIRRORED, MIRRORED)),
    **dict.fromkeys(("balanced-residuals", "difference-of-means-t"), (MIRRORED, MIRRORED)),
    "f1": (SAME, None),
    "elift": (Swap("elift-as-printed"), None),
    "elift-as-printed": (Swap("elift"), None),
    "odds-ratio": (INVERTED, INVERTED),
}


def _of_rate(rate: str, comparison: str = "") -> Swap | None:
    """Return what swapping the outcomes does to a rate, or to a comparison of it."""
    if MIRRORS.get(rate) == rate:
        return SAME
    if rate in MIRRORS:
        return Swap(f"{MIRRORS[rate]}-{comparison}" if comparison else MIRRORS[rate])
    if RATES[rate].of_all:
        return None  # the share of the refused has no name
    # The rate becomes one minus itself.
    if comparison in ("spread", "p"):
        return SAME
    return None if comparison.endswith("ratio") else MIRRORED


def _of_groups(alias: Alias, known: dict[str, Both]) -> Swap | None:
    """Return what swapping the groups does, where it does one thing to all or makes each part another."""
    changes = {known[name][0] for name in alias.metrics}
    others = {Swap(name) for name in alias.metrics}
    return changes.pop() if len(changes) == 1 else SAME if changes == others else None


def _of_outcomes(alias: Alias, known: dict[str, Both]) -> Swap | None:
    """Return what swapping the outcomes does, where it follows from what it does to the one definition."""
    if alias.name == "average-odds-difference":
        return MIRRORED  # TPR becomes TNR = 1 − FPR, and FPR becomes FNR = 1 − TPR
    if alias.how == "largest of":
        return SAME  # for the same reason
    swap = known[alias.metrics[0]][1]
    if len(alias.metrics) > 1 or swap is None or not swap.other:
        return None if len(alias.metrics) > 1 else swap
    if alias.how == "one plus":
        return None  # one plus another difference has no name
    # Of the other metric with the groups swapped, which is a change of it.
    again: Any = known[swap.other][0]
    return swap if alias.how == "same" else again and Swap(swap.other, again.change)


def _swaps() -> dict[str, Both]:
    found: dict[str, Both] = {rate: (SAME, _of_rate(rate)) for rate in RATES}
    for rate in RATES:
        for name in COMPARISONS:
            swap = COMPARED.get(name, SAME)
            own = Swap(f"{rate}-{swap.other}" if swap.other else "", swap.change)
            found[f"{rate}-{name}"] = own, _of_rate(rate, name)
    found |= FUNCTIONS
    found |= {alias.name: (_of_groups(alias, found), _of_outcomes(alias, found)) for alias in ALIASES}
    found |= {f"{name}-weighted": both for name, both in found.items() if f"{name}-weighted" in METRICS}
    found |= {f"{name}{OF_LABELS}": (_labels(one), _labels(two)) for name, (one, two) in found.items()}
    return {name: found.get(name, (None, None)) for name in COUNT_METRICS}


def _labels(swap: Swap | None) -> Swap | None:
    return swap._replace(other=swap.other + OF_LABELS) if swap and swap.other else swap


SWAPS = _swaps()
"""What a swap of the groups, and of the outcomes, does to every metric of counts."""
