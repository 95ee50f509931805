"""A report as plain data, whole; and a report from such data: no row is read, and nothing is computed again.

JSON has most of a report under keys that other programs read. What only a report needs stands apart there,
under `KEY`: the fields that the other keys do not have as they are.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.compare.report import AcceptedFailures, AcceptedGap, Report, shown_fields
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.options import changed_options
from fairbench_cli.audit.parts import parts_of, requested_parts
from fairbench_cli.audit.scan.slices import Slice
from fairbench_cli.base.plain_data import from_plain
from fairbench_cli.measures.counts import Counts, Floats

KEY = "report"
CHECKSUM = "sha256"
Plain = dict[str, Any]


def to_plain(value: Any) -> Any:
    """Return a value as JSON has it: NaN is None, infinity a text, a tuple a list, a data class a mapping."""
    if value is None or isinstance(value, str | int):  # most of all
        return value
    if isinstance(value, Report):
        value = _fields_of_report(value)
    elif isinstance(value, AuditConfig):
        value = _fields_of_config(value)
    elif isinstance(value, Slice):
        value = _fields_of_slice(value)
    elif isinstance(value, AcceptedFailures):
        value = _fields_of_baseline(value)
    elif is_dataclass(value):
        value = shown_fields(value)
    if isinstance(value, Mapping):
        return {key: to_plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [to_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            return None
        if value > 0:
            return "inf"
        return "-inf"
    if isinstance(value, float):
        return float(value)
    return value


def _fields_of_report(report: Report) -> Plain:
    """Return the fields of a report that do not follow from others, files without their folders."""
    json_fields = {field.name: getattr(report, field.name) for field in fields(Report)}
    del json_fields["judged_numbers"]
    source = report.source
    if source != "-":
        source = PurePath(source).name  # no folder of this machine
    findings = {
        audit_part.key: finding
        for audit_part, finding in parts_of(report)
        if audit_part.found_type is not None
    }
    return {**json_fields, "source": source, "found": findings}


def _fields_of_config(config: AuditConfig) -> Plain:
    """Return the options that differ from the usual ones, files without their folders."""
    options = changed_options(config)
    for key in ("against", "baseline"):
        if key in options:
            options[key] = PurePath(options[key]).name
    return options


@dataclass(frozen=True)
class _SliceFields:
    """The fields in JSON of a slice, those that are needed once it is judged."""

    model: str
    decision: str
    attribute: str
    groups: tuple[str, ...]
    n: Floats
    cell_rows: NDArray[np.int64]
    squares: Floats
    labelled: bool
    intersection: bool


def _fields_of_slice(group_counts: Slice) -> Plain:
    values = vars(group_counts.counts) | vars(group_counts)  # both have `labelled` once it was asked for
    return {field.name: values[field.name] for field in fields(_SliceFields)}


def _read_slice(json_fields: Any) -> Slice:
    values = dict(vars(from_plain(_SliceFields, json_fields)))
    return Slice(counts=Counts(values.pop("groups"), values.pop("n")), **values)


def _fields_of_baseline(baseline: AcceptedFailures) -> Plain:
    gaps = [{"comparison": key, "by_model": by_model} for key, by_model in baseline.gaps.items()]
    return {"file": baseline.file, "gaps": gaps}


@dataclass(frozen=True)
class _GapFields:
    """The gaps of a comparison in JSON."""

    comparison: tuple[str, ...]
    by_model: dict[str, AcceptedGap]


@dataclass(frozen=True)
class _BaselineFields:
    """The fields of a baseline in JSON."""

    file: str
    gaps: tuple[_GapFields, ...]


def _read_baseline(json_fields: Any) -> AcceptedFailures:
    baseline = from_plain(_BaselineFields, json_fields)
    return AcceptedFailures(baseline.file, {gap.comparison: gap.by_model for gap in baseline.gaps})


def missing_fields(report: Report, content: Plain) -> Plain:
    """Return the fields of a report that its JSON does not have as they are, as plain data.

    Parameters
    ----------
    report : Report
    content : dict
        The other keys of its JSON, as plain data.

    Returns
    -------
    dict
        By name; what parts found by the parts' keys, under "found"; and a checksum of all of the JSON.
    """
    json_fields: Plain = to_plain(report)
    missing_findings = {}
    for key, findings in json_fields.pop("found").items():
        if isinstance(findings, dict):
            missing_findings[key] = _without_shown(findings, content)
        elif content.get(key, []) != findings:
            missing_findings[key] = findings
    missing = {**_without_shown(json_fields, content), "found": missing_findings}
    return {**missing, CHECKSUM: _checksum({**content, KEY: missing})}


def _checksum(content: Plain) -> str:
    """Return the SHA-256 of plain data, however they are laid out as JSON."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _without_shown(json_fields: Plain, content: Plain) -> Plain:
    return {key: value for key, value in json_fields.items() if key not in content or content[key] != value}


def report_of(content: Plain) -> Report:
    """Return the report of JSON's content, which has the fields that only a report needs.

    Raises
    ------
    ValueError
        For what was changed since it was written, and what does not fit: it is of another version.
    """
    extra_fields = dict(content[KEY])
    checksum = extra_fields.pop(CHECKSUM, "")
    if _checksum({**content, KEY: extra_fields}) != checksum:
        raise ValueError("it was changed since it was written")
    report = _read_report({**content, **extra_fields})
    by_part: dict[str, Any] = {}
    for audit_part in requested_parts(report.config):
        findings = extra_fields["found"].get(audit_part.key, content.get(audit_part.key, []))
        if is_dataclass(audit_part.found_type):
            findings = {**content, **extra_fields["found"].get(audit_part.key, {})}
        by_part[audit_part.key] = None
        if audit_part.found_type is not None:
            by_part[audit_part.key] = from_plain(audit_part.found_type, findings, READERS)
    return replace(report, found=by_part)


def _read_report(json_fields: Any) -> Report:
    """Return a report without what its parts found."""
    readers = {kind: read for kind, read in READERS.items() if kind is not Report}
    without_found = {key: value for key, value in json_fields.items() if key != "found"}
    report: Report = from_plain(Report, without_found, readers)
    return report


READERS: Mapping[Any, Callable[[Any], Any]] = {
    Report: _read_report,
    AuditConfig: AuditConfig.model_validate,
    Slice: _read_slice,
    AcceptedFailures: _read_baseline,
}
