"""Findings.csv: the numbers of the answer and the page, of each technique in each setting."""

import pandas as pd

from fairbench_cli.report.ledger.answer import answer_of
from fairbench_cli.report.ledger.journal_arrays import CELL_COLUMNS
from fairbench_cli.report.ledger.results import COMPARED, RunResults

FINDING_COLUMNS = COMPARED + [
    "labels", "technique", "column", "metric", "of", "mean", "low", "high", "n", "verdict",
]  # fmt: skip


def findings_frame(run: RunResults) -> pd.DataFrame:
    """Return findings.csv: a row per setting, technique and column (`columns.py`), the plain model first.

    ``mean``, with the 95 % interval in the population in ``low`` and ``high``, is over the ``n`` repeats that
    have a value; ``of`` says whether it is the metric's own ``value`` or its ``change``, the difference to
    the plain model. ``verdict`` is the kind of a change (`change_kinds.Kind`), empty for values.
    """
    answer = answer_of(run)
    rows = []
    for setting in answer.settings:
        for finding in setting.all_findings:
            technique_columns = dict(zip(CELL_COLUMNS, finding.key, strict=True))
            technique_columns["compared"] = setting.compared
            technique_columns["technique"] = finding.technique
            for column in answer.columns:
                estimate = finding.numbers[column.key]
                number_columns = {
                    "labels": column.labels or answer.labels,
                    "column": column.key,
                    "metric": column.metric,
                    "of": column.quantity,
                    "mean": estimate.mean,
                    "low": estimate.low,
                    "high": estimate.high,
                    "n": estimate.n,
                    "verdict": estimate.kind,
                }
                rows.append(technique_columns | number_columns)
    return pd.DataFrame(rows, columns=FINDING_COLUMNS)
