"""The original Auditor tool's repair: its rules, and what they do to Adult and Dutch."""

import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import law
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from fairbench_cli.classifiers.builders import Tree
from fairbench_cli.classifiers.fit import Classifier, Model
from fairbench_cli.data.card import find_card, read_card
from fairbench_cli.data.load import load
from fairbench_cli.data.locate import data_folders, locate_files
from fairbench_cli.data.table import Column, Sample, Table, to_sample
from fairbench_cli.interventions.baselines import NoIntervention
from fairbench_cli.interventions.fitted import Infeasible
from fairbench_cli.interventions.repair import Auditor, obscuring, repair_by_distinct_values

CLASSIFIER = Classifier(Tree(min_leaf=2), include_protected=True, seed=0)

values = st.lists(st.integers(0, 15), min_size=1, max_size=20)


def rng(seed=0):
    return np.random.default_rng(seed)


def people(n=600):
    """Text, numbers written as such (not in their order), bins and sex."""
    draw = rng(1)
    s = (draw.random(n) < 0.6).astype(np.int8)
    columns = (
        Column("job", tuple("abcd")),
        Column("decile", ("1", "10", "2", "3")),
        Column("age", ("17-24", "25-31", "32-38"), "bins", (20.5, 28.0, 35.0)),
        Column("sex", ("f", "m")),
    )
    codes = [draw.integers(0, 3, n) + s, draw.integers(0, 3, n) + s, draw.integers(0, 2, n) + s, s]
    y = (draw.random(n) < 0.2 + 0.4 * s).astype(np.int8)
    table = Table(columns, np.asfortranarray(np.stack(codes, axis=1).astype(np.int16)))
    return Sample(table, "sex", y, s)


def slowly(first, second, level):
    """The tool's rule for numbers, value by value: old to new, for each group."""
    pooled = sorted({*first, *second})
    own = [sorted(set(first)), sorted(set(second))]
    runs = min(len(some) for some in own)
    new = [{}, {}]
    done = 0.0
    for _ in range(runs):
        pieces = []
        for some in own:
            start = round(done * len(some))
            pieces.append(some[start : start + round((done + 1 / runs) * len(some)) - start])
        done += 1 / runs
        goal = min(piece[math.ceil(len(piece) / 2) - 1] for piece in pieces)
        for g, piece in enumerate(pieces):
            for value in piece:
                here = pooled.index(value)
                new[g][value] = pooled[here + round((pooled.index(goal) - here) * level)]
    return new


@law(60)
@given(first=values, second=values, level=st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))
def test_numbers_go_where_a_slow_implementation_sends_them(first, second, level):
    codes = np.array([*first, *second], dtype=np.int16)
    s = np.repeat(np.array([0, 1], dtype=np.int8), [len(first), len(second)])
    after = repair_by_distinct_values(codes, s, np.arange(16.0), level)
    new = slowly(first, second, level)
    assert after.tolist() == [new[g][code] for g, code in zip(s.tolist(), codes.tolist(), strict=True)]
    # The same numbers under other codes.
    mixed = rng().permutation(16)
    written = np.empty(16)
    written[mixed] = np.arange(16.0)
    again = repair_by_distinct_values(mixed[codes].astype(np.int16), s, written, level)
    assert (again == mixed[after]).all()


@law(60)
@given(all_values=values, more=values, level=st.floats(0, 1))
def test_numbers_that_both_groups_have_stay_as_they_are(all_values, more, level):
    first, second = all_values + [v for v in more if v in all_values], all_values
    codes = np.array([*first, *second], dtype=np.int16)
    s = np.repeat(np.array([0, 1], dtype=np.int8), [len(first), len(second)])
    assert (repair_by_distinct_values(codes, s, np.arange(16.0), level) == codes).all()


def test_every_part_is_repaired_or_not_as_asked():
    train = people()
    for columns in ("all", "none"):
        for label in (False, True):
            for obscure in (False, True):
                spec = Auditor(columns=columns, label=label, obscure=obscure)
                after = spec.repaired(train, seed=0)
                same = {
                    name: bool((after.features[name] == train.features[name]).all())
                    for name in train.features.names
                }
                text = columns == "none"
                assert same == {"job": text, "decile": text, "age": text, "sex": not obscure}
                assert bool((after.y == train.y).all()) == (not label)
                assert after.s is train.s
                assert after.features.columns == train.features.columns


def test_labels_go_to_the_common_distribution():
    train = people()
    after = Auditor(columns="none", obscure=False).repaired(train, seed=0)
    share = [np.array([np.mean(train.y[train.s == g] == y) for g in (0, 1)]) for y in (0, 1)]
    common = share[1].min() / (share[0].min() + share[1].min())
    assert [after.y[after.s == g].mean() for g in (0, 1)] == pytest.approx([common, common], abs=0.04)
    # Group 0 has fewer positives: all of them are kept, and some of its negatives drawn anew.
    assert (after.y[(train.s == 0) & (train.y == 1)] == 1).all()


def test_the_protected_attribute_goes_to_its_mode():
    train = people()
    assert (Auditor().repaired(train, seed=0).features["sex"] == 1).all()
    half = Auditor(level=0.5).repaired(train, seed=0).features["sex"]
    women = int((train.s == 0).sum())
    kept = women // 2 + (women - women // 2) * 0.5 / 1.5
    assert (half[train.s == 1] == 1).all()
    assert (half[train.s == 0] == 0).sum() == pytest.approx(kept, abs=25)


@law(60)
@given(
    level=st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]), n=st.lists(st.integers(1, 50), min_size=4, max_size=4)
)
def test_the_law_of_an_obscured_attribute(level, n):
    counts = np.array([[n[0], n[1], 0, 0], [0, 0, n[2], n[3]]])
    plan = obscuring(counts, level)
    mode = int(np.argmax(n))
    assert plan.keep.tolist() == [
        [math.floor((1 - level) * x + 1e-9) for x in row] for row in counts.tolist()
    ]
    for g in (0, 1):
        weight = [1.0 if c == mode else (1 - level) * x / counts[g].sum() for c, x in enumerate(counts[g])]
        np.testing.assert_allclose(plan.law[g], np.array(weight) / sum(weight))


def test_rows_to_predict_are_not_repaired():
    train = people()
    fitted = Auditor(level=0.5).fit(train, CLASSIFIER, rng(3))
    assert type(fitted.model) is Model
    seed = int(rng(3).integers(2**63))
    own = CLASSIFIER.fit(Auditor(level=0.5).repaired(train, seed))
    assert (fitted.model.predict_proba(train) == own.predict_proba(train)).all()


def test_level_0_and_one_group_alone_leave_nothing_to_do():
    train = people()
    fitted = Auditor(level=0).fit(train, CLASSIFIER, rng())
    plain = NoIntervention().fit(train, CLASSIFIER, rng())
    assert (fitted.model.predict_proba(train) == plain.model.predict_proba(train)).all()
    assert (fitted.status, fitted.reason) == ("noop", "level 0 repairs nothing")
    after = Auditor(level=0).repaired(train, seed=0)
    assert (after.features.codes == train.features.codes).all()
    assert (after.y == train.y).all()
    men = train.take(np.flatnonzero(train.s == 1))
    fitted = Auditor().fit(men, CLASSIFIER, rng())
    assert (fitted.status, fitted.reason) == ("noop", "all rows are of one group")


def test_the_same_rng_gives_the_same_model_whatever_the_order_of_columns():
    train = people()
    order = [3, 1, 0, 2]
    columns = tuple(train.features.columns[j] for j in order)
    moved = replace(train, features=Table(columns, train.features.codes[:, order]))
    one, two = (Auditor(level=0.5).repaired(some, seed=4) for some in (train, moved))
    assert (one.y == two.y).all()
    assert all((one.features[name] == two.features[name]).all() for name in train.features.names)
    other = Auditor(level=0.5).repaired(train, seed=5)
    assert (one.features.codes != other.features.codes).any()
    facts = [Auditor(level=0.5).fit(some, CLASSIFIER, rng()).facts for some in (train, moved)]
    assert facts[0] == facts[1]


def test_weights_are_refused():
    with pytest.raises(Infeasible, match="weights"):
        Auditor().fit(replace(people(), weights=np.ones(600)), CLASSIFIER, rng())


def test_parameters_are_checked():
    adapter = TypeAdapter(Auditor)
    assert adapter.validate_python({"level": 0.25, "columns": "none"}) == Auditor(0.25, columns="none")
    for bad in ({"level": 2}, {"columns": "text"}, {"label": "perhaps"}, {"obscure": 3}):
        with pytest.raises(ValidationError):
            adapter.validate_python(bad)


@pytest.fixture(scope="module")
def real(data_folder):
    def read(name, file):
        if not (data_folder / file).exists():
            pytest.skip(f"needs {file} in $FAIRBENCH_DATA")
        path = find_card(name)
        card = read_card(path)
        dataset = load(card, locate_files(card, data_folders(None, path)))
        return to_sample(dataset.table, dataset.roles("sex"))

    return read


def test_adults_labels(real):
    """What the original tool does to text labels: 12 % change, and both groups end at .14."""
    train = real("adult-complete", "adult.data")
    after = Auditor().repaired(train, seed=0)
    assert [train.y[train.s == g].mean() for g in (0, 1)] == pytest.approx([0.1136, 0.3125], abs=5e-5)
    assert [after.y[after.s == g].mean() for g in (0, 1)] == pytest.approx([0.1418, 0.1418], abs=0.004)
    assert np.mean(after.y != train.y) == pytest.approx(0.124, abs=0.003)


def test_dutchs_codes_look_like_numbers_that_both_sexes_have(real):
    train = real("dutch", "dutch_census_2001.arff")
    after = Auditor(obscure=False).repaired(train, seed=0)
    assert (after.features.codes == train.features.codes).all()
    assert np.mean(after.y != train.y) > 0.1
