"""Rows of a network's tables for people to read."""

from itertools import product

from fairbench_cli.network.model import BayesNet

BETWEEN = 3  # blanks between two columns


def cpt_rows(net: BayesNet, node: str, width: int) -> tuple[list[str], list[list[str]], int]:
    """Return heads, rows and the number of numeric columns of a node's table.

    One row per parent configuration where that fits into `width` characters, else one row per parent
    configuration and level. Probabilities have six decimals, so that one can see whether a paper rounded
    or truncated.
    """
    own = net.columns[net.index(node)]
    parents = net.parents_of(node)
    levels = [net.columns[net.index(parent)].levels for parent in parents]
    table = net.cpt(node).reshape(-1, len(own.levels))
    heads = [*parents, *(f"{node}={level}" for level in own.levels)]
    configurations = list(product(*levels))
    rows = [
        [*configuration, *(f"{p:.6f}" for p in row)]
        for configuration, row in zip(configurations, table, strict=True)
    ]
    widest = (max(map(len, column)) for column in zip(heads, *rows, strict=True))
    if sum(widest) + BETWEEN * (len(heads) + 1) <= width:
        return heads, rows, len(own.levels)
    long = [
        [*configuration, level, f"{p:.6f}"]
        for configuration, row in zip(configurations, table, strict=True)
        for level, p in zip(own.levels, row, strict=True)
    ]
    return [*parents, node, "probability"], long, 1
