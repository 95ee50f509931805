"""Repeats of another folder of results: copied where they are the same, to the byte, else computed."""

import json
import shutil
from pathlib import Path

import pytest
from conftest import derived, edit_lines, fairbench, journal_lines, two_lines, write_config

import fairbench_cli as fb
from fairbench_cli.experiment.journal.journal import header_line, opened, parse_header

SAMPLE = {"from": "shipped", "beta": 0.5, "size": 300}


def bare(folder: Path) -> set[str]:
    """The lines of all journals without the time that they took, and where rows are kept."""
    lines = set()
    for line in journal_lines(folder):
        row = json.loads(line)
        del row["crc"], row["seconds"]
        row.pop("predictions", None)
        lines.add(json.dumps(row, sort_keys=True))
    return lines


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run with everything that can be kept, and configs of the same cells under another name."""
    base = tmp_path_factory.mktemp("reuse")
    whole = write_config(
        base / "whole.yaml", sample=SAMPLE, predictions=True, sweep="acceptance-rate", name="whole"
    )
    first = run(whole, base / "study")
    assert first.returncode == 0, first.stderr
    return base


def run(config, out, *more):
    return fairbench("run", config, "-o", out, "-j", "1", *more)


def test_a_renamed_study_computes_nothing_and_its_files_are_the_same_bytes(runs):
    config = write_config(
        runs / "again.yaml", sample=SAMPLE, predictions=True, sweep="acceptance-rate", name="again"
    )
    copied = run(config, runs / "copied", "--reuse", runs / "study")
    fresh = run(config, runs / "elsewhere" / "fresh")
    assert (copied.returncode, fresh.returncode) == (0, 0), copied.stderr + fresh.stderr
    n = len(journal_lines(runs / "study"))
    assert f"{n} repeats copied from {runs / 'study'}\n{n} repeats: {n} done, 0 to do" in copied.stderr
    assert derived(runs / "copied") == derived(runs / "elsewhere" / "fresh")
    assert bare(runs / "copied") == bare(runs / "elsewhere" / "fresh")
    (entry,) = json.loads((runs / "copied" / "manifest.json").read_text())["journals"]
    assert entry["reused_from"] == str(runs / "study")
    (entry,) = json.loads((runs / "study" / "manifest.json").read_text())["journals"]
    assert "reused_from" not in entry
    assert fairbench("verify", runs / "copied", "--cells", "3").returncode == 0
    # The same command again has nothing to copy.
    again = run(config, runs / "copied", "--reuse", runs / "study")
    assert f"0 repeats copied from {runs / 'study'}\n" in again.stderr
    assert len(journal_lines(runs / "copied")) == n


def test_what_is_not_asked_for_is_not_copied(runs):
    config = write_config(runs / "less.yaml", sample=SAMPLE, name="less")
    copied = run(config, runs / "less", "--reuse", runs / "study")
    fresh = run(config, runs / "elsewhere" / "less")
    assert (copied.returncode, fresh.returncode) == (0, 0)
    assert derived(runs / "less") == derived(runs / "elsewhere" / "less")
    assert bare(runs / "less") == bare(runs / "elsewhere" / "less")
    assert not list((runs / "less" / "journal").glob("*.rows"))


def test_what_lacks_something_or_is_another_cell_is_computed(runs, tmp_path):
    n = len(journal_lines(runs / "study"))
    plain = write_config(tmp_path / "plain.yaml", sample=SAMPLE, name="plain")
    assert run(plain, tmp_path / "plain").returncode == 0
    for changes, folder, n_copied in (
        ({"predictions": True}, tmp_path / "plain", 0),  # its records have no rows
        ({"seed": 5}, runs / "study", 0),
        ({"sample": SAMPLE | {"beta": [0.5, 1.0]}}, runs / "study", n),
    ):
        config = write_config(tmp_path / "other.yaml", **{"sample": SAMPLE, "name": "other"} | changes)
        done = run(config, tmp_path / "other", "--reuse", folder)
        assert done.returncode == 0, done.stderr
        assert f"{n_copied} repeats copied from {folder}\n" in done.stderr
        shutil.rmtree(tmp_path / "other")


def test_damaged_and_foreign_records_are_computed_again_and_named(runs, tmp_path):
    config = write_config(tmp_path / "again.yaml", sample=SAMPLE, name="again")
    fresh = run(config, tmp_path / "elsewhere" / "fresh")
    assert fresh.returncode == 0
    study = shutil.copytree(runs / "study", tmp_path / "damaged")
    (path,) = study.glob("journal/*.jsonl")
    text = path.read_text().splitlines()
    n = len(text) - 1
    text[3] = text[3].replace('"status": "ok"', '"status": "OK"')
    path.write_text("\n".join([*text, ""]))
    done = run(config, tmp_path / "one", "--reuse", study)
    assert "they are not reused" in " ".join(done.stderr.split())
    assert f"{n - 1} repeats copied from" in done.stderr
    assert f"{n} repeats: {n - 1} done, 1 to do" in done.stderr
    assert derived(tmp_path / "one") == derived(tmp_path / "elsewhere" / "fresh")
    # Counts of other test rows, by somebody who knows the checksums.
    study = shutil.copytree(runs / "study", tmp_path / "foreign")
    edit_lines(study, lambda row: row["counts"][0][0].__setitem__(0, 1e6), 2)
    done = run(config, tmp_path / "two", "--reuse", study)
    assert f"{n - 1} repeats copied from" in done.stderr
    assert derived(tmp_path / "two") == derived(tmp_path / "elsewhere" / "fresh")


def test_records_of_other_or_unknown_versions_are_not_copied(runs, tmp_path):
    config = write_config(tmp_path / "again.yaml", sample=SAMPLE, name="again", predictions=True)
    study = shutil.copytree(runs / "study", tmp_path / "study")
    (path,) = study.glob("journal/*.jsonl")
    head, *lines = path.read_bytes().splitlines()
    body, checked = opened(head)
    header = parse_header(body, checked, "here")
    other = header.model_copy(update={"versions": header.versions | {"numpy": "1.0"}})
    path.write_bytes(b"\n".join([header_line(other), *lines, b""]))
    n = len(lines)
    done = run(config, tmp_path / "out", "--reuse", study)
    assert "0 repeats copied from" in done.stderr
    assert f"{n} repeats of {study} not copied" in done.stderr
    assert f"0 done, {n} to do" in done.stderr
    mixed = ("run", config, "-o", tmp_path / "mixed", "-j", "1", "--reuse", study, "--mix-versions")
    done = fairbench(*mixed)
    assert f"{n} repeats copied from" in done.stderr
    assert json.loads((tmp_path / "mixed" / "manifest.json").read_text())["told_to_mix_versions"]
    path.write_bytes(b"\n".join([*lines, b""]))
    done = run(config, tmp_path / "headless", "--reuse", study)
    assert f"{n} repeats of {study} not copied" in done.stderr


def test_a_folder_next_to_the_runs_own_is_named_where_it_has_some_of_it(runs, tmp_path):
    shutil.copytree(runs / "study", tmp_path / "study")
    config = write_config(tmp_path / "again.yaml", sample=SAMPLE, name="again")
    n = len(journal_lines(runs / "study"))
    planned = fairbench("plan", config, "-o", tmp_path / "again")
    hint = f"{n} of these are done in {tmp_path / 'study'}: --reuse {tmp_path / 'study'} copies them"
    assert hint in " ".join(planned.stdout.split())
    done = run(config, tmp_path / "again")
    assert hint in " ".join(done.stderr.split())
    assert "of these are done" not in run(config, tmp_path / "again").stderr
    other = write_config(tmp_path / "other.yaml", sample=SAMPLE, name="other", seed=77)
    assert "of these are done" not in fairbench("plan", other, "-o", tmp_path / "other").stdout
    # A plan or journal that cannot be read is no matter of another run's.
    (tmp_path / "study" / "plan.json").write_bytes(b"\xff{")
    assert "study" not in fairbench("plan", config, "-o", tmp_path / "third").stdout.partition("results:")[
        0
    ].replace(str(tmp_path / "again"), "")


def test_what_cannot_be_reused_is_refused(runs, say, tmp_path):
    config = write_config(tmp_path / "again.yaml", sample=SAMPLE, name="again")
    two_lines(say("run", config, "-o", tmp_path / "out", "--reuse", tmp_path), "--reuse", "holds no journal")
    own = say("run", config, "-o", runs / "study", "--reuse", runs / "study")
    two_lines(own, "--reuse", "leave it out")


def test_python_reuses_too(runs, tmp_path):
    small = json.loads((runs / "study" / "plan.json").read_text())["config"]
    config = small | {"name": "python", "predictions": False, "sweep": None}
    result = fb.run(config, folder=tmp_path / "out", reuse=runs / "study")
    assert result.folder == tmp_path / "out"
    (entry,) = json.loads((tmp_path / "out" / "manifest.json").read_text())["journals"]
    assert entry["reused_from"] == str(runs / "study")
