"""The page of a run: the answer, then charts and tables that answer "who, by how much, at what cost"."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairbench_cli.document.charts import FORMS, Axis, ForestRow, Track, cloud, forest
from fairbench_cli.document.model import Chart, Document, Section, Switch, TableCell, TextTable, table_of
from fairbench_cli.experiment.config.outputs import TABLES
from fairbench_cli.report.page_numbers import (
    KINDS,
    PanelNumbers,
    Scale,
    metrics_of,
    panel_data,
    panels_of,
    scale_of,
)
from fairbench_cli.report.paired import Baseline, find_baseline, paired_frame
from fairbench_cli.report.repeats import TECHNIQUE
from fairbench_cli.report.results import Results, RunResults
from fairbench_cli.report.tables import technique_label

FIRST = TABLES["difference-to-none"].metrics
ACCURACY = "accuracy"

WORDS = {
    "B": "what the others are compared with",
    "b": "better, beyond chance",
    "o": "overshoots, beyond chance",
    "w": "worse, beyond chance",
    ".": "no difference shown",
    "u": "higher, beyond chance",
    "d": "lower, beyond chance",
    "c": "the same decision for everybody",
}
GAP_WORDS = WORDS | {"b": "smaller gap, beyond chance", "w": "larger gap, beyond chance"}
"""What the letters of `KINDS` say, of a metric and of a gap between groups."""

Data = dict[str, Any]


def run_page(run: RunResults, paired: pd.DataFrame) -> Document:
    """Return the page of a run.

    Parameters
    ----------
    paired : DataFrame
        `paired_frame` of the metrics that the config names.
    """
    config = run.plan.config
    shown = tuple(dict.fromkeys([*FIRST, *config.at_hand]))
    results = run.asked(shown)
    results = results.take(np.argsort([shown.index(name) for name in results.rows["metric"]], kind="stable"))
    panels = panels_of(run, results, _frames(run, results, paired))
    names = metrics_of(results)
    metrics = [results.metric(name) for name in names]
    scales = [scale_of(metric, panels, m) for m, metric in enumerate(metrics)]
    ideals = [metric.ideal for metric in metrics]
    drawn = [panel_data(panel, ideals, config.repeats, _wider(panel)) for panel in panels]
    betas = sorted({beta for panel in panels for beta in panel.betas})
    labels = list(dict.fromkeys(label for panel in panels for label in panel.against))
    beta = betas[len(betas) // 2]
    base = labels[0] if labels else ""
    switches = (
        *_switch("dataset", "Data set", [str(panel.place[0]) for panel in panels], "all"),
        *_switch("compared", "Groups of", [str(panel.place[2]) for panel in panels], "all"),
        *_switch("classifier", "Classifier", [panel.classifier for panel in panels], "all"),
        *_switch("beta", "β", [f"{one:g}" for one in betas], "", f"{beta:g}"),
        *_switch("metric", "Metric", names, "", names[0]),
        *_switch("base", "Against", labels, "", base),
    )
    data = {
        "scales": [vars(scale) | {"step": scale.step} for scale in scales],
        "words": [WORDS, GAP_WORDS],
        "kinds": KINDS,
        "forms": FORMS,
        "chosen": {"beta": f"{beta:g}", "metric": names[0], "base": base},
        "accuracy": names.index(ACCURACY),
        "panels": drawn,
    }
    cards = tuple(
        _card(number, panel, own, scales, data["accuracy"], base, beta)
        for number, (panel, own) in enumerate(zip(panels, drawn, strict=True))
    )
    return Document(
        config.name,
        facts=(facts_of(run),),
        sections=(Section("Differences", sections=cards, tiled=True, anchor="differences"),),
        switches=switches,
        data=json.dumps(data, ensure_ascii=False, separators=(",", ":")),
    )


def facts_of(run: RunResults) -> str:
    """Return what was run, in one line."""
    return run.plan.config.name


def _switch(
    name: str, title: str, values: Sequence[str], every: str = "", chosen: str = ""
) -> tuple[Switch, ...]:
    """Return a switch between values, and perhaps all of them; none where there is nothing to choose."""
    known = list(dict.fromkeys(values))
    options = [("", every)] * bool(every) + [(value, value) for value in known]
    return (Switch(name, title, tuple(options), chosen),) if len(known) > 1 else ()


def _frames(run: RunResults, results: Results, paired: pd.DataFrame) -> list[tuple[Baseline, pd.DataFrame]]:
    """Return the differences to `none`, which are known, and to each other technique.

    Where repeats share their test rows each test looks at every row of them: there the differences to other
    techniques are of the metrics `FIRST` alone.
    """
    known = set(paired["metric"]) if len(paired) else set(run.plan.config.at_hand)
    missing = tuple(name for name in FIRST if name not in known)
    frames = [paired, paired_frame(run.asked(missing))] if missing else [paired]
    shared = any(data.design.kind == "shared" for data in run.datasets)
    others = run.asked(FIRST) if shared else results
    techniques = results.rows[TECHNIQUE[:2]].drop_duplicates().itertuples(index=False, name=None)
    labels = dict.fromkeys(technique_label(*own, False) for own in techniques)
    found = [(Baseline(), pd.concat(frames, ignore_index=True))] if "none" in labels else []
    found += [
        (find_baseline(results, label), paired_frame(others, label)) for label in labels if label != "none"
    ]
    return [(one, frame) for one, frame in found if len(frame)]


def _wider(panel: PanelNumbers) -> float:
    """Return by which factor intervals over random splits are too narrow (Nadeau and Bengio 2003)."""
    design, repeats = panel.data.design, panel.data.status.shape[1]
    return float(np.sqrt(1 + repeats * design.ratio))


def _card(
    number: int,
    panel: PanelNumbers,
    data: Data,
    scales: Sequence[Scale],
    accuracy: int,
    base: str,
    beta: float,
) -> Section:
    dataset, attribute, compared, representation, *_ = map(str, panel.place)
    title = dataset if compared == attribute else f"{dataset}: {compared}"
    about = (("dataset", dataset), ("compared", compared), ("classifier", panel.classifier))
    at = panel.betas.index(beta) if beta in panel.betas else 0
    chart = Chart("", drawn_forest(data, scales, 0, accuracy, base, at), key=f"forest-{number}")
    return Section(title, charts=(chart,), about=about, fine=f"{attribute}")


def drawn_forest(panel: Data, scales: Sequence[Scale], m: int, accuracy: int, base: str, beta: int) -> str:
    """Return the differences of a panel's techniques to one of them on a metric at a β."""
    scale = scales[m]
    rows = [forest_row(panel, scales, m, accuracy, base, t, beta) for t in range(len(panel["techniques"]))]
    unit = {"points": "points", "%": "%", "": ""}[scale.unit]
    name = f"{scale.name}, {unit}" if unit else scale.name
    heads = ["", name, "value", ACCURACY] if m != accuracy else ["", name, "value"]
    ideal = (
        None
        if scale.ideal is None or not scale.axis[0] <= scale.ideal <= scale.axis[1]
        else scale.place(scale.ideal)
    )
    title = f"{panel['name']}: {scale.name} against {base} at β = {panel['betas'][beta]:g}"
    return forest(title, heads, rows, ideal, scale.ticks)


def forest_row(
    panel: Data, scales: Sequence[Scale], m: int, accuracy: int, base: str, t: int, beta: int
) -> ForestRow:
    """Return the row of a technique; the page's script has the same function."""
    scale, count = scales[m], len(panel["betas"])
    name, i = panel["techniques"][t], t * count + beta
    mean = _at(panel["mean"][m], i)
    against = panel["against"].get(base)
    side = [] if m == accuracy else [_aside(panel, scales[accuracy], accuracy, against, i)]
    if mean is None:
        why = panel["why"].get(str(i), "no value")
        return ForestRow(name, "open", None, None, None, None, f"{name}: {why}", [("-", ""), *side], why)
    n = panel["n"][m] if isinstance(panel["n"][m], int) else panel["n"][m][i]
    same = panel["same"].get(str(i), "")
    note = same or (f"{n} of {panel['repeats']}" if n < panel["repeats"] else "")
    of = f"{n} of {panel['repeats']} repeats"
    unit = f" {scale.unit}" if scale.unit else ""
    said = f"{name}: {scale.written(mean)}{unit}"
    if same:
        said += f", {same}"
    difference = None if against is None else _at(against["difference"][m], i)
    if against is None or difference is None:
        letter = "B" if against is not None and t in against["base"] else "c" if same else "."
        own = scale.place(mean)
        line = own if letter == "B" else None
        return ForestRow(
            name,
            KINDS[letter],
            own,
            None,
            None,
            line,
            f"{said}; {of}",
            [(scale.written(mean), ""), *side],
            note,
        )
    letter, other = against["kind"][m][i], against["base"][t]
    start = _at(panel["mean"][m], other * count + beta) or 0
    low, high = _at(against["low"][m], i), _at(against["high"][m], i)
    words = (GAP_WORDS if scale.gap else WORDS)[letter]
    said += f", {scale.written(difference, '+')} against {panel['techniques'][other]}"
    if low is not None and high is not None:
        said += f" ({scale.written(low, '+')} to {scale.written(high, '+')})"
    return ForestRow(
        name,
        KINDS[letter],
        scale.place(start + difference),
        None if low is None else scale.place(start + low),
        None if high is None else scale.place(start + high),
        scale.place(start),
        f"{said}: {words}; {of}",
        [(scale.written(mean), scale.written(difference, "+")), *side],
        note,
    )


def _at(numbers: Sequence[int | None], i: int) -> int | None:
    return numbers[i] if numbers else None


def _aside(panel: Data, scale: Scale, m: int, against: Data | None, i: int) -> tuple[str, str]:
    """Return the accuracy of a technique and how much it differs."""
    mean = _at(panel["mean"][m], i)
    difference = None if against is None else _at(against["difference"][m], i)
    change = "" if difference is None else scale.written(difference, "+")
    return ("-", "") if mean is None else (f"{scale.written(mean)} %", change)
