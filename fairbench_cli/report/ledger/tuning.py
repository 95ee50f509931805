"""What parameters were chosen from, and what choosing them gained on the test rows."""

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
from fairbench_cli.report.ledger.inference import paired_test
from fairbench_cli.report.ledger.journal_arrays import CELL_COLUMNS, DatasetRepeats, cell_key
from fairbench_cli.report.ledger.results import NO_VALUES, RunResults

SHOWN = ("accuracy", "impact-ratio", "discrimination")
"""Kept of every candidate, in addition to the metric that was tuned for."""

GAINS = ("gain", "gain_on_test", "leakage")
_INTERVALS = [f"{name}{end}" for name in GAINS for end in ("", "_low", "_high")]
GAIN_COLUMNS = [*CELL_COLUMNS, "metric", "n", "untuned", "tuned", "tuned_on_test", *_INTERVALS]


@dataclass(frozen=True, eq=False)
class TunedCell:
    """A cell whose parameters were tuned, and the curve of each repeat that has one."""

    cell: dict[str, Any]
    tuning: Tuning
    data: DatasetRepeats
    curves: dict[int, Curve]

    def values(self, metric: str) -> Floats:
        """Return a metric of each candidate, on the rows that the best was chosen on: (repeats, candidates).

        The repeats are those of `curves`. NaN where it is undefined or the candidate was infeasible.
        """
        if metric == self.tuning.metric.name:
            return np.array([curve.values for curve in self.curves.values()])
        counts = [replace(curve.counts, groups=self.data.protected.groups) for curve in self.curves.values()]
        return np.array([measure(metric, self.data.levels(one, self.data.attribute)) for one in counts])


def tuned_cells(run: RunResults) -> Iterator[TunedCell]:
    """Yield the tuned cells of which there is some curve."""
    for data in run.datasets:
        for cell, records in zip(data.cells, data.records, strict=True):
            curves = {repeat: one.tuning for repeat, one in records.items() if one.tuning is not None}
            if curves:
                yield TunedCell(cell, tuning_of(json.loads(cell["parameters"])["tune"]), data, curves)


def tuning_curve_frame(run: RunResults) -> pd.DataFrame:
    """Return tuning.csv: one row per tuned cell, repeat, candidate and metric.

    ``candidate`` has its parameters, as JSON; ``value`` is on the rows that the best was chosen on, which
    ``chosen`` marks. The metrics are the one that was tuned for and `SHOWN`.
    """
    columns = [*CELL_COLUMNS, "repeat", "candidate", "metric", "value", "chosen"]
    parts = [pd.DataFrame(columns=columns)]
    for tuned in tuned_cells(run):
        candidates = [canonical_json(values) for values in tuned.tuning.candidates]
        metrics = tuple(dict.fromkeys([tuned.tuning.metric.name, *SHOWN]))
        values = np.stack([tuned.values(name) for name in metrics], axis=-1)  # repeats × candidates × metrics
        chosen = [at == curve.chosen for curve in tuned.curves.values() for at in range(len(candidates))]
        each = product(tuned.curves, candidates, metrics)
        frame = pd.DataFrame(each, columns=["repeat", "candidate", "metric"])
        frame = frame.assign(value=values.ravel(), chosen=np.repeat(chosen, len(metrics)))
        parts.append(frame.assign(**{name: tuned.cell[name] for name in CELL_COLUMNS})[columns])
    return pd.concat(parts[1:] or parts, ignore_index=True)


def tuning_gain_frame(run: RunResults) -> pd.DataFrame:
    """Return tuning_gain.csv: what tuning on validation rows gained on the test rows, and what was leakage.

    One row per cell that is tuned on validation rows. ``untuned`` is the mean of the metric in the cell that
    is the same but not tuned (of several, the one with the default values), ``tuned`` with the values that
    were chosen, ``tuned_on_test`` with those that the rule of Friedler et al. (2019) chooses from the same
    candidates; empty where the run has no such cell, or the metric's code is not at hand. ``gain`` is how
    much nearer to the ideal ``tuned`` is than ``untuned``, for ratios on a log scale; ``gain_on_test`` the
    same for ``tuned_on_test``; and ``leakage`` is their difference, which is never below 0 in a repeat.
    All are means over the ``n`` repeats that have a value in each of these cells, with 95 % t-intervals of
    the paired differences. A ratio of 0, infinitely far from its ideal, counts as no value.
    """
    tuned = list(tuned_cells(run))
    nothing = np.full(run.plan.config.repeats, np.nan)
    on_test = {_place(one): one for one in tuned if one.tuning.on == "test"}
    rows = []
    for one in tuned:
        if one.tuning.on != "validation" or one.tuning.metric.name not in METRICS | dict(
            run.results.custom_metrics
        ):
            continue
        metric = one.tuning.metric.name
        entry = run.results.custom_metrics.get(metric) or METRICS[metric]
        rival = on_test.get(_place(one))
        keys = [_untuned(one), cell_key(one.cell), None if rival is None else cell_key(rival.cell)]
        found = [NO_VALUES.values if key is None else run.cell_metric(key, metric).values for key in keys]
        there = np.all([np.isfinite(distance(entry, values)) for values in found if len(values)], axis=0)
        kept = [np.where(there, values, np.nan) if len(values) else nothing for values in found]
        untuned, nested, leaky = (distance(entry, values) for values in kept)
        means = [float(np.mean(values[there])) if there.any() else np.nan for values in kept]
        numbers: list[float] = []
        for difference in (untuned - nested, untuned - leaky, nested - leaky):
            test = paired_test(difference)
            numbers += [float(test.mean), float(test.low), float(test.high)]
        rows.append([*cell_key(one.cell), metric, int(there.sum()), *means, *numbers])
    return pd.DataFrame(rows, columns=GAIN_COLUMNS)


def _place(tuned: TunedCell) -> tuple[Any, ...]:
    """Return the key that a cell has in common with the one that is tuned in the other way."""
    same = replace(tuned.tuning, on="test", fraction=None)
    return (*_others(tuned.cell, ()), canonical_json(same.described))


def _others(cell: dict[str, Any], tuned: Collection[str]) -> tuple[Any, ...]:
    """Return the key of a cell, without what is tuned."""
    given = json.loads(cell["parameters"])
    kept = {name: value for name, value in given.items() if name not in (*tuned, "tune")}
    return (*cell_key(cell | {"parameters": ""}), canonical_json(kept))


def _untuned(tuned: TunedCell) -> tuple[Any, ...] | None:
    """Return the key of the cell that differs in what is tuned alone; of several, that with the defaults."""
    names = tuple(own_parameters(dict(tuned.tuning.over)))
    place = _others(tuned.cell, names)
    found = [json.loads(cell["parameters"]) | {"cell": cell} for cell in tuned.data.cells]
    found = [one for one in found if "tune" not in one and _others(one["cell"], names) == place]
    entry = INTERVENTIONS.get(tuned.cell["intervention"])
    if len(found) > 1 and entry is not None:
        defaults = {name: getattr(entry.load(), name, None) for name in names}
        found = [one for one in found if {name: one[name] for name in names} == defaults]
    if len(found) == 1:
        return cell_key(found[0]["cell"])
    return None
