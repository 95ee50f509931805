"""What the controls of a run say, in words: its own rate of false findings."""

from collections.abc import Sequence

import pandas as pd

from fairbench_cli.base.safe_text import format_count
from fairbench_cli.report.ledger.columns import FAIRNESS
from fairbench_cli.report.ledger.controls import (
    PLACEBO,
    ControlRates,
    compute_rates,
    count_missing,
    run_controls_frame,
)
from fairbench_cli.report.ledger.inference import row_design
from fairbench_cli.report.ledger.results import RunResults

WIDE = 0.2
"""How wide an interval is that says nothing of a rate of a few per cent."""
SPLITS = (
    "The repeats are random splits of the same rows: their tests allow for training sets that vary more than "
    "these, and twins do not vary so. Hardly any is expected to be called different, and that says little of "
    "techniques."
)


def describe_controls(run: RunResults, *, brief: bool = False) -> list[str]:
    """Return the sentences on a run's controls; none where it has none.

    Parameters
    ----------
    brief : bool
        For a console: that they fail, where they do.
    """
    if not run.plan.config.controls:
        return []
    rates = compute_rates([run_controls_frame(run)])
    sentences = describe_rates(rates)
    if rates.fails:
        sentences.append(
            "The controls fail: words about differences are wrong more often than the 5 % that they say."
        )
    elif rates.high - rates.low > WIDE:
        sentences.append(f"This run alone cannot tell 0 from {100 * WIDE:.0f} %.")
    if brief and not rates.fails:
        return []
    if row_design(run.plan.config).kind == "split":
        sentences.append(SPLITS)
    return [" ".join(sentences), *describe_placebos(run_controls_frame(run)), *_describe_missing(run)]


def describe_rates(rates: ControlRates) -> list[str]:
    """Return how often twins were called different.

    >>> describe_rates(ControlRates(18, 1, 0.006, 0.371))[0][56:]
    '1 was called different (5.6 %; 95 % interval 0.6 to 37 %).'
    """
    sentences = []
    if rates.n_compared:
        verb = "was" if rates.n_different == 1 else "were"
        low, high = (_format_percent(end) for end in (rates.low, rates.high))
        comparisons = format_count(rates.n_compared, "comparison")
        sentences.append(
            f"Of {comparisons} of models that differ by chance alone {rates.n_different or 'none'} {verb} "
            f"called different ({_format_percent(rates.share)} %; 95 % interval {low} to {high} %)."
        )
    else:
        sentences.append("No control could be tested: that takes two repeats with a value.")
    return sentences


def _format_percent(share: float) -> str:
    """Write a share in per cent: with a decimal below 10.

    >>> _format_percent(0.0), _format_percent(0.056), _format_percent(0.371)
    ('0', '5.6', '37')
    """
    if 0 < share < 0.0995:
        return f"{100 * share:.1f}"
    return f"{100 * share:.0f}"


def describe_placebos(frame: pd.DataFrame) -> list[str]:
    """Return the sentences on techniques that narrow the gap though the protected column is shuffled."""
    placebos = frame[(frame["control"] == PLACEBO) & (frame["metric"] == FAIRNESS)]
    if not len(placebos):
        return []
    sentences = []
    narrowing = placebos[placebos["word"] == "better"]
    for technique, rows in narrowing.groupby("technique", sort=False):
        points = -100 * rows["distance_difference"].mean()
        dataset_names = ", ".join(dict.fromkeys(rows["dataset"]))
        sentences.append(
            f"With the protected column shuffled in training {technique} still narrows the gap by "
            f"{points:.1f} points ({dataset_names}): that part is not about the groups."
        )
    n_others = placebos["technique"].nunique() - narrowing["technique"].nunique()
    if n_others:
        noun = "other technique" if len(narrowing) else "technique"
        sentences.append(
            "With the protected column shuffled in training no narrowing is shown of "
            f"{format_count(n_others, noun)}."
        )
    return sentences


def _describe_missing(run: RunResults) -> list[str]:
    """Return that repeats lack their controls, where some do."""
    n_missing = count_missing(run.plan, run.records)
    if not n_missing:
        return []
    return [f"{format_count(n_missing, 'repeat')} without controls: `fairbench run` computes them."]


def describe_joint_rates(frames: Sequence[pd.DataFrame]) -> list[str]:
    """Return the sentence on the controls of two runs together."""
    return [f"Controls of both runs: {' '.join(describe_rates(compute_rates(frames)))}"]
