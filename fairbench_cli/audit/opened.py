"""An audit that stays open, and is judged again without reading its rows again, for notebooks and pages."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbench_cli.audit.api import AuditResult, read_options, spelled_for_python
from fairbench_cli.audit.command import NO_FILE, WrittenCall
from fairbench_cli.audit.compare.baseline import read_baseline
from fairbench_cli.audit.reading import ReadRows, judge_rows, needs_reading, read_rows
from fairbench_cli.base.errors import Problem, UserError
from fairbench_cli.base.progress_callbacks import ProgressCallback, ignore_progress

if TYPE_CHECKING:
    from fairbench_cli.audit.config import AuditConfig
    from fairbench_cli.audit.scan.source import Frame


class OpenedAudit:
    """Rows that are read once, and judged as often as options change; a context manager.

    Parameters
    ----------
    source : path or frame
        What `audit()` takes.
    name : str
        What the rows are called; empty: as the file is.
    options : mapping
        Of every audit, where it does not say otherwise.
    tell : callable
        Called with what is being done.
    """

    def __init__(
        self,
        source: "str | Path | Frame",
        name: str = "",
        options: Mapping[str, Any] | None = None,
        tell: ProgressCallback = ignore_progress,
    ) -> None:
        self.source = source
        self.name = name
        self._options = dict(options or {})
        self._tell = tell
        self._rows: ReadRows | None = None
        self._against: Frame | None = None

    def __enter__(self) -> "OpenedAudit":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def audit(self, **options: Any) -> AuditResult:
        """Audit as ``fb.audit(source, **options)`` does; the rows are read where that is needed.

        Raises
        ------
        UserError
            As `fb.audit` does; the next call may follow.
        """
        try:
            config, against = self._read_options(options)
            if config.baseline is not None:
                read_baseline(config.baseline)  # before the rows, which may take long
            rows = self._rows
            if rows is None or self._is_read_by_others(rows, config, against):
                rows = read_rows(self.source, config, against, name=self.name, tell=self._tell)
                self._rows = rows
                self._against = against
            return AuditResult(judge_rows(rows, config), WrittenCall(config, self._file))
        except UserError as error:
            raise spelled_for_python(self._with_name(error)) from None

    def reads_again(self, **options: Any) -> bool:
        """Return whether `audit` would read the rows for these options.

        Raises
        ------
        UserError
            For options that are wrong whatever the rows are.
        """
        try:
            config, against = self._read_options(options)
        except UserError as error:
            raise spelled_for_python(error) from None
        return self._rows is None or self._is_read_by_others(self._rows, config, against)

    def close(self) -> None:
        """Forget what was read."""
        self._rows = None
        self._against = None

    @property
    def _file(self) -> str:
        if self.name:
            return self.name
        return str(self.source) if isinstance(self.source, str | Path) else NO_FILE

    def _read_options(self, options: Mapping[str, Any]) -> "tuple[AuditConfig, Frame | None]":
        return read_options({**self._options, **options})

    def _is_read_by_others(self, rows: ReadRows, config: "AuditConfig", against: "Frame | None") -> bool:
        return against is not self._against or needs_reading(rows, config)

    def _with_name(self, error: UserError) -> UserError:
        """Return an error in which the file has its name also where it could not be opened."""
        if not self.name or not isinstance(self.source, str | Path):
            return error
        path = str(self.source)
        problems: list[Problem] = []
        for problem in error.problems:
            where = problem.where
            if isinstance(where, str):
                where = where.replace(path, self.name)
            problems.append(replace(problem, where=where))
        return UserError(*problems, remedies=error.remedies)


def opened(
    source: "str | Path | Frame",
    name: str = "",
    *,
    tell: ProgressCallback = ignore_progress,
    **options: Any,
) -> OpenedAudit:
    """Open a file or a frame to be audited by several sets of options; it is read when it has to be.

    Parameters
    ----------
    source : path or frame
        What `audit()` takes, but for arrays and runs.
    name : str
        What the rows are called in titles and messages, in the place of the file's path.
    tell : callable
        Called with what is being done, as ``tell("counting the rows", None)``.
    **options
        Of every audit, where it does not say otherwise: those of `audit()`.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"score": [1, 0, 1, 1], "sex": ["f", "f", "m", "m"]})
    >>> with opened(frame, "people") as people:
    ...     people.audit(tau=0.8).verdict, people.reads_again(tau=0.9), people.reads_again(score="sex")
    ('undecided', False, True)
    """
    return OpenedAudit(source, name, options, tell)
