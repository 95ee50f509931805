"""Mechanisms of bias: how a record comes to differ from the truth: `biases` has one class each."""
