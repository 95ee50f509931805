"""What a run found of its worlds, in words: what each bias costs, and who regains it.

Accuracy is on true labels, in points; that of Bayes' rule is known of the world without training. A technique
regains where it is shown to be more accurate than the baseline of the same world. What it loses on recorded
labels and gains on true ones, both shown, is an artefact of the record.
"""

import math

from fairbench_cli.base.safe_text import format_count
from fairbench_cli.document.model import TableCell
from fairbench_cli.measures.counts import PAIR
from fairbench_cli.report.ledger.answer import (
    RunAnswer,
    RunSetting,
    TechniqueFinding,
    how_often,
    settings_with,
)
from fairbench_cli.report.ledger.results import Estimate
from fairbench_cli.report.show.metric_wording import points, signed

SUMMARY_HEADS = ("technique", "true labels", "recorded", "regained", "result")
NOT_BEATEN = "not beaten on both gap and accuracy"
RESULTS = {
    "better": ("narrows", "narrows the gap"),
    "worse": ("widens", "widens the gap"),
    "overshoots": ("turns round", "turns the gap round"),
    "same": ("the same", "leaves the gap the same"),
    "moved": ("moves it", "moves the gap; that it is smaller is not shown"),
    "not shown": ("not shown", "no change shown"),
    "untested": ("not tested", "not tested"),
}
"""What is said of a change by its kind, in a small table and in full."""
ABOUT = (
    " What a bias costs: the accuracy of the model without a technique less that of one trained without the "
    "bias; true labels, recorded: the change of a technique's accuracy against the model without a technique "
    "of its world. Artefact: it is shown to lose on recorded labels and to gain on true ones, so what the "
    "record shows as the price of fairness is none. Trade-off: the gap is narrower at a loss on true labels "
    "too."
)


def result_of(finding: TechniqueFinding, *, brief: bool = False) -> str:
    """Return the result of a technique in a few words; in brief without reasons and fronts."""
    if not finding.n:
        return _describe_failure(finding, brief=brief)
    repeats = describe_repeats(finding, brief=brief)
    if finding.is_constant:
        return _describe_constant(finding, brief=brief)
    short, result = RESULTS.get(finding.kind, (finding.kind, finding.kind))
    if finding.is_baseline:
        if not result and not finding.is_significant:
            result = "no gap shown"
        return f"{result}{repeats}".strip()
    if finding.is_trivial and finding.kind in ("better", "worse"):
        short = f"hardly {short}"
        result = f"hardly {result}"
    if finding.kind == "moved" and not finding.is_smaller:
        result = result.replace("smaller", "larger")
    if finding.is_shown_alone:
        # The word is about all of the family.
        p = _family_p(finding)
        short += f" ({p})"
        result += f" ({p} among {finding.n_tests})"
    if brief:
        return f"{short}{repeats}"
    if finding.is_on_front and finding.narrows:
        result += f", {NOT_BEATEN}"
    return f"{result}{repeats}"


def describe_repeats(finding: TechniqueFinding, *, brief: bool = False, n: int | None = None) -> str:
    """Return how many repeats are behind the result: " (4 of 5 repeats)"; nothing where all are.

    They are those that are compared, which both models have, or `n` of them.
    """
    if n is None:
        n = min(finding.change.n or finding.n, finding.n)
    if n == finding.n_repeats:
        return ""
    return f" ({n} of {finding.n_repeats}{'' if brief else ' repeats'})"


def _family_p(finding: TechniqueFinding) -> str:
    """Return the p-value of a change among all of its family: "p .21"."""
    p = math.ceil(round(100 * finding.change_p, 6)) / 100  # rounded up: none is below 0.05
    return f"p {f'{p:.2f}'.removeprefix('0')}"


def _describe_failure(finding: TechniqueFinding, *, brief: bool) -> str:
    """Return why no repeat gave a value: "not possible in 5 of 5 repeats, empty cell ..."."""
    reason_words = {"infeasible": "not possible"}
    text = reason_words.get(finding.no_value_reason, finding.no_value_reason)
    if brief or not finding.failures:
        return text
    status, reason, n = finding.failures[0]
    n_more = len(finding.failures) - 1
    more = ""
    if n_more:
        more = f" (and {format_count(n_more, 'more reason')})"
    if status != finding.no_value_reason:
        text = reason_words.get(status, status)
    return f"{text} in {n} of {finding.n_repeats} repeats, {reason}{more}"


def _describe_constant(finding: TechniqueFinding, *, brief: bool) -> str:
    """Return "refuses everybody (5 of 5 repeats)"."""
    clauses = []
    for verb, n in (("refuses", finding.accepts_nobody), ("accepts", finding.accepts_everybody)):
        if n and brief:
            clauses.append(f"{verb} all{describe_repeats(finding, brief=True, n=n)}")
        elif n:
            clauses.append(f"{verb} everybody ({n} of {finding.n_repeats} repeats)")
    return " and ".join(clauses)


def headlines(answer: RunAnswer) -> list[str]:
    """Return the answer to a run with worlds in a sentence, the longest first."""
    with_bias = [setting for setting in answer.settings if setting.has_bias]
    settings = [setting for setting in with_bias if setting.has_baseline_value]
    if not with_bias:
        return ["All worlds have strength 0, so nothing can be said of a bias."]
    if not settings:
        return ["No model without a technique gave a value, so nothing can be said of worlds."]
    # 1. Where the cost of a bias is not known, techniques gain, and regain nothing.
    is_cost_known = any(setting.bias_cost.kind for setting in settings)
    gains = "regains accuracy that the bias took" if is_cost_known else "gains accuracy on true labels"
    found = settings_with(settings, lambda finding: finding.gains_accuracy)
    if is_cost_known:
        found = [setting for setting in found if setting.bias_cost.kind == "worse"]
    if not found:
        nothing = gains.replace("gains", "gain", 1)
        return [f"No technique is shown to {nothing}, in any of {len(settings)} settings."]
    # 2. Who, how often, and whether what the record shows is so.
    artefacts = settings_with(settings, lambda finding: finding.is_artefact)
    name, times = how_often(found, lambda finding: finding.gains_accuracy)[0]
    if len(settings) == 1:
        text = f"Under {settings[0].world} {name} {gains}"
        most = ""
        where = ""
    else:
        text = f"In {len(found)} of {len(settings)} settings a technique {gains}"
        most = f", most often {name} ({times})"
        where = f"in {len(artefacts)} "
    artefact = f"; {where}the recorded trade-off is an artefact" if artefacts else ""
    return [f"{text}{most}{artefact}.", f"{text}{artefact}.", f"{text}."]


def summary_row(setting: RunSetting, finding: TechniqueFinding) -> tuple[TableCell, ...]:
    """Return the cells of a technique below `SUMMARY_HEADS`."""
    regained = TableCell("–")
    if setting.bias_cost.kind == "worse" and finding.gains_accuracy:
        gained = points(finding.true_change.mean)
        regained = TableCell(f"{gained} of {points(-setting.bias_cost.mean)}", value=finding.true_change.mean)
    return (
        TableCell(finding.technique),
        _change_cell(finding.true_change, with_interval=True),
        _change_cell(finding.recorded_change, with_interval=False),
        regained,
        TableCell(world_result_of(finding)),
    )


def _change_cell(change: Estimate, *, with_interval: bool) -> TableCell:
    if math.isnan(change.mean):
        return TableCell("–")
    interval = ""
    if with_interval and not math.isnan(change.low):
        interval = f"[{points(change.low)}, {points(change.high)}]"
    return TableCell(signed(100 * change.mean), interval, change.mean)


def world_result_of(finding: TechniqueFinding) -> str:
    """Return in a word what a technique does to accuracy on true labels, or why nothing can be said."""
    if not finding.n or finding.is_constant or finding.is_baseline:
        return result_of(finding, brief=True)
    kind = finding.true_change.kind
    verdict = {"better": "gains", "worse": "loses", "same": "the same"}.get(kind, kind)
    if finding.is_artefact:
        verdict = "artefact"
    elif finding.is_trade_off:
        verdict = "trade-off"
    return f"{verdict}{describe_repeats(finding, brief=True)}"


def describe_cost(setting: RunSetting) -> str:
    """Return the clause on the cost of the bias to the baseline; empty where it is not known."""
    cost = setting.bias_cost
    if math.isnan(cost.mean):
        return ""
    number = points(cost.mean)
    interval = ""
    if not math.isnan(cost.low):
        interval = f" ({points(cost.low)} to {points(cost.high)})"
    if cost.kind == "worse":
        text = "the bias costs accuracy"
    elif cost.kind == "better":
        text = "the bias costs nothing, accuracy is higher with it"
    elif cost.kind == "same":
        text = "with the bias accuracy is the same"
    elif cost.kind == "constant":
        text = "the model without a technique decides the same for everybody in some repeat, accuracy"
    elif cost.kind == "not shown":
        text = "no cost of the bias is shown, accuracy"
    else:
        text = "what the bias costs is not tested, accuracy"
    return f"; {text}: {number} points{interval}"


def describe_world(setting: RunSetting) -> list[str]:
    """Return the sentences on the world of a setting: cost, what is known exactly, who gains and loses."""
    if not setting.has_bias:
        return []
    sentences = []
    cost = describe_cost(setting).removeprefix("; ")
    if cost:
        sentences.append(f"{cost[:1].upper()}{cost[1:]}")
    accuracies = exact_accuracy(setting)
    if accuracies is not None:
        bayes, thresholds, truth = (f"{points(value)} %" for value in accuracies)
        drawn = " (by draws)" if setting.exact.method == "draws" else ""
        sentences.append(
            f"Known without training: the rule of the record is right on {bayes} of the truth, with the best "
            f"thresholds on {thresholds}, the best possible on {truth}{drawn}; the record's ranking is "
            f"{_describe_ranking(setting)}"
        )
    for word, is_so in (("Artefact", "is_artefact"), ("Trade-off", "is_trade_off")):
        names = []
        for finding in setting.findings:
            if getattr(finding, is_so):
                recorded = signed(100 * finding.recorded_change.mean)
                true = signed(100 * finding.true_change.mean)
                names.append(f"{finding.technique} (recorded {recorded}, true {true})")
        if names:
            sentences.append(f"{word}: {', '.join(names)}")
    return sentences


def _describe_ranking(setting: RunSetting) -> str:
    """Return whether the record ranks people within each group as the truth does."""
    names = zip((setting.deprived, setting.favoured), PAIR, strict=True)
    broken = [name for name, group in names if setting.exact.keeps_ranking(group) is False]
    if not broken:
        return "kept within each group"
    text = f"not kept among {' and '.join(broken)}"
    if not setting.exact.include_protected:
        text += f" to rules that do not see {setting.attribute}"
    return text


def exact_accuracy(setting: RunSetting) -> tuple[float, float, float] | None:
    """Return the accuracy on the truth of Bayes' rule of the record, of the best thresholds, of the truth.

    None where they are not known.
    """
    bayes, thresholds, truth = map(setting.exact.accuracy, ("bayes", "oracle-thresholds", "truth"))
    if math.isnan(bayes + thresholds + truth):
        return None
    return (bayes, thresholds, truth)
