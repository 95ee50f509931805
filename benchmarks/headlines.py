"""What was expected of each world, held against a run of configs/worlds.yaml: holds, does not, not decided.

usage: python benchmarks/headlines.py RESULTS [--all]

A headline is a difference of two numbers of a repeat, each of which draws training and test rows of its own:
above 0, below 0, or the same within a point (0.01). It is tested in each data set at each strength by a
paired t-test over the repeats (two one-sided ones for "same"), 5 % after Holm over the data sets and
strengths. *Does not*: the opposite is shown; of "same", that the difference is more than a point. Of what
worlds.csv has exactly nothing is tested: 1e-6 is equal, or four standard errors where it was drawn.
With --all, every data set and strength. The last table is exact too, and needs no run: how much of the label
disparity a historical bias "explains" for those who condition on its column.
"""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import stdtr

from fairbench_cli.measures.counts import divide
from fairbench_cli.measures.significance import holm
from fairbench_cli.network.files import find_network_card, open_network
from fairbench_cli.network.mechanisms.biases import HistoricalBias
from fairbench_cli.network.world import make_world
from fairbench_cli.report.ledger.inference import paired_test

POINT = 0.01
CELL = ["dataset", "world", "beta", "labels", "technique", "metric"]
Claim = Literal["above", "below", "same"]


@dataclass(frozen=True)
class Number:
    """A number of a repeat: of a technique, on true or recorded labels, in the world or without bias."""

    technique: str
    metric: str = "accuracy"
    labels: str = "true"
    biased: bool = True


Row = tuple[str, float, float, float, float, float, float]
"""Data set, strength, mean difference, its interval, p that the claim holds by chance, and its opposite."""


@dataclass(frozen=True)
class Headline:
    """A sentence about a world: `ours` less `theirs` is above 0, below 0, or the same within a point."""

    world: str
    says: str
    ours: Number
    claim: Claim
    theirs: Number


@dataclass(frozen=True)
class Exact:
    """A sentence about a world of which worlds.csv has the number: it is above 0, below 0 or equal to 0."""

    world: str
    says: str
    claim: Claim
    number: Callable[["Facts"], tuple[float, float]]


@dataclass(frozen=True)
class Facts:
    """The rows of worlds.csv about one data set and world, and those about the world without bias."""

    rows: pd.DataFrame
    unbiased: pd.DataFrame

    def value(self, quantity: str, group: str = "", labels: str = "", rule: str = "") -> tuple[float, float]:
        """Return a number and its error."""
        return _value(self.rows, quantity, group, labels, rule)

    def change(self, quantity: str, group: str = "", labels: str = "", rule: str = "") -> tuple[float, float]:
        """Return a number less that of the world without bias, and the error."""
        ours, theirs = (_value(rows, quantity, group, labels, rule) for rows in (self.rows, self.unbiased))
        return ours[0] - theirs[0], float(np.hypot(ours[1], theirs[1]))


def _value(rows: pd.DataFrame, quantity: str, group: str, labels: str, rule: str) -> tuple[float, float]:
    wanted = {"quantity": quantity, "group": group, "labels": labels, "rule": rule}
    found = rows[np.logical_and.reduce([rows[name] == value for name, value in wanted.items()])]
    return (float(found["value"].iloc[0]), float(found["error"].iloc[0])) if len(found) else (np.nan, np.nan)


def _group_noise(facts: Facts) -> tuple[float, float]:
    """Return the recorded label disparity less (1 - a - b) of the true one (Lamy et al. 2019)."""
    deprived = facts.value("share", "deprived", "true")[0]
    recorded = facts.value("share", "deprived", "recorded")[0]
    noise = float(facts.rows["beta"].iloc[0])
    a = noise * (1 - deprived) / recorded  # P(S = f | S' = d)
    b = noise * deprived / (1 - recorded)
    ours, theirs = facts.value("disparity", "", "recorded"), facts.value("disparity", "", "true")
    return ours[0] - (1 - a - b) * theirs[0], float(np.hypot(ours[1], theirs[1]))


NONE, DP, EO = Number("none"), Number("demographic-parity"), Number("tpr-parity")


def unbiased(number: Number) -> Number:
    """Return the same number in the world without bias."""
    return Number(number.technique, number.metric, number.labels, biased=False)


def recorded(number: Number) -> Number:
    """Return the same number on recorded labels."""
    return Number(number.technique, number.metric, "recorded", number.biased)


def lost(facts: Facts) -> tuple[float, float]:
    """Return what the best thresholds known the truth lose to the best rule that sees everything."""
    return facts.value("thresholds-lose", labels="true")


def accuracy(facts: Facts) -> tuple[float, float]:
    """Return the true accuracy of the rule of the record less that of the rule without bias."""
    return facts.change("accuracy", "", "true", "bayes")


def auc(facts: Facts) -> tuple[float, float]:
    """Return the AUC of the rule of the record among the deprived less that without bias."""
    return facts.change("auc", "deprived", "true")


GAP, FPR, TPR = (Number("none", name) for name in ("tpr-difference", "fpr-of-group", "tpr-of-group"))
WEIGHED = Number("reweighing")
HEADLINES: tuple[Headline | Exact, ...] = (
    Headline("label", "equal opportunity repairs: as accurate as without bias", EO, "same", unbiased(EO)),
    Headline("label", "equal opportunity is more accurate than none", EO, "above", NONE),
    Headline("label", "demographic parity is more accurate than none", DP, "above", NONE),
    Headline("label", "demographic parity is less accurate than equal opportunity", DP, "below", EO),
    Headline("label", "on the record equal opportunity costs", recorded(EO), "below", recorded(NONE)),
    Headline("label", "the TPR gap of none on the record is the true one", recorded(GAP), "same", GAP),
    Exact("label", "some thresholds recover everything", "same", lost),
    Headline("selection", "equal opportunity is neutral", EO, "same", NONE),
    Headline("selection", "demographic parity harms", DP, "below", NONE),
    Headline("selection", "reweighing is as accurate as without bias", WEIGHED, "same", unbiased(NONE)),
    Exact("selection", "AUC of the deprived is what it was", "same", auc),
    Exact("selection", "some thresholds recover everything", "same", lost),
    Headline("screening", "the FPR of the screened is above that of all", recorded(FPR), "above", FPR),
    Headline("screening", "the TPR of the screened is above that of all", recorded(TPR), "above", TPR),
    Exact("screening", "some thresholds recover everything", "same", lost),
    Headline("measurement", "demographic parity costs", DP, "below", NONE),
    Headline("measurement", "equal opportunity costs", EO, "below", NONE),
    Exact("measurement", "AUC of the deprived falls", "below", auc),
    Exact("measurement", "no thresholds recover everything", "above", lost),
    Exact("omission", "no thresholds recover everything", "above", lost),
    Headline("label given x", "equal opportunity does not repair all", EO, "below", unbiased(EO)),
    Exact("label given x", "no thresholds recover everything", "above", lost),
    Exact("group", "the label disparity of the record is (1 - a - b) of the true one", "same", _group_noise),
    Exact("representation", "the rule of the record is as accurate as ever", "same", accuracy),
    Headline("representation", "the cost is less than a point", NONE, "same", unbiased(NONE)),
)


def numbers_of(results: Path) -> pd.Series:
    """Return the numbers of every cell and repeat, by `CELL` and repeat."""
    empty = {"value": [""]}
    frame = pd.read_csv(
        results / "results.csv",
        keep_default_na=False,
        na_values=empty,
        dtype={"labels": str},
        low_memory=False,
    )
    frame = frame[frame["compared"] == frame["attribute"]]
    given = frame["parameters"].map(lambda text: json.loads(text).get("constraint"))
    frame["technique"] = given.where(frame["intervention"] == "group-thresholds", frame["intervention"])
    return frame.set_index([*CELL, "repeat"])["value"].astype(float).sort_index()


def tested(numbers: pd.Series, headline: Headline) -> Iterator[Row]:
    """Yield a row for each data set and strength."""
    index = numbers.index
    here = index[(index.get_level_values("world") == headline.world) & (index.get_level_values("beta") > 0)]
    for dataset, beta in sorted({(cell[0], cell[2]) for cell in here}):
        worlds = {True: (headline.world, beta), False: ("", 0.0)}
        ours, theirs = (
            numbers.loc[(dataset, *worlds[one.biased], one.labels, one.technique, one.metric)]
            for one in (headline.ours, headline.theirs)
        )
        test = paired_test((ours - theirs).dropna().to_numpy()[None])
        mean, error, freedom = float(test.mean[0]), float(test.error[0]), float(test.freedom[0])
        if headline.claim == "same":
            holds, beyond = float(test.p_within(POINT)[0]), abs(mean) - POINT
            against = float(stdtr(freedom, -beyond / error)) if error else float(beyond < 0)
        else:
            ahead = mean if headline.claim == "above" else -mean
            t = ahead / error if error else float(np.sign(ahead)) * np.inf
            holds, against = float(stdtr(freedom, -t)), float(stdtr(freedom, t))
        yield dataset, beta, mean, float(test.low[0]), float(test.high[0]), holds, against


def exact(facts: pd.DataFrame, headline: Exact) -> Iterator[Row]:
    """Yield a row for each data set and strength: p is 0 or 1, and the interval four standard errors."""
    seeing = facts[facts["include_protected"].astype(str) == "True"]
    here = seeing[(seeing["world"] == headline.world) & (seeing["beta"] > 0)]
    for dataset, beta in sorted(set(zip(here["dataset"], here["beta"], strict=True))):
        rows = here[(here["dataset"] == dataset) & (here["beta"] == beta)]
        rows = rows[rows["features"] == min(rows["features"])]  # "recorded" where there is that too
        none = seeing[(seeing["dataset"] == dataset) & (seeing["world"] == "")]
        value, error = headline.number(Facts(rows, none))
        margin = max(4 * error, 1e-6)
        shown = {"same": abs(value) <= margin, "above": value > margin, "below": value < -margin}
        fails = float(not shown[headline.claim])
        yield dataset, beta, value, value - margin, value + margin, fails, 1 - fails


HISTORY = {"adult": ("education", "HS-grad"), "compas": ("decile_score", "10"), "dutch": ("edu_level", "2")}


def explained(name: str, shift: float) -> tuple[float, float]:
    """Return the label disparity under history in a shipped network, and the part that the column explains.

    The explained part is Σ P*(+ | x) (P(x | favoured) − P(x | deprived)), P* the mean of both groups' rates
    (Žliobaitė, Kamiran and Calders 2011).
    """
    column, towards = HISTORY[name]
    network, meta = open_network(name)
    card = find_network_card(meta)
    assert card is not None  # noqa: S101 - a shipped one
    attribute, levels = card.attribute(None), {one.name: one.levels for one in network.columns}
    roles = card.roles(attribute, levels)
    groups = {attribute: (roles.deprived, roles.favoured)}
    bias = [HistoricalBias(column, shift, towards)] if shift else []
    world = make_world(network, roles.label, roles.favourable, groups, bias)
    joint = world.joint([attribute, column, roles.label])
    deprived = np.isin(levels[attribute], roles.deprived)
    ours, theirs = joint[deprived].sum(axis=0), joint[~deprived].sum(axis=0)  # (levels of the column, labels)
    plus = levels[roles.label].index(roles.favourable)
    gap = theirs[:, plus].sum() / theirs.sum() - ours[:, plus].sum() / ours.sum()
    rates = [divide(own[:, plus], own.sum(axis=1)) for own in (ours, theirs)]
    shares = theirs.sum(axis=1) / theirs.sum() - ours.sum(axis=1) / ours.sum()
    return float(gap), float(np.nansum(np.nanmean(rates, axis=0) * shares))


def main(results: Path, every: bool) -> None:
    """Print the headlines as a table."""
    numbers = numbers_of(results)
    empty = {"value": [""], "error": [""]}
    facts = pd.read_csv(results / "worlds.csv", keep_default_na=False, na_values=empty)
    print("| world | headline | holds | does not | not decided | at the middle strength |")
    print("|---|---|---:|---:|---:|---|")
    for headline in HEADLINES:
        rows = [*(tested(numbers, headline) if isinstance(headline, Headline) else exact(facts, headline))]
        holds, against = holm([row[5] for row in rows]) < 0.05, holm([row[6] for row in rows]) < 0.05
        undecided = len(rows) - int(holds.sum()) - int(against.sum())
        strengths = sorted({row[1] for row in rows})
        shown = [row for row in rows if every or row[1] == strengths[len(strengths) // 2]]
        words = "; ".join(
            f"{name}{f' {beta:g}' if every else ''} {mean:+.3f} ({low:+.3f} to {high:+.3f})"
            for name, beta, mean, low, high, *_ in shown
        )
        counts = f"{holds.sum()} | {against.sum()} | {undecided}"
        print(f"| {headline.world} | {headline.says} | {counts} | {words} |")
    print("\n| history | label disparity | explained by the column | not explained |")
    print("|---|---:|---:|---:|")
    for name, shift in product(HISTORY, (0.0, 0.25, 0.5, 0.75)):
        gap, part = explained(name, shift)
        print(f"| {name}, {HISTORY[name][0]}, {shift:g} | {gap:.3f} | {part:.3f} | {gap - part:+.3f} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]), "--all" in sys.argv[2:])
