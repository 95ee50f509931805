"""Count whose rows these are: the weights of each person in each group, where people have several rows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fairbench_cli.audit.scan.cuts import Ints, scores_of, selected
from fairbench_cli.audit.scan.refusals import refuse_if
from fairbench_cli.audit.scan.scan import Scan, coded_rows, group_places, grouped, models_of
from fairbench_cli.audit.scan.source import blank
from fairbench_cli.audit.scan.tally import Clusters, Slice
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.groups import CROSS

_SUMS = ("weight", "square")  # of the weights of rows that are alike, and of their squares


def with_clusters(scan: Scan, column: int) -> tuple[tuple[Slice, ...], str]:
    """Return the slices with their clusters, and a note that says how many people there are.

    The rows are scanned once, into a table of the sums of each person by groups, label and score, which
    DuckDB keeps on disk where it outgrows its memory. A slice holds one entry per person and group.

    Parameters
    ----------
    scan : Scan
        The rows, counted; no ties are drawn.
    column : int
        Says whose row it is.

    Raises
    ------
    UserError
        When rows do not say whose they are.
    """
    source, attributes = scan.source, list(scan.roles.attributes)
    keys = ["model", "level", "label", *(f"attribute_{i}" for i in range(len(attributes))), "person"]
    sums = ("sum(weight)", "sum(weight * weight)") if scan.weighted else ("count(*)", "count(*)")
    columns = [f"{of}::DOUBLE AS {name}" for of, name in zip(sums, _SUMS, strict=True)]
    rows = scan.keys(attributes, more=(f"trimmed_{column} AS person",))
    source.execute(f"CREATE OR REPLACE TEMP TABLE named AS {grouped(rows, keys, columns)}")
    if source.one("SELECT count(*) FROM named WHERE coalesce(person, '') = ''")[0]:
        what = "{column} is empty in {count}: these do not say whose rows they are"
        refuse_if(source, column, blank(column), what, "fill them in, with a value for each person")
    ranked = "SELECT * EXCLUDE (person), dense_rank() OVER (ORDER BY person) - 1 AS person FROM named"
    coded = coded_rows(scan, ranked, attributes, ["level", "label", "person", *_SUMS])
    source.execute(f"CREATE OR REPLACE TEMP TABLE clustered AS {coded}; DROP TABLE named")
    by = {CROSS.join(names): (names, *_sums(scan, names)) for names in scan.roles.audited}
    slices = tuple(
        replace(part, clusters=_clusters(scan, part, *by[part.attribute])) for part in scan.tally.slices
    )
    (people,) = source.one("SELECT count(DISTINCT person) FROM clustered")
    source.execute("DROP TABLE clustered")
    models = len(models_of(scan))
    of_models = f" and {models} models" if models > 1 else ""
    called = source.columns[column]
    note = f"{called}: the rows are of {people} people{of_models}; intervals and tests go by these."
    return slices, note


def _sums(scan: Scan, names: Sequence[str]) -> tuple[dict[str, Ints], list[Floats]]:
    """Return the model, level, label, person and codes of some attributes, and `_SUMS` of each."""
    attributes = list(scan.roles.attributes)
    keys = ["model", "level", "label", "person", *(f"of_{attributes.index(name)}" for name in names)]
    sums = grouped("SELECT * FROM clustered", keys, [f"sum({name}) AS {name}" for name in _SUMS])
    found = scan.source.execute(f"{sums} ORDER BY {', '.join(keys)}").fetchnumpy()
    codes = {key: np.asarray(found[key]).astype(np.int64) for key in keys}
    return codes, [np.asarray(found[name], dtype=np.float64) for name in _SUMS]


def _clusters(
    scan: Scan, part: Slice, names: Sequence[str], keys: dict[str, Ints], summed: Sequence[Floats]
) -> Clusters:
    """Sum up by person and group, under one model and cut."""
    cuts = scan.cuts_of(part.model)
    cut = next(cut for cut in cuts if cut.text == part.decision)
    at = np.flatnonzero(keys["model"] == models_of(scan).index(part.model))
    level, label, person, *codes = (keys[key][at] for key in keys if key != "model")
    group, many = group_places(scan, part, names).of(codes), len(part.counts.groups)
    ones = np.ones(len(at), np.int64)
    picked = selected(cut, scores_of(cuts), level, ones, scan.config.seed, part.model)
    entry, inverse = np.unique(person * many + group, return_inverse=True)
    cell = 4 * inverse + 2 * label + picked
    n, squares = (
        np.bincount(cell, of[at], minlength=4 * len(entry)).reshape(-1, 2, 2).astype(np.float64)
        for of in summed
    )
    return Clusters(entry // many, entry % many, n, squares)
