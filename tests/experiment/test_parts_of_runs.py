"""Parts of runs, and runs that wait or share a name: what is there comes first, and what is not is said."""

import re

import pytest

WAITS = """
import time
from sklearn.linear_model import LogisticRegression

class Remote:
    def fit(self, X, y, sensitive_features):
        try:  # as compiled code within compiled code does with what interrupts it
            try:
                time.sleep(0.7)
            except BaseException as error:
                raise SystemError("with an exception set") from error
        except SystemError as error:
            raise SystemError("with an exception set") from error
        self.model_ = LogisticRegression().fit(X, y)
        return self

    def predict(self, X, sensitive_features):
        return self.model_.predict(X)
"""
CONFIG = """
name: mine
repeats: 2
datasets: [{datasets}]
sample: {{from: shipped, beta: [0.5], size: 200}}
test: network
interventions: [none, {technique}]
classifiers: [naive-bayes]
"""


def config(tmp_path, name: str, datasets: str = "dutch", technique: str = "massaging") -> str:
    (tmp_path / name).write_text(CONFIG.format(datasets=datasets, technique=technique), encoding="utf-8")
    return name


@pytest.mark.gate
def test_a_report_of_other_cells_is_named_when_it_is_replaced(say, tmp_path):
    first, second = config(tmp_path, "a.yaml"), config(tmp_path, "b.yaml", "compas")
    edited = config(tmp_path, "c.yaml", technique="reweighing")
    for call in ([first], [first], [first, "--set", "repeats=3"], [edited]):
        assert "other cells" not in say("run", *call, "-j", "1").err  # editing a config is the usual way
    done = say("run", second, "-j", "1")
    assert "results/mine has a report of other cells (dutch; none is in this run)" in done.err
    assert "or -o results/mine-2\n" in done.err
    done = say("run", edited, "-j", "1")
    assert "4 done, 0 to do" in done.err  # its journal was kept


@pytest.mark.gate
def test_a_part_of_a_run_shows_what_it_has(say, tmp_path):
    path = config(tmp_path, "a.yaml", "german, dutch", "massaging, reweighing")
    part = ["--only", "dataset=dutch,intervention=none", "--only", "dataset=dutch,intervention=massaging"]
    done = say("run", path, "-j", "1", *part)
    assert "\nNot run yet: 4 of 6 cells, of 2 data sets.\n" in done.out  # a line
    assert "german, β" not in done.out
    assert "not run yet" not in done.out
    answer = (tmp_path / "results/mine/answer.md").read_text(encoding="utf-8")
    assert [line for line in answer.splitlines() if line.startswith("## ")] == [
        "## dutch: women against men",
        "## Why believe it?",
    ]
    assert "Not run yet" not in say("run", path, "-j", "1").out
    assert say("run", path, "-j", "1", "--set", "repeats=3", "-o", "more").code == 0
    compared = " ".join(say("compare", "results/mine", "more").out.split())
    assert "Repeats of these cells: mine 2 and more 3; differences are of those that both have." in compared


@pytest.mark.gate
def test_what_waits_is_planned_by_the_clock(say, tmp_path):
    (tmp_path / "mine.py").write_text(WAITS)
    path = config(tmp_path, "a.yaml", technique="./mine.py:Remote")
    assert say("run", path, "-j", "1", "--set", "repeats=5").code == 0
    planned = say("plan", path, "--set", "repeats=105").out
    clock = re.search(
        r"about \d+ s of CPU time left; by the clock (?:(\d+) min )?(\d+) s", " ".join(planned.split())
    )
    assert 60 * int(clock[1] or 0) + int(clock[2]) >= 40  # 100 times 0.7 s, by the pace of five
    done = say("run", path, "-j", "1", "--set", "limits.seconds=0.3", "--set", "seed=2")
    assert "2 repeats of mine.py:Remote overtime: ran for longer than 0.3 s by the clock" in done.err
    assert say("run", path, "-j", "1", "--set", "limits.seconds=3", "--set", "seed=2").code == 0
    path = config(tmp_path, "b.yaml")
    assert say("run", path, "-j", "1").code == 0
    assert "by the clock" not in say("plan", path, "--set", "repeats=9").out
