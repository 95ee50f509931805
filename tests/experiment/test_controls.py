"""Controls of a run: they change nothing else, are kept as repeats are, and differ as they should."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import bare_data, derived, edit_lines, fairbench, journal_lines, law, write_config
from hypothesis import given
from hypothesis import strategies as st

from fairbench_cli.data.table import Column, Sample, Table
from fairbench_cli.experiment.controls import (
    BOOTSTRAP,
    NOISE,
    PLANTED,
    SHUFFLED,
    TWINS,
    control_seed,
    count_controls,
    deprived_groups,
    draw_uniforms,
    make_training_rows,
    plant_effect,
    turn_decisions,
)
from fairbench_cli.experiment.plan import read_plan
from fairbench_cli.measures.groups import ProtectedAttribute, ProtectedAttributes

BETAS = [0, 0.1, 0.2, 0.3, 0.5, 0.7, 1]  # 21 fits a repeat: 10 per cent are one pair of bootstrap twins
KEYS = {"sample": {"from": "shipped", "beta": BETAS, "size": 300}, "repeats": 3}
SEX = ProtectedAttribute("sex", ("f", "m"), ("f",), ("m",))
RACE = ProtectedAttribute("race", ("b", "o", "w"), ("b", "o"), ("w",))


def run(config: Path, folder: Path, *more: str) -> Path:
    done = fairbench("run", config, "-o", folder, "-j", "1", "-q", *more)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """One experiment without controls, with them and with placebos."""
    base = tmp_path_factory.mktemp("controls")
    run(write_config(base / "off.yaml", **KEYS), base / "off")
    run(write_config(base / "on.yaml", **KEYS, controls=True), base / "on")
    run(write_config(base / "placebo.yaml", **KEYS, controls="placebo"), base / "placebo")
    return base


def derived_with_controls(folder: Path) -> dict[str, bytes]:
    return derived(folder) | {"controls.csv": (folder / "controls.csv").read_bytes()}


def test_controls_change_no_byte_of_what_is_there_without_them(runs):
    told = {"answer.md", "report.html", "config.yaml", "plan.json", "manifest.json", ".lock"}
    for name in ("on", "placebo"):
        files = {
            path.relative_to(runs / "off"): path.read_bytes()
            for path in sorted((runs / "off").rglob("*"))
            if path.is_file() and path.name not in told and path.suffix != ".jsonl"
        }
        assert len(files) > 15
        for path, content in files.items():
            assert (runs / name / path).read_bytes() == content, path
        more = {path.name for path in (runs / name).glob("*.csv")} - {path.name for path in files}
        assert more == {"controls.csv"}
    without = json.loads((runs / "off" / "plan.json").read_text())
    assert without["cells"] == json.loads((runs / "on" / "plan.json").read_text())["cells"]
    assert "controls" not in without
    assert "controls" not in without["config"]
    assert "controls" not in (runs / "off" / "config.yaml").read_text()


def test_no_file_that_ranks_techniques_names_a_control(runs):
    controls = ("bootstrap a", "bootstrap b", "noise", "planted", "shuffled", "placebo", "twin")
    for path in sorted((runs / "placebo").rglob("*")):
        if path.suffix in (".csv", ".md", ".tex") and path.name not in ("controls.csv", "answer.md"):
            assert not any(name in path.read_text().lower() for name in controls), path


def test_only_the_plain_model_is_computed_again_where_controls_are_asked_for_later(runs, tmp_path):
    folder = tmp_path / "out"
    shutil.copytree(runs / "off", folder)
    before = len(journal_lines(folder))
    said = fairbench("run", runs / "on.yaml", "-o", folder, "-j", "1")
    n_plain = len(BETAS) * 3
    assert f"{n_plain + 6} to do" in said.stderr, said.stderr  # and two twins of three repeats
    assert len(journal_lines(folder)) == before + n_plain + 6
    assert derived_with_controls(folder) == derived_with_controls(runs / "on")
    # And the other way: without controls nothing is to do, and no file speaks of any.
    back = fairbench("run", runs / "off.yaml", "-o", folder, "-j", "1")
    assert " 0 to do" in back.stderr
    assert derived(folder) == derived(runs / "off")
    assert not (folder / "controls.csv").exists()


def test_a_run_that_was_cut_off_or_divided_gives_the_same_bytes(runs, tmp_path):
    folder = tmp_path / "cut"
    shutil.copytree(runs / "on", folder)
    (path,) = folder.glob("journal/*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]) + lines[len(lines) // 2][:40])
    shutil.rmtree(folder / "tables")
    (folder / "manifest.json").unlink()
    run(runs / "on.yaml", folder)
    assert derived_with_controls(folder) == derived_with_controls(runs / "on")
    shards = tmp_path / "shards"
    for shard in ("1/2", "0/2"):
        run(runs / "on.yaml", shards, "--shard", shard)
    assert fairbench("report", shards).returncode == 0
    assert derived_with_controls(shards) == derived_with_controls(runs / "on")


def test_controls_are_reused_and_verified_as_repeats_are(runs, tmp_path):
    said = fairbench("run", runs / "on.yaml", "-o", tmp_path / "again", "-j", "1", "--reuse", runs / "on")
    n = len(journal_lines(runs / "on"))
    assert f"{n} repeats copied from" in said.stderr
    assert derived_with_controls(tmp_path / "again") == derived_with_controls(runs / "on")
    verified = fairbench("verify", runs / "placebo", "--cells", "1000")
    n = len(journal_lines(runs / "placebo"))
    assert f"{n} of {n} are the same, bit for bit" in verified.stdout
    shutil.copytree(runs / "on", tmp_path / "edited")

    def move(row):
        if "controls" in row:
            (group, *_) = row["controls"]["twins"][0]
            group[0][0] -= 1
            group[0][1] += 1

    edit_lines(tmp_path / "edited", move)
    verified = fairbench("verify", tmp_path / "edited", "--cells", "1000")
    assert verified.returncode == 1
    assert "controls twins 0 (" in verified.stdout


def test_a_journal_without_controls_is_read_and_said_to_lack_them(runs, tmp_path):
    folder = tmp_path / "old"
    shutil.copytree(runs / "on", folder)
    edit_lines(folder, lambda row: row.pop("controls", None))
    said = fairbench("report", folder)
    assert said.returncode == 0, said.stderr
    assert f"{len(BETAS) * 3} repeats without controls: \\`fairbench run\\` computes them" in (
        (folder / "answer.md").read_text().replace("`", "\\`").replace("\\\\`", "\\`")
    )
    assert set(pd.read_csv(folder / "controls.csv")["control"]) == {"bootstrap twins"}
    assert (folder / "groups.csv").read_bytes() == (runs / "on" / "groups.csv").read_bytes()


def test_controls_whose_counts_are_of_other_rows_are_damage(runs, tmp_path):
    folder = tmp_path / "damaged"
    shutil.copytree(runs / "on", folder)

    def add(row):
        if "controls" in row:
            row["controls"]["planted"]["race"][0][0][0] += 1

    edit_lines(folder, add)
    said = fairbench("report", folder)
    assert f"{len(BETAS) * 3} damaged lines" in said.stderr


def test_trained_controls_take_a_tenth_of_the_fits_at_most(runs, tmp_path):
    plan = read_plan(runs / "placebo")
    controls = [(cell["intervention"], cell["control"], cell["beta"]) for cell in plan.controls]
    shuffled = [("massaging", SHUFFLED, 1.0), ("uniform-sampling", SHUFFLED, 1.0)]
    assert controls == [("none", name, 1.0) for name in BOOTSTRAP] + shuffled
    assert len({cell["key"] for cell in plan.all_cells}) == len(plan.all_cells)
    few = KEYS | {"sample": KEYS["sample"] | {"beta": BETAS[:6]}}
    run(write_config(tmp_path / "few.yaml", **few, controls=True), tmp_path / "few")
    assert read_plan(tmp_path / "few").controls == []


def test_controls_need_the_plain_model(tmp_path):
    config = write_config(tmp_path / "bare.yaml", interventions=["massaging"], controls=True)
    done = fairbench("plan", config)
    assert done.returncode == 2
    assert "bare.yaml:" in done.stderr
    assert "controls are made of the plain model, and the config has none" in done.stderr


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Path:
    """A run whose repeats share their test rows, and one on splits."""
    base = tmp_path_factory.mktemp("shared")
    card = str(bare_data(base, "toy"))
    keys = {"datasets": [card], "controls": True, "repeats": 3, "interventions": ["none", "massaging"]}
    learned = {"from": "network", "beta": BETAS + [0.4, 0.6, 0.8]}
    run(write_config(base / "all.yaml", **keys, sample=learned, test="original"), base / "all")
    split = {key: value for key, value in keys.items() if key != "test"} | {"test": "holdout"}
    run(write_config(base / "split.yaml", **split, sample={"from": "data"}), base / "split")
    return base


def test_on_shared_rows_the_decisions_of_controls_are_found_again_row_by_row(shared):
    frame = pd.read_csv(shared / "all" / "controls.csv")
    assert set(frame["control"]) == {"noise twins", "planted effect", "bootstrap twins"}
    # Decisions that disagree with their counts would leave a bound from counts.
    assert set(frame["basis"]) == {"decisions row by row"}
    assert frame["p"].notna().all()


def test_a_run_on_splits_says_what_its_controls_do_not(shared):
    assert "that says little of techniques" in (shared / "split" / "answer.md").read_text()
    assert "that says little of techniques" not in (shared / "all" / "answer.md").read_text()


def rows(rng: np.random.Generator, n: int = 400) -> Sample:
    """Test rows of two attributes and a number."""
    columns = (Column("sex", SEX.levels), Column("race", RACE.levels), Column("x", tuple("0123456789")))
    codes = np.stack([rng.integers(0, len(column.levels), n) for column in columns], axis=1)
    codes = np.asfortranarray(codes.astype(np.int16))
    return Sample(
        Table(columns, codes), "sex", rng.integers(0, 2, n, dtype=np.int8), codes[:, 0].astype("int8")
    )


def test_fresh_rows_draw_anew_and_the_same_rows_do_not():
    rng = np.random.default_rng(0)
    first = rows(rng)
    again = Sample(
        Table(first.features.columns, first.features.codes.copy(order="F")), "sex", first.y, first.s
    )
    assert control_seed("key", first) == control_seed("key", again)
    seeds = {control_seed("key", first), control_seed("other", first), control_seed("key", rows(rng))}
    seeds.add(control_seed("key", Sample(first.features, "sex", 1 - first.y, first.s)))
    assert len(seeds) == 4


@law(20)
@given(st.integers(0, 2**32), st.floats(0.05, 0.95), st.booleans())
def test_counts_do_not_hang_on_the_order_of_rows_and_twins_turn_decisions_over(seed, rate, drawn):
    rng = np.random.default_rng(seed)
    protected = ProtectedAttributes((SEX, RACE))
    test = rows(rng)
    group = protected.codes([test.features["sex"], test.features["race"]])
    chance = rng.random(len(test)) if drawn else (rng.random(len(test)) < rate).astype(float)
    order = np.lexsort((test.y, group))
    names = ("sex", "race")
    controls = count_controls(chance, group, test, protected, names, seed=seed, order=order)
    moved = rng.permutation(len(test))
    test_moved = test.take(moved)
    order_moved = np.argsort(moved)[order]
    again = count_controls(
        chance[moved], group[moved], test_moved, protected, names, seed=seed, order=order_moved
    )
    np.testing.assert_allclose(controls.twins.n, again.twins.n)
    for name in names:
        np.testing.assert_allclose(controls.planted[name].n, again.planted[name].n)
        # Labels stay, and of the favoured so do decisions.
        kept = ~deprived_groups(protected, name)
        plain = np.zeros((len(protected.groups), 2, 2))
        rounded = np.rint(255 * chance) / 255
        for decision, weight in ((0, 1 - rounded), (1, rounded)):
            np.add.at(plain, (group, test.y, decision), weight)
        np.testing.assert_allclose(controls.planted[name].n[kept], plain[kept], atol=1e-6)
    np.testing.assert_allclose(controls.twins.n.sum(-1), np.stack([plain.sum(-1)] * len(TWINS)), atol=1e-6)
    uniforms = draw_uniforms(seed, len(test))
    is_turned = turn_decisions(rounded, uniforms[0]) != rounded
    assert not (is_turned & (uniforms[0] >= NOISE)).any()


@pytest.mark.gate
def test_twins_are_exchangeable_and_a_planted_effect_is_two_points():
    rng = np.random.default_rng(7)
    n_rows, n_draws = 500, 4000
    is_deprived = np.arange(n_rows) % 3 == 0
    for rate in (0.0, 0.3, 0.995, 1.0):  # at the last two there is nobody to accept, and some are refused
        chance = (rng.random(n_rows) < rate).astype(float)
        n_turned = np.zeros((n_draws, 2))
        n_moved = np.zeros(n_draws)
        for draw in range(n_draws):
            uniforms = draw_uniforms(draw, n_rows)
            n_turned[draw] = [np.abs(turn_decisions(chance, one) - chance).sum() for one in uniforms[:2]]
            planted = plant_effect(chance, is_deprived, uniforms[2])
            n_moved[draw] = (planted - chance).sum()
            assert (planted == chance)[~is_deprived].all()
        expected = n_rows * NOISE
        error = np.sqrt(expected / n_draws)
        assert np.abs(n_turned.mean(axis=0) - expected).max() < 4 * error
        difference = n_turned[:, 0] - n_turned[:, 1]
        assert abs((difference > 0).mean() - (difference < 0).mean()) < 4 / np.sqrt(n_draws)
        planted_share = np.abs(n_moved).mean() / is_deprived.sum()
        assert abs(planted_share - PLANTED) < 4 * np.sqrt(PLANTED / is_deprived.sum() / n_draws)
        assert n_moved.std() > 0.5  # as many in each repeat would have no variance
        assert (n_moved >= 0).all() if rate < 0.9 else (n_moved <= 0).all()


def test_a_chance_is_turned_to_its_opposite():
    assert turn_decisions(np.array([0.2, 0.2]), np.array([NOISE / 2, 0.5])).tolist() == [0.8, 0.2]


def test_training_rows_of_controls():
    rng = np.random.default_rng(3)
    train = rows(rng)
    twins = [make_training_rows(train, name, (), 11) for name in BOOTSTRAP]
    assert all(len(twin) == len(train) for twin in twins)
    assert not np.array_equal(twins[0].features.codes, twins[1].features.codes)
    again = make_training_rows(train, BOOTSTRAP[0], (), 11)
    assert np.array_equal(twins[0].features.codes, again.features.codes)
    shuffled = make_training_rows(train, SHUFFLED, ("race",), 11)
    assert np.array_equal(shuffled.features["x"], train.features["x"])
    assert np.array_equal(shuffled.y, train.y)
    assert not np.array_equal(shuffled.s, train.s)
    pairs = [np.stack([one.features["sex"], one.features["race"], one.s]) for one in (train, shuffled)]
    assert np.array_equal(*(pair[:, np.lexsort(pair)] for pair in pairs))  # a column with its parts and group
    assert not shuffled.features.codes.flags.writeable
