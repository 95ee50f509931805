"""How often a verdict is wrong: the study of benchmarks/verdicts.py, small."""

from types import ModuleType

import pytest
from conftest import study_of


@pytest.fixture(scope="module")
def study() -> ModuleType:
    return study_of("verdicts")


# Of `runs` audits; the limits are three standard errors above 6 % and 3.5 %.
@pytest.mark.parametrize(
    ("how", "runs"),
    [
        ({"rows": 1000, "rate": 0.1, "groups": 4, "shares": "sk", "attributes": 3}, 400),
        ({"rows": 100, "rate": 0.05, "groups": 2, "shares": "sk"}, 600),
        ({"rows": 300, "rate": 0.1, "law": "pos8"}, 200),
        ({"rows": 300, "rate": 0.4, "groups": 4, "shares": "sk", "law": "ln1.5"}, 200),
    ],
)
def test_a_fair_world_seldom_fails(study: ModuleType, how: dict[str, object], runs: int) -> None:
    found = study.simulate(study.World(**how), runs)
    assert found.fails <= 0.06 + 3 * (0.06 * 0.94 / runs) ** 0.5
    assert found.point > 0.4


def test_a_gap_at_the_limit_seldom_passes_and_a_large_one_fails(study: ModuleType) -> None:
    at_limit = study.simulate(study.World(3000, 0.4, ratio=0.8), 400)
    assert at_limit.passes <= 0.035 + 3 * (0.035 * 0.965 / 400) ** 0.5
    large = study.simulate(study.World(1000, 0.4, ratio=0.7), 200)
    assert large.fails > 0.85


def test_rows_of_one_person_seldom_fail(study: ModuleType) -> None:
    import numpy as np

    rng = np.random.default_rng(8)
    drawn = [study._people(rng, 5, 0.5, 60, 0.3, 1.0) for _ in range(120)]
    own, plain = (
        study._found([each] for each in study._of_slices(parts))
        for parts in (drawn, [study.replace(part, clusters=None) for part in drawn])
    )
    assert own.fails <= 0.06 + 3 * (0.06 * 0.94 / 120) ** 0.5
    assert plain.fails > 0.15


@pytest.mark.slow
def test_the_study_agrees_with_the_reference(study: ModuleType) -> None:
    for law in ("none", "ln1", "five20", "pos8"):
        for rows in (300, 3000):
            found = study.simulate(study.World(rows, 0.1, law=law), 2000)
            assert found.fails <= 0.06
