"""A data set's card: where its files are from, what its columns mean, who is the deprived group."""

import os
import shlex
from collections.abc import Iterator, Mapping
from itertools import chain
from os.path import isfile
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from fairbench_cli.base import validation
from fairbench_cli.base.errors import Problem, UserError, refuse, suggest, user_error
from fairbench_cli.base.files import shipped_folder, shipped_names
from fairbench_cli.base.strict_yaml import read_mapping, remove_spots
from fairbench_cli.base.yaml_document import KeyPath, YamlDocument
from fairbench_cli.data.column_card import AnyLevels, Between, ColumnCard, Levels, Text, as_tuple
from fairbench_cli.data.table import Roles, joint_levels

# They are about the extended card's own rows.
NOT_INHERITED = ("name", "note")


LONGEST_NAME = 255  # bytes of a file's name, on all common file systems


def _file_name(path: str) -> str:
    """Check that a path may be one."""
    if "\0" in path:
        raise validation.mistake("a file name cannot hold a NUL character", "leave it out")
    longest = max((os.fsencode(name) for name in PurePath(path).parts), key=len, default=b"")
    if len(longest) > LONGEST_NAME:
        problem = f"a file name of {len(longest)} bytes is longer than file systems allow"
        raise validation.mistake(problem, f"use at most {LONGEST_NAME}")
    return path


class DataFile(validation.StrictModel):
    """A data file and, for the official ones, its checksum and address."""

    name: Annotated[str, AfterValidator(_file_name)] = Field(min_length=1)
    sha256: str | None = Field(default=None, pattern=validation.SHA256)
    url: str | None = Field(default=None, pattern=validation.URL)

    @model_validator(mode="after")
    def _plain_name(self) -> "DataFile":
        if self.url and (set(self.name) & {"/", "\\"} or self.name.startswith(".")):
            raise validation.mistake(
                "a file with a url needs a plain name, as it goes into the cache", "leave out folders"
            )
        return self


UnknownAs = Literal["leave-out", "level", "unfavourable"]
UNKNOWN = "unknown"  # the level of outcomes that are not known


class Label(validation.StrictModel):
    """The outcome's column and its favourable value, and what becomes of rows whose outcome is not known."""

    column: str
    favourable: Text
    called: str = Field(
        default="",
        description="What people with the favourable outcome are, in answers: hired, granted a loan.",
    )
    why: str = Field(default="", description="Why this value is called favourable.")
    unknown: AnyLevels = Field(
        default=(), description="Cells, as recoded, that mean that the outcome is not known: `unknown`."
    )
    unknown_as: UnknownAs = Field(
        default="leave-out",
        description="What becomes of their rows: left out, a level of their own, or the unfavourable one.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> "Label":
        if self.unknown_as != "leave-out" and not self.unknown:
            problem = f"unknown_as: {self.unknown_as} needs to know which cells are unknown outcomes"
            raise validation.mistake(problem, 'write them under `unknown`, for example unknown: ["", NA]')
        if self.unknown and self.favourable in (*self.unknown, UNKNOWN):
            raise validation.mistake(f'"{self.favourable}" is both favourable and unknown', "name it once")
        return self


class _Groups(validation.StrictModel):
    deprived: Levels

    @model_validator(mode="after")
    def _apart(self) -> "_Groups":
        in_both = set(self.deprived) & set(getattr(self, "favoured", None) or ())
        if in_both:
            raise validation.mistake(f'"{min(in_both)}" is both deprived and favoured', "name it once")
        return self


class BiasTarget(_Groups):
    """The column whose values β acts on: the protected attribute itself or a proxy of it."""

    column: str
    favoured: AnyLevels = ()


class CalledGroups(validation.StrictModel):
    """What people call the two groups of a protected attribute, in answers; no number depends on it."""

    deprived: str = Field(min_length=1)
    favoured: str = Field(min_length=1)


class Protected(_Groups):
    """A protected attribute: its deprived values, its favoured ones (default: all others).

    Or a joint one, `of` other attributes of the card: those whom all of them favour are favoured.
    """

    deprived: Levels = ()
    favoured: Levels | None = None
    called: CalledGroups | None = Field(
        default=None, description="what people call them: {deprived: women, favoured: men}"
    )
    why: str = Field(default="", description="Why this group is called deprived.")
    bias: BiasTarget | None = None
    of: Levels | None = Field(default=None, description="the attributes that a joint one is made of")

    @model_validator(mode="after")
    def _either(self) -> "Protected":
        if self.of is None and not self.deprived:
            raise validation.mistake(
                "deprived is missing", "write deprived: VALUE, or of: [A, B] for a joint attribute"
            )
        if self.of is not None and len(self.of) < 2:
            raise validation.mistake("a joint attribute is made of two or more", "write of: [A, B]")
        for key in ("deprived", "favoured", "called", "bias") if self.of else ():
            if getattr(self, key):
                raise validation.mistake(
                    f"{key} has no effect on a joint attribute", "its parts decide: remove it"
                )
        return self


class About(validation.StrictModel):
    """Whose data these are, when and where they were recorded, and what for."""

    who: str = Field(min_length=1)
    when: str = Field(min_length=1)
    purpose: str = Field(min_length=1)


class Expected(validation.StrictModel):
    """What the rows that an experiment sees are known to be like."""

    rows: int = Field(ge=1)
    columns: int = Field(ge=2, description="The label among them.")
    favourable: float = Field(ge=0, le=1, description="The share of favourable outcomes.")
    groups: dict[str, dict[str, Annotated[float, Field(ge=0, le=1)]]] = Field(
        default_factory=dict, description="The share by protected attribute and level."
    )


TrapKind = Literal[
    "leak", "scores", "deterministic", "direction", "small-gap", "unknown-outcomes", "many-outcomes",
    "gaps-by-group", "few-rows", "lost-group", "contradiction", "undocumented", "twins", "many-levels",
    "identifier", "copies", "repeated-people", "weight", "mostly-missing", "constant", "duplicate", "header",
]  # fmt: skip


class Trap(validation.StrictModel):
    """Something that leads users of the data astray; `data check` finds it by itself."""

    kind: TrapKind
    column: str | None = Field(default=None, description="The column of the file that it is about.")
    note: str = Field(min_length=1)


class Card(validation.FileModel):
    """A data set's card (``datasets/*.yaml``)."""

    name: str = Field(pattern=validation.NAME)
    title: str = ""
    source: str = ""
    licence: str = ""
    citation: str = ""
    note: str = ""
    variant_of: str = Field(
        default="",
        description="The data set of which it has other rows, columns or groups; by default the one that it "
        "extends. A list shows it below that one.",
    )
    about: About | None = None
    expected: Expected | None = Field(
        default=None, description="Facts of the rows; `data check` compares them."
    )
    left_out: dict[str, str] = Field(
        default_factory=dict, description="What is left out (a column or rows), and for whom that matters."
    )
    traps: Annotated[tuple[Trap, ...], BeforeValidator(as_tuple)] = ()
    files: Annotated[tuple[DataFile, ...], BeforeValidator(as_tuple)] = Field(
        description="Its data files; [] of a data set that is its fitted network alone."
    )
    test_files: Annotated[tuple[DataFile, ...], BeforeValidator(as_tuple)] = Field(
        default=(), description="Files with rows that are tested on, and never trained on."
    )
    format: Literal["csv", "arff", "parquet"] = "csv"
    header: bool = Field(default=True, description="Whether the first row names the columns.")
    separator: str = Field(default=",", min_length=1, max_length=1)
    decimal: Literal[".", ","] | None = Field(
        default=None, description="What separates the decimals of a number, where cells do not show it."
    )
    comment: str | None = Field(default=None, min_length=1, max_length=1)
    encoding: Annotated[str, AfterValidator(validation.check_encoding)] | None = Field(
        default=None, description="Of files that are not UTF-8: latin-1, cp1252 (of Windows), utf-16."
    )
    missing: AnyLevels = Field(default=(), description="Cells that mean a missing value.")
    missing_rows: Literal["keep", "drop"] = "keep"
    counts: str | None = Field(
        default=None, description="A column that says for how many people a row of the file stands."
    )
    copies: Literal["keep", "drop"] = Field(
        default="keep", description="What becomes of rows that equal another one in all columns used."
    )
    columns: dict[str, ColumnCard] = Field(default_factory=dict)
    other_columns: Literal["nominal", "drop"] = "nominal"
    keep: dict[str, Levels] = Field(default_factory=dict, description="Rows to keep: values by column.")
    keep_between: dict[str, Between] = Field(
        default_factory=dict, description="Rows to keep: numbers by column; a missing one is not kept."
    )
    test_rows: dict[str, Levels] = Field(
        default_factory=dict,
        description="Rows that are tested on, and never trained on: values by column; all must fit.",
    )
    label: Label
    protected: dict[str, Protected] = Field(min_length=1)

    def where(self, *key_path: str | int) -> str:
        """Return ``file:line`` of a part of the card, for an error message."""
        return super().where(*key_path) or f"card {self.name}"

    @property
    def reference(self) -> str:
        """The card's name or path, for a command line."""
        if self._origin is None:
            return self.name
        return card_reference(Path(self._origin.document.name))

    def decisive(self) -> dict[str, Any]:
        """Return the part of the card that decides numbers: no titles, addresses or citations."""
        prose = ["name", "title", "source", "licence", "citation", "note", "files", "test_files"]
        prose += ["about", "expected", "left_out", "traps", "variant_of"]
        excluded: dict[str, Any] = dict.fromkeys(prose, True)
        excluded |= {"protected": {"__all__": {"called", "why"}}, "label": {"called", "why"}}
        excluded |= {"columns": {"__all__": {"codes", "network_bins"}}}
        return self.model_dump(mode="json", exclude=excluded, exclude_defaults=True)

    def with_unknown_as(self, policy: UnknownAs | None) -> "Card":
        """Return the card with another policy for unknown outcomes; None leaves its own.

        Raises
        ------
        UserError
            When the card knows of no unknown outcomes, or the policy does not fit its label.
        """
        if policy is None:
            return self
        if policy not in get_args(UnknownAs):
            raise user_error(f"unknown_as is {policy!r}", f"use any of: {', '.join(get_args(UnknownAs))}")
        if not self.label.unknown:
            problem = f"unknown_as: {policy}: the card {self.name} says of no outcome that it is unknown"
            fix = "leave out unknown_as, or name the cells in the card: label: {unknown: [...]}"
            raise user_error(problem, fix)
        card = self.model_copy(update={"label": self.label.model_copy(update={"unknown_as": policy})})
        refuse([Problem(problem, fix) for _, problem, fix in _check_label(card)])
        return card

    def for_network(self) -> "Card":
        """Return the card with the columns cut that stay numbers but in a network, as `network_bins` say."""
        columns = {
            name: entry.model_copy(update={"bins": entry.network_bins, "network_bins": None})
            for name, entry in self.columns.items()
            if entry.network_bins is not None
        }
        if columns:
            return self.model_copy(update={"columns": {**self.columns, **columns}})
        return self

    def attribute(self, name: str | None) -> str:
        """Return the protected attribute called `name`, or the card's first one.

        Raises
        ------
        UserError
            When the card has no such attribute.
        """
        if name is None:
            return next(iter(self.protected))
        if name not in self.protected:
            problem = f'data set "{self.name}" has no protected attribute "{name}"'
            raise user_error(problem, suggest(name, self.protected))
        return name

    def roles(self, attribute: str, levels: Mapping[str, tuple[str, ...]]) -> Roles:
        """Return the groups of an attribute, given the levels of each column of the data.

        Those of a joint attribute are all combinations of the levels of its parts.
        """
        protected = self.protected[attribute]
        deprived = protected.deprived
        favoured = protected.favoured
        if protected.of:
            favoured = joint_levels([self.roles(part_name, levels).favoured for part_name in protected.of])
            all_levels = joint_levels([levels.get(part_name, ()) for part_name in protected.of])
            deprived = tuple(level for level in all_levels if level not in favoured)
        elif favoured is None:
            favoured = tuple(level for level in levels.get(attribute, ()) if level not in deprived)
        return Roles(
            self.label.column, self.label.favourable, attribute, deprived, favoured, protected.of or ()
        )

    def groups(
        self, attribute: str, levels: Mapping[str, tuple[str, ...]]
    ) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
        """Return the deprived and the favoured values of an attribute, by column: of a joint one, its parts'.

        Parameters
        ----------
        levels : mapping
            The levels of each column of the data.
        """
        part_roles = [self.roles(name, levels) for name in self.protected[attribute].of or (attribute,)]
        return {part_role.attribute: (part_role.deprived, part_role.favoured) for part_role in part_roles}

    def bias_groups(
        self, attribute: str, levels: Mapping[str, tuple[str, ...]]
    ) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
        """Return the deprived and the favoured values that β acts on, by column.

        Of an attribute its own column or, where the card says so, a proxy; of a joint one those of all parts.

        Parameters
        ----------
        levels : mapping
            The levels of each column of the data.

        Raises
        ------
        UserError
            When two parts have one proxy.
        """
        groups_by_column: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        for part_name in self.protected[attribute].of or (attribute,):
            proxy = self.protected[part_name].bias
            roles = self.roles(part_name, levels)
            column, groups = (part_name, roles) if proxy is None else (proxy.column, proxy)
            if column in groups_by_column:
                problem = f'β acts on two parts of "{attribute}" through one column, "{column}"'
                raise user_error(problem, "name its parts instead", self.where("protected", attribute))
            groups_by_column[column] = groups.deprived, groups.favoured
        return groups_by_column

    def mentions(self) -> Iterator[tuple[str, KeyPath]]:
        """Yield every column that the card names, and the place where."""
        yield from ((name, ("columns", name)) for name in self.columns if name not in self.sources)
        yield from ((source, ("columns", name, "from")) for name, source in self.sources.items())
        yield from ((name, ("keep", name)) for name in self.keep)
        yield from ((name, ("keep_between", name)) for name in self.keep_between)
        yield from ((name, ("test_rows", name)) for name in self.test_rows)
        if self.counts is not None:
            yield self.counts, ("counts",)
        yield from self.needed_columns()

    def needed_columns(self) -> Iterator[tuple[str, KeyPath]]:
        """Yield the columns that must not be dropped, and the place that names each."""
        yield self.label.column, ("label", "column")
        for name, protected in self.protected.items():
            if protected.of is None:
                yield name, ("protected", name)
            if protected.bias:
                yield protected.bias.column, ("protected", name, "bias", "column")

    @property
    def outcome(self) -> str:
        """The favourable outcome, in words."""
        return f"{self.label.column} = {self.label.favourable}"

    @property
    def outcome_words(self) -> str:
        """What is called favourable, and why."""
        return f"{self.outcome} is called favourable. {self.label.why}".strip()

    @property
    def group_words(self) -> list[str]:
        """Who is called deprived, and why, by attribute but joint ones."""
        return [
            f"{name}: {', '.join(protected.deprived)} called deprived. {protected.why}".strip()
            for name, protected in self.protected.items()
            if protected.of is None
        ]

    @property
    def every_file(self) -> tuple[DataFile, ...]:
        """Its data files, and those that are tested on."""
        return self.files + self.test_files

    @property
    def tested_files(self) -> tuple[DataFile, ...]:
        """The files with rows that are tested on and never trained on; with `test_rows` they are `files`."""
        return self.test_files or (self.files if self.test_rows else ())

    @property
    def sources(self) -> dict[str, str]:
        """The columns that are made of a column of the file, and of which one."""
        return {name: column.source for name, column in self.columns.items() if column.source is not None}

    def column(self, name: str) -> ColumnCard:
        """Return the card's entry of a column: of one that it does not list, an empty one."""
        return self.columns.get(name) or ColumnCard()

    def drops(self, name: str) -> bool:
        """Return whether a column is left out of the table."""
        column = self.columns.get(name)
        if column is None:
            return self.other_columns == "drop"
        return column.kind == "drop"


def shipped_cards() -> Path:
    """Return the folder of the cards that come with fairbench."""
    return shipped_folder("datasets")


def card_reference(path: Path) -> str:
    """Return the name of a card in a config: its own where it comes with fairbench, else its path."""
    if path.resolve().parent == shipped_cards().resolve():
        return path.stem
    return str(path)


def shipped_network(card_path: Path) -> Path:
    """Return where the fitted network of a card is kept."""
    return card_path.with_name(f"{card_path.stem}.network.json")


def known_cards() -> list[str]:
    """Return the names of the shipped cards, sorted."""
    return shipped_names("datasets")


def find_card(name: str, base: Path = Path()) -> Path:
    """Return the path of a card, by its name or by a path ending in .yaml (in `base` or the working folder).

    Raises
    ------
    UserError
        When there is no such card.
    """
    if name.endswith((".yaml", ".yml")):
        for path in (base / name, Path(name)):
            if isfile(path):
                return path
        raise user_error(f"no card at {name}", "give the path of a card, or the name of a shipped data set")
    if name in known_cards():
        return shipped_cards() / f"{name}.yaml"
    fix = suggest(name, known_cards())
    if isfile(f"{name}.yaml"):
        fix = f'did you mean "{name}.yaml"?'
    if name.lower().endswith((".csv", ".tsv", ".txt", ".arff", ".data", ".parquet")):
        fix = f"a data file needs a card: `fairbench init {shlex.quote(name)}` writes one; name that here"
    raise user_error(f'unknown dataset "{name}"', fix)


def read_card(path: Path) -> Card:
    """Return a card read and checked, and, where it says ``extends: NAME``, the card that it changes.

    Raises
    ------
    UserError
        Listing every mistake with its line.
    """
    document = _read(path)
    if {"datasets", "interventions"} <= document.data.keys():
        fix = "name a card: the config lists them under `datasets`"
        raise user_error("this is a config, not a card", fix, document.where(("datasets",)))
    document = _merge_extended(document, path, ())
    try:
        card = Card.model_validate(document.data).read_from(document)
    except ValidationError as error:
        raise UserError(
            *validation.sort_by_line(validation.to_problems(error, document), document.name)
        ) from None
    problems = [
        Problem(problem, fix, card.where(*key_path)) for key_path, problem, fix in _check_contradictions(card)
    ]
    refuse(validation.sort_by_line(problems, document.name))
    return card


def _read(path: Path) -> YamlDocument:
    return read_mapping(path, "a card", "let `fairbench init DATA` write one")


def _merge_extended(document: YamlDocument, path: Path, above: tuple[Path, ...]) -> YamlDocument:
    """Return a card merged into the one that it extends; mappings are merged one level deep."""
    changes = _spell_out(document)
    if "extends" not in changes.data:
        return changes
    where = changes.where(("extends",))
    name = changes.data.pop("extends")
    if not isinstance(name, str):
        raise user_error("`extends` must name another card", suggest(str(name), known_cards()), where)
    above += (path.resolve(),)
    try:
        base_path = find_card(name, path.parent)
    except UserError as error:
        raise UserError(*(Problem(p.what, p.fix, where) for p in error.problems)) from None
    if base_path.resolve() in above:
        raise user_error("the card extends itself", "let `extends` name another card", where)
    base = _merge_extended(_read(base_path), base_path, above)
    data = {key: value for key, value in base.data.items() if key not in NOT_INHERITED}
    data.setdefault("variant_of", base.data.get("name", ""))
    spots = base.spots
    for key in NOT_INHERITED:
        spots = remove_spots(spots, (key,))
    for key, value in changes.data.items():
        merged = isinstance(value, dict) and isinstance(data.get(key), dict)
        data[key] = data[key] | value if merged else value
        for key_path in [(key, inner) for inner in value] if merged else [(key,)]:
            spots = remove_spots(spots, key_path)
    return YamlDocument(data, spots | changes.spots, changes.name)


def _spell_out(document: YamlDocument) -> YamlDocument:
    """Return a card with its short forms written out: of a file its name, of a column its kind or nothing."""
    data = dict(document.data)
    for key in ("files", "test_files"):
        if isinstance(data.get(key), list):
            data[key] = [{"name": file} if isinstance(file, str) else file for file in data[key]]
    if isinstance(data.get("columns"), dict):
        kinds = {
            name: {"kind": column} if isinstance(column, str) else column
            for name, column in data["columns"].items()
        }
        data["columns"] = {name: {} if column is None else column for name, column in kinds.items()}
    return YamlDocument(data, document.spots, document.name)


def _check_contradictions(card: Card) -> Iterator[validation.Conflict]:
    """Yield what a card says in one place and makes impossible, or pointless, in another."""
    kind = "a Parquet file"
    if card.format == "arff":
        kind = "an ARFF file"
    of_text = {"header", "separator", "comment", "encoding"} & card.model_fields_set
    if card.format == "arff":
        of_text.discard("encoding")
    for key in sorted(of_text) if card.format != "csv" else ():
        yield (key,), f"{key} has no effect on {kind}", "remove it"
    for name, column in card.columns.items():
        if column.source in card.sources:
            problem = f'column "{name}" is made of "{column.source}", which is no column of the file itself'
            yield ("columns", name, "from"), problem, f"write from: {card.sources[column.source]}"
        if column.if_missing and not card.missing:
            problem = f'if_missing of column "{name}" needs to know which cells are missing values'
            fix = 'write them under `missing`, for example missing: ["", "?"]'
            yield ("columns", name, "if_missing"), problem, fix
    if card.column(card.label.column).if_missing:
        key_path = ("columns", card.label.column, "if_missing")
        fix = "remove if_missing and write missing_rows: drop"
        yield key_path, "a label that is missing cannot be filled in", fix
    if card.missing_rows == "drop" and not card.missing:
        problem = "missing_rows: drop needs to know which cells are missing values"
        yield ("missing_rows",), problem, 'write them under `missing`, for example missing: "?"'
    if card.format == "csv" and not card.header and not card.columns:
        fix = "name them under `columns`, in file order"
        yield ("header",), "a file without header needs its columns named", fix
    if card.separator in '"\n\r':
        yield ("separator",), "a quote or line end cannot separate cells", "use , or ;"
    names = [file.name for file in card.files]
    for i, name in enumerate(names):
        if name in names[:i]:
            yield ("files", i), f"file {name} is listed twice", "keep one"
    if card.test_rows and card.test_files:
        yield ("test_rows",), "test_files and test_rows exclude each other", "keep one"
    yield from _check_label(card)
    yield from _check_joint_attributes(card)
    for name in card.expected.groups if card.expected else ():
        if name not in card.protected:
            problem = f'"{name}" is no protected attribute of the card'
            yield ("expected", "groups", name), problem, suggest(name, card.protected)
    named_columns = set(chain(card.columns, card.test_rows, dict(card.needed_columns())))
    if card.counts in named_columns:
        problem = f'"{card.counts}" counts the people of a row, so it is no column of theirs'
        yield ("counts",), problem, "name it under `counts` alone"
    for name, place in card.needed_columns():
        if card.drops(name):
            fix = "list it under `columns`, and not as drop"
            yield place, f'column "{name}" is needed but dropped', fix
        if name == card.label.column and place[0] == "protected":
            problem = f'"{name}" is the label: it cannot be protected, nor what β acts on'
            yield place, problem, "name another column"


def _check_label(card: Card) -> Iterator[validation.Conflict]:
    """Yield why the unknown outcomes of a card cannot become what it says."""
    if card.column(card.label.column).is_number and card.label.unknown_as == "unfavourable":
        problem = (
            f'unknown_as: unfavourable needs a label of categories, and "{card.label.column}" is a number'
        )
        yield ("label", "unknown_as"), problem, "write unknown_as: level"


def _check_joint_attributes(card: Card) -> Iterator[validation.Conflict]:
    """Yield what is wrong with the joint attributes of a card."""
    single = [name for name, protected in card.protected.items() if protected.of is None]
    for name, protected in card.protected.items():
        for i, part_name in enumerate(protected.of or ()):
            if part_name not in single:
                joint = "no protected attribute"
                if part_name in card.protected:
                    joint = "a joint attribute itself"
                fix = suggest(part_name, single)
                yield ("protected", name, "of", i), f'"{part_name}" is {joint} of the card', fix
        if protected.of and name in card.columns:
            problem = f'"{name}" is a column, so no joint attribute can have its name'
            yield ("protected", name), problem, f"call it {'-'.join(protected.of)}-joint"
