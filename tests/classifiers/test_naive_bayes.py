"""Naive Bayes on levels is scikit-learn's, to the last bit."""

import sys

import numpy as np
import pytest
from conftest import law
from hypothesis import given
from hypothesis import strategies as st
from sklearn.naive_bayes import CategoricalNB

from fairbench_cli.classifiers.builders import LevelsNaiveBayes


def both(levels, X, y, weights, laplace):
    own = LevelsNaiveBayes(tuple(levels), laplace).fit(X, y, weights)
    other = CategoricalNB(alpha=laplace, min_categories=list(levels)).fit(X.astype(int), y, weights)
    return own, other


@law(100)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.1, 1.0, 3.0]),
    st.booleans(),
    st.sampled_from([np.int16, np.float32]),
)
def test_the_numbers_are_those_of_scikit_learn(seed, laplace, weighted, dtype):
    rng = np.random.default_rng(seed)
    n, levels = int(rng.integers(2, 400)), rng.integers(1, 25, rng.integers(1, 8)).tolist()
    X = rng.integers(0, levels, (n, len(levels))).astype(dtype)
    y = rng.integers(0, 2, n).astype(np.int8)
    y[:2] = 0, 1
    weights = rng.random(n) if weighted else None
    own, other = both(levels, X, y, weights, laplace)
    np.testing.assert_array_equal(own.classes_, other.classes_)
    np.testing.assert_array_equal(own.predict(X), other.predict(X))
    np.testing.assert_array_equal(
        own.predict_joint_log_proba(X), other.predict_joint_log_proba(X.astype(int))
    )
    if sys.platform == "linux":  # elsewhere exp may differ by a bit between layouts
        np.testing.assert_array_equal(own.predict_proba(X), other.predict_proba(X))


def test_three_classes_and_equal_ones():
    X, y = np.array([[0], [1], [2], [0], [1], [2]]), np.array([5, 5, 5, 7, 7, 9])
    own, other = both([3], X, y, None, 1.0)
    np.testing.assert_array_equal(own.predict_proba(X), other.predict_proba(X))
    assert own.predict(np.array([[2]])).tolist() == [5]
    even = LevelsNaiveBayes((2,), 1.0).fit(np.array([[0], [0]]), np.array([0, 1]))
    assert even.predict_proba(np.array([[1]])).tolist() == [pytest.approx([0.5, 0.5])]


def test_a_class_whose_rows_weigh_nothing():
    X, y, weights = np.array([[0], [1], [1]]), np.array([0, 1, 1]), np.array([0.0, 1.0, 2.0])
    own, other = both([2], X, y, weights, 1.0)
    np.testing.assert_array_equal(own.predict_proba(X), other.predict_proba(X))
    assert own.predict(X).tolist() == [1, 1, 1]
