"""The source of a file of Python and of the modules next to it that it imports."""

import ast
import hashlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path


def read_sources(path: Path, root: Path) -> dict[str, bytes]:
    """Return the bytes of a file, and of the files below `root` that it imports, they import, and so on.

    The names are relative to `root`; the file itself comes first.

    Raises
    ------
    OSError
        When one of them cannot be read.
    """
    found: dict[str, bytes] = {}
    waiting = [path.relative_to(root)]
    while waiting:
        file = waiting.pop(0)
        if file.as_posix() not in found:
            found[file.as_posix()] = text = (root / file).read_bytes()
            waiting += [other for other in _imported(text, file) if (root / other).is_file()]
    return found


def digest_of(sources: Mapping[str, bytes]) -> str:
    """Return the sha256 of a file or, of several, of the list of their names and sha256.

    >>> digest_of({"mine.py": b"x = 1"})[:8], digest_of({"mine.py": b"import a", "a.py": b""})[:8]
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
    roots: set[str] = set()
    for text in read_sources(path, path.parent).values():
        with suppress(SyntaxError, ValueError):  # running it says what is wrong
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Import):
                    roots |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    roots.add(node.module.partition(".")[0])
    return roots


def _imported(text: bytes, file: Path) -> Iterator[Path]:
    """Yield the files that the imports of a module may stand for, unless of the standard library or ours."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # running it says what is wrong
        return
    for node in ast.walk(tree):
        names: list[tuple[str, ...]] = []
        if isinstance(node, ast.Import):
            names = [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = file.parts[: -node.level] if node.level else ()
            start = (*above, *(node.module.split(".") if node.module else ()))
            names = [(*start, alias.name) for alias in node.names]
        for parts in names:
            if parts[0] in sys.stdlib_module_names or parts[0] == __name__.partition(".")[0]:
                continue
            for n in range(1, len(parts) + 1):
                yield Path(*parts[:n]).with_suffix(".py")
                yield Path(*parts[:n], "__init__.py")
