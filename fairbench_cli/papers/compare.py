"""A run's results against a paper's published values: which cell is which value, and how near it is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairbench_cli.base.errors import UserError, user_error
from fairbench_cli.experiment.journal.folder import read_results
from fairbench_cli.experiment.journal.journal import Damage, Records
from fairbench_cli.experiment.plan import Facts, RunPlan, facts_of, select, text_of
from fairbench_cli.papers.registry import Paper, Where, read_published
from fairbench_cli.report.ledger.cell_labels import classifier_label, technique_label
from fairbench_cli.report.ledger.journal_arrays import key_of
from fairbench_cli.report.ledger.results import RunResults, run_results
from fairbench_cli.report.show.tables import format_cell

WITHIN = "within tolerance"
INSIDE = "inside interval"
NEAR = "within 0.02"
CLOSE = "within 0.05"
OFF = "off"
BOTH = 'both "-"'
NOT_RUN = "not run"

VERDICTS = (WITHIN, INSIDE, NEAR, CLOSE, BOTH, OFF, NOT_RUN)

ROUNDING = 5e-4  # papers print three decimals
_SLACK = 1e-9  # of binary fractions: 0.3205 - 0.3 is a little more than 0.0205

NO_AXES = ("table", "metric", "value", "sd", "runs", "flags")
OURS = ("ours", "ours_sd", "low", "high", "n_ok", "n", "shown", "cell")
OF_SDS = ("ours_sd", "tolerance", "floor", "z")
"""Columns of papers that give standard deviations alone."""
COLUMNS = ("ours", "difference", "tolerance", "floor", "z", *OURS[1:], "verdict", "note")
"""Columns that are added to those of a paper's CSV."""


@dataclass(frozen=True)
class Reproduction:
    """Every published value with what a run has in its place.

    Parameters
    ----------
    run : str
        What the run is called.
    values : DataFrame
        One row per published value: the columns of the paper's CSV (`theirs` instead of `value`); `ours`,
        the mean of the repeats; `difference`, ours less theirs; `low` and `high`, our 95 % interval; `n_ok`
        of `n` repeats gave a value; `shown`, our value as the tables write it; `cell`, which of the run's
        cells it is; `verdict` and `note` as `judge` gives them. Where the paper gives sds, also our own sd,
        `tolerance`, `floor`, and `z`, the difference over its standard error if all runs are independent.
    protocol : str
        What the run trained and tested on.
    damages : tuple of Damage
        Lines of the journals that are not used.
    """

    paper: Paper
    run: str
    values: pd.DataFrame
    protocol: str = ""
    damages: tuple[Damage, ...] = ()

    @property
    def covered(self) -> pd.DataFrame:
        """The values that the run has, in the same order."""
        return self.values[self.values["verdict"] != NOT_RUN]

    @property
    def scored(self) -> pd.DataFrame:
        """The covered values that a run is judged by: of the scored metrics, without a flag."""
        values = self.unflagged
        if self.paper.scored:
            return values[values["metric"].isin(self.paper.scored)]
        return values

    @property
    def unflagged(self) -> pd.DataFrame:
        """The covered values that nothing is known to be wrong with."""
        if "flags" in self.values:
            return self.covered[self.covered["flags"] == ""]
        return self.covered

    @property
    def flagged(self) -> pd.DataFrame:
        """The covered values that something is wrong with in the paper."""
        return self.covered.drop(self.unflagged.index)


def compare_folder(
    folder: Path, paper: Paper, run: str, *, tables: tuple[str, ...] = (), filters: tuple[str, ...] = ()
) -> Reproduction:
    """Compare a folder of `fairbench run` with a paper.

    Parameters
    ----------
    tables : tuple of str
        Tables of the paper that are wanted; all by default.
    filters : tuple of str
        Cells of the run that are wanted, as `select` takes them.

    Raises
    ------
    UserError
        When the folder holds no results, several cells fit one value, or the run has none of the values.
    """
    plan, reading = read_results(folder)
    found = compare(paper, read_published(paper, tables), plan, reading.records, run=run, filters=filters)
    found = replace(found, damages=reading.damages)
    if found.covered.empty:
        asked = ", ".join([*(f"table {one}" for one in tables), *filters])
        raise user_error(
            f"{folder} has none of the values of {paper.name}" + (f" ({asked})" if asked else ""),
            "compare a run on the paper's data sets, β and techniques",
        )
    return found


def compare(
    paper: Paper,
    published: pd.DataFrame,
    plan: RunPlan,
    records: Records,
    *,
    run: str,
    filters: tuple[str, ...] = (),
) -> Reproduction:
    """Set every published value against the mean of the cell that fits it.

    Metrics are computed from the journal's counts, whether or not the run's config lists them.

    Raises
    ------
    UserError
        When several cells fit one value, or a filter is wrong.
    """
    config = plan.config
    facts = [facts_of(cell) | {"sample": config.sample.source, "test": config.tested} for cell in plan.cells]
    kept = [i for i, keep in enumerate(select(facts, filters)) if keep]
    keys = [plan.cells[i]["key"] for i in kept]
    fits = match(paper, published, [facts[i] for i in kept], keys, run)
    cells = [None if fit is None else plan.cells[kept[fit]] for fit in fits]
    printed = published.to_dict("records")
    metrics = [paper.our_metric(row) for row in printed]
    used = dict.fromkeys(kept[fit] for fit in fits if fit is not None)
    part = replace(plan, cells=[plan.cells[i] for i in used])
    found = run_results(Path(), part, records, tuple(dict.fromkeys(metrics)))
    rows = [
        _NOTHING if cell is None else _ours(found, cell, metric)
        for cell, metric in zip(cells, metrics, strict=True)
    ]
    theirs = published.rename(columns={"value": "theirs"})
    values = theirs.join(pd.DataFrame(rows, columns=OURS))
    values["difference"] = values["ours"] - values["theirs"]
    values["tolerance"] = [paper.tolerance(row) for row in printed]
    values["floor"] = [paper.floor(row) for row in printed]
    if paper.floors:
        values["z"] = z_scores(values)
    numbers = values[["theirs", "ours", "low", "high", "shown", "tolerance"]]
    judged = [judge(*row) for row in numbers.itertuples(index=False, name=None)]
    values = values.assign(verdict=[v for v, _ in judged], note=[n for _, n in judged])
    values = values[[*theirs, *(name for name in COLUMNS if paper.floors or name not in OF_SDS)]]
    return Reproduction(paper, run, values, f"{TRAINED[config.sample.source]}; {TESTED[config.tested]}")


TRAINED = {
    "network": "trained on samples of networks learned from the data",
    "shipped": "trained on samples of the networks that ship with fairbench",
    "data": "trained on random shares of the data",
}
TESTED: dict[str | None, str] = {
    "original": "tested on the original data",
    "network": "tested on samples of the networks, not on data",
    "holdout": "tested on the rest",
    "file": "tested on the rows of a file",
}


def z_scores(values: pd.DataFrame) -> "pd.Series[float]":
    """Return the difference of two means over its standard error; 0 for equal means of constants."""
    squares = values["sd"] ** 2 / pd.to_numeric(values["runs"]) + values["ours_sd"] ** 2 / values["n_ok"]
    with np.errstate(divide="ignore"):
        z: pd.Series[float] = values["difference"] / np.sqrt(squares)
    return z.mask(values["difference"].abs() < _SLACK, 0.0)


_NOTHING = (np.nan, np.nan, np.nan, np.nan, 0, 0, "…", "")


def _ours(run: RunResults, cell: dict[str, Any], metric: str) -> tuple[Any, ...]:
    """Return `OURS` of a cell."""
    key = key_of(cell)
    found = run.get(key, metric)
    mean = found.mean
    values = found.values[np.isfinite(found.values)]
    if len(values) > 1:
        sd = float(np.std(values, ddof=1))
    else:
        sd = np.nan
    technique = technique_label(cell["intervention"], cell["parameters"], cell["include_protected"])
    classifier = classifier_label(cell["classifier"], cell["classifier_parameters"])
    name = f"{cell['dataset']}, {cell['attribute']}, β = {cell['beta']:g}, {technique}, {classifier}"
    numbers = (mean.mean, sd, mean.low, mean.high, mean.n, run.plan.config.repeats)
    return (*numbers, format_cell(run, cell, metric), name)


def judge(
    theirs: float, ours: float, low: float, high: float, shown: str, tolerance: float = math.nan
) -> tuple[str, str]:
    """Return the verdict on one value and, where one of the two is no number, what stands there.

    A value more than 0.05 away is off even where the interval is so wide (few repeats) that it is inside. One
    with a tolerance of its own is within it or off.

    Parameters
    ----------
    theirs, ours : float
        The published value and the mean of the repeats; NaN where there is none.
    low, high : float
        The 95 % interval of our mean; NaN where there is none.
    shown : str
        Our cell as `format_mean` writes it: "-" infeasible, "failed", "n/a", "…" not run yet, or a number.
    tolerance : float
        How far off the value may be; NaN for a paper that gives no such thing.

    Examples
    --------
    >>> judge(0.3, 0.31, 0.295, 0.325, "0.310")
    ('inside interval', '')
    >>> judge(0.3, 0.31, 0.305, 0.315, "0.310")
    ('within 0.02', '')
    >>> judge(0.3, 0.31, 0.305, 0.315, "0.310", 0.01), judge(0.3, 0.311, 0.305, 0.315, "0.311", 0.01)
    (('within tolerance', ''), ('off', ''))
    >>> nan = math.nan
    >>> judge(nan, nan, nan, nan, "-"), judge(0.3, nan, nan, nan, "-")
    (('both "-"', ''), ('off', 'ours is "-"'))
    """
    if shown == "…":
        return NOT_RUN, ""
    if math.isnan(theirs):
        if shown == "-":
            return (BOTH, "")
        return (OFF, 'theirs is "-"')
    if math.isnan(ours):
        return OFF, f'ours is "{shown}"'
    gap = abs(ours - theirs)
    if not math.isnan(tolerance):
        return (WITHIN if gap <= tolerance + _SLACK else OFF), ""
    if not is_within(gap, 0.05):
        return OFF, ""
    if low - ROUNDING - _SLACK <= theirs <= high + ROUNDING + _SLACK:
        return INSIDE, ""
    return (NEAR if is_within(gap, 0.02) else CLOSE), ""


def is_within(gap: float, limit: float) -> bool:
    """Return whether a distance is at most `limit`, half a unit of the last printed digit allowed.

    >>> is_within(0.3205 - 0.3, 0.02), is_within(0.3206 - 0.3, 0.02), is_within(math.nan, 0.02)
    (True, False, False)
    """
    return gap <= limit + ROUNDING + _SLACK


@dataclass(frozen=True)
class Agreement:
    """How many of `n` covered values agree: inside the interval, within each limit; how many are off.

    A "-" against a "-" agrees in every way.
    """

    n: int
    inside: int
    within: tuple[int, ...]
    off: int


def agreement(values: pd.DataFrame, limits: Sequence[float]) -> Agreement:
    """Count how many values agree; those that were not run do not count at all."""
    covered = values[values["verdict"] != NOT_RUN]
    both = covered["verdict"] == BOTH
    gap = covered["difference"].abs()
    return Agreement(
        n=len(covered),
        inside=int((both | (covered["verdict"] == INSIDE)).sum()),
        within=tuple(int((both | gap.map(lambda g, t=limit: is_within(g, t))).sum()) for limit in limits),
        off=int((covered["verdict"] == OFF).sum()),
    )


def agreed(paper: Paper, values: pd.DataFrame, tolerance: float) -> tuple[int, int]:
    """Return how many covered values agree and of how many, each within its own tolerance if it has one."""
    if paper.floors:
        return int(values["verdict"].isin([WITHIN, BOTH]).sum()), len(values)
    found = agreement(values, (tolerance,))
    return found.within[0], found.n


def worst(values: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return the covered values that are furthest off, a number against a "-" before all others."""
    covered = values[~values["verdict"].isin([NOT_RUN, BOTH])]
    gap = covered["difference"].abs().fillna(np.inf)
    return covered.loc[gap.sort_values(ascending=False, kind="stable").index[:most]]


def match(
    paper: Paper, published: pd.DataFrame, cells: Sequence[Facts], keys: Sequence[str], run: str
) -> list[int | None]:
    """Return for every published value which cell fits it; None where none does.

    Parameters
    ----------
    cells : sequence of Facts
        As `facts_of` makes them.
    keys : sequence of str
        The key of each cell; of cells that share one, the first that fits is taken.
    run : str
        What the run is called in errors.

    Raises
    ------
    UserError
        When several cells with keys of their own fit one value.
    """
    everywhere = _fitting(cells, paper.everywhere)
    axes = [column for column in published.columns if column not in NO_AXES]
    by_label = {
        axis: {label: _fitting(cells, _where(paper, axis, label)) for label in published[axis].unique()}
        for axis in axes
    }
    found: list[int | None] = []
    for labels in published[axes].itertuples(index=False, name=None):
        sets = [by_label[axis][label] for axis, label in zip(axes, labels, strict=True)]
        fit = sorted(everywhere.intersection(*sets))
        if len({keys[i] for i in fit}) > 1:
            what = ", ".join(say_label(axis, label) for axis, label in zip(axes, labels, strict=True))
            raise _ambiguous(what, [cells[i] for i in fit], run)
        found.append(fit[0] if fit else None)
    return found


def say_label(axis: str, label: str) -> str:
    """Name a value of a CSV's column on a page.

    >>> say_label("table", "2"), say_label("beta", "0.5"), say_label("intervention", "massaging")
    ('Table 2', 'β = 0.5', 'massaging')
    """
    return {"table": f"Table {label}", "beta": f"β = {label}"}.get(axis, label)


def _where(paper: Paper, axis: str, label: str) -> Where | None:
    own = {axis: (float(label) if axis == "beta" else label,)}
    return paper.labels.get(axis, {}).get(label, own)


def _fitting(cells: Sequence[Facts], where: Where | None) -> frozenset[int]:
    return frozenset(i for i, facts in enumerate(cells) if where is not None and _fits(facts, where))


def _fits(facts: Facts, where: Where) -> bool:
    """Return whether a cell is as it must be; adult-train, a variant of adult, is adult too."""
    return all(
        facts.get(key) in values
        or (key == "dataset" and str(facts.get(key)).startswith(tuple(f"{name}-" for name in values)))
        for key, values in where.items()
    )


def _ambiguous(what: str, cells: Sequence[Facts], run: str) -> UserError:
    """Return the error that says in what the cells that fit one value differ, and how to choose."""
    parts = []
    filters = []
    for key in dict.fromkeys(key for facts in cells for key in facts):
        found = list(dict.fromkeys(text_of(facts[key]) for facts in cells if key in facts))
        if len(found) < 2:
            continue
        parts.append(f"{key} ({', '.join(found)})")
        # Naming the one data set or intervention to keep would leave out those of all other values.
        keeps = key not in ("dataset", "intervention")
        if keeps:
            filters += [f"{key}={found[0]}"]
        else:
            filters += [f"{key}!={one}" for one in found[1:]]
    return user_error(
        f"{len(cells)} cells of the run fit {what}; they differ in {' and '.join(parts)}",
        f"choose, such as --only {','.join(filters)}",
        run,
    )
