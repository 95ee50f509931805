"""The answer of a run: five runs with a known truth, and every sentence of a real one computed again."""
