"""A small writer of .xlsx files for tests: what the format needs, and merged cells, hidden sheets, dates."""

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
DATE = 1  # the style of dates, see `STYLES`
STYLES = (
    f'<styleSheet xmlns="{MAIN}"><fonts><font/></fonts><fills><fill/></fills><borders><border/></borders>'
    '<cellStyleXfs><xf/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/>'
    "</cellXfs></styleSheet>"
)


@dataclass(frozen=True)
class Day:
    """A date by its number, counted from 1899-12-30."""

    number: int


@dataclass(frozen=True)
class Sheet:
    """A sheet: rows of cells, how it is seen, and ranges of merged cells such as ``A1:B2``."""

    name: str
    rows: Sequence[Sequence[object]]
    state: str = "visible"
    merged: Sequence[str] = ()


def column_name(number: int) -> str:
    letters = ""
    while number >= 0:
        letters = chr(65 + number % 26) + letters
        number = number // 26 - 1
    return letters


def cell_xml(place: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, Day):
        return f'<c r="{place}" s="{DATE}"><v>{value.number}</v></c>'
    if isinstance(value, int | float):
        return f'<c r="{place}"><v>{value!r}</v></c>'
    if value == "#DIV/0!":
        return f'<c r="{place}" t="e"><v>#DIV/0!</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(str(value))}</t></is></c>'


def sheet_xml(sheet: Sheet) -> str:
    rows = []
    for number, row in enumerate(sheet.rows, 1):
        cells = "".join(cell_xml(f"{column_name(i)}{number}", value) for i, value in enumerate(row))
        rows.append(f'<row r="{number}">{cells}</row>')
    merged = "".join(f'<mergeCell ref="{area}"/>' for area in sheet.merged)
    if merged:
        merged = f"<mergeCells>{merged}</mergeCells>"
    return f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(rows)}</sheetData>{merged}</worksheet>'


def write_workbook(path: Path, *sheets: Sheet) -> Path:
    """Write sheets as a workbook, and return its path."""
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = [f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>']
    parts.append(f'<Override PartName="/xl/styles.xml" ContentType="{kind}.styles+xml"/>')
    listed = []
    links = [f'<Relationship Id="s" Type="{RELATIONS}/styles" Target="styles.xml"/>']
    for number, sheet in enumerate(sheets, 1):
        part = f"/xl/worksheets/sheet{number}.xml"
        parts.append(f'<Override PartName="{part}" ContentType="{kind}.worksheet+xml"/>')
        title = quoteattr(sheet.name)
        listed.append(f'<sheet name={title} sheetId="{number}" state="{sheet.state}" r:id="r{number}"/>')
        target = f"worksheets/sheet{number}.xml"
        links.append(f'<Relationship Id="r{number}" Type="{RELATIONS}/worksheet" Target="{target}"/>')
    texts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
        f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>{"".join(parts)}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r" '
        f'Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}">'
        f"<sheets>{''.join(listed)}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">{"".join(links)}'
        "</Relationships>",
        "xl/styles.xml": STYLES,
    }
    for number, sheet in enumerate(sheets, 1):
        texts[f"xl/worksheets/sheet{number}.xml"] = sheet_xml(sheet)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return path


def write_bomb(path: Path) -> None:
    """Write a workbook of 120 kB that unpacks to 120 MB."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        with archive.open("xl/worksheets/sheet1.xml", "w") as part:
            for _row in range(120):
                part.write(b"0" * 1_000_000)
