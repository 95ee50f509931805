"""Plans of audits of numbers: against the rows that an audit says it needs, and against simulated audits."""

import json
import math

import numpy as np
import pytest

from fairbench_cli.audit.number_planning import NumberPlan
from fairbench_cli.audit.planning import plan
from fairbench_cli.audit.written_plan import files_of
from fairbench_cli.base.errors import UserError
from fairbench_cli.measures.margin import Margin
from fairbench_cli.measures.means import FEWEST_ROWS, rows_to_decide
from fairbench_cli.measures.moments import sum_powers
from fairbench_cli.measures.power_of_means import TwoMeans

SD = 5000.0
MARGIN = 750.0


@pytest.mark.parametrize("difference", [0.0, 300.0, 900.0, 1500.0, -1500.0, 6000.0])
@pytest.mark.parametrize(("rows", "reference_rows"), [(400, 400), (200, 1000)])
def test_rows_are_those_that_an_audit_says_it_needs(
    difference: float, rows: int, reference_rows: int
) -> None:
    values = np.concatenate([spread(rows) + difference, spread(reference_rows)])
    codes = np.repeat([0, 1], [rows, reference_rows])
    moments = sum_powers(values, codes, 2)
    known = float(rows_to_decide(moments[0], moments[1], Margin(MARGIN)))
    design = TwoMeans(rows, reference_rows, SD, MARGIN)
    # The audit leaves out the other tail of a failure, and its variances of means are of n − 1 rows.
    assert design.rows_needed(difference, 0.8) == pytest.approx(known, rel=0.01)


def spread(rows: int) -> np.ndarray:
    """Return rows with the mean 0 and the standard deviation `SD`."""
    values = np.linspace(-1, 1, rows)
    return values / values.std(ddof=1) * SD


def test_chances_are_those_of_simulated_means() -> None:
    generator = np.random.default_rng(7)
    design = TwoMeans(200, 1000, SD, MARGIN, family=2)
    measured = generator.normal(1300, design.error, 200_000)
    limit = 2.2414 * design.error  # 5 % over two comparisons
    fails = np.abs(measured) > max(limit, MARGIN)
    assert design.chance_of_failure(1300) == pytest.approx(fails.mean(), abs=0.005)
    large = design.with_total(40_000)
    measured = generator.normal(400, large.error, 200_000)
    passes = np.abs(measured) + 1.95996 * large.error < MARGIN
    assert large.chance_to_pass(400) == pytest.approx(passes.mean(), abs=0.005)


def test_limits_have_the_power_asked_for() -> None:
    design = TwoMeans(2000, 10_000, SD, MARGIN)
    assert design.chance_of_failure(design.least_failing(0.8)) == pytest.approx(0.8)
    assert design.chance_to_pass(design.most_passing(0.8)) == pytest.approx(0.8)
    few = TwoMeans(FEWEST_ROWS - 1, 10_000, SD, MARGIN)
    assert few.chance_of_failure(1e6) == 0
    assert math.isnan(few.least_failing(0.8))
    assert math.isnan(design.rows_needed(MARGIN, 0.8))


def test_a_plan_needs_no_sizes() -> None:
    alike = plan(sd=SD, difference=[1500, 0], margin=MARGIN)
    assert isinstance(alike, NumberPlan)
    table = alike.to_pandas("needed")
    assert table["rows"].tolist()[0] == 175
    assert table["verdict"].tolist() == ["fail", "pass"]
    assert (table["chance"] >= 0.8).all()
    assert alike.shown == ()


def test_sizes_and_people_give_the_same_plan() -> None:
    sizes = plan({"f": 200, "m": 1000}, sd=SD, margin="0.15sd")
    people = {"sex": ["f"] * 200 + ["m"] * 1000}
    import pandas as pd

    counted = plan(pd.DataFrame(people), attributes=["sex"], sd=SD, margin=MARGIN)
    drop = ["attribute"]
    assert sizes.to_pandas("shown").drop(columns=drop).equals(counted.to_pandas("shown").drop(columns=drop))
    files = files_of(counted)
    assert json.loads(files["plan.json"])["config"]["sd"] == SD
    assert set(files) == {"plan-shown.csv", "plan-needed.csv", "plan.json", "plan.md", "plan.html"}
    assert "1,085 or more" in str(counted.describe().answer)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "nothing says how many rows"),
        ({"sd": 1, "tau": 0.8}, "tau has no effect"),
        ({"sd": 1, "rate": 0.3}, "rate has no effect"),
        ({"sd": 1, "margin": "5%"}, "percent of a mean"),
        ({"sd": 0}, "sd"),
        ({"margin": 0.05, "difference": 2}, "rates differ by less than 1"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(UserError) as refused:
        plan(**options)
    assert words in " ".join(map(str, refused.value.problems))
