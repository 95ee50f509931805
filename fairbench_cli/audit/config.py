"""What an audit is asked to do: every key, its default and its meaning; from flags, a YAML file or Python."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain, pairwise
from pathlib import PurePath
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
)

from fairbench_cli.audit.margins import read_margin, read_rate_margin, write_margin
from fairbench_cli.audit.metrics import (
    COMPARED,
    INTERVENTIONS,
    ROLL_UPS,
    canonical,
    find_metric,
    has_margin,
    has_tau,
    is_metric,
    kind,
)
from fairbench_cli.base.errors import Flag, Problem, find_nearest, format_value, suggest
from fairbench_cli.base.validation import StrictModel, check_encoding, mistake, several_meant
from fairbench_cli.base.yaml_document import parse_scalar
from fairbench_cli.data.number_writing import Notation
from fairbench_cli.measures.margin import Margin
from fairbench_cli.measures.number_measures import NUMBER_MEASURES, SHARE_ABOVE
from fairbench_cli.measures.significance import alpha_level

Ties = Literal["include", "exclude", "random"]
RefMethod = Literal["given", "majority", "minimum", "maximum", "rest"]
Effect = Literal["assistive", "punitive"]
Rule = Literal["evidence", "point"]
Preset = Literal["aequitas", "eeoc", "ll144"]
Spelling = Literal["merge", "keep"]
DateOrder = Literal["day-first", "month-first"]
OutcomeKind = Literal["decision", "number", "probability", "ordinal", "class"]
Months = Literal["alike", "differ"]
Side = Literal["higher", "lower"]

NUMERIC: tuple[OutcomeKind, ...] = ("number", "probability", "ordinal")
"""Outcomes that are compared as they are, without a decision."""

TAU = 0.8
LEAST_CHANGE = 0.02  # of the difference of two rates: less is hardly a change
SUREST = 1 - 1e-9  # of confidence: normal quantiles beyond are rounding
MOST_CLUSTERS = 2  # columns that say what rows have in common
MOST_SCORES = 6  # columns: rows are counted by all decisions together
UNDECIDED = "undecided"  # in `fail-on` and `warn-on`: unless everything passes
WORSE = "worse"  # in `fail-on` and `warn-on`: where a disparity is larger than it was
OF_CHANGES = f":{WORSE}"  # after a name there: where its disparity is
DEFAULT = "default"  # in `tau` and `least-change`: every metric that has none of its own
ABOVE_MEDIAN = "above the median"
PERIODS = ("week", "month", "quarter", "year")
"""What dates are cut into: ``date:month``."""
MISSING = "(missing)"  # the group of those whose group is not known
FOUR_FIFTHS = 0.8
EXCLUDING = ("eeoc", "ll144")  # presets: rules of the United States, which leave out small categories
KEPT = "status=hired,refused"  # an example
ENDS = {"low": ">=", "high": "<="}
"""The side of a number at each end of a range, as cards call these."""
RECODE_FIX = "write 'sex: F = Female, female', or {sex: {F: [Female, female]}}"
WITHOUT_VERDICT = ("ll144",)  # presets by which nothing passes or fails


@dataclass(frozen=True)
class Decision:
    """How scores become decisions.

    Parameters
    ----------
    kind : {"binary", "threshold", "top-k", "top-share", "median", "none"}
        ``binary``: scores are 0/1 as they are. ``threshold``: score >= value. ``top-k``: the `value` rows
        with the highest scores. ``top-share``: that share of the rows, in (0, 1]. ``median``: score > the
        median of all; or as they are, where scores are 0/1. ``none``: of numbers, which nobody decides by.
    value : float
        Unused for ``binary``, ``median`` and ``none``.
    ties : {"include", "exclude", "random"}
        What happens to rows with exactly the score at the cut of a top list, when not all of them fit.
    """

    kind: Literal["binary", "threshold", "top-k", "top-share", "median", "none"] = "binary"
    value: float = 0.0
    ties: Ties = "include"

    def __str__(self) -> str:
        value_text = f"{self.value:.15g}"
        return {
            "binary": "binary",
            "threshold": f"score >= {value_text}",
            "top-k": f"top {value_text}",
            "top-share": f"top {100 * self.value:.12g} %",
            "median": ABOVE_MEDIAN,
            "none": "",
        }[self.kind]


@dataclass(frozen=True)
class Edges:
    """Where a numeric attribute is cut.

    Parameters
    ----------
    edges : tuple of float
        Where one group ends and the next begins, rising.
    closed : {"left", "right"}
        Whether a number at an edge belongs to the group that begins there (``left``) or to the one that ends.
    """

    edges: tuple[float, ...]
    closed: Literal["left", "right"] = "left"

    def names(self, *, integers: bool) -> tuple[str, ...]:
        """Return the groups' names for people, the lowest first; `integers` where all numbers are whole ones.

        >>> Edges((25, 45, 65)).names(integers=True)
        ('under 25', '25 to 44', '45 to 64', '65 and over')
        >>> Edges((0.5, 1)).names(integers=False), Edges((25, 45), "right").names(integers=True)
        (('under 0.5', '0.5 to under 1', '1 and over'), ('25 and under', '26 to 45', 'over 45'))
        """
        integers = integers and all(edge == int(edge) for edge in self.edges)
        closed_left = self.closed == "left"
        lowest = f"{self.edges[0] + 0.0:.15g}"
        highest = f"{self.edges[-1] + 0.0:.15g}"
        between = []
        for low, high in pairwise(self.edges):
            low, high = (low, high - integers) if closed_left else (low + integers, high)
            ends = [f"{end + 0.0:.15g}" for end in (low, high)]
            if not integers:
                if closed_left:
                    ends = [ends[0], f"under {ends[1]}"]
                else:
                    ends = [f"over {ends[0]}", ends[1]]
            between.append(" to ".join(dict.fromkeys(ends)))
        if closed_left:
            names = (f"under {lowest}", f"{highest} and over")
        else:
            names = (f"{lowest} and under", f"over {highest}")
        return (names[0], *between, names[1])


@dataclass(frozen=True)
class NumberSide:
    """One side of a number: ``age<40``.

    Parameters
    ----------
    name : str
        The column.
    sign : {"<", "<=", ">", ">="}
    edge : float
    """

    name: str
    sign: str
    edge: float

    @property
    def edges(self) -> Edges:
        """Where it cuts."""
        return Edges((self.edge,), "left" if self.sign in ("<", ">=") else "right")

    def group_of(self, edges: Edges) -> str | None:
        """Return which group of a cut attribute it is, None where it is none.

        >>> ages = Edges((25, 45))
        >>> NumberSide("age", "<", 25).group_of(ages), NumberSide("age", "<", 45).group_of(ages)
        ('under 25', None)
        """
        low = self.sign.startswith("<")
        if edges.closed != self.edges.closed or edges.edges[0 if low else -1] != self.edge:
            return None
        return edges.names(integers=False)[0 if low else -1]


_SIDE = re.compile(r"\s*([^=<>]+?)\s*(<=|>=|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+))\s*")


def side_of(text: str) -> NumberSide | None:
    """Return the side of a number that a text such as ``age<40`` names; None where it names none.

    >>> side_of("age >= 40"), side_of("age=>=40"), side_of("race")
    (NumberSide(name='age', sign='>=', edge=40.0), None, None)
    """
    match = _SIDE.fullmatch(text)
    if match:
        return NumberSide(match[1], match[2], float(match[3]))
    return None


def read_bins(value: Any) -> int | Edges:
    """Return a number of bins; or edges, which may be given as "25,45,65", a list or a mapping."""
    if isinstance(value, Edges):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 2:
            raise mistake(f"at least 2 bins, not {value}", "write 2 or more, or edges: age=25,45,65")
        return value
    listed: Any = value
    closed: Any = "left"
    if isinstance(value, Mapping) and "edges" in value and set(value) <= {"edges", "closed"}:
        listed = value["edges"]
        closed = value.get("closed", closed)
    if isinstance(listed, str):
        listed = [parse_scalar(text.strip()) for text in listed.split(",") if text.strip()]
    if isinstance(listed, list | tuple):
        edges = listed
    else:
        edges = [listed]
    numbers = all(
        isinstance(edge, int | float) and not isinstance(edge, bool) and abs(edge) <= sys.float_info.max
        for edge in edges
    )
    if not edges or not numbers or isinstance(value, bool) or closed not in ("left", "right"):
        raise mistake(f"a number of bins or edges, not {format_value(value)}", "write age=4, or age=25,45,65")
    if any(low >= high for low, high in pairwise(edges)):
        raise mistake(f"edges rise, and {format_value(value)} do not", "write them in order: age=25,45,65")
    return Edges(tuple(map(float, edges)), closed)


def _write_bins(bins: int | Edges) -> Any:
    """Return bins as a file has them."""
    if isinstance(bins, int):
        return bins
    edges = [int(edge) if edge == int(edge) else edge for edge in bins.edges]
    if bins.closed == "left":
        return edges
    return {"edges": edges, "closed": bins.closed}


OWN_UNITS = (set(NUMBER_MEASURES) | {DEFAULT}) - {SHARE_ABOVE}
"""What may have margins in the units of a column."""
COMMON = COMPARED + tuple(ROLL_UPS)
"""The metrics that are suggested first."""


def _check_metric(text: str, common: tuple[str, ...] = COMMON) -> str:
    """Check the name of a metric, which an attribute and a colon may precede; suggest `common` ones first."""
    name = text.rpartition(":")[2]
    try:
        metric_kind = kind(name)
    except KeyError:
        from fairbench_cli.measures.registry import COUNT_METRICS

        is_rare = find_nearest(name, COUNT_METRICS) and not find_nearest(name, common)
        names: Iterable[str] = COUNT_METRICS if is_rare else common
        raise mistake(f"no metric is called {format_value(name)}", suggest(name, names)) from None
    if metric_kind != "rows":
        return text
    if find_metric(name).needs == "score-sums":
        fix = ("see ", Flag("curves"), ", which measures scores by group, or a run")
        raise mistake(f"{format_value(name)} is of scores, and decisions are counted", fix)
    in_run = f"name it in the config of a run: metrics: [{name}]"
    raise mistake(f"{format_value(name)} needs the rows, and these are counted", in_run)


def _check_metric_with_tau(name: str) -> str:
    """Check the name of a metric that passes by its tau."""
    if name != DEFAULT and not has_tau(_check_metric(name, (*COMPARED, DEFAULT))):
        raise mistake(
            f"{format_value(name)} does not pass by a tau", "name a rate, or another metric with a range"
        )
    return name


def _check_metric_with_margin(name: str) -> str:
    """Check the name of a metric that passes by a margin."""
    if name != DEFAULT and not has_margin(_check_metric(name, (*COMPARED, DEFAULT))):
        problem = f"{format_value(name)} is no rate and no difference, so it has no margin"
        raise mistake(problem, "name a rate: fpr=0.05")
    return name


def _read_margins(value: Any) -> Any:
    """Return {metric: margin}; those of a metric by name are of rates, as is the share above a value."""
    margins = READERS["margin"](value)
    if not isinstance(margins, dict):
        return margins
    return {
        name: read_margin(margin) if name in OWN_UNITS else read_rate_margin(margin)
        for name, margin in margins.items()
    }


def _check_compared_rate(name: str) -> str:
    """Check the name of a rate that is compared before and after."""
    if name != DEFAULT and kind(_check_metric(name, (*COMPARED, DEFAULT))) != "rate":
        raise mistake(f"{format_value(name)} is no rate that groups are compared on", "name a rate: fpr=0.01")
    return name


def _check_gate_name(text: str) -> str:
    """Check what a gate goes by, as far as it is known before the rows are: an attribute has any name."""
    name = text.removesuffix(OF_CHANGES)
    attribute, _, word = name.rpartition(":")
    if attribute and word == UNDECIDED:
        raise mistake(f"{UNDECIDED} is about all that a gate names", f"name both: {attribute}, {UNDECIDED}")
    if attribute or is_metric(name):
        _check_metric(name, COMMON + (UNDECIDED, WORSE))
        if name != text and kind(word) in ("counts", "classes"):
            problem = f"{format_value(word)} is no rate that models are compared on"
            raise mistake(problem, f"name a rate: fpr{OF_CHANGES}")
    elif not name.strip():
        raise mistake("a gate goes by a name, and this one is empty", "write fpr, race:fpr or race")
    return text


def _to_tuple(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(value)
    return (value,)


LISTED = BeforeValidator(_to_tuple)


def explain_cut(key: str, value: Any) -> Problem | None:
    """Return the way out of a threshold or top list that is given by group, or as several in one text."""
    if isinstance(value, Mapping) or (isinstance(value, str) and re.search("[:=]", value)):
        make = "make a column of 0 and 1, by the cut of each row's group, and audit that: "
        offer = (make, Flag("score", "COLUMN"), " in the place of ", Flag(key))
        return Problem("it is one number for all groups", offer)
    if isinstance(value, str) and re.fullmatch(r"0?,\d+", value):
        return Problem("a decimal comma is not read here", ("write ", Flag(key, value.replace(",", "."))))
    if isinstance(value, str) and (numbers := several_meant(value)):
        fix = ("write ", Flag(key, tuple(json.loads(numbers))))
        return Problem("it is one number; of several each is audited", fix)
    return None


def _refuse_cut(value: Any, info: ValidationInfo) -> Any:
    problem = explain_cut(f"{info.field_name}".replace("_", "-"), value)
    if problem is not None:
        raise mistake(f"{problem.what}", problem.fix)
    return value


CUT = BeforeValidator(_refuse_cut)


def _list_texts(value: Any) -> Any:
    """List texts, none twice; numbers and true are written as in a file."""
    return tuple(dict.fromkeys(map(_write_text, _to_tuple(value))))


def _write_text(value: Any) -> Any:
    """Write a number, and true, as in a file.

    >>> _write_text(0), _write_text(True), _write_text("x")
    ('0', 'true', 'x')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def _values_by_name(
    read: Callable[[str], Any], example: str, alone: str = "", *, sided: bool = False
) -> Callable[[Any], Any]:
    """Return a reader of {name: value}, "name=value" or a list of these; `alone` names a value without one.

    `sided` takes one side of a number, such as ``age<40``, for a name without a value.

    >>> _values_by_name(parse_scalar, "fpr=0.9", "default")(["0.8", "fpr=0.9", {"tpr": 0.7}])
    {'default': 0.8, 'fpr': 0.9, 'tpr': 0.7}
    >>> _values_by_name(str, "race=Caucasian")(["race=Caucasian", "age=25 = 45"])
    {'race': 'Caucasian', 'age': '25 = 45'}
    """

    def take(value: Any) -> Any:
        if isinstance(value, Mapping) and read is str:
            return {
                name: _write_text(named) if type(named) is not bool else named
                for name, named in value.items()
            }
        if isinstance(value, Mapping):
            return dict(value)
        if sided and isinstance(value, str) and side_of(value):
            return {value: ""}
        if isinstance(value, list | tuple):
            mappings = [take(element) for element in value]
            if not all(isinstance(element, dict) for element in mappings):
                return value
            names = list(chain.from_iterable(mappings))
            for name in names:
                if names.count(name) > 1:
                    called = "without a name" if name == alone else f"for {name}"
                    raise mistake(f"a value {called} is given twice", "leave one of the two out")
            value_of: dict[str, Any] = {}
            for mapping in mappings:
                value_of.update(mapping)
            return value_of
        if isinstance(value, str):
            name, sign, text = (text.strip() for text in value.partition("="))
            if name and text:
                return {name: read(text)}
            if sign or not alone:
                raise mistake(f"{format_value(value)} is not NAME=VALUE", f"write both, such as {example}")
            value = read(name)
        if alone:
            return {alone: value}
        return value

    return take


def _sets_of_columns(least: int, wrong: str, fix: str) -> Callable[[Any], Any]:
    """Return a reader of column names ("a"), sets of them ("a,b" or [a, b]), or a list of these.

    A set has at least `least` names, each once; none stands twice, in whatever order.
    """

    def take(value: Any) -> Any:
        sets_given = _to_tuple(value)
        if least > 1 and all(isinstance(columns, str) and "," not in columns for columns in sets_given):
            sets_given = (sets_given,)
        sets = [
            columns.split(",") if isinstance(columns, str) else _to_tuple(columns) for columns in sets_given
        ]
        if not all(isinstance(name, str) for name in chain.from_iterable(sets)):
            return sets_given
        trimmed = [tuple(map(str.strip, names)) for names in sets]
        unique: dict[frozenset[str], tuple[str, ...]] = {}
        for names in trimmed:
            if len(names) < least or "" in names or len(set(names)) < len(names):
                raise mistake(f"{format_value(','.join(names))} {wrong}", fix)
            unique.setdefault(frozenset(names), names)
        return tuple(unique.values())

    return take


def _read_recodes(value: Any) -> Any:
    """Return {column: {value: (old value, …)}} of such a mapping, or of texts "column: value = old, old; …".

    >>> _read_recodes("sex: F = Female, female; M = Male")
    {'sex': {'F': ('Female', 'female'), 'M': ('Male',)}}
    """
    recodes: dict[str, dict[str, tuple[str, ...]]] = {}
    for name, new_value, old_values in split_recodes(value):
        by_value = recodes.setdefault(name, {})
        for text in old_values:
            if any(text in old for other, old in by_value.items() if other != new_value):
                raise mistake(f"{format_value(text)} of {name} is recoded twice", "name each value once")
        by_value[new_value] = tuple(dict.fromkeys(by_value.get(new_value, ()) + old_values))
    return recodes


def split_recodes(value: Any) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield each column, a value and those that count as it."""
    if isinstance(value, list | tuple):
        for entry in value:
            yield from split_recodes(entry)
        return
    if isinstance(value, str):
        name, _, text = value.partition(":")
        value = {name: dict(clause.partition("=")[::2] for clause in text.split(";") if clause.strip())}
    if not isinstance(value, Mapping):
        raise mistake(f"{format_value(value)} recodes nothing", RECODE_FIX)
    for name, by_value in value.items():
        if not isinstance(by_value, Mapping) or not by_value:
            raise mistake(f"{format_value(str(name))} recodes nothing", RECODE_FIX)
        for new_value, old_values in by_value.items():
            listed = old_values.split(",") if isinstance(old_values, str) else _list_texts(old_values)
            texts = tuple(str(text).strip() for text in listed)
            if not all(texts) or not str(new_value).strip():
                problem = f"{format_value(str(new_value).strip())} stands for no value of {name}"
                raise mistake(problem, RECODE_FIX)
            yield str(name).strip(), str(new_value).strip(), texts


def _read_order(value: Any) -> Any:
    """Return levels as a tuple of texts, which may be given in a text, "low,medium,high".

    >>> _read_order("low, medium,high"), _read_order([1, 2])
    (('low', 'medium', 'high'), ('1', '2'))
    """
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    if isinstance(value, str):
        value = value.split(",")
    levels = tuple(str(level).strip() for level in _to_tuple(value))
    if value and (len(levels) < 2 or "" in levels or len(set(levels)) < len(levels)):
        raise mistake(f"{format_value(','.join(levels))} is no order of levels", "write low,medium,high")
    return levels if value else ()


def _read_kept(value: Any) -> Any:
    """Return {column: (value, …)} of rows to keep; a side of a number, such as ``age>=18``, has no values.

    >>> _read_kept(["status=hired, refused", "age>=18"]), _read_kept({"age": {"low": 18, "high": 65}})
    ({'status': ('hired', 'refused'), 'age>=18': ()}, {'age>=18': (), 'age<=65': ()})
    """
    by_name = _values_by_name(str, KEPT, sided=True)(value)
    if not isinstance(by_name, dict):
        return by_name
    values_of: dict[str, tuple[str, ...]] = {}
    for name, values in by_name.items():
        if isinstance(values, Mapping) and values and set(values) <= set(ENDS):
            values_of.update((f"{name}{ENDS[end]}{limit}", ()) for end, limit in values.items())
            continue
        if isinstance(values, str) and side_of(f"{name}{values}"):
            values_of[f"{name}{values}"] = ()
            continue
        listed = values.split(",") if isinstance(values, str) else _list_texts(values)
        texts = tuple(str(text).strip() for text in listed if text != "")
        if bool(texts) == bool(side_of(name)):
            raise mistake(f"{format_value(name)} names no values to keep", f"write {KEPT}, or 'age>=18'")
        values_of[name] = texts
    return values_of


# Of the keys whose values by name are laid over those of a file.
READERS = {
    "ref": _values_by_name(str, "race=Caucasian", sided=True),
    "bins": _values_by_name(parse_scalar, "age=4"),
    "tau": _values_by_name(parse_scalar, "fpr=0.9", DEFAULT),
    "margin": _values_by_name(parse_scalar, "fpr=0.05", DEFAULT),
    "least-change": _values_by_name(parse_scalar, "fpr=0.01", DEFAULT),
    "spellings": _values_by_name(str, "sex=merge", DEFAULT),
    "recode": _read_recodes,
    "keep": _read_kept,
    "notation": _values_by_name(str, "pay=comma"),
}
_intersections = _sets_of_columns(2, "is not two or more attributes", "write race,sex")
_explained = _sets_of_columns(1, "does not name different columns", "write education,hours")


def _check_confidence(value: float) -> float:
    """Check that normal quantiles of a confidence can be computed."""
    if value > SUREST:
        raise mistake(f"{value!r} is too near 1 for an interval", f"write {SUREST} or less")
    return value


Bins = Annotated[
    Any, BeforeValidator(read_bins), PlainSerializer(_write_bins, return_type=Any), WithJsonSchema({})
]
ColumnSets = tuple[tuple[str, ...], ...]
Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(gt=0, le=1)]
OpenShare = Annotated[float, Field(gt=0, lt=1)]
MetricName = Annotated[str, AfterValidator(_check_metric)]
GateName = Annotated[str, AfterValidator(_check_gate_name)]
TauName = Annotated[str, AfterValidator(_check_metric_with_tau)]
MarginName = Annotated[str, AfterValidator(_check_metric_with_margin)]
MarginValue = Annotated[
    Margin,
    PlainSerializer(write_margin, return_type=int | float | str),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string"}]}),
]
RateName = Annotated[str, AfterValidator(_check_compared_rate)]


class Use(Enum):
    """What of an audit a key is used by."""

    READING = "reading"
    JUDGING = "judging"


READ = Use.READING
"""Of keys by which rows are read: where one changes, they are read again."""
JUDGED = Use.JUDGING
"""Of keys by which what was read is judged."""


class AuditConfig(StrictModel):
    """What an audit is asked to do.

    Every field is a key of a config file, a flag and a keyword of `audit()`, all by its alias (with dashes or
    underscores). What the descriptions say is what ``fairbench audit --help`` prints.
    """

    model_config = ConfigDict(
        validate_by_name=True,
        validate_by_alias=True,
        alias_generator=lambda name: name.replace("_", "-"),
    )
    removed: ClassVar[Mapping[str, Problem]] = {
        "neighbours": Problem(
            "an audit has no neighbours any more",
            "leave it out; name situation-testing in the metrics of a run",
        ),
        "pdf": Problem(
            "pages go by -o", ("give ", Flag("output", "page.pdf"), " in the place of ", Flag("pdf"))
        ),
        "plan": Problem("a plan is a command of its own", "leave it out, or use `fairbench power`"),
    }

    scores: Annotated[Annotated[tuple[str, ...], LISTED, Field(min_length=1)] | None, READ] = Field(
        None,
        alias="score",
        description="Column of scores. Default: score. Repeat it: each is compared with the first.",
    )
    table: Annotated[str | None, READ] = Field(
        None,
        description="Table of an SQLite file (default: the only one), or sheet of a workbook (the largest).",
    )
    encoding: Annotated[Annotated[str, AfterValidator(check_encoding)] | None, READ] = Field(
        None, description="Encoding of a text file: latin-1, cp1252 (of Windows), utf-16. Default: utf-8."
    )
    against: Annotated[str | None, READ] = Field(
        None, description="The baseline: a file about the same rows, with whose scores these are compared."
    )
    identifier: Annotated[str | None, READ] = Field(
        None, alias="id", description="With --against: column of persons that pairs the rows of both files."
    )
    sliced_by: Annotated[str | None, READ] = Field(
        None,
        alias="slice",
        description="Column that divides the rows, such as month or date:month (week, quarter, year). Slices "
        "in an order are looks at one stream: however many, at most 5 % false alarms.",
    )
    label: Annotated[str | None, READ] = Field(
        None, description="Column of true labels. Default: label_value or label."
    )
    attributes: Annotated[Annotated[tuple[str, ...], LISTED, Field(min_length=1)] | None, READ] = Field(
        None,
        alias="attribute",
        description="Column to audit, or 'age<40'. Default: those called like protected attributes.",
    )
    weight: Annotated[str | None, READ] = Field(None, description="Column of weights.")
    counts: Annotated[str | None, READ] = Field(
        None, description="Column that says how many people a row stands for."
    )
    cluster: Annotated[Annotated[tuple[str, ...], LISTED, Field(min_length=1)] | None, READ] = Field(
        None,
        description="Column of what rows have in common: person, school, household. Give it twice for rows "
        "that share either, such as prompts and names.",
    )
    model_column: Annotated[str | None, READ] = Field(
        None, description="Column of the models' names; each is audited."
    )
    bins: Annotated[dict[str, Bins], BeforeValidator(READERS["bins"]), READ] = Field(
        {},
        description="Cut a numeric attribute into bins of equal counts, --bins age=4, or at edges, "
        "--bins age=25,45,65",
    )
    as_of: Annotated[str | None, READ] = Field(
        None,
        description="The day on which ages are counted, where a column of birth dates is cut: 2024-12-31, or "
        "a column of days.",
    )
    intersections: Annotated[ColumnSets, BeforeValidator(_intersections), READ] = Field(
        (), alias="intersect", description="Audit a combination: --intersect race,sex"
    )
    favourable: Annotated[tuple[str, ...], BeforeValidator(_list_texts), READ] = Field(
        (),
        description="The good value of score and label, yes or 0, which counts as 1; several of one outcome: "
        "'yes|Yes'; repeat it: each is audited.",
    )
    favourable_label: Annotated[str | None, BeforeValidator(_write_text), READ] = Field(
        None, description="Value of the label that counts as 1, where its good value is another: 0."
    )
    recode: Annotated[dict[str, dict[str, tuple[str, ...]]], BeforeValidator(READERS["recode"]), READ] = (
        Field({}, description="Values that count as another: --recode 'sex: F = Female, female; M = Male'")
    )
    notation: Annotated[dict[str, Notation | DateOrder], BeforeValidator(READERS["notation"]), READ] = Field(
        {},
        description="What cells of a column mean that may be read in two ways: point, comma or either before "
        "decimals, second of two numbers; day-first or month-first: --notation pay=comma",
    )
    keep: Annotated[dict[str, tuple[str, ...]], BeforeValidator(READERS["keep"]), READ] = Field(
        {},
        description="Count the rows with these values alone, and say whom that leaves out: "
        "--keep status=hired,refused --keep 'age>=18'",
    )
    drop_missing: Annotated[bool, READ] = Field(
        False, description="Leave out rows without a score or label; how many of each group is said."
    )
    spellings: Annotated[dict[str, Spelling], BeforeValidator(READERS["spellings"]), READ] = Field(
        {},
        description="Values that differ in capitals, blanks or accents only: merge, or keep apart; of one "
        "column: --spellings sex=merge",
    )
    outcome: Annotated[OutcomeKind | None, READ] = Field(
        None,
        description="What scores are: decision, number (salaries, grades), probability (of a label of 1), "
        "ordinal (ranks) or class. Default: as the column says.",
    )
    order: Annotated[tuple[str, ...], BeforeValidator(_read_order), READ] = Field(
        (), description="Levels of an ordinal outcome, the lowest first: --order low,medium,high"
    )
    better: Annotated[Side | None, READ] = Field(
        None,
        description="Which numbers are better to have: higher (pay) or lower (waits, fines). Default: "
        "as the name says, where it does.",
    )
    threshold: Annotated[tuple[Annotated[float, Field(allow_inf_nan=False)], ...], LISTED, CUT, READ] = Field(
        (), description="Selected: score >= this."
    )
    top_k: Annotated[tuple[Count, ...], LISTED, CUT, READ] = Field(
        (), description="Selected: the k highest scores."
    )
    top_share: Annotated[tuple[Share, ...], LISTED, CUT, READ] = Field(
        (), description="Selected: the highest share, such as 0.1."
    )
    above: Annotated[float | None, READ] = Field(
        None, allow_inf_nan=False, description="Of numbers also the share above this value."
    )
    ties: Annotated[Ties, READ] = Field(
        "include", description=f"Equal scores at the cut of a top list: {', '.join(get_args(Ties))}."
    )
    references: Annotated[dict[str, str], BeforeValidator(READERS["ref"]), JUDGED] = Field(
        {}, alias="ref", description="Reference group: --ref race=Caucasian --ref 'age>=40'"
    )
    ref_method: Annotated[RefMethod, JUDGED] = Field(
        "majority", description=f"Reference without --ref: {', '.join(get_args(RefMethod)[1:])}."
    )
    tau_by_metric: Annotated[
        dict[TauName, Share],
        BeforeValidator(READERS["tau"]),
        AfterValidator(lambda taus: {DEFAULT: TAU, **taus}),
        JUDGED,
    ] = Field(
        {DEFAULT: TAU}, alias="tau", description="Ratios pass from tau to 1/tau: --tau 0.8 --tau fpr=0.9"
    )
    margin: Annotated[dict[MarginName, MarginValue], BeforeValidator(_read_margins), JUDGED] = Field(
        {},
        description="Differences pass within it, in the place of tau: --margin fpr=0.05 --margin 0.05. Of "
        "numbers without a name it is of the mean, and of the mean error; --margin mae=10% of errors.",
    )
    least_change_by_metric: Annotated[
        dict[RateName, Annotated[float, Field(ge=0, lt=1)]],
        BeforeValidator(READERS["least-change"]),
        AfterValidator(lambda changes: {DEFAULT: LEAST_CHANGE, **changes}),
        JUDGED,
    ] = Field(
        {DEFAULT: LEAST_CHANGE},
        alias="least-change",
        description="A gap that changed by less is neither better nor worse: --least-change 0.02 "
        "--least-change fpr=0.01",
    )
    metrics: Annotated[tuple[MetricName, ...], LISTED, Field(min_length=1), JUDGED] = Field(
        (),
        alias="metric",
        description="Metric or roll-up that decides; any other of `fairbench list metrics` is shown, and "
        "decides with --fail-on alone.",
    )
    effect: Annotated[Effect | None, JUDGED] = Field(
        None,
        alias="decision",
        description="Being selected helps (assistive) or harms (punitive); decides by for and fnr, or fdr "
        "and fpr, unless --metric says.",
    )
    rule: Annotated[Rule, JUDGED] = Field(
        "evidence",
        description="What fails: a gap that is too large and beyond chance (evidence), or any that is too "
        "large (point).",
    )
    preset: Annotated[Preset | None, READ] = Field(
        None, description=f"Rules of others: {', '.join(get_args(Preset))}; see `fairbench docs audit`."
    )
    min_group: Annotated[int, JUDGED] = Field(
        30, ge=1, description="Groups with fewer rows are marked, and no reference."
    )
    min_share: Annotated[float, JUDGED] = Field(
        0.0, ge=0, lt=1, description="Groups with a smaller share of the rows are not compared."
    )
    exclude: Annotated[tuple[str, ...], BeforeValidator(_list_texts), JUDGED] = Field(
        (),
        description="Compare without a group: --exclude '(missing)' --exclude race=Other. Rows are left out "
        "by a value with --keep.",
    )
    fail: Annotated[bool, JUDGED] = Field(
        False, description="Exit 1 when something fails beyond chance, or nothing can be compared."
    )
    failing_metrics: Annotated[tuple[GateName, ...], LISTED, JUDGED] = Field(
        (),
        alias="fail-on",
        description="Exit 1 when this fails: fpr, race:fpr or race; undecided: unless all pass; worse, "
        "fnr:worse, race:fnr:worse: when this gap became larger.",
    )
    warning_metrics: Annotated[tuple[GateName, ...], LISTED, JUDGED] = Field(
        (), alias="warn-on", description="Warn, and exit 0, when this fails; what --fail-on takes."
    )
    baseline: Annotated[str | None, JUDGED] = Field(
        None, description="The ci.json of an earlier audit: what fails there stops no gate, if not larger."
    )
    draws: Annotated[int, JUDGED] = Field(
        1000,
        ge=0,
        le=1_000_000,
        description="Bootstrap draws, for metrics without a closed form; deals of a scan.",
    )
    seed: Annotated[int, READ] = Field(0, ge=0, description="Of draws, deals and random ties.")
    confidence: Annotated[float, AfterValidator(_check_confidence), JUDGED] = Field(
        0.95, gt=0, lt=1, description="Of intervals and tests."
    )
    months: Annotated[Months | None, JUDGED] = Field(
        None,
        description="Whether slices in an order move a gap each by itself: never (alike) or always (differ). "
        "Default: as far as they scatter, and as if they did before the seventh.",
    )
    adjusted: Annotated[bool, JUDGED] = Field(
        False, description="Widen the intervals of ratios and differences for all that is compared at once."
    )
    title: Annotated[str | None, JUDGED] = Field(
        None, min_length=1, description="What the page and its file are headed by."
    )
    curves: Annotated[bool, READ] = Field(
        False, description="Also AUC, calibration and more of the scores, and selection rates by threshold."
    )
    scan: Annotated[bool, READ] = Field(
        False, description="Also the subgroup that stands out most, of all combinations of attributes."
    )
    mitigate: Annotated[bool, READ] = Field(
        False,
        description="Also what a threshold for each group would do to rates that differ, and to accuracy.",
    )
    explained_by: Annotated[ColumnSets, BeforeValidator(_explained), READ] = Field(
        (), alias="explain", description="Column to explain differences by; a,b crosses two."
    )

    @property
    def score(self) -> str | None:
        """The first column of scores, if one is named."""
        if self.scores:
            return self.scores[0]
        return None

    def spelling(self, column: str) -> Spelling | None:
        """Return the treatment of values of a column that differ in their spelling only; None: not said."""
        return self.spellings.get(column, self.spellings.get(DEFAULT))

    def number_notation(self, column: str) -> Notation | None:
        """Return how a column writes its numbers, where that is said."""
        notation = self.notation.get(column)
        return None if notation == "day-first" or notation == "month-first" else notation

    def leaves_out(self, attribute: str, group: str) -> bool:
        """Return whether a group of an attribute is left out."""
        return bool({group, f"{attribute}={group}"} & set(self.exclude))

    @property
    def columns_with_spellings(self) -> tuple[str, ...]:
        """The columns of which it is said by name what is done with spellings."""
        return tuple(name for name in self.spellings if name != DEFAULT)

    @property
    def compares(self) -> bool:
        """Whether models or slices are compared with each other."""
        return bool(self.against or self.sliced_by or len(self.scores or ()) > 1)

    @property
    def compares_models(self) -> bool:
        """Whether it is models that are compared, and not slices of the rows."""
        return self.compares and self.sliced_by is None

    @property
    def slice_name(self) -> str | None:
        """What the slices are called in a sentence: the column, of ``date:month`` the month."""
        if self.sliced_by is None:
            return None
        _, _, period = self.sliced_by.rpartition(":")
        if period in PERIODS:
            return period
        return self.sliced_by

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """How scores become decisions, each audited apart; of numbers there is none."""
        if self.of_numbers:
            return (Decision("none"),)
        decisions = [Decision("threshold", value) for value in self.threshold]
        decisions += [Decision("top-k", value, self.ties) for value in self.top_k]
        decisions += [Decision("top-share", value, self.ties) for value in self.top_share]
        usual = Decision("median" if self.preset == "ll144" else "binary")
        return tuple(dict.fromkeys(decisions)) or (usual,)

    @property
    def of_numbers(self) -> bool:
        """Whether outcomes are compared as they are, without a decision."""
        return self.outcome in NUMERIC

    @property
    def alpha(self) -> float:
        """The level below which p-values are significant."""
        return alpha_level(self.confidence)

    @property
    def tau(self) -> float:
        """The tau of metrics that have none of their own: a ratio passes in [tau, 1/tau], exactly."""
        return self.tau_by_metric[DEFAULT]

    @property
    def taus(self) -> dict[str, float]:
        """The metrics that have a tau of their own."""
        return {name: tau for name, tau in self.tau_by_metric.items() if name != DEFAULT}

    @property
    def measures(self) -> tuple[str, ...] | None:
        """The rates and roll-ups that decide, in the order given; None: the default ones."""
        compared = tuple(name for name in self.metrics if kind(name) != "counts")
        return compared or (INTERVENTIONS[self.effect] if self.effect else None)

    @property
    def requested(self) -> tuple[str, ...]:
        """The metrics asked for by name that are no rates and no roll-ups, in the order given."""
        return tuple(dict.fromkeys(name for name in self.metrics if kind(name) == "counts"))

    @property
    def fail_on(self) -> tuple[tuple[str, str], ...]:
        """What alone decides the exit code, as (attribute or "", metric or ""); empty: the verdict.

        Of verdicts and of changes, as in `warn_on`.
        """
        return split_gate_names(self.failing_metrics)

    @property
    def warn_on(self) -> tuple[tuple[str, str], ...]:
        """What alone is warned of, as (attribute or "", metric or ""); empty: the verdict."""
        return split_gate_names(self.warning_metrics)

    @property
    def watched_metrics(self) -> tuple[tuple[str, str], ...]:
        """The metrics that a gate names, to stop or to warn, as (attribute or "", metric)."""
        return tuple((attribute, metric) for attribute, metric in self.fail_on + self.warn_on if metric)

    @property
    def names_asked_for(self) -> tuple[str, ...]:
        """The metrics that are named to decide, or by a gate."""
        return self.metrics + tuple(metric for _, metric in self.watched_metrics)

    @property
    def watched_verdicts(self) -> tuple[tuple[str, str], ...]:
        """What gates name of verdicts, as `fail_on`."""
        return split_gate_names(find_verdict_names(self.failing_metrics + self.warning_metrics))

    @property
    def has_gate(self) -> bool:
        """Whether something may stop; a gate may also only warn."""
        return bool(self.fail or self.failing_metrics)

    def least_change(self, metric: str) -> float:
        """Return the least change of the gap on a rate, by its canonical name, that counts as one."""
        for name, least in self.least_change_by_metric.items():
            if name != DEFAULT and canonical(name) == metric:
                return least
        return self.least_change_by_metric[DEFAULT]

    def resolved(self) -> dict[str, Any]:
        """Return the keys and values of a config file that gives the same numbers, with every default.

        >>> AuditConfig(min_group=5).resolved()["min-group"]
        5
        """
        unused = {"fail", "baseline"}
        if not (self.fail_on or self.warn_on):
            unused |= {"failing_metrics", "warning_metrics"}
        if not self.compares:
            unused |= {"least_change_by_metric"}
        if not self.adjusted:
            unused |= {"adjusted"}
        if not self.scan:
            unused |= {"scan"}
        if not self.mitigate:
            unused |= {"mitigate"}
        if not (self.top_k or self.top_share):
            unused |= {"ties"}
        if not self.drop_missing:
            unused |= {"drop_missing"}
        resolved = self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=unused)
        if self.scores and len(self.scores) == 1:
            resolved["score"] = self.scores[0]
        if self.cluster and len(self.cluster) == 1:
            resolved["cluster"] = self.cluster[0]
        if self.against:
            resolved["against"] = PurePath(self.against).name
        return {key: value for key, value in resolved.items() if value not in ([], {})}


class PlanConfig(AuditConfig):
    """What a plan is of: the keys of an audit that say who is compared and how, and these."""

    model_config = ConfigDict(defer_build=True)  # an audit has its keys as flags alone

    rate: Annotated[tuple[OpenShare, ...], LISTED, Field(min_length=1)] = Field(
        (0.1, 0.3, 0.5), description="Rate of the reference. Repeat it."
    )
    ratio: Annotated[tuple[Annotated[float, Field(gt=0, allow_inf_nan=False)], ...], LISTED] = Field(
        (0.5, 0.6, 0.7, 1.0),
        description="True ratio to be found or, where it is allowed, to pass. Repeat it.",
    )
    difference: Annotated[tuple[Annotated[float, Field(allow_inf_nan=False)], ...], LISTED] = Field(
        (),
        description="With --margin: true difference to be found or to pass. Default: 0, and twice the "
        "margin either way. Repeat it.",
    )
    sd: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        None,
        description="Standard deviation of numbers in each group: differences of their means are planned, in "
        "its units.",
    )
    power: OpenShare = Field(0.8, description="How likely that is to be.")
    comparisons: Count | None = Field(
        None,
        description="How many comparisons decide. Default: each group with its reference, once.",
    )
    counted: Share = Field(
        1.0, description="Share of the rows that the rate counts, such as those with label 0."
    )


def fields_used_by(use: Use) -> tuple[str, ...]:
    """Return the fields of `AuditConfig` that are used by reading, or by judging.

    >>> "bins" in fields_used_by(Use.READING), "margin" in fields_used_by(Use.JUDGING)
    (True, True)
    """
    return tuple(name for name, field in AuditConfig.model_fields.items() if use in field.metadata)


def split_gate_names(texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the attributes and metrics that a gate names, "" where it names none; without its words.

    >>> split_gate_names(["fpr", "race:fpr", "race", "undecided", "race:fnr:worse"])
    (('', 'fpr'), ('race', 'fpr'), ('race', ''), ('race', 'fnr'))
    """
    pairs = []
    for text in texts:
        attribute, colon, metric = text.removesuffix(OF_CHANGES).rpartition(":")
        if colon or is_metric(metric):
            pairs.append((attribute, metric))
        elif metric not in (UNDECIDED, WORSE):
            pairs.append((metric, ""))
        elif text != metric:  # a word with an ending: nothing is called so
            pairs.append((text, ""))
    return tuple(pairs)


def find_verdict_names(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the names whose verdicts a gate looks at, without those whose changes it does.

    >>> find_verdict_names(["race", "undecided", "worse", "fnr:worse"])
    ('race', 'undecided')
    """
    return tuple(text for text in texts if not asks_for_change(text))


def split_worse(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the attributes and metrics whose changes a gate looks at: all that it names where none is named.

    >>> split_worse(["worse", "race:fpr"]), split_worse(["fnr:worse", "race"]), split_worse(["worse"])
    ((('race', 'fpr'),), (('', 'fnr'),), (('', ''),))
    """
    if WORSE in texts:
        return split_gate_names(texts) or (("", ""),)
    return split_gate_names(filter(asks_for_change, texts))


def asks_for_change(text: str) -> bool:
    """Return whether a gate that names this looks at what became worse."""
    return text == WORSE or text.endswith(OF_CHANGES)


PLANNED = tuple(name for name in PlanConfig.model_fields if name not in AuditConfig.model_fields)
USED_BY_PLANS = (
    *(
        "attribute",
        "bins",
        "as-of",
        "intersect",
        "ref",
        "ref-method",
        "tau",
        "margin",
        "min-group",
        "min-share",
        "exclude",
    ),
    *("spellings", "recode", "keep", "notation", "confidence", "table", "encoding", "counts", *PLANNED),
)
"""The keys that a plan takes: those of who is compared and how, and its own."""


def meanings(kind: type[AuditConfig] = AuditConfig) -> dict[str, str]:
    """Return the meaning of each key, with its default.

    >>> meanings()["min-group"]
    'Groups with fewer rows are marked, and no reference. Default: 30.'
    """
    meaning_of = {}
    for name, field in kind.model_fields.items():
        if isinstance(field.default, dict):
            default = field.default.get(DEFAULT)
        else:
            default = field.default
        unsaid = default is None or isinstance(default, bool | tuple)
        meaning_of[field.alias or name] = f"{field.description}{'' if unsaid else f' Default: {default}.'}"
    return meaning_of
