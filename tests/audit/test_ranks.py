"""Top lists by ranges of scores, beside sorting them all."""

import io
import math
from collections import defaultdict

import numpy as np
import pytest
from audit_counts import read_tally
from conftest import law
from hypothesis import example, given
from hypothesis import strategies as st

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.base.errors import UserError

NUMBERS = st.one_of(
    # Whole ones from 2^53 on that are written out are refused: their last digits are lost.
    st.floats(-1e100, 1e100).filter(lambda number: abs(number) < 2**53 or "e" in repr(number)),
    st.floats(0, 1),
    st.integers(-5, 5).map(float),
    st.integers(0, 9).map(lambda i: 0.5 + i * 2.0**-50),
)
ROWS = st.lists(
    st.tuples(NUMBERS, st.sampled_from("ab"), st.sampled_from(["m", "n"])), min_size=1, max_size=40
)


def read(rows, **keys):
    text = "score,race,m\n" + "".join(f"{score!r},{race},{model}\n" for score, race, model in rows)
    return read_tally("-", AuditConfig(**keys), stdin=io.BytesIO(text.encode()))


def expected(rows, k, ties):
    """Return the rows selected by race, from all scores sorted."""
    cut = sorted((score for score, *_ in rows), reverse=True)[k - 1]
    upto = sum(score >= cut for score, *_ in rows)
    strict = ties == "exclude" and upto > k
    found = defaultdict(int)
    for score, race, _ in rows:
        found[race] += score > cut if strict else score >= cut
    above = sum(score > cut for score, *_ in rows)
    return dict(found), above if strict else upto


@law(10)
@given(ROWS, st.integers(1, 5), st.sampled_from(["include", "exclude"]))
@example([(1e100, "a", "m"), (-1e100, "b", "m"), (9e99, "b", "m"), (5e-324, "a", "m")], 2, "include")
def test_as_sorting(rows, k, ties):
    shares = (0.3, 0.9)
    tally = read(rows, top_k=(min(k, len(rows)),), top_share=shares, ties=ties, attributes=("race",))
    wanted = [min(k, len(rows)), *(max(1, math.ceil(round(share * len(rows), 9))) for share in shares)]
    for part, size in zip(tally.slices, wanted, strict=True):
        found, total = expected(rows, size, ties)
        assert dict(zip(part.counts.groups, part.counts.predicted[:, 1].tolist(), strict=True)) == found
        assert part.counts.predicted[:, 1].sum() == total


def test_each_model_has_its_own_list():
    rng = np.random.default_rng(5)
    rows = [(float(x), "ab"[i % 2], "mn"[i % 3 == 0]) for i, x in enumerate(rng.normal(size=3000))]
    tally = read(rows, top_k=(1, 250, 700), model_column="m", attributes=("race",))
    for part in tally.slices:
        own = [row for row in rows if row[2] == part.model]
        found, _ = expected(own, int(part.decision.split()[1]), "include")
        assert dict(zip(part.counts.groups, part.counts.predicted[:, 1].tolist(), strict=True)) == found


def test_ties_are_drawn_within_a_range():
    rows = [(0.5 + (i % 4) * 2.0**-45, "ab"[i % 2], "m") for i in range(400)]
    tally = read(rows, top_k=(150,), ties="random", attributes=("race",))
    assert tally.slices[0].decision == "top 150 (50 of 100 ties drawn)"
    assert tally.slices[0].counts.predicted[:, 1].sum() == 150


@pytest.mark.parametrize("bad", ["nan", "inf", "-inf"])
def test_scores_that_are_none_are_refused(bad):
    with pytest.raises(UserError, match="not a finite number"):
        read([(0.5, "a", "m"), (float(bad), "b", "m")], top_share=(0.5,), attributes=("race",))
