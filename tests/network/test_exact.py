"""What is said of a world without training, against sums over every combination of levels of all columns."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from network_data import random_net

from fairbench_cli.base.errors import UserError
from fairbench_cli.data.table import Column
from fairbench_cli.measures.thresholds import best_thresholds, group_points
from fairbench_cli.network import exact_measures, query
from fairbench_cli.network.bias import BetaBias
from fairbench_cli.network.draw import sample
from fairbench_cli.network.exact_measures import compute_facts
from fairbench_cli.network.files import open_network
from fairbench_cli.network.mechanisms.biases import LabelBias, MeasurementError, SelectionBias
from fairbench_cli.network.model import BayesNet, cpt_shape
from fairbench_cli.network.query import compute_chances, compute_factors, markov_boundary
from fairbench_cli.network.world import World, make_beta_world, make_world

GROUPS = {"s": (("f",), ("m",))}


def people(seed: int, *, sink: bool = False) -> BayesNet:
    """Return a random network of group, outcome and four features, with arcs in both directions."""
    rng = np.random.default_rng(seed)
    names, sizes = ("s", "a", "y", "b", "c", "d"), (2, 3, 2, 3, 2, 2)
    columns = tuple(
        Column(name, ("f", "m") if name == "s" else tuple("0123"[:size]))
        for name, size in zip(names, sizes, strict=True)
    )
    parents = ((), (0,), (0, 1), (0, 1) if sink else (0, 2), (3,) if sink else (2, 3), (4, 1))
    tables = (
        rng.dirichlet(np.full(sizes[j], 1.5), cpt_shape(columns, own, j)[:-1])
        for j, own in enumerate(parents)
    )
    return BayesNet(columns, parents, tuple(tables))


def noise(levels: int, share: float) -> np.ndarray:
    return (1 - share) * np.eye(levels) + share / levels


def worlds(seed: int, *, sink: bool = False) -> dict[str, World]:
    net = people(seed, sink=sink)
    world = make_world(net, "y", "1", GROUPS)
    rng = np.random.default_rng(seed)
    measured = world.recording(["b"], ["s"], np.stack([noise(3, 0.6), np.eye(3)]))
    flipped = make_world(net, "y", "1", GROUPS, [LabelBias(flip=0.4)])
    return {
        "none": world,
        "beta": make_beta_world(net, "y", "1", GROUPS, BetaBias(((GROUPS, 1.0),)), 0.5),
        "label": flipped,
        "label given": make_world(net, "y", "1", GROUPS, [LabelBias(flip=0.6, given={"a": ["1", "2"]})]),
        "selection": world.including(["s", "y"], np.array([[0.9, 0.4], [1.0, 1.0]])),
        "measurement": measured,
        "group": world.recording(["s"], [], noise(2, 0.3)),
        "screening": world.including(["s", "a"], np.array([[0.0, 1.0, 0.5], [1.0, 0.3, 0.8]])),
        "omission": World(net, net, "y", "1", GROUPS, omitted=("b",)),
        "all": flipped.recording(["b"], [], noise(3, 0.5))
        .recording(["s"], ["c"], np.stack([noise(2, 0.2), noise(2, 0.4)]))
        .including(["y", "d"], rng.uniform(0.3, 1, (2, 2))),
    }


def every_person(world: World, hidden: set[str], features: str) -> dict[str, dict]:
    """Return all that is compared, from the joint distributions of all nodes."""
    net, base, n = world.network, world.base, len(world.network.columns)
    operands = [part for j, cpt in enumerate(net.cpts) for part in (cpt, [*net.parents[j], j])]
    joint = np.einsum(*operands, list(range(n)))
    named = [net.columns[j].levels for j in range(n)]
    at = {name: j for j, name in enumerate(net.names)}
    operands = [part for j, cpt in enumerate(base.cpts) for part in (cpt, [*base.parents[j], j])]
    whole = np.einsum(*operands, list(range(len(base.columns))))
    seen = [name for name in world.recorded if name not in hidden | {"y"}]
    best = [name for name in base.names if name not in hidden | {"y"}]
    table: dict[tuple, np.ndarray] = {}
    p: dict[tuple, np.ndarray] = {}
    for codes in product(*map(range, whole.shape)):
        p.setdefault(tuple(codes[base.index(name)] for name in best), np.zeros(2))[codes[2]] += whole[codes]
    everybody = []
    for codes in product(*map(range, joint.shape)):
        true = tuple(codes[at[world.true_name(name)]] for name in base.names)
        own = joint[tuple(codes)]
        if not own:
            continue
        inside = all(named[at[name]][codes[at[name]]] == "yes" for name in world.included)
        recorded = tuple(codes[at[name]] for name in seen)
        view = tuple(codes[at[name if features == "recorded" else world.true_name(name)]] for name in seen)
        group = codes[at["s" if features == "recorded" else world.true_name("s")]]
        x = p[tuple(true[base.index(name)] for name in best)]
        if inside:
            table.setdefault(recorded, np.zeros(2))[codes[at["y"]]] += own
        everybody.append(
            (true, codes[at["s"]], codes[at["y"]], inside, own, view, recorded, group, x[1] / x.sum())
        )
    inside_at = np.array([person[3] for person in everybody])
    record = np.array([person[4] for person in everybody])
    truth = record.copy()
    if world.network.cpt(world.true_name("y")).shape == base.cpt("y").shape:  # of eq. (4): the people are P's
        ratio = [
            base.cpt("y")[person[0][0], person[0][1], person[0][2]]
            / world.network.cpt(world.true_name("y"))[person[0][0], person[0][1], person[0][2]]
            for person in everybody
        ]
        truth *= np.array(ratio)
    score = np.array([rate_at(table, person[5], hidden, seen) for person in everybody])
    unseen = np.array([person[5] not in table for person in everybody])
    own_score = np.array([rate_at(table, person[6], hidden, seen) for person in everybody])
    return {
        "true": (np.array([q[0][0] for q in everybody]), np.array([q[0][2] for q in everybody]), truth),
        "recorded": (
            np.array([q[1] for q in everybody]),
            np.array([q[2] for q in everybody]),
            np.where(inside_at, truth, 0) / truth[inside_at].sum(),
        ),
        "record": np.where(inside_at, record, 0) / record[inside_at].sum(),
        "score": score,
        "owner": np.array([q[0][0] for q in everybody]),
        "unseen": (unseen * truth).sum(),
        "own": (own_score, np.array([q[1] for q in everybody])),
        "seen": np.array([q[7] for q in everybody]),
        "p": np.array([q[8] for q in everybody]),
    }


def rate_at(table: dict, x: tuple, hidden: set[str], seen: list[str]) -> float:
    """Return the record's rate of favourable outcomes at x, or else of the group, or of everybody."""
    if x not in table:
        alike = [own for at, own in table.items() if hidden or at[seen.index("s")] == x[seen.index("s")]]
        return sum(alike)[1] / sum(alike).sum()
    return table[x][1] / table[x].sum()


def counted(group: np.ndarray, y: np.ndarray, mass: np.ndarray, chance: np.ndarray) -> np.ndarray:
    n = np.zeros((2, 2, 2))
    np.add.at(n, (group, y, 1), mass * chance)
    np.add.at(n, (group, y, 0), mass * (1 - chance))
    return n


CASES = [
    (name, seed, sink, hidden, features)
    for seed, (name, sink, hidden, features) in enumerate(
        [
            *((name, False, False, "true") for name in worlds(0)),
            *((name, True, True, "true") for name in worlds(0)),
            *(
                (name, False, hidden, "recorded")
                for name in ("measurement", "group", "all")
                for hidden in (0, 1)
            ),
        ]
    )
]


@pytest.mark.parametrize(("name", "seed", "sink", "hidden", "features"), CASES)
def test_facts_are_those_of_every_combination_of_levels(name, seed, sink, hidden, features):
    world = worlds(seed, sink=sink)[name]
    found = compute_facts(world, include_protected=not hidden, features=features)
    known = every_person(world, {"s"} if hidden else set(), features)
    assert found.how == "exact"
    score, seen, p = known["score"], known["seen"], known["p"]
    best = {}
    for g in (0, 1):
        points = group_points(score[seen == g], known["true"][1][seen == g], known["true"][2][seen == g])
        best[g] = points.thresholds[np.argmax(points.tp - points.fp)]
    own_group, y, mass = known["true"]
    points = [group_points(p[own_group == g], y[own_group == g], mass[own_group == g]) for g in (0, 1)]
    truth_thresholds = np.array([of.thresholds[np.argmax(of.tp - of.fp)] for of in points])
    rules = {
        "constant-accept": np.ones(len(score)),
        "bayes": score >= 0.5,
        "truth": p >= truth_thresholds[known["owner"]] - 1e-9,
        "oracle-thresholds": score >= np.where(seen == 0, best[0], best[1]) - 1e-9,
    }
    own, recorded_group = known["own"]
    y, mass = known["recorded"][1], known["record"]
    groups = [
        group_points(own[recorded_group == g], y[recorded_group == g], mass[recorded_group == g])
        for g in (0, 1)
    ]
    for rule, held in (("demographic-parity", "demographic-parity"), ("equal-opportunity", "tpr-parity")):
        mixtures = best_thresholds(groups, held).mixtures  # by the linear programme
        rules[rule] = np.where(seen == 0, mixtures[0].chance(score + 1e-9), mixtures[1].chance(score + 1e-9))
    assert found.value("unseen") == pytest.approx(known["unseen"], abs=1e-9)
    for rule, chance in rules.items():
        for labels in ("recorded", "true"):
            if labels == "true" and name == "screening" and rule in exact_measures.HELD:
                continue  # mixtures as good in the record may differ in people whom it never has
            n = counted(*known[labels], chance)
            assert found.counts[rule, labels].n[0] == pytest.approx(n, abs=1e-7), (rule, labels)
    for g, group in enumerate(("deprived", "favoured")):
        for labels in ("true", "recorded"):
            weight = known["record"] if labels == "recorded" else known["true"][2]
            y, mass = (part[known[labels][0] == g] for part in (known[labels][1], weight))
            own = score[known[labels][0] == g]
            pairs = np.outer(mass * (y == 1), mass * (y == 0))
            above = np.subtract.outer(own, own)
            wins = (pairs * ((above > 1e-12) + 0.5 * (np.abs(above) <= 1e-12))).sum() / pairs.sum()
            assert found.value("auc", labels, group) == pytest.approx(wins, abs=1e-9)
        which = known["true"][0] == g
        mass, p_, q = known["true"][2][which], p[which], score[which]
        first = np.subtract.outer(p_, p_)
        pairs = np.outer(mass, mass) * (np.abs(first) > 1e-9)
        wrong = np.subtract.outer(q, q) * np.sign(first) <= 1e-13
        share = (pairs * wrong).sum() / pairs.sum()
        assert found.value("discordant", group=group) == pytest.approx(share, abs=1e-9)
        assert found.value("kept", group=group) == float(share == 0)


@pytest.mark.parametrize("name", worlds(0))
def test_total_variation_is_that_of_all_columns(name):
    world = worlds(7)[name]
    tables = []
    for net, given in ((world.network, dict.fromkeys(world.included, "yes")), (world.base, {})):
        factors, exponent = compute_factors(net, world.recorded, given)
        table = np.einsum(
            *(
                part
                for names, own in factors.items()
                for part in (own, [world.recorded.index(n) for n in names])
            ),
            list(range(len(world.recorded))),
        )
        tables.append(table / table.sum())
        assert np.log(table.sum()) + exponent == pytest.approx(np.log(world.share_included if given else 1))
    expected = np.abs(tables[0] - tables[1]).sum() / 2
    assert compute_facts(world).value("total-variation") == pytest.approx(expected, abs=1e-12)


def test_draws_are_exact_within_their_error():
    world = worlds(3)["all"]
    known = compute_facts(world, features="recorded")
    found = compute_facts(world, features="recorded", cells=1, draws=40_000, seed=1)
    assert (known.how, found.how) == ("exact", "draws")
    z = []
    for (*names, value, error, _), (*others, other, none, _) in zip(found.rows(), known.rows(), strict=True):
        assert names == others
        assert none == 0
        z.append(abs(value - other) / error if error > 1e-9 else 0.0)
        assert value == pytest.approx(other, abs=0.02)
    assert 0.3 < np.mean([own for own in z if own]) < 1.3  # of the normal distribution 0.8
    assert max(z) < 5
    with pytest.raises(UserError, match="too many levels"):
        compute_facts(world, cells=1, draws=0)


@pytest.mark.parametrize("seed", range(12))
def test_chances_need_the_boundary_alone(seed):
    rng = np.random.default_rng(seed)
    net = random_net(rng, 7)
    columns = list(rng.permutation(net.names))
    of, given, seen = columns[0], {columns[1]: "a"}, columns[2 : 4 + seed % 3]
    boundary = markov_boundary(net, of, seen, given)
    rows = sample(net, 50, seed)
    found = compute_chances(net, of, "b", seen, {name: rows[name] for name in (*boundary, seen[0])}, given)
    operands = [part for j, cpt in enumerate(net.cpts) for part in (cpt, [*net.parents[j], j])]
    joint = np.einsum(*operands, [net.index(name) for name in (*seen, columns[1], of)])[..., 0, :]
    known = joint[tuple(rows[name] for name in seen)]
    assert found == pytest.approx(known[:, 1] / known.sum(1), rel=1e-9)
    for name in set(seen) - set(boundary):  # all else does not matter, given these
        axis = seen.index(name)
        share = joint / joint.sum(-1, keepdims=True)
        assert np.ptp(share, axis=axis) == pytest.approx(0, abs=1e-9)


def test_one_beta_is_two_biases_on_dutch():
    net, _ = open_network("dutch")
    groups = {"sex": (("female",), ("male",))}
    found = compute_facts(make_world(net, "occupation", "2_1", groups, [LabelBias(flip=0.5)]))
    assert found.value("kept", group="deprived") == 1
    assert found.value("thresholds-lose", "true") == pytest.approx(0, abs=1e-12)
    bias = BetaBias(((groups, 1.0),))
    tilted = compute_facts(make_beta_world(net, "occupation", "2_1", groups, bias, 0.5))
    p, flipped = net.cpt("occupation")[0, 1], found.value("favourable", "recorded", "deprived")
    assert flipped == pytest.approx(tilted.value("favourable", "recorded", "deprived"))
    constant = 0.5 * (1 - p) / (1 - 0.5 * p)  # odds of half of p over those of p
    assert tilted.value("prior-shift", group="deprived") == pytest.approx(constant)
    assert ("prior-shift", "", "deprived") not in found.values
    assert found.measure("bayes") < 0.74 < 0.82 < tilted.measure("bayes")


def test_the_table_of_known_numbers_of_dutch():
    """From samples of 300,000 rows by two other implementations."""
    net, _ = open_network("dutch")
    how = net, "occupation", "2_1", {"sex": (("female",), ("male",))}
    tilted = make_beta_world(*how, BetaBias(((how[3], 1.0),)), 0.5)
    rules = ("bayes", "demographic-parity", "equal-opportunity", "oracle-thresholds")
    for world, features, *known in (
        (make_world(*how), "true", 0.832, 0.772, 0.826, 0.832, 0.833, 0.772, 0.826),
        (tilted, "true", 0.829, 0.727, 0.826, 0.832, 0.847, 0.725, 0.839),
        (make_world(*how, [LabelBias(0.5)]), "true", 0.732, 0.768, 0.826, 0.832, 0.814, 0.717, 0.785),
        (make_world(*how, [SelectionBias(0.5)]), "true", 0.832, 0.747, 0.826, 0.832, 0.840, 0.735, 0.833),
        (
            make_world(*how, [MeasurementError("edu_level", 0.5)]), "recorded",
            *(0.781, 0.736, 0.758, 0.781, 0.782, 0.737, 0.759),
        ),
    ):  # fmt: skip
        facts = compute_facts(world, features=features)
        true = [facts.measure(rule) for rule in rules]
        if world is tilted:  # on record are its own people
            facts = compute_facts(replace(world, base=world.network), features=features)
        recorded = [facts.measure(rule, labels="recorded") for rule in rules[:3]]
        assert [*true, *recorded] == pytest.approx(known, abs=0.004)


def test_a_feature_may_be_called_as_a_part_of_the_outcome():
    net = people(3)
    columns = tuple(replace(one, name="y.b") if one.name == "b" else one for one in net.columns)
    found = []
    for own, name in ((net, "b"), (replace(net, columns=columns), "y.b")):
        world = make_world(own, "y", "1", GROUPS, [MeasurementError(name, 0.5), LabelBias(0.3)])
        found.append(compute_facts(world, cells=1, draws=4_000).measure("truth"))
    assert found[1] == pytest.approx(found[0], abs=0.03)  # streams have the columns' names


def test_a_number_that_is_drawn_among_exact_ones_says_so(monkeypatch):
    monkeypatch.setattr(exact_measures, "_compute_total_variation", lambda *_: np.array([0.1, 0.2]))
    rows = compute_facts(worlds(3)["label"]).rows()
    assert {quantity for _, quantity, *_, how in rows if how == "draws"} == {"total-variation"}


def test_several_unfavourable_outcomes_are_one():
    net = people(3)
    y, levels = net.columns[2], (np.array([0.3, 0.7]), np.array([1.0]))
    parts = np.concatenate([levels[0], levels[1]])[[0, 2, 1]]  # of "0", "1" and "2", which is a kind of "0"
    at = [0, 1, 0]
    cpts = []
    for j, (own, table) in enumerate(zip(net.parents, net.cpts, strict=True)):
        if j == 2:
            table = table[..., at] * parts
        elif 2 in own:
            table = np.take(table, at, axis=own.index(2))
        cpts.append(table)
    columns = (*net.columns[:2], Column("y", (*y.levels, "2")), *net.columns[3:])
    split = BayesNet(columns, net.parents, tuple(cpts))
    for biases in ([], [LabelBias(flip=0.4)]):
        found, other = (compute_facts(make_world(own, "y", "1", GROUPS, biases)) for own in (split, net))
        for (*names, value, _, _), (*others, known, _, _) in zip(found.rows(), other.rows(), strict=True):
            assert names == others
            if names[1] != "total-variation":
                assert value == pytest.approx(known, abs=1e-9), names


def test_groups_of_a_joint_attribute_are_by_any_of_its_columns():
    net = people(5)
    groups = GROUPS | {"c": (("0",), ("1",))}
    joint, single = (compute_facts(make_world(net, "y", "1", own)) for own in (groups, GROUPS))
    deprived = make_world(net, "y", "1", groups).joint(["s", "c", "y"])
    deprived[1, 1] = 0
    assert joint.value("share", "true", "deprived") == pytest.approx(deprived.sum())
    assert joint.value("favourable", "true", "deprived") == pytest.approx(
        deprived[..., 1].sum() / deprived.sum()
    )
    for rule in ("bayes", "truth"):  # all see both columns
        assert joint.measure(rule) == pytest.approx(single.measure(rule))


def test_what_is_hidden_is_as_good_as_omitted_for_a_rule_that_does_not_look_at_the_group():
    net = people(6)
    hidden = compute_facts(make_world(net, "y", "1", GROUPS), include_protected=False, hidden=("s", "b"))
    omitted = compute_facts(World(net, net, "y", "1", GROUPS, omitted=("b",)), include_protected=False)
    assert hidden.measure("bayes") == pytest.approx(omitted.measure("bayes"))
    assert hidden.measure("truth") <= omitted.measure("truth")  # which sees what is omitted


@pytest.mark.parametrize("world", [worlds(8)[name] for name in ("none", "label", "selection")])
def test_where_the_ranking_is_kept_thresholds_undo_a_bias(world):
    found = compute_facts(world)
    assert [found.value("kept", group=group) for group in ("deprived", "favoured")] == [1, 1]
    assert found.value("thresholds-lose", "true") == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("name", [*worlds(8)])
def test_no_thresholds_on_the_record_beat_the_truth_for_rules_that_see_the_groups(name):
    assert compute_facts(worlds(8)[name]).value("thresholds-lose", "true") >= -1e-9


def test_chances_are_summed_row_by_row_where_a_table_would_be_too_large(monkeypatch):
    net = random_net(np.random.default_rng(4), 9)
    rows = sample(net, 40, 1)
    seen = ["c0", "c5", "c8"]
    known = compute_chances(net, "c4", "a", seen, {name: rows[name] for name in seen}, {"c7": "b"})
    monkeypatch.setattr(query, "LARGEST", 4)
    found = compute_chances(net, "c4", "a", seen, {name: rows[name] for name in seen}, {"c7": "b"})
    assert found == pytest.approx(known, rel=1e-9)
    monkeypatch.setattr(query, "MOST_COMBINATIONS", 4)
    with pytest.raises(UserError, match="needs a table"):
        compute_chances(net, "c4", "a", seen, {name: rows[name] for name in seen}, {"c7": "b"})
