"""Leaf relabelling against enumerated optima, and its laws."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import law
from hypothesis import given
from hypothesis import strategies as st
from techniques_data import adult, doubled, golden, of_levels, reordered

from fairbench_cli.classifiers.builders import C45Settings, NaiveBayes, RandomForest, Tree
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.interventions.fitted import Infeasible
from fairbench_cli.interventions.leaf_relabelling import (
    LeafRelabelling,
    greedy,
    grow,
    information_gains,
    leaves_of,
    nodes_of,
    optimal,
    split_values,
    without_needless,
)
from fairbench_cli.measures.counts import count
from fairbench_cli.measures.registry import measure

C45 = Classifier(C45Settings(), include_protected=False, seed=0)
CART = Classifier(Tree(min_leaf=2), include_protected=False, seed=0)
CELLS = ["n00", "n01", "n10", "n11"]


def leaves(table):
    rows = golden("leaf_tables").query("table == @table")
    return rows, leaves_of(rows[CELLS].to_numpy().reshape(-1, 2, 2), rows["label"].tolist())


@pytest.mark.parametrize("table", range(6))
def test_what_relabelling_a_leaf_does(table):
    rows, own = leaves(table)
    n = float(sum(own.n))
    np.testing.assert_allclose([-float(cost) / n for cost in own.cost], rows["delta_acc"], atol=1e-9)
    share = float(own.n[0] * own.n[1])
    np.testing.assert_allclose([-float(gain) / share for gain in own.gain], rows["delta_disc"], atol=1e-9)


@pytest.mark.parametrize(
    "run", golden("leaf_runs").to_dict("records"), ids=lambda run: f"{run['table']}-{run['eps']}"
)
def test_the_greedy_order_and_the_optimum(run):
    _, own = leaves(run["table"])
    eps = float(run["eps"])
    chosen = greedy(own, eps)
    assert chosen == list(map(int, str(run["greedy_order"]).split()))
    assert own.outcome([]) == pytest.approx((run["acc0"], run["disc0"]), abs=1e-9)
    assert own.outcome(chosen) == pytest.approx((run["greedy_acc"], run["greedy_disc"]), abs=1e-9)
    fewer = without_needless(own, chosen, eps)
    assert fewer == list(map(int, str(run["pruned"]).split()))
    best = optimal(own, eps)
    assert own.outcome(best)[0] == pytest.approx(run["optimal_acc"], abs=1e-9)
    assert own.outcome(best)[1] <= eps
    assert (own.outcome(best)[0] == own.outcome(chosen)[0]) == bool(run["greedy_is_optimal"])
    # Table 5's stored optimum also relabels a leaf that costs nothing, to pull an overshoot back.
    assert run["table"] == 5 or best == list(map(int, str(run["optimal"]).split()))


@pytest.mark.parametrize("steps", [rows for _, rows in golden("leaf_steps").groupby(["table", "eps"])])
def test_every_greedy_step(steps):
    table, eps = steps[["table", "eps"]].iloc[0]
    _, own = leaves(table)
    chosen = greedy(own, float(eps))
    reached = [own.outcome(chosen[: step + 1]) for step in range(len(chosen))]
    np.testing.assert_allclose(reached, steps[["acc_after", "disc_after"]], atol=1e-9)


@law(100)
@given(
    counts=st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1, max_size=7),
    flips=st.integers(0, 127),
    epsilon=st.sampled_from([0.0, 0.1, 0.35]),
)
def test_the_optimum_is_the_best_of_all_subsets(counts, flips, epsilon):
    cells = np.array(counts).reshape(-1, 2, 2)
    if (cells.sum(axis=(0, 2)) == 0).any():
        return
    labels = [int((leaf[:, 1].sum() > leaf[:, 0].sum()) ^ (flips >> j & 1)) for j, leaf in enumerate(cells)]
    own = leaves_of(cells, labels)
    candidates = [leaf for leaf, gain in enumerate(own.gain) if gain > 0]
    subsets = [
        [leaf for j, leaf in enumerate(candidates) if bits >> j & 1] for bits in range(2 ** len(candidates))
    ]
    allowed = own.allowed(epsilon)
    fair = [some for some in subsets if own.discrimination - sum(own.gain[leaf] for leaf in some) <= allowed]
    best = max(own.outcome(some)[0] for some in fair)
    found = optimal(own, epsilon)
    assert found in fair
    if own.discrimination > allowed:
        assert own.outcome(found)[0] == best
    for some in (greedy(own, epsilon), without_needless(own, greedy(own, epsilon), epsilon)):
        assert own.discrimination - sum(own.gain[leaf] for leaf in some) <= allowed


CRITERIA = {"IGC": "IGC", "IGC-IGS": "IGC_minus_IGS", "IGC/IGS": "IGC_over_IGS", "IGC+IGS": "IGC_plus_IGS"}


def test_the_gains_of_stored_splits():
    gains = golden("split_gains").set_index("split")
    for split, rows in golden("split_counts").groupby("split"):
        counts = rows[CELLS].to_numpy(float).reshape(-1, 2, 2)
        np.testing.assert_allclose(
            information_gains(counts), gains.loc[split, ["IGC", "IGS"]].astype(float), atol=1e-9
        )
        for criterion, column in CRITERIA.items():
            np.testing.assert_allclose(
                split_values(counts, criterion), float(gains.loc[split, column]), rtol=1e-9, atol=1e-9
            )


@pytest.mark.parametrize("criterion", CRITERIA)
def test_an_own_tree_splits_by_its_criterion(criterion):
    train = sample(n=1000)
    model = grow(train, criterion, 20.0, include_protected=False)
    code = train.features["x1"], train.features["x2"], train.features["x3"]
    cells = train.s * 2 + train.y
    values = [
        split_values(
            np.bincount(x * 4 + cells, minlength=4 * (x.max() + 1)).reshape(-1, 2, 2).astype(float), criterion
        )
        for x in code
    ]
    best = float(np.nanmax(values))
    assert model.estimator.tree_.feature[0] == (int(np.nanargmax(values)) if best > 0 else -1)
    leaf = nodes_of(model, train)
    for node in np.unique(leaf):
        own = train.y[leaf == node]
        assert (model.predict_proba(train)[leaf == node] == own.mean()).all()
        assert (model.predict(train)[leaf == node] == (own.mean() > 0.5)).all()
    fitted = fit(train, criterion=criterion)
    assert fitted.facts["leaves"] == len(np.unique(leaf))
    assert fitted.facts["predicted_discrimination_after"] <= 0 or fitted.status == "noop"


def test_an_own_tree_of_numbers_is_scikit_learns():
    from sklearn.tree import DecisionTreeClassifier
    from techniques_data import of_numbers

    frame = golden("lfr_data")
    train = of_numbers(frame, ("x1", "x2"))
    model = grow(train, "IGC", 1.0, include_protected=False)
    theirs = DecisionTreeClassifier(criterion="entropy", max_depth=1).fit(frame[["x1", "x2"]], frame["y"])
    assert model.estimator.tree_.feature[0] == theirs.tree_.feature[0]
    values = np.unique(frame.iloc[:, theirs.tree_.feature[0]])
    assert model.estimator.tree_.threshold[0] == values[values <= theirs.tree_.threshold[0]].max()
    assert (model.predict(train) == train.y).all()


def test_an_own_tree_honours_weights_and_has_one_leaf_without_features():
    train = sample()
    twice, heavy = (grow(some, "IGC+IGS", 20.0, include_protected=False) for some in doubled(train))
    assert (twice.estimator.tree_.feature == heavy.estimator.tree_.feature).all()
    alone = replace(train, features=train.features.without("x1", "x2", "x3"))
    assert fit(alone, criterion="IGC").status == "noop"


def test_the_trees_own_parameters_belong_to_it():
    with pytest.raises(ValueError, match="min_leaf has no effect"):
        LeafRelabelling(min_leaf=5.0)


def sample(seed=0, n=400):
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 2, n)
    x1, x2, x3 = rng.integers(0, 3, n) + s, rng.integers(0, 5, n), rng.integers(0, 2, n)
    y = (rng.random(n) < 0.1 + 0.15 * x1 + 0.1 * x2 * x3).astype(int)
    import pandas as pd

    return of_levels(
        pd.DataFrame({"x1": x1, "x2": x2, "x3": x3, "s": s, "y": y}), {"x1": 4, "x2": 5, "x3": 2}
    )


def fit(train, classifier=C45, **parameters):
    return LeafRelabelling(**parameters).fit(train, classifier, np.random.default_rng(0))


@pytest.mark.parametrize("classifier", [C45, CART], ids=["c45", "tree"])
@pytest.mark.parametrize("solver", ["greedy", "optimal"])
@pytest.mark.parametrize("epsilon", [0.0, 0.05])
def test_the_facts_are_those_of_the_training_predictions(classifier, solver, epsilon):
    train = sample()
    fitted, plain = fit(train, classifier, solver=solver, epsilon=epsilon), classifier.fit(train)
    for when, predicted in (("before", plain.predict(train)), ("after", fitted.predict(train))):
        counts = count(train.s, train.y, predicted, ("deprived", "favoured"))
        for name in ("accuracy", "discrimination"):
            assert fitted.facts[f"predicted_{name}_{when}"] == pytest.approx(
                float(measure(name, counts)), abs=1e-12
            )
    assert (
        fitted.facts["predicted_discrimination_after"]
        <= epsilon
        < fitted.facts["predicted_discrimination_before"]
    )
    changed = fitted.predict(train) != plain.predict(train)
    p, before = fitted.model.predict_proba(train), plain.predict_proba(train)
    np.testing.assert_allclose(p, np.where(changed, 1 - before, before), atol=1e-15)


def test_the_optimum_is_no_worse_than_greedy():
    for seed in range(10):
        train = sample(seed)
        best, first = (
            fit(train, CART, solver=solver).facts["predicted_accuracy_after"]
            for solver in ("optimal", "greedy")
        )
        assert best >= first


def test_an_epsilon_above_what_there_is_changes_nothing():
    fitted = fit(sample(), epsilon=1.0)
    assert (fitted.status, fitted.facts["relabelled"]) == ("noop", 0)
    assert (fitted.predict(sample()) == C45.fit(sample()).predict(sample())).all()


def test_neither_order_nor_doubling_matters():
    train = sample()
    predicted = fit(train).predict(train)
    assert (fit(reordered(train)).predict(train) == predicted).all()
    twice, heavy = (fit(some, solver="optimal").predict(train) for some in doubled(train))
    assert (twice == heavy).all()


def test_the_optimum_of_fractional_weights_is_refused():
    train = sample()
    weighted = replace(train, weights=np.linspace(0.5, 1.5, len(train)))
    assert fit(weighted, CART).facts["predicted_discrimination_after"] <= 0
    with pytest.raises(Infeasible, match="fractional weights"):
        fit(weighted, CART, solver="optimal")


def test_a_table_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("fairbench_cli.interventions.leaf_relabelling.MOST_CELLS", 10)
    with pytest.raises(Infeasible, match="take solver greedy"):
        fit(sample(), CART, solver="optimal")


@pytest.mark.parametrize("spec", [NaiveBayes(), RandomForest(trees=2)])
def test_other_classifiers_are_refused(spec):
    with pytest.raises(Infeasible, match="take c45 or tree"):
        fit(sample(), Classifier(spec, include_protected=False, seed=0))


def test_one_group_is_refused_and_one_outcome_is_nothing_to_do():
    train = sample()
    with pytest.raises(Infeasible, match="favoured group has no"):
        fit(train.take(np.flatnonzero(train.s == 0)))
    assert fit(train.take(np.flatnonzero(train.y == 0))).status == "noop"


@pytest.mark.parametrize("spec", [C45Settings(), C45Settings(prune=False), C45Settings(min_leaf=20)])
def test_the_leaves_of_c45_hold_the_rows_that_it_counted(spec):
    train = sample(n=1000)
    model = Classifier(spec, include_protected=False, seed=0).fit(train)
    tree = model.estimator.tree_
    leaf = model.estimator.apply(model.encoder.transform(train.features))
    assert (tree.feature[leaf] == -1).all()
    np.testing.assert_allclose(
        np.bincount(leaf, minlength=tree.size), np.where(tree.feature == -1, tree.counts.sum(1), 0)
    )


def test_adult(tmp_path):
    train = adult(tmp_path, without=["race"])
    fitted = fit(train, Classifier(C45Settings(min_leaf=50), include_protected=False, seed=0))
    best = fit(train, Classifier(C45Settings(min_leaf=50), include_protected=False, seed=0), solver="optimal")
    assert (
        fitted.facts["predicted_discrimination_after"] <= 0 < fitted.facts["predicted_discrimination_before"]
    )
    assert best.facts["predicted_accuracy_after"] >= fitted.facts["predicted_accuracy_after"]
