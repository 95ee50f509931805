"""What a person is asked before an audit, without names of measures; and which options follow, with reasons.

The questions, when they are asked and what follows are in `questions.yaml`. They go back to the fairness tree
of Aequitas (Saleiro et al. 2018, §3.2), and add what is decided, who is compared and how much is allowed.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from fairbench_cli.audit.scan.columns_seen import Candidate
from fairbench_cli.audit.scan.direction import find_direction
from fairbench_cli.audit.understood import Understood, merge_options
from fairbench_cli.base.errors import ArgumentError, Problem, format_value, suggest
from fairbench_cli.base.safe_text import format_percent
from fairbench_cli.base.strict_yaml import read_yaml
from fairbench_cli.data.recognise import named_like_harm, named_like_refusals

VERY_FEW = 0.05  # of all: so few selected are very few
KIND = "kind"  # what is compared: "decision" or "number"; told by the table, and no question
HAS_LABELS = "has-labels"  # whether a column may be the label: "yes" or "no"
MOST_ANSWERS = 12


@dataclass(frozen=True)
class AnswerOption:
    """An answer to a question.

    Parameters
    ----------
    id, text, means : str
        Its name, what a person reads, and what it means in plain words.
    takes : {"", "share", "points", "units", "percent", "groups"}
        What is given with it, as ``id:value``.
    options : dict
        Of an answer about the table: what to look again with.
    """

    id: str
    text: str
    means: str = ""
    takes: str = ""
    options: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Question:
    """A question.

    Parameters
    ----------
    id, text, why : str
        Its name, what a person reads, and why it is asked.
    answers : tuple of AnswerOption
    default : str
        The answer of somebody who gives none.
    needs : tuple of (str, tuple of str)
        Questions with the answers that they must have had for this one to be asked; or what the table tells.
    unasked : str
        The answer where it is not asked.
    """

    id: str
    text: str
    why: str
    answers: tuple[AnswerOption, ...]
    default: str = ""
    needs: tuple[tuple[str, tuple[str, ...]], ...] = ()
    unasked: str = ""

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        fields = asdict(self)
        fields["needs"] = [[question, list(answers)] for question, answers in self.needs]
        for answer in fields["answers"]:
            answer["options"] = dict(answer["options"] or {})
        return fields


@dataclass(frozen=True)
class Rule:
    """What follows from answers: options of an audit, and why.

    Parameters
    ----------
    answers : dict of question to answer
        All of which must have been given.
    reason : str
        One sentence.
    options : dict
        A text ``{value}`` in them is what was given with the answer.
    without : sequence of str
        Options that are taken away.
    """

    answers: Mapping[str, str]
    reason: str
    options: Mapping[str, Any] = field(default_factory=dict)
    without: Sequence[str] = ()


@dataclass(frozen=True)
class Choice:
    """What was chosen.

    Parameters
    ----------
    options : dict
        Keywords of `audit`.
    reasons : tuple of str
        A sentence for each thing that was chosen.
    answers : dict of question to answer
        Those that were given, and the defaults of the others.
    """

    options: dict[str, Any]
    reasons: tuple[str, ...]
    answers: dict[str, str]

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {"options": self.options, "reasons": list(self.reasons), "answers": self.answers}

    def yaml(self) -> str:
        """Return the configuration for `audit` as YAML, with the reasons as comments.

        >>> print(Choice({"score": "hired", "ref_method": "rest"}, ("All others.",), {}).yaml())
        # All others.
        score: "hired"
        ref-method: "rest"
        <BLANKLINE>
        """
        lines = [f"# {' '.join(reason.split())}" for reason in self.reasons]
        for key, value in self.options.items():
            lines.append(f"{key.replace('_', '-')}: {json.dumps(value, ensure_ascii=False)}")
        return "\n".join(lines) + "\n"


def _read_tables() -> tuple[tuple[Question, ...], tuple[Rule, ...]]:
    """Return the questions, and what follows from answers."""
    tables = read_yaml(Path(__file__).with_name("questions.yaml")).data
    questions = []
    for entry in tables["questions"]:
        answers = tuple(AnswerOption(**answer) for answer in entry.pop("answers", ()))
        needs = tuple((question, tuple(ids)) for question, ids in entry.pop("needs", {}).items())
        questions.append(Question(**entry, answers=answers, needs=needs))
    return tuple(questions), tuple(Rule(**entry) for entry in tables["rules"])


QUESTIONS, RULES = _read_tables()

EXAMPLES = {"share": "0.9", "points": "5", "units": "1000", "percent": "10", "groups": "sex=Male;race=White"}
"""What is given with an answer that takes something."""


def questions(
    understood: Understood | None = None, answers: Mapping[str, str] | None = None
) -> list[Question]:
    """Return the questions: all of them, or those that are asked of a table, with answers of its columns.

    Parameters
    ----------
    understood : Understood, optional
        What `look` gives.
    answers : dict of question to answer, optional
        Those that were given: which further questions are asked depends on them.

    Examples
    --------
    >>> [question.id for question in questions()][:4]
    ['score', 'favourable', 'outcome', 'label']
    """
    if understood is None:
        return list(QUESTIONS)
    questions_asked, _ = _ask(answers or {}, understood)
    return questions_asked


def table_options(answers: Mapping[str, str]) -> dict[str, Any]:
    """Return the options to look again with that follow from answers about the table.

    >>> table_options({"score": "hired", "favourable": "yes", "harm": "help"})
    {'score': 'hired', 'favourable': 'yes'}
    """
    options: dict[str, Any] = {}
    for key in ("score", "favourable", "label"):
        if answers.get(key):
            options[key] = answers[key]
    return options


def choose(answers: Mapping[str, str], understood: Understood) -> Choice:
    """Return the options that follow from answers, and why.

    Parameters
    ----------
    answers : dict of question to answer
        By their ids; what an answer takes stands behind a colon, ``{"allowed": "share:0.9"}``. Of a question
        that is not answered the default holds.
    understood : Understood
        What `look` gives, with the options that answers about the table make (`table_options`).

    Raises
    ------
    ArgumentError
        For an answer that there is not.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairbench_cli.audit.understood import look
    >>> understood = look(pd.DataFrame({"hired": ["yes", "no"] * 4, "sex": ["f", "f", "m", "m"] * 2}))
    >>> choose({"allowed": "points:5"}, understood).options["margin"]
    0.05
    """
    _, effective = _ask(answers, understood)
    options = understood.options()
    reasons: list[str] = []
    if effective["outcome"] == "none":
        for key in ("label", "favourable_label"):
            if options.get("label") != options.get("score"):
                options.pop(key, None)
    if effective["harm"] == "help" and effective["favourable"]:
        options.setdefault("favourable", effective["favourable"])  # of a column called like a refusal
    answer_ids = {question: answer.partition(":")[0] for question, answer in effective.items()}
    for rule in RULES:
        if any(answer_ids.get(question) != answer for question, answer in rule.answers.items()):
            continue
        (question, *_) = rule.answers
        text = effective[question].partition(":")[2]
        takes = _takes(question, answer_ids[question])
        for key, value in rule.options.items():
            options = merge_options(options, {key: _read_value(text, takes) if value == "{value}" else value})
        for key in rule.without:
            options.pop(key, None)
        reasons.append(rule.reason.replace("{value}", text))
    return Choice(options, tuple(reasons), {key: effective[key] for key in effective if key in IDS})


IDS = frozenset(question.id for question in QUESTIONS)


def _ask(answers: Mapping[str, str], understood: Understood) -> tuple[list[Question], dict[str, str]]:
    """Return the questions that are asked, in order, and the answer to each; of others what holds unasked."""
    unknown = [question for question in answers if question not in IDS]
    if unknown:
        raise ArgumentError(Problem(f'there is no question "{unknown[0]}"', suggest(unknown[0], IDS)))
    effective = {
        KIND: "number" if understood.as_numbers else "decision",
        HAS_LABELS: "yes" if understood.labels or understood.columns_with_role("label") else "no",
    }
    questions_asked = []
    for plain_question in QUESTIONS:
        needs_met = all(
            effective.get(question, "").partition(":")[0] in allowed
            for question, allowed in plain_question.needs
        )
        question = _of_table(plain_question, understood)
        if not needs_met or not question.answers:
            effective[question.id] = question.unasked
            continue
        questions_asked.append(question)
        answer = answers.get(question.id) or question.default
        _check_answer(question, answer)
        effective[question.id] = answer
    return questions_asked, effective


def _check_answer(question: Question, answer: str) -> None:
    """Refuse an answer that there is not, and one without what it takes."""
    of_table = question.id in ("score", "favourable", "label")
    answer_id, _, value = answer.partition(":")
    ids = [possible_answer.id for possible_answer in question.answers]
    if of_table and answer in ids:
        return
    if of_table or answer_id not in ids:
        problem = f'"{answer}" is no answer to "{question.text}"'
        raise ArgumentError(Problem(problem, suggest(answer, ids)))
    takes = _takes(question.id, answer_id)
    if takes and not value:
        example = f"{answer_id}:{EXAMPLES[takes]}"
        raise ArgumentError(Problem(f'"{answer}" needs a value', f'write "{example}"', question.id))


def _takes(question_id: str, answer_id: str) -> str:
    """Return the kind of value that an answer takes; empty where it takes none."""
    for question in QUESTIONS:
        if question.id == question_id:
            return next((answer.takes for answer in question.answers if answer.id == answer_id), "")
    return ""


def _read_value(text: str, takes: str) -> Any:
    """Return the value of an option that is given with an answer."""
    if takes == "groups":
        pairs = [pair.partition("=") for pair in text.split(";") if pair.strip()]
        return {name.strip(): group.strip() for name, _, group in pairs}
    if takes == "percent":
        return f"{text.strip()}%"
    try:
        number = float(text)
    except ValueError:
        problem = f'"{text}" is no number'
        raise ArgumentError(Problem(problem, f"write one, such as {EXAMPLES[takes]}")) from None
    if takes == "points":
        return number / 100
    return number


def _of_table(question: Question, understood: Understood) -> Question:
    """Return a question with answers and the default that a table gives."""
    scores = understood.columns_with_role("score")
    labels = understood.columns_with_role("label")
    options = understood.options()
    if question.id == "score":
        return _with_candidates(question, understood.decisions, next(iter(scores), ""))
    if question.id == "label":
        return _with_candidates(question, understood.labels, next(iter(labels), ""))
    if question.id == "favourable":
        default = options.get("favourable", "")
        column = next((column for column in understood.columns if column.name in scores[:1]), None)
        if not default and column is not None and column.kind == "0/1" and named_like_refusals(column.name):
            default = max(count.value for count in column.values)  # 1, or true
        if column is None or not isinstance(default, str) or not default:
            return question
        values = dict.fromkeys((default, *(count.value for count in column.values)))
        recoded: set[str] = set()
        for spellings in options.get("recode", {}).get(column.name, {}).values():
            recoded |= set(spellings)
        answers = tuple(
            AnswerOption(value, value, options={"favourable": value})
            for value in values
            if value not in recoded
        )
        return replace(question, answers=answers, default=default)
    if question.id == "outcome" and labels:
        return replace(question, default="all")
    if question.id == "harm":
        why = f"{_describe_selected(understood, scores)}{question.why}"
        return replace(question, why=why, default=_default_harm(understood, scores))
    if question.id == "few" and understood.share_selected is not None:
        share = format_percent(understood.share_selected)
        so_few = "very few" if understood.share_selected <= VERY_FEW else "not very few"
        return replace(question, why=f"{question.why} Here {share} are selected, which is {so_few}.")
    return question


def _describe_selected(understood: Understood, scores: list[str]) -> str:
    """Return a sentence on who counts as selected, as far as the options say it."""
    options = understood.options()
    if not scores:
        return ""
    threshold = options.get("threshold", [])
    if "favourable" in options:
        return f"Selected are those with {format_value(options['favourable'])} in {scores[0]}. "
    if len(threshold) == 1:
        return f"Selected are those with {threshold[0]:g} or more in {scores[0]}. "
    if "top_share" in options or "top_k" in options:
        return f"Selected are those with the most in {scores[0]}. "
    column = next((column for column in understood.columns if column.name == scores[0]), None)
    if column is not None and column.kind == "0/1":
        return f"Selected are those with 1 in {scores[0]}. "
    return ""


def _default_harm(understood: Understood, scores: list[str]) -> str:
    """Return whether being selected likely helps or harms, by what words say."""
    favourable = understood.config.favourable
    of_words = any(column.name in scores and column.kind in ("words", "0/1") for column in understood.columns)
    values = favourable if favourable and of_words else ("1",)
    unnamed = understood.config.model_copy(update={"favourable": ()})
    direction = find_direction(unnamed, [(name, values) for name in scores])
    if direction.effect or any(map(named_like_harm, scores)):
        return "help" if direction.effect == "assistive" else "harm"
    label_is_bad = any(map(named_like_harm, understood.columns_with_role("label")))
    runs_against = any(remark.kind == "turned" for remark in understood.remarks)
    if label_is_bad and not favourable and not runs_against:
        return "harm"
    return "unknown"


def _with_candidates(question: Question, candidates: tuple[Candidate, ...], default: str) -> Question:
    """Return a question with a column for each answer."""
    answers = list(_answers_of(question.id, candidates))
    if default and default not in [answer.id for answer in answers]:
        answers.insert(0, AnswerOption(default, default, options={question.id: default}))
    if not default and answers:
        default = answers[0].id
    return replace(question, answers=tuple(answers[:MOST_ANSWERS]), default=default)


def _answers_of(key: str, candidates: tuple[Candidate, ...]) -> Iterator[AnswerOption]:
    for candidate in candidates:
        yield AnswerOption(candidate.column, candidate.column, candidate.why, options={key: candidate.column})
