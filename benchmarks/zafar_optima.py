"""What no covariance costs at each β, and how far optima of Zafar's misclassification lie apart.

usage: FAIRBENCH_DATA=… OMP_NUM_THREADS=1 python benchmarks/zafar_optima.py [ROWS]

Both settle sentences of docs/papers/cardoso2019.md. The first table: samples of the learned networks as
cardoso2019-as-found draws them, of ROWS rows (by default as many as the data have), the protected attribute
seen, as by it. The second: 4,000 rows of adult.data; every w there is within all limits and has |covariance|
up to 1e-5, the least being 0, so all are answers to the problem as stated.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, diags_array

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from zafar_data import sample_of

from fairbench_cli.api.network import learn
from fairbench_cli.classifiers.builders import Tree
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Floats, to_sample
from fairbench_cli.interventions.disparate_impact import Tradeoff, ZafarDI, limits, separate, tradeoff
from fairbench_cli.interventions.logistic import LinearModel, prepared

SEEING = Classifier(Tree(), include_protected=True, seed=0)
BETAS = (0.0, 0.25, 0.5, 0.75, 1.0)
NETWORKS = (
    ("adult-train", "sex", []),
    ("compas", "race", [("race", "two_year_recid")]),
    ("dutch", "sex", [("sex", "occupation")]),
)
GAMMA = 1000.0


def costs(card: str, attribute: str, arcs: list[tuple[str, str]], rows: int | None) -> list[float]:
    """Return the loss that no covariance adds, as a share, at each β."""
    network = learn(card, require_arcs=arcs)
    rows = rows or len(sample_of(card, attribute))
    found = []
    for beta in BETAS:
        train = to_sample(network.tilt(beta, attribute).sample(rows, 1), network.roles(attribute))
        facts = ZafarDI(c=0.0).fit(train, SEEING, np.random.default_rng(0)).facts
        found.append(facts["loss"] / facts["loss_unconstrained"] - 1)
    return found


def solved(trade: Tradeoff, method: str) -> Floats:
    """Return the w that a solver finds for the limits and no covariance, with nothing to minimise."""
    turned, bounds = limits(trade, GAMMA)
    found = linprog(  # type: ignore[call-overload]  # the stubs know no sparse matrices
        np.zeros(len(trade.a)),
        A_ub=-(diags_array(turned) @ trade.problem.rows.matrix()),
        b_ub=-bounds,
        A_eq=csr_array(trade.a[np.newaxis]),
        b_eq=[0.0],
        bounds=(None, None),
        method=method,
    )
    return np.asarray(found.x)


def print_optima(rows: int, seed: int) -> None:
    """Print accuracy and discrimination on the whole data of several optima."""
    rng = np.random.default_rng(seed)
    data = sample_of("adult-train")
    train = data.take(rng.choice(len(data), rows, replace=False))
    design, merged, _ = prepared(train, SEEING, "one-hot")
    trade = tradeoff(merged, 1.0)
    turned, bounds = limits(trade, GAMMA)
    width = len(trade.a)
    for name, w in (
        ("least loss", separate(trade, GAMMA)[0].w),
        ("dual simplex", solved(trade, "highs-ds")),
        ("interior point", solved(trade, "highs-ipm")),
        ("nearest to 0", separate(trade, GAMMA, np.zeros(width))[0].w),
        *((f"nearest to U(0, 1), draw {i}", separate(trade, GAMMA, rng.random(width))[0].w) for i in (1, 2)),
    ):
        accepted = LinearModel(design, w).predict(data)
        gap = accepted[data.s == 1].mean() - accepted[data.s == 0].mean()
        breach = max(0.0, float((bounds - turned * merged.times(w)).max()))
        figures = f"{(accepted == data.y).mean():.3f} | {gap:.3f} | {trade.a @ w:.0e} | {breach:.0e}"
        print(f"| {name} | {figures} |", flush=True)


def main() -> None:
    """Print the two tables."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else None
    print(f"| cost of no covariance | {' | '.join(f'β = {beta:g}' for beta in BETAS)} |\n|---|{'---:|' * 5}")
    for card, attribute, arcs in NETWORKS:
        shares = " | ".join(f"{share:.3f}" for share in costs(card, attribute, arcs, rows))
        print(f"| {card} | {shares} |", flush=True)
    print(
        "\n| optimum | accuracy | discrimination | covariance | limits missed by |\n|---|---:|---:|---:|---:|"
    )
    print_optima(4_000, 1)


if __name__ == "__main__":
    main()
