"""What an audit has read of its rows: enough to be judged again, by other references, limits or metrics.

Which keys rows are read by is said at each field of `AuditConfig`. A few of those that rows are judged by
take part in reading where nothing is said instead: see `needs_reading`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbench_cli.audit.build_report import judge, read_parts
from fairbench_cli.audit.compare.report import Report
from fairbench_cli.audit.compare.verdict import check_names
from fairbench_cli.audit.config import READ, AuditConfig, fields_used_by
from fairbench_cli.audit.parts import requested_parts
from fairbench_cli.audit.scan.from_run import rows_of_run
from fairbench_cli.audit.scan.open import open_scan
from fairbench_cli.audit.scan.outcome_kind import asks_for_decisions, find_idle_options
from fairbench_cli.audit.scan.roles import attributes_in_options
from fairbench_cli.audit.scan.slices import Tally
from fairbench_cli.audit.scan.spellings import check_alike_groups
from fairbench_cli.base.progress_callbacks import ProgressCallback, ignore_progress
from fairbench_cli.data.number_writing import GAP_WORDS
from fairbench_cli.data.recognise import named_like_protected

if TYPE_CHECKING:
    from fairbench_cli.audit.scan.source import Frame


@dataclass(frozen=True, eq=False)
class ReadRows:
    """Everything that judging needs of rows.

    Parameters
    ----------
    tally : Tally
        The counts of groups.
    data_of_parts : mapping
        What the parts have read, by their keys.
    asked : AuditConfig
        By which the rows were read.
    config : AuditConfig
        The same, with what the rows say of outcomes and columns.
    is_of_run : bool
        Whether they are those of a run's cell.
    """

    tally: Tally
    data_of_parts: Mapping[str, Any]
    asked: AuditConfig
    config: AuditConfig
    is_of_run: bool = False


def read_rows(
    source: "str | Path | Frame",
    config: AuditConfig,
    against: "Frame | None" = None,
    only: Sequence[str] = (),
    repeat: int | None = None,
    *,
    name: str = "",
    tell: ProgressCallback = ignore_progress,
) -> ReadRows:
    """Read a file, a frame or the cell of a run for an audit; `name` is what the rows are called.

    Raises
    ------
    UserError
        For rows that are not fit to be audited, and metrics that they do not have.
    """
    rows = rows_of_run(source, config, only, repeat)
    frame_or_file = source if rows is None else rows.frame
    settings = config if rows is None else rows.config
    name_of_run = "" if rows is None else rows.name
    with open_scan(frame_or_file, settings, against=against, name=name or name_of_run, tell=tell) as scan:
        tally = scan.tally
        check_names(tally, scan.config)  # before the parts read, which may take long
        data_of_parts = read_parts(scan)
    if rows is not None:
        tally = replace(tally, source=name or rows.name, notes=rows.notes + tally.notes)
    return ReadRows(tally, data_of_parts, config, scan.config, is_of_run=rows is not None)


def judge_rows(rows: ReadRows, config: AuditConfig) -> Report:
    """Return the report by a configuration that does not need the rows to be read again.

    Raises
    ------
    UserError
        For an unknown reference, a metric that the rows do not have, a baseline that cannot be read.
    """
    baseline = None
    if config.baseline is not None:
        from fairbench_cli.audit.compare.baseline import read_baseline

        baseline = read_baseline(config.baseline)
    settled = _settle_again(rows, config)
    check_names(rows.tally, settled)
    report = judge(rows.tally, settled, rows.data_of_parts, baseline)
    return replace(report, is_of_run=rows.is_of_run)


def needs_reading(rows: ReadRows, config: AuditConfig) -> bool:
    """Return whether a configuration needs the rows to be read again.

    That is where a key differs by which rows are read; where a key by which they are judged decides what is
    audited, or of what kind outcomes are, as nothing else says so; and where a part lacks its data.
    """
    asked = rows.asked
    if any(getattr(asked, field) != getattr(config, field) for field in fields_used_by(READ)):
        return True
    if config.attributes is None and _choosing_names(asked) != _choosing_names(config):
        return True
    if _may_be_of_other_kind(rows, config):
        return True
    settled = _settle_again(rows, config)
    if find_idle_options(settled):
        return True
    if _left_out_as_missing(rows.tally, rows.config) != _left_out_as_missing(rows.tally, settled):
        return True
    if check_alike_groups(_sizes_of_groups(rows.tally), settled):
        return True
    return _lacks_data(rows, settled)


def _settle_again(rows: ReadRows, config: AuditConfig) -> AuditConfig:
    """Return a configuration with what the rows say of outcomes and columns."""
    settled: dict[str, Any] = {}
    for field in fields_used_by(READ):
        value = getattr(rows.config, field)
        if value != getattr(rows.asked, field):
            settled[field] = value
    return config.model_copy(update=settled)


def _choosing_names(config: AuditConfig) -> frozenset[str]:
    """Return the names by which options choose attributes, but for those that are audited by their name."""
    return frozenset(name for name in attributes_in_options(config) if not named_like_protected(name))


def _may_be_of_other_kind(rows: ReadRows, config: AuditConfig) -> bool:
    """Return whether outcomes may be told to be of another kind, as decisions are asked for or no more."""
    if config.outcome is not None:
        return False
    if rows.config.outcome is not None:
        return asks_for_decisions(config)
    return asks_for_decisions(rows.asked) and not asks_for_decisions(config)


def _left_out_as_missing(tally: Tally, config: AuditConfig) -> set[tuple[str, str]]:
    """Return the groups that look missing and are left out, of which no note is made."""
    left_out = set()
    for group_counts in tally.slices:
        for group in group_counts.counts.groups:
            if group.lower() in GAP_WORDS and config.leaves_out(group_counts.attribute, group):
                left_out.add((group_counts.attribute, group))
    return left_out


def _sizes_of_groups(tally: Tally) -> dict[str, dict[str, int]]:
    """Return the rows of each group of each attribute, without intersections."""
    sizes: dict[str, dict[str, int]] = {}
    for group_counts in tally.slices:
        if not group_counts.intersection:
            rows = group_counts.rows.tolist()
            sizes.setdefault(group_counts.attribute, {}).update(
                zip(group_counts.counts.groups, rows, strict=True)
            )
    return sizes


def _lacks_data(rows: ReadRows, config: AuditConfig) -> bool:
    """Return whether a part that is asked for has not read, or has read by other values of its keys."""
    for audit_part in requested_parts(config):
        if not audit_part.reads_rows:
            continue
        if audit_part.key not in rows.data_of_parts:
            return True
        if any(getattr(rows.config, key) != getattr(config, key) for key in audit_part.read_by):
            return True
    return False
