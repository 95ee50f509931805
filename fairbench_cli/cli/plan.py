"""``fairbench plan``: what a run would do; runs nothing and writes nothing."""

from fairbench_cli.cli.options import Config, DataDir, Only, Output, Set


def plan(
    config: Config, output: Output = None, set_: Set = None, only: Only = None, data_dir: DataDir = None
) -> None:
    """Show the cells of an experiment: done, to do, time left. Runs nothing."""
    from collections import Counter

    from fairbench_cli.cli.console import out, print_rows
    from fairbench_cli.cli.progress import in_words
    from fairbench_cli.experiment.eta import Clock, kind_of
    from fairbench_cli.experiment.run import prepare
    from fairbench_cli.report.tables import technique_label

    prepared = prepare(
        config, folder=output, data_dir=data_dir, overrides=tuple(set_ or ()), filters=tuple(only or ())
    )
    repeats = prepared.experiment.repeats
    groups: dict[tuple[str, ...], list[int]] = {}
    betas: dict[tuple[str, ...], list[str]] = {}
    for cell in prepared.selected:
        shown = cell.describe()
        label = technique_label(shown["intervention"], shown["parameters"], shown["include_protected"])
        group = (cell.dataset, cell.attribute, label, cell.classifier.name)
        done = sum(prepared.is_done(cell, repeat) for repeat in range(repeats))
        known = groups.setdefault(group, [0, 0])
        known[0] += done
        known[1] += repeats - done
        betas.setdefault(group, []).append(f"{cell.beta:g}")
    rows = [[*group, " ".join(betas[group]), str(done), str(left)] for group, (done, left) in groups.items()]
    print_rows(["dataset", "attribute", "technique", "classifier", "β", "done", "to do"], rows, right=2)
    todo = prepared.todo
    cells = len(prepared.selected)
    total = cells * repeats
    out().print(f"{cells} cells × {repeats} repeats = {total}: {total - len(todo)} done, {len(todo)} to do")
    for source in prepared.study.sources:
        arc = "is" if source["arc_to_outcome"] else "is not"
        out().print(
            f"{source['dataset']}: network BIC {source['bic']:.3f}, "
            f"{source['edited_column']} {arc} a parent of the outcome, "
            f"{source['sample_size']} rows a training set"
        )
    clock = Clock(prepared.records.values(), {cell.key: kind_of(cell) for cell in prepared.selected})
    seconds = clock.left(dict(Counter(kind_of(cell) for cell, _ in todo)), 1)
    if todo and seconds is not None:
        out().print(f"about {in_words(seconds)} of CPU time left")
    out().print(f"results: {prepared.folder}")
