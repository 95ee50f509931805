"""Laws of the interventions on small random samples."""

import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import law
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from techniques_data import reads
from techniques_data import rows_of_cells as sample

from fairbench_cli.classifiers.builders import NaiveBayes, Tree
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Table
from fairbench_cli.interventions.cells import CELLS, expected, label_discrimination, rows_of, sizes, targets
from fairbench_cli.interventions.disparate_impact import ZafarDI
from fairbench_cli.interventions.disparate_mistreatment import ZafarDM
from fairbench_cli.interventions.fair_representations import FairRepresentations
from fairbench_cli.interventions.fitted import Fitted, Infeasible
from fairbench_cli.interventions.post_processing import EqualisedOdds, GroupThresholds, RejectOption
from fairbench_cli.interventions.preprocessing import (
    Massaging,
    PreferentialSampling,
    Reweighing,
    UniformSampling,
    cell_weights,
    massage,
    preferential_rows,
    scores,
    swaps,
    uniform_rows,
)
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.interventions.repair import Auditor, Repair

VARIANTS = {
    "massaging-logistic": Massaging(ranker="logistic"),
    "uniform-sampling-bootstrap": UniformSampling(bootstrap=True),
    "preferential-sampling-logistic": PreferentialSampling(ranker="logistic"),
    "repair-half-nominal-own": Repair(level=0.5, bins="nominal", test_repair="own"),
    "auditor-label-alone": Auditor(level=0.5, columns="none", obscure=False),
    "equalised-odds-from-labels": EqualisedOdds(based_on="labels"),
    "zafar-di-accuracy": ZafarDI(mode="accuracy"),
    "zafar-di-misclassification": ZafarDI(mode="misclassification"),
    "zafar-dm-fpr-ccp": ZafarDM(constraint="fpr", solver="ccp"),
}
OWN = {name: entry.load() for name, entry in INTERVENTIONS.items()}
SPECS = {name: one() for name, one in OWN.items() if not hasattr(one, "requires")} | VARIANTS
SPECS["fair-representations"] = FairRepresentations(prototypes=2, restarts=1, iterations=1)
POST_PROCESSING = (EqualisedOdds, GroupThresholds, RejectOption)
BASELINES = {"oracle", "random"}  # they see no features
USES = ("uses_groups", "uses_classifier")
every_intervention = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
CLASSIFIER = Classifier(Tree(min_leaf=2), include_protected=False, seed=0)


cells = st.tuples(*[st.integers(0, 25)] * 4).filter(lambda four: sum(four) > 0)
full_cells = st.tuples(*[st.integers(2, 25)] * 4)  # of two rows, one is drawn for validation


def test_every_intervention_says_what_it_is():
    assert all(entry.summary.endswith(".") for entry in INTERVENTIONS.values())


@every_intervention
@law(20)
@given(four=cells, seed=st.integers(0, 99))
def test_any_sample_gives_a_model_or_a_reason(spec, four, seed):
    train = sample(four, seed)
    if 0 in four and isinstance(spec, UniformSampling | PreferentialSampling):
        n = sizes(train)
        if (targets(n)[n == 0] > 0).any():
            with pytest.raises(Infeasible, match=r"^empty cell "):
                spec.fit(train, CLASSIFIER, np.random.default_rng(seed))
            return
    if isinstance(spec, POST_PROCESSING) and min(four) < 2:  # no row of a cell is drawn for validation
        with pytest.raises(Infeasible, match=r"^empty cell "):
            spec.fit(train, CLASSIFIER, np.random.default_rng(seed))
        return
    try:
        fitted = spec.fit(train, CLASSIFIER, np.random.default_rng(seed))
    except Infeasible:
        assert 0 in four, "with rows in every cell it runs"
        return
    assert isinstance(fitted, Fitted)
    assert (fitted.reason == "") == (fitted.status == "ok")
    assert all(math.isfinite(value) and type(value) in (int, float) for value in fitted.facts.values())
    predicted = fitted.predict(sample((5, 5, 5, 5)))
    assert predicted.dtype == np.int8
    assert set(predicted.tolist()) <= {0, 1}


@every_intervention
@law(20)
@given(four=full_cells, seed=st.integers(0, 99))
def test_the_same_rng_gives_the_same_model(spec, four, seed):
    train, test = sample(four, seed), sample((50, 50, 50, 50))
    one, two = (spec.fit(train, CLASSIFIER, np.random.default_rng(seed)) for _ in range(2))
    assert one.facts == two.facts
    assert (one.predict(test) == two.predict(test)).all()
    if (scores := one.scores(test)) is not None:
        assert (scores == two.scores(test)).all()


@every_intervention
@law(20)
@given(four=full_cells, seed=st.integers(0, 99))
def test_the_training_sample_is_left_alone(spec, four, seed):
    train, untouched = sample(four, seed), sample(four, seed)
    spec.fit(train, CLASSIFIER, np.random.default_rng(0))
    assert (train.y == untouched.y).all()
    assert (train.features.codes == untouched.features.codes).all()
    assert train.weights is None


# The starts of one are drawn by column; in the other, CART breaks ties by the columns' order.
BY_COLUMN = {"fair-representations", "leaf-relabelling"}


@pytest.mark.parametrize("spec", [SPECS[name] for name in SPECS if name not in BY_COLUMN])
def test_the_order_of_features_does_not_change_the_numbers(spec):
    train = sample((30, 5, 20, 20))
    order = [2, 0, 1]
    columns = tuple(train.features.columns[j] for j in order)
    moved = replace(train, features=Table(columns, np.asfortranarray(train.features.codes[:, order])))
    facts = [spec.fit(some, CLASSIFIER, np.random.default_rng(0)).facts for some in (train, moved)]
    assert facts[0] == pytest.approx(facts[1], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("spec", [SPECS[name] for name in SPECS if name not in BASELINES])
@pytest.mark.parametrize("include_protected", [False, True])
def test_the_classifier_decides_who_sees_the_protected_attribute(spec, include_protected):
    classifier = Classifier(Tree(), include_protected, seed=0)
    train = sample((30, 5, 20, 20))
    assert (
        reads(spec.fit(train, classifier, np.random.default_rng(0)).model, train, "sex") == include_protected
    )


def used(spec, what):
    return getattr(type(spec), what, True)


@pytest.mark.parametrize("name", [name for name in SPECS if not used(SPECS[name], "uses_groups")])
def test_what_uses_no_groups_predicts_the_same_whoever_is_deprived(name):
    train, test = sample((30, 5, 20, 20)), sample((9, 9, 9, 9), seed=1)
    predicted = []
    for seed in range(2):
        mixed = [replace(some, s=np.random.default_rng(seed).permutation(some.s)) for some in (train, test)]
        fitted = SPECS[name].fit(mixed[0], CLASSIFIER, np.random.default_rng(0))
        predicted.append(fitted.predict(mixed[1]))
    assert (predicted[0] == predicted[1]).all()


@pytest.mark.parametrize("name", [name for name in SPECS if not used(SPECS[name], "uses_classifier")])
def test_what_uses_no_classifier_predicts_the_same_with_another(name):
    train, test = sample((30, 5, 20, 20)), sample((9, 9, 9, 9), seed=1)
    classifiers = CLASSIFIER, Classifier(NaiveBayes(), include_protected=False, seed=1)
    fitted = [SPECS[name].fit(train, classifier, np.random.default_rng(0)) for classifier in classifiers]
    assert fitted[0].facts == fitted[1].facts
    assert (fitted[0].predict(test) == fitted[1].predict(test)).all()


def test_what_uses_no_groups_or_no_classifier():
    without = {what: {name for name in OWN if not getattr(OWN[name], what, True)} for what in USES}
    own = {"zafar-di", "zafar-dm", "two-naive-bayes", "prejudice-remover", "fair-representations"}
    blind = {"none", "trained-on-truth", "random"}
    assert without == {"uses_groups": blind, "uses_classifier": own | BASELINES}


@law(20)
@given(four=full_cells, seed=st.integers(0, 99), ranker=st.sampled_from(["naive-bayes", "logistic"]))
def test_massaging_flips_as_many_on_each_side(four, seed, ranker):
    train = sample(four, seed)
    massaged, m = massage(train, ranker, np.random.default_rng(seed))
    promoted, demoted = massaged.y > train.y, massaged.y < train.y
    assert promoted.sum() == demoted.sum() == m
    assert (train.s[promoted] == 0).all()
    assert (train.s[demoted] == 1).all()
    n0, n1, n = (train.s == 0).sum(), (train.s == 1).sum(), len(train)
    before, after = label_discrimination(train), label_discrimination(massaged)
    if before > 0:
        assert m == math.floor(before * n0 * n1 / n + 0.5 + 1e-9)
        assert abs(after) <= 0.5 * n / (n0 * n1) + 1e-12
    else:
        assert m == 0
    score = scores(train, ranker)
    for changed, kept, sign in (
        (promoted, (train.s == 0) & (massaged.y == 0), 1),
        (demoted, (train.s == 1) & (massaged.y == 1), -1),
    ):
        if changed.any() and kept.any():
            assert (sign * score[changed]).min() >= (sign * score[kept]).max()


def test_ties_are_broken_by_the_rng():
    train = sample((30, 5, 20, 20))
    train = replace(train, features=Table(train.features.columns, train.features.codes * np.int16(0)))
    flips = [tuple(np.flatnonzero(massage(train, "naive-bayes", rng)[0].y != train.y)) for rng in rngs(20)]
    assert len(set(flips)) > 15


def rngs(n):
    return [np.random.default_rng(seed) for seed in range(n)]


@pytest.mark.parametrize("four", [(10, 10, 10, 10), (10, 20, 20, 10), (20, 10, 0, 0), (0, 0, 10, 20)])
def test_massaging_without_discrimination_does_nothing(four):
    fitted = Massaging().fit(sample(four), CLASSIFIER, np.random.default_rng(0))
    assert fitted.status == "noop"
    assert "no discrimination" in fitted.reason
    assert fitted.facts["M"] == 0


def test_massaging_with_too_little_discrimination_to_move_a_row():
    # M* = (150 · 50 − 149 · 50) / 299 = 0.167
    fitted = Massaging().fit(sample((100, 50, 99, 50)), CLASSIFIER, np.random.default_rng(0))
    assert fitted.facts["discrimination_before"] > 0
    assert (fitted.status, fitted.facts["M"]) == ("noop", 0)
    assert "too little" in fitted.reason


@pytest.mark.parametrize(
    ("four", "m", "after", "weights"),
    [
        ((13026, 1669, 20988, 9539), 1973, 6.8e-6, (0.848529, 2.182185, 1.094009, 0.793158)),
        ((14423, 1769, 22732, 9918), 2105, 4.2e-5, (0.854021, 2.190192, 1.092621, 0.787714)),
        ((8670, 1112, 13984, 6396), 1323, -6.1e-6, (0.847409, 2.189712, 1.094605, 0.793158)),
        ((4356, 557, 7004, 3143), 650, 1.4e-5, (0.850770, 2.167047, 1.092811, 0.793177)),
        ((1661, 1514, 822, 1281), 167, 2.7e-4, (0.899252, 1.110530, 1.203580, 0.869366)),
        ((20370, 9903, 11287, 18860), 4508, 3.3e-5, (0.778670, 1.455265, 1.399441, 0.760950)),
    ],
    ids=["adult", "adult-with-missing", "adult-train", "adult-test", "compas", "dutch"],
)
def test_the_real_data_sets(four, m, after, weights):
    n = np.array(four).reshape(2, 2)
    assert swaps(n) == m
    changed = n + m * np.array([[-1, 1], [1, -1]])
    d0, d1 = changed[:, 1] / changed.sum(1)
    assert d1 - d0 == pytest.approx(after, rel=0.05)
    assert cell_weights(n.astype(float)).ravel() == pytest.approx(weights, abs=5e-7)


@law(20)
@given(four=full_cells, seed=st.integers(0, 99), given_weights=st.booleans())
def test_reweighing_removes_weighted_discrimination(four, seed, given_weights):
    train = sample(four, seed)
    old = np.random.default_rng(seed).random(len(train)) + 0.1 if given_weights else None
    seen = spy(Reweighing(), replace(train, weights=old))
    assert abs(label_discrimination(seen)) < 1e-12
    assert seen.weights.sum() == pytest.approx(len(train) if old is None else old.sum())
    assert (seen.y == train.y).all()
    if old is None:
        share = {cell: len(rows_of(train, cell)) / len(train) for cell in CELLS}
        for (s, y), p in share.items():
            w = (train.s == s).mean() * (train.y == y).mean() / p
            np.testing.assert_allclose(seen.weights[rows_of(train, (s, y))], w)


def spy(spec, train, rng=None):
    """Return the sample that an intervention trains on."""
    seen = []

    class Spy(Classifier):
        def fit(self, sample):
            seen.append(sample)
            return CLASSIFIER.fit(sample)

    spec.fit(train, Spy(Tree(), include_protected=False, seed=0), rng or np.random.default_rng(0))
    return seen[-1]


@law(20)
@given(four=full_cells, seed=st.integers(0, 99))
def test_sampling_hits_its_sizes(four, seed):
    train = sample(four, seed)
    n = sizes(train)
    target = targets(n)
    assert (np.abs(target - expected(n.astype(float))) <= 0.5).all()
    for rows in (
        uniform_rows(train, False, np.random.default_rng(seed)),
        uniform_rows(train, True, np.random.default_rng(seed)),
        preferential_rows(train, "naive-bayes", np.random.default_rng(seed)),
    ):
        assert (sizes(train.take(rows)) == target).all()
        assert (np.diff(rows) >= 0).all()


@law(20)
@given(four=full_cells, seed=st.integers(0, 99))
def test_uniform_sampling_keeps_what_grows_and_repeats_nothing_that_shrinks(four, seed):
    train = sample(four, seed)
    copies = np.bincount(uniform_rows(train, False, np.random.default_rng(seed)), minlength=len(train))
    target = targets(sizes(train))
    for cell in CELLS:
        of_cell = copies[rows_of(train, cell)]
        assert (of_cell >= 1).all() if target[cell] >= len(of_cell) else (of_cell <= 1).all()


@law(20)
@given(four=full_cells, seed=st.integers(0, 99))
def test_preferential_sampling_takes_the_border_first(four, seed):
    train = sample(four, seed)
    copies = np.bincount(
        preferential_rows(train, "naive-bayes", np.random.default_rng(seed)), minlength=len(train)
    )
    score, target = scores(train, "naive-bayes"), targets(sizes(train))
    for s, y in CELLS:
        rows = rows_of(train, (s, y))
        whole, more = divmod(int(target[s, y]), len(rows))
        nearness = score[rows] if y == 0 else -score[rows]
        few, many = copies[rows] == whole, copies[rows] == whole + 1
        assert (few | many).all()
        assert many.sum() == more
        # A cell that grows repeats the rows nearest to the border; one that shrinks keeps the farthest.
        near, far = (many, few) if whole else (few, many)
        if near.any() and far.any():
            assert nearness[near].min() >= nearness[far].max()


@pytest.mark.parametrize("spec", [UniformSampling(), UniformSampling(bootstrap=True), PreferentialSampling()])
@pytest.mark.parametrize(
    ("four", "reason"),
    [
        ((0, 9, 9, 9), "empty cell DN (deprived, unfavourable label)"),
        ((9, 0, 9, 9), "empty cell DP (deprived, favourable label)"),
        ((9, 9, 0, 9), "empty cell FN (favoured, unfavourable label)"),
        ((9, 9, 9, 0), "empty cell FP (favoured, favourable label)"),
    ],
)
def test_sampling_from_an_empty_cell_is_infeasible(spec, four, reason):
    with pytest.raises(Infeasible) as caught:
        spec.fit(sample(four), CLASSIFIER, np.random.default_rng(0))
    assert caught.value.reason == reason


@pytest.mark.parametrize("spec", [UniformSampling(), PreferentialSampling()])
def test_sampling_of_an_empty_cell_that_stays_empty_is_feasible(spec):
    # 1 · 1 / 100 rounds to 0.
    fitted = spec.fit(sample((1, 0, 98, 1)), CLASSIFIER, np.random.default_rng(0))
    assert fitted.facts["n01"] == 0


@pytest.mark.parametrize("spec", [UniformSampling(), PreferentialSampling()])
def test_sampling_of_a_balanced_sample_does_nothing(spec):
    fitted = spec.fit(sample((10, 20, 10, 20)), CLASSIFIER, np.random.default_rng(0))
    assert fitted.status == "noop"


def test_an_empty_cell_degrades_reweighing():
    fitted = Reweighing().fit(sample((9, 0, 9, 9)), CLASSIFIER, np.random.default_rng(0))
    assert fitted.status == "degraded"
    assert fitted.reason == "empty cell DP (deprived, favourable label)"
    assert "w01" not in fitted.facts
    assert fitted.facts["discrimination_after"] > 0
    assert fitted.facts["w10"] == pytest.approx(18 * 18 / (27 * 9))


def test_an_empty_cell_does_not_stop_massaging():
    fitted = Massaging().fit(sample((20, 0, 10, 10)), CLASSIFIER, np.random.default_rng(0))
    assert fitted.status == "ok"
    assert fitted.facts["M"] == 5
    assert fitted.facts["discrimination_after"] == 0


@pytest.mark.parametrize("spec", [Massaging(), UniformSampling(), PreferentialSampling()])
def test_techniques_that_move_whole_rows_refuse_weights(spec):
    weighted = replace(sample((9, 9, 9, 9)), weights=np.ones(36))
    with pytest.raises(Infeasible, match="weights"):
        spec.fit(weighted, CLASSIFIER, np.random.default_rng(0))


def test_an_empty_cell_has_no_weight():
    assert np.isnan(cell_weights(np.array([[5.0, 0], [5, 5]]))[0, 1])


def test_the_ranker_does_not_see_the_protected_attribute():
    train = sample((30, 5, 20, 20))
    swapped = replace(
        train, features=Table(train.features.columns, train.features.codes * np.int16([1, 0, 1]))
    )
    for ranker in ("naive-bayes", "logistic"):
        assert (scores(train, ranker) == scores(swapped, ranker)).all()


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("massaging", {"ranker": "logistic"}, {"ranker": "svm"}),
        ("preferential-sampling", {"ranker": "logistic"}, {"ranker": ""}),
        ("uniform-sampling", {"bootstrap": True}, {"bootstrap": "perhaps"}),
    ],
)
def test_parameters_are_checked(name, good, bad):
    adapter = TypeAdapter(INTERVENTIONS[name].load())
    assert adapter.validate_python(good) in SPECS.values()
    with pytest.raises(ValidationError):
        adapter.validate_python(bad)
