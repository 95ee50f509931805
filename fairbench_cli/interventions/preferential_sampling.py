"""Preferential sampling: duplicate and remove the rows nearest to the border."""

from dataclasses import dataclass

import numpy as np

from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Rows, Sample
from fairbench_cli.interventions.cells import CELLS, rows_of
from fairbench_cli.interventions.fitted import Fitted
from fairbench_cli.interventions.ranker import Ranker, ranked, scores
from fairbench_cli.interventions.resample import cell_targets, fit_rows


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
        """Resample the rows and fit the classifier; ``noop`` if all cells have their size already.

        Raises
        ------
        Infeasible
            When a cell is empty that should not be, or the rows have weights.
        """
        return fit_rows(train, preferential_rows(train, self.ranker, rng), classifier)


def preferential_rows(train: Sample, ranker: Ranker, rng: np.random.Generator) -> Rows:
    """Return the indices of the rows to train on, ascending; a duplicated row's index repeats."""
    target = cell_targets(train)
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
