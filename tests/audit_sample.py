"""A finished audit made by hand from COMPAS' counts: no file is read and no other part of the audit runs."""

import math

import numpy as np

from fairbench_cli.audit.compare.report import (
    AttributeVerdict,
    Disparity,
    Gate,
    GroupRow,
    Interval,
    Reason,
    Report,
)
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.scan.slices import Slice
from fairbench_cli.document.model import Verdict
from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.rates import RATES

SCRIPT = "<script>alert(1)</script>"

# tp fp fn tn
RACE = {
    "African-American": (1369, 805, 532, 990),
    "Caucasian": (505, 349, 461, 1139),
    "Hispanic": (111, 90, 121, 315),
    SCRIPT: (9, 3, 1, 5),
    "(missing)": (0, 0, 4, 6),
}
SEX = {"Female": (303, 291, 199, 602), "Male": (1732, 991, 1017, 2079)}
DECIDING = ("fpr", "fnr", "fdr", "selection-rate")
METRICS = (
    *("accuracy", "tpr", "tnr", "fpr", "fnr", "fdr"),
    *("for", "npv", "ppv", "selection-rate", "base-rate"),
)
NAN = float("nan")


def counts_of(cells: tuple[int, int, int, int]) -> dict[str, float]:
    tp, fp, fn, tn = map(float, cells)
    more = {
        "pp": tp + fp,
        "pn": fn + tn,
        "label_pos": tp + fn,
        "label_neg": fp + tn,
        "size": tp + fp + fn + tn,
    }
    return {"tp": tp, "fp": fp, "fn": fn, "tn": tn, **more}


def behind(name: str, counts: dict[str, float]) -> tuple[float, float]:
    numerator, denominator = (
        sum(counts[cell] for cell in cells) for cells in (RATES[name].numerator, RATES[name].denominator)
    )
    return numerator, denominator


def rate(name: str, counts: dict[str, float]) -> Interval:
    k, n = behind(name, counts)
    if not n:
        return Interval(NAN, NAN, NAN)
    p = k / n
    half = 1.96 * math.sqrt(p * (1 - p) / n)
    return Interval(p, max(0.0, p - half), min(1.0, p + half))


def group(place: tuple[str, str, str], name: str, cells: tuple[int, int, int, int]) -> GroupRow:
    counts = counts_of(cells)
    rows = int(counts["size"])
    return GroupRow(
        *place, name, rows, rows < 30, counts,
        {m: rate(m, counts) for m in METRICS},
        {m: behind(m, counts) for m in METRICS},
    )  # fmt: skip


def disparity(own: GroupRow, other: GroupRow, metric: str, tau: float, deciding: bool = True) -> Disparity:
    a, b = own.metrics[metric], other.metrics[metric]
    ratio = a.value / b.value if b.value else NAN
    counted = [row.behind[metric] for row in (own, other)]
    least = min(k for k, _ in counted)
    log = math.sqrt(sum(1 / k - 1 / n for k, n in counted)) if least > 0 else NAN
    spread = math.exp(1.96 * log)
    reference = own.group == other.group
    point: Verdict
    verdict: Verdict
    reason: Reason = ""
    if math.isnan(ratio):
        point = verdict = "undecided"
        reason = "no rows"
    elif tau <= ratio <= 1 / tau:
        point = "pass"
        verdict = "pass" if reference or (tau < ratio / spread and ratio * spread < 1 / tau) else "undecided"
        reason = "" if verdict == "pass" else "wide"
    else:
        point = "fail"
        verdict = "fail" if not own.small and (ratio / spread > 1 or ratio * spread < 1) else "undecided"
        reason = "" if verdict == "fail" else "chance"
    p = NAN if reference or math.isnan(ratio) else 2.1e-37 if verdict == "fail" else 0.21
    return Disparity(
        *(own.model, own.decision, own.attribute, own.group, other.group, metric),
        value=a.value,
        reference_value=b.value,
        ratio=Interval(ratio, NAN, NAN) if reference else Interval(ratio, ratio / spread, ratio * spread),
        difference=Interval(a.value - b.value, NAN, NAN),
        p=p,
        p_holm=p,
        test="" if math.isnan(p) else "score",
        tau=tau,
        margin=None,
        point=point,
        verdict=verdict,
        shown_outside=verdict == "fail" and (ratio * spread < tau or ratio / spread > 1 / tau),
        reason=reason,
        rows_needed=1200.0 if reason in ("chance", "wide") else NAN,
        is_reference=reference,
        deciding=deciding and not reference,
        behind=counted[0],
        reference_behind=counted[1],
    )


def sample_audit(
    source: str = "/home/me/compas.csv", models: tuple[str, ...] = ("",), tau: float = 0.8
) -> Report:
    """Build an audit of race and sex: fails beyond chance, a small group, an undecided comparison."""
    groups, disparities, verdicts, overall, slices = [], [], [], [], []
    for model in models:
        for attribute, cells, reference in (("race", RACE, "Caucasian"), ("sex", SEX, "Male")):
            place = (model, "binary", attribute)
            mine = [group(place, name, each) for name, each in cells.items()]
            other = next(row for row in mine if row.group == reference)
            rows = [disparity(row, other, metric, tau) for metric in DECIDING for row in mine]
            parity = {
                m: worst([row.verdict for row in rows if row.metric == m and not row.is_reference])
                for m in DECIDING
            }
            parity["type-i-parity"] = worst([parity["fdr"], parity["fpr"]])
            groups += mine
            disparities += rows
            verdicts.append(AttributeVerdict(*place, parity, worst([parity[m] for m in DECIDING])))
            n = np.array([[[tn, fp], [fn, tp]] for tp, fp, fn, tn in cells.values()], dtype=float)
            slices.append(Slice(*place, Counts(tuple(cells), n), n.astype(np.int64), n, labelled=True))
        total = tuple(map(sum, zip(*SEX.values(), strict=True)))
        overall.append(group((model, "binary", "(all)"), "(all)", total))
    verdict = worst([row.verdict for row in disparities])
    return Report(
        AuditConfig(references={"race": "Caucasian", "sex": "Male"}, ref_method="given", tau=tau),
        *(source, 7214, False, tuple(slices), DECIDING),
        *(tuple(overall), tuple(groups), tuple(disparities)),
        found={"rates": None},
        verdicts=tuple(verdicts),
        verdict=verdict,
        gate=Gate(stops=False),
        family=sum(row.deciding for row in disparities),
        notes=(
            "race: 10 rows have no value; they are the group (missing).",
            "race, (missing): fpr is 0/6; its ratio is 0.",
            f"Marked *: fewer than 30 rows, read with care: {SCRIPT} (race), (missing) (race).",
        ),
    )


def worst(parities):
    return "fail" if "fail" in parities else "undecided" if "undecided" in parities else "pass"
