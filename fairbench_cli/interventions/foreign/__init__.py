"""Techniques of other libraries: each shape of estimator in a file, what it is given and what it gives."""
