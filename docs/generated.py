"""The pages of the reference, which are made of the code whenever the site is built.

Each function returns the Markdown that follows what ``docs/reference/NAME.md`` says by itself.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

import fairbench_cli
from fairbench_cli.base.registry import Registry
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.cli.app import app
from fairbench_cli.cli.pages import described, docstring, metric_pages
from fairbench_cli.data.card import find_card, known_cards, read_card
from fairbench_cli.document.markdown import markdown
from fairbench_cli.document.model import Document, Section, plain_table
from fairbench_cli.experiment.config.read import find_config, known_configs, title
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.network.mechanisms.registry import MECHANISMS


def written(*sections: Section, facts: tuple[str, ...] = ()) -> str:
    """Return sections as Markdown; what stands in backticks is code."""
    text = markdown(Document("", facts=facts, sections=sections))
    return re.sub(r"\\`([^`\\&\n]+)\\`", r"`\1`", text)


def commands() -> str:
    """Return every command of the command line, with its arguments and options."""
    return written(*_commands("fairbench", get_command(app)))


def _commands(name: str, command: Any) -> Iterator[Section]:
    within = getattr(command, "commands", {})
    yield Section(name, (inspect.cleandoc(command.help or ""),), tables=tuple(_options(command)))
    for key, one in within.items():
        if not one.hidden:
            yield from _commands(f"{name} {key}", one)


def _options(command: Any) -> Iterator[Any]:
    """Yield a table for each heading under which ``--help`` shows options."""
    given = command.get_params(command.context_class(command)) if hasattr(command, "get_params") else ()
    panels: dict[str, list[list[str]]] = {}
    for one in given:
        if not one.hidden:
            argument = not one.opts[0].startswith("-")
            panel = one.rich_help_panel or ("arguments" if argument else "options")
            names = one.name.upper() if argument else ", ".join([*one.opts, *one.secondary_opts])
            panels.setdefault(panel, []).append([f"`{names}`", _help(one)])
    for panel, rows in panels.items():
        yield plain_table("", [panel.lower(), "what"], rows, 2)


def _help(option: Any) -> str:
    """Return what is said of an option, with its default."""
    default = option.show_default if isinstance(option.show_default, str) else option.default
    known = option.show_default and isinstance(default, str | int | float) and default not in ("", False)
    text = " ".join((option.help or "").split())
    if option.required:
        return f"{text} Required."
    return f"{text} Default: {default if isinstance(default, str) else f'{default:g}'}." if known else text


def python() -> str:
    """Return the functions and classes of the package, and the classes of what they return."""
    named = {name: getattr(fairbench_cli, name) for name in fairbench_cli.__all__}
    named["audit"] = fairbench_cli.audit.audit
    functions = {name: one for name, one in named.items() if inspect.isfunction(one)}
    classes = [one for one in named.values() if inspect.isclass(one)]
    returned = [one for function in functions.values() for one in _returned(function)]
    parts = ["## Functions", *(_documented(one, f"fb.{name}") for name, one in functions.items())]
    parts += ["## What they return", *map(_documented, dict.fromkeys(returned))]
    parts += ["## For techniques and metrics of your own", *map(_documented, classes)]
    return "\n\n".join(parts) + "\n"


def _returned(function: Any) -> list[type]:
    """Return the class of ours that a function returns, if it returns one."""
    said = function.__annotations__.get("return")
    found = getattr(sys.modules[function.__module__], said, None) if isinstance(said, str) else said
    return [found] if inspect.isclass(found) and found.__module__.startswith("fairbench_cli") else []


def _documented(thing: Any, name: str = "") -> str:
    path = f"{thing.__module__}.{thing.__qualname__}"
    lines = [f".. autofunction:: {path}"]
    if inspect.isclass(thing):
        others = [one.__name__ for one in thing.__mro__ if not one.__module__.startswith("fairbench_cli")]
        given = [key for key in vars(thing) if re.fullmatch("set_.*_request", key)]  # scikit-learn's
        lines = [f".. autoclass:: {path}", "   :members:", f"   :inherited-members: {', '.join(others)}"]
        lines += [f"   :exclude-members: {', '.join(given)}"] if given else []
    directive = "\n".join(lines)
    return f"### {name or thing.__name__}\n\n```{{eval-rst}}\n{directive}\n```"


def metrics() -> str:
    """Return what there is to know about every metric."""
    found = metric_pages()
    sections = (
        Section(one.title.lower(), one.sentences, one.tables, sections=one.sections) for one in found.sections
    )
    return written(*sections, facts=found.facts)


def interventions() -> str:
    """Return every technique with its parameters."""
    return written(*_components(INTERVENTIONS))


def classifiers() -> str:
    """Return every classifier with its parameters."""
    return written(*_components(CLASSIFIERS))


def mechanisms() -> str:
    """Return every mechanism of bias with its parameters."""
    return written(*_components(MECHANISMS))


def _components(registry: Registry) -> Iterator[Section]:
    for name, entry in registry.items():
        thing = entry.load()
        summary, about, meanings = docstring(thing)
        rows = [[f"`{key}`", kind, meanings.get(key, "")] for key, kind in described(thing).items()]
        table = plain_table("", ["parameter", "what it may be", "what"], rows, 3)
        yield Section(name, (summary, *about), tables=(table,) if rows else ())


def datasets() -> str:
    """Return the data sets and the configs that come with fairbench."""
    cards = [read_card(find_card(name)) for name in known_cards()]
    rows = ([card.name, ", ".join(card.protected), card.title] for card in cards)
    configs = ([name, title(find_config(name))] for name in known_configs())
    return written(
        Section("data sets", tables=(plain_table("", ["name", "protected", "what"], rows, 3),)),
        Section("configs", tables=(plain_table("", ["name", "what"], configs, 2),)),
    )


PAGES = {
    one.__name__: one for one in (commands, python, metrics, interventions, classifiers, mechanisms, datasets)
}
