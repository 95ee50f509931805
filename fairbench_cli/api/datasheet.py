"""What there is to know of a data set: its card, its rows or its shipped network, and what checks found."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fairbench_cli.audit.compare.report import Interval
from fairbench_cli.base.errors import UserError
from fairbench_cli.data import locate
from fairbench_cli.data.card import Card
from fairbench_cli.data.checks.check import CardCheck, check_rows
from fairbench_cli.data.checks.groups import Side, UnknownOutcomes, count_unknown_outcomes
from fairbench_cli.data.checks.rows import read_raw_rows
from fairbench_cli.data.croissant import named_columns, to_croissant
from fairbench_cli.data.load import load
from fairbench_cli.data.table import Codes, Column, Floats, Rows
from fairbench_cli.measures.counts import divide
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.rows import cross_columns
from fairbench_cli.measures.score_test import difference_interval, wilson_interval
from fairbench_cli.network.bias import edited_tables
from fairbench_cli.network.files import Meta, open_network
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.query import compute_posterior

MOST_NAMED = 3  # levels of a group that has no other name


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


@dataclass(frozen=True, eq=False)
class Datasheet:
    """What there is to know of a data set.

    Parameters
    ----------
    card : Card
    origin : {"files", "network", "card"}
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
    checked : Checked
        What checks found in the files, missing cells too; of a network or a card alone nothing.
    sha256 : dict of str to str
        Of the files at hand.
    network : Meta or None
        What the file of the shipped network says of it.
    beta_tables : dict of str to dict of str to str
        Of that network: by attribute, the columns that β acts on, each with the node whose table an
        edit ``as-learned`` changes; a column without an arc to or from the outcome is left out.
    """

    card: Card
    origin: Literal["files", "network", "card"]
    rows: int
    columns: tuple[Column, ...]
    everybody: GroupRate | None = None
    attributes: tuple[AttributeRates, ...] = ()
    intersections: tuple[GroupRate, ...] = ()
    unknown: tuple[UnknownOutcomes, ...] = ()
    checked: CardCheck = field(default_factory=CardCheck)
    sha256: dict[str, str] = field(default_factory=dict)
    network: Meta | None = None
    beta_tables: dict[str, dict[str, str]] = field(default_factory=dict)


def datasheet(name: str, data_dir: Path | None = None) -> Datasheet:
    """Return the data sheet of a data set: of its files; where they are not here, of its network.

    Parameters
    ----------
    name : str
        Of a shipped data set, or the path of a card.
    data_dir : Path, optional
        Where its files are.

    Raises
    ------
    UserError
        When there is no such card, or a file is damaged.
    """
    card, files, network = _opened(name, data_dir)
    if files is not None:
        sheet = _of_files(card, files)
    elif network is not None:
        sheet = _of_network(card, *network)
    else:
        n_rows = card.expected.rows if card.expected else 0
        return Datasheet(card, "card", n_rows, named_columns(card))
    if network is None:
        return sheet
    return replace(sheet, network=network[1], beta_tables=_beta_tables(card, network[0]))


def croissant_of(name: str, data_dir: Path | None = None) -> dict[str, Any]:
    """Return a data set as Croissant metadata for JSON; see `to_croissant` and, for files, `datasheet`.

    Its columns are those of the shipped network, or of the files, or those that the card names.
    """
    card, files, network = _opened(name, data_dir)
    columns: Sequence[Column] = ()
    if network is not None:
        columns = network[0].columns
    elif files is not None:
        columns = load(card, files).table.columns
    return to_croissant(card, columns, files.sha256 if files else {})


def _opened(
    name: str, data_dir: Path | None
) -> tuple[Card, locate.LocatedFiles | None, tuple[BayesNet, Meta] | None]:
    """Return a card, its files if they are here, and its network if one ships; refuse damaged files."""
    card, folders = locate.find_card_and_folders(name, data_dir)
    network = open_network(card.name) if locate.has_network(card) else None
    try:
        return card, locate.locate_files(card, folders), network
    except UserError:
        if any(locate.find_file(file, folders) for file in card.files):
            raise
        return card, None, network


def _of_network(card: Card, net: BayesNet, meta: Meta) -> Datasheet:
    names = _single(card, net.columns)
    rows = int(meta.source.get("rows", 0))
    joint = compute_posterior(net, list(names) + [card.label.column]).table * rows
    favourable = joint[..., net.levels_of(card.label.column).index(card.label.favourable)]
    counts = np.stack([joint.sum(-1) - favourable, favourable], -1).reshape(-1, 2)
    cells = np.argwhere(np.ones(favourable.shape, dtype=bool))
    rates = _rates(card, net.columns, names, cells, counts, measured=False)
    return Datasheet(card, "network", rows, net.columns, *rates)


def _beta_tables(card: Card, net: BayesNet) -> dict[str, dict[str, str]]:
    """Return `Datasheet.beta_tables` of a network."""
    levels = {column.name: column.levels for column in net.columns}
    tables = {}
    for name in _single(card, net.columns):
        acted_on = card.bias_groups(name, levels)
        tables[name] = edited_tables(net.names, net.parents, card.label.column, acted_on, "as-learned")
    return tables


def _of_files(card: Card, files: locate.LocatedFiles) -> Datasheet:
    rows = read_raw_rows(card, files)
    dataset = rows.dataset
    assert dataset is not None  # noqa: S101 - only tables without a card have none
    table = dataset.table
    y = dataset.sample().y
    names = _single(card, table.columns)
    cells, row_cells = _crossed([table[name] for name in names])
    counts = np.stack(
        [np.bincount(row_cells, y == side, len(cells)).astype(np.float64) for side in (0, 1)], -1
    )
    everybody, attributes, intersections = _rates(card, table.columns, names, cells, counts, measured=True)
    return Datasheet(
        card,
        "files",
        len(table),
        table.columns,
        everybody,
        attributes,
        intersections,
        unknown=count_unknown_outcomes(card, files),
        checked=check_rows(rows),
        sha256=files.sha256,
    )


def _single(card: Card, columns: Sequence[Column]) -> list[str]:
    """Return the protected attributes that are columns."""
    column_names = {column.name for column in columns}
    return [name for name, role in card.protected.items() if role.of is None and name in column_names]


def _crossed(columns: Sequence[Codes | Rows]) -> tuple[Rows, Rows]:
    """Return the combinations of columns that occur, shape (combinations, columns), and that of each row.

    >>> cells, at = _crossed([np.array([1, 0, 1]), np.array([2, 0, 2])])
    >>> cells.tolist(), at.tolist()
    ([[0, 0], [1, 2]], [1, 0, 1])
    """
    row_cells = cross_columns(columns)
    first_rows = np.unique(row_cells, return_index=True)[1]
    return np.column_stack([codes[first_rows].astype(np.intp) for codes in columns]), row_cells


def _rates(
    card: Card,
    columns: Sequence[Column],
    names: Sequence[str],
    cells: Rows,
    counts: Floats,
    *,
    measured: bool,
) -> tuple[GroupRate, tuple[AttributeRates, ...], tuple[GroupRate, ...]]:
    """Return the rates of everybody, by attribute and of intersections.

    Parameters
    ----------
    cells : array, shape (combinations, names)
        Of levels of the attributes called `names`.
    counts : array, shape (combinations, 2)
        Unfavourable and favourable outcomes.
    measured : bool
        Whether these are rows, so that there are intervals.
    """
    levels = {column.name: column.levels for column in columns}
    favoured = {name: np.isin(levels[name], card.roles(name, levels).favoured) for name in names}
    codes_of = dict(zip(names, cells.T, strict=True))

    def rate(group: str, counts_of_group: Floats, side: Side | None = None) -> GroupRate:
        favourable, rows = counts_of_group[1], counts_of_group.sum()
        value = float(divide(favourable, rows))
        low = high = math.nan
        if measured:
            low, high = map(float, wilson_interval(favourable, rows))
        return GroupRate(group, float(rows), Interval(value, low, high), side)

    def rates_by(attribute: str) -> AttributeRates:
        attributes = card.protected[attribute].of or (attribute,)
        # 1. The two groups. Of a joint attribute those are favoured whom all its attributes favour.
        is_favoured = np.logical_and.reduce([favoured[name][codes_of[name]] for name in attributes])
        deprived_counts = counts[~is_favoured].sum(0)
        favoured_counts = counts[is_favoured].sum(0)
        gap = gap_of(
            (float(deprived_counts[1]), float(deprived_counts.sum())),
            (float(favoured_counts[1]), float(favoured_counts.sum())),
            measured=measured,
        )
        deprived_name, favoured_name = _group_names(card, attribute, levels)
        # 2. Its levels, which a joint attribute does not have.
        level_rates = []
        if attribute in codes_of:
            for i, level in enumerate(levels[attribute]):
                side: Side = "favoured" if favoured[attribute][i] else "deprived"
                level_rates.append(rate(level, counts[codes_of[attribute] == i].sum(0), side))
        return AttributeRates(
            attribute,
            tuple(level_rates),
            rate(deprived_name, deprived_counts),
            rate(favoured_name, favoured_counts),
            gap,
        )

    attributes = [name for name, role in card.protected.items() if set(role.of or (name,)) <= set(names)]
    intersections = []
    if len(names) > 1:
        for cell, counts_of_cell in zip(cells, counts, strict=True):
            if counts_of_cell.sum() > 0:
                level_names = [levels[name][i] for name, i in zip(names, cell, strict=True)]
                intersections.append(rate(CROSS.join(level_names), counts_of_cell))
    largest = sorted(intersections, key=lambda group: -group.rows)
    return rate("everybody", counts.sum(0)), tuple(map(rates_by, attributes)), tuple(largest)


def gap_of(
    deprived: tuple[float, float], favoured: tuple[float, float], *, measured: bool = True
) -> Interval:
    """Return the rate of the deprived less that of the favoured; of each favourable outcomes and people."""
    a, n = deprived
    b, m = favoured
    low = high = math.nan
    if measured:
        low, high = map(float, difference_interval(a, n, b, m))
    return Interval(float(divide(a, n) - divide(b, m)), low, high)


def _group_names(card: Card, attribute: str, levels: dict[str, tuple[str, ...]]) -> tuple[str, str]:
    """Return the names of the deprived and the favoured: as the card calls them, else their levels if few."""
    role = card.protected[attribute]
    if role.called:
        return role.called.deprived, role.called.favoured
    if role.of:
        return "all others", f"those favoured by {' and '.join(role.of)}"
    roles = card.roles(attribute, levels)
    if max(len(roles.deprived), len(roles.favoured)) <= MOST_NAMED:
        return (", ".join(roles.deprived), ", ".join(roles.favoured))
    return ("the deprived", "the favoured")
