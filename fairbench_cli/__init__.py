"""fairbench: benchmark runner and audit tool for fairness in machine learning.

From Python: ``import fairbench_cli as fb``, then `fb.audit`, `fb.measure`, `fb.load`, `fb.learn`,
`fb.load_network`, `fb.plan`, `fb.run`, `fb.load_results` and `fb.technique`; ``docs/api.md`` shows them
all. What a name needs is loaded when it is first used.
"""

TYPE_CHECKING = False  # to type checkers it is true; typing itself takes longer to load than all of this

if TYPE_CHECKING:
    from typing import Any

    from fairbench_cli.api.data import load as load
    from fairbench_cli.api.examples import example_people as example_people
    from fairbench_cli.api.measures import measure as measure
    from fairbench_cli.api.network import learn as learn
    from fairbench_cli.api.network import load_network as load_network
    from fairbench_cli.api.run import load_results as load_results
    from fairbench_cli.api.run import run as run
    from fairbench_cli.api.studies import check_claims as check_claims
    from fairbench_cli.api.studies import compare as compare
    from fairbench_cli.api.technique import technique as technique
    from fairbench_cli.audit.api import AuditFailed as AuditFailed
    from fairbench_cli.audit.api import audit as audit
    from fairbench_cli.audit.opened import opened as opened
    from fairbench_cli.audit.planning import plan as plan
    from fairbench_cli.audit.questions import choose as choose
    from fairbench_cli.audit.questions import questions as questions
    from fairbench_cli.audit.questions import table_options as table_options
    from fairbench_cli.audit.understood import look as look
    from fairbench_cli.audit.understood import merge_options as merge_options
    from fairbench_cli.base.errors import UserError as UserError
    from fairbench_cli.classifiers.fit import Classifier as Classifier
    from fairbench_cli.data.table import Sample as Sample
    from fairbench_cli.interventions.fitted import Fitted as Fitted
    from fairbench_cli.interventions.fitted import Infeasible as Infeasible
    from fairbench_cli.measures.counts import Counts as Counts

__version__ = "0.1.0"

_TARGETS = {
    "AuditFailed": "audit.api:AuditFailed",
    "Classifier": "classifiers.fit:Classifier",
    "Counts": "measures.counts:Counts",
    "Fitted": "interventions.fitted:Fitted",
    "Infeasible": "interventions.fitted:Infeasible",
    "Sample": "data.table:Sample",
    "UserError": "base.errors:UserError",
    "audit": "audit",  # the package of that name, which can be called
    "check_claims": "api.studies:check_claims",
    "choose": "audit.questions:choose",
    "compare": "api.studies:compare",
    "example_people": "api.examples:example_people",
    "learn": "api.network:learn",
    "load": "api.data:load",
    "load_network": "api.network:load_network",
    "load_results": "api.run:load_results",
    "look": "audit.understood:look",
    "measure": "api.measures:measure",
    "merge_options": "audit.understood:merge_options",
    "opened": "audit.opened:opened",
    "plan": "audit.planning:plan",
    "questions": "audit.questions:questions",
    "run": "api.run:run",
    "table_options": "audit.questions:table_options",
    "technique": "api.technique:technique",
}
__all__ = [*_TARGETS]


def __getattr__(name: str) -> "Any":
    from pkgutil import resolve_name

    if name not in __all__:
        from fairbench_cli.base.errors import suggest

        raise AttributeError(f'fairbench_cli has no "{name}"\n  fix: {suggest(name, __all__)}')
    found = globals()[name] = resolve_name(f"fairbench_cli.{_TARGETS[name]}")
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
