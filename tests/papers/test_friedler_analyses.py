"""Analyses of a run: correlations of metrics, stability, pairs of representations, combined attributes."""

import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import plain_cell, run_plan, two_lines, write_config
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import t as student

from fairbench_cli.document.csv import comma_separated
from fairbench_cli.document.latex import latex
from fairbench_cli.document.markdown import markdown
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.journal.journal import Records
from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.measures.counts import Counts
from fairbench_cli.papers.friedler_analyses import (
    clusters_frame,
    combined_table,
    correlate,
    metric_pairs_frame,
    observations,
    order_by_clusters,
    overview_table,
    pairs_frame,
    representations_frame,
    stability_frame,
)
from fairbench_cli.papers.friedler_figures import (
    draw_combined,
    draw_correlations,
    draw_metric_pairs,
    draw_overview,
    draw_representations,
    draw_stability,
)
from fairbench_cli.papers.parts import PARTS
from fairbench_cli.report.ledger.cell_labels import OWN_MODEL
from fairbench_cli.report.ledger.journal_arrays import cell_key as key_of_cell
from fairbench_cli.report.ledger.results import RunResults, run_results
from fairbench_cli.report.show.figures.canvas import house_style
from fairbench_cli.report.write import write_report

REFERENCE = Path(__file__).parents[1] / "reference" / "friedler"
SEX = {"name": "sex", "levels": ["f", "m"], "deprived": ["f"], "favoured": ["m"]}
RACE = {"name": "race", "levels": ["b", "w"], "deprived": ["b"], "favoured": ["w"]}
ATTRIBUTES, REPRESENTATIONS = ("race", "sex", "race-sex"), ("numerical", "numerical-binary")
METRICS = ("accuracy", "cv", "tpr", "impact-ratio")
REPEATS = 4
PARAMETERS = {"svm": "{}", "tree": '{"max_depth":3}'}


def key_of(attribute: str, how: str, technique: str, classifier: str) -> str:
    """Return the key: none ignores attribute and representation, own-model the classifier."""
    if technique == "none":
        return f"none-{classifier}"
    return f"{technique}-{attribute}-{how}" + ("" if technique == "own-model" else f"-{classifier}")


def counts_of(key: str, repeat: int) -> np.ndarray:
    rng = np.random.default_rng([repeat, *key.encode()])
    return rng.integers(1, 40, (4, 2, 2)).astype(float)


def study(
    changes: dict[tuple[str, int], np.ndarray | None] | None = None, **keys: object
) -> tuple[RunPlan, Records]:
    """A run by three attributes under two representations, on random counts but for some `changes`."""
    cells, records = [], {}
    axes = (ATTRIBUTES, REPRESENTATIONS, ("none", "reweighing", "own-model"), ("svm", "tree"))
    for attribute, how, technique, classifier in itertools.product(*axes):
        key = key_of(attribute, how, technique, classifier)
        where = {"dataset": "adult", "attribute": attribute, "representation": how, "intervention": technique}
        model = {"classifier": classifier, "classifier_parameters": PARAMETERS[classifier]}
        cells.append(plain_cell(key=key, **where, **model))
        for repeat in range(REPEATS):
            n = (changes or {}).get((key, repeat), counts_of(key, repeat))
            status = "infeasible" if n is None else "ok"
            counts = None if n is None else Counts(tuple("0123"), n)
            records[key, repeat] = Repeat(key, repeat, status, "", counts)
    joint = [{"name": "race-sex", "of": ["race", "sex"]}]
    source = {"dataset": "adult", "protected": [SEX, RACE], "joint": joint}
    base = run_plan(cells, [source], "data", repeats=REPEATS, metrics=METRICS, test="holdout", **keys)
    datasets = [
        source | {"attribute": one, "edited_column": one, "arc_to_outcome": True} for one in ATTRIBUTES
    ]
    return replace(base, datasets=datasets), records


def made_up(changes: dict[tuple[str, int], np.ndarray | None] | None = None) -> RunResults:
    return run_results(Path(), *study(changes), (*METRICS, "discrimination"))


@pytest.fixture(scope="module")
def run() -> RunResults:
    return made_up()


def drawn(draw, run: RunResults) -> dict:
    with house_style():
        return draw(run)


def patches(figure, start: str) -> dict:
    found = figure.findobj(lambda one: str(one.get_gid() or "").startswith(start))
    return {one.get_gid(): one for one in found}


# Correlations


def test_the_matrix_is_that_of_pandas_and_the_tree_that_of_scipy():
    rng = np.random.default_rng(1)
    x = pd.DataFrame(rng.normal(size=(40, 6)) @ rng.normal(size=(6, 6)), columns=list("abcdef"))
    x = x.mask(rng.random(x.shape) < 0.2)
    found = correlate(x)
    assert sorted(found.matrix) == list("abcdef")
    assert list(found.matrix.index) == list(found.matrix)
    expected = x.corr()
    pd.testing.assert_frame_equal(found.matrix.loc[list("abcdef"), list("abcdef")], expected, atol=1e-9)
    tree = linkage(squareform(1 - expected.to_numpy(), checks=False), "average")
    np.testing.assert_allclose(found.tree[:, 2], tree[:, 2], atol=1e-9)
    for k in range(1, 7):
        ours = dict(zip(found.matrix, found.clusters(k), strict=True))
        theirs = dict(zip("abcdef", fcluster(tree, k, "maxclust"), strict=True))
        assert all(
            (ours[a] == ours[b]) == (theirs[a] == theirs[b]) for a, b in itertools.combinations("abcdef", 2)
        )
    # Clusters stand together: their numbers never fall from one metric to the next.
    assert (np.diff(found.clusters()) >= 0).all()


def test_constants_and_what_is_never_there_come_last_without_a_number():
    rows = np.arange(10.0)
    x = pd.DataFrame({"constant": 0.1 + 0.2 - 0.3 + 0 * rows, "a": rows, "never": np.nan, "b": -(rows**2)})
    x.loc[::2, "constant"] = 0.0  # but for rounding
    x["twice"] = [1.0, 2.0, *[np.nan] * 8]
    found = correlate(x)
    assert set(list(found.matrix)[:2]) == {"a", "b"}
    assert list(found.matrix)[2:] == ["constant", "never", "twice"]
    assert found.matrix.iloc[:2, 2:].isna().all(axis=None)
    assert found.clusters().tolist() == [1, 2, 0, 0, 0]
    nothing = correlate(x[["constant", "never"]])
    assert nothing.n_clustered == 0
    assert nothing.clusters(3).tolist() == [0, 0]


def test_the_published_correlations_fall_into_the_papers_four_clusters():
    published = pd.read_csv(REFERENCE / "friedler_corr_cleaned.csv", index_col=0)
    found = order_by_clusters(published, published.count())
    clusters = pd.Series(found.matrix.index).groupby(found.clusters()).agg(frozenset)
    by_rate = {"comparative-sensitive-accuracy", "comparative-sensitive-TNR"}
    assert set(clusters) == {
        frozenset(by_rate),
        frozenset({"DIbinary", "DIavgall", "CV", "comparative-sensitive-TPR"}),
        frozenset({"TPR", "sensitive-TPR", "sensitive-calibration-"}),
        frozenset(set(published) - by_rate - {"DIbinary", "DIavgall", "CV", "comparative-sensitive-TPR"}
                  - {"TPR", "sensitive-TPR", "sensitive-calibration-"}),
    }  # fmt: skip


def test_each_model_counts_once_per_attribute(run):
    seen = observations(run)
    # Per single attribute: none twice (classifiers), reweighing 2 × 2, own-model once per representation.
    assert seen.n_cells == 2 * (2 + 4 + 2)
    assert len(seen.values) == seen.n_cells * REPEATS
    assert list(seen.values) == list(METRICS)
    assert (seen.joint_attributes, seen.n_constant) == (("race-sex",), 0)
    assert observations(run, representation="numerical").n_cells == 2 * (2 + 2 + 1)
    for repeat in range(REPEATS):
        n = counts_of("none-svm", repeat).sum(0)
        assert np.isclose(seen.values["tpr"], n[1, 1] / n[1].sum()).sum() >= 2  # by race and by sex


def test_constant_predictors_infinite_values_and_equal_cells_are_left_out():
    everybody, nobody, women = np.zeros((4, 2, 2)), np.zeros((4, 2, 2)), np.ones((4, 2, 2))
    everybody[..., 1], nobody[..., 0], women[2:, :, 1] = 5, 5, 0
    one = key_of("race", "numerical", "reweighing", "svm")
    same = {(key_of("race", "numerical-binary", "reweighing", "svm"), r): counts_of(one, r) for r in range(4)}
    odd = key_of("sex", "numerical", "own-model", "svm")
    run = made_up({**same, (odd, 0): everybody, (odd, 1): nobody, (odd, 2): None, (odd, 3): women})
    seen = observations(run)
    assert seen.n_constant == 2
    assert seen.n_cells == 2 * (2 + 4 + 2) - 1
    assert len(seen.values) == seen.n_cells * REPEATS - 3
    assert not np.isinf(seen.values.to_numpy()).any()
    assert seen.values["impact-ratio"].isna().sum() == 1  # where women alone are accepted


def test_the_files_say_the_same(run):
    pairs, clusters = pairs_frame(run), clusters_frame(run)
    assert pairs["representation"].unique().tolist() == ["all", *REPRESENTATIONS]
    for part, n in {"all": 64, "numerical": 40, "numerical-binary": 40}.items():
        assert set(pairs.loc[pairs["representation"] == part, "n"]) == {n}
    matrix = observations(run).values.corr()
    for one in pairs[pairs["representation"] == "all"].itertuples():
        assert one.r == pytest.approx(matrix.loc[one.metric, one.other])
    assert clusters.groupby("representation")["metric"].agg(set).tolist() == [set(METRICS)] * 3
    assert (clusters["of_2"].dropna() <= 2).all()


def test_the_heat_map_names_every_metric_and_frames_every_cluster(run):
    figures = drawn(draw_correlations, run)
    assert list(figures) == ["all", *REPRESENTATIONS]
    ax = figures["all"].axes[0]
    found = correlate(observations(run).values)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(found.matrix)
    assert [label.get_text() for label in ax.get_xticklabels()] == list(found.matrix)
    assert len(patches(figures["all"], "cluster-")) == found.clusters().max()
    assert len(ax.texts) == len(METRICS) ** 2  # there is room for the values


# Stability


def test_sd_over_the_repeats_by_hand(run):
    frame = stability_frame(run)
    key = key_of("sex", "numerical", "reweighing", "svm")
    accuracies = [np.trace(n.sum(0)) / n.sum() for n in (counts_of(key, r) for r in range(REPEATS))]
    own = (frame["attribute"] == "sex") & (frame["representation"] == "numerical")
    own &= (frame["intervention"] == "reweighing") & (frame["classifier"] == "svm")
    row = frame[own & (frame["metric"] == "accuracy")].iloc[0]
    assert row["mean"] == pytest.approx(np.mean(accuracies))
    assert row["sd"] == pytest.approx(np.std(accuracies, ddof=1))
    assert row["n"] == REPEATS
    assert set(frame["metric"]) == {"accuracy", "cv"}  # CV, for the config lists it
    # A model of its own has one row, whatever the classifiers; per attribute and representation.
    assert len(frame) == 3 * 2 * (2 + 2 + 1) * 2


def test_a_rectangle_stands_at_the_means_and_is_one_sd_wide_and_high(run):
    figures = drawn(draw_stability, run)
    assert list(figures) == ["adult"]
    panels = figures["adult"].axes
    assert [ax.get_title(loc="left") for ax in panels] == [
        f"{attribute}, {how}" for how in REPRESENTATIONS for attribute in ATTRIBUTES
    ]
    frame = stability_frame(run)
    for ax, (how, attribute) in zip(panels, itertools.product(REPRESENTATIONS, ATTRIBUTES), strict=True):
        own = frame[(frame["attribute"] == attribute) & (frame["representation"] == how)]
        wanted = own.pivot_table(["mean", "sd"], ["intervention", "classifier"], "metric").to_numpy()
        boxes = [box for box in ax.patches if str(box.get_gid()).startswith("rectangle")]
        assert len(boxes) == 5
        middle = [(*box.get_center()[::-1], box.get_height(), box.get_width()) for box in boxes]
        np.testing.assert_allclose(sorted(middle), sorted(map(tuple, wanted)))


def test_cells_without_all_repeats_are_named_below():
    key = key_of("race", "numerical", "own-model", "svm")
    never = itertools.product(("none-svm", "none-tree"), range(REPEATS))
    run = made_up({(key, 0): None} | dict.fromkeys(never))
    figure = drawn(draw_stability, run)["adult"]
    lines = [text.get_text() for text in figure.texts]
    assert "none with svm, none with tree: infeasible." in lines
    assert "own-model: 3 of 4 repeats (race, numerical)." in lines


# Representations


def test_pairs_of_representations_by_hand(run):
    frame = representations_frame(run)
    assert set(frame["intervention"]) == {"reweighing", "own-model"}  # none is one model in both
    assert len(frame) == 3 * (2 + 1) * len(METRICS)
    keys = [key_of("race", how, "reweighing", "tree") for how in REPRESENTATIONS]
    values = np.array(
        [[np.trace(n.sum(0)) / n.sum() for n in (counts_of(k, r) for r in range(REPEATS))] for k in keys]
    )
    own = frame[(frame["attribute"] == "race") & (frame["intervention"] == "reweighing")]
    row = own[(own["classifier"] == "tree") & (own["metric"] == "accuracy")].iloc[0]
    apart = values[1] - values[0]
    half = student.ppf(0.975, REPEATS - 1) * apart.std(ddof=1) / np.sqrt(REPEATS)
    assert (row["first"], row["second"]) == REPRESENTATIONS
    wanted = {"mean_first": values[0].mean(), "mean_second": values[1].mean(), "difference": apart.mean()}
    wanted |= {
        "low": apart.mean() - half,
        "high": apart.mean() + half,
        "higher": (apart > 0).mean(),
        "equal": 0,
    }
    assert row[list(wanted)].to_dict() == pytest.approx(wanted)


def test_a_dot_is_a_repeat_and_both_axes_are_alike(run):
    figure = drawn(draw_representations, run)["adult"]
    panels = figure.axes
    titles = [f"{metric}, {attribute}" for metric in ("accuracy", "cv") for attribute in ATTRIBUTES]
    assert [ax.get_title(loc="left") for ax in panels] == titles
    for ax in panels:
        clouds = [one for one in ax.collections if str(one.get_gid()).startswith("dots-")]
        assert [len(cloud.get_offsets()) for cloud in clouds] == [REPEATS] * 3
        assert ax.get_xlim() == ax.get_ylim()
    assert any("not drawn: none with svm, none with tree." in text.get_text() for text in figure.texts)


REWEIGHED = ("race", "numerical", "reweighing", "tree")


def test_pairs_without_all_repeats_are_named_below():
    key = key_of("race", "numerical-binary", "reweighing", "tree")
    figure = drawn(draw_representations, made_up({(key, 0): None, (key, 2): None}))["adult"]
    lines = [text.get_text() for text in figure.texts]
    assert "reweighing with tree: 2 of 4 repeats (race)." in lines
    # Neither representation alone has all repeats; the note counts those that are drawn.
    figure = drawn(draw_representations, made_up({(key, 0): None, (key_of(*REWEIGHED), 1): None}))["adult"]
    assert "reweighing with tree: 2 of 4 repeats (race)." in [text.get_text() for text in figure.texts]


# Combined attributes


def test_attributes_stand_side_by_side(run):
    table = combined_table("combined-attributes", run)
    assert [section.title for section in table.sections] == [f"adult, {how}" for how in REPRESENTATIONS]
    (block,) = table.sections[0].tables
    assert block.heads[3:] == ATTRIBUTES
    texts = [[cell.text for cell in row] for row in block.rows]
    rows = {tuple(row[:3]): tuple(row[3:]) for row in texts}
    assert list(rows)[2:4] == [("none", "svm", "accuracy"), ("none", "svm", "cv")]
    assert set(rows["labels", "", "accuracy"]) == {"1.000"}
    assert len(set(rows["labels", "", "cv"])) == 3
    assert ("own-model", OWN_MODEL, "cv") in rows
    assert len(set(rows["none", "svm", "accuracy"])) == 1  # one model
    assert len(set(rows["none", "svm", "cv"])) == 3  # measured by three attributes
    cell = ("", "numerical", 0.0, "none", "{}", False, "svm", "{}")
    found = [run.cell_metric(("adult", attribute, *cell), "cv").summary for attribute in ATTRIBUTES]
    assert rows["none", "svm", "cv"] == tuple(f"{one.mean:.3f}" for one in found)
    assert "| technique | classifier | metric | race | sex | race-sex |" in re.sub(" +", " ", markdown(table))
    assert "technique & classifier & race & sex & race-sex \\\\" in latex(table)
    assert comma_separated(table).startswith("block,technique,classifier,metric,race,sex,race-sex\n")


def test_the_figure_has_a_dot_per_technique_attribute_and_metric(run):
    figures = drawn(draw_combined, run)
    assert list(figures) == ["adult-numerical", "adult-numerical-binary"]
    dots = {name: patches(figures["adult-numerical"], name) for name in ("accuracy-", "cv-")}
    assert [len(one) for one in dots.values()] == [5 * 3, 5 * 3]
    names = [label.get_text() for label in figures["adult-numerical"].axes[0].get_yticklabels()]
    assert names == [
        "none with svm",
        "none with tree",
        *(f"reweighing with {one}" for one in PARAMETERS),
        "own-model",
    ]


# All techniques on all data sets, and metric against metric


def test_the_overview_has_a_column_per_data_set_and_attribute(run):
    table = overview_table("overview", run)
    assert [section.title for section in table.sections] == list(REPRESENTATIONS)
    (block,) = table.sections[0].tables
    assert block.heads == (
        "technique",
        "classifier",
        "metric",
        "adult, race",
        "adult, sex",
        "adult, race-sex",
    )
    # The same numbers as side by side by attribute: there is one data set.
    (combined,) = combined_table("combined-attributes", run).sections[0].tables
    assert block.rows == combined.rows


def test_the_overview_draws_every_mean_once(run):
    figures = drawn(draw_overview, run)
    assert list(figures) == [*REPRESENTATIONS]
    axes = figures["numerical"].axes
    places = [f"adult, {one}" for one in ATTRIBUTES]
    assert [(ax.get_title(loc="left"), ax.get_xlabel()) for ax in axes] == [
        (place, metric) for metric in ("accuracy", "cv") for place in places
    ]
    assert len(patches(figures["numerical"], "accuracy-")) == 5 * 3
    for ax, attribute in zip(axes, ATTRIBUTES, strict=False):
        cell = next(one for one in run.plan.cells if one["attribute"] == attribute)  # none with svm
        (x,), (y,) = next(
            line for line in ax.lines if line.get_gid() == f"accuracy-0-adult-{attribute}"
        ).get_data()
        assert (x, y) == (run.cell_metric(key_of_cell(cell), "accuracy").summary.mean, 0)
    assert [text.get_text() for text in axes[1].get_yticklabels()] == [""] * 5


def test_metric_pairs_are_those_of_pandas_and_every_repeat_is_a_dot(run):
    frame = metric_pairs_frame(run)
    values = observations(run).values
    assert list(zip(frame["metric"], frame["other"], strict=True)) == [*itertools.combinations(METRICS, 2)]
    for row in frame.to_dict("records"):
        assert row["r"] == pytest.approx(values[row["metric"]].corr(values[row["other"]]))
        assert row["n"] == len(values[[row["metric"], row["other"]]].dropna())
    figures = drawn(draw_metric_pairs, run)
    assert list(figures) == ["adult"]
    axes = figures["adult"].axes
    assert len(axes) == 3 + 2 + 1
    for ax in axes:
        shown = np.concatenate([np.array(line.get_data()).T for line in ax.lines])
        assert len(shown) == len(values)
    points = {tuple(row) for row in values[["accuracy", "cv"]].to_numpy()}
    assert {tuple(row) for line in axes[0].lines for row in np.array(line.get_data()).T} == points


@pytest.mark.gate
def test_metric_pairs_know_their_data_set():
    """Metrics of one data set do not enter another's, nor one β another's."""
    plan, records = study()
    other = [cell | {"dataset": "other", "key": f"other-{cell['key']}"} for cell in plan.cells]
    cells = [*plan.cells, *other]
    sources = [*plan.datasets, *(one | {"dataset": "other"} for one in plan.datasets)]
    more = {(f"other-{key}", n): replace(one, key=f"other-{key}") for (key, n), one in records.items()}
    both = run_results(
        Path(), replace(plan, cells=cells, datasets=sources), records | more, (*METRICS, "discrimination")
    )
    frame = metric_pairs_frame(both)
    halves = [own.drop(columns="dataset").reset_index(drop=True) for _, own in frame.groupby("dataset")]
    pd.testing.assert_frame_equal(*halves)
    assert len(drawn(draw_overview, both)["numerical"].axes) == 2 * 6
    assert list(drawn(draw_metric_pairs, both)) == ["adult", "other"]


# From a config to the files


@pytest.mark.gate
def test_a_report_writes_the_files_of_what_is_asked_for_and_no_others(tmp_path, monkeypatch):
    monkeypatch.setattr("fairbench_cli.report.write.draw_figures", lambda *_, **__: None)  # see test_figures
    plan, records = study(figures=("correlations", "representations"), tables=("combined-attributes",))
    files = ("correlations.csv", "correlation_pairs.csv", "correlation_clusters.csv", "representations.csv")
    write_report(tmp_path, plan, records, parts=PARTS)
    assert all((tmp_path / name).is_file() for name in files)
    square = pd.read_csv(tmp_path / "correlations.csv", index_col="metric")
    assert list(square.index) == list(square)
    assert (tmp_path / "tables" / "combined-attributes.tex").is_file()
    write_report(
        tmp_path, replace(plan, config=plan.config.model_copy(update={"figures": ()})), records, parts=PARTS
    )
    assert not any((tmp_path / name).exists() for name in files)


def test_a_run_without_results_has_empty_files_and_no_figures():
    plan, _ = study()
    run = run_results(Path(), plan, {}, (*METRICS, "discrimination"))
    for draw in (
        *(draw_correlations, draw_stability, draw_representations, draw_combined),
        *(draw_overview, draw_metric_pairs),
    ):
        assert drawn(draw, run) == {}
    assert all(frame(run).empty for frame in (stability_frame, representations_frame))
    assert clusters_frame(run)["cluster"].isna().all()
    (block,) = combined_table("x", run).sections[0].tables
    assert {cell.text for row in block.rows for cell in row[3:]} == {"…"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"figures": ["representations"]}, ("representations compares representations", "numerical-binary")),
        ({"tables": ["combined-attributes"]}, ("several protected attributes", "attribute: [race, sex]")),
    ],
)
def test_what_there_is_nothing_of_is_refused(say, tmp_path, changes, words):
    two_lines(say("plan", write_config(tmp_path / "config.yaml", **changes)), *words)
