"""On PYTHONPATH this puts the badly behaved techniques into the registry of a run and of its workers."""

from fairbench_cli.base.registry import Entry
from fairbench_cli.interventions.registry import INTERVENTIONS

for name in ("Raises", "Exits", "Kills", "Impossible", "Heals", "Warns", "OddFacts", "OddStatus", "Slow"):
    INTERVENTIONS.entries[name.lower()] = Entry(f"rogues:{name}")
