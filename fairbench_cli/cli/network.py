"""``fairbench network``: learn, show, query, draw and sample Bayesian networks."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fairbench_cli.base.errors import UserError, suggest, user_error
from fairbench_cli.base.files import make_folder, refuse_overwriting, write_text
from fairbench_cli.cli.console import fold, out, print_rows, say
from fairbench_cli.cli.options import Attribute, DataDir, Net, NetCard, output_file

if TYPE_CHECKING:  # light when asked for --help
    import pandas as pd

    from fairbench_cli.api.network import Network

BETWEEN = 3  # blanks between two columns of a printed table

Beta = Annotated[float | None, typer.Option(min=0, max=1, help="Bias to add, 0 to 1.", show_default=False)]
Attributes = Annotated[
    list[str] | None,
    typer.Option(
        "--attribute",
        help="Protected attribute that β acts on; given several times, one after another.",
        show_default="the card's",
    ),
]
Bias = Annotated[
    str | None,
    typer.Option(
        metavar="YAML",
        help="Mechanisms of bias in order, as a config has them: '\\[label: {flip: 0.5}]'. The network is "
        "then that of the world: NAME is what is recorded, NAME.true what is true.",
    ),
]
Shift = Annotated[Literal["deprived", "both"], typer.Option(help="Edit the deprived rows, or both groups'.")]
Edit = Annotated[Literal["outcome", "group", "as-learned"], typer.Option(help="Whose table β edits.")]

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
    output: Annotated[Path, output_file("Where the network goes.")],
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
    from fairbench_cli.cli.activity import Activity

    refuse_overwriting([source], [output], "--output")
    with Activity(f"reading {source}") as activity:
        from fairbench_cli.api.network import learn as learn_network

        learned = learn_network(
            source,
            data_dir=data_dir,
            learner=learner,
            score=score,
            max_parents=max_parents,
            require_arcs=require_arc or (),
            forbid_arcs=forbid_arc or (),
            outcome_sink=outcome_sink,
            iss=iss,
            tell=activity.tell,
        )
    make_folder(output.parent)
    learned.save(output)
    say(
        f"{output}: {len(learned.columns)} nodes, {len(learned.arcs)} arcs, "
        f"{learned.net.parameters} parameters, {score} {learned.score:.6f}, BIC {learned.bic:.6f}"
    )
    if learned.card is None:
        _say_levels(learned)


def _say_levels(learned: "Network") -> None:
    """Say what a card would have: a word for missing cells, what is constant, what has too many levels."""
    from fairbench_cli.data.columns import MISSING
    from fairbench_cli.data.load import MANY_LEVELS
    from fairbench_cli.data.number_writing import GAPS

    columns = learned.net.columns
    missing = (*GAPS, MISSING)
    gaps = []
    for column in columns:
        gaps += [f'{column.name} ("{level}")' for level in column.levels if level in missing]
    constant = [column.name for column in columns if len(column.levels) == 1]
    many = [f"{column.name} ({len(column.levels)})" for column in columns if len(column.levels) > MANY_LEVELS]
    for column_names, effect in (
        (gaps, "missing cells are a level, which arcs and tables count like any other"),
        (constant, "one value in all rows, so no arc is learned"),
        (many, "so many levels hardly leave room for an arc: a card merges them (recode)"),
    ):
        if column_names:
            fold(f"note: {', '.join(column_names)}: {effect}")


@app.command()
def show(
    net: Net,
    node: Annotated[
        list[str] | None, typer.Option(help="Show this node's CPT. May be given several times.")
    ] = None,
    bias: Bias = None,
    card: NetCard = None,
    attribute: Attribute = None,
) -> None:
    """Show a network: its arcs, or the CPT of a node."""
    if bias is None and (card or attribute):
        problem = "--card and --attribute say whom --bias concerns, and it is not given"
        raise user_error(problem, "give --bias, or neither of them")
    network = _of_world(_opened(net, card), bias, attribute)
    try:
        tables = {name: network.cpt(name) for name in node or ()}
    except UserError as error:
        raise UserError(*error.reported_at("--node")) from None
    for name, table in tables.items():
        heads, rows, n_numeric = _cpt_rows(table, out().width)
        title = f"P({name} | {', '.join(network.net.parents_of(name)) or '-'})"
        print_rows(heads, rows, n_right=n_numeric, title=title)
    if not node:
        meta = network.meta
        source = meta.source.get("dataset", "?")
        say(f"{source}: {meta.learner}, {meta.score_name} {meta.score:.6f}, BIC {meta.bic:.6f}")
        rows = [
            [column.name, str(len(column.levels)), ", ".join(network.net.parents_of(column.name))]
            for column in network.net.columns
        ]
        print_rows(["node", "levels", "parents"], rows)


@app.command()
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
    beta: Beta = None,
    bias: Bias = None,
    card: NetCard = None,
    attribute: Attributes = None,
    shift: Shift = "deprived",
    edit: Edit = "outcome",
) -> None:
    """Compute what a network says of some columns, given others; all else is summed over."""
    network = _biased(net, beta, bias, card, attribute, shift, edit)
    evidence = _read_evidence(given or [], network.columns)
    evidence |= network.inclusion(of, evidence)
    answer = network.query(of, evidence, engine=engine)
    condition = ", ".join(f"{name}={level}" for name, level in evidence.items())
    if engine == "pomegranate":
        say("By pomegranate's loopy belief propagation: approximate where two paths join two columns.")
    elif evidence:
        say(f"P({condition}) = {answer.attrs['evidence']:.6g}")
    levels = answer.index.to_frame().to_numpy()
    rows = [list(row_levels) + [f"{p:.6f}"] for row_levels, p in zip(levels, answer, strict=True)]
    title = f"P({', '.join(of)} | {'given' if evidence else '-'})"
    print_rows(of + ["probability"], rows, n_right=1, title=title)


@app.command()
def draw(
    net: Net,
    output: Annotated[Path, output_file("Picture to write, a .svg file.")],
    bias: Bias = None,
    card: NetCard = None,
    attribute: Attribute = None,
) -> None:
    """Draw a network, with the outcome, the protected attribute and what β edits marked."""
    if output.suffix.lower() != ".svg":
        problem = f'cannot draw a picture of the kind "{output.suffix}"'
        raise user_error(problem, "name a .svg file; a browser shows it and prints it as PDF", "--output")
    network = _opened(net, card)
    if network.card is None and attribute:
        raise user_error("--attribute needs a card", "name it: --card CARD.yaml", "--attribute")
    network = _of_world(network, bias, attribute)
    drawing = network.figure(attribute)
    make_folder(output.parent)
    drawing.save(output)
    say(f"{output}: {len(network.columns)} nodes, {len(network.arcs)} arcs")


@app.command()
def sample(
    net: Net,
    n: Annotated[int, typer.Option("-n", min=1, help="Rows.", show_default=False)],
    output: Annotated[Path, output_file("CSV to write; - for standard output.")],
    beta: Beta = None,
    bias: Bias = None,
    truth: Annotated[
        bool,
        typer.Option(
            "--truth", help="With --bias: also write what is true, as NAME.true where it may differ."
        ),
    ] = False,
    card: NetCard = None,
    attribute: Attributes = None,
    shift: Shift = "deprived",
    edit: Edit = "outcome",
    seed: Annotated[int, typer.Option(min=0, help="Seed.")] = 0,
) -> None:
    """Sample rows with a known bias, β or that of a world, for use anywhere else."""
    if truth and bias is None:
        problem = "without --bias what is recorded is true"
        raise user_error(problem, "give --bias, or leave it out", "--truth")
    if str(output) != "-":
        refuse_overwriting([net], [output], "--output")
    biased = _biased(net, beta, bias, card, attribute, shift, edit)
    text = biased.sample(n, seed, truth=truth).to_frame().to_csv(index=False, lineterminator="\n")
    if str(output) == "-":
        sys.stdout.write(text)
    else:
        make_folder(output.parent)
        write_text(output, text)


def _biased(
    net: str, beta: Beta, bias: Bias, card: NetCard, attribute: Attributes, shift: Shift, edit: Edit
) -> "Network":
    """Return a network with the bias that the options ask for."""
    if beta != beta:  # NaN passes every range
        raise user_error("beta is not a number", "give a beta from 0 to 1", "--beta")
    if bias is not None:
        if beta or shift == "both" or edit != "outcome":
            problem = "--beta, --shift and --edit change one table, and --bias takes the place of that"
            raise user_error(problem, "give one of the two", "--bias")
        if len(attribute or ()) > 1:
            raise user_error("--bias concerns the groups of one attribute", "give --attribute once")
        return _of_world(_opened(net, card), bias, attribute[0] if attribute else None)
    if beta is None and (card or attribute or shift == "both" or edit != "outcome"):
        problem = "--card, --attribute, --shift and --edit say what --beta edits, and it is left out"
        raise user_error(problem, "give --beta or --bias, or none of them")
    network = _opened(net, card)
    if not beta:
        return network
    _check_card(network, "--beta")
    try:
        return network.tilt(beta, attribute, both=shift == "both", edit=edit)
    except UserError as error:
        raise UserError(*error.reported_at("--card" if card else "--beta")) from None


def _of_world(network: "Network", bias: str | None, attribute: str | None) -> "Network":
    """Return the world that the mechanisms of ``--bias`` make of a network; without them the network."""
    from fairbench_cli.base.strict_yaml import parse_yaml

    if bias is None:
        return network
    _check_card(network, "--bias")
    try:
        return network.world(parse_yaml(bias, "--bias").data, attribute)
    except UserError as error:
        raise UserError(*error.reported_at("--bias")) from None


def _check_card(network: "Network", option: str) -> None:
    """Check that a network says which column is the outcome and who is deprived."""
    if network.card is None:
        name = str(network.meta.source.get("dataset", ""))
        problem = f"the network is of {name}, whose card does not ship with fairbench"
        fix = "name its card"
        if not name or name.lower().endswith(".csv"):
            problem = "a network of a bare CSV does not say which column is the outcome and who is deprived"
        raise user_error(problem, f"{fix}: --card CARD.yaml", option)


def _opened(net: str, card: str | None) -> "Network":
    """Return a network with its card, which has the columns of the network."""
    from fairbench_cli.api.network import load_network

    network = load_network(net, card=card)
    if network.card is not None and network.card.label.column not in network.columns:
        problem = f'the network has no node "{network.card.label.column}"'
        raise user_error(problem, "give the card of its data", "--card")
    return network


def _read_evidence(texts: Iterable[str], names: Sequence[str]) -> dict[str, str]:
    """Return the levels that are given as COLUMN=LEVEL; a column's name or a level may hold a "="."""
    evidence: dict[str, str] = {}
    for text in texts:
        cuts = [i for i, letter in enumerate(text) if letter == "="]
        if not cuts:
            raise user_error(f'cannot read "{text}"', "write COLUMN=LEVEL", "--given")
        cut = next((i for i in cuts if text[:i] in names), cuts[0])
        name = text[:cut]
        level = text[cut + 1 :]
        if name not in names:
            raise user_error(f'the network has no column "{name}"', suggest(name, names), "--given")
        if evidence.get(name, level) != level:
            raise user_error(
                f"{name} is given twice: {evidence[name]} and {level}", "leave one out", "--given"
            )
        evidence[name] = level
    return evidence


def _cpt_rows(frame: "pd.DataFrame", width: int) -> tuple[list[str], list[list[str]], int]:
    """Return heads, rows and the number of numeric columns of a node's table.

    One row per parent configuration where that fits into `width` characters, else one row per parent
    configuration and level. Probabilities have six decimals, to show whether a paper rounded or
    truncated.
    """
    node = str(frame.columns.name)
    parents = [str(name) for name in frame.index.names if name is not None]
    if parents:
        configurations = frame.index.to_frame().to_numpy().tolist()
    else:
        configurations = [[]]
    table = []
    for probabilities in frame.to_numpy():
        table.append([f"{p:.6f}" for p in probabilities])
    heads = parents + [f"{node}={level}" for level in frame.columns]
    rows = [levels + row for levels, row in zip(configurations, table, strict=True)]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    if sum(widths) + BETWEEN * (len(heads) + 1) <= width:
        return heads, rows, len(frame.columns)
    long = []
    for levels, row in zip(configurations, table, strict=True):
        for level, p in zip(frame.columns, row, strict=True):
            long.append(levels + [str(level), p])
    return parents + [node, "probability"], long, 1
