"""Copies of rows and several rows of a person: seen by `init`, `data check` and a run, and no false alarm."""

import numpy as np
import pandas as pd
import pytest
import yaml

import fairbench_cli as fb
from fairbench_cli.base.errors import UserError
from fairbench_cli.data.checks.copies import find_copies
from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.experiment.datasets import prepare_datasets
from fairbench_cli.experiment.plan import make_cells

FLAGS = ["--label", "approved", "--favourable", "yes", "--protected", "sex=f", "--force"]
SHORT = [
    "--set",
    "repeats=2",
    "--set",
    "interventions=[none]",
    "--set",
    "classifiers=[naive-bayes]",
    "--jobs",
    "1",
]


def people(n=300, seed=1):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    return pd.DataFrame(
        {
            "sex": sex,
            "age": rng.integers(18, 75, n),
            "edu": rng.choice(["low", "mid", "high"], n),
            "income": rng.integers(8, 90, n) * 1000 + rng.integers(0, 1000, n),
            "approved": np.where(rng.random(n) < np.where(sex == "m", 0.6, 0.4), "yes", "no"),
        }
    )


def waves(n=150, times=4):
    """Return several rows of each person, whose answers change a little."""
    table = pd.concat([people(n).assign(person_id=range(n))] * times, ignore_index=True)
    table["hours"] = np.random.default_rng(2).integers(10, 50, len(table))
    return table


def oversampled(table):
    return pd.concat([table, table[table["approved"] == "yes"].sample(150, replace=True, random_state=1)])


def appended(table):
    return (
        pd.concat([table, table])
        .sample(frac=1, random_state=3)
        .reset_index(drop=True)
        .reset_index(names="nr")
    )


COPIED = {"thrice": lambda table: pd.concat([table] * 3), "oversampled": oversampled, "shuffled": appended}


@pytest.mark.parametrize("how", COPIED)
def test_copies_are_left_out_by_init_and_warned_of_by_check(say, tmp_path, how):
    COPIED[how](people()).to_csv(tmp_path / "d.csv", index=False)
    people().to_csv(tmp_path / "once.csv", index=False)
    assert "rows are copies of others" in say("init", "d.csv", *FLAGS).err
    assert "cop" not in say("init", "once.csv", *FLAGS).err
    card = tmp_path / "d.yaml"
    assert len(fb.load(str(card))) == len(fb.load(str(tmp_path / "once.yaml"))) == 300
    assert "again" not in say("data", "check", "d.yaml").out
    # Who takes that line out is told: what is wrong, and not that the label is a rule of the features.
    card.write_text(card.read_text().replace("copies: drop\n", ""))
    checked = say("data", "check", "d.yaml")
    assert "again, more than people are alike by chance" in " ".join(checked.out.split())
    assert "all but a rule" not in checked.out


def test_of_a_coarse_table_that_is_there_twice_half_is_left_out(say, tmp_path):
    table = people().drop(columns="income").assign(age=lambda rows: rows["age"] // 10)
    pd.concat([table, table]).to_csv(tmp_path / "d.csv", index=False)
    assert "300 rows are copies of others" in say("init", "d.csv", *FLAGS).err
    once = fb.load(str(tmp_path / "d.yaml")).to_pandas().astype(str).value_counts()
    pd.testing.assert_series_equal(once.sort_index(), table.astype(str).value_counts().sort_index())


@pytest.mark.parametrize("name", ["person_id", "PatientID", "customer_no", "Kundennr"])
def test_rows_of_a_person_stay_on_one_side(say, tmp_path, name):
    waves().rename(columns={"person_id": name}).to_csv(tmp_path / "d.csv", index=False)
    assert say("init", "d.csv", *FLAGS).code == 0
    assert f"split_by: {name}" in (tmp_path / "d-run.yaml").read_text()
    assert f"`split_by: {name}`" in " ".join(say("data", "check", "d.yaml").out.split())
    dataset = fb.load(str(tmp_path / "d.yaml"))
    for repeat in range(3):
        split = dataset.split(repeat, train_fraction=0.7, split_by=name, raw=True)
        train, test = (set(map(tuple, side[["age", "income"]].to_numpy())) for side in split)  # of a person
        assert not train & test
        assert len(split.train) == pytest.approx(0.7 * 600, abs=4)


def test_a_run_says_which_rows_belong_together(say, tmp_path):
    oversampled(waves(80, 1).drop(columns="person_id")).to_csv(tmp_path / "copied.csv", index=False)
    waves(80, 3).to_csv(tmp_path / "d.csv", index=False)
    for name in ("copied", "d"):
        assert say("init", f"{name}.csv", *FLAGS).code == 0
    plan = "plan", "d-run.yaml"
    assert "warning" not in say(*plan).out + say("run", "d-run.yaml", *SHORT).err
    apart = yaml.safe_load((tmp_path / "d-run.yaml").read_text()) | {
        "datasets": ["./d.yaml", "./copied.yaml"]
    }
    del apart["sample"]["split_by"]
    (tmp_path / "d-run.yaml").write_text(yaml.safe_dump(apart))
    (tmp_path / "copied.yaml").write_text(
        (tmp_path / "copied.yaml").read_text().replace("copies: drop\n", "")
    )
    said = " ".join(say(*plan).out.split())
    assert "warning: d: person_id names 80 in 240 rows" in said
    assert "--set sample.split_by=person_id" in said
    assert "warning: copied: 150 of 230 rows are copies, and models are tested on what they were" in said
    assert 'has no column "person_id"' in say(*plan, "--set", "sample.split_by=person_id").err


def keys_of(folder, sample):
    text = yaml.safe_load((folder / "d-run.yaml").read_text()) | {"sample": sample}
    (folder / "c.yaml").write_text(yaml.safe_dump(text))
    config = read_config(folder / "c.yaml")
    return {cell.key for cell in make_cells(config, prepare_datasets(config, folder))}


def test_a_cell_is_another_where_rows_stay_together_and_only_there(say, tmp_path):
    waves().to_csv(tmp_path / "d.csv", index=False)
    assert say("init", "d.csv", *FLAGS).code == 0
    plain = {"from": "data", "train_fraction": 0.7}
    assert keys_of(tmp_path, plain) == keys_of(tmp_path, plain | {"split_by": None})
    assert not keys_of(tmp_path, plain) & keys_of(tmp_path, plain | {"split_by": "person_id"})
    with pytest.raises(UserError, match="split_by has no effect without real rows"):
        keys_of(tmp_path, {"split_by": "person_id"})


@pytest.mark.parametrize("seed", range(12))
def test_people_who_are_alike_by_chance_are_no_copies(seed):
    rng = np.random.default_rng(seed)
    n = [100, 400][seed % 2]
    chances = [rng.dirichlet(np.ones(rng.choice([2, 3, 5, 30]))) for _ in range(3 + seed % 6)]
    table = pd.DataFrame({str(i): rng.choice(len(p), n, p=p) for i, p in enumerate(chances)})
    table["more"] = table["0"] * 2  # another writing of one
    table["label"] = rng.random(n) < 0.3 + 0.4 * (table["0"] == table["1"])
    assert not find_copies(table).any()
    table["pay"] = rng.integers(0, 10**6, n)
    assert find_copies(pd.concat([table, table.head(n // 2)])).sum() == n // 2


def test_a_row_that_many_have_and_columns_of_one_cause_are_no_copies():
    """People who answered nothing, or the same to all; and three columns that one thing is behind."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        silent = people(200, seed).astype(object)
        silent[rng.random(200) < 0.2] = "?"
        assert not find_copies(silent).any()
        cause = rng.integers(0, 30, 60)
        alike = {str(i): np.where(rng.random(60) < 0.9, cause, rng.integers(0, 30, 60)) for i in range(3)}
        assert not find_copies(pd.DataFrame({**alike, "sex": rng.integers(0, 2, 60)})).any()
