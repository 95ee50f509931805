"""Divide training rows into those that a model is fitted to and those that its decisions are adjusted on."""

from typing import Annotated

import numpy as np
from pydantic import Field

from fairbench_cli.data.table import Sample
from fairbench_cli.interventions.cells import CELLS, rows_of

Share = Annotated[float, Field(gt=0, lt=1)]


def divide_rows(train: Sample, fraction: float, rng: np.random.Generator) -> tuple[Sample, Sample]:
    """Return the rows to fit to and the validation rows, each in the order of `train`.

    Stratified: `fraction` of each cell of group and label, rounded to the nearest whole number of rows (half
    to even), is drawn for validation. Test rows are never among them.

    Parameters
    ----------
    train : Sample
        The training rows.
    fraction : float in (0, 1)
        Share of validation rows.
    rng : Generator
        Draws the rows.
    """
    chosen = np.zeros(len(train), dtype=bool)
    for cell in CELLS:
        rows = rows_of(train, cell)
        chosen[rng.permutation(rows)[: round(fraction * len(rows))]] = True
    return train.take(np.flatnonzero(~chosen)), train.take(np.flatnonzero(chosen))
