"""A paper table as Markdown, LaTeX and CSV."""

import re
import unicodedata

import pandas as pd

from fairbench_cli.report.tables import Block, PaperTable


def markdown(table: PaperTable) -> str:
    """Return the table as Markdown, its columns aligned in the source too."""
    parts = [f"# {table.name}", " ".join(table.caption)]
    for block in table.blocks:
        heads = [*table.columns, *block.heads()]
        parts += [f"## {block.title}", grid(heads, _flat(block), len(table.columns))]
    return "\n\n".join(parts) + "\n"


def _flat(block: Block) -> list[list[str]]:
    return [[*labels, *cells] for *labels, cells in block.rows]


def grid(heads: list[str], rows: list[list[str]], left: int) -> str:
    r"""Return a Markdown table, aligned in the source too; its first `left` columns are text.

    >>> print(grid(["x", "n"], [["a|b", "1"], ["c", "10"]], 1))
    | x    |  n |
    | ---- | -: |
    | a\|b |  1 |
    | c    | 10 |
    """
    escaped = [[cell.replace("|", r"\|") for cell in row] for row in [heads, *rows]]
    widths = [max(_width(row[j]) for row in escaped) for j in range(len(heads))]
    rule = ["-" * width if j < left else "-" * (width - 1) + ":" for j, width in enumerate(widths)]
    lines = []
    for row in [escaped[0], rule, *escaped[1:]]:
        spaces = [" " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = [
            cell + space if j < left else space + cell
            for j, (cell, space) in enumerate(zip(row, spaces, strict=True))
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _width(text: str) -> int:
    """Count characters that take a place of their own: marks such as the bar of ḡ take none."""
    return sum(not unicodedata.combining(letter) for letter in text)


def latex(table: PaperTable) -> str:
    """Return the table as LaTeX (needs the package booktabs)."""
    parts = []
    for block in table.blocks:
        heads = [*table.columns, *(map(_tex, block.names) if block.names else block.heads(r"$\beta={:g}$"))]
        body = "\n".join(" & ".join(map(_tex, row)) + r" \\" for row in _flat(block))
        parts.append(
            "\\begin{table}\n\\centering\n"
            f"\\caption{{{_tex(block.title)}. {_tex(' '.join(table.caption))}}}\n"
            f"\\begin{{tabular}}{{{'l' * len(table.columns)}{'r' * len(block.heads())}}}\n\\toprule\n"
            f"{' & '.join(heads)} \\\\\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n"
        )
    return "\n".join(parts)


_TEX = {letter: f"\\{letter}" for letter in "{}$&%#_"} | {letter: f"${letter}$" for letter in "<>|"}
_TEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_TEX |= {"β": r"$\beta$", "…": r"\ldots{}", "×": r"$\times$"}


def _tex(text: str) -> str:
    # A minus sign before a number is a minus; a lone "-" is the papers' "infeasible".
    number = re.match(r"-\d[\d.]*", text)
    if number:
        return f"${number[0]}${_tex(text[number.end() :])}"
    quoted = re.sub(r'"([^"]*)"', r"``\1''", text)
    return "".join(_TEX.get(letter, letter) for letter in quoted)


def comma_separated(table: PaperTable) -> str:
    """Return the table as CSV, one row per row of a block; `block` names data set and classifier."""
    rows = [
        dict(zip(("block", *table.columns, *block.heads("beta={:g}")), (block.title, *row), strict=True))
        for block in table.blocks
        for row in _flat(block)
    ]
    text: str = pd.DataFrame(rows).to_csv(index=False, lineterminator="\n")
    return text
