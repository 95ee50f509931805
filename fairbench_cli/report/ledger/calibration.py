"""Calibration of the models' scores by group: in ranges of the score its mean, and the share with label 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.group_scores import BINS
from fairbench_cli.measures.registry import SCORE_METRICS
from fairbench_cli.report.ledger.journal_arrays import DatasetRepeats
from fairbench_cli.report.ledger.results import COMPARED, RunResults

RANGE_COLUMNS = ["group", "lowest", "highest", "rows", "mean_score", "base_rate", "n_ok", "n"]
LEAST_ROWS = 30
"""Rows, of all repeats together, with which a range of scores is drawn."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """The scores of cells in ranges, of all repeats together; NaN where there are no rows.

    Parameters
    ----------
    groups : tuple of str
        The levels that are compared, those of the reference last.
    rows, mean_score, base_rate : array, shape (..., groups, ranges)
        How many rows there are, their mean score and their share of label 1.
    n_repeats : int array, shape (...)
        In how many repeats the scores are probabilities.
    """

    groups: tuple[str, ...]
    rows: Floats
    mean_score: Floats
    base_rate: Floats
    n_repeats: NDArray[np.intp]

    @property
    def has_rows(self) -> NDArray[np.bool_]:
        """Which ranges have rows enough to be drawn, shape (..., groups, ranges)."""
        has_rows: NDArray[np.bool_] = self.rows >= LEAST_ROWS
        return has_rows

    def of_cell(self, i: int) -> "Calibration":
        """Return that of one of the cells."""
        return Calibration(
            self.groups, self.rows[i], self.mean_score[i], self.base_rate[i], self.n_repeats[i]
        )


def compute_calibration(data: DatasetRepeats, compared: str) -> Calibration:
    """Return the calibration of a data set's cells by the levels of an attribute or an intersection."""
    levels = data.score_levels(compared)
    order = np.argsort(~levels.outside, kind="stable")
    bins = levels.bins[:, :, order]
    has_bins = ~np.isnan(bins).any(axis=(2, 3, 4))
    rows, positives, scored = np.moveaxis(np.where(np.isnan(bins), 0.0, bins).sum(axis=1), -1, 0)
    groups = tuple(levels.groups[g] for g in order)
    return Calibration(groups, rows, divide(scored, rows), divide(positives, rows), has_bins.sum(axis=1))


def calibration_frame(run: RunResults) -> pd.DataFrame | None:
    """Return calibration.csv: a row per cell, group and range of scores that has rows; None without any."""
    frames = []
    for data in run.datasets:
        for compared in data.compared_attributes(run.attributes):
            frames.append(_frame_of(data, compared, run.plan.config.repeats))
    if not frames or not sum(map(len, frames)):
        return None
    return pd.concat(frames, ignore_index=True)


def _frame_of(data: DatasetRepeats, compared: str, n_repeats: int) -> pd.DataFrame:
    """Return the rows of `calibration_frame` of one data set."""
    calibration = compute_calibration(data, compared)
    cells, groups, ranges = np.nonzero(calibration.rows)
    frame = data.frame.loc[cells].reset_index(drop=True)
    index = (cells, groups, ranges)
    columns: dict[str, Any] = {
        "compared": compared,
        "group": np.array(calibration.groups, dtype=object)[groups],
        "lowest": ranges / BINS,
        "highest": (ranges + 1) / BINS,
        "rows": calibration.rows[index],
        "mean_score": calibration.mean_score[index],
        "base_rate": calibration.base_rate[index],
        "n_ok": calibration.n_repeats[cells],
        "n": n_repeats,
    }
    return frame.assign(**columns)[COMPARED + RANGE_COLUMNS]


@dataclass(frozen=True)
class MissingScores:
    """Of which models a run has no sums of scores, or of scores that are no probabilities.

    Parameters
    ----------
    without_scores, without_probabilities : list of (technique, classifier)
        By the keys of cells, in the order of the plan.
    n_not_kept : int
        In how many repeats with a result nobody asked for scores.
    """

    without_scores: list[tuple[Any, ...]]
    without_probabilities: list[tuple[Any, ...]]
    n_not_kept: int


def find_missing_scores(run: RunResults, columns: Sequence[str]) -> MissingScores:
    """Return of which models scores are missing, by some columns of their cells."""
    lacking: dict[str, dict[tuple[Any, ...], None]] = {"scores": {}, "probabilities": {}}
    not_kept = set()
    for data in run.datasets:
        scores = data.scores
        was_kept = has_no_gap(scores.rows)
        has_scores = has_no_gap(scores.wins)
        has_probabilities = has_no_gap(scores.errors)
        for i, cell in enumerate(data.cells):
            model = tuple(cell[name] for name in columns)
            if (was_kept[i] & ~has_scores[i]).any():
                lacking["scores"][model] = None
            if (has_scores[i] & ~has_probabilities[i]).any():
                lacking["probabilities"][model] = None
        for i, repeat in product(*map(range, was_kept.shape)):
            if data.has_counts[i, repeat] and not was_kept[i, repeat]:
                not_kept.add((data.cells[i]["key"], repeat))
    return MissingScores(list(lacking["scores"]), list(lacking["probabilities"]), len(not_kept))


def has_no_gap(sums: Floats) -> NDArray[np.bool_]:
    """Return of which repeats sums are known, shape (cells, repeats)."""
    return np.asarray(np.isfinite(sums).all(axis=(2, 3)))


def requested_score_metrics(run: RunResults) -> list[str]:
    """Return the metrics of scores that a run's config, or its report, names."""
    return [name for name in run.plan.config.at_hand if name in SCORE_METRICS]
