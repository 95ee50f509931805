"""Facts of invented worlds of labels: two groups, one column of two levels, so that all is arithmetic."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

from report.worlds_run import GOOD, NOBODY, Rule, invented

from fairbench_cli.base.checksums import add_checksum
from fairbench_cli.experiment.config.outputs import TABLES
from fairbench_cli.report.ledger.exact_worlds import CONFUSION_CELLS, FILE
from fairbench_cli.report.ledger.results import RunResults

PAIR = ("deprived", "favoured")
WEIGHT = {("deprived", 0): 0.3, ("deprived", 1): 0.1, ("favoured", 0): 0.2, ("favoured", 1): 0.4}
TRUTH = {("deprived", 0): 0.2, ("deprived", 1): 0.8, ("favoured", 0): 0.3, ("favoured", 1): 0.9}


def label_world(flip: float):
    """Yield rule, quantity, labels, group, value of a world that flips labels of the deprived."""
    kept = {"deprived": 1 - flip, "favoured": 1.0}
    p = {
        "true": TRUTH,
        "recorded": {(group, x): kept[group] * each for (group, x), each in TRUTH.items()},
    }
    rules = {
        "constant-accept": lambda *_: True,
        "constant-refuse": lambda *_: False,
        "bayes": lambda *place: p["recorded"][place] >= 0.5,
        "oracle-thresholds": lambda *place: p["true"][place] >= 0.5,
        "truth": lambda *place: p["true"][place] >= 0.5,
    }
    share = {group: sum(WEIGHT[group, x] for x in (0, 1)) for group in PAIR}
    for labels, own in p.items():
        plus = {group: sum(WEIGHT[group, x] * own[group, x] for x in (0, 1)) / share[group] for group in PAIR}
        for group in PAIR:
            yield "", "share", labels, group, share[group]
            yield "", "favourable", labels, group, plus[group]
        yield "", "disparity", labels, "", plus["favoured"] - plus["deprived"]
        for name, decides in rules.items():
            right = [WEIGHT[at] * (each if decides(*at) else 1 - each) for at, each in own.items()]
            yield name, "accuracy", labels, "", sum(right)
        for (name, decides), group in itertools.product(rules.items(), PAIR):
            for cell, (label, decision) in zip(
                CONFUSION_CELLS, itertools.product((0, 1), (0, 1)), strict=True
            ):
                value = sum(
                    WEIGHT[group, x] * (own[group, x] if label else 1 - own[group, x])
                    for x in (0, 1)
                    if decides(group, x) == bool(decision)
                )
                yield name, cell, labels, group, value
    yield (
        "",
        "total-variation",
        "",
        "",
        sum(flip * WEIGHT["deprived", x] * TRUTH["deprived", x] for x in (0, 1)),
    )
    yield "", "thresholds-lose", "true", "", 0.0
    for group in PAIR:
        yield "", "kept", "", group, 1.0
        yield "", "auc", "true", group, 0.8


def facts(places, how: str = "exact") -> list[list]:
    """Return the rows of worlds.csv of some (dataset, attribute, world, beta): β is the share that flips."""
    error = 0.001 if how == "draws" else 0.0
    return [
        [*place, False, "true", *number[:5], error, how]
        for place in places
        for number in label_world(place[3] if place[2] else 0.0)
    ]


def write_facts(folder: Path, places, how: str = "exact") -> None:
    """Keep the facts of worlds in a folder of results, as a run does."""
    (folder / FILE).write_text(json.dumps(add_checksum({"facts": facts(places, how)})))


METRICS = (*TABLES["difference-to-none"].metrics, "impact-ratio")
PLACES = [("label", 0.25), ("label", 0.5), ("", 0.0)]
FLIPS = [
    {"world": world, "beta": beta, "mechanisms": [{"label": {"flip": beta}}] * bool(world), "words": "flips"}
    for world, beta in PLACES
]
RULE_OF = {"none": Rule((0.6, 0.85)), "massaging": GOOD, "trained-on-truth": GOOD, "random": NOBODY}


def known_run(folder: Path) -> RunResults:
    """Return an invented run of two data sets in a world of labels and in none, with what is known of it."""
    write_facts(folder, [(name, "sex", *place) for name in ("bank", "shop") for place in PLACES])
    rules = {name: dict.fromkeys(PLACES, rule) for name, rule in RULE_OF.items()}
    del rules["random"]["", 0.0]  # not run yet
    run = invented(rules, ("bank", "shop"), folder=folder, metrics=METRICS)
    sources = [source | {"worlds": FLIPS} for source in run.plan.datasets]
    return replace(run, plan=replace(run.plan, datasets=sources))
