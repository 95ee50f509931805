"""Whether results can be what their plan says, and with which versions they were computed."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.journal.journal import RETRIED, Place, Reading
from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.experiment.versions import Versions

SLACK = 1e-9  # of counts in expectation


def checked(reading: Reading, plan: RunPlan) -> Reading:
    """Return what was read without the records that cannot be of this plan, which are named as damaged.

    The counts of a repeat are those of the test rows, whose number the plan knows, by the joint levels of its
    protected attributes; and so are those at each acceptance rate.
    """
    groups = {
        (one["dataset"], one["attribute"]): len(plan.protected(one["dataset"], one["attribute"]).groups)
        for one in plan.datasets
    }
    rows = {(one["dataset"], one["attribute"]): one.get("test_rows") for one in plan.datasets}
    expected = {
        cell["key"]: (groups[cell["dataset"], cell["attribute"]], rows[cell["dataset"], cell["attribute"]])
        for cell in plan.cells
    }
    wrong: dict[Place, str] = {}
    for place, record in reading.records.items():
        if record.counts is not None and place[0] in expected:
            fault = _fault(record, *expected[place[0]])
            if fault is not None:
                wrong[place] = fault
    if not wrong:
        return reading
    damages = [reading.damage(place, what) for place, what in wrong.items()]
    records = {place: record for place, record in reading.records.items() if place not in wrong}
    return replace(reading, records=records, damages=(*reading.damages, *damages))


def _fault(record: Repeat, groups: int, rows: int | None) -> str | None:
    """Return what is wrong with the counts of a repeat."""
    counts = record.counts
    if counts is None:
        return None
    if len(counts.n) != groups:
        return f"its counts are of {len(counts.n)} groups, not {groups}"
    total = float(counts.n.sum())
    if rows is not None and abs(total - rows) > SLACK * rows:
        return f"its counts sum to {total:.12g} rows, not {rows}"
    if record.swept is not None:
        sums = record.swept.n.sum(axis=(1, 2, 3))
        if (np.abs(sums - total) > SLACK * total).any():
            return "its counts at the acceptance rates sum to other numbers of rows"
    return None


def other_versions(
    reading: Reading, keys: Iterable[str], versions: Versions
) -> dict[str, tuple[tuple[str, ...], str]]:
    """Return the packages that the results of some cells were computed with in other versions: theirs, ours.

    Results from before journals said their versions are taken as they are.
    """
    wanted = set(keys)
    used = {
        reading.file_number(place)
        for place, record in reading.records.items()
        if place[0] in wanted and record.status not in RETRIED
    }
    found: dict[str, set[str]] = {}
    for header in (reading.files[number].header for number in used):
        if header is None:
            continue
        for name, (theirs, _) in versions.differences(header.versions).items():
            found.setdefault(name, set()).add(theirs)
    return {name: (tuple(sorted(theirs)), versions.packages[name]) for name, theirs in found.items()}


def mixed_versions(headers: Iterable[Mapping[str, str]]) -> dict[str, list[str]]:
    """Return the packages of which results were computed with several versions, and these.

    >>> mixed_versions([{"numpy": "2.2", "numba": "0.63"}, {"numpy": "2.3", "numba": "0.63"}])
    {'numpy': ['2.2', '2.3']}
    """
    found: dict[str, set[str]] = {}
    for versions in headers:
        for name, version in versions.items():
            found.setdefault(name, set()).add(version)
    return {name: sorted(versions) for name, versions in found.items() if len(versions) > 1}
