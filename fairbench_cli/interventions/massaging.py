"""Massaging: change the labels nearest to the border until both groups are favoured equally often."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Sample
from fairbench_cli.interventions.cells import discriminations, require_no_weights, rows_of, sizes
from fairbench_cli.interventions.fitted import Fitted
from fairbench_cli.interventions.ranker import Ranker, ranked, scores


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
        require_no_weights(train)
        massaged, m = massage(train, self.ranker, rng)
        facts = {"M": m, **discriminations(train, massaged)}
        model = classifier.fit(massaged)
        if m == 0:
            little = "too little" if facts["discrimination_before"] > 0 else "no"
            return Fitted(model, "noop", f"{little} discrimination against the deprived group", facts)
        return Fitted(model, facts=facts)


def massage(train: Sample, ranker: Ranker, rng: np.random.Generator) -> tuple[Sample, int]:
    """Return the sample with M labels changed on each side, and M."""
    m = swaps(sizes(train))
    if m == 0:
        return train, 0
    score, tiebreak = scores(train, ranker), rng.permutation(len(train))
    y = train.y.copy()
    y[ranked(rows_of(train, (0, 0)), score, tiebreak, highest_first=True)[:m]] = 1
    y[ranked(rows_of(train, (1, 1)), score, tiebreak, highest_first=False)[:m]] = 0
    return replace(train, y=y), m


def swaps(n: NDArray[np.int64]) -> int:
    """Return M, the integer nearest to d n_g n_ḡ / n (halves up), at least 0; from cell sizes (2, 2).

    >>> swaps(np.array([[13026, 1669], [20988, 9539]]))
    1973
    """
    (n00, n01), (n10, n11) = n.tolist()
    n0, n1 = n00 + n01, n10 + n11
    total = max(n0 + n1, 1)
    return int(max(0, (2 * (n0 * n11 - n1 * n01) + total) // (2 * total)))
