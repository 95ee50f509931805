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
import pandas as pd
from numpy.typing import NDArray
from paired import CELL, DESIGNS, SEX, head, line, plan_of, seed
from pydantic_core import to_jsonable_python

from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.decisions import packed
from fairbench_cli.experiment.journal.journal import Records
from fairbench_cli.measures.counts import PAIR, Counts, Floats
from fairbench_cli.report.ledger.bias_cost import bias_cost_frame, contrast_frame
from fairbench_cli.report.ledger.cell_labels import TRAINED_ON_TRUTH
from fairbench_cli.report.ledger.change_kinds import classify_changes, technique_frame
from fairbench_cli.report.ledger.journal_arrays import DatasetRepeats
from fairbench_cli.report.ledger.paired_differences import differences_frame, paired_frame
from fairbench_cli.report.ledger.results import RunResults, compute_results, run_results

TOGETHER = 25  # runs that are reported at once
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


def repeats_of(drawn: Drawn, kind: str, name: str) -> DatasetRepeats:
    """Return the repeats of both models, on a data set of that name."""
    counts = []
    records: list[dict[int, Repeat]] = []
    design = DESIGN_OF_KIND[kind]
    for decided in (drawn.plain, drawn.technique):
        counts.append(count_rows(drawn.group, drawn.label, decided))
        order = np.lexsort((drawn.label[0], drawn.group[0]))
        records.append({})
        text = None
        for repeat in range(len(decided)):
            if kind == "by repeat" or (kind == "always" and text is None):
                text = packed(decided[repeat][order])
            records[-1][repeat] = Repeat("", repeat, "ok", "", None, decisions=text)
    cells = [CELL | {"intervention": technique, "dataset": name} for technique in ("none", "technique")]
    status = np.full((2, len(drawn.group)), "ok", dtype=object)
    return DatasetRepeats(
        "sex", SEX, cells, status, status, Counts(PAIR, np.array(counts)), {}, records, DESIGNS[design]
    )


def kinds_of(runs: Sequence[DatasetRepeats], metrics: Sequence[str] = METRICS) -> pd.DataFrame:
    """Return the words on the technique of each run, a column a metric."""
    results = compute_results(runs, metrics)
    frame = paired_frame(results)
    frame = frame.assign(kind=classify_changes(frame, technique_frame(results)))
    return frame.pivot(index="dataset", columns="metric", values="kind")


def share_of(runs: int, point: tuple[Any, ...], word: str, metric: str, change: float, noise: float) -> float:
    """Return how often a word is said of a metric that changes by as much."""
    kind, rows, repeats = point
    rng = seed("words", word, *point, metric, change, noise)
    n_called = 0
    for start in range(0, runs, TOGETHER):
        some = []
        for i in range(start, min(start + TOGETHER, runs)):
            drawn = draw(kind, rows, repeats, rng, metric=metric, change=change, noise=noise)
            some.append(repeats_of(drawn, kind, f"run {i}"))
        judged = "accuracy" if metric == "accuracy" else "discrimination"
        n_called += int((kinds_of(some, (judged,)) == word).to_numpy().sum())
    return n_called / runs


def same(runs: int) -> None:
    """Print how often a change of the margin is called none."""
    print(f"\nA change of {MARGIN} is called none ({runs} runs a point)\n")
    head("test rows", "repeats", "metric", *(f"{rows:,} rows" for rows in ROWS))
    for (kind, repeats), metric in product(POINTS, METRICS):
        shares = [share_of(runs, (kind, rows, repeats), "same", metric, MARGIN, 0.0) for rows in ROWS]
        line([kind, repeats, metric, *(f"{share:.3f}" for share in shares)])


def shown(runs: int) -> None:
    """Print how often no change is called none."""
    print(f"\nNo change is called none ({runs} runs a point)\n")
    head("test rows", "repeats", "differ each way", *(f"{rows:,} rows" for rows in ROWS))
    for (kind, repeats), noise in product((("always", 2), ("by repeat", 30), ("network", 5)), (0.0, 0.005)):
        shares = [
            share_of(runs, (kind, rows, repeats), "same", "discrimination", 0.0, 2 * noise) for rows in ROWS
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


@dataclass(frozen=True)
class TwoRuns:
    """Decisions of the same config in two runs, with the groups and labels of the rows of each."""

    first: tuple[Decisions, Decisions, Decisions]
    second: tuple[Decisions, Decisions, Decisions]


def draw_two_runs(kind: str, rows: int, repeats: int, rng: np.random.Generator) -> TwoRuns:
    """Return two runs with other seeds, whose models are equal and differ on one row in seven."""
    both = []
    size = (repeats, 3 * rows)
    shared = draw(kind, rows, 1, rng, metric="accuracy", change=0.0, noise=0.0)
    for _ in range(2):
        drawn = shared
        if kind == "network":
            drawn = draw(kind, rows, repeats, rng, metric="accuracy", change=0.0, noise=0.0)
        group, label, plain = (np.broadcast_to(a, size) for a in (drawn.group, drawn.label, drawn.plain))
        # One row in twenty in all repeats, as far as these have the same rows, and one in each by itself.
        own_size = size if kind == "network" else (1, size[1])
        decided = plain ^ (rng.random(own_size) < 0.05) ^ (rng.random(size) < 0.05)
        both.append((group, label, decided))
    return TwoRuns(*both)


def compare(runs: int) -> None:
    """Print how often a run is called better or worse than an equal one with another seed."""
    print(f"\nOf two equal runs with other seeds one is better or worse ({runs} runs a point)\n")
    head("test rows", "repeats", "metric", *(f"{rows:,} rows" for rows in MANY_ROWS))
    for kind, repeats in product(("always", "network"), MANY_REPEATS):
        shares = np.zeros((len(MANY_ROWS), len(METRICS)))
        for i, rows in enumerate(MANY_ROWS):
            rng = seed("compare", kind, rows, repeats)
            for start in range(0, runs, TOGETHER):
                some = []
                for number in range(start, min(start + TOGETHER, runs)):
                    some.append(compared_runs(kind, draw_two_runs(kind, rows, repeats, rng), f"run {number}"))
                results = compute_results(some, METRICS)
                cells = results.cell_index[:, 1]
                frame = differences_frame(
                    results, np.flatnonzero(cells == 1), np.flatnonzero(cells == 0), {}, paired=False
                )
                called = frame["population_verdict"].isin(["better", "worse"]).groupby(frame["metric"]).sum()
                shares[i] += [called[metric] / runs for metric in METRICS]
        for metric, share in zip(METRICS, shares.T, strict=True):
            line([DESIGN_OF_KIND[kind], repeats, metric, *(f"{number:.3f}" for number in share)])


def compared_runs(kind: str, both: TwoRuns, name: str) -> DatasetRepeats:
    """Return the repeats of two runs as those of two cells, as `fairbench compare` takes them together."""
    parts = []
    for group, label, decided in (both.first, both.second):
        parts.append(repeats_of(Drawn(group, label, decided, decided), kind, name))
    first, second = parts
    if kind == "always":
        # Decisions differ by repeat, though rows do not.
        first, second = (repeats_of(Drawn(*part, part[2]), "by repeat", name) for part in vars(both).values())
    counts = Counts(PAIR, np.stack([first.counts.n[0], second.counts.n[0]]))
    return replace(first, counts=counts, records=[first.records[0], second.records[0]])


WORLD, STRENGTH = "label", 0.5
TRUE_LOSS = 0.03
"""Accuracy that the plain model lacks to the one that is trained without the bias."""


def world_run(kind: str, rows: int, repeats: int, runs: int, rng: np.random.Generator) -> RunResults:
    """Return so many runs of a world, each a data set: a technique that is as accurate on the truth.

    Half of the deprived's favourable labels are recorded as the other one. The technique accepts as many of
    the deprived with as without a favourable true label, so that it loses on the record alone.
    """
    records: Records = {}
    cells = []
    sources = []
    for number in range(runs):
        name = f"run {number}"
        drawn = draw(kind, rows, repeats, rng, metric="accuracy", change=0.0, noise=0.02)
        decided = decisions_in_world(drawn, rng)
        order = np.lexsort((drawn.label[0], drawn.group[0]))
        recorded_label = drawn.label & (drawn.group | (rng.random(drawn.label.shape) < 1 - STRENGTH))
        for intervention, accepted in decided.items():
            key = f"{name} {intervention}"
            cell = {"key": key, "dataset": name, "intervention": intervention}
            cells.append(CELL | {"world": WORLD, "beta": STRENGTH} | cell)
            counts = count_rows(drawn.group, drawn.label, accepted)
            recorded_counts = count_rows(drawn.group, recorded_label, accepted)
            for repeat in range(repeats):
                records[key, repeat] = Repeat(
                    key,
                    repeat,
                    "ok",
                    "",
                    Counts(PAIR, counts[repeat]),
                    recorded=Counts(PAIR, recorded_counts[repeat]),
                    decisions=packed(accepted[repeat][order]) if kind == "by repeat" else None,
                )
        facts = {"dataset": name, "attribute": "sex", "edited_column": "sex", "arc_to_outcome": True}
        sources.append(facts | {"protected": to_jsonable_python(SEX.attributes)})
    plan = plan_of(DESIGN_OF_KIND[kind], repeats)
    plan = replace(plan, datasets=sources, cells=cells, config=plan.config.model_copy(update={"sweep": None}))
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
    """Return in how many data sets the technique gains, regains, is an artefact, loses on the record."""
    frame = bias_cost_frame(run).query("metric == 'accuracy'").set_index("dataset")
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
