"""Tables of other people's studies: the shapes that they are published in, each read right or refused."""

import gzip
import re
import sqlite3

import numpy as np
import pandas as pd
import pytest
from conftest import law, write_parquet
from hypothesis import given
from hypothesis import strategies as st
from workbooks import Sheet, write_workbook

from fairbench_cli.base.errors import UserError
from fairbench_cli.studies.cell_keys import combine_codes
from fairbench_cli.studies.table import read_study


def law_of(size, seed=0):
    return np.random.default_rng(seed).random(size).round(6)


def tidy(repeats=4, **more):
    """A tidy table: 2 data sets, 3 techniques, 2 metrics; `more` are further columns, by row number."""
    columns = {"data": ["adult", "german"], "technique": ["none", "rw", "dir"], "metric": ["accuracy", "spd"]}
    index = pd.MultiIndex.from_product([*columns.values(), range(repeats)], names=[*columns, "repeat"])
    frame = index.to_frame(index=False).assign(value=law_of(len(index)))
    return frame.assign(**{name: [cell(row) for row in range(len(frame))] for name, cell in more.items()})


def wide(repeats=4):
    """A table with a column per metric."""
    frame = tidy(repeats).pivot(index=["data", "technique", "repeat"], columns="metric", values="value")
    return frame.reset_index().rename_axis(columns=None)


def by_cell(study, *names):
    """Return the values of each cell as a list, by its keys."""
    names = names or ("data", "technique", "metric")
    keys = study.keys[list(names)].itertuples(index=False, name=None)
    return dict(zip(keys, study.values.tolist(), strict=True))


def grouped(frame, *names):
    """Return the same of a tidy frame, by pandas."""
    names = names or ("data", "technique", "metric")
    return {tuple(map(str, key)): rows["value"].tolist() for key, rows in frame.groupby(list(names))}


def same(study, frame):
    assert by_cell(study) == grouped(frame)
    assert study.keys.columns.tolist()[:3] == ["data", "technique", "metric"]


def refused(*words, **given_options):
    """Check that a table is refused in two lines that hold all words; `source` is the table."""
    source = given_options.pop("source")
    with pytest.raises(UserError) as error:
        read_study(source, **given_options)
    assert re.fullmatch(r"(.+: )?error: [^\n]+\n  fix: [^\n]+", str(error.value)), str(error.value)
    for word in words:
        assert word in str(error.value), str(error.value)


def text_of(study):
    return "\n".join(study.notes)


def test_a_tidy_table_is_the_same_in_every_format(tmp_path, pl, pa):
    frame = tidy()
    text = frame.to_csv(index=False)
    (tmp_path / "t.csv").write_text(text)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    frame.to_csv(tmp_path / "t.tsv", sep="\t", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    with sqlite3.connect(tmp_path / "t.db") as database:
        frame.to_sql("study", database, index=False)
    paths = [tmp_path / f"t.{ending}" for ending in "csv csv.gz tsv parquet jsonl db".split()]  # noqa: SIM905
    frames = [frame, pl.DataFrame(frame), pa.Table.from_pandas(frame), pl.DataFrame(frame).lazy()]
    for source in [*paths, *map(str, paths), *frames]:
        study = read_study(source)
        same(study, frame)
        assert study.repeats == ("0", "1", "2", "3")
        assert study.roles == {role: role for role in ("data", "technique", "repeat", "metric", "value")}
    assert read_study(frame).keys.iloc[0].tolist() == ["adult", "none", "accuracy"]  # as in the first row


def test_names_of_columns_are_understood_or_given():
    frame = tidy()
    usual = {"data": "Data Set", "technique": "Method", "repeat": "random_state", "metric": "measure_name"}
    same(read_study(frame.rename(columns=usual | {"value": "score"})), frame)
    others = {"data": "a", "technique": "b", "repeat": "c", "metric": "d", "value": "e"}
    same(read_study(frame.rename(columns=others), others), frame)
    study = read_study(frame.rename(columns=others), others)
    assert study.roles == others
    assert "technique = b" in text_of(study)


def test_what_is_missing_or_unclear_is_asked_for():
    frame = tidy()
    refused(
        *("a technique", '"treat"', "--columns technique=COLUMN"),
        source=frame.rename(columns={"technique": "treat"}),
    )
    refused("a value", "--columns value=COLUMN", "--values", source=frame.rename(columns={"value": "x"}))
    both = frame.assign(algorithm="lr").rename(columns={"technique": "method"})
    refused('"algorithm"', '"method"', "--columns technique=", source=both)
    same(read_study(both, {"technique": "method"}), frame)
    refused("no role", '"technique"', source=frame, columns={"techniqe": "technique"})
    refused("no column", source=frame, columns={"technique": "techniqe"})
    refused("no column", source=frame, values=["spd"])
    refused("leave out", source=wide(), columns={"value": "spd"}, values=["spd"])


def test_other_columns_tell_cells_apart_if_they_are_needed():
    lr = tidy().assign(classifier="lr", attribute="sex")
    more = lr.assign(classifier="rf", value=law_of(len(lr), 1))
    frame = pd.concat([lr, more, more.assign(attribute="race", value=law_of(len(lr), 2))])
    study = read_study(frame)
    names = ("data", "technique", "metric", "classifier", "attribute")
    assert study.keys.columns.tolist() == list(names)
    assert by_cell(study, *names) == grouped(frame, *names)


def test_a_column_that_is_shared_by_techniques_stays_and_an_empty_one_goes():
    frame = tidy().assign(study="mine", empty=None)
    frame["rows"] = frame["data"].map({"adult": 45222, "german": 1000})
    study = read_study(frame)
    assert study.keys.columns.tolist() == ["data", "technique", "metric", "study", "rows"]
    assert set(study.keys["rows"]) == {"45222", "1000"}
    assert "empty" in text_of(study)


def test_notes_of_runs_are_left_out_with_a_note():
    rng = np.random.default_rng(5)
    seconds = rng.random(1000).round(2)
    frame = tidy(
        run_time=lambda row: seconds[row],
        started=lambda row: f"2025-01-{row % 28 + 1:02}",
        host=lambda row: f"node{row % 2}",
        uuid=lambda row: f"{row:08x}",
        n_models=lambda row: row % 3,
    ).assign(version=lambda rows: rows["technique"].map({"none": "1.0", "rw": "2.1", "dir": "2.2"}))
    study = read_study(frame)
    same(study, frame)
    assert study.keys.shape[1] == 3
    for name in ("run_time", "started", "host", "uuid", "n_models", "version"):
        assert name in text_of(study), name


def test_seeds_of_their_own_for_each_model_leave_models_apart():
    frame = pd.concat(
        [
            tidy(6).assign(classifier="lr"),
            tidy(6).assign(classifier="rf", repeat=lambda rows: rows.repeat + 100),
        ]
    )
    study = read_study(frame)
    assert study.keys["classifier"].value_counts().tolist() == [12, 12]
    assert study.values.shape == (24, 12)
    assert np.isnan(study.values).sum() == 24 * 6


def test_amlb(tmp_path):
    """Results of the AutoML benchmark: a fold is a repeat, its seed, times and messages are notes."""
    rng = np.random.default_rng(0)
    lines = [
        "id,task,framework,constraint,fold,result,metric,mode,version,params,utc,duration,models_count,seed,info,auc"
    ]
    expected = {}
    for task in ("adult", "kc1"):
        for framework in ("autogluon", "constantpredictor", "flaml"):
            expected[task, framework] = []
            for fold in range(10):
                value = round(rng.random(), 6)
                failed = framework == "flaml" and fold == 3
                expected[task, framework].append(np.nan if failed else value)
                info = "NoResultError: timeout" if failed else ""
                lines.append(
                    f"openml.org/t/{len(task)},{task},{framework},1h8c,{fold},{'' if failed else value},auc,"
                    f"aws,{len(framework)}.1,,2023-07-1{fold}T0{fold}:11:22,{rng.random() * 3600:.1f},"
                    f"{rng.integers(1, 9)},{rng.integers(10**9)},{info},{'' if failed else value}"
                )
    (tmp_path / "results.csv").write_text("\n".join(lines) + "\n")
    study = read_study(tmp_path / "results.csv")
    assert study.keys.columns.tolist() == ["data", "technique", "metric", "id", "constraint", "mode"]
    np.testing.assert_array_equal(study.values, list(expected.values()))
    assert study.keys[["data", "technique"]].to_numpy().tolist() == [list(key) for key in expected]
    assert study.roles == {
        "data": "task",
        "technique": "framework",
        "repeat": "fold",
        "metric": "metric",
        "value": "result",
    }
    for name in ("version", "params", "utc", "duration", "models_count", "seed", "info", "auc"):
        assert name in text_of(study)


def benchopt():
    """Results of benchopt: a column per metric, and what it notes of runs and machines."""
    rng = np.random.default_rng(1)
    index = pd.MultiIndex.from_product(
        [["adult", "compas"], ["sex", "race"], ["none", "rw[level=1]"], range(5)],
        names=["data_name", "data_param_attribute", "solver_name", "idx_rep"],
    )
    numbers = rng.random((len(index), 4))
    names = ["time", "objective_value", "objective_spd", "objective_depth"]
    frame = index.to_frame(index=False).assign(objective_name="Fairness", stop_val=1, platform="Linux")
    notes = {"system-cpus": 8, "version-numpy": None, "benchmark-git-tag": "v1"}
    return frame.assign(**notes, **dict(zip(names, numbers.T, strict=True)))


def test_benchopt(tmp_path):
    frame = benchopt()
    write_parquet(frame, tmp_path / "benchopt.parquet")
    study = read_study(tmp_path / "benchopt.parquet")
    assert study.values.shape == (2 * 2 * 2 * 2, 5)
    assert "objective_depth" in text_of(study)
    assert study.roles["value"] == "objective_value,objective_spd"
    cells = by_cell(study, "data", "technique", "metric", "data_param_attribute")
    rows = frame.query("data_name == 'compas' and solver_name == 'none' and data_param_attribute == 'race'")
    assert cells["compas", "none", "objective_spd", "race"] == rows["objective_spd"].tolist()
    assert cells["compas", "none", "objective_value", "race"] == rows["objective_value"].tolist()
    # What is given is all that is read.
    alone = read_study(frame, {"value": "objective_depth"})
    assert set(alone.keys["metric"]) == {"objective_depth"}


def test_abcfair():
    """Means without repeats, of techniques with a strength each: a row is a cell."""
    rng = np.random.default_rng(2)
    rows = []
    for name, statistic, strengths in (
        ("no_method", None, [None]),
        ("LearningFairRepr", None, [0.1, 0.5, 1.0, 2.0, 5.0]),
        ("fairret_norm", "dem_par", [0.1, 0.5, 1.0, 2.0]),
        ("fairret_norm", "eq_opp", [0.1, 0.5, 1.0, 2.0]),
    ):
        for strength in strengths:
            row = {"method/name": name, "method/statistic": statistic, "method/fairness_strength": strength}
            for metric in ("accuracy", "hard/binary/dem_par"):
                row |= {f"test/{metric}_mean": rng.random(), f"test/{metric}_std": rng.random() / 9}
                row[f"test/{metric}_count"] = 5
            rows.append(row)
    study = read_study(pd.DataFrame(rows))
    names = ["technique", "metric", "method/statistic", "method/fairness_strength"]
    assert study.keys.columns.tolist()[:4] == names
    assert study.repeats == ("1",)
    assert study.values.ravel().tolist() == [
        row[f"test/{metric}_mean"] for row in rows for metric in ("accuracy", "hard/binary/dem_par")
    ]
    assert "test/accuracy_std" in text_of(study)
    # Its parameters can be read as a part of the technique.
    joined = "+".join(["method/name", *names[2:]])
    techniques = read_study(pd.DataFrame(rows), {"technique": joined}).keys["technique"]
    assert "--columns technique=method/name+method/statistic+method/fairness_strength" in text_of(study)
    assert techniques.iloc[[0, -1]].tolist() == ["no_method", "fairret_norm+eq_opp+2.0"]
    assert techniques.nunique() == len(rows)


def test_fairea():
    """A row per file of results, without a column of techniques."""
    names = [f"Results/RQ1-RQ2/dt/{name}_dt_adult_sex_0_50.txt" for name in ("co1", "op", "rw")]
    columns = {"file": names, "repeats": 50, "spd": law_of(3), "spd_sd": law_of(3, 1), "acc": law_of(3, 2)}
    frame = pd.DataFrame(columns | {"acc_sd": law_of(3, 3), "aod": law_of(3, 4)})
    refused("a technique", '"file"', source=frame)
    study = read_study(frame, {"technique": "file"})
    assert study.keys["metric"].tolist() == ["spd", "acc", "aod"] * 3
    assert study.values.ravel().tolist() == frame[["spd", "acc", "aod"]].to_numpy().ravel().tolist()


def test_a_spreadsheet_with_a_title(tmp_path):
    frame = tidy()
    rows = [["Table 3: our results"], [], list(frame.columns), *frame.to_numpy().tolist()]
    path = write_workbook(tmp_path / "t.xlsx", Sheet("notes", [["see sheet 2"]]), Sheet("values", rows))
    same(read_study(path), frame)
    same(read_study(path, table="values"), frame)
    rows[5][4] = "failed"
    bad = write_workbook(tmp_path / "bad.xlsx", Sheet("values", rows))
    refused("bad.xlsx:row 6", '"value" has "failed"', source=bad)


def test_semicolons_and_decimal_commas(tmp_path):
    frame = tidy()
    frame.to_csv(tmp_path / "t.csv", sep=";", decimal=",", index=False)
    study = read_study(tmp_path / "t.csv")
    same(study, frame)
    assert "decimal comma" in text_of(study)


def test_percents(tmp_path):
    frame = tidy().assign(value=lambda rows: rows["value"].round(3))
    percents = frame.assign(value=[f"{100 * value:.1f}%" for value in frame["value"]])
    study = read_study(percents)
    assert np.allclose(study.values, read_study(frame).values, atol=1e-12)
    assert "%" in text_of(study)


def test_a_wide_table():
    frame = tidy()
    table = wide().assign(accuracy_std=0.01, depth=3)
    same(read_study(table), frame)
    assert read_study(table).roles["value"] == "accuracy,spd"
    same(read_study(table, values=["accuracy", "spd"]), frame)
    alone = read_study(table.assign(metric="x"), values=["depth"])  # with a column of metrics, one of values
    assert set(alone.keys["metric"]) == {"x"}
    assert set(read_study(table, values=["depth"]).keys["metric"]) == {"depth"}


def test_techniques_in_columns_are_to_be_made_rows():
    frame = tidy()
    table = frame.pivot(index=["data", "metric", "repeat"], columns="technique", values="value").reset_index()
    refused("a technique", "frame.melt", source=table.rename_axis(columns=None))
    melted = table.melt(["data", "metric", "repeat"], var_name="technique")  # as the message says
    same(read_study(melted), frame)


def test_a_pivot_with_names_of_two_levels(tmp_path):
    frame = tidy()
    pivot = frame.pivot(index=["data", "repeat"], columns=["technique", "metric"], values="value")
    refused("2 levels", "frame.stack([0, 1])", source=pivot)
    same(read_study(pivot.stack([0, 1]).rename("value").reset_index()), frame)  # as the message says
    pivot.to_csv(tmp_path / "pivot.csv")
    refused("several are called", "one line of names", source=tmp_path / "pivot.csv")


def test_an_index_is_read_if_it_has_names(tmp_path):
    frame = tidy()
    same(read_study(frame.set_index(["data", "technique", "metric", "repeat"])), frame)
    same(read_study(frame.set_axis(range(7, 7 + len(frame)))), frame)
    frame.to_csv(tmp_path / "t.csv")  # with an index that has no name
    study = read_study(tmp_path / "t.csv")
    same(study, frame)
    assert "without a name" in text_of(study)
    again = pd.read_csv(tmp_path / "t.csv")  # where it is called Unnamed: 0
    assert read_study(again).keys.shape[1] == 3


def test_rows_that_come_twice_count_once():
    frame = tidy(uuid=lambda row: f"{row:06x}")
    study = read_study(pd.concat([frame, frame.iloc[3:8].assign(uuid="new")]))
    same(study, frame)
    assert "5 values" in text_of(study)
    other = pd.concat([frame, frame.iloc[[3]].assign(uuid="new", value=9.5)])
    refused("row 49", "row 4", "9.5", "uuid", "--columns repeat=COLUMN", source=other)


def test_repeats_with_gaps_are_missing_values():
    frame = tidy(12).drop([1, 5, 30])
    frame.loc[7, "value"] = np.nan
    study = read_study(frame)
    assert study.repeats == tuple(map(str, range(12)))  # in the order of numbers, not of texts
    assert np.isnan(study.values).sum() == 4
    assert np.isnan(study.values[0, [1, 5, 7]]).all()
    assert np.nansum(study.values) == pytest.approx(frame["value"].sum())


def test_blanks_around_texts_are_trimmed(tmp_path):
    frame = tidy()
    spaced = frame.copy()
    spaced.loc[::3, "technique"] = " " + spaced["technique"] + " "
    spaced.loc[::5, "data"] += "\t"
    spaced.columns = [f" {name} " for name in spaced.columns]
    spaced.to_csv(tmp_path / "t.csv", index=False)
    same(read_study(tmp_path / "t.csv"), frame)
    same(read_study(spaced, {"technique": "technique", "repeat": "repeat"}), frame)
    joined = read_study(spaced, {"technique": "data+technique"})
    assert joined.keys["technique"].unique().tolist()[:2] == ["adult+none", "adult+rw"]


def test_words_for_missing_values(tmp_path):
    lines = [
        "technique,seed,accuracy",
        "none,1,0.5",
        "none,2,NaN",
        "none,3,",
        "rw,1,NA",
        "rw,2,nan",
        "rw,3,1e-3",
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    study = read_study(tmp_path / "t.csv")
    np.testing.assert_array_equal(study.values, [[0.5, np.nan, np.nan], [np.nan, np.nan, 0.001]])
    for word in ("high", "inf", "0.5 (0.1)", "0.5±0.1"):
        (tmp_path / "t.csv").write_text("\n".join([*lines, f"rw,4,{word}"]))
        refused("t.csv:8", f'"accuracy" has "{word}"', source=tmp_path / "t.csv")


def test_without_repeats_the_rows_of_a_cell_are_its_repeats():
    frame = tidy(time=lambda row: 2.0 * row, n_models=lambda row: row)
    study = read_study(frame.drop(columns="repeat"))
    same(study, frame)
    assert study.repeats == ("1", "2", "3", "4")
    assert "No column of repeats" in text_of(study)
    single = read_study(tidy(1).drop(columns="repeat"))
    assert single.repeats == ("1",)
    assert "No column of repeats" not in text_of(single)


def test_repeated_folds_are_asked_for_and_read_together():
    frame = tidy(6).assign(run=lambda rows: rows["repeat"] // 3, fold=lambda rows: rows["repeat"] % 3)
    folds = frame.drop(columns="repeat")
    refused('"run"', '"fold"', "--columns repeat=run+fold", source=folds)
    study = read_study(folds, {"repeat": "run+fold"})
    same(study, frame)
    assert study.repeats == ("0+0", "0+1", "0+2", "1+0", "1+1", "1+2")


def test_models_are_techniques_where_there_is_nothing_else():
    frame = tidy()
    model = frame.rename(columns={"technique": "model"})
    same(read_study(model), frame)
    # Next to classifiers models are techniques, too.
    both = pd.concat([model.assign(classifier="lr"), model.assign(classifier="rf", value=0.25)])
    assert read_study(both).keys.columns.tolist() == ["data", "technique", "metric", "classifier"]


def test_a_column_that_is_called_like_a_role_and_has_none():
    frame = tidy().assign(method=lambda rows: rows["technique"].str.upper(), technique="pre")
    study = read_study(frame, {"technique": "method"})
    assert study.keys.columns.tolist() == ["data", "technique", "metric", "technique (column)"]
    assert set(study.keys["technique"]) == {"NONE", "RW", "DIR"}


def test_tracked_runs():
    """As MLflow writes them: a row per run, with parameters and metrics."""
    columns = {"params.method": list("nnrr"), "params.seed": [0, 1, 0, 1], "metrics.accuracy": law_of(4)}
    study = read_study(pd.DataFrame({"run_id": list("abcd")} | columns))
    assert study.keys.to_dict("list") == {"technique": ["n", "r"], "metric": ["metrics.accuracy"] * 2}
    assert study.values.ravel().tolist() == columns["metrics.accuracy"].tolist()


def test_one_row(tmp_path):
    (tmp_path / "t.csv").write_text("method,accuracy\nrw,0.8\n")
    study = read_study(tmp_path / "t.csv")
    assert study.values.tolist() == [[0.8]]
    assert study.keys.to_dict("records") == [{"technique": "rw", "metric": "accuracy"}]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("t.csv", "", ["file is empty"]),
        ("t.csv", "\n", ["file is empty"]),
        ("t.csv", "technique,repeat,accuracy\n", ["no rows below"]),
        ("t.csv", "technique,repeat,value\nnone,1,good\n", ["t.csv:2", '"value" has "good"']),
        ("t.csv", "technique,repeat,value\nnone,1\n", ["t.csv:2", "2 cells"]),
        ("t.csv", "0.1,0.2\n0.3,0.4\n", ["a technique"]),
        ("t.jsonl", '{"technique": 1\n', ["t.jsonl:1", "not JSON"]),
        ("t.json", "[[1, 2]]", ["JSON array"]),
        ("t.parquet", "PAR1", ["Parquet"]),
    ],
)
def test_what_cannot_be_read_says_so_in_two_lines(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    refused(*words, source=tmp_path / name)


def test_what_is_no_table_says_so_in_two_lines(tmp_path):
    refused("no such file", source=tmp_path / "none.csv")
    refused("folder", source=tmp_path)
    refused("is no table", source=[1, 2])
    refused("no columns", source=pd.DataFrame())


def test_repeats_that_hardly_any_cell_has_are_refused():
    n = 9000
    frame = pd.DataFrame({"method": [f"m{row}" for row in range(n)], "seed": range(n), "acc": law_of(n)})
    refused("9,000 repeats", "--columns repeat=COLUMN", source=frame)


@law(20)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_rows_and_columns_changes_no_value(seed):
    rng = np.random.default_rng(seed)
    frame = tidy().assign(classifier="lr", host="a")
    frame = pd.concat([frame, frame.assign(classifier="rf", value=law_of(len(frame), 1))])
    frame["duration"] = rng.random(len(frame))
    frame["host"] = rng.choice(["a", "b"], len(frame))
    shuffled = frame.iloc[rng.permutation(len(frame)), rng.permutation(frame.shape[1])]
    names = ("data", "technique", "metric", "classifier")
    study = read_study(shuffled)
    assert by_cell(study, *names) == grouped(frame, *names)


@law(100)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 50), st.integers(0, 2)), min_size=1))
def test_combined_codes_are_those_of_the_combinations(rows):
    columns = [pd.factorize(np.array(column), sort=True)[0] for column in zip(*rows, strict=True)]
    combined = combine_codes(columns)
    assert len(set(zip(combined.tolist(), rows, strict=True))) == len(set(rows)) == combined.max() + 1


@pytest.mark.gate
def test_every_value_of_a_large_table_comes_back(tmp_path):
    """Of the shape of three published studies: 20 or 50 repeats, some techniques with one classifier."""
    rng = np.random.default_rng(11)
    frames = []
    for study, repeats, classifiers in (("a", 50, "lr rf svm dl"), ("b", 20, "lr rf"), ("c", 20, "dl")):
        for data in ("adult", "compas"):
            for technique in range(10):
                for classifier in ["lr"] if technique % 5 == 4 else classifiers.split():
                    cell = {"study": study, "data": data, "attribute": "sex", "classifier": classifier}
                    index = pd.MultiIndex.from_product(
                        [range(10), range(repeats)], names=["metric", "repeat"]
                    )
                    rows = index.to_frame(index=False).assign(technique=f"t{technique}", **cell)
                    frames.append(rows)
    frame = pd.concat(frames)
    frame["value"] = rng.random(len(frame))
    write_parquet(frame, tmp_path / "large.parquet")
    study = read_study(tmp_path / "large.parquet")
    names = ("study", "data", "classifier", "technique", "metric")
    assert np.isfinite(study.values).sum() == len(frame)
    cells = {key: [x for x in row if not np.isnan(x)] for key, row in by_cell(study, *names).items()}
    assert cells == grouped(frame, *names)
