"""``fairbench verify``: a handful of finished repeats again, bit for bit."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairbench_cli.cli.options import DataDir, Set, config_path, results

if TYPE_CHECKING:  # light when asked for --help
    from fairbench_cli.experiment.running.verify import Recomputed, Verification

REPEATS_SHOWN = 20
FIELDS_SHOWN = 4


def verify(
    results: Annotated[Path, results("A folder that `fairbench run` wrote")],
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
    """Compute some finished repeats again and compare them with the journal, bit for bit. Writes nothing."""
    from fairbench_cli.base.errors import user_error
    from fairbench_cli.cli.console import say, talk
    from fairbench_cli.experiment.config.read import read_config
    from fairbench_cli.experiment.running.pool import default_jobs
    from fairbench_cli.experiment.running.verify import verify as compute

    if set_ and config is None:
        raise user_error("--set changes a config, and none is named", "add --config CONFIG", "--set")
    given = None if config is None else read_config(config, tuple(set_ or ()))
    found = compute(
        results, cells=cells, seed=seed, config=given, data_dir=data_dir, jobs=jobs or default_jobs()
    )
    for name, n in found.unnamed.items():
        talk(f"{n} finished repeat(s) left out: {name} is no code of fairbench's; name its config: --config")
    for line in _lines(found):
        say(line)
    return 0 if found.good else 1


def _lines(found: "Verification") -> list[str]:
    """Return what differs, what has changed and, last, how many are the same."""
    n, different = len(found.recomputed), found.different
    lines = []
    for one in different[:REPEATS_SHOWN]:
        lines.append(_name(one))
        lines += [f"  {difference}" for difference in one.differences[:FIELDS_SHOWN]]
        if len(one.differences) > FIELDS_SHOWN:
            lines.append(f"  and {len(one.differences) - FIELDS_SHOWN} more fields")
    if len(different) > REPEATS_SHOWN:
        lines.append(f"and {len(different) - REPEATS_SHOWN} more repeats")
    lines += [f"changed since: {change}" for change in found.changes]
    lines += found.reasons
    same = f"{n - len(different)} of {n} are the same, bit for bit"
    return [*lines, f"{same} (of {found.finished} finished repeats, picked by --seed {found.seed})"]


def _name(one: "Recomputed") -> str:
    from fairbench_cli.experiment.plan import CELL_COLUMNS

    cell = one.cell.describe()
    named = [f"{key}={cell[key]}" for key in CELL_COLUMNS]
    parameters = [
        f"{key}={cell[key]}" for key in ("parameters", "classifier_parameters") if cell[key] != "{}"
    ]
    return f"{', '.join([*named, *parameters])}, repeat {one.record.repeat}:"
