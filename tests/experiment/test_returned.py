"""What a technique returns: run, check and fb.technique refuse the same, in the same words."""

import re
import warnings
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from conftest import law, some_of, write_config
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import fairbench_cli as fb
from fairbench_cli.classifiers.outputs import WrongOutput, as_decisions, as_probabilities, as_scores
from fairbench_cli.experiment.datasets import populate
from fairbench_cli.experiment.running.run import prepare
from fairbench_cli.experiment.running.worker import Task, run_task
from fairbench_cli.experiment.trial import RUNS, TRIALS, find_components
from fairbench_cli.interventions.fitted import Fitted, check_fitted

RETURNS = """
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fairbench_cli.interventions.fitted import Fitted


def values(kind, n):
    p = np.linspace(0.01, 0.99, n)
    return {
        "right": p,
        "list": p.tolist(),
        "short floats": p.astype(np.float32),
        "fractions": [Fraction(1, 3)] * n,
        "column": p[:, None],
        "pairs": np.column_stack([1 - p, p]),
        "row": p[None],
        "one short": p[1:],
        "nothing": p[:0],
        "scalar": 0.5,
        "missing": np.where(p > 0.5, np.nan, p),
        "infinite": np.where(p > 0.5, np.inf, p),
        "minus infinite": np.where(p > 0.5, p, -np.inf),
        "text": p.astype(str),
        "bytes": p.astype("S"),
        "texts": p.astype(str).astype(object),
        "masked": np.ma.masked_less(p, 0.5),
        "all masked": np.ma.masked_all(n),
        "complex": p + 0j,
        "steps of time": np.arange(n).astype("m8[s]"),
        "large whole": np.arange(n) + 2**53,
        "larger whole": [10**20 + i for i in range(n)],
        "hundreds of digits": [10**400] * n,
        "log-odds": np.log(p / (1 - p)),
        "generator": iter(p),
        "mapping": dict(enumerate(p)),
        "uneven": [[0.5], [0.5, 0.5], *[0.5] * (n - 2)],
    }[kind]


@dataclass
class Returns:
    method: str = "scores"
    kind: str = "right"

    def fit(self, train, classifier, rng):
        returned = {"predict": lambda rows: np.zeros(len(rows))}
        returned[self.method] = lambda rows: values(self.kind, len(rows))
        methods = {name: staticmethod(method) for name, method in returned.items()}
        return Fitted(type("Model", (), methods)())
"""
GOOD = ("right", "list", "short floats", "fractions")
SHAPES = ("column", "pairs", "row", "one short", "nothing", "scalar")
KINDS = (
    *GOOD,
    *SHAPES,
    *("missing", "infinite", "minus infinite", "text", "bytes", "texts", "masked", "all masked", "complex"),
    *("steps of time", "large whole", "larger whole", "hundreds of digits", "log-odds", "generator"),
    *("mapping", "uneven"),
)
METHODS = ("scores", "predict_proba", "decision_probability", "predict")


@pytest.fixture(scope="module")
def in_a_run(tmp_path_factory) -> dict[tuple[str, str], str]:
    """Return how repeats of each kind ended in a run: nothing, or in which words they failed."""
    folder = tmp_path_factory.mktemp("returned")
    (folder / "returns.py").write_text(RETURNS)
    entry = {"./returns.py:Returns": {"method": list(METHODS), "kind": list(KINDS)}}
    keys = {"sample": {"from": "shipped", "size": 200, "beta": [0.5]}, "test": "network", "repeats": 1}
    keys |= {"sweep": "acceptance-rate", "predictions": True}
    config = write_config(folder / "run.yaml", **keys, interventions=[entry])
    prepared = prepare(config, folder=folder / "out")
    populations = {dataset.name: populate(dataset, prepared.config, folder) for dataset in prepared.datasets}
    endings = {}
    for cell, repeat in prepared.todo():
        record = run_task(Task(cell, repeat, populations[cell.source]))
        parameters = dict(cell.technique.spec.parameters)
        is_failed = record.status == "failed"
        assert is_failed or record.status == "ok"
        assert is_failed == bool(record.reason)
        endings[parameters["method"], parameters["kind"]] = record.reason.removeprefix("WrongOutput: ")
    return endings


def without_sizes(words: str) -> str:
    """Return what a check says without the number of rows that were decided on, and without a value."""
    words = re.sub(r"such as [^;]*", "such as X", words)
    return re.sub(r"\b(?:300|299|240|239|200|199|2|1)\b(?=[,) ])", "N", words)


@pytest.mark.parametrize(("method", "kind"), some_of([*product(METHODS, KINDS)], 20))
def test_run_check_and_fb_technique_say_the_same(tmp_path, in_a_run, method, kind):
    words = in_a_run[method, kind]
    (tmp_path / "returns.py").write_text(RETURNS)
    entry = {f"{tmp_path / 'returns.py'}:Returns": {"method": method, "kind": kind}}
    (trial,) = find_components(entry)
    checked = ""
    try:
        TRIALS[RUNS](trial)
    except Exception as error:
        checked = str(error).removesuffix(".")
    assert without_sizes(checked) == without_sizes(words)

    train, _ = find_components("none")[0].samples()
    frame = train.features.to_frame()
    namespace: dict[str, type] = {}
    exec(RETURNS, namespace)  # noqa: S102
    fair = fb.technique(
        namespace["Returns"](method, kind), sensitive_features=train.attribute, deprived="African-American"
    )
    asked = ""
    try:
        fair.fit(frame, train.y)
        fair.predict(frame)
        if method == "predict_proba":
            fair.predict_proba(frame)
        if method == "decision_probability":
            fair.decision_probability(frame)
    except WrongOutput as error:
        asked = str(error)
    if method == "scores":  # scikit-learn knows probabilities alone
        assert asked == ""
    elif kind not in SHAPES:  # at `fit` it is asked about two rows
        assert without_sizes(asked) == without_sizes(words)
    else:
        assert f"{method} returns shape " in asked


def test_what_is_right_passes_and_nothing_else(in_a_run):
    passed = {case for case, words in in_a_run.items() if not words}
    probable = {(method, kind) for method in METHODS[:3] for kind in GOOD}
    assert passed == probable | {("scores", "log-odds")}


anything = st.one_of(
    arrays.arrays(
        dtype=st.one_of(
            arrays.scalar_dtypes(), arrays.unicode_string_dtypes(), arrays.byte_string_dtypes(), st.just("O")
        ),
        shape=arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    ),
    st.lists(st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.complex_numbers()),
    st.lists(st.lists(st.floats(), max_size=3), max_size=4),
    st.lists(st.fractions() | st.decimals(), max_size=4),
    st.none() | st.text() | st.integers() | st.floats() | st.dictionaries(st.integers(), st.floats()),
)


@pytest.mark.gate
@given(anything, st.integers(0, 4))
def test_whatever_is_returned_is_right_or_refused(values, rows):
    for check, dtype in ((as_decisions, np.int8), (as_scores, np.float64), (as_probabilities, np.float64)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                checked = check("scores", values, (rows,))
        except WrongOutput:
            continue
        assert (checked.dtype, checked.shape) == (dtype, (rows,))
        assert np.isfinite(checked).all()
        if check is not as_scores:
            assert ((checked >= 0) & (checked <= 1)).all()


@given(st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=6))
@law(200)
def test_scores_keep_their_order(whole):
    """Neighbours from 2^53 on would be one float: ranks would change in silence."""
    try:
        scores = as_scores("scores", whole, (len(whole),))
    except WrongOutput:
        assert max(map(abs, whole)) >= 2**53
        return
    assert (np.argsort(scores, kind="stable") == np.argsort(np.array(whole, "O"), kind="stable")).all()


class Model:
    """Decides against everybody."""

    def predict(self, sample):
        return np.zeros(len(sample))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (None, "facts are NoneType; return numbers by their names"),
        ([1], "facts are list"),
        ({"gap": "0.1"}, "the fact gap is str; return a number"),
        ({"gap": 1j}, "the fact gap is complex"),
        ({"gap": np.ones(2)}, "the fact gap is ndarray"),
        ({"gap": 10**400}, "the fact gap is larger than any float"),
        ({"\ud800": 1}, r"a fact is called '\ud800'; return a name that can be printed"),
        ({"a\nb": 1}, r"a fact is called 'a\nb'"),
    ],
)
def test_facts_are_numbers(facts, words):
    """One that JSON has no form for once ended the whole run with a traceback."""
    with pytest.raises(WrongOutput, match=re.escape(words)):
        Fitted(Model(), facts=facts)


def test_facts_become_plain_numbers():
    facts = {"a": np.int64(3), "b": Fraction(1, 4), "c": np.array(2.5), "d": True, "e": np.inf, 6: 7}
    plain = Fitted(Model(), facts=facts).facts
    assert plain == {"a": 3, "b": 0.25, "c": 2.5, "d": 1, "6": 7}
    assert {type(value) for value in plain.values()} == {int, float}


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (Model(), "fit returns Model; return Fitted(model)"),
        (Fitted(None), "fit returns Fitted(NoneType), which has no predict(sample)"),
        (Fitted(Model(), ["ok"]), "fit returns the unknown status ['ok']"),
        (Fitted(Model(), "degraded", None), "fit returns NoneType as the reason of its status; return text"),
    ],
)
def test_what_fit_returns(returned, words):
    with pytest.raises(WrongOutput, match=re.escape(words)):
        check_fitted(returned)


class Fixed:
    """A fitted model of scikit-learn's kind that predicts what it is told to."""

    def __init__(self, predict):
        self.predict = predict

    def __sklearn_is_fitted__(self):
        return True

    def predict_proba(self, rows):
        return np.full((len(rows), 2), 0.5)


@pytest.mark.parametrize(
    ("predict", "words"),
    [
        (lambda rows: np.array(["Yes"] * len(rows)), "predicts other values than the labels, such as 'Yes'"),
        (lambda rows: np.ones(len(rows)), "predicts other values than the labels, such as 1.0"),
        (lambda rows: np.full((len(rows), 1), "yes"), "predict returns shape (20, 1) for 20 rows"),
        (lambda rows: np.full(len(rows) - 1, "yes"), "predict returns shape (19,) for 20 rows"),
        (lambda rows: np.ma.masked_all(len(rows), "U3"), "predict returns values that are masked"),
    ],
)
def test_a_fitted_model_that_predicts_no_labels(predict, words):
    X = pd.DataFrame({"age": [20, 30, 40, 50] * 5, "sex": ["f", "m"] * 10})
    y = ["no", "yes", "no", "yes", "yes"] * 4
    keys = {"sensitive_features": "sex", "deprived": "f", "prefit": True}
    fair = fb.technique("group-thresholds", estimator=Fixed(predict), **keys)
    with pytest.raises((WrongOutput, fb.UserError), match=re.escape(words)):
        fair.fit(X, y)
