"""Figures of runs with worlds: marks are the numbers of the files, and nothing of two worlds is one line."""

import itertools
import re
from collections import Counter
from dataclasses import replace
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
from fairbench_cli.report.show.figures.worlds import CONTRASTS, Remedies
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


def within_its_edges(figure) -> tuple[float, float]:
    with house_style():
        box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert min(box.x0, box.y0, width - box.x1, height - box.y1) > -0.01
    return width, height


def texts(figure) -> str:
    return "\n".join(filter(None, (one.get_text() for one in figure.findobj(mpl.text.Text))))


def marked(ax, words) -> dict[str, tuple[float, float]]:
    """The points of a panel by the name of their mark."""
    lines = [line for line in ax.lines if re.fullmatch(rf"({'|'.join(words)})-\d+", str(line.get_gid()))]
    return {line.get_gid(): (float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in lines}


def of_cell(frame: pd.DataFrame, dataset: str, world, technique: str, metric: str):
    own = frame.query("dataset == @dataset and intervention == @technique and metric == @metric")
    (row,) = own[(own["world"] == world[0]) & (own["beta"] == world[1])].to_dict("records")
    return row


# Which remedy for which world


@pytest.mark.parametrize("name", ["remedies", "strength", "recorded-true"])
def test_a_figure_is_of_a_cells_own_groups_whatever_groups_are_asked_for(run, name):
    asked = replace(run, attributes=("race",))
    assert [*map(texts, drawn(name, asked).values())] == [*map(texts, drawn(name, run).values())]


def test_a_remedy_is_marked_at_its_mean_by_what_tests_show_of_it(run):
    figures = drawn("remedies", run)
    assert list(figures) == ["tree-discrimination", "tree-tpr-difference"]
    frame = bias_cost_frame(run).query("labels == 'true'")
    shown = [("", 0.0), ("label", 0.5), ("measurement age", 0.5)]
    for gap, figure in zip(METRICS[1:], figures.values(), strict=True):
        panels = itertools.product(DATASETS, ("accuracy", gap), shown)
        for ax, (dataset, metric, world) in zip(figure.axes, panels, strict=True):
            kinds = {technique: of_cell(frame, dataset, world, technique, metric) for technique in ROWS[:-1]}
            assert ax.get_ylim() == (len(ROWS) - 0.4, -0.6)  # the first technique stands above
            found = marked(ax, {"better", "worse", "overshoots", "constant", "not shown", "same"})
            assert set(found) == {f"{row['kind']}-{i}" for i, row in enumerate(kinds.values())}
            for i, row in enumerate(kinds.values()):
                x, y = found[f"{row['kind']}-{i}"]
                assert y == i
                if row["kind"] != "constant":
                    assert x == row["mean"]
                    (none,) = [line for line in ax.lines if line.get_gid() == f"none-{i}"]
                    base = of_cell(frame, dataset, world, "none", metric)["mean"]
                    assert none.get_xdata() == pytest.approx([base, base])
            (why,) = [text for text in ax.texts if text.get_gid() == "why-4"]
            assert why.get_text() == "infeasible"
            (truth,) = [line for line in ax.lines if line.get_gid() == "truth"]
            expected = of_cell(frame, dataset, world, "trained-on-truth", metric)["mean"]
            if world[0]:
                assert truth.get_xdata()[0] == pytest.approx(expected)
    assert "repair: infeasible." in texts(figure)


def test_what_is_shown_is_dark_and_what_is_not_is_pale(run):
    figure = drawn("remedies", run)["tree-discrimination"]
    (label,) = [ax for ax in figure.axes if ax.get_title(loc="left") == "label 0.5"]
    found = {line.get_gid(): line for line in label.lines}
    grey = {
        name: np.dot(mpl.colors.to_rgb(found[name].get_color()), [0.299, 0.587, 0.114])
        for name in ("better-0", "worse-1")
    }
    (pale,) = [line for name, line in found.items() if name and re.match("(not shown|same)-2", name)]
    paper = np.dot(mpl.colors.to_rgb(pale.get_color()), [0.299, 0.587, 0.114])
    assert pale.get_markerfacecolor() == "white"
    assert max(grey.values()) < paper - 0.1
    assert found["better-0"].get_marker() != found["worse-1"].get_marker()


def test_one_page_has_three_data_sets_and_eight_worlds_and_nothing_is_cut_off():
    names = "label", "selection", "history age", "group", "measurement age", "label given age=5|6", "share"
    worlds = [("", 0.0), *((name, 0.5) for name in names)]
    rules = {name: dict.fromkeys(worlds, GOOD if name != "none" else LESS) for name in ("none", *ROWS)}
    wide = invented(rules, ("dutch", "adult", "compas"), repeats=2)
    figure = drawn("remedies", wide)["tree-discrimination"]
    assert len(figure.axes) == 3 * 2 * 8
    width, height = within_its_edges(figure)
    assert width < 9.6  # on a page, letters are then no smaller than three quarters of their size
    assert height < 11.7


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


def test_marks_are_what_is_gained_and_the_notes_count_them(run):
    figures = drawn("recorded-true", run)
    assert list(figures) == ["bank-sex-tree", "loans-sex-tree"]
    figure, frame = figures["bank-sex-tree"], contrast_frame(run).query("dataset == 'bank'")
    assert len(figure.axes) == len(METRICS)  # of worlds whose record is the truth there is none
    for ax, metric in zip(figure.axes, METRICS, strict=True):
        found = marked(ax, CONTRASTS)
        for i, technique in enumerate(ROWS[:-1], start=1):
            row = of_cell(frame, "bank", ("label", 0.5), technique, metric)
            place = found[f"{row['contrast']}-{i}"]
            if row["contrast"] != "constant":
                assert place == (-row["recorded"], -row["true"])
        counts = Counter(frame.query("world == 'label' and beta == 0.5 and metric == @metric")["contrast"])
        (note,) = re.findall(
            rf"{metric}: 4 techniques in worlds: ([^;]*); at all", texts(figure).replace("\n", " ")
        )
        assert note == ", ".join(f"{counts[word]} {word}" for word in CONTRASTS if counts[word])
    assert "Not drawn: no bias, measurement age" in texts(figure)
    within_its_edges(figure)


def test_where_nothing_is_recorded_otherwise_there_is_no_such_figure():
    worlds = [("", 0.0), ("measurement age", 0.5)]
    same = invented({name: dict.fromkeys(worlds, GOOD) for name in ("none", "massaging")}, repeats=2)
    assert drawn("recorded-true", same) == {}
    assert drawn("strength", same) == {}  # nothing is known of the worlds


# Strength


def test_lines_go_over_total_variation_from_no_bias_on(run):
    figure = drawn("strength", run)["bank-sex-tree"]
    remedies, known = Remedies(run), exact_worlds_of_run(run)
    names = ["none", *ROWS]
    panels = itertools.product(METRICS, names)
    for ax, (metric, technique) in zip(figure.axes, panels, strict=True):
        for i, world in enumerate(("label", "measurement age")):
            (line,) = [one for one in ax.lines if one.get_gid() == f"world-{i}"]
            betas = [beta for name, beta in WORLDS if name == world and beta < 0.75]
            places = [("", 0.0), *((world, beta) for beta in betas)]
            x = [known.find("bank", "sex", *place).value("total-variation") for place in places]
            rows = [
                remedies.row(
                    ("bank", "sex", "original", "tree", "{}"), place, (technique, "{}", False), metric
                )
                for place in places
            ]
            y = [row.mean for row in rows if row is not None and not row.constant]
            assert np.allclose(line.get_ydata(), y)
            assert np.allclose(line.get_xdata(), x[: len(y)])
    assert x == sorted(x)
    assert x[0] == 0
    within_its_edges(figure)


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
    assert not any(drawn(name, plain) for name in ("remedies", "recorded-true", "strength"))
    assert not TABLES["worlds"]("worlds", plain).sections


def test_a_run_of_the_plain_model_alone_is_drawn(tmp_path):
    write_facts(tmp_path, [("bank", "sex", *world) for world in WORLDS])
    alone = invented({name: RULES[name] for name in ("none", "trained-on-truth")}, ("bank",), folder=tmp_path)
    assert drawn("remedies", alone) == {}
    assert drawn("strength", alone)
    drawn("recorded-true", alone)
