"""Print a run's means beside published values and the share that is near.

usage: python benchmarks/beside_published.py RESULTS PUBLISHED.csv

PUBLISHED.csv has the columns table, dataset, beta, intervention, metric, value (empty: the paper prints "-").
A data set such as adult-train counts as adult.
"""

import sys
from pathlib import Path

import pandas as pd


def beside(results: Path, published: Path) -> pd.DataFrame:
    """Return one row per published value that the run has too."""
    ours = pd.read_csv(results / "summary.csv")
    ours["dataset"] = ours["dataset"].str.partition("-")[0]
    theirs = pd.read_csv(published)
    keys = ["dataset", "beta", "intervention", "metric"]
    both = theirs.merge(ours[[*keys, "mean", "low", "high", "n_ok", "n"]], on=keys)
    both["difference"] = both["mean"] - both["value"]
    # "-" beside "-" agrees; "-" beside a number does not.
    gap = both["difference"].abs()
    same = both["value"].isna() & both["mean"].isna()
    for name, limit in (("within_02", 0.02), ("within_05", 0.05)):
        both[name] = same | (gap <= limit + 5e-4)  # the paper prints three decimals
    return both


def main() -> None:
    """Print the table and the shares."""
    both = beside(Path(sys.argv[1]), Path(sys.argv[2]))
    both["label"] = both["intervention"].str.cat(both["metric"], sep=" ")
    for dataset, part in both.groupby("dataset", sort=False):
        print(f"\n## {dataset}: ours / published\n")
        print(
            "| technique and measure | "
            + " | ".join(f"β = {b:g}" for b in sorted(part["beta"].unique()))
            + " |"
        )
        print("|---|" + "---:|" * part["beta"].nunique())
        for label, row in part.groupby("label", sort=False):
            cells = [f"{_shown(r.mean_)} / {_shown(r.value)}" for r in _ordered(row)]
            print(f"| {label} | " + " | ".join(cells) + " |")
    shares = both.groupby("dataset", sort=False)[["within_02", "within_05"]].mean()
    shares.loc["all"] = both[["within_02", "within_05"]].mean()
    print(f"\n{len(both)} values; share within .02 and .05:\n")
    print(shares.round(3).to_string())


def _ordered(part: pd.DataFrame) -> list:  # type: ignore[type-arg]
    return list(part.rename(columns={"mean": "mean_"}).sort_values("beta").itertuples())


def _shown(value: float) -> str:
    return "-" if pd.isna(value) else f"{value:.3f}"


if __name__ == "__main__":
    main()
