"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Any

import typer


def config_path(name: str) -> Path:
    """Return the path of a config, given its own or the name of one that comes with fairbench."""
    from fairbench_cli.experiment.config.read import find_config

    return find_config(name)


def results_folder(name: str) -> Path:
    """Return a folder of results, given its path or, where there is no such folder, its name in results/."""
    inside = Path("results") / name
    if not Path(name).exists() and inside.is_dir():
        return inside
    return Path(name)


def config(noun: str) -> Any:
    """Return the argument that names a config."""
    help_ = f"{noun}: a YAML file, or the name of one that comes with fairbench (`fairbench list configs`)."
    return typer.Argument(help=help_, parser=config_path, metavar="config", show_default=False)


def results(noun: str) -> Any:
    """Return the argument that names a folder of results."""
    help_ = f"{noun}, or its name in results/."
    return typer.Argument(help=help_, parser=results_folder, metavar="results", show_default=False)


Config = Annotated[Path, config("The experiment")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Folder of results.", show_default="results/NAME")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Lay a value over the config: --set repeats=5 --set 'sample.beta=[0,1]'"),
]
Only = Annotated[
    list[str] | None, typer.Option("--only", help="Run matching cells only: --only dataset=adult,beta=0.5")
]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Folder of data files, before $FAIRBENCH_DATA and the cache."),
]
Reuse = Annotated[
    list[Path] | None,
    typer.Option(
        "--reuse",
        help="Another folder of results, or its name in results/: what it has of this run is copied, not "
        "computed. Repeat it.",
        parser=results_folder,
        metavar="results",
        show_default=False,
    ),
]

NoCode = Annotated[
    bool,
    typer.Option(
        "--no-code",
        help="Refuse every name that would run code which is not fairbench's, as $FAIRBENCH_NO_CODE=1 does.",
    ),
]
AllTables = Annotated[
    bool, typer.Option("--all", help="Print the tables that the config asks for after the answer.")
]
ShardOf = Annotated[
    str | None,
    typer.Option(
        "--shard",
        help="One part of several, computed anywhere: --shard 0/4, 1/4, 2/4, 3/4.",
        metavar="i/n",
        show_default=False,
    ),
]


def output_file(help_: str) -> Any:
    """Return the option ``--output`` of a command that writes one file."""
    return typer.Option("--output", "-o", help=help_, show_default=False)


Net = Annotated[
    str,
    typer.Argument(
        help="A network file, or the name of a data set with a shipped network.", show_default=False
    ),
]
NetCard = Annotated[
    str | None,
    typer.Option(
        "--card", help="Card that names label and groups.", show_default="that of the network's data"
    ),
]
Attribute = Annotated[
    str | None, typer.Option("--attribute", help="Protected attribute.", show_default="the card's")
]
