"""Cards to check: shipped ones, and small tables of an honest data set."""

import csv
import os

import numpy as np
import pytest
import yaml

from fairbench_cli.data.card import find_card, read_card
from fairbench_cli.data.checks.check import check_rows
from fairbench_cli.data.checks.rows import read_raw_rows
from fairbench_cli.data.locate import data_folders, locate_files


def check_card(card, located):
    return check_rows(read_raw_rows(card, located))


def checked(name):
    path = find_card(str(name))
    card = read_card(path)
    return check_card(card, locate_files(card, data_folders(None, path)))


def shipped(name):
    if not os.environ.get("FAIRBENCH_DATA"):
        pytest.skip("needs the official files: set FAIRBENCH_DATA to their folder")
    return checked(name)


def base(n=400, seed=0):
    """Rows of an honest data set: group, age and label, loosely related."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    good = rng.random(n) < np.where(sex == "m", 0.6, 0.4)
    return {
        "sex": sex.tolist(),
        "age": rng.integers(18, 60, n).tolist(),
        "city": rng.choice(list("abcd"), n).tolist(),
        "good": np.where(good, "yes", "no").tolist(),
    }


def card_of(folder, rows, **changes):
    with (folder / "mine.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(rows)
        writer.writerows(zip(*rows.values(), strict=True))
    card = {
        "name": "mine",
        "files": ["mine.csv"],
        "label": {"column": "good", "favourable": "yes"},
        "protected": {"sex": {"deprived": "f"}},
    }
    (folder / "mine.yaml").write_text(yaml.safe_dump(card | changes), encoding="utf-8")
    return folder / "mine.yaml"


def warned(folder, rows, **changes):
    return [(found.column, found.what) for found in checked(card_of(folder, rows, **changes)).warnings]
