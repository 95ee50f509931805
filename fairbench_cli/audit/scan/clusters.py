"""Count whose rows these are: the weights of each person in each group, where people have several rows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fairbench_cli.audit.read.cells import CountingPlan, group_name, keys_sql
from fairbench_cli.audit.read.cuts import Cut, scores_of, selected
from fairbench_cli.audit.read.mistakes import refuse_if
from fairbench_cli.audit.read.predictions import Predictions, blank
from fairbench_cli.audit.read.tally import Clusters, Slice
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.groups import CROSS


def with_clusters(
    source: Predictions, plan: CountingPlan, column: int, slices: Sequence[Slice], seed: int
) -> tuple[tuple[Slice, ...], str]:
    """Return the slices with their clusters, and a note that says how many people there are.

    The rows are scanned once, into a table of the sums of each person by groups, label and score, which
    DuckDB keeps on disk where it outgrows its memory. A slice holds one entry per person and group.

    Parameters
    ----------
    source : Predictions
        The rows.
    plan : CountingPlan
        How they were counted; no ties are drawn.
    column : int
        Says whose row it is.
    slices : sequence of Slice
        What was counted, by model, cut and attribute.
    seed : int
        Of the configuration.

    Raises
    ------
    UserError
        When rows do not say whose they are.
    """
    attributes = list(plan.roles.attributes)
    keys = ["m", "level", "label", *(f"k{i}" for i in range(len(attributes)))]
    weight = "sum(w)" if plan.roles.weight is not None else "count(*)"
    rows = keys_sql(plan, attributes, more=(f"t{column} AS person",))
    sums = f"SELECT {', '.join(keys)}, person, {weight}::DOUBLE AS w FROM ({rows}) GROUP BY ALL"
    source.execute(f"CREATE OR REPLACE TEMP TABLE named AS {sums}")
    if source.one("SELECT count(*) FROM named WHERE coalesce(person, '') = ''")[0]:
        what = "{column} is empty in {count}: these do not say whose rows they are"
        refuse_if(source, column, blank(column), what, "fill them in, with a value for each person")
    ranked = "SELECT * EXCLUDE (person), dense_rank() OVER (ORDER BY person) - 1 AS person FROM named"
    source.execute(f"CREATE OR REPLACE TEMP TABLE clustered AS {ranked}; DROP TABLE named")
    found = []
    of_names = {CROSS.join(names): _PersonSums(source, plan, names) for names in plan.roles.audited}
    models = list(dict.fromkeys(part.model for part in slices))
    for part in slices:
        cuts = plan.cuts[part.model if part.model in plan.cuts else None]
        cut = next(cut for cut in cuts if cut.text == part.decision)
        found.append(replace(part, clusters=of_names[part.attribute].of(part, cut, cuts, seed)))
    (people,) = source.one("SELECT count(DISTINCT person) FROM clustered")
    source.execute("DROP TABLE clustered")
    of_models = f" and {len(models)} models" if len(models) > 1 else ""
    called = source.columns[column]
    note = f"{called}: the rows are of {people} people{of_models}; intervals and tests go by these."
    return tuple(found), note


class _PersonSums:
    """The sums of each person for some attributes, by label and score."""

    def __init__(self, source: Predictions, plan: CountingPlan, names: Sequence[str]) -> None:
        attributes = list(plan.roles.attributes)
        keys = [f"k{attributes.index(name)}" for name in names]
        distinct = f"SELECT DISTINCT {', '.join(keys)} FROM clustered ORDER BY ALL"
        combos = f"SELECT *, row_number() OVER () - 1 AS combo FROM ({distinct})"
        source.execute(f"CREATE OR REPLACE TEMP TABLE combos AS {combos}")
        same = " AND ".join(f"each.{key} IS NOT DISTINCT FROM combos.{key}" for key in keys)
        table = source.execute(
            "SELECT m, level, label, person, combo, sum(w) AS w FROM clustered AS each "
            f"JOIN combos ON {same} GROUP BY ALL ORDER BY ALL"
        ).fetchnumpy()
        self.model = np.asarray(table["m"])
        self.level, self.label, self.person, self.combo = (
            np.asarray(table[key]).astype(np.int64) for key in ("level", "label", "person", "combo")
        )
        self.weight: Floats = np.asarray(table["w"], dtype=np.float64)
        bins = [plan.bins.get(name) for name in names]
        self.groups = [
            CROSS.join(
                group_name(value if cut is None or value is None else cut.labels[value])
                for cut, value in zip(bins, row, strict=False)
            )
            for row in source.all("SELECT * FROM combos ORDER BY combo")
        ]

    def of(self, part: Slice, cut: Cut, cuts: list[Cut], seed: int) -> Clusters:
        """Sum up by person and group, under one model and cut."""
        places = {name: i for i, name in enumerate(part.counts.groups)}
        place = np.array([places.get(name, -1) for name in self.groups], dtype=np.int64)
        at = np.flatnonzero(self.model == part.model)
        picked = selected(cut, scores_of(cuts), self.level[at], np.ones(len(at), np.int64), seed, part.model)
        entry, inverse = np.unique(self.person[at] * len(places) + place[self.combo[at]], return_inverse=True)
        cell = 4 * inverse + 2 * self.label[at] + picked
        sums = np.bincount(cell, self.weight[at], minlength=4 * len(entry))
        n: Floats = sums.reshape(-1, 2, 2).astype(np.float64)
        return Clusters(entry // len(places), entry % len(places), n)
