"""Repair of more than two groups, and the original tool's repair as friedler2019 ran it."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from conftest import law
from hypothesis import given
from hypothesis import strategies as st

from fairbench_cli.classifiers.builders import Tree
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Column, Sample, Table
from fairbench_cli.interventions.repair import (
    Auditor,
    Repair,
    distance,
    make_plan,
    repair_by_distinct_values,
    repair_by_rank,
    repair_features,
)

CLASSIFIER = Classifier(Tree(min_leaf=2), include_protected=False, seed=0)
groups = st.lists(st.lists(st.integers(0, 8), min_size=1, max_size=12), min_size=2, max_size=5)
categories = st.integers(1, 5).flatmap(
    lambda k: st.lists(
        st.lists(st.integers(0, 30), min_size=k, max_size=k).filter(any), min_size=2, max_size=5
    )
)
levels = st.sampled_from([0.0, 0.5, 1.0])
NUMBER = Column("wage", tuple(map(str, range(9))), "number", tuple(map(float, range(9))))


def rng(seed=0):
    return np.random.default_rng(seed)


def rows(found):
    """Codes and groups of lists of codes, mixed."""
    codes = np.concatenate(found).astype(np.int16)
    s = np.repeat(np.arange(len(found)), list(map(len, found))).astype(np.int16)
    order = rng(7).permutation(len(s))
    return codes[order], s[order]


def lower_median(values):
    return sorted(values)[(len(values) - 1) // 2]


def people(n=300, seed=0, race="abcd"):
    """A number, a job, race of four values and sex; all depend on race."""
    draw = rng(seed)
    code = draw.choice([ord(letter) - 97 for letter in race], n)
    sex = draw.integers(0, 2, n)
    job = (draw.integers(0, 3, n) + code) % 4
    wage = np.minimum(draw.integers(0, 6, n) + code, 8)
    columns = (NUMBER, Column("job", tuple("abcd")), Column("race", tuple("abcd")), Column("sex", ("f", "m")))
    table = Table(columns, np.asfortranarray(np.stack([wage, job, code, sex], axis=1).astype(np.int16)))
    y = (draw.random(n) < 0.2 + 0.15 * code).astype(np.int8)
    s = (code == 3).astype(np.int8)
    return Sample(table, "race", y, s, outcomes=("0", "1"), protected=("race", "sex"))


@law(40)
@given(found=groups, level=levels, seed=st.integers(0, 99))
def test_numbers_go_to_the_lower_median_of_all_groups_quantiles(found, level, seed):
    codes, s = rows(found)
    _, after = repair_by_rank(NUMBER, codes, s, level, "combinatorial", rng(seed), len(found))
    own, pooled = [sorted(some) for some in found], sorted({x for some in found for x in some})
    expected = Counter()
    for g, some in enumerate(own):
        for r, x in enumerate(some):
            u = Fraction(2 * r + 1, 2 * len(some))
            goal = lower_median(
                [next(v for i, v in enumerate(other) if Fraction(i + 1, len(other)) >= u) for other in own]
            )
            here, there = pooled.index(x), pooled.index(goal)
            expected[g, x, pooled[here + round(level * (there - here))]] += 1
    assert Counter(zip(s.tolist(), codes.tolist(), after.tolist(), strict=True)) == expected


@law(40)
@given(found=categories, level=levels)
def test_every_group_is_expected_at_the_same_target_distribution(found, level):
    counts = np.array(found)
    plan, sizes = make_plan(counts, level), counts.sum(axis=1, keepdims=True)
    shares = counts / sizes
    median = np.sort(shares, axis=0)[(len(found) - 1) // 2]
    target = (1 - level) * shares + level * median
    assert (plan.keep <= counts).all()
    if not target.any():
        return
    target /= target.sum(axis=1, keepdims=True)
    moving = sizes - plan.keep.sum(axis=1, keepdims=True)
    ends = plan.keep + moving * plan.law
    np.testing.assert_allclose(ends, sizes * target, atol=counts.shape[1])  # whole rows are kept
    if len(found) > 2:
        assert (ends <= sizes * target + counts.shape[1]).all()


def test_two_levels_are_a_pair():
    train, test = (replace(some, attribute="sex", s=some.features["sex"].astype(np.int8)) for some in two())
    pair, both = (Repair(groups=how).fit(train, CLASSIFIER, rng()) for how in ("pair", "levels"))
    assert pair.facts == both.facts
    assert (pair.predict(test) == both.predict(test)).all()


def two():
    return people(), people(seed=1)


def test_all_levels_are_alike_afterwards_and_protected_columns_stay():
    train, _ = two()
    race = train.features["race"]
    after, learned = repair_features(train, Repair(groups="levels"), seed=0)
    assert set(learned) == {"wage", "job"}
    for name in ("race", "sex"):
        assert (after.features[name] == train.features[name]).all()
    columns = after.features.columns
    assert distance(columns[0], after.features["wage"], race, ranked=True) < 0.03
    assert distance(columns[0], train.features["wage"], race, ranked=True) > 0.4
    pair, _ = repair_features(train, Repair(), seed=0)
    assert distance(columns[0], pair.features["wage"], race, ranked=True) > 0.2


def test_a_value_without_training_rows_stays_as_it_is():
    train, test = people(race="abd"), people(seed=1)
    new = test.features["race"] == 2
    for spec in (Repair(groups="levels"), Repair(groups="levels", test_repair="own")):
        fitted = spec.fit(train, CLASSIFIER, rng())
        after = fitted.model.repaired(test).features
        assert (after["job"][~new] != test.features["job"][~new]).any()
        if spec.test_repair == "train_map":
            assert (after.codes[new] == test.features.codes[new]).all()
    one = train.take(np.flatnonzero(train.features["race"] == 3))
    assert Repair(groups="levels").fit(one, CLASSIFIER, rng()).reason == "all rows are of one group"


@law(40)
@given(found=groups, level=levels)
def test_the_original_rule_for_numbers_of_several_groups(found, level):
    codes, s = rows(found)
    after = repair_by_distinct_values(codes, s + np.int16(2), np.arange(9.0), level)
    own, pooled = [sorted(set(some)) for some in found], sorted({x for some in found for x in some})
    runs, done, new = min(map(len, own)), 0.0, [{} for _ in own]
    for _ in range(runs):
        pieces = [some[round(done * len(some)) : round((done + 1 / runs) * len(some))] for some in own]
        done += 1 / runs
        goal = pooled.index(lower_median([lower_median(piece) for piece in pieces]))
        for piece, moved in zip(pieces, new, strict=True):
            for value in piece:
                here = pooled.index(value)
                moved[value] = pooled[here + round(level * (goal - here))]
    assert after.tolist() == [new[g][x] for g, x in zip(s.tolist(), codes.tolist(), strict=True)]


def test_rows_to_predict_are_repaired_as_a_set_of_their_own():
    train, test = two()
    spec = Auditor(label=False, obscure=False, test_repair="own", groups="levels")
    fitted = spec.fit(train, CLASSIFIER, rng(3))
    seed = int(rng(3).integers(2**63))
    assert (
        fitted.predict(test) == CLASSIFIER.fit(spec.repaired(train, seed)).predict(spec.repaired(test, seed))
    ).all()
    alone = test.take(np.array([0]))
    assert fitted.model.repaired(alone) is alone


@pytest.mark.parametrize(("favourable_first", "becomes"), [(False, 0), (True, 1)])
def test_labels_written_as_numbers_become_one_where_a_group_has_one(favourable_first, becomes):
    train, _ = two()
    train = replace(train, favourable_first=favourable_first)
    spec = Auditor(columns="none", obscure=False, groups="levels")
    fitted = spec.fit(train, CLASSIFIER, rng())
    assert (fitted.status, fitted.facts["labels_changed"]) == ("ok", 0)
    y = np.where(train.features["race"] == 0, becomes, train.y).astype(np.int8)
    fitted = spec.fit(replace(train, y=y), CLASSIFIER, rng())
    assert (fitted.status, fitted.reason) == ("degraded", "the repaired labels are all the same")
    assert (fitted.predict(train) == becomes).all()
    assert replace(spec, label=False).fit(replace(train, y=y), CLASSIFIER, rng()).status == "ok"
