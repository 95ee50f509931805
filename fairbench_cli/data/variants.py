"""Which shipped data set another is a variant of: two lines of its card, of which nothing else is read."""

import re
from functools import cache

from fairbench_cli.base.files import read_text, shipped_folder

_PARENT = re.compile(r"^(variant_of|extends): *(\S+)", re.MULTILINE)


@cache
def find_parent(name: str) -> str:
    """Return the shipped data set that one is a variant of, as its card has it; empty of one that is none.

    >>> find_parent("adult-numbers"), find_parent("adult")
    ('adult', '')
    """
    lines: dict[str, str] = dict(_PARENT.findall(read_text(shipped_folder("datasets") / f"{name}.yaml")))
    if "variant_of" in lines:
        return lines["variant_of"]
    if "extends" in lines:
        return find_parent(lines["extends"]) or lines["extends"]
    return ""
