"""The rows of a sample as a library takes them: a matrix, labels 0 and 1, and a group for each row."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.classifiers.encode import Encoder, Encoding, fit_encoder
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Column, Floats, Sample
from fairbench_cli.interventions.fitted import Infeasible
from fairbench_cli.measures.counts import PAIR

Groups = Literal["pair", "levels"]


@dataclass(frozen=True, eq=False)
class LibraryRows:
    """How samples become what a library takes, as fixed on the training rows.

    Parameters
    ----------
    encoder : Encoder
        The features and how they are encoded.
    attribute : str
        The protected attribute.
    groups : {"pair", "levels"}
        Whether the groups are ``deprived`` and ``favoured``, or the protected attribute's own levels.
    """

    encoder: Encoder
    attribute: str
    groups: Groups

    @property
    def columns(self) -> tuple[Column, ...]:
        """The features of the matrix."""
        return self.encoder.columns

    def matrix(self, sample: Sample) -> Any:
        """Return the features, dense, shape (rows, width)."""
        X = self.encoder.transform(sample.features)
        if hasattr(X, "toarray"):
            return X.toarray()
        shared = isinstance(X, np.ndarray) and not X.flags.writeable
        return X.copy() if shared else X  # a library may write into what it is given

    def names(self, sample: Sample) -> tuple[str, ...]:
        """Return the names of all groups, with rows or without."""
        if self.groups == "pair":
            return PAIR
        return sample.features.columns[sample.features.index(self.attribute)].levels

    def codes(self, sample: Sample) -> NDArray[Any]:
        """Return each row's group as an index into `names`, shape (rows,)."""
        return sample.s if self.groups == "pair" else sample.features[self.attribute]

    def group(self, sample: Sample) -> NDArray[np.str_]:
        """Return the name of each row's group, shape (rows,)."""
        return np.asarray(np.array(self.names(sample))[self.codes(sample)])

    def indicators(self, sample: Sample) -> Floats:
        """Return the groups as 0/1 columns: one for a pair, else one per level; shape (rows, columns)."""
        if self.groups == "pair":
            return sample.s[:, np.newaxis].astype(np.float64)
        return np.asarray(np.eye(len(self.names(sample)))[self.codes(sample)])


def fit_rows(train: Sample, classifier: Classifier, encoding: Encoding, groups: Groups) -> LibraryRows:
    """Return how samples become what a library takes.

    Raises
    ------
    ValueError
        When there are no rows, or their weights sum to 0.
    """
    encoder = fit_encoder(train, encoding, include_protected=classifier.include_protected)
    return LibraryRows(encoder, train.attribute, groups)


def each_group_first(codes: NDArray[Any]) -> NDArray[np.intp]:
    """Return an order of the rows that starts with one row of each group, the highest code first.

    fairlearn's GridSearch leaves the group that appears last out of its grid: with this order it is always
    the same one, of a pair the deprived, whatever the order of the rows was.

    >>> each_group_first(np.array([1, 1, 0, 1, 0])).tolist()
    [0, 2, 1, 3, 4]
    """
    firsts = np.unique(codes, return_index=True)[1][::-1]
    return np.concatenate([firsts, np.delete(np.arange(len(codes)), firsts)])


def require_both_labels(rows: LibraryRows, train: Sample, validation: Sample) -> None:
    """Raise `Infeasible` unless every group with training rows has validation rows with either label."""
    codes, names = rows.codes(validation), rows.names(train)
    groups = sorted(known_groups(rows, train))
    few = [names[g] for g in groups if len(np.unique(validation.y[codes == g])) < 2]
    if few:
        raise Infeasible(f"the validation rows of {', '.join(few)} have fewer than two labels")


def known_groups(rows: LibraryRows, train: Sample) -> frozenset[int]:
    """Return the codes of the groups that have training rows."""
    return frozenset(np.unique(rows.codes(train)).tolist())


def require_known(rows: LibraryRows, sample: Sample, known: frozenset[int]) -> None:
    """Raise `Infeasible` if there are rows of a group that had none in training."""
    new = sorted(set(np.unique(rows.codes(sample)).tolist()) - known)
    if new:
        names = rows.names(sample)
        raise Infeasible(f"no training rows of {', '.join(names[g] for g in new)}, which it is to decide on")
