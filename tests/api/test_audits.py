"""Audits from Python: arrays, frames and files of the same rows give the same report."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairbench_cli as fb
from fairbench_cli.audit.show.tables import to_document

ROWS = 600
OPTIONS = {"attributes": ["race", "sex", "size"], "draws": 20, "intersect": ["race,sex"], "threshold": 0.5}


@pytest.fixture(scope="module")
def rows() -> dict[str, list[object]]:
    rng = np.random.default_rng(3)
    return {
        "score": rng.random(ROWS).round(3).tolist(),
        "label": rng.integers(0, 2, ROWS).tolist(),
        "race": rng.choice(["a", "b", " c", ""], ROWS).tolist(),
        "sex": rng.choice(["f", "m"], ROWS).tolist(),
        "size": rng.choice([1, 2, 3], ROWS).tolist(),
    }


def found(result: object) -> dict[str, object]:
    """Return all that was found, apart from where it was read."""
    return to_document(result.report) | {"source": ""}


class Stream:
    """Rows that are there once only, as of a database."""

    def __init__(self, reader: Any) -> None:
        self.reader = reader

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.reader.__arrow_c_stream__(requested_schema)


def test_frames_of_every_kind_give_the_report_of_a_file(rows, tmp_path, pl, pa):
    frame = pd.DataFrame(rows)
    words = ["race", "sex"]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet", index=False)
    polars, arrow = pl.DataFrame(rows), pa.table(rows)
    expected = found(fb.audit(tmp_path / "rows.csv", **OPTIONS))
    assert len(expected["groups"]) == 4 + 2 + 3 + 8
    kinds = {
        "Parquet": str(tmp_path / "rows.parquet"),
        "pandas": frame,
        "pandas, objects": frame.astype(dict.fromkeys(words, object)),
        "pandas, arrow": frame.astype(dict.fromkeys(words, "string[pyarrow]")),
        "pandas, category": frame.astype(dict.fromkeys([*words, "size"], "category")),
        "pandas, small numbers": frame.astype({"label": bool, "size": "Int8"}),
        "Polars": polars,
        "Polars, lazy": polars.lazy(),
        "Polars, categorical": polars.with_columns(pl.col(words).cast(pl.Categorical)),
        "Polars, enum": polars.with_columns(pl.col("sex").cast(pl.Enum(["m", "f"]))),
        "Arrow": arrow,
        "Arrow, dictionary": arrow.set_column(2, "race", arrow["race"].dictionary_encode()),
        "a stream": Stream(pa.RecordBatchReader.from_stream(arrow)),
    }
    for name, given in kinds.items():
        assert found(fb.audit(given, **OPTIONS)) == expected, name


def test_columns_may_differ_in_capitals_alone(pl, pa):
    columns = {"score": [1, 0, 1, 0], "sex": list("ffmm"), "Sex": list("abab")}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        groups = fb.audit(frame, draws=0).to_pandas("groups")
        assert groups["attribute"].unique().tolist() == ["(all)", "sex", "Sex"]


def test_arrays_give_the_report_of_a_csv(rows, tmp_path, pl, pa):
    y, predicted = rows["label"], [int(score > 0.5) for score in rows["score"]]
    table = pd.DataFrame({"score": predicted, "label": y, "race": rows["race"], "sex": rows["sex"]})
    table.to_csv(tmp_path / "rows.csv", index=False)
    expected = found(fb.audit(tmp_path / "rows.csv", draws=20))
    mixed = table.set_axis(range(ROWS, 0, -1))  # an index must not reorder rows
    groups = {name: rows[name] for name in ("race", "sex")}
    for given in (
        (y, predicted, groups),
        (np.array(y), np.array(predicted), {name: np.array(of) for name, of in groups.items()}),
        (mixed["label"], np.array(predicted), mixed[["race", "sex"]]),
        (pl.Series(y), pa.chunked_array([predicted]), pl.DataFrame(groups)),
        (y, pd.Series(predicted), pa.table(groups)),
    ):
        assert found(fb.audit(*given, draws=20)) | {"config": 0} == expected | {"config": 0}
    assert fb.audit(y_true=y, y_pred=predicted, groups=groups, draws=20).verdict == expected["verdict"]
    one = fb.audit(y, predicted, mixed["sex"], draws=0)
    assert one.to_pandas("verdicts")["attribute"].unique().tolist() == ["sex", "(all)"]
    assert fb.audit(None, predicted, rows["sex"], draws=0).report.slices[0].attribute == "group"
    assert fb.audit(y, predicted, rows["sex"], weights=[2.0] * ROWS, draws=0).report.weighted


def test_a_result_is_frames_pages_and_text(rows):
    result = fb.audit(pd.DataFrame(rows), threshold=0.5, attributes="sex", ref={"sex": "m"}, draws=0)
    disparities, groups = result.to_pandas(), result.to_pandas("groups")
    assert disparities["ratio"].dtype == groups["value"].dtype == float
    assert disparities["is_reference"].dtype == bool
    assert set(disparities["group"]) == {"f", "m"}
    assert result.to_html().startswith("<!DOCTYPE html>")
    part = result._repr_html_()
    assert part.startswith("<div><header>\n<p>")
    assert not any(word in part for word in ("<style", "<html", "class=", "id=", "<script"))
    assert "sex: " in part
    assert part.count("<svg") == 1
    assert len(repr(result)) < 250
    again = pickle.loads(pickle.dumps(result))  # noqa: S301
    assert again.to_json() == result.to_json()
    assert found(again) == found(result)


def test_the_chart_of_an_attribute(rows, tmp_path):
    result = fb.audit(pd.DataFrame(rows), threshold=0.5, attributes=["race", "sex"], draws=0)
    chart = result.plot("sex")
    assert repr(chart).startswith("<Chart: sex: ")
    assert chart.svg in result.to_html()
    assert repr(result.plot()) in {repr(chart), repr(result.plot("race"))}
    chart.save(tmp_path / "sex.svg")
    assert (tmp_path / "sex.svg").read_text() == f"{chart.svg}\n"
    with pytest.raises(fb.UserError, match='no attribute "sx"\n  fix: did you mean "sex"'):
        result.plot("sx")
    with pytest.raises(fb.UserError, match="compares no groups"):
        fb.audit([1, 0], [1, 0], ["f", "f"], draws=0).plot()


NAN = [float("nan"), 1, 0]


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: fb.audit(), TypeError, "nothing to audit"),
        (lambda: fb.audit([1], [1]), TypeError, "groups is missing"),
        (lambda: fb.audit("x.csv", treshold=1), TypeError, 'did you mean "threshold"'),
        (lambda: fb.audit("x.csv", weights=[1]), TypeError, 'weight="w"'),
        (lambda: fb.audit([1, 0], [0.2, 1], ["a", "b"]), fb.UserError, r"threshold=0\.5, top_k=100"),
        (lambda: fb.audit([1, 0], [1], ["a", "b"]), TypeError, "lengths differ: y_true 2, y_pred 1"),
        (lambda: fb.audit([1, 0, 1], NAN, ["a", "b", "a"]), fb.UserError, "score"),
        (lambda: fb.audit(pd.DataFrame({"score": [1]})), fb.UserError, "attribute="),
        (lambda: fb.audit(pd.DataFrame()), fb.UserError, "no columns"),
        (lambda: fb.audit({"score": [1]}), fb.UserError, "pandas, Polars or Arrow"),
        (lambda: fb.audit("no.csv"), fb.UserError, "no such file"),
        (lambda: fb.audit([1, 0], [1, 0], ["a", "b"]).to("pfd"), TypeError, "no format"),
        (lambda: fb.audit([1, 0], [1, 0], ["a", "b"]).to_pandas("group"), TypeError, '"groups"'),
    ],
)
def test_mistakes_of_a_call(call, kind, said):
    with pytest.raises(kind, match=said) as error:
        call()
    assert isinstance(error.value, fb.UserError)
    assert "\n  fix: " in str(error.value)
    assert "--" not in str(error.value)
