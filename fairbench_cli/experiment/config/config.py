"""The config of an experiment: every key, its default and its meaning.

``docs/keys.py`` makes the key tables of ``docs/config.md`` and ``configs/schema.json`` from these classes.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)

from fairbench_cli.base.errors import Problem, UserError, format_value, suggest
from fairbench_cli.base.plugins import CodeOrigin, short_name
from fairbench_cli.base.strict_yaml import dump_yaml
from fairbench_cli.base.validation import (
    NAME,
    FileModel,
    Findings,
    Fraction,
    Known,
    Several,
    StrictModel,
    mistake,
    refusal,
    to_findings,
)
from fairbench_cli.data.card import UnknownAs, find_card, known_cards, read_card
from fairbench_cli.data.table import Representation
from fairbench_cli.experiment.config import outputs
from fairbench_cli.experiment.config.components import (
    DEFAULT_CLASSIFIERS,
    GIVEN_THRESHOLDS,
    ComponentSpec,
    MetricByName,
    TechniqueSpec,
    context_of,
    in_list,
    read_classifiers,
    read_interventions,
    split_name,
)
from fairbench_cli.experiment.config.metrics import MetricSpec, RequestedRowMetrics
from fairbench_cli.experiment.config.worlds import CellWorld, Worlds, worlds_at
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.registry import DEFAULT_METRICS, METRICS
from fairbench_cli.network.bias import BetaEdit


def attribute_names(text: str) -> tuple[str, ...]:
    """Return the names of the attributes of an intersection, or the one name.

    >>> attribute_names("sex"), attribute_names("sex × race"), attribute_names("sex x race*age")
    (('sex',), ('sex', 'race'), ('sex', 'race', 'age'))
    """
    return tuple(re.split(r"\s*[×*]\s*|\s+x\s+", text.strip()))


def canonical_attribute(text: str) -> str:
    """Return an attribute or an intersection in its one spelling, such as ``sex×race``."""
    return "×".join(attribute_names(text))


def _shares(value: Any) -> Any:
    """Return names as a mapping to 1."""
    if isinstance(value, str):
        names = [value]
    else:
        names = value
    if names in ([], {}):
        raise mistake("names no attribute", "name one or more, or leave the line out")
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        if len(set(names)) < len(names):
            raise mistake("names an attribute twice", "keep one")
        return dict.fromkeys(names, 1.0)
    return value


POINT = 0.01
"""One point of a rate: the margin of rates and differences of rates, where a config says no other."""
FILE = r"[./\\]"
"""What the name of a file has, and no word for test rows."""

Tested = Literal["original", "network", "holdout", "file"]


def _test_rows(value: Any) -> Any:
    """Return where test rows come from: one of the words, or what looks like a file."""
    test_words = [word for word in get_args(Tested) if word != "file"]
    if (
        value is not None
        and value not in test_words
        and not (isinstance(value, str) and re.search(FILE, value))
    ):
        problem = Problem(
            f"test has the unknown value {format_value(value)}", suggest(str(value), test_words)
        )
        raise refusal(((), problem))
    return value


def margin_of(metric: Metric, margins: Mapping[str, float | None]) -> float | None:
    """Return below which change of a metric it is said not to change; None where that is never said.

    Parameters
    ----------
    margins : dict
        As `ExperimentConfig.margin` has them.
    """
    if metric.name in margins:
        return margins[metric.name]
    if metric.is_of_rates:
        return POINT
    return None


def _rows_of(value: Any) -> Any:
    """Return ``true``, which YAML takes for a truth value, as the word."""
    if value is True:
        return "true"
    return value


def _margins(value: Any) -> Any:
    """Return margins by metric; a number alone is of no metric."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise mistake("must say of which metric", f"write a line such as margin: {{accuracy: {value}}}")
    return value


def _refuse_old_figure(name: Any) -> Any:
    """Return the name of a figure; one that runs with worlds once had is an error."""
    if name in outputs.FIGURES_OF_WORLDS:
        raise mistake(f"the figure {name} is drawn no more", "remove it: report.html shows each world")
    return name


Beta = Annotated[float, Field(ge=0, le=1)]
RowsOf = Annotated[
    outputs.TestLabels, BeforeValidator(_rows_of, json_schema_input_type=Literal[True, "true", "recorded"])
]
Share = Annotated[float, Field(gt=0, le=1)]
AttributeName = Annotated[str, AfterValidator(canonical_attribute)]
Metrics = Annotated[
    tuple[MetricByName, ...],
    Field(min_length=1),
    Several("metric", alone=False),
    PlainSerializer(lambda metrics: [metric.to_config for metric in metrics]),
]
Margins = Annotated[
    dict[Annotated[str, AfterValidator(short_name)], Annotated[float, Field(gt=0)] | None],
    BeforeValidator(_margins, json_schema_input_type=dict[str, Annotated[float, Field(gt=0)] | None]),
]
Family = Literal["metric", "run"]
Representations = Annotated[tuple[Representation, ...], Field(min_length=1), Several("representation")]
Named = Annotated[str, AfterValidator(short_name)]
SomeInterventions = Annotated[tuple[Named, ...], Field(min_length=1), Several("intervention", alone=False)]
SomeClassifiers = Annotated[tuple[Named, ...], Field(min_length=1), Several("classifier", alone=False)]
Entries = Annotated[list[Any], Field(min_length=1)]
Techniques = Annotated[
    tuple[TechniqueSpec, ...],
    Field(min_length=1),
    BeforeValidator(read_interventions, json_schema_input_type=Entries),
]
Classifiers = Annotated[
    tuple[ComponentSpec, ...],
    Field(min_length=1),
    BeforeValidator(read_classifiers, json_schema_input_type=Entries),
]
TableNames = Annotated[
    tuple[Annotated[str, Known("table", tuple(outputs.TABLES))], ...], Several("table", alone=False)
]
FigureName = Annotated[str, Known("figure", tuple(outputs.FIGURES)), BeforeValidator(_refuse_old_figure)]
FigureFormats = Annotated[
    tuple[Annotated[str, Known("format of figures", outputs.FIGURE_FORMATS)], ...],
    Field(min_length=1),
    Several("format", alone=False),
]

SIZE = r"^([0-9]+(?:\.[0-9]+)?) ?([kKMGT]?)i?B?$"
_UNITS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def bytes_of(value: Any) -> Any:
    """Return a size such as ``4GB`` in bytes; a number as it is.

    >>> bytes_of("4GB"), bytes_of("1.5 G"), bytes_of("500MB")
    (4000000000, 1500000000, 500000000)
    """
    match = None
    if isinstance(value, str):
        match = re.fullmatch(SIZE, value)
    if isinstance(value, str) and match is None:
        raise mistake("must be a size", "write a size such as 4GB or 500MB")
    if match is None:
        return value
    return round(float(match[1]) * _UNITS[match[2]])


def size_in_words(size: int) -> str:
    """Return a size in bytes as it is written in a config.

    >>> size_in_words(4_000_000_000), size_in_words(1_500_000_000), size_in_words(1_234_567)
    ('4GB', '1500MB', '1234567B')
    """
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size % factor == 0:
            return f"{size // factor}{unit}"
    return f"{size}B"


Size = Annotated[
    int,
    BeforeValidator(bytes_of),
    Field(ge=10**8),
    PlainSerializer(size_in_words, return_type=str),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 10**8}, {"type": "string", "pattern": SIZE}]}),
]
"""A number of bytes, which may be written with a unit."""


class Limits(StrictModel):
    """What one repeat may take; nothing of it decides numbers."""

    seconds: float | None = Field(
        default=600.0,
        gt=0,
        description="Seconds that a repeat may run; then it is a row `overtime`. `null`: no limit.",
    )
    memory: Size | None = Field(
        default=4 * 10**9,
        description="Memory that a repeat may take on top of its worker's, such as `4GB`; then it is "
        "a row `memory`. `null`: no limit.",
    )

    def __str__(self) -> str:
        """Return them in words.

        >>> str(Limits()), str(Limits(seconds=None, memory="500MB")), str(Limits(seconds=None, memory=None))
        ('after 600 s or beyond 4GB of memory', 'beyond 500MB of memory', 'by no limit')
        """
        limits = []
        if self.seconds is not None:
            limits.append(f"after {self.seconds:g} s")
        if self.memory is not None:
            limits.append(f"beyond {size_in_words(self.memory)} of memory")
        return " or ".join(limits) or "by no limit"


def _tables(*, always: bool) -> str:
    return ", ".join(f"`{name}`" for name in outputs.TABLES if outputs.TABLES[name].always == always)


class Tables(StrictModel):
    """Which tables a run has and how they are laid out; nothing of it decides numbers."""

    show: TableNames = Field(
        default=outputs.DEFAULT_TABLES,
        description=f"{_tables(always=False)}; {_tables(always=True)} are written anyway, where they "
        "have rows.",
    )
    layout: Literal["techniques", "paper"] = Field(
        default="techniques",
        description="Of `discrimination-accuracy` and `over-underestimation`. `techniques`: a column a β, a "
        "block a data set. `paper`: a row a data set and β, two columns a technique, as papers print them.",
    )

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the metrics that the tables show, in their order."""
        return tuple(dict.fromkeys(chain.from_iterable(outputs.TABLES[name].metrics for name in self.show)))


def _read_tables(value: Any) -> Any:
    """Return a list of tables as those that are shown."""
    if isinstance(value, dict | Tables):
        return value
    return Tables(show=TypeAdapter(TableNames).validate_python(value))


class BiasConfig(StrictModel):
    """How rows are biased; may be given per data set."""

    bias: Worlds = Field(
        default=None,
        description="Mechanisms of bias in order, such as `[label: {flip: 0.5}]`; lists of such lists are "
        "several worlds. See below. Without it β edits a table.",
    )
    bias_direction: Literal["deprived", "both"] = Field(
        default="deprived",
        description="`deprived`: eq. (4) of cardoso2019, P'(+) = P(+)(1−β) in the deprived rows of the "
        "outcome's CPT. `both`: also P'(−) = P(−)(1−β) in the favoured rows.",
    )
    edit: BetaEdit = Field(
        default="outcome",
        description="The table that β edits: the `outcome`'s; the `group`'s, where the outcome is its parent "
        "(a share β of the deprived with + is recorded as others); `as-learned`: where their arc leads to.",
    )
    require_arc: bool = Field(
        default=False, description="Require the arc from the edited column to the outcome in the network."
    )
    outcome_sink: bool = Field(
        default=False, description="Let the outcome have no children, so that arcs point at it."
    )
    missing_arc: Literal["error", "leave"] = Field(
        default="error", description="`leave`: where there is no arc, run without bias; the tables say so."
    )
    beta_on: Annotated[
        dict[str, Share] | None,
        BeforeValidator(_shares, json_schema_input_type=str | list[str] | dict[str, Share] | None),
    ] = Field(
        default=None,
        description="The protected attributes that β acts on, one after another: `[race, sex]`, or each with "
        "its share of β, above 0, `{race: 1, sex: 0.5}`; by default the one that the run works on.",
    )
    size: int | None = Field(
        default=None, ge=1, description="Rows of a training set; by default as many as the data have."
    )


_TEST_SIZE = Problem(
    "what is not trained on is tested on",
    "write sample: {from: data, train_fraction: 0.7}, of a test_size of 0.3",
)


class SampleConfig(BiasConfig):
    """Where training sets come from and how biased they are."""

    removed: ClassVar[Mapping[str, Problem]] = {"test_size": _TEST_SIZE}

    source: Literal["network", "shipped", "data"] = Field(
        default="network",
        alias="from",
        description="`network`: learn it from the data file. `shipped`: the fitted network next to the card. "
        "`data`: no network; the real rows, a random part of them to train on and the rest to test.",
    )
    train_fraction: Fraction = Field(
        default=0.5,
        description="With `from: data`: fraction of the rows to train on, rounded down to whole rows; `2/3` "
        "may be written so.",
    )
    balanced: int | None = Field(
        default=None,
        ge=8,
        description="With `from: data`: so many rows are drawn again, with replacement and as many of each "
        "outcome in each group, after the split: training rows from the training part, test rows from the "
        "other.",
    )
    split_by: str | None = Field(
        default=None,
        description="With `from: data`: a column of the file, such as `person_id`, which the card may drop. "
        "All rows with one value of it are trained on, or all are tested on.",
    )
    learner: Literal["hill-climbing", "tabu", "chow-liu", "exact"] = Field(
        default="hill-climbing",
        description="Search for the network's structure: `hill-climbing` or `tabu`; with the extra "
        "`pomegranate` also `chow-liu`, a tree, or `exact`, the best of all, of few columns.",
    )
    score: Literal["bic", "aic", "bde", "k2"] = Field(
        default="bic", description="What the search maximises: `bic`, `aic`, `bde` or `k2`."
    )
    max_parents: int | None = Field(default=None, ge=1, description="Most parents a column may have.")
    beta: Annotated[tuple[Beta, ...], Field(min_length=1), Several("β")] = Field(
        default=(0.0, 0.25, 0.5, 0.75, 1.0),
        description="Bias levels β, each in [0, 1]; with a `bias` the strengths of mechanisms that say none.",
    )


class DatasetOptions(BiasConfig):
    """What a data set's entry may say after its name."""

    attribute: Annotated[tuple[str, ...], Field(min_length=1), Several()] = Field(
        default=(), description="The protected attribute, or a list of them; by default the card's first."
    )
    name: str = Field(
        default="",
        alias="as",
        pattern=NAME,
        description="Its name in the results, so that one data set may be listed with several settings; by "
        "default the card's.",
    )
    source: Literal["network", "shipped"] | None = Field(
        default=None,
        alias="from",
        description="Where its training rows come from, if not from where `sample` says. `shipped`: with "
        "`test: network` it needs no data file, so that packaged data run beside your own, offline.",
    )
    unknown_as: UnknownAs | None = Field(
        default=None,
        description="What becomes of rows whose outcome its card calls unknown: `leave-out`, a `level` of "
        "their own, or `unfavourable`; by default as the card says.",
    )
    title: str = Field(
        default="",
        max_length=60,
        description="What tables, figures and pages call it, if not by its name; decides no numbers.",
    )
    interventions: SomeInterventions | None = Field(
        default=None, description="Run only these of the interventions on it."
    )
    classifiers: SomeClassifiers | None = Field(
        default=None, description="Run only these of the classifiers on it."
    )


class DatasetSpec(DatasetOptions):
    """A data set of the experiment: its card, a shipped one's name or a path, and the options.

    As it is written it may name several attributes; a run has one of these for each.
    """

    card: str

    @property
    def works_on(self) -> str:
        """Return the protected attribute that a run works on, which its config has spelled out."""
        return self.attribute[0]

    def takes(self, intervention: str, classifier: str) -> bool:
        """Return whether the two are to run on it."""
        techniques = self.interventions
        classifiers = self.classifiers
        return intervention in (techniques or (intervention,)) and classifier in (
            classifiers or (classifier,)
        )

    def takes_classifier(self, classifier: ComponentSpec) -> bool:
        """Return whether some technique is to run with a classifier on it."""
        return self.classifiers is None or classifier.name in self.classifiers

    def to_config(self, hidden: set[str]) -> dict[str, Any]:
        """Return it as it is written in a config, without the `hidden` settings."""
        excluded = {"card"} | hidden
        if self.bias is not None:
            excluded |= OF_BETA
        for key in ("title", "interventions", "classifiers", "unknown_as", "source"):
            if not getattr(self, key):
                excluded.add(key)
        written = self.model_dump(mode="json", by_alias=True, exclude=excluded)
        return {self.card: written | {"attribute": self.works_on}}


def _read_dataset(item: Any, info: ValidationInfo) -> DatasetSpec:
    """Return an item of the list of data sets; the card of one that is named is read and noted.

    Raises
    ------
    pydantic.ValidationError
        Listing what is wrong with the options, and with the card.
    """
    if isinstance(item, DatasetSpec):
        return item
    name, options = split_name(item)
    if name is None:
        problem = f"a dataset must be a name or `name: {{option: value}}`, not {format_value(item)}"
        raise refusal(((), Problem(problem, f"use any of: {', '.join(known_cards())}")))
    findings = Findings()
    options_read = DatasetOptions()
    with findings.within(name):
        try:
            options_read = DatasetOptions.model_validate(options)
        except ValidationError as error:
            raise refusal(*to_findings(error, "datasets", name)) from None
    context = context_of(info)
    if context.base is not None:
        key_path: tuple[str, ...] = (name,)
        attributes = options.get("attribute") if isinstance(options, dict) else None
        try:
            path = find_card(name, context.base)
            card = read_card(path)
            context.cards[name] = path, card
            key_path = (name, "attribute")
            for attribute in in_list(attributes):
                card.attribute(attribute if isinstance(attribute, str) else None)
            key_path = (name, "unknown_as")
            card.with_unknown_as(options_read.unknown_as)
        except UserError as error:
            findings.gathered += [(key_path, problem) for problem in error.problems]
    findings.refuse()
    return DatasetSpec.model_construct(options_read.model_fields_set, card=name, **dict(options_read))


DatasetItem = Annotated[
    DatasetSpec,
    BeforeValidator(
        _read_dataset,
        json_schema_input_type=Annotated[
            str, Field(json_schema_extra=lambda schema: schema.update(examples=known_cards()))
        ]
        | Annotated[dict[str, DatasetOptions | None], Field(min_length=1, max_length=1)],
    ),
]


_JOBS = Problem("workers change no result", "leave it out, and give the run its number of them: --jobs 4")


class ExperimentConfig(FileModel):
    """The config of an experiment."""

    removed: ClassVar[Mapping[str, Problem]] = dict.fromkeys(("jobs", "n_jobs", "workers"), _JOBS) | {
        "test_size": _TEST_SIZE,
        "threshold": GIVEN_THRESHOLDS,
        "thresholds": GIVEN_THRESHOLDS,
    }

    name: str = Field(pattern=NAME, description="Results land in `results/NAME`.")
    seed: int = Field(default=0, ge=0, description="Base of every other seed.")
    repeats: int = Field(default=30, ge=1, le=100_000, description="Repeats of every cell.")
    datasets: Annotated[tuple[DatasetItem, ...], Field(strict=False)] = Field(
        min_length=1, description="Names of cards, or paths of your own; with options below."
    )
    sample: SampleConfig = Field(default=SampleConfig(), description="Where training sets come from.")
    test: Annotated[
        str | None,
        BeforeValidator(
            _test_rows,
            json_schema_input_type=Literal["original", "network", "holdout"]
            | Annotated[str, Field(pattern=FILE)]
            | None,
        ),
    ] = Field(
        default=None,
        description="`original`: the real rows, the default; of a card with `test_files` or `test_rows` "
        "these. `network`: rows sampled at β = 0, as many as a training set has. `holdout`, the default with "
        "`from: data`: the rows that are not trained on. Or a file, `./mine.csv`: its rows.",
    )
    test_labels: RowsOf = Field(
        default="true",
        description="With a `bias`: which labels and groups of the test rows tables, figures and answers are "
        "about, the `true` ones or those `recorded`, of the rows that the world includes; results.csv and "
        "groups.csv have both. Another value computes nothing again.",
    )
    test_features: RowsOf = Field(
        default="true",
        description="With a `bias`: the features of the test rows that models decide by. `recorded`: as the "
        "world records them, where what measures them stays.",
    )
    include_protected: bool = Field(
        default=False,
        description="Whether classifiers see the protected attribute; a technique may say otherwise.",
    )
    protected_columns: Literal["attribute", "all"] = Field(
        default="attribute",
        description="Which columns `include_protected` speaks of. `attribute`: the one that the run works "
        "on; of a joint attribute its parts too. `all`: every protected attribute of the card.",
    )
    representation: Representations = Field(
        default=("original",),
        description="How techniques and classifiers get the features; several are an axis, and a technique "
        "may say otherwise. `original`: levels and numbers. `numerical`: one 0/1 number per level, protected "
        "attributes as they are. `numerical-binary`: those as 0/1 numbers too, 1 for the favoured.",
    )
    interventions: Techniques = Field(description="Techniques; `fairbench list interventions`.")
    classifiers: Classifiers = Field(
        default=DEFAULT_CLASSIFIERS, validate_default=True, description="`fairbench list classifiers`."
    )
    metrics: Metrics = Field(
        default=tuple(map(MetricSpec, DEFAULT_METRICS)),
        description="What results.csv and summary.csv hold; `fairbench list metrics` has them all.",
    )
    margin: Margins = Field(
        default={},
        description="By metric, below which change of it a technique is said to change nothing, such as "
        "`{impact-ratio: 0.02}`; by default 0.01 for rates and differences of rates. Of other metrics, and "
        "with `null`, that is never said. Another value computes nothing again.",
    )
    family: Family = Field(
        default="metric",
        description="Over what p-values are adjusted together (Holm). `metric`: techniques and β of one "
        "metric, data set, groups compared and classifier. `run`: over all of these too, which shows less. "
        "Another value computes nothing again.",
    )
    attributes: tuple[AttributeName, ...] = Field(
        default=(),
        strict=False,
        description="Protected attributes and intersections, such as `sex×race`, that results and tables are "
        "about; by default the attribute that the run works on. Another list computes nothing again.",
    )
    strata: Annotated[tuple[str, ...], Several("attribute", alone=False)] = Field(
        default=(),
        description="Attributes whose levels, crossed, are the strata of conditional measures such as "
        "`unexplained-difference`.",
    )
    sweep: Literal["acceptance-rate"] | None = Field(
        default=None,
        description="`acceptance-rate`: also count at every acceptance rate from 0 to 1, by the models' "
        "scores, for sweep.csv and for what moving the thresholds reaches (frontier.csv).",
    )
    tables: Annotated[
        Tables,
        BeforeValidator(_read_tables, json_schema_input_type=Tables | TableNames),
        PlainSerializer(lambda tables: list(tables.show) if tables.layout == "techniques" else dict(tables)),
    ] = Field(
        default=Tables(),
        description="Which tables a run has, such as `[discrimination-accuracy, overview]`, or with their "
        "layout, `{layout: paper}`.",
    )
    figures: Annotated[tuple[FigureName, ...], Several("figure", alone=False)] = Field(
        default=(), description=f"{', '.join(f'`{name}`' for name in outputs.FIGURES)}."
    )
    figure_formats: FigureFormats = Field(
        default=outputs.DEFAULT_FIGURE_FORMATS,
        description="`svg`, `pdf`, `png`: what figures are written as, `network` as SVG alone. "
        "`[svg, pdf]`: for a paper. Another list computes nothing again.",
    )
    figure_titles: bool = Field(
        default=True,
        description="Whether figures have titles. `false`: for a paper, whose captions say what they show.",
    )
    predictions: bool = Field(
        default=False,
        description="Keep what was decided on each test row, with its score: a Parquet file a cell in "
        "`predictions/`.",
    )
    controls: bool | Literal["placebo"] = Field(
        default=False,
        description="`true`: models whose difference is known, by which a run measures its own error: twins "
        "that differ by chance alone, and a planted change of 2 points (controls.csv, the page, the answer). "
        "`placebo`: also every technique trained with the protected column shuffled. It needs `none`, and "
        "changes no other number.",
    )
    limits: Limits = Field(default=Limits(), description="What one repeat may take.")

    @field_validator("*")
    @classmethod
    def _note(cls, value: Any, info: ValidationInfo) -> Any:
        """Note a key that is right by itself: it is checked against the others even if some are wrong."""
        context_of(info).valid[str(info.field_name)] = value
        return value

    @property
    def tested(self) -> Tested:
        """Return where test rows come from, whatever file that is; `test` must be spelled out."""
        test_words: dict[str, Tested] = {"original": "original", "network": "network", "holdout": "holdout"}
        return test_words.get(self.test or "original", "file")

    @property
    def own_metrics(self) -> dict[str, Metric]:
        """Return the metrics that are not registered, by name, as far as they have been imported."""
        return {metric.name: metric.entry for metric in self.metrics if metric.origin is not None}

    @property
    def plugins(self) -> list[tuple[str, CodeOrigin]]:
        """Return techniques, classifiers and metrics that are not registered: the name and the code."""
        tuned = [technique.tune.metric for technique in self.interventions if technique.tune is not None]
        specs: list[ComponentSpec | MetricSpec] = [technique.spec for technique in self.interventions]
        specs += self.classifiers
        specs += self.metrics
        specs += tuned
        return [(spec.name, spec.origin) for spec in specs if spec.origin is not None]

    @property
    def own_files(self) -> list[Path]:
        """Return the files with techniques, classifiers and metrics that are not registered."""
        return [origin.path for _, origin in self.plugins if origin.path is not None]

    @property
    def at_hand(self) -> tuple[str, ...]:
        """Return those of the metrics that are registered or have been imported."""
        return tuple(metric.name for metric in self.metrics if metric.is_at_hand)

    @property
    def tuned_for(self) -> tuple[str, ...]:
        """Return the metrics that parameters are tuned for."""
        tunings = [technique.tune for technique in self.interventions if technique.tune is not None]
        return tuple(dict.fromkeys(tuning.metric.name for tuning in tunings))

    @property
    def has_worlds(self) -> bool:
        """Return whether some data set has a `bias`, its own or that of `sample`, and results a world."""
        all_settings = [spec if "bias" in spec.model_fields_set else self.sample for spec in self.datasets]
        return any(settings.bias is not None for settings in all_settings)

    @property
    def takes_beta(self) -> bool:
        """Return whether β has an effect: on an outcome's table, or as the strength of a mechanism."""
        takes_beta = [world.takes_beta for spec in self.datasets if spec.bias for world in spec.bias]
        return any(spec.bias is None for spec in self.datasets) or any(takes_beta)

    def worlds(self, spec: DatasetSpec) -> list[CellWorld]:
        """Return the worlds of a data set's cells, which its config has spelled out.

        Without a `bias` they have no mechanism, and β acts on the outcome's table.
        """
        betas = [beta + 0.0 for beta in self.sample.beta]  # -0.0 is 0.0
        if spec.bias is None:
            return [CellWorld("", beta, ()) for beta in betas]
        return list(worlds_at(spec.bias, betas))

    def source_of(self, spec: DatasetSpec) -> Literal["network", "shipped", "data"]:
        """Return where the training rows of a data set come from."""
        return spec.source or self.sample.source

    def unused_settings(self, specs: Iterable[DatasetSpec]) -> frozenset[str]:
        """Return the settings that say nothing of the training rows of any of some data sets."""
        return frozenset.intersection(*(WITHOUT_EFFECT[self.source_of(spec)][0] for spec in specs))

    def metric(self, name: str) -> Metric:
        """Return one of the metrics that are at hand."""
        return self.own_metrics.get(name) or METRICS[name]

    @property
    def row_metrics(self) -> RequestedRowMetrics:
        """Return the metrics that need the test rows themselves, with their strata."""
        of_rows = [
            component for component in self.metrics if component.is_at_hand and component.entry.needs_rows
        ]
        return RequestedRowMetrics(tuple(of_rows), self.strata)

    @property
    def keeps_scores(self) -> bool:
        """Return whether sums of the models' scores are kept, as a metric is computed from them."""
        return any(self.metric(name).needs == "score-sums" for name in self.at_hand)

    def to_config(self) -> dict[str, Any]:
        """Return the config as plain data, with every default spelled out; it runs as it is."""
        without_bias = set[str]()
        unsaid = set[str]()
        if not self.has_worlds:
            without_bias = {"bias"}
            unsaid = {"test_labels", "test_features"}
        if all(settings.edit == "outcome" for settings in (self.sample, *self.datasets)):
            without_bias.add("edit")  # as of controls
        if not self.controls:
            unsaid = unsaid | {"controls"}  # a config from before there were any has the same bytes
        if self.figure_formats == outputs.DEFAULT_FIGURE_FORMATS:
            unsaid = unsaid | {"figure_formats"}
        hidden_of_sample = without_bias | self.unused_settings(self.datasets)
        if all(spec.bias is not None for spec in self.datasets):
            hidden_of_sample |= OF_BETA
        if not self.takes_beta:
            hidden_of_sample.add("beta")
        if self.sample.split_by is None:
            hidden_of_sample.add("split_by")
        excluded = {"sample": hidden_of_sample} | dict.fromkeys(unsaid, True)
        return self.model_dump(mode="json", by_alias=True, exclude=excluded) | {
            "datasets": [
                spec.to_config(without_bias | self.unused_settings([spec])) for spec in self.datasets
            ],
            "interventions": [technique.to_config() for technique in self.interventions],
            "classifiers": [spec.to_config() for spec in self.classifiers],
        }

    def as_yaml(self) -> str:
        """Return the config as YAML text."""
        head = "# The config of these results with every default spelled out. It runs as it is.\n"
        return head + dump_yaml(self.to_config())


OF_BETA = frozenset({"beta_on", "bias_direction", "edit", "missing_arc"})
"""The settings that say how β edits tables of the network."""

_LEARNED = frozenset({"learner", "score", "max_parents", "require_arc", "outcome_sink"})
_DIVIDED = frozenset({"train_fraction", "balanced", "split_by"})
_DRAWN = OF_BETA | {"bias", "beta", "size"}

# The settings that say nothing where training rows come from such a source, and why.
WITHOUT_EFFECT = {
    "network": (_DIVIDED, "without real rows to train on", "write `from: data`"),
    "shipped": (
        _LEARNED | _DIVIDED,
        "on a shipped network, which is learned already",
        "write `from: network` to learn one",
    ),
    "data": (_LEARNED | _DRAWN, "on real rows, which come from no network", "write `from: network`"),
}
