"""One family of tests: what Holm's adjustment of it must be, written out for each of its uses."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbench_cli.audit.compare import compare_rates
from fairbench_cli.audit.compare.compare_rates import adjust, adjust_tests, find_shared_tests
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.metrics import COMPARED
from fairbench_cli.measures.significance import holm

P = st.one_of(st.floats(0, 1), st.sampled_from((0.0, 0.01, 0.05, 1.0, float("nan"))))


@st.composite
def tables(draw) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Tables of p-values, which columns decide, and the p-values of other pairs."""
    found = ([], [], [])
    for _ in range(draw(st.integers(0, 4))):
        groups, columns, pairs = (draw(st.integers(low, 3)) for low in (1, 1, 0))
        for side, shape in ((0, (groups, columns)), (2, (pairs, columns))):
            values = draw(st.lists(P, min_size=shape[0] * columns, max_size=shape[0] * columns))
            found[side].append(np.array(values, dtype=float).reshape(shape))
        found[1].append(np.array(draw(st.lists(st.booleans(), min_size=columns, max_size=columns))))
    return found


def spelled_out(p, decides, pairs) -> list[np.ndarray]:
    """Adjust by its definition: the family that decides alone, then all together for the others."""
    every = [np.concatenate(both) for both in zip(p, pairs, strict=True)]

    def adjusted(chosen):
        some = [table[:, own] for table, own in zip(every, chosen, strict=True)]
        flat = holm(np.concatenate([*(table.ravel() for table in some), np.empty(0)]))
        found = []
        for table, part, own, mine in zip(every, some, chosen, p, strict=True):
            whole = np.full(table.shape, np.nan)
            whole[:, own] = flat[: part.size].reshape(part.shape)
            found.append(whole[: len(mine)])
            flat = flat[part.size :]
        return found

    first, all_of = adjusted(decides), adjusted([np.ones_like(own) for own in decides])
    return [np.where(np.isnan(one), other, one) for one, other in zip(first, all_of, strict=True)]


@given(tables())
def test_what_decides_is_adjusted_alone_and_the_rest_over_all(found):
    p, decides, pairs = found
    adjusted, size = adjust(p, decides, pairs)
    for one, other in zip(adjusted, spelled_out(p, decides, pairs), strict=True):
        np.testing.assert_array_equal(one, other)
    known = [np.concatenate(both)[:, own] for *both, own in zip(p, pairs, decides, strict=True)]
    assert size == sum((~np.isnan(table)).sum() for table in known)


@given(tables())
def test_where_nothing_else_is_said_all_decide(found):
    p, decides, pairs = found
    everything = [np.ones_like(own) for own in decides]
    for one, other in zip(adjust(p)[0], adjust(p, everything)[0], strict=True):
        np.testing.assert_array_equal(one, other)
    flat = holm(np.concatenate([*(table.ravel() for table in p), np.empty(0)]))
    np.testing.assert_array_equal(np.concatenate([*map(np.ravel, adjust(p)[0]), np.empty(0)]), flat)
    assert adjust(p, pairs=pairs)[1] == sum((~np.isnan(table)).sum() for table in (*p, *pairs))


def weighed(slices: Sequence[compare_rates.Tests], deciding: Sequence[frozenset[str]], config: AuditConfig):
    """Return what `adjust_tests` does, as it was written before there was a family: column by column."""
    alpha = 1 - config.confidence
    shared = [find_shared_tests(one.names, one.reference_indices) for one in slices]
    own = [
        [m for m, name in enumerate(one.names) if name in known]
        for one, known in zip(slices, deciding, strict=True)
    ]
    family = [sorted({int(column[m]) for m in chosen}) for column, chosen in zip(shared, own, strict=True)]
    every = [sorted(set(column.tolist())) for column in shared]
    all_rates = [list(range(len(one.names))) for one in slices]
    equal, size = _adjusted(slices, family, outside=False)
    equal_of_others, _ = _adjusted(slices, every, outside=False)
    far, _ = _adjusted(slices, own, outside=True)
    far_of_others, _ = _adjusted(slices, all_rates, outside=True)
    found = []
    for i, (one, column) in enumerate(zip(slices, shared, strict=True)):
        p_holm = np.where(np.isnan(equal[i]), equal_of_others[i], equal[i])[:, column]
        p_holm = np.where(np.isnan(one.p), np.nan, p_holm)
        p_far = np.where(np.isnan(far[i]), far_of_others[i], far[i])
        found.append((p_holm, p_holm < alpha, (p_holm < alpha) & (p_far < alpha)))
    return found, size


def _adjusted(slices, columns, *, outside):
    parts = []
    for one, chosen in zip(slices, columns, strict=True):
        p = one.outside if outside else one.p
        values = np.where(np.isnan(p) | one.too_few, 1.0, p)
        own = np.where(one.compared, values, np.nan)[:, chosen]
        parts.append(np.concatenate([own, (one.pairs_outside if outside else one.pairs)[:, chosen]]).ravel())
    flat = holm(np.concatenate([*parts, np.empty(0)]))
    found = []
    for one, chosen, part in zip(slices, columns, parts, strict=True):
        whole = np.full(one.p.shape, np.nan)
        whole[:, chosen] = flat[: len(one.p) * len(chosen)].reshape(len(one.p), -1)
        found.append(whole)
        flat = flat[len(part) :]
    return found, sum(int((~np.isnan(part)).sum()) for part in parts)


@pytest.mark.parametrize("seed", range(40))
def test_evidence_is_that_of_each_column_by_itself(seed):
    rng = np.random.default_rng(seed)
    slices, deciding = [], []
    for _ in range(rng.integers(1, 4)):
        names = tuple(name for name in COMPARED if rng.random() < 0.5) or ("fpr",)
        groups, at = int(rng.integers(1, 5)), rng.integers(-1, 3, len(names))
        pairs = int(rng.integers(0, 3)) if rng.random() < 0.5 else 0
        p, outside = (rng.random((groups, len(names))) ** 6 for _ in range(2))
        p[rng.random(p.shape) < 0.1] = np.nan
        p = p[:, find_shared_tests(names, at)]
        few, compared = rng.random(p.shape) < 0.1, np.broadcast_to(rng.random((groups, 1)) < 0.8, p.shape)
        p, outside = (np.where(compared, values, np.nan) for values in (p, outside))
        other = [
            np.where(rng.random((pairs, 1)) < 0.9, rng.random((pairs, len(names))), np.nan) for _ in "ab"
        ]
        slices.append(compare_rates.Tests(names, at, None, None, compared, p, outside, few, few, few, *other))
        deciding.append(frozenset(name for name in names if rng.random() < 0.5))
    config = AuditConfig(confidence=0.9)
    (found, size), (expected, expected_size) = (
        make(slices, deciding, config) for make in (adjust_tests, weighed)
    )
    assert size == expected_size
    for one, other in zip(found, expected, strict=True):
        for mine, theirs in zip(vars(one).values(), other, strict=True):
            np.testing.assert_array_equal(mine, theirs)
