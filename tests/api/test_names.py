"""What ``import fairbench_cli`` gives: every name, and nothing loaded before it is used."""

import subprocess
import sys

import pytest
from conftest import environment

import fairbench_cli as fb

CODE = """
import sys
start = set(sys.modules)
import fairbench_cli as fb
new = {name.split(".")[0] for name in set(sys.modules) - start}
assert new <= {"fairbench_cli", "importlib", "typing", "collections", "re", "functools", "operator"}, new
assert set(fb.__all__) <= set(dir(fb)) and len(fb.__all__) == 27
fb.audit, fb.UserError
assert not {"numpy", "pandas", "pydantic", "duckdb"} & set(sys.modules)
fb.measure, fb.plan, fb.run, fb.load, fb.learn, fb.load_network, fb.load_results
fb.measure("accuracy", [1, 0], [1, 1], ["a", "b"])
fb.load_network("dutch").tilt(0.5).sample(10)
heavy = {"torch", "pomegranate", "sklearn", "numba", "matplotlib", "polars", "pyarrow", "typer", "rich"}
print(sorted(heavy & set(sys.modules)))
"""


def test_names_are_loaded_when_they_are_used():
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=environment(), capture_output=True, text=True, check=False
    )
    # pandas itself loads pyarrow where it is installed
    assert (done.returncode, done.stdout) in ((0, "['pyarrow']\n"), (0, "[]\n")), done.stderr + done.stdout


def test_every_name_is_there_and_stays_the_same():
    import fairbench_cli.audit.config

    for name in fb.__all__:
        assert callable(getattr(fb, name)), name
        assert getattr(fb, name) is getattr(fb, name)
    assert fb.audit is fairbench_cli.audit
    with pytest.raises(AttributeError, match='has no "lern"\n  fix: did you mean "learn"'):
        fb.lern  # noqa: B018
    assert issubclass(fb.UserError, Exception)
