"""The papers' tables: two measures per technique, one column per β."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fairbench_cli.classifiers.registry import CLASSIFIERS, Entry
from fairbench_cli.experiment.journal import RETRIED
from fairbench_cli.experiment.plan import RunPlan as Study
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.report.results import CELL_COLUMNS

Key = tuple[Any, ...]

LAYOUTS: dict[str, tuple[str, str]] = {
    "discrimination-accuracy": ("discrimination", "accuracy"),
    "over-underestimation": ("overestimation", "underestimation"),
}

DEGRADED = "*"

MARKS = {
    "-": "no repeat was feasible",
    "n/a": "the measure is undefined (0/0) in every repeat",
    "failed": "no repeat gave a result and some failed: see groups.csv",
    "…": "not run yet",
}


@dataclass(frozen=True)
class Block:
    """A table of one data set and classifier: rows of (technique, metric, one cell per β)."""

    title: str
    betas: tuple[float, ...]
    rows: tuple[tuple[str, str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class PaperTable:
    """A table in the papers' layout, with a caption that says what stands in it."""

    name: str
    caption: tuple[str, ...]
    blocks: tuple[Block, ...]


def paper_table(name: str, study: Study, results: pd.DataFrame, summary: pd.DataFrame) -> PaperTable:
    """Lay out one of `LAYOUTS`.

    A cell is the mean to three decimals, with "(28/30)" behind it where fewer repeats gave a value than were
    asked for, or one of `MARKS`.

    Parameters
    ----------
    results, summary : DataFrame
        As `results_frame` and `summary_frame` make them; both have the measures of the layout.
    """
    blocks = []
    keys = [*CELL_COLUMNS, "metric"]
    means: dict[Key, tuple[float, int]] = {
        row[:-2]: row[-2:] for row in summary[[*keys, "mean", "n_ok"]].itertuples(index=False, name=None)
    }
    statuses: dict[Key, list[str]] = {}
    for *key, status in results[[*keys, "status"]].itertuples(index=False, name=None):
        statuses.setdefault(tuple(key), []).append(status)
    frame = pd.DataFrame(study.cells)
    betas = tuple(sorted(frame["beta"].unique().tolist()))
    block_columns = ["dataset", "attribute", "classifier", "classifier_parameters"]
    for (dataset, attribute, classifier, parameters), part in frame.groupby(block_columns, sort=False):
        rows = []
        kinds = part[["intervention", "parameters", "include_protected"]].drop_duplicates()
        for own in kinds.itertuples(index=False, name=None):
            for metric in LAYOUTS[name]:
                at = [(dataset, attribute, beta, *own, classifier, parameters, metric) for beta in betas]
                cells = [show_cell(means.get(key), study.repeats, statuses.get(key, [])) for key in at]
                rows.append((technique_label(*own), metric, tuple(cells)))
        title = f"{dataset}, {attribute}, {named(str(classifier), str(parameters), CLASSIFIERS)}"
        blocks.append(Block(title, betas, tuple(rows)))
    used = {cell for block in blocks for _, _, cells in block.rows for cell in cells}
    return PaperTable(name, caption(study, used), tuple(blocks))


def show_cell(found: tuple[float, int] | None, n: int, statuses: list[str]) -> str:
    """Write a mean and how many of the `n` repeats that were asked for gave a value, or why none did.

    >>> show_cell((0.25, 30), 30, ["ok"] * 30), show_cell((-0.25, 28), 30, ["ok"] * 28 + ["infeasible"] * 2)
    ('0.250', '-0.250 (28/30)')
    >>> show_cell((0.02, 2), 2, ["ok", "degraded"])
    '0.020*'
    >>> [show_cell(None, 2, found) for found in (["infeasible"] * 2, ["failed", "infeasible"], [])]
    ['-', 'failed', '…']
    """
    mean, n_ok = found or (0.0, 0)
    if n_ok:
        shown = f"{mean:.3f}"
        shown = "0.000" if shown == "-0.000" else shown
        shown += DEGRADED if "degraded" in statuses else ""
        return shown if n_ok == n else f"{shown} ({n_ok}/{n})"
    if RETRIED & set(statuses):
        return "failed"
    if set(statuses) == {"infeasible"}:
        return "-"
    return "…" if len(statuses) < n else "n/a"


def caption(study: Study, used: set[str]) -> tuple[str, ...]:
    """Say what the numbers are: repeats, where training and test rows come from, what β edits.

    `used` are the cells of the table; those of `MARKS` among them are explained.
    """
    if study.sample == "data":
        return (f"Means of {study.repeats} random splits into training and test rows.", *_legend(used))
    networks = ", ".join(dict.fromkeys(source["dataset"] for source in study.sources))
    made = "shipped with fairbench" if study.sample == "shipped" else "learned from the data"
    lines = [
        f"Means of {study.repeats} repeats. Training sets: sampled from the Bayesian network of {networks}, "
        f"{made}, at each β.",
    ]
    if study.test == "network":
        lines.append("Test sets: sampled from the same network at β = 0, not the original data.")
    else:
        lines.append("Test set: the original data.")
    for source in study.sources:
        if not source["arc_to_outcome"]:
            column = source["edited_column"]
            lines.append(f"{source['dataset']}: {column} is no parent of the outcome, so β changes nothing.")
    return (*lines, *_legend(used))


def _legend(used: set[str]) -> list[str]:
    """Explain what stands in the cells besides means."""
    lines = []
    if any(cell.endswith(")") for cell in used):
        lines.append("(a/b): only a of b repeats have a value.")
    if any(DEGRADED in cell for cell in used):
        lines.append(
            f"{DEGRADED}: in some repeats the technique could do its work in part only; groups.csv says why."
        )
    return [*lines, *(f'"{mark}": {meaning}.' for mark, meaning in MARKS.items() if mark in used)]


def technique_label(intervention: str, parameters: str, seen: bool) -> str:
    """Name a technique by what differs from its defaults.

    >>> technique_label("massaging", '{"ranker":"naive-bayes"}', True)
    'massaging + s'
    """
    return named(intervention, parameters, INTERVENTIONS) + (" + s" if seen else "")


def named(name: str, parameters: str, registry: Mapping[str, Entry]) -> str:
    """Name a registry's entry by the parameters (JSON text) that differ from its defaults."""
    given: dict[str, Any] = json.loads(parameters)
    default = registry[name].load() if name in registry else None
    odd = {
        key: value for key, value in given.items() if default is None or getattr(default, key, None) != value
    }
    inside = ", ".join(
        f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in odd.items()
    )
    return f"{name} ({inside})" if inside else name
