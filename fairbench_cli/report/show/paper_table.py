"""What a paper takes from a run: the papers' tables with their marks."""

from dataclasses import replace

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
from fairbench_cli.report.show.paper_layout import table_by_technique

MARKS = (
    "Bold: nearer to the ideal than all others in the column",
    "†, ‡: nearer than none, farther than none",
)
HOW_TESTED = (
    "in the population, at 5 % after Holm's adjustment; nothing that accepts everybody or nobody has a mark."
)


def paper_table(name: str, run: RunResults) -> Document:
    """Lay out two metrics per technique, for the groups of the attribute that each cell works on.

    A cell is the mean to three decimals, with "(28/30)" behind it where fewer repeats gave a value than were
    asked for, or one of `MARKS`. In print it has its standard deviation, is bold where it is the best of its
    column (`find_best`), and has a sign where its difference to ``none`` is shown.
    """
    if run.plan.config.tables.layout == "paper":
        return table_by_technique(name, run)
    metrics = TABLES[name].metrics
    # 1. Which cells are marked, by the values of `CELL_COLUMNS` and the metric.
    own_results = run.own_attribute_results.take(
        run.own_attribute_results.rows["metric"].isin(metrics).to_numpy()
    )
    keys = list(own_results.rows[[*CELL_COLUMNS, "metric"]].itertuples(index=False, name=None))
    best = {key for key, is_best in zip(keys, find_best(own_results), strict=True) if is_best}
    constant = {key for key, repeats in zip(keys, own_results.n_constant, strict=True) if repeats.any()}
    paired = run_paired_frame(run.by_own_attribute)
    verdicts = paired.set_index([*CELL_COLUMNS, "compared", "metric"])["population_verdict"].to_dict()
    # 2. The labels, of this run and, in worlds, counted the other way too.
    runs_by_label = {cell_labels.LABELS: run}
    for other_run in run.on_all_labels:
        if other_run is not run:
            runs_by_label[f"{other_run.labels} labels"] = other_run
    # 3. The cells, the labels before the techniques of their block.
    cells: tables.TableCells = {}
    for cell in run.plan.cells:
        block, technique, beta = tables.block_technique_beta(cell | {"compared": cell["attribute"]})
        for label, labels_run in runs_by_label.items():
            for metric in metrics:
                if (block, (label, metric), beta) not in cells:
                    cells[block, (label, metric), beta] = tables.labels_cell(labels_run, cell, metric)
        if cell["intervention"] == cell_labels.TRAINED_ON_TRUTH and run.labels == "recorded":
            continue  # it is no model of the world that records them
        key_of_cell = cell_key(cell)
        for metric in metrics:
            key = (*key_of_cell, metric)
            verdict = verdicts.get((*key_of_cell, cell["attribute"], metric), "")
            cells[block, (technique, metric), beta] = replace(
                tables.mean_cell(run, cell, metric),
                best=key in best,
                against="" if key in constant else SIDES.get(verdict, ""),
            )
    # 4. What the numbers and the marks mean.
    table_cells = [cell if isinstance(cell, TableCell) else TableCell(cell) for cell in cells.values()]
    meanings = []
    if any(cell.best for cell in table_cells):
        meanings.append(MARKS[0])
    if any(cell.against for cell in table_cells):
        meanings.append(MARKS[1])
    marks = list(tables.describe_spread(run))
    if meanings:
        marks.append(f"{'; '.join(meanings)}: {HOW_TESTED}")
    facts = list(tables.caption(run, {cell.text for cell in table_cells}))
    facts.append(tables.ABOUT_LABELS)
    for label, labels_run in runs_by_label.items():
        if labels_run is not run:
            facts.append(f"{label}: {tables.LABELS_IN_WORDS[labels_run.labels]}.")
    sections = tables.lay_out_blocks(run, cells, cell_labels.NOT_RUN, marks=marks)
    return Document(name, facts=tuple(facts), sections=sections)


def find_best(results: Results) -> NDArray[np.bool_]:
    """Return the mask of the rows that are shown to be the best of their column, in the population.

    A column is one metric in one situation, ``none`` among its techniques; those that accept everybody, or
    nobody, in some repeat are left out, and so is the model without the bias (`TRAINED_ON_TRUTH`). The one
    whose mean distance to the ideal is least is the best if it is nearer to it than each of the others: p is
    the largest of their paired tests, Holm-adjusted over the columns of a table, which is all β of a data
    set, attribute, groups compared, world and classifier. A column of one technique has none.
    """
    rows = results.rows.reset_index(drop=True)
    # 1. The rows that can be the best: with a distance, and without a constant repeat.
    distances = results.distances
    distances[~np.isfinite(distances)] = np.nan
    is_candidate = ~np.isnan(distances).all(axis=1) & (results.n_constant.sum(axis=1) == 0)
    is_candidate &= (rows["intervention"] != cell_labels.TRAINED_ON_TRUTH).to_numpy()
    # 2. The nearest of each column, and its pairs with all others, column by column.
    nearest_rows: list[int] = []
    n_pairs: list[int] = []
    pair_rows: list[int] = []
    pair_other_rows: list[int] = []
    for column_rows in rows.groupby([*SITUATION, "compared", "metric"], sort=False).indices.values():
        candidates = column_rows[is_candidate[column_rows]]
        if len(candidates) < 2:
            continue
        nearest = candidates[np.argmin(np.nanmean(distances[candidates], axis=1))]
        other_rows = candidates[candidates != nearest]
        nearest_rows.append(nearest)
        n_pairs.append(len(other_rows))
        pair_rows += [nearest] * len(other_rows)
        pair_other_rows += other_rows.tolist()
    is_best = np.zeros(len(rows), dtype=bool)
    if not nearest_rows:
        return is_best
    # 3. Test the pairs; a pair in which the nearest is not nearer speaks against it.
    row_indices = np.array(pair_rows)
    other_indices = np.array(pair_other_rows)
    pair_distances = (distances[row_indices], distances[other_indices])
    are_distances = np.ones(len(row_indices), dtype=bool)
    tests = compute_population_tests(
        results, row_indices, other_indices, pair_distances, are_distances
    ).population
    p_other_way = np.where(np.isnan(tests.p), np.nan, 1.0)
    p_of_pairs = np.where(tests.mean < 0, tests.p, p_other_way)
    # 4. The largest p of each column, adjusted over the columns of a table.
    column_starts = np.concatenate([[0], np.cumsum(n_pairs)[:-1]])
    p = np.maximum.reduceat(p_of_pairs, column_starts)
    adjusted_tests = adjust_by_family(rows.iloc[nearest_rows], p, [*cell_labels.BLOCK, "metric"])
    is_best[nearest_rows] = adjusted_tests["p_holm"] < LEVEL
    return is_best
