"""How often tests of a study's repeats are wrong: benchmarks/studies.py, small."""

import csv
import io
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from conftest import STUDIES, study_of

from fairbench_cli.report.ledger.inference import paired_test, welch_test

RUNS = 300
ROWS = 500
MOST = 0.05 + 3 * (0.05 * 0.95 / RUNS) ** 0.5  # which a level of 5 % seldom exceeds: three standard errors
RECORDED = STUDIES.parent / "docs/reference/verdicts/studies.csv"


@pytest.fixture(scope="module")
def study() -> ModuleType:
    study = study_of("studies")
    study.TRAINING_SETS = 500
    return study


def differences_of(study: ModuleType, design: object) -> np.ndarray:
    """Return differences of two equal techniques, of shape (metrics, studies, repeats)."""
    values = study.simulate(design, study.FEW, study.EQUAL, ROWS, RUNS)
    return values[1] - values[0]


@pytest.mark.parametrize(("kind", "repeats", "folds"), [("splits", 20, 0), ("folds", 4, 5)])
def test_the_ratio_makes_the_level_right(study: ModuleType, kind: str, repeats: int, folds: int) -> None:
    design = study.Design(kind, repeats, folds)
    differences = differences_of(study, design)
    plain, corrected = paired_test(differences), paired_test(differences, design.ratio)
    assert ((corrected.p < 0.05).mean(axis=1) <= MOST).all()
    assert ((plain.p < 0.05).mean(axis=1) > 0.25).all()
    # Of accuracy the variance that is taken is that of the mean over studies, which are independent.
    taken = np.square(corrected.error[0]).mean()
    assert 0.6 * taken < differences[0].mean(axis=1).var(ddof=1) < 1.25 * taken
    assert np.square(plain.error[0]).mean() < 0.3 * taken


def test_without_pairs_the_ratio_is_needed_for_both_means(study: ModuleType) -> None:
    design = study.Design("splits", 20)
    ours, theirs = study.simulate(design, study.FEW, study.EQUAL, ROWS, RUNS)
    others = np.roll(theirs, 1, axis=1)  # another study's rows
    assert ((welch_test(others, ours, design.ratio).p < 0.05).mean(axis=1) <= MOST).all()
    assert ((welch_test(others, ours).p < 0.05).mean(axis=1) > 0.25).all()


def test_fresh_rows_need_no_ratio(study: ModuleType) -> None:
    design = study.Design("fresh", 10)
    differences = differences_of(study, design)
    shares = (paired_test(differences).p < 0.05).mean(axis=1)
    assert ((shares > 0.015) & (shares <= MOST)).all()
    assert abs(study.correlation(differences[0])) < 0.04


def test_what_is_true_of_a_model_is_what_many_rows_say(study: ModuleType) -> None:
    rng = np.random.default_rng(5)
    n, n_train = 100_000, 350
    worse = study.noisier(0.03)
    for world, technique in ((study.FEW, worse), (study.PICKED, study.Technique(0))):
        sample = study.draw(world, (technique,), 1, n, rng)
        train = (np.arange(n) < n_train).astype(np.float32)[None, None]
        measured = study.measure(world, sample, sample.features[0], train, 1 - train)
        rows, labels = sample.features[0][0, :n_train], sample.label[0, :n_train]
        centroids = np.stack([rows[labels == label].mean(0) for label in (0, 1)])[None]
        expected = np.abs(study.true_values(world, technique, centroids))
        assert measured == pytest.approx(expected, abs=4 * (0.5 / n**0.5) * 1.5)


def test_a_noisier_feature_costs_as_many_points(study: ModuleType) -> None:
    for points in study.POINTS:
        means, _ = study.truth(study.FEW, study.Technique(0), study.noisier(points), 3500)
        assert means[0] == pytest.approx(-points, abs=0.001)


@pytest.mark.parametrize("part", ["splits", "folds", "fresh", "seeds", "unpaired", "signs", "families"])
def test_every_part_has_its_lines_in_the_table(
    study: ModuleType, part: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(study, "ROWS", (ROWS,))
    monkeypatch.setattr(sys, "argv", ["studies.py", "3", part])
    study.main()
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    recorded = read_lines(RECORDED)
    points = [
        {column: line[column] for column in ("design", "rows", "repeats", "features", "metric", "found")}
        for line in lines
    ]
    assert points
    for point in points:
        assert any(point.items() <= line.items() for line in recorded)
    assert all(0 <= float(line[test]) <= 1 for line in lines for test in study.TESTS if line[test])


def read_lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
