"""What each technique changes: its differences to none, and which techniques others dominate."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from fairbench_cli.base.safe_text import make_slugs
from fairbench_cli.document.model import SIDES, Chart, Document, Section, TableCell
from fairbench_cli.experiment.config.outputs import TABLES
from fairbench_cli.report.ledger import paired_differences
from fairbench_cli.report.ledger.answer import answer_metric
from fairbench_cli.report.ledger.cell_labels import read_display_names
from fairbench_cli.report.ledger.change_kinds import classify_changes, run_technique_frame
from fairbench_cli.report.ledger.columns import ACCURACY
from fairbench_cli.report.ledger.population_tests import BASES
from fairbench_cli.report.ledger.results import COMPARED, RunResults
from fairbench_cli.report.ledger.run_ledger import records_by_row
from fairbench_cli.report.ledger.shares import shares_frame
from fairbench_cli.report.parts.part import RunPart
from fairbench_cli.report.show.page_charts import RULE_TEXTS, draw_forest_legend
from fairbench_cli.report.show.page_slots import PagePanels
from fairbench_cli.report.show.tables import TableCells, block_technique_beta, lay_out_blocks, tests_in_words
from fairbench_cli.report.show.versus import versus_document

FOREST_CAPTION = (
    "Each mark is as far from the square as its technique differs from it; the bar is the 95 % interval of "
    "that difference, over training and test rows. The upright line is the best value, the dotted one what "
    "all are compared with."
)
RULES_CAPTION = "Without training: " + "; ".join(f"{rule}: {text}" for rule, text in RULE_TEXTS.items()) + "."


def paired_of_metrics(run: RunResults) -> pd.DataFrame:
    """Return paired.csv: the differences to none in the metrics of the config."""
    paired = paired_differences.run_paired_frame(run)
    return paired[paired["metric"].isin(run.plan.config.at_hand)].drop(columns=paired_differences.SENSITIVITY)


def paired_table(name: str, run: RunResults) -> Document:
    """Lay out the differences to ``none`` in the metrics of the run's other tables.

    The words are about the population; the caption says what they rest on.
    """
    # 1. The differences, in the order of the metrics.
    metrics = run.plan.config.tables.metrics or TABLES["difference-to-none"].metrics
    results = run.select(metrics)
    frame = paired_differences.run_paired_frame(run)
    frame = frame[frame["metric"].isin(metrics)]
    frame = frame.sort_values("metric", key=lambda names: names.map(metrics.index), kind="stable")
    # 2. The cells, each with its verdict.
    constant_rows = results.rows[COMPARED][results.n_constant.any(axis=1)]
    constant_keys = set(constant_rows.itertuples(index=False, name=None))
    cells: TableCells = {}
    n_planned = run.plan.config.repeats
    for row in frame.to_dict("records"):
        block_key, technique, beta = block_technique_beta(row)
        verdict = row["population_verdict"]
        if tuple(row[name] for name in COMPARED) in constant_keys:
            verdict = "constant"
        elif verdict == paired_differences.NO_DIFFERENCE:
            verdict = ""
        difference = paired_differences.format_number(row["difference"], word=verdict)
        if 0 < row["n"] < n_planned:
            difference += f" ({row['n']}/{n_planned})"
        cell = TableCell(difference, against=SIDES.get(verdict, ""))
        cells[block_key, (technique, row["metric"]), beta] = cell
    # 3. The caption, and what the verdicts rest on.
    baseline_label = paired_differences.Baseline().label
    baseline_name = read_display_names(run.plan.config).techniques.get(baseline_label, baseline_label)
    family = tests_in_words(run.plan)
    captions = [
        f"Mean differences to {baseline_name} over paired repeats; a minus sign is a lower value.",
        "better, worse: nearer to the measure's ideal or farther from it in the population, that is with "
        f"other training sets and other test rows, at 5 % after Holm's adjustment over {family}. moved: "
        "another value, and neither nearer nor farther is shown. constant: "
        "the technique accepts nobody, or everybody, in some repeat. A number alone: no difference shown.",
    ]
    if frame["n"].between(1, n_planned - 1).any():
        captions.append("(a/b): only a of b repeats have both models.")
    for basis, explanation in BASES.items():
        if (frame["population_basis"] == basis).any():
            captions.append(explanation)
    sections = lay_out_blocks(run, cells, "", marks=["†: better; ‡: worse."], head_without_beta="difference")
    return Document(name, facts=tuple(captions), sections=sections)


@dataclass(frozen=True)
class Versus:
    """A technique that all others are compared with.

    Parameters
    ----------
    slug : str
        Its name in names of files.
    frame : DataFrame
        ``paired-versus-SLUG.csv``.
    table, console : Document
        The sentence and the table, in files and on a console.
    """

    slug: str
    frame: pd.DataFrame
    table: Document
    console: Document


def compare_with_techniques(run: RunResults, names: Sequence[str]) -> list[Versus]:
    """Return the differences to techniques, by their names or any part of these that is theirs alone.

    Raises
    ------
    UserError
        When no technique, or more than one, is called by one of the names.
    """
    if not names:
        return []
    config = run.plan.config
    # The metrics of the file, and those of the table: the config may name neither of the latter.
    metrics = dict.fromkeys((*config.at_hand, answer_metric(run).name, ACCURACY))
    results = run.select(tuple(metrics))
    aliases = read_display_names(config).techniques
    baselines = {}
    for name in names:
        baseline = paired_differences.find_baseline(results, name, aliases)
        baselines[baseline.label] = baseline
    slugs = make_slugs([aliases.get(label, label)] for label in baselines)
    technique_values = run_technique_frame(run)
    compared = []
    for slug, (label, baseline) in zip(slugs, baselines.items(), strict=True):
        tested = paired_differences.paired_with_baselines(results, [baseline])
        frame = tested[tested["metric"].isin(config.at_hand)]
        tested = tested.assign(kind=classify_changes(tested, technique_values))
        differences = records_by_row(tested.droplevel(paired_differences.BASELINE_ROW))
        alias = aliases.get(label, label)
        file = f"{paired_differences.VERSUS}{slug}.csv"
        table = versus_document(run, alias, differences, file)
        console = versus_document(run, alias, differences, file, brief=True)
        compared.append(Versus(slug, frame, replace(table, title=f"versus-{slug}"), console))
    return compared


def pareto_table(name: str, run: RunResults) -> Document:
    """Lay out `run_pareto_frame`: a row per technique, β across."""
    frame = paired_differences.run_pareto_frame(run)
    is_shown = frame["population_clearly_dominated_by"] != ""
    dominated = np.where(is_shown, "dominated clearly", "dominated by means")
    verdicts = np.where(frame["constant"], "constant", np.where(frame["front"], "front by means", dominated))
    texts: TableCells = {}
    for row, verdict in zip(frame.to_dict("records"), verdicts, strict=True):
        block_key, technique, beta = block_technique_beta(row)
        texts[block_key, (technique, "Pareto"), beta] = str(verdict)
    both_metrics = " and ".join(paired_differences.PARETO_METRICS)
    caption = (
        f"front by means: no technique is at least as good on {both_metrics} and better on "
        "one, by mean distances to the ideal, and that may be chance. dominated by means: one is. dominated "
        "clearly: in the population, by tests on both at 5 % after Holm's adjustment over all pairs of "
        "techniques. constant: it accepts nobody, or everybody, in some repeat. -: no value.",
    )
    return Document(name, facts=caption, sections=lay_out_blocks(run, texts, "-", head_without_beta="result"))


def forest_sections(_run: RunResults, page_panels: PagePanels) -> Iterator[Section]:
    """Yield a forest for each slot of the page, which its script draws, and the key to their marks."""
    forests = [slot.make_section([Chart("", "", key=f"forest-{slot.number}")]) for slot in page_panels.slots]
    yield Section("Who, by how much, at what cost", sections=tuple(forests), tiled=True, anchor="differences")
    has_rules = page_panels.has_reference_rules
    captions = [FOREST_CAPTION]
    if has_rules:
        captions.append(RULES_CAPTION)
    yield Section("", tuple(captions), charts=(Chart("", draw_forest_legend(has_rules=has_rules)),))


DIFFERENCES = RunPart(
    "differences",
    frames={
        "paired": paired_of_metrics,
        "pareto": paired_differences.run_pareto_frame,
        "shares": shares_frame,
    },
    tables={"difference-to-none": paired_table, "pareto": pareto_table},
    figures={"pareto": "report.show.figures.fronts:draw_pareto"},
    sections=forest_sections,
)
