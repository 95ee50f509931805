"""Learn the networks that ship with fairbench, and measure them as stand-ins for their data.

``python benchmarks/shipped.py [--data-dir FOLDER] [NAME …]`` writes ``datasets/NAME.network.json``, the same
bytes again from the same files, and prints what it took. Without names it writes again those that are there.
Either way the tables of ``docs/standins.md`` are then made of the files.
"""

import argparse
import time
from itertools import pairwise
from pathlib import Path

from fairbench_cli.data.card import Card, find_card, read_card, shipped_cards
from fairbench_cli.data.load import load
from fairbench_cli.data.locate import find_files
from fairbench_cli.data.table import Column
from fairbench_cli.document.markdown import markdown
from fairbench_cli.document.model import Document, Section, plain_table
from fairbench_cli.experiment.standin_quality import CLASSIFIED_BY, measured_stand_in
from fairbench_cli.network.bias import bias_kind
from fairbench_cli.network.draw import sample
from fairbench_cli.network.families import fit
from fairbench_cli.network.files import Meta, open_network, save
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.structure import LearnSettings, learn_structure, source_facts

PAGE = Path(__file__).parents[1] / "docs" / "standins.md"
TABLES = "<!-- Made by benchmarks/shipped.py. -->\n"

# As they were learned for the papers, where β acts on one attribute. All others have an arc from every column
# that β edits.
SETTINGS = {
    "adult": LearnSettings(),
    "compas": LearnSettings(whitelist=(("race", "two_year_recid"),)),
    "dutch": LearnSettings(whitelist=(("sex", "occupation"),)),
}


def main() -> None:
    """Write the networks that are named, or all of them, and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    print("| data set | rows | columns | read | learn | draw | measure |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in given.names or [*names()]:
        print(made(name, shipped_cards(), given.data_dir), flush=True)
    PAGE.write_text(
        PAGE.read_text(encoding="utf-8").partition(TABLES)[0] + TABLES + tables(), encoding="utf-8"
    )


def names() -> list[str]:
    """Return the data sets with a network."""
    return sorted(path.name.removesuffix(".network.json") for path in shipped_cards().glob("*.network.json"))


def made(name: str, folder: Path, data_dir: Path | None = None) -> str:
    """Write the network of a data set into a folder; return the seconds of processor time that it took."""
    ticks = [time.process_time()]
    card, found = find_files(name, data_dir)
    dataset = load(card.for_network(), found)
    ticks.append(time.process_time())
    settings = SETTINGS.get(name) or LearnSettings(whitelist=tuple(arcs(card, dataset.table.columns)))
    structure = learn_structure(dataset.table, settings)
    net = fit(dataset.table, structure.parents)
    ticks.append(time.process_time())
    sample(net, len(dataset), 0)
    ticks.append(time.process_time())
    facts = source_facts(name, dataset.sha256, len(dataset), settings)
    stand_in = measured_stand_in(dataset, net)
    ticks.append(time.process_time())
    meta = Meta(settings.learner, settings.score, structure.score, structure.bic, facts, stand_in)
    save(net, folder / f"{name}.network.json", meta)
    seconds = [f"{end - start:.2f}" for start, end in pairwise(ticks)]
    return f"| {' | '.join([name, f'{len(dataset):,}', str(len(net.columns)), *seconds])} |"


def arcs(card: Card, columns: tuple[Column, ...]) -> list[tuple[str, str]]:
    """Return an arc to the outcome from every column that β acts on."""
    levels = {column.name: column.levels for column in columns}
    single = [name for name, protected in card.protected.items() if protected.of is None]
    edited = dict.fromkeys(column for name in single for column in card.bias_groups(name, levels))
    return [(column, card.label.column) for column in edited]


def tables() -> str:
    """Return the tables of the page, made of the files of the networks."""
    found = [(read_card(find_card(name)), *open_network(name)) for name in names()]
    networks = plain_table(
        "",
        ["data set", "β acts on", "β is", "rows", "columns", "levels", "arcs", "parameters", "kB"],
        [
            [
                card.name,
                *_bias(card, net),
                f"{meta.source['rows']:,}",
                *(
                    str(n)
                    for n in (
                        len(net.columns),
                        sum(len(column.levels) for column in net.columns),
                        len(net.arcs),
                        net.parameters,
                        round((shipped_cards() / f"{card.name}.network.json").stat().st_size / 1000),
                    )
                ),
            ]
            for card, net, meta in found
        ],
        3,
    )
    where = ("data", "draws", "draws, tested on data")
    measured = [(card.name, meta.stand_in) for card, _, meta in found if meta.stand_in is not None]
    classified = [
        Section(
            name,
            tables=(
                plain_table(
                    "",
                    ["data set", "by", *(f"{what}: {on}" for what in ("accuracy", "gap") for on in where)],
                    [
                        [data, one.attribute]
                        + [
                            f"{mean:z.3f} ± {spread:.3f}"
                            for what in ("accuracy", "gap")
                            for mean, spread in (getattr(one.classifiers[name][on], what) for on in where)
                        ]
                        for data, one in measured
                    ],
                    2,
                ),
            ),
        )
        for name in CLASSIFIED_BY
    ]
    labels = plain_table(
        "",
        ["data set", "attribute", "gap: data", "gap: network"],
        [
            [
                data,
                attribute,
                f"{rates.data[0] - rates.data[1]:z.3f}",
                f"{rates.network[0] - rates.network[1]:z.3f}",
            ]
            for data, one in measured
            for attribute, rates in one.base_rates.items()
        ],
        2,
    )
    worst = plain_table(
        "",
        ["data set", "columns", "distance", "by chance"],
        [
            [
                data,
                " and ".join(one.worst.columns),
                f"{one.worst.distance:.3f}",
                "{:.3f} ± {:.3f}".format(*one.worst.by_chance),
            ]
            for data, one in measured
        ],
        2,
    )
    sections = (
        Section("the networks", tables=(networks,)),
        *classified,
        Section("the gap in the labels", tables=(labels,)),
        Section("the worst pair of columns", tables=(worst,)),
    )
    return "\n" + markdown(Document("", sections=sections))


def _bias(card: Card, net: BayesNet) -> tuple[str, str]:
    """Return the attributes that β can act on, and what it does to people by the first."""
    levels = {column.name: column.levels for column in net.columns}
    single = [name for name, protected in card.protected.items() if protected.of is None]
    parents = {*net.parents_of(card.label.column)}
    able = [name for name in single if parents.issuperset(card.bias_groups(name, levels))]
    edited = card.bias_groups(able[0], levels)
    return ", ".join(able), bias_kind(net.names, net.parents, card.label.column, edited)


if __name__ == "__main__":
    main()
