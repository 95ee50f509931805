"""What is behind a difference between groups: strata, propensity, neighbours, and what gives a group away."""
