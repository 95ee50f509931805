"""Things that a config or a command names: each is a line in a registry, and imported when it is used."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pkgutil import resolve_name
from typing import Any


@dataclass(frozen=True)
class Entry:
    """Where a class or function is.

    Parameters
    ----------
    target : str
        ``module:name``.
    """

    target: str

    def load(self) -> Any:
        """Return the class or function; its module is imported now."""
        return resolve_name(self.target)

    @property
    def summary(self) -> str:
        """First line of its docstring."""
        return (self.load().__doc__ or "").partition("\n")[0]


class Registry(Mapping[str, Entry]):
    """What can be named, in the order in which it is listed.

    Parameters
    ----------
    name : str
        What one is called, such as ``intervention``.
    room : str
        The package that the targets are relative to.
    targets : mapping
        ``module:name`` in that package, by name.
    group : str
        Of the entry points of installed packages that add to it; empty where none can.
    for_reproduction : tuple of str
        The names that serve only to reproduce a paper.
    adapter : str
        The module in that package whose `options_of`, `filled`, `fault` and `make` know what to do with
        somebody's class or function that is not registered; see `classifiers/foreign.py`.

    Examples
    --------
    >>> checks = Registry("check", "fairbench_cli.base", {"unknown": "errors:suggest"})
    >>> list(checks), checks["unknown"].load()("na", ["name"])
    (['unknown'], 'did you mean "name"?')
    """

    def __init__(
        self,
        name: str,
        room: str,
        targets: Mapping[str, str],
        *,
        group: str = "",
        for_reproduction: tuple[str, ...] = (),
        adapter: str = "",
    ) -> None:
        self.name = name
        self.group = group
        self.for_reproduction = for_reproduction
        self.entries = {key: Entry(f"{room}.{target}") for key, target in targets.items()}
        self._adapter = f"{room}.{adapter}"

    def __getitem__(self, name: str) -> Entry:
        return self.entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def foreign(self) -> Any:
        """The adapter of what is not registered, imported."""
        return import_module(self._adapter)
