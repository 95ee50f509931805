"""The page of a run: the answer, then charts and tables that answer "who, by how much, at what cost"."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from fairbench_cli.document.charts import FORMS
from fairbench_cli.document.model import Chart, Document, Section, Switch
from fairbench_cli.experiment.config.outputs import TABLES
from fairbench_cli.report.answer import groups_in_words
from fairbench_cli.report.kinds import kinds, own_frame
from fairbench_cli.report.page_charts import (
    ACCURACY,
    GAP_WORDS,
    WORDS,
    Data,
    clouds,
    curves,
    drawn_forest,
    parts_of,
)
from fairbench_cli.report.page_network import network_charts
from fairbench_cli.report.page_numbers import (
    FORM_OF,
    PanelNumbers,
    Scale,
    metrics_of,
    panel_data,
    panels_of,
    scale_of,
)
from fairbench_cli.report.paired import Baseline, find_baseline, paired_frame, paired_of
from fairbench_cli.report.repeats import TECHNIQUE
from fairbench_cli.report.results import Results, RunResults
from fairbench_cli.report.tables import technique_label

FIRST = TABLES["difference-to-none"].metrics
FAVOURABLE = "selection-rate"


def run_page(run: RunResults) -> Document:
    """Return the page of a run."""
    config = run.plan.config
    shown = tuple(dict.fromkeys([*FIRST, *config.at_hand]))
    results = run.asked(shown)
    panels = panels_of(run, results, _differences(run, results))
    names = metrics_of(results)
    scales = [scale_of(results.metric(name), panels, m) for m, name in enumerate(names)]
    drawn = [panel_data(panel, config.repeats) for panel in panels]
    betas = sorted({beta for panel in panels for beta in panel.betas})
    labels = list(dict.fromkeys(label for panel in panels for label in panel.against))
    chosen = {
        "beta": f"{betas[len(betas) // 2]:g}" if betas else "",
        "metric": FIRST[0],
        "base": labels[0] if labels else "",
    }
    data = {
        "scales": [vars(scale) | {"step": scale.step} for scale in scales],
        "words": [WORDS, GAP_WORDS],
        "kinds": {letter: form for letter, (_, form) in FORM_OF.items()},
        "forms": FORMS,
        "accuracy": names.index(ACCURACY),
        "chosen": chosen,
        "panels": drawn,
    }
    whole = [
        _Panel(number, *own, scales, names, chosen)
        for number, own in enumerate(zip(panels, drawn, strict=True))
    ]
    return Document(
        config.name,
        facts=(facts_of(run),),
        sections=tuple(
            section
            for section in _sections(run, whole)
            if section.sections or section.tables or section.charts
        ),
        switches=(
            *_switch("dataset", "Data set", [str(panel.place[0]) for panel in panels], "all"),
            *_switch("compared", "Groups of", [str(panel.place[2]) for panel in panels], "all"),
            *_switch("classifier", "Classifier", [panel.classifier for panel in panels], "all"),
            *_switch("beta", "β", [f"{one:g}" for one in betas], chosen=chosen["beta"]),
            *_switch(
                "metric", "Metric", [*FIRST, *(name for name in names if name not in FIRST)], chosen=FIRST[0]
            ),
            *_switch("base", "Against", labels, chosen=chosen["base"]),
        ),
        data=json.dumps(data, ensure_ascii=False, separators=(",", ":")),
    )


def facts_of(run: RunResults) -> str:
    """Return in one line what was run, and how much of it is done."""
    plan, config = run.plan, run.plan.config
    techniques = dict.fromkeys(technique_label(*(cell[name] for name in TECHNIQUE)) for cell in plan.cells)
    datasets = dict.fromkeys(cell["dataset"] for cell in plan.cells)
    betas = sorted({cell["beta"] for cell in plan.cells})
    status = {
        (cell["key"], repeat): text
        for data in run.datasets
        for cell, own in zip(data.cells, data.status, strict=True)
        for repeat, text in enumerate(own)
        if text
    }
    counts = Counter(status.values())
    tested = {"network": "test rows drawn from the networks", "original": "tested on the original data"}
    parts = [
        f"{len(techniques)} technique{'s' * (len(techniques) > 1)}",
        f"{len(datasets)} data set{'s' * (len(datasets) > 1)}",
    ]
    parts += [f"β {', '.join(f'{beta:g}' for beta in betas)}"] * (len(betas) > 1)
    words = [
        " × ".join(parts),
        f"{config.repeats} repeat{'s' * (config.repeats > 1)} of each",
        f"{len(status)} of {plan.size} done",
        *(
            f"{n} {'not possible' if name == 'infeasible' else name}"
            for name, n in counts.items()
            if name not in ("ok", "degraded")
        ),
        tested.get(config.test or "", "tested on rows that were left out of training"),
    ]
    return " · ".join(words)


class _Panel:
    """A panel with what its parts of the page are drawn from."""

    def __init__(
        self,
        number: int,
        panel: PanelNumbers,
        data: Data,
        scales: Sequence[Scale],
        names: Sequence[str],
        chosen: dict[str, str],
    ) -> None:
        self.number, self.panel, self.data, self.scales, self.names = number, panel, data, scales, names
        self.base = chosen["base"]
        known = [f"{beta:g}" for beta in panel.betas]
        self.beta = known.index(chosen["beta"]) if chosen["beta"] in known else 0

    @property
    def title(self) -> str:
        return str(self.panel.place[0])

    @property
    def fine(self) -> str:
        _, attribute, compared, representation, *_ = map(str, self.panel.place)
        deprived, favoured = groups_in_words(self.panel.data.protected, compared)
        words = [f"{deprived} against {favoured}", self.panel.classifier]
        words += [f"techniques work on {attribute}"] * (compared != attribute)
        words += [representation] * (representation != "original")
        return " · ".join(words)

    @property
    def about(self) -> tuple[tuple[str, str], ...]:
        dataset, _, compared, *_ = map(str, self.panel.place)
        return (("dataset", dataset), ("compared", compared), ("classifier", self.panel.classifier))

    def at(self, metric: str) -> int:
        return self.names.index(metric)

    def section(self, *charts: Chart, **more: Any) -> Section:
        return Section(self.title, charts=charts, about=self.about, fine=self.fine, **more)


def _sections(run: RunResults, panels: Sequence[_Panel]) -> Iterator[Section]:
    yield Section(
        "Who, by how much, at what cost",
        sections=tuple(map(_card, panels)),
        notes=(KEY,),
        tiled=True,
        anchor="differences",
    )
    yield Section("Fairness and accuracy", sections=tuple(map(_clouds, panels)), tiled=True, anchor="planes")
    yield Section(
        "Over β",
        sections=tuple(_curves(one) for one in panels if len(one.panel.betas) > 1),
        tiled=True,
        anchor="curves",
    )
    yield Section("Networks", charts=tuple(network_charts(run)), anchor="networks")


KEY = (
    "Each mark stands at the difference to what the others are compared with (the square and the dotted line); its "
    "line is the 95 % interval of that difference over training sets and test rows. The upright line is the best value."
)


def _card(one: _Panel) -> Section:
    m, accuracy = one.at(FIRST[0]), one.at(ACCURACY)
    svg = drawn_forest(one.data, one.scales, m, accuracy, one.base, one.beta)
    return one.section(Chart("", svg, key=f"forest-{one.number}"))


def _clouds(one: _Panel) -> Section:
    pairs = (FIRST[0], FIRST[1]), (FIRST[2], FIRST[3])
    found = [
        Chart(f"{x} × {y}", svg, "light to dark: β rises" if len(one.panel.betas) > 1 else "")
        for x, y in pairs
        for svg in clouds(one.data, one.scales, one.at(x), one.at(y))
    ]
    return one.section(*found)


def _curves(one: _Panel) -> Section:
    m = one.at(FIRST[0])
    return one.section(
        *(
            Chart("", curves(one.data, one.scales, m, part), key=f"curves-{one.number}-{number}")
            for number, part in enumerate(parts_of(one.data))
        )
    )


def _switch(
    name: str, title: str, values: Sequence[str], every: str = "", chosen: str = ""
) -> tuple[Switch, ...]:
    """Return a switch between values, and perhaps all of them; none where there is nothing to choose."""
    known = list(dict.fromkeys(values))
    options = [("", every)] * bool(every) + [(value, value) for value in known]
    return (Switch(name, title, tuple(options), chosen),) if len(known) > 1 else ()


def _differences(run: RunResults, results: Results) -> list[tuple[Baseline, Any, Sequence[str]]]:
    """Return the differences to `none`, which are known, and to each other technique, with their kinds.

    Where repeats share their test rows each test looks at every row of them: there the differences to other
    techniques are of the metrics `FIRST` alone.
    """
    shared = any(data.design.kind == "shared" for data in run.datasets)
    others = run.asked(FIRST) if shared else results
    paired = paired_of(run)
    paired = paired[paired["metric"].isin(metrics_of(results))]
    techniques = results.rows[TECHNIQUE[:2]].drop_duplicates().itertuples(index=False, name=None)
    labels = dict.fromkeys(technique_label(*own, False) for own in techniques)
    found = [(Baseline(), paired)] if "none" in labels else []
    found += [(find_baseline(results, one), paired_frame(others, one)) for one in labels if one != "none"]
    own = own_frame(results)
    return [
        (one, frame, list(kinds(frame, own, (one.intervention, one.parameters, one.seen))))
        for one, frame in found
        if len(frame)
    ]
