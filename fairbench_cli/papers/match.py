"""Find the cell of a run that a published value is to be compared with."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from fairbench_cli.papers.choose import Facts, ambiguous
from fairbench_cli.papers.registry import Paper, Where

NO_AXES = ("table", "metric", "value")


def match(paper: Paper, published: pd.DataFrame, cells: Sequence[Facts], run: str) -> list[int | None]:
    """Return for every published value which cell fits it; None where none does.

    Parameters
    ----------
    cells : sequence of Facts
        As `facts_of` makes them.
    run : str
        What the run is called in errors.

    Raises
    ------
    UserError
        When several cells fit one value.
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
        if len(fit) > 1:
            what = ", ".join(say_label(axis, label) for axis, label in zip(axes, labels, strict=True))
            raise ambiguous(what, [cells[i] for i in fit], run)
        found.append(fit[0] if fit else None)
    return found


def say_label(axis: str, label: str) -> str:
    """Name a value of a CSV's column on a page.

    >>> say_label("table", "2"), say_label("beta", "0.5"), say_label("intervention", "massaging")
    ('Table 2', 'β = 0.5', 'massaging')
    """
    return {"table": f"Table {label}", "beta": f"β = {label}"}.get(axis, label)


def _where(paper: Paper, axis: str, label: str) -> Where | None:
    listed = paper.labels.get(axis, {})
    if label in listed:
        return listed[label]
    return {axis: (float(label) if axis == "beta" else label,)}


def _fitting(cells: Sequence[Facts], where: Where | None) -> frozenset[int]:
    if where is None:
        return frozenset()
    return frozenset(i for i, facts in enumerate(cells) if _fits(facts, where))


def _fits(facts: Mapping[str, Any], where: Where) -> bool:
    return all(
        any(
            _named(facts.get(key), value) if key == "dataset" else facts.get(key) == value for value in values
        )
        for key, values in where.items()
    )


def _named(dataset: Any, name: str) -> bool:
    """Tell whether a data set is the one of that name or a variant, such as adult-train of adult."""
    return bool(dataset == name or str(dataset).startswith(f"{name}-"))
