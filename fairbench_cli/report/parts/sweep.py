"""Every acceptance rate: what moving the thresholds of groups reaches, and which techniques are above."""

from fairbench_cli.document.model import Document
from fairbench_cli.measures.thresholds import RATES
from fairbench_cli.report.ledger.frontier import ABOVE, BELOW, distance_frame, frontier_frame
from fairbench_cli.report.ledger.journal_arrays import key_of
from fairbench_cli.report.ledger.paired_differences import written
from fairbench_cli.report.ledger.results import RunResults, sweep_frame
from fairbench_cli.report.parts.part import RunPart
from fairbench_cli.report.show.tables import TableCells, block_technique_beta, format_mean, lay_out_blocks


def frontier_table(name: str, run: RunResults) -> Document:
    """Lay out `distance_frame`: rows of a technique, β across. Empty without a sweep or without none."""
    texts: TableCells = {}
    for row in distance_frame(run).to_dict("records"):
        place, technique, beta = block_technique_beta(row)
        own = run.cell(key_of(row)).statuses
        if row["verdict"] in (ABOVE, BELOW):
            word = row["verdict"]
        else:
            word = ""
        lines = {_SHORT[row["constraint"]]: written(row["difference"], word=word)}
        if row["constraint"] == "demographic-parity":
            lines = {
                "accuracy": format_mean(row["accuracy"], row["n"], run.plan.config.repeats, own),
                "|discrimination|": written(row["gap"], ".3f"),
                "moved thresholds": written(row["frontier_accuracy"], ".3f"),
                **lines,
                "chosen on other rows": written(row["chosen_accuracy"], ".3f"),
                "|discrimination| of these": written(row["chosen_gap"], ".3f"),
                "own thresholds, any gap": written(row["unprocessed_accuracy"], ".3f"),
            }
        for line, text in lines.items():
            texts[place, (technique, line), beta] = text
    return Document(name, facts=_caption(run), sections=lay_out_blocks(run, texts, "-"))


_SHORT = {
    "demographic-parity": "difference",
    "tpr-parity": "difference at its TPR gap",
    "equalised-odds": "difference at its odds gap",
}


def _caption(run: RunResults) -> tuple[str, ...]:
    lines: tuple[str, ...] = (
        "moved thresholds: the best accuracy that a threshold for each group, drawn at random where that "
        "helps, gets from the model of none in the same repeat, at the technique's own |discrimination|. "
        "difference: the technique's accuracy less that; also at its gaps in TPR and in equalised odds.",
        "chosen on other rows: the same, with thresholds that are the best on one half of the test rows and "
        "are judged on the other half.",
        "above: more accurate than the best thresholds, though these are chosen with the labels of the test "
        "rows. below: less accurate, at the same gap, than thresholds chosen on other rows. Both are about "
        "the population, at 5 % after Holm's adjustment over all techniques and β of the table; a number "
        "alone: not shown. none is not tested: its difference is what hindsight gains.",
        f"Thresholds are tried at {len(RATES)} acceptance rates and where the classifier itself decides; "
        "those between them may be better by some thousandths.",
    )
    if run.datasets:
        design = run.datasets[0].design.kind
    else:
        design = "drawn"
    if design == "shared":
        lines += ("At the odds gap nothing is said of the population: all repeats share their test rows.",)
    if run.plan.config.sample.source != "data":
        lines += ("Test labels are without the bias β of the training labels, which helps both choices.",)
    lines += (
        "Own thresholds, any gap: the best of the technique's own model (unprocessed; Cruz and Hardt 2024).",
    )
    return lines


SWEEP = RunPart(
    "sweep",
    wanted=lambda plan: plan.config.sweep is not None,
    frames={"sweep": sweep_frame, "frontier": frontier_frame, "frontier_distance": distance_frame},
    tables={"frontier": frontier_table},
    figures={
        "sweep": "report.show.figures.acceptance:draw_sweep",
        "frontier": "report.show.figures.fronts:draw_frontier",
    },
)
