"""Runs that never were, whose truth is known: what each technique does, as rates of groups and accuracy."""

import itertools
from dataclasses import replace

import numpy as np
from conftest import plain_cell, run_plan

from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.config.config import DatasetSpec
from fairbench_cli.measures.counts import PAIR, Counts

ROWS = 4000
LABELS = (0.25, 0.40)  # shares of favourable labels of women and men: 15 points apart
REFUSED = (0.0, 0.0)
WOMEN = {
    "name": "sex", "levels": ["Female", "Male"], "deprived": ["Female"], "favoured": ["Male"],
    "deprived_called": "women", "favoured_called": "men",
}  # fmt: skip


def counts(rates: tuple[float, float], accuracy: float, rng: np.random.Generator) -> Counts:
    """Counts of women and men who are accepted at some rates, give or take a point, and how rightly."""
    n = np.zeros((2, 2, 2))
    for group, (rate, label) in enumerate(zip(rates, LABELS, strict=True)):
        if 0 < rate < 1:
            right = accuracy + rng.normal(0, 0.004)
            taken = rate + rng.normal(0, 0.004)
        else:
            taken, right = rate, label if rate else 1 - label
        hit = np.clip((taken + label + right - 1) / 2, 0, min(taken, label))
        n[group] = [[1 - label - taken + hit, taken - hit], [label - hit, hit]]
    return Counts(PAIR, np.round(ROWS * n))


def run_of(worlds: dict[str, dict], repeats: int = 6, betas=(0.0,), **more: object) -> tuple:
    """A plan and records of data sets: what each technique does, as rates and accuracy, or a reason."""
    rng, cells, records = np.random.default_rng(5), [], {}
    for (dataset, techniques), beta in itertools.product(worlds.items(), betas):
        for name, given in techniques.items():
            key = f"{dataset}-{name}-{beta}"
            cells.append(plain_cell(key=key, dataset=dataset, attribute="sex", beta=beta, intervention=name))
            for repeat in range(repeats):
                if isinstance(given, str):
                    records[key, repeat] = Repeat(key, repeat, given, "why not", None)
                elif given is not None:
                    records[key, repeat] = Repeat(key, repeat, "ok", "", counts(*given, rng))
    own = {"attribute": "sex", "edited_column": "sex", "label": "loan", "favourable": "yes"}
    sources = [{"dataset": dataset, "protected": [WOMEN]} | own for dataset in worlds]
    given = {"repeats": repeats, "metrics": ("discrimination", "accuracy"), "test": "network", "tables": ()}
    plan = run_plan(cells, sources, "shipped", **given | more)
    specs = [{"card": name, "as": name, "attribute": ("sex",)} for name in worlds]
    named = tuple(map(DatasetSpec.model_validate, specs))
    return replace(plan, config=plan.config.model_copy(update={"datasets": named})), records


PLAIN = ((0.25, 0.40), 0.80)
