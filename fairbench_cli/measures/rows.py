"""What a measure is given that counts do not suffice for: the rows themselves."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures.counts import Counts, Floats, count

GROUPS = ("deprived", "favoured")


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of two groups with what is known of each.

    Parameters
    ----------
    s : array of int, shape (rows,)
        0 for the deprived, 1 for the favoured.
    y, predicted : array of int, shape (rows,)
        Label and prediction, 1 for the favourable outcome, else 0.
    score : array of float, shape (rows,), optional
        How strongly the favourable outcome is predicted.
    features : array of float, shape (rows, columns), optional
        What else describes a row, without the protected attribute: numbers, and codes of levels.
    nominal : tuple of bool
        Which columns of `features` are codes of levels.
    weights : array of float, shape (rows,), optional
        Row weights.
    strata : array of int, shape (rows,), optional
        Index of each row's stratum: a level of an explanatory attribute, or a cluster.

    Raises
    ------
    ValueError
        When lengths differ, something is missing (NaN), or a group, label or prediction is not 0 or 1.
    """

    s: NDArray[Any]
    y: NDArray[Any]
    predicted: NDArray[Any]
    score: Floats | None = None
    features: Floats | None = None
    nominal: tuple[bool, ...] = ()
    weights: Floats | None = None
    strata: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        for name in (f.name for f in fields(self) if f.name != "nominal"):
            part = getattr(self, name)
            if part is None:
                continue
            if len(part) != len(self.s) or part.ndim != (2 if name == "features" else 1):
                raise ValueError(f"{name} of shape {part.shape} does not fit {len(self.s)} rows")
            if not np.isfinite(part).all():
                raise ValueError(f"{name} is missing in some rows")
            if name in ("s", "y", "predicted") and not np.isin(part, (0, 1)).all():
                raise ValueError(f"{name} must be 0 or 1")
        if self.features is not None and len(self.nominal) != self.features.shape[1]:
            raise ValueError("nominal must say of every column of features whether it is one of levels")

    def of_labels(self) -> "Rows":
        """Return the rows with their labels for predictions, so that a measure speaks of the labels."""
        return replace(self, predicted=self.y, score=None)

    def counts(self) -> Counts:
        """Count the rows by group, label and prediction."""
        return count(self.s, self.y, self.predicted, GROUPS, self.weights)

    def covariates(self) -> Floats:
        """Return the features as numbers, shape (rows, columns): a column for each level but the first.

        Numbers are standardised: raw timestamps are so nearly constant that least squares would drop them.
        """
        columns = [np.empty((len(self.s), 0))]
        for j, nominal in enumerate(self.nominal):
            column = np.asarray(self.features)[:, [j]]
            columns.append(column == np.unique(column)[1:] if nominal else standardised(column))
        return np.concatenate(columns, axis=1, dtype=np.float64)


def standardised(column: ArrayLike) -> Floats:
    """Return numbers with mean 0 and standard deviation 1; zeros when all are the same.

    >>> standardised([1.7e12 + 1, 1.7e12 + 3]).tolist(), standardised([0.1, 0.1, 0.1]).tolist()
    ([-1.0, 1.0], [0.0, 0.0, 0.0])
    """
    numbers = np.asarray(column, dtype=np.float64)
    if not numbers.size or np.ptp(numbers) == 0:
        return np.zeros_like(numbers)
    away = numbers - numbers.mean()
    spread = away.std()
    return np.asarray(away / spread if spread > 0 else np.zeros_like(away))
