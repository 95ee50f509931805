"""`fairbench verify`: finished repeats again, bit for bit; and what is to blame for differences."""

import re
import shutil
from pathlib import Path

import pytest
from conftest import bare_data, edit_lines, own_card, two_lines, write_config

TREE = {"repeats": 2, "classifiers": ["tree"], "interventions": ["none", "massaging"]}
PLUGIN = """
from dataclasses import dataclass
from fairbench_cli.interventions.fitted import Fitted

@dataclass(frozen=True)
class Mine:
    def fit(self, train, classifier, rng):
        open({trace!r}, "a").close()
        return Fitted(classifier.fit(train), facts={{"drawn": float(rng.random()) * {factor}}})
"""


def run(say, config: Path) -> Path:
    folder = config.parent / "out"
    assert say("run", config, "-o", folder, "--jobs", "1", "-q").code == 0
    return folder


def verify(say, folder: Path, *more: str | Path):
    return say("verify", folder, "--jobs", "1", *more)


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {str(p): (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()}


def test_untouched_results_are_the_same_bit_for_bit_and_nothing_is_written(finished, say):
    before = snapshot(finished.folder)
    done = verify(say, finished.folder)
    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(
        r"12 of 12 are the same, bit for bit \(of 12 finished repeats, picked by --seed \d+\)\n", done.out
    )
    assert snapshot(finished.folder) == before


def test_an_edited_record_is_told_from_other_versions(finished, say, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(finished.folder, out)
    edit_lines(out, lambda row: row["counts"][0][0].__setitem__(slice(2), [1.0, 2.0]), 1)
    done = verify(say, out)
    assert done.code == 1
    assert re.search(r"repeat 0:\n  counts \(.+, label 0, decided 0\): 1\.0 → \d+\.0 and 1 more\n", done.out)
    assert "1 differ because of the journal, which was edited, or code whose version" in done.out
    assert "11 of 12 are the same" in done.out
    edit_lines(out, lambda header: header["versions"].__setitem__("scikit-learn", "1.4.0"), 0)
    done = verify(say, out)
    assert re.search(r"changed since: versions: scikit-learn 1.4.0 → 1\.\d", done.out)
    assert "1 differ because of versions\n" in done.out


def test_another_card_is_named(say, tmp_path):
    own_card(tmp_path)
    config = write_config(tmp_path / "small.yaml", datasets=["./card.yaml"], **TREE)
    folder = run(say, config)
    own_card(tmp_path, protected={"race": {"deprived": "Caucasian", "favoured": "African-American"}})
    done = verify(say, folder)
    assert done.code == 1, done.out
    assert "changed since: data: the card of compas is another one than the run's" in done.out
    assert re.search(r"\d differ because of data\n", done.out)


def test_other_data_are_named_and_an_edited_network_too(say, tmp_path):
    bare_data(tmp_path, "toy")
    sample = {"from": "network", "beta": [0.5], "size": 200, "missing_arc": "leave"}
    config = write_config(
        tmp_path / "small.yaml", datasets=["./toy.yaml"], **TREE | {"sample": sample, "test": "original"}
    )
    folder = run(say, config)
    (network,) = folder.glob("networks/*.json")
    whole = network.read_text()
    first, second = re.search(r"\[(0\.\d+), (0\.\d+)\]", whole).groups()
    network.write_text(whole.replace(f"[{first}, {second}]", f"[{second}, {first}]"))
    done = verify(say, folder)
    assert done.code == 1
    assert f"{network} is not the network that the data give" in " ".join(done.out.split("\n"))
    assert "4 of 4 are the same" in done.out
    network.write_text(whole)
    data = tmp_path / "toy.csv"
    data.write_text(data.read_text().replace("f,0,0", "f,0,1", 1))
    done = verify(say, folder)
    assert done.code == 1
    assert re.search(
        r"changed since: data: toy.csv of toy has other contents \(sha256 \w+… → \w+…\)", done.out
    )
    assert re.search(r"\d differ because of data\n", done.out)


def test_real_rows_without_an_arc_are_the_same(say, tmp_path):
    bare_data(tmp_path, "toy")  # no network of it has an arc that β could edit
    real = {"datasets": ["./toy.yaml"], "sample": {"from": "data", "train_fraction": 0.5}, "test": "holdout"}
    config = write_config(tmp_path / "split.yaml", **TREE | real)
    done = verify(say, run(say, config))
    assert (done.code, done.err) == (0, "")
    assert "4 of 4 are the same, bit for bit" in done.out


def test_code_runs_only_where_its_config_is_named_and_an_edited_plugin_is_to_blame(say, tmp_path):
    trace, plugin = tmp_path / "trace", tmp_path / "mine.py"
    plugin.write_text(PLUGIN.format(trace=str(trace), factor=1))
    config = write_config(
        tmp_path / "small.yaml", **TREE | {"interventions": ["none", "./mine.py:Mine"], "repeats": 1}
    )
    folder = run(say, config)
    trace.unlink()
    done = verify(say, folder)
    assert (done.code, trace.exists()) == (0, False)
    assert "2 finished repeats left out: mine.py:Mine is no code of fairbench's" in done.err
    assert "2 of 2 are the same" in done.out
    plugin.write_text(PLUGIN.format(trace=str(trace), factor=2))
    done = verify(say, folder, "--config", config)
    assert (done.code, trace.exists()) == (1, True), done
    assert "changed since: code: mine.py:Mine " in done.out
    assert re.search(r"intervention=mine.py:Mine.*repeat 0:\n  facts drawn: (0\.\d+) → (?!\1)\d", done.out)
    assert "2 differ because of code\n" in done.out
    assert "2 of 4 are the same" in done.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], ["holds no results"]),
        (["FOLDER", "--set", "seed=1"], ["--set changes a config", "--config CONFIG"]),
        (
            ["FOLDER", "--config", "quickstart", "--set", "name=x"],
            ["has no finished repeat of a cell of that"],
        ),
    ],
)
def test_mistakes(finished, say, arguments, words):
    given = [str(finished.folder) if word == "FOLDER" else word for word in arguments]
    two_lines(say("verify", *given), *words)
