"""``fairbench network``: learn, look at and sample Bayesian networks."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fairbench_cli.cli.network_draw import draw as draw_command
from fairbench_cli.cli.network_inputs import load_net, read_arcs, tilted
from fairbench_cli.cli.options import Attribute, DataDir, Net, NetCard

app = typer.Typer(no_args_is_help=True, help="Learn, look at and sample Bayesian networks.")


class Learner(StrEnum):
    """Structure learners."""

    hill_climbing = "hill-climbing"
    tabu = "tabu"


class Score(StrEnum):
    """Network scores."""

    bic = "bic"
    aic = "aic"
    bde = "bde"
    k2 = "k2"


class Shift(StrEnum):
    """What β edits."""

    deprived = "deprived"
    both = "both"


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
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the network goes.", show_default=False)
    ],
    learner: Annotated[Learner, typer.Option(help="Search.")] = Learner.hill_climbing,
    score: Annotated[Score, typer.Option(help="Score to climb.")] = Score.bic,
    max_parents: Annotated[int | None, typer.Option(min=1, help="Most parents a column may have.")] = None,
    iss: Annotated[float, typer.Option(min=1e-9, help="Imaginary sample size (bde only).")] = 1.0,
    require_arc: Annotated[
        list[str] | None, typer.Option(help="Put an arc in: FROM>TO. May be given several times.")
    ] = None,
    forbid_arc: Annotated[
        list[str] | None, typer.Option(help="Keep an arc out: FROM>TO. May be given several times.")
    ] = None,
    outcome_sink: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Let this column have no children.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Learn structure and CPTs; agrees arc for arc with R's bnlearn 5.2.1."""
    from fairbench_cli.cli.console import say
    from fairbench_cli.data.card import find_card, read_card
    from fairbench_cli.data.load import load
    from fairbench_cli.data.locate import file_sha256, folders, locate
    from fairbench_cli.files import make_folder
    from fairbench_cli.network.files import Meta, save
    from fairbench_cli.network.frame import table_from_csv
    from fairbench_cli.network.learn import LearnSettings, learn_network, source_facts

    settings = LearnSettings(
        learner=learner.value,
        score=score.value,
        max_parents=max_parents,
        whitelist=read_arcs(require_arc),
        blacklist=read_arcs(forbid_arc),
        outcome_sink=outcome_sink,
        iss=iss,
    )
    if source.lower().endswith(".csv"):
        path = Path(source)
        table = table_from_csv(path)
        facts = source_facts(path.name, {path.name: file_sha256(path)}, len(table), settings)
    else:
        card_path = find_card(source)
        card = read_card(card_path)
        dataset = load(card, locate(card, folders(data_dir, card_path)))
        table = dataset.table
        facts = source_facts(dataset.card.name, dataset.sha256, len(table), settings)
    net, structure = learn_network(table, settings)
    make_folder(output.parent)
    save(net, output, Meta(learner.value, score.value, structure.score, structure.bic, facts))
    say(
        f"{output}: {len(net.columns)} nodes, {len(net.arcs)} arcs, {net.parameters} parameters, "
        f"{score.value} {structure.score:.6f}, BIC {structure.bic:.6f}"
    )


@app.command()
def show(
    net: Net,
    node: Annotated[
        list[str] | None, typer.Option(help="Show this node's CPT. May be given several times.")
    ] = None,
) -> None:
    """Show a network: its arcs, or the CPT of a node."""
    from fairbench_cli.cli.console import out, print_rows, say
    from fairbench_cli.errors import suggest, user_error
    from fairbench_cli.network.display import cpt_rows

    network, meta = load_net(net)
    for name in node or []:
        if name not in network.names:
            raise user_error(f'the network has no node "{name}"', suggest(name, network.names), "--node")
    for name in node or []:
        heads, rows, right = cpt_rows(network, name, out().width)
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


app.command("draw")(draw_command)


@app.command()
def sample(
    net: Net,
    n: Annotated[int, typer.Option("-n", min=1, help="Rows.", show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="CSV to write; - for standard output.", show_default=False)
    ],
    beta: Annotated[float, typer.Option(min=0, max=1, help="Bias to add, 0 to 1.")] = 0.0,
    card: NetCard = None,
    attribute: Attribute = None,
    shift: Annotated[Shift, typer.Option(help="Edit the deprived rows, or both groups'.")] = Shift.deprived,
    seed: Annotated[int, typer.Option(min=0, help="Seed.")] = 0,
) -> None:
    """Sample rows at a bias level β, for use anywhere else."""
    from fairbench_cli.errors import user_error
    from fairbench_cli.files import make_folder, write_text
    from fairbench_cli.network.draw import sample as draw

    if beta != beta:  # NaN passes every range
        raise user_error("beta is not a number", "give a beta from 0 to 1", "--beta")
    network, meta = load_net(net)
    if beta > 0:
        network = tilted(network, meta, beta, card, attribute, both=shift is Shift.both)
    elif card or attribute or shift is Shift.both:
        raise user_error(
            "--card, --attribute and --shift say what --beta edits, but it is 0",
            "give --beta, or none of them",
        )
    text = draw(network, n, seed).to_frame().to_csv(index=False, lineterminator="\n")
    if str(output) == "-":
        sys.stdout.write(text)
    else:
        make_folder(output.parent)
        write_text(output, text)
