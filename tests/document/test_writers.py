"""Whatever a cell, a title or a note says comes out as text, in every medium."""

import csv
import io
import re
from html.parser import HTMLParser

import pytest
from conftest import law
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fairbench_cli.base.safe_text import printable
from fairbench_cli.cli.console import print_document
from fairbench_cli.document.csv import comma_separated
from fairbench_cli.document.html import html
from fairbench_cli.document.latex import latex
from fairbench_cli.document.markdown import markdown
from fairbench_cli.document.model import (
    Answer,
    Document,
    Section,
    Statement,
    TableCell,
    TextTable,
    plain_table,
)
from fairbench_cli.document.notebook import notebook

NASTY = [
    *("<b>", "a|b*", "</td></tr>", "a_b_", "_c_", "`x`", "\\", "\\|"),
    *("$5$", "50 %", "-", "-1", "1. a", "# a"),
    *("&amp;", "[a](b)", "![a](b)", "~~a~~", "{x}", "{{ x }}", "{% x %}", "<!-- -->", '"q', "a--b", "=1+1"),
    *("+ a", "https://a.b", "[a]", "*"),
]


def squeezed(text: str) -> str:
    """Return what a reader sees of a text: any spaces are one."""
    return " ".join(printable(text.replace("\n", " ")).split())


texts = st.one_of(
    st.sampled_from(NASTY),
    st.text(st.sampled_from("ab 1|*_<>&\\`~#$%^{}[]()!-+=.\"':/é−βτ×…"), min_size=1, max_size=12),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=8),
).filter(squeezed)


def document_of(text: str) -> Document:
    table = TextTable("t", ("x", text), ((TableCell(text, text), TableCell(text, verdict="fail")),))
    section = Section(f"a {text}", (f"a {text}",), (table,), (f"a {text}",))
    answer = Answer(Statement(f"a {text}", "fail"), (Statement(f"a {text}", "pass"),), (f"a {text}",))
    return Document(f"a {text}", answer, (f"a {text}",), (section,), (f"a {text}",))


class Read(HTMLParser):
    """Collects the texts of elements, and which elements there are."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[list[str]] = []
        self.open: list[list[str]] = []
        self.tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):  # noqa: ARG002
        self.tags.append(tag)
        self.found.append([tag, ""])
        self.open += [self.found[-1]] if tag not in ("meta", "link", "br") else []

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        for one in self.open:
            one[1] += data

    def of(self, tag: str) -> list[str]:
        return [squeezed(text) for name, text in self.found if name == tag]


@law(150)
@given(texts)
@example("<b>")
@example("a|b*")
def test_markdown_shows_every_text_as_it_is(text):
    page = markdown(document_of(text))
    read = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(page)
    shown = []
    for token in read:
        for child in token.children or []:
            assert child.type in ("text", "strong_open", "strong_close"), (child.type, page)
        if token.children:
            shown.append(squeezed("".join(child.content for child in token.children)))
    whole, seen = squeezed(f"a {text}"), squeezed(text)
    assert shown == [
        whole, squeezed(f"✗ a {text}"), squeezed(f"✓ a {text}"), "Not decided:", whole, whole, whole, whole,
        "t:", "x", seen, squeezed(TableCell(text, text).full_text), squeezed(f"✗ {text}"), whole, whole,
    ]  # fmt: skip


@law(100)
@given(texts)
@example("<b>")
def test_pages_and_notebooks_show_every_text_as_it_is(text):
    whole, seen = squeezed(f"a {text}"), squeezed(text)
    plain = document_of("b")
    for write in (html, notebook, lambda document: html(document, printed=True)):
        read, other = Read(write(document_of(text))), Read(write(plain))
        assert read.tags == other.tags or ": " in f"{whole} "  # a word before a colon stands out
        assert read.of("li")[-1] == whole
        assert seen in read.of("th")
        assert read.of("td")[-1] == squeezed(f"✗ {text}")


def untex(text: str) -> str:
    """Return what LaTeX shows."""
    text = text.replace(r"\allowbreak{}", "")
    text = re.sub(r"\$(\\beta|\\tau)=(\d[\d.]*)\$", r"$\1$ = \2", text)
    number = re.match(r"\$(-\d[\d.]*)\$", text)
    if number:
        return number[1] + untex(text[number.end() :])
    parts = sorted(map(re.escape, SHOWN), key=len, reverse=True)
    return re.sub("|".join(parts), lambda found: SHOWN[found[0]], text)


SHOWN = {f"\\{letter}": letter for letter in "{}$&%#_"} | {f"${letter}$": letter for letter in "<>|"}
SHOWN |= {r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^", r"\ldots{}": "…"}
SHOWN |= {r"\textasciigrave{}": "`", r"\textendash{}": "–", r"$\beta$": "β", r"$\tau$": "τ", "$-$": "−"}
SHOWN |= {r"$\times$": "×", r"$\infty$": "∞", "``": '"', "''": '"', "-{}": "-"}
SHOWN |= {r"$\pm$": "±", r"$\leq$": "≤", r"$\geq$": "≥", r"$\dagger$": "†", r"$\ddagger$": "‡"}


@law(150)
@given(texts.filter(lambda text: "'" not in text))
@example("[a]")
@example("*")
def test_latex_shows_every_text_as_it_is(text):
    table = plain_table("", ["x", text], [[text, "b"]], words=1)
    page = latex(Document("d", sections=(Section(text, tables=(table,)),)))
    row = re.search(r"\\midrule\n(.*) & b \\\\\n\\bottomrule", page, re.DOTALL)
    shown = printable(text.replace("\n", " "))
    assert untex(row[1].removeprefix("{}")) == shown
    assert not row[1].startswith(("[", "*"))
    head = re.search(r"\\toprule\nx & (.*) \\\\\n\\midrule", page, re.DOTALL)[1]
    wrapped = re.fullmatch(r"\\parbox\[b\]\{\d+pt\}\{\\raggedleft (.*)\}", head, re.DOTALL)
    assert untex(wrapped[1] if wrapped else head) == shown
    assert untex(re.search(r"\\caption\{(.*)\}\n\\label\{tab:", page, re.DOTALL)[1]) == f"{shown}."


@law(100)
@given(texts)
def test_csv_holds_every_text(text):
    table = plain_table("", ["x", "y"], [[text, "b"]], words=1, keys=["x", "key"])
    page = comma_separated(Document("d", sections=(Section(text, tables=(table,)),)))
    shown = text.replace("\r", "\n")
    assert list(csv.DictReader(io.StringIO(page, newline=""))) == [{"block": shown, "x": shown, "key": "b"}]


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_a_console_shows_every_text_and_no_line_is_too_long(width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    for text in NASTY:
        print_document(document_of(text))
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= width
        words = "".join("".join(lines).split())
        assert "".join(text.split()) in words, text


def test_a_console_cuts_no_number_and_no_verdict(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "65")
    verdict = TableCell("not decided: could be chance", verdict="undecided")
    shares = (TableCell("18.0 %", value=18), TableCell("0.366", "[0.310, 0.430]", 0.366))
    rows = tuple((TableCell(name), TableCell("selection-rate"), *shares, verdict) for name in ("ab", "cd"))
    heads = ("group", "metric", "selected", "ratio", "verdict")
    print_document(Document("", sections=(Section("x", tables=(TextTable("", heads, rows),)),)))
    lines = capsys.readouterr().out.splitlines()
    assert sum("18.0 %" in line for line in lines) == sum("not decided:" in line for line in lines) == 2
    assert sum("[0.310, 0.430]" in line for line in lines) == 2


def test_numbers_that_do_not_fit_follow_in_a_further_table(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    heads = ["technique", "metric", *(f"β = {i / 10:g}" for i in range(11))]
    rows = [[t, m, *["0.125 (28/30)"] * 11] for t in ("none", "massaging + s") for m in ("a", "b")]
    table = plain_table("", heads, rows, 2, grouped=True)
    print_document(Document("", sections=(Section("x", tables=(table,)),)))
    out = capsys.readouterr().out
    assert out.count("technique") > 1
    assert out.count("0.125") == 44
    assert out.count("massaging") == out.count("technique")  # said once for both its rows
    assert max(map(len, out.splitlines())) <= 60


def test_a_page_numbers_links_and_nests_its_sections():
    inner = Section("inner", ("text",))
    table = TextTable("", ("x",), ((TableCell("a", link="there"),),))
    first, second = Section("first", tables=(table,), sections=(inner,)), Section("second", anchor="there")
    page = html(Document("d", sections=(first, second)))
    assert '<a href="#there">a</a>' in page
    assert '<h2 id="there">second</h2>' in page
    assert '<h3 id="s1-1">inner</h3>' in page


def test_a_table_without_rows_says_so():
    empty = TextTable("t", ("x",), ())
    other = TextTable("u", ("x",), (), omitted="nothing to see")
    none = Document("d", sections=(Section("s", tables=(empty, other)),))
    for write in (html, markdown, notebook):
        assert "nothing to see" in write(none)
        assert "None." in write(none)
