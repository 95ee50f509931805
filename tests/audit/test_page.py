"""The HTML page: escaped, whole in itself, and right in a real browser; the PDF made from it."""

import html.parser
import json
import re
import shutil
import subprocess
from html import unescape

import pytest
from audit_sample import SCRIPT, sample_audit

from fairbench_cli.audit.show.document import to_html, write_pdf

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
QUIET = "--disable-background-networking --disable-component-update --disable-sync --disable-gpu".split()  # noqa: SIM905

PROBE = """
<p id="found"></p>
<iframe id="wide" width="1400" height="900" src="page.html"></iframe>
<iframe id="narrow" width="400" height="900" src="page.html"></iframe>
<script>
window.onload = () => {
  const found = {};
  for (const name of ["wide", "narrow"]) {
    const frame = document.getElementById(name).contentDocument;
    found[name] = [frame.documentElement.scrollWidth, frame.documentElement.clientWidth];
  }
  const frame = document.getElementById("wide").contentDocument;
  const tables = [...frame.querySelectorAll("table")];
  const table = tables.find((t) => t.caption.textContent.includes("race: comparisons"));
  const buttons = [...table.querySelectorAll("th > button")];
  const button = buttons.find((b) => b.textContent === "value");
  const column = buttons.indexOf(button);
  const values = () => [...table.tBodies[0].rows].map((row) => row.children[column].dataset.v);
  button.focus();
  found.focused = frame.activeElement === button;
  button.click();
  found.up = [button.parentElement.getAttribute("aria-sort"), values()];
  button.click();
  found.down = [button.parentElement.getAttribute("aria-sort"), values()];
  found.said = frame.getElementById("said").textContent;
  const filter = table.parentElement.previousElementSibling.querySelector("input");
  filter.value = "african FPR";
  filter.dispatchEvent(new Event("input"));
  found.kept = [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => row.textContent);
  found.counted = frame.getElementById("said").textContent;
  found.scripts = frame.scripts.length;
  const seen = (element) => element.tabIndex >= 0 && element.getClientRects().length > 0;
  found.reachable = [...frame.querySelectorAll("button, a[href], .box")].every(seen);
  document.getElementById("found").textContent = JSON.stringify(found);
};
</script>
"""


class Outline(html.parser.HTMLParser):
    """Collects headings, ids and what is opened and closed."""

    VOID = frozenset({"meta", "link", "br"})

    def __init__(self):
        super().__init__()
        self.open, self.headings, self.ids, self.targets = [], [], [], []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.targets += [attrs["href"][1:]] if attrs.get("href", "").startswith("#") else []
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page():
    return to_html(sample_audit())


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Run Chromium without a window on a file, or skip visibly."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    home = tmp_path_factory.mktemp("chromium")

    def run(path, *flags):
        command = [CHROMIUM, "--headless", "--no-sandbox", *QUIET, f"--user-data-dir={home}", *flags]
        done = subprocess.run(
            [*command, "--enable-logging=stderr", path.as_uri()],
            capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip
        assert "CONSOLE" not in done.stderr, done.stderr
        return done.stdout

    return run


def test_every_text_is_escaped(page):
    assert SCRIPT not in page
    assert page.count("<script>") == page.count("</script>") == 1
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_the_page_needs_nothing_from_elsewhere(page):
    addresses = set(re.findall(r"[a-z]+://[^\"'\s<]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|url\(|src=", page)
    assert "/home/me" not in page


def test_the_page_is_well_formed(page):
    outline = Outline()
    outline.feed(page)
    assert outline.open == []
    assert outline.headings[0] == 1
    assert all(
        after <= before + 1 for before, after in zip(outline.headings, outline.headings[1:], strict=False)
    )
    assert len(set(outline.ids)) == len(outline.ids)
    assert set(outline.targets) <= set(outline.ids)
    assert '<html lang="en">' in page


def test_what_decides_and_why_stands_in_the_page(page):
    text = unescape(page)
    for piece in (
        "805/1,795",
        "349/1,488",
        "1.912",
        "[1.721, 2.124]",
        "fails, shown outside",
        "could be chance",
    ):
        assert piece in text
    assert "not decided" in text


def test_the_page_in_a_browser(page, browser, tmp_path):
    (tmp_path / "page.html").write_text(page)
    (tmp_path / "probe.html").write_text(PROBE)
    dom = browser(tmp_path / "probe.html", "--allow-file-access-from-files", "--dump-dom")
    found = json.loads(unescape(re.search(r'<p id="found">(.*?)</p>', dom).group(1)))
    for scroll, client in (found["wide"], found["narrow"]):
        assert scroll <= client
    (up, rising), (down, falling) = found["up"], found["down"]
    assert (up, down) == ("ascending", "descending")
    assert rising[-1] == falling[-1] == ""  # what has no value comes last
    numbers = [float(value) for value in rising[:-1]]
    assert numbers == sorted(numbers)
    assert [float(value) for value in falling[:-1]] == sorted(numbers, reverse=True)
    assert found["said"] == "race: comparisons, worst first: sorted by value, descending"
    (kept,) = found["kept"]
    assert "African-American" in kept
    assert found["counted"] == "race: comparisons, worst first: 1 of 16 rows"
    assert found["scripts"] == 1
    assert found["focused"]
    assert found["reachable"]


def test_the_page_prints(page, browser, tmp_path):
    (tmp_path / "page.html").write_text(page)
    browser(tmp_path / "page.html", f"--print-to-pdf={tmp_path / 'page.pdf'}", "--no-pdf-header-footer")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def test_the_pdf_is_the_same_every_time(tmp_path):
    pytest.importorskip("weasyprint", reason="needs WeasyPrint: pip install 'fairbench-cli[pdf]' and Pango")
    for name in ("a.pdf", "b.pdf"):
        write_pdf(sample_audit(), tmp_path / name)
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()
    if shutil.which("pdftotext"):
        text = subprocess.run(
            ["pdftotext", "-layout", tmp_path / "a.pdf", "-"], capture_output=True, text=True, check=True
        ).stdout
        assert "Audit of compas.csv" in text
        assert "How to read it" in text
        assert "supervised-parity" not in text
