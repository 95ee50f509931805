"""Worlds without training: what rules reach, p'(x) against draws, and where equal opportunity recovers.

usage: FAIRBENCH_DATA=… OMP_NUM_THREADS=1 python benchmarks/worlds.py table | draws | region

table: accuracy on truth and record of p' ≥ ½ and of the most accurate group thresholds with equal selection
rates or equal TPR, in six worlds of strength ½: dutch, compas and adult, each with the network learned as it
is shipped and with one in which the outcome has no children.

draws: p'(x) by enumeration against the share of favourable outcomes in 10^6 recorded rows, in each cell with
100 rows and more: the largest z of every network and mechanism, beside the largest that so many cells have
in 5 % of all cases.

region: the setting of Blum & Stangl (2020), "Recovering from biased data: can fairness constraints improve
accuracy?". See `region`.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from fairbench_cli.api.network import learn
from fairbench_cli.data.card import find_card, read_card
from fairbench_cli.data.table import Floats, Rows
from fairbench_cli.network.bias import Groups
from fairbench_cli.network.exact_measures import Labels, compute_facts
from fairbench_cli.network.files import open_network
from fairbench_cli.network.mechanisms.biases import (
    GroupNoise,
    GroupShare,
    HistoricalBias,
    LabelBias,
    MeasurementError,
    OmittedColumn,
    SelectionBias,
)
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.query import compute_chances, compute_posterior, markov_boundary
from fairbench_cli.network.world import YES, Mechanism, World, draw_people, make_beta_world, make_world

HALF = 0.5
NETWORKS = {"dutch": ("sex", "edu_level"), "compas": ("race", "decile_score"), "adult": ("sex", "education")}
"""The protected attribute, and the column that is measured."""


class Case(NamedTuple):
    """A network, its roles, the groups that β acts on, and a column that other mechanisms act on."""

    name: str
    net: BayesNet
    label: str
    favourable: str
    groups: Groups
    edited: Groups
    column: str

    def world(self, *mechanisms: Mechanism) -> World:
        """Return the world of some mechanisms."""
        return make_world(self.net, self.label, self.favourable, self.groups, mechanisms)

    @property
    def tilted(self) -> World:
        """The world of eq. (4)."""
        of = self.net, self.label, self.favourable, self.groups
        return make_beta_world(*of, [(self.edited, 1.0)], HALF)


def cases(*, sinks: bool = True) -> Iterator[Case]:
    """Yield each network, as learned and, if wanted, with an outcome that has no children."""
    for name, (attribute, column) in NETWORKS.items():
        card = read_card(find_card(name))
        shipped = open_network(name)[0]
        levels = {own.name: own.levels for own in shipped.columns}
        roles, edited = card.roles(attribute, levels), card.bias_groups(attribute, levels)
        groups = {attribute: (roles.deprived, roles.favoured)}
        roles_of = roles.label, roles.favourable, groups, edited, column
        yield Case(f"{name}, as learned", shipped, *roles_of)
        if sinks:
            arcs = [(parent, roles.label) for parent in edited]
            sink = learn(name, outcome_sink=roles.label, require_arcs=arcs).net
            yield Case(f"{name}, outcome_sink", sink, *roles_of)


def six_worlds(case: Case) -> dict[str, tuple[World, Labels]]:
    """Return the worlds of the table, and the features that rules are judged on."""
    noise = MeasurementError(column=case.column, noise=HALF)
    return {
        "no bias": (case.world(), "true"),
        "eq. (4)": (case.tilted, "true"),
        "label": (case.world(LabelBias(flip=HALF)), "true"),
        "selection": (case.world(SelectionBias(drop=HALF)), "true"),
        f"measurement of {case.column}": (case.world(noise), "recorded"),
        "label, only where p ≥ ½": (flipped_where_likely(case.world()), "true"),
    }


def flipped_where_likely(world: World) -> World:
    """Return the world in which half of the deprived's favourable outcomes are flipped where p(x) ≥ ½."""
    net, label = world.network, world.label
    seen = [name for name in net.names if name != label]
    columns = tuple(dict.fromkeys([*world.groups, *markov_boundary(net, label, seen)]))
    sizes = [len(net.columns[net.index(name)].levels) for name in columns]
    codes = dict(zip(columns, np.indices(sizes).reshape(len(sizes), -1), strict=True))
    p = compute_chances(net, label, world.favourable, seen, codes).reshape(sizes)
    deprived = world.of_group("deprived")
    who = deprived.reshape(*deprived.shape, *[1] * (p.ndim - deprived.ndim)) & (np.nan_to_num(p) >= HALF)
    plus = net.columns[net.index(label)].levels.index(world.favourable)
    flip = np.eye(2)
    flip[plus] = HALF
    return world.recording([label], columns, np.where(who[..., None, None], flip, np.eye(2)))


ROWS = ("bayes", "demographic-parity", "equal-opportunity", "oracle-thresholds")
KNOWN = """
.832 .772 .826 .832 .833 .772 .826
.829 .727 .826 .832 .847 .725 .839
.732 .768 .826 .832 .814 .717 .785
.832 .747 .826 .832 .840 .735 .833
.781 .736 .758 .781 .782 .737 .759
.732 .772 .811 .829 .794 .710 .749
"""
"""Of dutch as learned, from samples of 300,000 rows by two other implementations."""


def accuracies(world: World, features: Labels) -> list[float]:
    """Return the numbers of a row of the table: true accuracy of four rules, recorded accuracy of three."""
    facts = compute_facts(world, features=features)
    true = [facts.measure(rule) for rule in ROWS]
    if not world.included and not world.altered:  # eq. (4): on record are its own people
        facts = compute_facts(replace(world, base=world.network), features=features)
    return true + [facts.measure(rule, labels="recorded") for rule in ROWS[:3]]


def table() -> None:
    """Print the accuracies, and by how much those of dutch are off the known ones."""
    known = np.array([line.split() for line in KNOWN.strip().splitlines()], dtype=float)
    for case in cases():
        print(f"\n{case.name}\n{'':32} true: plain, DP, EO, oracle, truth; recorded: plain, DP, EO; kept; TV")
        found = []
        for said, (world, features) in six_worlds(case).items():
            found.append(accuracies(world, features))
            facts = compute_facts(world, features=features)
            numbers = [*found[-1][:4], facts.measure("truth"), *found[-1][4:]]
            kept = "yes" if all(facts.value("kept", group=g) for g in ("deprived", "favoured")) else "no"
            line = " ".join(f"{number:.3f}" for number in numbers)
            print(f"{said:32} {line}  {kept:3}  {facts.value('total-variation'):.3f}  {facts.how}")
        if case.name == "dutch, as learned":
            off = np.abs(np.array(found) - known)
            print(f"of {off.size} known numbers: off by {off.max():.4f} at most, {off.mean():.4f} on average")


def every_mechanism(case: Case) -> dict[str, World]:
    """Return a world of each mechanism, of equation (4), and of several at once."""
    levels = case.net.columns[case.net.index(case.column)].levels
    some, column = {case.column: levels[: len(levels) // 2]}, case.column
    group, flips, noise = GroupNoise(noise=0.1), LabelBias(flip=0.4), MeasurementError(column, HALF)
    dropped = SelectionBias(drop=HALF)
    return {
        "eq. (4)": case.tilted,
        "label": case.world(flips),
        "label to favourable": case.world(LabelBias(flip=0.3, to="favourable")),
        "label given": case.world(LabelBias(flip=HALF, given=some)),
        "selection": case.world(dropped),
        "screening": case.world(SelectionBias(drop=0.8, by=some)),
        "measurement": case.world(noise),
        "history": case.world(HistoricalBias(column, HALF, towards=levels[0], of="everybody")),
        "omission": case.world(OmittedColumn(column)),
        "group": case.world(group),
        "representation": case.world(GroupShare(share=0.1)),
        "all together": case.world(group, noise, flips, dropped),
    }


def draws(n: int = 1_000_000) -> None:
    """Print the largest z of drawn shares against p'(x) and against the probability of each cell."""
    print("network, mechanism, cells; largest z of p', of cells; 95 % of such maxima are below")
    worst, every = 0.0, 0
    for i, case in enumerate(cases()):
        for j, (said, world) in enumerate(every_mechanism(case).items()):
            cells, by_outcome, by_cell = largest(world, n, seed=100 * i + j)
            usual = usual_largest(cells)
            worst, every = max(worst, by_outcome), every + cells
            numbers = f"{cells:7} {by_outcome:6.2f} {by_cell:6.2f} {usual:6.2f}"
            print(f"{case.name:20} {said:20} {numbers}", flush=True)
    print(f"largest z of p' in all {every:,} cells: {worst:.2f} (usual up to {usual_largest(every):.2f})")


def usual_largest(cells: int) -> float:
    """Return what the largest |z| of so many cells stays below in 95 % of all cases."""
    return NormalDist().inv_cdf(1 - (1 - 0.95 ** (1 / cells)) / 2)


def largest(world: World, n: int, seed: int) -> tuple[int, float, float]:
    """Return how many cells were drawn, and the largest |z| of the outcomes in them and of their sizes.

    A cell is a combination of levels of the recorded columns that the recorded outcome depends on; z is that
    of the binomial tail probability, so that small cells count too.
    """
    net, given = world.network, dict.fromkeys(world.included, YES)
    seen = [name for name in world.recorded if name != world.label]
    columns = markov_boundary(net, world.label, seen, given)
    rows = draw_people(world, n, seed).recorded
    sizes = [len(net.columns[net.index(name)].levels) for name in columns]
    at = np.ravel_multi_index([rows[name] for name in columns], sizes)
    plus = net.columns[net.index(world.label)].levels.index(world.favourable)
    many = np.bincount(at, minlength=int(np.prod(sizes)))
    favourable = np.bincount(at[rows[world.label] == plus], minlength=len(many))
    drawn = np.flatnonzero(many)
    codes = dict(zip(columns, np.unravel_index(drawn, sizes), strict=True))
    p = compute_chances(net, world.label, world.favourable, seen, codes, given)
    share = compute_posterior(net, columns, given).table.ravel()
    if (many[share == 0] > 0).any() or np.isnan(p).any():
        raise AssertionError("a row was drawn that cannot be")
    by_outcome = tails(favourable[drawn], many[drawn], p)
    by_cell = tails(many[share > 0], np.full((share > 0).sum(), n), share[share > 0])
    return len(drawn), float(by_outcome.max()), float(by_cell.max())


def tails(k: Rows, n: Rows, p: Floats) -> Floats:
    """Return |z| of the smaller binomial tail of each count."""
    from scipy.stats import binom, norm

    p = np.clip(p, 0.0, 1.0)
    tail = np.minimum(binom.cdf(k, n, p), binom.sf(k - 1, n, p))
    return np.asarray(np.maximum(0.0, norm.isf(tail)))


def region() -> None:
    """Print how many settings theory and exact optimum agree on, cell by cell, by share and error."""
    kept, flips = np.linspace(0.05, 1, 20), (0.0, 0.2, 0.4, 0.6, 0.8, 0.95)
    from recovery import grid, recoveries  # next to this file

    print("r     η      settings  agree  border  EO recovers  plain recovers")
    for r, eta in product((0.1, 0.3, 0.5, 0.7, 0.9), (0.05, 0.15, 0.25, 0.35, 0.45)):
        found = list(recoveries(grid([r], [eta], kept, kept, flips)))
        counts = (
            len(found),
            sum(one.agrees for one in found),
            sum(one.predicted is None or one.plain_predicted is None for one in found),
            sum(one.found for one in found),
            sum(one.plain_found for one in found),
        )
        print(f"{r:4}  {eta:4}  " + "  ".join(f"{number:8}" for number in counts), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("table", "draws", "region"))
    {"table": table, "draws": draws, "region": region}[parser.parse_args().what]()
