"""``fairbench network query``: what a network says of some columns, given others."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Annotated, Literal

import typer

from fairbench_cli.base.errors import suggest, user_error
from fairbench_cli.cli.console import print_rows, say
from fairbench_cli.cli.options import Net


def query(
    net: Net,
    of: Annotated[
        list[str],
        typer.Option(metavar="COLUMN", help="What is asked for; several: their joint distribution."),
    ],
    given: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=LEVEL", help="What is known. May be given several times."),
    ] = None,
    engine: Annotated[
        Literal["exact", "pomegranate"],
        typer.Option(help="Exact, or approximate: pomegranate's loopy belief propagation, for one column."),
    ] = "exact",
) -> None:
    """Compute what a network says of some columns, given others; all else is summed over."""
    from fairbench_cli.network.files import open_network
    from fairbench_cli.network.query import posterior

    network, _ = open_network(net)
    known = _known(given or [], network.names)
    found = posterior(network, of, known, engine)
    heads = [*of, "probability"]
    levels = (network.columns[network.index(name)].levels for name in of)
    rows = [[*each, f"{p:.6f}"] for each, p in zip(product(*levels), found.table.ravel(), strict=True)]
    words = ", ".join(f"{name}={level}" for name, level in known.items())
    if engine == "pomegranate":
        say("By pomegranate's loopy belief propagation: approximate where two paths join two columns.")
    elif known:
        say(f"P({words}) = {found.evidence:.6g}")
    print_rows(heads, rows, right=1, title=f"P({', '.join(of)} | {'given' if known else '-'})")


def _known(given: Iterable[str], names: Sequence[str]) -> dict[str, str]:
    """Return the levels that are given as COLUMN=LEVEL; a column's name or a level may hold a "="."""
    known: dict[str, str] = {}
    for text in given:
        cuts = [i for i, letter in enumerate(text) if letter == "="]
        if not cuts:
            raise user_error(f'cannot read "{text}"', "write COLUMN=LEVEL", "--given")
        cut = next((i for i in cuts if text[:i] in names), cuts[0])
        name, level = text[:cut], text[cut + 1 :]
        if name not in names:
            raise user_error(f'the network has no column "{name}"', suggest(name, names), "--given")
        if known.get(name, level) != level:
            raise user_error(f"{name} is given twice: {known[name]} and {level}", "leave one out", "--given")
        known[name] = level
    return known
