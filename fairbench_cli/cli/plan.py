"""``fairbench plan``: what a run would do; runs nothing and writes nothing."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbench_cli.base.errors import UserError
from fairbench_cli.cli.options import Config, DataDir, NoCode, Only, Output, Set, ShardOf

if TYPE_CHECKING:  # light when asked for --help
    from fairbench_cli.experiment.plan import Cell
    from fairbench_cli.experiment.running.run import PreparedRun

MOST_ROWS = 200  # of techniques with their parameters; beyond, a row for all parameters of one
MOST_BETAS = 20


def plan(
    config: Config,
    output: Output = None,
    set_: Set = None,
    only: Only = None,
    data_dir: DataDir = None,
    shard: ShardOf = None,
    no_code: NoCode = False,
) -> None:
    """Show the cells of an experiment: done, to do, time left. Runs nothing."""
    from fairbench_cli.base.plugins import refusing_code
    from fairbench_cli.base.safe_text import format_count
    from fairbench_cli.cli.activity import Activity
    from fairbench_cli.cli.console import print_document, say
    from fairbench_cli.cli.progress import estimate_of, in_words, kinds_of, to_do
    from fairbench_cli.document.model import Document, Section, plain_table
    from fairbench_cli.experiment.config.read import read_config
    from fairbench_cli.experiment.datasets import list_warnings
    from fairbench_cli.experiment.plan import LABEL_BIAS, arc_in_words, bias_in_words
    from fairbench_cli.experiment.running.reuse import describe_done_elsewhere
    from fairbench_cli.experiment.running.run import prepare, read_shard

    with refusing_code(no_code), Activity("reading") as activity:
        experiment = read_config(config, tuple(set_ or ()))
        this_shard = None
        if shard is not None:
            this_shard = read_shard(shard)
        filters = tuple(only or ())
        tell = activity.tell
        prepared = prepare(
            experiment, folder=output, data_dir=data_dir, filters=filters, shard=this_shard, tell=tell
        )
    repeats_left = prepared.repeats_left
    heads = ("dataset", "attribute", "technique", "classifier", "done", "to do")
    table = plain_table("", heads, _rows(prepared, repeats_left), 4)
    tilted = {
        dataset.name
        for dataset in prepared.datasets
        if dataset.spec.bias is None and dataset.network is not None
    }
    betas = list(dict.fromkeys(cell.beta for cell in prepared.selected if cell.source in tilted))
    lines = [f"β: {_listed(betas)}"] if betas else []
    todo = sum(repeats_left.values())
    total = prepared.size
    n_distinct = len(prepared.distinct)
    n_controls = len(prepared.trained_controls)
    cells = f"{n_distinct - n_controls} cells"
    if n_controls:
        cells += f" and {format_count(n_controls, 'control')}"
    if this_shard is None:
        of_total = f" = {total}"
    else:
        of_total = f", {total} of them in shard {this_shard}"
    lines.append(f"{cells} × {experiment.repeats} repeats{of_total}: {total - todo} done, {todo} to do")
    lines += describe_done_elsewhere(prepared)
    if len(prepared.selected) > n_distinct:
        lines.append(f"{len(prepared.selected) - n_distinct} more cells share the numbers of one of these")
    lines.append(f"a repeat is stopped {experiment.limits}")
    for dataset in prepared.plan.datasets:
        if experiment.sample.source == "data":
            description = (
                f"{dataset['sample_size']} of {dataset['rows']} rows a training set, the rest a test set"
            )
        else:
            size = f"{dataset['sample_size']} rows a training set"
            arc = ""
            if "worlds" not in dataset:
                arc = f" {arc_in_words(dataset)},"
            bic = ""  # not learned
            if dataset["bic"]:
                bic = f"network BIC {dataset['bic']:.3f},"
            description = f"{bic}{arc} {size}".strip()
            if any(betas):
                kind = bias_in_words([dataset])
                if kind:
                    description += f"; β is {kind}"
                if kind not in ("", LABEL_BIAS) and "regrouped" not in dataset:
                    learned = "`from: network` and " if "network" in dataset else ""
                    description += (
                        f" (the outcome has children; {learned}`outcome_sink: true` for {LABEL_BIAS})"
                    )
        lines.append(f"{dataset['dataset']}: {description}")
    lines += [f"warning: {line}" for line in list_warnings(prepared.datasets)]
    kinds = kinds_of(prepared.distinct)
    seconds = estimate_of(prepared, kinds, 1).left(to_do(prepared, kinds))
    if todo and seconds is not None:
        clock = seconds * _pace(prepared.folder)
        by_clock = ""
        if clock > seconds:
            by_clock = (
                f"; by the clock {in_words(clock)}, as repeats of the last run waited more than computed"
            )
        lines.append(f"about {in_words(max(1.0, seconds))} of CPU time left{by_clock}")
    worlds = plain_table("", ("dataset", "world", "strength", "what it does"), _worlds(prepared), 4)
    sections = [Section("", tables=(table,))]
    if worlds.rows:
        sections.append(Section("", tables=(worlds,)))
    print_document(Document("", sections=tuple(sections), notes=tuple(dict.fromkeys(lines))))
    say(f"results: {prepared.folder}")


def _pace(folder: Path) -> float:
    """Return how many seconds by the clock the last run took for one of the CPU, where it waited; else 0."""
    from fairbench_cli.experiment.journal.folder import read_manifest

    manifest = None
    with suppress(UserError):  # a damaged one is replaced by the next run
        manifest = read_manifest(folder)
    if not manifest or not isinstance(manifest.get("pace"), float):
        return 0.0
    return float(manifest["pace"]) / int(manifest["jobs"])


def list_worlds(prepared: "PreparedRun") -> list[str]:
    """Return the names of the worlds of a run, in order."""
    return list(dict.fromkeys(name for _, name, _, _ in _worlds(prepared)))


def _listed(strengths: list[float]) -> str:
    """Return strengths in words; of many the first ones and the last."""
    texts = [f"{strength:g}" for strength in strengths]
    ellipsis = ""
    if len(texts) > MOST_BETAS:
        ellipsis = f", … {texts[-1]} ({len(texts)} values)"
    return f"{', '.join(texts[:MOST_BETAS])}{ellipsis}"


def _worlds(prepared: "PreparedRun") -> list[list[str]]:
    """Return the rows of the table of worlds: data sets, world, strengths, what the last does."""
    selected = {(*cell.source, cell.world.name, cell.beta) for cell in prepared.selected}
    datasets: dict[tuple[str, str, str], list[str]] = {}  # by the rest of a row
    for dataset in prepared.plan.datasets:
        name = dataset["dataset"]
        strengths = dict[str, list[dict[str, Any]]]()
        for world in dataset.get("worlds", ()):
            if (name, dataset["attribute"], world["world"], world["beta"]) in selected:
                strengths.setdefault(world["world"], []).append(world)
        for called, worlds_of_name in strengths.items():
            betas = ""
            if called:
                betas = _listed([world["beta"] for world in worlds_of_name])
            effect = worlds_of_name[-1]["words"]
            if len(worlds_of_name) > 1:
                effect = f"at {worlds_of_name[-1]['beta']:g}: {effect}"
            datasets.setdefault((called or "no bias", betas, effect), []).append(name)
    return [[", ".join(dict.fromkeys(names))] + list(row) for row, names in datasets.items()]


def _rows(prepared: "PreparedRun", repeats_left: dict[str, int]) -> list[list[str]]:
    """Return the rows of the table of cells: data set, attribute, technique, classifier, done, to do."""
    from fairbench_cli.report.ledger.cell_labels import classifier_label, technique_label

    variants = {(*cell.source, id(cell.technique), id(cell.classifier)) for cell in prepared.selected}
    # Cells share the objects of technique and classifier.
    labels: dict[tuple[int, int, str], tuple[str, str]] = {}
    groups: dict[tuple[str, ...], list[Cell]] = {}
    for cell in prepared.selected:
        variant = id(cell.technique), id(cell.classifier), cell.control
        if variant not in labels and len(variants) > MOST_ROWS:
            labels[variant] = _with_control(cell.technique.spec.name, cell), cell.classifier.name
        elif variant not in labels:
            fields = cell.describe()
            label = technique_label(fields["intervention"], fields["parameters"], fields["include_protected"])
            if fields["representation"] != "original":
                label += f", {fields['representation']}"
            labels[variant] = (
                _with_control(label, cell),
                classifier_label(fields["classifier"], fields["classifier_parameters"]),
            )
        groups.setdefault((*cell.source, *labels[variant]), []).append(cell)
    rows = []
    for (dataset, attribute, technique, classifier), cells in groups.items():
        technique += _settings(len({id(cell.technique) for cell in cells}))
        classifier += _settings(len({id(cell.classifier) for cell in cells}))
        of_total = sum(map(prepared.n_repeats_of, cells))
        to_do = sum(repeats_left[cell.key] for cell in cells)
        rows.append([dataset, attribute, technique, classifier, str(of_total - to_do), str(to_do)])
    return rows


def _with_control(label: str, cell: "Cell") -> str:
    """Return the label of a technique, or that of a trained control."""
    from fairbench_cli.experiment.controls import SHUFFLED

    if cell.control == SHUFFLED:
        return f"control: {label}, shuffled"
    if cell.control:
        return "control: bootstrap twins"
    return label


def _settings(count: int) -> str:
    if count > 1:
        return f" ({count} settings)"
    return ""
