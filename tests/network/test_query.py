"""What a network answers, against the sum over every combination of levels."""

import numpy as np
import pytest
from conftest import two_lines
from for_each import for_each
from network_data import random_net

import fairbench_cli as fb
from fairbench_cli.data.table import Column
from fairbench_cli.network import query as query_module
from fairbench_cli.network.draw import sample
from fairbench_cli.network.files import open_network
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.query import compute_posterior


def enumerated(net: BayesNet, asked: list[int], known: dict[int, int]) -> tuple[np.ndarray, float]:
    """Return P(asked | known) and P(known) from the joint distribution of all columns."""
    operands = [part for j, cpt in enumerate(net.cpts) for part in (cpt, [*net.parents[j], j])]
    joint = np.einsum(*operands, list(range(len(net.columns))))
    some = joint[tuple(known.get(j, slice(None)) for j in range(len(net.columns)))]
    table = np.einsum(some, [j for j in range(len(net.columns)) if j not in known], asked)
    return table / table.sum(), float(table.sum())


@for_each("seed", range(60))
def test_answers_are_those_of_every_combination(seed):
    rng = np.random.default_rng(seed)
    net = random_net(rng, 7, polytree=seed % 3 == 0)
    columns = rng.permutation(7).tolist()
    asked, others = columns[: 1 + seed % 3], columns[3 : 3 + seed % 5]
    known = {j: int(rng.integers(0, len(net.columns[j].levels))) for j in others}
    given = {net.names[j]: net.columns[j].levels[level] for j, level in known.items()}
    found = compute_posterior(net, [net.names[j] for j in asked], given)
    table, evidence = enumerated(net, asked, known)
    assert found.table == pytest.approx(table, rel=1e-12)
    assert found.evidence == pytest.approx(evidence, rel=1e-12)


def test_answers_are_what_is_drawn():
    net, _ = open_network("adult")
    rows = sample(net, 200_000, 1)
    some = rows["education"] == net.columns[net.index("education")].levels.index("HS-grad")
    drawn = np.bincount(rows["income"][some], minlength=2) / some.sum()
    found = compute_posterior(net, ["income"], {"education": "HS-grad"})
    assert found.table == pytest.approx(drawn, abs=5e-3)
    assert found.evidence == pytest.approx(some.mean(), abs=5e-3)


def test_a_long_chain_of_unlikely_levels_does_not_vanish():
    columns = tuple(Column(f"c{j}", ("rare", "often")) for j in range(400))
    tables = tuple(
        np.array([0.01, 0.99]) if j == 0 else np.array([[0.2, 0.8], [0.01, 0.99]]) for j in range(400)
    )
    parents = tuple(() if j == 0 else (j - 1,) for j in range(400))
    net = BayesNet(columns, parents, tables)
    found = compute_posterior(net, ["c0"], {f"c{j}": "rare" for j in range(2, 400)})
    ahead = np.array([0.2 * 0.2 + 0.8 * 0.01, 0.01 * 0.2 + 0.99 * 0.01])  # of c2, by c0
    assert found.table == pytest.approx(np.array([0.01, 0.99]) * ahead / (np.array([0.01, 0.99]) @ ahead))


def test_columns_of_one_level():
    columns = (Column("a", ("x",)), Column("b", ("u", "v")), Column("c", ("z",)))
    net = BayesNet(columns, ((), (0,), (1,)), (np.ones(1), np.array([[0.25, 0.75]]), np.ones((2, 1))))
    assert compute_posterior(net, ["b", "a"], {"c": "z"}).table.tolist() == [[0.25], [0.75]]
    assert compute_posterior(net, ["c"]).table.tolist() == [1.0]


def test_what_would_take_too_much_memory_is_refused(monkeypatch):
    monkeypatch.setattr(query_module, "LARGEST", 10)
    net = random_net(np.random.default_rng(3), 7)
    with pytest.raises(fb.UserError, match="ask for fewer columns at once"):
        compute_posterior(net, net.names)
    with pytest.raises(fb.UserError, match="numbers"):
        compute_posterior(open_network("adult")[0], ["income"], {"sex": "Male"})


def test_the_command_and_python_agree(say):
    shown = say("network", "query", "adult", "--given", "education=HS-grad", "--of", "income")
    assert shown.code == 0
    assert shown.out.splitlines()[0] == "P(education=HS-grad) = 0.323132"
    net = fb.load_network("adult")
    low, high = net.query("income", {"education": "HS-grad"})
    assert [line.split()[-1] for line in shown.out.split("\n")[-4:-2]] == [f"{low:.6f}", f"{high:.6f}"]
    both = net.query(["sex", "income"])
    assert both.index.names == ["sex", "income"]
    assert both["Female"].sum() == pytest.approx(net.query("sex")["Female"])
    joint = say("network", "query", "adult", "--of", "sex", "--of", "income").out
    assert [float(line.split()[-1]) for line in joint.split("\n")[-6:-2]] == [round(p, 6) for p in both]


def test_the_command_answers_under_beta(say, tmp_path):
    card = tmp_path / "mine.yaml"
    card.write_text(
        "extends: adult\nname: mine\nprotected:\n  relationship: {deprived: Wife}\n"
        "  education: {deprived: HS-grad}\n  both: {of: [relationship, education]}\n"
    )

    def asked(relationship, education, *options):
        known = ("--given", f"relationship={relationship}", "--given", f"education={education}")
        shown = say("network", "query", "adult", "--of", "income", *known, *options)
        return float(shown.out.split("\n")[-3].split()[-1])

    tilt = ("--beta", "0.5", "--card", str(card))
    for relationship, education, joint, each in (
        ("Wife", "HS-grad", 0.5, 0.25),
        ("Wife", "Bachelors", 0.5, 0.5),
        ("Husband", "HS-grad", 0.5, 0.5),
        ("Husband", "Bachelors", 1, 1),
    ):
        plain = asked(relationship, education)
        tilted = asked(relationship, education, *tilt, "--attribute", "both")
        several = asked(
            relationship, education, *tilt, "--attribute", "relationship", "--attribute", "education"
        )
        assert [tilted, several] == pytest.approx([plain * joint, plain * each], abs=2e-6)


def test_mistakes(say, tmp_path):
    (tmp_path / "run" / "networks").mkdir(parents=True)
    for name in ("a", "b"):
        (tmp_path / "run" / "networks" / f"{name}.json").write_text("{}")
    for arguments, *words in (
        (
            ["adult", "--of", "incme"],
            '--of: error: the network has no column "incme"',
            'did you mean "income"',
        ),
        (["adult", "--of", "income", "--given", "sxe=Male"], 'did you mean "sex"'),
        (["adult", "--of", "income", "--given", "sex=male"], 'no level "male"', 'did you mean "Male"'),
        (["adult", "--of", "income", "--given", "sex"], "write COLUMN=LEVEL"),
        (["adult", "--of", "sex", "--given", "sex=Male"], "both asked for and given"),
        (["adult", "--of", "sex", "--of", "sex"], "asked for twice"),
        (["adult", "--of", "race", "--given", "sex=Male", "--given", "sex=Female"], "given twice"),
        (["run", "--of", "sex"], "run has 2 networks", "run/networks/a.json, run/networks/b.json"),
        (["adlut", "--of", "sex"], 'did you mean "adult"'),
    ):
        two_lines(say("network", "query", *arguments), *words)
    given = ("sex=Female", "relationship=Husband", "race=White", "marital_status=Divorced")
    options = [word for one in given for word in ("--given", one)]
    what = "the network gives relationship=Husband and marital_status=Divorced probability 0"
    two_lines(say("network", "query", "adult", "--of", "income", *options), what, "leave out one of them")
    (tmp_path / "run" / "networks" / "b.json").unlink()
    two_lines(say("network", "query", "run", "--of", "sex"), "no network file")
