"""Flags that hold a name and a value: ``--ref race=Caucasian``, ``--tau fpr=0.9``."""

from collections.abc import Iterable
from typing import Any

from fairbench_cli.errors import Problem, UserError, shown
from fairbench_cli.strict_yaml import scalar


def pairs(texts: Iterable[str], flag: str) -> dict[str, str]:
    """Split ``name=value`` texts.

    Raises
    ------
    UserError
        For those that are not.

    >>> pairs(["race=Caucasian", "age=25 = 45"], "--ref")
    {'race': 'Caucasian', 'age': '25 = 45'}
    """
    split = {text: [part.strip() for part in text.partition("=")] for text in texts}
    wrong = [text for text, parts in split.items() if not all(parts)]
    if wrong:
        raise UserError(
            *(Problem(f"{shown(text)} is not NAME=VALUE", f"write {flag} NAME=VALUE", flag) for text in wrong)
        )
    return {name: value for name, _, value in split.values()}


def tau_flags(texts: Iterable[str]) -> dict[str, Any]:
    """Read ``0.8`` and ``fpr=0.9``.

    >>> tau_flags(["0.8", "fpr=0.9"])
    {'default': 0.8, 'fpr': 0.9}
    """
    return {name.strip() or "default": scalar(value.strip()) for name, value in map(_tau_parts, texts)}


def _tau_parts(text: str) -> tuple[str, str]:
    name, _, value = text.rpartition("=")
    return name, value
