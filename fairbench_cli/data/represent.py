"""The features of a sample as numbers: a 0/1 column for each level, for what takes numbers alone."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Literal

import numpy as np

from fairbench_cli.base.errors import user_error
from fairbench_cli.data.table import Coded, Codes, Column, Sample, table_of

Representation = Literal["original", "numerical", "numerical-binary"]


def represent(sample: Sample, how: Representation, favoured: Mapping[str, Collection[str]]) -> Sample:
    """Return a sample with its features in another representation; outcome, groups and weights stay.

    ``original`` changes nothing. ``numerical`` makes of every level of a column one column, ``column_level``,
    that is 1 where a row has the level, else 0; numbers stay, and so do protected columns.
    ``numerical-binary`` also makes a number of each protected column: 1 for the favoured, else 0. Columns
    depend on the declared levels alone, so those of training and test rows are the same.

    Source: Friedler et al. (2019), section 3.1.

    Parameters
    ----------
    favoured : mapping
        For each protected attribute, joint ones too, its favoured levels.

    Raises
    ------
    KeyError
        When the sample's attribute is not in `favoured`.
    UserError
        When two columns would have the same name.

    >>> sex, job = Column("sex", ("f", "m")), Column("job", ("a", "b", "c"))
    >>> rows = table_of([(sex, np.array([0, 1], np.int16)), (job, np.array([2, 0], np.int16))])
    >>> sample = Sample(rows, "sex", np.array([0, 1], np.int8), np.array([0, 1], np.int8))
    >>> represent(sample, "numerical", {"sex": ("m",)}).features.names
    ('sex', 'job_a', 'job_b', 'job_c')
    >>> represent(sample, "numerical-binary", {"sex": ("m",)}).features.codes.tolist()
    [[0, 0, 0, 1], [1, 1, 0, 0]]
    """
    if how == "original":
        return sample
    if sample.attribute not in favoured:
        raise KeyError(sample.attribute)
    columns: list[Coded] = []
    for column in sample.features.columns:
        codes = sample.features[column.name]
        if column.name not in favoured:
            columns += [(column, codes)] if column.kind == "number" else _one_hot(column, codes)
        elif how == "numerical":
            columns.append((column, codes))
        else:
            columns.append(_indicator(column.name, column, codes, favoured[column.name]))
    names = [column.name for column, _ in columns]
    for i, name in enumerate(names):
        if name in names[:i]:
            what = f'two columns of numbers would be called "{name}"'
            raise user_error(what, "recode a level in the card, or rename a column")
    return replace(sample, features=table_of(columns))


def _one_hot(column: Column, codes: Codes) -> Iterator[Coded]:
    for level in column.levels:
        yield _indicator(f"{column.name}_{level}", column, codes, (level,))


def _indicator(name: str, column: Column, codes: Codes, levels: Collection[str]) -> Coded:
    """Return the column that is 1 where a row has one of some levels, else 0."""
    member = np.array([level in levels for level in column.levels], dtype=np.int16)
    return Column(name, ("0", "1"), "number", (0.0, 1.0)), member[codes]
