"""Pareto dominance: which techniques lose to another one on fairness and on accuracy at once."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.document.model import Document
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.significance import holm
from fairbench_cli.report.paired import EQUAL, LEVEL, distance, paired_test
from fairbench_cli.report.repeats import SITUATION, TECHNIQUE
from fairbench_cli.report.results import COMPARED, Results, RunResults
from fairbench_cli.report.tables import BLOCK, Cells, blocks_of, technique_label

SHOWN = ("discrimination", "accuracy")
APART = "; "


def pareto_frame(results: Results, metrics: tuple[str, str] = SHOWN) -> pd.DataFrame:
    """Return which techniques are on the Pareto front, per data set, attribute, groups, classifier and β.

    Techniques are judged by the mean over repeats of each metric's distance to its ideal, over the
    repeats that have both metrics. The mean of distances, not the distance of the mean: one model is used
    in the end, and a technique that is too high half of the time and too low the other half is not fair.

    A technique is dominated by another one that is at least as good on both means and better on one.
    Domination is clear when paired t-tests of the distances reject equality on both metrics, Holm-adjusted
    over all pairs of techniques of that data set, attribute, classifier and β (a pair's p is the larger of
    its two, for both must hold). A metric on which the two agree in every repeat does not count against it.

    Columns: the cell's, ``technique`` (its label), ``n`` (repeats with both metrics), per metric the mean
    value and the mean ``…_distance``, ``front`` (bool), ``dominated_by`` and ``clearly_dominated_by``
    (labels, joined by ``"; "``). Cells without a value, such as infeasible ones, are absent.

    Parameters
    ----------
    results : Results
        With both metrics.
    metrics : pair of str
        Names of metrics that have an ideal.
    """
    situation = [*SITUATION[:2], "compared", *SITUATION[2:]]
    numbers = ["n", *metrics, *(f"{name}_distance" for name in metrics)]
    judged = ["front", "dominated_by", "clearly_dominated_by"]
    columns = [*situation, *TECHNIQUE, "technique", *numbers, *judged]
    one, other = (results.take((results.rows["metric"] == name).to_numpy()) for name in metrics)
    values = np.stack([one.values, other.values])
    values = np.where(np.isfinite(values).all(axis=0), values, np.nan)
    some = ~np.isnan(values[0]).all(axis=1)
    cells = one.rows.loc[some, COMPARED].reset_index(drop=True)
    parts = [
        _front(cells.iloc[at], values[:, some][:, at], metrics)
        for at in cells.groupby(situation, sort=False).indices.values()
    ]
    return pd.concat([pd.DataFrame(columns=columns), *parts][bool(parts) :], ignore_index=True)[columns]


def pareto_table(name: str, run: RunResults) -> Document:
    """Lay out `pareto_frame`: a row per technique, β across."""
    frame = pareto_frame(run.asked(SHOWN))
    columns = [*BLOCK, "technique", "beta", "front", "clearly_dominated_by"]
    texts: Cells = {
        (tuple(block), (technique, "Pareto"), beta): "front"
        if front
        else f"dominated{' clearly' if clearly else ''}"
        for *block, technique, beta, front, clearly in frame[columns].itertuples(index=False, name=None)
    }
    caption = (
        f"front: no technique is at least as good on {SHOWN[0]} and {SHOWN[1]} and better on one "
        "(mean distances to the ideal). dominated clearly: paired tests agree on both. -: no value.",
    )
    return Document(name, facts=caption, sections=blocks_of(run, texts, "-"))


def _front(cells: pd.DataFrame, values: Floats, metrics: tuple[str, str]) -> pd.DataFrame:
    """Judge the techniques of one situation; values have shape (2, techniques, repeats)."""
    far = np.stack([distance(name, found) for name, found in zip(metrics, values, strict=True)])
    means = np.nanmean(far, axis=2)
    ahead = means[:, None, :] - means[:, :, None]  # [metric, i, j] > 0: i is nearer than j
    dominates = (ahead >= -EQUAL).all(axis=0) & (ahead > EQUAL).any(axis=0)
    labels = [technique_label(*own) for own in cells[TECHNIQUE].itertuples(index=False, name=None)]
    return cells.assign(
        technique=labels,
        n=(~np.isnan(far[0])).sum(axis=1),
        **dict(zip(metrics, np.nanmean(values, axis=2), strict=True)),
        **{f"{name}_distance": mean for name, mean in zip(metrics, means, strict=True)},
        front=~dominates.any(axis=0),
        dominated_by=_names(dominates, labels),
        clearly_dominated_by=_names(dominates & _apart(far), labels),
    )


def _apart(far: Floats) -> NDArray[np.bool_]:
    """Return which pairs of techniques the tests keep apart, on all metrics on which they ever differ."""
    first, second = np.triu_indices(far.shape[1], k=1)
    differences = far[:, first] - far[:, second]
    same = ~(np.abs(differences) > EQUAL).any(axis=2)
    p = paired_test(differences).p
    joint = np.where(same & ~np.isnan(p), 0.0, p).max(axis=0)
    rejected = holm(np.where(same.all(axis=0), p[0], joint)) < LEVEL
    apart = np.zeros((far.shape[1], far.shape[1]), dtype=bool)
    apart[first, second] = apart[second, first] = rejected
    return apart


def _names(dominates: NDArray[np.bool_], labels: list[str]) -> list[str]:
    return [APART.join(labels[i] for i in np.flatnonzero(column)) for column in dominates.T]
