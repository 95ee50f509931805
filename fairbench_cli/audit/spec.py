"""What to audit: columns, decisions, references, limits. Plain values; the CLI and a config file fill it."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from fairbench_cli.measures.situation import MARGIN, NEIGHBOURS

Ties = Literal["include", "exclude", "random"]
RefMethod = Literal["given", "majority", "minimum", "maximum", "rest"]


@dataclass(frozen=True)
class Decision:
    """How scores become decisions.

    Parameters
    ----------
    kind : {"binary", "threshold", "top-k", "top-share"}
        ``binary``: scores are 0/1 as they are. ``threshold``: score >= value. ``top-k``: the `value` rows
        with the highest scores. ``top-share``: that share of the rows, in (0, 1].
    value : float
        Unused for ``binary``.
    ties : {"include", "exclude", "random"}
        What happens to rows with exactly the score at the cut of a top list, when not all of them fit.
    """

    kind: Literal["binary", "threshold", "top-k", "top-share"] = "binary"
    value: float = 0.0
    ties: Ties = "include"

    def __str__(self) -> str:
        shown = f"{self.value:.15g}"
        return {
            "binary": "binary",
            "threshold": f"score >= {shown}",
            "top-k": f"top {shown}",
            "top-share": f"top {100 * self.value:.12g} %",
        }[self.kind]


@dataclass(frozen=True)
class Columns:
    """Which column is what; None means: found by its usual name, or not there.

    `score` is looked for as ``score``, `label` as ``label_value`` or ``label``; `attributes` default to every
    other text column less ``id``, ``entity_id``, ``model_id``. A score that is the label, both named, lets
    the labels themselves be audited.
    """

    score: str | None = None
    label: str | None = None
    attributes: tuple[str, ...] | None = None
    weight: str | None = None
    model: str | None = None


@dataclass(frozen=True)
class Spec:
    """Everything that decides an audit besides the file.

    Parameters
    ----------
    decisions : tuple of Decision
        Empty: binary scores. Each is audited apart.
    intersections : tuple of tuples of attribute names
        Audited as further attributes, "race × sex".
    bins : dict of attribute to number of bins
        Numeric attributes to cut into equal-count bins; others are groups as they are.
    references : dict of attribute to group
        For `ref_method` ``given``; an attribute without an entry uses the majority.
    ref_method : {"given", "majority", "minimum", "maximum", "rest"}
        ``minimum`` / ``maximum``: per measure the group with the lowest / highest value. ``rest``: everybody
        else.
    tau : float in (0, 1]
        A ratio passes in [tau, 1/tau], exactly.
    taus : dict of measure to float
        Exceptions from `tau`.
    min_group : int
        Groups with fewer rows are flagged.
    draws, seed, confidence : int, int, float
        Of the bootstrap.
    measures : tuple of str, or None
        The rates and roll-ups that decide; None: the default ones.
    requested : tuple of str
        Further metrics of each group against its reference.
    fail : bool
        Whether a failing verdict is an exit code.
    fail_on : tuple of (attribute or "", metric)
        What alone counts for `fail`; empty: the verdict.
    explained_by, neighbours, margin
        What to explain differences by.
    """

    columns: Columns = Columns()
    decisions: tuple[Decision, ...] = ()
    intersections: tuple[tuple[str, ...], ...] = ()
    bins: dict[str, int] = field(default_factory=dict)
    references: dict[str, str] = field(default_factory=dict)
    ref_method: RefMethod = "majority"
    tau: float = 0.8
    taus: dict[str, float] = field(default_factory=dict)
    min_group: int = 30
    draws: int = 1000
    seed: int = 0
    confidence: float = 0.95
    measures: tuple[str, ...] | None = None
    requested: tuple[str, ...] = ()
    fail: bool = False
    fail_on: tuple[tuple[str, str], ...] = ()
    explained_by: tuple[tuple[str, ...], ...] = ()
    neighbours: int = NEIGHBOURS
    margin: float = MARGIN

    @property
    def attributes(self) -> tuple[str, ...] | None:
        """The columns to audit."""
        return self.columns.attributes

    def resolved(self) -> dict[str, Any]:
        """Return the settings that decide the numbers, as plain values."""
        found = asdict(self)
        for name in (
            "fail",
            "fail_on",
            *(() if self.explained_by else ("explained_by", "neighbours", "margin")),
        ):
            del found[name]
        return found
