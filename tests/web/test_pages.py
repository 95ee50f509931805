"""The whole way in a real browser: from a file to the answer, and back."""

import csv
import json
import os
import random
import re
import shlex
import signal
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from web_server import started, wait_until
from workbooks import Day, Sheet, write_bomb, write_workbook

import fairbench_cli as fb
from fairbench_cli.cli.app import run

sync_api = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
expect = sync_api.expect


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with started(tmp_path_factory.mktemp("web")) as running:
        yield running


@pytest.fixture
def applicants(tmp_path):
    """Write 1,200 applicants: two spellings of one gender, and ages."""
    rng = random.Random(4)  # noqa: S311 - people, not secrets
    path = tmp_path / "applicants.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["staff_no", "gender", "age", "degree", "hired"])
        for number in range(1200):
            gender = rng.choice(["Female", "Male", "Male", "female "])
            chance = 0.2 if gender.strip().lower() == "female" else 0.45
            hired = rng.choices(["yes", "no"], [chance, 1 - chance])[0]
            degree = rng.choice(["BA", "MA", "none"])
            writer.writerow([f"{number:05}", gender, rng.randint(19, 66), degree, hired])
    return path


@pytest.fixture
def decisions(tmp_path):
    """Write 600 decisions with labels that need nothing to be chosen."""
    rng = random.Random(7)  # noqa: S311 - people, not secrets
    path = tmp_path / "decisions.csv"
    rows = ["score,label,sex,race"]
    for _row in range(600):
        sex = rng.choice(["f", "m"])
        score = int(rng.random() < (0.3 if sex == "f" else 0.6))
        rows.append(f"{score},{rng.randint(0, 1)},{sex},{rng.choice('aaabbc')}")
    path.write_text("\n".join(rows) + "\n")
    return path


def drop(page, path):
    """Drop a file as a hand does."""
    code = """([name, text]) => {
        const data = new DataTransfer();
        data.items.add(new File([text], name));
        return data;
    }"""
    handle = page.evaluate_handle(code, [path.name, path.read_text()])
    page.dispatch_event("#drop", "drop", {"dataTransfer": handle})


def send(page, server, path):
    """Choose a file on the first page, and wait until it is read."""
    page.goto(server.address)
    page.set_input_files("#file", path)
    page.wait_for_url("**/files/*/")


def audit(page):
    """Go on from what was read to the answer."""
    page.get_by_role("link", name="These are right: go on").click()
    page.get_by_role("button", name="Audit", exact=True).click()
    page.wait_for_url("**/answer/*")


def test_from_a_dropped_file_to_the_answer(server, browser_page, applicants):
    page = browser_page
    page.goto(server.address)
    drop(page, applicants)
    page.wait_for_url("**/files/*/")
    assert "1,200" in page.locator("h1").inner_text()
    expect(page.locator(".remark", has_text="emale")).to_have_count(1)
    audit(page)
    assert "emale" in page.locator("p.lead").inner_text()
    command = page.locator("#command").text_content()
    assert command.startswith("fairbench audit applicants.csv ")
    assert str(server.folder) not in page.content()
    assert "applicants.csv" in page.locator("h1").inner_text()


def test_the_command_and_the_page_say_the_same(server, browser_page, applicants, monkeypatch, capsys):
    page = browser_page
    send(page, server, applicants)
    audit(page)
    with page.expect_download() as download:
        page.locator("summary", has_text="Save it").click()
        page.get_by_role("link", name="JSON").click()
    saved = json.loads(download.value.path().read_text())
    monkeypatch.chdir(applicants.parent)
    words = shlex.split(page.locator("#command").text_content())
    assert run([*words[1:], "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == saved


def test_a_finished_audit_is_opened_from_its_json(server, browser_page, console, decisions):
    page = browser_page
    send(page, server, decisions)
    audit(page)
    shown = page.locator("main").inner_html()
    texts = {kind: saved_text(page, kind) for kind in ("html", "csv", "json", "finished")}
    saved = decisions.parent / "audit.json"
    saved.write_text(texts["finished"])
    page.goto(server.address)
    drop(page, saved)
    page.wait_for_url("**/answer/0")
    assert page.locator("main").inner_html() == shown
    assert page.locator("#command").text_content().startswith("fairbench audit decisions.csv")
    assert {kind: saved_text(page, kind) for kind in texts} == texts
    expect(page.get_by_text("The data are not here")).to_be_visible()
    assert page.locator("#web-top select, #web-top input").count() == 0
    page.goto(page.url.replace("answer/0", ""))  # there is nothing else to see of it
    page.wait_for_url("**/answer/0")

    cut_short = decisions.parent / "cut.json"
    cut_short.write_text(texts["finished"][:3000])
    of_ci = decisions.parent / "ci.json"
    of_ci.write_text(fb.audit(decisions).to("ci"))
    changed = decisions.parent / "changed.json"
    changed.write_text(texts["finished"].replace('"weighted": false', '"weighted": true'))
    page.goto(server.address)
    for path, words in ((cut_short, "beginning"), (of_ci, "not the JSON of an audit"), (changed, "changed")):
        page.set_input_files("#file", path)
        error = page.locator(".error")
        expect(error).to_contain_text(words)
        expect(error).to_contain_text(path.name)
        assert str(server.folder) not in error.inner_text()
    console.clear()  # the browser names the refused requests


def saved_text(page, kind):
    """Return what a link of the bar above an answer saves."""
    with page.expect_download() as download:
        page.locator(f'a[href$="download/{kind}"]').evaluate("link => link.click()")
    return download.value.path().read_text()


def test_switches_audit_again_in_place_and_back_goes_back(server, browser_page, decisions):
    page = browser_page
    send(page, server, decisions)
    audit(page)
    first = page.locator("main").text_content()
    page.get_by_label("race: compared with").focus()
    page.get_by_label("race: compared with").select_option("c")
    page.wait_for_url("**/answer/1")
    expect(page.get_by_label("race: compared with")).to_have_value("c")
    expect(page.get_by_label("race: compared with")).to_be_focused()
    expect(page.locator("#said")).to_have_text("Audited again.")
    assert page.locator("main").text_content() != first
    page.get_by_label("Allowed").select_option("0.95")
    page.wait_for_url("**/answer/2")
    page.locator("main th button").first.click()  # tables still sort
    assert page.locator("main th[aria-sort]").count()
    page.go_back()
    page.wait_for_url("**/answer/1")
    expect(page.get_by_label("Allowed")).to_have_value("")
    page.go_back()
    expect(page.get_by_label("race: compared with")).to_have_value("")
    page.reload()
    assert page.locator("main").text_content() == first


def test_two_tabs_do_not_disturb_each_other(server, browser_page, decisions, applicants):
    first = browser_page
    second = first.context.new_page()
    send(first, server, decisions)
    send(second, server, applicants)
    audit(first)
    audit(second)
    assert "decisions.csv" in first.locator("h1").inner_text()
    assert "applicants.csv" in second.locator("h1").inner_text()
    first.reload()
    assert "decisions.csv" in first.locator("h1").inner_text()


def test_a_column_is_taken_for_something_else(server, browser_page, decisions):
    page = browser_page
    send(page, server, decisions)
    page.get_by_label("Take race for").select_option("unused")
    expect(page.locator(".card", has_text="race").first).to_have_class(re.compile("unused"))
    audit(page)
    assert page.get_by_label("race: compared with").count() == 0
    assert page.get_by_label("sex: compared with").count() == 1


def test_a_choice_can_be_taken_back(server, browser_page, applicants):
    page = browser_page
    send(page, server, applicants)
    proposed = page.locator(".chosen", has_text="Count them as")
    expect(proposed).to_have_count(1)
    page.get_by_role("button", name="Keep them apart").click()
    expect(proposed).to_have_count(0)
    expect(page.locator(".remark.done", has_text="spellings: gender: keep")).to_have_count(1)
    page.get_by_role("button", name="Undo").click()
    expect(proposed).to_have_count(1)


def test_what_is_proposed_needs_no_press(server, browser_page, applicants):
    """What is done already is no button: a page of remarks is read, and not clicked through."""
    page = browser_page
    send(page, server, applicants)
    assert page.locator(".remark").count() >= 3
    assert page.locator(".remark.stop").count() == 0
    assert page.locator(".remark .button.primary").count() == 0
    expect(page.locator("p.lead")).to_have_text("Groups of gender, age are compared by hired.")
    assert "--" not in page.locator("main").inner_text()


def test_what_only_a_person_can_say_is_asked_for(server, browser_page, tmp_path):
    page = browser_page
    path = tmp_path / "numbers.csv"
    path.write_text("x1,x2,x3\n" + "".join(f"{i},{i * 7 % 101},{i * 3 % 89}\n" for i in range(300)))
    send(page, server, path)
    expect(page.locator(".remark.stop")).to_contain_text("Which column says what was decided?")
    assert page.get_by_role("link", name="go on").count() == 0
    page.get_by_role("button", name='Take "x2"').click()
    expect(page.get_by_role("link", name="go on")).to_have_count(1)


def test_ages_are_counted_on_a_day_that_is_chosen(server, browser_page, tmp_path):
    page = browser_page
    path = tmp_path / "births.csv"
    rows = [
        f"{1950 + i % 50}-03-0{1 + i % 9},2026-01-{10 + i % 15},{'fm'[i % 2]},{i % 3 % 2}" for i in range(400)
    ]
    path.write_text("birth_date,applied,sex,hired\n" + "\n".join(rows) + "\n")
    send(page, server, path)
    asks = page.locator(".remark", has_text="holds birth dates")
    asks.get_by_label("Ages on a day").fill("2025-12-31")
    asks.get_by_role("button", name="Ages on a day").click()
    expect(page.locator(".remark.done", has_text="the day of ages: 2025-12-31")).to_have_count(1)
    page.locator(".remark.done", has_text="numbers that are cut").get_by_role("button", name="Undo").click()
    expect(page.locator(".remark.done")).to_have_count(0)
    page.get_by_role("button", name='Ages on the day in "applied"').click()
    expect(page.locator(".remark.done", has_text="the day of ages: applied")).to_have_count(1)
    audit(page)
    assert page.get_by_label("birth_date: compared with").count() == 1


def write_messy_workbook(path):
    """Write 400 applicants as people keep them, and return how many per cent of each gender were invited."""
    rng = random.Random(9)  # noqa: S311 - people, not secrets
    rows = [
        ["Round of spring 2026"],
        [],
        ["Applicant", "Date of birth", "Gender", "Branch", "Applied", "Invited?"],
    ]
    invited = {"Female": [], "Male": []}
    for number in range(400):
        gender = rng.choice(list(invited))
        is_invited = rng.random() < (0.2 if gender == "Female" else 0.5)
        invited[gender].append(is_invited)
        spelling = rng.choice([gender, gender, gender.lower(), f"{gender} ", gender[0]])
        answer = rng.choice(["Yes", "yes", "ja"] if is_invited else ["No", "no", "nee"])
        branch = "North" if number == 0 else None
        births = Day(25_000 + rng.randrange(9_000))
        rows.append([f"A-{number}", births, spelling, branch, Day(46_000 + number % 60), answer])
        if number in (100, 250):
            rows.append([])
    rows += [[], ["Total", None, None, None, None, 400]]
    codes = Sheet("Codes", [["code", "means"], ["ja", "yes"]])
    write_workbook(path, Sheet("Applicants", rows, merged=("A1:F1", "D4:D405")), codes)
    return {gender: f"{100 * sum(values) / len(values):.1f} %" for gender, values in invited.items()}


def test_a_messy_workbook_has_the_answer_of_a_clean_one(server, browser_page, tmp_path):
    """Nothing is pressed but what leads on."""
    page = browser_page
    path = tmp_path / "applicants 2026.xlsx"
    rates = write_messy_workbook(path)
    send(page, server, path)
    expect(page.locator("h1")).to_have_text("applicants 2026.xlsx: 400 rows, 6 columns")
    expect(page.locator("p.lead")).to_contain_text("Gender")
    expect(page.locator(".notes")).to_contain_text("2 blank rows between others left out")
    expect(page.locator(".notes")).to_contain_text("What stands below the table is left out (Total)")
    audit(page)
    lead = page.locator("p.lead").inner_text()
    assert f"Female are selected in {rates['Female']} of cases, Male in {rates['Male']}" in lead
    assert "400 rows" in lead


def test_the_example_needs_no_file(server, browser_page):
    page = browser_page
    page.goto(server.address)
    page.get_by_role("button", name="Try it").click()
    page.wait_for_url("**/files/*/")
    note = fb.example_people(5000).note
    expect(page.get_by_text(note)).to_be_visible()
    audit(page)
    expect(page.get_by_text(note)).to_be_visible()
    assert page.locator("p.lead").inner_text()


def test_it_can_be_used_with_the_keyboard_alone(server, browser_page, decisions):
    page = browser_page
    send(page, server, decisions)
    link = page.get_by_role("link", name="These are right: go on")
    press_until_focused(page, link)
    page.keyboard.press("Enter")
    page.wait_for_url("**/questions")
    press_until_focused(page, page.get_by_role("button", name="Audit", exact=True))
    page.keyboard.press("Enter")
    page.wait_for_url("**/answer/*")
    press_until_focused(page, page.get_by_label("sex: compared with"))
    page.keyboard.press("m")
    page.wait_for_url("**/answer/1")


def press_until_focused(page, target):
    for _row in range(120):
        page.keyboard.press("Tab")
        if target.evaluate("element => element === document.activeElement"):
            return
    pytest.fail("the tab key does not get there")


def write_nothing(path):
    path.touch()


def write_picture(path):
    path.write_bytes(b"\x89PNG")


def write_half(path):
    path.write_bytes(b"PAR1 and then nothing")


def write_10_000_columns(path):
    names = ",".join(f"c{i}" for i in range(10_000))
    path.write_text(f"{names}\n{'1,' * 9_999}1\n")


def write_2_gigabytes(path):
    with path.open("wb") as file:
        file.truncate(2 * 2**30 + 1)  # of which the disk keeps nothing


def test_what_cannot_be_audited_is_said_in_place(server, browser_page, console, tmp_path):
    page = browser_page
    page.goto(server.address)
    kept = server.kept()
    for name, write, words in (
        ("empty.csv", write_nothing, "empty"),
        ("picture.png", write_picture, "this is a picture"),
        ("half.parquet", write_half, "half.parquet"),
        ("bomb.xlsx", write_bomb, "unpacks to 120 MB"),
        ("wide.csv", write_10_000_columns, "10,000 columns. Keep those that matter, at most 2,000."),
        ("large.csv", write_2_gigabytes, "large.csv: the file is larger than 2 GB"),
    ):
        path = tmp_path / name
        write(path)
        page.set_input_files("#file", path)
        error = page.locator(".error")
        expect(error).to_contain_text(words)
        assert str(server.folder) not in error.inner_text()
        assert page.url == server.address
    assert set(server.kept()) <= set(kept)  # a seventh file has closed the oldest
    console.clear()  # the browser names the refused requests


def workers_of(server):
    """Return the processes that have a file open or wait for one: those that the fork server has started."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = status.read_text().rpartition(")")[2].split()
            parents[int(status.parent.name)] = int(fields[1])
    children = {process for process, parent in parents.items() if parent == server.process.pid}
    return [process for process, parent in parents.items() if parent in children]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_an_audit_that_takes_long_is_stopped_and_the_file_stays(server, browser_page, console, decisions):
    page = browser_page
    send(page, server, decisions)
    page.get_by_role("link", name="These are right: go on").click()
    page.wait_for_url("**/questions")
    for process in workers_of(server):  # none gets on, as in an audit that takes long
        os.kill(process, signal.SIGSTOP)
    page.get_by_role("button", name="Audit", exact=True).click()
    stop = page.get_by_role("button", name="Stop")
    expect(stop).to_be_visible()
    stop.click()
    expect(page.locator(".error")).to_contain_text("It was stopped. Start it again.")
    expect(stop).to_be_hidden()
    for process in workers_of(server):
        os.kill(process, signal.SIGCONT)
    page.get_by_role("button", name="Audit", exact=True).click()
    page.wait_for_url("**/answer/0")
    assert "decisions.csv" in page.locator("h1").inner_text()
    console.clear()  # the browser names the stopped request


def test_a_server_that_is_killed_while_a_browser_sends_leaves_nothing(browser_page, console, tmp_path):
    page = browser_page
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(2**30)
    folder = tmp_path / "temporary"
    folder.mkdir()
    with started(folder) as own_server:
        page.goto(own_server.address)
        page.set_input_files("#file", large)
        expect(page.get_by_text("Sending large.csv")).to_be_visible()
        wait_until(own_server.kept)
        own_server.process.kill()
        own_server.process.wait(20)
        expect(page.locator(".error")).to_contain_text("the file was not taken")
    wait_until(lambda: not list(folder.glob("fairbench-*")))
    console.clear()  # the browser says that the connection ended


def test_without_rows_there_is_no_way_on(server, browser_page, tmp_path):
    page = browser_page
    path = tmp_path / "header.csv"
    path.write_text("score,sex\n")
    send(page, server, path)
    assert "no rows" in page.locator(".remark.stop").inner_text()
    assert page.get_by_role("link", name="go on").count() == 0


def test_what_stands_in_a_file_is_shown_as_text(server, browser_page, tmp_path):
    page = browser_page
    evil = "<img src=x onerror=alert(1)>"
    rows = [f'score,sex,"{evil}"'] + [
        f'{n % 2},"{("</script><b>f", "javascript:m")[n // 3 % 2]}",{n}' for n in range(200)
    ]
    path = tmp_path / "a<b>&quot;.csv"
    path.write_text("\n".join(rows) + "\n")
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    send(page, server, path)
    assert evil in page.locator("main").inner_text()
    audit(page)
    assert page.locator("main img, main b, main script:not([type])").count() == 0
    assert "a<b>" in page.locator("h1").inner_text()


def test_another_site_gets_nothing(server, browser_page, console):
    page = browser_page
    page.route("http://evil.test/", lambda route: route.fulfill(body="<p>evil</p>", content_type="text/html"))
    page.goto("http://evil.test/")
    code = """async (address) => {
        const answers = [];
        for (const method of ["GET", "POST"]) {
            try { answers.push((await fetch(address + "files", {method, mode: "no-cors"})).status); }
            catch { answers.push("failed"); }
        }
        return answers;
    }"""
    assert set(page.evaluate(code, server.address)) <= {0, "failed"}
    page.set_content(f'<form method="post" action="{server.address}files"><button>go</button></form>')
    page.get_by_role("button").click()
    assert "another" in page.locator("body").inner_text()
    console.clear()


def test_nothing_scrolls_sideways_on_a_telephone(server, browser_page, applicants):
    page = browser_page
    page.set_viewport_size({"width": 400, "height": 800})
    for step in ("read", "questions", "answer"):
        if step == "read":
            send(page, server, applicants)
        elif step == "questions":
            page.get_by_role("link", name="These are right: go on").click()
            page.wait_for_url("**/questions")
        else:
            page.get_by_role("button", name="Audit", exact=True).click()
            page.wait_for_url("**/answer/*")
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, step


def test_switches_are_folded_away_on_a_telephone_until_one_is_used(server, browser_page, decisions):
    page = browser_page
    send(page, server, decisions)
    audit(page)
    switch = page.get_by_label("race: compared with")
    expect(switch).to_be_visible()
    assert page.locator("#web-top > :not(nav, section)").count() == 0  # all of it is in a landmark
    page.set_viewport_size({"width": 400, "height": 800})
    page.reload()
    expect(switch).not_to_be_visible()
    page.locator("summary", has_text="Change what is compared").click()
    switch.focus()
    switch.select_option("c")
    page.wait_for_url("**/answer/1")
    expect(switch).to_be_focused()
    expect(switch).to_have_value("c")


def test_a_closed_file_is_gone(server, browser_page, decisions):
    page = browser_page
    send(page, server, decisions)
    address = page.url
    page.goto(server.address)
    buttons = page.get_by_role("button", name="Close and remove")
    for number in range(buttons.count(), 0, -1):
        assert len(server.kept()) == number
        buttons.first.click()
        expect(buttons).to_have_count(number - 1)
    assert server.kept() == []
    assert server.status(urlsplit(address).path) == 404
