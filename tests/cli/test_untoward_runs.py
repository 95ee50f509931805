"""Runs and their like with odd names, full disks and outputs that cannot be written: never a traceback."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import environment, two_lines, write_config

from fairbench_cli.base.errors import UserError
from fairbench_cli.base.strict_yaml import dump_yaml
from fairbench_cli.cli.streams import SUBSTITUTE
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.journal.journal import read_journals
from fairbench_cli.experiment.running.run import compute, prepare

POSIX = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names and limits of POSIX")
ROWS = "sex,y\n" + "f,no\nm,yes\nf,yes\nm,no\n" * 60
CARD = {
    "name": "own",
    "files": ["own.csv"],
    "label": {"column": "y", "favourable": "yes"},
    "protected": {"sex": {"deprived": "f"}},
}
REAL = {"sample": {"from": "data"}, "test": "holdout", "interventions": ["none"], "repeats": 1}


@pytest.mark.gate
@POSIX
def test_names_that_are_not_utf8(say, tmp_path):
    """Of the config, its folder, the card's folder, the data's folder and the results."""
    folder = Path("f\udce9")
    folder.mkdir()
    (folder / "own.csv").write_text(ROWS)
    (folder / "own.yaml").write_text(dump_yaml(CARD))
    config = write_config(folder / "c\udce9.yaml", datasets=["./own.yaml"], **REAL)
    said = say("run", config, "-o", "r\udce9", "--jobs", "1", "--data-dir", folder)
    assert said.code == 0, said.err
    assert "r�/report.html: the page" in said.err
    assert (
        str(tmp_path / folder / "own.yaml")
        in json.loads(Path("r\udce9/plan.json").read_text("utf-8"))["config"]["datasets"][0]
    )
    before = Path("r\udce9/results.csv").read_bytes()
    assert say("report", "r\udce9").code == 0
    assert Path("r\udce9/results.csv").read_bytes() == before
    again = say("plan", "r\udce9/config.yaml", "-o", "r\udce9")
    assert "1 done, 0 to do" in again.out
    assert say("data", "check", folder / "own.yaml", "--data-dir", folder).code == 0
    two_lines(say("plan", "no\udce9.yaml"), "no such file: no�.yaml")
    two_lines(say("report", "no\udce9"), "no� holds no results")
    Path("d\udce9.csv").write_text(ROWS)
    roles = ("--label", "y", "--favourable", "yes", "--protected", "sex=f")
    two_lines(say("init", "d\udce9.csv", *roles), "the name of d�.csv is not UTF-8", "rename the file")
    assert not list(Path().glob("*-run.yaml"))


@POSIX
def test_a_full_disk_keeps_what_is_finished(tmp_path):
    """`ulimit -f` ends a file as a full disk does; here in the middle of the journal."""
    resource = pytest.importorskip("resource")
    (tmp_path / "out").mkdir()
    run = prepare(write_config(tmp_path / "c.yaml", repeats=100), folder=tmp_path / "out")
    listened: list[Repeat] = []

    def outcomes(tasks, watch):
        for task in tasks:
            yield Repeat(task.cell.key, task.repeat, "infeasible", "nothing to draw from " * 9, None)

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(UserError) as caught:
            compute(run, outcomes, listened.append)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    said = str(caught.value)
    assert "File too large\n  fix: make room and run again; finished repeats are kept" in said
    assert said.count("\n") == 1
    reading = read_journals(tmp_path / "out/journal")
    assert 20 < len(listened) == len(reading.records) < 200
    again = prepare(tmp_path / "c.yaml", folder=tmp_path / "out")
    assert again.n_left == again.size - len(listened)
    compute(again, outcomes, lambda _: None)
    assert prepare(tmp_path / "c.yaml", folder=tmp_path / "out").n_left == 0


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_any_encoding_is_written(tmp_path, say, monkeypatch, encoding):
    from fairbench_cli.cli.app import run

    monkeypatch.chdir(tmp_path)
    config = str(write_config(tmp_path / "c.yaml"))
    for command in (["plan", config], ["list"], ["network", "show", "adult"], ["data", "list"]):
        written = io.BytesIO()
        monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding, SUBSTITUTE, newline=""))
        assert run(command) == 0, command
        sys.stdout.flush()
        text = written.getvalue().decode(encoding)
        assert not set("βτ–─…×�") & set(text) - set("×" if encoding == "latin-1" else ""), command


@POSIX
def test_a_run_with_closed_and_full_outputs(tmp_path):
    """Workers start although the command has no standard streams; a full one is told."""
    write_config(tmp_path / "c.yaml", interventions=["none"], repeats=1)
    line = "$fairbench run c.yaml -o out --jobs 1 <&- >&- 2>&-; echo $?; $fairbench report out > /dev/full"
    given = environment(
        fairbench=f"{sys.executable} -m fairbench_cli", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"
    )
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=tmp_path,
        env=given,
        capture_output=True,
        check=False,
        timeout=300,
        text=True,
    )
    assert (done.stdout, done.returncode) == ("0\n", 2), done
    full = "error: cannot write the output: No space left on device\n  fix: send it elsewhere\n"
    assert done.stderr.endswith(full)
    assert (tmp_path / "out/results.csv").is_file()
