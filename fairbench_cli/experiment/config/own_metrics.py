"""Metrics that a config names and the registry does not have: where they are, and what they are."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fairbench_cli.base.errors import UserError, suggest, user_error
from fairbench_cli.base.plugins import CodeOrigin, find, named_in_packages, short
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.registry import METRICS, own_metric

GROUP = "fairbench.measures"


@dataclass(frozen=True)
class OwnMetric:
    """A metric by somebody's function.

    Parameters
    ----------
    name : str
        What results call it.
    origin : CodeOrigin
        Where its code is.
    """

    name: str
    origin: CodeOrigin

    @property
    def entry(self) -> Metric:
        """The metric; a worker imports it when it is first asked for."""
        return _entry(self.name, self.origin)

    @property
    def record(self) -> str:
        """The name under which a value of rows is kept: with the version of the code."""
        return f"{self.name} {self.origin.version}"

    @property
    def plain(self) -> str:
        """The name as it is written in a config, from wherever that is read."""
        return self.name if self.origin.path is None else self.origin.target


@cache
def _entry(name: str, origin: CodeOrigin) -> Metric:
    return own_metric(name, origin.load())


def find_metric(name: str, base: Path) -> OwnMetric:
    """Return a metric that is not registered, imported and tried out.

    Raises
    ------
    UserError
        When there is no such metric, or its code is no metric's.
    """
    origin = find(name, GROUP, base)
    if origin is None:
        raise user_error(f'unknown metric "{name}"', suggest(name, known_names()))
    found = OwnMetric(short(name), origin)
    try:
        _ = found.entry
    except ValueError as error:
        fix = "a metric is a function of Counts or Rows: see docs/extending.md"
        raise user_error(f"{found.name}: {error}", fix) from None
    return found


def find_metrics(names: Iterable[str], base: Path, flag: str) -> list[str | OwnMetric]:
    """Return metrics by name, registered or not.

    Raises
    ------
    UserError
        Listing all that are wrong, with the flag that named them.
    """
    found: list[str | OwnMetric] = []
    wrong = []
    for name in names:
        try:
            found.append(name if name in METRICS else find_metric(name, base))
        except UserError as error:
            wrong += [user_error(problem.what, problem.fix, flag).problems[0] for problem in error.problems]
    if wrong:
        raise UserError(*wrong)
    return found


def known_names() -> list[str]:
    """Return the names of all metrics that need no path."""
    return [*METRICS, *named_in_packages(GROUP)]
