"""The page of a run: the answer, then charts and tables that answer "who, by how much, at what cost"."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pandas as pd

from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_count
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
from fairbench_cli.experiment.journal.folder import read_manifest
from fairbench_cli.measures.counts import Floats
from fairbench_cli.report.ledger.answer import answer_of, groups_in_words
from fairbench_cli.report.ledger.cell_labels import NO_BIAS
from fairbench_cli.report.ledger.change_kinds import classify_changes, run_technique_frame
from fairbench_cli.report.ledger.columns import ACCURACY, column_metrics
from fairbench_cli.report.ledger.exact_worlds import BETA
from fairbench_cli.report.ledger.frontier import moved_thresholds_of_run
from fairbench_cli.report.ledger.journal_arrays import SITUATION, TECHNIQUE, mean_and_interval
from fairbench_cli.report.ledger.paired_differences import Baseline, paired_with_baselines, run_paired_frame
from fairbench_cli.report.ledger.results import Results, RunResults
from fairbench_cli.report.show import page_charts
from fairbench_cli.report.show import page_data as page_numbers
from fairbench_cli.report.show.answer_text import (
    answer_document,
    column_cell,
    each_setting,
    head_of,
    shown_columns,
)
from fairbench_cli.report.show.answer_worlds import result_of
from fairbench_cli.report.show.metric_wording import points, wording_of
from fairbench_cli.report.show.networks import network_charts, world_networks
from fairbench_cli.report.show.page_data import SHARE, Data, PanelNumbers, Scale, metrics_of
from fairbench_cli.report.show.page_worlds import ABOUT_WORLDS, world_sections

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
    metrics = tuple(dict.fromkeys([metric, *FIRST, *config.at_hand, *column_metrics(config)]))
    # 1. The numbers, on the labels that are shown first and on the others.
    runs = [run, *(other for other in run.on_all_labels if other is not run)]
    panels_of_runs = [_panels_of(labelled, metrics, metric, len(runs)) for labelled in runs]
    panels = panels_of_runs[0]
    results = run.select(metrics)
    names = metrics_of(results)
    all_panels = [*chain(*panels_of_runs)]
    scales = [page_numbers.scale_of(results.metric(name), all_panels, m) for m, name in enumerate(names)]
    # 2. What the switches choose first: the middle β of the first world that does something.
    baselines = list(dict.fromkeys(label for panel in panels for label in panel.against))
    worlds = list(dict.fromkeys(panel.world for panel in panels)) if run.plan.has_worlds else []
    world = next((name for name in worlds if name != NO_BIAS), "")
    strengths = sorted(
        {beta for panel in panels for beta in panel.betas if panel.world == world or not world}
    )
    chosen = {
        "beta": f"{strengths[len(strengths) // 2]:g}" if strengths else "",
        "metric": metric,
        "base": baselines[0] if baselines else "",
        "world": world,
        "labels": run.labels if worlds else "",
    }
    # 3. Panels that differ in their world alone share a place on the page.
    slots = [*group_by(range(len(panels)), lambda k: panels[k].beside("world")).values()]
    parts = []
    for number, indices in enumerate(slots):
        first = next((i for i, k in enumerate(indices) if panels[k].world == world), 0)
        beta = nearest(panels[indices[first]].betas, chosen["beta"])
        parts.append(PanelParts(number, [panels[k] for k in indices], first, beta))
    places = _places_of(panels)
    if strengths_are_beta(parts):
        strength = "β"
        strength_title = "β"
    else:
        strength = "strength"
        strength_title = "Strength"
    panels_data, *others = [
        _data_of(labelled, own_panels, scales, places)
        for labelled, own_panels in zip(runs, panels_of_runs, strict=True)
    ]
    data = {
        "scales": [vars(scale) | {"step": scale.step} for scale in scales],
        "words": [page_charts.WORDS, page_charts.GAP_WORDS],
        "kinds": {letter: form for letter, (_, form) in page_numbers.FORM_OF.items()},
        "forms": FORMS,
        "lines": LINES,
        "rules": page_charts.KNOWN,
        "grain": page_numbers.GRAIN,
        "accuracy": names.index(ACCURACY),
        "chosen": chosen,
        "share": vars(SHARE) | {"step": SHARE.step},
        "slots": slots,
        "table": {"heads": [*places], "strength": strength},
        "panels": panels_data,
        "others": others[0] if others else [],
    }
    # 4. The document.
    sections = [
        section
        for section in _sections(run, parts, names)
        if section.sections or section.tables or section.charts
    ]
    if compared is not None:
        sections.append(compared)
    sections.append(provenance_of(run))
    betas = sorted({beta for panel in panels for beta in panel.betas})
    answer = answer_document(run)
    return Document(
        config.name,
        Answer(answer.answer.headline) if answer.answer else None,
        facts=(facts_of(run),),
        sections=tuple(sections),
        switches=(
            *_switch("dataset", "Data set", [panel.dataset for panel in panels], "all"),
            *_switch("compared", "Groups of", [panel.of["compared"] for panel in panels], "all"),
            *_switch("classifier", "Classifier", [panel.classifier for panel in panels], "all"),
            *_switch("world", "World", worlds, chosen=world),
            *_switch("beta", strength_title, [f"{beta:g}" for beta in betas], chosen=chosen["beta"]),
            *_switch("labels", "Labels", [labelled.labels for labelled in runs], chosen=run.labels),
            *_switch("metric", "Metric", [metric, *FIRST, *names], chosen=metric),
            *_switch("base", "Against", baselines, chosen=chosen["base"]),
        ),
        notes=answer.notes,
        data=json.dumps(data, ensure_ascii=False, separators=(",", ":")),
    )


def _panels_of(run: RunResults, metrics: Sequence[str], metric: str, n_runs: int) -> list[PanelNumbers]:
    """Return the panels of a run, one of `n_runs` that share what a page has room for."""
    results = run.select(metrics)
    differences = _differences(run, results, metric, MOST_DIFFERENCES // n_runs)
    return page_numbers.panels_of(run, results, [*differences])


def _places_of(panels: Sequence[PanelNumbers]) -> dict[str, list[str]]:
    """Return the columns that name panels in a table, by their heads: of each panel, where they differ."""
    places = {
        "data set": [panel.dataset for panel in panels],
        "attribute": [panel.of["attribute"] for panel in panels],
        "groups of": [panel.of["compared"] for panel in panels],
        "data": [panel.of["representation"] for panel in panels],
        "classifier": [panel.classifier for panel in panels],
        "world": [panel.world for panel in panels],
    }
    return _varied(places)


def _varied(places: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the columns that say what a row is about, without those that say the same of all of them."""
    if places["attribute"] == places["groups of"]:
        del places["attribute"]
    always = "data set", "groups of"
    return {head: values for head, values in places.items() if head in always or len(set(values)) > 1}


def nearest(betas: Sequence[float], chosen: str) -> int:
    """Return the place of the β that is chosen, or of the one that is nearest to it, the first of two.

    >>> nearest([0.0, 0.5], "0.5"), nearest([0.0, 0.5], "0.25"), nearest([0.1], "")
    (1, 0, 0)
    """
    return min(range(len(betas)), key=lambda k: abs(betas[k] - float(chosen or 0)))


def _data_of(
    run: RunResults,
    panels: Sequence[PanelNumbers],
    scales: Sequence[Scale],
    places: Mapping[str, Sequence[str]],
) -> list[Data]:
    """Return panels as the page's script reads them, with what is said of each at each β."""
    captions = {
        (*setting.block_key, setting.beta): [short, _first(long)]
        for setting, short, long in each_setting(run)
    }
    panels_data = []
    for i, panel in enumerate(panels):
        told = [captions.get((*panel.of.values(), beta), ["", ""]) for beta in panel.betas]
        place = [values[i] for values in places.values()]
        panels_data.append(page_numbers.panel_data(panel, scales, told) | {"place": place})
    return panels_data


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
    plan = run.plan
    config = run.plan.config
    techniques = len({tuple(cell[name] for name in TECHNIQUE) for cell in plan.cells})
    datasets, betas, worlds = ({cell[name] for cell in plan.cells} for name in ("dataset", "beta", "world"))
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
    repeat_count = f"{config.repeats} repeat"
    if config.repeats > 1:
        repeat_count += "s"
    parts = [format_count(techniques, "technique"), format_count(len(datasets), "data set")]
    if plan.has_worlds and len(worlds) > 1:
        parts.append(f"{len(worlds)} worlds")
    if len(betas) > 1:
        if plan.has_worlds:
            strengths = "strengths"
        else:
            strengths = "β"
        parts.append(f"{strengths} {', '.join(f'{beta:g}' for beta in sorted(betas))}")
    words = [
        " × ".join(parts),
        f"{repeat_count} of each",
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
    """A panel with what its parts of the page are drawn from; in a run with worlds, the panels of them all.

    Parameters
    ----------
    number : int
        By which the page's script finds it.
    worlds : sequence of PanelNumbers
        Each world's.
    first : int
        The place of the world that is shown first.
    beta : int
        The place of the β that is shown first.
    """

    number: int
    worlds: Sequence[PanelNumbers]
    first: int
    beta: int

    @property
    def panel(self) -> PanelNumbers:
        """The panel that is shown first."""
        return self.worlds[self.first]

    @property
    def about(self) -> tuple[tuple[str, str], ...]:
        """By which values of the page's switches it is shown."""
        about = self.panel.about
        if self.panel.on:
            about = (*about, ("slot", str(self.number)))
        return about

    def section(self, *charts: Chart) -> Section:
        """Return a section of charts on it."""
        of = self.panel.of
        deprived, favoured = groups_in_words(self.panel.data.protected, of["compared"])
        words = [f"{deprived} against {favoured}", self.panel.classifier]
        if of["compared"] != of["attribute"]:
            words.append(f"techniques work on {of['attribute']}")
        if of["representation"] != "original":
            words.append(of["representation"])
        if self.panel.kind and self.panel.strength == BETA:
            kind = self.panel.kind
            if kind == "mixture":
                kind = "a mixture"
            words.append(f"β: {kind}")
        fine = " · ".join(words)
        return Section(self.panel.dataset, charts=charts, about=self.about, fine=fine)


def strengths_are_beta(parts: Iterable[PanelParts]) -> bool:
    """Return whether every strength is β, as in all runs without worlds."""
    return all(panel.strength == BETA for part in parts for panel in part.worlds)


def _sections(run: RunResults, parts: Sequence[PanelParts], metrics: Sequence[str]) -> Iterator[Section]:
    yield Section(
        "Who, by how much, at what cost",
        sections=tuple(map(_card, parts)),
        tiled=True,
        anchor="differences",
    )
    panels = [(part, panel) for part in parts for panel in part.worlds]
    known = any(np.isfinite(panel.known).any() for _, panel in panels)
    marks = (KEY, ABOUT_KNOWN) if known else (KEY,)
    yield Section("", marks, charts=(Chart("", page_charts.key_of_forests(known=known)),))
    worlds = tuple(world_sections(run))
    yield Section(UNDONE, ABOUT_WORLDS, sections=worlds, tiled=True, anchor="worlds")
    planes = tuple(_clouds(part, metrics) for part in parts)
    curves = tuple(_curves(part) for part in parts if any(len(panel.betas) > 1 for panel in part.worlds))
    if strengths_are_beta(parts):
        over = "β"
    else:
        over = "the strength"
    if curves:
        key = f"{PLANES} {WAYS.format(over)}"
    else:
        key = PLANES
    yield Section("Fairness and accuracy", (key,), sections=planes, tiled=True, anchor="planes")
    yield Section(f"Over {over}", (CURVES,), sections=curves, tiled=True, anchor="curves")
    moved = tuple(section for part, panel in panels if (section := _moved(run, part, panel)))
    yield Section("Moved thresholds", (MOVED,), sections=moved, tiled=True, anchor="thresholds")
    yield Section("Groups", (GROUPS,), sections=tuple(_groups(parts)), anchor="groups")
    yield Section("All numbers", tables=_numbers(run), anchor="numbers")
    charts = tuple(network_charts(run))
    sections = tuple(world_networks(run))
    yield Section("Networks", charts=charts, sections=sections, tiled=True, anchor="networks")


KEY = (
    "Each mark is as far from the square as its technique differs from it; the bar is the 95 % interval of "
    "that difference, over training and test rows. The upright line is the best value, the dotted one what "
    "all are compared with."
)
ABOUT_KNOWN = (
    "Without training: " + "; ".join(f"{rule}: {words}" for rule, words in page_charts.KNOWN.items()) + "."
)
UNDONE = "What each world does, and what can be undone"
PLANES = "Means over the repeats. Dashed: no difference."
WAYS = "From light to dark: each technique over {}."
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
    tables = (about, data) if files else (about,)
    return Section("Where the numbers are from", (AGAIN,), tables, anchor="provenance")


AGAIN = (
    "config.yaml, next to this page, has every setting: fairbench run config.yaml -o again computes the same "
    "numbers, fairbench report this folder writes its files and this page again, and fairbench verify this "
    "folder computes some repeats again and compares them bit for bit."
)
PAIRS = (FIRST[0], FIRST[1]), (FIRST[2], FIRST[3])


def _card(part: PanelParts) -> Section:
    return part.section(Chart("", "", key=f"forest-{part.number}"))


def _clouds(part: PanelParts, metrics: Sequence[str]) -> Section:
    n_groups = len(page_numbers.technique_groups(part.panel))
    planes = []
    for across, up in PAIRS:
        axes = f"{metrics.index(across)}-{metrics.index(up)}"
        planes += [Chart("", "", key=f"planes-{part.number}-{i}-{axes}") for i in range(n_groups)]
    return part.section(*planes)


def _curves(part: PanelParts) -> Section:
    n_groups = len(page_numbers.technique_groups(part.panel))
    return part.section(*(Chart("", "", key=f"curves-{part.number}-{i}") for i in range(n_groups)))


def _moved(run: RunResults, one: PanelParts, panel: PanelNumbers) -> Section | None:
    """Return the section on moved thresholds in a world, next to the techniques. None without a sweep."""
    asked = panel.of["compared"], "demographic-parity"
    found = [
        own
        for own in moved_thresholds_of_run(run)
        if own.data is panel.data and (own.compared, own.constraint) == asked
    ]
    if not found:
        return None
    moved = found[0]
    beta = panel.betas[nearest(panel.betas, f"{one.panel.betas[one.beta]:g}")]
    own = [i for i, at in panel.cells.items() if panel.betas[at % len(panel.betas)] == beta]
    plain = next((i for i in own if moved.baseline[i] == i), None)
    if plain is None:
        return None
    line = [place for place in _percents(moved.gap[plain].T, moved.accuracy[plain].T) if place]
    if not line:
        return None
    ways = [
        (panel.called.technique(*(moved.data.cells[i][name] for name in TECHNIQUE)), *place)
        for i, place in zip(
            own, _percents(moved.technique_gap[own], moved.technique_accuracy[own]), strict=True
        )
        if place
    ]
    title = f"{panel.name}: moved thresholds" + (f" at {panel.strength} = {beta:g}" if panel.strength else "")
    section = one.section(Chart(panel.which, page_charts.frontier_chart(title, line, ways)))
    about = panel.about
    if panel.on:
        about = (*about, ("world", panel.world), ("labels", panel.on))
    return replace(section, about=about)


def _percents(gaps: Floats, accuracies: Floats) -> list[tuple[float, float] | None]:
    """Return pairs of means over the repeats, the last axis, in per cent; None for one that is not known."""
    pairs = zip(*(mean_and_interval(values)["mean"].tolist() for values in (gaps, accuracies)), strict=True)
    return [(100 * gap, 100 * accuracy) if math.isfinite(gap + accuracy) else None for gap, accuracy in pairs]


def _groups(parts: Sequence[PanelParts]) -> Iterator[Section]:
    """Yield the rates by group of each data set, attribute and classifier, once whatever is compared."""
    for part, *_ in group_by(parts, lambda part: part.panel.beside("compared", "world")).values():
        panel = part.panel
        groups = panel.group_rates
        has_attributes = len(set(groups.attributes)) > 1
        rows = []
        for g, name in enumerate(groups.names):
            n_rows = groups.rows[part.beta, g]
            size = TableCell(f"{round(n_rows):,}", value=n_rows) if np.isfinite(n_rows) else TableCell("-")
            rates = [groups.labels[part.beta, g], *groups.rates[:, part.beta, g]]
            head = TableCell(name, groups.attributes[g] if has_attributes else "")
            rows.append((head, size, *map(_share, rates)))
        title = "Favourable decisions, %"
        if panel.on:
            title += f": {panel.which_at(part.beta)}"
        elif len(panel.betas) > 1:
            title += ", at the β that is chosen"
        heads = ("group", "test rows", "labels", *panel.names)
        table = TextTable(title, heads, tuple(rows), words=1, key=f"groups-{part.number}")
        attribute = panel.of["attribute"]
        representation = panel.of["representation"]
        attributes = {other.panel.of["attribute"] for other in parts if other.panel.dataset == panel.dataset}
        subtitle = [panel.classifier]
        if len(attributes) > 1:
            subtitle.append(f"techniques work on {attribute}")
        if representation != "original":
            subtitle.append(representation)
        about = tuple(pair for pair in part.about if pair[0] != "compared")
        yield Section(panel.dataset, tables=(table,), about=about, fine=" · ".join(subtitle))


def _share(rate: float) -> TableCell:
    if np.isfinite(rate):
        return TableCell(points(rate), value=rate)
    return TableCell("-")


def _numbers(run: RunResults) -> tuple[TextTable, ...]:
    """Return the table by what is chosen, which is the script's, and that of all techniques and settings."""
    title = "The metric that is chosen, against the technique that is chosen"
    if run.plan.has_worlds:
        title += f", on {run.labels} labels"
    return (TextTable(title, (), (), key="numbers"), _findings_table(run))


def _findings_table(run: RunResults) -> TextTable:
    """Return the table of all columns of the answer: a row for each setting and technique."""
    answer = answer_of(run)
    wording = wording_of(answer.metric)
    columns = shown_columns(answer, in_worlds=answer.has_worlds)
    places = {
        "data set": [setting.dataset_label for setting in answer.settings],
        "attribute": [setting.attribute for setting in answer.settings],
        "groups of": [setting.compared for setting in answer.settings],
        "data": [setting.representation for setting in answer.settings],
        "classifier": [setting.classifier_label for setting in answer.settings],
        "world": [setting.world for setting in answer.settings],
    }
    places = _varied(places)
    rows = []
    for i, setting in enumerate(answer.settings):
        place = [TableCell(values[i]) for values in places.values()]
        if answer.has_betas:
            place.append(TableCell(f"{setting.beta:g}", value=setting.beta))
        for finding in setting.all_findings:
            cells = [
                column_cell(column, finding.numbers[column.key], wording, intervals=True)
                for column in columns
            ]
            n = TableCell(f"{finding.n} of {finding.n_repeats}", value=finding.n)
            technique = TableCell(finding.technique)
            rows.append((*place, technique, *cells, TableCell(result_of(finding)), n))
    beta_head = ("β",) if answer.has_betas else ()
    heads = [
        *places,
        *beta_head,
        "technique",
        *(head_of(column, wording) for column in columns),
        "result",
        "repeats",
    ]
    return TextTable("All techniques in all settings", tuple(heads), tuple(rows))


def _switch(
    name: str, title: str, values: Iterable[str], every: str = "", chosen: str = ""
) -> tuple[Switch, ...]:
    """Return a switch between values, and perhaps all of them; none where there is nothing to choose."""
    known = list(dict.fromkeys(values))
    options = [(value, value) for value in known]
    if every:
        options.insert(0, ("", every))
    if len(known) > 1:
        return (Switch(name, title, tuple(options), chosen),)
    return ()


def _differences(
    run: RunResults, results: Results, metric: str, most: int
) -> Iterator[tuple[Baseline, pd.DataFrame, Sequence[str]]]:
    """Yield the differences to `none`, which are known, and to each other technique, with their kinds.

    Those to other techniques are of `metric` and of `FIRST` alone where repeats share their test rows, as
    each test looks at every row of them then, and where they would be more than `most`; if these still are,
    there are none.
    """
    own = run_technique_frame(run)
    techniques = results.rows[TECHNIQUE[:2]].drop_duplicates().itertuples(index=False, name=None)
    others = [one for one in (Baseline(*own) for own in techniques) if one != Baseline()]
    paired = run_paired_frame(run)
    paired = paired[paired["metric"].isin(metrics_of(results))]
    if len(paired):
        yield Baseline(), paired, list(classify_changes(paired, own))
    within = results.rows.groupby([*SITUATION, "compared", "metric"], sort=False).size()
    size = int((within * (within - 1)).sum())
    few = dict.fromkeys((metric, *FIRST))
    shared = any(data.design.kind == "shared" for data in run.datasets)
    if shared or size > most:
        asked = run.select(tuple(few))
    else:
        asked = results
    if others and 0 < size * len(metrics_of(asked)) <= most * len(metrics_of(results)):
        each = paired_with_baselines(asked, others)
        called = {one.label: (one.intervention, one.parameters) for one in others}
        words = classify_changes(each, own, tuple(zip(*each["baseline"].map(called), strict=True)))
        for one in others:
            mine = (each["baseline"] == one.label).to_numpy()
            if mine.any():
                yield one, each[mine], list(words[mine])
