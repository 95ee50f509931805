"""The parts of an audit, in the order in which they are shown. A new one is a line here."""

from collections.abc import Iterator
from typing import Any

from fairbench_cli.audit.compare.report import Report
from fairbench_cli.audit.parts.changes import CHANGES
from fairbench_cli.audit.parts.curves import CURVES
from fairbench_cli.audit.parts.explanations import EXPLAINED
from fairbench_cli.audit.parts.guidelines import GUIDELINES
from fairbench_cli.audit.parts.moved_thresholds import MOVED_THRESHOLDS
from fairbench_cli.audit.parts.number_changes import NUMBER_CHANGES
from fairbench_cli.audit.parts.number_explanations import NUMBERS_EXPLAINED
from fairbench_cli.audit.parts.number_trends import NUMBER_TRENDS
from fairbench_cli.audit.parts.numbers import NUMBERS
from fairbench_cli.audit.parts.numeric_attributes import NUMERIC_ATTRIBUTES
from fairbench_cli.audit.parts.part import AllRows, Part
from fairbench_cli.audit.parts.rates import RATES_OF_GROUPS
from fairbench_cli.audit.parts.requested_metrics import BY_NAME
from fairbench_cli.audit.parts.subgroups import SUBGROUPS
from fairbench_cli.audit.parts.trends import TRENDS
from fairbench_cli.audit.parts.whole_table import WHOLE_TABLE_OF_CLASSES

PARTS: tuple[Part[Any, Any], ...] = (
    GUIDELINES,
    TRENDS,
    CHANGES,
    NUMBER_TRENDS,
    NUMBER_CHANGES,
    NUMBERS,
    NUMERIC_ATTRIBUTES,
    WHOLE_TABLE_OF_CLASSES,
    RATES_OF_GROUPS,
    BY_NAME,
    SUBGROUPS,
    CURVES,
    MOVED_THRESHOLDS,
    EXPLAINED,
    NUMBERS_EXPLAINED,
)


def parts_of(report: Report) -> Iterator[tuple[Part[Any, Any], Any]]:
    """Yield the parts that an audit has, with what they found."""
    return ((part, report.found[part.key]) for part in PARTS if part.key in report.found)


def find_all_rows(report: Report) -> AllRows | None:
    """Return the audit that the answer is of, where it is another than this one."""
    return next((whole for part, found in parts_of(report) if (whole := part.all_rows(found, report))), None)
