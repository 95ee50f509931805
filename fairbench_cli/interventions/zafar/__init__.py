"""The solvers behind Zafar et al.'s constrained logistic regressions."""
