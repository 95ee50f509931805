"""What failed in an earlier audit, by its ci.json: a gate stops for what is shown to be new or larger."""

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from statistics import NormalDist
from typing import Any

from fairbench_cli.audit.compare.report import (
    AcceptedFailures,
    AcceptedGap,
    Comparison,
    Disparity,
    Interval,
    Report,
)
from fairbench_cli.audit.compare.verdict import TOLERANCE
from fairbench_cli.audit.metrics import DEFAULT_OF_LEVELS
from fairbench_cli.base.errors import Flag, UserError, user_error
from fairbench_cli.base.files import read_text
from fairbench_cli.base.safe_text import format_path
from fairbench_cli.measures.significance import normal_quantile

CI_FORMAT = 2
"""Keys may be added without a new number; none goes, and none changes its meaning."""
READABLE = (1, CI_FORMAT)
"""Of the first the exit code is 1 also where nothing is decided; what fails is written alike."""

LEVEL = 0.05
Z_95 = normal_quantile(0.95)
_TIES = re.compile(r" \(\d+ with ties\)$")  # of a top list, counted: other rows have others
_KEY = ("decision", "attribute", "group", "reference", "metric")


def read_baseline(path: str) -> AcceptedFailures:
    """Read the failing comparisons of a ci.json.

    Raises
    ------
    UserError
        When there is no such file, or it is none.
    """
    try:
        text = read_text(Path(path))
    except UserError as error:
        raise UserError(*error.reported_at(Flag("baseline"))) from None
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    gaps: dict[tuple[str, ...], dict[str, AcceptedGap]] = {}
    comparisons = _failing_comparisons(content)
    problem = f"{format_path(path)} is no ci.json of an audit"
    if comparisons is not None and content["format"] not in READABLE:
        problem = f"{format_path(path)} is a ci.json of format {content['format']}, not 1 or {CI_FORMAT}"
        comparisons = None
    if comparisons is None:
        fix = "leave it out, or give what `fairbench audit FILE --format ci` prints"
        raise user_error(problem, fix, Flag("baseline"))
    for comparison in comparisons:
        ends = [comparison.get(f"difference_{end}") for end in ("low", "high")]
        # Files of earlier versions have no interval, and where it is undefined it is null.
        low, high = (float(end) if isinstance(end, int | float) else math.nan for end in ends)
        difference = Interval(comparison["difference"], low, high)
        gap = gap_size(comparison["metric"], difference)
        by_model = gaps.setdefault(key_of(comparison), {})
        by_model[comparison["model"]] = AcceptedGap(gap, standard_error(difference))
    return AcceptedFailures(Path(path).name, gaps)


def key_of(comparison: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the key of a comparison, without its model; of a top list without the number of its ties."""
    decision, *names = (str(comparison[name]) for name in _KEY)
    return (_TIES.sub("", decision), *names)


def gap_size(metric: str, difference: Interval) -> float:
    """Return how far a group is from its reference; the chance of more is equal at one half.

    >>> gap_size("mean", Interval(-3.0, -5.0, -1.0)), gap_size("more", Interval(0.25, 0.125, 0.375))
    (3.0, 0.25)
    """
    if metric in DEFAULT_OF_LEVELS:
        return abs(difference.value - 0.5)
    return abs(difference.value)


def standard_error(difference: Interval, z: float = Z_95) -> float:
    """Return the standard error of a difference, from its interval of z errors to both sides."""
    return (difference.high - difference.low) / (2 * z)


def is_accepted(row: Comparison, report: Report) -> bool:
    """Return whether a failing comparison is let pass by the baseline: nothing worse than there is shown.

    What failed there, too, is not worse unless its gap has grown by more than the least change, and by more
    than chance: the people of both audits are others, so both have an error. The test of growth is at 5 %
    over all that failed there (Bonferroni). What did not fail there is not worse unless it fails clearly; the
    gap may be as large as it was.

    Of models or slices that are compared the last is judged, and it may have another name than there; so may
    the only model. Then the smallest gap there counts.
    """
    if report.baseline is None:
        return False
    by_model = report.baseline.gaps.get(key_of(vars(row)), {})
    if report.last or not row.model:
        earlier = min(by_model.values(), key=lambda accepted: accepted.gap, default=None)
    else:
        earlier = by_model.get(row.model)
    if earlier is None:
        return not row.shown_outside
    growth = gap_size(row.metric, row.difference) - earlier.gap
    least = 0.0  # the least change is that of a rate
    if isinstance(row, Disparity):
        least = report.config.least_change(row.metric)
    if growth <= least + TOLERANCE:
        return True
    if math.isnan(earlier.error):
        return False
    error = standard_error(row.difference, normal_quantile(report.config.confidence))
    z = NormalDist().inv_cdf(1 - LEVEL / len(report.baseline.gaps))
    return growth <= z * math.hypot(error, earlier.error)


def _failing_comparisons(content: Any) -> list[dict[str, Any]] | None:
    """Return the failing comparisons by the content of a ci.json; None where it is none."""
    if not isinstance(content, dict) or "format" not in content:
        return None
    failing = content.get("failing")
    if not isinstance(failing, list):
        return None
    are_comparisons = all(
        isinstance(comparison, dict)
        and {"model", *_KEY} <= set(comparison)
        and isinstance(comparison.get("difference"), int | float)
        for comparison in failing
    )
    return failing if are_comparisons else None
