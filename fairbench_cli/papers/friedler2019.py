"""What Friedler et al. (2019) call their measures and algorithms, in fairbench's names.

A measure of theirs is over the deprived and the favoured group where the protected attribute is binary, and
over all its levels otherwise.
"""

from typing import Any

Conditions = dict[str, tuple[Any, ...]]
"""The values that a cell may have, by column of a run's results or parameter of its intervention."""

_OF_THE_PAIR = "-binary"
_LEGACY = "-legacy"

_BY_LEVELS = {
    "DIavgall": "diavgall",
    "sensitive-calibration+": "sensitive-calibration-positive",
    "sensitive-calibration-": "sensitive-calibration-negative-stored",
    "sensitive-accuracy": "sensitive-accuracy",
    "sensitive-TPR": "sensitive-tpr",
    "sensitive-TNR": "sensitive-tnr",
    "sensitive-accuracyDiff": "comparative-sensitive-accuracy",
    "sensitive-TPRDiff": "comparative-sensitive-tpr",
    "sensitive-TNRDiff": "comparative-sensitive-tnr",
}
_OF_ALL = {
    "accuracy": "accuracy",
    "TPR": "tpr",
    "TNR": "tnr",
    "BCR": "bcr",
    "CV": "cv",
    "DIbinary": "dibinary",
}

MEASURES = _OF_ALL | _BY_LEVELS
"""Our measures over all levels of the attribute, by their published names; undefined is undefined."""

MEASURES_BINARY = _OF_ALL | {name: ours + _OF_THE_PAIR for name, ours in _BY_LEVELS.items()}
"""The same over the deprived and the favoured group."""


def _as_published(names: dict[str, str]) -> dict[str, str]:
    """Return the measures by the edge rules of the published numbers, where these have some."""
    return {name: ours if ours in ("accuracy", "cv") else ours + _LEGACY for name, ours in names.items()}


PUBLISHED = _as_published(MEASURES)
PUBLISHED_BINARY = _as_published(MEASURES_BINARY)
"""`MEASURES` and `MEASURES_BINARY` with the rules that the published numbers were computed by."""

CLASSIFIERS = {"SVM": "svm", "GaussianNB": "naive-bayes", "LR": "logistic-regression", "DecisionTree": "tree"}

_UNTUNED: Conditions = {"tune": (None,)}
_DI_METRICS = (
    "diavgall", "diavgall-legacy", "diavgall-binary", "diavgall-binary-legacy", "dibinary", "impact-ratio",
)  # fmt: skip
_TUNED: dict[str, Conditions] = {
    "accuracy": {"tune": ("accuracy",), "tune.on": ("test",)},
    "DIavgall": {"tune": _DI_METRICS, "tune.on": ("test",)},
}


def _algorithms() -> dict[str, Conditions]:
    """Return the conditions on a cell, by the name of an algorithm."""
    hidden: Conditions = {"include_protected": (False,)}
    remover: Conditions = {"intervention": ("prejudice-remover",)}
    zafar: Conditions = {"intervention": ("zafar-di",), "include_protected": (True,), "l2": (0.0,)} | _UNTUNED
    auditor: Conditions = {"intervention": ("auditor",), "test_repair": ("own",), "level": (1.0,)}
    algorithms: dict[str, Conditions] = {}
    for name, classifier in CLASSIFIERS.items():
        with_classifier = hidden | {"classifier": (classifier,)}
        algorithms[name] = with_classifier | {"intervention": ("none",)}
        algorithms[f"Feldman-{name}"] = with_classifier | auditor | _UNTUNED
        if name in ("SVM", "GaussianNB"):
            repair = with_classifier | {"intervention": ("auditor", "repair")}
            for goal, tuned in _TUNED.items():
                algorithms[f"Feldman-{name}-{goal}"] = repair | tuned
    algorithms["Kamishima"] = remover | {"eta": (1.0,)} | _UNTUNED
    for goal, tuned in _TUNED.items():
        algorithms[f"Kamishima-{goal}"] = remover | tuned
    return algorithms | {
        "Calders": {"intervention": ("two-naive-bayes",)} | _UNTUNED,
        "ZafarBaseline": zafar | {"mode": ("none",)},
        "ZafarFairness": zafar | {"mode": ("fairness",), "c": (0.001,)},
        "ZafarAccuracy": zafar | {"mode": ("accuracy",), "gamma": (0.5,)},
    }


ALGORITHMS = _algorithms()

SCORED = ("accuracy", "TPR", "TNR", "BCR", "CV")
"""The measures whose means a run is judged by; ratios of small rates vary too much for that."""

# How far off a mean may be even where the published standard deviation is small: 0.01 of accuracy and 0.02 of
# CV where test sets are large, one number for all where they are small. TPR, TNR, BCR and all other measures
# have the larger of the two: a rate of one class or group is one of fewer rows than accuracy.
_LARGE = {"accuracy": 0.01, "sensitive-accuracy": 0.01, "": 0.02}
_GERMAN = {"": 0.05}
_RICCI = {"": 0.08}
FLOORS = {
    "adult": _LARGE,
    "propublica-recidivism": _LARGE,
    "propublica-violent-recidivism": _LARGE,
    "german": _GERMAN,
    "ricci": _RICCI,
}
