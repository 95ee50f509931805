"""What a paper takes from a run: the papers' tables with their marks."""

from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.document.model import SIDES, Document, TableCell
from fairbench_cli.experiment.config.outputs import TABLES
from fairbench_cli.report.ledger import cell_labels
from fairbench_cli.report.ledger.journal_arrays import CELL_COLUMNS, SITUATION, cell_key
from fairbench_cli.report.ledger.paired_differences import LEVEL, adjust_by_family, run_paired_frame
from fairbench_cli.report.ledger.population_tests import compute_population_tests
from fairbench_cli.report.ledger.results import Results, RunResults
from fairbench_cli.report.show import tables

MARKS = (
    "Bold: nearer to the ideal than all others in the column",
    "†, ‡: nearer than none, farther than none",
)
HOW = (
    "in the population, at 5 % after Holm's adjustment; nothing that accepts everybody or nobody has a mark."
)


def paper_table(name: str, run: RunResults) -> Document:
    """Lay out two metrics per technique, for the groups of the attribute that each cell works on.

    A cell is the mean to three decimals, with "(28/30)" behind it where fewer repeats gave a value than were
    asked for, or one of `MARKS`. In print it has its standard deviation, is bold where it is the best of its
    column (`find_best`), and has a sign where its difference to ``none`` is shown.
    """
    cells: tables.TableCells = {}
    metrics = TABLES[name].metrics
    own = run.own_attribute_results.take(run.own_attribute_results.rows["metric"].isin(metrics).to_numpy())
    paired = run_paired_frame(run.by_own_attribute)
    verdicts = paired.set_index([*CELL_COLUMNS, "compared", "metric"])["population_verdict"].to_dict()
    keys = list(own.rows[[*CELL_COLUMNS, "metric"]].itertuples(index=False, name=None))
    best = {key for key, is_best in zip(keys, find_best(own), strict=True) if is_best}
    constant = {key for key, repeats in zip(keys, own.n_constant, strict=True) if repeats.any()}
    labels = {cell_labels.LABELS: run} | {
        f"{one.labels} labels": one for one in run.on_all_labels if one is not run
    }
    for cell in run.plan.cells:
        place, technique, beta = tables.block_technique_beta(cell | {"compared": cell["attribute"]})
        for (called, counted), metric in product(labels.items(), metrics):
            if (place, (called, metric), beta) not in cells:
                cells[place, (called, metric), beta] = tables.labels_cell(counted, cell, metric)
        if cell["intervention"] == cell_labels.TRAINED_ON_TRUTH and run.labels == "recorded":
            continue  # it is no model of the world that records them
        for metric in metrics:
            key = *cell_key(cell), metric
            verdict = verdicts.get((*cell_key(cell), cell["attribute"], metric), "")
            cells[place, (technique, metric), beta] = replace(
                tables.mean_cell(run, cell, metric),
                best=key in best,
                against="" if key in constant else SIDES.get(verdict, ""),
            )
    found = [cell if isinstance(cell, TableCell) else TableCell(cell) for cell in cells.values()]
    words = []
    if any(cell.best for cell in found):
        words.append(MARKS[0])
    if any(cell.against for cell in found):
        words.append(MARKS[1])
    marks = [*tables.describe_spread(run)]
    if words:
        marks.append(f"{'; '.join(words)}: {HOW}")
    facts = *tables.caption(run.plan, {cell.text for cell in found}), tables.ABOUT_LABELS
    facts += tuple(
        f"{called}: {tables.LABELS_IN_WORDS[one.labels]}." for called, one in [*labels.items()][1:]
    )
    sections = tables.lay_out_blocks(run, cells, cell_labels.NOT_RUN, marks=marks)
    return Document(name, facts=facts, sections=sections)


def find_best(results: Results) -> NDArray[np.bool_]:
    """Return which rows are shown to be the best of their column, in the population.

    A column is one metric in one situation, ``none`` among its techniques; those that accept everybody, or
    nobody, in some repeat are left out, and so is the model without the bias (`TRAINED_ON_TRUTH`). The one
    whose mean distance to the ideal is least is the best if it is nearer to it than each of the others: p is
    the largest of their paired tests, Holm-adjusted over the columns of a table, which is all β of a data
    set, attribute, groups compared, world and classifier. A column of one technique has none.
    """
    rows = results.rows.reset_index(drop=True)
    far = results.distances
    far[~np.isfinite(far)] = np.nan
    able = ~np.isnan(far).all(axis=1) & (results.n_constant.sum(axis=1) == 0)
    able &= (rows["intervention"] != cell_labels.TRAINED_ON_TRUTH).to_numpy()
    ours = []
    theirs = []
    columns = []
    for at in rows.groupby([*SITUATION, "compared", "metric"], sort=False).indices.values():
        among = at[able[at]]
        if len(among) > 1:
            first = among[np.argmin(np.nanmean(far[among], axis=1))]
            others = among[among != first]
            ours += [first] * len(others)
            theirs += others.tolist()
            columns.append((first, len(others)))
    best = np.zeros(len(rows), dtype=bool)
    if not columns:
        return best
    one = np.array(ours)
    other = np.array(theirs)
    pairs = compute_population_tests(
        results, one, other, (far[one], far[other]), np.ones(len(one), dtype=bool)
    )
    tests = pairs.population
    worse = np.where(tests.mean < 0, tests.p, np.where(np.isnan(tests.p), np.nan, 1.0))
    firsts, sizes = np.array(columns).T
    p = np.maximum.reduceat(worse, np.concatenate([[0], np.cumsum(sizes)[:-1]]))
    best[firsts] = adjust_by_family(rows.iloc[firsts], p, [*cell_labels.BLOCK, "metric"])["p_holm"] < LEVEL
    return best
