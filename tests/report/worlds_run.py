"""An invented run with worlds: decisions on true and on recorded labels whose differences are known."""

import itertools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from conftest import plain_cell, run_plan

from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.config.config import DatasetSpec
from fairbench_cli.measures.counts import PAIR, Counts
from fairbench_cli.report.ledger.results import RunResults, run_results

ROWS = 20000
TRUE_RATES = (0.40, 0.55)
"""Shares of favourable labels of the deprived and the favoured, on the truth."""


@dataclass(frozen=True)
class Rule:
    """How often a technique accepts people: by group, those whose true label is + and those whose is −."""

    tpr: tuple[float, float]
    fpr: tuple[float, float] = (0.10, 0.10)


GOOD = Rule((0.85, 0.85))
NOBODY = Rule((0.0, 0.0), (0.0, 0.0))


def decided(rule: Rule, rng: np.random.Generator) -> np.ndarray:
    """Return counts of true labels and decisions of both groups, shape (2, 2, 2)."""
    n = np.zeros((2, 2, 2))
    for group, (base, tpr, fpr) in enumerate(zip(TRUE_RATES, rule.tpr, rule.fpr, strict=True)):
        positive = ROWS * base
        right = positive * np.clip(tpr + rng.normal(0, 0.003) * (0 < tpr < 1), 0, 1)
        wrong = (ROWS - positive) * np.clip(fpr + rng.normal(0, 0.002) * (0 < fpr < 1), 0, 1)
        n[group] = [[ROWS - positive - wrong, wrong], [positive - right, right]]
    return np.round(n)


def flipped(n: np.ndarray, flip: float) -> np.ndarray:
    """Return counts on labels of which a share of the deprived's favourable ones is recorded as −."""
    recorded = n.copy()
    moved = np.round(flip * n[0, 1])
    recorded[0, 1] -= moved
    recorded[0, 0] += moved
    return recorded


def invented(
    rules: dict[str, dict[tuple[str, float], Rule | str]],
    datasets: tuple[str, ...] = ("bank",),
    repeats: int = 4,
    folder: Path = Path(),
    metrics: tuple[str, ...] = ("accuracy", "discrimination", "tpr-difference"),
    seen: tuple[bool, ...] = (False,),
    **more: Any,
) -> RunResults:
    """Return a run: of each technique its rule in each world, or the status of repeats without a result."""
    cells, records = [], {}
    for dataset, (name, worlds), sees in itertools.product(datasets, rules.items(), seen):
        for (world, beta), rule in worlds.items():
            key = f"{dataset}-{name}-{world}-{beta}{'-s' * sees}"
            where = {"dataset": dataset, "attribute": "sex", "world": world, "beta": beta}
            cells.append(plain_cell(key=key, intervention=name, include_protected=sees, **where))
            for repeat in range(repeats):
                if isinstance(rule, str):
                    records[key, repeat] = Repeat(key, repeat, rule, "why not", None)
                    continue
                seed = [repeat, *f"{name}{world}{beta}".encode()]
                n = decided(rule, np.random.default_rng(seed))
                recorded = Counts(PAIR, flipped(n, beta)) if world.startswith("label") else None
                recorded = None if name == "trained-on-truth" else recorded
                records[key, repeat] = Repeat(key, repeat, "ok", "", Counts(PAIR, n), recorded=recorded)
    sources = [{"dataset": dataset, "label": "loan", "favourable": "yes"} for dataset in datasets]
    given = {"repeats": repeats, "metrics": metrics, "test": "network", "tables": ()} | more
    plan = run_plan(cells, sources, "shipped", **given)
    specs = [{"card": name, "as": name, "attribute": ("sex",)} for name in datasets]
    named = tuple(map(DatasetSpec.model_validate, specs))
    plan = replace(plan, config=plan.config.model_copy(update={"datasets": named}))
    return run_results(folder, plan, records, metrics)
