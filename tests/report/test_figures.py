"""Figures show every feasible repeat, the true Pareto front, and networks whose boxes keep clear."""

import itertools
import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
from conftest import Finished, law, plain_cell, run_plan
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from fairbench_cli.base.errors import UserError, user_error
from fairbench_cli.base.safe_text import make_slugs
from fairbench_cli.data.card import find_card, read_card, shipped_cards
from fairbench_cli.data.table import Column
from fairbench_cli.document.charts import Drawing
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.config import outputs
from fairbench_cli.experiment.journal.journal import read_journals
from fairbench_cli.experiment.plan import read_plan
from fairbench_cli.measures.counts import PAIR as GROUPS
from fairbench_cli.measures.counts import Counts
from fairbench_cli.network.files import load, save
from fairbench_cli.network.model import BayesNet
from fairbench_cli.papers.parts import FIGURES
from fairbench_cli.report.ledger.results import RunResults, results_frame, run_results, summary_frame
from fairbench_cli.report.show.figures import draw_figures, pages
from fairbench_cli.report.show.figures.canvas import figure_bytes, house_style, text_width, wrap_text
from fairbench_cli.report.show.figures.curves import CURVE_METRICS
from fairbench_cli.report.show.figures.curves import _lines as curve_lines
from fairbench_cli.report.show.figures.drawing import draw_by_name, draw_files
from fairbench_cli.report.show.figures.drawn import INDEX
from fairbench_cli.report.show.figures.fronts import place_labels, staircase
from fairbench_cli.report.show.figures.pages import split_into_pages
from fairbench_cli.report.show.graph_layout import (
    BOX_HEIGHT,
    arc_lines,
    box_top,
    count_crossings,
    find_layers,
    lay_out,
)
from fairbench_cli.report.show.networks import Marks, draw_network

pytestmark = pytest.mark.gate  # matplotlib draws

SHIPPED = ["adult", "compas", "dutch"]


@pytest.fixture(scope="module")
def run(finished: Finished) -> RunResults:
    records = read_journals(finished.folder / "journal").records
    return run_results(finished.folder, read_plan(finished.folder), records, CURVE_METRICS)


def drawn(name: str, run: RunResults) -> dict:
    with house_style():
        return FIGURES[name].load()(run)


def made_up(techniques: int, betas: tuple[float, ...], repeats: int, seed: int = 0) -> RunResults:
    """A run on random counts, with some repeats of technique 1 infeasible, all of it at the last β."""
    rng = np.random.default_rng(seed)
    cells, records = [], {}
    for beta, i in itertools.product(betas, range(techniques)):
        key = f"{i}-{beta}"
        cells.append(plain_cell(key=key, dataset="adult", attribute="sex", beta=beta, intervention=f"t{i}"))
        for repeat in range(repeats):
            infeasible = i == 1 and (beta == betas[-1] or repeat == 0)
            n = rng.integers(40, 60, (2, 2, 2)).astype(float)
            status = "infeasible" if infeasible else "degraded" if (i, repeat) == (2, 1) else "ok"
            records[key, repeat] = Repeat(key, repeat, status, "", None if infeasible else Counts(GROUPS, n))
    source = {
        "dataset": "adult", "attribute": "sex", "edited_column": "relationship", "arc_to_outcome": True,
        "network": "adult.network.json", "bic": -1.0,
    }  # fmt: skip
    plan = run_plan(cells, [source], "shipped", repeats=repeats, metrics=("accuracy",), tables=())
    return run_results(Path(), plan, records, CURVE_METRICS)


def texts(figure) -> str:
    found = [text.get_text() for text in figure.findobj(mpl.text.Text)]
    return "\n".join(text for text in found if text)


# The files


def written_as(run: RunResults, *formats: str) -> RunResults:
    config = run.plan.config.model_copy(update={"figure_formats": formats})
    return replace(run, plan=replace(run.plan, config=config))


def test_every_figure_is_written_in_each_format_and_the_same_bytes_come_again(run, tmp_path):
    run = written_as(run, "svg", "png", "pdf")
    one = draw_figures(replace(run, folder=tmp_path / "a"), list(outputs.FIGURES), FIGURES)
    names = [path.name for path in one]
    assert names == [
        f"{name}.{ending}"
        for name in (
            "discrimination-accuracy-compas-race-tree", "network-compas-race", "curves-compas-race-tree",
            "pareto-compas-race-tree", "correlations-all", "stability-compas-beta-0",
            "stability-compas-beta-1", "overview-all-beta-0", "overview-all-beta-1",
            "metric-pairs-compas-beta-0", "metric-pairs-compas-beta-1",
        )
        for ending in (("svg",) if name.startswith("network") else ("svg", "png", "pdf"))
    ]  # fmt: skip
    again = {}
    for kind in outputs.FIGURES:
        again |= {f"{kind}-{name}": figure for name, figure in drawn(kind, run).items()}
    for i, path in enumerate(one):  # a format is the same for all figures: the others are tried on the first
        figure = again[path.stem]
        if isinstance(figure, Drawing):
            assert figure.svg == path.read_text(encoding="utf-8")
        elif i < 3 or path.suffix == ".svg":
            with house_style():
                assert figure_bytes(figure, path.suffix[1:]) == path.read_bytes(), path.name
    assert {path.name for path in (tmp_path / "a" / "figures").iterdir()} == set(names)
    for path in one:
        start = path.read_bytes()[:2000]
        signs = {".png": b"\x89PNG", ".svg": (b"<?xml", b"<svg "), ".pdf": b"%PDF-"}
        assert start.startswith(signs[path.suffix])
        assert b"<dc:date>" not in start
        assert b"CreationDate" not in path.read_bytes()


def test_a_users_settings_change_neither_figure_nor_are_changed(run, tmp_path):
    def svg(name: str) -> bytes:
        (path,) = draw_figures(replace(run, folder=tmp_path / name), ["pareto"], FIGURES)
        return path.read_bytes()

    plain = svg("a")
    with mpl.rc_context({"font.size": 23, "axes.facecolor": "red"}):
        before = dict(mpl.rcParams)
        odd = svg("b")
        assert dict(mpl.rcParams) == before
    assert plain == odd


def test_figures_of_an_earlier_report_go_and_other_files_stay(run, tmp_path):
    run = replace(run, folder=tmp_path)
    draw_figures(run, ["curves", "pareto"], FIGURES)
    (tmp_path / "figures" / "pareto-gone-sex-c45.svg").write_text("old")
    (tmp_path / "figures" / "mine.svg").write_text("kept")
    written = draw_figures(run, ["pareto"], FIGURES)
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        *(p.name for p in written),
        "mine.svg",
    }
    assert draw_figures(run, [], FIGURES) == []
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["mine.svg"]


NAMES = ["discrimination-accuracy", "curves", "pareto", "network"]


def test_a_figure_is_drawn_again_where_its_numbers_or_its_files_have_changed(run, tmp_path, monkeypatch):
    calls = []

    def drawing(run, names, *given):
        calls.append(list(names))
        return draw_by_name(run, names, *given)

    monkeypatch.setattr("fairbench_cli.report.show.figures.drawing.draw_by_name", drawing)

    def draw(run: RunResults, names=NAMES) -> dict[str, bytes]:
        calls.clear()
        paths = draw_figures(replace(run, folder=tmp_path), names, FIGURES)
        return {path.name: path.read_bytes() for path in paths}

    first = draw(run)
    assert calls == [NAMES]
    assert draw(run) == first
    assert draw(run, NAMES[::-1]) == first  # in another order
    assert not calls
    # A file that somebody has removed or changed.
    for harm in (Path.unlink, lambda path: path.write_text("mine")):
        harm(tmp_path / "figures" / "pareto-compas-race-tree.svg")
        assert draw(run) == first
        assert calls == [["pareto"]]
    # One that is asked for in addition.
    assert set(draw(run, [*NAMES, "stability"])) > set(first)
    assert calls == [["stability"]]
    # Whatever a damaged index says.
    index = tmp_path / INDEX
    for text in ("", "[]", '{"pareto": 3}', '{"pareto": {"key": "", "files": {"../a": ""}}}', "[" * 10**5):
        index.write_text(text)
        assert draw(run) == first
        assert calls == [NAMES]
    # A number, a name, a format, the code.
    key, repeat = next(iter(run.records))
    records = run.records | {(key, repeat): replace(run.records[key, repeat], reason="another")}
    untitled = replace(
        run, plan=replace(run.plan, config=run.plan.config.model_copy(update={"figure_titles": False}))
    )
    longer = replace(run.records[key, repeat], seconds=9.0)
    for other in (replace(run, records=records), untitled, written_as(run, "pdf", "svg")):
        draw(other)
        assert calls == [NAMES]
    draw(run)
    assert draw(replace(run, records=run.records | {(key, repeat): longer})) == first
    assert not calls


def test_copies_of_the_process_draw_the_same_bytes_and_write_nothing(run, tmp_path, monkeypatch):
    here = draw_by_name(run, NAMES, FIGURES, 1)
    own = os.getpid()

    def write(path: Path, content: bytes) -> None:
        assert os.getpid() == own
        Path.write_bytes(path, content)

    monkeypatch.setattr("fairbench_cli.report.show.figures.write_bytes", write)
    drawn_by = []

    def draw(run, name, figures):
        drawn_by.append(name)  # in a copy, this list is a copy
        return draw_files(run, name, figures)

    monkeypatch.setattr("fairbench_cli.report.show.figures.drawing.draw_files", draw)
    paths = draw_figures(replace(run, folder=tmp_path), NAMES, FIGURES, processes=3)
    assert drawn_by == ([] if sys.platform == "linux" else NAMES)
    assert {path.name: path.read_bytes() for path in paths} == {
        k: v for files in here.values() for k, v in files.items()
    }
    # Few are drawn here, and all where a copy ends or fails: an error is one of this process.
    draw_by_name(run, NAMES[:2], FIGURES, 3)
    assert drawn_by[-2:] == NAMES[:2]

    def fail(run, name, figures):
        raise user_error("no network", "put it back")

    def die(run, name, figures):
        if os.getpid() != own:
            os._exit(9)
        return draw_files(run, name, figures)

    monkeypatch.setattr("fairbench_cli.report.show.figures.drawing.draw_files", fail)
    with pytest.raises(UserError, match="no network\n  fix: put it back"):
        draw_by_name(run, NAMES, FIGURES, 3)
    monkeypatch.setattr("fairbench_cli.report.show.figures.drawing.draw_files", die)
    assert draw_by_name(run, NAMES, FIGURES, 3) == here


def test_no_figures_asked_for_make_no_folder(run, tmp_path):
    assert draw_figures(replace(run, folder=tmp_path), [], FIGURES) == []
    assert not (tmp_path / "figures").exists()


@given(st.lists(st.tuples(st.text(max_size=6), st.text(max_size=6)), max_size=6))
def test_file_names_are_plain_and_differ_on_any_file_system(names):
    found = make_slugs(names)
    assert len({name.casefold() for name in found}) == len(names)
    assert all(name and not re.search(r"[/\\:\s\0]", name) and name[0] != "." for name in found)


# Figure 1


def dots(figure) -> dict[str, np.ndarray]:
    found = {}
    for ax in figure.axes:
        for cloud in ax.collections:
            if (cloud.get_gid() or "").startswith("dots-"):
                found[cloud.get_gid()] = np.asarray(cloud.get_offsets())
    return found


def test_one_dot_per_feasible_repeat_of_every_technique_and_beta(run):
    (figure,) = drawn("discrimination-accuracy", run).values()
    results = results_frame(run.results)
    (page,) = split_into_pages(run.plan).values()
    found = dots(figure)
    assert len(figure.axes) == len(page.techniques) == 3
    assert len(found) == 3 * 2
    for (k, t), (b, beta) in itertools.product(enumerate(page.techniques), enumerate(page.betas)):
        own = results[(results["intervention"] == t.technique[0]) & (results["beta"] == beta)]
        wide = own.pivot_table(index="repeat", columns="metric", values="value").dropna()
        expected = wide[["discrimination", "accuracy"]].to_numpy() if len(wide) else np.empty((0, 2))
        assert np.allclose(found[f"dots-{k}-{b}"], expected, atol=0, rtol=0)


def test_infeasible_repeats_are_left_out_and_named():
    run = made_up(3, (0.0, 0.5, 1.0), 4)
    (figure,) = drawn("discrimination-accuracy", run).values()
    counts = {name: len(found) for name, found in dots(figure).items()}
    assert counts == {
        f"dots-{k}-{b}": 4 if k != 1 else (0 if b == 2 else 3) for k in range(3) for b in range(3)
    }
    assert "infeasible at β = 1" in texts(figure)
    assert "3 of 4 repeats at β = 0, 0.5" in texts(figure)
    assert "hollow" in texts(figure)
    for name in ("curves", "pareto"):
        (figure,) = drawn(name, run).values()
        assert "t1: infeasible at β = 1" in texts(figure)


def test_panels_share_axes_that_hold_every_dot_and_d_0():
    (figure,) = drawn("discrimination-accuracy", made_up(15, (0.0, 1.0), 3)).values()
    assert len(figure.axes) == 15
    assert len({(ax.get_xlim(), ax.get_ylim()) for ax in figure.axes}) == 1
    (x0, x1), (y0, y1) = figure.axes[0].get_xlim(), figure.axes[0].get_ylim()
    every = np.concatenate(list(dots(figure).values()))
    assert x0 < 0 < x1
    assert ((every > [x0, y0]) & (every < [x1, y1])).all()


@pytest.mark.parametrize(
    ("techniques", "betas"), [(1, (0.5,)), (2, (0.0, 1.0)), (7, tuple(np.linspace(0, 1, 9).tolist()))]
)
def test_nothing_is_cut_off_at_the_edges(techniques, betas):
    run = made_up(techniques, betas, 2)
    for name in FIGURES.keys() - {"network"}:  # SVG, see below
        for figure in drawn(name, run).values():
            with house_style():
                box = figure.get_tightbbox()
            width, height = figure.get_size_inches()
            assert min(box.x0, box.y0, width - box.x1, height - box.y1) > -0.01, name


@pytest.mark.parametrize(("size", "weight"), [(7.5, "normal"), (8.5, "normal"), (11, "bold")])
def test_text_is_as_wide_in_a_png_as_it_is_measured(size, weight):
    text = "zafar-di (gamma=0.5, l2=0.0, mode=accuracy) + s, zafar-di (c=0.001), zafar-di (l2=0.0) + s"
    with house_style():
        figure = Figure(figsize=(20, 1), dpi=150)
        drawn_text = figure.text(0, 0, text, fontsize=size, fontweight=weight)
        width = drawn_text.get_window_extent(FigureCanvasAgg(figure).get_renderer()).width / 150
    assert width == pytest.approx(text_width(text, size, weight), rel=0.003)


def test_techniques_can_be_told_apart():
    plan = made_up(15, (0.0,), 1).plan
    for cells in (plan.cells, [cell | {"intervention": "t0", "parameters": f'{{"a":{i}}}'}
                                for i, cell in enumerate(plan.cells)]):  # fmt: skip
        (page,) = split_into_pages(replace(plan, cells=cells)).values()
        assert len({(t.colour, t.marker) for t in page.techniques}) == 15


# Curves and Pareto front


def test_curves_are_the_summarys_means_in_order_of_beta(run):
    (figure,) = drawn("curves", run).values()
    summary = summary_frame(run.results, run.plan.config.repeats)
    (page,) = split_into_pages(run.plan).values()
    assert tuple(ax.get_ylabel() for ax in figure.axes) == CURVE_METRICS
    for ax in figure.axes:
        lines = {line.get_gid(): line for line in ax.lines if line.get_gid()}
        for i, t in enumerate(page.techniques):
            own = summary[
                (summary["intervention"] == t.technique[0]) & (summary["metric"] == ax.get_ylabel())
            ]
            expected = own.sort_values("beta")["mean"].to_numpy()
            assert np.array_equal(lines[f"{ax.get_ylabel()}-{i}"].get_ydata(), expected, equal_nan=True)


@given(st.integers(0, 10_000), st.integers(1, 9))
@law(8)
def test_the_drawn_front_equals_brute_force(seed, techniques):
    run = made_up(techniques, (0.0, 1.0), 3, seed)
    (figure,) = drawn("pareto", run).values()
    wide = (
        results_frame(run.results)
        .pivot_table(index=["beta", "intervention", "repeat"], columns="metric", values="value")
        .dropna()
    )
    wide["away"] = wide["discrimination"].abs()
    means = wide.groupby(["beta", "intervention"])[["away", "accuracy"]].mean()
    for ax, beta in zip(figure.axes, (0.0, 1.0), strict=True):
        found = {line.get_gid(): line for line in ax.lines if line.get_gid()}
        own = means.loc[beta]
        for name, (x, y) in own.iterrows():
            beaten = any(a <= x and b >= y and (a < x or b > y) for a, b in own.to_numpy())
            line = found[f"{'dominated' if beaten else 'free'}-{name}"]
            assert np.allclose([*line.get_xdata(), *line.get_ydata()], [x, y], rtol=0, atol=1e-12)
        assert len(found) == len(own) + 1
        named = {text.get_text() for text in ax.texts}
        assert named == {name.removeprefix("free-") for name in found if name.startswith("free-")}


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=8))
def test_the_staircase_keeps_every_dominated_point_on_its_lower_right(points):
    front = [p for p in points if not any(q[0] <= p[0] and q[1] >= p[1] and q != p for q in points)]
    xs, ys = staircase([p[0] for p in front], [p[1] for p in front], x_right=10, y_bottom=-1)
    assert xs == sorted(xs)
    assert ys == sorted(ys)
    for x, y in points:
        height = max(b for a, b in zip(xs, ys, strict=True) if a <= x)
        assert y <= height


@given(st.integers(0, 1000), st.integers(1, 6))
def test_labels_do_not_overlap_where_there_is_room(seed, n):
    rng = np.random.default_rng(seed)
    points = rng.uniform(100, 300, (n, 2))
    sizes = np.stack([rng.uniform(30, 90, n), np.full(n, 9.75)], axis=1)
    marks = np.concatenate([points - 4, points + 4], axis=1)
    boxes = place_labels(points, sizes, marks, (0, 0, 400, 400))
    assert np.allclose(boxes[:, 2:] - boxes[:, :2], sizes)
    for i, j in itertools.combinations(range(n), 2):
        low, high = np.maximum(boxes[i, :2], boxes[j, :2]), np.minimum(boxes[i, 2:], boxes[j, 2:])
        assert np.prod(np.clip(high - low, 0, None)) < 0.02 * np.prod(sizes[[i, j]].min(axis=0))
    assert ((boxes[:, :2] > 0) & (boxes[:, 2:] < 400)).all()


# The network


@st.composite
def graphs(draw) -> list[tuple[int, ...]]:
    n = draw(st.integers(1, 12))
    order = draw(st.permutations(range(n)))
    pairs = list(itertools.combinations(order, 2))
    arcs = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=24)) if pairs else []
    return [tuple(a for a, b in arcs if b == j) for j in range(n)]


def boxes_of(layout, widths) -> list[tuple[float, float, float, float]]:
    level = layout.layer_of
    return [
        (layout.x[j] - w / 2, box_top(level[j]) - BOX_HEIGHT, layout.x[j] + w / 2, box_top(level[j]))
        for j, w in enumerate(widths)
    ]


def check_layout(parents, widths, gap=0.24):
    layout = lay_out(parents, widths, gap)
    level, boxes = layout.layer_of, boxes_of(layout, widths)
    assert min(box[0] for box in boxes) >= -1e-6
    for layer in layout.layers:
        for a, b in itertools.pairwise(layer):
            room = [widths[j] / 2 if j < len(widths) else 0 for j in (a, b)]
            assert layout.x[b] - layout.x[a] >= sum(room) + gap - 1e-5
    assert set(layout.routes) == {(i, j) for j, above in enumerate(parents) for i in above}
    for (i, j), pieces in arc_lines(layout, widths).items():
        assert level[i] < level[j]
        heights = [y for piece in pieces for _, y in piece]
        assert heights == sorted(heights, reverse=True)
        assert boxes[i][0] <= pieces[0][0][0] <= boxes[i][2]
        assert boxes[j][0] <= pieces[-1][1][0] <= boxes[j][2]
        for (_, end), (start, _) in itertools.pairwise(pieces):
            assert end[0] == start[0]
            # Between two pieces the arc passes a layer upright: no box of that layer may be in its way.
            for x0, y0, x1, y1 in boxes:
                assert not (y0 <= start[1] <= y1 and x0 < end[0] < x1)


@given(graphs(), st.integers(0, 99))
@law(60)
def test_arcs_point_downwards_and_boxes_keep_clear(parents, seed):
    widths = np.random.default_rng(seed).uniform(0.3, 2.0, len(parents)).tolist()
    check_layout(parents, widths)
    assert lay_out(parents, widths, 0.24) == lay_out(parents, widths, 0.24)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_networks_are_laid_out_without_overlap_and_with_few_crossings(name):
    net, _ = load(shipped_cards() / f"{name}.network.json")
    widths = [text_width(column, 8.5) + 0.2 for column in net.names]
    check_layout(net.parents, widths)
    layout = lay_out(net.parents, widths, 0.24)
    pieces = [piece for route in layout.routes.values() for piece in itertools.pairwise(route)]
    assert count_crossings(layout.layers, pieces) <= 4


@given(graphs())
def test_levels_leave_no_layer_empty_and_shorten_arcs(parents):
    level = find_layers(parents)
    assert set(level) == set(range(max(level) + 1))
    longest = [0] * len(parents)
    for _ in parents:
        longest = [max((longest[i] + 1 for i in above), default=0) for above in parents]
    arcs = [(i, j) for j, above in enumerate(parents) for i in above]
    assert sum(level[j] - level[i] for i, j in arcs) <= sum(longest[j] - longest[i] for i, j in arcs)


def test_a_cycle_is_refused():
    with pytest.raises(ValueError, match="cycle"):
        lay_out([(1,), (0,)], [1.0, 1.0], 0.2)


@pytest.mark.parametrize("name", SHIPPED)
def test_outcome_protected_attribute_and_what_beta_edits_are_marked(name):
    net, _ = load(shipped_cards() / f"{name}.network.json")
    card = read_card(find_card(name))
    levels = {column.name: column.levels for column in net.columns}
    roles = card.roles(card.attribute(None), levels)
    marks = Marks(roles.label, roles.attribute, tuple(card.bias_groups(roles.attribute, levels)))
    svg = draw_network(net, marks, "title")
    boxes = re.findall(r'<rect class="node( marked)?"[^>]*><title>([\w.]+)', svg)
    arcs = re.findall(r'<path class="way (\w+)"[^>]*><title>([\w.]+) → ([\w.]+)', svg)
    assert {column for look, column in boxes if look} == {marks.outcome, marks.protected, *marks.edited}
    assert {column for _, column in boxes} == set(net.names)
    assert {(start, end) for _, start, end in arcs} == set(net.arcs)
    edited = [(start, end) for look, start, end in arcs if look == "edited"]
    assert edited == [(name, marks.outcome) for name in marks.edited]
    for role in ("outcome", "protected", "edited by β"):
        assert role in svg


def test_a_network_without_the_arc_marks_nothing_that_beta_edits():
    columns = tuple(Column(name, ("a", "b")) for name in ("s", "y"))
    net = BayesNet(columns, ((), ()), (np.array([0.5, 0.5]), np.array([0.5, 0.5])))
    shown = draw_network(net, Marks("y", "s", ("s",)), "title")
    unknown = draw_network(net, Marks(None, None), "title")
    assert ">protected</text>" in shown
    assert "β" not in shown
    assert "protected" not in unknown


def test_a_picture_of_a_network_has_room_for_its_widest_box():
    net, _ = load(shipped_cards() / "compas.network.json")
    svg = draw_network(net, Marks(None, None), "title")
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])
    boxes = re.findall(r'<rect [^>]*?x="([-\d.]+)"[^>]*?width="([\d.]+)"', svg)
    assert max(float(x) + float(wide) for x, wide in boxes) < width


def test_the_ideal_is_drawn_where_it_is_nought():
    page = SimpleNamespace(betas=[0.0, 1.0], techniques=())
    run = SimpleNamespace(plan=SimpleNamespace(has_betas=True))
    for metric, n_lines in (("discrimination", 1), ("accuracy", 0)):
        ax = Figure().subplots()
        curve_lines(page, run, metric, ax)
        assert len(ax.lines) == n_lines


def test_a_techniques_own_model_has_a_mark_of_its_own(monkeypatch):
    models = [({"intervention": name}, name) for name in ("tree", "bayes", pages.OWN_MODEL)]
    monkeypatch.setattr(pages, "technique_looks", lambda _: dict.fromkeys(("tree", "bayes", pages.OWN_MODEL)))
    monkeypatch.setattr(pages, "_technique_of", lambda cell: cell["intervention"])
    monkeypatch.setattr(pages, "distinct_models", lambda _, cells: cells)
    marks = [mark.marker for _, mark in pages.model_marks(SimpleNamespace(cells=models), models)]
    assert len(set(marks)) == 3


def test_the_network_of_the_run_is_drawn_and_not_that_of_an_earlier_one(tmp_path):
    run = made_up(1, (0.0,), 1)
    net, meta = load(shipped_cards() / "dutch.network.json")
    source = run.plan.datasets[0] | meta.source | {"dataset": "dutch", "edited_column": "sex"}
    del source["network"]
    cells = [cell | {"dataset": "dutch"} for data in run.datasets for cell in data.cells]
    without = replace(run, folder=tmp_path, plan=replace(run.plan, datasets=[source]))
    assert drawn("network", without) == {}  # only data sets with results have a figure
    run = replace(without, datasets=[replace(data, cells=cells) for data in run.datasets])
    with pytest.raises(UserError, match="is not in"):
        drawn("network", run)
    (tmp_path / "networks").mkdir()
    other, other_meta = load(shipped_cards() / "adult.network.json")
    save(other, tmp_path / "networks" / "dutch-sex-0.json", other_meta)
    with pytest.raises(UserError, match="is not in"):
        drawn("network", run)
    (tmp_path / "networks" / "dutch-sex-1.json").write_text('{"format": "fairbench-network/1"}')
    save(net, tmp_path / "networks" / "dutch-sex-2.json", meta)
    ((name, drawing),) = drawn("network", run).items()
    assert "household_position" in drawing.svg
    for ending in ("png", "pdf"):  # as an earlier version drew it
        (tmp_path / "figures").mkdir(exist_ok=True)
        (tmp_path / f"figures/network-{name}.{ending}").touch()
    assert draw_figures(run, ["network"], FIGURES) == [tmp_path / f"figures/network-{name}.svg"]
    assert [path.name for path in (tmp_path / "figures").iterdir()] == [f"network-{name}.svg"]


# The command


def test_network_draw_writes_a_picture(say, tmp_path):
    for name in ("a.svg", "new/b.SVG"):
        said = say("network", "draw", "adult", "-o", name)
        assert (said.code, said.err) == (0, "")
    svg = (tmp_path / "a.svg").read_text()
    assert svg == (tmp_path / "new/b.SVG").read_text()
    assert "<title>relationship → income: the probabilities that β edits</title>" in svg


def test_network_draw_refuses_what_it_cannot_draw(say, tmp_path):
    for arguments, message in (
        (["adult", "-o", "a.png"], "cannot draw a picture"),
        (["adult", "-o", "a.svg", "--attribute", "income"], "no protected attribute"),
        (["adult", "-o", "a.svg", "--card", "compas"], "no node"),
        (["nothing", "-o", "a.svg"], "no network"),
    ):
        said = say("network", "draw", *arguments)
        assert said.code == 2
        assert message in said.err
    assert not list(tmp_path.glob("*.svg"))


def test_network_draw_marks_nothing_without_a_card(say, tmp_path):
    content = json.loads((shipped_cards() / "adult.network.json").read_text())
    content["source"] = {"dataset": "mine.csv"}
    del content["sha256"]
    (tmp_path / "mine.json").write_text(json.dumps(content))
    assert say("network", "draw", "mine.json", "-o", "mine.svg").code == 0
    assert say("network", "draw", "mine.json", "-o", "marked.svg", "--card", "adult").code == 0
    assert (tmp_path / "mine.svg").read_bytes() != (tmp_path / "marked.svg").read_bytes()


@given(st.text("ab cdefg", max_size=60), st.floats(0.3, 3))
def test_wrapped_text_keeps_its_words_and_its_room(text, room):
    lines = wrap_text(text, room, 8.5)
    assert " ".join(lines) == text
    assert all(text_width(line, 8.5) <= room or " " not in line for line in lines)
