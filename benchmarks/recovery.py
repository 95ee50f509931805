"""From which biases equal opportunity recovers the best rule: the setting of Blum & Stangl (2020).

"Recovering from biased data: can fairness constraints improve accuracy?", FORC 2020. A share r of the people
is deprived. In both groups the best rule h* accepts the same share, and the true outcome is the other one
with probability η, whatever else is known. Of the deprived a share β⁺ of the positives and β⁻ of the
negatives are recorded, and of the recorded positives a share ν as negatives. Equal opportunity is imposed on
the record: of its positives, the same share of either group is accepted.

Their condition, as Sharma & Deshpande (2024, "How far can fairness constraints help recover from biased
data?", ICML) restate it: the most accurate such rule on the record is h* if

    (1 − r)(1 − 2η) + r((1 − η) β⁺ (1 − 2ν) − η β⁻) > 0  and
    (1 − r)(1 − 2η) + r((1 − η) β⁻ − η β⁺ (1 − 2ν)) > 0.

Both follow from one step away from h*, a derivation of our own. Flips and selection multiply all positives of
the deprived by β⁺ (1 − ν), so that h* has equal recorded TPR. A rule that keeps them equal accepts less of
those whom h* accepts, or more of those whom it refuses, in the same proportion in both groups. The first
costs, per person, 1 − 2η correct decisions in the favoured group and (1 − η) β⁺ (1 − 2ν) − η β⁻ in the
deprived one, the second 1 − 2η and (1 − η) β⁻ − η β⁺ (1 − 2ν). As correct decisions are a concave function of
the TPR, h* is the only best rule where both sums are above 0, and is none where one is below: the conditions
are necessary too, but for equality. Without constraint they hold with r = 1: the deprived then have to be
decided rightly on their own.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from fairbench_cli.data.table import Column
from fairbench_cli.network.exact_measures import WorldFacts, compute_facts
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.world import World, make_world

SAME = 1e-9
"""Counts of rules no further apart are the same, and margins as near to 0 decide nothing."""


@dataclass(frozen=True)
class BiasSetting:
    """One case of Blum & Stangl's setting.

    Parameters
    ----------
    deprived : float
        r, the share of the deprived, in (0, 1).
    error : float
        η, of the best rule, in (0, 1/2).
    positives, negatives : float
        β⁺ and β⁻, the shares of the deprived with each outcome that are recorded, in (0, 1].
    flip : float
        ν, the share of the recorded positives of the deprived with the other label, in [0, 1).
    accepted : float
        The share that the best rule accepts, in (0, 1); no condition depends on it.
    """

    deprived: float
    error: float
    positives: float
    negatives: float
    flip: float
    accepted: float = 0.5

    def margin(self, constrained: bool = True) -> float:
        """Return the smaller of the two sums, of equal opportunity or of no constraint; above 0: recovered.

        >>> setting = BiasSetting(0.5, 0.25, 0.5, 1.0, 0.5)
        >>> setting.margin(), setting.margin(constrained=False)
        (0.125, -0.25)
        """
        r, eta = self.deprived if constrained else 1.0, self.error
        plus, minus = self.positives * (1 - 2 * self.flip), self.negatives
        steps = (1 - eta) * plus - eta * minus, (1 - eta) * minus - eta * plus
        return (1 - r) * (1 - 2 * eta) + r * min(steps)

    def world(self) -> World:
        """Return the setting as a world: group, what the best rule decides of a person, and outcome."""
        yes = self.accepted
        net = BayesNet(
            (Column("group", ("B", "A")), Column("best", ("no", "yes")), Column("outcome", ("no", "yes"))),
            ((), (), (1,)),
            (
                np.array([self.deprived, 1 - self.deprived]),
                np.array([1 - yes, yes]),
                np.array([[1 - self.error, self.error], [self.error, 1 - self.error]]),
            ),
        )
        kept = np.array([[self.negatives, self.positives], [1.0, 1.0]])
        flips = np.array([[[1.0, 0.0], [self.flip, 1 - self.flip]], np.eye(2)])
        world = make_world(net, "outcome", "yes", {"group": (("B",), ("A",))})
        return world.including(["group", "outcome"], kept).recording(["outcome"], ["group"], flips)


@dataclass(frozen=True)
class Recovery:
    """What theory and the exact optimum say of one setting.

    Parameters
    ----------
    margin : float
        The smaller sum of the conditions; above 0: recovered.
    predicted, found : bool or None
        Whether equal opportunity recovers the best rule: by the conditions (None on their border), and by the
        exact optimum.
    plain_predicted, plain_found : bool or None
        The same of the most accurate rule without constraint.
    accuracy : float
        On the truth, of the rule with equal opportunity.
    """

    setting: BiasSetting
    margin: float
    predicted: bool | None
    found: bool
    plain_predicted: bool | None
    plain_found: bool
    accuracy: float

    @property
    def agrees(self) -> bool:
        """Whether theory and optimum agree where theory decides."""
        return self.predicted in (None, self.found) and self.plain_predicted in (None, self.plain_found)


def recoveries(settings: Iterable[BiasSetting]) -> Iterator[Recovery]:
    """Yield what theory and the exact optimum say of each setting."""
    for setting in settings:
        facts, margins = compute_facts(setting.world()), (setting.margin(), setting.margin(constrained=False))
        predicted, plain = (None if abs(margin) <= SAME else margin > 0 for margin in margins)
        yield Recovery(
            setting,
            margins[0],
            predicted,
            _is_best(facts, "equal-opportunity"),
            plain,
            _is_best(facts, "bayes"),
            facts.measure("equal-opportunity"),
        )


def grid(
    deprived: Iterable[float],
    error: Iterable[float],
    positives: Iterable[float],
    negatives: Iterable[float],
    flip: Iterable[float],
) -> list[BiasSetting]:
    """Return every combination of some values."""
    return [BiasSetting(*values) for values in product(deprived, error, positives, negatives, flip)]


def _is_best(facts: WorldFacts, rule: str) -> bool:
    """Return whether a rule decides all people as the best rule does."""
    own, best = (facts.counts[name, "true"].n for name in (rule, "truth"))
    return bool(np.allclose(own, best, rtol=0.0, atol=1e-6))
