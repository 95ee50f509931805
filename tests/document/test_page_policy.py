"""Pages under a strict policy: nothing inline that its hashes do not allow, and parts exchanged in place."""

import base64
import hashlib
import html.parser
import re
from pathlib import Path

import numpy as np
import pytest
from audit_sample import sample_audit
from report.worlds_data import known_run
from tiers import uses

import fairbench_cli
from fairbench_cli.audit.show.document import audit_document
from fairbench_cli.document.html import html as to_page
from fairbench_cli.document.html import page_hashes, render_served_page
from fairbench_cli.report.page import run_page


class Inline(html.parser.HTMLParser):
    """Collects what a policy looks at: the texts of styles and scripts, and attributes with code or style."""

    def __init__(self):
        super().__init__()
        self.texts, self.attributes, self.policies, self.inside = [], [], [], None

    def handle_starttag(self, tag, attrs):
        self.attributes += [name for name, _ in attrs if name == "style" or name.startswith("on")]
        given = dict(attrs)
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policies.append(given["content"])
        if tag in ("style", "script") and given.get("type") != "application/json":
            self.inside = tag
            self.texts.append((tag, ""))

    def handle_data(self, data):
        if self.inside:
            tag, text = self.texts.pop()
            self.texts.append((tag, text + data))

    def handle_endtag(self, tag):
        if tag == self.inside:
            self.inside = None


def read(page):
    inline = Inline()
    inline.feed(page)
    return inline


def source(text):
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@pytest.fixture(scope="module")
@uses("a dear fixture")
def documents(tmp_path_factory):
    return [audit_document(sample_audit()), run_page(known_run(tmp_path_factory.mktemp("worlds")))]


@pytest.mark.gate
def test_the_policy_has_the_hashes_of_what_the_page_has_within_it(documents):
    for document in documents:
        inline = read(to_page(document))
        (policy,) = inline.policies
        assert "unsafe" not in policy
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
        assert rules["default-src"] == "'none'"
        for tag, text in inline.texts:
            assert source(text) in rules[f"{tag}-src"].split()
        assert inline.attributes == []


def test_no_writer_of_pages_and_charts_has_style_or_code_in_attributes():
    room = Path(fairbench_cli.__file__).parent
    sources = [path for path in (room / "document").iterdir() if path.suffix in {".py", ".j2", ".js"}]
    sources += [*(room / "report" / "show").glob("page*.py"), *room.glob("audit/parts/*chart*.py")]
    assert len(sources) > 10
    for path in sources:
        if path.name != "notebook.py":  # a part of another page, which may have no style sheet
            assert not re.search(r"""[\s'"](style|on[a-z]+)=\\?["']""", path.read_text()), path.name


def test_a_page_for_a_server_has_a_bar_and_no_policy_of_its_own(documents):
    hashes = page_hashes()
    for document in documents:
        page = render_served_page(
            document, bar='<nav id="bar">&lt;</nav>', stylesheets=["web.css"], scripts=["web.js?a&b"]
        )
        inline = read(page)
        assert inline.policies == []
        allowed = {("style", text) for text in hashes.styles} | {("script", text) for text in hashes.scripts}
        assert {(tag, source(text)) for tag, text in inline.texts if text} <= allowed
        assert page.index('<nav id="bar">&lt;</nav>') < page.index("<header>")
        assert page.index("</style>") < page.index('<link rel="stylesheet" href="web.css">')
        assert page.index("</main>") < page.index('<script src="web.js?a&amp;b"></script>')


def test_every_page_has_an_icon_that_asks_for_nothing(documents):
    for document in documents:
        assert '<link rel="icon" href="data:,">' in to_page(document)


def replace_parts(browser_page, page):
    """Exchange the header and the main part of the page that is open for those of another."""
    browser_page.evaluate(
        """(text) => {
          const parsed = new DOMParser().parseFromString(text, "text/html");
          for (const name of ["header", "main"])
            document.querySelector(name).replaceWith(parsed.querySelector(name));
          document.dispatchEvent(new Event("fairbench:replaced"));
        }""",
        page,
    )


def test_an_audit_that_is_exchanged_in_place_sorts_filters_and_shows_tips(documents, browser_page, tmp_path):
    page = to_page(documents[0])
    path = tmp_path / "page.html"
    path.write_text(page)
    browser_page.goto(path.as_uri())
    n_filters = browser_page.locator(".filter").count()
    assert n_filters > 0
    for _ in range(2):  # as it was opened, and with its parts exchanged
        box = browser_page.get_by_role("region", name="race: comparisons").first
        heads = box.locator("th > button")
        heads.get_by_text("value", exact=True).click()
        assert box.locator("th[aria-sort=ascending]").inner_text().startswith("value")
        said = browser_page.locator("#said")
        assert "sorted by value, ascending" in said.inner_text()
        field = browser_page.locator(".filter input").first
        field.fill("no row has this")
        assert re.search(r": 0 of \d+ rows", said.inner_text())
        figure = browser_page.locator("figure:has(svg title)").first
        figure.focus()
        figure.press("ArrowRight")
        assert browser_page.locator("#tip").is_visible()
        assert browser_page.locator("#tip").inner_text() == said.inner_text()
        replace_parts(browser_page, page)
        assert browser_page.locator("#tip").is_hidden()
        assert browser_page.locator(".filter").count() == n_filters


def test_a_run_that_is_exchanged_in_place_draws_and_follows_its_switches(documents, browser_page, tmp_path):
    page = to_page(documents[1])
    path = tmp_path / "page.html"
    path.write_text(page)
    browser_page.goto(path.as_uri())
    figures = browser_page.locator("figure[data-key]")
    drawn = figures.evaluate_all("(figures) => figures.map((figure) => figure.innerHTML.trim())")
    assert all(drawn)
    replace_parts(browser_page, page)
    assert figures.evaluate_all("(figures) => figures.map((figure) => figure.innerHTML.trim())") == drawn
    browser_page.locator('select[name="metric"]').select_option("accuracy")
    assert "metric=accuracy" in browser_page.url
    assert "accuracy" in browser_page.locator("#said").inner_text()
    again = figures.evaluate_all("(figures) => figures.map((figure) => figure.innerHTML.trim())")
    assert again != drawn
    # That of an audit has nothing to draw.
    replace_parts(browser_page, to_page(documents[0]))
    browser_page.get_by_role("region", name="race: comparisons").first.locator("th > button").first.click()


def test_labels_below_a_forest_stand_where_their_values_are(documents, browser_page, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(to_page(documents[1]))
    browser_page.goto(path.as_uri())
    forest = browser_page.locator(".forest").first
    ticks = forest.locator(".tick")
    boxes = [tick.bounding_box() for tick in ticks.all()]
    places = [box["x"] + box["width"] / 2 for box in boxes]
    values = [float(text.replace("−", "-")) for text in ticks.all_text_contents()]
    steps = np.diff(places) / np.diff(values)  # pixels a point
    assert len(places) > 2
    assert np.ptp(steps) < 0.05
    row = forest.locator("td.plot").first.bounding_box()
    assert all(row["x"] - 1 <= place <= row["x"] + row["width"] + 1 for place in places)
    # A name stands above its row, from where the row starts; few techniques have the whole width.
    name = forest.locator("tbody th").first.bounding_box()
    assert name["y"] + name["height"] <= row["y"] + 1
    assert abs(name["x"] - row["x"]) <= 1
    is_few = "few" in forest.get_attribute("class").split()
    card = browser_page.locator(".tiles > section", has=forest).first.bounding_box()
    main = browser_page.locator("main").bounding_box()
    assert (card["width"] > 0.9 * main["width"]) == is_few
    ends = [line.bounding_box()["height"] for line in forest.locator("line.ci").all()]
    assert max(ends) > max(mark.bounding_box()["height"] for mark in forest.locator(".mark").all())


def test_a_served_page_works_under_the_policy_of_its_server(documents, browser_page):
    hashes = page_hashes()
    policy = (
        f"default-src 'none'; style-src 'self' {' '.join(hashes.styles)}; "
        f"script-src 'self' {' '.join(hashes.scripts)}; img-src data: 'self'; connect-src 'self'; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    )
    # As a server does: fetches the same page, and exchanges its parts.
    exchange = """
      document.getElementById("again").addEventListener("click", async () => {
        const text = await (await fetch(location.href)).text();
        const parsed = new DOMParser().parseFromString(text, "text/html");
        for (const name of ["header", "main"])
          document.querySelector(name).replaceWith(parsed.querySelector(name));
        document.dispatchEvent(new Event("fairbench:replaced"));
        document.getElementById("said").textContent = "audited again";
      });
    """
    bar = '<nav id="bar" aria-label="Steps"><button id="again">Again</button></nav>'
    page = render_served_page(documents[0], bar=bar, stylesheets=["/web.css"], scripts=["/web.js"])
    bodies = {"/web.css": ("text/css", "#bar { order: 7 }"), "/web.js": ("text/javascript", exchange)}

    def answer(route):
        path = route.request.url.partition("fairbench.test")[2]
        kind, body = bodies.get(path, ("text/html", page))
        route.fulfill(body=body, content_type=kind, headers={"Content-Security-Policy": policy})

    browser_page.route("http://fairbench.test/**", answer)
    browser_page.goto("http://fairbench.test/page")
    assert browser_page.locator("#bar").evaluate("(bar) => getComputedStyle(bar).order") == "7"
    browser_page.locator("#again").click()
    browser_page.locator("#said").get_by_text("audited again").wait_for(state="attached")
    head = browser_page.locator("main th > button").first
    head.click()
    assert browser_page.locator("main th[aria-sort=ascending]").count() == 1
    lead = browser_page.locator("header .lead")
    # The page's own style holds.
    assert lead.evaluate("(lead) => getComputedStyle(lead).borderLeftWidth") == "6px"
