"""Figures of runs with worlds: marks are the numbers of the files, and nothing of two worlds is one line."""

import itertools
import re
from functools import cache

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from report.worlds_data import write_facts
from report.worlds_run import GOOD, NOBODY, Rule, invented

from fairbench_cli.data.card import shipped_cards
from fairbench_cli.document.latex import latex
from fairbench_cli.network.files import load
from fairbench_cli.network.mechanisms.registry import MECHANISMS
from fairbench_cli.network.world import make_world
from fairbench_cli.papers.parts import FIGURES, TABLES
from fairbench_cli.report.ledger.bias_cost import bias_cost_frame, contrast_frame
from fairbench_cli.report.ledger.cell_labels import NO_BIAS
from fairbench_cli.report.ledger.exact_worlds import exact_worlds_of_run
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show.figures.canvas import house_style
from fairbench_cli.report.show.networks import Marks, added_node_roles, draw_network

pytestmark = pytest.mark.gate  # matplotlib draws

WORLDS = [("", 0.0), *(("label", beta) for beta in (0.25, 0.5, 0.75)), ("measurement age", 0.5)]
LESS = Rule((0.55, 0.85))  # misses favourable people of the deprived group
LOST = Rule((0.55, 0.85), (0.25, 0.10))
RULES: dict[str, dict[tuple[str, float], Rule | str]] = {
    "none": {world: LESS if world[0] else GOOD for world in WORLDS},
    "trained-on-truth": dict.fromkeys(WORLDS, GOOD),
    "reweighing": dict.fromkeys(WORLDS, GOOD),
    "massaging": dict.fromkeys(WORLDS, LOST),
    "equalised-odds": dict.fromkeys(WORLDS, LESS),
    "reject-option": dict.fromkeys(WORLDS, NOBODY),
    "repair": dict.fromkeys(WORLDS, "infeasible"),
}
ROWS = ["reweighing", "massaging", "equalised-odds", "reject-option", "repair"]
DATASETS = ("bank", "loans")
METRICS = ("accuracy", "discrimination", "tpr-difference")


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> RunResults:
    folder = tmp_path_factory.mktemp("worlds")
    places = [(name, "sex", *world) for name, world in itertools.product(DATASETS, WORLDS) if world[1] < 0.75]
    write_facts(folder, places)
    return invented(RULES, DATASETS, folder=folder)


@cache  # of a run, which is only read
def drawn(name: str, run: RunResults) -> dict:
    with house_style():
        return FIGURES[name].load()(run)


def texts(figure) -> str:
    return "\n".join(filter(None, (one.get_text() for one in figure.findobj(mpl.text.Text))))


def of_cell(frame: pd.DataFrame, dataset: str, world, technique: str, metric: str):
    own = frame.query("dataset == @dataset and intervention == @technique and metric == @metric")
    (row,) = own[(own["world"] == world[0]) & (own["beta"] == world[1])].to_dict("records")
    return row


# Recorded against true


def test_a_trade_off_is_an_artefact_where_the_record_falls_and_the_truth_rises(run):
    frame = contrast_frame(run)
    words = {
        (row["world"], row["intervention"]): row["contrast"]
        for row in frame.query("metric == 'accuracy' and dataset == 'bank' and beta in (0.75, 0.5)").to_dict(
            "records"
        )
    }
    assert words["label", "reweighing"] == "artefact"
    assert words["label", "massaging"] == "real"
    assert words["measurement age", "reweighing"] == "gain"
    assert words["label", "reject-option"] == "constant"
    assert words["label", "equalised-odds"] == "not shown"
    assert not set(frame["intervention"]) & {"none", "trained-on-truth", "repair"}


def test_a_contrast_needs_both_tests(run):
    """Of an intersection of two claims, the larger p is a p-value: neither test alone says more."""
    both, frame = bias_cost_frame(run), contrast_frame(run)
    p = both.pivot_table(
        index=["dataset", "world", "beta", "intervention", "metric"], columns="labels", values="p"
    )
    for row in frame.to_dict("records"):
        own = p.loc[row["dataset"], row["world"], row["beta"], row["intervention"], row["metric"]]
        assert row["p_holm"] >= own.max() or np.isnan(row["p_holm"])
        if row["contrast"] in ("artefact", "real", "gain", "hidden loss"):
            assert max(own) < 0.05
            signs = row["recorded"] < 0, row["true"] < 0
            assert signs == {"artefact": (False, True), "real": (False, False), "gain": (True, True)}.get(
                row["contrast"], (True, False)
            )


# The table


def test_the_table_has_the_worlds_numbers_and_no_constant_is_the_highest(run):
    document = TABLES["worlds"]("worlds", run)
    frame, known = (
        bias_cost_frame(run).query("labels == 'true' and metric == 'accuracy'"),
        exact_worlds_of_run(run),
    )
    assert [section.title for section in document.sections] == ["bank, sex, tree", "loans, sex, tree"]
    for section, dataset in zip(document.sections, DATASETS, strict=True):
        does, reached = section.tables
        for row, got, world in zip(does.rows, reached.rows, WORLDS, strict=True):
            facts = known.find(dataset, "sex", *world)
            assert [cell.text for cell in row[:2]] == [world[0] or NO_BIAS, f"{world[1]:g}"]
            if facts is None:
                assert {cell.text for cell in row[2:]} == {"-"}
            else:
                assert float(row[4].text) == pytest.approx(facts.value("disparity", "recorded"), abs=5e-4)
                assert row[6].text == "kept"
            texts = dict(zip(reached.keys, (cell.text for cell in got), strict=True))
            means = {
                name: of_cell(frame, dataset, world, name, "accuracy")["mean"]
                for name in ("none", "trained-on-truth", *ROWS[:3])
            }
            assert float(texts["none"]) == pytest.approx(means["none"], abs=5e-4)
            unbiased = means["trained-on-truth" if world[0] else "none"]
            assert float(texts["truth"]) == pytest.approx(unbiased, abs=5e-4)
            best = max(ROWS[:3], key=means.__getitem__)
            assert texts["technique"] == best
            assert float(texts["highest"].split()[0]) == pytest.approx(means[best], abs=5e-4)
            kind = of_cell(frame, dataset, world, best, "accuracy")["kind"]
            assert texts["highest"].endswith(" better") == (kind == "better")
    text = latex(document)
    assert "′" not in text  # what LaTeX cannot write
    assert text.count("toprule\nworld & $\\beta$ &") == text.count("\\toprule")  # each part names its rows
    assert "rules that do not see the protected attribute" in " ".join(document.facts)


# Runs with and without worlds


def test_a_page_is_of_one_world():
    worlds = [("", 0.0), ("label", 0.25), ("label", 0.5), ("measurement age", 0.5)]
    small = invented({name: dict.fromkeys(worlds, GOOD) for name in ("none", "massaging")}, repeats=2)
    figures = drawn("curves", small)
    assert [*figures] == [f"bank-sex-{world}-tree" for world in ("no-bias", "label", "measurement-age")]
    for name, figure in figures.items():
        lines = [line for line in figure.axes[0].lines if str(line.get_gid()).startswith("discrimination-")]
        assert {len(line.get_xdata()) for line in lines} == {2 if "label" in name else 1}
    assert "bank, sex, no bias, tree" in texts(figures["bank-sex-no-bias-tree"])
    assert "sampled from the network without bias, true labels" in texts(figures["bank-sex-label-tree"])
    for figure, (world, beta) in zip(drawn("stability", small).values(), worlds, strict=True):
        assert f"Stability: bank, {world or 'no bias'}, β = {beta:g}\n" in texts(figure)
    assert len(drawn("overview", small)) == len(worlds)


def test_a_world_as_a_network_marks_what_its_bias_decides():
    net, _ = load(shipped_cards() / "dutch.network.json")
    mechanisms = [MECHANISMS["label"].load()(flip=0.5), MECHANISMS["selection"].load()(drop=0.5)]
    world = make_world(net, "occupation", "2_1", {"sex": (("female",), ("male",))}, mechanisms)
    svg = draw_network(world.network, Marks("occupation", "sex", (), added_node_roles(world)), "")
    bold = set(re.findall(r'<path class="way edited"[^>]*><title>([\w.]+) → ([\w.]+): bias<', svg))
    assert bold == {arc for arc in world.network.arcs if arc[1] in ("occupation", "included")}
    assert ("occupation.true", "occupation") in bold
    assert ">outcome, recorded</text>" in svg


def test_a_run_without_worlds_has_none_of_these():
    plain = invented({name: {("", 0.0): GOOD} for name in ("none", "massaging")}, repeats=2)
    assert not TABLES["worlds"]("worlds", plain).sections
