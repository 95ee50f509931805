"""Whether being selected helps or harms: what an option or a word says, and never a guess."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from fairbench_cli.audit.config import AuditConfig, Effect
from fairbench_cli.base.errors import Flag, format_value, user_error
from fairbench_cli.data import recognise

HELPING_PRESETS = ("eeoc", "ll144")
"""Rules that take being selected for what helps."""
ABOVE, BELOW = "above the cut", "below the cut"
ON = recognise.YES | {"1", "1.0", ABOVE}
OFF = recognise.NO | {"0", "0.0", BELOW}
LEVELS = frozenset("low medium moderate high hoch mittel niedrig haut moyen bas alto medio bajo".split())  # noqa: SIM905

Selected = tuple[str, tuple[str, ...]]
"""A column of scores, and the values that are selected: those of the file, or `ABOVE` or `BELOW`."""


@dataclass(frozen=True)
class Direction:
    """What being selected does to a person.

    Parameters
    ----------
    effect : {"assistive", "punitive"} or None
        None where that is not known: nothing says it, or one thing says it helps and another that it harms.
    word : str
        The word that says it, where no option does: "hired is 1".
    """

    effect: Effect | None = None
    word: str = ""


UNKNOWN = Direction()


def find_direction(config: AuditConfig, selected: Sequence[Selected]) -> Direction:
    """Return whether being selected helps or harms, as far as an option or a word says so.

    ``decision`` says it, else a preset for hiring. Else the good value that is named, what that value is
    called, and what the column is called say it, unless they contradict each other. A level such as High is
    no good value for being named: it is the one that is looked at.

    Parameters
    ----------
    config : AuditConfig
    selected : sequence of (str, tuple of str)
        The columns of scores, each with the values that are selected; empty where classes are audited.

    Examples
    --------
    >>> find_direction(AuditConfig(), [("hired", ("1",))])
    Direction(effect='assistive', word='hired is 1')
    >>> [find_direction(AuditConfig(), [(name, ("0",))]).effect for name in ("denied", "hired", "score")]
    ['assistive', 'punitive', None]
    >>> named = AuditConfig(favourable=("0",))
    >>> [find_direction(named, [(name, ("0",))]).effect for name in ("denied", "hired", "score")]
    ['assistive', None, 'assistive']
    """
    if config.effect:
        return Direction(config.effect)
    if config.preset in HELPING_PRESETS:
        return Direction("assistive")
    word_of: dict[Effect | None, str] = {}
    for name, values in selected:
        for effect in tuple(_effects_in_words(name, values)) or (None,):
            word_of.setdefault(effect, f"{name} is {' or '.join(map(_format, values))}")
    by_option = _names_good_value(config, selected)
    if by_option:
        word_of.setdefault("assistive", "")
        word_of.pop(None, None)
    if len(word_of) != 1:
        return UNKNOWN
    ((effect, word),) = word_of.items()
    return Direction(effect, word if effect and not by_option else "")


def check_direction(config: AuditConfig, selected: Sequence[Selected]) -> None:
    """Refuse to take 1 for what helps in a column that is called like a refusal, where nobody says it is.

    Raises
    ------
    UserError
        For ``decision: assistive``, or a preset for hiring, and a column such as denied in which 1 is
        selected.
    """
    by_preset = config.preset in HELPING_PRESETS
    if config.favourable or not (by_preset or config.effect == "assistive"):
        return
    for name, values in selected:
        if not set(values) <= ON or not (
            recognise.named_like_refusals(name) or (by_preset and recognise.named_like_harm(name))
        ):
            continue
        option = f"preset {config.preset}" if by_preset else f"decision {config.effect}"
        problem = (
            f"{option} takes being selected for what helps, and {format_value(name)} is called like harm"
        )
        low, high = ("a low score", "a high one") if ABOVE in values else ("0", "1")
        fix = (f"where {low} is good: ", Flag("favourable", 0), f"; where {high} is: ", Flag("favourable", 1))
        raise user_error(problem, fix, Flag("preset" if by_preset else "decision"))


def _format(value: str) -> str:
    return value if value in (*ON, *OFF) else format_value(value)


def _effects_in_words(name: str, values: Sequence[str]) -> Iterator[Effect]:
    """Yield what the words of a column, and of the values of it that are selected, say."""
    for value in values:
        text = value.casefold()
        word = name if text in ON or text in OFF else value
        is_gain = recognise.named_like_gains(word)
        if is_gain or recognise.named_like_refusals(word):
            yield "assistive" if is_gain != (text in OFF) else "punitive"


def _names_good_value(config: AuditConfig, selected: Sequence[Selected]) -> bool:
    """Return whether an option says which value of the scores is good."""
    texts = list(chain.from_iterable(values for _, values in selected))
    if ABOVE in texts and ON.isdisjoint(map(str.casefold, config.favourable)):
        return False  # it is said of the label
    tokens = chain.from_iterable(map(recognise.split_words, texts))
    return bool(config.favourable and texts) and LEVELS.isdisjoint(tokens)
