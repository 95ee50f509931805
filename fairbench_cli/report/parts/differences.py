"""What each technique changes: its differences to none, and which techniques others dominate."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from fairbench_cli.base.safe_text import make_slugs
from fairbench_cli.document.model import SIDES, Chart, Document, Section, TableCell
from fairbench_cli.experiment.config.outputs import TABLES
from fairbench_cli.report.ledger.cell_labels import BLOCK, read_display_names
from fairbench_cli.report.ledger.paired_differences import (
    PARETO_METRICS,
    VERSUS,
    Baseline,
    find_baseline,
    format_number,
    paired_frame,
    run_paired_frame,
    run_pareto_frame,
)
from fairbench_cli.report.ledger.population_tests import BASES
from fairbench_cli.report.ledger.results import COMPARED, Results, RunResults
from fairbench_cli.report.parts.part import RunPart
from fairbench_cli.report.show.page_charts import RULE_TEXTS, draw_forest_legend
from fairbench_cli.report.show.page_slots import PagePanels
from fairbench_cli.report.show.tables import TableCells, block_technique_beta, lay_out_blocks

FOREST_CAPTION = (
    "Each mark is as far from the square as its technique differs from it; the bar is the 95 % interval of "
    "that difference, over training and test rows. The upright line is the best value, the dotted one what "
    "all are compared with."
)
RULES_CAPTION = "Without training: " + "; ".join(f"{rule}: {text}" for rule, text in RULE_TEXTS.items()) + "."


def paired_of_metrics(run: RunResults) -> pd.DataFrame:
    """Return paired.csv: the differences to none in the metrics of the config."""
    paired = run_paired_frame(run)
    return paired[paired["metric"].isin(run.plan.config.at_hand)]


def paired_table(name: str, run: RunResults, versus: str | None = None) -> Document:
    """Lay out the differences to ``none``, or to another technique, of the metrics of the run's other tables.

    The words are about the population; the caption says what they rest on.
    """
    shown = [metric for table in run.plan.config.tables for metric in TABLES[table].metrics]
    metrics = tuple(dict.fromkeys(shown)) or TABLES["difference-to-none"].metrics
    results = run.select(metrics)
    if versus is None:
        baseline = Baseline()
    else:
        baseline = find_baseline(results, versus)
    if versus is None:
        frame = run_paired_frame(run)
    else:
        frame = paired_frame(results, versus)
    frame = frame[frame["metric"].isin(metrics)]
    frame = frame.sort_values("metric", key=lambda names: names.map(metrics.index), kind="stable")
    constant = results.rows[COMPARED][results.n_constant.any(axis=1)].itertuples(index=False, name=None)
    same_for_all = set(constant)
    texts: TableCells = {}
    for row in frame.to_dict("records"):
        place, technique, beta = block_technique_beta(row)
        word = row["population_verdict"]
        if tuple(row[name] for name in COMPARED) in same_for_all:
            word = "constant"
        elif word == "no difference":
            word = ""
        cell = TableCell(format_number(row["difference"], word=word), against=SIDES.get(word, ""))
        texts[place, (technique, row["metric"]), beta] = cell
    called = read_display_names(run.plan.config).techniques.get(baseline.label, baseline.label)
    caption: tuple[str, ...] = (
        f"Mean differences to {called} over paired repeats; a minus sign is a lower value.",
        "better, worse: nearer to the measure's ideal or farther from it in the population, that is with "
        "other training sets and other test rows, at 5 % after Holm's adjustment over all techniques and β "
        "of the table. constant: the technique accepts nobody, or everybody, in some repeat. A number alone: "
        "no difference shown.",
        *(BASES[basis] for basis in BASES if (frame["population_basis"] == basis).any()),
    )
    return Document(
        name, facts=caption, sections=lay_out_blocks(run, texts, "", marks=["†: better; ‡: worse."])
    )


def compare_with_techniques(
    run: RunResults, results: Results, names: Sequence[str]
) -> tuple[dict[str, pd.DataFrame], list[Document]]:
    """Return the differences to some techniques: frames by the name of the file, and their tables.

    Raises
    ------
    UserError
        When no technique, or more than one, is called by one of the names.
    """
    labels = {find_baseline(results, name).label: name for name in names}
    files = [VERSUS + slug for slug in make_slugs([label] for label in labels)]
    frames = [paired_frame(results, name) for name in labels.values()]
    tables = [paired_table(f"difference-to-{label}", run, name) for label, name in labels.items()]
    return dict(zip(files, frames, strict=True)), tables


def pareto_table(name: str, run: RunResults) -> Document:
    """Lay out `run_pareto_frame`: a row per technique, β across."""
    frame = run_pareto_frame(run)
    dominated = np.where(frame["population_clearly_dominated_by"] == "", "dominated", "dominated clearly")
    words = np.where(frame["constant"], "constant", np.where(frame["front"], "front", dominated))
    texts: TableCells = {
        (tuple(block), (technique, "Pareto"), beta): str(word)
        for (*block, technique, beta), word in zip(
            frame[[*BLOCK, "technique", "beta"]].itertuples(index=False, name=None), words, strict=True
        )
    }
    caption = (
        f"front: no technique is at least as good on {' and '.join(PARETO_METRICS)} and better on one "
        "(mean distances to the ideal). dominated clearly: in the population too, by tests on both at 5 % "
        "after Holm's adjustment over all pairs of techniques. constant: it accepts nobody, or everybody, in "
        "some repeat. -: no value.",
    )
    return Document(name, facts=caption, sections=lay_out_blocks(run, texts, "-"))


def forest_sections(_run: RunResults, page_panels: PagePanels) -> Iterator[Section]:
    """Yield a forest for each slot of the page, which its script draws, and the key to their marks."""
    forests = []
    for slot in page_panels.slots:
        forests.append(slot.make_section([Chart("", "", key=f"forest-{slot.number}")]))
    yield Section("Who, by how much, at what cost", sections=tuple(forests), tiled=True, anchor="differences")
    has_rules = page_panels.has_reference_rules
    caption = (FOREST_CAPTION, RULES_CAPTION) if has_rules else (FOREST_CAPTION,)
    yield Section("", caption, charts=(Chart("", draw_forest_legend(has_rules=has_rules)),))


DIFFERENCES = RunPart(
    "differences",
    frames={"paired": paired_of_metrics, "pareto": run_pareto_frame},
    tables={"difference-to-none": paired_table, "pareto": pareto_table},
    figures={"pareto": "report.show.figures.fronts:draw_pareto"},
    sections=forest_sections,
)
