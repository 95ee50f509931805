"""Interventions: techniques that make a classifier discriminate less, all in one shape."""
