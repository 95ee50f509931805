"""Tables of other programs: Stata, SAS, SPSS and Arrow read by pandas, ARFF by the reader of cards."""

import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairbench_cli.base.errors import UserError, user_error
from fairbench_cli.base.stored_files import KnownFile, find_kind, save_as_csv

if TYPE_CHECKING:
    import pandas as pd


def read_frame(path: Path, head: bytes, name: str) -> "pd.DataFrame":
    """Return the rows of a file of another program; values with labels are called by these.

    Raises
    ------
    UserError
        When it cannot be read, or what pandas needs for it is not installed.
    """
    kind = find_kind(head)
    if kind is None:
        return _read_arff(path, name)
    try:
        frame = _read_by_pandas(path, kind)
    except ImportError:
        raise kind.refusal(name) from None
    except (ValueError, LookupError, ArithmeticError, TypeError, OSError, EOFError, struct.error) as error:
        problem = f"cannot be read as {kind.called.removeprefix('an ').removeprefix('a ')}: {error}"
        raise user_error(problem, "write the file again, or save the table as CSV", name) from None
    for column, dtype in enumerate(frame.dtypes):
        if dtype == "category":  # of labels, some of which may be numbers
            labels = frame.iloc[:, column].cat.rename_categories(str)
            frame.isetitem(column, labels.to_numpy(dtype=object))
    return frame


def _read_by_pandas(path: Path, kind: KnownFile) -> "pd.DataFrame":
    import pandas as pd

    if kind.reader == "read_stata":
        try:
            return pd.read_stata(path)
        except ValueError as error:
            if "convert_categoricals" not in str(error):  # two values of one label
                raise
            return pd.read_stata(path, convert_categoricals=False)
    if kind.reader == "read_sas":
        with path.open("rb") as file:
            is_binary = file.read(1) == b"\0"
        if is_binary:
            return pd.read_sas(path, format="sas7bdat", encoding="infer")
        return pd.read_sas(path, format="xport", encoding="latin-1")
    frame: pd.DataFrame = getattr(pd, kind.reader)(path)
    return frame


def _read_arff(path: Path, name: str) -> "pd.DataFrame":
    """Return the rows of an ARFF file, in which ? is a missing value."""
    from fairbench_cli.data.files import read_cells

    try:
        frame = read_cells(path, "arff").frame
    except UserError as error:
        problems = [
            replace(problem, where=str(problem.where).replace(str(path), name)) for problem in error.problems
        ]
        raise UserError(*problems) from None
    return frame.astype(object).where(frame != "?")


def describe_document(text: str, name: str) -> UserError | None:
    """Return the error for a text that is one JSON object and holds a table; None where it is something else.

    >>> print(describe_document('{"sex": ["f", "m"], "score": [0, 1]}', "x.json").problems[0].what)
    the whole table is one JSON object
    """
    try:
        document = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return None
    if not isinstance(document, dict) or not document:
        return None
    opened = f"json.load(open({json.dumps(name)}))"
    tables = [
        key
        for key, value in document.items()
        if isinstance(value, list) and value and isinstance(value[0], dict)
    ]
    values = list(document.values())
    if tables:
        frame = f"pandas.DataFrame({opened}[{json.dumps(tables[0])}])"
    elif {"columns", "data"} <= set(document):
        frame = f'pandas.DataFrame({opened}["data"], columns={opened}["columns"])'
    elif all(isinstance(value, list) for value in values):
        frame = f"pandas.DataFrame({opened})"
    elif all(isinstance(value, dict) for value in values):
        is_by_row = len(document) > len(values[0])
        frame = f"pandas.DataFrame({opened})" + (".T" if is_by_row else "")
    else:
        return None
    return user_error("the whole table is one JSON object", save_as_csv(frame, name, "json, pandas"), name)
