"""Read what explanations need: counts by group and stratum of all rows, and the features of some."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.read.cells import CountingPlan
from fairbench_cli.audit.read.columns import MOST_GROUPS
from fairbench_cli.audit.read.cuts import NumberBins, bin_sql, bins_note, find_bins, literal
from fairbench_cli.audit.read.defaults import IDENTIFIER, MOST_CODES, RESERVED
from fairbench_cli.audit.read.predictions import Predictions, blank, code_sql, not_finite, quoted
from fairbench_cli.audit.read.ranks import text_sql
from fairbench_cli.audit.read.score_names import follows, named_like_scores
from fairbench_cli.audit.read.tally import MISSING, People, Slice, Strata
from fairbench_cli.base.errors import shown, suggest, user_error
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.rows import RANGES

MOST_ROWS = 100_000  # whose features are read
MOST_LEVELS = 100  # of a feature
MOST_STRATA = 1000


def explained_slices(slices: tuple[Slice, ...], config: AuditConfig) -> list[Slice]:
    """Return the attributes to explain: not those to explain by, intersections, and those of one group.

    Raises
    ------
    UserError
        When there are none, or several models.
    """
    if len({part.model for part in slices}) > 1:
        what = "several models are audited, and one can be explained at a time"
        raise user_error(what, "leave one model in the file", "--explain")
    used = {name for names in config.explained_by for name in names}
    found = [
        part for part in slices if not part.intersection and part.attribute not in used and len(part.rows) > 1
    ]
    if not found:
        what = "no attribute is left to explain"
        raise user_error(what, "name the protected one with --attribute", "--explain")
    return found


def read_strata(
    source: Predictions, plan: CountingPlan, parts: list[Slice], config: AuditConfig
) -> tuple[dict[str, tuple[Strata, ...]], tuple[str, ...]]:
    """Return the strata of every explanation by attribute, and how columns were cut for them.

    Raises
    ------
    UserError
        For a column to explain by that is not there, has another role or too many values, for too many
        strata, or when ties are drawn at random: no row is selected for sure then.
    """
    columns, notes = _stratum_columns(source, plan, config)
    decision = _decision_sql(plan)
    return {
        part.attribute: tuple(
            _count_strata(source, plan, part, {name: columns[name] for name in names}, decision)
            for names in config.explained_by
        )
        for part in parts
    }, tuple(notes)


def read_people(
    source: Predictions,
    plan: CountingPlan,
    attributes: list[str],
    rows: int,
    seed: int,
    most: int = MOST_ROWS,
) -> People:
    """Return groups, decisions and features of all rows, or of `most` drawn at random.

    Features are all columns but score, label, weight, model, identifiers and other scores: columns that are
    called so, or follow the audited ones, with a note. A column of numbers is a number,
    its empty cells the mean, with a column that marks them; any other is one of levels, with a level for
    empty cells. One with more than `MOST_LEVELS` levels is left out, with a note.

    Parameters
    ----------
    source, plan
        The rows, and how they were counted.
    attributes : list of str
        Whose groups to read.
    rows : int
        How many there are.
    seed, most : int, int
        Of the draw.
    """
    import pandas as pd

    roles = plan.roles
    columns = {
        name: i
        for name, i in source.places.items()
        if i not in {*roles.taken, roles.single_model} and name.lower() not in RESERVED
    }
    scores = [name for name in columns if named_like_scores(name) and name not in attributes]
    columns = {name: i for name, i in columns.items() if name not in scores}
    parts = [
        f"{_decision_sql(plan)} AS d",
        f"{_decision_sql(plan) if plan.binary else f'n{roles.score}'}::DOUBLE AS s",
        f"{'1::DOUBLE' if roles.weight is None else f'n{roles.weight}'} AS w",
        *(f"{_group_sql(plan, name)} AS g{i}" for i, name in enumerate(attributes)),
        *(f"coalesce(t{column}, '') AS x{i}" for i, column in enumerate(columns.values())),
    ]
    notes, where = [], ""
    source.engine.execute("SET threads=1; SET preserve_insertion_order=true")
    if rows > most:
        lines = np.sort(np.random.default_rng(seed).choice(rows, most, replace=False)) + 1
        source.engine.register("chosen", pd.DataFrame({"line": lines}))
        where = " WHERE line IN (SELECT line FROM chosen)"
        notes.append(f"Features are those of {most} of {rows} rows, drawn at random.")
    numbered = "SELECT row_number() OVER () AS line, * FROM predictions"
    sql = f"SELECT {', '.join(parts)} FROM ({numbered}){where}"
    found = source.execute(sql).fetchnumpy()
    features: list[tuple[str, Floats, bool]] = []
    for i, name in enumerate(columns):
        made, note = _feature(name, np.asarray(found[f"x{i}"], dtype=object))
        numbers = bool(made) and not made[0][1]
        if numbers and IDENTIFIER.search(name) and len(np.unique(made[0][0])) > MOST_CODES:
            notes.append(f"{name} looks like an identifier and is no feature.")
            continue
        if numbers and follows(made[0][0], np.asarray(found["s"], dtype=np.float64)):
            scores.append(name)
            continue
        notes += [note] if note else []
        features += [(name, values, of_levels) for values, of_levels in made]
    notes += [f"{name} holds scores and is no feature." for name in scores]
    return People(
        {name: np.asarray(found[f"g{i}"], dtype=object) for i, name in enumerate(attributes)},
        np.asarray(found["d"], dtype=np.int64),
        None if roles.weight is None else np.asarray(found["w"], dtype=np.float64),
        np.column_stack([np.empty((len(found["d"]), 0)), *(values for _, values, _ in features)]),
        tuple(of_levels for _, _, of_levels in features),
        tuple(name for name, _, _ in features),
        tuple(notes),
    )


def _feature(name: str, cells: NDArray[Any]) -> tuple[list[tuple[Floats, bool]], str]:
    """Turn a column into features, each with whether it is one of levels; into none where all is the same."""
    import pandas as pd

    empty = cells == ""
    numbers = np.asarray(pd.to_numeric(pd.Series(cells).where(~empty), errors="coerce"), dtype=np.float64)
    if not empty.all() and np.isfinite(numbers[~empty]).all():
        filled = np.where(empty, numbers[~empty].mean(), numbers)
        made = [(filled, False), (empty.astype(np.float64), True)]
    else:
        codes, levels = pd.factorize(cells, sort=True)
        if len(levels) > MOST_LEVELS:
            return [], f"{name} has {len(levels)} different values and is no feature."
        made = [(codes.astype(np.float64), True)]
    return [(values, of_levels) for values, of_levels in made if np.ptp(values) > 0], ""


def _decision_sql(plan: CountingPlan) -> str:
    """Write whether a row is selected in SQL, 0 or 1."""
    if plan.binary:
        return code_sql(plan.roles.score, 0)
    cut = next(iter(plan.cuts.values()))[0]
    if isinstance(cut.tied, int):
        raise user_error("ties are drawn, not rows", "use --ties include or exclude", "--explain")
    sign = ">=" if cut.tied == "all" else ">"
    return f"CASE WHEN n{plan.roles.score} {sign} {literal(cut.score)} THEN 1 ELSE 0 END"


def _group_sql(plan: CountingPlan, attribute: str) -> str:
    """Write the group of a row in SQL, cut as it was audited."""
    column = plan.roles.attributes[attribute]
    return _binned_sql(column, plan.bins[attribute]) if attribute in plan.bins else text_sql(column)


def _binned_sql(column: int, bins: NumberBins) -> str:
    cases = "".join(f" WHEN {i} THEN {quoted(label)}" for i, label in enumerate(bins.labels))
    return f"CASE {bin_sql(column, bins)}{cases} ELSE '{MISSING}' END"


def _stratum_columns(
    source: Predictions, plan: CountingPlan, config: AuditConfig
) -> tuple[dict[str, str], list[str]]:
    """Return the columns to explain by in SQL, by name, and what was done to them.

    A column of more than `MOST_CODES` different numbers is cut into ranges of equal counts: `RANGES`, or as
    many as ``bins`` says.
    """
    columns: dict[str, str] = {}
    notes: list[str] = []
    for name in dict.fromkeys(name for names in config.explained_by for name in names):
        column = source.places.get(name)
        if column is None:
            raise user_error(f"no column {shown(name)}", suggest(name, source.places), "--explain")
        if column in plan.roles.taken:
            what = f"column {shown(name)} is the {plan.roles.taken[column]}"
            raise user_error(what, "explain by another", "--explain")
        different, words = source.one(
            f"SELECT count(DISTINCT t{column}), "
            f"count(*) FILTER (NOT ({blank(column)}) AND {not_finite(f'n{column}')}) FROM predictions"
        )
        if different > MOST_CODES and not words:
            many = config.bins.get(name, RANGES)
            bins = plan.bins.get(name) or find_bins(source, column, many)
            notes.append(bins_note(name, many, bins))
            columns[name] = _binned_sql(column, bins)
        elif different > MOST_GROUPS:
            what = f"{shown(name)} has {different} different values, too many for strata"
            raise user_error(what, "explain by a column with fewer", "--explain")
        else:
            columns[name] = text_sql(column)
    return columns, notes


def _count_strata(
    source: Predictions, plan: CountingPlan, part: Slice, by: dict[str, str], decision: str
) -> Strata:
    """Count all rows by stratum (of the columns `by`, as SQL), group and decision."""
    mass = "1::DOUBLE" if plan.roles.weight is None else f"n{plan.roles.weight}"
    keys = ", ".join(f"{sql} AS z{i}" for i, sql in enumerate(by.values()))
    names = ", ".join(f"z{i}" for i in range(len(by)))
    group = _group_sql(plan, part.attribute)
    inner = f"SELECT {group} AS g, {keys}, {decision} AS d, {mass} AS w FROM predictions"
    found = source.all(f"SELECT g, d, sum(w), {names} FROM ({inner}) GROUP BY g, d, {names}")
    strata = sorted({row[3:] for row in found}, key=lambda names: [(_begin(name), name) for name in names])
    if len(strata) > MOST_STRATA:
        what = f"{CROSS.join(by)} makes {len(strata)} strata"
        raise user_error(what, f"cross fewer columns; at most {MOST_STRATA} are compared", "--explain")
    place = {stratum: i for i, stratum in enumerate(strata)}
    index = {name: g for g, name in enumerate(part.counts.groups)}
    n = np.zeros((len(strata), len(index), 2))
    for group, selected, weight, *stratum in found:
        n[place[tuple(stratum)], index[group], selected] += weight
    return Strata(CROSS.join(by), tuple(CROSS.join(stratum) for stratum in strata), n)


def _begin(text: str) -> float:
    """Return what sorts numbers, and ranges by where they begin, before words; `MISSING` last."""
    if text == MISSING:
        return float("inf")
    first = text.split(" to ")[0]
    for start in (first, first.split("-")[0]):
        try:
            return float(start)
        except ValueError:
            continue
    return 1e308
