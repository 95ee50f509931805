"""The audit: who is treated how differently, by every measure, with intervals and a verdict.

>>> from fairbench_cli.audit import audit
>>> result = audit("preds.csv", ref={"race": "Caucasian"}, tau=0.8)  # doctest: +SKIP
>>> result.verdict  # doctest: +SKIP
'fail'
"""

from fairbench_cli.audit.api import audit

__all__ = ["audit"]
