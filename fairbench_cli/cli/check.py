"""``fairbench check``: try a technique or a classifier before a run does."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from fairbench_cli.base.errors import refuse
from fairbench_cli.cli.console import fold, say
from fairbench_cli.cli.options import NoCode

if TYPE_CHECKING:
    from fairbench_cli.base.errors import Problem
    from fairbench_cli.experiment.trial import Trial

MOST_LINES = 8  # of what a trial prints
INDENT = " " * 6


def check(
    name: Annotated[
        str,
        typer.Argument(
            help="./mine.py:Thing, package.module:Thing, or the name of a technique or classifier; or such "
            "an entry of a config, in quotes: './mine.py:Thing: {share: [0.1, 0.5]}'.",
            show_default=False,
        ),
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Give it a parameter: --set share=0.5; of a list each value.", show_default=False
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="CARD",
            help="Try it on the rows of a card, for what names columns; by default on compas and adult.",
            show_default=False,
        ),
    ] = None,
    no_code: NoCode = False,
) -> int:
    """Try a technique or classifier on small samples: seeds, weights, empty cells, unseen levels and more.

    Exit code 0: all that was tried holds; 1: something does not; 2: it cannot be tried.
    """
    from fairbench_cli.base.errors import UserError
    from fairbench_cli.base.plugins import refusing_code
    from fairbench_cli.base.strict_yaml import override_values, parse_yaml
    from fairbench_cli.base.yaml_document import YamlDocument
    from fairbench_cli.experiment.config.components import split_name
    from fairbench_cli.experiment.trial import captured, find_components

    # as in a config, or a name
    if ": " in name:
        entry = parse_yaml(name, "NAME").data
    else:
        entry = name
    called, options = split_name(entry)
    parameters, problems = override_values(YamlDocument(options, {}, "--set"), tuple(set_ or ()))
    refuse(problems)
    with refusing_code(no_code), captured():  # of what is imported
        try:
            trials = find_components(entry if called is None else {called: parameters.data})
        except UserError as error:
            raise UserError(*map(_as_command, error.problems)) from None
    if data is not None:
        trials = [replace(trial, sources=(data,)) for trial in trials]
        with captured():
            trials[0].samples()  # an error of the card, or of its files, comes first
    failed = [_show(trial) for trial in trials]
    return int(any(failed))


def _as_command(problem: "Problem") -> "Problem":
    """Return a problem whose fix, an entry of a config, is written as this command."""
    entry = str(problem.fix).removeprefix("write ")
    if not re.fullmatch(r"\S+:\w+: \{.*\}", entry):
        return problem
    return replace(problem, fix=f"fairbench check {shlex.quote(entry)}")


def _show(trial: "Trial") -> int:
    """Print what holds of one, and how to mend what does not; return how much that is."""
    title = [f"{trial.kind.name} {trial.spec}"]
    if trial.include_protected:
        title.append("include_protected=true")
    if trial.representation != "original":
        title.append(f"representation={trial.representation}")
    say(", ".join(title), "bold")
    findings = trial.findings()
    shown_causes: set[tuple[str, ...]] = {()}
    for finding in findings:
        say(f"  {'✗' if finding.mend else '✓'} {finding.title}", "red" if finding.mend else "")
        if finding.mend:
            fold(finding.mend, indent=INDENT, first_indent=INDENT)
        if finding.mend and finding.printed not in shown_causes:
            shown_causes.add(finding.printed)
            _block("It printed:", finding.printed)
        if finding is findings[0] and finding.warned:
            _block("It warns; a run keeps the first one as the reason of a repeat:", finding.warned)
    failed = sum(bool(finding.mend) for finding in findings)
    if not findings[0].mend and (remark := trial.remark()):
        say("  ! has an effect", "yellow")
        fold(remark, indent=INDENT, first_indent=INDENT)
    say(f"{failed} of {len(findings)} to mend" if failed else f"all {len(findings)} hold")
    return failed


def _block(title: str, lines: Sequence[str]) -> None:
    """Print a title and some lines as they are, the last ones where there are many."""
    left_out = len(lines) - MOST_LINES
    say(f"{INDENT}{title}", "dim")
    for line in ([f"… {left_out} more lines"] if left_out > 0 else []) + list(lines[-MOST_LINES:]):
        say(f"{INDENT}| {line}", "dim")
