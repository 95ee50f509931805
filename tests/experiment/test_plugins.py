"""A user's own code, named in a config: found, checked, part of the key, and run only where it was named."""

import json
import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import yaml
from conftest import derived, journal_lines, write_config

from fairbench_cli.base.errors import UserError
from fairbench_cli.base.plugins import (
    CodeOrigin,
    SourceChanged,
    digest_sources,
    find_clashes,
    find_code,
    imported_roots,
    read_sources,
)
from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.experiment.plan import make_cells, read_plan

MINE = '''
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fairbench_cli.interventions.fitted import Fitted


@dataclass(frozen=True)
class Doing:
    """Do nothing, in some way."""

    way: Literal["a", "b"] = "a"
    share: Annotated[float, Field(ge=0, le=1)] = 0.5

    def fit(self, train, classifier, rng):
        return Fitted(classifier.fit(train), facts={"drawn": float(rng.random())})


class Plain:
    def __init__(self, size: int, names: list[str] | None = None, more=None):
        self.facts = {"size": size, "names": len(names or ())}

    def fit(self, train, classifier, rng):
        return Fitted(classifier.fit(train), facts=self.facts)


class Refusing:
    def __init__(self, low=0, high=1):
        if low > high:
            raise ValueError("low must be below high")

    def fit(self, train, classifier, rng):
        return Fitted(classifier.fit(train))


def doing(way="b"):
    return Doing(way)


def tree(depth: int = 2):
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=depth)


def number(depth: int = 2):
    return depth


class Neither:
    """Nothing at all."""


class Estimator:
    def __init__(self, random_state):
        self.random_state = random_state

    def fit(self, X, y):
        self.rows = len(X)

    def predict(self, X):
        return np.zeros(len(X))


constant = 3
'''


@pytest.fixture
def mine(tmp_path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def config(folder: Path, **changes) -> Path:
    return write_config(
        folder / "mine.yaml", **({"classifiers": ["tree"], "interventions": ["none"]} | changes)
    )


def cells_of(path: Path):
    from fairbench_cli.experiment.datasets import prepare_datasets

    given = read_config(path)
    return make_cells(given, prepare_datasets(given, None))


def problems_of(path: Path) -> list[str]:
    with pytest.raises(UserError) as raised:
        read_config(path)
    return [str(problem).replace(f"{path.parent}/", "") for problem in raised.value.problems]


def test_parameters_are_the_dataclasss_own_multiplied_out_and_spelled_out(tmp_path, mine):
    path = config(
        tmp_path, interventions=[{"./mine.py:Doing": {"way": ["b", "a"], "include_protected": True}}]
    )
    (first, second) = read_config(path).interventions
    assert first.spec.name == "mine.py:Doing"
    assert first.spec.parameters == (("share", 0.5), ("way", "b"))
    assert (str(second.spec), second.include_protected) == ("mine.py:Doing(share=0.5, way=a)", True)


def test_parameters_of_a_class_are_those_given_and_a_list_in_a_list_is_one_value(tmp_path, mine):
    given = {"size": [1, 2], "names": [["x", "y"]], "more": {"deep": [1]}}
    path = config(tmp_path, interventions=[{"mine.py:Plain": given}])
    first, second = (technique.spec for technique in read_config(path).interventions)
    assert dict(first.parameters) == {"size": 1, "names": ["x", "y"], "more": {"deep": [1]}}
    assert first.to_config() == {f"{mine}:Plain": {"more": {"deep": [1]}, "names": [["x", "y"]], "size": 1}}
    again = tmp_path / "elsewhere/again.yaml"
    again.parent.mkdir()
    again.write_text(read_config(path).as_yaml())
    assert read_config(again) == read_config(path)
    assert dict(second.parameters)["size"] == 2


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("./other.py:Doing", "cannot read other.py: No such file or directory\n  fix: correct the path"),
        ("./mine.py", "./mine.py does not say which class or function\n  fix: write ./mine.py:NAME"),
        ("./mine.py:Doin", 'mine.py has no class or function "Doin"\n  fix: did you mean "Doing"?'),
        ("./mine.py:constant", "mine.py:constant is no class, function or estimator"),
        ("./mine.py:Neither", "mine.py:Neither is neither a technique, with fit(train, classifier, rng)"),
        (
            "./mine.py:Estimator",
            "mine.py:Estimator is a classifier, not a technique\n  fix: name it und",
        ),
        ("./mine.py:number", "mine.py:number returned int, which is neither a technique"),
        (
            "./mine.py:Plain",
            'mine.py:Plain needs the parameter "size"\n  fix: give it a value: ./mine.py:Plain: {size:',
        ),
        ({"./mine.py:Plain": {"size": 0.5}}, "mine.py:Plain: size must be a whole number, not 0.5"),
        (
            {"./mine.py:Plain": {"size": 1, "name": 1}},
            'Plain has no parameter "name"\n  fix: did you mean "na',
        ),
        ({"./mine.py:Plain": {"size": 1, "names": ["x"]}}, 'mine.py:Plain: names must be a list, not "x"'),
        ({"./mine.py:Doing": {"way": "c"}}, 'mine.py:Doing: way has the unknown value "c"'),
        ({"./mine.py:Doing": {"share": [0, 2]}}, "mine.py:Doing: share must be at most 1, not 2"),
        ({"./mine.py:Refusing": {"low": 3}}, "mine.py:Refusing: low must be below high"),
        ("./nothing.there:Thing", "./nothing.there:Thing names neither a file of Python nor a module"),
        ("nowhere:Thing", "the package nowhere is not installed\n  fix: correct the name, or write the path"),
        ("sklearn.ensembel:Thing", 'sklearn has no module "ensembel"\n  fix: did you mean "ensemble"?'),
        ("sklearn.svm:SVCC", 'sklearn.svm has no class or function "SVCC"\n  fix: did you mean "SVC"?'),
        ("masaging", 'unknown intervention "masaging"\n  fix: did you mean "massaging"?'),
    ],
)
def test_what_is_wrong_with_a_technique(tmp_path, mine, entry, message):
    (problem,) = problems_of(config(tmp_path, interventions=[entry]))
    assert re.match(r"mine.yaml:\d+: error: ", problem)
    assert message in problem


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("./mine.py:Doing", "mine.py:Doing is a technique, not a classifier\n  fix: name it under `interv"),
        ("./mine.py:Neither", "mine.py:Neither is not a classifier: it has no fit(X, y) and predict(X)"),
        (
            "./mine.py:number",
            "mine.py:number returned int, which is not a classifier: it has no fit(X, y) and predict(X)",
        ),
        (
            {"./mine.py:tree": {"dept": 1}},
            'mine.py:tree has no parameter "dept"\n  fix: did you mean "depth"?',
        ),
        ({"./mine.py:tree": {"depth": "x"}}, 'mine.py:tree: depth must be a whole number, not "x"'),
        ({"./mine.py:tree": {"encoding": "x"}}, 'mine.py:tree: encoding has the unknown value "x"'),
        (
            {"./mine.py:tree": {"depth": 0}},
            "mine.py:tree: The 'max_depth' parameter of DecisionTreeClassifier",
        ),
        (
            {"sklearn.tree:DecisionTreeClassifier": {"max_depth": 0}},
            "must be an int in the range [1, inf) or N",
        ),
        (
            {"sklearn.tree:DecisionTreeClassifier": {"depth": 0}},
            'no parameter "depth"\n  fix: did you mean "m',
        ),
    ],
)
def test_what_is_wrong_with_a_classifier(tmp_path, mine, entry, message):
    (problem,) = problems_of(config(tmp_path, classifiers=[entry]))
    assert message in problem


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            "import os\n\n\nraise RuntimeError('two\\nlines')",
            "mine.py:4: RuntimeError: two lines\n  fix: corr",
        ),
        ("x = 1\ny = = 2", "mine.py:2: SyntaxError: invalid syntax\n  fix: correct that line"),
        (
            "import nowhere.at.all",
            "ModuleNotFoundError: No module named 'nowhere'\n  fix: put nowhere.py into ",
        ),
        ("exit(3)", "mine.py:1: SystemExit: 3"),
        ("import json\njson.loads('x')", "mine.py:2: JSONDecodeError: Expecting value"),
    ],
)
def test_a_file_that_cannot_be_imported_is_two_lines_with_the_line_of_the_exception(
    tmp_path, say, code, words
):
    (tmp_path / "mine.py").write_text(code)
    done = say("plan", config(tmp_path, interventions=["./mine.py:Thing"], seed="x"))
    assert done.code == 2
    assert len(done.err.splitlines()) == 4  # and the other mistake of the config
    assert words in done.err
    assert "Traceback" not in done.err


def test_two_files_of_one_name_are_refused(tmp_path, mine):
    (tmp_path / "b").mkdir()
    (tmp_path / "b/mine.py").write_text(MINE)
    entries = ["./mine.py:Doing", {"b/mine.py:Doing": {"way": "b"}}]
    (problem,) = problems_of(config(tmp_path, interventions=entries))
    assert "mine.py:Doing is in two files of one name\n  fix: rename one of the files" in problem
    (problem,) = problems_of(config(tmp_path, interventions=["mine.py:Doing", "./b/../mine.py:Doing"]))
    assert "intervention mine.py:Doing(share=0.5, way=a) is listed twice" in problem


def test_the_key_is_of_the_code_and_not_of_its_path_and_seeds_are_of_the_name(tmp_path, mine):
    both = {"interventions": ["none", "./mine.py:Doing"], "classifiers": ["tree", "./mine.py:tree"]}
    before = cells_of(config(tmp_path, **both))
    (tmp_path / "moved").mkdir()
    (tmp_path / "moved/mine.py").write_text(MINE)
    moved = cells_of(config(tmp_path / "moved", **both))
    assert [cell.key for cell in moved] == [cell.key for cell in before]
    mine.write_text(MINE + "\n# edited")
    after = cells_of(config(tmp_path, **both))
    own = ["mine.py" in cell.technique.spec.name + cell.classifier.name for cell in before]
    assert own.count(False) == 2
    assert [a.key != b.key for a, b in zip(before, after, strict=True)] == own
    assert [c.technique_seed(1) for c in before] == [c.technique_seed(1) for c in after]
    assert [c.classifier_seed(1) for c in before] == [c.classifier_seed(1) for c in after]


def test_the_version_of_a_package_is_in_the_key(tmp_path, monkeypatch):
    import sklearn

    (cell, *_) = cells_of(config(tmp_path, classifiers=["sklearn.tree:DecisionTreeClassifier"]))
    assert cell.classifier.decisive == [
        "sklearn.tree:DecisionTreeClassifier",
        {},
        f"scikit-learn {sklearn.__version__}",
    ]


def test_modules_next_to_a_file_can_be_imported_and_are_part_of_it(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("import os\nfrom pack.inner import Thing\n")
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack/__init__.py").write_text("")
    (tmp_path / "pack/inner.py").write_text("from . import other\nclass Thing:\n    number = other.number\n")
    (tmp_path / "pack/other.py").write_text("number = 1\n")
    (tmp_path / "os.py").write_text("raise RuntimeError")  # the standard library's name: not ours
    names = list(read_sources(tmp_path / "mine.py", tmp_path))
    assert names == ["mine.py", "pack/__init__.py", "pack/inner.py", "pack/other.py"]
    path = list(sys.path)
    first = find_code("./mine.py:Thing", "", tmp_path)
    assert first.load().number == 1
    (tmp_path / "pack/other.py").write_text("number = 2\n")
    second = find_code("./mine.py:Thing", "", tmp_path)
    assert second.load().number == 2
    assert first.version != second.version
    assert sys.path == [*path, str(tmp_path)]
    sys.path.remove(str(tmp_path))


def test_what_a_function_imports_when_it_runs_is_next_to_its_file(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    for n, folder in enumerate("ab"):
        (tmp_path / folder / "spaced").mkdir(parents=True)
        text = "def thing():\n    from later import n\n    from spaced import inner\n    return n, inner.n\n"
        (tmp_path / folder / f"{folder}.py").write_text(text)
        for name in ("later.py", "spaced/inner.py"):
            (tmp_path / folder / name).write_text(f"n = {n}\n")
    found = [find_code(f"./{folder}/{folder}.py:thing", "", tmp_path) for folder in "ab"]
    assert [found[n].load()() for n in (0, 1, 0)] == [(0, 0), (1, 1), (0, 0)]
    # In one run both would be needed at a time.
    problems = find_clashes([one.path for one in found])
    assert [problem.fix for problem in problems] == ["rename one of them"] * 2
    assert find_clashes([found[0].path] * 2) == []


def test_a_config_whose_files_import_different_modules_of_one_name_is_refused(tmp_path):
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{folder}.py").write_text(f"import helping\n{MINE}")
        (tmp_path / folder / "helping.py").write_text(f"name = {folder!r}\n")
    path = config(tmp_path, interventions=["./a/a.py:Doing", "./b/b.py:Doing"])
    with pytest.raises(UserError, match=r"helping\.py are imported by one name\n  fix: rename one of them"):
        read_config(path)


def test_a_file_next_to_our_own_package_does_not_import_it_anew(tmp_path):
    (tmp_path / "fairbench_cli").mkdir()
    (tmp_path / "fairbench_cli/__init__.py").write_text("")
    (tmp_path / "mine.py").write_text("from fairbench_cli.base import errors\n")
    assert list(read_sources(tmp_path / "mine.py", tmp_path)) == ["mine.py"]


def test_a_worker_runs_no_other_code_than_was_planned(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("class Thing: pass")
    planned = CodeOrigin(f"{path}:Thing", f"sha256:{digest_sources({'mine.py': b'class Other: pass'})}")
    with pytest.raises(SourceChanged, match=r"^mine.py has changed since the run began: run it again$"):
        planned.load()


class Package:
    name, version = "their-package", "1.2"


def test_an_entry_point_is_known_by_its_name(tmp_path, mine, monkeypatch):
    (tmp_path / "theirs.py").write_text(MINE)
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("their-technique", "theirs:Doing", "fairbench.interventions")
    object.__setattr__(point, "__dict__", point.__dict__ | {"dist": Package})
    monkeypatch.setattr(
        "fairbench_cli.base.plugins.entry_points", lambda group: [point][: group == point.group]
    )
    (one,) = read_config(config(tmp_path, interventions=["their-technique"])).interventions
    assert one.spec.decisive == ["their-technique", {"share": 0.5, "way": "a"}, "their-package 1.2"]
    ours = {"include_protected": False, "representation": "original"}
    assert one.to_config() == {"their-technique": {"share": 0.5, "way": "a", **ours}}
    (problem,) = problems_of(config(tmp_path, interventions=["their-tecnique"]))
    assert 'did you mean "their-technique"?' in problem


def test_a_module_outside_packages_is_known_by_its_source(tmp_path, monkeypatch):
    (tmp_path / "lonely.py").write_text("class Thing: pass")
    monkeypatch.syspath_prepend(tmp_path)
    found = find_code("lonely:Thing", "", Path())
    assert found.version == f"sha256:{digest_sources(read_sources(tmp_path / 'lonely.py', tmp_path))}"
    (tmp_path / "lonely.py").write_text("class Thing: other = 1")
    with pytest.raises(SourceChanged):
        found.load()


def test_a_run_its_resumption_after_an_edit_and_its_report(tmp_path, mine, say):
    names = {
        "interventions": ["none", "./mine.py:Doing", {"./mine.py:Plain": {"size": 3}}, "./mine.py:doing"],
        "classifiers": ["tree", "sklearn.svm:SVC", {"./mine.py:tree": {"encoding": "codes"}}],
        "datasets": [
            {"compas": {"classifiers": ["tree", "sklearn.svm:SVC"]}},
            {"compas": {"as": "two", "classifiers": ["./mine.py:tree"], "interventions": ["none"]}},
        ],
        "sample": {"from": "shipped", "beta": [0.5], "size": 300},
        "repeats": 1,
    }
    path = config(tmp_path, **names)
    assert say("run", path, "-o", "out", "-j", "1", "-q").code == 0
    text = (tmp_path / "out/results.csv").read_text()
    assert "mine.py:Doing" in text
    assert str(tmp_path) not in text
    facts = [json.loads(line)["facts"] for line in journal_lines(tmp_path / "out")]
    assert {"size": 3, "names": 0} in facts

    # Its config runs as it is, from anywhere, to the same bytes in other processes.
    assert say("run", tmp_path / "out/config.yaml", "-o", "again", "-j", "2", "-q").code == 0
    assert derived(tmp_path / "again") == derived(tmp_path / "out")

    # An edit: its cells alone are to do again; a report runs no code at all.
    mine.write_text(MINE.replace("Do nothing", "Do nothing more"))
    assert "9 cells × 1 repeats = 9: 2 done, 7 to do" in say("plan", path, "-o", "out").out
    mine.write_text("raise RuntimeError('nobody named this')")
    before = derived(tmp_path / "out")
    assert say("report", "out").code == 0
    assert derived(tmp_path / "out") == before
    plan = read_plan(tmp_path / "out")
    assert [technique.spec.name for technique in plan.config.interventions][1:3] == [
        "mine.py:Doing",
        "mine.py:Plain",
    ]
    assert plan.config.to_config() == yaml.safe_load((tmp_path / "out/config.yaml").read_text())


def test_the_flag_only_takes_the_name_that_results_have(tmp_path, mine, say):
    path = config(tmp_path, interventions=["none", "./mine.py:Doing"])
    done = say("plan", path, "--only", "intervention=mine.py:Doing")
    assert "2 cells × 2 repeats" in done.out


def test_what_a_file_and_its_neighbours_import_is_known_by_its_roots(tmp_path):
    (tmp_path / "mine.py").write_text("import numpy.linalg\nfrom other import thing\n")
    (tmp_path / "other.py").write_text("from sklearn.tree import DecisionTreeClassifier as thing\n")
    assert imported_roots(tmp_path / "mine.py") == {"numpy", "other", "sklearn"}
