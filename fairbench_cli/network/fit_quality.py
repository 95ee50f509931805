"""How good rows drawn from a network are in the place of the data that it was learned from."""

import math
from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator, Field, FiniteFloat

from fairbench_cli.base.safe_text import join_names
from fairbench_cli.base.validation import StrictModel
from fairbench_cli.data.column_card import as_tuple
from fairbench_cli.document.model import Section, TableCell, TextTable, plain_table

Trained = Literal["data", "draws", "draws, tested on data"]
"""What a classifier is trained on, and tested on if not on other rows of the same."""

SHOWN = "logistic-regression"
"""The classifier of tables and warnings."""
LEAST_KEPT = 0.3
GAP_OFF = 0.05
SHARE_OFF = 1 / 3
"""Beyond these draws are said to mislead."""
MOST_NAMED = 3
SMALLEST_LOSS = 0.001

Pair = Annotated[tuple[FiniteFloat, FiniteFloat], BeforeValidator(as_tuple)]


class Outcome(StrictModel):
    """What a classifier without intervention comes to: mean and standard deviation over repeats.

    `gap` is the share of favourable decisions of the deprived less that of the favoured.
    """

    accuracy: Pair
    gap: Pair


class WorstPair(StrictModel):
    """The two columns whose joint table in the network is farthest from that of the data.

    `distance` is their total variation distance; `by_chance` is the largest distance of any two columns where
    as many rows as the data have are drawn from the network, mean and standard deviation.
    """

    columns: Annotated[tuple[str, str], BeforeValidator(as_tuple)]
    distance: float = Field(ge=0, le=1)
    by_chance: Pair


class BaseRates(StrictModel):
    """The shares of favourable outcomes of the deprived and of the favoured."""

    data: Pair
    network: Pair


class LabelInformation(StrictModel):
    """What a column says about the outcome, in bits (mutual information), in the data and in the network.

    `by_chance` is what as many rows would show of a column that says nothing, on average.
    """

    data: float = Field(ge=0)
    network: float = Field(ge=0)
    by_chance: float = Field(ge=0)

    @property
    def in_data(self) -> float:
        """Bits of the data beyond chance."""
        return max(0.0, self.data - self.by_chance)

    @property
    def in_network(self) -> float:
        """Bits of the network beyond what it may have learned of chance."""
        return max(0.0, self.network - self.by_chance)


class FitQuality(StrictModel):
    """What was measured, over `repeats` divisions of the data and as many draws of as many rows.

    `information` is by column, and empty where it was not measured.
    """

    attribute: str
    train: int = Field(ge=1)
    test: int = Field(ge=1)
    repeats: int = Field(ge=2)
    classifiers: dict[str, dict[Trained, Outcome]]
    base_rates: dict[str, BaseRates]
    worst: WorstPair
    information: dict[str, LabelInformation] = Field(default_factory=dict)

    @property
    def information_kept(self) -> float:
        """The network's bits of all columns, each by itself, as a share of the data's; NaN if not known."""
        data_bits = sum(column.in_data for column in self.information.values())
        network_bits = sum(column.in_network for column in self.information.values())
        if not data_bits:
            return math.nan
        return network_bits / data_bits

    @property
    def largest_losses(self) -> list[str]:
        """The columns of which most bits are lost, at most three of those that lose at all."""
        losses = {}
        for name, column in self.information.items():
            lost = column.in_data - column.in_network
            if lost >= SMALLEST_LOSS:
                losses[name] = lost
        return sorted(losses, key=lambda name: -losses[name])[:MOST_NAMED]


def describe_distortion(name: str, measured: FitQuality) -> str:
    """Return a line of warning where draws mislead about the data: empty where they do not.

    They do where they keep less than 30 % of what the columns say about the outcome, or where the gap of
    logistic regression is off by more than 5 points and a third of itself.
    """
    outcomes = measured.classifiers.get(SHOWN)
    if outcomes is None:
        return ""
    gap = outcomes["data"].gap[0]
    gap_of_draws = outcomes["draws, tested on data"].gap[0]
    is_gap_off = abs(gap_of_draws - gap) > max(GAP_OFF, abs(gap) * SHARE_OFF)
    clauses = []
    if measured.information_kept < LEAST_KEPT:
        columns = join_names(measured.largest_losses)
        percent = round(100 * measured.information_kept)
        clauses.append(f"keep {percent} % of what columns say about the outcome (lost most: {columns})")
    if clauses or is_gap_off:
        clauses.append(
            f"give {SHOWN.replace('-', ' ')} a gap of {format_points(gap_of_draws)} points by "
            f"{measured.attribute} in the place of {format_points(gap)}"
        )
    if not clauses:
        return ""
    return f"{name} is not like its data: rows drawn from its network {' and '.join(clauses)}"


def format_points(gap: float) -> str:
    """Return a gap in points, its minus as it is printed.

    >>> format_points(-0.1304)
    '−13.0'
    """
    return f"{gap * 100:z.1f}".replace("-", "−")


def describe_fit_quality(name: str, measured: FitQuality) -> Section:
    """Return the section on the network of a data set as a stand-in, in words and tables."""
    first_column, second_column = measured.worst.columns
    chance, spread = measured.worst.by_chance
    distortion = describe_distortion(name, measured)
    warnings = (f"{distortion}.",) if distortion else ()
    sentences = (
        *warnings,
        f"Classifiers without intervention, trained on {measured.train:,} rows and tested on "
        f"{measured.test:,}: mean ± standard deviation over {measured.repeats} divisions of the data, and "
        "as many draws. "
        f"The gap is that of the decisions by {measured.attribute}, deprived − favoured.",
        f"Of any two columns, {first_column} and {second_column} are farthest from the data: "
        f"{measured.worst.distance:.3f} of their rows would have to change (total variation distance). Draws "
        "of as many rows as the data have differ from the network itself by up to "
        f"{chance:.3f} ± {spread:.3f}.",
    )
    decision_rows: list[list[str | TableCell]] = []
    for classifier, outcomes in measured.classifiers.items():
        for trained_on in get_args(Trained):
            outcome = outcomes[trained_on]
            decision_rows.append(
                [classifier, trained_on, _spread_cell(outcome.accuracy), _spread_cell(outcome.gap)]
            )
    decisions = plain_table(
        "classifiers", ["classifier", "trained on", "accuracy", "gap"], decision_rows, 2, grouped=True
    )
    rate_rows: list[list[str | TableCell]] = []
    for attribute, rates in measured.base_rates.items():
        for source, (deprived, favoured) in (("data", rates.data), ("network", rates.network)):
            gap = deprived - favoured
            rate_rows.append([attribute, source, _rate_cell(deprived), _rate_cell(favoured), _rate_cell(gap)])
    labels = plain_table(
        "share of favourable outcomes",
        ["attribute", "rows", "deprived", "favoured", "deprived − favoured"],
        rate_rows,
        2,
        grouped=True,
    )
    tables = [decisions, labels]
    if measured.information:
        tables.append(_information_table(measured))
    return Section("As a stand-in for the data", sentences, tuple(tables))


def _information_table(measured: FitQuality) -> TextTable:
    """Return the bits that columns tell of the outcome, in data and draws; the most telling first."""
    rows: list[list[str | TableCell]] = []
    for name, bits in sorted(measured.information.items(), key=lambda entry: -entry[1].data):
        rows.append([name, _rate_cell(bits.data), _rate_cell(bits.network), _rate_cell(bits.by_chance)])
    percent = round(100 * measured.information_kept)
    title = f"bits about the outcome; draws keep {percent} % of those beyond chance"
    return plain_table(title, ["column", "data", "network", "by chance"], rows, 1)


def _spread_cell(mean_and_spread: tuple[float, float]) -> TableCell:
    return TableCell(f"{mean_and_spread[0]:z.3f} ± {mean_and_spread[1]:.3f}", value=mean_and_spread[0])


def _rate_cell(value: float) -> TableCell:
    return TableCell(f"{value:z.3f}", value=value)
