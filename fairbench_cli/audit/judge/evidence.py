"""The rule of a verdict: what fails, what passes, and what the rows at hand cannot decide.

* **Fails**: the measured ratio lies outside τ, and equal rates are rejected after Holm over the family.
* **Passes**: Miettinen and Nurminen's interval of the ratio lies within τ.
* **Not decided**: anything else.

The family is all comparisons that the verdict, or a gate, depends on, in the whole audit; one that cannot be
tested counts with a p-value of 1. Where the reference was chosen by its rate, all pairs of groups are in it.
Rates that add up to 1 share one test where they have the same reference. How often each verdict is wrong is
simulated in docs/verdicts.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.judge.effective import RateRows, rate_rows
from fairbench_cli.audit.judge.references import Bools, Ints, chosen_by_rate, comparable
from fairbench_cli.audit.scan.tally import Slice
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
    rows, ref : RateRows
        What the tests are of.
    compared : bool array
        False for the reference itself, and for groups that are not compared.
    p, outside : arrays
        P-values of "the rates are equal" and of "the ratio lies within τ"; NaN where nothing is compared, and
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
    ref: RateRows
    compared: Bools
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
    known = comparable(part, config)
    both = rate_rows(part, names, at)
    compared = known[:, None] & (np.arange(len(known))[:, None] != at)
    found = tests_of(names, at, *both, compared, taus, config.confidence)
    return with_pairs(found, known, taus) if chosen_by_rate(part, config) else found


def tests_of(
    names: Sequence[str],
    at: Ints,
    rows: RateRows,
    ref: RateRows,
    compared: Bools,
    taus: Floats,
    confidence: float,
) -> Tests:
    """Return the tests of rates, given the rows behind them and behind their references."""
    p, outside, exact, few = _tested(rows, ref, taus)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    counted = (rows.above, rows.below, ref.above, ref.below)
    with np.errstate(invalid="ignore"):
        within = (score_z(*counted, taus) > z) & (score_z(*counted, 1 / taus) < -z)
    p, outside = (np.where(compared, of, np.nan) for of in (p, outside))
    none = np.empty((0, len(names)))
    p = p[:, distinct(names, at)]
    return Tests(tuple(names), at, rows, ref, compared, p, outside, exact, few, within, none, none)


def with_pairs(found: Tests, known: Bools, taus: Floats) -> Tests:
    """Return tests with those of all other pairs of the groups that are `known`.

    A reference that the data chose, as it has the highest rate, is the most extreme of all pairs.
    """
    first, second = np.triu_indices(len(known), 1)
    other = (known[first] & known[second])[:, None]
    other = other & (first[:, None] != found.at) & (second[:, None] != found.at)
    p, outside, _, few = _tested(found.rows.take(first), found.rows.take(second), taus)
    pairs, pairs_outside = (np.where(other, _or_one(of, few), np.nan) for of in (p, outside))
    return replace(found, pairs=pairs, pairs_outside=pairs_outside)


def _tested(rows: RateRows, ref: RateRows, taus: Floats) -> tuple[Floats, Floats, Bools, Bools]:
    """Return p-values of equal rates and of a ratio within τ, which are exact, and where rows are too few."""
    counted = (rows.above, rows.below, ref.above, ref.below)
    plain = (rows.plain_above, rows.plain_below, ref.plain_above, ref.plain_below)
    p, exact = equal_rates(*counted)
    enough = np.fmin(expected(*counted), expected(*plain)) >= FEW_EXPECTED
    return p, outside_p(*counted, taus), exact, (rows.scaled | ref.scaled) & ~enough


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
    own = [
        [m for m, name in enumerate(one.names) if name in known]
        for one, known in zip(slices, deciding, strict=True)
    ]
    family = [sorted({int(column[m]) for m in chosen}) for column, chosen in zip(shared, own, strict=True)]
    every = [sorted(set(column.tolist())) for column in shared]
    all_rates = [list(range(len(one.names))) for one in slices]
    equal, size = _adjusted(slices, family, outside=False)
    equal_of_others = equal if every == family else _adjusted(slices, every, outside=False)[0]
    far, _ = _adjusted(slices, own, outside=True)
    far_of_others = far if all_rates == own else _adjusted(slices, all_rates, outside=True)[0]
    found = []
    for i, (one, column) in enumerate(zip(slices, shared, strict=True)):
        p_holm = np.where(np.isnan(equal[i]), equal_of_others[i], equal[i])[:, column]
        p_holm = np.where(np.isnan(one.p), np.nan, p_holm)
        p_far = np.where(np.isnan(far[i]), far_of_others[i], far[i])
        with np.errstate(invalid="ignore"):
            differs = p_holm < alpha
            found.append(Evidence(p_holm, differs, differs & (p_far < alpha)))
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
        values = _or_one(one.outside if outside else one.p, one.few)
        own = np.where(one.compared, values, np.nan)[:, chosen]
        parts.append(np.concatenate([own, (one.pairs_outside if outside else one.pairs)[:, chosen]]).ravel())
    flat = holm(np.concatenate([*parts, np.empty(0)]))
    found = []
    for one, chosen, part in zip(slices, columns, parts, strict=True):
        whole = np.full(one.p.shape, np.nan)
        whole[:, chosen] = flat[: len(one.p) * len(chosen)].reshape(len(one.p), -1)
        found.append(whole)
        flat = flat[len(part) :]
    return found, sum(int((~np.isnan(part)).sum()) for part in parts)


def _or_one(p: Floats, few: Bools) -> Floats:
    """Return p-values, 1 where there is no test or too little to reject anything."""
    return np.where(np.isnan(p) | few, 1.0, p)
