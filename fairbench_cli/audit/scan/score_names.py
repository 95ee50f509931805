"""Recognise columns that hold scores: by their names, and by following the scores that are audited."""

import re

import numpy as np

from fairbench_cli.measures.counts import Floats

FOLLOWS = 0.95  # a rank correlation with the scores from which a column is one of scores
SEPARATES = 0.99  # how often a share is higher where 1 was decided than where 0 was
_WORDS = "scores?|prob|probs|proba|probability|preds?|predictions?|predicted|yhat|y_hat|logits?|decile"
NAME = re.compile(rf"(?:^|[\W_])(?:{_WORDS})\d*(?=$|[\W_])", re.IGNORECASE)
CAMEL = re.compile(r"[a-z](?:Score|Probability|Prob|Prediction|Predicted|Decile)s?(?=$|[A-Z\W_])")


def named_like_scores(name: str) -> bool:
    """Return whether a column is called like one of scores.

    >>> [named_like_scores(name) for name in ("score_b", "decile_score", "y_pred", "riskScore", "pred2")]
    [True, True, True, True, True]
    >>> [named_like_scores(name) for name in ("probation", "scoreboard", "predominant_race", "age")]
    [False, False, False, False]
    """
    return NAME.search(name) is not None or CAMEL.search(name) is not None


def follows(values: Floats, scores: Floats) -> bool:
    """Return whether a column is a near duplicate of the scores, or gives them away.

    Of scores of more than two values the rank correlation is at least `FOLLOWS`, in whatever direction. Of
    decisions of 0 and 1 the column must hold shares, not whole numbers, that separate them (`SEPARATES` of
    all pairs), as a score does that they were cut from.

    Parameters
    ----------
    values, scores : float arrays, shape (rows,)

    Examples
    --------
    >>> scores = np.array([0.1, 0.4, 0.2, 0.9])
    >>> follows(-100 * scores, scores), follows(np.array([3.0, 1, 4, 2]), scores)
    (True, False)
    >>> decisions = np.array([0.0, 1, 0, 1])
    >>> follows(scores, decisions), follows(np.array([20.0, 50, 30, 60]), decisions)
    (True, False)
    """
    if np.ptp(values) == 0 or np.ptp(scores) == 0:
        return False
    ranks = _ranks(values)
    if not np.isin(scores, (0, 1)).all():
        return bool(abs(np.corrcoef(ranks, _ranks(scores))[0, 1]) >= FOLLOWS)
    whole = (values == np.round(values)).all()
    if whole or values.min() < 0 or values.max() > 1:
        return False
    ones = scores == 1
    higher = (ranks[ones].mean() - ranks[~ones].mean()) / len(ranks) + 0.5
    return bool(max(higher, 1 - higher) >= SEPARATES)


def _ranks(values: Floats) -> Floats:
    """Return ranks, those of equal values alike."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last: Floats = np.cumsum(counts) - (counts - 1) / 2
    ranks: Floats = last[places]
    return ranks
