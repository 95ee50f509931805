"""The page of a run: the answer, then charts and tables that answer "who, by how much, at what cost"."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairbench_cli.document.charts import FORMS
from fairbench_cli.document.model import Chart, Document, Section, Switch
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
