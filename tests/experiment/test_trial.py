"""`fairbench check`: a good technique passes, and each rogue is found out by the trial that is about it."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import plain, two_lines

from fairbench_cli.experiment import trial
from fairbench_cli.experiment.trial import TRIALS, find_components
from fairbench_cli.interventions.fitted import Fitted

RUNS, SEED, PROCESS, ROWS, GROUP, OUTCOME, CELL, WEIGHTS, LEVEL, ROW, PICKLED = TRIALS

ROGUES = '''
import os
import random
import sys
import warnings
from dataclasses import dataclass, replace

import numpy as np

from fairbench_cli.interventions.fitted import Fitted, Infeasible


class Good:
    """Give a share of the refused deprived the favourable label."""

    def __init__(self, share: float = 0.5):
        self.share = share

    def fit(self, train, classifier, rng):
        refused = np.flatnonzero((train.s == 0) & (train.y == 0))
        if not len(refused):
            raise Infeasible("nobody to promote")
        y = train.y.copy()
        y[rng.choice(refused, round(self.share * len(refused)), replace=False)] = 1
        return Fitted(self.wrapped(classifier.fit(replace(train, y=y))))

    def wrapped(self, model):
        return model


class Draws(Good):
    def fit(self, train, classifier, rng):
        return super().fit(train, classifier, np.random.default_rng(random.randrange(2**32)))


class Hashes(Good):
    def fit(self, train, classifier, rng):
        return super().fit(train, classifier, np.random.default_rng(abs(hash("seed"))))


class Leaves(Good):
    def fit(self, train, classifier, rng):
        if any("answer_of" in part for part in sys.orig_argv):  # the new process of a check
            os._exit(3)
        return super().fit(train, classifier, rng)


class Changes(Good):
    def fit(self, train, classifier, rng):
        train.y[:] = train.y[::-1].copy()
        return super().fit(train, classifier, rng)


class ChangesTest(Good):
    def wrapped(self, model):
        class Wrapped:
            def predict(self, sample):
                sample.s[0] = 1 - sample.s[0]
                return model.predict(sample)

        return Wrapped()


class OneGroupOfTest(Good):
    def wrapped(self, model):
        class Wrapped:
            def predict(self, sample):
                if len(sample) > 1:
                    first = {s: np.flatnonzero(sample.s == s)[0] for s in (0, 1)}
                return model.predict(sample)

        return Wrapped()


class OneOutcome(Good):
    def fit(self, train, classifier, rng):
        if len(np.unique(train.y)) < 2:
            raise ZeroDivisionError("of nothing")
        return super().fit(train, classifier, rng)


class EmptyCell(Good):
    def fit(self, train, classifier, rng):
        cells = len(np.unique(2 * train.s + train.y))
        if cells == 3:
            raise KeyError("no such cell")
        return super().fit(train, classifier, rng)


class Unweighted(Good):
    def fit(self, train, classifier, rng):
        return super().fit(replace(train, weights=None), classifier, rng)


class Refuses(Good):
    def fit(self, train, classifier, rng):
        if train.weights is not None:
            raise Infeasible("takes no weights")
        return super().fit(train, classifier, rng)


class Levels(Good):
    def fit(self, train, classifier, rng):
        self.seen = [set(column) for column in train.features.codes.T.tolist()]
        return super().fit(train, classifier, rng)

    def wrapped(self, model):
        seen = self.seen

        class Wrapped:
            def predict(self, sample):
                for own, column in zip(seen, sample.features.codes.T.tolist()):
                    if len(sample) > 500 and set(column) - own:
                        raise ValueError("a new level")
                return model.predict(sample)

        return Wrapped()


class Open(Good):
    def __init__(self):
        super().__init__()
        self.function = lambda: None


class Raises(Good):
    def fit(self, train, classifier, rng):
        return train.nothing


class Noisy(Good):
    def fit(self, train, classifier, rng):
        print("promoting")
        os.write(2, b"from below")
        warnings.warn("odd rows")
        if self.share > 0.6:
            raise ImportError("no such thing")
        return super().fit(train, classifier, rng)


class Never(Good):
    def fit(self, train, classifier, rng):
        raise Infeasible("never")


class Bare(Good):
    def fit(self, train, classifier, rng):
        return classifier.fit(train)


class Splendid(Good):
    def fit(self, train, classifier, rng):
        return Fitted(classifier.fit(train), "splendid")


def returning(**methods):
    class Wrapped:
        def predict(self, sample):
            return np.zeros(len(sample))

    for name, function in methods.items():
        setattr(Wrapped, name, lambda self, sample, function=function: function(len(sample)))
    return lambda self, model: Wrapped()


class Columns(Good):
    wrapped = returning(predict=lambda n: np.zeros((n, 1)))


class Twos(Good):
    wrapped = returning(predict=lambda n: np.full(n, 2))


class NoScore(Good):
    wrapped = returning(predict_proba=lambda n: np.full(n, np.nan))


class Pairs(Good):
    wrapped = returning(predict_proba=lambda n: np.full((n, 2), 0.5))


class ColumnOfScores(Good):
    wrapped = returning(scores=lambda n: np.zeros((n, 1)))


class Certain(Good):
    wrapped = returning(scores=lambda n: np.full(n, np.inf))


class LogOdds(Good):
    wrapped = returning(predict_proba=lambda n: np.full(n, -3.0))


class Written(Good):
    wrapped = returning(scores=lambda n: np.full(n, "0.5"))


class Masked(Good):
    wrapped = returning(predict=lambda n: np.ma.masked_all(n, dtype=np.int8))


class Beyond(Good):
    wrapped = returning(decision_probability=lambda n: np.full(n, 1.5))


class Squeezed(Good):
    def wrapped(self, model):
        class Wrapped:
            def predict(self, sample):
                return np.squeeze(model.predict(sample)[:, None])

        return Wrapped()


class SetsLabels(Good):
    def fit(self, train, classifier, rng):
        object.__setattr__(train, "y", 1 - train.y)
        return super().fit(train, classifier, rng)


class Idle:
    def fit(self, train, classifier, rng):
        return Fitted(classifier.fit(train))


def make(share=0.5):
    return Good(share)


def forest(trees: int = 5):
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(trees)


def mixed(estimator):
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient

    return ExponentiatedGradient(estimator, DemographicParity(), max_iter=2)


def neighbours():
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier()
'''


@pytest.fixture(scope="module")
def rogues(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("rogues") / "rogues.py"
    path.write_text(ROGUES)
    return path


def found(rogues, name, monkeypatch, **parameters):
    """Return what is to be mended, by title; the trial of a process of its own is left to another test."""
    without = {title: one for title, one in TRIALS.items() if title != PROCESS}
    monkeypatch.setattr(trial, "TRIALS", without)
    findings = find_components({f"{rogues}:{name}": parameters})[0].findings()
    return {one.title: one.mend for one in findings if one.mend}


@pytest.mark.gate
@pytest.mark.parametrize("name", ["Good", "Refuses", "make", "forest", "neighbours"])
def test_the_good_pass(rogues, monkeypatch, name):
    assert found(rogues, name, monkeypatch) == {}


@pytest.mark.parametrize(
    ("name", "title", "words"),
    [
        ("Draws", SEED, "Draw from the rng that fit is given"),
        ("Changes", ROWS, "It changes y of the training rows. Change a copy: y.copy()."),
        ("ChangesTest", ROWS, "It changes s of the test rows."),
        ("SetsLabels", ROWS, "It changes y of the training rows. Change a copy: y.copy()."),
        ("Squeezed", ROW, "predict returns shape () for 1 rows; return (1,)."),
        ("OneGroupOfTest", GROUP, "It raises IndexError: index 0 is out of bounds"),
        ("OneOutcome", OUTCOME, "It raises ZeroDivisionError: of nothing (rogues.py:"),
        ("EmptyCell", CELL, "It raises KeyError: 'no such cell' (rogues.py:"),
        ("Unweighted", WEIGHTS, "Use train.weights, or raise Infeasible("),
        ("Levels", LEVEL, "It raises ValueError: a new level (rogues.py:"),
        ("Open", PICKLED, "Keep plain values"),
        ("Raises", RUNS, "AttributeError: 'Sample' object has no attribute 'nothing' (rogues.py:"),
        ("Never", RUNS, "It cannot run on compas or adult: never. Look at when"),
        ("Bare", RUNS, "fit returns Model; return Fitted(model)."),
        ("Splendid", RUNS, "fit returns the unknown status 'splendid'; use one of ok, noop, degraded."),
        ("Columns", RUNS, "predict returns shape (300, 1) for 300 rows; return (300,)."),
        ("Twos", RUNS, "predict returns other values than 0 and 1"),
        ("NoScore", RUNS, "predict_proba returns values that are missing or infinite"),
        ("Pairs", RUNS, "predict_proba returns shape (300, 2) for 300 rows; return (300,)."),
        ("ColumnOfScores", RUNS, "scores returns shape (300, 1) for 300 rows; return (300,)."),
        ("Certain", RUNS, "scores returns values that are missing or infinite; return numbers."),
        ("LogOdds", RUNS, "predict_proba leaves [0, 1]; return probabilities, or call the method scores."),
        ("Written", RUNS, "scores returns text; return numbers."),
        ("Masked", RUNS, "predict returns values that are masked; return a number for each row."),
        ("Beyond", RUNS, "decision_probability leaves [0, 1]"),
    ],
)
def test_each_rogue_is_found_out_by_one_trial(rogues, monkeypatch, name, title, words):
    mend = found(rogues, name, monkeypatch)
    assert list(mend) == [title]
    assert words in mend[title]


@pytest.mark.parametrize(
    ("name", "parameters", "is_remarked_on"),
    [
        ("Idle", {}, True),
        ("Good", {"share": 0.0}, True),
        ("Good", {}, False),
        ("none", {}, False),
        ("massaging", {}, False),
    ],
)
def test_a_technique_that_changes_nothing_is_remarked_on(rogues, name, parameters, is_remarked_on):
    path = f"{rogues}:{name}" if name in ("Idle", "Good") else name
    (tried,) = find_components({path: parameters})
    remark = tried.remark()
    assert bool(remark) == is_remarked_on
    if remark:
        assert remark.startswith(
            "It changes nothing: on every row of compas and adult it decides as the model"
        )


def test_the_command_says_that_nothing_is_changed_and_goes_on(rogues, say, monkeypatch):
    monkeypatch.setattr(trial, "TRIALS", {RUNS: TRIALS[RUNS]})
    done = say("check", f"{rogues}:Idle")
    assert done.code == 0
    plain(done.out)
    assert "\n  ! has an effect\n      It changes nothing: " in done.out
    assert done.out.endswith("all 1 hold\n")


@pytest.mark.gate
def test_what_another_process_predicts(rogues, monkeypatch):
    monkeypatch.setattr(trial, "TRIALS", {title: TRIALS[title] for title in (RUNS, SEED, PROCESS)})
    cases = (
        ("Hashes", "Look for the order of a set, for hash()"),
        ("Leaves", "It fails in a new process: exit code 3."),
        ("Good", ""),
    )
    for name, mend in cases:
        *others, last = find_components({f"{rogues}:{name}": {"share": 0.25}})[0].findings()
        assert [one.mend for one in others] == ["", ""]
        assert mend in last.mend
        assert bool(mend) == bool(last.mend)


def test_the_command(rogues, say, monkeypatch):
    monkeypatch.setattr(trial, "TRIALS", {title: TRIALS[title] for title in (RUNS, ROWS)})
    done = say("check", f"{rogues}:Changes", "--set", "share=0.25")
    assert done.code == 1
    plain(done.out)
    assert done.out == (
        "intervention rogues.py:Changes(share=0.25)\n"
        f"  ✓ {RUNS}\n"
        f"  ✗ {ROWS}\n"
        "      It changes y of the training rows. Change a copy: y.copy().\n"
        "1 of 2 to mend\n"
    )
    done = say("check", "tree", "--set", "min_leaf=5")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(
        "classifier tree(criterion=entropy, max_depth=null, min_leaf=5, pruning=0.0)\n"
    )
    two_lines(
        say("check", "masaging"), 'no technique or classifier is called "masaging"', 'mean "massaging"?'
    )
    two_lines(
        say("check", f"{rogues}:God"), 'rogues.py has no class or function "God"', 'did you mean "Good"?'
    )
    two_lines(say("check", "massaging", "--set", "rank=1"), 'massaging has no parameter "rank"')
    two_lines(say("check", "massaging", "--set", "rank"), "cannot read the setting 'rank'")


def test_the_command_takes_what_a_config_lists(rogues, say, monkeypatch):
    monkeypatch.setattr(trial, "TRIALS", {RUNS: TRIALS[RUNS]})
    pytest.importorskip("fairlearn")
    done = say("check", f"{rogues}:mixed", "--set", "groups=levels")
    assert (done.code, done.out.splitlines()[0]) == (0, "intervention rogues.py:mixed(groups=levels)")
    entry = f"{rogues}:Good: {{share: [0.25, 0.75], include_protected: true, representation: numerical}}"
    done = say("check", entry)
    assert [line for line in done.out.splitlines() if "rogues" in line] == [
        "intervention rogues.py:Good(share=0.25), include_protected=true, representation=numerical",
        "intervention rogues.py:Good(share=0.75), include_protected=true, representation=numerical",
    ]
    done = say("check", f"{rogues}:Good: {{tune: {{for: accuracy, over: {{share: [0.1, 0.2]}}}}}}")
    assert done.out.count("intervention rogues.py:Good(share=0.") == 2
    two_lines(
        say("check", "fairlearn.reductions:GridSearch"),
        'needs the parameter "constraints"',
        "fairlearn.reductions:GridSearch: {constraints: VALUE}",
    )


def test_what_the_code_prints_is_shown_where_something_is_to_mend(rogues, say, monkeypatch):
    monkeypatch.setattr(trial, "TRIALS", {RUNS: TRIALS[RUNS]})
    warns = "      It warns; a run keeps the first one as the reason of a repeat:\n"
    warns += "      | UserWarning: odd rows\n"
    done = say("check", f"{rogues}:Noisy")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"intervention rogues.py:Noisy\n  ✓ {RUNS}\n{warns}all 1 hold\n"
    done = say("check", f"{rogues}:Noisy", "--set", "share=0.75")
    raised = "It raises ImportError: no such thing (rogues.py:"
    assert raised in done.out
    assert f"      It printed:\n      | promoting\n      | from below\n{warns}1 of 1 to mend\n" in done.out


def test_a_chance_that_rounding_takes_out_of_its_range_is_one():
    model = SimpleNamespace(decision_probability=lambda rows: np.full(len(rows), 1 + 1e-12))
    assert Fitted(model).decision_probability(find_components("none")[0].samples()[1]).max() == 1.0
