"""How numbers, counts and verdicts of an audit are put, the same in every output."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from fairbench_cli.audit.judge.metrics import AUDIT_METRICS
from fairbench_cli.audit.judge.report import Report
from fairbench_cli.audit.judge.result import Disparity, GroupRow, Interval, Parity

DASH = "–"
VERDICTS: dict[Parity, str] = {"pass": "passes", "fail": "fails", "undecidable": "not decidable"}
SYMBOLS: dict[Parity, str] = {"pass": "✓", "fail": "✗", "undecidable": "?"}

# Which counts stand in a rate: those above the line and those below it.
FRACTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "accuracy": (("tp", "tn"), "size"),
    "tpr": (("tp",), "label_pos"),
    "fnr": (("fn",), "label_pos"),
    "tnr": (("tn",), "label_neg"),
    "fpr": (("fp",), "label_neg"),
    "precision": (("tp",), "pp"),
    "fdr": (("fp",), "pp"),
    "npv": (("tn",), "pn"),
    "for": (("fn",), "pn"),
    "pprev": (("pp",), "size"),
    "prev": (("label_pos",), "size"),
    "ppr": (("pp",), "pp of all"),
    "share": (("size",), "size of all"),
}


def number(value: float, digits: int = 3) -> str:
    """Write a number with fixed decimals; a dash where there is none.

    >>> number(0.44847), number(float("inf")), number(float("nan"))
    ('0.448', '∞', '–')
    """
    if math.isnan(value):
        return DASH
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value + 0.0:.{digits}f}"


def ratio(value: float, tau: float) -> str:
    """Write a ratio with as many decimals as it takes to see on which side of a limit it is.

    >>> ratio(0.79996, 0.8), ratio(0.8, 0.8), ratio(1.91209, 0.8)
    ('0.79996', '0.800', '1.912')
    """
    for digits in range(3, 9):
        text = number(value, digits)
        if not math.isfinite(value) or all(
            (value < limit) == (float(text) < limit) and (value > limit) == (float(text) > limit)
            for limit in (tau, 1 / tau)
        ):
            return text
    return number(value, 3)


def interval(of: Interval, digits: int = 3) -> str:
    """Write the interval alone; empty where there is none."""
    if math.isnan(of.low) or math.isnan(of.high):
        return ""
    return f"[{number(of.low, digits)}, {number(of.high, digits)}]"


def count(value: float) -> str:
    """Write a count; a sum of weights below 100 has a decimal, where it has one to show.

    >>> count(805.0), count(805.25), count(8.25)
    ('805', '805', '8.2')
    """
    return f"{value:.0f}" if float(value).is_integer() or value >= 100 else f"{value:.1f}"


def fraction(measure: str, counts: Mapping[str, float]) -> str:
    """Write the counts behind a rate; empty where there are none.

    >>> fraction("fpr", {"fp": 805.0, "label_neg": 1795.0})
    '805/1795'
    """
    if measure not in FRACTIONS:
        return ""
    above, below = FRACTIONS[measure]
    if any(name not in counts for name in (*above, below)):
        return ""
    return f"{count(sum(counts[name] for name in above))}/{count(counts[below])}"


@dataclass(frozen=True)
class Lookup:
    """The groups of an audit by model, decision, attribute and group."""

    rows: dict[tuple[str, str, str, str], GroupRow]
    overall: dict[tuple[str, str], GroupRow]

    def group(self, row: Disparity, name: str) -> GroupRow | None:
        """Return a group beside a comparison: its own, or the reference (None for "everybody else")."""
        return self.rows.get((row.model, row.decision, row.attribute, name))

    def fraction(self, measure: str, row: GroupRow | None) -> str:
        """Write the counts behind a rate of a group."""
        if row is None:
            return ""
        of_all = self.overall.get((row.model, row.decision))
        every = {f"{name} of all": value for name, value in of_all.counts.items()} if of_all else {}
        return fraction(measure, {**row.counts, **every})


def lookup(report: Report) -> Lookup:
    """Index the groups of an audit."""
    return Lookup(
        {(row.model, row.decision, row.attribute, row.group): row for row in report.audit.groups},
        {(row.model, row.decision): row for row in report.audit.overall},
    )


def p_value(value: float) -> str:
    """Write a p-value.

    >>> p_value(2.1e-37), p_value(0.0504), p_value(float("nan"))
    ('2e-37', '0.050', '–')
    """
    if math.isnan(value):
        return DASH
    return f"{value:.3f}" if value >= 0.001 or value == 0 else f"{value:.0e}"


def source_name(report: Report) -> str:
    """Name the file without its folders."""
    return "standard input" if report.audit.tally.source == "-" else PurePath(report.audit.tally.source).name


def place(model: str, decision: str) -> str:
    """Name a model and a decision: "model a, top 100"."""
    return ", ".join(part for part in (f"model {model}" if model else "", decision) if part)


def worst_first(rows: Iterable[Disparity]) -> list[Disparity]:
    """Sort: fails beyond chance, other fails, the not decidable, passes; then by distance from 1."""
    return sorted(rows, key=lambda row: (_rank(row), -_distance(row.ratio.value)))


def _rank(row: Disparity) -> int:
    if row.is_reference:
        return 4
    if row.parity == "fail":
        return 0 if row.evidence == "beyond chance" else 1
    return 2 if row.parity == "undecidable" else 3


def _distance(value: float) -> float:
    if math.isnan(value):
        return 0.0
    return math.inf if value <= 0 or math.isinf(value) else abs(math.log(value))


def headline(report: Report) -> str:
    """Say the verdict in one sentence."""
    audit, per = report.audit, list(report.attributes.values())
    rows = [row for row in audit.disparities if row.measure in report.deciding and not row.is_reference]
    same = per.count(audit.verdict)
    verb = {"pass": "pass", "fail": "fail", "undecidable": "cannot be decided"}[audit.verdict]
    if same == 1 and audit.verdict != "undecidable":
        verb += "es" if verb == "pass" else "s"
    what = "audits of an attribute" if report.several else "attributes" if len(per) != 1 else "attribute"
    by = f"{limits(report)} by {', '.join(report.measures)}"
    sentence = f"{VERDICTS[audit.verdict]}: {same} of {len(per)} {what} {verb} at {by}"
    fails = [row for row in rows if row.parity == "fail"]
    if not fails:
        return f"{sentence}."
    beyond = sum(row.evidence == "beyond chance" for row in fails)
    return f"{sentence}; {len(fails)} of {len(rows)} comparisons fail, {beyond} of them beyond chance."


def printable(text: str) -> str:
    r"""Replace what a terminal would obey instead of show.

    >>> printable("a\x1b[31m\nb")
    'a�[31m�b'
    """
    return "".join(letter if letter.isprintable() else "�" for letter in text)


def label(measure: str) -> str:
    """Name a measure in words: "fpr" is the false positive rate."""
    return AUDIT_METRICS[measure].label if measure in AUDIT_METRICS else measure


def limits(report: Report) -> str:
    """Write τ with its exceptions: "τ = 0.8 (fpr 0.9)"."""
    spec = report.audit.spec
    more = ", ".join(f"{measure} {tau:g}" for measure, tau in spec.taus.items())
    return f"τ = {spec.tau:g}" + (f" ({more})" if more else "")
