"""Techniques beside AIF360's and fairlearn's own code on Adult: CPU, memory, accuracy and discrimination.

usage: FAIRBENCH_DATA=… FAIRBENCH_PEERS=… python benchmarks/libraries.py [--rounds 5] [NAME …]

30,000 of the complete rows to train on, 15,222 to predict, numbers in ten bins; all take the same one-hot
columns and the same logistic regression. Each fit is in a process of its own, one thread, which first fits
500 rows, so that imports do not count; the libraries take turns round by round. CPU has the process that
AIF360's prejudice remover starts in it, "peak MB" does not. `repair` is of the six columns of numbers alone,
as they are, and without a classifier. Massaging, preferential sampling and leaf relabelling are in neither
library.
"""

import argparse
import json
import pickle
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from costs import cpu, forget_peak, head, in_turn, inside, peer, ratios, resident, row, spread

Part = dict[str, Any]
Parts = dict[str, Part]
Predict = Callable[[Part], Any]
"""Whether, or with which probability, each row is accepted."""

BOTH = [{"s": 0.0}], [{"s": 1.0}]
LFR = {"distance": "euclidean", "reduction": "aif360", "column_weights": False, "prototypes": 5, "a_z": 50}
TECHNIQUES: dict[str, tuple[str, dict[str, Any], int]] = {
    "reweighing": ("aif360", {}, 30_000),
    "repair": ("aif360", {}, 45_222),
    "prejudice-remover": ("aif360", {}, 30_000),
    "fair-representations": ("aif360", LFR, 3_000),
    "equalised-odds": ("aif360", {"based_on": "labels"}, 30_000),
    "reject-option": ("aif360", {"target": 0.05}, 30_000),
    "threshold-optimizer": ("fairlearn", {}, 30_000),
    "correlation-remover": ("fairlearn", {}, 30_000),
    "grid-search": ("fairlearn", {}, 30_000),
    "exponentiated-gradient": ("fairlearn", {}, 30_000),
}
"""The library that has a technique, what ours is called with, and the training rows."""


def fairbench(name: str, parts: Parts) -> Predict:
    """Fit a registered technique."""
    from fairbench_cli.classifiers.builders import LogisticRegression
    from fairbench_cli.classifiers.fit import Classifier
    from fairbench_cli.interventions.registry import INTERVENTIONS

    classifier = Classifier(LogisticRegression(), include_protected=False, seed=0)
    technique = INTERVENTIONS[name].load()(**TECHNIQUES[name][1])
    fitted = technique.fit(parts["train"]["sample"], classifier, np.random.default_rng(0))

    def predict(part: Part) -> Any:
        chance = fitted.decision_probability(part["sample"])
        return fitted.predict(part["sample"]) if chance is None else chance

    return predict


def learner() -> Any:
    """Return fairbench's logistic regression."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(solver="newton-cholesky", tol=1e-6, max_iter=1000)


def rows_of_aif360(part: Part) -> Any:
    """Return a part as AIF360 takes it, with the group as last column."""
    import pandas as pd
    from aif360.datasets import BinaryLabelDataset

    frame = pd.DataFrame(part["X"]).rename(columns=str).assign(s=part["s"], y=part["y"]).astype(float)
    return BinaryLabelDataset(df=frame, label_names=["y"], protected_attribute_names=["s"])


def aif360(name: str, parts: Parts) -> Predict:
    """Fit what AIF360 calls the technique."""
    from aif360.algorithms import preprocessing
    from aif360.algorithms.inprocessing import PrejudiceRemover
    from aif360.algorithms.postprocessing import EqOddsPostprocessing, RejectOptionClassification

    train = parts["train"]
    if name == "reweighing":
        weighed = preprocessing.Reweighing(*BOTH).fit_transform(rows_of_aif360(train))
        fitted = learner().fit(weighed.features[:, :-1], train["y"], weighed.instance_weights)
        return lambda part: fitted.predict(part["X"])
    if name == "prejudice-remover":
        fitted = PrejudiceRemover(eta=1.0, sensitive_attr="s", class_attr="y").fit(rows_of_aif360(train))
        return lambda part: fitted.predict(rows_of_aif360(part)).labels.ravel()
    if name == "fair-representations":
        np.random.seed(0)  # noqa: NPY002 - what AIF360 draws from
        shape = preprocessing.LFR(*BOTH, k=5, Ax=0.01, Ay=1.0, Az=50.0, seed=0)
        shaped = shape.fit(rows_of_aif360(train))
        return lambda part: shaped.transform(rows_of_aif360(part)).labels.ravel()
    model = learner().fit(parts["fit"]["X"], parts["fit"]["y"])

    def decided(part: Part) -> Any:
        rows = rows_of_aif360(part)
        rows.scores = model.predict_proba(part["X"])[:, 1:]
        rows.labels = (rows.scores > 0.5).astype(float)
        return rows

    kind = partial(EqOddsPostprocessing, seed=0) if name == "equalised-odds" else RejectOptionClassification
    after = kind(*BOTH).fit(rows_of_aif360(parts["held-out"]), decided(parts["held-out"]))
    return lambda part: after.predict(decided(part)).labels.ravel()


def fairlearn(name: str, parts: Parts) -> Predict:
    """Fit what the technique fits, by fairlearn alone, for demographic parity."""
    from fairlearn.postprocessing import ThresholdOptimizer
    from fairlearn.preprocessing import CorrelationRemover
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient, GridSearch

    train, held_out = parts["train"], parts["held-out"]
    if name == "correlation-remover":
        last = train["X"].shape[1]
        remover = CorrelationRemover(sensitive_feature_ids=[last])
        model = learner().fit(remover.fit_transform(np.column_stack([train["X"], train["s"]])), train["y"])
        return lambda part: model.predict(remover.transform(np.column_stack([part["X"], part["s"]])))
    if name == "threshold-optimizer":
        model = learner().fit(parts["fit"]["X"], parts["fit"]["y"])
        made = ThresholdOptimizer(estimator=model, prefit=True, predict_method="predict_proba")
        made.fit(held_out["X"], held_out["y"], sensitive_features=held_out["s"])
        return lambda part: made.predict(part["X"], sensitive_features=part["s"], random_state=0)
    kind = GridSearch if name == "grid-search" else ExponentiatedGradient
    reduced = kind(learner(), DemographicParity())
    reduced.fit(train["X"], train["y"], sensitive_features=train["s"])
    return lambda part: reduced.predict(part["X"])


def farthest(values: Any, s: Any) -> float:
    """Return the largest Kolmogorov–Smirnov distance of the groups, over columns."""
    found = []
    for column in values.T:
        points, place = np.unique(column, return_inverse=True)
        parts = [np.bincount(place[s == g], minlength=len(points)) for g in (0, 1)]
        found.append(np.abs(np.subtract(*(np.cumsum(part) / part.sum() for part in parts))).max())
    return float(max(found))


def repaired(who: str, part: Part) -> Any:
    """Return the columns of numbers, fully repaired, or numbers in their order: shape (rows, 6)."""
    if who == "fairbench":
        from fairbench_cli.interventions.repair import Repair, repair_features

        return repair_features(part["sample"], Repair(level=1.0), 0)[0].features.codes
    from aif360.algorithms.preprocessing import DisparateImpactRemover

    return DisparateImpactRemover(1.0, "s").fit_transform(rows_of_aif360(part)).features[:, :-1]


FITS = {"fairbench": fairbench, "aif360": aif360, "fairlearn": fairlearn}


def one(who: str, name: str, path: str) -> dict[str, float]:
    """Fit, predict, and return CPU seconds, peak MB and what came out."""
    warnings.simplefilter("ignore")
    parts = pickle.loads(Path(path).read_bytes())  # noqa: S301 - written by `table`
    few, test = {key: take(part, 500) for key, part in parts.items()}, parts["test"]
    if name == "repair":
        repaired(who, few["numbers"])
        forget_peak()
        start = cpu()
        made = repaired(who, parts["numbers"])
        end, peak = cpu(), resident("VmHWM")
        return {"fit": end - start, "peak": peak, "distance": farthest(made, parts["numbers"]["s"])}
    parts["train"] = take(parts["train"], TECHNIQUES[name][2])
    FITS[who](name, few)(few["test"])
    forget_peak()
    start = cpu()
    predict = FITS[who](name, parts)
    middle = cpu()
    chance = np.asarray(predict(test), dtype=float)
    end, peak = cpu(), resident("VmHWM")
    accuracy = np.where(test["y"] == 1, chance, 1 - chance).mean()
    discrimination = chance[test["s"] == 1].mean() - chance[test["s"] == 0].mean()
    return {
        "fit": middle - start,
        "predict": end - middle,
        "peak": peak,
        "accuracy": float(accuracy),
        "discrimination": float(discrimination),
    }


def take(part: Part, rows: int) -> Part:
    """Return the first rows of a part."""
    return {
        key: values[:rows] if isinstance(values, np.ndarray) else values.take(np.arange(rows))
        for key, values in part.items()
    }


def write_parts(folder: Path) -> dict[str, Path]:
    """Write the rows as fairbench takes them, and, as arrays alone, as others do."""
    from rows import adult_numbers, adult_split, numbers

    from fairbench_cli.classifiers.encode import fit_design
    from fairbench_cli.interventions.cells import divide_rows

    train, test = adult_split()
    fit, held_out = divide_rows(train, 0.3)
    samples = {"train": train, "fit": fit, "held-out": held_out, "test": test, "numbers": adult_numbers()}
    design = fit_design(train, include_protected=False, intercept=False)
    ours, theirs = {}, {}
    for key, part in samples.items():
        facts = {"s": part.s.astype(int), "y": part.y.astype(int)}
        ours[key] = {"sample": part, **facts}
        X = numbers(part.features) if key == "numbers" else design.transform(part.features)
        theirs[key] = {"X": X, **facts}
    paths = {"fairbench": folder / "ours", "others": folder / "theirs"}
    paths["fairbench"].write_bytes(pickle.dumps(ours))
    paths["others"].write_bytes(pickle.dumps(theirs))
    return paths


def table(names: list[str], rounds: int) -> None:
    """Print a line for each technique and library."""
    pythons = {"fairbench": sys.executable, "aif360": peer("aif360"), "fairlearn": peer("fairlearn")}
    titles = ("fit, CPU s", "times fairbench's", "predict, CPU s", "peak MB", "accuracy", "discrimination")
    head("technique:", "rows", "library:", *titles)
    with tempfile.TemporaryDirectory() as folder:
        paths = write_parts(Path(folder))
        for name in names:
            library, _, rows = TECHNIQUES[name]
            works = {
                who: partial(inside, python, __file__, "--one", who, name, paths.get(who, paths["others"]))
                for who, python in pythons.items()
                if who in ("fairbench", library) and python
            }
            found = in_turn(works, rounds)
            fits = {who: [each["fit"] for each in all_of] for who, all_of in found.items()}
            for who, all_of in found.items():
                ratio = spread(ratios(fits["fairbench"], fits[who]), 1)
                peak = f"{max(each['peak'] for each in all_of):.0f}"
                last = all_of[0]
                if name == "repair":
                    facts = ["–", peak, f"largest distance {last['distance']:.4f}", "–"]
                else:
                    predict = spread([each["predict"] for each in all_of])
                    facts = [predict, peak, f"{last['accuracy']:.4f}", f"{last['discrimination']:.4f}"]
                row(name, f"{rows:,}", who, spread(fits[who]), ratio, *facts)


def main() -> None:
    """Print the table."""
    if sys.argv[1:2] == ["--one"]:
        print("\n" + json.dumps(one(*sys.argv[2:])))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TECHNIQUES))
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    table(given.names or list(TECHNIQUES), given.rounds)


if __name__ == "__main__":
    main()
