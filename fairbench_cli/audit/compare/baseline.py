"""What failed in an earlier audit, by its ci.json: a gate stops for what is new or has become larger."""

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairbench_cli.audit.compare.report import AcceptedFailures, Disparity, Report
from fairbench_cli.audit.compare.verdict import TOLERANCE
from fairbench_cli.base.errors import Flag, UserError, user_error
from fairbench_cli.base.files import read_text
from fairbench_cli.base.safe_text import format_path

CI_FORMAT = 1
"""Keys may be added without a new number; none goes, and none changes its meaning."""

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
    gaps: dict[tuple[str, ...], dict[str, float]] = {}
    comparisons = _failing_comparisons(content)
    if comparisons is None:
        problem = f"{format_path(path)} is no ci.json of an audit"
        fix = "give the ci.json that an audit writes with --output, or prints with --format ci"
        raise user_error(problem, fix, Flag("baseline"))
    for comparison in comparisons:
        gap = abs(comparison["difference"])
        by_model = gaps.setdefault(key_of(comparison), {})
        by_model[comparison["model"]] = gap
    return AcceptedFailures(Path(path).name, gaps)


def key_of(comparison: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the key of a comparison, without its model; of a top list without the number of its ties."""
    decision, *names = (str(comparison[name]) for name in _KEY)
    return (_TIES.sub("", decision), *names)


def is_accepted(row: Disparity, report: Report) -> bool:
    """Return whether a failing comparison failed in the baseline, too, with a gap that was not smaller.

    Larger is one by more than the least change. Of models or slices that are compared the last is judged, and
    it may have another name than there; so may the only model. Then the smallest gap there counts.
    """
    if report.baseline is None:
        return False
    by_model = report.baseline.gaps.get(key_of(vars(row)), {})
    if report.last or not row.model:
        earlier = min(by_model.values(), default=math.nan)
    else:
        earlier = by_model.get(row.model, math.nan)
    least = report.config.least_change(row.metric)
    return abs(row.difference.value) - earlier <= least + TOLERANCE


def _failing_comparisons(content: Any) -> list[dict[str, Any]] | None:
    """Return the failing comparisons by the content of a ci.json; None where it is none."""
    if not isinstance(content, dict) or content.get("format") != CI_FORMAT:
        return None
    failing = content.get("failing")
    if not isinstance(failing, list):
        return None
    for comparison in failing:
        if not isinstance(comparison, dict) or not {"model", "difference", *_KEY} <= set(comparison):
            return None
        if not isinstance(comparison["difference"], int | float):
            return None
    return failing
