"""``fairbench compare``: a run's results against a paper's published values."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairbench_cli.cli import options
from fairbench_cli.papers.registry import PAPERS

if TYPE_CHECKING:  # pandas comes with it
    from fairbench_cli.papers.compare import Reproduction


def compare(
    results: Annotated[list[Path], options.results("A folder that `fairbench run` wrote")],
    paper: Annotated[str, typer.Option(help=f"One of: {', '.join(PAPERS)}.", show_default=False)],
    table: Annotated[
        list[str] | None, typer.Option(help="Compare some tables of the paper only: --table 2,3")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Compare some cells only: --only classifier=c45"),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="How far off a value may be; papers with standard deviations have their own.",
            show_default="0.05",
        ),
    ] = None,
    fail_under: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Exit code 1 if a smaller share is within the tolerance.", show_default=False
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder of the files.", show_default="RESULTS/compare"),
    ] = None,
) -> int:
    """Compare runs with a paper's published values, number by number."""
    from fairbench_cli.base.errors import user_error
    from fairbench_cli.cli.console import print_document, talk_of_damage
    from fairbench_cli.papers.compare import compare_folder
    from fairbench_cli.papers.pages import comparison_document, side_by_side
    from fairbench_cli.papers.registry import find_paper

    found = find_paper(paper)
    if found.floors and tolerance is not None:
        raise user_error(
            f"each value of {paper} has a tolerance of its own", "leave --tolerance out", "--tolerance"
        )
    limit = 0.05 if tolerance is None else tolerance
    tables = tuple(one.strip() for text in table or () for one in text.split(","))
    names = _names(results, alone=output is None)
    comparisons = [
        compare_folder(folder, found, name, tables=tables, filters=tuple(only or ()))
        for folder, name in zip(results, names, strict=True)
    ]
    talk_of_damage([damage for one in comparisons for damage in one.damages])
    _write(comparisons, results, output, limit)
    if len(comparisons) > 1:
        print_document(side_by_side(comparisons, limit, brief=True))
    else:
        print_document(comparison_document(comparisons[0], limit, brief=True))
    enough = [_print_share(one, limit, fail_under) for one in comparisons]
    return 0 if all(enough) else 1


def _names(folders: list[Path], *, alone: bool) -> list[str]:
    """Call every run by its folder's name, or path if names clash and no two runs write to one folder."""
    from fairbench_cli.base.errors import user_error

    names = [folder.resolve().name for folder in folders]
    if alone and len(set(names)) < len(names):
        names = list(map(str, folders))
    if len(set(names)) == len(names):
        return names
    again = next(name for name in names if names.count(name) > 1)
    raise user_error(f'two folders are called "{again}"', "compare them one at a time, or rename one")


def _print_share(comparison: "Reproduction", tolerance: float, fail_under: float | None) -> bool:
    """Print the share within the tolerance; return whether it is enough."""
    from fairbench_cli.cli.console import fold
    from fairbench_cli.papers.pages import share_line

    line, found = share_line(comparison, tolerance)
    enough = fail_under is None or found >= fail_under
    if fail_under is not None:
        line += f", {'at least' if enough else 'less than'} the {fail_under:g} asked for"
    fold(line, "" if enough else "bold red")
    return enough


def _write(
    comparisons: "list[Reproduction]", folders: list[Path], output: Path | None, tolerance: float
) -> None:
    from fairbench_cli.base.files import make_folder, write_text
    from fairbench_cli.cli.console import talk
    from fairbench_cli.document.markdown import markdown
    from fairbench_cli.papers.pages import comma_separated, comparison_document, side_by_side

    for one, folder in zip(comparisons, folders, strict=True):
        target = output or folder / "compare"
        make_folder(target)
        several = output is not None and len(comparisons) > 1
        name = f"{one.paper.name}-{one.run}" if several else one.paper.name
        write_text(target / f"{name}.csv", comma_separated(one))
        write_text(target / f"{name}.md", markdown(comparison_document(one, tolerance)))
        talk(f"{target}/: {name}.csv, {name}.md")
        if several and one is comparisons[-1]:
            write_text(target / f"{one.paper.name}.md", markdown(side_by_side(comparisons, tolerance)))
            talk(f"{target}/: {one.paper.name}.md")
