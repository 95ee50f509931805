"""The page of a run: the answer, then charts and tables that answer "who, by how much, at what cost"."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairbench_cli.document.charts import FORMS, LINES
from fairbench_cli.document.model import (
    Answer,
    Chart,
    Document,
    Section,
    Switch,
    TableCell,
    TextTable,
    plain_table,
)
from fairbench_cli.experiment.config.outputs import TABLES
from fairbench_cli.experiment.journal.manifest import read_manifest
from fairbench_cli.report.answer import answer_of, groups_in_words
from fairbench_cli.report.answer_words import answer_document, each_setting
from fairbench_cli.report.kinds import kinds, own_frame
from fairbench_cli.report.page_charts import (
    ACCURACY,
    GAP_WORDS,
    WORDS,
    Data,
    beta_axis,
    clouds,
    curves,
    drawn_forest,
    frontier_chart,
    key_of_forests,
    number_cells,
    parts_of,
)
from fairbench_cli.report.page_network import network_charts
from fairbench_cli.report.page_numbers import (
    FORM_OF,
    GRAIN,
    SHARE,
    PanelNumbers,
    Scale,
    metrics_of,
    panel_data,
    panels_of,
    scale_of,
)
from fairbench_cli.report.paired import Baseline, paired_of, paired_with_each
from fairbench_cli.report.repeats import SITUATION, TECHNIQUE, mean_and_interval
from fairbench_cli.report.results import Results, RunResults

MOST_DIFFERENCES = 60_000  # to other techniques than none: a page keeps about 20 bytes of each
MOST_LETTERS = 420  # of what a card says; answer.md has the rest
FIRST = TABLES["difference-to-none"].metrics


def run_page(run: RunResults, compared: Section | None = None) -> Document:
    """Return the page of a run.

    Parameters
    ----------
    compared : Section, optional
        What stands next to its numbers, such as a paper's.
    """
    config = run.plan.config
    metric = answer_of(run).metric.name
    shown = tuple(dict.fromkeys([metric, *FIRST, *config.at_hand]))
    results = run.asked(shown)
    panels = panels_of(run, results, list(_differences(run, results, metric)))
    names = metrics_of(results)
    scales = [scale_of(results.metric(name), panels, m) for m, name in enumerate(names)]
    drawn = [panel_data(panel, scales, config.repeats) for panel in panels]
    told = {(*own.block, own.beta): [short, _first(long)] for own, short, long in each_setting(run)}
    drawn = [
        own
        | {
            "parts": list(parts_of(own)),
            "told": [told.get((*panel.place, beta), ["", ""]) for beta in panel.betas],
        }
        for panel, own in zip(panels, drawn, strict=True)
    ]
    answer = answer_document(run)
    betas = sorted({beta for panel in panels for beta in panel.betas})
    labels = list(dict.fromkeys(label for panel in panels for label in panel.against))
    chosen = {
        "beta": f"{betas[len(betas) // 2]:g}" if betas else "",
        "metric": metric,
        "base": labels[0] if labels else "",
    }
    data = {
        "scales": [vars(scale) | {"step": scale.step} for scale in scales],
        "words": [WORDS, GAP_WORDS],
        "kinds": {letter: form for letter, (_, form) in FORM_OF.items()},
        "forms": FORMS,
        "lines": LINES,
        "grain": GRAIN,
        "betas": {",".join(own["at"]): beta_axis(own["betas"]) for own in drawn if len(own["betas"]) > 1},
        "accuracy": names.index(ACCURACY),
        "chosen": chosen,
        "share": vars(SHARE) | {"step": SHARE.step},
        "panels": drawn,
    }
    first = [own["at"].index(chosen["beta"]) if chosen["beta"] in own["at"] else 0 for own in drawn]
    whole = [
        PanelParts(number, panel, own, scales, metric, chosen["base"], beta)
        for number, (panel, own, beta) in enumerate(zip(panels, drawn, first, strict=True))
    ]
    sections = [one for one in _sections(run, whole) if one.sections or one.tables or one.charts]
    sections += [*([compared] if compared else []), provenance_of(run)]
    return Document(
        config.name,
        Answer(answer.answer.headline) if answer.answer else None,
        facts=(facts_of(run),),
        sections=tuple(sections),
        switches=(
            *_switch("dataset", "Data set", [panel.dataset for panel in panels], "all"),
            *_switch("compared", "Groups of", [str(panel.place[2]) for panel in panels], "all"),
            *_switch("classifier", "Classifier", [panel.classifier for panel in panels], "all"),
            *_switch("beta", "β", [f"{one:g}" for one in betas], chosen=chosen["beta"]),
            *_switch("metric", "Metric", dict.fromkeys([metric, *FIRST, *names]), chosen=metric),
            *_switch("base", "Against", labels, chosen=chosen["base"]),
        ),
        notes=answer.notes,
        data=json.dumps(data, ensure_ascii=False, separators=(",", ":")),
    )


def _first(words: str) -> str:
    """Return the first sentences, as many as a card has room for."""
    sentences = words.split(". ")
    while len(sentences) > 1 and len(". ".join(sentences)) > MOST_LETTERS:
        sentences.pop()
    kept = ". ".join(sentences)
    if len(kept) > MOST_LETTERS:
        kept = f"{kept[:MOST_LETTERS].rpartition(' ')[0]} …"
    return f"{kept[:1].upper()}{kept[1:]}" + ("" if kept.endswith((".", "…")) else ".")


def facts_of(run: RunResults) -> str:
    """Return in one line what was run, and how much of it is done."""
    plan, config = run.plan, run.plan.config
    techniques = {tuple(cell[name] for name in TECHNIQUE) for cell in plan.cells}
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
    tested = {
        "network": "test rows drawn from the networks",
        "holdout": "tested on rows that were left out of training",
    }
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
        tested.get(config.tested, f"tested on {plan.test_rows}"),
    ]
    return " · ".join(words)


@dataclass(frozen=True, eq=False)
class PanelParts:
    """A panel with what its parts of the page are drawn from.

    Parameters
    ----------
    number : int
        By which the page's script finds it.
    metric : str
        The metric that is shown first.
    base : str
        What its techniques are compared with first.
    beta : int
        The place of the β that is shown first.
    """

    number: int
    panel: PanelNumbers
    data: Data
    scales: Sequence[Scale]
    metric: str
    base: str
    beta: int

    def at(self, metric: str) -> int:
        """Return the place of a metric."""
        return [scale.name for scale in self.scales].index(metric)

    def section(self, *charts: Chart) -> Section:
        """Return a section of charts on it."""
        _, attribute, compared, _, representation, *_ = map(str, self.panel.place)
        deprived, favoured = groups_in_words(self.panel.data.protected, compared)
        words = [f"{deprived} against {favoured}", self.panel.classifier]
        words += [f"techniques work on {attribute}"] * (compared != attribute)
        words += [representation] * (representation != "original")
        fine = " · ".join(words)
        return Section(self.panel.dataset, charts=charts, about=self.panel.about, fine=fine)


def _sections(run: RunResults, panels: Sequence[PanelParts]) -> Iterator[Section]:
    yield Section(
        "Who, by how much, at what cost",
        sections=tuple(map(_card, panels)),
        tiled=True,
        anchor="differences",
    )
    yield Section("", (KEY,), charts=(Chart("", key_of_forests()),))
    planes = tuple(map(_clouds, panels))
    several = tuple(_curves(one) for one in panels if len(one.panel.betas) > 1)
    key = f"{PLANES} {WAYS}" if several else PLANES
    yield Section("Fairness and accuracy", (key,), sections=planes, tiled=True, anchor="planes")
    yield Section("Over β", (CURVES,), sections=several, tiled=True, anchor="curves")
    moved = tuple(section for one in panels if (section := _moved(run, one)))
    yield Section("Moved thresholds", (MOVED,), sections=moved, tiled=True, anchor="thresholds")
    yield Section("Groups", (GROUPS,), sections=tuple(_groups(panels)), anchor="groups")
    yield Section("All numbers", tables=_numbers(panels), anchor="numbers")
    yield Section("Networks", charts=tuple(network_charts(run)), anchor="networks")


KEY = (
    "Each mark is as far from the square as its technique differs from it; the bar is the 95 % interval of "
    "that difference, over training and test rows. The upright line is the best value, the dotted one what "
    "all are compared with."
)
PLANES, WAYS = "Means over the repeats. Dashed: no difference.", "From light to dark: each technique over β."
CURVES = "Means over the repeats with 95 % intervals."
MOVED = (
    "The line: the best that a threshold for each group reaches with the model of none, chosen with the "
    "labels of the test rows. Below it a technique does less than moved thresholds would; the tests are in "
    "frontier_distance.csv."
)
GROUPS = "How many of each group get the favourable decision, in per cent of its test rows."


def provenance_of(run: RunResults) -> Section:
    """Return where the numbers are from, and the commands that make them again.

    What differs from one run of a config to the next (the command, versions, the machine) stands here alone.
    """
    known = read_manifest(run.folder) or {}
    git = known.get("git") or {}
    commit = str(git.get("commit", "")) + (", with changes" if git.get("dirty") else "")
    packages = ", ".join(f"{name} {version}" for name, version in known.get("packages", {}).items())
    mixed = "; ".join(f"{name} {', '.join(found)}" for name, found in known.get("mixed_versions", {}).items())
    rows = {
        "command": known.get("command", ""),
        "Python and packages": ", ".join(filter(None, (known.get("python", ""), packages))),
        "mixed versions": mixed,
        "commit of fairbench": commit,
        "platform": known.get("platform", ""),
        "seed": str(run.plan.config.seed),
    }
    about = plain_table("Run", ("what", "value"), ((name, said) for name, said in rows.items() if said), 2)
    files = dict.fromkeys(
        (one["dataset"], name, digest)
        for one in run.plan.datasets
        for name, digest in (one.get("sha256") or {}).items()
    )
    data = plain_table("Data", ("data set", "file", "sha256"), files, 3)
    again = (
        "config.yaml, next to this page, has every setting: `fairbench run config.yaml -o again` computes "
    )
    again += "the same numbers, `fairbench report` this folder writes its files and this page again, and "
    again += "`fairbench verify` this folder computes some repeats again and compares them bit for bit."
    tables = (about, data) if files else (about,)
    return Section("Where the numbers are from", (again.replace("`", ""),), tables, anchor="provenance")


def _card(one: PanelParts) -> Section:
    m, accuracy = one.at(one.metric), one.at(ACCURACY)
    short, long = one.data["told"][one.beta]
    svg = drawn_forest(one.data, one.scales, m, accuracy, one.base, one.beta)
    return one.section(Chart(short, svg, long, f"forest-{one.number}"))


def _clouds(one: PanelParts) -> Section:
    pairs = (FIRST[0], FIRST[1]), (FIRST[2], FIRST[3])
    found = [
        Chart(f"{x} × {y}", svg)
        for x, y in pairs
        for svg in clouds(one.data, one.scales, one.at(x), one.at(y))
    ]
    return one.section(*found)


def _curves(one: PanelParts) -> Section:
    m = one.at(one.metric)
    return one.section(
        *(
            Chart("", curves(one.data, one.scales, m, part), key=f"curves-{one.number}-{number}")
            for number, part in enumerate(parts_of(one.data))
        )
    )


def _moved(run: RunResults, one: PanelParts) -> Section | None:
    """Return what moved thresholds reach, next to the techniques; None without a sweep."""
    found = [
        moved
        for moved in run.moved
        if moved.data is one.panel.data
        and (moved.compared, moved.held) == (one.panel.place[2], "demographic-parity")
    ]
    if not found:
        return None
    moved, beta = found[0], one.panel.betas[one.beta]
    own = [i for i, cell in enumerate(moved.data.cells) if one.panel.holds(cell) and cell["beta"] == beta]
    plain = next((i for i in own if moved.baseline[i] == i), None)
    gaps, accuracies = (mean_and_interval(each)["mean"] for each in (moved.own_gap, moved.own_accuracy))
    ways = [
        (
            one.panel.called.technique(*(moved.data.cells[i][name] for name in TECHNIQUE)),
            100 * gap,
            100 * accuracy,
        )
        for i, gap, accuracy in ((i, float(gaps[i]), float(accuracies[i])) for i in own)
        if np.isfinite(gap + accuracy)
    ]
    line: list[tuple[float, float]] = []
    if plain is not None:
        places = [mean_and_interval(each[plain].T)["mean"] for each in (moved.gap, moved.accuracy)]
        line = [(100 * float(a), 100 * float(b)) for a, b in zip(*places, strict=True) if np.isfinite(a + b)]
    title = f"{one.data['name']}: moved thresholds at β = {beta:g}"
    return one.section(Chart("", frontier_chart(title, line, ways))) if line else None


def _groups(panels: Sequence[PanelParts]) -> Iterator[Section]:
    """Yield the rates by group of each data set, attribute and classifier, once whatever is compared."""
    known: set[tuple[Any, ...]] = set()
    for one in panels:
        others = [each.panel for each in panels if each.panel.dataset == one.panel.dataset]
        several = len({each.place[1] for each in others}) > 1
        place = (*one.panel.place[:2], *one.panel.place[3:])
        if place in known:
            continue
        known.add(place)
        groups, count = one.data["groups"], len(one.panel.betas)
        rows = []
        for g, (name, n) in enumerate(zip(groups["names"], groups["rows"], strict=True)):
            cells = [
                TableCell(name, groups["of"][g] if len(set(groups["of"])) > 1 else ""),
                TableCell("-" if n is None else f"{n:,}", value=n),
                _share(groups["labels"][g]),
            ]
            for t in range(len(one.panel.techniques)):
                rates = groups["rates"][t * count + one.beta]
                cells.append(_share(rates[g] if rates else None))
            rows.append(tuple(cells))
        title = "Favourable decisions, %" + (", at the β that is chosen" if count > 1 else "")
        heads = ("group", "test rows", "labels", *one.panel.names)
        table = TextTable(title, heads, tuple(rows), words=1, key=f"groups-{one.number}")
        _, attribute, _, _, representation, *_ = map(str, one.panel.place)
        words = [one.panel.classifier, *[f"techniques work on {attribute}"] * several]
        words += [representation] * (representation != "original")
        about = tuple(each for each in one.panel.about if each[0] != "compared")
        yield Section(one.panel.dataset, tables=(table,), about=about, fine=" · ".join(words))


def _share(rate: int | None) -> TableCell:
    return TableCell("-") if rate is None else TableCell(SHARE.written(rate), value=rate)


def _numbers(panels: Sequence[PanelParts]) -> tuple[TextTable, ...]:
    """Return the table of all techniques at all β on one metric."""
    columns = {
        "data set": [one.panel.dataset for one in panels],
        "attribute": [str(one.panel.place[1]) for one in panels],
        "groups of": [str(one.panel.place[2]) for one in panels],
        "data": [str(one.panel.place[3]) for one in panels],
        "classifier": [one.panel.classifier for one in panels],
    }
    same = columns["attribute"] == columns["groups of"]
    left = [
        name
        for name, values in columns.items()
        if name in ("data set", "groups of") or (len(set(values)) > 1 and not (name == "attribute" and same))
    ]
    rows = []
    for i, one in enumerate(panels):
        m, accuracy = one.at(one.metric), one.at(ACCURACY)
        named = [columns[name][i] for name in left]
        for k, beta in enumerate(one.panel.betas):
            for t, technique in enumerate(one.panel.names):
                cells = number_cells(one.data, one.scales, m, accuracy, one.base, t, k)
                words = [*map(TableCell, named), TableCell(f"{beta:g}", value=beta), TableCell(technique)]
                rows.append((*words, *(TableCell(text, fine, value) for text, fine, value in cells)))
    heads = (*left, "β", "technique", "value", "difference", "verdict", "accuracy", "repeats")
    title = "The metric that is chosen, against the technique that is chosen"
    return (TextTable(title, heads, tuple(rows), key="numbers"),)


def _switch(
    name: str, title: str, values: Iterable[str], every: str = "", chosen: str = ""
) -> tuple[Switch, ...]:
    """Return a switch between values, and perhaps all of them; none where there is nothing to choose."""
    known = list(dict.fromkeys(values))
    options = [("", every)] * bool(every) + [(value, value) for value in known]
    return (Switch(name, title, tuple(options), chosen),) if len(known) > 1 else ()


def _differences(
    run: RunResults, results: Results, metric: str
) -> Iterator[tuple[Baseline, pd.DataFrame, Sequence[str]]]:
    """Yield the differences to `none`, which are known, and to each other technique, with their kinds.

    Those to other techniques are of `metric` and of `FIRST` alone where repeats share their test rows, as
    each test looks at every row of them then, and where they would be more than `MOST_DIFFERENCES`; if these
    still are, there are none.
    """
    own = own_frame(results)
    techniques = results.rows[TECHNIQUE[:2]].drop_duplicates().itertuples(index=False, name=None)
    others = [one for one in (Baseline(*own) for own in techniques) if one != Baseline()]
    paired = paired_of(run)
    paired = paired[paired["metric"].isin(metrics_of(results))]
    if len(paired):
        yield Baseline(), paired, list(kinds(paired, own))
    within = results.rows.groupby([*SITUATION, "compared", "metric"], sort=False).size()
    size = int((within * (within - 1)).sum())
    few = dict.fromkeys((metric, *FIRST))
    shared = any(data.design.kind == "shared" for data in run.datasets)
    asked = run.asked(tuple(few)) if shared or size > MOST_DIFFERENCES else results
    if others and 0 < size * len(metrics_of(asked)) <= MOST_DIFFERENCES * len(metrics_of(results)):
        each = paired_with_each(asked, others)
        called = {one.label: (one.intervention, one.parameters) for one in others}
        words = kinds(each, own, tuple(zip(*each["baseline"].map(called), strict=True)))
        for one in others:
            mine = (each["baseline"] == one.label).to_numpy()
            if mine.any():
                yield one, each[mine], list(words[mine])
