"""The page of a run with worlds: true and recorded labels apart, and what is known without training."""

import json
import re
from dataclasses import replace

import pandas as pd
import pytest
from report.worlds_data import facts, known_run
from tiers import uses

from fairbench_cli.document.html import html
from fairbench_cli.report.ledger.exact_worlds import (
    WORLDS_COLUMNS,
    ExactNumber,
    ExactWorlds,
    exact_worlds_of_run,
)
from fairbench_cli.report.page import run_page
from fairbench_cli.report.show.page_data import FIXED_POINT_ONE
from fairbench_cli.report.show.page_panels import REFERENCE_RULES
from fairbench_cli.report.show.page_worlds import WorldWords, describe_recovery


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return known_run(tmp_path_factory.mktemp("worlds"))


@pytest.fixture(scope="module")
@uses("a dear fixture")
def page(run):
    return html(run_page(run))


@pytest.fixture(scope="module")
def data(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page).group(1))


@pytest.mark.gate
def test_a_page_holds_numbers_on_true_and_on_recorded_labels_and_says_which(run, data):
    assert [panel["world_label"] for panel in data["panels"]] == [
        "label · true labels",
        "no bias · true labels",
    ] * 2
    assert len(data["panels"]) == len(data["panels_on_other_labels"]) == 4
    assert data["slots"] == [[0, 1], [2, 3]]
    accuracy = data["accuracy_index"]
    for labels, panels in (("true", data["panels"]), ("recorded", data["panels_on_other_labels"])):
        own = (
            run.on_labels(labels)
            .own_attribute_values(run.on_labels(labels).datasets[0], "accuracy")
            .mean(axis=1)
        )
        cells = run.datasets[0].cells
        for panel, world in zip(panels[:2], ("label", ""), strict=True):
            assert panel["title"].endswith(f"{labels} labels")
            for t, name in enumerate(panel["technique_names"]):
                for k, beta in enumerate(panel["betas"]):
                    here = [(cell["world"], cell["beta"], cell["intervention"]) for cell in cells]
                    value = panel["mean"][accuracy][t * len(panel["betas"]) + k]
                    if (name, world) == ("random", ""):
                        assert value is None
                        assert panel["missing_reasons"][str(t * len(panel["betas"]) + k)] == "not run yet"
                    elif name == "trained-on-truth" and labels == "recorded" and world:
                        assert value is None
                        why = panel["missing_reasons"][str(t * len(panel["betas"]) + k)]
                        assert why == "not counted on recorded labels"
                    else:
                        assert abs(value / FIXED_POINT_ONE - own[here.index((world, beta, name))]) < 1e-5
    # The labels of the record differ from strength to strength, those of the truth do not.
    gap = [scale["name"] for scale in data["scales"]].index("discrimination")
    assert data["panels"][0]["label_values"][gap] == 15_000
    assert data["panels_on_other_labels"][0]["label_values"][gap] == [25_000, 35_000]


def test_what_is_known_without_training_is_that_of_worlds_csv(run, data):
    known = exact_worlds_of_run(run)
    for labels, panels in (("true", data["panels"]), ("recorded", data["panels_on_other_labels"])):
        world = known.find("bank", "sex", "label", 0.5)
        for m, scale in enumerate(data["scales"]):
            metric = run.results.metric(scale["name"])
            names = (world.constant(labels), *REFERENCE_RULES[1:])
            for r, rule in enumerate(names):
                value = panels[0]["reference_values"][m][2 * r + 1]
                wanted = world.metric(rule, metric, labels)
                assert value is None if wanted != wanted else abs(value / FIXED_POINT_ONE - wanted) < 2e-5


def test_a_technique_that_knows_the_truth_is_no_line_among_the_others(data):
    (truth,) = data["panels"][0]["truth_indices"]
    assert data["panels"][0]["technique_names"][truth] == "trained-on-truth"
    assert all(truth not in part for panel in data["panels"] for part in panel["technique_groups"])


def test_the_page_names_the_strength_and_what_can_be_undone(page):
    assert page.count(">bank: label <") == 1  # no network is where the run left it
    assert "At flip = 0.5: flips." in page
    assert "a threshold for each group recovers it." in page
    assert "label · flip = 0.5 · true labels" in page
    assert 'name="labels"' in page
    assert 'name="world"' in page


def test_what_can_be_undone_is_said_of_the_numbers():
    (kept,) = ExactWorlds(_frame()).worlds

    def with_(lost, **kept_of):
        numbers = dict(kept.numbers) | {("", "thresholds-lose", "true", ""): ExactNumber(lost)}
        numbers |= {("", "kept", "", group): ExactNumber(float(own)) for group, own in kept_of.items()}
        return replace(kept, numbers=numbers)

    groups = "women", "men"
    words = WorldWords(groups, "flip", "rules")
    nameless = WorldWords(groups, "", "rules")
    said = describe_recovery([kept], words)
    assert said.endswith("as the truth does: a threshold for each group recovers it.")
    assert "yet the best thresholds lose 1.2 points" in describe_recovery([with_(0.012)], words)
    some = describe_recovery([kept, replace(with_(0.02, deprived=False), beta=0.75)], words)
    assert "ranks women from flip = 0.75 on otherwise" in some
    assert some.endswith("the best lose 2.0 points of accuracy at flip = 0.75.")
    late = [kept, *(replace(with_(0.02, deprived=0, favoured=0), beta=b) for b in (0.6, 0.75))]
    assert "ranks women and men from flip = 0.6 on otherwise" in describe_recovery(late, words)
    both = describe_recovery([with_(0.0, deprived=False, favoured=False)], nameless)
    assert "ranks women and men otherwise than the truth; the best thresholds lose no accuracy" in both
    assert describe_recovery([replace(kept, numbers={})], words) == ""


def _frame():
    return pd.DataFrame(facts([("bank", "sex", "label", 0.5)]), columns=WORLDS_COLUMNS)
