"""``fairbench audit``: who is treated how differently by the scores in a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fairbench_cli.audit.show.formats import FORMATS

if TYPE_CHECKING:  # light when asked for --help
    from fairbench_cli.audit.judge.report import Report

Texts = list[str] | None

COLUMNS, DECISIONS, COMPARISON = "Columns", "Decisions", "Comparison and verdict"
CHANCE, EXPLANATION, OUTPUT = "Intervals", "Explanation", "Output"


def audit(
    preds: Annotated[
        str, typer.Argument(help="CSV, TSV, Parquet or NDJSON, also gzipped; - is stdin.", show_default=False)
    ],
    score: Annotated[
        str | None, typer.Option(help="Column of scores. Default: score.", rich_help_panel=COLUMNS)
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(help="Column of true labels. Default: label_value or label.", rich_help_panel=COLUMNS),
    ] = None,
    attribute: Annotated[
        Texts,
        typer.Option(
            "--attribute",
            "-a",
            help="Column to audit. Default: other text columns.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Column of weights.", rich_help_panel=COLUMNS)] = None,
    model_column: Annotated[
        str | None, typer.Option(help="Column that tells models apart.", rich_help_panel=COLUMNS)
    ] = None,
    bins: Annotated[
        Texts, typer.Option(help="Cut a numeric attribute: --bins age=4", rich_help_panel=COLUMNS)
    ] = None,
    intersect: Annotated[
        Texts, typer.Option(help="Audit a combination: --intersect race,sex", rich_help_panel=COLUMNS)
    ] = None,
    threshold: Annotated[
        list[float] | None, typer.Option(help="Selected: score >= this.", rich_help_panel=DECISIONS)
    ] = None,
    top_k: Annotated[
        list[int] | None, typer.Option(help="Selected: the k highest scores.", rich_help_panel=DECISIONS)
    ] = None,
    top_share: Annotated[
        list[float] | None,
        typer.Option(help="Selected: the highest share, such as 0.1.", rich_help_panel=DECISIONS),
    ] = None,
    ties: Annotated[
        Literal["include", "exclude", "random"] | None,
        typer.Option(help="Equal scores at the cut of a top list.", rich_help_panel=DECISIONS),
    ] = None,
    ref: Annotated[
        Texts, typer.Option(help="Reference group: --ref race=Caucasian", rich_help_panel=COMPARISON)
    ] = None,
    ref_method: Annotated[
        Literal["given", "majority", "minimum", "maximum", "rest"] | None,
        typer.Option(help="Reference without --ref. Default: majority.", rich_help_panel=COMPARISON),
    ] = None,
    tau: Annotated[
        Texts,
        typer.Option(
            help="Ratios pass from tau to 1/tau: --tau 0.8 --tau fpr=0.9 Default: 0.8.",
            rich_help_panel=COMPARISON,
        ),
    ] = None,
    metric: Annotated[
        Texts,
        typer.Option(
            "--metric",
            "-m",
            help="Metric or roll-up that decides; any other of `fairbench list metrics` is shown.",
            rich_help_panel=COMPARISON,
        ),
    ] = None,
    intervention: Annotated[
        Literal["punitive", "assistive"] | None,
        typer.Option(help="Decide by fdr, fpr or by for, fnr.", rich_help_panel=COMPARISON),
    ] = None,
    min_group: Annotated[
        int | None, typer.Option(help="Flag groups below. Default: 30.", rich_help_panel=COMPARISON)
    ] = None,
    fail: Annotated[
        bool, typer.Option("--fail", help="Exit 1 when the verdict is fail.", rich_help_panel=COMPARISON)
    ] = False,
    fail_on: Annotated[
        Texts,
        typer.Option(help="Exit 1 when this fails: fpr or race:fpr", rich_help_panel=COMPARISON),
    ] = None,
    draws: Annotated[
        int | None, typer.Option(help="Bootstrap draws. Default: 1000.", rich_help_panel=CHANCE)
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Of draws and random ties. Default: 0.", rich_help_panel=CHANCE)
    ] = None,
    confidence: Annotated[
        float | None, typer.Option(help="Of intervals and tests. Default: 0.95.", rich_help_panel=CHANCE)
    ] = None,
    explain: Annotated[
        Texts,
        typer.Option(help="Column to explain differences by; a,b crosses two.", rich_help_panel=EXPLANATION),
    ] = None,
    neighbours: Annotated[
        int | None, typer.Option(help="People to compare each with. Default: 8.", rich_help_panel=EXPLANATION)
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(help="Least difference of these. Default: 0.3.", rich_help_panel=EXPLANATION),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for CSV, JSON, Markdown, HTML.", rich_help_panel=OUTPUT),
    ] = None,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            help=f"What to print: console, {', '.join(FORMATS)}.",
            rich_help_panel=OUTPUT,
        ),
    ] = "console",
    everything: Annotated[
        bool, typer.Option("--all", help="Print every comparison.", rich_help_panel=OUTPUT)
    ] = False,
    pdf: Annotated[Path | None, typer.Option(help="Write a PDF.", rich_help_panel=OUTPUT)] = None,
    to_db: Annotated[
        str | None, typer.Option(help="Write into a database: sqlite:///audits.db", rich_help_panel=OUTPUT)
    ] = None,
    compat: Annotated[
        Literal["aequitas"] | None,
        typer.Option(help="With -o: write Aequitas' files instead.", rich_help_panel=OUTPUT),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="YAML file of these options; flags win.")
    ] = None,
) -> int:
    """Audit a file of scores: group metrics, disparities with intervals, a verdict for each attribute."""
    from fairbench_cli.audit.api import run
    from fairbench_cli.audit.flags import pairs, tau_flags
    from fairbench_cli.audit.options import read_options
    from fairbench_cli.errors import shown, suggest, user_error
    from fairbench_cli.strict_yaml import scalar

    if compat and output is None:
        raise user_error("--compat writes files and has no folder", "add -o FOLDER", "--compat")
    if format_ not in ("console", *FORMATS):
        raise user_error(
            f"no format is called {shown(format_)}", suggest(format_, ["console", *FORMATS]), "--format"
        )
    flags: dict[str, Any] = {
        "score": score,
        "label": label,
        "attribute": attribute,
        "weight": weight,
        "model-column": model_column,
        "bins": {name: scalar(text) for name, text in pairs(bins or (), "--bins").items()} or None,
        "intersect": [text.split(",") for text in intersect] if intersect else None,
        "threshold": threshold,
        "top-k": top_k,
        "top-share": top_share,
        "ties": ties,
        "ref": pairs(ref or (), "--ref") or None,
        "ref-method": ref_method,
        "tau": tau_flags(tau) if tau else None,
        "metric": metric,
        "intervention": intervention,
        "min-group": min_group,
        "fail": fail or None,
        "fail-on": fail_on,
        "draws": draws,
        "seed": seed,
        "confidence": confidence,
        "explain": explain,
        "neighbours": neighbours,
        "margin": margin,
    }
    given = {key: value for key, value in flags.items() if value is not None and value != []}
    settings = read_options(given, config, {(key,): f"--{key}" for key in given})
    report = run(preds, settings)
    _write(report, output, pdf, to_db, compat)
    _print(report, format_, everything)
    return 1 if settings.fail and report.gate == "fail" else 0


def _write(
    report: "Report", output: Path | None, pdf: Path | None, to_db: str | None, compat: str | None
) -> None:
    """Write what was asked for: a folder, a PDF, database tables."""
    if output is not None and compat:
        from fairbench_cli.audit.show.aequitas import write_compat

        write_compat(report, output)
    elif output is not None:
        from fairbench_cli.audit.show.formats import write_folder

        write_folder(report, output)
    if pdf is not None:
        from fairbench_cli.audit.show.pdf import write_pdf

        write_pdf(report, pdf)
    if to_db is not None:
        from fairbench_cli.audit.show.database import to_database

        to_database(report, to_db)


def _print(report: "Report", format_: str, everything: bool) -> None:
    """Print the report in a format."""
    if format_ == "console":
        from fairbench_cli.cli.audit_console import print_audit

        print_audit(report, everything=everything)
    else:
        from fairbench_cli.audit.show.formats import write

        typer.echo(write(report, format_), nl=False)
