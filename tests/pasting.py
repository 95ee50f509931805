"""What a reader does with a message of two lines: the command again, with what its ``fix:`` line offers."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

_WORD = r"""(?:'[^']*'|"[^"]*"|[^\s'"`;,:()?]|[,:(](?=[^\s'"`]))+"""
_OPTION = re.compile(rf"(?<![\w-])(--[a-z][a-z-]*|-[a-z])(?![\w-])(?:=|[ ](?!-)(?={_WORD}))?({_WORD})?")
_COMMAND = re.compile(r"`(fairbench [^`]+)`|(?:^|: )(fairbench [^;`]+?)(?=$|[;,] |\. | or )")
_OUT = re.compile(r"\b(leave( out)?|leaving out|without|remove|drop)\s*$")
_IT_OUT = re.compile(r"\b(leave|take|remove) (it|that|them)( out)?\b|leave out$")
_AND = re.compile(r",? (and (a )?)?")
OPEN = re.compile(r"[A-Z]{3,}")
"""What a fix line leaves to its reader: ``VALUE``, ``COLUMN=DEPRIVED``."""
SWITCHES = {
    "--drop-missing",
    "--force",
    "--mix-versions",
    "--curves",
    "--scan",
    "--mitigate",
    "--all",
    "--long",
    "--truth",
    "--header",
}
ALIASES = {"-a": "--attribute", "-m": "--metric", "-o": "--output", "-f": "--format", "-c": "--config"}
ALIASES |= {"--favorable-label": "--favourable-label", "--favorable": "--favourable"}
WORDS_AFTER = {
    "out",
    "with",
    "include",
    "and",
    "or",
    "as",
    "that",
    "in",
    "of",
    "is",
    "are",
    "to",
    "which",
    "once",
}


@dataclass(frozen=True)
class Message:
    """A mistake as it was printed: the option or place it is about, what is wrong, what to do."""

    where: str
    wrong: str
    fix: str


def read_messages(printed: str) -> list[Message]:
    """Return the mistakes of what was printed, two lines each."""
    found = re.findall(r"^(?:(.*?): )?error: (.*)\n  fix: (.*)$", printed, re.MULTILINE)
    return [Message(*texts) for texts in found]


def commands_of(message: Message) -> list[list[str]]:
    """Return the whole commands that a fix line names."""
    return [shlex.split(quoted or bare)[1:] for quoted, bare in _COMMAND.findall(message.fix)]


@dataclass(frozen=True)
class Offer:
    """Options that a fix line names together, and those that they are in the place of."""

    given: tuple[str, ...] = ()
    taken_out: tuple[str, ...] = ()


def offers_of(message: Message) -> list[Offer]:
    """Return what options a fix line offers: those that stand together are one offer."""
    text = _COMMAND.sub("", message.fix)
    offers: list[Offer] = []
    end = 0
    for match in _OPTION.finditer(text):
        option, value = match[1], match[2]
        stop = match.end()
        if value is not None and (value in WORDS_AFTER or option in SWITCHES):
            value, stop = None, match.start() + len(option)
        words = [option] if value is None else [option, "".join(shlex.split(value))]
        before, after = text[end : match.start()], text[stop:].lstrip()
        if before.endswith(" in the place of ") and offers:
            offers[-1] = Offer(offers[-1].given, (option,))
        elif _OUT.search(before) or after.startswith("out"):
            offers.append(Offer((), (option,)))
        elif offers and _AND.fullmatch(before):
            offers[-1] = Offer((*offers[-1].given, *words), offers[-1].taken_out)
        else:
            offers.append(Offer(tuple(words)))
        end = stop
    if _IT_OUT.search(message.fix) and message.where.startswith("-"):
        offers.append(Offer((), (message.where,)))
    return offers


def suggestion_of(message: Message) -> tuple[str, str] | None:
    """Return a word that is not known and the one that is meant."""
    meant = re.search(r'did you mean "?([^"?]+)"?\?', message.fix)
    wrong = re.search(r'"([^"]+)"', message.wrong) or re.search(r"no such \w+: (\S+)", message.wrong)
    if meant is None or wrong is None or meant[1].startswith("-"):
        return None
    return wrong[1], meant[1]


def with_options(command: Sequence[str], added: Sequence[str]) -> list[str]:
    """Return a command with options in the place of those it has of their name, or of their name and key."""
    changed = list(command)
    for option, value in pairwise([*added, ""]):
        if option.startswith("-"):
            changed = without_option(changed, option, key_of(value))
            changed = without_option(changed, option, "") if option == "--set" else changed
    return [*changed, *added]


def key_of(value: str | None) -> str | None:
    """Return what a value is said of: ``sex`` of ``sex=f`` and ``sex: F = f``."""
    match = re.match(r"([\w ]+?)\s*[=:]", value or "")
    return match[1] if match else None


def without_option(command: Sequence[str], option: str, key: str | None = None) -> list[str]:
    """Return a command without an option and its value, or without those of a key."""
    kept: list[str] = []
    words = list(command)
    while words:
        word = words.pop(0)
        name, _, joined = word.partition("=")
        if ALIASES.get(name, name) != ALIASES.get(option, option) or not word.startswith("-"):
            kept.append(word)
            continue
        value = joined or None
        takes_value = not joined and option not in SWITCHES and words and not words[0].startswith("--")
        if takes_value:
            value = words.pop(0)
        if key is not None and (key_of(value) or "") != key:
            kept += [word, value] if takes_value and value is not None else [word]
    return kept


@dataclass(frozen=True)
class Paste:
    """The command that a fix line led to, and what it should have mended."""

    command: list[str]
    mended: tuple[str, ...]


def pastes(command: Sequence[str], printed: str, filled: Mapping[str, str]) -> Iterator[Paste]:
    """Yield the commands that somebody runs next who pastes what was printed.

    Parameters
    ----------
    command, printed
        What was run, and what it said.
    filled : dict of option to value
        What the reader gives where a line leaves it open; what is left open otherwise is not run.
    """
    messages = read_messages(printed)
    *_, heading, last = ["", *printed.splitlines()]
    if heading.endswith("at once:"):
        words = fill(shlex.split(last)[1:], filled)
        if words is not None:
            all_of_them = heading.startswith("all ")
            yield Paste(words, tuple(message.wrong for message in messages if all_of_them))
    for message in messages:
        for changed in _pastes_of(command, message, filled):
            yield Paste(changed, (message.wrong,))


def _pastes_of(command: Sequence[str], message: Message, filled: Mapping[str, str]) -> Iterator[list[str]]:
    for words in commands_of(message):
        whole = fill(words, filled)
        if whole is not None:
            yield whole
    meant = suggestion_of(message)
    if meant is not None:
        wrong, right = meant
        named = re.search(r"name it with (--[a-z-]+)", message.fix)
        if named is not None and wrong not in " ".join(command):
            yield with_options(command, [named[1], right])
        else:
            yield [right if word == wrong else word.replace(wrong, right) for word in command]
    unknown = re.findall(r"^No such option: (--[a-z-]+)", message.wrong)
    for offer in offers_of(message):
        changed = list(command)
        for option in (*offer.taken_out, *unknown):
            changed = without_option(changed, option)
        given = fill(offer.given, filled)
        if given is not None:
            yield with_options(changed, given)


def fill(words: Sequence[str], filled: Mapping[str, str]) -> list[str] | None:
    """Return words with what they leave open given, or None where nobody gives it."""
    given: list[str] = []
    for word, after in pairwise([*words, "-"]):
        if word.startswith("--"):
            given.append(word)
            if after.startswith("-") and word not in SWITCHES:
                given.append(filled.get(word, ""))
        elif OPEN.search(word) and given:
            given.append(filled.get(given[-1], ""))
        else:
            given.append(word)
    return None if "" in given else given
