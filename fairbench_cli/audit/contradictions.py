"""Which options of an audit contradict each other, or have no effect."""

from fairbench_cli.audit import presets
from fairbench_cli.audit.config import MOST_SCORES, WORSE, AuditConfig
from fairbench_cli.audit.judge.metrics import COMPARED, canonical
from fairbench_cli.audit.presets import Contradiction
from fairbench_cli.base.errors import shown


def contradictions(config: AuditConfig) -> list[Contradiction]:
    """Return what contradicts itself in a config, and what has no effect: key, what is wrong, what to do."""
    given = config.model_fields_set
    found = presets.contradictions(config.model_dump(by_alias=True))
    if config.references and config.ref_method != "given":
        what = f"ref-method {config.ref_method} and reference groups contradict each other"
        found.append(("ref-method", what, "leave one of the two out"))
    computed = {*COMPARED, *map(canonical, (*config.requested, *(name for _, name in config.fail_on)))}
    unused = [name for name in config.taus if canonical(name) not in computed]
    found += [("tau", f"tau of {name} has no effect", f"name it as a metric: {name}") for name in unused]
    if "ties" in given and not (config.top_k or config.top_share):
        found.append(("ties", "ties has no effect", "give top-k or top-share, or leave it out"))
    found += _compared_wrongly(config)
    if config.curves and config.preset == "ll144":
        what = "curves say at which thresholds an audit would pass, and Local Law 144 has no pass mark"
        found.append(("curves", what, "leave curves out, or the preset"))
    found += _without_clusters(config)
    if config.explained_by and (len(config.decisions) > 1 or len(config.favourable) > 1):
        what = "several decisions are audited, and one can be explained at a time"
        found.append(("explain", what, "give one decision"))
    if not config.explained_by:
        without = [key for key in ("neighbours", "margin") if key in given]
        found += [(key, f"{key} has no effect", "give explain, or leave it out") for key in without]
    return found


def _compared_wrongly(config: AuditConfig) -> list[Contradiction]:
    """Return what contradicts a comparison of models or slices: key, what is wrong and what to do."""
    scores, found = config.scores or (), []
    ways = {"against": config.against, "score": len(scores) > 1, "slice": config.sliced_by}
    named = [key for key, given in ways.items() if given]
    if len(named) > 1:
        what = f"{named[0]} and {named[1]} both say what to compare"
        found.append((named[1], what, "compare one thing at a time: one score where there is another way"))
    if len(set(scores)) < len(scores):
        found.append(("score", "a column of scores is named twice", "name each once"))
    if len(scores) > MOST_SCORES:
        what = f"{len(scores)} columns of scores are too many to compare"
        found.append(("score", what, f"name at most {MOST_SCORES}"))
    if len(scores) > 1 and config.label in scores:
        what = f"{shown(str(config.label))} is the label, and one of several scores"
        found.append(("label", what, "audit the labels on their own"))
    if config.identifier and not config.against:
        found.append(("id", "id has no effect", "give against, or leave it out"))
    if WORSE in config.failing_metrics and not named:
        what = "nothing is compared that could be worse"
        found.append(("fail-on", what, "give against, slice or a second score"))
    if not named:
        return found
    if len(config.decisions) > 1:
        what = "several decisions are audited, and one can be compared at a time"
        found.append((named[0], what, "give one decision"))
    if config.ties == "random" and "slice" not in named:
        what = "ties drawn at random would be another change than the one of the scores"
        found.append(("ties", what, "use ties include or exclude"))
    others: dict[str, object] = {
        "model-column": config.model_column,
        "explain": config.explained_by,
        "preset": config.preset == "ll144",
        "curves": config.curves and "slice" not in named,
    }
    for key in (key for key, given in others.items() if given):
        what = f"{key} cannot be combined with {named[0]}"
        found.append((key, what, "leave one of the two out"))
    return found


def _without_clusters(config: AuditConfig) -> list[Contradiction]:
    """Return what takes each row for a person of its own, where people have several."""
    if config.cluster is None:
        return []
    wrong = {
        "ties": (
            config.ties == "random" and bool(config.top_k or config.top_share),
            "draws rows, not people",
        ),
        "explain": (bool(config.explained_by), "takes each row for a person"),
        "curves": (config.curves, "takes each row for a person"),
        "score": (len(config.scores or ()) > 1, "compares scores row by row"),
        "against": (config.against is not None, "compares files row by row"),
        "slice": (config.sliced_by is not None, "takes all slices to be of different people"),
        "favourable": (len(config.favourable) > 1, "of several classes counts rows"),
    }
    fix = "leave it out, or cluster"
    return [(key, f"{key} {what}", fix) for key, (given, what) in wrong.items() if given]
