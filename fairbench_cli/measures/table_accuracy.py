"""The entries of accuracy, over all groups."""

from functools import partial

from fairbench_cli.measures import accuracy
from fairbench_cli.measures.entry import Measure

_accuracy = partial(Measure, section="accuracy")

ACCURACY = (
    _accuracy("accuracy", accuracy.accuracy, 0, 1, 1, "P(ŷ=y)", "common", "NaN when there are no rows"),
    _accuracy("tpr", accuracy.tpr, 0, 1, 1, "P(ŷ=+|y=+)", "common", "NaN when no label is favourable"),
    _accuracy("tnr", accuracy.tnr, 0, 1, 1, "P(ŷ=−|y=−)", "common", "NaN when no label is unfavourable"),
    _accuracy(
        "bcr",
        accuracy.bcr,
        0,
        1,
        1,
        "(TPR + TNR) / 2",
        "Friedler et al. 2019",
        "NaN when all labels are the same",
    ),
    _accuracy(
        "kappa",
        accuracy.kappa,
        -1,
        1,
        1,
        "(A − R) / (1 − R), R = π₀π + (1−π₀)(1−π)",
        "Cohen 1960; normalised accuracy in Žliobaitė 2015",
        "NaN when all labels and predictions are the same",
    ),
    _accuracy(
        "mcc",
        accuracy.mcc,
        -1,
        1,
        1,
        "(TP TN − FP FN) / √((TP+FP)(TP+FN)(TN+FP)(TN+FN))",
        "Matthews 1975",
        "NaN when all labels or all predictions are the same",
    ),
    _accuracy(
        "precision",
        accuracy.precision,
        0,
        1,
        1,
        "P(y=+|ŷ=+)",
        "common",
        "NaN when no prediction is favourable",
    ),
    _accuracy(
        "f1",
        accuracy.f1,
        0,
        1,
        1,
        "2 TP / (2 TP + FP + FN)",
        "van Rijsbergen 1979",
        "NaN when no label and no prediction is favourable",
    ),
)
