"""Decisions simulated with a known degree of discrimination, and what the measures make of them."""
