"""What the pages show: templates and what is put into them. Every text is escaped where it is put in."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbench_cli.document.html import page_hashes, page_parts

if TYPE_CHECKING:
    from jinja2 import Environment

    from fairbench_cli.base.errors import Problem
    from fairbench_cli.web.open_file import OpenFile

_ASSETS = Path(__file__).parent / "assets"


def hashes() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the hashes of the styles and the scripts that stand in an audit's own page."""
    page = page_hashes()
    return page.styles, page.scripts


@cache
def assets() -> dict[str, tuple[str, str]]:
    """Return the text and the media type of each file that pages load, by its name."""
    _, page_style, _, _ = page_parts()
    return {
        "page.css": (page_style, "text/css"),
        "web.css": ((_ASSETS / "web.css").read_text(encoding="utf-8"), "text/css"),
        "web.js": ((_ASSETS / "web.js").read_text(encoding="utf-8"), "text/javascript"),
    }


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_ASSETS),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["sentence"] = to_sentence
    return environment


def to_sentence(text: str, name: str = "") -> str:
    """Return a message as a sentence of a page; a column that it begins with keeps its name.

    >>> to_sentence("no column is called score"), to_sentence("age has 40 values", "age")
    ('No column is called score.', 'age has 40 values.')
    """
    first_word = text.partition(" ")[0]
    if first_word.isalpha() and first_word != name:
        text = text[:1].upper() + text[1:]
    if text.endswith("?"):
        return text
    return f"{text.rstrip('.')}."


def _render(template: str, home: str, **content: Any) -> str:
    return _templates().get_template(template).render(home=home, **content)


def read_json(body: bytes) -> dict[str, Any]:
    """Return the names and values that a form sent.

    Raises
    ------
    ValueError
        For anything but a JSON object.
    """
    values = json.loads(body)
    if not isinstance(values, dict):
        raise ValueError("no object")  # noqa: TRY004 - of the text, not of a type
    return values


def start_page(home: str, files: Sequence["OpenFile"], most_bytes: int) -> str:
    """Return the page where a file is dropped."""
    gigabytes = f"{most_bytes / 2**30:g}"
    limits = {"most_bytes": most_bytes, "gigabytes": gigabytes}
    return _render("start.html.j2", home, files=files, **limits)


def data_page(home: str, most_bytes: int) -> str:
    """Return the page that says how data are kept."""
    return _render("data.html.j2", home, gigabytes=f"{most_bytes / 2**30:g}")


def mistakes_page(home: str, problems: Sequence["Problem"]) -> str:
    """Return a page that says what was wrong, where a page was asked for that cannot be made."""
    return _render("mistakes.html.j2", home, mistakes=problems)


def read_page(home: str, opened: "OpenFile", understood: Mapping[str, Any]) -> str:
    """Return the page of what was read of a file."""
    return _render("read.html.j2", home, opened=opened, understood=understood)


def questions_page(home: str, opened: "OpenFile", questions: Mapping[str, Any]) -> str:
    """Return the page of questions."""
    return _render("questions.html.j2", home, opened=opened, asked=questions)


def answer_bar(home: str, opened: "OpenFile", view: int, audited: Mapping[str, Any]) -> str:
    """Return the bar above the audit's own page: switches, downloads and the command line."""
    return _render("answer_bar.html.j2", home, opened=opened, view=view, audited=audited)
