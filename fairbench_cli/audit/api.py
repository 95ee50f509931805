"""An audit in one call, for notebooks and other programs."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from fairbench_cli.audit.config import AuditConfig
    from fairbench_cli.audit.judge.report import Report


def audit(
    source: "str | Path | pd.DataFrame", *, config: str | Path | None = None, **options: Any
) -> "Report":
    """Audit a file or data frame of scores.

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

    Returns
    -------
    Report
        With `verdict`, `audit` (all numbers), `to_html()`, `to_json()` and `to_markdown()`.

    Raises
    ------
    UserError
        Listing what is wrong with the options or the file.
    """
    from fairbench_cli.audit.config import read_config

    return run(source, read_config(options, Path(config) if config is not None else None))


def run(source: "str | Path | pd.DataFrame", config: "AuditConfig") -> "Report":
    """Audit a file or data frame with options that are checked."""
    from fairbench_cli.audit.judge.explain import explain
    from fairbench_cli.audit.judge.report import report_of
    from fairbench_cli.audit.judge.run import audit_tally
    from fairbench_cli.audit.read.read import read_file, read_frame

    tally = read_file(source, config) if isinstance(source, str | Path) else read_frame(source, config)
    audited = audit_tally(tally, config, config.measures)
    report = report_of(audited, config.measures)
    return replace(report, explanations=explain(audited), ask=config.explain)
