"""Mechanisms of bias: how a record comes to differ from the truth, one small file each."""
