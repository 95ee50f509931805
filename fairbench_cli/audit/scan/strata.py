"""Read what explanations need: counts by group and stratum of all rows."""

from itertools import chain

import numpy as np

from fairbench_cli.audit.config import MISSING
from fairbench_cli.audit.scan import sql
from fairbench_cli.audit.scan.input_errors import refuse_unclear_numbers
from fairbench_cli.audit.scan.readings import NumberBins, bin_sql, describe_bins, find_bins
from fairbench_cli.audit.scan.roles import MOST_CODES, MOST_GROUPS, find_column
from fairbench_cli.audit.scan.scan import Scan, group_by
from fairbench_cli.audit.scan.slices import Slice, Strata, StrataOfRows
from fairbench_cli.base.errors import Flag, format_value, user_error
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.rows import RANGES

MOST_STRATA = 1000
EXPLAIN = Flag("explain")


def explained_slices(scan: Scan) -> list[Slice]:
    """Return the attributes to explain: not those to explain by, intersections, and those of one group.

    Raises
    ------
    UserError
        When there are none, or several models or classes.
    """
    slices = scan.tally.slices
    if len({group_counts.model for group_counts in slices}) > 1:
        problem = "several models are audited, and one can be explained at a time"
        raise user_error(problem, "leave one model in the file", EXPLAIN)
    if scan.classes:
        problem = "several classes are audited, and one can be explained at a time"
        raise user_error(problem, ("name it: ", Flag("favourable", scan.classes[0])), EXPLAIN)
    columns = set(chain.from_iterable(scan.config.explained_by))
    explained = [
        group_counts
        for group_counts in slices
        if not group_counts.intersection
        and group_counts.attribute not in columns
        and len(group_counts.rows) > 1
    ]
    if not explained:
        fix = ("name the protected one with ", Flag("attribute"))
        raise user_error("no attribute is left to explain", fix, EXPLAIN)
    return explained


def read_strata(scan: Scan) -> StrataOfRows:
    """Return the strata of every explanation by attribute, and how columns were cut for them.

    Raises
    ------
    UserError
        For a column to explain by that is not there, has another role or too many values, for too many
        strata, or when ties are drawn at random: no row is selected for sure then.
    """
    slices = explained_slices(scan)
    columns, notes = find_stratum_columns(scan)
    strata: dict[str, tuple[Strata, ...]] = {}
    for group_counts in slices:
        strata_of_slice: list[Strata] = []
        for names in scan.config.explained_by:
            named_columns = {name: columns[name] for name in names}
            strata_of_slice.append(_count_strata(scan, group_counts, named_columns))
        strata[group_counts.attribute] = tuple(strata_of_slice)
    return StrataOfRows(strata, tuple(notes))


def _decision_sql(scan: Scan) -> str:
    """Write whether a row is selected in SQL, 0 or 1."""
    if scan.binary:
        return sql.code(scan.roles.score, 0)
    cut = next(iter(scan.cuts[0].values()))[0]
    if isinstance(cut.tied, int):
        fix = ("use ", Flag("ties"), " include or exclude")
        raise user_error("ties are drawn, not rows", fix, EXPLAIN)
    sign = ">"
    if cut.tied == "all":
        sign = ">="
    return f"CASE WHEN number_{scan.roles.score} {sign} {sql.literal(cut.score)} THEN 1 ELSE 0 END"


def group_sql(scan: Scan, attribute: str) -> str:
    """Write the name of the group of a row in SQL, cut as it was audited."""
    column = scan.roles.attributes[attribute]
    bins = scan.bins.get(attribute)
    if bins is None:
        return sql.text(column)
    return _binned_sql(column, bins)


def _binned_sql(column: int, bins: NumberBins) -> str:
    cases = "".join(f" WHEN {i} THEN {sql.quoted(label)}" for i, label in enumerate(bins.labels))
    return f"CASE {bin_sql(column, bins)}{cases} ELSE '{MISSING}' END"


def find_stratum_columns(scan: Scan) -> tuple[dict[str, str], list[str]]:
    """Return the columns to explain by in SQL, by name, and what was done to them.

    A column of more than `MOST_CODES` different numbers is cut into ranges of equal counts: `RANGES`, or as
    many as ``bins`` says.
    """
    source = scan.source
    role_of = scan.roles.role_of
    columns: dict[str, str] = {}
    notes: list[str] = []
    for name in dict.fromkeys(chain.from_iterable(scan.config.explained_by)):
        column = find_column(source, name, "explain")
        if column in role_of:
            problem = f"column {format_value(name)} is the {role_of[column]}"
            raise user_error(problem, "explain by another", EXPLAIN)
        different, n_words = source.row(
            f"SELECT count(DISTINCT trimmed_{column}), count(*) FILTER ({sql.no_number(column)}) "
            "FROM predictions"
        )
        if different > MOST_CODES and n_words:
            refuse_unclear_numbers(source, column)
        if different > MOST_CODES and not n_words:
            n_bins_or_edges = scan.config.bins.get(name, RANGES)
            bins = scan.bins.get(name) or find_bins(source, column, n_bins_or_edges)
            notes.append(describe_bins(name, n_bins_or_edges, bins))
            columns[name] = _binned_sql(column, bins)
        elif different > MOST_GROUPS:
            problem = f"{format_value(name)} has {different} different values, too many for strata"
            raise user_error(problem, "explain by a column with fewer", EXPLAIN)
        else:
            columns[name] = sql.text(column)
    return columns, notes


def _count_strata(scan: Scan, group_counts: Slice, stratum_columns: dict[str, str]) -> Strata:
    """Count all rows by stratum (of the columns `by`, as SQL), group and decision."""
    weight = "1::DOUBLE"
    if scan.weighted:
        weight = f"number_{scan.roles.weight}"
    keys = {"of": group_sql(scan, group_counts.attribute), "decision": _decision_sql(scan)}
    keys |= {f"stratum_{i}": value for i, value in enumerate(stratum_columns.values())}
    columns = ", ".join(f"{value} AS {key}" for key, value in {**keys, "weight": weight}.items())
    summed = scan.source.rows(group_by(f"SELECT {columns} FROM predictions", list(keys), ["sum(weight)"]))
    strata = sorted(
        {row[2:-1] for row in summed}, key=lambda names: [(number_to_sort_by(name), name) for name in names]
    )
    if len(strata) > MOST_STRATA:
        problem = f"{CROSS.join(stratum_columns)} makes {len(strata)} strata"
        raise user_error(problem, f"cross fewer columns; at most {MOST_STRATA} are compared", EXPLAIN)
    stratum_index = {stratum: i for i, stratum in enumerate(strata)}
    index = {name: g for g, name in enumerate(group_counts.counts.groups)}
    n = np.zeros((len(strata), len(index), 2))
    for group, selected, *stratum, weight_of in summed:
        n[stratum_index[tuple(stratum)], index[group], selected] += weight_of
    return Strata(CROSS.join(stratum_columns), tuple(CROSS.join(stratum) for stratum in strata), n)


def number_to_sort_by(text: str) -> float:
    """Return the number that sorts numbers, and ranges by where they begin, before words; `MISSING` last."""
    if text == MISSING:
        return float("inf")
    begin = text.split(" to ")[0]
    for start in (begin, begin.split("-")[0]):
        try:
            return float(start)
        except ValueError:
            continue
    return 1e308
