"""A paper table as Markdown, LaTeX and CSV."""

import csv
import io
import re
import unicodedata

from fairbench_cli.report.tables import Block, PaperTable


def markdown(table: PaperTable) -> str:
    """Return the table as Markdown, its columns aligned in the source too."""
    parts = [f"# {table.name}", " ".join(table.caption)]
    parts += [f"## {block.title}\n\n{_grid(block)}" for block in table.blocks]
    return "\n\n".join(parts) + "\n"


def _grid(block: Block) -> str:
    heads = ["technique", "measure", *(f"β = {beta:g}" for beta in block.betas)]
    return grid(heads, [[label, metric, *cells] for label, metric, cells in block.rows], 2)


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
        heads = ["technique", "measure", *(rf"$\beta={beta:g}$" for beta in block.betas)]
        rows = [[_tex(label), _tex(metric), *map(_tex, cells)] for label, metric, cells in block.rows]
        body = "\n".join(" & ".join(row) + r" \\" for row in rows)
        parts.append(
            "\\begin{table}\n\\centering\n"
            f"\\caption{{{_tex(block.title)}. {_tex(' '.join(table.caption))}}}\n"
            f"\\begin{{tabular}}{{ll{'r' * len(block.betas)}}}\n\\toprule\n"
            f"{' & '.join(heads)} \\\\\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n"
        )
    return "\n".join(parts)


_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "β": r"$\beta$",
    "…": r"\ldots{}",
}


def _tex(text: str) -> str:
    # A minus sign before a number is a minus; a lone "-" is the papers' "infeasible".
    number = re.match(r"-\d[\d.]*", text)
    if number:
        return f"${number[0]}${_tex(text[number.end() :])}"
    quoted = re.sub(r'"([^"]*)"', r"``\1''", text)
    return "".join(_TEX.get(letter, letter) for letter in quoted)


def comma_separated(table: PaperTable) -> str:
    """Return the table as CSV, one row per technique and measure; `block` names data set and classifier."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    betas = table.blocks[0].betas
    writer.writerow(["block", "technique", "measure", *(f"beta={beta:g}" for beta in betas)])
    for block in table.blocks:
        writer.writerows([block.title, label, metric, *cells] for label, metric, cells in block.rows)
    return stream.getvalue()
