"""How often a comparison of clustered rows is wrong: the study of benchmarks/levels_clusters.py, small."""

from types import ModuleType

import pytest
from conftest import study_of


@pytest.fixture(scope="module")
def study() -> ModuleType:
    return study_of("levels_clusters")


def most(runs: int, rate: float = 0.06) -> float:
    """Return a limit that runs at that rate seldom reach: three standard errors above."""
    return rate + 3 * (rate * (1 - rate) / runs) ** 0.5


@pytest.mark.parametrize("i", [0, 5, 9, 13])
def test_fair_clusters_seldom_differ(study: ModuleType, i: int) -> None:
    outcomes = study.simulate(study.FAIR[i], 150)
    assert sum(outcome.p < 0.05 for outcome in outcomes) / 150 <= most(150)
    assert sum(outcome.holds for outcome in outcomes) / 150 >= 1 - most(150)


@pytest.mark.parametrize("i", [0, 1, 2])
def test_a_few_heavy_clusters_seldom_differ(study: ModuleType, i: int) -> None:
    outcomes = study.simulate(study.HEAVY[i], 100)
    assert sum(outcome.p < 0.05 for outcome in outcomes) / 100 <= most(100)


@pytest.mark.parametrize("i", [3, 5, 7])
def test_fair_answers_of_prompts_and_names_seldom_differ(study: ModuleType, i: int) -> None:
    outcomes = study.simulate(study.CROSSED[i], 100)
    assert sum(outcome.p < 0.05 for outcome in outcomes) / 100 <= most(100)


def test_schools_show_a_gap(study: ModuleType) -> None:
    outcomes = study.simulate(study.POWER[2], 60)
    assert sum(outcome.fails for outcome in outcomes) / 60 > 0.45


def test_the_command_says_the_same(study: ModuleType, monkeypatch, capsys) -> None:
    monkeypatch.setattr(study, "N_FILES", 1)
    monkeypatch.setattr(study, "FILES", study.FILES[2:5])
    study.check_command(1)
    assert "3 files of 3 worlds: the command says the same" in capsys.readouterr().out


def test_changes_named_metrics_and_auc_gaps_are_printed(study: ModuleType, monkeypatch, capsys) -> None:
    monkeypatch.setattr(study, "OTHERS", study.OTHERS[:1])
    study.print_others(2)
    assert len(capsys.readouterr().out.strip().splitlines()) == 3
