"""How often a run says that a technique moves the gap, narrows or widens it, where nothing differs.

``python benchmarks/levels_moves.py [runs] [gap ...]`` draws runs of a plain model and four techniques that
decide one row in five anew, at the same rates, and prints a line per way of testing, number of test rows and
repeats, and true gap: the share of runs in which any of the four is said to move the gap, to narrow or widen
it, and either. All runs of a line are data sets of one report: each is a family of its own.
"""

import sys
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.decisions import packed
from fairbench_cli.measures.counts import PAIR, Counts, count
from fairbench_cli.measures.groups import ProtectedAttribute, ProtectedAttributes
from fairbench_cli.measures.score_test import wilson_interval
from fairbench_cli.report.ledger.change_kinds import classify_changes, technique_frame
from fairbench_cli.report.ledger.inference import RowDesign
from fairbench_cli.report.ledger.journal_arrays import CELL_COLUMNS, DatasetRepeats
from fairbench_cli.report.ledger.paired_differences import paired_frame
from fairbench_cli.report.ledger.results import compute_results

SEX = ProtectedAttributes((ProtectedAttribute("sex", PAIR, PAIR[:1], PAIR[1:]),))
CELL = dict.fromkeys(CELL_COLUMNS, "") | {"dataset": "d", "attribute": "sex", "beta": 0.0}
CELL |= {"parameters": "{}", "include_protected": False, "key": "k"}
TECHNIQUES = ("none", "a", "b", "c", "d")
DESIGNS = {"drawn": RowDesign("drawn"), "shared": RowDesign("shared"), "split": RowDesign("split", 3 / 7)}
ANEW = 0.2


def draw_run(rng: np.random.Generator, name: str, kind: str, rows: int, n: int, gap: float) -> DatasetRepeats:
    """Return what a plain model and four techniques that do nothing decide in n repeats."""
    size = round(rows / 0.3) if kind == "split" else rows
    n_drawn = n if kind == "drawn" else 1
    s = np.broadcast_to(rng.random((n_drawn, size)) < 0.6, (n, size)).astype(np.int8)
    y = np.broadcast_to(rng.random((n_drawn, size)) < 0.4, (n, size)).astype(np.int8)
    base = np.broadcast_to(rng.random((n_drawn, size)), (n, size))
    tested = np.broadcast_to(np.arange(rows), (n, rows))
    if kind == "split":
        tested = np.argsort(rng.random((n, size)), axis=1)[:, :rows]
    counts = []
    records = []
    for _ in TECHNIQUES:
        chance = np.where(rng.random((n_drawn, size)) < ANEW / 2, rng.random((n_drawn, size)), base)
        chance = np.where(rng.random((n, size)) < ANEW / 2, rng.random((n, size)), chance)
        decided = (chance < 0.3 + gap * s).astype(np.int8)
        parts = [[of[rows_of] for of in each] for *each, rows_of in zip(s, y, decided, tested, strict=True)]
        counts.append([count(*part, PAIR).n for part in parts])
        texts: list[str | None] = [None] * n
        if kind == "shared":
            texts = [packed(part[2][np.lexsort((part[1], part[0]))]) for part in parts]
        records.append({r: Repeat("", r, "ok", "", None, decisions=text) for r, text in enumerate(texts)})
    cells = [CELL | {"dataset": name, "intervention": technique} for technique in TECHNIQUES]
    status = np.full((len(cells), n), "ok", dtype=object)
    counted = Counts(PAIR, np.array(counts))
    return DatasetRepeats("sex", SEX, cells, status, status, counted, {}, records, DESIGNS[kind])


def rates_of_words(runs: int, gaps: Sequence[float]) -> Iterator[str]:
    """Yield the lines."""
    for kind, rows, repeats, gap in product(DESIGNS, (100, 300, 1000), (3, 5, 10), gaps):
        rng = np.random.default_rng([len(kind), rows, repeats, int(100 * gap)])
        drawn = [draw_run(rng, str(run), kind, rows, repeats, gap) for run in range(runs)]
        results = compute_results(drawn, ("discrimination",))
        frame = paired_frame(results)
        frame = frame.assign(kind=classify_changes(frame, technique_frame(results)))
        told = frame.groupby("dataset")["kind"].agg(set)
        shares = []
        for said in (
            {"moved"},
            {"better", "worse", "overshoots"},
            {"moved", "better", "worse", "overshoots"},
        ):
            n_said = sum(bool(said & kinds) for kinds in told)
            low, high = (float(limit) for limit in wilson_interval(n_said, runs))
            shares.append(f"{n_said / runs:.3f} ({low:.3f}-{high:.3f})")
        yield f"| {kind} | {rows} | {repeats} | {gap} | {' | '.join(shares)} |"


if __name__ == "__main__":
    given = [float(text) for text in sys.argv[1:]] or [1000.0]
    for line in rates_of_words(int(given[0]), given[1:] or (0.0,)):
        print(line, flush=True)
