"""What the scores are worth, and at which thresholds an audit would pass."""
