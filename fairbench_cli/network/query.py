"""What a network says of some columns, given others, exact by elimination of variables; and belift."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
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
    """P(query | evidence).

    Parameters
    ----------
    table : float64 array, one axis per column asked for
        Sums to 1.
    evidence : float
        P(evidence), above 0 unless it is too small for a number; 1 without evidence; NaN by pomegranate,
        which does not compute it.
    """

    table: Floats
    evidence: float


def compute_posterior(
    net: BayesNet,
    query_nodes: Sequence[str],
    evidence: Mapping[str, str] | None = None,
    engine: Engine = "exact",
) -> Posterior:
    """Return the joint distribution of some columns, given the levels of others; all else is summed over.

    Exact: tables that neither query nor evidence depends on are left out, and the columns left are summed
    out one by one, the one that makes the smallest table first (Zhang & Poole 1994).

    Parameters
    ----------
    query_nodes : sequence of str
        Columns, at least one, in the order of the axes of the result.
    evidence : mapping of str to str
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
    fixed = _to_codes(net, evidence or {})
    query_indices = _query_indices(net, query_nodes, fixed)
    if engine == "pomegranate":
        return _query_pomegranate(net, query_indices, fixed)
    table, exponent = _eliminate(net, query_indices, fixed)
    total = float(table.sum())
    if total == 0:
        raise _impossible_error(net, fixed)
    probability = 1.0
    if fixed:
        probability = exp(exponent + log(total))
    return Posterior(table / total, probability)


def _query_pomegranate(net: BayesNet, query_indices: Sequence[int], fixed: Mapping[int, int]) -> Posterior:
    if len(query_indices) > 1:
        problem = f"pomegranate answers for one column at a time, and {len(query_indices)} are asked for"
        raise user_error(problem, "ask for one, or use the engine exact")
    table = loopy_posterior(net, query_indices[0], fixed)
    if np.isnan(table).any():
        raise _impossible_error(net, fixed)
    return Posterior(table, nan)


def _eliminate(net: BayesNet, query_indices: Sequence[int], fixed: Mapping[int, int]) -> tuple[Floats, float]:
    """Return P(query, evidence) over a power of e, one axis per column asked for, and the exponent."""
    factors, exponent = _relevant_factors(net, query_indices, fixed)
    shape = [len(net.columns[j].levels) for j in query_indices]
    if prod(shape) > LARGEST:
        raise _too_large_error(prod(shape))
    if any(not columns for columns, _ in factors):  # a single 0: the evidence is impossible
        return np.zeros(shape), 0.0
    return _multiply_factors(factors, tuple(query_indices))[1], exponent


def _relevant_factors(
    net: BayesNet, query_indices: Sequence[int], fixed: Mapping[int, int]
) -> tuple[list[Factor], float]:
    """Return tables whose product is P(query, evidence) over a power of e, and the exponent."""
    relevant = _find_ancestors(net, set(query_indices) | set(fixed))
    tables = [_fix_cpt(net, j, fixed) for j in relevant]
    hidden = set(relevant) - set(query_indices) - set(fixed)
    return _sum_out(tables, hidden, net)


def compute_factors(
    net: BayesNet, query_nodes: Sequence[str], evidence: Mapping[str, str] | None = None
) -> tuple[dict[tuple[str, ...], Floats], float]:
    """Return tables whose product is P(query_nodes, evidence) over a power of e, and the exponent.

    None of them needs to be as large as the joint distribution: all columns may be asked for.

    Returns
    -------
    tables : dict of tuple of str to float64 array
        By the columns that are its axes, in the order of `query_nodes`.
    exponent : float
        Of e.

    Raises
    ------
    UserError
        As `compute_posterior`.
    """
    fixed = _to_codes(net, evidence or {})
    query_indices = _query_indices(net, query_nodes, fixed)
    axis_of = {j: i for i, j in enumerate(query_indices)}
    factors, exponent = _relevant_factors(net, query_indices, fixed)
    tables: dict[tuple[str, ...], Floats] = {}
    for columns, table in factors:
        names = tuple(query_nodes[i] for i in sorted(axis_of[j] for j in columns))
        moved = np.transpose(table, sorted(range(table.ndim), key=lambda axis: axis_of[columns[axis]]))
        if names in tables:
            tables[names] = tables[names] * moved
        else:
            tables[names] = moved
    return tables, exponent


def _sum_out(factors: Sequence[Factor], hidden: Collection[int], net: BayesNet) -> tuple[list[Factor], float]:
    """Return the factors of the sum of a product over some columns, over a power of e, and the exponent.

    One column after another, the one that makes the smallest table first. Where the product is 0 everywhere,
    one table of a single 0 is left.
    """
    sizes = [len(column.levels) for column in net.columns]
    unscaled = list(factors)
    remaining = set(hidden)
    exponent = 0.0
    scaled: list[Factor] = []
    while True:
        # The product of many small numbers is 0, so each table is divided by its largest.
        for columns, table in unscaled:
            largest = float(table.max())
            if largest == 0:
                return [((), np.zeros(()))], 0.0
            exponent += log(largest)
            if columns:
                scaled.append((columns, table / largest))
        if not remaining:
            return scaled, exponent
        # Sum over the column that makes the smallest table, of two the first.
        scopes: dict[int, set[int]] = {}
        costs: dict[int, int] = {}
        for j in remaining:
            scopes[j] = set(chain.from_iterable(columns for columns, _ in scaled if j in columns))
            costs[j] = prod(sizes[i] for i in scopes[j])
        node = min(remaining, key=lambda j: (costs[j], j))
        if costs[node] > LARGEST:
            raise _too_large_error(costs[node])
        remaining.remove(node)
        node_factors = [factor for factor in scaled if node in factor[0]]
        scaled = [factor for factor in scaled if node not in factor[0]]
        unscaled = [_multiply_factors(node_factors, tuple(sorted(scopes[node] - {node})))]


def markov_boundary(
    net: BayesNet, column: str, seen: Collection[str], evidence: Collection[str] = ()
) -> tuple[str, ...]:
    """Return those of the columns seen that, with those given, say all that can be known of a column.

    It is independent of all other columns seen, given these: in the moral graph of what the columns descend
    from, every path to them passes one of these (Lauritzen, Dawid, Larsen & Leimer 1990).

    Parameters
    ----------
    column : str
        The column.
    seen, evidence : collections of str
        Columns whose levels are known. All others, but `column`, are summed over.

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
    seen_nodes = {net.index(name) for name in seen}
    fixed = {net.index(name) for name in evidence}
    boundary, _ = _find_boundary(net, net.index(column), seen_nodes, fixed)
    return tuple(net.names[j] for j in sorted(boundary))


def _find_boundary(
    net: BayesNet, node: int, seen: Collection[int], fixed: Collection[int]
) -> tuple[set[int], set[int]]:
    """Return the boundary of a column among those seen, and the column with the hidden ones within it."""
    families = [{j} | set(net.parents[j]) for j in _find_ancestors(net, {node} | set(seen) | set(fixed))]
    boundary: set[int] = set()
    inside = {node}
    frontier = [node]
    while frontier:
        node_inside = frontier.pop()
        # Its neighbours in the moral graph: parents, children, and their other parents.
        neighbours = set(chain.from_iterable(family for family in families if node_inside in family))
        near = neighbours - inside - set(fixed)
        boundary |= near & set(seen)
        inside |= near - set(seen)
        frontier += near - set(seen)
    return boundary, inside


def compute_chances(
    net: BayesNet,
    column: str,
    level: str,
    seen: Collection[str],
    rows: Mapping[str, Codes | Rows],
    evidence: Mapping[str, str] | None = None,
) -> Floats:
    """Return P(column = level | the columns seen, and the evidence) of each row; all else is summed over.

    Parameters
    ----------
    column, level : str
        The column and its level.
    seen : collection of str
        The columns that are known of each row.
    rows : mapping of str to int array, shape (rows,)
        The codes of one or more columns, those of `markov_boundary` among them.
    evidence : mapping of str to str
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
    node = net.index(column)
    fixed = _to_codes(net, evidence or {})
    seen_nodes = {net.index(name) for name in seen}
    boundary, inside = _find_boundary(net, node, seen_nodes, fixed)
    hidden = sorted(inside - {node})
    # All tables but these have nothing to do with the column, given its boundary.
    relevant = _find_ancestors(net, {node} | seen_nodes | set(fixed))
    tables = [_fix_cpt(net, j, fixed) for j in relevant if inside & ({j} | set(net.parents[j]))]
    codes = {j: rows[net.names[j]] for j in boundary}
    n_rows = len(next(iter(rows.values())))
    try:
        factors, _ = _sum_out(tables, hidden, net)
        mass = _multiply_at_rows(factors, node, codes, net, n_rows)
    except UserError:  # the sum needs too large a table: one combination of the hidden at a time needs none
        sizes = [len(net.columns[j].levels) for j in hidden]
        if prod(sizes) > MOST_COMBINATIONS:
            raise
        mass = np.zeros((n_rows, len(net.columns[node].levels)))
        for combination in product(*map(range, sizes)):
            hidden_levels = dict(zip(hidden, combination, strict=True))
            factors = [_fix_levels(factor, hidden_levels) for factor in tables]
            mass += _multiply_at_rows(factors, node, codes, net, n_rows)
    return divide(mass[:, net.levels_of(column).index(level)], mass.sum(1))


def _multiply_at_rows(
    factors: Sequence[Factor], node: int, codes: Mapping[int, Codes | Rows], net: BayesNet, n_rows: int
) -> Floats:
    """Return the product of some tables at the codes of each row, shape (rows, levels of `node`)."""
    mass: Floats = np.ones((n_rows, len(net.columns[node].levels)))
    for columns, table in factors:
        row_codes = tuple(codes[j] for j in columns if j != node)
        if node in columns:
            mass *= np.moveaxis(table, columns.index(node), -1)[row_codes]
        elif columns:
            mass *= table[row_codes][:, np.newaxis]
        else:
            mass *= table
    return mass


def _fix_levels(factor: Factor, fixed: Mapping[int, int]) -> Factor:
    """Return a table at the codes of some of its columns."""
    columns, table = factor
    index = tuple(fixed.get(j, slice(None)) for j in columns)
    return tuple(j for j in columns if j not in fixed), np.asarray(table[index])


def _fix_cpt(net: BayesNet, j: int, fixed: Mapping[int, int]) -> Factor:
    """Return the table of column `j` at the levels that are known."""
    nodes = net.parents[j] + (j,)
    return _fix_levels((nodes, net.cpts[j]), fixed)


def _multiply_factors(factors: Sequence[Factor], columns: tuple[int, ...]) -> Factor:
    """Return the product of some tables, summed over all columns but those given, which are its axes."""
    product_nodes: tuple[int, ...] = ()
    product: Floats = np.ones(())
    for nodes, table in factors:
        joined_nodes = tuple(sorted(set(product_nodes) | set(nodes)))
        axis_of = {j: axis for axis, j in enumerate(joined_nodes)}
        product_axes = [axis_of[j] for j in product_nodes]
        table_axes = [axis_of[j] for j in nodes]
        product = _einsum(product, product_axes, table, table_axes, list(range(len(joined_nodes))))
        product_nodes = joined_nodes
    sum_axes = [product_nodes.index(j) for j in columns]
    return columns, _einsum(product, list(range(len(product_nodes))), sum_axes)


def _einsum(*operands: object) -> Floats:
    """Return `numpy.einsum` of tables and the numbers of their axes, a form that its types do not have."""
    einsum: Any = np.einsum
    return np.asarray(einsum(*operands))


def _find_ancestors(net: BayesNet, columns: Collection[int]) -> list[int]:
    """Return some columns and their ancestors: the tables of all others sum to 1."""
    found_nodes = set(columns)
    frontier = list(columns)
    while frontier:
        new = set(net.parents[frontier.pop()]) - found_nodes
        found_nodes |= new
        frontier += new
    return sorted(found_nodes)


def _to_codes(net: BayesNet, evidence: Mapping[str, str]) -> dict[int, int]:
    """Return the level's code by the index of its column, checked."""
    fixed = {}
    for name, level in evidence.items():
        _check_column(net, name, GIVEN)
        levels = net.levels_of(name)
        if level not in levels:
            raise user_error(f'"{name}" has no level "{level}"', suggest(level, levels), GIVEN)
        fixed[net.index(name)] = levels.index(level)
    return fixed


def _query_indices(net: BayesNet, query_nodes: Sequence[str], fixed: Mapping[int, int]) -> list[int]:
    if not query_nodes:
        raise user_error("no column is asked for", f"name one or more of: {', '.join(net.names)}", OF)
    for name in query_nodes:
        _check_column(net, name, OF)
        if net.index(name) in fixed:
            raise user_error(f'"{name}" is both asked for and given', "leave out one of the two", OF)
        if list(query_nodes).count(name) > 1:
            raise user_error(f'"{name}" is asked for twice', "name it once", OF)
    return [net.index(name) for name in query_nodes]


def _check_column(net: BayesNet, name: str, option: Flag) -> None:
    if name not in net.names:
        raise user_error(f'the network has no column "{name}"', suggest(name, net.names), option)


def _impossible_error(net: BayesNet, fixed: Mapping[int, int]) -> UserError:
    """Return the error for levels of probability 0, which names as few of them as cannot go together."""
    conflict = dict(fixed)
    for j in fixed:
        fewer = {i: level for i, level in conflict.items() if i != j}
        if not _eliminate(net, [], fewer)[0] > 0:
            conflict = fewer
    conditions = [f"{net.names[j]}={net.columns[j].levels[level]}" for j, level in conflict.items()]
    if len(conditions) == 1:
        return user_error(f"the network gives {conditions[0]} probability 0", "leave it out")
    return user_error(f"the network gives {' and '.join(conditions)} probability 0", "leave out one of them")


def _too_large_error(size: int) -> UserError:
    problem = f"the answer needs a table of {size:,} numbers, and {LARGEST:,} are the most"
    return user_error(problem, "ask for fewer columns at once, or give the level of more columns")


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
