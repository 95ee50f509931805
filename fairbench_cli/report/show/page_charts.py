"""What the marks of a run's page mean, and its charts that no switch changes.

The others are drawn by the page's script, `document/redraw.js`.
"""

import math
from collections.abc import Sequence

from fairbench_cli.base.grouping import group_by
from fairbench_cli.document import charts
from fairbench_cli.document.charts import LEFT, PLOT, SIDE, WIDTH, Axis, ChartLine, Point
from fairbench_cli.document.model import Chart
from fairbench_cli.report.ledger.answer import RunAnswer, RunSetting
from fairbench_cli.report.show.metric_wording import wording_of
from fairbench_cli.report.show.page_data import FORM_OF, RULES

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


def key_of_forests(*, known: bool = False) -> str:
    """Return the key to the marks of forests, with that of rules that are known."""
    words = GAP_WORDS | {".": "no difference shown, or not tested", "k": "known without training"}
    letters = "BLbowsc."
    if known:
        letters += "k"
    return charts.form_list((FORM_OF[letter][1], words[letter]) for letter in letters)


def around(values: Sequence[float], start: float, end: float, least: float = 0.5) -> Axis:
    """Return an axis with room around values; `least`: where they are all the same."""
    low = min(values)
    high = max(values)
    room = 0.08 * (high - low) or least
    return Axis(low - room, high + room, start, end)


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
    wording = wording_of(answer.metric)
    lines = []
    found = [
        (one, setting.beta) for setting in settings for one in (setting.baseline, *setting.findings) if one
    ]
    for technique, own in group_by(found, lambda each: each[0].technique).items():
        points = []
        for one, beta in own:
            value = one.value.mean
            accuracy = 100 * one.accuracy.mean
            if math.isfinite(value) and math.isfinite(accuracy):
                said = (
                    f"{technique}, β = {beta:g}: {wording.format_with_unit(value)}, accuracy {accuracy:.1f} %"
                )
                points.append((value, accuracy, said))
        lines.append(ChartLine(technique, points))
    return lines
