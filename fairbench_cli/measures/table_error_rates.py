"""The entries of the error rates: by group, as differences, ratios, means and comparisons."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from fairbench_cli.measures import error_rates, group_accuracy, rates
from fairbench_cli.measures.entry import Measure

_error = partial(Measure, section="error rate")


@dataclass(frozen=True)
class _Rate:
    """A rate X(s) of one group.

    `more` says whether a higher rate means that people of the group are given more than they merit, which
    turns the difference. `good` is its best value. `friedler` marks those of Friedler et al. 2019.
    """

    name: str
    function: rates.Rate
    formula: str
    more: bool
    good: int
    nan: str
    friedler: bool = False


_LABEL, _PREDICTION = "group has no {} label", "group has no {} prediction"

_RATES = (
    _Rate(
        "accuracy", rates.group_accuracy, "P(ŷ=y|s)", more=True, good=1, nan="group is empty", friedler=True
    ),
    _Rate(
        "bcr",
        rates.group_bcr,
        "(TPR(s) + TNR(s)) / 2",
        more=True,
        good=1,
        nan="group has labels of one kind only",
        friedler=True,
    ),
    _Rate(
        "tpr", rates.true_positive_rate, "P(ŷ=+|y=+,s)", True, 1, _LABEL.format("favourable"), friedler=True
    ),
    _Rate(
        "tnr",
        rates.true_negative_rate,
        "P(ŷ=−|y=−,s)",
        False,
        1,
        _LABEL.format("unfavourable"),
        friedler=True,
    ),
    _Rate("fpr", rates.false_positive_rate, "P(ŷ=+|y=−,s)", True, 0, _LABEL.format("unfavourable")),
    _Rate("fnr", rates.false_negative_rate, "P(ŷ=−|y=+,s)", False, 0, _LABEL.format("favourable")),
    _Rate("fdr", rates.false_discovery_rate, "P(y=−|ŷ=+,s)", True, 0, _PREDICTION.format("favourable")),
    _Rate("for", rates.false_omission_rate, "P(y=+|ŷ=−,s)", False, 0, _PREDICTION.format("unfavourable")),
    _Rate("ppv", rates.positive_predictive_value, "P(y=+|ŷ=+,s)", False, 1, _PREDICTION.format("favourable")),
    _Rate(
        "npv", rates.negative_predictive_value, "P(y=−|ŷ=−,s)", True, 1, _PREDICTION.format("unfavourable")
    ),
)


def _of_rate(rate: _Rate) -> Iterator[Measure]:
    """Yield the entries of a rate."""
    x, nan = rate.name.upper() if rate.name != "accuracy" else "A", f"NaN when a {rate.nan}"
    meaning = f"{x}(s) = {rate.formula}"
    source = "Friedler et al. 2019" if rate.friedler else "common"
    of = partial(partial, rate=rate.function)
    difference, order = (
        (error_rates.favoured_over_deprived, f"{x}(ḡ) − {x}(g)")
        if rate.more
        else (error_rates.deprived_over_favoured, f"{x}(g) − {x}(ḡ)")
    )
    yield _error(f"{rate.name}-difference", of(difference), -1, 1, 0, f"{order}, {meaning}", "common", nan)
    yield _error(
        f"{rate.name}-ratio",
        of(error_rates.ratio),
        0,
        math.inf,
        1,
        f"{x}(g) / {x}(ḡ), {meaning}",
        source,
        f"{nan} or both rates are 0; infinite when only that of the favoured is 0",
    )
    for group, function, sign in (
        ("deprived", group_accuracy.of_deprived, "g"),
        ("favoured", group_accuracy.of_favoured, "ḡ"),
    ):
        yield _error(
            f"{rate.name}-of-{group}",
            of(function),
            0,
            1,
            rate.good,
            rate.formula.replace("s)", f"{sign})"),
            source,
            nan.replace("a group", f"the {group} group"),
        )
    if rate.friedler:
        yield _error(
            f"{rate.name}-mean-of-groups",
            of(group_accuracy.mean_of_groups),
            0,
            1,
            1,
            f"mean over the groups s of {rate.formula}",
            "Friedler et al. 2019 (sensitive-…)",
            nan,
        )
    if rate.friedler or rate.name in ("ppv", "npv"):
        yield _error(
            f"{rate.name}-comparison",
            of(group_accuracy.comparison),
            0,
            2,
            1,
            f"1 − ({x}(ḡ) − {x}(g)), {meaning}",
            "Friedler et al. 2019 (comparative-sensitive-…)",
            nan,
        )


ERROR_RATES = (
    _error(
        "overestimation",
        error_rates.overestimation,
        -1,
        1,
        0,
        "P(ŷ=+|ḡ,y=−) − P(ŷ=+|g,y=−)",
        "Cardoso et al. 2019, eq. 2",
        "NaN when a group has no unfavourable label",
    ),
    _error(
        "underestimation",
        error_rates.underestimation,
        -1,
        1,
        0,
        "P(ŷ=−|g,y=+) − P(ŷ=−|ḡ,y=+)",
        "Cardoso et al. 2019, eq. 3",
        "NaN when a group has no favourable label",
    ),
    _error(
        "equal-opportunity",
        error_rates.equal_opportunity,
        0,
        1,
        0,
        "|TPR(ḡ) − TPR(g)|",
        "Hardt et al. 2016",
        "NaN when a group has no favourable label",
    ),
    _error(
        "equalised-odds",
        error_rates.equalised_odds,
        0,
        1,
        0,
        "max(|TPR(ḡ) − TPR(g)|, |FPR(ḡ) − FPR(g)|)",
        "Hardt et al. 2016",
        "NaN when a group has labels of one kind only",
    ),
    _error(
        "calibration-positive",
        group_accuracy.calibration_positive,
        0,
        1,
        1,
        "mean over the groups s of P(y=+|ŷ=+,s)",
        "Friedler et al. 2019 (sensitive-calibration+)",
        "NaN when a group has no favourable prediction",
    ),
    _error(
        "calibration-negative",
        group_accuracy.calibration_negative,
        0,
        1,
        1,
        "mean over the groups s of P(y=−|ŷ=−,s)",
        "Friedler et al. 2019 (sensitive-calibration−, as in its text; its code stores 1 − that)",
        "NaN when a group has no unfavourable prediction",
    ),
    *(entry for rate in _RATES for entry in _of_rate(rate)),
)
