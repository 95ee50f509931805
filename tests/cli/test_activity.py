"""What a command that takes long says of itself."""

import time

from fairbench_cli.cli import activity
from fairbench_cli.cli.activity import Activity
from fairbench_cli.network.structure import LearnSettings, learn_structure


def test_a_quick_one_says_nothing(capfd):
    with Activity("reading x.csv"):
        pass
    assert capfd.readouterr().err == ""


def test_a_pipe_gets_results_and_errors_alone(capfd, monkeypatch):
    monkeypatch.setattr(activity, "QUICK", 0.0)
    with Activity("reading x.csv") as shown:
        shown.tell("counting", lambda: 41.7)
        time.sleep(0.05)
    assert capfd.readouterr() == ("", "")


def test_on_a_terminal_a_line_that_goes(capfd, monkeypatch):
    monkeypatch.setattr(activity, "QUICK", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with Activity("reading [x].csv") as shown:
        shown.tell("counting [x].csv", lambda: 50.0)
        time.sleep(0.5)
        shown.tell("computing", lambda: 1 / 0)  # what it looks at has ended
        time.sleep(0.5)
    err = capfd.readouterr().err
    assert "counting [x].csv" in err
    assert "50 %" in err
    assert "computing" in err


def test_what_is_told_of_a_structure_and_of_an_audit(tmp_path):
    import pandas as pd

    from fairbench_cli.api.network import to_table
    from fairbench_cli.audit.api import run
    from fairbench_cli.audit.config import AuditConfig

    said = []
    frame = pd.DataFrame({"score": [1, 0, 1, 0] * 30, "sex": ["f", "m", "f", "m"] * 30})
    learn_structure(to_table(frame.astype(str)), LearnSettings(), lambda what, _: said.append(what))
    assert said == [
        "looking for the structure: 0 arcs after 0 moves",
        "looking for the structure: 1 arcs after 1 moves",
    ]
    far = []
    run(frame, AuditConfig(), tell=lambda what, how: far.append((what, how)))
    assert [what for what, _ in far] == [
        "counting the rows of data frame, pass by pass",
        "computing intervals and tests",
    ]
