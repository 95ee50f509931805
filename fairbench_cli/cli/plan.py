"""``fairbench plan``: what a run would do; runs nothing and writes nothing."""

from fairbench_cli.cli.options import Config, DataDir, Only, Output, Set


def plan(
    config: Config, output: Output = None, set_: Set = None, only: Only = None, data_dir: DataDir = None
) -> None:
    """Show the cells of an experiment: done, to do, time left. Runs nothing."""
    from collections import Counter

    from fairbench_cli.cli.console import print_rows, say
    from fairbench_cli.cli.progress import Clock, in_words, kind_of
    from fairbench_cli.experiment.run import prepare
    from fairbench_cli.report.tables import classifier_label, technique_label

    prepared = prepare(
        config, folder=output, data_dir=data_dir, overrides=tuple(set_ or ()), filters=tuple(only or ())
    )
    repeats = prepared.config.repeats
    groups: dict[tuple[str, ...], Counter[str]] = {}
    for cell in prepared.selected:
        shown = cell.describe()
        label = technique_label(shown["intervention"], shown["parameters"], shown["include_protected"])
        label += "" if shown["representation"] == "original" else f", {shown['representation']}"
        classifier = classifier_label(shown["classifier"], shown["classifier_parameters"])
        known = groups.setdefault((*cell.source, label, classifier), Counter())
        known.update("done" if prepared.is_done(cell, k) else "to do" for k in range(repeats))
    rows = [[*group, str(n["done"]), str(n["to do"])] for group, n in groups.items()]
    print_rows(["dataset", "attribute", "technique", "classifier", "done", "to do"], rows, right=2)
    say(f"β: {', '.join(dict.fromkeys(f'{cell.beta:g}' for cell in prepared.selected))}")
    todo, total = prepared.todo, prepared.size
    cells = len(prepared.distinct)
    say(f"{cells} cells × {repeats} repeats = {total}: {total - len(todo)} done, {len(todo)} to do")
    if len(prepared.selected) > cells:
        say(f"{len(prepared.selected) - cells} more cells share the numbers of one of these")
    lines = []
    for dataset in prepared.plan.datasets:
        if prepared.config.sample.source == "data":
            about = f"{dataset['sample_size']} of {dataset['rows']} rows a training set, the rest a test set"
        else:
            arc = f"{dataset['edited_column']} {'is' if dataset['arc_to_outcome'] else 'is not'} a parent"
            size = f"{dataset['sample_size']} rows a training set"
            about = f"network BIC {dataset['bic']:.3f}, {arc} of the outcome, {size}"
        lines.append(f"{dataset['dataset']}: {about}")
    for line in dict.fromkeys(lines):
        say(line)
    seconds = Clock(prepared).left(Counter(kind_of(cell) for cell, _ in todo), 1)
    if todo and seconds is not None:
        say(f"about {in_words(seconds)} of CPU time left")
    say(f"results: {prepared.folder}")
