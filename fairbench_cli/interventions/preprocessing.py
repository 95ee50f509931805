"""Kamiran & Calders (2012): massaging, reweighing and the two samplings, with their rankers of rows."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.classifiers.builders import LogisticRegression, NaiveBayes
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Floats, Rows, Sample, SharedRows, lock_array, shared_rows
from fairbench_cli.interventions import cells
from fairbench_cli.interventions.cells import CELLS, discriminations, expected, rows_of
from fairbench_cli.interventions.fitted import Fitted, Infeasible, settled
from fairbench_cli.measures.counts import divide

Ranker = Literal["naive-bayes", "logistic"]


def scores(train: Sample, ranker: Ranker) -> Floats:
    """Return P(y=+|x) of each training row, shape (rows,), by a ranker fitted to those same rows.

    The naive Bayes ranker is the one of Kamiran & Calders (2012); Žliobaitė (2015) takes the logistic one.
    """
    shared = shared_rows(train)
    if shared is None:
        return _scores(train, ranker)
    return _scores_of_shared(shared, ranker)


def _scores(train: Sample, ranker: Ranker) -> Floats:
    spec = NaiveBayes() if ranker == "naive-bayes" else LogisticRegression()
    return lock_array(Classifier(spec, include_protected=False, seed=0).fit(train).predict_proba(train))


@lru_cache(maxsize=2)
def _scores_of_shared(train: SharedRows, ranker: Ranker) -> Floats:
    """Return the scores of rows that the techniques of a repeat share: they are computed once."""
    return _scores(train.to_sample(), ranker)


def ranked(rows: Rows, score: Floats, tiebreak: Rows, *, highest_first: bool) -> Rows:
    """Return `rows` ordered by their score; equal scores by `tiebreak`, a permutation of all rows.

    >>> score, tiebreak = np.array([0.2, 0.9, 0.9, 0.5]), np.array([0, 3, 1, 2])
    >>> ranked(np.arange(4), score, tiebreak, highest_first=True).tolist()
    [2, 1, 3, 0]
    """
    if highest_first:
        key = -score[rows]
    else:
        key = score[rows]
    return rows[np.lexsort((tiebreak[rows], key))]


@dataclass(frozen=True)
class Massaging:
    """Swap labels between the groups, those nearest to the border first.

    Kamiran & Calders (2012). The M unfavourably labelled deprived rows with the highest score are promoted,
    and the M favourably labelled favoured rows with the lowest score demoted. M is the integer nearest to
    d n_g n_ḡ / n, so that discrimination of the training labels is as near to 0 as it can be. The score is a
    ranker's P(y=+|x), fitted to the same rows without the protected attribute; ties are broken at random.

    Parameters
    ----------
    ranker : {"naive-bayes", "logistic"}
        What scores the rows.
    """

    ranker: Ranker = "naive-bayes"

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:
        """Massage the labels and fit the classifier; ``noop`` if there is no label to swap.

        Raises
        ------
        Infeasible
            When the rows have weights.
        """
        cells.require_no_weights(train)
        massaged, m = massage(train, self.ranker, rng)
        facts = {"M": m, **discriminations(train, massaged)}
        little = "no"
        if facts["discrimination_before"] > 0:
            little = "too little"
        noop = ""
        if not m:
            noop = f"{little} discrimination against the deprived group"
        return settled(classifier.fit(massaged), facts, noop=noop)


def massage(train: Sample, ranker: Ranker, rng: np.random.Generator) -> tuple[Sample, int]:
    """Return the sample with M labels changed on each side, and M."""
    m = swaps(cells.sizes(train))
    if m == 0:
        return train, 0
    score = scores(train, ranker)
    tiebreak = rng.permutation(len(train))
    y = train.y.copy()
    y[ranked(rows_of(train, (0, 0)), score, tiebreak, highest_first=True)[:m]] = 1
    y[ranked(rows_of(train, (1, 1)), score, tiebreak, highest_first=False)[:m]] = 0
    return replace(train, y=y), m


def swaps(n: NDArray[np.int64]) -> int:
    """Return M, the integer nearest to d n_g n_ḡ / n (halves up), at least 0; from cell sizes (2, 2).

    >>> swaps(np.array([[13026, 1669], [20988, 9539]]))
    1973
    """
    # As many as the deprived's favourable cell lacks of its expected size.
    return int(max(0, cells.targets(n)[0, 1] - n[0, 1]))


@dataclass(frozen=True)
class Reweighing:
    """Weight rows by P(s)P(y)/P(s,y).

    Kamiran & Calders (2012). If rows have weights already, sums of weights take the place of counts, and the
    new weights multiply the old ones. Unless a cell is empty, the weights sum to what they did before, and
    weighted discrimination is 0.
    """

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:  # noqa: ARG002
        """Weight the rows and fit the classifier; ``degraded`` if a cell is empty. `rng` is not used."""
        before = cells.weight_sums(train)
        w = cell_weights(before)
        # An empty cell has no weight, and no row that needs it.
        weighted = replace(train, weights=train.row_weights * np.nan_to_num(w)[train.s, train.y])
        facts = {f"w{s}{y}": float(w[s, y]) for s, y in CELLS} | discriminations(train, weighted)
        empty = cells.empty_cells(before, expected(before))
        return settled(classifier.fit(weighted), facts, degraded=empty)


def cell_weights(sums: Floats) -> Floats:
    """Return w(s,y) = n_s n_y / (n n_sy), shape (2, 2); NaN for an empty cell.

    >>> cell_weights(np.array([[6.0, 2.0], [4.0, 4.0]])).round(4).tolist()
    [[0.8333, 1.5], [1.25, 0.75]]
    """
    return divide(expected(sums), np.where(sums > 0, sums, np.nan))


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
        rows = rows_of(train, cell)
        t = int(target[cell])
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
    score = scores(train, ranker)
    tiebreak = rng.permutation(len(train))
    chosen = []
    for cell in CELLS:
        border_first = ranked(rows_of(train, cell), score, tiebreak, highest_first=cell[1] == 0)
        t = int(target[cell])
        if t < len(border_first):
            chosen.append(border_first[len(border_first) - t :])
        elif t > 0:
            copies, n_remaining = divmod(t, len(border_first))
            chosen += [np.tile(border_first, copies), border_first[:n_remaining]]
    return np.sort(np.concatenate(chosen))


def _cell_targets(train: Sample) -> NDArray[np.int64]:
    """Return how many rows each cell is to have, shape (2, 2); raises as `UniformSampling.fit`."""
    cells.require_no_weights(train)
    n = cells.sizes(train)
    target = cells.targets(n)
    if empty := cells.empty_cells(n, target):
        raise Infeasible(empty)
    return target


def _fit_rows(train: Sample, rows: Rows, classifier: Classifier) -> Fitted:
    """Fit the classifier to the given rows; ``noop`` if they are all rows, once each."""
    chosen = train.take(rows)
    n = cells.sizes(chosen)
    facts = {f"n{s}{y}": int(n[s, y]) for s, y in CELLS} | discriminations(train, chosen)
    is_unchanged = np.array_equal(rows, np.arange(len(train)))
    noop = ""
    if is_unchanged:
        noop = "every cell has its expected size already"
    return settled(classifier.fit(chosen), facts, noop=noop)
