"""The tree of a run against the scikit-learn estimator: the same bits."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from fairbench_cli.classifiers.builders import C45Settings
from fairbench_cli.classifiers.c45 import C45
from fairbench_cli.classifiers.c45.coded import rows_of
from fairbench_cli.classifiers.encode import NUMBER


def data(seed: int):
    """Return rows of levels (and in every third case numbers), labels, weights and new rows."""
    rng = np.random.default_rng(seed)
    levels = [int(n) for n in rng.integers(1, 7, rng.integers(1, 6))]
    rows, new = (np.stack([rng.integers(0, n, 400) for n in levels], axis=1) for _ in range(2))
    y = (rows.sum(axis=1) + rng.normal(0, 2, 400) > np.median(rows.sum(axis=1))).astype(np.int8)
    weights = None if seed % 2 else rng.integers(0, 3, 400) / 2
    if seed % 3:
        return tuple(levels), rows.astype(np.int16), y, weights, new.astype(np.int16)
    return (NUMBER, *levels[1:]), rows.astype(float), y, weights, new.astype(float)


@pytest.mark.parametrize("seed", range(24))
def test_same_tree_and_same_answers(seed):
    levels, rows, y, weights, new = data(seed)
    settings = C45Settings(laplace=seed % 4 == 0, prune=seed % 5 != 0)
    ours = settings.build(levels, 0)
    if seed % 4 == 1:
        ours.classes_ = np.array([1, 0])
    ours.fit(rows, y, sample_weight=weights)
    theirs = C45(prune=settings.prune, laplace=settings.laplace, levels=levels)
    theirs.fit(rows, pd.Categorical(y, categories=list(ours.classes_)), weights)
    assert ours.tree_.counts.tobytes() == theirs.tree_.counts.tobytes()
    assert ours.predict_proba(new).tobytes() == theirs.predict_proba(new).tobytes()
    assert (ours.predict(new) == theirs.predict(new)).all()
    assert (ours.apply(new) == theirs.apply(new)).all()


def test_what_is_refused():
    tree = C45Settings().build((2,), 0)
    rows, y = np.array([[0], [1]], dtype=np.int16), np.array([0, 1], dtype=np.int8)
    for weights in ([1.0, -1.0], [1.0, np.nan], [np.inf, 1.0]):
        with pytest.raises(ValueError, match="negative or not a number"):
            tree.fit(rows, y, np.array(weights))
    with pytest.raises(ValueError, match="no row has a positive weight"):
        tree.fit(rows, y, np.zeros(2))
    with pytest.raises(ValueError, match="not a declared level"):
        tree.fit(rows, y).predict(rows + 1)


def test_rows_are_read_once_if_nobody_can_write_them():
    rows = np.array([[0, 1], [1, 0]], dtype=np.int16)
    assert rows_of(rows, (2, 2)) is not rows_of(rows, (2, 2))
    rows.flags.writeable = False
    assert rows_of(rows, (2, 2)) is rows_of(rows, (2, 2))
    assert rows_of(rows.copy(), (2, 2)) is not rows_of(rows, (2, 2))
    with pytest.raises(ValueError, match="not a declared level"):
        rows_of(rows, (2, 1))


def test_a_worker_that_grows_trees_loads_neither_pandas_nor_scikit_learn():
    code = (
        "import sys\n"
        "import numpy as np\n"
        "import fairbench_cli.experiment.running.worker\n"
        "from fairbench_cli.classifiers.builders import C45Settings\n"
        "rows = np.array([[0], [1], [1]], dtype=np.int16)\n"
        "tree = C45Settings().build((2,), 0).fit(rows, np.array([0, 1, 1], dtype=np.int8))\n"
        "tree.predict(rows)\n"
        "print({'pandas', 'sklearn', 'torch', 'matplotlib', 'pyarrow'} & set(sys.modules))\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"
