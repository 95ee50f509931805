"""A table of published repeats, as arrays."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from fairbench_cli.measures.counts import Floats


@dataclass(frozen=True, eq=False)
class StudyTable:
    """The values of a study's repeats, by cell."""

    keys: pd.DataFrame
    values: Floats
    repeats: tuple[str, ...]
    roles: Mapping[str, str]
    notes: tuple[str, ...] = ()
