"""Which side of a metric is better, told by what others call it."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from fairbench_cli.base.errors import user_error
from fairbench_cli.base.safe_text import join_names
from fairbench_cli.measures.registry import find_metric

HIGHER = float("inf")
LOWER = float("-inf")
SIDES = {"higher": HIGHER, "lower": LOWER}
USUAL_WORDS = {
    1.0: "acc accuracy auc auroc f1 f1score fscore mcc precision recall bcr bacc kappa gmean di",
    0.0: "spd aod eod erd dp eo eop dpd deo eopp gap gaps disparity discrimination unfairness",
    LOWER: "loss logloss error err brier mae mse rmse time runtime duration seconds",
    HIGHER: "score utility reward r2",
}
USUAL_PHRASES = {
    1.0: "disparate.impact ratio",
    0.0: "dem.par eq.opp equal.odds equalized.odds equalised.odds average.odds parity.difference "
    "equal.opportunity demographic.parity statistical.parity rate.difference theil",
}


def find_ideals(metrics: Sequence[str], better: Mapping[str, str]) -> tuple[dict[str, float], list[str]]:
    """Return the ideal of each metric, infinite where a side is better, and notes on those left out.

    By what `better` says of it; else by the metric of fairbench with that name; else by the usual words that
    are in it, such as ``spd`` (0) or ``f1_macro`` (1).

    Raises
    ------
    UserError
        Where a side cannot be read, is said of no metric, or no metric has one that is known.

    >>> find_ideals(["spd_other", "F1 score", "srp"], {"srp": "higher"})
    ({'spd_other': 0.0, 'F1 score': 1.0, 'srp': inf}, [])
    """
    for name, side in better.items():
        if name not in metrics:
            fix = f"name one of {join_names(list(metrics))}"
            raise user_error(f'no metric is called "{name}"', fix, "--better")
        if side not in SIDES and _to_number(side) is None:
            fix = "write higher, lower or its ideal: 0 or 1"
            raise user_error(f'"{side}" is no side of {name}', fix, "--better")
    ideals = {}
    unclear = []
    for name in metrics:
        if name in better:
            number = _to_number(better[name])
            ideals[name] = SIDES[better[name]] if number is None else number
            continue
        ideal = _usual_ideal(name)
        if ideal is None:
            unclear.append(name)
        else:
            ideals[name] = ideal
    if not ideals:
        problem = f"which side is better is not known of {join_names(unclear)}"
        raise user_error(problem, f"say it: --better {unclear[0]}=higher, =lower, =0 or =1", "--better")
    notes = []
    if unclear:
        notes.append(
            f"Left out, as it is not known which side is better: {join_names(unclear)}; --better "
            f"{unclear[0]}=higher, =lower, =0 or =1 says it."
        )
    return ideals, notes


def _usual_ideal(name: str) -> float | None:
    """Return the ideal of a metric by its name; None where that says nothing."""
    with suppress(KeyError):
        return find_metric(name).ideal
    name_words = re.split(r"[^a-z0-9]+", name.lower())
    for ideal, usual in USUAL_WORDS.items():
        if set(name_words) & set(usual.split()):
            return ideal
    text = ".".join(name_words)
    for ideal, phrases in USUAL_PHRASES.items():
        if any(phrase in text for phrase in phrases.split()):
            return ideal
    return None


def _to_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < HIGHER else None
