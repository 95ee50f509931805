"""C45 against Weka's J48, row for row, on both paths."""

import csv
import hashlib
import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from weka_data import NUMERIC, REFERENCE, load, options, read_adult

from fairbench_cli.classifiers.c45 import C45, reference

GOLDEN = list(csv.DictReader((REFERENCE / "golden_summary.csv").read_text().splitlines()))
CASES = json.loads((REFERENCE / "small_nominal_cases.json").read_text())

load_once = cache(load)


@pytest.fixture(params=["fast", "reference"])
def path(request, monkeypatch):
    """Run a test on the compiled path and on the plain one."""
    if request.param == "reference":
        monkeypatch.setattr("fairbench_cli.classifiers.c45.fast.build", reference.build)
    return request.param


@pytest.mark.gate
def test_small_random_cases(path):
    assert len(CASES) >= 100
    for number, case in enumerate(CASES):
        X, T = np.array(case["X"]), np.array(case["T"])
        # Weka knows all K classes, also those that no row has: declare them.
        y = pd.Categorical.from_codes(case["y"], [str(k) for k in range(case["K"])])
        tree = C45(levels=case["card"], **options(case["options"])).fit(X, y, case["w"])
        assert (tree.n_leaves_, tree.size_) == (case["leaves"], case["size"]), number
        assert tree.predict(T).astype(int).tolist() == case["pred"], number
        np.testing.assert_allclose(tree.predict_proba(T), case["dist"], atol=1e-9, err_msg=str(number))


@pytest.mark.parametrize(
    "row", GOLDEN, ids=[f"{row['dataset']}{row['options'].replace(' ', '')}" for row in GOLDEN]
)
def test_goldens(row):
    data = load_once(row["dataset"])
    tree = C45(levels=data.levels, **options(row["options"])).fit(data.X, data.y, data.weight)
    predicted = tree.predict(data.X).astype(np.uint8)
    assert (tree.n_leaves_, tree.size_) == (int(row["leaves"]), int(row["size"]))
    assert hashlib.sha256(predicted.tobytes()).hexdigest() == row["pred_sha256"]
    assert (predicted == data.y).mean() == pytest.approx(float(row["train_acc"]), abs=1e-12)
    assert np.average(predicted == data.y, weights=data.weight) == pytest.approx(
        float(row["train_acc_weighted"]), abs=1e-9
    )
    assert tree.predict_proba(data.X)[:, 0].sum() == pytest.approx(float(row["sum_p0"]), abs=1e-6)


SLOW = [pytest.param(name, marks=pytest.mark.nightly) for name in ("adult", "adult_rw")]


@pytest.mark.nightly
@pytest.mark.parametrize("name", [*SLOW, "dutch"])
def test_the_reference_path_makes_the_same_tree(name, monkeypatch):
    data = load_once(name)
    quick = C45(levels=data.levels).fit(data.X, data.y, data.weight)
    monkeypatch.setattr("fairbench_cli.classifiers.c45.fast.build", reference.build)
    plain = C45(levels=data.levels).fit(data.X, data.y, data.weight)
    assert quick.export_text() == plain.export_text()


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("missing", "parameters", "leaves", "size", "accuracy"),
    [
        (False, {}, 817, 1072, 0.8765),
        pytest.param(False, {"prune": False}, 8188, 9700, 0.9073, marks=pytest.mark.nightly),
        pytest.param(True, {}, 696, 911, 0.8764, marks=pytest.mark.nightly),
    ],
)
def test_numeric_adult(missing, parameters, leaves, size, accuracy):
    """Original numbers; with missing values as such in the 48,842 rows."""
    frame = read_adult()
    if not missing:
        frame = frame[~(frame == "?").any(axis=1)]
    y = pd.Categorical(frame.pop("outcome"), categories=["<=50K", ">50K"])
    for name in frame:
        if name in NUMERIC:
            frame[name] = frame[name].astype(float)
        else:
            known = frame[name].where(frame[name] != "?")
            frame[name] = pd.Categorical(known, categories=sorted(known.dropna().unique()))
    tree = C45(**parameters).fit(frame, y)
    assert (tree.n_leaves_, tree.size_) == (leaves, size)
    assert (tree.predict(frame) == np.asarray(y)).mean() == pytest.approx(accuracy, abs=5e-5)
