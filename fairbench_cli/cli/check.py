"""``fairbench check``: try a technique or a classifier before a run does."""

import textwrap
from typing import Annotated

import typer


def check(
    name: Annotated[
        str,
        typer.Argument(
            help="./mine.py:Thing, package.module:Thing, or the name of a technique or classifier.",
            show_default=False,
        ),
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Give it a parameter: --set share=0.5", show_default=False),
    ] = None,
) -> int:
    """Try a technique or classifier on small samples: seeds, weights, empty cells, unseen levels and more."""
    from fairbench_cli.base.errors import UserError
    from fairbench_cli.base.strict_yaml import YamlDocument, laid_over
    from fairbench_cli.cli.console import out, say
    from fairbench_cli.experiment.trial import find_component

    given, problems = laid_over(YamlDocument({}, {}, "--set"), tuple(set_ or ()))
    if problems:
        raise UserError(*problems)
    trial = find_component(name, given.data)
    say(f"{trial.kind.name} {trial.spec}", "bold")
    findings = trial.findings()
    width = min(out().width, 80)
    for finding in findings:
        say(f"  {'✗' if finding.mend else '✓'} {finding.title}", "red" if finding.mend else "")
        for line in textwrap.wrap(finding.mend, width - 6, break_on_hyphens=False):
            say(f"      {line}")
    failed = sum(bool(finding.mend) for finding in findings)
    say(f"{failed} of {len(findings)} to mend" if failed else f"all {len(findings)} hold")
    return 1 if failed else 0
