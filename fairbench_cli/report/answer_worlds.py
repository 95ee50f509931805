"""What a run found of its worlds, in words: what each bias cost, what gives it back, what cannot be undone.

Accuracy is on true labels, in points; that of Bayes' rule is known of the world without training. A technique
gains where it is shown to be more accurate than the plain model of the same world. What it loses on recorded
labels and gains on true ones, both shown, is an artefact of the record.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence

from fairbench_cli.measures.counts import PAIR
from fairbench_cli.measures.registry import find
from fairbench_cli.report.answer import AccuracyChange, RunAnswer, RunSetting, TechniqueFinding
from fairbench_cli.report.reading import listed, points, signed
from fairbench_cli.report.remedies import ACCURACY
from fairbench_cli.report.tables import NO_BIAS

WHAT = "accuracy that the bias took"
ARTEFACT = "Lost on recorded labels and gained on true ones"
TRADED = "Narrowed at a loss on both"
GAINED = "Gained on true labels"


def headline_of_worlds(answer: RunAnswer) -> list[str]:
    """Return the answer to a run with worlds in a sentence, the longest first."""
    settings = [one for one in answer.settings if one.biased and one.plain is not None and one.plain.n]
    if not settings:
        return ["No setting with a bias has a plain model with a value, so nothing can be said of worlds."]
    known = any(one.lost.kind for one in settings)
    does, what = ("regains", WHAT) if known else ("gains", "accuracy on true labels")
    found = [one for one in settings if _regains(one) or (not known and any(map(_gains, one.findings)))]
    worlds = len({one.world for one in settings})
    if not found:
        return [f"No technique is shown to {does[:-1]} {what}, in any of {settings_in_words(len(settings))}."]
    artefact = [one for one in settings if any(each.artefact for each in one.findings)]
    often = Counter(each.technique for one in found for each in one.findings if each.gains)
    name, times = often.most_common(1)[0]
    if worlds > 1:
        text = f"In {len({one.world for one in found})} of {worlds} worlds a technique {does} {what}"
        most = f", most often {name} ({times} of {len(settings)} settings)"
        n = len({one.world for one in artefact})
    else:
        of = f" in {len(found)} of {len(settings)} settings" * (len(settings) > 1)
        text = f"Under {settings[0].world} {'a technique' if len(settings) > 1 else name} {does} {what}{of}"
        most = f", most often {name} ({times})" * (len(settings) > 1)
        n = len(artefact)
    where = f"in {n} " * (worlds > 1 or len(settings) > 1)
    more = f"; {where}the recorded trade-off is an artefact" * bool(n)
    return [f"{text}{most}{more}.", f"{text}{more}.", f"{text}."]


def settings_in_words(n: int) -> str:
    """Return "1 setting", "9 settings"."""
    return f"{n} setting{'s' * (n != 1)}"


def _gains(one: TechniqueFinding) -> bool:
    return one.gains


def _regains(setting: RunSetting) -> bool:
    """Return whether the bias is shown to cost accuracy, and a technique to gain some."""
    return setting.lost.kind == "worse" and any(map(_gains, setting.findings))


def statements_on_worlds(answer: RunAnswer, detail: int = 3) -> list[str]:
    """Return a statement per world, over all data sets, attributes, classifiers and strengths.

    Parameters
    ----------
    detail : {-1, 0, 1, 2, 3}
        How much is said: 3 names all techniques, 2 three and 1 one of them; 0 and -1 take a line each.
    """
    worlds: dict[str, list[RunSetting]] = {}
    for one in answer.settings:
        if (one.biased or not one.world) and one.plain is not None and one.plain.n:
            worlds.setdefault(one.world, []).append(one)
    found = [_of_world(world, settings, detail) for world, settings in worlds.items()]
    without = sorted({one.world or NO_BIAS for one in answer.settings if one.world not in worlds})
    return [*found, *([f"{listed(without, 99)}: no plain model with a value."] if without else [])]


def _of_world(world: str, settings: Sequence[RunSetting], detail: int) -> str:
    """Return what is said of a world."""
    n = len(settings)
    head = world or NO_BIAS
    if detail < 1:
        parts = [_cost(settings, brief=True), *_gained(settings, detail), *_thresholds(settings, brief=True)]
        artefact = sum(any(each.artefact for each in one.findings) for one in settings)
        parts += [f"artefact in {artefact}"] * (artefact > 0 and detail == 0)
        return f"{head}: {'; '.join(filter(None, parts))}."
    head += f", {settings_in_words(n)}" * (n > 1)
    parts = [_cost(settings, brief=False), *_gained(settings, detail), *_thresholds(settings, brief=False)]
    counted: dict[str, Callable[[TechniqueFinding], bool]] = {
        "Gap narrowed": lambda one: one.better,
        ARTEFACT: lambda one: one.artefact,
        TRADED: lambda one: one.trades,
    }
    for what, chosen in counted.items() if detail > 1 or not world else ():
        parts += _counted(what, settings, chosen, detail)
    first, *others = [part for part in parts if part] or ["nothing is shown"]
    return " ".join([f"{head}: {first[0].lower()}{first[1:]}.", *(f"{part}." for part in others)])


def _cost(settings: Sequence[RunSetting], *, brief: bool) -> str:
    """Return what the bias costs the plain model: "the bias costs 0.3 to 10.1 points, shown in 8 of 9"."""
    known = [one.lost for one in settings if not math.isnan(one.lost.by.mean)]
    if not known:
        return ""
    costs = [-100 * one.by.mean for one in known]
    n = sum(one.kind == "worse" for one in known)
    text = f"costs {_range(costs)}" if brief else f"The bias costs {_range(costs)} points of accuracy"
    if len(known) == 1:
        return text + _unshown(known[0])
    return f"{text} ({n} of {len(known)} shown)" if brief else f"{text}, shown in {n} of {len(known)}"


def _unshown(change: AccuracyChange) -> str:
    """Return what a difference is that is neither better nor worse, after a comma; nothing of the others."""
    words = {"not shown": ", not shown", "same": ", no change", "untested": ", not tested"}
    return words.get(change.kind, "")


def _range(values: Sequence[float]) -> str:
    """Return the least and the most of some points: "0.3 to 10.1"."""
    ends = [signed(value, plus="") for value in (min(values), max(values))]
    return " to ".join(dict.fromkeys(ends))


def _gained(settings: Sequence[RunSetting], detail: int) -> list[str]:
    """Return who gains accuracy on true labels, and how much; the most often first, then the most."""
    found: dict[str, list[AccuracyChange]] = {}
    for one in settings:
        for each in one.findings:
            if each.gains:
                found.setdefault(each.technique, []).append(each.true)
    ordered = sorted(found, key=lambda name: (-len(found[name]), -max(one.by.mean for one in found[name])))
    n, lost = len(settings), any(one.lost.kind == "worse" for one in settings)
    if not found:
        return ["nothing regained" if detail < 1 else "No technique is shown to gain any"] * lost
    texts = []
    for name in ordered:
        gains = [100 * one.by.mean for one in found[name]]
        often = f" ({len(gains)} of {n})" * (n > 1)
        ends = list(dict.fromkeys(signed(value) for value in (min(gains), max(gains))))
        fine = f" ({points(found[name][0].by.low)} to {points(found[name][0].by.high)})" * (n == 1)
        texts.append(f"{name}{often}" if detail < 0 else f"{name} {' to '.join(ends)}{fine or often}")
    if detail < 1:
        return [f"gains {listed(texts, 1)}"]
    k = sum(any(map(_gains, one.findings)) for one in settings)
    where = f" in {k}" * (n > 1)
    return [f"{GAINED}{where}: {listed(texts, {1: 1, 2: 3}.get(detail, 99))}"]


def _thresholds(settings: Sequence[RunSetting], *, brief: bool) -> list[str]:
    """Return what thresholds that know the truth could regain, where it is known to matter most."""
    known = [(one, *found) for one in settings if (found := exact_accuracy(one)) is not None]
    if not known:
        return []
    most, bayes, thresholds, truth = max(known, key=lambda each: each[3] - each[1])
    text = f"+{points(thresholds - bayes)} of {points(truth - bayes)}"
    if brief:
        return [f"thresholds {text}"]
    at = f" ({most.dataset_label}, β = {most.beta:g})" * (len(known) > 1)
    told = [kept for one in settings if (kept := _kept(one)) is not None]
    n = sum(told)
    ranking = ""
    if told:
        some = "kept" if n == len(told) else "lost" if not n else f"kept in {n} of {len(told)}"
        ranking = f"; the ranking within groups is {some}"
    return [f"Thresholds that know the truth: {text} points of Bayes' rule{at}{ranking}"]


def _kept(setting: RunSetting) -> bool | None:
    """Return whether the record ranks the people of each group as the truth does; None if not known."""
    kept = [None if setting.exact is None else setting.exact.kept(group) for group in PAIR]
    return None if None in kept else all(kept)


def exact_accuracy(setting: RunSetting) -> tuple[float, float, float] | None:
    """Return the accuracy on the truth of Bayes' rule of the record, of the best thresholds, of the truth.

    None where they are not known.
    """
    if setting.exact is None:
        return None
    accuracy = find(ACCURACY)
    rules = ("bayes", "oracle-thresholds", "truth")
    bayes, thresholds, truth = (setting.exact.metric(rule, accuracy, "true") for rule in rules)
    return None if math.isnan(bayes + thresholds + truth) else (bayes, thresholds, truth)


def _counted(
    what: str, settings: Sequence[RunSetting], chosen: Callable[[TechniqueFinding], bool], detail: int
) -> list[str]:
    """Return in how many settings some technique is chosen, and which: "Gap narrowed in 7: massaging (6)"."""
    often = Counter(each.technique for one in settings for each in one.findings if chosen(each))
    if not often:
        return []
    n, several = sum(any(map(chosen, one.findings)) for one in settings), len(settings) > 1
    names = [f"{name} ({times})" if several else name for name, times in often.most_common()]
    return [f"{what}{f' in {n}' * several}: {listed(names, 99 if detail > 2 else 1)}"]


def said_of_world(setting: RunSetting) -> list[str]:
    """Return the sentences on the world of a setting: cost, who gains, what is known exactly, trade-offs."""
    if not setting.biased:
        return []
    parts = []
    lost = setting.lost
    if not math.isnan(lost.by.mean):
        fine = "" if math.isnan(lost.by.low) else f" ({points(-lost.by.high)} to {points(-lost.by.low)})"
        size = f"{signed(-100 * lost.by.mean, plus='')} points of accuracy{fine}"
        parts.append(f"The bias costs the plain model {size}{_unshown(lost)}")
    parts += _gained([setting], 3)
    exact = exact_accuracy(setting)
    if exact is not None and setting.exact is not None:
        bayes, thresholds, truth = (f"{points(value)} %" for value in exact)
        kept = {name: setting.exact.kept(group) for name, group in zip(
            (setting.deprived, setting.favoured), PAIR, strict=True
        )}  # fmt: skip
        broken = [name for name, one in kept.items() if one is False]
        ranking = f"not kept among {' and '.join(broken)}" if broken else "kept within each group"
        drawn = " (by draws)" * (setting.exact.how == "draws")
        parts.append(
            f"Bayes' rule of the record is right on {bayes} of the truth, with thresholds that know the "
            f"truth on {thresholds}, that of the truth on {truth}{drawn}; the ranking is {ranking}"
        )
    numbers = {
        ARTEFACT: [one for one in setting.findings if one.artefact],
        TRADED: [one for one in setting.findings if one.trades],
    }
    for what, found in numbers.items():
        texts = [f"{one.technique} ({_both(one)})" for one in found]
        parts += [f"{what}: {listed(texts, 99)}"] * bool(texts)
    return parts


def _both(one: TechniqueFinding) -> str:
    """Return the changes of accuracy on recorded and true labels: "−1.2, +8.1"."""
    return ", ".join(signed(100 * change.by.mean) for change in (one.recorded, one.true))
