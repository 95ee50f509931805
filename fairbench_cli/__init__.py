"""fairbench: benchmark runner and audit tool for fairness in machine learning.

From Python: ``import fairbench_cli as fb``, then `fb.audit`, `fb.measure`, `fb.load`, `fb.learn`,
`fb.load_network`, `fb.run` and `fb.load_results`; ``docs/api.md`` shows them all. What a name needs is loaded
when it is first used.
"""

TYPE_CHECKING = False  # to type checkers it is true; typing itself takes longer to load than all of this

if TYPE_CHECKING:
    from typing import Any

    from fairbench_cli.api.data import load
    from fairbench_cli.api.measures import measure
    from fairbench_cli.api.network import learn, load_network
    from fairbench_cli.api.run import load_results, run
    from fairbench_cli.audit.api import audit
    from fairbench_cli.base.errors import UserError
    from fairbench_cli.classifiers.fit import Classifier
    from fairbench_cli.data.table import Sample
    from fairbench_cli.interventions.fitted import Fitted, Infeasible
    from fairbench_cli.measures.counts import Counts

__version__ = "0.1.0"

__all__ = [
    "Classifier",
    "Counts",
    "Fitted",
    "Infeasible",
    "Sample",
    "UserError",
    "audit",
    "learn",
    "load",
    "load_network",
    "load_results",
    "measure",
    "run",
]

_MODULES = {
    "Classifier": "classifiers.fit",
    "Counts": "measures.counts",
    "Fitted": "interventions.fitted",
    "Infeasible": "interventions.fitted",
    "Sample": "data.table",
    "UserError": "base.errors",
    "learn": "api.network",
    "load": "api.data",
    "load_network": "api.network",
    "load_results": "api.run",
    "measure": "api.measures",
    "run": "api.run",
}


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name == "audit":  # the package of that name, which can be called
        return import_module("fairbench_cli.audit")
    if name not in _MODULES:
        from fairbench_cli.base.errors import suggest

        raise AttributeError(f'fairbench_cli has no "{name}"\n  fix: {suggest(name, __all__)}')
    found = getattr(import_module(f"fairbench_cli.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
