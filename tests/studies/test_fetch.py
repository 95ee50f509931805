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


def make_clone(path: Path, files: dict[str, str], archive: dict[str, str] | None = None) -> None:
    """Make a repository of some files, and of others in Results.zip."""
    git("init", "--quiet", str(path))
    for name, text in files.items():
        (path / name).parent.mkdir(exist_ok=True, parents=True)
        (path / name).write_text(text)
    if archive:
        with ZipFile(path / "Results.zip", "w") as zipped:
            for name, text in archive.items():
                zipped.writestr(name, text)
    git("-C", str(path), "add", ".")
    git("-C", str(path), "commit", "--quiet", "--message", "results")


def make_repository(path: Path, files: dict[str, str], archive: dict[str, str]) -> str:
    """Make a bare repository whose later commit takes the files away; return the earlier commit."""
    work = path.parent / f"{path.name} work"
    make_clone(work, files, archive)
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


def check_published(table: str | Path | pd.DataFrame, study: str) -> pd.DataFrame:
    """What comes out of the claims of a study; those of others are left out."""
    checked = fb.check_claims(table, "published", "splits", train_share=0.7).to_pandas()
    assert set(checked["study"]) == {study}
    return checked


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_fairea_stands_beside_a_constant_and_its_line(tmp_path):
    rng = np.random.default_rng(5)

    def repeats(spd: float, accuracy: float) -> str:
        values = np.abs(rng.normal([spd, accuracy, spd / 2], 0.002, (50, 3)))
        return "".join(" ".join(map(str, row)) + "\n" for row in values)

    def line(accuracy: float, gap: float) -> str:
        share = np.arange(11) / 10
        blocks = []
        for head, values in (
            ("Accuracy", accuracy + (0.75 - accuracy) * share),
            ("SPD", gap * (1 - share)),
            ("AOD", gap / 2 * (1 - share)),
        ):
            texts = [" ".join(map(str, row)) for row in (values, values - 1, values - 2)]
            blocks.append("\n".join([head, *texts]))
        return "\n".join(blocks) + "\n"

    folder = "Results/RQ1-RQ2/lr"
    files = {
        "Results/RQ4/lr_adult_sex.txt": line(0.85, 0.2),
        f"{folder}/rew_lr_adult_sex_0_50.txt": repeats(0.1, 0.83),  # the line has .8 there
        f"{folder}/lfr_lr_adult_sex_0_50.txt": repeats(0.1, 0.74),
        f"{folder}/eo_lr_adult_sex_0_50.txt": repeats(0.3, 0.84),  # a larger gap, less accurate
        f"{folder}/roc1_lr_adult_sex_Statistical parity difference_0_50.txt": repeats(0.3, 0.86),
    }
    make_clone(tmp_path / "maxhort" / "Fairea", files)
    fetch_studies.main([str(tmp_path), "--studies", "fairea", "--source", tmp_path.as_uri()])
    checked = check_published(tmp_path / "fairea.parquet", "Fairea").set_index("claim")
    of_line = checked.loc["Mitigation is poor: a bad trade-off, or less accurate with a larger gap"]
    assert (of_line["n"], of_line["by_rule"], of_line["low"], of_line["high"]) == (8, 0.5, 0.5, 0.5)
    of_constant = checked.loc["The more frequent label for everybody is more accurate than mitigation"]
    assert (of_constant["n"], of_constant["by_rule"]) == (4, 0.25)
    gaps = fb.compare(tmp_path / "fairea.parquet", "splits", train_share=0.7, baseline="constant").to_pandas()
    assert set(gaps["n"]) == {50}
    assert set(gaps.loc[gaps["metric"] == "spd", "baseline_mean"]) == {0.0}
    points = fetch_studies.read_fairea_line("lr_adult_sex", line(0.85, 0.2))
    # The original model, split by split: the mean of its leads is that of its means, 0, at the line's bend.
    original = pd.DataFrame({"spd": rng.normal(0.2, 0.03, 50), "acc": rng.normal(0.85, 0.01, 50)})
    original += [0.2, 0.85] - original.mean()
    leads = fetch_studies.lead_over_line(original["acc"], original["spd"], points.sort_values("spd"))
    assert leads.mean() == pytest.approx(0, abs=1e-9)
    assert leads.std() > 0.005
    with pytest.raises(SystemExit, match="not the name of a file of Fairea"):
        fetch_studies.convert_fairea(pd.DataFrame({"file": ["x.txt"]}), points)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_abcfair_stands_beside_a_constant_of_each_seed(tmp_path, capsys):
    def runs_of(
        technique: str, lead: float, gap: float, strength: float | None, seeds: int = 5
    ) -> list[dict]:
        runs = []
        for seed in range(seeds):
            accuracy = fetch_studies.PASSED[seed] / fetch_studies.N_PUPILS + lead + (seed - 2) / 2000
            run = dict.fromkeys(fetch_studies.ABCFAIR_METRICS, gap)
            run |= {"test/accuracy": accuracy, "test/f1_score": 0.9, "seed": seed, "val/accuracy": 0.8}
            run |= {"method/name": technique, "method/fairness_strength": strength, "optim/lr": 0.001}
            runs.append(run | {"data/main_sens_format": "binary" if lead < 0 else "parallel"})
        return runs

    runs = runs_of("fairret", -0.02, 0.1, 0.5) + runs_of("fairret", 0.01, 0.1, 0.5)
    runs += runs_of("fairret", 0.0, 0.0, 2.0) + runs_of("no_method", -0.08, 0.2, None)
    runs += runs_of("laftr", 0.1, 0.1, 2.0, seeds=3)
    path = f"{fetch_studies.ABCFAIR[2]}/{fetch_studies.ABCFAIR_FILE}"
    repository = tmp_path / fetch_studies.ABCFAIR[0]
    make_clone(repository, {path: pd.DataFrame(runs).to_csv(index=False)})
    commit = git("-C", str(repository), "rev-parse", "HEAD")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fetch_studies, "ABCFAIR", (fetch_studies.ABCFAIR[0], commit, fetch_studies.ABCFAIR[2]))
        fetch_studies.main([str(tmp_path), "--studies", "abcfair", "--source", tmp_path.as_uri()])
    assert "did not run once with each seed: 1 settings" in capsys.readouterr().out
    counts = check_published(tmp_path / "abcfair.parquet", "ABCFair")
    assert counts["n"].tolist() == [3, 2, 1]  # not the one that decides alike for everybody
    assert counts["by_rule"].tolist() == pytest.approx([2 / 3, 1, 0])
    # The constant is that of each test set: its accuracy differs by up to .05, the lead over it by .002.
    assert counts["low"].tolist() == pytest.approx([2 / 3, 1, 0])


def test_averages_of_the_authors_give_their_counts(data_folder):
    folder = data_folder.parent / "reference"
    paths = [folder / "abcfair" / "abcfair-school-fair-labels.csv", folder / "fairea" / "fairea-rq1-rq2.csv"]
    if not all(path.is_file() for path in paths):
        pytest.skip("no means over the repeats of both studies")
    abcfair, fairea = map(pd.read_csv, paths)
    has_all_seeds = (abcfair["test/accuracy_count"] > 0) & (abcfair["test/accuracy_count"] % 5 == 0)
    abcfair = abcfair[has_all_seeds].rename(columns=lambda name: name.removesuffix("_mean"))
    lines = pd.read_csv(Path(__file__).parents[1] / "reference" / "rejudge" / "fairea_lines.csv")
    n_worse = []
    for table in (fetch_studies.convert_abcfair(abcfair), fetch_studies.convert_fairea(fairea, lines)):
        rounded = table.assign(value=table["value"].round(5))  # as the means are
        checked = fb.check_claims(rounded, "published", "splits", train_share=0.7).to_pandas()
        n_worse += [(n, round(n * share)) for n, share in zip(checked["n"], checked["by_rule"], strict=True)]
        # One value of each cell can be counted by means; no test says anything.
        assert set(checked["verdict"]) <= {"not decided", "no number"}
        assert checked[["low", "high"]].drop_duplicates().to_numpy().tolist() == [[0, 1]]
    of_abcfair = [(407, 405), (178, 178), (161, 160), (68, 67)]
    assert n_worse == of_abcfair + [(150, 14), (30, 12), (300, 186)]
