"""Where parameters are tuned: what every candidate reached, and what choosing gained."""

from fairbench_cli.document.model import Document
from fairbench_cli.report.ledger.paired_differences import format_number
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.ledger.tuning import GAINS, tuning_curve_frame, tuning_gain_frame
from fairbench_cli.report.parts.part import RunPart
from fairbench_cli.report.show.tables import TableCells, block_technique_beta, lay_out_blocks


def tuning_table(table: str, run: RunResults) -> Document:
    """Return the table of `tuning_gain_frame`: nested tuning against tuning on the test rows.

    Empty where nothing is tuned.
    """
    # 1. Lines for each cell: the three means, and the two gains with half of their intervals.
    texts: TableCells = {}
    rows = []
    if run.plan.config.tuned_for:
        rows = tuning_gain_frame(run).to_dict("records")
    for row in rows:
        block_key, technique, beta = block_technique_beta(row | {"compared": row["attribute"]})
        lines = {
            "untuned": format_number(row["untuned"], ".3f"),
            "tuned": format_number(row["tuned"], ".3f"),
            "tuned on test": format_number(row["tuned_on_test"], ".3f"),
        }
        for name in GAINS:
            lines[name] = format_number(row[name])
            lines[f"{name} ±"] = format_number(row[f"{name}_high"] - row[name], ".3f")
        for line, text in lines.items():
            texts[block_key, (technique, line.replace("_", " ")), beta] = text
    # 2. The table.
    caption: tuple[str, ...] = (
        "The metric that was tuned for, on the test rows: with the parameters of the cell that is not tuned "
        "(untuned), with those that were chosen on part of the training rows (tuned), and with those that "
        "look best on the test rows themselves (tuned on test; the rule of Friedler et al. 2019).",
        "gain: how much nearer to the metric's ideal than untuned, ratios on a log scale; leakage: how much "
        "of the gain on test comes from looking at the test rows. Means over the repeats; those of gains are "
        "of each repeat's own distance, so values above and below the ideal do not cancel as they do in the "
        "first three lines. ±: half the 95 % interval of the paired difference, on the test rows of this run "
        "(over training sets, not of other rows); a dash where the run has no such cell.",
    )
    blocks = lay_out_blocks(run, texts, "-", ("technique", "on the test rows"))
    return Document(table, facts=caption, sections=blocks)


TUNING = RunPart(
    "tuning",
    applies=lambda plan: bool(plan.config.tuned_for),
    frames={"tuning": tuning_curve_frame, "tuning_gain": tuning_gain_frame},
    tables={"tuning": tuning_table},
    figures={"tuning": "report.show.figures.curves:draw_tuning"},
)
