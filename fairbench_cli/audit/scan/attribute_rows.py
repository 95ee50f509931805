"""Read the rows of a numeric attribute as it is: its number, the outcome or decision, weight and person."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.scan.draws import drawn_rows
from fairbench_cli.audit.scan.readings import Ints, count_selected, scores_of
from fairbench_cli.audit.scan.scan import Scan, against_rest
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.rates import numerators_and_denominators

CELLS = np.eye(4).reshape(4, 2, 2)  # a row of each label and decision


@dataclass(frozen=True, eq=False)
class AttributeRows:
    """The rows with a number in an attribute; arrays of shape (rows,).

    Parameters
    ----------
    x : array
        The attribute.
    outcome : array or None
        Of an audit of numbers.
    level, label : int arrays or None
        Where the score is among those that are cut, and the label; of an audit of decisions.
    weights : array or None
    clusters : int array or None
        By the first column of clusters.
    drawn : str
        How many rows were drawn at random of how many, in words; empty where all are there.
    """

    x: Floats
    outcome: Floats | None
    level: Ints | None
    label: Ints | None
    weights: Floats | None
    clusters: Ints | None
    drawn: str


@dataclass(frozen=True, eq=False)
class RowEvents:
    """Whether rows have the event of a rate, among those that it is of; arrays of shape (rows,)."""

    decision: str
    metric: str
    is_counted: NDArray[np.bool_]
    event: Floats


def read_attribute_rows(scan: Scan, name: str, most: int) -> AttributeRows:
    """Return the rows with a number in an attribute and a weight above 0: all, or `most` drawn at random."""
    roles = scan.roles
    keys = [f"number_{roles.attributes[name]} AS x"]
    keys += [f"trimmed_{cluster} AS person" for cluster in roles.clusters[:1]]
    columns = ["x", "score_0 AS y"] if scan.config.of_numbers else ["x", "level_0 AS level", "label"]
    condition = "x IS NOT NULL"
    if roles.clusters:
        columns.append("dense_rank() OVER (ORDER BY person) - 1 AS person")
    if scan.weighted:
        columns.append("weight")
        condition += " AND weight > 0"
    table, drawn = drawn_rows(scan, most)
    rows = scan.keys([], table, more_keys=keys)
    with scan.source.engine(ordered=True, threads=1):
        # In one order, whatever that of the file: sums have the same last digit, permutations the same p.
        query = f"SELECT {', '.join(columns)} FROM ({rows}) WHERE {condition} ORDER BY ALL"
        fetched = scan.source.execute(query).fetchnumpy()

    numbers: dict[str, Floats] = {}
    codes: dict[str, Ints] = {}
    for key, values in fetched.items():
        if key in ("level", "label", "person"):
            codes[key] = np.asarray(values, dtype=np.int64)
        else:
            numbers[key] = np.asarray(values, dtype=np.float64)
    return AttributeRows(
        x=numbers["x"],
        outcome=numbers.get("y"),
        level=codes.get("level"),
        label=codes.get("label"),
        weights=numbers.get("weight"),
        clusters=codes.get("person"),
        drawn=drawn,
    )


def list_events(scan: Scan, rows: AttributeRows, rates: Sequence[str]) -> Iterator[RowEvents]:
    """Yield the events of rates under each decision; none of a decision that draws ties.

    Parameters
    ----------
    scan : Scan
        Of decisions of one model.
    rows : AttributeRows
    rates : sequence of str
        None that is a share of all.
    """
    if rows.level is None or rows.label is None:
        return
    above, below = numerators_and_denominators(CELLS, rates)
    cuts = scan.cuts_of("")
    ones = np.ones(len(rows.level), dtype=np.int64)
    for cut in cuts:
        if isinstance(cut.tied, int):
            continue
        level = against_rest(cut, rows.level)
        is_selected = count_selected(cut, scores_of(cuts), level, ones, scan.config.seed, "")
        kind = 2 * against_rest(cut, rows.label) + is_selected
        for m, metric in enumerate(rates):
            yield RowEvents(cut.text, metric, below[kind, m] > 0, above[kind, m])
