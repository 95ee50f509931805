"""``fairbench audit``: who is treated how differently by scores in a file; ``fairbench power``: before."""

from collections.abc import Mapping, Sequence
from functools import cache, partial
from inspect import Parameter, Signature
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

import typer

from fairbench_cli.audit.show import formats
from fairbench_cli.base.errors import format_value, suggest, user_error
from fairbench_cli.base.files import make_folder, refuse_overwriting, write_files, write_text
from fairbench_cli.base.safe_text import format_path
from fairbench_cli.cli.command import Command
from fairbench_cli.cli.console import print_document, print_text, talk
from fairbench_cli.cli.options import results_folder

if TYPE_CHECKING:  # light when asked for --help
    from fairbench_cli.audit.compare.report import Report
    from fairbench_cli.audit.config import AuditConfig

OUTPUT = "Output"
PANELS = {
    "Columns": "score label attribute bins intersect weight cluster recode keep drop-missing",
    "Decisions": "outcome order favourable favourable-label threshold top-k top-share",
    "Two models, two dates": "against slice",
    "Comparison and verdict": "ref tau margin metric decision better preset",
    "More to know": "curves scan mitigate explain",
    "In CI": "fail baseline fail-on",
}
"""The keys of `AuditConfig` that the help of an audit shows; the others go by ``--set`` or in a file."""
POWER_PANELS = {
    "Who is compared": "attribute bins intersect ref exclude counts table",
    "What is to be shown": "rate ratio tau difference margin sd power comparisons counted confidence",
}
"""The keys of `PlanConfig` that the help of planning shows."""

_output = partial(typer.Option, rich_help_panel=OUTPUT)
SHORT = {"attribute": "-a", "metric": "-m"}
NUMBERS = (int, float)
FLAGS = "fairbench_cli.cli.audit.flags"  # of keys, in the `meta` of a command line


class AuditCommand(Command):
    """The command: each key of `PlanConfig` is a flag, with its type, meaning and default.

    They are made when the command is used, so that ``fairbench --help`` stays light; and only those that are
    given, unless help or an error needs all. Help shows those that `panels` name.
    """

    panels = PANELS

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line."""
        key_of = {f"--{key}": key for key in _kinds_of_keys()} | {flag: key for key, flag in SHORT.items()}
        parsed = {"-", "--"}.union(*(option.opts for option in self.params))
        flags = {word.partition("=")[0] for word in args if word.startswith("-")} - parsed
        if flags <= set(key_of) and not ctx.resilient_parsing:
            ctx.meta[FLAGS] = _flags_of_keys(self.panels, {key_of[word] for word in flags})
        return super().parse_args(ctx, args)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the argument, the flags of keys, and the others."""
        if FLAGS not in ctx.meta:
            ctx.meta[FLAGS] = _flags_of_keys(self.panels, set(_kinds_of_keys()))
        argument, *other_flags = super().get_params(ctx)
        return [argument, *ctx.meta[FLAGS], *other_flags]

    def invoke(self, ctx: Any) -> Any:
        """Run the command, which finds the values of keys in the context's `obj`."""
        ctx.obj = {flag.name.replace("_", "-"): ctx.params.pop(flag.name) for flag in ctx.meta[FLAGS]}
        return super().invoke(ctx)


class PowerCommand(AuditCommand):
    """The command that plans, with the same flags; its help shows those of planning."""

    panels = POWER_PANELS


def _flags_of_keys(panels_of_keys: dict[str, str], wanted: set[str]) -> list[Any]:
    """Return Typer's parameters for keys of `PlanConfig`; those without a panel are not in the help."""
    from fairbench_cli.audit.config import PlanConfig, meanings

    if not wanted:
        return []
    descriptions = meanings(PlanConfig)
    kinds = _kinds_of_keys()
    panels: dict[str, str] = {}
    for title, keys_of_panel in panels_of_keys.items():
        panels |= dict.fromkeys(keys_of_panel.split(), title)
    flags = []
    # Keys with a panel come first, in the order of panels.
    for key in dict.fromkeys(list(panels) + list(descriptions)):
        if key not in wanted:
            continue
        names = [f"--{key}"]
        if key in SHORT:
            names.append(SHORT[key])
        option = typer.Option(
            *names,
            help=descriptions[key],
            rich_help_panel=panels.get(key),
            hidden=key not in panels,
            show_default=False,
        )
        kind = kinds[key]
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


@cache
def _kinds_of_keys() -> dict[str, Any]:
    """Return the type of the flag of each key."""
    from fairbench_cli.audit.config import PlanConfig

    fields = PlanConfig.model_fields.items()
    return {field.alias or name: _kind_of(field.annotation) for name, field in fields}


def _kind_of(annotation: Any) -> Any:
    """Return the type of a flag's value by the type of its key; a mapping is NAME=VALUE, repeated.

    >>> _kind_of(dict[str, float]), _kind_of(tuple[int, ...] | None), _kind_of(float)
    (list[str], list[int], <class 'float'>)
    """
    while get_origin(annotation) in (Annotated, Union, UnionType):
        annotation = get_args(annotation)[0]
    if get_origin(annotation) is tuple:
        value_type = _kind_of(get_args(annotation)[0])
        return list[value_type if value_type in NUMBERS else str]  # type: ignore[misc]
    if get_origin(annotation) is dict:
        return list[str]
    return annotation if annotation in (*NUMBERS, bool) else str


def audit(
    ctx: typer.Context,
    preds: Annotated[
        str,
        typer.Argument(
            help="CSV, TSV, Parquet or NDJSON, also gzipped; SQLite; - is stdin. Or a cell of a run: "
            "results/mine#intervention=massaging,beta=0.5. Or the audit.json of a finished audit.",
            show_default=False,
        ),
    ],
    output: Annotated[
        list[str] | None,
        _output(
            "--output",
            "-o",
            help="File, by its ending: .html .pdf .md .csv .json .xml (JUnit) .sarif; or a folder for all. "
            "Repeat it.",
            show_default=False,
        ),
    ] = None,
    format_: Annotated[
        str, _output("--format", "-f", help=f"What to print: console, {', '.join(formats.FORMATS)}.")
    ] = "console",
    everything: Annotated[bool, _output("--all", help="Print all comparisons, tables and notes.")] = False,
    to_db: Annotated[str | None, _output(help="Write into a database: sqlite:///audits.db")] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Of a folder of results, the cell.", show_default=False, hidden=True),
    ] = None,
    repeat: Annotated[int | None, typer.Option(min=0, help="Which repeat of it.", hidden=True)] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="YAML file of these options; flags win.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Any other key of `fairbench docs audit`: --set min-group=50 --set exclude=race=Other. Each "
            "is a flag, too, as are encoding, id and as-of.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Audit a file of scores: group metrics, disparities with intervals, a verdict for each attribute."""
    from fairbench_cli.audit.api import run
    from fairbench_cli.audit.config import PLANNED
    from fairbench_cli.audit.finished import is_audit, read_audit
    from fairbench_cli.audit.options import read_config
    from fairbench_cli.cli.activity import Activity
    from fairbench_cli.cli.run_command import stoppable

    if format_ not in ("console", *formats.FORMATS):
        fix = suggest(format_, ["console", *formats.FORMATS])
        raise user_error(f"no format is called {format_value(format_)}", fix, "--format")
    keys = _read_keys(ctx.obj, set_ or ())
    preds, cell, repeat_of_cell = _split_cell(preds)
    if cell or repeat_of_cell is not None:
        if only or repeat is not None:
            raise user_error("the cell is named twice", "leave one of the two out", "--only")
        only = cell
        repeat = repeat_of_cell
    wrong = sorted(set(keys) & set(PLANNED))
    if wrong:
        fix = "leave it out, or use `fairbench power`"
        raise user_error(f"{wrong[0]} has no effect", fix, f"--{wrong[0]}")
    settings: AuditConfig = read_config(keys, config, "--")
    folder = results_folder(preds)
    if folder.is_dir():
        preds = str(folder)
    inputs = [preds, config, settings.against, settings.baseline]
    outputs = output or []
    if outputs:
        _check_outputs(outputs, formats.list_kinds())
    _keep_inputs(inputs, outputs, to_db, settings.preset)
    is_finished = is_audit(preds)
    if is_finished and (keys or config or only or repeat is not None):
        names = [*keys, *(["config"] if config else []), *(["only"] if only else []), "repeat"]
        problem = f"a finished audit takes no --{names[0]}"
        fix = "leave it out, or audit the people again"
        raise user_error(problem, fix, f"--{names[0]}")
    with stoppable() as stopped:
        try:
            with Activity(f"reading {preds}") as activity:
                if is_finished:
                    report = read_audit(preds).report
                else:
                    report = run(preds, settings, None, only or (), repeat, activity.tell)
            with Activity("writing"):
                _write(report, outputs, to_db)
            _print(report, format_, everything)
        except KeyboardInterrupt:  # what was copied of the rows is gone
            if not stopped:
                raise
            talk("interrupted")
            return 128 + stopped[0]
    return int(report.gate.stops)


def power(
    ctx: typer.Context,
    groups: Annotated[
        str,
        typer.Argument(
            help="How many rows each group has, white=1000,black=200; or a file of groups. With --sd it may "
            "be left out.",
            show_default=False,
        ),
    ] = "",
    output: Annotated[
        list[str] | None,
        _output(
            "--output",
            "-o",
            help="File, by its ending: .html .md .csv .json; or a folder for all. Repeat it.",
            show_default=False,
        ),
    ] = None,
    format_: Annotated[
        str, _output("--format", "-f", help="What to print: console, csv, json, markdown, html.")
    ] = "console",
    everything: Annotated[bool, _output("--all", help="Print all tables.")] = False,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="YAML file of these options; flags win.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Any other key: --set min-group=50", show_default=False)
    ] = None,
) -> int:
    """Say what so many rows can show: which ratios an audit of them would find, before any are collected."""
    from fairbench_cli.audit.config import PlanConfig
    from fairbench_cli.audit.options import read_config
    from fairbench_cli.audit.planning import make_plan
    from fairbench_cli.audit.written_plan import ENDINGS, WRITERS, files_of

    if format_ not in ("console", *WRITERS):
        fix = suggest(format_, ["console", *WRITERS])
        raise user_error(f"no format of a plan is called {format_value(format_)}", fix, "--format")
    outputs = output or []
    _check_outputs(outputs, ENDINGS)
    keys = _read_keys(ctx.obj, set_ or ())
    plan_found = make_plan(groups, read_config(keys, config, "--", PlanConfig))
    inputs = [path for path in (groups, config) if path]
    files = files_of(plan_found)
    for text in outputs:
        path = Path(text)
        kind = formats.parse_output(text, ENDINGS)
        if kind == formats.FOLDER:
            refuse_overwriting(inputs, [path / name for name in files], "--output")
            write_files(path, files)
            talk(f"{format_path(path)}/: {', '.join(files)}")
        else:
            refuse_overwriting(inputs, [path], "--output")
            make_folder(path.parent)
            write_text(path, files.get(path.name) or plan_found.to(kind))
            talk(f"{format_path(path)}: written")
    if format_ == "console":
        print_document(plan_found.describe(everything=everything))
    else:
        print_text(plan_found.to(format_), format_)
    return 0


def _read_keys(flags: Mapping[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """Return the values of keys that were given, as flags or as ``--set key=value``.

    Raises
    ------
    UserError
        For a setting that is no key=value, and a key of one value that is given twice.
    """
    from fairbench_cli.base.validation import usual_key
    from fairbench_cli.base.yaml_document import parse_scalar

    keys = {key: value for key, value in flags.items() if not _is_unset(value)}
    kinds = _kinds_of_keys()
    for setting in settings:
        name, sign, text = setting.partition("=")
        key = usual_key(name.strip().replace("_", "-"))
        if not sign or not key:
            raise user_error(f"{format_value(setting)} is not KEY=VALUE", "write min-group=50", "--set")
        if get_origin(kinds.get(key)) is list:
            value = parse_scalar(text.strip()) if "=" not in text else text.strip()
            keys[key] = list(keys.get(key, [])) + [value]
        elif key in keys:
            raise user_error(f"{key} is given 2 times", "leave one of the two out", "--set")
        else:
            keys[key] = parse_scalar(text.strip())
    if "intersect" in keys:
        keys["intersect"] = [text.split(",") for text in keys["intersect"]]
    return keys


def _split_cell(preds: str) -> tuple[str, list[str], int | None]:
    """Return the folder of a run, its cell as `--only` takes it, and the repeat; else the file alone.

    ``folder#key=value,repeat=3`` names both.
    """
    folder, sign, text = preds.partition("#")
    if not sign or Path(preds).exists() or not results_folder(folder).is_dir():
        return preds, [], None
    clauses = text.split(",")
    repeats = [clause.partition("=")[2].strip() for clause in clauses if clause.strip().startswith("repeat=")]
    only = ",".join(clause for clause in clauses if not clause.strip().startswith("repeat="))
    if not repeats:
        return folder, [only], None
    if len(repeats) > 1 or not repeats[0].isdecimal():
        raise user_error(f'"{" and ".join(repeats)}" is no repeat', "write repeat=0", preds)
    return folder, [only] if only else [], int(repeats[0])


def _check_outputs(outputs: Sequence[str], kinds: Mapping[str, str]) -> None:
    """Refuse an output of no known format, and one that is named twice."""
    for output in outputs:
        formats.parse_output(output, kinds)
    paths = [Path(output) for output in outputs]
    for path in paths:
        if paths.count(path) > 1:
            raise user_error(f"{format_path(path)} is named twice", "leave one of the two out", "--output")


def _is_unset(value: Any) -> bool:
    return value is None or value is False or value in ([], ())


def _keep_inputs(
    inputs: list[str | Path | None],
    outputs: Sequence[str],
    to_db: str | None,
    preset: str | None,
) -> None:
    """Refuse to overwrite what is read."""
    read = [str(path).removeprefix("sqlite:///") for path in inputs if path is not None]
    for output in outputs:
        written = [Path(output)]
        if formats.parse_output(output, formats.list_kinds()) == formats.FOLDER:
            written = [Path(output) / name for name in _names_in_folder(preset)]
        refuse_overwriting(read, written, "--output")
    if to_db is not None:
        database_file = to_db.partition(":///")[2].partition("?")[0]
        refuse_overwriting(read, [database_file.removeprefix("file:")], "--to-db")


def _names_in_folder(preset: str | None) -> Sequence[str]:
    """Return the names of the files that a folder of an audit may have."""
    if preset == "aequitas":
        from fairbench_cli.audit.show.aequitas import FILES as FILES_OF_AEQUITAS

        return FILES_OF_AEQUITAS
    from fairbench_cli.audit.show.tables import optional_tables

    return sorted(set(formats.FILES) | {formats.file_of(name) for name in optional_tables()})


def _write(report: "Report", outputs: Sequence[str], to_db: str | None) -> None:
    """Write what was asked for: folders, files, database tables; name it on standard error."""
    for output in outputs:
        names = formats.write_output(report, output)
        if formats.parse_output(output, formats.list_kinds()) == formats.FOLDER:
            talk(f"{Path(output)}/: {', '.join(names)}")
        else:
            talk(f"{Path(output)}: written")
    if to_db is not None:
        from fairbench_cli.audit.show.tables import PREFIX, to_database

        talk(f"--to-db: tables {PREFIX}*, audit_id {to_database(report, to_db)}")


def _print(report: "Report", format_: str, everything: bool) -> None:
    """Print the report in a format."""
    from fairbench_cli.audit.show.document import audit_document, describe_gate
    from fairbench_cli.audit.show.formats import write

    if format_ == "console" and everything:
        print_document(audit_document(report, brief=True))
    elif format_ == "console":
        from fairbench_cli.audit.show.short_answer import short_document

        print_document(short_document(report))
    else:
        print_text(write(report, format_), format_)
        if report.gate.stops or report.gate.warning or report.gate.undecided:
            talk(describe_gate(report))
