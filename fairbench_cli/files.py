"""Write files so that a reader sees the old text or the new one, never half of it."""

import json
import os
from pathlib import Path
from typing import Any


def write_text(path: Path, text: str) -> None:
    """Replace a file's text in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_text(text, encoding="utf-8", newline="\n")
    part.replace(path)


def write_json(path: Path, value: Any) -> None:
    """Replace a file by a value's JSON."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")
