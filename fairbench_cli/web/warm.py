"""What every worker needs, loaded once in the process that workers are forked from: they start at once."""

import duckdb
import jinja2
import numpy as np
import pandas as pd
import scipy.special

import fairbench_cli as fb
from fairbench_cli.web import desk

LOADED = (duckdb, jinja2, np, pd, scipy.special, desk, fb.look, fb.questions, fb.opened, fb.audit)
