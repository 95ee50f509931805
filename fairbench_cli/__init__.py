"""fairbench: benchmark runner and audit tool for fairness in machine learning."""

__version__ = "0.1.0"
