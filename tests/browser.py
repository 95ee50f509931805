"""One Chromium for all tests of pages in a process, by Playwright; they skip visibly where it is missing."""

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tiers import seen

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def chromium() -> "Iterator[Browser]":
    """Yield the system's Chromium without a window; no test downloads one."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with playwright.sync_playwright() as started:
        try:
            browser = started.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        except playwright.Error as error:  # a library of the system is missing
            pytest.skip(f"Chromium does not start: {error.message.splitlines()[0]}")
        yield browser
        browser.close()


@pytest.fixture
def console() -> list[str]:
    """Return what pages said on their console, and their errors; a test that expects some clears it."""
    return []


@pytest.fixture
def browser_page(chromium: "Browser", console: list[str]) -> "Iterator[Page]":
    """Yield a page with cookies and a history of its own, whose console has to be empty in the end."""
    seen.add("a browser")
    with chromium.new_context(viewport={"width": 1300, "height": 900}) as context:
        context.set_default_timeout(10_000)
        context.on("console", lambda message: console.append(message.text))
        context.on("weberror", lambda error: console.append(str(error.error)))
        yield context.new_page()
    assert console == []
