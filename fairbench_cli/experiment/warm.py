"""Imported by the fork server alone, before it starts workers: loads what every repeat needs, once.

What the techniques and classifiers of a run load is found out by using them on a few rows.
"""

import os

from fairbench_cli.experiment.orphans import die_with_parent

MARK = "FAIRBENCH_WARM"
"""The environment variable with who starts the server and the classifiers to load, divided by commas."""


def warm_up(classifiers: list[str]) -> None:
    """Import what a repeat needs and fit each classifier to a few rows."""
    import numpy as np

    import fairbench_cli.experiment.worker
    from fairbench_cli.classifiers.fit import Classifier
    from fairbench_cli.classifiers.registry import CLASSIFIER
    from fairbench_cli.data.table import Column, Sample, Table

    rng = np.random.default_rng(0)
    columns = (Column("a", ("x", "y")), Column("s", ("u", "v")))
    rows = Table(columns, rng.integers(0, 2, (40, 2)).astype(np.int16))
    y, s = (rng.integers(0, 2, 40).astype(np.int8) for _ in range(2))
    for name in classifiers:
        thing = CLASSIFIER.registry[name].load()()
        Classifier(thing, include_protected=False, seed=0).fit(Sample(rows, "s", y, s))
    del fairbench_cli


if MARK in os.environ:
    from contextlib import suppress

    process, *names = os.environ[MARK].split(",")
    die_with_parent(int(process))  # before anything is loaded, which takes a while
    with suppress(Exception):  # a repeat says what is wrong
        warm_up(names)
