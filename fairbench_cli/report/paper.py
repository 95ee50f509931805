"""What a paper takes from a run: the papers' tables with their marks, and its numbers as macros for LaTeX."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.base.safe_text import make_slugs
from fairbench_cli.document.model import SIDES, Document, TableCell
from fairbench_cli.experiment.config.outputs import TABLES
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.registry import measure
from fairbench_cli.report import tables
from fairbench_cli.report.paired import LEVEL, adjusted, paired_of
from fairbench_cli.report.population import over_population
from fairbench_cli.report.repeats import CELL_COLUMNS, SITUATION, TECHNIQUE, key_of, mean_and_interval
from fairbench_cli.report.results import Results, RunResults

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
    column (`best_of`), and has a sign where its difference to ``none`` is shown.
    """
    cells: tables.Cells = {}
    metrics = TABLES[name].metrics
    own = run.own.take(run.own.rows["metric"].isin(metrics).to_numpy())
    paired = paired_of(run.by_own_groups)
    verdicts = paired.set_index([*CELL_COLUMNS, "compared", "metric"])["population_verdict"].to_dict()
    keys = list(own.rows[[*CELL_COLUMNS, "metric"]].itertuples(index=False, name=None))
    best = {key for key, is_best in zip(keys, best_of(own), strict=True) if is_best}
    constant = {key for key, repeats in zip(keys, own.constant, strict=True) if repeats.any()}
    labels = {tables.LABELS: run} | {f"{one.labels} labels": one for one in run.on_all if one is not run}
    for cell in run.plan.cells:
        place, technique, beta = tables.place_of(cell | {"compared": cell["attribute"]})
        for (called, counted), metric in product(labels.items(), metrics):
            if (place, (called, metric), beta) not in cells:
                cells[place, (called, metric), beta] = tables.labels_cell(counted, cell, metric)
        if cell["intervention"] == tables.TRUTH and run.labels == "recorded":
            continue  # it is no model of the world that records them
        for metric in metrics:
            key = *key_of(cell), metric
            verdict = verdicts.get((*key_of(cell), cell["attribute"], metric), "")
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
    marks = [*tables.spread_mark(run)]
    if words:
        marks.append(f"{'; '.join(words)}: {HOW}")
    facts = *tables.caption(run.plan, {cell.text for cell in found}), tables.ABOUT_LABELS
    facts += tuple(f"{called}: {tables.LABELS_MEANT[one.labels]}." for called, one in [*labels.items()][1:])
    sections = tables.blocks_of(run, cells, tables.NOT_RUN, marks=marks)
    return Document(name, facts=facts, sections=sections)


def best_of(results: Results) -> NDArray[np.bool_]:
    """Return which rows are shown to be the best of their column, in the population.

    A column is one metric in one situation, ``none`` among its techniques; those that accept everybody, or
    nobody, in some repeat are left out, and so is the model without the bias (`TRUTH`). The one whose mean
    distance to the ideal is least is the best if it is nearer to it than each of the others: p is the largest
    of their paired tests, Holm-adjusted over the columns of a table, which is all β of a data set, attribute,
    groups compared, world and classifier. A column of one technique has none.
    """
    rows = results.rows.reset_index(drop=True)
    far = results.distances
    far[~np.isfinite(far)] = np.nan
    able = ~np.isnan(far).all(axis=1) & (results.constant.sum(axis=1) == 0)
    able &= (rows["intervention"] != tables.TRUTH).to_numpy()
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
    pairs = over_population(results, one, other, (far[one], far[other]), np.ones(len(one), dtype=bool))
    tests = pairs.population
    worse = np.where(tests.mean < 0, tests.p, np.where(np.isnan(tests.p), np.nan, 1.0))
    firsts, sizes = np.array(columns).T
    p = np.maximum.reduceat(worse, np.concatenate([[0], np.cumsum(sizes)[:-1]]))
    best[firsts] = adjusted(rows.iloc[firsts], p, [*tables.BLOCK, "metric"])["p_holm"] < LEVEL
    return best


NUMBERS = "numbers.tex"
MACROS = r"""% Numbers of the run for the text of a paper. \input this file, then write \fb{KEY} for a mean,
% \fbsd{KEY}, \fblow{KEY}, \fbhigh{KEY} (its 95 % interval), \fbn{KEY} (repeats with a value) or
% \fbdifference{KEY} (to none). KEY: data set/attribute/classifier/technique/beta/metric, as below; "labels"
% is a technique here. Put negative numbers into formulas: $\fb{KEY}$. A key that is not there is an error.
\makeatletter
\newcommand*\fb@get[2]{\ifcsname fb@#2\endcsname\csname fb@#2\endcsname#1%
  \else\@latex@error{fairbench: no number #2}{The keys are in numbers.tex.}\fi}
\newcommand*\fb@set[7]{\expandafter\def\csname fb@#1\endcsname##1{##1{#2}{#3}{#4}{#5}{#6}{#7}}}
\newcommand*\fb{\fb@get\fb@mean}
\newcommand*\fbsd{\fb@get\fb@sd}
\newcommand*\fblow{\fb@get\fb@low}
\newcommand*\fbhigh{\fb@get\fb@high}
\newcommand*\fbn{\fb@get\fb@n}
\newcommand*\fbdifference{\fb@get\fb@difference}
\def\fb@mean#1#2#3#4#5#6{#1}
\def\fb@sd#1#2#3#4#5#6{#2}
\def\fb@low#1#2#3#4#5#6{#3}
\def\fb@high#1#2#3#4#5#6{#4}
\def\fb@n#1#2#3#4#5#6{#5}
\def\fb@difference#1#2#3#4#5#6{#6}
"""


def numbers_tex(run: RunResults) -> str:
    """Return macros for the numbers of a run: means, sds and intervals of the metrics of its tables.

    Keys are of the names that tables and figures have, with a hyphen for all but letters, digits and ``.+-``.
    """
    lines = []
    for key, values, difference in _numbers(run):
        found = {name: float(number) for name, number in mean_and_interval(values).items()}
        texts = [_plain(found[name]) for name in ("mean", "sd", "low", "high")]
        each = [*texts, f"{found['n_ok']:.0f}", _plain(difference)]
        lines.append(f"\\fb@set{{{key}}}" + "".join(f"{{{text}}}" for text in each))
    macros = MACROS
    if run.plan.has_worlds:
        macros = macros.replace("attribute/", "attribute/world/")
    return macros + "\n".join([*lines, "\\makeatother\n"])


def _plain(number: float) -> str:
    """Write a number for a formula; ``--`` where there is none."""
    if np.isnan(number):
        return "--"
    return f"{number:.3f}".replace("-0.000", "0.000")


def _numbers(run: RunResults) -> Iterator[tuple[str, Floats, float]]:
    """Yield the key of each number, its values over the repeats, and the mean difference to none."""
    names = tables.names_of(run.plan.config)
    asked = run.plan.config.tables or ("difference-to-none",)
    metrics = dict.fromkeys(metric for name in asked for metric in TABLES[name].metrics)
    paired = paired_of(run.by_own_groups)
    differences = paired.set_index([*CELL_COLUMNS, "compared", "metric"])["difference"].to_dict()
    labelled = set()
    for data in run.datasets:
        for cell in data.cells:
            place = [names.dataset(data.dataset), data.attribute]
            if run.plan.has_worlds:
                place.append(cell["world"] or tables.NO_BIAS)
            if cell["representation"] != "original":
                place.append(cell["representation"])
            place.append(names.classifier(cell["classifier"], cell["classifier_parameters"]))
            technique = names.technique(*(cell[column] for column in TECHNIQUE))
            for metric in metrics:
                if (*place, cell["beta"], metric) not in labelled:
                    labelled.add((*place, cell["beta"], metric))
                    key = _key(*place, tables.LABELS, f"{cell['beta']:g}", metric)
                    labels = data.levels(tables.labels_of(run, data, cell), data.attribute)
                    yield key, measure(run.results.metric(metric), labels), np.nan
                key = _key(*place, technique, f"{cell['beta']:g}", metric)
                difference = differences.get((*key_of(cell), data.attribute, metric), np.nan)
                yield key, run.get(key_of(cell), metric).values, difference


def _key(*parts: str) -> str:
    return "/".join(make_slugs([(part,)])[0] for part in parts)
