"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Any

import typer

Config = Annotated[Path, typer.Argument(help="The experiment, a YAML file.", show_default=False)]
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


def to(help_: str) -> Any:
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
