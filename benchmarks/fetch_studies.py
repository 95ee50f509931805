"""Tables for `fairbench compare` of what others publish: their repeats, fetched and made tidy.

usage: python benchmarks/fetch_studies.py FOLDER [--studies [NAME ...]] [--source ADDRESS]
                                          [--abcfair CSV] [--fairea CSV]

FOLDER/results.parquet: every repeat of three studies, from the result files in their authors' repositories on
GitHub at one commit each (git is needed, and the network; some MB):

  tosem2023  chenzhenpeng18/TOSEM23-BiasMitigationStudy      50 repeats
  icse2024   chenzhenpeng18/ICSE24-Multi-Attribute-Fairness  20 repeats
  fse2025    chenzhenpeng18/FSE25-ZeroSum                    20 repeats

  fairbench compare FOLDER/results.parquet --design splits --train-share 0.7 --claims published

Files that are no result files by their names are left out, and named. --studies says which of the three are
fetched, none if nothing follows it; --source where the repositories are (https://github.com), which may be a
folder of clones.

Two studies are read from averages over repeats. A constant stands as their baseline (--baseline constant). As
there is one value of each cell, they can be counted and not tested.

--abcfair CSV makes FOLDER/abcfair.parquet. The file has mean, standard deviation and count (…_mean, …_std,
…_count) of the runs in results/SchoolPerformanceUnbiased.csv of github.com/aida-ugent/abcfair by method/name,
method/fairret, method/statistic, method/fairness_strength and data/main_sens_format, to five digits. The
constant accepts everybody.

--fairea CSV makes FOLDER/fairea.parquet. The file has a row for each file below Results/RQ1-RQ2 of
github.com/maxhort/Fairea: its path (file), and of its lines the number (repeats), the means of SPD, accuracy
and AOD (spd, acc, aod) and standard deviations. The constant gives everybody the more frequent label.

No licence is named in two of the three repositories: the files are for your own use.
"""

import argparse
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from zipfile import ZipFile

import duckdb
import pandas as pd

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

ABCFAIR_SETTING = ("method/fairret", "method/statistic", "method/fairness_strength")
N_SEEDS = 5
ABCFAIR_METRICS = {
    "test/accuracy_mean": ("accuracy", 0.82558),
    "test/f1_score_mean": ("f1", 0.90437),
    "test/hard/binary/dem_par_mean": ("dem_par_binary", 0.0),
    "test/hard/binary/eq_opp_mean": ("eq_opp_binary", 0.0),
    "test/hard/intersectional/dem_par_mean": ("dem_par_intersectional", 0.0),
}
"""Columns of ABCFair: what they are called here, and the value of accepting everybody.

Of five test sets of 172 pupils 142, 147, 142, 138 and 141 passed: 710 of 860, rounded as the file is.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Fetch and convert what the command line says, and print what was written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--studies", nargs="*", choices=list(STUDIES), default=list(STUDIES))
    parser.add_argument("--source", default=SOURCE, metavar="ADDRESS")
    parser.add_argument("--abcfair", type=Path, metavar="CSV")
    parser.add_argument("--fairea", type=Path, metavar="CSV")
    options = parser.parse_args(arguments)
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for name in options.studies:
        rows += fetch_study(name, options.source)
    if rows:
        frame = pd.DataFrame.from_records(rows, columns=COLUMNS).sort_values(SORT, kind="stable")
        write_table(frame, folder / "results.parquet")
    if options.abcfair:
        write_table(convert_abcfair(pd.read_csv(options.abcfair)), folder / "abcfair.parquet")
    if options.fairea:
        write_table(convert_fairea(pd.read_csv(options.fairea)), folder / "fairea.parquet")


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
        checkout_results(f"{source}/{study.repository}", study, clone)
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


def checkout_results(address: str, study: Study, clone: Path) -> None:
    """Check the result files of a study out into an empty folder, without its other files or their history.

    Servers give a commit by its whole hash alone; a clone without contents of files knows all commits.
    """
    run_git("clone", "--quiet", "--filter=blob:none", "--no-checkout", address, str(clone))
    names = run_git("-C", str(clone), "ls-tree", "--name-only", study.commit).splitlines()
    paths = [path for path in (study.folder, f"{study.folder}.zip") if path in names]
    if not paths:
        raise SystemExit(f"{address}: no {study.folder} and no {study.folder}.zip at {study.commit}")
    run_git("-C", str(clone), "checkout", "--quiet", study.commit, "--", *paths)


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


def convert_fairea(averages: pd.DataFrame) -> pd.DataFrame:
    """Return Fairea's averages as a tidy table, in which a constant of each cell is the baseline.

    Its columns are those of the studies, and ``version``: whether the data are AIF360's default or its
    prepared ones.

    >>> path = "Results/RQ1-RQ2/dt/rew_dt_german_sex_0_50.txt"
    >>> averages = pd.DataFrame({"file": [path], "acc": [0.69], "spd": [0.125], "aod": [0.25]})
    >>> convert_fairea(averages)[["technique", "metric", "value"]].iloc[[0, 3]].to_numpy().tolist()
    [['rew', 'accuracy', 0.69], ['constant', 'accuracy', 0.7]]
    """
    rows = []
    constants = {}
    for record in averages.to_dict("records"):
        name_match = FAIREA_NAME.fullmatch(str(record["file"]).rpartition("/")[2])
        if name_match is None:
            raise SystemExit(f"{record['file']}: not the name of a file of Fairea")
        technique, classifier, data, attribute = name_match.groups()
        version = "prepared" if technique in PREPARED else "default"
        cell = {"study": "fairea", "data": data, "attribute": attribute, "classifier": classifier}
        cell["version"] = version
        values = {"accuracy": record["acc"], "spd": record["spd"], "aod": record["aod"]}
        rows += tidy_rows(cell, technique, values)
        accuracy = float(LARGER_CLASS[data, version])
        constants[tuple(cell.values())] = (cell, {"accuracy": accuracy, "spd": 0.0, "aod": 0.0})
    for cell, values in constants.values():
        rows += tidy_rows(cell, "constant", values)
    return pd.DataFrame(rows)


def convert_abcfair(averages: pd.DataFrame) -> pd.DataFrame:
    """Return ABCFair's averages as a tidy table, in which accepting everybody is the baseline.

    Its columns are study, data, ``format`` (of the protected attributes), ``setting`` (which loss and
    statistic, and how strong), ``decisions`` ("alike" where a setting decides alike for everybody with every
    seed, else "vary"), technique, repeat, metric and value. Settings that did not run with all seeds are left
    out: their test sets have another constant.
    """
    n_runs = averages["test/accuracy_count"]
    has_all_seeds = (n_runs > 0) & (n_runs % N_SEEDS == 0)
    gaps = ["test/hard/binary/dem_par_mean", "test/hard/intersectional/dem_par_mean"]
    is_alike = (averages[gaps] == 0).all(axis=1)
    rows = []
    for record, decides_alike in zip(
        averages[has_all_seeds].to_dict("records"), is_alike[has_all_seeds], strict=True
    ):
        parts = [str(record[column]) for column in ABCFAIR_SETTING if not pd.isna(record[column])]
        cell = {
            "study": "abcfair",
            "data": "school",
            "format": str(record["data/main_sens_format"]),
            "setting": ":".join([str(record["method/name"]), *parts]),
            "decisions": "alike" if decides_alike else "vary",
        }
        values = {metric: record[column] for column, (metric, _) in ABCFAIR_METRICS.items()}
        rows += tidy_rows(cell, str(record["method/name"]), values)
        rows += tidy_rows(cell, "constant", dict(ABCFAIR_METRICS.values()))
    left_out = int((~has_all_seeds).sum())
    if left_out:
        print(f"abcfair: left out, as they did not run with all seeds: {left_out} settings")
    return pd.DataFrame(rows)


def tidy_rows(
    cell: Mapping[str, str], technique: str, values: Mapping[str, float]
) -> list[dict[str, str | float]]:
    """Return a row per metric of a cell whose one value is a mean over repeats."""
    return [
        {**cell, "technique": technique, "repeat": "mean", "metric": metric, "value": float(value)}
        for metric, value in values.items()
    ]


if __name__ == "__main__":
    main()
