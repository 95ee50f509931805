"""Data sets whose answer is known: a randomised experiment, Simpson's paradox, what explains a difference.

The numbers to compare with are of statsmodels, on the public files, or counted here with pandas.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from audit_counts import read_tally
from statsmodels.api import OLS, add_constant
from statsmodels.stats.oaxaca import OaxacaBlinder

from fairbench_cli.audit.api import AuditResult, audit
from fairbench_cli.audit.compare.effective_sizes import rate_rows
from fairbench_cli.audit.compare.references import REST
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.options import read_config
from fairbench_cli.base.errors import UserError
from fairbench_cli.measures.counts import Floats


def experiment(people: int, together: float, seed: int = 0) -> pd.DataFrame:
    """Two rows of either group for each person, of whom some never differ; others are as chance has it."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), 4)
    same = (rng.random(people) < together)[person]
    y = np.where(same, (rng.random(people) < 0.3)[person], rng.random(4 * people) < 0.3)
    return pd.DataFrame({"score": y.astype(int), "race": np.tile(["b", "b", "w", "w"], people), "ad": person})


def by_hand(frame: pd.DataFrame) -> tuple[float, float, float]:
    """Return the difference b − w of OLS with errors clustered by ad, and its 95 % limits by the normal."""
    group = add_constant((frame["race"] == "b").astype(float))
    model = OLS(frame["score"], group).fit(cov_type="cluster", cov_kwds={"groups": frame["ad"]})
    return (float(model.params["race"]), *map(float, model.conf_int().loc["race"]))


def difference(found: AuditResult) -> Floats:
    of = next(one.difference for one in found.report.disparities if not one.is_reference)
    return np.array([of.value, of.low, of.high])


def test_the_resumes_give_the_published_difference_with_errors_by_ad(data_folder: Path) -> None:
    """Bertrand & Mullainathan (2004), table 1: 9.65 % and 6.45 % are called back."""
    rows = pd.read_csv(data_folder / "labor_market_discrimination.csv")
    rows = rows.rename(columns={"call": "score", "ad_id": "ad"})[["score", "race", "ad"]]
    keys = {"attribute": ["race"], "ref": {"race": "w"}}
    known = by_hand(rows)
    assert known[0] == pytest.approx(-0.0320, abs=5e-5)
    ours = difference(audit(rows, cluster="ad", **keys))
    assert ours == pytest.approx(known, abs=6e-4)
    assert ours[1] < known[1] < known[2] < ours[2]
    separate = difference(audit(rows, **keys))
    assert separate[2] - separate[1] > 1.2 * (ours[2] - ours[1])


def test_rows_of_people_in_both_groups_are_worth_what_statsmodels_makes_of_them() -> None:
    keys = {"attribute": ["race"], "ref": {"race": "w"}}
    for seed, (people, together) in enumerate([(300, 0.0), (300, 0.5), (800, 0.9)]):
        rows = experiment(people, together, seed)
        value, low, high = by_hand(rows)
        ours = difference(audit(rows, cluster="ad", **keys))
        assert ours[0] == pytest.approx(value)
        wide = (ours[2] - ours[1]) / (high - low)
        assert 0.98 < wide < 1.15, (people, together, wide)


def test_people_who_never_differ_do_not_make_a_comparison_certain() -> None:
    """Of 100 people of whom none differs, up to 3 in 100 may: the rule of three."""
    (part,) = read_tally(experiment(100, 1.0), AuditConfig(attributes=("race",), cluster="ad")).slices
    name, at = ("selection-rate",), np.array([1])
    for reference in (at, np.array([REST])):
        own, ref = rate_rows(part, name, reference, matched=True)
        p = own.numerator[0, 0] / own.denominator[0, 0]
        error = np.sqrt(p * (1 - p) * (1 / own.denominator[0, 0] + 1 / ref.denominator[0, 0]))
        assert 0.01 < 1.96 * error < 0.04
    # Without it they are separate people.
    plain = rate_rows(part, name, at)[0].denominator[0, 0]
    assert plain <= 101
    # Where some differ their own differences say how certain it is; a reference that its rate has chosen is
    # paid for by the tests of all pairs, and not by the interval.
    rows, keys = experiment(100, 0.9, 1), {"attribute": ["race"], "cluster": "ad"}
    chosen = audit(rows, **keys, ref_method="maximum").report.disparities
    given = audit(rows, **keys, ref={"race": "w"}).report.disparities
    width = {
        key: next(one.ratio.high - one.ratio.low for one in of if one.group != one.reference)
        for key, of in (("chosen", chosen), ("given", given))
    }
    assert width["given"] == pytest.approx(width["chosen"])


ADMISSIONS = {"label": "Admit", "favourable": "Admitted", "attribute": ["Gender"], "explain": "Dept"}


def test_berkeley_is_simpsons_paradox(data_folder: Path) -> None:
    """Bickel, Hammel & O'Connell (1975)."""
    path = data_folder / "UCBAdmissions.csv"
    table = pd.read_csv(path)
    people = table.loc[table.index.repeat(table["Freq"]), ["Admit", "Gender", "Dept"]]
    found = audit(path, counts="Freq", **ADMISSIONS)
    (sex,) = found.report.found["explanations"]
    assert (sex.group, sex.rows, sex.reference, sex.reference_rows) == ("Female", 1835, "Male", 2691)
    yes = people["Admit"] == "Admitted"
    rate = yes.groupby([people["Gender"], people["Dept"]]).mean().unstack("Gender")
    share = pd.crosstab(people["Dept"], people["Gender"], normalize="columns").mean(axis=1)
    women, men = (yes[people["Gender"] == of].mean() for of in ("Female", "Male"))
    dept = sex.parts[0]
    assert sex.difference.value == pytest.approx(women - men) == pytest.approx(-0.1416, abs=5e-5)
    assert dept.unexplained.value == pytest.approx(((rate["Female"] - rate["Male"]) * share).sum())
    assert (round(dept.unexplained.value, 3), round(dept.explained.value, 3)) == (0.036, -0.178)
    assert (dept.unexplained.low > 0, dept.compared) == (True, 1.0)
    rate = next(one for one in found.report.disparities if not one.is_reference)
    assert (rate.group, round(rate.ratio.value, 3), rate.verdict) == ("Female", 0.682, "fail")
    paradox = (
        "Simpson's paradox: Female is selected less often of all, but more often within strata of Dept, "
    )
    assert f"{paradox}0.036 " in found.to_markdown()


def test_what_explains_refusals_of_mortgages_is_that_of_oaxaca_and_blinder(data_folder: Path) -> None:
    """With a dummy of each stratum and coefficients that are the mean of both groups' (Reimers 1983)."""
    rows = pd.read_csv(data_folder / "HMDA.csv")
    keys = {"label": "deny", "favourable": "no", "attribute": ["afam"], "ref": {"afam": "no"}}
    rows = rows[["afam", "deny", "chist", "phist"]]
    (race,) = audit(rows, explain=["chist", "chist,phist"], **keys).report.found["explanations"]
    assert race.difference.value == pytest.approx(0.7168 - 0.9074, abs=1e-4)
    for part, names in zip(race.parts, (["chist"], ["chist", "phist"]), strict=False):
        stratum = rows[names].astype(str).agg(" ".join, axis=1)
        dummies = pd.get_dummies(stratum, drop_first=True).astype(float).assign(black=rows["afam"] == "yes")
        approved = (rows["deny"] == "no").astype(float)
        model = OaxacaBlinder(approved, dummies.astype(float), "black", hasconst=False)
        left, explained, gap = model.two_fold(two_fold_type="self_submitted", submitted_weight=0.5).params
        assert [-part.unexplained.value, -part.explained.value] == pytest.approx([left, explained])
        assert gap == pytest.approx(-race.difference.value)
        assert part.unexplained.low < part.unexplained.value < part.unexplained.high < 0
        assert part.explained.high < 0
        assert part.compared == 1.0
    assert [round(-part.explained.value, 3) for part in race.parts[:2]] == [0.058, 0.078]


TABLE = pd.DataFrame(
    {
        "score": [1, 0, 1, 0, 1],
        "sex": ["f", "f", "m", "m", "x"],
        "many": [30, 40, 50, 20, 0],
        "job": list("abaab"),
    }
)


@pytest.mark.parametrize("form", ["frame", "csv", "parquet"])
def test_a_row_of_several_people_is_as_many_rows(tmp_path: Path, form: str) -> None:
    rows = TABLE.loc[TABLE.index.repeat(TABLE["many"])].drop(columns="many")
    source = TABLE
    if form == "csv":
        TABLE.to_csv(source := tmp_path / "t.csv", index=False)
    elif form == "parquet":
        import duckdb

        duckdb.from_df(TABLE).write_parquet(str(source := tmp_path / "t.parquet"))
    keys = {"attribute": ["sex"], "explain": "job", "label": "score", "score": "score"}
    one, other = (
        json.loads(found.to_json()) for found in (audit(source, counts="many", **keys), audit(rows, **keys))
    )
    assert "many: a row stands for as many people." in one.pop("notes")
    other.pop("notes")
    for each in (one, other):
        each.pop("source", None)
        each["config"].pop("counts", None)
    assert one == other


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([1, 2.5, 3], 'p.csv:3: error: "n" has "2.5", not a whole number from 0 to 10,000,000, in 1 row'),
        ([1, 2, -3], 'p.csv:4: error: "n" has "-3"'),
        (["", 2, 3], 'p.csv:2: error: "n" has ""'),
        ([0, 0, 0], '"n" adds up to 0 people'),
        ([9_000_000] * 3, '"n" adds up to 27,000,000 people'),
    ],
)
def test_counts_that_are_none_are_refused(tmp_path: Path, say, cells: list[object], message: str) -> None:
    (tmp_path / "p.csv").write_text(
        "score,sex,n\n" + "".join(f"{i % 2},{'fm'[i % 2]},{n}\n" for i, n in enumerate(cells))
    )
    said = say("audit", tmp_path / "p.csv", "-a", "sex", "--counts", "n")
    assert (said.code, len(said.err.splitlines())) == (2, 2)
    assert message in said.err


def test_a_wrong_cell_is_named_by_its_line_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("score,sex,n\n1,f,5\n0,m,7\n7,m,9\n")
    with pytest.raises(UserError) as caught:
        audit(tmp_path / "p.csv", attribute=["sex"], counts="n")
    assert caught.value.problems[0].where.endswith("p.csv:4")
    assert "in 1 row" in caught.value.problems[0].what
    with pytest.raises(UserError, match="not paired"):
        read_config({"counts": "n", "against": "old.csv"})


def test_propublicas_own_compas_file_is_read(data_folder: Path) -> None:
    """It has decile_score and priors_count twice; the false positive rates are the published ones."""
    keys = {"score": "score_text", "favourable": ["Medium|High"], "label": "two_year_recid"}
    result = audit(data_folder / "compas-scores-two-years.csv", attributes=["race"], draws=0, **keys)
    rates = result.to_pandas("groups").query("metric == 'fpr'").set_index("group")["value"]
    assert rates[["African-American", "Caucasian"]].round(4).tolist() == [0.4485, 0.2345]
