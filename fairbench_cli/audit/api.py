"""An audit in one call, for notebooks and other programs."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbench_cli.base.errors import ArgumentError, Problem, UserError, format_value, suggest, user_error
from fairbench_cli.base.progress_callbacks import ProgressCallback, ignore_progress
from fairbench_cli.base.safe_text import SPELLINGS, printable

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

    from fairbench_cli.audit.command import WrittenCall
    from fairbench_cli.audit.compare.report import Gate, Report
    from fairbench_cli.audit.config import AuditConfig
    from fairbench_cli.audit.scan.source import Frame
    from fairbench_cli.document.model import Document, Verdict
    from fairbench_cli.document.notebook import ShownChart

PLURALS = {
    "attributes": "attribute",
    "thresholds": "threshold",
    "weights": "weight",
    "sample_weight": "weight",
    "sensitive_features": "attribute",
    **SPELLINGS,
}
PER_ROW = ("score", "label", "attribute", "weight", "counts", "cluster", "slice", "explain", "model_column")
"""Options that name columns, and may be arrays."""
FRAME = "data frame"  # instead of a path, in a configuration
GROUP = "group"  # what groups without a name are called


class AuditFailed(AssertionError):  # noqa: N818 - it reads as a sentence after `raise`
    """An audit whose gate stops; its text is the answer's first sentence, and why."""


@dataclass(frozen=True, eq=False, repr=False)
class AuditResult:
    """A finished audit, which shows itself as tables in a notebook.

    Parameters
    ----------
    report : Report
        Everything that was found: `groups`, `disparities`, `verdicts`, `explanations` and more.
    call : WrittenCall
        What was asked.
    """

    report: "Report"
    call: "WrittenCall"

    @property
    def command(self) -> str:
        """The command line that makes the same audit; of a frame or arrays it is that of a ``FILE``."""
        return self.call.command

    @property
    def config_yaml(self) -> str:
        """The options that differ from the usual ones as a file for ``--config``, ``audit.yaml``."""
        return self.call.options_file

    @property
    def verdict(self) -> "Verdict":
        """Pass, fail or undecided, over what decides, of all models and decisions."""
        return self.report.verdict

    @property
    def headline(self) -> str:
        """The answer's first sentence."""
        from fairbench_cli.audit.show.headline import headline

        return headline(self.report).sentence

    @property
    def document(self) -> "Document":
        """What the page shows: answer, sections, tables and charts, for a writer of `document`."""
        from fairbench_cli.audit.show.document import audit_page

        return audit_page(self.report)

    def gate(
        self,
        *,
        fail_on: str | Sequence[str] = (),
        warn_on: str | Sequence[str] = (),
        baseline: str | Path | None = None,
    ) -> "Gate":
        """Return whether a gate would stop, why, and what it would warn of, without another audit.

        p-values stay as they were adjusted, for the metrics that the audit named.

        Parameters
        ----------
        fail_on, warn_on : str or sequence of str
            As the options: "fpr", "race:fpr", "race", "undecided", "worse", "fpr:worse". Where neither is
            given, the gate of the audit's own options or, without one, that of ``--fail``.
        baseline : path, optional
            The ci.json of an earlier audit: nothing stops or warns that is not shown to be worse than there.

        Raises
        ------
        ArgumentError
            For what is no metric and no attribute of the audit, or was not computed.
        UserError
            When `baseline` is no ci.json.
        """
        from fairbench_cli.audit.build_report import judge_gate
        from fairbench_cli.audit.compare.baseline import read_baseline

        report = self.report
        if baseline is not None:
            report = replace(report, baseline=read_baseline(str(baseline)))
        config = report.config
        stopping = _texts(fail_on)
        warning = _texts(warn_on)
        if stopping or warning:
            self._check_gate(stopping + warning)
            gates = {"fail": False, "failing_metrics": stopping, "warning_metrics": warning}
            config = config.model_copy(update=gates)
        elif not (config.has_gate or config.warning_metrics):
            config = config.model_copy(update={"fail": True})
        return judge_gate(replace(report, config=config))

    def _check_gate(self, texts: Sequence[str]) -> None:
        """Refuse what a gate cannot look at in this audit."""
        from fairbench_cli.audit import metrics
        from fairbench_cli.audit.config import COMMON, UNDECIDED, WORSE, split_gate_names, split_worse
        from fairbench_cli.audit.options import unknown_attribute

        if self.report.without_verdict:
            problem = f"preset {self.report.config.preset} has no pass mark, so nothing can fail"
            raise ArgumentError(Problem(problem, "leave the gate out"))
        if split_worse(texts) and not self.report.config.compares:
            fix = "give against, slice or a second score to audit()"
            raise ArgumentError(Problem("nothing is compared that could be worse", fix))
        computed: dict[str, set[str]] = {}
        for row in self.report.verdicts:
            computed.setdefault(row.attribute, set()).update(row.by_metric)
        for attribute, name in split_gate_names(texts):
            if attribute and attribute not in computed:
                raise ArgumentError(Problem(*unknown_attribute(attribute, name, computed)))
            if name and not metrics.is_metric(name):
                fix = suggest(name, (*COMMON, UNDECIDED, WORSE))
                raise ArgumentError(Problem(f"no metric is called {format_value(name)}", fix))
            by_metric = computed[attribute] if attribute else next(iter(computed.values()), set())
            if name and metrics.canonical(name) not in by_metric:
                fix = f"ask audit() for it, with labels if it needs them: metric=[{format_value(name)}]"
                raise ArgumentError(Problem(f"{name} was not computed", fix))

    def raise_if_failed(
        self,
        *,
        fail_on: str | Sequence[str] = (),
        warn_on: str | Sequence[str] = (),
        baseline: str | Path | None = None,
    ) -> None:
        """Raise where the gate stops, for tests; warn where it warns, and of what is not decided. See `gate`.

        Raises
        ------
        AuditFailed
            With the headline and the reason; it is an `AssertionError`.
        """
        from fairbench_cli.audit.compare.gate import describe_undecided

        decision = self.gate(fail_on=fail_on, warn_on=warn_on, baseline=baseline)
        if decision.warning:
            warnings.warn(decision.warning, stacklevel=2)
        if decision.stops:
            raise AuditFailed(f"{printable(self.headline)}\nGate: {printable(decision.reason)}.")
        if decision.undecided:
            warnings.warn(describe_undecided(decision.undecided), stacklevel=2)

    def save(self, output: str | Path) -> list[str]:
        """Write what ``-o`` writes, a folder or a file by its ending (``page.html``); return the names."""
        from fairbench_cli.audit.show.formats import write_output

        return write_output(self.report, str(output))

    def to_pandas(self, table: str | None = None) -> "pd.DataFrame":
        """Return a table as a frame; without a name every comparison of a group with its reference.

        Parameters
        ----------
        table : str, optional
            "disparities", "groups", "numbers", "number_groups", "verdicts", "impact", "subgroups", "scores",
            "calibration" or "thresholds".
            Comparisons of rates, and counts and rates of every group; the same of numbers, and their
            measures; the verdicts; the impact ratios of the presets eeoc and ll144; with ``scan`` the
            subgroups that stand out; with ``curves`` what the scores of a group are worth, the share of label
            1 by score, and selection rates by threshold.

        Raises
        ------
        ArgumentError
            For any other name.
        """
        import pandas as pd

        from fairbench_cli.audit.parts import parts_of
        from fairbench_cli.audit.show.tables import columns_of, optional_tables, tables_of

        tables = tables_of(self.report)
        if table is None:
            table = "numbers" if self.report.config.of_numbers else "disparities"
        if table in optional_tables() and any(
            table in audit_part.tables for audit_part, _ in parts_of(self.report)
        ):
            tables.setdefault(table, list)  # asked for, and nothing was found
        if table not in tables:
            raise ArgumentError(Problem(f'no table is called "{table}"', suggest(table, tables)))
        frame = pd.DataFrame(tables[table]())
        if frame.empty:
            return frame.reindex(columns=list(columns_of(table)))
        return frame

    def to(self, name: str) -> str:
        """Write it in a format: any that `--format` takes, such as "json", "html", "markdown" or "csv"."""
        from fairbench_cli.audit.show.formats import FORMATS, write

        if name not in FORMATS:
            raise ArgumentError(Problem(f'no format is called "{name}"', suggest(name, FORMATS)))
        return write(self.report, name)

    def to_html(self) -> str:
        """Write one HTML page that works offline."""
        return self.to("html")

    def to_json(self) -> str:
        """Write one JSON document."""
        return self.to("json")

    def to_markdown(self) -> str:
        """Write Markdown tables."""
        return self.to("markdown")

    def plot(self, attribute: str | None = None) -> "ShownChart":
        """Return the chart of an attribute: the rate that differs most, by group, and what is allowed.

        It shows itself in a notebook; `.svg` is the picture, and ``.save("sex.svg")`` writes it.

        Parameters
        ----------
        attribute : str, optional
            By default the first that the answer speaks of.

        Raises
        ------
        ArgumentError
            When the answer speaks of no such attribute, or of none at all.
        """
        from fairbench_cli.audit.show.document import attribute_charts
        from fairbench_cli.document.notebook import ShownChart

        charts = attribute_charts(self.report)
        if not charts:
            raise ArgumentError(Problem("the audit compares no groups", "look at to_pandas('groups')"))
        if attribute is None:
            name = next(iter(charts))
        else:
            name = attribute
        if name not in charts:
            raise ArgumentError(Problem(f'the audit has no attribute "{name}"', suggest(name, charts)))
        return ShownChart(charts[name])

    def _repr_html_(self) -> str:
        from fairbench_cli.audit.show.document import to_notebook

        return to_notebook(self.report)

    def __repr__(self) -> str:
        return f"<{printable(self.headline)}>"


def _texts(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def audit(
    source: "str | Path | Frame | ArrayLike | None" = None,
    y_pred: "ArrayLike | None" = None,
    groups: "ArrayLike | Mapping[str, ArrayLike] | Frame | None" = None,
    *,
    config: str | Path | None = None,
    only: str | Sequence[str] = (),
    repeat: int | None = None,
    **options: Any,
) -> AuditResult:
    """Audit a file or a frame of scores, arrays, ``audit(y_true, y_pred, groups)``, or a cell of a run.

    Parameters
    ----------
    source : str, Path or frame; or array of 0 and 1, shape (rows,), or None
        CSV, TSV, Parquet or NDJSON, also gzipped; "-" is standard input. A pandas or Polars frame, an Arrow
        table or anything with an Arrow stream has a row per person, as a file; it is read where it is, and an
        index is not looked at. A folder of results: a cell of it, see `only`. With `y_pred` the labels, also
        as ``y_true=``; None where there are none.
    y_pred : array, shape (rows,), optional
        Decisions of 0 and 1, or scores that ``threshold``, ``top_k`` or ``top_share`` cut.
    groups : array, shape (rows,), or mapping or frame of these, optional
        The group of each person, of one protected attribute or of several by name.
    config : str or Path, optional
        A YAML file of options.
    only : str or sequence of str
        Of a folder of results: the cell, ``"intervention=massaging,beta=0.5"``.
    repeat : int, optional
        Of a folder of results or a file of its predictions; by default 0.
    **options
        As on the command line, with underscores: ``score="p"``, ``label="y"``, ``attributes=["race"]``,
        ``ref={"race": "Caucasian"}``, ``tau=0.8`` or ``tau={"default": 0.8, "fpr": 0.9}``,
        ``margin=0.05`` or ``margin={"fpr": 0.05}``, ``top_k=[100, 200]``, ``intersect=["race,sex"]``,
        ``explain=["education", "education,hours"]``, ``weight="w"``. The baseline, ``against="old.csv"``, may
        be a frame. What names a column (weight, cluster, slice, explain …) may be an array, beside arrays or
        a frame.

    Raises
    ------
    UserError
        Listing what is wrong with the options or the data.
    ArgumentError
        For a keyword that is no option; it is a `UserError` and a `TypeError`.

    Examples
    --------
    >>> result = audit([1, 0, 0, 1], [1, 0, 0, 1], ["f", "f", "m", "m"], draws=0)
    >>> result.verdict, result.to_pandas("groups").query("metric == 'tpr'")["value"].tolist()
    ('undecided', [1.0, 1.0, 1.0])
    """
    if "y_true" in options:
        if source is not None:
            message = "y_true= is given, and so are labels or a table in the first place"
            raise ArgumentError(Problem(message, "leave one of the two out"))
        source = options.pop("y_true")
        arrays = True
    else:
        arrays = y_pred is not None or groups is not None
    if arrays and groups is None:
        groups = options.pop("sensitive_features", None)
    if arrays and (y_pred is None or groups is None):
        missing = "groups"
        if y_pred is None:
            missing = "y_pred"
        message = f"arrays are audited, and {missing} is missing"
        raise ArgumentError(Problem(message, "call audit(y_true, y_pred, groups), or audit(frame_or_path)"))
    if not arrays and source is None:
        fix = "call audit(frame_or_path), or audit(y_true, y_pred, groups)"
        raise ArgumentError(Problem("there is nothing to audit", fix))
    if arrays and options.get("against") is not None:
        message = "against= is a file or frame, and arrays are audited"
        fix = 'give a frame with both columns of scores: audit(frame, score=["old", "new"])'
        raise ArgumentError(Problem(message, fix))
    from fairbench_cli.audit.command import NO_FILE, WrittenCall

    try:
        attributes = [column.name for column in _columns("groups", groups, GROUP)] if arrays else None
        options, extras = _take_arrays(options, attributes)
        settings, baseline = read_options(options, config)
        if arrays:
            rows, settings = frame_of_arrays(source, y_pred, groups, extras, settings)
        else:
            rows = _frame_with_arrays(source, extras)
        filters = (only,) if isinstance(only, str) else tuple(only)
        file = str(source) if isinstance(source, str | Path) else NO_FILE
        report = run(rows, settings, baseline, filters, repeat)
        return AuditResult(report, WrittenCall(settings, file, filters, repeat))
    except UserError as error:
        raise spelled_for_python(error) from None


def spelled_for_python(error: UserError) -> UserError:
    """Return an error whose text has options as keywords; of a keyword that is none the error itself."""
    if isinstance(error, ArgumentError):
        return error
    problems = [problem.spell("python") for problem in error.problems]
    return UserError(*problems, surface="python", remedies=error.remedies)


def read_options(
    options: Mapping[str, Any], path: str | Path | None = None
) -> "tuple[AuditConfig, Frame | None]":
    """Return the configuration of keywords, laid over a file of options; and a baseline that is a frame.

    Raises
    ------
    UserError
        Listing every mistake.
    ArgumentError
        For a keyword that is no option.
    """
    from fairbench_cli.audit.options import read_config

    keys = values_by_key(options)
    against = keys.get("against")
    baseline = against
    if against is None or isinstance(against, str | Path):
        baseline = None
    if against is not None:
        keys["against"] = str(against) if baseline is None else FRAME
    return read_config(keys, None if path is None else Path(path)), baseline


def values_by_key(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options by the names of their keys; refuse those that are none, and one given twice."""
    from fairbench_cli.audit.config import AuditConfig, meanings

    keys = [name.replace("-", "_") for name in meanings()]
    value_of: dict[str, Any] = {}
    for keyword, value in options.items():
        name = PLURALS.get(keyword, keyword)
        if name in AuditConfig.removed:
            raise ArgumentError(AuditConfig.removed[name])
        if name not in keys:
            problem = f'audit() has no option "{keyword}"'
            raise ArgumentError(Problem(problem, suggest(keyword, [*keys, *PLURALS])))
        if name in value_of:
            plural = next(plural for plural, single in PLURALS.items() if single == name)
            problem = f"{name}= and {plural}= are one option, and both are given"
            raise ArgumentError(Problem(problem, "leave one of the two out"))
        if name in PER_ROW and hasattr(value, "__array__"):
            problem = f"{keyword}= is an array, and here it names a column"
            fix = f'put it into the frame, frame.assign({name}={keyword}), and write {keyword}="{name}"'
            raise ArgumentError(Problem(problem, fix))
        value_of[name] = value
    return value_of


def run(
    source: "str | Path | Frame",
    config: "AuditConfig",
    against: "Frame | None" = None,
    only: Sequence[str] = (),
    repeat: int | None = None,
    tell: ProgressCallback = ignore_progress,
) -> "Report":
    """Read and judge with a configuration that is checked; `against` is a frame, the baseline.

    Of a run's results `only` and `repeat` say which cell and which repeat is meant. `tell` is called with
    what is being done.
    """
    from fairbench_cli.audit.reading import judge_rows, read_rows

    if config.baseline is not None:
        from fairbench_cli.audit.compare.baseline import read_baseline

        read_baseline(config.baseline)  # before the rows, which may take long
    rows = read_rows(source, config, against, only, repeat, tell=tell)
    return judge_rows(rows, config)


def frame_of_arrays(
    labels: Any, scores: Any, groups: Any, extras: "Sequence[ArrayColumn]", config: "AuditConfig"
) -> "tuple[pd.DataFrame, AuditConfig]":
    """Return arrays of one value per person as a frame, and the configuration that names its columns.

    They are called ``score``, ``label``, ``weight`` and by the attributes' names; `extras` by their own.

    Raises
    ------
    ArgumentError
        For arrays that do not fit together.
    UserError
        For attributes called like another column.

    Examples
    --------
    >>> from fairbench_cli.audit.config import AuditConfig
    >>> frame, config = frame_of_arrays([1, 1], [1, 0], {"sex": ["f", "m"]}, [], AuditConfig())
    >>> list(frame), config.attributes
    (['score', 'label', 'sex'], ('sex',))
    """
    import pandas as pd

    from fairbench_cli.base.row_arrays import columns_of, side_by_side

    attributes = _columns("groups", groups, GROUP)
    columns = [ArrayColumn("y_pred", "score", scores)]
    if labels is not None:
        columns.append(ArrayColumn("y_true", "label", labels))
    columns += extras
    for column in attributes:
        if column.name in {"score", "label", "weight", *(column_before.name for column_before in columns)}:
            raise user_error(f"an attribute is called {format_value(column.name)}", "rename it", "groups")
        columns.append(column)
    several = {"groups": 'name them: groups={"NAME": array, …}'}
    if columns_of(labels) is not None:
        several["y_true"] = (
            'give that of the labels, y_true["NAME"], or name columns: audit(frame, score="NAME")'
        )
    arrays = side_by_side(
        {"y_true": labels} | {column.argument: column.values for column in columns}, several
    )
    frame = pd.DataFrame({column.name: arrays[column.argument] for column in columns})
    read: dict[str, object] = {name: name for name in ("label", "weight") if name in frame}
    read["scores"] = ("score",)
    if config.attributes is None:
        read["attributes"] = tuple(column.name for column in attributes)
    return frame, config.model_copy(update=read)


def _frame_with_arrays(source: Any, columns: "Sequence[ArrayColumn]") -> Any:
    """Return a frame with arrays as further columns."""
    if not columns:
        return source
    import numpy as np

    from fairbench_cli.base.row_arrays import columns_of, side_by_side

    names = columns_of(source)
    if names is None:
        problem = f"{columns[0].argument}= is an array, and the rows are in no frame"
        fix = f'name the column: {PLURALS.get(columns[0].argument, columns[0].argument)}="w"'
        raise ArgumentError(Problem(problem, fix))
    arrays = side_by_side({column.argument: column.values for column in columns}, frame=source)
    new = {column.name: arrays[column.argument] for column in columns if column.name not in names}
    for column in columns:
        if column.name in names and not np.array_equal(source[column.name], arrays[column.argument]):
            problem = f"{column.argument}= is an array, and the frame has another column {column.name}"
            raise ArgumentError(Problem(problem, "rename one of the two"))
    if hasattr(source, "assign"):
        return source.assign(**new)
    if hasattr(source, "with_columns"):  # of Polars
        return source.with_columns(**{name: np.asarray(values) for name, values in new.items()})
    for name, values in new.items():
        source = source.append_column(name, [values])
    return source


@dataclass(frozen=True, eq=False)
class ArrayColumn:
    """An array, the argument that it was given as, and the column that it becomes."""

    argument: str
    name: str
    values: Any


def _columns(argument: str, values: Any, name: str) -> list[ArrayColumn]:
    """Return the columns of a mapping, a frame, a list of arrays or one array, which may have a name."""
    from fairbench_cli.base.row_arrays import columns_of, is_array

    if (
        isinstance(values, list | tuple)
        and values
        and is_array(values[0])
        and getattr(values[0], "shape", 1) != ()
    ):
        values = {
            str(getattr(array, "name", None) or f"{name} {i}"): array for i, array in enumerate(values, 1)
        }
    names = list(values) if isinstance(values, Mapping) else columns_of(values)
    if names is None:
        return [ArrayColumn(argument, str(getattr(values, "name", None) or name), values)]
    return [ArrayColumn(f'{argument}["{key}"]', str(key), values[key]) for key in names]


def _take_arrays(
    options: Mapping[str, Any], attributes: Sequence[str] | None
) -> tuple[dict[str, Any], list[ArrayColumn]]:
    """Return options in which columns are named, and those that were arrays.

    Without a frame, a list of texts names columns only where they are `attributes`.
    """
    names_by_key = dict(options)
    columns: list[ArrayColumn] = []
    for keyword, values in options.items():
        key = PLURALS.get(keyword, keyword)
        if key not in PER_ROW or values is None or _names_columns(values, attributes):
            continue
        new_columns = _columns(keyword, values, key)
        if key == "weight" and attributes is not None:
            new_columns = [ArrayColumn(keyword, key, values)]
        columns += new_columns
        names_by_key[keyword] = (
            new_columns[0].name if len(new_columns) == 1 else [column.name for column in new_columns]
        )
    return names_by_key, columns


def _names_columns(values: Any, attributes: Sequence[str] | None) -> bool:
    if isinstance(values, list | tuple):
        is_text = all(isinstance(value, str | list | tuple) for value in values)
        return is_text and (attributes is None or all(value in attributes for value in values))
    return isinstance(values, str)
