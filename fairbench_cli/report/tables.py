"""The papers' tables: two measures per technique, one column per β, as Markdown, LaTeX, CSV and rows."""

import csv
import io
import json
from dataclasses import dataclass

import pandas as pd

from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.experiment.study import Study
from fairbench_cli.interventions.registry import INTERVENTIONS

LAYOUTS: dict[str, tuple[str, str]] = {
    "discrimination-accuracy": ("discrimination", "accuracy"),
    "over-underestimation": ("overestimation", "underestimation"),
}


@dataclass(frozen=True)
class Block:
    """A table of one data set and classifier: rows of (technique, metric, one cell per β)."""

    title: str
    betas: tuple[float, ...]
    rows: tuple[tuple[str, str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class PaperTable:
    """A table in the papers' layout, with a caption that says what stands in it."""

    name: str
    caption: tuple[str, ...]
    blocks: tuple[Block, ...]


def paper_table(name: str, study: Study, summary: pd.DataFrame) -> PaperTable:
    """Lay out one of `LAYOUTS`.

    A cell is the mean to three decimals; "-" where no repeat gave a value, "…" where none has run yet,
    "(28/30)" behind a mean of fewer repeats than asked for.
    """
    metrics = LAYOUTS[name]
    blocks = []
    frame = pd.DataFrame(study.cells)
    lookup = _lookup(summary)
    betas = tuple(sorted(frame["beta"].unique()))
    for (dataset, attribute, classifier, parameters), part in frame.groupby(
        ["dataset", "attribute", "classifier", "classifier_parameters"], sort=False
    ):
        rows = []
        kinds = part[["intervention", "parameters", "include_protected"]].drop_duplicates()
        for intervention, own, seen in kinds.itertuples(index=False):
            label = technique_label(intervention, own, seen)
            for metric in metrics:
                cells = tuple(
                    _cell(
                        lookup.get(
                            (dataset, attribute, beta, intervention, own, seen, classifier, parameters, metric)
                        )
                    )
                    for beta in betas
                )
                rows.append((label, metric, cells))
        title = f"{dataset}, {attribute}, {_named(classifier, parameters, CLASSIFIERS)}"
        blocks.append(Block(title, betas, tuple(rows)))
    return PaperTable(name, caption(study), tuple(blocks))


def caption(study: Study) -> tuple[str, ...]:
    """Say what the numbers are: repeats, where training and test rows come from, what β edits."""
    networks = ", ".join(source["dataset"] for source in study.sources)
    made = "shipped with fairbench" if study.sample == "shipped" else "learned from the data"
    lines = [
        f"Means of {study.repeats} repeats. Training sets: sampled from the Bayesian network of {networks}, "
        f"{made}, at each β.",
    ]
    if study.test == "network":
        lines.append("Test sets: sampled from the same network at β = 0, not the original data.")
    else:
        lines.append("Test set: the original data.")
    for source in study.sources:
        if not source["arc_to_outcome"]:
            lines.append(
                f"{source['dataset']}: {source['edited_column']} is no parent of the outcome, "
                "so β changes nothing."
            )
    lines.append('"-": no repeat was feasible. "…": not run yet.')
    return tuple(lines)


def technique_label(intervention: str, parameters: str, seen: bool) -> str:
    """Name a technique by what differs from its defaults.

    >>> technique_label("massaging", '{"ranker":"naive-bayes"}', True)
    'massaging + s'
    """
    return _named(intervention, parameters, INTERVENTIONS) + (" + s" if seen else "")


def _named(name: str, parameters: str, registry: dict[str, object]) -> str:
    given = json.loads(parameters)
    default = registry[name].load() if name in registry else None  # type: ignore[attr-defined]
    odd = {
        key: value for key, value in given.items() if default is None or getattr(default, key, None) != value
    }
    inside = ", ".join(f"{key}={json.dumps(value).strip(chr(34))}" for key, value in odd.items())
    return f"{name} ({inside})" if inside else name


def _lookup(summary: pd.DataFrame) -> dict[tuple[object, ...], tuple[float, int, int]]:
    keys = [column for column in summary.columns if column not in ("mean", "sd", "low", "high", "n_ok", "n")]
    return {
        row[: len(keys)]: (row[len(keys)], row[-2], row[-1])
        for row in summary[[*keys, "mean", "n_ok", "n"]].itertuples(index=False, name=None)
    }


def _cell(found: tuple[float, int, int] | None) -> str:
    if found is None:
        return "…"
    mean, n_ok, n = found
    if n_ok == 0:
        return "-"
    shown = f"{mean:.3f}"
    shown = "0.000" if shown == "-0.000" else shown
    return shown if n_ok == n else f"{shown} ({n_ok}/{n})"


def markdown(table: PaperTable) -> str:
    """Return the table as Markdown."""
    parts = [f"# {table.name}", " ".join(table.caption)]
    for block in table.blocks:
        heads = ["technique", "measure", *(f"β = {beta:g}" for beta in block.betas)]
        lines = [f"## {block.title}", "", _line(heads), _line(["---", "---", *["---:"] * len(block.betas)])]
        lines += [_line([label, metric, *cells]) for label, metric, cells in block.rows]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def latex(table: PaperTable) -> str:
    """Return the table as LaTeX (needs the package booktabs)."""
    parts = []
    for block in table.blocks:
        heads = " & ".join(["technique", "measure", *(rf"$\beta={beta:g}$" for beta in block.betas)])
        rows = [" & ".join([_tex(label), metric, *map(_tex, cells)]) for label, metric, cells in block.rows]
        body = " \\\\\n".join(rows)
        parts.append(
            "\\begin{table}\n\\centering\n"
            f"\\caption{{{_tex(block.title)}. {_tex(' '.join(table.caption))}}}\n"
            f"\\begin{{tabular}}{{ll{'r' * len(block.betas)}}}\n\\toprule\n{heads} \\\\\n\\midrule\n"
            f"{body} \\\\\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n"
        )
    return "\n".join(parts)


_TEX = {
    "&": r"\&",
    "%": r"\%",
    "_": r"\_",
    "#": r"\#",
    "β": r"$\beta$",
    "…": r"\ldots{}",
    "-": "-",
    '"': "''",
    "<": "$<$",
    ">": "$>$",
}


def _tex(text: str) -> str:
    # A minus sign before a number is a minus; a lone "-" is the papers' "infeasible".
    if text[:1] == "-" and text[1:2].isdigit():
        return f"${text.split()[0]}$" + text[len(text.split()[0]) :]
    return "".join(_TEX.get(letter, letter) for letter in text)


def comma_separated(table: PaperTable) -> str:
    """Return the table as CSV; betas that a block does not have stay empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    betas = table.blocks[0].betas if table.blocks else ()
    writer.writerow(["block", "technique", "measure", *(f"beta={beta:g}" for beta in betas)])
    for block in table.blocks:
        writer.writerows([block.title, label, metric, *cells] for label, metric, cells in block.rows)
    return stream.getvalue()
