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
    one, other = measured.worst.columns
    chance, spread = measured.worst.by_chance
    sentences = (
        f"Classifiers without intervention, trained on {measured.train:,} rows and tested on "
        f"{measured.test:,}: mean ± standard deviation over {measured.repeats} divisions of the data, and "
        "as many draws. "
        f"The gap is that of the decisions by {measured.attribute}, deprived − favoured.",
        f"Of any two columns, {one} and {other} are farthest from the data: {measured.worst.distance:.3f} of "
        f"their rows would have to change (total variation distance). Draws of as many rows as the data have "
        f"differ from the network itself by up to {chance:.3f} ± {spread:.3f}.",
    )
    decisions = plain_table(
        "classifiers",
        ["classifier", "trained on", "accuracy", "gap"],
        [
            [name, where, _spread(found[where].accuracy), _spread(found[where].gap)]
            for name, found in measured.classifiers.items()
            for where in get_args(Trained)
        ],
        2,
        grouped=True,
    )
    labels = plain_table(
        "share of favourable outcomes",
        ["attribute", "rows", "deprived", "favoured", "deprived − favoured"],
        [
            [name, where, *map(_number, (deprived, favoured, deprived - favoured))]
            for name, rates in measured.base_rates.items()
            for where, (deprived, favoured) in (("data", rates.data), ("network", rates.network))
        ],
        2,
        grouped=True,
    )
    return Section("As a stand-in for the data", sentences, (decisions, labels))


def _spread(found: tuple[float, float]) -> TableCell:
    return TableCell(f"{found[0]:z.3f} ± {found[1]:.3f}", value=found[0])


def _number(value: float) -> TableCell:
    return TableCell(f"{value:z.3f}", value=value)
