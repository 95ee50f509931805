"""Shards divide a run; put together, their journals are the journal of the whole."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import derived, fairbench, journal_lines, write_config

from fairbench_cli.base.errors import UserError
from fairbench_cli.experiment.running.run import Shard, read_shard

KEYS = [f"{n:064x}" for n in (0, 7, 2**255, 10**40)]


@pytest.mark.parametrize("of", [1, 2, 3, 16])
def test_shards_divide_all_repeats_evenly(of):
    shards = [Shard(index, of) for index in range(of)]
    for key in KEYS:
        for repeats in (0, 1, 5, 50):
            sizes = [sum(shard.has(key, repeat) for repeat in range(repeats)) for shard in shards]
            assert sizes == [shard.count(key, repeats) for shard in shards]
            assert sum(sizes) == repeats
            assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "3/2",
            "there is no shard 3 of 2: they are numbered from 0\n  fix: write one of 0/2 to 1/2; for a job",
        ),
        ("1/1", "there is no shard 1 of 1: they are numbered from 0\n  fix: write 0/1, or leave it out"),
        ("0/0", "a run cannot be divided into 0 shards"),
        ("2", '"2" is no shard'),
        ("-1/2", '"-1/2" is no shard'),
        ("1/2/3", '"1/2/3" is no shard'),
        ("/4", '"/4" is no shard: it is written as number/how many\n  fix: write --shard 0/4, 1/4, 2/4'),
    ],
)
def test_what_is_no_shard(text, what):
    with pytest.raises(UserError, match="--shard: error: ") as raised:
        read_shard(text)
    assert what in str(raised.value)


def test_two_shards_at_once_in_one_folder_or_copied_together_are_the_run(say, tmp_path):
    path = write_config(
        tmp_path / "small.yaml", sample={"from": "shipped", "beta": 0.5, "size": 300}, predictions=True
    )
    say("run", path, "-o", tmp_path / "whole", "-j", "1")
    commands = [("run", path, "-o", tmp_path / "both", "-j", "1", "--shard", f"{i}/2") for i in range(2)]
    with ThreadPoolExecutor() as pool:
        first, second = pool.map(lambda command: fairbench(*command), commands)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "in shard 0/2: 0 done, " in first.stderr
    assert f"when all shards are done: fairbench report {tmp_path}/both" in first.stderr
    assert not list((tmp_path / "both").glob("*.csv"))

    apart = tmp_path / "apart"
    (apart / "journal").mkdir(parents=True)
    for file in ("plan.json", "config.yaml", "worlds.json"):
        shutil.copy(tmp_path / "both" / file, apart)
    one, other = sorted((tmp_path / "both/journal").glob("*.jsonl"))
    for file in (one, one.with_suffix(".rows")):
        shutil.copy(file, apart / "journal")
    some = say("report", apart)
    assert "repeats of the plan are in no journal" in some.err
    for file in (other, other.with_suffix(".rows")):
        shutil.copy(file, apart / "journal")
    done = say("report", apart)
    assert "in no journal" not in done.err
    again = say("run", path, "-o", tmp_path / "both", "-j", "1")
    assert "6 done, 0 to do" in again.err
    assert derived(apart) == derived(tmp_path / "both") == derived(tmp_path / "whole")
    places = [(row["key"], row["repeat"]) for row in map(json.loads, journal_lines(apart)) if "repeat" in row]
    assert len(set(places)) == len(places) == 6


def test_a_plan_counts_the_shard(say, tmp_path):
    path = write_config(tmp_path / "small.yaml", repeats=9)
    said = [say("plan", path, "--shard", f"{i}/4").out for i in range(4)]
    (found,) = {line.partition(",")[0] for text in said for line in text.splitlines() if " cells × " in line}
    assert found == "6 cells × 9 repeats"
    assert all("of them in shard" in text for text in said)
    sizes = [int(text.partition(" of them in shard")[0].split()[-1]) for text in said]
    assert sum(sizes) == 54
