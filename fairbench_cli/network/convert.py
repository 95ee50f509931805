"""Networks of ours as those of pomegranate; the only module that loads it, and torch with it."""

from typing import Any

import numpy as np

from fairbench_cli.network.model import BayesNet


def to_pomegranate(net: BayesNet) -> Any:
    """Return the network as pomegranate's `BayesianNetwork`, with double-precision tables.

    Its nodes are in the order of the columns, its values the level codes. pomegranate reads the axes of a
    table in the order in which the edges into its node are listed, so edges are listed child by child in the
    order of the parents.
    """
    from pomegranate.bayesian_network import BayesianNetwork
    from pomegranate.distributions import Categorical, ConditionalCategorical

    nodes = []
    for own, cpt in zip(net.parents, net.cpts, strict=True):
        probabilities = np.minimum(cpt, 1.0)  # pomegranate refuses 1 + 2e-16
        nodes.append(ConditionalCategorical([probabilities]) if own else Categorical(probabilities[None, :]))
    edges = [(nodes[i], nodes[j]) for j, own in enumerate(net.parents) for i in own]
    return BayesianNetwork(nodes, edges)
