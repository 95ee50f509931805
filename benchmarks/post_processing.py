"""CPU, peak memory and result of the post-processing techniques on Adult, with logistic regression.

``python benchmarks/post_processing.py`` needs adult.data and adult.test in $FAIRBENCH_DATA, and fairlearn.
Each technique runs in a process of its own: it is fitted to the 30,162 complete rows of adult.data and
decides on the 15,060 of adult.test. fairlearn is given the same logistic regression, fitted to the same rows,
and the same validation rows. With ``--scores FILE`` their scores and those of the test rows are written, for
libraries that cannot be installed next to fairbench.
"""

import resource
import subprocess
import sys
import time

import numpy as np
import pandas as pd
from rows import sample_of

from fairbench_cli.classifiers.builders import LogisticRegression
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Floats, Sample
from fairbench_cli.interventions.baselines import NoIntervention
from fairbench_cli.interventions.post_processing import (
    EqualisedOdds,
    GroupThresholds,
    RejectOption,
    fit_and_hold_out,
)
from fairbench_cli.measures.counts import PAIR, count, expected_count
from fairbench_cli.measures.registry import measure

TRAINING_ROWS = 30162
TECHNIQUES = {
    "none": NoIntervention(),
    "reject-option": RejectOption(),
    "equalised-odds, from scores": EqualisedOdds(),
    "equalised-odds, from labels": EqualisedOdds(based_on="labels"),
    "group-thresholds, demographic parity": GroupThresholds(),
    "group-thresholds, equalised odds at 0.05": GroupThresholds("equalised-odds", 0.05),
}
FAIRLEARN = {
    "fairlearn ThresholdOptimizer, demographic parity": "demographic_parity",
    "fairlearn ThresholdOptimizer, equalised odds": "equalized_odds",
}


def read() -> tuple[Sample, Sample]:
    """Return the training and the test rows, with sex as protected attribute."""
    rows = sample_of("adult-numbers", "sex")
    return rows.take(np.arange(TRAINING_ROWS)), rows.take(np.arange(TRAINING_ROWS, len(rows)))


def with_fairlearn(constraints: str, train: Sample, test: Sample) -> Floats:
    """Return the probability with which fairlearn accepts each test row."""
    from fairlearn.postprocessing import ThresholdOptimizer
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Score(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """Scores that are columns already."""

        def fit(self, X: Floats, y: Floats) -> "Score":  # noqa: ARG002
            self.classes_ = np.array([0, 1])
            return self

        def predict_proba(self, X: Floats) -> Floats:
            return np.hstack([1 - X, X])

    model, rows = fit_and_hold_out(train, CLASSIFIER, 0.3, np.random.default_rng(0))
    score = model.predict_proba(rows)[:, None]
    theirs = ThresholdOptimizer(
        estimator=Score().fit(score, rows.y),
        constraints=constraints,
        prefit=True,
        predict_method="predict_proba",
    ).fit(score, rows.y, sensitive_features=rows.s)
    both = theirs._pmf_predict(model.predict_proba(test)[:, None], sensitive_features=test.s)
    return np.asarray(both[:, 1], dtype=np.float64)


CLASSIFIER = Classifier(LogisticRegression(), include_protected=False, seed=0)


def one(name: str) -> None:
    """Fit, predict and print a row of the table."""
    train, test = read()
    CLASSIFIER.fit(train.take(np.arange(500))).predict(test)  # imports, and what else is paid once
    start = time.process_time()
    if name in TECHNIQUES:
        fitted = TECHNIQUES[name].fit(train, CLASSIFIER, np.random.default_rng(0))
        chance = fitted.decision_probability(test)
        predicted = fitted.predict(test) if chance is None else None
    else:
        chance, predicted = with_fairlearn(FAIRLEARN[name], train, test), None
    seconds = time.process_time() - start
    if predicted is not None:
        counts = count(test.s, test.y, predicted, PAIR)
    else:
        assert chance is not None  # noqa: S101
        counts = expected_count(test.s, test.y, chance.clip(0, 1), PAIR)
    names = ("accuracy", "selection-rate-difference", "tpr-difference", "fpr-difference")
    values = [float(measure(metric, counts)) for metric in names]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"| {name} | {seconds:.2f} | {memory:.0f} | {' | '.join(f'{value:.4f}' for value in values)} |")


def write_scores(path: str) -> None:
    """Write group, label and score of the validation rows (part 0) and the test rows (part 1)."""
    train, test = read()
    model, rows = fit_and_hold_out(train, CLASSIFIER, 0.3, np.random.default_rng(0))
    parts = [
        pd.DataFrame({"part": k, "s": part.s, "y": part.y, "score": model.predict_proba(part)})
        for k, part in enumerate((rows, test))
    ]
    pd.concat(parts).to_csv(path, index=False)


def main() -> None:
    """Run each technique in a process and print the table."""
    if sys.argv[1:2] == ["--scores"]:
        write_scores(sys.argv[2])
    elif len(sys.argv) > 1:
        one(sys.argv[1])
    else:
        print("| technique | CPU s | peak MB | accuracy | selection rate | TPR | FPR |")
        print("|---|---:|---:|---:|---:|---:|---:|", flush=True)
        for name in (*TECHNIQUES, *FAIRLEARN):
            subprocess.run([sys.executable, __file__, name], check=True)


if __name__ == "__main__":
    main()
