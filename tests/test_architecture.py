"""The house rules that the code itself can be asked about, over its syntax trees."""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from conftest import HEAVY, loaded_by, modules_after, write_config

import fairbench_cli
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.experiment.config import outputs
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.papers.parts import FIGURES, PARTS, TABLES
from fairbench_cli.report.show.table_formats import FORMATS

pytestmark = pytest.mark.gate  # the first test reads the whole package
ROOT = Path(fairbench_cli.__file__).parent
FILES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))
PACKAGES = {f"fairbench_cli.{file[:-3].replace('/', '.')}" for file in FILES if file.endswith("/__init__.py")}

# A room may import from itself and from rooms of a lower number.
FLOORS = {
    "base": -1,
    "measures": 0,
    "document": 1,
    "data": 1,
    "network": 2,
    "classifiers": 2,
    "interventions": 3,
    "experiment": 4,
    "report": 5,
    "audit": 6,
    "papers": 6,
    "simulate": 6,
    "studies": 7,
    "api": 8,
    "web": 9,
    "cli": 10,
}


@cache
def nodes(file: str) -> list[ast.AST]:
    """Return every node of a file; many tests go through all of them."""
    return list(ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))))


@cache
def imports(file: str) -> list[tuple[str, bool]]:
    """Return every imported module of a file, and whether the import is at the top (run on loading)."""
    functions = [node for node in nodes(file) if isinstance(node, ast.FunctionDef)]
    inner = {id(node) for function in functions for node in ast.walk(function)}
    found = []
    for node in nodes(file):
        if isinstance(node, ast.Import):
            found += [(alias.name, id(node) not in inner) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} has a relative import"
            assert node.module is not None
            found.append((node.module, id(node) not in inner))
            if node.module == "fairbench_cli":
                found += [(f"fairbench_cli.{alias.name}", id(node) not in inner) for alias in node.names]
    return found


def room(module: str) -> str | None:
    """Return the room of one of our modules: None for the files outside the rooms."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and (ROOT / parts[1]).is_dir() else None


def test_the_web_page_has_no_audit_of_its_own():
    """It asks `fb`, as scripts do."""
    for file in FILES:
        if file.startswith("web/"):
            assert not [module for module, _ in imports(file) if module.startswith("fairbench_cli.audit")]


def test_every_room_has_a_floor():
    assert {Path(file).parts[0] for file in FILES if "/" in file} <= set(FLOORS)


def test_imports_point_one_way():
    for file in FILES:
        own = Path(file).parts[0] if "/" in file else None
        for module, _ in imports(file):
            other = room(module) if module.split(".")[0] == "fairbench_cli" else None
            if own is None:
                # What `import fairbench_cli` gives is named for type checkers, and loaded when it is used.
                known = {"__main__.py": {"cli"}, "__init__.py": {*FLOORS}}
                allowed = other is None or other in known[file]
            else:
                allowed = other in (None, own) or FLOORS[other] < FLOORS[own]
            assert allowed, f"{file} imports {module}"


def test_every_registered_name_is_there():
    registries = (CLASSIFIERS, INTERVENTIONS, FIGURES, FORMATS)
    for registry in registries:
        for name, entry in registry.items():
            assert callable(entry.load()), f"{registry.name} {name}"
    assert (set(TABLES), set(FIGURES)) == (set(outputs.TABLES), set(outputs.FIGURES))
    frames = [name for part in PARTS for name in part.frames]
    assert len({part.key for part in PARTS}) == len(PARTS)
    assert len(set(frames)) == len(frames)


@cache
def path_of(module: str) -> str | None:
    """Return the file of one of our modules; None for anything else."""
    parts = "/".join(module.split(".")[1:])
    known = [file for file in (f"{parts}.py", f"{parts}/__init__.py") if file in FILES]
    return known[0] if known and module.startswith("fairbench_cli.") else None


def imported_files(file: str) -> set[str]:
    """Return the files of the package that a file imports, at the top, in a function or for types alone."""
    found = set()
    for node in nodes(file):
        if isinstance(node, ast.Import):
            found |= {path_of(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = str(node.module)
            found |= {path_of(f"{module}.{alias.name}") or path_of(module) for alias in node.names}
    return {path for path in found if path is not None}


def named_files(file: str) -> set[str]:
    """Return the files of the package that a file names in texts, to be loaded when they are used.

    Such a text is a whole module, or ``module:name``: below the package, the file's own folder, or a folder
    that other texts of the file name.
    """
    said = {id(node.value) for node in nodes(file) if isinstance(node, ast.Expr)}  # docstrings
    texts = {
        node.value
        for node in nodes(file)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said
    }
    modules = {text.rstrip(".") for text in texts if re.fullmatch(r"fairbench_cli[\w.]*", text)}
    modules |= {f"{module}{text}" for module in modules for text in texts if re.fullmatch(r"(\.\w+)+", text)}
    own = ".".join(("fairbench_cli", *Path(file).parts[:-1]))
    named = {text.partition(":")[0] for text in texts if re.fullmatch(r"[\w.]+(:[A-Za-z_]\w*)+", text)}
    found = {path_of(f"{below}.{name}") for below in {"fairbench_cli", own, *modules} for name in named}
    found |= {path_of(module) for module in modules | named if f"{module}.__init__" not in PACKAGES}
    return {path for path in found if path not in (None, file)}


@cache
def arrows() -> dict[str, set[str]]:
    """Return which files each file needs, whether it imports or names them.

    What `import fairbench_cli` gives is named there, and loaded when somebody uses it: no need of that file.
    """
    return {
        file: imported_files(file) | (set() if file == "__init__.py" else named_files(file)) for file in FILES
    }


# Places within a room, each of which may use those on its right: rooms, files, and "" for the other files.
WITHIN = {
    "audit": ("", "show", "parts", "compare", "scan", "options.py", "config.py", "margins.py", "metrics.py"),
    "experiment": ("cluster.py", "running", "journal", "", "config"),
    "network": ("mechanisms", ""),
    "report": ("", "parts", "show", "ledger"),
}


def place_within(file: str) -> str:
    """Return where in its room a file is."""
    room, *inner = Path(file).parts
    first = inner[0] if inner else ""
    return first if len(inner) > 1 or first in WITHIN.get(room, ()) else ""


def test_arrows_point_one_way_also_within_rooms_and_in_texts():
    for file, used in arrows().items():
        room = Path(file).parts[0]
        for other in used if "/" in file else ():
            its = Path(other).parts[0]
            if its == room:
                order = WITHIN.get(room, ())
                own, there = place_within(file), place_within(other)
                right = not {own, there} <= set(order) or order.index(own) <= order.index(there)
            else:
                right = "/" not in other or FLOORS[its] < FLOORS[room]
            assert right, f"{file} uses {other}"
            assert file.startswith("cli/") or not other.startswith("cli/"), f"{file} uses {other}"


def test_the_places_within_rooms_are_all_known():
    for room, order in WITHIN.items():
        found = {Path(file).parts[1] for file in FILES if file.startswith(f"{room}/") and file.count("/") > 1}
        assert found <= set(order), room


def test_files_need_each_other_without_a_circle():
    assert list(TopologicalSorter(arrows()).static_order())  # raises CycleError and names the circle


def test_texts_that_name_modules_are_seen():
    assert named_files("interventions/registry.py") >= {
        "interventions/preprocessing.py",
        "interventions/repair.py",
    }
    assert "report/show/figures/acceptance.py" in named_files("report/parts/sweep.py")
    assert "experiment/plan.py" not in named_files("interventions/registry.py")


def test_a_class_name_means_one_thing():
    defined: dict[str, list[str]] = {}
    for file in FILES:
        for node in nodes(file):
            if isinstance(node, ast.ClassDef):
                defined.setdefault(node.name, []).append(file)
    assert {name: files for name, files in defined.items() if len(files) > 1} == {}


DOCUMENTED = {"_exit", "_replace", "_asdict", "_fields"}
# What scikit-learn and fairlearn ask of estimators, or show in no other way.
BORROWED = {"_check_sample_weight", "_validate_params", "_more_tags", "_pmf_predict"}


def own_private_names() -> set[str]:
    """Return the names with an underscore that the package itself defines."""
    found = set()
    for file in FILES:
        for node in nodes(file):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return {name for name in found if name.startswith("_")}


def names_of_others(file: str) -> Iterator[tuple[int, str]]:
    """Yield every name that a file reads of an object or imports from a library, with its line."""
    for node in nodes(file):
        if isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom) and not str(node.module).startswith("fairbench_cli"):
            yield from ((node.lineno, part) for part in str(node.module).split("."))
            yield from ((node.lineno, alias.name) for alias in node.names)


def test_nothing_private_of_a_library_is_used():
    allowed = own_private_names() | DOCUMENTED | BORROWED
    for file in FILES:
        for line, name in names_of_others(file):
            private = name.startswith("_") and not name.startswith("__")
            assert not private or name in allowed, f"{file}:{line} uses {name}"
            assert name != "externals", f"{file}:{line} reaches into another library's copy"


def test_measures_stand_alone():
    # scikit-learn only when called: see the test after the next.
    known = {*sys.stdlib_module_names, "numpy", "scipy", "pandas", "sklearn"}
    compiled = "fairbench_cli.base.compiled_files"
    for file in FILES:
        for module, _ in imports(file) if file.startswith("measures/") else ():
            is_ours = module.startswith(("fairbench_cli.measures", compiled))
            assert module.split(".")[0] in known or is_ours, module


# Scikit-learn estimators themselves; imported alone where they are built, when they are.
ESTIMATORS = ("api/technique.py", "classifiers/c45/", "interventions/matrix_classifier.py")

ONLY_IN = {
    "joblib": "experiment/running/pool.py",
    "distributed": "experiment/cluster.py",
    "typer": "cli/",
    "rich": "cli/",
    "pomegranate": "network/pomegranate.py",
    "torch": "network/pomegranate.py",
    "matplotlib": ("report/show/figures/", "papers/friedler_figures.py"),
}


def test_libraries_stay_in_their_rooms():
    for file in FILES:
        for module, top in imports(file):
            library = module.split(".")[0]
            if library in ONLY_IN:
                assert file.startswith(ONLY_IN[library]), f"{file} imports {module}"
            if library in ("torch", "pomegranate", "sklearn", "numba") and not file.startswith(ESTIMATORS):
                assert not top, f"{file} loads {module} on import"


LOADS_AT_MOST = {  # modules of ours that a command adds to those before it
    "--help": 40,
    "audit": 67,
    "list": 14,
    "docs": 0,
}
LOADS_NOT = {  # what it has no need of, by its first module
    "--help": {"numpy", "pandas", "pydantic", "duckdb", "yaml", "rich.markdown", "pygments", "secrets"},
    "audit": {
        *("pandas", "scipy", "pyarrow", "jinja2", "sqlalchemy", "weasyprint", "sqlite3", "yaml"),
        *("numpy.ma", "numpy.random", "rich.progress"),
        *(f"fairbench_cli.audit.{name}" for name in ("planning", "compare.numbers", "compare.streams")),
        *(
            f"fairbench_cli.measures.{name}"
            for name in ("registry", "clusters", "sequential", "means", "splits")
        ),
        "fairbench_cli.document.html",
    },
    "list": {
        *("pandas", "scipy", "yaml", "fairbench_cli.data.card", "fairbench_cli.experiment.config.config"),
        *("fairbench_cli.interventions.repair", "fairbench_cli.network.world"),
    },
}


def test_commands_load_what_they_need(finished, tmp_path):
    config = write_config(tmp_path / "small.yaml")
    rows = tmp_path / "rows.csv"
    rows.write_text("score,label,sex\n" + "1,1,f\n0,0,f\n1,0,m\n1,1,m\n" * 40)
    commands: tuple[list[str | Path], ...] = (
        ["--help"],
        ["audit", rows],
        ["list"],
        ["docs"],
        ["data", "list"],
        ["plan", config],
        ["report", finished.folder],
        ["network", "show", "adult"],
    )
    after = modules_after(*commands, cwd=tmp_path)  # one process: what one has loaded, it has for the next
    assert "typer" in after[0]
    assert "pandas" not in after[commands.index(["plan", config])]
    before: set[str] = set()
    for (command, *_), loaded in zip(commands, after, strict=True):
        assert not HEAVY & loaded, command
        assert not LOADS_NOT.get(str(command), set()) & loaded, command
        added = {name for name in loaded - before if name.startswith("fairbench_cli")}
        assert len(added) <= LOADS_AT_MOST.get(str(command), len(added)), (command, sorted(added))
        before = loaded
    parts = {name for name in after[1] if name.startswith("fairbench_cli.audit.parts.")}
    assert parts == {
        f"fairbench_cli.audit.parts.{name}" for name in ("allowed", "findings", "formatting", "part", "rates")
    }


def test_workers_of_c45_and_of_the_papers_techniques_load_no_heavy_library():
    techniques = ["none", "massaging", "reweighing", "uniform-sampling", "preferential-sampling", "repair"]
    warm = "from fairbench_cli.experiment.running.server import warm_up"
    (loaded,) = loaded_by(f"{warm}\nwarm_up(['c45', 'naive-bayes'], {techniques})")
    assert "numba" in loaded
    assert not (HEAVY - {"numba"} | {"pandas"}) & loaded


# -- plain code


def is_truth_value(node: ast.expr) -> bool:
    """Return whether an expression is a comparison, a logical operation or a call of bool."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "bool"
    return isinstance(node, ast.Compare | ast.BoolOp) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )


def is_list_or_text(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    return isinstance(node, ast.List | ast.Tuple | ast.JoinedStr)


def test_no_list_or_text_is_multiplied_by_a_truth_value():
    """An `if` says the same, and a reader need not work it out."""
    multiplied = []
    for file in FILES:
        for node in nodes(file):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
                for factor, other in ((node.left, node.right), (node.right, node.left)):
                    if is_list_or_text(factor) and is_truth_value(other):
                        multiplied.append(f"{file}:{node.lineno}")
    assert multiplied == []


def test_docstrings_name_the_thing_that_is_returned():
    riddles = [
        f"{file}:{node.lineno}"
        for file in FILES
        for node in nodes(file)
        if isinstance(node, ast.FunctionDef) and (ast.get_docstring(node) or "").startswith("Return what")
    ]
    assert riddles == []
