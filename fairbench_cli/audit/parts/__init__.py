"""The parts of an audit, in the order in which they are shown. A new one is a line here.

Each is loaded where a configuration asks for it, or a report has it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fairbench_cli.audit.compare.report import Report
from fairbench_cli.audit.compare.verdict import requested_names
from fairbench_cli.audit.config import EXCLUDING, AuditConfig
from fairbench_cli.audit.parts.part import AllRows, Part
from fairbench_cli.base.registry import Entry


@dataclass(frozen=True)
class RegisteredPart(Entry):
    """Where a part is, and whether a configuration asks for it."""

    is_requested: Callable[[AuditConfig], bool]


def _cuts_numbers(config: AuditConfig) -> bool:
    """Return whether an attribute is cut, in an audit of numbers or decisions of one model, by no preset."""
    is_single = not (config.compares or config.model_column or config.preset)
    return config.outcome != "ordinal" and bool(config.bins) and is_single


_REQUESTED: dict[str, tuple[str, Callable[[AuditConfig], bool]]] = {
    "impact": ("guidelines:GUIDELINES", lambda config: config.preset in EXCLUDING),
    "slices": ("trends:TRENDS", lambda config: config.sliced_by is not None and not config.of_numbers),
    "changes": ("changes:CHANGES", lambda config: config.compares and not config.of_numbers),
    "number_slices": (
        "number_trends:NUMBER_TRENDS",
        lambda config: config.sliced_by is not None and config.of_numbers,
    ),
    "number_changes": (  # by means, which levels in an order have not
        "number_changes:NUMBER_CHANGES",
        lambda config: config.compares_models and config.outcome == "number",
    ),
    "numbers": ("numbers:NUMBERS", lambda config: config.of_numbers),
    "classes": (
        "whole_table:WHOLE_TABLE_OF_CLASSES",
        lambda config: not config.of_numbers and len(config.favourable) > 1,
    ),
    "rates": ("rates:RATES_OF_GROUPS", lambda _: True),
    "numeric_attributes": ("numeric_attributes:NUMERIC_ATTRIBUTES", _cuts_numbers),
    "requested": ("requested_metrics:BY_NAME", lambda config: bool(requested_names(config))),
    "subgroups": ("subgroups:SUBGROUPS", lambda config: config.scan),
    "curves": ("curves:CURVES", lambda config: config.curves),
    "moved_thresholds": ("moved_thresholds:MOVED_THRESHOLDS", lambda config: config.mitigate),
    "explanations": (
        "explanations:EXPLAINED",
        lambda config: bool(config.explained_by) and not config.of_numbers,
    ),
    "number_explanations": (
        "number_explanations:NUMBERS_EXPLAINED",
        lambda config: bool(config.explained_by) and config.outcome == "number",
    ),
}
PARTS = {
    key: RegisteredPart(f"fairbench_cli.audit.parts.{target}", is_requested)
    for key, (target, is_requested) in _REQUESTED.items()
}


def requested_parts(config: AuditConfig) -> Iterator[Part[Any, Any]]:
    """Yield the parts that a configuration asks for."""
    return (part.load() for part in PARTS.values() if part.is_requested(config))


def parts_of(report: Report) -> Iterator[tuple[Part[Any, Any], Any]]:
    """Yield the parts that an audit has, with what they found."""
    return ((part.load(), report.found[key]) for key, part in PARTS.items() if key in report.found)


def find_all_rows(report: Report) -> AllRows | None:
    """Return the audit that the answer is of, where it is another than this one."""
    return next((whole for part, found in parts_of(report) if (whole := part.all_rows(found, report))), None)
