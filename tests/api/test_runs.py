"""Runs from Python: the files of the command line, as frames."""

import pickle

import pandas as pd
import pytest
from conftest import SMALL, Finished, derived, write_config

import fairbench_cli as fb
from fairbench_cli.api.run import RunFrames


@pytest.fixture(scope="module")
def ran(tmp_path_factory, warm_server):
    return fb.run(SMALL, folder=tmp_path_factory.mktemp("ran"))


def test_a_dict_gives_the_files_of_the_command_line(ran, finished: Finished):
    assert derived(ran.folder) == derived(finished.folder)
    whole = ran.groups.astype(dict.fromkeys(["tn", "fp", "fn", "tp"], "Int64"))  # some repeats have no counts
    for name, frame in (ran.frames | {"groups": whole}).items():
        assert frame.to_csv(index=False, lineterminator="\n") == (finished.folder / f"{name}.csv").read_text()
    same = fb.load_results(finished.folder)
    assert all(same.frames[name].equals(frame) for name, frame in ran.frames.items())
    assert all(same.tables[name].equals(table) for name, table in ran.tables.items())


def test_frames_and_what_is_shown(ran):
    assert {"results", "groups", "summary", "paired", "pareto"} <= set(ran.frames)
    assert all(isinstance(frame, pd.DataFrame) for frame in (*ran.frames.values(), *ran.tables.values()))
    assert ran.summary["mean"].dtype == ran.results["value"].dtype == float
    assert ran.groups["tp"].dtype == float
    assert ran.paired["beta"].unique().tolist() == ran.pareto["beta"].unique().tolist() == [0.0, 1.0]
    assert ran.to_pandas("paired") is ran.paired
    assert repr(ran).startswith("<Run small: repeats: 10 ok, 2 infeasible; frames: results, groups")
    part = ran._repr_html_()
    assert "compas" in part
    assert part.count("<svg") == 1
    assert ">massaging</text>" in part
    assert not {"<style", "<script"} & set(part.split(" "))
    assert ran.failures == {}
    again = pickle.loads(pickle.dumps(ran))  # noqa: S301
    assert again.summary.equals(ran.summary)
    with pytest.raises(TypeError, match='did you mean "summary"'):
        ran.to_pandas("sumary")


def test_what_was_found_is_at_hand_in_memory_and_from_the_folder(ran):
    again = fb.load_results(ran.folder)
    assert again.stored is None
    assert again.found.results.rows.equals(ran.found.results.rows)
    assert repr(again.answer) == repr(ran.answer)  # NaN are not equal
    assert {one.technique for one in ran.answer.settings[0].findings} >= {"massaging", "uniform-sampling"}


def test_figures_are_those_of_the_report(ran):
    from matplotlib.figure import Figure

    figure = ran.plot()
    assert isinstance(figure, Figure)
    assert "compas" in figure.texts[0].get_text()
    with pytest.raises(fb.UserError, match='figure is called "curvs"\n  fix: did you mean "curves"'):
        ran.plot("curvs")
    with pytest.raises(fb.UserError, match=r"the figure sweep needs a sweep\n  fix: in the config write"):
        ran.plot("sweep")
    with pytest.raises(fb.UserError, match=r'has none of "adult"\n  fix: use one of: compas'):
        ran.plot("pareto", of="adult")


def test_a_folder_is_gone_on_from_and_a_temporary_one_goes_away(ran, capsys, monkeypatch, tmp_path):
    before = len(list(ran.folder.glob("journal/*")))
    more = fb.run(SMALL, folder=str(ran.folder), changes={"repeats": 1}, progress=True)
    assert capsys.readouterr().err == ""  # nothing was left to do
    assert len(list(ran.folder.glob("journal/*"))) == before
    assert more.summary["n"].unique().tolist() == [1]
    monkeypatch.chdir(tmp_path)
    config = write_config(tmp_path / "small.yaml")
    one = {"repeats": 1, "sample.beta": (0.5,)}
    few = fb.run(config, changes=one, only="intervention=none", progress=True)
    assert capsys.readouterr().err.endswith("\r1 of 1 repeats\n")
    assert few.folder is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.yaml"]
    assert few.results["intervention"].unique().tolist() == ["none"]
    assert len(fb.run(SMALL, only=["intervention=none", "beta=1"]).results) == 8


def test_a_repeat_that_is_counted_on_the_record_too_is_one():
    groups = {"dataset": "x", "world": "label", "labels": ["true", "recorded"] * 2, "repeat": [0, 0, 1, 1]}
    status = {"status": ["ok", "ok", "failed", "failed"], "reason": ["", "", "why", "why"]}
    run = RunFrames("w", {"groups": pd.DataFrame(groups | status)}, {})
    assert repr(run) == "<Run w: repeats: 1 ok, 1 failed; frames: groups>"
    assert run.failures == {"why": 1}


def test_failures_are_counted(tmp_path):
    (tmp_path / "mine.py").write_text(
        "class Mine:\n    def fit(self, train, classifier, rng):\n        1 / 0\n"
    )
    mine = f"{tmp_path}/mine.py:Mine"
    found = fb.run(SMALL | {"interventions": ["none", mine]}, changes={"sample.beta": [0]})
    assert found.failures == {"ZeroDivisionError: division by zero": 2}
    assert "2 ok, 2 failed" in repr(found)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: fb.run(SMALL | {"repeets": 2}),
            'config: error: unknown key "repeets"\n  fix: did you mean "rep',
        ),
        (lambda: fb.run({}), 'key "name" is missing'),
        (lambda: fb.run(SMALL | {"classifiers": [object()]}), "is not a classifier"),
        (lambda: fb.run(3), "a dict of its keys"),
        (lambda: fb.run("no.yaml"), "no.yaml"),
        (lambda: fb.run("quickstart", changes={"repeets": 1}), "repeets"),
        (lambda: fb.run(SMALL, jobs=0), "jobs is 0"),
        (lambda: fb.run(SMALL, only="intervention=nun"), "none, uniform"),
        (lambda: fb.run(SMALL, changes={"sample.bta": 1}), '"bta"'),
        (lambda: fb.load_results("none"), "holds no results"),
    ],
)
def test_mistakes(call, said):
    with pytest.raises(fb.UserError, match=said):
        call()
