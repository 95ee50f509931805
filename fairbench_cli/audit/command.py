"""The options of an audit as they are written: in a command line that makes the same audit, and in a file."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairbench_cli.audit.config import AuditConfig, Edges, read_bins, split_recodes
from fairbench_cli.audit.options import changed_options, read_config
from fairbench_cli.base.errors import UserError
from fairbench_cli.base.strict_yaml import dump_yaml

OPTIONS_FILE = "audit.yaml"
NO_FILE = "FILE"  # of a frame or arrays, which a command line cannot name
CROSSED = ("intersect", "explain")
"""Keys of which a value is several columns."""


@dataclass(frozen=True)
class WrittenCall:
    """What an audit was asked, as it can be written.

    Parameters
    ----------
    config : AuditConfig
        As it was read, before the rows said what they are.
    file : str
        What is audited.
    only : tuple of str
        Of a folder of results: the filters that leave one cell.
    repeat : int or None
    """

    config: AuditConfig
    file: str = NO_FILE
    only: tuple[str, ...] = ()
    repeat: int | None = None

    @property
    def command(self) -> str:
        """The command line, quoted for a shell.

        Where no flag can say what an option is, it names a file of options, `options_file`.

        >>> WrittenCall(read_config({"tau": 0.9, "ref": {"race": "not known"}}), "a b.csv").command
        "fairbench audit 'a b.csv' --ref 'race=not known' --tau 0.9"
        """
        options = least_options(self.config)
        try:
            flags = list_flags(options)
        except ValueError:
            flags = ["--config", OPTIONS_FILE]
        file = self.file
        if file.startswith("-") and file != "-":
            file = f"./{file}"
        arguments = ["fairbench", "audit", file, *flags]
        for condition in self.only:
            arguments += ["--only", condition]
        if self.repeat is not None:
            arguments += ["--repeat", str(self.repeat)]
        return shlex.join(arguments)

    @property
    def options_file(self) -> str:
        """The text of a file of options; empty where nothing differs from what is usual."""
        options = least_options(self.config)
        if not options:
            return ""
        return dump_yaml(options)


def least_options(config: AuditConfig) -> dict[str, Any]:
    """Return the fewest keys and values of a file of options that gives a configuration.

    >>> least_options(read_config({"preset": "eeoc", "tau": 0.8, "exclude": ["Other"]}))
    {'preset': 'eeoc', 'exclude': ['Other']}
    """
    options = changed_options(config)
    for key in list(options):
        fewer = {name: value for name, value in options.items() if name != key}
        if _gives(fewer, config):
            options = fewer
    for key, value in options.items():
        if isinstance(value, list):
            options = {**options, key: _shorten(options, key, config)}
    return options


def _shorten(options: Mapping[str, Any], key: str, config: AuditConfig) -> Any:
    """Return the values of a key without those that are added anyway, alone where there is one."""
    values = list(options[key])
    for value in options[key]:
        fewer = [value_kept for value_kept in values if value_kept != value]
        if fewer and _gives({**options, key: fewer}, config):
            values = fewer
    return values


def _gives(options: Mapping[str, Any], config: AuditConfig) -> bool:
    """Return whether options are read as a configuration."""
    try:
        return read_config(options) == config
    except UserError:
        return False


def list_flags(options: Mapping[str, Any]) -> list[str]:
    """Return options as the words of a command line.

    Raises
    ------
    ValueError
        For a value that no flag can have.

    >>> list_flags({"fail": True, "tau": {"default": 0.8, "fpr": 0.9}, "intersect": [["race", "sex"]]})
    ['--fail', '--tau', '0.8', '--tau', 'fpr=0.9', '--intersect', 'race,sex']
    """
    arguments: list[str] = []
    for key, value in _with_sides(options).items():
        if value is True:
            arguments.append(f"--{key}")
            continue
        for text in _write_values(key, value):
            arguments += [f"--{key}", text]
    return arguments


def _with_sides(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options in which attributes that are cut once are sides of numbers, ``age<40``."""
    names = options.get("attribute", [])
    bins = dict(options.get("bins", {}))
    sides = []
    for name in names:
        edges = read_bins(bins[name]) if name in bins else None
        if isinstance(edges, Edges) and len(edges.edges) == 1:
            sign = "<" if edges.closed == "left" else "<="
            sides.append(f"{name}{sign}{edges.edges[0]:.15g}")
            del bins[name]
        else:
            sides.append(name)
    changed = {key: value for key, value in (("attribute", sides), ("bins", bins)) if key in options}
    return {**options, **changed}


def _write_values(key: str, value: Any) -> list[str]:
    """Return the texts of a flag, which is repeated for each."""
    if key == "recode":
        return [_write_recode(name, by_value) for name, by_value in value.items()]
    if key == "keep":
        return [f"{name}={','.join(values)}" if values else name for name, values in value.items()]
    if key == "bins":
        return [f"{name}={_write_bins(bins)}" for name, bins in value.items()]
    if key == "order":
        return [",".join(value)]
    if key in CROSSED:
        return [",".join(columns) for columns in value]
    if isinstance(value, Mapping):
        return [str(text) if name == "default" else f"{name}={text}" for name, text in value.items()]
    if isinstance(value, list):
        return [str(text) for text in value]
    return [str(value)]


def _write_bins(bins: Any) -> str:
    """Return the number of bins, or their edges; those that belong to the bin below have no text."""
    edges = read_bins(bins)
    if isinstance(edges, int):
        return str(edges)
    if edges.closed == "right":
        raise ValueError("no flag has edges that are closed on the right")
    text = ",".join(f"{edge:.15g}" for edge in edges.edges)
    if len(edges.edges) == 1:
        return f"{text},"  # a number alone is one of bins
    return text


def _write_recode(name: str, by_value: Mapping[str, Sequence[str]]) -> str:
    """Return "sex: F = Female, female"; of values that such a text cannot hold a `ValueError` is raised."""
    clauses = [f"{new_value} = {', '.join(old_values)}" for new_value, old_values in by_value.items()]
    text = f"{name}: {'; '.join(clauses)}"
    expected = [(name, new_value, tuple(old_values)) for new_value, old_values in by_value.items()]
    if list(split_recodes(text)) != expected:
        raise ValueError("no flag has values with such signs")
    return text
