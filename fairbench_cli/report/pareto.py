"""Who is Pareto-dominated by whom: no technique should lose on fairness and on accuracy at once."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.significance import holm
from fairbench_cli.report.paired import (
    EQUAL,
    LEVEL,
    SITUATION,
    TABLE,
    TECHNIQUE,
    distance,
    paired_test,
    repeats_wide,
)
from fairbench_cli.report.tables import Block, PaperTable, named, technique_label

MEASURES_OF_INTEREST = ("discrimination", "accuracy")
APART = "; "


def pareto_frame(results: pd.DataFrame, measures: tuple[str, str] = MEASURES_OF_INTEREST) -> pd.DataFrame:
    """Tell, per data set, attribute, classifier and β, which techniques are on the Pareto front.

    Techniques are judged by the mean over repeats of each measure's distance to its ideal, over the
    repeats that have both measures. The mean of distances, not the distance of the mean: one model is used
    in the end, and a technique that is too high half of the time and too low the other half is not fair.

    A technique is dominated by another one that is at least as good on both means and better on one.
    Domination is clear when paired t-tests of the distances reject equality on both measures, Holm-adjusted
    over all pairs of techniques of that data set, attribute, classifier and β (a pair's p is the larger of
    its two, for both must hold). A measure on which the two agree in every repeat does not count against it.

    Columns: the cell's, ``technique`` (its label), ``n`` (repeats with both measures), per measure the mean
    value and the mean ``…_distance``, ``front`` (bool), ``dominated_by`` and ``clearly_dominated_by``
    (labels, joined by ``"; "``). Cells without a value, such as infeasible ones, are absent.

    Parameters
    ----------
    results : DataFrame
        As `results_frame` makes it, with both measures.
    measures : pair of str
        Names of measures that have an ideal.
    """
    kept = results[results["metric"].isin(measures)]
    parts = []
    for _, part in kept.groupby(SITUATION, sort=False):
        wide = repeats_wide(part)
        cells = wide.index.to_frame(index=False).drop(columns="metric").drop_duplicates(ignore_index=True)
        order = pd.MultiIndex.from_frame(cells)
        values = np.stack([wide.xs(name, level="metric").reindex(order).to_numpy() for name in measures])
        values = np.where(np.isfinite(values).all(axis=0), values, np.nan)
        some = ~np.isnan(values[0]).all(axis=1)
        if some.any():
            parts.append(_front(cells[some].reset_index(drop=True), values[:, some], measures))
    if not parts:
        return pd.DataFrame(columns=_columns(measures))
    return pd.concat(parts, ignore_index=True)[_columns(measures)]


def pareto_table(pareto: pd.DataFrame, measures: tuple[str, str] = MEASURES_OF_INTEREST) -> PaperTable:
    """Lay out `pareto_frame`: a row per technique, β across."""
    blocks = []
    for (dataset, attribute, classifier, parameters), part in pareto.groupby(TABLE, sort=False):
        betas = tuple(sorted(part["beta"].unique().tolist()))
        known = part[["technique", "beta", "front", "clearly_dominated_by"]]
        texts = {
            (technique, beta): "front" if front else "dominated clearly" if clearly else "dominated"
            for technique, beta, front, clearly in known.itertuples(index=False, name=None)
        }
        rows = tuple(
            (technique, "Pareto", tuple(texts.get((technique, beta), "-") for beta in betas))
            for technique in part["technique"].unique()
        )
        title = f"{dataset}, {attribute}, {named(str(classifier), str(parameters), CLASSIFIERS)}"
        blocks.append(Block(title, betas, rows))
    caption = (
        f"front: no technique is at least as good on {measures[0]} and {measures[1]} and better on one "
        "(mean distances to the ideal). dominated clearly: paired tests agree on both. -: no value.",
    )
    return PaperTable("pareto", caption, tuple(blocks))


def _columns(measures: tuple[str, str]) -> list[str]:
    numbers = [*measures, *(f"{name}_distance" for name in measures)]
    return [
        *SITUATION,
        *TECHNIQUE,
        "technique",
        "n",
        *numbers,
        "front",
        "dominated_by",
        "clearly_dominated_by",
    ]


def _front(cells: pd.DataFrame, values: Floats, measures: tuple[str, str]) -> pd.DataFrame:
    """Judge the techniques of one situation; values have shape (2, techniques, repeats)."""
    far = np.stack([distance(name, found) for name, found in zip(measures, values, strict=True)])
    means = np.nanmean(far, axis=2)
    ahead = means[:, None, :] - means[:, :, None]  # [measure, i, j] > 0: i is nearer than j
    dominates = (ahead >= -EQUAL).all(axis=0) & (ahead > EQUAL).any(axis=0)
    clearly = dominates & _apart(far)
    labels = [technique_label(*own) for own in cells[TECHNIQUE].itertuples(index=False, name=None)]
    return cells.assign(
        technique=labels,
        n=(~np.isnan(far[0])).sum(axis=1),
        **dict(zip(measures, np.nanmean(values, axis=2), strict=True)),
        **{f"{name}_distance": mean for name, mean in zip(measures, means, strict=True)},
        front=~dominates.any(axis=0),
        dominated_by=_names(dominates, labels),
        clearly_dominated_by=_names(clearly, labels),
    )


def _apart(far: Floats) -> NDArray[np.bool_]:
    """Tell which pairs of techniques the tests keep apart, on all measures on which they ever differ."""
    first, second = np.triu_indices(far.shape[1], k=1)
    differences = far[:, first] - far[:, second]
    same = ~(np.abs(differences) > EQUAL).any(axis=2)
    p = paired_test(differences).p
    joint = np.where(same & ~np.isnan(p), 0.0, p).max(axis=0)
    told = holm(np.where(same.all(axis=0), p[0], joint)) < LEVEL
    apart = np.zeros((far.shape[1], far.shape[1]), dtype=bool)
    apart[first, second] = apart[second, first] = told
    return apart


def _names(dominates: NDArray[np.bool_], labels: list[str]) -> list[str]:
    return [APART.join(labels[i] for i in np.flatnonzero(column)) for column in dominates.T]
