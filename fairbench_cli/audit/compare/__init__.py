"""Groups against their references: references, terms, tests, limits and verdicts, as arrays and as rows."""
