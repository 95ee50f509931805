"""Tell what scores are: decisions, numbers that are compared as they are, levels in an order, or classes."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from fairbench_cli.audit.config import DEFAULT, LEAST_CHANGE, WORSE, AuditConfig, OutcomeKind, split_worse
from fairbench_cli.audit.options import TAKES_ROWS
from fairbench_cli.audit.scan import sql
from fairbench_cli.audit.scan.roles import MOST_CODES, MOST_GROUPS, find_usual_label
from fairbench_cli.audit.scan.source import Source
from fairbench_cli.base.errors import Flag, MessageText, Problem, UserError, format_value, user_error
from fairbench_cli.base.safe_text import join_names
from fairbench_cli.base.spelling_variants import find_spelling_variants
from fairbench_cli.data.number_writing import find_named_value
from fairbench_cli.data.recognise import named_like_weights, tell_better_side, tell_whole_numbers
from fairbench_cli.measures.number_measures import NUMBER_MEASURES

OUTCOME = Flag("outcome")
AS_DECISIONS = (Flag("outcome", "decision"), " ", Flag("threshold", 0.5))
"""What makes decisions of numbers, whatever was said of them before."""
MOST_CLASSES = 30  # against the rest; of more there is a page for each
FEWEST_LEVELS = 2
MOST_CODES_IN_NUMBERS = 100  # of a column called like codes
FEW_WORDS = 0.1  # of the cells of a column of numbers


def settle_outcome(source: Source, config: AuditConfig) -> tuple[Source, AuditConfig]:
    """Return the rows and the configuration with the kind of outcome that is stated, or that the scores show.

    Levels of an ordinal outcome are read as their places in the order, from 1; each class of an outcome of
    classes becomes a favourable value.

    Raises
    ------
    UserError
        Where the kind does not fit the options or the column, and for an order that leaves values out.
    """
    config = with_kind(source, config)
    if config.of_numbers:
        config = _tell_better_side(source, config)
    elif config.better:
        words = {"higher": "assistive", "lower": "punitive"}
        to_decide = Flag("decision", words[config.better])
        fix: MessageText = ("say what it is to be selected: ", to_decide, " in the place of ", Flag("better"))
        raise user_error("better is of numbers, and decisions are audited", fix, Flag("better"))
    if config.outcome in ("number", "probability"):
        config = _tell_probabilities(source, config)
    if problems := find_idle_options(config):
        raise UserError(*problems)
    if config.outcome is None:
        if config.explained_by and config.cluster:
            raise user_error(f"explain {TAKES_ROWS}", "leave out explain, or cluster", Flag("explain"))
        return source, config
    if config.outcome == "class":
        return source, _with_classes(source, config)
    if config.outcome == "ordinal":
        return _with_levels(source, config), config
    return source, config


def with_kind(source: Source, config: AuditConfig) -> AuditConfig:
    """Return the configuration with the kind of outcome that is stated, or that is no decision."""
    if config.outcome is not None:
        return config
    kind = _tell_kind(source, config)
    if kind == "decision":
        return config
    return config.model_copy(update={"outcome": kind})


def asks_for_decisions(config: AuditConfig) -> bool:
    """Return whether an option has a sense for decisions alone."""
    options = (
        config.threshold,
        config.top_k,
        config.top_share,
        config.preset,
        config.favourable,
        config.favourable_label,
        config.effect,
        config.curves,
        config.scan,
        config.mitigate,
        config.requested,
        set(config.measures or ()) - set(NUMBER_MEASURES),
    )
    return any(options)


def _tell_kind(source: Source, config: AuditConfig) -> OutcomeKind:
    """Return the kind that the first rows show: numbers, unless they are few, or their labels are 0 and 1."""
    if source.alone is not None:  # of two files the audited one says it
        source = source.alone
    column = _score_column(source, config)
    if config.order:
        return "ordinal"
    if column is None or asks_for_decisions(config):
        return "decision"
    if config.above is not None:
        return "number"
    name = source.columns[column]
    if not _holds_numbers(source, column) or named_like_weights(name):
        return "decision"
    if tell_whole_numbers(name) == "codes" and _are_few_whole_numbers(source, column):
        return "decision"
    label = _label_column(source, config)
    if label is not None and label != column and not _holds_numbers(source, label):
        return "decision"
    return "number"


def _tell_better_side(source: Source, config: AuditConfig) -> AuditConfig:
    """Return the configuration with the side that is better by the name of the scores, or of their labels."""
    if config.better is not None:
        return config
    names = [config.score or "score"]
    label = _label_column(source, config)
    if label is not None:
        names.append(source.columns[label])
    sides = filter(None, map(tell_better_side, names))
    return config.model_copy(update={"better": next(sides, None)})


def _tell_probabilities(source: Source, config: AuditConfig) -> AuditConfig:
    """Return the configuration of probabilities where numbers go from 0 to 1 and labels are 0 and 1."""
    label = _label_column(source, config)
    names = [name for name in config.scores or ("score",) if name in source.column_index]
    are_probabilities = False
    if label is not None and names:
        outside = [f"number_{source.column_index[name]} NOT BETWEEN 0 AND 1" for name in names]
        outside.append(f"number_{label} NOT IN (0, 1)")
        query = f"SELECT 1 FROM predictions WHERE {' OR '.join(outside)} LIMIT 1"
        are_probabilities = not source.rows(query)
    if config.outcome == "probability" and not are_probabilities:
        problem = "probabilities go from 0 to 1, and are compared with labels of 0 and 1, which these are not"
        fix = ("compare them as numbers: ", Flag("outcome", "number"))
        raise user_error(problem, fix, OUTCOME)
    if are_probabilities:
        return config.model_copy(update={"outcome": "probability"})
    return config


def _score_column(source: Source, config: AuditConfig) -> int | None:
    """Return the first column of scores; None where there is none, which is refused later."""
    return source.column_index.get(config.score or "score")


def _label_column(source: Source, config: AuditConfig) -> int | None:
    name = config.label or find_usual_label(source)
    return None if name is None else source.column_index.get(name)


def _holds_numbers(source: Source, column: int) -> bool:
    """Return whether nearly all of the first rows have numbers, and more different ones than codes have.

    A few words among them are refused later, each by its row.
    """
    word = f"{sql.word(column)} AND NOT ends_with(trimmed_{column}, '%')"
    n_words, n_cells, n_values = source.row(
        f"SELECT count(*) FILTER ({word}), count(*) FILTER (trimmed_{column} <> ''), "
        f"count(DISTINCT trimmed_{column}) FROM sample"
    )
    return bool(n_words <= FEW_WORDS * n_cells and n_values > MOST_CODES)


def _are_few_whole_numbers(source: Source, column: int) -> bool:
    """Return whether the first rows have whole numbers, as few as codes are."""
    number = f"number_{column}"
    are_whole, n_values = source.row(
        f"SELECT bool_and({number} = floor({number})), count(DISTINCT {number}) FROM sample"
    )
    return bool(are_whole and n_values <= MOST_CODES_IN_NUMBERS)


def find_idle_options(config: AuditConfig) -> list[Problem]:
    """Return the options that have no sense for the kind of outcome."""
    problems = []
    if config.above is not None and config.outcome not in ("number", "probability"):
        problem = "above is of numbers, and these are audited as something else"
        fix: MessageText = ("leave it out, or compare numbers as they are: ", Flag("outcome", "number"))
        problems.append(Problem(problem, fix, Flag("above")))
    if config.order and config.outcome != "ordinal":
        problem = f"levels have an order, and the outcome is said to be {config.outcome}"
        problems.append(Problem(problem, ("give ", Flag("outcome", "ordinal")), Flag("order")))
    if config.of_numbers:
        used = {
            "preset": config.preset,
            "favourable": config.favourable,
            "favourable-label": config.favourable_label,
            "decision": config.effect,
            "curves": config.curves,
            "scan": config.scan,
            "mitigate": config.mitigate,
            "tau": config.taus,
            "threshold": config.threshold,
            "top-k": config.top_k,
            "top-share": config.top_share,
        }
        cuts = ("threshold", "top-k", "top-share")
        for key in (key for key, value in used.items() if value):
            fix = ("leave it out, or say how scores become decisions: ", *AS_DECISIONS)
            if key in cuts:
                fix = ("leave it out, or take what it cuts for decisions: ", Flag("outcome", "decision"))
            if key == "threshold":
                fix = (*fix, "; the share above it is ", Flag("above", config.threshold[0]))
            if key == "decision":
                side = {"assistive": "higher", "punitive": "lower"}[str(config.effect)]
                fix = ("say which numbers are better: ", Flag("better", side), " in the place of ", Flag(key))
            problems.append(Problem(f"{key} is of decisions, and numbers are audited", fix, Flag(key)))
        problems += _find_idle_changes(config)
    return problems


def _find_idle_changes(config: AuditConfig) -> Iterator[Problem]:
    """Yield what options on changes ask for that numbers, or slices of them, do not have."""
    for key, names in (("fail-on", config.failing_metrics), ("warn-on", config.warning_metrics)):
        asks = split_worse(names)
        if asks and config.sliced_by:
            problem = f"{WORSE} is of models on the same rows, and slices of numbers are compared by a trend"
            yield Problem(problem, "name a measure, such as mean", Flag(key))
        elif asks and config.outcome == "ordinal":
            problem = f"{WORSE} is of means, and levels in an order have none"
            yield Problem(problem, "name a measure of levels, more", Flag(key))
    as_numbers: tuple[str | Flag, ...] = ()
    if not config.order:  # of words nobody takes a mean
        as_numbers = (", or take them for numbers: ", Flag("outcome", "number"))
    for key, is_given in (("against", config.against), ("score", len(config.scores or ()) > 1)):
        if is_given and config.outcome == "ordinal":
            problem = "changes are of differences of means, and levels in an order have none"
            yield Problem(problem, ("audit each by itself", *as_numbers), Flag(key))
    if config.explained_by and config.outcome == "ordinal":
        problem = "explain takes apart differences of means, and levels in an order have none"
        yield Problem(problem, ("leave it out", *as_numbers), Flag("explain"))
    if config.least_change_by_metric != {DEFAULT: LEAST_CHANGE}:
        problem = "least-change is of rates; of numbers a tenth of the margin hardly counts"
        where = Flag("least-change")
        yield Problem(problem, ("give ", Flag("margin", 1500), " in the place of ", where), where)


def _values_of(source: Source, column: int, most: int) -> list[str]:
    """Return the values of a column, the commonest first; one more than `most` where it has more."""
    rows = source.rows(
        f"SELECT trimmed_{column}, count(*) FROM predictions WHERE trimmed_{column} <> '' "
        f"GROUP BY ALL ORDER BY 2 DESC, 1 LIMIT {most + 1}"
    )
    return [value for value, _ in rows]


def _with_classes(source: Source, config: AuditConfig) -> AuditConfig:
    """Return the configuration with every value of the scores as a class, where none is named."""
    column = _score_column(source, config)
    if config.favourable or column is None:
        return config
    values = _values_of(source, column, MOST_CLASSES)
    name = format_value(source.columns[column])
    if len(values) > MOST_CLASSES:
        fix: MessageText = ("name those to audit, ", Flag("favourable", values[0]), ", or merge some first")
        raise user_error(f"{name} has more than {MOST_CLASSES} different values", fix, OUTCOME)
    if len(values) <= FEWEST_LEVELS:
        problem = f"{name} has {len(values)} values, and one class against the rest is a decision"
        raise user_error(problem, ("name the good one: ", Flag("favourable", "VALUE")), OUTCOME)
    if config.spelling(source.columns[column]) != "keep":
        seconds = chain.from_iterable(twins.values[1:] for twins in find_spelling_variants(values))
        values = sorted(set(values).difference(seconds))
    return config.model_copy(update={"favourable": tuple(sorted(values))})


def _with_levels(source: Source, config: AuditConfig) -> Source:
    """Return the rows with the levels of scores, and of the label, read as places in their order, from 1.

    Numbers have an order of their own, and stay as they are.
    """
    column = _score_column(source, config)
    if column is None:
        return source
    columns = [column]
    label = _label_column(source, config)
    if label is not None and label != column:
        columns.append(label)
    for name in (config.scores or ())[1:]:
        if name in source.column_index:
            columns.append(source.column_index[name])
    in_sql = list(source.in_sql)
    for level_column in columns:
        values = _values_of(source, level_column, MOST_GROUPS)
        if config.order:
            order = _check_order(values, source.columns[level_column], config.order)
        elif _are_numbers(source, level_column):
            continue
        else:
            listed = join_names(sorted(values), MOST_CODES)
            problem = f"the order of the levels of {format_value(source.columns[level_column])} is not said"
            fix = ("list them, the lowest first: ", Flag("order", "low,medium,high"), f"; there are {listed}")
            raise user_error(problem, fix, OUTCOME)
        text = in_sql[level_column].expression("trimmed")
        ranks = "".join(f" WHEN {sql.quoted(level)} THEN {i}" for i, level in enumerate(order, start=1))
        number = f"CASE {text}{ranks} END::DOUBLE"
        in_sql[level_column] = replace(in_sql[level_column], number=number)
    return replace(source, in_sql=tuple(in_sql))


def _are_numbers(source: Source, column: int) -> bool:
    return not source.row(f"SELECT 1 FROM predictions WHERE {sql.word(column)} LIMIT 1")


def _check_order(values: list[str], name: str, order: tuple[str, ...]) -> tuple[str, ...]:
    """Return an order that has every value of a column; refuse one that leaves some out."""
    order = tuple(find_named_value(level, values) for level in order)
    missing = [value for value in values if value not in order]
    if missing:
        problem = (
            f"the order leaves out {join_names([format_value(value) for value in missing], 3)} of {name}"
        )
        fix = (
            "list all levels, the lowest first: ",
            Flag("order", ",".join([*order, *missing][:MOST_CODES])),
        )
        raise user_error(problem, fix, Flag("order"))
    return order
