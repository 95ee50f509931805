"""Claims of published studies as data: a sentence, what it counts, its number, and what comes out."""

import csv
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, ValidationError, model_validator

from fairbench_cli.base.errors import Problem, UserError, refuse, user_error
from fairbench_cli.base.files import read_text
from fairbench_cli.base.safe_text import format_count
from fairbench_cli.base.validation import StrictModel, mistake, to_findings
from fairbench_cli.experiment.plan import key_of_filter
from fairbench_cli.studies import judge
from fairbench_cli.studies.table import StudyTable

Quantity = Literal["better", "same", "worse", "change"]
ClaimVerdict = Literal["holds", "does not hold", "not decided", "no number"]
Relation = Literal["about", "at least", "at most", ""]
OTHERWISE = {"better": ("worse",), "worse": ("better",), "same": ("better", "worse")}
NEAR = 0.05  # how far off a share may be that is "about" a number


def _read_pairs(text: str) -> dict[str, str]:
    """Read names and values such as "srp=higher sru=lower"."""
    return dict(pair.partition("=")[::2] for pair in text.split())


def _read_filters(text: str) -> tuple[str, ...]:
    """Read filters with blanks between, which stand in quotes where they have some."""
    try:
        return tuple(shlex.split(text))
    except ValueError:
        raise mistake(f"cannot read {text}", "close the quotes") from None


def _read_number(text: str) -> float:
    """Read a number, NaN where the text is empty."""
    try:
        return float(text or "nan")
    except ValueError:
        raise mistake(f'"{text}" is no number', "a share is from 0 to 1") from None


Pairs = Annotated[dict[str, str], BeforeValidator(_read_pairs)]


class Claim(StrictModel):
    """A sentence of a study that counts or averages comparisons with the plain model; a row of a CSV.

    Parameters
    ----------
    study, claim, source : str
        Whose it is, what it says in our words, and where it stands.
    where : tuple of str
        Which cells it is about, as ``--only`` takes them, with blanks between; one that has a blank stands in
        quotes: ``"technique=massaging (ranker=logistic)"``.
    baseline, stand_in, better : str
        As the command takes them: ``default``, ``classifier=lr``, ``srp=higher``; empty: guessed, or none.
    quantity : {"better", "same", "worse", "change"}
        A share of the comparisons, or the mean change of a metric over them: of a gap that of its size, of a
        ratio that of how near it is to 1.
    relation : {"about", "at least", "at most", ""}
        Between that and the number; empty where none was published.
    published : float
        The number; NaN where none was.
    rule : {"means", "mann-whitney", "test", "holm"}
        By which it was counted; a change is one of means.
    """

    study: str
    claim: str
    where: Annotated[tuple[str, ...], BeforeValidator(_read_filters)]
    baseline: str
    stand_in: Pairs
    better: Pairs
    quantity: Quantity
    relation: Relation
    published: Annotated[float, BeforeValidator(_read_number)]
    rule: judge.Rule
    source: str

    @model_validator(mode="after")
    def _check(self) -> Self:
        has_number = not np.isnan(self.published)
        if has_number != bool(self.relation):
            fix = "write both a relation and a published number, or neither"
            raise mistake("a number and its relation go together", fix)
        is_share = self.quantity != "change"
        if np.isinf(self.published) or (has_number and is_share and not 0 <= self.published <= 1):
            raise mistake(f"{self.published:g} is not possible", "a share is from 0 to 1, a change is finite")
        if not is_share and self.rule != "means":
            raise mistake(f"a change is not counted by {self.rule}", "write means")
        if self.quantity == "same" and self.rule == "mann-whitney":
            raise mistake(
                "Mann and Whitney's test never shows that something is the same", "write test or holm"
            )
        for condition in self.where:
            if "=" not in condition:
                fix = "write KEY=VALUE, such as metric=spd, with blanks between"
                raise mistake(f'cannot read the filter "{condition}"', fix)
        return self


@dataclass(frozen=True)
class JudgedClaim:
    """What came out of a claim.

    Parameters
    ----------
    claim : Claim
    n : int
        How many comparisons it is about; 0 where the table lacks them.
    by_rule : float
        The quantity by the rule of the study.
    low, high : float
        Between which it is: of a share, from what is shown after Holm's adjustment to what is not excluded by
        it; of a change, its 95 % interval.
    verdict : {"holds", "does not hold", "not decided", "no number"}
        Whether the published number fits what is between them; "no number" where none was published.
    reason : str
    """

    claim: Claim
    n: int
    by_rule: float
    low: float
    high: float
    verdict: ClaimVerdict
    reason: str


def read_claims(path: Path) -> dict[str, Claim]:
    """Read a CSV of claims, whose columns are the fields of `Claim`; they are by file and line.

    Raises
    ------
    UserError
        For a column that is missing, and cells that say no quantity, relation, rule or number; all at once.
    """
    reader = csv.reader(StringIO(read_text(path, "utf-8-sig")), strict=True)
    claims = {}
    problems: list[Problem] = []
    columns: list[str] = []
    try:
        columns = next(reader, [])
        for cells in filter(None, reader):
            position = f"{path}:{reader.line_num}"
            if len(cells) != len(columns):
                what = f"{format_count(len(cells), 'cell')} below {format_count(len(columns), 'column')}"
                problems.append(Problem(what, "put cells that have a comma in quotes", position))
                continue
            try:
                claims[position] = Claim.model_validate(dict(zip(columns, cells, strict=True)))
            except ValidationError as error:
                problems += [replace(problem, where=position) for _, problem in to_findings(error)]
    except csv.Error as error:
        position = f"{path}:{reader.line_num}"
        problems.append(Problem(f"no CSV: {error}", "close the quotes of the cells", position))
    if len(set(columns)) < len(columns):
        problems.append(Problem("two columns have one name", "leave one out", f"{path}:1"))
    refuse(problems)
    if not claims:
        fields = ", ".join(Claim.model_fields)
        raise user_error("there is no claim in it", f"a claim is a row with {fields}", str(path))
    return claims


def judge_claims(
    table: StudyTable, claims: Mapping[str, Claim], design: judge.StudyDesign, *, of_many_tables: bool = False
) -> list[JudgedClaim]:
    """Judge each claim by the comparisons that it is about; the family is all of them.

    A claim whose cells are not in the table is not decided, and its reason says so.

    Parameters
    ----------
    claims : mapping of str to Claim
        By where they stand, which errors say.
    of_many_tables : bool
        The claims are about other tables, too, which may have other columns and plain models.

    Raises
    ------
    UserError
        Where a column of a filter, the plain model of a claim or what stands in is not in the table.
    """
    comparisons_of: dict[tuple[Any, ...], judge.StudyComparisons] = {}
    judged = []
    for position, claim in claims.items():
        by_ranks = claim.rule == "mann-whitney"
        key = (claim.where, claim.baseline, str(claim.stand_in), str(claim.better), by_ranks)
        if key not in comparisons_of:
            # A value that no cell has may be one of another table. A column, a plain model or what stands in
            # may be so only where claims are of many tables; else it is a mistake.
            columns = {key_of_filter(condition) for condition in claim.where}
            may_be_absent = of_many_tables or columns <= set(table.keys)
            try:
                cells = judge.select_cells(table, claim.where, claim.baseline or None)
                may_be_absent = of_many_tables
                comparisons_of[key] = judge.judge(
                    cells,
                    design,
                    claim.baseline or None,
                    better=claim.better,
                    stand_in=claim.stand_in,
                    mann_whitney=by_ranks,
                )
            except UserError as error:
                if not may_be_absent:
                    problems = [replace(problem, where=position) for problem in error.problems]
                    raise UserError(*problems) from None
                reason = f"not in this table: {error.problems[0].what}"
                judged.append(JudgedClaim(claim, 0, np.nan, np.nan, np.nan, "not decided", reason))
                continue
        if claim.quantity == "change":
            judged.append(_judge_change(claim, comparisons_of[key]))
        else:
            judged.append(_judge_share(claim, comparisons_of[key]))
    return judged


def _judge_share(claim: Claim, comparisons: judge.StudyComparisons) -> JudgedClaim:
    """Judge how many comparisons have a word: all that is shown, and all that is not excluded.

    What is shown to be the same within the margin may still be a little better, or worse.
    """
    n = len(comparisons.frame)
    by_rule = comparisons.count(claim.rule)[claim.quantity] / n
    after_holm = comparisons.count("holm")
    low = after_holm[claim.quantity] / n
    high = 1 - sum(after_holm[word] for word in OTHERWISE[claim.quantity]) / n
    reason = (
        f"{100 * low:.1f} % are shown to be {claim.quantity}, {100 * (1 - high):.1f} % to be "
        f"{' or '.join(OTHERWISE[claim.quantity])}, "
        f"after Holm's adjustment over all {n:,}"
    )
    return JudgedClaim(claim, n, by_rule, low, high, _verdict(claim, low, high), reason)


def _judge_change(claim: Claim, comparisons: judge.StudyComparisons) -> JudgedClaim:
    """Judge the mean change over comparisons: of values, of a gap's size, of how near a ratio is to 1."""
    n = len(comparisons.frame)
    sides = comparisons.frame["metric"].map(comparisons.sides)
    sign = np.where(sides.isin(["near 0", "lower"]), 1.0, -1.0)
    values = sign[:, None] * comparisons.distances
    baseline_values = sign[:, None] * comparisons.baseline_distances
    ours, theirs = judge.mean_over_cells(values, baseline_values, comparisons.design)
    test = judge.compare_by_design(ours[None], theirs[None], comparisons.design)
    mean, low, high = float(test.mean[0]), float(test.low[0]), float(test.high[0])
    subject = "the change" if n == 1 else f"the mean change of {n:,} comparisons"
    reason = f"{subject} is {mean:+.4f} ({low:+.4f} to {high:+.4f})"
    verdict = _verdict(claim, low, high)
    if claim.relation == "about" and not np.isnan(low):
        # A change is right in its size where the interval has it, and shown where that leaves out 0.
        if not low <= claim.published <= high:
            verdict = "does not hold"
        else:
            verdict = "holds" if low * high > 0 else "not decided"
    return JudgedClaim(claim, n, mean, low, high, verdict, reason)


def _verdict(claim: Claim, low: float, high: float) -> ClaimVerdict:
    """Return whether a number fits what is between two limits, and nothing else does that differs much."""
    if not claim.relation:
        return "no number"
    if np.isnan(low + high):
        return "not decided"
    if claim.relation == "at least":
        least, most = claim.published, np.inf
    elif claim.relation == "at most":
        least, most = -np.inf, claim.published
    else:
        least, most = claim.published - NEAR, claim.published + NEAR
    if high < least or low > most:
        return "does not hold"
    if least <= low and high <= most:
        return "holds"
    return "not decided"
