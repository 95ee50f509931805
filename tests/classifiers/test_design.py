"""The matrix that linear models take."""

from dataclasses import replace

import numpy as np
import pytest

from fairbench_cli.classifiers.encode import fit_design
from fairbench_cli.data.table import Column, Sample, Table

COLUMNS = (
    Column("sex", ("f", "m")),
    Column("job", ("a", "b", "never")),
    Column("age", ("18", "30", "60"), "number", (18.0, 30.0, 60.0)),
    Column("pay", ("low", "high"), "bins", (5.0, 15.0)),
)
CODES = np.array([[0, 0, 0, 0], [1, 1, 1, 1], [1, 0, 1, 1], [0, 1, 2, 0]], dtype=np.int16)
SAMPLE = Sample(
    Table(COLUMNS, np.asfortranarray(CODES)),
    "sex",
    np.array([0, 1, 1, 0], np.int8),
    CODES[:, 0].astype(np.int8),
)


def test_every_declared_level_has_a_column_and_the_ones_come_last():
    design = fit_design(SAMPLE, include_protected=False)
    matrix = design.transform(SAMPLE.features)
    assert matrix.shape == (4, design.width) == (4, 3 + 1 + 2 + 1)
    assert matrix[:, :3].tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0]]
    assert matrix[:, 4:6].tolist() == [[1, 0], [0, 1], [0, 1], [1, 0]]
    assert (matrix[:, -1] == 1).all()
    without = fit_design(SAMPLE, include_protected=False, intercept=False)
    assert np.array_equal(without.transform(SAMPLE.features), matrix[:, :-1])


def test_the_protected_attribute_is_a_feature_only_if_asked_for():
    seen = fit_design(SAMPLE, include_protected=True)
    assert [column.name for column in seen.columns] == ["sex", "job", "age", "pay"]
    assert seen.width == 9


def test_numbers_are_standardised_by_weight():
    weights = np.array([1.0, 2.0, 0.5, 3.0])
    design = fit_design(replace(SAMPLE, weights=weights), include_protected=False, bins="number")
    matrix = design.transform(SAMPLE.features)
    assert design.width == 3 + 1 + 1 + 1
    for number in matrix.T[3:5]:
        assert np.average(number, weights=weights) == pytest.approx(0, abs=1e-14)
        assert np.average(number**2, weights=weights) == pytest.approx(1)
    ages = np.array([18, 30, 30, 60])
    assert np.corrcoef(matrix[:, 3], ages)[0, 1] == pytest.approx(1)


def test_a_weight_of_two_is_the_row_twice():
    twice = fit_design(SAMPLE.take(np.array([0, 1, 1, 2, 3])), include_protected=False)
    heavy = fit_design(replace(SAMPLE, weights=np.array([1.0, 2, 1, 1])), include_protected=False)
    assert np.allclose(twice.transform(SAMPLE.features), heavy.transform(SAMPLE.features), atol=1e-15)


def test_training_settles_mean_and_scale_and_other_rows_may_have_levels_unseen_there():
    design = fit_design(SAMPLE.take(np.array([0, 1])), include_protected=False)
    row = design.transform(Table(COLUMNS, np.array([[0, 2, 2, 0]], dtype=np.int16)))
    assert row.tolist() == [[0, 0, 1, 6, 1, 0, 1]]  # (60 − 24) / 6


@pytest.mark.parametrize("values", [(0.0, 1e-200), (-1e308, 1e308), (1e16, 1e16 + 2), (0.0, 5e-324)])
def test_numbers_of_any_size_stay_finite(values):
    table = Table((Column("x", ("a", "b"), "number", values),), np.array([[0], [1], [1]], dtype=np.int16))
    sample = Sample(table, "none", np.array([0, 1, 0], np.int8), np.array([0, 1, 1], np.int8))
    assert np.isfinite(fit_design(sample, include_protected=True).transform(table)).all()


def test_a_number_that_is_constant_in_training_is_zero():
    design = fit_design(SAMPLE.take(np.array([1, 2])), include_protected=False)
    assert (design.transform(SAMPLE.features)[:, 3] == 0).all()


def test_other_columns_are_refused():
    design = fit_design(SAMPLE, include_protected=False)
    with pytest.raises(KeyError, match="age"):
        design.transform(SAMPLE.features.without("age"))
    other = Table((*COLUMNS[:1], Column("job", ("a", "b", "c")), *COLUMNS[2:]), SAMPLE.features.codes)
    with pytest.raises(ValueError, match='"job" has other levels than in training'):
        design.transform(other)


def test_columns_may_come_in_another_order():
    design = fit_design(SAMPLE, include_protected=False)
    turned = Table(COLUMNS[::-1], np.asfortranarray(CODES[:, ::-1]))
    assert np.array_equal(design.transform(turned), design.transform(SAMPLE.features))


def test_nothing_to_train_on_is_refused():
    with pytest.raises(ValueError, match="nothing to train on"):
        fit_design(replace(SAMPLE, weights=np.zeros(4)), include_protected=False)
