"""``fairbench list metrics``, short and long."""

import re

import pytest
from conftest import fairbench, plain
from fairbench_cli.measures.entry import OF_LABELS

from fairbench_cli.measures.registry import DEFAULT_METRICS, MEASURES, ROW_MEASURES

BASES = [name for name in MEASURES | ROW_MEASURES if not name.endswith(OF_LABELS)]


@pytest.fixture(scope="module")
def long():
    done = fairbench("list", "metrics", "--long")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_short_table_has_every_measure_once(say):
    done = say("list", "metrics")
    plain(done.out)
    names = [line.split()[0] for line in done.out.splitlines() if re.match(r" [a-z]", line)]
    assert sorted(names) == sorted(["name"] * done.out.count("metrics: ") + BASES)
    for section in ("accuracy", "absolute", "error rate", "test"):
        assert f"metrics: {section}\n" in done.out


def test_the_long_list_is_fit_for_a_pipe(long):
    plain(long)
    flat = " ".join(long.split())
    for entry in (MEASURES | ROW_MEASURES).values():
        if not entry.name.endswith(OF_LABELS):
            for words in (entry.formula, entry.zero_denominator, entry.source):
                assert words in flat, entry.name
    assert re.findall(r"^([a-z0-9-]+)(?: \*)?$", long, re.MULTILINE) == BASES_BY_SECTION
    assert set(re.findall(r"^([a-z-]+) \*$", long, re.MULTILINE)) == set(DEFAULT_METRICS)


SECTIONS = ("accuracy", "absolute", "error rate", "conditional", "situation", "redlining", "test")
BASES_BY_SECTION = sorted(BASES, key=lambda name: SECTIONS.index((MEASURES | ROW_MEASURES)[name].section))


def test_a_page_tells_all(long):
    page = long.split("\ndiscrimination *\n")[1].split("\n\n")[0]
    assert page.splitlines() == [
        "  d = P(ŷ=+|ḡ) − P(ŷ=+|g)",
        "  range −1 to 1, ideal 0; nearer to it is better",
        "  needs counts; defined on predictions and labels",
        "  NaN when a group is empty",
        "  source: Cardoso et al. 2019, eq. 1; the mean difference of Žliobaitė 2017",
    ]
    assert "  needs rows; defined on predictions and labels" in long


@pytest.mark.parametrize("kind", [[], ["datasets"], ["classifiers"]])
def test_only_metrics_have_a_long_list(say, kind):
    done = say("list", *kind, "--long")
    assert done.code == 2
    assert "--long is for metrics" in done.err
    assert "fix: write: fairbench list metrics --long" in done.err
