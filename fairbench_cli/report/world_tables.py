"""The table `worlds`: what each world records, and which accuracy on true labels is reached in it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairbench_cli.document.model import SIDES, Document, Section, TableCell, plain_table
from fairbench_cli.measures.counts import PAIR
from fairbench_cli.report.paired import written
from fairbench_cli.report.remedies import ACCURACY, remedies_of
from fairbench_cli.report.repeats import SITUATION, TECHNIQUE, is_baseline
from fairbench_cli.report.results import RunResults
from fairbench_cli.report.tables import NO_BIAS, TRUTH, caption, names_of
from fairbench_cli.report.worlds import ExactWorld, facts_of_run

DOES = {
    "world": "world",
    "beta": "β",
    "favourable_deprived": "P'(+|d)",
    "favourable_favoured": "P'(+|f)",
    "disparity": "disparity",
    "total_variation": "TV",
    "ranking": "ranking",
}
REACHED = {
    "world": "world",
    "beta": "β",
    "constant": "constant",
    "bayes": "Bayes rule",
    "oracle_thresholds": "thresholds",
    "none": "none",
    "truth": "truth",
    "highest": "highest",
    "technique": "of",
}
"""Heads of the two tables, by what CSV calls the columns."""

HEADS = 2
"""Columns of both that name a world; they stand in each part of a table that is cut."""

PLACE = [name for name in SITUATION if name not in ("world", "beta")]
Place = tuple[str, ...]
World = tuple[str, float]


def world_blocks(run: RunResults) -> Mapping[Place, Sequence[World]]:
    """Return the worlds of a run, each with its β, by the values of `PLACE`.

    In the order of the plan; those without any result are left out.
    """
    found: dict[Place, dict[World, None]] = {}
    for data in run.datasets:
        for cell in data.cells:
            own = found.setdefault(tuple(cell[name] for name in PLACE), {})
            own[cell["world"], cell["beta"]] = None
    order = list(dict.fromkeys((cell["world"], cell["beta"]) for cell in run.plan.cells))
    return {place: sorted(own, key=order.index) for place, own in found.items()}


def in_the_middle(worlds: Iterable[World]) -> list[World]:
    """Return each world once, at the strength in the middle: of those above 0, of two the larger.

    >>> in_the_middle([("", 0.0), *(("label", beta) for beta in (0.0, 0.25, 0.5, 0.75)), ("group", 0.1)])
    [('', 0.0), ('label', 0.5), ('group', 0.1)]
    >>> in_the_middle([("label", 0.25), ("label", 0.5)])
    [('label', 0.5)]
    """
    found: dict[str, list[float]] = {}
    for world, beta in worlds:
        found.setdefault(world, []).append(beta)
    some = {world: sorted(filter(None, betas)) or betas for world, betas in found.items()}
    return [(world, betas[len(betas) // 2]) for world, betas in some.items()]


def known_of(run: RunResults, place: Place, world: World) -> ExactWorld | None:
    """Return what is known exactly of a world; None where nothing is."""
    dataset, attribute, *_ = place
    return facts_of_run(run).at(dataset, attribute, *world)


def worlds_table(name: str, run: RunResults) -> Document:
    """Lay out the worlds of each data set and classifier; empty for a run without worlds."""
    if not run.plan.has_worlds:
        return Document(name)
    names, frame = names_of(run.plan.config), remedies_of(run)
    own = (frame["compared"] == frame["attribute"]) & (frame["labels"] == "true")
    reached = dict(iter(frame[own & (frame["metric"] == ACCURACY)].groupby([*PLACE, "world", "beta"])))
    sections, how, seen = [], set(), set()
    for place, worlds in world_blocks(run).items():
        dataset, attribute, representation, *classifier = place
        title = [names.dataset(dataset), attribute, names.classifier(*classifier)]
        title += [representation] * (representation != "original")
        does, gets = [], []
        for world, beta in worlds:
            known = known_of(run, place, (world, beta))
            how |= {known.how} if known else set()
            seen |= {known.include_protected} if known else set()
            head = (world or NO_BIAS, f"{beta:g}")
            does.append([*head, *_done(known)])
            cells = reached.get((*place, world, beta), frame.iloc[:0])
            gets.append([*head, *_reached(known, cells, names.technique)])
        one = plain_table("What the world records", DOES.values(), does, HEADS, keys=DOES)
        marks = ["†: higher than that of none."]
        other = plain_table(
            "Accuracy on true labels", REACHED.values(), gets, HEADS, keys=REACHED, marks=marks
        )
        sections.append(Section(", ".join(title), tables=(one, other)))
    drawn = "Numbers of a world are means of draws where too many columns depend on the outcome: worlds.csv."
    blind = (
        "What is computed is of rules that do not see the protected attribute: to them label bias, too, may "
    )
    blind += "change the ranking within a group."
    facts = (*_ABOUT, *[blind] * (False in seen), *[drawn] * ("draws" in how), *caption(run.plan, set()))
    return Document(name, facts=facts, sections=tuple(sections))


_ABOUT = (
    "P'(+|d), P'(+|f): shares of recorded favourable labels, of the deprived and of the favoured; disparity: "
    "P'(+|f) − P'(+|d); TV: the total variation between what is recorded and the truth. ranking: kept where "
    "the record ranks the people of each group as the truth does, so that thresholds can regain it.",
    "constant: the better of deciding the same for everybody; Bayes rule: p' at least 0.5 on the record; "
    "thresholds: the best for each group, known the truth. These are computed of the network.",
    "none: the classifier without a technique; truth: the same, trained without the bias. highest: of the "
    "technique with the highest mean that accepts neither nobody nor everybody in any repeat; better, worse: "
    "than none in the same world, in the population, at 5 % after Holm's adjustment.",
)
_BLIND = (
    "What is computed is of rules that do not see the protected attribute: to them label bias, too, may "
    "change the ranking within a group."
)


def _done(known: ExactWorld | None) -> Iterator[str]:
    """Yield what a world does, as it is written; dashes where nothing is known."""
    if known is None:
        yield from ["-"] * (len(DOES) - 2)
        return
    for group in PAIR:
        yield written(known.value("favourable", "recorded", group), ".3f")
    yield written(known.value("disparity", "recorded"))
    yield written(known.value("total-variation"), ".3f")
    kept = known.kept()
    yield "-" if kept is None else "kept" if kept else "lost"


def exact_accuracy(known: ExactWorld | None, *rules: str) -> float:
    """Return the highest accuracy on true labels of some rules; NaN where it is not known."""
    return np.nan if known is None else max(known.value(ACCURACY, "true", rule=rule) for rule in rules)


def _reached(
    known: ExactWorld | None, cells: pd.DataFrame, called: Callable[..., str]
) -> Iterator[str | TableCell]:
    """Yield the accuracies that are reached in a world, as they are written."""
    yield written(exact_accuracy(known, "constant-accept", "constant-refuse"), ".3f")
    yield written(exact_accuracy(known, "bayes"), ".3f")
    yield written(exact_accuracy(known, "oracle-thresholds"), ".3f")
    techniques = cells[TECHNIQUE].itertuples(index=False, name=None)
    plain = np.array([is_baseline(*own[:2]) for own in techniques], dtype=bool)
    on_truth = (cells["intervention"] == TRUTH).to_numpy(dtype=bool)
    none: Any = next(cells[plain].itertuples(), None)
    yield "-" if none is None else written(none.mean, ".3f")
    biased = none is not None and none.world and none.beta
    yield "-" if none is None else written(none.mean - (none.lost if biased else 0.0), ".3f")
    able = cells[~plain & ~on_truth & ~cells["constant"].to_numpy(dtype=bool) & cells["mean"].notna()]
    if not len(able):
        yield from ("-", "-")
        return
    best: Any = able.loc[able["mean"].idxmax()]
    word = best["kind"] if best["kind"] in SIDES else ""
    yield TableCell(written(best["mean"], ".3f", word), against=SIDES.get(word, ""))
    yield called(*best[TECHNIQUE])
