"""The metrics of an audit by name: the rates that groups are compared on, roll-ups, what may be requested.

Rates decide by τ on their ratio to the reference. Every other metric of counts may be requested by name. It
is computed of each group and its reference, as of a deprived and a favoured group. One rule says whether it
passes:

* a ratio (range 0 to ∞, ideal 1) passes from τ to 1/τ;
* a metric that is best inside its range passes within 1 − τ of its ideal, or (1 − τ) × the largest distance
  that its range has from it where that is smaller: at τ = 0.8 a difference passes from −0.2 to 0.2;
* one that is best at an end of its range passes within (1 − τ) × that range: an accuracy from 0.8 on;
* a p-value passes from 1 − confidence on.

Without an ideal, or of a range that does not end, it is shown and cannot decide. Nor can a measure of
dependence, which grows with the square of a gap: mutual information is .2 where one group is selected five
times as often as another, .12 against .6.
"""

import math
from collections.abc import Iterable
from typing import Literal

from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.number_measures import NUMBER_MEASURES
from fairbench_cli.measures.rates import RATES
from fairbench_cli.measures.significance import alpha_level

# The rates that are shown, those with counts over and under the bar; and those that groups are compared on in
# every audit, which predictions change.
SHOWN = tuple(name for name, rate in RATES.items() if rate.numerator)
COMPARED = tuple(name for name in SHOWN if RATES[name].needs_predictions)

# What the verdict looks at when nothing is named, as far as there are labels. Not the shares of all selected:
# these differ as soon as group sizes do. Of two rates that add up to 1, the one that is 0 at best.
DEFAULT = tuple(name for name in COMPARED if not RATES[name].of_all and RATES[name].ideal != 1)

# What the verdict on numbers looks at when nothing is named, as far as there are labels; and that on levels.
DEFAULT_OF_NUMBERS = ("mean", "mean-residual", "mae")
DEFAULT_OF_LEVELS = ("more",)
DEFAULTS_BY_OUTCOME = {
    "number": DEFAULT_OF_NUMBERS,
    "probability": ("mean-residual",),
    "ordinal": DEFAULT_OF_LEVELS,
}

# What the verdict looks at besides, where several classes are audited: shares of all of them in all groups.
WHOLE_TABLE = "whole-table"

# What is of all classes together, where several are audited: the share of rows of the right class.
RIGHT = "accuracy"

# By name, the rates that have to pass together.
ROLL_UPS: dict[str, tuple[str, ...]] = {
    "type-i-parity": ("fdr", "fpr"),
    "type-ii-parity": ("for", "fnr"),
    "equalised-odds-parity": ("fpr", "tpr"),
    "unsupervised-parity": ("selected-share", "selection-rate"),
    "supervised-parity": ("fdr", "fpr", "for", "fnr"),
}

# What to look at (Saleiro et al. 2018): who is wrongly picked when being picked hurts, wrongly left out when
# it helps.
INTERVENTIONS = {"punitive": ROLL_UPS["type-i-parity"], "assistive": ROLL_UPS["type-ii-parity"]}

# Whether the group with the higher (1) or the lower (-1) rate is harmed, where being selected hurts or helps.
# A rate that is not here harms nobody for certain.
HARMED: dict[str, dict[str, int]] = {
    "punitive": {
        **dict.fromkeys(("selection-rate", "selected-share", "fpr", "fdr", "tpr"), 1),
        **dict.fromkeys(("fnr", "tnr", "ppv"), -1),
    },
    "assistive": {
        **dict.fromkeys(("fnr", "for", "tnr"), 1),
        **dict.fromkeys(("selection-rate", "selected-share", "fpr", "tpr", "npv"), -1),
    },
}


def find_metric(name: str) -> Metric:
    """Return a metric of the registry, which is loaded where one is no rate to compare groups on."""
    from fairbench_cli.measures import registry

    return registry.find_metric(name)


def canonical(name: str) -> str:
    """Return the name that outputs use; for a rate that is not compared in every audit, that of its ratio.

    Raises
    ------
    KeyError
        When there is no such metric.

    Examples
    --------
    >>> canonical("pprev"), canonical("fpr"), canonical("base-rate"), canonical("type-i-parity")
    ('selection-rate', 'fpr', 'base-rate-ratio', 'type-i-parity')
    """
    if name in COMPARED or name in ROLL_UPS or name in NUMBER_MEASURES or name == WHOLE_TABLE:
        return name
    entry = find_metric(name)
    if entry.alias_of in RATES:
        rate = entry.alias_of
    else:
        rate = entry.name
    if rate in RATES and rate not in COMPARED:
        return f"{rate}-ratio"
    return rate


def kind(name: str) -> Literal["rate", "roll-up", "classes", "number", "counts", "rows"]:
    """Return the kind of a metric that was typed, which decides what an audit does with it.

    Groups are compared on a ``rate`` and a ``roll-up`` of rates; another metric of ``counts`` is computed
    when it is asked for; one that needs ``rows`` is not. A measure of a ``number`` is of outcomes that are
    compared as they are, and the whole table one of several ``classes``.

    Raises
    ------
    KeyError
        When there is no such metric.
    """
    canonical_name = canonical(name)
    if canonical_name in ROLL_UPS:
        return "roll-up"
    if canonical_name in NUMBER_MEASURES:
        return "number"
    if canonical_name == WHOLE_TABLE:
        return "classes"
    if canonical_name in COMPARED:
        return "rate"
    if find_metric(canonical_name).needs == "counts":
        return "counts"
    return "rows"


def is_metric(name: str) -> bool:
    """Return whether a metric or roll-up has this name.

    >>> is_metric("fpr"), is_metric("age")
    (True, False)
    """
    try:
        canonical(name)
    except KeyError:
        return False
    return True


def can_decide(name: str) -> bool:
    """Return whether a metric, by its canonical name, has a value from which it passes.

    >>> can_decide("fpr"), can_decide("tpr-difference"), can_decide("chi-squared")
    (True, True, False)
    >>> can_decide("mutual-information"), can_decide("chi-squared-p")
    (False, True)
    """
    if name in NUMBER_MEASURES:
        return NUMBER_MEASURES[name].has_margin
    return kind(name) in ("rate", "roll-up", "classes") or bounds(find_metric(name), 0.8, 0.95) is not None


def is_dependence(entry: Metric) -> bool:
    """Return whether a metric is a measure of dependence: about one rate, without a direction, no p-value."""
    return bool(entry.equal) and not entry.p_value


def has_tau(name: str) -> bool:
    """Return whether a tau, and not a confidence alone, says from which value a metric passes.

    >>> has_tau("fpr"), has_tau("tpr-difference"), has_tau("two-proportions-p"), has_tau("type-i-parity")
    (True, True, False, False)
    """
    canonical_name = canonical(name)
    return canonical_name in COMPARED or (
        canonical_name not in (*ROLL_UPS, *NUMBER_MEASURES, WHOLE_TABLE)
        and not find_metric(canonical_name).p_value
        and can_decide(canonical_name)
    )


def has_margin(name: str) -> bool:
    """Return whether a metric may pass by a margin: a rate by its difference, or a difference by itself.

    >>> [has_margin(name) for name in ("fpr", "tpr-difference", "tpr-ratio", "type-i-parity")]
    [True, True, False, False]
    """
    canonical_name = canonical(name)
    if canonical_name in (*ROLL_UPS, WHOLE_TABLE):
        return False
    if canonical_name in NUMBER_MEASURES:
        return NUMBER_MEASURES[canonical_name].has_margin
    return canonical_name in COMPARED or is_difference(find_metric(canonical_name))


def is_difference(entry: Metric) -> bool:
    """Return whether a metric that can decide says how far groups are apart: 0 where they are alike.

    >>> [is_difference(find_metric(name)) for name in ("tpr-difference", "fpr-spread", "fpr-of-group")]
    [True, True, False]
    """
    # A rate that is best at 0 is no distance of groups, though 0 is ideal.
    is_distance = entry.direction == "nearer" or bool(entry.farthest_of)
    return entry.ideal == 0 and is_distance and bounds(entry, 0.8, 0.95) is not None


def bounds(entry: Metric, tau: float, confidence: float) -> tuple[float, float] | None:
    """Return the lowest and the highest value with which a metric passes; None when it cannot decide.

    >>> bounds(find_metric("tpr-difference"), 0.75, 0.95)
    (-0.25, 0.25)
    >>> bounds(find_metric("selection-rate-ratio"), 0.5, 0.95)
    (0.5, 2.0)
    >>> bounds(find_metric("balanced-residuals"), 0.75, 0.95)  # of a range from -2 to 2
    (-0.25, 0.25)
    """
    if entry.p_value:
        return alpha_level(confidence), 1.0
    if entry.ideal is None or is_dependence(entry):
        return None
    if entry.ratio:
        return tau, 1 / tau
    reach = max(entry.high - entry.ideal, entry.ideal - entry.low)
    if not math.isfinite(reach):
        return None
    if entry.direction == "nearer":
        reach = min(reach, 1.0)
    return entry.ideal - (1 - tau) * reach, entry.ideal + (1 - tau) * reach


def defined(rates: Iterable[str], labelled: bool) -> tuple[str, ...]:
    """Return which of some rates can be computed, with labels or without.

    >>> defined(("fpr", "selection-rate"), labelled=False)
    ('selection-rate',)
    """
    return tuple(name for name in rates if labelled or not RATES[name].needs_labels)


def needs_labels(name: str) -> bool:
    """Return whether a metric or roll-up, by its canonical name, is undefined without labels."""
    if name in RATES:
        return RATES[name].needs_labels
    if name in NUMBER_MEASURES:
        return NUMBER_MEASURES[name].needs_truth
    if name == WHOLE_TABLE:
        return False
    if name in ROLL_UPS:
        return any(map(needs_labels, ROLL_UPS[name]))
    return find_metric(name).on != "both"
