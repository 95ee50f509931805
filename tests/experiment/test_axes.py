"""Attributes, representations and splits as axes: what is paired over them, and what is computed once."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import write_config

from fairbench_cli.base.errors import UserError
from fairbench_cli.data.table import represent
from fairbench_cli.experiment.cell import draw, run_repeat
from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.experiment.datasets import populate, prepare_datasets
from fairbench_cli.experiment.plan import Cell, make_cells

CARD = """name: mine
files: [mine.csv]
columns: {x: {kind: integer}}
label: {column: y, favourable: 1}
protected:
  sex: {deprived: f}
  race: {deprived: [b, o]}
  race-sex: {of: [race, sex]}
"""
REAL = {"from": "data", "train_fraction": "2/3"}


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "mine.yaml").write_text(CARD)
    rng = np.random.default_rng(4)
    rows = "".join(
        f"{rng.integers(50)},{rng.choice(list('fm'))},{rng.choice(list('bow'))},{rng.choice(list('pqr'))},"
        f"{rng.integers(2)}\n"
        for _row in range(118)
    )
    (tmp_path / "mine.csv").write_text("x,sex,race,job,y\n" + rows)
    return tmp_path


def config_of(folder: Path, **changes) -> Path:
    given = {
        "datasets": [{"mine.yaml": {"attribute": ["sex", "race", "race-sex"]}}],
        "sample": REAL,
        "test": "holdout",
        "protected_columns": "all",
        "representation": ["numerical", "numerical-binary"],
        "interventions": ["none", "repair", "prejudice-remover"],
        "classifiers": ["tree", "naive-bayes"],
    }
    return write_config(folder / "run.yaml", **given | changes)


def cells_of(folder: Path, **changes) -> list[Cell]:
    config = read_config(config_of(folder, **changes))
    return make_cells(config, prepare_datasets(config, folder))


def computed(cells: list[Cell]) -> Counter[str]:
    """Return how many cells of each technique are computed."""
    return Counter({cell.key: cell.technique.spec.name for cell in cells}.values())


def test_what_decides_nothing_is_computed_once(mine):
    cells = cells_of(mine)
    assert len(cells) == 3 * 2 * 3 * 2
    # Of three attributes, two representations and two classifiers: `none` sees no protected column, so only
    # the classifier tells its cells apart; the prejudice remover has a model of its own.
    assert computed(cells) == {"none": 2, "repair": 12, "prejudice-remover": 6}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"protected_columns": "attribute"}, 12),  # `none` sees the other protected columns
        ({"include_protected": True}, 8),  # once for sex and race, once for the joint attribute's own column
        ({"sample": REAL | {"balanced": 60}}, 12),  # the rows depend on the groups
        ({"metrics": ["accuracy", "consistency"]}, 12),  # so does a metric of rows
    ],
    ids=["other columns", "all columns", "balanced", "metric of rows"],
)
def test_where_the_attribute_decides_every_one_is_computed(mine, changes, expected):
    assert computed(cells_of(mine, interventions=["none"], **changes))["none"] == expected


def test_a_cell_that_is_shared_has_the_counts_of_each(mine):
    config = read_config(config_of(mine))
    datasets = prepare_datasets(config, mine)
    populations = {one.name: populate(one, config, mine) for one in datasets}
    found: dict[str, list] = {}
    for cell in make_cells(config, datasets):
        outcome = run_repeat(cell, populations[cell.source], 1)
        found.setdefault(cell.key, []).append(outcome)
    assert max(map(len, found.values())) == 6
    for same in found.values():
        for one in same:
            assert one.counts is not None
            assert same[0].counts is not None
            assert np.array_equal(one.counts.n, same[0].counts.n), one
            assert one.facts == same[0].facts


def test_splits_are_the_same_over_attributes_and_techniques(mine):
    config = read_config(config_of(mine))
    datasets = prepare_datasets(config, mine)
    assert [one.size for one in datasets] == [78] * 3  # two thirds of 118, rounded down
    populations = {one.name: populate(one, config, mine) for one in datasets}
    cells = make_cells(config, datasets)
    for repeat in range(2):
        drawn = [draw(cell, populations[cell.source], repeat) for cell in cells]
        for train, test in drawn[1:]:
            assert np.array_equal(train.features["x"], drawn[0][0].features["x"])
            assert np.array_equal(test.y, drawn[0][1].y)


def test_balanced_rows_are_drawn_after_the_split(mine):
    config = read_config(config_of(mine, sample=REAL | {"balanced": 90}, interventions=["none"]))
    datasets = prepare_datasets(config, mine)
    for dataset, cell in zip(datasets, make_cells(config, datasets)[::4], strict=True):
        population = populate(dataset, config, mine)
        train, test = draw(cell, population, 0)
        assert (len(train), len(test)) == (59, 31)
        for part in (train, test):
            cells = np.bincount(2 * part.s + part.y, minlength=4)
            assert cells.max() - cells.min() <= 1
        # No row is on both sides: x, job and both attributes together nearly name a row of the file.
        plain = replace(population, balanced=None)
        whole = [{tuple(row) for row in part.features.codes} for part in draw(cell, plain, 0)]
        for part, own in zip((train, test), whole, strict=True):
            assert {tuple(row) for row in part.features.codes} <= own


def test_an_empty_cell_has_no_balanced_rows(mine):
    (mine / "mine.csv").write_text("x,sex,race,job,y\n" + "1,f,b,p,0\n2,m,w,q,1\n3,m,w,q,0\n1,f,o,r,0\n" * 5)
    given = config_of(mine, datasets=["mine.yaml"], sample=REAL | {"balanced": 12}, interventions=["none"])
    config = read_config(given)
    (dataset,) = prepare_datasets(config, mine)
    outcome = run_repeat(make_cells(config, [dataset])[0], populate(dataset, config, mine), 0)
    assert (outcome.status, outcome.reason) == (
        "infeasible",
        "empty cell DP (deprived, favourable label): nothing to draw balanced rows from",
    )


def test_a_part_without_a_balanced_row_of_each_kind_is_refused(mine):
    sample = {"from": "data", "balanced": 8, "train_fraction": 0.9}
    with pytest.raises(UserError, match="8 balanced rows are 7 to train on and 1 to test on"):
        cells_of(mine, sample=sample)


def test_an_attribute_whose_groups_do_not_fit_is_hidden_in_every_representation(mine):
    (mine / "mine.yaml").write_text(
        CARD.replace("[b, o]}", "b, favoured: w}").replace("  race-sex: {of: [race, sex]}\n", "")
    )
    config = read_config(config_of(mine, datasets=["mine.yaml"]))
    (dataset,) = prepare_datasets(config, mine)
    population = populate(dataset, config, mine)
    train, _ = draw(make_cells(config, [dataset])[0], population, 0)
    for how in ("numerical", "numerical-binary"):
        shown = represent(train, how, population.favoured)
        assert shown.features.without(*shown.protected).names == ("x", "job_p", "job_q", "job_r")


def test_columns_of_one_name_are_found_before_any_work(mine):
    rows = (mine / "mine.csv").read_text().splitlines()
    (mine / "mine.csv").write_text("\n".join([f"job_p,{rows[0]}", *(f"3,{row}" for row in rows[1:])]))
    card = CARD.replace("columns: {", "columns: {job_p: {kind: integer}, ")
    (mine / "mine.yaml").write_text(card)
    with pytest.raises(UserError, match='two columns of numbers would be called "job_p"'):
        cells_of(mine)
    assert cells_of(mine, representation="original")


@pytest.mark.parametrize("name", ["job", "y"])
def test_a_joint_attribute_may_not_be_called_as_a_column(mine, name):
    (mine / "mine.yaml").write_text(CARD.replace("race-sex:", f"{name}:"))
    with pytest.raises(UserError, match=f'"{name}" is a column of the data'):
        cells_of(mine, datasets=["mine.yaml"])


def test_a_technique_may_have_a_representation_of_its_own(mine):
    own = ["none", {"repair": {"representation": ["numerical-binary"]}}]
    techniques = [cell.technique for cell in cells_of(mine, interventions=own)]
    found = Counter((one.spec.name, one.representation) for one in techniques)
    assert found == {
        ("none", "numerical"): 6,
        ("none", "numerical-binary"): 6,
        ("repair", "numerical-binary"): 6,
    }


WRONG = [
    ({"datasets": [{"mine.yaml": {"attribute": ""}}]}, 'no protected attribute ""'),
    ({"datasets": [{"mine.yaml": {"attribute": []}}]}, "attribute must not be empty"),
    ({"sample": REAL | {"train_fraction": "9" * 5000 + "/7"}}, "train_fraction: must be a number"),
    ({"representation": ["numerical", "numerical"]}, 'representation "numerical" is listed twice'),
    ({"sample": REAL | {"train_fraction": "3/2"}}, "train_fraction must be below 1"),
    ({"sample": REAL | {"train_fraction": "two thirds"}}, "train_fraction: must be a number"),
    (
        {"sample": {"from": "network", "balanced": 60}, "test": "original"},
        "balanced has no effect without real rows",
    ),
    ({"representation": "numeric"}, "representation"),
    ({"interventions": [{"none": {"representation": "binary"}}]}, "representation has the unknown value"),
    ({"datasets": [{"mine.yaml": {"attribute": ["sex", "age"]}}]}, 'no protected attribute "age"'),
    ({"datasets": [{"mine.yaml": {"attribute": ["sex", "sex"]}}]}, "mine with sex is listed twice"),
]


@pytest.mark.parametrize(("changes", "words"), WRONG, ids=[words for _, words in WRONG])
def test_mistakes_in_the_axes_are_named(mine, changes, words):
    with pytest.raises(UserError) as caught:
        read_config(config_of(mine, **changes))
    assert words in str(caught.value)
    assert len(caught.value.problems) == 1


def test_the_resolved_config_is_read_as_the_same_cells(mine):
    config = read_config(config_of(mine))
    (mine / "again.yaml").write_text(config.as_yaml())
    again = read_config(mine / "again.yaml")
    keys = [[cell.key for cell in make_cells(one, prepare_datasets(one, mine))] for one in (config, again)]
    assert keys[0] == keys[1]
