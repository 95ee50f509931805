"""Repair: laws, a slow second implementation, and Adult's numbers."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from conftest import law, scaled
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from techniques_data import reads

from fairbench_cli.classifiers.builders import NaiveBayes, Tree
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.card import read_card
from fairbench_cli.data.load import load
from fairbench_cli.data.locate import data_folders, locate_files
from fairbench_cli.data.table import Column, Sample, Table, to_sample
from fairbench_cli.interventions.baselines import NoIntervention
from fairbench_cli.interventions.fitted import Infeasible
from fairbench_cli.interventions.repair import (
    Repair,
    apply_maps,
    distance,
    is_ranked,
    make_plan,
    repair_by_rank,
    repair_features,
)

CLASSIFIER = Classifier(Tree(min_leaf=2), include_protected=False, seed=0)
LEVELS = (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(1))
METHODS = ("combinatorial", "geometric")

levels = st.sampled_from(LEVELS)
group = st.lists(st.integers(0, 12), min_size=1, max_size=30)
counts = st.integers(1, 7).flatmap(
    lambda k: st.tuples(*[st.lists(st.integers(0, 40), min_size=k, max_size=k).filter(any)] * 2)
)


def rng(seed=0):
    return np.random.default_rng(seed)


def number(values, name="wage", kind="number"):
    return Column(name, tuple(map(str, values)), kind, tuple(map(float, values)))


def rows(first, second):
    """Codes and groups of two lists of codes, mixed."""
    codes = np.array([*first, *second], dtype=np.int16)
    s = np.repeat(np.array([0, 1], dtype=np.int8), [len(first), len(second)])
    order = rng(7).permutation(len(s))
    return codes[order], s[order]


def people(n=400, seed=0, groups=(0, 1)):
    """A number, bins, a category and sex; all but the last depend on it."""
    draw = rng(seed)
    s = draw.choice(np.array(groups, dtype=np.int8), n)
    columns = (
        number([10 * k for k in range(40)]),
        number([5, 15, 30, 80], "age", "bins"),
        Column("job", tuple("abcde")),
        Column("sex", ("f", "m")),
    )
    codes = [
        draw.integers(0, 30, n) + 10 * s,
        draw.integers(0, 3, n) + s,
        np.minimum(draw.integers(0, 5, n) + s, 4),
        s,
    ]
    y = (draw.random(n) < 0.3 + 0.3 * s).astype(np.int8)
    table = Table(columns, np.asfortranarray(np.stack(codes, axis=1).astype(np.int16)))
    return Sample(table, "sex", y, s)


def slowly(first, second, level, method):
    """Count (group, value, new value), one row and one fraction at a time; codes are values."""
    own = (sorted(first), sorted(second))
    pooled = sorted({*first, *second})
    found = Counter()
    for s in (0, 1):
        for r, x in enumerate(own[s]):
            u = Fraction(2 * r + 1, 2 * len(own[s]))
            goal = min(
                next(v for v in some if Fraction(sum(w <= v for w in some), len(some)) >= u) for some in own
            )
            if method == "combinatorial":
                here, there = pooled.index(x), pooled.index(goal)
                found[s, x, float(pooled[here + round(level * (there - here))])] += 1
            else:
                found[s, x, float((1 - level) * x + level * goal)] += 1
    return found


@pytest.mark.parametrize("method", METHODS)
@law(60)
@given(first=group, second=group, level=levels, seed=st.integers(0, 99))
def test_numbers_go_where_a_slow_implementation_sends_them(method, first, second, level, seed):
    column, (codes, s) = number(range(13)), rows(first, second)
    learned, after = repair_by_rank(column, codes, s, float(level), method, rng(seed))
    values = np.array(learned.column.values)[after]
    found = Counter(zip(s.tolist(), codes.tolist(), values.tolist(), strict=True))
    assert found == slowly(first, second, level, method)


@law(60)
@given(first=group, second=group, level=levels, seed=st.integers(0, 99), method=st.sampled_from(METHODS))
def test_rows_without_ties_are_repaired_alike_when_they_come_to_be_predicted(
    first, second, level, seed, method
):
    codes, s = rows(first, second)
    learned, after = repair_by_rank(number(range(13)), codes, s, float(level), method, rng(seed))
    again = learned.apply(codes, s, rng(seed + 1))
    seen = Counter(zip(s.tolist(), codes.tolist(), strict=True))
    alone = [seen[pair] == 1 for pair in zip(s.tolist(), codes.tolist(), strict=True)]
    assert (after[alone] == again[alone]).all()


@law(60)
@given(first=group, second=group, method=st.sampled_from(METHODS), seed=st.integers(0, 99))
def test_at_level_1_the_groups_distributions_of_a_number_are_equal(first, second, method, seed):
    codes, s = rows(first, second)
    learned, after = repair_by_rank(number(range(13)), codes, s, 1.0, method, rng(seed))
    gap = distance(learned.column, after, s, ranked=True)
    assert gap <= 2 / min(len(first), len(second))
    if len(first) == len(second):
        assert gap == 0


@law(60)
@given(first=group, second=group, level=st.floats(0, 1), new=st.lists(st.integers(0, 19), max_size=30))
def test_rows_to_predict_get_values_of_training_rows_even_for_values_never_seen(first, second, level, new):
    codes, s = rows(first, second)
    learned, _ = repair_by_rank(number(range(20)), codes, s, level, "combinatorial", rng())
    for sex in (0, 1):
        after = learned.apply(np.array(new, dtype=np.int16), np.full(len(new), sex, dtype=np.int8), rng())
        assert set(after.tolist()) <= {*first, *second}


@law(60)
@given(two=counts, level=levels)
def test_the_plan_of_a_category_is_that_of_exact_fractions(two, level):
    plan = make_plan(np.array(two), float(level))
    sizes = [sum(some) for some in two]
    common = [
        min(Fraction(some[c], n) for some, n in zip(two, sizes, strict=True)) for c in range(len(two[0]))
    ]
    for s in (0, 1):
        share = [Fraction(n, sizes[s]) for n in two[s]]
        keep = [int((1 - level) * n + level * m * sizes[s]) for n, m in zip(two[s], common, strict=True)]
        assert plan.keep[s].tolist() == keep
        assert all(kept <= n for kept, n in zip(keep, two[s], strict=True))  # so two groups have no deficit
        weight = [(1 - level) * p + level * m for p, m in zip(share, common, strict=True)]
        if not any(weight):
            weight = [Fraction(bool(a or b)) for a, b in zip(*two, strict=True)]
        np.testing.assert_allclose(plan.law[s], [float(w / sum(weight)) for w in weight], atol=1e-12)


@law(60)
@given(two=counts, level=levels, seed=st.integers(0, 99))
def test_exactly_the_planned_number_of_rows_keep_their_category(two, level, seed):
    codes, s = rows(*(np.repeat(np.arange(len(some)), some).tolist() for some in two))
    k = len(two[0])
    plan = make_plan(np.array([[*some, 0] for some in two]), float(level))
    marked = replace(plan, law=np.eye(k + 1)[[k, k]])  # all others draw the same, unused category
    after = marked.carry_out(codes, s, rng(seed))
    kept = np.array([[np.sum((s == g) & (codes == c) & (after == c)) for c in range(k)] for g in (0, 1)])
    assert (kept == plan.keep[:, :k]).all()
    assert ((after == codes) | (after == k)).all()


def test_those_who_do_not_keep_their_category_draw_by_the_law():
    plan = make_plan(np.array([[60_000, 30_000, 10_000], [10_000, 50_000, 40_000]]), 0.5)
    codes, s = rows(*(np.repeat(np.arange(3), some).tolist() for some in plan.counts))
    for after in (plan.carry_out(codes, s, rng()), plan.follow(codes, s, rng())):
        for g in (0, 1):
            drawn = np.bincount(after[s == g], minlength=3)
            surplus = plan.counts[g].sum() - plan.keep[g].sum()
            np.testing.assert_allclose(drawn, plan.keep[g] + surplus * plan.law[g], atol=1000)


def test_a_column_with_31_and_11_per_cent_goes_to_14():
    plan = make_plan(np.array([[13026, 1669], [20988, 9539]]), 1.0)
    assert plan.law[:, 1] == pytest.approx([0.1418, 0.1418], abs=5e-5)
    codes, s = rows(*([0] * a + [1] * b for a, b in plan.counts))
    after = plan.carry_out(codes, s, rng())
    assert [after[s == g].mean() for g in (0, 1)] == pytest.approx([0.1418, 0.1418], abs=0.003)


def test_groups_without_a_common_category_draw_from_all_of_them_at_level_1():
    plan = make_plan(np.array([[5, 5, 0, 0], [0, 0, 9, 0]]), 1.0)
    assert plan.keep.sum() == 0
    assert plan.law.round(3).tolist() == [[0.333, 0.333, 0.333, 0.0]] * 2


@pytest.mark.parametrize("bins", ["number", "nominal"])
@pytest.mark.parametrize("method", METHODS)
def test_level_0_leaves_everything_as_it_is(method, bins):
    train, test = people(), people(seed=1)
    after, learned = repair_features(train, Repair(level=0.0, method=method, bins=bins), seed=3)
    assert after.features.to_frame().astype(str).equals(train.features.to_frame().astype(str))
    predicted = apply_maps(test, learned, seed=3)
    assert predicted.features.to_frame().astype(str).equals(test.features.to_frame().astype(str))
    fitted = Repair(level=0, method=method, bins=bins).fit(train, CLASSIFIER, rng())
    plain = NoIntervention().fit(train, CLASSIFIER, rng())
    assert (fitted.model.predict_proba(test) == plain.model.predict_proba(test)).all()
    assert (fitted.status, fitted.reason) == ("noop", "level 0 repairs nothing")


@pytest.mark.parametrize("bins", ["number", "nominal"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("test_repair", ["train_map", "own", "none"])
def test_outcome_and_protected_attribute_are_not_repaired(method, bins, test_repair):
    train, test = people(), people(seed=1)
    fitted = Repair(method=method, bins=bins, test_repair=test_repair).fit(train, CLASSIFIER, rng())
    after, _ = repair_features(train, Repair(level=1.0, method=method, bins=bins), seed=0)
    for before, repaired in ((train, after), (test, fitted.model.repaired(test))):
        assert (repaired.features["sex"] == before.features["sex"]).all()
        assert repaired.y is before.y
        assert repaired.s is before.s
    assert fitted.facts["distance_after"] < 0.1 < 0.25 < fitted.facts["distance_before"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("test_repair", ["train_map", "own", "none"])
def test_predictions_are_those_of_the_seed(method, test_repair):
    train, test = people(), people(seed=1)
    spec = Repair(level=0.7, method=method, test_repair=test_repair)
    one, two, other = (spec.fit(train, CLASSIFIER, rng(seed)) for seed in (0, 0, 1))
    probabilities = one.model.predict_proba(test)
    assert (probabilities == one.model.predict_proba(test)).all()
    assert (probabilities == two.model.predict_proba(test)).all()
    assert (probabilities != other.model.predict_proba(test)).any()
    assert (one.predict(test) == one.predict(test)).all()


@pytest.mark.parametrize("method", METHODS)
def test_rows_to_predict_are_repaired_as_asked(method):
    train, test = people(2000), people(2000, seed=1)
    models = {
        how: Repair(method=method, test_repair=how).fit(train, CLASSIFIER, rng()).model
        for how in ("train_map", "own", "none")
    }
    gap = {}
    for how, model in models.items():
        after = model.repaired(test)
        assert after.features.columns[0] == model.model.columns[0]
        gap[how] = distance(after.features.columns[0], after.features["wage"], test.s, ranked=True)
    assert gap["own"] < 0.005 < gap["train_map"] < 0.06 < 0.2 < gap["none"]
    own = models["own"].repaired
    spec = Repair(method=method, test_repair="own")
    again, _ = repair_features(train, spec, own.keywords["seed"])
    assert own(train).features.to_frame().equals(again.features.to_frame())
    assert (
        models["none"]
        .repaired(test)
        .features.to_frame()
        .astype({"wage": float})["wage"]
        .isin(np.array(models["none"].model.columns[0].values))
        .all()
    )


def test_the_order_of_columns_and_what_else_there_is_does_not_matter():
    train = people()
    some = replace(train, features=Table(train.features.columns[::-1], train.features.codes[:, ::-1]))
    for fewer in (some, replace(train, features=train.features.without("age"))):
        after, _ = repair_features(fewer, Repair(level=0.5), seed=5)
        whole, _ = repair_features(train, Repair(level=0.5), seed=5)
        assert all((after.features[name] == whole.features[name]).all() for name in fewer.features.names)


def test_bins_are_repaired_by_rank_or_as_categories():
    train = people(3000)
    ranked, _ = repair_features(train, Repair(level=1.0), seed=0)
    drawn, _ = repair_features(train, Repair(level=1.0, bins="nominal"), seed=0)
    bins = train.features.columns[1]
    assert distance(bins, ranked.features["age"], train.s, ranked=True) <= 2 / 1400
    assert (ranked.features["age"] <= train.features["age"]).all()  # the smaller of two quantiles
    assert (drawn.features["age"] > train.features["age"]).any()
    assert distance(bins, drawn.features["age"], train.s, ranked=False) < 0.05
    near, learned = repair_features(train, Repair(level=0.5, method="geometric"), seed=0)
    assert learned["age"].column == bins
    assert (near.features["age"] <= train.features["age"]).all()


def test_a_geometric_repair_makes_new_numbers_and_gives_the_group_away():
    codes, s = rows(rng(0).binomial(20, 0.4, 3000), rng(1).binomial(20, 0.6, 3000))
    column, gap = number(range(21)), {}
    for method in METHODS:
        learned, after = repair_by_rank(column, codes, s, 0.3, method, rng())
        values = learned.column.values
        assert (set(values) <= set(column.values)) == (method == "combinatorial")
        assert list(values) == sorted(values)
        assert learned.column.kind == "number"
        gap[method] = distance(learned.column, after, s, ranked=False)
    assert gap["combinatorial"] < 0.7 < 0.95 < gap["geometric"]


def test_the_rng_tells_equals_apart_not_their_place():
    codes, s = rows([0] * 10 + [1] * 10, [0] * 5 + [2] * 15)
    down, redrawn = np.zeros(40), np.zeros(40)
    plan = make_plan(np.array([[10, 10, 0], [5, 0, 15]]), 0.5)
    seeds = range(scaled(200))
    for seed in seeds:
        down += repair_by_rank(number(range(3)), codes, s, 1.0, "combinatorial", rng(seed))[1] == 0
        redrawn += plan.carry_out(codes, s, rng(seed)) != codes
    twos = (s == 1) & (codes == 2)
    assert down[twos].sum() == len(seeds) * 5  # at ranks 5 to 9 the first group has its 0s
    assert down[twos].min() > 0.1 * len(seeds)  # of about a third
    assert plan.keep[1, 2] == 7
    assert redrawn[twos].min() > 0.5 * redrawn[twos].mean()


def test_a_number_that_is_its_own_goal_is_not_changed_by_rounding():
    numbers = [k / 10 for k in range(1, 60)]
    level = 0.1
    assert any((1 - level) * x + level * x != x for x in numbers)
    codes, s = rows(range(59), range(59))
    learned, after = repair_by_rank(number(numbers), codes, s, level, "geometric", rng())
    assert learned.column.values == tuple(numbers)
    assert (after == codes).all()


def test_more_new_numbers_than_codes_can_hold_share_levels_with_their_neighbours():
    codes, s = rows(range(20_000), range(2, 20_002))
    column = number([k**1.1 for k in range(20_002)])
    learned, after = repair_by_rank(column, codes, s, 0.3, "geometric", rng())
    assert len(learned.column.values) == int(after.max()) + 1 == 2**15
    moved = np.array(learned.column.values)[after] - np.array(column.values)[codes]
    assert np.abs(moved).max() < 5  # 0.3 of the way to a neighbour group that is two ranks ahead


def test_a_value_that_only_the_other_group_had_stands_between_its_neighbours():
    codes, s = rows([0, 0, 3, 3], [1, 2, 2, 3])
    learned, _ = repair_by_rank(number(range(6)), codes, s, 1.0, "combinatorial", rng())
    new = np.array([1, 2, 0, 5], dtype=np.int16)
    # In the first group 1 and 2 stand at u = 2/4: the goal is min(0, 2). 5 counts as 3, at u = 5/8 or 7/8.
    after = learned.apply(new, np.zeros(4, dtype=np.int8), rng())
    assert after[:3].tolist() == [0, 0, 0]
    assert after[3] in (2, 3)


def test_weights_are_refused():
    weighted = replace(people(), weights=np.ones(400))
    with pytest.raises(Infeasible, match="weights"):
        Repair().fit(weighted, CLASSIFIER, rng())


def test_one_group_alone_or_no_columns_leave_nothing_to_do():
    fitted = Repair().fit(people(groups=(1,)), CLASSIFIER, rng())
    assert (fitted.status, fitted.reason) == ("noop", "all rows are of one group")
    bare = people()
    bare = replace(bare, features=bare.features.without("wage", "age", "job"))
    fitted = Repair().fit(bare, CLASSIFIER, rng())
    assert (fitted.status, fitted.reason) == ("noop", "there is no column to repair")


@pytest.mark.parametrize("test_repair", ["train_map", "own", "none"])
@pytest.mark.parametrize("method", METHODS)
def test_rows_of_one_group_or_none_can_be_predicted(test_repair, method):
    model = Repair(test_repair=test_repair, method=method).fit(people(), CLASSIFIER, rng()).model
    assert len(model.predict(people(30, groups=(0,)))) == 30
    assert len(model.repaired(people(5).take(np.array([], dtype=np.intp)))) == 0


@pytest.mark.parametrize("test_repair", ["train_map", "none"])
def test_other_levels_than_in_training_are_refused(test_repair):
    model = Repair(test_repair=test_repair).fit(people(), CLASSIFIER, rng()).model
    test = people()
    columns = list(test.features.columns)
    columns[2] = Column("job", tuple("vwxyz"))
    with pytest.raises(ValueError, match='column "job" has other levels than in training'):
        model.predict(replace(test, features=Table(tuple(columns), test.features.codes)))
    with pytest.raises(KeyError, match="wage"):
        model.predict(replace(test, features=test.features.without("wage")))


@pytest.mark.parametrize("include_protected", [False, True])
def test_the_classifier_decides_who_sees_the_protected_attribute(include_protected):
    classifier = Classifier(NaiveBayes(), include_protected, seed=0)
    model = Repair().fit(people(), classifier, rng()).model
    assert reads(model, people(), "sex") == include_protected


def test_parameters_are_checked():
    adapter = TypeAdapter(Repair)
    assert adapter.validate_python({"level": 0.25, "bins": "nominal"}) == Repair(level=0.25, bins="nominal")
    for bad in ({"level": 1.5}, {"level": -0.1}, {"method": "mean"}, {"test_repair": True}, {"bins": ""}):
        with pytest.raises(ValidationError):
            adapter.validate_python(bad)


RAW = "extends: adult-complete\nname: adult-raw\ncolumns:\n" + "".join(
    f"  {name}: {{kind: integer}}\n"
    for name in ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")
)


@pytest.fixture(scope="module")
def adult(data_folder, tmp_path_factory):
    if not (data_folder / "adult.data").exists():
        pytest.skip("needs adult.data and adult.test in $FAIRBENCH_DATA")
    path = tmp_path_factory.mktemp("cards") / "adult-raw.yaml"
    path.write_text(RAW, encoding="utf-8")
    card = read_card(path)
    dataset = load(card, locate_files(card, data_folders(None, path)))
    return to_sample(dataset.table, dataset.roles("sex"))


def gaps(sample):
    features = sample.features
    return {
        column.name: distance(column, features.codes[:, j], sample.s, ranked=is_ranked(column, "number"))
        for j, column in enumerate(features.columns)
        if column.name != sample.attribute
    }


def test_adult_at_level_1(adult):
    assert len(adult) == 45_222
    numbers = {"age": 0.104, "fnlwgt": 0.038, "education_num": 0.035}
    numbers |= {"capital_gain": 0.044, "capital_loss": 0.023, "hours_per_week": 0.211}
    before = gaps(adult)
    assert {name: before[name] for name in numbers} == pytest.approx(numbers, abs=5e-4)
    known = {"relationship": 0.61, "marital_status": 0.47, "occupation": 0.37}
    assert {name: before[name] for name in known} == pytest.approx(known, abs=5e-3)
    repaired, learned = repair_features(adult, Repair(level=1.0), seed=0)
    after = gaps(repaired)
    assert all(after[name] < 5e-5 for name in numbers)
    assert all(gap <= 0.007 for gap in after.values())
    # What was learned from all rows repairs each half of them nearly as well.
    half = apply_maps(adult.take(np.arange(0, len(adult), 2)), learned, seed=1)
    assert all(gap <= 0.025 for gap in gaps(half).values())


def test_adult_comes_nearer_level_by_level(adult):
    levels = (0.0, 0.25, 0.5, 0.75, 1.0)
    steps = [gaps(repair_features(adult, Repair(level=c), seed=0)[0]) for c in levels]
    for name in steps[0]:
        line = [found[name] for found in steps]
        # Steps are whole: where the groups are one value apart, nothing moves before λ = ½.
        assert all(after < before + 1e-6 for before, after in pairwise(line)), name
