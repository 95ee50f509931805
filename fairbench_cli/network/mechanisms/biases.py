"""The mechanisms of bias: how a record comes to differ from the truth, one class each.

Each is a frozen dataclass whose fields are its keys in a config, as `network.world.Mechanism` says.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fairbench_cli.base.errors import Problem, user_error
from fairbench_cli.base.parameters import UNWRITTEN
from fairbench_cli.data.column_card import Text
from fairbench_cli.data.table import Floats
from fairbench_cli.measures.counts import divide
from fairbench_cli.network.mechanisms import people
from fairbench_cli.network.mechanisms.people import Given, Group, Strength, in_words, levels_in_words, percent
from fairbench_cli.network.model import BayesNet, is_ancestor
from fairbench_cli.network.query import compute_posterior
from fairbench_cli.network.world import DataRoles, Mechanism, World

FAVOURED = "favoured"
Outcomes = Literal["favourable", "unfavourable", "any"]


@dataclass(frozen=True)
class LabelBias(Mechanism):
    """Flip a share of the recorded outcomes: P(Y' = − | Y = +, deprived) = flip.

    Flips do not look at the features, unless `given` says so. With p = P(+ | x, s), the record has
    p' = (1 − flip) p for those concerned, so that the ranking within the group is kept, and the gap between
    groups in TPR measured on Y' is that on Y for every rule that does not see Y'. The labelling bias of
    Blum & Stangl (2020), "Recovering from biased data: can fairness constraints improve accuracy?", and the
    label bias of Wick, Panda & Tristan (2019), "Unlocking fairness: a trade-off revisited". Where the outcome
    has no children, equation (4) of Cardoso et al. (2019) is this mechanism.

    Parameters
    ----------
    flip : float
        The share that is flipped, in [0, 1].
    to : {"unfavourable", "favourable"}
        What it is flipped to. Of several unfavourable levels, each in proportion to how often it is recorded.
    of : {"deprived", "favoured", "everybody"}, optional
        Whose outcomes; by default those of the deprived, or of the favoured where `to` is "favourable".
    given : mapping of str to levels, optional
        Only of those who have one of these levels in every such column. The ranking is not kept then:
        p' = (1 − flip · g(x)) p.
    """

    strength: ClassVar[str | None] = "flip"

    flip: Strength
    to: Literal["unfavourable", "favourable"] = "unfavourable"
    of: Group | None = None
    given: Given | None = None

    @property
    def affected_group(self) -> Group:
        """The group whose outcomes are flipped."""
        return self.of or ("deprived" if self.to == "unfavourable" else "favoured")

    @property
    def words(self) -> str:
        """What it does, as a phrase without a full stop."""
        who = in_words(self.affected_group, self.given, self.flipped_outcome)
        return f"{percent(self.flip)} of {who} are recorded with the {self.to} one"

    @property
    def flipped_outcome(self) -> str:
        """The outcome that is flipped."""
        if self.to == "unfavourable":
            return "favourable"
        return "unfavourable"

    def check(self, data: DataRoles) -> Iterator[Problem]:
        """Yield what is wrong with it for data of such columns."""
        yield from people.label_problems(data)
        yield from people.group_problems(data, (self.affected_group,))
        yield from people.given_problems(self.given, data)

    def apply(self, world: World) -> World:
        """Return the world whose outcomes are recorded once more, some of them flipped."""
        columns, mask = people.concerned(world, self.affected_group, self.given)
        levels = world.levels(world.label)
        plus = np.array([level == world.favourable for level in levels])
        flipped = ~plus
        if self.to == "unfavourable":
            flipped = plus
        goal = ~flipped
        who = f"concerned with the {self.flipped_outcome} outcome"
        people.check_somebody(world, (*columns, world.label), mask[..., None] & flipped, who)
        shares = world.joint([world.label]) * goal
        if shares.sum() > 0:
            shares = shares / shares.sum()
        else:
            shares = goal / goal.sum()
        identity = np.eye(len(levels))
        flips = np.where(flipped[:, None], (1 - self.flip) * identity + self.flip * shares, identity)
        return world.recording([world.label], columns, np.where(mask[..., None, None], flips, identity))


@dataclass(frozen=True)
class SelectionBias(Mechanism):
    """Leave a share of some people out of the record: P(included | Y = +, deprived) = 1 − drop.

    With odds = p / (1 − p), p = P(+ | x, s), and shares σ₊ of those with the favourable outcome and σ₋ of
    the others left out, the record of the group has odds' = odds (1 − σ₊) / (1 − σ₋): the ranking within
    the group and its AUC are kept. The under-representation bias of Blum & Stangl (2020), "Recovering
    from biased data: can fairness constraints improve accuracy?", and the selection bias of Wick, Panda &
    Tristan (2019), "Unlocking fairness: a trade-off revisited".

    With `by` an old policy decides instead: P(included | X, S). Labels are then known of those alone whom the
    policy let in (selective labels; Lakkaraju et al. 2017, "The selective labels problem").

    Parameters
    ----------
    drop : float
        The share that is left out, in [0, 1].
    label : {"favourable", "unfavourable", "any"}, optional
        The recorded outcome of those who are left out; by default the favourable one, or any with `by`.
    of : {"deprived", "favoured", "everybody"}, optional
        Their group; by default the deprived, or everybody with `by`.
    given : mapping of str to levels, optional
        Only those who have one of these levels in every such column.
    by : mapping of str to levels, optional
        Who has one of these levels in every such column is let in by the policy, and not left out.
    """

    strength: ClassVar[str | None] = "drop"

    drop: Strength
    label: Outcomes | None = None
    of: Group | None = None
    given: Given | None = None
    by: Given | None = None

    @property
    def affected_group(self) -> Group:
        """The group that is left out of."""
        return self.of or ("everybody" if self.by else "deprived")

    @property
    def outcomes(self) -> Outcomes:
        """The outcomes of those who are left out."""
        return self.label or ("any" if self.by else "favourable")

    @property
    def words(self) -> str:
        """What it does, as a phrase without a full stop."""
        who = in_words(self.affected_group, self.given, self.outcomes)
        policy = ""
        if self.by:
            policy = f", unless their {levels_in_words(self.by)}"
        return f"{percent(self.drop)} of {who} are left out of the record{policy}"

    def check(self, data: DataRoles) -> Iterator[Problem]:
        """Yield what is wrong with it for data of such columns."""
        yield from people.label_problems(data)
        yield from people.group_problems(data, (self.affected_group,))
        yield from people.given_problems(self.given, data)
        yield from people.given_problems(self.by, data, "by")
        if self.by:
            refused = [
                name
                for name, let_in in self.by.items()
                if not set(data.levels.get(name, ("",))) <= set(let_in)
            ]
            if not refused:
                yield Problem("by: the policy lets everybody in", "name fewer levels")
        if self.outcomes == "any" and self.affected_group == "everybody" and not self.given and not self.by:
            problem = "selection: a share of everybody, whatever the outcome, is left out, which is no bias"
            yield Problem(problem, "say whose (`of`, `given`, `by`) or which outcomes (`label`) are left out")

    def apply(self, world: World) -> World:
        """Return the world with one node of inclusion more."""
        columns, mask = people.concerned(world, self.affected_group, self.given, self.by or ())
        if self.by:
            mask = mask & ~world.having(columns, self.by)
        if self.outcomes != "any":
            has_outcome = np.array([level == world.favourable for level in world.levels(world.label)])
            if self.outcomes == "unfavourable":
                has_outcome = ~has_outcome
            columns = (*columns, world.label)
            mask = mask[..., None] & has_outcome
        people.check_somebody(world, columns, mask, "to be left out")
        return world.including(columns, np.where(mask, 1 - self.drop, 1.0))


@dataclass(frozen=True)
class MeasurementError(Mechanism):
    """Record a feature wrongly: X' = X with 1 − noise, else a draw from its marginal or another level.

    The errors differ by group, and so does what X' says of a person: the ranking within the group is lost,
    and with it accuracy that no threshold or weight gives back. Akpinar et al. (2022), "A sandbox tool to
    bias(stress)-test fairness algorithms", have such noise on features. `towards: shifted` is the measurement
    bias of Baumann et al. (2023), "Bias on demand": X' = X − shift + Normal(0, spread), cut into X's levels.
    Theirs is noise 1, the shift for the deprived alone, the spread for both groups: two mechanisms.

    Parameters
    ----------
    column : str
        The feature.
    noise : float
        The share that is recorded wrongly, in [0, 1]; of these a draw from the marginal may be right.
    of : {"deprived", "favoured", "everybody"}
        Whose feature.
    towards : str
        ``marginal``: a draw from the column's marginal in the record. ``lower``: the next lower level of a
        column whose levels have an order. ``shifted``: the level nearest to its number less `shift`, with a
        normal error. Else a level.
    shift : float
        With ``shifted``, how much lower, in the column's numbers: its levels, or the middles of its bins.
    spread : float, at least 0
        With ``shifted``, the standard deviation of the error.
    ordered : bool
        Of ``lower`` and ``shifted``: whether levels of a nominal column that are written as numbers have
        their order. Else they are codes, and none is lower.
    """

    strength: ClassVar[str | None] = "noise"
    features: ClassVar[bool] = True

    column: Text
    noise: Strength
    of: Group = "deprived"
    towards: Text = people.MARGINAL
    shift: float = field(default=0.0, metadata={UNWRITTEN: 0.0})
    spread: Annotated[float, Field(ge=0)] = field(default=0.0, metadata={UNWRITTEN: 0.0})
    ordered: bool = field(default=False, metadata={UNWRITTEN: False})

    @property
    def words(self) -> str:
        """What it does, as a phrase without a full stop."""
        who = f"{percent(self.noise)} of {in_words(self.of)}"
        new_level = people.goal(self.towards)
        if self.towards == people.SHIFTED:
            new_level = f"itself less {self.shift:g} with a normal error of {self.spread:g}"
        return f"the {self.column} of {who} is recorded as {new_level}"

    def check(self, data: DataRoles) -> Iterator[Problem]:
        """Yield what is wrong with it for data of such columns."""
        problems = list(people.column_problems(self.column, data, ("label", "group")))
        yield from problems or people.towards_problems(
            self.towards, self.column, data, (people.SHIFTED,), is_ordered=self.ordered
        )
        yield from people.group_problems(data, (self.of,))
        if self.towards == people.SHIFTED and self.shift == self.spread == 0:
            yield Problem("towards: shifted by nothing", "give it a shift, a spread or both")
        if self.towards != people.SHIFTED and (self.shift or self.spread):
            yield Problem("shift and spread have no effect here", "write towards: shifted, or remove them")

    def apply(self, world: World) -> World:
        """Return the world in which the column is recorded once more."""
        if self.column in world.omitted:
            problem = f'"{self.column}" is omitted before it is measured, so nothing is changed'
            raise user_error(problem, "leave one of the two out")
        columns, mask = people.concerned(world, self.of)
        column = world.base.columns[world.base.index(self.column)]
        marginal = world.joint([self.column])
        identity = np.eye(len(column.levels))
        if self.towards == people.SHIFTED:
            moved = people.shifted(column, self.shift, self.spread, is_ordered=self.ordered)
        else:
            moved = people.moves(column, self.towards, marginal, is_ordered=self.ordered)
        changed = mask[..., None] & (np.diag(moved) < 1)
        who = f'{self.of} whose "{self.column}" could be recorded otherwise'
        people.check_somebody(world, (*columns, self.column), changed, who)
        noisy = (1 - self.noise) * identity + self.noise * moved
        return world.recording([self.column], columns, np.where(mask[..., None, None], noisy, identity))


@dataclass(frozen=True)
class HistoricalBias(Mechanism):
    """Change a true feature: P'(X | deprived, parents) = (1 − shift) P(X | deprived, parents) + shift · Q.

    What follows from X in the network, the outcome too, follows from the changed X; what is recorded is true.
    The world is another than the fitted network's: differences between the groups are then "explained" by X,
    and a measure that conditions on X does not see them. The historical bias of Suresh & Guttag (2021), "A
    framework for understanding sources of harm throughout the machine learning life cycle", and of Baumann et
    al. (2023), "Bias on demand".

    Parameters
    ----------
    column : str
        The feature X.
    shift : float
        How far, in [0, 1].
    towards : str
        What Q is. ``favoured``: P(X | favoured, other parents), the CPT rows of the favoured. ``lower``: the
        next lower level, of a column whose levels have an order. ``marginal``: P(X). Else a level.
    of : {"deprived", "favoured", "everybody"}
        Whose feature.
    ordered : bool
        Of ``lower``: whether levels of a nominal column that are written as numbers have their order. Else
        they are codes, and none is lower.
    """

    strength: ClassVar[str | None] = "shift"

    column: Text
    shift: Strength
    towards: Text
    of: Group = "deprived"
    ordered: bool = field(default=False, metadata={UNWRITTEN: False})

    @property
    def words(self) -> str:
        """What it does, as a phrase without a full stop."""
        if self.towards == FAVOURED:
            new = "as of the favoured"
        else:
            new = people.goal(self.towards)
        return f"the true {self.column} of {percent(self.shift)} of {in_words(self.of)} is {new}"

    def check(self, data: DataRoles) -> Iterator[Problem]:
        """Yield what is wrong with it for data of such columns."""
        problems = list(people.column_problems(self.column, data))
        yield from problems or people.towards_problems(
            self.towards, self.column, data, (FAVOURED,), is_ordered=self.ordered
        )
        yield from people.group_problems(data, ("deprived", "favoured"))
        if self.of == self.towards == FAVOURED:
            yield Problem("towards: the favoured are as the favoured already", "write of: deprived")

    def apply(self, world: World) -> World:
        """Return the world in which the true column has another CPT."""
        network = world.network
        truth = world.true_name(self.column)
        j = network.index(truth)
        groups = [network.index(world.true_name(name)) for name in world.groups]
        if self.of == "everybody" and self.towards != FAVOURED:
            groups = []
        if any(is_ancestor(network.parents, j, i) for i in groups):
            problem = f'the group follows from "{self.column}" in the network, so it cannot decide on it'
            fix = "name another column, or write of: everybody"
            if self.towards == FAVOURED:
                fix += " and something else after `towards`"
            raise user_error(problem, fix)
        if self.towards == FAVOURED and not set(groups) & set(network.parents[j]):
            problem = f'"{self.column}" does not depend on the group given its parents in the network'
            raise user_error(problem, "name a child of the group, or something else after `towards`")
        other_parents = [i for i in network.parents[j] if i not in groups]
        cpt = _by_groups(network, j, groups, other_parents)
        if self.towards == FAVOURED:
            new = _of_favoured(network, groups, other_parents, cpt, world.of_group(FAVOURED))
        else:
            marginal = compute_posterior(network, [truth]).table
            column = network.columns[j]
            new = cpt @ people.moves(column, self.towards, marginal, is_ordered=self.ordered)
        mixed = (1 - self.shift) * cpt + self.shift * new
        if self.of != "everybody":
            concerned = world.of_group(self.of)
            # The groups' columns come first; an axis of length 1 for each other parent and for the column.
            concerned = np.expand_dims(concerned, tuple(range(concerned.ndim, cpt.ndim)))
            mixed = np.where(concerned, mixed, cpt)
        if np.allclose(mixed, cpt, rtol=0, atol=1e-12):
            raise user_error(f'"{self.column}" stays as it is', "change whom it concerns, or `towards`")
        parents = list(network.parents)
        cpts = list(network.cpts)
        parents[j] = tuple(groups + other_parents)
        cpts[j] = mixed
        return replace(world, network=BayesNet(network.columns, tuple(parents), tuple(cpts)))


def _by_groups(network: BayesNet, j: int, groups: Sequence[int], other_parents: Sequence[int]) -> Floats:
    """Return the CPT of node j with an axis for each column of the groups, then the other parents."""
    node_parents = network.parents[j]
    group_parents = [i for i in groups if i in node_parents]
    axes = [node_parents.index(i) for i in chain(group_parents, other_parents)]
    cpt = network.cpts[j].transpose([*axes, len(node_parents)])
    # An axis of length 1 for each column of the groups that is no parent, then as many equal tables.
    missing_axes = [axis for axis, i in enumerate(groups) if i not in node_parents]
    cpt = np.expand_dims(cpt, tuple(missing_axes))
    sizes = [len(network.columns[i].levels) for i in groups]
    return np.broadcast_to(cpt, tuple(sizes) + cpt.shape[len(groups) :])


def _of_favoured(
    network: BayesNet,
    groups: Sequence[int],
    other_parents: Sequence[int],
    cpt: Floats,
    mask: NDArray[np.bool_],
) -> Floats:
    """Return P(X | favoured, other parents) for every level of the groups' columns."""
    names = [network.names[i] for i in chain(groups, other_parents)]
    axes = tuple(range(len(groups)))
    is_favoured = np.expand_dims(mask, tuple(range(mask.ndim, len(names))))
    weight = np.where(is_favoured, compute_posterior(network, names).table, 0)
    total = weight.sum(axis=axes, keepdims=True)
    weight = np.where(total > 0, divide(weight, total), is_favoured / mask.sum())
    return np.asarray((weight[..., None] * cpt).sum(axis=axes, keepdims=True))


@dataclass(frozen=True)
class OmittedColumn(Mechanism):
    """Leave a feature out of the record: nobody sees X, and p(x) is what the other features tell.

    Whatever is left of X in the others stays there; a measure that conditions on X cannot be computed. The
    omitted variable bias of Mehrabi et al. (2021), "A survey on bias and fairness in machine learning", and
    of Baumann et al. (2023), "Bias on demand".

    Parameters
    ----------
    column : str
        The feature. Later mechanisms may look at it: what decides need not be recorded.
    """

    neutral: ClassVar[bool] = False

    column: Text

    @property
    def words(self) -> str:
        """What it does, as a phrase without a full stop."""
        return f"{self.column} is not recorded"

    def check(self, data: DataRoles) -> Iterator[Problem]:
        """Yield what is wrong with it for data of such columns."""
        yield from people.column_problems(self.column, data)

    def apply(self, world: World) -> World:
        """Return the world in which the column is not recorded."""
        if self.column in world.omitted:
            raise user_error(f'"{self.column}" is omitted twice', "omit it once")
        omitted = replace(world, omitted=world.omitted + (self.column,))
        if set(omitted.recorded) <= {world.label} | set(world.groups):
            problem = f'without "{self.column}" the record has no feature'
            raise user_error(problem, "omit fewer columns")
        return omitted


@dataclass(frozen=True)
class GroupNoise(Mechanism):
    """Record the other group: S' = S with 1 − noise, else a level of the other group.

    Of several levels each is recorded in proportion to how often the record has it, of a joint attribute of
    all columns together. For decisions and outcomes that do not look at S', the gap in their rates between
    the recorded groups is (1 − a − b) times the true one, a = P(S = favoured | S' = deprived) and b =
    P(S = deprived | S' = favoured); for TPR and FPR a and b are those among people with that label: Lamy et
    al. (2019), "Noise-tolerant fair classification", after Scott, Blanchard & Handy (2013), "Classification
    with asymmetric label noise".

    Parameters
    ----------
    noise : float
        The share whose group is recorded wrongly, in [0, 1].
    of : {"everybody", "deprived", "favoured"}
        Whose group: that of both, or of one.
    """

    strength: ClassVar[str | None] = "noise"
    features: ClassVar[bool] = True

    noise: Strength
    of: Group = "everybody"

    @property
    def words(self) -> str:
        """What it does, as a phrase without a full stop."""
        return f"{percent(self.noise)} of {in_words(self.of)} are recorded as of the other group"

    def check(self, data: DataRoles) -> Iterator[Problem]:
        """Yield what is wrong with it for data of such columns."""
        yield from people.group_problems(data, ("deprived", "favoured"))

    def apply(self, world: World) -> World:
        """Return the world in which the columns of the groups are recorded once more."""
        columns = list(world.groups)
        recorded = world.joint(columns)
        table = np.eye(recorded.size).reshape(recorded.shape + recorded.shape)
        for group, other_group in (("deprived", "favoured"), ("favoured", "deprived")):
            if self.of in (group, "everybody"):
                mask = world.of_group(group)
                goal = np.where(world.of_group(other_group), recorded, 0)
                people.check_somebody(world, columns, mask, f"who is {group}")
                people.check_somebody(world, columns, goal > 0, f"who is {other_group}")
                table[mask] = (1 - self.noise) * table[mask] + self.noise * goal / goal.sum()
        return world.recording(columns, (), table)


@dataclass(frozen=True)
class GroupShare(Mechanism):
    """Set a group's share of the record: P(S = deprived | included) = share; all else given S stays.

    People of the group that is then too large are left out at random, so that what is lost is rows: base
    rates, p(x, s) and the ranking stay. The representation bias of Suresh & Guttag (2021), "A framework for
    understanding sources of harm throughout the machine learning life cycle"; the undersampling of Akpinar et
    al. (2022), "A sandbox tool to bias(stress)-test fairness algorithms".

    Parameters
    ----------
    share : float
        The share, above 0 and below 1.
    of : {"deprived", "favoured"}
        The group.
    """

    strength: ClassVar[str | None] = "share"
    neutral: ClassVar[bool] = False

    share: Annotated[float, Field(gt=0, lt=1)]
    of: Literal["deprived", "favoured"] = "deprived"

    @property
    def words(self) -> str:
        """What it does, as a phrase without a full stop."""
        return f"the {self.of} are {percent(self.share)} of the record"

    def check(self, data: DataRoles) -> Iterator[Problem]:
        """Yield what is wrong with it for data of such columns."""
        yield from people.group_problems(data, ("deprived", "favoured"))
        if self.share in (0, 1):
            problem = f"a share of {self.share:g} leaves one group empty"
            yield Problem(problem, "give a share above 0 and below 1")

    def apply(self, world: World) -> World:
        """Return the world with one node of inclusion more, which looks at the group alone."""
        columns = list(world.groups)
        mask = world.of_group(self.of)
        people.check_somebody(world, columns, mask, f"who is {self.of}")
        people.check_somebody(world, columns, ~mask, f"who is not {self.of}")
        now = world.joint(columns)[mask].sum()
        ratio = self.share * (1 - now) / (now * (1 - self.share))  # of the group, for each of the others
        return world.including(columns, np.where(mask, min(ratio, 1), min(1 / ratio, 1)))
