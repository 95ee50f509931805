"""A document as one HTML page that needs nothing from elsewhere, and as that page printed: a PDF."""

import base64
import hashlib
import math
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbench_cli.base.errors import user_error
from fairbench_cli.base.files import write_bytes
from fairbench_cli.base.safe_text import printable
from fairbench_cli.document.model import VERDICTS, Document

if TYPE_CHECKING:
    import jinja2

HERE = Path(__file__).parent
CLOCK = "SOURCE_DATE_EPOCH"  # seconds; what many programs write as the date of what they make


def html(document: Document, *, printed: bool = False) -> str:
    """Return the page, which stands alone; the same document gives the same bytes.

    Parameters
    ----------
    document : Document
        What to show.
    printed : bool
        Whether to leave out what needs a screen.
    """
    return _render(document, printed=printed, policy=page_policy())


def render_part(document: Document) -> str:
    """Return the page without its title, navigation, style and scripts: a part of another page."""
    return _render(document, printed=True, part=True)


def render_served_page(
    document: Document, *, bar: str = "", stylesheets: Sequence[str] = (), scripts: Sequence[str] = ()
) -> str:
    """Return the page for a server, which sends the policy as a header: two policies would both hold.

    Parameters
    ----------
    document : Document
        What to show.
    bar : str
        HTML that stands above the page's header; nothing in it is escaped.
    stylesheets, scripts : sequence of str
        Addresses of what the page loads after its own style and script.
    """
    return _render(document, bar=bar, stylesheets=stylesheets, scripts=scripts)


def _render(document: Document, **slots: Any) -> str:
    """Return a page; `slots` are what the template has beside the document and its own files."""
    slots = {"printed": False, "part": False, "policy": "", "bar": "", **slots}
    slots = {"stylesheets": (), "scripts": (), **slots}
    template, style, script, redraw = page_parts()
    page = template.render(
        document=document,
        verdict=document.answer and document.answer.headline.verdict,
        marks=document.marks,
        tested=document.tested,
        verdicts=VERDICTS,
        isnan=math.isnan,
        style=style,
        script=script,
        redraw=redraw,
        data=document.data.replace("<", "\\u003c"),
        **slots,
    )
    return printable(page.rstrip("\n"), keep="\n") + "\n"


@cache
def page_parts() -> tuple["jinja2.Template", str, str, str]:
    """Return the template, which takes longer to compile than most pages to write, and what it lays in.

    The style and the scripts are as they stand between their tags: browsers hash every letter there.
    """
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template, style, script, redraw = (
        (HERE / name).read_text(encoding="utf-8")
        for name in ("page.html.j2", "page.css", "page.js", "redraw.js")
    )
    return environment.from_string(template), f"\n{style}", f"\n{script}", f"\n{redraw}"


@dataclass(frozen=True)
class PageHashes:
    """What a policy allows of pages: sources such as 'sha256-…', in their quotes.

    Parameters
    ----------
    styles, scripts : tuple of str
        Those of the style, and of the scripts that some page has.
    """

    styles: tuple[str, ...]
    scripts: tuple[str, ...]


@cache
def page_hashes() -> PageHashes:
    """Return the hashes of what every page has within it, for the policies `style-src` and `script-src`."""
    _, style, script, redraw = page_parts()
    return PageHashes(styles=(_hash_source(style),), scripts=(_hash_source(script), _hash_source(redraw)))


def _hash_source(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def page_policy() -> str:
    """Return the policy of a page that stands alone: it loads nothing, and runs no script but its own."""
    hashes = page_hashes()
    styles = " ".join(hashes.styles)
    scripts = " ".join(hashes.scripts)
    return f"default-src 'none'; style-src {styles}; script-src {scripts}; img-src data:"


def write_pdf(document: Document, path: Path) -> None:
    """Write the page as PDF, printed by WeasyPrint; the same document gives the same bytes.

    Raises
    ------
    UserError
        When WeasyPrint or the libraries it loads (Pango) are not there, or the file cannot be written.
    """
    try:
        with warnings.catch_warnings():
            # Without libharfbuzz-subset0 it says, when imported, that it will need it one day.
            warnings.filterwarnings("ignore", "HarfBuzz", DeprecationWarning)
            weasyprint = import_module("weasyprint")  # it has no types
    except (ModuleNotFoundError, OSError) as error:
        missing = "the library Pango"
        if isinstance(error, ModuleNotFoundError):
            missing = "WeasyPrint"
        raise user_error(
            f"a PDF needs {missing}, which is not installed",
            "pip install 'fairbench-cli[pdf]'; on Debian also: apt install libpango-1.0-0 libpangoft2-1.0-0",
            "--output",
        ) from None
    with _without_clock():
        written = weasyprint.HTML(string=html(document, printed=True)).write_pdf()
    write_bytes(path, written)


@contextmanager
def _without_clock() -> Iterator[None]:
    """Let fontTools, which cuts fonts where HarfBuzz cannot, give them the same date every time."""
    before = os.environ.get(CLOCK)
    os.environ[CLOCK] = before if before and before.isdigit() else "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[CLOCK]
        else:
            os.environ[CLOCK] = before
