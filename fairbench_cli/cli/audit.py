"""``fairbench audit``: who is treated how differently by the scores in a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from fairbench_cli.audit.show.formats import FORMATS, file_of

if TYPE_CHECKING:  # light when asked for --help
    from fairbench_cli.audit.compare.report import Report

Texts = list[str] | None

COMPARED, CHANGED, OUTPUT = "Comparison and verdict", "Two models, two dates", "Output"
COLUMNS = typer.Option(rich_help_panel="Columns")
DECISIONS = typer.Option(rich_help_panel="Decisions")
CHANGES = typer.Option(rich_help_panel=CHANGED)
COMPARISON = typer.Option(rich_help_panel=COMPARED)
INTERVALS = typer.Option(rich_help_panel="Intervals")
EXPLANATION = typer.Option(rich_help_panel="Explanation")


class AuditCommand(TyperCommand):
    """The command, whose help says of each key what `AuditConfig` says: its meaning and its default."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        from fairbench_cli.audit.config import meanings

        known = meanings()
        for option in self.params:
            key = (option.name or "").rstrip("_").replace("_", "-")
            if key in known:
                option.help = known[key]  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


def audit(
    preds: Annotated[
        str, typer.Argument(help="CSV, TSV, Parquet or NDJSON, also gzipped; - is stdin.", show_default=False)
    ],
    score: Annotated[Texts, COLUMNS] = None,
    label: Annotated[str | None, COLUMNS] = None,
    attribute: Annotated[Texts, typer.Option("--attribute", "-a", rich_help_panel="Columns")] = None,
    weight: Annotated[str | None, COLUMNS] = None,
    cluster: Annotated[str | None, COLUMNS] = None,
    model_column: Annotated[str | None, COLUMNS] = None,
    bins: Annotated[Texts, COLUMNS] = None,
    intersect: Annotated[Texts, COLUMNS] = None,
    favourable: Annotated[Texts, DECISIONS] = None,
    against: Annotated[str | None, CHANGES] = None,
    id_: Annotated[str | None, typer.Option("--id", rich_help_panel=CHANGED)] = None,
    slice_: Annotated[str | None, typer.Option("--slice", rich_help_panel=CHANGED)] = None,
    threshold: Annotated[list[float] | None, DECISIONS] = None,
    top_k: Annotated[list[int] | None, DECISIONS] = None,
    top_share: Annotated[list[float] | None, DECISIONS] = None,
    ties: Annotated[str | None, DECISIONS] = None,
    ref: Annotated[Texts, COMPARISON] = None,
    ref_method: Annotated[str | None, COMPARISON] = None,
    tau: Annotated[Texts, COMPARISON] = None,
    metric: Annotated[Texts, typer.Option("--metric", "-m", rich_help_panel=COMPARED)] = None,
    decision: Annotated[str | None, COMPARISON] = None,
    rule: Annotated[str | None, COMPARISON] = None,
    preset: Annotated[str | None, COMPARISON] = None,
    min_group: Annotated[int | None, COMPARISON] = None,
    min_share: Annotated[float | None, COMPARISON] = None,
    exclude: Annotated[Texts, COMPARISON] = None,
    fail: Annotated[bool, typer.Option("--fail", rich_help_panel=COMPARED)] = False,
    fail_on: Annotated[Texts, COMPARISON] = None,
    draws: Annotated[int | None, INTERVALS] = None,
    seed: Annotated[int | None, INTERVALS] = None,
    confidence: Annotated[float | None, INTERVALS] = None,
    curves: Annotated[bool, typer.Option("--curves", rich_help_panel="Decisions")] = False,
    explain: Annotated[Texts, EXPLANATION] = None,
    neighbours: Annotated[int | None, EXPLANATION] = None,
    margin: Annotated[float | None, EXPLANATION] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for CSV, JSON, Markdown, HTML.", rich_help_panel=OUTPUT),
    ] = None,
    format_: Annotated[
        str,
        typer.Option(
            "--format", "-f", help=f"What to print: console, {', '.join(FORMATS)}.", rich_help_panel=OUTPUT
        ),
    ] = "console",
    everything: Annotated[
        bool, typer.Option("--all", help="Print every comparison.", rich_help_panel=OUTPUT)
    ] = False,
    pdf: Annotated[Path | None, typer.Option(help="Write a PDF.", rich_help_panel=OUTPUT)] = None,
    to_db: Annotated[
        str | None, typer.Option(help="Write into a database: sqlite:///audits.db", rich_help_panel=OUTPUT)
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="YAML file of these options; flags win.")
    ] = None,
) -> int:
    """Audit a file of scores: group metrics, disparities with intervals, a verdict for each attribute."""
    flags = {name.rstrip("_"): value for name, value in locals().items()}
    from fairbench_cli.audit.api import run
    from fairbench_cli.audit.config import meanings
    from fairbench_cli.audit.options import read_config
    from fairbench_cli.base.errors import shown, suggest, user_error

    if format_ not in ("console", *FORMATS):
        fix = suggest(format_, ["console", *FORMATS])
        raise user_error(f"no format is called {shown(format_)}", fix, "--format")
    given = {key: flags[key.replace("-", "_")] for key in meanings()}
    given |= {
        "fail": fail or None,
        "curves": curves or None,
        "intersect": [text.split(",") for text in intersect or ()],
    }
    settings = read_config({key: value for key, value in given.items() if value != []}, config, "--")
    _keep_inputs([preds, config, settings.against], output, pdf, to_db, settings.preset)
    report = run(preds, settings)
    _write(report, output, pdf, to_db)
    _print(report, format_, everything)
    return int(report.gate.stops)


def _keep_inputs(
    inputs: list[str | Path | None],
    output: Path | None,
    pdf: Path | None,
    to_db: str | None,
    preset: str | None,
) -> None:
    """Refuse to overwrite what is read."""
    from fairbench_cli.audit.show.aequitas import FILES
    from fairbench_cli.audit.show.tables import OPTIONAL
    from fairbench_cli.base.files import keep_inputs

    read = [path for path in inputs if path is not None]
    if output is not None:
        ours = {name for name, _ in FORMATS.values()} | {file_of(name) for name in OPTIONAL}
        names = FILES if preset == "aequitas" else sorted(ours)
        keep_inputs(read, [output / name for name in names], "--output")
    if pdf is not None:
        keep_inputs(read, [pdf], "--pdf")
    if to_db is not None:
        place = to_db.partition(":///")[2].partition("?")[0]
        keep_inputs(read, [place.removeprefix("file:")], "--to-db")


def _write(report: "Report", output: Path | None, pdf: Path | None, to_db: str | None) -> None:
    """Write what was asked for: a folder, a PDF, database tables."""
    if output is not None and report.config.preset == "aequitas":
        from fairbench_cli.audit.show.aequitas import write_compat

        write_compat(report, output)
    elif output is not None:
        from fairbench_cli.audit.show.formats import write_folder

        write_folder(report, output)
    if pdf is not None:
        from fairbench_cli.audit.show.document import write_pdf

        write_pdf(report, pdf)
    if to_db is not None:
        from fairbench_cli.audit.show.tables import to_database

        to_database(report, to_db)


def _print(report: "Report", format_: str, everything: bool) -> None:
    """Print the report in a format."""
    if format_ == "console":
        from fairbench_cli.audit.show.document import audit_document
        from fairbench_cli.cli.console import print_document

        print_document(audit_document(report, everything=everything, brief=True))
    else:
        from fairbench_cli.audit.show.document import gate_words
        from fairbench_cli.audit.show.formats import write
        from fairbench_cli.cli.console import print_text, talk

        print_text(write(report, format_), format_)
        if report.gate.stops:
            talk(gate_words(report))
