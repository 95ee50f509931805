"""An audit in one call, for notebooks and other programs."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame

    from fairbench_cli.audit.config import AuditConfig
    from fairbench_cli.audit.judge.report import Parity, Report


@dataclass(frozen=True, eq=False)
class AuditResult:
    """A finished audit, which shows itself as tables in a notebook.

    Parameters
    ----------
    report : Report
        Everything that was found: `groups`, `disparities`, `verdicts`, `explanations` and more.
    """

    report: "Report"

    @property
    def verdict(self) -> "Parity":
        """Pass, fail or undecidable, over what decides, of all models and decisions."""
        return self.report.verdict

    def to(self, name: str) -> str:
        """Write it in a format: any that `--format` takes, such as "json", "html", "markdown" or "csv"."""
        from fairbench_cli.audit.show.formats import write

        return write(self.report, name)

    def to_html(self) -> str:
        """Write one HTML page that works offline."""
        return self.to("html")

    def to_json(self) -> str:
        """Write one JSON document."""
        return self.to("json")

    def to_markdown(self) -> str:
        """Write Markdown tables."""
        return self.to("markdown")

    _repr_markdown_ = to_markdown

    def __repr__(self) -> str:
        from fairbench_cli.audit.show.layout import headline

        return f"<{headline(self.report)}>"


def audit(
    source: "str | Path | DataFrame", *, config: str | Path | None = None, **options: Any
) -> AuditResult:
    """Audit a file or a frame of scores.

    Parameters
    ----------
    source : str, Path or DataFrame
        CSV, TSV, Parquet or NDJSON, also gzipped; "-" is standard input. A data frame has a row per person,
        as a file; its index is not looked at.
    config : str or Path, optional
        A YAML file of options.
    **options
        As on the command line, with underscores: ``ref={"race": "Caucasian"}``, ``tau=0.8`` or
        ``tau={"default": 0.8, "fpr": 0.9}``, ``top_k=[100, 200]``, ``intersect=["race,sex"]``,
        ``explain=["education", "education,hours"]``.

    Raises
    ------
    UserError
        Listing what is wrong with the options or the data.
    """
    from fairbench_cli.audit.config import read_config

    return AuditResult(run(source, read_config(options, Path(config) if config is not None else None)))


def run(source: "str | Path | DataFrame", config: "AuditConfig") -> "Report":
    """Read and judge with a configuration that is checked."""
    from fairbench_cli.audit.judge.judge import judge
    from fairbench_cli.audit.read.read import read_file, read_frame

    tally = read_file(source, config) if isinstance(source, str | Path) else read_frame(source, config)
    return judge(tally, config)
