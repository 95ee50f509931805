"""Belift read off a Bayesian network: what knowing the group changes in what is believed of a person."""

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from fairbench_cli.data.table import Codes, Floats, Table
from fairbench_cli.measures.conditional import belift_of_beliefs
from fairbench_cli.network.model import BayesNet

MOST_COMBINATIONS = 10_000  # of what is not known of a person


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
    return belift_of_beliefs(
        belief(net, people, outcome, favourable), belief(net, people, outcome, favourable, hidden)
    )


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
