"""The charts of a run's page, from its numbers; the page's script draws forests and curves alike."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from fairbench_cli.document.charts import (
    LEFT,
    LINES,
    PLOT,
    SIDE,
    WIDTH,
    Axis,
    ChartLine,
    ForestRow,
    Track,
    cloud,
    forest,
    key,
    line,
    plot,
)
from fairbench_cli.report.page_numbers import FORM_OF, GRAIN, RULES, Scale

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

KNOWN = dict(
    zip(
        RULES,
        (
            "the same decision for everybody, the more accurate one",
            "accepts whoever is rather accepted in the record",
            "the best threshold of each group, the truth known",
        ),
        strict=True,
    )
)
"""What the rules are that are known without training."""

Data = dict[str, Any]


def drawn_forest(panel: Data, scales: Sequence[Scale], m: int, accuracy: int, base: str, beta: int) -> str:
    """Return the differences of a panel's techniques to one of them on a metric at a β."""
    scale = scales[m]
    rows = [forest_row(panel, scales, m, accuracy, base, t, beta) for t in range(len(panel["techniques"]))]
    rows = [*_known_rows(panel, scales, m, accuracy, beta), *rows]
    labels = of_beta(panel["labels"][m], beta)
    if labels is not None:
        written = scale.written(labels)
        said = f"{WORDS['L']}: {written} {scale.unit}"
        side = [("", "")] if m != accuracy else []
        row = ForestRow(
            "labels", "labels", scale.place(labels), None, None, None, said, [(written, ""), *side]
        )
        rows.insert(0, row)
    heads = [_named(scale), "value", *([ACCURACY] if m != accuracy else [])]
    ideal = (
        None
        if scale.ideal is None or not scale.axis[0] <= scale.ideal <= scale.axis[1]
        else scale.place(scale.ideal)
    )
    title = f"{panel['name']}: {scale.name} against {base}{_at_strength(panel, beta, ' at ')}"
    return which(panel, beta) + forest(title, heads, rows, ideal, scale.ticks)


def which(panel: Data, beta: int | None = None) -> str:
    """Return a line on the world, its strength and the labels of a chart; nothing in a run without worlds."""
    return f'<p class="which">{escape(which_words(panel, beta))}</p>\n' if panel["which"] else ""


def which_words(panel: Data, beta: int | None = None) -> str:
    """Return the world, its strength at a β, and the labels of a panel."""
    world, _, labels = panel["which"].partition(" · ")
    strength = "" if beta is None else _at_strength(panel, beta)
    named = "" if strength and world == panel["strength"] else world
    return " · ".join(filter(None, (named, strength, labels)))


def _at_strength(panel: Data, beta: int, before: str = "") -> str:
    """Return what β is, by the name that it has in a world; nothing where the world has no strength."""
    return f"{before}{panel['strength']} = {panel['betas'][beta]:g}" if panel["strength"] else ""


def of_beta(values: Any, beta: int) -> Any:
    """Return the value of a β, of one value for all or of a list."""
    return values[beta] if isinstance(values, list) else values


def _known_rows(
    panel: Data, scales: Sequence[Scale], m: int, accuracy: int, beta: int
) -> Iterator[ForestRow]:
    """Yield the rows of `RULES`, those that are known."""
    scale, count = scales[m], len(panel["betas"])
    for r, name in enumerate(RULES):
        value, right = (at(panel["known"][which], r * count + beta) for which in (m, accuracy))
        if value is None:
            continue
        side = (
            [] if m == accuracy else [("-" if right is None else f"{scales[accuracy].written(right)} %", "")]
        )
        said = f"{name}: {scale.written(value)}{f' {scale.unit}' if scale.unit else ''}; {KNOWN[name]}"
        texts = [(scale.written(value), ""), *side]
        yield ForestRow(name, "known", scale.place(value), None, None, None, said, texts)


def forest_row(
    panel: Data, scales: Sequence[Scale], m: int, accuracy: int, base: str, t: int, beta: int
) -> ForestRow:
    """Return the row of a technique; the page's script has the same function."""
    scale, count = scales[m], len(panel["betas"])
    name, i = panel["techniques"][t], t * count + beta
    mean = at(panel["mean"][m], i)
    against = panel["against"].get(base)
    side = [] if m == accuracy else [_aside(panel, scales[accuracy], accuracy, against, i)]
    if mean is None:
        why = panel["why"].get(str(i), "no finite value")
        return ForestRow(name, "open", None, None, None, None, f"{name}: {why}", [("-", ""), *side], why)
    n = panel["n"][m] if isinstance(panel["n"][m], int) else panel["n"][m][i]
    same = panel["same"].get(str(i), "")
    note = same or (f"{n} of {panel['repeats']}" if n < panel["repeats"] else "")
    of = f"{n} of {panel['repeats']} repeats"
    unit = f" {scale.unit}" if scale.unit else ""
    said = f"{name}: {scale.written(mean)}{unit}"
    if same:
        said += f", {same}"
    difference = None if against is None else at(against["difference"][m], i)
    if against is None or difference is None:
        letter = "B" if against is not None and t in against["base"] else "c" if same else "."
        own = scale.place(mean)
        line = own if letter == "B" else None
        return ForestRow(
            name,
            FORM_OF[letter][1],
            own,
            None,
            None,
            line,
            f"{said}; {of}",
            [(scale.written(mean), ""), *side],
            note,
        )
    letter, other = against["kind"][m][i], against["base"][t]
    start = at(panel["mean"][m], other * count + beta) or 0
    low, high = at(against["low"][m], i), at(against["high"][m], i)
    words = (GAP_WORDS if scale.gap else WORDS)[letter]
    said += f", {scale.written(difference, '+')} against {panel['techniques'][other]}"
    if low is not None and high is not None:
        said += f" ({scale.written(low, '+')} to {scale.written(high, '+')})"
    return ForestRow(
        name,
        FORM_OF[letter][1],
        scale.place(start + difference),
        None if low is None else scale.place(start + low),
        None if high is None else scale.place(start + high),
        scale.place(start),
        f"{said}: {words}; {of}",
        [(scale.written(mean), scale.written(difference, "+")), *side],
        note,
    )


def at(numbers: Sequence[int | None], i: int) -> int | None:
    """Return a number of a list that may be empty."""
    return numbers[i] if numbers else None


def _aside(panel: Data, scale: Scale, m: int, against: Data | None, i: int) -> tuple[str, str]:
    """Return the accuracy of a technique and how much it differs."""
    mean = at(panel["mean"][m], i)
    difference = None if against is None else at(against["difference"][m], i)
    change = "" if difference is None else scale.written(difference, "+")
    return ("-", "") if mean is None else (f"{scale.written(mean)} %", change)


def key_of_forests(*, known: bool = False) -> str:
    """Return what the marks of forests mean, with that of rules that are known."""
    words = GAP_WORDS | {".": "no difference shown, or not tested", "k": "known without training"}
    return key((FORM_OF[letter][1], words[letter]) for letter in "BLbowsc." + "k" * known)


def axis_of(scale: Scale, start: float, end: float) -> Axis:
    """Return the axis of a metric in a picture, in the unit that it is written in."""
    low, high, step = (each / (GRAIN / scale.times) for each in scale.axis)
    return Axis(low, high, start, end, step=step)


def own_axis(
    scale: Scale, numbers: Sequence[int | None], start: float, end: float, held: Sequence[int | None] = ()
) -> Axis:
    """Return an axis for some numbers of a metric, and for its ideal where that is 0.

    Those that they are `held` against are on it as far as that makes it no more than `MOST_WIDER` as long.
    """
    one = GRAIN / scale.times
    known = [each / one for each in numbers if each is not None]
    ends = [*known, 0.0] if scale.ideal == 0 else known
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    most = MOST_WIDER * (high - low)
    for value in sorted((each / one for each in held if each is not None), key=lambda x: abs(x - low)):
        if max(high, value) - min(low, value) <= most:
            low, high = min(low, value), max(high, value)
    room = 0.08 * (high - low) or 0.5
    return Axis(low - room, high + room, start, end)


MOST_WIDER = 2.5  # times as long as an axis of the techniques alone


def _named(scale: Scale) -> str:
    return f"{scale.name}, {scale.unit}" if scale.unit else scale.name


def parts_of(panel: Data) -> Iterator[list[int]]:
    """Yield the techniques of a panel in groups that fit into one picture, the first of all in each.

    Those that know the truth are in none: they are lines to hold the others against.

    >>> list(parts_of({"techniques": [*"abcdefgh"], "upper": [3]}))
    [[0, 1, 2, 4], [0, 5, 6, 7]]
    """
    own = [t for t in range(len(panel["techniques"])) if t not in panel["upper"] or t == 0]
    n, most = len(own), len(LINES)
    if n <= most:
        yield own
        return
    groups = -(-(n - 1) // (most - 1))
    size = -(-(n - 1) // groups)
    for start in range(1, n, size):
        yield [own[0], *own[start : start + size]]


def known_of(panel: Data, m: int) -> Iterator[tuple[str, list[int | None]]]:
    """Yield what techniques are held against, with its numbers over β: rules, then who knows the truth."""
    count = len(panel["betas"])
    rules = [(name, panel["known"][m], r) for r, name in enumerate(RULES)]
    upper = [(panel["techniques"][t], panel["mean"][m], t) for t in panel["upper"] if t]
    for name, own, i in (*rules, *upper):
        values = [at(own, i * count + k) for k in range(count)]
        if any(value is not None for value in values):
            yield name, values


def clouds(panel: Data, scales: Sequence[Scale], x: int, y: int) -> list[str]:
    """Return pictures of one metric against another: a way over β for each technique, from light to dark.

    What the techniques are held against is there where it is near them. The page's script draws the same.
    """
    return [drawn_cloud(panel, scales, x, y, part) for part in parts_of(panel)]


def drawn_cloud(panel: Data, scales: Sequence[Scale], x: int, y: int, part: Sequence[int]) -> str:
    """Return the picture of some of the techniques; those that are left out are in its axes, too."""
    across, up = scales[x], scales[y]
    title = f"{panel['name']}: {across.name} and {up.name}"
    held = [[value for _, own in known_of(panel, m) for value in own] for m in (x, y)]
    axes = (
        own_axis(across, panel["mean"][x], LEFT, WIDTH - SIDE, held[0]),
        own_axis(up, panel["mean"][y], PLOT + 16, 20, held[1]),
    )
    tracks = [Track(panel["techniques"][t], list(_points(panel, across, up, x, y, t))) for t in part]
    known = [
        Track(name, list(_known_points(panel, across, up, axes, name, a, dict(known_of(panel, y)).get(name))))
        for name, a in known_of(panel, x)
    ]
    shown, known = ([one for one in own if one.points] for own in (tracks, known))
    names = _named(across), _named(up)
    return which(panel) + cloud(title, *axes, shown, *names, zero=across.ideal == 0, known=known)


def _known_points(
    panel: Data,
    across: Scale,
    up: Scale,
    axes: tuple[Axis, Axis],
    name: str,
    numbers: Sequence[int | None],
    others: Sequence[int | None] | None,
) -> Iterator[tuple[float, float, str]]:
    """Yield points of what techniques are held against, those inside of the axes, none twice."""
    found: dict[tuple[float, float], str] = {}
    for k, (a, b) in enumerate(zip(numbers, others or [None] * len(numbers), strict=True)):
        if a is None or b is None:
            continue
        place = a / (GRAIN / across.times), b / (GRAIN / up.times)
        if all(axis.low <= value <= axis.high for axis, value in zip(axes, place, strict=True)):
            both = f"{across.name} {across.written(a)}, {up.name} {up.written(b)}"
            found.setdefault(place, f"{name}{_at_strength(panel, k, ', ')}: {both}")
    yield from ((*place, said) for place, said in found.items())


def _points(
    panel: Data, across: Scale, up: Scale, x: int, y: int, t: int
) -> Iterator[tuple[float, float, str]]:
    count = len(panel["betas"])
    for k in range(count):
        a, b = (at(panel["mean"][m], t * count + k) for m in (x, y))
        if a is None or b is None:
            continue
        same = panel["same"].get(str(t * count + k), "")
        both = f"{across.name} {across.written(a)}, {up.name} {up.written(b)}"
        said = f"{panel['techniques'][t]}{_at_strength(panel, k, ', ')}: {both}"
        yield a / (GRAIN / across.times), b / (GRAIN / up.times), f"{said}, {same}" if same else said


def curves(panel: Data, scales: Sequence[Scale], m: int, part: Sequence[int]) -> str:
    """Return a picture of a metric over β: a line for each technique with its interval over the repeats."""
    scale, count = scales[m], len(panel["betas"])
    if count == 1:  # the page's script says so too
        return which(panel) + '<figcaption class="fine">One strength only.</figcaption>'
    lines = []
    for t in part:
        points, limits = [], []
        for k, beta in enumerate(panel["betas"]):
            mean, low, high = (at(panel[name][m], t * count + k) for name in ("mean", "low", "high"))
            if mean is None:
                continue
            said = f"{panel['techniques'][t]}{_at_strength(panel, k, ', ')}: {scale.written(mean)}"
            if low is not None and high is not None:
                limits.append((beta, low / (GRAIN / scale.times), high / (GRAIN / scale.times)))
                said += f" ({scale.written(low)} to {scale.written(high)})"
            points.append((beta, mean / (GRAIN / scale.times), said))
        lines.append(ChartLine(panel["techniques"][t], points, limits))
    axes = _betas(panel["betas"]), axis_of(scale, PLOT, 12)
    known = []
    for name, values in known_of(panel, m):
        there = [
            (beta, value / (GRAIN / scale.times), name)
            for beta, value in zip(panel["betas"], values, strict=True)
            if value is not None and scale.axis[0] <= value <= scale.axis[1]
        ]
        known += [ChartLine(name, there)] * bool(there)
    strength = panel["strength"] or "β"
    title, about = f"{panel['name']}: {scale.name} over {strength}", f"{strength}; up: {_named(scale)}"
    return which(panel) + plot(title, *axes, lines, about, known=known)


def number_cells(
    panel: Data, scales: Sequence[Scale], m: int, accuracy: int, base: str, t: int, beta: int
) -> list[tuple[str, str, int | None]]:
    """Return the numbers of a technique at a β: texts, small print behind them, and values to sort by.

    The page's script has the same function.
    """
    scale, i = scales[m], t * len(panel["betas"]) + beta
    n = panel["n"][m] if isinstance(panel["n"][m], int) else panel["n"][m][i]
    of = (f"{n} of {panel['repeats']}", "", n)
    mean = at(panel["mean"][m], i)
    if mean is None:
        nothing = "", "", None
        return [
            ("-", "", None),
            nothing,
            (panel["why"].get(str(i), "no finite value"), "", None),
            nothing,
            of,
        ]
    against = panel["against"].get(base)
    difference = None if against is None else at(against["difference"][m], i)
    letter = "-" if against is None else against["kind"][m][i]
    change: tuple[str, str, int | None] = ("", "", None)
    if against is not None and difference is not None:
        change = (scale.written(difference, "+"), _span(scale, against, m, i, "+"), difference)
    elif against is not None and t in against["base"]:
        letter = "B"
    words = (GAP_WORDS if scale.gap else WORDS)[letter]
    own = at(panel["mean"][accuracy], i)
    right = "" if own is None else f"{scales[accuracy].written(own)} %"
    return [
        (scale.written(mean), _span(scale, panel, m, i), mean),
        change,
        ("" if letter == "-" else words, panel["same"].get(str(i), ""), None),
        (right, "", own),
        of,
    ]


def _span(scale: Scale, numbers: Data, m: int, i: int, sign: str = "") -> str:
    low, high = at(numbers["low"][m], i), at(numbers["high"][m], i)
    return "" if low is None or high is None else f"[{scale.written(low, sign)}, {scale.written(high, sign)}]"


def frontier_chart(
    title: str, frontier: Sequence[tuple[float, float]], techniques: Sequence[tuple[str, float, float]]
) -> str:
    """Return a picture of techniques next to what moved thresholds reach: gap and accuracy, in per cent."""
    across = [x for x, _ in frontier[:1]] + [x for _, x, _ in techniques]
    most = 1.15 * max(across) or 1.0
    up = [y for x, y in frontier if x <= most] + [y for _, _, y in techniques]
    room = 0.08 * (max(up) - min(up)) or 0.5
    x, y = Axis(0.0, most, LEFT, WIDTH - SIDE), Axis(min(up) - room, max(up) + room, PLOT + 16, 20)
    points = [
        (a, b, f"moved thresholds: gap {a:.1f} points, accuracy {b:.1f} %") for a, b in frontier if a <= most
    ]
    tracks = [
        Track(name, [(a, b, f"{name}: gap {a:.1f} points, accuracy {b:.1f} %")]) for name, a, b in techniques
    ]
    under = line(x, y, points, 0, "what moved thresholds reach")
    return cloud(title, x, y, tracks, "gap, points", "accuracy, %", under=under)


def _betas(betas: Sequence[float]) -> Axis:
    return Axis(min(betas), max(betas), LEFT, WIDTH - SIDE)
