"""From the journal to groups.csv, results.csv, summary.csv and the papers' tables. No training."""
