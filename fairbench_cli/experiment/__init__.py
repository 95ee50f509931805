"""The experiment: config, plan, one repeat of one cell, the runner and its journal."""
