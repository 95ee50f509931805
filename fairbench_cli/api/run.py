"""Experiments from Python: run a config, and its result files as frames."""

import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from fairbench_cli.api.objects import plain_config
from fairbench_cli.base.errors import ArgumentError, Problem, suggest, user_error
from fairbench_cli.base.files import read_text, scratch_folder
from fairbench_cli.base.strict_yaml import dump_yaml, parse_yaml
from fairbench_cli.base.yaml_document import YamlDocument
from fairbench_cli.document.notebook import notebook
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.config.config import ExperimentConfig
from fairbench_cli.experiment.config.outputs import FIGURES, NEEDS
from fairbench_cli.experiment.config.read import find_config, of_document, read_config
from fairbench_cli.experiment.journal.folder import read_repeats
from fairbench_cli.experiment.journal.journal import RETRIED, Records
from fairbench_cli.experiment.plan import FILE, RunPlan, read_plan
from fairbench_cli.experiment.running.pool import LocalPool
from fairbench_cli.experiment.running.reuse import reuse_repeats
from fairbench_cli.experiment.running.run import compute, prepare, working_in, write_manifest
from fairbench_cli.experiment.worlds import write_worlds
from fairbench_cli.papers.pages import paper_section
from fairbench_cli.papers.parts import FIGURES as DRAW
from fairbench_cli.papers.parts import PARTS
from fairbench_cli.report.ledger.answer import RunAnswer, answer_of
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show.answer_text import answer_document
from fairbench_cli.report.show.page_charts import answer_chart
from fairbench_cli.report.write import results_of_folder, write_report

NEEDED = ("results", "groups", "summary", "paired", "pareto")


@dataclass(frozen=True, eq=False, repr=False)
class RunFrames:
    """The result files of a run, as frames.

    Parameters
    ----------
    name : str
        Of the experiment.
    frames : dict of str to DataFrame
        By the name of the file: "results", "groups", "summary", "paired", "pareto" and, where the config asks
        for them, others such as "sweep".
    tables : dict of str to DataFrame
        The papers' tables, all text, as they are printed.
    folder : Path or None
        Where the files are; None where they were not to be kept.
    stored : (RunPlan, dict) or None
        What was asked for and every repeat, of a run that was computed just now.
    """

    name: str
    frames: dict[str, pd.DataFrame]
    tables: dict[str, pd.DataFrame]
    folder: Path | None = None
    stored: tuple[RunPlan, Records] | None = None

    @cached_property
    def found(self) -> RunResults:
        """Each metric, repeat by repeat, as the arrays that answers, tables and figures are made from.

        Raises
        ------
        UserError
            When the folder that the frames were read from holds no results any more.
        """
        folder = self.folder or Path()
        if self.stored is not None:
            return results_of_folder(folder, *self.stored, PARTS)
        plan = read_plan(folder)
        return results_of_folder(folder, plan, read_repeats(folder, plan).records, PARTS)

    @property
    def results(self) -> pd.DataFrame:
        """One row per data set, attribute, β, intervention, classifier, repeat and metric."""
        return self.frames["results"]

    @property
    def groups(self) -> pd.DataFrame:
        """The counts of each group that every metric is computed from, and why a repeat has none."""
        return self.frames["groups"]

    @property
    def summary(self) -> pd.DataFrame:
        """Mean, standard deviation and 95 % interval over the repeats of each metric."""
        return self.frames["summary"]

    @property
    def paired(self) -> pd.DataFrame:
        """Each technique's difference to no intervention over the paired repeats."""
        return self.frames["paired"]

    @property
    def pareto(self) -> pd.DataFrame:
        """Which techniques are dominated, and by which others."""
        return self.frames["pareto"]

    @property
    def failures(self) -> dict[str, int]:
        """How many repeats gave no result for which reason; without those that were infeasible."""
        rows = self.groups[self.groups["status"].isin(RETRIED)].drop_duplicates(
            _cell(self.groups) + ["repeat"]
        )
        return dict(Counter(rows["reason"]).most_common())

    def to_pandas(self, name: str = "summary") -> pd.DataFrame:
        """Return one of the frames.

        Raises
        ------
        ArgumentError
            When the run has no such file.
        """
        if name not in self.frames:
            raise ArgumentError(Problem(f'no frame is called "{name}"', suggest(name, self.frames)))
        return self.frames[name]

    @property
    def answer(self) -> RunAnswer:
        """What was found, by data set, attribute, classifier and β: gaps, changes, costs and their kinds."""
        return answer_of(self.found)

    def plot(self, name: str = "curves", of: str | None = None) -> Any:
        """Return a figure of the run, as ``figures:`` of a config writes it: of matplotlib; a network is SVG.

        Parameters
        ----------
        name : str
            Of ``fairbench list figures``.
        of : str, optional
            Which one, where there is one for each data set, attribute and classifier: "adult-sex-c45".

        Raises
        ------
        ArgumentError
            When there is no such figure, the run has nothing to draw in it, or there are several.
        """
        if name not in FIGURES:
            raise ArgumentError(Problem(f'no figure is called "{name}"', suggest(name, FIGURES)))
        run_frames = self.found
        for need in FIGURES[name].needs:
            is_met, problem, fix = NEEDS[need]
            if not is_met(run_frames.plan.config):
                raise ArgumentError(Problem(f"the figure {name} {problem}", f"in the config {fix}"))
        from fairbench_cli.report.show.figures.canvas import house_style  # loads matplotlib

        with house_style():
            drawn = DRAW[name].load()(run_frames)
        chosen = None
        if of is not None:
            chosen = of
        elif len(drawn) == 1:
            chosen = next(iter(drawn))
        if not drawn:
            raise ArgumentError(
                Problem(f"there is nothing to draw in the figure {name}", "look at .failures")
            )
        if chosen is None:
            problem = f"the figure {name} is {len(drawn)} figures"
            raise ArgumentError(Problem(problem, f"name one of: {', '.join(drawn)}"))
        if chosen not in drawn:
            raise ArgumentError(Problem(f'the figure {name} has none of "{chosen}"', suggest(chosen, drawn)))
        return drawn[chosen]

    def __repr__(self) -> str:
        repeats = self.groups.drop_duplicates(_cell(self.groups) + ["repeat"])
        n_by_status = repeats["status"].value_counts().to_dict()
        counts_text = ", ".join(f"{count} {status}" for status, count in n_by_status.items()) or "none"
        where = f"; files in {self.folder}" if self.folder else ""
        return f"<Run {self.name}: repeats: {counts_text}; frames: {', '.join(self.frames)}{where}>"

    def _repr_html_(self) -> str:
        document = answer_document(self.found)
        chart = answer_chart(self.answer)
        answer = document.answer
        if answer is not None:
            answer = replace(answer, headline=replace(answer.headline, chart=chart))
        facts = (repr(self)[1:-1],)
        return notebook(replace(document, answer=answer, facts=facts, sections=document.sections[:1]))


def _cell(groups: pd.DataFrame) -> list[str]:
    """Return the columns that name a cell; a repeat of it may be counted on true and on recorded labels."""
    columns = list(groups.columns)
    return [name for name in columns[: columns.index("repeat")] if name != "labels"]


def run(
    config: str | Path | Mapping[str, Any],
    *,
    folder: str | Path | None = None,
    jobs: int = 1,
    data_dir: str | Path | None = None,
    only: str | Sequence[str] = (),
    changes: Mapping[str, Any] | None = None,
    progress: bool = False,
    mix_versions: bool = False,
    reuse: str | Path | Sequence[str | Path] = (),
) -> RunFrames:
    """Run an experiment, as ``fairbench run`` does, and return its result files.

    Parameters
    ----------
    config : str, Path or mapping
        A YAML file, the name of a shipped one such as "quickstart", or what stands in one. Cards and plug-ins
        are looked for next to the file, or in the working folder. Techniques, classifiers and metrics may be
        objects: ``"classifiers": [LogisticRegression(C=0.1)]``, ``"interventions": ["none", MyTechnique]``.
    folder : str or Path, optional
        Where results are kept: a run goes on from what is there. By default nothing is kept.
    jobs : int
        Worker processes. The numbers are the same for any number.
    data_dir : str or Path, optional
        Where data files are, before ``$FAIRBENCH_DATA`` and the cache.
    only : str or sequence of str
        Run matching cells only: ``"dataset=adult,beta=0.5"``.
    changes : mapping, optional
        Values to lay over the config by key: ``{"repeats": 2, "sample.size": 500}``.
    progress : bool
        Whether to write to standard error how many repeats are done.
    mix_versions : bool
        Whether to go on from results that other versions of NumPy, scikit-learn and so on gave.
    reuse : str, Path or sequence of these
        Other folders of results: what they have of this run is copied, not computed.

    Raises
    ------
    UserError
        Listing every mistake in config, cards and data; when another process works in the folder; when it
        has results of other versions and `mix_versions` is False.
    ArgumentError
        When an argument is of no use, such as ``jobs=0``.
    """
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise ArgumentError(Problem(f"jobs is {jobs!r}", "give the number of worker processes, 1 or more"))
    with scratch_folder() as temporary:
        start = time.monotonic()
        target = Path(folder or temporary)
        read_config = _read_config(config, changes or {})
        filters = (only,) if isinstance(only, str) else tuple(only)
        prepared_run = prepare(
            read_config, folder=target, data_dir=None if data_dir is None else Path(data_dir), filters=filters
        )
        warn = partial(print, file=sys.stderr)
        if isinstance(reuse, str | Path):
            reuse = [reuse]
        reuse_folders = [Path(name) for name in reuse]
        with working_in(prepared_run, mix_versions=mix_versions, warn=warn) as prepared:
            if reuse_folders:
                prepared = reuse_repeats(prepared, reuse_folders, mix_versions=mix_versions).prepared
            todo = prepared.n_left
            numbers = count(1)

            def note(_: Repeat) -> None:
                if progress:
                    results = next(numbers)
                    sys.stderr.write(f"\r{results} of {todo} repeats")
                    if results == todo:
                        sys.stderr.write("\n")
                    sys.stderr.flush()

            if todo:
                with LocalPool(read_config, jobs) as pool:
                    compute(prepared, pool.outcomes, note)
            write_worlds(target, prepared.config, prepared.datasets)
            write_manifest(prepared, jobs=jobs, computed=todo - prepared.n_left, start=start)
            write_report(target, prepared.plan, prepared.records, compared=paper_section, parts=PARTS)
        results = _read(target, read_config.name, Path(folder) if folder else None)
        return replace(results, stored=(prepared.plan, prepared.records))


def _read_config(config: str | Path | Mapping[str, Any], changes: Mapping[str, Any]) -> ExperimentConfig:
    """Return a config, checked."""
    changed = plain_config(changes)
    overrides = tuple(f"{key}={_yaml(value)}" for key, value in changed.items())
    if isinstance(config, Mapping):
        config_values = parse_yaml(_yaml(plain_config(config)), "config").data
        return of_document(YamlDocument(config_values, {}, "config"), Path(), overrides)
    if isinstance(config, str | Path):
        return read_config(find_config(str(config)), overrides)
    problem = f"an object of type {type(config).__name__} is no config"
    raise ArgumentError(Problem(problem, "give the path of a YAML file, or a dict of its keys"))


def load_results(folder: str | Path) -> RunFrames:
    """Return the result files of a run that ``fairbench run`` or `run` wrote.

    Raises
    ------
    UserError
        When there are none.
    """
    path = Path(folder)
    missing = [name for name in NEEDED if not (path / f"{name}.csv").is_file()]
    if missing or not (path / FILE).is_file():
        missing_file = f"{missing[0]}.csv" if missing else FILE
        problem = f"{path} holds no results ({missing_file} is missing)"
        raise user_error(problem, "give the folder that `fairbench run` wrote")
    return _read(path, read_plan(path).config.name, path)


def _read(path: Path, name: str, folder: Path | None) -> RunFrames:
    tables = {}
    for file in sorted((path / "tables").glob("*.csv")):
        tables[file.stem] = pd.read_csv(StringIO(read_text(file)), dtype=str, keep_default_na=False)
    files = {file.stem: file for file in path.glob("*.csv")}
    order = list(NEEDED) + sorted(files.keys() - set(NEEDED))
    return RunFrames(name, {key: _frame(files[key]) for key in order}, tables, folder)


def _frame(path: Path) -> pd.DataFrame:
    """Return a file as a frame, exactly; counts are floats where some repeats have none."""
    exact: Any = {}
    if int(pd.__version__.split(".")[0]) <= 2:
        exact = {"float_precision": "round_trip"}
    frame: pd.DataFrame = pd.read_csv(
        StringIO(read_text(path)), keep_default_na=False, na_values=[""], **exact
    )
    return frame


def _yaml(value: Any) -> str:
    try:
        return dump_yaml(value)
    except yaml.YAMLError as error:
        problem = f"a config holds texts, numbers, lists and dicts: {error.args[0]}"
        raise ArgumentError(Problem(problem, "write what would stand in a YAML file")) from None
