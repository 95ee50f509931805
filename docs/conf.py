"""The documentation as a site: ``python -m sphinx -W -n --keep-going -E docs site``.

The pages are plain Markdown, as a code host shows them and `fairbench docs` prints them. What a site needs
besides is added here: which page belongs to which, and the reference, which is made of the code.
"""

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

project = "fairbench"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["*.py"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # a page of the reference goes on where its file ends

html_theme = "pydata_sphinx_theme"
html_title = "fairbench"
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_sidebars = {page: [] for page in ("index", "tutorial", "howto", "concepts", "gallery")}
html_theme_options = {
    "header_links_before_dropdown": 8,
    "navigation_with_keys": False,
    "pygments_light_style": "xcode",
    "pygments_dark_style": "github-dark",
    "footer_start": [],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
}

smartquotes = False  # --set stays --set
default_role = "code"  # docstrings name things in single backticks
add_module_names = False
autodoc_typehints = "none"  # docstrings say what a parameter may be
autodoc_member_order = "bysource"
napoleon_use_param = False
nitpick_ignore_regex = [("py:.*", ".*")]  # classes and errors in docstrings are names, not links

# What stands below a page in the contents. Every page is below one; the tests of the docs ask it.
CONTENTS = {
    "index": ["tutorial", "howto", "concepts", "guide", "papers", "gallery", "reference", "background"],
    "guide": [
        "audit", "web", "web-data", "numbers", "config", "data", "results", "measures", "techniques", "api",
        "extending", "studies", "networks", "worlds", "standins", "clusters",
    ],
    "reference": [
        "reference/commands", "reference/python", "reference/metrics", "reference/interventions",
        "reference/classifiers", "reference/mechanisms", "reference/datasets",
    ],
    "papers": ["papers/cardoso2019", "papers/friedler2019", "papers/zliobaite2015", "papers/zliobaite2017",
        "papers/chen2023",
    ],
    "background": [
        "verdicts", "stability", "performance", "audit-departures", "c45", "architecture", "tests",
    ],
}  # fmt: skip


def complete(app: Any, name: str, text: list[str]) -> None:
    """Add to a page what only the site shows: its part of the contents, and what is made of the code."""
    text[0] = re.sub(r"\]\((?=(\.\./)+results/)", "](path:", text[0])  # files, not pages of the site
    if name in CONTENTS:
        text[0] += "\n```{toctree}\n:hidden:\n" + "\n".join(CONTENTS[name]) + "\n```\n"
    if name.startswith("reference/"):
        from generated import PAGES

        text[0] += f"\n{PAGES[name.removeprefix('reference/')]()}"
    if name == "performance":
        from keys import with_costs

        if with_costs(text[0]) != text[0]:
            raise ValueError("performance.md says other than performance.csv\nfix: python docs/keys.py")
    if name == "gallery" and app.config.pictures:
        from pictures import written

        text[0] += f"\n{written(Path(app.outdir) / 'gallery')}"


def refuse_stale_numbers(_app: Any) -> None:
    """Stop where a page says another number than the results that it is from."""
    from quoted import renew
    from sphinx.errors import SphinxError

    if wrong := renew(write=False):
        raise SphinxError("\n".join(wrong))


def setup(app: Any) -> None:
    """Register what the site adds to its pages."""
    from pygments.lexers.special import TextLexer

    app.add_lexer("csv", TextLexer)
    app.add_config_value(
        "pictures", False, "env"
    )  # -D pictures=1: draw those of the gallery, which takes a minute
    app.connect("builder-inited", refuse_stale_numbers)
    app.connect("source-read", complete)
