"""The candidates that parameters were chosen from, and the gain of choosing them on the test rows."""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from fairbench_cli.base.checksums import canonical_json
from fairbench_cli.experiment.cell import Curve
from fairbench_cli.experiment.config.components import Tuning, own_parameters, tuning_of
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.registry import METRICS, distance, measure
from fairbench_cli.report.ledger import journal_arrays
from fairbench_cli.report.ledger.inference import paired_test
from fairbench_cli.report.ledger.results import NO_VALUES, RunResults

SHOWN = ("accuracy", "impact-ratio", "discrimination")
"""Kept of every candidate, in addition to the metric that was tuned for."""

GAINS = ("gain", "gain_on_test", "leakage")
GAIN_COLUMNS = journal_arrays.CELL_COLUMNS + [
    "metric", "n", "untuned", "tuned", "tuned_on_test", "gain", "gain_low", "gain_high", "gain_on_test",
    "gain_on_test_low", "gain_on_test_high", "leakage", "leakage_low", "leakage_high",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class TunedCell:
    """A cell whose parameters were tuned, and the curve of each repeat that has one."""

    cell: dict[str, Any]
    tuning: Tuning
    data: journal_arrays.DatasetRepeats
    curves: dict[int, Curve]

    def values(self, metric: str) -> Floats:
        """Return a metric of each candidate, on the rows that the best was chosen on: (repeats, candidates).

        The repeats are those of `curves`. NaN where it is undefined or the candidate was infeasible.
        """
        if metric == self.tuning.metric.name:
            return np.array([curve.values for curve in self.curves.values()])
        values = []
        for curve in self.curves.values():
            counts = replace(curve.counts, groups=self.data.protected.groups)
            values.append(measure(metric, self.data.levels(counts, self.data.attribute)))
        return np.array(values)


def tuned_cells(run: RunResults) -> Iterator[TunedCell]:
    """Yield the tuned cells of which there is some curve."""
    for dataset_repeats in run.datasets:
        for cell, records in zip(dataset_repeats.cells, dataset_repeats.records, strict=True):
            curves = {}
            for repeat, record in records.items():
                if record.tuning is not None:
                    curves[repeat] = record.tuning
            if curves:
                tuning = tuning_of(json.loads(cell["parameters"])["tune"])
                yield TunedCell(cell, tuning, dataset_repeats, curves)


def tuning_curve_frame(run: RunResults) -> pd.DataFrame:
    """Return tuning.csv: one row per tuned cell, repeat, candidate and metric.

    ``candidate`` has its parameters, as JSON; ``value`` is on the rows that the best was chosen on, which
    ``chosen`` marks. The metrics are the one that was tuned for and `SHOWN`.
    """
    columns = journal_arrays.CELL_COLUMNS + ["repeat", "candidate", "metric", "value", "chosen"]
    frames = []
    for tuned in tuned_cells(run):
        # 1. The values of all candidates.
        candidates = [canonical_json(parameters) for parameters in tuned.tuning.candidates]
        metrics = list(dict.fromkeys((tuned.tuning.metric.name,) + SHOWN))
        values = np.stack([tuned.values(name) for name in metrics], axis=-1)  # repeats × candidates × metrics
        # 2. Which of them was chosen, in each repeat.
        indices = np.arange(len(candidates))
        chosen = np.concatenate([indices == curve.chosen for curve in tuned.curves.values()])
        # 3. A row per repeat, candidate and metric: the last varies fastest, as in the values.
        keys = product(tuned.curves, candidates, metrics)
        frame = pd.DataFrame(keys, columns=["repeat", "candidate", "metric"])
        frame = frame.assign(value=values.ravel(), chosen=np.repeat(chosen, len(metrics)))
        frame = frame.assign(**{name: tuned.cell[name] for name in journal_arrays.CELL_COLUMNS})
        frames.append(frame[columns])
    return journal_arrays.join_frames(frames, columns)


def tuning_gain_frame(run: RunResults) -> pd.DataFrame:
    """Return tuning_gain.csv: the gain of tuning on validation rows on the test rows, and the leakage.

    One row per cell that is tuned on validation rows. ``untuned`` is the mean of the metric in the cell that
    is the same but not tuned (of several, the one with the default values), ``tuned`` with the values that
    were chosen, ``tuned_on_test`` with those that the rule of Friedler et al. (2019) chooses from the same
    candidates; empty where the run has no such cell, or the metric's code is not at hand. ``gain`` is how
    much nearer to the ideal ``tuned`` is than ``untuned``, for ratios on a log scale; ``gain_on_test`` the
    same for ``tuned_on_test``; and ``leakage`` is their difference, which is never below 0 in a repeat.
    All are means over the ``n`` repeats that have a value in each of these cells, with 95 % t-intervals of
    the paired differences. A ratio of 0, infinitely far from its ideal, counts as no value.
    """
    # 1. The cells that are tuned on test rows, by the key that those on validation rows share.
    all_tuned = list(tuned_cells(run))
    tuned_on_test = {_key_on_test(tuned): tuned for tuned in all_tuned if tuned.tuning.on == "test"}
    metrics = METRICS | dict(run.results.custom_metrics)
    rows = []
    for tuned in all_tuned:
        name = tuned.tuning.metric.name
        if tuned.tuning.on != "validation" or name not in metrics:
            continue
        metric = metrics[name]
        # 2. The metric untuned, tuned and tuned on the test rows.
        keys = [_find_untuned(tuned), journal_arrays.cell_key(tuned.cell), None]
        counterpart = tuned_on_test.get(_key_on_test(tuned))
        if counterpart is not None:
            keys[2] = journal_arrays.cell_key(counterpart.cell)
        values = []
        for key in keys:
            if key is None:
                values.append(NO_VALUES.values)
            else:
                values.append(run.cell_metric(key, name).values)
        # 3. Keep the repeats with a value in each of these cells; cells without any value do not count.
        is_finite = [np.isfinite(distance(metric, cell_values)) for cell_values in values if len(cell_values)]
        has_values = np.all(is_finite, axis=0)
        means = []
        distances = []
        for cell_values in values:
            if len(cell_values):
                in_all_cells = np.where(has_values, cell_values, np.nan)
            else:
                in_all_cells = np.full(run.plan.config.repeats, np.nan)
            distances.append(distance(metric, in_all_cells))
            if has_values.any():
                means.append(float(np.mean(in_all_cells[has_values])))
            else:
                means.append(np.nan)
        # 4. How much nearer to the ideal tuning comes, tuning on test, and the latter more than the former.
        untuned, nested, leaky = distances
        gains: list[float] = []
        for difference in (untuned - nested, untuned - leaky, nested - leaky):
            test = paired_test(difference)
            gains += [float(test.mean), float(test.low), float(test.high)]
        rows.append(list(journal_arrays.cell_key(tuned.cell)) + [name, int(has_values.sum())] + means + gains)
    return pd.DataFrame(rows, columns=GAIN_COLUMNS)


def _key_on_test(tuned: TunedCell) -> journal_arrays.CellKey:
    """Return the key that a cell has in common with the one that is tuned in the other way."""
    on_test = replace(tuned.tuning, on="test", fraction=None)
    return _key_without(tuned.cell, ()) + (canonical_json(on_test.described),)


def _key_without(cell: dict[str, Any], tuned_names: Collection[str]) -> journal_arrays.CellKey:
    """Return the key of a cell, without the parameters that are tuned."""
    parameters = json.loads(cell["parameters"])
    removed = set(tuned_names) | {"tune"}
    fixed = {name: value for name, value in parameters.items() if name not in removed}
    return journal_arrays.cell_key(cell | {"parameters": ""}) + (canonical_json(fixed),)


def _find_untuned(tuned: TunedCell) -> journal_arrays.CellKey | None:
    """Return the key of the cell that is the same but not tuned. None where there is none.

    Of several, that with the default values of the parameters that are tuned.
    """
    # 1. The cells that differ in the tuned parameters alone.
    names = tuple(own_parameters(dict(tuned.tuning.over)))
    fixed_key = _key_without(tuned.cell, names)
    untuned = []
    for cell in tuned.data.cells:
        if "tune" not in json.loads(cell["parameters"]) and _key_without(cell, names) == fixed_key:
            untuned.append(cell)
    # 2. Of several, those with the defaults.
    entry = INTERVENTIONS.get(tuned.cell["intervention"])
    if len(untuned) > 1 and entry is not None:
        component = entry.load()
        defaults = {name: getattr(component, name, None) for name in names}
        with_defaults = []
        for cell in untuned:
            parameters = json.loads(cell["parameters"])
            if {name: parameters[name] for name in names} == defaults:
                with_defaults.append(cell)
        untuned = with_defaults
    if len(untuned) == 1:
        return journal_arrays.cell_key(untuned[0])
    return None
