"""The parts of an audit, in the order in which they are shown. A new one is a line here.

Each is loaded where a configuration asks for it, or a report has it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fairbench_cli.audit.compare.report import Report
from fairbench_cli.audit.compare.verdict import requested_names
from fairbench_cli.audit.config import EXCLUDING, NUMERIC, AuditConfig, OutcomeKind
from fairbench_cli.audit.parts.part import AllRows, Part
from fairbench_cli.base.registry import Entry


@dataclass(frozen=True)
class RegisteredPart(Entry):
    """Where a part is, of which outcomes it can be, and whether a configuration asks for it."""

    outcomes: tuple[OutcomeKind, ...]
    is_asked: Callable[[AuditConfig], bool]

    def is_requested(self, config: AuditConfig) -> bool:
        """Return whether an audit has the part."""
        return (config.outcome or "decision") in self.outcomes and self.is_asked(config)


def _always(_: AuditConfig) -> bool:
    return True


def _cuts_numbers(config: AuditConfig) -> bool:
    """Return whether an attribute is cut, in an audit of one model, by no preset."""
    return bool(config.bins) and not (config.compares or config.model_column or config.preset)


_DECISIONS: tuple[OutcomeKind, ...] = ("decision", "class")
_OF_MEANS: tuple[OutcomeKind, ...] = ("number", "probability")
_ANY = _DECISIONS + NUMERIC
_REGISTERED: dict[str, tuple[str, tuple[OutcomeKind, ...], Callable[[AuditConfig], bool]]] = {
    "impact": ("guidelines:GUIDELINES", _DECISIONS, lambda config: config.preset in EXCLUDING),
    "slices": ("trends:TRENDS", _DECISIONS, lambda config: config.sliced_by is not None),
    "changes": ("changes:CHANGES", _DECISIONS, lambda config: config.compares),
    "number_slices": ("number_trends:NUMBER_TRENDS", NUMERIC, lambda config: config.sliced_by is not None),
    # By means, which levels in an order have not.
    "number_changes": ("changes:NUMBER_CHANGES", _OF_MEANS, lambda config: config.compares_models),
    "numbers": ("numbers:NUMBERS", NUMERIC, _always),
    "classes": ("whole_table:WHOLE_TABLE_OF_CLASSES", _DECISIONS, lambda config: len(config.favourable) > 1),
    "rates": ("rates:RATES_OF_GROUPS", _ANY, _always),  # of numbers the verdicts alone
    "numeric_attributes": (
        "numeric_attributes:NUMERIC_ATTRIBUTES",
        _DECISIONS + _OF_MEANS,
        _cuts_numbers,
    ),
    "requested": ("requested_metrics:BY_NAME", _DECISIONS, lambda config: bool(requested_names(config))),
    "subgroups": ("subgroups:SUBGROUPS", _DECISIONS, lambda config: config.scan),
    "curves": ("curves:CURVES", _DECISIONS, lambda config: config.curves),
    "moved_thresholds": ("moved_thresholds:MOVED_THRESHOLDS", _DECISIONS, lambda config: config.mitigate),
    "explanations": ("explanations:EXPLAINED", _DECISIONS, lambda config: bool(config.explained_by)),
    "number_explanations": (
        "number_explanations:NUMBERS_EXPLAINED",
        _OF_MEANS,
        lambda config: bool(config.explained_by),
    ),
}
PARTS = {
    key: RegisteredPart(f"fairbench_cli.audit.parts.{target}", outcomes, is_asked)
    for key, (target, outcomes, is_asked) in _REGISTERED.items()
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
