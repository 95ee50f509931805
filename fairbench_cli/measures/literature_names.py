"""The literature's names of metrics, each defined by others; and those of Friedler et al.'s program.

The latter follow the edge rules of Friedler et al. (2019), to compare with their published numbers. Where a
rate is 0/0, a group is absent or a mean is 0 the program writes a constant, mostly the best value: as the
rules below say. Everywhere else in fairbench such a value is NaN, so these are no measures to judge a model
by. Each ends in ``-legacy``; those that end in ``-binary-legacy`` are over the deprived and the favoured
group, the others over all levels of the attribute.
"""

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal, cast

import numpy as np

from fairbench_cli.measures.counts import Counts, Floats, divide
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.rates import RATES, rate_by_group

Combination = Literal["same", "swapped", "one plus", "largest of", "smallest of", "mean of"]


@dataclass(frozen=True)
class Alias:
    """A name from the literature.

    Parameters
    ----------
    name, source : str
        As written, and who calls it so.
    metrics : tuple of str
        The metrics that define it.
    how : str
        What is made of their values. ``swapped``: of the reference against the group, so that a difference is
        favoured − deprived.
    usual : bool
        Whether papers and libraries report it so often that a list shows it first.
    """

    name: str
    source: str
    metrics: tuple[str, ...]
    how: Combination = "same"
    usual: bool = False

    @property
    def definition(self) -> str:
        """Return the definition in words."""
        listed = " and ".join(self.metrics)
        templates = {"same": "{}", "swapped": "{} with the groups swapped", "one plus": "1 + {}"}
        return templates.get(self.how, f"{self.how} {{}}").format(listed)


def _read_aliases() -> tuple[Alias, ...]:
    """Read ``literature_names.csv``: a name in a row, its metrics with blanks between them."""
    aliases = []
    text = Path(__file__).with_suffix(".csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        how = cast("Combination", row["how"])
        metrics = tuple(row["metrics"].split())
        aliases.append(Alias(row["name"], row["source"], metrics, how, usual=row["usual"] == "yes"))
    return tuple(aliases)


ALIASES = _read_aliases()

_COMBINE: dict[Combination, Callable[[Floats], Floats]] = {
    "same": lambda values: values[0],
    "swapped": lambda values: values[0],
    "one plus": lambda values: 1.0 + values[0],
    "largest of": lambda values: values.max(0),  # NaN when one is undefined
    "smallest of": lambda values: values.min(0),
    "mean of": lambda values: values.mean(0),
}


def alias_metric(alias: Alias, metrics: Mapping[str, Metric]) -> Metric:
    """Return an alias as a metric, given those that define it."""
    components = [metrics[name] for name in alias.metrics]
    first_metric = components[0]
    shift = alias.how == "one plus"
    return replace(
        first_metric,
        name=alias.name,
        function=partial(_value, alias, components),
        low=first_metric.low + shift,
        high=first_metric.high + shift,
        ideal=None if first_metric.ideal is None else first_metric.ideal + shift,
        source=alias.source,
        formula=_formula(alias, components),
        undefined=first_metric.undefined if len(components) == 1 else "NaN when one of them is",
        section="alias",
        alias_of=alias.definition,
        farthest_of=tuple(chain.from_iterable(component.farthest_of for component in components)),
        usual=alias.usual,
    )


def _value(alias: Alias, components: list[Metric], counts: Counts) -> Floats:
    if alias.how == "swapped":
        counts = counts.swapped
    return _COMBINE[alias.how](np.stack([component.function(counts) for component in components]))


def _formula(alias: Alias, components: list[Metric]) -> str:
    if len(components) > 1:
        return alias.definition
    text = components[0].formula
    if alias.how == "swapped":
        text = text.replace("X(g)", "X(§)").replace("X(r)", "X(g)").replace("X(§)", "X(r)")
    if alias.how == "one plus":
        return f"1 + {text}"
    return text


SUFFIX = "-legacy"

SOURCE = "the program of Friedler et al. 2019; for comparison with its published numbers alone"

# What the program takes for a rate that is 0/0, of a group that has rows.
WITHOUT_A_CASE = {"tpr": 0.0, "tnr": 1.0, "ppv": 1.0, "for": 1.0}

# The rates that the program compares, and what else it averages over groups, by the names of its measures.
COMPARED = ("accuracy", "tpr", "tnr")
SENSITIVE = dict(zip(COMPARED, COMPARED, strict=True)) | {
    "calibration-positive": "ppv",
    "calibration-negative-stored": "for",
}


def group_rates(counts: Counts, rate: str) -> Floats:
    """Return the rate of each group with rows, shape (..., groups), a constant where it is 0/0.

    No favourable labels: TPR 0, as for a model that finds none of many. No unfavourable labels: TNR 1. No
    favourable predictions: precision 1, so a model that selects nobody of a group is perfectly calibrated
    for it. No unfavourable ones: a false omission rate of 1, its worst value. NaN of a group without rows.

    >>> one = Counts(("g",), np.array([[[3.0, 1], [0, 0]]]))
    >>> [group_rates(one, rate).tolist() for rate in ("tpr", "tnr", "bcr")]
    [[0.0], [0.75], [0.375]]
    """
    if averaged := RATES[rate].mean_of:
        return np.asarray(np.mean([group_rates(counts, component) for component in averaged], axis=0))
    rates = rate_by_group(counts, rate)
    constant = np.where(counts.group_total > 0, WITHOUT_A_CASE.get(rate, np.nan), np.nan)
    return np.where(np.isnan(rates), constant, rates)


def quotient(above: Floats, below: Floats) -> Floats:
    """Return above / below, where 0/0 is 1 and x/0 is 0; NaN where one of them is.

    0/0 calls two groups of which nobody is selected equal. x/0 is infinite in truth: the most unfair to the
    reference is written as the most unfair to the other group, and a mean over repeats falls by it.

    >>> quotient(np.array([0.0, 0.2, 0.1]), np.array([0.0, 0.0, 0.4])).tolist()
    [1.0, 0.0, 0.25]
    """
    return np.where((below == 0) & ~np.isnan(above), np.where(above == 0, 1.0, 0.0), divide(above, below))


def mean_over_all(values: Floats) -> Floats:
    """Return the sum of the values that are there over the number of all groups; 1 where the sum is 0.

    A group without a value, of the test rows or of all, is left out above the bar and counted below, which
    lowers the mean by its share.
    A mean of 0, the worst value of a rate, is written as 1, the best.

    >>> mean_over_all(np.array([[0.8, 0.4, np.nan], [0.0, 0.0, 0.0]])).round(3).tolist()
    [0.4, 1.0]
    """
    total = np.nansum(values, axis=-1)
    return np.where(total == 0, 1.0, total / values.shape[-1])


def dibinary(counts: Counts) -> Floats:
    """Return P(ŷ=+|g) / P(ŷ=+|r); a group without rows has rate 0, 0/0 is 1 and x/0 is 0."""
    rates = np.nan_to_num(rate_by_group(counts.pair, "selection-rate"))
    return _nan_without_rows(counts, quotient(rates[..., 0], rates[..., 1]))


def diavgall(counts: Counts) -> Floats:
    """Return the mean of P(ŷ=+|s) / P(ŷ=+|r) over the other groups s with rows; a mean of 0 is 1.

    Where nobody is selected but in the reference every ratio is 0 and the mean is written as 1: the most
    unfair outcome scores as perfect.
    """
    reference = rate_by_group(counts.pair, "selection-rate")[..., 1]
    ratios = quotient(rate_by_group(counts, "selection-rate")[..., counts.outside], reference[..., None])
    total = np.nansum(ratios, axis=-1)
    n_defined = (~np.isnan(ratios)).sum(-1)
    return np.where(np.isnan(reference), np.nan, np.where(total == 0, 1.0, divide(total, n_defined)))


def overall_rate(counts: Counts, rate: str) -> Floats:
    """Return a rate over all rows, a constant where it is 0/0 as in `group_rates`."""
    return group_rates(counts.all_rows, rate)[..., 0]


def mean_of_group_rates(counts: Counts, rate: str) -> Floats:
    """Return the mean of X(s) over the groups s, as `mean_over_all` and `group_rates` say."""
    return _nan_without_rows(counts, mean_over_all(group_rates(counts, rate)))


def mean_comparison(counts: Counts, rate: str) -> Floats:
    """Return the mean of 1 − (X(r) − X(s)) over the other groups s, as `mean_over_all` and `group_rates` say.

    Where the reference has 1 and all others 0 the mean is 0, the most unfair, and is written as 1.
    """
    other_rates, reference = _other_and_reference_rates(counts, rate)
    return _nan_without_rows(counts, mean_over_all(1 - (reference - other_rates)))


def mean_ratio(counts: Counts, rate: str) -> Floats:
    """Return the mean of X(s) / X(r) over the other groups s, as `mean_over_all` and `quotient` say."""
    other_rates, reference = _other_and_reference_rates(counts, rate)
    return _nan_without_rows(counts, mean_over_all(quotient(other_rates, reference)))


def _other_and_reference_rates(counts: Counts, rate: str) -> tuple[Floats, Floats]:
    """Return the rates of the groups outside the reference, and that of the reference: a last axis of one."""
    return group_rates(counts, rate)[..., counts.outside], group_rates(counts.pair, rate)[..., 1:]


def _nan_without_rows(counts: Counts, values: Floats) -> Floats:
    return np.where(counts.total > 0, values, np.nan)


_ABSENT = "an absent group counts 0, a mean of 0 is 1"
_QUOTIENT = "0/0 is 1, x/0 is 0"


def _legacy_rules() -> dict[str, tuple[Callable[[Counts], Floats], str]]:
    """Return by the name of a measure its function and what it writes where the measure has no value."""
    of_rate = {rate: f"0/0 is {constant:g}" for rate, constant in WITHOUT_A_CASE.items()}
    of_mean = {rate: "; ".join(filter(None, (of_rate.get(rate), _ABSENT))) for rate in RATES}
    rules: dict[str, tuple[Callable[[Counts], Floats], str]] = {
        "tpr": (partial(overall_rate, rate="tpr"), of_rate["tpr"]),
        "tnr": (partial(overall_rate, rate="tnr"), of_rate["tnr"]),
        "bcr": (partial(overall_rate, rate="bcr"), "TPR 0/0 is 0, TNR 0/0 is 1"),
        "dibinary": (dibinary, f"an absent group has rate 0; {_QUOTIENT}"),
    }
    for end in ("", "-binary"):
        rules[f"diavgall{end}"] = diavgall, f"{_QUOTIENT}; a mean of 0 is 1"
        for name, rate in SENSITIVE.items():
            rules[f"sensitive-{name}{end}"] = partial(mean_of_group_rates, rate=rate), of_mean[rate]
        for rate in COMPARED:
            name = f"comparative-sensitive-{rate}"
            rules[name + end] = partial(mean_comparison, rate=rate), of_mean[rate]
            rules[f"{name}-ratio{end}"] = partial(mean_ratio, rate=rate), f"{_QUOTIENT}; {_ABSENT}"
    return rules


def legacy_metrics(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """Return every measure that has such rules, given the measures as they are elsewhere."""
    return {
        f"{name}{SUFFIX}": replace(
            metrics[name],
            name=f"{name}{SUFFIX}",
            function=function,
            source=SOURCE,
            undefined="NaN when there are no rows" + (" of the reference" if "diavgall" in name else ""),
            section="legacy",
            on="predictions",
            alias_of=f"{name}; {rule}",
            usual=False,
        )
        for name, (function, rule) in _legacy_rules().items()
    }
