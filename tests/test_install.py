"""What is installed: extras that messages name, pages and metadata, what the wheel holds."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from conftest import two_lines

import fairbench_cli
from fairbench_cli.cli.listing import pages

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, TOOLS = SETTINGS["project"], SETTINGS["tool"]
EXTRAS = PROJECT["optional-dependencies"]


def test_every_extra_that_is_named_exists():
    texts = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("fairbench_cli/**/*.py")]
    named = {
        extra
        for path in texts
        for names in re.findall(r"fairbench-cli\[([a-z,]+)\]", path.read_text(encoding="utf-8"))
        for extra in names.split(",")
    }
    assert named == {"dask", "db", "docs", "fairlearn", "pdf", "pomegranate"}
    assert set(EXTRAS) == {*named, "dev", "test", "excel", "web"}


def test_the_light_package_needs_neither_torch_nor_an_extra():
    names = {re.split(r"[<>=\[ ]", text)[0].lower() for text in PROJECT["dependencies"]}
    assert names.isdisjoint({"torch", "pomegranate", "distributed", "fairlearn", "sqlalchemy", "weasyprint"})
    assert EXTRAS["excel"] == EXTRAS["web"] == []  # what they brought comes with the package
    assert extras_of("dev") == set(EXTRAS) - {"dev", "excel", "web"}


def extras_of(name: str) -> set[str]:
    """Return the extras that an extra brings, and those that these bring."""
    brought = [text for text in EXTRAS[name] if text.startswith("fairbench-cli")]
    names = {extra for text in brought for extra in re.findall(r"\w+", text)} - {"fairbench", "cli"}
    return names.union(*map(extras_of, names))


def test_the_tests_of_every_day_need_no_torch():
    assert not extras_of("test") & {"dask", "docs", "pdf", "pomegranate"}


def test_pages_are_listed_and_shown(say):
    listed = say("docs")
    assert listed.code == 0
    found = (ROOT / "docs").rglob("*.md")
    written = {path.stem: path for path in found if path.parent.name != "reference"}  # which a site fills
    del written["index"]  # the start of a site
    assert set(pages()) == set(written)
    assert {line.split()[0] for line in listed.out.splitlines() if line.split()} >= set(written)
    for topic in ("audit", "audit.md", "docs/audit.md", "Audit"):
        assert say("docs", topic).out == written["audit"].read_text(encoding="utf-8")
    assert say("docs", "cardoso2019").out.startswith("# cardoso2019")
    part = say("docs", "howto#cite-fairbench").out
    assert part.startswith("## Cite fairbench")
    assert part.rstrip() in written["howto"].read_text(encoding="utf-8")


@pytest.mark.gate
def test_a_word_that_no_page_has_is_no_page(say):
    unknown = 'no page is called "{}", and none has these words'.format
    two_lines(say("docs", "measrues"), unknown("measrues"), 'did you mean "measures"?')
    two_lines(
        say("docs", "annotatoins"), unknown("annotatoins"), 'did you mean "annotation"?'
    )  # of no page's name


@pytest.mark.parametrize(
    ("asked", "first"),
    {
        ("cite",): "howto#cite-fairbench",
        ("two", "techniques"): "howto#compare-two-techniques-with-a-p-value",
        ("how do I run it on Slurm?",): "howto#run-it-on-slurm",
    }.items(),
)
def test_words_are_found_in_headings_and_sentences(say, asked, first):
    lines = say("docs", *asked).out.splitlines()
    assert lines[0].startswith(f"{first}: ")
    assert lines[-1] == f"Read one with: fairbench docs {first}"
    assert len(lines) <= 40  # a screen or so, with folded ones
    for where in {line.partition(":")[0] for line in lines[:-1] if line[0] != " "}:
        assert say("docs", where).out.startswith("#")  # each is shown as it is named


def test_no_table_of_a_page_is_cut_on_a_terminal(say, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    for topic in ("concepts", "cardoso2019"):  # long names, many numbers
        shown = re.sub(r"\x1b(\[[\d;]*m|\]8;[^\\]*\\)", "", say("docs", topic).out)
        assert "─" * 70 in shown
        assert not re.search(r"[\w.,]…( |$)", shown, re.MULTILINE)


def test_the_citation_is_of_this_version_and_whole():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == fairbench_cli.__version__
    assert {"message", "title", "authors"} <= set(citation)
    for reference in citation["references"]:
        assert reference["type"] in ("article", "conference-paper", "generic")
        assert {"title", "authors"} <= set(reference)
        names = {key for author in reference["authors"] for key in author}
        assert names <= {"family-names", "given-names", "name-suffix"}
        assert reference.get("doi", "10.").startswith("10.")


def test_the_wheel_holds_what_commands_take_by_name(tmp_path):
    pytest.importorskip("hatchling", reason="needs hatchling: pip install 'fairbench-cli[dev]'")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True)
    (wheel,) = tmp_path.glob("fairbench_cli-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    for folder, pattern in (("configs", "*.*"), ("datasets", "*.*"), ("docs", "**/*.md")):
        expected = {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).glob(pattern)}
        assert {f"fairbench_cli/{name}" for name in expected} <= held
    assert {Path(name).stem for name in held if name.startswith("fairbench_cli/docs/")} >= set(pages())
    assert not [name for name in held if name.endswith((".png", ".ipynb")) or "tests/" in name]


def test_the_changes_begin_with_this_version_and_its_date():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", changes, re.MULTILINE)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert versions[0] == (fairbench_cli.__version__, str(citation["date-released"]))


def test_what_is_not_released_yet_has_a_kind():
    kinds = [kind["directory"] for kind in TOOLS["towncrier"]["type"]]
    for path in (ROOT / TOOLS["towncrier"]["directory"]).iterdir():
        assert path.name == "README.md" or path.name.split(".")[-2:] in [[kind, "md"] for kind in kinds]
        assert path.read_text(encoding="utf-8").strip()
