"""The command line: one file per command. The only place with typer and rich."""

import sys


def main() -> None:
    """Run the command line and exit with its code: 0 well, 1 some cells failed, 2 a mistake in the input."""
    try:
        from fairbench_cli.cli.streams import close_streams, open_streams

        sink = open_streams()
        from fairbench_cli.cli.app import run

        code = run(sys.argv[1:])
        from fairbench_cli.cli.run_command import ignore_endings

        ignore_endings()  # nothing is left to be stopped
        code = close_streams(sink, code)
    except KeyboardInterrupt:  # while modules are loaded; `run` handles its own
        print("interrupted", file=sys.stderr)  # noqa: T201
        code = 130
    sys.exit(code)
