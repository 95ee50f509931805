"""What is behind the differences between groups: by strata of the rows."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from statistics import NormalDist

import numpy as np

from fairbench_cli.audit.compare.effective_sizes import rows_per_weight
from fairbench_cli.audit.compare.references import REST, REST_NAME, comparable, usual_reference
from fairbench_cli.audit.compare.report import UNDEFINED, Interval, Report, intervals
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.part import SHORT, Part, View
from fairbench_cli.audit.scan.slices import Slice, StrataOfRows
from fairbench_cli.audit.scan.strata import read_strata
from fairbench_cli.base.errors import Flag, user_error
from fairbench_cli.base.safe_text import join_names
from fairbench_cli.document.model import Section, TableCell, TextTable, table_of
from fairbench_cli.measures import conditional
from fairbench_cli.measures.counts import Counts, Floats, divide
from fairbench_cli.measures.functions import acceptance_by_group, discrimination
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.rows import GROUPS
from fairbench_cli.measures.score_test import difference_interval
from fairbench_cli.measures.significance import cochran_mantel_haenszel, cochran_mantel_haenszel_p

Pairs = dict[tuple[int, int], tuple[int, int]]

MOST_COMPARED = 20  # groups with their references
DUST = 1e-12  # a difference as small is one of rounding
CMH = (
    "CMH p: how often groups that are selected alike within strata would differ as much (test of Cochran, "
    "Mantel and Haenszel)."
)
FEW_COMPARED = 0.9  # rows in strata with both groups: fewer is said first


@dataclass(frozen=True)
class Stratum:
    """Both groups within one stratum; weights summed."""

    name: str
    rows: float
    reference_rows: float
    rate: float
    reference_rate: float
    difference: Interval
    belift: float  # rate / rate of all


NO_STRATUM = Stratum(formatting.DASH, math.nan, math.nan, math.nan, math.nan, UNDEFINED, math.nan)


@dataclass(frozen=True)
class Stratified:
    """A difference of selection rates, taken apart by strata."""

    by: str  # "education", "education × hours"
    explained: Interval
    unexplained: Interval
    compared: float  # share of the rows in strata with both groups
    cmh: float  # Cochran, Mantel and Haenszel's χ²
    cmh_p: float
    strata: tuple[Stratum, ...]
    least_belift: int | None  # place of the stratum that has it, of those with rows enough


@dataclass(frozen=True)
class Explanation:
    """What is behind the difference of selection rates between one group and its reference.

    Parameters
    ----------
    attribute, group, reference : str
        The group is taken for the deprived one.
    rows, reference_rows : int
        How many rows each has.
    difference : Interval
        Of the selection rates.
    parts : tuple of Stratified
        By each explanation asked for; none where there are too few rows.
    notes : tuple of str
        What a reader should know.
    """

    attribute: str
    group: str
    reference: str
    rows: int
    reference_rows: int
    difference: Interval
    parts: tuple[Stratified, ...] = ()
    notes: tuple[str, ...] = ()


def explain(stratified: StrataOfRows, base: Report) -> tuple[Explanation, ...]:
    """Explain the difference between every group and its reference, in the order of the audit.

    Groups of fewer rows than `min_group` are named in a note; where an attribute has no others, its largest
    has an explanation without parts to carry it.

    Raises
    ------
    UserError
        When there are too many groups.
    """
    config = base.config
    slices = [
        (group_counts, find_pairs(group_counts, config))
        for group_counts in base.slices
        if group_counts.attribute in stratified.by_attribute
    ]
    refuse_many([pairs for _, pairs in slices], config)
    explanations: list[Explanation] = []
    for group_counts, pairs in slices:
        explanations += _explanations(group_counts, pairs, stratified, config)
    return tuple(explanations)


def refuse_many(pairs_of_slices: Sequence[Pairs], config: AuditConfig) -> None:
    """Refuse to explain more groups, with rows enough, than `MOST_COMPARED`."""
    n_comparisons = 0
    for pairs in pairs_of_slices:
        n_comparisons += sum(min(rows) >= config.min_group for rows in pairs.values())
    if n_comparisons > MOST_COMPARED:
        subject = f"{n_comparisons} groups of {len(pairs_of_slices)} attributes are too many to explain"
        fix = ("name the protected attributes with ", Flag("attribute"), ", or raise ", Flag("min-group"))
        raise user_error(f"{subject}; at most {MOST_COMPARED} are", fix, Flag("explain"))


def find_pairs(group_counts: Slice, config: AuditConfig) -> Pairs:
    """Return each group with its reference, by their places, and how many rows both have."""
    reference = usual_reference(group_counts, config)
    n_rows = group_counts.rows.tolist()
    pairs = {}
    for g in np.flatnonzero(comparable(group_counts, config)).tolist():
        if g == reference:
            continue
        if reference == REST:
            pairs[g, reference] = (n_rows[g], sum(n_rows) - n_rows[g])
        else:
            pairs[g, reference] = (n_rows[g], n_rows[reference])
    return pairs


def _explanations(
    group_counts: Slice, pairs: Pairs, stratified: StrataOfRows, config: AuditConfig
) -> Iterator[Explanation]:
    """Yield an explanation of each group with rows enough; the first carries the notes on the attribute."""
    least = config.min_group
    names = group_counts.counts.groups
    too_few = f"fewer than {least} rows, not explained."
    small_groups = [names[g] for (g, _), (mine, _) in pairs.items() if mine < least]
    small_references = [names[g] for (g, _), (mine, theirs) in pairs.items() if theirs < least <= mine]
    notes = []
    if small_groups:
        notes.append(f"{join_names(small_groups)}: {too_few}")
    if small_references:
        notes += [f"{join_names(small_references)}: the reference has {too_few}"]
    explained_pairs = [pair for pair, rows in pairs.items() if min(rows) >= least]
    enough = bool(explained_pairs)
    if pairs and not enough:
        # Where none has rows enough, the difference of the largest alone is shown.
        explained_pairs = [max(pairs, key=lambda pair: pairs[pair][0])]
    rows_per_unit = float(rows_per_weight(group_counts, range(len(group_counts.rows))))
    for g, reference_index in explained_pairs:
        reference = REST_NAME
        if reference_index != REST:
            reference = names[reference_index]
        rows, reference_rows = pairs[g, reference_index]
        explanation = Explanation(
            attribute=group_counts.attribute,
            group=names[g],
            reference=reference,
            rows=rows,
            reference_rows=reference_rows,
            difference=_difference(group_counts, g, reference_index, config),
            notes=(*notes, *stratified.notes),
        )
        if not enough:
            yield explanation
            return
        explained_parts = []
        for strata in stratified.by_attribute[group_counts.attribute]:
            n = select_pair(strata.n, g, reference_index)
            has_rows = n.sum((-2, -1)) > 0
            stratum_names = tuple(compress(strata.names, has_rows))
            explained_parts.append(
                stratify(strata.by, stratum_names, to_counts(n[has_rows]), rows_per_unit, config)
            )
        yield replace(explanation, parts=tuple(explained_parts))
        notes = []


def _difference(group_counts: Slice, g: int, reference: int, config: AuditConfig) -> Interval:
    """Return the difference of selection rates, group − reference, with Newcombe's interval."""
    overall = to_counts(select_pair(group_counts.counts.predicted, g, reference))
    if reference == REST:
        compared_groups: Sequence[int] = range(len(group_counts.rows))
    else:
        compared_groups = (g, reference)
    rows_per_unit = float(rows_per_weight(group_counts, compared_groups))
    low, high = _limits(overall.predicted * rows_per_unit, config.confidence)
    return Interval(_drop_rounding(-float(discrimination(overall))), float(low), float(high))


def select_pair(n: Floats, g: int, reference: int) -> Floats:
    """Return counts of a group and its reference, or of all others: (..., groups, 2) becomes (..., 2, 2)."""
    group_counts = n[..., g, :]
    if reference == REST:
        reference_counts = n.sum(-2) - group_counts
    else:
        reference_counts = n[..., reference, :]
    return np.stack([group_counts, reference_counts], -2)


def stratify(
    name: str, names: tuple[str, ...], counts: Counts, rows_per_unit: float, config: AuditConfig
) -> Stratified:
    """Return the difference taken apart by strata: what they explain, and what they leave.

    All differences are group − reference, so minus those of `measures.conditional`.

    Intervals of the parts are ± z standard errors, by leaving out one row at a time (the jackknife), the
    strata as they are. A bootstrap would empty more cells than there are, and call too much explained. Those
    within a stratum are Newcombe's.

    Parameters
    ----------
    name : str
        What the strata are of.
    names : tuple of str
        Of the strata.
    counts : Counts
        ``n`` of shape (strata, 2, 2, 2).
    worth : float
        Rows that a unit of weight is worth.
    config : AuditConfig
        Confidence, and how few rows of the group are too few for its belift to be the least.
    """
    worthy = Counts(GROUPS, counts.n * rows_per_unit)
    errors = standard_errors(worthy.predicted)
    z = NormalDist().inv_cdf((1 + config.confidence) / 2)
    rate, reference = acceptance_by_group(counts)
    differences = -discrimination(counts)
    lift = conditional.belift_by_stratum(counts)
    low, high = _limits(worthy.predicted, config.confidence)
    within = intervals(differences, low, high)
    rows, reference_rows = counts.group_total.T.tolist()
    strata = []
    for i, stratum_name in enumerate(names):
        strata.append(
            Stratum(
                stratum_name,
                rows[i],
                reference_rows[i],
                float(rate[i]),
                float(reference[i]),
                within[i],
                float(lift[i]),
            )
        )
    enough = (worthy.group_total[:, 0] >= config.min_group) & ~np.isnan(lift)
    least_belift = None
    if enough.any():
        least_belift = int(np.argmin(np.where(enough, lift, np.inf)))
    return Stratified(
        name,
        _bounded_interval(-float(conditional.explained_difference(counts)), z * errors[0]),
        _bounded_interval(-float(conditional.unexplained_difference(counts)), z * errors[1]),
        float(conditional.comparable_share(counts)),
        float(cochran_mantel_haenszel(worthy)),
        float(cochran_mantel_haenszel_p(worthy)),
        tuple(strata),
        least_belift,
    )


def standard_errors(cells: Floats) -> tuple[float, float]:
    """Return standard errors of what strata explain and of what they leave, by the jackknife over rows.

    Parameters
    ----------
    cells : array, shape (strata, 2, 2)
        Rows by stratum, group and decision. Of a cell with less than a row all is left out.

    Returns
    -------
    tuple of float
        NaN when a group would be empty without one of its rows.
    """
    step = np.minimum(cells, 1.0)
    times = np.where(cells > 0, divide(cells, step), 0.0)
    rows, differences = _rows_and_differences(cells)
    summed = differences[:, None] * rows
    # One row less, shape (2, 2, strata, 2, 2): of which group and decision it is, then the cells without it.
    fewer = cells - step * np.eye(4).reshape(2, 2, 1, 2, 2)
    own_rows, own_differences = _rows_and_differences(fewer)
    # Only the stratum of the row changes: its share of the sums is computed again.
    totals = rows.sum(0) - rows + own_rows
    within = summed.sum(0) - summed + own_differences[..., None] * own_rows
    unexplained_difference = divide(within, totals).sum(-1) / 2
    rates = divide(cells[..., 1].sum(0) + (fewer - cells)[..., 1], totals)
    difference = rates[..., 1] - rates[..., 0]
    explained, unexplained = (
        _spread(np.moveaxis(values_without, -1, 0), times)
        for values_without in (difference - unexplained_difference, unexplained_difference)
    )
    return explained, unexplained


def _rows_and_differences(cells: Floats) -> tuple[Floats, Floats]:
    """Rows by stratum and group, and the difference in each stratum: 0 where there is one group only."""
    rows = cells.sum(-1)
    rates = divide(cells[..., 1], rows)
    return rows, np.where((rows > 0).all(-1), rates[..., 1] - rates[..., 0], 0.0)


def _spread(values: Floats, times: Floats) -> float:
    """Jackknife standard error: each value is that without one of `times` rows."""
    total = float(times.sum())
    has_rows = times > 0
    if total < 2:
        return np.nan
    without_row = values[has_rows]
    often = times[has_rows]
    away = without_row - (often @ without_row) / total
    return float(np.sqrt((total - 1) / total * (often @ away**2)))


def _bounded_interval(value: float, half: float) -> Interval:
    """Return a difference with its limits, none beyond −1 and 1."""
    middle = _drop_rounding(value)
    if np.isnan(value + half):
        return Interval(middle, np.nan, np.nan)
    return Interval(middle, max(-1.0, middle - half), min(1.0, middle + half))


def _drop_rounding(value: float) -> float:
    """Return a difference; 0 for what is but rounding."""
    if abs(value) < DUST:
        return 0.0
    return value


def to_counts(n: Floats) -> Counts:
    """Return counts by stratum, group and decision, shape (..., 2, 2), as `Counts`; all labels are 0."""
    full = np.zeros((*n.shape[:-1], 2, 2))
    full[..., 0, :] = n
    return Counts(GROUPS, full)


def _limits(cells: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return limits of the difference of the group's rate and the reference's; cells of shape (..., 2, 2)."""
    above = cells[..., 1]
    below = cells.sum(-1)
    return difference_interval(above[..., 0], below[..., 0], above[..., 1], below[..., 1], confidence)


def _explanation_section(explanation: Explanation, config: AuditConfig, view: View) -> Section:
    """Return an explanation in words and tables."""
    sentences = [_describe_difference(explanation)]
    sentences += _describe_paradox(explanation)
    poorly_compared = [
        stratified_part for stratified_part in explanation.parts if stratified_part.compared < FEW_COMPARED
    ]
    partly_compared = [
        stratified_part
        for stratified_part in explanation.parts
        if FEW_COMPARED <= stratified_part.compared < 1
    ]
    tables = []
    if explanation.parts:
        tables += [_parts_table(explanation), _belift_table(explanation, config)]
    tables += [_strata_table(stratified_part, view) for stratified_part in explanation.parts]
    group_text = f"{explanation.group} ({explanation.rows} rows)"
    groups_text = f"{group_text} and {explanation.reference} ({explanation.reference_rows})"
    notes = list(explanation.notes)
    if poorly_compared:
        sentences.append(_describe_incomplete(poorly_compared))
    if partly_compared:
        notes.append(_describe_incomplete(partly_compared))
    if explanation.parts:
        notes.append(CMH)
    title = f"{explanation.attribute}: what is behind the difference of {groups_text}"
    return Section(title, tuple(sentences), tuple(tables), tuple(notes))


def short_explanations(explanations: Sequence[Explanation], report: Report) -> Sequence[Section]:
    """Return each difference with the part that the columns asked for explain, and the rest."""
    asked_by = {CROSS.join(names) for names in report.config.explained_by}
    rows = []
    sentences = []
    for explanation in explanations:
        rows += [(explanation, part) for part in explanation.parts]
        sentences += _describe_paradox(explanation)
        poorly_compared = [part for part in explanation.parts if part.compared < FEW_COMPARED]
        if poorly_compared:
            sentences.append(f"{explanation.group}: {_describe_incomplete(poorly_compared)}")
    columns: dict[str, Callable[[tuple[Explanation, Stratified]], TableCell]] = {
        "attribute": lambda row: TableCell(row[0].attribute),
        "group": lambda row: TableCell(row[0].group),
        "gap": lambda row: formatting.number_cell(row[0].difference.value, digits=2),
    }
    if len(asked_by) > 1:
        columns["by"] = lambda row: TableCell(row[1].by)
    columns |= {
        "explained": lambda row: formatting.fine_cell(row[1].explained, 2),
        "left": lambda row: formatting.fine_cell(row[1].unexplained, 2),
    }
    verb = "explains" if len(asked_by) == 1 else "explain"
    names = " and ".join(sorted(asked_by))
    title = f"Gaps of selection rates: what {names} {verb}, and what is left"
    if not rows:
        notes: dict[str, None] = {}
        for explanation in explanations:
            notes |= dict.fromkeys(explanation.notes)
        return (Section(title, ("No group has rows enough to be explained.",), notes=tuple(notes)),)
    return (Section(title, tables=(SHORT.table("", columns, rows),), notes=tuple(sentences)),)


def describe_largest(explanations: Sequence[Explanation], report: Report) -> str:
    """Return the sentence on what the columns asked for explain of the largest gap, and what is left."""
    if not explanations:
        return ""
    largest = max(explanations, key=lambda explanation: abs(explanation.difference.value))
    asked_by = [CROSS.join(names) for names in report.config.explained_by]
    by_name = {stratified_part.by: stratified_part for stratified_part in largest.parts}
    is_lower = largest.difference.value < 0
    clauses = []
    for name in asked_by:
        if name in by_name:
            explained = _format_points(by_name[name].explained, is_lower=is_lower)
            unexplained = _format_points(by_name[name].unexplained, is_lower=is_lower)
            clauses.append(f"{name} explains {explained}, and {unexplained} are left")
    if not clauses:
        return ""
    gap = f"{100 * abs(largest.difference.value):.1f} points"
    groups = f"{formatting.format_group(largest.group)} and {formatting.format_group(largest.reference)}"
    return f"Of the gap in selection between {groups} of {gap}, {'; '.join(clauses)}."


def _format_points(difference: Interval, *, is_lower: bool) -> str:
    """Return points of a gap with their interval; those that go the other way are below 0.

    `is_lower` says whether the gap is a lower rate.
    """
    ends = [difference.low, difference.high]
    sign = 100.0
    if is_lower:
        ends.reverse()
        sign = -100.0
    value, low, high = (round(sign * number, 1) + 0.0 for number in (difference.value, *ends))
    return f"{value:.1f} ({low:.1f} to {high:.1f})"


def _describe_difference(explanation: Explanation) -> str:
    """Return who is selected more often."""
    value = formatting.number(abs(explanation.difference.value))
    if value == formatting.DASH:
        return "The difference is not defined."
    difference_text = formatting.with_interval(explanation.difference)
    if value == formatting.number(0.0):
        often = "as often as"
    elif explanation.difference.value < 0:
        often = "less often than"
    else:
        often = "more often than"
    clause = f"{explanation.group} is selected {often} {explanation.reference}"
    return f"{clause}: the difference is {difference_text}."


def _describe_paradox(explanation: Explanation) -> list[str]:
    """Return that a difference which is beyond chance goes the other way within strata; else nothing.

    Of strata that compare few of the rows nothing is said.
    """
    difference = explanation.difference
    if not (difference.low > 0 or difference.high < 0):
        return []
    group_adverb = "more"
    other_adverb = "less"
    if difference.value < 0:
        group_adverb = "less"
        other_adverb = "more"
    turned: list[str] = []
    chance: list[str] = []
    for stratified_part in explanation.parts:
        unexplained = stratified_part.unexplained
        if stratified_part.compared >= FEW_COMPARED and unexplained.value * difference.value < 0:
            clause = f"{stratified_part.by}, {formatting.with_interval(unexplained)}"
            if unexplained.low <= 0 <= unexplained.high:
                chance.append(clause)
            else:
                turned.append(clause)
    paradox = (
        f"Simpson's paradox: {explanation.group} is selected {group_adverb} often of all, but {other_adverb} "
        "often within strata of"
    )
    sentences = []
    if turned:
        sentences.append(f"{paradox} {'; '.join(turned)}.")
    if chance:
        sentences.append(
            f"It is explained by {'; '.join(chance)}: what is left may be chance, and goes the other way."
        )
    return sentences


def _describe_incomplete(incomplete: list[Stratified]) -> str:
    """Return for which part of the rows there is nobody to compare them with."""
    shares = ", ".join(
        f"{formatting.percent(1 - stratified_part.compared)} ({stratified_part.by})"
        for stratified_part in incomplete
    )
    return (
        "Not all can be compared: rows in strata of one group, whose difference counts as explained, are "
        f"{shares} of all."
    )


def _parts_table(explanation: Explanation) -> TextTable:
    columns: dict[str, Callable[[Stratified], TableCell]] = {
        "explained by": lambda row: TableCell(row.by),
        "explained": lambda row: formatting.fine_cell(row.explained),
        "unexplained": lambda row: formatting.fine_cell(row.unexplained),
        "compared": lambda row: TableCell(formatting.percent(row.compared), "", row.compared),
        "CMH p": lambda row: formatting.p_cell(row.cmh_p),
    }
    title = "What is explained, and what is left; compared: rows in strata with both groups"
    return table_of(title, columns, explanation.parts)


def _belift_table(explanation: Explanation, config: AuditConfig) -> TextTable:
    def least(row: Stratified) -> Stratum:
        if row.least_belift is None:
            return NO_STRATUM
        return row.strata[row.least_belift]

    columns: dict[str, Callable[[Stratified], TableCell]] = {
        "explained by": lambda row: TableCell(row.by),
        "stratum": lambda row: TableCell(least(row).name),
        "rows": lambda row: formatting.count_cell(least(row).rows),
        "belift": lambda row: formatting.number_cell(least(row).belift),
    }
    title = f"Least belift, rate of {explanation.group} in a stratum / rate of all; strata with fewer than "
    return table_of(f"{title}{config.min_group} left out", columns, explanation.parts)


def _strata_table(stratified_part: Stratified, view: View) -> TextTable:
    size = sorted(
        (-(stratum.rows + stratum.reference_rows), i) for i, stratum in enumerate(stratified_part.strata)
    )
    largest, remark = view.cut(size, lambda _: "smaller")
    columns: dict[str, Callable[[Stratum], TableCell]] = {
        "stratum": lambda stratum: TableCell(stratum.name),
        "rows": lambda stratum: formatting.count_cell(stratum.rows),
        "rate": lambda stratum: formatting.number_cell(stratum.rate),
        "ref. rows": lambda stratum: formatting.count_cell(stratum.reference_rows),
        "ref. rate": lambda stratum: formatting.number_cell(stratum.reference_rate),
        "difference": lambda stratum: formatting.fine_cell(stratum.difference),
    }
    indices = sorted(i for _, i in largest)
    strata = [stratified_part.strata[i] for i in indices]
    return table_of(f"Strata of {stratified_part.by}", columns, strata, remark)


EXPLAINED = Part[StrataOfRows, tuple[Explanation, ...]](
    "explanations",
    read=read_strata,
    judge=explain,
    found_type=tuple[Explanation, ...],
    sections=lambda explanations, report, view: [
        _explanation_section(explanation, report.config, view) for explanation in explanations
    ],
    short=short_explanations,
    line=describe_largest,
    data=lambda explanations: {"explanations": explanations},
)
