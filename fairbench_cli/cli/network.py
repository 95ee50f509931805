"""``fairbench network``: learn, show, query, draw and sample Bayesian networks."""

import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fairbench_cli.base.errors import suggest, user_error
from fairbench_cli.base.files import keep_inputs, make_folder, write_bytes, write_text
from fairbench_cli.cli.console import out, print_rows, say
from fairbench_cli.cli.options import Attribute, DataDir, Net, NetCard, to
from fairbench_cli.cli.query import query

if TYPE_CHECKING:  # light when asked for --help
    from fairbench_cli.data.card import BiasTarget
    from fairbench_cli.data.table import Roles
    from fairbench_cli.network.files import Meta
    from fairbench_cli.network.model import BayesNet

BETWEEN = 3  # blanks between two columns of a printed table

app = typer.Typer(no_args_is_help=True, help="Learn, look at, ask and sample Bayesian networks.")


@app.command()
def learn(
    source: Annotated[
        str,
        typer.Argument(
            metavar="DATASET|FILE.csv",
            help="A data set, a card's path, or a bare CSV (all nominal, levels by byte value).",
            show_default=False,
        ),
    ],
    output: Annotated[Path, to("Where the network goes.")],
    learner: Annotated[
        Literal["hill-climbing", "tabu", "chow-liu", "exact"],
        typer.Option(help="Search; chow-liu (a tree) and exact (few columns) need the extra pomegranate."),
    ] = "hill-climbing",
    score: Annotated[Literal["bic", "aic", "bde", "k2"], typer.Option(help="Score to climb.")] = "bic",
    max_parents: Annotated[int | None, typer.Option(min=1, help="Most parents a column may have.")] = None,
    iss: Annotated[float, typer.Option(min=1e-9, help="Imaginary sample size (bde only).")] = 1.0,
    require_arc: Annotated[
        list[str] | None, typer.Option(help="Require an arc: FROM>TO. May be given several times.")
    ] = None,
    forbid_arc: Annotated[
        list[str] | None, typer.Option(help="Forbid an arc: FROM>TO. May be given several times.")
    ] = None,
    outcome_sink: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Let this column have no children.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Learn structure and CPTs; hill-climbing and tabu agree arc for arc with R's bnlearn 5.2.1."""
    from fairbench_cli.data.load import load, table_from_csv
    from fairbench_cli.data.locate import file_sha256, find_files
    from fairbench_cli.network.families import fit
    from fairbench_cli.network.files import Meta, save
    from fairbench_cli.network.structure import LearnSettings, learn_structure, source_facts

    keep_inputs([source], [output], "--output")
    whitelist, blacklist = _arcs(require_arc), _arcs(forbid_arc)
    settings = LearnSettings(learner, score, max_parents, whitelist, blacklist, outcome_sink, iss=iss)
    if source.lower().endswith(".csv"):
        path = Path(source)
        table, name, sha256 = table_from_csv(path), path.name, {path.name: file_sha256(path)}
    else:
        dataset = load(*find_files(source, data_dir))
        table, name, sha256 = dataset.table, dataset.card.name, dataset.sha256
    structure = learn_structure(table, settings)
    net = fit(table, structure.parents)
    make_folder(output.parent)
    facts = source_facts(name, sha256, len(table), settings)
    save(net, output, Meta(learner, score, structure.score, structure.bic, facts))
    say(
        f"{output}: {len(net.columns)} nodes, {len(net.arcs)} arcs, {net.parameters} parameters, "
        f"{score} {structure.score:.6f}, BIC {structure.bic:.6f}"
    )


@app.command()
def show(
    net: Net,
    node: Annotated[
        list[str] | None, typer.Option(help="Show this node's CPT. May be given several times.")
    ] = None,
) -> None:
    """Show a network: its arcs, or the CPT of a node."""
    from fairbench_cli.network.files import open_network

    network, meta = open_network(net)
    for name in node or []:
        if name not in network.names:
            raise user_error(f'the network has no node "{name}"', suggest(name, network.names), "--node")
    for name in node or []:
        heads, rows, right = _cpt_rows(network, name, out().width)
        print_rows(
            heads, rows, right=right, title=f"P({name} | {', '.join(network.parents_of(name)) or '-'})"
        )
    if not node:
        source = meta.source.get("dataset", "?")
        say(f"{source}: {meta.learner}, {meta.score_name} {meta.score:.6f}, BIC {meta.bic:.6f}")
        rows = [
            [column.name, str(len(column.levels)), ", ".join(network.parents_of(column.name))]
            for column in network.columns
        ]
        print_rows(["node", "levels", "parents"], rows)


app.command()(query)


@app.command()
def draw(
    net: Net,
    output: Annotated[Path, to("Picture to write: .svg, .png or .pdf.")],
    card: NetCard = None,
    attribute: Attribute = None,
) -> None:
    """Draw a network, with the outcome, the protected attribute and what β edits marked."""
    from fairbench_cli.network.files import open_network
    from fairbench_cli.report.figures import ENDINGS
    from fairbench_cli.report.figures.canvas import figure_bytes, house_style
    from fairbench_cli.report.figures.network import Marks, draw_network

    ending = output.suffix.lower().removeprefix(".")
    if ending not in ENDINGS:
        what = f'cannot draw a picture of the kind "{output.suffix}"'
        raise user_error(what, "name a .svg, .png or .pdf file", "--output")
    network, meta = open_network(net)
    found = _roles(network, meta, card, attribute)
    if found is None and attribute:
        raise user_error("--attribute needs a card", "name it: --card CARD.yaml", "--attribute")
    marks = Marks(found[0].label, found[0].attribute, found[1].column) if found else Marks(None, None, None)
    title = f"Bayesian network: {meta.source.get('dataset', Path(net).stem)}"
    about = f"{len(network.columns)} nodes, {len(network.arcs)} arcs, {meta.learner}, BIC {meta.bic:,.0f}."
    with house_style():
        content = figure_bytes(draw_network(network, marks, title, about), ending)
    make_folder(output.parent)
    write_bytes(output, content)
    say(f"{output}: {len(network.columns)} nodes, {len(network.arcs)} arcs")


@app.command()
def sample(
    net: Net,
    n: Annotated[int, typer.Option("-n", min=1, help="Rows.", show_default=False)],
    output: Annotated[Path, to("CSV to write; - for standard output.")],
    beta: Annotated[float, typer.Option(min=0, max=1, help="Bias to add, 0 to 1.")] = 0.0,
    card: NetCard = None,
    attribute: Attribute = None,
    shift: Annotated[
        Literal["deprived", "both"], typer.Option(help="Edit the deprived rows, or both groups'.")
    ] = "deprived",
    seed: Annotated[int, typer.Option(min=0, help="Seed.")] = 0,
) -> None:
    """Sample rows at a bias level β, for use anywhere else."""
    from fairbench_cli.network.draw import sample as draw
    from fairbench_cli.network.files import open_network

    if beta != beta:  # NaN passes every range
        raise user_error("beta is not a number", "give a beta from 0 to 1", "--beta")
    if str(output) != "-":
        keep_inputs([net], [output], "--output")
    network, meta = open_network(net)
    if beta > 0:
        network = _at_beta(network, meta, beta, card, attribute, both=shift == "both")
    elif card or attribute or shift == "both":
        what = "--card, --attribute and --shift say what --beta edits, but it is 0"
        raise user_error(what, "give --beta, or none of them")
    text = draw(network, n, seed).to_frame().to_csv(index=False, lineterminator="\n")
    if str(output) == "-":
        sys.stdout.write(text)
    else:
        make_folder(output.parent)
        write_text(output, text)


def _at_beta(
    network: "BayesNet", meta: "Meta", beta: float, card: str | None, attribute: str | None, *, both: bool
) -> "BayesNet":
    """Return the network at β, with label and groups from a card: the one named, or its data set's."""
    from fairbench_cli.network.bias import shift

    found, name = _roles(network, meta, card, attribute), card or str(meta.source.get("dataset", ""))
    if found is None:
        what, fix = f"the network is of {name}, whose card does not ship with fairbench", "name its card"
        if not name or name.lower().endswith(".csv"):
            what = "a network of a bare CSV does not say which column is the outcome and who is deprived"
        raise user_error(what, f"{fix}: --card CARD.yaml", "--beta")
    roles, target = found
    if target.column not in network.parents_of(roles.label):
        what = f"{target.column} is no parent of the outcome {roles.label}, so β has nothing to edit"
        arc = f'--require-arc "{target.column}>{roles.label}"'
        fix = f"learn one with it: fairbench network learn {name} {arc} -o NET.json"
        raise user_error(what, fix, "--beta")
    groups = target.column, target.deprived, target.favoured
    return shift(network, roles.label, roles.favourable, *groups, beta, both=both)


def _roles(
    network: "BayesNet", meta: "Meta", named: str | None, attribute: str | None
) -> "tuple[Roles, BiasTarget] | None":
    """Return label and groups, and what β edits, by the card named or the data set's; None without one."""
    from fairbench_cli.network.files import card_of_network

    card = card_of_network(meta, named)
    if card is None:
        return None
    chosen = card.attribute(attribute)
    card.refuse_joint(chosen)
    for column in (chosen, card.label.column):
        if column not in network.names:
            raise user_error(f'the network has no node "{column}"', "give the card of its data", "--card")
    roles = card.roles(chosen, {column.name: column.levels for column in network.columns})
    return roles, card.bias_target(roles)


def _arcs(given: list[str] | None) -> tuple[tuple[str, str], ...]:
    """Return arcs from FROM>TO; -> and → mean the same."""
    arcs = []
    for text in given or []:
        start, arrow, end = text.replace("→", ">").replace("->", ">").partition(">")
        if not (start.strip() and arrow and end.strip()):
            raise user_error(f"cannot read the arc {text!r}", "write FROM>TO, in quotes")
        arcs.append((start.strip(), end.strip()))
    return tuple(arcs)


def _cpt_rows(net: "BayesNet", node: str, width: int) -> tuple[list[str], list[list[str]], int]:
    """Return heads, rows and the number of numeric columns of a node's table.

    One row per parent configuration where that fits into `width` characters, else one row per parent
    configuration and level. Probabilities have six decimals, to show whether a paper rounded or
    truncated.
    """
    own = net.columns[net.index(node)]
    parents = net.parents_of(node)
    levels = [net.columns[net.index(parent)].levels for parent in parents]
    table = net.cpt(node).reshape(-1, len(own.levels))
    heads = [*parents, *(f"{node}={level}" for level in own.levels)]
    pairs = list(zip(product(*levels), table, strict=True))
    rows = [[*configuration, *(f"{p:.6f}" for p in row)] for configuration, row in pairs]
    widest = (max(map(len, column)) for column in zip(heads, *rows, strict=True))
    if sum(widest) + BETWEEN * (len(heads) + 1) <= width:
        return heads, rows, len(own.levels)
    long = [
        [*configuration, level, f"{p:.6f}"]
        for configuration, row in pairs
        for level, p in zip(own.levels, row, strict=True)
    ]
    return [*parents, node, "probability"], long, 1
