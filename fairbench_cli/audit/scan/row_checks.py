"""Whether what was done is what was asked, by the numbers that counted rows have anyway.

Each check compares two of them: a threshold and the scale of the scores, how many were to be selected and how
many are. What can only be a mistake stops; of what may be one there is a note. That everybody is selected,
or nobody, is seen where groups are compared (`Slice.decided_alike`).
"""

import math
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np

from fairbench_cli.audit.config import MISSING, Ties
from fairbench_cli.audit.scan import sql
from fairbench_cli.audit.scan.cleaning import keep_all_but
from fairbench_cli.audit.scan.readings import PERCENT, Cut, Ints, SplitTies
from fairbench_cli.audit.scan.roles import MOST_VALUES
from fairbench_cli.audit.scan.scan import CountedRows, group_name
from fairbench_cli.audit.scan.source import Source
from fairbench_cli.base.errors import Flag, MessageText, Problem, UserError, format_value, refuse, user_error
from fairbench_cli.base.safe_text import join_names
from fairbench_cli.data import recognise
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.groups import CROSS

ASKED = "Asked for"  # how the notes begin that say that another number was selected
CALLED_TOTAL = "is called like a total of others"
IS_SUM = "has as many rows of each kind as all other groups together"
ONE_ATTRIBUTE = "they are one attribute"
CALLED_COUNT = "is called like a number of people"
LIKELY_MISTAKES = (ASKED, CALLED_TOTAL, IS_SUM, CALLED_COUNT, ONE_ATTRIBUTE)
"""Of which a note has one that is read first."""
MOST_NAMED = 3  # models or groups in a message
FEWEST_COLUMNS = 3  # of 0 and 1 that are one attribute
ZEROS_AND_ONES = {"0": False, "0.0": False, "false": False, "1": True, "1.0": True, "true": True}
FEWEST_PARTS = 2  # groups of a sum that is not called so
FEWEST_OF_SUM = 100  # rows of one
RARELY = 0.001  # a sum by chance
MOST_TIMES = 100  # that people come
FEWEST_PEOPLE = 20  # that come several times
FEWEST_CHANGES = 10  # from one row to the next, in what is the same by more than chance
PERSON = frozenset(
    "row index person case applicant subject participant candidate record pid uid patient".split()  # noqa: SIM905
)
MOST_COMBINATIONS = 10_000  # rows of a table of counts
TWO = 2.0  # shares that overshoot 1 do not come as far
THOUSAND = 1000.0  # a scale of shares without their point
NEARLY = 0.95  # of the scores
FEWEST_SHARES = 20  # scores between a half and 1


def likely_mistakes(notes: Iterable[str]) -> list[str]:
    """Return the notes that say that something is likely not as it was meant, for formats without others."""
    return [note for note in notes if any(text in note for text in LIKELY_MISTAKES)]


def check_rows(rows: CountedRows) -> list[str]:
    """Return the notes of counted rows that are not what was asked.

    Raises
    ------
    UserError
        Where that can only be a mistake.
    """
    _refuse_several_models(rows)
    _refuse_values_of_no_group(rows)
    notes = list(_find_counts_of_people(rows)) + _describe_totals(rows)
    _refuse_same_people(rows)
    if not rows.binary:
        for column in rows.roles.scores:
            notes += check_thresholds(rows.source, column, rows.config.threshold)
    notes += _describe_split_ties(rows)
    notes += _describe_one_hot(rows)
    codes = np.concatenate([rows.together.level.ravel(), rows.together.label])
    if rows.classes and rows.roles.label is not None and (codes == len(rows.classes)).any():
        notes.append("In the accuracy of all classes, values that are none of these count as one more class.")
    return notes


def _refuse_several_models(rows: CountedRows) -> None:
    """Refuse several values of ``model_id`` where nobody says what they are."""
    roles = rows.roles
    column = rows.source.column_index.get("model_id")
    is_named = rows.config.model_column is not None or column in roles.role_of
    if column is None or is_named or column in roles.attributes.values():
        return
    models = rows.source.rows(f"SELECT DISTINCT {sql.text(column)} FROM predictions ORDER BY 1 LIMIT 3")
    if len(models) > 1:
        listed = ", ".join(format_value(model) for (model,) in models)
        each_model = Flag("model-column", "model_id")
        fix = ("keep the rows of one, or audit each apart with ", each_model)
        raise user_error(
            f"model_id has several values ({listed})", fix, rows.source.name, assumed=(each_model,)
        )


def _refuse_values_of_no_group(rows: CountedRows) -> None:
    """Refuse groups to leave out of a column that is not audited: rows go by those that stay."""
    values_of = defaultdict(list)
    for name, _, value in (text.partition("=") for text in rows.config.exclude):
        if name in rows.source.column_index and name not in rows.roles.attributes:
            values_of[name].append(value)
    for name, values in values_of.items():
        problem = f"{format_value(name)} is not audited, and groups are left out of what is"
        raise user_error(problem, keep_all_but(rows.source, name, values), Flag("exclude"))


def _find_counts_of_people(rows: CountedRows) -> Iterator[str]:
    """Refuse a table of counts whose rows are taken for one person each; of groups that are named, say so.

    Its column of counts is called so, holds whole numbers, and each row is another combination of the groups,
    decision and label.
    """
    roles = rows.roles
    config = rows.config
    has_values = rows.binary or rows.classes  # of other scores nearly every row is another one
    if config.counts or roles.weight is not None or not has_values:
        return
    if rows.together.rows.sum() > MOST_COMBINATIONS:
        return
    for name, column in rows.source.column_index.items():
        is_named = column in roles.role_of or name in config.bins or name in (config.attributes or ())
        if is_named or not recognise.named_like_counts(name):
            continue
        role_columns = {*roles.role_of, *roles.attributes.values()} - {column}
        combination = ", ".join(sql.text(i) for i in sorted(role_columns))
        number = f"number_{column}"
        is_whole = f"bool_and(coalesce({number} >= 0 AND {number} = floor({number}), false))"
        n_rows, n_combinations, all_whole, largest = rows.source.row(
            f"SELECT count(*), count(DISTINCT ({combination})), {is_whole}, max({number}) FROM predictions"
        )
        if n_rows == n_combinations and all_whole and largest > 1:
            counts = Flag("counts", name)
            problem = f"{format_value(name)} {CALLED_COUNT}, and without it no two rows are alike"
            if config.attributes is not None:
                yield f"{problem}; to count so many for each row: {counts.spell()}."
                continue
            free = [other for other, i in roles.attributes.items() if i != column]
            one_each = ("; or if a row is a person: ", Flag("attribute", free[0])) if free else ()
            fix = ("count so many for each row: ", counts, *one_each)
            raise user_error(problem, fix, rows.source.name, remedy=(counts,))


def _refuse_same_people(rows: CountedRows) -> None:
    """Refuse results of several models, seeds or folds on the same people, below each other or in turn.

    These are rows that come several times with the same labels and groups in the same order, which is neither
    sorted nor in turn; or those of a column of few values with as many rows each, each for the same
    identifiers.
    """
    times = _times_that_people_may_come(rows)
    if not times:
        return
    roles = rows.roles
    telling = _telling_columns(rows)
    taken_columns = set(roles.role_of).union(telling)
    free = {name: i for name, i in rows.source.column_index.items() if i not in taken_columns}
    repeats = {name: i for name, i in free.items() if recognise.named_like_repeats(name)}
    hashes = ", ".join(f"hash(trimmed_{i}) AS c{i}" for i in telling + list(repeats.values()))
    with rows.source.engine(ordered=True, threads=1):
        columns = rows.source.execute(f"SELECT {hashes} FROM predictions").fetchnumpy()
    codes = {name: np.unique(np.asarray(cells), return_inverse=True)[1] for name, cells in columns.items()}
    people = np.stack([codes[f"c{i}"] for i in telling], axis=1)
    for name, i in repeats.items():
        sizes = np.bincount(codes[f"c{i}"])
        if len(sizes) in times and len(set(sizes.tolist())) == 1:
            blocks = people[np.argsort(codes[f"c{i}"], kind="stable")].reshape(
                len(sizes), -1, people.shape[1]
            )
            if _are_same(blocks) or _have_same_names(rows, i, free, len(sizes)):
                raise UserError(_same_people_problem(rows, name, len(sizes), free))
    for k in reversed(times):
        if _are_same(people.reshape(k, -1, people.shape[1])):
            raise UserError(_same_people_problem(rows, _find_block_column(rows, free, k), k, free))


def _are_same(blocks: Ints) -> bool:
    """Return whether blocks of rows, shape (blocks, rows, columns), are equal, and not so by a pattern.

    A pattern is an order in which rows that are alike stand together, or columns that come in turn, as those
    of all profiles that each employer gets.

    >>> some = np.random.default_rng(1).integers(0, 2, (1, 60, 2))
    >>> in_turn = np.arange(60).reshape(1, 60, 1) % np.array([2, 7])
    >>> [_are_same(np.repeat(block, 3, axis=0)) for block in (some, np.sort(some, axis=1), in_turn)]
    [True, False, False]
    """
    if not (blocks == blocks[:1]).all():
        return False
    half = blocks.shape[1] // 2
    periods = [k for k in range(1, half + 1) if k <= FEWEST_PEOPLE or blocks.shape[1] % k == 0]
    for column in blocks[0].T:
        n_changes = int((column[1:] != column[:-1]).sum())
        in_order = n_changes < FEWEST_CHANGES or n_changes <= 2 * (column.max() + 1)
        if not in_order and not any((column[period:] == column[:-period]).all() for period in periods):
            return True
    return False


def _have_same_names(rows: CountedRows, column: int, free: Mapping[str, int], times: int) -> bool:
    """Return whether a column of identifiers has the same ones for each value of another column.

    They are no numbers that begin anew: each comes with the same labels and groups.
    """
    identifier = _find_identifier(rows, free, times)
    if not identifier:
        return False
    name = f"trimmed_{free[identifier]}"
    person = ", ".join([name] + [f"trimmed_{i}" for i in _telling_columns(rows)])
    counts = f"count(DISTINCT (trimmed_{column}, {name})), count(DISTINCT ({person})), count(*)"
    n_pairs, n_people, n_rows = rows.source.row(f"SELECT {counts} FROM predictions")
    return bool(n_pairs == n_rows == n_people * times)


def _find_identifier(rows: CountedRows, free: Mapping[str, int], times: int) -> str:
    """Return the column that says whose rows these are, with as many values as people; or nothing."""
    n_rows = int(rows.together.rows.sum())
    for name, i in free.items():
        is_name = recognise.named_like_identifiers(name) or bool(
            PERSON.intersection(recognise.split_words(name))
        )
        n_values = f"SELECT count(DISTINCT trimmed_{i}) FROM predictions"
        if is_name and rows.source.row(n_values)[0] * times == n_rows:
            return name
    return ""


def _find_block_column(rows: CountedRows, free: Mapping[str, int], times: int) -> str:
    """Return the column that has one value in each of so many blocks of rows, each its own; or nothing."""
    source = rows.source
    block = f"(line - 1) // {int(rows.together.rows.sum()) // times}"
    numbered = "SELECT row_number() OVER () AS line, * FROM predictions"
    with source.engine(ordered=True, threads=1):
        for name, i in free.items():
            counts = f"count(DISTINCT trimmed_{i}), count(DISTINCT (trimmed_{i}, {block}))"
            if source.row(f"SELECT {counts} FROM ({numbered})") == (times, times):
                return name
    return ""


def _same_people_problem(rows: CountedRows, name: str, times: int, free: Mapping[str, int]) -> Problem:
    """Return the stop for rows of the same people, with the options that say what the rows are."""
    source = rows.source
    n_people = int(rows.together.rows.sum()) // times
    likeness = f"the same labels and groups, {n_people:,} rows each"
    identifier = _find_identifier(rows, free, times)
    by_person = ("; or let each person count once: ", Flag("cluster", identifier)) if identifier else ()
    if name:
        by_column = Flag("model-column", name)
        (value,) = source.row(f"SELECT min(trimmed_{free[name]}) FROM predictions")
        one_alone = Flag("keep", f"{name}={value}")
        fix = ("keep the rows of one, ", one_alone, ", or audit each apart with ", by_column) + by_person
        return Problem(
            f"{name} has {times} values with {likeness}: these are the same people",
            fix,
            source.name,
            assumed=(by_column,),
        )
    problem = f"the rows are {times} times those of the same people: {likeness}, below each other"
    if by_person:
        return Problem(problem, ("keep the first of them",) + by_person, source.name, assumed=(by_person[1],))
    keep = f"keep the first {n_people:,} of them"
    if source.name.endswith((".csv", ".tsv", ".txt")) and Path(source.name).is_file():
        keep += f": head -n {n_people + 1} {shlex.quote(source.name)} > once.csv"
    return Problem(problem, keep, source.name)


def _times_that_people_may_come(rows: CountedRows) -> list[int]:
    """Return how often the same people may have rows: as often as each group has each label a multiple of.

    Whoever names models, slices or clusters, or compares files, has said what rows are.
    """
    roles = rows.roles
    config = rows.config
    if roles.model is not None or roles.clusters or config.against or config.counts:
        return []
    sizes: Counter[tuple[str, str | None, int]] = Counter()
    for name in _groups_of_people(rows):
        cells = rows.cells_with([name])
        keys = zip(cells.values[name], cells.label.tolist(), cells.rows.tolist(), strict=True)
        for value, label, n in keys:
            sizes[name, value, label] += n
    most = min(MOST_TIMES, int(rows.together.rows.sum()) // FEWEST_PEOPLE)
    divisor = math.gcd(*sizes.values()) or 1
    return [k for k in range(2, most + 1) if divisor % k == 0]


def _telling_columns(rows: CountedRows) -> list[int]:
    """Return the columns of the attributes, and of the label."""
    columns = [rows.roles.attributes[name] for name in _groups_of_people(rows)]
    if rows.roles.label is not None:
        columns.append(rows.roles.label)
    return columns


def _groups_of_people(rows: CountedRows) -> list[str]:
    """Return the attributes, but for columns that may tell several results on the same people apart."""
    names = list(rows.roles.attributes)
    if rows.config.attributes is not None:
        return names
    return [name for name in names if not recognise.named_like_repeats(name)]


def _describe_totals(rows: CountedRows) -> list[str]:
    """Refuse groups that are the sum of others; return notes of those that are called so and are not.

    A group that is called like a total, or has no name in a file of counts, is one where as many rows have it
    as all others; any other where its rows also have the same scores and labels as theirs, and these are
    neither few nor of equal size or outcomes, as by design, and nobody chose a reference. Where that may be
    chance there is a note.
    """
    config = rows.config
    totals_of: dict[str, tuple[str, ...]] = {}
    summands_of: dict[str, list[str]] = {}
    notes = []
    for name in rows.roles.attributes:
        if name in rows.bins:
            continue
        groups, kinds = _count_kinds(rows, name)
        sizes = dict(zip(groups, kinds.sum(1).tolist(), strict=True))
        totals = _find_named_totals(sizes, of_counts=rows.weighted or config.counts is not None)
        called_so = [group for group in groups if recognise.named_like_totals(group, in_full=True)]
        if not (totals or called_so or name in config.references):
            totals = _find_sum(groups, kinds)
            if totals and _may_be_chance(kinds, by_design=not (rows.weighted or config.counts)):
                option = Flag("exclude", f"{name}={totals[0]}").spell()
                notes.append(f"{name}: {format_value(totals[0])} {IS_SUM}; if it is a total: {option}.")
                totals = ()
        if totals:
            totals_of[name] = totals
            summands_of[name] = [group for group in groups if group not in totals]
        for group in called_so:
            if not (totals or config.leaves_out(name, group)):
                size = f"{format_value(group)} ({sizes[group]:,.0f} of {kinds.sum():,.0f} rows)"
                option = Flag("exclude", f"{name}={group}").spell()
                notes.append(f"{name}: {size} {CALLED_TOTAL}; if it is one: {option}.")
    if totals_of or config.counts:
        for name, sizes in _sizes_in_other_columns(rows):
            totals = _find_named_totals(sizes, of_counts=False)
            if totals:
                totals_of[name] = totals
                summands_of[name] = [group for group in sizes if group not in totals]
    stays = _count_twice(rows, totals_of)
    problems = []
    for name, totals in totals_of.items():
        is_left = name in rows.roles.attributes and not all(
            config.leaves_out(name, group) for group in totals
        )
        if stays or is_left:
            problems.append(_total_problem(rows, name, totals, summands_of[name], stays=stays))
    refuse(problems)
    return notes


def _count_twice(rows: CountedRows, totals_of: Mapping[str, Sequence[str]]) -> bool:
    """Return whether people stay in several rows where the totals of each attribute alone are left out.

    That is where other attributes are audited, and rows that are no total of any say who people are.
    """
    if not totals_of or len(set(totals_of).union(rows.roles.attributes)) < 2:
        return False
    is_none = []
    for name, totals in totals_of.items():
        listed = ", ".join(map(sql.quoted, totals))
        is_none.append(f"{sql.text(rows.source.column_index[name])} NOT IN ({listed})")
    return bool(rows.source.rows(f"SELECT 1 FROM predictions WHERE {' AND '.join(is_none)} LIMIT 1"))


def _sizes_in_other_columns(rows: CountedRows) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield the columns that have no role, with the rows of each of their values, if these are few."""
    roles = rows.roles
    for name, i in rows.source.column_index.items():
        if i not in roles.role_of and name not in roles.attributes:
            counted = f"SELECT {sql.text(i)}, count(*) FROM predictions GROUP BY 1 ORDER BY 1"
            sizes = dict(rows.source.rows(f"{counted} LIMIT {MOST_VALUES + 1}"))
            if len(sizes) <= MOST_VALUES:
                yield name, sizes


def _find_named_totals(sizes: Mapping[str, float], *, of_counts: bool) -> tuple[str, ...]:
    """Return the groups that are called like totals, one of which has as many rows as all others.

    In a table of counts the name may be missing.

    >>> _find_named_totals({"f": 3, "m": 4, "All others": 2, "Total": 9}, of_counts=False)
    ('Total',)
    >>> _find_named_totals({"f": 3, "m": 4, "All sexes": 7}, of_counts=False)
    ('All sexes',)
    >>> _find_named_totals({"f": 3, "m": 4, "(missing)": 7}, of_counts=False)
    ()
    """
    by_name = [group for group in sizes if recognise.named_like_totals(group, in_full=True)]
    candidates = [by_name]
    for group in sizes:
        if group not in by_name and (recognise.named_like_totals(group) or (of_counts and group == MISSING)):
            candidates.append(by_name + [group])
    for totals in candidates:
        remaining = [n for group, n in sizes.items() if group not in totals]
        if len(remaining) > 1 and any(math.isclose(sizes[group], sum(remaining)) for group in totals):
            return tuple(totals)
    return ()


def _count_kinds(rows: CountedRows, name: str) -> tuple[list[str], Floats]:
    """Return an attribute's groups, and their weights by model, decisions and label, (groups, kinds)."""
    cells = rows.cells_with([name])
    groups, group = np.unique(list(map(group_name, cells.values[name])), return_inverse=True)
    keys = [np.unique(cells.models, return_inverse=True)[1], *cells.level, cells.label]
    _, kind = np.unique(np.stack(keys), axis=1, return_inverse=True)
    kinds = np.zeros((len(groups), kind.max() + 1))
    np.add.at(kinds, (group, kind.ravel()), cells.weight)
    return groups.tolist(), kinds


def _find_sum(groups: Sequence[str], kinds: Floats) -> tuple[str, ...]:
    """Return the group that has as many rows of each kind as all others, of which no two are alike, if any.

    >>> _find_sum(["x", "y", "z"], np.array([[90, 60], [50, 40], [40, 20]]))
    ('x',)
    >>> _find_sum(["x", "y", "z"], np.array([[90, 60], [60, 40], [30, 20]]))
    ()
    """
    sizes = kinds.sum(1)
    largest = int(sizes.argmax())
    summands = np.delete(kinds, largest, axis=0)
    n_parts = len(summands)
    if (
        n_parts < FEWEST_PARTS
        or sizes[largest] < FEWEST_OF_SUM
        or not np.allclose(summands.sum(0), kinds[largest])
    ):
        return ()
    part_sizes = summands.sum(1, keepdims=True)
    shares = np.unique(divide(summands, part_sizes).round(9), axis=0)
    return (groups[largest],) if len(np.unique(part_sizes)) == len(shares) == n_parts else ()


def _may_be_chance(kinds: Floats, *, by_design: bool) -> bool:
    """Return whether half of the rows of each kind are of one group by chance more often than `RARELY`.

    That half of all are is no chance where people may have been asked so, `by_design`.

    >>> kinds = np.array([[289, 531], [118, 302], [171, 229]])
    >>> [_may_be_chance(kinds, by_design=by_design) for by_design in (False, True)]
    [False, True]
    """
    chance = float(np.prod((np.pi * np.maximum(kinds.sum(0) / 2, 1)) ** -0.5))
    if by_design:
        chance *= math.sqrt(np.pi * kinds.sum() / 2)
    return chance > RARELY


def _total_problem(
    rows: CountedRows, name: str, totals: Sequence[str], summands: Sequence[str], *, stays: bool
) -> Problem:
    """Return the stop for groups that are the sum of others, with the options that leave them out.

    `stays` is whether their rows would still count for other attributes.
    """
    listed = join_names(list(map(format_value, totals)))
    of_parts = join_names(list(map(format_value, summands)), MOST_NAMED)
    problem = f"{name}: {listed} has as many rows as all other groups together ({of_parts}), as a total has"
    flags = tuple(Flag("exclude", f"{name}={group}") for group in totals)
    if stays:
        flags = (Flag("keep", f"{name}={','.join(summands)}"),)
    fix: list[str | Flag] = ["leave it out:"]
    for flag in flags:
        fix += [" ", flag]
    if not recognise.named_like_totals(totals[0]) and MISSING not in totals:
        fix += ["; if it is a group, choose a reference: ", Flag("ref", f"{name}={summands[0]}")]
    return Problem(problem, tuple(fix), rows.source.name, remedy=flags)


def _describe_one_hot(rows: CountedRows) -> Iterator[str]:
    """Yield a note on each attribute that was made a column of 0 and 1 for each of its groups."""
    roles = rows.roles
    of_prefix: dict[str, list[str]] = defaultdict(list)
    n_ones: dict[str, int] = {}
    for (name,) in (names for names in roles.audited if len(names) == 1):
        cells = rows.cells_with([name])
        groups = set(map(group_name, cells.values[name]))
        if len(groups) == 2 and all(group.lower() in ZEROS_AND_ONES for group in groups):
            is_one = [ZEROS_AND_ONES[group_name(value).lower()] for value in cells.values[name]]
            n_ones[name] = int(cells.rows[np.array(is_one)].sum())
            for separator in re.finditer(r"[\W_]+", name):
                of_prefix[name[: separator.start()]].append(name)
    for names in sorted(of_prefix.values(), key=len, reverse=True):
        if len(names) < FEWEST_COLUMNS or sum(n_ones[name] for name in names) != rows.together.rows.sum():
            continue
        ones = " + ".join(sql.code(roles.attributes[name], 0) for name in names)
        is_crossed = any(set(names) <= set(crossed) for crossed in rows.config.intersections)
        if not is_crossed and rows.source.row(f"SELECT bool_and({ones} = 1) FROM predictions")[0]:
            option = Flag("intersect", ",".join(names)).spell()
            group_of_first = CROSS.join("1" + "0" * (len(names) - 1))
            columns = f"{join_names(names)}: each row has 1 in one of these, so {ONE_ATTRIBUTE}"
            yield f"{columns} of {len(names)} groups: {option} ({group_of_first} is {names[0]})."


def _describe_split_ties(rows: CountedRows) -> Iterator[str]:
    """Yield a note on each top list that equal scores at its cut make longer or shorter, or that is drawn."""
    if not (rows.config.top_k or rows.config.top_share):
        return  # numbers are compared, and nobody asked for a list
    by_decision: dict[str, list[tuple[str, Cut, SplitTies]]] = {}
    for column, by_model in zip(rows.roles.scores, rows.cuts, strict=True):
        for model, cuts in by_model.items():
            name = model or (rows.source.columns[column] if len(rows.cuts) > 1 else "")
            for cut in cuts:
                if cut.split is not None:
                    by_decision.setdefault(str(cut.split.decision), []).append((name, cut, cut.split))
    options = [Flag("ties", way).spell() for way in get_args(Ties)]
    options[-1] += f" {Flag('seed', rows.config.seed).spell()}"
    are_sides = rows.config.compares and rows.config.sliced_by is None
    if are_sides or rows.config.cluster or rows.config.explained_by:
        options.pop()  # these are refused where rows are drawn
    for decision, lists in by_decision.items():
        clauses = [_describe_list(*one_list) for one_list in lists[:MOST_NAMED]]
        if len(lists) > MOST_NAMED:
            clauses.append(f"and so for {len(lists) - MOST_NAMED:,} more")
        choose, ways = "Choose by", options
        if len(lists) == 1:
            numbers = lists[0][2].selected.values()
            choose = "Selected are"
            ways = [f"{n:,} by {way}" for n, way in zip(numbers, options, strict=False)]
        yield f"{ASKED} {decision}: {'; '.join(clauses)}. {choose} {', '.join(ways[:-1])} or {ways[-1]}."


def _describe_list(name: str, cut: Cut, split: SplitTies) -> str:
    """Return how many rows a top list has, and why.

    >>> from fairbench_cli.audit.config import Decision
    >>> split = SplitTies(Decision("top-k", 50), k=50, above=24, tied=57)
    >>> _describe_list("", Cut("top 50 (81 with ties)", 3.0, split=split), split)
    '81 rows are selected, not 50, as 57 have the score at the cut, 3'
    >>> drawn = SplitTies(Decision("top-k", 50, "random"), k=50, above=24, tied=57)
    >>> _describe_list("lr", Cut("", 3.0, 26, split=drawn), drawn)
    'of lr 26 of the 57 rows that have the score at the cut, 3, are drawn'
    """
    of_model = f"of {name} " if name else ""
    score = f"the score at the cut, {cut.score:.10g}"
    if split.decision.ties == "random":
        return f"{of_model}{split.k - split.above:,} of the {split.tied:,} rows that have {score}, are drawn"
    n = split.selected[split.decision.ties]
    return f"{of_model}{n:,} rows are selected, not {split.k:,}, as {split.tied:,} have {score}"


@dataclass(frozen=True)
class _Scale:
    """How the scores of a column lie to 0, 1 and 2: rows, the lowest and highest, and how many are where."""

    rows: int
    low: float
    high: float
    inside: int  # above 0 and below 1
    upper: int  # above a half and below 1
    shares: int  # from 0 to 1
    from_one: int  # 1 and above
    between: int  # above 1 and below 2

    @property
    def mixed(self) -> bool:
        """Whether some scores are likely shares and others percents.

        Of a smooth scale up to 100 that has `FEWEST_SHARES` scores between a half and 1, some are between 1
        and 2.
        """
        wide = self.low >= 0 and TWO <= self.high <= PERCENT
        return wide and self.upper >= FEWEST_SHARES and self.between == 0


def check_thresholds(source: Source, column: int, thresholds: tuple[float, ...]) -> list[str]:
    """Refuse a threshold of another scale than nearly all scores; return notes of scores of two scales.

    A threshold between 0 and 1 is of another scale where nearly all scores are from 1 to 1,000, or all are
    above it; one from 1 to 100 where nearly all are from 0 to 1 and the others look like percents, or
    none is as high. What the first rows do not hint at is not looked for in all of them.
    """
    name = source.columns[column]
    scale = _measure_scale(source, column, "sample" if source.alone is None else "predictions")
    if scale.mixed or any(_whom_it_selects(scale, threshold) for threshold in thresholds):
        scale = _measure_scale(source, column, "predictions")
    for threshold in thresholds:
        who = _whom_it_selects(scale, threshold)
        if not who:
            continue
        span = f"{name} goes from {scale.low:.6g} to {scale.high:.6g}"
        meant = 0.0
        if threshold >= 1:
            meant = threshold / PERCENT
        elif scale.high <= THOUSAND:
            meant = threshold * (PERCENT if scale.high <= PERCENT else THOUSAND)
        between = "name a threshold between these"
        fix: MessageText = between
        if who == "nearly everybody":
            fix = (f"{between}, as ", Flag("threshold", 1))
        if scale.mixed:
            fix = "write all scores on one scale: some look like shares, others like percents"
        elif scale.low < meant <= scale.high:
            fix = ("did you mean ", Flag("threshold", f"{meant:.6g}"), "?")
        raise user_error(f"{span}: a threshold of {threshold:.6g} selects {who}", fix, Flag("threshold"))
    if not scale.mixed:
        return []
    counts = f"{scale.inside} are between 0 and 1, none between 1 and 2, and others up to {scale.high:.6g}"
    return [f"{name}: {counts}; if some are shares and some percents, write all on one scale."]


def _whom_it_selects(scale: _Scale, threshold: float) -> str:
    """Return whom a threshold of another scale selects; empty where it may well be of this one."""
    nearly = NEARLY * scale.rows
    share = 0 < threshold < 1 and scale.high >= TWO
    percent = 1 < threshold <= PERCENT and scale.low >= 0
    cases = {
        "everybody": share and threshold <= scale.low,
        "nearly everybody": share and 0 <= scale.low < scale.high <= THOUSAND and scale.from_one >= nearly,
        "nobody": percent and scale.high <= 1,
        "nearly nobody": percent and scale.mixed and scale.shares >= nearly,
    }
    return next((who for who, holds in cases.items() if holds), "")


def _measure_scale(source: Source, column: int, table: str) -> _Scale:
    """Return where the scores of a table lie."""
    score = f"number_{column}"
    conditions = (
        f"{score} > 0 AND {score} < 1",
        f"{score} > 0.5 AND {score} < 1",
        f"{score} BETWEEN 0 AND 1",
        f"{score} >= 1",
        f"{score} > 1 AND {score} < 2",
    )
    counts = (f"count(*) FILTER ({condition})" for condition in conditions)
    ends = f"coalesce(min({score}), -1), coalesce(max({score}), -1)"
    return _Scale(*source.row(f"SELECT count({score}), {ends}, {', '.join(counts)} FROM {table}"))
