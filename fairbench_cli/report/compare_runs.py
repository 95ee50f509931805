"""Two runs against each other: what is in both, with differences and tests, and what changed between them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairbench_cli.base.errors import user_error
from fairbench_cli.document.model import Document, Section, plain_table
from fairbench_cli.experiment.config.outputs import TABLES
from fairbench_cli.experiment.journal.changes import (
    SHOWN,
    RunChange,
    changed_config,
    changed_inputs,
    changed_versions,
)
from fairbench_cli.experiment.journal.folder import read_manifest, read_results
from fairbench_cli.experiment.journal.journal import Damage, Reading
from fairbench_cli.experiment.plan import RunPlan, facts_of, select
from fairbench_cli.experiment.versions import Versions
from fairbench_cli.report.ledger import cell_labels
from fairbench_cli.report.ledger.inference import RowDesign, row_design
from fairbench_cli.report.ledger.journal_arrays import (
    DatasetRepeats,
    cell_key,
    collect_cells,
    has_repeats,
    mean_and_interval,
)
from fairbench_cli.report.ledger.paired_differences import IDENTICAL, differences_frame, format_number
from fairbench_cli.report.ledger.population_tests import BASES
from fairbench_cli.report.ledger.results import COMPARED, Results, RunResults, compute_results
from fairbench_cli.report.show import tables

SAME_KEY = "same key"
PAIRED = "paired"
UNPAIRED = "unpaired"
PAIRINGS = {
    SAME_KEY: "the same (key), with the same numbers",
    PAIRED: "paired repeat by repeat: both runs have the same seeds, and draw alike where they are alike",
    UNPAIRED: "not paired (Welch): the runs draw with other seeds or from another source (`sample`), so "
    "that their repeats are independent",
}
NETWORKS = ("network", "shipped")  # of what decides the numbers of a data set, what test rows do not hang on

Plans = tuple[RunPlan, RunPlan]
Readings = tuple[Reading, Reading]
Sources = Iterable[tuple[str, str]]


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
    (plan, reading), (other, their_reading) = (read_results(folder) for folder in folders)
    if plan.config.test_labels != other.config.test_labels:
        plan = plan.counted_by("true")
        other = other.counted_by("true")
    plans = (plan, other)
    readings = (reading, their_reading)
    metrics = [name for name in plan.config.at_hand if name in other.config.at_hand]
    metrics = [name for name in metrics if _alike(name, *plans)]
    if not metrics:
        raise user_error("the two runs have no metric in common", "add one to both configs, and report again")
    described = [{cell_key(cell): cell for cell in one.cells} for one in plans]
    common = [key for key in described[0] if key in described[1]]
    if not common:
        what = f"{folders[0]} and {folders[1]} have no cell in common"
        fix = "compare runs that share data sets, attributes, β, techniques and classifiers"
        raise user_error(what, f"{fix}; techniques of one run: `fairbench report RESULTS --versus NAME`")
    if filters:
        common = [*compress(common, select([facts_of(described[0][key]) for key in common], filters))]
    sources: dict[tuple[str, str], DatasetRepeats] = {}
    said = [f"{len(common)} cells are in both runs, which have {len(plan.cells)} and {len(other.cells)}."]
    said += _worlds_in_words(names, plans)
    runs = [(one, reading.records) for one, reading in zip(plans, readings, strict=True)]
    both = list(zip(runs, described, strict=True))
    held = [key for key in common if all(has_repeats(*run, cells[key]) for run, cells in both)]
    for source in dict.fromkeys(key[:2] for key in held):
        if plan.protected(*source) != other.protected(*source):
            said.append(f"{', '.join(source)}: the groups are others, so it is not compared.")
            continue
        keys = [key for key in held if key[:2] == source]
        halves = [(*run, [cells[key] for key in keys]) for run, cells in both]
        sources[source] = collect_cells(halves, _design(source, plans))
    if not sources:
        what = f"no repeat of a cell of {folders[0]} can be compared with one of {folders[1]}"
        raise user_error(what, "compare runs that have run the same cells, with the same groups")
    attributes = [name for name in plan.config.attributes if name in other.config.attributes]
    own = plan.config.own_metrics | other.config.own_metrics
    results = compute_results([*sources.values()], metrics, attributes, own)
    frame = _frame(results, plans)
    kept_plan = replace(plan, cells=[described[0][key] for key in common])
    run = RunResults(folders[0], kept_plan, [*sources.values()], results, tuple(attributes))
    changes = _changes(folders, plans, readings, sources)
    rows = [[change.kind, change.what] for change in changes]
    table = plain_table("", ("of", "what"), rows, 2, grouped=True)
    changed = Section(
        "What changed",
        sentences=() if rows else ("Nothing in config, code, versions and data.",),
        tables=(table,) if rows else (),
    )
    document, console = (
        replace(made, sections=(changed, *made.sections))
        for made in (_document(names, run, frame, said, brief=brief) for brief in (False, True))
    )
    damages = tuple(damage for reading in readings for damage in reading.damages)
    return RunsCompared(frame.drop(columns="same_key"), document, console, damages, kept_plan)


def _worlds_in_words(names: tuple[str, str], plans: Plans) -> Iterator[str]:
    """Yield which labels two runs with worlds are compared on, and the worlds that only one of them has."""
    if not any(plan.has_worlds for plan in plans):
        return
    worlds = [dict.fromkeys(cell["world"] or cell_labels.NO_BIAS for cell in plan.cells) for plan in plans]
    for name, own, others in zip(names, worlds, reversed(worlds), strict=True):
        alone = [world for world in own if world not in others]
        if alone:
            noun = "world"
            if len(alone) > 1:
                noun = "worlds"
            yield f"Only {name} has the {noun} {', '.join(alone)}."
    yield f"Labels of the test rows: {tables.LABELS_IN_WORDS[plans[0].config.test_labels]}."


def _alike(metric: str, plan: RunPlan, other: RunPlan) -> bool:
    """Return whether a metric means the same in both: of one within strata, that these are the same."""
    needs = plan.config.metric(metric).needs
    return needs != "strata" or plan.config.strata == other.config.strata


def _design(source: tuple[str, str], plans: Plans) -> RowDesign:
    """Return how the test rows of both runs hang together."""
    ours, theirs = (row_design(plan.config) for plan in plans)
    inputs = [
        {
            name: value
            for name, value in plan.dataset(*source).get("inputs", {}).items()
            if name not in NETWORKS
        }
        for plan in plans
    ]
    alike = ours == theirs and (ours.kind == "drawn" or inputs[0] == inputs[1])
    if alike:
        return ours
    return RowDesign("apart")


def _frame(results: Results, plans: Plans) -> pd.DataFrame:
    """Return every difference of the second run to the first."""
    cells = np.array([len(data.cells) // 2 for data in results.datasets], dtype=np.intp)
    second = results.cell_index[:, 1] >= cells[results.cell_index[:, 0]]
    ours = np.flatnonzero(second)
    theirs = np.flatnonzero(~second)
    keys = [
        [results.datasets[d].cells[cell]["key"] for d, cell in results.cell_index[at]]
        for at in (ours, theirs)
    ]
    there = (results.status[ours] != "") & (results.status[theirs] != "")
    equal = np.isclose(results.values[ours], results.values[theirs], rtol=0, atol=0, equal_nan=True)
    same_key = np.array([own == other for own, other in zip(*keys, strict=True)], dtype=bool)
    same = same_key & there.any(axis=1) & (equal | ~there).all(axis=1)
    same = pd.DataFrame(results.cell_index[theirs]).assign(same=same).groupby([0, 1])["same"].transform("all")
    same = same.to_numpy()  # of a cell: one number that is another makes it another
    paired = same_draws(*plans)
    columns: dict[str, Any] = {"pairing": np.where(same, SAME_KEY, PAIRED if paired else UNPAIRED)}
    for name, at in (("first", theirs), ("second", ours)):
        numbers = mean_and_interval(results.values[at])
        columns |= {name: numbers["mean"], f"n_{name}": numbers["n_ok"].astype(int)}
    columns["same_key"] = same_key
    return differences_frame(results, ours, theirs, columns, paired=paired, is_same_by_design=same)


def same_draws(plan: RunPlan, other: RunPlan) -> bool:
    """Return whether equal repeats of equal cells draw with equal seeds in two runs."""
    ours = plan.config
    theirs = other.config
    real = [config.sample.source == "data" for config in (ours, theirs)]
    return ours.seed == theirs.seed and real[0] == real[1]


def _changes(
    folders: tuple[Path, Path], plans: Plans, readings: Readings, sources: Sources
) -> list[RunChange]:
    """Return the changes in the second run: of config, code, versions and data."""
    old, new = (plan.config.to_config() for plan in plans)
    found = [one for one in changed_config(old, new) if not one.what.startswith("name ")]
    commits = [(read_manifest(folder) or {}).get("git") or {} for folder in folders]
    before, after = (
        f"{git['commit'][:SHOWN]}{' (changed since)' if git.get('dirty') else ''}" if git else "unknown"
        for git in commits
    )
    if before != after:
        found.append(RunChange("code", f"fairbench at commit {before} → {after}"))
    headers = [[file.header for file in reading.files if file.header and file.lines] for reading in readings]
    for header in headers[1]:
        found += changed_versions(headers[0], Versions(header.versions, header.code))
    found += [one for one in changed_inputs(*plans, sources) if one.kind == "data"]
    return list(dict.fromkeys(found))


def _document(
    names: tuple[str, str], run: RunResults, frame: pd.DataFrame, said: Sequence[str], *, brief: bool
) -> Document:
    """Lay out the differences of the metrics that the first run's tables show, with intervals unless brief.

    Blocks in which all is the same are left out.
    """
    first, second = names
    shown = [metric for table in run.plan.config.tables for metric in TABLES[table].metrics]
    metrics = [name for name in dict.fromkeys(shown) if name in set(frame["metric"])]
    metrics = metrics or list(dict.fromkeys(frame["metric"]))
    part = frame[frame["metric"].isin(metrics)]
    part = part.sort_values("metric", key=lambda own: own.map(metrics.index), kind="stable")
    part = part[
        (part["pairing"] != SAME_KEY).groupby([part[name] for name in cell_labels.BLOCK]).transform("any")
    ]
    texts: tables.TableCells = {}
    for row in part.to_dict("records"):
        place, technique, beta = tables.block_technique_beta(row)
        low, high, verdict = (row[f"population_{name}"] for name in ("low", "high", "verdict"))
        if brief or np.isnan(low):
            interval = ""
        else:
            interval = f"[{low:+.3f}, {high:+.3f}]"
        word = f"{interval} {'' if verdict == 'no difference' else verdict}".strip()
        if verdict == IDENTICAL:
            text = IDENTICAL
        else:
            text = format_number(row["difference"], word=word)
        texts[place, (technique, row["metric"]), beta] = text
    cells = frame.drop_duplicates(COMPARED)
    other = int((cells["same_key"] & (cells["pairing"] != SAME_KEY)).sum())
    counted = cells["pairing"].value_counts()
    bases = [BASES[basis] for basis in BASES if (frame["population_basis"] == basis).any()]
    facts = (
        *said,
        *(f"{counted[name]}: {meaning}." for name, meaning in PAIRINGS.items() if name in counted),
        *([f"{other} of these have the same key and other numbers in the two runs."] if other else []),
    )
    if texts:
        facts += (
            f"Numbers are {second} less {first}{'' if brief else ', with 95 % intervals'}. better, worse: "
            f"{second} is nearer to the measure's ideal than {first}, or farther from it, in the population, "
            "at 5 % after Holm's adjustment over all techniques and β of the table. A number alone: no "
            "difference shown. same: the same cell, and the same numbers.",
            *(text.replace("paired t-test", "t-test") for text in bases),
        )
    return Document(f"{second} against {first}", facts=facts, sections=tables.lay_out_blocks(run, texts, ""))
