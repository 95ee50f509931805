"""Learn the networks that ship with fairbench, and measure them as stand-ins for their data.

``python benchmarks/shipped.py [--data-dir FOLDER] [NAME …]`` writes ``datasets/NAME.network.json``; the same
bytes again from the same files. Without names it writes all of them, and ``docs/standins.md``.
"""

import argparse
import time
from pathlib import Path

from fairbench_cli.data.card import Card, shipped_cards
from fairbench_cli.data.load import Dataset, load
from fairbench_cli.data.locate import find_files
from fairbench_cli.experiment.standins import measured_stand_in
from fairbench_cli.network.families import fit
from fairbench_cli.network.files import Meta, save
from fairbench_cli.network.structure import LearnSettings, learn_structure, source_facts

# A variant has a network of its own where its columns are others.
SHIPPED = ("adult", "compas", "dutch", "german", "ricci")

# Adult and Dutch are as they were learned for the papers, where β acts on one column of each.
SETTINGS = {
    "adult": LearnSettings(),
    "compas": LearnSettings(whitelist=(("race", "two_year_recid"),)),
    "dutch": LearnSettings(whitelist=(("sex", "occupation"),)),
}


def main() -> None:
    """Write the networks that are named, or all of them and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    for name in given.names or SHIPPED:
        print(_written(name, given.data_dir), flush=True)


def _written(name: str, data_dir: Path | None) -> str:
    """Write the network of a data set; return what it took and what it is like."""
    start = time.process_time()
    card, found = find_files(name, data_dir)
    dataset = load(card.for_network(), found)
    read = time.process_time()
    settings = SETTINGS.get(name) or LearnSettings(whitelist=tuple(_arcs(card, dataset)))
    structure = learn_structure(dataset.table, settings)
    net = fit(dataset.table, structure.parents)
    learned = time.process_time()
    facts = source_facts(name, dataset.sha256, len(dataset), settings)
    stand_in = measured_stand_in(dataset, net)
    measured = time.process_time()
    meta = Meta(settings.learner, settings.score, structure.score, structure.bic, facts, stand_in)
    path = shipped_cards() / f"{name}.network.json"
    save(net, path, meta)
    seconds = ", ".join(
        f"{what} {end - begin:.1f} s"
        for what, begin, end in (
            ("read", start, read),
            ("learn", read, learned),
            ("measure", learned, measured),
        )
    )
    return (
        f"{name}: {len(dataset)} rows, {len(net.columns)} columns, {len(net.arcs)} arcs, "
        f"{net.parameters} parameters, {path.stat().st_size / 1000:.1f} kB; {seconds}; {stand_in.worst}"
    )


def _arcs(card: Card, dataset: Dataset) -> list[tuple[str, str]]:
    """Return an arc to the outcome from every column that β acts on."""
    levels = {column.name: column.levels for column in dataset.table.columns}
    single = [name for name, protected in card.protected.items() if protected.of is None]
    edited = dict.fromkeys(column for name in single for column in card.bias_groups(name, levels))
    return [(column, card.label.column) for column in edited]


if __name__ == "__main__":
    main()
