"""What README and docs say runs: every command of theirs, and the configs and cards that they show."""

import csv
import doctest
import importlib.util
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml
from conftest import study_of
from for_each import for_each
from tiers import uses

from fairbench_cli.base.strict_yaml import read_yaml
from fairbench_cli.cli.listing import pages
from fairbench_cli.experiment.config.read import read_config

ROOT = Path(__file__).parents[1]
KEYS = study_of("keys", ROOT / "docs")
QUOTED = study_of("quoted", ROOT / "docs")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


def commands(page: Path) -> list[list[str]]:
    lines = "".join(blocks(page, "sh")).splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("fairbench ")]


SHIPPED = ("--set", "datasets=[adult, compas]", "--set", "sample={from: shipped}", "--set", "test=network")


def made_small(arguments: list[str]) -> list[str]:
    if arguments[0] == "run" and is_simulated(arguments):
        return [*arguments, "--set", "runs=2"]
    if arguments[0] == "run":
        small = ["--set", "sample.size=300", *([] if "--jobs" in arguments else ["--jobs", "1"])]
        fewer = {"repeats=10": "repeats=2", "repeats=20": "repeats=3"}
        arguments = [fewer.get(word, word) for word in arguments]
        if not any(word.startswith("repeats=") for word in arguments):
            small += ["--set", "repeats=1"]
        return [*arguments, *small]
    more = {"verify": ["--jobs", "1"]}
    return [*arguments, *more.get(arguments[0], [])]


@uses("a page of docs")
def run_page(page: Path, folder: Path, say, *, without_data: bool = False) -> None:
    """Run the commands of a page in their order, from the top of a checkout; downloads are left out."""
    shutil.copytree(ROOT / "configs", folder / "configs")
    for arguments in commands(page):
        if arguments[:2] == ["data", "fetch"]:
            continue
        if arguments[0] == "plan" and not without_data:
            continue  # each shipped config is planned below
        if arguments[0] == "report" and not (folder / arguments[1]).exists():
            continue
        if without_data and arguments[:2] == ["data", "check"]:
            continue  # it is about the data themselves
        if without_data and arguments[:2] == ["network", "learn"]:
            shutil.copy(ROOT / "datasets/adult.network.json", folder / arguments[-1])
            continue
        done = say(*made_small(arguments), *(SHIPPED if arguments[0] == "plan" else ()))
        assert done.code == 0, (arguments, done.err)


FOLLOWED = ["howto.md", "tutorial.md"]
ELSEWHERE = {*FOLLOWED, "extending.md"}  # test_extending
RUNNING = [page for page in PAGES if commands(page) and page.name not in ELSEWHERE]


def is_simulated(arguments: list[str]) -> bool:
    return arguments[0] == "run" and arguments[1] == "zliobaite2017"


ON_DATA = [page for page in RUNNING if not all(map(is_simulated, commands(page)))]


@pytest.mark.parametrize("page", ON_DATA, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_of_a_page_runs(page, tmp_path, data_folder, say):
    run_page(page, tmp_path, say)


# Where there are data, the other pages have run on them.
WITHOUT = [page for page in RUNNING if page not in ON_DATA or not os.environ.get("FAIRBENCH_DATA")]


@pytest.mark.parametrize("page", WITHOUT, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_of_a_page_runs_without_data(page, tmp_path, say, monkeypatch):
    monkeypatch.setenv("FAIRBENCH_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run_page(page, tmp_path, say, without_data=True)


BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```", re.DOTALL | re.MULTILINE)


def printed(said: str, shown: str) -> None:
    """Check that what a page shows was printed, in its order; … stands for lines that are left out."""
    place = 0
    for part in re.split(r"^…\n", shown, flags=re.MULTILINE):
        assert part in said[place:], f"{said}\n--- does not have:\n{part}"
        place = said.index(part, place) + len(part)


@pytest.mark.parametrize("page", [ROOT / "docs" / name for name in FOLLOWED], ids=FOLLOWED)
def test_a_page_can_be_followed(page, tmp_path, say):
    follow(page, tmp_path, say)


@uses("a page of docs")
def follow(page: Path, folder: Path, say) -> None:
    """Write its files and run its commands as they stand; each prints what the page shows below it."""
    done = ROOT / "results/quickstart"  # CI has run it: the same command goes on from there
    if done.is_dir():
        shutil.copytree(done, folder / "results/quickstart")
    said = ""
    for language, file, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        if file:
            (folder / file).write_text(body, encoding="utf-8")
        elif language == "sh":
            said = ""
            for line in body.splitlines():
                done = say(*shlex.split(line, comments=True)[1:])
                assert done.code == 0, (line, done.err)
                said += done.out
        elif language == "text" and said:
            printed(said, body)


@for_each("page", PAGES)
def test_nothing_is_left_to_fill_in(page):
    assert not re.findall(r"@[A-Z0-9]+@|TODO|FIXME", page.read_text(encoding="utf-8"))


def prose(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """What links may name of a page: its headings, as code hosts and MyST write them."""
    titles = re.findall(r"^#{1,6} (.+)$", prose(page), re.MULTILINE)
    plain = (re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", title).lower() for title in titles)
    return {re.sub(r"[^\w\- ]", "", title).strip().replace(" ", "-") for title in plain}


@for_each("page", PAGES)
def test_links_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)]*)\)", prose(page)):
        if "://" not in target:
            linked = page.parent / target if target else page
            assert linked.exists(), target
            assert not anchor or anchor in anchors(linked), f"{target}#{anchor}"


@pytest.fixture(scope="module")
def site():
    """What docs/conf.py says, as a module."""
    spec = importlib.util.spec_from_file_location("site_of_docs", ROOT / "docs/conf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_the_contents_once(site):
    below = [name for names in site.CONTENTS.values() for name in names]
    written = {
        page.relative_to(ROOT / "docs").with_suffix("").as_posix() for page in (ROOT / "docs").rglob("*.md")
    }
    assert sorted(["index", *below]) == sorted(written)


def test_topics_are_in_the_order_of_the_contents(site):
    def below(name: str) -> list[str]:
        return [page for child in site.CONTENTS.get(name, ()) for page in [child, *below(child)]]

    topics = [Path(page).name for page in below("index") if not page.startswith("reference/")]
    assert list(pages()) == topics


def test_the_reference_is_made_of_the_code(site):
    from generated import PAGES as MADE

    assert {f"reference/{name}" for name in MADE} == set(site.CONTENTS["reference"])
    made = {name: write() for name, write in MADE.items()}
    assert "### fb.run" in made["python"]
    assert "`--fail-on`" in made["commands"]
    for name, one in (("interventions", "massaging"), ("classifiers", "c45"), ("datasets", "adult")):
        assert re.search(rf"^(## |\| ){one}\b", made[name], re.MULTILINE)
    for name, text in made.items():
        page = ROOT / f"docs/reference/{name}.md"
        assert len(text) > 2 * len(page.read_text(encoding="utf-8"))
        assert not re.search(r"^# ", text, re.MULTILINE)


@pytest.mark.gate
def test_the_table_of_what_is_read_is_made_of_audits(site):
    from reading import END, START, table_of_reading

    page = (ROOT / "docs/audit.md").read_text(encoding="utf-8")
    assert START + table_of_reading() + END in page, "python docs/reading.py writes it"


def test_the_config_of_the_readme_and_the_card_of_the_page_are_right(tmp_path):
    (config,) = blocks(ROOT / "README.md", "yaml")
    (card,) = blocks(ROOT / "docs/data.md", "yaml")
    (tmp_path / "loans").mkdir()
    (tmp_path / "loans/loans.yaml").write_text(card)
    (tmp_path / "mine.yaml").write_text(config)
    experiment = read_config(tmp_path / "mine.yaml")
    assert [spec.name for spec in experiment.datasets] == ["adult", "loans"]
    assert len(experiment.interventions) == 5


@pytest.mark.gate
def test_the_python_of_the_readme_runs():
    (code,) = blocks(ROOT / "README.md", "python")
    sex = ["female", "male"] * 30
    known = {"y_true": [1, 0, 0, 1] * 15, "y_pred": [1, 1, 0, 1] * 15, "sex": sex}
    few = {"repeats": 1, "sample.size": 300, "datasets": ["compas"], "interventions": ["none"], "figures": []}
    small = code.replace('{"repeats": 2}', repr(few))
    assert small != code
    exec(small, known)  # noqa: S102 - our own page
    assert known["result"].verdict == "fail"
    assert len(known["rows"]) == 10_000
    assert set(known["run"].summary["n"]) == {1}


CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))
SIMULATIONS = [path for path in CONFIGS if "truth" in yaml.safe_load(path.read_text())]


TRIED = {word for page in RUNNING for arguments in commands(page) for word in arguments}
UNTRIED = [path for path in SIMULATIONS if not {path.stem, path.relative_to(ROOT).as_posix()} & TRIED]


def test_a_simulation_that_a_page_runs_is_not_run_again():
    assert ROOT / "configs/zliobaite2017.yaml" in SIMULATIONS
    assert ROOT / "configs/zliobaite2017.yaml" not in UNTRIED


def test_every_simulation_runs(say):
    for path in UNTRIED:
        done = say("run", path, "--set", "runs=2")
        assert done.code == 0, (path, done.err)


@pytest.fixture(scope="module")
def fits_the_schema():
    """What raises an error where a config does not fit the schema, which itself is right."""
    import jsonschema

    schema = KEYS.config_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema).validate


@pytest.mark.parametrize(
    "path", [path for path in CONFIGS if path not in SIMULATIONS], ids=lambda path: path.stem
)
def test_every_config_fits_the_schema_and_plans(path, data_folder, say, fits_the_schema):
    fits_the_schema(read_yaml(path).data)  # YAML 1.2, as editors: `on` is text
    done = say("plan", path)
    assert done.code == 0, done.err


RENEW = "renew it: python docs/keys.py"


def test_the_shipped_schema_is_the_codes():
    import json

    assert json.loads((ROOT / "configs/schema.json").read_text()) == KEYS.config_schema(), RENEW


def test_the_key_tables_of_the_page_are_the_codes():
    page = (ROOT / "docs/config.md").read_text(encoding="utf-8")
    assert page.count("<!-- keys: ") == 7
    assert KEYS.with_key_tables(page) == page, RENEW
    assert doctest.testmod(KEYS).failed == 0


def test_the_figures_of_the_page_of_costs_are_its_table():
    page = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    assert KEYS.with_costs(page) == page, RENEW


def quoting() -> list[str]:
    with (ROOT / QUOTED.TABLE).open(encoding="utf-8", newline="") as stream:
        return sorted({row["page"] for row in csv.DictReader(stream)})


@pytest.mark.parametrize("page", quoting())
def test_numbers_in_pages_are_those_that_were_found(page):
    assert QUOTED.renew(write=False, only=page) == []


def test_the_examples_of_quoted_numbers_hold():
    assert doctest.testmod(QUOTED).failed == 0


RESULTS = "technique,gap\nnone,-0.158\nmassaging,0.034\nother,12345\n"
QUOTES = """\
page,words,source,rows,value,written
page.md,"The gap of {} is {} with massaging, # without.",found.csv,technique != 'other',gap,.2f bare
page.md,It took {} s,found.csv,technique == 'other',gap,",.0f"
page.md,{} techniques,found.csv,,count,.0f
"""
FRESH = "# Page\n\nThe gap of −.16 is .03\nwith massaging, 7 without. It took 12,345 s for 3 techniques.\n"


def planted(folder: Path, page: str, quotes: str = QUOTES) -> Path:
    (folder / "docs").mkdir()
    for name, text in (("docs/quoted.csv", quotes), ("found.csv", RESULTS), ("page.md", page)):
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "page.md"


def test_a_stale_number_is_named_with_its_line_and_renewed(tmp_path):
    stale = FRESH.replace("12,345", "999").replace("is .03", "is −.3")
    page = planted(tmp_path, stale)
    first, second = QUOTED.renew(tmp_path, write=False)
    assert first == "page.md:3: says −.3, found.csv says .03\nfix: python docs/quoted.py"
    assert second.startswith("page.md:4: says 999, found.csv says 12,345\n")
    assert page.read_text(encoding="utf-8") == stale
    assert QUOTED.renew(tmp_path, write=True) == [first, second]
    assert page.read_text(encoding="utf-8") == FRESH
    assert QUOTED.renew(tmp_path, write=False) == []


@pytest.mark.parametrize(
    ("page", "quotes", "said"),
    [
        (FRESH.replace("gap", "distance"), QUOTES, "docs/quoted.csv:2: page.md has"),
        (FRESH + FRESH, QUOTES, "2 times, not once"),
        (FRESH, QUOTES.replace(" != 'other'", " == 'none'"), "has 2 numbers, its rows have 1"),
        (FRESH, QUOTES.replace(",gap,.2f", ",gap_,.2f"), "gap_"),
        (FRESH, QUOTES.replace("found.csv,,", "lost.csv,,"), "lost.csv"),
    ],
)
def test_a_place_that_is_not_found_is_named(page, quotes, said, tmp_path):
    planted(tmp_path, page, quotes)
    wrong = QUOTED.renew(tmp_path, write=False)
    assert wrong
    assert said in wrong[0]
    assert "\nfix: write there " in wrong[0]
