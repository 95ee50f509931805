"""The lock of a results folder, held by real processes."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from fairbench_cli.base.errors import UserError
from fairbench_cli.experiment.journal.folder import locked

HOLD = """
import sys, pathlib
from fairbench_cli.experiment.journal.folder import locked
with locked(pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def holding(folder, *shard):
    command = [sys.executable, "-c", HOLD, str(folder), *shard]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_the_second_process_is_told_who_holds_the_folder(tmp_path):
    with holding(tmp_path) as process:
        with pytest.raises(UserError) as caught, locked(tmp_path):
            pass
        (problem,) = caught.value.problems
        assert f"{tmp_path} is in use by process {process.pid} on " in problem.what
        assert "UTC" in problem.what
        assert "--shard" in problem.fix
        with pytest.raises(UserError, match="in use"), locked(tmp_path, "1/2"):
            pass
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with locked(tmp_path):
            pass


def test_shards_share_a_folder_but_no_shard_runs_twice(tmp_path):
    with holding(tmp_path, "1/2"):
        with locked(tmp_path, "2/2"):
            pass
        with pytest.raises(UserError, match="in use"), locked(tmp_path, "1/2"):
            pass
        with pytest.raises(UserError, match="in use"), locked(tmp_path):
            pass


def test_a_program_that_is_started_does_not_keep_the_lock(tmp_path):
    with locked(tmp_path):
        command = [sys.executable, "-c", "print(flush=True); input()"]
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, close_fds=False
        )
    try:
        assert child.stdout is not None
        child.stdout.readline()  # it runs: until then it may still be a copy of this process
        with locked(tmp_path):
            pass
    finally:
        child.kill()
        child.communicate()


def test_the_lock_goes_with_an_error(tmp_path):
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        raise ZeroDivisionError
    with locked(tmp_path):
        pass
