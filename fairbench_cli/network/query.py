"""What a network says of some columns, given others, exact by elimination of variables; and belift."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import exp, log, nan, prod
from typing import Any, Literal

import numpy as np

from fairbench_cli.base.errors import Flag, UserError, suggest, user_error
from fairbench_cli.data.table import Codes, Floats, Rows, Table
from fairbench_cli.measures.counts import divide
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.pomegranate import loopy_posterior

Engine = Literal["exact", "pomegranate"]

MOST_COMBINATIONS = 10_000  # of what is not known of a person

OF = Flag("of")
GIVEN = Flag("given")
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


def compute_posterior(
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
    >>> compute_posterior(net, ["s"], {"y": "yes"}).table.tolist()
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
    factors, exponent = _factors(net, asked, known)
    size = prod(len(net.columns[j].levels) for j in asked)
    if size > LARGEST:
        raise _too_large(size)
    if any(not columns for columns, _ in factors):
        return np.zeros([len(net.columns[j].levels) for j in asked]), 0.0
    return _product(factors, tuple(asked))[1], exponent


def _factors(net: BayesNet, asked: Sequence[int], known: Mapping[int, int]) -> tuple[list[Factor], float]:
    """Return tables whose product is P(asked, known) over a power of e, and the exponent."""
    tables = [_restrict(net, j, known) for j in _ancestors(net, [*asked, *known])]
    return _sum_out(tables, {j for columns, _ in tables for j in columns} - set(asked), net)


def compute_factors(
    net: BayesNet, of: Sequence[str], given: Mapping[str, str] | None = None
) -> tuple[dict[tuple[str, ...], Floats], float]:
    """Return tables whose product is P(of, given) over a power of e, and the exponent.

    None of them needs to be as large as the joint distribution: all columns may be asked for.

    Returns
    -------
    tables : dict of tuple of str to float64 array
        By the columns that are its axes, in the order of `of`.
    exponent : float
        Of e.

    Raises
    ------
    UserError
        As `compute_posterior`.
    """
    known = _codes(net, given or {})
    place = {j: i for i, j in enumerate(_asked(net, of, known))}
    factors, exponent = _factors(net, [*place], known)
    found: dict[tuple[str, ...], Floats] = {}
    for columns, table in factors:
        names = tuple(of[i] for i in sorted(place[j] for j in columns))
        moved = np.transpose(table, sorted(range(table.ndim), key=lambda axis: place[columns[axis]]))
        found[names] = found[names] * moved if names in found else moved
    return found, exponent


def _sum_out(factors: Sequence[Factor], gone: Collection[int], net: BayesNet) -> tuple[list[Factor], float]:
    """Return the factors of the sum of a product over some columns, over a power of e, and the exponent.

    One column after another, the one that makes the smallest table first. Where the product is 0 everywhere,
    one table of a single 0 is left.
    """
    sizes = [len(column.levels) for column in net.columns]
    waiting = list(factors)
    left = set(gone)
    exponent = 0.0
    kept: list[Factor] = []
    while True:
        for columns, table in waiting:  # scaled, as the product of many small numbers is none
            top = float(table.max())
            if top == 0:
                return [((), np.zeros(()))], 0.0
            exponent += log(top)
            if columns:
                kept += [(columns, table / top)]
        if not left:
            return kept, exponent
        scopes = {j: set().union(*(columns for columns, _ in kept if j in columns)) for j in left}
        cost, own = min((prod(sizes[i] for i in scope), j) for j, scope in scopes.items())
        if cost > LARGEST:
            raise _too_large(cost)
        left.remove(own)
        mine = [factor for factor in kept if own in factor[0]]
        kept = [factor for factor in kept if own not in factor[0]]
        waiting = [_product(mine, tuple(sorted(scopes[own] - {own})))]


def markov_boundary(
    net: BayesNet, of: str, seen: Collection[str], given: Collection[str] = ()
) -> tuple[str, ...]:
    """Return those of the columns seen that, with those given, say all that can be known of a column.

    It is independent of all other columns seen, given these: in the moral graph of what the columns descend
    from, every path to them passes one of these (Lauritzen, Dawid, Larsen & Leimer 1990).

    Parameters
    ----------
    of : str
        The column.
    seen, given : collections of str
        Columns whose levels are known. All others, but `of`, are summed over.

    Returns
    -------
    tuple of str
        In the order of the network.

    >>> from fairbench_cli.data.table import Column
    >>> columns = tuple(Column(name, ("0", "1")) for name in "abcd")
    >>> chain = BayesNet(
    ...     columns, ((), (0,), (1,), (2,)), (np.full(2, 0.5), *[np.array([[0.7, 0.3], [0.2, 0.8]])] * 3)
    ... )
    >>> markov_boundary(chain, "b", ["a", "c", "d"]), markov_boundary(chain, "b", ["a", "d"])
    (('a', 'c'), ('a', 'd'))
    """
    found, _ = _around(net, net.index(of), {net.index(name) for name in seen}, {*map(net.index, given)})
    return tuple(net.names[j] for j in sorted(found))


def _around(
    net: BayesNet, own: int, seen: Collection[int], known: Collection[int]
) -> tuple[set[int], set[int]]:
    """Return the boundary of a column among those seen, and the column with the hidden ones within it."""
    families = [{j, *net.parents[j]} for j in _ancestors(net, {own, *seen, *known})]
    boundary: set[int] = set()
    inside = {own}
    frontier = [own]
    while frontier:
        at = frontier.pop()
        near = set().union(*(family for family in families if at in family)) - inside - set(known)
        boundary |= near & set(seen)
        inside |= near - set(seen)
        frontier += near - set(seen)
    return boundary, inside


def compute_chances(
    net: BayesNet,
    of: str,
    level: str,
    seen: Collection[str],
    rows: Mapping[str, Codes | Rows],
    given: Mapping[str, str] | None = None,
) -> Floats:
    """Return P(column = level | the columns seen, and the levels given) of each row; all else is summed over.

    Parameters
    ----------
    of, level : str
        The column and its level.
    seen : collection of str
        The columns that are known of each row.
    rows : mapping of str to int array, shape (rows,)
        The codes of one or more columns, those of `markov_boundary` among them.
    given : mapping of str to str
        The level of columns that are the same for all rows.

    Returns
    -------
    array, shape (rows,)
        NaN where the network rules out what is known of a row.

    >>> from fairbench_cli.data.table import Column
    >>> net = BayesNet(
    ...     (Column("s", ("f", "m")), Column("y", ("no", "yes"))),
    ...     ((), (0,)),
    ...     (np.array([0.5, 0.5]), np.array([[0.75, 0.25], [0.25, 0.75]])),
    ... )
    >>> compute_chances(net, "y", "yes", ["s"], {"s": np.array([0, 1])}).tolist()
    [0.25, 0.75]
    """
    own = net.index(of)
    known = _codes(net, given or {})
    places = {net.index(name) for name in seen}
    boundary, inside = _around(net, own, places, known)
    relevant = _ancestors(net, {own, *places, *known})
    tables = [_restrict(net, j, known) for j in relevant if inside & {j, *net.parents[j]}]
    codes = {j: rows[net.names[j]] for j in boundary}
    many = len(next(iter(rows.values())))
    try:
        mass = _looked_up(_sum_out(tables, inside - {own}, net)[0], own, codes, net, many)
    except UserError:  # the sum needs too large a table: row by row it needs none
        hidden = sorted(inside - {own})
        sizes = [len(net.columns[j].levels) for j in hidden]
        if prod(sizes) > MOST_COMBINATIONS:
            raise
        mass = np.zeros((many, len(net.columns[own].levels)))
        for values in product(*map(range, sizes)):
            fixed = dict(zip(hidden, values, strict=True))
            mass += _looked_up([_fix(factor, fixed) for factor in tables], own, codes, net, many)
    return divide(mass[:, net.levels_of(of).index(level)], mass.sum(1))


def _looked_up(
    factors: Sequence[Factor], own: int, codes: Mapping[int, Codes | Rows], net: BayesNet, many: int
) -> Floats:
    """Return the product of some tables at the codes of each row, shape (rows, levels of `own`)."""
    mass: Floats = np.ones((many, len(net.columns[own].levels)))
    for columns, table in factors:
        at = tuple(codes[j] for j in columns if j != own)
        if own in columns:
            mass *= np.moveaxis(table, columns.index(own), -1)[at]
        elif columns:
            mass *= table[at][:, np.newaxis]
        else:
            mass *= table
    return mass


def _fix(factor: Factor, fixed: Mapping[int, int]) -> Factor:
    """Return a table at the codes of some of its columns."""
    columns, table = factor
    at = tuple(fixed.get(j, slice(None)) for j in columns)
    return tuple(j for j in columns if j not in fixed), np.asarray(table[at])


def _restrict(net: BayesNet, j: int, fixed: Mapping[int, int]) -> Factor:
    """Return the table of column `j` at the levels that are known."""
    return _fix(((*net.parents[j], j), net.cpts[j]), fixed)


def _product(factors: Sequence[Factor], columns: tuple[int, ...]) -> Factor:
    """Return the product of some tables, summed over all columns but those given, which are its axes."""
    every: tuple[int, ...] = ()
    product: Floats = np.ones(())
    for own, table in factors:
        both = tuple(sorted({*every, *own}))
        label = {j: i for i, j in enumerate(both)}
        axes = [label[j] for j in every], [label[j] for j in own], list(range(len(both)))
        every = both
        product = _einsum(product, axes[0], table, *axes[1:])
    return columns, _einsum(product, list(range(len(every))), [every.index(j) for j in columns])


def _einsum(*operands: object) -> Floats:
    """Return `numpy.einsum` of tables and the numbers of their axes, a form that its types do not have."""
    einsum: Any = np.einsum
    return np.asarray(einsum(*operands))


def _ancestors(net: BayesNet, columns: Collection[int]) -> list[int]:
    """Return some columns and their ancestors: the tables of all others sum to 1."""
    found = set(columns)
    frontier = list(columns)
    while frontier:
        new = set(net.parents[frontier.pop()]) - found
        found |= new
        frontier += new
    return sorted(found)


def _codes(net: BayesNet, given: Mapping[str, str]) -> dict[int, int]:
    known = {}
    for name, level in given.items():
        _check_column(net, name, GIVEN)
        levels = net.levels_of(name)
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

    The hidden ones are summed over.
    """
    combinations = prod(len(net.levels_of(name)) for name in hidden)
    if combinations > MOST_COMBINATIONS:
        raise ValueError(f"the hidden columns have {combinations} combinations; at most {MOST_COMBINATIONS}")
    rows = {name: people[name] for name in net.names}
    return compute_chances(net, outcome, favourable, rows.keys() - {outcome, *hidden}, rows)
