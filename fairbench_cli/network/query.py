"""What a network says of some columns, given others, exact by elimination of variables; and belift."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import exp, log, nan, prod
from typing import Any, Literal

import numpy as np

from fairbench_cli.base.errors import Flag, UserError, suggest, user_error
from fairbench_cli.data.table import Codes, Floats, Table
from fairbench_cli.measures.counts import divide
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.pomegranate import loopy_posterior

Engine = Literal["exact", "pomegranate"]

MOST_COMBINATIONS = 10_000  # of what is not known of a person

OF, GIVEN = Flag("of"), Flag("given")
LARGEST = 2**25
"""Numbers in the largest table that is made on the way (256 MB)."""

Factor = tuple[tuple[int, ...], Floats]
"""Columns, and a table with an axis for each."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """P(of | given).

    Parameters
    ----------
    table : float64 array, one axis per column asked for
        Sums to 1.
    evidence : float
        P(given), above 0 unless it is too small for a number; 1 where nothing is given; NaN by pomegranate,
        which does not compute it.
    """

    table: Floats
    evidence: float


def posterior(
    net: BayesNet, of: Sequence[str], given: Mapping[str, str] | None = None, engine: Engine = "exact"
) -> Posterior:
    """Return the joint distribution of some columns, given the levels of others; all else is summed over.

    Exact: tables that neither `of` nor `given` depend on are left out, and the columns left over are summed
    out one by one, the one that makes the smallest table first (Zhang & Poole 1994).

    Parameters
    ----------
    of : sequence of str
        Columns, at least one, in the order of the axes of the result.
    given : mapping of str to str
        The level of each column that is known.
    engine : {"exact", "pomegranate"}
        pomegranate's loopy belief propagation answers for one column, exactly only where no two paths join
        two columns.

    Raises
    ------
    UserError
        For an unknown column or level, a column asked for twice or both asked for and given, a combination of
        levels that the network rules out, or when a table of more than `LARGEST` numbers would be needed.
        With pomegranate: for several columns, or when it is not installed.

    >>> from fairbench_cli.data.table import Column
    >>> net = BayesNet(
    ...     (Column("s", ("f", "m")), Column("y", ("no", "yes"))),
    ...     ((), (0,)),
    ...     (np.array([0.5, 0.5]), np.array([[0.75, 0.25], [0.25, 0.75]])),
    ... )
    >>> posterior(net, ["s"], {"y": "yes"}).table.tolist()
    [0.25, 0.75]
    """
    known = _codes(net, given or {})
    asked = _asked(net, of, known)
    if engine == "pomegranate":
        return _by_pomegranate(net, asked, known)
    table, size = _eliminate(net, asked, known)
    total = float(table.sum())
    if total == 0:
        raise _impossible(net, known)
    return Posterior(table / total, exp(size + log(total)) if known else 1.0)


def _by_pomegranate(net: BayesNet, asked: Sequence[int], known: Mapping[int, int]) -> Posterior:
    if len(asked) > 1:
        what = f"pomegranate answers for one column at a time, and {len(asked)} are asked for"
        raise user_error(what, "ask for one, or use the engine exact")
    table = loopy_posterior(net, asked[0], known)
    if np.isnan(table).any():
        raise _impossible(net, known)
    return Posterior(table, nan)


def _eliminate(net: BayesNet, asked: Sequence[int], known: Mapping[int, int]) -> tuple[Floats, float]:
    """Return P(asked, known) over a power of e, one axis per column asked for, and the exponent."""
    sizes, exponent = [len(column.levels) for column in net.columns], 0.0
    factors: list[Factor] = []
    waiting = [_restrict(net, j, known) for j in _ancestors(net, [*asked, *known])]
    left = {j for columns, _ in waiting for j in columns} - set(asked)
    while True:
        for columns, table in waiting:  # scaled, as the product of many small numbers is none
            top = float(table.max())
            if top == 0:
                return np.zeros([sizes[j] for j in asked]), 0.0
            exponent += log(top)
            factors += [(columns, table / top)] if columns else []
        if not left:
            break
        scopes = {j: set().union(*(columns for columns, _ in factors if j in columns)) for j in left}
        cost, gone = min((prod(sizes[i] for i in scope), j) for j, scope in scopes.items())
        if cost > LARGEST:
            raise _too_large(cost)
        left.remove(gone)
        own = [factor for factor in factors if gone in factor[0]]
        factors = [factor for factor in factors if gone not in factor[0]]
        waiting = [_product(own, tuple(sorted(scopes[gone] - {gone})))]
    size = prod(sizes[j] for j in asked)
    if size > LARGEST:
        raise _too_large(size)
    return _product(factors, tuple(asked))[1], exponent


def _restrict(net: BayesNet, j: int, fixed: Mapping[int, int]) -> Factor:
    """Return the table of column `j` at the levels that are known."""
    family = (*net.parents[j], j)
    at = tuple(fixed.get(i, slice(None)) for i in family)
    return tuple(i for i in family if i not in fixed), np.asarray(net.cpts[j][at])


def _product(factors: Sequence[Factor], columns: tuple[int, ...]) -> Factor:
    """Return the product of some tables, summed over all columns but those given, which are its axes."""
    every: tuple[int, ...] = ()
    product: Floats = np.ones(())
    for own, table in factors:
        both = tuple(sorted({*every, *own}))
        label = {j: i for i, j in enumerate(both)}
        axes = [label[j] for j in every], [label[j] for j in own], list(range(len(both)))
        every, product = both, _einsum(product, axes[0], table, *axes[1:])
    return columns, _einsum(product, list(range(len(every))), [every.index(j) for j in columns])


def _einsum(*operands: object) -> Floats:
    """Return `numpy.einsum` of tables and the numbers of their axes, a form that its types do not have."""
    einsum: Any = np.einsum
    return np.asarray(einsum(*operands))


def _ancestors(net: BayesNet, columns: Collection[int]) -> list[int]:
    """Return some columns and their ancestors: the tables of all others sum to 1."""
    found, frontier = set(columns), list(columns)
    while frontier:
        new = set(net.parents[frontier.pop()]) - found
        found |= new
        frontier += new
    return sorted(found)


def _codes(net: BayesNet, given: Mapping[str, str]) -> dict[int, int]:
    known = {}
    for name, level in given.items():
        _check_column(net, name, GIVEN)
        levels = net.columns[net.index(name)].levels
        if level not in levels:
            raise user_error(f'"{name}" has no level "{level}"', suggest(level, levels), GIVEN)
        known[net.index(name)] = levels.index(level)
    return known


def _asked(net: BayesNet, of: Sequence[str], known: Mapping[int, int]) -> list[int]:
    if not of:
        raise user_error("no column is asked for", f"name one or more of: {', '.join(net.names)}", OF)
    for name in of:
        _check_column(net, name, OF)
        if net.index(name) in known:
            raise user_error(f'"{name}" is both asked for and given', "leave out one of the two", OF)
        if list(of).count(name) > 1:
            raise user_error(f'"{name}" is asked for twice', "name it once", OF)
    return [net.index(name) for name in of]


def _check_column(net: BayesNet, name: str, option: Flag) -> None:
    if name not in net.names:
        raise user_error(f'the network has no column "{name}"', suggest(name, net.names), option)


def _impossible(net: BayesNet, known: Mapping[int, int]) -> UserError:
    """Return the error for levels of probability 0, which names as few of them as cannot go together."""
    some = dict(known)
    for j in known:
        fewer = {i: level for i, level in some.items() if i != j}
        if not _eliminate(net, [], fewer)[0] > 0:
            some = fewer
    words = [f"{net.names[j]}={net.columns[j].levels[level]}" for j, level in some.items()]
    if len(words) == 1:
        return user_error(f"the network gives {words[0]} probability 0", "leave it out")
    return user_error(f"the network gives {' and '.join(words)} probability 0", "leave out one of them")


def _too_large(size: int) -> UserError:
    what = f"the answer needs a table of {size:,} numbers, and {LARGEST:,} are the most"
    return user_error(what, "ask for fewer columns at once, or give the level of more columns")


def network_belift(
    net: BayesNet, people: Table, outcome: str, favourable: str, attribute: str, redlining: Sequence[str] = ()
) -> Floats:
    """Return P(+|s,x_r,x_a) / P(+|x_a) of every person (Mancuhan & Clifton 2014).

    Parameters
    ----------
    net : BayesNet
        The network.
    people : Table
        The deprived, say; its columns are those of the network. Their outcome is not looked at.
    outcome, favourable : str
        The column of the outcome, and its favourable level.
    attribute : str
        The protected attribute s.
    redlining : sequence of str
        Attributes x_r that give it away; all others are x_a.

    Returns
    -------
    array, shape (rows,)
        1 when group and x_r say nothing that x_a does not. NaN where the network rules out
        every outcome of a person.

    Raises
    ------
    KeyError
        For an unknown column.
    ValueError
        For an unknown level, columns that are not those of the network, an outcome that is to be hidden, or
        too many combinations of what is hidden.
    """
    if people.columns != net.columns:
        raise ValueError("the columns of the people are not those of the network")
    hidden = tuple(dict.fromkeys((attribute, *redlining)))
    if outcome in hidden:
        raise ValueError(f'the outcome "{outcome}" cannot be what gives the group away')
    return divide(belief(net, people, outcome, favourable), belief(net, people, outcome, favourable, hidden))


def belief(net: BayesNet, people: Table, outcome: str, favourable: str, hidden: Sequence[str] = ()) -> Floats:
    """Return P(outcome = favourable | all columns but the hidden ones) of each person.

    The hidden ones are summed over. Tables without the outcome or a hidden column cancel out.
    """
    own = net.index(outcome)
    level = net.columns[own].levels.index(favourable)
    places = [net.index(name) for name in hidden]
    sizes = [len(net.columns[place].levels) for place in places]
    if prod(sizes) > MOST_COMBINATIONS:
        raise ValueError(f"the hidden columns have {prod(sizes)} combinations; at most {MOST_COMBINATIONS}")
    free = {own, *places}
    tables = [j for j in range(len(net.columns)) if free & {j, *net.parents[j]}]
    mass = np.zeros((len(people), len(net.columns[own].levels)))
    codes = people.codes.copy()
    for values in product(*map(range, sizes)):
        codes[:, places] = values
        for y in range(mass.shape[1]):
            codes[:, own] = y
            mass[:, y] += _probability(net, codes, tables)
    with np.errstate(invalid="ignore"):
        return np.asarray(mass[:, level] / mass.sum(1))


def _probability(net: BayesNet, codes: Codes, tables: Sequence[int]) -> Floats:
    """Return the product of the entries of some tables, for every row."""
    found = np.ones(len(codes))
    for j in tables:
        found *= net.cpts[j][tuple(codes[:, place] for place in (*net.parents[j], j))]
    return found
