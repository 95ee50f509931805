"""The papers by name and their published values. A new one is a CSV in this folder and an entry here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbench_cli.base.errors import suggest, user_error
from fairbench_cli.papers import friedler2019

if TYPE_CHECKING:  # light when asked for --help
    import pandas as pd

Conditions = Mapping[str, tuple[Any, ...]]
"""The values that a cell may have, by column of a run's results or parameter of its intervention."""


@dataclass(frozen=True)
class Paper:
    """A paper's published values and what they are called in a run.

    The values are in ``NAME.csv`` next to this file: the columns `metric` and `value` (empty: the paper
    prints "-"), `table` where there are several, and whatever else distinguishes the values. Some papers
    print the standard deviation over their runs too: `sd`, `runs` and `flags`, which says what is wrong with
    a value (empty: nothing is known to be).

    Parameters
    ----------
    name : str
        As in ``--paper NAME``.
    source : str
        The full citation and which tables the values stand in.
    blocks : tuple of str
        Columns of the CSV that head a block of values, on a page and in the summary.
    across : str
        The column of the CSV that runs across a block; the others run down.
    labels : mapping
        Per column of the CSV and printed label: what a cell of a run must be. A key is a column of a run's
        results or a parameter of its intervention; a cell must have one of the values. None: no run has it.
        A label that is not listed is the cell's own value in the column of that name.
    everywhere : mapping
        What every cell must be in addition.
    metrics : mapping
        Our names of the metrics that are called otherwise in the CSV.
    metrics_where : mapping
        The same for the values of one label of one column alone.
    floors : mapping
        Of a paper with standard deviations: how far off a value may be however small its sd, per label of
        `blocks[0]` and metric; "" stands for any other metric.
    scored : tuple of str
        The metrics that the share of values within their tolerance is made of; all by default.
    """

    name: str
    source: str
    blocks: tuple[str, ...]
    across: str
    labels: Mapping[str, Mapping[str, Conditions | None]]
    everywhere: Conditions = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)
    metrics_where: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    floors: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    scored: tuple[str, ...] = ()

    def our_metric(self, row: Mapping[Any, Any]) -> str:
        """Return our name of the metric of a row of the CSV."""
        for (column, label), names in self.metrics_where.items():
            if row[column] == label and row["metric"] in names:
                return names[row["metric"]]
        return self.metrics.get(row["metric"], row["metric"])

    def floor(self, row: Mapping[Any, Any]) -> float:
        """Return how far off our mean may be from a row's value however small its sd; NaN without an sd."""
        floors = self.floors.get(row[self.blocks[0]], {})
        return floors.get(row["metric"], floors.get("", nan))

    def tolerance(self, row: Mapping[Any, Any]) -> float:
        """Return how far off our mean may be from a row's value: two sd, or the floor; NaN without an sd."""
        if self.floors:
            return max(2 * float(row["sd"]), self.floor(row))
        return nan


_REPAIR = ("repair", "auditor")  # the paper's is that of the tool called Auditor, as run or as meant
_CARDOSO_INTERVENTIONS: dict[str, Conditions] = {
    "repair@0.25": {"intervention": _REPAIR, "level": (0.25,)},
    "repair@0.50": {"intervention": _REPAIR, "level": (0.5,)},
    "repair@0.75": {"intervention": _REPAIR, "level": (0.75,)},
    # "Acc. cons." and "Disc. cons." are named for what is optimised, not for what is bounded.
    "zafar-di@accuracy": {"intervention": ("zafar-di",), "mode": ("fairness",)},
    "zafar-di@fairness": {"intervention": ("zafar-di",), "mode": ("accuracy",)},
    "zafar-di@misclassification": {"intervention": ("zafar-di",), "mode": ("misclassification",)},
    "zafar-dm@fpr": {"intervention": ("zafar-dm",), "constraint": ("fpr",)},
    "zafar-dm@fnr": {"intervention": ("zafar-dm",), "constraint": ("fnr",)},
    "zafar-dm@both": {"intervention": ("zafar-dm",), "constraint": ("both",)},
}

PAPERS: dict[str, Paper] = {
    paper.name: paper
    for paper in (
        Paper(
            "cardoso2019",
            "R. L. Cardoso, W. Meira Jr., V. Almeida, M. J. Zaki: A framework for benchmarking "
            "discrimination-aware models in machine learning. AIES 2019. Tables 2-7, 10 and 11.",
            blocks=("table", "dataset"),
            across="beta",
            labels={
                "dataset": {
                    "adult": {"dataset": ("adult",), "attribute": ("sex",)},
                    "compas": {"dataset": ("compas",), "attribute": ("race",)},
                    "dutch": {"dataset": ("dutch",), "attribute": ("sex",)},
                },
                "intervention": _CARDOSO_INTERVENTIONS,
            },
        ),
        Paper(
            "zliobaite2015",
            "I. Žliobaitė: On the relation between accuracy and fairness in binary classification. "
            "FATML workshop 2015, arXiv:1505.05723. Table 1.",
            blocks=("classifier",),
            across="metric",
            labels={
                "classifier": {
                    # Measures of the labels themselves: what an oracle predicts that removes nothing.
                    "data": {"intervention": ("oracle",), "strategy": ("both",), "remove": (0.0,)},
                    "logistic": {"classifier": ("logistic-regression",)},
                },
                "strategy": {
                    "-": {},
                    "with-s": {"intervention": ("none",), "include_protected": (True,)},
                    "no-s": {"intervention": ("none",), "include_protected": (False,)},
                    "massaging": {"intervention": ("massaging",)},
                },
            },
            everywhere={"sample": ("data",), "dataset": ("adult",), "attribute": ("sex",), "beta": (0.0,)},
            metrics={
                "acceptance_rate": "acceptance-rate",
                "normalized_discrimination": "normalised-discrimination",
            },
        ),
        Paper(
            "friedler2019",
            "S. A. Friedler, C. Scheidegger, S. Venkatasubramanian, S. Choudhary, E. P. Hamilton, D. Roth: A "
            "comparative study of fairness-enhancing interventions in machine learning. FAT* 2019. Means and "
            "standard deviations over ten splits: from the result files of its repository, "
            "algofairness/fairness-comparison (80b34d2, fairness/results); of german and "
            "propublica-violent-recidivism the series with binary attributes, in three decimals.",
            blocks=("dataset", "attribute"),
            across="metric",
            labels={"algorithm": friedler2019.ALGORITHMS},
            everywhere={"sample": ("data",), "beta": (0.0,)},
            metrics=friedler2019.PUBLISHED,
            metrics_where={("representation", "numerical-binary"): friedler2019.PUBLISHED_BINARY},
            floors=friedler2019.FLOORS,
            scored=friedler2019.SCORED,
        ),
    )
}


def find_paper(name: str) -> Paper:
    """Return the paper of that name.

    Raises
    ------
    UserError
        When there is none.
    """
    if name not in PAPERS:
        raise user_error(f'unknown paper "{name}"', suggest(name, PAPERS), "--paper")
    return PAPERS[name]


def read_published(paper: Paper, tables: tuple[str, ...] = ()) -> "pd.DataFrame":
    """Return a paper's values as printed, one row each, in the order of its CSV.

    Parameters
    ----------
    tables : tuple of str
        Numbers of the tables that are wanted; all by default.

    Returns
    -------
    DataFrame
        `value` and `sd` are floats, NaN where the paper prints "-"; every other column is text.

    Raises
    ------
    UserError
        For a table that the paper's values do not have.

    Examples
    --------
    >>> values = read_published(PAPERS["cardoso2019"], ("2",))
    >>> len(values), float(values["value"][0])
    (30, 0.162)
    """
    import pandas as pd

    path = Path(__file__).with_name(f"{paper.name}.csv")
    text = pd.read_csv(path, dtype=str, keep_default_na=False)
    if "table" not in text:
        text.insert(0, "table", "1")
    choices = set(text["table"])
    for table in tables:
        if table not in choices:
            problem = f'{paper.name} has no values of table "{table}"'
            raise user_error(problem, suggest(table, choices), "--table")
    if tables:
        text = text[text["table"].isin(tables)]
    numbers = {name: pd.to_numeric(text[name]) for name in ("value", "sd") if name in text}
    return text.assign(**numbers).reset_index(drop=True)
