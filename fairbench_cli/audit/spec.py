"""What to audit: columns, decisions, references, limits. Plain values; the CLI and a config file fill it."""

from dataclasses import dataclass, field
from typing import Literal

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
    by_name : tuple of str
        Further measures of each group beside its reference, see `audit.by_name.NAMES`; they decide nothing.
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
    by_name: tuple[str, ...] = ()
