"""What every shape of foreign technique is fitted with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fairbench_cli.classifiers.encode import Encoding
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Floats, Sample
from fairbench_cli.interventions.fitted import Infeasible
from fairbench_cli.interventions.foreign.construct import accepts, construct, fits
from fairbench_cli.interventions.foreign.rows import Groups, LibraryRows, fit_rows

Asked = Literal["classifier", "one-hot", "codes", "frame"]


@dataclass(frozen=True)
class Job:
    """A library's class, or a function that returns an object, and what it is to be fitted to.

    Parameters
    ----------
    thing : type or function
        What makes the object.
    parameters : mapping
        The user's, as a config writes them.
    encoding : {"classifier", "one-hot", "codes", "frame"}
        How the features are encoded; ``classifier``: as the cell's classifier takes them, or one-hot where
        the object has no use for one.
    groups : {"pair", "levels"}
        Which groups it is given.
    validation : float in (0, 1)
        Share of the training rows on which a post-processor is fitted.
    train : Sample
        The training rows.
    classifier : Classifier
        The cell's.
    seed : int
        Seed of what the object draws, 0 to 2³² − 1.
    """

    thing: Callable[..., Any]
    parameters: Mapping[str, Any]
    encoding: Asked
    groups: Groups
    validation: float
    train: Sample
    classifier: Classifier
    seed: int

    def rows(self, default: Encoding | None = None) -> LibraryRows:
        """Return how samples become what it takes, by `default` where the user asked for no encoding."""
        own = self.classifier.spec.encoding if default is None else default
        encoding = own if self.encoding == "classifier" else self.encoding
        return fit_rows(self.train, self.classifier, encoding, self.groups)

    def estimator(self, rows: LibraryRows) -> Any:
        """Return the classifier as a scikit-learn estimator of a matrix; it is not fitted."""
        from fairbench_cli.interventions.foreign.estimator import MatrixClassifier

        own = rows.encoder.encoding == self.classifier.spec.encoding
        level_counts = rows.encoder.level_counts if own else None
        return MatrixClassifier(self.classifier, level_counts, self.train.favourable_first)

    def construct(self, rows: LibraryRows, **more: Any) -> Any:
        """Return a new object: given the classifier, seed and attribute, and `more`, where it takes them."""
        estimator = self.estimator(rows)
        known = {"estimator": estimator, "base_estimator": estimator, "prot_attr": self.train.attribute}
        return construct(self.thing, self.parameters, known | {"random_state": self.seed} | more)


def takes_classifier(thing: Any) -> bool:
    """Return whether a class or function has a parameter for a classifier."""
    return bool({"estimator", "base_estimator"} & set(accepts(thing)))


def weights_for(method: Any, weights: Floats | None) -> dict[str, Floats]:
    """Return rows' weights as an argument of a method.

    Raises
    ------
    Infeasible
        When there are weights and it has no parameter for them.
    """
    if weights is None:
        return {}
    given = fits(method, {"sample_weight": weights})
    if not given:
        raise Infeasible("the training rows have weights, and this technique takes none")
    return given
