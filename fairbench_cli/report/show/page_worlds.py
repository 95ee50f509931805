"""What each world of a run does to people and to the record, and what can be undone, for its page."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairbench_cli.base.grouping import group_by
from fairbench_cli.document.model import Section, TableCell, TextTable
from fairbench_cli.measures.counts import PAIR
from fairbench_cli.report.ledger import exact_worlds
from fairbench_cli.report.ledger.answer import groups_in_words
from fairbench_cli.report.ledger.cell_labels import NO_BIAS, read_display_names
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show.metric_wording import signed

NOTHING_LOST = 0.0005  # of accuracy: it is written as 0.0 points

EXACT = "Exact, by inference on the network; nothing is trained."
DRAWN = "Where a number has ±, it is of draws from the network, with its standard error; all else is exact."

WORLDS_CAPTION = (
    "Large is what is recorded, small the truth: how many have the favourable label, how far apart the "
    "groups are, how much of the distribution is another in the record (total variation), and by which "
    "factor all odds of a favourable label changed, where it is one.",
    "Order: whether the record ranks people within a group as the truth does, else the share of pairs "
    "that it does not. AUC and accuracies are of the truth, small of the record: of whoever is rather "
    "favourable in truth and in the record (Bayes); of the best threshold for each group, the truth "
    "known; of the best thresholds on the record with equal TPR and with equal selection rates; of one "
    "decision for everybody.",
)
RULE_NAMES = {
    "truth": "Bayes, truth",
    "oracle-thresholds": "best thresholds",
    "bayes": "Bayes, record",
    "equal-opportunity": "equal opportunity",
    "demographic-parity": "demographic parity",
    "constant": "constant",
}
"""Rules whose accuracy is told, by what `worlds.csv` calls them; the better one of its two constant ones."""

RECORD_FIRST: tuple[exact_worlds.Labels, exact_worlds.Labels] = ("recorded", "true")
TRUTH_FIRST: tuple[exact_worlds.Labels, exact_worlds.Labels] = ("true", "recorded")
"""Of which labels a number stands large in a cell, and of which small."""

Row = tuple[str, list[TableCell]]
"""The head of a row, and its cell at each strength."""


@dataclass(frozen=True)
class WorldWords:
    """What the deprived and the favoured group, the strength and the rules of a world are called.

    The strength is empty where there is none.
    """

    groups: tuple[str, str]
    strength: str
    rules: str

    @property
    def named_groups(self) -> list[tuple[str, str]]:
        """The groups by what `worlds.csv` calls them, and their names."""
        return list(zip(PAIR, self.groups, strict=True))


def world_sections(run: RunResults) -> Iterator[Section]:
    """Yield a section for each world of each data set and attribute of which something is known.

    Each has what the world does, by its strength: to the labels and sizes of the groups, to the order within
    them, and to what anybody could reach who knows the record alone, or the truth.
    """
    if not run.plan.has_worlds:
        return
    names = read_display_names(run.plan.config)
    features = run.plan.config.test_features
    planned = {(cell["dataset"], cell["attribute"], cell["world"]) for cell in run.plan.cells}
    worlds_by_key = group_by(
        exact_worlds.exact_worlds_of_run(run).worlds,
        lambda world: (world.dataset, world.attribute, world.world),
    )
    for (dataset, attribute, world_key), known_worlds in worlds_by_key.items():
        if (dataset, attribute, world_key) not in planned:
            continue
        source = run.plan.dataset(dataset, attribute)
        groups = groups_in_words(run.plan.protected(dataset, attribute), attribute)
        strength = exact_worlds.strength_name(source, world_key)
        # 1. The numbers on the features of the test rows, if any; of blind rules first, weak biases first.
        worlds = [world for world in known_worlds if world.features == features] or known_worlds
        worlds.sort(key=lambda world: (world.include_protected, world.beta))
        # 2. A sentence and a table of blind rules, and of those that see the attribute.
        sentences = [_describe_effect(source, world_key)]
        tables: list[TextTable] = []
        for sees_protected, same_rules in group_by(worlds, lambda world: world.include_protected).items():
            see = "see" if sees_protected else "do not see"
            wording = WorldWords(groups, strength, f"rules that {see} {attribute}")
            sentences.append(describe_recovery(same_rules, wording))
            tables.append(_world_table(same_rules, wording, rules_only=bool(tables)))
        # 3. The section.
        world_name = exact_worlds.world_label(source, world_key)
        subtitle = f"{groups[0]} against {groups[1]}"
        if features == "recorded":
            subtitle += " · recorded features"
        dataset_name = names.dataset(dataset)
        yield Section(
            f"{dataset_name}: {world_name}",
            tuple(filter(None, sentences)),
            tuple(tables),
            about=(("dataset", dataset_name), ("compared", attribute), ("world", world_name)),
            fine=subtitle,
        )


def _world_table(
    worlds: Sequence[exact_worlds.ExactWorld], wording: WorldWords, *, rules_only: bool
) -> TextTable:
    """Return the table of what is known of a world, by its strength.

    Parameters
    ----------
    rules_only : bool
        Whether to leave out what is of no rules, as another table has it.
    """
    rows: list[Row] = []
    if not rules_only:
        rows += _record_rows(worlds, wording)
    rows += _rule_rows(worlds, wording)
    known_rows = []
    for name, cells in rows:
        if any(cell.text != "-" for cell in cells):
            known_rows.append((TableCell(name), *cells))
    heads = [wording.strength or "what"]
    for world in worlds:
        heads.append(f"{world.beta:g}" if wording.strength else world.world or NO_BIAS)
    is_exact = all(world.method == "exact" for world in worlds)
    title = f"{wording.rules[:1].upper()}{wording.rules[1:]}"
    return TextTable(title, tuple(heads), tuple(known_rows), EXACT if is_exact else DRAWN, words=1)


def _describe_effect(source: Mapping[str, Any], world_key: str) -> str:
    """Return a sentence on what the world does at its middle strength; empty where it does nothing."""
    strengths = [
        world for world in source.get("worlds", ()) if world["world"] == world_key and world.get("words")
    ]
    if not strengths:
        return ""
    middle = strengths[len(strengths) // 2]
    description = middle["words"]
    strength = exact_worlds.strength_name(source, world_key)
    if strength and len(strengths) > 1:
        return f"At {strength} = {middle['beta']:g}: {description}."
    return f"{description[:1].upper()}{description[1:]}."


def describe_recovery(worlds: Sequence[exact_worlds.ExactWorld], wording: WorldWords) -> str:
    """Return whether thresholds recover the truth, and of which groups the record ranks people otherwise.

    Empty where that is not known.

    Parameters
    ----------
    worlds : sequence of ExactWorld
        The same at each strength.
    wording : WorldWords
    """
    # 1. What the best thresholds lose at each strength, and where they lose most.
    worlds = [world for world in worlds if world.keeps_ranking() is not None]
    lost = {world.beta: world.value("thresholds-lose", "true") for world in worlds}
    if not worlds or any(map(math.isnan, lost.values())):
        return ""
    worst_beta = max(lost, key=lambda beta: lost[beta])
    is_lossless = lost[worst_beta] < NOTHING_LOST
    loss = f"{signed(100 * lost[worst_beta], 1, '')} points"
    # 2. The order is kept at every strength.
    ranks = f"To {wording.rules} the record ranks"
    if all(world.keeps_ranking() for world in worlds):
        as_truth = f"{ranks} people within each group as the truth does"
        if is_lossless:
            return f"{as_truth}: a threshold for each group recovers it."
        return f"{as_truth}, yet the best thresholds lose {loss} of accuracy."
    # 3. The order is lost: of which groups, from which strength on.
    groups_by_first_beta: dict[float, list[str]] = {}
    for group, name in wording.named_groups:
        losing = [world.beta for world in worlds if not world.keeps_ranking(group)]
        if losing:
            groups_by_first_beta.setdefault(losing[0], []).append(name)
    clauses = []
    for beta, names in groups_by_first_beta.items():
        clause = " and ".join(names)
        if wording.strength and beta != worlds[0].beta:
            clause += f" from {wording.strength} = {beta:g} on"
        clauses.append(clause)
    otherwise = f"{ranks} {' and '.join(clauses)} otherwise than the truth"
    if is_lossless:
        return f"{otherwise}; the best thresholds lose no accuracy all the same."
    at_beta = ""
    if wording.strength and len(worlds) > 1:
        at_beta = f" at {wording.strength} = {worst_beta:g}"
    return f"{otherwise}: no thresholds recover it, the best lose {loss} of accuracy{at_beta}."


def _record_rows(worlds: Sequence[exact_worlds.ExactWorld], wording: WorldWords) -> Iterator[Row]:
    """Yield the rows of what a record is described by."""
    for group, name in wording.named_groups:
        yield f"favourable, {name}", _cells(worlds, "favourable", RECORD_FIRST, group)
    yield "gap of the labels", _cells(worlds, "disparity", RECORD_FIRST)
    deprived, deprived_name = wording.named_groups[0]
    for world in worlds:
        recorded, true = (world.value("share", labels, deprived) for labels in RECORD_FIRST)
        if abs(true - recorded) >= NOTHING_LOST:
            yield f"{deprived_name} among all", _cells(worlds, "share", RECORD_FIRST, deprived)
            break
    yield "total variation", _cells(worlds, "total-variation", ("",))
    for group, name in wording.named_groups:
        if any(abs(world.value("prior-shift", "", group) - 1) >= NOTHING_LOST for world in worlds):
            yield f"odds, {name}", _cells(worlds, "prior-shift", ("",), group, digits=2, prefix="× ")


def _rule_rows(worlds: Sequence[exact_worlds.ExactWorld], wording: WorldWords) -> Iterator[Row]:
    """Yield the rows of what rules that learn from a record are described by."""
    for group, name in wording.named_groups:
        yield f"order, {name}", [_order_cell(world, group) for world in worlds]
    for group, name in wording.named_groups:
        yield f"AUC, {name}", _cells(worlds, "auc", TRUTH_FIRST, group, digits=3)
    for rule, name in RULE_NAMES.items():
        yield name, _cells(worlds, "accuracy", TRUTH_FIRST, rule=rule)


def _cells(
    worlds: Sequence[exact_worlds.ExactWorld],
    quantity: str,
    labels: tuple[exact_worlds.Labels, ...],
    group: str = "",
    *,
    rule: str = "",
    digits: int | None = None,
    prefix: str = "",
) -> list[TableCell]:
    """Return a number of each world on the first labels; small its error, and the number on the others.

    Parameters
    ----------
    rule : str
        "constant" is the better one of deciding the same for everybody.
    digits : int, optional
        Behind the point; without it the number is written in per cent.
    prefix : str
        What stands before the number.
    """
    factor, n_digits, unit = (100, 1, " %") if digits is None else (1, digits, "")
    other_word = "truth" if labels == RECORD_FIRST else "record"
    cells = []
    for world in worlds:
        world_rule = world.constant("true") if rule == "constant" else rule
        number, *other_numbers = (world.number(quantity, on, group, world_rule) for on in labels)
        if number is None:
            cells.append(TableCell("-"))
            continue
        fine_print = []
        if number.error:
            fine_print.append(f"± {factor * number.error:.{n_digits}f}")
        for other in other_numbers:
            if other is not None:
                fine_print.append(f"{other_word} {signed(factor * other.value, n_digits, '')}")
        text = f"{prefix}{signed(factor * number.value, n_digits, '')}{unit}"
        cells.append(TableCell(text, ", ".join(fine_print), number.value))
    return cells


def _order_cell(world: exact_worlds.ExactWorld, group: str) -> TableCell:
    """Return whether the record keeps the order of a group, and small, which share of pairs it does not."""
    is_kept = world.keeps_ranking(group)
    discordant = world.number("discordant", "", group)
    if is_kept is None:
        return TableCell("-")
    if is_kept:
        return TableCell("kept", "", 1.0)
    if discordant is None:
        return TableCell("lost", "", 0.0)
    share = signed(100 * discordant.value, 1, "")
    if share == "0.0":
        return TableCell("lost", "under 0.1 %", 0.0)
    return TableCell("lost", f"{share} %", 0.0)
