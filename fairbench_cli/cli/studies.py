"""``fairbench compare TABLE``: other people's results, and a run beside them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from fairbench_cli.base.errors import suggest, user_error
from fairbench_cli.base.files import make_folder, write_text
from fairbench_cli.base.safe_text import format_count
from fairbench_cli.cli import console

PANEL = "A table of published repeats"
DESIGN_NAMES = ("splits", "folds", "fresh", "seeds", "unpaired")
GATES = ("worse", "claims")
SPELLED = {"margin": "--same"}  # options that are not called like their parameter


def of_table(help_: str, name: str = "", **settings: Any) -> Any:
    """Return an option that is about a table; its name is the parameter's unless another is given."""
    names = [name] if name else []
    return typer.Option(*names, help=help_, rich_help_panel=PANEL, **settings)


def flag_of(name: str) -> str:
    """Return the option of a parameter of `fb.compare`."""
    return SPELLED.get(name, f"--{name.replace('_', '-')}")


def split_pairs(texts: Sequence[str] | None, flag: str) -> dict[str, str]:
    """Return names and values of texts such as ``technique=method,repeat=seed``.

    Raises
    ------
    UserError
        For a text without "=".
    """
    pairs = {}
    for pair in ",".join(texts or ()).split(","):
        name, equals, value = pair.partition("=")
        if equals:
            pairs[name.strip()] = value.strip()
        elif pair.strip():
            raise user_error(f'cannot read "{pair}"', "write NAME=VALUE, such as repeat=seed", flag)
    return pairs


def compare_table(
    paths: Sequence[Path],
    reading: Mapping[str, Any],
    judging: Mapping[str, Any],
    claims: str | None = None,
    fail_on: str | None = None,
    output: Path | None = None,
) -> int:
    """Judge a table of published repeats, and a run beside it; write files where they are asked for.

    Parameters
    ----------
    paths : sequence of Path
        A table, and perhaps the folder of a run; one of both with claims.
    reading, judging : mapping
        Options of `fb.compare` that were given: on how the table is read and its design, which
        `fb.check_claims` has too, and the others.
    claims : str, optional
        A file of claims, or the word for those that come with fairbench.
    fail_on : {"worse", "claims"}, optional
        What gives the exit code 1.
    """
    from fairbench_cli.api.studies import check_claims, compare
    from fairbench_cli.cli.activity import Activity
    from fairbench_cli.document.html import html
    from fairbench_cli.document.markdown import markdown

    if fail_on is not None and fail_on not in GATES:
        raise user_error(f'nothing is called "{fail_on}"', suggest(fail_on, GATES), "--fail-on")
    if fail_on is not None and (fail_on == "claims") != (claims is not None):
        fix = "add --claims FILE" if claims is None else "write --fail-on claims"
        raise user_error(f"it is not known whether something is {fail_on}", fix, "--fail-on")
    if claims is not None:
        for name in judging:
            flag = flag_of(name)
            raise user_error("a claim says that itself", f"leave {flag} out with --claims", flag)
    tables = [path for path in paths if not path.is_dir()]
    runs = [path for path in paths if path.is_dir()]
    problem = f"{format_count(len(tables), 'table')} and {format_count(len(runs), 'folder')}"
    if claims is not None and len(paths) != 1:
        raise user_error(problem, "give one table, or the folder of one run, with --claims")
    if claims is None and (len(tables) != 1 or len(runs) > 1):
        raise user_error(problem, "give one table, and the folder of a run that stands beside it, if any")
    with Activity(f"reading {paths[0]}"):
        if claims is None:
            result = compare(tables[0], **reading, **judging, run=runs[0] if runs else None)
            document = result.document
            fails = result.comparisons.count("holm")["worse"] > 0
            frames = {"comparisons": result.comparisons.frame, "data_sets": result.over_data_sets}
        else:
            checked = check_claims(paths[0], claims, **reading)
            document = checked.document
            fails = any(claim.verdict == "does not hold" for claim in checked.claims)
            frames = {"claims": checked.to_pandas()}
    if output is not None:
        make_folder(output)
        page = "claims" if claims else "compare"
        files = {f"{page}.html": html(document), f"{page}.md": markdown(document)}
        files |= {f"{name}.csv": frame.to_csv(index=False) for name, frame in frames.items()}
        for name, text in files.items():
            write_text(output / name, text)
        console.talk(f"{output}/: {', '.join(files)}")
    console.print_document(document)
    return int(fail_on is not None and fails)
