"""What each world of a run does to people and to the record, and what can be undone, for its page."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairbench_cli.base.grouping import group_by
from fairbench_cli.document.model import Section, TableCell, TextTable
from fairbench_cli.measures.counts import PAIR
from fairbench_cli.report.ledger.answer import groups_in_words
from fairbench_cli.report.ledger.cell_labels import NO_BIAS, read_display_names
from fairbench_cli.report.ledger.exact_worlds import (
    ExactWorld,
    Labels,
    facts_of_run,
    strength_of,
    world_called,
)
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show.metric_wording import signed

NOTHING_LOST = 0.0005  # of accuracy: it is written as 0.0 points

EXACT = "Exact, by inference on the network; nothing is trained."
DRAWN = "Where a number has ±, it is of draws from the network, with its standard error; all else is exact."

Row = tuple[str, list[TableCell]]


def world_sections(run: RunResults) -> Iterator[Section]:
    """Yield a section for each world of each data set and attribute of which something is known.

    Each has what the world does, by its strength: to the labels and sizes of the groups, to the order within
    them, and to what anybody could reach who knows the record alone, or the truth.
    """
    called = read_display_names(run.plan.config)
    features = run.plan.config.test_features
    asked = {tuple(cell[name] for name in ("dataset", "attribute", "world")) for cell in run.plan.cells}
    known = facts_of_run(run).worlds if run.plan.has_worlds else ()
    found = group_by(known, lambda one: (one.dataset, one.attribute, one.world))
    for dataset, attribute, world in (place for place in found if place in asked):
        every = found[dataset, attribute, world]
        source = run.plan.dataset(dataset, attribute)
        groups = groups_in_words(run.plan.protected(dataset, attribute), attribute)
        name = world_called(source, world)
        strength = strength_of(source, world)
        own = [one for one in every if one.features == features] or every
        own.sort(key=lambda one: (one.include_protected, one.beta))
        sentences = [_done(source, world)]
        tables: list[TextTable] = []
        for seen, those in group_by(own, lambda one: one.include_protected).items():
            rules = f"rules that {'see' if seen else 'do not see'} {attribute}"
            sentences.append(undone(those, groups, strength, rules))
            tables.append(_table(those, groups, strength, rules, again=bool(tables)))
        fine = f"{groups[0]} against {groups[1]}"
        if features == "recorded":
            fine += " · recorded features"
        yield Section(
            f"{called.dataset(dataset)}: {name}",
            tuple(filter(None, sentences)),
            tuple(tables),
            about=(("dataset", called.dataset(dataset)), ("compared", attribute), ("world", name)),
            fine=fine,
        )


def _table(
    worlds: Sequence[ExactWorld], groups: tuple[str, str], strength: str, rules: str, *, again: bool
) -> TextTable:
    """Return the table of what is known of a world, by its strength; `again`: what is of rules alone."""
    heads = [f"{one.beta:g}" if strength else one.world or NO_BIAS for one in worlds]
    known = [*(() if again else _of_record(groups, worlds)), *_of_rules(groups, worlds)]
    rows = [(TableCell(name), *cells) for name, cells in known if any(cell.text != "-" for cell in cells)]
    title = f"{rules[:1].upper()}{rules[1:]}"
    if all(one.how == "exact" for one in worlds):
        how = EXACT
    else:
        how = DRAWN
    return TextTable(title, (strength or "what", *heads), tuple(rows), how, words=1)


def _done(source: Mapping[str, Any], world: str) -> str:
    """Return in words what the world does at its middle strength; nothing where it does nothing."""
    own = [one for one in source.get("worlds", ()) if one["world"] == world and one.get("words")]
    if not own:
        return ""
    one = own[len(own) // 2]
    strength = strength_of(source, world)
    if strength and len(own) > 1:
        at = f"At {strength} = {one['beta']:g}: "
    else:
        at = ""
    words = one["words"]
    return f"{at}{words if at else words[:1].upper() + words[1:]}."


def undone(worlds: Sequence[ExactWorld], groups: tuple[str, str], strength: str, rules: str) -> str:
    """Say whether thresholds recover the truth, and which groups the record ranks otherwise than the truth.

    Parameters
    ----------
    worlds : sequence of ExactWorld
        The same at each strength.
    groups : (str, str)
        What the deprived and the favoured are called.
    strength : str
        What the strength is called; empty where there is none.
    rules : str
        Who ranks people.
    """
    known = [one for one in worlds if one.kept() is not None]
    lost = {one.beta: one.value("thresholds-lose", "true") for one in known}
    if not known or any(map(math.isnan, lost.values())):
        return ""
    at, most = max(lost.items(), key=lambda one: one[1])
    ranked = f"To {rules} the record ranks people within each group as the truth does"
    if all(one.kept() for one in known):
        if most < NOTHING_LOST:
            return f"{ranked}: a threshold for each group recovers it."
        return f"{ranked}, yet the best thresholds lose {_percent(most)} of accuracy."
    since: dict[float, list[str]] = {}
    for group, called in zip(PAIR, groups, strict=True):
        first = next((one.beta for one in known if not one.kept(group)), None)
        if first is not None:
            since.setdefault(first, []).append(called)
    where = [
        " and ".join(names)
        + (f" from {strength} = {first:g} on" if strength and first != known[0].beta else "")
        for first, names in since.items()
    ]
    words = f"To {rules} the record ranks {' and '.join(where)} otherwise than the truth"
    if most < NOTHING_LOST:
        return f"{words}; the best thresholds lose no accuracy all the same."
    if strength and len(known) > 1:
        end = f" at {strength} = {at:g}"
    else:
        end = ""
    return f"{words}: no thresholds recover it, the best lose {_percent(most)} of accuracy{end}."


def _percent(value: float) -> str:
    return f"{signed(100 * value, 1, '')} points"


def _of_record(groups: tuple[str, str], worlds: Sequence[ExactWorld]) -> Iterator[Row]:
    """Yield what a record is described by: a head, and its cell at each strength."""
    called = dict(zip(PAIR, groups, strict=True))
    for group, name in called.items():
        yield f"favourable, {name}", _cells(worlds, "favourable", RECORD, group)
    yield "gap of the labels", _cells(worlds, "disparity", RECORD)
    shares = [[one.value("share", labels, PAIR[0]) for labels in RECORD] for one in worlds]
    if any(abs(true - recorded) >= NOTHING_LOST for recorded, true in shares):
        yield f"{groups[0]} among all", _cells(worlds, "share", RECORD, PAIR[0])
    yield "total variation", _cells(worlds, "total-variation", ("",))
    for group, name in called.items():
        if any(abs(one.value("prior-shift", "", group) - 1) >= NOTHING_LOST for one in worlds):
            yield f"odds, {name}", _cells(worlds, "prior-shift", ("",), group, times=1, digits=2, before="× ")


def _of_rules(groups: tuple[str, str], worlds: Sequence[ExactWorld]) -> Iterator[Row]:
    """Yield what rules that learn from a record are described by."""
    called = dict(zip(PAIR, groups, strict=True))
    for group, name in called.items():
        yield f"order, {name}", [_order(one, group) for one in worlds]
    for group, name in called.items():
        yield f"AUC, {name}", _cells(worlds, "auc", TRUTH, group, times=1, digits=3)
    for rule, name in RULES_IN_WORDS.items():
        yield name, _cells(worlds, "accuracy", TRUTH, rule=rule)


RECORD: tuple[Labels, Labels] = ("recorded", "true")
TRUTH: tuple[Labels, Labels] = ("true", "recorded")
"""Of which labels a number stands large in a cell, and of which small."""
RULES_IN_WORDS = {
    "truth": "Bayes, truth",
    "oracle-thresholds": "best thresholds",
    "bayes": "Bayes, record",
    "equal-opportunity": "equal opportunity",
    "demographic-parity": "demographic parity",
    "constant": "constant",
}
"""Rules whose accuracy is told, by what `worlds.csv` calls them; the better one of its two constant ones."""

ABOUT_WORLDS = (
    "Large is what is recorded, small the truth: how many have the favourable label, how far apart the "
    "groups are, how much of the distribution is another in the record (total variation), and by which "
    "factor all odds of a favourable label changed, where it is one.",
    "Order: whether the record ranks people within a group as the truth does, else the share of pairs "
    "that it does not. AUC and accuracies are of the truth, small of the record: of whoever is rather "
    "favourable in truth and in the record (Bayes); of the best threshold for each group, the truth "
    "known; of the best thresholds on the record with equal TPR and with equal selection rates; of one "
    "decision for everybody.",
)


def _cells(
    worlds: Sequence[ExactWorld],
    quantity: str,
    labels: tuple[Labels, ...],
    group: str = "",
    *,
    rule: str = "",
    times: float = 100,
    digits: int = 1,
    before: str = "",
) -> list[TableCell]:
    """Return a number of each world on the first labels; small its error, and the number on the others.

    The rule "constant" is the better one of deciding the same for everybody.
    """
    cells = []
    for one in worlds:
        if rule == "constant":
            named = one.constant("true")
        else:
            named = rule
        number, *others = (one.number(quantity, on, group, named) for on in labels)
        if number is None:
            cells.append(TableCell("-"))
            continue
        fine = []
        if number.error:
            fine.append(f"± {times * number.error:.{digits}f}")
        if labels == RECORD:
            word = "truth"
        else:
            word = "record"
        fine += [f"{word} {signed(times * other.value, digits, '')}" for other in others if other is not None]
        text = f"{before}{signed(times * number.value, digits, '')}"
        if times == 100:
            text += " %"
        cells.append(TableCell(text, ", ".join(fine), number.value))
    return cells


def _order(world: ExactWorld, group: str) -> TableCell:
    """Return whether the record keeps the order of a group, and small, which share of pairs it does not."""
    kept = world.kept(group)
    apart = world.number("discordant", "", group)
    if kept is None:
        return TableCell("-")
    if kept or apart is None:
        share = ""
    else:
        share = signed(100 * apart.value, 1, "")
    fine = ""
    if share == "0.0":
        fine = "under 0.1 %"
    elif share:
        fine = f"{share} %"
    return TableCell("kept" if kept else "lost", fine, 1.0 if kept else 0.0)
