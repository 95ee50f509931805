"""The whole way in a real browser: from a file to the answer, and back."""

import csv
import random

import pytest
from web_server import started

pytest.importorskip("starlette", reason="needs the extra web: pip install 'fairbench[web]'")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with started(tmp_path_factory.mktemp("web")) as running:
        yield running


@pytest.fixture
def applicants(tmp_path):
    """Write 1,200 applicants: two spellings of one gender, an outcome, ages, some decisions missing."""
    rng = random.Random(4)
    path = tmp_path / "applicants.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["staff_no", "gender", "age", "degree", "hired"])
        for number in range(1200):
            gender = rng.choice(["Female", "Male", "Male", "female "])
            chance = 0.2 if gender.strip().lower() == "female" else 0.45
            hired = rng.choices(["yes", "no"], [chance, 1 - chance])[0]
            writer.writerow(
                [f"{number:05}", gender, rng.randint(19, 66), rng.choice(["BA", "MA", "none"]), hired]
            )
    return path


def drop(page, path):
    """Drop a file as a hand does."""
    text = path.read_text()
    handle = page.evaluate_handle(
        "([name, text]) => { const data = new DataTransfer(); data.items.add(new File([text], name)); return data; }",
        [path.name, text],
    )
    page.dispatch_event("#drop", "drop", {"dataTransfer": handle})


def answer_of(page):
    return page.locator("p.lead").inner_text()


def to_answer(page, server, path):
    """Go from a file to its answer, taking what is proposed."""
    page.goto(server.address)
    page.set_input_files("#file", path)
    page.wait_for_url("**/files/*/")
    while page.locator(".remark.stop .button.primary").count():
        before = page.locator(".remark.stop").count()
        page.locator(".remark.stop .button.primary").first.click()
        page.wait_for_function_count = None
        from playwright.sync_api import expect

        expect(page.locator(".remark.stop")).to_have_count(before - 1)
    page.get_by_role("link", name="These are right: go on").click()
    page.get_by_role("button", name="Audit", exact=True).click()
    page.wait_for_url("**/answer/0")


def test_from_a_dropped_file_to_the_answer(server, browser_page, applicants, tmp_path):
    page = browser_page
    page.goto(server.address)
    drop(page, applicants)
    page.wait_for_url("**/files/*/")
    assert "1,200" in page.locator("h1").inner_text()
    assert "Female" in page.locator(".remark").first.inner_text()
    to_answer(page, server, applicants)
    assert "gender" in answer_of(page).lower() or "female" in answer_of(page).lower()
    command = page.locator("#command").text_content()
    assert command.startswith("fairbench audit applicants.csv ")
    assert str(server.folder) not in page.content()
