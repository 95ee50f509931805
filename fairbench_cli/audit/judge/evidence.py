"""The rule of a verdict: what fails, what passes, and what the rows at hand cannot decide.

* **Fails**: the measured ratio lies outside τ, and equal rates are rejected after Holm over the family.
* **Passes**: Miettinen and Nurminen's interval of the ratio lies within τ.
* **Not decided**: anything else.

The family is all comparisons that the verdict, or a gate, depends on, in the whole audit; one that cannot be
tested counts with a p-value of 1. Where the reference was chosen by its rate, all pairs of groups are in it.
Rates that add up to 1 share one test. How often each verdict is wrong is simulated in docs/verdicts.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.judge.effective import Bools, RateRows, rate_rows
from fairbench_cli.audit.judge.references import Ints, chosen_by_rate
from fairbench_cli.audit.read.tally import Slice
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.rates import RATES
from fairbench_cli.measures.score_test import FEW_EXPECTED, equal_rates, expected, outside_p, score_z
from fairbench_cli.measures.significance import holm


@dataclass(frozen=True, eq=False)
class Tests:
    """What is tested on a slice; arrays of shape (groups, rates) where not said otherwise.

    Parameters
    ----------
    names : tuple of str
        The rates.
    at : int array, shape (rates,)
        Their reference groups, or `REST`.
    rows : RateRows
        What the tests are of.
    p, outside : arrays
        P-values of "the rates are equal" and of "the ratio lies within τ"; NaN for the reference itself, and
        where there are no rows.
    exact : bool array
        Which p are of Fisher's test.
    few : bool array
        Where weights leave too few rows to reject anything.
    within : bool array
        Whether the interval of the ratio lies within τ.
    pairs, pairs_outside : arrays, shape (pairs, rates)
        The p-values of other pairs of groups, where the reference was chosen by its rate; else no pairs.
    """

    names: tuple[str, ...]
    at: Ints
    rows: RateRows
    p: Floats
    outside: Floats
    exact: Bools
    few: Bools
    within: Bools
    pairs: Floats
    pairs_outside: Floats


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is beyond chance on a slice, arrays of shape (groups, rates).

    Parameters
    ----------
    p_holm : float array
        Adjusted p-values of "the rates are equal"; NaN where there is no test.
    differs, outside : bool arrays
        Whether the rates differ, and whether their ratio lies outside τ.
    """

    p_holm: Floats
    differs: Bools
    outside: Bools


def find_tests(part: Slice, names: Sequence[str], at: Ints, taus: Floats, config: AuditConfig) -> Tests:
    """Return the tests of each group's rates against its reference's.

    Parameters
    ----------
    part : Slice
        Its groups.
    names : sequence of str
        Rates.
    at : int array, shape (rates,)
        Their references.
    taus : array, shape (rates,)
        In (0, 1].
    config : AuditConfig
        Its confidence, and how references are chosen.
    """
    rows = rate_rows(part, names, at)
    counted = (rows.above, rows.below, rows.ref_above, rows.ref_below)
    z = NormalDist().inv_cdf((1 + config.confidence) / 2)
    p, exact = equal_rates(*counted)
    outside = outside_p(*counted, taus)
    plain = (rows.rows_above, rows.rows_below, rows.ref_rows_above, rows.ref_rows_below)
    few = rows.weighted & ~(np.fmin(expected(*counted), expected(*plain)) >= FEW_EXPECTED)
    with np.errstate(invalid="ignore"):
        within = (score_z(*counted, taus) > z) & (score_z(*counted, 1 / taus) < -z)
    itself = np.arange(len(p))[:, None] == at
    p[itself] = outside[itself] = np.nan
    first, second = np.triu_indices(len(p) if chosen_by_rate(part, config) else 0, 1)
    both = (rows.above[first], rows.below[first], rows.above[second], rows.below[second])
    tested = (first[:, None] == at) | (second[:, None] == at)  # among p already
    pairs = np.where(tested, np.nan, _or_one(equal_rates(*both)[0]))
    pairs_outside = np.where(tested, np.nan, _or_one(outside_p(*both, taus)))
    return Tests(tuple(names), at, rows, p, outside, exact, few, within, pairs, pairs_outside)


def weigh(
    slices: Sequence[Tests], deciding: Sequence[frozenset[str]], config: AuditConfig
) -> tuple[list[Evidence], int]:
    """Return what is beyond chance on each slice, and how many comparisons the family has.

    Parameters
    ----------
    slices : sequence of Tests
        Of the whole audit.
    deciding : sequence of sets of str
        The rates that the verdict or a gate depends on, by slice. Other rates are adjusted for these and for
        each other.
    config : AuditConfig
        Its confidence.
    """
    alpha = 1 - config.confidence
    shared = [distinct(one.names, one.at) for one in slices]
    family = [
        [m for m, name in enumerate(one.names) if m in {column[one.names.index(of)] for of in known}]
        for one, column, known in zip(slices, shared, deciding, strict=True)
    ]
    every = [sorted(set(column.tolist())) for column in shared]
    first, size = _adjusted(slices, family, outside=False)
    second, _ = _adjusted(slices, every, outside=False)
    far, _ = _adjusted(slices, family, outside=True)
    found = []
    for i, (one, column) in enumerate(zip(slices, shared, strict=True)):
        p_holm = np.where(np.isnan(first[i]), second[i], first[i])[:, column]
        p_holm = np.where(np.isnan(one.p), np.nan, p_holm)
        with np.errstate(invalid="ignore"):
            differs = (p_holm < alpha) & ~one.few
            found.append(Evidence(p_holm, differs, differs & (far[i] < alpha)))
    return found, size


def distinct(names: Sequence[str], at: Ints) -> Ints:
    """Which column holds each rate's test: complements with the same reference share one.

    >>> distinct(["fpr", "tpr", "tnr"], np.array([0, 0, 0])).tolist()
    [0, 1, 0]
    """
    columns = np.arange(len(names))
    for m, name in enumerate(names):
        complement = RATES[name].complement
        if complement in names[:m] and at[names.index(complement)] == at[m]:
            columns[m] = names.index(complement)
    return columns


def _adjusted(
    slices: Sequence[Tests], columns: Sequence[Sequence[int]], *, outside: bool
) -> tuple[list[Floats], int]:
    """Return some columns of each slice adjusted by Holm, all together, NaN elsewhere; and how many tests."""
    parts = []
    for one, chosen in zip(slices, columns, strict=True):
        values = one.outside if outside else one.p
        itself = np.arange(len(values))[:, None] == one.at
        own = np.where(itself, np.nan, _or_one(values))[:, chosen]
        parts.append(np.concatenate([own, (one.pairs_outside if outside else one.pairs)[:, chosen]]).ravel())
    flat = holm(np.concatenate([*parts, np.empty(0)]))
    found = []
    for one, chosen, part in zip(slices, columns, parts, strict=True):
        whole = np.full(one.p.shape, np.nan)
        whole[:, chosen] = flat[: len(one.p) * len(chosen)].reshape(len(one.p), -1)
        found.append(whole)
        flat = flat[len(part) :]
    return found, sum(int((~np.isnan(part)).sum()) for part in parts)


def _or_one(p: Floats) -> Floats:
    """Return p-values, 1 where there is no test."""
    return np.where(np.isnan(p), 1.0, p)
