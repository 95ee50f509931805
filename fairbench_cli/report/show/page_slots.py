"""The panels of a run's page, by the slots that they stand in: what the page's sections are made from."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fairbench_cli.base.grouping import group_by
from fairbench_cli.document.model import Chart, Section
from fairbench_cli.report.ledger.answer import groups_in_words
from fairbench_cli.report.ledger.exact_worlds import BETA
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show.page_panels import PagePanel


def nearest_beta_index(betas: Sequence[float], beta: float) -> int:
    """Return the index of a β, or of the one that is nearest to it, the first of two.

    >>> nearest_beta_index([0.0, 0.5], 0.5), nearest_beta_index([0.0, 0.5], 0.25)
    (1, 0)
    """
    return min(range(len(betas)), key=lambda k: abs(betas[k] - beta))


@dataclass(frozen=True, eq=False)
class PageSlot:
    """A place of the page: it shows a panel, in a run with worlds that of the world that is chosen.

    Parameters
    ----------
    number : int
        By which the page's script finds it.
    panels : sequence of PagePanel
        Each world's.
    shown_index : int
        The index of the panel that is shown first.
    beta_index : int
        The index of the β that is shown first.
    """

    number: int
    panels: Sequence[PagePanel]
    shown_index: int
    beta_index: int

    @property
    def shown_panel(self) -> PagePanel:
        """The panel that is shown first."""
        return self.panels[self.shown_index]

    @property
    def switch_values(self) -> tuple[tuple[str, str], ...]:
        """By which values of the page's switches it is shown."""
        panel = self.shown_panel
        if panel.labels:
            return (*panel.switch_values, ("slot", str(self.number)))
        return panel.switch_values

    def make_section(self, charts: Iterable[Chart]) -> Section:
        """Return a section of charts on it."""
        panel = self.shown_panel
        attribute = panel.block["attribute"]
        compared = panel.block["compared"]
        deprived, favoured = groups_in_words(panel.dataset_repeats.protected, compared)
        facts = [f"{deprived} against {favoured}", panel.classifier_name]
        if compared != attribute:
            facts.append(f"techniques work on {attribute}")
        if panel.block["representation"] != "original":
            facts.append(panel.block["representation"])
        return Section(
            panel.dataset_name, charts=tuple(charts), about=self.switch_values, fine=" · ".join(facts)
        )


@dataclass(frozen=True, eq=False)
class PagePanels:
    """The panels of a page, as its sections need them.

    Parameters
    ----------
    slots : list of PageSlot
    metrics : list of str
        The metrics of the panels' arrays.
    """

    slots: list[PageSlot]
    metrics: list[str]

    @property
    def panels(self) -> list[PagePanel]:
        """The panels of all slots."""
        return [panel for slot in self.slots for panel in slot.panels]

    @property
    def strength_name(self) -> str:
        """What their strengths are together: β, as in all runs without worlds, or just strength."""
        if all(panel.strength_name == BETA for panel in self.panels):
            return BETA
        return "strength"

    @property
    def has_reference_rules(self) -> bool:
        """Whether a number of them is known without training."""
        return any(np.isfinite(panel.reference_values).any() for panel in self.panels)


MakeSections = Callable[[RunResults, PagePanels], Iterable[Section]]
"""Returns sections of a run's page, given the run and the panels of the page; none where it has none."""


def group_into_slots(panels: Sequence[PagePanel], world_name: str, beta: float) -> list[PageSlot]:
    """Return the slots of a page: panels that differ in their world alone share one.

    Parameters
    ----------
    panels : sequence of PagePanel
    world_name : str
        The world that is shown first; a slot without it shows its first panel.
    beta : float
        The β that is shown first; a panel without it shows the nearest one.
    """
    slots = []
    for number, worlds in enumerate(group_by(panels, lambda panel: panel.key_without("world")).values()):
        names = [panel.world_name for panel in worlds]
        shown_index = names.index(world_name) if world_name in names else 0
        beta_index = nearest_beta_index(worlds[shown_index].betas, beta)
        slots.append(PageSlot(number, worlds, shown_index, beta_index))
    return slots


def drop_uniform_columns(columns: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the columns that say what a row is about, without those that say the same of all rows.

    The data set and the groups always stay. The attribute goes where it is always that of the groups.
    """
    kept = {}
    for head, values in columns.items():
        if head == "attribute" and values == columns["groups of"]:
            continue
        if head in ("data set", "groups of") or len(set(values)) > 1:
            kept[head] = values
    return kept
