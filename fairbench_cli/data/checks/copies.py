"""Rows that come again: copies of a row, and several rows of one person."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.data.recognise import named_like_identifiers, named_like_people
from fairbench_cli.data.table import mark_copies

SOME_COPIES = 0.05  # of the rows
FEWEST_COPIED = 10  # different rows; one that many have may be an answer left out
SEVERAL = 20  # different rows: with fewer, columns may well be rules of others
MOST_COLUMNS = 15  # those with most values
BY_CHANCE = 0.4  # of the pairs of equal rows at most
SOME = 0.1  # of the rows; New York's four models are no people
FEWEST_PEOPLE = 20  # where the column says that it names people

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class RepeatedPeople:
    """A column that names people, some of whom have several rows."""

    column: str
    people: int
    rows: int


def find_copies(cells: pd.DataFrame) -> Mask:
    """Return which rows repeat an earlier one; none where people are as often alike by chance.

    Columns of which each row has another value, such as its number, and those that others tell are left
    aside. Of independent people who are equal in all but two columns, those who are equal in the one are not
    much more often equal in the other (of two columns at least); copies are equal in both. So pairs of equal
    rows are set beside the most that independence of any two of up to 15 columns would make. In subsets of 3
    to 12 columns of the shipped data sets, in which up to 99 % of the rows have an equal one, at most 20 % of
    these pairs were more than that; 60 % are asked for, and ten different rows. Or every different row comes
    twice, all come three times, and so on.

    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"sex": rng.integers(2, size=300), "age": rng.integers(70, size=300)})
    >>> people["y"] = rng.integers(2, size=300)
    >>> int(find_copies(people).sum()), int(find_copies(pd.concat([people, people])).sum())
    (0, 300)
    """
    n_rows = len(cells)
    no_copies = np.zeros(n_rows, dtype=bool)
    rng = np.random.default_rng(0)
    marks = []
    for name in cells.columns:
        codes, values = pd.factorize(cells[name], use_na_sentinel=False)
        if 1 < len(values) < n_rows:
            marks.append(rng.integers(0, 2**64, len(values), dtype=np.uint64)[codes])
    rows = sum(marks, start=np.zeros(n_rows, dtype=np.uint64))
    numbers = pd.factorize(rows)[0]
    times = np.bincount(numbers)
    again = mark_copies(numbers)
    if (times > 1).sum() < FEWEST_COPIED or again.mean() < SOME_COPIES or len(times) < SEVERAL:
        return no_copies
    if np.gcd.reduce(times) > 1:
        return again
    equal = _count_pairs(rows)
    independent: list[NDArray[np.uint64]] = []
    for i, mark in enumerate(sorted(marks, key=_count_pairs, reverse=True)):
        if len(independent) + len(marks) - i > 2 and _count_pairs(rows - mark) == equal:
            rows = rows - mark  # others tell it
        else:
            independent.append(mark)
    marks = independent[-MOST_COLUMNS:]
    but_one = [_count_pairs(rows - mark) - equal for mark in marks]
    for i, j in combinations(range(len(marks)), 2):
        in_neither = _count_pairs(rows - marks[i] - marks[j]) - but_one[i] - but_one[j] - equal
        if (but_one[i] + 1) * (but_one[j] + 1) / (in_neither + 1) > BY_CHANCE * equal:
            return no_copies
    return again if len(marks) > 1 else no_copies


def find_later_rows(cells: pd.DataFrame, gaps: Collection[str]) -> Mask:
    """Return which rows are of people who have an earlier one."""
    later = np.zeros(len(cells), dtype=bool)
    for people in find_repeated_people(cells, gaps):
        if named_like_people(people.column):
            name = cells[people.column]
            later |= (name.duplicated() & ~name.isin(gaps)).to_numpy(dtype=bool)
    return later


def _count_pairs(marks: NDArray[np.uint64]) -> float:
    """Return the number of pairs of equal rows."""
    times = np.unique(marks, return_counts=True)[1].astype(np.float64)
    return float((times * (times - 1)).sum() / 2)


def find_repeated_people(cells: pd.DataFrame, gaps: Collection[str]) -> Iterator[RepeatedPeople]:
    """Yield the columns that name people, or something else of which there are many, several times.

    They are called like an identifier, and have more values than a tenth of the rows; of people 20 suffice.

    >>> cells = pd.DataFrame({"person_id": list(map(str, range(40))) * 12, "site_id": list("abcd") * 120})
    >>> list(find_repeated_people(cells, ()))
    [RepeatedPeople(column='person_id', people=40, rows=480)]
    """
    for name in map(str, cells.columns):
        if not named_like_identifiers(name) and not named_like_people(name):
            continue
        present = cells[name][~cells[name].isin(gaps)]
        people = present.nunique()
        of_people = named_like_people(name) and people >= FEWEST_PEOPLE
        if len(present) > people and (people > SOME * len(cells) or of_people):
            yield RepeatedPeople(name, people, len(present))
