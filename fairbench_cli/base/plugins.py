"""Anybody's code by name: ``./mine.py:Thing``, ``package.module:Thing``, or an installed entry point.

Nothing here runs before somebody names it: in a config, or on a command line.
"""

import ast
import hashlib
import importlib
import os
import pkgutil
import platform
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, distribution, entry_points, packages_distributions
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from fairbench_cli.base.errors import Problem, UserError, find_nearest, suggest, user_error

KNOWN_PACKAGES = {
    "aif360": "aif360",
    "catboost": "catboost",
    "category_encoders": "category-encoders",
    "fairlearn": '"fairbench-cli[fairlearn]"',
    "imblearn": "imbalanced-learn",
    "interpret": "interpret",
    "keras": "keras",
    "lightgbm": "lightgbm",
    "skorch": "skorch",
    "statsmodels": "statsmodels",
    "tensorflow": "tensorflow",
    "torch": "torch",
    "xgboost": "xgboost",
}
"""What pip calls the packages that messages may name: any other name may be that of a stranger's."""

NO_CODE = "FAIRBENCH_NO_CODE"
"""The variable of the environment that refuses every name of code, as ``--no-code`` does."""


def how_to_get(module: str, folder: str | Path = "") -> str:
    """Return the fix for a module that cannot be imported; only a package that is known is installed.

    >>> how_to_get("imblearn.over_sampling"), how_to_get("helpers", "study")
    ('pip install imbalanced-learn', 'put helpers.py into study, or correct the name')
    """
    root = module.partition(".")[0]
    if root in KNOWN_PACKAGES:
        return f"pip install {KNOWN_PACKAGES[root]}"
    return f"put {root}.py into {folder or 'the folder'}, or correct the name"


class SourceChanged(Exception):  # noqa: N818 - the reason of a failed repeat
    """The code is not the one that the run was planned with."""


@dataclass(frozen=True, eq=False)
class NamedObject:
    """A function that returns copies of an object which stands in a file, such as an estimator."""

    thing: Any

    def __call__(self, **parameters: Any) -> Any:
        """Return a copy, with other values of some parameters."""
        copy = deepcopy(self.thing)
        if parameters:
            copy.set_params(**parameters)
        return copy


@dataclass(frozen=True)
class CodeOrigin:
    """Where somebody's class or function is, and which state of it is meant.

    Parameters
    ----------
    target : str
        ``/folder/mine.py:Thing`` or ``package.module:Thing``.
    version : str
        ``sha256:…`` of a file and the modules next to it that it imports; or the names and versions of the
        packages that a module comes from.
    """

    target: str
    version: str

    @property
    def path(self) -> Path | None:
        """Return the file, or None for a module."""
        if is_file(self.target):
            return _split(self.target)[0]
        return None

    def load(self) -> Any:
        """Return the class or function; a process runs its code once.

        Raises
        ------
        SourceChanged
            When a file is no longer the one that was meant.
        UserError
            When it cannot be imported, or code is refused (`NO_CODE`).
        """
        _refuse_if_unwanted(short_name(self.target))
        path, name = _split(self.target)
        if is_file(self.target):
            module, imported_files = _run_file(path, self.version)
            _give_precedence(path.parent, imported_files)
            return _find_attribute(module, name, self.target)
        package = self.target.rpartition(":")[0]
        if self.version.startswith("sha256:") and code_version(package) != self.version:
            raise SourceChanged(f"{package} has changed since the run began: run it again")
        return _find_attribute(_import_module(package), name, self.target)


@contextmanager
def refusing_code(refuses: bool) -> Iterator[None]:
    """Refuse names of code within, where `refuses` says so: none of what is read there stands for any."""
    before = os.environ.get(NO_CODE)
    if refuses:
        os.environ[NO_CODE] = "1"
    try:
        yield
    finally:
        if refuses:
            del os.environ[NO_CODE]
            if before is not None:
                os.environ[NO_CODE] = before


def _refuse_if_unwanted(name: str) -> None:
    """Refuse a name of code where the user wants none."""
    if os.environ.get(NO_CODE, "0") not in ("", "0"):
        problem = f"{name} is code that is not fairbench's, and none is to run"
        raise user_error(problem, f"take the name out, or run it without --no-code and {NO_CODE}")


def is_plugin(name: str) -> bool:
    """Return whether a name says where code is.

    >>> is_plugin("./mine.py:Thing"), is_plugin("sklearn.svm:SVC"), is_plugin("massaging")
    (True, True, False)
    """
    return ":" in name


def is_file(name: str) -> bool:
    """Return whether a name says a file with code: whether ``.py`` comes before the colon."""
    return name.rpartition(":")[0].endswith(".py")


def short_name(name: str) -> str:
    """Return the name of somebody's code in results: without the folder of its file.

    >>> short_name("/home/me/mine.py:Thing"), short_name("sklearn.svm:SVC"), short_name("massaging")
    ('mine.py:Thing', 'sklearn.svm:SVC', 'massaging')
    """
    if is_file(name):
        return f"{_split(name)[0].name}:{_split(name)[1]}"
    return name


def suggest_name(name: str, choices: Iterable[str]) -> str:
    """Return how to fix an unknown name: of somebody's code as a colon writes it, else the nearest choice.

    >>> suggest_name("sklearn.svm.SVC", []), suggest_name("./mine.py.Thing", [])
    ('write sklearn.svm:SVC', 'write ./mine.py:Thing')
    >>> suggest_name("masaging", ["massaging"])
    'did you mean "massaging"?'
    """
    module, _, attribute = name.rpartition(".")
    is_module = all(word.isidentifier() for word in module.split("."))
    if attribute.isidentifier() and (is_module or module.endswith(".py")):
        return f"write {module}:{attribute}"
    return suggest(name, choices)


def find_code(name: str, group: str, base: Path) -> CodeOrigin | None:
    """Return where the code is that a name stands for, imported and there; None for an unknown word.

    Parameters
    ----------
    name : str
        As written.
    group : str
        Of entry points, such as ``fairbench.classifiers``.
    base : Path
        The folder that the paths of files are relative to.

    Raises
    ------
    UserError
        When there is no such file, package, class or function, or it cannot be imported, or code is refused
        (`NO_CODE`).
    """
    if is_plugin(name):
        _refuse_if_unwanted(name)
    if is_file(name):
        path, attribute = _split(name)
        path = (base / path.expanduser()).resolve()
        origin = CodeOrigin(f"{path}:{attribute}", f"sha256:{digest_sources(_read_sources_or_refuse(path))}")
    elif is_plugin(name):
        module, _, attribute = name.rpartition(":")
        if not all(word.isidentifier() for word in module.split(".") + attribute.split(".")):
            fix = "write ./mine.py:NAME or package.module:NAME"
            raise user_error(f"{name} names neither a file of Python nor a module", fix)
        try:
            _import_module(module)
            origin = CodeOrigin(name, code_version(module))
            origin.load()
        except UserError as error:
            path_meant = _path_meant(module, base, is_missing="is not installed" in str(error))
            if path_meant is None:
                raise
            raise user_error(error.problems[0].what, f"write ./{path_meant}:{attribute}") from None
    elif name.endswith(".py"):
        raise user_error(f"{name} does not say which class or function", f"write {name}:NAME")
    else:
        installed = entry_points_by_name(group).get(name)
        if installed is None:
            return None
        _refuse_if_unwanted(name)
        _import_module(installed.module)
        package = installed.dist
        if package:
            version = f"{package.name} {package.version}"
        else:
            version = code_version(installed.module)
        origin = CodeOrigin(f"{installed.module}:{installed.attr}", version)
    origin.load()
    return origin


def _path_meant(module: str, base: Path, *, is_missing: bool) -> str | None:
    """Return the file in a folder that a module's name stands for, or that is called nearly so."""
    path = f"{module.replace('.', '/')}.py"
    if (base / path).is_file():
        return path
    if not is_missing or module.partition(".")[0] in KNOWN_PACKAGES:
        return None
    nearest = find_nearest(module, [file.stem for file in base.glob("*.py")])
    return None if nearest is None else f"{nearest}.py"


def entry_points_by_name(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name; nothing is imported."""
    return {entry.name: entry for entry in sorted(entry_points(group=group), key=lambda entry: entry.value)}


def _split(name: str) -> tuple[Path, str]:
    """Return the part before the last colon as a path, and the one behind it."""
    file, _, attribute = name.rpartition(":")
    return Path(file), attribute


def _find_attribute(module: ModuleType, name: str, target: str) -> Any:
    """Return a class or function of a module, or of a class in it.

    Raises
    ------
    UserError
        When it has none of that name, or it is something else.
    """
    thing: Any = module
    for attribute in name.split("."):
        if not hasattr(thing, attribute):
            callables = [
                key for key, value in vars(module).items() if callable(value) and not key.startswith("_")
            ]
            where = short_name(target).rpartition(":")[0]
            raise user_error(f'{where} has no class or function "{name}"', suggest(name, callables))
        thing = getattr(thing, attribute)
    if not isinstance(thing, type) and callable(getattr(thing, "fit", None)):
        return NamedObject(thing)
    if not callable(thing):
        raise user_error(f"{short_name(target)} is no class, function or estimator", "name one that is")
    if getattr(thing, "__qualname__", "") == "<lambda>":
        thing.__qualname__ = name  # by which pickle finds it
    return thing


def _read_sources_or_refuse(path: Path) -> dict[str, bytes]:
    try:
        return read_sources(path, path.parent)
    except OSError as error:
        problem = f"cannot read {path}: {error.strerror}"
        raise user_error(problem, "correct the path") from None


def find_clashes(paths: Iterable[Path]) -> list[Problem]:
    """Return the modules of one name, next to files in different folders, that are not the same."""
    problems = []
    seen = dict[str, tuple[Path, bytes]]()
    for path in dict.fromkeys(paths):
        for file, text in list(_read_sources_or_refuse(path).items())[1:]:
            folder, text_there = seen.setdefault(file, (path.parent, text))
            if folder != path.parent and text_there != text:
                problem = f"{path.parent / file} and {folder / file} are imported by one name"
                problems.append(Problem(problem, "rename one of them"))
    return problems


@cache
def _run_file(path: Path, version: str) -> tuple[ModuleType, tuple[str, ...]]:
    """Return a file, run as a module, if it is of that version, and the files next to it that it imports.

    Modules next to it can be imported from it, as when Python runs it.
    """
    sources = _read_sources_or_refuse(path)
    if f"sha256:{digest_sources(sources)}" != version:
        raise SourceChanged(f"{path.name} has changed since the run began: run it again")
    imported_files = tuple(sources)[1:]
    _forget_modules(imported_files)  # of an earlier version
    for imported in imported_files:
        # Python takes a compiled copy for current if time (in seconds) and size are: an edit may keep both.
        with suppress(OSError):
            Path(cache_from_source(str(path.parent / imported))).unlink()
    importlib.invalidate_caches()
    module = ModuleType(f"fairbench_{version[7:19]}_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # where dataclasses and pickle look it up
    sys.path.insert(0, str(path.parent))
    try:
        # Not through the import system: it would trust a compiled copy of an edit ago, and leave one behind.
        exec(compile(sources[path.name], str(path), "exec"), vars(module))  # noqa: S102 - the user named the file
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        raise _import_error(path.name, error, path) from None
    finally:
        sys.path.remove(str(path.parent))
    return module, imported_files


def _give_precedence(folder: Path, files: Sequence[str]) -> None:
    """Let what the functions of a file import when they run be what is next to it."""
    _forget_modules(files, unless_in=folder)  # next to another file
    if str(folder) in sys.path:
        sys.path.remove(str(folder))

    def has_rival(entry: str) -> bool:
        return any((Path(entry) / file).is_file() for file in files)

    first_rival = next((i for i, entry in enumerate(sys.path) if has_rival(entry)), len(sys.path))
    sys.path.insert(first_rival, str(folder))


def _forget_modules(files: Iterable[str], unless_in: Path | None = None) -> None:
    """Let modules, and packages around them, be imported anew, unless of an installed package."""
    for file in files:
        components = file.removesuffix(".py").removesuffix("/__init__").split("/")
        for name in (".".join(components[: n + 1]) for n in range(len(components))):
            module = sys.modules.get(name)
            if module is None:
                continue
            paths = [getattr(module, "__file__", None) or "", *map(str, getattr(module, "__path__", ()))]
            if any("site-packages" in path for path in paths):
                continue
            if unless_in is None or not all(Path(path).is_relative_to(unless_in) for path in paths if path):
                del sys.modules[name]


def _import_module(name: str) -> ModuleType:
    """Return an installed module, imported.

    Raises
    ------
    UserError
        When there is none of that name, or its own code fails.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _import_error(name, error) from None
        package, _, missing = error.name.rpartition(".")
        if not package:
            problem = f"the package {error.name} is not installed"
            fix = f"correct the name, or write the path of a file, as in ./{error.name}.py:NAME"
            if error.name in KNOWN_PACKAGES:
                fix = how_to_get(error.name)
            raise user_error(problem, fix) from None
        inside = pkgutil.iter_modules(getattr(sys.modules[package], "__path__", []))
        modules = [module.name for module in inside if not module.name.startswith("_")]
        raise user_error(f'{package} has no module "{missing}"', suggest(missing, modules)) from None
    except (Exception, SystemExit) as error:
        raise _import_error(name, error) from None


def _import_error(name: str, error: BaseException, path: Path | None = None) -> UserError:
    """Return where an import failed: the last line in the file itself, otherwise in what it imports."""
    message = str(error)
    spot = spot_in(error, path)
    if isinstance(error, SyntaxError):
        message = error.msg
        if error.filename:
            spot = f"{error.filename}:{error.lineno}"
    where = f"{spot}: " if spot else ""
    problem = f"cannot import {name}: {where}{type(error).__name__}: {message}"
    if isinstance(error, ModuleNotFoundError) and error.name:
        return user_error(problem, how_to_get(error.name, path.parent if path else ""))
    return user_error(problem, "correct that line" if spot else "correct what it runs when it is imported")


def spot_in(error: BaseException, path: Path | None = None) -> str:
    """Return the last line of a file, or of anybody's but ours, that an error went through; empty without."""
    ours = (str(Path(__file__).parents[1]), str(Path(importlib.__file__).parent), "<")
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(ours)]
    frames = [f for f in frames if path is None or f.filename == str(path)]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""


_packages = cache(packages_distributions)


def installed_packages(root: str) -> list[str]:
    """Return the names of the installed packages that a top-level module comes from."""
    return sorted(set(_packages().get(root, [])))


def is_installed(module: str) -> bool:
    """Return whether a module is of the standard library or of an installed package.

    >>> is_installed("collections.abc"), is_installed("numpy"), is_installed("__main__")
    (True, True, False)
    """
    root = module.partition(".")[0]
    if root == "__main__":
        return False
    return (
        root in sys.stdlib_module_names
        or root == __name__.partition(".")[0]
        or bool(installed_packages(root))
    )


def public_name(thing: Any) -> str:
    """Return ``package.module:name`` of a class or function, by the outermost package that has it.

    >>> public_name(Mapping)
    'collections.abc:Mapping'
    """
    packages = str(thing.__module__).split(".")
    name = str(thing.__name__)
    for n in range(1, len(packages)):
        outer = ".".join(packages[:n])
        if getattr(sys.modules.get(outer), name, None) is thing:
            return f"{outer}:{name}"
    return f"{thing.__module__}:{thing.__qualname__}"


def code_version(module: str) -> str:
    """Return the version of an imported module's code.

    The versions of the packages that it comes from; the sha256 of its file, and of those of its folder that
    it imports, where it is in no package, or in one that is installed to be edited.
    """
    names = installed_packages(module.partition(".")[0])
    edited = [name for name in names if '"editable": true' in (distribution(name).read_text(_DIRECT) or "")]
    spec = find_spec(module)
    if (names and not edited) or spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        packages = [f"{name} {distribution(name).version}" for name in names]
        return ", ".join(packages) or f"python {platform.python_version()}"
    path = Path(spec.origin).resolve()
    above = module.count(".") + (path.name == "__init__.py")
    return f"sha256:{digest_sources(read_sources(path, path.parents[above]))}"


_DIRECT = "direct_url.json"


def read_sources(path: Path, root: Path) -> dict[str, bytes]:
    """Return the bytes of a file, and of the files below `root` that it imports, they import, and so on.

    The names are relative to `root`; the file itself comes first.

    Raises
    ------
    OSError
        When one of them cannot be read.
    """
    sources: dict[str, bytes] = {}
    waiting = [path.relative_to(root)]
    while waiting:
        file = waiting.pop(0)
        if file.as_posix() not in sources:
            sources[file.as_posix()] = text = (root / file).read_bytes()
            waiting += [imported for imported in _files_imported(text, file) if (root / imported).is_file()]
    return sources


def digest_sources(sources: Mapping[str, bytes]) -> str:
    """Return the sha256 of a file or, of several, of the list of their names and sha256.

    >>> digest_sources({"mine.py": b"x = 1"})[:8], digest_sources({"mine.py": b"import a", "a.py": b""})[:8]
    ('8ff436de', '327e4446')
    """
    hashes = {name: hashlib.sha256(text).hexdigest() for name, text in sources.items()}
    if len(hashes) == 1:
        return next(iter(hashes.values()))
    return hashlib.sha256("\n".join(sorted(f"{n} {sha}" for n, sha in hashes.items())).encode()).hexdigest()


def imported_roots(path: Path) -> set[str]:
    """Return the top-level modules that a file, and the files next to it that it imports, import.

    Raises
    ------
    OSError
        When one of them cannot be read.
    """
    roots = set()
    for text in read_sources(path, path.parent).values():
        roots |= {names[0] for level, names in _imports(text) if not level}
    return roots


def _files_imported(text: bytes, file: Path) -> Iterator[Path]:
    """Yield the files that the imports of a module may stand for, unless of the standard library or ours."""
    for level, names in _imports(text):
        components = names
        if level:
            components = (*file.parts[:-level], *names)
        if components[0] in sys.stdlib_module_names or components[0] == __name__.partition(".")[0]:
            continue
        for n in range(1, len(components) + 1):
            yield Path(*components[:n]).with_suffix(".py")
            yield Path(*components[:n], "__init__.py")


def _imports(text: bytes) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield what the imports of a module name, each with how many dots stand before it.

    >>> list(_imports(b"import a.b, c; from ..d import e"))
    [(0, ('a', 'b')), (0, ('c',)), (2, ('d', 'e'))]
    """
    with suppress(SyntaxError, ValueError):  # running it says what is wrong
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                yield from ((0, tuple(alias.name.split("."))) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                start = node.module.split(".") if node.module else []
                yield from ((node.level, (*start, alias.name)) for alias in node.names)
