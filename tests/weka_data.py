"""The data sets of the J48 goldens, made from the official files as Weka had them."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

REFERENCE = Path(__file__).parent / "reference" / "j48"

# fmt: off
ADULT = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country",
    "outcome",
]
# fmt: on
NUMERIC = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")


@dataclass(frozen=True, eq=False)
class Weka:
    """Codes of the features (declared level counts in `levels`), classes and weights."""

    names: list[str]
    levels: list[int]
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None


def data_file(name: str) -> Path:
    folder = os.environ.get("FAIRBENCH_DATA")
    if not folder or not (Path(folder) / name).is_file():
        pytest.skip(f"set FAIRBENCH_DATA to the folder of {name}")
    return Path(folder) / name


def read_adult() -> pd.DataFrame:
    parts = [
        pd.read_csv(
            data_file(name),
            header=None,
            names=ADULT,
            skipinitialspace=True,
            dtype=str,
            keep_default_na=False,
            skiprows=skip,
        )
        for name, skip in (("adult.data", 0), ("adult.test", 1))
    ]
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(outcome=frame["outcome"].str.rstrip("."))


def load(name: str) -> Weka:
    if name == "dutch":
        lines = data_file("dutch_census_2001.arff").read_text().split("@data")[1].split()
        domains = json.loads((REFERENCE / "dutch.domains.json").read_text())
        return _coded(pd.DataFrame([line.split(",") for line in lines], columns=list(domains)), domains)
    frame = read_adult()
    frame = frame[~(frame == "?").any(axis=1)].drop(columns=["fnlwgt", "education-num"])
    domains = json.loads((REFERENCE / "adult.domains.json").read_text())
    for column, bins in (("age", 10), ("hours-per-week", 5)):
        values = frame[column].astype(float).to_numpy()
        edges = np.linspace(values.min(), values.max(), bins + 1)[1:-1]
        frame[column] = [f"b{i:02d}" for i in np.searchsorted(edges, values, side="left")]
    for column in ("capital-gain", "capital-loss"):
        frame[column] = np.where(frame[column].astype(int) == 0, "zero", "nonzero")
    weka = _coded(frame, domains)
    if name == "adult_rw":
        return _reweighed(weka)
    if name == "adult_nosex":
        kept = [j for j, column in enumerate(weka.names) if column != "sex"]
        names, levels = [weka.names[j] for j in kept], [weka.levels[j] for j in kept]
        return Weka(names, levels, weka.X[:, kept], weka.y)
    return weka


def _coded(frame: pd.DataFrame, domains: dict[str, list[str]]) -> Weka:
    codes = np.column_stack(
        [pd.Categorical(frame[name], categories=own).codes for name, own in domains.items()]
    )
    assert (codes >= 0).all()
    names = list(domains)[:-1]
    return Weka(names, [len(domains[name]) for name in names], codes[:, :-1].astype(np.int32), codes[:, -1])


def _reweighed(weka: Weka) -> Weka:
    s = weka.X[:, weka.names.index("sex")]
    cells = np.bincount(2 * s + weka.y, minlength=4).reshape(2, 2).astype(float)
    expected = cells.sum(axis=1, keepdims=True) * cells.sum(axis=0, keepdims=True) / cells.sum()
    return Weka(weka.names, weka.levels, weka.X, weka.y, (expected / cells)[s, weka.y])


def options(text: str) -> dict[str, object]:
    """Turn J48's flags into parameters of `C45`."""
    words = iter(text.split())
    found: dict[str, object] = {}
    flags = {"-U": "prune", "-S": "raise_subtrees", "-O": "collapse"}
    for word in words:
        if word == "-C":
            found["confidence"] = float(next(words))
        elif word == "-M":
            found["min_leaf"] = float(next(words))
        elif word == "-A":
            found["laplace"] = True
        else:
            found[flags[word]] = False
    return found
