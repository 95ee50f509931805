"""What a network must be, and β on its outcome."""

import numpy as np
import pytest

from fairbench_cli.base.errors import UserError
from fairbench_cli.data.table import Column
from fairbench_cli.network.bias import shift
from fairbench_cli.network.model import BayesNet

S = Column("s", ("g", "f"))
Y = Column("y", ("-", "+"))


def toy() -> BayesNet:
    """Discrimination P(+|f) - P(+|g) = 0.37 - 0.20 = 0.17."""
    return BayesNet((S, Y), ((), (0,)), (np.array([0.4, 0.6]), np.array([[0.80, 0.20], [0.63, 0.37]])))


def wide() -> BayesNet:
    """Three outcomes; the tilted column is the second parent."""
    rows = np.array([[[0.5, 0.3, 0.2], [0.0, 0.0, 1.0]], [[0.1, 0.1, 0.8], [0.4, 0.6, 0.0]]])
    columns = (Column("x", ("0", "1")), S, Column("y", ("a", "b", "+")))
    return BayesNet(columns, ((), (), (0, 1)), (np.array([0.5, 0.5]), np.array([0.5, 0.5]), rows))


def tilt(net: BayesNet, beta: float, both: bool = False) -> np.ndarray:
    return shift(net, "y", "+", {"s": (["g"], ["f"])}, beta, both).cpt("y")


def test_what_a_network_says_about_itself():
    net = wide()
    assert net.names == ("x", "s", "y")
    assert net.arcs == [("x", "y"), ("s", "y")]
    assert net.order == (0, 1, 2)
    assert net.parameters == 1 + 1 + 4 * 2
    assert net.parents_of("y") == ("x", "s")
    with pytest.raises(KeyError):
        net.index("z")


def test_tables_are_copies_that_cannot_be_changed():
    root = np.array([0.4, 0.6])
    net = BayesNet((S,), ((),), (root,))
    root[0] = 9
    assert net.cpt("s")[0] == 0.4
    with pytest.raises(ValueError, match="read-only"):
        net.cpt("s")[0] = 1


@pytest.mark.parametrize(
    ("columns", "parents", "cpts", "message"),
    [
        ((S, Y), ((1,), (0,)), (np.full((2, 2), 0.5),) * 2, "cycle"),
        ((S, Y), ((), (0,)), (np.full(2, 0.5), np.full((2, 3), 1 / 3)), "has shape"),
        ((S,), ((),), (np.array([0.4, 0.6 + 1e-8]),), "row 1 .* sums to"),
        ((S,), ((),), (np.array([-0.5, 1.5]),), "negative"),
        ((S,), ((),), (np.array([np.nan, 1.0]),), "not a number"),
        ((S, S), ((), ()), (np.full(2, 0.5),) * 2, "same name"),
        ((S,), ((3,),), (np.full(2, 0.5),), "distinct column indices"),
        ((S, Y), ((), (0, 0)), (np.full(2, 0.5), np.full((2, 2, 2), 0.5)), "distinct column indices"),
        ((S,), ((), ()), (np.full(2, 0.5),), "lists of parents"),
        ((S,), ((),), (), "0 tables"),
        ((Column("s", ("a", "a")),), ((),), (np.full(2, 0.5),), "one level twice"),
        ((Column("s", ()),), ((),), (np.zeros(0),), "no levels"),
    ],
)
def test_what_is_no_network(columns, parents, cpts, message):
    with pytest.raises(ValueError, match=message):
        BayesNet(columns, parents, cpts)


def test_rows_that_sum_to_04_and_16_are_refused():
    with pytest.raises(ValueError, match=r"sums to 0\.4"):
        BayesNet((S, Y), ((), (0,)), (np.full(2, 0.5), np.array([[0.2, 0.2], [0.8, 0.8]])))


@pytest.mark.parametrize(("beta", "discrimination"), [(0, 0.17), (0.5, 0.27), (1, 0.37)])
def test_equation_4(beta, discrimination):
    table = tilt(toy(), beta)
    assert table[1, 1] - table[0, 1] == pytest.approx(discrimination, abs=1e-12)
    assert table[1].tolist() == [0.63, 0.37]


def test_beta_zero_is_the_same_network():
    net = toy()
    assert shift(net, "y", "+", {"s": (["g"], ["f"])}, 0.0) is net


def test_beta_one_leaves_the_deprived_nothing():
    assert tilt(toy(), 1.0)[0].tolist() == [1.0, 0.0]


def test_both_takes_from_the_favoured_negatives():
    table = tilt(toy(), 0.5, both=True)
    assert table[0] == pytest.approx([0.9, 0.1])
    assert table[1] == pytest.approx([0.315, 0.685])
    assert tilt(toy(), 1.0, both=True).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_many_outcomes_share_in_proportion_and_evenly_when_all_are_zero():
    table = tilt(wide(), 0.5)
    assert table[0, 0] == pytest.approx([0.5 + 0.1 * 5 / 8, 0.3 + 0.1 * 3 / 8, 0.1])
    assert table[1, 0] == pytest.approx([0.3, 0.3, 0.4])
    assert np.array_equal(table[:, 1], wide().cpt("y")[:, 1])
    swapped = shift(wide(), "y", "+", {"s": (["f"], ["g"])}, 0.5).cpt("y")
    assert swapped[0, 1] == pytest.approx([0.25, 0.25, 0.5])


def test_both_with_many_outcomes():
    table = tilt(wide(), 0.5, both=True)
    assert table[1, 1] == pytest.approx([0.2, 0.3, 0.5])
    assert table[0, 1].tolist() == [0, 0, 1]


def test_several_deprived_levels():
    columns = (Column("s", ("a", "b", "c")), Y)
    net = BayesNet(columns, ((), (0,)), (np.full(3, 1 / 3), np.full((3, 2), 0.5)))
    table = shift(net, "y", "+", {"s": (["a", "c"], ["b"])}, 1.0).cpt("y")
    assert table[:, 1].tolist() == [0, 0.5, 0]


def test_no_arc_is_an_error_that_names_both_ways_out():
    net = BayesNet((S, Y), ((), ()), (np.full(2, 0.5), np.full(2, 0.5)))
    with pytest.raises(UserError) as caught:
        shift(net, "y", "+", {"s": (["g"], ["f"])}, 0.0)
    text = str(caught.value)
    assert '"s" is not a parent of "y" (its parents: none)' in text
    assert "require_arc: true" in text
    assert "outcome_sink: true" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"beta": 1.1}, "beta is 1.1"),
        ({"beta": -0.1}, "beta is -0.1"),
        ({"beta": float("nan")}, "beta is nan"),
        ({"outcome": "z"}, 'no column "z"'),
        ({"groups": {"z": (["g"], ["f"])}}, 'no column "z"'),
        ({"favourable": "yes"}, 'no level "yes"'),
        ({"groups": {"s": (["h"], ["f"])}}, 'no level "h"'),
        ({"groups": {"s": (["g"], ["h"])}}, 'no level "h"'),
        ({"groups": {"s": ([], ["f"])}}, "named as deprived"),
        ({"groups": {"s": (["g"], [])}, "tilt_favoured": True}, "named as favoured"),
        ({"groups": {"s": (["g"], ["g"])}}, "both deprived and favoured"),
    ],
)
def test_mistakes_are_named(change, message):
    right = {"outcome": "y", "favourable": "+", "groups": {"s": (["g"], ["f"])}, "beta": 0.5}
    with pytest.raises(UserError, match=message):
        shift(toy(), **(right | change))


def test_one_outcome_cannot_be_tilted():
    net = BayesNet((S, Column("y", ("+",))), ((), (0,)), (np.full(2, 0.5), np.ones((2, 1))))
    with pytest.raises(UserError, match="one level only"):
        tilt(net, 0.5)
