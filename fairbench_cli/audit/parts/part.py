"""What an audit is made of: parts, of which each reads, judges and shows one thing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from fairbench_cli.audit.compare.report import Pair, Place, Report
from fairbench_cli.audit.scan.scan import Scan
from fairbench_cli.document.model import Chart, Section, TableCell, TextTable, Verdict, table_of

Seen = TypeVar("Seen")
Found = TypeVar("Found")

Value = str | float | int | bool | None
Row = dict[str, Value]


@dataclass(frozen=True)
class View:
    """How much of an audit is shown.

    Parameters
    ----------
    max_rows : int or None
        How many rows of a table; None: all.
    brief : bool
        Whether to leave out what 80 columns have no room for.
    """

    max_rows: int | None = None
    brief: bool = False

    def cut(
        self, rows: Sequence[Any], kinds: Callable[[Sequence[Any]], str] | None = None
    ) -> tuple[Sequence[Any], str]:
        """Return the rows that are shown, and a sentence on the others: how many, and of what kinds.

        >>> View(2).cut("abc"), View(1).cut("abc", "".join)
        (('ab', 'and 1 more: see --all'), ('a', 'and 2 more (bc): see --all'))
        """
        left_out: Sequence[Any] = ()
        if self.max_rows is not None:
            left_out = rows[self.max_rows :]
        kinds_text = ""
        if kinds and left_out:
            kinds_text = f" ({kinds(left_out)})"
        remark = ""
        if left_out:
            remark = f"and {len(left_out):,} more{kinds_text}: see --all"
        return rows[: self.max_rows], remark

    def table(
        self, title: str, columns: dict[str, Callable[[Any], TableCell]], rows: Sequence[Any]
    ) -> TextTable:
        """Return a table of the rows that are shown."""
        shown_rows, remark = self.cut(rows)
        return table_of(title, columns, shown_rows, remark)


BY_REFERENCE = ("references", "ref_method", "min_group", "min_share", "exclude")
"""Of a part that looks at the reference while it reads."""
BY_ESTIMATE = (*BY_REFERENCE, "margin", "confidence", "draws")
"""Of a part that estimates differences while it reads."""

SHORT = View(5, brief=True)
"""Of the tables of a short answer."""


@dataclass(frozen=True, eq=False)
class AllRows:
    """The audit of all rows, of which the answer is where an audit is of slices of them.

    Parameters
    ----------
    report : Report
    name : str
        What the slices are together: "all 8 slices by quarter".
    describe, plot : callable
        A sentence on, and a chart of, a comparison over the slices, given its groups and its rate.
    """

    report: Report
    name: str
    describe: Callable[[Pair, str], str]
    plot: Callable[[Pair, str], Chart]


def _return_nothing(*_: Any) -> Any:
    return ()


@dataclass(frozen=True)
class Part(Generic[Seen, Found]):
    """One thing that an audit can find out; `parts.PARTS` has a line for each.

    What is called with a report gets that of the audit: with counts, comparisons and its configuration, but
    in `judge` without verdicts, which may depend on the part.

    Parameters
    ----------
    key : str
        Its name in `Report.found`, and in JSON.
    judge : callable
        What it finds, given what it has read.
    found_type : type
        Of what it finds, by which an audit is read from its JSON.
    read : callable
        What it needs of the rows beyond their counts.
    read_by : tuple of str
        The fields of a configuration by which it reads, apart from those by which all rows are read.
    tables : dict of str to callable
        Rows of text and numbers by name of a table, for CSV files, databases and frames; a table without
        rows is left out.
    sections : callable
        What it shows.
    short : callable
        What it shows on a console where not everything is asked for: the answer to what an option asked, in a
        few lines.
    line : callable
        Its result in a sentence, for the first screen of a page; or nothing.
    data : callable
        What JSON says, by key: what was found under the key of the part, if there is anything.
    summary : callable
        What it adds to the answer in words: a sentence, or nothing.
    verdicts : callable
        Verdicts that count for an attribute, by place and metric.
    changes : callable
        What became of each gap, for a gate that asks for what is worse.
    all_rows : callable
        The audit that the answer is of, where it is another.
    """

    key: str
    judge: Callable[[Seen, Report], Found]
    found_type: Any
    read: Callable[[Scan], Seen] = _return_nothing
    read_by: tuple[str, ...] = ()
    tables: Mapping[str, Callable[[Found, Report], Iterable[Row]]] = field(default_factory=dict)
    sections: Callable[[Found, Report, View], Sequence[Section]] = _return_nothing
    short: Callable[[Found, Report], Sequence[Section]] = _return_nothing
    line: Callable[[Found, Report], str] = lambda _findings, _report: ""
    data: Callable[[Found], Mapping[str, Any]] | None = None
    summary: Callable[[Found, Report], str] = lambda _findings, _report: ""
    verdicts: Callable[[Found], Iterable[tuple[Place, str, Verdict]]] = _return_nothing
    changes: Callable[[Found], Sequence[Any]] = _return_nothing
    all_rows: Callable[[Found, Report], AllRows | None] = lambda _findings, _report: None

    @property
    def reads_rows(self) -> bool:
        """Whether it needs more of the rows than their counts."""
        return self.read is not _return_nothing
