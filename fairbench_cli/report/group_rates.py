"""The selection rate and the true positive rate of every group, not of two groups compared."""

import numpy as np

from fairbench_cli.measures.rates import rate_by_group
from fairbench_cli.report.repeats import TECHNIQUE
from fairbench_cli.report.results import RunResults, mean_and_interval
from fairbench_cli.report.tables import (
    BLOCK,
    NOT_RUN,
    Cells,
    PaperTable,
    blocks_of,
    caption,
    show_cell,
    technique_label,
)


def group_rates_table(name: str, run: RunResults) -> PaperTable:
    """Lay out the rows, selection rate and true positive rate of each group, means over the repeats.

    The groups are the joint levels of each attribute or intersection that the run's results compare.
    """
    texts: Cells = {}
    for data in run.datasets:
        for compared in data.asked(run.attributes):
            levels = data.levels(data.counts, compared)
            shown = {name: rate_by_group(levels, name) for name in ("selection-rate", "tpr")}
            shown = {"rows": levels.group_total} | shown  # each of shape (cells, repeats, groups)
            found = {metric: mean_and_interval(np.moveaxis(n, 1, -1)) for metric, n in shown.items()}
            for i, cell in enumerate(data.cells):
                block = tuple((cell | {"compared": compared})[name] for name in BLOCK)
                technique = technique_label(*(cell[name] for name in TECHNIQUE))
                statuses = [status for status in data.status[i] if status]
                for g, group in enumerate(levels.groups):
                    for metric, numbers in found.items():
                        mean = float(numbers["mean"][i, g]), int(numbers["n_ok"][i, g])
                        form = ".6g" if metric == "rows" else ".3f"
                        text = show_cell(mean, run.plan.config.repeats, statuses, form)
                        texts[block, (technique, group, metric), cell["beta"]] = text
    columns = ("technique", "group", "measure")
    return PaperTable(name, caption(run.plan, set(texts.values())), blocks_of(run, texts, NOT_RUN), columns)
