"""From the journal to tested numbers: counts, metrics, differences with their tests, and what was found."""
