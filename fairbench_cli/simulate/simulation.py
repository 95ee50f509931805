"""Decisions with a known degree of discrimination (Žliobaitė 2017, §4), and what the metrics make of them.

The files say what each metric is at the ends, and how far it is from the truth. But for the manifest they
depend on nothing but the config.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.base.checksums import derive_seed
from fairbench_cli.base.errors import user_error
from fairbench_cli.base.files import write_text
from fairbench_cli.document.markdown import markdown
from fairbench_cli.document.model import Document, Section, TextTable, plain_table
from fairbench_cli.measures.counts import PAIR, Counts, Floats
from fairbench_cli.measures.registry import find_metric, measure
from fairbench_cli.report.ledger.journal_arrays import mean_and_interval
from fairbench_cli.report.show.figures import remove_figures, write_figures
from fairbench_cli.report.show.figures.against_truth import draw_against_truth
from fairbench_cli.report.show.figures.canvas import house_style
from fairbench_cli.report.show.figures.drawing import figure_files
from fairbench_cli.simulate.config import Simulation

COLUMNS = ["deprived", "accepted", "truth", "metric", "mean", "sd", "low", "high", "n_ok", "n", "pooled"]


@dataclass(frozen=True)
class Setting:
    """What decides how a run is distributed.

    Parameters
    ----------
    rows : int
        Individuals.
    deprived : float
        P(s=g): share of the rows that is deprived, to the nearest row.
    accepted : float
        P(+): share of the rows that is accepted, to the nearest row.
    truth : float
        Degree of discrimination d in [−1, 1]: the share |d| of the rows is sorted by group.
    """

    rows: int
    deprived: float
    accepted: float
    truth: float


def draw_decisions(setting: Setting, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw one run: the numbers of refused and accepted rows of the deprived and of the favoured.

    Row by row, this is what happens. Scores are uniform, and who is deprived is drawn independently of
    them. A share |d| of the rows is chosen at random, and *their* scores are dealt among them again: the
    highest go to the favoured among them (to the deprived if d < 0), the rest to the others. The other rows
    keep their scores. Then the rows with the highest scores, a share P(+), are accepted.

    At d = 1 every favoured row is above every deprived one; at d = 0 scores and groups are independent. In
    between, chosen rows are discriminated against as much as can be and the others not at all, so that the
    mean difference is |d| times the largest that P(+) and P(s=g) allow, and δ is d. Lifting the chosen above
    all others, another way to read "get the top scores", would not do: as soon as P(+) of the rows are
    favoured and chosen, only they are accepted, and δ is 1 long before d is.

    Of all this, three numbers decide who is accepted, and these are drawn instead of the rows. All three are
    hypergeometric:

    * favoured among the chosen, for the choice does not know the groups;
    * accepted among the chosen, for dealing their scores again leaves them their scores, and the choice does
      not know the scores. Who of the chosen is accepted then follows from their order;
    * favoured among the accepted others, for the scores of the others do not know the groups.

    ``tests/simulate`` holds this against rows that are sorted one by one.

    Parameters
    ----------
    setting : Setting
        The distribution.
    rng : numpy Generator
        Three numbers are drawn from it.

    Returns
    -------
    int64 array, shape (2, 2)
        By group (deprived, favoured) and decision (refused, accepted).

    Examples
    --------
    >>> draw_decisions(Setting(10_000, 0.5, 0.3, 1.0), np.random.default_rng(0))[0].tolist()
    [5000, 0]
    """
    n = setting.rows
    chosen = round(abs(setting.truth) * setting.rows)
    accepted = round(setting.accepted * n)
    favoured = n - round(setting.deprived * n)
    favoured_chosen = int(rng.hypergeometric(favoured, n - favoured, chosen))
    accepted_chosen = int(rng.hypergeometric(chosen, n - chosen, accepted))
    favoured_others = favoured - favoured_chosen
    from_others = int(
        rng.hypergeometric(favoured_others, n - chosen - favoured_others, accepted - accepted_chosen)
    )
    deprived_chosen = chosen - favoured_chosen
    if setting.truth >= 0:
        from_chosen = min(favoured_chosen, accepted_chosen)
    else:
        from_chosen = max(0, accepted_chosen - deprived_chosen)
    above = from_chosen + from_others
    return np.array([[n - favoured - accepted + above, accepted - above], [favoured - above, above]])


def counts_of(decisions: NDArray[np.int64]) -> Counts:
    """Return decisions of shape (..., group, decision) as counts for the measures.

    Nothing but the decision is known of a simulated row, so its label is its decision.
    """
    n: Floats = np.zeros((*decisions.shape, 2))
    for decision in (0, 1):
        n[..., decision, decision] = decisions[..., decision]
    return Counts(PAIR, n)


def simulate(simulation: Simulation, listen: Callable[[int, int], None]) -> pd.DataFrame:
    """Run a simulation.

    Parameters
    ----------
    simulation : Simulation
        What to run.
    listen : callable
        Called after every setting of P(s=g) and P(+) with how many are done, and of how many.

    Returns
    -------
    DataFrame
        `COLUMNS`, one row per P(s=g), P(+), truth and metric: mean, sd and 95 % t-interval over the runs, how
        many runs
        gave a value and how many there are, and `pooled`, the measure of the rows of all runs together. A
        mean is infinite as soon as one run is.
    """
    settings = list(product(simulation.deprived, simulation.accepted))
    frames = []
    for n_done, (deprived, accepted) in enumerate(settings, start=1):
        frames.append(_frame(simulation, deprived, accepted))
        listen(n_done, len(settings))
    return pd.concat(frames, ignore_index=True)


def decisions_of(simulation: Simulation, setting: Setting) -> NDArray[np.int64]:
    """Draw all runs of a setting: shape (runs, group, decision).

    The seed of a run is a hash of base seed, setting and run, so that more runs keep the first ones.
    """
    head = (simulation.seed, "simulate", setting.rows, setting.deprived, setting.accepted, setting.truth)
    seeds = (derive_seed(*head, run) for run in range(simulation.runs))
    return np.stack([draw_decisions(setting, np.random.default_rng(seed)) for seed in seeds])


def _frame(simulation: Simulation, deprived: float, accepted: float) -> pd.DataFrame:
    settings = (Setting(simulation.rows, deprived, accepted, truth) for truth in simulation.truth)
    decisions = np.stack([decisions_of(simulation, setting) for setting in settings])
    counts_by_run = counts_of(decisions)
    pooled_counts = counts_of(decisions.sum(1))
    frames = []
    for metric in simulation.metrics:
        numbers = mean_and_interval(measure(metric, counts_by_run))
        numbers |= {"pooled": measure(metric, pooled_counts)}
        frames.append(pd.DataFrame({"truth": simulation.truth, "metric": metric} | numbers))
    tidy = pd.concat(frames).sort_values("truth", kind="stable")
    return tidy.assign(deprived=deprived, accepted=accepted, n=simulation.runs)[COLUMNS]


ENDS = (-1.0, 0.0, 1.0)
HEADS = ["metric"] + [f"d = {end:g}".replace("-", "−") for end in ENDS]

_EXPLAINED = (
    "Ranges are of the means over the settings. A measure is compared with the truth twice: by its mean over "
    "the runs, and pooled, computed once from the rows of all runs together."
)


def summary_document(simulation: Simulation, frame: pd.DataFrame, *, brief: bool = False) -> Document:
    """Return the document on metrics at the ends and, unless `brief`, how far off they are panel by panel."""
    s = simulation
    size = f"{len(s.deprived) * len(s.accepted)} settings × {len(s.truth)} degrees of discrimination d × "
    furthest = _furthest(s, frame)
    if brief:
        return Document("", sections=(Section("", tables=(_summary(s, frame),)),), notes=furthest)
    summary = Section("", tables=(_summary(s, frame),), notes=furthest)
    sections = [summary]
    for metric in _on_truths_scale(s):
        title = f"{metric}: furthest from the truth, mean / pooled"
        sections.append(Section(title, tables=(_panels(s, off_truth(frame, metric)),)))
    settings = f"{size}{s.runs:,} runs of {s.rows:,} rows. {_EXPLAINED}"
    return Document(s.name, facts=(settings,), sections=tuple(sections))


def _summary(simulation: Simulation, frame: pd.DataFrame) -> TextTable:
    """Return a row of `HEADS` per metric: the range of its means over the settings at each of `ENDS`."""
    rows = []
    for metric in simulation.metrics:
        of_metric = frame[frame["metric"] == metric]
        ranges = [_range(of_metric.loc[of_metric["truth"] == end, "mean"]) for end in ENDS]
        rows.append([metric] + ranges)
    return plain_table("", HEADS, rows, 1)


def _furthest(simulation: Simulation, frame: pd.DataFrame) -> tuple[str, ...]:
    """Say of every measure on the truth's scale how far from the truth it gets, and where."""
    lines = []
    for metric in _on_truths_scale(simulation):
        off = off_truth(frame, metric)
        distances = []
        for column, kind in _KINDS:
            distances.append(f"{off[column].max():.4f} {kind} ({_setting_of_largest(off, column)})")
        lines.append(f"{metric}: furthest from the truth {', '.join(distances)}")
    return tuple(lines)


def off_truth(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the rows of a measure with ``mean_off`` and ``pooled_off``, the distances from the truth."""
    of_metric = frame[frame["metric"] == metric].reset_index(drop=True)
    truth = of_metric["truth"]
    return of_metric.assign(
        mean_off=(of_metric["mean"] - truth).abs(), pooled_off=(of_metric["pooled"] - truth).abs()
    )


_KINDS = (("mean_off", "by the mean"), ("pooled_off", "pooled"))


def _on_truths_scale(simulation: Simulation) -> list[str]:
    """Return the measures that go from −1 to 1."""
    return [name for name in simulation.metrics if (find_metric(name).low, find_metric(name).high) == (-1, 1)]


def _setting_of_largest(off: pd.DataFrame, column: str) -> str:
    """Say where a column is largest."""
    if off[column].isna().all():
        return "undefined"
    largest = off.iloc[int(np.nanargmax(off[column].to_numpy()))]
    return f"P(s=g) = {largest['deprived']:g}, P(+) = {largest['accepted']:g}, d = {largest['truth']:g}"


def _panels(simulation: Simulation, off: pd.DataFrame) -> TextTable:
    most = off.groupby(["deprived", "accepted"])[["mean_off", "pooled_off"]].max()
    texts = {setting: f"{mean:.3f} / {pooled:.3f}" for setting, mean, pooled in most.itertuples(name=None)}
    rows = []
    for deprived in simulation.deprived:
        rows.append([f"{deprived:g}"] + [texts[deprived, accepted] for accepted in simulation.accepted])
    heads = ["P(s=g)"] + [f"P(+) = {accepted:g}" for accepted in simulation.accepted]
    return plain_table("", heads, rows, 1)


def _range(means: "pd.Series[float]") -> str:
    """Return the least and the greatest of some means; one if they look the same."""
    finite = means.dropna()
    if not len(finite):
        return ""
    low = _number(float(finite.min()))
    high = _number(float(finite.max()))
    if low == high:
        return low
    return f"{low} … {high}"


def _number(value: float) -> str:
    if np.isinf(value):
        if value < 0:
            return "−∞"
        return "∞"
    if abs(value) < 1000:
        text = f"{value:.3f}"
    else:
        text = f"{value:.4g}"
    if text == "-0.000":
        return "0.000"
    return text.replace("-", "−")


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds the results of a run, whose files would be replaced.

    Raises
    ------
    UserError
        When it does.
    """
    if (folder / "plan.json").exists():
        raise user_error(f"{folder} holds the results of a run", "name another folder with -o", "-o")


def write_simulation(folder: Path, simulation: Simulation, frame: pd.DataFrame) -> list[Path]:
    """Write config.yaml, simulation.csv, summary.md and figures/; figures of an earlier time go away.

    Returns
    -------
    list of Path
        The figures.

    Raises
    ------
    UserError
        When a file cannot be written.
    """
    write_text(folder / "config.yaml", simulation.as_yaml())
    text: str = frame.to_csv(index=False, lineterminator="\n")
    write_text(folder / "simulation.csv", text)
    write_text(folder / "summary.md", markdown(summary_document(simulation, frame)))
    subtitle = (
        f"Means of {simulation.runs:,} runs of {simulation.rows:,} rows. P(s=g) is the share of the deprived "
        "and P(+) that of the accepted."
    )
    with house_style():
        figures = {
            f"simulation-{name}": draw_against_truth(frame, metrics, subtitle)
            for name, metrics in simulation.figures.items()
        }
        written = write_figures(folder / "figures", figure_files(figures, simulation.figure_formats))
    remove_figures(folder / "figures", ["simulation"], written)
    return written
