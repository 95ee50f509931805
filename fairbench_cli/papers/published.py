"""Read the published values of a paper."""

from pathlib import Path

import pandas as pd

from fairbench_cli.errors import suggest, user_error
from fairbench_cli.papers.registry import PAPERS, Paper


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


def read_published(paper: Paper, tables: tuple[str, ...] = ()) -> pd.DataFrame:
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
