"""Leaf relabelling: change the labels of a tree's leaves until both groups are accepted equally often."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fairbench_cli.classifiers.fit import Classifier, Model
from fairbench_cli.data.table import Column, Floats, Labels, Sample
from fairbench_cli.interventions.cells import require_both_groups
from fairbench_cli.interventions.fitted import Fitted, Infeasible
from fairbench_cli.interventions.leaves import greedy, leaves_of, optimal
from fairbench_cli.interventions.splits import GrownTree, SplitCriterion, grow

Tree = Model | GrownTree


@dataclass(frozen=True)
class LeafRelabelling:
    """Relabel leaves of a decision tree, those first that cost least accuracy.

    Kamiran, Calders & Pechenizkiy (2010), "Discrimination aware decision tree learning", section IV. Works on
    the experiment's classifier, which must be one tree (`c45`, `tree`), or grows a tree of its own by
    the information gain of a split on the outcome (IGC) and on the group (IGS). All counts are of training
    rows. A relabelled leaf's score is mirrored about a half.

    Parameters
    ----------
    criterion : {"classifier", "IGC", "IGC-IGS", "IGC/IGS", "IGC+IGS"}
        ``classifier``: take the experiment's tree. The others grow one, which is not pruned: of the
        experiment's classifier only `include_protected` counts then. The paper found IGC+IGS best.
    min_leaf : float above 0, or None
        At least two branches of every split weigh this much, if the tree is grown here; None is 20.
    solver : {"greedy", "optimal"}
        ``greedy``: the paper's, most discrimination per row of accuracy first. ``optimal``: the set of
        leaves of least cost, in whole numbers; for rows without fractional weights.
    epsilon : float, at least 0
        Discrimination of the training predictions that may remain.

    Raises
    ------
    ValueError
        When `min_leaf` is given and the tree is the classifier's.
    """

    criterion: Literal["classifier"] | SplitCriterion = "classifier"
    min_leaf: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    solver: Literal["greedy", "optimal"] = "greedy"
    epsilon: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0

    def __post_init__(self) -> None:
        if self.min_leaf is not None and self.criterion == "classifier":
            raise ValueError("min_leaf has no effect with criterion classifier: the tree is the classifier's")

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:  # noqa: ARG002
        """Fit the tree and relabel its leaves; `rng` is not used.

        ``noop`` when no more than `epsilon` is there to begin with. ``degraded`` when all leaves have one
        label afterwards.

        Raises
        ------
        Infeasible
            When a group has no rows, the classifier is not one tree, or the optimum is out of reach.
        """
        require_both_groups(train)
        model: Tree
        if self.criterion == "classifier":
            model = classifier.fit(train)
        else:
            protected, min_leaf = classifier.include_protected, self.min_leaf or 20.0
            model = grow(train, self.criterion, min_leaf, include_protected=protected)
        nodes, leaf = np.unique(nodes_of(model, train), return_inverse=True)
        place = leaf * 4 + train.s * 2 + train.y
        counts = np.bincount(place, train.weights, 4 * len(nodes)).reshape(-1, 2, 2)
        labels = np.zeros(len(nodes), dtype=np.int8)
        labels[leaf] = model.predict(train)
        leaves = leaves_of(counts, labels.tolist())
        try:
            chosen = (greedy if self.solver == "greedy" else optimal)(leaves, self.epsilon)
        except ValueError as refused:
            raise Infeasible(str(refused)) from None
        before, after = leaves.outcome([]), leaves.outcome(chosen)
        facts = {
            "leaves": len(nodes),
            "relabelled": len(chosen),
            "predicted_accuracy_before": before[0],
            "predicted_accuracy_after": after[0],
            "predicted_discrimination_before": before[1],
            "predicted_discrimination_after": after[1],
        }
        relabelled = Relabelled(model, nodes[chosen])
        labels[chosen] = 1 - labels[chosen]
        if not chosen:
            return Fitted(relabelled, "noop", "the tree discriminates no more than epsilon allows", facts)
        if len(set(labels.tolist())) == 1:
            return Fitted(relabelled, "degraded", "all leaves have one label", facts)
        return Fitted(relabelled, facts=facts)


def nodes_of(model: Tree, sample: Sample) -> NDArray[np.int64]:
    """Return the leaf of each row, shape (rows,); one leaf for a constant model.

    Raises
    ------
    Infeasible
        When the classifier is not one tree.
    """
    if isinstance(model, GrownTree):
        return model.leaf_of(sample)
    if model.estimator is None:
        return np.zeros(len(sample), dtype=np.int64)
    apply: Any = getattr(model.estimator, "apply", None)
    found = None if apply is None else np.asarray(apply(model.encoder.transform(sample.features)))
    if found is None or found.shape != (len(sample),):
        raise Infeasible("the classifier is not one tree: take c45 or tree")
    return found.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Relabelled:
    """A tree with some of its leaves relabelled.

    Parameters
    ----------
    model : Model or GrownTree
        The tree.
    nodes : int array, shape (relabelled,)
        The leaves that predict the other outcome.
    """

    model: Tree
    nodes: NDArray[np.int64]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The features it was trained on."""
        return self.model.columns

    def predict(self, sample: Sample) -> Labels:
        """Return predicted outcomes: int8, shape (rows,), 1 for the favourable one; raises as the model."""
        return np.asarray(self.model.predict(sample) ^ self._changed(sample), dtype=np.int8)

    def predict_proba(self, sample: Sample) -> Floats:
        """Return each row's score, shape (rows,): P(y=+|leaf), or 1 less it where the leaf is relabelled."""
        p = self.model.predict_proba(sample)
        return np.asarray(np.where(self._changed(sample), 1 - p, p))

    def _changed(self, sample: Sample) -> NDArray[np.bool_]:
        return np.isin(nodes_of(self.model, sample), self.nodes)
