"""What is said of repeats that are missing, and of the rows that labels are of: the part is called one."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from report.answer_run import PLAIN, run_of

from fairbench_cli.document.markdown import markdown
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.report.ledger.paired_differences import run_pareto_frame
from fairbench_cli.report.ledger.results import run_results
from fairbench_cli.report.write import write_report

NARROWER = ((0.30, 0.33), 0.78)


def lacking(techniques: dict, gone, repeats: int = 10):
    """Return a plan and the records that are left of it; `gone` says of a key what is missing or failed."""
    plan, records = run_of({"bank": techniques}, repeats=repeats, tables=("discrimination-accuracy",))
    left = {}
    for (key, repeat), record in records.items():
        status = gone(key, repeat)
        if status == "ok":
            left[key, repeat] = record
        elif status:
            left[key, repeat] = Repeat(key, repeat, status, "it broke", None)
    return plan, left


def everything(tmp_path: Path, plan, records) -> str:
    """Return all that is written of a run, the console's answer first."""
    written = write_report(tmp_path, plan, records)
    texts = [markdown(written.answer)]
    texts += [path.read_text(encoding="utf-8") for path in sorted(tmp_path.rglob("*.md"))]
    texts += [path.read_text(encoding="utf-8") for path in sorted(tmp_path.rglob("*.tex"))]
    return "\n".join(texts)


def test_a_technique_that_failed_once_is_marked_wherever_it_stands(tmp_path):
    techniques = {"none": PLAIN, "massaging": NARROWER}
    plan, records = lacking(techniques, lambda key, n: "failed" if "massaging" in key and n == 3 else "ok")
    text = everything(tmp_path, plan, records)
    assert re.search(r"massaging +\|.*\| narrows \(9 of 10\) \|", text)
    assert re.search(r"none +\|.*\| +\|\n", text.split("## ")[0])
    assert "(9 to 10 of 10 repeats).**" in text
    assert "Holm over techniques and settings; 9 to 10 of 10 repeats" in text
    assert "Means of 9 to 10 of 10 repeats" in text or "Means of 9 to 10 of 10 random splits" in text
    assert "standard deviation over 9 to 10 of 10 repeats." in text
    assert "1 repeat of massaging failed: it broke." in text
    assert re.search(r"\| massaging +\| discrimination +\| -0.1\d\d better \(9/10\) \|", text)


def test_a_run_that_was_stopped_speaks_of_the_repeats_that_it_has(tmp_path):
    plan, records = lacking({"none": PLAIN, "massaging": NARROWER}, lambda _, n: n < 3 and "ok", 12)
    text = everything(tmp_path, plan, records)
    assert not re.search(r"(?<!of )(?<!\d)12 (repeats|random splits)", text)
    assert "(3 of 12 repeats).**" in text
    assert "standard deviation over 3 of 12 repeats." in text
    assert (
        len(re.findall(r"\| (?:none|massaging) +\|.*\(3 of 12\) +\|\n", text.split("## ")[0])) == 4
    )  # the console, too


def test_a_whole_run_and_one_with_infeasible_repeats_count_all(tmp_path):
    plan, records = run_of({"bank": {"none": PLAIN, "massaging": NARROWER}}, repeats=4)
    assert " of 4" not in everything(tmp_path, plan, records)
    techniques = {"none": PLAIN, "massaging": NARROWER}
    plan, records = lacking(techniques, lambda key, n: "infeasible" if "massaging" in key and n else "ok", 4)
    text = everything(tmp_path, plan, records)
    assert "standard deviation over 4 repeats." in text  # infeasible is a result
    assert "(1 of 4 repeats)" in text


def test_fronts_compare_in_the_repeats_that_both_have():
    """A technique that failed where the plain model is worst, and decides as it does, is no better for it."""
    plan, records = run_of({"bank": {"none": PLAIN, "massaging": PLAIN}}, repeats=10)
    plain, other = dict.fromkeys(key for key, _ in records)
    records |= {(other, n): replace(records[plain, n], key=other) for n in range(10)}
    metrics = ("discrimination", "accuracy")
    gaps = run_results(Path(), plan, records, metrics).select(("discrimination",)).values[0]
    del records[other, int(np.argmax(gaps))]
    assert run_pareto_frame(run_results(Path(), plan, records, metrics))["front"].all()


PEOPLE = {
    "loans": ("gender", "f", "m", "approved", "yes", "no"),
    "zulassung": ("geschlecht", "weiblich", "männlich", "zugelassen", "ja", "nein"),
}


@pytest.mark.gate
@pytest.mark.parametrize("name", PEOPLE)
def test_the_gap_of_the_data_is_that_of_the_whole_file(say, tmp_path, name):
    group, deprived, favoured, label, yes, no = PEOPLE[name]
    lines = [f"{group},income,{label}"]
    for i in range(150):
        good = i % 15 < (4 if i % 2 else 7)  # by the income, too
        lines.append(f"{deprived if i % 2 else favoured},{1000 + i * i},{yes if good else no}")
    (tmp_path / f"{name}.csv").write_text("\n".join(lines), encoding="utf-8")
    shares = {}
    for one in (deprived, favoured):
        own = [line for line in lines if line.startswith(f"{one},")]
        shares[one] = sum(line.endswith(f",{yes}") for line in own) / len(own)
    gap = f"{100 * (shares[favoured] - shares[deprived]):.1f} points less often"
    asked = "--label", label, "--favourable", yes, "--protected", f"{group}={deprived}"
    assert say("init", f"{name}.csv", *asked).code == 0
    few = (
        "--set",
        "repeats=2",
        "--set",
        "classifiers=[naive-bayes]",
        "--set",
        "interventions=[none]",
        "-j",
        "1",
    )
    for seed in (1, 2):
        ran = say("run", f"{name}-run.yaml", *few, "--set", f"seed={seed}", "-o", f"out{seed}")
        assert f"(in the data themselves: {gap})" in " ".join(ran.out.split())
    drawn = "--set", "sample={from: network, beta: [0]}", "--set", "test=network"
    ran = say("run", f"{name}-run.yaml", *few, *drawn, "-o", "drawn")
    assert "(in the test rows: " in " ".join(ran.out.split())
