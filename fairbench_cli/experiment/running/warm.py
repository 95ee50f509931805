"""Imported by the fork server alone, before it starts workers: loads what every repeat needs, once.

What the techniques and classifiers of a run load is found out by using them on a few rows.
"""

import json
import os
from contextlib import suppress

from fairbench_cli.experiment.running.orphans import die_with_parent

MARK = "FAIRBENCH_WARM"
"""The environment variable with who starts the server, and the classifiers and techniques that are used."""

NOTHING = json.dumps([None, [], []])

LONGEST = 2.0
"""Seconds that all techniques together may take."""


def warm_up(classifiers: list[str], techniques: list[str]) -> None:
    """Import what a repeat needs; fit each classifier to a few rows, then each technique."""
    import numpy as np

    import fairbench_cli.experiment.running.worker
    from fairbench_cli.classifiers.fit import Classifier
    from fairbench_cli.classifiers.registry import CLASSIFIERS
    from fairbench_cli.data.table import Column, Sample, Table
    from fairbench_cli.experiment.config.config import Limits
    from fairbench_cli.experiment.running.guard import limited
    from fairbench_cli.interventions.registry import INTERVENTIONS

    rng = np.random.default_rng(0)
    columns = (Column("a", ("x", "y")), Column("s", ("u", "v")))
    rows = Table(columns, rng.integers(0, 2, (40, 2)).astype(np.int16))
    y, s = (rng.integers(0, 2, 40).astype(np.int8) for _ in range(2))
    sample, fitted = Sample(rows, "s", y, s), None
    for name in classifiers:
        fitted = Classifier(CLASSIFIERS[name].load()(), include_protected=False, seed=0)
        fitted.fit(sample)
    entries = [INTERVENTIONS[name] for name in techniques if name in INTERVENTIONS]
    with limited(Limits(seconds=LONGEST, memory=None)):
        for entry in (one for one in entries if one.target.startswith("fairbench_cli.")):
            with suppress(Exception):  # it needs parameters, or other rows
                entry.load()().fit(sample, fitted, rng)
    del fairbench_cli


if MARK in os.environ:
    parent, used, applied = json.loads(os.environ[MARK])
    die_with_parent(parent)  # before anything is loaded, which takes a while
    with suppress(BaseException):  # a repeat says what is wrong
        warm_up(used, applied)
