"""Each technique against doing nothing, repeat by repeat: both learned from the same training sets."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from fairbench_cli.data.table import Rows
from fairbench_cli.document.model import Document
from fairbench_cli.experiment.config.outputs import TABLES
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.registry import find
from fairbench_cli.measures.significance import holm
from fairbench_cli.report.repeats import SITUATION, TECHNIQUE, is_baseline
from fairbench_cli.report.results import ROW_COLUMNS, Results, RunResults
from fairbench_cli.report.tables import BLOCK, Cells, blocks_of, technique_label

LEVEL = 0.05
EQUAL = 1e-12  # differences below this are rounding
RANDOM_SPLITS = (
    "The repeats are random splits of the same rows, which overlap: the tests are too ready to see a "
    "difference (Nadeau and Bengio 2003)."
)


@dataclass(frozen=True)
class PairedTest:
    """Paired t-tests, one an entry: pairs, mean difference, its 95 % interval and the two-sided p-value."""

    n: Floats
    mean: Floats
    low: Floats
    high: Floats
    p: Floats


def paired_test(differences: Floats) -> PairedTest:
    """Test along the last axis whether paired differences have mean 0 (Student's t).

    NaN and infinite differences are no pairs. With fewer than two pairs, interval and p are NaN. Where
    all differences are equal the t-statistic has no value: p is 1 if they are 0, else 0.

    Parameters
    ----------
    differences : float array, shape (..., repeats)

    >>> test = paired_test(np.array([[0.1, 0.3, np.nan], [0.2, 0.2, 0.2], [0.0, 0.0, 0.0]]))
    >>> test.n.tolist(), test.mean.round(3).tolist(), test.p.round(3).tolist()
    ([2.0, 3.0, 3.0], [0.2, 0.2, 0.0], [0.295, 0.0, 1.0])
    """
    there = np.isfinite(differences)
    known = np.where(there, differences, 0.0)
    n = there.sum(axis=-1).astype(np.float64)
    enough = n >= 2
    freedom = np.where(enough, n - 1, 1)
    mean = np.where(n > 0, known.sum(axis=-1) / np.maximum(n, 1), np.nan)
    apart = np.where(there, known - mean[..., None], 0.0)
    error = np.sqrt((apart**2).sum(axis=-1) / freedom / np.maximum(n, 1))
    constant = np.abs(apart).max(axis=-1, initial=0.0) <= EQUAL
    t = mean / np.where(constant, 1.0, error)
    p = np.where(constant, np.abs(mean) <= EQUAL, 2 * stdtr(freedom, -np.abs(t)))
    half = np.where(enough, stdtrit(freedom, 0.975) * np.where(constant, 0.0, error), np.nan)
    return PairedTest(n, mean, mean - half, mean + half, np.where(enough, p, np.nan))


def distance(metric: str, values: Floats) -> Floats:
    """Return how far values are from the metric's ideal; NaN for a metric without one."""
    return _away(find(metric).ideal, values)


def _away(ideal: float | None, values: Floats) -> Floats:
    return np.full_like(values, np.nan) if ideal is None else np.abs(values - ideal)


def paired_frame(results: Results) -> pd.DataFrame:
    """Compare every technique with ``none``, over the repeats where both have a value.

    One row per cell that is not ``none``, groups compared and metric. ``none`` is that of the same data
    set, attribute, β and classifier, and with the same ``include_protected`` if the run has it, else with
    the other one (``baseline_include_protected``). Cells without any ``none`` have no row; those without a
    value, such as infeasible ones, have n = 0 and empty numbers.

    ``difference`` is technique − none, with the t-interval of its mean in ``low`` and ``high`` (95 %, for
    each row by itself). ``distance_difference`` is the same for ``|value − ideal|``: negative is nearer to
    the ideal. The test is on distances, so that a discrimination of −.10 is no better than one of .10; for
    metrics whose ideal is an end of their range, such as accuracy, that is the test on values. Metrics
    without an ideal are tested on values.

    ``p_holm`` is Holm's adjustment over the family that one reads together: one metric in one table, which
    is all techniques and all β of a data set, attribute, groups compared and classifier; ``tests`` is its
    size. ``verdict``: better, worse or no difference at 5 % after Holm (higher or lower for a metric without
    an ideal), empty without a test.

    What repeats share and do not share decides what p is about: training sets vary, the network that they
    are sampled from does not. A small p says that a difference does not come from the draw of training
    sets; it says nothing of other populations. Where repeats are random splits of the same rows, training
    sets overlap, and p is too small (Nadeau and Bengio 2003).
    """
    cells, values = results.rows.reset_index(drop=True), results.values
    ours, theirs, seen = _pairs(cells)
    rows = cells.iloc[ours].reset_index(drop=True)
    far = np.full_like(values, np.nan)
    for metric, at in cells.groupby("metric", sort=False).indices.items():
        far[at] = _away(results.ideal(str(metric)), values[at])
    with np.errstate(invalid="ignore"):  # infinite ratios are no pairs
        of_values = paired_test(values[ours] - values[theirs])
        of_distances = paired_test(far[ours] - far[theirs])
    has_ideal = np.array([results.ideal(metric) is not None for metric in rows["metric"]], dtype=bool)
    p = np.where(has_ideal, of_distances.p, of_values.p)
    family = rows.assign(p=p).groupby([*BLOCK, "metric"], sort=False)["p"]
    p_holm = family.transform(lambda own: holm(own.to_numpy())).to_numpy(dtype=float)
    return rows[ROW_COLUMNS].assign(
        baseline_include_protected=seen,
        n=of_values.n.astype(int),
        difference=of_values.mean,
        low=of_values.low,
        high=of_values.high,
        distance_difference=of_distances.mean,
        distance_low=of_distances.low,
        distance_high=of_distances.high,
        p=p,
        p_holm=p_holm,
        tests=family.transform("count").astype(int),
        verdict=_verdicts(np.where(has_ideal, of_distances.mean, of_values.mean), p_holm, has_ideal),
    )


def paired_table(name: str, run: RunResults) -> Document:
    """Lay out the differences to ``none`` of the metrics that the run's other tables show.

    Where the repeats are random splits of the same rows, the caption says what that does to the tests.
    """
    shown = [metric for table in run.plan.config.tables for metric in TABLES[table].metrics]
    metrics = tuple(dict.fromkeys(shown)) or TABLES[name].metrics
    frame = paired_frame(run.asked(metrics))
    frame = frame.sort_values("metric", key=lambda names: names.map(metrics.index), kind="stable")
    columns = [*BLOCK, *TECHNIQUE, "metric", "beta", "difference", "verdict"]
    texts: Cells = {}
    for *place, metric, beta, difference, verdict in frame[columns].itertuples(index=False, name=None):
        block, own = tuple(place[: len(BLOCK)]), place[len(BLOCK) :]
        texts[block, (technique_label(*own), metric), beta] = _shown(difference, verdict)
    caption: tuple[str, ...] = (
        "Mean differences to none over paired repeats; a minus sign is a lower value.",
        "better, worse: nearer to the measure's ideal or farther from it, by a paired t-test at 5 % after "
        "Holm's adjustment over all techniques and β of the table. A number alone: no difference shown.",
    )
    if run.plan.config.sample.source == "data":
        caption += (RANDOM_SPLITS,)
    return Document(name, facts=caption, sections=blocks_of(run, texts, ""))


def _shown(difference: float, verdict: str) -> str:
    if np.isnan(difference):
        return "-"
    text = f"{difference:+.3f}".replace("-0.000", "+0.000")
    return text if verdict in ("", "no difference") else f"{text} {verdict}"


def _pairs(cells: pd.DataFrame) -> tuple[Rows, Rows, list[bool]]:
    """Return the rows of the techniques, those of their baselines, and whether each baseline sees s."""
    situations = list(cells[[*SITUATION, "compared", "metric"]].itertuples(index=False, name=None))
    seen = cells["include_protected"].tolist()
    untouched = [
        is_baseline(*technique) for technique in zip(*(cells[c] for c in TECHNIQUE[:2]), strict=True)
    ]
    baselines = {(situations[i], seen[i]): i for i in range(len(cells)) if untouched[i]}
    found = [
        (i, baselines[situation, s], s)
        for i, situation in enumerate(situations)
        if not untouched[i]
        for s in (seen[i], not seen[i])
        if (situation, s) in baselines and (s == seen[i] or (situation, seen[i]) not in baselines)
    ]
    ours, theirs, sees = zip(*found, strict=True) if found else ((), (), ())
    return np.array(ours, dtype=np.intp), np.array(theirs, dtype=np.intp), list(sees)


def _verdicts(change: Floats, p: Floats, has_ideal: NDArray[np.bool_]) -> list[str]:
    up, down = np.where(has_ideal, "worse", "higher"), np.where(has_ideal, "better", "lower")
    words = np.where(p < LEVEL, np.where(change > 0, up, down), "no difference")
    return [str(word) for word in np.where(np.isnan(p), "", words)]
