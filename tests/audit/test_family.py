"""One family of tests: what Holm's adjustment of it must be, written out for each of its uses."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import most_by_chance, scaled
from hypothesis import given
from hypothesis import strategies as st

import fairbench_cli as fb
from fairbench_cli.audit.compare import compare_rates
from fairbench_cli.audit.compare.compare_rates import adjust_tests, find_shared_tests
from fairbench_cli.audit.compare.family import NAMED_SHARE, adjust_family
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.metrics import COMPARED
from fairbench_cli.measures.significance import holm, normal_p

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
    family = adjust_family(p, decides, pairs)
    for one, other in zip(family.adjusted, spelled_out(p, decides, pairs), strict=True):
        np.testing.assert_array_equal(one, other)
    known = [np.concatenate(both)[:, own] for *both, own in zip(p, pairs, decides, strict=True)]
    assert family.size == sum((~np.isnan(table)).sum() for table in known)


@given(tables())
def test_where_nothing_else_is_said_all_decide(found):
    p, decides, pairs = found
    everything = [np.ones_like(own) for own in decides]
    adjusted = adjust_family(p).adjusted
    for one, other in zip(adjusted, adjust_family(p, everything).adjusted, strict=True):
        np.testing.assert_array_equal(one, other)
    flat = holm(np.concatenate([*(table.ravel() for table in p), np.empty(0)]))
    np.testing.assert_array_equal(np.concatenate([*map(np.ravel, adjusted), np.empty(0)]), flat)
    assert adjust_family(p, pairs=pairs).size == sum((~np.isnan(table)).sum() for table in (*p, *pairs))


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
    found = adjust_tests(slices, deciding, config)
    expected, expected_size = weighed(slices, deciding, config)
    for one, other in zip(found, expected, strict=True):
        assert (one.size, one.n_named) == (expected_size, 0)
        for mine, theirs in zip((one.p_holm, one.differs, one.outside), other, strict=True):
            np.testing.assert_array_equal(mine, theirs)


REFERENCE = pd.read_csv(Path(__file__).parent.parent / "reference" / "inference" / "families.csv")


@pytest.mark.parametrize("case", sorted(set(REFERENCE["case"])))
def test_weights_as_another_implementation_has_them(case):
    rows = REFERENCE[REFERENCE["case"] == case]
    p, named = rows["p"].to_numpy(), rows["named"].to_numpy(dtype=bool)
    family = adjust_family([p], named=[named])
    np.testing.assert_allclose(family.adjusted[0], rows["p_adjusted"], rtol=1e-9)
    np.testing.assert_allclose(family.shares[0], rows["weight"], rtol=1e-9)
    np.testing.assert_allclose(adjust_family([p]).adjusted[0], rows["p_holm"], rtol=1e-9)


def step_down(p: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return Holm's adjustment by its definition: the least level at which a step-down test rejects."""
    left = list(range(len(p)))
    adjusted, so_far = np.empty(len(p)), 0.0
    while left:
        first = min(left, key=lambda i: p[i] / weights[i])
        so_far = max(so_far, min(1.0, p[first] * weights[left].sum() / weights[first]))
        adjusted[first] = so_far
        left.remove(first)
    return adjusted


TESTS = st.lists(st.tuples(st.floats(0, 1), st.floats(0.01, 1)), min_size=1, max_size=12)


@given(TESTS)
def test_weighted_holm_rejects_as_its_steps_do(tests):
    p, weights = map(np.array, zip(*tests, strict=True))
    np.testing.assert_allclose(holm(p, weights), step_down(p, weights), rtol=1e-9, atol=1e-300)
    np.testing.assert_array_equal(holm(p, np.ones(len(p))), holm(p))


@given(TESTS, st.data())
def test_the_shares_of_what_decides_add_up_to_1(tests, data):
    p = np.array([p for p, _ in tests])
    named = np.array(data.draw(st.lists(st.booleans(), min_size=len(p), max_size=len(p))))
    family = adjust_family([p], named=[named])
    assert family.shares[0].sum() == pytest.approx(1)
    if 0 < named.sum() < len(p):
        assert family.shares[0][named].sum() == pytest.approx(NAMED_SHARE)
        assert family.n_named == named.sum()
    else:
        assert family.n_named == 0
        np.testing.assert_array_equal(family.adjusted[0], holm(p))


@pytest.fixture
def people() -> pd.DataFrame:
    """Return decisions in which women are selected less often, and three races alike."""
    rng = np.random.default_rng(4)
    sex = rng.choice(["F", "M"], 600)
    race = rng.choice(["a", "b", "c"], 600)
    score = rng.random(600) < np.where(sex == "F", 0.25, 0.45)
    return pd.DataFrame({"score": score.astype(int), "sex": sex, "race": race})


def test_what_a_gate_names_has_four_fifths_of_the_level(people):
    plain = fb.audit(people, score="score", ref={"sex": "M", "race": "a"})
    named = fb.audit(people, score="score", ref={"sex": "M", "race": "a"}, fail_on="sex:selection-rate")
    sex = ("sex", "F", "selection-rate")

    def p_of(result):
        rows = result.to_pandas().set_index(["attribute", "group", "metric"]).sort_index()
        return float(rows.loc[sex, "p"]), float(rows.loc[sex, "p_holm"])

    p, adjusted = p_of(named)
    assert adjusted == pytest.approx(p / NAMED_SHARE)
    family = json.loads(plain.to_json())["family"]
    assert p_of(plain)[1] == pytest.approx(p * family)
    document = json.loads(named.to_json())
    assert (document["named"], document["family"], document["config"]["fail-on"]) == (
        1,
        family,
        ["sex:selection-rate"],
    )
    assert "5 % for all of them together, of which 4 for the 1 that the gate names" in named.to_markdown()
    assert "named" not in json.loads(plain.to_json())


def test_a_copy_of_a_column_changes_no_p_value(people):
    def p_of(frame, attributes):
        result = fb.audit(frame, score="score", attribute=attributes, ref_method="rest")
        rows = result.to_pandas().set_index(["attribute", "group", "metric"])["p_holm"].sort_index()
        return rows, json.loads(result.to_json())["family"]

    alone, family = p_of(people, ["sex", "race"])
    renamed = people.assign(gender=people["sex"].map({"F": "women", "M": "men"}))
    with_copy, family_with_copy = p_of(renamed, ["sex", "race", "gender"])
    assert family_with_copy == family
    pd.testing.assert_series_equal(with_copy.loc[["race", "sex"]], alone.loc[["race", "sex"]])
    np.testing.assert_array_equal(with_copy.loc["gender"].loc["women"], alone.loc["sex"].loc["F"])
    coarser = people.assign(coarse=people["race"].map({"a": "a", "b": "other", "c": "other"}))
    assert p_of(coarser, ["sex", "race", "coarse"])[1] > family


def test_an_old_model_is_in_no_family_of_the_new_one(people):
    rng = np.random.default_rng(5)
    frame = people.assign(old=rng.integers(0, 2, len(people)))
    both = fb.audit(frame, score=["old", "score"], attribute=["sex", "race"])
    alone = fb.audit(frame.drop(columns="old"), score="score", attribute=["sex", "race"])
    new = both.to_pandas()[both.to_pandas()["model"] == "score"]["p_holm"]
    np.testing.assert_array_equal(new, alone.to_pandas()["p_holm"])


def test_adjusted_intervals_are_of_all_comparisons_together(people):
    """They are those of one comparison at the confidence that its share of the level leaves."""
    adjusted = fb.audit(people, score="score", attribute=["sex", "race"], adjusted=True)
    size = json.loads(adjusted.to_json())["family"]
    alone = fb.audit(people, score="score", attribute=["sex", "race"], confidence=1 - 0.05 / size)
    columns = ["ratio_low", "ratio_high", "difference_low", "difference_high"]
    deciding = adjusted.to_pandas()["deciding"]
    np.testing.assert_allclose(
        adjusted.to_pandas().loc[deciding, columns], alone.to_pandas().loc[deciding, columns], rtol=1e-9
    )
    plain = fb.audit(people, score="score", attribute=["sex", "race"])
    assert list(adjusted.to_pandas()["verdict"]) == list(plain.to_pandas()["verdict"])
    assert "adjusted" not in json.loads(plain.to_json())["config"]


@pytest.mark.parametrize("differs", [True, False])
def test_naming_a_comparison_saves_power_and_the_level_stays(differs):
    """One of twelve comparisons, correlated by .3, is named, and alone is found in 80 %."""
    rng, runs = np.random.default_rng(7), scaled(4000)
    z = np.sqrt(0.3) * rng.standard_normal((runs, 1)) + np.sqrt(0.7) * rng.standard_normal((runs, 12))
    z[:, 0] += 2.80 * differs
    is_named = np.arange(12) == 0
    alike, named = (
        np.array([adjust_family([p], named=[which]).adjusted[0] for p in normal_p(z)]) < 0.05
        for which in (np.zeros(12, dtype=bool), is_named)
    )
    assert not differs or named[:, 0].mean() > alike[:, 0].mean() + 0.2
    for found in (alike, named):
        assert found[:, differs:].any(axis=1).sum() <= most_by_chance(runs, 0.05)
