"""What runs of the shipped configs came to, as text in results/found/: write it, or compare with it.

usage: python benchmarks/results.py [NAME …] [--check] [--work FOLDER] [--found FOLDER] [--jobs 1] [--set K=V]

Without names: those that are in results/found. Each config is run (or simulated) with its own repeats in
WORK/NAME, where it goes on if it was stopped; `--set` is passed on. Of its results the answer, the tables,
the findings, the comparison with its paper and what it was computed with are kept, each number with six
digits, and nothing that differs from machine to machine. With `--check` nothing is written: what differs
from results/found is printed, and the exit code is 1. Other versions of packages are no difference, but are
named where there is one.
"""

import argparse
import difflib
import json
import re
import sys
import tempfile
from pathlib import Path

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
    "findings.csv",
    "tables/*.md",
    "tables/*.csv",
    "compare/*.md",
    "compare/*.csv",
)
"""What is kept of a folder of results; a run has no summary.md and a simulation nothing else."""
MOST_BYTES = 500_000
"""Of a file; a larger one is left out, and named."""
LONG_NUMBER = re.compile(r"-?\d+\.\d{7,}(?:e[-+]?\d+)?")
PROVENANCE = "manifest.json"


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
            raise SystemExit(f"exit code {code} of: fairbench {' '.join(command)}")


def rounded(text: str) -> str:
    """Return a text whose long numbers have six digits: the last ones differ from one libm to the next.

    >>> rounded("a,0.123456789012,1e-3,-12.00000000001")
    'a,0.123457,1e-3,-12'
    """
    return LONG_NUMBER.sub(lambda number: f"{float(number.group()):.6g}", text)


def provenance(folder: Path) -> str:
    """Return what a folder of results was computed with: versions and checksums of the data, as JSON."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    kept = {key: manifest[key] for key in ("python", "packages", "data") if key in manifest}
    return json.dumps(kept, indent=2) + "\n"


def texts_of(folder: Path) -> dict[str, str]:
    """Return what is kept of a folder of results, by name."""
    texts = {}
    for pattern in KEPT:
        for path in sorted(folder.glob(pattern)):
            text = rounded(path.read_text(encoding="utf-8"))
            name = path.relative_to(folder).as_posix()
            if len(text.encode()) > MOST_BYTES:
                print(
                    f"{folder.name}/{name} is left out: it has {len(text.encode()):,} bytes", file=sys.stderr
                )
            else:
                texts[name] = text
    return texts | {PROVENANCE: provenance(folder)}


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


def differences(name: str, stored: dict[str, str], texts: dict[str, str]) -> list[str]:
    """Return the lines of a diff of what is stored and what a run gives; nothing where no number moved."""
    lines: list[str] = []
    for file in sorted(stored.keys() | texts.keys()):
        if file != PROVENANCE:
            lines += diff(f"{name}/{file}", stored.get(file, ""), texts.get(file, ""))
    if lines:
        lines += diff(f"{name}/{PROVENANCE}", stored.get(PROVENANCE, ""), texts[PROVENANCE])
    return lines


def diff(name: str, before: str, after: str) -> list[str]:
    """Return the lines of a diff of two texts."""
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), f"found/{name}", f"now/{name}", lineterm="", n=1
    )
    return list(lines)


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
    n_moved = 0
    with tempfile.TemporaryDirectory(prefix="results-") as scratch:
        for name in names:
            folder = (options.work or Path(scratch)) / name
            run_config(name, folder, settings, options.jobs)
            texts, stored = texts_of(folder), stored_texts(options.found / name)
            lines = differences(name, stored, texts)
            n_moved += bool(lines)
            if options.check:
                print("\n".join([*lines, f"{name}: {'other numbers' if lines else 'the same'}"]))
            else:
                write_texts(options.found / name, texts)
                n_bytes = sum(len(text.encode()) for text in texts.values())
                print(f"{name}: {len(texts)} files, {n_bytes:,} bytes")
    return 1 if options.check and n_moved else 0


if __name__ == "__main__":
    sys.exit(main())
