"""Try a technique or a classifier on small samples, as a run and its unusual repeats would.

``fairbench check`` prints what comes out. Samples are drawn from the shipped networks of compas and adult.
"""

import hashlib
import inspect
import json
import os
import pickle
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from fairbench_cli.base import plugins
from fairbench_cli.base.errors import Problem, UserError
from fairbench_cli.base.registry import Registry
from fairbench_cli.base.safe_text import printable
from fairbench_cli.base.validation import to_findings
from fairbench_cli.classifiers.builders import Tree
from fairbench_cli.classifiers.fit import Classifier, Infeasible
from fairbench_cli.classifiers.outputs import WrongOutput
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.classifiers.shapes import COLUMNS
from fairbench_cli.data.card import find_card, read_card, shipped_network
from fairbench_cli.data.locate import find_files
from fairbench_cli.data.roles import resolve_roles
from fairbench_cli.data.table import Representation, Sample, represent, to_sample
from fairbench_cli.experiment.config import components
from fairbench_cli.interventions.baselines import NoIntervention
from fairbench_cli.interventions.fitted import Fitted, check_fitted
from fairbench_cli.interventions.foreign import TransformedModel
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.network.draw import sample
from fairbench_cli.network.files import load as load_network

TRAIN = 400
TEST = 300
SEED = 2026
NETWORKS = ("compas", "adult")
PLAIN = "none"  # the technique that changes nothing


@dataclass(frozen=True)
class TrialResult:
    """One thing that was tried.

    Parameters
    ----------
    title : str
        What should hold.
    mend : str
        What is wrong, and how to mend it; empty where it holds.
    printed : tuple of str
        The lines that were printed meanwhile, each once.
    warned : tuple of str
        The warnings that a run would keep, each once.
    """

    title: str
    mend: str = ""
    printed: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()


Reply = tuple[str, bytes]
"""What a fit led to: why it was infeasible, empty if it was not; and all that it says of the test rows."""


class Misbehaviour(Exception):  # noqa: N818 - becomes the text of a finding
    """Something that a run would not accept, in a sentence that says what to mend."""


@dataclass(frozen=True)
class Trial:
    """A technique or a classifier to be tried.

    Parameters
    ----------
    kind : Registry
        Which of the two it is.
    spec : ComponentSpec
        With its parameters.
    include_protected : bool
        Whether the classifier sees the protected attribute.
    representation : {"original", "numerical", "numerical-binary"}
        How it gets the features.
    sources : tuple of str
        Where rows are drawn from: names of shipped networks, or a card.
    """

    kind: Registry
    spec: components.ComponentSpec
    include_protected: bool = False
    representation: Representation = "original"
    sources: tuple[str, ...] = NETWORKS

    def samples(self, source: str = "") -> tuple[Sample, Sample]:
        """Return training and test rows, by default of the first source."""
        return draw(source or self.sources[0], TRAIN, 1), draw(source or self.sources[0], TEST, 2)

    def findings(self) -> list[TrialResult]:
        """Try everything, in the order of `TRIALS`; nothing more where it does not run at all."""
        results: list[TrialResult] = []
        for title, trial in TRIALS.items():
            if len(results) == 1 and results[0].mend:
                break
            with captured() as printed, warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("ignore")
                for warning_kind in (UserWarning, RuntimeWarning):  # as in a run
                    warnings.simplefilter("always", warning_kind)
                try:
                    trial(self)
                    mend = ""
                except Misbehaviour as wrong:
                    mend = str(wrong)
                except (Exception, SystemExit) as error:
                    mend = self._with_line(title, error)
            warning_texts = (f"{warning.category.__name__}: {warning.message}" for warning in warned)
            results.append(TrialResult(title, mend, tuple(printed), _each_once(warning_texts)))
        return results

    def remark(self) -> str:
        """Return that somebody's technique decides on every row as the model without one; else empty."""
        if self.kind is CLASSIFIERS or self.spec.origin is None:
            return ""
        without = replace(self, spec=components.ComponentSpec(PLAIN))
        tried = []
        with captured(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for source in self.sources:
                rows = self.samples(source)
                try:
                    reply = self.ask(*rows)
                    changes = self._changes_features(*rows)
                    plain_reply = without.ask(*rows)
                except (Exception, SystemExit):  # another trial says so
                    return ""
                if reply[0]:
                    continue
                tried.append(source)
                # Decisions come first, scores behind them; a model need not hand its scores on.
                if not plain_reply[1].startswith(reply[1]) if changes is None else changes:
                    return ""
        if not tried:
            return ""
        rows_tried = f"every row of {' and '.join(tried)}"
        if changes is not None:
            return (
                f"It changes nothing: {rows_tried} comes out as it went in. Look at what transform returns."
            )
        return (
            f"It changes nothing: on {rows_tried} it decides as the model without a "
            "technique. Look at what fit hands to the classifier, or to the model that it returns."
        )

    def _changes_features(self, train: Sample, test: Sample) -> bool | None:
        """Return whether a pre-processor changes the features; None of what is none."""
        train, test = (represent(rows, self.representation, _favoured(rows)) for rows in (train, test))
        model = self.fit(train).model
        return model.changes(test) if isinstance(model, TransformedModel) else None

    def _with_line(self, title: str, error: BaseException) -> str:
        """Say what was raised, and where: the last line of its own file if it has one; and how to mend it."""
        path = None if self.spec.origin is None else self.spec.origin.path
        spot = plugins.spot_in(error, path)
        where = f" ({Path(spot).name})" if spot else ""
        problem = f"It raises {type(error).__name__}: {error}{where}."
        if isinstance(error, ModuleNotFoundError) and error.name:
            return f"{problem} To mend it: {plugins.how_to_get(error.name, path.parent if path else '')}."
        if "read-only" in str(error):
            return f"{problem} The rows are shared with other techniques: change a copy, train.y.copy()."
        if isinstance(error, SystemExit):
            return f"{problem} Raise an exception that says what is wrong, or Infeasible(reason)."
        if COLUMNS in str(error) and self.sources == NETWORKS:
            return f"{problem} Those are other people's columns: try it with yours, --data CARD."
        if title == RUNS:
            mend = "Correct that line" if path and spot else "Correct its parameters, or what it is made of"
            return f"{problem} {mend}, or raise Infeasible(reason) where it cannot run on such rows."
        return f"{problem} Such rows come up in a run: handle them, or raise Infeasible(reason)."

    def fit(self, train: Sample) -> Fitted:
        """Fit to a training sample as a repeat does, always with the same seeds."""
        chosen = component = self.spec.build(self.kind)
        if self.kind is CLASSIFIERS:
            component = NoIntervention()
        else:
            chosen = Tree()
        classifier = Classifier(chosen, self.include_protected, seed=SEED)
        return check_fitted(component.fit(train, classifier, np.random.default_rng(SEED)))

    def ask(self, train: Sample, test: Sample, *, copied: bool = True) -> Reply:
        """Fit and predict, on copies of the rows; all that comes out is checked as in a run."""
        if copied:
            train, test = deepcopy((train, test))
        train, test = (represent(rows, self.representation, _favoured(rows)) for rows in (train, test))
        try:
            fitted = self.fit(train)
            outputs = fitted.predict(test), fitted.scores(test), fitted.decision_probability(test)
        except Infeasible as reason:
            return str(reason), b""
        except WrongOutput as wrong:
            raise Misbehaviour(f"{wrong}.") from None
        return "", b"".join(
            np.ascontiguousarray(output).tobytes() for output in outputs if output is not None
        )


def _favoured(rows: Sample) -> dict[str, set[str]]:
    """Return the levels of the protected attribute that the favoured rows have."""
    name = rows.attribute
    levels = next(column.levels for column in rows.features.columns if column.name == name)
    return {name: {levels[code] for code in np.unique(rows.features[name][rows.s == 1])}}


@contextmanager
def captured() -> Iterator[list[str]]:
    """Keep what a block prints, compiled code too, from the terminal; its lines are in the list at the end.

    Each line is there once.
    """
    lines: list[str] = []
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    with tempfile.TemporaryFile("w+", 1, encoding="utf-8", errors="replace") as file:
        saved_handles = {number: os.dup(number) for number in (1, 2)}
        try:
            for number in saved_handles:
                os.dup2(file.fileno(), number)
            with redirect_stdout(file), redirect_stderr(file):
                yield lines
        finally:
            file.flush()
            for number, before in saved_handles.items():
                os.dup2(before, number)
                os.close(before)
            file.seek(0)
            lines += _each_once(line.rstrip() for line in file if line.strip())


def _each_once(lines: Iterator[str]) -> tuple[str, ...]:
    """Return lines in their order, each once."""
    return tuple(dict.fromkeys(map(printable, lines)))


@cache
def draw(source: str, rows: int, seed: int) -> Sample:
    """Return rows drawn from a shipped network, or from the rows of a card: all where it has fewer."""
    if source not in NETWORKS:
        from fairbench_cli.data.load import load

        card_rows = load(*find_files(source)).sample()
        order = np.random.default_rng(seed).permutation(len(card_rows))
        return card_rows.take(order[:rows])
    card_path = find_card(source)
    card = read_card(card_path)
    net, _ = load_network(shipped_network(card_path))
    levels = {column.name: column.levels for column in net.columns}
    roles = resolve_roles(card, card.attribute(None), net.columns, levels.__getitem__, "network")
    return to_sample(sample(net, rows, seed), roles)


def _runs(trial: Trial) -> None:
    reasons = []
    for source in trial.sources:
        infeasible, _ = trial.ask(*trial.samples(source))
        if not infeasible:
            return
        reasons.append(infeasible)
    raise Misbehaviour(
        f"It cannot run on {' or '.join(trial.sources)}: {reasons[0]}. Look at when it raises Infeasible: "
        "these are 400 rows with both groups and both outcomes, without weights."
    )


def _deterministic(trial: Trial) -> None:
    if trial.ask(*trial.samples()) != trial.ask(*trial.samples()):
        raise Misbehaviour(
            "Fitted twice with one seed it predicts differently. Draw from the rng that fit is given (of a "
            "classifier: from random_state), never from numpy.random or random."
        )


def _fresh_process(trial: Trial) -> None:
    extra_options: dict[str, Any] = {}
    if trial.kind is not CLASSIFIERS:
        extra_options["include_protected"] = trial.include_protected
        extra_options["representation"] = trial.representation
    entry = trial.spec.to_config(**extra_options)
    text = json.dumps([trial.kind.name, entry, trial.sources])
    code = "import sys; from fairbench_cli.experiment.trial import answer_of; print(answer_of(sys.argv[1]))"
    path = os.pathsep.join(folder for folder in sys.path if folder)
    process = subprocess.run(  # noqa: S603 - this program itself
        [sys.executable, "-P", "-c", code, text],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        reason = f"exit code {process.returncode}"
        if process.stderr.strip():
            reason = process.stderr.strip().splitlines()[-1]
        raise Misbehaviour(
            f"It fails in a new process: {reason}. Keep all that it needs in its file or an installed "
            "package; a run starts it in processes of its own."
        )
    if process.stdout.split()[-1:] != [_digest(trial.ask(*trial.samples()))]:
        raise Misbehaviour(
            "It predicts differently in another process. Look for the order of a set, for hash(), for the "
            "time or the process's number, and for what an earlier fit left behind."
        )


def answer_of(text: str) -> str:
    """Return the digest of what a component, given as JSON, says of the test rows."""
    name, entry, sources = json.loads(text)
    (trial,) = _trials(INTERVENTIONS if name == INTERVENTIONS.name else CLASSIFIERS, entry)
    trial = replace(trial, sources=tuple(sources))
    return _digest(trial.ask(*trial.samples()))


def _digest(answer: Reply) -> str:
    infeasible, decisions = answer
    return hashlib.sha256(infeasible.encode() + decisions).hexdigest()


def _changes_nothing(trial: Trial) -> None:
    train, test = deepcopy(trial.samples())
    for rows in (replace(train, weights=np.ones(len(train))), train):
        before = _bytes(rows), _bytes(test)
        trial.ask(rows, test, copied=False)
        for use, old, new in zip(("training", "test"), before, (_bytes(rows), _bytes(test)), strict=True):
            for name in old:
                if old[name] != new[name]:
                    raise Misbehaviour(f"It changes {name} of the {use} rows. Change a copy: {name}.copy().")


def _bytes(rows: Sample) -> dict[str, bytes]:
    return {
        "features.codes": rows.features.codes.tobytes(),
        "y": rows.y.tobytes(),
        "s": rows.s.tobytes(),
        "weights": rows.row_weights.tobytes(),
    }


def _one_group(trial: Trial) -> None:
    train, test = trial.samples()
    for s in (0, 1):
        trial.ask(train, test.take(np.flatnonzero(test.s == s)))
        trial.ask(train.take(np.flatnonzero(train.s == s)), test)


def _one_outcome(trial: Trial) -> None:
    train, test = trial.samples()
    for y in (0, 1):
        trial.ask(train.take(np.flatnonzero(train.y == y)), test)


def _empty_cell(trial: Trial) -> None:
    train, test = trial.samples()
    for s, y in ((0, 0), (0, 1), (1, 0), (1, 1)):
        trial.ask(train.take(np.flatnonzero((train.s != s) | (train.y != y))), test)


def _weights(trial: Trial) -> None:
    train, test = trial.samples()
    first_answer = trial.ask(train, test)
    heavy = replace(train, weights=np.where(train.y == 1, 0.01, 1.0))
    weighted = trial.ask(heavy, test)
    if not first_answer[0] and weighted == first_answer:
        raise Misbehaviour(
            "Training rows with weights give the same predictions as without. Use train.weights, or raise "
            'Infeasible("takes no weights") where train.weights is not None.'
        )


def _one_row(trial: Trial) -> None:
    train, test = trial.samples()
    for row in (0, len(test) - 1):
        trial.ask(train, test.take(np.array([row])))


def _unseen_level(trial: Trial) -> None:
    train = draw(trial.sources[-1], 2 * TRAIN, 1)
    test = draw(trial.sources[-1], 2 * TEST, 2)
    columns = [c.name for c in train.features.columns if c.name != train.attribute and c.kind == "nominal"]
    name = max(columns, key=lambda column: len(np.unique(train.features[column])))
    level = np.bincount(test.features[name]).argmax()
    trial.ask(train.take(np.flatnonzero(train.features[name] != level)), test)


def _pickles(trial: Trial) -> None:
    try:
        pickle.loads(pickle.dumps(trial.spec.build(trial.kind)))  # noqa: S301 - made a moment ago
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        fix = "Keep plain values in its attributes, no lambdas, open files or locks."
        raise Misbehaviour(f"Pickling fails: {problem}. {fix}") from None


RUNS = "runs, and decides on every row"
TRIALS: dict[str, Callable[[Trial], None]] = {
    RUNS: _runs,
    "same seed, same predictions": _deterministic,
    "the same in a new process": _fresh_process,
    "leaves the rows as they are": _changes_nothing,
    "one group alone": _one_group,
    "one outcome alone": _one_outcome,
    "a group without one of the outcomes": _empty_cell,
    "weights are used, or refused": _weights,
    "a level that was not trained on": _unseen_level,
    "one row to decide on": _one_row,
    "can be pickled": _pickles,
}


def _trials(kind: Registry, entry: Any) -> list[Trial]:
    """Return a trial for each combination of parameters of an entry, relative to this folder.

    Of parameters that are tuned, each candidate is one; those of the classifier are left out.

    Raises
    ------
    UserError
        Listing what is wrong with it.
    """
    extra: dict[str, tuple[Any, list[Any]]] = {}
    if kind is INTERVENTIONS:
        extra = {"include_protected": (bool, [False]), "representation": (Representation, ["original"])}
    try:
        combinations = components.read_entries(kind, [entry], extra, components.ReadContext(Path()))
    except ValidationError as error:
        raise UserError(*(problem for _, problem in to_findings(error))) from None
    trials: dict[str, Trial] = {}
    for spec, extra_options in combinations:
        tune = extra_options.pop("tune", None)
        candidates: list[dict[str, Any]] = [{}]
        if tune is not None:
            candidates = tune.candidates
        for values in candidates:
            trial = Trial(kind, spec.having(components.own_parameters(values), kind), **extra_options)
            trials.setdefault(str(trial), trial)
    return list(trials.values())


def find_components(entry: Any) -> list[Trial]:
    """Return the trials of an entry as a config lists it; the methods of a plug-in say what it is.

    Parameters
    ----------
    entry : str or dict
        A name, or ``{name: {parameter: value or list}}`` of a technique or a classifier. Each combination of
        listed values is a trial.

    Raises
    ------
    UserError
        When it is neither, or listing what is wrong with it.
    """
    name, _ = components.split_name(entry)
    if name is None:
        problem = "that is no entry of a config"
        raise UserError(Problem(problem, "write NAME, or 'NAME: {parameter: value}' in quotes"))
    suggestions: list[str] = []
    for kind in (INTERVENTIONS, CLASSIFIERS):
        if name in kind or name in plugins.entry_points_by_name(kind.group):
            return _trials(kind, entry)
        suggestions += list(kind) + list(plugins.entry_points_by_name(kind.group))
    if not plugins.is_plugin(name) and not name.endswith(".py"):
        problem = f'no technique or classifier is called "{name}"'
        raise UserError(Problem(problem, plugins.suggest_name(name, suggestions)))
    origin = plugins.find_code(name, "", Path())
    thing = None
    if origin is not None:
        thing = origin.load()
    if isinstance(thing, type):
        is_classifier = INTERVENTIONS.foreign.fault(thing) and not CLASSIFIERS.foreign.fault(thing)
        return _trials(CLASSIFIERS if is_classifier else INTERVENTIONS, entry)
    if thing is not None:  # one that has to be given what only a technique is given
        filled = INTERVENTIONS.foreign.filled(thing) - CLASSIFIERS.foreign.filled(thing)
        parameters = inspect.signature(thing).parameters
        if any(parameters[key].default is inspect.Parameter.empty for key in filled & set(parameters)):
            return _trials(INTERVENTIONS, entry)
    try:
        return _trials(CLASSIFIERS, entry)
    except UserError as error:
        if " returned " not in str(error):
            raise
        return _trials(INTERVENTIONS, entry)
