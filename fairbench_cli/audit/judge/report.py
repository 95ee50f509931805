"""A finished audit with the measures that decide: what every output is made from."""

from dataclasses import dataclass

from fairbench_cli.audit.config import ExplainConfig as Ask
from fairbench_cli.audit.judge.explanation import Explanation
from fairbench_cli.audit.judge.metrics import AUDIT_METRICS
from fairbench_cli.audit.judge.parity import ROLL_UPS, all_of
from fairbench_cli.audit.judge.result import Audit, Parity
from fairbench_cli.audit.judge.verdict import chosen_measures

Key = tuple[str, str, str]  # model, decision, attribute


@dataclass(frozen=True, eq=False)
class Report:
    """What an audit found, and what its verdict is over.

    Parameters
    ----------
    audit : Audit
        The findings.
    measures : tuple of str
        The measures and roll-ups that decide.
    explanations : tuple of Explanation
        What is behind the differences; empty unless asked for.
    ask : Ask, or None
        What they were asked.
    """

    audit: Audit
    measures: tuple[str, ...]
    explanations: tuple[Explanation, ...] = ()
    ask: Ask | None = None

    @property
    def verdict(self) -> Parity:
        """Pass, fail or undecidable, over the chosen measures of all models and decisions."""
        return self.audit.verdict

    @property
    def deciding(self) -> tuple[str, ...]:
        """The measures that decide, with roll-ups spelled out, in the order of `AUDIT_METRICS`."""
        wanted = {part for name in self.measures for part in ROLL_UPS.get(name, (name,))}
        return tuple(name for name in AUDIT_METRICS if name in wanted)

    @property
    def attributes(self) -> dict[Key, Parity]:
        """The verdict of each attribute under each model and decision."""
        return {
            (row.model, row.decision, row.attribute): all_of(
                row.parity.get(name, "undecidable") for name in self.measures
            )
            for row in self.audit.verdicts
        }

    @property
    def several(self) -> bool:
        """Whether there is more than one pair of model and decision."""
        return len({key[:2] for key in self.attributes}) > 1

    def to_json(self) -> str:
        """Write one JSON document."""
        from fairbench_cli.audit.show.document import to_json

        return to_json(self)

    def to_html(self) -> str:
        """Write one HTML page that works offline."""
        from fairbench_cli.audit.show.html import to_html

        return to_html(self)

    def to_markdown(self) -> str:
        """Write Markdown tables."""
        from fairbench_cli.audit.show.markdown import to_markdown

        return to_markdown(self)

    def _repr_markdown_(self) -> str:
        """Show the audit as a notebook cell's value."""
        return self.to_markdown()

    def __repr__(self) -> str:
        from fairbench_cli.audit.show.words import headline

        return f"<{headline(self)}>"


def report_of(audit: Audit, measures: tuple[str, ...] | None = None) -> Report:
    """Put an audit and the measures it was asked to decide on together; None: the default ones."""
    return Report(audit, chosen_measures(audit.tally, measures))
