"""Single against combined protected attributes, side by side (Friedler et al. 2019)."""

from typing import Any

from fairbench_cli.document.model import Document, Section, plain_table
from fairbench_cli.report.repeats import TECHNIQUE
from fairbench_cli.report.results import RunResults
from fairbench_cli.report.stability import two_metrics
from fairbench_cli.report.tables import caption, distinct_models, shown, technique_label

Row = tuple[str, str]
"""A technique and what its classifier is called."""


def by_attribute(run: RunResults) -> dict[tuple[str, str, float], dict[Row, dict[str, dict[str, Any]]]]:
    """Return the cells of data sets with several attributes.

    By data set, representation and β; then by technique and classifier; then by attribute. Each is measured
    by the groups of its own attribute: a model that does not use them is the same for every attribute.
    """
    found: dict[tuple[str, str, float], dict[Row, dict[str, dict[str, Any]]]] = {}
    places: dict[str, int] = {}
    for cell, classifier in distinct_models(run.plan, run.plan.cells):
        own = found.setdefault((cell["dataset"], cell["representation"], cell["beta"]), {})
        row = technique_label(*(cell[name] for name in TECHNIQUE)), classifier
        places.setdefault(row[0], len(places))
        own.setdefault(row, {})[cell["attribute"]] = cell
    return {
        key: dict(sorted(own.items(), key=lambda row: places[row[0][0]]))  # a technique's rows together
        for key, own in found.items()
        if len(attributes_of(own)) > 1
    }


def attributes_of(rows: dict[Row, dict[str, dict[str, Any]]]) -> tuple[str, ...]:
    """Return the attributes in their order."""
    return tuple(dict.fromkeys(attribute for own in rows.values() for attribute in own))


def combined_table(name: str, run: RunResults) -> Document:
    """Lay out the `two_metrics` of every technique and classifier, one column per attribute."""
    columns = ("technique", "classifier", "metric")
    blocks, metrics = [], two_metrics(run.plan.config)[::-1]
    found = by_attribute(run)
    used: set[str] = set()
    several = len({beta for *_, beta in found}) > 1
    for (dataset, how, beta), rows in found.items():
        attributes = attributes_of(rows)
        texts = [
            [*row, metric, *(shown(run, own[one], metric) if one in own else "" for one in attributes)]
            for row, own in rows.items()
            for metric in metrics
        ]
        used |= {text for row in texts for text in row[len(columns) :]}
        title = dataset + ("" if how == "original" else f", {how}") + (f", β = {beta:g}" if several else "")
        table = plain_table("", (*columns, *attributes), texts, len(columns), grouped=True)
        blocks.append(Section(title, tables=(table,)))
    about = "Each column: techniques that work on this attribute, measured by its groups."
    return Document(name, facts=(about, *caption(run.plan, used)), sections=tuple(blocks))
