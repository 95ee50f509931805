"""The tiers of tests: planted tests go where they belong, and fail by name where a rule is turned off."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import tiers
from conftest import environment

PLANTED = {
    "process": """
        import subprocess, sys
        def test_planted():
            subprocess.run([sys.executable, "-c", ""], check=True)
    """,
    "command_line": """
        from conftest import fairbench
        def test_planted():
            assert fairbench("--version").returncode == 0
    """,
    "browser": """
        def test_planted(browser_page):
            browser_page.goto("about:blank")
    """,
    "worlds": """
        from conftest import worlds
        def test_planted():
            assert list(worlds(100))
    """,
    "data_file": """
        def test_planted(data_folder):
            (data_folder / "ricci.csv").read_bytes()
    """,
    "seconds": """
        import time
        def test_planted():
            end = time.process_time() + 0.6
            while time.process_time() < end:
                pass
    """,
}
SAID = {
    "process": "uses a process, which is of the tier gate, not inner",
    "command_line": "uses a process, which is of the tier gate, not inner",
    "browser": "uses a browser, which is of the tier gate, not inner",
    "data_file": "uses a data file, which is of the tier gate, not inner",
    "worlds": "uses simulated worlds, which is of the tier nightly, not inner",
    "seconds": "more than the 0.5 of the tier inner: make it cheaper, or mark it @pytest.mark.gate",
}
DEFAULTS = {"FAIRBENCH_SLOWNESS": str(1 / tiers.COLD), "FAIRBENCH_ALL_THERE": ""}
RULES_OFF = "import tiers\ntiers.used_by = lambda item: set()\n"


def outcomes(folder: Path, planted: dict[str, str], *arguments: str, **env: str) -> str:
    """Run planted tests in a process of their own; return what pytest prints."""
    tests, plugins = folder / "tests", folder / "plugins"
    for place in (tests, plugins):
        place.mkdir(exist_ok=True)
    for name, code in planted.items():
        (tests / f"test_{name}.py").write_text(textwrap.dedent(code), encoding="utf-8")
    (plugins / "rules_off.py").write_text(RULES_OFF, encoding="utf-8")
    settings = "-c", str(tiers.ROOT / "pyproject.toml"), "--rootdir", str(tests), "-n0", "-p", "conftest"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *settings, "-rA", *arguments, str(tests)],
        env=environment(PYTHONPATH=f"{tiers.TESTS}:{plugins}", COLUMNS="200", **{**DEFAULTS, **env}),
        cwd=tests,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def test_tests_go_where_they_belong(tmp_path):
    said = outcomes(tmp_path, PLANTED, "-m", "gate", "--collect-only", "-q")
    assert {name for name in PLANTED if f"test_{name}.py" in said} == set(PLANTED) - {"seconds", "worlds"}
    said = outcomes(tmp_path, PLANTED, "-m", "nightly", "--collect-only", "-q")
    assert {name for name in PLANTED if f"test_{name}.py" in said} == set(PLANTED)


def test_with_its_rule_turned_off_a_test_fails_by_the_name_of_its_tier(tmp_path, data_folder, chromium):
    """As a test fails that hides what it uses from the rule; the budget of seconds has no rule."""
    said = outcomes(tmp_path, PLANTED, "-m", "inner", "-p", "rules_off")
    assert f"{len(PLANTED)} failed" in said, said
    for name, reason in SAID.items():
        assert re.search(
            rf"^FAILED test_{name}\.py::test_planted - .*{re.escape(reason)}", said, re.MULTILINE
        ), said


def test_a_test_that_lacks_what_was_installed_fails(tmp_path):
    lacking = "import pytest\ndef test_planted():\n    pytest.skip('needs a thing: pip install thing')\n"
    assert "1 skipped" in outcomes(tmp_path, {"lacking": lacking}, "-m", "inner")
    said = outcomes(tmp_path, {"lacking": lacking}, "-m", "inner", FAIRBENCH_ALL_THERE="1")
    assert "skipped, though all that it needs was installed: needs a thing" in said


def test_what_a_page_names_is_looked_at(monkeypatch):
    page = tiers.ROOT / "docs/tutorial.md"
    for changed, runs in (
        ("docs/tutorial.md", True),
        ("fairbench_cli/cli/audit.py", True),
        ("docs/web.md", False),
    ):
        monkeypatch.setattr(tiers, "changed_of_late", lambda changed=changed: frozenset({changed}))
        assert tiers.page_changed(page) is runs


@pytest.mark.gate
def test_rooms_above_a_change_are_tested(monkeypatch):
    monkeypatch.setattr(tiers, "changed_files", lambda _: frozenset({"fairbench_cli/report/write.py"}))
    rooms = {path.relative_to(tiers.TESTS).parts[0] for path in tiers.touched_tests("HEAD")}
    assert {"report", "test_architecture.py", "api", "cli"} <= rooms
    assert not {"measures", "data", "network", "classifiers", "interventions"} & rooms
