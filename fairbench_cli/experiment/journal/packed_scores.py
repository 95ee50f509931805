"""Sums of the scores of groups as a short text, in which a journal keeps them: 8 bytes a number, compressed.

They follow each other as `GroupScores` has them: rows, wins, errors, bins. Where a model gives no scores
there are rows alone, and where these are no probabilities rows and wins; the length says which.
"""

import base64
import math
import zlib

import numpy as np

from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.group_scores import BINS, GroupScores

_NUMBER = "<f8"


def pack_scores(scores: GroupScores) -> str:
    """Return the sums of a repeat as text.

    >>> from fairbench_cli.measures.group_scores import sum_scores
    >>> text = pack_scores(sum_scores([0, 0, 1], [0, 1, 1], [0.25, 0.5, 0.75], ("women", "men")))
    >>> unpack_scores(text, 2).wins.tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    arrays = [scores.rows]
    for values in (scores.wins, scores.errors, scores.bins):
        if not np.isnan(values).any():
            arrays.append(values)
    body = b"".join(values.astype(_NUMBER).tobytes() for values in arrays)
    return base64.b64encode(zlib.compress(body, 9)).decode("ascii")


def unpack_scores(text: str, n_groups: int) -> GroupScores:
    """Return the sums of a repeat, of so many groups, which are numbered.

    Raises
    ------
    ValueError
        When the text is not one of `pack_scores`, or of another number of groups.
    """
    shapes = {
        "rows": (n_groups, 2),
        "wins": (n_groups, n_groups),
        "errors": (n_groups, 2),
        "bins": (n_groups, BINS, 3),
    }
    most = sum(math.prod(shape) for shape in shapes.values())
    unpacking = zlib.decompressobj()
    try:
        body = unpacking.decompress(base64.b64decode(text, validate=True), 8 * most + 1)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"no sums of scores: {error}") from None
    if not unpacking.eof or len(body) % 8:
        raise ValueError(f"no sums of scores of {n_groups} groups")
    numbers = np.frombuffer(body, _NUMBER).astype(np.float64)
    if not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise ValueError("sums of scores are negative or no numbers")
    arrays: dict[str, Floats] = {}
    position = 0
    for name, shape in shapes.items():
        end = position + math.prod(shape)
        if position == len(numbers) and position > 0:
            arrays[name] = np.full(shape, np.nan)
        elif end <= len(numbers):
            arrays[name] = numbers[position:end].reshape(shape)
            position = end
        else:
            raise ValueError(f"no sums of scores of {n_groups} groups")
    groups = tuple(map(str, range(n_groups)))
    return GroupScores(groups, arrays["rows"], arrays["wins"], arrays["errors"], arrays["bins"])
