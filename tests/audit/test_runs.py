"""A cell of a run as what is audited: its counts are the run's, one repeat's, and nothing that needs rows."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import Finished, edit_lines, plain, run_plan, two_lines

import fairbench_cli as fb
from fairbench_cli.audit.scan.from_run import _expand_counts, _find_cell
from fairbench_cli.base.errors import UserError
from fairbench_cli.experiment.plan import CELL_COLUMNS
from fairbench_cli.measures.groups import ProtectedAttribute, ProtectedAttributes
from fairbench_cli.report.ledger.journal_arrays import COUNT_COLUMNS

ONE = "intervention=massaging,beta=1"


def counts_of(folder: Path, attribute: int, repeat: int = 0, **cell: object) -> dict[str, list[int]]:
    """Counts by level of an attribute, as groups.csv has them."""
    frame = pd.read_csv(folder / "groups.csv")
    for name, value in {"repeat": repeat, "intervention": "massaging", "beta": 1, **cell}.items():
        frame = frame[frame[name] == value]
    level = frame["group"].str.split(" × ").str[attribute]
    return {name: part.sum().tolist() for name, part in frame.groupby(level)[COUNT_COLUMNS]}


@pytest.mark.parametrize("repeat", [None, 1])
def test_the_counts_are_those_of_one_repeat(finished: Finished, repeat):
    result = fb.audit(finished.folder, only=ONE, repeat=repeat, draws=0)
    names = (pd.read_csv(finished.folder / "groups.csv")["protected"][0]).split(" × ")
    assert {part.attribute for part in result.report.slices} == set(names)
    for part in result.report.slices:
        expected = counts_of(finished.folder, names.index(part.attribute), repeat or 0)
        found = {g: n.ravel().tolist() for g, n in zip(part.counts.groups, part.counts.n, strict=True)}
        assert found == {name: n for name, n in expected.items() if sum(n)}
    assert result.report.rows == 500
    assert f"repeat {repeat or 0}" in result.report.source


def test_it_is_the_audit_of_the_rows_that_the_counts_stand_for(finished: Finished):
    """The same verdicts and intervals as of arrays with these counts."""
    here = fb.audit(finished.folder, only=ONE, attributes=["race"], seed=3)
    rows = [
        (group, i // 2, i % 2)
        for group, counted in counts_of(finished.folder, 0).items()
        for i, n in enumerate(counted)
        for _ in range(round(n))
    ]
    groups, labels, decisions = zip(*rows, strict=True)
    there = fb.audit(list(labels), list(decisions), {"race": list(groups)}, seed=3)
    pd.testing.assert_frame_equal(here.to_pandas(), there.to_pandas())


def test_the_command_takes_folders_and_their_names(finished: Finished, say, tmp_path: Path):
    Path("results").mkdir()
    Path("results/small").symlink_to(finished.folder)
    done = say("audit", "small", "--only", ONE, "--intersect", "race,sex")
    assert done.code == 0
    plain(done.out)
    assert "500 test rows of repeat 0 (of 2)" in " ".join(done.out.split())
    assert say("audit", finished.folder, "--only", ONE, "-f", "json").out == (
        say("audit", finished.folder, "--only", ONE, "-f", "json", "--repeat", "0").out
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], ("6 cells", "beta 0, 1", "intervention none, massaging, uniform-sampling", "--only")),
        (["--only", "beta=1"], ("3 cells", "beta=1,intervention=none")),
        (["--only", "intervention=masaging"], ("masaging", 'did you mean "massaging"?')),
        (["--only", ONE, "--repeat", "7"], ("repeat 7", "give one of 0, 1")),
        (["--only", "intervention=uniform-sampling,beta=1"], ("infeasible",)),
        (["--only", ONE, "--curves"], ("not the scores", "predictions: true")),
        (["--only", ONE, "--explain", "sex"], ("not the rows", "predictions: true")),
        (["--only", ONE, "--cluster", "sex"], ("not the rows",)),
        (["--only", ONE, "--label", "label"], ("by group and label", "leave it out")),
    ],
)
def test_what_is_not_one_cell_or_not_in_counts_is_refused(finished: Finished, say, options, words):
    two_lines(say("audit", finished.folder, *options), *words)


def test_a_cell_that_only_lacks_a_parameter_is_told_how_to_name(tmp_path: Path):
    cell = dict(zip(CELL_COLUMNS, ("d", "s", "", "original", 0, "massaging", False, "tree"), strict=True))
    tuned = {"tune": {"for": "accuracy", "on": "train", "over": ["ranker"]}}
    cells = [
        cell | {"key": str(i), "parameters": json.dumps(given), "classifier_parameters": "{}"}
        for i, given in enumerate(({"ranker": "tree"}, tuned))
    ]
    plan = run_plan(cells, [])
    with pytest.raises(UserError, match="tune accuracy") as error:
        _find_cell(tmp_path, plan, ())
    example = str(error.value).rpartition("such as ")[2]
    for only in example.split(","):
        assert _find_cell(tmp_path, plan, (only,)) in cells


def test_attributes_called_as_the_rows_columns_keep_their_levels():
    protected = ProtectedAttributes((ProtectedAttribute("label", ("f", "m"), ("f",), ("m",)),))
    frame, _ = _expand_counts(np.array([[[1.0, 2], [0, 0]], [[0, 0], [1, 0]]]), protected)
    assert frame["label_"].tolist() == ["f", "f", "f", "m"]
    assert frame[["label", "decision"]].to_numpy().tolist() == [[0, 0], [0, 1], [0, 1], [1, 0]]


def test_only_and_repeat_are_for_runs(say, tmp_path: Path):
    (tmp_path / "preds.csv").write_text("score,sex\n1,f\n0,m\n")
    two_lines(say("audit", "preds.csv", "--only", ONE), "--only", "folder of results")
    two_lines(say("audit", "preds.csv", "--repeat", "0"), "--repeat")
    with pytest.raises(UserError, match="folder of results"):
        fb.audit("preds.csv", only=ONE)


def test_drawn_decisions_are_counted_in_whole_rows(finished: Finished, tmp_path: Path):
    folder = shutil.copytree(finished.folder, tmp_path / "drawn")

    def blur(row):
        if row["counts"] and row["counts"][0][0][1] >= 1:
            row["counts"][0][0][1] -= 0.25
            row["counts"][0][0][0] += 0.25

    edit_lines(folder, blur)
    drawn, whole = (fb.audit(path, only=ONE, draws=0) for path in (folder, finished.folder))
    assert drawn.report.rows == whole.report.rows
    assert any("drawn at random" in note for note in drawn.report.notes)
    assert json.loads(drawn.to_json())["rows"] == 500


def test_what_is_about_other_files_is_refused_by_its_name(finished: Finished, say):
    folder = str(finished.folder)
    said = say("audit", folder, "--only", ONE, "--table", "T", "--counts", "label")
    assert said.code == 2
    assert said.err == (
        "--table: error: results of a run have no tables to choose from\n  fix: leave it out\n"
        "--counts: error: results of a run have a row per person, not counts of people\n  fix: leave it out\n"
    )


def test_the_example_of_a_filter_names_each_key_once(finished: Finished, say):
    said = say("audit", finished.folder, "--only", "beta=0,beta=1,intervention=massaging")
    two_lines(said, "cells of", "such as intervention=massaging,beta=0")
