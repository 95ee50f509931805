"""From a name or a YAML file to an `ExperimentConfig`; every mistake is reported at once, with its line."""

from pathlib import Path

from pydantic import ValidationError

from fairbench_cli.base.errors import Problem, UserError, nearest, suggest, user_error
from fairbench_cli.base.files import read_text
from fairbench_cli.base.plugins import clashes
from fairbench_cli.base.strict_yaml import Place, YamlDocument, laid_over, read_mapping
from fairbench_cli.base.validation import in_file_order, problems_of
from fairbench_cli.data.card import Card, shipped_cards
from fairbench_cli.experiment.config.checks import Given, cross_checks
from fairbench_cli.experiment.config.components import ReadContext
from fairbench_cli.experiment.config.config import OF_BETA, BiasConfig, ExperimentConfig

SUFFIXES = (".yaml", ".yml")
ABBREVIATIONS = ("al.", "eq.")
SHORT = 4  # words that do not make a title yet


def shipped_configs() -> Path:
    """Return the folder of the configs that come with fairbench."""
    inside = Path(__file__).parents[2] / "configs"  # in an installed wheel
    return inside if inside.is_dir() else Path(__file__).parents[3] / "configs"


def known_configs() -> list[str]:
    """Return the names of the shipped configs, sorted."""
    return sorted(path.stem for path in shipped_configs().glob("*.yaml"))


def find_config(name: str) -> Path:
    """Return the path of a config: that of a file, or of a shipped config by its name.

    A name that looks like a path is one, and a file of that name comes before a shipped config.

    Raises
    ------
    UserError
        When there is neither.

    >>> find_config("quickstart").name, find_config("mine/own.yaml").as_posix()
    ('quickstart.yaml', 'mine/own.yaml')
    """
    path, known = Path(name), known_configs()
    if path.is_file() or (path.exists() and name not in known):
        return path
    if name in known:
        return shipped_configs() / f"{name}.yaml"
    if path.stem in known:
        fix = f"check the path, or write {path.stem} alone: that config comes with fairbench"
        raise user_error(f"no such file: {name}", fix)
    if path.suffix in SUFFIXES or len(path.parts) > 1:
        return path  # whoever reads it says what is wrong
    own = [file.name for file in Path().iterdir() if file.suffix in SUFFIXES]
    what = f'"{name}" is neither a file nor a config that comes with fairbench'
    raise user_error(what, suggest(name, known if nearest(name, known) else [*known, *own]))


def title(path: Path) -> str:
    """Return what the comment that a config begins with says first; empty where there is none.

    >>> title(shipped_configs() / "quickstart.yaml")
    'A first look in a minute, offline'
    """
    words: list[str] = []
    for line in read_text(path).splitlines():
        if not line.startswith("#"):
            break
        if "yaml-language-server" not in line:
            words += line.lstrip("# ").split()
    for i, word in enumerate(words):
        if word not in ABBREVIATIONS and (word.endswith((".", ";")) or (word.endswith(":") and i > SHORT)):
            return " ".join(words[: i + 1]).rstrip(".;:")
    return " ".join(words)


def read_config(path: Path, overrides: tuple[str, ...] = ()) -> ExperimentConfig:
    """Read a config file, with ``key=value`` or ``key.key=value`` overrides laid over it.

    Raises
    ------
    UserError
        Listing every mistake, in the order of the file.
    """
    document = read_mapping(path, "a config", "let `fairbench init DATA` write one")
    return of_document(document, path.parent, overrides)


def of_document(document: YamlDocument, base: Path, overrides: tuple[str, ...] = ()) -> ExperimentConfig:
    """Return a config that has been read, checked as `read_config` does.

    Cards and plug-ins are looked for in `base`.
    """
    if "truth" in document.data and "datasets" not in document.data:
        what = "this is a simulation, which has no data sets to run on"
        raise user_error(what, f"run `fairbench simulate {document.name}`", document.where(("truth",)))
    if {"files", "label"} <= document.data.keys() and "datasets" not in document.data:
        card = Path(document.name)
        own = card.with_name(f"{card.stem}-run.yaml")
        fix = (
            f"run `fairbench run {own}`"
            if own.is_file()
            else f"name it under a config's datasets: [./{card.name}]"
        )
        raise user_error("this is a card, not a config", fix, document.where(("files",)))
    document, problems = laid_over(document, overrides)
    config, context, wrong = parse(document, base)
    cards = [] if "datasets" in context.wrong else [context.cards[spec.card] for spec in config.datasets]
    given = Given(config, document, [card for _, card in cards])
    files = config.own_files if context.wrong.isdisjoint(("interventions", "classifiers", "metrics")) else []
    problems += [*wrong, *cross_checks(given, context.wrong), *clashes(files)]
    if problems:
        raise UserError(*in_file_order(problems, document.name))
    return _resolved(config, cards, base).read_from(document)


def parse(document: YamlDocument, base: Path | None) -> tuple[ExperimentConfig, ReadContext, list[Problem]]:
    """Check every key by itself.

    Parameters
    ----------
    base : Path or None
        The folder that the paths of cards and plug-ins are relative to. None takes these as they stand, and
        runs nobody's code: for a config that results hold.

    Returns
    -------
    config : ExperimentConfig
        Where problems were found it has the keys that are right, and defaults for others.
    context : ReadContext
        The cards that were read, and the keys that are wrong.
    problems : list of Problem
    """
    context, problems = ReadContext(base), list[Problem]()
    try:
        config = ExperimentConfig.model_validate(document.data, context=context)
    except ValidationError as error:
        problems += problems_of(error, ExperimentConfig, document)
        context.wrong.update(str(finding["loc"][0]) for finding in error.errors())
        config = ExperimentConfig.model_construct(**context.right)
    return config.with_own(context.own), context, problems


def _resolved(config: ExperimentConfig, cards: list[tuple[Path, Card]], base: Path) -> ExperimentConfig:
    """Spell out what data sets have from their card and from `sample`, and what follows from the source."""
    real = config.sample.source == "data"
    datasets = []
    for i, (spec, (path, card)) in enumerate(zip(config.datasets, cards, strict=True)):
        shipped = path.resolve().parent == shipped_cards().resolve()
        shared = set(BiasConfig.model_fields) - spec.model_fields_set
        own = {key: getattr(config.sample, key) for key in shared}
        bias = own.get("bias", spec.bias)
        if bias is not None:
            at: Place = ("sample", "bias") if "bias" in shared else ("datasets", i, spec.card, "bias")
            own["bias"] = tuple(world.within(at) for world in bias)
            own |= {key: BiasConfig.model_fields[key].default for key in OF_BETA}
        own |= {"card": path.stem if shipped else str(path.resolve())}
        own["name"] = spec.name or card.name
        attributes = spec.attribute or (card.attribute(None),)
        datasets += [spec.model_copy(update=own | {"attribute": (one,)}) for one in attributes]
    test = config.test or ("holdout" if real else "original")
    if config.test and config.tested == "file":
        test = str((base / config.test).resolve())
    return config.model_copy(
        update={
            "datasets": tuple(datasets),
            # Real rows are as biased as they are: β is 0.
            "sample": config.sample.model_copy(update={"beta": (0.0,)}) if real else config.sample,
            "test": test,
        }
    )
