"""Several rows of one person: the counts of each, and what the rows are worth."""

import numpy as np
import pandas as pd
import pytest
from audit_counts import read_tally
from hypothesis import given
from hypothesis import strategies as st

import fairbench_cli as fb
from fairbench_cli.audit.build_report import judge
from fairbench_cli.audit.compare.effective_sizes import (
    factor_together,
    group_rate_rows,
    rate_rows,
    rows_of_people,
)
from fairbench_cli.audit.compare.references import REST
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.options import read_config
from fairbench_cli.audit.scan.slices import Clusters, Slice, Tally
from fairbench_cli.base.errors import UserError
from fairbench_cli.measures.counts import Counts

NAMES = ("selection-rate", "fpr", "ppv")


def clustered(person: np.ndarray, group: np.ndarray, cells: np.ndarray, groups: int) -> Slice:
    """Return a slice of entries, each with cells (2, 2)."""
    n = np.zeros((groups, 2, 2))
    np.add.at(n, group, cells)
    counts = Counts(tuple(map(str, range(groups))), n)
    return Slice(
        *("", "binary", "a", counts, n.astype(np.int64), n),
        labelled=True,
        clusters=Clusters(person, group, cells.astype(float), cells.astype(float)),
    )


def rows_of(part: Slice, name: str, g: int) -> list[np.ndarray]:
    """Return the rows behind a rate of a group as zeros and ones, a person at a time."""
    found = []
    for (tn, fp), (fn, tp) in part.clusters.n[part.clusters.group == g].astype(int):
        ones, zeros = {"selection-rate": (fp + tp, tn + fn), "fpr": (fp, tn), "ppv": (tp, fp)}[name]
        found.append(np.repeat([1.0, 0.0], [ones, zeros]))
    return [rows for rows in found if len(rows)]


def likeness(part: Slice, name: str, groups: list[int]) -> float:
    """Compute how alike rows of a person are: the mean over people of the mean product of two rows."""
    products, variances = [], []
    for g in groups:
        people = rows_of(part, name, g)
        p = np.concatenate(people).mean()
        for rows in people:
            if len(rows) > 1:
                away = np.outer(rows - p, rows - p)[~np.eye(len(rows), dtype=bool)]
                products.append(away.mean())
                variances.append(p * (1 - p))
    alike = min(max(np.mean(products) / np.mean(variances), 0), 1)
    free = len(products) - len(groups)
    return (free * alike + 2) / (free + 2)


def by_definition(part: Slice, name: str, g: int) -> float:
    """Compute what the rows of a group are worth, a row at a time."""
    people = rows_of(part, name, g)
    sizes, hits = np.array([len(rows) for rows in people]), np.array([rows.sum() for rows in people])
    p, total, many = hits.sum() / sizes.sum(), sizes.sum(), len(people)
    between = many / (many - 1) * ((hits - p * sizes) ** 2).sum() / total**2
    alike = max(likeness(part, name, [g]), likeness(part, name, [0, 1, 2]))
    known = p * (1 - p) * (sizes * (1 + (sizes - 1) * alike)).sum() / total**2
    return float(p * (1 - p) / max(between, known))


@pytest.mark.parametrize("people", [30, 400])
def test_rows_are_worth_what_people_differ(people: int) -> None:
    rng = np.random.default_rng(people)
    group = rng.integers(0, 3, people)
    part = clustered(np.arange(people), group, rng.integers(0, 3, (people, 2, 2)), 3)
    rows, others = np.full((3, 3), 1e9), np.full((2, 3), 1e9)
    found = rows_of_people(part.clusters, NAMES, rows, of_rest=False)
    expected = [[by_definition(part, name, g) for name in NAMES] for g in range(3)]
    np.testing.assert_allclose(found, expected)
    # Everybody else, of people in one group each, is the two other groups as one, but for how alike rows are:
    # that is looked for within groups.
    two = clustered(np.arange(people), np.minimum(group, 1), part.clusters.n, 2)
    rest = rows_of_people(part.clusters, NAMES, rows, of_rest=True)
    as_one = rows_of_people(two.clusters, NAMES, others, of_rest=False)[1]
    np.testing.assert_allclose(rest[0], as_one, rtol=0.1)
    assert (factor_together(part.clusters, NAMES, np.zeros(3, np.intp), (3, 3)) == 1).all()


@given(st.lists(st.integers(0, 3), min_size=4, max_size=60))
def test_one_row_each_changes_nothing(cells: list[int]) -> None:
    n = np.zeros((len(cells), 2, 2))
    n[np.arange(len(cells)), np.array(cells) // 2, np.array(cells) % 2] = 1
    group = np.arange(len(cells)) % 2
    part = clustered(np.arange(len(cells)), group, n, 2)
    own = group_rate_rows(part, NAMES)
    assert not own.scaled.any()
    np.testing.assert_array_equal(own.numerator, own.plain_numerator)
    np.testing.assert_array_equal(own.denominator, own.plain_denominator)
    assert not own.scaled.any()


@pytest.mark.parametrize("weights", [1.0, 0.1, 1 / 3])
def test_all_rows_of_one_person_are_one_row(weights: float) -> None:
    """Whatever rounding makes of a variance that is 0."""
    cells = np.array([[[30.0, 7.0], [11.0, 5.0]]]) * weights
    clusters = Clusters(np.array([0]), np.array([0]), cells, cells * weights)
    found = rows_of_people(clusters, NAMES, np.full((1, 3), 20.0), of_rest=False)
    np.testing.assert_allclose(found, 1.0)


def test_rows_of_alike_people_are_worth_the_people() -> None:
    """Each person has ten equal rows: as ten times fewer."""
    hits = np.repeat([1, 0, 1, 0], [60, 140, 80, 120])
    n = np.zeros((400, 2, 2))
    n[:, 0, 1], n[:, 0, 0] = 10 * hits, 10 * (1 - hits)
    part = clustered(np.arange(400), np.repeat([0, 1], 200), n, 2)
    own = group_rate_rows(part, ("selection-rate",))
    assert own.scaled.all()
    assert own.denominator.ravel() == pytest.approx([199, 199])
    assert own.numerator.ravel() == pytest.approx([199 * 0.3, 199 * 0.4])


def test_equal_weights_of_people_change_nothing() -> None:
    rng = np.random.default_rng(9)
    group, cells = rng.integers(0, 3, 60), rng.integers(0, 3, (60, 2, 2)).astype(float)
    plain = Clusters(np.arange(60), group, cells, cells)
    heavy = Clusters(np.arange(60), group, cells * 0.3, cells * 0.3**2)
    for rest in (False, True):
        rows = np.full((3, 3), 1e9)
        found = (rows_of_people(of, NAMES, rows, of_rest=rest) for of in (plain, heavy))
        np.testing.assert_allclose(*found)


def test_one_person_more_is_no_cliff() -> None:
    """What the rows of 99, 100 and 101 people are worth; it was up to five times as much from 100 on."""
    rng = np.random.default_rng(3)
    hits = rng.binomial(5, rng.beta(2, 2, 101))
    n = np.zeros((101, 2, 2))
    n[:, 0, 1], n[:, 0, 0] = hits, 5 - hits
    worth = [
        float(
            rows_of_people(
                Clusters(np.arange(k), np.zeros(k, int), n[:k], n[:k]),
                ("selection-rate",),
                np.full((1, 1), 5.0 * k),
                of_rest=False,
            )[0, 0]
        )
        for k in (99, 100, 101)
    ]
    assert worth[1] / worth[0] == pytest.approx(1, abs=0.05)
    assert worth[2] / worth[1] == pytest.approx(1, abs=0.05)
    assert worth[0] > 150


def test_one_of_each_household_is_less_safe_than_separate_groups() -> None:
    """In each household a wife and a husband, one of them selected: the two rates go against each other."""
    wife = np.repeat([1, 0], [40, 60])
    n = np.zeros((200, 2, 2))
    n[:100, 0, 1], n[:100, 0, 0] = wife, 1 - wife
    n[100:, 0, 1], n[100:, 0, 0] = 1 - wife, wife
    household, group = np.tile(np.arange(100), 2), np.repeat([0, 1], 100)
    at = np.array([1])
    against = clustered(household, group, n, 2)
    own, ref = rate_rows(against, ("selection-rate",), at)
    assert own.denominator[0, 0] < 0.6 * 100
    assert ref.denominator[0, 0] < 0.6 * 100
    rest = rate_rows(against, ("selection-rate",), np.array([REST]))
    assert rest[0].denominator[0, 0] == pytest.approx(own.denominator[0, 0])
    together = clustered(household, group, np.concatenate([n[:100], n[:100]]), 2)
    assert rate_rows(together, ("selection-rate",), at)[0].denominator[0, 0] == pytest.approx(99, abs=1.01)


ROWS = """score,sex,race,person,w
1,f,a,p1,1
0,f,b,p1,2
1,m,a,p2,1
1,m,a,p2,1
0,f,a,p3,3
0,m,,p4,1
"""


def read(tmp_path, **keys: object) -> Tally:
    path = tmp_path / "p.csv"
    path.write_text(ROWS)
    return read_tally(str(path), AuditConfig(cluster="person", **keys))


def test_people_are_counted_by_group(tmp_path) -> None:
    tally = read(tmp_path, attributes=("sex", "race"), intersections=(("sex", "race"),))
    assert [part.attribute for part in tally.slices] == ["sex", "race", "sex × race"]
    for part in tally.slices:
        sums = np.zeros_like(part.counts.n)
        np.add.at(sums, part.clusters.group, part.clusters.n)
        np.testing.assert_array_equal(sums, part.counts.n)
    sex, race, _ = tally.slices
    assert list(zip(sex.clusters.person, sex.clusters.group, strict=True)) == [(0, 0), (1, 1), (2, 0), (3, 1)]
    assert sex.clusters.n[0].tolist() == [[1, 1], [0, 0]]
    assert list(zip(race.clusters.person, race.clusters.group, strict=True)) == [
        (0, 0),
        (0, 1),
        (1, 0),
        (2, 0),
        (3, 2),
    ]
    assert "person: the rows have 4 different values; intervals and tests go by these." in tally.notes
    weighted = read(tmp_path, weight="w", attributes=("sex",)).slices[0]
    assert weighted.clusters.n.sum() == 9
    assert weighted.clusters.n[0].tolist() == [[2, 1], [0, 0]]
    assert judge(tally, AuditConfig(cluster="person")).verdict == "undecided"


@pytest.mark.parametrize("scale", [1, 10])
def test_thresholds_and_models_and_bins(tmp_path, scale) -> None:
    import pandas as pd

    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "score": scale * rng.random(300).round(2),
            "label": rng.integers(0, 2, 300),
            "race": rng.choice(list("abc"), 300),
            "age": rng.integers(20, 70, 300),
            "model": rng.choice(["x", "y"], 300),
            "id": rng.integers(0, 90, 300),
        }
    )
    config = AuditConfig(
        cluster="id", threshold=(scale * 0.3, scale * 0.6), top_k=(20,), model_column="model", bins={"age": 3}
    )
    tally = read_tally(frame, config)
    assert len(tally.slices) == 2 * 3 * 2
    for part in tally.slices:
        sums = np.zeros_like(part.counts.n)
        np.add.at(sums, part.clusters.group, part.clusters.n)
        np.testing.assert_array_equal(sums, part.counts.n)
        of_model = frame[frame.model == part.model]
        key = ["id", "race"] if part.attribute == "race" else ["id"]
        assert len(of_model[key].drop_duplicates()) <= len(part.clusters.person)
    plain = read_tally(frame, config.model_copy(update={"cluster": None, "attributes": ("race",)}))
    assert all(part.clusters is None for part in plain.slices)


def test_a_row_of_nobody_is_refused(tmp_path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("score,sex,id\n1,f,1\n0,m,\n")
    with pytest.raises(UserError, match='"id" is empty in 1 row: these do not say whose') as caught:
        read_tally(str(path), AuditConfig(cluster="id"))
    assert caught.value.problems[0].where.endswith("p.csv:3")


def test_what_does_not_go_with_clusters() -> None:
    with pytest.raises(UserError):
        read_config({"cluster": "id", "ties": "random", "top_k": 5})
    rows = pd.DataFrame({"score": [0, 1] * 20, "sex": ["f", "m", "m", "f"] * 10, "id": range(40), "years": 1})
    with pytest.raises(UserError, match="takes each row for a person"):
        fb.audit(rows, cluster="id", attributes=["sex"], explain=["years"])


def test_a_group_that_is_left_out_takes_its_rows_of_people_with_it() -> None:
    rng = np.random.default_rng(3)
    rows = pd.DataFrame({"person": rng.integers(0, 60, 300), "score": rng.integers(0, 2, 300)})
    rows = rows.assign(label_value=rng.integers(0, 2, 300), sex=np.array(["a", "b", "c"])[rows["person"] % 3])
    known = {"cluster": "person", "attributes": ["sex"], "ref": {"sex": "b"}}
    left = fb.audit(rows, exclude=["sex=a"], **known).to_pandas()
    gone = fb.audit(rows[rows["sex"] != "a"], **known).to_pandas()
    ours = left[left["group"] == "c"].reset_index(drop=True)
    theirs = gone[gone["group"] == "c"].reset_index(drop=True)
    assert ours["p"].tolist() == pytest.approx(theirs["p"].tolist(), nan_ok=True)
