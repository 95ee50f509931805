"""Result files that authors publish become a table: invented texts of their forms, a repository made here.

The script is `benchmarks/fetch_studies.py`.
"""

import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from conftest import study_of

import fairbench_cli as fb

fetch_studies = study_of("fetch_studies")
STUDIES = fetch_studies.STUDIES


def result_text(study: str, seed: int = 0, tail: int = 0, ending: str = "\n") -> tuple[str, np.ndarray]:
    """A result file of a study, and its values by metric and repeat; `tail` numbers follow these."""
    rng = np.random.default_rng(seed)
    metrics = STUDIES[study].metrics
    values = rng.uniform(0, 1, (len(metrics), STUDIES[study].n_repeats + tail)).round(6)
    lines = [
        "\t".join([name, *(f"{value:.6f}" for value in row)])
        for name, row in zip(metrics, values, strict=True)
    ]
    return ending.join(lines) + ending, values[:, : STUDIES[study].n_repeats]


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize(("tail", "ending"), [(0, "\n"), (0, "\t\n"), (1, "\n"), (2, "\n"), (2, "\n\n")])
def test_every_value_has_its_metric_and_repeat(study, tail, ending):
    text, values = result_text(study, tail=tail, ending=ending)
    rows = fetch_studies.convert_repeats(study, "roc1_dl2_mep_RACE.txt", text)
    frame = pd.DataFrame(rows, columns=fetch_studies.COLUMNS)
    assert set(frame[["study", "data", "attribute", "classifier", "technique"]].itertuples(index=False)) == {
        (study, "mep", "race", "dl2", "roc1")
    }
    table = frame.pivot_table(index="metric", columns="repeat", values="value", sort=False)
    kept = [i for i, metric in enumerate(STUDIES[study].metrics.values()) if metric]
    assert table.index.tolist() == [metric for metric in STUDIES[study].metrics.values() if metric]
    assert table.columns.tolist() == list(range(STUDIES[study].n_repeats))
    np.testing.assert_array_equal(table.to_numpy(), values[kept])


def test_lines_are_read_by_their_names_and_else_by_their_places():
    text, _ = result_text("icse2024")
    expected = sorted(fetch_studies.convert_repeats("icse2024", "rw_lr_adult_sex.txt", text))
    backwards = "\n".join(text.splitlines()[::-1])
    assert sorted(fetch_studies.convert_repeats("icse2024", "rw_lr_adult_sex.txt", backwards)) == expected
    renamed = text.replace("spd2", "spd-race").replace("f1score", "F1")
    assert sorted(fetch_studies.convert_repeats("icse2024", "rw_lr_adult_sex.txt", renamed)) == expected


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        ("rw_lr_adult.txt", lambda text: text, "not the name of a result file"),
        ("rw_lr_adult_sex.txt", lambda text: text.partition("\n")[2], "13 lines, not one for each of 14"),
        ("rw_lr_adult_sex.txt", lambda text: text.replace("\naod", "\nspd"), "two lines of spd"),
        ("rw_lr_adult_sex.txt", lambda text: text.rpartition("\t")[0], "19 values of eod, not 20"),
        ("rw_lr_adult_sex.txt", lambda text: text.strip() + "\t1\t1\t1", "23 values of eod, not 20"),
    ],
)
def test_files_of_another_form_are_refused(name, change, problem):
    with pytest.raises(SystemExit, match=problem):
        fetch_studies.convert_repeats("fse2025", name, change(result_text("fse2025")[0]))


def git(*arguments: str) -> str:
    """Run git as somebody who has no configuration of their own."""
    author = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *author, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def make_repository(path: Path, files: dict[str, str], archive: dict[str, str]) -> str:
    """Make a bare repository whose later commit takes the files away; return the earlier commit."""
    work = path.parent / f"{path.name} work"
    git("init", "--quiet", str(work))
    for name, text in files.items():
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text(text)
    if archive:
        with ZipFile(work / "Results.zip", "w") as zipped:
            for name, text in archive.items():
                zipped.writestr(name, text)
    git("-C", str(work), "add", ".")
    git("-C", str(work), "commit", "--quiet", "--message", "results")
    commit = git("-C", str(work), "rev-parse", "HEAD")
    git("-C", str(work), "rm", "-r", "--quiet", ".")
    git("-C", str(work), "commit", "--quiet", "--allow-empty", "--message", "gone")
    git("clone", "--quiet", "--bare", str(work), str(path))
    git("-C", str(path), "config", "uploadpack.allowFilter", "true")
    git("-C", str(path), "config", "uploadpack.allowAnySHA1InWant", "true")
    return commit


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_results_come_from_a_commit_of_a_repository_as_a_folder_or_zipped(tmp_path, monkeypatch, capsys):
    single, single_values = result_text("fse2025", seed=1, tail=1)
    plain, _ = result_text("fse2025", seed=2, tail=1)
    zipped, zipped_values = result_text("icse2024", seed=3)
    single_files = {
        "Results_Single/rew_lr_adult_sex.txt": single,
        "Results_Single/origin_lr_adult_sex.txt": plain,
        "Results_Single/notes.txt": "none",
        "Analysis/rew_lr_adult_sex.txt": "of another folder",
    }
    archive = {
        "Results/meta_lr_mep1_race.txt": zipped,
        "__MACOSX/Results/._meta_lr_mep1_race.txt": "\x00",
        "Results/.DS_Store": "\x00",
    }
    for name, files, archived in (("fse2025", single_files, {}), ("icse2024", {"a.txt": "a"}, archive)):
        study = STUDIES[name]
        path = tmp_path / "source" / f"{study.repository}"
        path.parent.mkdir(parents=True, exist_ok=True)
        commit = make_repository(path, files, archived)
        short = study.__class__(**(vars(study) | {"commit": commit[:8]}))
        monkeypatch.setitem(STUDIES, name, short)

    source = (tmp_path / "source").as_uri()
    out = tmp_path / "out"
    fetch_studies.main([str(out), "--studies", "icse2024", "fse2025", "--source", source])
    printed = capsys.readouterr().out
    assert "fse2025: 560 values" in printed
    assert "left out, as their names are not of a result: notes.txt" in printed
    assert "fse2025: 91,840 values were there when its claims were checked" in printed
    frame = pd.read_parquet(out / "results.parquet")
    assert frame.columns.tolist() == fetch_studies.COLUMNS
    assert len(frame) == 560 + 220
    assert frame["study"].tolist() == ["fse2025"] * 560 + ["icse2024"] * 220  # sorted
    of_rew = frame.query("technique == 'rew' and metric == 'srp'")["value"]
    np.testing.assert_array_equal(of_rew, single_values[list(STUDIES["fse2025"].metrics).index("srp")])
    of_meta = frame.query("technique == 'meta' and metric == 'eod_other'")["value"]
    np.testing.assert_array_equal(of_meta, zipped_values[-1])
    compared = fb.compare(out / "results.parquet", "splits", train_share=0.7, only=["study=fse2025"])
    assert len(compared.to_pandas()) == 8  # rates of groups have no better side unless it is said

    monkeypatch.setitem(STUDIES, "fse2025", STUDIES["tosem2023"])
    with pytest.raises(SystemExit, match="git clone"):
        fetch_studies.main([str(out), "--studies", "fse2025", "--source", source])
    elsewhere = STUDIES["icse2024"].__class__(**(vars(STUDIES["icse2024"]) | {"folder": "Elsewhere"}))
    monkeypatch.setitem(STUDIES, "icse2024", elsewhere)
    with pytest.raises(SystemExit, match=r"no Elsewhere and no Elsewhere\.zip"):
        fetch_studies.main([str(out), "--studies", "icse2024", "--source", source])


def test_shares_of_the_larger_class_are_those_of_the_official_files(data_folder):
    options = {"header": None, "skipinitialspace": True}
    adult = pd.concat(
        [
            pd.read_csv(data_folder / "adult.data", **options),
            pd.read_csv(data_folder / "adult.test", skiprows=1, **options),
        ]
    )
    is_whole = ~(adult == "?").any(axis=1)
    rows = pd.read_csv(data_folder / "compas-scores-two-years.csv")
    compas = rows[
        rows["days_b_screening_arrest"].between(-30, 30)
        & (rows["is_recid"] != -1)
        & (rows["c_charge_degree"] != "O")
        & (rows["score_text"] != "N/A")
    ]
    german = pd.read_csv(data_folder / "german.data", sep=" ", header=None)
    two_races = compas["race"].isin(["African-American", "Caucasian"])
    labels = {
        ("adult", "default"): adult.loc[is_whole, 14].str.startswith("<="),
        ("adult", "prepared"): adult[14].str.startswith("<="),
        ("compas", "default"): compas.dropna(subset=["c_charge_desc"])["two_year_recid"] == 0,
        ("compas", "prepared"): compas.loc[two_races, "two_year_recid"] == 0,
        ("german", "default"): german[20] == 1,
        ("german", "prepared"): german[20] == 1,
    }
    shares = {key: Fraction(int(label.sum()), len(label)) for key, label in labels.items()}
    assert shares == fetch_studies.LARGER_CLASS


def test_averages_stand_beside_a_constant(tmp_path, capsys):
    name = "Results/RQ1-RQ2/lr/{}_lr_{}_sex_0_50.txt"
    cells = [
        (name.format("rew", "adult"), 0.79, 0.1, 0.1),
        (name.format("lfr", "adult"), 0.75, 0.2, 0.1),
        ("lr/roc1_lr_german_sex_Statistical parity difference_0_50.txt", 0.7, 0.05, 0.1),
    ]
    fairea = tmp_path / "fairea.csv"
    pd.DataFrame(cells, columns=["file", "acc", "spd", "aod"]).to_csv(fairea, index=False)
    columns = ["method/name", *fetch_studies.ABCFAIR_SETTING, "data/main_sens_format", "test/accuracy_count"]
    metrics = list(fetch_studies.ABCFAIR_METRICS)
    abcfair = tmp_path / "abcfair.csv"
    settings = [
        ("fairret", "norm", "pr", 0.5, "binary", 5, 0.81, 0.9, 0.1, 0.1, 0.2),
        ("fairret", "norm", "pr", 0.5, "parallel", 10, 0.83, 0.9, 0.2, 0.1, 0.2),
        ("fairret", "norm", "tpr", 0.5, "binary", 5, 0.82558, 0.90437, 0.0, 0.0, 0.0),
        ("no_method", None, None, None, "binary", 5, 0.74, 0.84, 0.1, 0.1, 0.4),
        ("laftr", None, None, 2.0, "binary", 3, 0.84, 0.84, 0.1, 0.1, 0.4),
        ("laftr", None, None, 3.0, "binary", 0, None, None, None, None, None),
    ]
    pd.DataFrame(settings, columns=[*columns, *metrics]).to_csv(abcfair, index=False)
    fetch_studies.main([str(tmp_path), "--studies", "--abcfair", str(abcfair), "--fairea", str(fairea)])
    assert "did not run with all seeds: 2 settings" in capsys.readouterr().out
    assert not (tmp_path / "results.parquet").exists()

    def check(table: str, study: str) -> pd.DataFrame:
        checked = fb.check_claims(tmp_path / table, "published", "splits", train_share=0.7).to_pandas()
        assert set(checked["study"]) == {study}  # claims of other studies are left out
        return checked

    counts = check("abcfair.parquet", "ABCFair")
    # One value of each cell can be counted by means; no test says anything.
    assert counts["n"].tolist() == [3, 2, 1]
    assert counts["by_rule"].tolist() == pytest.approx([2 / 3, 1, 0])
    assert counts[["low", "high"]].to_numpy().tolist() == [[0, 1]] * 3
    assert set(counts["verdict"]) == {"not decided"}
    of_fairea = check("fairea.parquet", "Fairea")
    assert of_fairea["n"].tolist() == [3, 1]
    assert of_fairea["by_rule"].tolist() == pytest.approx([1 / 3, 0])
    gaps = fb.compare(tmp_path / "fairea.parquet", "splits", train_share=0.7, baseline="constant").to_pandas()
    assert set(gaps.loc[gaps["metric"] == "spd", "baseline_mean"]) == {0.0}
    with pytest.raises(SystemExit, match="not the name of a file of Fairea"):
        fetch_studies.convert_fairea(pd.DataFrame({"file": ["x.txt"]}))


def test_averages_of_the_authors_give_their_counts(data_folder):
    folder = data_folder.parent / "reference"
    paths = [folder / "abcfair" / "abcfair-school-fair-labels.csv", folder / "fairea" / "fairea-rq1-rq2.csv"]
    if not all(path.is_file() for path in paths):
        pytest.skip("needs the averages that `python benchmarks/fetch_studies.py --help` describes")
    abcfair, fairea = map(pd.read_csv, paths)
    tables = [fetch_studies.convert_abcfair(abcfair), fetch_studies.convert_fairea(fairea)]
    n_worse = []
    for table in tables:
        checked = fb.check_claims(table, "published", "splits", train_share=0.7).to_pandas()
        n_worse += [(n, round(n * share)) for n, share in zip(checked["n"], checked["by_rule"], strict=True)]
    assert n_worse == [(407, 405), (178, 178), (161, 160), (68, 67), (150, 14), (30, 12)]
