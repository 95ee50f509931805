"""Write the networks of configs/baumann2023: the generator of Baumann et al. (2023), cut into bins.

usage: python benchmarks/baumann2023.py [FOLDER]
       python benchmarks/baumann2023.py cut 1.5 0.5 0.25    # the best rules where bins are so wide

J. Baumann, A. Castelnovo, R. Crupi, N. Inverardi, D. Regoli, "Bias on demand: a modelling framework that
generates synthetic data with bias", FAccT 2023; the formulas are those of their package `biasondemand` 0.1.0.
A is the protected attribute, 1 the deprived group, one half each:

    R = Gamma(2, 3) - history_r A                        (a salary)
    Q ~ Binomial(3, 1 / (1 + exp(r_to_q R - history_q A)))
    S = R - q_weight Q - history_y A + interaction R A + Normal(0, sigma)
    Y = 1 where S - measured_y A is above its mean       (the label on record; the true one: where S is)
    P = R - measured_r A + Normal(0, 2)                  (recorded instead of R)

Tables are integrals over R within its bins by Gauss-Legendre quadrature, nothing is drawn. What is lost by
cutting is who has which R within a bin: P and Y are independent given the bin of R. The mean of S is that of
the population; theirs is that of the rows drawn. Where P(Y) of a cell is near one half, the best rule hangs
on the cut; `cut` says for how many people.
"""

import sys
from dataclasses import asdict, astuple, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, gamma, norm

from fairbench_cli.data.table import Column, Floats
from fairbench_cli.network.files import Meta, save
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.query import compute_posterior

Edges = tuple[float, ...]
EDGES = (0.0, 1.5, 3.0, 4.5, 6.0, 7.5, 9.0, 12.0, 15.0)
"""Of R and P; up to 9 as far apart as the default of `history_r`, which so moves whole bins."""
LOWEST = 1.5  # below 0: how far history may lower R
HIGHEST = 90.0
"""Where the last bin is cut off: less than 1e-11 of R lies beyond."""
SPREAD_P = 2.0
POINTS = 200
ROWS = 15_000
FOLDER = Path(__file__).parents[1] / "configs" / "baumann2023"


@dataclass(frozen=True)
class Generator:
    """The parameters of the generator; by default without bias.

    Parameters
    ----------
    history_r, history_q, history_y : float
        By how much R, the logit of Q and S are moved for A = 1 (λ_hR, λ_hQ, λ_hY; theirs are 1.5, 1 and 4).
    measured_r : float or None
        Not None: P, which is R less so much for A = 1 and with noise, is a column too (λ_mR; theirs is 1).
    measured_y : float
        By how much S is recorded too low for A = 1 (λ_mY; theirs is 0). If not 0, a column `near` says whose
        S is above the mean by no more than that: their labels are lost on record if A = 1.
    interaction, r_to_q : float
        λ_YR and λ_RQ (theirs are 0).
    q_weight, sigma : float
        λ_Q and the noise of S.
    """

    history_r: float = 0.0
    history_q: float = 0.0
    history_y: float = 0.0
    measured_r: float | None = None
    measured_y: float = 0.0
    interaction: float = 0.0
    r_to_q: float = 0.0
    q_weight: float = 2.0
    sigma: float = 5.0


NETWORKS = {
    "no-bias": Generator(),
    "history-r": Generator(history_r=1.5),
    "history-q": Generator(history_q=1.0),
    "history-y": Generator(history_y=4.0),
    "measured-r": Generator(measured_r=1.0),
    "measured-y": Generator(measured_y=4.0),
}


def network_of(given: Generator, edges: Edges = EDGES) -> BayesNet:
    """Return the network of a generator: columns A, R, perhaps P, Q, perhaps `near`, and Y."""
    r, weight, possible = _points(given, edges)  # (A, bins, points)
    q = np.arange(4)
    joint = weight[:, :, None] * _q_given_r(given, r, q)  # (A, bins, Q, points)
    mass = joint.sum(axis=-1)
    there = joint * possible[:, :, None, None]
    a = np.arange(2)[:, None, None, None]
    s = r[:, :, None] * (1 + given.interaction * a) - given.q_weight * q[:, None] - given.history_y * a
    cut = float((there * s).sum() / there.sum()) - given.measured_y / 2  # A halves the population
    above = (joint * norm.sf((cut - s) / given.sigma)).sum(axis=-1)
    far = (joint * norm.sf((cut + given.measured_y - s) / given.sigma)).sum(axis=-1)

    binned = Column("R", _names(edges), "bins", _middles(edges))
    columns = [Column("A", ("0", "1")), binned]
    parents: list[tuple[str, ...]] = [(), ("A",)]
    cpts: list[Floats] = [np.array([0.5, 0.5]), _rows(there.sum(axis=(2, 3)))]
    if given.measured_r is not None:
        columns.append(Column("P", binned.levels, "bins", binned.values))
        parents.append(("A", "R"))
        cpts.append(_rows(_p_given_r(given.measured_r, r, weight, edges)))
    columns += [Column("Q", tuple(map(str, q))), Column("Y", ("0", "1"))]
    parents += [("A", "R"), ("A", "R", "Q")]
    cpts += [_rows(mass), _rows(np.stack([mass - above, above], axis=-1))]
    if given.measured_y:
        columns.insert(-1, Column("near", ("no", "yes")))
        parents.insert(-1, ("A", "R", "Q", "Y"))
        near = np.stack([np.stack([far, above - far], axis=-1)] * 2, axis=-2)
        near[..., 0, :] = 1, 0
        cpts.insert(-1, _rows(near))
    names = [column.name for column in columns]
    return BayesNet(
        tuple(columns), tuple(tuple(names.index(name) for name in own) for own in parents), tuple(cpts)
    )


def _points(given: Generator, inner: Edges) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return the R of every point and its weight, (A, bins, points), (A, bins) whether R can be there.

    In a bin where it cannot all R weigh the same, so that the other tables have rows for it.
    """
    x, w = np.polynomial.legendre.leggauss(POINTS)
    edges = np.array([min(-LOWEST, -given.history_r), *inner, HIGHEST])
    start = -given.history_r * np.array([[0], [1]])  # a corner of the density
    possible = edges[1:] > start
    low = np.where(possible, np.maximum(edges[:-1], start), edges[:-1])
    half = (edges[1:] - low)[:, :, None] / 2
    r = (edges[1:] + low)[:, :, None] / 2 + half * x
    density = np.where(possible[:, :, None], gamma.pdf(r - start[:, :, None], 2, scale=3), 1.0)
    return r, half * w * density, possible


def _q_given_r(given: Generator, r: Floats, q: NDArray[np.intp]) -> Floats:
    """Return P(Q | A, R) at every point, (A, bins, Q, points)."""
    a = np.arange(2)[:, None, None]
    chance = 1 / (1 + np.exp(given.r_to_q * r - given.history_q * a))
    return np.asarray(binom.pmf(q[:, None], 3, chance[:, :, None]))


def _p_given_r(lowered: float, r: Floats, weight: Floats, inner: Edges) -> Floats:
    """Return how much of each bin of R falls in each bin of P, (A, bins of R, bins of P)."""
    edges = np.array([-np.inf, *inner, np.inf])
    mean = r - lowered * np.arange(2)[:, None, None]
    below = norm.cdf((edges - mean[..., None]) / SPREAD_P)
    return np.asarray((weight[..., None] * np.diff(below, axis=-1)).sum(axis=2))


def _rows(masses: Floats) -> Floats:
    """Return masses as the rows of a table, each of which sums to 1."""
    return np.asarray(masses / masses.sum(axis=-1, keepdims=True))


def _names(edges: Edges) -> tuple[str, ...]:
    inner = (f"{low:g} to {high:g}" for low, high in pairwise(edges))
    return (f"below {edges[0]:g}", *inner, f"{edges[-1]:g} or more")


def _middles(edges: Edges) -> tuple[float, ...]:
    """Return the number that each bin stands for: its middle, of the two open ones a bin's width beyond."""
    inner = [(low + high) / 2 for low, high in pairwise(edges)]
    return (edges[0] - 0.75, *inner, edges[-1] + 3)


@dataclass(frozen=True)
class BestRule:
    """What the best rule of the recorded labels comes to on the true ones.

    `discrimination` is favoured less deprived, `tpr_gap` and `fpr_gap` are deprived less favoured;
    `near_half` is the share of people whose cell has a chance within .005 of one half.
    """

    discrimination: float
    tpr_gap: float
    fpr_gap: float
    accuracy: float
    near_half: float


def best_rule(given: Generator, edges: Edges, *, sees_group: bool) -> BestRule:
    """Return the numbers of the rule that accepts where the recorded chance is at least one half."""
    net = network_of(given, edges)
    joint = compute_posterior(net, list(net.names)).table
    recorded = joint
    if "near" in net.names:  # labels of the deprived that are near are lost, and nobody sees the column
        lost = joint[1, ..., 1, 1]
        recorded = joint.copy()
        recorded[1, ..., 1, 0] += lost
        recorded[1, ..., 1, 1] -= lost
        joint = joint.sum(axis=-2)
        recorded = recorded.sum(axis=-2)
    if given.measured_r is not None:  # P in the place of R
        joint = joint.sum(axis=1)
        recorded = recorded.sum(axis=1)
    if not sees_group:
        recorded = np.broadcast_to(recorded.sum(axis=0), recorded.shape)
    mass = recorded.sum(axis=-1)
    chance = np.divide(recorded[..., 1], mass, out=np.zeros_like(mass), where=mass > 0)
    accepted = chance >= 0.5
    people = joint.sum(axis=-1)
    by_group = tuple(range(1, accepted.ndim))
    rates = (people * accepted).sum(axis=by_group) / people.sum(axis=by_group)
    by_label = (joint * accepted[..., None]).sum(axis=by_group) / joint.sum(axis=by_group)
    correct = (joint[..., 1] * accepted + joint[..., 0] * ~accepted).sum()
    return BestRule(
        discrimination=float(rates[0] - rates[1]),
        tpr_gap=float(by_label[1, 1] - by_label[0, 1]),
        fpr_gap=float(by_label[1, 0] - by_label[0, 0]),
        accuracy=float(correct),
        near_half=float(people[np.abs(chance - 0.5) < 0.005].sum()),
    )


def even_edges(width: float) -> Edges:
    """Return edges so far apart, from the lowest R there can be to 15."""
    return tuple(np.arange(-LOWEST + width, EDGES[-1] + width / 2, width).tolist())


def print_cuts(widths: list[float]) -> None:
    """Print the best rules of every network with the bins of the config, and with bins of each width."""
    print("| network | A | bins | discrimination | TPR | FPR | accuracy | near one half |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name, given in NETWORKS.items():
        for sees_group in (False, True):
            for cut in ("ten", *widths):
                edges = EDGES if cut == "ten" else even_edges(float(cut))
                numbers = astuple(best_rule(given, edges, sees_group=sees_group))
                texts = [f"{number:z.3f}" for number in numbers]
                print(f"| {name} | {'seen' if sees_group else 'hidden'} | {cut} | {' | '.join(texts)} |")


def write(folder: Path) -> list[Path]:
    """Write the network of every entry of `NETWORKS`; return the files."""
    roles = {"label": "Y", "favourable": "1", "attribute": "A", "deprived": ["1"], "favoured": ["0"]}
    paths = []
    for name, given in NETWORKS.items():
        source = {"dataset": f"baumann2023-{name}", "rows": ROWS, "generator": asdict(given), "roles": roles}
        paths.append(folder / f"{name}.network.json")
        save(network_of(given), paths[-1], Meta("none", "none", 0.0, 0.0, source))
    return paths


if __name__ == "__main__":
    if sys.argv[1:2] == ["cut"]:
        print_cuts([float(width) for width in sys.argv[2:]])
        sys.exit()
    for path in write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER):
        print(path)
