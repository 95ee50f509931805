"""The papers by name and their published values. A new one is a CSV in this folder and an entry here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbench_cli.errors import suggest, user_error

if TYPE_CHECKING:  # light when asked for --help
    import pandas as pd

Where = Mapping[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Paper:
    """A paper's published values and what they are called in a run.

    The values are in ``NAME.csv`` next to this file: the columns `metric` and `value` (empty: the paper
    prints "-"), `table` where there are several, and whatever else distinguishes the values.

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
    """

    name: str
    source: str
    blocks: tuple[str, ...]
    across: str
    labels: Mapping[str, Mapping[str, Where | None]]
    everywhere: Where = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)


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
                "intervention": {
                    # The paper's repair is that of the tool called Auditor, as it was run or as it is meant.
                    **{
                        f"repair@{level:.2f}": {"intervention": ("repair", "auditor"), "level": (level,)}
                        for level in (0.25, 0.5, 0.75)
                    },
                    **{
                        f"zafar-di@{mode}": {"intervention": ("zafar-di",), "mode": (mode,)}
                        for mode in ("fairness", "accuracy", "misclassification")
                    },
                    **{
                        f"zafar-dm@{rate}": {"intervention": ("zafar-dm",), "constraint": (rate,)}
                        for rate in ("fpr", "fnr", "both")
                    },
                },
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
        `value` is a float, NaN where the paper prints "-"; every other column is text.

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
    known = set(text["table"])
    for table in tables:
        if table not in known:
            raise user_error(
                f'{paper.name} has no values of table "{table}"', suggest(table, known), "--table"
            )
    wanted = text[text["table"].isin(tables)] if tables else text
    return wanted.assign(value=pd.to_numeric(wanted["value"])).reset_index(drop=True)
