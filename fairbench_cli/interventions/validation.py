"""Divide training rows into those that a model is fitted to and those that its decisions are adjusted on."""

from typing import Annotated

import numpy as np
from pydantic import Field

from fairbench_cli.data.table import Sample
from fairbench_cli.interventions.cells import CELLS, rows_of

Share = Annotated[float, Field(gt=0, lt=1)]

SEED = 0  # training rows are drawn at random: any fixed places among them are too


def divide_rows(train: Sample, fraction: float) -> tuple[Sample, Sample]:
    """Return the rows to fit to and the validation rows, each in the order of `train`.

    Stratified: `fraction` of each cell of group and label, rounded to the nearest whole number of rows (half
    to even), is taken for validation. Which ones depends on the training rows alone, so that techniques and
    their parameters are compared on the same validation rows.

    Parameters
    ----------
    train : Sample
        The training rows.
    fraction : float in (0, 1)
        Share of validation rows.
    """
    place = np.random.default_rng(SEED).permutation(len(train))
    chosen = np.zeros(len(train), dtype=bool)
    for cell in CELLS:
        rows = rows_of(train, cell)
        chosen[rows[np.argsort(place[rows])][: round(fraction * len(rows))]] = True
    return train.take(np.flatnonzero(~chosen)), train.take(np.flatnonzero(chosen))
