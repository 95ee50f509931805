"""What a run found of its worlds, in words: what each bias cost, what gives it back, what cannot be undone.

Accuracy is on true labels, in points; that of Bayes' rule is known of the world without training. A technique
gains where it is shown to be more accurate than the plain model of the same world. What it loses on recorded
labels and gains on true ones, both shown, is an artefact of the record.
"""

import math
from collections.abc import Callable, Sequence

from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_count, join_names
from fairbench_cli.measures.counts import PAIR
from fairbench_cli.report.ledger.answer import (
    RunAnswer,
    RunSetting,
    TechniqueFinding,
    how_often,
    settings_with,
)
from fairbench_cli.report.ledger.cell_labels import NO_BIAS
from fairbench_cli.report.show.metric_wording import points, signed

WHAT = "accuracy that the bias took"
GAINED = "Gained on true labels"
NARROWED = "Gap narrowed"
ARTEFACT = "Lost on recorded labels and gained on true ones"
TRADED = "Gap narrowed at a loss on true labels too"
WHICH: dict[str, Callable[[TechniqueFinding], bool]] = {
    NARROWED: lambda one: one.is_better,
    ARTEFACT: lambda one: one.is_artefact,
    TRADED: lambda one: one.is_trade_off,
}
"""Which techniques are told under a head."""
NONE = points(0.0)


def headline(answer: RunAnswer) -> list[str]:
    """Return the answer to a run with worlds in a sentence, the longest first."""
    settings = [one for one in answer.settings if one.has_bias and one.has_baseline_value]
    if not any(one.has_bias for one in answer.settings):
        return ["All worlds have strength 0, so nothing can be said of a bias."]
    if not settings:
        return ["No setting with a bias has a plain model with a value, so nothing can be said of worlds."]
    known = any(one.bias_cost.kind for one in settings)
    does, what = ("regains", WHAT) if known else ("gains", "accuracy on true labels")
    found = [one for one in settings_with(settings, _gains) if one.bias_cost.kind == "worse" or not known]
    worlds = len({one.world for one in settings})
    if not found:
        many = format_count(len(settings), "setting")
        return [f"No technique is shown to {does[:-1]} {what}, in any of {many}."]
    artefact = settings_with(settings, WHICH[ARTEFACT])
    name, times = how_often(found, _gains)[0]
    if worlds > 1:
        text = f"In {len({one.world for one in found})} of {worlds} worlds a technique {does} {what}"
        most = f", most often {name} ({times} of {len(settings)} settings)"
        n = len({one.world for one in artefact})
    elif len(settings) > 1:
        text = (
            f"Under {settings[0].world} a technique {does} {what} in {len(found)} of {len(settings)} settings"
        )
        most = f", most often {name} ({times})"
        n = len(artefact)
    else:
        text = f"Under {settings[0].world} {name} {does} {what}"
        most = ""
        n = len(artefact)
    more = ""
    if n and len(settings) > 1:
        more = f"; in {n} the recorded trade-off is an artefact"
    elif n:
        more = "; the recorded trade-off is an artefact"
    return [f"{text}{most}{more}.", f"{text}{more}.", f"{text}."]


def _gains(one: TechniqueFinding) -> bool:
    return one.gains_accuracy


def statements(answer: RunAnswer, detail: int = 3) -> list[str]:
    """Return a statement per world, over all data sets, attributes, classifiers and strengths.

    Parameters
    ----------
    detail : {-1, 0, 1, 2, 3}
        How much is said: 3 names all techniques, 2 three and 1 one of them; 0 and -1 take a line each.
    """
    able = [one for one in answer.settings if one.has_baseline_value and (one.has_bias or not one.world)]
    worlds = group_by(able, lambda one: one.world)
    found = [text for world, own in worlds.items() if (text := _of_world(world, own, detail))]
    silent = (
        one
        for one in answer.settings
        if one.world not in worlds and (one.has_bias or not one.has_baseline_value)
    )
    without = sorted({one.world or NO_BIAS for one in silent})
    return [*found, *([f"{join_names(without, 99)}: no plain model with a value."] if without else [])]


def _of_world(world: str, settings: Sequence[RunSetting], detail: int) -> str:
    """Return the statement on a world. Empty for the one without bias where little is said of each."""
    found = (_cost(settings, detail), _gained(settings, detail), _thresholds(settings, detail))
    parts = [part for part in found if part]
    if detail < 1:
        n = len(settings_with(settings, WHICH[ARTEFACT]))
        if n > 0 and detail == 0:
            parts.append(f"artefact in {n}")
        if world and parts:
            return f"{world}: {'; '.join(parts)}."
        return ""
    several = len(settings) > 1
    for what, chosen in WHICH.items():
        often = how_often(settings, chosen)
        if often and (detail > 1 or what == ARTEFACT):
            names = [f"{name} ({times})" if several else name for name, times in often]
            heading = what
            if several:
                heading += f" in {len(settings_with(settings, chosen))}"
            parts.append(f"{heading}: {join_names(names, _most(detail))}")
    if not parts:
        if world:
            return f"{world}: nothing is shown."
        return ""
    first, *others = parts
    head = world or NO_BIAS
    if several:
        head += f", {format_count(len(settings), 'setting')}"
    return " ".join([f"{head}: {first[0].lower()}{first[1:]}.", *(f"{part}." for part in others)])


def _cost(settings: Sequence[RunSetting], detail: int) -> str:
    """Return the cost of the bias that is shown: "the bias costs 3.0 to 10.1 points of accuracy in 8"."""
    known = [one.bias_cost for one in settings if not math.isnan(one.bias_cost.mean)]
    if not known:
        return ""
    shown = [-100 * one.mean for one in known if one.kind == "worse"]
    if not shown:
        tested = any(one.kind != "untested" for one in known)
        if detail < 1:
            nothing = "no cost shown"
        else:
            nothing = "No cost of the bias is shown"
        if detail < 1:
            untested = "cost not tested"
        else:
            untested = "What the bias costs is not tested"
        if tested:
            return nothing
        return untested
    if detail < 0:
        return f"costs up to {signed(max(shown), plus='')}"
    several = len(settings) > 1
    if detail < 1:
        cost = f"costs {_range(shown)}"
        if several:
            cost += f" in {len(shown)} of {len(settings)}"
        return cost
    cost = f"The bias costs {_range(shown)} points of accuracy"
    if several:
        cost += f" in {len(shown)}"
    return cost


def _range(values: Sequence[float], plus: str = "") -> str:
    """Return the least and the most of some points: "0.3 to 10.1"."""
    return " to ".join(dict.fromkeys(signed(value, plus=plus) for value in (min(values), max(values))))


def _gained(settings: Sequence[RunSetting], detail: int) -> str:
    """Return who gains accuracy on true labels, and how much; the most often first, then the most."""
    gaining = (each for one in settings for each in one.findings if each.gains_accuracy)
    found = {name: [each.true_change for each in own] for name, own in group_by(gaining, _technique).items()}
    n = len(settings)
    if not found:
        if not any(one.bias_cost.kind == "worse" for one in settings):
            return ""
        if detail < 1:
            return "nothing gained"
        return "No technique is shown to gain any"
    ordered = sorted(found, key=lambda name: (-len(found[name]), -max(one.mean for one in found[name])))
    if detail < 0:
        gain = f"{ordered[0]} gains"
        if n > 1:
            gain += f" ({len(found[ordered[0]])} of {n})"
        return gain
    texts = []
    for name in ordered:
        gains = [100 * one.mean for one in found[name]]
        first = found[name][0]
        gain = f"{name} {_range(gains, plus='+')}"
        if n > 1:
            gain += f" ({len(gains)})"
        elif detail > 0:
            gain += f" ({points(first.low)} to {points(first.high)})"
        texts.append(gain)
    if detail < 1:
        return f"gained {join_names(texts, 1)}"
    heading = GAINED
    if n > 1:
        heading += f" in {len(settings_with(settings, _gains))}"
    return f"{heading}: {join_names(texts, _most(detail))}"


def _technique(one: TechniqueFinding) -> str:
    return one.technique


def _most(detail: int) -> int:
    """Return how many techniques a clause names."""
    return {1: 1, 2: 3}.get(detail, 99)


def _thresholds(settings: Sequence[RunSetting], detail: int) -> str:
    """Return the gain of thresholds that know the truth where Bayes' rule of the record lacks the most."""
    known = [(one, *found) for one in settings if (found := exact_accuracy(one)) is not None]
    if not known:
        return ""
    most, bayes, thresholds, truth = max(known, key=lambda each: each[3] - each[1])
    gained = points(thresholds - bayes)
    lacking = points(truth - bayes)
    if lacking == NONE or truth < bayes:
        if detail < 1:
            return ""
        return f"Bayes' rule of the record lacks nothing{_ranking(settings)}"
    if thresholds >= truth or gained == lacking:
        share = "all"
    elif gained == NONE:
        share = "none"
    else:
        share = gained
    if detail < 1:
        return f"thresholds gain {share} of {lacking}"
    where = ""
    if len(known) > 1:
        where = " where most is lacking"
        if detail > 2:
            where += f" ({most.dataset_label}, β = {most.beta:g})"
    return f"Thresholds that know the truth gain {share} of {lacking} points{where}{_ranking(settings)}"


def _ranking(settings: Sequence[RunSetting]) -> str:
    """Return in how many settings the record ranks people within groups as the truth does, and to whom."""
    exact = [one.exact for one in settings if one.exact.keeps_ranking() is not None]
    if not exact:
        return ""
    broken = [one for one in exact if not one.keeps_ranking()]
    n = len(exact) - len(broken)
    if not n:
        some = "not kept"
    elif broken:
        some = f"kept in {n} of {len(exact)}"
    else:
        some = "kept"
    ranking = f"the ranking within groups is {some}"
    if any(not one.include_protected for one in broken):
        ranking = f"to rules that do not see the group {ranking}"
    return f"; {ranking}"


def exact_accuracy(setting: RunSetting) -> tuple[float, float, float] | None:
    """Return the accuracy on the truth of Bayes' rule of the record, of the best thresholds, of the truth.

    None where they are not known.
    """
    bayes, thresholds, truth = map(setting.exact.accuracy, ("bayes", "oracle-thresholds", "truth"))
    if math.isnan(bayes + thresholds + truth):
        return None
    return (bayes, thresholds, truth)


_COSTS = {
    "worse": "The bias costs the plain model",
    "better": "The bias is no cost to the plain model, which gains",
    "same": "The bias is shown to change the plain model by less than 1 point, by",
    "not shown": "No cost of the bias is shown, it changes the plain model by",
    "constant": "The plain model decides the same for everybody in some repeat, the bias changes it by",
}
_APART = "What the bias costs is not tested, it changes the plain model by"


def _cost_in_numbers(setting: RunSetting) -> str:
    """Return the cost of the bias to the plain model, with its interval. A cost and a gain have no sign."""
    lost = setting.bias_cost
    sign, plus = {"worse": (-1, ""), "better": (1, "")}.get(lost.kind, (1, "+"))
    ends = [signed(100 * end, plus=plus) for end in sorted((sign * lost.low, sign * lost.high))]
    if math.isnan(lost.low):
        fine = ""
    else:
        fine = f" ({' to '.join(ends)})"
    size = signed(100 * sign * lost.mean, plus=plus)
    return f"{_COSTS.get(lost.kind, _APART)} {size} points of accuracy{fine}"


def said(setting: RunSetting) -> list[str]:
    """Return the sentences on the world of a setting: cost, who gains, what is known exactly, trade-offs."""
    if not setting.has_bias:
        return []
    parts = [] if math.isnan(setting.bias_cost.mean) else [_cost_in_numbers(setting)]
    parts += filter(None, [_gained([setting], 3)])
    exact = exact_accuracy(setting)
    if exact is not None:
        bayes, thresholds, truth = (f"{points(value)} %" for value in exact)
        names = zip((setting.deprived, setting.favoured), PAIR, strict=True)
        broken = [name for name, group in names if setting.exact.keeps_ranking(group) is False]
        ranking = "kept within each group"
        if broken:
            ranking = f"not kept among {' and '.join(broken)}"
            if not setting.exact.include_protected:
                ranking += f" to rules that do not see {setting.attribute}"
        drawn = ""
        if setting.exact.method == "draws":
            drawn = " (by draws)"
        parts.append(
            f"Bayes' rule of the record is right on {bayes} of the truth, with thresholds that know the "
            f"truth on {thresholds}, the best thresholds of the truth on {truth}{drawn}; the ranking is "
            f"{ranking}"
        )
    for what in (ARTEFACT, TRADED):
        texts = [f"{one.technique} ({_both(one)})" for one in filter(WHICH[what], setting.findings)]
        if texts:
            parts.append(f"{what}: {join_names(texts, 99)}")
    return parts


def _both(one: TechniqueFinding) -> str:
    """Return the changes of accuracy: "recorded −1.2, true +8.1"."""
    return f"recorded {signed(100 * one.recorded_change.mean)}, true {signed(100 * one.true_change.mean)}"
