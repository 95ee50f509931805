"""What the process of a file does: it calls what `fb` gives, and lays out what comes back."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from typing import Any

import fairbench_cli as fb
from fairbench_cli.base.errors import user_error
from fairbench_cli.base.safe_text import format_count, join_names
from fairbench_cli.document.html import render_served_page

Options = dict[str, Any]

ROLES = {
    "score": "the decision or score",
    "label": "the outcome that shows who was right",
    "attribute": "a group to compare",
    "weight": "a weight",
    "cluster": "rows that belong together",
    "counts": "how many people a row stands for",
    "unused": "not used",
}
"""What a column may be taken for, in words."""
SINGLE = ("score", "label", "weight", "counts")
USED = ("score", "label", "attribute", "weight", "cluster", "model", "slice", "id", "counts")
OTHER_ROLES = {
    "date": "a date",
    "left out": "left out",
    "model": "a model",
    "slice": "what splits the rows",
    "id": "who it is",
}
ALLOWED = frozenset(
    (
        *("score", "label", "attribute", "bins", "spellings", "recode", "drop_missing", "favourable", "keep"),
        *("favourable_label", "weight", "cluster", "exclude", "ref", "ref_method", "tau", "margin", "metric"),
        *("decision", "slice", "threshold", "top_k", "top_share", "table", "encoding", "outcome", "order"),
        *("intersect", "counts", "mitigate", "as_of", "explain", "notation"),
    )
)
"""Options that a page may set: none that names a file."""
TAUS = {"0.8": "four fifths (0.8)", "0.9": "nine tenths (0.9)", "0.95": "0.95", "0.7": "0.7"}
METRICS = {
    "selection-rate": "who is selected",
    "selected-share": "of those selected, how many are of each",
    "fpr": "wrongly selected (fpr)",
    "fnr": "missed (fnr)",
    "fdr": "of those selected, wrong (fdr)",
    "for": "of those passed over, wrong (for)",
    "accuracy": "right at all (accuracy)",
}
ALL_RATES = "all"
NOT_AT_ONCE = ("selected-share", "accuracy")
"""What decides nothing beside others: the sizes of groups, and what harms nobody for certain."""
WITHOUT_LABELS = ("selection-rate", "selected-share")
METHODS = {
    "majority": "the largest group",
    "minimum": "the group with the least",
    "maximum": "the group with the most",
    "rest": "all others together",
    "given": "the largest group",
}
OF_SCORE = ("threshold", "top_k", "top_share", "favourable", "outcome", "order")
"""Options that are about one column of scores."""
MOST_COLUMNS_SHOWN = 200
MOST_COLUMNS = 2000
MOST_VALUES_SHOWN = 5
MOST_BUTTONS = 6  # of a remark; columns can also be chosen by their cards
MOST_ANSWERS = 6  # of a question, before the others are folded away
MOST_AUDITS = 12  # that are kept, to go back to
FEW_VALUES = 40  # of a column that rows are split by


VERBS = ("is_finished", "look", "change", "questions", "audit", "switch", "page", "write", "write_example")


class Desk:
    """One file, what was understood of it, and the last audits.

    Parameters
    ----------
    tell : callable
        Called with what is being done and how far it is, per cent.
    """

    def __init__(self, tell: Callable[[str, float | None], None]) -> None:
        self._tell = tell
        self._stack = ExitStack()
        self._path = ""
        self._name = ""
        self._opened: Any = None
        self._audits: dict[str, Any] = {}
        self._looks: dict[str, Any] = {}

    def use(self, path: str, name: str) -> None:
        """Say which file it is, and what it is called; a process has one file as long as it lives.

        Raises
        ------
        RuntimeError
            For another file: what was understood of the first would be said of it.
        """
        if self._path not in ("", path):
            raise RuntimeError("a process has one file as long as it lives")
        self._path = path
        self._name = name

    @property
    def verbs(self) -> Mapping[str, Callable[..., Any]]:
        """What can be asked for, by name."""
        return {name: getattr(self, name) for name in VERBS}

    def write_example(self) -> dict[str, Any]:
        """Write the example into the file, and return its options, and what people should know of it."""
        people = fb.example_people()
        people.to_csv(self._path)
        return {"options": dict(people.options), "note": people.note}

    def is_finished(self) -> bool:
        """Return whether the file is a finished audit: it has an answer, and no rows."""
        return self._path.endswith(".json") and fb.is_audit(self._path)

    def _understood(self, options: Options) -> Any:
        """Ask `fb.look` of the file with these options, and keep its answer."""
        key = json.dumps(options, sort_keys=True)
        if self.is_finished():
            raise user_error("a finished audit has no rows to look at", "open the file of people")
        if key not in self._looks:
            self._tell("looking at the columns", None)
            looked = fb.look(self._path, most_columns=MOST_COLUMNS, **options)
            self._looks = {key: looked}  # pages ask for the last ones again
        return self._looks[key]

    def look(self, options: Options) -> dict[str, Any]:
        """Lay out the columns of the file and the remarks on it, as these options read it."""
        understood = self._understood(options).to_plain()
        columns = understood["columns"][:MOST_COLUMNS_SHOWN]
        remarks = [_lay_out_remark(remark) for remark in understood["remarks"]]
        return {
            "name": self._name,
            "title": f"{self._name}: {understood['table']['said']}",
            "summary": _summarise(columns),
            "notes": understood["table"]["notes"],
            "remarks": [*_taken(options), *sorted(remarks, key=lambda remark: not remark["is_open"])],
            "columns": [_lay_out_column(column) for column in columns],
            "unshown": understood["table"]["columns"] - len(columns),
            "roles": list(ROLES.items()),
            "is_stuck": any(remark["is_open"] for remark in remarks),
        }

    def change(self, options: Options, form: Options) -> Options:
        """Return the options after a remedy was taken or taken back, or a column is taken for something else.

        Raises
        ------
        UserError
            For an option that a page may not set, and what the file does not allow.
        """
        changed = dict(options)
        for field, value in form.items():
            kind, _, column = field.partition(":")
            if kind == "remedy":
                remedy = json.loads(value)
                _refuse_unknown(remedy)
                changed = fb.merge_options(changed, remedy)
            elif kind == "undo":
                changed.pop(value, None)
                if value == "bins":
                    changed.pop("as_of", None)  # the day of ages that are cut
            elif kind == "asked" and value:
                _refuse_unknown([column])
                changed = fb.merge_options(changed, {column: value})
            elif kind == "role":
                changed |= self._take_for(changed, column, value)
        self._understood(changed)
        return changed

    def _take_for(self, options: Options, column: str, role: str) -> Options:
        """Return the options by which a column has a role."""
        role_of = {}
        for plain_column in self._understood(options).to_plain()["columns"]:
            role_of[plain_column["name"]] = plain_column["role"]
        if column not in role_of or role not in ROLES:
            raise user_error("the file has no such column", "load the page again")
        if role in SINGLE:
            for name, other_role in role_of.items():
                if other_role == role:
                    role_of[name] = "unused"
        role_of[column] = role
        changed: Options = {
            "attribute": [name for name, other_role in role_of.items() if other_role == "attribute"],
            "cluster": [name for name, other_role in role_of.items() if other_role == "cluster"],
        }
        for single in SINGLE:
            names = [name for name, other_role in role_of.items() if other_role == single]
            changed[single] = next(iter(names), None)
        without_empty = {key: value for key, value in changed.items() if value}
        for key in changed.keys() - without_empty.keys():
            options.pop(key, None)
        return without_empty

    def questions(self, options: Options, answers: Options) -> dict[str, Any]:
        """Return the questions that are asked of the file, with what was answered, and what follows."""
        units = _guess_units(self._understood(options).to_plain(), answers.get("score"))
        joined = _join_fields(answers, units)
        if answers.get("shown:score", joined.get("score")) != joined.get("score"):
            for key in ("favourable", "label"):  # answered of another column
                joined.pop(key, None)
        looked_with = dict(options)
        if joined.get("score", options.get("score")) != options.get("score"):
            for key in OF_SCORE:
                looked_with.pop(key, None)
        understood = self._understood(fb.merge_options(looked_with, fb.table_options(joined)))
        asked_questions = fb.questions(understood, joined)
        choice = fb.choose(joined, understood)
        groups = _groups_by_attribute(understood.to_plain(), choice.options)
        questions = [
            _lay_out_question(question.to_plain(), answers, groups, units) for question in asked_questions
        ]
        return {
            "title": f"{format_count(len(questions), 'question')}, each with an answer already chosen",
            "questions": questions,
            "reasons": list(choice.reasons),
            "options": choice.options,
        }

    def _result(self, options: Options) -> Any:
        """Return the audit with these options, one that was made or a new one."""
        _refuse_unknown(options)
        key = json.dumps(options, sort_keys=True)
        if key not in self._audits:
            self._tell("auditing", None)
            if self.is_finished():
                result = fb.read_audit(self._path)
            else:
                if self._opened is None:
                    self._opened = self._stack.enter_context(fb.opened(self._path, name=self._name))
                result = self._opened.audit(**options)
            while len(self._audits) >= MOST_AUDITS:
                del self._audits[next(iter(self._audits))]
            self._audits[key] = result
        return self._audits[key]

    def audit(self, options: Options, answered: Options) -> dict[str, Any]:
        """Audit, and return what the bar above the answer shows.

        Parameters
        ----------
        options, answered : dict
            Of the audit, and those that followed from the questions, to which a switch can go back.
        """
        result = self._result(options)
        audited = {"headline": result.headline, "command": result.command, "switches": []}
        if self.is_finished():
            return audited
        if not self._looks:
            self._understood(options)
        (understood,) = self._looks.values()  # what columns are does not change with what is compared
        columns = understood.to_plain()["columns"]
        return {**audited, "switches": list(_switches(result.report, options, answered, columns))}

    def switch(self, options: Options, answered: Options, form: Options) -> Options:
        """Return the options of an audit after its switches were set; an empty one is as answered.

        Raises
        ------
        UserError
            For a switch that is none, bins that are no numbers, and any switch of a finished audit.
        """
        if self.is_finished():
            raise user_error("a finished audit cannot be made again", "open the file of people")
        changed = dict(options)
        references: dict[str, str] = {}
        for field, value in form.items():
            kind, _, attribute = field.partition(":")
            if kind == "ref":
                reference = value or answered.get("ref", {}).get(attribute)
                references |= {attribute: reference} if reference else {}
            elif kind == "bins":
                changed["bins"] = {**changed.get("bins", {}), attribute: _read_edges(attribute, str(value))}
            elif kind == "metric" and value == ALL_RATES:
                changed[kind] = [name for name in METRICS if name not in NOT_AT_ONCE]
            elif kind in ("metric", "attribute", "explain"):
                changed[kind] = [value] if value else answered.get(kind)
            elif kind in ("slice", "margin"):
                changed[kind] = value or answered.get(kind)
            elif kind == "tau":
                changed["tau"] = float(value) if value else answered.get("tau")
                changed["margin"] = None if value else answered.get("margin")
            elif kind in ("threshold", "top_share"):
                changed[kind] = [_read_cut(str(value))] if value else answered.get(kind)
            elif kind == "mitigate":
                changed[kind] = bool(value)
            else:
                raise user_error("the page has no such switch", "load it again")
        changed["ref"] = references
        # A method is of all attributes: one that is named a group of its own ends it.
        changed["ref_method"] = None if references else answered.get("ref_method")
        return _without_empty(changed)

    def page(self, options: Options, bar: str, assets: str) -> str:
        """Return the audit's own page, with a bar above it."""
        document = self._result(options).document
        return render_served_page(
            document, bar=bar, stylesheets=[f"{assets}web.css"], scripts=[f"{assets}web.js"]
        )

    def write(self, options: Options, kind: str) -> str:
        """Return the audit in a format, or the configuration by which it is made again."""
        result = self._result(options)
        if kind == "yaml":
            return str(result.config_yaml)
        return str(result.to(kind))


def _refuse_unknown(options: Iterable[str]) -> None:
    """Refuse options that are not on the list; some name files of the machine."""
    refused = sorted(set(options) - ALLOWED)
    if refused:
        raise user_error(f"a page may not set {join_names(refused)}", "use fairbench audit in a terminal")


def _without_empty(options: Mapping[str, Any]) -> Options:
    return {key: value for key, value in options.items() if value not in (None, False, "", [], {})}


def _read_edges(attribute: str, text: str) -> list[float] | int:
    """Return where a column of numbers is cut, or into how many groups, as somebody wrote it."""
    count, _, noun = text.strip().partition(" ")
    if noun.strip() in ("group", "groups") and count.isdecimal():
        return int(count)
    try:
        return sorted({float(number) for number in text.replace(";", ",").split(",") if number.strip()})
    except ValueError:
        raise user_error(
            f"{attribute} is cut at numbers, such as 30, 50, or into 4 groups", "separate numbers by commas"
        ) from None


def _read_cut(text: str) -> float:
    """Return from which number on somebody is selected, or which share is, as somebody wrote it."""
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        raise user_error(f'"{text}" is no number', "write one, such as 5 or 0.5") from None


def _lay_out_column(column: Mapping[str, Any]) -> dict[str, Any]:
    """Return a column's card."""
    role = column["role"]
    return {
        "name": column["name"],
        "role": role if role in ROLES else "unused",
        "role_words": ROLES.get(role) or OTHER_ROLES.get(role, role),
        "used": role in USED,
        "why": column["why"],
        "content": _describe_values(column),
    }


def _describe_values(column: Mapping[str, Any]) -> str:
    """Return the commonest values of a column, or its ends, in a line."""
    texts = []
    if column["smallest"] is not None and column["distinct"] > MOST_VALUES_SHOWN:
        texts.append(f"{_format_end(column['smallest'])} to {_format_end(column['largest'])}")
    else:
        values = column["values"][:MOST_VALUES_SHOWN]
        texts += [f"{value['value']} ({value['rows']:,})" for value in values]
        if column["distinct"] > len(values):
            texts.append(f"{column['distinct'] - len(values):,} more")
    if column["missing"]:
        texts.append(f"{column['missing']:,} empty")
    return ", ".join(texts) or "nothing"


def _format_end(value: Any) -> str:
    """Return the smallest or largest value of a column as it would be written."""
    if isinstance(value, float):
        return f"{value:.15g}"
    return str(value)


def _summarise(columns: Sequence[Mapping[str, Any]]) -> str:
    """Return in a sentence or two what is compared, and by what; empty where that is not known."""
    names_of: dict[str, list[str]] = {}
    for column in columns:
        names_of.setdefault(column["role"], []).append(column["name"])
    attributes = names_of.get("attribute")
    scores = names_of.get("score")
    if not attributes or not scores:
        return ""
    texts = [f"Groups of {join_names(attributes, MOST_VALUES_SHOWN)} are compared by {join_names(scores)}."]
    labels = [name for name in names_of.get("label", []) if name not in scores]
    if labels:
        texts.append(f"Who was right is in {join_names(labels)}.")
    return " ".join(texts)


def _lay_out_remark(remark: Mapping[str, Any]) -> dict[str, Any]:
    """Return a remark with the remedy that is taken unasked, and a button, perhaps with a field, for others.

    It is open where an audit stops and no remedy is taken.
    """
    chosen = ""
    buttons = []
    for remedy in remark["remedies"]:
        title = remedy["text"][:1].upper() + remedy["text"][1:]
        if remedy["proposed"] and not chosen:
            chosen = title
        else:
            button = {"name": "remedy", "value": json.dumps(remedy["options"]), "words": title}
            buttons.append(button | {"asks_for": remedy["asks_for"]})
    return {
        **remark,
        **remark["asked"],
        "chosen": chosen,
        "buttons": buttons[:MOST_BUTTONS],
        "is_open": remark["stops"] and not chosen,
        "done": False,
    }


_CHOSEN = {
    "score": "the column of what was decided",
    "threshold": "selected from this number on",
    "top_share": "the share that is selected",
    "outcome": "what is compared",
    "attribute": "groups of",
    "spellings": "spellings",
    "recode": "values that are put together",
    "keep": "rows that are counted",
    "notation": "how numbers and dates are read",
    "drop_missing": "rows that lack something are left out",
    "favourable": "the good value",
    "favourable_label": "the good outcome",
    "bins": "numbers that are cut into groups",
    "as_of": "the day of ages",
    "encoding": "encoding",
    "exclude": "left out",
    "counts": "how many people a row stands for",
    "table": "sheet or table",
}


def _taken(options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what was chosen, each with the way back."""
    for key, title in _CHOSEN.items():
        if key in options:
            undo = {"name": "undo", "value": key, "words": "Undo", "asks_for": ""}
            yield {
                "what": f"Chosen: {title}{_describe_option(options[key])}",
                "fix": "",
                "column": "",
                "chosen": "",
                "stops": False,
                "is_open": False,
                "done": True,
                "buttons": [undo],
            }


def _describe_option(value: Any) -> str:
    if value is True:
        return ""
    if isinstance(value, Mapping):
        texts = [f"{name}: {_describe_list(chosen)}" for name, chosen in value.items()]
        return f": {'; '.join(texts)}"
    return f": {_describe_list(value)}"


def _describe_list(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} for {_describe_list(values)}" for name, values in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)


def _join_fields(answers: Mapping[str, Any], units: str) -> dict[str, str]:
    """Return answers as `fb.choose` takes them: those that take a value with it, ``share:0.9``.

    A page sends the value as a field of its own, ``allowed:share``; of groups one an attribute,
    ``compared:given:sex``. `units` is what is allowed where nothing was written yet.
    """
    takes = {
        (question.id, answer.id): answer.takes for question in fb.questions() for answer in question.answers
    }
    joined = {}
    for question, chosen in answers.items():
        if ":" in question:
            continue
        value = str(chosen)
        value_kind = takes.get((question, value), "")
        field = f"{question}:{value}"
        if value_kind == "groups":
            prefix = f"{field}:"
            groups = [
                f"{name.removeprefix(prefix)}={group}"
                for name, group in answers.items()
                if name.startswith(prefix)
            ]
            if not groups:  # just chosen: the page asks for them now
                continue
            value = f"{value}:{';'.join(groups)}"
        elif value_kind:
            value = f"{value}:{answers.get(field) or FIRST_VALUES.get(value_kind, units)}"
        joined[question] = value
    return joined


def _guess_units(understood: Mapping[str, Any], score: str | None) -> str:
    """Return a difference in units to begin with: a twentieth of the range of the column of scores."""
    for column in understood["columns"]:
        is_score = column["name"] == score if score else column["role"] == "score"
        if is_score and isinstance(column["largest"], int | float):
            twentieth = (column["largest"] - column["smallest"]) / 20
            return f"{float(f'{twentieth:.2g}'):.15g}"
    return "1"


FIRST_VALUES = {"share": "0.9", "points": "5", "percent": "5"}
FIELD_WORDS = {
    "share": "at least this share of the other group’s rate",
    "points": "percentage points at most",
    "units": "at most, in the column’s units",
    "percent": "per cent of the other group’s mean at most",
}


def _groups_by_attribute(understood: Mapping[str, Any], options: Options) -> dict[str, list[str]]:
    """Return the groups of each attribute that is compared, by their names after values were put together.

    Columns that are cut have no names of groups yet; they are chosen above the answer.
    """
    groups = {}
    for column in understood["columns"]:
        name = column["name"]
        if column["role"] != "attribute" or name in options.get("bins", {}):
            continue
        name_of: dict[str, str] = {}
        for group, values in options.get("recode", {}).get(name, {}).items():
            name_of |= dict.fromkeys(values, group)
        values = [value["value"] for value in column["values"]]
        groups[name] = list(dict.fromkeys(name_of.get(value, value) for value in values))
    return groups


def _lay_out_question(
    question: Mapping[str, Any], answers: Mapping[str, Any], groups: Mapping[str, list[str]], units: str
) -> dict[str, Any]:
    """Return a question with the chosen answer marked and the fields that it takes."""
    identifier = question["id"]
    ids = [answer["id"] for answer in question["answers"]]
    chosen = answers.get(identifier)
    if chosen not in ids:
        chosen = question["default"]
    laid_out = []
    for answer in question["answers"]:
        is_chosen = answer["id"] == chosen
        laid_out.append(
            {
                "id": answer["id"],
                "text": answer["text"],
                "about": answer["means"],
                "chosen": is_chosen,
                "fields": list(_fields_of(identifier, answer, answers, groups, units)) if is_chosen else [],
            }
        )
    position = next((i for i, answer in enumerate(laid_out) if answer["chosen"]), 0)
    n_open = max(MOST_ANSWERS, position + 1)
    if len(laid_out) == n_open + 1:
        n_open += 1  # a single one is not folded away
    return {
        "id": identifier,
        "text": question["text"],
        "why": question["why"],
        "chosen": chosen,
        "answers": laid_out[:n_open],
        "folded": laid_out[n_open:],
    }


def _fields_of(
    identifier: str,
    answer: Mapping[str, Any],
    answers: Mapping[str, Any],
    groups: Mapping[str, list[str]],
    units: str,
) -> Iterator[dict[str, Any]]:
    """Yield the fields of an answer that takes a value."""
    takes = answer["takes"]
    field = f"{identifier}:{answer['id']}"
    if takes == "groups":
        for attribute, names in groups.items():
            name = f"{field}:{attribute}"
            yield {"words": attribute, "name": name, "choices": names, "value": answers.get(name, names[0])}
    elif takes:
        value = answers.get(field) or FIRST_VALUES.get(takes, units)
        yield {"words": FIELD_WORDS[takes], "name": field, "choices": [], "value": value}


Switch = dict[str, Any]


def _switches(
    report: Any, options: Options, answered: Options, columns: Sequence[Mapping[str, Any]]
) -> Iterator[Switch]:
    """Yield what can be changed of an audit while it is looked at."""
    groups: dict[str, dict[str, None]] = {}
    of_numbers = (numbers.groups for numbers in report.found.get("numbers", ()))
    for row in chain(report.groups, *of_numbers):
        groups.setdefault(row.attribute, {})[row.group] = None
    audited = [column["name"] for column in columns if column["role"] == "attribute"]
    if len(audited) > 1:
        names = options.get("attribute", [])
        choices = [("", "all")] + [(name, name) for name in audited]
        chosen = names[0] if len(names) == 1 else ""
        yield {"words": "Groups of", "name": "attribute", "choices": choices, "value": chosen}
    method = METHODS[options.get("ref_method", "majority")]
    for attribute, names in groups.items():
        usual = answered.get("ref", {}).get(attribute, method)
        choices = [("", usual)] + [(name, name) for name in names if name != usual]
        chosen = options.get("ref", {}).get(attribute, "")
        if chosen == usual:
            chosen = ""
        title = f"{attribute}: compared with"
        yield {"words": title, "name": f"ref:{attribute}", "choices": choices, "value": chosen}
    if report.config.of_numbers:
        chosen = options.get("margin", "")
        yield {"words": "Allowed: 1500, 5 % or 0.2 sd", "name": "margin", "choices": [], "value": chosen}
    else:
        yield _switch_of_limit(options, answered)
        yield _switch_of_metric(options, answered, has_labels=_has_mistakes(report))
    for key, title in (("threshold", "Selected from"), ("top_share", "Share that is selected, by")):
        cuts = options.get(key)
        if isinstance(cuts, list) and len(cuts) == 1:
            title = f"{title} {options.get('score', 'score')}"
            yield {"words": title, "name": key, "choices": [], "value": f"{cuts[0]:g}"}
    for attribute, edges in options.get("bins", {}).items():
        text = f"{edges} groups"  # of the same size
        if isinstance(edges, list | tuple):
            text = ", ".join(f"{edge:g}" for edge in edges)
        yield {"words": f"{attribute}: cut at", "name": f"bins:{attribute}", "choices": [], "value": text}
    has_labels = any(column["role"] == "label" for column in columns)
    if has_labels and ("threshold" in options or "top_share" in options):
        choices = [("", "not looked for"), ("yes", "moved thresholds")]
        chosen = "yes" if options.get("mitigate") else ""
        yield {"words": "What would mitigate it", "name": "mitigate", "choices": choices, "value": chosen}
    splits = [column["name"] for column in columns if _can_split(column)]
    if splits:
        choices = [("", "nothing")] + [(name, name) for name in splits]
        yield {"words": "Split by", "name": "slice", "choices": choices, "value": options.get("slice", "")}
    explaining = [column["name"] for column in columns if _can_explain(column)]
    if explaining and "cluster" not in options:
        choices = [("", "nothing")] + [(name, name) for name in explaining]
        chosen = next(iter(options.get("explain", [])), "")
        yield {"words": "Explained by", "name": "explain", "choices": choices, "value": chosen}


def _switch_of_limit(options: Options, answered: Options) -> Switch:
    """Return how much difference is allowed: as answered, or another share."""
    margin = answered.get("margin")
    if isinstance(margin, float):
        usual = f"{100 * margin:g} points"
    elif margin:
        usual = str(margin)
    else:
        usual = TAUS.get(str(answered.get("tau", 0.8)), str(answered.get("tau")))
    choices = [("", usual)] + [(tau, title) for tau, title in TAUS.items() if title != usual]
    is_as_answered = all(options.get(key) == answered.get(key) for key in ("tau", "margin"))
    chosen = "" if is_as_answered else str(options.get("tau", ""))
    return {"words": "Allowed", "name": "tau", "choices": choices, "value": chosen}


def _has_mistakes(report: Any) -> bool:
    """Return whether mistakes are counted: whether there are labels."""
    return any("fpr" in row.metrics for row in report.groups)


def _switch_of_metric(options: Options, answered: Options, *, has_labels: bool) -> Switch:
    """Return the switch of the rate that is compared: as answered, or another that the file has."""
    names = answered.get("metric", [])
    usual = " and ".join(METRICS.get(name, name) for name in names) or "the usual rates"
    rates = {name: title for name, title in METRICS.items() if has_labels or name in WITHOUT_LABELS}
    choices = [("", usual), *((name, title) for name, title in rates.items() if title != usual)]
    if has_labels:
        choices.append((ALL_RATES, "all of these at once, by share"))
    chosen = options.get("metric", [])
    value = ""
    if chosen != names:
        value = chosen[0] if len(chosen) == 1 else ALL_RATES
    return {"words": "Compare", "name": "metric", "choices": choices, "value": value}


def _can_explain(column: Mapping[str, Any]) -> bool:
    """Return whether a column may be behind a difference: numbers or few values, and not one compared."""
    is_free = column["role"] in ("unused", "left out")
    return is_free and (
        column["kind"] in ("number", "whole numbers")
        or (column["kind"] in ("words", "0/1") and 1 < column["distinct"] <= FEW_VALUES)
    )


def _can_split(column: Mapping[str, Any]) -> bool:
    """Return whether rows can be split by a column: few values, and not one that is compared."""
    return column["role"] in ("unused", "left out", "slice") and 1 < column["distinct"] <= FEW_VALUES
