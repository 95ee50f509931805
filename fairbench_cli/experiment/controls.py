"""Models whose difference is known, in a run of techniques whose difference is not.

Three kinds of them come with ``controls: true``. *Noise twins* are the plain model's decisions on the test
rows with `NOISE` of them turned over, twice. *Planted effects* are its decisions with the deprived group
accepted `PLANTED` more often. Both need no training. *Bootstrap twins* are the plain model trained on two
samples of the training rows, drawn with replacement. Twins are exchangeable: every word about their
difference is false, and how often a run has one is its own rate of false findings. A planted effect is there,
and how often a run shows it is its power. ``controls: placebo`` adds techniques that see the protected column
shuffled in training.

None of them is a technique: they are in no table, rank or front.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.base.checksums import derive_seed
from fairbench_cli.data.table import Floats, Sample, Table, make_read_only
from fairbench_cli.experiment.decisions import STEPS
from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.groups import ProtectedAttributes

NOISE = 0.03
"""The share of decisions that is turned over in a noise twin."""
PLANTED = 0.02
"""By how much the selection rate of the deprived rises in a planted effect, in expectation."""
TWINS = ("a", "b")
BOOTSTRAP = tuple(f"bootstrap {twin}" for twin in TWINS)
SHUFFLED = "shuffled"
"""What `Cell.control` says of a trained control: which twin, or that the protected column is shuffled."""


@dataclass(frozen=True, eq=False)
class ControlCounts:
    """The controls of a repeat of the plain model that need no training, as counts of its test rows.

    Parameters
    ----------
    seed : int
        Draws the rows that are decided otherwise (`draw_uniforms`).
    twins : Counts
        Of the two noise twins, shape (2, groups, 2, 2).
    planted : dict of Counts
        By protected attribute, of the decisions with a planted effect, each of shape (groups, 2, 2).
    """

    seed: int
    twins: Counts
    planted: dict[str, Counts]


@lru_cache(maxsize=2)  # the plain models of a repeat share their test rows
def hash_rows(rows: Sample) -> tuple[int, int]:
    """Return checksums of rows, of their features and of their labels, in their order."""
    features = np.ascontiguousarray(rows.features.codes.T)
    return crc32(features.data), crc32(np.ascontiguousarray(rows.y).data)


def control_seed(key: str, rows: Sample) -> int:
    """Return the seed of the controls of a cell, by its key, on some test rows.

    It is that of the rows, not of the repeat. Where repeats share their test rows, a twin turns the same rows
    in each of them, as two techniques differ on the same people; where they do not, rows are drawn anew. One
    list of rows for all repeats would there make two twins truly different: one happens to turn more of them.
    """
    return derive_seed("controls", key, *hash_rows(rows))


@lru_cache(maxsize=1)  # repeats that share their test rows share the draws
def draw_uniforms(seed: int, rows: int) -> Floats:
    """Return the draws that decide which rows a control decides otherwise, shape (3, rows).

    They are those of the first noise twin, the second, and the planted effect. Nobody can write to them.
    """
    uniforms = np.random.default_rng(seed).random((3, rows))
    uniforms.flags.writeable = False
    return uniforms


def turn_decisions(chance: Floats, uniforms: Floats) -> Floats:
    """Return the chances with which rows are accepted where some decisions are turned over.

    >>> turn_decisions(np.array([0.0, 0.25, 1.0]), np.array([0.01, 0.02, 0.9])).tolist()
    [1.0, 0.75, 1.0]
    """
    return np.where(uniforms < NOISE, 1 - chance, chance)


def plant_effect(chance: Floats, is_deprived: NDArray[np.bool_], uniforms: Floats) -> Floats:
    """Return the chances with which rows are accepted where the deprived are accepted a little more often.

    Some of the deprived who are refused are accepted instead, each with the same chance, so that the rate of
    the group rises by `PLANTED` in expectation: the number itself varies, or all differences would be equal.
    Where fewer are refused, some who are accepted are refused.

    >>> chance, is_deprived = np.array([0.0, 0.0, 1.0]), np.array([True, True, False])
    >>> plant_effect(chance, is_deprived, np.array([0.01, 0.5, 0.01])).tolist()
    [1.0, 0.0, 1.0]
    """
    n_to_move = PLANTED * is_deprived.sum()
    n_refused = (1 - chance[is_deprived]).sum()
    if n_refused >= n_to_move:
        is_moved = is_deprived & (uniforms * n_refused < n_to_move)
        return np.where(is_moved, 1.0, chance)
    is_moved = is_deprived & (uniforms * chance[is_deprived].sum() < n_to_move)
    return np.where(is_moved, 0.0, chance)


def round_chances(chance: Floats) -> Floats:
    """Return chances of being accepted in the steps in which they are kept (`decisions.packed`)."""
    return np.rint(STEPS * chance) / STEPS


def deprived_groups(protected: ProtectedAttributes, attribute: str) -> NDArray[np.bool_]:
    """Return which of the joint levels of all attributes are deprived by one of them, shape (groups,)."""
    n_groups = len(protected.groups)
    unit_counts = np.zeros((n_groups, n_groups, 2, 2))
    unit_counts[np.arange(n_groups), np.arange(n_groups)] = 1
    pair = protected.pair(Counts(protected.groups, unit_counts), (attribute,))
    is_deprived: NDArray[np.bool_] = pair.n[:, 0, 0, 0] > 0
    return is_deprived


def count_controls(
    chance: Floats,
    group: NDArray[np.intp],
    rows: Sample,
    protected: ProtectedAttributes,
    attributes: Sequence[str],
    *,
    seed: int,
    order: NDArray[np.intp] | None,
) -> ControlCounts:
    """Return the controls of a repeat of the plain model.

    Parameters
    ----------
    chance : float array, shape (rows,)
        With which the plain model accepts each test row: 0 or 1 where its decisions are not drawn.
    group : int array, shape (rows,)
        Joint level of all protected attributes.
    attributes : sequence of str
        For which an effect is planted.
    order : int array, shape (rows,), or None
        The order in which decisions are kept, and draws are made; None: that of the rows.
    """
    uniforms = draw_uniforms(seed, len(rows))
    if order is not None:
        in_order = uniforms
        uniforms = np.empty_like(in_order)
        uniforms[:, order] = in_order
    chance = round_chances(np.asarray(chance, dtype=np.float64))

    n_groups = len(protected.groups)
    strata = 2 * group + rows.y
    labelled = np.bincount(strata, minlength=2 * n_groups).astype(np.float64)

    def count_decisions(chances: Floats) -> Counts:
        # As `expected_count`, which takes three times as long as all else here: rows were checked before.
        accepted = np.bincount(strata, chances, minlength=2 * n_groups).round(9)
        n = np.stack([labelled - accepted, accepted], axis=-1)
        return Counts(protected.groups, n.reshape(n_groups, 2, 2))

    twins = [count_decisions(turn_decisions(chance, uniforms[i])) for i in range(len(TWINS))]
    planted = {}
    for attribute in attributes:
        is_deprived = deprived_groups(protected, attribute)[group]
        planted[attribute] = count_decisions(plant_effect(chance, is_deprived, uniforms[len(TWINS)]))
    return ControlCounts(seed, Counts(protected.groups, np.stack([twin.n for twin in twins])), planted)


def make_training_rows(train: Sample, control: str, part_columns: Sequence[str], seed: int) -> Sample:
    """Return the training rows of a trained control, which nobody can write.

    Parameters
    ----------
    control : str
        `Cell.control`: one of `BOOTSTRAP`, whose rows are drawn with replacement, or `SHUFFLED`, whose rows
        have the protected column of other rows.
    part_columns : sequence of str
        The columns that a joint attribute is made of; they are shuffled with it.
    seed : int
        Of the repeat's training rows.
    """
    rng = np.random.default_rng(derive_seed(seed, control))
    if control in BOOTSTRAP:
        return make_read_only(train.take(rng.integers(0, len(train), len(train))))
    permutation = rng.permutation(len(train))
    codes = train.features.codes.copy()
    for name in [train.attribute] + list(part_columns):
        column = train.features.index(name)
        codes[:, column] = codes[permutation, column]
    features = Table(train.features.columns, codes)
    return make_read_only(replace(train, features=features, s=train.s[permutation]))
