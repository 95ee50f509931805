"""``fairbench list metrics``, short and long."""

import re
from pathlib import Path
from typing import get_args

import pytest
from conftest import fairbench, plain, two_lines

from fairbench_cli.base.errors import UserError
from fairbench_cli.experiment.config.metrics import find_metric
from fairbench_cli.measures.comparisons import COMPARISONS
from fairbench_cli.measures.metric import OF_LABELS, Section
from fairbench_cli.measures.number_measures import NUMBER_MEASURES
from fairbench_cli.measures.registry import DEFAULT_METRICS, METRICS

NUMBERS = list(NUMBER_MEASURES)
BASES = [name for name, m in METRICS.items() if m.section != "comparison" and not name.endswith(OF_LABELS)]
COMPARED = [f"RATE-{name}" for name in COMPARISONS]


def test_by_default_the_usual_metrics_have_a_line_each(say):
    done = say("list", "metrics")
    plain(done.out)
    usual = [name for name, metric in METRICS.items() if metric.usual]
    assert len(usual) == 25
    assert sorted(re.findall(r"^([a-z]\S*)  ", done.out, re.MULTILINE)) == sorted([*usual, "name"])
    assert "RATE-COMPARISON" in done.out


@pytest.fixture(scope="module")
def long():
    done = fairbench("list", "metrics", "--long")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_short_table_has_every_measure_once(say):
    done = say("list", "metrics", "--all")
    plain(done.out)
    names = re.findall(r"^((?:RATE-)?[a-z]\S*)(?:  |$)", done.out, re.MULTILINE)  # above its row, if long
    assert sorted(names) == sorted(["name"] * done.out.count("metrics: ") + BASES + COMPARED + NUMBERS)
    for section in ("accuracy", "absolute", "rate", "test", "alias"):
        assert f"metrics: {section}\n" in done.out


def test_the_long_list_is_fit_for_a_pipe(long):
    plain(long)
    flat = " ".join(long.split())
    for entry in METRICS.values():
        if entry.name in BASES:
            for words in (entry.formula, entry.undefined, entry.source):
                assert words in flat, entry.name
    assert re.findall(r"^([a-z0-9-]+)(?: \*)?$", long, re.MULTILINE) == BASES_BY_SECTION + list(
        NUMBER_MEASURES
    )
    assert re.findall(r"^(RATE-[a-z-]+)$", long, re.MULTILINE) == COMPARED
    assert set(re.findall(r"^([a-z-]+) \*$", long, re.MULTILINE)) == set(DEFAULT_METRICS)


SECTIONS = [one for one in get_args(Section) if one != "comparison"]
BASES_BY_SECTION = sorted(BASES, key=lambda name: SECTIONS.index(METRICS[name].section))


def test_a_measure_of_numbers_has_a_page_and_near_names(say):
    page = say("list", "metrics", "mean").out
    for words in ("mean(x|g)", "--outcome number", "source: Žliobaitė 2017"):
        assert words in page
    assert "mean, median, p10" in " ".join(say("list", "metrics").out.split())
    refused = fairbench("list", "metrics", "medain")
    assert refused.returncode == 2
    assert 'did you mean "median"?' in refused.stderr


def test_a_run_refuses_a_measure_of_numbers():
    with pytest.raises(UserError) as refused:
        find_metric("median", Path())
    (problem,) = refused.value.problems
    assert "median is of outcomes that are numbers" in str(problem)


def test_one_page_says_all_of_an_alias(say):
    done = say("list", "metrics", "discrimination")
    assert done.out.splitlines() == [
        "discrimination *",
        "  is selection-rate-difference with the groups swapped",
        "  X(r) − X(g), X(s) = P(ŷ=+|s)",
        "  range −1 to 1, ideal 0; nearer to it is better",
        "  needs counts; defined on predictions and labels",
        "  NaN when a group is empty",
        "  source: Cardoso et al. 2019, eq. 1; the mean difference of Žliobaitė 2017",
    ]


@pytest.mark.parametrize("name", ["tpr-spread", "DIbinary", "equalized_odds_difference", "consistency"])
def test_any_metric_has_a_page_however_it_is_spelled(say, name):
    done = say("list", "metrics", name)
    assert done.code == 0
    assert done.out.splitlines()[0] == name.lower().replace("_", "-")
    assert "  range 0 to" in done.out


def test_an_unknown_metric_is_a_mistake(say):
    two_lines(say("list", "metrics", "tpr-spred"), '"tpr-spred"', "tpr-spread")
    two_lines(say("list", "datasets", "adult"), "listed by name alone", "fairbench data show adult")


@pytest.mark.parametrize("kind", [[], ["datasets"], ["classifiers"]])
def test_only_metrics_have_a_long_list(say, kind):
    done = say("list", *kind, "--long")
    assert done.code == 2
    assert "--long is for metrics" in done.err
    assert "fix: write: fairbench list metrics --long" in done.err
