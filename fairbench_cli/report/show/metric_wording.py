"""How the numbers of a metric of fairness are said of two groups: points, times as often, or the number."""

import math
from dataclasses import dataclass
from typing import Literal

from fairbench_cli.experiment.config.config import POINT
from fairbench_cli.measures.literature_names import ALIASES
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.rates import EVENTS, RATES, predicate

_ALIASES = {alias.name: alias for alias in ALIASES}
_FORMS: dict[str, tuple[Literal["points", "times"], bool]] = {
    "-difference": ("points", True),
    "-ratio": ("times", True),
    "-spread": ("points", False),
    "-worst-ratio": ("times", False),
}
_RATED = {f"{rate}{ending}": (rate, *form) for rate in RATES for ending, form in _FORMS.items()}
NO_NUMBER = "–"
MOST_NAMES = 3  # in a clause


@dataclass(frozen=True)
class MetricWording:
    """How a metric is said.

    Parameters
    ----------
    name : str
        Of the metric.
    form : {"points", "times", "number"}
        A difference of rates in points, a ratio of rates, or neither: the number as it is.
    rate : str
        Which rate of a group, by its name in `RATES`; empty where it is not of one.
    is_signed : bool
        Whether the number says which group has the higher rate.
    is_reversed : bool
        Whether it is of the favoured group against the deprived one.
    shift : float
        What is added to a difference.
    ideal : float or None
        The best number.
    margin : float or None
        Below which change it is said not to change; None where that is never said.
    """

    name: str
    form: Literal["points", "times", "number"] = "number"
    rate: str = ""
    is_signed: bool = False
    is_reversed: bool = False
    shift: float = 0.0
    ideal: float | None = None
    margin: float | None = POINT

    def told_number(self, value: float) -> float:
        """Return the number of a sentence: the deprived group's rate less, or over, the favoured one's.

        A difference is in points; a number is as it is.
        """
        if self.form == "points":
            return (value - self.shift) * (-100 if self.is_reversed else 100)
        if self.form == "times" and self.is_reversed:
            if value <= 0:
                return math.inf
            return 1 / value
        return value

    def told_change(self, change: float) -> float:
        """Return the change that a sentence names, from a difference of two numbers, not of turned ratios."""
        return change * (100 if self.form == "points" else 1)

    @property
    def digits(self) -> int:
        """How many decimals are said."""
        return {"points": 1, "times": 2, "number": 3}[self.form]

    @property
    def unit(self) -> str:
        """What stands behind a number."""
        return {"points": " points", "times": " times", "number": ""}[self.form]

    @property
    def verb(self) -> str:
        """What a technique does to a gap that gets smaller."""
        if self.form == "points":
            return "cuts"
        return "narrows"

    @property
    def no_gap(self) -> str:
        """What there is where there is no gap."""
        if self.form == "times":
            return "equal"
        return "zero"

    @property
    def margin_text(self) -> str:
        """The margin as a sentence has it: "1 point", "0.02"; empty where there is none."""
        if self.margin is None:
            return ""
        if self.form != "points":
            return f"{self.margin:g}"
        n_points = f"{100 * self.margin:g}"
        if n_points == "1":
            return "1 point"
        return f"{n_points} points"

    def distance(self, value: float) -> float:
        """Return how far a value is from the ideal."""
        return abs(value - (self.ideal or 0.0))

    def format_pair(self, before: float, after: float, *, exact: bool) -> tuple[str, str]:
        """Write two numbers, in whole points where these are not small and tell them apart, unless `exact`.

        >>> from fairbench_cli.measures.registry import find_metric
        >>> wording = wording_of(find_metric("discrimination"))
        >>> wording.format_pair(0.158, 0.034, exact=False), wording.format_pair(0.034, 0.008, exact=False)
        (('16', '3'), ('3.4', '0.8'))
        """
        if self.form == "points" and not exact:
            sizes = abs(self.told_number(before)), abs(self.told_number(after))
            if min(sizes) >= 2 and round(sizes[0]) != round(sizes[1]):
                return str(round(sizes[0])), str(round(sizes[1]))
        return self.format(before), self.format(after)

    def format(self, value: float) -> str:
        """Write a number as `shown`, without a sign of differences: "15.8", "0.62"; `NO_NUMBER` for NaN."""
        said = self.told_number(value)
        if math.isnan(said):
            return NO_NUMBER
        return signed(abs(said) if self.form == "points" else said, self.digits, plus="")

    def format_with_unit(self, value: float) -> str:
        """Write a number with its unit: "15.8 points", "0.62 times"."""
        return self.format(value) + self.unit

    def side(self, value: float) -> int:
        """Return on which side of the ideal a number is, as it is said: -1, 0 where it rounds to it, or 1."""
        if self.ideal is None or (self.form == "points" and not self.is_signed):
            return 1
        said = float(f"{self.told_number(value):.{self.digits}f}")
        ideal = self.told_number(self.ideal)
        return (said > ideal) - (said < ideal)

    def describe_side(self, value: float) -> str:
        """Return " less often" or " more often" of a difference that has a sign, else nothing."""
        side = self.side(value)
        if self.form != "points" or not self.is_signed or not side:
            return ""
        if self.rate in EVENTS:
            return (" less often", " more often")[side > 0]
        return (" lower", " higher")[side > 0]

    def describe_gap(self, value: float, deprived: str, favoured: str, selected: str = "selected") -> str:
        """Write how the groups differ: "women are selected 15.8 points less often than men".

        `selected` is what people with the favourable outcome are called.

        >>> from fairbench_cli.measures.registry import find_metric
        >>> wording_of(find_metric("discrimination")).describe_gap(0.158, "women", "men")
        'women are selected 15.8 points less often than men'
        >>> wording_of(find_metric("discrimination")).describe_gap(0.158, "women", "men", "hired")
        'women are hired 15.8 points less often than men'
        >>> wording_of(find_metric("impact-ratio")).describe_gap(0.62, "women", "men")
        'women are selected 0.62 times as often as men'
        >>> wording_of(find_metric("equal-opportunity")).describe_gap(0.05, "women", "men")
        'the true positive rates of women and men are 5.0 points apart'
        >>> wording_of(find_metric("phi")).describe_gap(0.05, "women", "men")
        'of women against men, phi is 0.050'
        """
        number = self.format(value)
        label = ""
        if self.rate:
            label = RATES[self.rate].label
        event = ""
        if EVENTS.get(self.rate, ("",))[0]:
            event = predicate(self.rate).replace("selected", selected)
        if self.form == "points" and not self.is_signed:
            return f"the {label}s of {deprived} and {favoured} are {number} points apart"
        if self.form == "times" and not self.is_signed:
            return f"the lower {label} of {deprived} and {favoured} is {number} times the higher one"
        if self.form == "times":
            if event:
                return f"{deprived} {event} {number} times as often as {favoured}"
            return f"the {label} of {deprived} is {number} times that of {favoured}"
        if self.form == "number":
            return f"of {deprived} against {favoured}, {self.name} is {number}"
        side = self.side(value)
        if not event:
            way = "lower"
            if side > 0:
                way = "higher"
            return f"the {label} of {deprived} is {number} points {way} than that of {favoured}"
        if not side:
            return f"{deprived} {event} as often as {favoured} (0.0 points apart)"
        way = "less"
        if side > 0:
            way = "more"
        return f"{deprived} {event} {number} points {way} often than {favoured}"


def wording_of(metric: Metric, margin: float | None = POINT) -> MetricWording:
    """Return how a metric is said, by what its name stands for.

    Parameters
    ----------
    margin : float or None
        Below which change it is said not to change.

    >>> from fairbench_cli.measures.registry import find_metric
    >>> [wording_of(find_metric(name)).form for name in ("discrimination", "cv", "impact-ratio", "phi")]
    ['points', 'points', 'times', 'number']
    """
    name = metric.name
    turned = False
    shift = 0.0
    while name in _ALIASES and len(_ALIASES[name].metrics) == 1:
        alias = _ALIASES[name]
        if alias.how not in ("same", "swapped", "one plus"):
            break
        turned ^= alias.how == "swapped"
        shift += alias.how == "one plus"
        name = alias.metrics[0]
    if name not in _RATED:
        return MetricWording(metric.name, ideal=metric.ideal, margin=margin)
    rate, form, is_signed = _RATED[name]
    return MetricWording(metric.name, form, rate, is_signed, turned, shift, metric.ideal, margin)


def points(value: float) -> str:
    """Write a rate or a difference of rates in points, or per cent, to one decimal.

    >>> points(0.0814), points(-0.012)
    ('8.1', '−1.2')
    """
    return signed(100 * value, plus="")


def signed(value: float, digits: int = 1, plus: str = "+") -> str:
    """Write a number with its sign, a real minus, and no sign where it rounds to 0.

    >>> signed(-1.26), signed(0.04), signed(2), signed(-0.01, plus="")
    ('−1.3', '0.0', '+2.0', '0.0')
    """
    if math.isnan(value):
        return NO_NUMBER
    if math.isinf(value):
        if value > 0:
            return "∞"
        return "−∞"
    text = f"{abs(value):.{digits}f}"
    if not float(text):
        return text
    return ("−" if value < 0 else plus) + text
