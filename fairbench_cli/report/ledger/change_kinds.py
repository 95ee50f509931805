"""What became of a metric with a technique: one word each, the same for the answer, tables and pages.

A word about a difference is about the population (`population.py`), at 5 % after Holm's adjustment over the
techniques and β of a data set, attribute, groups compared, classifier and metric.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.report.ledger.cell_labels import BLOCK
from fairbench_cli.report.ledger.inference import EQUAL
from fairbench_cli.report.ledger.paired_differences import LEVEL, NEGLIGIBLE, adjust_by_family
from fairbench_cli.report.ledger.population_tests import NO_ROW, compute_population_tests
from fairbench_cli.report.ledger.results import COMPARED, ROW_COLUMNS, Results, RunResults

Kind = Literal[
    "no value",
    "constant",
    "overshoots",
    "better",
    "worse",
    "higher",
    "lower",
    "same",
    "not shown",
    "untested",
]
"""What became of a metric; the first that holds is a technique's.

no value: no repeat of the technique gave one. constant: it accepts nobody, or everybody, in some repeat.
overshoots: the metric is beyond its ideal, on the side where the baseline is not; both are shown. better,
worse: nearer to the ideal or farther from it in the mean over the repeats, and its own mean is not the other
way. higher, lower: of a metric without an ideal. same: shown to differ by less than 0.01. not shown: neither
a difference nor that there is none. untested: nothing can be said of the population.
"""

NO_TECHNIQUE = ("none", "{}")
CONSTANT_COLUMNS = ["accepts_nobody", "accepts_everybody"]


def technique_frame(results: Results) -> pd.DataFrame:
    """Return the tested mean of each technique, and of ``none``, by itself: a row per row of the results.

    ``mean`` over the repeats that have a finite value, ``n`` of them, and how ``far`` it is from the ideal;
    ``low`` and ``high``, the 95 % interval of the mean in the population; ``p_holm`` of the test that it is
    the metric's ideal, and ``side``, the sign of mean − ideal (0 where no difference is shown, NaN without a
    test); ``p_same``, of the test that it is `NEGLIGIBLE` or more from the ideal; ``accepts_nobody`` and
    ``accepts_everybody``, the number of repeats in which the cell's models do so, and ``constant``, whether
    there is one.
    """
    ideal = results.ideals
    shift = np.nan_to_num(ideal)
    at = np.arange(len(shift))
    judged = np.zeros(len(shift), dtype=bool)
    values = results.values, shift[:, None]
    test = compute_population_tests(results, at, np.full_like(at, NO_ROW), values, judged).population
    rows = results.rows[ROW_COLUMNS].reset_index(drop=True)
    p_holm, p_same = (
        adjust_by_family(rows, np.where(np.isnan(ideal), np.nan, one), [*BLOCK, "metric"])["p_holm"]
        for one in (test.p, test.p_within(NEGLIGIBLE))
    )
    return rows.assign(
        n=test.n.astype(int),
        mean=test.mean + shift,
        far=np.abs(test.mean),
        low=test.low + shift,
        high=test.high + shift,
        p_holm=p_holm,
        p_same=p_same,
        side=np.where(np.isnan(p_holm), np.nan, np.sign(test.mean) * (p_holm < LEVEL)),
        **dict(zip(CONSTANT_COLUMNS, results.n_constant.T, strict=True)),
        constant=results.n_constant.sum(axis=1) > 0,
    )


@lru_cache(maxsize=2)  # the answer and the page are of one run
def run_technique_frame(run: RunResults) -> pd.DataFrame:
    """Return `technique_frame` of all metrics of a run."""
    return technique_frame(run.select(run.metrics))


def classify_changes(
    paired: pd.DataFrame, own: pd.DataFrame, baseline: tuple[str | Sequence[str], ...] = NO_TECHNIQUE
) -> NDArray[np.object_]:
    """Return the `Kind` of each row of `paired_frame`.

    Parameters
    ----------
    paired : DataFrame
        Differences to a baseline.
    own : DataFrame
        `technique_frame` of the same results.
    baseline : tuple of two (str or sequence of str)
        Its technique and its parameters, of all rows or of each.
    """
    intervention, parameters = baseline
    theirs = paired.assign(
        intervention=intervention,
        parameters=parameters,
        include_protected=paired["baseline_include_protected"],
    )
    keys = [*COMPARED, "metric"]
    asked = (one[keys].astype(own[keys].dtypes) for one in (paired, theirs))  # empty frames differ in these
    mine, other = (one.merge(own, on=keys, how="left", validate="many_to_one") for one in asked)
    return classify_differences(paired, mine, other)


def classify_differences(
    paired: pd.DataFrame, mine: pd.DataFrame, other: pd.DataFrame
) -> NDArray[np.object_]:
    """Return the `Kind` of each row of `differences_frame`, given both rows of `technique_frame`."""
    turned = mine["side"].to_numpy() * other["side"].to_numpy() == -1
    verdict = paired["population_verdict"].to_numpy()
    # Tests are of distances, repeat by repeat: one that wavers less may be nearer though its mean is not.
    (n, far), (their_n, their_far) = ((one["n"].to_numpy(), one["far"].to_numpy()) for one in (mine, other))
    farther = np.where(n == their_n, far - their_far, 0.0)
    contrary = ((verdict == "better") & (farther > EQUAL)) | ((verdict == "worse") & (farther < -EQUAL))
    same = paired["population_p_same"].to_numpy(dtype=float) < LEVEL
    conditions: dict[Kind, NDArray[np.bool_]] = {
        "no value": (paired["n"] == 0).to_numpy(),
        "constant": mine["constant"].to_numpy(),
        "overshoots": turned,
        **{word: (verdict == word) & ~contrary for word in ("better", "worse", "higher", "lower")},
        "same": same,
        "untested": verdict == "",
    }
    found: NDArray[np.object_] = np.select(
        list(conditions.values()), [np.array(word, dtype=object) for word in conditions], "not shown"
    )
    return found
