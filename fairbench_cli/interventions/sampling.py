"""Uniform and preferential sampling: duplicate and remove rows until label and group are independent."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Rows, Sample
from fairbench_cli.interventions.cells import (
    CELLS,
    discriminations,
    empty_cells,
    require_no_weights,
    rows_of,
    sizes,
    targets,
)
from fairbench_cli.interventions.fitted import Fitted, Infeasible
from fairbench_cli.interventions.ranker import Ranker, ranked, scores


@dataclass(frozen=True)
class UniformSampling:
    """Duplicate and remove rows at random, cell by cell.

    Kamiran & Calders (2012). Each cell of group and label goes to its expected size n_s n_y / n, rounded. A
    cell that grows keeps its rows and gets more, drawn from them with replacement; one that shrinks is drawn
    without.

    Parameters
    ----------
    bootstrap : bool
        Draw every cell anew with replacement instead, as R's fairmodels does; training sets then vary more.
    """

    bootstrap: bool = False

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:
        """Resample the rows and fit the classifier; ``noop`` if all cells have their size already.

        Raises
        ------
        Infeasible
            When a cell is empty that should not be, or the rows have weights.
        """
        return _fit_rows(train, uniform_rows(train, self.bootstrap, rng), classifier)


@dataclass(frozen=True)
class PreferentialSampling:
    """Duplicate and remove the rows nearest to the border, cell by cell.

    Kamiran & Calders (2012). Each cell of group and label goes to its expected size n_s n_y / n, rounded. Its
    rows are ordered by a ranker's P(y=+|x), fitted without the protected attribute, the least certain first:
    favourable labels by rising score, unfavourable ones by falling score, ties at random. A cell that grows
    is whole copies of itself, then its first rows once more; one that shrinks loses its first rows.

    Parameters
    ----------
    ranker : {"naive-bayes", "logistic"}
        What scores the rows.
    """

    ranker: Ranker = "naive-bayes"

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:
        """Resample the rows and fit the classifier; raises and ``noop`` as `UniformSampling.fit`."""
        return _fit_rows(train, preferential_rows(train, self.ranker, rng), classifier)


def uniform_rows(train: Sample, bootstrap: bool, rng: np.random.Generator) -> Rows:
    """Return the indices of the rows to train on, ascending; a duplicated row's index repeats."""
    target = _cell_targets(train)
    chosen = []
    for cell in CELLS:
        rows, t = rows_of(train, cell), int(target[cell])
        if t > 0 and bootstrap:
            chosen.append(rng.choice(rows, t))
        elif t > len(rows):
            chosen += [rows, rng.choice(rows, t - len(rows))]
        else:
            chosen.append(rng.choice(rows, t, replace=False) if t < len(rows) else rows)
    return np.sort(np.concatenate(chosen))


def preferential_rows(train: Sample, ranker: Ranker, rng: np.random.Generator) -> Rows:
    """Return the indices of the rows to train on, ascending; a duplicated row's index repeats."""
    target = _cell_targets(train)
    score, tiebreak = scores(train, ranker), rng.permutation(len(train))
    chosen = []
    for cell in CELLS:
        border_first = ranked(rows_of(train, cell), score, tiebreak, highest_first=cell[1] == 0)
        t = int(target[cell])
        if t < len(border_first):
            chosen.append(border_first[len(border_first) - t :])
        elif t > 0:
            copies, more = divmod(t, len(border_first))
            chosen += [np.tile(border_first, copies), border_first[:more]]
    return np.sort(np.concatenate(chosen))


def _cell_targets(train: Sample) -> NDArray[np.int64]:
    """Return how many rows each cell is to have, shape (2, 2); raises as `UniformSampling.fit`."""
    require_no_weights(train)
    n = sizes(train)
    target = targets(n)
    if empty := empty_cells(n, target):
        raise Infeasible(empty)
    return target


def _fit_rows(train: Sample, rows: Rows, classifier: Classifier) -> Fitted:
    """Fit the classifier to the given rows; ``noop`` if they are all rows, once each."""
    chosen = train.take(rows)
    n = sizes(chosen)
    facts = {f"n{s}{y}": int(n[s, y]) for s, y in CELLS} | discriminations(train, chosen)
    model = classifier.fit(chosen)
    if np.array_equal(rows, np.arange(len(train))):
        return Fitted(model, "noop", "every cell has its expected size already", facts)
    return Fitted(model, facts=facts)
