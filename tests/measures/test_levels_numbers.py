"""How often intervals of outcomes that are numbers hold the truth: benchmarks/levels_numbers.py, small."""

from types import ModuleType

import pandas as pd
import pytest
from conftest import most_by_chance, study_of, worlds
from numbers_data import REFERENCE


@pytest.fixture(scope="module")
def study() -> ModuleType:
    study = study_of("levels_numbers")
    study.MANY = 50_000
    return study


@pytest.mark.parametrize("i", [0, 3, 5, 8, 15, 20])
def test_intervals_hold_the_truth_as_often_as_in_larger_studies(study: ModuleType, i: int) -> None:
    design = (study.SAME + study.UNEQUAL)[i]
    runs = len(worlds(2000))
    compared = study.compare(design, runs, "test")
    expected = pd.read_csv(REFERENCE / "coverage_wider.csv").set_index(["distribution", "rows", "spread"])
    law = {"half zeros": "half0", "0 to 10": "0-10", "t, 3 df": "t3"}.get(design.law, design.law)
    sizes = "{}/{}".format(*design.rows)
    row = expected.loc[law, sizes, "same" if design.spread == 1 else "unequal"]
    for kind, column in (("welch", "welch"), ("hall", "hall"), ("", "wider")):
        missed = 1 - row[column] + (0.01 if kind else 0)  # of the parts, theirs has an error as large
        assert (~compared.holds(0.0, kind)).sum() <= most_by_chance(runs, missed)
    p_more = study.true_rank(design)
    holds_rank = (compared.of_ranks("low") <= p_more) & (p_more <= compared.of_ranks("high"))
    assert (~holds_rank).sum() <= most_by_chance(runs, 1 - 0.946)


WITH_SPLITS = ("errors", "probabilities", "categories", "chances")


@pytest.mark.parametrize(
    "part",
    [
        "power",
        "weights",
        "clusters",
        *(pytest.param(part, marks=pytest.mark.gate) for part in WITH_SPLITS),
    ],
)
def test_every_part_prints_its_table(
    study: ModuleType, part: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for designs in ("POWERFUL", "WEIGHTED", "CLUSTERED", "CATEGORIES"):
        monkeypatch.setattr(study, designs, getattr(study, designs)[:2])
    monkeypatch.setattr(study, "EMPLOYERS", 1000)
    study.main(3, [part])
    printed = capsys.readouterr().out
    assert study.PARTS[part][0] in printed
    assert "nan" not in printed
    assert len(printed.splitlines()) >= 7


@pytest.mark.parametrize("part", ["coverage", "alarms"])
def test_the_tables_of_many_designs_have_a_row_for_each(study: ModuleType, part: str) -> None:
    rows = list(study.PARTS[part][2](3))
    assert len(rows) >= len(study.SAME) + len(study.UNEQUAL)


@pytest.mark.gate
def test_fair_pay_with_rare_large_values_seldom_fails(capsys: pytest.CaptureFixture[str]) -> None:
    study = study_of("levels_means")
    law = study.LAWS["1 % at 20 times"]
    runs = 25
    judged = study.judge_many((law, law), (40, 2000), runs, "test")
    assert sum(pair.p_before < study.ALPHA for pair in judged) > runs / 4  # .55: what splits are for
    assert sum(pair.p < study.ALPHA for pair in judged) <= most_by_chance(runs, study.ALPHA)
    study.LAWS = {"lognormal 1": study.LAWS["lognormal 1"]}
    study.SIZES = ((12, 40),)
    study.main(1, ["same", "weights"])
    assert capsys.readouterr().out.count("| lognormal 1, ") == 7
