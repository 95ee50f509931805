"""Rows of a network's tables for people to read."""

from itertools import product

from fairbench_cli.network.model import BayesNet


def cpt_rows(net: BayesNet, node: str) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of a node's table: one row per parent configuration.

    Probabilities are shown with six decimals; three are enough to compare with a paper, but whether it
    rounds or truncates only shows with more.
    """
    own = net.columns[net.index(node)]
    parents = net.parents_of(node)
    levels = [net.columns[net.index(parent)].levels for parent in parents]
    table = net.cpt(node).reshape(-1, len(own.levels))
    heads = [*parents, *(f"{node}={level}" for level in own.levels)]
    rows = [
        [*configuration, *(f"{p:.6f}" for p in row)]
        for configuration, row in zip(product(*levels), table, strict=True)
    ]
    return heads, rows
