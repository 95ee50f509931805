"""All that stops an audit of a file, at once: each problem with its remedy, and one line with all remedies.

A stop with a remedy is gone past, as if the remedy had been given, to see what stops the audit next. What has
none ends the search.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import chain
from typing import Any

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.scan.roles import FIRST_COPIES, SHORT_FOR
from fairbench_cli.audit.scan.scan import Attempt, Scan, group_name
from fairbench_cli.base.errors import Flag, Problem, UserError, format_value
from fairbench_cli.base.safe_text import format_count
from fairbench_cli.base.spelling_variants import find_abbreviations

MOST_ROUNDS = 10
OPEN = "COLUMN"  # what a remedy has that leaves the column of scores open


def collect_problems(
    error: UserError, config: AuditConfig, try_scan: Callable[[Attempt], AbstractContextManager[Scan]]
) -> UserError:
    """Return the error with everything that stops an audit, as far as it can be gone past what does.

    Parameters
    ----------
    error : UserError
        The first stop.
    config : AuditConfig
        What was asked for.
    try_scan : callable
        Scans the rows otherwise.
    """
    everything = go_past(error.problems, Attempt(config), try_scan)
    if len(everything.problems) == len(error.problems) == 1:
        return error
    return UserError(*everything.problems, remedies=_join_remedies(everything.problems, config))


@dataclass(frozen=True)
class AllProblems:
    """What stops an audit, and the attempt that is not stopped.

    Parameters
    ----------
    problems : tuple of Problem
        In the order in which they stop it.
    attempt : Attempt
        With the remedies of those that have some.
    is_past : bool
        Whether it runs with these.
    """

    problems: tuple[Problem, ...]
    attempt: Attempt
    is_past: bool


def go_past(
    first_problems: Sequence[Problem],
    attempt: Attempt,
    try_scan: Callable[[Attempt], AbstractContextManager[Scan]],
) -> AllProblems:
    """Return all that stops an audit, as far as remedies, or what is assumed, go past it.

    `first_problems` stop the attempt; see `collect_problems`.
    """
    problems: list[Problem] = list(first_problems)
    newest: Sequence[Problem] = problems
    is_past = False
    for _ in range(MOST_ROUNDS):
        remedies = [problem.assumed or problem.remedy for problem in newest]
        if not newest or not all(remedies) or not _is_allowed(remedies, attempt.config):
            break
        attempt = _with_options(attempt, chain.from_iterable(remedies))
        try:
            with try_scan(attempt) as scan:
                newest = _abbreviations(scan)
        except UserError as next_error:
            newest = [problem for problem in next_error.problems if problem not in problems]
            problems += newest
        else:
            problems += newest
            is_past = True
            break
    return AllProblems(tuple(problems), attempt, is_past)


def _is_allowed(remedies: Iterable[Iterable[Flag]], config: AuditConfig) -> bool:
    """Return whether an audit takes these options: rows of two files stay pairs."""
    return not (config.against and any(flag.key == "drop-missing" for flag in chain.from_iterable(remedies)))


def _with_options(attempt: Attempt, flags: Iterable[Flag]) -> Attempt:
    """Return an attempt with further options."""
    config = attempt.config
    changed: dict[str, Any] = {
        "spellings": dict(config.spellings),
        "favourable": config.favourable,
        "exclude": config.exclude,
        "keep": dict(config.keep),
        "bins": dict(config.bins),
        "notation": dict(config.notation),
    }
    without_scores = attempt.without_scores
    first_copies = attempt.first_copies
    for flag in flags:
        if flag.key in ("spellings", "bins", "notation") and isinstance(flag.value, tuple):
            name, choice = flag.value
            changed[flag.key][name] = choice
        elif flag.key == "keep":
            name, _, values = str(flag.value).partition("=")
            changed["keep"][name] = tuple(values.split(","))
        elif flag.key in ("favourable", "exclude"):
            changed[flag.key] += (str(flag.value),)
        elif flag.key == "encoding":
            changed["encoding"] = str(flag.value)
        elif flag.key == "drop-missing":
            changed["drop_missing"] = True
        elif flag.key in ("model-column", "counts"):
            changed[flag.key.replace("-", "_")] = str(flag.value)
        elif flag.key == "attribute":
            changed["attributes"] = (str(flag.value),)
        elif flag == FIRST_COPIES:
            first_copies = True
        elif flag.key == "score" and flag.value == OPEN:
            without_scores = True
        elif flag.key == "score":
            changed["scores"] = (str(flag.value),)
    return Attempt(config.model_copy(update=changed), without_scores, first_copies)


def _abbreviations(scan: Scan) -> list[Problem]:
    """Return the groups that may be short for another one, of a file that is written in several ways."""
    problems = []
    for name in scan.roles.attributes:
        cells = scan.cells_with([name])
        rows: dict[str, int] = {}
        for value, count in zip(cells.values[name], cells.rows.tolist(), strict=True):
            rows[group_name(value)] = rows.get(group_name(value), 0) + count
        for letter, value in find_abbreviations(sorted(rows)):
            counted = format_count(rows[letter], "row")
            problem = f"{name}: {format_value(letter)} ({counted}) {SHORT_FOR} {format_value(value)}"
            recode = Flag("recode", f"{name}: {value} = {letter}")
            fix = ("count them as one group: ", recode, "; or leave that out")
            problems.append(Problem(problem, fix, remedy=(recode,)))
    return problems


def _join_remedies(problems: Sequence[Problem], config: AuditConfig) -> list[Flag]:
    """Return the options that mend all that can be mended; all spellings to be merged are said in one."""
    flags = list(dict.fromkeys(chain.from_iterable(problem.remedy for problem in problems)))
    if config.against:
        flags = [flag for flag in flags if flag.key != "drop-missing"]
    merges = [flag for flag in flags if flag.key == "spellings"]
    if len(merges) < 2 or config.spellings:
        return flags
    position = flags.index(merges[0])
    joined: list[Flag] = [flag for flag in flags if flag not in merges]
    joined.insert(position, Flag("spellings", "merge"))
    return joined
