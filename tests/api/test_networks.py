"""Data sets, networks and metrics from Python."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from conftest import bare_data

import fairbench_cli as fb
from fairbench_cli.measures.rows import Rows


def test_a_data_set_of_a_card(tmp_path):
    data = fb.load(bare_data(tmp_path, "toy"))
    assert repr(data).startswith("<toy: 300 rows, 3 columns\n  y = 1 is favourable\n  by s: f (deprived) 0.")
    frame = data.to_pandas()
    assert frame.shape == (300, 3)
    assert all(isinstance(kind, pd.CategoricalDtype) for kind in frame.dtypes)
    rates = data.base_rates()
    sample = data.sample("s")
    assert isinstance(sample, fb.Sample)
    assert rates["f"] == sample.y[sample.s == 0].mean()
    assert repr(sample).startswith("<Sample: 300 rows, 2 features; favourable by s: deprived 0.")
    assert repr(data.table) == "<Table: 300 rows, 3 columns: s, y, x>"
    again = pickle.loads(pickle.dumps(data))  # noqa: S301
    assert again.to_pandas().equals(frame)
    with pytest.raises(fb.UserError, match='no protected attribute "z"'):
        data.sample("z")
    card = bare_data(tmp_path, "gone")
    (tmp_path / "gone.csv").unlink()
    with pytest.raises(fb.UserError, match="not found"):
        fb.load(card)


def test_learning_is_that_of_the_command_line(say, tmp_path):
    card = bare_data(tmp_path, "toy")
    learned = fb.learn(fb.load(card), require_arcs=[("s", "y")])
    learned.save(tmp_path / "ours.json")
    arguments = ("--require-arc", "s>y", "-o", tmp_path / "cli.json")
    assert say("network", "learn", card, *arguments).code == 0
    assert (tmp_path / "ours.json").read_bytes() == (tmp_path / "cli.json").read_bytes()
    again = fb.load_network(tmp_path / "ours.json", card=card)
    drawn = again.tilt(0.5).sample(500, seed=3).to_pandas()
    more = ("-n", "500", "--seed", "3", "--beta", "0.5", "--card", card, "-o", tmp_path / "rows.csv")
    assert say("network", "sample", tmp_path / "cli.json", *more).code == 0
    assert drawn.to_csv(index=False, lineterminator="\n") == (tmp_path / "rows.csv").read_text()


def test_a_bare_csv_and_a_name_are_learned_from_too(say, tmp_path):
    card = bare_data(tmp_path, "toy")
    fb.learn(tmp_path / "toy.csv", require_arcs=["s>y"]).save(tmp_path / "ours.json")
    assert say("network", "learn", "toy.csv", "--require-arc", "s→y", "-o", "cli.json").code == 0
    assert (tmp_path / "ours.json").read_bytes() == (tmp_path / "cli.json").read_bytes()
    assert fb.learn(card).arcs == fb.learn(fb.load(card)).arcs
    with pytest.raises(fb.UserError, match="FROM>TO"):
        fb.learn(card, require_arcs=["s-y"])


BIAS = [{"label": {"flip": 0.4}}, {"selection": {"drop": 0.5}}, {"omission": {"column": "age"}}]
AS_YAML = "[label: {flip: 0.4}, selection: {drop: 0.5}, omission: {column: age}]"


def test_a_world_gives_the_record_and_the_truth(say, tmp_path):
    net = fb.load_network("dutch")
    world = net.world(BIAS)
    rows = world.sample(4000, seed=2, truth=True).to_pandas()
    record = [name for name in net.columns if name != "age"]
    assert list(rows) == [*record, "age.true", "occupation.true"]
    assert rows[record].equals(world.sample(4000, seed=2).to_pandas())
    flipped = rows["occupation"] != rows["occupation.true"]
    assert set(rows["sex"][flipped]) == {"female"}
    assert set(rows["occupation"][flipped]) == {"5_4_9"}
    more = ("-n", "4000", "--seed", "2", "--bias", AS_YAML, "--truth", "-o", tmp_path / "rows.csv")
    assert say("network", "sample", "dutch", *more).code == 0
    assert (tmp_path / "rows.csv").read_text() == rows.to_csv(index=False, lineterminator="\n")
    assert world.dataset(500, seed=2).to_pandas().equals(rows[record].head(500))
    none = net.world([]).sample(300, seed=5).to_pandas()
    assert none.equals(net.sample(300, seed=5).to_pandas())


def test_a_bias_of_tuples_and_numbers_of_numpy_is_the_same():
    net = fb.load_network("dutch")
    given = {"flip": np.float64(0.5), "given": {"edu_level": (np.int64(4), "5")}}
    same = net.world([{"label": {"flip": 0.5, "given": {"edu_level": [4, 5]}}}])
    assert repr(net.world(({"label": given},))) == repr(same)
    with pytest.raises(fb.UserError, match='unknown mechanism "3"'):
        net.world([{3: {}}])


def test_what_is_asked_of_a_world_is_about_the_record(say):
    net = fb.load_network("dutch")
    world = net.world(BIAS)
    true, women = net.query("occupation", {"sex": "female"})["2_1"], {"sex": "female"}
    every = world.query("occupation", women | {"included": "yes"})["2_1"]
    assert world.query("occupation", women)["2_1"] == every
    assert every == pytest.approx(0.3 * true / (1 - 0.3 * true))  # 0.6 stay, half of them are dropped
    assert world.query("included", women)["yes"] == pytest.approx(1 - 0.3 * true)
    assert world.query("occupation.true", women | {"occupation": "2_1"})["2_1"] == pytest.approx(1)
    done = say("network", "query", "dutch", "--bias", AS_YAML, "--of", "occupation", "--given", "sex=female")
    assert done.code == 0
    assert f"{every:.6f}" in done.out
    assert "P(sex=female, included=yes) = " in done.out
    done = say("network", "show", "dutch", "--bias", AS_YAML, "--node", "included")
    assert "0.500000" in done.out
    done = say("network", "show", "dutch", "--bias", AS_YAML)
    assert "occupation.true" in done.out


@pytest.mark.parametrize(
    ("net", "question", "options"),
    [
        ("dutch", ("occupation", "sex=female", "2_1"), ("--attribute", "sex")),
        ("adult", ("income", "sex=Female", ">50K"), ("--card", "adult", "--shift", "both")),
    ],
)
def test_a_loop_over_beta_begins_at_0(say, net, question, options):
    of, given, level = question
    asked = "network", "query", net, "--of", of, "--given", given
    lines = [say(*asked, "--beta", beta, *options).out for beta in ("0", "0.5", "1")]
    shares = [float(re.search(rf"{level} +([0-9.]+)", text)[1]) for text in lines]
    assert f"{shares[0]:.6f}" in say(*asked).out
    assert shares[0] > shares[1] > shares[2] or options[-1] == "both"
    assert "it is left out" in say(*asked, *options).err


def test_a_world_is_drawn_and_says_what_it_is(say, tmp_path):
    world = fb.load_network("dutch").world(BIAS[:1])
    assert repr(world).endswith(
        "; 40 % of the deprived with the favourable outcome are recorded with the unfavourable one>"
    )
    assert ">occupation.true</text>" in world.figure().svg
    done = say("network", "draw", "dutch", "--bias", "[label: {flip: 0.4}]", "-o", tmp_path / "net.svg")
    assert done.code == 0
    assert "occupation.true" in (tmp_path / "net.svg").read_text()


def test_data_of_a_card_have_worlds(tmp_path):
    data = fb.load(bare_data(tmp_path, "toy"))
    bias = [{"representation": {"share": 0.1}}]
    drawn = data.world(bias).sample(300, seed=1)
    assert drawn.to_pandas().equals(fb.learn(data).world(bias).sample(300, seed=1).to_pandas())
    assert (drawn.to_pandas()["s"] == "f").mean() < 0.2


@pytest.mark.parametrize(
    ("bias", "what"),
    [
        ("[lable]", 'unknown mechanism "lable"'),
        ("[label]", "label needs its strength"),
        ("[[label: {flip: 1}], [label: {flip: 0.2}]]", "bias names 2 worlds"),
        ("[label: {flip: 2}]", "label: flip must be at most 1, not 2"),
        ("[label: {flip: 0.5, given: {se: f}}]", 'given: there is no column "se"'),
        ("[selection: {drop: 1, label: any}]", "deprived"),
        ("x: [", "not YAML"),
    ],
)
def test_a_bias_that_is_wrong_is_told_at_its_option(say, bias, what):
    done = say("network", "sample", "dutch", "-n", "3", "--bias", bias, "-o", "-")
    assert done.code == 2
    assert done.err.startswith("--bias: error: ")
    assert what in done.err
    assert len(done.err.splitlines()) == 2


@pytest.mark.parametrize(
    "options",
    [
        ("sample", "dutch", "-n", "3", "-o", "-", "--truth"),
        ("sample", "dutch", "-n", "3", "-o", "-", "--bias", "[]", "--beta", "0.5"),
        ("sample", "dutch", "-n", "3", "-o", "-", "--bias", "[]", "--shift", "both"),
        ("query", "adult", "--of", "sex", "--bias", "[]", "--attribute", "sex", "--attribute", "race"),
        ("show", "dutch", "--attribute", "sex"),
    ],
)
def test_options_that_do_not_go_with_a_bias_are_refused(say, options):
    done = say("network", *options)
    assert done.code == 2
    assert "--bias" in done.err


def test_a_world_is_not_biased_again_and_not_kept(tmp_path):
    world = fb.load_network("dutch").world(BIAS)
    for again in (
        lambda: world.world(BIAS),
        lambda: world.tilt(0.5),
        lambda: world.save(tmp_path / "net.json"),
        lambda: fb.load_network("dutch").sample(3, truth=True),
    ):
        with pytest.raises(fb.UserError, match=r"world|without bias"):
            again()


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    s = rng.choice(["f", "m"], 400)
    y = np.where(rng.random(400) < 0.3 + 0.4 * (s == "m"), "+", "-")
    return pd.DataFrame({"s": s, "x": rng.integers(0, 3, 400), "y": y})


ROLES = {"label": "y", "favourable": "+", "attribute": "s", "deprived": "f"}


def test_a_frame_with_roles_can_be_tilted_and_kept(frame, tmp_path, pl, pa):
    net = fb.learn(frame, **ROLES, name="mine")
    assert net.arcs == [("s", "y")] or net.arcs == [("y", "s")]
    net = fb.learn(frame, **ROLES, name="mine", require_arcs=[("s", "y")])
    for same in (pl.from_pandas(frame), pa.Table.from_pandas(frame), frame.astype({"s": "category"})):
        assert fb.learn(same, **ROLES, name="mine", require_arcs=[("s", "y")]).cpt("y").equals(net.cpt("y"))
    none, full = net.dataset(2000, seed=1), net.tilt(1).dataset(2000, seed=1)
    assert full.base_rates().tolist() == [0.0, none.base_rates()["m"]]
    assert (full.to_pandas()["s"] == none.to_pandas()["s"]).all()
    twice = net.tilt(0.5).tilt(0.5)
    assert np.allclose(twice.cpt("y")["+"], net.tilt(0.75).cpt("y")["+"])
    assert repr(twice).startswith("<Network of mine: 3 columns, 1 arcs, hill-climbing, bic -")
    assert repr(twice).endswith("; β = 0.5 by s; β = 0.5 by s>")
    net.save(tmp_path / "net.json")
    for again in (fb.load_network(tmp_path / "net.json"), pickle.loads(pickle.dumps(net))):  # noqa: S301
        assert again.tilt(0.25).cpt("y").equals(net.tilt(0.25).cpt("y"))
    assert "<table" in net._repr_html_()
    assert net.figure()._repr_svg_().startswith("<svg ")
    assert net.score == net.bic < 0
    assert net.columns == ("s", "x", "y")


def test_a_shipped_network_knows_its_card():
    net = fb.load_network("dutch")
    assert net.roles().deprived == ("female",)
    assert net.tilt(0).cpt("occupation").equals(net.cpt("occupation"))
    up = net.tilt(0.5, both=True).dataset(3000).base_rates() - net.dataset(3000).base_rates()
    assert up["female"] < 0 < up["male"]
    assert np.array_equal(net.sample(50).codes, net.sample(50, 0).codes)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda f: fb.learn(f, label="y"), "favourable= is not"),
        (lambda f: fb.learn(f, scor="bic"), "unexpected keyword"),
        (lambda f: fb.learn(f, score="bik"), '"bic"'),
        (lambda f: fb.learn(f, require_arcs=[("s", "z")]), 'no column is called "z"'),
        (lambda f: fb.learn(f, **ROLES | {"deprived": "F"}), 'value "F"'),
        (lambda f: fb.learn(f.assign(x=range(400))), "pd.cut"),
        (lambda f: fb.learn(f[:0]), "no rows"),
        (lambda _: fb.learn({"s": ["f"]}), "pandas, Polars or Arrow"),
        (lambda f: fb.learn(f).tilt(0.5), "label="),
        (lambda f: fb.learn(f).dataset(5), "label="),
        (lambda _: fb.load_network("dutch").tilt(float("nan")), "from 0 to 1"),
        (lambda _: fb.load_network("dutch").tilt("x"), "from 0 to 1"),
        (lambda _: fb.load_network("dutch").tilt(0.5, "age"), "age"),
        (lambda _: fb.load_network("adult").tilt(0.5, "race"), r'require_arcs=\[\("race", "income"\)\]'),
        (lambda _: fb.load_network("dutch").sample(-1), "whole number"),
        (lambda _: fb.load_network("dutch").sample(2, seed=0.5), "whole number"),
        (lambda _: fb.load_network("duch"), '"dutch"'),
        (lambda _: fb.load_network("dutch").cpt("sx"), '"sex"'),
        (lambda _: fb.load("adlt"), '"adult"'),
    ],
)
def test_mistakes(call, said, frame):
    with pytest.raises((fb.UserError, TypeError), match=said):
        call(frame)


Y, P, S = [1, 0, 1, 0, 1], [1, 0, 1, 1, 0], ["f", "f", "m", "m", "o"]


def test_measures_of_arrays_are_those_of_counts():
    counts = fb.Counts(("f", "m"), np.array([[[1.0, 0], [0, 1]], [[0, 1], [0, 1]]]))
    two = slice(0, 4)
    for names in ("discrimination", ["discrimination", "tpr-difference", "impact_ratio", "accuracy"]):
        ours = fb.measure(names, Y[two], P[two], S[two], reference="m")
        assert ours == fb.measure(names, counts)
    assert isinstance(fb.measure("accuracy", Y, P, S), float)
    frame = pd.DataFrame({"y": Y, "p": P, "s": S})
    assert fb.measure("accuracy", frame["y"], frame["p"] == 1, frame["s"]) == 3 / 5
    assert fb.measure("discrimination", Y, P, S, reference=["m", "o"]) == pytest.approx(2 / 3 - 1 / 2)
    assert fb.measure("accuracy", Y, P, S, weights=[1, 1, 1, 0, 0]) == 1
    many = fb.Counts(("f", "m"), np.ones((3, 2, 2, 2)))
    assert fb.measure("discrimination", many).shape == (3,)
    s = np.array([0, 0, 1, 1])
    rows = Rows(s, s, s, features=np.array([[1.0], [2], [1], [2]]), nominal=(False,))
    assert fb.measure("accuracy", rows) == 1


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: fb.measure("discriminaton", Y, P, S), '"discrimination"'),
        (lambda: fb.measure("discrimination", Y, P, S), "reference='o'"),
        (lambda: fb.measure("discrimination", Y, P, S, reference="x"), '"x"'),
        (lambda: fb.measure("discrimination", Y, P, S, reference=["f", "m", "o"]), "everybody"),
        (lambda: fb.measure("discrimination", Y, P), "groups is missing"),
        (lambda: fb.measure("accuracy", Y, P, S[:4]), "one value per row"),
        (lambda: fb.measure("accuracy", Y, [2, 0, 1, 1, 1], S), "not 0 or 1"),
        (lambda: fb.measure("accuracy", Y, P, ["f", None, "m", "m", "o"]), "a group is missing"),
        (lambda: fb.measure("accuracy", Y, P, pd.Series(["f", None, *"mmo"], dtype="string")), "a group is"),
        (
            lambda: fb.measure("accuracy", ["yes", np.nan], ["yes", "yes"], ["f", "m"], favourable="yes"),
            "y_true has missing values",
        ),
        (lambda: fb.measure("accuracy", Y, P, S, weights=[-1, 1, 1, 1, 1]), "weight"),
        (lambda: fb.measure("consistency", Y, P, S, reference="m"), "needs the rows"),
        (lambda: fb.measure("accuracy", fb.Counts(("a",), np.ones((1, 2, 2))), P), "part of the Counts"),
    ],
)
def test_mistakes_of_measures(call, said):
    with pytest.raises(fb.UserError, match=said):
        call()


def test_a_missing_value_of_a_frame_is_the_level_missing():
    ages = pd.Categorical(["old", None, "young"] * 20, ["young", "old"])
    frame = pd.DataFrame({"sex": ["f", None, "m"] * 20, "age": ages, "n": [1.0, np.nan, 2] * 20})
    learned = fb.learn(frame)
    levels = [column.levels for column in learned.net.columns]
    assert levels == [("f", "m", "missing"), ("young", "old", "missing"), ("1.0", "2.0", "missing")]
