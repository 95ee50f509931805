"""The command line: one file per command. The only place with typer and rich."""

import sys


def main() -> None:
    """Run the command line and exit with its code: 0 well, 1 some cells failed, 2 a mistake in the input."""
    from fairbench_cli.cli.app import run

    sys.exit(run(sys.argv[1:]))
