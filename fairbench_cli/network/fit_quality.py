"""How good rows drawn from a network are in the place of the data that it was learned from."""

from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator, Field, FiniteFloat

from fairbench_cli.base.validation import StrictModel
from fairbench_cli.data.column_card import as_tuple
from fairbench_cli.document.model import Section, TableCell, plain_table

Trained = Literal["data", "draws", "draws, tested on data"]
"""What a classifier is trained on, and tested on if not on other rows of the same."""

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


class FitQuality(StrictModel):
    """What was measured, over `repeats` divisions of the data and as many draws of as many rows."""

    attribute: str
    train: int = Field(ge=1)
    test: int = Field(ge=1)
    repeats: int = Field(ge=2)
    classifiers: dict[str, dict[Trained, Outcome]]
    base_rates: dict[str, BaseRates]
    worst: WorstPair


def describe_fit_quality(measured: FitQuality) -> Section:
    """Return the section on a network as a stand-in, in words and tables."""
    first_column, second_column = measured.worst.columns
    chance, spread = measured.worst.by_chance
    sentences = (
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
    for name, outcomes in measured.classifiers.items():
        for trained_on in get_args(Trained):
            outcome = outcomes[trained_on]
            decision_rows.append(
                [name, trained_on, _spread_cell(outcome.accuracy), _spread_cell(outcome.gap)]
            )
    decisions = plain_table(
        "classifiers",
        ["classifier", "trained on", "accuracy", "gap"],
        decision_rows,
        2,
        grouped=True,
    )
    rate_rows: list[list[str | TableCell]] = []
    for name, rates in measured.base_rates.items():
        for source, (deprived, favoured) in (("data", rates.data), ("network", rates.network)):
            gap = deprived - favoured
            rate_rows.append([name, source, _rate_cell(deprived), _rate_cell(favoured), _rate_cell(gap)])
    labels = plain_table(
        "share of favourable outcomes",
        ["attribute", "rows", "deprived", "favoured", "deprived − favoured"],
        rate_rows,
        2,
        grouped=True,
    )
    return Section("As a stand-in for the data", sentences, (decisions, labels))


def _spread_cell(mean_and_spread: tuple[float, float]) -> TableCell:
    return TableCell(f"{mean_and_spread[0]:z.3f} ± {mean_and_spread[1]:.3f}", value=mean_and_spread[0])


def _rate_cell(value: float) -> TableCell:
    return TableCell(f"{value:z.3f}", value=value)
