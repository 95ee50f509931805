"""Which columns of a study's table say what cell a row is of, by the codes of their texts and the values."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.data.recognise import split_words

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Texts = Mapping[str, Sequence[str]]

NOTE_WORDS = frozenset(
    """
    time date datetime timestamp utc start end started finished duration elapsed runtime seconds version host
    hostname machine node worker pid user path file filename url commit hash uuid index info error warning
    message memory std sd se sem stderr var count n ci
    """.split()  # noqa: SIM905
)
"""With what words columns are called that note how a run went, or how values spread."""
DENSE = 16  # times as many pairs of codes as rows, up to which a list of all pairs is the fastest


def combine_codes(columns: Sequence[Ints]) -> Ints:
    """Return a code, from 0 without gaps, for each combination of codes that a row has.

    >>> combine_codes([np.array([0, 0, 1, 1]), np.array([0, 2, 2, 2])]).tolist()
    [0, 1, 2, 2]
    """
    combined = columns[0]
    for codes in columns[1:]:
        pairs = combined * count_codes(codes) + codes
        if count_codes(pairs) > DENSE * len(pairs):
            combined = pd.factorize(pairs)[0]
            continue
        occurs = np.zeros(count_codes(pairs), dtype=bool)
        occurs[pairs] = True
        combined = (np.cumsum(occurs) - 1)[pairs]
    return combined


def count_codes(codes: Ints) -> int:
    """How many codes there are, which are from 0 without gaps."""
    return int(codes.max()) + 1


def first_rows(codes: Ints) -> Ints:
    """Return the first row of each code.

    >>> first_rows(np.array([1, 0, 1])).tolist()
    [1, 0]
    """
    first = np.zeros(count_codes(codes), dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # of rows with one code the one written last stays
    return first


def select_keys(
    codes: Mapping[str, Ints], texts: Texts, values: Floats, n_rows: int, roles: Sequence[str]
) -> list[str]:
    """Return the columns apart from roles that say which cell a row is of; for the rule see `read_study`.

    Parameters
    ----------
    codes : mapping of str to int array, shape (values,)
        The code of a column's text for each value.
    texts : mapping of str to sequence of str
        The text of each code.
    values : float array, shape (values,)
    n_rows : int
        Of the table, in which a row may have several values.
    roles : sequence of str
        The columns that are roles: ``technique``, ``metric``, perhaps ``data`` and ``repeat``.
    """
    columns = [name for name in codes if name not in roles]
    required = _required_columns(codes, texts, values, n_rows, roles)
    shared = _shared_columns(codes, texts, required, [name for name in columns if name not in required])
    return [name for name in columns if name in required or name in shared]


def columns_of_few_techniques(codes: Mapping[str, Ints], texts: Texts, columns: Sequence[str]) -> list[str]:
    """Return the columns that are empty for all rows of some techniques and not of others: parameters."""
    parameters = []
    n_rows = np.bincount(codes["technique"])
    for name in columns:
        is_filled = np.array([text != "" for text in texts[name]])[codes[name]]
        n_filled = np.bincount(codes["technique"], weights=is_filled)
        if (n_filled == 0).any() and (n_filled == n_rows).any():
            parameters.append(name)
    return parameters


def _required_columns(
    codes: Mapping[str, Ints], texts: Texts, values: Floats, n_rows: int, roles: Sequence[str]
) -> list[str]:
    """Return the columns that tell rows with different values apart which are alike in all roles."""
    has_repeats = "repeat" in roles
    kinds = {}
    for name in codes:
        tells_some = 1 < len(texts[name]) <= n_rows / 2
        if name not in roles and tells_some and (has_repeats or not _is_note(name)):
            is_number = is_numbers(texts[name])
            kinds[name] = (_is_note(name), _is_fractions(texts[name]), is_number, len(texts[name]))
    base = combine_codes([codes[role] for role in roles])
    n_alike = _alike_rows_counter(codes, base, np.where(np.isnan(values), np.inf, values))
    required: list[str] = []
    before = n_alike(required)
    for name in sorted(kinds, key=kinds.__getitem__):
        if before and n_alike([*required, name]) < before:
            required.append(name)
            before = n_alike(required)
    if before:  # rows that fractions do not tell apart either: numbers next to the values
        required = [name for name in required if not _is_fractions(texts[name])]
        before = n_alike(required)
    for name in list(required):
        remaining = [other for other in required if other != name]
        if n_alike(remaining) == before:
            required = remaining
    return required


def _alike_rows_counter(
    codes: Mapping[str, Ints], base: Ints, values: Floats
) -> Callable[[Sequence[str]], int]:
    """Return the function that counts rows beyond the first of groups that have different values.

    It falls with each column that divides such a group, and is 0 where there is none.
    """

    def n_alike(names: Sequence[str]) -> int:
        groups = combine_codes([base] + [codes[name] for name in names])
        n_groups = count_codes(groups)
        differs = values != values[first_rows(groups)][groups]
        has_several = np.zeros(n_groups, dtype=bool)
        has_several[groups[differs]] = True
        return int(has_several[groups].sum() - has_several.sum())

    return n_alike


def _shared_columns(
    codes: Mapping[str, Ints], texts: Texts, required: Sequence[str], columns: Sequence[str]
) -> list[str]:
    """Return the columns that are the same for all techniques of a cell or, if of few texts, of a repeat."""
    cell = combine_codes([codes[name] for name in codes if name in ("metric", "data") or name in required])
    repeat = cell
    n_repeats = 0
    if "repeat" in codes:
        repeat = combine_codes([cell, codes["repeat"]])
        n_repeats = len(texts["repeat"])
    shared = []
    for name in columns:
        n_texts = len(texts[name])
        if n_texts == 1:
            is_shared = texts[name][0] != ""
        elif _is_fractions(texts[name]):
            is_shared = False
        else:
            group = cell
            if 2 * n_texts <= n_repeats and not _is_note(name):
                group = repeat
            is_shared = count_codes(combine_codes([group, codes[name]])) == count_codes(group)
        if is_shared:
            shared.append(name)
    return shared


def is_numbers(texts: Sequence[str]) -> bool:
    """Return whether texts that are not empty are numbers; False where all are empty.

    >>> is_numbers(["1", "", "2.5"]), is_numbers(["1", "a"])
    (True, False)
    """
    filled = [text for text in texts if text]
    try:
        return len(list(map(float, filled))) > 0
    except ValueError:
        return False


def _is_fractions(texts: Sequence[str]) -> bool:
    """Return whether texts are numbers that are not all whole."""
    return is_numbers(texts) and any(not float(text or 0).is_integer() for text in texts)


def _is_note(name: str) -> bool:
    return not NOTE_WORDS.isdisjoint(split_words(name))
