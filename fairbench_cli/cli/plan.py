"""``fairbench plan``: what a run would do; runs nothing and writes nothing."""

from typing import TYPE_CHECKING

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
    from fairbench_cli.cli.console import print_document, say
    from fairbench_cli.cli.progress import estimate_of, in_words, kinds_of, to_do
    from fairbench_cli.document.model import Document, Section, plain_table
    from fairbench_cli.experiment.plan import arc_in_words
    from fairbench_cli.experiment.running.run import prepare
    from fairbench_cli.experiment.running.todo import read_shard

    prepared = prepare(
        config,
        folder=output,
        data_dir=data_dir,
        overrides=tuple(set_ or ()),
        filters=tuple(only or ()),
        shard=None if shard is None else read_shard(shard),
    )
    left = prepared.todo.by_key()
    heads = ("dataset", "attribute", "technique", "classifier", "done", "to do")
    table = plain_table("", heads, _rows(prepared, left), 4)
    betas = [f"{beta:g}" for beta in dict.fromkeys(cell.beta for cell in prepared.selected)]
    some = ", ".join(betas[:MOST_BETAS])
    lines = [f"β: {some}" + (f", … {betas[-1]} ({len(betas)} values)" if len(betas) > MOST_BETAS else "")]
    todo, total, cells = sum(left.values()), prepared.size, len(prepared.distinct)
    repeats = prepared.config.repeats
    part = f" = {total}" if prepared.shard is None else f", {total} of them in shard {prepared.shard}"
    lines.append(f"{cells} cells × {repeats} repeats{part}: {total - todo} done, {todo} to do")
    if len(prepared.selected) > cells:
        lines.append(f"{len(prepared.selected) - cells} more cells share the numbers of one of these")
    lines.append(f"limits of a repeat: {prepared.config.limits}")
    for dataset in prepared.plan.datasets:
        if prepared.config.sample.source == "data":
            about = f"{dataset['sample_size']} of {dataset['rows']} rows a training set, the rest a test set"
        else:
            size = f"{dataset['sample_size']} rows a training set"
            about = f"network BIC {dataset['bic']:.3f}, {arc_in_words(dataset)}, {size}"
        lines.append(f"{dataset['dataset']}: {about}")
    kinds = kinds_of(prepared.distinct)
    seconds = estimate_of(prepared, kinds, 1).left(to_do(prepared, kinds))
    if todo and seconds is not None:
        lines.append(f"about {in_words(seconds)} of CPU time left")
    sections = (Section("", tables=(table,)),)
    print_document(Document("", sections=sections, notes=tuple(dict.fromkeys(lines))))
    say(f"results: {prepared.folder}")


def _rows(prepared: "PreparedRun", left: dict[str, int]) -> list[list[str]]:
    """Return the rows of the table of cells: data set, attribute, technique, classifier, done, to do."""
    from collections import Counter

    from fairbench_cli.report.tables import classifier_label, technique_label

    groups: dict[tuple[str, str, int, int], Counter[str]] = {}
    members: dict[tuple[str, str, int, int], Cell] = {}
    for cell in prepared.selected:  # cells share the objects of their technique and classifier
        group = (*cell.source, id(cell.technique), id(cell.classifier))
        members.setdefault(group, cell)
        to_do = left[cell.key]
        groups.setdefault(group, Counter()).update({"done": prepared.asked(cell) - to_do, "to do": to_do})
    named: dict[tuple[str, ...], Counter[str]] = {}
    variants: dict[tuple[str, ...], tuple[set[int], set[int]]] = {}
    for group, n in groups.items():
        cell = members[group]
        if len(groups) > MOST_ROWS:
            label, classifier = cell.technique.spec.name, cell.classifier.name
        else:
            shown = cell.describe()
            label = technique_label(shown["intervention"], shown["parameters"], shown["include_protected"])
            label += "" if shown["representation"] == "original" else f", {shown['representation']}"
            classifier = classifier_label(shown["classifier"], shown["classifier_parameters"])
        name = (*cell.source, label, classifier)
        named.setdefault(name, Counter()).update(n)
        for known, one in zip(variants.setdefault(name, (set(), set())), group[2:], strict=True):
            known.add(one)
    rows = []
    for (dataset, attribute, *both), n in named.items():
        settings = (len(known) for known in variants[dataset, attribute, *both])
        several = [
            f"{one} ({count} settings)" if count > 1 else one
            for one, count in zip(both, settings, strict=True)
        ]
        rows.append([dataset, attribute, *several, str(n["done"]), str(n["to do"])])
    return rows
