"""The HTML pages of an audit and of a run: escaped, whole, and right in a real browser; the PDF."""

import html.parser
import json
import re
import shutil
import subprocess
from html import unescape

import numpy as np
import pandas as pd
import pytest
from audit_sample import SCRIPT, sample_audit
from report.worlds_data import known_run

from fairbench_cli.audit.show.document import to_html, write_pdf
from fairbench_cli.document.html import html as to_page
from fairbench_cli.report.page import run_page
from fairbench_cli.report.show.metric_wording import signed

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
QUIET = "--disable-background-networking --disable-component-update --disable-sync --disable-gpu".split()  # noqa: SIM905

PROBE = """
<p id="found"></p>
<iframe id="wide" width="1400" height="900" src="page.html"></iframe>
<iframe id="narrow" width="400" height="900" src="page.html"></iframe>
<iframe id="run" width="1400" height="900" src="run.html"></iframe>
<iframe id="worlds" width="400" height="900" src="worlds.html#labels=recorded&dataset=shop"></iframe>
<iframe id="first" src="worlds.html"></iframe>
<iframe id="still" src="still.html"></iframe>
<iframe id="thin" width="400" height="900" src="run.html#metric=accuracy&beta=0"></iframe>
<script>
const shown = (frame) => [...frame.querySelectorAll("[data-key]")].map((one) => one.innerHTML.trim());
function look_at_run() {
  const frame = document.getElementById("run").contentDocument;
  const own = document.getElementById("run").contentWindow;
  const found = {}, drawn = shown(frame);
  own.redraw();
  found.again = shown(frame).map((text, i) => text === drawn[i]);
  found.drawn = drawn.every((text) => /<(svg|table|tr)/.test(text));
  const choose = (name, value) => {
    const select = frame.querySelector(`select[name="${name}"]`);
    select.value = value;
    select.dispatchEvent(new Event("change", { bubbles: true }));
  };
  choose("metric", "overestimation");
  choose("base", "massaging");
  choose("beta", "0");
  found.said = frame.getElementById("said").textContent;
  found.hash = own.location.hash;
  const words = (head) => [head, head.nextElementSibling].map((cell) => cell.textContent);
  found.rows = [...frame.querySelectorAll('[data-key="forest-0"] .forest tbody th')].map(words);
  const thin = document.getElementById("thin").contentDocument;
  found.kept = [...thin.querySelectorAll("select")].map((one) => one.value);
  found.caption = thin.querySelector(".forest caption").textContent;
  const figure = frame.querySelector('[data-key="forest-0"]');
  figure.focus();
  figure.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, cancelable: true }));
  found.focused = frame.activeElement === figure;
  found.tip = [frame.getElementById("tip").textContent, frame.getElementById("said").textContent];
  const seen = (element) => element.tabIndex >= 0 && element.getClientRects().length > 0;
  const named = "button, a[href], .box, select, figure:not(:has(.key))";
  found.reachable = [...frame.querySelectorAll(named)].every(seen);
  return found;
}
function look_at_worlds() {
  const frame = document.getElementById("worlds").contentDocument;
  const own = document.getElementById("worlds").contentWindow;
  const choose = (name, value) => {
    const select = frame.querySelector(`select[name="${name}"]`);
    select.value = value;
    select.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const shows = (one) => one.getClientRects().length > 0;
  const named = () => [...frame.querySelectorAll(".which, .of h3")].filter(shows);
  const seen = () => named().map((one) => one.textContent);
  const found = { first: seen(), forest: frame.querySelector('[data-key="forest-1"]').innerHTML };
  choose("world", "no bias");
  [found.none, found.hash] = [seen(), own.location.hash];
  found.curves = frame.querySelector('[data-key="curves-1-0"]').textContent;
  choose("labels", "true");
  choose("world", "label");
  choose("dataset", "");
  const drawn = (own) => [...own.querySelectorAll("figure[data-key]")].map((one) => one.innerHTML.trim());
  const first = drawn(document.getElementById("first").contentDocument);
  found.again = drawn(frame).map((text, i) => text === first[i]);
  found.drawn = first.every(Boolean);
  return found;
}
function look_at_still() {
  const frame = document.getElementById("still").contentDocument;
  const shows = (one) => one.getClientRects().length > 0;
  const tables = [...frame.querySelectorAll("#numbers ~ .box table, #groups ~ section table")].filter(shows);
  return {
    note: frame.querySelector("noscript").textContent,
    figures: [...frame.querySelectorAll("figure[data-key]")].filter(shows).length,
    rows: tables.map((table) => table.tBodies[0].rows.length),
    answer: shows(frame.querySelector(".lead")),
  };
}
window.onload = () => {
  const found = { chosen: look_at_run(), labelled: look_at_worlds(), still: look_at_still() };
  for (const name of ["wide", "narrow", "run", "thin", "worlds"]) {
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
  filter.dispatchEvent(new Event("input", { bubbles: true }));  // as a key does
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

    VOID = frozenset({"meta", "link", "br", "col"})

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
def worlds_page(tmp_path_factory):
    return to_page(run_page(known_run(tmp_path_factory.mktemp("worlds"))))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Run Chromium without a window on a file, or skip visibly."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    started = subprocess.run(
        [CHROMIUM, "--version", "--no-sandbox"], capture_output=True, text=True, check=False
    )
    if started.returncode == 127:  # a library of the system is missing
        pytest.skip(f"Chromium does not start: {started.stderr.strip().splitlines()[-1]}")
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
        "fails clearly",
        "could be chance",
    ):
        assert piece in text
    assert "not decided" in text


def check_forest(rows, folder):
    """Check the first forest, overestimation at β = 0 against massaging, by the values of the run."""
    results = pd.read_csv(folder / "results.csv")
    results = results[(results["metric"] == "overestimation") & (results["beta"] == 0)]
    results = results[results["dataset"] == results["dataset"].iloc[0]]
    values = results.pivot_table(index="repeat", columns="intervention", values="value")
    shown = {row[0].split(" ")[0]: row[1].split(" ")[:2] for row in rows}
    assert {"none", "massaging"} < set(values)
    for technique in values:
        value, *difference = shown[technique]
        assert value == signed(100 * values[technique].mean(), plus="")
        apart = (values[technique] - values["massaging"]).mean()
        assert difference == ([] if technique == "massaging" else [signed(100 * apart)])


def check_run(found, folder):
    """Check what a browser made of the page of a run."""
    assert len(found["again"]) == 6
    assert found["drawn"]
    assert all(found["again"])
    check_forest(found["rows"], folder)
    assert found["said"] == "β: 0"
    assert found["hash"] == "#beta=0&metric=overestimation&base=massaging"
    assert {"accuracy", "0"} <= set(found["kept"])
    assert "accuracy against none at β = 0" in found["caption"]
    assert found["focused"]
    tip, said = found["tip"]
    assert tip == said
    assert tip.startswith("none: ")
    assert found["reachable"]


def test_the_page_of_a_run_needs_nothing_and_is_well_formed(finished):
    page = (finished.folder / "report.html").read_text()
    addresses = set(re.findall(r"[a-z]+://[^\"'\s<]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|src=", page)
    outline = Outline()
    outline.feed(page)
    assert outline.open == []
    assert len(set(outline.ids)) == len(outline.ids)
    assert set(outline.targets) <= set(outline.ids)


def test_every_number_of_the_page_of_a_run_is_one_of_its_files(finished):
    page = (finished.folder / "report.html").read_text()
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page).group(1))
    summary = pd.read_csv(finished.folder / "summary.csv")
    paired = pd.read_csv(finished.folder / "paired.csv")
    known = 0
    for panel in data["panels"]:
        for m, scale in enumerate(data["scales"]):
            for t, technique in enumerate(panel["technique_names"]):
                for k, beta in enumerate(panel["betas"]):
                    at = t * len(panel["betas"]) + k
                    for frame, column, numbers in (
                        (summary, "mean", panel["mean"][m]),
                        (summary, "low", panel["low"][m]),
                        (paired, "difference", panel["comparisons"]["none"]["difference"][m]),
                        (paired, "population_high", panel["comparisons"]["none"]["high"][m]),
                    ):
                        own = frame[(frame["metric"] == scale["name"]) & (frame["beta"] == beta)]
                        own = own[own["intervention"] == technique][column].to_numpy()
                        if len(own) and np.isfinite(own[0]):
                            assert abs(numbers[at] / data["fixed_point_one"] - own[0]) < 1e-5
                            known += 1
                        else:
                            assert not numbers or numbers[at] is None
    assert known > 50


def check_worlds(found):
    """Check what a browser made of the page of a run with worlds, with recorded labels in its address."""
    assert {"label · flip = 0.5 · recorded labels", "label · recorded labels"} <= set(found["first"])
    assert {one for one in found["first"] if "label" in one and "·" in one and "true" in one} == set()
    assert any(one.startswith("shop: label") for one in found["first"])
    assert not any(one.startswith("bank") for one in found["first"])
    assert "<td" in found["forest"]
    assert any(one == "no bias · recorded labels" for one in found["none"])
    assert not any(one.startswith("label ·") for one in found["none"])
    assert "One strength only." in found["curves"]
    assert len(found["again"]) == 8
    assert found["drawn"]
    assert all(found["again"])  # back at what is chosen first, it draws what it drew first
    assert found["hash"] == "#dataset=shop&world=no+bias&labels=recorded"


def check_still(found):
    """Check what a browser that runs no scripts shows of the page of a run with worlds."""
    assert "drawn by its script" in found["note"]
    assert found["answer"]
    assert found["figures"] == 0
    assert found["rows"]
    assert all(found["rows"])


def test_the_page_in_a_browser(page, finished, worlds_page, browser, tmp_path):
    (tmp_path / "page.html").write_text(page)
    (tmp_path / "worlds.html").write_text(worlds_page)
    still = re.sub(r"<script.*?</script>", "", worlds_page, flags=re.DOTALL)
    (tmp_path / "still.html").write_text(still)  # as where no script runs
    (tmp_path / "run.html").write_text((finished.folder / "report.html").read_text())
    (tmp_path / "probe.html").write_text(PROBE)
    dom = browser(tmp_path / "probe.html", "--allow-file-access-from-files", "--dump-dom")
    found = json.loads(unescape(re.search(r'<p id="found">(.*?)</p>', dom).group(1)))
    for scroll, client in (found[name] for name in ("wide", "narrow", "run", "thin", "worlds")):
        assert scroll <= client
    check_run(found["chosen"], finished.folder)
    check_still(found["still"])
    check_worlds(found["labelled"])
    (up, rising), (down, falling) = found["up"], found["down"]
    assert (up, down) == ("ascending", "descending")
    assert rising[-1] == falling[-1] == ""  # what has no value comes last
    numbers = [float(value) for value in rising[:-1]]
    assert numbers == sorted(numbers)
    assert [float(value) for value in falling[:-1]] == sorted(numbers, reverse=True)
    assert found["said"] == "race: comparisons, worst group first: sorted by value, descending"
    (kept,) = found["kept"]
    assert "African-American" in kept
    assert found["counted"] == "race: comparisons, worst group first: 1 of 16 rows"
    assert found["scripts"] == 1
    assert found["focused"]
    assert found["reachable"]


def test_the_page_prints(page, browser, tmp_path):
    (tmp_path / "page.html").write_text(page)
    browser(tmp_path / "page.html", f"--print-to-pdf={tmp_path / 'page.pdf'}", "--no-pdf-header-footer")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def test_the_pdf_is_the_same_every_time(tmp_path, pdf):
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
