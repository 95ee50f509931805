"""Tables for `fairbench compare` of what others publish: their repeats, fetched and made tidy.

usage: python benchmarks/fetch_studies.py FOLDER [--studies [NAME ...]] [--source ADDRESS]

Every repeat of five studies, from the files in their authors' repositories on GitHub, at one commit each but
Fairea's (git is needed, and the network; some MB):

  tosem2023  chenzhenpeng18/TOSEM23-BiasMitigationStudy      50 repeats  FOLDER/results.parquet
  icse2024   chenzhenpeng18/ICSE24-Multi-Attribute-Fairness  20 repeats  FOLDER/results.parquet
  fse2025    chenzhenpeng18/FSE25-ZeroSum                    20 repeats  FOLDER/results.parquet
  fairea     maxhort/Fairea, its newest commit               50 repeats  FOLDER/fairea.parquet
  abcfair    aida-ugent/abcfair, fair labels                  5 repeats  FOLDER/abcfair.parquet

  fairbench compare FOLDER/results.parquet --design splits --train-share 0.7 --claims published

Files that are no result files by their names are left out, and named. --studies says which are fetched;
--source where the repositories are (https://github.com), which may be a folder of clones.

In fairea and abcfair a constant stands as a baseline (--baseline constant): in abcfair it accepts everybody,
in fairea it gives everybody the more frequent label. fairea has Fairea's line as well (--baseline line), the
original model with a part of its predictions replaced by that label: lead_spd and lead_aod are how much
more accurate a technique is than the line at the same gap, or, with a larger gap than the original, than the
original. Below 0 is what Fairea calls poor: a bad trade-off, or less accurate with a larger gap. The line is
one of means, so it is followed straight on from a technique's mean gap; it is taken as known.

No licence is named in some of the repositories: the files are for your own use.
"""

import argparse
import os
import re
import subprocess
import tempfile
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from pathlib import Path
from zipfile import ZipFile

import duckdb
import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Row = tuple[str, str, str, str, str, int, str, float]
COLUMNS = ["study", "data", "attribute", "classifier", "technique", "repeat", "metric", "value"]
SORT = ["study", "data", "attribute", "classifier", "technique", "metric", "repeat"]
SOURCE = "https://github.com"
RESULT_NAME = re.compile(r"([a-z]+\d?)_([a-z]+\d?)_([a-z]+\d?)_([A-Za-z]+)\.txt")
"""The name of a result file: technique, classifier, data set, protected attribute."""


@dataclass(frozen=True)
class Study:
    """A study whose authors publish a file of repeats for each cell.

    Parameters
    ----------
    repository : str
        Owner and name.
    commit : str
        Its hash, perhaps the first digits of it.
    folder : str
        The folder of result files, which may stand there as a zip file.
    n_repeats : int
    metrics : mapping of str to str
        The metric of each line, by what the line begins with, in the order of the lines; empty where it is
        left out.
    n_values : int
        How many values there are at that commit.
    """

    repository: str
    commit: str
    folder: str
    n_repeats: int
    metrics: Mapping[str, str]
    n_values: int


STUDIES = {
    "tosem2023": Study(
        "chenzhenpeng18/TOSEM23-BiasMitigationStudy",
        "58cc5a8582d924dae6ad921c1b45a0691d363c41",
        "Results",
        50,
        {
            "accuracy": "accuracy",
            "recall1": "recall_favourable",
            "recall0": "recall_unfavourable",
            "recall_macro": "recall_macro",
            "precision1": "precision_favourable",
            "precision0": "precision_unfavourable",
            "precision_macro": "precision_macro",
            "f1score1": "f1_favourable",
            "f1score0": "f1_unfavourable",
            "f1score_macro": "f1_macro",
            "roc_auc": "",  # of decisions, not of scores: the same numbers as recall_macro
            "mcc": "mcc",
            "spd": "spd",
            "aod": "aod",
            "eod": "eod",
            "erd": "erd",
        },
        577_500,
    ),
    "icse2024": Study(
        "chenzhenpeng18/ICSE24-Multi-Attribute-Fairness",
        "aeee8de6",
        "Results",
        20,
        {
            "accuracy": "accuracy",
            "recall": "recall",
            "precision": "precision",
            "f1score": "f1",
            "mcc": "mcc",
            "spd": "spd",
            "aod": "aod",
            "eod": "eod",
            "spd2": "spd_other",
            "aod2": "aod_other",
            "eod2": "eod_other",
        },
        123_200,
    ),
    "fse2025": Study(
        "chenzhenpeng18/FSE25-ZeroSum",
        "775a4390ec198c5e4abcf6d9f4f12512d6fc7a14",
        "Results_Single",
        20,
        {
            "accuracy": "accuracy",
            "recall": "recall",
            "precision": "precision",
            "f1score": "f1score",
            "mcc": "mcc",
            "srp": "srp",
            "sru": "sru",
            "fprp": "fprp",
            "fpru": "fpru",
            "tprp": "tprp",
            "tpru": "tpru",
            "spd": "spd",
            "aod": "aod",
            "eod": "eod",
        },
        91_840,
    ),
}

FAIREA_NAME = re.compile(r"([a-z]+\d?)_([a-z]+)_(adult|compas|german)_([a-z]+)_.*\.txt")
"""The name of a file of Fairea: technique, classifier, data set, protected attribute, and how it was made."""
PREPARED = ("op", "rew")
"""Techniques of Fairea that were run on AIF360's prepared versions of the data (`load_preproc_data_…`)."""
LARGER_CLASS: Mapping[tuple[str, str], Fraction] = {
    ("adult", "default"): Fraction(34_014, 45_222),
    ("adult", "prepared"): Fraction(37_155, 48_842),
    ("compas", "default"): Fraction(3_358, 6_167),
    ("compas", "prepared"): Fraction(2_795, 5_278),
    ("german", "default"): Fraction(700, 1_000),
    ("german", "prepared"): Fraction(700, 1_000),
}
"""Rows with the more frequent label, of all rows, in AIF360's versions of the official files.

Adult without rows that have a ?, or all of both files; ProPublica's two-year file within 30 days of the
arrest, without ordinary traffic offences and without missing cells, or of these (missing cells or not)
African-Americans and Caucasians; German credit.
"""

FAIREA = ("maxhort/Fairea", "HEAD", "Results")
ABCFAIR = ("aida-ugent/abcfair", "69a4ae16215b254b264c00e1aeb42f1953422eef", "results")
"""Repository, commit, and the folder of result files."""
ABCFAIR_FILE = "SchoolPerformanceUnbiased.csv"
N_PUPILS = 172  # of each test set
PASSED = {0: 142, 1: 147, 2: 142, 3: 138, 4: 141}
"""How many pupils of each seed's test set have the favourable label."""
ABCFAIR_METRICS = {
    "test/accuracy": "accuracy",
    "test/f1_score": "f1",
    "test/hard/binary/dem_par": "dem_par_binary",
    "test/hard/binary/eq_opp": "eq_opp_binary",
    "test/hard/intersectional/dem_par": "dem_par_intersectional",
}
ABCFAIR_GAPS = ("test/hard/binary/dem_par", "test/hard/intersectional/dem_par")
OF_MODELS = ("method/", "model/", "optim/")
"""How the columns of ABCFair begin that say how a model was trained."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Fetch and convert what the command line says, and print what was written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    others = {"fairea": fetch_fairea, "abcfair": fetch_abcfair}
    names = [*STUDIES, *others]
    parser.add_argument("--studies", nargs="*", choices=names, default=names)
    parser.add_argument("--source", default=SOURCE, metavar="ADDRESS")
    options = parser.parse_args(arguments)
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for name in options.studies:
        if name in others:
            write_table(others[name](options.source), folder / f"{name}.parquet")
        else:
            rows += fetch_study(name, options.source)
    if rows:
        frame = pd.DataFrame.from_records(rows, columns=COLUMNS).sort_values(SORT, kind="stable")
        write_table(frame, folder / "results.parquet")


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame as Parquet, and say so."""
    with duckdb.connect() as database:
        database.register("converted", frame)
        database.execute("COPY converted TO $path (FORMAT PARQUET)", {"path": str(path)})
    print(f"{path}: {len(frame):,} values")


def fetch_study(name: str, source: str = SOURCE) -> list[Row]:
    """Return every repeat of a study, from its repository.

    Raises
    ------
    SystemExit
        Where git cannot get the files, or a file is not as expected.
    """
    study = STUDIES[name]
    with tempfile.TemporaryDirectory() as temporary:
        clone = Path(temporary)
        checkout_results(f"{source}/{study.repository}", study.commit, study.folder, clone)
        rows: list[Row] = []
        left_out = []
        for file_name, text in read_files(clone, study.folder):
            if RESULT_NAME.fullmatch(file_name):
                rows += convert_repeats(name, file_name, text)
            else:
                left_out.append(file_name)
    print(f"{name}: {len(rows):,} values")
    if left_out:
        print(f"{name}: left out, as their names are not of a result: {', '.join(left_out)}")
    if len(rows) != study.n_values:
        print(f"{name}: {study.n_values:,} values were there when its claims were checked")
    return rows


def checkout_results(address: str, commit: str, folder: str, clone: Path) -> None:
    """Check result files out into an empty folder, without a repository's other files or their history.

    They are in a folder, or in a zip file in its place. Servers give a commit by its whole hash alone; a
    clone without contents of files knows all commits.
    """
    run_git("clone", "--quiet", "--filter=blob:none", "--no-checkout", address, str(clone))
    names = run_git("-C", str(clone), "ls-tree", "--name-only", commit).splitlines()
    paths = [path for path in (folder, f"{folder}.zip") if path in names]
    if not paths:
        raise SystemExit(f"{address}: no {folder} and no {folder}.zip at {commit}")
    run_git("-C", str(clone), "checkout", "--quiet", commit, "--", *paths)


def run_git(*arguments: str) -> str:
    """Return what git prints; it never asks for a name or a password."""
    done = subprocess.run(
        ["git", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"GIT_TERMINAL_PROMPT": "0"},
    )
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}\n{done.stderr.strip()}")
    return done.stdout


def read_files(clone: Path, folder: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each file in a folder, or in the zip file that stands for it."""
    for path in sorted((clone / folder).glob("*")):
        if path.is_file():
            yield path.name, path.read_text(encoding="utf-8")
    archive_path = clone / f"{folder}.zip"
    if archive_path.is_file() and not (clone / folder).is_dir():
        with ZipFile(archive_path) as archive:
            for member in sorted(archive.namelist()):
                name = member.rpartition("/")[2]
                # Finder's notes next to the files have their names, after ._
                if name and not name.startswith("."):
                    yield name, archive.read(member).decode("utf-8")


def convert_repeats(study_name: str, file_name: str, text: str) -> list[Row]:
    r"""Return the values of a result file, a row each.

    A line has the name of a metric and a value per repeat, between tabs; after them there may be their mean
    and standard deviation. A line whose name is not known is the metric of its place, as the authors' scripts
    take it.

    Raises
    ------
    SystemExit
        Where lines, values or metrics are missing.

    >>> line = "\t".join(["spd", *["0.125"] * 20, "0.125"])
    >>> names = "accuracy recall precision f1score mcc srp sru fprp fpru tprp tpru x aod eod".split()
    >>> text = "\n".join(line.replace("spd", name) for name in names)
    >>> rows = convert_repeats("fse2025", "rew_lr_mep_RACE.txt", text)
    >>> len(rows), rows[220]
    (280, ('fse2025', 'mep', 'race', 'lr', 'rew', 0, 'spd', 0.125))
    """
    study = STUDIES[study_name]
    name_match = RESULT_NAME.fullmatch(file_name)
    if name_match is None:
        raise SystemExit(f"{study_name}, {file_name}: not the name of a result file")
    technique, classifier, data, attribute = name_match.groups()
    names_in_order = list(study.metrics)
    lines = [line.split("\t") for line in map(str.strip, text.splitlines()) if line]
    if len(lines) != len(names_in_order):
        problem = f"{len(lines)} lines, not one for each of {len(names_in_order)} metrics"
        raise SystemExit(f"{study_name}, {file_name}: {problem}")
    values_of: dict[str, list[str]] = {}
    for usual_name, (line_name, *values) in zip(names_in_order, lines, strict=True):
        if not study.n_repeats <= len(values) <= study.n_repeats + 2:
            problem = f"{len(values)} values of {line_name}, not {study.n_repeats}"
            raise SystemExit(f"{study_name}, {file_name}: {problem}")
        name = line_name if line_name in study.metrics else usual_name
        if name in values_of:
            raise SystemExit(f"{study_name}, {file_name}: two lines of {name}")
        values_of[name] = values[: study.n_repeats]
    rows = []
    for name, values in values_of.items():
        metric = study.metrics[name]
        if metric:
            for repeat, value in enumerate(values):
                cell = (study_name, data, attribute.lower(), classifier, technique)
                rows.append((*cell, repeat, metric, float(value)))
    return rows


def fetch_fairea(source: str = SOURCE) -> pd.DataFrame:
    """Return Fairea's repeats beside its baselines, from its repository."""
    repository, commit, folder = FAIREA
    with tempfile.TemporaryDirectory() as temporary:
        checkout_results(f"{source}/{repository}", commit, folder, Path(temporary))
        results = Path(temporary) / folder
        runs = [read_fairea_runs(path.name, path.read_text()) for path in results.glob("RQ1-RQ2/*/*.txt")]
        lines = [read_fairea_line(path.stem, path.read_text()) for path in results.glob("RQ4/*.txt")]
    if not runs or not lines:
        raise SystemExit(f"{repository}: no files in {folder}/RQ1-RQ2 or in {folder}/RQ4")
    return convert_fairea(pd.concat(runs), pd.concat(lines))


def read_fairea_runs(file_name: str, text: str) -> pd.DataFrame:
    r"""Return the repeats of a result file, whose lines have SPD, accuracy and AOD.

    >>> read_fairea_runs("rew_dt_german_sex_0_50.txt", "0.09 0.67 0.1\n0.11 0.7 0.13\n").to_numpy().tolist()
    [['rew_dt_german_sex_0_50.txt', 0.09, 0.67, 0.1], ['rew_dt_german_sex_0_50.txt', 0.11, 0.7, 0.13]]
    """
    values = [tuple(map(float, line.split())) for line in text.splitlines() if line]
    frame = pd.DataFrame(values, columns=["spd", "acc", "aod"])
    frame.insert(0, "file", file_name)
    return frame


def read_fairea_line(name: str, text: str) -> pd.DataFrame:
    r"""Return the line of an original model, with 0, 10 ... 100 % of its predictions replaced.

    A file has means under the heads Accuracy, SPD and AOD: a line for label 0, which is the more frequent
    one in all three data sets, for labels by chance, and for label 1.

    >>> numbers = " ".join(f"0.{i}" for i in range(11))
    >>> text = "\n".join(["Accuracy", *[numbers] * 3, "SPD", *[numbers] * 3, "AOD", *[numbers] * 3])
    >>> read_fairea_line("dt_adult_race", text).shape
    (11, 6)
    """
    classifier, data, attribute = name.split("_")
    lines = text.splitlines()
    columns = {
        column: list(map(float, lines[lines.index(head) + 1].split()))
        for column, head in (("accuracy", "Accuracy"), ("spd", "SPD"), ("aod", "AOD"))
    }
    return pd.DataFrame({"classifier": classifier, "data": data, "attribute": attribute} | columns)


def convert_fairea(runs: pd.DataFrame, lines: pd.DataFrame) -> pd.DataFrame:
    """Return Fairea's repeats as a tidy table, with a constant and Fairea's line as baselines.

    Parameters
    ----------
    runs : DataFrame
        ``file``, ``spd``, ``acc``, ``aod``; a row per repeat.
    lines : DataFrame
        ``classifier``, ``data``, ``attribute``, ``accuracy``, ``spd``, ``aod``; the points of each line.

    Returns
    -------
    table : DataFrame
        The columns of the studies, and ``version``: whether the data are AIF360's default or its prepared
        ones. Lines are of the default ones.

    >>> path = "Results/RQ1-RQ2/dt/rew_dt_german_sex_0_50.txt"
    >>> runs = pd.DataFrame({"file": [path], "acc": [0.69], "spd": [0.125], "aod": [0.25]})
    >>> line = {"classifier": "dt", "data": "german", "attribute": "sex"}
    >>> lines = pd.DataFrame([line | {"accuracy": 0.75, "spd": 0.25, "aod": 0.2}, line | {"accuracy": 0.7}])
    >>> table = convert_fairea(runs, lines.fillna(0))
    >>> table[["technique", "metric", "value"]].iloc[[0, 3, 5]].to_numpy().tolist()
    [['rew', 'accuracy', 0.69], ['rew', 'lead_spd', -0.035], ['constant', 'accuracy', 0.7]]
    """
    points_of: dict[tuple[Hashable, ...], pd.DataFrame] = {
        key: points.sort_values("spd") for key, points in lines.groupby(["classifier", "data", "attribute"])
    }
    rows = []
    baselines = {}
    for file_name, repeats in runs.groupby("file", sort=False):
        name_match = FAIREA_NAME.fullmatch(str(file_name).rpartition("/")[2])
        if name_match is None:
            raise SystemExit(f"{file_name}: not the name of a file of Fairea")
        technique, classifier, data, attribute = name_match.groups()
        if (classifier, data, attribute) not in points_of:
            raise SystemExit(f"{file_name}: no line of the original model in RQ4")
        points = points_of[classifier, data, attribute]
        version = "prepared" if technique in PREPARED else "default"
        cell = {"study": "fairea", "data": data, "attribute": attribute, "classifier": classifier}
        leads = {gap: lead_over_line(repeats["acc"], repeats[gap], points) for gap in ("spd", "aod")}
        for i, record in enumerate(repeats.to_dict("records")):
            of_repeat = cell | {"version": version, "repeat": str(i)}
            values = {"accuracy": record["acc"], "spd": record["spd"], "aod": record["aod"]}
            values |= {f"lead_{gap}": lead[i] for gap, lead in leads.items()}
            rows += tidy_rows(of_repeat, technique, values)
            constant = {"accuracy": float(LARGER_CLASS[data, version]), "spd": 0.0, "aod": 0.0}
            of_baselines = tidy_rows(of_repeat, "constant", constant)
            of_baselines += tidy_rows(of_repeat, "line", {"lead_spd": 0.0, "lead_aod": 0.0})
            baselines[tuple(of_repeat.values())] = of_baselines
    return pd.DataFrame(rows + list(chain.from_iterable(baselines.values())))


def lead_over_line(accuracy: "pd.Series[float]", gap: "pd.Series[float]", points: pd.DataFrame) -> Floats:
    """Return how much more accurate each repeat is than the line, whose points are sorted by the gap.

    The mean of the leads is the lead of the means: the line bends, and goes on level beyond its ends, so that
    repeats on both sides of a bend would lie above it on average.
    """
    gaps = points[gap.name].to_numpy()
    accuracies = points["accuracy"].to_numpy()
    mean_gap = gap.mean()
    slope = 0.0
    end = int(np.searchsorted(gaps, mean_gap))
    if 0 < end < len(gaps):
        slope = (accuracies[end] - accuracies[end - 1]) / (gaps[end] - gaps[end - 1])
    on_line = np.interp(mean_gap, gaps, accuracies) + slope * (gap - mean_gap)
    return (accuracy - on_line).round(12).to_numpy()


def fetch_abcfair(source: str = SOURCE) -> pd.DataFrame:
    """Return ABCFair's runs on fair labels beside its constant, from its repository."""
    repository, commit, folder = ABCFAIR
    with tempfile.TemporaryDirectory() as temporary:
        checkout_results(f"{source}/{repository}", commit, folder, Path(temporary))
        path = Path(temporary) / folder / ABCFAIR_FILE
        if not path.is_file():
            raise SystemExit(f"{repository}: no {folder}/{ABCFAIR_FILE} at {commit}")
        return convert_abcfair(pd.read_csv(path))


def convert_abcfair(runs: pd.DataFrame) -> pd.DataFrame:
    """Return ABCFair's runs as a tidy table, in which accepting everybody is the baseline.

    Parameters
    ----------
    runs : DataFrame
        The columns of the authors' file, a row per run; without ``seed``, means over all seeds.

    Returns
    -------
    table : DataFrame
        study, data, ``format`` (of the protected attributes), ``setting`` (how the model was trained),
        ``decisions`` ("alike" where a setting decides alike for everybody with every seed, else "vary"),
        technique, repeat, metric and value. Settings that did not run once with each seed are left out.
    """
    training = [name for name in runs if name.startswith(OF_MODELS)]
    runs = runs.dropna(subset=["test/accuracy"])
    rows = []
    n_left_out = 0
    for _, setting in runs.groupby([*training, "data/main_sens_format"], dropna=False, sort=False):
        runs_apart = setting
        if "seed" in setting:
            runs_apart = setting.drop_duplicates(["seed", *ABCFAIR_METRICS])
            if sorted(runs_apart["seed"]) != sorted(PASSED):
                n_left_out += 1
                continue
        first_run = setting.iloc[0]
        cell = {
            "study": "abcfair",
            "data": "school",
            "format": str(first_run["data/main_sens_format"]),
            "setting": ":".join(str(first_run[name]) for name in training if not pd.isna(first_run[name])),
            "decisions": "alike" if (setting[list(ABCFAIR_GAPS)] == 0).all(axis=None) else "vary",
        }
        for record in runs_apart.to_dict("records"):
            seeds = [int(record["seed"])] if "seed" in record else list(PASSED)
            shares = np.array([PASSED[seed] / N_PUPILS for seed in seeds])
            cell["repeat"] = str(record.get("seed", "mean"))
            values = {metric: record[column] for column, metric in ABCFAIR_METRICS.items()}
            constant = dict.fromkeys(values, 0.0)
            constant |= {"accuracy": shares.mean(), "f1": (2 * shares / (1 + shares)).mean()}
            rows += tidy_rows(cell, str(record["method/name"]), values)
            rows += tidy_rows(cell, "constant", constant)
    if n_left_out:
        print(f"abcfair: left out, as they did not run once with each seed: {n_left_out} settings")
    return pd.DataFrame(rows)


def tidy_rows(
    cell: Mapping[str, str], technique: str, values: Mapping[str, float]
) -> list[dict[str, str | float]]:
    """Return a row per metric of a run."""
    return [
        {**cell, "technique": technique, "metric": metric, "value": float(value)}
        for metric, value in values.items()
    ]


if __name__ == "__main__":
    main()
