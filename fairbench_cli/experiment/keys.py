"""The keys of a config file: their types, defaults and meanings."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from fairbench_cli.experiment.outputs import DEFAULT_TABLES
from fairbench_cli.measures.registry import DEFAULT_METRICS
from fairbench_cli.validation import NAME

Origin = Literal["network", "shipped", "data"]
TestRows = Literal["original", "network", "holdout"]

Beta = Annotated[float, Field(ge=0, le=1)]


def _one_or_more(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else (value,)


class Bias(BaseModel):
    """How the outcome's CPT is edited; may be given per data set."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    shift: Literal["deprived", "both"] = Field(
        default="deprived", description="deprived: eq. (4). both: also lowers P(-) of the favoured value."
    )
    require_arc: bool = Field(
        default=False, description="Whitelist the arc from the edited column to the outcome."
    )
    outcome_sink: bool = Field(default=False, description="Let the outcome have no children.")
    missing_arc: Literal["error", "leave"] = Field(
        default="error", description="leave: run without any bias where there is no CPT axis to edit."
    )
    size: int | None = Field(
        default=None, ge=1, description="Rows of a training set; default: as many as the data have."
    )


class SampleConfig(Bias):
    """Where training sets come from and how biased they are."""

    source: Origin = Field(
        default="network",
        alias="from",
        description="network: learn it from the data file. shipped: the fitted network beside the card. "
        "data: the real rows, a random share of them to train on and the rest to test.",
    )
    share: float = Field(default=0.5, gt=0, lt=1, description="from: data only. Rows to train on.")
    learner: Literal["hill-climbing", "tabu"] = "hill-climbing"
    score: Literal["bic", "aic", "bde", "k2"] = "bic"
    max_parents: int | None = Field(default=None, ge=1)
    beta: Annotated[tuple[Beta, ...], BeforeValidator(_one_or_more), Field(min_length=1)] = (
        *(0.0, 0.25, 0.5, 0.75, 1.0),
    )


class DatasetOptions(Bias):
    """What a data set's entry may say after its name."""

    attribute: str | None = Field(default=None, description="The protected attribute; default: the card's.")
    alias: str | None = Field(
        default=None,
        alias="as",
        pattern=NAME,
        description="Its name in the results, so that one data set may be listed with several settings.",
    )
    interventions: Annotated[tuple[str, ...], Field(min_length=1)] | None = Field(
        default=None, strict=False, description="Run only these of the interventions on it."
    )
    classifiers: Annotated[tuple[str, ...], Field(min_length=1)] | None = Field(
        default=None, strict=False, description="Run only these of the classifiers on it."
    )


class ExperimentFile(BaseModel):
    """The keys of a config file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str = Field(pattern=NAME, description="Results land in results/NAME.")
    seed: int = Field(default=0, ge=0, description="Base of every other seed.")
    repeats: int = Field(default=30, ge=1, le=100_000)
    datasets: list[Any] = Field(min_length=1)
    sample: SampleConfig = SampleConfig()
    test: TestRows | None = Field(
        default=None,
        description="original: the real rows. network: rows sampled at β = 0. holdout: the rows that "
        "`from: data` does not train on. Default: holdout with `from: data`, else original.",
    )
    include_protected: bool = Field(
        default=False, description="Whether the classifier sees the protected attribute."
    )
    interventions: list[Any] = Field(min_length=1)
    classifiers: list[Any] = Field(default=["c45"], min_length=1)
    metrics: list[str] = Field(default=list(DEFAULT_METRICS), min_length=1)
    explain: list[str] = Field(
        default=[], description="Attributes whose levels, crossed, are the strata of conditional measures."
    )
    sweep: Literal["acceptance-rate"] | None = Field(
        default=None, description="Also count at every acceptance rate from 0 to 1, by the model's scores."
    )
    tables: list[str] = Field(default=list(DEFAULT_TABLES))
    figures: list[str] = Field(default=[])
