"""Other people's results: tables of repeats that were published, judged as fairbench judges its own runs."""
