"""The entries of the tests: statistics with p-values, from counts and from rows."""

import math
from functools import partial

from fairbench_cli.measures import significance, significance_rows
from fairbench_cli.measures.entry import Measure

_test = partial(Measure, section="test", on="both")
_row_test = partial(Measure, section="test", on="both", needs="rows")

_score_test = partial(Measure, section="test", needs="rows")

_SAME = "NaN when a group is empty or all predictions are the same"
_SLOPE_P = (
    "NaN when the features alone determine s, or the predictions (also when these are all the same), or "
    "there are too few rows"
)
_SLOPE = f"{_SLOPE_P}; infinite when the features and s leave no residual"
_SURVEY = "Žliobaitė 2017"


def _of_scores(zero_denominator: str) -> str:
    """Say of scores when there is no value."""
    said = zero_denominator.replace("predictions", "scores")
    return said.replace("NaN when", "NaN when the model gives no scores,", 1)


TESTS = (
    _test(
        "difference-of-means-t",
        significance.difference_of_means_t,
        -math.inf,
        math.inf,
        0,
        "d / (s √(1/n(g) + 1/n(ḡ))), s² the pooled variance, n(g) + n(ḡ) − 2 degrees of freedom; "
        "equally the t of the least-squares slope of ŷ on s",
        "Student 1908; Žliobaitė 2017 (which misprints a minus)",
        f"{_SAME}, or there are two rows; infinite when each group has one class",
    ),
    _test(
        "difference-of-means-p",
        significance.difference_of_means_p,
        0,
        1,
        None,
        "P(|T| ≥ |t|) of difference-of-means-t, two-sided",
        _SURVEY,
        f"{_SAME}, or there are two rows",
    ),
    _test(
        "two-proportions-z",
        significance.two_proportions_z,
        -math.inf,
        math.inf,
        0,
        "d / √(p(g)(1−p(g))/n(g) + p(ḡ)(1−p(ḡ))/n(ḡ)), p(s) = P(ŷ=+|s)",
        _SURVEY,
        f"{_SAME}; infinite when each group has one class",
    ),
    _test(
        "two-proportions-p",
        significance.two_proportions_p,
        0,
        1,
        None,
        "P(|Z| ≥ |z|) of two-proportions-z, two-sided",
        _SURVEY,
        _SAME,
    ),
    _test(
        "chi-squared",
        significance.chi_squared,
        0,
        math.inf,
        0,
        "Σ (observed − expected)² / expected over s and ŷ, for any number of groups",
        "Pearson 1900; Žliobaitė 2017",
        _SAME,
    ),
    _test(
        "chi-squared-p",
        significance.chi_squared_p,
        0,
        1,
        None,
        "P(X² ≥ χ²) of chi-squared, degrees of freedom: groups − 1",
        _SURVEY,
        _SAME,
    ),
    _test(
        "mann-whitney-u",
        significance.mann_whitney_u,
        0,
        math.inf,
        None,
        "pairs in which a favoured is above a deprived, ties half; n(g) n(ḡ) (d + 1) / 2",
        "Mann & Whitney 1947; Žliobaitė 2017",
        "NaN when a group is empty",
    ),
    _test(
        "mann-whitney-p",
        significance.mann_whitney_p,
        0,
        1,
        None,
        "of mann-whitney-u, two-sided: normal, corrected for ties and continuity",
        _SURVEY,
        _SAME,
    ),
)

ROW_TESTS = (
    _row_test(
        "slope-t",
        significance_rows.slope_t,
        -math.inf,
        math.inf,
        0,
        "t of the coefficient of s when ŷ is regressed on s and the features by least squares",
        _SURVEY,
        _SLOPE,
    ),
    _row_test(
        "slope-p",
        significance_rows.slope_p,
        0,
        1,
        None,
        "P(|T| ≥ |t|) of slope-t, two-sided",
        _SURVEY,
        _SLOPE_P,
    ),
    _score_test(
        "slope-t-of-scores",
        significance_rows.slope_t_of_scores,
        -math.inf,
        math.inf,
        0,
        "slope-t with scores instead of ŷ",
        _SURVEY,
        _of_scores(_SLOPE),
    ),
    _score_test(
        "slope-p-of-scores",
        significance_rows.slope_p_of_scores,
        0,
        1,
        None,
        "P(|T| ≥ |t|) of slope-t-of-scores, two-sided",
        _SURVEY,
        _of_scores(_SLOPE_P),
    ),
    _score_test(
        "mann-whitney-u-of-scores",
        significance_rows.mann_whitney_u_of_scores,
        0,
        math.inf,
        None,
        "pairs in which a favoured has a higher score than a deprived, ties half",
        "Mann & Whitney 1947; Žliobaitė 2017",
        _of_scores("NaN when a group is empty"),
    ),
    _score_test(
        "mann-whitney-p-of-scores",
        significance_rows.mann_whitney_p_of_scores,
        0,
        1,
        None,
        "of mann-whitney-u-of-scores, two-sided: normal, corrected for ties and continuity",
        _SURVEY,
        _of_scores(_SAME),
    ),
    _row_test(
        "cochran-mantel-haenszel",
        significance_rows.cochran_mantel_haenszel,
        0,
        math.inf,
        0,
        "(Σᵢ aᵢ − E(aᵢ))² / Σᵢ var(aᵢ), aᵢ the favoured with ŷ=+ in stratum i",
        "Mantel & Haenszel 1959; Žliobaitė 2017",
        "NaN when no stratum has both groups and both kinds of prediction",
    ),
    _row_test(
        "cochran-mantel-haenszel-p",
        significance_rows.cochran_mantel_haenszel_p,
        0,
        1,
        None,
        "P(X² ≥ χ²) of cochran-mantel-haenszel, one degree of freedom",
        _SURVEY,
        "NaN when no stratum has both groups and both kinds of prediction",
    ),
)
