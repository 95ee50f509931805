"""The command tree, and the one place where errors become text and exit codes."""

import errno
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import typer
from typer.core import TyperGroup

from fairbench_cli import __version__
from fairbench_cli.base.errors import UserError, find_nearest, format_value, join_problems, spell_together
from fairbench_cli.base.safe_text import SPELLINGS, format_path, printable
from fairbench_cli.cli import (
    audit,
    check,
    data,
    init,
    listing,
    network,
    plan,
    results,
    run_command,
    simulate,
    web,
)
from fairbench_cli.cli.command import Command
from fairbench_cli.cli.streams import widen

# Typer ships its own Click or uses the installed one, by version; this is the right class either way.
UsageError = cast("type[typer.BadParameter]", typer.BadParameter.__mro__[1])


@contextmanager
def _aborted() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Abort from None


class Commands(TyperGroup):
    """The commands; Ctrl-C reaches `run` whatever Typer makes of it."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the command line."""
        with _aborted():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with _aborted():
            return super().invoke(ctx)


app = typer.Typer(
    name="fairbench",
    cls=Commands,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Benchmark runner and audit tool for fairness in machine learning.",
    epilog="Start with: fairbench run quickstart; with a table of your own: fairbench init data.csv",
)


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"fairbench {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """Take the options that come before a command."""


app.command("run")(run_command.run)
app.command("init")(init.init)
app.command("audit", cls=audit.AuditCommand)(audit.audit)
app.command("power", cls=audit.PowerCommand)(audit.power)
app.command("web")(web.web)
app.command("plan")(plan.plan)
app.command("report")(results.report)
app.command("compare")(results.compare)
app.command("verify")(results.verify)
app.command("simulate", hidden=True)(simulate.simulate)
app.command("check")(check.check)
app.command("list")(listing.list_names)
app.command("docs")(listing.docs)
app.add_typer(data.app, name="data")
app.add_typer(network.app, name="network")
for commands in (app, data.app, network.app):
    for registered in commands.registered_commands:
        if registered.cls is None or not issubclass(registered.cls, Command):
            registered.cls = Command


@cache
def command_tree() -> Any:
    """Return the commands with their parameters: made once, also where a process runs many command lines."""
    return typer.main.get_command(app)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    widen()
    try:
        usual_arguments = [_usual(argument) for argument in arguments]
        if not arguments or {"-h", "--help"} & set(arguments):
            _load_help()
        code = command_tree()(usual_arguments, prog_name="fairbench", standalone_mode=False)
    except UserError as error:
        lines = join_problems(error.problems)
        if error.remedies:
            line = shlex.join(["fairbench"] + arguments)
            lines.append(f"{error.remedies_heading}:\n  {line} {spell_together(error.remedies)}")
        _complain("\n".join(lines))
        return 2
    except UsageError as error:
        _complain(_usage(error, arguments))
        return 2
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        longest = max(Path(os.fsdecode(error.filename or "")).parts, key=len, default="")
        problem = (
            f"the name {format_value(format_path(longest))} of a file or folder, or its path, is too long"
        )
        _complain(f"error: {problem}\n  fix: use names of at most 255 bytes, in a path of at most 4,095")
        return 2
    except MemoryError:
        _complain("error: out of memory\n  fix: ask for fewer rows or workers")
        return 2
    except (typer.Abort, KeyboardInterrupt):
        _complain("interrupted")
        return 130
    if isinstance(code, int):
        return code
    return 0


def _load_help() -> None:
    """Load Typer's help without what that loads for Markdown and tracebacks, of which this has none."""
    unused = {"rich.markdown", "rich.traceback"} - set(sys.modules)
    for name in unused:
        sys.modules[name] = ModuleType(name)
        vars(sys.modules[name])["__getattr__"] = lambda _: ModuleType
    import typer.rich_utils  # noqa: F401

    for name in unused:
        del sys.modules[name]


def _usage(error: typer.BadParameter, arguments: list[str]) -> str:
    """Return in two lines what is wrong with a command line; empty where help was shown instead."""
    flag = getattr(error, "option_name", "") or next(
        iter(getattr(getattr(error, "param", None), "opts", ())), ""
    )
    if flag and error.ctx and isinstance(error.ctx.command, audit.AuditCommand):
        from fairbench_cli.audit.config import AuditConfig, explain_cut

        problem = AuditConfig.removed.get(flag.removeprefix("--"))
        if flag in ("--threshold", "--top-k", "--top-share"):
            cuts = (explain_cut(flag[2:], value) for value in _values_of(flag, arguments))
            problem = next(filter(None, cuts), None)
        if problem:
            return str(replace(problem, where=flag))
    message = error.format_message().rstrip(".").replace("Value error, ", "")
    command = "fairbench"
    if error.ctx:
        command = error.ctx.command_path
    spaced = "extra argument" in message and any(bracket in message for bracket in "[]{}")
    if spaced:
        fix = "put quotes around a value with spaces, such as '[label: {flip: 0.5}]'"
    else:
        fix = _nearest_choice(message) or _option_in_place_of(error, arguments)
    if message:
        return f"error: {' '.join(message.split())}\n  fix: {fix or f'see `{command} --help`'}"
    return ""


def _nearest_choice(message: str) -> str:
    """Return the choice that is nearest to a value that is none of them, as a question; else nothing.

    >>> _nearest_choice("Invalid value for 'kind': 'metric' is not one of 'configs', 'metrics'")
    'did you mean "metrics"?'
    """
    wrong_value = re.search("'([^']*)' is not one of (.+)", message)
    if wrong_value is None:
        return ""
    nearest = find_nearest(wrong_value[1], re.findall("'([^']*)'", wrong_value[2]))
    if nearest is None:
        return ""
    return f'did you mean "{nearest}"?'


def _values_of(flag: str, arguments: list[str]) -> list[str]:
    """Return the values of an option in a command line: ``--flag value`` and ``--flag=value``."""
    tokens = chain.from_iterable(
        argument.split("=", 1) if argument.startswith("--") else [argument] for argument in arguments
    )
    return [value for option, value in pairwise(tokens) if option == flag]


def _option_in_place_of(error: typer.BadParameter, arguments: list[str]) -> str:
    """Return the option that an unknown one is elsewhere, or the setting that it is (``--seed 5``)."""
    flag = getattr(error, "option_name", None)
    if not flag or error.ctx is None:
        return ""
    from fairbench_cli.base.synonyms import find_synonyms

    flags = chain.from_iterable(option.opts for option in error.ctx.command.get_params(error.ctx))
    options = {name.removeprefix("--") for name in flags if name.startswith("--")}
    if meant := find_synonyms(flag, options):
        return f"did you mean --{meant[0]}?"
    if isinstance(error.ctx.command, audit.AuditCommand):
        return ""
    if not any("--set" in option.opts for option in error.ctx.command.params):
        return ""
    from fairbench_cli.experiment.config.config import ExperimentConfig

    keys = {key.replace("_", "-") for key in ExperimentConfig.model_fields}
    nearest = find_nearest(flag.removeprefix("--"), keys | options)
    if nearest not in keys:
        return ""
    value = next(iter(_values_of(flag, arguments)), "VALUE")
    return f"write --set {nearest.replace('-', '_')}={value}"


def _usual(argument: str) -> str:
    """Return a flag by its usual name where it is spelled otherwise, such as ``--favorable=yes``."""
    flag, equals, value = argument.partition("=")
    name = flag.removeprefix("--")
    if f"--{name}" == flag and name in SPELLINGS:
        return f"--{SPELLINGS[name]}{equals}{value}"
    return argument


def _complain(text: str) -> None:
    if text:
        print(printable(text, keep="\n"), file=sys.stderr)  # noqa: T201
