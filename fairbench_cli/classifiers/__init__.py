"""Classifiers: what a technique trains."""
