"""What runs of the shipped configs came to, as text in results/found/: write it, or compare with it.

usage: python benchmarks/results.py [NAME …] [--check] [--work FOLDER] [--found FOLDER] [--jobs 1] [--set K=V]

Without names: those that are in results/found. Each config is run (or simulated) with its own repeats in
WORK/NAME, where it goes on if it was stopped and fits nothing if it has ended; `--set` is passed on. Of its
results the answer, the tables as CSV, the findings, the comparison with its paper and what it was computed
with are kept, each number with six digits; what it cost goes to results/found/costs.csv. With `--check`
nothing is written, and the exit code is 1 if something differs. To the letter, where Python, packages and
platform are those that are stored; elsewhere a last digit may decide a tie, so numbers of the CSVs may
differ by .005 or a fiftieth, and the words of 2 % of their lines.
"""

import argparse
import csv
import difflib
import io
import json
import re
import sys
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

from fairbench_cli.cli.app import run as run_command

ROOT = Path(__file__).parents[1]
FOUND = ROOT / "results" / "found"
PAPERS = {
    "cardoso2019": "cardoso2019",
    "cardoso2019-by-text": "cardoso2019",
    "cardoso2019-zafar": "cardoso2019",
    "friedler2019": "friedler2019",
    "zliobaite2015": "zliobaite2015",
}
"""The papers whose published values a config is compared with."""

KEPT = (
    "answer.md",
    "summary.md",
    "simulation.csv",
    "findings.csv",
    "remedies.csv",
    "tables/*.csv",
    "compare/*.md",
    "compare/*.csv",
)
"""What is kept of a folder of results; a simulation has a summary and no answer."""
AS_PRINTED = ("tables/discrimination-accuracy.md", "tables/over-underestimation.md")
"""And of tables that are laid out as a paper's."""
SAID_TWICE = {
    "findings.csv": ("parameters", "classifier_parameters"),
    "remedies.csv": (
        "attribute",
        "compared",
        "representation",
        "classifier_parameters",
        "low",
        "high",
        "constant",
    ),
}
"""Columns that are left out, as others say them: names of techniques, and intervals of differences."""
ONLY = {"remedies.csv": {"metric": "accuracy"}}
"""What is kept of a file's rows; differences of the other metrics are in the tables."""
MOST_BYTES = 1_000_000
"""Of a file; a larger one is left out, and named."""
LONG_NUMBER = re.compile(r"-?\d+\.\d{7,}(?:e[-+]?\d+)?")
PROVENANCE = "manifest.json"
NUMERIC = ("numpy", "scipy", "scikit-learn", "numba", "pandas")
"""Packages whose versions may decide the last digit."""
COSTS = ("config", "fits", "controls", "cpu_seconds", "commit")
MOST_PRINTED = 60
"""Lines of a difference."""

NUMBER = re.compile(r"[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
NEAR, NEAR_RATIO = 0.005, 0.02
"""How far apart two numbers of other machines may be, in units or as a share of the stored one."""
MOST_WORDS = 0.02
"""Of the lines of a config, whose words may be others: a verdict at the border of chance."""
BY_VERDICTS = ("tables/pareto.csv", "tables/ranks.csv")
"""Counts and choices that follow from verdicts: compared on the same platform only."""


def run_config(name: str, folder: Path, options: list[str], jobs: int) -> None:
    """Run a shipped config, or go on with it, and compare it with its paper.

    Raises
    ------
    SystemExit
        A command failed.
    """
    settings = yaml.safe_load((ROOT / "configs" / f"{name}.yaml").read_text(encoding="utf-8"))
    if "truth" in settings:
        commands = [["run", name, "-o", str(folder), *options]]
    else:
        commands = [["run", name, "-o", str(folder), "--jobs", str(jobs), "--quiet", *options]]
    if name in PAPERS:
        commands.append(["compare", str(folder), "--paper", PAPERS[name]])
    for command in commands:
        code = run_command(command)
        if code > 1:  # 1: some repeats failed, which the answer says
            print(f"exit code {code} of: fairbench {' '.join(command)}", file=sys.stderr)
            raise SystemExit(2)


def rounded(text: str) -> str:
    """Return a text whose long numbers have six digits: the last ones differ from one libm to the next.

    >>> rounded("a,0.123456789012,1e-3,-12.00000000001")
    'a,0.123457,1e-3,-12'
    """
    return LONG_NUMBER.sub(lambda number: f"{float(number.group()):.6g}", text)


def thinned(text: str, left_out: Collection[str] = (), only: Mapping[str, str] | None = None) -> str:
    r"""Return a CSV without some of its columns, and with those rows alone that have some values.

    >>> thinned('a,b\n"1,5",2\n3,4\n', ("b", "c"), {"b": "2"})
    'a\n"1,5"\n'
    """
    rows = csv.DictReader(io.StringIO(text))
    kept = [name for name in rows.fieldnames or () if name not in left_out]
    written = io.StringIO()
    writer = csv.DictWriter(written, kept, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(row for row in rows if all(row[name] == value for name, value in (only or {}).items()))
    return written.getvalue()


def manifest_of(folder: Path) -> dict[str, Any]:
    """Return the manifest of a folder of results."""
    return json.loads((folder / PROVENANCE).read_text(encoding="utf-8"))


def provenance(folder: Path) -> dict[str, Any]:
    """Return what a folder of results was computed with: versions, platform, and checksums of the data."""
    manifest = manifest_of(folder)
    kept = {key: manifest[key] for key in ("python", "packages", "platform", "data") if key in manifest}
    kept["platform"] = re.sub(
        r"^(\w+)-.+-(\w+)-with-(.+)$", r"\1 \2 \3", kept["platform"]
    )  # no kernel's release
    return kept


def texts_of(folder: Path) -> dict[str, str]:
    """Return what is kept of a folder of results, by name."""
    texts = {}
    settings = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    tables = settings.get("tables")
    kept = KEPT
    if isinstance(tables, dict) and tables.get("layout") == "paper":
        kept += AS_PRINTED
    for pattern in kept:
        for path in sorted(folder.glob(pattern)):
            text = rounded(path.read_text(encoding="utf-8"))
            if path.name in SAID_TWICE:
                text = thinned(text, SAID_TWICE[path.name], ONLY.get(path.name))
            name = path.relative_to(folder).as_posix()
            n_bytes = len(text.encode())
            if n_bytes > MOST_BYTES:
                print(f"{folder.name}/{name} is left out: it has {n_bytes:,} bytes", file=sys.stderr)
            else:
                texts[name] = text
    return texts | {PROVENANCE: json.dumps(provenance(folder), indent=2) + "\n"}


def cost(name: str, folder: Path) -> dict[str, Any]:
    """Return what the run of a config took: fits, those of controls, and the CPU seconds of all of them."""
    manifest = manifest_of(folder)
    fits, controls = "", ""
    if (folder / "plan.json").exists():
        plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
        repeats = plan["config"]["repeats"]
        own = {cell["key"] for cell in plan["cells"]}  # several cells may be one model
        fits = repeats * len(own)
        controls = repeats * len({cell["key"] for cell in plan.get("controls", ())} - own)
    values = (name, fits, controls, round(manifest["cpu_seconds"]), manifest["git"]["commit"][:8])
    return dict(zip(COSTS, values, strict=True))


def write_costs(path: Path, rows: list[dict[str, Any]]) -> None:
    """Put rows in the place of those of the same configs in the table of costs."""
    known = {}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as stream:
            known = {row["config"]: row for row in csv.DictReader(stream)}
    known |= {row["config"]: row for row in rows}
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, COSTS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(known[name] for name in sorted(known))


def stored_texts(folder: Path) -> dict[str, str]:
    """Return the texts that are in a folder, by name."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def write_texts(folder: Path, texts: dict[str, str]) -> None:
    """Write texts into a folder, and remove those that are there and no longer kept."""
    for name in stored_texts(folder).keys() - texts.keys():
        (folder / name).unlink()
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def makers(texts: dict[str, str]) -> dict[str, str]:
    """Return what may decide the last digits of results: platform and versions, Python's without patch."""
    made = json.loads(texts[PROVENANCE])
    python = ".".join(made["python"].split(".")[:2])
    versions = {name: made["packages"][name] for name in NUMERIC}
    return {"platform": made.get("platform", "unknown"), "Python": python} | versions


def differences(name: str, stored: dict[str, str], texts: dict[str, str]) -> list[str]:
    """Return the lines of a diff of what is stored and what a run gives; nothing where no letter moved."""
    lines: list[str] = []
    for file in sorted(stored.keys() | texts.keys()):
        if file != PROVENANCE:
            lines += diff(f"{name}/{file}", stored.get(file, ""), texts.get(file, ""))
    return lines


def diff(name: str, before: str, after: str) -> list[str]:
    """Return the lines of a diff of two texts."""
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), f"found/{name}", f"now/{name}", lineterm="", n=1
    )
    return list(lines)


def far_differences(name: str, stored: dict[str, str], texts: dict[str, str]) -> list[str]:
    """Return the lines of the CSVs whose numbers are further apart than those of two machines may be.

    Lines whose words differ are among them only if they are more than MOST_WORDS of all.
    """
    far: list[str] = []
    other_words: list[str] = []
    n_lines = 0
    for file in sorted(stored):
        if not file.endswith(".csv") or file in BY_VERDICTS:
            continue
        before, after = (of.get(file, "").splitlines() for of in (stored, texts))
        n_lines += len(before)
        if len(before) != len(after):
            far.append(f"{name}/{file}: {len(before)} lines are {len(after)}")
            continue
        for at, (old, new) in enumerate(zip(before, after, strict=True), start=1):
            said = f"{name}/{file}:{at}: {old}\n  is now {new}"
            if NUMBER.sub("#", old) != NUMBER.sub("#", new):
                other_words.append(said)
            elif not all(map(near, numbers_of(old), numbers_of(new))):
                far.append(said)
    if len(other_words) > MOST_WORDS * n_lines:
        far += other_words
    return far


def numbers_of(line: str) -> list[float]:
    """Return the numbers of a line.

    >>> numbers_of("massaging,-0.109 better,−2 [1.5e-3, 4]")
    [-0.109, -2.0, 0.0015, 4.0]
    """
    return [float(number.replace("−", "-")) for number in NUMBER.findall(line)]


def near(stored: float, value: float) -> bool:
    """Return whether a number may be the stored one, computed on another machine."""
    return abs(value - stored) <= max(NEAR, NEAR_RATIO * abs(stored))


def check(name: str, found: Path, folder: Path) -> bool:
    """Print what differs between stored results and those of a folder; return whether nothing does."""
    texts, stored = texts_of(folder), stored_texts(found / name)
    if not stored:
        print(f"{name}: nothing is stored\nfix: python benchmarks/results.py {name}")
        return False
    before, now = makers(stored), makers(texts)
    others = [f"{maker} is {now[maker]}, was {before[maker]}" for maker in now if now[maker] != before[maker]]
    if others:
        lines = far_differences(name, stored, texts)
        said = f"the same within {NEAR:g} or {NEAR_RATIO:.0%}: {', '.join(others)}"
    else:
        lines = differences(name, stored, texts)
        said = "the same to the letter"
    if lines:
        n_more = max(len(lines) - MOST_PRINTED, 0)
        lines[MOST_PRINTED:] = [f"… and {n_more} lines more"] * bool(n_more)
        moved = table_numbers(stored) != table_numbers(texts)
        what = "numbers are others" if moved else "no number of a table is another, the text is"
        said = f"{what}\nfix: where that is meant, python benchmarks/results.py {name}"
    print("\n".join([*lines, f"{name}: {said}"]))
    return not lines


def table_numbers(texts: dict[str, str]) -> dict[str, list[float]]:
    """Return the numbers of each CSV."""
    return {name: numbers_of(text) for name, text in texts.items() if name.endswith(".csv")}


def main(arguments: list[str] | None = None) -> int:
    """Run, and write or compare; return 1 where something differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a shipped config")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--work", type=Path, help="folder of the runs (default: a temporary one)")
    parser.add_argument("--found", type=Path, default=FOUND)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], dest="settings")
    options = parser.parse_args(arguments)
    names = options.names or sorted(path.name for path in options.found.iterdir() if path.is_dir())
    settings = [word for setting in options.settings for word in ("--set", setting)]
    moved = False
    with tempfile.TemporaryDirectory(prefix="results-") as scratch:
        for name in names:
            folder = (options.work or Path(scratch)) / name
            run_config(name, folder, settings, options.jobs)
            if options.check:
                moved |= not check(name, options.found, folder)
            else:
                texts = texts_of(folder)
                write_texts(options.found / name, texts)
                write_costs(options.found / "costs.csv", [cost(name, folder)])
                n_bytes = sum(len(text.encode()) for text in texts.values())
                print(f"{name}: {len(texts)} files, {n_bytes:,} bytes")
    return int(moved)


if __name__ == "__main__":
    sys.exit(main())
