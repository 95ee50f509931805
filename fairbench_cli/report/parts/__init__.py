"""The parts of a run's report. A new one is a line here; `papers/parts.py` adds those of papers."""

from fairbench_cli.report.parts.baselines import BASELINES
from fairbench_cli.report.parts.controls import CONTROLS
from fairbench_cli.report.parts.curves import CURVES
from fairbench_cli.report.parts.differences import DIFFERENCES
from fairbench_cli.report.parts.findings import FINDINGS
from fairbench_cli.report.parts.measured import MEASURED
from fairbench_cli.report.parts.networks import NETWORKS
from fairbench_cli.report.parts.oracle import ORACLE
from fairbench_cli.report.parts.part import RunPart
from fairbench_cli.report.parts.ranks import RANKS
from fairbench_cli.report.parts.remedies import REMEDIES
from fairbench_cli.report.parts.scores import SCORES
from fairbench_cli.report.parts.sweep import SWEEP
from fairbench_cli.report.parts.tuning import TUNING
from fairbench_cli.report.parts.worlds import WORLDS

PARTS: tuple[RunPart, ...] = (
    DIFFERENCES,
    RANKS,
    WORLDS,
    CURVES,
    SWEEP,
    SCORES,
    MEASURED,
    FINDINGS,
    NETWORKS,
    REMEDIES,
    BASELINES,
    ORACLE,
    TUNING,
    CONTROLS,
)
"""In the order of their sections on the page."""
