"""The measures that need rows: computed where the rows are, inside a repeat, and kept beside the counts."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairbench_cli.data.table import Floats, Labels, Sample
from fairbench_cli.measures.metric import OF_LABELS
from fairbench_cli.measures.registry import ROW_MEASURES
from fairbench_cli.measures.rows import Rows

# These compare the groups within strata, and a config must say which.
OVER_STRATA = frozenset(
    {
        "unexplained-difference",
        "explained-difference",
        "belift",
        "cochran-mantel-haenszel",
        "cochran-mantel-haenszel-p",
    }
)


def over_strata(name: str) -> bool:
    """Tell whether a measure needs explanatory attributes."""
    return name.removesuffix(OF_LABELS) in OVER_STRATA


@dataclass(frozen=True)
class RowWishes:
    """Which measures of rows are asked for.

    Parameters
    ----------
    names : tuple of str
        Names in `ROW_MEASURES`.
    explain : tuple of str
        Explanatory attributes; their levels, crossed, are the strata.
    """

    names: tuple[str, ...] = ()
    explain: tuple[str, ...] = ()

    def record(self, name: str) -> str:
        """Return the name under which a value is kept: with the attributes that it depends on.

        >>> RowWishes(explain=("education",)).record("belift")
        'belift by education'
        """
        return f"{name} by {' × '.join(self.explain)}" if over_strata(name) else name

    @cached_property  # asked for once per repeat of a plan
    def records(self) -> frozenset[str]:
        """Every name under which a value is kept."""
        return frozenset(map(self.record, self.names))


def row_wishes(metrics: tuple[str, ...], explain: tuple[str, ...]) -> RowWishes:
    """Pick the measures of rows out of a config's metrics."""
    return RowWishes(tuple(name for name in metrics if name in ROW_MEASURES), explain)


def measure_test(
    wishes: RowWishes, test: Sample, predicted: Labels, scores: Floats | None
) -> dict[str, float]:
    """Measure the test rows of a repeat: values by the name under which they are kept.

    Raises
    ------
    ValueError
        When a measure cannot honour the rows' weights.
    """
    if not wishes.names:
        return {}
    from fairbench_cli.measures.registry import measure_rows

    values = measure_rows(wishes.names, rows_of(test, predicted, scores, wishes.explain))
    return {wishes.record(name): value for name, value in values.items()}


def rows_of(test: Sample, predicted: Labels, scores: Floats | None, explain: tuple[str, ...]) -> Rows:
    """Set out test rows for the measures: every column but the protected attribute; strata of `explain`."""
    features = test.features.without(test.attribute)
    columns = [
        np.asarray(column.values)[features.codes[:, j]] if column.kind == "number" else features.codes[:, j]
        for j, column in enumerate(features.columns)
    ]
    strata = None
    if explain:
        codes = np.stack([test.features[name] for name in explain], axis=1)
        strata = np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)
    return Rows(
        test.s,
        test.y,
        predicted,
        score=scores,
        features=np.column_stack(columns).astype(np.float64) if columns else None,
        nominal=tuple(column.kind != "number" for column in features.columns),
        weights=test.weights,
        strata=strata,
    )
