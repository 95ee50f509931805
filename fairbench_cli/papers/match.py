"""Find the cell of a run that a published value is to be compared with."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from fairbench_cli.base.errors import UserError, user_error
from fairbench_cli.experiment.plan import CELL_COLUMNS
from fairbench_cli.experiment.select import Facts, text_of
from fairbench_cli.papers.registry import Paper, Where

NO_AXES = ("table", "metric", "value", "sd", "runs", "flags")


def facts_of(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return what distinguishes a cell from others, by name.

    These are its columns, the parameters of its intervention, and those of its classifier as
    ``classifier.NAME``; of one that is tuned also the metric (``tune``), the rows (``tune.on``) and the
    parameters (``tune.over``).
    """
    columns = {key: cell[key] for key in CELL_COLUMNS}
    of_classifier = {f"classifier.{key}": v for key, v in json.loads(cell["classifier_parameters"]).items()}
    parameters = json.loads(cell["parameters"])
    tune = parameters.pop("tune", None)
    if tune is not None:
        parameters |= {"tune": tune["for"], "tune.on": tune["on"], "tune.over": " and ".join(tune["over"])}
    return columns | {**of_classifier, **parameters} | columns


def match(
    paper: Paper, published: pd.DataFrame, cells: Sequence[Facts], keys: Sequence[str], run: str
) -> list[int | None]:
    """Return for every published value which cell fits it; None where none does.

    Parameters
    ----------
    cells : sequence of Facts
        As `facts_of` makes them.
    keys : sequence of str
        The key of each cell; of cells that share one, the first that fits is taken.
    run : str
        What the run is called in errors.

    Raises
    ------
    UserError
        When several cells with keys of their own fit one value.
    """
    everywhere = _fitting(cells, paper.everywhere)
    axes = [column for column in published.columns if column not in NO_AXES]
    by_label = {
        axis: {label: _fitting(cells, _where(paper, axis, label)) for label in published[axis].unique()}
        for axis in axes
    }
    found: list[int | None] = []
    for labels in published[axes].itertuples(index=False, name=None):
        sets = [by_label[axis][label] for axis, label in zip(axes, labels, strict=True)]
        fit = sorted(everywhere.intersection(*sets))
        if len({keys[i] for i in fit}) > 1:
            what = ", ".join(say_label(axis, label) for axis, label in zip(axes, labels, strict=True))
            raise _ambiguous(what, [cells[i] for i in fit], run)
        found.append(fit[0] if fit else None)
    return found


def say_label(axis: str, label: str) -> str:
    """Name a value of a CSV's column on a page.

    >>> say_label("table", "2"), say_label("beta", "0.5"), say_label("intervention", "massaging")
    ('Table 2', 'β = 0.5', 'massaging')
    """
    return {"table": f"Table {label}", "beta": f"β = {label}"}.get(axis, label)


def _where(paper: Paper, axis: str, label: str) -> Where | None:
    own = {axis: (float(label) if axis == "beta" else label,)}
    return paper.labels.get(axis, {}).get(label, own)


def _fitting(cells: Sequence[Facts], where: Where | None) -> frozenset[int]:
    return frozenset(i for i, facts in enumerate(cells) if where is not None and _fits(facts, where))


def _fits(facts: Facts, where: Where) -> bool:
    """Return whether a cell is as it must be; adult-train, a variant of adult, is adult too."""
    return all(
        facts.get(key) in values
        or (key == "dataset" and str(facts.get(key)).startswith(tuple(f"{name}-" for name in values)))
        for key, values in where.items()
    )


def _ambiguous(what: str, cells: Sequence[Facts], run: str) -> UserError:
    """Return the error that says in what the cells that fit one value differ, and how to choose."""
    parts, filters = [], []
    for key in dict.fromkeys(key for facts in cells for key in facts):
        found = list(dict.fromkeys(text_of(facts[key]) for facts in cells if key in facts))
        if len(found) < 2:
            continue
        parts.append(f"{key} ({', '.join(found)})")
        # Naming the one data set or intervention to keep would leave out those of all other values.
        keeps = key not in ("dataset", "intervention")
        filters += [f"{key}={found[0]}"] if keeps else [f"{key}!={one}" for one in found[1:]]
    return user_error(
        f"{len(cells)} cells of the run fit {what}; they differ in {' and '.join(parts)}",
        f"choose, such as --only {','.join(filters)}",
        run,
    )
