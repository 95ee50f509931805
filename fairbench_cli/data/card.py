"""Find a card and read it, with the card that it extends."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from fairbench_cli.data.descriptor import BiasTarget, Card, File, Origin
from fairbench_cli.errors import Problem, UserError, suggest, user_error
from fairbench_cli.strict_yaml import Document, read_yaml, without
from fairbench_cli.validation import in_file_order, problems_of

__all__ = ["BiasTarget", "Card", "File", "find_card", "known_cards", "read_card", "shipped_cards"]

# They are about the extended card's own rows.
NOT_INHERITED = ("name", "note")


def shipped_cards() -> Path:
    """Return the folder of the cards that come with fairbench."""
    inside = Path(__file__).parents[1] / "datasets"  # in an installed wheel
    return inside if inside.is_dir() else Path(__file__).parents[2] / "datasets"


def known_cards() -> list[str]:
    """Return the names of the shipped cards, sorted."""
    return sorted(path.stem for path in shipped_cards().glob("*.yaml"))


def find_card(name: str, base: Path = Path()) -> Path:
    """Find a card by its name, or by a path ending in .yaml (relative to `base` or the working folder).

    Raises
    ------
    UserError
        When there is no such card.
    """
    if name.endswith((".yaml", ".yml")):
        for path in (base / name, Path(name)):
            if _is_file(path):
                return path
        raise user_error(f"no card at {name}", "give the path of a card, or the name of a shipped data set")
    if name in known_cards():
        return shipped_cards() / f"{name}.yaml"
    fix = suggest(name, known_cards())
    if name.lower().endswith((".csv", ".arff", ".data")):
        fix = "a data file needs a card, some ten lines of YAML (see datasets/adult.yaml); name the card here"
    raise user_error(f'unknown dataset "{name}"', fix)


def read_card(path: Path) -> Card:
    """Read a card and, where it says ``extends: NAME``, the card that it changes.

    Raises
    ------
    UserError
        Listing every mistake with its line.
    """
    document = _extended(read_yaml(path), path, ())
    try:
        card = Card.model_validate(document.data)
    except ValidationError as error:
        raise UserError(*in_file_order(problems_of(error, Card, document), document.name)) from None
    shipped = path.resolve().parent == shipped_cards().resolve()
    card._origin = Origin(document, path.stem if shipped else str(path))
    problems = list(_contradictions(card))
    if problems:
        raise UserError(*in_file_order(problems, document.name))
    return card


def _extended(document: Document, path: Path, above: tuple[Path, ...]) -> Document:
    """Lay a card over the one that it extends; mappings are merged one level deep."""
    own = _spelled_out(document)
    if "extends" not in own.data:
        return own
    where = own.where(("extends",))
    name = own.data.pop("extends")
    if not isinstance(name, str):
        raise user_error("`extends` must name another card", suggest(str(name), known_cards()), where)
    above = (*above, path.resolve())
    try:
        base_path = find_card(name, path.parent)
    except UserError as error:
        raise UserError(*(Problem(p.what, p.fix, where) for p in error.problems)) from None
    if base_path.resolve() in above:
        raise user_error("the card extends itself", "let `extends` name another card", where)
    base = _extended(read_yaml(base_path), base_path, above)
    data = {key: value for key, value in base.data.items() if key not in NOT_INHERITED}
    spots = base.spots
    for key in NOT_INHERITED:
        spots = without(spots, (key,))
    for key, value in own.data.items():
        if isinstance(value, dict) and isinstance(data.get(key), dict):
            data[key] = data[key] | value
            for inner in value:
                spots = without(spots, (key, inner))
        else:
            data[key] = value
            spots = without(spots, (key,))
    return Document(data, spots | own.spots, own.name)


def _spelled_out(document: Document) -> Document:
    """Write out the short forms: a file by its name, a column by its kind or by nothing."""
    if not isinstance(document.data, dict):
        where = document.where(())
        raise user_error("a card is a mapping of keys to values", "see datasets/adult.yaml", where)
    data = dict(document.data)
    if isinstance(data.get("files"), list):
        data["files"] = [{"name": file} if isinstance(file, str) else file for file in data["files"]]
    if isinstance(data.get("columns"), dict):
        kinds = {
            name: {"kind": column} if isinstance(column, str) else column
            for name, column in data["columns"].items()
        }
        data["columns"] = {name: {} if column is None else column for name, column in kinds.items()}
    return Document(data, document.spots, document.name)


def _contradictions(card: Card) -> Iterator[Problem]:
    """Yield what a card says in one place and makes impossible, or pointless, in another."""
    if card.format == "arff":
        for key in sorted({"header", "separator", "comment"} & card.model_fields_set):
            yield Problem(f"{key} has no effect on an ARFF file", "remove it", card.where(key))
    if card.missing_rows == "drop" and not card.missing:
        yield Problem(
            "missing_rows: drop needs to know which cells are missing values",
            'write them under `missing`, for example missing: "?"',
            card.where("missing_rows"),
        )
    if card.format == "csv" and not card.header and not card.columns:
        fix = "name them under `columns`, in file order"
        yield Problem("a file without header needs its columns named", fix, card.where("header"))
    if card.separator in '"\n\r':
        yield Problem("a quote or line end cannot separate cells", "use , or ;", card.where("separator"))
    names = [file.name for file in card.files]
    for i, name in enumerate(names):
        if name in names[:i]:
            yield Problem(f"file {name} is listed twice", "keep one", card.where("files", i))
    for name, place in card.needed():
        if card.drops(name):
            fix = "list it under `columns`, and not as drop"
            yield Problem(f'column "{name}" is needed but dropped', fix, card.where(*place))
        if name == card.label.column and place[0] == "protected":
            what = f'"{name}" is the label: it cannot be protected, nor what β acts on'
            yield Problem(what, "name another column", card.where(*place))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name too long for the system, for example
        return False
