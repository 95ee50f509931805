"""How often words of a run are wrong: no change, turns round, gains, regains, artefact, and those of compare.

``python benchmarks/words.py [runs] [part ...]``: 400 runs a point, unless said otherwise. Parts: same, shown,
rounds, worlds, compare (all, if none is named). Every point has a seed of its own.

People are drawn: one third is deprived, 40 % of all have the favourable label, a model accepts 30 % of those
without it and 60 % of those with it. A technique decides as that model, but for rows that are drawn with
known chances, so that what it changes is known. ``original``: test rows are the same in all repeats; a row is
decided otherwise in all of them (always), or in each by itself (by repeat). ``data``: the rows of a run,
twice as many, are halved at random in each repeat. ``network``: test rows are drawn anew in each repeat. All
goes through the report's own functions. A rate r of n runs has the error sqrt(r (1 − r) / n).
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from paired import CELL, DESIGNS, SEX, head, line, plan_of, seed

from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.decisions import packed
from fairbench_cli.experiment.journal.journal import Records
from fairbench_cli.measures.counts import PAIR, Counts, Floats
from fairbench_cli.report.ledger.bias_cost import bias_cost_frame, contrast_frame
from fairbench_cli.report.ledger.cell_labels import TRAINED_ON_TRUTH
from fairbench_cli.report.ledger.change_kinds import classify_changes, technique_frame
from fairbench_cli.report.ledger.journal_arrays import DatasetRepeats
from fairbench_cli.report.ledger.paired_differences import LEVEL, differences_frame, paired_frame
from fairbench_cli.report.ledger.results import RunResults, compute_results, run_results

TOGETHER = 100  # runs that are reported at once
METRICS = ("discrimination", "accuracy")
MARGIN = 0.01
ROWS = (50, 300, 1000, 5000)  # of the deprived
KINDS = ("always", "by repeat", "data", "network")
POINTS = (
    *(("always", 2), ("by repeat", 2), ("by repeat", 30), ("data", 5), ("data", 30)),
    *(("network", 2), ("network", 5), ("network", 30)),
)
"""How rows are tested and differ, and in how many repeats, where a change is to be none."""
MANY_ROWS = (300, 1000)
MANY_REPEATS = (5, 30)
DESIGN_OF_KIND = {"always": "original", "by repeat": "original", "data": "data", "network": "network"}

Decisions = NDArray[np.bool_]


@dataclass(frozen=True)
class Drawn:
    """Test rows of the repeats: group, label, decisions of two models, each of shape (repeats, rows)."""

    group: Decisions
    label: Decisions
    plain: Decisions
    technique: Decisions


def draw(
    kind: str, rows: int, repeats: int, rng: np.random.Generator, *, metric: str, change: float, noise: float
) -> Drawn:
    """Return test rows of which a technique changes a metric by as much.

    Parameters
    ----------
    rows : int
        Of the deprived; the favoured are twice as many.
    metric : {"discrimination", "accuracy", "round"}
        Discrimination falls, as the technique accepts some of the deprived, or accuracy does. "round": the
        technique has no gap, and the plain model one of 0.42 × change.
    change : float
    noise : float
        The share of rows that are decided otherwise besides, as many each way.
    """
    # 1. The rows: of each repeat, or those of all.
    n_sets = repeats if kind == "network" else 1
    times = 2 if kind == "data" else 1
    group = np.tile(np.repeat([False, True], [times * rows, 2 * times * rows]), (n_sets, 1))
    label = rng.random(group.shape) < 0.4
    accepted = rng.random(group.shape) < 0.3 + 0.3 * label
    # 2. Whom the technique decides otherwise; the plain model is set so that each change counts.
    n_draws = 1 if kind in ("always", "data") else repeats
    chance = rng.random((n_draws, group.shape[1]))
    group, label, plain = (np.broadcast_to(array, chance.shape) for array in (group, label, accepted))
    plain = plain.copy()
    changed = chance < change
    if metric == "round":
        changed &= ~group & plain
        plain[changed] = False
    elif metric == "discrimination":
        changed &= ~group
        plain[changed] = False
    else:
        plain[changed] = label[changed]
    for is_up, start in ((True, 0.5), (False, 0.75)):
        mixed = (chance >= start) & (chance < start + noise / 2)
        if metric == "accuracy":
            plain[mixed] = label[mixed] != is_up
        else:
            plain[mixed] = not is_up
        changed |= mixed
    drawn = Drawn(group, label, plain, plain ^ changed)
    # 3. The repeats.
    if kind == "data":
        halves = [
            np.concatenate([half[: len(half) // 2] for half in halved(group[0], rng)]) for _ in range(repeats)
        ]
        return Drawn(*(array[0][np.stack(halves)] for array in vars(drawn).values()))
    return Drawn(*(np.broadcast_to(array, (repeats, array.shape[1])) for array in vars(drawn).values()))


def halved(group: Decisions, rng: np.random.Generator) -> Iterator[NDArray[np.intp]]:
    """Yield the rows of each group in random order."""
    for is_favoured in (False, True):
        yield rng.permutation(np.flatnonzero(group == is_favoured))


def count_rows(group: Decisions, label: Decisions, decided: Decisions) -> Floats:
    """Return counts of each repeat, shape (repeats, groups, labels, decisions)."""
    repeats = len(group)
    code = 4 * group.astype(np.intp) + 2 * label + decided + 8 * np.arange(repeats)[:, None]
    return np.bincount(code.ravel(), minlength=8 * repeats).reshape(repeats, 2, 2, 2).astype(float)


@dataclass(frozen=True)
class Model:
    """What a model of a run decided: of shape (repeats, rows), as groups and labels are."""

    run: str
    intervention: str
    group: Decisions
    label: Decisions
    decided: Decisions


def models_of(drawn: Drawn, run: str) -> list[Model]:
    """Return the plain model and the technique of a run."""
    names = {"none": drawn.plain, "technique": drawn.technique}
    return [Model(run, name, drawn.group, drawn.label, decided) for name, decided in names.items()]


def repeats_of(models: Sequence[Model], kind: str) -> DatasetRepeats:
    """Return the repeats of the models of many runs, as those of one data set.

    Each run is a classifier, as a family of Holm's is of one: so many runs are reported at once, quickly.
    """
    counts = []
    records: list[dict[int, Repeat]] = []
    cells = []
    for model in models:
        cells.append(CELL | {"intervention": model.intervention, "classifier": model.run})
        counts.append(count_rows(model.group, model.label, model.decided))
        order = np.lexsort((model.label[0], model.group[0]))
        records.append({})
        text = None
        for repeat, decided in enumerate(model.decided):
            if kind == "by repeat" or (kind == "always" and text is None):
                text = packed(decided[order])
            records[-1][repeat] = Repeat("", repeat, "ok", "", None, decisions=text)
    status = np.full((len(models), len(models[0].decided)), "ok", dtype=object)
    n = Counts(PAIR, np.array(counts))
    return DatasetRepeats("sex", SEX, cells, status, status, n, {}, records, DESIGNS[DESIGN_OF_KIND[kind]])


def call(models: Sequence[Model], kind: str, metric: str, word: str) -> int:
    """Return in how many runs a word is said of the technique's change of a metric.

    ``negligible``, of a change that is shown to be less than the margin, whether the word is that it is none
    or that it hardly narrows the gap; or a `change_kinds.Kind`.
    """
    results = compute_results([repeats_of(models, kind)], (metric,))
    frame = paired_frame(results)
    if word == "negligible":
        return int((frame["population_p_same"] < LEVEL).sum())
    return int((classify_changes(frame, technique_frame(results)) == word).sum())


def share_of(runs: int, point: tuple[Any, ...], word: str, metric: str, change: float, noise: float) -> float:
    """Return how often a word is said of a metric that changes by as much."""
    kind, rows, repeats = point
    rng = seed("words", word, *point, metric, change, noise)
    judged = "accuracy" if metric == "accuracy" else "discrimination"
    n_called = 0
    for start in range(0, runs, TOGETHER):
        models = []
        for number in range(start, min(start + TOGETHER, runs)):
            drawn = draw(kind, rows, repeats, rng, metric=metric, change=change, noise=noise)
            models += models_of(drawn, f"run {number}")
        n_called += call(models, kind, judged, word)
    return n_called / runs


def same(runs: int) -> None:
    """Print how often a change of the margin is called none."""
    print(f"\nA change of {MARGIN} is called none ({runs} runs a point)\n")
    head("test rows", "repeats", "metric", *(f"{rows:,} rows" for rows in ROWS))
    for (kind, repeats), metric in product(POINTS, METRICS):
        shares = [share_of(runs, (kind, rows, repeats), "negligible", metric, MARGIN, 0.0) for rows in ROWS]
        line([kind, repeats, metric, *(f"{share:.3f}" for share in shares)])


def shown(runs: int) -> None:
    """Print how often no change is called none."""
    print(f"\nNo change is called none ({runs} runs a point)\n")
    head("test rows", "repeats", "differ each way", *(f"{rows:,} rows" for rows in ROWS))
    for (kind, repeats), noise in product((("always", 2), ("by repeat", 30), ("network", 5)), (0.0, 0.005)):
        shares = [
            share_of(runs, (kind, rows, repeats), "negligible", "discrimination", 0.0, 2 * noise)
            for rows in ROWS
        ]
        line([kind, repeats, f"{noise:.1%}", *(f"{share:.2f}" for share in shares)])


def rounds(runs: int) -> None:
    """Print how often the gap of a technique that has none is said to be turned round."""
    print(f"\nA technique without a gap turns it round ({runs} runs a point)\n")
    head("test rows", "repeats", *(f"{rows:,} rows" for rows in MANY_ROWS))
    for kind, repeats in product(KINDS, MANY_REPEATS):
        shares = []
        for rows in MANY_ROWS:
            point = (kind, rows, repeats)
            shares.append(share_of(runs, point, "overshoots", "round", 0.5, 0.02))
        line([kind, repeats, *(f"{share:.3f}" for share in shares)])


def two_runs(kind: str, rows: int, repeats: int, rng: np.random.Generator, run: str) -> list[Model]:
    """Return the models of two runs with other seeds, which are equal and differ on some rows."""
    models = []
    size = (repeats, 3 * rows)
    shared = draw("always", rows, 1, rng, metric="accuracy", change=0.0, noise=0.0)
    for name in ("none", "technique"):
        drawn = shared
        if kind == "network":
            drawn = draw(kind, rows, repeats, rng, metric="accuracy", change=0.0, noise=0.0)
        group, label, plain = (np.broadcast_to(a, size) for a in (drawn.group, drawn.label, drawn.plain))
        # One row in twenty in all repeats, as far as these have the same rows, and one in each by itself.
        own_size = size if kind == "network" else (1, size[1])
        decided = plain ^ (rng.random(own_size) < 0.05) ^ (rng.random(size) < 0.05)
        models.append(Model(run, name, group, label, decided))
    return models


def compare(runs: int) -> None:
    """Print how often a run is called better or worse than an equal one with another seed."""
    print(f"\nOf two equal runs with other seeds one is better or worse ({runs} runs a point)\n")
    head("test rows", "repeats", "metric", *(f"{rows:,} rows" for rows in MANY_ROWS))
    for kind, repeats in product(("by repeat", "network"), MANY_REPEATS):
        shares = np.zeros((len(MANY_ROWS), len(METRICS)))
        for i, rows in enumerate(MANY_ROWS):
            rng = seed("compare", kind, rows, repeats)
            for start in range(0, runs, TOGETHER):
                models = []
                for number in range(start, min(start + TOGETHER, runs)):
                    models += two_runs(kind, rows, repeats, rng, f"run {number}")
                results = compute_results([repeats_of(models, kind)], METRICS)
                is_second = results.cell_index[:, 1] % 2 == 1
                frame = differences_frame(
                    results, np.flatnonzero(is_second), np.flatnonzero(~is_second), {}, paired=False
                )
                called = frame["population_verdict"].isin(["better", "worse"]).groupby(frame["metric"]).sum()
                shares[i] += [called[metric] / runs for metric in METRICS]
        for metric, share in zip(METRICS, shares.T, strict=True):
            line([DESIGN_OF_KIND[kind], repeats, metric, *(f"{number:.3f}" for number in share)])


WORLD, STRENGTH = "label", 0.5
TRUE_LOSS = 0.03
"""Accuracy that the plain model lacks to the one that is trained without the bias."""


def world_run(kind: str, rows: int, repeats: int, runs: int, rng: np.random.Generator) -> RunResults:
    """Return so many runs of a world, each a classifier: a technique that is as accurate on the truth.

    Half of the deprived's favourable labels are recorded as the other one. The technique accepts as many of
    the deprived with as without a favourable true label, so that it loses on the record alone.
    """
    records: Records = {}
    cells = []
    for number in range(runs):
        drawn = draw(kind, rows, repeats, rng, metric="accuracy", change=0.0, noise=0.02)
        order = np.lexsort((drawn.label[0], drawn.group[0]))
        recorded_label = drawn.label & (drawn.group | (rng.random(drawn.label.shape) < 1 - STRENGTH))
        for intervention, accepted in decisions_in_world(drawn, rng).items():
            key = f"{number} {intervention}"
            cell = {"key": key, "intervention": intervention, "classifier": f"run {number}"}
            cells.append(CELL | {"world": WORLD, "beta": STRENGTH} | cell)
            counts = count_rows(drawn.group, drawn.label, accepted)
            recorded_counts = count_rows(drawn.group, recorded_label, accepted)
            for repeat in range(repeats):
                decisions = None
                if kind == "by repeat":
                    decisions = packed(accepted[repeat][order])
                n = Counts(PAIR, counts[repeat])
                recorded = Counts(PAIR, recorded_counts[repeat])
                records[key, repeat] = Repeat(
                    key, repeat, "ok", "", n, recorded=recorded, decisions=decisions
                )
    plan = plan_of(DESIGN_OF_KIND[kind], repeats)
    plan = replace(plan, cells=cells, config=plan.config.model_copy(update={"sweep": None}))
    return run_results(Path(), plan, records, (*METRICS, "tpr-difference"))


def decisions_in_world(drawn: Drawn, rng: np.random.Generator) -> dict[str, Decisions]:
    """Return what the plain model, the one without the bias and the technique decide."""
    is_mixed = drawn.technique != drawn.plain
    lost = (rng.random(drawn.label.shape) < TRUE_LOSS) & ~is_mixed
    plain = np.where(lost, ~drawn.label, drawn.plain)
    unbiased = np.where(lost, drawn.label, drawn.plain)
    # One in 25 of the deprived is accepted whom the plain model refuses: as often with as without the label.
    chance = np.where(drawn.label, 0.02 / 0.4, 0.02 / 0.6)
    promoted = ~drawn.group & ~lost & ~is_mixed & (rng.random(drawn.label.shape) < chance)
    plain = np.where(promoted, False, plain)
    unbiased = np.where(promoted, drawn.label, unbiased)
    technique = np.where(promoted, True, np.where(is_mixed, drawn.technique, plain))
    return {"none": plain, "technique": technique, TRAINED_ON_TRUTH: unbiased}


def worlds(runs: int) -> None:
    """Print how often a technique that is as accurate on the truth gains, regains, or is an artefact."""
    print(f"\nA technique is as accurate on the truth, and loses on the record ({runs} runs a point)\n")
    head("test rows", "repeats", "word", *(f"{rows:,} rows" for rows in MANY_ROWS))
    for kind, repeats in product(("by repeat", "network"), MANY_REPEATS):
        shares = np.zeros((len(MANY_ROWS), 4))
        for i, rows in enumerate(MANY_ROWS):
            rng = seed("worlds", kind, rows, repeats)
            for start in range(0, runs, TOGETHER):
                n = min(start + TOGETHER, runs) - start
                shares[i] += world_words(world_run(kind, rows, repeats, n, rng)) / runs
        words = ("gains", "regains", "artefact", "loses on the record (true)")
        for word, share in zip(words, shares.T, strict=True):
            line([DESIGN_OF_KIND[kind], repeats, word, *(f"{number:.3f}" for number in share)])


def world_words(run: RunResults) -> Floats:
    """Return in how many runs the technique gains, regains, is an artefact, loses on the record."""
    frame = bias_cost_frame(run).query("metric == 'accuracy'").set_index("classifier")
    on_truth = frame[frame["labels"] == "true"]
    on_record = frame[frame["labels"] == "recorded"]
    gains = on_truth["kind"][on_truth["intervention"] == "technique"] == "better"
    is_cost_shown = on_truth["lost_kind"][on_truth["intervention"] == "none"] == "worse"
    contrast = contrast_frame(run).query("metric == 'accuracy'")["contrast"]
    loses = on_record["kind"][on_record["intervention"] == "technique"] == "worse"
    regains = gains & is_cost_shown.reindex(gains.index)
    return np.array([gains.sum(), regains.sum(), (contrast == "artefact").sum(), loses.sum()], dtype=float)


def main() -> None:
    """Run the parts that are named."""
    runs = int(next(iter(sys.argv[1:]), "400"))
    parts: dict[str, Callable[[int], None]] = {
        "same": same,
        "shown": shown,
        "rounds": rounds,
        "worlds": worlds,
        "compare": compare,
    }
    for name in sys.argv[2:] or parts:
        parts[name](runs)


if __name__ == "__main__":
    main()
