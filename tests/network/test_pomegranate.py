"""Our tables and answers against pomegranate's: tables to the last bit, answers where its are exact."""

from collections.abc import Sequence

import numpy as np
import pytest
from network_data import random_net

import fairbench_cli as fb
from fairbench_cli.data.card import known_cards, shipped_cards
from fairbench_cli.data.table import Column, Table
from fairbench_cli.network.convert import to_pomegranate
from fairbench_cli.network.fit import fit
from fairbench_cli.network.known import open_network
from fairbench_cli.network.model import BayesNet, cpt_shape
from fairbench_cli.network.query import posterior

torch = pytest.importorskip("torch")


def fitted_by_pomegranate(table: Table, parents: Sequence[Sequence[int]]) -> list[np.ndarray]:
    """Return the tables that pomegranate fits; the columns have fewer than 2**24 rows.

    Node by node, because `BayesianNetwork.summarize` forces weights of single precision on tables of double
    precision, which torch refuses. A root keeps its sums in single precision, so it is widened first.
    """
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
    pairs = zip(fit(table, parents).cpts, fitted_by_pomegranate(table, parents), strict=True)
    return all(ours.tobytes() == theirs.tobytes() for ours, theirs in pairs)


@pytest.mark.parametrize("seed", range(12))
def test_tables_of_random_rows_are_the_same_bits(seed):
    rng = np.random.default_rng(seed)
    net = random_net(rng, 7)
    rows = int(rng.integers(1, 3000))
    codes = np.stack([rng.integers(0, len(column.levels), rows) for column in net.columns], axis=1)
    codes[:, 0] = 0  # levels that never occur
    assert same_bits(Table(net.columns, np.asfortranarray(codes.astype(np.int16))), net.parents)


@pytest.mark.parametrize("name", [name for name in known_cards() if name != "adult-test"])
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


def by_pomegranate(net: BayesNet, of: int, known: dict[int, int]) -> np.ndarray:
    values = torch.zeros(1, len(net.columns), dtype=torch.int64)
    mask = torch.zeros_like(values, dtype=torch.bool)
    for column, level in known.items():
        values[0, column], mask[0, column] = level, True
    return to_pomegranate(net).predict_proba(torch.masked.MaskedTensor(values, mask))[of][0].numpy()


@pytest.mark.filterwarnings("ignore")  # torch: masked tensors are a prototype
@pytest.mark.parametrize("seed", range(20))
def test_answers_are_those_of_pomegranate_without_undirected_cycles(seed):
    rng = np.random.default_rng(seed)
    net = random_net(rng, 6, polytree=True)
    of, *others = rng.permutation(6)[: 1 + seed % 4].tolist()
    known = {j: int(rng.integers(0, len(net.columns[j].levels))) for j in others}
    given = {net.names[j]: net.columns[j].levels[level] for j, level in known.items()}
    ours = posterior(net, [net.names[of]], given).table
    assert by_pomegranate(net, of, known) == pytest.approx(ours, abs=1e-6)  # single precision


@pytest.mark.filterwarnings("ignore")
def test_with_cycles_pomegranate_answers_otherwise():
    """What the documentation says: were it exact, the detour would not be needed."""
    net, _ = open_network("adult")
    of = net.index("relationship")
    away = np.abs(by_pomegranate(net, of, {}) - posterior(net, ["relationship"]).table).max()
    assert 0.03 < away < 0.05


def test_a_conversion_keeps_columns_and_levels():
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
