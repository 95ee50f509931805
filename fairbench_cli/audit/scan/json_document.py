"""A whole table in one JSON object: not read, but known, with the line that makes CSV of it."""

import json

from fairbench_cli.base.errors import UserError, user_error
from fairbench_cli.base.stored_files import save_as_csv


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
