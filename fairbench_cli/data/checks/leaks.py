"""Columns that give the label away.

What separates a column that gives the label away, and so was probably not known before it, from honest ones
was measured on the shipped data sets. The strongest honest column is Dutch ``edu_level``, which explains 27 %
of the label's entropy (Adult: ``relationship``, 21 %; COMPAS: ``decile_score``, 9 %); the weakest column of
COMPAS that simply restates the outcome is ``event``, 51 %.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from fairbench_cli.base.safe_text import format_percent
from fairbench_cli.data.checks.rows import Finding, Mask, RawRows, format_drop
from fairbench_cli.data.recognise import named_like_scores
from fairbench_cli.data.table import Floats, Rows
from fairbench_cli.measures.rows import cross_columns

EXPLAINED = 0.40  # of the label's entropy
SURE_LEAK = 0.75  # of the errors of guessing that are gone where a column has a value, or has none
MUCH = 0.15  # of the label's entropy that a column says
ALONE = 0.015  # of what it says that another column says
SURELY_ALONE = 1000  # rows; in fewer, others may say something that is not seen
LATE = 0.5  # difference of the shares of missing values where the label is missing and where it is not
COPY = 0.75  # of whether a value is above the middle
RULE = 0.99  # of the errors that are gone at a level,
NAMED_RULE = 0.90  # or so many, of a column that the card itself calls a rule
LEVEL = 0.01  # which so many of the rows have
SETTLED = 0.65  # of the label's entropy that several columns explain together
STEP = 0.01  # that the next of them adds
MANY = 50_000  # rows; of more, every second, third … is looked at where columns are set beside each other
EXPECTED = 15  # errors that guessing must make there; fewer may be gone by chance


@dataclass(frozen=True)
class Leak:
    """A column that gives the label away.

    Parameters
    ----------
    column : str
        Its name.
    how : str
        In what way.
    accuracy : float
        Share of rows whose label is predicted correctly from this column alone.
    explained : float
        Share of the label's entropy that it explains, at most 1 (below 0 when it misleads).
    """

    column: str
    how: str
    accuracy: float
    explained: float


def find_leaks(rows: RawRows) -> list[Leak]:
    """Return the columns that give the label away, whether the card uses them or not; the worst first.

    A column does so in one of three ways:

    * by its values: they explain at least 40 % of the label's entropy (`compute_explained_share`);
    * by its gaps: where it has a value, or where it has none, at least 75 % of the errors are gone that
      guessing the label of that side would make (Loevinger's H), as when only those who offended again
      have the number of a new case. In Adult, the rows without ``occupation`` have .61;
    * as a copy: it has two values, and they say just whether such a column is filled in.

    Columns that explain less go unnamed: no threshold parts COMPAS' ``out_custody`` (6 %), which is
    partly from after the outcome, from Dutch ``edu_level``.
    """
    y = rows.favourable[rows.complete]
    leaks: list[Leak] = []
    patterns: dict[bytes, str] = {}
    quiet: list[tuple[str, Rows]] = []
    for name in rows.cells.columns:
        if name == rows.card.label.column:
            continue
        gap = rows.is_gap(name)[rows.complete]
        by_value = rows.codes[name]
        if gives_away(gap, y):
            patterns.setdefault(_pattern(gap), name)
            leaks.append(_make_leak(name, "filled in for one label only", gap.astype(np.intp), y))
        elif compute_explained_share(by_value, y) >= EXPLAINED:
            leaks.append(_make_leak(name, "its values", by_value, y))
        else:
            quiet.append((name, by_value))
    for name, by_value in quiet:
        if by_value.max() == 1 and (twin := patterns.get(_pattern(by_value == 1))):
            leaks.append(_make_leak(name, f"the gaps of {twin}", by_value, y))
    return sorted(leaks, key=lambda leak: -leak.explained)


def guessing_accuracy(rows: RawRows) -> float:
    """Return the accuracy of always predicting the commoner label."""
    rate = float(rows.favourable[rows.complete].mean())
    return max(rate, 1 - rate)


def describe_leak(rows: RawRows, leak: Leak) -> str:
    """Return the description of a leak."""
    accuracy = format_percent(leak.accuracy)
    by_guessing = format_percent(guessing_accuracy(rows))
    comparison = f"alone right on {accuracy} of rows, guessing on {by_guessing}"
    return f"gives {rows.card.label.column} away ({leak.how}): {comparison}"


def compute_explained_share(codes: Rows, y: Mask) -> float:
    """Return the share of the label's entropy that a column explains, each row judged without itself.

    A row's favourable label is expected at the rate of the other rows of its value, drawn a little (by one
    row) to the rate of all: so an identifier explains nothing. At most 1; below 0 for a column that misleads.

    >>> y = np.array([True, False] * 50)
    >>> round(compute_explained_share(np.arange(100), y), 3)
    0.0
    >>> round(compute_explained_share(np.array([0, 1] * 50), y), 2)
    0.99
    """
    n, k, high, low = _expected_rates(codes, y)
    rate = float(y.mean())
    entropy = -(rate * math.log(rate) + (1 - rate) * math.log(1 - rate))
    log_high = np.log(high, where=k > 0, out=np.zeros_like(high))
    log_low = np.log(1 - low, where=n > k, out=np.zeros_like(low))
    return 1 + float((k * log_high + (n - k) * log_low).sum()) / len(y) / entropy


def compute_accuracy(codes: Rows, y: Mask) -> float:
    """Return the share of rows whose label is predicted correctly, each row judged without itself."""
    n, k, high, low = _expected_rates(codes, y)
    return float((k * (high > 0.5) + (n - k) * (low <= 0.5)).sum()) / len(y)


def _expected_rates(codes: Rows, y: Mask) -> tuple[Floats, ...]:
    """Return per value: rows, favourable rows, and the rates expected for favourable and other rows."""
    n: Floats = np.bincount(codes).astype(np.float64)
    k: Floats = np.bincount(codes, weights=y).astype(np.float64)
    rate = float(y.mean())
    return n, k, (k - 1 + rate) / n, (k + rate) / n


def gives_away(gap: Mask, y: Mask) -> bool:
    """Return whether having a value, or having none, all but settles the label.

    >>> y = np.arange(200) < 100
    >>> gives_away(np.arange(200) >= 60, y), gives_away(np.arange(200) % 3 == 0, y)
    (True, False)
    """
    sides = product((gap, ~gap), (y, ~y))
    return any(_errors_gone(side, labels) >= SURE_LEAK for side, labels in sides)


def _errors_gone(side: Mask, label: Mask) -> float:
    """Return Loevinger's H of "on this side, always this label"; 0 where few errors are expected."""
    expected = side.sum() * (1 - label.mean())
    if side.all() or expected < EXPECTED:
        return 0.0
    return 1 - float((side & ~label).sum() / expected)


def _pattern(marks: Mask) -> bytes:
    """Return a key of which rows are on the first one's side."""
    return bytes(np.packbits(marks ^ marks[0]).tobytes())


def _make_leak(name: str, how: str, codes: Rows, y: Mask) -> Leak:
    return Leak(name, how, compute_accuracy(codes, y), compute_explained_share(codes, y))


def make_leak_finding(rows: RawRows, name: str, problem: str) -> Finding:
    """Return that a column gives the label away, as `problem` says, or was not known before it."""
    return rows.finding("leak", name, problem, f"{format_drop(name)}, unless it is known before the outcome")


def check_hidden_leaks(rows: RawRows, leaking: Collection[str]) -> Iterator[Finding]:
    """Yield the columns that are probably not known before the label, though they do not give it away.

    * One that says much of the label (15 % of its entropy), and of which no other column says anything
      (1.5 %). What is known of people before hangs together, and how something went does not: of all
      columns here that say that much only ``duration`` of the bank's calls (20 %) is so alone (.7 %); the
      next are ``Written`` of Ricci (36 % and 3 %) and ``status`` of German (10 % and 3 %). Where more than
      one of the five columns that say most is alone, as in made or designed data, it means nothing.
    * One that is missing where the label is missing, by 50 points more often than elsewhere, such as the
      age of law students, recorded at the exam (100 % and .4 %), and their last grade (63 % and 6 %).

    Parameters
    ----------
    rows : RawRows
        The rows.
    leaking : collection of str
        The columns that give the label away (`find_leaks`).
    """
    codes, y = _thin_rows(rows, [name for name in rows.codes if name not in leaking])
    says = {name: compute_explained_share(values, y) for name, values in codes.items()}
    strongest = sorted((name for name in says if says[name] > 0), key=lambda name: -says[name])[:5]
    if strongest and len(y) >= SURELY_ALONE and says[strongest[0]] >= MUCH:
        explained_by_others = {name: _explained_by_others(name, codes, y) for name in strongest}
        alone = [name for name in strongest if explained_by_others[name] <= ALONE]
        if len(alone) == 1 and says[alone[0]] >= MUCH:
            share = format_percent(says[alone[0]])
            most = format_percent(max(explained_by_others[alone[0]], 0))
            problem = f"explains {share} of the entropy of {rows.card.label.column}, and no other "
            problem += f"column anything of it ({most} at most): perhaps it is known later"
            yield make_leak_finding(rows, alone[0], problem)
    unknown = rows.unknown
    if not unknown.any() or unknown.all():
        return
    for name in rows.file.columns:
        gap = rows.file[name].isin(rows.gaps).to_numpy(dtype=bool)
        share_unknown = float(gap[unknown].mean())
        elsewhere = float(gap[~unknown].mean())
        if name not in (rows.card.label.column, rows.label_source) and share_unknown - elsewhere >= LATE:
            label = rows.card.label.column
            problem = f"is missing in {format_percent(share_unknown)} of the rows whose {label} is unknown, "
            problem += f"and in {format_percent(elsewhere)} of the others: perhaps it is known no earlier"
            yield make_leak_finding(rows, name, problem)


def _thin_rows(rows: RawRows, names: Iterable[str]) -> tuple[dict[str, Rows], Mask]:
    """Return the codes of columns and the label, of many rows in every second, third … of them."""
    y = rows.favourable[rows.complete]
    thin = slice(None, None, 1 + len(y) // MANY)
    if y[thin].all() or not y[thin].any():
        thin = slice(None)  # a label so rare that it is gone
    return {name: cross_columns([rows.codes[name][thin]]) for name in names}, y[thin]


def _pair_codes(first_codes: Rows, second: Rows) -> Rows:
    """Return codes of the pairs of two columns."""
    return cross_columns([first_codes * (int(second.max()) + 1) + second])


def _explained_by_others(name: str, codes: Mapping[str, Rows], y: Mask) -> float:
    """Return the most that another column explains of what a column says of the label."""
    mine = codes[name]
    with_more = np.bincount(mine, weights=y) / np.bincount(mine) > y.mean()
    z = with_more[mine]
    shares = (
        compute_explained_share(values, z)
        for other_name, values in codes.items()
        if other_name != name and values.max()
    )
    return max(shares, default=0.0)


def check_scores(rows: RawRows) -> Iterator[Finding]:
    """Yield the columns that are called like a score or a prediction, and note the near copies of these.

    A near copy is a column of which a score explains 75 %, such as the grade that a decile was made of.
    """
    score_names = [name for name in rows.codes if named_like_scores(name)]
    for name, mine in rows.codes.items():
        why = ""
        high = mine > np.median(mine)
        if name in score_names:
            why = "is called like a score or a prediction"
        elif score_names and high.any() and not rows.cells[name].is_unique:
            alike = {one: compute_explained_share(rows.codes[one], high) for one in score_names}
            likest = max(alike, key=lambda one: alike[one])
            if alike[likest] >= COPY:
                why = f"says what {likest} does, which is called like a score"
        if why:
            fix = f"find out who made it, of what and when; after the outcome, or of it: {format_drop(name)}"
            is_used = name in score_names and not rows.card.drops(name)
            yield rows.finding("scores", name, why, fix, used=is_used)


def check_deterministic_label(rows: RawRows, leaking: Collection[str]) -> Iterator[Finding]:
    """Yield a label that columns all but settle together, or one level of a column alone.

    Columns are taken one after the other, always the one with which those taken explain most, each row
    judged without itself, until none adds a hundredth. Leaks are left out. Nursery's label, made by rules, is
    explained to 75 to 81 % so; of data about people Dutch comes next (45 %). Where they do not, a level of
    1 % of the rows is yielded at which 99 % of the errors of guessing are gone, such as those who work at
    home, of the time that people travel to work (100 %); of honest ones, Dutch ``age`` 4 comes next (97 %).
    Of a column that the card calls a rule 90 % are enough, to show what is meant.
    """
    remaining, y = _thin_rows(rows, [name for name in rows.features if name not in leaking])
    best = 0.0
    selected = list[str]()
    joint = np.zeros(len(y), dtype=np.intp)
    while remaining:
        explained = {
            name: compute_explained_share(_pair_codes(joint, codes), y) for name, codes in remaining.items()
        }
        name = max(explained, key=lambda name: explained[name])
        if explained[name] < best + STEP:
            break
        best = explained[name]
        joint = _pair_codes(joint, remaining.pop(name))
        selected.append(name)
    if best >= SETTLED:
        problem = (
            f"is all but a rule of {', '.join(selected)}, which explain {format_percent(best)} of its entropy"
        )
        fix = "do not take it for a decision on people: what a classifier learns here is the rule"
        yield rows.finding("deterministic", rows.card.label.column, problem, fix, "label")
        return
    y = rows.favourable[rows.complete]
    trap_columns = {trap.column for trap in rows.card.traps if trap.kind == "deterministic"}
    for name in rows.features:
        kind = rows.card.column(name).kind
        errors_gone = NAMED_RULE if name in trap_columns else RULE
        if kind == "nominal" and name not in leaking and name not in rows.card.protected:
            cells = rows.cells[name][rows.complete]
            for level, count in cells.value_counts().items():
                side = None
                if count >= LEVEL * len(y):
                    side = (cells == level).to_numpy(dtype=bool)
                if side is not None and max(_errors_gone(side, y), _errors_gone(side, ~y)) >= errors_gone:
                    problem = f'settles the label where it is "{level}": {count:,} rows'
                    fix = "leave these rows out, or `drop` it: nobody decided on them"
                    yield rows.finding("deterministic", name, problem, fix)
