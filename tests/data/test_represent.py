"""Representations: which columns become numbers, and what stays."""

from dataclasses import replace

import numpy as np
import pytest

from fairbench_cli.base.errors import UserError
from fairbench_cli.data.table import Column, Roles, make_table, represent, to_sample

RACE = Column("race", ("b", "o", "w"))
SEX = Column("sex", ("f", "m"))
AGE = Column("age", ("20", "31", "60"), "number", (20.0, 31.0, 60.0))
PAY = Column("pay", ("<5", ">=5"), "bins", (2.5, 7.5))
JOB = Column("job", ("x", "y", "z"))  # nobody is z
LABEL = Column("label", ("0", "1"))
CODES = {"race": [2, 2, 0, 1], "sex": [1, 0, 1, 0], "age": [0, 1, 2, 0], "pay": [0, 1, 1, 0]}
CODES |= {"job": [0, 1, 1, 0], "label": [1, 0, 0, 1]}
TABLE = make_table([(c, np.array(CODES[c.name], np.int16)) for c in (RACE, SEX, AGE, PAY, JOB, LABEL)])
JOINT = Roles("label", "1", "race-sex", ("b-m", "o-f", "w-f"), ("w-m",), ("race", "sex"))
SAMPLE = replace(to_sample(TABLE, JOINT), weights=np.array([1.0, 2, 3, 4]))
FAVOURED = {"race": ("w",), "sex": ("m",), "race-sex": ("w-m",)}


def test_original_is_the_sample_itself():
    assert represent(SAMPLE, "original", FAVOURED) is SAMPLE


def test_numerical_spreads_levels_and_bins_and_leaves_numbers_and_protected_columns():
    made = represent(SAMPLE, "numerical", FAVOURED)
    assert made.features.names == (
        *("race", "sex", "age", "pay_<5", "pay_>=5", "job_x", "job_y", "job_z"),
        "race-sex",
    )
    kinds = {column.name: column.kind for column in made.features.columns}
    assert [name for name, kind in kinds.items() if kind == "nominal"] == ["race", "sex", "race-sex"]
    assert made.features["job_y"].tolist() == [0, 1, 1, 0]
    assert made.features["job_z"].tolist() == [0, 0, 0, 0]
    assert made.features["age"].tolist() == CODES["age"]
    assert made.features.columns[made.features.index("job_z")].values == (0.0, 1.0)
    for name in ("y", "s", "weights", "attribute", "protected"):
        assert getattr(made, name) is getattr(SAMPLE, name)


def test_numerical_binary_makes_protected_columns_numbers_too():
    made = represent(SAMPLE, "numerical-binary", FAVOURED)
    assert made.features["race"].tolist() == [1, 1, 0, 0]
    assert made.features["sex"].tolist() == [1, 0, 1, 0]
    assert made.features["race-sex"].tolist() == SAMPLE.s.tolist() == [1, 0, 0, 0]
    assert {column.kind for column in made.features.columns} == {"number"}


def test_columns_do_not_depend_on_the_rows():
    for how in ("numerical", "numerical-binary"):
        few = represent(SAMPLE.take(np.array([0])), how, FAVOURED).features
        assert few.columns == represent(SAMPLE, how, FAVOURED).features.columns


def test_two_columns_of_one_name_are_refused():
    job = Column("pay_", ("<5",))
    table = make_table([*((c, TABLE[c.name]) for c in TABLE.columns), (job, np.zeros(4, np.int16))])
    pay = Column("pay", ("_<5", ">=5"))
    table = replace(table, columns=tuple(pay if c.name == "pay" else c for c in table.columns))
    with pytest.raises(UserError, match='two columns of numbers would be called "pay__<5"'):
        represent(to_sample(table, JOINT), "numerical", FAVOURED)


def test_the_attribute_needs_its_favoured_levels():
    with pytest.raises(KeyError, match="race-sex"):
        represent(SAMPLE, "numerical", {"race": ("w",), "sex": ("m",)})
