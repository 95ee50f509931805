"""The answer in one picture: what each technique leaves of the gap, and its accuracy, a way over β."""

import math
from collections.abc import Sequence

from fairbench_cli.document.charts import LEFT, PLOT, SIDE, WIDTH, Axis, Track, cloud
from fairbench_cli.document.model import Chart
from fairbench_cli.report.answer import RunAnswer, RunSetting, TechniqueFinding
from fairbench_cli.report.reading import reading_of

ROOM = 0.08  # around the values, as a share of their span


def answer_chart(answer: RunAnswer) -> Chart | None:
    """Return the picture of the first data set, groups and classifier; None where nothing has a value.

    The metric of fairness is on the horizontal axis, as its numbers are; accuracy, in per cent, on the other.
    """
    blocks = dict.fromkeys(setting.block for setting in answer.settings)
    for block in blocks:
        own = [setting for setting in answer.settings if setting.block == block]
        tracks = [track for track in _tracks(own, answer) if track.points]
        if tracks:
            first, name = own[0], answer.metric.name
            groups = f"{first.deprived} against {first.favoured}"
            title = f"{first.dataset_label}, {groups}, {first.classifier_label}"
            points = [point for track in tracks for point in track.points]
            across, up = [x for x, _, _ in points], [y for _, y, _ in points]
            zero = answer.metric.ideal == 0
            axes = (
                _axis([*across, 0.0] if zero else across, LEFT, WIDTH - 4 * SIDE),
                _axis(up, PLOT + 16, 20),
            )
            drawn = cloud(title, *axes, tracks, name, "accuracy, %", zero=zero)
            more = "" if len(blocks) == 1 else f"; the first of {len(blocks)}, report.html has all"
            betas = "; from light to dark: β" if len(own) > 1 else ""
            return Chart(title, drawn, f"means over the repeats{betas}{more}")
    return None


def _tracks(settings: Sequence[RunSetting], answer: RunAnswer) -> list[Track]:
    """Return the way of each technique over β, that of the plain model first."""
    reading = reading_of(answer.metric)
    points: dict[str, list[tuple[float, float, str]]] = {}
    for setting in settings:
        plain: tuple[TechniqueFinding, ...] = () if setting.plain is None else (setting.plain,)
        for one in (*plain, *setting.findings):
            value, accuracy = one.value.mean, 100 * one.accuracy.mean
            own = points.setdefault(one.technique, [])
            if math.isfinite(value) and math.isfinite(accuracy):
                said = (
                    f"{one.technique}, β = {setting.beta:g}: {reading.size(value)}, accuracy {accuracy:.1f} %"
                )
                own.append((value, accuracy, said))
    return [Track(name, own) for name, own in points.items()]


def _axis(values: Sequence[float], start: float, end: float) -> Axis:
    low, high = min(values), max(values)
    room = ROOM * (high - low) or 0.01
    return Axis(low - room, high + room, start, end)
