"""From which biases equal opportunity recovers the best rule: a condition against the exact optimum.

The setting is that of Blum & Stangl (2020), the condition theirs; docs/worlds.md derives both.
"""

from itertools import product

import numpy as np
import pytest

from fairbench_cli.data.table import Column
from fairbench_cli.network.exact_measures import WorldFacts, compute_facts
from fairbench_cli.network.mechanisms.biases import LabelBias, SelectionBias
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.world import make_world

Setting = tuple[float, float, float, float, float]
"""Share of the deprived, error of the best rule, kept positives and negatives, and flipped positives."""


def facts_of(setting: Setting, accepted: float = 0.5) -> WorldFacts:
    """Return the numbers of a setting as a world: group, what the best rule decides, and outcome."""
    deprived, error, positives, negatives, flip = setting
    columns = [Column(*one) for one in (("group", ("B", "A")), ("best", ("n", "y")), ("outcome", ("n", "y")))]
    tables = [[deprived, 1 - deprived], [1 - accepted, accepted], [[1 - error, error], [error, 1 - error]]]
    net = BayesNet(tuple(columns), ((), (), (1,)), tuple(map(np.array, tables)))
    biases = (
        SelectionBias(drop=1 - positives, label="favourable"),
        SelectionBias(drop=1 - negatives, label="unfavourable"),
        LabelBias(flip=flip),
    )
    return compute_facts(make_world(net, "outcome", "y", {"group": (("B",), ("A",))}, biases))


def margin(setting: Setting, *, constrained: bool) -> float:
    """Return the smaller of the two sums of the condition; above 0 the best rule is recovered."""
    deprived, error, positives, negatives, flip = setting
    r, plus = deprived if constrained else 1.0, positives * (1 - 2 * flip)
    steps = (1 - error) * plus - error * negatives, (1 - error) * negatives - error * plus
    return (1 - r) * (1 - 2 * error) + r * min(steps)


def is_recovered(facts: WorldFacts, rule: str) -> bool:
    """Return whether a rule decides all people as the best one does."""
    own, best = (facts.counts[name, "true"].n for name in (rule, "truth"))
    return np.allclose(own, best, rtol=0.0, atol=1e-6)


@pytest.mark.gate
def test_condition_and_exact_optimum_agree_cell_by_cell():
    seen, border = set(), 0
    for setting in product([0.3, 0.8], [0.1, 0.35], [0.05, 0.45, 0.9], [0.1, 0.95], [0.0, 0.3, 0.8]):
        facts = facts_of(setting)
        for rule, constrained in (("equal-opportunity", True), ("bayes", False)):
            found, sums = is_recovered(facts, rule), margin(setting, constrained=constrained)
            border += abs(sums) <= 1e-9
            assert abs(sums) <= 1e-9 or found == (sums > 0), setting
            seen.add((rule, found))
            best = 1 - setting[1]
            assert facts.measure(rule) == pytest.approx(best) if found else facts.measure(rule) < best
    assert len(seen) == 4
    assert border < 4


def test_no_condition_depends_on_how_many_the_best_rule_accepts():
    for accepted in (0.1, 0.5, 0.9):
        facts = facts_of((0.7, 0.3, 0.2, 0.9, 0.4), accepted)
        assert not is_recovered(facts, "bayes")
        assert is_recovered(facts, "equal-opportunity") == (
            margin((0.7, 0.3, 0.2, 0.9, 0.4), constrained=True) > 0
        )
