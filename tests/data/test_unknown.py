"""Unknown outcomes under three policies, rows that count people: each is a plain file written otherwise."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from checks_data import check_card
from conftest import write_config

import fairbench_cli as fb
from fairbench_cli.base.errors import UserError
from fairbench_cli.data.card import read_card
from fairbench_cli.data.checks.groups import UnknownOutcomes, count_unknown_outcomes
from fairbench_cli.data.locate import find_files
from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.experiment.datasets import prepare_datasets

CARD: dict[str, Any] = {
    "name": "toy",
    "files": ["toy.csv"],
    "missing": ["", "NA"],
    "missing_rows": "drop",
    "columns": {
        "sex": "nominal",
        "a": {"kind": "integer", "bins": {"quantiles": 2}},
        "y": {"recode": {"p": "P"}},
    },
    "label": {"column": "y", "favourable": "P", "unknown": ["", "NA", "?"]},
    "protected": {"sex": {"deprived": "f"}},
}
CELLS = "f 1 P,f 2 F,f 5 p,f 9 NA,f 3 ,m 4 P,m NA P,m 6 P,m 7 F,m 8 ?,m 8 P,m 3 F,f 9 F,m 2 unknown"
ROWS = [row.split(" ") for row in CELLS.split(",")]
Row = list[str]


def toy(folder: Path, rows: list[Row] = ROWS, arff: bool = False, **changes: Any) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    card = CARD | changes
    text = "\n".join(map(",".join, [["sex", "a", "y"], *rows])) + "\n"
    if arff:
        domains = "@attribute sex {m, f}\n@attribute a numeric\n"
        domains += "@attribute y {NA, P, '', F, p, never, ?, unknown}\n@data\n"
        text = domains + "\n".join(",".join(cell or "''" for cell in row) for row in rows)
        card |= {"format": "arff"}
    (folder / "toy.csv").write_text(text, encoding="utf-8")
    path = folder / "toy.yaml"
    path.write_text(yaml.safe_dump(card), encoding="utf-8")
    return path


def known(path: Path, policy: Any = None) -> list[tuple[Any, ...]]:
    """Return the rows as text, in the bins of all of them."""
    data = fb.load(path, unknown_as=policy)
    return [*data.table.names, *data.to_pandas().astype(str).itertuples(index=False, name=None)]


@pytest.mark.parametrize("arff", [False, True])
def test_a_policy_is_the_file_with_these_outcomes_written_so(tmp_path, arff):
    plain = CARD["label"] | {"unknown": []}
    unknown = ("", "NA", "?", "unknown")
    path = toy(tmp_path / "own", arff=arff)
    for policy, rows in {
        "leave-out": [row for row in ROWS if row[2] not in unknown],
        "level": [[*row[:2], "unknown" if row[2] in unknown else row[2]] for row in ROWS],
        "unfavourable": [[*row[:2], "F" if row[2] in unknown else row[2]] for row in ROWS],
    }.items():
        written = toy(tmp_path / policy, rows, label=plain)
        assert known(path, policy) == known(written), policy
        assert known(
            toy(tmp_path / "said", arff=arff, label=CARD["label"] | {"unknown_as": policy})
        ) == known(written)
    assert known(path) == known(path, "leave-out")
    listed = toy(
        tmp_path / "listed",
        columns=CARD["columns"] | {"y": {"levels": ["P", "NA", "unknown", "F"], "recode": {"p": "P"}}},
    )
    for policy, levels in {"leave-out": "PF", "level": ("P", "F", "unknown"), "unfavourable": "PF"}.items():
        table = fb.load(listed, unknown_as=policy).table  # type: ignore[arg-type]
        assert table.columns[-1].levels == tuple(levels)


def test_no_reading_of_the_unknown_is_beyond_the_bounds(tmp_path):
    found = {one.attribute: one for one in count_unknown_outcomes(*find_files(str(toy(tmp_path))))}["sex"]
    assert isinstance(found, UnknownOutcomes)
    complete = [row for row in ROWS if row[1] != "NA"]
    open_ones = [i for i, row in enumerate(complete) if row[2] in ("", "NA", "?", "unknown")]
    women = np.array([row[0] == "f" for row in complete])
    gaps = []
    for guess in product([False, True], repeat=len(open_ones)):
        y = np.array([row[2] in "pP" and row[2] != "" for row in complete])
        y[open_ones] = guess
        gaps.append(y[women].mean() - y[~women].mean())
    by = {one.policy: one for one in found.policies}
    gap = {policy: one.rates[0] - one.rates[1] for policy, one in by.items()}
    assert (gap["lowest"], gap["highest"]) == (pytest.approx(min(gaps)), pytest.approx(max(gaps)))
    assert (gap["unfavourable"], gap["favourable"]) == (pytest.approx(gaps[0]), pytest.approx(gaps[-1]))
    assert found.unknown == {"f": (2, 6), "m": (2, 7)}
    for policy in ("leave-out", "level", "unfavourable"):
        rates = fb.load(tmp_path / "toy.yaml", unknown_as=policy).base_rates()  # type: ignore[arg-type]
        counted = by[policy]
        assert {level: k / n for level, (k, n) in counted.levels.items()} == pytest.approx(dict(rates))
        assert counted.rates == pytest.approx([rates["f"], rates["m"]])
    card, files = find_files(
        str(toy(tmp_path / "plain", label=CARD["label"] | {"unknown": []}, missing_rows="drop"))
    )
    assert count_unknown_outcomes(card, files) == ()


def test_an_unknown_number(tmp_path):
    """A label that is cut takes the unknown as a level too."""
    rows = [[*row[:2], {"P": "12", "p": "15", "F": "3"}.get(row[2], row[2])] for row in ROWS]
    columns = {"y": {"kind": "integer", "bins": {"edges": [9], "levels": ["F", "P"]}}}
    path = toy(tmp_path / "numbers", rows, columns=CARD["columns"] | columns)
    words = toy(tmp_path / "words")
    for policy in ("leave-out", "level"):
        assert known(path, policy) == known(words, policy)
        assert fb.load(path, unknown_as=policy).raw["y"].isna().sum() == (4 if policy == "level" else 0)  # type: ignore[arg-type]
    assert count_unknown_outcomes(*find_files(str(path))) == count_unknown_outcomes(*find_files(str(words)))
    with pytest.raises(UserError, match="needs a label of categories"):
        fb.load(path, unknown_as="unfavourable")


def test_what_does_not_fit(tmp_path):
    def words(label: dict[str, Any], rows: list[Row] = ROWS, policy: Any = None) -> str:
        with pytest.raises(UserError) as caught:
            fb.load(toy(tmp_path, rows, label=CARD["label"] | label), unknown_as=policy)
        return str(caught.value)

    assert "error: label: unknown_as: level needs to know which" in words(
        {"unknown": [], "unknown_as": "level"}
    )
    assert '"NA" is both favourable and unknown' in words({"favourable": "NA"})
    assert "says of no outcome that it is unknown" in words({"unknown": []}, policy="leave-out")
    assert "unknown_as is 'drop'\n  fix: use any of: leave-out, level, unf" in words({}, policy="drop")
    with pytest.raises(UserError, match="unknown_as is 'drop'"):
        fb.load("adult", data_dir=tmp_path, unknown_as="drop")  # type: ignore[arg-type]  # before a missing file
    more = [*ROWS, ["m", "1", "W"]]
    assert 'needs one other value of "y", which has "F" and "W"' in words(
        {"unknown_as": "unfavourable"}, more
    )
    nobody = "error: no rows are left\n  fix: check `label`, `missing_rows` of the card"
    assert nobody in words({}, [["f", "1", ""], ["m", "2", "?"]])


def test_a_config_has_one_data_set_under_several_policies(tmp_path):
    path = toy(tmp_path)
    entries: list[Any] = [str(path)]
    entries += [{str(path): {"as": p, "unknown_as": p}} for p in ("leave-out", "level", "unfavourable")]
    options: dict[str, Any] = {"sample": {"from": "data"}, "test": "holdout"}
    config = read_config(write_config(tmp_path / "c.yaml", datasets=entries, **options))
    own, left, level, bad = prepare_datasets(config, None)
    assert own.decisive == left.decisive
    assert len({str(one.decisive) for one in (left, level, bad)}) == 3
    assert [len(one.dataset) for one in (own, left, level, bad) if one.dataset] == [9, 9, 13, 13]
    options = {"sample": {"from": "shipped"}, "test": "network"}
    for first, second, *words in (
        ("adult", "bank", "the card adult says of no outcome", "the card bank says of no outcome"),
        ("law-school", "law-school", *["the fitted network of law-school is of unknown_as: leave-out"] * 2),
    ):
        entries = [{first: {"unknown_as": "level"}}, {second: {"as": "other", "unknown_as": "unfavourable"}}]
        path = write_config(tmp_path / "c.yaml", datasets=entries, **options)
        with pytest.raises(UserError) as refused:
            read_config(path)
        written = [i for i, line in enumerate(path.read_text().splitlines(), 1) if "unknown_as" in line]
        assert [one.where for one in refused.value.problems] == [f"{path}:{line}" for line in written]
        assert all(word in one.what for word, one in zip(words, refused.value.problems, strict=True))
    learned = {"from": "network", "beta": [0.5], "missing_arc": "error"}
    rows = [[sex, str(i % 3), y] for i, (sex, y) in enumerate(product("fm", ("P", "F", "?")))] * 9
    own = [{str(toy(tmp_path, rows)): {"as": "t", "unknown_as": "level"}}]
    config = read_config(write_config(tmp_path / "c.yaml", datasets=own, sample=learned, test="network"))
    with pytest.raises(UserError, match="as: t, unknown_as: level, require_arc: true"):
        prepare_datasets(config, None)


def test_a_check_says_what_is_left_to_say(tmp_path):
    """Name the unknown cells, or, to a card that has, the trap; a level of theirs is no value too many."""
    rows = [row for row in ROWS if row[2] not in ("?", "unknown")] * 40

    def warned(**label: Any) -> dict[str, str]:
        path = toy(tmp_path, rows, label={"column": "y", "favourable": "P"} | label)
        return {one.kind: one.fix for one in check_card(*find_files(str(path))).warnings}

    assert "`label.unknown`" in warned()["unknown-outcomes"]
    for policy in ("leave-out", "level", "unfavourable"):
        found = warned(unknown=["", "NA"], unknown_as=policy)
        assert "`traps`" in found["unknown-outcomes"]
        assert "many-outcomes" not in found


def test_a_row_stands_for_as_many_people_as_it_counts(tmp_path):
    counts = [3, 0, 1, 2, 1, 4, 1, 1, 2, 5, 1, 1, 1, 2]
    written = [row for row, n in zip(ROWS, counts, strict=True) for _ in range(n)]
    (tmp_path / "toy.csv").write_text(
        "sex,n,a,y\n" + "\n".join(f"{r[0]},{n},{r[1]},{r[2]}" for r, n in zip(ROWS, counts, strict=True))
    )
    (tmp_path / "toy.yaml").write_text(yaml.safe_dump(CARD | {"counts": "n"}))
    assert known(tmp_path / "toy.yaml") == known(toy(tmp_path / "written", written))
    for bad, words in {
        "-1": r"toy.csv:3: error: column \"n\" counts -1 people\n  fix: give whole numbers from 0",
        "1.5": r"toy.csv:3: error: column \"n\" should hold whole numbers but has \"1.5\"\n  fix: give whole",
        "99000000": r"counts 99,000,003 people, more than 20,000,000",
    }.items():
        (tmp_path / "toy.csv").write_text(f"sex,n,a,y\nf,3,1,P\nm,{bad},1,F\n")
        with pytest.raises(UserError, match=words):
            fb.load(tmp_path / "toy.yaml")
    (tmp_path / "toy.yaml").write_text(yaml.safe_dump(CARD | {"counts": "sex"}))
    with pytest.raises(UserError, match='"sex" counts the people of a row'):
        read_card(tmp_path / "toy.yaml")
