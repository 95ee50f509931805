"""``fairbench docs WORDS``: the headings and sentences of all pages that speak of some words."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from math import log
from textwrap import indent
from typing import NamedTuple

AROUND = 0.5
"""What a word counts that stands in the heading above a sentence, in the paragraph, or below a heading."""
NEAREST = 0.5
"""A hit has this share of what the words count together, at least."""
MOST_HEADINGS = 5
MOST_SENTENCES = 6
_CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(r"\n(?=\n|#|\||[*-] |\d+\. |    )")
_SENTENCE = re.compile(r"(?<=[.?!:;]) (?=[A-Z`])")


class Passage(NamedTuple):
    """A heading of a page, or a sentence below one; `where` is ``PAGE#PART``, `around` counts less."""

    where: str
    text: str
    terms: frozenset[str]
    around: frozenset[str]
    is_heading: bool


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
                yield Passage(where, title, word_stems(title), word_stems(" ".join(paragraphs)), True)
            hashes, _, title = text.partition(" ")
            where = where_of(topic, title, len(hashes))
            paragraphs = [title]
        else:
            for sentence in _SENTENCE.split(text.strip("| ")):
                yield Passage(where, sentence, word_stems(sentence), word_stems(f"{title} {text}"), False)
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
    n_passages = Counter(chain.from_iterable(passage.terms & query_terms for passage in passages))
    weights = {term: log(1 + len(passages) / n) for term, n in sorted(n_passages.items())}

    def score(passage: Passage) -> float:
        shares = {term: max(term in passage.terms, AROUND * (term in passage.around)) for term in weights}
        return sum(weight * shares[term] for term, weight in weights.items())

    enough = NEAREST * sum(weights.values())
    hits = [passage for passage in passages if score(passage) >= enough > 0]
    hits.sort(key=score, reverse=True)
    headings = [hit for hit in hits if hit.is_heading]
    sentences = [hit for hit in hits if not hit.is_heading and hit.terms & query_terms]
    return headings[:MOST_HEADINGS] + sentences[:MOST_SENTENCES]


def read_part(page: str, anchor: str) -> str:
    """Return a part of a page, a heading with what is below it; empty where there is none of that name."""
    text = _CODE.sub(lambda code: code[0].replace("\n#", "\n\0#"), page)
    for heading in re.finditer(r"^(#+) (.+)\n", text, re.MULTILINE):
        if where_of("", _plain(heading[2]), 2) == f"#{anchor}":
            end = re.compile(rf"^#{{1,{len(heading[1])}}} ", re.MULTILINE).search(text, heading.end())
            return text[heading.start() : end and end.start()].replace("\0", "")
    return ""
