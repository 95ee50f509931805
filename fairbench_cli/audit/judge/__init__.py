"""From counts to a report: references, comparisons, intervals, tests, verdicts."""
