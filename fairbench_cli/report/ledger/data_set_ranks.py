"""Techniques over several data sets: against how many others they win, tie and lose, and their mean ranks.

A case is a data set and a protected attribute, in the setting that the answer shows first (`main_setting`).
Cases with the same world, representation and classifier are ranked together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
import pandas as pd

from fairbench_cli.base.checksums import derive_seed
from fairbench_cli.base.grouping import group_by
from fairbench_cli.data.table import Rows
from fairbench_cli.experiment.config.outputs import MIN_CASES
from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.ranks import MeanRanks, compare_ranks
from fairbench_cli.report.ledger.answer import RunSetting, TechniqueFinding, answer_of, main_setting
from fairbench_cli.report.ledger.columns import ACCURACY
from fairbench_cli.report.ledger.journal_arrays import CELL_COLUMNS, TECHNIQUE
from fairbench_cli.report.ledger.paired_differences import differences_frame
from fairbench_cli.report.ledger.results import Results, RunResults

GROUP_COLUMNS = ["world", "representation", "classifier", "classifier_parameters"]
RANK_COLUMNS = GROUP_COLUMNS + TECHNIQUE + [
    "technique", "metric", "cases", "wins", "ties", "losses", "mean_rank", "low", "high",
    "critical_difference", "p",
]  # fmt: skip


@dataclass(frozen=True)
class WinsAndLosses:
    """In how many comparisons with another technique, in some case, it is better, neither, or worse."""

    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, eq=False)
class RankedGroup:
    """The techniques of the cases that have one world, representation and classifier, the best first.

    Parameters
    ----------
    cases : tuple of RunSetting
    techniques : tuple of TechniqueFinding
        As found in the first case. Those that lack a value in some case, or decide the same for everybody,
        are left out.
    left_out : tuple of str
        What these are called.
    ranks : dict of MeanRanks, by metric
        Of the mean distances to the metric's ideal; the first metric is that of fairness.
    records : dict of (list of WinsAndLosses), by metric
    """

    cases: tuple[RunSetting, ...]
    techniques: tuple[TechniqueFinding, ...]
    left_out: tuple[str, ...]
    ranks: dict[str, MeanRanks]
    records: dict[str, list[WinsAndLosses]]

    @property
    def by_rank(self) -> list[int]:
        """The indices of the techniques, the best mean rank in the first metric first."""
        first_ranks = next(iter(self.ranks.values()))
        return [int(i) for i in np.argsort(first_ranks.mean, kind="stable")]


def has_many_cases(plan: RunPlan) -> bool:
    """Return whether a run has as many data sets and attributes as can be ranked over."""
    return len({(cell["dataset"], cell["attribute"]) for cell in plan.cells}) >= MIN_CASES


@lru_cache(maxsize=2)  # the CSV, the table, the figure, the answer and the page are of one run
def ranked_groups(run: RunResults) -> tuple[RankedGroup, ...]:
    """Return the techniques of a run by world, representation and classifier, where these have many cases."""
    answer = answer_of(run)
    cases = []
    for settings in answer.blocks:
        if answer.has_worlds:
            settings = [setting for setting in settings if setting.has_bias]
        if settings and settings[0].compared == settings[0].attribute:
            cases.append(main_setting(settings))
    metrics = tuple(dict.fromkeys((answer.metric.name, ACCURACY)))
    groups = []
    for same in group_by(cases, lambda case: tuple(getattr(case, name) for name in GROUP_COLUMNS)).values():
        shared, left_out = _shared_techniques(same)
        if len(same) >= MIN_CASES and len(shared) > 1:
            groups.append(_rank(run, same, shared, left_out, metrics))
    return tuple(groups)


def _shared_techniques(cases: Sequence[RunSetting]) -> tuple[list[str], list[str]]:
    """Return the techniques that have a value in every case, and the others, by their names in tables."""
    shared = []
    left_out = []
    findings_of = [{finding.technique: finding for finding in case.all_findings} for case in cases]
    for finding in cases[0].all_findings:
        same = [findings.get(finding.technique) for findings in findings_of]
        if finding is cases[0].trained_on_truth:
            continue
        if all(other is not None and other.n > 0 and not other.is_constant for other in same):
            shared.append(finding.technique)
        else:
            left_out.append(finding.technique)
    return shared, left_out


def _rank(
    run: RunResults,
    cases: Sequence[RunSetting],
    names: Sequence[str],
    left_out: Sequence[str],
    metrics: Sequence[str],
) -> RankedGroup:
    """Return the ranks of techniques over cases, and how often each is shown to be better than another."""
    findings = []  # of each case in the order of the names
    for case in cases:
        finding_of = {finding.technique: finding for finding in case.all_findings}
        findings.append([finding_of[name] for name in names])
    results = run.select(tuple(metrics))
    distances = results.distances
    ranks = {}
    records = {}
    for metric in metrics:
        # 1. The rows of the results: a row of each technique in each case.
        row_numbers = []
        for case, case_findings in zip(cases, findings, strict=True):
            row_numbers.append(
                [run.row_number(finding.key, case.compared, metric) for finding in case_findings]
            )
        indices = results.rows.index.get_indexer(pd.Index(np.ravel(row_numbers)))
        rows = indices.reshape(len(cases), len(names))
        # 2. Ranks of the mean distances to the ideal, over the repeats that all techniques of a case have.
        finite_distances = _finite(distances[rows])
        is_common = np.all(np.isfinite(finite_distances), axis=1, keepdims=True)
        is_used = is_common | ~np.any(is_common, axis=2, keepdims=True)  # all, where none is common
        mean_distances = np.nanmean(np.where(is_used, finite_distances, np.nan), axis=-1)
        seed = derive_seed("ranks", metric, *(getattr(cases[0], name) for name in GROUP_COLUMNS))
        ranks[metric] = compare_ranks(mean_distances, seed)
        # 3. Tests of all pairs of a case.
        records[metric] = _count_wins(results, rows)
    techniques = tuple(findings[0])
    return RankedGroup(tuple(cases), techniques, tuple(left_out), ranks, records)


def _finite(values: Floats) -> Floats:
    """Return values with NaN for those that are infinite."""
    return np.where(np.isfinite(values), values, np.nan)


def _count_wins(results: Results, rows: Rows) -> list[WinsAndLosses]:
    """Return the record of each technique: tests in the population, Holm's adjustment over a case's pairs.

    Parameters
    ----------
    rows : int array, shape (cases, techniques)
        Of the results, all of one metric.
    """
    n_techniques = rows.shape[1]
    pairs = np.array(list(combinations(range(n_techniques), 2)))
    ours = rows[:, pairs[:, 0]]
    theirs = rows[:, pairs[:, 1]]
    frame = differences_frame(results, ours.ravel(), theirs.ravel(), {})
    verdicts = frame["population_verdict"].to_numpy().reshape(ours.shape)
    n_better = (verdicts == "better").sum(axis=0)
    n_worse = (verdicts == "worse").sum(axis=0)
    wins = np.zeros(n_techniques, dtype=int)
    losses = np.zeros(n_techniques, dtype=int)
    np.add.at(wins, pairs[:, 0], n_better)
    np.add.at(losses, pairs[:, 1], n_better)
    np.add.at(wins, pairs[:, 1], n_worse)
    np.add.at(losses, pairs[:, 0], n_worse)
    n_comparisons = len(rows) * (n_techniques - 1)
    records = []
    for n_wins, n_losses in zip(wins.tolist(), losses.tolist(), strict=True):
        records.append(WinsAndLosses(n_wins, n_comparisons - n_wins - n_losses, n_losses))
    return records


def ranks_frame(run: RunResults) -> pd.DataFrame | None:
    """Return ranks.csv: wins, ties, losses and mean ranks of techniques over data sets and attributes.

    None where no two techniques are in `MIN_CASES` data sets.

    A row per world, representation, classifier, technique and metric (that of fairness, and accuracy), over
    ``cases``: data sets with their attributes, in the setting that the answer shows. ``wins`` counts the
    other techniques, in some case, that it is shown to be better than in the population, at 5 % after Holm's
    adjustment over all pairs of a case; ``losses`` those that are better, ``ties`` the others.
    ``mean_rank``, 1 for the best, is of mean distances to the metric's ideal; two that differ by more than
    ``critical_difference`` differ at 5 % over all pairs (`measures.ranks`), and so do those whose ``low`` to
    ``high`` do not overlap. ``p`` is that of Friedman's test.
    """
    rows = []
    for group in ranked_groups(run):
        for metric, ranks in group.ranks.items():
            low, high = ranks.limits
            for i in group.by_rank:
                finding = group.techniques[i]
                record = group.records[metric][i]
                row = {name: getattr(group.cases[0], name) for name in GROUP_COLUMNS}
                row |= {name: finding.key[CELL_COLUMNS.index(name)] for name in TECHNIQUE}
                row |= {
                    "technique": finding.technique,
                    "metric": metric,
                    "cases": len(group.cases),
                    "wins": record.wins,
                    "ties": record.ties,
                    "losses": record.losses,
                    "mean_rank": ranks.mean[i],
                    "low": low[i],
                    "high": high[i],
                    "critical_difference": ranks.critical_difference,
                    "p": ranks.p,
                }
                rows.append(row)
    if not rows:
        return None
    return pd.DataFrame(rows, columns=RANK_COLUMNS)
