"""Tables as papers print them: in the order of the paper, with the numbers of summary.csv in each format."""

import csv
import io
import re
import shutil
import subprocess
from dataclasses import replace

import pandas as pd
import pytest
from conftest import plain_cell, run_plan
from report.answer_run import run_of

from fairbench_cli.base.checksums import canonical_json
from fairbench_cli.document.latex import HEAD, latex
from fairbench_cli.document.model import Document, Section, TableCell, plain_table
from fairbench_cli.experiment.config.read import find_config, read_config
from fairbench_cli.papers.registry import PAPERS, read_published
from fairbench_cli.report.ledger.results import run_results
from fairbench_cli.report.show.paper_table import paper_table
from fairbench_cli.report.write import write_report

SHORT = {"Disc.": "discrimination", "Acc.": "accuracy"}
TECHNIQUES = {
    "none": ((0.25, 0.40), 0.80),
    "massaging": ((0.35, 0.20), 0.84),
    "reweighing": ((0.45, 0.20), 0.76),
    "uniform-sampling": ((0.4, 0.1), 0.81),
    "repair": ((0.2, 0.3), 0.79),
    "preferential-sampling": "infeasible",
    "lfr": ((0.4, 0.4), 0.7),
}
TABLES = [
    ["none"],
    ["massaging", "reweighing", "uniform-sampling"],
    ["repair", "preferential-sampling", "lfr"],
]
"""Six techniques are divided evenly; none is alone."""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The folder of a report of two data sets at two β, in the layout of papers."""
    folder = tmp_path_factory.mktemp("paper")
    worlds = {"adult": TECHNIQUES, "dutch": {name: TECHNIQUES[name] for name in ("none", "massaging")}}
    tables = {"layout": "paper", "show": ("discrimination-accuracy",)}
    write_report(folder, *run_of(worlds, betas=(0.0, 0.5), tables=tables))
    return folder


def read(report, suffix: str) -> str:
    return (report / f"tables/discrimination-accuracy.{suffix}").read_text(encoding="utf-8")


def expected_tables(report):
    """Each table's rows by summary.csv: what a row is about, then (mean, half an interval, bold) a number."""
    frame = pd.read_csv(report / "summary.csv")
    summary = frame.set_index(["dataset", "beta", "intervention", "metric"])
    tables = []
    for techniques in TABLES:
        rows = {}
        for dataset in ("adult", "dutch"):
            for beta in (0.0, 0.5):
                numbers = []
                for technique in techniques:
                    for metric in ("discrimination", "accuracy"):
                        if (dataset, beta, technique, metric) not in summary.index:
                            numbers.append(("", "", False))
                            continue
                        own = summary.loc[dataset, beta, technique, metric]
                        if pd.isna(own["mean"]):
                            numbers.append(("-", "", False))
                            continue
                        mean, half = f"{own['mean']:.3f}", f"{own['high'] - own['mean']:.3f}"
                        none = f"{summary.loc[dataset, beta, 'none', metric]['mean']:.3f}"
                        numbers.append((mean, half[1:], metric == "accuracy" and mean > none))
                if any(mean for mean, _, _ in numbers):
                    rows[dataset, f"{beta:g}"] = numbers
        tables.append(rows)
    return tables


def test_csv_has_the_means_of_summary(report):
    rows = list(csv.DictReader(io.StringIO(read(report, "csv"))))
    expected = expected_tables(report)
    assert len(rows) == sum(map(len, expected))
    for techniques, table in zip(TABLES, expected, strict=True):
        block = ", ".join([*techniques, "tree"])
        found = {(row["dataset"], row["beta"]): row for row in rows if row["block"] == block}
        assert list(found) == list(table)
        for place, numbers in table.items():
            keys = [f"{technique} {metric}" for technique in techniques for metric in SHORT.values()]
            assert [found[place][key] for key in keys] == [mean for mean, _, _ in numbers]


def test_markdown_has_the_means_intervals_and_bold_numbers_of_summary(report):
    blocks = read(report, "md").split("\n## ")[1:]
    for techniques, table, block in zip(TABLES, expected_tables(report), blocks, strict=True):
        head, _, *lines = [line for line in block.splitlines() if line.startswith("|")]
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in (head, *lines)]
        assert cells[0] == ["data set", "β", *(f"{name} {short}" for name in techniques for short in SHORT)]
        assert [tuple(row[:2]) for row in cells[1:]] == list(table)
        for row, numbers in zip(cells[1:], table.values(), strict=True):
            written = [
                (f"**{mean}**" if bold else mean) + (f" ±{half}" if half else "")
                for mean, half, bold in numbers
            ]
            assert row[2:] == written
        assert "±: half the 95 % interval over 6 repeats." in block
        assert ("Bold: more accurate" in block) == ("**" in block)


def test_latex_has_the_numbers_and_every_row_as_many_columns_as_its_table(report):
    text = read(report, "tex").removeprefix(HEAD)
    bare = re.sub(r"\\[{}$&%#_]|\\label\{.*", "", text)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    floats = text.split("\\begin{table}")[1:]
    for techniques, table, block in zip(TABLES, expected_tables(report), floats, strict=True):
        columns = 1 + 2 * len(techniques)
        assert re.search(r"\{tabularx\}\{\\linewidth\}\{@\{\}.*X(r+)@\{\}\}", block)[1] == "r" * (columns - 1)
        widths = []
        for line in re.findall(r"^(.*) \\\\(?:\[-2pt\])?$", block, re.MULTILINE):
            spanned = sum(int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d+)\}", line))
            widths.append(len(re.findall(r"(?<!\\)&", line)) + 1 + spanned)
        assert set(widths) == {columns}
        assert re.findall(r"\\cmidrule\(lr\)\{(\d+)-(\d+)\}", block) == [
            (str(first), str(first + 1)) for first in range(2, columns, 2)
        ]
        for numbers in table.values():
            for mean, half, bold in numbers:
                assert f"$\\mathbf{{{mean}}}$" in block if bold else mean.removeprefix("-") in block
                assert not half or f"$\\pm${half}" in block


def test_rows_of_one_title_have_the_names_of_their_data_sets(tmp_path):
    worlds = {"adult": {"none": TECHNIQUES["none"], "repair": TECHNIQUES["repair"]}}
    worlds |= {name: {"none": TECHNIQUES["none"]} for name in ("own", "dutch")}
    plan, records = run_of(worlds, betas=(0.0, 0.5), tables={"layout": "paper"})
    titles = {"adult": "Adult", "own": "Adult", "dutch": "Census"}
    datasets = tuple(spec.model_copy(update={"title": titles[spec.name]}) for spec in plan.config.datasets)
    write_report(
        tmp_path, replace(plan, config=plan.config.model_copy(update={"datasets": datasets})), records
    )
    rows = csv.DictReader(io.StringIO(read(tmp_path, "csv")))
    names = [row["dataset"] for row in rows]
    assert names == ["Adult (adult)"] * 2 + ["Adult (own)"] * 2 + ["Census"] * 2 + ["Adult"] * 2


def test_the_shipped_config_has_the_papers_tables_in_the_papers_order():
    config = read_config(find_config("cardoso2019"))
    cells = []
    for spec in config.datasets:
        for beta in config.sample.beta:
            for technique in config.interventions:
                if spec.takes(technique.spec.name, "c45"):
                    parameters = canonical_json(technique.described)
                    place = {"dataset": spec.name, "attribute": spec.works_on, "beta": beta}
                    how = {"intervention": technique.spec.name, "parameters": parameters}
                    cells.append(
                        plain_cell(
                            key=f"{place}{how}", include_protected=True, classifier="c45", **place, **how
                        )
                    )
    plan = run_plan(cells, [], "network")
    run = run_results(
        find_config("cardoso2019"),
        type(plan)(config, plan.datasets, cells),
        {},
        ("discrimination", "accuracy"),
    )
    found = {}
    for name in ("discrimination-accuracy", "over-underestimation"):
        for section in paper_table(name, run).sections:
            (table,) = section.tables
            heads = tuple(head.replace("\n", " ") for head in table.heads[2:])
            found[heads] = [(row[0].text.lower(), row[1].text) for row in table.rows]
    names = {"none": "Baseline", "zafar-di": "Zafar", "zafar-dm": "Zafar"}
    modes = {"accuracy": "Acc. cons.", "fairness": "Disc. cons.", "misclassification": "Misclass."}
    modes |= {"fpr": "FPR", "fnr": "FNR", "both": "Both", "0.50": "0.5"}
    shorts = {"discrimination": "Disc.", "accuracy": "Acc."}
    shorts |= {"overestimation": "Over.", "underestimation": "Under."}
    published = read_published(PAPERS["cardoso2019"])
    for number, values in published.groupby("table"):
        heads = []
        for label, metric in values[["intervention", "metric"]].drop_duplicates().itertuples(index=False):
            name, _, mode = label.partition("@")
            called = names.get(name, name.replace("-", " ").capitalize())
            heads.append(" ".join(filter(None, [called, modes.get(mode, mode), shorts[metric]])))
        rows = list(values[["dataset", "beta"]].drop_duplicates().itertuples(index=False, name=None))
        assert found[tuple(heads)] == rows, number


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex, to compile tables")
def test_tables_of_a_paper_compile_within_the_text(report, tmp_path):
    source = report / "tables/discrimination-accuracy"
    heads = [f"technique {i}\n{short}" for i in range(3) for short in SHORT]
    row = ["x", "0.25", *[TableCell("-0.125*", spread=".012")] * 6]
    widest = plain_table("", ["data set", "β", *heads], [row], 2, grouped=True)
    (tmp_path / "widest.tex").write_text(latex(Document("", sections=(Section("", tables=(widest,)),))))
    inputs = f"\\input{{{source}}}\\input{{widest}}"
    text = f"\\usepackage{{booktabs,tabularx}}\\begin{{document}}{inputs}\\end{{document}}"
    (tmp_path / "main.tex").write_text(f"\\documentclass{{article}}{text}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
