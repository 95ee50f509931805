"""The command line: one file per command. The only place with typer and rich."""

import gc
import os
import sys

YOUNG = 200_000  # objects: among fewer, which is what a command loads, cycles are not looked for


def main() -> None:
    """Run the command line and exit with its code: 0 well, 1 some cells failed, 2 a mistake in the input."""
    gc.set_threshold(YOUNG)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")  # else it looks for some in every package
    try:
        from fairbench_cli.cli.streams import close_streams, open_streams

        sink = open_streams()
        from fairbench_cli.cli.app import run

        code = run(sys.argv[1:])
        from fairbench_cli.cli.run_command import ignore_endings

        ignore_endings()  # nothing is left to be stopped
        code = close_streams(sink, code)
        gc.freeze()  # everything ends with the process: no object is taken apart
    except KeyboardInterrupt:  # while modules are loaded; `run` handles its own
        print("interrupted", file=sys.stderr)  # noqa: T201
        code = 130
    sys.exit(code)
