"""What a config's keys say about each other, beyond each being right on its own."""

from collections.abc import Iterator
from typing import Any

from fairbench_cli.errors import Problem, shown, suggest
from fairbench_cli.experiment.choices import named
from fairbench_cli.experiment.row_measures import over_strata
from fairbench_cli.measures.registry import ROW_MEASURES
from fairbench_cli.strict_yaml import Document, Place

_LEARNED = frozenset({"learner", "score", "max_parents", "require_arc", "outcome_sink"})
_DRAWN = frozenset({"beta", "shift", "missing_arc", "size"})

# The settings that say nothing where training rows come from such a source, and why.
POINTLESS = {
    "network": (frozenset({"share"}), "without real rows to share out", "write `from: data`"),
    "shipped": (
        _LEARNED | {"share"},
        "on a shipped network, which is learned already",
        "write `from: network` to learn one",
    ),
    "data": (_LEARNED | _DRAWN, "on real rows, which come from no network", "write `from: network`"),
}


def in_list(
    document: Document, place: Place, kind: str, known: tuple[str, ...] | None = None, of: str = ""
) -> Iterator[Problem]:
    """Find what a list has twice and, where it holds names, those that are not `known`.

    `of` says whose names the known ones are, where they are not all that there are.
    """
    value = document.data
    for key in place:
        if isinstance(value, list) and isinstance(key, int):
            value = value[key]
        else:
            value = value.get(key) if isinstance(value, dict) else None
    seen: list[Any] = []
    for i, one in enumerate(value if isinstance(value, list) else []):
        where = document.where((*place, i))
        if isinstance(one, bool) or not isinstance(one, str | int | float):
            continue
        if known and isinstance(one, str) and one not in known:
            what = f'"{one}" is not among {of}' if of else f'unknown {kind} "{one}"'
            yield Problem(what, suggest(one, known), where)
        elif one in seen:
            yield Problem(f"{kind} {shown(one)} is listed twice", "keep one", where)
        seen.append(one)


def without_effect(document: Document) -> Iterator[Problem]:
    """Find settings that mean nothing for the kind of source that the config names."""
    sample, datasets = document.data.get("sample", {}), document.data.get("datasets")
    source = sample.get("from", "network") if isinstance(sample, dict) else None
    if source not in POINTLESS:
        return
    settings, where_not, fix = POINTLESS[source]
    places: list[tuple[Place, Any]] = [(("sample",), sample)]
    for i, item in enumerate(datasets if isinstance(datasets, list) else []):
        name, options = named(item)
        if name is not None:
            places.append((("datasets", i, name), options))
    for place, options in places:
        for key in sorted(settings & set(options if isinstance(options, dict) else ())):
            what = f"{key} has no effect {where_not}"
            yield Problem(what, f"remove it, or {fix}", document.where((*place, key)))


def badly_tested(document: Document) -> Iterator[Problem]:
    """Find test rows that do not go with where the training rows come from."""
    sample, test = document.data.get("sample", {}), document.data.get("test")
    real = isinstance(sample, dict) and sample.get("from") == "data"
    if real and test in ("original", "network"):
        yield Problem(
            f"test: {test} does not go with `from: data`, which trains on real rows",
            "write test: holdout, or leave it out",
            document.where(("test",)),
        )
    if not real and test == "holdout":
        yield Problem(
            "test: holdout needs rows that are not trained on",
            "write `sample: {from: data}`, or test: original",
            document.where(("test",)),
        )


def without_strata(document: Document) -> Iterator[Problem]:
    """Find measures within strata where the config names none, and strata that nothing is measured in."""
    metrics, explain = document.data.get("metrics"), document.data.get("explain")
    listed = [name for name in metrics if isinstance(name, str)] if isinstance(metrics, list) else []
    wanting = [name for name in listed if over_strata(name)]
    if wanting and not explain:
        where = document.where(("metrics", listed.index(wanting[0])))
        yield Problem(f"{wanting[0]} compares groups within strata", "write `explain: [ATTRIBUTE]`", where)
    if isinstance(explain, list) and explain and not wanting:
        fix = "add a metric such as unexplained-difference, or remove it"
        yield Problem("explain has no effect on these metrics", fix, document.where(("explain",)))


def unswept(document: Document) -> Iterator[Problem]:
    """Find a sweep whose measures all need rows: it has counts alone."""
    metrics = document.data.get("metrics")
    listed = [name for name in metrics if isinstance(name, str)] if isinstance(metrics, list) else []
    if document.data.get("sweep") and listed and all(name in ROW_MEASURES for name in listed):
        what = f"a sweep has counts alone, and {listed[0]} needs rows"
        yield Problem(what, "add a metric such as accuracy", document.where(("sweep",)))


def undrawable(document: Document) -> Iterator[Problem]:
    """Find figures of what the config does not ask for."""
    figures, interventions = document.data.get("figures"), document.data.get("interventions")
    for i, figure in enumerate(figures if isinstance(figures, list) else []):
        where = document.where(("figures", i))
        if figure == "sweep" and document.data.get("sweep") is None:
            yield Problem("the figure sweep needs a sweep", "write `sweep: acceptance-rate`", where)
        listed = interventions if isinstance(interventions, list) else []
        sample = document.data.get("sample")
        if figure == "network" and isinstance(sample, dict) and sample.get("from") == "data":
            yield Problem("the figure network has none to draw with `from: data`", "remove it", where)
        if figure == "oracle" and "oracle" not in [named(item)[0] for item in listed]:
            yield Problem("the figure oracle needs the oracle", "add oracle to `interventions`", where)
