"""Our tables and answers against pomegranate's: tables to the last bit, answers where its are exact."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import combinations, product

import numpy as np
import pytest
from conftest import law, two_lines
from hypothesis import given
from hypothesis import strategies as st
from network_data import random_net

import fairbench_cli as fb
from fairbench_cli.data.card import shipped_cards
from fairbench_cli.data.table import Column, Table
from fairbench_cli.network.family_counts import compute_network_score, fit_network, make_local_score
from fairbench_cli.network.files import open_network
from fairbench_cli.network.model import BayesNet, cpt_shape, named_arcs, topological_order
from fairbench_cli.network.pomegranate import to_pomegranate
from fairbench_cli.network.query import compute_posterior
from fairbench_cli.network.structure import LearnSettings, learn_structure

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")  # a second to load
ENGINES = "exact", "pomegranate"


def fitted_by_pomegranate(table: Table, parents: Sequence[Sequence[int]]) -> list[np.ndarray]:
    """Return the tables that pomegranate fits; the columns have fewer than 2**24 rows.

    Node by node, because `BayesianNetwork.summarize` forces weights of single precision on tables of double
    precision, which torch refuses. A root keeps its sums in single precision, so it is widened first.
    """
    import torch

    structure = tuple(map(tuple, parents))
    uniform = [
        np.full(shape, 1 / shape[-1])
        for shape in (cpt_shape(table.columns, own, j) for j, own in enumerate(structure))
    ]
    model = to_pomegranate(BayesNet(table.columns, structure, tuple(uniform)))
    for j, node in enumerate(model.distributions):
        rows = torch.from_numpy(table.codes[:, [*structure[j], j]].astype(np.int64, order="C"))
        if structure[j]:
            node.summarize(rows.unsqueeze(-1))
        else:
            node.double()
            node.summarize(rows)
    model.from_summaries()
    tables = [np.asarray(node.probs[0].detach().numpy()) for node in model.distributions]
    return [cpt.reshape(shape.shape) for cpt, shape in zip(tables, uniform, strict=True)]


def same_bits(table: Table, parents: Sequence[Sequence[int]]) -> bool:
    pairs = zip(fit_network(table, parents).cpts, fitted_by_pomegranate(table, parents), strict=True)
    return all(ours.tobytes() == theirs.tobytes() for ours, theirs in pairs)


@pytest.mark.parametrize("seed", range(12))
def test_tables_of_random_rows_are_the_same_bits(seed):
    rng = np.random.default_rng(seed)
    net = random_net(rng, 7)
    rows = int(rng.integers(1, 3000))
    codes = np.stack([rng.integers(0, len(column.levels), rows) for column in net.columns], axis=1)
    codes[:, 0] = 0  # levels that never occur
    assert same_bits(Table(net.columns, np.asfortranarray(codes.astype(np.int16))), net.parents)


# Each is a table of another shape: other shipped cards are variants of these, or say the same of more rows.
@pytest.mark.parametrize(
    "name",
    ["adult", "adult-numbers", "compas", "dutch", "german", "oulad", "propublica-recidivism", "ricci"],
)
def test_tables_of_the_shipped_data_sets_are_the_same_bits(name, data_folder):
    table = fb.load(name, data_dir=data_folder).table
    shipped = shipped_cards() / f"{name}.network.json"
    parents = open_network(name)[0].parents if shipped.is_file() else chain(table)
    assert same_bits(table, parents)


def chain(table: Table) -> list[tuple[int, ...]]:
    """Return parents for a table without a network: the two columns before, where the CPT is small."""
    levels = table.level_counts
    two = [tuple(range(max(j - 2, 0), j)) for j in range(len(levels))]
    return [own if np.prod([levels[i] for i in (*own, j)]) < 1e5 else () for j, own in enumerate(two)]


@pytest.mark.parametrize("seed", range(20))
def test_answers_are_those_of_pomegranate_without_undirected_cycles(seed):
    rng = np.random.default_rng(seed)
    net = random_net(rng, 6, polytree=True)
    of, *others = rng.permutation(6)[: 1 + seed % 4].tolist()
    known = {j: int(rng.integers(0, len(net.columns[j].levels))) for j in others}
    given = {net.names[j]: net.columns[j].levels[level] for j, level in known.items()}
    ours, theirs = (compute_posterior(net, [net.names[of]], given, engine).table for engine in ENGINES)
    assert theirs == pytest.approx(ours, abs=1e-6)  # single precision


def test_with_cycles_pomegranate_answers_otherwise():
    """What the documentation says: were it exact, the detour would not be needed."""
    net, _ = open_network("adult")
    ours, theirs = (compute_posterior(net, ["relationship"], {}, engine) for engine in ENGINES)
    assert 0.03 < np.abs(theirs.table - ours.table).max() < 0.05
    assert ours.evidence == 1
    assert np.isnan(theirs.evidence)


def test_the_command_says_that_its_answer_is_approximate(say):
    question = "network", "query", "adult", "--of", "sex", "--given", "relationship=Husband"
    shown = say(*question, "--engine", "pomegranate")
    assert shown.code == 0
    assert shown.out.startswith("By pomegranate's loopy belief propagation: approximate where")
    series = fb.load_network("adult").query("sex", {"relationship": "Husband"}, engine="pomegranate")
    assert [line.split()[-1] for line in shown.out.split("\n")[-4:-2]] == [f"{p:.6f}" for p in series]
    two_lines(say(*question, "--of", "race", "--engine", "pomegranate"), "one column at a time")
    question = *question, "--given", "marital_status=Divorced"
    two_lines(say(*question, "--engine", "pomegranate"), "probability 0", "leave out one")
    with pytest.raises(fb.UserError, match="did you mean"):
        fb.load_network("adult").query("sex", engine="pomegranat")


def test_a_conversion_keeps_columns_and_levels():
    import torch

    net = fb.load_network("compas")
    model = net.to_pomegranate()
    rows = net.sample(40, seed=1).codes.astype(np.int64)
    ours = sum(
        np.log(net.net.cpts[j][tuple(rows[:, i] for i in (*own, j))]) for j, own in enumerate(net.net.parents)
    )
    theirs = model.log_probability(torch.from_numpy(rows)).numpy()
    assert theirs == pytest.approx(ours, rel=1e-6)  # pomegranate adds them up in single precision
    assert [node.probs[0].dtype for node in model.distributions] == [torch.float64] * len(net.columns)
    one = BayesNet((Column("a", ("x", "y")),), ((),), (np.array([0.25, 0.75]),))
    assert to_pomegranate(one).distributions[0].probs.tolist() == [[0.25, 0.75]]


@st.composite
def tables(draw, columns: int) -> Table:
    """Draw a table of a few rows: levels that do not occur, copies, columns of one level."""
    levels = draw(st.lists(st.integers(1, 4), min_size=columns, max_size=columns))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    codes = np.stack([rng.integers(0, rng.integers(1, r + 1), 30) for r in levels], axis=1)
    codes[:, 1] = np.where(rng.random(30) < 0.7, codes[:, 0] % levels[1], codes[:, 1])
    made = tuple(Column("abcdefgh"[j], tuple("wxyz"[:r])) for j, r in enumerate(levels))
    return Table(made, np.asfortranarray(codes.astype(np.int16)))


def information(table: Table, i: int, j: int) -> float:
    """Return the mutual information of two columns, in nats."""
    both = np.zeros((table.level_counts[i], table.level_counts[j]))
    np.add.at(both, (table.codes[:, i], table.codes[:, j]), 1 / len(table))
    apart = both.sum(axis=1, keepdims=True) * both.sum(axis=0, keepdims=True)
    return float(np.sum(both[both > 0] * np.log(both[both > 0] / apart[both > 0])))


def spans(edges: Sequence[tuple[int, int]], nodes: int) -> bool:
    """Return whether some edges join all nodes."""
    group = list(range(nodes))
    for i, j in edges:
        group = [group[i] if own == group[j] else own for own in group]
    return len(set(group)) == 1


@law(60)
@given(tables(5))
def test_no_tree_has_more_information_than_that_of_chow_liu(table):
    parents = learn_structure(table, LearnSettings(learner="chow-liu")).parents
    arcs = [(i, j) for j, own in enumerate(parents) for i in own]
    assert len(arcs) == 4
    assert spans(arcs, 5)
    pairs = {pair: information(table, *pair) for pair in combinations(range(5), 2)}
    trees = (edges for edges in combinations(pairs, 4) if spans(edges, 5))
    most = max(sum(pairs[pair] for pair in edges) for edges in trees)
    assert sum(pairs[min(arc), max(arc)] for arc in arcs) == pytest.approx(most, abs=1e-9)


@law(40)
@given(tables(4), st.integers(1, 3), st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=4))
def test_no_network_has_a_better_bic_than_the_exact_one(table, most, pairs):
    forbidden = {(i, j) for i, j in pairs if i != j}
    named = tuple((table.names[i], table.names[j]) for i, j in forbidden)
    found = learn_structure(table, LearnSettings("exact", max_parents=most, blacklist=named))
    local, best = make_local_score(table, "bic"), -np.inf
    families = [
        [own for k in range(most + 1) for own in combinations([i for i in range(4) if i != j], k)]
        for j in range(4)
    ]
    for parents in product(*families):
        arcs = {(i, j) for j, own in enumerate(parents) for i in own}
        if not arcs & forbidden and topological_order(parents) is not None:
            best = max(best, compute_network_score(local, parents))
    assert found.bic == found.score == pytest.approx(best, abs=1e-6)
    assert not forbidden & {(i, j) for j, own in enumerate(found.parents) for i in own}
    assert max(map(len, found.parents)) <= most


def test_constraints_of_a_tree():
    """A tree takes another root, and arcs besides its own, where they are required."""
    table = fb.load_network("adult").sample(5000, seed=1)

    def arcs(**more) -> set[tuple[str, str]]:
        learned = learn_structure(table, LearnSettings("chow-liu", **more))
        return set(named_arcs(table.names, learned.parents))

    free = arcs()
    assert ("relationship", "income") in free
    turned = arcs(whitelist=(("income", "relationship"),))
    assert turned != free
    assert {frozenset(arc) for arc in turned} == {frozenset(arc) for arc in free}
    more = arcs(whitelist=(("race", "income"),))
    assert ("race", "income") in more
    assert len(more) == 13
    assert not {arc for arc in arcs(outcome_sink="race") if arc[0] == "race"}
    for refused in (
        {"whitelist": (("race", "income"),), "max_parents": 1},
        {"blacklist": (("income", "relationship"), ("relationship", "income"))},
        {"max_parents": 0},
        {"outcome_sink": "income"},  # capital gain and loss hang from it
    ):
        with pytest.raises(fb.UserError, match="does not keep, with any root, to the arcs"):
            arcs(**refused)


def apart(names: Sequence[str], arcs: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Return two columns that no arc joins."""
    return next(pair for pair in combinations(names, 2) if pair not in arcs and pair[::-1] not in arcs)


def test_what_the_learners_of_pomegranate_cannot_do(monkeypatch):
    table = fb.load_network("compas").sample(500, seed=1)
    some = Table(table.columns[:4], table.codes[:, :4])
    for rows, wanted, said in (
        (table, LearnSettings("exact"), "takes up to 10 columns, and there are 13"),
        (some, LearnSettings("exact", "aic"), "the score is aic, which the learner exact does not have"),
        (some, LearnSettings("chow-liu", "k2"), "the score is k2"),
        (some, LearnSettings("exact", patience=2), "the learner is exact"),
    ):
        with pytest.raises(fb.UserError, match=said):
            learn_structure(rows, wanted)
    best = named_arcs(some.names, learn_structure(some, LearnSettings("exact")).parents)
    assert learn_structure(some, LearnSettings("exact", whitelist=(best[0],))).parents
    with pytest.raises(fb.UserError, match=r"has no arc .* the exact search cannot require"):
        learn_structure(some, LearnSettings("exact", whitelist=(apart(some.names, best),)))
    monkeypatch.setattr("fairbench_cli.network.pomegranate.MOST_CELLS", 200)
    for rows, learner in ((some, "exact"), (table, "chow-liu")):
        with pytest.raises(fb.UserError, match=r"numbers, and 200 are the most\n  fix: drop columns or cut"):
            learn_structure(rows, LearnSettings(learner))


def test_a_learned_tree_is_kept_with_its_learner(say, tmp_path):
    assert say("network", "sample", "adult", "-n", "500", "-o", "rows.csv").code == 0
    done = say("network", "learn", "rows.csv", "-o", "tree.json", "--learner", "chow-liu")
    assert "13 nodes, 12 arcs" in done.out
    net = fb.load_network(tmp_path / "tree.json")
    assert (net.meta.learner, net.meta.source["settings"]["learner"]) == ("chow-liu", "chow-liu")
    assert fb.learn(net.sample(200, seed=1), learner="chow-liu").meta.learner == "chow-liu"


@pytest.mark.parametrize("missing", ["pomegranate", "torch"])
def test_without_the_extra_a_message_names_it(say, missing, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "pomegranate"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    assert say("network", "sample", "adult", "-n", "100", "-o", "rows.csv").code == 0
    for arguments in (
        ["learn", "rows.csv", "-o", "net.json", "--learner", "chow-liu"],
        ["query", "adult", "--of", "sex", "--engine", "pomegranate"],
    ):
        done = say("network", *arguments)
        two_lines(done, f"this needs {missing}, which is not installed")
        assert done.err.endswith("  fix: pip install 'fairbench-cli[pomegranate]'\n")
    with pytest.raises(fb.UserError, match=r"fairbench-cli\[pomegranate\]"):
        fb.load_network("adult").to_pomegranate()
