"""P-values that are adjusted together: all tests of an audit that decide, by Holm."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairbench_cli.audit.compare.references import Bools
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.significance import holm


@dataclass(frozen=True, eq=False)
class Family:
    """Tables of tests, one an attribute: what decides is adjusted over what decides, the others over all.

    >>> tables = [np.array([[0.01, 0.04]]), np.array([[0.03], [np.nan]])]
    >>> family = Family(tables, [np.array([True, False]), np.array([True])])
    >>> family.size, [p.tolist() for p in family.adjusted()]
    (2, [[[0.02, 0.06]], [[0.03], [nan]]])

    Parameters
    ----------
    tables : sequence of arrays, shape (groups, columns)
        P-values; NaN is no test, and what cannot be tested is 1.
    decide : sequence of bool arrays, shape (columns,)
        What decides; all where it is not said.
    pairs : sequence of arrays, shape (pairs, columns)
        Of further pairs of groups, where the data chose the reference of the tables: these count, too.
    """

    tables: Sequence[Floats]
    decide: Sequence[Bools] = ()
    pairs: Sequence[Floats] = ()

    @property
    def size(self) -> int:
        """How many tests decide."""
        return sum(int((~np.isnan(tests)).sum()) for tests in self._deciding)

    def adjusted(self) -> list[Floats]:
        """Return the tables adjusted."""
        every = self._tests
        p = _holm(self._deciding)
        others = p if all(decides.all() for decides in self.decide) else _holm(every)
        p = np.where(np.isnan(p), others, p)
        found = []
        for tests, table in zip(every, self.tables, strict=True):
            found.append(p[: table.size].reshape(table.shape))
            p = p[tests.size :]
        return found

    @property
    def _tests(self) -> Sequence[Floats]:
        if not self.pairs:
            return self.tables
        return [np.concatenate(both) for both in zip(self.tables, self.pairs, strict=True)]

    @property
    def _deciding(self) -> Sequence[Floats]:
        if not self.decide:
            return self._tests
        both = zip(self.decide, self._tests, strict=True)
        return [np.where(decides, tests, np.nan) for decides, tests in both]


def _holm(tables: Sequence[Floats]) -> Floats:
    return holm(np.concatenate([*(table.ravel() for table in tables), np.empty(0)]))
