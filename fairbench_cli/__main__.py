"""``python -m fairbench_cli``."""

from fairbench_cli.cli import main

if __name__ == "__main__":
    main()
