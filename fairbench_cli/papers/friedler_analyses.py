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
from fairbench_cli.report.ledger.journal_arrays import CELL_COLUMNS, TECHNIQUE, DatasetRepeats
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
    results = run.own.take(run.own.rows["metric"].isin(two_metrics(run.plan.config)).to_numpy())
    summary = summary_frame(results, run.plan.config.repeats)
    columns = [*CELL_COLUMNS, "metric", "mean", "sd", "n"]
    if not run.datasets:
        return pd.DataFrame(columns=columns)
    distinct_cells = pd.concat([data.frame[data.distinct] for data in run.datasets])
    summary = summary.drop(columns="n").rename(columns={"n_ok": "n"})
    frame: pd.DataFrame = distinct_cells.merge(summary, on=CELL_COLUMNS)[columns]
    return frame


COLUMNS = [
    *(name for name in CELL_COLUMNS if name != "representation"), "first", "second", "metric", "n",
    "mean_first", "mean_second", "difference", "low", "high", "higher", "equal",
]  # fmt: skip


def pairs_of(data: DatasetRepeats, *, same: bool = False) -> Iterator[tuple[int, int]]:
    """Yield the indices of cells that differ in the representation alone, in the plan's order of these.

    Of cells of one representation that share a model the first counts.

    Parameters
    ----------
    same : bool
        Whether to yield those whose model is the same in both representations, or all others.
    """
    order = list(dict.fromkeys(cell["representation"] for cell in data.cells))
    cells_alike: dict[Any, dict[str, int]] = {}
    for i in np.flatnonzero(data.distinct):
        cell = data.cells[i]
        names = tuple(cell[name] for name in CELL_COLUMNS if name != "representation")
        cells_alike.setdefault(names, {})[cell["representation"]] = int(i)
    for by_representation in cells_alike.values():
        in_order = [by_representation[name] for name in order if name in by_representation]
        for first, second in combinations(in_order, 2):
            if (data.cells[first]["key"] == data.cells[second]["key"]) == same:
                yield first, second


def representations_frame(run: RunResults) -> pd.DataFrame:
    """Return representations.csv: every metric of every cell in two representations, over paired repeats.

    ``difference`` is second − first, the mean over the ``n`` repeats in which both have a finite value, with
    its 95 % t-interval over the repeats, on these test rows; ``higher`` is the share of these in which the
    second is higher, ``equal`` in which the two are equal. Which cells: see `pairs_of`.
    """
    frames: list[pd.DataFrame] = []
    for data in run.datasets:
        pairs = list(pairs_of(data))
        if not pairs:
            continue
        firsts, seconds = np.array(pairs).T
        for metric in run.plan.config.at_hand:
            values = run.own_values(data, metric)
            with np.errstate(invalid="ignore"):  # infinite ratios are no pairs
                differences = values[seconds] - values[firsts]
            is_pair = np.isfinite(differences)
            test = paired_test(differences)
            n = np.where(test.n > 0, test.n, np.nan)
            columns = {
                "first": [data.cells[i]["representation"] for i in firsts],
                "second": [data.cells[i]["representation"] for i in seconds],
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
            frames.append(data.frame.iloc[firsts].assign(**columns)[COLUMNS])
    if not frames:
        return pd.DataFrame(columns=COLUMNS)
    return pd.concat(frames, ignore_index=True)


Names = tuple[Any, ...]
Rows = Mapping[tuple[str, str], Mapping[Names, dict[str, Any]]]
"""Cells by technique and what its classifier is called, then by the names of a column."""


def in_columns(run: RunResults, pages: Sequence[str], columns: Sequence[str]) -> dict[Names, Rows]:
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
    sorted_rows: dict[Names, Rows] = {}
    for page, rows in rows_of_page.items():
        sorted_rows[page] = dict(sorted(rows.items(), key=lambda row: technique_order[row[0][0]]))
    return sorted_rows


def by_attribute(run: RunResults) -> dict[Names, Rows]:
    """Return the cells of data sets with several attributes, by data set, representation, world and β."""
    pages = in_columns(run, ("dataset", "representation", "world", "beta"), ("attribute",))
    return {page: rows for page, rows in pages.items() if len(columns_of(rows)) > 1}


def of_every_dataset(run: RunResults) -> dict[Names, Rows]:
    """Return the cells by representation, world and β; their columns are data sets with an attribute."""
    return in_columns(run, ("representation", "world", "beta"), ("dataset", "attribute"))


def columns_of(rows: Rows) -> tuple[Names, ...]:
    """Return the names of the columns in their order."""
    columns: dict[Names, None] = {}
    for cells in rows.values():
        columns |= dict.fromkeys(cells)
    return tuple(columns)


def combined_table(name: str, run: RunResults) -> Document:
    """Lay out the `two_metrics` of every technique and classifier, one column per attribute."""
    about = "Each column: techniques that work on this attribute, measured by its groups."
    return _lay_out(name, run, by_attribute(run), about)


def overview_table(name: str, run: RunResults) -> Document:
    """Lay out the `two_metrics` of every technique and classifier, one column per data set and attribute."""
    about = "Each column: a data set, and the attribute that techniques work on and are measured by."
    return _lay_out(name, run, of_every_dataset(run), about)


def _lay_out(name: str, run: RunResults, pages: Mapping[Names, Rows], about: str) -> Document:
    """Return a table of each page."""
    head_columns = ("technique", "classifier", "metric")
    sections = []
    metrics = two_metrics(run.plan.config)[::-1]
    cell_texts: set[str] = set()
    has_several_betas = len({beta for *_, beta in pages}) > 1
    display_name = cell_labels.read_display_names(run.plan.config).dataset
    for (*names, world, beta), rows in pages.items():
        columns = columns_of(rows)
        # 1. The labels' own values, which are the same for all techniques: of the first cell of each column.
        first_cells: dict[Names, dict[str, Any]] = {}
        for cells in rows.values():
            first_cells = {**cells, **first_cells}
        texts: list[list[str | TableCell]] = []
        for metric in metrics:
            label_cells = [tables.labels_cell(run, first_cells[column], metric) for column in columns]
            texts.append([cell_labels.LABELS, "", metric, *label_cells])
        # 2. The means of each technique and classifier.
        for technique_and_classifier, cells in rows.items():
            for metric in metrics:
                means = []
                for column in columns:
                    if column in cells:
                        means.append(tables.mean_cell(run, cells[column], metric))
                    else:
                        means.append(TableCell(""))
                texts.append([*technique_and_classifier, metric, *means])
        for row in texts:
            cell_texts |= {cell.text for cell in row if isinstance(cell, TableCell)}
        # 3. What the page is about, in its title.
        title = [display_name(str(value)) for value in names if value != "original"]
        if run.plan.has_worlds:
            title.append(world or cell_labels.NO_BIAS)
        if has_several_betas:
            title.append(f"β = {beta:g}")
        heads = [*head_columns]
        for column in columns:
            heads.append(", ".join(display_name(str(value)) for value in column))
        table = plain_table(
            "", heads, texts, len(head_columns), grouped=True, marks=tables.describe_spread(run)
        )
        sections.append(Section(", ".join(title), tables=(table,)))
    facts = about, *tables.caption(run.plan, cell_texts), tables.ABOUT_LABELS
    return Document(name, facts=facts, sections=tuple(sections))


FEWEST = 3
"""Two metrics with fewer pairs of values than this have no correlation: two pairs lie on a line."""
LEAST = 0.25
"""The metrics of a cluster are correlated at least so much on average."""
CUTS = range(2, 9)
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
    cells : int
        How many cells they come from; those that share a model count as one.
    constant : int
        Results left out because everybody is accepted, or nobody.
    joint : tuple of str
        Joint attributes left out because their parts are there.
    """

    values: pd.DataFrame
    techniques: pd.DataFrame
    cells: int
    constant: int
    joint: tuple[str, ...]


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
    single = {data.dataset for data in run.datasets if not _is_joint(data)}
    frames = []
    n_cells = 0
    n_constant = 0
    joint = []
    for data in run.datasets:
        wanted = [only.items() <= cell.items() for cell in data.cells]
        if not any(wanted):
            continue
        if _is_joint(data) and data.dataset in single:
            joint.append(data.attribute)
            continue
        cell_mask = _first_of_equals(data, np.array(wanted, dtype=bool) & data.done.any(axis=1))
        n_cells += int(cell_mask.sum())
        accepted = data.counts.predicted[..., 1].sum(-1)
        is_constant = (accepted == 0) | (accepted == data.counts.total)
        n_constant += int((is_constant & data.done)[cell_mask].sum())
        repeat_mask = cell_mask[:, None] & data.done & ~is_constant
        techniques = data.frame.iloc[np.nonzero(repeat_mask)[0]][[*TECHNIQUE]]
        metrics = {name: run.own_values(data, name)[repeat_mask] for name in names}
        frames.append(techniques.assign(**metrics))
    if not frames:
        frames = [pd.DataFrame(columns=[*TECHNIQUE, *names])]
    rows = pd.concat(frames, ignore_index=True)
    values = rows[names].astype(float)
    values = values.where(np.isfinite(values))
    return Observations(values, rows[[*TECHNIQUE]], n_cells, n_constant, tuple(dict.fromkeys(joint)))


def by_dataset(run: RunResults) -> dict[Names, Observations]:
    """Return the observations of each data set, world and β."""
    by_names: dict[Names, Observations] = {}
    for data in run.datasets:
        for cell in data.cells:
            only = {name: cell[name] for name in ("dataset", "world", "beta")}
            names = tuple(only.values())
            if names not in by_names:
                by_names[names] = observations(run, **only)
    return by_names


def every_part(run: RunResults) -> dict[str, Observations]:
    """Return the observations of all cells and, where there are several, of each representation by itself."""
    representations: dict[str, None] = {}
    for data in run.datasets:
        representations |= dict.fromkeys(cell["representation"] for cell in data.cells)
    by_part = {ALL: observations(run)}
    if len(representations) > 1:
        for representation in representations:
            by_part[representation] = observations(run, representation=representation)
    return by_part


def _first_of_equals(data: DatasetRepeats, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which of some cells are the first with their counts, and metrics of rows, in all repeats."""
    first = np.zeros_like(among)
    seen = set()
    for i in np.flatnonzero(among):
        arrays = [data.counts.n[i], *(values[i] for values in data.row_values.values())]
        decisions = data.cells[i]["beta"], *(np.ascontiguousarray(array).tobytes() for array in arrays)
        first[i] = decisions not in seen
        seen.add(decisions)
    return first


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
    def clustered(self) -> int:
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
            are correlated by `LEAST` on average, in scipy's words a tree cut at the distance 1 - `LEAST`.
        """
        from scipy.cluster.hierarchy import fcluster

        numbers = np.zeros(len(self.matrix), dtype=np.int64)
        if not self.clustered:
            return numbers
        rule = (1 - LEAST, "distance") if count is None else (count, "maxclust")
        numbers[: self.clustered] = pd.factorize(fcluster(self.tree, *rule))[0] + 1
        return numbers


def correlate(values: pd.DataFrame) -> Correlations:
    """Return Pearson correlations of the columns and their average-linkage clusters.

    Every correlation is over the rows in which both columns have a value. A constant column, and one with
    fewer than `FEWEST` values, has none (NaN). The distance of two metrics is 1 - r, so opposites are far
    from each other; where r is unknown, it counts as 0 for the clusters.

    >>> x = pd.DataFrame({"one": [1.0] * 4, "a": [0.0, 1, 2, 4], "b": [4.0, 2, 1, 0], "c": [0.0, 1, 3, 3]})
    >>> found = correlate(x)
    >>> list(found.matrix), found.clusters().tolist(), round(float(found.matrix.loc["a", "c"]), 3)
    (['b', 'a', 'c', 'one'], [1, 2, 2, 0], 0.878)
    """
    return arrange(values.round(DIGITS).corr(min_periods=FEWEST), values.count())


def arrange(matrix: pd.DataFrame, n: "pd.Series[int]") -> Correlations:
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
    names = [*matrix.index[correlated], *matrix.index[~correlated]]
    tree = np.zeros((0, 4))
    if correlated.any():
        distances = 1 - np.nan_to_num(correlations[correlated][:, correlated])
        np.fill_diagonal(distances, 0)
        tree = linkage(squareform(np.clip(distances, 0, 2), checks=False), "average", optimal_ordering=True)
        # a view: what is set there is set in the tree
        leaves = leaves_list(tree)
        joined = tree[:, :2]
        names[: len(leaves)] = [names[i] for i in leaves]
        single = joined < len(leaves)
        joined[single] = np.argsort(leaves)[joined[single].astype(int)]
    return Correlations(matrix.loc[names, names], tree, n[names])


def correlations_frame(run: RunResults) -> pd.DataFrame:
    """Return correlations.csv: the square matrix of all cells, metrics in its first column and its head."""
    return correlate(observations(run).values).matrix.rename_axis("metric").reset_index()


def pairs_frame(run: RunResults) -> pd.DataFrame:
    """Return correlation_pairs.csv: one row per pair of metrics, of all cells and of each representation.

    ``n`` is the number of results in which both have a value. ``r`` is empty where there is no correlation.
    """
    frames = []
    for name, observed in every_part(run).items():
        pairs = _each_pair(correlate(observed.values).matrix, observed.values)
        frames.append(pairs.assign(representation=name))
    return pd.concat(frames, ignore_index=True)[["representation", *_PAIR]]


_PAIR = ["metric", "other", "r", "n"]


def _each_pair(matrix: pd.DataFrame, values: pd.DataFrame) -> pd.DataFrame:
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
    columns = ["dataset", "world", "beta", *_PAIR]
    frames = []
    for (dataset, world, beta), observed in by_dataset(run).items():
        matrix = observed.values.round(DIGITS).corr(min_periods=FEWEST)
        pairs = _each_pair(matrix, observed.values)
        frames.append(pairs.assign(dataset=dataset, world=world, beta=beta)[columns])
    if not frames:
        return pd.DataFrame(columns=columns)
    return pd.concat(frames, ignore_index=True)


def clusters_frame(run: RunResults) -> pd.DataFrame:
    """Return correlation_clusters.csv: the cluster of each metric, in the order of the matrix.

    Of all cells and of each representation. ``n`` is the number of a metric's values, ``cluster`` its cluster
    where those that join at `LEAST` or more are one, ``of_2`` to ``of_8`` where there are so many clusters.
    Empty: in none.
    """
    counts_by_column: dict[str, int | None] = {"cluster": None}
    counts_by_column |= {f"of_{k}": k for k in CUTS}
    frames = []
    for representation, observed in every_part(run).items():
        tree = correlate(observed.values)
        columns = {"representation": representation, "metric": tree.matrix.index, "n": tree.n.to_numpy()}
        for column, count in counts_by_column.items():
            numbers = pd.Series(tree.clusters(count))
            columns[column] = numbers.where(numbers > 0).astype("Int64")
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)
