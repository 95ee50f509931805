"""What cells of a run are called in a filter, and what to say where a published value fits several."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fairbench_cli.errors import UserError, user_error
from fairbench_cli.experiment.plan import CELL_COLUMNS
from fairbench_cli.experiment.select import text_of

Facts = dict[str, Any]


def facts_of(cell: Mapping[str, Any]) -> Facts:
    """Return what tells a cell from others by name.

    These are its columns, the parameters of its intervention, and those of its classifier as
    ``classifier.NAME``.
    """
    columns = {key: cell[key] for key in CELL_COLUMNS}
    of_classifier = {f"classifier.{key}": v for key, v in json.loads(cell["classifier_parameters"]).items()}
    return columns | {**of_classifier, **json.loads(cell["parameters"])} | columns


def ambiguous(what: str, cells: Sequence[Facts], run: str) -> UserError:
    """Say in what the cells that fit one published value differ, and how to choose."""
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
