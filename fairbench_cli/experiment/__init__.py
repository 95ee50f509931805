"""The experiment: config, plan, one repeat of one cell, how a run goes on, and its journal."""
