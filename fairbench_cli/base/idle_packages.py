"""Imports without packages that they name and do not use: scikit-learn's trees load all of scipy.stats."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any


class _Idle(ModuleType):
    """Stands for a package until something of it is used: then that is loaded, and gives it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


@contextmanager
def idle_packages(*names: str) -> Iterator[None]:
    """Let imports inside the block load some packages only where they use something of them.

    Modules below one of these packages can be imported without it. After the block nothing stands in for a
    package any more: whoever imports it gets it whole.

    Parameters
    ----------
    names : str
        Packages, such as ``"scipy.stats"``; those that are loaded stay as they are.

    >>> with idle_packages("xml.etree"):
    ...     import xml.etree.ElementTree  # is loaded, as it was named
    >>> xml.etree.ElementTree.Element("a").tag
    'a'
    """
    stand_ins: dict[str, _Idle] = {}
    for name in names:
        if name in sys.modules:
            continue
        parent_name, _, child = name.rpartition(".")
        parent = import_module(parent_name) if parent_name else None
        spec = PathFinder.find_spec(name, None if parent is None else parent.__path__)
        if spec is None:  # of another version, which has no such package
            continue
        stand_in = stand_ins[name] = sys.modules[name] = _Idle(name)
        stand_in.__path__ = list(spec.submodule_search_locations or ())
        if parent is not None:
            setattr(parent, child, stand_in)
    try:
        yield
    finally:
        for name, stand_in in stand_ins.items():
            if sys.modules.get(name) is stand_in:
                del sys.modules[name]
            parent_name, _, child = name.rpartition(".")
            if parent_name and vars(sys.modules[parent_name]).get(child) is stand_in:
                delattr(sys.modules[parent_name], child)
