"""Did a technique beat moving the thresholds? frontier.csv, frontier_distance.csv and their table.

Cruz & Hardt (2024): models are compared at the same fairness, after "unprocessing".
"""

from functools import lru_cache

import numpy as np
import pandas as pd

from fairbench_cli.document.model import Document
from fairbench_cli.measures.counts import PAIR, Counts, Floats
from fairbench_cli.measures.thresholds import RATES
from fairbench_cli.report.inference import PairedTest, RowVariance, bound, paired_test, slopes
from fairbench_cli.report.moved import GAPS, TOLERANCES, Decisions, MovedThresholds
from fairbench_cli.report.paired import adjusted, verdicts, written
from fairbench_cli.report.population import FRESH, FROM_COUNTS, SPLITS, decisions_of, of_two_models
from fairbench_cli.report.repeats import TECHNIQUE, is_baseline, key_of, mean_and_interval
from fairbench_cli.report.results import COMPARED, RunResults
from fairbench_cli.report.tables import BLOCK, Cells, blocks_of, show_cell, technique_label

ABOVE, BELOW, NEITHER = "above", "below", "not distinguishable"
UNKNOWN = "none: thresholds not known row by row"

FRONTIER_COLUMNS = [
    *COMPARED, "constraint", "tolerance", "accuracy", "sd", "low", "high", "gap", "n_ok", "n",
]  # fmt: skip
DISTANCE_COLUMNS = [
    *COMPARED, "constraint", "n", "accuracy", "gap", "frontier_accuracy", "difference", "low", "high", "p",
    "p_holm", "tests", "verdict", "basis", "chosen_accuracy", "chosen_gap", "chosen_difference", "chosen_low",
    "chosen_high", "unprocessed_accuracy",
]  # fmt: skip


def frontier_frame(run: RunResults) -> pd.DataFrame:
    """Return frontier.csv: the best accuracy of every model at every tolerance of every constraint.

    ``accuracy`` is the mean over the repeats, with sd and 95 % t-interval; ``gap`` is the mean difference
    between the groups that the best thresholds have, at most the tolerance. Models without scores are left
    out.
    """
    parts = []
    for moved in run.moved:
        numbers = mean_and_interval(np.moveaxis(moved.accuracy, 1, -1))  # (cells, tolerances)
        known = np.flatnonzero(numbers["n_ok"].any(axis=1))
        frame = _cells(moved).iloc[np.repeat(known, len(TOLERANCES))]
        columns = {"accuracy": numbers.pop("mean")} | numbers
        columns["gap"] = mean_and_interval(np.moveaxis(moved.gap, 1, -1))["mean"]
        parts.append(
            frame.assign(
                tolerance=np.tile(TOLERANCES, len(known)),
                **{name: values[known].ravel() for name, values in columns.items()},
                n=run.plan.config.repeats,
            )[FRONTIER_COLUMNS]
        )
    return _together(parts, FRONTIER_COLUMNS)


@lru_cache(maxsize=2)  # the CSV and the table are of one run
def distance_frame(run: RunResults) -> pd.DataFrame:
    """Return frontier_distance.csv: each technique against the moved thresholds of ``none`` at its own gap.

    One row per cell, groups compared and constraint, where the run has ``none`` with the same β, classifier
    and ``include_protected``, and scores of it. In every repeat the technique's accuracy is compared with two
    kinds of thresholds of the model of ``none`` that was learned from the same training set:

    * ``difference``: with the best at the gap that the technique has in that repeat. They are chosen with
      the labels of the test rows, which no technique sees: the most that moving thresholds can reach.
    * ``chosen_difference``: with thresholds that are the best at that gap on one half of the test rows,
      divided at random, and are judged on the other half, both ways. ``chosen_accuracy`` and ``chosen_gap``
      are theirs; this is what moving thresholds reaches without hindsight. Not for equalised odds.

    A technique is ``above`` where it is more accurate than the best of all, and ``below`` where it is less
    accurate than thresholds chosen on other rows, at the same gap: a gap of theirs that is larger or smaller
    than the technique's counts at the price that gap has on the frontier. Both are about the population
    (`over_population`), by ``p``, of the one of the two that the means are on the side of, or 1; ``p_holm``
    adjusts it over all techniques and β of a data set, attribute, groups compared, classifier and constraint.
    ``basis`` says what p rests on. Where all repeats share their test rows, the variance between test rows
    is a bound: how a technique differs from ``none`` row by row is known, and how the thresholds do, as both
    cut the same score; the standard deviations are added. ``low`` to ``high`` and ``chosen_low`` to
    ``chosen_high`` are 95 % t-intervals over the repeats, on these test rows.

    ``none`` is not tested. ``unprocessed_accuracy`` is the best that thresholds of the technique's own model
    reach without any constraint.
    """
    parts = []
    for moved in run.moved:
        excess = moved.own_accuracy - moved.reached
        shortfall = moved.own_accuracy - moved.chosen_accuracy
        of_frontier, of_chosen = paired_test(excess), paired_test(shortfall)
        shortfall = shortfall - moved.price * (moved.own_gap - moved.chosen_gap)
        both = np.where(np.isnan(moved.reached), np.nan, 1.0)  # means over the repeats that are compared
        means = {
            "accuracy": moved.own_accuracy * both,
            "gap": moved.own_gap * both,
            "frontier_accuracy": moved.reached * both,
            "chosen_accuracy": moved.chosen_accuracy,
            "chosen_gap": moved.chosen_gap,
            "unprocessed_accuracy": moved.unprocessed,
        }
        frame = _cells(moved)
        tested = np.array(
            [not is_baseline(*own[:2]) for own in frame[TECHNIQUE].itertuples(index=False)], dtype=bool
        )
        above = _over_population(moved, excess, moved.best)
        below = _over_population(moved, shortfall, moved.chosen)
        side = np.where(above.mean > 0, 1, np.where(below.mean < 0, -1, 0))
        p = np.select([side > 0, side < 0, ~np.isnan(above.p)], [above.p, below.p, 1.0], np.nan)
        kind = moved.data.design.kind
        basis = {"drawn": FRESH, "split": SPLITS}.get(kind, FROM_COUNTS)
        frame = frame.assign(
            n=of_frontier.n.astype(int),
            **{name: mean_and_interval(values)["mean"] for name, values in means.items()},
            difference=of_frontier.mean,
            low=of_frontier.low,
            high=of_frontier.high,
            p=np.where(tested, p, np.nan),
            side=side,
            basis=np.where(~tested, "", np.where(np.isnan(p), UNKNOWN if kind == "shared" else "", basis)),
            chosen_difference=of_chosen.mean,
            chosen_low=of_chosen.low,
            chosen_high=of_chosen.high,
        )
        parts.append(frame[frame["n"] > 0])
    frame = _together(parts, [*DISTANCE_COLUMNS, "side"])
    tests = adjusted(frame, frame["p"].to_numpy(dtype=float), [*BLOCK, "constraint"])
    words = verdicts(frame["side"].to_numpy(dtype=float), tests["p_holm"], ABOVE, BELOW, NEITHER)
    return frame.assign(**tests, verdict=words)[DISTANCE_COLUMNS]


def _over_population(moved: MovedThresholds, differences: Floats, thresholds: Decisions) -> PairedTest:
    """Test for every cell whether its mean difference to thresholds is 0 in the population."""
    data = moved.data
    if data.design.kind != "shared":
        return paired_test(differences, data.design.ratio)
    pairs = data.pair(data.counts, moved.compared)
    kept, found = decisions_of(data), np.full((2, len(differences)), np.nan)
    known = np.isfinite(differences) & ~np.isnan(thresholds.both).any(axis=(-1, -2))
    for cell, base in enumerate(moved.baseline):
        repeats = np.flatnonzero(known[cell])
        if base is None or base == cell or not len(repeats):
            continue
        n = [pairs.n[cell, repeats], pairs.n[base, repeats], thresholds.counts.n[cell, repeats]]
        price = moved.price[cell, repeats, None, None, None]
        own, none, cut = (
            (slopes("accuracy", counts) - price * slopes(GAPS[moved.held], counts))[None] / len(repeats)
            for counts in (Counts(PAIR, one) for one in n)
        )
        to_none = of_two_models(data, moved.compared, kept, (cell, base), repeats, (own, none))
        before, after, *moves = (one.reshape(*one.shape[:-3], 4, 2) for one in (n[1], n[2], none, cut))
        to_cut = bound(before, after, moves[0], moves[1], thresholds.both[cell, repeats].reshape(-1, 4))
        most = (np.sqrt(to_none.variance) + np.sqrt(to_cut.variance)) ** 2
        found[:, cell] = np.concatenate([most, np.minimum(to_none.freedom, to_cut.freedom)])
    return paired_test(differences, data.design.ratio, RowVariance(*found))


def frontier_table(name: str, run: RunResults) -> Document:
    """Lay out `distance_frame`: rows of a technique, β across. Empty without a sweep or without none."""
    texts: Cells = {}
    for row in distance_frame(run).to_dict("records"):
        place = tuple(row[column] for column in BLOCK)
        technique = technique_label(*(row[column] for column in TECHNIQUE))
        own = run.cell(key_of(row)).statuses
        word = row["verdict"] if row["verdict"] in (ABOVE, BELOW) else ""
        lines = {_SHORT[row["constraint"]]: written(row["difference"], word=word)}
        if row["constraint"] == "demographic-parity":
            lines = {
                "accuracy": show_cell(row["accuracy"], row["n"], run.plan.config.repeats, own),
                "|discrimination|": written(row["gap"], ".3f"),
                "moved thresholds": written(row["frontier_accuracy"], ".3f"),
                **lines,
                "chosen on other rows": written(row["chosen_accuracy"], ".3f"),
                "|discrimination| of these": written(row["chosen_gap"], ".3f"),
                "own thresholds, any gap": written(row["unprocessed_accuracy"], ".3f"),
            }
        for line, text in lines.items():
            texts[place, (technique, line), row["beta"]] = text
    return Document(name, facts=_caption(run), sections=blocks_of(run, texts, "-"))


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
    design = run.datasets[0].design.kind if run.datasets else "drawn"
    if design == "shared":
        lines += ("At the odds gap nothing is said of the population: all repeats share their test rows.",)
    if run.plan.config.sample.source != "data":
        lines += ("Test labels are without the bias β of the training labels, which helps both choices.",)
    lines += (
        "Own thresholds, any gap: the best of the technique's own model (unprocessed; Cruz and Hardt 2024).",
    )
    return lines


def _cells(moved: MovedThresholds) -> pd.DataFrame:
    return moved.data.frame.assign(compared=moved.compared, constraint=moved.held)


def _together(parts: list[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    some = [part for part in parts if len(part)]
    return pd.concat(some, ignore_index=True) if some else pd.DataFrame(columns=columns)
