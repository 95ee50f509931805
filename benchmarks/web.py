"""Seconds from a dropped file to the answer in `fairbench web`, and what the extra adds to an installation.

``python benchmarks/web.py [rounds]`` starts the server, opens Chromium by Playwright, and goes the way of a
person who goes on as is proposed: a workbook of 600 people, messy as such files are; COMPAS,
where ``FAIRBENCH_DATA`` names a folder that has it; and a CSV file of a million rows. The seconds are the
median of `rounds` (3) ways. Then it installs the packages of the extra ``web`` into a folder and weighs them.

2026-11-27, AMD EPYC, one round on two cores that four other processes wanted, too:

| file | MB | to what was read, s | to the answer, s | another group, s | presses |
|---|---:|---:|---:|---:|---:|
| workbook of 600 people | 0.0 | 4.01 | 5.99 | 0.62 | 4 |
| COMPAS, 7,214 people | 2.5 | 7.32 | 7.66 | 0.81 | 4 |
| CSV of 1,000,000 rows | 39.7 | 1.98 | 2.99 | 0.35 | 4 |

From the command to the first page: 7.55 s. The extra web: 8 packages, 8.2 MB.
"""

import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from costs import head, row
from predictions import made, write

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))  # whose server, browser and files these are

from browser import CHROMIUM, QUIET  # noqa: E402
from messy_tables import hiring  # noqa: E402
from web_server import started  # noqa: E402
from workbooks import Sheet, write_workbook  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Page

COMPAS = "compas-scores-two-years.csv"
MOST_MEGABYTES = 15.0
MILLISECONDS = 120_000.0  # that a step may take
MOST_REMEDIES = 20


@dataclass(frozen=True)
class Way:
    """Seconds of the steps of a way, and how often the hand pressed something, the file's choice with it.

    Parameters
    ----------
    understood : float
        From the file to the page of what was read.
    answer : float
        From the last question to the answer.
    switch : float
        From another group to compare with to the answer that follows.
    presses : int
    """

    understood: float
    answer: float
    switch: float
    presses: int


def go(page: "Page", address: str, path: Path) -> Way:
    """Go from a file to the answer, taking the first way out of what stops it; compare with another group.

    Parameters
    ----------
    page : Page
    address : str
        Of the start page.
    path : Path
        What is chosen there.
    """
    page.goto(address)
    began = time.perf_counter()
    page.set_input_files("#file", path)
    page.wait_for_url("**/files/*/")
    understood = time.perf_counter() - began
    presses = 1
    stops = page.locator(".remark.stop")
    while (n_stops := stops.count()) and presses < MOST_REMEDIES:
        stops.first.locator("button.button").first.click()
        stops.nth(n_stops - 1).wait_for(state="detached")
        presses += 1
    page.get_by_role("link", name="These are right: go on").click()
    page.wait_for_url("**/questions")
    began = time.perf_counter()
    page.get_by_role("button", name="Audit", exact=True).click()
    page.wait_for_url("**/answer/*")
    answer = time.perf_counter() - began
    other_group = page.locator("select[name^='ref:']").first
    address_of_answer = page.url
    began = time.perf_counter()
    other_group.select_option(index=1)
    page.wait_for_url(lambda url: url != address_of_answer)
    return Way(understood, answer, time.perf_counter() - began, presses + 3)


@contextmanager
def opened_page() -> Iterator["Page"]:
    """Yield a page of Chromium's, without a window."""
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        raise SystemExit("needs Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        page = browser.new_page()
        page.set_default_timeout(MILLISECONDS)
        yield page
        browser.close()


def files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield a name and a file of each kind."""
    people = hiring().iloc[:600]
    rows = [list(people), *people.astype(object).to_numpy().tolist()]
    staff = Sheet("Staff", [["Hired in 2026"], [], *rows])
    workbook = write_workbook(folder / "staff.xlsx", staff, Sheet("Notes", [["do not read"]], "hidden"))
    yield "workbook of 600 people", workbook
    data = Path(os.environ.get("FAIRBENCH_DATA", folder)) / COMPAS
    if data.exists():
        yield "COMPAS, 7,214 people", data
    million = folder / "million.csv"
    write(million, made(1_000_000))
    yield "CSV of 1,000,000 rows", million


def weigh_extra(folder: Path) -> tuple[float, int]:
    """Return the megabytes of the extra's packages with what they need, and how many these are."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pins = project["project"]["optional-dependencies"]["web"]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), *pins]
    subprocess.run(command, check=True)
    n_bytes = sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())
    return n_bytes / 1e6, len(list(folder.glob("*.dist-info")))


def main() -> None:
    """Measure and print tables."""
    n_rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as name, opened_page() as page:
        folder = Path(name)
        seconds_to_page = []
        for number in range(n_rounds):
            temporary = folder / f"start{number}"
            temporary.mkdir()
            began = time.perf_counter()
            with started(temporary) as server:
                page.goto(server.address)
                seconds_to_page.append(time.perf_counter() - began)
        head("file", "MB", "to what was read, s", "to the answer, s", "another group, s", "presses")
        temporary = folder / "ways"
        temporary.mkdir()
        with started(temporary) as server:
            for title, path in files(folder):
                ways = [go(page, server.address, path) for _ in range(n_rounds)]
                medians = [median(values) for values in zip(*map(astuple, ways), strict=True)]
                texts = [f"{seconds:.2f}" for seconds in medians[:3]]
                row(title, f"{path.stat().st_size / 1e6:.1f}", *texts, f"{medians[3]:.0f}")
        print(f"\nFrom the command to the first page: {median(seconds_to_page):.2f} s.")
        megabytes, n_packages = weigh_extra(folder / "extra")
        print(f"The extra web: {n_packages} packages, {megabytes:.1f} MB (at most {MOST_MEGABYTES:g}).")
        if megabytes > MOST_MEGABYTES:
            raise SystemExit("the extra web is too large")


if __name__ == "__main__":
    main()
