"""``fairbench docs WORDS``: the headings and sentences of all pages that speak of some words."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import chain
from math import log
from operator import itemgetter
from textwrap import indent

AROUND = 0.5
"""What a word counts that stands in the heading above a sentence, in the paragraph, or below a heading."""
NEAREST = 0.5
"""A hit has this share of what the words count together, at least."""
MOST_HEADINGS = 5
MOST_SENTENCES = 6
_CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(r"\n(?=\n|#|\||[*-] |\d+\. |    )")
_SENTENCE = re.compile(r"(?<=[.?!:;]) (?=[A-Z`])")


@dataclass(frozen=True)
class Passage:
    """A heading of a page, or a sentence below one; `where` is ``PAGE#PART``, `around` what counts less."""

    where: str
    text: str
    around: frozenset[str]
    is_heading: bool = False


def word_stems(text: str) -> frozenset[str]:
    """Return the words of a text without their endings.

    >>> sorted(word_stems("Weighted rows: `sample-weights` of .21"))
    ['of', 'row', 'sampl', 'weight']
    """
    terms = re.findall(r"[^\W_]*[^\W\d_][^\W_]*", text.casefold())
    return frozenset(re.sub(r"(?<=...)(ing|ed|es|s|e)$", "", term) for term in terms)


FREQUENT = word_stems(
    "a an and any are as at be by can do does for from had has have how i in into is it its me my of on or "
    "our per that the their there this to was we what when where which who why will with you your"
)
"""Words that are not looked for where there are others."""


def read_passages(topic: str, page: str) -> Iterator[Passage]:
    """Yield the headings and sentences of a page in Markdown."""
    where = title = topic
    paragraphs = list[str]()
    for block in _BLOCK.split(_CODE.sub(lambda code: indent(code[0], "    "), page)) + ["# "]:
        text = _plain(" ".join(block.split()))
        if block.lstrip("\n").startswith("#"):
            if paragraphs:
                yield Passage(where, title, word_stems(" ".join(paragraphs)), is_heading=True)
            hashes, _, title = text.partition(" ")
            where = where_of(topic, title, len(hashes))
            paragraphs = [title]
            continue
        for sentence in _SENTENCE.split(text.strip("| ")):
            yield Passage(where, sentence, word_stems(f"{title} {text}"))
        paragraphs.append(text)


def where_of(topic: str, title: str, level: int) -> str:
    """Return ``PAGE#PART`` of a heading, as links name it.

    >>> where_of("howto", "Cite fairbench", 2), where_of("howto", "How do I …?", 1)
    ('howto#cite-fairbench', 'howto')
    """
    if level == 1:
        return topic
    anchor = re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
    return f"{topic}#{anchor}"


def _plain(text: str) -> str:
    return re.sub(r"\[([^]]+)\]\([^)]+\)|[*`]", r"\1", text)


def find_passages(query: str, passages: Sequence[Passage]) -> list[Passage]:
    """Return headings, then sentences, that have the most of the words asked for; rare words count more."""
    query_terms = word_stems(query) - FREQUENT or word_stems(query)
    own_terms = [word_stems(passage.text) & query_terms for passage in passages]
    n_passages = Counter(chain.from_iterable(own_terms))
    weights = {term: log(1 + len(passages) / n) for term, n in sorted(n_passages.items())}
    enough = NEAREST * sum(weights.values())
    headings: list[tuple[float, Passage]] = []
    sentences: list[tuple[float, Passage]] = []
    for terms, passage in zip(own_terms, passages, strict=True):
        score = 0.0
        for term, weight in weights.items():
            score += weight * max(term in terms, AROUND * (term in passage.around))
        if score >= enough > 0 and passage.is_heading:
            headings.append((score, passage))
        elif score >= enough > 0 and terms:
            sentences.append((score, passage))
    best = nlargest(MOST_HEADINGS, headings, itemgetter(0)) + nlargest(
        MOST_SENTENCES, sentences, itemgetter(0)
    )
    return [passage for _, passage in best]


def read_part(page: str, anchor: str) -> str:
    """Return a part of a page, a heading with what is below it; empty where there is none of that name."""
    text = _CODE.sub(lambda code: code[0].replace("\n#", "\n\0#"), page)
    for heading in re.finditer(r"^(#+) (.+)\n", text, re.MULTILINE):
        if where_of("", _plain(heading[2]), 2) == f"#{anchor}":
            end = re.compile(rf"^#{{1,{len(heading[1])}}} ", re.MULTILINE).search(text, heading.end())
            return text[heading.start() : end and end.start()].replace("\0", "")
    return ""
