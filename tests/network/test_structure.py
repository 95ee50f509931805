"""Structure learning against R's bnlearn on synthetic data, and the settings a user can give."""

import csv
from pathlib import Path

import numpy as np
import pytest

from fairbench_cli.base.errors import UserError
from fairbench_cli.data.load import table_from_csv
from fairbench_cli.data.table import Column, Table
from fairbench_cli.network import family_counts
from fairbench_cli.network.family_counts import make_local_score
from fairbench_cli.network.model import is_ancestor, named_arcs, topological_order
from fairbench_cli.network.structure import LearnSettings, Structure, learn_structure

REFERENCE = Path(__file__).parents[1] / "reference" / "bnlearn" / "synthetic"
LEARNERS = {"hc": "hill-climbing", "tabu": "tabu"}

with (REFERENCE / "out.csv").open() as file:
    RUNS = list(csv.DictReader(file))


def learn(table: Table, run: dict[str, str]) -> Structure:
    more = {"iss": 10.0} if run["sc"] == "bde" else {}
    limit = None if run["mp"] == "Inf" else int(run["mp"])
    return learn_structure(
        table, LearnSettings(learner=LEARNERS[run["al"]], score=run["sc"], max_parents=limit, **more)
    )


def random_table(seed: int = 0, rows: int = 400) -> Table:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, rows)
    b = (a + (rng.random(rows) < 0.3)) % 3
    c = (b + (rng.random(rows) < 0.2)) % 2
    d = rng.integers(0, 2, rows)
    codes = np.asfortranarray(np.stack([a, b, c, d], axis=1).astype(np.int16))
    return Table(tuple(Column(name, ("0", "1", "2")) for name in "abcd"), codes)


def test_there_are_480_runs():
    assert len(RUNS) == 480


@pytest.mark.parametrize("number", range(30))
def test_arcs_and_scores_are_those_of_bnlearn(number):
    table = table_from_csv(REFERENCE / f"d{number}.csv")
    runs = [run for run in RUNS if run["t"] == str(number)]
    assert len(runs) == 16
    for run in runs:
        found = learn(table, run)
        arcs = {f"{i}>{j}" for i, j in named_arcs(table.names, found.parents)}
        assert arcs == set(run["arcs"].split()), run
        assert found.score == pytest.approx(float(run["score"]), abs=1e-6, rel=0), run


@pytest.mark.gate
@pytest.mark.parametrize("number", [9, 15, 23])
def test_large_families_are_counted_alike(number, monkeypatch):
    table = table_from_csv(REFERENCE / f"d{number}.csv")
    runs = [run for run in RUNS if run["t"] == str(number)]
    dense = [learn(table, run) for run in runs]
    monkeypatch.setattr(family_counts, "DENSE_CELLS", 3)
    assert [learn(table, run) for run in runs] == dense


def test_a_family_too_large_for_64_bits_is_counted():
    rng = np.random.default_rng(0)
    codes = np.asfortranarray(rng.integers(0, 1000, (50, 9)).astype(np.int16))
    levels = tuple(map(str, range(1000)))
    table = Table(tuple(Column(f"c{j}", levels) for j in range(9)), codes)
    score = make_local_score(table, "k2")(8, tuple(range(8)))  # 50 configurations, each with one row
    assert score == pytest.approx(50 * np.log(1 / 1000))


def test_local_scores_by_hand():
    codes = np.asfortranarray([[0, 0], [0, 0], [0, 1], [1, 1]], dtype=np.int16)
    table = Table((Column("x", ("n", "y")), Column("z", ("n", "y"))), codes)
    likelihood = 2 * np.log(2 / 3) + np.log(1 / 3)
    assert make_local_score(table, "aic")(1, (0,)) == pytest.approx(likelihood - 2)
    assert make_local_score(table, "bic")(1, (0,)) == pytest.approx(likelihood - np.log(4))
    assert make_local_score(table, "k2")(1, (0,)) == pytest.approx(
        np.log(1 / 12 * 1 / 2)
    )  # 2! 1! 1!/4! and 1!/2!


def test_a_required_arc_is_in_and_its_reverse_is_not():
    table = random_table()
    free = learn_structure(table, LearnSettings())
    assert ("a", "b") in named_arcs(table.names, free.parents)
    found = learn_structure(table, LearnSettings(whitelist=[("b", "a"), ("d", "c")]))
    arcs = named_arcs(table.names, found.parents)
    assert ("b", "a") in arcs
    assert ("d", "c") in arcs
    assert found.bic < free.bic


def test_a_forbidden_arc_is_out():
    table = random_table()
    arcs = named_arcs(
        table.names, learn_structure(table, LearnSettings(blacklist=[("a", "b"), ("b", "a")])).parents
    )
    assert ("a", "b") not in arcs
    assert ("b", "a") not in arcs


@pytest.mark.parametrize("learner", ["hill-climbing", "tabu"])
@pytest.mark.parametrize("outcome", ["a", "b", "c"])
def test_a_sink_has_no_children(outcome, learner):
    table = random_table()
    found = learn_structure(table, LearnSettings(learner=learner, outcome_sink=outcome))
    assert all(tail != outcome for tail, _ in named_arcs(table.names, found.parents))
    assert topological_order(found.parents) is not None


def test_tabu_is_no_worse_than_hill_climbing_and_patience_zero_stops_there():
    for seed in range(5):
        table = random_table(seed, rows=60)
        climbed = learn_structure(table, LearnSettings(score="aic"))
        assert (
            learn_structure(table, LearnSettings(score="aic", learner="tabu")).score >= climbed.score - 1e-9
        )
        assert learn_structure(table, LearnSettings(score="aic", learner="tabu", patience=0)) == climbed


def test_no_parents_allowed_means_no_arcs():
    assert learn_structure(random_table(), LearnSettings(max_parents=0)).parents == ((), (), (), ())


def test_a_constant_column_stays_alone():
    table = random_table()
    lone = Table((Column("k", ("only",)), *table.columns), np.insert(table.codes, 0, 0, axis=1))
    found = learn_structure(lone, LearnSettings())
    assert found.parents[0] == ()
    assert all(0 not in own for own in found.parents)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"whitelist": [("a", "z")]}, 'no column is called "z"'),
        ({"blacklist": [("z", "a")]}, 'no column is called "z"'),
        ({"outcome_sink": "z"}, 'no column is called "z"'),
        ({"whitelist": [("a", "b"), ("b", "c"), ("c", "a")]}, "form a cycle"),
        ({"whitelist": [("a", "a")]}, "is a loop"),
        ({"whitelist": ["ab"]}, "not an arc"),
        (
            {"whitelist": [("a", "b")], "blacklist": [("a", "b")]},
            "both in the whitelist and in the blacklist",
        ),
        ({"whitelist": [("a", "c"), ("b", "c")], "max_parents": 1}, "2 parents, but max_parents is 1"),
        ({"whitelist": [("c", "a")], "outcome_sink": "c"}, "c has no children"),
        ({"max_parents": -1}, "max_parents is -1"),
        ({"learner": "greedy"}, 'unknown learner "greedy"'),
        ({"score": "bdeu"}, 'unknown score "bdeu"'),
        ({"iss": 0.0, "score": "bde"}, "iss is 0.0"),
        ({"iss": 5.0}, "the score is bic"),
        ({"tabu": 5}, "the learner is hill-climbing"),
        ({"patience": 5}, "the learner is hill-climbing"),
        ({"learner": "tabu", "tabu": 0}, "tabu is 0"),
        ({"learner": "tabu", "patience": -1}, "patience is -1"),
    ],
)
def test_mistakes_are_named(settings, message):
    with pytest.raises(UserError, match=message):
        learn_structure(random_table(), LearnSettings(**settings))


def test_no_rows_nothing_to_learn():
    with pytest.raises(UserError, match="no rows"):
        learn_structure(random_table(rows=0), LearnSettings())


def test_graph_order_and_ancestors():
    parents = [(2,), (0, 2), (), (1,)]
    assert topological_order(parents) == (2, 0, 1, 3)
    assert is_ancestor(parents, 2, 3)
    assert not is_ancestor(parents, 3, 2)
    assert topological_order([(1,), (2,), (0,)]) is None
