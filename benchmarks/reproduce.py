"""Do a paper's numbers still come out? The steps of the jobs of reproduce.yml, for any machine.

usage: python benchmarks/reproduce.py NAME … [--work results] [--found FOLDER] [--jobs 2]

NAME is a shipped config, or networks: one repeat of cardoso2019, for learned networks. Its official files
are downloaded where they are missing ($FAIRBENCH_DATA is a folder that has them), it is run in WORK/NAME,
or goes on there, and then two things are asked: are the results those of results/found, by the rules of
benchmarks/results.py, and are as many of the published values within the tolerance as below? Each is asked
whatever came of the other. Exit code 1: a number moved; 2: a file could not be had, or a command failed.
"""

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

import results
from fairbench_cli.cli.app import run as run_command


@dataclass(frozen=True)
class Published:
    """How many of a paper's values agree with a run at least, of all its tables or some.

    `within` is how far off a value may be, None where the paper has standard deviations.
    """

    least: int
    of: int
    tables: str = ""
    within: float | None = None


@dataclass(frozen=True)
class Job:
    """What a config needs and has to reach: data cards, published values, and if each push asks it.

    Of fewer `repeats` than the config's own nothing is stored; published values alone are asked for.
    """

    cards: tuple[str, ...] = ()
    published: tuple[Published, ...] = ()
    each_push: bool = False
    config: str = ""  # else the job's name
    repeats: int | None = None


CARDOSO = ("adult", "compas", "dutch")
FRIEDLER = ("adult-friedler", "ricci", "german", "propublica-recidivism", "propublica-violent-recidivism")
JOBS = {
    "quickstart": Job(each_push=True),
    "zliobaite2015": Job(("adult",), (Published(48, 50, within=0.02),), each_push=True),
    "zliobaite2017": Job(each_push=True),
    "networks": Job(
        CARDOSO,
        (Published(457, 480, "2,3,4,5,6,7", 0.05), Published(372, 480, "2,3,4,5,6,7", 0.02)),
        each_push=True,
        config="cardoso2019",
        repeats=1,
    ),
    "baumann2023": Job(),
    "friedler2019": Job(FRIEDLER, (Published(667, 685),)),
    "cardoso2019": Job(
        CARDOSO, (Published(470, 480, "2,3,4,5,6,7", 0.05), Published(411, 480, "2,3,4,5,6,7", 0.02))
    ),
    "cardoso2019-zafar": Job(
        CARDOSO,
        (
            Published(52, 90, "10", 0.05),
            Published(32, 90, "10", 0.02),
            Published(70, 90, "11", 0.05),
            Published(41, 90, "11", 0.02),
        ),
    ),
    "worlds": Job(),
    "datasets": Job(),
}
"""Published values: two fewer than the config's repeats reach. Žliobaitė (2017) and Baumann et al. (2023)
printed none; theirs, and what is no paper's, are held against what was found before."""


def asked(published: Published) -> list[str]:
    """Return the options of `fairbench compare` that ask for so many values.

    >>> asked(Published(48, 50, tables="1", within=0.02))
    ['--fail-under', '48', '--table', '1', '--tolerance', '0.02']
    """
    options = ["--fail-under", str(published.least)]
    if published.tables:
        options += ["--table", published.tables]
    if published.within is not None:
        options += ["--tolerance", str(published.within)]
    return options


def reproduce(name: str, work: Path, found: Path, jobs: int) -> list[str]:
    """Run a config and ask both questions; return what moved, in words.

    Raises
    ------
    SystemExit
        A command failed.
    """
    began, job, folder = time.monotonic(), JOBS[name], work / name
    config = job.config or name
    moved = []

    def say(words: str) -> None:
        print(f"{name}, {time.monotonic() - began:.0f} s: {words}", flush=True)

    if job.cards and "FAIRBENCH_DATA" not in os.environ:
        say(f"fairbench data fetch {' '.join(job.cards)}")
        if run_command(["data", "fetch", *job.cards]):
            raise SystemExit(2)
    say("run")
    if job.repeats is None:
        results.run_config(config, folder, [], jobs)
        say("the results, and results/found")
        if not results.check(name, found, folder):
            moved.append("other results than found before")
    else:
        results.run_config(config, folder, ["--set", f"repeats={job.repeats}"], jobs)
    for published in job.published:  # writes the comparison anew, so it is the last
        command = ["compare", str(folder), "--paper", results.PAPERS[config], *asked(published)]
        say(f"fairbench {' '.join(command)}")
        code = run_command(command)
        if code > 1:
            raise SystemExit(2)
        if code:
            moved.append(f"fewer than {published.least} of the {published.of} published values agree")
    say(", and ".join(moved) or "all came out")
    return moved


def main(arguments: list[str] | None = None) -> int:
    """Run the jobs that are named; return 1 where a number moved."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="+", metavar="NAME", choices=JOBS, help=f"of {', '.join(JOBS)}")
    parser.add_argument("--work", type=Path, default=results.ROOT / "results")
    parser.add_argument("--found", type=Path, default=results.FOUND)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args(arguments)
    moved = [reproduce(name, given.work, given.found, given.jobs) for name in given.names]
    return int(any(moved))


if __name__ == "__main__":
    sys.exit(main())
