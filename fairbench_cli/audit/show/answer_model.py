"""The answer of an audit in words, as data: over all, of each attribute, and what is open."""

import math
from dataclasses import dataclass

from fairbench_cli.audit.compare.report import Pair, Place
from fairbench_cli.audit.parts import formatting
from fairbench_cli.document.model import Verdict

MOST_LINES = 6  # sentences, and lines on what is open, unless all are asked for


@dataclass(frozen=True)
class Sentence(Pair):
    """The worst comparison of an attribute, in words.

    `harmed` is the group whom it harms, where the configuration says what a decision does; else empty.
    """

    metric: str
    verdict: Verdict
    shown_outside: bool
    harmed: str
    text: str


@dataclass(frozen=True)
class OpenGroup:
    """A group with comparisons that are not decided.

    Parameters
    ----------
    group : str
    rows : int
        How many it has.
    metrics : tuple of str
        The rates that are not decided.
    compared : int
        On how many rates it is compared.
    least_needed, most_needed : float
        About how many rows of the group would decide the first and the last of them, were the reference's to
        grow alike and the rates to stay; NaN where that is not known of any, or of one.
    needed_if_equal : float
        About how many would decide the last were the rates equal, where so many more rows are needed as they
        are that nobody has them; else NaN.
    """

    group: str
    rows: int
    metrics: tuple[str, ...]
    compared: int
    least_needed: float
    most_needed: float
    needed_if_equal: float = math.nan

    @property
    def needed(self) -> str:
        """How many rows would decide, in words; empty where that is not known."""
        return formatting.describe_rows_needed(self.least_needed, self.most_needed, self.needed_if_equal)


@dataclass(frozen=True)
class OpenAttribute(Place):
    """What is not decided of an attribute, in words and by group: most open rates first, minor ones last."""

    groups: tuple[OpenGroup, ...]
    text: str


@dataclass(frozen=True)
class Headline:
    """The answer of an audit in words: over all, of each attribute (the worst first), and what is open.

    `sentence` is the whole of it; `message` is how it begins: the one clause that everybody understands.
    """

    verdict: Verdict | None
    message: str
    sentence: str
    sentences: tuple[Sentence, ...] = ()
    open: tuple[OpenAttribute, ...] = ()

    @property
    def detail(self) -> str:
        """What follows on the message."""
        return self.sentence.removeprefix(self.message).lstrip()

    def lines(self, *, everything: bool = False) -> tuple[list[tuple[Verdict, str]], list[str]]:
        """Return the sentences with their verdicts, and what is open; a last line counts what is left out."""
        n_shown = None if everything else MOST_LINES
        sentences = [(sentence.verdict, sentence.text) for sentence in self.sentences[:n_shown]]
        open_texts = [attribute.text for attribute in self.open[:n_shown]]
        if n_more := len(self.sentences) - len(sentences):
            sentences.append((self.sentences[len(sentences)].verdict, f"and {n_more} more, below."))
        if n_more := len(self.open) - len(open_texts):
            open_texts.append(f"and {n_more} more, below.")
        return sentences, open_texts
