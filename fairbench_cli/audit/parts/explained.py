"""What is behind the differences between groups: by strata of the rows, and among people alike."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import compress
from statistics import NormalDist

import numpy as np

from fairbench_cli.audit.compare.effective import rows_per_weight
from fairbench_cli.audit.compare.references import REST, REST_NAME, comparable, usual_reference
from fairbench_cli.audit.compare.report import UNDEFINED, Interval, Report, intervals
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.parts import writing
from fairbench_cli.audit.parts.part import Part, View
from fairbench_cli.audit.scan.scan import Scan
from fairbench_cli.audit.scan.strata import read_people, read_strata
from fairbench_cli.audit.scan.tally import People, Slice, Strata
from fairbench_cli.base.errors import Flag, user_error
from fairbench_cli.base.safe_text import join_names
from fairbench_cli.document.model import Section, TableCell, TextTable, table_of
from fairbench_cli.measures import conditional
from fairbench_cli.measures.counts import Counts, Floats, divide
from fairbench_cli.measures.functions import acceptance_by_group, discrimination
from fairbench_cli.measures.individual_fairness import (
    MOST_PAIRS,
    find_neighbours,
    mean_agreement,
    share_treated_better,
    share_treated_worse,
)
from fairbench_cli.measures.rows import (
    DECIMALS,
    GROUPS,
    RANGES,
    Rows,
    cluster_strata,
    count_by_stratum,
    cut_into_ranges,
    estimate_propensity,
)
from fairbench_cli.measures.score_test import difference_interval
from fairbench_cli.measures.significance import cochran_mantel_haenszel, cochran_mantel_haenszel_p

Pairs = dict[tuple[int, int], tuple[int, int]]

MOST_COMPARED = 20  # groups with their references
FEWEST_PAIRS = MOST_PAIRS // 4  # for one of several comparisons
FEWEST_ROWS = 2  # of a group
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


NO_STRATUM = Stratum(writing.DASH, math.nan, math.nan, math.nan, math.nan, UNDEFINED, math.nan)


@dataclass(frozen=True)
class Stratified:
    """A difference of selection rates, taken apart by strata."""

    by: str  # "education", "education × hours", "propensity", "clusters"
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
        By each explanation asked for, by propensity, and by clusters; none where there are too few rows.
    metrics : dict of str to Interval
        By name, of those that need rows.
    features : tuple of str
        The columns that describe a person: X.
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
    metrics: dict[str, Interval] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Behind:
    """What explanations are made of: strata by attribute, with notes on how columns were cut, and people."""

    strata: dict[str, tuple[Strata, ...]]
    notes: tuple[str, ...]
    people: People


def read(scan: Scan) -> Behind:
    """Return strata and people of the rows."""
    return Behind(*read_strata(scan), read_people(scan))


def explain(behind: Behind, base: Report) -> tuple[Explanation, ...]:
    """Explain the difference between every group and its reference, in the order of the audit.

    Groups of fewer rows than `min_group` are named in a note; where an attribute has no others, its largest
    has an explanation without parts to carry it. Where the attributes to audit were named, the features of a
    person are all other columns; else each attribute in turn is taken for the protected one, and the others
    are features, too.

    Raises
    ------
    UserError
        When there are too many groups.
    """
    config = base.config
    slices = [(part, _pairs(part, config)) for part in base.slices if part.attribute in behind.strata]
    many = sum(min(rows) >= config.min_group for _, pairs in slices for rows in pairs.values())
    if many > MOST_COMPARED:
        what = f"{many} groups of {len(slices)} attributes are too many to explain"
        fix = ("name the protected attributes with ", Flag("attribute"), ", or raise ", Flag("min-group"))
        raise user_error(f"{what}; at most {MOST_COMPARED} are", fix, Flag("explain"))
    return tuple(
        found for part, pairs in slices for found in _explanations(part, pairs, behind, many, config)
    )


def _pairs(part: Slice, config: AuditConfig) -> Pairs:
    """Return each group with its reference, by their places, and how many rows both have."""
    at = usual_reference(part, config)
    own = part.rows.tolist()
    return {
        (g, at): (own[g], sum(own) - own[g] if at == REST else own[at])
        for g in np.flatnonzero(comparable(part, config)).tolist()
        if g != at
    }


def _explanations(
    part: Slice, pairs: Pairs, behind: Behind, many: int, config: AuditConfig
) -> Iterator[Explanation]:
    """Yield an explanation of each group with rows enough; the first carries the notes on the attribute."""
    least = config.min_group
    names = part.counts.groups
    few = f"fewer than {least} rows, not explained."
    own = [names[g] for (g, _), (mine, _) in pairs.items() if mine < least]
    other = [names[g] for (g, _), (mine, theirs) in pairs.items() if theirs < least <= mine]
    notes = [f"{join_names(own)}: {few}"] if own else []
    if other:
        notes += [f"{join_names(other)}: the reference has {few}"]
    enough = [pair for pair, rows in pairs.items() if min(rows) >= least]
    largest = [max(pairs, key=lambda pair: pairs[pair][0])] if pairs else []
    worth = float(rows_per_weight(part, range(len(part.rows))))
    for g, at in enough or largest:  # where none has rows enough, the difference of the largest alone
        if at == REST:
            reference = REST_NAME
        else:
            reference = names[at]
        named = (part.attribute, names[g], reference, *pairs[g, at])
        found = Explanation(*named, _difference(part, g, at, config), notes=(*notes, *behind.notes))
        if not enough:
            yield found
            return
        parts = []
        for strata in behind.strata[part.attribute]:
            n = two(strata.n, g, at)
            some = n.sum((-2, -1)) > 0
            kept = tuple(compress(strata.names, some))
            parts.append(stratified(strata.by, kept, of_decisions(n[some]), worth, config))
        yield _with_people(replace(found, parts=tuple(parts)), behind, at == REST, many, worth, config)
        notes = []


def _difference(part: Slice, g: int, at: int, config: AuditConfig) -> Interval:
    """Return the difference of selection rates, group − reference, with Newcombe's interval."""
    overall = of_decisions(two(part.counts.predicted, g, at))
    worth = float(rows_per_weight(part, range(len(part.rows)) if at == REST else (g, at)))
    low, high = _limits(overall.predicted * worth, config.confidence)
    return Interval(_no_dust(-float(discrimination(overall))), float(low), float(high))


def two(n: Floats, g: int, at: int) -> Floats:
    """Return counts of a group and its reference, or of all others: (..., groups, 2) becomes (..., 2, 2)."""
    own = n[..., g, :]
    return np.stack([own, n.sum(-2) - own if at == REST else n[..., at, :]], -2)


def _with_people(
    found: Explanation, behind: Behind, rest: bool, many: int, worth: float, config: AuditConfig
) -> Explanation:
    """Return an explanation with what the rows of the group and of its reference add to it.

    Parameters
    ----------
    rest : bool
        Whether the reference is all other groups: its name alone does not say so, a group may have the same.
    many : int
        How many comparisons share the time there is for neighbours.
    worth : float
        Rows that a unit of weight is worth.
    """
    people = behind.people
    if config.attributes is None:
        hidden = {found.attribute}
    else:
        hidden = set(behind.strata)
    groups = people.groups[found.attribute]
    deprived = groups == found.group
    if rest:
        favoured = ~deprived
    else:
        favoured = groups == found.reference
    both = deprived | favoured
    shown = [name not in hidden for name in people.names]
    decision = people.decision[both]
    rows = Rows(
        favoured[both].astype(np.int64),
        decision,
        decision,
        features=people.features[both][:, shown],
        nominal=tuple(compress(people.nominal, shown)),
        weights=None if people.weights is None else people.weights[both],
    )
    features = tuple(dict.fromkeys(compress(people.names, shown)))
    notes = [*found.notes, *people.notes]
    if min(deprived.sum(), favoured.sum()) < FEWEST_ROWS or not features:
        if features:
            why = "too few of the rows that were read"
        else:
            why = "no column is left to describe a person"
        notes.append(f"No propensity, neighbours or redlining: {why}.")
        return replace(found, features=features, notes=tuple(notes))
    chances = estimate_propensity(rows).round(DECIMALS)
    codes, tops = cut_into_ranges(chances, RANGES, rows.weights)
    spans = ((chances[codes == i].min(), chances[codes == i].max()) for i in range(len(tops)))
    names = tuple(f"{low:.3f}–{high:.3f}" for low, high in spans)
    clusters = cluster_strata(rows)
    numbers = tuple(f"cluster {i + 1}" for i in range(int(clusters.max()) + 1))
    parts = (
        *found.parts,
        stratified("propensity", names, count_by_stratum(rows, codes), worth, config),
        stratified("clusters", numbers, count_by_stratum(rows, clusters), worth, config),
    )
    metrics: dict[str, Interval] = {}
    if rows.weights is not None:
        notes.append("No situation testing or consistency: neighbours know no weights.")
    else:
        metrics, more = _neighbours(rows, many, config)
        notes += more
    guessed = conditional.predicted_groups(rows)
    limits = conditional.balanced_error_interval(replace(guessed, n=guessed.n * worth), config.confidence)
    metrics["redlining-potential"] = Interval(conditional.balanced_error(guessed), *limits)
    return replace(found, parts=parts, metrics=metrics, features=features, notes=tuple(notes))


def _neighbours(rows: Rows, many: int, config: AuditConfig) -> tuple[dict[str, Interval], list[str]]:
    """Compare people alike, without intervals: rows share neighbours, so they are not independent."""
    most = max(MOST_PAIRS // many, FEWEST_PAIRS)
    near = find_neighbours(rows, config.neighbours, most=most)
    found = {
        "situation-testing": share_treated_worse(near, config.margin),
        "situation-testing-reverse": share_treated_better(near, config.margin),
        "consistency": mean_agreement(near),
    }
    metrics = {name: Interval(float(value[0]), np.nan, np.nan) for name, value in found.items()}
    notes = ["Situation testing and consistency have no intervals: rows share neighbours."]
    if len(near.row_indices) < len(rows.s):
        notes.append(
            f"Neighbours were looked up of {len(near.row_indices)} of {len(rows.s)} rows, drawn at random "
            f"({len(near.excess)} of the group); they are looked for among all."
        )
    if any(np.isnan(metric.value) for metric in metrics.values()):
        notes.append(f"A group has too few rows for {config.neighbours} neighbours.")
    return metrics, notes


def stratified(
    by: str, names: tuple[str, ...], counts: Counts, worth: float, config: AuditConfig
) -> Stratified:
    """Return the difference taken apart by strata: what they explain, and what they leave.

    All differences are group − reference, so minus those of `measures.conditional`.

    Intervals of the parts are ± z standard errors, by leaving out one row at a time (the jackknife), the
    strata as they are. A bootstrap would empty more cells than there are, and call too much explained. Those
    within a stratum are Newcombe's.

    Parameters
    ----------
    by : str
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
    worthy = Counts(GROUPS, counts.n * worth)
    errors = standard_errors(worthy.predicted)
    z = NormalDist().inv_cdf((1 + config.confidence) / 2)
    rate, reference = acceptance_by_group(counts)
    differences = -conditional.stratum_differences(counts)
    lift = conditional.belift_by_stratum(counts)
    within = intervals(differences, *_limits(worthy.predicted, config.confidence))
    columns = (*counts.group_total.T, rate, reference, within, lift)
    strata = tuple(Stratum(*row) for row in zip(names, *(each.tolist() for each in columns), strict=True))
    enough = (worthy.group_total[:, 0] >= config.min_group) & ~np.isnan(lift)
    return Stratified(
        by,
        _about(-float(conditional.explained_difference(counts)), z * errors[0]),
        _about(-float(conditional.unexplained_difference(counts)), z * errors[1]),
        float(conditional.comparable_share(counts)),
        float(cochran_mantel_haenszel(worthy)),
        float(cochran_mantel_haenszel_p(worthy)),
        strata,
        int(np.argmin(np.where(enough, lift, np.inf))) if enough.any() else None,
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
    left = divide(within, totals).sum(-1) / 2
    rates = divide(cells[..., 1].sum(0) + (fewer - cells)[..., 1], totals)
    whole = rates[..., 1] - rates[..., 0]
    explained, unexplained = (_spread(np.moveaxis(each, -1, 0), times) for each in (whole - left, left))
    return explained, unexplained


def _rows_and_differences(cells: Floats) -> tuple[Floats, Floats]:
    """Rows by stratum and group, and the difference in each stratum: 0 where there is one group only."""
    rows = cells.sum(-1)
    rates = divide(cells[..., 1], rows)
    return rows, np.where((rows > 0).all(-1), rates[..., 1] - rates[..., 0], 0.0)


def _spread(values: Floats, times: Floats) -> float:
    """Jackknife standard error: each value is that without one of `times` rows."""
    many = float(times.sum())
    there = times > 0
    if many < 2:
        return np.nan
    some = values[there]
    often = times[there]
    away = some - (often @ some) / many
    return float(np.sqrt((many - 1) / many * (often @ away**2)))


def _about(value: float, half: float) -> Interval:
    """Return a difference with its limits, none beyond −1 and 1."""
    middle = _no_dust(value)
    if np.isnan(value + half):
        return Interval(middle, np.nan, np.nan)
    return Interval(middle, max(-1.0, middle - half), min(1.0, middle + half))


def _no_dust(value: float) -> float:
    """Return a difference; 0 for what is but rounding."""
    if abs(value) < DUST:
        return 0.0
    return value


def of_decisions(n: Floats) -> Counts:
    """Return counts by stratum, group and decision, shape (..., 2, 2), as `Counts`; all labels are 0."""
    full = np.zeros((*n.shape[:-1], 2, 2))
    full[..., 0, :] = n
    return Counts(GROUPS, full)


def _limits(cells: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return limits of the difference of the group's rate and the reference's; cells of shape (..., 2, 2)."""
    above = cells[..., 1]
    below = cells.sum(-1)
    return difference_interval(above[..., 0], below[..., 0], above[..., 1], below[..., 1], confidence)


def explanation_section(
    each: Explanation, config: AuditConfig, view: View, selected: str = "is selected"
) -> Section:
    """Return an explanation in words and tables; `selected` says what a group is more or less often."""
    sentences = [_overall_words(each, selected), *_turned(each, selected)]
    if each.features:
        sentences.append(f"A person is described by {', '.join(each.features)}.")
    few = [part for part in each.parts if part.compared < FEW_COMPARED]
    some = [part for part in each.parts if FEW_COMPARED <= part.compared < 1]
    tables = [_parts_table(each), _belift(each, config)] if each.parts else []
    if each.metrics:
        tables += [_row_metrics(each, config)]
    tables += [_strata_table(part, view) for part in each.parts]
    both = f"{each.group} ({each.rows} rows) and {each.reference} ({each.reference_rows})"
    return Section(
        f"{each.attribute}: what is behind the difference of {both}",
        (*sentences, *([_alone(few)] if few else [])),
        tuple(tables),
        (*each.notes, *([_alone(some)] if some else []), *([CMH] if each.parts else [])),
    )


def _overall_words(each: Explanation, selected: str) -> str:
    """Return who is selected more often."""
    value = writing.number(abs(each.difference.value))
    if value == writing.DASH:
        return "The difference is not defined."
    said = writing.with_interval(each.difference)
    if value == writing.number(0.0):
        return f"{each.group} {selected} as often as {each.reference}: the difference is {said}."
    if each.difference.value < 0:
        often = "less"
    else:
        often = "more"
    return f"{each.group} {selected} {often} often than {each.reference}: the difference is {said}."


def _turned(each: Explanation, selected: str) -> list[str]:
    """Return that a difference which is beyond chance goes the other way within strata; else nothing.

    Of strata that compare few of the rows nothing is said.
    """
    whole = each.difference
    if not (whole.low > 0 or whole.high < 0):
        return []
    less, more = ("less", "more") if whole.value < 0 else ("more", "less")
    turned: list[str] = []
    chance: list[str] = []
    for part in each.parts:
        left = part.unexplained
        if part.compared >= FEW_COMPARED and left.value * whole.value < 0:
            said = f"{part.by}, {writing.with_interval(left)}"
            (chance if left.low <= 0 <= left.high else turned).append(said)
    words = (
        f"Simpson's paradox: {each.group} {selected} {less} often of all, but {more} often within strata of"
    )
    found = [f"{words} {'; '.join(turned)}."] if turned else []
    rest = f"It is explained by {'; '.join(chance)}: what is left may be chance, and goes the other way."
    return found + ([rest] if chance else [])


def _alone(parts: list[Stratified]) -> str:
    """Return for which part of the rows there is nobody to compare them with."""
    shares = ", ".join(f"{writing.percent(1 - part.compared)} ({part.by})" for part in parts)
    return (
        "Not all can be compared: rows in strata of one group, whose difference counts as explained, are "
        f"{shares} of all."
    )


def _parts_table(each: Explanation) -> TextTable:
    columns: dict[str, Callable[[Stratified], TableCell]] = {
        "explained by": lambda part: TableCell(part.by),
        "explained": lambda part: writing.fine_cell(part.explained),
        "unexplained": lambda part: writing.fine_cell(part.unexplained),
        "compared": lambda part: TableCell(writing.percent(part.compared), "", part.compared),
        "CMH p": lambda part: writing.p_cell(part.cmh_p),
    }
    title = "What is explained, and what is left; compared: rows in strata with both groups"
    return table_of(title, columns, each.parts)


def _belift(each: Explanation, config: AuditConfig) -> TextTable:
    def least(part: Stratified) -> Stratum:
        if part.least_belift is None:
            return NO_STRATUM
        return part.strata[part.least_belift]

    columns: dict[str, Callable[[Stratified], TableCell]] = {
        "explained by": lambda part: TableCell(part.by),
        "stratum": lambda part: TableCell(least(part).name),
        "rows": lambda part: writing.count_cell(least(part).rows),
        "belift": lambda part: writing.number_cell(least(part).belift),
    }
    title = f"Least belift, rate of {each.group} in a stratum / rate of all; strata with fewer than "
    return table_of(f"{title}{config.min_group} left out", columns, each.parts)


def _row_metrics(each: Explanation, config: AuditConfig) -> TextTable:
    k = config.neighbours
    margin = f"{config.margin:g}"
    group = each.group
    reference = each.reference
    meaning = {
        "situation-testing": f"share of {group} whose {k} most alike of {reference} are selected more often "
        f"than their {k} most alike of {group}, by {margin} or more",
        "situation-testing-reverse": "the same, selected less often",
        "consistency": f"agreement of each row with the {k} most alike; 1 at best",
        "redlining-potential": f"error of predicting {group} or {reference} from everything else; 0.5: no "
        "better than chance",
    }
    columns: dict[str, Callable[[tuple[str, Interval]], TableCell]] = {
        "metric": lambda row: TableCell(row[0]),
        "what it says": lambda row: TableCell(meaning[row[0]]),
        "value": lambda row: writing.fine_cell(row[1]),
    }
    return table_of("Among people alike", columns, [*each.metrics.items()])


def _strata_table(part: Stratified, view: View) -> TextTable:
    size = sorted((-(one.rows + one.reference_rows), i) for i, one in enumerate(part.strata))
    largest, more = view.cut(size, lambda _: "smaller")
    columns: dict[str, Callable[[Stratum], TableCell]] = {
        "stratum": lambda one: TableCell(one.name),
        "rows": lambda one: writing.count_cell(one.rows),
        "rate": lambda one: writing.number_cell(one.rate),
        "ref. rows": lambda one: writing.count_cell(one.reference_rows),
        "ref. rate": lambda one: writing.number_cell(one.reference_rate),
        "difference": lambda one: writing.fine_cell(one.difference),
    }
    kept = [part.strata[i] for i in sorted(i for _, i in largest)]
    return table_of(f"Strata of {part.by}", columns, kept, more)


EXPLAINED = Part[Behind, tuple[Explanation, ...]](
    "explanations",
    wanted=lambda config: bool(config.explained_by),
    read=read,
    judge=explain,
    sections=lambda found, report, view: [explanation_section(each, report.config, view) for each in found],
    data=lambda found: {"explanations": found},
)
