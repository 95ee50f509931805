"""Two runs against each other: what is in both, with differences and tests, and what changed between them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.base.errors import user_error
from fairbench_cli.document.model import Document, Section, plain_table
from fairbench_cli.experiment.journal.changes import (
    SHOWN,
    RunChange,
    changed_config,
    changed_inputs,
    changed_versions,
)
from fairbench_cli.experiment.journal.folder import read_manifest, read_results
from fairbench_cli.experiment.journal.journal import RETRIED, Damage, Reading
from fairbench_cli.experiment.plan import RunPlan, facts_of, select
from fairbench_cli.experiment.versions import Versions
from fairbench_cli.report.ledger import cell_labels, journal_arrays, paired_differences
from fairbench_cli.report.ledger.controls import controls_frame
from fairbench_cli.report.ledger.inference import RowDesign, row_design
from fairbench_cli.report.ledger.population_tests import BASES
from fairbench_cli.report.ledger.results import COMPARED, Results, RunResults, compute_results
from fairbench_cli.report.show import tables
from fairbench_cli.report.show.controls_text import describe_joint_rates

SAME_KEY = "same key"
PAIRED = "paired"
UNPAIRED = "unpaired"
PAIRINGS = {
    SAME_KEY: "the same (key), with the same numbers",
    PAIRED: "paired repeat by repeat: both runs have the same seeds, and draw alike where they are alike",
    UNPAIRED: "not paired (Welch): the runs draw with other seeds or from another source (`sample`), so "
    "that their repeats are independent",
}
NETWORK_INPUTS = ("network", "shipped")
"""Of what decides the numbers of a data set, what test rows do not hang on."""


@dataclass(frozen=True, eq=False)
class _Run:
    """One of the two runs."""

    folder: Path
    name: str
    plan: RunPlan
    reading: Reading

    @cached_property
    def cells(self) -> dict[journal_arrays.CellKey, dict[str, Any]]:
        """The cells of its plan, by their values of `CELL_COLUMNS`."""
        return {journal_arrays.cell_key(cell): cell for cell in self.plan.cells}


Runs = tuple[_Run, _Run]


@dataclass(frozen=True, eq=False)
class RunsCompared:
    """What two runs have in common.

    Parameters
    ----------
    frame : DataFrame
        One row per cell of both runs, groups compared and metric: the columns of `paired_frame`, with the
        second run in the place of the technique and the first in that of ``none``; and before them
        ``pairing`` (`PAIRINGS`), the means of both runs, and the repeats behind each.
    document, console : Document
        All of it in words and tables; and without the intervals, for a narrow place.
    damages : tuple of Damage
        Lines of the journals that are not used.
    plan : RunPlan
        Of the first run, with the cells that both have.
    """

    frame: pd.DataFrame
    document: Document
    console: Document
    damages: tuple[Damage, ...]
    plan: RunPlan


def compare_runs(
    folders: tuple[Path, Path], names: tuple[str, str], filters: tuple[str, ...] = ()
) -> RunsCompared:
    """Compare two folders of results, cell by cell.

    A cell is in both runs where data set, attribute, world, representation, β, technique and classifier with
    all parameters are called the same. Groups that the runs compare and metrics that they list are compared
    where both have them.

    Parameters
    ----------
    filters : tuple of str
        Cells that are wanted, as `select` takes them.

    Raises
    ------
    UserError
        When a folder holds no results, or the runs have no cell, or no metric, in common.
    """
    # 1. Read both; where they count other labels, both are counted on the true ones.
    first_run, second_run = map(_read_run, folders, names)
    if first_run.plan.config.test_labels != second_run.plan.config.test_labels:
        first_run = replace(first_run, plan=first_run.plan.counted_by("true"))
        second_run = replace(second_run, plan=second_run.plan.counted_by("true"))
    runs = (first_run, second_run)
    # 2. Find what they have in common.
    metrics = _common_metrics(runs)
    keys = _common_keys(runs, filters)
    config = first_run.plan.config
    other_config = second_run.plan.config
    attributes = [name for name in config.attributes if name in other_config.attributes]
    # 3. Collect the repeats of both, a data set at a time.
    datasets, refusals = _collect_datasets(runs, keys)
    results = compute_results(
        list(datasets.values()), metrics, attributes, config.own_metrics | other_config.own_metrics
    )
    results = replace(results, margins=config.margin, family=config.family)
    frame = _differences(results, runs)
    # 4. Lay out what changed, and the differences.
    sentences = [
        f"{len(keys)} cells are in both runs, which have {len(first_run.plan.cells)} "
        f"and {len(second_run.plan.cells)}."
    ]
    sentences += list(_describe_worlds(runs)) + refusals + list(_describe_repeats(runs, frame))
    if all(run.plan.config.controls for run in runs):
        frames = [controls_frame(run.plan, run.reading.records) for run in runs]
        sentences += describe_joint_rates(frames)
    common_plan = replace(first_run.plan, cells=[first_run.cells[key] for key in keys])
    run = RunResults(first_run.folder, common_plan, list(datasets.values()), results, tuple(attributes))
    changes = _changes_section(_find_changes(runs, datasets))
    return RunsCompared(
        frame=frame.drop(columns="same_key"),
        document=_document(names, run, frame, sentences, changes, brief=False),
        console=_document(names, run, frame, sentences, changes, brief=True),
        damages=first_run.reading.damages + second_run.reading.damages,
        plan=common_plan,
    )


def _read_run(folder: Path, name: str) -> _Run:
    plan, reading = read_results(folder)
    return _Run(folder, name, plan, reading)


def _common_metrics(runs: Runs) -> list[str]:
    """Return the metrics that both runs have and that mean the same in both.

    Raises
    ------
    UserError
        When there is none.
    """
    config, other_config = (run.plan.config for run in runs)
    metrics = []
    for name in config.at_hand:
        if name not in other_config.at_hand:
            continue
        # A metric within strata is the same where the strata are.
        if config.metric(name).needs != "strata" or config.strata == other_config.strata:
            metrics.append(name)
    if not metrics:
        raise user_error("the two runs have no metric in common", "add one to both configs, and report again")
    return metrics


def _common_keys(runs: Runs, filters: tuple[str, ...]) -> list[journal_arrays.CellKey]:
    """Return the keys of the cells that both runs have and that pass the filters, in the first run's order.

    Raises
    ------
    UserError
        When there is no such cell.
    """
    first_run, second_run = runs
    keys = [key for key in first_run.cells if key in second_run.cells]
    if not keys:
        problem = f"{first_run.folder} and {second_run.folder} have no cell in common"
        fix = "compare runs that share data sets, attributes, β, techniques and classifiers"
        raise user_error(problem, f"{fix}; techniques of one run: `fairbench report RESULTS --versus NAME`")
    if filters:
        keys = list(compress(keys, select([facts_of(first_run.cells[key]) for key in keys], filters)))
    return keys


def _collect_datasets(
    runs: Runs, keys: Sequence[journal_arrays.CellKey]
) -> tuple[dict[tuple[str, str], journal_arrays.DatasetRepeats], list[str]]:
    """Return the repeats of cells by data set and attribute, and sentences on those that are not compared.

    Of each, the cells of the first run come first, then the same ones of the second.

    Raises
    ------
    UserError
        When there is no repeat to be compared.
    """
    first_run, second_run = runs
    keys_by_source: dict[tuple[str, str], list[journal_arrays.CellKey]] = {}
    for key in keys:
        if all(journal_arrays.has_repeats(run.plan, run.reading.records, run.cells[key]) for run in runs):
            keys_by_source.setdefault(key[:2], []).append(key)
    datasets = {}
    refusals = []
    for source, source_keys in keys_by_source.items():
        if first_run.plan.protected(*source) != second_run.plan.protected(*source):
            refusals.append(f"{', '.join(source)}: the groups are others, so it is not compared.")
            continue
        halves = []
        for run in runs:
            halves.append((run.plan, run.reading.records, [run.cells[key] for key in source_keys]))
        datasets[source] = journal_arrays.collect_cells(halves, _design(source, runs))
    if not datasets:
        problem = f"no repeat of a cell of {first_run.folder} can be compared with one of {second_run.folder}"
        raise user_error(problem, "compare runs that have run the same cells, with the same groups")
    return datasets, refusals


def _describe_worlds(runs: Runs) -> Iterator[str]:
    """Yield which labels two runs with worlds are compared on, and the worlds that only one of them has."""
    if not any(run.plan.has_worlds for run in runs):
        return
    worlds = []
    for run in runs:
        worlds.append(dict.fromkeys(cell["world"] or cell_labels.NO_BIAS for cell in run.plan.cells))
    for run, own_worlds, other_worlds in zip(runs, worlds, reversed(worlds), strict=True):
        unshared = [world for world in own_worlds if world not in other_worlds]
        if unshared:
            noun = "world" if len(unshared) == 1 else "worlds"
            yield f"Only {run.name} has the {noun} {', '.join(unshared)}."
    yield f"Labels of the test rows: {tables.LABELS_IN_WORDS[runs[0].plan.config.test_labels]}."


def _describe_repeats(runs: Runs, frame: pd.DataFrame) -> Iterator[str]:
    """Yield of how many repeats the numbers are, where the runs have not as many of each cell."""
    n_by_run = frame["n_first"], frame["n_second"]
    if n_by_run[0].equals(n_by_run[1]):
        return
    clauses = []
    for run, n_repeats in zip(runs, n_by_run, strict=True):
        sizes = sorted({*n_repeats.tolist()} - {0}) or [0]
        clauses.append(f"{run.name} {' to '.join(map(str, dict.fromkeys((sizes[0], sizes[-1]))))}")
    compared = "all of both"
    if same_draws(runs[0].plan, runs[1].plan):
        compared = "those that both have"
    yield f"Repeats of these cells: {' and '.join(clauses)}; differences are of {compared}."


def _design(source: tuple[str, str], runs: Runs) -> RowDesign:
    """Return how the test rows of both runs hang together."""
    design, other_design = (row_design(run.plan.config) for run in runs)
    inputs = []
    for run in runs:
        run_inputs = dict(run.plan.dataset(*source).get("inputs", {}))
        for name in NETWORK_INPUTS:
            run_inputs.pop(name, None)
        inputs.append(run_inputs)
    if design == other_design and (design.kind == "drawn" or inputs[0] == inputs[1]):
        return design
    return RowDesign("apart")


def _differences(results: Results, runs: Runs) -> pd.DataFrame:
    """Return every difference of the second run to the first."""
    # 1. Of each data set the first half of the cells is the first run's.
    n_cells = np.array([len(data.cells) // 2 for data in results.datasets], dtype=np.intp)
    is_second = results.cell_index[:, 1] >= n_cells[results.cell_index[:, 0]]
    first_rows = np.flatnonzero(~is_second)
    second_rows = np.flatnonzero(is_second)
    # 2. Where key and numbers of all repeats are equal.
    is_open = np.isin(results.status, ["", *RETRIED])
    has_repeat = ~is_open[second_rows] & ~is_open[first_rows]
    is_equal = np.isclose(
        results.values[second_rows], results.values[first_rows], rtol=0, atol=0, equal_nan=True
    )
    has_same_key = _cell_keys(results, first_rows) == _cell_keys(results, second_rows)
    is_same_row = has_same_key & has_repeat.any(axis=1) & (is_equal | ~has_repeat).all(axis=1)
    # One number that differs makes a cell another one.
    same_frame = pd.DataFrame(results.cell_index[first_rows]).assign(same=is_same_row)
    is_same_cell = same_frame.groupby([0, 1])["same"].transform("all").to_numpy()
    # 3. The means of both, and the tests.
    paired = same_draws(runs[0].plan, runs[1].plan)
    pairing = PAIRED if paired else UNPAIRED
    columns: dict[str, Any] = {"pairing": np.where(is_same_cell, SAME_KEY, pairing)}
    for name, rows in (("first", first_rows), ("second", second_rows)):
        means = journal_arrays.mean_and_interval(results.values[rows])
        columns[name] = means["mean"]
        columns[f"n_{name}"] = means["n_ok"].astype(int)
    columns["same_key"] = has_same_key
    return paired_differences.differences_frame(
        results, second_rows, first_rows, columns, paired=paired, is_same_by_design=is_same_cell
    )


def _cell_keys(results: Results, rows: NDArray[np.intp]) -> NDArray[Any]:
    """Return the cell key (`key`, of the plan) that each row of the results is of."""
    keys = [
        results.datasets[dataset_repeats].cells[cell]["key"]
        for dataset_repeats, cell in results.cell_index[rows]
    ]
    return np.array(keys, dtype=object)


def same_draws(plan: RunPlan, other_plan: RunPlan) -> bool:
    """Return whether equal repeats of equal cells draw with equal seeds in two runs."""
    config = plan.config
    other_config = other_plan.config
    is_real = config.sample.source == "data"
    is_other_real = other_config.sample.source == "data"
    return config.seed == other_config.seed and is_real == is_other_real


def _find_changes(runs: Runs, sources: Iterable[tuple[str, str]]) -> list[RunChange]:
    """Return the changes in the second run: of config, code, versions and data."""
    first_run, second_run = runs
    config_changes = changed_config(first_run.plan.config.to_config(), second_run.plan.config.to_config())
    changes = [change for change in config_changes if not change.what.startswith("name ")]
    before, after = (_commit_text(run.folder) for run in runs)
    if before != after:
        changes.append(RunChange("code", f"fairbench at commit {before} → {after}"))
    first_headers = _read_headers(first_run)
    for header in _read_headers(second_run):
        changes += changed_versions(first_headers, Versions(header.versions, header.code))
    input_changes = changed_inputs(first_run.plan, second_run.plan, sources)
    changes += [change for change in input_changes if change.kind == "data"]
    return list(dict.fromkeys(changes))


def _read_headers(run: _Run) -> list[Any]:
    """Return the headers of the journals that hold repeats."""
    return [file.header for file in run.reading.files if file.header and file.lines]


def _commit_text(folder: Path) -> str:
    """Return the commit that a run was made at, as its manifest says."""
    git = (read_manifest(folder) or {}).get("git")
    if not git:
        return "unknown"
    text: str = git["commit"][:SHOWN]
    if git.get("dirty"):
        text += " (changed since)"
    return text


def _changes_section(changes: Sequence[RunChange]) -> Section:
    if not changes:
        return Section("What changed", sentences=("Nothing in config, code, versions and data.",))
    rows = [[change.kind, change.what] for change in changes]
    return Section("What changed", tables=(plain_table("", ("of", "what"), rows, 2, grouped=True),))


def _document(
    names: tuple[str, str],
    run: RunResults,
    frame: pd.DataFrame,
    sentences: Sequence[str],
    changes: Section,
    *,
    brief: bool,
) -> Document:
    """Lay out the changes, and the differences of the metrics that the first run's tables show.

    Intervals are left out if `brief`, and blocks in which all is the same.
    """
    # 1. Select the rows: by metric in the order of the tables, and only blocks in which something differs.
    frame_metrics = list(dict.fromkeys(frame["metric"]))
    table_metrics = run.plan.config.tables.metrics
    metrics = [name for name in table_metrics if name in frame_metrics] or frame_metrics
    rows = frame[frame["metric"].isin(metrics)]
    rows = rows.sort_values("metric", key=lambda column: column.map(metrics.index), kind="stable")
    differs = rows["pairing"] != SAME_KEY
    rows = rows[differs.groupby([rows[name] for name in cell_labels.BLOCK]).transform("any")]
    # 2. Write their cells.
    texts: tables.TableCells = {}
    for row in rows.to_dict("records"):
        block, technique, beta = tables.block_technique_beta(row)
        texts[block, (technique, row["metric"]), beta] = _difference_text(row, brief=brief)
    # 3. Say how many cells are paired in which way, and what the numbers are.
    cells = frame.drop_duplicates(COMPARED)
    n_cells = cells["pairing"].value_counts()
    facts = list(sentences)
    facts += [
        f"{n_cells[pairing]}: {meaning}." for pairing, meaning in PAIRINGS.items() if pairing in n_cells
    ]
    n_changed = int((cells["same_key"] & (cells["pairing"] != SAME_KEY)).sum())
    if n_changed:
        facts.append(f"{n_changed} of these have the same key and other numbers in the two runs.")
    first_name, second_name = names
    if texts:
        intervals = "" if brief else ", with 95 % intervals"
        facts.append(
            f"Numbers are {second_name} less {first_name}{intervals}. better, worse: "
            f"{second_name} is nearer to the measure's ideal than {first_name}, or farther from it, in the "
            f"population, at 5 % after Holm's adjustment over {tables.tests_in_words(run.plan)}. moved: "
            "another value, and neither nearer nor farther is shown. A number alone: no difference shown. "
            "same: the same cell, and the same numbers."
        )
        for basis, meaning in BASES.items():
            if (frame["population_basis"] == basis).any():
                facts.append(meaning.replace("paired t-test", "t-test"))
    blocks = tables.lay_out_blocks(run, texts, "")
    return Document(f"{second_name} against {first_name}", facts=tuple(facts), sections=(changes, *blocks))


def _difference_text(row: dict[Any, Any], *, brief: bool) -> str:
    """Write a difference, its interval unless brief, and its verdict where there is one."""
    verdict = row["population_verdict"]
    if verdict == paired_differences.IDENTICAL:
        return paired_differences.IDENTICAL
    words = []
    if not brief and not np.isnan(row["population_low"]):
        words.append(f"[{row['population_low']:+.3f}, {row['population_high']:+.3f}]")
    if verdict and verdict != paired_differences.NO_DIFFERENCE:
        words.append(verdict)
    return paired_differences.format_number(row["difference"], word=" ".join(words))
