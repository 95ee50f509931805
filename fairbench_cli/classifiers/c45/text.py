"""Print a tree as Weka does."""

from collections.abc import Iterator, Sequence

from fairbench_cli.classifiers.c45.estimates import EPS
from fairbench_cli.classifiers.c45.inputs import Levels
from fairbench_cli.classifiers.c45.tree import LEAF, Tree


def export_text(tree: Tree, columns: Levels, classes: Sequence[str]) -> str:
    """Return one line per branch; a leaf shows its class and (weight/weight of other classes)."""
    if tree.feature[0] == LEAF:
        return f": {_leaf(tree, 0, classes)}"
    return "\n".join(_lines(tree, 0, "", columns, classes))


def _lines(tree: Tree, node: int, indent: str, columns: Levels, classes: Sequence[str]) -> Iterator[str]:
    feature = int(tree.feature[node])
    levels = columns.levels[feature]
    for v in range(int(tree.kids[node])):
        kid = int(tree.first[node]) + v
        if levels is None:
            test = f"{'<=' if v == 0 else '>'} {_number(float(tree.threshold[node]), 6)}"
        else:
            test = f"= {levels[v]}"
        head = f"{indent}{columns.names[feature]} {test}"
        if tree.feature[kid] == LEAF:
            yield f"{head}: {_leaf(tree, kid, classes)}"
        else:
            yield head
            yield from _lines(tree, kid, indent + "|   ", columns, classes)


def _leaf(tree: Tree, node: int, classes: Sequence[str]) -> str:
    counts = tree.counts[node]
    weight = float(counts.sum())
    source = counts if weight > 0 or tree.parent[node] < 0 else tree.counts[tree.parent[node]]
    wrong = weight - float(counts.max())
    errors = f"/{_weight(wrong)}" if wrong > EPS else ""
    return f"{classes[int(source.argmax())]} ({_weight(weight)}{errors})"


def _weight(value: float) -> str:
    """Write a weight with one or two decimals: 12.0, 3.25."""
    text = f"{value:.2f}"
    return text.removesuffix("0")


def _number(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text
