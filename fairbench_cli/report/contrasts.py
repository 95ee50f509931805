"""Is a trade-off one? The same decisions against ``none`` on recorded labels and on true ones."""

from functools import lru_cache
from typing import Literal

import numpy as np
import pandas as pd

from fairbench_cli.report.paired import LEVEL, adjusted
from fairbench_cli.report.remedies import remedies_of
from fairbench_cli.report.results import COMPARED, RunResults
from fairbench_cli.report.tables import BLOCK, TRUTH

Contrast = Literal["artefact", "real", "gain", "hidden loss", "constant", "not shown"]
"""What becomes of a metric with a technique, against ``none`` of the same world.

artefact: worse on the record, better on the truth. real: worse on both. gain: better on both. hidden loss:
better on the record, worse on the truth. constant: it accepts nobody, or everybody, in some repeat. not
shown: none of these is shown.
"""
CONTRASTS: dict[tuple[bool, bool], Contrast] = {
    (False, True): "artefact",
    (False, False): "real",
    (True, True): "gain",
    (True, False): "hidden loss",
}
"""By whether it is better on the record, and whether on the truth."""

ENDS = ("far_change", "far_low", "far_high", "p", "constant")
CONTRAST_COLUMNS = [
    *(*COMPARED, "metric"),
    *(f"{labels}{end}" for labels in ("recorded", "true") for end in ("", "_low", "_high")),
    *("p_holm", "contrast"),
]


@lru_cache(maxsize=2)  # the CSV, the figure and the answer are of one run
def contrasts_of(run: RunResults) -> pd.DataFrame:
    """Return recorded_true.csv: each technique against ``none`` on recorded and on true labels.

    A row is one cell, groups compared and metric of remedies.csv. ``recorded`` and ``true`` say how much
    farther from its ideal the metric is than with ``none``, below 0 nearer, with the 95 % interval in the
    population; ``contrast`` is what that is (`Contrast`). Both differences have to be shown: the p-value is
    the larger of the two, Holm-adjusted over the techniques and β of a data set, attribute, groups compared,
    world, classifier and metric. Empty where record and truth are the same in all worlds.
    """
    frame, keys = remedies_of(run), [*COMPARED, "metric"]
    tested = frame[frame["far_change"].notna() & (frame["intervention"] != TRUTH)]
    sides = [
        tested[tested["labels"] == labels][[*keys, *ENDS]].set_axis(
            [*keys, labels, f"{labels}_low", f"{labels}_high", f"{labels}_p", f"{labels}_constant"], axis=1
        )
        for labels in ("recorded", "true")
    ]
    both = sides[0].merge(sides[1], on=keys, how="inner", validate="one_to_one")
    if not len(both):
        return pd.DataFrame(columns=CONTRAST_COLUMNS)
    p = np.maximum(both["recorded_p"].to_numpy(dtype=float), both["true_p"].to_numpy(dtype=float))
    p_holm = adjusted(both, p, [*BLOCK, "metric"])["p_holm"]
    constant = (both["recorded_constant"] | both["true_constant"]).to_numpy(dtype=bool)
    words = [
        "constant" if same else CONTRASTS[on_record, on_truth] if shown else "not shown"
        for on_record, on_truth, shown, same in zip(
            both["recorded"] < 0, both["true"] < 0, p_holm < LEVEL, constant, strict=True
        )
    ]
    return both.assign(p_holm=p_holm, contrast=words)[CONTRAST_COLUMNS]


def own_contrasts(run: RunResults) -> pd.DataFrame:
    """Return `contrasts_of` the groups of each cell's own attribute."""
    frame = contrasts_of(run)
    return frame[frame["compared"] == frame["attribute"]]
