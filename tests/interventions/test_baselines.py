"""The oracle and the random classifier follow Žliobaitė's closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbench_cli.classifiers.builders import Tree
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Column, Sample, Table
from fairbench_cli.interventions.baselines import Oracle, RandomGuess
from fairbench_cli.measures.counts import count
from fairbench_cli.measures.registry import measure

GROUPS = ("g", "f")
CLASSIFIER = Classifier(Tree(), include_protected=False, seed=0)


def rows(n00, n01, n10, n11):
    s, y = np.repeat([(0, 0), (0, 1), (1, 0), (1, 1)], [n00, n01, n10, n11], axis=0).T
    table = Table((Column("sex", ("f", "m")),), s[:, np.newaxis].astype(np.int16))
    return Sample(table, "sex", y.astype(np.int8), s.astype(np.int8))


def measured(technique, sample, *names):
    model = technique.fit(sample, CLASSIFIER, np.random.default_rng(0))
    counts = count(sample.s, sample.y, model.predict(sample), GROUPS)
    return [float(measure(name, counts)) for name in names]


@pytest.mark.parametrize("remove", [0, 0.25, 0.5, 1])
@pytest.mark.parametrize(
    ("strategy", "cost"),
    [("decrease-favoured", 0.6), ("increase-deprived", 0.4), ("both", 2 * 0.6 * 0.4)],
)
def test_the_oracle_pays_in_accuracy_what_the_closed_forms_say(strategy, cost, remove):
    sample = rows(3000, 1000, 2400, 3600)  # α = .6, d = .35
    d, accuracy, accepted = measured(
        Oracle(strategy, remove), sample, "discrimination", "accuracy", "acceptance-rate"
    )
    assert d == pytest.approx(0.35 * (1 - remove), abs=3e-4)
    assert 1 - accuracy == pytest.approx(cost * 0.35 * remove, abs=3e-4)
    if strategy == "both":
        assert accepted == pytest.approx(0.46, abs=3e-4)


def test_at_a_fixed_acceptance_rate_kappa_falls_with_the_normalised_discrimination():
    sample = rows(3000, 1000, 2400, 3600)
    base, alpha = 0.46, 0.6
    price = min(alpha / base, (1 - alpha) / (1 - base))
    for remove in (0.2, 0.6, 1.0):
        kappa, delta = measured(Oracle("both", remove), sample, "kappa", "normalised-discrimination")
        d_max = min(base / alpha, (1 - base) / (1 - alpha))
        assert delta == pytest.approx(0.35 * (1 - remove) / d_max, abs=1e-3)
        assert 1 - kappa == pytest.approx(price * (0.35 / d_max - delta), abs=1e-3)


@given(st.tuples(*[st.integers(0, 12)] * 4).filter(sum), st.sampled_from([0.0, 0.5, 1.0]))
def test_any_rows_have_an_oracle(four, remove):
    sample = rows(*four)
    for strategy in ("decrease-favoured", "increase-deprived", "both"):
        model = Oracle(strategy, remove).fit(sample, CLASSIFIER, np.random.default_rng(0))
        predicted = model.predict(sample)
        assert (predicted == model.predict(sample)).all()
        if remove == 0:
            assert (predicted == sample.y).all()
        assert (predicted[sample.s == 0] >= sample.y[sample.s == 0]).all()
        assert (predicted[sample.s == 1] <= sample.y[sample.s == 1]).all()


def test_the_random_classifier_accepts_the_base_rate_and_does_not_discriminate():
    sample = rows(30000, 10000, 24000, 36000)
    accepted, d, accuracy, kappa = measured(
        RandomGuess(), sample, "acceptance-rate", "discrimination", "accuracy", "kappa"
    )
    assert accepted == pytest.approx(0.46, abs=0.01)
    assert accuracy == pytest.approx(0.46**2 + 0.54**2, abs=0.01)
    assert (d, kappa) == (pytest.approx(0, abs=0.01), pytest.approx(0, abs=0.01))


def test_nothing_to_guess_from():
    with pytest.raises(ValueError, match="nothing to train on"):
        RandomGuess().fit(rows(0, 0, 0, 0), CLASSIFIER, np.random.default_rng(0))
