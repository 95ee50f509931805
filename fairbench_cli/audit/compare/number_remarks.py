"""What a reader should know of the numbers of groups beside their tests: what is missing, cut, or heavy."""

import math
from collections.abc import Iterator

import numpy as np

from fairbench_cli.audit.compare.number_estimates import (
    FEWEST_OTHERS,
    OUTCOME,
    MeanEstimates,
    NumbersOfGroups,
)
from fairbench_cli.audit.compare.report import Reason
from fairbench_cli.audit.scan.readings import Ints
from fairbench_cli.base.safe_text import format_amount
from fairbench_cli.measures.means import (
    FEW_ROWS,
    FEW_SKEWED_ROWS,
    FEWEST_ROWS,
    FEWEST_UNSPLIT_ROWS,
    MANY_ROWS,
    row_shortage,
)
from fairbench_cli.measures.regression import spearman
from fairbench_cli.measures.splits import skewness_of_both

CUT_SHARE = 0.01  # of rows with the largest value, above which it may be a limit
TOP_SHARE = 0.01  # of the rows, those with the highest values
MUCH_OF_SUM = 0.08  # that so few rows hold, from which on their absence may be the gap
OFTEN = 0.05  # chances of an absence, from which on it may be chance
RISING = 0.5  # rank correlation of weights with values from which on they rise
LEVEL = 0.2  # and up to which they do not
ROWS_OF_HEAVY = 300  # which are enough where weights rise with values in one group alone


def describe_cut(numbers: NumbersOfGroups, column: str) -> list[str]:
    """Return a remark on amounts of which many rows have the largest, as if they were cut there."""
    value = numbers.cells.value
    rows = numbers.cells.rows
    n_largest = float(rows[value == value[-1]].sum())
    share = n_largest / float(rows.sum())
    if share <= CUT_SHARE or n_largest == 1:
        return []
    largest = format_amount(float(value[-1]))
    text = f"{100 * share:.2g} % of rows have the largest {column}, {largest}: it may be cut there."
    return [f"{text} What lies above is then in no mean and no difference."]


def describe_top(numbers: NumbersOfGroups, column: str) -> list[str]:
    """Return the share of the sum of amounts that the highest 1 % of rows hold; of few rows the highest one.

    Rows count as their weights say.
    """
    cells = numbers.cells
    n_rows = float(cells.rows.sum())
    if n_rows < 1 / TOP_SHARE:
        share = float(cells.value[-1] * cells.weight[-1] / cells.rows[-1] / (cells.value @ cells.weight))
        return [f"The highest of {n_rows:,.0f} rows holds {100 * share:.2g} % of the sum of {column}."]
    n_cells = len(cells.value)
    total = float(cells.value.sum())
    if cells.values_by_group:  # each is a row
        n_cells = math.ceil(TOP_SHARE * n_rows)
    else:
        total = float(cells.value @ cells.weight)
    weight = cells.weight[: -n_cells - 1 : -1]
    value = cells.value[: -n_cells - 1 : -1]
    room = TOP_SHARE * float(cells.weight.sum())
    inside = np.clip(room - (np.cumsum(weight) - weight), 0.0, weight)
    share = float(inside @ value) / total
    return [f"The highest 1 % of rows hold {100 * share:.2g} % of the sum of {column}."]


def describe_missed(numbers: NumbersOfGroups, g: int) -> str:
    """Return that the highest values of one side may be missing on the other by chance; empty: not so.

    Said where nobody on the side with the lower mean is among the highest 1 % of the other, these hold much
    of its sum, and that is no rare thing in groups of one law.
    """
    sides = {
        numbers.part.counts.groups[g]: numbers.rows_of(OUTCOME, [g]),
        numbers.reference_name: numbers.rows_of(OUTCOME, numbers.reference_groups(g)),
    }
    values_of = {name: side[0] for name, side in sides.items() if side is not None and not len(side[1])}
    if len(values_of) < len(sides):
        return ""
    lower, higher = sorted(values_of, key=lambda name: float(values_of[name].mean()))
    low_values = values_of[lower]
    values = values_of[higher]
    n = len(values)
    m = len(low_values)
    n_top = math.ceil(TOP_SHARE * n)
    top = np.partition(values, n - n_top)[n - n_top :]
    share = float(top.sum() / values.sum())
    ranks = np.arange(n_top)
    chance = float(np.prod((n - ranks) / (n + m - ranks)))
    if n < 1 / TOP_SHARE or share < MUCH_OF_SUM or chance < OFTEN or (low_values >= top.min()).any():
        return ""
    sum_text = f"The highest 1 % of {higher} hold {100 * share:.2g} % of their sum."
    missed = f"That none of the {m:,} rows of {lower} is as high happens by chance"
    return f"{sum_text} {missed} in {100 * chance:.2g} of 100 such files: the gap cannot be told from that."


def describe_weights(numbers: NumbersOfGroups, g: int) -> str:
    """Return that weights rise with the values on one side alone, where rows are few; empty: not so."""
    names = (numbers.part.counts.groups[g], numbers.reference_name)
    correlations = []
    fewest = math.inf
    for groups in ([g], numbers.reference_groups(g)):
        side = numbers.rows_of(OUTCOME, groups)
        if side is None or not len(side[1]):
            return ""
        fewest = min(fewest, len(side[0]))
        values, weights = side
        correlations.append(float(np.nan_to_num(spearman(values, weights).value)))
    if fewest >= ROWS_OF_HEAVY or max(correlations) <= RISING or min(correlations) >= LEVEL:
        return ""
    name = names[int(np.argmax(correlations))]
    text = f"Weights rise with the values of {name} alone, so that a few rows stand for many"
    return f"{text}: too few rows for a verdict below {ROWS_OF_HEAVY}."


def find_shortage(
    numbers: NumbersOfGroups, name: str, means: MeanEstimates, compared: Ints
) -> tuple[tuple[Reason, ...], tuple[str, ...], frozenset[int]]:
    """Return why rows do not decide on the mean of each group, remarks on it, and who is few and skewed.

    Parameters
    ----------
    compared : int array
        The groups that are.
    """
    moments = numbers.moments[name]
    reference_moments = numbers.of_reference(moments)
    fewest = FEWEST_ROWS
    if numbers.cells.persons:
        fewest = FEWEST_UNSPLIT_ROWS
    skewness = np.fmax(
        np.abs(means.comparison.difference.skewness), skewness_of_both(moments, reference_moments)
    )
    shortage = row_shortage(moments, reference_moments, skewness, fewest)
    reasons: list[Reason] = [""] * numbers.n_groups
    remarks: dict[str, None] = {}
    for g in compared.tolist():
        sides = {
            numbers.part.counts.groups[g]: moments[g],
            numbers.reference_name: reference_moments[g],
        }
        one_valued = [group for group, side in sides.items() if side.variance == 0]
        is_alike = len({float(side.mean) for side in sides.values()}) == 1
        if shortage[g] == FEW_ROWS:
            reasons[g] = "few"
        elif one_valued and not is_alike:
            reasons[g] = "one value"
            group = one_valued[0]
            text = f"All {int(sides[group].rows):,} rows of {group} have the value {sides[group].mean:,.10g}"
            remarks[f"{text}: their mean cannot be compared."] = None
        elif g in means.few_others:
            reasons[g] = "few values"
            value, is_group, n_others, n_rows = means.few_others[g]
            group = list(sides)[not is_group]
            text = f"A value other than {value:,.10g} is in {n_others:,} of {n_rows:,} rows of {group}"
            remarks[f"{text}: from {FEWEST_OTHERS} on a mean is compared."] = None
        elif numbers.cells.is_weighted and name == OUTCOME and (text := describe_weights(numbers, g)):
            reasons[g] = "few"
            remarks[text] = None
    few_skewed = frozenset(g for g in np.flatnonzero(shortage == FEW_SKEWED_ROWS).tolist() if not reasons[g])
    return tuple(reasons), tuple(remarks), few_skewed


def describe_small(sizes: Iterator[tuple[str, int]]) -> str:
    """Return how rare a thing may be missing among the rows of small groups by chance; empty: none is small.

    By the rule of three: of n rows none has what 3 in n have, by chance in one file of twenty.

    >>> describe_small(iter([("women", 30), ("men", 400)]))
    'What fewer than 1 in 10 of the 30 rows of women have may be missing by chance.'
    """
    clauses = []
    for group, n_rows in sizes:
        if FEWEST_ROWS <= n_rows < MANY_ROWS:
            clauses.append(f"fewer than 1 in {n_rows // 3} of the {n_rows} rows of {group}")
    if not clauses:
        return ""
    return f"What {', '.join(clauses)} have may be missing by chance."
