"""What the marks of a run's page mean, and its charts that no switch changes.

The others are drawn by the page's script, `document/redraw.js`.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from fairbench_cli.document import charts
from fairbench_cli.document.charts import LEFT, PLOT, SIDE, WIDTH, Axis, ChartLine, Point
from fairbench_cli.document.model import Chart
from fairbench_cli.report.ledger.answer import RunAnswer, RunSetting
from fairbench_cli.report.show.metric_wording import wording_of
from fairbench_cli.report.show.page_panels import MARKS

KIND_TEXTS = {
    "B": "what the others are compared with",
    "L": "the labels of the test rows",
    "b": "better, beyond chance",
    "o": "overshoots, beyond chance",
    "w": "worse, beyond chance",
    "u": "higher, beyond chance",
    "d": "lower, beyond chance",
    "s": "shown to differ by less than the margin, 0.01 if the config says no other",
    "m": "another value beyond chance; that it is better or worse is not shown",
    "c": "the same decision for everybody",
    ".": "no difference shown",
    "?": "not tested",
    "-": "no value",
}
"""What the letters of `MARKS` say of a metric."""
GAP_KIND_TEXTS = KIND_TEXTS | {
    "b": "smaller gap, beyond chance",
    "w": "larger gap, beyond chance",
    "s": "shown to differ by less than the margin, a point if the config says no other",
    "m": "moves the gap beyond chance; that it is smaller or larger is not shown",
}
"""What they say of a gap between groups."""
RULE_TEXTS = {
    "same for everybody": "the same decision for everybody, the more accurate one",
    "rule of the data": "accepts people of whose like more than half are accepted in the record",
    "best possible": "the best threshold of each group, the truth known",
}
"""What people call `REFERENCE_RULES`, in their order, and what these decide; known without training."""


def draw_forest_legend(*, has_rules: bool) -> str:
    """Return the key to the marks of forests, with that of reference rules if any is drawn."""
    texts = GAP_KIND_TEXTS | {".": "no difference shown, or not tested", "k": "known without training"}
    letters = "BLbowsmc."
    if has_rules:
        letters += "k"
    return charts.form_list((MARKS[letter].form, texts[letter]) for letter in letters)


def axis_around(values: Sequence[float], start: float, end: float, least_room: float = 0.5) -> Axis:
    """Return an axis with room around values; `least_room`: where they are all the same."""
    low = min(values)
    high = max(values)
    room = 0.08 * (high - low) or least_room
    return Axis(low - room, high + room, start, end)


class FrontierPoint(NamedTuple):
    """A gap between groups and an accuracy, in per cent, that moved thresholds or a technique reach."""

    gap: float
    accuracy: float

    def chart_point(self, name: str) -> Point:
        """Return the mark of it, with its tooltip."""
        tooltip = f"{name}: gap {self.gap:.1f} points, accuracy {self.accuracy:.1f} %"
        return self.gap, self.accuracy, tooltip


def draw_frontier(
    title: str, frontier: Sequence[FrontierPoint], techniques: Sequence[tuple[str, FrontierPoint]]
) -> str:
    """Return a picture of techniques and of what moved thresholds reach; its first point always shows."""
    gaps = [point.gap for _, point in techniques]
    gaps += [point.gap for point in frontier[:1]]
    x_axis = Axis(0.0, 1.15 * max(gaps) or 1.0, LEFT, WIDTH - SIDE)
    near = [point for point in frontier if point.gap <= x_axis.high]
    accuracies = [point.accuracy for point in near]
    accuracies += [point.accuracy for _, point in techniques]
    y_axis = axis_around(accuracies, PLOT + 16, 20)
    reached = [point.chart_point("moved thresholds") for point in near]
    lines_below = [ChartLine("what moved thresholds reach", reached)]
    tracks = [ChartLine(name, [point.chart_point(name)]) for name, point in techniques]
    return charts.plot_paths(
        title, x_axis, y_axis, tracks, "gap, points", "accuracy, %", lines_below=lines_below
    )


def draw_calibration(title: str, lines: Sequence[ChartLine]) -> str:
    """Return a picture of the share with label 1 over the score, a line a group, and where both are equal."""
    score_axis = Axis(0.0, 1.0, LEFT)
    share_axis = Axis(0.0, 1.0, 10.0 + PLOT, 10.0, percent=True)
    equal = charts.diagonal(score_axis, share_axis, "as many as the score says")
    return charts.plot_lines(title, score_axis, share_axis, lines, "mean score", underlay=equal)


def answer_chart(answer: RunAnswer) -> Chart | None:
    """Return the picture of the first data set, groups and classifier; None where nothing has a value.

    What each technique leaves of the gap is on the horizontal axis; its accuracy, in per cent, on the other.
    """
    for settings in answer.blocks:
        tracks = _technique_tracks(settings, answer)
        points = [point for track in tracks for point in track.points]
        if not points:
            continue
        first = settings[0]
        title = f"{first.dataset_label}, {first.deprived} against {first.favoured}, {first.classifier_label}"
        has_zero = answer.metric.ideal == 0
        gaps = [x for x, _, _ in points]
        if has_zero:
            gaps.append(0.0)
        accuracies = [y for _, y, _ in points]
        x_axis = axis_around(gaps, LEFT, WIDTH - 4 * SIDE, least_room=0.01)
        y_axis = axis_around(accuracies, PLOT + 16, 20, least_room=0.01)
        svg = charts.plot_paths(
            title, x_axis, y_axis, tracks, answer.metric.name, "accuracy, %", zero=has_zero
        )
        caption = "means over the repeats"
        if len(settings) > 1:
            caption += "; from light to dark: β"
        if len(answer.blocks) > 1:
            caption += f"; the first of {len(answer.blocks)}, report.html has all"
        return Chart(title, svg, caption)
    return None


def _technique_tracks(settings: Sequence[RunSetting], answer: RunAnswer) -> list[ChartLine]:
    """Return the way of each technique over β, that of the baseline first."""
    wording = wording_of(answer.metric, answer.margin)
    points: dict[str, list[Point]] = {}
    for setting in settings:
        findings = list(setting.findings)
        if setting.baseline is not None:
            findings.insert(0, setting.baseline)
        for finding in findings:
            track = points.setdefault(finding.technique, [])
            gap = finding.value.mean
            accuracy = 100 * finding.accuracy.mean
            if math.isfinite(gap) and math.isfinite(accuracy):
                name = f"{finding.technique}, β = {setting.beta:g}"
                track.append(
                    (gap, accuracy, f"{name}: {wording.format_with_unit(gap)}, accuracy {accuracy:.1f} %")
                )
    return [ChartLine(technique, track) for technique, track in points.items()]
