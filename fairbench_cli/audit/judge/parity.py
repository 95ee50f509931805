"""Three-valued parity: pass, fail or undecidable, decided on the counts and not on rounded quotients."""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from fairbench_cli.audit.config import AuditConfig as Spec
from fairbench_cli.audit.judge.metrics import AUDIT_METRICS
from fairbench_cli.audit.judge.result import Parity
from fairbench_cli.errors import shown, suggest, user_error

# Two rates computed from fractional weights count as equal, or at the boundary, within this relative error.
TOLERANCE = 1e-9

# By name, what has to pass together. Supervised is type I and type II.
ROLL_UPS: dict[str, tuple[str, ...]] = {
    "type-i": ("fdr", "fpr"),
    "type-ii": ("for", "fnr"),
    "equalised-odds": ("fpr", "tpr"),
    "unsupervised": ("ppr", "pprev"),
    "supervised": ("fdr", "fpr", "for", "fnr"),
}


def tau_of(measure: str, spec: Spec) -> float:
    """Return the tau of a measure.

    Raises
    ------
    UserError
        When it is not in (0, 1].
    """
    tau = spec.taus.get(measure, spec.tau)
    if not 0 < tau <= 1:
        raise user_error(f"tau is {tau!r}", "use a number above 0 and at most 1, such as 0.8", "--tau")
    return tau


def check_taus(spec: Spec) -> None:
    """Check that every tau is in (0, 1] and belongs to a measure that groups are compared on.

    Raises
    ------
    UserError
    """
    known = [name for name, metric in AUDIT_METRICS.items() if metric.parity]
    tau_of("", spec)
    for name in spec.taus:
        if name not in known:
            raise user_error(f"no measure called {shown(name)}", suggest(name, known), "--tau")
        tau_of(name, spec)


def decide(above: float, below: float, ref_above: float, ref_below: float, tau: float) -> Parity:
    """Decide whether tau <= (above/below) / (ref_above/ref_below) <= 1/tau.

    Whole numbers are compared by cross-multiplication, with tau as the decimal it is written as: a ratio of
    exactly 4/5 passes at 0.8. Fractional weights are compared within a relative error of 1e-9.

    Returns
    -------
    {"pass", "fail", "undecidable"}
        Undecidable when a rate has the denominator 0. Two rates of 0 are equal and pass, though their ratio
        is undefined; a rate above 0 beside a reference of 0 fails, as does the reverse.

    Examples
    --------
    >>> decide(1, 3, 5, 12, 0.8), decide(0, 3, 0, 12, 0.8), decide(1, 3, 0, 12, 0.8), decide(0, 0, 1, 2, 0.8)
    ('pass', 'pass', 'fail', 'undecidable')
    """
    if not (below > 0 and ref_below > 0):
        return "undecidable"
    values = [float(value) for value in (above, below, ref_above, ref_below)]
    exact = Fraction(str(tau))
    if all(value.is_integer() for value in values):
        a, b, c, d = (int(value) for value in values)
        mine, theirs = a * d, c * b
        low, high = exact.numerator, exact.denominator
        return "pass" if low * theirs <= high * mine and low * mine <= high * theirs else "fail"
    mine, theirs = above * ref_below, ref_above * below  # type: ignore[assignment]
    loose = float(exact) * (1 - TOLERANCE)
    return "pass" if loose * theirs <= mine and loose * mine <= theirs else "fail"


def all_of(values: Iterable[Parity]) -> Parity:
    """Kleene's "and": fail if one fails, else undecidable if one is (or there is none), else pass.

    >>> all_of(["pass", "undecidable"]), all_of(["undecidable", "fail"]), all_of([])
    ('undecidable', 'fail', 'undecidable')
    """
    seen = set(values)
    if "fail" in seen:
        return "fail"
    return "undecidable" if "undecidable" in seen or not seen else "pass"


def roll_ups(by_measure: Mapping[str, Parity]) -> dict[str, Parity]:
    """Roll measures up; a roll-up with a measure that is not there (no labels) is left out.

    >>> roll_ups({"ppr": "fail", "pprev": "pass"})
    {'unsupervised': 'fail'}
    """
    return {
        name: all_of(by_measure[measure] for measure in measures)
        for name, measures in ROLL_UPS.items()
        if all(measure in by_measure for measure in measures)
    }
