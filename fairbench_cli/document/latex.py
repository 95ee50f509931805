"""The tables of a document as LaTeX (needs the package booktabs), escaped."""

import re
from collections.abc import Iterator

from fairbench_cli.base.text import printable
from fairbench_cli.document.model import Document, Section, TextTable

_TEX = {letter: f"\\{letter}" for letter in "{}$&%#_"} | {letter: f"${letter}$" for letter in "<>|"}
_TEX |= {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "`": r"\textasciigrave{}",
}
_TEX |= {
    "β": r"$\beta$",
    "τ": r"$\tau$",
    "…": r"\ldots{}",
    "×": r"$\times$",
    "−": "$-$",
    "–": r"\textendash{}",
    "∞": r"$\infty$",
}
_NUMBER = re.compile(r"-\d[\d.]*")
_EQUAL = re.compile(r"\$(\\beta|\\tau)\$ = (\d[\d.]*)")  # a formula, not three words


def latex(document: Document) -> str:
    """Return a float per table, whose caption is the section's title and the document's facts."""
    return "\n".join(table for section in document.sections for table in _tables(section, document.facts))


def _tables(section: Section, facts: tuple[str, ...]) -> Iterator[str]:
    for table in section.tables:
        title = ": ".join(dict.fromkeys(filter(None, (section.title, table.title))))
        caption = " ".join([f"{title}.", *facts, *filter(None, [table.more])])
        yield _float(table, caption)
    for within in section.sections:
        yield from _tables(within, facts)


def _float(table: TextTable, caption: str) -> str:
    sides = "".join("r" if number else "l" for number in table.numeric)
    heads = " & ".join(map(escaped, table.heads))
    rows = (" & ".join(escaped(cell.whole) for cell in row) for row in table.rows)
    # A bracket or a star after \\ would be its argument.
    body = "\n".join(f"{'{}' * row.startswith(('[', '*'))}{row} \\\\" for row in rows)
    return (
        f"\\begin{{table}}\n\\centering\n\\caption{{{escaped(caption)}}}\n"
        f"\\begin{{tabular}}{{{sides}}}\n\\toprule\n"
        f"{heads} \\\\\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n"
    )


def escaped(text: str) -> str:
    r"""Return a text without what LaTeX would read as its own.

    A minus sign before a number is a minus; a lone "-" stays, as papers print it for "infeasible".

    >>> print(escaped('-0.125 of "a_b" & 50 %, β = 0.5'))
    $-0.125$ of ``a\_b'' \& 50 \%, $\beta=0.5$
    """
    number = _NUMBER.match(text)
    if number:
        return f"${number[0]}${escaped(text[number.end() :])}"
    letters = "".join(_TEX.get(letter, letter) for letter in printable(text.replace("\n", " ")))
    quoted = re.sub(r'"([^"]*)"', r"``\1''", letters).replace('"', "''")
    return re.sub("-(?=-)", "-{}", _EQUAL.sub(r"$\1=\2$", quoted))
