"""A YAML document once it is read, and the value that a word of it stands for."""

import math
import re
from dataclasses import dataclass
from typing import Any

KeyPath = tuple[str | int, ...]

# 007, +5 or a number of twenty digits may be somebody's code: what is not written back the same is text.
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?((0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+|(0|[1-9][0-9]*)(?=[eE]))([eE][-+]?[0-9]+)?")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


@dataclass(frozen=True)
class YamlDocument:
    """A YAML document: its plain data, and where each value was given.

    Parameters
    ----------
    data : object
        Dicts with text keys, lists, text, numbers, booleans and None.
    spots : dict
        ``file:line`` or the flag that gave a value, by the value's place.
    name : str
        The file.
    """

    data: Any
    spots: dict[KeyPath, str]
    name: str

    def where(self, key_path: KeyPath) -> str:
        """Return ``file:line`` (or the flag) of a value, or of the nearest thing around it.

        An index that the file does not have is of a value that stands without brackets.
        """
        known_path: KeyPath = ()
        for key in key_path:
            longer_path = (*known_path, key)
            if isinstance(key, str) or longer_path in self.spots:
                known_path = longer_path
        while known_path and known_path not in self.spots:
            known_path = known_path[:-1]
        return self.spots.get(known_path, self.name)


def parse_scalar(text: str) -> Any:
    """Return the value that an unquoted YAML word stands for.

    >>> [parse_scalar(word) for word in ("5", ".25", "no", "true", "007")]
    [5, 0.25, 'no', True, '007']
    """
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text) and math.isfinite(float(text)):
        return float(text) + 0.0  # -0.0 becomes 0.0
    return text
