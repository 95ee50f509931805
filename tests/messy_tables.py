"""Tables as people have them: nothing is called as an audit wants, values are spelled in several ways."""

import numpy as np
import pandas as pd


def people(n_rows, **columns):
    """Return a frame of so many rows; a list is drawn from, a function makes each value."""
    rng = np.random.default_rng(1)
    made = {}
    for name, values in columns.items():
        made[name.replace("_", " ")] = [
            values(i) if callable(values) else values[rng.integers(len(values))] for i in range(n_rows)
        ]
    return pd.DataFrame(made)


def hiring():
    return people(
        800,
        staff_no=lambda i: f"{i + 7:04}",
        gender=["F", "Female", "f", "M", "male", "Male"],
        age=list(range(19, 68)),
        degree=["none", "BA", "MA", "PhD"],
        ethnic_group=["White", "white", "Black", "Asian", ""],
        salary=list(range(20_000, 90_000, 7)),
        hired=lambda i: "" if i % 40 == 0 else ["yes", "no", "no", "Yes"][i % 7 % 4],
    )


def scores():
    return people(
        500,
        id=lambda i: i,
        risk_score=[i / 997 for i in range(997)],
        defaulted=[0, 1],
        group=["A", "B"],
        zip=list(range(10_000, 99_999, 11)),
    )


MESSY = {
    "hiring": hiring(),
    "scores": scores(),
    "salaries": people(400, sex=["f", "m"], salary=list(range(20_000, 90_000, 7))),
    "no protected names": people(
        400, car=list("rgb"), town=list("xyz"), school=list("pq"), house=list("uv"), approved=list("yn")
    ),
    "an age alone": people(400, age=list(range(18, 81)), accepted=["t", "f"]),
    "labels alone": people(400, sex=["f", "m"], label=[0, 1]),
    "one and two": people(400, sex=["f", "m"], credit=[1, 2]),
    "levels of words": people(400, sex=["f", "m"], score=["low", "high", "medium", "Low"]),
    "words in both": people(
        400, sex=["f", "m"], decision=["accept", "reject"], outcome_true=["good", "bad"], town=["a", "b"]
    ),
    "percents": people(400, sex=["f", "m"], score=[f"{i} %" for i in range(101)], label=[0, 1]),
    "empty cells everywhere": people(400, sex=["f", "m", ""], score=[0, 1, ""], label=["yes", "no", ""]),
    "decimal commas": people(400, sex=["f", "m"], score=[f"0,{i}" for i in range(10, 100)], label=[0, 1]),
}
