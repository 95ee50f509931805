"""The controls of a run: how often its words are wrong about twins, and how often it shows what was planted.

Twins differ by chance alone, so every word about their difference is false. They are judged by the words of
everything else, about the population, each pair in a family of one. See `experiment/controls.py`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pandas as pd

from fairbench_cli.base.grouping import group_by
from fairbench_cli.data.table import Floats
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.controls import (
    BOOTSTRAP,
    SHUFFLED,
    TWINS,
    ControlCounts,
    deprived_groups,
    draw_uniforms,
    plant_effect,
    turn_decisions,
)
from fairbench_cli.experiment.decisions import STEPS, packed, unpacked_steps
from fairbench_cli.experiment.journal.journal import RETRIED, Records
from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.groups import ProtectedAttributes
from fairbench_cli.measures.score_test import wilson_interval
from fairbench_cli.report.ledger.cell_labels import technique_label
from fairbench_cli.report.ledger.change_kinds import classify_changes, technique_frame
from fairbench_cli.report.ledger.columns import ACCURACY, FAIRNESS
from fairbench_cli.report.ledger.inference import row_design
from fairbench_cli.report.ledger.journal_arrays import (
    CELL_COLUMNS,
    SITUATION,
    DatasetRepeats,
    collect_cells,
    is_baseline,
)
from fairbench_cli.report.ledger.paired_differences import LEVEL, differences_frame
from fairbench_cli.report.ledger.population_tests import compute_population_tests
from fairbench_cli.report.ledger.results import Results, RunResults, compute_results

Kind = Literal["noise twins", "bootstrap twins", "planted effect", "placebo"]
NOISE_TWINS: Kind = "noise twins"
BOOTSTRAP_TWINS: Kind = "bootstrap twins"
PLANTED_EFFECT: Kind = "planted effect"
PLACEBO: Kind = "placebo"

TWIN_METRICS = (FAIRNESS, ACCURACY)
SHOWN = "shown"
NOT_SHOWN = "not shown"
DIFFERENT = ("better", "worse", "higher", "lower", "overshoots", "moved")
"""The words that call twins different, which they are not."""
COMPARED = DIFFERENT + ("same", "not shown")
"""The words that look at a difference at all."""
MIN_UNITS = 10
"""Of how many units the dependence is estimated; of fewer it is taken for `FEW_UNITS`."""
FEW_UNITS = 2.0

COLUMNS = CELL_COLUMNS[:2] + ["labels"] + CELL_COLUMNS[2:5]
COLUMNS += ["include_protected", "classifier", "classifier_parameters", "control", "technique", "metric"]
COLUMNS += ["n", "difference", "low", "high", "distance_difference", "p", "word", "basis"]
"""Those of controls.csv."""


@dataclass(frozen=True, eq=False)
class ControlCell:
    """A control as a cell: the one that it is made of, what it is called there, and its repeats."""

    cell: Mapping[str, Any]
    name: str
    repeats: tuple[Repeat, ...]


@dataclass(frozen=True, eq=False)
class ControlPair:
    """Two controls whose difference is looked at.

    Parameters
    ----------
    ours, theirs : ControlCell
        A twin and the other one; a planted effect, or a placebo, and the plain model.
    dataset, first : int
        Which data set they stand in, and the index of `ours` among its cells; `theirs` follows.
    """

    kind: Kind
    ours: ControlCell
    theirs: ControlCell
    technique: str = ""
    dataset: int = 0
    first: int = 0


@dataclass(frozen=True, eq=False)
class ControlCells:
    """The controls of a run as cells with repeats, which nothing but `controls_frame` sees."""

    datasets: list[DatasetRepeats]
    pairs: list[ControlPair]


@lru_cache(maxsize=2)  # the CSV, the page and the answer are of one run
def run_controls_frame(run: RunResults) -> pd.DataFrame:
    """Return controls.csv of a run."""
    return controls_frame(run.plan, run.records)


def controls_frame(plan: RunPlan, records: Records) -> pd.DataFrame:
    """Return the controls of a run, on true labels: a row for each pair and metric.

    ``difference`` is the mean over ``n`` repeats of the first twin less the second, or of the planted effect
    or the placebo less the plain model; ``low`` and ``high`` are its 95 % interval in the population, and
    ``distance_difference`` is the same of distances to the ideal. ``p`` and ``word`` are of the test that the
    run's words rest on, in a family of one: of distances; of a planted effect of values, as what was planted
    may be more than the gap. ``word`` is a `change_kinds.Kind`, or whether the planted effect is shown.
    """
    controls = collect_controls(plan.counted_by("true"), records)
    results = compute_results(controls.datasets, TWIN_METRICS)
    results = replace(results, margins=plan.config.margin)
    frames = [pd.DataFrame(columns=COLUMNS)]
    planted = [pair for pair in controls.pairs if pair.kind == PLANTED_EFFECT]
    compared = [pair for pair in controls.pairs if pair.kind != PLANTED_EFFECT]
    if compared:
        frames.append(_compare_models(results, compared))
    if planted:
        frames.append(_test_planted(results, planted))
    return pd.concat(frames[1:] or frames, ignore_index=True)


def _pair_rows(
    results: Results, pairs: Sequence[ControlPair], metrics: Sequence[str]
) -> tuple[list[ControlPair], Any, Any]:
    """Return a pair for each of its metrics, and the rows of the results of both sides."""
    pair_of_row = []
    ours = []
    theirs = []
    for pair in pairs:
        attribute = results.datasets[pair.dataset].attribute
        for metric in metrics:
            pair_of_row.append(pair)
            ours.append(results.row_number(pair.dataset, pair.first, attribute, metric))
            theirs.append(results.row_number(pair.dataset, pair.first + 1, attribute, metric))
    return pair_of_row, np.array(ours, dtype=np.intp), np.array(theirs, dtype=np.intp)


def _compare_models(results: Results, pairs: Sequence[ControlPair]) -> pd.DataFrame:
    """Return the rows of twins and placebos, judged as techniques are, each in a family of one."""
    pair_of_row, ours, theirs = _pair_rows(results, pairs, TWIN_METRICS)
    families = np.repeat(np.arange(len(pairs)), len(TWIN_METRICS))
    tested = differences_frame(results, ours, theirs, {"baseline": families})
    rows = np.unique(np.concatenate([ours, theirs]))
    kinds = classify_changes(tested, technique_frame(results.take(rows)))
    numbers = {
        "n": tested["n"],
        "difference": tested["difference"],
        "low": tested["population_low"],
        "high": tested["population_high"],
        "distance_difference": tested["distance_difference"],
        "p": tested["population_p"],
        "basis": tested["population_basis"],
    }
    columns = {name: column.to_numpy() for name, column in numbers.items()}
    return _lay_out(results, pair_of_row, theirs, columns | {"word": kinds})


def _test_planted(results: Results, pairs: Sequence[ControlPair]) -> pd.DataFrame:
    """Return the rows of planted effects, by the test of values."""
    pair_of_row, ours, theirs = _pair_rows(results, pairs, (FAIRNESS,))
    is_distance = np.zeros(len(ours), dtype=bool)
    values = (results.values[ours], results.values[theirs])
    tests = compute_population_tests(results, ours, theirs, values, is_distance)
    distances = results.distances[ours] - results.distances[theirs]
    has_value = np.isfinite(distances)
    n = has_value.sum(axis=1)
    mean_distance = np.where(has_value, distances, 0.0).sum(axis=1) / np.where(n > 0, n, np.nan)
    p = tests.population.p
    word = np.where(np.isnan(p), "untested", np.where(p < LEVEL, SHOWN, NOT_SHOWN))
    columns = {
        "n": tests.population.n.astype(int),
        "difference": tests.population.mean,
        "low": tests.population.low,
        "high": tests.population.high,
        "distance_difference": mean_distance,
        "p": p,
        "word": np.where(tests.population.n > 0, word, "no value"),
        "basis": tests.basis,
    }
    return _lay_out(results, pair_of_row, theirs, columns)


def _lay_out(
    results: Results, pairs: Sequence[ControlPair], theirs: Any, columns: Mapping[str, Any]
) -> pd.DataFrame:
    """Return rows of controls.csv: the cell that a pair is made of, and its numbers."""
    cells = results.rows.iloc[theirs].reset_index(drop=True)
    frame: pd.DataFrame = cells.assign(
        **columns,
        labels="true",
        control=[pair.kind for pair in pairs],
        technique=[pair.technique for pair in pairs],
    )
    return frame.reindex(columns=COLUMNS)


# The cells -------------------------------------------------------------------------------------------------


def collect_controls(plan: RunPlan, records: Records) -> ControlCells:
    """Return the controls of a run as cells with repeats, a data set after the other."""
    design = row_design(plan.config)
    n_repeats = plan.config.repeats
    datasets: list[DatasetRepeats] = []
    pairs: list[ControlPair] = []
    trained = group_by(plan.controls, _source)
    for source, cells in group_by(plan.cells, _source).items():
        controls = trained.get(source, [])
        plain_cells = [cell for cell in cells if is_baseline(cell["intervention"], cell["parameters"])]
        cell_pairs: list[ControlPair] = []
        for cell in plain_cells:
            cell_pairs += _pair_untrained(cell, records, n_repeats, plan.protected(*source))
        cell_pairs += _pair_bootstrap_twins(controls, records, n_repeats)
        cell_pairs += _pair_placebos(controls, plain_cells, records, n_repeats)
        if not cell_pairs:
            continue
        control_cells: list[dict[str, Any]] = []
        control_records: Records = {}
        for i, cell_pair in enumerate(cell_pairs):
            for index, control in ((2 * i, cell_pair.ours), (2 * i + 1, cell_pair.theirs)):
                key = f"{control.cell['key']} {control.name} {index}"
                control_cells.append({**control.cell, "key": key, "intervention": control.name})
                control_records |= {(key, repeat.repeat): repeat for repeat in control.repeats}
            pairs.append(replace(cell_pair, dataset=len(datasets), first=2 * i))
        datasets.append(collect_cells([(plan, control_records, control_cells)], design))
    return ControlCells(datasets, pairs)


def _source(cell: Mapping[str, Any]) -> tuple[str, str]:
    """Return the data set and the attribute of a cell."""
    return cell["dataset"], cell["attribute"]


def _finished_repeats(cell: Mapping[str, Any], records: Records, n_repeats: int) -> list[Repeat]:
    """Return the repeats of a cell that are in the journal."""
    repeats = [records.get((cell["key"], repeat)) for repeat in range(n_repeats)]
    return [record for record in repeats if record is not None]


def _pair_untrained(
    cell: Mapping[str, Any], records: Records, n_repeats: int, protected: ProtectedAttributes
) -> list[ControlPair]:
    """Return the noise twins and the planted effect of a plain model; none if no repeat has them."""
    finished = _finished_repeats(cell, records, n_repeats)
    repeats = tuple(record for record in finished if record.controls is not None)
    if not repeats:
        return []
    twins = []
    for twin, name in enumerate(TWINS):
        twins.append(ControlCell(cell, f"noise {name}", tuple(make_twin(record, twin) for record in repeats)))
    pairs = [ControlPair(NOISE_TWINS, twins[0], twins[1])]
    planted = []
    for record in repeats:
        repeat_planted = make_planted(record, protected, cell["attribute"])
        if repeat_planted is not None:
            planted.append(repeat_planted)
    if planted:
        plain = ControlCell(cell, "none", repeats)
        pairs.append(ControlPair(PLANTED_EFFECT, ControlCell(cell, "planted", tuple(planted)), plain))
    return pairs


def _pair_bootstrap_twins(
    controls: Iterable[Mapping[str, Any]], records: Records, n_repeats: int
) -> Iterator[ControlPair]:
    """Yield the twins that were trained, where both have some repeat."""
    twins = [cell for cell in controls if cell["control"] in BOOTSTRAP]
    for cells in group_by(twins, lambda cell: tuple(cell[column] for column in CELL_COLUMNS)).values():
        pair = _pair_trained(BOOTSTRAP_TWINS, cells, records, n_repeats)
        if pair is not None:
            yield pair


def _pair_placebos(
    controls: Iterable[Mapping[str, Any]],
    plain_cells: Sequence[Mapping[str, Any]],
    records: Records,
    n_repeats: int,
) -> Iterator[ControlPair]:
    """Yield the techniques with the protected column shuffled, each next to its plain model."""
    for cell in controls:
        if cell["control"] != SHUFFLED:
            continue
        situation = [cell[column] for column in SITUATION]
        matches = [plain for plain in plain_cells if [plain[column] for column in SITUATION] == situation]
        # The plain model that sees what the technique sees, where the run has it.
        matches.sort(key=lambda plain: plain["include_protected"] != cell["include_protected"])
        label = technique_label(cell["intervention"], cell["parameters"], cell["include_protected"])
        pair = _pair_trained(PLACEBO, [cell, *matches[:1]], records, n_repeats, label)
        if pair is not None:
            yield pair


def _pair_trained(
    kind: Kind, cells: Sequence[Mapping[str, Any]], records: Records, n_repeats: int, technique: str = ""
) -> ControlPair | None:
    """Return two cells of the journal as a pair; None where they are not two that have some repeat."""
    finished = []
    for cell in cells:
        repeats = _finished_repeats(cell, records, n_repeats)
        if repeats:
            name = f"{cell.get('control', 'plain')} {cell['intervention']}"
            finished.append(ControlCell(cell, name, tuple(repeats)))
    if len(finished) != 2:
        return None
    return ControlPair(kind, finished[0], finished[1], technique)


def make_twin(record: Repeat, twin: int) -> Repeat:
    """Return a noise twin of a repeat of the plain model, which has controls."""
    controls = _controls_of(record)
    counts = Counts(controls.twins.groups, controls.twins.n[twin])

    def decide(chance: Floats, uniforms: Floats) -> Floats:
        return turn_decisions(chance, uniforms[twin])

    return _decide_otherwise(record, counts, decide)


def make_planted(record: Repeat, protected: ProtectedAttributes, attribute: str) -> Repeat | None:
    """Return a repeat of the plain model with a planted effect; None where it has none for the attribute."""
    counts = _controls_of(record).planted.get(attribute)
    if counts is None or record.counts is None:
        return None
    # Decisions are kept by group, so that the sizes of the groups say which rows are deprived.
    group_sizes = record.counts.n.sum(axis=(1, 2)).round().astype(int)
    is_deprived = np.repeat(deprived_groups(protected, attribute), group_sizes)

    def decide(chance: Floats, uniforms: Floats) -> Floats:
        return plant_effect(chance, is_deprived, uniforms[len(TWINS)])

    return _decide_otherwise(record, counts, decide)


def _controls_of(record: Repeat) -> ControlCounts:
    assert record.controls is not None  # noqa: S101 - it was asked for
    return record.controls


def _decide_otherwise(record: Repeat, counts: Counts, decide: Any) -> Repeat:
    """Return a repeat with other counts and, where decisions are kept, those that give these counts."""
    decisions = None
    if record.decisions is not None and record.counts is not None:
        n_rows = round(float(record.counts.n.sum()))
        try:
            chance = unpacked_steps(record.decisions, n_rows) / STEPS
        except ValueError:
            pass  # they are damaged: the counts decide
        else:
            uniforms = draw_uniforms(_controls_of(record).seed, n_rows)
            decisions = packed(decide(chance, uniforms), level=0)  # they are in no file
    return replace(
        record,
        counts=counts,
        decisions=decisions,
        swept=None,
        scores=None,
        recorded_scores=None,
        values={},
        recorded=None,
        controls=None,
    )


# What they say ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ControlRates:
    """How often twins were called different.

    Parameters
    ----------
    n_compared, n_different : int
        Comparisons of twins, and those that a word called different.
    low, high : float
        The 95 % interval of the share; NaN without comparisons.
    """

    n_compared: int
    n_different: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """The share of comparisons that were called different."""
        return self.n_different / self.n_compared

    @property
    def fails(self) -> bool:
        """Whether words are shown to be wrong more often than they say."""
        return self.low > LEVEL


def compute_rates(frames: Sequence[pd.DataFrame]) -> ControlRates:
    """Return the rates of the controls of some runs together.

    Comparisons of a data set and a kind of twins hang together: metrics of one pair do, and so may β and
    classifiers. Of so many independent ones, the number that are called different varies as much as Wilson's
    interval needs: as many as there are, over the ratio of the variance between these units to that of
    independent comparisons. What is the same control in two runs, or of two attributes, counts once.
    """
    frames_by_run = [frame.assign(run=i) for i, frame in enumerate(frames) if len(frame)]
    if not frames_by_run:
        return ControlRates(0, 0, np.nan, np.nan)
    joined = pd.concat(frames_by_run, ignore_index=True)
    joined = joined[~joined.duplicated([name for name in COLUMNS if name != "attribute"])]
    twins = joined[joined["control"].isin([NOISE_TWINS, BOOTSTRAP_TWINS]) & joined["word"].isin(COMPARED)]
    units = twins.groupby(["run", "dataset", "attribute", "control"], sort=False)["word"]
    n_by_unit = units.size().to_numpy()
    different_by_unit = units.apply(lambda verdicts: verdicts.isin(DIFFERENT).sum()).to_numpy(dtype=float)
    low, high = rate_interval(different_by_unit, n_by_unit)
    return ControlRates(
        n_compared=len(twins),
        n_different=int(different_by_unit.sum()),
        low=low,
        high=high,
    )


def rate_interval(different: Floats, compared: Any) -> tuple[float, float]:
    """Return the 95 % interval of a share by units whose comparisons hang together.

    Parameters
    ----------
    different, compared : array, shape (units,)
        How many comparisons of each unit are called different, and how many there are.

    >>> low, high = rate_interval(np.array([1, 0, 0]), np.array([6, 6, 6]))
    >>> round(low, 3), round(high, 3)
    (0.006, 0.371)
    """
    n = float(np.sum(compared))
    if not n:
        return np.nan, np.nan
    n_different = float(np.sum(different))
    share = n_different / n
    # Nothing varies where none, or all, are called different: a share next to that stands in.
    assumed = {0.0: LEVEL, 1.0: 1 - LEVEL}.get(share, share)
    dependence = FEW_UNITS
    if len(compared) >= MIN_UNITS:
        squares = (np.asarray(different) - assumed * np.asarray(compared)) ** 2
        dependence = max(1.0, float(squares.sum()) / (n * assumed * (1 - assumed)))
    low, high = wilson_interval(n_different / dependence, n / dependence)
    return float(low), float(high)


def count_missing(plan: RunPlan, records: Records) -> int:
    """Return how many repeats lack the controls that the plan asks for: the next run computes them."""
    trained = {cell["key"] for cell in plan.controls}
    plain = set()
    for cell in plan.cells:
        if is_baseline(cell["intervention"], cell["parameters"]):
            plain.add(cell["key"])
    n_missing = 0
    for repeat in range(plan.config.repeats):
        for key in trained:
            record = records.get((key, repeat))
            n_missing += record is None or record.status in RETRIED
        for key in plain:
            record = records.get((key, repeat))
            n_missing += record is not None and record.counts is not None and record.controls is None
    return n_missing
