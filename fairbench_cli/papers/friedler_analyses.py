"""What Friedler et al. (2019) look at, of any run.

How results vary, what a representation changes, single against combined attributes, and which metrics say
the same: their correlations over all results, and clusters of metrics.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.document.model import Document, Section, TableCell, plain_table
from fairbench_cli.experiment.config.config import ExperimentConfig
from fairbench_cli.measures.counts import Floats
from fairbench_cli.report.ledger import cell_labels
from fairbench_cli.report.ledger.inference import EQUAL, paired_test
from fairbench_cli.report.ledger.journal_arrays import CELL_COLUMNS, TECHNIQUE, DatasetRepeats, join_frames
from fairbench_cli.report.ledger.results import RunResults, summary_frame
from fairbench_cli.report.show import tables


def two_metrics(config: ExperimentConfig) -> tuple[str, str]:
    """Return the two metrics of the analyses: discrimination, or CV if the config lists it, and accuracy."""
    return "cv" if "cv" in config.at_hand else "discrimination", "accuracy"


def stability_frame(run: RunResults) -> pd.DataFrame:
    """Return stability.csv: mean and sd over the repeats of the `two_metrics` of every cell.

    ``n`` is the number of repeats with a value; the sd needs two. Cells of one data set, attribute and
    representation that share a model have one row, that of the first of them.
    """
    metric_results = run.own_attribute_results.take(
        run.own_attribute_results.rows["metric"].isin(two_metrics(run.plan.config)).to_numpy()
    )
    summary = summary_frame(metric_results, run.plan.config.repeats)
    columns = list(CELL_COLUMNS) + ["metric", "mean", "sd", "n"]
    if not run.datasets:
        return pd.DataFrame(columns=columns)
    distinct_cells = pd.concat(
        [dataset_repeats.frame[dataset_repeats.is_distinct] for dataset_repeats in run.datasets]
    )
    summary = summary.drop(columns="n").rename(columns={"n_ok": "n"})
    frame: pd.DataFrame = distinct_cells.merge(summary, on=CELL_COLUMNS)[columns]
    return frame


_COLUMNS_ALIKE = [name for name in CELL_COLUMNS if name != "representation"]
COLUMNS = _COLUMNS_ALIKE + [
    "first", "second", "metric", "n", "mean_first", "mean_second",
    "difference", "low", "high", "higher", "equal",
]  # fmt: skip


def representation_pairs(data: DatasetRepeats, *, same_model: bool = False) -> Iterator[tuple[int, int]]:
    """Yield the indices of cells that differ in the representation alone, in the plan's order of these.

    Of cells of one representation that share a model the first counts.

    Parameters
    ----------
    same_model : bool
        Whether to yield those whose model is the same in both representations, or all others.
    """
    order = list(dict.fromkeys(cell["representation"] for cell in data.cells))
    cells_alike: dict[Any, dict[str, int]] = {}
    for i in np.flatnonzero(data.is_distinct):
        cell = data.cells[i]
        names = tuple(cell[name] for name in _COLUMNS_ALIKE)
        cells_alike.setdefault(names, {})[cell["representation"]] = int(i)
    for by_representation in cells_alike.values():
        in_order = [by_representation[name] for name in order if name in by_representation]
        for first, second in combinations(in_order, 2):
            if (data.cells[first]["key"] == data.cells[second]["key"]) == same_model:
                yield first, second


def representations_frame(run: RunResults) -> pd.DataFrame:
    """Return representations.csv: every metric of every cell in two representations, over paired repeats.

    ``difference`` is second − first, the mean over the ``n`` repeats in which both have a finite value, with
    its 95 % t-interval over the repeats, on these test rows; ``higher`` is the share of these in which the
    second is higher, ``equal`` in which the two are equal. Which cells: see `pairs_of`.
    """
    frames: list[pd.DataFrame] = []
    for dataset_repeats in run.datasets:
        pairs = list(representation_pairs(dataset_repeats))
        if not pairs:
            continue
        firsts, seconds = np.array(pairs).T
        for metric in run.plan.config.at_hand:
            values = run.own_attribute_values(dataset_repeats, metric)
            with np.errstate(invalid="ignore"):  # infinite ratios are no pairs
                differences = values[seconds] - values[firsts]
            is_pair = np.isfinite(differences)
            test = paired_test(differences)
            n = np.where(test.n > 0, test.n, np.nan)
            columns = {
                "first": [dataset_repeats.cells[i]["representation"] for i in firsts],
                "second": [dataset_repeats.cells[i]["representation"] for i in seconds],
                "metric": metric,
                "n": test.n.astype(int),
                "mean_first": np.where(is_pair, values[firsts], 0).sum(axis=1) / n,
                "mean_second": np.where(is_pair, values[seconds], 0).sum(axis=1) / n,
                "difference": test.mean,
                "low": test.low,
                "high": test.high,
                "higher": (is_pair & (differences > EQUAL)).sum(axis=1) / n,
                "equal": (is_pair & (np.abs(differences) <= EQUAL)).sum(axis=1) / n,
            }
            frames.append(dataset_repeats.frame.iloc[firsts].assign(**columns)[COLUMNS])
    return join_frames(frames, COLUMNS)


Names = tuple[Any, ...]
CellTable = Mapping[tuple[str, str], Mapping[Names, dict[str, Any]]]
"""Cells by technique and what its classifier is called, then by the names of a column."""


def cells_by_page(run: RunResults, pages: Sequence[str], columns: Sequence[str]) -> dict[Names, CellTable]:
    """Return the cells of a run: by page; by technique and classifier; by column.

    Each is measured by the groups of its own attribute: a model that does not use them is the same for every
    attribute.

    Parameters
    ----------
    pages, columns : sequence of str
        The columns of results that tell pages, and columns of a page, apart.
    """
    rows_of_page: dict[Names, dict[tuple[str, str], dict[Names, dict[str, Any]]]] = {}
    display_names = cell_labels.read_display_names(run.plan.config)
    technique_order: dict[str, int] = {}
    for cell, classifier in cell_labels.distinct_models(run.plan, run.plan.cells):
        rows = rows_of_page.setdefault(tuple(cell[name] for name in pages), {})
        technique = display_names.technique(*(cell[name] for name in TECHNIQUE))
        technique_order.setdefault(technique, len(technique_order))
        cells = rows.setdefault((technique, classifier), {})
        cells[tuple(cell[name] for name in columns)] = cell
    # A technique's rows together.
    sorted_rows: dict[Names, CellTable] = {}
    for page, rows in rows_of_page.items():
        sorted_rows[page] = dict(sorted(rows.items(), key=lambda row: technique_order[row[0][0]]))
    return sorted_rows


def cells_by_attribute(run: RunResults) -> dict[Names, CellTable]:
    """Return the cells of data sets with several attributes, by data set, representation, world and β."""
    pages = cells_by_page(run, ("dataset", "representation", "world", "beta"), ("attribute",))
    return {page: rows for page, rows in pages.items() if len(column_names(rows)) > 1}


def cells_by_dataset(run: RunResults) -> dict[Names, CellTable]:
    """Return the cells by representation, world and β; their columns are data sets with an attribute."""
    return cells_by_page(run, ("representation", "world", "beta"), ("dataset", "attribute"))


def column_names(rows: CellTable) -> tuple[Names, ...]:
    """Return the names of the columns in their order."""
    columns: dict[Names, None] = {}
    for cells in rows.values():
        columns |= dict.fromkeys(cells)
    return tuple(columns)


def combined_table(name: str, run: RunResults) -> Document:
    """Lay out the `two_metrics` of every technique and classifier, one column per attribute."""
    fact = "Each column: techniques that work on this attribute, measured by its groups."
    return _metrics_document(name, run, cells_by_attribute(run), fact)


def overview_table(name: str, run: RunResults) -> Document:
    """Lay out the `two_metrics` of every technique and classifier, one column per data set and attribute."""
    fact = "Each column: a data set, and the attribute that techniques work on and are measured by."
    return _metrics_document(name, run, cells_by_dataset(run), fact)


def _metrics_document(name: str, run: RunResults, pages: Mapping[Names, CellTable], fact: str) -> Document:
    """Return a table of each page, below a sentence on their columns."""
    head_columns = ["technique", "classifier", "metric"]
    sections = []
    metrics = two_metrics(run.plan.config)[::-1]
    cell_texts: set[str] = set()
    has_several_betas = len({page[-1] for page in pages}) > 1
    display_name = cell_labels.read_display_names(run.plan.config).dataset
    for (*names, world, beta), rows in pages.items():
        columns = column_names(rows)
        # 1. The labels' own values, which are the same for all techniques: of the first cell of each column.
        first_cells: dict[Names, dict[str, Any]] = {}
        for cells in rows.values():
            for column, cell in cells.items():
                first_cells.setdefault(column, cell)
        texts: list[list[str | TableCell]] = []
        for metric in metrics:
            row: list[str | TableCell] = [cell_labels.LABELS, "", metric]
            row += [tables.labels_cell(run, first_cells[column], metric) for column in columns]
            texts.append(row)
        # 2. The means of each technique and classifier.
        for technique_and_classifier, cells in rows.items():
            for metric in metrics:
                row = [*technique_and_classifier, metric]
                for column in columns:
                    if column in cells:
                        row.append(tables.mean_cell(run, cells[column], metric))
                    else:
                        row.append(TableCell(""))
                texts.append(row)
        for row in texts:
            cell_texts |= {cell.text for cell in row if isinstance(cell, TableCell)}
        # 3. What the page is about, in its title.
        title = [display_name(str(value)) for value in names if value != "original"]
        if run.plan.has_worlds:
            title.append(world or cell_labels.NO_BIAS)
        if has_several_betas:
            title.append(f"β = {beta:g}")
        heads = list(head_columns)
        for column in columns:
            heads.append(", ".join(display_name(str(value)) for value in column))
        table = plain_table(
            "", heads, texts, len(head_columns), grouped=True, marks=tables.describe_spread(run)
        )
        sections.append(Section(", ".join(title), tables=(table,)))
    facts = (fact, *tables.caption(run, cell_texts), tables.ABOUT_LABELS)
    return Document(name, facts=facts, sections=tuple(sections))


FEWEST_VALUES = 3
"""Two metrics with fewer pairs of values than this have no correlation: two pairs lie on a line."""
LEAST_CORRELATION = 0.25
"""The metrics of a cluster are correlated at least so much on average."""
CLUSTER_COUNTS = range(2, 9)
ALL = "all"
DIGITS = 12
"""Values are rounded to so many digits first, so that a constant is one whatever order it was summed in."""


@dataclass(frozen=True)
class Observations:
    """The results that are correlated.

    Parameters
    ----------
    values : DataFrame
        One row per repeat of a cell, one column per metric; NaN where a metric is undefined or infinite.
    techniques : DataFrame
        The technique of each row, in the columns of results.
    n_cells : int
        How many cells they come from; those that share a model count as one.
    n_constant : int
        Results left out because everybody is accepted, or nobody.
    joint_attributes : tuple of str
        Joint attributes left out because the attributes they are made of are there.
    """

    values: pd.DataFrame
    techniques: pd.DataFrame
    n_cells: int
    n_constant: int
    joint_attributes: tuple[str, ...]


def observations(run: RunResults, **only: Any) -> Observations:
    """Return the metrics of the config in every repeat, for the groups of each cell's own attribute.

    Cells of one attribute that decide the same in every repeat count once, whether they share a model (a
    technique that uses none of the classifiers, say) or happen to agree. Repeats that accept everybody or
    nobody are left out: their rates are 0 or 1 and equal in all groups, however the model came about. So are
    joint attributes of data sets that have another attribute: their groups are made of the same people.

    Parameters
    ----------
    only
        Take only the cells with these values in columns of results, such as ``dataset="adult"``.
    """
    names = list(dict.fromkeys(run.plan.config.at_hand))
    technique_columns = list(TECHNIQUE)
    single = {data.dataset for data in run.datasets if not _is_joint(data)}
    frames = []
    n_cells = 0
    n_constant = 0
    joint_attributes = []
    for data in run.datasets:
        # 1. The cells asked for, each decision once.
        requested = np.array([only.items() <= cell.items() for cell in data.cells], dtype=bool)
        if not requested.any():
            continue
        if _is_joint(data) and data.dataset in single:
            joint_attributes.append(data.attribute)
            continue
        cell_mask = _mask_first_of_equals(data, requested & data.has_counts.any(axis=1))
        n_cells += int(cell_mask.sum())
        # 2. Their repeats, without those that accept everybody or nobody.
        accepted = data.counts.predicted[..., 1].sum(-1)
        is_constant = (accepted == 0) | (accepted == data.counts.total)
        n_constant += int((is_constant & data.has_counts)[cell_mask].sum())
        repeat_mask = cell_mask[:, None] & data.has_counts & ~is_constant
        # 3. A row of each: its technique and the metrics.
        techniques = data.frame.iloc[np.nonzero(repeat_mask)[0]][technique_columns]
        metrics = {name: run.own_attribute_values(data, name)[repeat_mask] for name in names}
        frames.append(techniques.assign(**metrics))
    if not frames:
        frames = [pd.DataFrame(columns=technique_columns + names)]
    rows = pd.concat(frames, ignore_index=True)
    values = rows[names].astype(float)
    values = values.where(np.isfinite(values))
    left_out = tuple(dict.fromkeys(joint_attributes))
    return Observations(values, rows[technique_columns], n_cells, n_constant, left_out)


def observations_by_dataset(run: RunResults) -> dict[Names, Observations]:
    """Return the observations of each data set, world and β."""
    by_names: dict[Names, Observations] = {}
    for dataset_repeats in run.datasets:
        for cell in dataset_repeats.cells:
            only = {name: cell[name] for name in ("dataset", "world", "beta")}
            names = tuple(only.values())
            if names not in by_names:
                by_names[names] = observations(run, **only)
    return by_names


def observations_by_representation(run: RunResults) -> dict[str, Observations]:
    """Return the observations of all cells and, where there are several, of each representation by itself."""
    representations: dict[str, None] = {}
    for dataset_repeats in run.datasets:
        representations |= dict.fromkeys(cell["representation"] for cell in dataset_repeats.cells)
    by_representation = {ALL: observations(run)}
    if len(representations) > 1:
        for representation in representations:
            by_representation[representation] = observations(run, representation=representation)
    return by_representation


def _mask_first_of_equals(data: DatasetRepeats, cell_mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which of these cells are the first with their counts, and metrics of rows, in all repeats."""
    is_first = np.zeros_like(cell_mask)
    seen = set()
    for i in np.flatnonzero(cell_mask):
        arrays = [data.counts.n[i]]
        arrays += [values[i] for values in data.row_values.values()]
        decisions = (data.cells[i]["beta"], *(np.ascontiguousarray(array).tobytes() for array in arrays))
        is_first[i] = decisions not in seen
        seen.add(decisions)
    return is_first


def _is_joint(data: DatasetRepeats) -> bool:
    return data.attribute not in data.protected.names


@dataclass(frozen=True)
class Correlations:
    """Correlations of metrics and their clusters.

    Parameters
    ----------
    matrix : DataFrame
        Pearson correlations, names of metrics on both sides, in the order of the tree; metrics without any
        correlation last.
    tree : float array, shape (clustered metrics - 1, 4)
        The clusters as `scipy.cluster.hierarchy.linkage` returns them, of the first metrics of the matrix,
        in its order.
    n : Series
        The number of values of each metric, in the order of the matrix.
    """

    matrix: pd.DataFrame
    tree: Floats
    n: "pd.Series[int]"

    @property
    def n_clustered(self) -> int:
        """How many metrics have some correlation with another one."""
        if len(self.tree):
            return len(self.tree) + 1
        return 0

    def clusters(self, count: int | None = None) -> NDArray[np.int64]:
        """Return the cluster of each metric of the matrix, from 1 on in its order; 0: in none.

        Parameters
        ----------
        count : int, optional
            How many clusters there are (as many as there are metrics at most); by default those whose metrics
            are correlated by `LEAST_CORRELATION` on average: in scipy's words a tree cut at the distance
            1 - `LEAST_CORRELATION`.
        """
        from scipy.cluster.hierarchy import fcluster

        numbers = np.zeros(len(self.matrix), dtype=np.int64)
        if not self.n_clustered:
            return numbers
        if count is None:
            clusters = fcluster(self.tree, 1 - LEAST_CORRELATION, "distance")
        else:
            clusters = fcluster(self.tree, count, "maxclust")
        # scipy numbers clusters in an order of its own.
        numbers[: self.n_clustered] = pd.factorize(clusters)[0] + 1
        return numbers


def correlate(values: pd.DataFrame) -> Correlations:
    """Return Pearson correlations of the columns and their average-linkage clusters.

    Every correlation is over the rows in which both columns have a value. A constant column, and one with
    fewer than `FEWEST_VALUES` values, has none (NaN). The distance of two metrics is 1 - r, so opposites are
    far from each other; where r is unknown, it counts as 0 for the clusters.

    >>> x = pd.DataFrame({"one": [1.0] * 4, "a": [0.0, 1, 2, 4], "b": [4.0, 2, 1, 0], "c": [0.0, 1, 3, 3]})
    >>> correlations = correlate(x)
    >>> matrix = correlations.matrix
    >>> list(matrix), correlations.clusters().tolist(), round(float(matrix.loc["a", "c"]), 3)
    (['b', 'a', 'c', 'one'], [1, 2, 2, 0], 0.878)
    """
    return order_by_clusters(values.round(DIGITS).corr(min_periods=FEWEST_VALUES), values.count())


def order_by_clusters(matrix: pd.DataFrame, n: "pd.Series[int]") -> Correlations:
    """Return a matrix of correlations in the order of its average-linkage clusters, and these.

    Parameters
    ----------
    matrix : DataFrame, square
        NaN where there is no correlation.
    n : Series
        The number of values of each metric.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    correlations = matrix.to_numpy(copy=True)
    np.fill_diagonal(correlations, np.nan)
    correlated = ~np.isnan(correlations).all(axis=1)
    names = list(matrix.index[correlated]) + list(matrix.index[~correlated])
    tree = np.zeros((0, 4))
    if correlated.any():
        distances = 1 - np.nan_to_num(correlations[correlated][:, correlated])
        np.fill_diagonal(distances, 0)
        tree = linkage(squareform(np.clip(distances, 0, 2), checks=False), "average", optimal_ordering=True)
        leaves = leaves_list(tree)
        names[: len(leaves)] = [names[i] for i in leaves]
        # The tree numbers its leaves as they were; now in the new order. A view: it sets the tree.
        joined = tree[:, :2]
        is_leaf = joined < len(leaves)
        joined[is_leaf] = np.argsort(leaves)[joined[is_leaf].astype(int)]
    return Correlations(matrix.loc[names, names], tree, n[names])


def correlations_frame(run: RunResults) -> pd.DataFrame:
    """Return correlations.csv: the square matrix of all cells, metrics in its first column and its head."""
    return correlate(observations(run).values).matrix.rename_axis("metric").reset_index()


def pairs_frame(run: RunResults) -> pd.DataFrame:
    """Return correlation_pairs.csv: one row per pair of metrics, of all cells and of each representation.

    ``n`` is the number of results in which both have a value. ``r`` is empty where there is no correlation.
    """
    frames = []
    for name, observed in observations_by_representation(run).items():
        pairs = _pair_rows(correlate(observed.values).matrix, observed.values)
        frames.append(pairs.assign(representation=name))
    return pd.concat(frames, ignore_index=True)[["representation"] + _PAIR]


_PAIR = ["metric", "other", "r", "n"]


def _pair_rows(matrix: pd.DataFrame, values: pd.DataFrame) -> pd.DataFrame:
    """Return a row per two metrics of a matrix of correlations: the columns of `_PAIR`."""
    names = matrix.index.to_numpy()
    has_value = values[matrix.index].notna().to_numpy(dtype=float)
    i, j = np.triu_indices(len(names), k=1)
    n = (has_value.T @ has_value)[i, j].astype(int)
    return pd.DataFrame({"metric": names[i], "other": names[j], "r": matrix.to_numpy()[i, j], "n": n})


def metric_pairs_frame(run: RunResults) -> pd.DataFrame:
    """Return metric_pairs.csv: Pearson's r of every two metrics in each data set, world and β.

    ``n`` is the number of results in which both have a value; ``r`` is empty where there is no correlation.
    """
    columns = ["dataset", "world", "beta"] + _PAIR
    frames = []
    for (dataset, world, beta), observed in observations_by_dataset(run).items():
        matrix = observed.values.round(DIGITS).corr(min_periods=FEWEST_VALUES)
        pairs = _pair_rows(matrix, observed.values)
        frames.append(pairs.assign(dataset=dataset, world=world, beta=beta)[columns])
    return join_frames(frames, columns)


def clusters_frame(run: RunResults) -> pd.DataFrame:
    """Return correlation_clusters.csv: the cluster of each metric, in the order of the matrix.

    Of all cells and of each representation. ``n`` is the number of a metric's values, ``cluster`` its cluster
    where those that join at `LEAST_CORRELATION` or more are one, ``of_2`` to ``of_8`` where there are so many
    clusters. Empty: in none.
    """
    counts_by_column: dict[str, int | None] = {"cluster": None}
    counts_by_column |= {f"of_{k}": k for k in CLUSTER_COUNTS}
    frames = []
    for representation, observed in observations_by_representation(run).items():
        correlations = correlate(observed.values)
        columns = {
            "representation": representation,
            "metric": correlations.matrix.index,
            "n": correlations.n.to_numpy(),
        }
        for column, count in counts_by_column.items():
            numbers = pd.Series(correlations.clusters(count))
            columns[column] = numbers.where(numbers > 0).astype("Int64")
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)
