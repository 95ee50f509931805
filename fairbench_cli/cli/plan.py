"""``fairbench plan``: what a run would do; runs nothing and writes nothing."""

from typing import TYPE_CHECKING, Any

from fairbench_cli.cli.options import Config, DataDir, Only, Output, Set, ShardOf

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
) -> None:
    """Show the cells of an experiment: done, to do, time left. Runs nothing."""
    from fairbench_cli.cli.activity import Activity
    from fairbench_cli.cli.console import print_document, say
    from fairbench_cli.cli.progress import estimate_of, in_words, kinds_of, to_do
    from fairbench_cli.document.model import Document, Section, plain_table
    from fairbench_cli.experiment.config.read import read_config
    from fairbench_cli.experiment.plan import arc_in_words, bias_in_words
    from fairbench_cli.experiment.running.run import prepare, read_shard

    with Activity("reading") as activity:
        given = read_config(config, tuple(set_ or ()))
        if shard is None:
            part = None
        else:
            part = read_shard(shard)
        filters = tuple(only or ())
        tell = activity.tell
        prepared = prepare(given, folder=output, data_dir=data_dir, filters=filters, shard=part, tell=tell)
    left = prepared.left
    heads = ("dataset", "attribute", "technique", "classifier", "done", "to do")
    table = plain_table("", heads, _rows(prepared, left), 4)
    tilted = {one.name for one in prepared.datasets if one.spec.bias is None and one.network is not None}
    betas = list(dict.fromkeys(cell.beta for cell in prepared.selected if cell.source in tilted))
    lines = [f"β: {_listed(betas)}"] if betas else []
    todo = sum(left.values())
    total = prepared.size
    cells = len(prepared.distinct)
    if part is None:
        asked = f" = {total}"
    else:
        asked = f", {total} of them in shard {part}"
    lines.append(f"{cells} cells × {given.repeats} repeats{asked}: {total - todo} done, {todo} to do")
    if len(prepared.selected) > cells:
        lines.append(f"{len(prepared.selected) - cells} more cells share the numbers of one of these")
    lines.append(f"limits of a repeat: {given.limits}")
    for dataset in prepared.plan.datasets:
        if given.sample.source == "data":
            about = f"{dataset['sample_size']} of {dataset['rows']} rows a training set, the rest a test set"
        else:
            size = f"{dataset['sample_size']} rows a training set"
            if "worlds" in dataset:
                arc = ""
            else:
                arc = f" {arc_in_words(dataset)},"
            if any(betas):
                kind = bias_in_words([dataset], shipped=_shipped(prepared))
            else:
                kind = ""
            # not learned
            if dataset["bic"]:
                bic = f"network BIC {dataset['bic']:.3f},"
            else:
                bic = ""
            about = f"{bic}{arc} {size}".strip() + (f"; β is {kind}" if kind else "")
        lines.append(f"{dataset['dataset']}: {about}")
    kinds = kinds_of(prepared.distinct)
    seconds = estimate_of(prepared, kinds, 1).left(to_do(prepared, kinds))
    if todo and seconds is not None:
        lines.append(f"about {in_words(seconds)} of CPU time left")
    worlds = plain_table("", ("dataset", "world", "strength", "what it does"), _worlds(prepared), 4)
    sections = [Section("", tables=(table,)), *([Section("", tables=(worlds,))] if worlds.rows else [])]
    print_document(Document("", sections=tuple(sections), notes=tuple(dict.fromkeys(lines))))
    say(f"results: {prepared.folder}")


def bias_lines(prepared: "PreparedRun") -> list[str]:
    """Say in a line each what β does to people, and which worlds a run has."""
    from fairbench_cli.experiment.plan import bias_in_words

    tilted = any(cell.beta for cell in prepared.selected if not cell.world.mechanisms)
    if tilted:
        kind = bias_in_words(prepared.plan.datasets, brief=True, shipped=_shipped(prepared))
    else:
        kind = ""
    worlds = dict.fromkeys(name for _, name, _, _ in _worlds(prepared))
    return [*([f"β is {kind}"] if kind else []), *([f"worlds: {', '.join(worlds)}"] if worlds else [])]


def _shipped(prepared: "PreparedRun") -> bool:
    return prepared.config.sample.source == "shipped"


def _listed(strengths: list[float]) -> str:
    """Return strengths in words; of many the first ones and the last."""
    texts = [f"{strength:g}" for strength in strengths]
    if len(texts) > MOST_BETAS:
        more = f", … {texts[-1]} ({len(texts)} values)"
    else:
        more = ""
    return f"{', '.join(texts[:MOST_BETAS])}{more}"


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
        for called, same in strengths.items():
            if called:
                betas = _listed([world["beta"] for world in same])
            else:
                betas = ""
            effect = same[-1]["words"]
            if len(same) > 1:
                effect = f"at {same[-1]['beta']:g}: {effect}"
            datasets.setdefault((called or "no bias", betas, effect), []).append(name)
    return [[", ".join(dict.fromkeys(names)), *row] for row, names in datasets.items()]


def _rows(prepared: "PreparedRun", left: dict[str, int]) -> list[list[str]]:
    """Return the rows of the table of cells: data set, attribute, technique, classifier, done, to do."""
    from fairbench_cli.report.tables import classifier_label, technique_label

    variants = {(*cell.source, id(cell.technique), id(cell.classifier)) for cell in prepared.selected}
    labels: dict[tuple[int, int], tuple[str, str]] = {}  # cells share the objects of these two
    groups: dict[tuple[str, ...], list[Cell]] = {}
    for cell in prepared.selected:
        both = id(cell.technique), id(cell.classifier)
        if both not in labels and len(variants) > MOST_ROWS:
            labels[both] = cell.technique.spec.name, cell.classifier.name
        elif both not in labels:
            shown = cell.describe()
            label = technique_label(shown["intervention"], shown["parameters"], shown["include_protected"])
            if shown["representation"] == "original":
                label += ""
            else:
                label += f", {shown['representation']}"
            labels[both] = label, classifier_label(shown["classifier"], shown["classifier_parameters"])
        groups.setdefault((*cell.source, *labels[both]), []).append(cell)
    rows = []
    for (dataset, attribute, technique, classifier), cells in groups.items():
        technique += _settings(len({id(cell.technique) for cell in cells}))
        classifier += _settings(len({id(cell.classifier) for cell in cells}))
        asked = sum(map(prepared.asked, cells))
        to_do = sum(left[cell.key] for cell in cells)
        rows.append([dataset, attribute, technique, classifier, str(asked - to_do), str(to_do)])
    return rows


def _settings(count: int) -> str:
    if count > 1:
        return f" ({count} settings)"
    return ""
