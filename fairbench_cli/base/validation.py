"""Turn pydantic's findings into errors for people, with line numbers and "did you mean"."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated, Any, ClassVar, Self, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from fairbench_cli.base.encodings import ADVICE, is_text_encoding
from fairbench_cli.base.errors import MessageText, Problem, find_nearest, format_value, spell, suggest
from fairbench_cli.base.plugins import short_name
from fairbench_cli.base.safe_text import SPELLINGS
from fairbench_cli.base.yaml_document import KeyPath, YamlDocument

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
SHA256 = r"^[0-9a-f]{64}$"
URL = r"^https?://[^\s]+$"
QUOTIENT = r"^([0-9]{1,9}) */ *([0-9]{1,9})$"

WRITE_LIST = "write a list: "
MOST_IN_RANGE = 20  # steps of a range that are written out
_NUMERAL = r"[+-]?(?:\d+(?:\.\d+)?|(?<!\.)\.\d+)(?:[eE][+-]?\d+)?"
_SEPARATORS = (
    r"[\s,;:|()\[\]=]|\.\.|\b(?:np\.|numpy\.)?(?:range|arange|linspace)\b|"
    r"\b(?:start|stop|end|step|from|to|by|min|max|num|count)\b"
)

_WHOLE = ("must be a whole number", "write a number such as 30")
_NUMBER = ("must be a number", "write a number such as 0.5, unquoted")
_TRUTH = ("must be true or false", "write true or false, unquoted")
_MAPPING = ("must be a mapping", "write `key: value` pairs")
_LIST = ("must be a list", "write a list such as [a, b]")

_PLAIN = {
    "int_type": _WHOLE,
    "int_from_float": _WHOLE,
    "int_parsing": _WHOLE,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": _NUMBER,
    "bool_type": _TRUTH,
    "bool_parsing": _TRUTH,
    "string_type": ("must be text", "write a word, in quotes if it looks like a number"),
    "string_unicode": ("must be text of proper characters", "rename what it names, or correct the escape"),
    "string_too_short": ("must not be empty", "write it, or leave the key out"),
    "tuple_type": _LIST,
    "list_type": _LIST,
    "dict_type": _MAPPING,
    "model_type": _MAPPING,
    "model_attributes_type": _MAPPING,
}
_PATTERNS = {
    NAME: ("must be letters, digits, dots, dashes and underscores", "write a name such as my-study-1"),
    SHA256: ("must be 64 hexadecimal digits", "write what `sha256sum FILE` prints"),
    URL: ("must be an address", "write one that begins with https://"),
}
_BOUNDS = {
    "greater_than_equal": ("at least", "ge", "or more"),
    "greater_than": ("above", "gt", ""),
    "less_than_equal": ("at most", "le", "or less"),
    "less_than": ("below", "lt", ""),
}


Finding = tuple[KeyPath, Problem]
"""What is wrong with a value, and its place within what was read."""

Conflict = tuple[KeyPath, MessageText, MessageText]
"""What one part of a file makes wrong in another: where, what is wrong, what to do."""


def usual_key(key: Any, names: Container[str] = ()) -> Any:
    """Return the name of a key that may be spelled otherwise, too; one of `names` is it.

    >>> usual_key("metrics"), usual_key("metrics", ["metrics"]), usual_key("metric", ["metrics"])
    ('metric', 'metrics', 'metrics')
    """
    if not isinstance(key, str) or key in names:
        return key
    if key == "metric" and "metrics" in names:
        return "metrics"
    return SPELLINGS.get(key, key)


class StrictModel(BaseModel):
    """A model of a file's mapping: no unknown keys, no conversions, not to be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    removed: ClassVar[Mapping[str, Problem]] = {}
    """Keys that an earlier version had, or other programs have, and what to use in their place."""

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, data: Any, handler: Any) -> Any:
        """Take keys in other spellings, too, and say of one that is not known what it may be."""
        if isinstance(data, dict) and {"metric", *SPELLINGS} & data.keys():
            names = {field.alias or name for name, field in cls.model_fields.items()}
            usual = {key: usual_key(key, names) for key in data}
            data = {usual[key] if usual[key] not in data else key: value for key, value in data.items()}
        try:
            return handler(data)
        except ValidationError as error:
            raise ValidationError.from_exception_data(error.title, list(_with_keys(error, cls))) from None


@dataclass(frozen=True)
class _Origin:
    """A file. It is no part of what a model of it says: any two are equal."""

    document: YamlDocument = field(compare=False, repr=False)


class FileModel(StrictModel):
    """A model of a whole file, which knows where each value was given."""

    _origin: _Origin | None = PrivateAttr(default=None)

    def where(self, *key_path: str | int) -> str:
        """Return ``file:line`` of a part, for an error message; empty of one that was read from no file."""
        if self._origin is None:
            return ""
        return self._origin.document.where(key_path)

    def read_from(self, document: YamlDocument) -> Self:
        """Return the same with the file that it was read from."""
        copy = self.model_copy()
        copy._origin = _Origin(document)
        return copy


def mistake(message: str, fix: MessageText) -> PydanticCustomError:
    """Return the error that a validator raises, with a message and a fix of its own, about the value.

    >>> str(mistake("low must be below high", "swap them"))
    'low must be below high'
    """
    return PydanticCustomError("mistake", "{what}", {"what": message, "fix": fix})


def check_encoding(value: str) -> str:
    """Check that texts can be read in an encoding."""
    if not is_text_encoding(value):
        raise mistake(f"no encoding is called {format_value(value)}", f"write {ADVICE}")
    return value


def refusal(*findings: Finding) -> ValidationError:
    """Return the error that a validator raises with whole messages, each about a place within the value.

    A problem that is somewhere else, in another file, says where.
    """
    return ValidationError.from_exception_data(
        "refused",
        [
            {
                "type": PydanticCustomError(
                    "refused",
                    "{what}",
                    {"what": spell(problem.what), "fix": spell(problem.fix), "where": spell(problem.where)},
                ),
                "loc": key_path,
                "input": None,
            }
            for key_path, problem in findings
        ],
    )


class Findings:
    """What is wrong with the parts of a value: gathered, so that all of it is said at once.

    >>> findings = Findings()
    >>> with findings.within("sample"):
    ...     raise refusal((("beta",), Problem("beta is above 1", "write 1 or less")))
    >>> [key_path for key_path, _ in findings.gathered]
    [('sample', 'beta')]
    """

    def __init__(self) -> None:
        self.gathered: list[Finding] = []

    def add(self, key_path: KeyPath, message: MessageText, fix: MessageText) -> None:
        """Add a problem with the value at a place within this one."""
        self.gathered.append((key_path, Problem(message, fix)))

    @contextmanager
    def within(self, *key_path: str | int) -> Iterator[None]:
        """Add everything that a block finds wrong with the value at a place; the block ends there."""
        try:
            yield
        except ValidationError as error:
            self.gathered += [((*key_path, *inner), problem) for inner, problem in to_findings(error)]

    def refuse(self) -> None:
        """Raise everything as one `pydantic.ValidationError`, if there is anything."""
        if self.gathered:
            raise refusal(*self.gathered)

    def __bool__(self) -> bool:
        return bool(self.gathered)


def _with_keys(error: ValidationError, model: type[StrictModel]) -> Iterator[InitErrorDetails]:
    """Yield the findings of a model's error; an unknown key says what it may be, one that is missing, too."""
    from fairbench_cli.base.synonyms import find_synonyms

    known_fields = _fields_by_key(model)
    unknown = [str(finding["loc"][-1]) for finding in error.errors() if finding["type"] == "extra_forbidden"]
    for finding in _details(error):
        key_path = finding["loc"]
        kind = finding["type"]
        is_in_this_mapping = kind == "missing" and len(key_path) == 1  # in this mapping, not in one within it
        if kind == "extra_forbidden":
            key = str(key_path[-1])
            within = {
                name: _fields_by_key(_model_in(field.annotation)) for name, field in known_fields.items()
            }
            above = [name for name, fields in within.items() if key in fields]
            meant = {name: find_synonyms(key, fields) for name, fields in within.items()}
            written = [f"write {inner[0]} under `{name}`" for name, inner in meant.items() if inner]
            if key in model.removed:
                yield from _details(refusal((key_path, model.removed[key])))
                continue
            if above:
                fix = f"write it under `{above[0]}`"
            elif written and not find_synonyms(key, known_fields):
                fix = written[0]
            else:
                fix = suggest(key, known_fields)
            yield from _details(refusal((key_path, Problem(f'unknown key "{key}"', fix))))
        elif not (is_in_this_mapping and any(find_nearest(key, [str(key_path[0])]) for key in unknown)):
            yield finding


def _details(error: ValidationError) -> Iterator[InitErrorDetails]:
    """Yield the findings of an error, to be raised again with others."""
    for finding in error.errors():
        kind = finding["type"]
        context = finding.get("ctx", {})
        is_own = kind in ("mistake", "refused")
        again = PydanticCustomError(kind, "{what}", context) if is_own else kind
        yield {"type": again, "loc": finding["loc"], "input": finding["input"], "ctx": context}


@dataclass(frozen=True)
class Several:
    """Marks a tuple: a list in the file.

    Parameters
    ----------
    kind : str
        What one of its values is called, none of which may be listed twice; empty where one may.
    alone : bool
        Whether a value may stand without brackets.
    """

    kind: str = ""
    alone: bool = True

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_wrap_validator_function(self._read, handler(source))

    def __get_pydantic_json_schema__(self, schema: core_schema.CoreSchema, handler: Any) -> Any:
        items_schema = handler(schema)
        if self.alone:
            return {"anyOf": [items_schema["items"], items_schema]}
        return items_schema

    def _read(self, value: Any, handler: Any) -> Any:
        listed = [value]
        if isinstance(value, list | tuple) or not self.alone:
            listed = value
        if not isinstance(listed, list | tuple):
            return handler(listed)
        twice = refusal(*self._repeated_values(listed))
        try:
            values = handler(tuple(listed))
        except ValidationError as error:
            details = list(chain(_details(error), _details(twice)))
            raise ValidationError.from_exception_data(error.title, details) from None
        if twice.error_count():
            raise twice
        return values

    def _repeated_values(self, listed: Iterable[Any]) -> Iterator[Finding]:
        """Find words and numbers that stand there again; code is what its name says without its folder."""
        seen = set[Any]()
        for i, value in enumerate(listed if self.kind else ()):
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                continue
            called = short_name(value) if isinstance(value, str) else value
            if called in seen:
                yield (i,), Problem(f"{self.kind} {format_value(called)} is listed twice", "keep one")
            seen.add(called)


@dataclass(frozen=True)
class Known:
    """Marks a text that must be one of some names.

    Parameters
    ----------
    kind : str
        What is called so.
    names : tuple of str
        All that there are.
    """

    kind: str
    names: tuple[str, ...]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: core_schema.CoreSchema, handler: Any) -> Any:
        return {"enum": list(self.names)}

    def _check(self, name: str) -> str:
        if name not in self.names:
            raise refusal(((), Problem(f'unknown {self.kind} "{name}"', suggest(name, self.names))))
        return name


def _quotient(value: Any) -> Any:
    """Return a number written as a quotient, such as ``2/3``; anything else as it is."""
    if not isinstance(value, str):
        return value
    quotient = re.fullmatch(QUOTIENT, value)
    if several_meant(value):
        return value
    if quotient is None or not int(quotient[2]):
        raise mistake("must be a number", "write a number such as 0.5, unquoted, or a quotient such as 2/3")
    return int(quotient[1]) / int(quotient[2])


Fraction = Annotated[
    float,
    BeforeValidator(_quotient),
    Field(gt=0, lt=1),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                {"type": "string", "pattern": QUOTIENT},
            ]
        }
    ),
]
"""A number between 0 and 1, which may be written as a quotient."""


def to_problems(error: ValidationError, document: YamlDocument) -> Iterator[Problem]:
    """Yield one problem per finding in a document."""
    for key_path, problem in to_findings(error):
        where = problem.where or document.where(key_path)
        fix = problem.fix
        if isinstance(where, str) and where.startswith(f"{document.name}:"):
            fix = spell(fix, "file")
        if isinstance(fix, str) and fix.startswith(WRITE_LIST) and isinstance(where, str):
            numbers, bracket, tail = fix.partition("[")[2].rpartition("]")
            if where.startswith("--set "):
                fix = f"--set '{where.partition(' ')[2]}=[{numbers}{bracket}'{tail}"
            elif where.startswith("--"):
                fix = " ".join(f"{where} {number}" for number in numbers.split(", ")) + tail
        yield Problem(problem.what, fix, where)


def to_findings(error: ValidationError, *around: str) -> Iterator[Finding]:
    """Yield one problem per finding in a value, and its place in it; `around` are the keys before it."""
    for finding in error.errors():
        if finding["type"] == "too_short" and finding["input"]:
            continue  # pydantic counts the items that are right; those that are not have their own finding
        key_path: KeyPath = tuple(key for key in finding["loc"] if key != "[key]")
        name = ".".join(key for key in around + key_path if isinstance(key, str))
        yield key_path, _problem(finding, name)


def several_meant(value: Any, *, integers: bool = False) -> str:
    """Return the list that a text, a mapping or a list stands for, as YAML has it; empty of what is no list.

    Parameters
    ----------
    value : text, mapping or list
        ``0, 0.5``, or a range such as ``0:1:0.1``, ``linspace(0, 1, 11)`` and ``{start: 0, stop: 1}``.
    integers : bool
        Whether it is one of whole numbers.

    Examples
    --------
    >>> several_meant("0,0.5"), several_meant("0:1:0.25"), several_meant("np.linspace(0, 1, 3)")
    ('[0, 0.5]', '[0, 0.25, 0.5, 0.75, 1]', '[0, 0.5, 1]')
    >>> several_meant({"start": 0, "stop": 1}), several_meant("1-5"), several_meant("2024-01-01")
    ('[0, 0.5, 1]', '', '')
    """
    text = " ".join(f"{key} {number}" for key, number in value.items()) if isinstance(value, dict) else value
    if isinstance(value, list | tuple):
        text = ", ".join(map(str, value))
    if not isinstance(text, str) or re.sub(_SEPARATORS, "", re.sub(_NUMERAL, "", text)) != "":
        return ""
    numbers = [float(number) for number in re.findall(_NUMERAL, text)]
    if len(numbers) < 2 or re.fullmatch(rf"(?:{_NUMERAL})+", text):
        return ""
    terms = set(re.findall(r"[a-z]+|:|\.\.", text.lower()))
    if terms - {"np", "numpy"} and len(numbers) <= 3:
        numbers = _values_of_range(numbers, with_count=bool({"linspace", "num", "count"} & terms))
    listed = [f"{number:.10g}" for number in numbers if not integers or number.is_integer()]
    return f"[{', '.join(listed)}]"


def _values_of_range(numbers: list[float], *, with_count: bool) -> list[float]:
    """Return the numbers from a first to a last one: with a step, so many, or the two and their middle."""
    start = numbers[0]
    stop = numbers[1]
    if len(numbers) == 3 and not with_count and numbers[2] > stop - start:  # start:step:stop
        stop = numbers[2]
        step = numbers[1]
    elif len(numbers) == 3 and not with_count:
        step = numbers[2]
    else:
        step = (stop - start) / (max(int(numbers[2]) - 1, 1) if len(numbers) == 3 else 2)
    n_steps = round((stop - start) / step) if step > 0 else 0
    if not 0 < n_steps <= MOST_IN_RANGE:
        n_steps = 2
        step = (stop - start) / 2
    return [start + i * step for i in range(n_steps + 1)]


def _list_for(finding: Any) -> str:
    """Return the list to write in the place of one value, where several seem to be meant and are taken."""
    kind = finding["type"]
    value = finding.get("input")
    is_listed = not finding["loc"] or isinstance(finding["loc"][-1], int)
    if is_listed and _PLAIN.get(kind) in (_NUMBER, _WHOLE):
        return several_meant(value, integers=_PLAIN[kind] is _WHOLE)
    if _PLAIN.get(kind) is _LIST or (is_listed and kind == "literal_error"):
        names = re.split(r"[,;]\s*", value.strip()) if isinstance(value, str) else []
        are_names = all(re.fullmatch(r"[\w./-]+", name) for name in names)
        if are_names and len(names) > (kind == "literal_error"):
            return f"[{', '.join(names)}]"
    return ""


def describe_finding(finding: Any) -> tuple[str, str]:
    """Return the problem with a value, and what to do; the first continues "NAME …"."""
    kind = finding["type"]
    context = finding.get("ctx", {})
    stated = format_value(finding.get("input"))
    listed = _list_for(finding)
    if listed and kind in _PLAIN:
        decimal = re.fullmatch(r'"(\d+),(\d+)"', stated)
        tail = f"; or one number, {decimal[1]}.{decimal[2]}" if decimal else ""
        return f"{_PLAIN[kind][0]}, not {stated}", f"{WRITE_LIST}{listed}{tail}"
    if listed:
        return f"has the unknown value {stated}", f"{WRITE_LIST}{listed}"
    if kind in _PLAIN:
        problem, fix = _PLAIN[kind]
        return f"{problem}, not {stated}", fix
    if kind == "literal_error":
        choices = [word.strip("'") for word in context["expected"].replace(" or ", ", ").split(", ")]
        return f"has the unknown value {stated}", suggest(str(finding["input"]), choices)
    if kind in _BOUNDS:
        word, key, range_ = _BOUNDS[kind]
        bound = f"{context[key]:.15g}"
        if range_:
            fix = f"write {bound} {range_}"
        else:
            fix = f"write a number {word} {bound}"
        return f"must be {word} {bound}, not {stated}", fix
    if kind == "string_pattern_mismatch" and context["pattern"] in _PATTERNS:
        problem, fix = _PATTERNS[context["pattern"]]
        return f"{problem}, not {stated}", fix
    if kind == "string_too_long":
        most = context["max_length"]
        if most == 1:
            return f"must be one character, not {stated}", "write one character, in quotes"
        problem = f"must be a text of at most {most} letters, and has {len(finding['input'])}"
        return f"{problem}: {stated}", "shorten it"
    if kind == "too_short":
        return "must not be empty", "give at least one value"
    message = str(finding["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    return f"{message}, not {stated}", "correct the value"


def sort_by_line(problems: Iterable[Problem], name: str) -> list[Problem]:
    """Return problems sorted by their line in the file `name`, each once; those from elsewhere come last."""

    def line(problem: Problem) -> float:
        file, _, number = str(problem.where).rpartition(":")
        if file == name and number.isdigit():
            return int(number)
        return float("inf")

    return sorted(dict.fromkeys(problems), key=line)


def _problem(finding: Any, name: str) -> Problem:
    kind = finding["type"]
    if kind == "missing":
        return Problem(f'key "{name}" is missing', "add it")
    if kind == "refused":
        return Problem(**finding["ctx"])
    if kind == "mistake":
        prefix = ""
        if name:
            prefix = f"{name}: "
        return Problem(f"{prefix}{finding['ctx']['what']}", finding["ctx"]["fix"])
    problem, fix = describe_finding(finding)
    if fix.startswith(WRITE_LIST):
        fix = fix.replace(": ", f": {name.rpartition('.')[2]}: ", 1)
    return Problem(f"{name} {problem}", fix)


def _fields_by_key(model: type[BaseModel] | None) -> dict[str, FieldInfo]:
    """Return the fields of a model by the key that a file has."""
    if model is None:
        return {}
    return {field.alias or key: field for key, field in model.model_fields.items()}


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model that an annotation such as ``Model | None`` stands for."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (dict, tuple, list):
        return None
    models = [model for inner in get_args(annotation) if (model := _model_in(inner)) is not None]
    if models:
        return models[0]
    return None
