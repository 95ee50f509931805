"""How far a run's correlations of measures are from those of Friedler et al.'s published files.

``python benchmarks/friedler_correlations.py RESULTS`` reads the representation numerical-binary of
correlation_pairs.csv (`figures: [correlations]`) and prints the mean absolute difference of the matrices of
17 measures, diagonal included, and the pairs that differ most.
"""

import sys
from pathlib import Path

import pandas as pd

from fairbench_cli.papers.friedler2019 import MEASURES_BINARY, PUBLISHED_BINARY

REFERENCE = Path(__file__).parents[1] / "tests" / "reference" / "friedler"
FARTHEST = 8  # pairs that are listed


def _correlated(names: dict[str, str]) -> dict[str, str]:
    """Return the 17 measures of the published correlation figure, in its order, over the pair of groups."""
    compared = {
        f"comparative-sensitive-{rate}": f"sensitive-{rate}Diff" for rate in ("accuracy", "TPR", "TNR")
    }
    groups = {"0-accuracy": "accuracy-of-group", "1-accuracy": "accuracy-of-reference"}
    order = (
        *("DIbinary", "DIavgall", "CV", "comparative-sensitive-TPR", "accuracy", "0-accuracy", "1-accuracy"),
        *("sensitive-accuracy", "TNR", "sensitive-TNR", "BCR", "sensitive-calibration+"),
        *("comparative-sensitive-accuracy", "comparative-sensitive-TNR", "TPR", "sensitive-TPR"),
        "sensitive-calibration-",
    )
    return {name: groups.get(name) or names[compared.get(name, name)] for name in order}


CORRELATED, CORRELATED_PUBLISHED = _correlated(MEASURES_BINARY), _correlated(PUBLISHED_BINARY)
"""The measures of the correlation figure by their names there: undefined is undefined; as published."""


def main(folder: Path) -> None:
    """Print the comparison with both reference matrices."""
    found = pd.read_csv(folder / "correlation_pairs.csv").query("representation == 'numerical-binary'")
    ours = {frozenset(pair): r for *pair, r in found[["metric", "other", "r"]].itertuples(index=False)}
    known = set(found["metric"]) | set(found["other"])
    names = CORRELATED if set(CORRELATED.values()) <= known else CORRELATED_PUBLISHED
    for name in ("cleaned", "published"):
        theirs = pd.read_csv(REFERENCE / f"friedler_corr_{name}.csv", index_col=0)
        rows = [
            (f"{one} ~ {other}", ours[frozenset((names[one], names[other]))], theirs.loc[one, other])
            for i, one in enumerate(theirs)
            for other in theirs.columns[i + 1 :]
        ]
        pairs = pd.DataFrame(rows, columns=["pair", "ours", "theirs"])
        gap = (pairs["ours"] - pairs["theirs"]).abs()
        mean, near = 2 * gap.sum() / len(theirs) ** 2, int((gap <= 0.1).sum())
        print(f"{name}: mean absolute difference {mean:.3f}; {near} of {len(gap)} pairs within .1. Farthest:")
        for row in pairs.loc[gap.sort_values(ascending=False).index[:FARTHEST]].itertuples():
            print(f"  {row.pair}: ours {row.ours:+.2f}, theirs {row.theirs:+.2f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
