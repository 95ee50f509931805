"""The plan as it is kept beside the results: enough to redo every file from the journal alone."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, Json, ValidationError

from fairbench_cli.errors import user_error
from fairbench_cli.experiment.config import Experiment
from fairbench_cli.experiment.outputs import FIGURES, TABLES
from fairbench_cli.experiment.plan import Cell
from fairbench_cli.experiment.source import Source
from fairbench_cli.files import write_json
from fairbench_cli.measures.registry import MEASURES, ROW_MEASURES

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
    figures: tuple[str, ...] = ()
    sweep: bool = False
    explain: tuple[str, ...] = ()


def study_of(experiment: Experiment, sources: list[Source], cells: list[Cell]) -> Study:
    """Put down the plan of an experiment."""
    return Study(
        name=experiment.name,
        repeats=experiment.repeats,
        metrics=experiment.metrics,
        sweep=experiment.sweep,
        explain=experiment.explain,
        tables=experiment.tables,
        figures=experiment.figures,
        test=experiment.test,
        sample=experiment.sample.source,
        sources=[
            {
                **source.facts,
                "dataset": source.name[0],
                "label": source.roles.label,
                "attribute": source.name[1],
                "deprived": list(source.roles.deprived),
                "favoured": list(source.roles.favoured),
                "shift": source.choice.bias.shift,
                "edited_column": source.target.column,
                "arc_to_outcome": source.has_arc,
                "sample_size": source.size,
            }
            for source in sources
        ],
        cells=[{"key": cell.key, **cell.describe()} for cell in cells],
    )


def write_study(folder: Path, study: Study) -> None:
    """Keep the plan beside the results."""
    write_json(folder / FILE, asdict(study))


class _Cell(BaseModel):
    key: str
    dataset: str
    attribute: str
    beta: float
    intervention: str
    parameters: Json[dict[str, Any]]
    include_protected: bool
    classifier: str
    classifier_parameters: Json[dict[str, Any]]


class _Source(BaseModel):
    dataset: str
    edited_column: str
    arc_to_outcome: bool


class _File(BaseModel):
    name: str
    repeats: Annotated[int, Field(ge=1)]
    metrics: Annotated[list[str], Field(min_length=1)]
    sweep: bool = False
    explain: list[str] = []
    tables: list[str]
    figures: list[str] = []
    test: str
    sample: str
    sources: list[_Source]
    cells: Annotated[list[_Cell], Field(min_length=1)]


def read_study(folder: Path) -> Study:
    """Read the plan beside some results.

    Raises
    ------
    UserError
        When the folder holds no results of a run.
    """
    path = folder / FILE
    again = "run the experiment again; finished repeats are kept"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        _File.model_validate(data, strict=True)
        lists = {key: tuple(data.get(key, ())) for key in ("metrics", "tables", "figures", "explain")}
        study = Study(**data | lists)
    except (FileNotFoundError, NotADirectoryError):
        raise user_error(
            f"{folder} holds no results ({FILE} is missing)", "give the folder that `fairbench run` wrote"
        ) from None
    except OSError as error:
        raise user_error(f"cannot read {path}: {error.strerror}", "check its permissions") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise user_error(f"{'.'.join(map(str, first['loc']))}: {first['msg']}", again, str(path)) from None
    except (ValueError, TypeError, RecursionError) as error:
        raise user_error(
            f"not the plan of a run ({' '.join(str(error).split())})", again, str(path)
        ) from None
    if len({cell["key"] for cell in study.cells}) < len(study.cells):
        raise user_error("not the plan of a run (a cell stands there twice)", again, str(path))
    for kind, names, known in (
        ("metric", study.metrics, MEASURES | ROW_MEASURES),
        ("table", study.tables, TABLES),
        ("figure", study.figures, FIGURES),
    ):
        for name in names:
            if name not in known:
                raise user_error(f'unknown {kind} "{name}"', again, str(path))
    return study
