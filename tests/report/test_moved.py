"""A change that is shown is never called none, and a p stands beside the interval that it is of."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import most_by_chance, scaled, some_of, study_of, worlds
from report.answer_run import counts, run_of

from fairbench_cli.document.markdown import markdown
from fairbench_cli.report.ledger.answer import answer_of
from fairbench_cli.report.ledger.findings import findings_frame
from fairbench_cli.report.ledger.paired_differences import run_paired_frame
from fairbench_cli.report.ledger.results import run_results
from fairbench_cli.report.parts.differences import paired_table
from fairbench_cli.report.show.answer_text import answer_document
from fairbench_cli.report.show.answer_worlds import result_of

NAMES = ("massaging", "reweighing", "uniform-sampling")
NOTHING = re.compile(r"not shown|[Nn]o change|[Nn]o difference|not decided")


@pytest.mark.parametrize("seed", some_of(range(scaled(120)), 12))
def test_what_moves_is_said_to_move_through_every_door(seed):
    rng = np.random.default_rng(seed)
    repeats, spread = int(rng.integers(3, 9)), rng.choice([0.0, 0.02, 0.08])
    gaps = {name: float(rng.choice([0.09, 0.04, 0.0, -0.04, -0.09])) for name in ("none", *NAMES)}
    rates = {name: ((0.4, 0.4 + gap), 0.8) for name, gap in gaps.items()}
    metrics = ("discrimination", "accuracy", "overestimation", "underestimation")
    plan, records = run_of({"bank": rates}, repeats, metrics=metrics)
    for (key, repeat), record in records.items():
        gap = gaps[key.removeprefix("bank-").removesuffix("-0.0")] + rng.normal(0, spread)
        made = counts((0.4, np.clip(0.4 + gap, 0.05, 0.95)), 0.8, rng)
        records[key, repeat] = replace(record, counts=made)
    run = run_results(Path(), plan, records, plan.config.at_hand)
    paired = run_paired_frame(run).set_index(["metric", "intervention"])
    (setting,) = answer_of(run).settings
    short = {row[1].text: row[-1].text for row in answer_document(run, brief=True).sections[0].tables[0].rows}
    document = markdown(answer_document(run))
    frame = findings_frame(run).set_index(["column", "technique"])
    table = markdown(paired_table("x", run))
    for name in NAMES:
        row, finding = paired.loc["discrimination", name], setting.finding(name)
        has_moved = row["population_difference_p_holm"] < 0.05
        said = [short[name], result_of(finding), frame.loc["change", name]["verdict"]]
        said.append(row["population_verdict"])
        if has_moved:
            assert not any(NOTHING.search(re.sub("that it is .* not shown", "", text)) for text in said), said
            (line,) = re.findall(rf"([^.|]*)\b{name}(?: \([^)]*\))?[,.]", document.partition("## ")[2])[
                :1
            ] or [""]
            assert not NOTHING.search(re.sub("that it is .* not shown", "", line)), line
            assert re.search(rf"{name} +\| discrimination +\| [^|]+ (better|worse|moved)", table)
        else:
            assert "moves" not in " ".join(said)
        # 2. A p is of the interval beside it: that of the signed change.
        for p in re.findall(r"p (\d?\.\d\d)", " ".join(said)):
            assert 0 <= float(p) - row["population_difference_p_holm"] <= 0.0101
            assert row["population_low"] > 0 or row["population_high"] < 0
    # 3. Of a metric whose ideal is an end of its range both tests are one.
    assert (paired.loc["accuracy", "population_verdict"] != "moved").all()


def test_where_nothing_moves_it_is_seldom_said():
    study = study_of("levels_moves")
    assert next(study.rates_of_words(2, (0.0,))).startswith("| drawn | 100 | 3 | 0.0 |")
    runs = len(worlds(300))
    share = float(next(study.rates_of_words(runs, (0.05,))).split("|")[5].split()[0])
    assert round(share * runs) <= most_by_chance(runs, 0.05)
