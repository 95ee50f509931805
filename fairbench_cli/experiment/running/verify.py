"""Finished repeats computed again: whether the numbers are the same bit for bit and, if not, why."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from fairbench_cli.base.checksums import canonical_json, derive_seed, digest
from fairbench_cli.base.errors import UserError, user_error
from fairbench_cli.base.files import scratch_folder
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.config.config import ExperimentConfig
from fairbench_cli.experiment.datasets import populate, prepare_datasets
from fairbench_cli.experiment.decisions import RowsPlace, crc_of_rows, read_rows, unpacked
from fairbench_cli.experiment.journal import journal
from fairbench_cli.experiment.journal.changes import SHOWN, RunChange, changed_inputs, changed_versions
from fairbench_cli.experiment.plan import Cell, RunPlan, make_all_cells, make_plan, read_plan
from fairbench_cli.experiment.running.pool import LocalPool, Pool
from fairbench_cli.experiment.running.worker import Task
from fairbench_cli.experiment.versions import Versions, versions_of_numbers
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.group_scores import GroupScores
from fairbench_cli.network.files import load
from fairbench_cli.network.model import BayesNet


@dataclass(frozen=True, eq=False)
class Recomputed:
    """One finished repeat, as the journal has it and as it came out now.

    Parameters
    ----------
    header : JournalHeader or None
        What the record was computed with; None for an old journal.
    steady : bool
        Whether computing it a third time gave the same as the second; only asked where the two differ.
    """

    cell: Cell
    record: Repeat
    now: Repeat
    header: journal.JournalHeader | None
    steady: bool = True

    @property
    def differences(self) -> tuple[str, ...]:
        """What differs, in the order of a record."""
        return tuple(differences(self.record, self.now))


@dataclass(frozen=True, eq=False)
class Verification:
    """What a handful of repeats of some results say about them.

    Parameters
    ----------
    seed : int
        What picked them.
    finished : int
        How many they were picked from.
    recomputed : list of Recomputed
    changes : list of RunChange
        What is no longer as it was when the results were made.
    ours : Versions
        What was computed with now.
    unnamed : dict of str to int
        How many finished repeats were left out for code that nobody named, by its name.
    """

    seed: int
    finished: int
    recomputed: list[Recomputed]
    changes: list[RunChange]
    ours: Versions
    unnamed: dict[str, int]

    @property
    def different(self) -> list[Recomputed]:
        """Return those that came out otherwise."""
        return [recomputed for recomputed in self.recomputed if recomputed.differences]

    @property
    def good(self) -> bool:
        """Return whether all came out as they were, and the networks are what the data give."""
        return not self.different and all(change.kind != "network" for change in self.changes)

    @property
    def reasons(self) -> list[str]:
        """Return the reasons why repeats came out otherwise: one line for all that have the same reason."""
        kinds = {change.kind for change in self.changes}
        n_by_kind: Counter[str] = Counter()
        for recomputed in self.different:
            if recomputed.cell.key != recomputed.record.key:
                inputs = [kind for kind in ("config", "data", "code") if kind in kinds]
                n_by_kind[" and ".join(inputs) or "code"] += 1
            elif not recomputed.steady:
                n_by_kind["code, which gives other numbers every time"] += 1
            elif recomputed.header is not None and self.ours.differences(recomputed.header.versions):
                n_by_kind["versions"] += 1
            elif "network" in kinds:
                n_by_kind["data, a network"] += 1
            else:
                n_by_kind["the journal, which was edited, or code whose version was not raised"] += 1
        return [f"{n} differ because of {reason}" for reason, n in n_by_kind.items()]


def verify(
    folder: Path,
    *,
    cells: int = 20,
    seed: int | None = None,
    config: ExperimentConfig | None = None,
    data_dir: Path | None = None,
    jobs: int = 1,
) -> Verification:
    """Compute some finished repeats of a results folder again; writes nothing there.

    Parameters
    ----------
    cells : int
        How many repeats; all where there are fewer.
    seed : int or None
        Picks them; None: a hash of what they are for and the name of the experiment.
    config : ExperimentConfig or None
        The experiment as its user has read it, with the code that it names. None: the config that the results
        hold, without the cells that need code of somebody, which a results folder must not make anybody run.

    Raises
    ------
    UserError
        When the folder holds no results or none that can be computed again; or a card or data are missing.
    """
    plan = read_plan(folder)
    reading = journal.read_journals(folder / "journal")
    records = reading.records
    if config is None:
        config_used, unnamed = _without_code(plan, records)
    else:
        config_used = config
        unnamed = {}
    datasets = prepare_datasets(config_used, data_dir)
    cells_now = make_all_cells(config_used, datasets)
    pairs = _pairs(plan, cells_now)
    repeats = range(plan.config.repeats)
    finished = [repeat_key for repeat_key in product(pairs, repeats) if _is_finished(records, repeat_key)]
    if not finished:
        raise _nothing(folder, plan, unnamed, config)
    if seed is None:
        seed = derive_seed("verify", plan.config.name) % 10**6
    picked = pick(finished, cells, seed)
    sources = {pairs[key].source for key, _ in picked}
    swept = any(records[repeat_key].swept is not None for repeat_key in picked)
    scores = any(records[repeat_key].scores is not None for repeat_key in picked)
    stored_rows = any(records[repeat_key].predictions is not None for repeat_key in picked)
    controls = any(records[repeat_key].controls is not None for repeat_key in picked)
    populations = {}
    with scratch_folder() as scratch:
        for dataset in datasets:
            if dataset.name in sources:
                population = populate(dataset, config_used, scratch)
                populations[dataset.name] = replace(
                    population, sweep=swept, keeps_scores=scores, predictions=stored_rows, controls=controls
                )
        networks = list(changed_networks(folder / "networks", scratch))
    tasks = [Task(pairs[key], repeat, populations[pairs[key].source]) for key, repeat in picked]
    with LocalPool(config_used, jobs) as workers:
        now = _compute(tasks, workers)
        compared = []
        for repeat_key, task in zip(picked, tasks, strict=True):
            record = _with_rows(records[repeat_key], folder / "journal")
            header = reading.files[reading.file_number(repeat_key)].header
            compared.append(Recomputed(task.cell, record, now[task.cell.key, task.repeat], header))
        unlike_tasks = [
            task for task, recomputed in zip(tasks, compared, strict=True) if recomputed.differences
        ]
        again = now | _compute(unlike_tasks, workers)
    for i, recomputed in enumerate(compared):
        third = again[recomputed.now.key, recomputed.now.repeat]
        compared[i] = replace(recomputed, steady=not any(differences(recomputed.now, third)))
    ours = versions_of_numbers(config_used)
    changes = list(
        changed_inputs(
            plan,
            make_plan(config_used, datasets, cells_now),
            (recomputed.cell.source for recomputed in compared),
        )
    )
    changes += changed_versions((recomputed.header for recomputed in compared), ours)
    changes += networks
    return Verification(seed, len(finished), compared, changes, ours, unnamed)


def pick(repeat_keys: Iterable[tuple[str, int]], n: int, seed: int) -> list[tuple[str, int]]:
    """Return n of several places, or all: which, depends on the seed and on nothing else.

    >>> places = [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    >>> pick(places, 2, 0) == pick(places[::-1], 2, 0) != pick(places, 2, 2)
    True
    """
    return sorted(repeat_keys, key=lambda repeat_key: digest([seed, *repeat_key]))[:n]


def _is_finished(records: journal.Records, repeat_key: tuple[str, int]) -> bool:
    return repeat_key in records and records[repeat_key].status not in journal.RETRIED


def _compute(tasks: Iterable[Task], pool: Pool) -> dict[tuple[str, int], Repeat]:
    with closing(pool.outcomes(tasks)) as outcomes:
        return {(outcome.key, outcome.repeat): outcome for outcome in outcomes}


def differences(old: Repeat, new: Repeat) -> Iterator[str]:
    """Yield in words which fields of a record came out otherwise, bit for bit; seconds may.

    What was measured later than the old record is no difference.

    >>> from fairbench_cli.measures.counts import PAIR, Counts
    >>> counts = [Counts(PAIR, np.full((2, 2, 2), n)) for n in (3.0, 4.0)]
    >>> old, new = (Repeat("k", 0, "ok", "", n, values={"a": float("nan")}) for n in counts)
    >>> list(differences(old, new))
    ['counts (deprived, label 0, decided 0): 3.0 → 4.0 and 7 more']
    """
    before, after = (journal.fields_of(record) for record in (old, new))
    after["values"] = {name: value for name, value in after["values"].items() if name in before["values"]}
    for field in ("swept", "scores", "recorded_scores", "controls"):
        if before[field] is None:
            after[field] = None
    for row, repeat in (before, old), (after, new):  # however they are compressed
        row["decisions"] = before["decisions"] and _decided(repeat)
        row["predictions"] = old.predictions and _crc(repeat)
        row["scores"] = row["scores"] and _score_sums(repeat.scores)
        row["recorded_scores"] = row["recorded_scores"] and _score_sums(repeat.recorded_scores)
    groups = () if new.counts is None else new.counts.groups
    fields = ["status", "reason", "counts", "facts", "values", "swept", "tuning", "decisions", "predictions"]
    for field in fields + ["recorded", "scores", "recorded_scores", "controls"]:
        was = dict(_leaves(before[field]))
        now = dict(_leaves(after[field]))
        changed = [leaf_path for leaf_path in was | now if was.get(leaf_path, ...) != now.get(leaf_path, ...)]
        if not changed:
            continue
        first_changed = changed[0]
        texts = [
            "none" if leaves.get(first_changed) is None else str(leaves[first_changed])
            for leaves in (was, now)
        ]
        if before[field] is None or after[field] is None:
            texts = ["none" if row[field] is None else "some" for row in (before, after)]
            first_changed = ()
            changed = [()]
        old_value, new_value = (text or '""' for text in texts)
        difference = f"{_place_in_words(field, first_changed, groups)}: {old_value} → {new_value}"
        if len(changed) > 1:
            difference += f" and {len(changed) - 1} more"
        yield difference


def _with_rows(record: Repeat, journals: Path) -> Repeat:
    """Return a record whose checksum of kept rows says so where the rows are no longer those."""
    stored_rows = record.predictions
    if not isinstance(stored_rows, RowsPlace) or record.counts is None:
        return record
    try:
        read_rows(journals, stored_rows, round(record.counts.n.sum()))
    except (OSError, ValueError):
        return replace(record, predictions=replace(stored_rows, crc="damaged"))
    return record


def _crc(repeat: Repeat) -> str | None:
    """Return the checksum of the rows that were kept."""
    stored_rows = repeat.predictions
    if isinstance(stored_rows, bytes):
        return crc_of_rows(stored_rows)
    if stored_rows is None:
        return None
    return stored_rows.crc


def _score_sums(scores: GroupScores | None) -> dict[str, Any]:
    """Return the sums of scores as plain data; NaN as text, which equals itself."""
    if scores is None:
        return {}
    arrays = {"rows": scores.rows, "wins": scores.wins, "errors": scores.errors, "bins": scores.bins}
    sums: dict[str, Any] = {}
    for name, values in arrays.items():
        sums[name] = "none" if np.isnan(values).any() else values.tolist()
    return sums


def _decided(repeat: Repeat) -> str | None:
    """Return the start of a checksum of what was decided on each row, or of the text that should say it."""
    if repeat.decisions is None or repeat.counts is None:
        return None
    with suppress(ValueError):
        return digest(unpacked(repeat.decisions, round(repeat.counts.n.sum())).tolist())[:SHOWN]
    return digest(repeat.decisions)[:SHOWN]


Leaf = tuple[tuple[str | int, ...], Any]


def _leaves(value: Any, leaf_path: tuple[str | int, ...] = ()) -> Iterator[Leaf]:
    """Yield what stands in nested lists and dicts, by its place."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(inner, leaf_path + (key,))
    else:
        yield leaf_path, value


def _place_in_words(field: str, leaf_path: tuple[str | int, ...], groups: Sequence[str]) -> str:
    """Return a place in a field: of counts the group, the label and the decision."""
    match leaf_path:
        case *lead, int(group), int(label), int(decided) if not field.endswith("scores"):
            name = groups[group] if group < len(groups) else group
            inner = f"{name}, label {label}, decided {decided}"
            return f"{' '.join([field] + list(map(str, lead)))} ({inner})"
    return " ".join([field] + list(map(str, leaf_path)))


def _pairs(plan: RunPlan, cells_now: list[Cell]) -> dict[str, Cell]:
    """Return by the key in the results the cell that is described in the same way now."""
    now = {_description(cell.describe()): cell for cell in cells_now}
    old = {cell["key"]: now.get(_description(cell)) for cell in reversed(plan.all_cells)}
    return {key: cell for key, cell in reversed(old.items()) if cell is not None}


def _description(cell: dict[str, Any]) -> str:
    return canonical_json({name: value for name, value in cell.items() if name != "key"})


def _without_code(plan: RunPlan, records: journal.Records) -> tuple[ExperimentConfig, dict[str, int]]:
    """Return the config of results without what needs code that is not ours, and what was left out."""
    config = plan.config
    techniques = [
        technique
        for technique in config.interventions
        if technique.spec.name in INTERVENTIONS
        and (technique.tune is None or technique.tune.metric.is_at_hand)
    ]
    classifiers = [spec for spec in config.classifiers if spec.name in CLASSIFIERS]
    described_techniques = {
        (technique.spec.name, canonical_json(technique.described)) for technique in techniques
    }
    unnamed: Counter[str] = Counter()
    for cell in {cell["key"]: cell for cell in plan.cells}.values():
        finished = sum(_is_finished(records, (cell["key"], repeat)) for repeat in range(config.repeats))
        if (cell["intervention"], cell["parameters"]) not in described_techniques:
            unnamed[cell["intervention"]] += finished
        elif cell["classifier"] not in CLASSIFIERS:
            unnamed[cell["classifier"]] += finished
    update = {"interventions": tuple(techniques), "classifiers": tuple(classifiers)}
    return config.model_copy(update=update), unnamed


def _nothing(
    folder: Path, plan: RunPlan, unnamed: dict[str, int], config: ExperimentConfig | None
) -> Exception:
    if any(unnamed.values()):
        problem = (
            f"every finished repeat of {folder} needs code that is not fairbench's: {', '.join(unnamed)}"
        )
        return user_error(problem, "name the config that you trust, whose code is then run: --config CONFIG")
    if config is not None:
        problem = f"{folder} has no finished repeat of a cell of that config"
        return user_error(problem, f"name the config of {plan.config.name}", "--config")
    return user_error(f"{folder} has no finished repeat", "run the experiment first")


def changed_networks(theirs: Path, ours: Path) -> Iterator[RunChange]:
    """Yield the networks of some results that are not what their data give, as they were fitted anew."""
    for path in sorted(ours.glob("*.json")):
        stored = theirs / path.name
        if not stored.is_file():
            continue
        try:
            is_equal = _equal(load(stored)[0], load(path)[0])
        except UserError:
            is_equal = False
        if not is_equal:
            problem = (
                f"{stored} is not the network that the data give: edited, or of other versions; delete it"
            )
            yield RunChange("network", problem)


def _equal(stored: BayesNet, fitted: BayesNet) -> bool:
    tables = zip(stored.cpts, fitted.cpts, strict=False)
    alike = (stored.columns, stored.parents) == (fitted.columns, fitted.parents)
    return alike and all(np.array_equal(stored_table, table) for stored_table, table in tables)
