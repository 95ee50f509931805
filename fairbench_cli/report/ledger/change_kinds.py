"""What became of a metric with a technique: one word each, the same for the answer, tables and pages.

A word about a difference is about the population (`population_tests.py`), at 5 % after Holm's adjustment over
the techniques and β of a data set, attribute, groups compared, classifier and metric.
"""

from functools import lru_cache
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.report.ledger import paired_differences
from fairbench_cli.report.ledger.cell_labels import BLOCK
from fairbench_cli.report.ledger.inference import EQUAL
from fairbench_cli.report.ledger.population_tests import compute_population_tests
from fairbench_cli.report.ledger.results import NO_ROW, ROW_COLUMNS, Results, RunResults

Kind = Literal[
    "no value",
    "constant",
    "overshoots",
    "better",
    "worse",
    "higher",
    "lower",
    "same",
    "moved",
    "not shown",
    "untested",
]
"""What became of a metric; the first that holds is a technique's.

no value: no repeat of the technique gave one. constant: it accepts nobody, or everybody, in some repeat.
overshoots: the metric is beyond its ideal, on the side where the baseline is not; both are shown. better,
worse: nearer to the ideal or farther from it in the mean over the repeats, and its own mean is not the other
way. higher, lower: of a metric without an ideal. same: shown to differ by less than the metric's margin.
moved: another value, and neither nearer nor farther is shown. not shown: neither a difference nor that there
is none. untested: nothing can be said of the population.
"""


def technique_frame(results: Results) -> pd.DataFrame:
    """Return the tested mean of each technique, and of ``none``, by itself: a row per row of the results.

    ``mean`` over the repeats that have a finite value, ``n`` of them, and how ``far`` it is from the ideal;
    ``low`` and ``high``, the 95 % interval of the mean in the population; ``p_holm`` of the test that it is
    the metric's ideal, and ``side``, the sign of mean − ideal (0 where no difference is shown, NaN without a
    test); ``p_same``, of the test that it is the metric's margin or more from the ideal; ``accepts_nobody``
    and ``accepts_everybody``, the number of repeats in which the cell's models do so, and ``constant``,
    whether there is one; last what the first test could have shown (`Sensitivity`). The index is that of the
    results' rows.
    """
    # 1. The values of each row less the ideal, against nothing; without an ideal the values themselves.
    has_ideal = ~np.isnan(results.ideals)
    ideals = np.nan_to_num(results.ideals)
    indices = np.arange(len(ideals))
    is_distance = np.zeros(len(ideals), dtype=bool)
    values = results.values, ideals[:, None]
    population_tests = compute_population_tests(
        results, indices, np.full_like(indices, NO_ROW), values, is_distance
    )
    tests = population_tests.population
    # 2. p-values, of metrics with an ideal alone.
    rows = results.rows[ROW_COLUMNS]
    families = paired_differences.find_families(rows, BLOCK + ["metric"], results.family)
    p = np.where(has_ideal, tests.p, np.nan)
    adjusted = paired_differences.adjust_families(p, families)
    p_holm = adjusted["p_holm"]
    p = np.where(has_ideal, population_tests.p_within(results.margins_by_row, indices), np.nan)
    p_same = paired_differences.adjust_families(p, families)["p_holm"]
    # 3. The frame, on the metric's scale again.
    n_nobody, n_everybody = results.n_constant.T
    return rows.assign(
        n=tests.n.astype(int),
        mean=tests.mean + ideals,
        far=np.abs(tests.mean),
        low=tests.low + ideals,
        high=tests.high + ideals,
        p_holm=p_holm,
        p_same=p_same,
        side=np.where(np.isnan(p_holm), np.nan, np.sign(tests.mean) * (p_holm < paired_differences.LEVEL)),
        accepts_nobody=n_nobody,
        accepts_everybody=n_everybody,
        constant=n_nobody + n_everybody > 0,
        standard_error=tests.error,
        freedom=tests.freedom,
        n_open=adjusted["n_open"],
    )


@lru_cache(maxsize=2)  # the answer and the page are of one run
def run_technique_frame(run: RunResults) -> pd.DataFrame:
    """Return `technique_frame` of all metrics of a run."""
    return technique_frame(run.select(run.metrics))


def classify_changes(paired: pd.DataFrame, techniques: pd.DataFrame) -> NDArray[np.object_]:
    """Return the `Kind` of each row of `differences_frame`.

    Parameters
    ----------
    paired : DataFrame
        Differences to baselines.
    techniques : DataFrame
        `technique_frame` of the same results, or of more.
    """
    # Both frames go by the numbers of the results' rows.
    ours = techniques.loc[paired.index.get_level_values(paired_differences.ROW)]
    theirs = techniques.loc[paired.index.get_level_values(paired_differences.BASELINE_ROW)]
    is_beyond_ideal = ours["side"].to_numpy() * theirs["side"].to_numpy() == -1
    verdict = paired["population_verdict"].to_numpy()
    # Tests are of distances, repeat by repeat: one that wavers less may be nearer though its mean is not.
    has_same_repeats = ours["n"].to_numpy() == theirs["n"].to_numpy()
    change = np.where(has_same_repeats, ours["far"].to_numpy() - theirs["far"].to_numpy(), 0.0)
    is_contrary = ((verdict == "better") & (change > EQUAL)) | ((verdict == "worse") & (change < -EQUAL))
    # The first condition that holds says the kind.
    conditions: dict[Kind, NDArray[np.bool_]] = {
        "no value": (paired["n"] == 0).to_numpy(),
        "constant": ours["constant"].to_numpy(),
        "overshoots": is_beyond_ideal,
        "better": (verdict == "better") & ~is_contrary,
        "worse": (verdict == "worse") & ~is_contrary,
        "higher": verdict == "higher",
        "lower": verdict == "lower",
        "same": paired["population_p_same"].to_numpy(dtype=float) < paired_differences.LEVEL,
        "moved": paired["population_difference_p_holm"].to_numpy(dtype=float) < paired_differences.LEVEL,
        "untested": verdict == "",
    }
    kind_values = [np.array(kind, dtype=object) for kind in conditions]
    kinds: NDArray[np.object_] = np.select(list(conditions.values()), kind_values, "not shown")
    return kinds
