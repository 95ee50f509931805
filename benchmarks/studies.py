"""How often tests of the repeats of a published study are wrong, and how often they find a difference.

``python benchmarks/studies.py [studies] [part ...]`` prints CSV: 1,000 studies a line, unless said otherwise.
Parts: splits, folds, fresh, seeds, unpaired, signs, families (all, if none is named). Every simulation has a
seed of its own. ``python benchmarks/studies.py 1000 > docs/reference/verdicts/studies.csv``

A row has a group, a label, a feature that all techniques see, and features of each technique's own. All
techniques accept whoever is nearer to the centroid of the favourable label, so that two whose own features
have the same law are equal in every metric and in every design: exchanging them changes no probability. With
"best of 21" a model looks at one feature of its own alone, which its training rows pick. Where one technique
is to be worse, its own feature is noisier. Features are normal given group and label, so the accuracy and
the gap of a trained model are known exactly. The true difference is their mean over 20,000 training sets of
the size that the design trains on, ± .0001; `tests/studies/test_levels.py` compares it with many rows.
"""

import csv
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import mannwhitneyu, wilcoxon

from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.significance import holm
from fairbench_cli.report.ledger.inference import paired_test, welch_test

LEVEL = 0.05
TRAIN_SHARE = 0.7
ROWS = (500, 5000)
REPEATS = (10, 20, 50)
METRICS = ("accuracy", "gap")
POINTS = (0.01, 0.02, 0.03)  # of accuracy
TRAINING_SETS = 20_000  # over which true differences are means
N_SETS = 5  # data sets of a family
N_TECHNIQUES = 10  # on each of them
FAMILY_REPEATS = 20

Masks = NDArray[np.float32]


@dataclass(frozen=True)
class World:
    """People, and what is to be learned from.

    Parameters
    ----------
    name : str
    deprived : float
        The share of the deprived.
    rates : tuple of float
        The rate of the favourable label of the favoured, and of the deprived.
    by_group : float
        By how much the mean of the shared feature differs for the deprived.
    strengths : tuple of float
        By how much the label moves the mean of each feature of a technique's own.
    is_picked : bool
        Whether a model looks at one feature alone: the one of its own that differs most in its training rows.
    """

    name: str
    deprived: float = 1 / 3
    rates: tuple[float, float] = (0.5, 0.3)
    by_group: float = -0.3
    strengths: tuple[float, ...] = (1.0,)
    is_picked: bool = False

    @property
    def cells(self) -> Floats:
        """The probabilities of group and label, of shape (2, 2)."""
        favoured, deprived = self.rates
        share = self.deprived
        return np.array(
            [
                [(1 - share) * (1 - favoured), (1 - share) * favoured],
                [share * (1 - deprived), share * deprived],
            ]
        )


@dataclass(frozen=True)
class Technique:
    """What a technique learns from, besides the shared feature.

    Parameters
    ----------
    column : int
        Which features are its own; techniques with the same column have the same noise in it.
    noise : float
        The standard deviation of its own feature, given group and label.
    by_group : float
        By how much the mean of its own feature differs for the deprived.
    """

    column: int
    noise: float = 1.0
    by_group: float = -0.3


FEW = World("2")
MANY = World("32", strengths=(1.0, *[0.0] * 30))
PICKED = World("best of 21", rates=(0.5, 0.5), by_group=0.0, strengths=(0.5, *[0.1] * 20), is_picked=True)
NO_GAP = World("2, no gap", rates=(0.4, 0.4), by_group=0.0)
SIGNS = World("2, gaps of different signs", deprived=0.5, rates=(0.4, 0.4), by_group=0.0)
EQUAL = (Technique(0), Technique(1))
EQUAL_NO_GAP = (Technique(0, by_group=0.0), Technique(1, by_group=0.0))
OPPOSITE = (Technique(0, by_group=-0.3), Technique(1, by_group=0.3))
TWICE = (Technique(0), Technique(0))


@dataclass(frozen=True)
class Design:
    """How a study divides rows.

    Parameters
    ----------
    kind : {"splits", "folds", "fresh", "seeds"}
    repeats : int
        Of folds: how often all of them are tested.
    folds : int
    """

    kind: str
    repeats: int
    folds: int = 0

    @property
    def train_share(self) -> float:
        """The share of the rows that are trained on."""
        return 1 - 1 / self.folds if self.folds else TRAIN_SHARE

    @property
    def ratio(self) -> float:
        """Test rows over training rows."""
        return 1 / self.train_share - 1


def random_numbers(*of: object) -> np.random.Generator:
    """Return random numbers of a point's own."""
    return np.random.default_rng(zlib.crc32(repr(of).encode()))


# What is true of a trained model.


def cell_means(world: World, technique: Technique) -> Floats:
    """Return the means of the features by group and label, of shape (2, 2, features)."""
    means = np.zeros((2, 2, 1 + len(world.strengths)))
    means[:, 1] += (1.0, *world.strengths)
    means[1, :, 0] += world.by_group
    means[1, :, 1] += technique.by_group
    return means


def weights_of(world: World, differences: Floats | Masks) -> Floats | Masks:
    """Return the weights of the features, from the differences of both centroids on the last axis."""
    if not world.is_picked:
        return differences
    best = 1 + np.abs(differences[..., 1:]).argmax(-1, keepdims=True)
    weights = np.zeros_like(differences)
    np.put_along_axis(weights, best, np.take_along_axis(differences, best, -1), -1)
    return weights


def true_values(world: World, technique: Technique, centroids: Floats) -> Floats:
    """Return the accuracy and the gap, with its sign, of models in the population.

    Parameters
    ----------
    world : World
    technique : Technique
    centroids : float array, shape (models, 2, features)
        Of the rows without the favourable label, and with it.

    Returns
    -------
    float array, shape (2, models)
    """
    weights = weights_of(world, centroids[:, 1] - centroids[:, 0])
    middle = centroids.mean(axis=1)
    deviations = np.ones(weights.shape[-1])
    deviations[1] = technique.noise
    spread = np.sqrt(np.square(weights * deviations).sum(-1))
    means = cell_means(world, technique)
    distance = np.einsum("mf,slf->msl", weights, means) - (weights * middle).sum(-1)[:, None, None]
    accepted = ndtr(distance / spread[:, None, None])
    cells = world.cells
    accuracy = (accepted[..., 1] * cells[:, 1] + (1 - accepted[..., 0]) * cells[:, 0]).sum(-1)
    rates = (accepted * cells).sum(-1) / cells.sum(-1)
    return np.stack([accuracy, rates[:, 1] - rates[:, 0]])


def draw_centroids(
    world: World, techniques: Sequence[Technique], n: int, sets: int, rng: np.random.Generator
) -> list[Floats]:
    """Return the centroids that each technique learns from as many training sets of n rows.

    Means of normal features are drawn, not the rows.
    """
    cells = rng.multinomial(n, world.cells.ravel(), size=sets).reshape(sets, 2, 2, 1)
    errors = {
        column: rng.standard_normal((sets, 2, 2, len(world.strengths)))
        for column in sorted({technique.column for technique in techniques})
    }
    shared = rng.standard_normal((sets, 2, 2, 1))
    learned = []
    for technique in techniques:
        own = errors[technique.column].copy()
        own[..., 0] *= technique.noise
        deviations = np.concatenate([shared, own], axis=-1) / np.sqrt(np.maximum(cells, 1))
        sums = (cells * (cell_means(world, technique) + deviations)).sum(1)
        learned.append(sums / cells.sum(1))
    return learned


@cache
def truth(world: World, ours: Technique, theirs: Technique, n: int) -> tuple[Floats, Floats]:
    """Return the true difference in each metric, and its variance over training sets of n rows."""
    rng = random_numbers("truth", world.name, ours, theirs, n)
    learned = draw_centroids(world, (ours, theirs), n, TRAINING_SETS, rng)
    values = [
        true_values(world, technique, centroids)
        for technique, centroids in zip((ours, theirs), learned, strict=True)
    ]
    differences = np.stack([values[1][0] - values[0][0], np.abs(values[1][1]) - np.abs(values[0][1])])
    return differences.mean(1), differences.var(1)


@cache
def noisier(points: float) -> Technique:
    """Return the technique that loses as much accuracy where training rows are without end."""

    def accuracy(noise: float) -> float:
        technique = Technique(1, noise)
        cells = FEW.cells[..., None]
        centroids = (cells * cell_means(FEW, technique)).sum(0) / cells.sum(0)
        return float(true_values(FEW, technique, centroids[None])[0, 0])

    return Technique(1, float(brentq(lambda noise: accuracy(1.0) - accuracy(noise) - points, 1.0, 3.0)))


# What a study finds.


@dataclass(frozen=True)
class Sample:
    """Rows of some sets: group and label, of shape (sets, rows), and features of each technique."""

    group: Masks
    label: Masks
    features: list[Masks]


def draw(
    world: World, techniques: Sequence[Technique], sets: int, n: int, rng: np.random.Generator
) -> Sample:
    """Return sets of n rows, each with the features of every technique."""
    deprived = rng.random((sets, n), dtype=np.float32) < world.deprived
    rate = np.where(deprived, np.float32(world.rates[1]), np.float32(world.rates[0]))
    group = deprived.astype(np.float32)
    label = (rng.random((sets, n), dtype=np.float32) < rate).astype(np.float32)
    shared = rng.standard_normal((sets, n), dtype=np.float32) + label + np.float32(world.by_group) * group
    columns = {
        column: rng.standard_normal((sets, n, len(world.strengths)), dtype=np.float32)
        for column in sorted({technique.column for technique in techniques})
    }
    strengths = np.array(world.strengths, dtype=np.float32)
    features = []
    for technique in techniques:
        own = columns[technique.column] + label[..., None] * strengths
        own[..., 0] += np.float32(technique.noise - 1) * columns[technique.column][..., 0]
        own[..., 0] += np.float32(technique.by_group) * group
        features.append(np.concatenate([shared[..., None], own], axis=-1))
    return Sample(group, label, features)


def divide(design: Design, n: int, rng: np.random.Generator) -> tuple[Masks, Masks]:
    """Return how often each row is trained on, and tested, of shape (sets, repeats, rows)."""
    n_train = round(n * TRAIN_SHARE)
    is_train = np.arange(n) < n_train
    if design.kind == "fresh":
        train = np.broadcast_to(is_train, (design.repeats, 1, n))
        return train.astype(np.float32), 1 - train.astype(np.float32)
    if design.kind == "seeds":
        drawn = rng.integers(0, n_train, (design.repeats, n_train)) + n * np.arange(design.repeats)[:, None]
        times = np.bincount(drawn.ravel(), minlength=design.repeats * n).reshape(1, design.repeats, n)
        test = np.broadcast_to(~is_train, times.shape)
        return times.astype(np.float32), test.astype(np.float32)
    if design.kind == "folds":
        fold = rng.permuted(np.tile(np.arange(n) % design.folds, (design.repeats, 1)), axis=1)
        is_tested = fold[:, None, :] == np.arange(design.folds)[:, None]
        test = is_tested.reshape(1, -1, n).astype(np.float32)
        return 1 - test, test
    train = rng.permuted(np.tile(is_train, (design.repeats, 1)), axis=1)[None].astype(np.float32)
    return train, 1 - train


def measure(world: World, sample: Sample, features: Masks, train: Masks, test: Masks) -> Floats:
    """Return the accuracy and the absolute gap of the model of each repeat, of shape (2, repeats)."""
    # 1. The centroids of both labels, and the plane between them.
    label = sample.label[..., None]
    n_favourable = train @ label
    n_all = train.sum(-1, keepdims=True)
    sums_favourable = train @ (features * label)
    favourable = sums_favourable / n_favourable
    unfavourable = (train @ features - sums_favourable) / (n_all - n_favourable)
    weights = weights_of(world, favourable - unfavourable)
    offset = (weights * (favourable + unfavourable)).sum(-1, keepdims=True) / 2
    # 2. Who is tested and accepted: all, those with the label, the deprived.
    accepted_rows = (weights @ np.swapaxes(features, -1, -2) > offset) * test
    columns = np.stack([np.ones_like(sample.label), sample.label, sample.group], axis=-1)
    tested = (test @ columns).astype(np.float64)
    accepted = (accepted_rows @ columns).astype(np.float64)
    n_tested, tested_favourable, tested_deprived = np.moveaxis(tested, -1, 0)
    n_accepted, accepted_favourable, accepted_deprived = np.moveaxis(accepted, -1, 0)
    refused_rightly = n_tested - tested_favourable - (n_accepted - accepted_favourable)
    accuracy = (accepted_favourable + refused_rightly) / n_tested
    rate_favoured = (n_accepted - accepted_deprived) / (n_tested - tested_deprived)
    gap = np.abs(accepted_deprived / tested_deprived - rate_favoured)
    return np.stack([accuracy.ravel(), gap.ravel()])


@cache
def simulate(
    design: Design, world: World, techniques: tuple[Technique, ...], n: int, studies: int, apart: bool = False
) -> Floats:
    """Return the metrics of every repeat, of shape (techniques, metrics, studies, repeats).

    ``apart``: each technique divides the rows by itself.
    """
    rng = random_numbers(design, world.name, techniques, n, apart)
    sets = design.repeats if design.kind == "fresh" else 1
    repeats = design.repeats * max(design.folds, 1)
    values = np.empty((len(techniques), len(METRICS), studies, repeats))
    for study in range(studies):
        sample = draw(world, techniques, sets, n, rng)
        train, test = divide(design, n, rng)
        for i, features in enumerate(sample.features):
            if apart and i:
                train, test = divide(design, n, rng)
            values[i, :, study] = measure(world, sample, features, train, test)
    return values


# What tests make of it.

PAIRED = ("paired t", "Wilcoxon", "corrected t")
TESTS = ("paired t", "Wilcoxon", "Mann–Whitney", "Welch", "corrected t", "corrected Welch")


def p_values(ours: Floats, theirs: Floats, ratio: float) -> dict[str, Floats]:
    """Return the two-sided p-values of every test over the last axis.

    Ranks have their normal laws, as in scipy where there are ties or more than a few values.
    """
    differences = theirs - ours
    is_none = (differences == 0).all(-1)
    differences_of_ranks = np.where(is_none[..., None], np.arange(differences.shape[-1]) + 1.0, differences)
    ranks = wilcoxon(differences_of_ranks, axis=-1, method="asymptotic").pvalue
    return {
        "paired t": paired_test(differences).p,
        "Wilcoxon": np.where(is_none, 1.0, ranks),
        "Mann–Whitney": mannwhitneyu(ours, theirs, axis=-1, method="asymptotic").pvalue,
        "Welch": welch_test(theirs, ours).p,
        "corrected t": paired_test(differences, ratio).p,
        "corrected Welch": welch_test(theirs, ours, ratio).p,
    }


def correlation(differences: Floats) -> float:
    """Return the mean correlation of two repeats of a study, over studies; shape (studies, repeats)."""
    repeats = differences.shape[-1]
    single = differences.var(axis=0, ddof=1).mean()
    mean = differences.mean(axis=1).var(ddof=1)
    return float((repeats * mean / single - 1) / (repeats - 1))


COLUMNS = (
    "design", "rows", "repeats", "features", "metric", "true difference", "found", *TESTS,
    "correlation of repeats", "corrected for", "due to training", "studies",
)  # fmt: skip


@dataclass(frozen=True)
class Line:
    """A line of the table: what was simulated, and the share of the studies in which each test finds it."""

    design: str
    rows: int
    repeats: int
    world: World
    metric: str
    difference: float
    shares: dict[str, float]
    studies: int
    verdict: str = "different"
    repeats_correlate: float | None = None
    corrected_for: float | None = None
    due_to_training: float | None = None

    def texts(self) -> list[str]:
        """Return the cells of the line; empty where there is nothing to say."""
        shares = [f"{self.shares[test]:.3f}" if test in self.shares else "" for test in TESTS]
        reasons = [
            "" if number is None else f"{number:.2f}"
            for number in (self.repeats_correlate, self.corrected_for, self.due_to_training)
        ]
        place = [self.design, str(self.rows), str(self.repeats), self.world.name, self.metric]
        difference = f"{round(self.difference, 4) + 0.0:.4f}"
        return [*place, difference, self.verdict, *shares, *reasons, str(self.studies)]


def compared(
    title: str,
    design: Design,
    world: World,
    pair: tuple[Technique, Technique],
    n: int,
    values: tuple[Floats, Floats],
    *,
    is_paired: bool = True,
) -> Iterator[Line]:
    """Yield a line for each metric about two techniques.

    Parameters
    ----------
    title : str
    design : Design
    world : World
    pair : tuple of Technique
    n : int
        Rows of a study, or of a repeat with fresh rows.
    values : tuple of float array, shape (metrics, studies, repeats)
    is_paired : bool
    """
    n_train = round(n * design.train_share)
    means, variances = truth(world, *pair, n_train)
    for i, metric in enumerate(METRICS):
        ours, theirs = values[0][i], values[1][i]
        ratio = design.ratio
        shares = {test: float((p < LEVEL).mean()) for test, p in p_values(ours, theirs, ratio).items()}
        # Exchangeable techniques are equal: no need to estimate it.
        is_equal = pair[0].noise == pair[1].noise
        difference = 0.0 if is_equal else float(means[i])
        studies, repeats = ours.shape
        if not is_paired:
            shares = {test: share for test, share in shares.items() if test not in PAIRED}
            yield Line(title, n, repeats, world, metric, difference, shares, studies)
            continue
        single = (theirs - ours).var(axis=0, ddof=1).mean()
        yield Line(
            title,
            n,
            repeats,
            world,
            metric,
            difference,
            shares,
            studies,
            repeats_correlate=correlation(theirs - ours),
            corrected_for=ratio / (1 + ratio),
            due_to_training=None if design.kind == "seeds" else float(variances[i] / single),
        )


def all_techniques() -> tuple[Technique, ...]:
    """Return the plain technique, one that is equal, and those that are worse."""
    return (*EQUAL, *(noisier(points) for points in POINTS))


def splits(studies: int) -> Iterator[Line]:
    """Yield lines of random splits of the same rows."""
    design = Design("splits", max(REPEATS))
    for n in ROWS:
        worlds = ((FEW, all_techniques()), (MANY, EQUAL), (PICKED, EQUAL_NO_GAP), (NO_GAP, EQUAL_NO_GAP))
        for world, techniques in worlds:
            values = simulate(design, world, techniques, n, studies)
            for i in range(1, len(techniques)):
                pair = techniques[0], techniques[i]
                for repeats in REPEATS:
                    chosen = values[0, ..., :repeats], values[i, ..., :repeats]
                    yield from compared("splits", design, world, pair, n, chosen)


def folds(studies: int) -> Iterator[Line]:
    """Yield lines of k folds, once and repeated."""
    for n in ROWS:
        worlds = ((FEW, all_techniques()), (MANY, EQUAL), (PICKED, EQUAL_NO_GAP))
        for k in (5, 10):
            design = Design("folds", 10, k)
            for world, techniques in worlds if n == min(ROWS) else worlds[:1]:
                values = simulate(design, world, techniques, n, studies)
                for i in range(1, len(techniques)):
                    pair = techniques[0], techniques[i]
                    for times in (1, 10):
                        chosen = values[0, ..., : k * times], values[i, ..., : k * times]
                        title = f"{k} folds" if times == 1 else f"{k} folds, {times} times"
                        yield from compared(title, design, world, pair, n, chosen)


def fresh(studies: int) -> Iterator[Line]:
    """Yield lines of rows that each repeat draws anew; corrected is what would be too careful here."""
    design = Design("fresh", max(REPEATS))
    for n in ROWS:
        techniques = all_techniques()
        values = simulate(design, FEW, techniques, n, studies)
        for i in range(1, len(techniques)):
            pair = techniques[0], techniques[i]
            for repeats in REPEATS:
                chosen = values[0, ..., :repeats], values[i, ..., :repeats]
                yield from compared("fresh rows", design, FEW, pair, n, chosen)


def seeds(studies: int) -> Iterator[Line]:
    """Yield lines of one test set: two equal techniques, and the same technique twice, with other seeds.

    A seed draws a bootstrap sample of the training rows.
    """
    design = Design("seeds", max(REPEATS))
    for n in ROWS:
        for title, techniques in (("seeds, other rows", EQUAL), ("seeds, these rows", TWICE)):
            values = simulate(design, FEW, techniques, n, studies, apart=techniques == TWICE)
            for repeats in REPEATS:
                chosen = values[0, ..., :repeats], values[1, ..., :repeats]
                yield from compared(title, design, FEW, techniques, n, chosen)


def unpaired(studies: int) -> Iterator[Line]:
    """Yield lines of repeats that nothing ties to each other: of the same rows, and of other rows."""
    techniques = all_techniques()
    for n in ROWS:
        for kind, title in (("splits", "splits"), ("fresh", "fresh rows")):
            design = Design(kind, max(REPEATS))
            values = simulate(design, FEW, techniques, n, studies)
            for i in (1, 3):
                pair = techniques[0], techniques[i]
                for repeats in REPEATS:
                    # Another study of the same kind has other rows.
                    others = np.roll(values[i], 1, axis=1)[..., :repeats]
                    chosen = values[0, ..., :repeats], others
                    name = f"{title}, unpaired, other rows" if kind == "splits" else f"{title}, unpaired"
                    yield from compared(name, design, FEW, pair, n, chosen, is_paired=False)
                if kind == "fresh":
                    continue
                for repeats in REPEATS:
                    if 2 * repeats <= max(REPEATS):
                        chosen = values[0, ..., :repeats], values[i, ..., -repeats:]
                        name = f"{title}, unpaired, same rows"
                        yield from compared(name, design, FEW, pair, n, chosen, is_paired=False)


def signs(studies: int) -> Iterator[Line]:
    """Yield lines of two gaps of the same size and of different signs, and how often one is called better.

    Exchanging the techniques and the groups changes no probability, so absolute gaps have the same law.
    """
    design = Design("splits", max(REPEATS))
    for n in ROWS:
        values = simulate(design, SIGNS, OPPOSITE, n, studies)
        for repeats in REPEATS:
            chosen = values[0, ..., :repeats], values[1, ..., :repeats]
            (_, line) = compared("splits", design, SIGNS, OPPOSITE, n, chosen)
            yield line
            ours, theirs = chosen[0][1], chosen[1][1]
            is_less = theirs.mean(-1) < ours.mean(-1)
            shares = {
                test: float(((p < LEVEL) & is_less).mean())
                for test, p in p_values(ours, theirs, design.ratio).items()
            }
            yield Line("splits", n, repeats, SIGNS, "gap", 0.0, shares, studies, "better")
        for repeats in REPEATS:
            if 2 * repeats <= max(REPEATS):
                chosen = values[0, ..., :repeats], values[1, ..., -repeats:]
                name = "splits, unpaired, same rows"
                (_, line) = compared(name, design, SIGNS, OPPOSITE, n, chosen, is_paired=False)
                yield line


def families(studies: int) -> Iterator[Line]:
    """Yield lines of 50 comparisons, 5 data sets × 10 techniques: whether any is called different."""
    n = min(ROWS)
    design = Design("splits", FAMILY_REPEATS)
    for world in (FEW, MANY, PICKED):
        by_group = 0.0 if world == PICKED else EQUAL[0].by_group
        techniques = tuple(Technique(column, by_group=by_group) for column in range(N_TECHNIQUES + 1))
        values = simulate(design, world, techniques, n, studies * N_SETS)
        for i, metric in enumerate(METRICS):
            ours, theirs = np.broadcast_arrays(values[:1, i], values[1:, i])
            any_plain: dict[str, float] = {}
            any_holm: dict[str, float] = {}
            for test, p in p_values(ours, theirs, design.ratio).items():
                family = p.reshape(N_TECHNIQUES, studies, N_SETS).swapaxes(0, 1).reshape(studies, -1)
                any_plain[test] = float((family.min(1) < LEVEL).mean())
                any_holm[test] = float(np.mean([holm(row).min() < LEVEL for row in family]))
            for verdict, shares in (("any of 50", any_plain), ("any of 50, Holm", any_holm)):
                yield Line("splits", n, design.repeats, world, metric, 0.0, shares, studies, verdict)


PARTS: dict[str, Callable[[int], Iterator[Line]]] = {
    "splits": splits,
    "folds": folds,
    "fresh": fresh,
    "seeds": seeds,
    "unpaired": unpaired,
    "signs": signs,
    "families": families,
}


def main() -> None:
    """Print the lines of the parts that are named."""
    studies = int(next(iter(sys.argv[1:]), "1000"))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    for part in sys.argv[2:] or PARTS:
        for line in PARTS[part](studies):
            writer.writerow(line.texts())
            sys.stdout.flush()


if __name__ == "__main__":
    main()
