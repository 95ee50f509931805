"""What a paper takes from a run: names, marks beyond chance, figures without titles; TeX takes it."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import Finished, plain_cell, run_plan, two_lines, write_config
from scipy import stats

from fairbench_cli.document.latex import latex, width
from fairbench_cli.document.model import Document, Section, TableCell, plain_table
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.experiment.journal.journal import read_journals
from fairbench_cli.experiment.plan import read_plan
from fairbench_cli.measures.counts import PAIR, count
from fairbench_cli.measures.significance import holm
from fairbench_cli.report.ledger.cell_labels import read_display_names
from fairbench_cli.report.ledger.results import RunResults, run_results
from fairbench_cli.report.show.figures.canvas import Panel, facet, figure_bytes, house_style
from fairbench_cli.report.show.paper_table import find_best, paper_table
from fairbench_cli.report.write import redo_report, results_of_folder

REPEATS = 8
# Accuracy of each technique's decisions by β; refuser decides the same for everybody.
RIGHT = {"none": (0.7, 0.7), "massaging": (0.9, 0.7), "reweighing": (0.8, 0.7), "refuser": (None, None)}


def run_of() -> RunResults:
    cells, found = [], {}
    for name, chances in RIGHT.items():
        for beta, right in zip((0.0, 1.0), chances, strict=True):
            key = f"{name}{beta:g}"
            cells.append(plain_cell(key=key, beta=beta, intervention=name))
            for repeat in range(REPEATS):
                rng = np.random.default_rng([repeat, *map(ord, key)])
                s, y = np.arange(400) % 2, (np.arange(400) // 2) % 2
                own = 0 * y if right is None else np.where(rng.random(400) < right, y, 1 - y)
                found[key, repeat] = Repeat(key, repeat, "ok", "", count(s, y, own, PAIR))
    plan = run_plan(cells, [], repeats=REPEATS, metrics=("accuracy", "discrimination"), test="network")
    return run_results(
        Path(), plan, found, ("accuracy", "discrimination", "overestimation", "underestimation")
    )


RUN = run_of()


def test_the_best_of_a_column_is_better_than_each_of_the_others_beyond_chance():
    own = RUN.own_attribute_results.take((RUN.own_attribute_results.rows["metric"] == "accuracy").to_numpy())
    found = own.rows[find_best(own)]
    assert found[["intervention", "beta"]].values.tolist() == [["massaging", 0.0]]
    values = {
        (name, beta): row
        for (name, beta), row in zip(
            own.rows[["intervention", "beta"]].itertuples(index=False), own.values, strict=True
        )
    }
    p = []
    for beta in (0.0, 1.0):
        able = [name for name in RIGHT if name != "refuser"]
        first = max(able, key=lambda name: values[name, beta].mean())
        p.append(
            max(
                stats.ttest_rel(values[first, beta], values[other, beta]).pvalue
                for other in able
                if other != first
            )
        )
    assert (holm(np.array(p)) < 0.05).tolist() == [True, False]


def test_marks_in_print_are_those_of_the_tests_and_text_elsewhere_has_none():
    document = paper_table("discrimination-accuracy", RUN)
    (table,) = document.sections[0].tables
    cells = {(row[0].text, row[1].text): row[2:] for row in table.rows}
    assert [cell.best for cell in cells["massaging", "accuracy"]] == [True, False]
    assert [cell.against for cell in cells["reweighing", "accuracy"]] == ["better", ""]
    assert {cell.against for cell in cells["refuser", "discrimination"]} == {""}  # no gap, and never better
    assert not any(cell.best or cell.against or cell.spread for cell in cells["labels", "accuracy"])
    values = RUN.cell_metric(
        ("d", "s", "", "original", 0.0, "none", "{}", False, "tree", "{}"), "accuracy"
    ).values
    assert cells["none", "accuracy"][0].spread == f"{np.std(values, ddof=1):.3f}"[1:]
    text = latex(document)
    assert f"\\mathbf{{{cells['massaging', 'accuracy'][0].text}}}" in text
    assert text.count("\\mathbf") == sum(cell.best for row in table.rows for cell in row)
    assert text.count("\\rlap{$^{\\dagger}$}") == sum(
        cell.against == "better" for row in table.rows for cell in row
    )
    assert f"standard deviation over {REPEATS} repeats" in text
    one = replace(RUN, plan=replace(RUN.plan, config=RUN.plan.config.model_copy(update={"repeats": 1})))
    assert "±" not in " ".join(paper_table("discrimination-accuracy", one).sections[0].tables[0].marks)


def test_columns_that_do_not_fit_stand_below_each_other_and_long_tables_are_several():
    heads = ("technique", "metric", *(f"data set {j}, attribute" for j in range(9)))
    number = TableCell("0.123*", spread=".004", best=True)
    rows = [(f"technique {i} (parameter={'x' * 40})", m, *[number] * 9) for i in range(30) for m in "ab"]
    table = plain_table("", heads, rows, 2, grouped=True)
    text = latex(Document("t", sections=(Section("wide", tables=(table,)),)))
    floats = text.split("\\begin{table}")[1:]
    assert len(floats) > 1
    assert "part 1 of" in floats[0]
    labels = re.findall(r"\\label\{(.*)\}", text)
    assert len(set(labels)) == len(floats)
    for one in floats:
        assert one.count("\\begin{tabularx}") > 1
    assert text.count("$\\mathbf{0.123}$") == 30 * 2 * 9
    for line in text.splitlines():
        shown = re.sub(r"\\[a-z]+|[{}$]", "", line)
        assert line.count("&") == 0 or width(shown) < 1000
    assert latex(Document("t")).count("\n") == 2


def test_the_macros_of_an_earlier_report_go_away(finished: Finished, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(finished.folder, folder)
    (folder / "tables/numbers.tex").write_text("old", encoding="utf-8")
    (folder / "tables/mine.tex").write_text("my own", encoding="utf-8")
    redo_report(folder)
    assert not (folder / "tables/numbers.tex").exists()
    assert (folder / "tables/mine.tex").exists()


NAMED = {
    "datasets": [{"compas": {"title": "COMPAS (ProPublica)"}}],
    "interventions": [
        {"none": {"as": "No technique"}},
        {"massaging": {"ranker": ["naive-bayes", "logistic"], "as": "M & co"}},
        "uniform-sampling",
    ],
    "classifiers": [{"tree": {"as": "CART"}}],
}


def test_names_are_shown_and_decide_nothing(tmp_path, finished: Finished):
    config = read_config(write_config(tmp_path / "a.yaml", **NAMED))
    names = read_display_names(config)
    assert names.technique("none", "{}", False) == "No technique"
    assert names.technique("massaging", '{"ranker":"logistic"}', False) == "M & co (ranker=logistic)"
    assert names.technique("massaging", '{"ranker":"naive-bayes"}', False) == "M & co"
    assert names.technique("uniform-sampling", "{}", False) == "uniform-sampling"
    assert names.dataset("compas") == "COMPAS (ProPublica)"
    # What is written into results is read again as the same, and says so.
    (tmp_path / "b.yaml").write_text(config.as_yaml(), encoding="utf-8")
    again = read_config(tmp_path / "b.yaml")
    assert read_display_names(again) == names
    assert again.as_yaml() == config.as_yaml()
    plain = read_config(write_config(tmp_path / "c.yaml", interventions=["none"], classifiers=["tree"]))
    assert [spec.decisive for spec in config.classifiers] == [spec.decisive for spec in plain.classifiers]
    assert config.interventions[0] == plain.interventions[0]
    assert plain.to_config()["interventions"] == [
        {"none": {"include_protected": False, "representation": "original"}}
    ]
    # A run that has them shows them in tables; its files of numbers keep the names of results.
    plan = read_plan(finished.folder)
    techniques = [
        replace(one, spec=replace(one.spec, alias=one.spec.name.upper())) for one in plan.config.interventions
    ]
    shown = replace(plan, config=plan.config.model_copy(update={"interventions": tuple(techniques)}))
    run = results_of_folder(finished.folder, shown, read_journals(finished.folder / "journal").records)
    rows = paper_table("discrimination-accuracy", run).sections[0].tables[0].rows
    assert {row[0].text for row in rows} == {
        "labels",
        *(one.spec.name.upper() for one in plan.config.interventions),
    }
    assert set(run.results.rows["intervention"]) == {one.spec.name for one in plan.config.interventions}


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ({"massaging": {"as": "none"}}, "massaging: none is what something else is called"),
        ({"massaging": {"as": "labels"}}, "massaging: labels is what something else is called"),
        ({"massaging": {"as": 3}}, "as must be a text of at most 60 letters"),
        ({"massaging": {"as": ["a", "b"]}}, "as must be a text of at most 60 letters"),
        ({"massaging": {"as": "x" * 61}}, "as must be a text of at most 60 letters"),
    ],
)
def test_names_that_say_nothing_are_refused(say, tmp_path, entry, what):
    config = write_config(tmp_path / "a.yaml", interventions=["none", entry])
    two_lines(say("plan", config), what)


def test_without_titles_a_figure_is_cut_below_them():
    with house_style():
        figure = facet("A title", "About it", [Panel(lambda ax: ax.plot([0, 1], [0, 1]))], 1, (3, 2))
        whole, cut = (figure_bytes(figure, "svg", titles=titles).decode() for titles in (True, False))
    heights = [float(re.search(r'height="([\d.]+)pt"', text)[1]) for text in (whole, cut)]
    assert heights[1] < heights[0] - 20
    assert 'id="title"' in whole
    assert 'id="title"' not in cut


def installed(name: str) -> bool:
    return shutil.which(name) is not None


@pytest.mark.nightly
@pytest.mark.skipif(not installed("pdflatex"), reason="needs pdflatex, to compile tables")
def test_tables_compile_within_the_text(finished: Finished, tmp_path):
    tables = sorted((finished.folder / "tables").glob("*.tex"))
    for path in tables:
        shutil.copy(path, tmp_path)
    long = paper_table("discrimination-accuracy", RUN)
    table = plain_table(
        "", ("technique", "metric", *(f"a data set {j}, sex" for j in range(12))),
        [("a_name_that_is_very_long (level=0.5) & 5 % of {x}", m, *["-0.12* (3/5)"] * 12) for m in "ab" * 40],
        2, grouped=True, marks=["±, β ≤ τ"],
    )  # fmt: skip
    long = replace(long, sections=(*long.sections, Section("wide", tables=(table,))))
    (tmp_path / "long.tex").write_text(latex(long), encoding="utf-8")
    inputs = "\n".join(f"\\input{{{path.stem}}}\\clearpage" for path in tables)
    (tmp_path / "main.tex").write_text(
        "\\documentclass{article}\\usepackage{booktabs,tabularx}\n"
        f"\\begin{{document}}\n{inputs}\\input{{long}}\\end{{document}}\n",
        encoding="utf-8",
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
    assert "Float too large" not in done.stdout
