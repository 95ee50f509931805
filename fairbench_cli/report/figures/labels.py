"""Places for labels beside points, without overlap where there is room."""

import numpy as np

from fairbench_cli.measures.counts import Floats

RADII = (8.0, 14.0, 22.0, 32.0, 44.0, 58.0)
ANGLES = 16
ROUNDS = 6


def place_labels(
    points: Floats, sizes: Floats, obstacles: Floats, frame: tuple[float, float, float, float]
) -> Floats:
    """Choose for each label the nearest place around its point that is free.

    Labels choose in turn, several times over, so that an early one can make way for a late one.

    Parameters
    ----------
    points : (n, 2) float64 array
        The labelled points.
    sizes : (n, 2) float64 array
        Width and height of every label.
    obstacles : (m, 4) float64 array
        Boxes (left, bottom, right, top) to keep clear of: markers and intervals.
    frame : tuple of float
        Left, bottom, right, top of the room there is.

    Returns
    -------
    (n, 4) float64 array
        The labels' boxes: left, bottom, right, top. All in the unit of the points.
    """
    choices = [_around(point, size) for point, size in zip(points, sizes, strict=True)]
    chosen = [boxes[0] for boxes in choices]
    own_cost = [
        6.0 * _overlap(boxes, obstacles).sum(axis=1)
        + 20.0 * _outside(boxes, frame)
        + np.repeat(RADII, ANGLES) * sizes[i, 1] / 8
        for i, boxes in enumerate(choices)
    ]
    for _ in range(ROUNDS):
        before = list(chosen)
        for i, boxes in enumerate(choices):
            others = np.array([box for k, box in enumerate(chosen) if k != i]).reshape(-1, 4)
            cost = own_cost[i] + 10.0 * _overlap(boxes, others).sum(axis=1)
            chosen[i] = boxes[int(np.argmin(cost))]
        if all(np.array_equal(a, b) for a, b in zip(before, chosen, strict=True)):
            break
    return np.array(chosen).reshape(-1, 4)


def _around(point: Floats, size: Floats) -> Floats:
    """Return boxes around a point, near ones first: beside it, above it, below it, aslant."""
    turn = 2 * np.pi * np.arange(ANGLES) / ANGLES
    way = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    # The box's corner or side that faces the point is a radius away, whatever the direction.
    centres = [point + way * radius + np.clip(way * 1.5, -1, 1) * size / 2 for radius in RADII]
    middle = np.concatenate(centres)
    return np.concatenate([middle - size / 2, middle + size / 2], axis=1)


def _overlap(boxes: Floats, others: Floats) -> Floats:
    """Areas that two lots of boxes share, (k, 4) and (m, 4) to (k, m)."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    area: Floats = np.prod(np.clip(high - low, 0, None), axis=2)
    return area


def _outside(boxes: Floats, frame: tuple[float, float, float, float]) -> Floats:
    """Areas of the boxes that stick out of the frame."""
    room = np.array([frame])
    own: Floats = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    inside: Floats = _overlap(boxes, room)[:, 0]
    return own - inside
