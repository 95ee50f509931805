"""``--set KEY=VALUE``: settings laid over a config file."""

from typing import Any

from fairbench_cli.errors import Problem, UserError
from fairbench_cli.strict_yaml import Document, Place, parse_yaml, without


def laid_over(document: Document, settings: tuple[str, ...]) -> tuple[Document, list[Problem]]:
    r"""Lay ``key=value`` and ``key.key=value`` over a document; what they set stands at ``--set KEY``.

    >>> document = parse_yaml("name: x\nsample: {from: network}", "x.yaml")
    >>> document, problems = laid_over(document, ("sample.beta=[0, 1]",))
    >>> document.data["sample"], document.where(("sample", "beta", 1))
    ({'from': 'network', 'beta': [0, 1]}, '--set sample.beta')
    """
    problems: list[Problem] = []
    for setting in settings:
        key, equals, text = setting.partition("=")
        keys = key.strip().split(".")
        if not equals or not all(keys):
            fix = "write KEY=VALUE, for example --set repeats=5"
            problems.append(Problem(f"cannot read the setting {setting!r}", fix, "--set"))
            continue
        flag = f"--set {key.strip()}"
        try:
            value = parse_yaml(text, flag).data if text.strip() else None
            data = _with(document.data, keys, value)
        except UserError as error:
            problems += [Problem(p.what, p.fix, flag) for p in error.problems]
        except TypeError:
            fix = "set the whole list, in brackets: KEY=[a, b]"
            problems.append(Problem("a single item of a list cannot be set", fix, flag))
        else:
            document = Document(data, _spots(document.spots, tuple(keys), flag), document.name)
    return document, problems


def _with(data: Any, keys: list[str], value: Any) -> dict[str, Any]:
    """Return the mapping with the value at ``key.key.…``; `TypeError` when a list stands in the way."""
    if isinstance(data, list):
        raise TypeError
    inner = data if isinstance(data, dict) else {}
    return inner | {keys[0]: _with(inner.get(keys[0]), keys[1:], value) if len(keys) > 1 else value}


def _spots(spots: dict[Place, str], place: Place, flag: str) -> dict[Place, str]:
    """Let the value at `place`, and whatever had to be made around it, stand at the flag."""
    made = {place[:n]: flag for n in range(1, len(place)) if place[:n] not in spots}
    return without(spots, place) | made | {place: flag}
