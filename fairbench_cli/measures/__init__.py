"""Measures of discrimination, error and accuracy: pure functions of weighted counts."""
