"""Tables of published repeats from Python: every technique against the plain model, and claims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from fairbench_cli.api.run import RunFrames, load_results
from fairbench_cli.base.errors import user_error
from fairbench_cli.document.html import html
from fairbench_cli.document.markdown import markdown
from fairbench_cli.document.model import Document
from fairbench_cli.experiment.config.config import POINT
from fairbench_cli.studies import judge
from fairbench_cli.studies.claims import JudgedClaim, judge_claims, read_claims
from fairbench_cli.studies.document import claims_document, study_document
from fairbench_cli.studies.from_run import design_of_run, put_beside, table_of_run
from fairbench_cli.studies.over_data_sets import frame_over_data_sets
from fairbench_cli.studies.table import read_study

if TYPE_CHECKING:
    from fairbench_cli.audit.scan.source import Frame


PUBLISHED = "published"
"""In place of a file of claims: those that come with fairbench."""


@dataclass(frozen=True, eq=False, repr=False)
class StudyResult:
    """What came out of a table of repeats; its text is the answer's first sentence.

    Parameters
    ----------
    name : str
        Of the table.
    comparisons : StudyComparisons
        Every comparison with the plain model.
    """

    name: str
    comparisons: judge.StudyComparisons

    @cached_property
    def over_data_sets(self) -> pd.DataFrame:
        """Each technique and metric over all data sets."""
        return frame_over_data_sets(self.comparisons)

    @cached_property
    def document(self) -> Document:
        """All of it, in words, tables and forests."""
        return study_document(self.name, self.comparisons, self.over_data_sets)

    @property
    def headline(self) -> str:
        """The first sentence of the answer."""
        answer = self.document.answer
        return answer.headline.text if answer else ""

    def __repr__(self) -> str:
        return f"<{self.headline}>"

    def to_pandas(self) -> pd.DataFrame:
        """Return a row per comparison; `judge` says what is in the columns."""
        return self.comparisons.frame.copy()

    def to_html(self) -> str:
        """Return the whole page."""
        return html(self.document)

    def to_markdown(self) -> str:
        """Return all of it as Markdown."""
        return markdown(self.document)


def compare(
    source: "str | Path | Frame",
    design: str | None = None,
    *,
    train_share: float | None = None,
    folds: int | None = None,
    baseline: str | None = None,
    columns: Mapping[str, str] | None = None,
    values: Sequence[str] = (),
    only: Sequence[str] = (),
    better: Mapping[str, str] | None = None,
    stand_in: Mapping[str, str] | None = None,
    margin: float = POINT,
    family: judge.Family = "all",
    mann_whitney: bool = False,
    run: "str | Path | RunFrames | None" = None,
    name: str = "",
) -> StudyResult:
    """Judge other people's results: every technique of a table of repeats against the plain model.

    Parameters
    ----------
    source : path or frame
        A row per repeat and metric, or per repeat with a column per metric.
    design : {"splits", "folds", "fresh", "seeds", "unpaired"}
        How the repeats hang together: random splits of the same rows, cross-validation, rows of their own,
        one test set with several seeds, not paired. None, with a run beside the table: as in the run.
    train_share : float
        Of the rows, that a split trains on.
    folds : int
        Of a cross-validation.
    baseline : str
        The technique that the others are compared with; by default the one with a usual name.
    columns : mapping
        Which column is what, where names do not say it: ``{"technique": "method", "repeat": "seed"}``.
    values : sequence of str
        The columns of a wide table that hold metrics.
    only : sequence of str
        Cells that are wanted: ``["metric=spd", "data!=german"]``.
    better : mapping
        The better side of metrics: "higher", "lower" or the ideal.
    stand_in, margin, family, mann_whitney
        As `fairbench_cli.studies.judge.judge` takes them.
    run : path or RunFrames
        A run of one's own, whose techniques stand beside those of the table, each compared with the plain
        model of its own.
    name : str
        What the table is called.

    Raises
    ------
    UserError
        For a table that cannot be read, and options that do not fit it.

    Examples
    --------
    >>> table = pd.DataFrame({"method": ["none", "rw"] * 4, "seed": [0, 0, 1, 1, 2, 2, 3, 3]})
    >>> table = table.assign(data="d", spd=[0.2, 0.1, 0.21, 0.12, 0.19, 0.1, 0.2, 0.11])
    >>> compare(table, "splits", train_share=0.7)
    <Of 1 comparison: better than none in 100.0 %.>
    """
    frames = load_results(run) if isinstance(run, str | Path) else run
    if design is None and frames is not None:
        study_design = design_of_run(frames.found)
    else:
        study_design = judge.make_design(design, train_share, folds)
    table = read_study(source, columns, values)
    if frames is not None:
        table = put_beside(table, table_of_run(frames.found), judge.find_baseline(table, baseline))
    comparisons = judge.judge(
        judge.select_cells(table, only, baseline),
        study_design,
        baseline,
        better=better,
        stand_in=stand_in,
        margin=margin,
        family=family,
        mann_whitney=mann_whitney,
    )
    return StudyResult(name or _name_of(source), comparisons)


@dataclass(frozen=True, eq=False, repr=False)
class CheckedClaims:
    """What came out of the claims on a table.

    Parameters
    ----------
    name : str
        Of the table.
    claims : tuple of JudgedClaim
    design : StudyDesign
        How the repeats hang together.
    """

    name: str
    claims: tuple[JudgedClaim, ...]
    design: judge.StudyDesign

    @cached_property
    def document(self) -> Document:
        """Each claim with its number, what comes out, and why."""
        return claims_document(self.name, self.claims, self.design)

    def __repr__(self) -> str:
        answer = self.document.answer
        return f"<{answer.headline.text if answer else ''}>"

    def to_pandas(self) -> pd.DataFrame:
        """Return a row per claim."""
        rows = []
        for judged in self.claims:
            row = judged.claim.model_dump(exclude={"where", "baseline", "stand_in", "better"})
            for name in ("n", "by_rule", "low", "high", "verdict", "reason"):
                row[name] = getattr(judged, name)
            rows.append(row)
        return pd.DataFrame(rows)


def check_claims(
    source: "str | Path | Frame | RunFrames",
    claims: str | Path,
    design: str | None = None,
    *,
    train_share: float | None = None,
    folds: int | None = None,
    columns: Mapping[str, str] | None = None,
    values: Sequence[str] = (),
) -> CheckedClaims:
    """Judge claims on a table of repeats, or on a run: sentences that count or average comparisons.

    Parameters
    ----------
    source : path, frame or RunFrames
        A table as `compare` takes it, or a run: its folder, or what `run` and `load_results` return. A run is
        a study of the experiment's name and has a design of its own.
    claims : path
        A CSV with the columns of `fairbench_cli.studies.claims.Claim`; ``"published"``: those that come with
        fairbench, of the studies that the table has, if it has any.
    design, train_share, folds, columns, values
        As `compare` takes them.

    Raises
    ------
    UserError
        For a table or claims that cannot be read, and options on a run, which say what it knows itself.
    """
    is_published = claims == PUBLISHED
    path = Path(claims)
    if is_published:
        path = Path(__file__).parents[1] / "studies" / "claims.csv"
    sentences = read_claims(path)
    if isinstance(source, str | Path) and Path(source).is_dir():
        source = load_results(source)
    if isinstance(source, RunFrames):
        options = (design, train_share, folds, columns or None, values or None)
        if any(option is not None for option in options):
            problem = "a run says itself how its repeats hang together and what its columns are"
            raise user_error(problem, "leave out what says that of a table", source.name)
        table = table_of_run(source.found)
        study_design = design_of_run(source.found)
    else:
        table = read_study(source, columns, values)
        study_design = judge.make_design(design, train_share, folds)
    judged = judge_claims(table, sentences, study_design, of_many_tables=is_published)
    if is_published:
        # A table has one study or a few: claims of the others are no open questions about it.
        judged = [claim for claim in judged if claim.n]
        if not judged:
            studies = ", ".join(dict.fromkeys(sentence.study for sentence in sentences.values()))
            fix = f"they are about {studies}: name cells as these do (docs/studies.md), or write your own"
            raise user_error("no published claim is about what is in it", fix, _name_of(source))
    return CheckedClaims(_name_of(source), tuple(judged), study_design)


def _name_of(source: "str | Path | Frame | RunFrames") -> str:
    """Return the name of a table or a run."""
    if isinstance(source, RunFrames):
        return source.name
    if isinstance(source, str | Path):
        return Path(source).name
    return "results"
