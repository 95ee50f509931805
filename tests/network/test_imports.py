"""Only the conversion to pomegranate loads torch, when it is called."""

import subprocess
import sys
from pathlib import Path

import fairbench_cli.network

MODULES = sorted(path.stem for path in Path(fairbench_cli.network.__path__[0]).glob("[a-z]*.py"))


def test_importing_the_room_is_light():
    code = f"""
import importlib, sys
for name in {MODULES}:
    importlib.import_module("fairbench_cli.network." + name)
heavy = {{"torch", "pomegranate", "sklearn", "numba", "scipy"}} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert {"pomegranate", "family_counts", "query"} <= set(MODULES)
