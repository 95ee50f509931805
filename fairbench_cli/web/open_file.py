"""A file that is open: where it is, who reads it, and what was chosen and asked of it so far."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairbench_cli.web.worker import FileWorker


@dataclass(eq=False)
class OpenFile:
    """A file that somebody sent, and the process that has it open.

    Parameters
    ----------
    number : str
        A random one, in addresses.
    name : str
        What it is called for people; it is never opened under this name.
    path : Path
        Where it is kept.
    worker : FileWorker
        Reads and audits it.
    is_finished : bool
        Whether it is a finished audit, which has an answer and no rows.
    note : str
        What people should know of it, in a sentence.
    choices : dict
        Options of `fb.audit` that were chosen so far, before the questions.
    answers : dict
        To the questions, by their ids.
    views : list of dict
        The options of each audit that was made; its place in the list is in the address.
    origins : list of dict
        The options that followed from the questions, of each view.
    """

    number: str
    name: str
    path: Path
    worker: FileWorker
    is_finished: bool = False
    note: str = ""
    choices: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)
    views: list[dict[str, Any]] = field(default_factory=list)
    origins: list[dict[str, Any]] = field(default_factory=list)

    def view_of(self, options: dict[str, Any], origin: dict[str, Any]) -> int:
        """Return the number of the view with these options, a new one where there is none."""
        for number, view in enumerate(zip(self.views, self.origins, strict=True)):
            if view == (options, origin):
                return number
        self.views.append(options)
        self.origins.append(origin)
        return len(self.views) - 1
