"""What each column of a study's table is, given or guessed by its name."""

import re
from collections.abc import Mapping, Sequence

from fairbench_cli.audit.scan.roles import find_column
from fairbench_cli.audit.scan.source import Source
from fairbench_cli.base.errors import Flag, UserError, format_value, suggest, user_error
from fairbench_cli.base.safe_text import join_names
from fairbench_cli.measures.registry import METRICS, normalise_name

USUAL_NAMES: Mapping[str, tuple[str, ...]] = {
    "data": ("data", "dataset data_set", "task problem domain corpus"),
    "technique": (
        "technique",
        "method algorithm approach mitigation intervention treatment strategy debiaser solver framework",
        "model system",
        "classifier estimator learner",
    ),
    "repeat": (
        "repeat",
        "repetition replicate replication rep idx_rep repeat_id",
        "run trial iteration",
        "fold split",
        "seed random_state random_seed",
    ),
    "metric": ("metric", "measure criterion indicator"),
    "value": ("value", "result score objective_value metric_value"),
}
"""What columns of each role are called, without ``params.`` and ``_name``; earlier lines go first."""
METRIC_WORDS = frozenset(
    """
    acc accuracy balacc bacc auc auroc auprc roc f mcc precision recall spd dpd dp dem di eod eo eq eop aod
    erd logloss brier kappa gmean theil
    """.split()  # noqa: SIM905
)
"""With what word names of metrics begin, next to those that fairbench knows."""
SPREAD_WORDS = frozenset("std sd se sem stderr var count n ci low high lower upper min max".split())  # noqa: SIM905
"""How names end of what is said of a metric, and is none of its values."""
MOST_LISTED = 20  # columns in a message


def assign_roles(
    rows: Source, columns: Mapping[str, str], values: Sequence[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the columns of roles that have one, and those of values: several of a wide table.

    Parameters
    ----------
    rows : Source
        The table.
    columns : mapping of str to str
        Columns by role, as they are given; ``a+b`` for two that are read as one.
    values : sequence of str
        The columns of a wide table's metrics, as they are given.

    Raises
    ------
    UserError
        For a role or a column that does not exist, a role that is missing, and one of several likely columns.
    """
    for role in columns:
        if role not in USUAL_NAMES:
            raise user_error(f"no role is called {role}", suggest(role, USUAL_NAMES), Flag("columns"))
    if values and ("value" in columns or ("metric" in columns and len(values) > 1)):
        problem = "values are in one column, perhaps next to one of metrics, or in a column per metric"
        raise user_error(
            problem, ("leave out ", Flag("values"), ", or the column in ", Flag("columns")), rows.name
        )
    used_columns = set(values)
    for name in columns.values():
        used_columns.update(rows.columns[column] for column in columns_of(rows, name))
    for name in values:
        find_column(rows, name, "values")
    roles = dict(columns)
    for role in USUAL_NAMES:
        is_given = role in roles or (role == "value" and values) or (role == "metric" and len(values) > 1)
        if is_given:
            continue
        guess = _guess_column(role, [name for name in rows.column_index if name not in used_columns])
        if guess is not None:
            roles[role] = guess
            used_columns.add(guess)
    if "technique" not in roles:
        fix = '; columns that are techniques become rows by frame.melt(…, var_name="technique")'
        raise _missing_role(rows, "technique", fix)
    value_names = tuple(dict.fromkeys(values))
    if not values:
        value_names = tuple(roles[role] for role in ("value",) if role in roles)
        if "metric" not in roles and "value" not in columns:
            value_names += tuple(
                name for name in rows.column_index if name not in used_columns and is_metric_name(name)
            )
    if not value_names:
        fix_of_wide = ("; or the columns of metrics, ", Flag("values", "NAME,NAME"))
        raise _missing_role(rows, "value", *fix_of_wide)
    return {**roles, "value": ",".join(value_names)}, value_names


def columns_of(rows: Source, name: str) -> list[int]:
    """Return the column of a name, or those of several joined by ``+``, which are read as one."""
    if name in rows.column_index:
        return [rows.column_index[name]]
    return [find_column(rows, part, "columns") for part in name.split("+")]


def is_repeat_name(name: str) -> bool:
    """Return whether a column is called like one of repeats.

    >>> is_repeat_name("CV fold"), is_repeat_name("random_state")
    (False, True)
    """
    return _stem(name) in " ".join(USUAL_NAMES["repeat"]).split()


def is_metric_name(name: str) -> bool:
    """Return whether a column is called like a metric.

    >>> [is_metric_name(name) for name in ("test/acc_mean", "SPD (sex)", "objective_f1", "acc_sd", "depth")]
    [True, True, True, False, False]
    """
    stem = re.sub(
        "^(test|objective|mean|avg|metrics?)_|_(mean|avg|test)$", "", _stem(name.rpartition("/")[2])
    )
    words = re.findall("[a-z]+", stem)
    if not words or words[-1] in SPREAD_WORDS or stem == "cv":
        return False
    return words[0] in METRIC_WORDS or normalise_name(stem) in METRICS


def _stem(name: str) -> str:
    """Return a column's name in small letters, with _ between its words and without "params" and "name"."""
    stem = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return stem.removeprefix("params_").removesuffix("_name")


def _guess_column(role: str, names: Sequence[str]) -> str | None:
    """Return the column that is usually called as a role is; refuse two that are as likely."""
    for usual in USUAL_NAMES[role]:
        likely = [name for name in names if _stem(name) in usual.split()]
        if len(likely) > 1:
            problem = f"the column of the {role} may be {' or '.join(map(format_value, likely))}"
            raise user_error(problem, ("say which, ", Flag("columns", (role, likely[0]))))
        if likely:
            return likely[0]
    return None


def _missing_role(rows: Source, role: str, *also: str | Flag) -> UserError:
    """Return the error for a role without a column, which lists those that there are."""
    listed = join_names([format_value(name) for name in rows.column_index], MOST_LISTED)
    fix: tuple[str | Flag, ...] = ("name it, ", Flag("columns", (role, "COLUMN")), *also)
    if rows.doubled:
        listed += f"; several are called {join_names([format_value(name) for name in rows.doubled])}"
        fix = ("write one line of names, all different, above a row per value; then ", *fix)
    return user_error(f"no column is called like a {role}: {listed}", fix, rows.name)
