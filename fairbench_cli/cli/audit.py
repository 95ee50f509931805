"""``fairbench audit``: who is treated how differently by the scores in a file."""

from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairbench_cli.audit.show.formats import FORMATS, file_of
from fairbench_cli.cli.command import Command

if TYPE_CHECKING:  # light when asked for --help
    from fairbench_cli.audit.compare.report import Report
    from fairbench_cli.audit.config import AuditConfig

OUTPUT = "Output"
RUN = "Results of a run"
PANELS = {
    "Columns": "table score label attribute weight counts cluster model-column bins spellings intersect",
    "Decisions": "favourable threshold top-k top-share ties curves",
    "Two models, two dates": "against id slice",
    "Comparison and verdict": "ref ref-method tau metric decision rule preset min-group min-share exclude "
    "fail fail-on",
    "Intervals": "draws seed confidence",
    "Small groups": "scan",
    "Explanation": "explain neighbours margin",
    OUTPUT: "title",
    "Planning": "rate ratio power comparisons counted",
}
"""The keys of `PlanConfig`, and so of `AuditConfig`, as its help shows them."""

_output = partial(typer.Option, rich_help_panel=OUTPUT)
_of_run = partial(typer.Option, rich_help_panel=RUN)
SHORT = {"attribute": "-a", "metric": "-m"}
KINDS = {"integer": int, "number": float, "boolean": bool}


class AuditCommand(Command):
    """The command: each key of `PlanConfig` is a flag, with its type, meaning and default.

    They are looked up when the command is used, so that ``fairbench --help`` stays light.
    """

    _flags: list[Any] | None = None

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the argument, the flags of keys, and the others."""
        if self._flags is None:
            self._flags = _flags_of_keys()
        argument, *other_flags = super().get_params(ctx)
        return [argument] + self._flags + other_flags

    def invoke(self, ctx: Any) -> Any:
        """Run the command, which finds the values of keys in the context's `obj`."""
        ctx.obj = {flag.name.replace("_", "-"): ctx.params.pop(flag.name) for flag in self._flags or ()}
        return super().invoke(ctx)


def _flags_of_keys() -> list[Any]:
    """Return Typer's parameters for the keys of `PlanConfig`."""
    from fairbench_cli.audit.config import PlanConfig, meanings

    schemas = PlanConfig.model_json_schema()["properties"]
    descriptions = meanings(PlanConfig)
    panels: dict[str, str] = {}
    for title, keys_of_panel in PANELS.items():
        panels |= dict.fromkeys(keys_of_panel.split(), title)
    flags = []
    # Keys with a panel come first, in the order of panels.
    for key in dict.fromkeys(list(panels) + list(descriptions)):
        names = [f"--{key}"]
        if key in SHORT:
            names.append(SHORT[key])
        option = typer.Option(
            *names, help=descriptions[key], rich_help_panel=panels.get(key), show_default=False
        )
        kind = _kind_of(schemas[key])
        type_, default = (bool, False) if kind is bool else (kind | None, None)
        name = key.replace("-", "_")
        flags.append(
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[type_, option])
        )

    def keys() -> None:
        """Take the keys."""

    keys.__signature__ = Signature(flags)  # type: ignore[attr-defined]
    app = typer.Typer(add_completion=False)
    app.command()(keys)
    return typer.main.get_command(app).params


def _kind_of(schema: dict[str, Any]) -> Any:
    """Return the type of a flag's value by the JSON Schema of its key; a mapping is NAME=VALUE, repeated."""
    value_schema = next(
        alternative for alternative in schema.get("anyOf", [schema]) if alternative.get("type") != "null"
    )
    if value_schema.get("type") == "array":
        return list[KINDS.get(value_schema["items"].get("type"), str)]  # type: ignore[misc]
    if value_schema.get("type") == "object":
        return list[str]
    return KINDS.get(value_schema.get("type", ""), str)


def audit(
    ctx: typer.Context,
    preds: Annotated[
        str,
        typer.Argument(
            help="CSV, TSV, Parquet or NDJSON, also gzipped; SQLite; - is stdin. Or a folder of results.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None, _output("--output", "-o", help="Folder for CSV, JSON, Markdown, HTML.")
    ] = None,
    format_: Annotated[
        str, _output("--format", "-f", help=f"What to print: console, {', '.join(FORMATS)}.")
    ] = "console",
    everything: Annotated[bool, _output("--all", help="Print every comparison.")] = False,
    pdf: Annotated[Path | None, _output(help="Write a PDF.")] = None,
    to_db: Annotated[str | None, _output(help="Write into a database: sqlite:///audits.db")] = None,
    only: Annotated[
        list[str] | None,
        _of_run(
            help="Of a folder of results, the cell: --only intervention=massaging,beta=0.5",
            show_default=False,
        ),
    ] = None,
    repeat: Annotated[int | None, _of_run(min=0, help="Which repeat of it.", show_default="0")] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="YAML file of these options; flags win.")
    ] = None,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan",
            help="What so many rows can show: of white=1000,black=200, or of a file of groups.",
            rich_help_panel="Planning",
        ),
    ] = False,
) -> int:
    """Audit a file of scores: group metrics, disparities with intervals, a verdict for each attribute."""
    from fairbench_cli.audit.api import run
    from fairbench_cli.audit.config import PLANNED
    from fairbench_cli.audit.options import read_config
    from fairbench_cli.base.errors import format_value, suggest, user_error
    from fairbench_cli.cli.activity import Activity
    from fairbench_cli.cli.console import talk
    from fairbench_cli.cli.options import results_folder
    from fairbench_cli.cli.run_command import stoppable

    if format_ not in ("console", *FORMATS):
        fix = suggest(format_, ["console", *FORMATS])
        raise user_error(f"no format is called {format_value(format_)}", fix, "--format")
    keys = {key: value for key, value in ctx.obj.items() if not _is_unset(value)}
    if "intersect" in keys:
        keys["intersect"] = [text.split(",") for text in keys["intersect"]]
    if plan:
        for flag, value in (("--pdf", pdf), ("--to-db", to_db), ("--all", everything)):
            if value:
                raise user_error(f"a plan has no {flag}", "give --output, which writes its files", flag)
        if only or repeat is not None:
            problem = "a plan is about rows that are not decided yet"
            raise user_error(problem, "leave one of the two out", "--only" if only else "--repeat")
        return _plan(preds, keys, config, output, format_)
    wrong = sorted(set(keys) & set(PLANNED))
    if wrong:
        raise user_error(f"{wrong[0]} has no effect", "give --plan, or leave it out", f"--{wrong[0]}")
    settings: AuditConfig = read_config(keys, config, "--")
    folder = results_folder(preds)
    if folder.is_dir():
        preds = str(folder)
    _keep_inputs([preds, config, settings.against], output, pdf, to_db, settings.preset)
    with stoppable() as stopped:
        try:
            with Activity(f"reading {preds}") as activity:
                report = run(preds, settings, None, only or (), repeat, activity.tell)
            with Activity("writing"):
                _write(report, output, pdf, to_db)
            _print(report, format_, everything)
        except KeyboardInterrupt:  # what was copied of the rows is gone
            if not stopped:
                raise
            talk("interrupted")
            return 128 + stopped[0]
    return int(report.gate.stops)


def _plan(source: str, keys: dict[str, Any], config: Path | None, output: Path | None, format_: str) -> int:
    """Print a plan, and write its files."""
    from fairbench_cli.audit.config import PlanConfig
    from fairbench_cli.audit.options import read_config
    from fairbench_cli.audit.planning import WRITERS, files_of, make_plan, plan_document
    from fairbench_cli.base.errors import format_value, suggest, user_error
    from fairbench_cli.base.files import refuse_overwriting, write_files
    from fairbench_cli.cli.console import print_document, print_text, talk

    if format_ not in ("console", *WRITERS):
        fix = suggest(format_, ["console", *WRITERS])
        raise user_error(f"no format of a plan is called {format_value(format_)}", fix, "--format")
    plan_found = make_plan(source, read_config(keys, config, "--", PlanConfig))
    if output is not None:
        files = files_of(plan_found)
        inputs = [path for path in (source, config) if path]
        refuse_overwriting(inputs, [output / name for name in files], "--output")
        write_files(output, files)
        talk(f"{output}/: {', '.join(files)}")
    if format_ == "console":
        print_document(plan_document(plan_found))
    else:
        print_text(plan_found.to(format_), format_)
    return 0


def _is_unset(value: Any) -> bool:
    return value is None or value is False or value in ([], ())


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
    from fairbench_cli.base.files import refuse_overwriting

    read = [str(path).removeprefix("sqlite:///") for path in inputs if path is not None]
    if output is not None:
        ours = {name for name, _ in FORMATS.values()} | {file_of(name) for name in OPTIONAL}
        names = FILES if preset == "aequitas" else sorted(ours)
        refuse_overwriting(read, [output / name for name in names], "--output")
    if pdf is not None:
        refuse_overwriting(read, [pdf], "--pdf")
    if to_db is not None:
        database_file = to_db.partition(":///")[2].partition("?")[0]
        refuse_overwriting(read, [database_file.removeprefix("file:")], "--to-db")


def _write(report: "Report", output: Path | None, pdf: Path | None, to_db: str | None) -> None:
    """Write what was asked for: a folder, a PDF, database tables; name it on standard error."""
    from fairbench_cli.audit.show.aequitas import write_compat
    from fairbench_cli.audit.show.document import write_pdf
    from fairbench_cli.audit.show.formats import write_folder
    from fairbench_cli.audit.show.tables import PREFIX, to_database
    from fairbench_cli.cli.console import talk

    if output is not None:
        write = write_compat if report.config.preset == "aequitas" else write_folder
        talk(f"{output}/: {', '.join(write(report, output))}")
    if pdf is not None:
        write_pdf(report, pdf)
        talk(f"{pdf}: written")
    if to_db is not None:
        talk(f"--to-db: tables {PREFIX}*, audit_id {to_database(report, to_db)}")


def _print(report: "Report", format_: str, everything: bool) -> None:
    """Print the report in a format."""
    from fairbench_cli.audit.show.document import audit_document, describe_gate
    from fairbench_cli.audit.show.formats import write
    from fairbench_cli.cli.console import print_document, print_text, talk

    if format_ == "console":
        print_document(audit_document(report, everything=everything, brief=True))
    else:
        print_text(write(report, format_), format_)
        if report.gate.stops:
            talk(describe_gate(report))
