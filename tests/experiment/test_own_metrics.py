"""Metrics that somebody's function defines: in a run, recomputed after an edit, and left out of reports."""

import numpy as np
import pandas as pd
import pytest
from conftest import two_lines, write_config

from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.registry import custom_metric, measure
from fairbench_cli.measures.rows import Rows

MINE = '''
import numpy as np

from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.rows import Rows


def gap(counts: Counts):
    """P(ŷ=+|ḡ) − P(ŷ=+|g).

    As discrimination.
    """
    rates = counts.predicted[..., 1] / counts.group_total
    return rates[..., 1] - rates[..., 0]


gap.ideal, gap.low, gap.high = 0, -1, 1


def spread(rows: Rows):
    return np.std(rows.score)


def failing(counts):
    return counts.nothing
'''


def values(folder, metric):
    frame = pd.read_csv(folder / "results.csv")
    return frame.loc[frame["metric"] == metric, "value"].tolist()


def test_what_a_function_says_of_itself():
    def gap(counts: Counts):
        """A formula.

        Anything.
        """
        return counts.total

    gap.ideal, gap.high = 1.0, 1
    entry = custom_metric("mine.py:gap", gap)
    assert (entry.formula, entry.ideal) == ("A formula", 1.0)
    assert (entry.direction, entry.needs) == ("higher", "counts")
    three = Counts(("a", "b", "c"), np.ones((5, 3, 2, 2)), reference=("c",))
    assert measure(entry, three).tolist() == [12.0] * 5
    assert custom_metric("x", lambda counts: counts.total).direction == "none"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: 1, "TypeError on a few counts"),
        (
            lambda counts: 0.0 * len(counts.groups),
            r"returned shape \(\) for counts of shape \(3, 2, 2, 2\), not \(3,\)",
        ),
        (
            lambda counts: counts.what,
            "AttributeError on a few counts: 'Counts' object has no attribute 'what'",
        ),
        (lambda counts: [counts.groups[0]] * 3, "ValueError on a few counts: could not convert"),
    ],
)
def test_what_is_no_metric(function, message):
    with pytest.raises(ValueError, match=message):
        custom_metric("mine", function)


def test_a_function_of_rows_returns_one_value():
    def each(rows: Rows):
        return rows.y

    with pytest.raises(ValueError, match=r"returned shape \(8,\) for rows, not \(\)"):
        custom_metric("mine", each)


def test_a_run_an_edit_and_reports(tmp_path, say):
    mine = tmp_path / "mine.py"
    mine.write_text(MINE)
    names = ["discrimination", "./mine.py:gap", "mine.py:spread"]
    more = {"repeats": 1, "interventions": ["none", "massaging"], "sweep": "acceptance-rate"}
    config = write_config(tmp_path / "c.yaml", metrics=names, **more)
    assert say("run", config, "-o", "out", "-j", "1", "-q").code == 0
    folder = tmp_path / "out"
    gaps = values(folder, "mine.py:gap")
    assert gaps == values(folder, "discrimination")
    spread = values(folder, "mine.py:spread")
    assert min(spread) > 0
    assert set(pd.read_csv(folder / "sweep.csv")["metric"]) == {"discrimination", "mine.py:gap"}
    verdicts = pd.read_csv(folder / "paired.csv").set_index("metric")["distance_difference"]
    assert verdicts["mine.py:gap"].tolist() == verdicts["discrimination"].tolist()
    assert read_config(folder / "config.yaml").to_config() == read_config(config).to_config() | {
        "datasets": read_config(folder / "config.yaml").to_config()["datasets"]
    }

    # A report leaves them out, and says so, unless they are named.
    done = say("report", folder)
    assert "mine.py:gap is left out, as a report runs no code that is not named: -m ./mine.py:gap" in done.err
    assert values(folder, "mine.py:gap") == values(folder, "mine.py:spread") == []
    assert values(folder, "discrimination") == gaps
    done = say("report", folder, "-m", "./mine.py:gap", "-m", "mine.py:spread", "-m", "phi")
    assert (done.code, done.err.count("\n")) == (0, 1)  # what was written
    assert (values(folder, "mine.py:gap"), values(folder, "mine.py:spread")) == (gaps, spread)
    assert len(values(folder, "phi")) == 4

    # After an edit the rows are measured again, under the same keys; another worker has the new code.
    mine.write_text(MINE.replace("np.std(rows.score)", "2 * np.std(rows.score)"))
    assert say("run", config, "-o", "out", "-j", "2", "-q").code == 0
    assert values(folder, "mine.py:spread") == [2 * value for value in spread]
    assert values(folder, "discrimination") == gaps


def test_mistakes(tmp_path, say):
    (tmp_path / "mine.py").write_text(MINE)
    config = write_config(tmp_path / "c.yaml", metrics=["./mine.py:failing"])
    two_lines(
        say("plan", config), "c.yaml:", "mine.py:failing: AttributeError on a few counts", "extending.md"
    )
    for metrics, words in (
        ("[./mine.py:gip]", 'mine.py has no class or function "gip"'),
        ("[acuracy]", 'unknown metric "acuracy"\n  fix: did you mean "accuracy"?'),
        ("[./mine.py:gap, mine.py:gap]", 'metric "mine.py:gap" is listed twice'),
    ):
        two_lines(say("plan", config, "--set", f"metrics={metrics}"), "--set metrics: ", words)
    two_lines(
        say("plan", config, "--set", "metrics=[mine.py:spread]", "--set", "sweep=acceptance-rate"), "sweep"
    )
