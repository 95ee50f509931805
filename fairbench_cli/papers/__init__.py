"""Published values, one CSV a paper, and a run's results against them."""
