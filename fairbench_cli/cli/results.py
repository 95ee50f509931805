"""``fairbench report``, ``compare`` and ``verify``: what can be done with the results of a run."""

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fairbench_cli.base.errors import user_error
from fairbench_cli.base.files import make_folder, write_text
from fairbench_cli.base.safe_text import format_count
from fairbench_cli.cli import console, options
from fairbench_cli.cli.options import AllTables, DataDir, Set, config_path
from fairbench_cli.cli.studies import DESIGN_NAMES, compare_table, flag_of, of_table, split_pairs
from fairbench_cli.experiment.config.outputs import TABLES, TestLabels
from fairbench_cli.papers.registry import PAPERS, find_paper

if TYPE_CHECKING:  # light when asked for --help
    from fairbench_cli.experiment.running.verify import Recomputed, Verification
    from fairbench_cli.papers.compare import Reproduction

Family = Literal["all", "metric"]
REPEATS_SHOWN = 20
FIELDS_SHOWN = 4


def report(
    results: Annotated[Path, options.results("A folder that `fairbench run` wrote")],
    attribute: Annotated[
        list[str] | None,
        typer.Option(
            "--attribute",
            "-a",
            help="Compare the groups of this protected attribute or intersection: -a sex -a sex×race",
            show_default="the config's",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help="Add a metric to those of the run, by its name or by its code: -m phi -m ./mine.py:gap",
            show_default=False,
        ),
    ] = None,
    versus: Annotated[
        list[str] | None,
        typer.Option(
            "--versus",
            help="Show the differences to this technique, by its name or its label in the tables, instead of "
            "those to none: --versus massaging",
            show_default=False,
        ),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            help=f"Print this table and no answer; repeat it. One of: {', '.join(TABLES)}.",
            show_default=False,
        ),
    ] = None,
    labels: Annotated[
        TestLabels | None,
        typer.Option(
            help="In a run with worlds: which labels of test rows all is about, the `true` ones, or those "
            "that the world has `recorded`.",
            show_default="the config's",
        ),
    ] = None,
    all_: AllTables = False,
) -> None:
    """Write the answer, page, CSVs, tables and figures of a run again from its journal. No training.

    Figures are those that the config names; where it names more, `run` draws them, and trains nothing.
    """
    from fairbench_cli.base.plugins import is_file
    from fairbench_cli.experiment.journal.folder import locked_if_results, mixture_in_words
    from fairbench_cli.experiment.running.processes import default_jobs
    from fairbench_cli.papers.pages import paper_section
    from fairbench_cli.papers.parts import PARTS
    from fairbench_cli.report.write import redo_report

    if all_ and (table or versus):
        problem = f"--all shows every table, and {'--table' if table else '--versus'} some of them"
        raise user_error(problem, "give one of the two", "--all")
    with locked_if_results(results, console.talk):
        redone = redo_report(
            results,
            attribute or (),
            metric or (),
            versus or (),
            table or (),
            labels,
            compared=paper_section,
            parts=PARTS,
            processes=default_jobs(),
        )
    for line in mixture_in_words(results):
        console.talk(line)
    console.talk_of_damage(redone.damages)
    if redone.n_missing:
        console.talk(
            f"{redone.n_missing} repeats of the plan are in no journal: run them, or copy the journals of "
            "other shards"
        )
    if redone.n_without_rows:
        console.talk(
            f"the test rows of {redone.n_without_rows} repeats are in no journal/*.rows: run them, or copy "
            "these files"
        )
    for name in redone.left_out:
        if is_file(name):
            again = f"./{name}"
        else:
            again = name
        console.talk(f"{name} is left out, as a report runs no code that is not named: -m {again}")
    if versus or table:
        console.print_tables(redone.written.tables)
    else:
        console.print_report(redone.written, tables=all_, folder=results)


def compare(
    results: Annotated[
        list[Path], options.results("A folder that `fairbench run` wrote, a table of repeats")
    ],
    paper: Annotated[
        str | None,
        typer.Option(
            help=f"One of: {', '.join(PAPERS)}. Without it two folders are compared with each other.",
            show_default=False,
        ),
    ] = None,
    table: Annotated[
        list[str] | None, typer.Option(help="With --paper: some of its tables only: --table 2,3")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Compare some cells only: --only classifier=c45")
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="With --paper: how far off a value may be; papers with standard deviations have their own.",
            show_default="0.05",
        ),
    ] = None,
    fail_under: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="With --paper: exit code 1 if a smaller share (0 to 1) or fewer values (2 and more) agree.",
            show_default=False,
        ),
    ] = None,
    design: Annotated[
        str | None, of_table(f"How its repeats hang together: {', '.join(DESIGN_NAMES)}.", show_default=False)
    ] = None,
    train_share: Annotated[
        float | None, of_table("Of the rows, that a split trains on: 0.7", show_default=False)
    ] = None,
    folds: Annotated[int | None, of_table("Of a cross-validation: 10", show_default=False)] = None,
    baseline: Annotated[
        str | None,
        of_table(
            "The technique that the others are compared with.", show_default="none, default, baseline …"
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        of_table("Which column is what: technique=method,repeat=seed", show_default="by usual names"),
    ] = None,
    values: Annotated[
        list[str] | None,
        of_table("The columns of metrics, where there is one each: accuracy,spd", show_default=False),
    ] = None,
    better: Annotated[
        list[str] | None,
        of_table("Better side of a metric: srp=higher,time=lower,gap=0", show_default="by usual names"),
    ] = None,
    stand_in: Annotated[
        list[str] | None,
        of_table("Whose runs stand in where a technique has none: classifier=lr", show_default=False),
    ] = None,
    margin: Annotated[
        float | None,
        of_table("Below which change a metric is the same.", name="--same", min=0, show_default="0.01"),
    ] = None,
    family: Annotated[
        Family | None,
        of_table("Adjusted together: all comparisons, or those of one cell and metric.", show_default="all"),
    ] = None,
    mann_whitney: Annotated[bool, of_table("Also by the test that many papers use.")] = False,
    claims: Annotated[
        str | None,
        of_table("A CSV of claims, or `published` for those that come with it.", show_default=False),
    ] = None,
    fail_on: Annotated[
        str | None,
        of_table("Exit code 1: worse, if something is; claims, if one does not hold.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder of the files; of two runs or a table none are written without it.",
            show_default="with --paper RESULTS/compare",
        ),
    ] = None,
) -> int:
    """Compare runs with a paper's published values, two runs, or what a table of published repeats holds."""
    if fail_under is not None and fail_under > 1 and not fail_under.is_integer():
        problem = f"{fail_under:g} is neither a share nor a number of values"
        raise user_error(problem, "give a share up to 1, or a whole number", "--fail-under")
    about_papers: dict[str, Any] = {"--table": table, "--tolerance": tolerance, "--fail-under": fail_under}
    reading: dict[str, Any] = {
        "design": design,
        "train_share": train_share,
        "folds": folds,
        "columns": split_pairs(columns, "--columns"),
        "values": [name for names in values or () for name in names.split(",")],
    }
    judging: dict[str, Any] = {
        "baseline": baseline,
        "better": split_pairs(better, "--better"),
        "stand_in": split_pairs(stand_in, "--stand-in"),
        "margin": margin,
        "family": family,
        "mann_whitney": mann_whitney or None,
    }
    is_table = any(path.is_file() for path in results) or design is not None or claims is not None
    if is_table:
        nouns = ("runs", "a table of repeats")
        idle = {"--paper": paper} | about_papers
    else:
        nouns = ("a table of repeats", "runs")
        about_tables = reading | judging | {"claims": claims, "fail_on": fail_on}
        idle = {flag_of(name): value for name, value in about_tables.items() if value not in ({}, [])}
    for flag, value in idle.items():
        if value is not None:
            raise user_error(f"it is about {nouns[0]}", f"leave it out for {nouns[1]}", flag)
    if is_table:
        judging["only"] = only
        stated = {name: value for name, value in judging.items() if value is not None and value != {}}
        return compare_table(results, reading, stated, claims, fail_on, output)
    from fairbench_cli.document.markdown import markdown
    from fairbench_cli.papers.compare import compare_folder
    from fairbench_cli.papers.pages import comma_separated, comparison_document, side_by_side_document

    if paper is None:
        for flag, value in about_papers.items():
            if value is not None:
                fix = f"add --paper {next(iter(PAPERS))}"
                raise user_error("it is about a paper, and none is named", fix, flag)
        return _compare_runs(results, tuple(only or ()), output)
    outcome = find_paper(paper)
    if outcome.floors and tolerance is not None:
        problem = f"each value of {paper} has a tolerance of its own"
        raise user_error(problem, "leave --tolerance out", "--tolerance")
    if tolerance is None:
        limit = 0.05
    else:
        limit = tolerance
    tables = tuple(name.strip() for name in ",".join(table).split(",")) if table else ()
    names = _names(results, alone=output is None)
    comparisons = [
        compare_folder(folder, outcome, name, tables=tables, filters=tuple(only or ()))
        for folder, name in zip(results, names, strict=True)
    ]
    console.talk_of_damage(list(chain.from_iterable(comparison.damages for comparison in comparisons)))
    several = len(comparisons) > 1
    for comparison, folder in zip(comparisons, results, strict=True):
        if output is not None and several:
            name = f"{comparison.paper.name}-{comparison.run}"
        else:
            name = comparison.paper.name
        page = markdown(comparison_document(comparison, limit))
        _save(output or folder / "compare", {f"{name}.csv": comma_separated(comparison), f"{name}.md": page})
    if several:
        together = side_by_side_document(comparisons, limit)
        if output is not None:
            _save(output, {f"{outcome.name}.md": markdown(together)})
        console.print_document(together)
    else:
        console.print_document(comparison_document(comparisons[0], limit, brief=True))
    passes = [_print_share(comparison, limit, fail_under) for comparison in comparisons]
    if all(passes):
        return 0
    return 1


def _save(folder: Path, files: dict[str, str]) -> None:
    """Write texts to a folder by the names of their files, and say where they are."""
    make_folder(folder)
    for name, text in files.items():
        write_text(folder / name, text)
    console.talk(f"{folder}/: {', '.join(files)}")


def _compare_runs(folders: list[Path], filters: tuple[str, ...], output: Path | None) -> int:
    """Compare two folders with each other; write files only where they are asked for."""
    from fairbench_cli.document.html import html
    from fairbench_cli.document.markdown import markdown
    from fairbench_cli.report.compare_runs import compare_runs
    from fairbench_cli.report.write import comma_separated

    if len(folders) != 2:
        problem = f"{format_count(len(folders), 'folder')} and no paper to compare with"
        raise user_error(problem, "give two folders, to compare them with each other, or --paper NAME")
    folder_a, folder_b = folders
    names = _names(folders, alone=True)
    outcome = compare_runs((folder_a, folder_b), (names[0], names[1]), filters)
    console.talk_of_damage(outcome.damages)
    if output is not None:
        table = comma_separated(outcome.frame, outcome.plan)
        document = outcome.document
        _save(output, {"runs.csv": table, "runs.md": markdown(document), "runs.html": html(document)})
    console.print_document(outcome.console)
    return 0


def _names(folders: list[Path], *, alone: bool) -> list[str]:
    """Call every run by its folder's name, or path if names clash and no two runs write to one folder."""
    names = [folder.resolve().name for folder in folders]
    if alone and len(set(names)) < len(names):
        names = list(map(str, folders))
    if len(set(names)) == len(names):
        return names
    again = next(name for name in names if names.count(name) > 1)
    raise user_error(f'two folders are called "{again}"', "compare them one at a time, or rename one")


def _print_share(comparison: "Reproduction", tolerance: float, fail_under: float | None) -> bool:
    """Print the share within the tolerance; return whether it, or the count, is enough."""
    from fairbench_cli.papers.pages import share_line

    line, count, share = share_line(comparison, tolerance)
    passes = True
    if fail_under is not None:
        noun, found = (" values", count) if fail_under > 1 else (" of all", share)
        passes = found >= fail_under
        line += f", {'at least' if passes else 'less than'} the {fail_under:g}{noun} asked for"
    console.fold(line, "" if passes else "bold red")
    return passes


def verify(
    results: Annotated[Path, options.results("A folder that `fairbench run` wrote")],
    cells: Annotated[int, typer.Option("--cells", min=1, help="How many finished repeats.")] = 20,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Picks them.", show_default="of the experiment's name")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            help="The experiment, for cells that need your own code, which is run only then.",
            parser=config_path,
            metavar="CONFIG",
            show_default="that of the results",
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Worker processes.", show_default="all cores")
    ] = None,
    set_: Set = None,
    data_dir: DataDir = None,
) -> int:
    """Compute some finished repeats again and compare them with the journal, bit for bit. Writes nothing.

    Exit code 0: all are the same; 1: some differ.
    """
    from fairbench_cli.experiment.config.read import read_config
    from fairbench_cli.experiment.running.processes import default_jobs
    from fairbench_cli.experiment.running.verify import verify as compute

    if set_ and config is None:
        raise user_error("--set changes a config, and none is named", "add --config CONFIG", "--set")
    options_given = None
    if config is not None:
        options_given = read_config(config, tuple(set_ or ()))
    verification = compute(
        results, cells=cells, seed=seed, config=options_given, data_dir=data_dir, jobs=jobs or default_jobs()
    )
    for name, n in verification.unnamed.items():
        repeats = format_count(n, "finished repeat")
        console.talk(f"{repeats} left out: {name} is no code of fairbench's; name its config: --config")
    for line in _lines(verification):
        console.say(line)
    if verification.good:
        return 0
    return 1


def _lines(verification: "Verification") -> list[str]:
    """Return the lines on what differs, what has changed and, last, how many are the same."""
    n = len(verification.recomputed)
    different = verification.different
    lines = []
    for recomputed in different[:REPEATS_SHOWN]:
        lines.append(_name(recomputed))
        lines += [f"  {difference}" for difference in recomputed.differences[:FIELDS_SHOWN]]
        if len(recomputed.differences) > FIELDS_SHOWN:
            lines.append(f"  and {len(recomputed.differences) - FIELDS_SHOWN} more fields")
    if len(different) > REPEATS_SHOWN:
        lines.append(f"and {len(different) - REPEATS_SHOWN} more repeats")
    lines += [f"changed since: {change}" for change in verification.changes]
    lines += verification.reasons
    agreement = f"{n - len(different)} of {n} are the same, bit for bit"
    lines.append(
        f"{agreement} (of {verification.finished} finished repeats, picked by --seed {verification.seed})"
    )
    return lines


def _name(recomputed: "Recomputed") -> str:
    from fairbench_cli.experiment.plan import CELL_COLUMNS

    cell = recomputed.cell.describe()
    cell_fields = [f"{key}={cell[key]}" for key in CELL_COLUMNS if cell[key] != ""]
    for key in ("parameters", "classifier_parameters"):
        if cell[key] != "{}":
            cell_fields.append(f"{key}={cell[key]}")
    return f"{', '.join(cell_fields)}, repeat {recomputed.record.repeat}:"
