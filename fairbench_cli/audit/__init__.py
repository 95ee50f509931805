"""The audit: who is treated how differently, by every measure, with intervals and a verdict.

The package itself can be called, so that ``fairbench_cli.audit`` is the same whatever was imported before:

>>> import fairbench_cli as fb
>>> result = fb.audit("preds.csv", ref={"race": "Caucasian"}, tau=0.8)  # doctest: +SKIP
>>> result.verdict  # doctest: +SKIP
'fail'
"""

import sys
from types import ModuleType

from fairbench_cli.audit.api import audit

__all__ = ["audit"]


class _CallablePackage(ModuleType):
    __call__ = staticmethod(audit)


sys.modules[__name__].__class__ = _CallablePackage
