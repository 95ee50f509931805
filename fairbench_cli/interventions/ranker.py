"""Rank rows by how likely their outcome is to be favourable, as judged without the protected attribute."""

from functools import lru_cache
from typing import Literal

import numpy as np

from fairbench_cli.classifiers.builders import LogisticRegression, NaiveBayes
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Floats, Rows, Sample

Ranker = Literal["naive-bayes", "logistic"]


def scores(train: Sample, ranker: Ranker) -> Floats:
    """Return P(y=+|x) of each training row, shape (rows,), by a ranker fitted to those same rows.

    The naive Bayes ranker is the one of Kamiran & Calders (2012); Žliobaitė (2015) takes the logistic one.
    """
    shared = not train.features.codes.flags.writeable
    return _fitted_to_shared(train, ranker) if shared else _fitted(train, ranker)


@lru_cache(maxsize=2)
def _fitted_to_shared(train: Sample, ranker: Ranker) -> Floats:
    """Return the scores of rows that nobody can write: the techniques of a repeat share them."""
    found = _fitted(train, ranker)
    found.flags.writeable = False
    return found


def _fitted(train: Sample, ranker: Ranker) -> Floats:
    spec = NaiveBayes() if ranker == "naive-bayes" else LogisticRegression()
    return Classifier(spec, include_protected=False, seed=0).fit(train).predict_proba(train)


def ranked(rows: Rows, score: Floats, tiebreak: Rows, *, highest_first: bool) -> Rows:
    """Return `rows` ordered by their score; equal scores by `tiebreak`, a permutation of all rows.

    >>> score, tiebreak = np.array([0.2, 0.9, 0.9, 0.5]), np.array([0, 3, 1, 2])
    >>> ranked(np.arange(4), score, tiebreak, highest_first=True).tolist()
    [2, 1, 3, 0]
    """
    key = -score[rows] if highest_first else score[rows]
    return rows[np.lexsort((tiebreak[rows], key))]
