"""What is known of the worlds of a run, and of its β, without training anything.

The table says what each world records, and which accuracy on true labels is reached in it.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from fairbench_cli.document.model import SIDES, Document, Section, TableCell, plain_table
from fairbench_cli.measures.counts import PAIR
from fairbench_cli.report.ledger.bias_cost import bias_cost_frame
from fairbench_cli.report.ledger.cell_labels import NO_BIAS, TRAINED_ON_TRUTH, read_display_names
from fairbench_cli.report.ledger.columns import ACCURACY
from fairbench_cli.report.ledger.exact_worlds import (
    CONSTANT_RULES,
    PANEL_COLUMNS,
    ExactWorld,
    exact_world,
    worlds_by_panel,
    worlds_frame,
)
from fairbench_cli.report.ledger.journal_arrays import TECHNIQUE, is_baseline
from fairbench_cli.report.ledger.paired_differences import format_number
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.parts.part import RunPart
from fairbench_cli.report.show.page_slots import PagePanels
from fairbench_cli.report.show.page_worlds import WORLDS_CAPTION, world_sections
from fairbench_cli.report.show.tables import caption

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


def worlds_table(name: str, run: RunResults) -> Document:
    """Lay out the worlds of each data set and classifier; empty for a run without worlds."""
    if not run.plan.has_worlds:
        return Document(name)
    names = read_display_names(run.plan.config)
    frame = bias_cost_frame(run.by_own_attribute)
    shown = (frame["labels"] == "true") & (frame["metric"] == ACCURACY)
    reached = dict(iter(frame[shown].groupby([*PANEL_COLUMNS, "world", "beta"])))
    sections = []
    how = set()
    seen = set()
    for place, worlds in worlds_by_panel(run).items():
        dataset, attribute, representation, *classifier = place
        title = [names.dataset(dataset), attribute, names.classifier(*classifier)]
        if representation != "original":
            title.append(representation)
        does = []
        gets = []
        for world, beta in worlds:
            known = exact_world(run, place, (world, beta))
            how.add(known.method)
            seen.add(known.include_protected)
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
    facts = [*_ABOUT]
    if False in seen:
        facts.append(_BLIND)
    if "draws" in how:
        facts.append(
            "Numbers of a world are means of draws where too many columns depend on the outcome: worlds.csv."
        )
    facts += caption(run.plan, set())
    return Document(name, facts=tuple(facts), sections=tuple(sections))


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


def _done(known: ExactWorld) -> Iterator[str]:
    """Yield what a world does, as it is written; dashes where nothing is known."""
    for group in PAIR:
        yield format_number(known.value("favourable", "recorded", group), ".3f")
    yield format_number(known.value("disparity", "recorded"))
    yield format_number(known.value("total-variation"), ".3f")
    yield {None: "-", True: "kept", False: "lost"}[known.keeps_ranking()]


def _reached(known: ExactWorld, cells: pd.DataFrame, called: Callable[..., str]) -> Iterator[str | TableCell]:
    """Yield the accuracies that are reached in a world, as they are written."""
    for rules in (CONSTANT_RULES, ("bayes",), ("oracle-thresholds",)):
        yield format_number(known.accuracy(*rules), ".3f")
    techniques = cells[TECHNIQUE].itertuples(index=False, name=None)
    plain = np.array([is_baseline(*own[:2]) for own in techniques], dtype=bool)
    on_truth = (cells["intervention"] == TRAINED_ON_TRUTH).to_numpy(dtype=bool)
    none: Any = next(cells[plain].itertuples(), None)
    yield "-" if none is None else format_number(none.mean, ".3f")
    biased = none is not None and none.world and none.beta
    yield "-" if none is None else format_number(none.mean - (none.lost if biased else 0.0), ".3f")
    able = cells[~plain & ~on_truth & ~cells["constant"].to_numpy(dtype=bool) & cells["mean"].notna()]
    if not len(able):
        yield from ("-", "-")
        return
    best: Any = able.loc[able["mean"].idxmax()]
    if best["kind"] in SIDES:
        word = best["kind"]
    else:
        word = ""
    yield TableCell(format_number(best["mean"], ".3f", word), against=SIDES.get(word, ""))
    yield called(*best[TECHNIQUE])


def worlds_sections(run: RunResults, _page_panels: PagePanels) -> Iterator[Section]:
    """Yield the section on what each world does and what can be undone."""
    yield Section(
        "What each world does, and what can be undone",
        WORLDS_CAPTION,
        sections=tuple(world_sections(run)),
        tiled=True,
        anchor="worlds",
    )


WORLDS = RunPart(
    "worlds",
    frames={"worlds": worlds_frame},
    tables={"worlds": worlds_table},
    sections=worlds_sections,
)
