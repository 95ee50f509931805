"""Time of every measure of counts, one after another, on a run of 10,000 cells × 30 repeats.

usage: python benchmarks/measures.py

One thread; the first measures pay for the margins that all share. Times are of this machine and this minute:
wall first, CPU behind it.
"""

import resource
import time

import numpy as np

from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.registry import COUNT_METRICS, measure

SHAPE = (10_000, 30, 2, 2, 2)


def main() -> None:
    """Print one line per measure, slowest first, and the total."""
    n = np.random.default_rng(0).poisson(300, SHAPE).astype(np.float64)
    for name in COUNT_METRICS:
        measure(name, Counts(("deprived", "favoured"), n[0, :1]))  # load scipy.special
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = {}
    start, cpu = time.perf_counter(), time.process_time()
    counts = Counts(("deprived", "favoured"), n)
    times["(reordering of the counts)"] = time.perf_counter() - start
    for name in COUNT_METRICS:
        last = time.perf_counter()
        measure(name, counts)
        times[name] = time.perf_counter() - last
    total, cpu = time.perf_counter() - start, time.process_time() - cpu
    for name, seconds in sorted(times.items(), key=lambda item: -item[1]):
        print(f"{1e3 * seconds:8.1f} ms  {name}")
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{1e3 * total:8.1f} ms  all {len(COUNT_METRICS)} measures ({1e3 * cpu:.0f} ms of CPU)")
    more, own = (after - before) / 1024, n.nbytes / 2**20
    print(f"{more:8.0f} MiB more memory at the peak (the counts are {own:.0f} MiB)")


if __name__ == "__main__":
    main()
