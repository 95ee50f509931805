"""What is said of models whose scores are not measured: they give none, or none that are probabilities."""

from typing import Any

from fairbench_cli.base.safe_text import format_count, join_names
from fairbench_cli.report.ledger.calibration import find_missing_scores, requested_score_metrics
from fairbench_cli.report.ledger.cell_labels import DisplayNames, read_display_names
from fairbench_cli.report.ledger.journal_arrays import TECHNIQUE
from fairbench_cli.report.ledger.results import RunResults

CLASSIFIER = ["classifier", "classifier_parameters"]
MODEL = TECHNIQUE + CLASSIFIER
MOST_NAMES = 4


def describe_scores(run: RunResults) -> list[str]:
    """Return who gives no scores that are measured; nothing where all do, or no metric is of scores."""
    if not requested_score_metrics(run):
        return []
    missing = find_missing_scores(run, MODEL)
    sentences = []
    if missing.without_scores:
        names = name_models(run, missing.without_scores)
        sentences.append(f"No scores, so no value of metrics of scores: {names}.")
    if missing.without_probabilities:
        names = name_models(run, missing.without_probabilities)
        sentences.append(f"Scores that are not from 0 to 1, of which AUC alone is measured: {names}.")
    if missing.n_not_kept:
        repeats = format_count(missing.n_not_kept, "repeat")
        sentences.append(f"The scores of {repeats} were not kept: run the experiment with these metrics.")
    return sentences


def name_models(run: RunResults, models: list[tuple[Any, ...]]) -> str:
    """Return the names of techniques, with the classifier where it is not so with all of them.

    Parameters
    ----------
    models : list of tuple
        By `MODEL`.
    """
    display_names = read_display_names(run.plan.config)
    classifiers_of: dict[tuple[Any, ...], set[tuple[Any, ...]]] = {}
    for cell in run.plan.cells:
        technique = tuple(cell[name] for name in TECHNIQUE)
        classifiers_of.setdefault(technique, set()).add(tuple(cell[name] for name in CLASSIFIER))
    lacking: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for model in models:
        lacking.setdefault(model[: len(TECHNIQUE)], []).append(model[len(TECHNIQUE) :])
    names = []
    for technique, classifiers in lacking.items():
        names.append(_name_technique(display_names, technique, classifiers, classifiers_of[technique]))
    return join_names(names, MOST_NAMES)


def _name_technique(
    display_names: DisplayNames,
    technique: tuple[Any, ...],
    classifiers: list[tuple[Any, ...]],
    all_classifiers: set[tuple[Any, ...]],
) -> str:
    """Return the name of a technique, with some of its classifiers if these are not all."""
    name = display_names.technique(*technique)
    if len(classifiers) == len(all_classifiers):
        return name
    return f"{name} with {join_names([display_names.classifier(*each) for each in classifiers], MOST_NAMES)}"
