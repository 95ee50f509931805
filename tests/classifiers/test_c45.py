"""Laws of C45, its estimator contract and its errors."""

import subprocess
import sys
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from conftest import environment, law
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from fairbench_cli.classifiers.builders import C45Settings
from fairbench_cli.classifiers.c45 import C45, fast, reference
from fairbench_cli.classifiers.c45.tree import TreeRows, added_errors, rules_of


@parametrize_with_checks([C45()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@st.composite
def nominal_data(draw, rows=(12, 60), most_levels=3):
    """Random codes, classes and weights; few levels, so that no column is ruled out for having many."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, m = draw(st.integers(*rows)), draw(st.integers(1, 4))
    levels = rng.integers(1, most_levels + 1, m)
    X = rng.integers(0, levels, (n, m))
    classes = draw(st.integers(2, 3))
    y = (X.sum(axis=1) + (rng.random(n) < 0.3) * rng.integers(0, classes, n)) % classes
    weight = rng.integers(1, 4, n).astype(float) if draw(st.booleans()) else np.ones(n)
    return levels.tolist(), X, y, weight


options = st.fixed_dictionaries(
    {
        "prune": st.booleans(),
        "raise_subtrees": st.booleans(),
        "collapse": st.booleans(),
        "confidence": st.sampled_from([0.05, 0.25, 0.5]),
        "min_leaf": st.sampled_from([1, 2, 5]),
    }
)


@pytest.mark.gate
@law(150)
@given(nominal_data(), options)
def test_doubling_rows_is_doubling_weights(data, chosen):
    levels, X, y, weight = data
    once = C45(levels=levels, **chosen).fit(X, y, 2 * weight)
    twice = C45(levels=levels, **chosen).fit(np.vstack([X, X]), np.tile(y, 2), np.tile(weight, 2))
    assert once.export_text() == twice.export_text()


@law(150)
@given(nominal_data(), options, st.randoms())
def test_row_order_does_not_matter(data, chosen, random):
    levels, X, y, weight = data
    order = list(range(len(y)))
    random.shuffle(order)
    plain = C45(levels=levels, **chosen).fit(X, y, weight)
    mixed = C45(levels=levels, **chosen).fit(X[order], y[order], weight[order])
    assert plain.export_text() == mixed.export_text()


@law(150)
@given(nominal_data(), st.randoms())
def test_permuting_levels_permutes_the_tree(data, random):
    """The largest branch is the last of equals, so raising may follow the level order: it is left out."""
    levels, X, y, weight = data
    moves = [random.sample(range(n), n) for n in levels]
    permuted = np.column_stack([np.array(move)[X[:, j]] for j, move in enumerate(moves)])
    plain = C45(levels=levels, raise_subtrees=False).fit(X, y, weight)
    other = C45(levels=levels, raise_subtrees=False).fit(permuted, y, weight)
    assert (plain.n_leaves_, plain.size_) == (other.n_leaves_, other.size_)
    np.testing.assert_allclose(plain.predict_proba(X), other.predict_proba(permuted), atol=1e-12)


@law(300)
@given(nominal_data(rows=(1, 80), most_levels=8), options)
def test_both_paths_make_the_same_tree(data, chosen):
    levels, X, y, weight = data
    columns = TreeRows(tuple(levels), X.astype(np.int32), None)
    tree = C45(levels=levels, **chosen)
    rules = rules_of(tree)
    quick = fast.build(columns, y, weight, 3, rules)
    plain = reference.build(columns, y, weight, 3, rules)
    for name in ("feature", "first_child", "kids", "parent"):
        np.testing.assert_array_equal(getattr(quick, name), getattr(plain, name))
    np.testing.assert_allclose(quick.counts, plain.counts, atol=1e-9)


TREE = """
import numpy as np
from fairbench_cli.classifiers.c45 import C45
rng = np.random.default_rng(3)
X = rng.integers(0, [2, 3, 4, 5], (300, 4))
y = (X.sum(axis=1) + rng.integers(0, 4, 300)) % 2
print(C45(levels=[2, 3, 4, 5], confidence=0.5).fit(X, y).export_text())
"""


def test_compiled_and_interpreted_loops_make_the_same_tree():
    compiled, interpreted = (
        subprocess.run(
            [sys.executable, "-c", TREE],
            env=environment() | {"NUMBA_DISABLE_JIT": off},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for off in "01"
    )
    assert compiled.count("\n") > 30
    assert interpreted == compiled


def test_a_numeric_column_with_two_values_splits_like_a_nominal_one():
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, 100)
    y = np.where(rng.random(100) < 0.1, 1 - x, x)
    number = C45().fit(x[:, None].astype(float), y)
    code = C45(levels=[2]).fit(x[:, None], y)
    np.testing.assert_allclose(number.predict_proba(x[:, None]), code.predict_proba(x[:, None]))
    assert number.export_text().splitlines()[0].startswith("x0 <= 0: 0 (")


def test_export_text_prints_as_weka_does():
    frame = pd.DataFrame(
        {
            "outlook": pd.Categorical(["sunny"] * 6 + ["rain"] * 6, categories=["rain", "fog", "sunny"]),
            "wind": [1.5] * 3 + [9.0] * 3 + [1.5] * 6,
        }
    )
    tree = C45(min_leaf=1).fit(frame, ["stay", "stay", "stay", "play", "play", "play"] + ["play"] * 6)
    assert tree.export_text().splitlines() == [
        "outlook = rain: play (6.0)",
        "outlook = fog: play (0.0)",
        "outlook = sunny",
        "|   wind <= 1.5: stay (3.0)",
        "|   wind > 1.5: play (3.0)",
    ]
    assert C45().fit([[1.0], [2.0]], ["a", "a"]).export_text() == ": a (2.0)"


def test_ties_go_to_the_first_declared_class():
    y = pd.Categorical(["no", "yes"], categories=["yes", "no"])
    assert C45(levels=[1]).fit([[0], [0]], y).predict([[0]]).tolist() == ["yes"]


def test_a_missing_value_goes_down_every_branch():
    x = np.array([0.0] * 6 + [1.0] * 2)[:, None]
    tree = C45(prune=False).fit(x, [0] * 6 + [1] * 2)
    np.testing.assert_allclose(tree.predict_proba([[np.nan]]), [[0.75, 0.25]])


def test_codes_and_categories_agree():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 3, (200, 3))
    y = (X[:, 0] == 2) ^ (rng.random(200) < 0.1)
    frame = pd.DataFrame({f"x{j}": pd.Categorical.from_codes(X[:, j], ["a", "b", "c"]) for j in range(3)})
    by_code, by_name = C45(levels=[3, 3, 3]).fit(X, y), C45().fit(frame, y)
    np.testing.assert_array_equal(by_code.predict_proba(X), by_name.predict_proba(frame))
    # A frame whose categories stand in another order means the same rows.
    turned = frame.apply(lambda column: column.cat.reorder_categories(["c", "a", "b"]))
    np.testing.assert_array_equal(by_name.predict_proba(frame), by_name.predict_proba(turned))


def test_repr_and_clone():
    assert repr(C45(min_leaf=5)) == "C45(min_leaf=5)"
    assert clone(C45(levels=[2, 3])).levels == [2, 3]


FRAME = pd.DataFrame({"a": pd.Categorical(["x", "y", "x", "y"])})


@pytest.mark.parametrize(
    ("parameters", "X", "y", "weight", "message"),
    [
        ({"confidence": 0}, [[0.0]], [1], None, r"confidence must be in \(0, 0.5\]"),
        ({"confidence": 0.6}, [[0.0]], [1], None, r"confidence must be in \(0, 0.5\]"),
        ({"min_leaf": 0}, [[0.0]], [1], None, "min_leaf must be positive"),
        ({"levels": [2]}, [[0, 1]], [1], None, "levels has 1 entries, but X has 2 columns"),
        (
            {"levels": [2]},
            [[0], [2]],
            [0, 1],
            None,
            'Row 1 of column "x0" has 2, which is not a declared level',
        ),
        ({"levels": [2]}, [[0], [-1]], [0, 1], None, 'Row 1 of column "x0" has -1'),
        ({"levels": [2]}, [[0.0], [0.5]], [0, 1], None, 'Row 1 of column "x0" has 0.5'),
        ({}, [[0.0], [1.0]], [0.0, np.nan], None, "NaN"),
        ({}, FRAME, pd.Categorical(["p", None, "q", "q"]), None, "y has a missing class"),
        ({}, [[0.0], [1.0]], [0, 1], [1, -1], "[Nn]egative"),
        ({}, [[0.0], [1.0]], [0, 1], [1, np.nan], "NaN"),
        ({}, [[0.0], [1.0]], [0, 1], [0, 0], "at least one non-zero"),
        ({}, pd.DataFrame({"a": ["x", "y"]}), [0, 1], None, 'Column "a" is neither categorical nor a number'),
        ({}, pd.DataFrame({"a": [1.0, np.inf]}), [0, 1], None, 'Column "a" contains infinity'),
    ],
)
def test_errors_say_what_is_wrong(parameters, X, y, weight, message):
    with pytest.raises(ValueError, match=message):
        C45(**parameters).fit(X, y, weight)


def test_an_undeclared_level_at_predict_is_an_error():
    tree = C45().fit(FRAME, [0, 1, 0, 1])
    later = pd.DataFrame({"a": pd.Categorical(["x", "z"])})
    with pytest.raises(ValueError, match='Row 1 of column "a" has "z", a level that was not declared'):
        tree.predict(later)
    with pytest.raises(ValueError, match="categorical when the tree was fitted and is numeric now"):
        tree.predict(pd.DataFrame({"a": [1.0]}))
    with pytest.raises(ValueError, match="codes go from 0 to 1"):
        C45(levels=[2]).fit([[0], [1]], [0, 1]).predict([[2]])


def test_added_errors_are_the_upper_confidence_limit():
    """No errors: exact binomial; else the continuity-corrected limit of statsmodels' score interval."""
    assert added_errors(6, 0, 0.25) == pytest.approx(6 * (1 - 0.25 ** (1 / 6)))
    assert added_errors(0, 0, 0.25) == 0
    assert added_errors(4, 3.9, 0.25) == pytest.approx(0.1)
    from statsmodels.stats.proportion import proportion_confint

    upper = proportion_confint(7.5, 40, alpha=0.5, method="wilson")[1]
    assert added_errors(40, 7, 0.25) == pytest.approx(40 * upper - 7)


def test_the_config_and_the_estimator_have_the_same_defaults():
    estimator = C45().get_params()
    assert {field.name: field.default for field in fields(C45Settings)} | {"levels": None} == estimator
