"""How often a comparison of clustered rows is wrong: the worlds of benchmarks/levels_clusters.py."""

from types import ModuleType

import pandas as pd
import pytest
from conftest import STUDIES, most_by_chance, study_of, worlds

VERDICTS = STUDIES.parent / "docs" / "reference" / "verdicts"
LEVELS = pd.concat([pd.read_csv(VERDICTS / f"{name}.csv") for name in ("clusters", "clusters-crossed")])
LEVELS = LEVELS.set_index("world")


@pytest.fixture(scope="module")
def study() -> ModuleType:
    return study_of("levels_clusters")


def worlds_by_name(study: ModuleType) -> dict[str, object]:
    return {world.name: world for world in (*study.FAIR, *study.HEAVY, *study.CROSSED)}


P_OF_FIRST = [
    *(0.4266456830789161, 0.894011161176561, 0.0550827270850532, 0.871498259657373, 0.2914141975464523),
    *(0.6254475173147017, 0.2350934447644191, 0.29682391330515084, 0.0845851528547355, 0.1353203742238113),
    *(0.08963531232715434, 0.24090487945487493, 0.79536733091738, 0.30059527573747064, 0.027664992424884422),
    *(0.7672940557816216, 0.2590619401389148, 0.28948571708336673, 0.1681709078791691, 0.22649787636788754),
    *(0.13752829342457162, 0.16244501436549555, 0.6693277047139706, 0.2638111224365682, 0.4699766684397571),
    *(0.03213646411831096, 0.8501426347323429, 0.058321711731645),
]


def test_the_first_audit_of_each_world_has_the_p_that_it_had(study: ModuleType) -> None:
    known = worlds_by_name(study)
    assert list(known) == list(LEVELS.index)
    for (name, world), expected in zip(known.items(), P_OF_FIRST, strict=True):
        assert study.simulate(world, 1)[0].p == pytest.approx(expected, rel=1e-9), name


@pytest.mark.parametrize("name", LEVELS.index)
def test_fair_clusters_differ_as_seldom_as_is_documented(study: ModuleType, name: str) -> None:
    n = len(worlds(2000))
    outcomes = study.simulate(worlds_by_name(study)[name], n)
    level, held = LEVELS.loc[name, ["p below .05", "interval holds the ratio"]]
    assert sum(outcome.p < 0.05 for outcome in outcomes) <= most_by_chance(n, level)
    assert sum(not outcome.holds for outcome in outcomes) <= most_by_chance(n, 1 - held)


def test_schools_show_a_gap(study: ModuleType) -> None:
    n = len(worlds(2000))
    outcomes = study.simulate(study.POWER[2], n)
    assert sum(not outcome.fails for outcome in outcomes) <= most_by_chance(n, 1 - 0.689)


@pytest.mark.nightly
def test_the_command_says_the_same(study: ModuleType, monkeypatch, capsys) -> None:
    monkeypatch.setattr(study, "N_FILES", 1)
    monkeypatch.setattr(study, "FILES", study.FILES[2:5])
    study.check_command(1)
    assert "3 files of 3 worlds: the command says the same" in capsys.readouterr().out


def test_changes_named_metrics_and_auc_gaps_are_printed(study: ModuleType, monkeypatch, capsys) -> None:
    monkeypatch.setattr(study, "OTHERS", study.OTHERS[:1])
    study.print_others(2)
    assert len(capsys.readouterr().out.strip().splitlines()) == 3
