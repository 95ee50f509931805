"""What every command does with its options."""

from collections import Counter
from typing import Any

from typer.core import TyperCommand, TyperOption

from fairbench_cli.base.errors import Problem, UserError


class Command(TyperCommand):
    """A command that refuses an option of one value that is given twice: only the last would count."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line."""
        _, _, options = self.make_parser(ctx).parse_args(args=list(args))
        times = Counter(
            max(option.opts, key=len)
            for option in options
            if isinstance(option, TyperOption) and _is_single(option)
        )
        fix = "it takes one value: leave the others out"
        twice = [Problem(f"given {times[flag]} times", fix, flag) for flag in times if times[flag] > 1]
        asks_for_help = any(option.is_eager for option in options)  # which is answered before all else
        if twice and not asks_for_help and not ctx.resilient_parsing:
            raise UserError(*twice)
        return super().parse_args(ctx, args)


def _is_single(option: TyperOption) -> bool:
    """Return whether an option takes one value: it is no flag, and is not repeated."""
    return not (option.is_flag or option.multiple or option.count)
