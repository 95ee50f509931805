"""What the process of a file does: it calls what ``import fairbench_cli as fb`` gives, and lays out the answers."""

from collections.abc import Callable, Mapping
from typing import Any

import fairbench_cli as fb


class Desk:
    """One file, what was understood of it and the last audit."""

    def __init__(self, tell: Callable[[str, float | None], None]) -> None:
        self._tell = tell

    @property
    def verbs(self) -> Mapping[str, Callable[..., Any]]:
        return {"look": self.look, "audit": self.audit}

    def look(self, path, name, options):
        fb.audit(path, **options)
        return {"name": name, "title": name, "notes": [], "remarks": [], "columns": [], "unshown": 0, "roles": []}

    def audit(self, path, name, options):
        fb.audit(path, **options)
        return {}
