"""Discrete Bayesian networks: learn the structure, fit the tables, tilt them by β, draw rows."""
