"""What the training sets of a data set are drawn from: its network, its groups and its test rows.

Made once per data set by the parent process; workers get it as plain arrays.
"""

from dataclasses import dataclass
from pathlib import Path

from fairbench_cli.data.card import BiasTarget
from fairbench_cli.data.table import Roles, Sample, to_sample
from fairbench_cli.experiment.config import Experiment
from fairbench_cli.experiment.row_measures import RowWishes, row_wishes
from fairbench_cli.experiment.source import Source
from fairbench_cli.files import make_folder
from fairbench_cli.network.files import Meta
from fairbench_cli.network.files import load as load_network
from fairbench_cli.network.files import save as save_network
from fairbench_cli.network.model import BayesNet


@dataclass(frozen=True, eq=False)
class Population:
    """What a worker needs to draw, train and test one repeat.

    `network` is None where real rows are trained on; `biased` is False where the edited column is no parent
    of the outcome and the config says ``leave``; `rows` are the real ones, None where test rows are drawn
    from the network; `size` is the number of training rows; `sweep` asks for counts at every acceptance rate
    and `wishes` for measures that need rows.
    """

    network: BayesNet | None
    roles: Roles
    target: BiasTarget
    both: bool
    biased: bool
    size: int
    rows: Sample | None
    sweep: bool
    wishes: RowWishes


def populate(source: Source, experiment: Experiment, networks: Path) -> Population:
    """Fit the CPTs of a source, or read them from the folder of networks, and set out its test rows."""
    rows = None
    if experiment.test != "network":
        assert source.dataset is not None  # noqa: S101 - loaded by `inspect` for this very case
        rows = to_sample(source.dataset.table, source.roles)
    return Population(
        network=None if experiment.test == "holdout" else source.network or _fitted(source, networks),
        roles=source.roles,
        target=source.target,
        both=source.choice.bias.shift == "both",
        biased=source.has_arc,
        size=source.size,
        rows=rows,
        sweep=experiment.sweep,
        wishes=row_wishes(experiment.metrics, experiment.explain),
    )


def _fitted(source: Source, networks: Path) -> BayesNet:
    from fairbench_cli.network.fit import fit

    path = networks / f"{'-'.join(source.name)}-{source.network_key}.json"
    if path.is_file():
        return load_network(path)[0]
    structure, dataset = source.structure, source.dataset
    assert structure is not None  # noqa: S101 - a source without network has both
    assert dataset is not None  # noqa: S101
    network = fit(dataset.table, structure.parents)
    settings = source.decisive["network"]
    meta = Meta(settings["learner"], settings["score"], structure.score, structure.bic, source.facts)
    make_folder(networks)
    save_network(network, path, meta)
    return network
