"""Did a technique beat moving the thresholds? frontier.csv, frontier_distance.csv and their table.

Cruz & Hardt (2024): models are compared at the same fairness, after "unprocessing".
"""

import numpy as np
import pandas as pd

from fairbench_cli.document.model import Document
from fairbench_cli.measures.sweep import RATES
from fairbench_cli.report.moved import TOLERANCES, MovedThresholds
from fairbench_cli.report.paired import RANDOM_SPLITS, adjusted, paired_test, verdicts, written
from fairbench_cli.report.repeats import TECHNIQUE, is_baseline, key_of, mean_and_interval
from fairbench_cli.report.results import COMPARED, RunResults
from fairbench_cli.report.tables import BLOCK, Cells, blocks_of, show_cell, technique_label

ABOVE, BELOW, NEITHER = "above", "below", "not distinguishable"

FRONTIER_COLUMNS = [
    *COMPARED, "constraint", "tolerance", "accuracy", "sd", "low", "high", "gap", "n_ok", "n",
]  # fmt: skip
DISTANCE_COLUMNS = [
    *COMPARED, "constraint", "n", "accuracy", "gap", "frontier_accuracy", "difference", "low", "high", "p",
    "p_holm", "tests", "verdict", "chosen_accuracy", "chosen_gap", "chosen_difference", "chosen_low",
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


def distance_frame(run: RunResults) -> pd.DataFrame:
    """Return frontier_distance.csv: each technique against the moved thresholds of ``none`` at its own gap.

    One row per cell, groups compared and constraint, where the run has ``none`` with the same β, classifier
    and ``include_protected``, and scores of it. In every repeat the technique's accuracy is compared with
    the best accuracy that thresholds of the model of ``none``, learned from the same training set, reach at
    the gap that the technique has in that repeat: ``difference`` is the mean, with its 95 % t-interval.
    ``p_holm`` adjusts the paired t-test over all techniques and β of a data set, attribute, groups compared,
    classifier and constraint; ``verdict`` is above, below or not distinguishable at 5 %, and empty without a
    test. ``none`` is not tested: it cannot be above its own thresholds, and its difference is what hindsight
    gains.

    ``chosen_accuracy`` and ``chosen_gap`` are those of thresholds that were chosen on all other repeats, and
    ``chosen_difference`` is the technique's accuracy less theirs. ``unprocessed_accuracy`` is the best that
    thresholds of the technique's own model reach without any constraint.
    """
    parts = []
    for moved in run.moved:
        of_frontier = paired_test(moved.own_accuracy - moved.reached)
        of_chosen = paired_test(moved.own_accuracy - moved.chosen_accuracy)
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
        frame = frame.assign(
            n=of_frontier.n.astype(int),
            **{name: mean_and_interval(values)["mean"] for name, values in means.items()},
            difference=of_frontier.mean,
            low=of_frontier.low,
            high=of_frontier.high,
            p=np.where(tested, of_frontier.p, np.nan),
            chosen_difference=of_chosen.mean,
            chosen_low=of_chosen.low,
            chosen_high=of_chosen.high,
        )
        parts.append(frame[frame["n"] > 0])
    frame = _together(parts, DISTANCE_COLUMNS)
    tests = adjusted(frame, frame["p"].to_numpy(dtype=float), [*BLOCK, "constraint"])
    change = frame["difference"].to_numpy(dtype=float)
    words = verdicts(change, tests["p_holm"], ABOVE, BELOW, NEITHER)
    return frame.assign(**tests, verdict=words)[DISTANCE_COLUMNS]


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
                "chosen on other repeats": written(row["chosen_accuracy"], ".3f"),
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
        "above, below: by a paired t-test at 5 % after Holm's adjustment over all techniques and β of the "
        "table; a number alone is not distinguishable from 0. none is not tested, as it cannot be above its "
        "own thresholds: its difference is what hindsight gains.",
        "The thresholds are chosen on the test rows themselves, which no technique sees: above them is above "
        "what moving thresholds can do, below them may be hindsight alone. chosen on other repeats: "
        "acceptance rates of the groups, chosen on the mean counts of all other repeats at the technique's "
        "mean |discrimination| there.",
        f"Thresholds are tried at {len(RATES)} acceptance rates and where the classifier itself decides; "
        "those between them may be better by some thousandths.",
    )
    test = run.plan.config.test
    if test == "original":
        lines += ("All repeats have the same test rows, so these choices know their labels too.",)
    if run.plan.config.sample.source != "data":
        lines += ("Test labels are without the bias β of the training labels, which helps both choices.",)
    lines += (
        "Own thresholds, any gap: the best of the technique's own model (unprocessed; Cruz and Hardt 2024).",
    )
    return lines + ((RANDOM_SPLITS,) if run.plan.config.sample.source == "data" else ())


def _cells(moved: MovedThresholds) -> pd.DataFrame:
    return moved.data.frame.assign(compared=moved.compared, constraint=moved.held)


def _together(parts: list[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    some = [part for part in parts if len(part)]
    return pd.concat(some, ignore_index=True) if some else pd.DataFrame(columns=columns)
