"""Folders for temporary files: what a killed process left goes away, what is in use stays."""

import os
import signal
import subprocess
import sys

import pytest
from conftest import environment

from fairbench_cli.base.files import HELD, PREFIX, remove_abandoned_folders, scratch_folder

fcntl = pytest.importorskip("fcntl")

HOLDER = """
import sys, time
from pathlib import Path
from fairbench_cli.base.files import scratch_folder
with scratch_folder(Path(sys.argv[1])) as folder:
    print(folder, flush=True)
    time.sleep(60)
"""


def test_a_folder_in_use_stays_and_that_of_a_killed_process_goes(tmp_path):
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        folder = process.stdout.readline().strip()
        remove_abandoned_folders(tmp_path)
        assert [str(path) for path in tmp_path.iterdir()] == [folder]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    remove_abandoned_folders(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_being_made_stays(tmp_path, monkeypatch):
    lock = fcntl.flock
    seen = []

    def late(descriptor: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        remove_abandoned_folders(tmp_path)  # of another process, just before this one has its lock
        seen.extend(tmp_path.iterdir())
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with scratch_folder(tmp_path) as folder:
        assert seen == [folder]
        assert folder.name.startswith(PREFIX)
        remove_abandoned_folders(tmp_path)
        assert (folder / HELD).exists()
    assert list(tmp_path.iterdir()) == []


def test_where_open_files_cannot_be_moved_there_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    with scratch_folder(tmp_path) as folder:
        assert list(folder.iterdir()) == []
        remove_abandoned_folders(tmp_path)
        assert folder.is_dir()
    assert list(tmp_path.iterdir()) == []
