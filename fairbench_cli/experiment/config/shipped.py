"""The configs that come with fairbench, and how a command line names a config."""

from pathlib import Path

from fairbench_cli.base.errors import nearest, suggest, user_error
from fairbench_cli.base.files import read_text

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
