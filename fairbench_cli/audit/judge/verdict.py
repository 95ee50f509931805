"""From disparities to verdicts: of an attribute, of the whole audit, and what chance has to say."""

import math
from collections.abc import Mapping, Sequence

from fairbench_cli.audit.config import AuditConfig as Spec
from fairbench_cli.audit.judge.metrics import AUDIT_METRICS
from fairbench_cli.audit.judge.parity import ROLL_UPS, all_of, roll_ups
from fairbench_cli.audit.judge.result import AttributeVerdict, Disparity, Evidence, Parity
from fairbench_cli.audit.read.tally import Slice, Tally
from fairbench_cli.errors import shown, suggest, user_error

# What the verdict looks at unless told. Not ppr: shares of all selected differ as soon as group sizes do.
DEFAULT_UNSUPERVISED = ("pprev",)
DEFAULT_SUPERVISED = ("pprev", "fpr", "fnr", "fdr", "for")


def chosen_measures(tally: Tally, measures: Sequence[str] | None) -> tuple[str, ...]:
    """Check the measures and roll-ups that the verdict is to look at, or take the default ones.

    Raises
    ------
    UserError
        For an unknown name, none at all, or one that needs labels where there are none.
    """
    labelled = all(part.labelled for part in tally.slices)
    if measures is None:
        return DEFAULT_SUPERVISED if labelled else DEFAULT_UNSUPERVISED
    if not measures:
        raise user_error("no measure to decide on", "name at least one", "measures")
    known = [name for name, metric in AUDIT_METRICS.items() if metric.parity] + list(ROLL_UPS)
    for name in measures:
        if name not in known:
            raise user_error(f"no measure called {shown(name)}", suggest(name, known), "measures")
    if not labelled:
        needing = [
            name for name in measures if any(_needs_label(part) for part in ROLL_UPS.get(name, (name,)))
        ]
        if needing:
            raise user_error(
                f"{', '.join(needing)} cannot be decided without labels",
                f"give the label column, or choose of {', '.join(_unsupervised())}",
                "measures",
            )
    return tuple(measures)


def evidence(p_holm: float, rows: Sequence[int], denominators: Sequence[float], spec: Spec) -> Evidence:
    """Say whether a difference is beyond chance.

    Parameters
    ----------
    p_holm : float
        Adjusted p-value; NaN when there is no test.
    rows, denominators : sequences of two numbers
        Rows of the group and of its reference, and those that the rate counts (all negatives, say).

    Returns
    -------
    {"beyond chance", "within chance", "too few to tell"}
        Too few when a group has fewer than `spec.min_group` rows or there is no test; also when nothing was
        found and one of the rates counts fewer.
    """
    if min(rows) < spec.min_group or math.isnan(p_holm):
        return "too few to tell"
    if p_holm < 1 - spec.confidence:
        return "beyond chance"
    return "too few to tell" if min(denominators) < spec.min_group else "within chance"


def in_words(disparity: Disparity) -> str:
    """Say it in a few words: "fails, and beyond chance"; "passes"; "not decidable"."""
    if disparity.is_reference:
        return "reference"
    if disparity.parity == "undecidable":
        return "not decidable"
    if disparity.parity == "pass":
        return "passes"
    return {
        "beyond chance": "fails, and beyond chance",
        "within chance": "fails, but within chance",
        "too few to tell": "fails, too few to tell",
        "": "fails",
    }[disparity.evidence]


def attribute_verdict(
    part: Slice, disparities: Sequence[Disparity], names: Sequence[str]
) -> AttributeVerdict:
    """Roll the disparities of one slice up: fail if a group fails, else undecidable if one is, else pass.

    The reference itself decides nothing; where there is nobody else, nothing is decidable.
    """
    by_measure: dict[str, list[Parity]] = {name: [] for name in names}
    for disparity in disparities:
        if not disparity.is_reference:
            by_measure[disparity.measure].append(disparity.parity)
    decided: dict[str, Parity] = {name: all_of(values) for name, values in by_measure.items()}
    return AttributeVerdict(part.model, part.decision, part.attribute, decided | roll_ups(decided))


def overall_verdict(verdicts: Sequence[AttributeVerdict], measures: Sequence[str]) -> Parity:
    """Roll the chosen measures of all attributes, decisions and models up."""
    return all_of(_of(verdict.parity, name) for verdict in verdicts for name in measures)


def _of(parity: Mapping[str, Parity], name: str) -> Parity:
    return parity.get(name, "undecidable")


def _needs_label(name: str) -> bool:
    return AUDIT_METRICS[name].needs_label


def _unsupervised() -> list[str]:
    return [name for name, metric in AUDIT_METRICS.items() if metric.parity and not metric.needs_label]
