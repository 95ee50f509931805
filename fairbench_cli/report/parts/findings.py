"""Every number of every technique that the answer and the page have."""

from collections.abc import Iterator

from fairbench_cli.document.model import Section, TableCell, TextTable
from fairbench_cli.report.ledger.answer import answer_of
from fairbench_cli.report.ledger.findings import findings_frame
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.parts.part import RunPart
from fairbench_cli.report.show.answer_text import column_cell, head_of, shown_columns
from fairbench_cli.report.show.answer_worlds import result_of
from fairbench_cli.report.show.metric_wording import wording_of
from fairbench_cli.report.show.page_slots import PagePanels, drop_uniform_columns
from fairbench_cli.report.show.shares_text import share_columns


def numbers_section(run: RunResults, _page_panels: PagePanels) -> Iterator[Section]:
    """Yield the table by what is chosen, which the page's script fills, and that of all columns."""
    title = "The metric that is chosen, against the technique that is chosen"
    if run.plan.has_worlds:
        title += f", on {run.labels} labels"
    by_choice = TextTable(title, (), (), key="numbers")
    yield Section("All numbers", tables=(by_choice, findings_table(run)), anchor="numbers")


def findings_table(run: RunResults) -> TextTable:
    """Return the table of all columns of the answer: a row for each setting and technique."""
    # 1. The columns: those that name a setting and differ between settings, then those of the answer.
    answer = answer_of(run)
    wording = wording_of(answer.metric, answer.margin)
    columns = shown_columns(answer, in_worlds=answer.has_worlds)
    shares = share_columns(
        [(setting, finding) for setting in answer.settings for finding in setting.all_findings]
    )
    setting_columns = drop_uniform_columns(
        {
            "data set": [setting.dataset_label for setting in answer.settings],
            "attribute": [setting.attribute for setting in answer.settings],
            "groups of": [setting.compared for setting in answer.settings],
            "data": [setting.representation for setting in answer.settings],
            "classifier": [setting.classifier_label for setting in answer.settings],
            "world": [setting.world for setting in answer.settings],
        }
    )
    # 2. A row for each setting and technique.
    rows = []
    for i, setting in enumerate(answer.settings):
        setting_cells = [TableCell(values[i]) for values in setting_columns.values()]
        if answer.has_betas:
            setting_cells.append(TableCell(f"{setting.beta:g}", value=setting.beta))
        for finding in setting.all_findings:
            cells = [TableCell(finding.technique)]
            for column in columns:
                cells.append(column_cell(column, finding.numbers[column.key], wording, intervals=True))
            cells += [share_cell((setting, finding)) for share_cell in shares.values()]
            cells.append(TableCell(result_of(finding)))
            cells.append(TableCell(f"{finding.n} of {finding.n_repeats}", value=finding.n))
            rows.append(tuple(setting_cells + cells))
    # 3. The heads.
    heads = list(setting_columns)
    if answer.has_betas:
        heads.append("β")
    heads.append("technique")
    heads += [head_of(column, wording) for column in columns] + list(shares)
    heads += ["result", "repeats"]
    return TextTable("All techniques in all settings", tuple(heads), tuple(rows))


FINDINGS = RunPart("findings", frames={"findings": findings_frame}, sections=numbers_section)
