"""Going on under other versions, and what a results folder says about those it holds."""

import json
import shutil

import pytest
from conftest import Finished, derived, two_lines, write_config

import fairbench_cli as fb
from fairbench_cli.base.errors import UserError
from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.experiment.journal.journal import JournalHeader, header_line
from fairbench_cli.experiment.versions import PACKAGES, versions_of_numbers


@pytest.fixture
def older(finished: Finished, tmp_path):
    """Results of an older SciPy: those of this one, with another header and one repeat less."""
    folder = tmp_path / "older"
    shutil.copytree(finished.folder, folder)
    (path,) = folder.glob("journal/*.jsonl")
    head, *lines = path.read_bytes().splitlines()
    header = json.loads(head)
    del header["crc"]
    header["versions"]["scipy"] = "1.0.0"
    header = header_line(JournalHeader.model_validate(header))
    path.write_bytes(b"\n".join([header, *lines[:-1], b""]))
    return folder


def test_going_on_under_other_versions_is_refused_with_the_remedy(finished, older, say):
    def files():
        return {p.name: p.read_bytes() for p in older.iterdir() if p.is_file() and p.name != ".lock"}

    before = files()
    done = say("run", finished.config, "-o", older, "--jobs", "1")
    two_lines(done, "scipy 1.0.0, now ", "--mix-versions")
    assert files() == before
    with pytest.raises(UserError, match="mix_versions=True"):
        fb.run(finished.config, folder=older)


def test_mixed_versions_are_recorded_and_said(finished, older, say):
    done = say("run", finished.config, "-o", older, "--jobs", "1", "--mix-versions")
    assert done.code == 0, done.err
    assert derived(older) == derived(finished.folder)
    manifest = json.loads((older / "manifest.json").read_text())
    assert [one["lines"] for one in manifest["journals"]] == [11, 1]
    assert [one["mixed"] for one in manifest["journals"]] == [False, True]
    assert set(manifest["mixed_versions"]) == {"scipy"}
    done = say("report", older)
    assert done.code == 0
    assert "these results mix versions: scipy 1.0.0, " in done.err


def test_what_has_nothing_to_do_needs_no_versions(finished, older, say):
    config = write_config(older / "one.yaml", interventions=["none"], repeats=1)
    done = say("run", config, "-o", older, "--jobs", "1")
    assert done.code == 0, done.err


def test_the_packages_that_a_plug_in_imports_are_among_them(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import yaml, numpy, json\nfrom other import tree\nclass Mine:\n"
        "    def fit(self, X, y): return self\n    def predict(self, X): return X[:, 0]\n"
    )
    (tmp_path / "other.py").write_text("import joblib\ntree = 1\n")
    path = write_config(tmp_path / "c.yaml", classifiers=["./mine.py:Mine"])
    versions = versions_of_numbers(read_config(path))
    assert set(versions.packages) == {"python", *PACKAGES, "PyYAML", "joblib"}
    assert versions.code["mine.py:Mine"].startswith("sha256:")


@pytest.mark.parametrize("how", ["gone", "empty", "shorter"])
def test_a_report_never_replaces_results_whose_journal_is_lost(finished: Finished, tmp_path, say, how):
    copy = tmp_path / "copy"
    shutil.copytree(finished.folder, copy)
    (path,) = copy.glob("journal/*.jsonl")
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(b"" if how == "empty" else b"".join(path.read_bytes().splitlines(True)[:-1]))
    two_lines(say("report", copy), path.name, "run the experiment again")
    two_lines(say("compare", copy, "--paper", "cardoso2019"), path.name)
    assert derived(copy) == derived(finished.folder)
    assert say("run", finished.config, "-o", copy, "--jobs", "1", "--quiet").code == 0
    assert derived(copy) == derived(finished.folder)
    assert say("report", copy).code == 0


def test_a_damaged_plan_or_manifest_is_refused_and_written_anew_by_a_run(finished: Finished, tmp_path, say):
    copy = tmp_path / "copy"
    shutil.copytree(finished.folder, copy)
    for name, old, new in (
        ("plan.json", '"beta": 1.0', '"beta": 1.5'),
        ("manifest.json", '"lines": 1', '"lines": 0'),
    ):
        text = (copy / name).read_text()
        assert old in text
        (copy / name).write_text(text.replace(old, new))
        two_lines(say("report", copy), name, "damaged")
        assert say("run", finished.config, "-o", copy, "--jobs", "1", "--quiet").code == 0
        assert say("report", copy).code == 0
    assert derived(copy) == derived(finished.folder)
