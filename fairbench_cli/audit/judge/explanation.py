"""What is asked of an explanation, and what it finds."""

from dataclasses import dataclass

from fairbench_cli.audit.config import ExplainConfig as Ask
from fairbench_cli.audit.judge.result import Interval

__all__ = ["Ask", "Explanation", "Stratified", "Stratum"]


@dataclass(frozen=True)
class Stratum:
    """Both groups within one stratum; weights summed."""

    name: str
    rows: float
    reference_rows: float
    rate: float
    reference_rate: float
    difference: Interval  # reference rate − rate
    belift: float  # rate / rate of all


@dataclass(frozen=True)
class Stratified:
    """A difference between two groups, parted by strata."""

    by: str  # "education", "education × hours", "propensity", "clusters"
    explained: Interval
    unexplained: Interval
    compared: float  # share of the rows in strata with both groups
    cmh: float  # Cochran, Mantel and Haenszel's χ²
    cmh_p: float
    strata: tuple[Stratum, ...]
    least_belift: int | None  # place of the stratum that has it, of those with rows enough


@dataclass(frozen=True)
class Explanation:
    """What is behind the difference between one group and its reference.

    Parameters
    ----------
    attribute, group, reference : str
        The group is taken for the deprived one.
    rows, reference_rows : int
        How many rows each has.
    difference : Interval
        Positive rate of the reference − that of the group.
    parts : tuple of Stratified
        By each explanation asked for, by propensity, and by clusters; none where there are too few rows.
    measures : dict of str to Interval
        By name in `fairbench_cli.measures.registry.ROW_MEASURES`.
    features : tuple of str
        The columns that describe a person: X.
    notes : tuple of str
        What a reader should know.
    """

    attribute: str
    group: str
    reference: str
    rows: int
    reference_rows: int
    difference: Interval
    parts: tuple[Stratified, ...]
    measures: dict[str, Interval]
    features: tuple[str, ...]
    notes: tuple[str, ...]
