"""Tables and samples."""

import numpy as np
import pytest

from fairbench_cli.data.table import Column, Roles, Sample, Table, to_sample

TABLE = Table(
    (Column("sex", ("f", "m", "x")), Column("job", ("a", "b")), Column("y", ("0", "1", "2"))),
    np.asfortranarray(np.array([[0, 0, 1], [1, 1, 0], [2, 0, 2], [1, 1, 1]], dtype=np.int16)),
)
ROLES = Roles("y", "1", "sex", ("f",), ("m", "x"))


def test_names_and_columns():
    assert len(TABLE) == 4
    assert TABLE.names == ("sex", "job", "y")
    assert TABLE.level_counts == (3, 2, 3)
    assert TABLE["job"].tolist() == [0, 1, 0, 1]
    with pytest.raises(KeyError, match="age"):
        TABLE["age"]


def test_take_repeats_and_reorders_rows_and_takes_masks():
    assert TABLE.take(np.array([3, 0, 0]))["y"].tolist() == [1, 1, 1]
    masked = TABLE.take(TABLE["y"] == 0)
    assert masked["sex"].tolist() == [1]
    assert masked.codes.flags.f_contiguous
    assert masked.codes.dtype == np.int16


def test_without_keeps_the_order_of_the_others():
    less = TABLE.without("job")
    assert less.names == ("sex", "y")
    assert less["y"].tolist() == TABLE["y"].tolist()
    assert less.codes.flags.f_contiguous


def test_a_frame_has_the_levels_as_text():
    frame = TABLE.to_frame()
    assert frame["sex"].tolist() == ["f", "m", "x", "m"]
    assert list(frame["y"].cat.categories) == ["0", "1", "2"]


def test_a_sample_tells_favourable_from_all_others_and_favoured_from_deprived():
    sample = to_sample(TABLE, ROLES)
    assert sample.y.tolist() == [1, 0, 0, 1]
    assert sample.s.tolist() == [0, 1, 1, 1]
    assert sample.features.names == ("sex", "job")
    assert (sample.attribute, sample.weights, len(sample)) == ("sex", None, 4)


def test_a_sample_is_taken_with_its_weights():
    sample = to_sample(TABLE, ROLES)
    weighted = Sample(sample.features, "sex", sample.y, sample.s, np.array([1.0, 2, 3, 4]))
    taken = weighted.take(np.array([3, 1, 1]))
    assert taken.weights.tolist() == [4, 2, 2]
    assert taken.y.tolist() == [1, 0, 0]
    assert taken.s.tolist() == [1, 1, 1]
    assert taken.features["job"].tolist() == [1, 1, 1]
