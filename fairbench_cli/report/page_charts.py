"""The charts of a run's page, from its numbers, and of its answer.

The page's script draws forests, planes and curves alike.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

from fairbench_cli.base.grouping import group_by
from fairbench_cli.document import charts
from fairbench_cli.document.charts import LEFT, PLOT, SIDE, WIDTH, Axis, ChartLine, ForestRow, Point
from fairbench_cli.document.model import Chart, TableCell
from fairbench_cli.report.answer import RunAnswer, RunSetting
from fairbench_cli.report.page_numbers import FORM_OF, RULES, Data, Scale, Whole
from fairbench_cli.report.reading import reading_of

ACCURACY = "accuracy"
WORDS = {
    "B": "what the others are compared with",
    "L": "the labels of the test rows",
    "b": "better, beyond chance",
    "o": "overshoots, beyond chance",
    "w": "worse, beyond chance",
    "u": "higher, beyond chance",
    "d": "lower, beyond chance",
    "s": "shown to differ by less than 0.01",
    "c": "the same decision for everybody",
    ".": "no difference shown",
    "?": "not tested",
    "-": "no value",
}
GAP_WORDS = WORDS | {
    "b": "smaller gap, beyond chance",
    "w": "larger gap, beyond chance",
    "s": "shown to differ by less than a point",
}
"""What the letters of `FORM_OF` say, of a metric and of a gap between groups."""
KNOWN = {
    RULES[0]: "the same decision for everybody, the more accurate one",
    RULES[1]: "accepts whoever is rather accepted in the record",
    RULES[2]: "the best threshold of each group, the truth known",
}
"""What the rules are that are known without training."""
MOST_WIDER = 2.5  # times as long as an axis of the techniques alone


@dataclass(frozen=True)
class Shown:
    """What the switches of a page choose: of all metrics one, and what techniques are compared with."""

    scales: Sequence[Scale]
    metric: str
    base: str

    def at(self, metric: str) -> int:
        """Return the place of a metric."""
        return [scale.name for scale in self.scales].index(metric)

    @cached_property
    def m(self) -> int:
        """The place of the metric that is chosen."""
        return self.at(self.metric)

    @cached_property
    def accuracy(self) -> int:
        """The place of accuracy."""
        return self.at(ACCURACY)

    @property
    def scale(self) -> Scale:
        """How the metric that is chosen is written."""
        return self.scales[self.m]

    @property
    def words(self) -> dict[str, str]:
        """What letters of the metric that is chosen say."""
        if self.scale.gap:
            return GAP_WORDS
        return WORDS

    def aside(self, mean: Whole, change: Whole = None) -> list[tuple[str, str]]:
        """Return an accuracy and how much it differs, as a forest of another metric has them at its side."""
        if self.metric == ACCURACY:
            return []
        scale = self.scales[self.accuracy]
        if mean is None or change is None:
            small = ""
        else:
            small = scale.written(change, "+")
        return [("-" if mean is None else f"{scale.written(mean)} %", small)]


def drawn_forest(panel: Data, shown: Shown, beta: int) -> str:
    """Return the differences of a panel's techniques to one of them on a metric at a β."""
    scale = shown.scale
    m = shown.m
    count = len(panel["betas"])
    rows = []
    labels = of_beta(panel["labels"][m], beta)
    if labels is not None:
        written = scale.written(labels)
        said = f"{WORDS['L']}: {written} {scale.unit}"
        texts = [(written, "")]
        if shown.metric != ACCURACY:
            texts.append(("", ""))
        rows.append(ForestRow("labels", "labels", said, texts, position=scale.place(labels)))
    for r, (name, words) in enumerate(KNOWN.items()):
        value, right = (at(panel["known"][each], r * count + beta) for each in (m, shown.accuracy))
        if value is not None:
            said = f"{name}: {scale.with_unit(value)}; {words}"
            texts = [(scale.written(value), ""), *shown.aside(right)]
            rows.append(ForestRow(name, "known", said, texts, position=scale.place(value)))
    rows += [forest_row(panel, shown, t, beta) for t in range(len(panel["techniques"]))]
    heads = [scale.named, "value"]
    if shown.metric != ACCURACY:
        heads.append(ACCURACY)
    seen = scale.ideal is not None and scale.axis[0] <= scale.ideal <= scale.axis[1]
    title = f"{panel['name']}: {scale.name} against {shown.base}{_at_strength(panel, beta, ' at ')}"
    if seen and scale.ideal is not None:
        ideal = scale.place(scale.ideal)
    else:
        ideal = None
    return which(panel, beta) + charts.forest_table(title, heads, rows, ideal, scale.ticks)


def forest_row(panel: Data, shown: Shown, t: int, beta: int) -> ForestRow:
    """Return the row of a technique; the page's script has the same function."""
    scale = shown.scale
    m = shown.m
    i = t * len(panel["betas"]) + beta
    name = panel["techniques"][t]
    mean = at(panel["mean"][m], i)
    against = panel["against"].get(shown.base)
    if against is None:
        change = None
    else:
        change = at(against["difference"][shown.accuracy], i)
    side = shown.aside(_accuracy(panel, shown, i), change)
    if mean is None:
        why = panel["why"].get(str(i), "no finite value")
        return ForestRow(name, "open", f"{name}: {why}", [("-", ""), *side], why)
    n = of_beta(panel["n"][m], i)
    repeats = panel["repeats"]
    same = panel["same"].get(str(i), "")
    note = same or (f"{n} of {repeats}" if n < repeats else "")
    said = f"{name}: {scale.with_unit(mean)}{f', {same}' if same else ''}"
    if against is None:
        difference = None
    else:
        difference = at(against["difference"][m], i)
    if against is None or difference is None:
        is_base = against is not None and t in against["base"]
        place = scale.place(mean)
        if is_base:
            letter = "B"
        elif same:
            letter = "c"
        else:
            letter = "."
        texts = [(scale.written(mean), ""), *side]
        said = f"{said}; {n} of {repeats} repeats"
        if is_base:
            base = place
        else:
            base = None
        return ForestRow(name, FORM_OF[letter][1], said, texts, note, place, base=base)
    letter = against["kind"][m][i]
    other = against["base"][t]
    start = at(panel["mean"][m], other * len(panel["betas"]) + beta) or 0
    low, high = (at(against[end][m], i) for end in ("low", "high"))
    said += f", {scale.written(difference, '+')} against {panel['techniques'][other]}"
    if low is not None and high is not None:
        said += f" ({scale.written(low, '+')} to {scale.written(high, '+')})"
    said += f": {shown.words[letter]}; {n} of {repeats} repeats"
    texts = [(scale.written(mean), scale.written(difference, "+")), *side]
    middle, left, right = (
        None if each is None else scale.place(start + each) for each in (difference, low, high)
    )
    form = FORM_OF[letter][1]
    return ForestRow(name, form, said, texts, note, middle, left, right, scale.place(start))


def number_cells(panel: Data, shown: Shown, t: int, beta: int) -> list[TableCell]:
    """Return the numbers of a technique at a β; the page's script has the same function."""
    scale = shown.scale
    m = shown.m
    i = t * len(panel["betas"]) + beta
    n = of_beta(panel["n"][m], i)
    mean = at(panel["mean"][m], i)
    of = TableCell(f"{n} of {panel['repeats']}", value=n)
    if mean is None:
        why = panel["why"].get(str(i), "no finite value")
        return [*map(TableCell, ("-", "", why, "")), of]
    against = panel["against"].get(shown.base)
    if against is None:
        difference = None
    else:
        difference = at(against["difference"][m], i)
    change = TableCell("")
    if against is None:
        letter = "-"
    else:
        letter = against["kind"][m][i]
    if against is not None and difference is not None:
        span = _span(scale, against, m, i, "+")
        change = TableCell(scale.written(difference, "+"), span, difference)
    elif against is not None and t in against["base"]:
        letter = "B"
    if letter == "-":
        words = ""
    else:
        words = shown.words[letter]
    own = _accuracy(panel, shown, i)
    return [
        TableCell(scale.written(mean), _span(scale, panel, m, i), mean),
        change,
        TableCell(words, panel["same"].get(str(i), "")),
        TableCell("" if own is None else f"{shown.scales[shown.accuracy].written(own)} %", value=own),
        of,
    ]


def _accuracy(panel: Data, shown: Shown, i: int) -> Whole:
    return at(panel["mean"][shown.accuracy], i)


def _span(scale: Scale, numbers: Data, m: int, i: int, sign: str = "") -> str:
    low = at(numbers["low"][m], i)
    high = at(numbers["high"][m], i)
    if low is None or high is None:
        return ""
    return f"[{scale.written(low, sign)}, {scale.written(high, sign)}]"


def at(numbers: Sequence[Whole], i: int) -> Whole:
    """Return a number of a list that may be empty."""
    if numbers:
        return numbers[i]
    return None


def of_beta(values: Any, beta: int) -> Any:
    """Return the value of a β, of one value for all or of a list."""
    if isinstance(values, list):
        return values[beta]
    return values


def which(panel: Data, beta: int | None = None) -> str:
    """Return a line on the world, its strength and the labels of a chart; nothing in a run without worlds."""
    if panel["which"]:
        return f'<p class="which">{escape(which_words(panel, beta))}</p>\n'
    return ""


def which_words(panel: Data, beta: int | None = None) -> str:
    """Return the world, its strength at a β, and the labels of a panel."""
    world, _, labels = panel["which"].partition(" · ")
    if beta is None:
        strength = ""
    else:
        strength = _at_strength(panel, beta)
    if strength and world == panel["strength"]:
        named = ""
    else:
        named = world
    return " · ".join(filter(None, (named, strength, labels)))


def _at_strength(panel: Data, beta: int, before: str = "") -> str:
    """Return the value of β, by the name that it has in a world. Empty where the world has no strength."""
    if panel["strength"]:
        return f"{before}{panel['strength']} = {panel['betas'][beta]:g}"
    return ""


def key_of_forests(*, known: bool = False) -> str:
    """Return the key to the marks of forests, with that of rules that are known."""
    words = GAP_WORDS | {".": "no difference shown, or not tested", "k": "known without training"}
    letters = "BLbowsc."
    if known:
        letters += "k"
    return charts.form_list((FORM_OF[letter][1], words[letter]) for letter in letters)


def known_of(panel: Data, m: int) -> dict[str, list[Whole]]:
    """Return the numbers over β that techniques are held against: of rules, then of who knows the truth."""
    found = {name: _over(panel, panel["known"][m], r) for r, name in enumerate(RULES)}
    found |= {panel["techniques"][t]: _over(panel, panel["mean"][m], t) for t in panel["upper"] if t}
    return {name: own for name, own in found.items() if any(value is not None for value in own)}


def _over(panel: Data, numbers: Sequence[Whole], i: int) -> list[Whole]:
    """Return the numbers of a technique or rule over β."""
    count = len(panel["betas"])
    return [at(numbers, i * count + k) for k in range(count)]


def drawn_cloud(panel: Data, scales: Sequence[Scale], x: int, y: int, part: Sequence[int]) -> str:
    """Return a picture of one metric against another: a way over β for some of the techniques.

    What they are held against is there where it is near them; those that are left out are in the axes, too.
    The page's script draws the same.
    """
    across = scales[x]
    up = scales[y]
    held = known_of(panel, x)
    others = known_of(panel, y)
    axes = (
        own_axis(across, panel["mean"][x], LEFT, WIDTH - SIDE, held),
        own_axis(up, panel["mean"][y], PLOT + 16, 20, others),
    )

    def track(name: str, pairs: Iterable[tuple[Whole, Whole]], same: Sequence[str] = ()) -> ChartLine:
        points = []
        for k, (a, b) in enumerate(pairs):
            if a is not None and b is not None:
                said = f"{name}{_at_strength(panel, k, ', ')}: "
                said += f"{across.name} {across.written(a)}, {up.name} {up.written(b)}"
                if same and same[k]:
                    more = f", {same[k]}"
                else:
                    more = ""
                points.append((across.value(a), up.value(b), said + more))
        return ChartLine(name, points)

    tracks = []
    known = []
    for t in part:
        pairs = zip(*(_over(panel, panel["mean"][m], t) for m in (x, y)), strict=True)
        same = [panel["same"].get(str(t * len(panel["betas"]) + k), "") for k in range(len(panel["betas"]))]
        tracks.append(track(panel["techniques"][t], pairs, same))
    for name, values in held.items():
        whole = track(name, zip(values, others.get(name, [None] * len(values)), strict=True))
        inside: dict[tuple[float, float], Point] = {}
        for a, b, said in whole.points:
            if axes[0].low <= a <= axes[0].high and axes[1].low <= b <= axes[1].high:
                inside.setdefault((a, b), (a, b, said))
        known.append(ChartLine(name, list(inside.values())))
    title = f"{panel['name']}: {across.name} and {up.name}"
    zero = across.ideal == 0
    return which(panel) + charts.plot_paths(
        title, *axes, tracks, across.named, up.named, zero=zero, reference_lines=known
    )


def own_axis(
    scale: Scale,
    numbers: Iterable[Whole],
    start: float,
    end: float,
    held: Mapping[str, Iterable[Whole]],
) -> Axis:
    """Return an axis for some numbers of a metric, and for its ideal where that is 0.

    Those that they are `held` against are on it as far as that makes it no more than `MOST_WIDER` as long.
    """
    ends = [scale.value(each) for each in numbers if each is not None]
    if scale.ideal == 0:
        ends.append(0.0)
    low = min(ends, default=0.0)
    high = max(ends, default=1.0)
    most = MOST_WIDER * (high - low)
    values = [scale.value(each) for own in held.values() for each in own if each is not None]
    for value in sorted(values, key=lambda x: abs(x - low)):
        if max(high, value) - min(low, value) <= most:
            low = min(low, value)
            high = max(high, value)
    return around([low, high], start, end)


def around(values: Sequence[float], start: float, end: float, least: float = 0.5) -> Axis:
    """Return an axis with room around values; `least`: where they are all the same."""
    low = min(values)
    high = max(values)
    room = 0.08 * (high - low) or least
    return Axis(low - room, high + room, start, end)


def drawn_curves(panel: Data, scale: Scale, m: int, part: Sequence[int]) -> str:
    """Return a picture of a metric over β: a line for each technique with its interval over the repeats."""
    betas = panel["betas"]
    if len(betas) == 1:  # the page's script says so too
        return which(panel) + '<figcaption class="fine">One strength only.</figcaption>'
    lines = []
    for t in part:
        name = panel["techniques"][t]
        points = []
        limits = []
        ends = [_over(panel, panel[each][m], t) for each in ("mean", "low", "high")]
        for k, (mean, low, high) in enumerate(zip(*ends, strict=True)):
            if mean is None:
                continue
            said = f"{name}{_at_strength(panel, k, ', ')}: {scale.written(mean)}"
            if low is not None and high is not None:
                limits.append((betas[k], scale.value(low), scale.value(high)))
                said += f" ({scale.written(low)} to {scale.written(high)})"
            points.append((betas[k], scale.value(mean), said))
        lines.append(ChartLine(name, points, limits))
    low, high, step = scale.axis
    known = []
    for name, values in known_of(panel, m).items():
        there = [
            (beta, scale.value(value), name)
            for beta, value in zip(betas, values, strict=True)
            if value is not None and low <= value <= high
        ]
        if there:
            known.append(ChartLine(name, there))
    across = Axis(min(betas), max(betas), LEFT, WIDTH - SIDE)
    up = Axis(scale.value(low), scale.value(high), PLOT, 12, step=scale.value(step))
    strength = panel["strength"] or "β"
    title = f"{panel['name']}: {scale.name} over {strength}"
    about = f"{strength}; up: {scale.named}"
    return which(panel) + charts.plot_lines(title, across, up, lines, about, reference_lines=known)


def frontier_chart(
    title: str, frontier: Sequence[tuple[float, float]], techniques: Sequence[tuple[str, float, float]]
) -> str:
    """Return a picture of techniques next to what moved thresholds reach: gap and accuracy, in per cent."""
    most = 1.15 * max([*(x for x, _ in frontier[:1]), *(x for _, x, _ in techniques)]) or 1.0
    near = [(x, y) for x, y in frontier if x <= most]
    up = [*(y for _, y in near), *(y for _, _, y in techniques)]
    axes = Axis(0.0, most, LEFT, WIDTH - SIDE), around(up, PLOT + 16, 20)

    def point(name: str, gap: float, accuracy: float) -> Point:
        return gap, accuracy, f"{name}: gap {gap:.1f} points, accuracy {accuracy:.1f} %"

    under = [ChartLine("what moved thresholds reach", [point("moved thresholds", *each) for each in near])]
    tracks = [ChartLine(name, [point(name, *place)]) for name, *place in techniques]
    return charts.plot_paths(title, *axes, tracks, "gap, points", "accuracy, %", lines_below=under)


def answer_chart(answer: RunAnswer) -> Chart | None:
    """Return the picture of the first data set, groups and classifier; None where nothing has a value.

    What each technique leaves of the gap is on the horizontal axis; its accuracy, in per cent, on the other.
    """
    for own in answer.blocks:
        tracks = _tracks(own, answer)
        points = [point for track in tracks for point in track.points]
        if not points:
            continue
        first = own[0]
        zero = answer.metric.ideal == 0
        title = f"{first.dataset_label}, {first.deprived} against {first.favoured}, {first.classifier_label}"
        across = [x for x, _, _ in points]
        up = [y for _, y, _ in points]
        x = around([*across, 0.0] if zero else across, LEFT, WIDTH - 4 * SIDE, least=0.01)
        y = around(up, PLOT + 16, 20, least=0.01)
        drawn = charts.plot_paths(title, x, y, tracks, answer.metric.name, "accuracy, %", zero=zero)
        if len(answer.blocks) == 1:
            more = ""
        else:
            more = f"; the first of {len(answer.blocks)}, report.html has all"
        if len(own) > 1:
            betas = "; from light to dark: β"
        else:
            betas = ""
        return Chart(title, drawn, f"means over the repeats{betas}{more}")
    return None


def _tracks(settings: Sequence[RunSetting], answer: RunAnswer) -> list[ChartLine]:
    """Return the way of each technique over β, that of the plain model first."""
    reading = reading_of(answer.metric)
    lines = []
    found = [(one, setting.beta) for setting in settings for one in (setting.plain, *setting.findings) if one]
    for technique, own in group_by(found, lambda each: each[0].technique).items():
        points = []
        for one, beta in own:
            value = one.value.mean
            accuracy = 100 * one.accuracy.mean
            if math.isfinite(value) and math.isfinite(accuracy):
                said = f"{technique}, β = {beta:g}: {reading.size(value)}, accuracy {accuracy:.1f} %"
                points.append((value, accuracy, said))
        lines.append(ChartLine(technique, points))
    return lines
