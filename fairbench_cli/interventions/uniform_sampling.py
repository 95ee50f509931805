"""Uniform sampling: duplicate and remove rows at random until the label does not depend on the group."""

from dataclasses import dataclass

import numpy as np

from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Rows, Sample
from fairbench_cli.interventions.cells import CELLS, rows_of
from fairbench_cli.interventions.fitted import Fitted
from fairbench_cli.interventions.resample import cell_targets, fit_rows


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
        return fit_rows(train, uniform_rows(train, self.bootstrap, rng), classifier)


def uniform_rows(train: Sample, bootstrap: bool, rng: np.random.Generator) -> Rows:
    """Return the indices of the rows to train on, ascending; a duplicated row's index repeats."""
    target = cell_targets(train)
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
