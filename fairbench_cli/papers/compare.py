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
from fairbench_cli.measures.counts import Floats
from fairbench_cli.papers.confusion_rows import NO_ROWS, PrintedRows, find_printed_rows
from fairbench_cli.papers.registry import Conditions, Paper, read_published
from fairbench_cli.report.ledger.cell_labels import classifier_label, technique_label
from fairbench_cli.report.ledger.journal_arrays import cell_key
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

IMPOSSIBLE = "not of one confusion matrix"
"""The note of a number whose printed row is impossible."""

NO_AXES = ("table", "metric", "value", "sd", "runs", "flags")
"""Columns of a paper's CSV that say nothing on which cell of a run a value is of."""
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
        cells it is; `verdict` and `note` as `judge` gives them, or the note `IMPOSSIBLE`. Where the paper
        gives sds, also our own sd, `tolerance`, `floor`, and `z`, the difference over its standard error if
        all runs are independent.
    protocol : str
        What the run trained and tested on.
    printed_rows : PrintedRows
        Which rows of the paper cannot be one confusion matrix of the run's test rows.
    damages : tuple of Damage
        Lines of the journals that are not used.
    """

    paper: Paper
    run: str
    values: pd.DataFrame
    protocol: str = ""
    printed_rows: PrintedRows = NO_ROWS
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
    published = read_published(paper, tables)
    comparison = compare(paper, published, plan, reading.records, run=run, filters=filters)
    if comparison.covered.empty:
        problem = f"{folder} has none of the values of {paper.name}"
        requested = [f"table {table}" for table in tables] + list(filters)
        if requested:
            problem += f" ({', '.join(requested)})"
        raise user_error(problem, "compare a run on the paper's data sets, β and techniques")
    return replace(comparison, damages=reading.damages)


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
    # 1. The cell of each published value.
    sources = {spec.name: config.source_of(spec) for spec in config.datasets}
    facts = [
        facts_of(cell) | {"sample": sources[cell["dataset"]], "test": config.tested} for cell in plan.cells
    ]
    selected = [i for i, is_selected in enumerate(select(facts, filters)) if is_selected]
    keys = [plan.cells[i]["key"] for i in selected]
    matches = match_cells(paper, published, [facts[i] for i in selected], keys, run)
    cell_indices = [None if match is None else selected[match] for match in matches]
    # 2. Our value next to each. Only cells that fit some value are measured.
    used_indices = dict.fromkeys(i for i in cell_indices if i is not None)
    used_plan = replace(plan, cells=[plan.cells[i] for i in used_indices])
    published_rows = published.to_dict("records")
    metrics = [paper.our_metric(row) for row in published_rows]
    results = run_results(Path(), used_plan, records, tuple(dict.fromkeys(metrics)))
    our_rows = []
    for i, metric in zip(cell_indices, metrics, strict=True):
        if i is None:
            our_rows.append(_NOT_IN_RUN)
        else:
            our_rows.append(_our_row(results, plan.cells[i], metric))
    theirs = published.rename(columns={"value": "theirs"})
    values = theirs.join(pd.DataFrame(our_rows, columns=OURS))
    # 3. How near it is.
    values["difference"] = values["ours"] - values["theirs"]
    values["tolerance"] = [paper.tolerance(row) for row in published_rows]
    values["floor"] = [paper.floor(row) for row in published_rows]
    if paper.floors:
        values["z"] = z_scores(values)
    numbers = values[["theirs", "ours", "low", "high", "shown", "tolerance"]]
    judged = [judge(*row) for row in numbers.itertuples(index=False, name=None)]
    values["verdict"] = [verdict for verdict, _ in judged]
    values["note"] = [note for _, note in judged]
    # 4. Which printed rows no run can reach.
    printed_rows = NO_ROWS
    if config.tested == "original":
        label_counts = [_label_counts(results, plan, i) for i in cell_indices]
        printed_rows = find_printed_rows(published, axes_of(published), label_counts, ROUNDING)
        for indices in printed_rows.impossible.values():
            values.loc[indices, "note"] = IMPOSSIBLE
    columns = list(theirs.columns) + [name for name in COLUMNS if paper.floors or name not in OF_SDS]
    trained = dict.fromkeys(TRAINED[source] for source in sources.values())
    protocol = f"{' or '.join(trained)}; {TESTED[config.tested]}"
    return Reproduction(paper, run, values[columns], protocol, printed_rows)


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


_NOT_IN_RUN = (np.nan, np.nan, np.nan, np.nan, 0, 0, "…", "")
"""`OURS` of a value that no cell of the run fits."""


def _our_row(run: RunResults, cell: dict[str, Any], metric: str) -> tuple[Any, ...]:
    """Return `OURS` of a cell; its sd is NaN where fewer than two repeats have a finite value."""
    measured = run.cell_metric(cell_key(cell), metric)
    mean = measured.summary
    values = measured.values[np.isfinite(measured.values)]
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
    technique = technique_label(cell["intervention"], cell["parameters"], cell["include_protected"])
    classifier = classifier_label(cell["classifier"], cell["classifier_parameters"])
    name = f"{cell['dataset']}, {cell['attribute']}, β = {cell['beta']:g}, {technique}, {classifier}"
    text = format_cell(run, cell, metric)
    return mean.mean, sd, mean.low, mean.high, mean.n, run.plan.config.repeats, text, name


def _label_counts(run: RunResults, plan: RunPlan, cell_index: int | None) -> Floats:
    """Return the labels of the test rows of a cell's pair of groups, shape (2, 2); zeros where not known."""
    if cell_index is None:
        return np.zeros((2, 2))
    labelled = run.cell_counts(cell_key(plan.cells[cell_index])).counts.labelled
    # All repeats have the same rows.
    label_counts: Floats = labelled.max(axis=0, initial=0.0)
    return label_counts


def judge(
    theirs: float, ours: float, low: float, high: float, cell_text: str, tolerance: float = math.nan
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
    cell_text : str
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
    if cell_text == "…":
        return NOT_RUN, ""
    if math.isnan(theirs):
        if cell_text == "-":
            return BOTH, ""
        return OFF, 'theirs is "-"'
    if math.isnan(ours):
        return OFF, f'ours is "{cell_text}"'
    gap = abs(ours - theirs)
    if not math.isnan(tolerance):
        verdict = WITHIN if gap <= tolerance + _SLACK else OFF
        return verdict, ""
    if not is_within(gap, 0.05):
        return OFF, ""
    if low - ROUNDING - _SLACK <= theirs <= high + ROUNDING + _SLACK:
        return INSIDE, ""
    verdict = NEAR if is_within(gap, 0.02) else CLOSE
    return verdict, ""


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


def count_agreement(values: pd.DataFrame, limits: Sequence[float]) -> Agreement:
    """Count how many values agree; those that were not run do not count at all."""
    covered = values[values["verdict"] != NOT_RUN]
    both_infeasible = covered["verdict"] == BOTH
    gaps = covered["difference"].abs()
    n_within = []
    for limit in limits:
        near = np.array([is_within(gap, limit) for gap in gaps], dtype=bool)
        n_within.append(int((both_infeasible | near).sum()))
    return Agreement(
        n=len(covered),
        inside=int((both_infeasible | (covered["verdict"] == INSIDE)).sum()),
        within=tuple(n_within),
        off=int((covered["verdict"] == OFF).sum()),
    )


def count_agreeing(paper: Paper, values: pd.DataFrame, tolerance: float) -> tuple[int, int]:
    """Return how many covered values agree and of how many, each within its own tolerance if it has one."""
    if paper.floors:
        return int(values["verdict"].isin([WITHIN, BOTH]).sum()), len(values)
    agreement = count_agreement(values, (tolerance,))
    return agreement.within[0], agreement.n


def select_worst(values: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return the covered values that are furthest off, a number against a "-" before all others."""
    covered = values[~values["verdict"].isin([NOT_RUN, BOTH])]
    gap = covered["difference"].abs().fillna(np.inf)
    return covered.loc[gap.sort_values(ascending=False, kind="stable").index[:most]]


def match_cells(
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
    # 1. The cells that fit each label of each column.
    axes = axes_of(published)
    fitting: dict[tuple[str, str], set[int]] = {}
    for axis in axes:
        for label in published[axis].unique():
            fitting[axis, label] = _fitting_cells(cells, _conditions_of(paper, axis, label))
    # 2. The cells that fit all labels of a value.
    fit_everywhere = _fitting_cells(cells, paper.everywhere)
    matches: list[int | None] = []
    for labels in published[axes].itertuples(index=False, name=None):
        named_labels = list(zip(axes, labels, strict=True))
        candidates = set(fit_everywhere)
        for axis, label in named_labels:
            candidates &= fitting[axis, label]
        if len({keys[i] for i in candidates}) > 1:
            value_name = ", ".join(format_label(axis, label) for axis, label in named_labels)
            raise _ambiguity_error(value_name, [cells[i] for i in sorted(candidates)], run)
        matches.append(min(candidates, default=None))
    return matches


def axes_of(published: pd.DataFrame) -> list[str]:
    """Return the columns of a paper's CSV that say which cell of a run a value is of."""
    return [column for column in published.columns if column not in NO_AXES]


def format_label(axis: str, label: str) -> str:
    """Name a value of a CSV's column on a page.

    >>> format_label("table", "2"), format_label("beta", "0.5"), format_label("intervention", "massaging")
    ('Table 2', 'β = 0.5', 'massaging')
    """
    return {"table": f"Table {label}", "beta": f"β = {label}"}.get(axis, label)


def _conditions_of(paper: Paper, axis: str, label: str) -> Conditions | None:
    """Return the conditions on a cell for a label of a column; None where no run has it."""
    unlisted: Conditions = {axis: (float(label) if axis == "beta" else label,)}
    return paper.labels.get(axis, {}).get(label, unlisted)


def _fitting_cells(cells: Sequence[Facts], conditions: Conditions | None) -> set[int]:
    """Return the indices of the cells that meet all conditions; none where no run can (None)."""
    if conditions is None:
        return set()
    return {i for i, facts in enumerate(cells) if _meets(facts, conditions)}


def _meets(facts: Facts, conditions: Conditions) -> bool:
    """Return whether a cell is as it must be; adult-train, a variant of adult, is adult too."""
    for key, allowed in conditions.items():
        value = facts.get(key)
        is_variant = key == "dataset" and str(value).startswith(tuple(f"{name}-" for name in allowed))
        if value not in allowed and not is_variant:
            return False
    return True


def _ambiguity_error(value_name: str, cells: Sequence[Facts], run: str) -> UserError:
    """Return the error that says in what the cells that fit one value differ, and how to choose."""
    keys: dict[str, None] = {}
    for facts in cells:
        keys |= dict.fromkeys(facts)
    differences = []
    filters = []
    for key in keys:
        choices = list(dict.fromkeys(text_of(facts[key]) for facts in cells if key in facts))
        if len(choices) < 2:
            continue
        differences.append(f"{key} ({', '.join(choices)})")
        # Naming the one data set or intervention to keep would leave out those of all other values.
        if key in ("dataset", "intervention"):
            filters += [f"{key}!={choice}" for choice in choices[1:]]
        else:
            filters.append(f"{key}={choices[0]}")
    return user_error(
        f"{len(cells)} cells of the run fit {value_name}; they differ in {' and '.join(differences)}",
        f"choose, such as --only {','.join(filters)}",
        run,
    )
