"""What there is to know of a data set: its card, its rows or its shipped network, and what checks found."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fairbench_cli.audit.compare.report import UNDEFINED, Interval
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.parts.explained import Explanation, of_decisions, stratified
from fairbench_cli.audit.scan.roles import MOST_CODES
from fairbench_cli.audit.scan.strata import MOST_STRATA
from fairbench_cli.base.errors import UserError, suggest, user_error
from fairbench_cli.data.card import Card, find_card, read_card, shipped_cards
from fairbench_cli.data.check import Checked, check_rows
from fairbench_cli.data.checks.rows import Mask, RawRows, raw_rows
from fairbench_cli.data.croissant import croissant, named_columns
from fairbench_cli.data.load import load
from fairbench_cli.data.locate import LocatedFiles, folders, locate
from fairbench_cli.data.table import Column, Floats, Rows, Table
from fairbench_cli.data.unknown import UnknownOutcomes, unknown_policies
from fairbench_cli.measures.counts import divide
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.rows import RANGES, ranges
from fairbench_cli.measures.score_test import difference_interval, wilson
from fairbench_cli.network.files import Meta, open_network
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.query import posterior

MOST_NAMED = 3  # levels of a group that has no other name

Side = Literal["deprived", "favoured"]


@dataclass(frozen=True)
class GroupRate:
    """Rows of a group, and the share of favourable outcomes; of a network expected rows, no interval."""

    group: str
    rows: float
    rate: Interval
    side: Side | None = None


@dataclass(frozen=True)
class AttributeRates:
    """Outcomes by a protected attribute: of each level (none of a joint one), of both groups, and the gap.

    The gap is the rate of the deprived less that of the favoured.
    """

    attribute: str
    levels: tuple[GroupRate, ...]
    deprived: GroupRate
    favoured: GroupRate
    gap: Interval


@dataclass(frozen=True)
class MissingByGroup:
    """Missing cells of a column: how many, what becomes of them, and the shares by attribute and side."""

    column: str
    cells: int
    share: float
    becomes: str
    groups: dict[str, dict[Side, float]]


@dataclass(frozen=True, eq=False)
class Datasheet:
    """What there is to know of a data set.

    Parameters
    ----------
    card : Card
    of : {"files", "network", "card"}
        Where rows, columns and rates are from; of the card alone there are no rates.
    rows : int
        As an experiment sees them; of a network, those that it was learned from.
    columns : tuple of Column
        The label among them; of the card alone they have no levels.
    everybody : GroupRate or None
    attributes : tuple of AttributeRates
        By the card's protected attributes, in its order.
    intersections : tuple of GroupRate
        Of all that are no joint ones, those with rows, the largest first; none of a single attribute.
    unknown : tuple of UnknownOutcomes
        Of each attribute, what unknown outcomes may hide.
    explanations : tuple of Explanation
        Of the gap by each attribute, as the audit explains it, with a part for each column asked for.
    missing : tuple of MissingByGroup
        Columns with missing cells.
    checked : Checked or None
        What checks found in the files.
    sha256 : dict of str to str
        Of the files at hand.
    network : Meta or None
        What the file of the shipped network says of it.
    """

    card: Card
    of: Literal["files", "network", "card"]
    rows: int
    columns: tuple[Column, ...]
    everybody: GroupRate | None = None
    attributes: tuple[AttributeRates, ...] = ()
    intersections: tuple[GroupRate, ...] = ()
    unknown: tuple[UnknownOutcomes, ...] = ()
    explanations: tuple[Explanation, ...] = ()
    missing: tuple[MissingByGroup, ...] = ()
    checked: Checked | None = None
    sha256: dict[str, str] = field(default_factory=dict)
    network: Meta | None = None


def datasheet(name: str, data_dir: Path | None = None, explain: Sequence[str] = ()) -> Datasheet:
    """Return what there is to know of a data set: of its files; where they are not here, of its network.

    Parameters
    ----------
    name : str
        Of a shipped data set, or the path of a card.
    data_dir : Path, optional
        Where its files are.
    explain : sequence of str
        Columns that may explain the gaps, each alone, or crossed: "education,hours".

    Raises
    ------
    UserError
        When there is no such card, or a file is damaged; when there is nothing to explain a gap by.
    """
    card, found, network = _opened(name, data_dir)
    if found is not None:
        return _of_files(card, found, explain, None if network is None else network[1])
    if explain:
        what = f"the files of {card.name} are not here, and nothing else explains a gap"
        fix = f"run `fairbench data fetch {card.reference}`, or name their folder with --data-dir"
        raise user_error(what, fix, "--explain")
    if network is not None:
        return _of_network(card, *network)
    return Datasheet(card, "card", card.expected.rows if card.expected else 0, named_columns(card))


def croissant_of(name: str, data_dir: Path | None = None) -> dict[str, Any]:
    """Return a data set as Croissant metadata, ready for JSON; see `croissant` and, for files, `datasheet`.

    Its columns are those of the shipped network, or of the files, or those that the card names.
    """
    card, found, network = _opened(name, data_dir)
    columns = network[0].columns if network else load(card, found).table.columns if found else ()
    return croissant(card, columns, found.sha256 if found else {})


def _opened(
    name: str, data_dir: Path | None
) -> tuple[Card, LocatedFiles | None, tuple[BayesNet, Meta] | None]:
    """Return a card, its files if they are here, and its network if one ships; refuse damaged files."""
    path = find_card(name)
    card = read_card(path)
    places = folders(data_dir, path)
    network = open_network(name) if (shipped_cards() / f"{name}.network.json").is_file() else None
    try:
        return card, locate(card, places), network
    except UserError:
        if any((place / file.name).is_file() for place in places for file in card.files):
            raise
        return card, None, network


def _of_network(card: Card, net: BayesNet, meta: Meta) -> Datasheet:
    names, rows = _single(card, net.columns), int(meta.source.get("rows", 0))
    joint = posterior(net, [*names, card.label.column]).table * rows
    favourable = joint[..., _levels(net.columns, card.label.column).index(card.label.favourable)]
    counts = np.stack([joint.sum(-1) - favourable, favourable], -1)
    rates = _rates(card, net.columns, names, counts, measured=False)
    return Datasheet(card, "network", rows, net.columns, *rates, network=meta)


def _of_files(card: Card, found: LocatedFiles, explain: Sequence[str], network: Meta | None) -> Datasheet:
    rows = raw_rows(card, found)
    table = (rows.dataset or load(card, found)).table
    names = _single(card, table.columns)
    y = table[card.label.column] == _levels(table.columns, card.label.column).index(card.label.favourable)
    shape = (*(len(_levels(table.columns, name)) for name in names), 2)
    cells = np.ravel_multi_index((*(table[name] for name in names), y.astype(np.intp)), shape)
    counts = np.bincount(cells, minlength=math.prod(shape)).reshape(shape).astype(np.float64)
    everybody, attributes, intersections = _rates(card, table.columns, names, counts, measured=True)
    strata = [_strata(card, table, text.split(",")) for text in explain]
    checked = check_rows(rows)
    return Datasheet(
        card,
        "files",
        len(table),
        table.columns,
        everybody,
        attributes,
        intersections,
        unknown_policies(card, found),
        tuple(_explained(card, table, y, one, strata) for one in attributes) if strata else (),
        tuple(_missing(rows, checked)),
        checked,
        found.sha256,
        network,
    )


def _single(card: Card, columns: Sequence[Column]) -> list[str]:
    """Return the protected attributes that are columns."""
    there = {column.name for column in columns}
    return [name for name, own in card.protected.items() if own.of is None and name in there]


def _levels(columns: Sequence[Column], name: str) -> tuple[str, ...]:
    return next(column.levels for column in columns if column.name == name)


def _rates(
    card: Card, columns: Sequence[Column], names: Sequence[str], counts: Floats, *, measured: bool
) -> tuple[GroupRate, tuple[AttributeRates, ...], tuple[GroupRate, ...]]:
    """Return the rates of everybody, by attribute and of intersections.

    Parameters
    ----------
    counts : array, one axis per name, and one of unfavourable and favourable outcomes
    measured : bool
        Whether they are rows, so that there are intervals.
    """
    levels = {column.name: column.levels for column in columns}

    def rate(group: str, of: Floats, side: Side | None = None) -> GroupRate:
        value, limits = float(divide(of[1], of.sum())), wilson(of[1], of.sum())
        low, high = map(float, limits) if measured else (math.nan, math.nan)
        return GroupRate(group, float(of.sum()), Interval(value, low, high), side)

    def by(attribute: str) -> AttributeRates:
        parts = [name for name in names if name in (card.protected[attribute].of or (attribute,))]
        own = counts.sum(tuple(i for i, name in enumerate(names) if name not in parts))
        marks = np.meshgrid(*(_favoured(card, name, levels) for name in parts), indexing="ij")
        favoured = np.logical_and.reduce(marks)
        words = _called(card, attribute, levels)
        two = own[~favoured].sum(0), own[favoured].sum(0)
        deprived, others = (rate(word, of) for word, of in zip(words, two, strict=True))
        (a, n), (b, m) = ((float(of[1]), float(of.sum())) for of in two)
        gap = (
            gap_of((a, n), (b, m))
            if measured
            else replace(UNDEFINED, value=deprived.rate.value - others.rate.value)
        )
        sides: dict[bool, Side] = {True: "favoured", False: "deprived"}
        each = zip(levels[parts[0]], own, favoured, strict=True) if len(parts) == 1 else ()
        found = tuple(rate(level, of, sides[bool(mark)]) for level, of, mark in each)
        return AttributeRates(attribute, found, deprived, others, gap)

    attributes = [name for name, own in card.protected.items() if set(own.of or (name,)) <= set(names)]
    intersections = [
        rate(CROSS.join(levels[name][i] for name, i in zip(names, at, strict=True)), counts[at])
        for at in (np.ndindex(counts.shape[:-1]) if len(names) > 1 else ())
        if counts[at].sum() > 0
    ]
    everybody = rate("everybody", counts.reshape(-1, 2).sum(0))
    largest = sorted(intersections, key=lambda one: -one.rows)
    return everybody, tuple(map(by, attributes)), tuple(largest)


def gap_of(deprived: tuple[float, float], favoured: tuple[float, float]) -> Interval:
    """Return the rate of the deprived less that of the favoured; of each favourable outcomes and people."""
    (a, n), (b, m) = deprived, favoured
    return Interval(float(divide(a, n) - divide(b, m)), *map(float, difference_interval(a, n, b, m)))


def _called(card: Card, attribute: str, levels: dict[str, tuple[str, ...]]) -> tuple[str, str]:
    """Return what the deprived and the favoured are called: as the card does, else by their levels if few."""
    own = card.protected[attribute]
    if own.called:
        return own.called.deprived, own.called.favoured
    if own.of:
        return "all others", f"those favoured by {' and '.join(own.of)}"
    roles = card.roles(attribute, levels)
    few = max(len(roles.deprived), len(roles.favoured)) <= MOST_NAMED
    return (", ".join(roles.deprived), ", ".join(roles.favoured)) if few else ("the deprived", "the favoured")


def _favoured(card: Card, name: str, levels: dict[str, tuple[str, ...]]) -> Sequence[bool]:
    favoured = card.roles(name, levels).favoured
    return [level in favoured for level in levels[name]]


def _strata(card: Card, table: Table, names: Sequence[str]) -> tuple[str, tuple[str, ...], Rows]:
    """Return what some columns crossed are called, their strata that occur, and the stratum of each row."""
    parts = []
    for name in (name.strip() for name in names):
        if name not in table.names:
            raise user_error(f'{card.name} has no column "{name}"', suggest(name, table.names), "--explain")
        if name == card.label.column:
            raise user_error(f'"{name}" is the label', "explain by another column", "--explain")
        column = table.columns[table.index(name)]
        codes, texts = table[name].astype(np.intp), column.levels
        if column.kind == "number" and len(texts) > MOST_CODES:
            cut, tops = ranges(np.asarray(column.values)[codes], RANGES)
            codes, texts = cut, tuple(f"up to {top:g}" for top in tops)
        parts.append((codes, texts))
    shape = tuple(len(texts) for _, texts in parts)
    flat = np.ravel_multi_index(tuple(codes for codes, _ in parts), shape)
    there, codes = np.unique(flat, return_inverse=True)
    if len(there) > MOST_STRATA:
        what = f"{CROSS.join(names)} makes {len(there)} strata"
        raise user_error(what, f"cross fewer columns; at most {MOST_STRATA} are compared", "--explain")
    places = zip(*np.unravel_index(there, shape), strict=True)
    named = tuple(CROSS.join(texts[i] for i, (_, texts) in zip(at, parts, strict=True)) for at in places)
    return CROSS.join(names), named, codes


def _explained(
    card: Card,
    table: Table,
    y: Mask,
    rates: AttributeRates,
    strata: Iterable[tuple[str, tuple[str, ...], Rows]],
) -> Explanation:
    """Return what strata explain of a gap, as the audit has it."""
    levels = {column.name: column.levels for column in table.columns}
    parts = card.protected[rates.attribute].of or (rates.attribute,)
    favoured = np.ones(len(table), dtype=bool)
    for name in parts:
        favoured &= np.asarray(_favoured(card, name, levels))[table[name]]
    found = []
    for by, names, codes in strata:
        if set(by.split(CROSS)) & set(parts):  # nobody is in a stratum with the other group
            continue
        flat = np.ravel_multi_index((codes, favoured.astype(np.intp), y.astype(np.intp)), (len(names), 2, 2))
        n = np.bincount(flat, minlength=4 * len(names)).reshape(len(names), 2, 2).astype(np.float64)
        found.append(stratified(by, names, of_decisions(n), 1.0, AuditConfig()))
    sizes = (int(rates.deprived.rows), int(rates.favoured.rows))
    return Explanation(
        rates.attribute, rates.deprived.group, rates.favoured.group, *sizes, rates.gap, tuple(found)
    )


def _missing(rows: RawRows, checked: Checked) -> Iterable[MissingByGroup]:
    """Yield the columns with missing cells, the shares of both groups of each attribute among them."""
    sides = {roles.attribute: rows.sides(roles) for roles in rows.roles if not roles.of}
    for one in checked.missing:
        gap = rows.is_gap(one.column)
        shares: dict[str, dict[Side, float]] = {
            attribute: {"deprived": float(gap[deprived].mean()), "favoured": float(gap[favoured].mean())}
            for attribute, (deprived, favoured) in sides.items()
            if attribute != one.column
        }
        yield MissingByGroup(one.column, one.count, one.count / len(gap), one.becomes, shares)
