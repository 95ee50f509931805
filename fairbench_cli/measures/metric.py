from fairbench_cli.measures.entry import Measure as Metric

__all__ = ["Metric"]
