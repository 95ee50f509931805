"""The plan as it is kept beside the results: enough to redo every file from the journal alone."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairbench_cli.errors import user_error
from fairbench_cli.experiment.config import Experiment
from fairbench_cli.experiment.plan import Cell
from fairbench_cli.experiment.population import Source, has_arc
from fairbench_cli.files import write_json

FILE = "plan.json"


@dataclass(frozen=True)
class Study:
    """What was asked for.

    Parameters
    ----------
    cells : list of dict
        ``key`` and the columns of `Cell.describe`, in the order of the config.
    sources : list of dict
        Per data set: attribute, network, BIC, whether β had something to edit.
    """

    name: str
    repeats: int
    metrics: tuple[str, ...]
    tables: tuple[str, ...]
    test: str
    sample: str
    sources: list[dict[str, Any]]
    cells: list[dict[str, Any]]


def study_of(experiment: Experiment, sources: list[Source], cells: list[Cell]) -> Study:
    """Put down the plan of an experiment."""
    return Study(
        name=experiment.name,
        repeats=experiment.repeats,
        metrics=experiment.metrics,
        tables=experiment.tables,
        test=experiment.test,
        sample=experiment.sample.source,
        sources=[
            {
                **source.facts,
                "dataset": source.choice.card.name,
                "attribute": source.roles.attribute,
                "deprived": list(source.roles.deprived),
                "favoured": list(source.roles.favoured),
                "shift": source.choice.bias.shift,
                "edited_column": source.target.column,
                "arc_to_outcome": has_arc(source),
                "sample_size": source.size,
            }
            for source in sources
        ],
        cells=[{"key": cell.key, **cell.describe()} for cell in cells],
    )


def write_study(folder: Path, study: Study) -> None:
    """Keep the plan beside the results."""
    write_json(folder / FILE, asdict(study))


def read_study(folder: Path) -> Study:
    """Read the plan beside some results.

    Raises
    ------
    UserError
        When the folder holds no results of a run.
    """
    path = folder / FILE
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return Study(**data | {"metrics": tuple(data["metrics"]), "tables": tuple(data["tables"])})
    except FileNotFoundError:
        raise user_error(
            f"{folder} holds no results ({FILE} is missing)", "give the folder that `fairbench run` wrote"
        ) from None
    except (ValueError, TypeError, KeyError) as error:
        raise user_error(
            f"{path} cannot be read ({error})", "run the experiment again; finished repeats are kept"
        ) from None
