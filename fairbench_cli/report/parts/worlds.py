"""What is known of the worlds of a run, and of its β, without training anything.

The table says what each world records, and which accuracy on true labels is reached in it.
"""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from fairbench_cli.document.model import SIDES, Document, Section, TableCell, plain_table
from fairbench_cli.measures.counts import PAIR
from fairbench_cli.report.ledger import exact_worlds
from fairbench_cli.report.ledger.bias_cost import bias_cost_frame
from fairbench_cli.report.ledger.cell_labels import NO_BIAS, TRAINED_ON_TRUTH, read_display_names
from fairbench_cli.report.ledger.columns import ACCURACY
from fairbench_cli.report.ledger.journal_arrays import TECHNIQUE, is_baseline
from fairbench_cli.report.ledger.paired_differences import format_number
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.parts.part import RunPart
from fairbench_cli.report.show.page_slots import PagePanels
from fairbench_cli.report.show.page_worlds import WORLDS_CAPTION, world_sections
from fairbench_cli.report.show.tables import caption

RECORD_HEADS = {
    "world": "world",
    "beta": "β",
    "favourable_deprived": "P'(+|d)",
    "favourable_favoured": "P'(+|f)",
    "disparity": "disparity",
    "total_variation": "TV",
    "ranking": "ranking",
}
ACCURACY_HEADS = {
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

N_WORLD_COLUMNS = 2
"""How many columns of both name a world; they stand in each part of a table that is cut."""


def worlds_table(name: str, run: RunResults) -> Document:
    """Lay out the worlds of each data set and classifier; empty for a run without worlds."""
    if not run.plan.has_worlds:
        return Document(name)
    # 1. The accuracies on true labels, by panel, world and β.
    names = read_display_names(run.plan.config)
    frame = bias_cost_frame(run.by_own_attribute)
    frame = frame[(frame["labels"] == "true") & (frame["metric"] == ACCURACY)]
    frames_by_world = dict(iter(frame.groupby(exact_worlds.PANEL_COLUMNS + ["world", "beta"])))
    # 2. A section for each panel, with its two tables: a row for each world and β.
    sections = []
    methods = set()
    sees_protected = set()
    for panel_key, worlds in exact_worlds.worlds_by_panel(run).items():
        record_rows = []
        accuracy_rows = []
        for world_name, beta in worlds:
            world = exact_worlds.exact_world(run, panel_key, (world_name, beta))
            methods.add(world.method)
            sees_protected.add(world.include_protected)
            heads: list[str | TableCell] = [world_name or NO_BIAS, f"{beta:g}"]
            record_rows.append(heads + _record_cells(world))
            techniques = frames_by_world.get(panel_key + (world_name, beta), frame.iloc[:0])
            accuracy_rows.append(heads + _accuracy_cells(world, techniques, names.technique))
        record_table = plain_table(
            "What the world records", RECORD_HEADS.values(), record_rows, N_WORLD_COLUMNS, keys=RECORD_HEADS
        )
        accuracy_table = plain_table(
            "Accuracy on true labels",
            ACCURACY_HEADS.values(),
            accuracy_rows,
            N_WORLD_COLUMNS,
            keys=ACCURACY_HEADS,
            marks=["†: higher than that of none."],
        )
        dataset, attribute, representation, classifier, classifier_parameters = panel_key
        title = [names.dataset(dataset), attribute, names.classifier(classifier, classifier_parameters)]
        if representation != "original":
            title.append(representation)
        sections.append(Section(", ".join(title), tables=(record_table, accuracy_table)))
    # 3. The caption.
    facts = list(_COLUMN_CAPTIONS)
    if False in sees_protected:
        facts.append(_BLIND_CAPTION)
    if "draws" in methods:
        facts.append(
            "Numbers of a world are means of draws where too many columns depend on the outcome: worlds.csv."
        )
    facts += caption(run, set())
    return Document(name, facts=tuple(facts), sections=tuple(sections))


_COLUMN_CAPTIONS = (
    "P'(+|d), P'(+|f): shares of recorded favourable labels, of the deprived and of the favoured; disparity: "
    "P'(+|f) − P'(+|d); TV: the total variation between what is recorded and the truth. ranking: kept where "
    "the record ranks the people of each group as the truth does, so that thresholds can regain it.",
    "constant: the better of deciding the same for everybody; Bayes rule: p' at least 0.5 on the record; "
    "thresholds: the best for each group, known the truth. These are computed of the network.",
    "none: the classifier without a technique; truth: the same, trained without the bias. highest: of the "
    "technique with the highest mean that accepts neither nobody nor everybody in any repeat; better, worse: "
    "than none in the same world, in the population, at 5 % after Holm's adjustment.",
)
_BLIND_CAPTION = (
    "What is computed is of rules that do not see the protected attribute: to them label bias, too, may "
    "change the ranking within a group."
)


def _record_cells(world: exact_worlds.ExactWorld) -> list[str | TableCell]:
    """Return the cells of what a world records; dashes where nothing is known."""
    cells: list[str | TableCell] = []
    for group in PAIR:
        cells.append(format_number(world.value("favourable", "recorded", group), ".3f"))
    cells.append(format_number(world.value("disparity", "recorded")))
    cells.append(format_number(world.value("total-variation"), ".3f"))
    cells.append({None: "-", True: "kept", False: "lost"}[world.keeps_ranking()])
    return cells


def _accuracy_cells(
    world: exact_worlds.ExactWorld, techniques: pd.DataFrame, technique_label: Callable[..., str]
) -> list[str | TableCell]:
    """Return the cells of the accuracies that are reached in a world; dashes where nothing is known.

    Parameters
    ----------
    techniques : DataFrame
        The rows of `bias_cost_frame` on this world.
    technique_label : callable
        Returns the label of a technique.
    """
    # 1. Rules that are computed of the network.
    cells: list[str | TableCell] = [
        format_number(world.accuracy(*exact_worlds.CONSTANT_RULES), ".3f"),
        format_number(world.accuracy("bayes"), ".3f"),
        format_number(world.accuracy("oracle-thresholds"), ".3f"),
    ]
    # 2. The classifier without a technique, and the same, trained without the bias.
    intervention = techniques["intervention"]
    is_none = np.array(list(map(is_baseline, intervention, techniques["parameters"])), dtype=bool)
    if is_none.any():
        none = techniques[is_none].iloc[0]
        lost = none["lost"] if none["world"] and none["beta"] else 0.0
        cells.append(format_number(none["mean"], ".3f"))
        cells.append(format_number(none["mean"] - lost, ".3f"))
    else:
        cells += ["-", "-"]
    # 3. The best technique that decides differently for different people.
    is_candidate = ~is_none & (intervention != TRAINED_ON_TRUTH).to_numpy(dtype=bool)
    is_candidate &= ~techniques["constant"].to_numpy(dtype=bool) & techniques["mean"].notna().to_numpy()
    candidates = techniques[is_candidate]
    if not len(candidates):
        return cells + ["-", "-"]
    best = candidates.iloc[candidates["mean"].to_numpy().argmax()]
    verdict = best["kind"] if best["kind"] in SIDES else ""
    cells.append(TableCell(format_number(best["mean"], ".3f", verdict), against=SIDES.get(verdict, "")))
    cells.append(technique_label(*best[TECHNIQUE]))
    return cells


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
    frames={"worlds": exact_worlds.worlds_frame},
    tables={"worlds": worlds_table},
    sections=worlds_sections,
)
