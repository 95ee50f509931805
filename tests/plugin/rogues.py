"""Techniques that misbehave, for tests of the runner."""
# ruff: noqa: ARG002

import os
import signal
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairbench_cli.interventions.fitted import Fitted, Infeasible


@dataclass(frozen=True)
class Raises:
    def fit(self, train, classifier, rng):
        raise ValueError("first line\nsecond line, \udcff")


@dataclass(frozen=True)
class Exits:
    def fit(self, train, classifier, rng):
        sys.exit("enough")


@dataclass(frozen=True)
class Kills:
    def fit(self, train, classifier, rng):
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Impossible:
    def fit(self, train, classifier, rng):
        raise Infeasible("too few negatives")


@dataclass(frozen=True)
class Heals:
    """Fails until the file named in $CURE is there."""

    def fit(self, train, classifier, rng):
        if not Path(os.environ["CURE"]).exists():
            raise RuntimeError("not yet")
        return Fitted(classifier.fit(train))


@dataclass(frozen=True)
class Warns:
    def fit(self, train, classifier, rng):
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        warnings.warn("did not converge", UserWarning, stacklevel=1)
        return Fitted(classifier.fit(train))


@dataclass(frozen=True)
class OddFacts:
    def fit(self, train, classifier, rng):
        return Fitted(
            classifier.fit(train), facts={"a": np.float32(0.5), "b": float("nan"), "c": np.int64(3)}
        )


@dataclass(frozen=True)
class OddStatus:
    def fit(self, train, classifier, rng):
        return Fitted(classifier.fit(train), "splendid")


@dataclass(frozen=True)
class Slow:
    def fit(self, train, classifier, rng):
        time.sleep(0.15)
        return Fitted(classifier.fit(train))
