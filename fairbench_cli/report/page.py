"""The page of a run: the answer, then charts and tables that answer "who, by how much, at what cost"."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairbench_cli.base.safe_text import format_count
from fairbench_cli.document.charts import FORMS, LINES
from fairbench_cli.document.model import Answer, Document, Section, Switch, plain_table
from fairbench_cli.experiment.journal.folder import read_manifest
from fairbench_cli.report.ledger.answer import answer_metric
from fairbench_cli.report.ledger.cell_labels import NO_BIAS
from fairbench_cli.report.ledger.columns import ACCURACY, column_metrics
from fairbench_cli.report.ledger.exact_worlds import BETA
from fairbench_cli.report.ledger.results import Results, RunResults
from fairbench_cli.report.parts import PARTS
from fairbench_cli.report.parts.part import RunPart, make_sections
from fairbench_cli.report.show.answer_text import answer_document, each_setting, reasons_section
from fairbench_cli.report.show.page_charts import GAP_KIND_TEXTS, KIND_TEXTS, RULE_TEXTS
from fairbench_cli.report.show.page_data import FIXED_POINT_ONE, SHARE_SCALE, Json, choose_scale, panel_json
from fairbench_cli.report.show.page_panels import (
    DEFAULT_METRICS,
    MARKS,
    PagePanel,
    compute_panels,
    metric_names,
    select_differences,
)
from fairbench_cli.report.show.page_slots import PagePanels, drop_uniform_columns, group_into_slots

MAX_DIFFERENCES = 60_000  # to other techniques than none: a page keeps about 20 bytes of each
MAX_LETTERS = 420  # of what a card says; answer.md has the rest
TESTED = {
    "network": "test rows drawn from the networks",
    "holdout": "tested on rows that were left out of training",
}
STATUS_TEXTS = {"infeasible": "not possible on such rows", "noop": "with nothing for a technique to do"}
REPRODUCTION = (
    "config.yaml, next to this page, has every setting: fairbench run config.yaml -o again computes the same "
    "numbers, fairbench report this folder writes its files and this page again, and fairbench verify this "
    "folder computes some repeats again and compares them bit for bit."
)


@dataclass(frozen=True, eq=False)
class LabelledPanels:
    """A run whose numbers are of true or of recorded labels, and its panels."""

    run: RunResults
    results: Results
    panels: list[PagePanel]


def run_page(
    run: RunResults, parts: Sequence[RunPart] = PARTS, paper_section: Section | None = None
) -> Document:
    """Return the page of a run.

    Parameters
    ----------
    parts : sequence of RunPart
        What the report is made of; the page has their sections, in their order.
    paper_section : Section, optional
        What stands next to its numbers, such as a paper's.
    """
    config = run.plan.config
    metric = answer_metric(run).name
    # 1. The numbers, on the labels that are shown first and on the others.
    metrics = [metric]
    for names in (DEFAULT_METRICS, config.at_hand, column_metrics(config)):
        metrics += names
    metrics = list(dict.fromkeys(metrics))
    runs = [run]
    runs += [other_run for other_run in run.on_all_labels if other_run is not run]
    labelled_panels = []
    for labelled_run in runs:
        results = labelled_run.select(metrics)
        differences = select_differences(labelled_run, results, metric, MAX_DIFFERENCES // len(runs))
        panels = compute_panels(labelled_run, results, differences)
        labelled_panels.append(LabelledPanels(labelled_run, results, panels))
    # 2. What is shown first, and in which slots of the page.
    panels = labelled_panels[0].panels
    first_choices = choose_first(run, panels, metric)
    slots = group_into_slots(panels, first_choices["world"], float(first_choices["beta"] or 0))
    page_panels = PagePanels(slots, metric_names(labelled_panels[0].results))
    # 3. The sections of the parts, the paper's, and where the numbers are from.
    sections = make_sections(parts, run, page_panels)
    if paper_section is not None:
        sections.append(paper_section)
    sections += reasons_section(run)
    sections.append(provenance_section(run))
    # 4. The document: of the answer, pages have the headline alone, as cards and tables have the rest.
    answer = answer_document(run)
    return Document(
        config.name,
        Answer(answer.answer.headline) if answer.answer else None,
        facts=(describe_run(run),),
        sections=tuple(sections),
        switches=make_switches(runs, page_panels, first_choices),
        notes=answer.notes,
        data=page_json(labelled_panels, page_panels, first_choices),
    )


def choose_first(run: RunResults, panels: Sequence[PagePanel], metric: str) -> dict[str, str]:
    """Return the first choices of the switches: the middle β of the first world that does something."""
    worlds = []
    if run.plan.has_worlds:
        worlds = [panel.world_name for panel in panels]
    world = next((name for name in worlds if name != NO_BIAS), "")
    betas: set[float] = set()
    baselines: list[str] = []
    for panel in panels:
        baselines += panel.comparisons
        if panel.world_name == world or not world:
            betas.update(panel.betas)
    first_choices = {"beta": "", "metric": metric, "base": "", "world": world, "labels": ""}
    if betas:
        first_choices["beta"] = f"{sorted(betas)[len(betas) // 2]:g}"
    if baselines:
        first_choices["base"] = baselines[0]
    if worlds:
        first_choices["labels"] = run.labels
    return first_choices


def make_switches(
    runs: Sequence[RunResults], page_panels: PagePanels, first_choices: Mapping[str, str]
) -> tuple[Switch, ...]:
    """Return the switches of a page, those with more than one value to choose."""
    panels = page_panels.panels
    worlds = []
    if runs[0].plan.has_worlds:
        worlds = [panel.world_name for panel in panels]
    betas: set[float] = set()
    baselines: list[str] = []
    for panel in panels:
        betas.update(panel.betas)
        baselines += panel.comparisons
    strengths = [f"{beta:g}" for beta in sorted(betas)]
    strength_title = BETA if page_panels.strength_name == BETA else "Strength"
    metrics = [first_choices["metric"]]
    metrics += DEFAULT_METRICS
    metrics += page_panels.metrics
    switches = (
        make_switch("dataset", "Data set", [panel.dataset_name for panel in panels], can_be_all=True),
        make_switch("compared", "Groups of", [panel.block["compared"] for panel in panels], can_be_all=True),
        make_switch("classifier", "Classifier", [panel.classifier_name for panel in panels], can_be_all=True),
        make_switch("world", "World", worlds, first_choices["world"]),
        make_switch("beta", strength_title, strengths, first_choices["beta"]),
        make_switch("labels", "Labels", [labelled_run.labels for labelled_run in runs], runs[0].labels),
        make_switch("metric", "Metric", metrics, first_choices["metric"]),
        make_switch("base", "Against", baselines, first_choices["base"]),
    )
    return tuple(switch for switch in switches if switch is not None)


def make_switch(
    name: str, title: str, values: Iterable[str], first_choice: str = "", *, can_be_all: bool = False
) -> Switch | None:
    """Return a switch between values, and perhaps all of them; None where there is nothing to choose."""
    options = [(value, value) for value in dict.fromkeys(values)]
    if len(options) < 2:
        return None
    if can_be_all:
        options.insert(0, ("", "all"))
    return Switch(name, title, tuple(options), first_choice)


def page_json(
    labelled_panels: Sequence[LabelledPanels], page_panels: PagePanels, first_choices: Mapping[str, str]
) -> str:
    """Return the data of a page, from which its script draws, as JSON."""
    panels = labelled_panels[0].panels
    # 1. One scale of a metric for all panels, whatever labels they are of.
    all_panels: list[PagePanel] = []
    for labelled in labelled_panels:
        all_panels += labelled.panels
    scales = []
    for m, name in enumerate(page_panels.metrics):
        scales.append(choose_scale(labelled_panels[0].results.metric(name), all_panels, m))
    # 2. The columns of the table that name a panel, and its cells in them.
    columns = drop_uniform_columns(
        {
            "data set": [panel.dataset_name for panel in panels],
            "attribute": [panel.block["attribute"] for panel in panels],
            "groups of": [panel.block["compared"] for panel in panels],
            "data": [panel.block["representation"] for panel in panels],
            "classifier": [panel.classifier_name for panel in panels],
            "world": [panel.world_name for panel in panels],
        }
    )
    # 3. The panels on each labels, with what is said of them.
    panels_by_labels = []
    for labelled in labelled_panels:
        captions = card_captions(labelled.run)
        panels_json = []
        for i, panel in enumerate(labelled.panels):
            block = tuple(panel.block.values())
            panel_captions = [captions.get(block + (beta,), ["", ""]) for beta in panel.betas]
            row_heads = [column[i] for column in columns.values()]
            panels_json.append(panel_json(panel, scales, panel_captions) | {"row_heads": row_heads})
        panels_by_labels.append(panels_json)
    # 4. The slots, by the indices of their panels, and all of it.
    slots = []
    for slot in page_panels.slots:
        slots.append([panels.index(panel) for panel in slot.panels])
    page: Json = {
        "scales": [scale.json for scale in scales],
        "kind_texts": KIND_TEXTS,
        "gap_kind_texts": GAP_KIND_TEXTS,
        "mark_forms": {letter: mark.form for letter, mark in MARKS.items()},
        "form_paths": FORMS,
        "line_styles": LINES,
        "rule_texts": RULE_TEXTS,
        "fixed_point_one": FIXED_POINT_ONE,
        "accuracy_index": page_panels.metrics.index(ACCURACY),
        "first_choices": first_choices,
        "share_scale": SHARE_SCALE.json,
        "slots": slots,
        "table_heads": {"panel": list(columns), "strength": page_panels.strength_name},
        "panels": panels_by_labels[0],
        "panels_on_other_labels": panels_by_labels[1] if len(panels_by_labels) > 1 else [],
    }
    return json.dumps(page, ensure_ascii=False, separators=(",", ":"))


def card_captions(run: RunResults) -> dict[tuple[str | float, ...], list[str]]:
    """Return the captions of each setting, in short and all else, by its block and β."""
    captions: dict[tuple[str | float, ...], list[str]] = {}
    for setting, headline, details in each_setting(run):
        captions[setting.block_key + (setting.beta,)] = [headline, shorten_sentences(details)]
    return captions


def shorten_sentences(text: str) -> str:
    """Return the first sentences of a text, as many as a card has room for; of a long one its first words."""
    sentences = text.split(". ")
    while len(sentences) > 1 and len(". ".join(sentences)) > MAX_LETTERS:
        sentences.pop()
    shortened = ". ".join(sentences)
    if len(shortened) > MAX_LETTERS:
        shortened = f"{shortened[:MAX_LETTERS].rpartition(' ')[0]} …"
    if not shortened.endswith((".", "…")):
        shortened += "."
    return f"{shortened[:1].upper()}{shortened[1:]}"


def describe_run(run: RunResults) -> str:
    """Return in one line what was run, and how much of it is done."""
    plan = run.plan
    config = plan.config
    # 1. Techniques × data sets × worlds × β.
    techniques = {
        (cell["intervention"], cell["parameters"], cell["include_protected"]) for cell in plan.cells
    }
    datasets = {cell["dataset"] for cell in plan.cells}
    worlds = {cell["world"] for cell in plan.cells}
    betas = sorted({cell["beta"] for cell in plan.cells})
    factors = [format_count(len(techniques), "technique"), format_count(len(datasets), "data set")]
    if plan.has_worlds and len(worlds) > 1:
        factors.append(f"{len(worlds)} worlds")
    if len(betas) > 1:
        strengths = "strengths" if plan.has_worlds else BETA
        factors.append(f"{strengths} {', '.join(f'{beta:g}' for beta in betas)}")
    # 2. How many repeats are done, and what became of the others. Cells that cannot differ share a key.
    status_of_repeat = {}
    for repeats in run.datasets:
        for cell, statuses in zip(repeats.cells, repeats.status, strict=True):
            for repeat, status in enumerate(statuses):
                if status:
                    status_of_repeat[cell["key"], repeat] = status
    facts = [
        " × ".join(factors),
        f"{format_count(config.repeats, 'repeat')} of each",
        f"{len(status_of_repeat)} of {plan.size} done",
    ]
    for status, n_repeats in Counter(status_of_repeat.values()).items():
        if status not in ("ok", "degraded"):
            facts.append(f"{n_repeats} {STATUS_TEXTS.get(status, status)}")
    facts.append(TESTED.get(config.tested, f"tested on {plan.test_rows}"))
    return " · ".join(facts)


def provenance_section(run: RunResults) -> Section:
    """Return where the numbers are from, and the commands that make them again.

    What differs from one run of a config to the next (the command, versions, the machine) stands here alone.
    """
    manifest = read_manifest(run.folder) or {}
    # 1. The run.
    git = manifest.get("git") or {}
    commit = str(git.get("commit", ""))
    if git.get("dirty"):
        commit += ", with changes"
    versions = [f"{name} {version}" for name, version in manifest.get("packages", {}).items()]
    mixed_versions = []
    for name, several in manifest.get("mixed_versions", {}).items():
        mixed_versions.append(f"{name} {', '.join(several)}")
    if manifest.get("python"):
        versions.insert(0, manifest["python"])
    facts = {
        "command": manifest.get("command", ""),
        "Python and packages": ", ".join(versions),
        "mixed versions": "; ".join(mixed_versions),
        "commit of fairbench": commit,
        "platform": manifest.get("platform", ""),
        "seed": str(run.plan.config.seed),
    }
    rows = [(name, fact) for name, fact in facts.items() if fact]
    tables = [plain_table("Run", ("what", "value"), rows, 2)]
    # 2. The data, once for all attributes of a data set.
    files: dict[tuple[str, str, str], None] = {}
    for source in run.plan.datasets:
        for name, digest in (source.get("sha256") or {}).items():
            files[source["dataset"], name, digest] = None
    if files:
        tables.append(plain_table("Data", ("data set", "file", "sha256"), files, 3))
    return Section("Where the numbers are from", (REPRODUCTION,), tuple(tables), anchor="provenance")
