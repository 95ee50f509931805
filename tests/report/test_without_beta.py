"""In a run without β nothing that people read is about it; fronts, intervals and names say what they are."""

from dataclasses import replace

import matplotlib as mpl
import pytest
from report.answer_run import PLAIN, run_of

from fairbench_cli.document.charts import LINES, shorten
from fairbench_cli.experiment.plan import write_plan
from fairbench_cli.report.ledger.results import run_results
from fairbench_cli.report.parts import PARTS
from fairbench_cli.report.parts.differences import pareto_table
from fairbench_cli.report.parts.part import figure_registry
from fairbench_cli.report.show.figures.canvas import house_style
from fairbench_cli.report.show.figures.pages import technique_looks
from fairbench_cli.report.show.tables import means_in_words
from fairbench_cli.report.write import results_of_folder, write_report

STUDY = {"none": PLAIN, "massaging": ((0.32, 0.33), 0.78), "reweighing": ((0.28, 0.36), 0.78)}
FIGURES = ("discrimination-accuracy", "curves", "pareto", "ranks")
TABLES = ("discrimination-accuracy", "over-underestimation", "group-rates")


def written(folder, betas):
    """Write the report of a run of three data sets; return its results."""
    plan, records = run_of(dict.fromkeys(("north", "south", "west"), STUDY), betas=betas, tables=TABLES)
    write_plan(folder, plan)
    write_report(folder, plan, records)
    return results_of_folder(folder, plan, records)


def texts_of(run) -> str:
    """Return all that the figures say."""
    registry = figure_registry(PARTS)
    texts = []
    with house_style():
        for name in FIGURES:
            for figure in registry[name].load()(run).values():
                texts += [text.get_text() for text in figure.findobj(mpl.text.Text)]
    return "\n".join(texts)


@pytest.mark.gate
def test_without_beta_no_table_figure_or_answer_has_one(tmp_path):
    run = written(tmp_path, (0.0,))
    for path in [tmp_path / "answer.md", *tmp_path.glob("tables/*.md"), *tmp_path.glob("tables/*.tex")]:
        text = path.read_text(encoding="utf-8")
        assert "β" not in text, path.name
        assert r"\beta" not in text, path.name
    assert "β" not in texts_of(run)
    # The columns of CSV files keep their names.
    head = (tmp_path / "tables" / "discrimination-accuracy.csv").read_text(encoding="utf-8").splitlines()[0]
    assert head == "block,technique,metric,beta=0"


@pytest.mark.gate
def test_with_beta_they_all_have_it(tmp_path):
    run = written(tmp_path, (0.0, 0.5))
    for name in ("discrimination-accuracy", "difference-to-none", "pareto"):
        assert r"$\beta=0.5$" in (tmp_path / "tables" / f"{name}.tex").read_text(encoding="utf-8")
        assert "β = 0 " in (tmp_path / "tables" / f"{name}.md").read_text(encoding="utf-8")
    assert "β = 0.5" in texts_of(run)
    assert "6 per β" in texts_of(run)


@pytest.mark.gate
def test_a_front_of_means_is_called_so(tmp_path):
    run = written(tmp_path, (0.0,))
    table = pareto_table("pareto", run)
    words = set()
    for section in table.sections:
        words |= {row[-1].text for row in section.tables[0].rows}
    assert words <= {"front by means", "dominated by means", "dominated clearly", "constant"}
    assert "front by means" in words


@pytest.mark.parametrize(("test", "is_narrower"), [("network", False), ("holdout", True), ("original", True)])
def test_intervals_over_repeats_that_share_rows_say_that_they_are_narrower(tmp_path, test, is_narrower):
    plan, _ = run_of({"north": STUDY})
    config = plan.config.model_copy(update={"test": test})
    sentence = means_in_words(run_results(tmp_path, replace(plan, config=config), {}, ()))
    assert ("narrower than the answer's" in sentence) == is_narrower
    once = config.model_copy(update={"repeats": 1})
    assert (
        means_in_words(run_results(tmp_path, replace(plan, config=once), {}, ()))
        == "One repeat, so there are no intervals."
    )


def test_up_to_eleven_techniques_have_marks_of_their_own():
    names = [f"mine.py:Method{letter}" for letter in "ABCDEFGHIJ"]
    plan, _ = run_of({"north": {"none": PLAIN} | dict.fromkeys(names, PLAIN)})
    looks = technique_looks(plan).values()
    assert len({look.marker for look in looks}) == 11
    assert len({(look.colour, look.marker) for look in looks}) == 11


def test_lines_of_a_page_differ_and_shortened_names_do():
    assert len(LINES) == 12
    assert len({line[2] for line in LINES}) == 12  # marks
    assert len({line[:2] for line in LINES}) == 12  # colours and dashes
    names = [f"my_own_module.py:MeanMatching (strength={strength})" for strength in ("0.5", "1.0")]
    assert len({shorten(name) for name in names}) == 2
