"""Tables 2–7 of cardoso2019 as one writes them with pandas and scikit-learn; `tables.py` runs and times it.

python benchmarks/tables_plain.py FOLDER REPEATS

FOLDER has a CSV of levels and a JSON file of each data set: the arcs of its network, the outcome, the groups
and what β edits. Nothing of fairbench is used. Columns are categories, made 0/1 columns once a repeat.
"""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.naive_bayes import CategoricalNB
from sklearn.tree import DecisionTreeClassifier

Array = np.ndarray
Rng = np.random.Generator
Tables = dict[str, pd.DataFrame]


def fitted(rows: pd.DataFrame, parents: dict[str, list[str]]) -> Tables:
    """Return P(column | parents) of each column, a row for each configuration that occurs."""
    tables = {}
    for name, own in parents.items():
        by = [rows[one] for one in own] or [pd.Series("all", rows.index, name="all")]
        tables[name] = pd.crosstab(by, rows[name], normalize="index")
    return tables


def biased(tables: Tables, about: dict[str, Any], beta: float) -> Tables:
    """Return the tables with P(favourable) of the deprived less by a share β."""
    table = tables[about["label"]].copy()
    deprived = table.index.get_level_values(about["edited"]).isin(about["lowered"])
    best, worst = about["favourable"], next(one for one in table.columns if one != about["favourable"])
    lost = table.loc[deprived, best] * beta
    table.loc[deprived, best] -= lost
    table.loc[deprived, worst] += lost
    return tables | {about["label"]: table}


def drawn(tables: Tables, about: dict[str, Any], real: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    """Return as many rows as the data have, column by column and configuration by configuration."""
    n, rows = len(real), pd.DataFrame(index=real.index)
    for name in about["order"]:
        table, own = tables[name], about["parents"][name]
        levels = real[name].cat.categories
        table = table.reindex(columns=levels, fill_value=0)
        known = {
            key if isinstance(key, tuple) else (key,): p
            for key, p in zip(table.index, table.to_numpy(), strict=True)
        }
        codes = np.empty(n, dtype=np.int64)
        groups = rows.groupby(own, observed=True).indices if own else {"all": np.arange(n)}
        for key, places in groups.items():
            p = known.get(key if isinstance(key, tuple) else (key,))
            codes[places] = rng.choice(len(levels), len(places), p=p)
        rows[name] = pd.Categorical.from_codes(codes, levels)
    return rows[real.columns]


def dummies(X: pd.DataFrame) -> Array:
    """Return one 0/1 column per level."""
    return pd.get_dummies(X, dtype=np.float32).to_numpy()


def ranked(X: pd.DataFrame, y: Array) -> Array:
    """Return P(favourable) of each row by a naive Bayes classifier."""
    codes = X.apply(lambda column: column.cat.codes).to_numpy()
    levels = [len(X[name].cat.categories) for name in X.columns]
    return np.asarray(CategoricalNB(min_categories=levels).fit(codes, y).predict_proba(codes)[:, 1])


def tree(D: Array, y: Array, weights: Array | None = None) -> DecisionTreeClassifier:
    """Return a decision tree that is fitted to rows."""
    model = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, random_state=0)
    return model.fit(D, y, sample_weight=weights)


def massaged(X: pd.DataFrame, D: Array, y: Array, s: Array, rng: Rng) -> DecisionTreeClassifier:  # noqa: ARG001
    """Fit to labels of which as many are swapped in each group as remove discrimination."""
    score, y = ranked(X, y), y.copy()
    d = y[s == 1].mean() - y[s == 0].mean()
    m = round(max(d, 0) * (s == 0).sum() * (s == 1).sum() / len(y))
    promoted, demoted = np.flatnonzero((s == 0) & (y == 0)), np.flatnonzero((s == 1) & (y == 1))
    y[promoted[np.argsort(-score[promoted])[:m]]] = 1
    y[demoted[np.argsort(score[demoted])[:m]]] = 0
    return tree(D, y)


def reweighed(X: pd.DataFrame, D: Array, y: Array, s: Array, rng: Rng) -> DecisionTreeClassifier:  # noqa: ARG001
    """Fit to rows weighted by P(s)P(y)/P(s,y)."""
    joint = pd.crosstab(s, y, normalize=True).to_numpy()
    expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    weight = np.divide(expected, joint, where=joint > 0, out=np.zeros_like(expected))
    return tree(D, y, weight[s, y])


def sampled(
    X: pd.DataFrame, D: Array, y: Array, s: Array, rng: Rng, *, preferential: bool
) -> DecisionTreeClassifier:
    """Fit to rows of which each group and label has as many as it would have were they independent."""
    score = ranked(X, y) if preferential else None
    chosen = []
    for group, label in ((0, 0), (0, 1), (1, 0), (1, 1)):
        rows = np.flatnonzero((s == group) & (y == label))
        size = round((s == group).mean() * (y == label).sum())
        if score is not None:  # those nearest to the border first
            rows = rows[np.argsort(score[rows] if label else -score[rows])]
            more = np.tile(rows, size // max(len(rows), 1) + 1)[:size]
            chosen.append(more if size > len(rows) else rows[len(rows) - size :])
        elif size > len(rows):
            chosen += [rows, rng.choice(rows, size - len(rows))]
        else:
            chosen.append(rng.choice(rows, size, replace=False))
    places = np.concatenate(chosen)
    return tree(D[places], y[places])


def repaired(
    X: pd.DataFrame,
    _: Array,
    y: Array,
    s: Array,
    rng: Rng,
    *,
    level: float,
) -> DecisionTreeClassifier:
    """Fit to columns whose shares of levels in the two groups have been moved towards each other."""
    X = X.copy()
    for name in X.columns:
        codes, levels = X[name].cat.codes.to_numpy().astype(np.int64), X[name].cat.categories
        counts = np.stack([np.bincount(codes[s == group], minlength=len(levels)) for group in (0, 1)])
        shares = counts / counts.sum(axis=1, keepdims=True)
        moves = np.round(level * (shares.mean(axis=0) - shares) * counts.sum(axis=1, keepdims=True)).astype(
            int
        )
        for group in (0, 1):
            gone = [rng.choice(np.flatnonzero((s == group) & (codes == v)), -moves[group, v], replace=False)
                    for v in np.flatnonzero(moves[group] < 0)]  # fmt: skip
            come = np.repeat(np.arange(len(levels)), moves[group].clip(min=0))
            places = rng.permutation(np.concatenate(gone)) if gone else np.empty(0, int)
            both = min(len(places), len(come))
            codes[places[:both]] = come[:both]
        X[name] = pd.Categorical.from_codes(codes, levels)
    return tree(dummies(X), y)


TECHNIQUES = {
    "none": lambda X, D, y, s, rng: tree(D, y),  # noqa: ARG005
    "massaging": massaged,
    "reweighing": reweighed,
    "uniform-sampling": partial(sampled, preferential=False),
    "preferential-sampling": partial(sampled, preferential=True),
    "repair 0.25": partial(repaired, level=0.25),
    "repair 0.5": partial(repaired, level=0.5),
    "repair 0.75": partial(repaired, level=0.75),
}


def main(folder: Path, repeats: int) -> None:
    """Print accuracy and discrimination of every cell as CSV."""
    print("dataset,beta,intervention,repeat,accuracy,discrimination")
    for path in sorted(folder.glob("*.json")):
        about = json.loads(path.read_text(encoding="utf-8"))
        real = pd.read_csv(path.with_suffix(".csv"), dtype=str, keep_default_na=False).astype("category")
        tables = fitted(real, about["parents"])

        def parts(rows: pd.DataFrame, about: dict[str, Any] = about) -> tuple[pd.DataFrame, Array, Array]:
            y = (rows[about["label"]] == about["favourable"]).to_numpy().astype(int)
            s = (~rows[about["attribute"]].isin(about["deprived"])).to_numpy().astype(int)
            return rows.drop(columns=[about["label"], about["attribute"]]), y, s

        X_test, y_test, s_test = parts(real)
        D_test = dummies(X_test)
        for repeat in range(repeats):
            for beta in (0, 0.25, 0.5, 0.75, 1):
                X, y, s = parts(
                    drawn(biased(tables, about, beta), about, real, np.random.default_rng(repeat))
                )
                D = dummies(X)
                for name, technique in TECHNIQUES.items():
                    if len(np.unique(y[s == 0])) < 2 and name.endswith("sampling"):
                        continue  # β = 1 may leave no favourable deprived row to copy
                    predicted = technique(X, D, y, s, np.random.default_rng([repeat, 2])).predict(D_test)
                    accuracy = (predicted == y_test).mean()
                    gap = predicted[s_test == 1].mean() - predicted[s_test == 0].mean()
                    print(f"{path.stem},{beta},{name},{repeat},{accuracy:.4f},{gap:.4f}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
