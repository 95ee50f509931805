"""The config of an experiment: read, checked, and what it can name."""
